"""The backend of natural_bm, and what runs that library on it.

    python -m ckernels.compat.natural_bm program.py arguments ...

Programs without the library import it: `import ckernels.compat.natural_bm as B`. These are the 88
functions of its Theano backend with their signatures, and what they mean where the K function of
the same name means something else: random functions take `rng=`, placeholders keep only their
rank, variables may change their sizes and are true in a boolean context, `set_value` casts like
NumPy. Its epsilon and integer type are its own; the float type is that of ckernels.
"""

# ruff: noqa: F401, F811
import sys as _sys

import numpy as np

from .. import ops
from ..api import function as _function
from ..api import gradients as _gradients
from ..api import linalg as _linalg
from ..api import scan as _scan
from ..api import variables as _variables
from ..api.config import cast_to_floatx, floatx, set_floatx
from ..api.gradients import stop_gradient
from ..api.indexing import one_hot
from ..api.linalg import diag, dot
from ..api.math import (
    abs,
    allclose,
    argmax,
    argmin,
    clip,
    cos,
    cumprod,
    cumsum,
    equal,
    exp,
    greater,
    greater_equal,
    less,
    less_equal,
    log,
    logsumexp,
    max,
    maximum,
    min,
    minimum,
    not_equal,
    pow,
    prod,
    round,
    sign,
    sin,
    sqrt,
    square,
    std,
    sum,
    var,
)
from ..api.nn import sigmoid
from ..api.operands import as_array, known_shape, node_of, operand
from ..api.randomstreams import RandomStreams
from ..api.scan import until
from ..api.shape import (
    arange,
    concatenate,
    flatten,
    permute_dimensions,
    repeat,
    repeat_elements,
    reshape,
    reverse,
    squeeze,
    stack,
    tile,
    transpose,
)
from ..api.tensor import Tensor, Variable, need_variable
from ..api.variables import cast, dtype, eval, get_value, ndim, ones_like, zeros_like
from ..base import dtypes, given
from ..base.errors import ArgumentError, ShapeError, UsageError
from ..graph.node import Node
from ..graph.shapes import axis_of, show

_epsilon = float(np.finfo("float32").eps)
_intx = "int32"


# ---- settings -----------------------------------------------------------------------------------


def backend():
    """'theano': the backend whose place this module takes."""
    return "theano"


def epsilon():
    """The fuzz factor, a float: the spacing of float32 at 1 until `set_epsilon` changes it."""
    return _epsilon


def set_epsilon(e):
    """Set the fuzz factor of this module."""
    global _epsilon
    _epsilon = e


def intx():
    """The default int dtype, as a string; 'int32' until `set_intx` changes it."""
    return _intx


def set_intx(intx):
    """Set the default int dtype of this module: 'int16', 'int32' or 'int64'."""
    global _intx
    _intx = given.word(intx, ("int16", "int32", "int64"), "intx")


# ---- variables ----------------------------------------------------------------------------------


class SharedVariable(Variable):
    """A variable whose sizes may change with each new value, and which is true, as in Theano."""

    def __bool__(self):
        return True


def solve(a, b):
    """x with a @ x = b, for a square matrix `a` and a vector or matrix `b`."""
    return _linalg.solve(a, b)


def svd(x):
    """[U, the singular values, V transposed] of a matrix; U and V are square, as in Theano."""
    return list(_linalg.svd(x, full_matrices=True))


def variable(value, dtype=None, name=None):
    """A variable with the initial `value`, cast to `dtype` (floatx() by default) like NumPy does.

    >>> import ckernels.compat.natural_bm as B
    >>> B.variable([1, 2], name="v").get_value()
    array([1., 2.], dtype=float32)
    """
    if isinstance(value, Tensor):
        value = value.eval()
    array = np.array(as_array(value, "the value of a variable"), _dtype(dtype), order="C")
    return SharedVariable(array, name, (None,) * array.ndim)


def _dtype(name):
    return floatx() if name is None else dtypes.name_of(name)


def zeros(shape, dtype=None, name=None):
    """A variable filled with 0."""
    return variable(np.zeros(known_shape(shape)), dtype, name)


def ones(shape, dtype=None, name=None):
    """A variable filled with 1."""
    return variable(np.ones(known_shape(shape)), dtype, name)


def eye(size, dtype=None, name=None):
    """A variable with the identity matrix of `size` rows."""
    return variable(np.eye(*known_shape((size,))), dtype, name)


