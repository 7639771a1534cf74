"""The gradients of eigh and svd, at equal values too.

Where values are equal their vectors are known up to a rotation only. A cost that does not depend on
it has a gradient all the same, but the usual formulas have 0 / 0 there, and noise / noise nearby.
The limit is taken along matrices with the same vectors and values that move apart: the derivative
of the numerator over that of the denominator, which the cotangents have along the values.
"""

import numpy as np

from .. import ops
from ..base import dtypes
from ..base.errors import DisconnectedError
from ..graph.node import constant, make
from ..graph.op import Op, register_rule
from ..ops.base import unbroadcast
from ..ops.decompose import chain, diagonal_matrix, eye_like, parts_of, swapped
from .accumulate import along

NOISE = 32  # units in the last place that a sum of products may be off by, of its absolute terms


@register_rule("gradient", "eigh")
def gradient_of_eigh(node, g):
    (w, v), (gw, gv) = parts_of(node, g)
    return (from_eigenvalues(w, v, gw, None if g[1] is None else gv),)


def from_eigenvalues(w, v, gw, gv=None):
    """The cotangent of the matrix with eigenvalues w and vectors v, of which the lower triangle is
    read: what falls on the upper one belongs to its mirror image (Giles 2008)."""
    inner = diagonal_matrix(gw)
    if gv is not None:
        turned = chain(swapped(v), gv)
        top = ops.sub(turned, swapped(turned))
        terms = chain(swapped(ops.abs(v)), ops.abs(gv))
        inner = ops.add(inner, ops.mul(_over_gaps(top, _both(terms), w, w), 0.5))
    s = chain(v, inner, swapped(v))
    return ops.sub(ops.tril(ops.add(s, swapped(s))), ops.mul(eye_like(s), s))


@register_rule("gradient", "svd")
def gradient_of_svd(node, g):
    """Townsend 2016, with the parts outside the range of U and V."""
    (u, s, vt), (gu, gs, gvt) = parts_of(node, g)
    return (_from_factors(u, s, vt, gu, gs, gvt, g[0] is not None or g[2] is not None),)


@register_rule("gradient", "svd_full")
def gradient_of_full_svd(node, g):
    """That of the reduced factors; further columns of U and V turn against them as a whole.

    dU2 = -U1 (dU1' U2), so that a cotangent of U2 is one of U1: -U2 gU2' U1. Turns of U2 among
    themselves change no cost that is a function of the matrix.
    """
    (u, s, vt), (gu, gs, gvt) = parts_of(node, g)
    count = ops.size_of(s, s.ndim - 1)
    u, gu = _kept(u, gu, count)
    v, gv = _kept(swapped(vt), swapped(gvt), count)
    vectors = g[0] is not None or g[2] is not None
    return (_from_factors(u, s, swapped(v), gu, gs, swapped(gv), vectors),)


def _kept(u, gu, count):
    """The first columns of u, with the cotangent that theirs and the further ones' come to."""
    first, rest = (..., slice(None, count)), (..., slice(count, None))
    u1, u2 = ops.getitem(u, first), ops.getitem(u, rest)
    turned = chain(u2, swapped(ops.getitem(gu, rest)), u1)
    return u1, ops.sub(ops.getitem(gu, first), turned)


def _from_factors(u, s, vt, gu, gs, gvt, vectors):
    total = chain(u, diagonal_matrix(gs), vt)
    if not vectors:
        return total
    v, gv = swapped(vt), swapped(gvt)
    row, column = ops.expand(s, (s.ndim - 1,)), ops.expand(s, (s.ndim,))
    utu, vtv = chain(swapped(u), gu), chain(swapped(v), gv)
    top = ops.add(
        ops.mul(ops.sub(utu, swapped(utu)), row), ops.mul(column, ops.sub(vtv, swapped(vtv)))
    )
    terms = ops.add(
        ops.mul(_both(chain(swapped(ops.abs(u)), ops.abs(gu))), row),
        ops.mul(column, _both(chain(swapped(ops.abs(v)), ops.abs(gv)))),
    )
    inner = _over_gaps(top, terms, ops.mul(s, s), s)
    total = ops.add(total, chain(u, inner, vt))
    outside_u, outside_v = ops.sub(gu, chain(u, utu)), ops.sub(gv, chain(v, vtv))
    total = ops.add(total, chain(ops.true_div(outside_u, row), vt))
    return ops.add(total, chain(u, swapped(ops.true_div(outside_v, row))))


def _both(x):
    return ops.add(x, swapped(x))


# --- numerators over differences of values ------------------------------------------------------


def _differences(v):
    """v_j - v_i."""
    return ops.sub(ops.expand(v, (v.ndim - 1,)), ops.expand(v, (v.ndim,)))


def _divided(top, d):
    """top / d, and 0 where d is 0."""
    same = ops.eq(d, 0)
    return ops.where(same, 0, ops.true_div(top, ops.where(same, 1, d)))


def _over_gaps(top, terms, q, values):
    """top / (q_j - q_i), 0 on the diagonal, and the limit where values are about equal.

    top: the numerators, 0 where values are equal if the cost has a gradient there; terms: the sum
    of their absolute terms, of which `top` is off by a few units in the last place; q: a function
    of `values`.
    """
    plain = _divided(top, _differences(q))
    limit = _divided(_moved_apart(top, values), _differences(_moved_apart(q, values)))
    eps = np.finfo(dtypes.computed(values.dtype)).eps
    gaps, size = ops.abs(_differences(q)), ops.sum(ops.abs(q), (q.ndim - 1,), keepdims=True)
    bound = ops.mul(ops.expand(size, (q.ndim,)), constant(np.sqrt(eps), q.dtype))
    close = ops.logical_and(ops.le(gaps, bound), ops.eq(eye_like(top), 0))
    # Where noise is all that tells the two apart, the quotient is no better (0 / 0 in the end).
    off = ops.mul(ops.abs(ops.sub(plain, limit)), gaps)
    noisy = ops.le(off, ops.mul(terms, constant(NOISE * eps, values.dtype)))
    chosen = ops.logical_and(close, noisy)
    mask = ops.cast(chosen, limit.dtype)
    limit = make("gap_limit", (limit, mask, ops.expand(values, (values.ndim,))))
    return ops.choose(ops.any(close), ops.where(chosen, limit, plain), plain)


def _moved_apart(node, values):
    """The derivative of `node` by `values` that move apart, each at a speed of its own."""
    n = ops.size_of(values, values.ndim - 1)
    speeds = ops.broadcast_like(ops.cast(ops.arange(1, ops.add(n, 1)), values.dtype), values)
    try:
        return along([node], [values], [speeds])[0]
    except DisconnectedError:  # something in the cotangents has no derivative
        return ops.zeros_like(node)


def _grad_gap_limit(node, g):
    x, chosen, values = node.inputs
    unknown = ops.where(ops.ne(chosen, 0), ops.mul(g, np.nan), 0)
    return g, None, unbroadcast(unknown, values)


Op(
    "gap_limit",
    "elementwise",
    lambda attrs, x, chosen, values: (x.dtype, x.shape),
    lambda attrs, x, chosen, values: np.array(x),
    _grad_gap_limit,
    "{0}",
    ulp=0,
    doc="x, a limit; its derivative by `values` is not its formula's, but unknown where `chosen`.",
)
