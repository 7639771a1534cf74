"""Composite ops on exponentials: softmax, log_softmax, logsumexp, the cross-entropies of logits.

One node each for rewrites and gradients, whose rules are the stable ones. They lower into
elementwise + reduce + expand over one axis, so that each becomes one row program.
"""

import numpy as np

from ..base import dtypes
from ..base.errors import ShapeError
from ..graph.node import constant, make, sizes_constant
from ..graph.op import Op
from ..graph.shapes import axis_of, broadcast, show
from .base import cast, check_kind, expand, operands, unbroadcast
from .composite import dropped, reduced, run_wide, size_along, to_floats, wide
from .elementwise import abs, add, maximum, mul, neg, relu, sub, true_div, where
from .logic import eq, isfinite, isinf, logical_and
from .reduce import max, sum
from .transcendental import exp, log, log1mexp, log1p, sigmoid, softplus

__all__ = ["softmax", "log_softmax", "logsumexp", "logaddexp", "logdiffexp", "softmax_crossentropy",
           "sigmoid_crossentropy"]  # fmt: skip


def _kept(what):
    """infer of a float op that keeps the shape and has attrs["axis"]."""

    def infer(attrs, x):
        check_kind(what, x.dtype, "f")
        return x.dtype, x.shape

    return infer


# --- softmax family ---------------------------------------------------------------------------


def _np_lse(x, axes, keepdims):
    if size_along(x.shape, axes) == 0:
        return np.full(np.sum(x, axis=axes, keepdims=keepdims).shape, -np.inf)
    top = np.max(x, axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    y = np.log(np.sum(np.exp(x - top), axis=axes, keepdims=True)) + top
    return y if keepdims else np.squeeze(y, axis=axes)


def _np_log_softmax(attrs, x):
    off = x - np.max(x, axis=attrs["axis"], keepdims=True, initial=-np.inf)
    return off - np.log(np.sum(np.exp(off), axis=attrs["axis"], keepdims=True))


def _np_softmax(attrs, x):
    e = np.exp(x - np.max(x, axis=attrs["axis"], keepdims=True, initial=-np.inf))
    return e / np.sum(e, axis=attrs["axis"], keepdims=True)


def _lower_softmax(node):
    x, axis = wide(node.inputs[0]), node.attrs["axis"]
    if x.shape[axis] == 0:
        return node.inputs[0]
    top = _above_minus_inf(max(x, axis, keepdims=True))  # as logsumexp: both take one exponential
    e = exp(sub(x, top))
    return cast(true_div(e, sum(e, axis, keepdims=True)), node.dtype)


def _grad_softmax(node, g):
    axis = node.attrs["axis"]
    return (mul(node, sub(g, sum(mul(g, node), axis, keepdims=True))),)


_softmax = Op(
    "softmax",
    "composite",
    _kept("softmax"),
    run_wide(_np_softmax),
    _grad_softmax,
    lower=_lower_softmax,
    cost=12,
    ulp=8,
    doc="exp(x) / sum(exp(x)) along attrs['axis'].",
)


def _lowered_log_softmax(x, axis):
    # The maximum is softmax's, for one exponential of both; rows of -inf are NaN with either.
    off = sub(x, _above_minus_inf(max(x, axis, keepdims=True)))
    return sub(off, log(sum(exp(off), axis, keepdims=True)))


def _lower_log_softmax(node):
    x, axis = node.inputs[0], node.attrs["axis"]
    return x if x.shape[axis] == 0 else cast(_lowered_log_softmax(wide(x), axis), node.dtype)


def _grad_log_softmax(node, g):
    axis = node.attrs["axis"]
    return (sub(g, mul(softmax(node.inputs[0], axis), sum(g, axis, keepdims=True))),)


_log_softmax = Op(
    "log_softmax",
    "composite",
    _kept("log_softmax"),
    run_wide(_np_log_softmax),
    _grad_log_softmax,
    lower=_lower_log_softmax,
    cost=12,
    ulp=8,
    doc="log(softmax(x)) along attrs['axis'] without underflow.",
)


def _above_minus_inf(x):
    """x, and the lowest number for -inf: what -inf may be measured against."""
    return maximum(x, constant(dtypes.finfo(x.dtype).min, x.dtype))


def _lower_logsumexp(node):
    x, axes = wide(node.inputs[0]), node.attrs["axes"]
    if size_along(x.shape, axes) == 0:
        empty = constant(np.asarray(-np.inf, dtype=node.dtype))
        return make("broadcast_to", (empty, sizes_constant(node.shape, (node.ndim,))))
    top = _above_minus_inf(max(x, axes))
    total = sum(exp(sub(x, expand(top, axes))), axes)
    return cast(where(isfinite(top), add(log(total), top), top), node.dtype)


def _grad_logsumexp(node, g):
    x, axes = node.inputs[0], node.attrs["axes"]
    return (mul(expand(g, axes), exp(sub(x, expand(_above_minus_inf(node), axes)))),)


_logsumexp = Op(
    "logsumexp",
    "composite",
    dropped("logsumexp"),
    run_wide(lambda a, x: _np_lse(x, a["axes"], False)),
    _grad_logsumexp,
    lower=_lower_logsumexp,
    cost=10,
    ulp=8,
    doc="log(sum(exp(x))) over axes: -inf for all -inf, inf when there is an inf.",
)


def _along(op, x, axis):
    x = to_floats(x, op.name)
    return make(op, (x,), {"axis": axis_of(axis, x.ndim)})


def softmax(x, axis=-1):
    """exp(x) / sum(exp(x)) along one axis, with the maximum subtracted first."""
    return _along(_softmax, x, axis)


def log_softmax(x, axis=-1):
    """log(softmax(x)) along one axis, exact where softmax underflows."""
    return _along(_log_softmax, x, axis)


def logsumexp(x, axis=None, keepdims=False):
    """log(sum(exp(x))) over axes without overflow."""
    return reduced(_logsumexp, x, axis, keepdims)


def _gap(a, b):
    """a - b, and 0 for two equal infinities."""
    return where(logical_and(eq(a, b), isinf(a)), 0, sub(a, b))


def _lower_logaddexp(node):
    a, b = (wide(i) for i in node.inputs)
    return cast(add(maximum(a, b), softplus(neg(abs(_gap(a, b))))), node.dtype)


def _grad_logaddexp(node, g):
    a, b = node.inputs  # smooth where they are equal, unlike the maximum it is computed with
    shares = sigmoid(_gap(a, b)), sigmoid(_gap(b, a))
    return [unbroadcast(mul(g, share), i) for share, i in zip(shares, node.inputs)]


def _infer_logaddexp(attrs, a, b):
    check_kind("logaddexp", a.dtype, "f")
    return a.dtype, broadcast("logaddexp", a.shape, b.shape)


_logaddexp = Op(
    "logaddexp",
    "composite",
    _infer_logaddexp,
    run_wide(lambda attrs, a, b: np.logaddexp(a, b)),
    _grad_logaddexp,
    lower=_lower_logaddexp,
    cost=12,
    ulp=4,
    commutative=True,
    doc="log(exp(a) + exp(b)) without overflow.",
)


def logaddexp(a, b):
    """log(exp(a) + exp(b)) elementwise without overflow; infinities are right."""
    a, b = (cast(n, dtypes.to_float(n.dtype)) for n in operands((a, b), "logaddexp"))
    return make(_logaddexp, (a, b))


def logdiffexp(a, b):
    """log(exp(a) - exp(b)) elementwise for a >= b; -inf where they are equal."""
    a, b = operands((a, b), "logdiffexp")
    gap = where(eq(a, b), 0, sub(b, a))
    return add(a, log1mexp(gap))


# --- cross-entropies of logits ----------------------------------------------------------------


def _np_softmax_crossentropy(attrs, x, t):
    return -np.sum(np.where(t == 0, 0, t * _np_log_softmax(attrs, x)), axis=attrs["axis"])


def _infer_softmax_crossentropy(attrs, x, t):
    check_kind("softmax_crossentropy", x.dtype, "f")
    if x.ndim != t.ndim:
        raise ShapeError(
            f"softmax_crossentropy needs logits and targets of one rank, got shapes "
            f"{show(x.shape)} and {show(t.shape)}"
        )
    shape = broadcast("softmax_crossentropy", x.shape, t.shape)
    return x.dtype, tuple(d for i, d in enumerate(shape) if i != attrs["axis"])


def _lower_softmax_crossentropy(node):
    x, t = (wide(i) for i in node.inputs)
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
    "softmax_crossentropy",
    "composite",
    _infer_softmax_crossentropy,
    run_wide(_np_softmax_crossentropy),
    _grad_softmax_crossentropy,
    lower=_lower_softmax_crossentropy,
    cost=14,
    ulp=16,
    doc="-sum(target * log_softmax(logits)) along attrs['axis'].",
)


