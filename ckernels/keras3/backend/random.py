"""keras.ops.random: draws of the engine's counter generator from Keras's seeds.

A seed is two words; draws from it are the same numbers of arrays and in a traced step. The third
word of the generator's state is 0: a seed is drawn from once, and Keras makes a new one each time.
"""

import numpy as np
from keras.src import backend
from keras.src.random.seed_generator import SeedGenerator, draw_seed, make_default_seed

from ... import ops
from ...base.errors import NotSupported
from ..casts import standardize_dtype
from ..eager import compiled
from ..rows import wrapped
from ..values import (
    Symbolic,
    cast,
    convert_to_tensor,
    has_traced,
    is_tensor,
    node_of,
    shape,
    size_vector,
)
from .elementwise import log, logical_and, where
from .reductions import argmax, sum
from .shaping import arange, broadcast_to, expand_dims, take

__all__ = [
    "SeedGenerator", "beta", "binomial", "categorical", "draw_seed", "dropout", "gamma",
    "make_default_seed", "normal", "randint", "shuffle", "truncated_normal", "uniform",
]  # fmt: skip


def _state(seed):
    """The node or array of (seed, stream, 0) in int64; seed may be drawn already."""
    words = seed if is_tensor(seed) else draw_seed(seed)
    if isinstance(words, Symbolic):
        return Symbolic(ops.concatenate([ops.cast(words.node, "int64"), node_of([0], "int64")]))
    return np.array([*np.asarray(words).tolist(), 0], "int64")


def _drawn(draw, seed, shape, dtype, *operands):
    """`draw`(state, sizes, dtype, *operands) of values, or of nodes where something is traced."""
    state = _state(seed)
    wide = "float64" if dtype == "float64" else "float32"
    if has_traced(state, *shape, *operands):
        found = draw(node_of(state), size_vector(shape), wide, *map(node_of, operands))
        return cast(wrapped(found), dtype)
    sizes = tuple(int(s) for s in shape)
    return cast(compiled(_of_sizes, state, *operands, draw=draw, sizes=sizes, dtype=wide), dtype)


def _of_sizes(state, *operands, draw, sizes, dtype):
    return draw(state, list(sizes), dtype, *operands)


def _scaled(drawn, mean, stddev):
    """Draws of float32 or float64 in the dtype that was asked for, stretched and moved there."""
    return ops.add(ops.mul(ops.cast(drawn, mean.dtype), stddev), mean)


def _normals(state, sizes, dtype, mean, stddev):
    return _scaled(ops.random_normal(state, sizes, dtype=dtype), mean, stddev)


def _uniforms(state, sizes, dtype, low, high):
    """Draws that rounding brought to the upper bound are the lower one."""
    drawn = _scaled(ops.random_uniform(state, sizes, dtype=dtype), low, ops.sub(high, low))
    beyond = ops.logical_and(ops.ge(drawn, high), ops.gt(high, low))
    return ops.where(beyond, low, drawn)


def normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    return _of_two(_normals, shape, mean, stddev, dtype, seed)


def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    return _of_two(_uniforms, shape, minval, maxval, dtype, seed)


def _of_two(draw, shape, first, second, dtype, seed):
    """Draws by two numbers, in their dtype."""
    dtype = standardize_dtype(dtype or backend.floatx())
    numbers = convert_to_tensor(first, dtype), convert_to_tensor(second, dtype)
    return _drawn(draw, seed, shape, dtype, *numbers)


def categorical(logits, num_samples, dtype="int64", seed=None):
    """Gumbel's maxima: the largest of logits plus -log(-log(uniform))."""
    logits = convert_to_tensor(logits)
    sizes = [*_sizes(logits)[:-1], num_samples, logits.shape[-1]]
    drawn = uniform(sizes, np.finfo("float32").tiny, 1.0, "float32", seed)
    return cast(argmax(expand_dims(logits, -2) - log(-log(drawn)), -1), dtype)


def _sizes(x):
    return shape(x)


def _integers(state, sizes, dtype, low, high):
    return ops.random_integers(state, sizes, low, high, dtype="int64")


def randint(shape, minval, maxval, dtype="int32", seed=None):
    low, high = convert_to_tensor(minval, "int64"), convert_to_tensor(maxval, "int64")
    state = _state(seed)
    if has_traced(state, low, high, *shape):
        found = _integers(node_of(state), size_vector(shape), None, node_of(low), node_of(high))
        return cast(Symbolic(found), dtype)
    sizes = tuple(int(s) for s in shape)
    found = compiled(_of_sizes, state, low, high, draw=_integers, sizes=sizes, dtype="int64")
    return cast(found, dtype)


