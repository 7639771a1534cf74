"""Random chains of views: what is said to be the sum of the same elements is."""

import numpy as np

from ckernels import ops
from ckernels.graph.node import constant
from ckernels.rewrite import optimise
from ckernels.rewrite.factors import inside
from ckernels.rewrite.places import reduced_axes

from .helpers import placeholder

SHAPES = [(2, 3, 4), (4, 4), (3, 2), (5,), (2, 2, 2), (1, 3)]


def pick(rng, items):
    return items[int(rng.integers(len(items)))]


def view(rng, shape):
    """A random view of a tensor of `shape`: a function of nodes and arrays."""
    kind = pick(rng, ["turn", "turn", "cut", "cut", "shape", "new", "gather"])
    if kind == "turn":
        perm = tuple(int(k) for k in rng.permutation(len(shape)))
        return lambda s: s.transpose(perm) if is_array(s) else ops.transpose(s, perm)
    if kind == "cut":
        parts = [(None, None, -1), (None, None, 1), (1, None, 1), (None, -1, 1), (None, None, 2)]
        keep = [pick(rng, parts[: 2 if n < 3 else 5]) for n in shape]
        return lambda s: s[tuple(slice(*k) for k in keep)]
    if kind == "shape":
        n = int(np.prod(shape))
        wanted = pick(rng, [(n,), (n // 2, 2), (2, n // 2), shape[::-1], (n, 1)])
        wanted = wanted if np.prod(wanted) == n else (n,)
        return lambda s: s.reshape(wanted) if is_array(s) else ops.reshape(s, wanted)
    if kind == "new":
        axis = int(rng.integers(len(shape) + 1))
        return lambda s: np.expand_dims(s, axis) if is_array(s) else ops.expand(s, axis)
    index = rng.integers(0, shape[0], pick(rng, [2, 3]))
    return lambda s: s[index] if is_array(s) else ops.take(s, constant(index), 0)


def is_array(s):
    return isinstance(s, np.ndarray)


def chain(rng, shape):
    array, views = np.zeros(shape), []
    for _ in range(int(rng.integers(1, 5))):
        one = view(rng, array.shape)
        if 0 < one(array).size and one(array).ndim < 5:
            views.append(one)
            array = one(array)
    return views


def through(views, s):
    for one in views:
        s = one(s)
    return s


def sets(array, axes):
    """What lies along `axes`, in order of its size; the axes stay with one element."""
    moved = np.moveaxis(array, axes, range(-len(axes), 0))
    moved = np.sort(moved.reshape(*moved.shape[: array.ndim - len(axes)], -1))
    return np.expand_dims(moved, axes)


def test_the_same_elements():
    """A sum over random axes behind random views, beside exps of the same or another chain."""
    rng, found, told = np.random.default_rng(3), 0, 0
    for _ in range(500):
        shape = pick(rng, SHAPES)
        x, numbers = placeholder("float64", shape, "x"), np.arange(np.prod(shape)).reshape(shape)
        one = chain(rng, shape)
        other = one if rng.random() < 0.6 else chain(rng, shape)[:1] + one[1:]
        try:
            e, seen = through(one, ops.exp(x)), through(one, numbers)
            top, shown = through(other, ops.exp(x)), through(other, numbers)
        except Exception:  # a view that does not fit another shape
            continue
        axes = tuple(k for k in range(e.ndim) if rng.random() < 0.6)
        if not axes or shown.shape != seen.shape:
            continue
        total = optimise([ops.sum(e, axes, keepdims=True)])[0]
        top = inside(top) if top.op.name != "exp" else top
        said = reduced_axes(total, "sum", top)
        same = np.array_equal(sets(seen, axes), sets(shown, axes))
        wide = [k for k in axes if seen.shape[k] > 1]
        if said is not None:
            assert same and (not wide or said == tuple(wide)), (shape, axes, said)
            told += 1
        found += same and bool(wide)
    assert told > 0.9 * found and 100 < found < 450, (told, found)


def test_near_misses():
    """Another part or order in the same form, and parts that a view takes apart."""
    x = placeholder("float64", (7,), "x")
    e = ops.exp(x)

    def pairs(s):
        return ops.reshape(s, (3, 2))

    total = ops.sum(pairs(e[:6]), (1,), keepdims=True)
    assert reduced_axes(total, "sum", pairs(e[:6])) == (1,)
    assert reduced_axes(total, "sum", pairs(e[1:])) is None
    assert reduced_axes(ops.sum(e, (0,), keepdims=True), "sum", pairs(e[:6])) is None
    assert reduced_axes(total, "sum", e[:3]) is None
    square = ops.exp(placeholder("float64", (2, 3), "y"))
    turned = pairs(ops.transpose(square))
    total = ops.sum(turned, (1,), keepdims=True)
    assert reduced_axes(total, "sum", turned) == (1,)
    assert reduced_axes(total, "sum", pairs(square)) is None
    cube = ops.exp(placeholder("float64", (2, 2, 2), "z"))
    one, other = (
        ops.reshape(ops.transpose(cube, order), (4, 2)) for order in ((1, 0, 2), (2, 1, 0))
    )
    total = ops.sum(one, (1,), keepdims=True)
    assert reduced_axes(total, "sum", one) == (1,)
    assert reduced_axes(total, "sum", other) is None
