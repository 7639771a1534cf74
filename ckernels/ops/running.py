"""Ops that run along an axis: sums, products, extrema, the linear recurrence, and the product of
all others.

Derivatives of products would divide by factors; where one is 0, that says nothing. They are linear
recurrences here, whose own derivatives are linear recurrences again: exact to any order, zeros or
not.
"""

import math

import numpy as np

from ..base import dtypes
from ..base.errors import DTypeError, ShapeError
from ..graph.node import make
from ..graph.op import Op
from ..graph.shapes import broadcast, show
from .base import cast, expand, to_node
from .elementwise import mul, sub, true_div, where
from .filling import arange
from .joining import pad
from .logic import eq, gt, logical_and, logical_or, ne
from .movement import reshape, slice_, transpose
from .reduce import ACCUMULATE_IN, prod, sum
from .shape import size_of, sized, times
from .sort import along

__all__ = ["cumsum", "cumprod", "cummax", "cummin", "linear_recurrence"]


# --- running sums and products ----------------------------------------------------------------


def _running(fn):
    """The oracle of `fn` (arrays, axis), in a wider dtype, from the end where attrs say so."""

    def run(attrs, *arrays):
        axis, dtype = attrs["axis"], arrays[0].dtype
        arrays = [a.astype(ACCUMULATE_IN.get(dtype.name, dtype), copy=False) for a in arrays]
        with np.errstate(all="ignore"):
            if attrs["reverse"]:
                flipped = fn(*(np.flip(a, axis) for a in arrays), axis)
                return np.flip(flipped, axis).astype(dtype)
            return fn(*arrays, axis).astype(dtype)

    return run


def _turned(node):
    """The attrs of `node` for running the other way."""
    return {**node.attrs, "reverse": not node.attrs["reverse"]}


def shifted(x, axis, reverse, first=0):
    """`x` moved by one towards its end along `axis` (`reverse`: its beginning), `first` before."""

    def along_axis(pair, rest):
        return [pair if k == axis else rest for k in range(x.ndim)]

    wide = pad(x, along_axis((0, 1) if reverse else (1, 0), (0, 0)), first)
    part = (1, None, 1) if reverse else (None, -1, 1)
    return slice_(wide, along_axis(part, (None, None, 1)))


def _grad_cumsum(node, g):
    return (make("cumsum", (g,), _turned(node)),)


def _grad_cumprod(node, g):
    """With y_t = x_t y_(t-1), the cotangent of y_t is c_t = g_t + x_(t+1) c_(t+1)."""
    x, axis, back = node.inputs[0], node.attrs["axis"], node.attrs["reverse"]
    c = make("linear_recurrence", (shifted(x, axis, not back), g), _turned(node))
    return (mul(c, shifted(node, axis, back, 1)),)


def _grad_extremum(node, g):
    """Each cotangent goes to the element that became the extremum first."""
    x, axis, back = node.inputs[0], node.attrs["axis"], node.attrs["reverse"]
    size = cast(to_node(size_of(x, axis)), "int64")
    place = expand(arange(size), tuple(k for k in range(x.ndim) if k != axis))
    turn = sub(sub(size, 1), place) if back else place
    before = shifted(node, axis, back)
    same = logical_or(eq(node, before), logical_and(ne(node, node), ne(before, before)))
    begun = where(logical_and(same, gt(turn, 0)), 0, turn)
    turn = make("cummax", (begun,), node.attrs)
    place = sub(sub(size, 1), turn) if back else turn
    return (make("put_along_axis_add", (x, place, g), {"axis": axis}),)


def _ordered(x, name):
    if dtypes.is_complex(x.dtype):
        raise DTypeError(f"complex numbers have no order, so {name} has no meaning for them")
    return x


def _running_op(name, fn, grad, doc, ulp=4, wide=True):
    op = Op(
        name,
        "opaque",
        lambda a, x: (x.dtype, x.shape),
        _running(fn),
        grad,
        ulp=ulp,
        cost=2,
        doc=f"{doc} along attrs['axis'], from the end when attrs['reverse'].",
    )

    def build(x, axis=0, reverse=False):
        x, axis = along(x, axis, name)
        x = cast(x, dtypes.accumulator(x.dtype)) if wide else _ordered(x, name)
        return make(op, (x,), {"axis": axis, "reverse": bool(reverse)})

    build.__name__ = build.__qualname__ = name
    build.__doc__ = (
        f"{doc} along `axis` (None: of the flattened tensor), from the end with `reverse`."
    )
    return build


cumsum = _running_op("cumsum", np.cumsum, _grad_cumsum, "Running sum")
cumprod = _running_op("cumprod", np.cumprod, _grad_cumprod, "Running product")
cummax = _running_op("cummax", np.maximum.accumulate, _grad_extremum,
                     "Running maximum (NaN from the first NaN on)", 0, False)  # fmt: skip
