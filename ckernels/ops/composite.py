"""Composite rows: means, softmax and its relatives, cross-entropies, broadcasting by example.

Each is one node for rewrites and gradients (whose rules are the stable ones) and lowers, at concrete
shapes, into elementwise + reduce + expand, which fuse into one row program. `lower` never makes
another composite.
"""
import numpy as np

from .. import dtypes
from ..graph.node import constant, make
from ..graph.op import Op
from ..graph.shapes import axes_of, axis_of, broadcast, show
from ..errors import ShapeError
from .base import broadcast_like, cast, check_kind, expand, operands, to_node, unbroadcast
from .elementwise import abs, add, maximum, mul, neg, relu, sqrt, square, sub, true_div, where
from .logic import eq, isfinite
from .reduce import max, sum
from .transcendental import exp, log, log1mexp, log1p, sigmoid, softplus

__all__ = ["mean", "var", "std", "softmax", "log_softmax", "logsumexp", "unbroadcast", "broadcast_like",
           "count", "logaddexp", "logdiffexp", "softmax_crossentropy", "sigmoid_crossentropy"]


def _wide(x):
    """float16 goes through float32 inside a composite."""
    return cast(x, "float32") if x.dtype == "float16" else x


def _run_wide(fn):
    """An oracle computed in float64 (complex128) and rounded once to the operand's dtype."""
    def run(attrs, *arrays):
        dtype = arrays[0].dtype
        wide = [a.astype("complex128" if a.dtype.kind == "c" else "float64") for a in arrays]
        with np.errstate(all="ignore"):
            return np.asarray(fn(attrs, *wide)).astype(dtype)
    return run


def _dropped(what, takes="f"):
    """infer of a float reduction over attrs["axes"]."""
    def infer(attrs, x):
        check_kind(what, x.dtype, takes)
        return x.dtype, tuple(d for i, d in enumerate(x.shape) if i not in attrs["axes"])
    return infer


def _kept(what):
    """infer of a float op that keeps the shape and has attrs["axis"]."""
    def infer(attrs, x):
        check_kind(what, x.dtype, "f")
        return x.dtype, x.shape
    return infer


def _floats(x, name):
    x = to_node(x, name)
    return cast(x, dtypes.to_float(x.dtype))


# --- broadcasting by example ------------------------------------------------------------------------------

def _sum_to(g, shape):
    """The NumPy meaning of unbroadcast."""
    lead = g.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(i + lead for i, d in enumerate(shape) if d == 1)
    wide = {"float16": "float32", "float32": "float64", "complex64": "complex128"}
    total = np.sum(g, axis=axes, keepdims=True, dtype=wide.get(g.dtype.name, g.dtype))
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


Op("unbroadcast", "composite", _infer_unbroadcast, lambda attrs, g, like: _sum_to(g, like.shape),
   lambda node, g: (broadcast_like(g, node.inputs[0]), None), lower=_lower_unbroadcast,
   doc="g summed over the axes along which `like` was broadcast: the shape of `like`.")


def _infer_broadcast_like(attrs, x, like):
    shape = broadcast("broadcast", x.shape, like.shape)
    if len(shape) != like.ndim or True in [s != d and d == 1 for s, d in zip(shape, like.shape)]:
        raise ShapeError(f"cannot broadcast shape {show(x.shape)} to {show(like.shape)}")
    return x.dtype, tuple(d if d is not None else s for s, d in zip(shape, like.shape))


def _lower_broadcast_like(node):
    x, like = node.inputs
    if x.shape == like.shape:
        return x
    return make("broadcast_to", (x, constant(np.array(like.shape, dtype="int64"))))


Op("broadcast_like", "composite", _infer_broadcast_like,
   lambda attrs, x, like: np.broadcast_to(x, like.shape).copy(),
   lambda node, g: (unbroadcast(g, node.inputs[0]), None), lower=_lower_broadcast_like,
   doc="x broadcast to the shape of `like`.")


def _count(x_shape, axes):
    n = 1
    for a in axes:
        n = None if n is None or x_shape[a] is None else n * x_shape[a]
    return n


