"""Sparse tensors: Keras's functions against their dense counterparts, and K.function with SciPy
matrices."""

import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import ckernels as K
from ckernels.api.sparsefunction import EXACT, capacity
from ckernels.base.errors import (
    ArgumentError,
    CKernelsWarning,
    DTypeError,
    IndexOutOfBounds,
    ShapeError,
    UsageError,
)

from .sparse_helpers import FORMATS, S, close, matrix, sp, value

# ---- Keras --------------------------------------------------------------------------------------


def test_dot_as_keras_tests_it():
    """backend_test.py, test_sparse_dot: with a stored zero."""
    data, row, col = np.array([0, 7, 2, 3], "f"), [0, 2, 2, 3], [4, 3, 2, 3]
    x = sp.csr_matrix((data, (row, col)), shape=(4, 5))
    w = K.variable(np.random.default_rng(0).uniform(size=(5, 4)))
    sparse, dense = K.eval(K.dot(K.variable(x), w)), K.eval(K.dot(K.variable(x.toarray()), w))
    assert sparse.shape == dense.shape == (4, 4)
    np.testing.assert_allclose(sparse, dense, atol=1e-5)


def test_concatenate_as_keras_tests_it():
    a = sp.csr_matrix((np.array([0, 7, 2, 3], "f"), ([0, 2, 2, 3], [4, 3, 2, 3])), shape=(4, 5))
    b = sp.csr_matrix((np.array([0, 7, 2, 3], "f"), ([0, 2, 2, 3], [4, 3, 2, 3])), shape=(4, 5))
    for axis in (0, 1, -1):
        joined = K.concatenate([K.variable(a), K.variable(b)], axis=axis)
        assert K.is_sparse(joined)
        dense = np.concatenate([a.toarray(), b.toarray()], axis)
        assert K.eval(joined).shape == dense.shape
        np.testing.assert_array_equal(K.eval(joined), dense)


@pytest.mark.parametrize("format", FORMATS)
def test_variables(format):
    a = matrix((4, 6), format=format)
    v = K.variable(a, name="v")
    assert (K.is_sparse(v), K.is_variable(v), K.is_tensor(v), K.is_keras_tensor(v)) == (True,) * 4
    assert (K.int_shape(v), K.ndim(v), K.dtype(v), v.format) == ((4, 6), 2, "float32", format)
    assert not K.is_placeholder(v) and K.count_params(K.to_dense(v)) == 24
    np.testing.assert_array_equal(K.eval(v), a.toarray())
    held = K.get_value(v)
    assert sp.issparse(held) and held.format == format
    held.data[:] = 0  # a copy
    np.testing.assert_array_equal(K.eval(v), a.toarray())
    other = matrix((4, 6), 0.8, seed=1)
    K.set_value(v, other.tocoo())
    np.testing.assert_array_equal(K.eval(v), other.toarray())
    np.testing.assert_array_equal(K.eval(K.shape(v)), [4, 6])
    assert K.dtype(K.variable(a, dtype="float64")) == "float64"
    assert repr(v) == "v" and "SparseVariable" in repr(K.variable(a))
    with pytest.raises(ShapeError, match=r"\(4, 5\), but the variable has shape \(4, 6\)"):
        K.set_value(v, a[:, :5])
    with pytest.raises(DTypeError, match="sparse matrix is needed"):
        K.set_value(v, a.toarray())
    again = K.variable(v)  # from a sparse tensor
    np.testing.assert_array_equal(K.eval(again), other.toarray())


def test_placeholders():
    x = K.placeholder((None, 3), sparse=True, name="x")
    assert K.is_sparse(x) and K.is_placeholder(x) and K.is_keras_tensor(x)
    assert x._keras_shape == K.int_shape(x) == (None, 3) and K.dtype(x) == "float32"
    assert K.is_sparse(K.placeholder(ndim=2, sparse=True))
    assert K.dtype(K.placeholder((2, 2), dtype="int32", sparse=True)) == "int32"
    with pytest.raises(ShapeError, match="matrix"):
        K.placeholder(ndim=3, sparse=True)


@pytest.mark.parametrize("format", FORMATS)
def test_gradients(format):
    a, w = matrix((4, 6), format=format), np.random.default_rng(1).normal(size=(6, 3)).astype("f")
    v, k = K.variable(a), K.variable(w)
    cost = K.sum(K.square(K.dot(v, k)))
    by_v, by_k = K.gradients(cost, [v, k])
    assert K.is_sparse(by_v) and not K.is_sparse(by_k)
    slope = 2 * (a @ w)
    close(by_v, (slope @ w.T) * (a.toarray() != 0), 1e-5)
    close(by_k, a.T @ slope, 1e-5)
    one = K.grad(cost, v)
    close(one, value(by_v))
    step = K.function([], cost, updates=[(v.data, v.data - 0.01 * by_v.data)])
    costs = [step() for _ in range(3)]
    assert costs[0] > costs[1] > costs[2]
    assert K.get_value(v).nnz == a.nnz
    nothing = K.gradients(K.sum(k), [v], disconnected="zero")[0]
    close(nothing, np.zeros((4, 6)))
    assert K.gradients(K.sum(k), [v], disconnected="none") == [None]


