# Completion of the command hearsay in fish.
function __hearsay_values
    switch $argv[1]
@values@
    end
end
function __hearsay_words
    switch $argv[1]
@words@
    end
end
function __hearsay_flags
    switch $argv[1]
@flags@
    end
end
function __hearsay_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l command $typed[2]
    set -l key
    if test "$typed[-1]" = --figure
        set key --figure
    else if string match -q -- '*=*' $current; and contains -- $command @settings@
        set key (string split -m1 = -- $current)[1]
    else if string match -q -- '-*' $current
        __hearsay_flags $command
        return
    else
        __hearsay_words $command
        return
    end
    set -l begin (string replace -r '[^=,]*$' '' -- $current)
    for value in (__hearsay_values $key)
        echo $begin$value
    end
end
@described@
complete -c hearsay -n 'not __fish_use_subcommand' -a '(__hearsay_complete)'
