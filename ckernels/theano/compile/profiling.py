"""f.profile: what the instructions of a function took, by class, by op and one by one.

The numbers are the engine's (`profile_table`): of the plan used last, measured in C. A class is
what the ops of an instruction are: elementwise, reduce, gemm, ...; an op is the instruction's
name, such as `exp+sum`, for one loop computes several operations.
"""

import atexit
import os
import sys

from ...graph.op import REGISTRY
from ...runtime.charts import memory as _arena
from ..base.config import config
from ..base.names import absent_of as _absent_of

_printed_at_exit = []


class ProfileStats:
    """What was measured of one function, or of several given the same object as `profile=`.

    `summary()` prints it to stderr or another file; times are seconds. At the end of the process
    it is printed to where the flag profiling.destination says.
    """

    def __init__(self, atexit_print=True, flag_time_thunks=None, message=None, **kwargs):
        self.message, self.functions = message, []
        if atexit_print:
            _printed_at_exit.append(self)

    @staticmethod
    def made(asked, name):
        """The ProfileStats for the argument `profile` of function: True, a message or one."""
        if isinstance(asked, ProfileStats):
            return asked
        return ProfileStats(message=asked if isinstance(asked, str) else name)

    @property
    def rows(self):
        """The rows of the engine's tables."""
        return [row for f in self.functions for row in f.info.profile_table()]

    @property
    def fct_callcount(self):
        """How often the functions were called: what stands inside of loops runs more often."""
        return sum(
            max((r.calls for r in f.info.profile_table() if not r.name.startswith(" ")), default=0)
            for f in self.functions
        )

    @property
    def compile_time(self):
        """Seconds in the C compiler."""
        return sum(f.stats()["compile_seconds"] for f in self.functions)

    def _summed(self, key, value):
        found = {}
        for row in self.rows:
            found[key(row)] = found.get(key(row), 0) + value(row)
        return found

    def class_time(self):
        """{class: seconds}."""
        return self._summed(class_of, _seconds)

    def class_callcount(self):
        """{class: runs of its instructions}."""
        return self._summed(class_of, _calls)

    def class_nodes(self):
        """{class: instructions}."""
        return self._summed(class_of, lambda row: 1)

    def op_time(self):
        """{name of instructions: seconds}."""
        return self._summed(op_of, _seconds)

    def op_callcount(self):
        """{name of instructions: runs}."""
        return self._summed(op_of, _calls)

    def op_nodes(self):
        """{name of instructions: how many there are}."""
        return self._summed(op_of, lambda row: 1)

    def memory(self):
        """[(name, bytes, first, last)] of what the last plans keep between instructions, each from
        the one that writes it to the one that reads it last; and the bytes it takes at once."""
        drafts = [program.drafted("lower") for program in self._programs()]
        found = [chart for chart in map(_arena, drafts) if chart]
        rows = [
            (f"{name}  {os.path.basename(line)}" if line else name, size, first, last)
            for chart in found
            for name, line, first, last, _, size in chart["blocks"]
        ]
        return rows, sum(chart["total"] for chart in found)

    def _programs(self):
        """Those of all functions that have a plan, or of their pieces."""
        waiting = [f.info for f in self.functions]
        for info in waiting:
            if getattr(info, "pieces", None) is not None:
                pieces = info.pieces
                waiting += getattr(pieces, "pieces", {}).values()
            elif getattr(getattr(info, "program", None), "bound", None) is not None:
                yield info.program

    def summary(self, file=None, n_ops_to_print=None, n_apply_to_print=None):
        """Print all sections: the function, Class, Ops, Apply, and with the flag profile_memory
        what memory the results take."""
        file = sys.stderr if file is None else file
        self.summary_function(file)
        if not self.rows:
            print("  Nothing was measured yet: call the function first\n", file=file)
            return
        self.summary_class(file, n_ops_to_print)
        self.summary_ops(file, n_ops_to_print)
        self.summary_nodes(file, n_apply_to_print)
        if config._get("profile_memory"):
            self.summary_memory(file, n_apply_to_print)

    def summary_function(self, file=None):
        """Print how often the functions ran and what is in them."""
        total = sum(map(_seconds, self.rows))
        print(
            f"Function profiling\n==================\n  Message: {self.message or ''}\n"
            f"  Calls of Function.__call__: {self.fct_callcount}\n"
            f"  Time in instructions: {total:e}s\n"
            f"  Time in the C compiler: {self.compile_time:e}s\n"
            f"  Number of instructions: {len(self.rows)}\n",
            file=file or sys.stderr,
        )

    def summary_class(self, file=None, N=None):  # noqa: N803 (Theano's name)
        """Print a row for each class of instructions, the slowest first."""
        calls, nodes = self.class_callcount(), self.class_nodes()
        rows = [(t, calls[k], nodes[k], k) for k, t in self.class_time().items()]
        _section("Class", "Class name", "Classes", rows, _limit(N, "n_ops"), file)

    def summary_ops(self, file=None, N=None):  # noqa: N803
        """Print a row for each name of instructions, the slowest first."""
        calls, nodes = self.op_callcount(), self.op_nodes()
        rows = [(t, calls[k], nodes[k], k) for k, t in self.op_time().items()]
        _section("Ops", "Op name", "Ops", rows, _limit(N, "n_ops"), file)

    def summary_nodes(self, file=None, N=None):  # noqa: N803
        """Print a row for each instruction with the user's line, the slowest first."""
        rows = [(_seconds(row), row.calls, None, _place(row)) for row in self.rows]
        _section("Apply", "Apply name", "Apply instances", rows, _limit(N, "n_apply"), file)

    def summary_memory(self, file=None, N=None):  # noqa: N803
        """Print what the last plans keep between instructions, the largest results first.

        Those below profiling.min_memory_size are one sum; arguments and results do not count.
        """
        file = file or sys.stderr
        rows, peak = self.memory()
        least, limit = config._get("profiling.min_memory_size"), _limit(N, "n_apply")
        whole = sum(size for _, size, _, _ in rows)
        print(
            f"Memory\n---\n  Max peak memory: {peak} bytes\n"
            f"  Memory without sharing: {whole} bytes\n"
            "<bytes> <from> <to> <Apply name>",
            file=file,
        )
        large = sorted((row for row in rows if row[1] >= least), key=lambda row: -row[1])
        for name, size, first, last in large[:limit]:
            print(f"  {size:12d} {first:6d} {last:6d} {name}", file=file)
        left = whole - sum(size for _, size, _, _ in large[:limit])
        print(
            f"   ... (remaining {len(rows) - len(large[:limit])} Apply account for {left} bytes "
            f"of {whole}; results below {least} bytes are not listed)\n",
            file=file,
        )


