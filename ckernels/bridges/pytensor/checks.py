"""Ops that check sizes when they become known and then go away.

`pytensor_agreed` checks operands of an Elemwise by PyTensor's rule that only axes with size 1 in
their type broadcast; `pytensor_specified` checks a tensor by the sizes of a SpecifyShape;
`pytensor_asserted` is a CheckAndRaise. The value of each is its first operand; a rule takes them
out before any other rule sees the graph.
"""

import numpy as np

from ... import ops
from ...base.errors import CKernelsError, IndexOutOfBounds, ShapeError
from ...graph.node import make
from ...graph.op import Op, register_rule
from ...ops.shape import known_value, known_values
from ...rewrite import canonicalise

BROADCAST = (
    "Runtime broadcasting not allowed: sizes {} meet in axis {}, and the type of none of them says "
    "that its 1 may be repeated. If that is meant, pass the input through `specify_broadcastable`."
)


class Misspecified(CKernelsError, AssertionError):
    """A tensor has another shape than the one that was specified."""


class DotMismatch(CKernelsError, TypeError):
    """The operands of a BatchedDot have batches of different sizes."""


def agreed(node, inputs, core=(), error="broadcast"):
    """The values of the inputs of an Elemwise (or Blockwise), the first with a check of the rest.

    core: how many last axes of each input do not take part in broadcasting; error: which message of
    PyTensor an error has: "batch", that of a BatchedDot, "indexed", that of writes at indices.
    """
    kinds = [v.type for v in node.inputs]
    core = core or (0,) * len(inputs)
    rank = inputs[0].ndim - core[0] if inputs else 0
    axes = []
    for axis in range(rank):
        free = tuple(k for k, t in enumerate(kinds) if t.shape[axis] != 1)
        sizes = [inputs[k].shape[axis] for k in free]
        if len(free) > 1 and any(s is None or s != sizes[0] for s in sizes):
            axes.append((axis, free))
    if not axes:
        return inputs
    used = sorted({k for _, free in axes for k in free})
    place = {k: i for i, k in enumerate(used)}
    attrs = {
        "axes": tuple((axis, tuple(place[k] for k in free)) for axis, free in axes),
        "error": error,
    }
    first, rest = used[0], [inputs[k] for k in used]
    inputs = list(inputs)
    inputs[first] = make("pytensor_agreed", rest, attrs)
    return inputs


def _check_agreed(attrs, inputs):
    for axis, free in attrs["axes"]:
        sizes = [inputs[k].shape[axis] for k in free]
        known = [s for s in sizes if s is not None]
        if any(s != known[0] for s in known[1:]):
            lengths = [int(s) for s in known]
            if attrs["error"] == "batch":
                raise DotMismatch(
                    f"the operands of BatchedDot must have the same size in axis "
                    f"0, but have sizes {lengths}"
                )
            if 1 in lengths and attrs["error"] == "indexed":
                raise ShapeError(
                    "Runtime broadcasting not allowed. AdvancedIncSubtensor was asked to write "
                    f"values of size {lengths[0]} to places of size {lengths[1]} in axis {axis}, "
                    "which their type does not mark as broadcastable."
                )
            if 1 in lengths:
                raise ShapeError(BROADCAST.format(lengths, axis))
            raise ShapeError(
                f"Incompatible vectorized shapes for input in axis {axis}: the sizes "
                f"{lengths} differ (dimension mismatch)"
            )


def _infer_agreed(attrs, *inputs):
    _check_agreed(attrs, inputs)
    return inputs[0].dtype, inputs[0].shape


def _run_agreed(attrs, *arrays):
    _check_agreed(attrs, arrays)
    return arrays[0]


def _grad(node, g):
    """Of a check: its value is the first operand."""
    return (g, *[None] * (len(node.inputs) - 1))


Op(
    "pytensor_agreed",
    "composite",
    _infer_agreed,
    _run_agreed,
    _grad,
    lower=lambda node: node.inputs[0],
    ulp=0,
    doc="The first operand; sizes of operands along attrs['axes'] must be equal.",
)


@register_rule("batch", "pytensor_agreed")
def _batch_of_agreed(b, node):
    axes = tuple((axis + 1, free) for axis, free in node.attrs["axes"])
    return make(node.op, [b.full(i) for i in node.inputs], {**node.attrs, "axes": axes})


# --- SpecifyShape -----------------------------------------------------------------------------


