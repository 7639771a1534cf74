"""Systems of equations with structure: triangular, Cholesky, symmetric; least squares.

`solve` of a general matrix is in decompose.py. Leading axes are a batch, as there; triangles are
solved by blocks in NumPy, without SciPy.
"""

import numpy as np

from ..base import dtypes, given
from ..base.errors import ArgumentError, ShapeError
from ..graph.node import item, make
from ..graph.op import REGISTRY, Op
from ..graph.shapes import broadcast, show
from .base import cast, expand, operands, unbroadcast
from .decompose import cholesky, float_matrix, pinv, solution_or_nan, solve, square_only, swapped
from .elementwise import add, neg, square, sub
from .filling import tril, triu
from .linalg import dot, matmul
from .reduce import sum

__all__ = ["solve_triangular", "cho_solve", "solve_structured", "mirrored", "lstsq"]

WIDE = 400  # elements of the unknown of a Sylvester equation that is solved as one system
BLOCK = 32  # rows; below, LAPACK's solve of the block is as fast as substitution


# --- triangular -------------------------------------------------------------------------------


def _substitute(a, b, lower):
    """The x with a x = b for triangular a: halves, down to blocks that LAPACK solves."""
    n = a.shape[-1]
    if n <= BLOCK:
        return np.linalg.solve(a, b)
    k = n // 2
    if lower:
        first = _substitute(a[..., :k, :k], b[..., :k, :], lower)
        rest = b[..., k:, :] - np.matmul(a[..., k:, :k], first)
        return np.concatenate([first, _substitute(a[..., k:, k:], rest, lower)], -2)
    last = _substitute(a[..., k:, k:], b[..., k:, :], lower)
    rest = b[..., :k, :] - np.matmul(a[..., :k, k:], last)
    return np.concatenate([_substitute(a[..., :k, :k], rest, lower), last], -2)


def _infer_triangular(attrs, a, b):
    square_only("solve_triangular")(a)
    k = b.shape[-1 if attrs["vector"] else -2] if b.ndim > (not attrs["vector"]) else None
    few = b.ndim < (1 if attrs["vector"] else 2)
    if few or (None not in (k, a.shape[-1]) and k != a.shape[-1]):
        raise ShapeError(
            f"cannot solve a triangular system of shape {show(a.shape)} for a right side of shape "
            f"{show(b.shape)}"
        )
    if attrs["vector"]:
        return a.dtype, a.shape[:-1]
    return a.dtype, broadcast("solve_triangular", a.shape[:-2], b.shape[:-2]) + b.shape[-2:]


def _run_triangular(attrs, a, b):
    dtype = a.dtype
    a, b = (v.astype(dtypes.computed(dtype.name), copy=False) for v in (a, b))
    b = b[..., None] if attrs["vector"] else b
    if a.shape[-1] != b.shape[-2]:
        raise ShapeError(
            f"cannot solve a triangular system of shape {show(a.shape)} for "
            f"{b.shape[-2]} rows on the right side"
        )
    a = np.tril(a) if attrs["lower"] else np.triu(a)
    if attrs["unit"]:
        at = np.arange(a.shape[-1])
        a[..., at, at] = 1
    lower = attrs["lower"]
    if attrs["trans"]:
        a, lower = np.swapaxes(a, -1, -2), not lower
    singular = (np.diagonal(a, 0, -2, -1) == 0).any(-1)
    if attrs.get("nan"):
        a = np.where(singular[..., None, None], np.eye(a.shape[-1], dtype=a.dtype), a)
    elif singular.any():  # elimination may miss it by a rounding
        raise np.linalg.LinAlgError("Singular matrix")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = _substitute(a, np.broadcast_to(b, batch + b.shape[-2:]), lower)
    if attrs.get("nan"):
        x = np.where(singular[..., None, None], np.nan, x)
    return (x[..., 0] if attrs["vector"] else x).astype(dtype, copy=False)


