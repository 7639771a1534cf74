"""Every function of keras.ops in a traced step equals itself on arrays, which is NumPy's."""

import keras
import numpy as np
import pytest
from keras import ops

from ckernels.keras3 import jit, value_and_grad

RNG = np.random.default_rng(3)
X = RNG.normal(size=(3, 4)).astype("float32")
Y = RNG.normal(size=(3, 4)).astype("float32")
POSITIVE = (np.abs(X) + 0.5).astype("float32")
UNIT = np.tanh(X).astype("float32")
INTS = np.array([[3, 1, -2, 5], [0, 7, 1, 1], [-4, 2, 2, 6]], "int32")
COUNTS = np.array([[1, 2, 0, 3], [2, 2, 1, 0]], "int32")
BOOLS = X > 0
HOLES = np.where(Y > 0.8, np.nan, X).astype("float32")
EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], "float32")
SQUARE = (X @ X.T + 3 * np.eye(3)).astype("float32")
IMAGES = RNG.uniform(size=(2, 6, 5, 3)).astype("float32")

UNARY = (
    "absolute negative sign square exp exp2 expm1 sin cos tan sinh cosh tanh arctan "
    "arcsinh floor ceil trunc round isnan isinf isfinite isposinf isneginf signbit "
    "reciprocal logical_not nan_to_num sigmoid relu relu6 softplus softsign silu "
    "log_sigmoid leaky_relu hard_sigmoid hard_silu elu selu gelu celu hard_tanh "
    "hard_shrink soft_shrink tanh_shrink squareplus sparse_plus sparse_sigmoid erf cbrt "
    "sinc deg2rad rad2deg "
).split()
BINARY = (
    "add subtract multiply divide true_divide maximum minimum fmax fmin mod floor_divide "
    "arctan2 logaddexp hypot equal not_equal greater greater_equal less less_equal "
    "logical_and logical_or logical_xor divide_no_nan "
).split()
REDUCTIONS = (
    "sum mean max min prod std var all any argmax argmin count_nonzero median logsumexp "
    "amax amin ptp "
).split()
NAN_REDUCTIONS = (
    "nansum nanmean nanmax nanmin nanprod nanstd nanvar nanmedian nanargmax nanargmin".split()
)

