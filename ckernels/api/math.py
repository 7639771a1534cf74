"""Elementwise functions, comparisons and reductions."""

from .. import ops
from ..base import dtypes, given
from ..graph.shapes import axis_of
from .config import floatx
from .elementwise import binary as _binary
from .elementwise import examples
from .elementwise import pair as _pair
from .elementwise import unary as _unary
from .operands import clipped, node_of
from .tensor import Tensor

square = _unary(ops.square, "square", "x * x.", "[-2.0, 3.0]", "[4.0, 9.0]")
abs = _unary(ops.abs, "abs", "Absolute value.", "[-2.0, 3.0]", "[2.0, 3.0]")
exp = _unary(ops.exp, "exp", "e ** x.", "[0.0, 1.0]", "[1.0, 2.718]")
log = _unary(ops.log, "log", "Natural logarithm.", "[1.0, 10.0]", "[0.0, 2.303]")
round = _unary(
    ops.round,
    "round",
    "The nearest integer, as a float; halves go to the even one.",
    "[0.5, 1.5, -2.6]",
    "[0.0, 2.0, -3.0]",
)
sign = _unary(ops.sign, "sign", "-1, 0 or 1.", "[-2.0, 0.0, 5.0]", "[-1.0, 0.0, 1.0]")
sin = _unary(ops.sin, "sin", "Sine.", "[0.0, 1.0]", "[0.0, 0.841]")
cos = _unary(ops.cos, "cos", "Cosine.", "[0.0, 1.0]", "[1.0, 0.54]")
tan = _unary(ops.tan, "tan", "Tangent.", "[0.0, 1.0]", "[0.0, 1.557]")
arcsin = _unary(ops.asin, "arcsin", "Inverse sine.", "[0.0, 1.0]", "[0.0, 1.571]")
arccos = _unary(ops.acos, "arccos", "Inverse cosine.", "[0.0, 1.0]", "[1.571, 0.0]")
arctan = _unary(ops.atan, "arctan", "Inverse tangent.", "[0.0, 1.0]", "[0.0, 0.785]")
sinh = _unary(ops.sinh, "sinh", "Hyperbolic sine.", "[0.0, 1.0]", "[0.0, 1.175]")
cosh = _unary(ops.cosh, "cosh", "Hyperbolic cosine.", "[0.0, 1.0]", "[1.0, 1.543]")
exp2 = _unary(ops.exp2, "exp2", "2 ** x.", "[0.0, 3.0]", "[1.0, 8.0]")
expm1 = _unary(ops.expm1, "expm1", "exp(x) - 1, exact near 0.", "[0.0, 1.0]", "[0.0, 1.718]")
log2 = _unary(ops.log2, "log2", "Logarithm to base 2.", "[1.0, 8.0]", "[0.0, 3.0]")
log10 = _unary(ops.log10, "log10", "Logarithm to base 10.", "[1.0, 100.0]", "[0.0, 2.0]")
log1p = _unary(ops.log1p, "log1p", "log(1 + x), exact near 0.", "[0.0, 1.0]", "[0.0, 0.693]")
erf = _unary(ops.erf, "erf", "The error function.", "[0.0, 1.0]", "[0.0, 0.843]")
erfc = _unary(ops.erfc, "erfc", "1 - erf(x), exact for large x.", "[0.0, 1.0]", "[1.0, 0.157]")
floor = _unary(ops.floor, "floor", "The largest integer <= x.", "[-1.5, 1.5]", "[-2.0, 1.0]")
ceil = _unary(ops.ceil, "ceil", "The smallest integer >= x.", "[-1.5, 1.5]", "[-1.0, 2.0]")
isnan = _unary(ops.isnan, "isnan", "Whether x is NaN.", "[0.0, np.nan]", "[False, True]")
isinf = _unary(ops.isinf, "isinf", "Whether x is infinite.", "[0.0, np.inf]", "[False, True]")
rsqrt = _unary(ops.rsqrt, "rsqrt", "1 / sqrt(x).", "[1.0, 4.0]", "[1.0, 0.5]")
logical_not = _unary(
    ops.logical_not, "logical_not", "Whether x is zero.", "[0.0, 2.0]", "[True, False]"
)

