#compdef hearsay
# Completion of the command hearsay in zsh.
_hearsay_values() {
    case "$1" in
@values@
    esac
}
_hearsay_words() {
    case "$1" in
@words@
    esac
}
_hearsay_flags() {
    case "$1" in
@flags@
    esac
}
_hearsay() {
    local current="${words[CURRENT]}" command="${words[2]}" key=""
    local -a found
    if ((CURRENT == 2)); then
        found=(@commands@)
        compadd -a found
        return
    fi
    if [[ ${words[CURRENT - 1]} == --figure ]]; then
        key=--figure
    elif [[ $current == *=* ]]; then
        case "$command" in @settings@) key="${current%%=*}" ;; esac
    elif [[ $current == -* ]]; then
        found=(${(f)"$(_hearsay_flags $command)"})
        compadd -a found
        return
    else
        found=(${(f)"$(_hearsay_words $command)"})
        if [[ ${found[1]} == *= ]]; then compadd -S '' -a found; else compadd -a found; fi || _files
        return
    fi
    compset -P '*[=,]'
    found=(${(f)"$(_hearsay_values $key)"})
    compadd -a found || _files
}
if [[ ${funcstack[1]} == _hearsay ]]; then _hearsay "$@"; else compdef _hearsay hearsay; fi
