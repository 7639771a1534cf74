"""Composite ops: broadcasting by example, counts, means and variances.

A composite is one node for rewrites and gradients, and lowers at concrete shapes into elementwise +
reduce + expand, which fuse into one row program. `lower` never makes another composite. The softmax
family is in softmax.py.
"""

import numpy as np

from ..base import dtypes
from ..base.errors import ShapeError
from ..base.given import flag
from ..graph.node import constant, make, sizes_constant
from ..graph.op import Op
from ..graph.shapes import axes_of, broadcast, show
from .base import broadcast_like, cast, check_kind, expand, operands, to_node, unbroadcast
from .elementwise import abs, add, maximum, minimum, mul, sqrt, square, sub, true_div
from .logic import eq, isfinite, isnan, le, logical_and, logical_or
from .reduce import ACCUMULATE_IN, sum

__all__ = ["mean", "var", "std", "unbroadcast", "broadcast_like", "count", "isclose"]


def wide(x):
    """float16 and bfloat16 go through float32 inside a composite."""
    return cast(x, dtypes.computed(x.dtype))


def run_wide(fn):
    """An oracle computed in float64 (complex128) and rounded once to the operand's dtype."""

    def run(attrs, *arrays):
        dtype = arrays[0].dtype
        exact = [a.astype("complex128" if a.dtype.kind == "c" else "float64") for a in arrays]
        with np.errstate(all="ignore"):
            return np.asarray(fn(attrs, *exact)).astype(dtype)

    return run


def dropped(what, takes="f"):
    """infer of a float reduction over attrs["axes"]."""

    def infer(attrs, x):
        check_kind(what, x.dtype, takes)
        return x.dtype, tuple(d for i, d in enumerate(x.shape) if i not in attrs["axes"])

    return infer


def to_floats(x, name):
    x = to_node(x, name)
    return cast(x, dtypes.to_float(x.dtype))


# --- broadcasting by example ------------------------------------------------------------------


def _sum_to(g, shape):
    """The NumPy meaning of unbroadcast."""
    lead = g.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(i + lead for i, d in enumerate(shape) if d == 1)
    total = np.sum(g, axis=axes, keepdims=True, dtype=ACCUMULATE_IN.get(g.dtype.name, g.dtype))
    return np.broadcast_to(total.reshape(total.shape[lead:]), shape).astype(g.dtype)


def _infer_unbroadcast(attrs, g, like):
    if g.ndim < like.ndim:
        raise ShapeError(f"cannot unbroadcast shape {show(g.shape)} to {show(like.shape)}")
    return g.dtype, like.shape


def _lower_unbroadcast(node):
    g, like = node.inputs
    lead = g.ndim - like.ndim
    ones = tuple(i for i, d in enumerate(like.shape) if d == 1 and g.shape[lead + i] != 1)
    axes = tuple(range(lead)) + tuple(i + lead for i in ones)
    return expand(make("sum", (g,), {"axes": axes}), ones) if axes else g


Op(
    "unbroadcast",
    "composite",
    _infer_unbroadcast,
    lambda attrs, g, like: _sum_to(g, like.shape),
    lambda node, g: (broadcast_like(g, node.inputs[0]), None),
    lower=_lower_unbroadcast,
    doc="g summed over the axes along which `like` was broadcast: the shape of `like`.",
)


def _infer_broadcast_like(attrs, x, like):
    shape = broadcast("broadcast", x.shape, like.shape)
    grows = any(d == 1 and s not in (1, None) for s, d in zip(shape, like.shape))
    if len(shape) != like.ndim or grows:
        raise ShapeError(f"cannot broadcast shape {show(x.shape)} to {show(like.shape)}")
    return x.dtype, tuple(d if d is not None else s for s, d in zip(shape, like.shape))


def _lower_broadcast_like(node):
    x, like = node.inputs
    if x.shape == like.shape:
        return x
    return make("broadcast_to", (x, sizes_constant(like.shape, (like.ndim,))))


Op(
    "broadcast_like",
    "composite",
    _infer_broadcast_like,
    lambda attrs, x, like: np.broadcast_to(x, like.shape).copy(),
    lambda node, g: (unbroadcast(g, node.inputs[0]), None),
    lower=_lower_broadcast_like,
    doc="x broadcast to the shape of `like`.",
)


def size_along(x_shape, axes):
    n = 1
    for a in axes:
        n = None if n is None or x_shape[a] is None else n * x_shape[a]
    return n


Op(
    "count",
    "composite",
    lambda attrs, x: (attrs["dtype"], ()),
    lambda attrs, x: np.asarray(size_along(x.shape, attrs["axes"]), dtype=attrs["dtype"]),
    lambda node, g: (None,),
    lower=lambda node: extent(node.inputs[0], node.attrs["axes"], node.attrs["dtype"]),
    doc="How many elements of x lie along attrs['axes'], as a scalar of attrs['dtype'].",
)

Op(
    "extent",
    "leaf",
    lambda attrs: (attrs["dtype"], ()),
    lambda attrs: np.asarray(attrs["size"], dtype=attrs["dtype"]),
    doc="A size as a scalar operand: not a constant, so that no kernel has a batch size baked in.",
)


