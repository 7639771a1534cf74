"""What the commands print: tables for people at a terminal, plain tab-separated text in a pipe.

A pipe gets whole values and no headings, so that `cut -f1` and `sort` work; `--json` prints all
there is. Headings and names are bold on a terminal, unless NO_COLOR is set.
"""

import json
import os
import shutil
import sys

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def on_terminal():
    try:
        return sys.stdout.isatty()
    except (AttributeError, ValueError):
        return False


def human(size):
    """Bytes as people say them: 17.6 KiB."""
    for unit in UNITS:
        if size < 1024 or unit == UNITS[-1]:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024


def ago(seconds):
    """An age in one unit: 3 h."""
    for unit, length in (("s", 60), ("min", 60), ("h", 24), ("d", None)):
        if length is None or seconds < length:
            return f"{max(0, seconds):.0f} {unit}"
        seconds /= length


def counted(number, word):
    return f"{number} {word}" + ("s" if number != 1 else "")


def bold(text):
    return f"\x1b[1m{text}\x1b[0m" if on_terminal() and not os.environ.get("NO_COLOR") else text


def as_json(value):
    print(json.dumps(value, indent=1))


def agreed(question):
    """Whether somebody at the terminal says yes; the question is no part of the output."""
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    try:
        answer = input()
    except EOFError:  # stdin is closed: nobody can answer
        answer = ""
        print(file=sys.stderr)
    return answer.strip().lower() in ("y", "yes")


def table(headings, rows, right=()):
    """Rows of text. On a terminal: headings, columns in line, no line wider than the window.

    right: the numbers of columns to align on the right.
    """
    rows = [[plain(cell) for cell in row] for row in rows]
    if not on_terminal():
        for row in rows:
            print("\t".join(row))
        return
    widths = [max(len(row[k]) for row in [headings, *rows]) for k in range(len(headings))]

    def line(row):
        cells = [
            c.rjust(w) if k in right else c.ljust(w) for k, (c, w) in enumerate(zip(row, widths))
        ]
        return "  ".join(cells).rstrip()[: shutil.get_terminal_size().columns]

    print(bold(line(headings)))
    for row in rows:
        print(line(row))


def plain(value):
    """A cell without control characters and line ends, which the files it is read from may have."""
    return "".join(c if c.isprintable() else "?" for c in str(value))
