"""Functions of matrices: powers, exponential, Kronecker product, log-determinant, other spectra.

The decompositions that these are made of are in decompose.py. Gradients: that of expm is an expm
of twice the size (Van Loan 1978); eig has none.
"""

import numbers

import numpy as np

from ..base import dtypes, given
from ..base.errors import ArgumentError, ShapeError
from ..graph.node import item, make
from ..graph.op import Op
from ..graph.shapes import axis_of, product, show
from .base import expand, operands, to_node, zeros_like
from .decompose import (
    chain,
    diagonal_matrix,
    eigh,
    eye_like,
    float_matrix,
    inverse,
    solve,
    square_only,
    square_op,
    swapped,
)
from .elementwise import add, mul, sub
from .filling import tril
from .indexing.keys import getitem
from .joining import concatenate
from .linalg import matmul
from .movement import reshape, transpose
from .shape import size_of, sized, times

__all__ = ["expm", "slogdet", "eig", "eigvalsh", "kron", "matrix_power",
           "matrix_dot", "tensorinv", "tensorsolve"]  # fmt: skip


# --- exponential ------------------------------------------------------------------------------

PADE = (64764752532480000., 32382376266240000., 7771770303897600., 1187353796428800.,
         129060195264000., 10559470521600., 670442572800., 33522128640., 1323241920., 40840800.,
         960960., 16380., 182., 1.)  # fmt: skip
PADE_REACH = 5.371920351148152  # the norm up to which the approximant has all digits


def _np_expm(x):
    """Scaling and squaring with the Pade approximant of degree 13 (Higham 2005), in float64."""
    a = x.astype("float64", copy=False)
    norm = np.abs(a).sum(-2).max(-1, initial=0.0)[..., None, None]
    with np.errstate(all="ignore"):
        halvings = np.maximum(np.ceil(np.log2(norm / PADE_REACH)), 0)
        halvings = np.where(np.isfinite(halvings), halvings, 0)
    a = a * 2.0**-halvings
    b, one = PADE, np.eye(a.shape[-1])
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a2 @ a4
    odd = a @ (
        a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * one
    )
    even = (
        a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * one
    )
    y = np.linalg.solve(even - odd, even + odd)
    for k in range(int(halvings.max(initial=0))):
        y = np.where(halvings > k, y @ y, y)
    return y


def _grad_expm(node, g):
    """The corner of expm([[x^T, g], [0, x^T]])."""
    x = swapped(node.inputs[0])
    n, zeros = size_of(x, x.ndim - 1), zeros_like(x)
    block = concatenate([concatenate([x, g], -1), concatenate([zeros, x], -1)], -2)
    return (getitem(expm(block), (Ellipsis, slice(None, n), slice(n, None))),)


expm = square_op(
    "expm", _np_expm, lambda x: x.shape, _grad_expm, "The exponential of square matrices."
)


# --- determinants and spectra -----------------------------------------------------------------


def _grad_slogdet(node, g):
    if g[1] is None:
        return (None,)
    x = node.inputs[0]
    return (mul(expand(g[1], (x.ndim - 2, x.ndim - 1)), swapped(inverse(x))),)


slogdet = square_op(
    "slogdet",
    lambda x: tuple(np.linalg.slogdet(x)),
    lambda x: [(x.dtype, x.shape[:-2]), (x.dtype, x.shape[:-2])],
    _grad_slogdet,
    "(sign, log(|det|)) of square matrices, without overflow.",
)


def _complex_of(dtype):
    return "complex128" if dtype == "float64" else "complex64"


def _infer_eig(attrs, x):
    square_only("eig")(x)
    wide = _complex_of(x.dtype)
    return [(wide, x.shape[:-1]), (wide, x.shape)]


def _run_eig(attrs, x):
    wide = _complex_of(x.dtype.name)
    return tuple(v.astype(wide) for v in np.linalg.eig(x.astype(dtypes.computed(x.dtype.name))))


Op(
    "eig",
    "opaque",
    _infer_eig,
    _run_eig,
    None,
    ulp=1e4,
    cost=300,
    doc="(w, v): eigenvalues, in no order, and eigenvectors of square matrices, complex.",
)