# ---- functions ----------------------------------------------------------------------------------


def test_functions_take_and_give_scipy_matrices():
    a, b = matrix((4, 6)), np.arange(6.0)
    x, y = K.placeholder((None, 6), sparse=True, name="x"), K.placeholder((6,), name="y")
    f = K.function([x, y], [K.dot(x, y), x * 2, x.T, K.to_dense(x)])
    for one in (a, a.tocsc(), a.tocoo(), a.tolil(), a.astype("float64"), sp.csr_array(a)):
        product, double, turned, dense = f(one, b)
        np.testing.assert_allclose(product, a @ b, rtol=1e-6)
        assert sp.issparse(double) and (double.format, turned.format) == ("csr", "csc")
        np.testing.assert_array_equal(double.toarray(), 2 * a.toarray())
        np.testing.assert_array_equal(turned.toarray(), a.toarray().T)
        np.testing.assert_array_equal(dense, a.toarray())
    for result in (f([a, b]), f(a, y=b), f(x=a, y=b)):
        np.testing.assert_array_equal(result[3], a.toarray())
    single = K.function([x], x + x)(a)
    assert sp.issparse(single)
    np.testing.assert_array_equal(single.toarray(), 2 * a.toarray())
    assert "x" in repr(x) and x.eval({x: a}).nnz == a.nnz


def test_what_functions_say_about_arguments():
    a = matrix((4, 6))
    x, d = K.placeholder((None, 6), sparse=True, name="x"), K.placeholder((None, 6), name="d")
    f, g = K.function([x], K.to_dense(x)), K.function([d], d + 1)
    with pytest.raises(DTypeError, match=r"array of shape \(4, 6\).*sparse matrix is needed"):
        f(a.toarray())
    with pytest.raises(DTypeError, match="sparse"):
        g(a)
    with pytest.raises(ShapeError, match=r"shape \(\?, 6\) and got a sparse matrix .*\(4, 5\)"):
        f(a[:, :5])
    with pytest.raises(DTypeError, match="complex"):
        f(a.astype("complex64"))
    with pytest.raises(UsageError, match="symbolic"):
        f(x)
    with pytest.raises(UsageError):
        f()
    with pytest.raises(UsageError, match="placeholders"):
        K.function([x + x], K.to_dense(x))
    with pytest.raises(ArgumentError, match="x.data"):
        K.function([], K.to_dense(x))
    with pytest.raises(UsageError, match="to_dense"):
        K.sum(x)
    with pytest.raises(UsageError, match="truth"):
        bool(x)
    integers = K.placeholder((4, 6), dtype="int32", sparse=True, name="i")
    with pytest.raises(DTypeError, match="int32"):
        K.function([integers], K.to_dense(integers))(a)


def test_unused_inputs():
    x, y = K.placeholder((2, 2), sparse=True, name="x"), K.placeholder((2,), name="y")
    K.function([x, y], [S.csm_indptr(x), y], on_unused_input="raise")  # parts are no inputs
    with pytest.raises(ArgumentError, match="needs the input x"):
        K.function([x, y], y, on_unused_input="raise")
    with pytest.warns(CKernelsWarning, match="needs the input y"):
        K.function([x, y], K.to_dense(x), on_unused_input="warn")


def test_a_damaged_matrix_is_an_error():
    x = K.placeholder((3, 4), sparse=True)
    f = K.function([x], [K.to_dense(x), K.dot(x, K.ones((4, 2)))], mode="compiled")
    for part, change, error in (("indices", 9, IndexOutOfBounds), ("indptr", 7, ArgumentError)):
        a = matrix((3, 4), 0.6)
        getattr(a, part)[1] = change
        with pytest.raises(error):
            f(a)


def test_givens_updates_and_copies():
    a, b = matrix((3, 4)), matrix((3, 4), seed=1)
    x, v = K.placeholder((3, 4), sparse=True, name="x"), K.variable(b)
    double = K.function([], K.to_dense(x * 2), givens=[(x, v)])
    np.testing.assert_array_equal(double(), 2 * b.toarray())
    store = K.function([x], [], updates=[K.update(v, x * 3)])
    assert store(a) == []
    np.testing.assert_array_equal(K.eval(v), 3 * a.toarray())
    np.testing.assert_array_equal(double(), 6 * a.toarray())
    np.testing.assert_array_equal(K.function([x], x * 2).copy()(a).toarray(), 2 * a.toarray())
    with pytest.raises(UsageError, match="both must be sparse, of one format"):
        K.function([], K.to_dense(x), givens=[(x, K.zeros((3, 4)))])


