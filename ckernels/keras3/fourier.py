"""Fourier transforms of nodes along their last axis, as programs in C run and export them.

A transform of complex rows is the engine's where the length is a power of two that it has in C;
other lengths are made of two factors, and small ones and small primes are products with the matrix
of roots of unity. Rows whose length has a large prime in it, or is not known, stay with the
library that NumPy programs take. Real rows of even length are complex ones of half of it.
"""

import math

import numpy as np

from .. import ops
from ..ops.spectra import LENGTHS
from .values import node_of

SMALL = 24  # up to here a product is less work than two transforms and what lies between them
PRIME = 512  # the largest matrix of roots of unity


def factors(n):
    """(a, b) of n = a b, of which transforms of n elements are made; None: where they are not."""
    twos = min(n & -n, LENGTHS[-1])
    if twos in LENGTHS:
        return n // twos, twos
    a = next(a for a in range(math.isqrt(n), 0, -1) if n % a == 0)
    return (a, n // a) if a > 1 else None


def real_in_c(n):
    """Whether real rows of n elements are transformed here, and no slower than by a library."""
    if n is None or n <= SMALL:
        return n is not None
    half = n // 2
    twos = min(half & -half, LENGTHS[-1])
    return n % 2 == 0 and (half <= SMALL or twos in LENGTHS and half // twos <= SMALL)


def in_c(n):
    """Whether transforms of n elements need no library."""
    if n is None:
        return False
    if n in LENGTHS or n <= SMALL:
        return True
    found = factors(n)
    return n <= PRIME if found is None else all(map(in_c, found))


def _roots(turns, n, inverse, dtype):
    """Real and imaginary parts of exp(-2 pi i turns / n), of its conjugate where `inverse`."""
    angle = 2 * np.pi * (turns % n) / n
    sign = 1 if inverse else -1
    return [node_of(part.astype(dtype)) for part in (np.cos(angle), sign * np.sin(angle))]


def _times(re, im, c, s):
    """(re + i im) (c + i s)"""
    return (
        ops.sub(ops.mul(re, c), ops.mul(im, s)),
        ops.add(ops.mul(re, s), ops.mul(im, c)),
    )


def transform(re, im, inverse=False):
    """Parts of the unscaled transform, along the last axis, of what has the parts re and im."""
    n = re.shape[-1]
    if n in LENGTHS or not in_c(n):
        found = ops.fft(ops.complex_of(re, im), (-1,), inverse)
        return ops.real(found), ops.imag(found)
    halves = factors(n) if n > SMALL else None
    if halves is None:
        c, s = _roots(np.outer(np.arange(n), np.arange(n)), n, inverse, re.dtype)
        return (
            ops.sub(ops.matmul(re, c), ops.matmul(im, s)),
            ops.add(ops.matmul(re, s), ops.matmul(im, c)),
        )
    # every a-th element from r on is a row of b; of element k of all rows, turned by r k, one of a
    a, b = halves
    sizes = [ops.size_of(re, k) for k in range(re.ndim - 1)]
    order = [*range(re.ndim - 1), re.ndim, re.ndim - 1]
    re, im = (ops.transpose(ops.reshape(x, [*sizes, b, a]), order) for x in (re, im))
    re, im = transform(re, im, inverse)
    re, im = _times(re, im, *_roots(np.outer(np.arange(a), np.arange(b)), n, inverse, re.dtype))
    re, im = (ops.transpose(x, order) for x in (re, im))
    re, im = transform(re, im, inverse)
    return tuple(ops.reshape(ops.transpose(x, order), [*sizes, n]) for x in (re, im))


def _last(x, *bounds):
    return ops.getitem(x, (Ellipsis, slice(*bounds)))


def _half(x):
    return ops.mul(x, node_of(0.5, x.dtype))


def half(x):
    """Parts of frequencies 0 to n // 2 of real x, unscaled."""
    n = x.shape[-1]
    if n <= SMALL:
        turns = np.outer(np.arange(n), np.arange(n // 2 + 1))
        return tuple(ops.matmul(x, part) for part in _roots(turns, n, False, x.dtype))
    even, odd = _last(x, 0, None, 2), _last(x, 1, None, 2)
    re, im = (ops.concatenate([p, _last(p, 1)], -1) for p in transform(even, odd))
    back_re, back_im = (_last(p, None, None, -1) for p in (re, im))
    c, s = _roots(np.arange(n // 2 + 1), n, False, x.dtype)
    odd = _times(_half(ops.add(im, back_im)), _half(ops.sub(back_re, re)), c, s)
    even = _half(ops.add(re, back_re)), _half(ops.sub(im, back_im))
    return tuple(map(ops.add, even, odd))


def whole(re, im, n):
    """The n real elements, unscaled, of frequencies 0 to n // 2 with the parts re and im."""
    paired = (2 * np.arange(n // 2 + 1)) % n > 0  # others are alone and real
    if n <= SMALL:
        turns = np.outer(np.arange(n // 2 + 1), np.arange(n))
        c, s = _roots(turns, n, True, re.dtype)
        re = ops.mul(re, node_of((1 + paired).astype(re.dtype)))
        im = ops.mul(im, node_of((2 * paired).astype(re.dtype)))
        return ops.sub(ops.matmul(re, c), ops.matmul(im, s))
    im = ops.mul(im, node_of(paired.astype(re.dtype)))
    back_re, back_im = (_last(p, None, 0, -1) for p in (re, im))
    re, im = _last(re, n // 2), _last(im, n // 2)
    odd = _times(
        ops.sub(re, back_re), ops.add(im, back_im), *_roots(np.arange(n // 2), n, True, re.dtype)
    )
    re = ops.sub(ops.add(re, back_re), odd[1])
    im = ops.add(ops.sub(im, back_im), odd[0])
    pairs = ops.stack(transform(re, im, True), -1)
    return ops.reshape(pairs, [*(ops.size_of(re, k) for k in range(re.ndim - 1)), n])
