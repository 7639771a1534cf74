"""Random numbers: Threefry2x32-20 (Salmon et al. 2011), counter based: element i needs only i.

A state is an int64 vector (seed, stream, call). Element i of a tensor (C order) enciphers the
counter c0 = low32(i), c1 = low32(call) ^ rotl32(high32(i), 16) under the key k0 = low32(seed), k1 =
low32(stream), and gets two words r0, r1. From them:
  bits     uint32: r0; uint64: r0 + 2**32 r1
  uniform  float32: (r0 >> 8) 2**-24; float64: ((r0 >> 5) 2**26 + (r1 >> 6)) 2**-53
  normal   float32: u = ((r0 >> 8) + 1) 2**-24; float64: u = (r0 + 1) 2**-32; both sqrt(-2 log u)
  cos(2 pi r1 2**-32)
The C side has the same as ck_random_{bits,uniform,normal}_<suffix>(i, seed, stream, call).
"""

import math
import numbers

import numpy as np

from ..base import dtypes
from ..base.errors import DTypeError, ShapeError
from ..graph.node import Node, constant, make
from ..graph.op import Op
from ..graph.shapes import show
from .base import cast, expand, is_weak, scalar, to_node
from .elementwise import add, clip, floor, maximum, minimum, mul, sub, where
from .filling import arange
from .indexing.keys import getitem
from .joining import concatenate
from .logic import eq, ge, le, lt
from .movement import broadcast_to, shape, vector_values
from .reduce import sum
from .running import cumsum
from .shape import shape_vector, size_of, sized
from .sort import argsort
from .special import erfinv

__all__ = [
    "random_bits",
    "random_uniform",
    "random_normal",
    "uniform",
    "without_end",
    "normal",
    "bernoulli",
    "binomial",
    "truncated_normal",
    "random_integers",
    "categorical",
    "multinomial",
    "permutation",
    "threefry2x32",
]  # fmt: skip

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_LOW = 0xFFFFFFFF


def threefry2x32(k0, k1, c0, c1):
    """Threefry2x32 with 20 rounds on uint32 arrays (broadcast): the two words of each counter."""
    with np.errstate(over="ignore"):
        k0, k1, c0, c1 = (np.asarray(a, dtype=np.uint32) for a in (k0, k1, c0, c1))
        keys = (k0, k1, _PARITY ^ k0 ^ k1)
        x0, x1 = c0 + keys[0], c1 + keys[1]
        for group in range(5):
            for r in _ROTATIONS[group % 2]:
                x0 = x0 + x1
                x1 = (x1 << np.uint32(r)) | (x1 >> np.uint32(32 - r))
                x1 = x1 ^ x0
            x0 = x0 + keys[(group + 1) % 3]
            x1 = x1 + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x0, x1


def words(state, count, first=0):
    """The words (r0, r1) of elements first .. first + count of the draw `state`."""
    seed, stream, call = (int(w) for w in state)
    i = np.arange(first, first + count, dtype=np.uint64)
    high = (i >> np.uint64(32)).astype(np.uint32)
    folded = (high << np.uint32(16)) | (high >> np.uint32(16))
    return threefry2x32(
        seed & _LOW,
        stream & _LOW,
        (i & np.uint64(_LOW)).astype(np.uint32),
        np.uint32(call & _LOW) ^ folded,
    )


def bits_of(r0, r1, dtype):
    if dtype == "uint32":
        return r0
    return r0.astype(np.uint64) | (r1.astype(np.uint64) << np.uint64(32))


