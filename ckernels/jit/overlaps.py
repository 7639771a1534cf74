"""Arguments that share memory, each as the part of one array that it is: `u` and `grid`, where a
program keeps `u = grid[1:-1, 1:-1]`. A trace over such parts stores into what they are parts of.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np

ENOUGH = 1000  # candidates that NumPy looks at to tell whether two arrays share an element


class Subarray(NamedTuple):
    """What of the array at `place` among the leaves another leaf is: its elements at `key` (for
    each axis an index, or the bounds of a slice), of all in one row where it is `flat`, with the
    axes `order` of these, and the sizes `shape`."""

    place: int
    flat: bool
    key: tuple
    order: tuple
    shape: tuple

    def of(self, array):
        """That part of an array of NumPy's, or of a traced one."""
        key = tuple([slice(*k) if isinstance(k, tuple) else k for k in self.key])
        found = (array.reshape(-1) if self.flat else array)[(*key, ...)]  # a view, never a number
        if self.order != tuple(range(len(self.order))):
            found = found.transpose(self.order)
        if self.flat:
            return found if len(self.shape) == 1 else found.reshape(self.shape)
        return found[(*[None if d == 1 else slice(None) for d in self.shape], ...)]


def folded(array):
    """Whether elements of an array may share memory with one another: from the axis of the smallest
    stride on, each has to step over all that those before it reach."""
    reach = array.itemsize
    for step, size in sorted((abs(s), d) for s, d in zip(array.strides, array.shape) if d > 1):
        if step < reach:
            return array.size > 0
        reach += step * (size - 1)
    return False


def share_memory(a, b):
    """Whether two arrays have an element in common, or may have one that is hard to find."""
    return np.may_share_memory(a, b) and np.may_share_memory(a, b, max_work=ENOUGH)


def parts(leaves):
    """(the leaves and behind them arrays of which some are parts, {place of a leaf: its Subarray});
    None where leaves share memory in a way that is no such part."""
    whole, found = list(leaves), None
    while found is None:
        found = {}
        for group in _groups(whole, share_memory):
            made = next(filter(None, (_parts_of(i, group, whole) for i in group)), None)
            if made is None:
                owners = [_owner(whole[i]) for i in group]
                more = [x for x in owners if not any(x is y for y in whole)]
                if not more:
                    return None
                whole, found = [*whole, more[0]], None
                break
            found.update(made)
    return whole, found


def places(leaves):
    """{number of an array: (number of one, how many bytes it lies behind that, its strides)} of
    those whose bytes lie among one another's, whether they share any or not."""
    found = {}
    for group in _groups(leaves, np.may_share_memory):
        home = _address(leaves[group[0]])
        found.update((i, (group[0], _address(leaves[i]) - home, leaves[i].strides)) for i in group)
    return found


def _address(array):
    return array.__array_interface__["data"][0]


def _parts_of(place, group, whole):
    """{place of a leaf: its Subarray} of a group whose others are parts of one; or None."""
    if len({whole[i].flags.writeable for i in group}) > 1:
        return None  # a store through some of them raises
    made = {i: _part(place, whole[place], whole[i]) for i in group if i != place}
    return None if None in made.values() else made


def _groups(whole, share):
    """The places of arrays that share memory with others, as `share` tells of two, in groups that
    share none."""
    groups = []
    for pair in combinations([i for i, x in enumerate(whole) if isinstance(x, np.ndarray)], 2):
        if share(*[whole[i] for i in pair]):
            met = [g for g in groups if not g.isdisjoint(pair)]
            groups = [g for g in groups if g.isdisjoint(pair)] + [set(pair).union(*met)]
    return [sorted(g) for g in groups]


def _owner(array):
    """The array whose memory a view is of; itself where it is none, or of one of another class."""
    while type(array.base) is np.ndarray:
        array = array.base
    return array


def _part(place, root, array):
    """The Subarray of `root` that `array` is, or None."""
    if array.dtype != root.dtype or folded(root) or min(root.strides, default=0) < 0:
        return None
    found = _along_axes(root, array)
    flat = found is None and root.flags.c_contiguous
    if flat:
        found = _along_axes(root.reshape(-1), _as_row(array))
    if found is None or (flat and array.ndim != 1 and _step(found[0]) != 1):
        return None  # of a row with gaps no other shape is known to be a view
    return Subarray(place, flat, *found, array.shape)


def _step(key):
    return key[0][2] if isinstance(key[0], tuple) else 1


def _as_row(array):
    """An array whose elements lie at equal distances in one row, as that row; else itself."""
    row = array.reshape(-1)
    return row if share_memory(row, array) else array


def _along_axes(root, array):
    """(key, order) by which a part of `root` is `array`, but for axes of 1; or None."""
    offset = _address(array) - _address(root)
    if offset < 0:
        return None
    strides = dict(sorted(((s, a) for a, s in enumerate(root.strides) if root.shape[a] > 1),
                          reverse=True))  # fmt: skip
    key = [0] * root.ndim
    for stride, axis in strides.items():
        key[axis] = offset // stride
        offset %= stride
        if key[axis] >= root.shape[axis]:
            return None
    axes = []
    for step, size in zip(array.strides, array.shape):
        if size == 1:
            continue
        axis = next((a for s, a in strides.items() if abs(step) >= s), None)
        if axis is None or axis in axes or step % root.strides[axis]:
            return None
        axes.append(axis)
        turn = step // root.strides[axis]
        stop = key[axis] + turn * size
        if not 0 <= stop - turn < root.shape[axis]:
            return None
        key[axis] = key[axis], stop if stop >= 0 else None, turn
    if offset:
        return None
    return tuple(key), tuple(map(sorted(axes).index, axes))
