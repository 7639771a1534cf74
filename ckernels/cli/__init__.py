"""The commands `ckernels-cache` (the compiledir) and `ckernels` (doctor, machine, config, ...).

They read the same flags as the library, CKERNELS_FLAGS included. Tables at a terminal, plain text
in a pipe, JSON with --json. Exit status: 0 all is well, 1 something is wrong or was not found, 2
the command line or a flag is wrong, 130 interrupted. The parsers are argparse's: another library
would cost every user a dependency, and every start its import, for a few commands.
"""

import argparse
import difflib
import os
import re
import sys

from ..base.config import config
from ..base.errors import CKernelsError
from . import completion

__all__ = ["cache_main", "main"]

FLAGS = """\
The directory is the one the flags name: CKERNELS_FLAGS=compiledir=..., ~/.ckernelsrc, or the
user's cache directory. `ckernels-cache path` prints it."""


def _commands(parser):
    return parser.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")


def _add(commands, name, help, function, more="", json=False):
    """A parser for one command. `function`: "module:name", imported when it is run."""
    about = {"help": help, "description": f"{help[0].upper()}{help[1:]}. {more}"} if help else {}
    child = commands.add_parser(name, **about)
    child.description_line = help.replace("'", "")
    child.set_defaults(run=function, parser=child)
    if json:
        child.add_argument("--json", action="store_true", help="print JSON")
    return child


class CommandLine(argparse.ArgumentParser):
    """A parser whose errors say which command was meant."""

    def error(self, message):
        found = re.search(r"COMMAND: invalid choice: '(.*?)'", message)
        if found and self._subparsers:
            wanted = found[1]
            others = {"cache": "ckernels-cache", "version": "ckernels --version"}
            near = difflib.get_close_matches(wanted, completion.commands(self), 1)
            meant = others.get(wanted) or (f"{self.prog} {near[0]}" if near else "")
            message = f"there is no command {wanted!r}; " + (
                f"did you mean `{meant}`?" if meant else f"`{self.prog} --help` lists them"
            )
        super().error(message)


def cache_parser():
    parser = CommandLine(
        prog="ckernels-cache",
        description="Look at, check, ship and empty the compiledir.",
        epilog=FLAGS,
    )
    _version(parser)
    commands = _commands(parser)
    _add(commands, "path", "print where the kernels are", "kernels:path", json=True)
    child = _add(
        commands,
        "list",
        "list the kernels, the oldest first",
        "kernels:show_list",
        "Columns: key, bytes, last use, hits (about), name, signature.",
        json=True,
    )
    child.add_argument(
        "--sort",
        choices=("age", "size", "hits", "name"),
        default="age",
        help="the order of the lines",
    )
    child = _add(
        commands,
        "show",
        "show how one kernel was made, and its C source",
        "kernels:show",
        json=True,
    )
    child.add_argument("key", help="a key, or the start of one")
    _add(commands, "keys", "", "kernels:keys")  # for tab completion
    _add(commands, "stats", "show count and size against the caps", "kernels:stats", json=True)
    child = _add(
        commands,
        "verify",
        "hash every entry again; report and remove bad ones",
        "kernels:verify",
        "Exit status 1 if one was bad.",
        json=True,
    )
    child.add_argument("--keep", action="store_true", help="report bad entries, remove none")
    _add(
        commands,
        "gc",
        "delete what killed writers left, and what is over the caps",
        "kernels:collect",
        json=True,
    )
    child = _add(
        commands,
        "clear",
        "delete the kernels; safe while other processes run",
        "kernels:clear",
        "Says what it removed. Asks first; with --older-than only at a terminal.",
        json=True,
    )
    child.add_argument(
        "--older-than",
        type=_days,
        metavar="AGE",
        help="only those not used for AGE: days, or a number with s, min, h, d, w",
    )
    child.add_argument("--yes", "-y", action="store_true", help="do not ask")
    child = _add(
        commands,
        "bundle",
        "write all kernels to one file, to ship a warm cache",
        "kernels:bundle",
        json=True,
    )
    child.add_argument("file", help="the file to write, a .tar.gz")
    child = _add(
        commands,
        "restore",
        "put the kernels of a bundle into the compiledir",
        "kernels:restore",
        "Every entry is verified. A bundle is code: restore only what you would install.",
        json=True,
    )
    child.add_argument("file", help="what `bundle` wrote")
    _of_directories(commands)
    return parser


def _of_directories(commands):
    """The words of theano-cache that are about whole directories."""
    _add(commands, "cleanup", "the same as gc", "kernels:collect", json=True)
    _add(commands, "unlock", "say that there is no lock to remove", "whole:unlock", json=True)
    sure = _add(
        commands,
        "purge",
        "delete the compiledir with all that is in it",
        "whole:purge",
        "Not while other processes run: `clear` is safe then. Asks first.",
        json=True,
    )
    base = _add(
        commands,
        "basecompiledir",
        "print the directory above the compiledir",
        "whole:base",
        "`list` prints the compiledirs in it, `purge` deletes all of them.",
        json=True,
    )
    base.add_argument("action", nargs="?", choices=("list", "purge"), help="what to do there")
    for child in (sure, base):
        child.add_argument("--yes", "-y", action="store_true", help="do not ask")


