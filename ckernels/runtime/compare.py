"""When two computations of one node count as equal: for mode="debug".

Rounding differs between NumPy and kernels (fused multiply-add, the order of sums, stable forms), so
a number is right when it is near any of several opinions on it: NumPy's, NumPy's in double
precision, NumPy's of the rewritten graph, or NumPy's from the very operands the kernel had.
"""

import numpy as np

from ..base import dtypes
from ..graph.node import constant, make, placeholder
from ..graph.op import having
from ..graph.walk import toposort
from ..ops import reference
from ..ops.bodies import Body

TOLERANCE = {"float16": 2e-2, "bfloat16": 0.15, "float32": 2e-4, "float64": 1e-9, "complex64": 2e-4,
             "complex128": 1e-9}  # fmt: skip
WIDER = {"float16": "float64", "bfloat16": "float64", "float32": "float64"}
# Results of these may cancel, so errors are measured against the operands.
CANCEL = having("cancels")


def agrees(got, expected, node, operands=(), slack=0.0):
    """Elementwise: whether `got` may stand for `expected` as the value of `node`.

    operands: the arrays it was computed from; slack: an error that is known to come of rounding.
    """
    got, expected = np.asarray(got), np.asarray(expected)
    if node.dtype not in TOLERANCE:
        return got == expected
    with np.errstate(all="ignore"):
        near = np.abs(got.astype(wide_of(got)) - expected)
        scale = size_of([expected])
        if node.op.name in CANCEL or node.op.kind in ("reduce", "gemm", "composite", "opaque"):
            scale = max(scale, size_of(operands))
        limit = TOLERANCE[node.dtype] * (np.abs(expected) + scale) + slack
        same = (got == expected) | np.isnan(got) & np.isnan(expected)
        return same | (near <= limit) & np.isfinite(expected)


def wide_of(array):
    return "complex128" if array.dtype.kind == "c" else "float64"


def size_of(arrays):
    """The largest finite magnitude in some arrays."""
    largest = 0.0
    for array in arrays:
        array = np.asarray(array)
        if dtypes.kind(array.dtype) in "fciu" and array.size:
            finite = np.abs(array[np.isfinite(array)].astype(wide_of(array)))
            largest = max(largest, float(finite.max(initial=0.0)))
    return largest


def evaluated(roots, env, change=None):
    """{uid: array} of every node under `roots`, with the leaves in env taken from there.

    change(node, operands) -> (op, attrs) lets an op compute as another one.
    """
    values = {node.uid: array for node, array in env.items()}
    for node in toposort(roots):
        if node.uid in values:
            if change is not None and node.dtype in WIDER:
                values[node.uid] = values[node.uid].astype(WIDER[node.dtype])
        elif node.op.kind == "leaf":
            value = reference.evaluate([node])[0]
            wider = WIDER.get(node.dtype) if change is not None else None
            values[node.uid] = value.astype(wider) if wider else value
        else:
            operands = [values[i.uid] for i in node.inputs]
            values[node.uid] = (change or plain)(node, operands)
    return values


def plain(node, operands):
    return reference.apply_oracle(node, operands)


def widened(node, operands):
    """The value of `node` with float16 and float32 computed as float64."""
    if node.op.name.startswith("random_") or node.op.name == "iota":
        value = reference.apply_oracle(node, operands)
        return value.astype(WIDER.get(value.dtype.name, value.dtype))
    attrs = node.attrs
    if node.op.refit is not None:  # its bodies are widened, not its operands' types
        attrs = {k: Wide(v) if isinstance(v, Body) else v for k, v in attrs.items()}
        with np.errstate(all="ignore"):
            return node.op.oracle(attrs, *operands)
    if attrs.get("dtype") in WIDER:
        attrs = {**attrs, "dtype": WIDER[attrs["dtype"]]}
    inputs = []
    for i, array in zip(node.inputs, operands):
        if i.op.name == "constant":
            inputs.append(constant(array))
        elif isinstance(array, tuple):
            inputs.append(i)
        else:
            inputs.append(placeholder(array.dtype.name, array.shape, uid=-i.uid - 1))
    return reference.apply_oracle(make(node.op, inputs, attrs), operands)


class Wide:
    """A body that computes as `widened` does: what the oracles of scans and branches ask of one."""

    def __init__(self, body):
        self.body, self.inputs, self.outputs = body, body.inputs, body.outputs

    def fit(self, what, types, constants=None):
        own = [(n.dtype, shape) for n, (_, shape) in zip(self.inputs, types)]
        return Wide(self.body.fit(what, own, constants))

    def evaluate(self, arrays):
        found = evaluated(self.outputs, dict(zip(self.inputs, arrays)), widened)
        return [found[n.uid] for n in self.outputs]


class Opinions:
    """What NumPy says about the nodes of a graph: {uid: array} each."""

    def __init__(self, known, wide, rewritten):
        self.known, self.wide, self.rewritten = known, wide, rewritten

    def accept(self, node, got):
        """Whether each number is near one of the opinions."""
        return bool(self.near(node, got).all())

    def near(self, node, got):
        """Elementwise: whether a number is near one of the opinions."""
        if got.shape != self.known[node.uid].shape or got.dtype.name != node.dtype:
            return np.zeros((), bool)
        operands = [self.known[i.uid] for i in node.inputs if i.outs is None]
        fine = agrees(got, self.known[node.uid], node, operands)
        for opinion in (self.wide, self.rewritten):
            if not fine.all() and node.uid in opinion:
                fine |= agrees(got, opinion[node.uid], node, operands, self.rounding(node))
        return fine

    def rounding(self, node):
        """What rounding alone does to `node`: NumPy's error against double precision, with room."""
        known, wide = self.known[node.uid], self.wide[node.uid]
        if node.dtype not in WIDER:
            return 0.0
        with np.errstate(all="ignore"):
            return 8 * size_of([known - wide])

    def accept_local(self, node, got, values):
        """Whether NumPy computes `got` from the compiled values of the operands."""
        operands = [values.get(i.uid, self.known[i.uid]) for i in node.inputs]
        expected = np.asarray(reference.apply_oracle(node, operands))
        if got.shape != expected.shape or got.dtype.name != node.dtype:
            return False
        fine = agrees(got, expected, node, [o for o in operands if not isinstance(o, tuple)])
        fine |= agrees(got, self.known[node.uid], node) | agrees(got, self.wide[node.uid], node)
        return bool(fine.all())

    def difference(self, node, got):
        """'element (0, 3): 1.5 instead of 1.25 (2 of 12 differ)'."""
        expected = self.known[node.uid]
        if got.shape != expected.shape or got.dtype.name != node.dtype:
            return f"it is {got.dtype.name} {got.shape} instead of {node.dtype} {expected.shape}"
        wrong = ~(agrees(got, expected, node) | agrees(got, self.wide[node.uid], node))
        if not wrong.any():
            wrong = ~agrees(got, expected, node)
        if not wrong.any():
            return "all numbers are near"
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        return (
            f"element {at} is {got[at]!r} instead of {expected[at]!r} "
            f"({int(wrong.sum())} of {wrong.size} differ)"
        )
