"""Two ops that check sizes when they become known and are nothing afterwards.

`pytensor_agreed` holds operands of an Elemwise to PyTensor's rule that only axes of a type of size 1
broadcast; `pytensor_specified` holds a tensor to the sizes of a SpecifyShape. Both are their first
operand; a rewrite takes them out before any other looks at the graph.
"""
from ... import ops
from ...errors import CKernelsError, ShapeError
from ...graph.node import make
from ...graph.op import Op
from ...rewrite import canonicalise
from ...ops.shape import known_values

BROADCAST = ("Runtime broadcasting not allowed. One input had a distinct dimension length of 1, but "
             "was not marked as broadcastable: {} in axis {}. If broadcasting was intended, use "
             "`specify_broadcastable` on the relevant input.")


class SpecifiedShape(CKernelsError, AssertionError):
    """A tensor has another shape than the one that was specified."""


def agreed(node, inputs, core=()):
    """The values of the inputs of an Elemwise (or Blockwise), the first with a check of the rest.

    core: how many last axes of each input do not take part in broadcasting.
    """
    kinds = [v.type for v in node.inputs]
    core = core or (0,) * len(inputs)
    rank = inputs[0].ndim - core[0]
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
    attrs = {"axes": tuple((axis, tuple(place[k] for k in free)) for axis, free in axes)}
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
            if 1 in lengths:
                raise ShapeError(BROADCAST.format(lengths, axis))
            raise ShapeError(f"Incompatible vectorized shapes for input in axis {axis}: the sizes "
                             f"{lengths} differ (dimension mismatch)")


def _infer_agreed(attrs, *inputs):
    _check_agreed(attrs, inputs)
    return inputs[0].dtype, inputs[0].shape


def _run_agreed(attrs, *arrays):
    _check_agreed(attrs, arrays)
    return arrays[0]


Op("pytensor_agreed", "composite", _infer_agreed, _run_agreed, lower=lambda node: node.inputs[0],
   ulp=0, doc="The first operand; sizes of operands along attrs['axes'] must be equal.")


# --- SpecifyShape -----------------------------------------------------------------------------

def specified(x, sizes):
    """`x`, which must have `sizes`: ints, scalar nodes, or None for any."""
    vector = ops.pack(*[-1 if s is None else s for s in sizes])
    return make("pytensor_specified", (x, vector))


def _check_specified(shape, wanted):
    for axis, (size, want) in enumerate(zip(shape, wanted)):
        if None not in (size, want) and want != -1 and size != want:
            raise SpecifiedShape(f"SpecifyShape: dim {axis} of input has shape {int(size)}, "
                                 f"expected {int(want)}.")


def _infer_specified(attrs, x, vector):
    wanted = known_values(vector) or [None] * x.ndim
    _check_specified(x.shape, wanted)
    return x.dtype, tuple(w if s is None and w not in (None, -1) else s
                          for s, w in zip(x.shape, wanted))


def _run_specified(attrs, x, vector):
    _check_specified(x.shape, vector.tolist())
    return x


def _lower_specified(node):
    """Nothing, or a check of each call where the sizes are data."""
    x, vector = node.inputs
    wanted = known_values(vector)
    if wanted is not None and None not in wanted:
        return x
    return make("pytensor_specified_by_data", (x, vector))


Op("pytensor_specified", "composite", _infer_specified, _run_specified, lower=_lower_specified,
   ulp=0, doc="The first operand, whose sizes must be those of the second (-1: any).")
Op("pytensor_specified_by_data", "opaque", _infer_specified, _run_specified, ulp=0,
   doc="The same where the sizes are computed from data: checked in each call.")


@canonicalise.family.rule("pytensor_agreed", "pytensor_specified")
def checked(node):
    """Sizes are known now and were checked: what is left is the tensor itself."""
    return node.op.lower(node)
