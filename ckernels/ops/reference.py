"""The NumPy interpreter of a graph, op by op: what tests compare with, and the fallback.

Calls the oracle of each op in topological order, frees values after their last use, and adds the
user's line to errors. A composite op without an oracle is lowered for the shapes of its operands.
"""

import numpy as np

from ..base.dtypes import numpy_name
from ..base.errors import (
    CKernelsError,
    DTypeError,
    IndexOutOfBounds,
    LinearAlgebraError,
    OutOfMemory,
    ShapeError,
    with_line,
)
from ..graph.node import make, placeholder
from ..graph.shapes import show
from ..graph.walk import toposort_cut
from .bodies import register_interpreter

__all__ = ["evaluate", "apply_oracle"]

# Ops whose oracles make NumPy warn of no value, or see to that themselves: turning its warnings off
# costs a microsecond.
QUIET = {"nonzero", "mask_indices", "repeat_index", "broadcast_to", "dynamic_slice",
         "argsort", "numpy_argsort", "numpy_partition", "fft", "rfft_half",
         "irfft_half", "pytensor_perform"}  # fmt: skip


def evaluate(outputs, env=None):
    """The arrays of the nodes `outputs`.

    env: {node: array} for placeholders, and for any other node whose value shall be taken as given.
    Variables that are not in env are read. Results may share memory with the inputs.
    """
    values = {}
    for node, array in (env or {}).items():
        values[node.uid] = _checked(node, array)
    order = toposort_cut(outputs, values)
    with np.errstate(all="ignore"):  # once for all nodes
        if any(node.op.name == "choose" for node in order):
            return _on_demand(outputs, values)
        return _in_order(order, outputs, values)


def _in_order(order, outputs, values):
    """The arrays of `outputs`; every other one is freed after its last use."""
    pending = _readers(order, outputs)
    for node in order:
        if node.op.kind == "leaf":
            values[node.uid] = _leaf(node)
            continue
        values[node.uid] = applied(node, [values[i.uid] for i in node.inputs])
        for i in node.inputs:
            pending[i.uid] -= 1
            if not pending[i.uid]:
                del values[i.uid]
    return [values[n.uid] for n in outputs]


def _on_demand(outputs, values):
    """The arrays of `outputs`, computing of each choice only the side that is taken."""
    stack = list(outputs)
    while stack:
        node = stack[-1]
        needed = node.inputs
        if node.op.name == "choose":
            taken = values.get(needed[0].uid)
            needed = needed[:1] if taken is None else (needed[1 if taken else 2],)
        missing = [i for i in needed if i.uid not in values] if node.uid not in values else []
        if missing:
            stack += missing
            continue
        if node.uid in values:
            stack.pop()
        elif node.op.kind == "leaf":
            values[node.uid] = _leaf(node)
        elif node.op.name != "choose":
            values[node.uid] = applied(node, [values[i.uid] for i in needed])
        elif taken is not None:
            values[node.uid] = values[needed[0].uid]
    return [values[n.uid] for n in outputs]


def _readers(order, outputs):
    """{uid: number of reads left}; outputs have one more, so that they are never freed."""
    pending = {}
    for node in order:
        for i in node.inputs:
            pending[i.uid] = pending.get(i.uid, 0) + 1
    for node in outputs:
        pending[node.uid] = pending.get(node.uid, 0) + 1
    return pending


def _checked(node, array):
    """`array` as the value of `node`: in its dtype; ShapeError where the shape does not fit."""
    if node.outs is not None:
        return array
    array = np.asarray(array)
    wrong = array.ndim != node.ndim or any(
        d not in (None, s) for d, s in zip(node.shape, array.shape)
    )
    if wrong:
        raise with_line(
            ShapeError(
                f"{node.name or node.op.name} has shape {show(node.shape)} and was "
                f"given an array of shape {show(array.shape)}"
            ),
            node,
        )
    return array if numpy_name(array.dtype) == node.dtype else array.astype(node.dtype)


def _leaf(node):
    if node.op.oracle is not None:
        return node.op.oracle(node.attrs)
    if node.op.name == "variable":
        return np.asarray(node.attrs["store"].get())
    default = node.attrs.get("default")
    if default is not None:
        return np.asarray(default.array if hasattr(default, "array") else default)
    raise with_line(
        CKernelsError(
            f"{node.name or node.op.name} ({node.dtype}, shape {show(node.shape)}) "
            "has no value: it is an input that was not given"
        ),
        node,
    )


def apply_oracle(node, arrays):
    """The value of `node` (a tuple when it has several outputs) for the values of its inputs."""
    if node.op.name in QUIET:
        return applied(node, arrays)
    with np.errstate(all="ignore"):
        return applied(node, arrays)


def applied(node, arrays):
    """`apply_oracle` where NumPy's warnings are off."""
    try:
        if node.op.oracle is None and node.op.lower is not None:
            return _lowered(node, arrays)
        result = node.op.oracle(node.attrs, *arrays)
    except CKernelsError as problem:
        raise with_line(problem, node, arrays) from None
    except (ValueError, TypeError, IndexError, ArithmeticError, MemoryError) as problem:
        if getattr(problem, "by_user", False):  # raised by the function of a py_op
            raise
        raise with_line(_explained(problem, node, arrays), node) from problem
    return result if node.outs is not None else np.asarray(result)


def _explained(problem, node, arrays):
    """NumPy's error with the op, dtypes and shapes; of our class that derives from its class."""
    shown = ", ".join(f"{a.dtype.name} {show(a.shape)}" for a in arrays[:6] if hasattr(a, "shape"))
    text = f"{node.op.name} of {shown}: {problem}"
    ours = {
        ValueError: ShapeError,
        IndexError: IndexOutOfBounds,
        TypeError: DTypeError,
        np.linalg.LinAlgError: LinearAlgebraError,
    }
    if isinstance(problem, MemoryError):
        return OutOfMemory(text.removesuffix(": "))
    if type(problem) in ours:
        return ours[type(problem)](text)
    try:
        return type(problem)(text)
    except TypeError:  # an exception whose constructor wants more than a sentence
        return CKernelsError(text)


def _lowered(node, arrays):
    """A composite without an oracle: the value of what it lowers to for these shapes."""
    inputs = [
        i if i.op.name == "constant" else placeholder(a.dtype.name, a.shape)
        for i, a in zip(node.inputs, arrays)
    ]
    lowered = node.op.lower(make(node.op, inputs, node.attrs))
    given = {i: a for i, a in zip(inputs, arrays) if i.op.name != "constant"}
    return evaluate([lowered], given)[0]


register_interpreter(evaluate)
