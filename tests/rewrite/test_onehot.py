"""Comparisons with all classes: their products and sums are gathers and scatters; near misses."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.config import config

N, C, D = 37, 20, 5
NUMBERS = ["uint8", "int8", "int32", "int64", "float16", "float32", "float64", "bfloat16"]


def classes(dtype="int64", n=N, seed=0):
    """Classes, some of them out of range."""
    at = np.random.default_rng(seed).integers(0, C, n)
    at[::7], at[3::11] = C + 3, 3
    return (at if dtype.startswith("u") else np.where(at == 3, -2, at)).astype(dtype)


def hot(at, dtype="float64", n=C):
    return (np.asarray(at)[..., None] == np.arange(n)).astype(dtype)


def rows(at, dtype="float64", n=C):
    """As users write them: at[:, None] == arange(n)."""
    kind = K.dtype(at)
    return K.cast(K.equal(K.expand_dims(at, -1), K.arange(n, dtype=kind)), dtype)


def name(dtype):
    return "float32" if dtype == "bfloat16" else dtype


def wild(shape, dtype, seed=1):
    rng = np.random.default_rng(seed)
    if dtype.startswith(("f", "b")):
        return rng.integers(-8, 9, shape).astype(name(dtype)) / 4
    return rng.integers(0, 6, shape).astype(dtype)


def agree(xs, build, arrays, want, found=("take", "scatter_add", "take_along_axis")):
    f = K.function(xs, build)
    got = f(*arrays)
    np.testing.assert_allclose(np.asarray(got, "float64"), np.asarray(want, "float64"), rtol=1e-6)
    steps = " ".join(f.steps())
    assert any(word in steps for word in found) and "matmul" not in steps, steps
    return f


PRODUCTS = {
    "picks": (lambda z, w: K.dot(z, w), lambda z, w: z @ w, (C, D)),
    "adds": (lambda z, w: K.dot(K.transpose(z), w), lambda z, w: z.T @ w, (N, D)),
    "picks columns": (lambda z, w: K.dot(w, K.transpose(z)), lambda z, w: w @ z.T, (D, C)),
    "adds columns": (lambda z, w: K.dot(w, z), lambda z, w: w @ z, (D, N)),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("case", PRODUCTS)
def test_products(case, dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    build, numpy, shape = PRODUCTS[case]
    at, w = K.placeholder((None,), dtype="int64"), K.placeholder((None, None), dtype=dtype)
    values = wild(shape, dtype)
    with np.errstate(over="ignore"):
        want = numpy(hot(classes(), name(dtype)), values.astype(name(dtype)))
    agree([at, w], build(rows(at, dtype), w), [classes(), values], want)


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32", "uint32", "int64"])
def test_dtypes_of_classes(kind):
    at, w = K.placeholder((None,), dtype=kind), K.placeholder((C, D), dtype="float64")
    values = wild((C, D), "float64")
    agree([at, w], K.dot(rows(at), w), [classes(kind), values], hot(classes(kind)) @ values)
    agree([at, w], K.dot(K.cast(K.one_hot(at, C), "float64"), w), [classes(kind), values],
          hot(classes(kind)) @ values)  # fmt: skip


def test_a_number_for_each_row_and_rows_in_more_axes():
    at, by = K.placeholder((None, 3), dtype="int32"), K.placeholder((None, 3), dtype="float64")
    w = K.placeholder((C, D), dtype="float64")
    a, b, v = classes("int32", 36).reshape(-1, 3), wild((12, 3), "float64"), wild((C, D), "float64")
    z = K.cast(K.one_hot(at, C), "float64") * K.expand_dims(by, -1)
    want = hot(a) * b[..., None]
    agree([at, by, w], K.dot(z, w), [a, b, v], want @ v)
    agree([at, by], K.sum(z, (0, 1)), [a, b], want.sum((0, 1)))
    agree([at, by], K.sum(K.where(K.equal(K.expand_dims(at, -1), K.arange(C, dtype="int32")),
                                  K.expand_dims(by, -1) + 0 * K.arange(C, dtype="float64"), 0.0),
                          (0, 1)), [a, b], want.sum((0, 1)))  # fmt: skip


@pytest.mark.parametrize("dtype", ["bool", *NUMBERS])
def test_counts(dtype):
    at = K.placeholder((None,), dtype="int64")
    z = K.equal(K.expand_dims(at, 1), K.arange(C, dtype="int64"))
    z = z if dtype == "bool" else K.cast(z, dtype)
    f = agree([at], K.sum(z, 0), [classes()], hot(classes()).sum(0))
    g = K.function([at], K.sum(z, 0), mode="reference")
    assert f(classes()).dtype == g(classes()).dtype


PICKS = {
    "elements": (lambda p, v: p, lambda p, v: p),
    "a formula": (lambda p, v: K.log(K.abs(p) + v), lambda p, v: np.log(np.abs(p) + v)),
    "a product": (
        lambda p, v: K.dot(p, K.ones((C, C), "float64")),
        lambda p, v: p @ np.ones((C, C)),
    ),
    "a row for all": (lambda p, v: v, lambda p, v: np.broadcast_to(v, p.shape)),
    "a number for each": (lambda p, v: p[:, :1] + v, lambda p, v: p[:, :1] + v),
}


@pytest.mark.parametrize("case", PICKS)
@pytest.mark.parametrize("axes", [(1,), (0,), (0, 1)])
def test_sums(case, axes):
    at, p, v = (K.placeholder((None,), dtype="int64"), K.placeholder((None, C), dtype="float64"),
                K.placeholder((C,), dtype="float64"))  # fmt: skip
    build, numpy = PICKS[case]
    a, b, c = classes(), wild((N, C), "float64"), np.abs(wild((C,), "float64", 3)) + 1
    want = np.sum(hot(a) * numpy(b, c), axis=axes)
    f = K.function([at, p, v], K.sum(build(p, v) * rows(at), axes))
    np.testing.assert_allclose(f(a, b, c), want, rtol=1e-12, atol=1e-12)
    assert any("take" in s or "scatter_add" in s for s in f.steps())


@pytest.mark.parametrize("sparse", [False, True], ids=["rows", "numbers for rows"])
def test_the_cross_entropy_of_classes_reads_one_logit_of_each_row(sparse):
    """A product where rows are not zero: also of -inf; a number of a row may be zero itself."""
    at, x = K.placeholder((None,), dtype="int64"), K.placeholder((None, C))
    by = K.placeholder((None,))
    z = rows(at, "float32") * K.expand_dims(by, -1) if sparse else rows(at, "float32")
    loss = Tensor(ops.softmax_crossentropy(x.node, z.node))
    f = K.function([at, x, by], loss, on_unused_input="ignore")
    a, v, b = classes(), wild((N, C), "float32"), wild((N,), "float32", 2)
    v[:, 5] = -np.inf
    a[1], a[2], b[2], v[3, 7] = 5, 5, 0, np.nan
    logs = v - v.max(1, keepdims=True)
    logs = logs - np.log(np.exp(logs).sum(1, keepdims=True))
    h = hot(a) * b[:, None] if sparse else hot(a)
    with np.errstate(invalid="ignore"):
        want = -np.where(h == 0, 0, h * logs).sum(1)
    np.testing.assert_allclose(f(a, v, b), want, rtol=1e-6)
    assert any("take" in s for s in f.steps()) is not sparse


def test_an_element_is_picked_of_products_with_their_bias_that_are_grouped():
    x, w, b = K.placeholder((4, 9, 6)), K.placeholder((6, C)), K.placeholder((C,))
    at = K.placeholder((4, 9), dtype="int32")
    f = K.function([x, w, b, at], K.sum(rows(at, "float32") * (K.dot(x, w) + b), -1))
    v, u, c, a = (
        wild((4, 9, 6), "float32"),
        wild((6, C), "float32", 2),
        wild((C,), "float32"),
        classes("int32", 36),
    )
    np.testing.assert_allclose(
        f(v, u, c, a.reshape(4, 9)), (hot(a).reshape(4, 9, C) * (v @ u + c)).sum(-1), rtol=1e-6
    )
    assert any("take" in s for s in f.steps())


def test_sums_keep_their_digits():
    """A sum of a class is one of doubles, and counts are exact beyond what a float counts to."""
    n = (1 << 24) + 3
    at = K.placeholder((None,), dtype="int32")
    f = K.function([at], K.sum(rows(at, "float32"), 0))
    assert f(np.zeros(n, "int32"))[0] == np.float32(n)
    by = K.placeholder((None,))
    f = K.function([at, by], K.sum(rows(at, "float32") * K.expand_dims(by, 1), 0))
    x = np.random.default_rng(0).random(300000).astype("float32")
    got = f(np.full(len(x), 4, "int32"), x)[4]
    assert abs(got - x.sum(dtype="float64")) <= 1e-6 * got


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_rows_and_what_nobody_picks(n):
    at, w = K.placeholder((None,), dtype="int64"), K.placeholder((None, None), dtype="float64")
    z = rows(at, n=K.shape(w)[0])
    f = K.function([at, w], [K.dot(z, w), K.sum(z, 0)])
    for c in (0, 1, 2, 30):
        a = np.arange(n) - 1
        w1 = wild((c, 3), "float64")
        got = f(a, w1)
        np.testing.assert_allclose(got[0], hot(a, n=c) @ w1)
        np.testing.assert_allclose(got[1], hot(a, n=c).sum(0))
    w1[5] = np.nan
    got = f(np.array([0, -1, 40, 5]), w1)[0]
    np.testing.assert_array_equal(np.isnan(got).any(1), [False, False, False, True])


def test_derivatives_of_first_and_second_order():
    at, w = K.placeholder((None,), dtype="int64"), K.placeholder((C, 2), dtype="float64")
    h = K.dot(rows(at), w)
    cost = K.sum(h * h * h)
    slope = K.gradients(cost, [w])[0]
    again = K.gradients(K.sum(slope * slope), [w])[0]
    f = K.function([at, w], [cost, slope, again])
    with config.change(optimizer_excluding="one_hot"):
        g = K.function([at, w], [cost, slope, again])
    arrays = classes(), wild((C, 2), "float64")
    for a, b in zip(f(*arrays), g(*arrays)):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    assert "scatter_add" in " ".join(f.steps()) and "matmul" not in " ".join(f.steps())
    assert "matmul" in " ".join(g.steps())


def test_a_step_on_a_table_by_rows_of_classes_costs_its_rows():
    at, w = K.placeholder((3,), dtype="int64"), K.variable(wild((C, D), "float32"))
    cost = K.sum(K.square(K.dot(K.one_hot(at, C), w)))
    f = K.function([at], [cost], updates=[(w, w - 0.5 * K.gradients(cost, [w])[0])])
    before, a = K.get_value(w), np.array([4, 2, 4])
    f(a)
    z = hot(a)
    np.testing.assert_allclose(K.get_value(w), before - z.T @ (z @ before), rtol=1e-6)
    assert "advanced_inc" in " ".join(f.steps())


def line(dtype="int64", first=0, step=1):
    return K.arange(first, first + step * C, step, dtype=dtype)


NEAR = {
    "classes from 1": lambda at, p: K.equal(at, line(first=1)),
    "every second": lambda at, p: K.equal(at, line(step=2)),
    "less": lambda at, p: K.less(at, line()),
    "two lines": lambda at, p: K.equal(at + line(), line()),
    "floats": lambda at, p: K.equal(K.cast(at, "float64"), line("float64")),
    "a number of each element": lambda at, p: K.equal(at, line()) & (p > 0),
    "or": lambda at, p: K.equal(at, line()) | K.equal(at, line() + 3),
}


@pytest.mark.parametrize("case", NEAR)
def test_near_misses_stay_as_they_are(case):
    at, p = K.placeholder((None, 1), dtype="int64"), K.placeholder((None, C), dtype="float64")
    w = K.placeholder((C, D), dtype="float64")
    z = K.cast(NEAR[case](at, p), "float64")
    out = [K.dot(z, w), K.sum(z, 0), K.sum(z * p, 1)]
    f, g = K.function([at, p, w], out), K.function([at, p, w], out, mode="reference")
    arrays = classes()[:, None], wild((N, C), "float64"), wild((C, D), "float64")
    for a, b in zip(f(*arrays), g(*arrays)):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert not any("take" in s or "scatter" in s for s in f.steps()), f.steps()


def test_what_the_loop_over_classes_has_anyway_stays():
    """Lines of classes that are computed whole, and a few classes, are summed as they stand."""
    at, x = K.placeholder((None,), dtype="int64"), K.placeholder((None, C), dtype="float64")
    f = K.function([at, x], K.sum(K.softmax(x) * rows(at), 1))
    assert not any("take" in s for s in f.steps())
    p = K.placeholder((None, 4), dtype="float64")
    f = K.function([at, p], K.sum(p * rows(at, n=4), 1))
    assert not any("take" in s for s in f.steps())


def test_it_can_be_left_out():
    at, w = K.placeholder((None,), dtype="int64"), K.placeholder((C, D), dtype="float64")
    for family in ("one_hot", "one_hot_product"):
        with config.change(optimizer_excluding=family):
            f = K.function([at, w], K.dot(rows(at), w))
            np.testing.assert_allclose(
                f(classes(), wild((C, D), "float64")), hot(classes()) @ wild((C, D), "float64")
            )
        assert "matmul" in " ".join(f.steps())
    assert isinstance(rows(at), Tensor)
