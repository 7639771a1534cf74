"""K.sparse: Theano's functions of sparse matrices against their dense counterparts."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import ArgumentError, DTypeError, ShapeError, UsageError

from .sparse_helpers import FORMATS, S, close, matrix, sp, value

# ---- building and reading ---------------------------------------------------------------


def test_compressed_formats_of_the_manual():
    parts = [7, 8, 9], [0, 1, 2], [0, 2, 3, 3], (3, 3)
    assert K.eval(S.CSC(*parts)).tolist() == [[7, 0, 0], [8, 0, 0], [0, 9, 0]]
    assert K.eval(S.CSR(*parts)).tolist() == [[7, 8, 0], [0, 0, 9], [0, 0, 0]]
    x = S.csc_matrix(name="x", dtype="int64")
    y = S.CSR(*S.csm_properties(x))
    a = sp.csc_matrix(np.asarray([[0, 1, 1], [0, 0, 0], [1, 0, 0]]))
    assert K.function([x], y)(a).toarray().tolist() == [[0, 0, 1], [1, 0, 0], [1, 0, 0]]
    x = S.csc_matrix(name="x", dtype="float32")
    f = K.function([x], S.structured_add(x, 2))
    a = sp.csc_matrix(np.asarray([[0, 0, -1], [0, -2, 1], [3, 0, 0]], dtype="float32"))
    assert f(a).toarray().tolist() == [[0, 0, 1], [0, 0, 3], [5, 0, 0]]
    assert S.all_dtypes >= {"int8", "float64", "complex128"}


def test_properties():
    a = matrix((3, 5), format="csc")
    x = S.as_sparse_variable(a)
    assert S.as_sparse(x) is x and S.as_sparse_or_tensor_variable(a).format == "csc"
    assert not K.is_sparse(S.as_sparse_or_tensor_variable(np.ones(3)))
    data, indices, indptr, shape = value(S.csm_properties(x))
    for got, want in (
        (data, a.data),
        (indices, a.indices),
        (indptr, a.indptr),
        (shape, (3, 5)),
        (value(S.csm_data(x)), a.data),
        (value(S.csm_indices(x)), a.indices),
        (value(S.csm_indptr(x)), a.indptr),
        (value(S.csm_shape(x)), (3, 5)),
    ):
        np.testing.assert_array_equal(got, want)
    assert S.CSM("csr") is S.CSR and S.CSM("csc") is S.CSC
    size = K.placeholder((2,), dtype="int64")
    made = S.CSR(a.tocsr().data, a.tocsr().indices, a.tocsr().indptr, size)
    np.testing.assert_array_equal(K.function([size], made)(np.array([3, 5])).toarray(), a.toarray())
    by_data = K.gradients(K.sum(K.square(S.dense_from_sparse(x))), [x])[0]
    close(by_data, 2 * a.toarray())
    with pytest.raises(ShapeError, match="indptr has 2 elements where the csr matrix has 3"):
        S.CSR([1.0], [0], [0, 1], (2, 2))
    with pytest.raises(ShapeError, match="indices has 2 elements"):
        S.CSR([1.0], [0, 1], [0, 1], (1, 1))
    with pytest.raises(ArgumentError):
        S.CSM("coo")
    with pytest.raises(DTypeError, match="integers"):
        S.CSR([1.0], [0.5], [0, 1], (1, 1))


def test_dense_and_back():
    d = np.array([[0, 1.5, 0], [2, 0, -3]], "f")
    x = K.placeholder((None, None))
    for build, format in ((S.csr_from_dense, "csr"), (S.csc_from_dense, "csc")):
        made = build(x)
        found = K.function([x], made)(d)
        assert found.format == format and found.nnz == 3
        np.testing.assert_array_equal(found.toarray(), d)
        slope = K.gradients(K.sum(K.square(S.dense_from_sparse(made))), [x])[0]
        np.testing.assert_array_equal(K.function([x], slope)(d), 2 * d)  # structured
    full = S.csc_matrix("x")
    cycle = S.csc_from_dense(S.dense_from_sparse(full))
    np.testing.assert_array_equal(K.function([full], cycle)(sp.csc_matrix(d)).toarray(), d)


# ---- arithmetic -------------------------------------------------------------------------


@pytest.mark.parametrize("formats", [("csr", "csr"), ("csc", "csc"), ("csr", "csc")])
def test_sparse_with_sparse(formats):
    a, b = (matrix((5, 6), format=f, seed=k) for k, f in enumerate(formats))
    x, y = K.variable(a), K.variable(b)
    da, db = a.toarray(), b.toarray()
    for build, want in ((S.add, da + db), (S.sub, da - db), (S.mul, da * db)):
        assert K.is_sparse(build(x, y))
        close(build(x, y), want)
    close(x + y, da + db)
    close(x - y, da - db)
    close(x * y, da * db)
    for name, compare in (
        ("eq", np.equal),
        ("neq", np.not_equal),
        ("lt", np.less),
        ("le", np.less_equal),
        ("gt", np.greater),
        ("ge", np.greater_equal),
    ):
        found = getattr(S, name)(x, y)
        assert K.is_sparse(found)
        np.testing.assert_array_equal(value(found), compare(da, db))
    w = np.random.default_rng(3).normal(size=(5, 6)).astype("f")
    cost = K.sum(S.dense_from_sparse(x * y + x) * w)
    by_x, by_y = K.gradients(cost, [x, y])
    close(by_x, w * (db + 1) * (da != 0))
    close(by_y, w * da * (db != 0))


@pytest.mark.parametrize("format", FORMATS)
def test_sparse_with_dense(format):
    a, d = matrix((5, 6), format=format), np.random.default_rng(4).normal(size=(5, 6)).astype("f")
    x, y, da = K.variable(a), K.variable(d), a.toarray()
    for build, want in ((S.add, da + d), (S.sub, da - d)):
        assert not K.is_sparse(build(x, y))
        close(build(x, y), want)
        close(build(y, x), want if build is S.add else -want)
    assert K.is_sparse(x * y)
    close(x * y, da * d)
    close(S.mul(y, x), da * d)
    close(x * 3, da * 3)
    close(2.0 * x, da * 2)
    close(-x, -da)
    close(S.sub(d, x), d - da)
    np.testing.assert_array_equal(value(S.gt(x, y)), da > d)
    np.testing.assert_array_equal(value(S.le(y, x)), d <= da)
    by_x, by_y = K.gradients(K.sum(K.square(S.dense_from_sparse(x * y))), [x, y])
    close(by_x, 2 * da * d * d, 1e-5)
    close(by_y, 2 * da * da * d, 1e-5)
    with pytest.raises(ShapeError, match=r"\(5, 6\) and \(5, 5\)"):
        S.add(x, np.ones((5, 5)))
    with pytest.raises(ShapeError):
        S.mul(x, np.ones(6))
    with pytest.raises(UsageError, match="sparse operand"):
        S.add(y, y)


@pytest.mark.parametrize("format", FORMATS)
def test_scales_casts_transposes(format):
    a, da = matrix((5, 6), format=format), matrix((5, 6)).toarray()
    x, s, t = K.variable(a), K.variable(np.arange(5.0)), K.variable(np.arange(6.0) - 2)
    close(S.row_scale(x, s), da * np.arange(5)[:, None])
    close(S.col_scale(x, t), da * (np.arange(6) - 2))
    by_s = K.gradients(K.sum(K.square(K.to_dense(S.row_scale(x, s)))), [s])[0]
    close(by_s, 2 * (da**2).sum(1) * np.arange(5), 1e-5)
    assert K.dtype(S.cast(x, "float64")) == "float64" and K.dtype(S.dcast(x)) == "float64"
    np.testing.assert_array_equal(value(S.icast(x)), da.astype("int32"))
    turned = S.transpose(x)
    assert turned.format != format and K.int_shape(turned) == (6, 5)
    close(turned, da.T)
    close(S.neg(x), -da)
    with pytest.raises(ShapeError, match="vector"):
        S.row_scale(x, np.ones((5, 1)))


STORED = {"structured_sigmoid": lambda v: 1 / (1 + np.exp(-v)), "structured_exp": np.exp,
          "structured_log": np.log, "sin": np.sin, "arcsin": np.arcsin, "tan": np.tan,
          "arctan": np.arctan, "sinh": np.sinh, "arcsinh": np.arcsinh, "tanh": np.tanh,
          "arctanh": np.arctanh, "rad2deg": np.rad2deg, "deg2rad": np.deg2rad, "rint": np.rint,
          "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "sgn": np.sign,
          "log1p": np.log1p, "expm1": np.expm1, "sqr": np.square, "sqrt": np.sqrt}  # fmt: skip


def test_functions_of_stored_numbers():
    a = abs(matrix((4, 5))) * 0.4 + matrix((4, 5)) * 0
    held = a.toarray() != 0
    x = K.variable(a)
    found = K.function([], [getattr(S, name)(x) for name in STORED])()
    for (name, fn), got in zip(STORED.items(), found):
        want = np.zeros((4, 5))
        want[held] = fn(a.toarray()[held])
        np.testing.assert_allclose(got.toarray(), want, rtol=2e-6, err_msg=name)
        assert getattr(S, name).__doc__ and getattr(S, name).__name__ == name
    for name, fn in (
        ("structured_pow", np.power),
        ("structured_add", np.add),
        ("structured_minimum", np.minimum),
        ("structured_maximum", np.maximum),
    ):
        close(getattr(S, name)(x, 0.5), np.where(held, fn(a.toarray(), 0.5), 0))
    slope = K.gradients(K.sum(K.to_dense(S.structured_exp(x))), [x])[0]
    close(slope, np.where(held, np.exp(a.toarray()), 0))
    with pytest.raises(ShapeError, match="scalar"):
        S.structured_pow(x, np.ones(3))


@pytest.mark.parametrize("format", FORMATS)
def test_sums_and_likes(format):
    a, da = matrix((5, 6), format=format), matrix((5, 6)).toarray()
    x = K.variable(a)
    for axis in (None, 0, 1, -1, -2):
        got = S.sp_sum(x, axis, sparse_grad=True)
        assert not K.is_sparse(got)
        close(got, da.sum(axis), 1e-5)
        slope = K.gradients(K.sum(K.square(got)), [x])[0]
        close(slope, 2 * np.sum(da, axis, keepdims=True) * (da != 0), 1e-5)
    close(x.sum(0), da.sum(0), 1e-5)
    close(S.sp_ones_like(x), da != 0)
    nothing = S.sp_zeros_like(x)
    close(nothing, np.zeros((5, 6)))
    assert K.function([], nothing)().nnz == 0
    with pytest.raises(ArgumentError, match="axis"):
        S.sp_sum(x, 2)


# ---- products ---------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_products(format):
    a, b = matrix((4, 6), format=format), matrix((6, 5), seed=1)
    d, e = (np.random.default_rng(5).normal(size=s).astype("f") for s in ((6, 3), (2, 4)))
    v, u = np.arange(6.0, dtype="f"), np.arange(4.0, dtype="f")
    x, y, da, db = K.variable(a), K.variable(b), a.toarray(), b.toarray()
    for got, want in (
        (S.dot(x, d), da @ d),
        (S.dot(e, x), e @ da),
        (K.dot(e, x), e @ da),
        (S.dot(x, v), da @ v),
        (S.dot(u, x), u @ da),
        (S.dot(x, y), da @ db),
        (K.dot(x, y), da @ db),
        (x.dot(d), da @ d),
        (x @ d, da @ d),
        (S.structured_dot(x, d), da @ d),
        (S.usmm(2.0, x, d, da @ d), 3 * da @ d),
    ):
        assert not K.is_sparse(got)
        close(got, want, 1e-5)
    for got, want in (
        (S.structured_dot(x, y), da @ db),
        (S.true_dot(x, y), da @ db),
        (S.true_dot(x, d), da @ d),
        (S.true_dot(e, x), e @ da),
    ):
        assert K.is_sparse(got)
        close(got, want, 1e-5)
    p, q = (np.random.default_rng(6).normal(size=(n, 7)).astype("f") for n in (4, 6))
    left, right = K.variable(p), K.variable(q)
    found = S.sampling_dot(left, right, x)
    assert K.is_sparse(found)
    close(found, da * (p @ q.T), 1e-5)
    by_p, by_x = K.gradients(K.sum(K.square(K.to_dense(found))), [left, x])
    close(by_p, (2 * da * da * (p @ q.T)) @ q, 1e-4)
    close(by_x, 2 * da * (p @ q.T) ** 2, 1e-4)
    w = K.variable(e)
    by_w, by_x = K.gradients(K.sum(K.square(K.dot(w, x))), [w, x])
    close(by_w, 2 * (e @ da) @ da.T, 1e-5)
    close(by_x, 2 * e.T @ (e @ da) * (da != 0), 1e-5)
    with pytest.raises(ShapeError, match=r"\(4, 6\) with one of shape \(4, 3\)"):
        K.dot(x, np.ones((4, 3)))
    with pytest.raises(ShapeError, match="vector or a matrix"):
        K.dot(x, np.ones((6, 2, 2)))
    with pytest.raises(UsageError):
        S.dot(d, d)


@pytest.mark.parametrize("mode", ["compiled", "reference"])
@pytest.mark.parametrize("formats", [(a, b) for a in FORMATS for b in FORMATS])
def test_products_of_two_sparse_matrices(formats, mode):
    """Places are SciPy's, sizes are open, and gradients keep to the places of their matrix."""
    a, b = matrix((4, 6), format=formats[0]), matrix((6, 5), format=formats[1], seed=1)
    x, y = (S.csr_matrix() if f == "csr" else S.csc_matrix() for f in formats)
    t = np.random.default_rng(2).normal(size=5).astype("f")
    z = S.structured_dot(x, y)
    cost = K.sum(K.square(K.to_dense(z)) * t)
    f = K.function([x, y], [z, S.dot(x, y), *K.gradients(cost, [x, y])], mode=mode)
    sparse, dense, by_x, by_y = f(a, b)
    assert sparse.format == formats[0] and sparse.nnz == (a @ b).nnz
    want = (a @ b).toarray()
    slope = 2 * want * t
    for got, known in (
        (sparse, want),
        (by_x, (slope @ b.T) * (a.toarray() != 0)),
        (by_y, (a.T @ slope) * (b.toarray() != 0)),
    ):
        np.testing.assert_allclose(got.toarray(), known, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(dense, want, rtol=1e-5, atol=1e-6)
    empty = f(sp.csr_matrix((0, 6), dtype="f"), b)
    assert [m.shape for m in empty[:2]] == [(0, 5), (0, 5)]
    with pytest.raises(ShapeError, match="cannot multiply"):
        f(a, matrix((4, 5)))


def test_comparisons_store_what_is_true():
    a, b = matrix((4, 6)), matrix((4, 6), seed=1)
    for name, want in (("neq", a != b), ("lt", a < b), ("gt", a > b)):
        got = K.function([], getattr(S, name)(a, b))()
        assert got.nnz == want.nnz and (got.toarray() == want.toarray()).all()


# ---- joining, cutting, tidying ----------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_stacks(format):
    ms = [matrix((4, n), format=f, seed=n) for n, f in ((3, "csr"), (1, "csc"), (5, "csr"))]
    xs = [K.variable(m) for m in ms]
    dense = np.hstack([m.toarray() for m in ms])
    got = S.hstack(xs, format=format)
    assert got.format == format and K.int_shape(got) == (4, 9)
    close(got, dense)
    close(S.vstack([x.T for x in xs], format=format), dense.T)
    assert S.hstack(xs).format == S.vstack([x.T for x in xs]).format == "csc"
    assert K.dtype(S.hstack(xs, dtype="float64")) == "float64"
    w = np.random.default_rng(9).normal(size=(4, 9)).astype("f")
    slopes = K.gradients(K.sum(K.square(K.to_dense(got)) * w), xs)
    parts = np.split(2 * dense * w, [3, 4], 1)
    for slope, part in zip(slopes, parts):
        close(slope, part, 1e-5)
    with pytest.raises(ShapeError):
        S.vstack(xs)
    with pytest.raises(UsageError, match="list"):
        S.hstack(xs[0])
    with pytest.raises(ArgumentError, match="axes 0 and 1"):
        K.concatenate(xs, axis=2)


@pytest.mark.parametrize("format", FORMATS)
def test_slices(format):
    a = matrix((5, 6), 0.5, format=format)
    x, da = K.variable(a), matrix((5, 6), 0.5).toarray()
    for i, j in ((0, 0), (2, 5), (-1, -2), (4, 3)):
        np.testing.assert_array_equal(value(x[i, j]), da[i, j])
    for key in (
        (slice(1, 4), slice(2, 5)),
        (slice(None), slice(None, 3)),
        (slice(-3, None), slice(None, -1)),
        (slice(3, 1), slice(0, 2)),
        (slice(0, 99), slice(2, 3)),
    ):
        part = x[key]
        assert K.is_sparse(part) and part.format == format
        np.testing.assert_array_equal(value(part), da[key])
    i = K.placeholder((), dtype="int32")
    f = K.function([i], [x[i, 2], x[i:, :2], x[:2, i : i + 1]])
    for k in (0, 2, 4):
        one, two, three = f(k)
        assert one == da[k, 2]
        np.testing.assert_array_equal(two.toarray(), da[k:, :2])
        np.testing.assert_array_equal(three.toarray(), da[:2, k : k + 1])
    for key in ((0, slice(1, 2)), (slice(0, 1), 0), 0, slice(0, 2), (1, 2, 3)):
        with pytest.raises(UsageError, match=r"x\[i:i \+ 1, a:b\]"):
            x[key]
    with pytest.raises(UsageError, match="step"):
        x[::2, :]
    with pytest.raises(ShapeError, match="outside"):
        x[5, 0]


def test_diagonals():
    for shape in ((4, 4), (3, 6), (6, 3)):
        for format in FORMATS:
            a = matrix(shape, 0.7, format=format)
            close(S.diag(K.variable(a)), np.diagonal(a.toarray()))
    d = K.placeholder((None,))
    made = K.function([d], S.square_diagonal(d))(np.array([1.0, 0.0, 3.0]))
    assert made.format == "csc"
    np.testing.assert_array_equal(made.toarray(), np.diag([1, 0, 3]))
    values = np.array([[1.0, 2.0], [0.0, 3.0]])
    rows = S.construct_sparse_from_list(np.zeros((4, 2)), values, [2, 0])
    np.testing.assert_array_equal(value(rows), [[0, 3], [0, 0], [1, 2], [0, 0]])


@pytest.mark.parametrize("format", FORMATS)
def test_the_stored_form(format):
    (x,), (a,) = S.sparse_random_inputs(format, (6, 7), explicit_zero=True, unsorted_indices=True)
    assert a.format == format and (a.data == 0).any() and not a.has_sorted_indices
    f = K.function([x], [S.ensure_sorted_indices(x), S.remove0(x), S.clean(x)])
    ordered, without, clean = f(a)
    for m in (ordered, without, clean):
        np.testing.assert_array_equal(m.toarray(), a.toarray())
        assert m.format == format
    ordered.has_sorted_indices = clean.has_sorted_indices = None
    for m in (ordered, clean):
        assert all((np.diff(m.indices[p:q]) > 0).all() for p, q in zip(m.indptr, m.indptr[1:]))
    assert ordered.nnz == a.nnz and without.nnz == clean.nnz == (a.data != 0).sum()


def test_random_inputs_of_the_manual():
    xs, data = S.sparse_random_inputs("csc", (10, 10), n=3, out_dtype="int32", p=0.3)
    assert len(xs) == len(data) == 3 and {x.format for x in xs} == {"csc"}
    assert all(m.data.min() >= 0 and m.data.max() < 50 and m.dtype == "int32" for m in data)
    _, (m,) = S.sparse_random_inputs("csr", (30, 30), gap=(-2, 5), out_dtype="float64")
    assert m.data.min() < -1 and 4 < m.data.max() < 5


# ---- gradients to all elements ----------------------------------------------------------


@pytest.mark.sampled(1, mode=["compiled"])
@pytest.mark.parametrize("mode", ["compiled", "reference"])
@pytest.mark.parametrize("format", FORMATS)
def test_regular_gradients(format, mode):
    """Those of the same expression of the dense matrix; other functions read stored numbers."""
    a, b = matrix((4, 6), format=format), matrix((6, 5), seed=1)
    rng = np.random.default_rng(3)
    d, e, t = (rng.normal(size=s).astype("f") for s in ((6, 3), (2, 4), (4, 6)))
    x, y = (S.csr_matrix() if format == "csr" else S.csc_matrix()), S.csr_matrix()
    dense = K.placeholder((4, 6))
    products = [
        (lambda x: S.dot(x, d), lambda x: K.dot(x, d)),
        (lambda x: S.dot(e, -x), lambda x: K.dot(e, -x)),
        (lambda x: S.dot(x.T, t[:, :2]), lambda x: K.dot(K.transpose(x), t[:, :2])),
        (lambda x: S.sp_sum(x * 3.0, 0), lambda x: K.sum(x * 3.0, 0)),
        (lambda x: K.to_dense(x) * t, lambda x: x * t),
        (lambda x: S.dot(x, y), lambda x: K.dot(x, b.toarray())),
        (lambda x: S.dot(y.T, x.T), lambda x: K.dot(b.toarray().T, K.transpose(x))),
    ]
    wants, gots = [], []
    for sparse, same in products:
        gots.append(S.regular_grad(K.sum(K.square(sparse(x))), x))
        wants.append(K.gradients(K.sum(K.square(same(dense))), [dense])[0])
    both = K.sum(K.square(S.dot(x, d))) + K.sum(S.sp_sum(S.structured_exp(x), 0))
    gots += [S.regular_grad(both, x), K.grad(both, x)]
    found = K.function([x, y], gots, mode=mode)(a, b)
    for got, want in zip(found, K.function([dense], wants, mode=mode)(a.toarray())):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    held = a.toarray() != 0
    np.testing.assert_allclose(found[-2][held], found[-1].toarray()[held], rtol=1e-5)
    np.testing.assert_allclose(found[-2][~held], (2 * a @ d @ d.T)[~held], rtol=1e-4, atol=1e-4)
