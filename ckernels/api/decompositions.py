"""Decompositions of matrices and what is computed by them; axes before the last two are a batch.

All of them run in LAPACK through NumPy; gradients are graphs and compiled.
"""

from .. import ops
from .operands import node_of
from .tensor import Tensor


def cholesky(x):
    """The lower triangular L with L . L^T = x, for symmetric positive definite `x`.

    >>> K.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).eval()
    array([[2., 0.],
           [1., 2.]])
    """
    return Tensor(ops.cholesky(node_of(x)))


def qr(x):
    """(q, r) with x = q . r, q with orthonormal columns and r upper triangular (reduced).

    The gradient needs at least as many rows as columns.

    >>> q, r = K.qr(np.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> abs(r.eval()).round(3)
    array([[5. , 2.2],
           [0. , 0.4]])
    """
    return tuple(Tensor(n) for n in ops.qr(node_of(x)))


def eigh(x):
    """(w, v): rising eigenvalues and orthonormal eigenvectors (columns) of symmetric matrices.

    Only the lower triangle is read. The gradient needs distinct eigenvalues.

    >>> w, v = K.eigh(np.array([[2.0, 0.0], [1.0, 2.0]]))
    >>> w.eval()
    array([1., 3.])
    """
    return tuple(Tensor(n) for n in ops.eigh(node_of(x)))


def pinv(x):
    """The Moore-Penrose inverse; its gradient is that at constant rank.

    >>> K.pinv(np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 4.0]])).eval()
    array([[0.5 , 0.  , 0.  ],
           [0.  , 0.  , 0.25]])
    """
    return Tensor(ops.pinv(node_of(x)))