def _grad_triangular(node, g):
    (a, b), attrs = node.inputs, node.attrs
    gb = make("solve_triangular", (a, g), {**attrs, "trans": not attrs["trans"]})
    if attrs["vector"]:
        left, right = expand(gb, (gb.ndim,)), expand(node, (node.ndim,))
    else:
        left, right = gb, node
    ga = neg(matmul(right, swapped(left)) if attrs["trans"] else matmul(left, swapped(right)))
    off = 1 if attrs["unit"] else 0
    ga = tril(ga, -off) if attrs["lower"] else triu(ga, off)
    return unbroadcast(ga, a), unbroadcast(gb, b)


Op(
    "solve_triangular",
    "opaque",
    _infer_triangular,
    _run_triangular,
    _grad_triangular,
    ulp=1e4,
    cost=50,
    doc="The x with a x = b for a triangle of a: attrs lower, trans (solve with its "
    "transpose), unit (ones are on the diagonal, which is not read), vector, and nan, where it is "
    "there and true: NaN where there is no solution, and no error.",
)


def solve_triangular(a, b, lower=False, trans=False, unit_diagonal=False):
    """The x with a . x = b, where only one triangle of `a` is read. b: a vector or matrices.

    trans: solve with the transpose. unit_diagonal: the diagonal is not read and taken for ones.
    """
    name = "solve_triangular"
    if not isinstance(trans, (int, str, np.bool_)) or trans not in (0, 1, "N", "T"):
        raise ArgumentError(
            f"trans of solve_triangular is False or True ('N' or 'T'), not {trans!r}"
        )
    a, b = operands((float_matrix(a, name), float_matrix(b, name)), name)
    return make(
        name,
        (a, b),
        {
            "lower": given.flag(lower, "lower"),
            "trans": trans in (1, "T"),
            "unit": given.flag(unit_diagonal, "unit_diagonal"),
            "vector": b.ndim == 1,
        },
    )


def cho_solve(c, b, lower=True):
    """The x with a . x = b, given the Cholesky factor `c` of a: c . c^T, or c^T . c if not
    `lower`."""
    lower = given.flag(lower, "lower")
    first = solve_triangular(c, b, lower, not lower)
    return solve_triangular(c, first, lower, lower)


# --- symmetric --------------------------------------------------------------------------------

STRUCTURES = {"gen": "gen", "general": "gen", "sym": "sym", "symmetric": "sym", "her": "sym",
              "hermitian": "sym", "pos": "pos", "positive definite": "pos"}  # fmt: skip


def mirrored(a, lower):
    """The symmetric matrices of which `a` holds one triangle."""
    if given.flag(lower, "lower"):
        return add(tril(a), swapped(tril(a, -1)))
    return add(triu(a), swapped(triu(a, 1)))


def solve_structured(a, b, assume_a="gen", lower=False, trans=False):
    """`solve` with what is known of `a`: "gen" nothing, "sym" symmetric, "pos" positive definite.

    Of the last two one triangle is read, the lower or the upper one.
    """
    given.word(assume_a, STRUCTURES, "assume_a")
    kind = STRUCTURES[assume_a]
    if kind == "gen":
        a = float_matrix(a, "solve")
        return solve(swapped(a) if given.flag(trans, "trans") else a, b)
    a = mirrored(float_matrix(a, "solve"), lower)
    return solve(a, b) if kind == "sym" else cho_solve(cholesky(a), b)


# --- Sylvester equations ----------------------------------------------------------------------


def _infer_sylvester(attrs, a, b, c):
    for x in (a, b):
        square_only("sylvester")(x)
    sizes = a.shape[-1], b.shape[-1]
    if c.ndim < 2 or any(None not in (s, t) and s != t for s, t in zip(c.shape[-2:], sizes)):
        raise ShapeError(
            f"a x + x b = c with shapes {show(a.shape)}, {show(b.shape)} and {show(c.shape)}"
        )
    batch = broadcast("sylvester", broadcast("sylvester", a.shape[:-2], b.shape[:-2]), c.shape[:-2])
    return a.dtype, (*batch, *sizes)


