"""Elementwise functions, comparisons and reductions."""

from .. import dtypes, ops
from ..graph.node import Node
from ..graph.shapes import axis_of
from .config import floatx
from .operands import node_of, operand
from .tensor import Tensor

AXES = "axis: None (all axes), an int, or several. keepdims: reduced axes stay, with size 1."


def _unary(build, doc):
    def function(x):
        return Tensor(build(operand(x)))

    function.__name__ = function.__qualname__ = build.__name__
    function.__doc__ = doc
    return function


def _binary(build, name, doc):
    def function(x, y):
        return Tensor(build(*_pair(x, y)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _pair(x, y):
    x, y = operand(x), operand(y)
    return (x, y) if isinstance(x, Node) or isinstance(y, Node) else (node_of(x), y)


square = _unary(ops.square, "x * x.")
abs = _unary(ops.abs, "Absolute value.")
exp = _unary(ops.exp, "e ** x.")
log = _unary(ops.log, "Natural logarithm.")
round = _unary(ops.round, "The nearest integer, as a float; halves go to the even one.")
sign = _unary(ops.sign, "-1, 0 or 1.")
sin = _unary(ops.sin, "Sine.")
cos = _unary(ops.cos, "Cosine.")
tan = _unary(ops.tan, "Tangent.")
arcsin = _unary(ops.asin, "Inverse sine.")
arccos = _unary(ops.acos, "Inverse cosine.")
arctan = _unary(ops.atan, "Inverse tangent.")
sinh = _unary(ops.sinh, "Hyperbolic sine.")
cosh = _unary(ops.cosh, "Hyperbolic cosine.")
exp2 = _unary(ops.exp2, "2 ** x.")
expm1 = _unary(ops.expm1, "exp(x) - 1, exact near 0.")
log2 = _unary(ops.log2, "Logarithm to base 2.")
log10 = _unary(ops.log10, "Logarithm to base 10.")
log1p = _unary(ops.log1p, "log(1 + x), exact near 0.")
erf = _unary(ops.erf, "The error function.")
erfc = _unary(ops.erfc, "1 - erf(x), exact for large x.")
floor = _unary(ops.floor, "The largest integer <= x.")
ceil = _unary(ops.ceil, "The smallest integer >= x.")
isnan = _unary(ops.isnan, "Whether x is NaN.")
isinf = _unary(ops.isinf, "Whether x is infinite.")
rsqrt = _unary(ops.rsqrt, "1 / sqrt(x).")
logical_not = _unary(ops.logical_not, "Whether x is zero.")

equal = _binary(ops.eq, "equal", "x == y, a bool tensor.")
not_equal = _binary(ops.ne, "not_equal", "x != y, a bool tensor.")
greater = _binary(ops.gt, "greater", "x > y, a bool tensor.")
greater_equal = _binary(ops.ge, "greater_equal", "x >= y, a bool tensor.")
less = _binary(ops.lt, "less", "x < y, a bool tensor.")
less_equal = _binary(ops.le, "less_equal", "x <= y, a bool tensor.")
maximum = _binary(ops.maximum, "maximum", "The larger of x and y; NaN where either is.")
minimum = _binary(ops.minimum, "minimum", "The smaller of x and y; NaN where either is.")
logical_and = _binary(ops.logical_and, "logical_and", "Whether both are non-zero.")
logical_or = _binary(ops.logical_or, "logical_or", "Whether one is non-zero.")


def sqrt(x):
    """Square root of `x`, with negative values clipped to 0 first (as Keras does)."""
    x = node_of(x)
    return Tensor(ops.sqrt(x if dtypes.is_complex(x.dtype) else ops.maximum(x, 0)))


def pow(x, a):
    """x ** a."""
    return Tensor(ops.pow(*_pair(x, a)))


def clip(x, min_value, max_value):
    """`x` limited to [min_value, max_value]; None is no limit. An upper limit below the lower one
    is raised
    to it (Keras)."""
    x, low, high = node_of(x), min_value, max_value
    plain = (int, float)
    if isinstance(low, plain) and isinstance(high, plain) and high < low:
        high = low
    if low is not None:
        x = ops.maximum(x, operand(low))
    return Tensor(x if high is None else ops.minimum(x, operand(high)))


def where(condition, x, y):
    """Elements of `x` where `condition`, else of `y`; all broadcast."""
    condition = node_of(condition)
    if condition.dtype != "bool":
        condition = ops.ne(condition, 0)
    return Tensor(ops.where(condition, *_pair(x, y)))


def allclose(x, y, rtol=1e-05, atol=1e-08):
    """Whether all elements satisfy |x - y| <= atol + rtol * |y|: a bool scalar."""
    return Tensor(ops.all(ops.isclose(*_pair(x, y), rtol, atol)))


def _reduction(build, name, doc, prepare=node_of, finish=None):
    def function(x, axis=None, keepdims=False):
        y = build(prepare(x), axis, keepdims)
        return Tensor(finish(y) if finish else y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}\n\n    {AXES}\n    "
    return function


def _measurable(x):
    """`x` as a node; bools as floatx, so that the mean of a comparison is an accuracy."""
    x = node_of(x)
    return ops.cast(x, floatx()) if x.dtype == "bool" else x


def _uint8(x):
    return ops.cast(x, "uint8")


sum = _reduction(ops.sum, "sum", "Sum over axes; small ints and bools are summed in 64 bits.")
prod = _reduction(ops.prod, "prod", "Product over axes.")
max = _reduction(ops.max, "max", "Largest element; NaN if there is one.")
min = _reduction(ops.min, "min", "Smallest element; NaN if there is one.")
mean = _reduction(ops.mean, "mean", "Mean over axes; that of bools is in floatx().", _measurable)
var = _reduction(ops.var, "var", "Variance over axes (divided by the count).", _measurable)
std = _reduction(
    lambda x, axis, keepdims: ops.sqrt(ops.var(x, axis, keepdims)),
    "std",
    "Standard deviation over axes (divided by the count).",
    _measurable,
)
any = _reduction(ops.any, "any", "Whether one element is non-zero: 0 or 1, uint8.", finish=_uint8)
all = _reduction(ops.all, "all", "Whether all elements are non-zero: 0 or 1, uint8.", finish=_uint8)
logsumexp = _reduction(
    ops.logsumexp, "logsumexp", "log(sum(exp(x))) without overflow; -inf if all elements are."
)


def argmax(x, axis=-1):
    """Index of the first largest element along `axis`, int64."""
    return Tensor(ops.argmax(node_of(x), axis))


def argmin(x, axis=-1):
    """Index of the first smallest element along `axis`, int64."""
    return Tensor(ops.argmin(node_of(x), axis))


def cumsum(x, axis=0):
    """Running sum along `axis`."""
    return Tensor(ops.cumsum(node_of(x), axis))


def cumprod(x, axis=0):
    """Running product along `axis`."""
    return Tensor(ops.cumprod(node_of(x), axis))


def logdiffexp(x, axis=None, keepdims=False):
    """log(exp(x[1]) - exp(x[0])) along `axis` without overflow: the logarithm of the difference of
    two.

    axis None takes the elements of `x` in order. The axis must hold two elements and is dropped,
    or kept with size 1; with n > 2 known elements the n - 1 differences of neighbours stay as an
    axis. NaN where the second is smaller.
    """
    x = node_of(x)
    if axis is None:
        x, axis = Tensor(x).ravel().node, 0
    axis = axis_of(axis, x.ndim)
    lead = (slice(None),) * axis
    high = ops.getitem(x, lead + (slice(1, None),))
    low = ops.getitem(x, lead + (slice(None, -1),))
    y = ops.logdiffexp(high, low)
    drop = not keepdims and x.shape[axis] in (2, None)
    return Tensor(ops.squeeze(y, (axis,)) if drop else y)
