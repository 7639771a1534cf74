"""The ends of a scan: how many steps it has, which rows ran, its last row, what a variable becomes.

What users and gradients read off a scan, apart from the row itself (scan.py).
"""

import numpy as np

from ..base.errors import ShapeError
from ..graph.node import constant, item, make
from ..graph.op import Op
from .base import expand
from .elementwise import where
from .indexing.advanced import take
from .indexing.slicing import dynamic_slice
from .logic import lt
from .movement import squeeze
from .scan import ScanSignature, is_scan
from .shape import known_value

__all__ = ["last_row"]


def scan_updates(order):
    """{variable node: its value after the last scan among the nodes `order` that updates it}."""
    found = {}
    for node in order:
        if is_scan(node) and node.attrs["states"]:
            sig = ScanSignature.of(node)
            for i in node.attrs["states"]:
                first = sig.inits[i]
                if first.op.name == "expand" and first.inputs[0].op.name == "variable":
                    found[first.inputs[0]] = item(node, sig.final(i))
    return found


# --- a symbolic number of steps -----------------------------------------------------------------


def _infer_steps(attrs, n):
    known = known_value(n)
    if known is not None and known < 0:
        raise ShapeError(f"a scan cannot run {known} steps: n_steps is negative")
    return "bool", (known,)


def _run_steps(attrs, n):
    if n < 0:
        raise ShapeError(f"a scan cannot run {int(n)} steps: n_steps is negative")
    return np.zeros(int(n), bool)


# A symbolic number of steps as a shape, which is what plans are made for.
Op(
    "scan_steps",
    "opaque",
    _infer_steps,
    _run_steps,
    lambda node, g: (None,),
    doc="A vector with as many elements as a scan has steps; n must not be negative.",
)


# --- a number of steps that only the call knows --------------------------------------------------


def _run_count(attrs, n):
    if n < 0:
        raise ShapeError(f"a scan cannot run {int(n)} steps: n_steps is negative")
    return np.array(n, "int64")


def _lower_count(node):
    """n, behind a `take` whose index is out of range where n is negative; when that fails, the
    oracle (_run_count) says which ShapeError it is."""
    n = node.inputs[0]
    wrong = where(lt(n, constant(0, "int64")), constant(1, "int64"), constant(0, "int64"))
    return squeeze(take(expand(n, (0,)), expand(wrong, (0,)), 0), (0,))


Op(
    "scan_count",
    "composite",
    lambda attrs, n: ("int64", ()),
    _run_count,
    lambda node, g: (None,),
    lower=_lower_count,
    doc="n, the number of steps of a scan, which must not be negative.",
)


# --- the last row of a trace ------------------------------------------------------------------


Op(
    "scan_rows",
    "composite",
    lambda attrs, rows, last: (rows.dtype, rows.shape),
    lambda attrs, rows, last: rows,
    lambda node, g: (g, None),
    lower=lambda node: node.inputs[0],
    doc="Rows computed from a scan, whose last row is `last`.",
)


def with_last(rows, last):
    """`rows`, of which `last_row` says that it is the state `last`."""
    return make("scan_rows", (rows, last))


def last_row(x):
    """The last row of `x` where it is the trace of a scan: the last state itself; else None.

    So that a trace of which only x[-1] is read need not be stored. After 0 steps it is the first
    value of the state, as in a fold.
    """
    if x.op.name == "scan_rows":
        return x.inputs[1]
    trace = x
    if x.op.name == "dynamic_slice":  # only the rows of steps that ran, see `ran`
        trace = x.inputs[0]
        if trace.op.name != "item" or not is_scan(trace.inputs[0]) or x is not ran(trace):
            return None
    if trace.op.name != "item" or not is_scan(trace.inputs[0]):
        return None
    scan = trace.inputs[0]
    sig = ScanSignature.of(scan)
    i = trace.attrs["index"]
    partial_rows = sig.count is not None or scan.attrs["until"] or scan.attrs["limit"] >= 0
    if i >= sig.carries or scan.attrs["reverse"] or (partial_rows and trace is x):
        return None
    return item(scan, sig.final(i))


def ran(trace):
    """The rows of a result of a scan that ended early: those of steps that ran."""
    scan = trace.inputs[0]
    return dynamic_slice(trace, [(0, item(scan, ScanSignature.of(scan).executed), 1)])
