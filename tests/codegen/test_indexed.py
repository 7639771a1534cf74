"""Gathers and scatters, compiled: dtypes, shapes, layouts, threads, wrong indices."""
# ruff: noqa: B023  (lambdas made in loops are called there)

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.base.errors import IndexOutOfBounds
from ckernels.graph.node import constant
from ckernels.runtime.function import make_function

from .test_raw import DTYPES, agree, leaf, numbers, run

RNG = np.random.default_rng(0)


# ---- gathers ------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_take_dtypes(dtype, kind):
    low = 0 if kind.startswith("u") else -6
    agree(
        lambda x, i: ops.take(x, i, 1),
        lambda x, i: np.take(x, i.astype("int64"), 1),
        numbers((4, 6, 3), dtype),
        RNG.integers(low, 6, (2, 5)).astype(kind),
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shape", [(6,), (6, 1), (6, 33), (2, 6, 9), (6, 2, 3, 4)])
@pytest.mark.parametrize("index", [(), (1,), (0,), (70,), (3, 4), (1, 5)])
def test_take_shapes(shape, index):
    x, i = numbers(shape), RNG.integers(-3, 3, index)
    for axis in range(len(shape)):
        i = np.clip(i, -shape[axis], shape[axis] - 1).astype("int32")
        agree(lambda x, i: ops.take(x, i, axis), lambda x, i: np.take(x, i, axis), x, i)


def test_no_rows_of_no_elements():
    for rows in (6, 0):
        nothing = np.zeros(0, "int64")
        agree(lambda x, i: ops.take(x, i), np.zeros((0, 0), "float32"), numbers((rows, 0)), nothing)


def test_take_of_views_and_expressions():
    x, i = numbers((40, 50)), RNG.integers(0, 40, 30)
    agree(
        lambda x, i: ops.take(ops.transpose(x, (1, 0)), ops.add(i, 1), 0),
        lambda x, i: x.T[i + 1],
        x,
        i,
    )
    agree(lambda x, i: ops.take(ops.exp(ops.mul(x, 0)), i, 0), np.ones((30, 50), "float32"), x, i)


def test_indices_are_not_widened_first():
    x, i = numbers((40, 50)), RNG.integers(0, 40, 30).astype("int32")
    leaves = [leaf(x), leaf(i)]
    f = make_function(leaves, [ops.getitem(leaves[0], leaves[1])], single=True)
    np.testing.assert_array_equal(f(x, i), x[i])
    assert len(f.info.steps()) == 1


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_take_along_axis(axis):
    for shape, index in [((5, 6, 7), (5, 6, 7)), ((5, 6, 7), (1, 1, 1)), ((1, 6, 1), (5, 1, 7))]:
        index = tuple(9 if k == axis else n for k, n in enumerate(index))
        x, i = numbers(shape), RNG.integers(-shape[axis], shape[axis], index)
        agree(
            lambda x, i: ops.take_along_axis(x, i, axis),
            lambda x, i: np.take_along_axis(*wide(x, i, axis), axis),
            x,
            i,
        )


def wide(x, i, axis):
    rest = np.broadcast_shapes(*(a.shape[:axis] + (1,) + a.shape[axis + 1 :] for a in (x, i)))
    return (np.broadcast_to(a, rest[:axis] + (a.shape[axis],) + rest[axis + 1 :]) for a in (x, i))


KEYS = ["a:", ":a", "aa", "aa:", "a:a", ":aa:", "na:a", "a:an", "a", ":a:", "an", "aaa"]


def keyed(template):
    """(x shape, index shapes, NumPy key builder) for a template."""
    shape = tuple((5, 6, 7, 4)[k] for k in range(len(template.replace("n", ""))))
    count = template.count("a")
    shapes = [(3, 4), (4,), (3, 1)][:count]

    def key(arrays):
        source = iter(arrays)
        return tuple(
            next(source) if t == "a" else None if t == "n" else slice(None) for t in template
        )

    return shape, shapes, key


@pytest.mark.parametrize("template", KEYS)
def test_advanced(template):
    shape, shapes, key = keyed(template)
    indices = [RNG.integers(-4, 4, s) for s in shapes]
    x = numbers(shape)
    part = x[key(indices)]
    agree(lambda x, *i: ops.advanced_take(x, i, template), part, x, *indices)
    for y in (numbers(part.shape), numbers(part.shape[-1:]), numbers(())):
        want = np.array(x)
        where = np.arange(x.size).reshape(x.shape)[key(indices)]
        np.add.at(want.reshape(-1), where, np.broadcast_to(y, where.shape))
        agree(lambda x, y, *i: ops.advanced_inc(x, y, i, template), want, x, y, *indices)
        want = np.array(x)
        for at, v in zip(where.reshape(-1), np.broadcast_to(y, where.shape).reshape(-1)):
            want.reshape(-1)[at] = v  # the last one wins
        agree(lambda x, y, *i: ops.advanced_set(x, y, i, template), want, x, y, *indices)


# ---- scatters -----------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scatter_add(dtype, axis):
    x, i = numbers((5, 6, 7), dtype), RNG.integers(-5, 5, (4, 10)).astype("int32")
    g = numbers(np.take(x, i, axis).shape, dtype)
    want = np.zeros_like(x)
    flat = g.reshape(x.shape[:axis] + (40,) + x.shape[axis + 1 :])
    np.add.at(np.moveaxis(want, axis, 0), i.reshape(-1), np.moveaxis(flat, axis, 0))
    agree(lambda x, i, g: ops.scatter_add(x, i, g, axis), want, x, i, g)


@pytest.mark.parametrize("axis", [0, 1])
def test_put_along_axis_add(axis):
    for shape in [(6, 7), (6, 1), (1, 7)]:
        if shape[axis] == 1:
            continue
        x, i = numbers(shape), RNG.integers(-6, 6, (9, 9))
        g = numbers((9, 9))
        if axis == 0 and shape[1] != 1:
            i, g = i[:, :7], g[:, :7]
        if axis == 1 and shape[0] != 1:
            i, g = i[:6], g[:6]
        want = np.zeros_like(x)
        for at in np.ndindex(g.shape):
            to = [0 if n == 1 else k for n, k in zip(shape, at)]
            to[axis] = i[at]
            want[tuple(to)] += g[at]
        agree(lambda x, i, g: ops.put_along_axis_add(x, i, g, axis), want, x, i, g)


@pytest.mark.parametrize("width", [1, 3, 64])
def test_scatter_is_the_same_for_any_thread_count(width):
    x, i = numbers((3000, width)), RNG.integers(0, 3000, 40000)
    g = RNG.standard_normal((40000, width)).astype("float32")
    want = np.zeros_like(x)
    np.add.at(want, i, g)
    before, found = K.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 8):
            K.set_num_threads(threads)
            found.append(run(lambda x, i, g: ops.scatter_add(x, i, g), x, i, g))
            np.testing.assert_array_equal(found[-1], found[0])
        np.testing.assert_allclose(found[0], want, rtol=1e-5, atol=2e-5)
    finally:
        K.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64"])
