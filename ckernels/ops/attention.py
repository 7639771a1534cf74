"""Attention: softmax(q @ k.T) @ v as graphs are written, and as one op that keeps no scores.

`scaled_dot_product_attention` builds the graph that users would write by hand, so that it has every
rule that its parts have. The ops are made by rewrites (rewrite/attention.py), from such graphs and
from their gradients; the scores they need again they compute again.
"""

import numpy as np

from ..base import dtypes
from ..base.errors import DTypeError, ShapeError
from ..graph.node import constant
from ..graph.op import Op
from ..graph.shapes import broadcast, show
from .base import cast, expand, operands, to_node
from .elementwise import add, mul, true_div, where
from .filling import arange
from .linalg import matmul
from .logic import ge, logical_and
from .movement import reshape, swapaxes
from .random import uniform_of, words
from .shape import size_of, sized
from .softmax import softmax
from .transcendental import sqrt

__all__ = ["scaled_dot_product_attention"]
NAME = "scaled_dot_product_attention"


# --- the ops ----------------------------------------------------------------------------------
# Operands: q (*B, n, d), k (*B, m, d), v (*B, m, e), then those that attrs["has"] names: "bias" and
# "mask" (bool), which broadcast to (*B, n, m), "state", three words that draw weights. Batches
# broadcast. attrs: causal, None or which keys row r sees: those up to r + causal; fill, what hidden
# scores are set to; zero, whether rows that see nothing give 0; keep, of 2**24 draws so many keep a
# weight. For gradients come (out, sums, g) at the end.


def operands_of(attrs, inputs):
    """(q, k, v, {name: operand}, those that come at the end) of one of the ops."""
    count = 3 + len(attrs["has"])
    return (*inputs[:3], dict(zip(attrs["has"], inputs[3:count])), inputs[count:])


def shape_of(attrs, inputs):
    """(batch, n, m, d, e)"""
    q, k, v, others, _ = operands_of(attrs, inputs)
    batch = ()
    for x in (q, k, v, *(others[name] for name in others if name != "state")):
        batch = broadcast("attention", batch, x.shape[:-2])
    for x in (others[name] for name in others if name != "state"):
        broadcast("attention", x.shape[-2:], (q.shape[-2], k.shape[-2]))
    return batch, q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1]


def _infer(attrs, *inputs):
    q, k, v = inputs[:3]
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ShapeError(
            f"attention of queries {show(q.shape)}, keys {show(k.shape)} and values {show(v.shape)}"
        )
    batch, n, _, _, e = shape_of(attrs, inputs)
    return [(inputs[0].dtype, (*batch, n, e)), (inputs[0].dtype, (*batch, n, 2))]


def _infer_grad(attrs, *inputs):
    batch, n, m, d, e = shape_of(attrs, inputs)
    return [(inputs[0].dtype, (*batch, *sizes)) for sizes in ((n, d), (m, d), (m, e))]


def _seen(attrs, others, shape):
    """Which keys each row sees, in the shape of the scores."""
    seen = np.broadcast_to(others.get("mask", True), shape)
    if attrs["causal"] is not None:
        seen = seen & np.tri(*shape[-2:], attrs["causal"], dtype=bool)
    return seen


def _weights(attrs, q, k, others):
    """(weights, sums, which are drawn, which are seen)"""
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) + others.get("bias", 0)
    shape = np.broadcast_shapes(scores.shape, others["mask"].shape if "mask" in others else ())
    seen = _seen(attrs, others, shape)
    scores = np.where(seen, scores, q.dtype.type(attrs["fill"]))
    most = np.max(scores, -1, keepdims=True, initial=-np.inf)
    hidden = attrs["zero"] & ~np.any(seen, -1, keepdims=True)
    most = np.where(hidden, np.inf, most)
    e = np.exp(scores - most)
    total = np.where(hidden, 1, np.sum(e, -1, keepdims=True))
    drawn = True
    if "state" in others:
        r0, r1 = words(others["state"], scores.size)
        limit = np.float32(attrs["keep"] * 2.0**-24)
        drawn = uniform_of(r0, r1, "float32").reshape(scores.shape) < limit
    return e / total, np.concatenate([most, np.log(total)], -1), drawn, seen


def _run(attrs, *arrays):
    q, k, v, others, _ = operands_of(attrs, arrays)
    with np.errstate(all="ignore"):
        p, sums, drawn, _ = _weights(attrs, q, k, others)
        out = np.matmul(np.where(drawn, p, 0), v)
    return out.astype(q.dtype), np.broadcast_to(sums, (*out.shape[:-1], 2)).astype(q.dtype)


def _run_grad(attrs, *arrays):
    q, k, v, others, (out, _, g) = operands_of(attrs, arrays)
    with np.errstate(all="ignore"):
        p, _, drawn, seen = _weights(attrs, q, k, others)
        dp = np.where(drawn, np.matmul(g, np.swapaxes(v, -1, -2)), 0)
        ds = np.where(seen, p * (dp - np.sum(out * g, -1, keepdims=True)), 0)
        dv = np.matmul(np.swapaxes(np.where(drawn, p, 0), -1, -2), g)
        dq, dk = np.matmul(ds, k), np.matmul(np.swapaxes(ds, -1, -2), q)
    batch = out.shape[:-2]
    return tuple(np.broadcast_to(x, (*batch, *x.shape[-2:])).astype(q.dtype) for x in (dq, dk, dv))