def specified(x, sizes, what="SpecifyShape"):
    """`x`, which must have `sizes`: ints, scalar nodes, or None for any.

    what: whose message an error has: "SpecifyShape", "Alloc", "Split", "Split with none
    below 0" or "Mask".
    """
    vector = ops.pack(*[-1 if s is None else s for s in sizes])
    return make("pytensor_specified", (x, vector), {"what": what})


def _check_specified(attrs, shape, wanted):
    for axis, (size, want) in enumerate(zip(shape, wanted)):
        if None in (size, want) or want == -1 or size == want:
            continue
        if attrs["what"] == "Alloc":
            raise ShapeError(
                f"Runtime broadcasting not allowed. Alloc of an input of size "
                f"{int(size)} in axis {axis} to the size {int(want)}: the axis was "
                f"not marked as broadcastable."
            )
        if attrs["what"] == "Mask":
            raise IndexOutOfBounds(
                f"a mask does not fit its tensor: sizes {int(size)} and {int(want)} in axis {axis}"
            )
        if attrs["what"] == "Split":
            raise ShapeError(f"Split sizes do not sum up to the {int(size)} elements of the axis")
        if attrs["what"] == "Split with none below 0":
            raise ShapeError("Split sizes cannot be negative")
        raise Misspecified(
            f"SpecifyShape: dim {axis} of input has shape {int(size)}, expected {int(want)}."
        )


def _infer_specified(attrs, x, vector):
    wanted = known_values(vector) or [None] * x.ndim
    _check_specified(attrs, x.shape, wanted)
    return x.dtype, tuple(
        w if s is None and w not in (None, -1) else s for s, w in zip(x.shape, wanted)
    )


def _run_specified(attrs, x, vector):
    _check_specified(attrs, x.shape, vector.tolist())
    return x


def _lower_specified(node):
    """The tensor alone; where sizes are data, with a check in each call."""
    x, vector = node.inputs
    wanted = known_values(vector)
    if wanted is not None and None not in wanted:
        return x
    return make("pytensor_specified_by_data", (x, vector), node.attrs)


Op(
    "pytensor_specified",
    "composite",
    _infer_specified,
    _run_specified,
    grad=_grad,
    lower=_lower_specified,
    ulp=0,
    doc="The first operand, whose sizes must be those of the second (-1: any).",
)
Op(
    "pytensor_specified_by_data",
    "opaque",
    _infer_specified,
    _run_specified,
    ulp=0,
    doc="The same where the sizes are computed from data: checked in each call.",
)


# --- conditions on sizes ----------------------------------------------------------------------

COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def truth(node):
    """Whether a bool scalar of the arithmetic of sizes is true; None where it is data."""
    name = node.op.name
    if node.value is not None:
        return bool(node.value.all())
    if name in COMPARE and not node.ndim:
        a, b = map(known_value, node.inputs)
        return None if None in (a, b) else bool(COMPARE[name](a, b))
    if name in ("cast", "all"):
        return truth(node.inputs[0])
    if name == "logical_and":
        sides = [truth(i) for i in node.inputs]
        return False if False in sides else None if None in sides else True
    if name == "logical_or":
        sides = [truth(i) for i in node.inputs]
        return True if True in sides else None if None in sides else False
    return None


def asserted(call, x, conditions):
    """`x` if all `conditions` hold; else `call`, a Call of PyTensor's op, says what is wrong."""
    return make("pytensor_asserted", (x, *conditions), {"call": call})


def _run_asserted(attrs, x, *conditions):
    if all(np.all(c) for c in conditions):
        return x
    return attrs["call"](x, *conditions)[0]


def _lower_asserted(node):
    x, *conditions = node.inputs
    left = [c for c in conditions if truth(c) is not True]
    return x if not left else make("pytensor_asserted_by_data", node.inputs, node.attrs)


Op(
    "pytensor_asserted",
    "composite",
    lambda attrs, x, *conditions: (x.dtype, x.shape),
    _run_asserted,
    grad=_grad,
    lower=_lower_asserted,
    ulp=0,
    doc="The first operand if the others are true: attrs['call'] raises what PyTensor raises.",
)
Op(
    "pytensor_asserted_by_data",
    "opaque",
    lambda attrs, x, *conditions: (x.dtype, x.shape),
    _run_asserted,
    ulp=0,
    doc="The same where a condition is no matter of sizes.",
)


@canonicalise.family.rule("pytensor_agreed", "pytensor_specified", "pytensor_asserted")
def checked(node):
    """Sizes are known by now and were checked: the tensor alone is left."""
    return node.op.lower(node)