def test_many_indices(dtype):
    """Stretches in which all indices are in range, some are negative, one is wrong."""
    x, i = numbers((85,)), RNG.integers(0, 85, 2100).astype(dtype)
    below = i.copy()
    if dtype[0] != "u":
        below[1500] = -85
    for at in (i, np.sort(i), below):
        place = at.astype("int64")
        agree(lambda x, i: ops.advanced_take(x, [i], "a"), x[place], x, at)
        want, y = x.copy(), numbers(2100)
        np.add.at(want, place, y)
        agree(lambda x, y, i: ops.advanced_inc(x, y, [i], "a"), want, x, y, at)
    leaves = [leaf(x), leaf(x), leaf(i)]
    take = make_function([leaves[0], leaves[2]], [ops.advanced_take(leaves[0], [leaves[2]], "a")])
    inc = make_function(leaves, [ops.advanced_inc(leaves[0], leaves[1], [leaves[2]], "a")])
    for where in (0, 700, 1023, 1024, 2099):
        wrong = i.copy()
        wrong[where] = 85
        for f, arrays in ((take, [x, wrong]), (inc, [x, numbers(2100), wrong])):
            with pytest.raises(IndexOutOfBounds, match="index 85 is out of bounds"):
                f(*arrays)


@pytest.mark.parametrize("n", range(10))
def test_few_additions(n):
    """Each index is seen once, whatever is left of a division by four."""
    i, y, want = RNG.integers(-3, 3, n), numbers(n), np.zeros(3, "float32")
    np.add.at(want, i, y)
    agree(lambda y, i: ops.scatter_add(constant(np.zeros(3, "float32")), i, y), want, y, i)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "int64"])
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint32", "int64"])
def test_tables_and_indices_of_any_width(dtype, kind):
    """Negative ones and one that does not fit, somewhere in long stretches and in short ones."""
    table = RNG.integers(0, 2, 100).astype(dtype)
    index, x = leaf(np.zeros(0, kind)), leaf(table)
    f = make_function([x, index], [ops.take(x, index)], single=True, downcast=False)
    for n in (0, 5, 40, 3000):
        i = RNG.integers(0, 100, n).astype(kind)
        np.testing.assert_array_equal(f(table, i), table[i])
        np.testing.assert_array_equal(f(table[::-1], i[::-2]), table[::-1][i[::-2]])
        if n and not kind.startswith("u"):
            i[-2:] = -1, -100
            np.testing.assert_array_equal(f(table, i), table[i])
        for wrong in (100, np.iinfo(kind).max, np.iinfo(kind).min)[: 3 * bool(n)]:
            if not -100 <= wrong < 100:
                with pytest.raises(IndexOutOfBounds):
                    f(table, np.concatenate([i, np.array([wrong], kind)]))


