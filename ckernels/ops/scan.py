"""The op `scan`: a body run once per step, over rows of sequences, with carried state.

One node is one scan: its operands are numbers of steps, sequences, first states and what stays the
same; its results are traces, last states, per-step outputs and the count of steps that ran. The
attributes are explained at `scan_op`; `ScanSignature` finds operands and results by name. How
gradients flow is registered by the autodiff room (`autodiff/scan_gradient.py`).
"""

from collections import deque
from typing import NamedTuple

import numpy as np

from ..base.errors import CKernelsError, DTypeError, ShapeError
from ..graph.known import known
from ..graph.node import Node, constant, make, sizes_constant
from ..graph.op import Op, rules
from ..graph.shapes import show
from .bodies import capture, closed, merge
from .ragged import masked
from .shape import known_value

__all__ = ["scan_node"]

ENDLESS = 2**62  # steps of a scan that only its condition ends
INLINED = 64  # elements of an integer constant (sizes, mostly) that a refitted body takes in


class ScanSignature:
    """Operands and results of a scan by name, from its attributes.

    steps, count, seqs [(head or None, rows)], inits, others: `inputs` sorted out.
    """

    def __init__(self, attrs, inputs):
        self.attrs, self.body = attrs, attrs["body"]
        rest = list(inputs)
        self.steps = rest.pop(0)
        self.count = rest.pop(0) if attrs["counted"] else None
        self.seqs = [(rest.pop(0) if lag else None, rest.pop(0)) for lag in attrs["seqs"]]
        self.inits = [rest.pop(0) for _ in attrs["taps"]]
        self.others = rest
        self.carries = len(attrs["taps"])
        self.outs = attrs["outs"]

    @classmethod
    def of(cls, node):
        return cls(node.attrs, node.inputs)

    # Where things are among the inputs and outputs of the body, and among the results.

    def tap_inputs(self, i):
        """{tap: index of the body's input} of carry `i`."""
        first = len(self.seqs) + sum(len(t) for t in self.attrs["taps"][:i])
        return {tap: first + k for k, tap in enumerate(self.attrs["taps"][i])}

    @property
    def first_other(self):
        """Index of the body's input for the first operand that stays the same."""
        return len(self.seqs) + sum(len(t) for t in self.attrs["taps"])

    def trace(self, i):
        return i

    def final(self, i):
        return self.carries + i

    def out(self, k):
        return 2 * self.carries + k

    @property
    def executed(self):
        return 2 * self.carries + self.outs

    def is_final(self, index):
        """Whether a result has no row for each step: a last state, or the count of steps."""
        return self.carries <= index < 2 * self.carries or index == self.executed

    def types(self):
        """(dtype, shape) of each input of the body, as the operands have it."""
        found = [(dtype_of(rows), rows.shape[1:]) for _, rows in self.seqs]
        for init, taps in zip(self.inits, self.attrs["taps"]):
            found += [(dtype_of(init), init.shape[1:])] * len(taps)
        return found + [(dtype_of(x), x.shape) for x in self.others]


def dtype_of(x):
    return x.dtype if isinstance(x.dtype, str) else x.dtype.name


def label(attrs):
    """'the scan' or 'the scan named ...', for sentences."""
    return f"the scan {attrs['name']!r}" if attrs.get("name") else "the scan"


# --- checks and shapes ------------------------------------------------------------------------


