"""Elementwise functions, comparisons and reductions against NumPy, over dtypes and shapes."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base import dtypes

RNG = np.random.RandomState(0)
SHAPES = [(), (3,), (2, 5), (0, 3), (2, 1, 4)]
FLOATS = ["float32", "float64"]


def value(shape, dtype, low=-3.0, high=3.0):
    return np.asarray(RNG.uniform(low, high, shape)).astype(dtype)


def run(build, *arrays):
    """The value of build(placeholders) at `arrays`; no size is known when the graph is built."""
    xs = [K.placeholder(ndim=np.ndim(a), dtype=np.asarray(a).dtype.name) for a in arrays]
    return K.function(xs, build(*xs))(*arrays)


def close(got, expected, dtype=None):
    rtol = {"float16": 5e-3, "float32": 3e-6}.get(str(np.asarray(expected).dtype), 1e-12)
    got = np.asarray(got)
    assert got.shape == np.shape(expected)
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol)
    assert dtype is None or got.dtype == dtype


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


UNARY = {
    "square": np.square,
    "abs": np.abs,
    "exp": np.exp,
    "round": np.rint,
    "sign": np.sign,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "expm1": np.expm1,
    "floor": np.floor,
    "softplus": lambda x: np.log1p(np.exp(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "hard_sigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "relu": lambda x: np.maximum(x, 0),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "sqrt": lambda x: np.sqrt(np.maximum(x, 0)),
    "ceil": np.ceil,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "arctan": np.arctan,
}  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    for shape in SHAPES:
        x = value(shape, dtype)
        close(run(getattr(K, name), x), UNARY[name](x).astype(dtype), dtype)


@pytest.mark.parametrize("name", ["log", "log1p", "log2", "log10", "rsqrt"])
def test_unary_of_positive(name):
    x = value((2, 5), "float64", 0.1, 4)
    oracle = {"rsqrt": lambda x: x**-0.5}.get(name) or getattr(np, name)
    close(run(getattr(K, name), x), oracle(x), "float64")


def test_round_halves_to_even():
    np.testing.assert_array_equal(K.eval(K.round(K.constant([0.5, 1.5, 2.5, -0.5]))), [0, 2, 2, 0])


def test_sqrt_clips_and_keeps_nan():
    got = K.eval(K.sqrt(K.constant([-1.0, 4.0, np.nan])))
    np.testing.assert_array_equal(got, [0, 2, np.nan])


COMPARISONS = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "less": np.less,
    "greater_equal": np.greater_equal,
    "less_equal": np.less_equal,
}  # fmt: skip


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name):
    x, y = np.array([[1, 2, 3]], "int32"), np.array([[1], [3]], "int32")
    close(run(getattr(K, name), x, y), COMPARISONS[name](x, y), "bool")
    close(run(lambda t: getattr(K, name)(t, 2), x), COMPARISONS[name](x, 2), "bool")
    close(run(lambda t: getattr(K, name)(2, t), x), COMPARISONS[name](2, x), "bool")


def test_extrema_pow_clip():
    x, y = value((2, 3), "float32"), value((3,), "float32")
    close(run(K.maximum, x, y), np.maximum(x, y), "float32")
    close(run(K.minimum, x, y), np.minimum(x, y), "float32")
    close(run(lambda t: K.maximum(t, 0), x), np.maximum(x, 0), "float32")
    close(run(lambda t: K.pow(t, 3), x), x**3, "float32")
    close(run(lambda t: K.clip(t, -1, 1), x), np.clip(x, -1, 1), "float32")
    close(run(lambda t: K.clip(t, -1, None), x), np.maximum(x, -1), "float32")
    close(run(lambda t: K.clip(t, 1, -1), x), np.full((2, 3), 1), "float32")
    close(run(lambda t, s: K.where(t > 0, t, s), x, y), np.where(x > 0, x, y), "float32")
    close(run(lambda t: K.where(t > 0, 1.0, 0.0), x), np.where(x > 0, 1, 0), "float32")


AXES = [None, 0, 1, -1, (0, 2), [1, 2], (0, 1, 2)]
REDUCTIONS = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
    "var": np.var,
    "std": np.std,
    "logsumexp": lambda x, axis, keepdims: np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims)),
}  # fmt: skip


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, axis, keepdims):
    x = value((2, 3, 4), "float64")
    expected = REDUCTIONS[name](
        x, axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=keepdims
    )
    close(run(lambda t: getattr(K, name)(t, axis, keepdims), x), expected, "float64")
    close(
        run(lambda t: getattr(K, name)(t, axis=axis, keepdims=keepdims), x.astype("float32")),
        expected.astype("float32"),
        "float32",
    )


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_any_and_all_give_uint8(axis):
    x = RNG.randint(0, 2, (2, 3, 4)).astype("float32")
    np_axis = tuple(axis) if isinstance(axis, list) else axis
    close(run(lambda t: K.any(t, axis), x), np.any(x, np_axis).astype("uint8"), "uint8")
    close(
        run(lambda t: K.all(t, axis, True), x),
        np.all(x, np_axis, keepdims=True).astype("uint8"),
        "uint8",
    )
    close(run(lambda t: t.any(axis), x), np.any(x, np_axis), "bool")


def test_mean_of_a_comparison_is_an_accuracy():
    x = np.array([1, 2, 3, 4], "int32")
    close(run(lambda t: K.mean(K.equal(t, 2)), x), np.float32(0.25), "float32")
    close(run(lambda t: K.mean(t), x), np.float64(2.5))
    close(run(lambda t: K.sum(K.greater(t, 1)), x), 3, "int64")


def test_arg_and_running():
    x = value((3, 4), "float32")
    close(run(K.argmax, x), x.argmax(-1), "int64")
    close(run(lambda t: K.argmin(t, 0), x), x.argmin(0), "int64")
    close(run(K.cumsum, x), x.cumsum(0), "float32")
    close(run(lambda t: K.cumprod(t, 1), x), x.cumprod(1), "float32")
    close(run(lambda t: t.argmax(), x), x.argmax(), "int64")


def test_logsumexp_at_the_edges():
    x = np.array([[-np.inf, -np.inf], [np.inf, 1], [1000, 1000], [-1000, -1000]])
    expected = [-np.inf, np.inf, 1000 + np.log(2), -1000 + np.log(2)]
    close(run(lambda t: K.logsumexp(t, -1), x), expected)


@pytest.mark.parametrize("axis", [3, -4, (0, 0), (0, 5)], ids=str)
def test_axes_that_do_not_exist(axis):
    with pytest.raises(ValueError, match="ax"):
        K.sum(K.placeholder(shape=(2, 3, 4)), axis=axis)


@pytest.mark.parametrize("bad", [None, "text", object(), [[1, 2], [3]], np.array([None]), {1: 2}])
def test_what_is_no_tensor(bad):
    for build in (
        K.exp,
        K.sum,
        lambda x: K.maximum(x, 1.0),
        lambda x: K.placeholder(ndim=1) + x,
        K.variable,
        K.constant,
        K.shared,
    ):
        with pytest.raises((TypeError, ValueError)) as caught:
            build(bad)
        assert len(str(caught.value)) > 15 and str(caught.value).count("\n") < 15


EXACT_PRODUCTS = [
    ((3, 4), (4, 5)), ((40, 70), (70, 33)), ((1, 65), (65, 65)), ((65, 65), (65, 1)),
    ((1, 9), (9, 1)), ((4, 1), (1, 5)), ((0, 4), (4, 5)), ((3, 0), (0, 5)),
]  # fmt: skip


@pytest.mark.parametrize("a, b", EXACT_PRODUCTS)
@pytest.mark.parametrize("dtype", dtypes.INTEGERS + ("complex64", "complex128"))
def test_products_that_are_loops(a, b, dtype):
    """Integers wrap around as NumPy's do; with operands that lie turned and backwards."""
    rng = np.random.default_rng(7)

    def numbers(shape):
        if dtypes.is_complex(dtype):
            return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)

    x, y = K.placeholder(ndim=2, dtype=dtype), K.placeholder(ndim=2, dtype=dtype)
    f = K.function([x, y], K.dot(x, y))
    one, other = numbers(a), numbers(b)
    for p, q in ((one, other), (one.T.copy().T, other[::-1]), (one[:, ::-1], other.T.copy().T)):
        with np.errstate(over="ignore"):
            got, want = f(p, q), p @ q
        assert got.dtype == want.dtype
        if dtypes.is_complex(dtype):
            np.testing.assert_allclose(got, want, rtol=0, atol=60 * np.finfo(dtype).eps * len(q))
        else:
            np.testing.assert_array_equal(got, want)
