"""How examples of rules are written: graphs of a placeholder, with its shape and dtype."""

import numpy as np

from ckernels import ops
from ckernels.graph.node import constant, make

F = "float64"
WHOLE = (None, None, 1)


def dense(*shape):
    """Ordinary numbers, all different."""
    return np.random.default_rng(len(shape)).normal(size=shape)


def view(op, x, **attrs):
    return make(op, (x,), attrs)


def at(*indices):
    return constant(np.array(indices, dtype="int64"))


def to(x, *shape):
    return make("broadcast_to", (x, constant(np.array(shape, dtype="int64"))))


def whole(x):
    return ops.cast(ops.mul(x, 100), "int64")


def as_shape(x, *shape):
    return make("reshape", (x, constant(np.array(shape, dtype="int64"))))


def tensor_exact(fn, *shape, dtype=F):
    return fn, shape, dtype, True


def turn(x, *perm):
    return view("transpose", x, perm=perm)


def turned(x):
    """`x` with its last two axes exchanged."""
    return ops.transpose(x, (0, 2, 1))


def close(fn, *shape, dtype=F):
    return fn, shape, dtype, False


def image(x, *perm):
    """An image (2, 3, 7) of `x`, transposed."""
    return turn(to(x, 2, 3, 7), *perm)


E, C = tensor_exact, close
ints = "int32"
# Reductions that nest, and a dtype of each; views of two axes that they look through.
NESTED = {"sum": F, "prod": F, "max": F, "min": F, "any": "bool", "all": "bool"}
VIEWED = [
    lambda x: turn(x, 1, 0),
    lambda x: view("expand", x, axes=(1,)),
    lambda x: ops.slice_(x, [(None, None, -1), (None, None, 1)]),
    lambda x: as_shape(x, 3, 2),
    lambda x: to(x, 2, 2, 3),
]
