"""theano.sparse.sandbox: random sparse matrices, convolutions and pooling by sparse products."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.signal import correlate2d

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano import sparse
from ckernels.compat.theano.sparse.sandbox import sp as patches
from ckernels.compat.theano.sparse.sandbox import sp2
from ckernels.theano.modules.installing import _finder

DRAWS = 20000


def test_the_modules_are_found():
    for tail in ("", ".sp", ".sp2", ".truedot"):
        assert _finder.find_spec(f"theano.sparse.sandbox{tail}") is not None
    with pytest.raises(AttributeError, match="that ckernels does not have"):
        getattr(sp2, "MulSDCSC")  # noqa: B009
    assert sp2.eliminate_zeros is sparse.remove0


@pytest.mark.parametrize("form", sparse.sparse_formats)
def test_poisson(form):
    means = np.array([[0, 0.3, 0], [4, 0, 50.0]])
    x = sparse.matrix(form, dtype="float32")
    drawn = sp2.poisson(x)
    f = theano.function([x], [drawn, sparse.sp_sum(drawn, axis=0), drawn.shape])
    a = sp.csr_matrix(np.tile(means, (DRAWS, 1)).astype("float32")).asformat(form)
    np.random.seed(3)
    found, sums, shape = f(a)
    assert (found.format, found.dtype, found.shape) == (form, "float32", a.shape)
    assert shape.tolist() == [2 * DRAWS, 3] and (found.data > 0).all()  # no zero is stored
    numbers = found.toarray().reshape(DRAWS, 2, 3)
    assert (numbers == np.floor(numbers)).all() and (numbers[:, means == 0] == 0).all()
    error = np.sqrt(means / DRAWS)
    assert (abs(numbers.mean(0, dtype="float64") - means) <= 5 * error).all()
    assert (abs(numbers.var(0, dtype="float64") - means) <= 0.1 * means).all()
    np.testing.assert_allclose(sums, found.toarray().sum(0))  # of the same draw
    np.random.seed(3)
    again = np.random.poisson(a.data)
    assert (again[again > 0] == found.data).all()
    with pytest.raises(ValueError, match="lam"):
        f(-a)


def test_binomial():
    n, p, shape = T.lscalar("n"), T.dscalar("p"), T.lvector("shape")
    for op, form, dtype in (
        (sp2.csr_fbinomial, "csr", "float32"),
        (sp2.csc_dbinomial, "csc", "float64"),
    ):
        drawn = op(n, p, shape)
        f = theano.function([n, p, shape], [drawn, drawn.shape])
        np.random.seed(5)
        found, sizes = f(6, 0.25, [100, 200])
        assert (found.format, found.dtype, found.shape) == (form, dtype, (100, 200))
        assert sizes.tolist() == [100, 200] and found.nnz < 20000 and (found.data > 0).all()
        numbers = found.toarray().astype("float64")
        assert abs(numbers.mean() - 1.5) < 5 * np.sqrt(1.125 / 20000)
        assert abs(numbers.var() - 1.125) < 0.1
        np.random.seed(5)
        assert (numbers == np.random.binomial(6, 0.25, (100, 200))).all()
    g = theano.function([], sp2.csr_dbinomial(9, 0.5, [20, 20]))
    assert abs(g() - g()).sum() > 0  # constants are no reason to draw once
    with pytest.raises(AssertionError, match="trials n"):
        sp2.csr_dbinomial(p, p, shape)
    with pytest.raises(AssertionError, match="chance p"):
        sp2.csr_dbinomial(n, n, shape)
    with pytest.raises(NotImplementedError, match="csr or csc"):
        sp2.Binomial("coo", "float64")(n, p, shape)
    with pytest.raises(ValueError):
        f(6, 1.5, [2, 2])


@pytest.mark.parametrize("form", sparse.sparse_formats)
def test_multinomial(form):
    chances = np.array([[0, 0.5, 0, 0.5], [0.1, 0.2, 0.3, 0.4], [0, 1, 0, 0], [0, 0, 0, 0]])
    p = sparse.matrix(form, dtype="float64")
    a = sp.csr_matrix(np.tile(chances, (DRAWS // 4, 1))).asformat(form)
    each = theano.function([p], sp2.multinomial(7, p))
    np.random.seed(7)
    found = each(a)
    assert (found.format, found.shape, found.nnz) == (form, a.shape, a.nnz)
    assert (found.indices == a.indices).all() and (found.indptr == a.indptr).all()
    numbers = found.toarray().reshape(-1, 4, 4)
    assert (numbers.sum(2) == [7, 7, 7, 0]).all()
    variance = 7 * chances * (1 - chances)
    error = 5 * np.sqrt(variance / (DRAWS // 4))
    assert (abs(numbers.mean(0) - 7 * chances) <= error).all()
    assert (abs(numbers.var(0) - variance) <= 0.1 * variance).all()
    n = T.lvector("n")
    rows = theano.function([n, p], sp2.multinomial(n, p))
    small = sp.csr_matrix(chances).asformat(form)
    assert np.ravel(rows([1, 2, 3, 4], small).sum(1)).tolist() == [1, 2, 3, 0]
    with pytest.raises(ValueError, match="3 counts of trials for a matrix of 4 rows"):
        rows([1, 2, 3], small)
    with pytest.raises(ValueError):
        each(small * 2)
    with pytest.raises(TypeError, match="2 axes"):
        sp2.multinomial(T.lmatrix(), p)


@pytest.mark.parametrize("mode", ("valid", "full"))
@pytest.mark.parametrize("step", ((1, 1), (2, 3)))
def test_convolve(mode, step):
    rng = np.random.default_rng(1)
    images, filters = rng.normal(size=(2, 3, 6, 8)), rng.normal(size=(4, 3, 2, 3))
    bias = rng.normal(size=4)
    k, b, x = T.dmatrix("k"), T.dvector("b"), T.dmatrix("x")
    options = {"step": step, "bias": b, "mode": mode}
    flat, shape = patches.convolve(k, (2, 3), 4, x, (3, 6, 8), **options)
    deep, _ = patches.convolve(k, (2, 3), 4, x, (3, 6, 8), flatten=False, **options)
    f = theano.function([k, b, x], [flat, deep])
    found, cube = f(filters.reshape(4, -1), bias, images.reshape(2, -1))
    expected = [
        [sum(map(lambda i, w: correlate2d(i, w, mode), image, kernel)) for kernel in filters]
        for image in images
    ]
    expected = np.array(expected)[..., :: step[1], :: step[0]] + bias[:, None, None]
    assert tuple(shape) == expected.shape[1:] and cube.shape == (2, 4, shape[1] * shape[2])
    np.testing.assert_allclose(found, expected.reshape(2, -1), atol=1e-12)
    np.testing.assert_allclose(cube.reshape(expected.shape), expected, atol=1e-12)


def test_gradients_of_convolve_and_of_max_pool():
    rng = np.random.default_rng(2)

    def convolved(k, x):
        return patches.convolve(k, (2, 2), 3, x, (4, 3), mode="full")[0]

    def pooled(x):
        return patches.max_pool(x, (2, 4, 5), (2, 2))[0]

    theano.gradient.verify_grad(convolved, [rng.normal(size=(3, 4)), rng.normal(size=(2, 12))],
                                rng=np.random.RandomState(0))  # fmt: skip
    theano.gradient.verify_grad(pooled, [rng.normal(size=(2, 40))], rng=np.random.RandomState(0))


def test_max_pool():
    images = np.random.default_rng(3).normal(size=(2, 3, 5, 9))
    x = T.dmatrix("x")
    found, shape = patches.max_pool(x, (3, 5, 9), (2, 4))
    expected = images[:, :, :4, :8].reshape(2, 3, 2, 2, 2, 4).max((3, 5))
    assert shape.tolist() == [2, 2]
    got = theano.function([x], found)(images.reshape(2, -1))
    assert (got == expected.reshape(2, -1)).all()


def test_indices_of_patches():
    image = np.arange(12.0).reshape(3, 4)
    indices, indptr, shape, kind, out = patches.convolution_indices.evaluate((3, 4), (2, 2))
    matrix = sp.csc_matrix((np.ones(len(indices)), indices, indptr), shape)
    windows = np.lib.stride_tricks.sliding_window_view(image, (2, 2))
    assert kind == "csc" and out.tolist() == [2, 3]
    assert (matrix @ image.ravel() == windows.ravel()).all()
    f = theano.function([], patches.convolution_indices([3, 4], [2, 2]))
    for got, expected in zip(f(), (indices, indptr, shape)):
        assert got.tolist() == list(expected)
    refused = (
        ({"mode": "same"}, "'valid' or 'full'"),
        ({"ws": False}, "share the patches"),
        ({"strides": (0, 1)}, "makes no patches"),
        ({"kshp": (4, 2)}, "does not fit"),
        ({"inshp": (3,)}, "an image has the shape"),
    )
    for options, text in refused:
        with pytest.raises(ValueError, match=text):
            patches.convolution_indices.evaluate(**{"inshp": (3, 4), "kshp": (2, 2), **options})
