"""theano.tensor.slinalg: triangular factors, solving, exponentials, Kronecker products."""

import numpy as np

from ... import ops
from ...base.errors import ArgumentError, UsageError
from ...graph.node import constant, make
from ...graph.op import REGISTRY
from ...graph.op import Op as Row
from ...ops.decompose import eye_like
from ...ops.systems import mirrored
from ..base.exceptions import RefusedError
from ..base.names import absent_of as _absent_of
from ..classes.meanings import floats, upcast
from ..classes.op import KernelOp
from ..handles.constants import NoneConst
from ..handles.variables import as_tensor_variable
from .products import tensordot

MATRIX_STRUCTURES = ("general", "symmetric", "lower_triangular", "upper_triangular", "hermitian",
                     "banded", "diagonal", "toeplitz")  # fmt: skip


class Cholesky(KernelOp):
    """The triangular factor of a positive definite matrix."""

    def __init__(self, lower=True, on_error="raise"):
        if on_error not in ("raise", "nan"):
            raise ArgumentError(f"on_error is 'raise' or 'nan', not {on_error!r}")
        KernelOp.__init__(self, _cholesky, "Cholesky", lower=bool(lower), on_error=on_error)

    def make_node(self, x):
        x = as_tensor_variable(x)
        if x.ndim != 2:
            raise RefusedError("Cholesky takes matrices")
        return KernelOp.make_node(self, x)

    def __reduce__(self):
        return Cholesky, (self.lower, self.on_error)


def _cholesky(x, lower, on_error):
    """From one triangle, to which the gradient belongs too."""
    x = floats(x)
    if on_error == "raise":
        found = ops.cholesky(mirrored(x, lower))
    else:
        found = make("cholesky_or_nan", (x,), {"lower": lower})
    return found if lower else ops.transpose(found)


def _run_cholesky(attrs, x):
    half = np.tril(x) if attrs["lower"] else np.triu(x).T
    try:
        return REGISTRY["cholesky"].oracle({}, half + np.tril(half, -1).T)
    except np.linalg.LinAlgError:
        return np.full_like(x, np.nan)


def _grad_cholesky(node, g):
    """That of cholesky; NaN everywhere where there is no factor."""
    bad = ops.any(ops.isnan(node))
    safe = ops.where(bad, eye_like(node), node)
    slope = REGISTRY["cholesky"].grad(safe, g)[0]
    half = ops.add(ops.tril(slope), ops.tril(ops.transpose(slope), -1))
    half = half if node.attrs["lower"] else ops.transpose(half)
    return (ops.where(bad, constant(np.array(np.nan, node.dtype)), half),)


Row(
    "cholesky_or_nan",
    "opaque",
    REGISTRY["cholesky"].infer,
    _run_cholesky,
    _grad_cholesky,
    ulp=1e4,
    cost=100,
    doc="cholesky, with NaN for matrices that are not positive definite.",
)


cholesky = Cholesky()


class Solve(KernelOp):
    """x with A x = b."""

    def __init__(
        self,
        A_structure="general",
        lower=False,
        overwrite_A=False,  # noqa: N803
        overwrite_b=False,
    ):
        if A_structure not in MATRIX_STRUCTURES:
            raise ArgumentError("A_structure has to be one of MATRIX_STRUCTURES, not", A_structure)
        KernelOp.__init__(self, _solve, "Solve", structure=A_structure, lower=bool(lower))
        self.A_structure, self.lower = A_structure, lower

    def make_node(self, A, b):  # noqa: N803
        A, b = as_tensor_variable(A), as_tensor_variable(b)  # noqa: N806
        if A.ndim != 2 or b.ndim not in (1, 2):
            raise RefusedError("Solve takes a matrix, and a vector or matrix")
        return KernelOp.make_node(self, A, b)

    def __reduce__(self):
        return Solve, (self.A_structure, self.lower)


def _solve(a, b, structure, lower):
    dtype = upcast(floats(a).dtype, floats(b).dtype)
    a, b = ops.cast(a, dtype), ops.cast(b, dtype)
    if structure == "lower_triangular":
        a = ops.tril(a)
    elif structure == "upper_triangular":
        a = ops.triu(a)
    return ops.solve(a, b)


solve = Solve()
solve_lower_triangular = Solve(A_structure="lower_triangular", lower=True)
solve_upper_triangular = Solve(A_structure="upper_triangular", lower=False)
solve_symmetric = Solve(A_structure="symmetric")


def kron(a, b):
    """The Kronecker product as Theano has it: blocks along the first two axes of the outer product.

    Of two matrices it is NumPy's. Of a vector and a matrix, in any order, it is a vector.
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if a.ndim + b.ndim <= 2:
        raise UsageError(
            f"kron of tensors of {a.ndim} and {b.ndim} dimensions: together they need at least 3"
        )
    full = tensordot(a, b, axes=0)
    if full.ndim == 3:
        return full.dimshuffle(1, 0, 2).flatten()
    rest = range(4, full.ndim)
    sizes = [full.shape[0] * full.shape[2], full.shape[1] * full.shape[3]]
    sizes += [full.shape[k] for k in rest]
    return full.dimshuffle(0, 2, 1, 3, *rest).reshape(sizes, ndim=full.ndim - 2)


def _expm(a):
    return ops.expm(floats(a))


class Expm(KernelOp):
    """The exponential of a matrix."""

    def __init__(self):
        KernelOp.__init__(self, _expm, "Expm")

    def make_node(self, a):
        a = as_tensor_variable(a)
        if a.ndim != 2:
            raise RefusedError("expm takes a matrix")
        return KernelOp.make_node(self, a)


expm = Expm()


def _eigvalsh(a, *b, lower):
    """a v = w b v with b = l l^T has the spectrum of l^-1 a l^-T."""
    a = mirrored(floats(a), lower)
    if b:
        dtype = upcast(a.dtype, floats(b[0]).dtype)
        low = ops.cholesky(mirrored(ops.cast(b[0], dtype), lower))
        half = ops.solve_triangular(low, ops.cast(a, dtype), lower=True)
        a = ops.solve_triangular(low, ops.transpose(half), lower=True)
    return ops.eigvalsh(a)


class Eigvalsh(KernelOp):
    """The eigenvalues w of a v = w b v, from the lower or the upper triangles of a and b."""

    def __init__(self, lower=True):
        if lower not in (True, False):
            raise RefusedError("lower is True or False")
        KernelOp.__init__(self, _eigvalsh, "Eigvalsh", lower=bool(lower))

    def make_node(self, a, b=None):
        given = [a] if b is None or b is NoneConst else [a, b]
        given = [as_tensor_variable(x) for x in given]
        if any(x.ndim != 2 for x in given):
            raise RefusedError("eigvalsh takes matrices")
        return KernelOp.make_node(self, *given)

    def __reduce__(self):
        return Eigvalsh, (self.lower,)


def eigvalsh(a, b, lower=True):
    """The eigenvalues w of a v = w b v for symmetric matrices; b may be None.

    lower: whether the lower or the upper triangles of a and b are read.
    """
    return Eigvalsh(lower)(a, b)


__getattr__ = _absent_of("theano.tensor.slinalg")
