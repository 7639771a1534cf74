"""Triangles and diagonals of matrices, covariances, windows."""

from .. import ops
from ..base import dtypes
from .config import floatx
from .operands import node_of, operand
from .tensor import Tensor


def tril(x, k=0):
    """The lower triangle of matrices, up to diagonal `k`; the rest is zero.

    Parameters
    ----------
    x : tensor or array
        (..., n, m).
    k : int, default 0
        Which diagonal; above the main one if positive.

    Returns
    -------
    Tensor
        Of the shape of x.

    Raises
    ------
    ShapeError
        For fewer than two dimensions.

    Examples
    --------
    >>> K.tril(np.ones((2, 3))).eval()
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    return Tensor(ops.tril(node_of(x), k))


def triu(x, k=0):
    """The upper triangle of matrices, from diagonal `k` on; the rest is zero.

    Parameters
    ----------
    x : tensor or array
        (..., n, m).
    k : int, default 0
        Which diagonal; above the main one if positive.

    Returns
    -------
    Tensor
        Of the shape of x.

    Raises
    ------
    ShapeError
        For fewer than two dimensions.

    Examples
    --------
    >>> K.triu(np.ones((2, 3))).eval()
    array([[1., 1., 1.],
           [0., 1., 1.]])
    """
    return Tensor(ops.triu(node_of(x), k))


def tri(n, m=None, k=0, dtype=None):
    """The n x m matrix with ones up to diagonal `k` and zeros above it.

    Parameters
    ----------
    n : int or Tensor
        A scalar, how many rows.
    m : int or Tensor, optional
        How many columns; n by default.
    k : int, default 0
        Which diagonal; above the main one if positive.
    dtype : str, optional
        floatx() by default.

    Returns
    -------
    Tensor
        (n, m).

    Raises
    ------
    DTypeError
        For a dtype that does not exist.

    Examples
    --------
    >>> K.tri(2, 3, dtype="int32").eval()
    array([[1, 0, 0],
           [1, 1, 0]], dtype=int32)
    """
    n, m = (getattr(v, "node", v) for v in (n, n if m is None else m))
    rows, columns = ops.arange(0, n, 1, "int64"), ops.arange(0, m, 1, "int64")
    below = ops.ge(ops.expand(ops.add(rows, k), (1,)), ops.expand(columns, (0,)))
    return Tensor(ops.cast(below, dtypes.name_of(floatx() if dtype is None else dtype)))


def diagonal(x, offset=0, axis1=0, axis2=1):
    """The elements with index (i, i + offset) in two axes, as a last axis in their place.

    Parameters
    ----------
    x : tensor or array
        Of at least two dimensions.
    offset : int, default 0
        Above the main diagonal; negative: below.
    axis1, axis2 : int, default 0 and 1
        The two axes, which are different.

    Returns
    -------
    Tensor
        Of the shape of `x` without them, and the length of the diagonal at the end.

    Raises
    ------
    ShapeError
        For fewer than two dimensions, and where both axes are the same.

    Examples
    --------
    >>> K.diagonal(np.array([[1, 2], [3, 4]]), 1).eval()
    array([2])
    """
    return Tensor(ops.diagonal(node_of(x), offset, axis1, axis2))


def trace(x, offset=0, axis1=0, axis2=1):
    """The sum of the diagonal over two axes.

    Parameters
    ----------
    x : tensor or array
        Of at least two dimensions.
    offset : int, default 0
        Which diagonal; above the main one if positive.
    axis1, axis2 : int, default 0 and 1
        The two axes, which go.

    Returns
    -------
    Tensor
        Of the other axes; of narrow integers int64, as in NumPy.

    Raises
    ------
    ShapeError
        For fewer than two dimensions, an axis that does not exist, and one axis twice.

    Examples
    --------
    >>> K.trace(np.array([[1, 2], [3, 4]])).eval()
    array(5)
    """
    return Tensor(ops.trace(node_of(x), offset, axis1, axis2))


def fill_diagonal_offset(x, val, offset):
    """The matrix `x` with the scalar `val` on the diagonal of the elements (i, i + offset).

    Parameters
    ----------
    x : tensor or array
        A matrix.
    val : number or tensor
        A scalar.
    offset : int
        Above the main diagonal; negative: below.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`; equal to `x` where there is no such element.

    Raises
    ------
    ShapeError
        Where `x` is no matrix.
    DTypeError
        Where `val` is no scalar, or of a dtype that does not fit that of `x`.

    Examples
    --------
    >>> K.fill_diagonal_offset(np.zeros((2, 2)), 5, 1).eval()
    array([[0., 5.],
           [0., 0.]])
    """
    return Tensor(ops.fill_diagonal(node_of(x), operand(val), offset))


def cov(x, y=None, rowvar=True, bias=False, ddof=None):
    """The covariances of the rows of `x`; of a vector its variance.

    Parameters
    ----------
    x : tensor or array
        A matrix (variables, observations) or a vector of observations.
    y : tensor or array, optional
        More rows, of as many observations.
    rowvar : bool, default True
        False: the variables are the columns.
    bias : bool, default False
        True: `ddof` is 0 unless given.
    ddof : int, optional
        The sums are divided by the number of observations less this, 1 by default.

    Returns
    -------
    Tensor
        (variables, variables), a scalar of a vector.

    Raises
    ------
    ShapeError
        For more than two dimensions, and where `y` has other observations.

    Examples
    --------
    >>> K.cov(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).eval()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return Tensor(ops.cov(node_of(x), None if y is None else node_of(y), rowvar, bias, ddof))


def bartlett(n, dtype=None):
    """Bartlett's window of `n` points: it rises from 0 to 1 and falls.

    Parameters
    ----------
    n : int or Tensor
        An integer scalar: how many points; below 1 there are none.
    dtype : str, optional
        floatx() by default.

    Returns
    -------
    Tensor
        A vector of `n` elements.

    Raises
    ------
    DTypeError
        Where `n` is no integer.

    Notes
    -----
    Element k is 1 - |2 k / (n - 1) - 1|, as in numpy.bartlett.

    Examples
    --------
    >>> K.bartlett(5).eval()
    array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return Tensor(ops.bartlett(getattr(n, "node", n), dtype))
