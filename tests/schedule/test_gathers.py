"""Gathers as loads of loop nests: what a loop reads at indices, and where it must not."""

import numpy as np
import pytest
from codegen.planned import leaf, plan

import ckernels as K
from ckernels import ops
from ckernels.errors import IndexOutOfBounds
from ckernels.runtime.function import make_function
from ckernels.schedule import gathers

RNG = np.random.default_rng(3)
TABLE, OTHER = RNG.normal(size=(2, 50, 300)).astype("float32")


def at(*shape, low=-50, dtype="int64"):
    return RNG.integers(low, 50, shape).astype(dtype)


def names(build, *arrays, **options):
    return [s.name for s in plan(build, *arrays, **options)[0]]


def softmax_of_rows(w, i):
    return ops.softmax(ops.take(w, i, 0), -1)


LOADS = {
    "of rows": (lambda w, i: ops.take(w, i, 0) * 2, [TABLE, at(20)], "take+mul"),
    "one row": (lambda w, i: ops.take(w, i, 0) * 2, [TABLE, at()], "take+mul"),
    "few elements of one row": (lambda w, i: ops.sum(ops.tanh(ops.take(w, i, 0))),
                                [TABLE[:, :7], at()], "take+tanh+sum"),
    "one short column": (lambda w, i: ops.sum(ops.tanh(ops.take(w, i, 1))), [TABLE, at()],
                         "take+tanh+sum"),
    "of rows in a matrix": (lambda w, i: ops.take(w, i, 0) * 2, [TABLE, at(4, 5)], "take+mul"),
    "in the middle": (lambda x, i: ops.take(x, i, 1) * 2,
                      [RNG.normal(size=(3, 50, 80)), at(7)], "take+mul"),
    "along an axis": (lambda x, i: ops.take_along_axis(x, i, 0) * 2, [TABLE, at(9, 300)],
                      "take_along_axis+mul"),
    "at pairs": (lambda x, i, j: ops.advanced_take(x, [i, j], ["a", "a", ":"]) * 2,
                 [RNG.normal(size=(50, 50, 80)), at(4, 1), at(6)], "advanced_take+mul"),
    "at pairs set apart": (lambda x, i, j: ops.advanced_take(x, [i, j], ["a", ":", "a"]) * 2,
                           [RNG.normal(size=(50, 80, 50)), at(4, 1), at(6)], "advanced_take+mul"),
    "with new axes": (lambda x, i: ops.advanced_take(x, [i], ["n", "a", "n", ":"]) * 2,
                      [TABLE, at(5)], "advanced_take+mul"),
    "a bag": (lambda w, i: ops.mean(ops.take(w, i, 0), 1), [TABLE, at(6, 5)], "take+sum+true_div"),
    "largest of a bag": (lambda w, i: ops.argmax(ops.take(w, i, 0), 1), [TABLE, at(6, 5)],
                         "take+argmax"),
    "softmax": (softmax_of_rows, [TABLE, at(20)], "take+max+maximum+sub+exp+sum+true_div"),
    "of two tables": (lambda w, u, i: ops.sum(ops.take(w, i, 0) * ops.take(u, i, 0), -1),
                      [TABLE, OTHER, at(20)], "take+take+mul+sum"),
    "of numbers of half": (lambda w, i: ops.take(w, i, 0) * 2, [TABLE.astype("float16"), at(20)],
                           "take+mul"),
    "of truth values": (lambda w, i: ops.logical_not(ops.take(w, i, 0)), [TABLE > 0, at(20)],
                        "take+logical_not"),
    "of a transposed table": (lambda w, i: ops.take(ops.transpose(w), i, 0) * 2,
                              [TABLE.T.copy(), at(20)], "take+mul"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOADS)
def test_is_a_load(name):
    build, arrays, step = LOADS[name]
    found = names(build, *arrays)
    assert found[-1] == step and set(found[:-1]) == {"check"}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "uint64"])
@pytest.mark.parametrize("layout", [lambda x: x, lambda x: x[::-1], lambda x: np.repeat(x, 2)[::2]])
def test_indices_of_any_width_and_layout(dtype, layout):
    i = layout(at(24, low=0 if dtype[0] == "u" else -50, dtype=dtype))
    assert names(lambda w, i: ops.take(w, i, 0) + 1, TABLE, i)[-1] == "take+add"


@pytest.mark.parametrize("w", [TABLE[::2], TABLE[:, ::-1], TABLE[::-1, ::3], TABLE.T[:50].T])
def test_tables_of_any_layout(w):
    i = RNG.integers(-len(w), len(w), 20)
    plan(lambda w, i: ops.take(w, i, 0) + 1, w, i)
    plan(lambda w, i: ops.sum(ops.take(w, i, 0), 0), w, i)
    plan(softmax_of_rows, w, i)