def _check_operands(sig, what):
    for name, x in (("the number of steps", sig.steps), ("the count of steps", sig.count)):
        if x is not None and (x.ndim or x.dtype != "int64"):
            raise DTypeError(
                f"{name} of {what} must be an int64 scalar, not {x.dtype} of shape {show(x.shape)}"
            )
    steps = _steps(sig)
    if steps is not None and steps < 0:
        raise ShapeError(f"{what} cannot run {steps} steps: the number of steps is negative")
    for k, (head, rows) in enumerate(sig.seqs):
        lag = sig.attrs["seqs"][k]
        if not rows.ndim or (head is not None and head.shape[:1] not in ((lag,), (None,))):
            raise ShapeError(
                f"sequence {k} of {what} needs a first axis to go along, and {lag} "
                f"rows before it; it has shape {show(rows.shape)}"
            )
        if head is not None and head.dtype != rows.dtype:
            raise DTypeError(
                f"sequence {k} of {what} starts as {head.dtype} and goes on as {rows.dtype}"
            )
        _check_rows(k, rows, steps, what)
    for i, (init, taps) in enumerate(zip(sig.inits, sig.attrs["taps"])):
        if not taps or max(taps) >= 0 or (sig.attrs["reverse"] and taps != (-1,)):
            raise ShapeError(f"state {i} of {what} cannot have the taps {taps}")
        if not init.ndim or init.shape[0] not in (None, -min(taps)):
            raise ShapeError(
                f"the first values of state {i} of {what} have shape "
                f"{show(init.shape)}; its taps {taps} need {-min(taps)} rows"
            )


def _check_rows(k, rows, steps, what):
    if None not in (steps, rows.shape[0]) and rows.shape[0] != steps:
        raise ShapeError(f"sequence {k} of {what} has {rows.shape[0]} rows for {steps} steps")


def _steps(sig):
    known = known_value(sig.steps)
    return None if known == ENDLESS else known  # its condition decides how many rows there are


def _infer(attrs, *inputs):
    sig, what = ScanSignature(attrs, inputs), label(attrs)
    steps, outputs = _steps(sig), attrs["body"].outputs
    wanted = sig.carries + sig.outs + bool(attrs["until"])
    if len(outputs) != wanted:
        raise ShapeError(f"the step of {what} has {len(outputs)} outputs, {wanted} are needed")
    traces, finals, outs = [], [], []
    for i, (init, new) in enumerate(zip(sig.inits, outputs)):
        if new.dtype != init.dtype:
            raise DTypeError(
                f"state {i} of {what} starts as {init.dtype} and becomes {new.dtype} "
                f"in a step; cast one of them, so that a state keeps its dtype"
            )
        try:
            row = merge("", init.shape[1:], new.shape)
        except ShapeError:
            raise ShapeError(
                f"state {i} of {what} starts with shape {show(init.shape[1:])} and becomes "
                f"{show(new.shape)} in a step; a state keeps its shape"
            ) from None
        traces.append((new.dtype, (steps, *row)))
        finals.append((new.dtype, row))
    for new in outputs[sig.carries : sig.carries + sig.outs]:
        outs.append((new.dtype, (steps, *new.shape)))
    if attrs["until"] and (outputs[-1].ndim or outputs[-1].dtype != "bool"):
        raise ShapeError(
            f"the condition that ends {what} must be a bool scalar, not "
            f"{outputs[-1].dtype} of shape {show(outputs[-1].shape)}"
        )
    found = [*traces, *finals, *outs, ("int64", ())]
    for k in attrs["unread"]:
        found[k] = (found[k][0], (0, *found[k][1][1:]))
    return found


def _refit(attrs, inputs):
    """The attributes with a body that fits the shapes of these operands."""
    sig = ScanSignature(attrs, inputs)
    _check_operands(sig, label(attrs))
    body = attrs["body"].fit(label(attrs), sig.types(), _constants(sig, sig.others))
    return attrs if body is attrs["body"] else {**attrs, "body": body}


def _constants(sig, others):
    """{index of a body's input: constant} for sizes and numbers whose value is known."""
    found = {}
    for k, x in enumerate(others, sig.first_other):
        x = _computed(x)
        value = getattr(x, "value", None)
        if (
            value is not None
            and value.size <= INLINED
            and (value.dtype.kind in "iubO" or value.size == 1)
        ):
            found[k] = x
    return found


def _computed(x):
    """The constant that a node made of known sizes is; any other as it is. A rewrite may put sizes
    together that nothing has folded yet, and the shapes of the step follow from them."""
    if not isinstance(x, Node) or x.dtype != "int64" or x.ndim > 1 or x.value is not None:
        return x
    found = known(x)
    values = found if isinstance(found, list) else [found]
    return x if None in values else sizes_constant(values, x.shape)


