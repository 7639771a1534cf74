"""Random tensors: each owns a state variable [seed, stream, call] that functions advance.

The numbers depend on the state alone (counter-based, see ckernels/ops/random.py). Without a seed
the state is drawn from NumPy's global generator, as in Keras, unless `set_random_seed` or the flag
`seed` gave one; then each call takes the next stream of that seed.
"""

import itertools
import math

import numpy as np

from .. import ops
from ..base import dtypes, given, locks
from ..base.config import config
from ..base.errors import ArgumentError, DTypeError, ShapeError, with_line
from ..graph.node import Node
from ..graph.shapes import show
from ..ops.properties import having
from .config import float_dtype
from .operands import integer, known_shape, node_of, operand, shape_vector
from .tensor import Tensor, Variable

_lock = locks.lock()
_seed = None
_streams = itertools.count(1)


def set_random_seed(seed):
    """Make random tensors made from now on reproducible.

    Parameters
    ----------
    seed : int or None
        None: NumPy's generator again.

    Returns
    -------
    None
        What was made before draws as before.

    Raises
    ------
    UsageError
        For what is no integer.

    Examples
    --------
    >>> K.set_random_seed(3)
    >>> a = K.random_uniform((2,)).eval()
    >>> K.set_random_seed(3)
    >>> bool((a == K.random_uniform((2,)).eval()).all())
    True
    """
    global _seed, _streams
    with _lock:
        _seed = None if seed is None else integer(seed, "seed")
        _streams = itertools.count(1)


def _words(seed):
    """[seed, stream] for something new: from `seed`, the session's seed, or NumPy's generator."""
    with _lock:
        base = _seed if _seed is not None else config.seed
        if seed is not None:
            words = [integer(seed, "seed"), 0]
        elif base is not None:
            words = [base, next(_streams)]
        else:
            words = [int(np.random.randint(1, 2**31 - 1)), 0]
    return [word & 0x7FFFFFFFFFFFFFFF for word in words]


def new_state(seed=None):
    """A Variable [seed, stream, 0] whose default update counts calls."""
    state = Variable(np.array([*_words(seed), 0], "int64"), "random_state")
    state.default_update = state + np.array([0, 0, 1], "int64")
    return state


def generator(seed=None):
    """A NumPy RandomState for values drawn at once; its seed is chosen like that of `new_state`."""
    seed, stream = _words(seed)
    return np.random.RandomState([seed & 0xFFFFFFFF, seed >> 32, stream])


def uniform_node(shape_node, dtype, seed=None):
    """Uniform numbers in [0, 1) with a shape given as an int64 vector node."""
    u = _draw(ops.random_uniform, shape_node, dtype, seed)
    return ops.without_end(u, 0, 1) if dtype in dtypes.COMPUTED else u


def _draw(build, shape_node, dtype, seed):
    state = new_state(seed)
    wide = dtypes.computed(dtype)
    return ops.cast(build(state.node, shape_node, wide), dtype)


def _float(dtype):
    dtype = float_dtype(dtype)
    if not dtypes.is_float(dtype):
        raise DTypeError(f"random floats cannot have dtype {dtype}")
    return dtype