equal = _binary(
    ops.eq, "equal", "x == y, a bool tensor.", "[1.0, 2.0, 3.0]", "2.0", "[False, True, False]"
)
not_equal = _binary(
    ops.ne, "not_equal", "x != y, a bool tensor.", "[1.0, 2.0, 3.0]", "2.0", "[True, False, True]"
)
greater = _binary(
    ops.gt, "greater", "x > y, a bool tensor.", "[1.0, 2.0, 3.0]", "2.0", "[False, False, True]"
)
greater_equal = _binary(
    ops.ge,
    "greater_equal",
    "x >= y, a bool tensor.",
    "[1.0, 2.0, 3.0]",
    "2.0",
    "[False, True, True]",
)
less = _binary(
    ops.lt, "less", "x < y, a bool tensor.", "[1.0, 2.0, 3.0]", "2.0", "[True, False, False]"
)
less_equal = _binary(
    ops.le, "less_equal", "x <= y, a bool tensor.", "[1.0, 2.0, 3.0]", "2.0", "[True, True, False]"
)
maximum = _binary(
    ops.maximum,
    "maximum",
    "The larger of x and y; NaN where either is.",
    "[1.0, 2.0, 3.0]",
    "2.0",
    "[2.0, 2.0, 3.0]",
)
minimum = _binary(
    ops.minimum,
    "minimum",
    "The smaller of x and y; NaN where either is.",
    "[1.0, 2.0, 3.0]",
    "2.0",
    "[1.0, 2.0, 2.0]",
)
logical_and = _binary(
    ops.logical_and,
    "logical_and",
    "Whether both are non-zero.",
    "[0.0, 1.0, 2.0]",
    "[0.0, 0.0, 1.0]",
    "[False, False, True]",
)
logical_or = _binary(
    ops.logical_or,
    "logical_or",
    "Whether one is non-zero.",
    "[0.0, 1.0, 2.0]",
    "[0.0, 0.0, 1.0]",
    "[False, True, True]",
)


def sqrt(x):
    """Square root of `x`, with negative values clipped to 0 first (as Keras does).

    Parameters
    ----------
    x : tensor or array
        Of any shape; integers become floats as in NumPy.

    Returns
    -------
    Tensor
        Of the shape of x.

    Examples
    --------
    >>> K.sqrt(np.array([-1.0, 4.0])).eval()
    array([0., 2.])
    """
    x = node_of(x)
    return Tensor(ops.sqrt(x if dtypes.is_complex(x.dtype) else ops.maximum(x, 0)))


def pow(x, a):
    """x ** a.

    Parameters
    ----------
    x, a : tensor, array or number
        Of shapes that broadcast.

    Returns
    -------
    Tensor
        Of the shape that both broadcast to.

    Examples
    --------
    >>> K.pow(np.array([2.0, 3.0]), 2).eval()
    array([4., 9.])
    """
    return Tensor(ops.pow(*_pair(x, a)))


def clip(x, min_value, max_value):
    """`x` limited to [min_value, max_value].

    Parameters
    ----------
    x : tensor, array or number
        Of any shape.
    min_value, max_value : tensor, array, number or None
        The limits, which broadcast with `x`; None is no limit.

    Returns
    -------
    Tensor
        Of the shape that all broadcast to.

    Raises
    ------
    ShapeError
        Where the shapes do not broadcast.

    Notes
    -----
    An upper limit below the lower one is raised to it (Keras).

    Examples
    --------
    >>> K.clip(np.array([-2.0, 0.5, 2.0]), -1, 1).eval()
    array([-1. ,  0.5,  1. ])
    """
    return Tensor(clipped(x, min_value, max_value))