def extent(x, axes, dtype):
    """The number of elements of `x` along `axes`: a leaf, or `count` while the size is unknown."""
    size = size_along(x.shape, axes)
    if size is None:
        return make("count", (x,), {"axes": axes, "dtype": dtype})
    return make("extent", (), {"size": size, "dtype": dtype})


def count(x, axis=None, dtype="int64"):
    """The number of elements of `x` along axes, a scalar: a constant where the shape is known."""
    x = to_node(x, "count")
    axes, dtype = axes_of(axis, x.ndim), dtypes.name_of(dtype)
    known = size_along(x.shape, axes)
    if known is not None:
        return constant(np.asarray(known, dtype=dtype))
    return make("count", (x,), {"axes": axes, "dtype": dtype})


# --- moments ----------------------------------------------------------------------------------


def _per(total, x, axes):
    """`total` divided by the number of elements of `x` along axes."""
    return true_div(total, extent(x, axes, total.dtype))


def _mean_kept(x, axes):
    return _per(sum(x, axes, keepdims=True), x, axes)


def _lower_mean(node):
    x, axes = wide(node.inputs[0]), node.attrs["axes"]
    return cast(_per(sum(x, axes), x, axes), node.dtype)


def _grad_mean(node, g):
    x, axes = node.inputs[0], node.attrs["axes"]
    if x.dtype in dtypes.COMPUTED:
        return (broadcast_like(cast(_per(expand(wide(g), axes), x, axes), x.dtype), x),)
    return (broadcast_like(_per(expand(g, axes), x, axes), x),)


_mean = Op(
    "mean",
    "composite",
    dropped("mean", "fc"),
    run_wide(lambda a, x: _np_mean(x, a["axes"])),
    _grad_mean,
    lower=_lower_mean,
    ulp=4,
    doc="Arithmetic mean over axes; NaN of nothing.",
)


def _np_mean(x, axes, keepdims=False):
    return np.sum(x, axis=axes, keepdims=keepdims) / np.float64(size_along(x.shape, axes))


LONG = 512  # elements from which on a variance may be taken in one pass over memory: the
# scheduler decides (schedule/chunks.py), and takes two passes as before where it is short


def _np_moment2(x, axes):
    off = x - np.mean(x, axis=axes, keepdims=True, dtype=np.float64)
    return np.square(off).sum(axes).astype(x.dtype)


Op(
    "moment2",
    "reduce",
    dropped("moment2"),
    lambda attrs, x: _np_moment2(x, attrs["axes"]),
    ulp=8,
    doc="Sum of squared deviations from the mean over axes: a long variance before the code "
    "generator decides between two passes and chunks.",
)


def _lower_var(node):
    x, axes = wide(node.inputs[0]), node.attrs["axes"]
    if (size_along(x.shape, axes) or 0) >= LONG and x.dtype in ("float32", "float64"):
        return cast(_per(make("moment2", (x,), {"axes": axes}), x, axes), node.dtype)
    off = sub(x, _mean_kept(x, axes))
    return cast(_per(sum(square(off), axes), x, axes), node.dtype)


def _grad_var(node, g):
    x, axes = node.inputs[0], node.attrs["axes"]
    off = sub(wide(x), mean(wide(x), axes, keepdims=True))
    return (cast(mul(_per(mul(expand(wide(g), axes), 2), x, axes), off), x.dtype),)


_var = Op(
    "var",
    "composite",
    dropped("var"),
    run_wide(lambda a, x: _np_mean(np.square(x - _np_mean(x, a["axes"], True)), a["axes"])),
    _grad_var,
    lower=_lower_var,
    ulp=8,
    doc="Population variance over axes.",
)


def reduced(op, x, axis, keepdims):
    x = to_floats(x, op.name)
    axes = axes_of(axis, x.ndim)
    y = make(op, (x,), {"axes": axes})
    return expand(y, axes) if flag(keepdims, "keepdims") else y


def mean(x, axis=None, keepdims=False):
    """Arithmetic mean over axes (all by default); integers give a float."""
    return reduced(_mean, x, axis, keepdims)


def var(x, axis=None, keepdims=False, ddof=0):
    """Variance over axes; divides by n - ddof."""
    y = reduced(_var, x, axis, keepdims)
    if not ddof:
        return y
    n = count(x, axis, y.dtype)
    return mul(y, true_div(n, sub(n, ddof)))


def std(x, axis=None, keepdims=False, ddof=0):
    """Standard deviation over axes; divides by n - ddof."""
    return sqrt(var(x, axis, keepdims, ddof))


def isclose(x, z, rtol=1e-5, atol=1e-8, equal_nan=False):
    """|x - z| <= atol + rtol * |z| elementwise; infinities are close only to themselves."""
    x, z = operands((x, z), "isclose")
    equal_nan = flag(equal_nan, "equal_nan")
    near = le(elementwise_abs(x, z), add(mul(abs(z), rtol), atol))
    near = logical_or(eq(x, z), logical_and(near, logical_and(isfinite(x), isfinite(z))))
    return logical_or(near, logical_and(isnan(x), isnan(z))) if equal_nan else near


def elementwise_abs(x, z):
    """|x - z| without the wrap-around of unsigned types."""
    return sub(maximum(x, z), minimum(x, z)) if dtypes.is_discrete(x.dtype) else abs(sub(x, z))