# ---- wrong indices ------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [6, -7, 2**31 - 1])
def test_out_of_range_is_an_error_with_a_line(wrong):
    x, i = numbers((4, 6)), np.array([0, wrong, 2], "int32")
    for build in (
        lambda x, i: ops.take(x, i, 1),
        lambda x, i: ops.advanced_take(x, [i], ":a"),
        lambda x, i: ops.take_along_axis(x, ops.expand(i, (0,)), 1),
        lambda x, i: ops.advanced_set(x, constant(np.float32(0)), [i], ":a"),
        lambda x, i: ops.scatter_add(x, i, ops.take(x, ops.maximum(ops.minimum(i, 2), 0), 1), 1),
    ):
        leaves = [leaf(x), leaf(i)]
        f = make_function(leaves, [build(*leaves)], single=True)
        with pytest.raises(IndexOutOfBounds) as found:
            f(x, i)
        assert f"index {wrong} is out of bounds for axis 1 of size 6" in str(found.value)
        assert "test_indexed.py" in str(found.value)
        good = np.array([0, 5, 2], "int32")
        assert f(x, good).dtype == np.float32  # the function still works


@pytest.mark.parametrize("wrong", [2**64 - 1, 2**63, 6])
def test_huge_unsigned_indices_are_out_of_range(wrong):
    with pytest.raises(IndexOutOfBounds):
        run(lambda x, i: ops.take(x, i), numbers((6, 3)), np.array([wrong], "uint64"))


def test_out_of_range_with_empty_rows():
    with pytest.raises(IndexOutOfBounds):
        run(lambda x, i: ops.take(x, i), numbers((6, 0)), np.array([6]))
    with pytest.raises(IndexOutOfBounds):
        run(lambda x, i: ops.take(x, i), numbers((0, 3)), np.array([0]))


def test_out_of_range_leaves_variables_untouched():
    table, count = K.variable(numbers((5, 3))), K.variable(np.zeros((), "float32"))
    i = K.placeholder((None,), dtype="int32")
    before = K.get_value(table)
    new = ops.advanced_inc(table.node, constant(np.ones((), "float32")), [i.node], "a:")
    f = make_function([i.node], [], [(table.node, new), (count.node, ops.add(count.node, 1))])
    with pytest.raises(IndexOutOfBounds):
        f(np.array([0, 1, 5], "int32"))
    np.testing.assert_array_equal(K.get_value(table), before)
    assert K.get_value(count) == 0
    f(np.array([0, 0, 4], "int32"))
    before[[0, 4]] += [[2], [1]]
    np.testing.assert_array_equal(K.get_value(table), before)
    assert K.get_value(count) == 1
