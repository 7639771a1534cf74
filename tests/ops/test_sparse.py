"""The rows of compressed sparse matrices: against dense NumPy and finite differences; damage."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.autodiff import reverse
from ckernels.base.errors import ArgumentError, DTypeError, IndexOutOfBounds, ShapeError
from ckernels.ops import sparse as rows
from ckernels.runtime.function import make_function

from .agree import leaf, numeric

WAYS = ("reference", "compiled")
SHAPES = [(5, 7, 1), (20, 30, 10), (40, 9, 100), (3, 200, 65), (1, 1, 3), (4, 4, 16), (300, 50, 37)]


class Matrix:
    """A matrix in compressed rows, its dense form, and the row of each stored number."""

    def __init__(self, shape, density=0.3, dtype="float64", index="int32", seed=0):
        rng = np.random.default_rng(seed)
        self.rows, self.indices = np.nonzero(rng.uniform(size=shape) < density)
        data = rng.integers(-9, 10, len(self.rows))
        self.data = data.astype(dtype) if not dtype.startswith("u") else abs(data).astype(dtype)
        self.indptr = np.append(0, np.bincount(self.rows, minlength=shape[0]).cumsum())
        self.indices, self.indptr = self.indices.astype(index), self.indptr.astype(index)
        self.extent = np.empty((*shape, 0), bool)
        self.dense = np.zeros(shape, dtype)
        self.dense[self.rows, self.indices] = self.data

    @property
    def places(self):
        return self.indices, self.indptr, self.extent

    @property
    def parts(self):
        return self.data, *self.places


def run(build, *arrays, mode="compiled", kernels=None):
    leaves = [leaf((None,) * a.ndim, a.dtype.name) for a in arrays]
    outputs = build(*leaves)
    single = not isinstance(outputs, (list, tuple))
    function = make_function(
        leaves,
        [outputs] if single else list(outputs),
        mode=mode,
        positional_only=True,
        downcast=False,
    )
    results = function(*arrays)
    if kernels is not None and mode == "compiled":
        forms = [r.kernel.form for r in function.info.program.kernels.records.values()]
        assert ("csr" in forms or "kernel" in forms) == kernels, forms
    return results[0] if single else results


def close(got, want, dtype):
    assert got.dtype == np.dtype(dtype)
    exact = not dtype.startswith("float")
    np.testing.assert_allclose(got, want, rtol=0 if exact else 1e-3 if dtype == "float16" else 1e-6)


@pytest.mark.sampled(1, mode=["compiled"])
@pytest.mark.parametrize("mode", WAYS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "float16"])
def test_rows_against_dense(mode, dtype):
    rng = np.random.default_rng(1)
    fast = dtype != "uint8"
    for r, c, k in SHAPES[:2] if dtype != "float32" else SHAPES:
        index = "int64" if dtype == "int64" else "int32"
        m = Matrix((r, c), dtype=dtype, index=index, seed=r)
        y, z = (rng.integers(0, 3, (n, k)).astype(dtype) for n in (c, r))
        x = rng.integers(0, 5, (c, r)).astype(dtype).T  # not contiguous
        ways = [
            (rows.csr_dot, (*m.parts, y), m.dense @ y, fast),
            (rows.csr_dot, (*m.parts, np.asfortranarray(y)), m.dense @ y, fast),
            (lambda *a: rows.csr_dot(*a, back=True), (*m.parts, z), m.dense.T @ z, fast),
            (
                lambda *a: rows.csr_dot(*a, back=True),
                (*m.parts, z[:, ::-1]),
                m.dense.T @ z[:, ::-1],
                fast,
            ),
            (rows.csr_sample, (*m.places, z, y), (z @ y.T)[m.rows, m.indices], fast),
            (rows.csr_dense, m.parts, m.dense, True),
            (rows.csr_take, (*m.places, x), x[m.rows, m.indices], True),
        ]
        for build, arrays, want, compiled in ways:
            close(run(build, *arrays, mode=mode, kernels=compiled), want, dtype)


@pytest.mark.parametrize("mode", WAYS)
def test_the_places(mode):
    for shape in [(6, 9), (30, 4), (1, 1), (3, 100)]:
        m = Matrix(shape, seed=2)
        np.testing.assert_array_equal(run(rows.csr_rows, *m.places, mode=mode), m.rows)
        order, ends = run(lambda *a: rows.csr_order(*a), *m.places, mode=mode)
        back = run(
            rows.csr_dense,
            m.data[order],
            m.rows[order].astype("int32"),
            ends,
            m.extent.transpose(1, 0, 2),
            mode=mode,
        )
        np.testing.assert_array_equal(back, m.dense.T)
        assert ends.dtype == m.indptr.dtype
        target, indices, ends = run(lambda *a: rows.csr_merge(*a), *m.places, mode=mode)
        np.testing.assert_array_equal(target, np.arange(len(m.data)))  # already once and in order
        np.testing.assert_array_equal(indices, m.indices)


@pytest.mark.parametrize("mode", WAYS)
def test_side_by_side(mode):
    ms = [Matrix((12, c), seed=c) for c in (3, 1, 8)]
    count = np.zeros(sum(len(m.data) for m in ms), "int8")
    order = run(rows.csr_interleave, count, *(m.indptr for m in ms), mode=mode, kernels=True)
    total = np.concatenate([m.data for m in ms])[order]
    joined = np.concatenate([m.dense for m in ms], 1)
    np.testing.assert_array_equal(total[total != 0], joined[joined != 0])


@pytest.mark.parametrize("mode", WAYS)
def test_equal_places_add_up_and_indices_need_no_order(mode):
    data, indices, indptr = np.arange(1.0, 6), np.array([3, 1, 3, 0, 0]), np.array([0, 3, 3, 5])
    dense = np.array([[0, 2.0, 0, 4], [0] * 4, [9, 0, 0, 0]])
    extent = np.empty((3, 4, 0), bool)
    parts = data, indices, indptr, extent
    np.testing.assert_array_equal(run(rows.csr_dense, *parts, mode=mode), dense)
    y = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(run(rows.csr_dot, *parts, y, mode=mode), dense @ y)
    target, kept, ends = run(lambda *a: rows.csr_merge(*a), *parts[1:], mode=mode)
    assert target.tolist() == [1, 0, 1, 2, 2] and kept.tolist() == [1, 3, 0]
    assert ends.tolist() == [0, 2, 2, 3]


@pytest.mark.parametrize("mode", WAYS)
def test_padding_behind_the_last_row_counts_for_nothing(mode):
    m, rng = Matrix((6, 8), seed=3), np.random.default_rng(3)
    count = len(m.data)
    parts = [
        np.append(m.data, [99.0] * 5),
        np.append(m.indices, np.full(5, 77, "int32")),
        m.indptr,
        m.extent,
    ]
    y, z, x = rng.normal(size=(8, 3)), rng.normal(size=(6, 3)), rng.normal(size=(6, 8))
    for build, arrays, want in [
        (rows.csr_dense, parts, m.dense),
        (rows.csr_dot, [*parts, y], m.dense @ y),
        (lambda *a: rows.csr_dot(*a, back=True), [*parts, z], m.dense.T @ z),
    ]:
        np.testing.assert_allclose(run(build, *arrays, mode=mode), want, rtol=1e-12)
    for build, arrays, want in [
        (rows.csr_sample, [*parts[1:], z, y], (z @ y.T)[m.rows, m.indices]),
        (rows.csr_take, [*parts[1:], x], x[m.rows, m.indices]),
        (rows.csr_rows, parts[1:], m.rows),
    ]:
        got = run(build, *arrays, mode=mode)
        np.testing.assert_allclose(got[:count], want, rtol=1e-12)
        assert got.shape == (count + 5,) and not got[count:].any()
    order, _ = run(lambda *a: rows.csr_order(*a), *parts[1:], mode=mode)
    assert sorted(order[:count]) == list(range(count))
    assert order[count:].tolist() == list(range(count, count + 5))


@pytest.mark.parametrize("mode", WAYS)
def test_matrices_without_rows_columns_or_numbers(mode):
    for shape in [(0, 4), (4, 0), (0, 0), (3, 5)]:
        m = Matrix(shape, density=0)
        for k in (0, 1, 20):
            y, z = np.ones((shape[1], k)), np.ones((shape[0], k))
            got = run(rows.csr_dot, *m.parts, y, mode=mode)
            assert got.shape == (shape[0], k) and not got.any()
            got = run(lambda *a: rows.csr_dot(*a, back=True), *m.parts, z, mode=mode)
            assert got.shape == (shape[1], k) and not got.any()
            assert run(rows.csr_sample, *m.places, z, y, mode=mode).shape == (0,)
        assert run(rows.csr_dense, *m.parts, mode=mode).shape == shape
        order, ends = run(lambda *a: rows.csr_order(*a), *m.places, mode=mode)
        assert order.shape == (0,) and ends.tolist() == [0] * (shape[1] + 1)


@pytest.mark.parametrize("mode", WAYS)
@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"indices": [0, 4, 1]}, IndexOutOfBounds, "index 4 .* 4 positions"),
        ({"indices": [0, -1, 1]}, IndexOutOfBounds, "index -1"),
        ({"indptr": [0, 1, 9, 3]}, ArgumentError, "never fall"),
        ({"indptr": [0, 2, 1, 3]}, ArgumentError, r"never fall.*\[0, 2, 1, 3\]"),
        ({"indptr": [0, 1, 2, 4]}, ArgumentError, "end at most with 3"),
        ({"indptr": [1, 1, 2, 3]}, ArgumentError, "begin with 0"),
        ({"indptr": [-1, 1, 2, 3]}, ArgumentError, "begin with 0"),
        ({"indptr": [0, 1, 3]}, ShapeError, "3 numbers is none of 3 rows"),
        ({"data": [1.0, 2.0]}, ShapeError, "2 stored numbers have 3 indices"),
    ],
)
def test_structures_that_lead_out_of_bounds(mode, change, error, words):
    good = {"data": [1.0, 2.0, 3.0], "indices": [0, 3, 1], "indptr": [0, 1, 2, 3]}
    data, indices, indptr = (np.array(a) for a in {**good, **change}.values())
    extent, y, z = np.empty((3, 4, 0), bool), np.ones((4, 2)), np.ones((3, 2))
    places = indices, indptr, extent
    parts = data, *places
    programs = [
        (rows.csr_dense, parts),
        (rows.csr_dot, (*parts, y)),
        (lambda *a: rows.csr_dot(*a, back=True), (*parts, z)),
    ]
    if "data" not in change:
        programs += [
            (rows.csr_rows, places),
            (lambda *a: rows.csr_order(*a), places),
            (lambda *a: rows.csr_merge(*a), places),
            (rows.csr_sample, (*places, z, y)),
            (rows.csr_take, (*places, z @ y.T)),
        ]
    for build, arrays in programs:
        with pytest.raises(error, match=words):
            run(build, *arrays, mode=mode)


def test_shapes_and_dtypes_that_do_not_fit():
    data, index, ends = leaf((3,)), leaf((3,), "int32"), leaf((4,), "int32")
    extent = leaf((3, 5, 0), "bool")
    with pytest.raises(ShapeError, match=r"shape \(3, 5\) with one of shape \(4, 2\)"):
        rows.csr_dot(data, index, ends, extent, leaf((4, 2)))
    with pytest.raises(ShapeError, match=r"shape \(5, 3\) with one of shape \(5, 2\)"):
        rows.csr_dot(data, index, ends, extent, leaf((5, 2)), back=True)
    with pytest.raises(ShapeError, match="dense matrix"):
        rows.csr_dot(data, index, ends, extent, leaf((5,)))
    with pytest.raises(ShapeError, match="vectors"):
        rows.csr_dense(leaf((3, 1)), index, ends, extent)
    with pytest.raises(DTypeError, match="integers"):
        rows.csr_dense(data, data, ends, extent)
    with pytest.raises(ShapeError, match="second axis .* 4 where 5"):
        rows.csr_take(index, ends, extent, leaf((3, 4)))
    with pytest.raises(ShapeError, match="last axis"):
        rows.csr_sample(index, ends, extent, leaf((3, 2)), leaf((5, 3)))
    assert rows.csr_dot(leaf((3,), "float32"), index, ends, extent, leaf((5, 2))).dtype == "float64"


@pytest.mark.parametrize("back", [False, True])
def test_gradients_to_second_order(back):
    m, rng = Matrix((4, 5), seed=5), np.random.default_rng(5)
    y, w = rng.normal(size=(4 if back else 5, 3)), rng.normal(size=(4, 5))
    arrays = [m.data + 0.5, y, w]

    def cost(data, y, w, indices, indptr, extent):
        parts = data, indices, indptr, extent
        product = ops.tanh(rows.csr_dot(*parts, y, back=back))
        dense = ops.mul(ops.square(rows.csr_dense(*parts)), w)
        taken = ops.exp(ops.mul(rows.csr_take(*parts[1:], w), 0.3))
        both = (product, y) if back else (y, product)  # rows and columns of the matrix
        sampled = rows.csr_sample(*parts[1:], *reversed(both))
        return ops.add(
            ops.add(ops.sum(ops.square(product)), ops.sum(dense)),
            ops.sum(ops.mul(ops.mul(taken, data), ops.sin(sampled))),
        )

    leaves = [
        leaf((None,)),
        leaf((None, None)),
        leaf((None, None)),
        leaf((None,), "int32"),
        leaf((None,), "int32"),
        leaf((None, None, 0), "bool"),
    ]
    total = cost(*leaves)
    for _ in range(2):
        grads = reverse.grad(total, leaves[:3])
        value = make_function(leaves, [total], mode="reference", positional_only=True)
        for mode in WAYS:
            got = make_function(leaves, grads, mode=mode, positional_only=True)(*arrays, *m.places)
            for k, g in enumerate(got):
                want = numeric(lambda *a, f=value: f(*a, *m.places)[0], arrays, k)
                np.testing.assert_allclose(g, want, rtol=2e-5, atol=1e-5)
        total = ops.add(ops.sum(ops.sin(grads[0])), ops.sum(ops.cos(grads[1])))
        total = ops.add(total, ops.sum(ops.tanh(grads[2])))


def test_the_same_bits_on_any_number_of_threads():
    m = Matrix((400, 300), density=0.1, dtype="float32", seed=6)
    rng = np.random.default_rng(6)
    y, z = (rng.normal(size=(n, 130)).astype("float32") for n in (300, 400))
    before, results = K.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            K.set_num_threads(threads)
            results.append(
                [
                    run(rows.csr_dot, *m.parts, y),
                    run(rows.csr_sample, *m.places, z, y),
                    run(lambda *a: rows.csr_dot(*a, back=True), *m.parts, z),
                ]
            )
    finally:
        K.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other))
