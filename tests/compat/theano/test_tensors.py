"""Functions of theano.tensor as its documentation has them, beside NumPy and SciPy: values and
shapes of arrays whose sizes only a call knows; slopes beside differences."""

import numpy as np
import pytest
import scipy.signal
import scipy.special

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano.tensor import extra_ops, fft, nnet
from ckernels.compat.theano.tensor.basic import logsumexp
from ckernels.compat.theano.tensor.nnet import blocksparse
from ckernels.compat.theano.tensor.nnet.blocksparse import sparse_block_dot
from ckernels.compat.theano.tensor.nnet.neighbours import (
    Images2Neibs,
    images2neibs,
    neibs2images,
)
from ckernels.compat.theano.tensor.shared_randomstreams import RandomStreams
from ckernels.compat.theano.tensor.signal.conv import conv2d
from ckernels.compat.theano.tensor.signal.pool import DownsampleFactorMaxGradGrad, Pool, pool_2d
from ckernels.compat.theano.tensor.xlogx import xlogx, xlogy0

RNG = np.random.default_rng(3)
V = np.array([0.5, -1.25, 3.0, -2.0, 0.0])
M = RNG.normal(size=(3, 4))
SQUARE = RNG.normal(size=(4, 4))
CUBE = RNG.normal(size=(2, 3, 4))
WHOLE = np.array([3, 0, 2, 3, 1])


def called(build, *arrays):
    """What the function of these arrays gives, whose sizes only the call knows."""
    xs = [T.TensorType(a.dtype.name, (False,) * a.ndim)() for a in map(np.asarray, arrays)]
    f = theano.function(xs, build(*xs), on_unused_input="ignore")
    return f(*map(np.asarray, arrays))


def slopes(build, *arrays):
    """The gradient of a weighted sum, beside central differences."""
    xs = [T.TensorType("float64", (False,) * a.ndim)() for a in arrays]
    y = build(*xs)
    weights = RNG.normal(size=np.shape(called(build, *arrays)))
    cost = T.sum(y * T.constant(weights))
    f = theano.function(xs, cost)
    for k, found in enumerate(theano.function(xs, T.grad(cost, xs))(*arrays)):
        want = np.zeros_like(arrays[k])
        for at in np.ndindex(*want.shape):
            ends = []
            for h in (1e-6, -1e-6):
                moved = [a.copy() for a in arrays]
                moved[k][at] += h
                ends.append(f(*moved))
            want[at] = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


def wrapped_diagonal(a, value, offset=0):
    found, (rows, columns) = a.copy(), a.shape
    for k in range(rows):
        if 0 <= k + offset < columns:
            found[k, k + offset] = value
    return found


def selu(x):
    alpha, scale = 1.6732632423543772848, 1.0507009873554804934
    return scale * np.where(x > 0, x, alpha * np.expm1(x))