def _cut_normals(state, sizes, dtype, mean, stddev):
    return _scaled(ops.truncated_normal(state, sizes, dtype=dtype), mean, stddev)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Normals within two standard deviations."""
    return _of_two(_cut_normals, shape, mean, stddev, dtype, seed)


def _at_least(state, sizes, dtype, rate):
    return ops.ge(ops.random_uniform(state, sizes, dtype=dtype), rate)


def dropout(inputs, rate, noise_shape=None, seed=None):
    x = convert_to_tensor(inputs)
    sizes = list(_sizes(x))
    if noise_shape is not None:
        sizes = [s if n is None else n for s, n in zip(sizes, noise_shape)]
    kept = _drawn(_at_least, seed, sizes, "bool", convert_to_tensor(rate, "float32"))
    if noise_shape is not None:
        kept = broadcast_to(kept, _sizes(x))
    return where(kept, x / convert_to_tensor(1 - rate, x.dtype), convert_to_tensor(0, x.dtype))


def shuffle(x, axis=0, seed=None):
    x = convert_to_tensor(x)
    state = _state(seed)
    if has_traced(x, state):
        order = Symbolic(ops.permutation(node_of(state), _count(x, axis)))
    else:
        order = compiled(_orders, state, count=x.shape[axis])
    return take(x, order, axis)


def _count(x, axis):
    return ops.size_of(node_of(x), axis)


def _orders(state, count):
    return ops.permutation(state, count)


# ---- draws by rejection --------------------------------------------------------------------------

TURNS = 8  # of the rejection sampler: each refuses below 5 %, all of them 4e-11


def _gammas(state, sizes, dtype, alpha):
    """Marsaglia and Tsang 2000, with a fixed number of turns; alpha below 1 by a power."""
    boosted = ops.where(ops.lt(alpha, 1), ops.add(alpha, 1), alpha)
    d = ops.sub(boosted, 1 / 3)
    c = ops.true_div(1.0, ops.sqrt(ops.mul(d, 9.0)))
    done = None
    for turn in range(TURNS):
        done = _proposal(_later(state, 2 * turn), sizes, dtype, d, c, done)
    found = done[1]
    share = ops.maximum(
        ops.random_uniform(_later(state, 2 * TURNS), sizes, dtype=dtype),
        float(np.finfo(dtype).tiny),
    )
    power = ops.pow(share, ops.true_div(1.0, alpha))
    return ops.mul(found, ops.where(ops.lt(alpha, 1), power, ops.ones_like(power)))


def _later(state, turn):
    """The state of a further draw from the same seed."""
    return ops.add(state, node_of(np.array([0, 0, turn], "int64")))


def _proposal(state, sizes, dtype, d, c, found):
    x = ops.random_normal(state, sizes, dtype=dtype)
    u = ops.random_uniform(_later(state, 1), sizes, dtype=dtype)
    v = ops.pow(ops.add(ops.mul(c, x), 1.0), 3)
    positive = ops.gt(v, 0)
    safe = ops.where(positive, v, 1.0)
    bound = ops.add(
        ops.mul(ops.sqr(x), 0.5), ops.mul(d, ops.add(ops.sub(1.0, safe), ops.log(safe)))
    )
    taken = ops.logical_and(positive, ops.lt(ops.log(u), bound))
    value = ops.mul(d, safe)
    before = ops.broadcast_like(d, value) if found is None else found[1]
    accepted = taken if found is None else ops.logical_or(found[0], taken)
    return accepted, (value if found is None else ops.where(found[0], before, value))


def gamma(shape, alpha, dtype=None, seed=None):
    dtype = standardize_dtype(dtype or backend.floatx())
    return _drawn(_gammas, seed, shape, dtype, convert_to_tensor(alpha, _wide(dtype)))


def _wide(dtype):
    return "float64" if dtype == "float64" else "float32"


def binomial(shape, counts, probabilities, dtype=None, seed=None):
    dtype = standardize_dtype(dtype or backend.floatx())
    counts, p = (convert_to_tensor(x, _wide(dtype)) for x in (counts, probabilities))
    most = int(np.max(counts)) if not isinstance(counts, Symbolic) else None
    if most is None:
        raise NotSupported("keras.random.binomial takes counts that are not traced")
    drawn = uniform([*shape, most], dtype=_wide(dtype), seed=seed)
    hit = drawn < expand_dims(broadcast_to(p, shape), -1)
    tried = arange(most, dtype=_wide(dtype)) < expand_dims(broadcast_to(counts, shape), -1)
    return cast(sum(cast(logical_and(hit, tried), "int32"), -1), dtype)


def _betas(state, sizes, dtype, a, b):
    first = _gammas(state, sizes, dtype, a)
    second = _gammas(_later(state, 1000), sizes, dtype, b)
    return ops.true_div(first, ops.add(first, second))


def beta(shape, alpha, beta, dtype=None, seed=None):
    dtype = standardize_dtype(dtype or backend.floatx())
    a, b = (convert_to_tensor(x, _wide(dtype)) for x in (alpha, beta))
    return _drawn(_betas, seed, shape, dtype, a, b)
