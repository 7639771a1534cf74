"""Updates of rows and slices in place: against the interpreter, for every kind of index, with what
a call reads, what users hold, what fails and what threads see."""

import threading

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import IndexOutOfBounds

RNG = np.random.default_rng(5)
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def pair(build, inputs, shape=(60, 4), dtype="float32", outputs=lambda w, *ins: []):
    """Two functions of one program, on two variables of equal values: compiled, and reference."""
    made, start = [], RNG.normal(size=shape).astype(dtype)
    for mode in (None, "reference"):
        w = K.variable(start, dtype=dtype, name="w")
        ins = [K.placeholder(shape=s, dtype=d) for s, d in inputs]
        updates = [(w, build(w, *ins))]
        f = K.function(ins, outputs(w, *ins), updates=updates, mode=mode)
        made.append((f, w))
    return made


def in_place(f, *arrays):
    """Whether each update of a function writes parts of its variable for such arrays."""
    updates = f.info.program.plan_arguments(list(arrays))["updates"]
    return [cell < 0 for cell, *_ in updates]


def same(made, *arrays, steps=3, exact=False):
    (f, w), (g, v) = made
    for _ in range(steps):
        for got, want in zip(f(*arrays), g(*arrays)):
            np.testing.assert_allclose(got, want, rtol=1e-6)
        np.testing.assert_allclose(
            K.get_value(w), K.get_value(v), rtol=0 if exact else 1e-6, atol=0 if exact else 1e-6
        )
    return f


def step(loss):
    return lambda w, *ins: w - 0.1 * K.gradients(loss(w, *ins), [w])[0]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("rows", [[3], [7, 7, 7, 1], [0, 59, 0], []])
def test_gradient_step_of_gathered_rows(dtype, rows):
    if dtype[0] == "i" and rows:
        rows = [*rows, -1, -60]
    made = pair(step(lambda w, i: K.sum(K.square(K.gather(w, i)))), [((None,), dtype)])
    array = np.array(rows, dtype)
    assert in_place(same(made, array), array) == [bool(rows)]


def test_indices_of_any_layout():
    made = pair(step(lambda w, i: K.sum(K.square(K.gather(w, i)))), [((None, None), "int32")])
    i = RNG.integers(-60, 60, (4, 6)).astype("int32")
    for array in (i, i.T, i[::-1, ::2], np.broadcast_to(i[:1], (3, 6))):
        same(made, array, steps=1)


def test_rows_that_repeat_are_summed_before_they_are_added():
    """Three quarters of an ulp, added one by one, would be rounded to a whole one each."""
    ulp = float(np.spacing(np.float32(1)))
    w = K.variable(np.ones((9, 2)), name="w")
    i, g = K.placeholder((None,), dtype="int32"), K.placeholder((None, 2))
    f = K.function([i, g], [], updates=[(w, w + K.gradients(K.sum(K.gather(w, i) * g), [w])[0])])
    f(np.array([4, 4, 4]), np.full((3, 2), 0.75 * ulp, "float32"))
    want = np.ones((9, 2), "float32")
    want[4] = np.float32(1) + np.float32(2.25 * ulp)
    np.testing.assert_array_equal(K.get_value(w), want)