# --- meaning ----------------------------------------------------------------------------------


def _run(attrs, steps, *operands):
    sig, body = _fitted(attrs, (steps, *operands))
    finals, done = [init[-1] for init in sig.inits], 0
    kinds = [(init.dtype, init.shape[1:]) for init in sig.inits]
    kinds += [(n.dtype, n.shape) for n in body.outputs[sig.carries :][: sig.outs]]
    unread = {k if k < sig.carries else k - sig.carries for k in attrs["unread"]}
    found = [_Rows(0 if k in unread else int(steps), *kind) for k, kind in enumerate(kinds)]
    for t, _, new in walk(attrs, (steps, *operands)):
        for rows, value in zip(found, new):
            if rows.total:
                rows.put(t, value)
        finals = new[: sig.carries]
        done += 1
    finals = [np.array(x) for x in finals]
    arrays = [rows.array() for rows in found]
    return (*arrays[: sig.carries], *finals, *arrays[sig.carries :], np.asarray(done, "int64"))


def _fitted(attrs, arrays):
    """(ScanSignature of the arrays, body for their shapes); ShapeError where rows are missing."""
    sig, total = ScanSignature(attrs, arrays), int(arrays[0])
    for k, (_, rows) in enumerate(sig.seqs):
        _check_rows(k, rows, total, label(attrs))
    body = attrs["body"].fit(label(attrs), sig.types())
    if not total:  # no step will tell the shapes: the values of size operands do
        body = body.fit(
            label(attrs),
            sig.types(),
            _constants(sig, [constant(x) if x.dtype.kind in "iu" else x for x in sig.others]),
        )
    return sig, body


def walk(attrs, arrays):
    """(step, arrays of the body's inputs, arrays of its outputs) for each step that runs."""
    sig, body = _fitted(attrs, arrays)
    total = int(arrays[0])
    count = total if sig.count is None else min(max(int(sig.count), 0), total)
    last = count if attrs["limit"] < 0 else min(count, attrs["limit"])
    past = [deque(init, maxlen=len(init)) for init in sig.inits]
    for t in range(count)[::-1][:last] if attrs["reverse"] else range(last):
        values = [_row(head, rows, t) for head, rows in sig.seqs]
        for history, taps in zip(past, attrs["taps"]):
            values += [history[tap] for tap in taps]
        values += sig.others
        try:
            new = body.evaluate(values)
        except (CKernelsError, ValueError, TypeError, IndexError, ArithmeticError) as problem:
            raise in_step(problem, t, attrs) from problem.__cause__
        yield t, values, new
        for history, value in zip(past, new):
            history.append(value)
        if attrs["until"] and new[-1]:
            return


def in_step(problem, t, attrs):
    """`problem` with the step in its sentence."""
    sentence = str(problem.args[0]) if problem.args else ""
    problem.args = (f"{sentence} (in step {t} of {label(attrs)})", *problem.args[1:])
    return problem


def _row(head, rows, t):
    lag = 0 if head is None else len(head)
    return head[t] if t < lag else rows[t - lag]


class _Rows:
    """The rows of one result: zeros where no step ran. A shape the data decides comes late."""

    def __init__(self, total, dtype, shape):
        self.total, self.dtype = total, dtype
        self.rows = None if None in shape else np.zeros((total, *shape), dtype)
        self.shape = shape

    def put(self, t, value):
        if self.rows is None:
            self.rows = np.zeros((self.total, *value.shape), self.dtype)
        if value.shape != self.rows.shape[1:]:
            raise ShapeError(
                f"a step makes a value of shape {show(value.shape)} where others make "
                f"{show(self.rows.shape[1:])}: rows of a result have one shape"
            )
        self.rows[t] = value

    def array(self):
        if self.rows is None:
            return np.zeros((self.total, *(d or 0 for d in self.shape)), self.dtype)
        return self.rows


