"""Rows and the sums of their columns as one kernel: the same bits, and only where it is right."""

from dataclasses import replace

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.base.errors import IndexOutOfBounds
from ckernels.codegen import bands as codegen
from ckernels.codegen.forms import bands as forms
from ckernels.ops.reference import evaluate
from ckernels.plan import bands
from ckernels.plan.instructions import PyCall
from ckernels.runtime import program
from ckernels.runtime.function import make_function
from ckernels.schedule import follow

from .test_scan import leaf

RNG = np.random.default_rng(1)
ROWS = 4096  # of 40 numbers: three chunks


@pytest.fixture(autouse=True)
def limits(monkeypatch):
    """Chunks of rows of any width, however few."""
    monkeypatch.setattr("ckernels.schedule.chunks.IN_CACHE", 1)
    monkeypatch.setattr(bands, "LEAST_CHUNKS", 2)
    with K.config.change(cache="off"):  # no plan that was made with other limits
        yield


def made(build, *arrays):
    """(results, C) of build(*leaves) on arrays; the results are checked."""
    leaves = [leaf((None,) * a.ndim, a.dtype.name) for a in arrays]
    roots = build(*leaves)
    f = make_function(leaves, roots, positional_only=True, downcast=False)
    results = f(*arrays)
    exact = dict(zip(leaves, [a.astype("float64") if a.dtype.kind == "f" else a for a in arrays]))
    for got, want in zip(results, evaluate(roots, exact)):
        np.testing.assert_allclose(got, want, rtol=3e-4, atol=3e-3)
    return results, f


def whether(f):
    """Whether rows and sums share a kernel."""
    assert f.info.source().count("_columns(p + ") == sum(" then " in s for s in f.steps())
    return any(" then " in step for step in f.steps())