def _seconds(row):
    return row.ms / 1e3


def _calls(row):
    return row.calls


def op_of(row):
    """The name of an instruction, without the indent that tells what is inside of loops."""
    return row.name.strip()


def class_of(row):
    """'elementwise+reduce': the kinds of the ops of an instruction, each once."""
    kinds = []
    for part in op_of(row).split("+"):
        word = part.split()[0] if part.split() else part
        kind = REGISTRY[word].kind if word in REGISTRY else word
        kind = word if kind in ("opaque", "composite") else kind
        if kind not in kinds:
            kinds.append(kind)
    return "+".join(kinds)


def _place(row):
    where = f"  {os.path.basename(row.line[0])}:{row.line[1]}" if row.line else ""
    return f"{op_of(row)}{where}"


def _limit(given, flag):
    return config._get(f"profiling.{flag}") if given is None else given


def _section(title, label, plural, rows, limit, file):
    """Print rows (seconds, calls, instructions or None, name) in the columns of Theano's tables."""
    file = file or sys.stderr
    total, done = sum(row[0] for row in rows) or 1, 0
    rows = sorted(rows, key=lambda row: -row[0])
    count = "" if any(row[2] is None for row in rows) else "<#apply> "
    print(
        f"{title}\n---\n<% time> <sum %> <apply time> <time per call> <#call> {count}<{label}>",
        file=file,
    )
    for seconds, calls, nodes, name in rows[:limit]:
        done += seconds
        number = "" if nodes is None else f"{nodes:8d} "
        each = seconds / max(calls, 1)
        print(
            f"  {100 * seconds / total:5.1f}%  {100 * done / total:5.1f}%    {seconds:8.3f}s"
            f"      {each:8.2e}s {calls:7d} {number}{name}",
            file=file,
        )
    rest = rows[limit:]
    left = sum(row[0] for row in rest)
    print(
        f"   ... (remaining {len(rest)} {plural} account for {100 * left / total:.2f}%"
        f"({left:.2f}s) of the runtime)\n",
        file=file,
    )


def print_all():
    """Print what was measured of all functions that ran."""
    ran = [p for p in _printed_at_exit if p.rows]
    where = config._get("profiling.destination")
    if where in ("stderr", "stdout"):
        for one in ran:
            one.summary(getattr(sys, where))
    elif ran:
        with open(where, "w") as file:
            for one in ran:
                one.summary(file)


atexit.register(print_all)


__getattr__ = _absent_of("theano.compile.profiling")
