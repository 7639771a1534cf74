"""Decompositions of matrices and what is computed by them; axes before the last two are a batch.

All of them run in LAPACK through NumPy; gradients are graphs and compiled.
"""

from .. import ops
from ..base import given
from .operands import node_of
from .tensor import Tensor


def cholesky(x):
    """The lower triangular L with L . L^T = x.

    Parameters
    ----------
    x : tensor or array
        (..., n, n), symmetric and positive definite; integers are computed in float64.

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Raises
    ------
    ShapeError
        Where the matrices are not square.
    LinAlgError
        In a call, NumPy's, where one is not positive definite.

    Examples
    --------
    >>> K.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).eval()
    array([[2., 0.],
           [1., 2.]])
    """
    return Tensor(ops.cholesky(node_of(x)))


def qr(x, mode="reduced"):
    """(q, r) with x = q . r, q with orthonormal columns and r upper triangular.

    Parameters
    ----------
    x : tensor or array
        (..., m, n); integers become floats.
    mode : {"reduced", "complete", "r"}, default "reduced"
        "complete" for a square q, which has no gradient; "r" for r alone.

    Returns
    -------
    q : Tensor
        (..., m, k), where k is the smaller of m and n; m of "complete".
    r : Tensor
        (..., k, n).

    Raises
    ------
    ShapeError
        For what is no matrix.
    ArgumentError
        For a mode that does not exist.

    Notes
    -----
    The gradient needs at least as many rows as columns.

    Examples
    --------
    >>> q, r = K.qr(np.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> abs(r.eval()).round(3)
    array([[5. , 2.2],
           [0. , 0.4]])
    """
    return _handles(ops.qr(node_of(x), mode))


def eigh(x, lower=True):
    """(w, v): rising eigenvalues and orthonormal eigenvectors of symmetric matrices.

    Parameters
    ----------
    x : tensor or array
        (..., n, n), symmetric. Only one triangle is read.
    lower : bool, default True
        Whether that is the lower one.

    Returns
    -------
    w : Tensor
        (..., n).
    v : Tensor
        (..., n, n); the eigenvectors are the columns.

    Raises
    ------
    ShapeError
        Where the matrices are not square.

    Notes
    -----
    A cost that is a function of `x` itself, whichever signs and bases of equal eigenvalues are
    found, has its gradient at equal eigenvalues too; second derivatives need different ones (they
    are NaN there).

    Examples
    --------
    >>> w, v = K.eigh(np.array([[2.0, 0.0], [1.0, 2.0]]))
    >>> w.eval()
    array([1., 3.])
    """
    return _handles(ops.eigh(_lower(x, lower)))


def eigvalsh(x, b=None, lower=True):
    """The rising eigenvalues w of symmetric matrices, or of the pair: x . v = w b . v.

    Parameters
    ----------
    x : tensor or array
        (..., n, n), symmetric.
    b : tensor or array, optional
        (..., n, n), symmetric and positive definite; the identity by default.
    lower : bool, default True
        Only one triangle of each is read: the lower or the upper one.

    Returns
    -------
    Tensor
        (..., n).

    Raises
    ------
    ShapeError
        Where the matrices are not square.
    LinAlgError
        In a call, NumPy's, where `b` is not positive definite.

    Examples
    --------
    >>> K.eigvalsh(np.array([[2.0, 0.0], [1.0, 2.0]])).eval()
    array([1., 3.])
    >>> K.eigvalsh(np.eye(2) * 4.0, np.eye(2) * 2.0).eval()
    array([2., 2.])
    """
    x = _lower(x, lower)
    if b is not None:
        half = ops.cholesky(ops.mirrored(_lower(b, lower), True))
        x = ops.solve_triangular(half, ops.mirrored(x, True), True)
        x = ops.solve_triangular(half, ops.swapaxes(x, -1, -2), True)
    return Tensor(ops.eigvalsh(x))