CASES = {  # name: (of variables, of arrays, the arrays)
    "relu": (nnet.relu, lambda x: np.maximum(x, 0), [V]),
    "relu with a slope": (lambda x: nnet.relu(x, 0.1), lambda x: np.where(x > 0, x, 0.1 * x), [V]),
    "relu with slopes": (lambda x, a: nnet.relu(x, a), lambda x, a: np.where(x > 0, x, a * x),
                         [M, np.abs(M[0])]),
    "elu": (nnet.elu, lambda x: np.where(x > 0, x, np.expm1(x)), [V]),
    "elu by 2": (lambda x: nnet.elu(x, 2), lambda x: np.where(x > 0, x, 2 * np.expm1(x)), [V]),
    "selu": (nnet.selu, selu, [V]),
    "softsign": (nnet.nnet.softsign, lambda x: x / (1 + np.abs(x)), [V]),
    "hard_sigmoid": (nnet.hard_sigmoid, lambda x: np.clip(0.2 * x + 0.5, 0, 1), [4 * V]),
    "xlogx": (xlogx, lambda x: scipy.special.xlogy(x, x), [np.abs(V)]),
    "xlogy0": (xlogy0, scipy.special.xlogy, [np.abs(V), np.array([1.0, 2, 3, 4, 0])]),
    "cumsum": (lambda x: T.cumsum(x, 1), lambda x: np.cumsum(x, 1), [CUBE]),
    "cumsum of all": (T.cumsum, np.cumsum, [CUBE]),
    "cumprod": (lambda x: T.cumprod(x, 0), lambda x: np.cumprod(x, 0), [CUBE]),
    "diff": (T.diff, np.diff, [M]),
    "diff twice": (lambda x: T.diff(x, 2, 0), lambda x: np.diff(x, 2, 0), [M]),
    "diff of nothing": (lambda x: T.diff(x, 5), lambda x: np.diff(x, 5), [V]),
    "bincount": (T.bincount, np.bincount, [WHOLE]),
    "bincount of at least": (lambda x: T.bincount(x, minlength=7),
                             lambda x: np.bincount(x, minlength=7), [WHOLE]),
    "bincount by weights": (lambda x, w: T.bincount(x, w), np.bincount, [WHOLE, V]),
    "squeeze": (lambda x: T.squeeze(x.dimshuffle(0, "x", 1)), lambda x: x, [M]),
    "squeeze of a size of a call": (lambda x: T.squeeze(x[:, :1]), lambda x: x[:, :1], [M]),
    "compress": (lambda x: T.compress([1, 0, 1], x, 0),
                 lambda x: np.compress([1, 0, 1], x, 0), [M]),
    "repeat": (lambda x: T.repeat(x, 2, 1), lambda x: np.repeat(x, 2, 1), [M]),
    "repeat by counts": (lambda x, n: T.repeat(x, n), np.repeat, [V, WHOLE]),
    "repeat along an axis by counts": (lambda x, n: T.repeat(x, n, 0),
                                       lambda x, n: np.repeat(x, n, 0), [M, WHOLE[:3]]),
    "bartlett": (lambda n: extra_ops.bartlett(n), np.bartlett, [np.int64(7)]),
    "bartlett of one": (lambda n: extra_ops.bartlett(n), np.bartlett, [np.int64(1)]),
    "bartlett of none": (lambda n: extra_ops.bartlett(n), np.bartlett, [np.int64(0)]),
    "fill_diagonal": (lambda a: T.fill_diagonal(a, 9.0), lambda a: wrapped_diagonal(a, 9.0), [M]),
    "fill_diagonal above": (lambda a: T.fill_diagonal_offset(a, 9.0, 2),
                            lambda a: wrapped_diagonal(a, 9.0, 2), [M]),
    "fill_diagonal below": (lambda a: T.fill_diagonal_offset(a, 9.0, -1),
                            lambda a: wrapped_diagonal(a, 9.0, -1), [M]),
    "to_one_hot": (lambda y: T.extra_ops.to_one_hot(y, 5), lambda y: np.eye(5)[y], [WHOLE]),
    "unravel_index": (lambda k: T.stack(T.unravel_index(k, (3, 4))),
                      lambda k: np.stack(np.unravel_index(k, (3, 4))), [np.array([0, 5, 11])]),
    "unravel_index by columns": (lambda k: T.stack(T.unravel_index(k, (3, 4), order="F")),
                                 lambda k: np.stack(np.unravel_index(k, (3, 4), order="F")),
                                 [np.array([0, 5, 11])]),
    "ravel_multi_index": (lambda i, j: T.ravel_multi_index((i, j), (4, 5)),
                          lambda i, j: np.ravel_multi_index((i, j), (4, 5)),
                          [np.array([0, 3]), np.array([4, 1])]),
    "ravel_multi_index wrapped": (
        lambda i, j: T.ravel_multi_index((i, j), (4, 5), mode="wrap", order="F"),
        lambda i, j: np.ravel_multi_index((i, j), (4, 5), mode="wrap", order="F"),
        [np.array([-1, 9]), np.array([7, -6])]),
    "ravel_multi_index clipped": (lambda i, j: T.ravel_multi_index((i, j), (4, 5), mode="clip"),
                                  lambda i, j: np.ravel_multi_index((i, j), (4, 5), mode="clip"),
                                  [np.array([-1, 9]), np.array([7, -6])]),
    "searchsorted": (T.searchsorted, np.searchsorted, [np.sort(V), M]),
    "searchsorted right": (lambda x, v: T.searchsorted(x, v, side="right"),
                           lambda x, v: np.searchsorted(x, v, side="right"), [np.sort(V), V]),
    "searchsorted by a sorter": (lambda x, v, s: T.searchsorted(x, v, sorter=s),
                                 lambda x, v, s: np.searchsorted(x, v, sorter=s),
                                 [V, M, np.argsort(V)]),
    "full_like": (lambda x: T.full_like(x, 7), lambda x: np.full_like(x, 7), [M]),
    "zeros_like": (lambda x: T.zeros_like(x, "int8"), lambda x: np.zeros_like(x, "int8"), [M]),
    "ones_like": (T.ones_like, np.ones_like, [M]),
    "zeros": (lambda n: T.zeros((n, 2)), lambda n: np.zeros((n, 2)), [np.int64(3)]),
    "ones": (lambda n: T.ones((n, 2), "int32"), lambda n: np.ones((n, 2), "int32"), [np.int64(0)]),
    "full": (lambda n, v: T.full((2, n), v), lambda n, v: np.full((2, n), v),
             [np.int64(3), np.float64(2.5)]),
    "eye": (lambda n: T.eye(n, 5, 1), lambda n: np.eye(n, 5, 1), [np.int64(3)]),
    "eye below": (lambda n: T.eye(n, n, -2), lambda n: np.eye(n, n, -2), [np.int64(4)]),
    "identity_like": (T.identity_like, lambda x: np.eye(*x.shape), [SQUARE]),
    "tri": (lambda n: T.tri(n, 4, 1), lambda n: np.tri(n, 4, 1), [np.int64(3)]),
    "tril": (lambda x: T.tril(x, -1), lambda x: np.tril(x, -1), [M]),
    "triu": (lambda x: T.triu(x, 1), lambda x: np.triu(x, 1), [M]),
    "diag of a vector": (T.diag, np.diag, [V]),
    "diag of a matrix": (T.diag, np.diag, [M]),
    "diag above": (lambda x: T.diag(x, 2), lambda x: np.diag(x, 2), [M]),
    "diagonal": (lambda x: T.diagonal(x, 1, 1, 2), lambda x: np.diagonal(x, 1, 1, 2), [CUBE]),
    "mgrid": (lambda n: T.stack(T.mgrid[0:3, 1:7:2]),
              lambda n: np.mgrid[0:3, 1:7:2], [np.int64(0)]),
    "ogrid": (lambda n: T.ogrid[0:3, 1:4][1], lambda n: np.ogrid[0:3, 1:4][1], [np.int64(0)]),
    "dot of vectors": (T.dot, np.dot, [V, V]),
    "dot of a matrix": (T.dot, np.dot, [M, M[0]]),
    "matmul": (T.basic.matmul, np.matmul, [CUBE, SQUARE]),
    "tensordot": (lambda a, b: T.tensordot(a, b, [[1, 2], [0, 1]]),
                  lambda a, b: np.tensordot(a, b, [[1, 2], [0, 1]]), [CUBE, M]),
    "tensordot of one axis": (lambda a, b: T.tensordot(a, b, 1),
                              lambda a, b: np.tensordot(a, b, 1), [CUBE, SQUARE]),
    "outer": (T.outer, np.outer, [V, V[:3]]),
    "batched_dot": (T.batched_dot, lambda a, b: np.einsum("nij,njk->nik", a, b),
                    [CUBE, CUBE.transpose(0, 2, 1)]),
    "batched_dot of vectors": (T.batched_dot, lambda a, b: np.einsum("ni,ni->n", a, b), [M, M]),
    "batched_tensordot": (lambda a, b: T.batched_tensordot(a, b, [[1, 2], [1, 2]]),
                          lambda a, b: np.einsum("nij,nij->n", a, b), [CUBE, CUBE]),
    "trace": (T.nlinalg.trace, np.trace, [SQUARE]),
    "sum": (lambda x: T.sum(x, (0, 2), keepdims=True),
            lambda x: np.sum(x, (0, 2), keepdims=True), [CUBE]),
    "prod": (lambda x: T.prod(x, 1), lambda x: np.prod(x, 1), [CUBE]),
    "mean": (lambda x: T.mean(x, -1), lambda x: np.mean(x, -1), [CUBE]),
    "var": (lambda x: T.var(x, 0, ddof=1), lambda x: np.var(x, 0, ddof=1), [CUBE]),
    "var of axes": (lambda x: T.var(x, (0, 1), keepdims=True, corrected=True),
                    lambda x: np.var(x, (0, 1), keepdims=True), [CUBE]),
    "std": (lambda x: T.std(x, 2), lambda x: np.std(x, 2), [CUBE]),
    "max": (lambda x: T.max(x, (0, 1)), lambda x: np.max(x, (0, 1)), [CUBE]),
    "min": (lambda x: T.min(x, 1, keepdims=True), lambda x: np.min(x, 1, keepdims=True), [CUBE]),
    "argmax": (lambda x: T.argmax(x, 1), lambda x: np.argmax(x, 1), [CUBE]),
    "argmax of all": (T.argmax, np.argmax, [CUBE]),
    "argmin": (lambda x: T.argmin(x, 0, keepdims=True),
               lambda x: np.argmin(x, 0, keepdims=True), [CUBE]),
    "max_and_argmax": (lambda x: T.max_and_argmax(x, 1)[1], lambda x: np.argmax(x, 1), [M]),
    "any": (lambda x: T.any(x > 1, 0), lambda x: np.any(x > 1, 0), [CUBE]),
    "all": (lambda x: T.all(x > -1, (0, 2)), lambda x: np.all(x > -1, (0, 2)), [CUBE]),
    "ptp": (lambda x: T.ptp(x, 1), lambda x: np.ptp(x, 1), [M]),
    "cov": (T.cov, np.cov, [M]),
    "cov of columns": (lambda x: T.cov(x, rowvar=False, bias=True),
                       lambda x: np.cov(x, rowvar=False, bias=True), [M]),
    "cov of two": (lambda x, y: T.cov(x, y, ddof=0), lambda x, y: np.cov(x, y, ddof=0), [M, M[:1]]),
    "norm 1": (lambda x: x.norm(1, 0), lambda x: np.abs(x).sum(0), [M]),
    "norm 2": (lambda x: x.norm(2), lambda x: np.sqrt((x**2).sum()), [M]),
    "norm inf": (lambda x: x.norm(np.inf, 1), lambda x: np.abs(x).max(1), [M]),
    "norm 0": (lambda x: x.norm(0), lambda x: np.float64((x != 0).sum()), [V]),
    "logsumexp": (lambda x: logsumexp(x, 1, keepdims=True),
                  lambda x: scipy.special.logsumexp(x, 1, keepdims=True), [M]),
    "conv2d": (lambda x, w: conv2d(x, w), lambda x, w: scipy.signal.convolve2d(x, w, "valid"),
               [SQUARE, M[:2, :3]]),
    "conv2d full": (lambda x, w: conv2d(x, w, border_mode="full"),
                    lambda x, w: scipy.signal.convolve2d(x, w, "full"), [SQUARE, M[:2, :3]]),
}  # fmt: skip


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", CASES)
def test_values_are_numpys(name):
    build, want, arrays = CASES[name]
    got, wanted = called(build, *arrays), np.asarray(want(*arrays))
    assert got.shape == wanted.shape
    assert (got.dtype.kind == "b") <= (wanted.dtype.kind == "b")
    np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