Op("count", "composite", lambda attrs, x: (attrs["dtype"], ()),
   lambda attrs, x: np.asarray(_count(x.shape, attrs["axes"]), dtype=attrs["dtype"]),
   lambda node, g: (None,),
   lower=lambda node: constant(np.asarray(_count(node.inputs[0].shape, node.attrs["axes"]),
                                          dtype=node.attrs["dtype"])),
   doc="How many elements of x lie along attrs['axes'], as a scalar of attrs['dtype'].")


def count(x, axis=None, dtype="int64"):
    """The number of elements of `x` along axes, a scalar: a constant where the shape is known."""
    x = to_node(x, "count")
    axes, dtype = axes_of(axis, x.ndim), dtypes.name_of(dtype)
    known = _count(x.shape, axes)
    if known is not None:
        return constant(np.asarray(known, dtype=dtype))
    return make("count", (x,), {"axes": axes, "dtype": dtype})


# --- moments ----------------------------------------------------------------------------------------------

def _per(total, x, axes):
    """`total` divided by the number of elements of `x` along axes."""
    return true_div(total, count(x, axes, total.dtype))


def _mean_kept(x, axes):
    return _per(sum(x, axes, keepdims=True), x, axes)


def _lower_mean(node):
    x, axes = _wide(node.inputs[0]), node.attrs["axes"]
    return cast(_per(sum(x, axes), x, axes), node.dtype)


def _grad_mean(node, g):
    x, axes = node.inputs[0], node.attrs["axes"]
    if x.dtype == "float16":
        return (broadcast_like(cast(_per(expand(_wide(g), axes), x, axes), "float16"), x),)
    return (broadcast_like(_per(expand(g, axes), x, axes), x),)


_mean = Op("mean", "composite", _dropped("mean", "fc"), _run_wide(lambda a, x: _np_mean(x, a["axes"])),
           _grad_mean, lower=_lower_mean, ulp=4, doc="Arithmetic mean over axes; NaN over no elements.")


def _np_mean(x, axes, keepdims=False):
    return np.sum(x, axis=axes, keepdims=keepdims) / np.float64(_count(x.shape, axes))


def _lower_var(node):
    x, axes = _wide(node.inputs[0]), node.attrs["axes"]
    off = sub(x, _mean_kept(x, axes))
    return cast(_per(sum(square(off), axes), x, axes), node.dtype)


def _grad_var(node, g):
    x, axes = node.inputs[0], node.attrs["axes"]
    off = sub(_wide(x), mean(_wide(x), axes, keepdims=True))
    return (cast(mul(_per(mul(expand(_wide(g), axes), 2), x, axes), off), x.dtype),)


_var = Op("var", "composite", _dropped("var"),
          _run_wide(lambda a, x: _np_mean(np.square(x - _np_mean(x, a["axes"], True)), a["axes"])),
          _grad_var, lower=_lower_var, ulp=8, doc="Population variance over axes.")


def _reduced(op, x, axis, keepdims):
    x = _floats(x, op.name)
    axes = axes_of(axis, x.ndim)
    y = make(op, (x,), {"axes": axes})
    return expand(y, axes) if keepdims else y


def mean(x, axis=None, keepdims=False):
    """Arithmetic mean over axes (all by default); integers give a float."""
    return _reduced(_mean, x, axis, keepdims)


def var(x, axis=None, keepdims=False, ddof=0):
    """Variance over axes; divides by n - ddof."""
    y = _reduced(_var, x, axis, keepdims)
    if not ddof:
        return y
    n = count(x, axis, y.dtype)
    return mul(y, true_div(n, sub(n, ddof)))


def std(x, axis=None, keepdims=False, ddof=0):
    """Standard deviation over axes; divides by n - ddof."""
    return sqrt(var(x, axis, keepdims, ddof))


# --- softmax family ---------------------------------------------------------------------------------------

