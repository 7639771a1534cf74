"""Linear interpolation along one axis and its transpose, closed under differentiation.

Element j of the result lies at (start + step * j) / unit of the axis, in integers so that places
are exact; beyond the ends the ends are repeated. Both ops are products with a matrix of at most
two numbers in a row, of which there are only `unit` different pairs, whatever the sizes.
"""

import numpy as np

from ..base import dtypes
from ..base.errors import DTypeError, ShapeError
from ..graph.node import make
from ..graph.op import Op
from ..graph.shapes import show
from .base import to_node
from .shape import shape_vector, size_of
from .windows import Sized, compute_dtype, known_sizes

__all__ = ["interpolate"]


def places(attrs, size, count):
    """(index below, index above, share of the upper one) of each of `count` elements."""
    at = attrs["start"] + attrs["step"] * np.arange(count)
    low, part = at // attrs["unit"], (at % attrs["unit"]) / attrs["unit"]
    below, above = np.clip(low, 0, size - 1), np.clip(low + 1, 0, size - 1)
    return below, above, np.where(below == above, 0.0, part)


def shares(attrs):
    """Weights by (start + step * j) % unit: of the element above the place, then of that below."""
    part = np.arange(attrs["unit"]) / attrs["unit"]
    return np.concatenate([part, 1 - part])


def _infer(attrs, x, count):
    if not dtypes.is_float(x.dtype):
        raise DTypeError(f"interpolate takes floats, not {x.dtype}; cast them first")
    axis = attrs["axis"]
    if not 0 <= axis < x.ndim:
        raise ShapeError(f"axis {axis} does not exist in a tensor of shape {show(x.shape)}")
    new = known_sizes(count, 1, "interpolate")[0]
    if x.shape[axis] == 0 and new:
        raise ShapeError(
            f"cannot interpolate {new} elements from none along axis {axis} of shape "
            f"{show(x.shape)}"
        )
    return x.dtype, x.shape[:axis] + (new,) + x.shape[axis + 1 :]


def _run(transposed):
    def run(attrs, x, count):
        _, shape = (
            _infer(attrs, Sized(x), Sized(count))
            if not transposed
            else _infer_grad(attrs, Sized(x), Sized(count))
        )
        lines = np.moveaxis(x.astype(compute_dtype(x.dtype), copy=False), attrs["axis"], 0)
        out = np.zeros((shape[attrs["axis"]], *lines.shape[1:]), lines.dtype)
        if out.size and lines.size:
            below, above, part = places(
                attrs, *((len(out), len(lines)) if transposed else (len(lines), len(out)))
            )
            for j, (a, b, w) in enumerate(zip(below, above, part.astype(lines.dtype))):
                if transposed:
                    out[a] += (1 - w) * lines[j]
                    if w:
                        out[b] += w * lines[j]
                else:
                    out[j] = (1 - w) * lines[a] + w * lines[b] if w else lines[a]
        return np.ascontiguousarray(np.moveaxis(out, 0, attrs["axis"])).astype(x.dtype, copy=False)

    return run


def _infer_grad(attrs, g, size):
    axis = attrs["axis"]
    new = known_sizes(size, 1, "interpolate_grad")[0]
    if new == 0 and g.shape[axis]:
        raise ShapeError(f"no interpolation of an empty axis {axis} has shape {show(g.shape)}")
    return g.dtype, g.shape[:axis] + (new,) + g.shape[axis + 1 :]


def _grad_of(name):
    def grad(node, g):
        size = shape_vector([size_of(node.inputs[0], node.attrs["axis"])])
        return make(name, (g, size), node.attrs), None

    return grad


Op(
    "interpolate",
    "opaque",
    _infer,
    _run(False),
    _grad_of("interpolate_grad"),
    ulp=4,
    doc="x at evenly spaced places along an axis, as many as the second operand says.",
)
Op(
    "interpolate_grad",
    "opaque",
    _infer_grad,
    _run(True),
    _grad_of("interpolate"),
    ulp=64,
    doc="The transpose of interpolate: to an axis of the size the second operand says.",
)


def interpolate(x, axis, count, step, start, unit):
    """`x` at the places (start + step * j) / unit of `axis`, j < count, between elements linearly.

    count: an int or a scalar node; step, start, unit: ints, step and unit positive.
    """
    attrs = {"axis": int(axis), "step": int(step), "start": int(start), "unit": int(unit)}
    if attrs["step"] < 1 or attrs["unit"] < 1:
        raise ShapeError(f"interpolate needs positive steps, not {step} / {unit}")
    return make("interpolate", (to_node(x, "interpolate"), shape_vector([count])), attrs)