def uniform_of(r0, r1, dtype):
    if dtype == "float32":
        return (r0 >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
    return ((r0 >> np.uint32(5)) * 67108864.0 + (r1 >> np.uint32(6))) * 2.0**-53


def normal_of(r0, r1, dtype):
    if dtype == "float32":
        u = ((r0 >> np.uint32(8)).astype(np.float64) + 1) * 2.0**-24
    else:
        u = (r0.astype(np.float64) + 1) * 2.0**-32
    # The quadrant comes from the top bits, so that the cosine is exact near its zeros too.
    quarter = ((r1.astype(np.uint64) + np.uint64(1 << 29)) >> np.uint64(30)).astype(np.int64)
    angle = (r1.astype(np.float64) - quarter * 2.0**30) * (math.pi / 2 * 2.0**-30)
    cosine = np.choose(quarter & 3, [np.cos(angle), -np.sin(angle), -np.cos(angle), np.sin(angle)])
    return (np.sqrt(-2 * np.log(u)) * cosine).astype(dtype)


def drawn_shape(name, vector):
    """The sizes of a draw as a tuple; ShapeError where one is negative."""
    shape = tuple(int(d) for d in vector)
    if any(d < 0 for d in shape):
        raise ShapeError(f"{name}: shape {show(shape)} has a negative size")
    return shape


def _generator(name, values, accepts, doc):
    def infer(attrs, state, vector):
        if state.dtype != "int64" or state.shape != (3,):
            raise ShapeError(
                f"{name} needs a state of 3 int64 words, got {state.dtype} of shape "
                f"{show(state.shape)}"
            )
        known = vector_values(name, vector)
        if any(d is not None and d < 0 for d in known):
            raise ShapeError(f"{name}: shape {show(known)} has a negative size")
        return attrs["dtype"], tuple(known)

    def run(attrs, state, vector):
        shape = drawn_shape(name, vector)
        r0, r1 = words(state, math.prod(shape))
        return values(r0, r1, attrs["dtype"]).reshape(shape)

    op = Op(
        name,
        "elementwise",
        infer,
        run,
        lambda node, g: (None, None),
        cost=15,
        ulp=4 if name == "random_normal" else 0,
        doc=doc,
    )

    def build(state, sizes, dtype=accepts[0]):
        dtype = dtypes.name_of(dtype)
        if dtype not in accepts:
            raise DTypeError(f"{name} makes {' or '.join(accepts)}, not {dtype}")
        return make(
            op, (_state(state), shape_vector(sizes, f"the shape of {name}")), {"dtype": dtype}
        )

    build.__name__ = build.__qualname__ = name
    build.__doc__ = (
        doc + " state: int64 (seed, stream, call); sizes: ints, scalar nodes or a vector."
    )
    return build


def _state(state):
    if isinstance(state, numbers.Integral):
        state = (state, 0, 0)
    if isinstance(state, (tuple, list)):
        return constant(np.array([int(w) for w in state], dtype="int64"))
    return to_node(state, "a random state")


# fmt: off
random_bits = _generator("random_bits", bits_of, ("uint32", "uint64"), "Random words.")
random_uniform = _generator("random_uniform", uniform_of, ("float32", "float64"),
                            "Uniform numbers in [0, 1).")
random_normal = _generator(
    "random_normal", normal_of, ("float32", "float64"), "Standard normal numbers."
)
# fmt: on


def _float_dtype(dtype):
    dtype = dtypes.name_of(dtypes.floatx() if dtype is None else dtype)
    if not dtypes.is_float(dtype):
        raise DTypeError(f"random floats cannot have dtype {dtype}")
    return dtype, dtypes.computed(dtype)


def uniform(state, sizes, low=0.0, high=1.0, dtype=None):
    """Uniform numbers in [low, high)."""
    dtype, wide = _float_dtype(dtype)
    u = random_uniform(state, sizes, wide)
    return without_end(cast(cast(add(mul(u, sub(high, low)), low), wide), dtype), low, high)


def without_end(y, low, high):
    """`y`, rounded from numbers in [low, high), with no element rounded up to `high`.

    Numbers for bounds: what reached `high` becomes the last number of the dtype before it. Tensors:
    it becomes `low`, which rounding gives half a neighbourhood, as it does `high`. A float16 `y`
    must come from a cast: kernels compute in float32 and round only there and where they store.
    """
    if isinstance(low, numbers.Real) and isinstance(high, numbers.Real):
        with np.errstate(over="ignore"):
            first, end = (np.asarray(b).astype(y.dtype) for b in (low, high))
        last = constant(np.nextafter(end, first), y.dtype)
        return y if first == end else (minimum if first < end else maximum)(y, last)
    low, high = (
        cast(
            to_node(b, "a bound of random numbers") if not is_weak(b) else scalar(b, y.dtype),
            y.dtype,
        )
        for b in (low, high)
    )
    return where(where(lt(low, high), ge(y, high), le(y, high)), low, y)


def normal(state, sizes, mean=0.0, std=1.0, dtype=None):
    """Normal numbers of the given mean and standard deviation."""
    dtype, wide = _float_dtype(dtype)
    return cast(add(mul(random_normal(state, sizes, wide), std), mean), dtype)


def bernoulli(state, sizes, p=0.5, dtype=None):
    """1 with probability `p` (broadcast), else 0."""
    return cast(
        lt(random_uniform(state, sizes, "float32"), p),
        dtypes.name_of(dtypes.floatx() if dtype is None else dtype),
    )


def binomial(state, sizes, n=1, p=0.5, dtype=None):
    """The number of successes in `n` (an int) trials of probability `p`."""
    if n == 1:
        return bernoulli(state, sizes, p, dtype)
    if not isinstance(n, numbers.Integral) or n < 0:
        raise ShapeError(f"binomial needs a static count of trials >= 0, got {n!r}")
    vector = shape_vector(sizes)
    draws = bernoulli(
        state,
        concatenate([vector, constant(np.array([n], "int64"))]),
        expand(to_node(p), (to_node(p).ndim,)),
        "int64",
    )
    return cast(sum(draws, -1), dtypes.name_of(dtypes.floatx() if dtype is None else dtype))


def truncated_normal(state, sizes, mean=0.0, std=1.0, dtype=None):
    """Normal numbers within two standard deviations of the mean: the inverse of their cdf."""
    dtype, wide = _float_dtype(dtype)
    u = random_uniform(state, sizes, wide)
    z = mul(erfinv(mul(sub(mul(u, 2), 1), math.erf(2 / math.sqrt(2)))), math.sqrt(2))
    return cast(add(mul(clip(z, -2.0, 2.0), std), mean), dtype)


def random_integers(state, sizes, low, high, dtype="int64"):
    """Integers in [low, high), all equally likely."""
    u = random_uniform(state, sizes, "float64")
    return cast(add(floor(mul(u, sub(high, low))), low), dtype)


def categorical(state, p):
    """An index drawn with the probabilities `p` in the last axis (they need not add up to 1)."""
    p = to_node(p, "categorical")
    p = cast(p, dtypes.to_float(p.dtype))
    if p.ndim == 0:
        raise ShapeError("categorical needs probabilities in a last axis, got a scalar")
    edges = cumsum(p, -1)
    u = random_uniform(state, getitem(shape(p), slice(None, -1)), "float64")
    total = getitem(edges, (Ellipsis, slice(-1, None)))
    below = ge(mul(expand(u, (u.ndim,)), total), edges)
    # Rounding may put u * total on the last edge; the last class takes it.
    return clip(sum(below, -1), 0, sub(size_of(p, p.ndim - 1), 1))


def multinomial(state, p, n=1, dtype=None):
    """How often each class comes up in `n` draws with the probabilities `p` in the last axis."""
    p = to_node(p, "multinomial")
    if not p.ndim:
        raise ShapeError("multinomial needs the probabilities of all classes, got a scalar")
    classes = arange(0, size_of(p, p.ndim - 1), 1, "int64")
    many = (
        p
        if n == 1
        else broadcast_to(
            expand(p, (p.ndim - 1,)), sized(p, range(p.ndim - 1)) + [n, size_of(p, p.ndim - 1)]
        )
    )
    drawn = categorical(state, many)
    hot = cast(eq(expand(drawn, (drawn.ndim,)), classes), "int64")
    return cast(
        hot if n == 1 else sum(hot, -2), dtypes.name_of(dtypes.floatx() if dtype is None else dtype)
    )


def permutation(state, n):
    """The integers below `n` (int or scalar node) in random order: an argsort of random words."""
    if not isinstance(n, Node) and n < 0:
        raise ShapeError(f"the n of permutation is at least 0, not {n}")
    return argsort(random_bits(state, (n,), "uint64"))