def random_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Normal numbers of the given mean and standard deviation.

    Parameters
    ----------
    shape : tuple of int and Tensor, or Tensor
        Of the result; a tensor is a vector of the sizes.
    mean, stddev : float or tensor, default 0.0 and 1.0
        Of the law; of shapes that broadcast with `shape`.
    dtype : str, optional
        A float dtype, floatx() by default.
    seed : int, optional
        Of the draws; without one it follows from `set_random_seed` or from NumPy's global
        generator.

    Returns
    -------
    Tensor
        Drawn anew in each call of a function.

    Raises
    ------
    DTypeError
        For integers.
    ShapeError
        For a negative size, and a mean that does not fit the shape.

    Examples
    --------
    >>> K.random_normal((2, 3), mean=1.0, stddev=2.0, seed=1).eval().shape
    (2, 3)
    """
    z = _draw(ops.random_normal, shape_vector(shape), _float(dtype), seed)
    return Tensor(_scaled(z, stddev, mean, "mean and stddev"))


def random_uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    """Numbers in [minval, maxval), all equally likely; integers for an integer dtype.

    Parameters
    ----------
    shape : tuple of int and Tensor
        Of the result.
    minval, maxval : float, default 0.0 and 1.0
        The bounds.
    dtype : str, optional
        floatx() by default.
    seed : int, optional
        Of the draws; without one it follows from `set_random_seed` or from NumPy's global
        generator.

    Returns
    -------
    Tensor
        Drawn anew in each call of a function.

    Notes
    -----
    Threefry2x32-20 (Salmon et al., 2011): element i depends on the seed, the call and i alone.

    Examples
    --------
    >>> x = K.random_uniform((100,), 0, 10, dtype="int32", seed=1).eval()
    >>> bool(x.min() >= 0), bool(x.max() < 10), x.dtype.name
    (True, True, 'int32')
    """
    dtype = float_dtype(dtype)
    if dtypes.is_complex(dtype):
        raise DTypeError("random_uniform draws real numbers, not " + dtype)
    whole = dtypes.is_discrete(dtype)
    wide = "float64" if whole else dtypes.computed(dtype)
    u = _draw(ops.random_uniform, shape_vector(shape), wide, seed)
    low, high = operand(minval), operand(maxval)
    span = high - low if not hasattr(low, "op") and not hasattr(high, "op") else ops.sub(high, low)
    if not whole:
        y = ops.cast(_scaled(u, span, low, "minval and maxval"), dtype)
        # u * high with u < 1 is rounded to less than `high`, unless that is a subnormal number.
        exact = (
            _is(low, 0)
            and isinstance(high, (int, float))
            and (dtype not in dtypes.COMPUTED and abs(high) > 2 * np.finfo(dtype).tiny)
        )
        return Tensor(y if exact else ops.without_end(y, low, high))
    # The lower bound after the floor: before it, a large one would round the sum up to maxval.
    y = _scaled(ops.floor(_scaled(u, span, 0, "minval and maxval")), 1, low, "minval")
    return Tensor(ops.cast(ops.floor(y), dtype))


def _scaled(x, factor, offset, what):
    """x * factor + offset in the dtype of x, without the operations that change nothing."""
    factor, offset = operand(factor), operand(offset)
    y = x if _is(factor, 1) else ops.mul(x, factor)
    y = y if _is(offset, 0) else ops.add(y, offset)
    return ops.cast(_of_size(y, x, what), x.dtype)


def _of_size(y, x, what):
    """`y`, unless `what` was broadcast beyond the size of the draw `x`."""
    if y.ndim != x.ndim or any(None not in d and d[0] != d[1] for d in zip(y.shape, x.shape)):
        raise with_line(
            ShapeError(
                f"{what} would widen a draw of shape {show(x.shape)} to {show(y.shape)}; make the "
                "shape of the draw that of the result"
            ),
            y,
        )
    return y


def _is(value, number):
    return isinstance(value, (int, float)) and value == number


def check_probability(p, what):
    """The operand `p`, a number or a node; ArgumentError where it is known to be outside [0, 1].

    NaN is outside too. What a variable or an input holds is not known before a call.
    """
    value = p.value if isinstance(p, Node) else p
    if isinstance(value, complex) or (isinstance(p, Node) and dtypes.is_complex(p.dtype)):
        raise DTypeError(f"{what} must be real, got {value if value is not None else p.dtype}")
    if value is not None:
        flat = np.asarray(value).reshape(-1)
        wrong = flat[~((flat >= 0) & (flat <= 1))]
        if len(wrong):
            raise ArgumentError(f"{what} must be probabilities in [0, 1], got {wrong[0]}")
    return p


def random_binomial(shape, p=0.0, dtype=None, seed=None):
    """1 with probability `p`, else 0.

    Parameters
    ----------
    shape : tuple of int and Tensor, or Tensor
        Of the result; a tensor is a vector of the sizes.
    p : float or Tensor, default 0.0
        From 0 to 1.
    dtype : str, optional
        floatx() by default.
    seed : int, optional
        Of the draws; without one it follows from `set_random_seed` or from NumPy's global
        generator.

    Returns
    -------
    Tensor
        Drawn anew in each call of a function.

    Raises
    ------
    ArgumentError
        For a `p` that is no probability.

    Examples
    --------
    >>> K.random_binomial((3,), p=1.0).eval()
    array([1., 1., 1.], dtype=float32)
    """
    dtype = float_dtype(dtype)
    p = check_probability(operand(p, "p"), "p of random_binomial")
    real = dtype if dtypes.is_float(dtype) else "float32"
    u = uniform_node(shape_vector(shape), real, seed)
    return Tensor(ops.cast(_of_size(ops.lt(u, p), u, "p"), dtype))


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Normal numbers within two standard deviations of the mean.

    Parameters
    ----------
    shape : tuple of int and Tensor, or Tensor
        Of the result; a tensor is a vector of the sizes.
    mean, stddev : float or tensor, default 0.0 and 1.0
        Of the law before it is cut.
    dtype : str, optional
        A float dtype, floatx() by default.
    seed : int, optional
        Of the draws; without one it follows from `set_random_seed` or from NumPy's global
        generator.

    Returns
    -------
    Tensor
        Drawn anew in each call of a function.

    Raises
    ------
    DTypeError
        For integers.

    Notes
    -----
    Drawn by inverting the distribution function: the same law as drawing again until a number fits.

    Examples
    --------
    >>> bool(abs(K.truncated_normal((1000,), seed=1).eval()).max() <= 2)
    True
    """
    dtype = _float(dtype)
    u = _draw(ops.random_uniform, shape_vector(shape), dtype, seed)
    edge = math.erf(2 / math.sqrt(2))
    z = ops.mul(ops.erfinv(ops.mul(ops.sub(ops.mul(u, 2), 1), edge)), math.sqrt(2))
    return Tensor(_scaled(ops.clip(z, -2.0, 2.0), stddev, mean, "mean and stddev"))