@pytest.mark.parametrize("mode", ["compiled", "reference", "debug", "fast_compile"])
def test_minibatches_do_not_make_a_plan_each(mode):
    """50 batches of different numbers of entries: right results, few plans."""
    w, table = K.variable(np.random.default_rng(2).normal(size=(40, 8))), {}
    x = K.placeholder((None, 40), sparse=True)
    cost = K.sum(K.tanh(K.dot(S.structured_exp(x) * 2, w)))
    f = K.function([x], [cost, *K.gradients(cost, [w, x])], mode=mode)
    exact = K.function([x], [cost, *K.gradients(cost, [w, x])], mode="reference")
    for k in range(50 if mode == "compiled" else 8):
        a = matrix((30, 40), 0.2 + 0.01 * k, seed=k)
        for got, want in zip(f(a), exact(a)):
            got, want = (m.toarray() if sp.issparse(m) else m for m in (got, want))
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
        table[a.nnz] = capacity(a.nnz)
    if mode == "compiled":
        assert len(table) > 40
        assert f.stats()["plans"] <= EXACT + len(set(table.values())) < 30


def test_padding_is_not_seen():
    """Where the stored numbers themselves come out, nothing is added to them."""
    x = K.placeholder((None, 9), sparse=True)
    f = K.function(
        [x], [S.csm_data(x), K.sum(x.data), S.clean(x), x * 2, S.vstack([x, x])], mode="compiled"
    )
    for k in range(EXACT + 4):
        a = matrix((7, 9), 0.1 + 0.1 * k, seed=k)
        data, total, clean, double, twice = f(a)
        np.testing.assert_array_equal(data, a.data)
        np.testing.assert_allclose(total, a.data.sum(), rtol=1e-5)
        for got, want in ((clean, a), (double, 2 * a), (twice, sp.vstack([a, a]))):
            np.testing.assert_array_equal(got.toarray(), want.toarray())
        assert double.nnz == a.nnz


def test_capacities_are_few_and_near():
    sizes = np.arange(1, 5000)
    found = np.array([capacity(int(n)) for n in sizes])
    assert (found >= sizes).all() and (found <= np.maximum(sizes * 1.125, sizes + 7)).all()
    assert len(set(found)) < 8 * 13


def test_functions_from_many_threads():
    x = K.placeholder((None, 20), sparse=True)
    f = K.function([x], K.dot(x, K.ones((20, 3))), mode="compiled")
    wrong = []

    def work(seed):
        for k in range(20):
            a = matrix((15, 20), 0.3, seed=20 * seed + k)
            if not np.allclose(f(a), a @ np.ones((20, 3)), atol=1e-4):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_training_on_sparse_rows():
    """Softmax regression on bags of words: as with the same rows dense."""
    rng = np.random.default_rng(7)
    a = matrix((64, 30), 0.2, seed=8)
    labels = (a.toarray() @ rng.normal(size=(30, 3))).argmax(1)
    losses = []
    for sparse in (True, False):
        x, t = K.placeholder((None, 30), sparse=sparse), K.placeholder((None,), dtype="int32")
        w = K.zeros((30, 3))
        p = K.softmax(K.dot(x, w))
        loss = K.mean(K.sparse_categorical_crossentropy(p, t))
        step = K.function(
            [x, t], loss, mode="compiled", updates=[(w, w - 1.0 * K.gradients(loss, [w])[0])]
        )
        losses.append([step(a if sparse else a.toarray(), labels) for _ in range(20)])
    np.testing.assert_allclose(*losses, rtol=1e-4)
    assert losses[0][-1] < 0.5 * losses[0][0]


def test_without_scipy(monkeypatch):
    """What needs SciPy says how to get it; what does not works without."""
    x = S.CSR([1.0, 2.0], [0, 1], [0, 1, 2], (2, 2))
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    np.testing.assert_array_equal(value(x.toarray()), np.diag([1, 2]))
    with pytest.raises(NotImplementedError, match=r"pip install ckernels\[sparse\]"):
        x.eval()


def test_a_pickled_sparse_tensor_has_its_operators_where_nothing_is_loaded(tmp_path):
    x = K.placeholder((2, 2), sparse=True, name="x")
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(x))
    program = "import pickle; x = pickle.load(open('x.pkl', 'rb')); print(x @ x, -x, x.T)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, cwd=tmp_path)
    assert done.stdout.count(b"Tensor") == 3, done.stderr.decode()[-800:]
