"""Decompositions: solve, inverse, det, cholesky, eigh, svd, qr, pinv, through LAPACK inside NumPy.

The gradients are the standard ones (Giles 2008, Murray 2016); those of eigh and svd, which differ
where values are equal, are in autodiff/spectra.py. float16 computes in float32, integers in a
float. Leading axes are a batch.
"""

import functools

import numpy as np

from ..base import dtypes, given
from ..base.errors import ShapeError
from ..graph.node import item, make
from ..graph.op import Op, rules
from ..graph.shapes import broadcast, show
from .base import cast, expand, operands, to_node, unbroadcast, zeros_like
from .elementwise import add, mul, neg, sub
from .filling import eye, tril
from .linalg import matmul
from .movement import swapaxes
from .reduce import sum
from .shape import size_of

__all__ = ["solve", "inverse", "det", "cholesky", "svd", "qr", "eigh", "pinv", "eye_like"]

LARGE = 64  # rows from which LAPACK's LU factors are faster than one step of NumPy for each row


def swapped(x):
    """Each matrix transposed."""
    return swapaxes(x, -1, -2)


def chain(*xs):
    """The product of all matrices."""
    total = xs[0]
    for x in xs[1:]:
        total = matmul(total, x)
    return total


def square_only(name):
    """check(x): refuses what is no square matrix, or a stack of them."""

    def check(x):
        if x.ndim < 2 or (None not in x.shape[-2:] and x.shape[-1] != x.shape[-2]):
            raise ShapeError(f"{name} needs square matrices, got shape {show(x.shape)}")

    return check


def float_matrix(x, name):
    """`x` as a node of floats."""
    x = to_node(x, name)
    return cast(x, dtypes.to_float(x.dtype))


def _lapack(fn):
    """fn on arrays in a dtype LAPACK has; the results in the dtype of the first operand."""

    def run(attrs, *arrays):
        kind = arrays[0].dtype
        if all(a.dtype.char in "fdFD" for a in arrays):
            result = fn(*arrays)
        else:
            result = fn(*[a.astype(dtypes.computed(a.dtype.name), copy=False) for a in arrays])
        if isinstance(result, tuple):
            return tuple(np.asarray(r, kind) for r in result)
        return np.asarray(result, kind)

    return run


def _decomposition(name, infer, fn, grad, doc):
    """The function of an op on matrices, which it declares: what it gives, a Node or several."""
    op = Op(name, "opaque", infer, _lapack(fn), grad, ulp=1e4, cost=100, doc=doc)

    def build(x):
        node = make(op, (float_matrix(x, name),))
        return node if node.outs is None else tuple(item(node, i) for i in range(len(node.outs)))

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    return build


def square_op(name, fn, out, grad, doc):
    check = square_only(name)

    def infer(attrs, x):
        check(x)
        found = out(x)
        return found if isinstance(found, list) else (x.dtype, found)

    return _decomposition(name, infer, fn, grad, doc)


inverse = square_op(
    "inverse",
    np.linalg.inv,
    lambda x: x.shape,
    lambda node, g: (neg(chain(swapped(node), g, swapped(node))),),
    "The inverse of square matrices.",
)


def _others(s):
    """Of each value along the last axis the product of all others."""
    ones = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([ones, s[..., :-1]], -1), -1)
    behind = np.cumprod(np.concatenate([ones, s[..., :0:-1]], -1), -1)[..., ::-1]
    return before * behind


def _np_cofactors(x):
    """From x = U S V: det(U) det(V) U S' V, where S' has the products of all other values."""
    u, s, vt = np.linalg.svd(x)
    sign = np.linalg.det(u) * np.linalg.det(vt)
    return np.matmul(u * (_others(s) * sign[..., None])[..., None, :], vt)


def _np_cofactors_along(x, g):
    """Between the same U and V, with k = U' g V': -k[j, i] times the product of all values but
    s[i] and s[j]; on the diagonal the sum of k[j, j] times those products."""
    u, s, vt = np.linalg.svd(x)
    one = np.eye(s.shape[-1], dtype=bool)
    pairs = np.where(one, 0, _others(np.where(one, 1, s[..., None, :])))
    k = np.matmul(np.matmul(np.swapaxes(u, -1, -2), g), np.swapaxes(vt, -1, -2))
    total = np.matmul(pairs, np.diagonal(k, 0, -2, -1)[..., None])
    inner = np.where(one, total, -np.swapaxes(k, -1, -2) * pairs)
    sign = np.linalg.det(u) * np.linalg.det(vt)
    return sign[..., None, None] * np.matmul(np.matmul(u, inner), vt)


