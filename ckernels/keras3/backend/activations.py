"""keras.ops.nn's activations: functions of elements, and softmaxes."""

import numpy as np
from keras.src.backend.common.backend_utils import canonicalize_axis

from ... import ops
from ..casts import standardize_dtype
from ..direct import named
from ..rows import either, floating
from ..values import Symbolic, cast, convert_to_tensor, shape
from .elementwise import abs, maximum, minimum, sqrt, square, tanh, where
from .math import erf
from .reductions import cumsum, max, sort, sum
from .shaping import arange, flip, moveaxis, reshape, split

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805  # Klambauer et al. 2017


def _activation(name, eager, graph):
    """A function of one float tensor; integers are cast as in the other functions of floats."""

    def function(x):
        x = convert_to_tensor(x)
        x = cast(x, floating(standardize_dtype(x.dtype)))
        return cast(either(eager, graph, x), x.dtype)

    return named(function, name)


def _stable_sigmoid(a):
    if a.dtype.kind == "f" and a.itemsize > 2:  # halves below 6e-5 would be 0
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(-a))
    with np.errstate(over="ignore"):
        e = np.exp(-np.abs(a))
    return np.where(a >= 0, 1 / (1 + e), e / (1 + e)).astype(a.dtype)


sigmoid = _activation("sigmoid", _stable_sigmoid, ops.sigmoid)
softplus = _activation("softplus", lambda a: np.logaddexp(a, np.zeros((), a.dtype)), ops.softplus)
softsign = _activation(
    "softsign", lambda a: a / (1 + np.abs(a)), lambda n: ops.true_div(n, ops.add(1, ops.abs(n)))
)
silu = _activation("silu", lambda a: a * _stable_sigmoid(a), lambda n: ops.mul(n, ops.sigmoid(n)))
log_sigmoid = _activation(
    "log_sigmoid",
    lambda a: -np.logaddexp(-a, np.zeros((), a.dtype)),
    lambda n: ops.neg(ops.softplus(ops.neg(n))),
)
tanh_shrink = _activation(
    "tanh_shrink", lambda a: a - np.tanh(a), lambda n: ops.sub(n, ops.tanh(n))
)


def relu(x):
    x = convert_to_tensor(x)
    return (
        maximum(x, 0)
        if not _is_float(x)
        else either(lambda a: np.maximum(a, np.array(0, a.dtype)), ops.relu, x)
    )


def relu6(x):
    x = convert_to_tensor(x)
    return minimum(maximum(x, 0), 6)


def _piecewise(x, condition, yes, no):
    """`yes` where a condition holds; operands have the dtype of x."""
    if condition.__class__ is np.ndarray and x.dtype.kind == "f":
        return np.where(condition, _like(yes, x), _like(no, x))
    return where(condition, convert_to_tensor(yes, x.dtype), convert_to_tensor(no, x.dtype))


def _like(y, x):
    return cast(y, x.dtype) if y.__class__ is np.ndarray else x.dtype.type(y)


def sparse_sigmoid(x):
    x = convert_to_tensor(x)
    return _piecewise(x, x <= -1, 0, _piecewise(x, x >= 1, 1, 0.5 * (x + 1)))


def sparse_plus(x):
    x = convert_to_tensor(x)
    return _piecewise(x, x <= -1, 0, _piecewise(x, x < 1, 0.25 * square(x + 1), x))


def soft_shrink(x, threshold=0.5):
    x = convert_to_tensor(x)
    inner = _piecewise(x, x < -threshold, x + threshold, 0)
    return _piecewise(x, x > threshold, x - threshold, inner)


def hard_shrink(x, threshold=0.5):
    x = convert_to_tensor(x)
    return _piecewise(x, abs(x) > threshold, x, 0)


def threshold(x, threshold, default_value):
    x = convert_to_tensor(x)
    return _piecewise(x, x > threshold, x, default_value)


def hard_tanh(x):
    x = convert_to_tensor(x)
    if x.__class__ is np.ndarray and x.dtype.kind == "f":
        return x.clip(x.dtype.type(-1), x.dtype.type(1))
    return maximum(minimum(x, 1), -1)


def squareplus(x, b=4):
    x = convert_to_tensor(x)
    return cast((x + sqrt(square(x) + b)) / 2, x.dtype)


def leaky_relu(x, negative_slope=0.2):
    x = convert_to_tensor(x)
    if not _is_float(x):
        return _leaky(x, negative_slope)
    slope = convert_to_tensor(negative_slope, x.dtype)
    if not isinstance(x, Symbolic):
        if 0 <= negative_slope <= 1:
            return np.maximum(x, slope * x)
        return np.where(x > 0, x, slope * x)
    return where(x > 0, x, slope * x)


def _is_float(x):
    return "float" in str(x.dtype)


def _leaky(x, slope):
    return where(x > 0, x, cast(slope * x, x.dtype))


