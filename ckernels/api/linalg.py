"""Products of tensors and linear algebra."""

from .. import ops
from ..base.errors import ArgumentError
from .operands import node_of, operand
from .parted import Parted, as_parted
from .tensor import Tensor


def dot(x, y):
    """The dot product over the last axis of `x` and the last but one of `y` (or its only one).

    Parameters
    ----------
    x, y : tensor or array
        Of any shapes; (2, 3) . (4, 3, 5) gives (2, 4, 5), as in Theano and NumPy. Of matrices, one
        or both may be sparse.

    Returns
    -------
    Tensor
        Dense; of the dtype that both promote to.

    Raises
    ------
    ShapeError
        Where the axes differ in size, with the user's line.

    Examples
    --------
    >>> K.int_shape(K.dot(K.placeholder((None, 3)), K.zeros((3, 5))))
    (None, 5)
    >>> K.int_shape(K.dot(K.zeros((2, 3)), K.zeros((4, 3, 5))))
    (2, 4, 5)
    """
    x, y = as_parted(x), as_parted(y)
    if isinstance(x, Parted):
        return x.dot(y)
    if isinstance(y, Parted):
        return y.__rmatmul__(x)
    return Tensor(ops.dot(node_of(x), node_of(y)))


def matmul(x, y):
    """The matrix product, batched over leading axes that broadcast.

    Parameters
    ----------
    x, y : tensor or array
        (..., n, k) and (..., k, m); a vector counts as a matrix of one row on the left, of one
        column on the right.

    Returns
    -------
    Tensor
        (..., n, m), without the axes that vectors lack; of the dtype that both promote to.

    Raises
    ------
    ShapeError
        Where columns and rows differ in number, and for scalars.

    Examples
    --------
    >>> K.int_shape(K.matmul(K.zeros((7, 2, 3)), K.zeros((3, 4))))
    (7, 2, 4)
    """
    return Tensor(ops.matmul(node_of(x), node_of(y)))


def batch_dot(x, y, axes=None):
    """Dot products within each sample of a batch, over one axis of `x` and one of `y`.

    Parameters
    ----------
    x, y : tensor or array
        Of shapes (batch, ...), two dimensions at least.
    axes : int or pair of int, optional
        The two axes, or one for both, not 0; by default the last of `x` and the last but one of `y`
        (its last when it has two).

    Returns
    -------
    Tensor
        Of the shape of `x` less its axis, and of `y` less its axis and batch; one dimension becomes
        (batch, 1).

    Raises
    ------
    ShapeError
        Where the two axes differ in size, for axis 0, and for tensors of fewer than two dimensions.
    ArgumentError
        For other than one or two axes.

    Examples
    --------
    >>> K.int_shape(K.batch_dot(K.zeros((32, 20)), K.zeros((32, 30, 20)), axes=(1, 2)))
    (32, 30)
    """
    if isinstance(axes, (list, tuple)) and len(axes) != 2:
        raise ArgumentError(f"the axes of batch_dot are one int or a pair of ints, not {axes!r}")
    return Tensor(ops.batch_dot(node_of(x), node_of(y), axes))


def tensordot(x, y, axes=2):
    """The sum of products over pairs of axes, np.tensordot.

    Parameters
    ----------
    x, y : tensor or array
        Of any shapes; the axes of a pair have one size.
    axes : int or pair of lists of int, default 2
        How many, the last of `x` with the first of `y`; or a pair of lists of axes.

    Returns
    -------
    Tensor
        The other axes of x, then those of y.

    Raises
    ------
    ShapeError
        Where paired sizes differ, for an axis that does not exist, and for lists of unequal
        lengths.

    Examples
    --------
    >>> K.int_shape(K.tensordot(K.zeros((2, 3, 4)), K.zeros((4, 3)), axes=((1, 2), (1, 0))))
    (2,)
    """
    return Tensor(ops.tensordot(node_of(x), node_of(y), axes))


def outer(x, y):
    """The matrix x[i] * y[j].

    Parameters
    ----------
    x, y : tensor or array
        Vectors; what is no vector is flattened first.

    Returns
    -------
    Tensor
        (elements of x, elements of y), of the dtype that both promote to.

    Examples
    --------
    >>> K.outer(np.array([1, 2]), np.array([3, 4])).eval()
    array([[3, 4],
           [6, 8]])
    """
    return Tensor(ops.outer(node_of(x), node_of(y)))


def kron(x, y):
    """The Kronecker product: blocks x[i, j] * y.

    Parameters
    ----------
    x, y : tensor or array
        Of any shapes; the one of fewer dimensions gets leading axes of size 1.

    Returns
    -------
    Tensor
        Along each axis of the product of both sizes; of the dtype that both promote to.

    Examples
    --------
    >>> K.kron(np.array([[1, 2]]), np.array([[1], [1]])).eval()
    array([[1, 2],
           [1, 2]])
    """
    return Tensor(ops.kron(node_of(x), node_of(y)))