def where(condition, x, y):
    """Elements of `x` where `condition`, else of `y`.

    Parameters
    ----------
    condition : tensor or array
        Not 0 is true.
    x, y : tensor, array or number
        Of shapes that broadcast with that of `condition`.

    Returns
    -------
    Tensor
        Of the shape that all broadcast to, and the dtype that x and y promote to.

    Examples
    --------
    >>> K.where(np.array([True, False]), np.array([1, 2]), 0).eval()
    array([1, 0])
    """
    condition = node_of(condition)
    if condition.dtype != "bool":
        condition = ops.ne(condition, 0)
    return Tensor(ops.where(condition, *_pair(x, y)))


def allclose(x, y, rtol=1e-05, atol=1e-08):
    """Whether all elements satisfy |x - y| <= atol + rtol * |y|.

    Parameters
    ----------
    x, y : tensor, array or number
        Of shapes that broadcast.
    rtol, atol : number, default 1e-05 and 1e-08
        The relative and the absolute tolerance.

    Returns
    -------
    Tensor
        A bool scalar.

    Raises
    ------
    ShapeError
        Where the shapes do not broadcast.

    Notes
    -----
    The formula is that of numpy.allclose.

    Examples
    --------
    >>> K.allclose(np.array([1.0]), np.array([1.0 + 1e-9])).eval()
    array(True)
    """
    return Tensor(ops.all(ops.isclose(*_pair(x, y), rtol, atol)))


REDUCTION = """{doc}

    Parameters
    ----------
    x : tensor or array
        Of any shape.
    axis : int or list of int, optional
        The axes that go; None: all.
    keepdims : bool, default False
        Whether they stay, with size 1.

    Returns
    -------
    Tensor
        Of the shape of x without these axes.

    Raises
    ------
    ShapeError
        For an axis that does not exist.

    Examples
    --------
    >>> K.{name}(np.array([[1.0, 2.0], [3.0, 0.0]]), axis=1).eval().round(3).tolist()
    {gives}
    """


