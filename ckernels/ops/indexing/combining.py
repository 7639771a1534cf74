"""The op that combines what positions of a tensor hold with what is stored there, once for each
time that a position occurs: `np.maximum.at` and its kin. Setting and adding is in advanced.py.
"""

import numpy as np

from ...base import dtypes
from ...base.errors import DTypeError
from ...graph.node import make
from ...graph.op import Op
from ..base import cast, from_copies, ones_like, unbroadcast
from ..elementwise import maximum, mul, neg, sub, true_div, where
from ..logic import eq
from ..movement import broadcast_to
from ..shape import sized
from .advanced import advanced_inc, advanced_take, infer_write, int_indices, key_of

__all__ = ["advanced_combine"]

OF_NUMPY = {"max": np.maximum, "min": np.minimum, "mul": np.multiply, "div": np.true_divide,
            "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip


def _infer(attrs, x, y, *indices):
    if dtypes.is_complex(x.dtype):
        raise DTypeError(f"complex numbers have no {attrs['how']} at indices")
    return infer_write(attrs, x, y, *indices)


@from_copies
def _run(attrs, x, y, *indices):
    out = np.array(x, order="C")
    where = np.arange(x.size).reshape(x.shape)[key_of(attrs["template"], x, indices)]
    with np.errstate(all="ignore"):
        OF_NUMPY[attrs["how"]].at(out.reshape(-1), where, np.broadcast_to(y, where.shape))
    return out


def _grad(node, g):
    """Equal shares for all that are the extremum of their position; of products the other factors,
    where one of them is 0 also."""
    x, y, *indices = node.inputs
    if node.attrs["how"] in ("mul", "div"):
        return (*_grad_of_product(node, g, x, y, indices), *(None for _ in indices))
    template = node.attrs["template"]
    part = advanced_take(node, indices, template)
    won, won_y = eq(node, x), eq(part, broadcast_to(y, sized(part)))
    winners = advanced_inc(cast(won, g.dtype), cast(won_y, g.dtype), indices, template)
    share = true_div(g, maximum(winners, 1))
    back = where(won_y, advanced_take(share, indices, template), 0)
    return (where(won, share, 0), unbroadcast(back, y)) + (None,) * len(indices)


def _grad_of_product(node, g, x, y, indices):
    template = node.attrs["template"]

    def combined(start, factors):
        return advanced_combine(start, factors, indices, template, "mul")

    def at(z):
        return advanced_take(z, indices, template)

    if node.attrs["how"] == "div":
        back = neg(true_div(at(mul(g, node)), y))
        return true_div(g, combined(ones_like(x), y)), unbroadcast(back, y)
    wide = broadcast_to(y, sized(at(node)))
    zero = eq(wide, 0)
    own, nothing = where(zero, wide, 0), mul(x, 0)

    def summed(z):
        return at(advanced_inc(nothing, cast(z, x.dtype), indices, template))

    # Other factors: those that are not 0, by those that are, of which one is its own sum.
    more = sub(summed(zero), cast(zero, x.dtype))
    none = where(eq(more, 0), 1, where(eq(more, 1), sub(summed(own), own), 0))
    rest = true_div(at(combined(x, where(zero, 1, wide))), where(zero, 1, wide))
    back = mul(at(g), mul(rest, none))
    return mul(g, combined(ones_like(x), y)), unbroadcast(back, y)


Op(
    "advanced_combine",
    "opaque",
    _infer,
    _run,
    _grad,
    doc="x in which x[key] is attrs['how'] (max, min, mul, div, and, or, xor) of itself and y, "
    "once for each time that a position occurs.",
)


def advanced_combine(x, y, indices, template, how):
    """A tensor like `x` with y (broadcast) combined with x[key], by `how`: a name in OF_NUMPY."""
    indices = [int_indices(i, "an index") for i in indices]
    return make("advanced_combine", [x, y, *indices], {"template": tuple(template), "how": how})