def _grad_cofactors_along(node, h):
    """By g the same, for det has one second derivative; by x only where x has an inverse."""
    x, g = node.inputs

    def inner(a, b):
        return sum(mul(a, b), (node.ndim - 2, node.ndim - 1), keepdims=True)

    c, along, b = cofactors(x), make("cofactors_along", (x, h)), swapped(inverse(x))
    one = sub(mul(inner(b, g), along), chain(along, swapped(g), b))
    two = sub(chain(c, swapped(g), b, swapped(h), b), mul(inner(b, chain(h, swapped(b), g)), c))
    return unbroadcast(add(one, two), x), unbroadcast(along, g)


Op(
    "cofactors_along",
    "opaque",
    lambda attrs, x, g: (x.dtype, broadcast("cofactors", x.shape, g.shape)),
    _lapack(_np_cofactors_along),
    _grad_cofactors_along,
    ulp=1e4,
    cost=100,
    doc="The derivative of the cofactors of x along g, of singular x too.",
)
cofactors = square_op(
    "cofactors",
    _np_cofactors,
    lambda x: x.shape,
    lambda node, g: (make("cofactors_along", (node.inputs[0], g)),),
    "The cofactors of square matrices, of singular ones too: the slope of det.",
)
det = square_op(
    "det",
    np.linalg.det,
    lambda x: x.shape[:-2],
    lambda node, g: (mul(expand(g, (node.ndim, node.ndim + 1)), cofactors(node.inputs[0])),),
    "The determinant of square matrices.",
)


def _half_diagonal(x):
    """The lower triangle with the diagonal halved."""
    return sub(tril(x), mul(mul(eye_like(x), x), 0.5))


def eye_like(x):
    """The identity matrix in the shape and dtype of the matrices `x`."""
    return eye(size_of(x, x.ndim - 2), size_of(x, x.ndim - 1), 0, x.dtype)


def _grad_cholesky(node, g):
    inv = inverse(node)
    s = chain(swapped(inv), _half_diagonal(chain(swapped(node), g)), inv)
    return (mul(add(s, swapped(s)), 0.5),)


def _infer_cholesky(attrs, x):
    square_only("cholesky")(x)
    return x.dtype, x.shape


def _factor_or_nan(x):
    try:
        return np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        if x.ndim == 2:
            return np.full_like(x, np.nan)
    return np.stack([_factor_or_nan(one) for one in x])


def _run_cholesky(attrs, x):
    return _lapack(_factor_or_nan if attrs.get("nan") else np.linalg.cholesky)(attrs, x)


Op(
    "cholesky",
    "opaque",
    _infer_cholesky,
    _run_cholesky,
    _grad_cholesky,
    ulp=1e4,
    cost=100,
    doc="The lower triangular L with L L^T = x, of which the lower triangle is read; attrs['nan'], "
    "where it is there and true: NaN where x is not positive definite, and no error.",
)


def cholesky(x):
    """The lower triangular L with L L^T = x, for positive definite x."""
    return make("cholesky", (float_matrix(x, "cholesky"),))


def _infer_lu(attrs, x):
    square_only("lu")(x)
    n = x.shape[-1]
    return x.dtype, (*x.shape[:-2], None if n is None else n + 2, n)


def _run_lu(attrs, x):
    n = x.shape[-1]
    made = np.empty((*x.shape[:-2], n + 2, n), dtypes.computed(x.dtype.name))
    made[..., :n, :] = x
    for place in np.ndindex(x.shape[:-2]):
        one = made[place]
        singular = (_lu_by_rows if n < LARGE or _getrf() is None else _lu_by_lapack)(one)
        if singular and not attrs.get("plain"):
            one[:n] = np.nan
    return made.astype(x.dtype, copy=False)


def _lu_by_rows(one):
    """Fills in one block of an `lu`; whether a pivot is 0."""
    n = one.shape[1]
    one[n + 1] = np.arange(n)
    singular = False
    for k in range(n):
        sizes = np.abs(one[k:n, k])
        at = k if np.isnan(sizes[0]) else k + int(np.nanargmax(sizes))
        one[n, k] = at
        one[[k, at]] = one[[at, k]]
        one[n + 1, [k, at]] = one[n + 1, [at, k]]
        if one[k, k] == 0:
            singular = True
            continue
        one[k + 1 : n, k] /= one[k, k]
        one[k + 1 : n, k + 1 :] -= np.outer(one[k + 1 : n, k], one[k, k + 1 :])
    return singular