CASES = {
    "log": (POSITIVE,),
    "log2": (POSITIVE,),
    "log10": (POSITIVE,),
    "log1p": (POSITIVE,),
    "sqrt": (POSITIVE,),
    "rsqrt": (POSITIVE,),
    "arccos": (UNIT,),
    "arcsin": (UNIT,),
    "arctanh": (UNIT,),
    "arccosh": (POSITIVE + 1,),
    "erfinv": (UNIT,),
    "power": (POSITIVE, Y),
    "heaviside": (X, Y),
    "bitwise_and": (INTS, INTS.T[:3, :1]),
    "bitwise_or": (INTS, 3),
    "bitwise_xor": (INTS, 5),
    "left_shift": (np.abs(INTS), 2),
    "bitwise_not": (INTS,),
    "matmul": (X, Y.T),
    "dot": (X, Y.T),
    "inner": (X, Y),
    "outer": (X, Y),
    "vdot": (X, Y),
    "kron": (X, Y),
    "cross": (X[:, :3], Y[:, :3]),
    "sort": (X,),
    "argsort": (INTS,),
    "cumsum": (X,),
    "cumprod": (X,),
    "flip": (X,),
    "transpose": (X,),
    "ravel": (X,),
    "tril": (X,),
    "triu": (X,),
    "diag": (X[0],),
    "diff": (X,),
    "trace": (X,),
    "diagonal": (X,),
    "unstack": (X,),
    "softmax": (X,),
    "log_softmax": (X,),
    "sparsemax": (X,),
    "cholesky": (SQUARE,),
    "inv": (SQUARE,),
    "det": (SQUARE,),
    "slogdet": (SQUARE,),
    "norm": (X,),
    "rgb_to_hsv": (IMAGES,),
    "hsv_to_rgb": (IMAGES,),
    "rgb_to_grayscale": (IMAGES,),
    "glu": (X,),
    "rfft": (X,),
    "corrcoef": (X,),
    "trapezoid": (X,),
    "isclose": (X, X + 1e-6),
    "vander": (X[0],),
    "zeros_like": (X,),
}
MORE = [
    (ops.concatenate, [[X, Y]], {"axis": 1}),
    (ops.stack, [[X, Y]], {"axis": -1}),
    (ops.hstack, [[X, Y]], {}),
    (ops.vstack, [[X, Y]], {}),
    (ops.split, [X, 2], {"axis": 1}),
    (ops.array_split, [X, 3], {"axis": 1}),
    (ops.take, [X, INTS % 3], {"axis": 0}),
    (ops.take_along_axis, [X, INTS % 4], {"axis": 1}),
    (ops.where, [BOOLS, X, Y], {}),
    (ops.clip, [X, -0.5, 0.5], {}),
    (ops.repeat, [X, 3], {"axis": 1}),
    (ops.tile, [X, (2, 1, 3)], {}),
    (ops.pad, [X, ((1, 2), (0, 1))], {}),
    (ops.roll, [X, 2], {"axis": 1}),
    (ops.pad, [X, ((1, 2), (2, 1))], {"mode": "reflect"}),
    (ops.pad, [X, ((4, 2), (2, 1))], {"mode": "symmetric"}),
    (ops.pad, [X, ((1, 2), (2, 1))], {"mode": "edge"}),
    (ops.pad, [X, ((1, 2), (2, 1))], {"mode": "wrap"}),
    (ops.einsum, ["ij,kj->ik", X, Y], {}),
    (ops.einsum, ["ij,ij->j", X, Y], {}),
    (ops.einsum, ["ij->", X], {}),
    (ops.einsum, ["...j,jk", X, Y.T], {}),
    (ops.einsum, ["ii", SQUARE], {}),
    (ops.einsum, ["i,j", X[0], Y[1]], {}),
    (ops.einsum, ["bij,bjk,kl->bl", IMAGES[0], IMAGES[0, :, :3], X], {}),
    (ops.top_k, [X, 2], {}),
    (ops.tensordot, [X, Y], {"axes": [[1], [1]]}),
    (ops.swapaxes, [X, 0, 1], {}),
    (ops.expand_dims, [X, (0, 2)], {}),
    (ops.moveaxis, [IMAGES, [0, 2], [2, 0]], {}),
    (ops.squeeze, [X[None]], {}),
    (ops.rot90, [X], {"k": 3}),
    (ops.average, [X], {"axis": 1, "weights": POSITIVE}),
    (ops.quantile, [X, 0.3], {"axis": 1}),
    (ops.nanquantile, [HOLES, 0.3], {"axis": 1}),
    (ops.meshgrid, [X[0], Y[:, 0]], {}),
    (ops.isin, [INTS, [1, 2]], {}),
    (ops.linspace, [X[0], Y[0]], {"num": 5}),
    (ops.select, [[BOOLS, INTS > 2], [X, Y]], {}),
    (ops.searchsorted, [np.sort(X[0]), Y[0]], {}),
    (ops.one_hot, [COUNTS, 3], {}),
    (ops.multi_hot, [COUNTS, 5], {}),
    (ops.bincount, [COUNTS], {"minlength": 4}),
    (ops.segment_sum, [X, np.array([0, 1, 0])], {"num_segments": 2}),
    (ops.segment_max, [X, np.array([0, 1, 0])], {"num_segments": 3}),
    (ops.in_top_k, [[1, 2, 0], X], {"k": 2}),
    (ops.scatter, [[[1], [3], [1]], X, (5, 4)], {}),
    (ops.scatter_update, [X, [[0, 1], [2, 2]], [9.0, 8.0]], {}),
    (ops.slice, [X, [1, 1], [2, 2]], {}),
    (ops.slice_update, [X, [1, 1], Y[:2, :2]], {}),
    (ops.erfc, [X], {}),
    (ops.norm, [SQUARE], {"ord": "nuc"}),
    (ops.norm, [X], {"ord": 1, "axis": 0}),
    (ops.norm, [X], {"ord": np.inf}),
    (ops.solve, [SQUARE, X], {}),
    (ops.solve_triangular, [SQUARE, X[:, 0]], {"lower": True}),
    (ops.cdist, [X, Y], {}),
    (ops.logspace, [0.0, 2.0], {"num": 4}),
    (ops.fft, [(X, Y)], {}),
    (ops.irfft, [(X, Y * np.array([0, 1, 1, 0], "float32"))], {}),
    (ops.stft, [X.ravel(), 4, 2, 6], {}),
    (ops.image.resize, [IMAGES, (4, 7)], {}),
    (ops.image.resize, [IMAGES, (9, 3)], {"interpolation": "nearest"}),
    (ops.image.gaussian_blur, [IMAGES], {}),
    (ops.image.map_coordinates, [X, np.abs(Y[:2]) * 2, 1], {}),
    (ops.image.affine_transform, [IMAGES, [1.1, 0.1, 0.3, 0.0, 0.9, -0.2, 0, 0]], {}),
    (ops.correlate, [X[0], Y[0]], {}),
    (
        ops.conv,
        [IMAGES, RNG.normal(size=(3, 2, 3, 4)).astype("float32")],
        {"padding": "same", "strides": 2},
    ),
    (ops.depthwise_conv, [IMAGES, RNG.normal(size=(3, 2, 3, 2)).astype("float32")], {}),
    (
        ops.conv_transpose,
        [IMAGES, RNG.normal(size=(3, 2, 4, 3)).astype("float32")],
        {"strides": 2, "padding": "same"},
    ),
    (ops.max_pool, [IMAGES, 2], {"padding": "same"}),
    (ops.average_pool, [IMAGES, 2], {"padding": "same"}),
    (ops.moments, [IMAGES, (0, 1)], {}),
    (ops.unfold, [IMAGES, 2], {}),
    (ops.depth_to_space, [IMAGES[..., :1].repeat(4, -1), 2], {}),
    (ops.batch_normalization, [IMAGES, IMAGES.mean((0, 1, 2)), IMAGES.var((0, 1, 2)), -1], {}),
    (ops.categorical_crossentropy, [np.eye(4, dtype="float32")[:3], X], {"from_logits": True}),
    (ops.sparse_categorical_crossentropy, [[1, 3, 0], X], {"from_logits": True}),
    (ops.binary_crossentropy, [BOOLS.astype("float32"), X], {"from_logits": True}),
    (ops.binary_crossentropy, [BOOLS.astype("float32"), np.abs(UNIT)], {}),
    (
        ops.dot_product_attention,
        [IMAGES[:, :, :4, None, :].repeat(2, 3)[:, :, 0]] * 3,
        {"is_causal": True},
    ),
    (ops.associative_scan, [lambda a, b: a + b, X], {"axis": 1}),
    (ops.arange, [5], {}),
    (ops.istft, [ops.stft(X.ravel(), 4, 2, 6), 4, 2, 6], {}),
    (ops.istft, [ops.stft(X, 3, 2, 4), 3, 2, 4], {"window": None, "center": False}),
    (ops.histogram, [X.ravel()], {"bins": 4}),
    (ops.histogram, [INTS.ravel()], {"bins": 3, "range": (-2, 4)}),
    (ops.histogram, [np.full(3, 2.0, "float32")], {"bins": 2}),
    (ops.in_top_k, [np.array([1, 0, 2], "int32"), HOLES], {"k": 2}),
    (ops.median, [EDGES[2:4]], {}),
    (ops.nanmedian, [np.array([[np.inf, np.inf, np.nan], [1, np.inf, 2]], "float32")], {"axis": 1}),
    (ops.image.gaussian_blur, [IMAGES, (5, 2), np.array([0.7, 1.9], "float32")], {}),
    (ops.image.rgb_to_grayscale, [IMAGES[..., :1]], {}),
    (ops.image.elastic_transform, [IMAGES], {"seed": 3}),
    (ops.bincount, [COUNTS], {"weights": COUNTS.astype("float32"), "minlength": 4}),
]