def softmax_crossentropy(logits, target, axis=-1):
    """-sum(target * log_softmax(logits)) along one axis; target holds probabilities."""
    logits, target = (
        cast(n, dtypes.to_float(n.dtype))
        for n in operands((logits, target), "softmax_crossentropy")
    )
    return make(_softmax_crossentropy, (logits, target), {"axis": axis_of(int(axis), logits.ndim)})


def _np_sigmoid_crossentropy(attrs, x, t):
    return np.where(x < 0, 0, x) - x * t + np.log1p(np.exp(-np.abs(x)))


def _lower_sigmoid_crossentropy(node):
    x, t = (wide(i) for i in node.inputs)
    return cast(add(sub(relu(x), mul(x, t)), log1p(exp(neg(abs(x))))), node.dtype)


def _infer_sigmoid_crossentropy(attrs, x, t):
    check_kind("sigmoid_crossentropy", x.dtype, "f")
    return x.dtype, broadcast("sigmoid_crossentropy", x.shape, t.shape)


def _grad_sigmoid_crossentropy(node, g):
    x, t = node.inputs
    return unbroadcast(mul(g, sub(sigmoid(x), t)), x), unbroadcast(neg(mul(g, x)), t)


_sigmoid_crossentropy = Op(
    "sigmoid_crossentropy",
    "composite",
    _infer_sigmoid_crossentropy,
    run_wide(_np_sigmoid_crossentropy),
    _grad_sigmoid_crossentropy,
    lower=_lower_sigmoid_crossentropy,
    cost=14,
    ulp=8,
    doc="-(t log(sigmoid(x)) + (1 - t) log(1 - sigmoid(x))) from logits x, stable.",
)


def sigmoid_crossentropy(logits, target):
    """Elementwise binary cross-entropy of logits: max(x, 0) - x t + log1p(exp(-|x|))."""
    logits, target = (
        cast(n, dtypes.to_float(n.dtype))
        for n in operands((logits, target), "sigmoid_crossentropy")
    )
    return make(_sigmoid_crossentropy, (logits, target))