def _lu_by_lapack(one):
    n = one.shape[1]
    one[:n], swaps, _ = _getrf()(one[:n].astype("float64", copy=False))
    one[n], order = swaps, np.arange(n)
    for k, at in enumerate(swaps):
        order[[k, at]] = order[[at, k]]
    one[n + 1] = order
    return not np.diagonal(one[:n]).all()


@functools.cache
def _getrf():
    """SciPy's LAPACK, where it is installed."""
    try:
        from scipy.linalg.lapack import dgetrf
    except ImportError:
        return None
    return dgetrf


Op(
    "lu",
    "opaque",
    _infer_lu,
    _run_lu,
    ulp=1e4,
    cost=100,
    doc="Of n rows both triangular factors in one matrix, as LAPACK's getrf leaves them, NaN where "
    "a pivot is 0, unless attrs['plain'] is there and true; in row n the row that each was "
    "exchanged with, in row n + 1 their order then.",
)


def _infer_solve(attrs, a, b):
    square_only("solve")(a)
    k = b.shape[-1 if attrs["vector"] else -2] if b.ndim else None
    if not b.ndim or (None not in (k, a.shape[-1]) and k != a.shape[-1]):
        raise ShapeError(
            f"cannot solve a system of shape {show(a.shape)} for a right side of shape "
            f"{show(b.shape)}"
        )
    if attrs["vector"]:
        return a.dtype, a.shape[:-1]
    return a.dtype, broadcast("solve", a.shape[:-2], b.shape[:-2]) + (a.shape[-1], b.shape[-1])


def solution_or_nan(a, b):
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        if a.ndim == b.ndim == 2:
            return np.full_like(b, np.nan)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (a, b))
    return np.stack([solution_or_nan(*one) for one in zip(a, b)])


def _run_solve(attrs, a, b):
    solved = solution_or_nan if attrs.get("nan") else np.linalg.solve
    if attrs["vector"]:
        return _lapack(lambda a, b: solved(a, b[..., None])[..., 0])(attrs, a, b)
    return _lapack(solved)(attrs, a, b)


def _grad_solve(node, g):
    a, b = node.inputs
    gb = make("solve", (swapped(a), g), node.attrs)
    if node.attrs["vector"]:
        ga = neg(mul(expand(gb, (gb.ndim,)), expand(node, (node.ndim - 1,))))
    else:
        ga = neg(matmul(gb, swapped(node)))
    return unbroadcast(ga, a), unbroadcast(gb, b)


Op(
    "solve",
    "opaque",
    _infer_solve,
    _run_solve,
    _grad_solve,
    ulp=1e4,
    cost=100,
    doc="The x with a x = b; attrs['vector']: b is a vector; attrs['nan'], where it is there and "
    "true: NaN where there is no solution, and no error.",
)


def solve(a, b):
    """The x with a . x = b, for `b` a vector or matrices; axes before the last two broadcast."""
    a, b = operands((float_matrix(a, "solve"), float_matrix(b, "solve")), "solve")
    return make("solve", (a, b), {"vector": b.ndim == 1})


# --- several outputs --------------------------------------------------------------------------


def parts_of(node, g):
    """(outputs, cotangents with zeros for None) of a node with several outputs."""
    outs = [item(node, i) for i in range(len(node.outs))]
    return outs, [zeros_like(o) if c is None else c for o, c in zip(outs, g)]


def diagonal_matrix(v):
    """Vectors in the last axis as diagonal matrices."""
    n = size_of(v, v.ndim - 1)
    return mul(expand(v, (v.ndim,)), eye(n, n, 0, v.dtype))


def _grad_values(node, g):
    return rules("gradient")[node.op.name](node, g)


eigh = square_op(
    "eigh",
    lambda x: tuple(np.linalg.eigh(x)),
    lambda x: [(x.dtype, x.shape[:-1]), (x.dtype, x.shape)],
    _grad_values,
    "(w, v): rising eigenvalues and orthonormal eigenvectors of symmetric matrices, of which "
    "the lower triangle is read.",
)


def _smaller(x):
    m, n = x.shape[-2:]
    if None in (m, n):
        return None
    return min(m, n)


def _any_op(name, fn, outs, grad, doc):
    def infer(attrs, x):
        if x.ndim < 2:
            raise ShapeError(f"{name} needs matrices, got shape {show(x.shape)}")
        return outs(x)

    return _decomposition(name, infer, fn, grad, doc)


