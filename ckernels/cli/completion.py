"""Tab completion: `ckernels completion SHELL` prints what a shell needs to complete both commands.

The script is made from the parsers, so it knows every command and option; keys of kernels are
looked up while one is typed. Two small commands need no library for this.
"""

import argparse

from ..base.config import TABLE as FLAGS

SHELLS = ("bash", "zsh", "fish")
BASH = """\
# ckernels: eval "$(ckernels completion bash)"
_ckernels() {
    local cur="${COMP_WORDS[COMP_CWORD]}" program="${COMP_WORDS[0]##*/}" words=""
    local before="${COMP_WORDS[COMP_CWORD-1]}" command="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${COMP_WORDS[i]}" in -*) ;; *) command="${COMP_WORDS[i]}"; break ;; esac
    done
    case "$program:$command" in
%s    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _ckernels ckernels ckernels-cache
"""
ZSH = """\
# ckernels: eval "$(ckernels completion zsh)"
autoload -U +X bashcompinit && bashcompinit
"""


def script(shell, parsers):
    """The text for a shell; parsers: {name of the program: its parser}."""
    if shell == "fish":
        return fish(parsers)
    cases = []
    for program, parser in parsers.items():
        found = commands(parser)
        cases.append(f'    {program}:) words="{" ".join([*found, "--help", "--version"])}" ;;\n')
        for name, child in found.items():
            given, action = words(child), ""
            if name == "show":
                action = ' words="$words $(ckernels-cache keys 2>/dev/null)" ;'
            if name in ("bundle", "restore"):
                action = (
                    ' [[ $cur == -* ]] || { COMPREPLY=($(compgen -f -- "$cur"));'
                    " compopt -o filenames 2>/dev/null; return; } ;"
                )
            for option, choices in chosen(child).items():
                action += f' [[ $before == {option} ]] && words="{" ".join(choices)}" ;'
            cases.append(f'    {program}:{name}) words="{" ".join(given)}";{action};\n')
    text = BASH % "".join(cases)
    return ZSH + text if shell == "zsh" else text


def fish(parsers):
    lines = ["# ckernels: ckernels completion fish | source"]
    for program, parser in parsers.items():
        found = commands(parser)
        start = f"complete -c {program}"
        lines.append(f"{start} -f")
        lines += [f"{start} -n __fish_use_subcommand -l {word}" for word in ("help", "version")]
        for name, child in found.items():
            lines.append(
                f"{start} -n __fish_use_subcommand -a {name} -d '{child.description_line}'"
            )
            here = f"{start} -n '__fish_seen_subcommand_from {name}'"
            for word in words(child):
                choices = chosen(child).get(word)
                more = f" -x -a '{' '.join(choices)}'" if choices else ""
                word = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
                lines.append(f"{here} {word}{more}")
            if name == "show":
                lines.append(f"{here} -a '(ckernels-cache keys 2>/dev/null)'")
            if name in ("bundle", "restore"):
                lines.append(f"{here} -F")
    return "\n".join(lines) + "\n"


def commands(parser):
    """{name: parser} of the commands of a parser, but `keys`, which only completion calls."""
    for action in parser._subparsers._group_actions:
        if isinstance(action, argparse._SubParsersAction):
            return {name: child for name, child in action.choices.items() if name != "keys"}
    return {}


def words(parser):
    """What may follow a command: its long options, and the words its arguments may be."""
    found = [
        word
        for action in parser._actions
        for word in action.option_strings
        if word.startswith("--")
    ]
    for action in parser._actions:
        if not action.option_strings:
            found += action.choices or (list(FLAGS) if action.dest == "flag" else [])
    return found


def chosen(parser):
    """{option: the words it takes} of the options that take one of a few words."""
    return {
        word: action.choices
        for action in parser._actions
        if action.choices
        for word in action.option_strings
        if word.startswith("--")
    }