def _reduction(build, name, doc, gives, prepare=node_of, finish=None):
    def function(x, axis=None, keepdims=False):
        y = build(prepare(x), axis, keepdims)
        return Tensor(finish(y) if finish else y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = REDUCTION.format(doc=doc, name=name, gives=gives)
    return function


def _measurable(x):
    """`x` as a node; bools as floatx, so that the mean of a comparison is an accuracy."""
    x = node_of(x)
    return ops.cast(x, floatx()) if x.dtype == "bool" else x


def _uint8(x):
    return ops.cast(x, "uint8")


sum = _reduction(
    ops.sum, "sum", "Sum over axes; small ints and bools are summed in 64 bits.", "[3.0, 3.0]"
)
prod = _reduction(ops.prod, "prod", "Product over axes, of ints in 64 bits.", "[2.0, 0.0]")
max = _reduction(ops.max, "max", "Largest element; NaN if there is one.", "[2.0, 3.0]")
min = _reduction(ops.min, "min", "Smallest element; NaN if there is one.", "[1.0, 0.0]")
mean = _reduction(
    ops.mean, "mean", "Mean over axes; that of bools is in floatx().", "[1.5, 1.5]", _measurable
)
var = _reduction(
    ops.var, "var", "Variance over axes (divided by the count).", "[0.25, 2.25]", _measurable
)
std = _reduction(
    lambda x, axis, keepdims: ops.sqrt(ops.var(x, axis, keepdims)),
    "std",
    "Standard deviation over axes (divided by the count).",
    "[0.5, 1.5]",
    _measurable,
)
any = _reduction(
    ops.any, "any", "Whether one element is non-zero: 0 or 1, uint8.", "[1, 1]", finish=_uint8
)
all = _reduction(
    ops.all, "all", "Whether all elements are non-zero: 0 or 1, uint8.", "[1, 0]", finish=_uint8
)
logsumexp = _reduction(
    ops.logsumexp,
    "logsumexp",
    "log(sum(exp(x))) without overflow; -inf if all elements are.",
    "[2.313, 3.049]",
)


def argmax(x, axis=-1):
    """Index of the first largest element along `axis`.

    Parameters
    ----------
    x : tensor or array
        Of any shape.
    axis : int, default -1
        Along which is looked.

    Returns
    -------
    Tensor
        Of dtype int64 and the shape of x without that axis.

    Examples
    --------
    >>> K.argmax(np.array([[1, 3, 2], [6, 5, 4]])).eval()
    array([1, 0])
    """
    return Tensor(ops.argmax(node_of(x), axis))


def argmin(x, axis=-1):
    """Index of the first smallest element along `axis`.

    Parameters
    ----------
    x : tensor or array
        Of any shape.
    axis : int, default -1
        Along which is looked.

    Returns
    -------
    Tensor
        Of dtype int64 and the shape of x without that axis.

    Examples
    --------
    >>> K.argmin(np.array([[1, 3, 2], [6, 5, 4]]), axis=0).eval()
    array([0, 0, 0])
    """
    return Tensor(ops.argmin(node_of(x), axis))


def cumsum(x, axis=0):
    """Running sum along `axis`.

    Parameters
    ----------
    x : tensor or array
        Of at least one dimension.
    axis : int, default 0
        Along which to add; None: `x` is flattened first.

    Returns
    -------
    Tensor
        Of the shape of `x`; bool and narrow integers become int64, unsigned ones uint64.

    Raises
    ------
    ShapeError
        For an axis that does not exist.

    Examples
    --------
    >>> K.cumsum(np.array([1, 2, 3])).eval()
    array([1, 3, 6])
    """
    return Tensor(ops.cumsum(node_of(x), axis))


def cumprod(x, axis=0):
    """Running product along `axis`.

    Parameters
    ----------
    x : tensor or array
        Of at least one dimension.
    axis : int, default 0
        Along which to multiply; None: `x` is flattened first.

    Returns
    -------
    Tensor
        Of the shape of `x`; bool and narrow integers become int64, unsigned ones uint64.

    Raises
    ------
    ShapeError
        For an axis that does not exist.

    Examples
    --------
    >>> K.cumprod(np.array([1, 2, 3])).eval()
    array([1, 2, 6])
    """
    return Tensor(ops.cumprod(node_of(x), axis))


def logdiffexp(x, axis=None, keepdims=False):
    """log(exp(x[1]) - exp(x[0])) along `axis` without overflow: the logarithm of the difference of
    two.

    Parameters
    ----------
    x : tensor or array
        Of at least one dimension.
    axis : int, optional
        It must hold two elements; with n > 2 known elements the n - 1 differences of neighbours
        stay as an axis. None takes the elements of `x` in order.
    keepdims : bool, default False
        Whether the axis of two stays, with size 1.

    Returns
    -------
    Tensor
        Of the shape of x without that axis; NaN where the second is smaller.

    Raises
    ------
    ShapeError
        For an axis that does not exist.

    Examples
    --------
    >>> float(K.logdiffexp(np.array([1000.0, 1001.0])).eval().round(4))
    1000.5413
    """
    x = node_of(x)
    if axis is None:
        x, axis = Tensor(x).ravel().node, 0
    axis = axis_of(axis, x.ndim)
    lead = (slice(None),) * axis
    high = ops.getitem(x, lead + (slice(1, None),))
    low = ops.getitem(x, lead + (slice(None, -1),))
    y = ops.logdiffexp(high, low)
    drop = not given.flag(keepdims, "keepdims") and x.shape[axis] in (2, None)
    return Tensor(ops.squeeze(y, (axis,)) if drop else y)


__test__ = examples(globals())