def eig(x):
    """(w, v): eigenvalues, in no order, and eigenvectors (columns) of square matrices.

    Both are complex, also where all are real. It has no gradient; that of symmetric matrices
    (eigh) has one.
    """
    found = make("eig", (float_matrix(x, "eig"),))
    return item(found, 0), item(found, 1)


def _grad_eigvalsh(node, g):
    _, v = eigh(node.inputs[0])
    s = chain(v, diagonal_matrix(g), swapped(v))
    return (sub(tril(add(s, swapped(s))), mul(eye_like(s), s)),)


eigvalsh = square_op(
    "eigvalsh",
    np.linalg.eigvalsh,
    lambda x: x.shape[:-1],
    _grad_eigvalsh,
    "The rising eigenvalues of symmetric matrices, of which the lower triangle is read.",
)


# --- products and powers ----------------------------------------------------------------------


def kron(a, b):
    """The Kronecker product, np.kron: blocks a[i, j] * b; of tensors of any ranks."""
    a, b = operands((to_node(a, "kron"), to_node(b, "kron")), "kron")
    ndim = max(a.ndim, b.ndim)
    a, b = (expand(v, tuple(range(ndim - v.ndim))) for v in (a, b))
    sizes = [times(m, n) for m, n in zip(sized(a), sized(b))]
    wide = mul(expand(a, tuple(range(1, 2 * ndim, 2))), expand(b, tuple(range(0, 2 * ndim, 2))))
    return reshape(wide, sizes) if ndim else wide


def matrix_power(x, n):
    """The product of `n` (an int) factors `x`; of inverses for a negative `n`."""
    x = to_node(x, "matrix_power")
    square_only("matrix_power")(x)
    if isinstance(n, bool) or not isinstance(n, numbers.Integral):
        raise ArgumentError(f"the exponent of matrix_power is an int, not {n!r}")
    if n < 0:
        x, n = inverse(x), -n
    result = None
    while n:
        if n & 1:
            result = x if result is None else matmul(result, x)
        n >>= 1
        x = matmul(x, x) if n else x
    return add(zeros_like(x), eye_like(x)) if result is None else result


def matrix_dot(*factors):
    """The product of all `factors`, from the left."""
    if not factors:
        raise ArgumentError("matrix_dot needs at least one matrix")
    total = to_node(factors[0], "matrix_dot")
    for f in factors[1:]:
        total = matmul(total, f)
    return total


# --- tensors as matrices ----------------------------------------------------------------------


def _check_square(name, x, rows, columns):
    m, n = product(rows), product(columns)
    if None not in (m, n) and m != n:
        raise ShapeError(f"{name} of shape {show(x.shape)}: {m} equations for {n} unknowns")


def tensorinv(x, ind=2):
    """np.linalg.tensorinv: the inverse of `x` as a map from its last axes to its first `ind`."""
    x = float_matrix(x, "tensorinv")
    ind = given.whole(ind, "ind of tensorinv")
    if not 0 < ind < x.ndim:
        raise ArgumentError(
            f"ind of tensorinv is between 0 and the {x.ndim} dimensions of the tensor, got {ind}"
        )
    _check_square("tensorinv", x, x.shape[:ind], x.shape[ind:])
    front, back = sized(x, range(ind)), sized(x, range(ind, x.ndim))
    return reshape(inverse(reshape(x, [times(*front), times(*back)])), back + front)


def tensorsolve(a, b, axes=None):
    """np.linalg.tensorsolve: the x with tensordot(a, x, x.ndim) = b; `axes` of `a` go last."""
    a, b = operands((float_matrix(a, "tensorsolve"), float_matrix(b, "tensorsolve")), "tensorsolve")
    if axes is not None:
        last = [axis_of(k, a.ndim) for k in given.sequence(axes, "the axes of tensorsolve")]
        a = transpose(a, [k for k in range(a.ndim) if k not in last] + last)
    if not b.ndim < a.ndim:
        raise ShapeError(
            f"tensorsolve needs more dimensions on the left than on the right, got "
            f"shapes {show(a.shape)} and {show(b.shape)}"
        )
    _check_square("tensorsolve", a, a.shape[: b.ndim], a.shape[b.ndim :])
    unknown = sized(a, range(b.ndim, a.ndim))
    flat = solve(reshape(a, [times(*sized(b)), times(*unknown)]), reshape(b, [times(*sized(b))]))
    return reshape(flat, unknown)
