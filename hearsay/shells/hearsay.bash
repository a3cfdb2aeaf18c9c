# Completion of the command hearsay in bash.
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
    local line="${COMP_LINE:0:COMP_POINT}" key="" begin="" word
    local current="${line##*[[:space:]]}" typed
    read -ra typed <<<"$line"
    [[ -z $current ]] && typed+=("")
    local command="${typed[1]}" last=$((${#typed[@]} - 1))
    COMPREPLY=()
    if ((last < 2)); then
        COMPREPLY=($(compgen -W "@commands@" -- "$current"))
        return
    fi
    if [[ ${typed[last - 1]} == --figure ]]; then
        key=--figure
    elif [[ $current == *=* ]]; then
        case "$command" in @settings@) key="${current%%=*}" ;; esac
    elif [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$(_hearsay_flags "$command")" -- "$current"))
        return
    else
        COMPREPLY=($(compgen -W "$(_hearsay_words "$command")" -- "$current"))
        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
        return
    fi
    # The values of a setting: a list has commas. Readline completes the part after its word breaks, such as =.
    word="${current##*[=,]}"
    begin="${current%"$word"}"
    [[ $COMP_WORDBREAKS == *=* ]] && begin="${begin#*=}"
    COMPREPLY=($(compgen -P "$begin" -W "$(_hearsay_values "$key")" -- "$word"))
}
complete -o default -F _hearsay hearsay
