"""Indexing: Subtensor, IncSubtensor and their advanced relatives.

PyTensor keeps the shape of a key (`idx_list`) in the op and its parts among the inputs; together
they are a NumPy key with nodes in it, which `ckernels.ops.getitem` takes as it is.
"""

import numpy as np

from .... import ops
from ....graph.node import Node, make
from ....ops.shape import sized
from ..checks import specified
from ..registry import translates


def _plain(part):
    """A part of a key: constants of one number as ints, so that slices are static."""
    if isinstance(part, slice):
        bounds = part.start, part.stop, part.step
        return slice(*[None if p is None else _plain(p) for p in bounds])
    if isinstance(part, Node) and part.value is not None and not part.ndim and part.dtype != "bool":
        return int(part.value)
    return part


def _key(op, parts):
    """The NumPy key of an op from its idx_list and the values of its index inputs."""
    parts = list(parts)
    if not hasattr(op, "idx_list"):
        return tuple(_plain(p) for p in parts)
    source = iter(parts)

    def entry(e):
        if isinstance(e, slice):
            return slice(*[None if b is None else next(source) for b in (e.start, e.stop, e.step)])
        return next(source)

    return tuple(_plain(entry(e)) for e in op.idx_list)


def _masked(x, key):
    """`x` with a check that its axes are as long as the constant masks that index them."""
    sizes, axis = [None] * x.ndim, 0
    for part in key:
        mask = isinstance(part, Node) and part.dtype == "bool" and part.value is not None
        count = part.ndim if mask else part is not None
        if mask and axis + count <= x.ndim:
            sizes[axis : axis + count] = part.shape
        axis += count
    asked = [s for s, known in zip(sizes, x.shape) if known is None and s is not None]
    return specified(x, sizes, "Mask") if asked else x


@translates("Subtensor", "AdvancedSubtensor", "AdvancedSubtensor1")
def subtensor(context, op, node, inputs):
    x, *parts = inputs
    key = _key(op, parts)
    return ops.getitem(_masked(x, key), key)


def _filling(static, y, part):
    """`y` with a check that its axes of unknown size are as long as those of `part`, its target."""
    lead = part.ndim - y.ndim
    axes = tuple((k, (0, 1)) for k, size in enumerate(static) if size is None and lead == 0)
    return make("pytensor_agreed", (y, part), {"axes": axes, "error": "indexed"}) if axes else y


def _whole_diagonal(x, key):
    """Whether a key is the diagonal of a square matrix. It is then written by a loop over the
    matrix, which can fuse with others: most matrices of covariances are made so."""
    if len(key) != 2 or x.ndim != 2 or None in x.shape or x.shape[0] != x.shape[1]:
        return False
    whole = np.arange(x.shape[0])
    return all(
        isinstance(i, Node) and i.value is not None and np.array_equal(i.value, whole) for i in key
    )


@translates("IncSubtensor", "AdvancedIncSubtensor", "AdvancedIncSubtensor1")
def inc_subtensor(context, op, node, inputs):
    x, y, *parts = inputs
    key, y = _key(op, parts), ops.cast(y, x.dtype)
    x = _masked(x, key)
    setting = op.set_instead_of_inc
    mask = key[0] if len(key) == 1 else None
    if isinstance(mask, Node) and mask.dtype == "bool" and mask.ndim == x.ndim and not y.ndim:
        mask = specified(mask, sized(x), "Mask")
        return ops.where(mask, y if setting else ops.add(x, y), x)
    if type(op).__name__ != "IncSubtensor":
        y = _filling(node.inputs[1].type.shape, y, ops.getitem(x, key))
    if _whole_diagonal(x, key):
        y = ops.expand(y, (y.ndim,)) if y.ndim else y
        return ops.where(ops.eye(*x.shape, 0, "bool"), y if setting else ops.add(x, y), x)
    if setting:
        return ops.set_subtensor(x, key, y)
    if getattr(op, "ignore_duplicates", False):
        return ops.set_subtensor(x, key, ops.add(ops.getitem(x, key), y))
    return ops.inc_subtensor(x, key, y)
