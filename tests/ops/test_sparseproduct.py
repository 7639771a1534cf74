"""Products of two sparse matrices: places, numbers, both orders of gradients, damage, memory."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.autodiff import reverse
from ckernels.base.errors import ArgumentError, IndexOutOfBounds, ShapeError
from ckernels.ops import sparse as rows
from ckernels.ops import sparseproduct as products

from .agree import leaf, numeric
from .test_sparse import WAYS, Matrix, close, make_function, run

SHAPES = [(5, 7, 4), (1, 1, 1), (40, 3, 60), (3, 200, 65), (70, 50, 300)]


def count(*parts):
    return products.make("csr_counts", parts)


def places(*parts):
    return products.csr_product_places(parts[:3], parts[3:])


def stored(m):
    """1 where the matrix stores a number, if only a zero."""
    out = np.zeros(m.dense.shape, int)
    out[m.rows, m.indices] = 1
    return out


def numbers(*parts):
    return products.csr_product(parts[:4], parts[4:8], parts[8:])


@pytest.mark.parametrize("mode", WAYS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint64", "float16", "int8"])
def test_against_dense(mode, dtype):
    for m, k, n in SHAPES if dtype == "float32" else SHAPES[:1]:
        index = "int64" if dtype == "float64" else "int32"
        a, b = Matrix((m, k), 0.2, dtype, index, m), Matrix((k, n), 0.3, dtype, index, n)
        reached = stored(a) @ stored(b) > 0
        each = run(count, *a.places, *b.places, mode=mode, kernels=True)
        np.testing.assert_array_equal(each, reached.sum(1))
        indices, ends = run(places, *a.places, *b.places, mode=mode)
        row, column = np.nonzero(reached)
        np.testing.assert_array_equal(indices, column)  # all, once, rising
        np.testing.assert_array_equal(np.diff(ends), reached.sum(1))
        third = indices, ends, np.empty((m, n, 0), bool)
        got = run(
            numbers,
            *a.parts,
            *b.parts,
            *third,
            mode=mode,
            kernels=True if dtype != "int8" else None,
        )
        close(got, (a.dense @ b.dense)[row, column], dtype)


@pytest.mark.parametrize("mode", WAYS)
def test_numbers_at_any_places(mode):
    """Places beside those of the product, twice, in no order, and with padding behind them."""
    a, b = Matrix((4, 6)), Matrix((6, 5), seed=1)
    indices, indptr = np.array([4, 0, 0, 2, 1, 3, 9, 9]), np.array([0, 3, 3, 5, 6])
    third = indices, indptr, np.empty((4, 5, 0), bool)
    got = run(numbers, *a.parts, *b.parts, *third, mode=mode)
    want = (a.dense @ b.dense)[np.repeat(np.arange(4), np.diff(indptr)), indices[:6]]
    np.testing.assert_allclose(got, [*want, 0, 0])


@pytest.mark.parametrize("mode", WAYS)
def test_equal_places_add_up_and_padding_counts_for_nothing(mode):
    extent = np.empty((2, 3, 0), bool)
    a = np.array([1.0, 2, 3, 7]), np.array([2, 2, 0, 9]), np.array([0, 2, 3]), extent
    b = (
        np.array([1.0, 1, 5, 7]),
        np.array([1, 1, 0, 9]),
        np.array([0, 2, 2, 3]),
        np.empty((3, 2, 0), bool),
    )
    indices, ends = run(places, *a[1:], *b[1:], mode=mode)
    assert indices.tolist() == [0, 1] and ends.tolist() == [0, 1, 2]
    got = run(numbers, *a, *b, indices, ends, np.empty((2, 2, 0), bool), mode=mode)
    assert got.tolist() == [15.0, 6.0]


@pytest.mark.parametrize("mode", WAYS)
@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 0, 2), (3, 2, 0), (3, 4, 5)])
def test_empty_matrices(mode, shape):
    m, k, n = shape
    a, b = Matrix((m, k), 0.0), Matrix((k, n), 0.0)
    indices, ends = run(places, *a.places, *b.places, mode=mode)
    assert indices.shape == (0,) and ends.tolist() == [0] * (m + 1)
    got = run(numbers, *a.parts, *b.parts, indices, ends, np.empty((m, n, 0), bool), mode=mode)
    assert got.shape == (0,)


def test_gradients_to_second_order():
    a, b, third = Matrix((3, 4), 0.5), Matrix((4, 3), 0.5, seed=1), Matrix((3, 3), 0.6, seed=2)
    arrays = [a.data + 0.5, b.data - 0.5]
    structure = [*a.places, *b.places, *third.places]

    def cost(x, y, *s):
        return ops.sum(ops.sin(numbers(x, *s[:3], y, *s[3:6], *s[6:])))

    leaves = [leaf((None,)), leaf((None,))]
    leaves += [leaf((None,) * p.ndim, p.dtype.name) for p in structure]
    total = cost(*leaves)
    for _ in range(2):
        grads = reverse.grad(total, leaves[:2])
        value = make_function(leaves, [total], mode="reference", positional_only=True)
        for mode in WAYS:
            got = make_function(leaves, grads, mode=mode, positional_only=True)(*arrays, *structure)
            for k, g in enumerate(got):
                want = numeric(lambda *x, f=value: f(*x, *structure)[0], arrays, k)
                np.testing.assert_allclose(g, want, rtol=2e-5, atol=1e-5)
        total = ops.add(ops.sum(ops.sin(grads[0])), ops.sum(ops.cos(grads[1])))


@pytest.mark.parametrize("mode", WAYS)
@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize(
    "change, error",
    [
        ({0: [0, 4, 1]}, IndexOutOfBounds),
        ({0: [0, -1, 1]}, IndexOutOfBounds),
        ({1: [0, 2, 1, 3]}, ArgumentError),
        ({1: [0, 1, 2, 4]}, ArgumentError),
        ({1: [1, 1, 2, 3]}, ArgumentError),
        ({1: [0, 1, 3]}, ShapeError),
    ],
)
def test_structures_that_lead_out_of_bounds(mode, which, change, error):
    good = [np.array([0, 2, 1]), np.array([0, 1, 2, 3]), np.empty((3, 3, 0), bool)]
    bad = [np.array(change.get(k, part)) for k, part in enumerate(good)]
    one, two, three = [bad if k == which else good for k in range(3)]
    data = np.ones(3)
    with pytest.raises(error):
        run(numbers, data, *one, data, *two, *three, mode=mode)
    if which < 2:
        for build in (count, places):
            with pytest.raises(error):
                run(build, *one, *two, mode=mode)


def test_places_of_another_product():
    """Ends that are not those of the product are an error, and nothing is written behind them."""
    a = Matrix((3, 3), 1.1)
    for ends, size in (([0, 1, 2, 3], 3), ([0, 3, 6, 10], 10), ([0, 4, 6, 9], 9)):
        for mode in WAYS:
            with pytest.raises(ArgumentError, match="3, 3, 3"):
                run(
                    lambda *p: products.make("csr_places", p),
                    *a.places,
                    *a.places,
                    np.array(ends),
                    np.zeros(size, bool),
                    mode=mode,
                )


def test_shapes_that_do_not_fit():
    a, b = Matrix((3, 4)), Matrix((5, 3))
    with pytest.raises(ShapeError, match=r"\(3, 4\) with one of shape \(5, 3\)"):
        run(count, *a.places, *b.places)


@pytest.mark.parametrize("mode", WAYS)
def test_places_where_a_matrix_is_true(mode):
    rng = np.random.default_rng(3)
    for m, n in ((4, 6), (1, 9), (3, 0), (0, 3)):
        held = rng.random((m, n)) < 0.5
        for view in (held, np.asfortranarray(held), held[::-1, ::-1]):
            indices, ends = run(rows.csr_held, view, mode=mode)
            assert indices.tolist() == view.nonzero()[1].tolist()
            assert ends.tolist() == [0, *view.sum(1).cumsum()]
    for ends, size in (([0, 1, 4], 4), ([0, 3, 5], 5), ([0, 2, 3], 3), ([-1, 2, 4], 4)):
        with pytest.raises(ArgumentError):
            run(
                lambda *p: products.make("csr_held", p),
                np.ones((2, 2), bool),
                np.array(ends),
                np.zeros(size, bool),
                mode=mode,
            )


def test_memory_is_that_of_the_result():
    """Two matrices of 1000 x 1000 with a product of few places: no dense one is on the way."""
    a = Matrix((1000, 1000), 3e-4, "float32")
    leaves = [leaf((None,) * p.ndim, p.dtype.name) for p in (*a.parts, *a.parts)]
    indices, ends = products.csr_product_places(leaves[1:4], leaves[5:])
    data = products.csr_product(leaves[:4], leaves[4:], (indices, ends, leaves[3]))
    f = make_function(leaves, [data, indices, ends], positional_only=True)
    got = f(*a.parts, *a.parts)
    assert f.stats()["peak_bytes"] < 16 * 1000 * 8 + 2**20
    third = got[1], got[2], a.extent
    np.testing.assert_allclose(
        run(rows.csr_dense, got[0], *third), a.dense.astype("float64") @ a.dense, rtol=1e-5
    )


def test_the_same_bits_on_any_number_of_threads():
    a, b = Matrix((400, 300), 0.1, "float32"), Matrix((300, 200), 0.1, "float32", seed=1)
    before, results = K.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            K.set_num_threads(threads)
            indices, ends = run(places, *a.places, *b.places)
            third = indices, ends, np.empty((400, 200, 0), bool)
            results.append([indices, run(numbers, *a.parts, *b.parts, *third)])
    finally:
        K.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(x, y) for x, y in zip(results[0], other))