PROGRAMS = {
    "scaled": lambda w, i: -K.gradients(K.sum(K.square(K.gather(w, i))), [w])[0] / 3 + w,
    "plus": lambda w, i: w + 0.5 * K.gradients(K.mean(K.square(w[i])), [w])[0],
    "twice": step(lambda w, i: K.sum(K.square(K.gather(w, i))) + K.sum(w[i + 1] * 2)),
    "inc": lambda w, i: K.inc_subtensor(w[i], 1.5),
    "set": lambda w, i: K.set_subtensor(w[i], 2.5),
    "inc of columns": lambda w, i: K.inc_subtensor(w[:, i % 4], 1.0),
    "inc of elements": lambda w, i: K.inc_subtensor(w[i, i % 4], 1.0),
    "chain": lambda w, i: K.inc_subtensor(K.set_subtensor(w[i], 0.5)[2:7], 1.0),
    "its own rows": lambda w, i: K.inc_subtensor(w[i], w[i + 1] * 2),
    "all of its rows": lambda w, i: K.inc_subtensor(w[:30], w[30:]),
    "moved by one": lambda w, i: K.set_subtensor(w[1:], w[:-1]),
    "turned": lambda w, i: K.set_subtensor(w[::-1], w),
    "slice": step(lambda w, i: K.sum(K.square(w[3:9]) * K.sum(K.cast(i, "float32")))),
    "one row": step(lambda w, i: K.sum(K.square(w[-2]))),
    "squared": lambda w, i: w - K.square(K.gradients(K.sum(K.gather(w, i) ** 2), [w])[0]),
    "scaled by a matrix": lambda w, i: w - w * K.gradients(K.sum(K.gather(w, i) ** 2), [w])[0],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    made = pair(
        PROGRAMS[name],
        [((None,), "int32")],
        outputs=lambda w, i: [K.sum(w), w, K.gather(w, i), w[2:5] * 2],
    )
    array = np.array([5, 1, 5, 3], "int32")
    assert in_place(same(made, array), array) == [True]
    same(made, np.array([0, 2, 2, 3, 2, 7, 8, 1], "int32"))


NEAR = {
    "decayed": lambda w, i: w * 0.9 - 0.1 * K.gradients(K.sum(K.square(K.gather(w, i))), [w])[0],
    "of all rows": step(lambda w, i: K.sum(K.square(K.gather(w, i))) + K.sum(K.square(w))),
    "squared and more": lambda w, i: (
        w - K.square(K.gradients(K.sum(K.gather(w, i) ** 2), [w])[0]) - 1e-3),
    "of another variable": lambda w, i: K.inc_subtensor((w * 2)[i], 1.0),
    "columns": step(lambda w, i: K.sum(K.square(K.gather(K.transpose(w), i % 4)))),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR)
def test_near_misses(name):
    array = np.array([5, 1, 5, 3], "int32")
    f = same(pair(NEAR[name], [((None,), "int32")]), array)
    assert in_place(f, array) == [False]


def optimiser(kind, table, state, ids):
    """[updates] of a step of an optimiser, and how many of its arrays change in a few rows."""
    g = K.gradients(K.sum(K.square(K.gather(table, ids) - 0.5)), [table])[0]
    if kind == "adagrad":  # as Keras 2 writes it
        summed = state + K.square(g)
        return [(state, summed), (table, table - 0.1 * g / (K.sqrt(summed) + 1e-7))]
    if kind == "adagrad of roots":  # as Keras 3 writes it
        summed = state + K.square(g)
        return [(state, summed), (table, table - 0.1 * g / K.sqrt(summed + 1e-7))]
    if kind == "clipped":
        return [(table, table - 0.1 * K.clip(g, -0.5, 0.5))]
    if kind == "momentum":
        moved = 0.9 * state - 0.1 * g
        return [(state, moved), (table, table + moved)]
    mean = 0.9 * state + 0.1 * K.square(g)  # RMSprop
    return [(state, mean), (table, table - 0.1 * g / (K.sqrt(mean) + 1e-7))]


OPTIMISERS = {
    "adagrad": [True, True],
    "adagrad of roots": [True, True],
    "clipped": [True],
    "momentum": [False, False],  # all rows of the state decay, and move the table
    "rmsprop": [False, False],
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("kind", OPTIMISERS)
def test_optimisers(kind, dtype):
    start, array = RNG.normal(size=(60, 4)), np.array([5, 1, 5, 59, 5], "int32")
    found = []
    for mode in (None, "reference"):
        table = K.variable(start, dtype=dtype, name="table")
        state = K.variable(np.full((60, 4), 0.1), dtype=dtype, name="state")
        ids = K.placeholder((None,), dtype="int32")
        f = K.function([ids], [], updates=optimiser(kind, table, state, ids), mode=mode)
        for _ in range(3):
            f(array)
        if mode is None:
            assert in_place(f, array) == OPTIMISERS[kind]
        found.append([K.get_value(v).astype("float64") for v in (table, state)])
    digits = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-13}[dtype]
    for got, want in zip(*found):
        np.testing.assert_allclose(got, want, rtol=digits, atol=digits)
        if all(OPTIMISERS[kind]):
            left = np.setdiff1d(np.arange(60), array)
            np.testing.assert_array_equal(got[left], want[left])


def test_rows_that_are_not_gathered_keep_their_values():
    """The whole formula makes NaN of 0 / 0 and 0 * inf there."""
    table = K.variable(np.ones((50, 2)), name="table")
    scale = K.variable(np.full((50, 2), np.inf), name="scale")
    i = K.placeholder((None,), dtype="int64")
    g = K.gradients(K.sum(K.gather(table, i) * 2), [table])[0]
    K.function([i], [], updates=[(table, table - g * scale)])([np.array([3])])
    want = np.ones((50, 2))
    want[3] = -np.inf
    np.testing.assert_array_equal(K.get_value(table), want)


def test_a_gradient_that_somebody_reads_is_computed():
    w = K.variable(np.ones((50, 3)), name="w")
    i = K.placeholder((None,), dtype="int64")
    g = K.gradients(K.sum(K.square(K.gather(w, i))), [w])[0]
    f = K.function([i], [g], updates=[(w, w - g)])
    got = f([np.array([1, 1, 4])])[0]
    want = np.zeros((50, 3))
    want[1], want[4] = 4, 2
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(K.get_value(w), 1 - want)


def test_what_is_held_does_not_change():
    w = K.variable(np.zeros((40, 2)), name="w")
    i = K.placeholder((None,), dtype="int64")
    f = K.function([i], [w], updates=[(w, K.inc_subtensor(w[i], 1.0))])
    before = f(np.array([3]))[0]
    np.testing.assert_array_equal(before, np.zeros((40, 2)))
    value = K.get_value(w)
    view = w.get_value(borrow=True)
    kept = view.copy()
    for _ in range(3):
        f(np.array([3, 3]))
    np.testing.assert_array_equal(view, kept)
    np.testing.assert_array_equal(value, kept)
    assert K.get_value(w)[3, 0] == 7 and before.sum() == 0


def test_an_error_leaves_all_variables_as_they_were():
    w, v = K.variable(np.zeros((40, 2)), name="w"), K.variable(np.zeros((30, 2)), name="v")
    i, j = (K.placeholder((None,), dtype="int64") for _ in range(2))
    f = K.function(
        [i, j], [], updates=[(w, K.inc_subtensor(w[i], 1.0)), (v, K.inc_subtensor(v[j], 1.0))]
    )
    f([np.array([1]), np.array([2])])
    for bad in (([1, 40], [2]), ([1], [2, 30]), ([-41], [1]), ([1], [-31])):
        with pytest.raises(IndexOutOfBounds):
            f([np.array(x) for x in bad])
        assert K.get_value(w).sum() == 2 and K.get_value(v).sum() == 2


def test_two_tables_that_read_each_other():
    """Both see the old values of the other, though both are written in place."""
    start = RNG.normal(size=(2, 50, 3)).astype("float32")
    found = []
    for mode in (None, "reference"):
        w, v = (K.variable(s, name="table") for s in start)
        i = K.placeholder((None,), dtype="int32")
        updates = [(w, K.inc_subtensor(w[i], v[i])), (v, K.set_subtensor(v[10:50], w[:40]))]
        f = K.function([i], [K.sum(w * v)], updates=updates, mode=mode)
        found.append([f(np.array([1, 9, 1, 40], "int32"))[0] for _ in range(3)])
        found[-1] += [K.get_value(w), K.get_value(v)]
    for got, want in zip(*found):
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_threads_read_whole_values():
    """Every value that anybody sees has as many ones in its first row as in its last."""
    w = K.variable(np.zeros((4000, 64)), name="w")
    i = K.placeholder((None,), dtype="int64")
    f = K.function([i], [], updates=[(w, K.inc_subtensor(w[i], 1.0))])
    g = K.function([], [w[0, 0], w[3999, 63]])
    rows, wrong = np.arange(4000), []

    def read():
        for _ in range(200):
            first, last = g()
            value = K.get_value(w)
            if first != last or value[0, 0] != value[3999, 63]:
                wrong.append((first, last))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for t in threads:
        t.start()
    for _ in range(100):
        f(rows)
    for t in threads:
        t.join()
    assert not wrong and K.get_value(w)[17, 5] == 100


def test_sizes_change_between_calls():
    made = pair(step(lambda w, i: K.sum(K.square(K.gather(w, i)))), [((None,), "int64")])
    for n in (1, 5, 29, 30, 31, 200, 3, 0, 2):  # beyond half of the variable all of it is read
        same(made, RNG.integers(0, 60, n), steps=1)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_same_bits_for_any_number_of_threads(threads):
    start, i = np.ones((3000, 8), "float32"), np.sort(RNG.integers(0, 3000, 1000))
    g = RNG.normal(size=(1000, 8)).astype("float32")
    found = []
    for n in (1, threads):
        w = K.variable(start, name="w")
        x, y = K.placeholder((None,), dtype="int64"), K.placeholder((None, 8))
        gradient = K.gradients(K.sum(K.gather(w, x) ** 2 * y), [w])[0]
        f = K.function([x, y], [], updates=[(w, w - 0.1 * gradient)])
        before = K.get_num_threads()
        try:
            K.set_num_threads(n)
            f([i, g])
            f([i[::-1].copy(), g])
        finally:
            K.set_num_threads(before)
        found.append(K.get_value(w))
    np.testing.assert_array_equal(*found)


def test_what_is_read_between_two_stores_is_made():
    """A table is changed in place only where nobody reads it half changed, nor what it will be."""
    array = np.array([5, 1, 5, 3], "int32")
    read = {"half": lambda half, new: [K.sum(half), half[4:8]], "new": lambda half, new: [new * 2],
            "none": lambda half, new: []}  # fmt: skip
    for name, outputs in read.items():
        made, start = [], RNG.normal(size=(60, 4)).astype("float32")
        for mode in (None, "reference"):
            w, i = K.variable(start, name="w"), K.placeholder((None,), dtype="int32")
            half = K.set_subtensor(w[i], 0.5)
            new = K.inc_subtensor(half[2:7], 1.0)
            f = K.function([i], outputs(half, new), updates=[(w, new)], mode=mode)
            made.append((f, w))
        f = same(made, array)
        assert in_place(f, array) == [name == "none"], name