Op(
    "attention",
    "opaque",
    _infer,
    _run,
    ulp=64,
    cost=100,
    doc="softmax(q @ k.T + bias) @ v with hidden and drawn weights; and what its gradient needs.",
)


def _infer_values_grad(attrs, *inputs):
    q, k, g = inputs[0], inputs[1], inputs[-1]
    batch = broadcast("attention", broadcast("attention", q.shape[:-2], k.shape[:-2]), g.shape[:-2])
    return q.dtype, (*batch, k.shape[-2], g.shape[-1])


def _run_values_grad(attrs, q, k, *arrays):
    others = dict(zip(attrs["has"], arrays))
    with np.errstate(all="ignore"):
        p, _, drawn, _ = _weights(attrs, q, k, others)
        return np.matmul(np.swapaxes(np.where(drawn, p, 0), -1, -2), arrays[-1]).astype(q.dtype)


Op(
    "attention_values_grad",
    "opaque",
    _infer_values_grad,
    _run_values_grad,
    ulp=64,
    cost=150,
    doc="The gradient of attention by values alone, of q, k, others, sums and a cotangent.",
)
Op(
    "attention_grad",
    "opaque",
    _infer_grad,
    _run_grad,
    ulp=64,
    cost=250,
    doc="The gradients of attention by queries, keys and values.",
)


# --- the graph ----------------------------------------------------------------------------------


def causal_mask(rows, columns, offset=0):
    """Whether key j may be seen by row i: j <= i + offset, bool (rows, columns)."""
    first = add(arange(0, rows, 1, "int64"), offset)
    return ge(expand(first, (1,)), expand(arange(0, columns, 1, "int64"), (0,)))


def _checked(query, key, value):
    q, k, v = operands([to_node(x, NAME) for x in (query, key, value)], NAME)
    q, k, v = (cast(x, dtypes.to_float(x.dtype)) for x in (q, k, v))
    for x, what in ((q, "query"), (k, "key"), (v, "value")):
        if x.ndim < 2:
            raise ShapeError(f"{NAME} needs a {what} (.., length, width), got {show(x.shape)}")
    for x, y, i, what in (
        (q, k, -1, "widths of query and key"),
        (k, v, -2, "lengths of key and value"),
    ):
        if None not in (x.shape[i], y.shape[i]) and x.shape[i] != y.shape[i]:
            raise ShapeError(f"{NAME}: the {what} differ, {show(x.shape)} and {show(y.shape)}")
    return q, k, v


def heads_of(x):
    """The size of the axis before length and width, where there is one that is known."""
    return x.shape[-3] if x.ndim > 2 else None


def grouped(x, heads):
    """`x` (.., heads * g, a, b) as (.., heads, g, a, b); one head stays one for each group."""
    if x.ndim < 3 or heads_of(x) == 1:
        return expand(x, (x.ndim - 2,)) if x.ndim > 2 else x
    sizes = sized(x, range(x.ndim))
    return reshape(x, [*sizes[:-3], heads, x.shape[-3] // heads, *sizes[-2:]])


def _hidden(seen, is_causal, q, k):
    """Which keys are seen, as a node, or None: all."""
    if seen is not None and seen.dtype != "bool":
        raise DTypeError(f"the mask of {NAME} is bool, true where a key is seen; got {seen.dtype}")
    if not is_causal:
        return seen
    causal = causal_mask(size_of(q, q.ndim - 2), size_of(k, k.ndim - 2))
    return causal if seen is None else logical_and(seen, causal)


def scaled_dot_product_attention(
    query, key, value, mask=None, bias=None, is_causal=False, scale=None, drop=None
):
    """softmax(query @ key.T * scale + bias, masked) @ value. drop: a function of the weights.

    Rows that see no key are 0. Heads of keys and values may be fewer than those of queries.
    """
    q, k, v = _checked(query, key, value)
    seen, bias = (None if x is None else to_node(x, NAME) for x in (mask, bias))
    few, many = heads_of(k), heads_of(q)
    groups = None not in (few, many) and 1 < few < many and many % few == 0 and heads_of(v) == few
    if groups:
        shape = sized(q, range(q.ndim - 1)) + [size_of(v, v.ndim - 1)]
        q, k, v = (grouped(x, few) for x in (q, k, v))
        seen, bias = (x if x is None else grouped(x, few) for x in (seen, bias))
    if scale is None:
        scale = true_div(1, sqrt(cast(size_of(q, q.ndim - 1), q.dtype)))
    scores = matmul(mul(q, cast(to_node(scale, NAME), q.dtype)), swapaxes(k, -1, -2))
    if bias is not None:
        scores = add(scores, cast(bias, q.dtype))
    seen = _hidden(seen, is_causal, q, k)
    if seen is None:
        weights = softmax(scores, -1)
    else:
        lowest = constant(dtypes.finfo(q.dtype).min, q.dtype)
        weights = where(seen, softmax(where(seen, scores, lowest), -1), 0)
    made = matmul(weights if drop is None else drop(weights), v)
    return reshape(made, shape) if groups else made