def permutation(n, seed=None):
    """The integers below `n` in random order.

    Parameters
    ----------
    n : int or Tensor
        A scalar, at least 0.
    seed : int, optional
        Of the draws; without one it follows from `set_random_seed` or from NumPy's global
        generator.

    Returns
    -------
    Tensor
        (n,), int64, drawn anew in each call of a function.

    Raises
    ------
    ShapeError
        For a negative `n`.
    UsageError
        Where `n` is no integer.

    Examples
    --------
    >>> sorted(K.permutation(4, seed=1).eval().tolist())
    [0, 1, 2, 3]
    """
    n = n.node if isinstance(n, Tensor) else integer(n, "the n of permutation")
    return Tensor(ops.permutation(new_state(seed).node, n))


def categorical(p, seed=None):
    """An index drawn with the probabilities in the last axis of `p`, for each of its rows.

    Parameters
    ----------
    p : tensor or array
        Of at least one dimension; probabilities that need not add up to 1, for each position of the
        other axes.
    seed : int, optional
        Of the draw; without one it follows from `set_random_seed` or from NumPy's global generator.

    Returns
    -------
    Tensor
        Of dtype int64 and the shape of `p` without its last axis.

    Raises
    ------
    ShapeError
        For a scalar.
    ArgumentError
        Where a probability is negative or NaN or those of a row are all 0; in a call, if data says
        so (of those from a softmax or exp it is not asked).

    Examples
    --------
    >>> K.categorical(np.array([[0.0, 1.0], [5.0, 0.0]]), seed=1).eval()
    array([1, 0])
    """
    return Tensor(ops.categorical(new_state(seed).node, _probabilities(p, "categorical")))


def multinomial(p, n=1, dtype="int64", seed=None):
    """How often each class comes up in `n` draws with the probabilities in the last axis of `p`.

    Parameters
    ----------
    p : tensor or array
        (..., classes).
    n : int, default 1
        The number of draws for each row.
    dtype : str, default "int64"
        Of the result.
    seed : int, optional
        Of the draws; without one it follows from `set_random_seed` or from NumPy's global
        generator.

    Returns
    -------
    Tensor
        Of the shape of p, drawn anew in each call of a function; each row has the sum `n`.

    Raises
    ------
    ShapeError
        For a scalar.
    UsageError
        Where `n` is no int.
    ArgumentError
        Where `n` is negative, and for probabilities as in `categorical`.

    Examples
    --------
    >>> K.multinomial(np.array([0.0, 1.0]), n=5, seed=1).eval()
    array([0, 5])
    """
    draws = integer(n, "the n of multinomial")
    if draws < 0:
        raise ArgumentError(f"the n of multinomial, how often it draws, is at least 0, not {draws}")
    return Tensor(
        ops.multinomial(new_state(seed).node, _probabilities(p, "multinomial"), draws, dtype)
    )


