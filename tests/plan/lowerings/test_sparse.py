"""Where the numbers of sparse matrices side by side come from, in C, beside a walk through rows."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.graph.node import make
from ckernels.ops import sparse, sparseproduct
from ckernels.plan.instructions import PYCALL

RNG = np.random.default_rng(6)


def starts(rows, most, dtype):
    return np.append(0, np.cumsum(RNG.integers(0, most + 1, rows))).astype(dtype)


def walked(*indptrs):
    found, before = [], np.append(0, np.cumsum([p[-1] for p in indptrs]))
    for r in range(len(indptrs[0]) - 1):
        for k, p in enumerate(indptrs):
            found += range(int(before[k] + p[r]), int(before[k] + p[r + 1]))
    return np.array(found, "int64")


@pytest.mark.parametrize("dtypes", [("int32",), ("int32", "int64"), ("int64", "int32", "int32")])
def test_rows_side_by_side(dtypes):
    count = K.placeholder((None,), dtype="int32")
    places = [K.placeholder((None,), dtype=d) for d in dtypes]
    f = K.function(
        [count, *places], Tensor(sparse.csr_interleave(count.node, *(p.node for p in places)))
    )
    for rows, most in ((1, 3), (5, 4), (40, 2), (3, 0), (0, 1)):
        indptrs = [starts(rows, most, d) for d in dtypes]
        want = walked(*indptrs)
        np.testing.assert_array_equal(f(np.zeros(len(want), "int32"), *indptrs), want)
        in_numpy = any(i.kind == PYCALL for i in f.info.program.instructions)
        assert in_numpy == (not rows)


def test_matrices_of_no_rows_and_of_other_rows_are_left_to_numpy():
    places = [K.placeholder((n,), dtype="int32") for n in (1, 1)]
    count = K.placeholder((0,), dtype="int32")
    node = sparse.csr_interleave(count.node, *(p.node for p in places))
    f = K.function([count, *places], Tensor(ops.cast(node, "int32")))
    assert f(*(np.zeros(n, "int32") for n in (0, 1, 1))).shape == (0,)
    assert any(i.kind == PYCALL for i in f.info.program.instructions)


def test_complex_elements_at_the_stored_places():
    indices, indptr = np.array([2, 0, 1], "int32"), np.array([0, 1, 1, 3], "int32")
    x = (RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4))).astype("complex64")
    i, p = (K.placeholder((None,), dtype="int32") for _ in range(2))
    e, m = K.placeholder((None, None, 0), dtype="bool"), K.placeholder((None, None), dtype=x.dtype)
    f = K.function([i, p, e, m], Tensor(sparse.csr_take(i.node, p.node, e.node, m.node)))
    for values in (x, np.asfortranarray(x)):
        got = f(indices, indptr, np.empty((3, 4, 0), bool), values)
        np.testing.assert_array_equal(got, values[[0, 2, 2], indices])


def test_parts_of_other_sizes_are_refused():
    """Of each of the ops that sort, place and pick: an end for each row, and one before them."""
    i, p = (K.placeholder((None,), dtype="int32") for _ in range(2))
    e, m = K.placeholder((None, None, 0), dtype="bool"), K.placeholder((None, None))
    nodes = i.node, p.node, e.node
    made = [Tensor(sparse.csr_rows(*nodes)), Tensor(sparse.csr_take(*nodes, m.node))]
    made += [Tensor(part) for part in sparse.csr_order(*nodes)]
    indices, extent = np.zeros(3, "int32"), np.empty((3, 4, 0), bool)
    for outputs in (made[:1], made[1:2], made[2:]):
        f = K.function([i, p, e, m], outputs, on_unused_input="ignore")
        for ends in ([0, 1, 3], [0, 1, 2, 3, 3], []):
            with pytest.raises(K.errors.CKernelsError):
                f(indices, np.array(ends, "int32"), extent, np.ones((3, 4)))
        assert len(f(indices, np.array([0, 1, 2, 3], "int32"), extent, np.ones((3, 4)))[0]) == 3


def parts_of(a):
    """(data, indices, indptr, extent) of a matrix of which all places are stored."""
    rows, columns = a.shape
    indptr = np.arange(rows + 1, dtype="int32") * columns
    at = np.tile(np.arange(columns, dtype="int32"), rows)
    return a.ravel(), at, indptr.astype("int32"), np.empty((rows, columns, 0), bool)


@pytest.mark.parametrize("dtype", ["float64", "int64", "int8", "complex64"])
def test_products_of_sparse_matrices_and_parts_of_other_sizes(dtype):
    a, b = ((10 * RNG.normal(size=s)).astype(dtype) for s in ((3, 4), (4, 5)))
    arrays = [*parts_of(a), *parts_of(b), *parts_of(a @ b)[1:]]
    leaves = [K.placeholder((None,) * x.ndim, dtype=x.dtype.name) for x in arrays]
    nodes = [leaf.node for leaf in leaves]
    product = sparseproduct.csr_product(nodes[:4], nodes[4:8], nodes[8:])
    f = K.function(leaves, Tensor(product))
    np.testing.assert_allclose(f(*arrays), (a @ b).ravel(), rtol=1e-5)
    in_numpy = any(i.kind == PYCALL for i in f.info.program.instructions)
    assert in_numpy == (dtype in ("int8", "complex64"))
    for k in (0, 2, 4, 6, 9):
        wrong = list(arrays)
        wrong[k] = wrong[k][:-1]
        with pytest.raises(K.errors.CKernelsError):
            f(*wrong)
        np.testing.assert_allclose(f(*arrays), (a @ b).ravel(), rtol=1e-5)


def test_columns_of_truth_values_begin_where_their_rows_do():
    held = RNG.random((5, 7)) < 0.5
    ends = np.append(0, np.cumsum(held.sum(1)))
    leaves = [
        K.placeholder((None,) * n, dtype=d) for n, d in ((2, "bool"), (1, "int64"), (1, "bool"))
    ]
    f = K.function(leaves, Tensor(make("csr_held", [leaf.node for leaf in leaves])))
    like = np.zeros(held.sum(), bool)
    np.testing.assert_array_equal(f(held, ends, like), held.nonzero()[1])
    assert f(held[:0], ends[:1], like[:0]).shape == (0,)
    for wrong in (ends[:-1], np.append(ends, ends[-1]), ends[:1]):
        with pytest.raises(K.errors.CKernelsError):
            f(held, wrong, like)
