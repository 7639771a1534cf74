"""The arguments of draws of RandomStreams, checked: seeds, sizes, dtypes, counts.

They are checked before anything is drawn: a draw that fails leaves the streams as they were.
"""

import numbers

import numpy as np

from .. import ops
from ..base import dtypes
from ..base.errors import ArgumentError, DTypeError, ShapeError, UsageError, with_line
from ..graph.node import Node
from ..graph.shapes import show
from ..ops.mrg import M1, M2
from .operands import has_tensor, integer, node_of
from .tensor import Tensor


def state_of(seed):
    """Six int32 from a seed; ArgumentError or UsageError when it is none."""
    if isinstance(seed, numbers.Integral) and not isinstance(seed, bool):
        seed = int(seed)
        if not 0 < seed < M2:
            raise ArgumentError(f"a seed must be in 1 .. {M2 - 1}, got {seed}")
        return np.full(6, seed, "int32")
    several = isinstance(seed, (list, tuple)) or isinstance(seed, np.ndarray) and seed.ndim
    if not several or len(seed) != 6:
        raise UsageError(f"a seed is one integer or six, not {seed!r}")
    words = [integer(word, "a word of the seed") for word in seed]
    for part, m, name in ((words[:3], M1, "first"), (words[3:], M2, "last")):
        if not any(part):
            raise ArgumentError(f"the {name} three words of a seed must not all be 0: {seed!r}")
        if not all(0 <= word < m for word in part):
            raise ArgumentError(
                f"the {name} three words of a seed must be in 0 .. {m - 1}: {seed!r}"
            )
    return np.array(words, "int32")


def sizes_of(size, ndim=None):
    """A list of ints and int64 scalar nodes; errors where a size is known to be below 1."""
    node = getattr(size, "node", None)
    if isinstance(node, Node):
        sizes = _spread(node, ndim)
    elif isinstance(size, (list, tuple)):
        sizes = [
            ops.cast(_scalar(d), "int64") if has_tensor(d) else integer(d, "a size") for d in size
        ]
    elif isinstance(size, np.ndarray):
        return sizes_of(size.tolist(), ndim)
    else:
        raise UsageError(
            "size must be a tuple of integers and scalar tensors, or an integer vector tensor, "
            f"not {size!r}"
        )
    if any(isinstance(d, int) and d < 1 for d in sizes):
        raise ShapeError(f"the size {size!r} has a dimension below 1")
    if ndim is not None and ndim != len(sizes):
        raise ShapeError(f"ndim is {ndim}, but the size {size!r} has {len(sizes)} dimensions")
    return sizes


def _spread(node, ndim):
    """The entries of an integer vector node, each an int where it is known."""
    if node.ndim != 1 or not dtypes.is_discrete(node.dtype):
        raise UsageError(
            "size must be a tuple or an integer vector, got a "
            f"{node.dtype} tensor of shape {show(node.shape)}"
        )
    known = ops.known_values(node)
    if known is None:
        if ndim is None:
            raise ShapeError(
                "the length of the vector that is the size is unknown; give ndim, the number of "
                "dimensions"
            )
        known = [None] * integer(ndim, "ndim")
    entries = ops.cast(node, "int64")
    return [ops.getitem(entries, k) if d is None else d for k, d in enumerate(known)]


def _scalar(d):
    node = node_of(d, "a size")
    if node.ndim or not dtypes.is_discrete(node.dtype):
        raise with_line(
            ShapeError(
                f"a size must be an integer scalar, got a {node.dtype} tensor of shape "
                f"{show(node.shape)}"
            ),
            node,
        )
    return node


def handle(d):
    """A size as users would give it."""
    return Tensor(d) if isinstance(d, Node) else d


def float_of(dtype, *bounds):
    """The dtype of a draw; for None, what floatx() and the tensors in `bounds` promote to."""
    if dtype is None:
        tensors = [b.dtype for b in bounds if isinstance(b, Node)]
        dtype = dtypes.promote([dtypes.floatx(), *tensors])
    dtype = dtypes.name_of(dtype)
    if not dtypes.is_float(dtype):
        raise DTypeError(f"RandomStreams draws floats, not {dtype}")
    return dtype


def check_fits(sizes, **bounds):
    """ShapeError where one of `bounds` is known to broadcast beyond the size of the draw."""
    for name, bound in bounds.items():
        shape = bound.shape if isinstance(bound, Node) else ()
        known = [d if isinstance(d, int) else None for d in sizes[len(sizes) - len(shape) :]]
        if len(shape) > len(sizes) or any(
            b not in (None, 1, d) and d is not None for b, d in zip(shape, known)
        ):
            size = show([d if isinstance(d, int) else None for d in sizes])
            raise with_line(
                ShapeError(
                    f"{name} of shape {show(shape)} does not broadcast to the size {size} of the "
                    "draw; make the size that of the result"
                ),
                bound,
            )


def count_of(n, what):
    """`n` as an int >= 1."""
    n = integer(n, what)
    if n < 1:
        raise ArgumentError(f"{what} must be at least 1, got {n}")
    return n


def matrix(p, what):
    if p is None:
        raise UsageError(f"{what} is missing: a matrix with probabilities in its rows")
    p = node_of(p, what)
    if p.ndim != 2:
        raise ShapeError(f"{what} must be a matrix, got shape {show(p.shape)}")
    return p


def is_number(value, number):
    return not isinstance(value, Node) and value == number