def eig(x):
    """(w, v): eigenvalues, in no order, and eigenvectors of square matrices.

    Parameters
    ----------
    x : tensor or array
        (..., n, n); integers are computed in float64.

    Returns
    -------
    w : Tensor
        (..., n), complex, also where all are real.
    v : Tensor
        (..., n, n), complex; the eigenvectors are the columns.

    Raises
    ------
    ShapeError
        Where the matrices are not square.
    LinearAlgebraError
        In a call, where an element is NaN or inf.

    Notes
    -----
    Neither has a gradient (that of symmetric matrices, `eigh`, has one).

    Examples
    --------
    >>> w, v = K.eig(np.array([[0.0, 1.0], [-1.0, 0.0]]))
    >>> K.imag(w).eval()
    array([ 1., -1.])
    """
    return _handles(ops.eig(node_of(x)))


def pinv(x):
    """The Moore-Penrose inverse.

    Parameters
    ----------
    x : tensor or array
        (..., m, n); integers become floats.

    Returns
    -------
    Tensor
        (..., n, m).

    Raises
    ------
    ShapeError
        For what is no matrix.

    Notes
    -----
    Its gradient takes the rank as constant.

    Examples
    --------
    >>> K.pinv(np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 4.0]])).eval()
    array([[0.5 , 0.  , 0.  ],
           [0.  , 0.  , 0.25]])
    """
    return Tensor(ops.pinv(node_of(x)))


# --- systems of equations ---------------------------------------------------------------------


def solve_triangular(a, b, lower=False, trans=False, unit_diagonal=False):
    """The x with a . x = b, where only one triangle of `a` is read.

    Parameters
    ----------
    a : tensor or array
        (..., n, n).
    b : tensor or array
        A vector or matrices.
    lower : bool, default False
        Read the lower triangle, not the upper one.
    trans : bool, default False
        Solve with the transpose of `a`.
    unit_diagonal : bool, default False
        The diagonal counts as ones.

    Returns
    -------
    Tensor
        Of the shape of b.

    Raises
    ------
    ShapeError
        For matrices that are not square, and where `b` does not fit.
    LinAlgError
        Where an element of the diagonal is 0.

    Examples
    --------
    >>> a = np.array([[2.0, 9.0], [1.0, 4.0]])
    >>> K.solve_triangular(a, np.array([2.0, 5.0]), lower=True).eval()
    array([1., 1.])
    """
    return Tensor(ops.solve_triangular(node_of(a), node_of(b), lower, trans, unit_diagonal))


def cho_solve(c, b, lower=True):
    """The x with a . x = b, given the Cholesky factor `c` of a: a = c . c^T (lower) or c^T . c.

    Parameters
    ----------
    c : tensor or array
        (..., n, n), as from `cholesky`.
    b : tensor or array
        (n,), or (..., n, k).
    lower : bool, default True
        Whether `c` is the lower triangle.

    Returns
    -------
    Tensor
        Of the shape of `b`.

    Raises
    ------
    ShapeError
        Where `c` and `b` do not fit together.

    Examples
    --------
    >>> c = K.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> K.cho_solve(c, np.array([6.0, 7.0])).eval()
    array([1., 1.])
    """
    return Tensor(ops.cho_solve(node_of(c), node_of(b), lower))


def lstsq(a, b, rcond=None):
    """The x with the least |a . x - b|, of these the shortest.

    Parameters
    ----------
    a : tensor or array
        A matrix (m, n).
    b : tensor or array
        A vector (m,) or a matrix (m, k).
    rcond : float, optional
        Singular values below this part of the largest count as 0.

    Returns
    -------
    x : Tensor
        (n,) or (n, k).
    residuals : Tensor
        The sum of squares that is left for each column of `b`.
    rank : Tensor
        The rank of `a`, int64.

    Raises
    ------
    ShapeError
        Where `a` is no matrix, or has another number of rows than `b`.

    Notes
    -----
    The gradient takes the rank as constant.

    Examples
    --------
    >>> x, left, rank = K.lstsq(np.array([[1.0], [1.0]]), np.array([1.0, 3.0]))
    >>> x.eval(), left.eval(), rank.eval()
    (array([2.]), array(2.), array(1))
    """
    return _handles(ops.lstsq(node_of(a), node_of(b), rcond))


