"""Where the time of a compiled function goes: one row per instruction, with the user's line.

With `profile=True` the C side counts calls and nanoseconds of each instruction of a plan.
The table is of the plan used last, since plans for other shapes have other instructions. With the
flag `profile` every function is watched and the tables are printed when the process ends.
"""

import atexit
import os
import sys
from typing import NamedTuple

from ..base.config import config

_watched = []  # functions whose tables are printed at exit: kept alive on purpose


class ProfileLine(NamedTuple):
    """One instruction: its ops, how often it ran, how long in all, the user's line or None."""

    name: str
    calls: int
    ms: float
    percent: float
    line: tuple


class Profile(list):
    """Rows in the order in which they run; `str` of it is for people, slowest first."""

    def __init__(self, title, rows, on=True):
        super().__init__(rows)
        self.title, self.on = title, on

    def shared(self):
        """The Profile with percentages anew: for rows that came from several tables."""
        total = self.ms or 1
        return Profile(self.title, [r._replace(percent=100 * r.ms / total) for r in self])

    @property
    def ms(self):
        return sum(row.ms for row in self)

    def __str__(self):
        if not self:
            why = "no compiled instruction ran" if self.on else "made without profile=True"
            return f"{self.title}: nothing was measured: {why}"
        calls = max((row.calls for row in self if not row.name.startswith(" ")), default=0)
        lines = [
            f"{self.title}: {self.ms:.3f} ms in {calls} calls",
            f"{'%':>6} {'ms':>10} {'us/call':>10} {'calls':>7}  instruction",
        ]
        for row in sorted(self, key=lambda row: -row.ms):
            where = f"{os.path.basename(row.line[0])}:{row.line[1]}" if row.line else ""
            lines.append(
                f"{row.percent:6.1f} {row.ms:10.3f} "
                f"{1000 * row.ms / max(row.calls, 1):10.2f} {row.calls:7d}  "
                f"{shortened(row.name)}  {where}".rstrip()
            )
        return "\n".join(lines)

    __repr__ = __str__  # what a prompt shows


def shortened(name, limit=60):
    return name if len(name) <= limit else f"{name[: limit - 3]}..."


def table(program, data, title, on=True):
    """The Profile of `data`, what `profile_data` of a C function returned, for its Program."""
    rows, whats = [], [program.instruction(tag) for tag, _, _ in data]
    data = without_inner(data, whats)
    total = sum(ns for _, _, ns in data) or 1
    for (_, calls, ns), known in zip(data, whats):
        name = "  " * known.depth + known.name if known else "NumPy"
        line = known.line if known else None
        rows.append(ProfileLine(name, calls, ns / 1e6, 100 * ns / total, line))
    return Profile(title, rows, on)


def without_inner(data, known):
    """`data` with the time of scans and branches without that of the instructions inside."""
    own, around = [], []  # around: positions of the scans that enclose this instruction
    for at, ((tag, calls, ns), instruction) in enumerate(zip(data, known)):
        depth = instruction.depth if instruction else 0
        del around[depth:]
        if around:
            outer = own[around[-1]]
            own[around[-1]] = (*outer[:2], max(0, outer[2] - ns))
        own.append((tag, calls, ns))
        around.append(at)
    return own


def watch(function):
    """Print the table of a compiled function at exit, if the flag says so for all of them."""
    if config.profile:
        if not _watched:
            atexit.register(report)
        _watched.append(function)


def report(stream=None):
    """Print the tables of all watched functions that ran, the longest first."""
    tables = [t for t in (f.profile_table() for f in _watched) if t]
    for one in sorted(tables, key=lambda t: -t.ms):
        print(one, file=stream or sys.stderr)