def placeholder(shape=None, ndim=None, dtype=None, sparse=False, name=None):
    """An input with as many dimensions as `shape` has entries, or `ndim`: of any sizes.

    >>> import ckernels.compat.natural_bm as B
    >>> x = B.placeholder(shape=(2, 3))
    >>> B.function([x], B.sum(x))(np.ones((5, 4)))
    array(20., dtype=float32)
    """
    if shape is None and ndim is None:
        raise ArgumentError("placeholder needs a shape or an ndim")
    rank = ndim if shape is None else len(given.sequence(shape, "shape"))
    return _variables.placeholder(ndim=rank, dtype=dtype, sparse=sparse, name=name)


def shape(x):
    """The symbolic shape of `x`, an int64 vector."""
    return Tensor(ops.shape(node_of(x)))


def batch_get_value(xs):
    """The values of several variables, as a list."""
    return [get_value(x) for x in given.sequence(xs, "the argument of batch_get_value")]


def set_value(x, value):
    """Give the variable `x` a new value, cast to its dtype like NumPy does."""
    need_variable(x, "the first argument of set_value").set_value(
        as_array(value, "the new value").astype(x.dtype)
    )


def batch_set_value(tuples):
    """`set_value` for each (variable, value)."""
    what = "the argument of batch_set_value"
    pairs = [given.pair(p, f"an item of {what}") for p in given.sequence(tuples, what)]
    for x, value in pairs:
        set_value(x, value)


def get_variable_shape(x):
    """The shape of the variable's value, a tuple of ints."""
    return need_variable(x, "the argument of get_variable_shape").get_value(borrow=True).shape


# ---- where the meaning differs from that of K ---------------------------------------------------


def mean(x, axis=None, keepdims=False):
    """Mean over axes; that of integers and bools is in floatx().

    >>> import ckernels.compat.natural_bm as B
    >>> B.mean(np.array([1, 2])).eval()
    array(1.5, dtype=float32)
    """
    x = node_of(x)
    y = ops.mean(ops.cast(x, "float64") if dtypes.is_discrete(x.dtype) else x, axis, keepdims)
    return Tensor(ops.cast(y, floatx()) if dtypes.is_discrete(x.dtype) else y)


def any(x, axis=None, keepdims=False):
    """Whether one element over axes is non-zero, a bool tensor."""
    return Tensor(ops.any(node_of(x), axis, keepdims))


def all(x, axis=None, keepdims=False):
    """Whether all elements over axes are non-zero, a bool tensor."""
    return Tensor(ops.all(node_of(x), axis, keepdims))


def logdiffexp(x, axis=None, keepdims=False):
    """log(exp(x[i + 1]) - exp(x[i])) of neighbours along `axis` (the last one), without overflow.

    The axis stays, one shorter, whatever keepdims says. NaN where an element is below the one
    before it.

    >>> import ckernels.compat.natural_bm as B
    >>> B.logdiffexp(np.array([1000.0, 1001.0])).eval().round(4)
    array([1000.5413])
    """
    x = node_of(x)
    lead = (slice(None),) * axis_of(-1 if axis is None else axis, x.ndim)
    high = ops.getitem(x, lead + (slice(1, None),))
    return Tensor(ops.logdiffexp(high, ops.getitem(x, lead + (slice(None, -1),))))


def fill_diagonal(x, val):
    """The square matrix `x` with `val` on its diagonal: a scalar, or a vector of 1 or n elements.

    >>> import ckernels.compat.natural_bm as B
    >>> B.fill_diagonal(np.ones((2, 2)), np.array([5, 7])).eval()
    array([[5., 1.],
           [1., 7.]])
    """
    x, val = node_of(x), operand(val)
    shape = val.shape if isinstance(val, Node) else ()
    if x.ndim != 2 or len(shape) > 1 or (None not in x.shape and x.shape[0] != x.shape[1]):
        raise ShapeError(
            "fill_diagonal needs a square matrix and a scalar or a vector, got shapes "
            f"{show(x.shape)} and {show(shape)}"
        )
    sizes = [ops.size_of(x, axis) for axis in (0, 1)]
    rows, columns = (ops.arange(0, n, 1, "int64") for n in sizes)
    return Tensor(ops.where(ops.eq(ops.expand(rows, (1,)), columns), val, x))


