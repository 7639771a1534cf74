"""Loops whose parts of a batch take the steps alone: which ones, and that results stay the same."""

from types import SimpleNamespace

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.plan import scan_by_rows
from ckernels.plan.instructions import Scan, flatten
from ckernels.runtime import stored
from ckernels.schedule import follow

from .test_scan import check, everything, item, leaf, numbers, scan


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Cut small loops too; nothing comes from a compiledir where they were not."""
    monkeypatch.setattr(stored, "describe", lambda program: (None, ()))
    monkeypatch.setattr(scan_by_rows, "PART_PS", 1000)
    monkeypatch.setattr(scan_by_rows, "ELEMENTS", 4)


def parts(f):
    """The BatchParts of each loop, or None."""
    found = flatten(f.info.program.drafted("lower").instructions)
    return [i.moving.parts for i in found if isinstance(i, Scan)]


def recurrent(batch, dtype="float32", units=24, inputs=5, **options):
    """(leaves, node, arrays) of two states: a product, gates from slices of it, a sum of rows."""
    x, h, c = leaf((None, batch, inputs), dtype), leaf((1, batch, units), dtype), None
    c = leaf((1, batch, units), dtype)
    w, u = leaf((inputs, 2 * units), dtype), leaf((units, 2 * units), dtype)

    def step(rows, old):
        z = ops.add(ops.matmul(rows[0], w), ops.matmul(old[0][0], u))
        new = ops.add(ops.mul(old[1][0], 0.5), ops.tanh(z[:, :units]))
        out = ops.mul(ops.tanh(new), ops.sigmoid(z[:, units:]))
        return [[out, new], [ops.sum(out, axis=1)]]

    node, _ = scan([x], [(h, (-1,)), (c, (-1,))], step, **options)
    arrays = [
        numbers((6, batch, inputs), dtype),
        numbers((1, batch, units), dtype),
        numbers((1, batch, units), dtype),
        numbers((inputs, 2 * units), dtype) * 0.3,
        numbers((units, 2 * units), dtype) * 0.3,
    ]
    return [x, h, c, w, u], node, [a.astype(dtype) for a in arrays]


def why_whole(f):
    """The Reason of each loop why no part of its batch goes by itself, as a sentence or None."""
    found = flatten(f.info.program.drafted("lower").instructions)
    return [i.moving.whole and str(i.moving.whole) for i in found if isinstance(i, Scan)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", [16, 33, 100])
@pytest.mark.parametrize("wanted", ["0", "23", "01234", "4"])
def test_recurrent_nets(dtype, batch, wanted):
    leaves, node, arrays = recurrent(batch, dtype)
    f = check(leaves, [item(node, int(k)) for k in wanted], *arrays, rtol=1e-4)
    (found,) = parts(f)
    assert found.rows == batch and 8 <= found.part < batch


@pytest.mark.parametrize("batch", [32, 33, 100])
def test_sums_of_rows_that_are_lanes_of_a_vector(batch):
    """Seven units: the rows of the batch go side by side, in each part by themselves."""
    leaves, node, arrays = recurrent(batch, units=7)
    f = check(leaves, [item(node, int(k)) for k in "014"], *arrays, rtol=1e-4)
    (found,) = parts(f)
    assert found.rows == batch and 8 <= found.part < batch


@pytest.mark.parametrize(
    "rows, part",
    [
        (15, None),
        (16, 8),
        (20, 10),
        (24, 12),
        (32, 8),
        (40, 10),
        (64, 8),
        (100, 12),
        (128, 8),
        (256, 16),
        (1000, 63),
    ],
)
def test_two_threads_get_about_as_much(rows, part):
    assert scan_by_rows.part_of(rows, 8, 1, 10**12) == part


@pytest.mark.parametrize("unit, part", [(15, 17), (16, 17), (17, 32), (50, 64), (51, None)])
def test_long_parts_are_whole_vectors(unit, part):
    """Of 100 rows: from 17 rows a part on, a multiple of 16."""
    assert scan_by_rows.part_of(100, unit, 1, 10**12) == part


@pytest.mark.parametrize(
    "options",
    [dict(reverse=True), dict(limit=3), dict(count=4), dict(count=0), dict(count=3, reverse=True)],
)
def test_ways_to_run(options):
    count = leaf((), "int64")
    given = options | ({"count": count} if "count" in options else {})
    leaves, node, arrays = recurrent(24, **given)
    more = ([count], [np.array(options["count"])]) if "count" in options else ([], [])
    f = check(leaves + more[0], everything(node), *arrays, *more[1], rtol=1e-4)
    assert parts(f) != [None]


def test_any_number_of_threads_gives_the_same_bits():
    leaves, node, arrays = recurrent(50)
    f = check(leaves, everything(node), *arrays, rtol=1e-4)
    before = K.get_num_threads()
    try:
        K.set_num_threads(1)
        wanted = [np.array(a) for a in f(*arrays)]
        for threads in (2, 3, 7):
            K.set_num_threads(threads)
            for _ in range(20):
                for a, b in zip(f(*arrays), wanted):
                    np.testing.assert_array_equal(a, b)
    finally:
        K.set_num_threads(before)


@pytest.mark.parametrize("shape", [(64,), (3, 40), (40, 3), (16, 4, 5)])
def test_steps_without_products(shape):
    x, first = leaf((None, *shape)), leaf((2, *shape))

    def step(rows, old):
        new = ops.add(ops.mul(old[0][0], 0.5), ops.tanh(ops.add(old[0][1], rows[0])))
        return [[new], [ops.square(new)]]

    node, _ = scan([x], [(first, (-2, -1))], step)
    for wanted in ("0", "1", "02"):
        f = check(
            [x, first],
            [item(node, int(k)) for k in wanted],
            numbers((7, *shape)),
            numbers((2, *shape)),
        )
        assert parts(f) != [None]


def shifted(h):
    return ops.concatenate([h[1:], h[:1]], axis=0)


@pytest.mark.parametrize(
    "mix",
    [
        lambda h, w: ops.sub(h, ops.mean(h, axis=0, keepdims=True)),
        lambda h, w: shifted(h),
        lambda h, w: h[::-1],
        lambda h, w: ops.transpose(h, (1, 0)),
        lambda h, w: ops.mul(ops.matmul(h, ops.matmul(ops.transpose(h, (1, 0)), h)), 0.01),
        lambda h, w: ops.matmul(ops.transpose(h, (1, 0)), w),
        lambda h, w: ops.matmul(w, h),
        lambda h, w: ops.matmul(h, ops.mul(h, 0.5)),
        lambda h, w: ops.add(h, ops.sum(h)),
    ],
)
def test_rows_that_meet(mix):
    h, w = leaf((1, 24, 24)), leaf((24, 24))

    def step(rows, old):
        return [[ops.tanh(ops.add(ops.matmul(ops.mul(mix(old[0][0], w), 0.3), w), old[0][0]))]]

    node, _ = scan([leaf((5, 2))], [(h, (-1,))], step)
    f = check(
        [node.inputs[1], h, w],
        everything(node),
        numbers((5, 2)),
        numbers((1, 24, 24)),
        numbers((24, 24)) * np.float32(0.2),
        rtol=1e-3,
    )
    assert parts(f) == [None]
    assert "needs more of the batch than the rows it makes" in why_whole(f)[0]
    assert f"the whole batch takes each step: {why_whole(f)[0]}" in f.explain()


def test_two_states_that_change_places_and_one_that_stays():
    a, b, w = leaf((1, 32, 8)), leaf((1, 32, 8)), leaf((8, 8))

    def step(rows, old):
        return [[old[1][0], ops.tanh(ops.matmul(old[0][0], w))], [ops.add(old[0][0], old[1][0])]]

    node, _ = scan([leaf((6,))], [(a, (-1,)), (b, (-1,))], step)
    leaves = [node.inputs[1], a, b, w]
    for wanted in ("0", "23", "01234"):
        f = check(
            leaves,
            [item(node, int(k)) for k in wanted],
            numbers((6,)),
            numbers((1, 32, 8)),
            numbers((1, 32, 8)),
            numbers((8, 8)),
        )
        assert parts(f) != [None]


def test_inside_of_another_loop():
    x, h, w = leaf((None, 3, 32, 4)), leaf((1, 32, 4)), leaf((4, 4))

    def outer(rows, old):
        inner, lay = scan(
            [rows[0]],
            [(ops.expand(old[0][0], (0,)), (-1,))],
            lambda r, o: [[ops.tanh(ops.add(ops.matmul(o[0][0], w), r[0]))]],
        )
        return [[item(inner, lay.final(0))], [item(inner, lay.trace(0))]]

    node, _ = scan([x], [(h, (-1,))], outer)
    f = check(
        [x, h, w], everything(node), numbers((4, 3, 32, 4)), numbers((1, 32, 4)), numbers((4, 4))
    )
    assert parts(f)[0] is None and parts(f)[1].rows == 32


def test_profiles_count_every_part():
    leaves, node, arrays = recurrent(32)
    f = check(leaves, [item(node, 0)], *arrays, rtol=1e-4)
    wanted = f(*arrays)
    f.profile(True)
    for a, b in zip(f(*arrays), wanted):
        np.testing.assert_array_equal(a, b)


def lstm(K, x, w, u, batch, units):
    def step(x, h, c):
        z = K.dot(x, w) + K.dot(h, u)
        i, f, a, o = (z[:, k * units : (k + 1) * units] for k in range(4))
        c = K.sigmoid(f) * c + K.sigmoid(i) * K.tanh(a)
        return K.sigmoid(o) * K.tanh(c), c

    zero = K.zeros((batch, units), dtype="float64")
    return K.scan(step, sequences=[x], outputs_info=[zero, zero])[0][0]


def test_gradients_of_an_lstm_against_differences():
    batch, units, rng = 16, 8, np.random.default_rng(1)
    data = [
        rng.standard_normal(s) * 0.4 for s in ((5, batch, 3), (3, 4 * units), (units, 4 * units))
    ]
    leaves = [K.placeholder(a.shape, dtype="float64") for a in data]
    loss = K.sum(K.square(lstm(K, *leaves, batch, units)))
    value = K.function(leaves, loss)
    f = K.function(leaves, K.gradients(loss, leaves))
    found = f(*data)
    for k, g in enumerate(found):
        d = rng.standard_normal(data[k].shape)
        both = [value(*data[:k], data[k] + e * d, *data[k + 1 :]) for e in (1e-5, -1e-5)]
        np.testing.assert_allclose(np.sum(g * d), (both[0] - both[1]) / 2e-5, rtol=1e-6)


def test_draws_are_those_of_the_whole_batch():
    def chain(n):
        def step(x):
            return K.random_binomial(K.shape(x), K.sigmoid(K.dot(x, W) * 3.0))

        x, W = K.placeholder((40, 16)), K.placeholder((16, 16))
        states, updates = K.scan(step, outputs_info=x, n_steps=n)
        return K.function([x, W], states[-1], updates=updates)

    x = (np.random.default_rng(0).random((40, 16)) < 0.5).astype("float32")
    weights = np.random.default_rng(1).standard_normal((16, 16)).astype("float32")
    K.set_random_seed(3)
    cut = chain(6)(x, weights)
    K.set_random_seed(3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan_by_rows, "PART_PS", 10**30)
        whole = chain(6)(x, weights)
    np.testing.assert_array_equal(cut, whole)
    assert 0 < cut.mean() < 1


# ---- reasons ----


def test_parts_have_no_reason_against_them():
    leaves, node, arrays = recurrent(32)
    f = check(leaves, everything(node), *arrays, rtol=1e-4)
    assert why_whole(f) == [None]
    assert f"take all steps by themselves, {parts(f)[0].part} to a thread" in f.explain()


@pytest.mark.parametrize(
    "constants, reason",
    [
        (dict(ROWS=25), "its batch has 48 rows, and a part needs 25"),
        (dict(PART_PS=1 << 60), "its steps are too little work for two threads"),
        (dict(SHARED=1), "do not stay in a core's cache beside the rest"),
    ],
)
def test_what_a_part_needs(constants, reason, monkeypatch):
    for name, value in constants.items():
        monkeypatch.setattr(scan_by_rows, name, value)
    leaves, node, arrays = recurrent(48)
    f = check(leaves, everything(node), *arrays, rtol=1e-4)
    assert parts(f) == [None] and reason in why_whole(f)[0]


def test_one_row_less_than_two_parts():
    found = []
    for batch in (15, 16):
        leaves, node, arrays = recurrent(batch)
        found += why_whole(check(leaves, everything(node), *arrays, rtol=1e-4))
    assert found == ["its batch has 15 rows, and a part needs 8", None]


def test_steps_that_are_no_loop_nests():
    h, first = leaf((1, 24, 24)), numbers((1, 24, 24))

    def step(rows, old):
        return [[ops.mul(ops.sort(old[0][0], 1), 0.5)]]

    node, _ = scan([leaf((5, 2))], [(h, (-1,))], step)
    f = check([node.inputs[1], h], everything(node), numbers((5, 2)), first)
    assert "is neither a loop nest nor a product" in why_whole(f)[0]


def test_threads_that_are_not_built(monkeypatch):
    monkeypatch.setattr(follow, "config", SimpleNamespace(openmp=False))
    leaves, node, arrays = recurrent(48)
    f = check(leaves, everything(node), *arrays, rtol=1e-4)
    assert why_whole(f) == ["kernels are built for one thread"]


@pytest.mark.parametrize("kept", [False, True])
def test_steps_that_compute_nothing(kept):
    """Rows of the input as they are; a state that stays as it was."""
    x, h = leaf((None, 4, 4)), leaf((1, 4, 4))

    def step(rows, old):
        return [[old[0][0]], []] if kept else [[], [rows[0]]]

    node, _ = scan([x], [(h, (-1,))] if kept else [], step)
    leaves, arrays = ([x, h], [numbers((1, 4, 4))]) if kept else ([x], [])
    f = check(leaves, everything(node), numbers((7, 4, 4)), *arrays)
    assert parts(f) == [None] and why_whole(f) == ["its step computes nothing"]


def test_axes_beyond_rows_are_those_that_walk_within_one():
    """Beside all places that the axes walk: rows lie 12 apart, whatever an axis of 1 says."""
    within = [(2, 3), (3, 1)]

    def places(axes, start=0):
        if not axes:
            return [start]
        (size, stride), *rest = axes
        return [p for k in range(size) for p in places(rest, start + k * stride)]

    for outer in (
        [(8, 12)],
        [(2, 48), (4, 12)],
        [(1, 5), (2, 48), (1, 7), (4, 12)],
        [(4, 24), (2, 12), (1, 3)],
    ):
        found = scan_by_rows.beyond_rows([*outer, *within], 8, 12)
        assert [r * 12 + p for r in range(8) for p in places(found)] == places([*outer, *within])
    assert scan_by_rows.beyond_rows([(16, 6), (2, 1)], 8, 12) == [(2, 6), (2, 1)]
    for wrong in ([(8, 13), *within], [(2, 50), (4, 12), *within], [(3, 12), *within],
                  [(4, 12), *within[:1]], [(16, 5)]):  # fmt: skip
        assert scan_by_rows.beyond_rows(wrong, 8, 12) is None, wrong