def leaves(x):
    return [i for part in x for i in leaves(part)] if isinstance(x, tuple | list) else [x]


def check(function, args, options):
    """The function of arrays, and of the same arrays traced."""
    wanted = leaves(function(*args, **options))
    traced = [i for i, a in enumerate(args) if all(isinstance(e, np.ndarray) for e in leaves(a))]

    def step(*given):
        full = list(args)
        for i, g in zip(traced, given):
            full[i] = g
        return function(*full, **options)

    found = leaves(jit(step)(*[args[i] for i in traced]))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        b = np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
        np.testing.assert_allclose(
            np.asarray(a, "float64"), np.asarray(b, "float64"), rtol=2e-5, atol=2e-5
        )


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize(
    "x", [X, INTS, BOOLS, EDGES, X[:0], X[0, 0]], ids="float int bool edges empty 0d".split()
)
def test_functions_of_one_tensor(name, x):
    if name in ("negative", "sign", "trunc", "round") and x.dtype == bool:
        pytest.skip("NumPy has none for bools")
    check(getattr(ops, name), [np.asarray(x)], {})


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("pair", [(X, Y), (X, 2), (INTS, X), (INTS, INTS[:, :1]), (X[:0], Y[:1])])
def test_functions_of_two_operands(name, pair):
    if name in ("mod", "floor_divide", "divide", "true_divide") and pair[1] is INTS[:, :1]:
        pair = (INTS, np.abs(INTS[:, :1]) + 1)
    check(getattr(ops, name), list(pair), {})


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("x", [X, INTS, BOOLS])
@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": 0, "keepdims": True}])
def test_reductions(name, x, options):
    if name == "ptp" and x is BOOLS:
        pytest.skip("NumPy has none for bools")
    if name == "count_nonzero":
        options = {k: v for k, v in options.items() if k == "axis"}
    check(getattr(ops, name), [x], options)