def _probabilities(p, name):
    """`p` with a check of its numbers, where they do not come from an op of positive ones."""
    p = node_of(p)
    if not p.ndim or p.op.name in having("positive") or dtypes.is_complex(p.dtype):
        return p  # a check costs microseconds, in each step of a scan
    message = f"the probabilities of {name} are at least 0, and one of each row is above"
    if p.value is not None:
        if not ((p.value >= 0).all() and (p.value.sum(-1) > 0).all()):
            raise ArgumentError(message)
        return p
    some = ops.gt(ops.sum(ops.cast(p, dtypes.to_float(p.dtype)), -1), 0)
    return ops.check(p, ops.ge(p, 0), some, message=message, error="value")


# ---- variables with drawn values -----------------------------------------------------------------


def random_uniform_variable(shape, low, high, dtype=None, name=None, seed=None):
    """A variable with values drawn from [low, high), all equally likely.

    Parameters
    ----------
    shape : tuple of int
        Every size is known.
    low, high : float
        The bounds.
    dtype : str, optional
        A float dtype, floatx() by default.
    name : str, optional
        What messages call it.
    seed : int, optional
        Of the draws; without one it follows from `set_random_seed` or from NumPy's global
        generator.

    Returns
    -------
    Variable
        Drawn once, here.

    Raises
    ------
    DTypeError
        For integers.
    ArgumentError
        For bounds that are not finite.
    ShapeError
        For an unknown size.

    Examples
    --------
    >>> v = K.get_value(K.random_uniform_variable((100,), 2.0, 3.0, seed=1))
    >>> v.shape, bool(v.min() >= 2), bool(v.max() < 3)
    ((100,), True, True)
    """
    low, high = given.number(low, "low"), given.number(high, "high")
    if not np.isfinite(high - low):
        raise ArgumentError(f"low and high are finite, not {low!r} and {high!r}")
    made = _drawn(generator(seed).uniform(low, high, known_shape(shape)), dtype, name)
    value, (first, end) = made.get_value(), np.asarray([low, high]).astype(made.dtype)
    if (value == end).any() and first != end:  # rounded to a narrower dtype
        made.set_value(np.where(value == end, np.nextafter(end, first), value))
    return made


def random_normal_variable(shape, mean, scale, dtype=None, name=None, seed=None):
    """A variable with normal values of the given mean and standard deviation.

    Parameters
    ----------
    shape : tuple of int
        Every size is known.
    mean, scale : float
        The mean, and the standard deviation, at least 0.
    dtype : str, optional
        A float dtype, floatx() by default.
    name : str, optional
        What messages call it.
    seed : int, optional
        Of the draws; without one it follows from `set_random_seed` or from NumPy's global
        generator.

    Returns
    -------
    Variable
        Drawn once, here.

    Raises
    ------
    DTypeError
        For integers.
    ArgumentError
        For a negative `scale`.

    Examples
    --------
    >>> v = K.random_normal_variable((2, 3), 5.0, 0.0, seed=1)
    >>> K.get_value(v)
    array([[5., 5., 5.],
           [5., 5., 5.]], dtype=float32)
    """
    mean, scale = given.number(mean, "mean"), given.number(scale, "scale")
    if not scale >= 0:
        raise ArgumentError(f"scale is the standard deviation, at least 0, not {scale!r}")
    return _drawn(generator(seed).normal(mean, scale, known_shape(shape)), dtype, name)


def _drawn(value, dtype, name):
    dtype = float_dtype(dtype)
    if not dtypes.is_inexact(dtype):
        raise DTypeError(f"random variables are floats, not {dtype}")
    return Variable(np.asarray(value).astype(dtype), name)