SMOOTH = ["elu", "selu", "softsign", "xlogx", "cumsum", "cumprod", "diff twice", "repeat", "tril",
          "fill_diagonal above", "diag above", "diagonal", "dot of a matrix", "matmul", "tensordot",
          "outer", "batched_dot", "batched_tensordot", "trace", "prod", "var", "std", "max", "ptp",
          "norm 2", "logsumexp", "conv2d", "conv2d full", "compress"]  # fmt: skip


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", SMOOTH)
def test_slopes_are_those_of_differences(name):
    build, _, arrays = CASES[name]
    slopes(build, *(np.where(a == 0, 0.75, a) for a in arrays))


def written_out(x, alpha):
    """relu as Theano's own source writes it."""
    return 0.5 * (1 + alpha) * x + 0.5 * (1 - alpha) * abs(x)


@pytest.mark.parametrize("alpha", [0, 0.25, "tensor"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_slope_of_relu_at_0_is_between_both(alpha, dtype):
    x, slopes = T.matrix("x", dtype), T.vector("alpha", dtype)
    alpha = slopes if alpha == "tensor" else alpha
    values = np.array([[-2, 0, 3], [0, 1, -1]], dtype), np.array([0.25, 0.5, -1], dtype)
    inputs, values = ([x, slopes], values) if alpha is slopes else ([x], values[:1])
    found = []
    for relu in (nnet.relu, written_out):
        y = relu(x, alpha)
        slope = theano.grad((y * y + y).sum(), inputs)
        bend = theano.grad((slope[0] * x).sum(), x)
        found.append(theano.function(inputs, [y, *slope, bend, theano.Rop(y, x, x + 1)])(*values))
    for ours, expected in zip(*found):
        assert ours.dtype == dtype
        np.testing.assert_array_equal(ours, expected)
    zero = values[0] == 0
    middle = (1 + np.broadcast_to(values[-1] if alpha is slopes else alpha, zero.shape)) / 2
    np.testing.assert_array_equal(found[0][1][zero], middle[zero])


@pytest.mark.parametrize("norm, factor", [(None, 1), ("ortho", 1 / np.sqrt(12)), ("no_norm", 1)])
def test_transforms_of_real_numbers(norm, factor):
    """As theano.tensor.fft documents them: real and imaginary parts last, the batch first."""
    found = called(lambda x: fft.rfft(x, norm), CUBE)
    want = np.fft.rfftn(CUBE, axes=(1, 2)) * factor
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], want, atol=1e-12)
    back = called(lambda z: fft.irfft(z, norm), found)
    np.testing.assert_allclose(back, CUBE * (12 if norm == "no_norm" else 1), atol=1e-12)
    odd = CUBE[:, :, :3]
    again = called(lambda x: fft.irfft(fft.rfft(x, norm), norm, is_odd=True), odd)
    np.testing.assert_allclose(again, odd * (9 if norm == "no_norm" else 1), atol=1e-12)
    slopes(lambda x: fft.rfft(x, norm), CUBE)
    slopes(lambda x: T.sqr(fft.irfft(fft.rfft(x, norm), norm)), CUBE)