@pytest.mark.parametrize("name", NAN_REDUCTIONS)
@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": 0, "keepdims": True}])
def test_reductions_without_nan(name, options):
    check(getattr(ops, name), [HOLES], options)


@pytest.mark.parametrize("name", CASES)
def test_other_functions(name):
    function = getattr(ops, name, None) or getattr(ops.image, name)
    check(function, list(CASES[name]), {})


@pytest.mark.parametrize("case", MORE, ids=lambda c: c[0].__name__)
def test_functions_with_options(case):
    check(*case)


HALVES = (
    "relu relu6 sigmoid sparse_sigmoid softplus softsign soft_shrink silu log_sigmoid leaky_relu "
    "hard_sigmoid hard_silu hard_tanh hard_shrink elu selu celu gelu tanh_shrink squareplus "
    "sparse_plus threshold"
).split()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", HALVES)
def test_activations_keep_a_half_precision(name, dtype):
    """Of scalars too, whose methods widen where those of arrays do not."""
    function = getattr(keras.ops, name)
    options = {"threshold": 0.5, "default_value": 0.25} if name == "threshold" else {}
    for values in (0.75, [-4.0, -0.5, 0.75, 5.0], []):
        x = keras.ops.cast(np.asarray(values, "float32"), dtype)
        found = function(x, **options)
        assert keras.backend.standardize_dtype(found.dtype) == dtype
        of_floats = function(np.asarray(values, "float32"), **options)
        np.testing.assert_allclose(np.asarray(found, "float32"), of_floats, rtol=3e-2, atol=3e-2)