def main_parser():
    parser = CommandLine(
        prog="ckernels",
        description="What works here; functions of programs looked at, timed, and written as C.",
        epilog="The compiledir has a command of its own, ckernels-cache.",
    )
    _version(parser)
    commands = _commands(parser)
    _add(
        commands,
        "doctor",
        "say whether compiled mode works, and why not",
        "doctor:doctor",
        "Exit status 0 only when a kernel was compiled, loaded and run.",
        json=True,
    )
    _add(
        commands,
        "machine",
        "measure what the table of costs holds, and print what differs",
        "measure:main",
        "On an idle machine; about a minute. Nothing is stored.",
        json=True,
    )
    child = _add(
        commands,
        "config",
        "print every flag: value, meaning, default, origin",
        "kernels:show_config",
        json=True,
    )
    child.add_argument("flag", nargs="?", help="only this flag's value")
    child = _add(
        commands,
        "export",
        "write a function of a program as C",
        "export:main",
        "The program is run; FUNCTION is a name of its top level.",
        json=True,
    )
    child.add_argument(
        "program",
        metavar="PROGRAM.py:FUNCTION",
        help="a function, or {name: function} over one state",
    )
    child.add_argument("folder", help="where the files go")
    child.add_argument(
        "--shape",
        action="append",
        default=[],
        type=_shape,
        metavar="NAME=SIZES",
        help="the shape of an input, as in x=32,784",
    )
    child.add_argument(
        "--target",
        choices=("c99", "native", "shared"),
        default="c99",
        help="C99 for any machine, C for gcc and clang, or a library",
    )
    child.add_argument("--prefix", help="of all names in C; else the name of the folder")
    child.add_argument(
        "--weights",
        choices=("const", "extern"),
        default="const",
        help="arrays in the source, or a file of their own",
    )
    child.add_argument("--dtype", help="refuse wider floats than this one")
    child.add_argument("--batch", type=_size, help="the largest n, where sizes are an argument n")
    _of_programs(commands)
    child = _add(
        commands,
        "completion",
        "print a script that completes both commands",
        "kernels:show_completion",
        'In ~/.bashrc: eval "$(ckernels completion bash)".',
    )
    child.add_argument("shell", choices=completion.SHELLS)
    return parser


def _of_programs(commands):
    """The commands that look at a function of a program."""
    more = (
        "The program is run; FUNCTION is a name of its top level. "
        "A function of plain NumPy goes under jit."
    )
    explained = _add(
        commands,
        "explain",
        "say what each instruction of a function computes, and why it does not do more",
        "programs:explain",
        more,
        json=True,
    )
    drawn = _add(commands, "draw", "draw a function as a page", "programs:draw", more, json=True)
    timed = _add(
        commands,
        "bench",
        "time a call of a function beside NumPy and what is installed",
        "programs:bench",
        more,
        json=True,
    )
    for child in (explained, drawn, timed):
        child.add_argument("program", metavar="PROGRAM.py:FUNCTION", help="a function of a program")
        child.add_argument(
            "--shape",
            action="append",
            default=[],
            type=_shape,
            metavar="NAME=SIZES",
            help="the shape of an input, as in x=32,784",
        )
        child.add_argument("--batch", type=_size, default=32, help="where a size is open (32)")
        child.add_argument(
            "--arguments",
            metavar="NAME",
            help="of a NumPy function: a tuple at the program's top level",
        )
    drawn.add_argument("file", nargs="?", help="the page, .html or .svg (FUNCTION.html)")


class Version(argparse.Action):
    """Prints the version, which is looked up only then; no command is needed."""

    def __call__(self, parser, *rest):
        from importlib import metadata  # start-up

        try:
            print(f"ckernels {metadata.version('ckernels')}")
        except metadata.PackageNotFoundError:
            print("ckernels, not installed")
        parser.exit()


def _version(parser):
    parser.add_argument("--version", action=Version, nargs=0, help="print the version")


def _shape(text):
    """'x=32,784': ("x", (32, 784)); 'x=' is the shape of a scalar."""
    name, equals, sizes = text.partition("=")
    try:
        return name, tuple(int(n) for n in sizes.split(",") if n or not equals or not name)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a shape such as x=32,784, not {text!r}") from None


def _size(text):
    """'32': 32."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a size such as 32, not {text!r}") from None


def _days(text):
    """'30', '12h', '2 w': days."""
    units = {"": 1.0, "d": 1.0, "w": 7.0, "h": 1 / 24, "min": 1 / 1440, "s": 1 / 86400}
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text[len(number) :].strip()
    try:
        value = float(number) * units[unit]
    except (ValueError, KeyError):
        value = -1.0
    if not 0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"an age such as 30, 12h or 2w, not {text!r}")
    return value


def cache_main(argv=None):
    """Entry point of `ckernels-cache`."""
    return _run(cache_parser(), argv)


def main(argv=None):
    """Entry point of `ckernels`."""
    return _run(main_parser(), argv)


def _run(parser, argv):
    import importlib  # start-up

    arguments, rest = parser.parse_known_args(argv)
    if len(rest) == 1 and rest[0][0] != "-" and getattr(arguments, "file", "") is None:
        arguments.file = rest.pop()  # argparse fills an optional place before options alone
    if rest:
        arguments.parser.error(f"unrecognized arguments: {' '.join(rest)}")
    module, name = arguments.run.split(":")
    try:
        config["mode"]  # a wrong flag is reported before anything else
        status = getattr(importlib.import_module(f".{module}", __name__), name)(arguments)
        sys.stdout.flush()
        return status
    except CKernelsError as error:
        sentence = " ".join(str(error.args[0] if error.args else error).splitlines())
        print(f"{parser.prog}: {sentence}", file=sys.stderr)
        return 2 if type(error).__name__ in ("ConfigError", "UnknownFlag") else 1
    except BrokenPipeError:  # `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted", file=sys.stderr)
        return 130
