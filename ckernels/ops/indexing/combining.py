"""The op that lets positions of a tensor become the larger or the smaller of what they hold and of
what is stored there: `np.maximum.at` and `np.minimum.at`. Setting and adding is in advanced.py.
"""

import numpy as np

from ...base import dtypes
from ...base.errors import DTypeError
from ...graph.node import make
from ...graph.op import Op
from ..base import cast, unbroadcast
from ..elementwise import maximum, true_div, where
from ..logic import eq
from ..movement import broadcast_to
from ..shape import sized
from .advanced import advanced_inc, advanced_take, infer_write, int_indices, key_of

__all__ = ["advanced_combine"]

OF_NUMPY = {"max": np.maximum, "min": np.minimum}


def _infer(attrs, x, y, *indices):
    if dtypes.is_complex(x.dtype):
        raise DTypeError(f"complex numbers have no {attrs['how']} at indices")
    return infer_write(attrs, x, y, *indices)


def _run(attrs, x, y, *indices):
    out = np.array(x, order="C")
    where = np.arange(x.size).reshape(x.shape)[key_of(attrs["template"], x, indices)]
    with np.errstate(all="ignore"):
        OF_NUMPY[attrs["how"]].at(out.reshape(-1), where, np.broadcast_to(y, where.shape))
    return out


def _grad(node, g):
    """Equal shares for all that are the extremum of their position."""
    x, y, *indices = node.inputs
    template = node.attrs["template"]
    part = advanced_take(node, indices, template)
    won, won_y = eq(node, x), eq(part, broadcast_to(y, sized(part)))
    winners = advanced_inc(cast(won, g.dtype), cast(won_y, g.dtype), indices, template)
    share = true_div(g, maximum(winners, 1))
    back = where(won_y, advanced_take(share, indices, template), 0)
    return (where(won, share, 0), unbroadcast(back, y)) + (None,) * len(indices)


Op(
    "advanced_combine",
    "opaque",
    _infer,
    _run,
    _grad,
    doc="x in which x[key] is attrs['how'], max or min, of itself and y, once for each time that a "
    "position occurs.",
)


def advanced_combine(x, y, indices, template, how):
    """A tensor like `x` with y (broadcast) at x[key] where it is larger ("max") or smaller."""
    indices = [int_indices(i, "an index") for i in indices]
    return make("advanced_combine", [x, y, *indices], {"template": tuple(template), "how": how})