@pytest.mark.parametrize("dtypes", [("float32", "int8"), ("bfloat16", "bool"), ("bool", "bool")])
def test_truths_of_arrays_of_two_dtypes(dtypes):
    x, y = (ops.cast(np.array(v), d) for v, d in zip(([0, 2, 0, 1], [0, 0, 3, 1]), dtypes))
    for name, expected in (("and", [0, 0, 0, 1]), ("or", [0, 1, 1, 1]), ("xor", [0, 1, 1, 0])):
        found = getattr(ops, f"logical_{name}")(x, y)
        assert found.dtype == bool and found.tolist() == expected
    assert ops.logical_not(x).tolist() == [1, 0, 1, 0]
    assert ops.logical_not(np.array([np.nan, 0.0, -0.0])).tolist() == [0, 1, 1]
    assert ops.size(x) == 4 and ops.size(np.zeros((2, 0))) == 0 and ops.size(3.0) == 1


def test_draws_by_numbers_for_each_column():
    columns = np.array([0.0, 100.0, -50.0], "float32")
    drawn = keras.random.normal((200, 3), mean=columns, stddev=columns / 100 + 1, seed=3)
    np.testing.assert_allclose(drawn.mean(0), columns, atol=0.5)
    np.testing.assert_allclose(drawn.std(0), columns / 100 + 1, rtol=0.2)
    drawn = keras.random.uniform((200, 3), columns - 1, columns + 1, seed=3)
    assert (np.abs(drawn - columns) <= 1).all() and np.ptp(drawn, 0).min() > 1.8


def test_a_traced_value_has_no_number():
    with pytest.raises(Exception, match="has no value while a step is traced"):
        jit(lambda x: x if x[0] > 0 else -x)(X[0])


def test_one_trace_serves_all_sizes():
    step = jit(lambda x: ops.mean(ops.softmax(x) * ops.cast(ops.shape(x)[0], "float32"), 0))
    for n in (3, 1, 7, 2):
        x = RNG.normal(size=(n, 4)).astype("float32")
        np.testing.assert_allclose(step(x), np.mean(ops.softmax(x) * n, 0), rtol=1e-5)
    assert [len(t) for t in step.traces.values()] == [1] and step.pinned == 0


def test_istft_gives_back_what_stft_was_given():
    x = RNG.normal(size=(2, 40)).astype("float32")
    for window in ("hann", "hamming"):
        parts = ops.stft(x, 8, 2, 8, window=window)
        np.testing.assert_allclose(ops.istft(parts, 8, 2, 8, window=window), x, atol=1e-5)


def test_a_blur_takes_its_first_size_along_rows_of_pixels():
    image = np.zeros((1, 5, 5, 1), "float32")
    image[0, 2, 2] = 1
    found = ops.image.gaussian_blur(image, (3, 1), (1.0, 1.0))[0, :, :, 0]
    side = np.exp(-0.5) / (1 + 2 * np.exp(-0.5))
    np.testing.assert_allclose(found[2], [0, side, 1 - 2 * side, side, 0], rtol=1e-5)
    assert not found[[0, 1, 3, 4]].any()


def test_strings_are_no_tensors():
    pytest.importorskip("tensorflow", reason="Keras looks strings up with it")
    from ckernels.keras3.values import is_tensor

    assert is_tensor(X) and is_tensor(X[0, 0]) and is_tensor(BOOLS)
    assert not any(is_tensor(np.array(t)) for t in (["a"], [b"a"], [None]))
    found = keras.layers.StringLookup(vocabulary=["a", "b"])(np.array([["b"], ["c"]]))
    np.testing.assert_array_equal(found, [[2], [0]])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "bool"])