def _grad(node, g):
    return rules("gradient")[node.op.name](node, g)


def scan_op(name, doc):
    """Declare a scan op. Its attributes:

    body     Body: inputs are one row per sequence, for each carry one value per tap, then what
             stays the same; outputs are the new value of each carry, the per-step outputs, then
             the flag of `until`.
    seqs     the lag L of each sequence: 0: one operand (T, ...), read at row t; L > 0: two
             operands, head (L, ...) and rows (T, ...), read at row t of one after the other.
    taps     for each carry a tuple of negative ints; its operand holds the -min(taps) rows
             before the first step.
    outs     how many per-step outputs there are.
    reverse  steps run from the last row to the first; then all taps are (-1,).
    until    the body's last output ends the scan after the step in which it is true.
    counted  an operand `count` limits the steps to the first `count` rows.
    limit    at most so many steps run; -1: all.
    truncate gradients go back through at most so many steps; -1: all.
    recompute  gradients store nothing but the states, and compute the rest again.
    states   indices of carries that stand for a variable, whose new value is their last one.
    unread   indices of results with a row for each step that have none: nobody reads them.
    name     a name for messages, or None.

    Inputs: (T, [count], sequences, first states, what stays the same). Results: the trace of each
    carry (T, ...), the last value of each, the per-step outputs (T, ...), the count of steps run.
    Rows of steps that did not run are zeros.
    """
    return Op(name, "opaque", _infer, _run, _grad, refit=_refit, doc=doc)


scan_op("scan", "A scan over rows with carried state.")
scan_op("scan_debug", "A scan that always runs step by step in NumPy.")
DEFAULTS = {"reverse": False, "until": False, "counted": False, "limit": -1, "truncate": -1,
            "recompute": False, "states": (), "unread": (), "name": None}  # fmt: skip


class Carry(NamedTuple):
    """State of a scan about to be made."""

    init: object  # node (-min(taps), ...): the rows before the first step
    taps: tuple  # negative ints
    inputs: list  # the placeholders of a step for them
    new: object  # the node of a step that is the new value


def scan_node(
    steps, seqs=(), carries=(), outs=(), until=None, count=None, frozen=(), op="scan", **options
):
    """The scan of a step given as nodes: what the step needs from outside becomes operands.

    steps: int64 scalar node; seqs: [(lag, operands, placeholder of a row)]; carries: [Carry];
    outs, until: nodes of the step; count: see `scan_op`; frozen: nodes of the step that are
    computed once before the scan. Read the results with `item` and a Layout.
    """
    outputs = [c.new for c in carries] + list(outs) + ([] if until is None else [until])
    inputs = [row for _, _, row in seqs] + [x for c in carries for x in c.inputs]
    outputs = masked(outputs, inputs)
    others = capture(outputs, inputs, frozen)
    operands = [x for _, xs, _ in seqs for x in xs] + [c.init for c in carries] + others
    attrs = {
        **DEFAULTS,
        **options,
        "body": closed(inputs + others, outputs),
        "outs": len(outs),
        "seqs": tuple(lag for lag, _, _ in seqs),
        "taps": tuple(tuple(c.taps) for c in carries),
        "until": until is not None,
        "counted": count is not None,
    }
    return make(op, [steps, *([] if count is None else [count]), *operands], attrs)


def without_rows(node, read):
    """The scan `node` that keeps rows of the results in `read` alone, as NumPy runs it."""
    sig = ScanSignature.of(node)
    unread = tuple(k for k in range(sig.executed) if not sig.is_final(k) and k not in read)
    return make(node.op, node.inputs, {**node.attrs, "unread": unread}) if unread else node


def is_scan(node):
    return node.op.name in ("scan", "scan_debug")


def is_endless(scan):
    """Whether only its condition ends a scan; there may be no step, as a first test says."""
    steps = scan.inputs[0]
    ways = steps.inputs[1:] if steps.op.name == "where" else (steps,)
    return any(known_value(n) == ENDLESS for n in ways)