@pytest.mark.parametrize(
    "build", [lambda x: fft.rfft(x, "other"), lambda x: fft.irfft(x, is_odd=3)]
)
def test_transforms_that_are_refused(build):
    with pytest.raises(ValueError, match="is not known|yes or no"):
        build(T.dtensor3())


def test_a_fast_sigmoid_is_near_the_slow_one():
    x = np.linspace(-9, 9, 61)
    found = called(nnet.ultra_fast_sigmoid, x)
    np.testing.assert_allclose(found, scipy.special.expit(x), atol=0.07)
    assert (np.diff(found) >= 0).all()
    slopes = called(lambda x: T.grad(nnet.ultra_fast_sigmoid(x).sum(), x), x)
    np.testing.assert_allclose(slopes[x == 0], 0.375)
    np.testing.assert_allclose(slopes[1:-1], np.gradient(found, x)[1:-1], atol=0.06)


def test_a_softmax_of_two_levels():
    """Probabilities of all outputs sum to 1, and those of targets are theirs."""
    batch, classes, within, inputs = 3, 3, 2, 4
    x, w1, w2 = (RNG.normal(size=s) for s in ((3, 4), (inputs, classes), (classes, inputs, within)))
    b1, b2 = RNG.normal(size=classes), RNG.normal(size=(classes, within))

    def softmax(a):
        e = np.exp(a - a.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    top, below = softmax(x @ w1 + b1), softmax(np.einsum("ni,cio->nco", x, w2) + b2)
    want = (top[:, :, None] * below).reshape(batch, -1)
    numbers = batch, classes * within, classes, within
    build = lambda x, *rest: nnet.h_softmax(x, *numbers, *rest)  # noqa: E731
    np.testing.assert_allclose(called(build, x, w1, b1, w2, b2), want, 1e-12)
    target = np.array([5, 0, 2])
    got = called(build, x, w1, b1, w2, b2, target)
    np.testing.assert_allclose(got, want[np.arange(batch), target], 1e-12)


def test_products_of_chosen_blocks():
    """sum over chosen input blocks of h W, plus the bias, for each chosen output block."""
    w, h, b = (RNG.normal(size=s) for s in ((4, 3, 2, 5), (2, 2, 2), (3, 5)))
    inputs, outs = np.array([[0, 3], [1, 1]]), np.array([[2, 0, 1], [1, 1, 2]])
    want = np.zeros((2, 3, 5))
    for n in range(2):
        for k, o in enumerate(outs[n]):
            want[n, k] = b[o] + sum(h[n, j] @ w[i, o] for j, i in enumerate(inputs[n]))
    np.testing.assert_allclose(called(sparse_block_dot, w, h, inputs, b, outs), want, 1e-12)
    for op in (blocksparse.sparse_block_gemv, blocksparse.sparse_block_gemv_inplace):
        np.testing.assert_allclose(called(op, b[outs], w, h, inputs, outs), want, 1e-12)


@pytest.mark.parametrize("alpha", [None, 0.5])
def test_outer_products_of_chosen_blocks(alpha):
    """Places that are named twice get both."""
    o, x, y = (RNG.normal(size=s) for s in ((4, 3, 2, 5), (2, 2, 2), (2, 3, 5)))
    rows, columns = np.array([[0, 3], [1, 1]]), np.array([[2, 0, 1], [1, 1, 2]])
    want = o.copy()
    for n in range(2):
        for i, row in enumerate(rows[n]):
            for j, column in enumerate(columns[n]):
                want[row, column] += (alpha or 1.0) * np.outer(x[n, i], y[n, j])
    build = lambda *v: blocksparse.sparse_block_outer(*v, alpha)  # noqa: E731
    np.testing.assert_allclose(called(build, o, x, y, rows, columns), want, 1e-12)
    with pytest.raises(TypeError, match="2 dimensions"):
        blocksparse.SparseBlockOuter()(o, x, y, rows[0], columns)


@pytest.mark.parametrize("mode", ["valid", "ignore_borders", "wrap_centered"])
def test_neighbourhoods(mode):
    images = RNG.normal(size=(2, 3, 6, 6))
    shape, step = ((3, 3), (1, 1)) if mode == "wrap_centered" else ((2, 3), (2, 3))
    found = called(lambda x: images2neibs(x, shape, step, mode), images)
    assert (called(lambda x: Images2Neibs(mode)(x, shape, step), images) == found).all()
    want = []
    for image in images.reshape(-1, 6, 6):
        if mode == "wrap_centered":
            wide = np.pad(image, 1, mode="wrap")
            want += [wide[r : r + 3, c : c + 3].ravel() for r in range(6) for c in range(6)]
        else:
            want += [image[r : r + 2, c : c + 3].ravel() for r in (0, 2, 4) for c in (0, 3)]
    np.testing.assert_allclose(found, want)
    if mode != "wrap_centered":
        back = called(lambda n: neibs2images(n, shape, images.shape), found)
        np.testing.assert_array_equal(back, images)


def test_streams_of_numbers_are_numpys():
    """A stream is a RandomState that each draw goes on from; a seed begins it again."""
    streams = RandomStreams(seed=11)
    draw = streams.normal((3,), 1.0, 2.0)
    f = theano.function([], draw)
    first, second = f(), f()
    assert not np.array_equal(first, second)
    streams.seed(11)
    np.testing.assert_array_equal(f(), first)
    state = draw.rng.get_value(borrow=True)
    np.testing.assert_array_equal(state.normal(1.0, 2.0, 3), f())
    other = streams.gen(T.raw_random.uniform, (2,))
    assert theano.function([], other)().shape == (2,)
    assert streams[draw.rng] is not None


@pytest.mark.parametrize("mode", ["max", "sum", "average_inc_pad", "average_exc_pad"])
def test_windows_larger_than_the_image_give_nothing(mode):
    x = T.dtensor4("x")
    y = pool_2d(x, (7, 3), ignore_border=True, stride=(10, 2), mode=mode)
    f = theano.function([x], [y, T.grad(y.sum(), x)])
    for shape, want in (((2, 3, 8, 2), (1, 0)), ((2, 3, 6, 9), (0, 4)), ((2, 3, 17, 9), (2, 4))):
        value, slope = f(np.ones(shape))
        assert value.shape == (2, 3, *want) and slope.shape == shape
        assert (slope == 0).all() or 0 not in want
    known = T.constant(np.ones((2, 3, 6, 9)))
    assert pool_2d(known, (7, 3), ignore_border=True, mode=mode).eval().shape == (2, 3, 0, 3)
    assert pool_2d(known, (7, 3), ignore_border=False, mode=mode).eval().shape == (2, 3, 1, 3)


def test_pools_of_four_axes():
    a = np.random.RandomState(0).rand(2, 6, 4, 6, 5)
    x = T.TensorType("float64", [False] * 5)("x")
    y = Pool(ndim=4, ignore_border=True)(x, (2, 2, 3, 2))
    f = theano.function([x], [y, T.grad(y.sum(), x)])
    value, slope = f(a)
    blocks = a[..., :4].reshape(2, 3, 2, 2, 2, 2, 3, 2, 2)
    assert (value == blocks.max((2, 4, 6, 8))).all() and slope.sum() == value.size


def test_what_lies_at_the_maxima_of_windows():
    a, v = np.random.RandomState(1).rand(2, 3, 4, 6)
    x, w = T.dtensor3("x"), T.dtensor3("w")
    op = DownsampleFactorMaxGradGrad(ignore_border=True)
    found = op(x, pool_2d(x, (2, 3), ignore_border=True), w, (2, 3))
    blocks = a.reshape(3, 2, 2, 2, 3).transpose(0, 1, 3, 2, 4).reshape(3, 2, 2, 6)
    other = v.reshape(3, 2, 2, 2, 3).transpose(0, 1, 3, 2, 4).reshape(3, 2, 2, 6)
    want = np.take_along_axis(other, blocks.argmax(-1)[..., None], -1)[..., 0]
    assert (theano.function([x, w], found)(a, v) == want).all()
    theano.tests.unittest_tools.verify_grad(
        lambda t: op(T.constant(a), pool_2d(T.constant(a), (2, 3), ignore_border=True), t, (2, 3)),
        [v])  # fmt: skip
    line = DownsampleFactorMaxGradGrad(True, ndim=1)
    z, u = T.dvectors("z", "u")
    taken = theano.function([z, u], line(z, z, u, (2,), None, (1,)), on_unused_input="ignore")
    assert taken([1, 5, 2, 0], [10, 20, 30, 40]).tolist() == [10, 20, 40]
    with pytest.raises(ValueError, match="'max'"):
        DownsampleFactorMaxGradGrad(True, mode="sum")


def test_star_imports_bring_modules_and_lists_of_booleans_are_no_index():
    names = {}
    exec("from ckernels.compat.theano.tensor import *", names)
    assert names["compile"].In and names["config"].floatX and "np" not in names
    x = T.dmatrix("x")
    for key in ([True, False], ([0, 1], [0, True])):
        with pytest.raises(TypeError, match="Python booleans"):
            x[key]
    mask = np.array([True, False])
    assert x[mask].eval({x: np.eye(2)}).tolist() == [[1, 0]]
    part = T.inc_subtensor(x[mask], 1)
    assert isinstance(part.owner.op, T.subtensor.AdvancedBooleanIncSubtensor)


def test_stack_is_a_join_of_what_gets_an_axis():
    a, b = T.ivectors("a", "b")
    made = T.stack([a, b], axis=-1)
    assert isinstance(made.owner.op, T.Join)
    assert made.eval({a: np.int32([1, 2]), b: np.int32([3, 4])}).tolist() == [[1, 3], [2, 4]]
    with pytest.warns(DeprecationWarning, match="older way"):
        T.stack(a, b)


def test_constants_of_numbers_are_made_once():
    first = T.constant(3.25)
    assert T.constant(3.25) is first and first.signature() in T.constant_cache
    del T.constant_cache[first.signature()]
    assert T.constant(3.25) is not first
    with pytest.raises(KeyError):
        T.constant_cache[T.constant(np.arange(3)).signature()]


def test_a_borrowed_random_state_is_the_value_while_their_states_agree():
    rng = np.random.RandomState(3)
    copied, kept = theano.shared(rng), theano.shared(rng, borrow=True)
    assert kept.container.storage[0] is rng and copied.container.storage[0] is not rng
    assert kept.get_value(borrow=True) is rng and kept.get_value() is not rng
    draw = rng.uniform()  # the stored state stays where it was
    assert kept.get_value(borrow=True) is not rng and kept.get_value().uniform() == draw
    other = np.random.RandomState(4)
    kept.set_value(other, borrow=True)
    assert kept.container.value is other
    kept.set_value(other)
    assert kept.container.value is not other
    assert kept.container.value.uniform() == np.random.RandomState(4).uniform()


def test_complex_results_that_are_asked_for_as_reals_fail_when_they_are_computed():
    x = T.zmatrix("x")
    for dtype in ("bool", "float16", "float64"):
        made = T.elemwise.ProdWithoutZeros(dtype=dtype)(x)
        assert made.dtype == dtype
        with pytest.raises(TypeError, match="real or imaginary part"):
            theano.function([x], made)(np.ones((2, 2)) * 1j)
    with pytest.raises(TypeError, match="stay complex"):
        T.sum(x, acc_dtype="float64")