NEAR_MISSES = {
    "nothing computes on it": (lambda w, i: ops.take(w, i, 0), [TABLE, at(20)]),
    "one element each": (lambda v, i: ops.take(v, i, 0) * 2, [TABLE[:, 0], at(20)]),
    "few elements each": (lambda w, i: ops.take(w, i, 0) * 2, [TABLE[:, :30], at(20)]),
    "few elements of a row that is reduced": (softmax_of_rows, [TABLE[:, :100], at(20)]),
    "one row that goes along those of others": (
        lambda w, i, x: ops.take(w, i, 0) * x,
        [TABLE[:, :7], at(), OTHER[:20, :7]],
    ),
    "a short column that goes along rows of others": (
        lambda w, i, x: ops.take(w, i, 1) * x,
        [TABLE, at(), OTHER[:20, :50]],
    ),
    "along the last axis": (lambda w, i: ops.take(w, i, 1) * 2, [TABLE, at(20)]),
    "of fewer axes than the loop": (
        lambda w, i, x: ops.expand_dims(ops.take(w, i, 0), 0) * x,
        [TABLE, at(20), RNG.normal(size=(4, 20, 300)).astype("float32")],
    ),
    "by a product": (lambda w, i, x: ops.matmul(ops.take(w, i, 0), x), [TABLE, at(20), OTHER.T]),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_has_a_kernel_of_its_own(name):
    build, arrays = NEAR_MISSES[name]
    assert "take" in names(build, *arrays)


def test_what_is_read_at_indices_is_there_before():
    """Neither a loop that makes the table nor one that makes the indices is the one that reads."""
    found = names(lambda w, i: ops.take(ops.tanh(w), i, 0) + 1, TABLE, at(50))
    assert found[0] == "tanh" and found[-1] == "take+add"
    found = names(lambda w, i: ops.take(ops.tanh(w), i, 0) + ops.tanh(w), TABLE, at(50))
    assert "tanh" in found and found[-1] == "take+add"
    found = names(lambda w, i: ops.take(w, ops.add(i, 1), 0) * 2, TABLE, at(20) // 2)
    assert found == ["add", "check", "take+mul"]
    found = names(lambda w, i: ops.take(w, ops.take(i, i, 0), 0) * 2, TABLE, at(20) % 20)
    assert found[-1] == "take+mul"


def test_of_a_product_it_is_no_epilogue():
    a = RNG.normal(size=(50, 4)).astype("float32")
    build = lambda a, b, i: ops.take(ops.matmul(a, b), i, 0) + 1  # noqa: E731
    for i in (at(50), at(1)):
        assert names(build, a, RNG.normal(size=(4, 300)).astype("float32"), i)[-1] == "take+add"


def test_two_loops_that_see_a_table_alike_and_at_indices_stay_apart():
    def build(x, i):
        y = ops.exp(x)
        return [ops.sum(y, -1), ops.take(y, i, 0) * ops.take(x, i, 0)]

    plan(build, TABLE, at(50))


def test_is_stored_where_others_read_it():
    def build(w, i, x):
        e = ops.take(w, i, 0)
        return [ops.tanh(e), ops.matmul(e, x), e]

    assert "take" not in names(build, TABLE, at(20), OTHER.T)


def test_indices_are_checked_once_and_before():
    w, i = K.placeholder((None, 300)), K.placeholder((None,), dtype="int64")
    made = K.function([w, i], [K.tanh(K.gather(w, i)), K.sum(K.gather(w * 2, i), axis=0)])
    made(TABLE, at(20))
    assert sum("check" in s for s in made.steps()) == 1
    for wrong in (50, -51):
        with pytest.raises(IndexOutOfBounds, match=f"index {wrong} is out of bounds"):
            made(TABLE, np.array([0, wrong]))


def test_tables_of_two_sizes_are_checked_each():
    w, u, i = leaf((None, 300)), leaf((None, 300)), leaf((None,), "int64")
    out = ops.add(ops.take(w, i, 0), ops.take(u, i, 0))
    made = make_function([w, u, i], [out], positional_only=True)
    made(TABLE, OTHER, at(5))
    for tables in ((TABLE[:10], TABLE), (TABLE, TABLE[:10])):
        with pytest.raises(IndexOutOfBounds):
            made(*tables, np.array([20]))


def test_a_variable_is_not_changed_before_its_indices_are_known():
    w = K.variable(TABLE)
    i = K.placeholder((None,), dtype="int64")
    made = K.function([i], [], updates=[(w, w + K.sum(K.gather(w, i), axis=0))])
    with pytest.raises(IndexOutOfBounds):
        made(np.array([1, 50]))
    np.testing.assert_array_equal(K.get_value(w), TABLE)
    made(np.array([1, -1]))
    np.testing.assert_allclose(K.get_value(w), TABLE + TABLE[1] + TABLE[-1], atol=1e-6)


@pytest.mark.parametrize("count", [0, 1])
def test_no_indices_and_one(count):
    for build in (lambda w, i: ops.take(w, i, 0) + 1, lambda w, i: ops.sum(ops.take(w, i, 0), 0)):
        plan(build, TABLE, at(count))


def test_an_empty_table_has_no_indices():
    w, i = K.placeholder((None, 300)), K.placeholder((None,), dtype="int64")
    made = K.function([w, i], K.tanh(K.gather(w, i)))
    assert made(TABLE[:0], at(0)).shape == (0, 300)
    with pytest.raises(IndexOutOfBounds):
        made(TABLE[:0], np.array([0]))


def test_no_columns_but_indices():
    w, i = K.placeholder((None, None)), K.placeholder((None,), dtype="int64")
    made = K.function([w, i], K.tanh(K.gather(w, i)))
    made(TABLE, at(3))
    assert made(TABLE[:, :0], at(3)).shape == (3, 0)
    with pytest.raises(IndexOutOfBounds):
        made(TABLE[:, :0], np.array([50]))


def test_in_the_step_of_a_scan():
    w, i = K.placeholder((None, 300)), K.placeholder((None,), dtype="int64")
    states, _ = K.scan(lambda k, h: K.tanh(h + K.gather(w, k)), i, K.zeros((300,)))
    rows, want = at(6), np.zeros(300, "float32")
    for k in rows:
        want = np.tanh(want + TABLE[k])
    np.testing.assert_allclose(K.function([w, i], states)(TABLE, rows)[-1], want, atol=1e-6)


def test_second_derivatives():
    w, i = K.placeholder((50, 300), dtype="float64"), K.placeholder((None,), dtype="int64")
    cost = K.sum(K.exp(K.gather(w, i) / 4))
    slope = K.grad(cost, w)
    curve = K.grad(K.sum(slope * slope), w)
    table, rows = TABLE.astype("float64"), np.array([3, 3, -1, 0])
    count = np.bincount(rows % 50, minlength=50)[:, None]
    want = 2 * (count * np.exp(table / 4) / 4) * (count * np.exp(table / 4) / 16)
    np.testing.assert_allclose(K.function([w, i], curve)(table, rows), want, rtol=1e-12)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_same_bits_for_any_number_of_threads(threads):
    w, i = K.placeholder((None, 300)), K.placeholder((None, None), dtype="int64")
    made = K.function([w, i], [K.mean(K.gather(w, i), axis=1), K.sum(K.gather(w, i))])
    rows, before = np.random.default_rng(0).integers(0, 50, (400, 30)), K.get_num_threads()
    K.set_num_threads(1)
    want = made(TABLE, rows)
    K.set_num_threads(threads)
    for one, other in zip(made(TABLE, rows), want):
        np.testing.assert_array_equal(one, other)
    K.set_num_threads(before)


def test_which_axes_walk_and_which_are_picked():
    x, i, j = leaf((4, 5, 6, 7)), leaf((3, 1), "int64"), leaf((2,), "int64")
    found = gathers.gather_of(ops.advanced_take(x, [i, j], [":", "a", "a", "n", ":"]))
    assert found.along == (0, None, None, 4)
    assert found.picks == ((1, (1, 2), 1, 1), (2, (2,), 2, 1))
    found = gathers.gather_of(ops.advanced_take(x, [i, j], [":", "a", ":", "a"]))
    assert found.along == (2, None, 3, None) and found.picks == ((1, (0, 1), 1, 1), (2, (1,), 3, 1))
    start = leaf((), "int64")  # of two neighbours, along which the loop walks
    found = gathers.gather_of(ops.advanced_take(x, [start, j], [2, "a", ":", ":"]))
    assert found.along == (0, None, 2, 3) and found.picks == ((1, (), 0, 2), (2, (1,), 1, 1))
    found = gathers.gather_of(ops.take(x, i, 2))
    assert found.along == (0, 1, None, 4) and found.picks == ((1, (2, 3), 2, 1),)
    assert gathers.gather_of(ops.tanh(x)) is None