def tensorsolve(a, b, axes=None):
    """The x with tensordot(a, x, x.ndim) = b.

    Parameters
    ----------
    a : tensor or array
        The axes of `b`, then those of x, with as many elements.
    b : tensor or array
        The right side.
    axes : tuple of int, optional
        Axes of `a` that are moved to its end first.

    Returns
    -------
    Tensor
        The x.

    Raises
    ------
    ShapeError
        Where equations and unknowns differ in number.
    LinAlgError
        Where the map is singular.

    Examples
    --------
    >>> K.int_shape(K.tensorsolve(np.eye(6).reshape(2, 3, 3, 2), np.ones((2, 3))))
    (3, 2)
    """
    return Tensor(ops.tensorsolve(node_of(a), node_of(b), axes))


def tensorinv(x, ind=2):
    """The inverse of `x` as a linear map from its last axes to its first `ind`.

    Parameters
    ----------
    x : tensor or array
        Both groups of axes have as many elements.
    ind : int, default 2
        At least 1, and less than the number of dimensions.

    Returns
    -------
    Tensor
        The last axes of x, then its first `ind`.

    Raises
    ------
    ArgumentError
        For an `ind` out of these bounds.
    ShapeError
        Where the groups do not have as many elements.
    LinAlgError
        Where the map is singular.

    Examples
    --------
    >>> K.int_shape(K.tensorinv(np.eye(6).reshape(6, 3, 2), ind=1))
    (3, 2, 6)
    """
    return Tensor(ops.tensorinv(node_of(x), ind))


# --- functions of matrices --------------------------------------------------------------------


def expm(x):
    """The exponential of square matrices.

    Parameters
    ----------
    x : tensor or array
        (..., n, n); integers are computed in float64.

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Raises
    ------
    ShapeError
        Where the matrices are not square.

    Notes
    -----
    It is the sum of x^k / k! over k = 0, 1, ...: products of matrices, not of elements.

    Examples
    --------
    >>> K.expm(np.array([[0.0, 1.0], [0.0, 0.0]])).eval()
    array([[1., 1.],
           [0., 1.]])
    """
    return Tensor(ops.expm(node_of(x)))


def slogdet(x):
    """(sign, log(|det|)) of square matrices, without overflow.

    Parameters
    ----------
    x : tensor or array
        (..., n, n).

    Returns
    -------
    sign : Tensor
        (...), -1, 0 or 1.
    log : Tensor
        (...), the logarithm of the determinant without its sign.

    Raises
    ------
    ShapeError
        For matrices that are not square.

    Examples
    --------
    >>> sign, log = K.slogdet(np.diag([-1e200, 1e200]))
    >>> sign.eval(), log.eval().round(3)
    (array(-1.), np.float64(921.034))
    """
    return _handles(ops.slogdet(node_of(x)))


def matrix_power(x, n):
    """The product of `n` factors `x`.

    Parameters
    ----------
    x : tensor or array
        (..., k, k), square matrices.
    n : int
        0 gives the identity, a negative one the product of -n inverses.

    Returns
    -------
    Tensor
        Of the shape of x.

    Raises
    ------
    ShapeError
        For matrices that are not square.
    ArgumentError
        Where `n` is no int.
    LinAlgError
        For a negative `n` where a matrix is singular.

    Examples
    --------
    >>> K.matrix_power(np.array([[1, 1], [0, 1]]), 3).eval()
    array([[1, 3],
           [0, 1]])
    """
    return Tensor(ops.matrix_power(node_of(x), n))


def matrix_dot(*factors):
    """The matrix product of all `factors`, from the left.

    Parameters
    ----------
    *factors : tensor or array
        Matrices whose columns and rows fit.

    Returns
    -------
    Tensor
        As many rows as the first has, as many columns as the last.

    Raises
    ------
    ArgumentError
        For no factor at all.
    ShapeError
        Where columns and rows differ in number.

    Examples
    --------
    >>> K.int_shape(K.matrix_dot(K.zeros((2, 3)), K.zeros((3, 4)), K.zeros((4, 5))))
    (2, 5)
    """
    return Tensor(ops.matrix_dot(*map(node_of, factors)))


def _handles(nodes):
    return tuple(map(Tensor, nodes)) if isinstance(nodes, tuple) else Tensor(nodes)


def _lower(x, lower):
    """`x` so that the triangle to read is the lower one."""
    return node_of(x) if given.flag(lower, "lower") else ops.swapaxes(node_of(x), -1, -2)