_svd = _any_op(
    "svd",
    lambda x: tuple(np.linalg.svd(x, full_matrices=False)),
    lambda x: [
        (x.dtype, x.shape[:-1] + (_smaller(x),)),
        (x.dtype, x.shape[:-2] + (_smaller(x),)),
        (x.dtype, x.shape[:-2] + (_smaller(x), x.shape[-1])),
    ],
    _grad_values,
    "(u, s, v) with x = u diag(s) v: s falls, u and v are reduced (NumPy's full_matrices=False).",
)
_svd_full = _any_op(
    "svd_full",
    lambda x: tuple(np.linalg.svd(x)),
    lambda x: [
        (x.dtype, x.shape[:-1] + (x.shape[-2],)),
        (x.dtype, x.shape[:-2] + (_smaller(x),)),
        (x.dtype, x.shape[:-2] + (x.shape[-1], x.shape[-1])),
    ],
    _grad_values,
    "(u, s, v) as svd, with square u and v.",
)


def _grad_singular_values(node, g):
    u, _, v = _svd(node.inputs[0])
    return (chain(u, diagonal_matrix(g), v),)


_svdvals = _any_op(
    "svdvals",
    lambda x: np.linalg.svd(x, compute_uv=False),
    lambda x: (x.dtype, x.shape[:-2] + (_smaller(x),)),
    _grad_singular_values,
    "The falling singular values alone, which LAPACK has in a third of the time.",
)


def svd(x, full_matrices=False, compute_uv=True):
    """(u, s, v) with x = u diag(s) v, or s alone if not compute_uv.

    s falls; u and v are square with full_matrices, else reduced.
    """
    full_matrices = given.flag(full_matrices, "full_matrices")
    compute_uv = given.flag(compute_uv, "compute_uv")
    if not compute_uv:
        return _svdvals(x)
    return _svd_full(x) if full_matrices else _svd(x)


def _grad_qr(node, g):
    """For at least as many rows as columns."""
    x = node.inputs[0]
    if None not in x.shape[-2:] and x.shape[-2] < x.shape[-1]:
        raise ShapeError(f"qr of shape {show(x.shape)} has no gradient: it needs rows >= columns")
    (q, r), (gq, gr) = parts_of(node, g)
    m = sub(chain(r, swapped(gr)), chain(swapped(gq), q))
    symmetric = add(tril(m, -1), swapped(tril(m)))  # the lower triangle copied to the upper one
    return (swapped(_solve(r, swapped(add(gq, chain(q, swapped(symmetric)))))),)


def _solve(a, b):
    return make("solve", (a, b), {"vector": False})


_qr = _any_op(
    "qr",
    lambda x: tuple(np.linalg.qr(x)),
    lambda x: [
        (x.dtype, x.shape[:-1] + (_smaller(x),)),
        (x.dtype, x.shape[:-2] + (_smaller(x), x.shape[-1])),
    ],
    _grad_qr,
    "(q, r) with x = q r, q with orthonormal columns, r upper triangular (reduced).",
)
_qr_full = _any_op(
    "qr_full",
    lambda x: tuple(np.linalg.qr(x, "complete")),
    lambda x: [(x.dtype, x.shape[:-1] + (x.shape[-2],)), (x.dtype, x.shape)],
    None,
    "(q, r) as qr, with a square q; it has no gradient.",
)


def qr(x, mode="reduced"):
    """(q, r) with x = q r, q with orthonormal columns, r upper triangular; r alone with mode "r".

    mode "complete": a square q, without a gradient.
    """
    given.word(mode, ("reduced", "complete", "r"), "the mode of qr")
    parts = _qr_full(x) if mode == "complete" else _qr(x)
    return parts[1] if mode == "r" else parts


def _grad_pinv(node, g):
    """Golub and Pereyra 1973, for constant rank."""
    a, p = node.inputs[0], node
    pt, gt = swapped(p), swapped(g)
    outside = chain(sub(gt, chain(a, p, gt)), p, pt)  # (1 - A P) G^T P P^T
    inside = chain(pt, p, sub(gt, chain(gt, p, a)))  # P^T P G^T (1 - P A)
    return (add(neg(chain(pt, g, pt)), add(outside, inside)),)


pinv = _any_op(
    "pinv",
    np.linalg.pinv,
    lambda x: (x.dtype, x.shape[:-2] + (x.shape[-1], x.shape[-2])),
    _grad_pinv,
    "The Moore-Penrose inverse.",
)
