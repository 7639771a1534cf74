"""Which form a loop gets, and that results do not depend on it."""

import re

import numpy as np
import pytest

from ckernels import ops
from ckernels.autodiff.reverse import grad
from ckernels.ops.reference import evaluate
from ckernels.runtime.function import make_function

from .planned import leaf, plan

RNG = np.random.default_rng(8)


def compiled(build, shape, dtype="float32"):
    """(function, call that checks it against the oracles and gives the forms of its kernels)."""
    x = leaf(shape, dtype)
    made = build(x)
    roots = made if isinstance(made, list) else [made]
    f = make_function([x], roots, positional_only=True)

    def forms(array, rtol=2e-5):
        with np.errstate(all="ignore"):
            every = evaluate(roots, {x: array})
        for got, want in zip(f(array), every):
            np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)
        return [k["form"] for k in f.stats()["kernels"]]

    return f, forms


def normalised(x):
    off = x - ops.mean(x, -1, keepdims=True)
    return off / ops.sqrt(ops.mean(ops.square(off), -1, keepdims=True) + 1e-3)


BODIES = {
    "sum": lambda x: ops.sum(x, -1),
    "softmax": lambda x: ops.softmax(x, -1),
    "log_softmax": lambda x: ops.log_softmax(x, -1),
    "logsumexp": lambda x: ops.logsumexp(x, -1),
    "normalised": normalised,
    "argmax": lambda x: ops.argmax(x, -1),
    "any": lambda x: ops.any(x > 2, -1),
    "prod": lambda x: ops.prod(x, -1),
    "gradient": lambda x: grad(ops.sum(ops.square(ops.softmax(x, -1))), [x])[0],
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize(
    "columns, form",
    [(2, "columns"), (10, "columns"), (15, "columns"), (16, "rows"), (17, "rows")],
)
def test_rows_shorter_than_a_vector_go_side_by_side(columns, form, name, dtype):
    """However many there are: one plan for all batches but those of one."""
    form = "columns" if name == "argmax" else form  # of rows below 48
    _, forms = compiled(BODIES[name], (None, columns), dtype)
    for rows in (1000, 2, 3, 31, 33, 257):
        x = (2 * RNG.standard_normal((rows, columns))).astype(dtype)
        x[1] = 1  # a tie
        assert forms(x) == [form]
    for strided in (np.asfortranarray(x), np.repeat(x, 3, 1)[:, ::3], x[::-1].copy()[::-1]):
        forms(strided)
    forms(x[:1])
    forms(x[:0])


@pytest.mark.parametrize("name", BODIES)
def test_infinities_and_nan_in_short_rows(name):
    _, forms = compiled(BODIES[name], (None, 10))
    x = RNG.standard_normal((64, 10)).astype("float32")
    x[1, 3], x[2], x[3, 5], x[4, ::2] = np.inf, -np.inf, np.nan, -np.inf
    assert forms(x) == ["columns"]


def products_by_rest(x):
    """What the gradient of a product of rows is: both are stored, after one sum."""
    rest = 1 - ops.sum(x * x, -1, keepdims=True)
    return [rest, x * rest, (x + 1) * rest]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns, form", [(7, "columns"), (8, "rows"), (13, "rows")])
def test_short_rows_that_are_stored_after_little_work_stay_rows(columns, form, dtype):
    for shape in ((None, columns), (None, None)):
        _, forms = compiled(products_by_rest, shape, dtype)
        for rows in (1000, 4, 33):
            x = RNG.standard_normal((rows, columns)).astype(dtype)
            assert forms(x) == [form]
        for other in (np.asfortranarray(x), np.repeat(x, 3, 1)[:, ::3], x[::-1], x[:1], x[:0]):
            forms(other)
        x[1, 2], x[2, 1], x[3] = np.nan, np.inf, 0
        forms(x)


@pytest.mark.parametrize(
    "build, dtype",
    [
        (lambda x: ops.sum(x * x, -1), "float64"),
        (lambda x: x / ops.sum(x, -1, keepdims=True), "float64"),
        (lambda x: x - ops.max(x, -1, keepdims=True), "float64"),
        (lambda x: ops.exp(x) - ops.sum(x, -1, keepdims=True), "float64"),
        (lambda x: x - ops.sum(x, -1, keepdims=True), "int16"),
        (normalised, "float64"),
    ],
    ids=["not stored", "a division", "a maximum", "exp", "16 bits", "two sums"],
)
def test_other_short_rows_go_side_by_side(build, dtype):
    x = (3 * RNG.standard_normal((100, 12))).astype(dtype)
    assert "rows" not in compiled(build, (None, 12), dtype)[1](x)


BYTES = {
    "max": lambda x: ops.max(x, -1),
    "argmax": lambda x: ops.argmax(x, -1),
    "sum": lambda x: ops.sum(x, -1),
    "any": lambda x: ops.any(x > 99, -1),
    "mean": lambda x: ops.mean(ops.cast(x, "float32"), -1),
}


@pytest.mark.parametrize("name", BYTES)
@pytest.mark.parametrize("columns, form", [(15, "columns"), (63, "columns"), (64, "rows")])
def test_rows_of_bytes_are_short_up_to_a_vector_of_bytes(columns, form, name):
    for shape in ((None, columns), (None, None)):
        _, forms = compiled(BYTES[name], shape, "uint8")
        for rows in (300, 16, 1000):
            x = RNG.integers(0, 120, (rows, columns)).astype("uint8")
            assert forms(x) == [form]
        forms(x[::-1])
        forms(np.asfortranarray(x))
        forms(x[:0])


def test_few_rows_of_bytes_and_rows_that_are_stored_stay_rows():
    x = RNG.integers(0, 120, (15, 40)).astype("uint8")
    assert compiled(BYTES["max"], (None, None), "uint8")[1](x) == ["rows"]
    less = compiled(lambda x: ops.max(x, -1, keepdims=True) - x, (None, 40), "uint8")[1]
    assert less(RNG.integers(0, 120, (300, 40)).astype("uint8")) == ["rows"]
    both = compiled(
        lambda x: [ops.max(x, -1), ops.max(x, -1, keepdims=True) - x], (None, 40), "uint8"
    )[1]
    assert both(RNG.integers(0, 120, (300, 40)).astype("uint8")) == ["rows"]
    wide = compiled(BYTES["max"], (None, 40), "int16")[1]
    assert wide(RNG.integers(0, 120, (300, 40)).astype("int16")) == ["rows"]


@pytest.mark.parametrize("name", BODIES)
def test_a_length_that_only_a_call_knows_is_asked(name):
    """One plan below the length of a vector and one from there on, whichever came first."""
    shapes = ((40, 10), (40, 48), (4, 10), (1000, 15), (33, 70), (33, 3), (2, 4), (1, 3))
    for order in (shapes, shapes[::-1]):
        f, forms = compiled(BODIES[name], (None, None))
        for shape in order:
            forms(RNG.standard_normal(shape).astype("float32"))
        found = {k["form"] for k in f.stats()["kernels"]}
        assert found == {"columns", "rows"}
        assert f.stats()["classes"] <= 4  # short, long, one row; small and other domains


@pytest.mark.parametrize(
    "shape, build, form",
    [
        ((7, 40, 10), lambda x: ops.softmax(x, -1), "columns"),
        ((7, 40, 10), lambda x: ops.softmax(x[:, :33], -1), "columns"),
        ((7, 40, 10), lambda x: ops.softmax(x[:, :4], -1), "columns"),
        ((7, 40, 10), lambda x: ops.softmax(x[:, :3], -1), "rows"),
        ((7, 40, 10), lambda x: ops.sum(x, (1, 2)), "rows"),
        ((500, 1000), lambda x: ops.softmax(x[:, 20:30], -1), "columns"),
        ((3, 10), lambda x: ops.softmax(x, -1), "rows"),
    ],
    ids=["as one", "33 of 40", "4 of 40", "3 of 40", "two axes", "of a matrix", "few"],
)
def test_lanes_are_rows_of_one_step(shape, build, form):
    """Leading axes that count as one, and such that do not: those of the last are the lanes."""
    _, forms = compiled(build, shape)
    assert forms(RNG.standard_normal(shape).astype("float32")) == [form]


@pytest.mark.parametrize("sizes", [(9, 0, 3), (0, 5, 5), (5, 5, 0), (5, 0, 5)])
@pytest.mark.parametrize("way", ["first", "second", "last", "all"])
def test_what_is_empty_has_no_other_end_to_be_walked_from(sizes, way):
    """Sums of reversed views without elements: no pointer may lie beside the buffer."""
    axis = {"first": 0, "second": 1, "last": 2}.get(way)
    slices = [(None, None, -1 if axis in (None, k) else 1) for k in range(3)]
    for shape in (sizes, (None, None, None)):
        x = leaf(shape, "float64")
        y = ops.sin(ops.slice_(x, slices))
        for root in (ops.sum(y), ops.sum(y, 0), ops.sum(y, -1)):
            f = make_function([x], [root], positional_only=True)
            for given in (sizes, (3, 4, 5)) if None in shape else (sizes,):
                array = RNG.standard_normal(given)
                np.testing.assert_allclose(f(array)[0], evaluate([root], {x: array})[0], 1e-12)


CHAINS = {
    "logsumexp": lambda s: ops.logsumexp(s, 1),
    "softmax": lambda s: ops.softmax(s, 1),
    "argmax": lambda s: ops.argmax(s, 1),
    "max": lambda s: ops.max(s, 1),
    "mean": lambda s: ops.mean(ops.exp(s), 1),
}


# short rows whose loads in steps are kept for a strip, and short rows of places
SIDE_BY_SIDE = {("softmax", 17), ("softmax", 33), ("argmax", 33)}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize(
    "batch, states, view, gathers",
    [(32, 20, lambda t: t, False), (8, 256, lambda t: t, False), (3, 48, lambda t: t, False),
     (20, 40, lambda t: t.T, False), (3, 40, lambda t: t.repeat(2, 1)[:, ::2], True),
     (3, 17, lambda t: t, True), (900, 33, lambda t: t, True)],
    ids=["few states", "many states", "few rows", "transposed", "every second", "few of both",
         "long rows"],
)  # fmt: skip
def test_vectors_run_along_an_axis_that_all_operands_walk_in_steps(
    name, batch, states, view, gathers
):
    """A step of a chain of states: scores stay along new states, transitions along the batch."""
    a, t = leaf((None, None)), leaf((None, None))
    root = CHAINS[name](a[:, :, None] + t)
    f = make_function([a, t], [root], positional_only=True)
    x = RNG.standard_normal((batch, states)).astype("float32")
    y = view(RNG.standard_normal((states, states)).astype("float32"))
    y[1, 2], y[0, 0], x[1, 1], x[2] = np.nan, np.inf, -np.inf, -0.0
    for k, given in enumerate([(x, y), (x[:0], y), (x[:1], y), (x, y[:, :1]), (x[::-1], y)]):
        with np.errstate(all="ignore"):
            (want,) = evaluate([root], dict(zip((a, t), given)))
        np.testing.assert_allclose(f(*given)[0], want, rtol=2e-5, atol=2e-5)
        if k == 0 and (name, states) not in SIDE_BY_SIDE:
            assert bool(re.search(r"\[[cj] \* (step|2)", f.source())) == gathers


@pytest.mark.parametrize("rows, columns", [(318, 50), (20, 1000), (40, 40)])
def test_a_result_larger_than_what_is_read_is_walked_as_it_lies(rows, columns):
    """Sums of a row and a column are stored beside their logsumexp: none of it in steps."""
    a, b = leaf((rows,), "float64"), leaf((columns,), "float64")
    spread = a[:, None] + b
    f = make_function([a, b], [spread, ops.logsumexp(spread, 1)], positional_only=True)
    x, y = RNG.standard_normal(rows), RNG.standard_normal(columns)
    got = f(x, y)
    np.testing.assert_allclose(got[0], x[:, None] + y, rtol=1e-15)
    np.testing.assert_allclose(got[1], np.logaddexp.reduce(x[:, None] + y, 1), rtol=1e-13)
    assert "row program" in f.source() and not re.search(r"\[[cj] \* ", f.source())


def windows(x, size, step=1):
    """Windows of both axes of a matrix, every `step`-th along the last."""
    w = ops.sliding_windows(ops.sliding_windows(x, 0, size[0]), 1, size[1])
    return w[:, ::step] if step != 1 else w


OF_WINDOWS = {
    "mean": lambda w: ops.mean(w, (2, 3)),
    "std": lambda w: ops.sqrt(ops.var(w, (2, 3))),
    "max": lambda w: ops.max(w, (2, 3)),
    "logsumexp": lambda w: ops.logsumexp(w, (2, 3)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "size, step, view, form",
    [((7, 7), 1, lambda x: x, "columns"), ((1, 40), 1, lambda x: x, "columns"),
     ((7, 7), 1, lambda x: x[::-1], "columns"), ((7, 7), 2, lambda x: x, "rows"),
     ((7, 7), 1, lambda x: x[:, ::2], "rows"), ((7, 60), 1, lambda x: x, "rows")],
    ids=["both axes", "one axis", "reversed rows", "with steps", "every second", "few"],
)  # fmt: skip
@pytest.mark.parametrize("name", OF_WINDOWS)
def test_windows_that_overlap_are_columns(size, step, view, form, name):
    x = view(RNG.standard_normal((50, 64)).astype("float32"))
    x[3, 4], x[9] = np.nan, -np.inf
    forms = compiled(lambda a: OF_WINDOWS[name](windows(a, size, step)), (None, None))[1](x)
    assert form in forms


def pair(x, step=2, first=0, other=1):
    return x[:, first::step] * x[:, other::step]


ROWS, CUBE = RNG.normal(size=(7, 96)).astype("float32"), RNG.normal(size=(5, 40, 3))
BESIDE = {  # operands of one array that lie in each other's gaps: (build, array, how many)
    "pairs": (pair, ROWS, 1),
    "fours": (lambda x: pair(x, 4, 1, 3) + pair(x, 4, 0, 2), ROWS, 3),
    "channels": (lambda x: pair(ops.reshape(x, (-1, 3)), 3, 0, 2), CUBE, 1),
    "stored": (lambda x: ops.stack([ops.exp(x), x * x, x - 1], -1), ROWS, 2),
    "rotated": (
        lambda x: ops.stack([x[:, ::2] - x[:, 1::2] * 3, x[:, 1::2] + x[:, ::2]], 2),
        ROWS, 2),
    "one behind the other": (lambda x: x[:, :48] * x[:, 48:], ROWS, 0),
    "by one": (lambda x: x[:, 1:] * x[:, :-1], ROWS, 0),
    "a gap further": (lambda x: x[:, 2:94:2] * x[:, 5::2], ROWS, 0),  # not in the first one's
    "steps of 8": (lambda x: pair(x, 8), ROWS, 0),
    "steps of two kinds": (lambda x: x[:, :48:2] * x[:, 1::4], ROWS, 0),
    "backwards": (lambda x: x[:, ::-2] * x[:, -2::-2], ROWS, 0),
    "rows": (lambda x: x[::2][:3] * x[1::2], ROWS, 0),
    "parts of a join": (lambda x: ops.concatenate([ops.exp(x), x * x], 1), ROWS, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDE)
def test_operands_in_gaps_of_others(name):
    build, array, count = BESIDE[name]
    kernels = plan(build, array, rtol=1e-5)[1]
    assert sum(bool(o.beside) for k in kernels for o in k.operands) == count
    plan(build, array[:0], rtol=1e-5)
    plan(build, np.concatenate([array, array])[::-2], rtol=1e-5)
    plan(build, np.full_like(array, np.nan), rtol=1e-5)