@pytest.mark.parametrize("columns", [7, 900])
def test_orders_of_few_and_of_many(columns, dtype):
    """Equal elements stay in their order; among the largest of a row NaN is the first."""
    x = np.random.default_rng(1).integers(0, 50, (3, columns)).astype(dtype)
    if x.dtype.kind == "f":
        x[0, 3] = x[1, 0] = x[1, 5] = np.nan
    np.testing.assert_array_equal(ops.argsort(x), np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(ops.argsort(x, 0), np.argsort(x, 0, kind="stable"))
    np.testing.assert_array_equal(ops.argsort(x, None), np.argsort(x, None, kind="stable"))
    if dtype == "bool":
        return
    places = [sorted(range(columns), key=lambda i: (r[i] == r[i], -float(r[i]))) for r in x]
    for found in (ops.top_k(x, 4), jit(lambda v: ops.top_k(v, 4))(x)):
        np.testing.assert_array_equal(found[1], np.array(places)[:, :4])
        np.testing.assert_array_equal(found[0], np.take_along_axis(x, np.array(places)[:, :4], -1))
        assert found[0].dtype == dtype and found[1].dtype == "int32"


@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8", "int64"])
def test_one_hot_of_classes_that_do_not_exist(dtype):
    x = np.array([[0, 3, 4], [100, 1, -1 if dtype[0] == "i" else 255]]).astype(dtype)
    wanted = (x[..., None].astype("int64") == np.arange(4)).astype("float32")
    np.testing.assert_array_equal(ops.one_hot(x, 4), wanted)
    np.testing.assert_array_equal(jit(lambda v: ops.one_hot(v, 4))(x), wanted)
    np.testing.assert_array_equal(ops.one_hot(x, 4, axis=0), np.moveaxis(wanted, -1, 0))
    assert ops.one_hot(x[:, :0], 4).shape == (2, 0, 4) and ops.one_hot(x, 4, dtype="bool").any()


@pytest.mark.parametrize("from_logits", [False, True])
def test_losses_of_arrays_are_those_of_traced_values(from_logits):
    output = np.abs(X) + 0.1
    target = np.eye(4, dtype="float32")[[2, 0, 3]]
    share = output / output.sum(-1, keepdims=True)
    logs = np.log(share)
    if from_logits:
        logs = output - np.log(np.exp(output).sum(-1, keepdims=True))
    wanted = -(logs * target).sum(-1)
    classes = np.array([2, 0, 3], "int32")
    for loss, given in (
        (ops.categorical_crossentropy, target),
        (ops.sparse_categorical_crossentropy, classes),
        (ops.sparse_categorical_crossentropy, classes[:, None]),
    ):
        eager = loss(given, output, from_logits)
        np.testing.assert_allclose(eager, wanted, rtol=1e-5)
        assert eager.dtype == "float32"
        step = jit(lambda t, o, f=loss: f(t, o, from_logits))
        np.testing.assert_allclose(step(given, output), wanted, rtol=1e-5)
        turned = loss(given.T if given.ndim > 1 and given.shape[1] == 4 else classes, output.T,
                      from_logits, axis=0)  # fmt: skip
        np.testing.assert_allclose(turned, wanted, rtol=1e-5)


def test_sounds_of_open_batches_have_a_known_length():
    x = keras.Input((64,))
    sound = ops.istft(ops.stft(x, 16, 4, 16), 16, 4, 16)
    assert sound.shape == (None, 64)
    data = RNG.normal(size=(3, 64)).astype("float32")
    np.testing.assert_allclose(keras.Model(x, sound).predict(data, verbose=0), data, atol=1e-5)


def test_systems_of_more_rows_than_unknowns_in_a_step():
    a, b = RNG.normal(size=(5, 3)).astype("float32"), RNG.normal(size=(5, 2)).astype("float32")
    for y in (b, b[:, 0]):
        wanted = np.linalg.lstsq(a, y)[0]
        np.testing.assert_allclose(jit(ops.lstsq)(a, y), wanted, rtol=1e-4, atol=1e-5)
    flat = np.outer(a[:, 0], [1.0, 2.0, 3.0]).astype("float32")
    flat[:, 2] += 1e-3 * a[:, 1]
    for rcond in (1e-2, 1e-6):
        wanted = np.linalg.pinv(flat.astype("float64"), rcond)
        found = jit(lambda v, r=rcond: ops.pinv(v, r))(flat)
        np.testing.assert_allclose(found, wanted, rtol=1e-2, atol=1e-2 * np.abs(wanted).max())

    def loss(v):
        return ops.sum(ops.square(ops.lstsq(v, b)))

    _, slope = jit(value_and_grad(loss))(a)
    for place in ((0, 0), (3, 2)):
        step = np.zeros(a.shape)
        step[place] = 1e-4
        ends = [np.sum(np.linalg.lstsq(a + s, b)[0] ** 2) for s in (step, -step)]
        np.testing.assert_allclose(slope[place], (ends[0] - ends[1]) / 2e-4, rtol=1e-2)


def test_slopes_of_variances_without_nan():
    x = np.array([[1.0, np.nan, 4.0, 2.0], [np.nan, 3.0, np.nan, 5.0]], "float32")
    value, slope = jit(value_and_grad(lambda v: ops.sum(ops.nanvar(v, -1))))(x)
    np.testing.assert_allclose(value, np.nanvar(x, -1).sum(), rtol=1e-6)
    count, centre = (~np.isnan(x)).sum(-1, keepdims=True), np.nanmean(x, -1, keepdims=True)
    np.testing.assert_allclose(slope, np.nan_to_num(2 * (x - centre) / count), rtol=1e-5)
    for axis, keepdims in ((None, False), (0, True), ((0, 1), True), ([0, 1], False)):
        found = jit(lambda v, a=axis, k=keepdims: ops.nanstd(v, a, k))(x)
        wanted = np.nanstd(x, tuple(axis) if isinstance(axis, list) else axis, keepdims=keepdims)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("sequence", [8, 6])
@pytest.mark.parametrize("window", ["hann", "hamming", None, "own"])
def test_sounds_are_heard_at_their_ends(window, sequence):
    """Rows are added up and divided by what their windows come to there, fewer at both ends."""
    import scipy.signal

    window = np.linspace(0.2, 1, sequence, dtype="float32") if window == "own" else window
    x, gain = RNG.normal(size=(2, 20)).astype("float32"), RNG.uniform(0.5, 1, 5).astype("float32")
    real, imag = ops.stft(x, sequence, 3, 8, window=window, center=False)
    shape = np.ones(8)
    if window is not None:
        shape = scipy.signal.get_window(window, sequence) if isinstance(window, str) else window
        shape = np.pad(shape, (8 - sequence) // 2)
    starts = range(0, 20 - 8 + 1, 3)
    rows = np.stack([x[:, s : s + 8] * shape for s in starts], 1)
    wanted = np.fft.rfft(rows)
    np.testing.assert_allclose(real + 1j * imag, wanted, atol=1e-4)
    total, squares = np.zeros((2, 20)), np.zeros(20)
    for k, s in enumerate(starts):
        total[:, s : s + 8] += np.fft.irfft(wanted * gain, 8)[:, k] * shape
        squares[s : s + 8] += shape**2
    total /= np.where(squares > 1e-10, squares, 1)
    total *= 1 if window is not None else 8 / 3
    back = lambda a, b: ops.istft((a, b), sequence, 3, 8, window=window, center=False)  # noqa: E731
    for found in (back(real * gain, imag * gain), jit(back)(real * gain, imag * gain)):
        np.testing.assert_allclose(found, total[:, : found.shape[1]], rtol=1e-3, atol=1e-4)
        assert found.shape[1] == 8 + 3 * (len(starts) - 1)


# Where formulas change. Between the slopes to both sides lies one that may be given at a corner.
CORNERS = np.array([0, 1, -1, 0.5, -0.5, 3, -3, 6, 2.5, -2.5, 0.25], "float32")
STEEP = {"reciprocal", "cbrt", "sign", "floor", "ceil", "trunc", "round", "hard_shrink",
         "isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit",
         "logical_not"}  # fmt: skip
STEP = 2**-6


def between_both_sides(name, function, *args):
    for k, x in enumerate(args):

        def at(x, k=k):
            return function(*args[:k], x, *args[k + 1 :])

        slopes = np.asarray(jit(value_and_grad(lambda x, at=at: ops.sum(at(x))))(x)[1])
        high, mid, low = (np.asarray(at(x + s), "float64") for s in (STEP, 0.0, -STEP))
        sides = np.stack([high - mid, mid - low]) / STEP
        room = 0.05 * (1 + np.abs(sides).max(0))  # float32, and a step that bends
        off = (slopes < sides.min(0) - room) | (slopes > sides.max(0) + room)
        assert not off.any(), (name, [a[off] for a in args], slopes[off], sides[:, off])


@pytest.mark.parametrize("name", sorted(set(UNARY) - STEEP))
def test_slopes_where_formulas_change(name):
    between_both_sides(name, getattr(ops, name), CORNERS)


@pytest.mark.parametrize(
    "name", ["maximum", "minimum", "fmax", "fmin", "logaddexp", "logaddexp2", "hypot", "multiply"]
)
def test_slopes_of_equal_operands(name):
    if hasattr(ops, name):
        x, y = (a.ravel() for a in np.meshgrid(CORNERS[:9], CORNERS[:9]))
        apart = (x != 0) | (y != 0)  # hypot has a tip there
        between_both_sides(name, getattr(ops, name), x[apart], y[apart])


@pytest.mark.parametrize("low, high", [(1, 1), (0.0, 0.0), (0.5, 0.5), (-1, 0.5), (3, -3)])
def test_slopes_of_what_is_limited(low, high):
    between_both_sides("clip", lambda x: ops.clip(x, low, high), CORNERS)


@pytest.mark.parametrize("name", ["max", "min", "amax", "nanmax", "median", "logsumexp", "ptp"])
def test_equal_elements_share_a_slope(name):
    """Both go up together with what they are elements of, and it with them."""
    if hasattr(ops, name):
        function = getattr(ops, name)
        for x in ([1.0, 1.0, -2.0], [3.0, 3.0], [0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 2.0, 5.0]):
            x = np.array(x, "float32")
            slopes = jit(value_and_grad(lambda x: function(x) ** 2))(x)[1]
            high, low = (float(function(x + s)) ** 2 for s in (STEP, -STEP))
            assert float(np.sum(slopes)) == pytest.approx((high - low) / (2 * STEP), abs=1e-4)
            twice = jit(value_and_grad(lambda v: function(ops.stack([v, v]))))(np.float32(1.5))[1]
            assert float(twice) == pytest.approx(float(name != "ptp"), abs=1e-6)


def test_what_the_coming_keras_asks_for():
    """Functions of backends that Keras 3.15 has not: traced and eager, in the dtypes of Keras."""
    special = pytest.importorskip("scipy.special")
    backend = keras.src.backend
    gammainc, power = backend.math.gammainc, backend.linalg.matrix_power
    want = special.gammainc(POSITIVE, np.abs(Y))
    for found in (gammainc(POSITIVE, np.abs(Y)), jit(gammainc)(POSITIVE, np.abs(Y))):
        np.testing.assert_allclose(found, want, rtol=2e-6)
        assert found.dtype == "float32"
    halves = gammainc(POSITIVE.astype("float16"), np.ones((3, 4), "int8"))
    assert halves.dtype == "float16" and gammainc(COUNTS, COUNTS).dtype == "float32"
    pairs = np.stack([SQUARE, SQUARE.T + 1])
    for n in (-2, 0, 1, 5):
        want = np.linalg.matrix_power(pairs.astype("float64"), n)
        for found in (power(pairs, n), jit(lambda a, n=n: power(a, n))(pairs)):
            np.testing.assert_allclose(found, want, rtol=1e-3, atol=1e-5)
    columns = [X, Y[:, 0], COUNTS[0, :3]]
    want = np.column_stack(columns).astype("float32")
    for found in (backend.numpy.column_stack(columns), jit(backend.numpy.column_stack)(columns)):
        np.testing.assert_array_equal(found, want)
        assert found.dtype == "float32"
    values, places = backend.math.top_k(INTS, 2, is_stable=True)
    np.testing.assert_array_equal(places, [[3, 0], [1, 2], [3, 1]])
    for x in (X, X[0]):
        with pytest.raises(ValueError, match="out of bounds"):
            ops.nn.glu(x, axis=5)
