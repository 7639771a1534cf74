"""theano.tensor.nlinalg: decompositions, inverses, determinants, norms."""

import sys

import numpy as np

from ... import ops as _ops
from ...base import given as _given
from ...base.errors import ArgumentError, NotSupported, UsageError
from ..base.exceptions import RefusedError
from ..base.names import absent_of as _absent_of
from ..classes.meanings import floats, upcast
from ..classes.op import KernelOp, Op
from ..gradient.functions import grad_not_implemented
from ..graph.apply import Apply
from ..handles.type import TensorType
from ..handles.variables import as_tensor_variable
from . import creation
from .creation import diagonal, identity_like
from .elementwise import abs_, neq
from .products import dot
from .reductions import prod
from .slinalg import solve

__all__ = ["matrix_inverse", "det", "svd", "qr", "eigh", "pinv", "matrix_dot", "trace", "diag",
           "matrix_power", "norm", "tensorinv", "tensorsolve", "alloc_diag", "extract_diag",
           "eig", "lstsq"]  # fmt: skip


def _matrix(x):
    x = as_tensor_variable(x)
    if x.ndim != 2:
        raise RefusedError(f"a matrix is needed, not {x.ndim} dimensions")
    return x


def _float(build):
    def function(*nodes, **attrs):
        return build(*map(floats, nodes), **attrs)

    function.__name__ = build.__name__
    return function


class MatrixInverse(KernelOp):
    """The inverse of a matrix."""

    def __init__(self):
        KernelOp.__init__(self, _inverse, "MatrixInverse")

    def make_node(self, x):
        return KernelOp.make_node(self, _matrix(x))


class MatrixPinv(KernelOp):
    """The pseudo-inverse of a matrix."""

    def __init__(self):
        KernelOp.__init__(self, _pinv, "MatrixPinv")

    def make_node(self, x):
        return KernelOp.make_node(self, _matrix(x))


class Det(KernelOp):
    """The determinant of a matrix."""

    def __init__(self):
        KernelOp.__init__(self, _det, "Det")

    def make_node(self, x):
        return KernelOp.make_node(self, _matrix(x))


_inverse, _pinv, _det = _float(_ops.inverse), _float(_ops.pinv), _float(_ops.det)
matrix_inverse, pinv, det = MatrixInverse(), MatrixPinv(), Det()


def _svd(x, full_matrices, compute_uv):
    return _ops.svd(floats(x), full_matrices, compute_uv)


class SVD(KernelOp):
    """[u, s, v] with a = u diag(s) v, or s alone without compute_uv.

    full_matrices: square u and v, which have no gradient, as in Theano; s alone has one.
    """

    def __init__(self, full_matrices=True, compute_uv=True):
        KernelOp.__init__(
            self, _svd, "SVD", full_matrices=bool(full_matrices), compute_uv=bool(compute_uv)
        )

    def make_node(self, x):
        return KernelOp.make_node(self, _matrix(x))

    def __reduce__(self):
        return SVD, (self.full_matrices, self.compute_uv)


def svd(a, full_matrices=1, compute_uv=1):
    """[u, s, v] with a = u diag(s) v, or s alone; u and v are square with full_matrices, else they
    have min(a.shape) columns and rows. Square ones have no gradient.
    """
    return SVD(full_matrices, compute_uv)(a)


def _qr(x, mode):
    q, r = _ops.qr(floats(x))
    return [q, r] if mode == "reduced" else r


def qr(a, mode="reduced"):
    """[q, r] with a = q r; mode='r': r alone; 'complete': q is square; 'raw': LAPACK's factors.

    Results of 'complete' and 'raw' have no gradient.
    """
    mode = {"full": "reduced"}.get(mode, mode)
    if mode in ("complete", "raw"):
        types = _raw_qr_types if mode == "raw" else _qr_types
        return list(ByNumPy(np.linalg.qr, "QR", types, mode=mode)(_matrix(a)))
    if mode not in ("reduced", "r"):
        raise ArgumentError(f"qr has the modes reduced, complete, r and raw, not {mode!r}")
    return KernelOp(_qr, "QR", mode=mode)(_matrix(a))


def _eigh(x, lower):
    x = floats(x)
    if not lower:
        x = _ops.transpose(x)
    w, v = _ops.eigh(x)
    return [w, v]


class Eigh(KernelOp):
    """[eigenvalues in order, eigenvectors in columns] of a symmetric matrix, from one triangle."""

    def __init__(self, UPLO="L"):  # noqa: N803 (NumPy's name)
        if UPLO not in ("L", "U"):
            raise RefusedError("UPLO is 'L' or 'U'")
        KernelOp.__init__(self, _eigh, "Eigh", lower=UPLO == "L")
        self.UPLO = UPLO

    def make_node(self, x):
        return KernelOp.make_node(self, _matrix(x))

    def __reduce__(self):
        return Eigh, (self.UPLO,)