def diag(x):
    """The diagonal of a matrix, or the diagonal matrix of a vector.

    Parameters
    ----------
    x : tensor or array
        A matrix or a vector.

    Returns
    -------
    Tensor
        A vector or a matrix.

    Raises
    ------
    ShapeError
        For another number of dimensions.

    Examples
    --------
    >>> K.diag(np.array([1, 2])).eval()
    array([[1, 0],
           [0, 2]])
    """
    return Tensor(ops.diag(node_of(x)))


def fill_diagonal(x, val):
    """The matrix `x` with the scalar `val` on its diagonal.

    Parameters
    ----------
    x : tensor or array
        A matrix, or a tensor whose axes are all of one size.
    val : number or tensor
        A scalar.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`.

    Raises
    ------
    ShapeError
        For another shape of `x`.
    DTypeError
        Where `val` is no scalar, or of a dtype that does not fit that of `x`.

    Examples
    --------
    >>> K.fill_diagonal(np.ones((2, 2)), 5).eval()
    array([[5., 1.],
           [1., 5.]])
    """
    return Tensor(ops.fill_diagonal(node_of(x), operand(val)))


def svd(x, full_matrices=False, compute_uv=True):
    """(U, S, V) with x = U . diag(S) . V, as NumPy: reduced, singular values falling.

    Parameters
    ----------
    x : tensor or array
        (..., m, n); integers become floats.
    full_matrices : bool, default False
        Square U and V.
    compute_uv : bool, default True
        False: S alone.

    Returns
    -------
    U : Tensor
        (..., m, k), where k is the smaller of m and n.
    S : Tensor
        (..., k).
    V : Tensor
        (..., k, n).

    Raises
    ------
    ShapeError
        For what is no matrix.

    Notes
    -----
    A cost that is a function of `x` itself, whichever signs and bases of equal values are found,
    has its gradient at equal values too; second derivatives need different ones.

    Examples
    --------
    >>> u, s, v = K.svd(np.diag([3.0, 4.0]))
    >>> s.eval()
    array([4., 3.])
    """
    found = ops.svd(node_of(x), full_matrices, compute_uv)
    return tuple(Tensor(n) for n in found) if compute_uv else Tensor(found)


def solve(a, b, assume_a="gen", lower=False, trans=False):
    """The x with a . x = b.

    Parameters
    ----------
    a : tensor or array
        (..., n, n); integers become floats.
    b : tensor or array
        A vector (n,) or matrices (..., n, k).
    assume_a : {"gen", "sym", "pos"}, default "gen"
        "gen" (nothing), "sym" (symmetric), "pos" (positive definite, by Cholesky); of the last two
        only the upper triangle is read.
    lower : bool, default False
        Read the lower triangle instead.
    trans : bool, default False
        Solve with the transpose of `a`.

    Returns
    -------
    Tensor
        Of the shape of b, with the batch axes of `a` before it.

    Raises
    ------
    ShapeError
        For matrices that are not square, and where `b` does not fit.
    LinAlgError
        Where `a` is singular, or not positive definite as said.
    ArgumentError
        For an `assume_a` that does not exist.

    Examples
    --------
    >>> K.solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0])).eval()
    array([1. , 0.5])
    >>> K.solve(np.array([[4.0, 2.0], [9.0, 5.0]]), np.array([6.0, 7.0]), assume_a="pos").eval()
    array([1., 1.])
    """
    return Tensor(ops.solve_structured(node_of(a), node_of(b), assume_a, lower, trans))


def inverse(x):
    """The inverse of square matrices.

    Parameters
    ----------
    x : tensor or array
        (..., n, n).

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Raises
    ------
    ShapeError
        Where the matrices are not square.
    LinAlgError
        In a call, NumPy's, where one is singular.

    Examples
    --------
    >>> K.inverse(np.array([[2.0, 0.0], [0.0, 4.0]])).eval()
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return Tensor(ops.inverse(node_of(x)))


def det(x):
    """The determinant of square matrices.

    Parameters
    ----------
    x : tensor or array
        (..., n, n); integers are computed in float64.

    Returns
    -------
    Tensor
        Of the shape of `x` without its last two axes.

    Raises
    ------
    ShapeError
        Where the matrices are not square.

    Examples
    --------
    >>> K.det(np.array([[2.0, 0.0], [0.0, 4.0]])).eval()
    array(8.)
    """
    return Tensor(ops.det(node_of(x)))