def _run_sylvester(attrs, a, b, c):
    """As one system for all elements of x; through Schur forms where that is large."""
    m, n = a.shape[-1], b.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    a, b, c = (np.broadcast_to(x, batch + x.shape[-2:]).astype("float64") for x in (a, b, c))
    if m * n > WIDE:
        from scipy.linalg import solve_sylvester

        found = [solve_sylvester(a[k], b[k], c[k]) for k in np.ndindex(batch)]
        return np.stack(found).reshape(c.shape) if found else c
    left = np.einsum("...ik,jl->...ijkl", a, np.eye(n))
    whole = left + np.einsum("ik,...lj->...ijkl", np.eye(m), b)
    whole = whole.reshape(*batch, m * n, m * n)
    return solution_or_nan(whole, c.reshape(*batch, m * n, 1)).reshape(c.shape)


def _grad_sylvester(node, g):
    a, b, c = node.inputs
    s, x = make("sylvester", (swapped(a), swapped(b), g)), swapped(node)
    ga, gb = neg(matmul(s, x)), neg(matmul(x, s))
    return unbroadcast(ga, a), unbroadcast(gb, b), unbroadcast(s, c)


Op(
    "sylvester",
    "opaque",
    _infer_sylvester,
    lambda attrs, a, b, c: _run_sylvester(attrs, a, b, c).astype(a.dtype, copy=False),
    _grad_sylvester,
    ulp=1e4,
    cost=400,
    doc="The x with a x + x b = c; NaN where a or b is not finite.",
)


# --- least squares ----------------------------------------------------------------------------


def _infer_lstsq(attrs, a, b):
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise ShapeError(
            f"lstsq needs a matrix and a vector or matrix, got shapes {show(a.shape)} "
            f"and {show(b.shape)}"
        )
    if None not in (a.shape[0], b.shape[0]) and a.shape[0] != b.shape[0]:
        raise ShapeError(
            f"lstsq of {show(a.shape)} and {show(b.shape)}: {a.shape[0]} equations "
            f"against {b.shape[0]} right sides"
        )
    return [(a.dtype, a.shape[1:] + b.shape[1:]), ("int64", ())]


def _run_lstsq(attrs, a, b):
    wide = dtypes.computed(a.dtype.name)
    a, b, narrow = a.astype(wide, copy=False), b.astype(wide, copy=False), a.dtype
    x, _, rank, _ = np.linalg.lstsq(a, b, rcond=attrs["rcond"])
    return x.astype(narrow, copy=False), np.array(rank, "int64")


def _grad_lstsq(node, g):
    """By x = pinv(a) b, at constant rank."""
    (a, b), gx = node.inputs, g[0]
    if gx is None:
        return None, None
    p = pinv(a)
    matrix = b.ndim == 2
    outer = matmul(gx, swapped(b)) if matrix else matmul(expand(gx, (1,)), expand(b, (0,)))
    return REGISTRY["pinv"].grad(p, outer)[0], dot(swapped(p), gx)


Op(
    "lstsq",
    "opaque",
    _infer_lstsq,
    _run_lstsq,
    _grad_lstsq,
    ulp=1e4,
    cost=200,
    doc="(x, rank): the x with the least |a x - b|, of these the shortest; attrs['rcond'].",
)


def lstsq(a, b, rcond=None):
    """(x, residuals, rank): the x with the least |a . x - b|, the sums of squares that are left
    for each column of `b`, and the rank of `a`.

    rcond: singular values below this part of the largest count as zero (NumPy's default).
    """
    a, b = operands((float_matrix(a, "lstsq"), float_matrix(b, "lstsq")), "lstsq")
    rcond = None if rcond is None else given.number(rcond, "rcond")
    found = make("lstsq", (a, b), {"rcond": rcond})
    x = item(found, 0)
    return x, cast(sum(square(sub(dot(a, x), b)), 0), a.dtype), item(found, 1)