def eigh(a, UPLO="L"):  # noqa: N803
    """[eigenvalues in order, eigenvectors in columns] of a symmetric matrix, from one triangle."""
    return Eigh(UPLO)(a)


def matrix_dot(*args):
    """The product of several matrices."""
    found = args[0]
    for a in args[1:]:
        found = dot(found, a)
    return found


def matrix_power(M, n):  # noqa: N803 (Theano's name)
    """The matrix `M` to the power of the int `n`, by squaring."""
    M, n = _matrix(M), _given.integer(n, "the power of a matrix")  # noqa: N806
    if n < 0:
        return matrix_power(matrix_inverse(M), -n)
    if n == 0:
        return identity_like(M)
    if n == 1:
        return M
    half = matrix_power(M, n // 2)
    square = half.dot(half)
    return square.dot(M) if n % 2 else square


def trace(X):  # noqa: N803
    """The sum of the diagonal."""
    return diagonal(X).sum()


def diag(x):
    """The diagonal of a matrix, or the matrix of a diagonal."""
    return creation.diag(x)


def extract_diag(x):
    """The diagonal of a matrix."""
    return creation.diagonal(x)


def alloc_diag(x):
    """The matrix of a diagonal."""
    return creation.diag(x)


class ExtractDiag(creation.ExtractDiag):
    """The diagonal of a matrix."""

    def __init__(self, view=False):
        super().__init__()

    def make_node(self, x):
        x = as_tensor_variable(x)
        if x.ndim != 2:
            raise UsageError(f"a matrix has a diagonal, not what is of {x.ndim} dimensions")
        return KernelOp.make_node(self, x)

    def __reduce__(self):
        return ExtractDiag, ()


class AllocDiag(creation.AllocDiag):
    """The matrix of a diagonal."""

    def __init__(self):
        super().__init__()

    def make_node(self, x):
        x = as_tensor_variable(x)
        if x.ndim != 1:
            raise UsageError(f"a diagonal is a vector, not of {x.ndim} dimensions")
        return KernelOp.make_node(self, x)

    def __reduce__(self):
        return AllocDiag, ()


def psd(v):
    """`v`, of which the program knows that it is positive definite; nothing is made of that."""
    return as_tensor_variable(v)


def spectral_radius_bound(X, log2_exponent):  # noqa: N803 (Theano's name)
    """A bound of the absolute eigenvalues of a symmetric matrix, by its power 2 ** log2_exponent:
    trace(X ** k) ** (1 / k)."""
    X, count = _matrix(X), _given.integer(log2_exponent, "log2_exponent")  # noqa: N806
    if count <= 0:
        raise ArgumentError(f"log2_exponent is above 0, not {count}")
    return trace(matrix_power(X, 2**count)) ** 0.5**count


def norm(x, ord):
    """The norm of a vector or matrix: a number p, 'inf', '-inf', 'fro', or None for 2 or 'fro'."""
    from .reductions import max, min, sum  # hides Python's max, min, sum

    x = as_tensor_variable(x)
    if x.ndim == 0:
        raise ArgumentError("a scalar has no norm here: give a vector or a matrix")
    if x.ndim > 2:
        raise NotSupported(f"norm takes a vector or a matrix, not {x.ndim} axes: reshape it first")
    ord = {"inf": np.inf, "-inf": -np.inf}.get(ord, ord) if isinstance(ord, str) else ord
    if x.ndim == 1:
        if isinstance(ord, str):
            raise ArgumentError(f"no norm of a vector is called {ord!r}")
        if ord is None:
            return sum(x**2) ** 0.5
        if ord == np.inf:
            return max(abs_(x))
        if ord == -np.inf:
            return min(abs_(x))
        if ord == 0:
            return neq(x, 0).sum()
        return sum(abs_(x**ord)) ** (1.0 / ord)
    if ord in (None, "fro"):
        return sum(abs_(x**2)) ** 0.5
    rows = {np.inf: (max, 1), -np.inf: (min, 1), 1: (max, 0), -1: (min, 0)}.get(ord)
    if rows is None:
        raise ArgumentError(f"no norm of a matrix is called {ord!r}")
    return rows[0](sum(abs_(x), rows[1]))


def tensorinv(a, ind=2):
    """The inverse of a tensor for tensordot(., ., ind)."""
    a = as_tensor_variable(a)
    if ind <= 0:
        raise ArgumentError("Invalid ind argument.")
    shape = [a.shape[i] for i in range(a.ndim)]
    flat = a.reshape((prod(a.shape[ind:]), -1))
    return matrix_inverse(flat).reshape(shape[ind:] + shape[:ind], ndim=a.ndim)


def tensorsolve(a, b, axes=None):
    """x with tensordot(a, x, x.ndim) = b."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if axes is not None:
        order = [i for i in range(a.ndim) if i not in axes] + list(axes)
        a = a.transpose(order)
    inner = [a.shape[i] for i in range(b.ndim, a.ndim)]
    size = b.size
    found = solve(a.reshape((size, size)), b.flatten())
    return found.reshape(inner, ndim=len(inner))


class TensorInv:
    """The op of `tensorinv`; a call makes a variable."""

    def __init__(self, ind=2):
        self.ind = ind

    def __call__(self, a):
        return tensorinv(a, self.ind)


class TensorSolve:
    """The op of `tensorsolve`; a call makes a variable."""

    def __init__(self, axes=None):
        self.axes = axes

    def __call__(self, a, b):
        return tensorsolve(a, b, self.axes)


def _eig(x):
    x = floats(x)
    return [_ops.cast(_ops.real(part), x.dtype) for part in _ops.eig(x)]


class Eig(KernelOp):
    """[eigenvalues, eigenvectors in columns] of a matrix: their real parts, as in Theano."""

    def __init__(self):
        KernelOp.__init__(self, _eig, "Eig")

    def make_node(self, x):
        return KernelOp.make_node(self, _matrix(x))


eig = Eig()


def _lstsq(x, y, rcond):
    """NumPy's four results; residuals are empty unless there are more equations than rank."""
    x = floats(x)
    found, left, rank = _ops.lstsq(x, floats(y), rcond)
    left = _ops.flatten(left) if left.ndim else _ops.expand(left, (0,))
    rows, columns = (
        _ops.cast(_ops.to_node(_ops.getitem(_ops.shape(x), k)), "int64") for k in (0, 1)
    )
    told = _ops.logical_and(_ops.eq(rank, columns), _ops.gt(rows, columns))
    count = _ops.mul(_ops.cast(told, "int64"), _ops.getitem(_ops.shape(left), 0))
    return [found, _ops.getitem(left, slice(None, count)), rank, _ops.svd(x, compute_uv=False)]


class lstsq(KernelOp):  # noqa: N801 (Theano's name)
    """lstsq()(x, y, rcond): [solution, residuals, rank, singular values] by least squares.

    rcond is a number, or a variable; below 0: the precision of the dtype.
    """

    def __init__(self, rcond=None):
        KernelOp.__init__(self, _lstsq, "lstsq", rcond=rcond)

    def make_node(self, x, y, rcond=-1):
        x, y, rcond = map(as_tensor_variable, (x, y, rcond))
        known = _ops.known_value(rcond.node) if rcond.ndim == 0 else None
        if known is None or x.ndim != 2:
            return ByNumPy(_numpy_lstsq, "lstsq", _lstsq_types).make_node(x, y, rcond)
        return KernelOp.make_node(lstsq(float(known)), x, y)


def _qr_types(a):
    return [TensorType(floats(a.node).dtype, (False, False))] * 2


def _raw_qr_types(a):
    dtype = floats(a.node).dtype
    return [TensorType(dtype, (False, False)), TensorType(dtype, (False,))]


def _lstsq_types(x, y, rcond):
    dtype = upcast(floats(x.node).dtype, floats(y.node).dtype)
    return [TensorType(dtype, (False,) * y.ndim), TensorType(dtype, (False,)),
            TensorType("int64", ()), TensorType(dtype, (False,))]  # fmt: skip


def _numpy_lstsq(x, y, rcond):
    if np.ndim(rcond):
        raise np.linalg.LinAlgError(f"rcond is one number, not an array of shape {rcond.shape}")
    wide = np.result_type(x, y, np.float32)
    found = np.linalg.lstsq(x.astype(wide), y.astype(wide), None if rcond < 0 else rcond)
    return [found[0], np.ravel(found[1]), np.int64(found[2]), found[3]]


class ByNumPy(Op):
    """A function of NumPy as an op without a gradient: `types(*inputs)` gives those of results."""

    __props__ = ("function", "name", "attrs")

    def __init__(self, function, name, types, **attrs):
        self.function, self.name, self.types = function, name, types
        self.attrs = tuple(sorted(attrs.items()))

    def __str__(self):
        return self.name

    def make_node(self, *inputs):
        return Apply(self, list(inputs), [t() for t in self.types(*inputs)])

    def perform(self, node, inputs, output_storage, params=None):
        found = self.function(*inputs, **dict(self.attrs))
        for cell, value, v in zip(output_storage, found, node.outputs):
            cell[0] = np.asarray(value, v.type.dtype)

    def grad(self, inputs, output_gradients):
        return [grad_not_implemented(self, k, x) for k, x in enumerate(inputs)]


ops = sys.modules[__name__]  # theano.sandbox.linalg, which this module is too, has them in `ops`

__getattr__ = _absent_of(
    "theano.tensor.nlinalg", {"tensor.slinalg": "Cholesky Solve cholesky eigvalsh"}
)