# ---- functions, gradients, loops ----------------------------------------------------------------


def function(inputs, outputs, updates=[], name=None, **kwargs):  # noqa: B006 (documented)
    """K.function that casts its inputs down and ignores unused ones. kwargs: givens, mode, ..."""
    kwargs = {"allow_input_downcast": True, "on_unused_input": "ignore", **kwargs}
    return _function.function(inputs, outputs, updates=updates, name=name, **kwargs)


def gradients(loss, variables):
    """The gradient of the scalar `loss`: a tensor for one variable, a list for a list."""
    return _gradients.grad(loss, variables)


def scan(function, outputs_info=None, n_steps=None, name=None, **kwargs):
    """K.scan: (outputs, updates). kwargs: sequences, non_sequences, ..."""
    return _scan.scan(function, outputs_info=outputs_info, n_steps=n_steps, name=name, **kwargs)


def ifelse(condition, then_expression, else_expression):
    """`then_expression` if the scalar `condition` is not zero, else `else_expression`.

    Both may be lists of equal length; the result is then a list. Only one side is computed.

    >>> import ckernels.compat.natural_bm as B
    >>> B.ifelse(B.variable(0.7) >= 0.5, B.variable(1.0), B.variable(2.0)).eval()
    array(1., dtype=float32)
    """
    condition = node_of(condition, "the condition of ifelse")
    if condition.ndim:
        raise ShapeError(
            f"the condition of ifelse must be a scalar, not of shape {show(condition.shape)}"
        )
    if not isinstance(then_expression, (list, tuple)):
        return Tensor(ops.choose(condition, *_alike(then_expression, else_expression)))
    if not isinstance(else_expression, (list, tuple)) or len(then_expression) != len(
        else_expression
    ):
        raise ArgumentError("the two sides of ifelse must be lists of equal length")
    pairs = zip(then_expression, else_expression)
    return [Tensor(ops.choose(condition, *_alike(a, b))) for a, b in pairs]


def _alike(a, b):
    """Two operands as nodes of their common dtype; numbers adopt that of a tensor."""
    a, b = operand(a), operand(b)
    names = [n.dtype for n in (a, b) if isinstance(n, Node)]
    common = dtypes.promote(names, [type(n) for n in (a, b) if not isinstance(n, Node)])
    return ops.cast(node_of(a), common), ops.cast(node_of(b), common)


# ---- random numbers -----------------------------------------------------------------------------


def make_rng(seed=None):
    """A RandomStreams; without a seed NumPy's global generator gives one.

    >>> import ckernels.compat.natural_bm as B
    >>> rng = B.make_rng(seed=12345)
    >>> B.random_uniform((2,), dtype="float64", rng=rng).eval()
    array([0.73532445, 0.25856858])
    """
    return RandomStreams(seed=int(np.random.randint(1, int(10e6))) if seed is None else seed)


def random_normal(shape, mean=0.0, stddev=1.0, dtype=None, rng=None):
    """Normal numbers from `rng` (a new one by default), see RandomStreams.normal."""
    return _rng(rng).normal(size=shape, avg=mean, std=stddev, dtype=_dtype(dtype))


def random_uniform(shape, minval=0.0, maxval=1.0, dtype=None, rng=None):
    """Uniform numbers from `rng` (a new one by default), see RandomStreams.uniform."""
    return _rng(rng).uniform(shape, low=minval, high=maxval, dtype=_dtype(dtype))


def random_binomial(shape, p=0.0, dtype=None, rng=None):
    """1 with probability `p`, else 0, from `rng` (a new one by default)."""
    return _rng(rng).binomial(shape, p=p, dtype=_dtype(dtype))


def _rng(rng):
    if rng is not None and not isinstance(rng, RandomStreams):
        raise UsageError(f"rng must be what make_rng gives, not {rng!r}")
    return make_rng() if rng is None else rng


# ---- the library --------------------------------------------------------------------------------


def install():
    """Let natural_bm, imported afterwards, run on this module and share its settings.

    UsageError where natural_bm was imported already.
    """
    from . import _taking_bm  # start-up

    _taking_bm.install(_sys.modules[__name__])


if __name__ == "__main__":
    from ckernels.base.runner import run_program
    from ckernels.compat import _taking_bm, natural_bm

    raise SystemExit(
        run_program("ckernels.compat.natural_bm", lambda: _taking_bm.install(natural_bm))
    )