def normal(*shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


def normalised(x):
    off = x - ops.mean(x, 1, keepdims=True)
    return off / ops.sqrt(ops.mean(ops.square(off), 1, keepdims=True) + 1e-5)


def both(x, g):
    y = normalised(x)
    return [y, ops.sum(y * g, 0), ops.sum(g, 0)]


# ---- the same numbers ----


@pytest.mark.parametrize(
    "shape, band, dtype",
    [((4096, 40), 50, "float32"), ((20011, 17), 1, "float64"), ((20011, 17), 24576, "float32"),
     ((4111, 33), 1, "float32"), ((4111, 33), 50, "float64"), ((4111, 33), 24576, "float64"),
     ((5000, 1030), 24576, "float32")],
    ids=str,
)  # fmt: skip
def test_bits_are_those_of_two_kernels(shape, band, dtype, monkeypatch):
    """Whatever the band: less than a row, part of a chunk, or more than a chunk has."""
    monkeypatch.setattr(forms, "BAND", band)
    monkeypatch.setattr(program, "_emitted", {})
    x, g = normal(*shape, dtype=dtype), normal(*shape, dtype=dtype)
    one, f = made(both, x, g)
    assert whether(f)
    monkeypatch.setattr(bands, "LEAST_CHUNKS", 1 << 40)
    two, f = made(both, x, g)
    assert not whether(f)
    for a, b in zip(one, two):
        np.testing.assert_array_equal(a, b)


def test_a_plan_serves_other_sizes():
    x, g = leaf((None, None)), leaf((None, None))
    roots = both(x, g)
    f = make_function([x, g], roots, positional_only=True)
    for shape in ((4096, 40), (4097, 40), (9000, 41), (6000, 90)):
        a, b = normal(*shape), normal(*shape)
        exact = evaluate(roots, {x: a.astype("float64"), g: b.astype("float64")})
        for got, want in zip(f(a, b), exact):
            np.testing.assert_allclose(got, want, rtol=3e-4, atol=3e-3)
        assert whether(f)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_any_number_of_threads_gives_the_same_bits(threads):
    x, g = normal(ROWS, 33), normal(ROWS, 33)
    want, _ = made(both, x, g)
    before = K.get_num_threads()
    K.set_num_threads(threads)
    try:
        got, _ = made(both, x, g)
    finally:
        K.set_num_threads(before)
    for a, b in zip(got, want):
        np.testing.assert_array_equal(a, b)


def test_operands_in_any_layout():
    """What the sums alone read may lie as it likes."""
    wide = normal(ROWS, 80)
    for g in (wide[:, ::2], wide[::-1, :40], np.asfortranarray(wide)[:, 40:]):
        _, f = made(both, normal(ROWS, 40), g)
    x = normal(40, ROWS).T
    made(both, x, normal(ROWS, 40))


def test_a_row_that_fails_ends_the_call():
    """An index out of bounds in the rows; nothing is updated."""
    table, at = K.placeholder((50, 40), name="table"), K.placeholder((None,), dtype="int32")
    total = K.zeros((40,))
    y = K.softmax(K.gather(table, at))
    f = K.function([table, at], y, updates=[(total, total + K.sum(y, axis=0))])
    good, bad = RNG.integers(0, 50, ROWS), RNG.integers(0, 50, ROWS)
    bad[ROWS // 2] = 50
    numbers = normal(50, 40)
    np.testing.assert_allclose(f(numbers, good).sum(0), K.get_value(total), rtol=1e-4)
    before = K.get_value(total)
    with pytest.raises(IndexOutOfBounds):
        f(numbers, bad)
    np.testing.assert_array_equal(K.get_value(total), before)


def test_updates_of_what_both_read():
    """New rows of a variable, and sums of the old ones."""
    start = normal(ROWS, 40)
    v = K.variable(start)
    f = K.function([], K.sum(K.square(v), axis=0), updates=[(v, K.softmax(v))])
    want = start.astype("float64")
    for _ in range(3):
        np.testing.assert_allclose(f(), np.square(want).sum(0), rtol=1e-4)
        want = np.exp(want - want.max(1, keepdims=True))
        want /= want.sum(1, keepdims=True)
        np.testing.assert_allclose(K.get_value(v), want, rtol=1e-4)


def test_several_loops_over_a_chunk():
    """A variance down the columns looks at its chunk twice; the rows are made once."""
    made(lambda x: [ops.softmax(x, 1), ops.var(ops.softmax(x, 1), 0)], normal(ROWS, 40))
    made(lambda x: [ops.softmax(x, 1), ops.var(x, 0), ops.max(x, 0)], normal(ROWS, 40))


def test_places_of_maxima():
    """The first of equal ones, of NaN, and of columns of -inf."""

    def build(x, g):
        y = ops.softmax(x, 1)
        return [y, ops.argmax(y - g, 0), ops.max(y - g, 0)]

    g = RNG.integers(0, 3, (ROWS, 40)).astype("float32")
    g[:, 3], g[2000:, 4], g[[5, 4000], 5] = np.inf, -np.inf, np.nan
    x = np.zeros((ROWS, 40), "float32")
    _, f = made(build, x, g)
    assert whether(f)


def test_debug_mode_compares_both():
    x = K.placeholder((None, 40))
    y = K.softmax(x)
    f = K.function([x], [y, K.sum(y * x, axis=0)], mode="debug")
    f(normal(ROWS, 40))


# ---- near misses ----

NEAR = {
    "other rows": lambda x, g: ops.sum(normalised(x)[::-1] * g, 0),
    "rows further on": lambda x, g: ops.sum(normalised(x)[1:] * g[1:], 0),
    "the first row again and again": lambda x, g: ops.sum(normalised(x)[:1] * g, 0),
    "part of each row": lambda x, g: ops.sum(normalised(x)[:, 1:] * g[:, 1:], 0),
    "rows turned to columns": lambda x, g: ops.sum(normalised(x), 1),
    "rows cut in two": lambda x, g: ops.sum(ops.reshape(normalised(x), (2 * ROWS, 20)), 0),
    "every other row": lambda x, g: ops.sum(normalised(x)[::2] * g[::2], 0),
    "one row for all": lambda x, g: ops.sum(ops.exp(normalised(x)[:1] * g), 0),
}


@pytest.mark.parametrize("name", NEAR)
def test_sums_of_other_rows_than_the_band(name):
    build = NEAR[name]
    _, f = made(lambda x, g: [normalised(x), build(x, g)], normal(ROWS, 40), normal(ROWS, 40))
    assert not whether(f) or name == "part of each row"


def alone(f):
    """The instructions of a function, no sums on rows of loops."""
    binder = f.info.program.drafted("schedule").binder
    binder.bands = False
    return binder.run()


def pair(build=both):
    """Two Instructions that may be one: sums that read what the rows made and what they read."""
    x, g = leaf((None, 40)), leaf((None, 40))
    f = make_function([x, g], build(x, g), positional_only=True)
    f(normal(ROWS, 40), normal(ROWS, 40))
    rows, sums = alone(f)[:2]
    assert bands.why_apart(rows, sums) is None
    return rows, sums


def read_of_rows(rows, sums):
    """(number of the pointer, place of its stride in dims) of an operand that the rows make."""
    at = 3  # after the sizes
    for number, (op, pointer) in enumerate(zip(sums.kernel.operands, sums.pointers)):
        if op.role == "in" and pointer[0] in rows.writes:
            return number, at
        at += op.run
    raise AssertionError


def changed(sequence, k, value):
    return [*sequence[:k], value, *sequence[k + 1 :]]


def test_each_condition_is_asked_for():
    """A pair that may be one, but for one thing."""
    rows, sums = pair()
    number, stride = read_of_rows(rows, sums)
    buffer, offset = sums.pointers[number]
    k = sums.kernel
    still = k.operands[number]._replace(run=False)
    along = k.operands[number]._replace(inner=1)
    fixed = replace(k, operands=tuple(changed(k.operands, number, still)))
    wide = replace(k, operands=tuple(changed(k.operands, number, along)))
    one_less = [d for i, d in enumerate(sums.dims) if i != stride]
    for what, other, reason in (
        ("another number of rows", {"dims": changed(sums.dims, 1, ROWS - 1)}, follow.OTHER_ROWS),
        ("another stride", {"dims": changed(sums.dims, stride, sums.dims[stride] + 1)},
         follow.OTHER_ROWS),
        ("another place", {"pointers": changed(sums.pointers, number, (buffer, offset + 4))},
         follow.OTHER_ROWS),
        ("one row for all", {"kernel": fixed, "dims": one_less}, follow.OTHER_ROWS),
        ("a row where the rows make a number", {"kernel": wide}, follow.OTHER_ROWS),
        ("results over what the rows read", {"writes": [*sums.writes, rows.reads[0]]},
         follow.OVERWRITTEN),
        ("results over what the rows make", {"writes": [*sums.writes, rows.writes[0]]},
         follow.OVERWRITTEN),
        ("nothing in common", {"reads": [("in", 9)], "pointers": [
            (("in", 9), 0) if o.role == "in" else p for o, p in zip(k.operands, sums.pointers)]},
         follow.NOTHING_SHARED),
        ("another form", {"kernel": replace(k, form="columns")}, follow.NO_ROW_LOOP),
    ):  # fmt: skip
        assert bands.why_apart(rows, replace(sums, **other)) is reason, what
    oracle = PyCall(name="sum", pointers=sums.pointers, call=None, ins=[], outs=[])
    assert bands.why_apart(rows, oracle) is follow.NO_ROW_LOOP
    chunks = replace(rows, kernel=replace(rows.kernel, form="chunks"))
    for pair_of_others in ((chunks, sums), (sums, rows), (rows, rows)):
        assert bands.why_apart(*pair_of_others) is follow.NO_ROW_LOOP


def test_rows_of_another_length():
    """Numbers of a row that the rows did not make."""
    rows, sums = pair(lambda x, g: [ops.softmax(x, 1), ops.sum(ops.softmax(x, 1) * g, 0)])
    assert any(w.inner == 1 and w.pointer[0] in rows.writes for w in bands.walks(sums))
    assert bands.why_apart(rows, replace(sums, dims=changed(sums.dims, 0, 39))) is follow.OTHER_ROWS


def test_few_chunks_stay_apart(monkeypatch):
    """They would leave threads without work."""
    x, g = normal(ROWS, 40), normal(ROWS, 40)
    for most, expected in ((3, True), (4, False)):
        monkeypatch.setattr(bands, "LEAST_CHUNKS", most)
        _, f = made(both, x, g)
        assert whether(f) == expected


def test_loops_that_share_nothing_stay_apart():
    _, f = made(
        lambda x, g: [normalised(x), ops.sum(ops.exp(g), 0)], normal(ROWS, 40), normal(ROWS, 40)
    )
    assert not whether(f)


def test_a_kernel_that_cannot_be_had_is_two():
    x, g = leaf((None, 40)), leaf((None, 40))
    f = make_function([x, g], both(x, g), positional_only=True)
    f(normal(ROWS, 40), normal(ROWS, 40))
    steps = f.info.program.drafted("lower").instructions
    kernel = next(s.kernel for s in steps if type(s.kernel) is codegen.Bands)
    kernel.check()
    rows, sums = alone(f)[:2]
    assert bands.why_apart(rows, sums, {kernel.key()}) is follow.NO_KERNEL
    binder = f.info.program.drafted("schedule").binder
    binder.refused = frozenset({kernel.key()})
    assert not any(type(s.kernel) is codegen.Bands for s in binder.run())


def test_rows_and_sums_find_each_other_whatever_lies_between():
    """Results of other loops that come before the sums in the graph, or after them."""
    x, g = normal(ROWS, 40), normal(ROWS, 40)

    def build(x, g):
        y = normalised(x)
        return [y, ops.exp(g[:5] * 2), ops.cumsum(g[:3], 0), ops.sum(y * g, 0), ops.tanh(g[1:4])]

    for order in (slice(None), slice(None, None, -1)):
        _, f = made(lambda x, g, o=order: build(x, g)[o], x, g)
        assert whether(f), f.steps()


def test_reasons_of_sums_that_run_alone(monkeypatch):
    """explain says of the pair why it is none."""
    monkeypatch.setattr(bands, "LEAST_CHUNKS", 1 << 40)
    x = K.placeholder((None, 40), name="x")
    y = K.softmax(x)
    f = K.function([x], [y, K.sum(y * x, axis=0)])
    f(normal(ROWS, 40))
    assert "too few rows to give all threads work" in f.explain()


def test_an_export_has_two(tmp_path):
    x = K.placeholder((ROWS, 40), name="x")
    y = K.softmax(x)
    f = K.function([x], [y, K.sum(y * x, axis=0)])
    K.export(f, tmp_path, prefix="two")
    assert "_columns" not in (tmp_path / "two.c").read_text()