def _np_lse(x, axes, keepdims):
    if _count(x.shape, axes) == 0:
        return np.full(np.sum(x, axis=axes, keepdims=keepdims).shape, -np.inf)
    top = np.max(x, axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    y = np.log(np.sum(np.exp(x - top), axis=axes, keepdims=True)) + top
    return y if keepdims else np.squeeze(y, axis=axes)


def _np_log_softmax(attrs, x):
    return x - _np_lse(x, (attrs["axis"],), True)


def _np_softmax(attrs, x):
    e = np.exp(x - np.max(x, axis=attrs["axis"], keepdims=True, initial=-np.inf))
    return e / np.sum(e, axis=attrs["axis"], keepdims=True)


def _lower_softmax(node):
    x, axis = _wide(node.inputs[0]), node.attrs["axis"]
    if x.shape[axis] == 0:
        return node.inputs[0]
    e = exp(sub(x, max(x, axis, keepdims=True)))
    return cast(true_div(e, sum(e, axis, keepdims=True)), node.dtype)


def _grad_softmax(node, g):
    axis = node.attrs["axis"]
    return (mul(node, sub(g, sum(mul(g, node), axis, keepdims=True))),)


_softmax = Op("softmax", "composite", _kept("softmax"), _run_wide(_np_softmax), _grad_softmax,
              lower=_lower_softmax, cost=12, ulp=8, doc="exp(x) / sum(exp(x)) along attrs['axis'].")


def _lowered_log_softmax(x, axis):
    off = sub(x, max(x, axis, keepdims=True))
    return sub(off, log(sum(exp(off), axis, keepdims=True)))


def _lower_log_softmax(node):
    x, axis = node.inputs[0], node.attrs["axis"]
    return x if x.shape[axis] == 0 else cast(_lowered_log_softmax(_wide(x), axis), node.dtype)


def _grad_log_softmax(node, g):
    axis = node.attrs["axis"]
    return (sub(g, mul(softmax(node.inputs[0], axis), sum(g, axis, keepdims=True))),)


_log_softmax = Op("log_softmax", "composite", _kept("log_softmax"), _run_wide(_np_log_softmax),
                  _grad_log_softmax, lower=_lower_log_softmax, cost=12, ulp=8,
                  doc="log(softmax(x)) along attrs['axis'] without underflow.")


def _finite_or_zero(x):
    return where(isfinite(x), x, 0)


def _lower_logsumexp(node):
    x, axes = _wide(node.inputs[0]), node.attrs["axes"]
    if _count(x.shape, axes) == 0:
        empty = constant(np.asarray(-np.inf, dtype=node.dtype))
        return make("broadcast_to", (empty, constant(np.array(node.shape, dtype="int64"))))
    top = _finite_or_zero(max(x, axes))
    total = sum(exp(sub(x, expand(top, axes))), axes)
    return cast(add(log(total), top), node.dtype)


def _grad_logsumexp(node, g):
    x, axes = node.inputs[0], node.attrs["axes"]
    return (mul(expand(g, axes), exp(sub(x, expand(_finite_or_zero(node), axes)))),)


_logsumexp = Op("logsumexp", "composite", _dropped("logsumexp"),
                _run_wide(lambda a, x: _np_lse(x, a["axes"], False)), _grad_logsumexp,
                lower=_lower_logsumexp, cost=10, ulp=8,
                doc="log(sum(exp(x))) over axes: -inf for all -inf, inf when there is an inf.")


def _along(op, x, axis):
    x = _floats(x, op.name)
    return make(op, (x,), {"axis": axis_of(int(axis), x.ndim)})


def softmax(x, axis=-1):
    """exp(x) / sum(exp(x)) along one axis, with the maximum subtracted first."""
    return _along(_softmax, x, axis)


def log_softmax(x, axis=-1):
    """log(softmax(x)) along one axis, exact where softmax underflows."""
    return _along(_log_softmax, x, axis)


def logsumexp(x, axis=None, keepdims=False):
    """log(sum(exp(x))) over axes without overflow."""
    return _reduced(_logsumexp, x, axis, keepdims)


def logaddexp(a, b):
    """log(exp(a) + exp(b)) elementwise without overflow; infinities are right."""
    a, b = operands((a, b), "logaddexp")
    gap = where(eq(a, b), 0, abs(sub(a, b)))
    return add(maximum(a, b), softplus(neg(gap)))


def logdiffexp(a, b):
    """log(exp(a) - exp(b)) elementwise for a >= b; -inf where they are equal."""
    a, b = operands((a, b), "logdiffexp")
    gap = where(eq(a, b), 0, sub(b, a))
    return add(a, log1mexp(gap))


# --- cross-entropies of logits ----------------------------------------------------------------------------

def _np_softmax_crossentropy(attrs, x, t):
    return -np.sum(np.where(t == 0, 0, t * _np_log_softmax(attrs, x)), axis=attrs["axis"])


def _infer_softmax_crossentropy(attrs, x, t):
    check_kind("softmax_crossentropy", x.dtype, "f")
    if x.ndim != t.ndim:
        raise ShapeError(f"softmax_crossentropy needs logits and targets of one rank, got shapes "
                         f"{show(x.shape)} and {show(t.shape)}")
    shape = broadcast("softmax_crossentropy", x.shape, t.shape)
    return x.dtype, tuple(d for i, d in enumerate(shape) if i != attrs["axis"])


def _lower_softmax_crossentropy(node):
    x, t = (_wide(i) for i in node.inputs)
    axis = node.attrs["axis"]
    if x.shape[axis] == 0:
        return cast(sum(mul(x, t), axis), node.dtype)
    # A target of 0 counts 0 even where the logit is -inf.
    terms = where(eq(t, 0), 0, mul(t, _lowered_log_softmax(x, axis)))
    return cast(neg(sum(terms, axis)), node.dtype)


def _grad_softmax_crossentropy(node, g):
    (x, t), axis = node.inputs, node.attrs["axis"]
    g = expand(g, (axis,))
    gx = mul(g, sub(mul(softmax(x, axis), sum(t, axis, keepdims=True)), t))
    return unbroadcast(gx, x), unbroadcast(neg(mul(g, log_softmax(x, axis))), t)


_softmax_crossentropy = Op(
    "softmax_crossentropy", "composite", _infer_softmax_crossentropy, _run_wide(_np_softmax_crossentropy),
    _grad_softmax_crossentropy, lower=_lower_softmax_crossentropy, cost=14, ulp=16,
    doc="-sum(target * log_softmax(logits)) along attrs['axis'].")


def softmax_crossentropy(logits, target, axis=-1):
    """-sum(target * log_softmax(logits)) along one axis; target holds probabilities (one-hot rows)."""
    logits, target = (cast(n, dtypes.to_float(n.dtype))
                      for n in operands((logits, target), "softmax_crossentropy"))
    return make(_softmax_crossentropy, (logits, target), {"axis": axis_of(int(axis), logits.ndim)})


def _np_sigmoid_crossentropy(attrs, x, t):
    return np.where(x < 0, 0, x) - x * t + np.log1p(np.exp(-np.abs(x)))


def _lower_sigmoid_crossentropy(node):
    x, t = (_wide(i) for i in node.inputs)
    return cast(add(sub(relu(x), mul(x, t)), log1p(exp(neg(abs(x))))), node.dtype)


def _infer_sigmoid_crossentropy(attrs, x, t):
    check_kind("sigmoid_crossentropy", x.dtype, "f")
    return x.dtype, broadcast("sigmoid_crossentropy", x.shape, t.shape)


_sigmoid_crossentropy = Op(
    "sigmoid_crossentropy", "composite", _infer_sigmoid_crossentropy, _run_wide(_np_sigmoid_crossentropy),
    lambda node, g: (unbroadcast(mul(g, sub(sigmoid(node.inputs[0]), node.inputs[1])), node.inputs[0]),
                     unbroadcast(neg(mul(g, node.inputs[0])), node.inputs[1])),
    lower=_lower_sigmoid_crossentropy, cost=14, ulp=8,
    doc="-(t log(sigmoid(x)) + (1 - t) log(1 - sigmoid(x))) from logits x, stable.")


def sigmoid_crossentropy(logits, target):
    """Elementwise binary cross-entropy of logits: max(x, 0) - x t + log1p(exp(-|x|))."""
    logits, target = (cast(n, dtypes.to_float(n.dtype))
                      for n in operands((logits, target), "sigmoid_crossentropy"))
    return make(_sigmoid_crossentropy, (logits, target))