def hard_sigmoid(x):
    x = convert_to_tensor(x)
    x = cast(x, floating(standardize_dtype(x.dtype)))
    if x.__class__ is np.ndarray:
        return _hard_sigmoid(x)
    sixth, half = (convert_to_tensor(c, x.dtype) for c in (6.0, 0.5))
    return maximum(minimum(x / sixth + half, 1), 0)


def _hard_sigmoid(a):
    found = a / a.dtype.type(6) + a.dtype.type(0.5)
    return np.maximum(np.minimum(found, a.dtype.type(1)), a.dtype.type(0))


@np.errstate(invalid="ignore")
def hard_silu(x):
    x = convert_to_tensor(x)
    x = cast(x, floating(standardize_dtype(x.dtype)))
    return x * (_hard_sigmoid(x) if x.__class__ is np.ndarray else hard_sigmoid(x))


@np.errstate(over="ignore")
def _elu(a, alpha):
    return np.where(a >= 0, a, a.dtype.type(alpha) * np.expm1(np.minimum(a, a.dtype.type(0))))


def elu(x, alpha=1.0):
    x = convert_to_tensor(x)
    if x.__class__ is np.ndarray and x.dtype.kind == "f":
        return _elu(x, alpha)
    return where(x >= 0, x, cast(alpha * _expm1(minimum(x, 0)), x.dtype))


def _expm1(x):
    return either(np.expm1, ops.expm1, x)


def selu(x):
    x = convert_to_tensor(x)
    if x.__class__ is np.ndarray and x.dtype.kind == "f":
        return x.dtype.type(SELU_SCALE) * _elu(x, SELU_ALPHA)
    return cast(SELU_SCALE * elu(x, SELU_ALPHA), x.dtype)


def celu(x, alpha=1.0):
    x = convert_to_tensor(x)
    return relu(x) + cast(alpha * _expm1(minimum(x, 0) / alpha), x.dtype)  # relu's slope at 0 is 0


def gelu(x, approximate=True):
    x = convert_to_tensor(x)
    if approximate:
        scale = np.sqrt(2 / np.pi)
        return cast(0.5 * x * (1 + tanh(float(scale) * (x + 0.044715 * x * square(x)))), x.dtype)
    return cast(0.5 * x * (1 + erf(x / float(np.sqrt(2)))), x.dtype)


def glu(x, axis=-1):
    x = convert_to_tensor(x)
    axis = canonicalize_axis(axis, x.ndim)
    if x.shape[axis] is not None and x.shape[axis] % 2:
        raise ValueError(
            f"axis size must be divisible by 2. Received: x.shape={x.shape} with axis={axis}"
        )
    first, second = split(x, 2, axis)
    return first * sigmoid(second)


def softmax(x, axis=-1):
    x = convert_to_tensor(x)
    return _along(x, axis, _softmax_of_array, ops.softmax)


def log_softmax(x, axis=-1):
    x = convert_to_tensor(x)
    return _along(x, axis, _log_softmax_of_array, ops.log_softmax)


def _along(x, axis, eager, graph):
    """A softmax along an axis, or over all where it is None."""
    if axis is None:
        return reshape(_along(reshape(x, [-1]), -1, eager, graph), _sizes(x))
    if isinstance(x, Symbolic):
        return cast(Symbolic(graph(x.node, axis)), x.dtype)
    return cast(eager(x, axis), x.dtype)


def _sizes(x):
    return shape(x)


@np.errstate(all="ignore")
def _softmax_of_array(a, axis):
    e = np.exp(a - np.maximum.reduce(a, axis, keepdims=True))
    return e / np.add.reduce(e, axis, keepdims=True)


@np.errstate(all="ignore")
def _log_softmax_of_array(a, axis):
    away = a - np.maximum.reduce(a, axis, keepdims=True)
    return away - np.log(np.add.reduce(np.exp(away), axis, keepdims=True))


def sparsemax(x, axis=-1):
    """Martins and Astudillo 2016: the point of the simplex that is nearest."""
    x = moveaxis(convert_to_tensor(x), axis, -1)
    if x.__class__ is np.ndarray and x.dtype.kind == "f":
        return np.moveaxis(_sparsemax(x), -1, axis)
    ordered = flip(sort(x, -1), -1)
    total = cumsum(ordered, -1)
    count = x.shape[-1]
    places = arange(1, count + 1, dtype=x.dtype)
    kept = cast(1 + places * ordered > total, x.dtype)
    size = max(places * kept, -1, keepdims=True)
    tau = (sum(ordered * kept, -1, keepdims=True) - 1) / size
    return moveaxis(maximum(x - tau, 0), -1, axis)


def _sparsemax(a):
    """`sparsemax` of the rows of an array."""
    total = np.sort(a)[..., ::-1]
    ordered, total = total, np.add.accumulate(total, -1) - a.dtype.type(1)
    places = np.arange(1, a.shape[-1] + 1, dtype=a.dtype)
    size = np.add.reduce(places * ordered > total, -1, "int64", keepdims=True)
    last = np.take_along_axis(total, np.maximum(size - 1, 0), -1)
    return np.maximum(a - last / size.astype(a.dtype), a.dtype.type(0))