cummin = _running_op("cummin", np.minimum.accumulate, _grad_extremum,
                     "Running minimum (NaN from the first NaN on)", 0, False)  # fmt: skip


# --- linear recurrences -----------------------------------------------------------------------


def _infer_recurrence(attrs, a, b):
    shape = broadcast("linear_recurrence", a.shape, b.shape)
    if a.dtype != b.dtype or not dtypes.is_inexact(a.dtype):
        raise DTypeError(
            f"linear_recurrence needs floats of one dtype, got {a.dtype} and {b.dtype}"
        )
    if any(None not in (m, n) and m != n for m, n in zip(a.shape, b.shape)) or a.ndim != b.ndim:
        raise ShapeError(
            f"linear_recurrence needs two tensors of one shape, got {show(a.shape)} "
            f"and {show(b.shape)}"
        )
    return a.dtype, shape


def _np_recurrence(a, b, axis):
    a, y = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0).copy()
    for t in range(1, len(y)):
        y[t] += a[t] * y[t - 1]
    return np.moveaxis(y, 0, axis)


def _grad_recurrence(node, g):
    (a, _), axis, back = node.inputs, node.attrs["axis"], node.attrs["reverse"]
    c = make("linear_recurrence", (shifted(a, axis, not back), g), _turned(node))
    return mul(c, shifted(node, axis, back)), c


Op(
    "linear_recurrence",
    "opaque",
    _infer_recurrence,
    _running(_np_recurrence),
    _grad_recurrence,
    ulp=16,
    cost=2,
    doc="y_t = a_t y_(t-1) + b_t along attrs['axis'], from y = 0; from the end when "
    "attrs['reverse'].",
)


def linear_recurrence(a, b, axis=0, reverse=False):
    """y_t = a_t y_(t-1) + b_t along `axis`, for `a` and `b` of one shape; y is 0 before."""
    (a, axis), (b, _) = along(a, axis, "linear_recurrence"), along(b, axis, "linear_recurrence")
    return make("linear_recurrence", (a, b), {"axis": axis, "reverse": bool(reverse)})


# --- the product of all others ----------------------------------------------------------------


def _run_others(attrs, x):
    axes = attrs["axes"]
    if not x.size:
        return np.array(x)
    wide = np.moveaxis(x, axes, range(len(axes)))
    wide = wide.astype(ACCUMULATE_IN.get(x.dtype.name, x.dtype))
    rows = math.prod(wide.shape[: len(axes)])  # -1 says nothing where another axis is empty
    flat = wide.reshape((rows, *wide.shape[len(axes) :]))
    ones = np.ones_like(flat[:1])
    before = np.cumprod(np.concatenate([ones, flat[:-1]]), 0)[: len(flat)]
    behind = np.cumprod(np.concatenate([ones, flat[:0:-1]]), 0)[: len(flat)][::-1]
    with np.errstate(all="ignore"):
        y = (before * behind).reshape(wide.shape)
    return np.moveaxis(y, range(len(axes)), axes).astype(x.dtype)


def _lower_others(node):
    """prod / x without a zero; with one zero only that element gets the product of the others; with
    more, nothing does."""
    x, axes = node.inputs[0], node.attrs["axes"]
    zero = eq(x, 0)
    others = where(zero, 1, x)
    product = prod(others, axes, keepdims=True)
    zeros = sum(cast(zero, "int64"), axes, keepdims=True)
    at_zero = where(eq(zeros, 1), product, 0)
    return where(zero, at_zero, where(eq(zeros, 0), true_div(product, others), 0))


def _grad_others(node, g):
    """What is before an element times what is behind it, each differentiated."""
    x, axes = node.inputs[0], node.attrs["axes"]
    order = [k for k in range(x.ndim) if k not in axes] + list(axes)
    kept, moved = sized(x, order[: x.ndim - len(axes)]), transpose(x, order)
    line = [*kept, times(*sized(x, axes))]
    flat, g, axis = reshape(moved, line), reshape(transpose(g, order), line), len(kept)
    total = None
    for back in (False, True):
        before = make("cumprod", (shifted(flat, axis, back, 1),), {"axis": axis, "reverse": back})
        behind = make(
            "cumprod", (shifted(flat, axis, not back, 1),), {"axis": axis, "reverse": not back}
        )
        c = make("linear_recurrence", (flat, mul(g, behind)), {"axis": axis, "reverse": not back})
        part = mul(shifted(c, axis, not back), before)
        total = part if total is None else total + part
    result = reshape(total, sized(moved))
    return (transpose(result, [order.index(k) for k in range(x.ndim)]),)


Op(
    "product_of_others",
    "composite",
    lambda attrs, x: (x.dtype, x.shape),
    _run_others,
    _grad_others,
    lower=_lower_others,
    ulp=8,
    doc="For each element the product of all others along attrs['axes']: the slope of prod.",
)
