"""Values and dtypes where Theano's conventions are easily missed, against NumPy and by hand."""

import copy

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano.tensor import inplace
from ckernels.compat.theano.tensor.opt import Assert
from ckernels.compat.theano.tensor.shared_randomstreams import RandomStreams


def value(x):
    return theano.function([], x, mode=theano.Mode("py"))()


def test_complex_numbers_are_ordered_by_real_then_imaginary_parts():
    a = np.array([1 + 1j, 1 + 2j, 2, 0, -1j])
    b = np.array([1 + 1j, 1 + 1j, 3, 0, 1j])
    x, y = T.constant(a), T.constant(b)
    pairs = [
        (x < y, np.less),
        (x <= y, np.less_equal),
        (x > y, np.greater),
        (x >= y, np.greater_equal),
        (T.maximum(x, y), np.maximum),
        (T.minimum(x, y), np.minimum),
    ]
    for found, function in pairs:
        np.testing.assert_array_equal(value(found), function(a, b))
    lost = value(T.maximum(T.constant(np.array([np.nan + 1j])), T.constant(np.array([5 + 0j]))))
    assert np.isnan(lost).all()


@pytest.mark.parametrize("name", ["exp2", "expm1", "log2", "log1p", "arcsin", "arccosh", "arctanh"])
def test_functions_of_complex_numbers(name):
    z = np.array([0.3 + 0.4j, -0.2 + 1.5j])
    np.testing.assert_allclose(value(getattr(T, name)(T.constant(z))), getattr(np, name)(z))


def test_arange_has_derivatives_by_start_and_step():
    start, stop, step = T.dscalars("abc")
    cost = T.dot(T.arange(start, stop, step), T.constant([1.0, 2.0, 3.0, 4.0]))
    by_start, by_step = theano.function(
        [start, stop, step], theano.grad(cost, [start, step]), on_unused_input="ignore"
    )(1.0, 2.0, 0.25)
    assert (by_start, by_step) == (10.0, 20.0)  # 1+2+3+4 and 0*1+1*2+2*3+3*4


@pytest.mark.parametrize("shapes", [((1, 2), (3, 2)), ((3, 1), (1, 4)), ((2,), (3, 2)), ((), (2,))])
def test_fill_takes_the_shape_of_both(shapes):
    a, b = (np.arange(np.prod(s, dtype=int)).reshape(s) + 0.5 for s in shapes)
    x, y = (T.TensorType("float64", (False,) * v.ndim)() for v in (a, b))
    found = theano.function([x, y], T.fill(x, y), on_unused_input="ignore")(a, b)
    np.testing.assert_array_equal(found, np.broadcast_arrays(a, b)[1])


def test_lists_are_as_numpy_has_them_and_numbers_narrow():
    assert T.constant([1, 2]).dtype == "int64" and T.constant(1).dtype == "int8"
    assert T.as_tensor_variable([1.5, 2.5]).dtype == "float64"
    assert (T.fvector() + 1.1).dtype == "float64"  # 1.1 is no float32
    assert (T.fvector() + 1.5).dtype == "float32"


@pytest.mark.parametrize("dtype", ["uint8", "int8", "bool", "float32"])
def test_topk_of_every_kind_of_number(dtype):
    x = np.array([3, 0, 5, 1]).astype(dtype)
    order = np.argsort(x, kind="stable")
    values, places = T.topk_and_argtopk(T.constant(x), 2)
    np.testing.assert_array_equal(value(values), x[order][::-1][:2])
    np.testing.assert_array_equal(x[value(places)], x[order][::-1][:2])
    np.testing.assert_array_equal(value(T.topk(T.constant(x), -2)), x[order][:2])
    k = T.lscalar()
    f = theano.function([k], T.topk(T.constant(x), k))
    assert f(3).shape == (3,) and f(-1).tolist() == [x.min()]
    with pytest.raises(AssertionError):
        f(5)


def test_sort_along_an_axis_known_when_it_runs():
    a = np.random.RandomState(0).standard_normal((3, 4))
    x, axis = T.dmatrix(), T.lscalar()
    f = theano.function([x, axis], T.sort(x, axis))
    for k in (0, 1, -1):
        np.testing.assert_array_equal(f(a, k), np.sort(a, k))


def test_ops_with_an_axis_or_sizes_are_applied_again_alike():
    n, m = T.lscalar("n"), T.lscalar("m")
    x, y = T.dmatrix("x"), T.dmatrix("y")
    a, b = np.arange(6.0).reshape(2, 3), np.ones((2, 2))
    zeros = theano.clone(T.zeros((3, n)), replace={n: m})
    assert theano.function([m], zeros)(2).shape == (3, 2)
    for made, wanted in [
        (T.concatenate([x, y], axis=1), np.concatenate([a + 1, b], 1)),
        (T.split(x, [1, 2], 2, axis=1)[1], a[:, 1:] + 1),
        (T.sort(-x, axis=0), np.sort(-a - 1, 0)),
    ]:
        z = T.dmatrix("z")
        again = theano.clone(made, replace={x: z + 1})
        found = theano.function([z, y], again, on_unused_input="ignore")(a, b)
        np.testing.assert_array_equal(found, wanted)
        node = made.owner
        same = node.op.make_node(*node.inputs).outputs[made.index]
        assert same.type == made.type


def test_inplace_ops_overwrite_only_where_that_is_accepted():
    x, y = T.dvectors("xy")
    out = inplace.add_inplace(x, y)
    a, b = np.ones(3), np.arange(3.0)
    theano.function([x, y], out)(a, b)
    assert a.tolist() == [1, 1, 1]
    found = theano.function([x, y], out, accept_inplace=True)(a, b)
    assert found is a and a.tolist() == [1, 2, 3]
    whole = T.lvector()
    root = theano.function([whole], inplace.sqrt_inplace(whole), accept_inplace=True)
    assert root(np.array([1, 9, 10])).tolist() == [1, 3, 3]  # of the dtype it is written to


def test_choose_between_tensors_of_several_shapes():
    a, b, c = np.array([[[0]], [[1]]]), np.ones((1, 3, 1)), np.arange(2.0).reshape(1, 1, 2)
    found = value(T.choose(T.constant(a), (T.constant(b), T.constant(c))))
    np.testing.assert_array_equal(found, np.choose(a, (b, c)))


@pytest.mark.parametrize("rowvar", [True, False])
@pytest.mark.parametrize("options", [{}, {"bias": True}, {"ddof": 0}])
def test_cov(rowvar, options):
    m = np.random.RandomState(1).standard_normal((3, 5))
    y = m + 1.0
    found = value(T.cov(T.constant(m), T.constant(y), rowvar=rowvar, **options))
    np.testing.assert_allclose(found, np.cov(m, y, rowvar=rowvar, **options))


@pytest.mark.parametrize("name", ["and_", "or_", "xor"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "bool"])
def test_reductions_bit_by_bit(name, dtype):
    x = np.random.RandomState(2).randint(-100, 100, (4, 3)).astype(dtype)
    ufunc = {"and_": np.bitwise_and, "or_": np.bitwise_or, "xor": np.bitwise_xor}[name]
    found = value(T.elemwise.CAReduce(getattr(theano.scalar, name), axis=0)(T.constant(x)))
    np.testing.assert_array_equal(found, ufunc.reduce(x, 0))
    assert found.dtype == dtype


@pytest.mark.parametrize(
    "bounds", [(None, None, -1), (-8, 5, 2), (4, -6, -3), (1, 1, 2), (3, 0, 5)]
)
def test_slices_in_canonical_form(bounds):
    n = T.lscalar()
    cut, turn = T.subtensor.get_canonical_form_slice(slice(*bounds), n)
    low, high, step, turn = theano.function(
        [n], [T.as_tensor_variable(v) for v in (cut.start, cut.stop, cut.step, turn)],
        on_unused_input="ignore",
    )(5)  # fmt: skip
    a = np.arange(5)
    assert 0 <= low <= high <= 5 and step > 0
    assert a[low:high:step][::turn].tolist() == a[slice(*bounds)].tolist()


def test_numbers_seen_through_indexing():
    b = T.iscalar()
    assert T.get_scalar_constant_value(T.stack([b, 2, 3])[1]) == 2
    assert T.get_scalar_constant_value(T.constant(np.arange(6).reshape(2, 3))[1, 0]) == 3
    for unknown in (T.stack([b, 2, 3])[0], T.stack([1, 2])):
        with pytest.raises(T.NotScalarConstantError):
            T.get_scalar_constant_value(unknown)
    assert Assert is theano.raise_op.Assert


def test_verify_grad_adds_float32_results_up_in_float64():
    x = np.random.RandomState(3).uniform(1, 2, (20, 30)).astype("float32")
    theano.gradient.verify_grad(lambda v: v * v, [x], rng=np.random.RandomState(0))
    with pytest.raises(theano.gradient.GradientError):
        theano.gradient.verify_grad(
            lambda v: v * theano.gradient.disconnected_grad(v),
            [x],
            rng=np.random.RandomState(0),
        )


def test_pooling_of_one_axis():
    x = np.random.RandomState(4).standard_normal((2, 3, 7))
    pool = T.signal.pool.Pool(ndim=1, ignore_border=True, mode="max")
    found = value(pool(T.constant(x), (3,), (2,), (1,)))
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1)), constant_values=-np.inf)
    wanted = [wide[..., k : k + 3].max(-1) for k in (0, 2, 4, 6)]
    np.testing.assert_array_equal(found, np.stack(wanted, -1))


def test_upsampling_by_a_fraction_keeps_the_last_element():
    x = np.array([[1.0, 2.0], [3.0, 4.0]]).reshape(1, 1, 2, 2)
    found = value(
        T.nnet.abstract_conv.bilinear_upsampling(
            T.constant(x), frac_ratio=((7, 4), (5, 3)), use_1D_kernel=False
        )
    )
    assert found.shape == (1, 1, 4, 4)  # of 14 rows every fourth, of 10 columns every third
    places = [np.clip((4 * np.arange(4) - 3) / 7, 0, 1), np.clip((3 * np.arange(4) - 2) / 5, 0, 1)]
    np.testing.assert_allclose(found[0, 0], 1 + 2 * places[0][:, None] + places[1])


@pytest.mark.parametrize("mode", ["sum", "average_exc_pad", "max"])
def test_gradients_of_pooling_as_ops(mode):
    x = np.random.RandomState(5).standard_normal((1, 1, 4, 4))
    gz = np.arange(1.0, 5).reshape(1, 1, 2, 2)
    if mode == "max":
        out = x.reshape(1, 1, 2, 2, 2, 2).max((3, 5))
        found = T.signal.pool.MaxPoolGrad(True)(x, out, gz, (2, 2))
        wanted = np.where(x == out.repeat(2, 2).repeat(2, 3), gz.repeat(2, 2).repeat(2, 3), 0)
    else:
        found = T.signal.pool.AveragePoolGrad(True, mode)(x, gz, (2, 2))
        wanted = gz.repeat(2, 2).repeat(2, 3) / (1 if mode == "sum" else 4)
    np.testing.assert_allclose(value(found), wanted)


def test_functions_of_numpy_are_those_of_tensor():
    x, a = T.dvector("x"), np.array([0.25, 0.5])
    for name in ("arccos", "exp2", "deg2rad", "log1p", "absolute", "square", "sign"):
        function = getattr(np, name)
        np.testing.assert_allclose(function(x).eval({x: a}), function(a))


def test_truncated_normal_numbers_have_the_deviation_asked_for():
    from scipy.stats import truncnorm

    from ckernels.compat.theano.sandbox import rng_mrg

    np.testing.assert_allclose(rng_mrg.TRUNCATED, truncnorm.std(-2, 2), rtol=1e-12)
    streams = rng_mrg.MRG_RandomStreams(3)
    found = value(streams.truncated_normal((60, 50), avg=1.0, std=2.0))
    assert abs(found.mean() - 1) < 0.15 and abs(found.std() - 2) < 0.15
    assert 4 < np.abs(found - 1).max() <= 4 / rng_mrg.TRUNCATED
    for draw in (streams.uniform, streams.normal, streams.truncated_normal, streams.binomial):
        with pytest.raises(ValueError):
            draw((2, 0))
        mean = T.dscalar()
        key = {"uniform": "low", "binomial": "p"}.get(draw.__name__, "avg")
        with pytest.raises(theano.gradient.NullTypeGradError):
            theano.grad(T.cast(draw((), **{key: mean}), "float64"), mean)


def test_sizes_of_draws_may_come_from_their_parameters():
    streams = RandomStreams(7)
    p = np.array([[[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]]])
    assert value(streams.multinomial((1, -1), n=9, pvals=p)).sum(-1).tolist() == [[9, 9, 9]]
    low, column = T.dmatrix("low"), np.array([[3.0], [4.0]])
    drawn = streams.normal((-1, 3), avg=low)
    state = copy.deepcopy(drawn.rng.get_value())
    found = theano.function([low], drawn, mode=theano.Mode("py"))(column)
    assert found.shape == (2, 3)
    np.testing.assert_array_equal(found, state.normal(column, 1.0, (2, 3)))
    assert value(streams.uniform(None, ndim=2)).shape == (1, 1)
    assert value(streams.choice((3, 2), 10, True, 0)).shape == (3, 2)
    with pytest.raises(ValueError, match="-1"):
        streams.uniform((2, -1))


def test_statistics_have_the_axes_of_the_parameters():
    x, g, b = T.dmatrix("x"), T.dvector("g"), T.dvector("b")
    a = np.arange(6.0).reshape(3, 2) ** 2
    mean = T.nnet.bn.batch_normalization_train(x, g, b, (0,), 1e-4, 0.5, b, g)
    f = theano.function([x, g, b], mean, mode=theano.Mode("py"))
    out, mean, invstd, new_mean, new_var = f(a, [1.0, 2.0], [3.0, 4.0])
    np.testing.assert_allclose(mean, a.mean(0))
    np.testing.assert_allclose(invstd, 1 / np.sqrt(a.var(0) + 1e-4))
    np.testing.assert_allclose(new_mean, [3, 4] / np.array(2.0) + a.mean(0) / 2)
    np.testing.assert_allclose(new_var, [0.5, 1] + a.var(0, ddof=1) / 2)


def test_ops_of_softmax_and_of_its_gradients():
    nnet, rng = T.nnet, np.random.RandomState(0)
    v, b, g, w = rng.randn(3, 4), rng.randn(4), rng.rand(3, 4), rng.rand(3)
    labels, hot = np.array([0, 3, 1]), np.eye(4)[[0, 3, 1]]
    p = np.exp(v + b) / np.exp(v + b).sum(1, keepdims=True)
    rows = [
        (nnet.softmax_with_bias(v, b), p),
        (nnet.softmax_grad(g, p), g * p - (g * p).sum(1, keepdims=True) * p),
        (nnet.CrossentropySoftmax1HotWithBiasDx()(w, p, labels), w[:, None] * (p - hot)),
        (nnet.CrossentropyCategorical1HotGrad()(w, p, labels), -w[:, None] * hot / p),
        (nnet.Prepend_scalar_constant_to_each_row(4.0)(v), np.c_[np.full(3, 4.0), v]),
        (nnet.Prepend_scalar_to_each_row()(5.0, v), np.c_[np.full(3, 5.0), v]),
    ]
    for found, wanted in rows:
        np.testing.assert_allclose(value(found), wanted)
    with pytest.raises(ValueError, match="dimensions"):
        nnet.softmax_with_bias(v, v)


def test_a_flag_has_calls_compare_the_shapes_of_convolutions():
    conv = T.nnet.abstract_conv
    x, w, g = T.tensor4s("x", "w", "g")
    with theano.change_flags([("conv.assert_shape", True)]):
        y = conv.conv2d(x, w, input_shape=(1, 1, 4, None), filter_shape=(2, 1, 3, 3))
        z = conv.conv2d_grad_wrt_inputs(g, w, (1, 1, 4, 4), filter_shape=(2, 1, 3, 3))
    f = theano.function([x, w], y, mode=theano.Mode("py"))
    h = theano.function([g, w], z, mode=theano.Mode("py"))
    image, kernel, top = np.ones((1, 1, 4, 5)), np.ones((2, 1, 3, 3)), np.ones((1, 2, 2, 2))
    assert f(image, kernel).shape == (1, 2, 2, 3) and h(top, kernel).shape == (1, 1, 4, 4)
    with pytest.raises(AssertionError, match="the input"):
        f(np.ones((1, 1, 5, 5)), kernel)
    with pytest.raises(AssertionError, match="the filters"):
        f(image, np.ones((2, 1, 3, 2)))
    with pytest.raises(AssertionError, match="the gradient"):
        h(np.ones((1, 2, 2, 3)), kernel)


@pytest.mark.parametrize("dtype, out", [("int8", "float32"), ("float32", "float32"),
                                        ("int32", "float64"), ("float64", "float64")])  # fmt: skip
def test_the_fast_sigmoid_has_the_dtype_of_sigmoid(dtype, out):
    x = np.array([-9, -4, -1, 0, 1, 2, 100], dtype)
    found = value(T.nnet.ultra_fast_sigmoid(x))
    assert found.dtype == out
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-x.astype("float64"))), atol=0.07)


@pytest.mark.parametrize("linker", ["py", "cvm"])
def test_constants_that_do_not_fit_are_an_error_of_the_call(linker):
    mode = theano.Mode(linker)
    a, b, x = T.constant(np.ones((5, 4))), T.constant(np.ones((6, 7))), T.dvector("x")
    product = T.dot(a, b)
    assert product.ndim == 2 and product.dtype == "float64"
    with pytest.raises(ValueError, match="Shape mismatch.*5, 4"):
        theano.function([], product.sum(), mode=mode)()
    with pytest.raises(ValueError, match="Shape mismatch"):
        theano.function([], theano.grad((product + b).sum(), b), mode=mode)()
    total = a + T.constant(np.ones((5, 3)))
    both = theano.function([x], [x * 2, total[0, 0]], mode=mode)
    with pytest.raises(ValueError, match="Shape mismatch"):
        both([1.0])
    with pytest.raises(TypeError):  # numbers of dimensions are part of the type
        T.batched_dot(a, T.constant(1.0))


@pytest.mark.parametrize("linker", ["py", "cvm"])
def test_windows_that_do_not_tile_an_image(linker):
    mode, x = theano.Mode(linker), T.dtensor4("x")
    image = np.arange(50.0).reshape(2, 1, 5, 5)
    for way in ("valid", "half", "full"):
        f = theano.function([x], T.nnet.neighbours.images2neibs(x, (2, 2), mode=way), mode=mode)
        with pytest.raises(TypeError, match="do not divide"):
            f(image)
        with pytest.raises(ValueError, match="do not divide"):
            f(image)
        known = T.nnet.neighbours.images2neibs(T.constant(image), (2, 2), mode=way)
        with pytest.raises(TypeError, match="do not divide"):
            theano.function([], known, mode=mode)()
    whole = T.nnet.neighbours.images2neibs(x, (2, 2), mode="ignore_borders")
    expected = image[:, :, :4, :4].reshape(2, 2, 2, 2, 2).swapaxes(2, 3).reshape(8, 4)
    np.testing.assert_array_equal(theano.function([x], whole, mode=mode)(image), expected)


def test_an_array_that_is_not_1_where_its_type_says_so():
    x = T.TensorType("float64", (True, False))("x")
    f = theano.function([x], x.sum(), mode=theano.Mode("cvm"))
    assert f(np.ones((1, 3))) == 3
    for kind in (TypeError, ValueError):
        with pytest.raises(kind, match="axis 0"):
            f(np.ones((2, 3)))


def test_reductions_of_bits_and_of_complex_numbers():
    x = T.TensorType("uint8", (False, False))("x")
    a = np.array([[3, 5, 6], [7, 1, 4]], "uint8")
    for name, fn in (("or_", np.bitwise_or), ("and_", np.bitwise_and), ("xor", np.bitwise_xor)):
        op = T.elemwise.CAReduce(getattr(theano.scalar, name), axis=(1,))
        np.testing.assert_array_equal(op(x).eval({x: a}), fn.reduce(a, 1))
        np.testing.assert_array_equal(op(x).eval({x: a[:, :0]}), fn.reduce(a[:, :0], 1))
    z = T.TensorType("complex128", (False, False))("z")
    a = np.array([[1 + 2j, 1 - 3j, 0], [2j, np.nan + 1j, 5]])
    for ours, theirs in ((T.max, np.max), (T.min, np.min)):
        for axis in (None, 0, 1, (0, 1)):
            got = ours(z, axis=axis).eval({z: a})
            expected = theirs(a, axis=axis)
            np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
            np.testing.assert_array_equal(got[~np.isnan(got)], expected[~np.isnan(expected)])


def test_draws_by_a_function_of_ones_own():
    from ckernels.compat.theano.tensor.raw_random import (
        RandomFunction,
        permutation_helper,
        poisson,
        random_state_type,
        uniform,
    )

    def halves(state, low, size):
        return state.randint(2, size=size) / 2 + low

    rng = random_state_type()
    for fn, args in (("uniform", (0.0, 2.0)), (np.random.RandomState.normal, (1.0, 2.0)),
                     (halves, (3.0,))):  # fmt: skip
        new, out = RandomFunction(fn, T.dmatrix)(rng, (3, 2), *args)
        assert out.type == T.dmatrix
        state, got = theano.function([rng], [new, out])(np.random.RandomState(7))
        expected = np.random.RandomState(7)
        draw = getattr(np.random.RandomState, fn) if isinstance(fn, str) else fn
        np.testing.assert_array_equal(got, draw(expected, *args, (3, 2)))
        assert state.rand() == expected.rand()
    rows = RandomFunction(permutation_helper, T.imatrix, ndim_added=1)(rng, (4,), 5)[1]
    got = theano.function([rng], rows)(np.random.RandomState(7))
    expected = np.random.RandomState(7)
    np.testing.assert_array_equal(got, [expected.permutation(5) for _ in range(4)])
    wrong = RandomFunction("uniform", T.dvector, ndim_added=-1)(rng, (4, 2), 0.0, 1.0)[1]
    with pytest.raises(ValueError, match="dimensions"):
        theano.function([rng], wrong)(np.random.RandomState(7))
    low, high = T.TensorType("float64", (False, True))(), T.TensorType("float64", (True,) * 3)()
    assert uniform(rng, low=low, high=high)[1].broadcastable == (True, False, True)
    with pytest.raises(TypeError, match="needs a size"):
        poisson(rng, ndim=2)


def test_integers_divided_as_the_flag_says():
    x, y = T.lscalars("x", "y")
    with theano.change_flags(int_division="raise"):
        with pytest.raises(theano.scalar.IntegerDivisionError, match="int64"):
            T.div_proxy(x, y)
        assert T.div_proxy(x, 2.0).dtype == "float64"
    with theano.change_flags(int_division="floatX"):
        assert T.div_proxy(x, y).eval({x: 7, y: 2}) == 3.5
    assert T.div_proxy(x, y).eval({x: 7, y: 2}) == 3


def test_states_of_loops_that_start_as_python_numbers():
    x = T.ivector("x")
    for start, dtype in ((0, "int32"), (0.0, "float64")):
        total, _ = theano.scan(lambda a, before: before + a, sequences=x, outputs_info=start)
        assert total.dtype == dtype
        assert total.eval({x: [1, 2, 1000]}).tolist() == [1, 3, 1003]
    with pytest.raises(ValueError, match="int8"):  # an array has the dtype that it has
        theano.scan(lambda a, b: b + a, sequences=x, outputs_info=np.int8(0))
    with pytest.raises(RuntimeError, match="taps"):
        theano.scan_checkpoints(lambda a: a, [], {"initial": x, "taps": [-2]})
    assert T.constant(0, dtype="floatX").dtype == theano.config.floatX


def test_numbers_that_conditions_and_sizes_make():
    c, x = T.constant(2), T.dscalar("x")
    assert T.get_scalar_constant_value(Assert()(c, c > 1)) == 2
    for condition in (c > 2, c > x):
        with pytest.raises(T.NotScalarConstantError):
            T.get_scalar_constant_value(Assert()(c, condition))
    size = T.scalar_from_tensor(T.constant(np.ones((3, 4))).shape[1])
    assert T.get_scalar_constant_value(size) == 4


def test_draws_of_an_mrg_state():
    from ckernels.compat.theano.sandbox import rng_mrg

    state = np.array([12345] * 6, "int32")
    streams = rng_mrg.MRG_RandomStreams(12345)
    states = theano.shared(np.array([state, rng_mrg.ff_2p72(state)]))
    np.testing.assert_array_equal(states.get_value(), streams.get_substream_rstates(2))
    np.testing.assert_array_equal(rng_mrg.ff_2p134(state), streams.rstate)
    new, drawn = rng_mrg.mrg_uniform.new(states, None, "float64", (2,))
    assert drawn.type == T.dvector
    first = theano.function([], drawn, updates={states: new})
    expected = theano.function([], rng_mrg.MRG_RandomStreams(12345).uniform((2,), dtype="float64"))
    for _ in range(2):
        np.testing.assert_array_equal(first(), expected())
    a, s = np.full((3, 3), 2**31 - 5, "int64"), np.array([2**31 - 9, 1, 2], "int32")
    exact = [sum(int(p) * int(q) for p, q in zip(row, s)) % (2**31 - 1) for row in a]
    assert rng_mrg.matVecModM(a, s, 2**31 - 1).tolist() == exact


def test_kernels_of_interpolation_by_a_variable():
    ratio = T.iscalar("ratio")
    for normalize in (False, True):
        f = theano.function([ratio], T.nnet.abstract_conv.bilinear_kernel_1D(ratio, normalize))
        for r in (2, 5):
            line = r - np.abs(np.arange(1 - r, r))
            np.testing.assert_allclose(f(r), line / (r if normalize else 1))
    for wrong in (T.lvector(), T.constant([1, 1, 2, 2]), (1, 1, T.lscalar(), 2)):
        with pytest.raises(ValueError, match="imshp"):
            T.nnet.abstract_conv.AbstractConv2d(imshp=wrong)
    assert T.nnet.abstract_conv.AbstractConv2d(kshp=(1, T.constant(3), None, 2)).kshp == (
        1,
        3,
        None,
        2,
    )


def test_diagonals_as_views():
    from ckernels.compat.theano.tensor.nnet.conv3d2d import get_diagonal_subtensor_view

    x = np.arange(60.0).reshape(5, 3, 4)
    view = get_diagonal_subtensor_view(x, 0, 1)
    assert view.shape == (3, 3, 4) and np.shares_memory(view, x)
    for a in range(3):
        for b in range(3):
            np.testing.assert_array_equal(view[a, b], x[a + 2 - b, b])
    with pytest.raises(NotImplementedError):
        get_diagonal_subtensor_view(x, 1, 2)


def test_the_gradient_of_batch_normalization_as_an_op():
    x, dy, g = T.dmatrix("x"), T.dmatrix("dy"), T.drow("g")
    out, mean, inv = T.nnet.bn.batch_normalization_train(x, g, T.zeros_like(g))
    expected = theano.grad(None, [x, g], known_grads={out: dy})
    op = T.nnet.bn.AbstractBatchNormTrainGrad((0,))(x, dy, g, mean, inv)
    rng = np.random.RandomState(3)
    point = [rng.randn(5, 3), rng.randn(5, 3), rng.randn(1, 3)]
    *found, bias = theano.function([x, dy, g], [*expected, *op])(*point)
    for ours, theirs in zip(found[2:], found[:2]):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(bias, point[1].sum(0, keepdims=True))


def test_variables_are_mapped_through_inner_graphs():
    from ckernels.compat.theano.scan_module.scan_utils import map_variables

    def replaced(v):
        return getattr(v.tag, "other", v)

    x, outer = T.dvector("x"), T.dscalar("outer")
    shared = theano.shared(1.0)

    def step(a, before):
        new = before + a
        new.tag.other = outer * (before - a) * shared
        return new

    total, _ = theano.scan(step, sequences=x, outputs_info=0.0)
    (other,) = map_variables(replaced, [total * 2])
    f = theano.function([x, outer], [total, other])
    np.testing.assert_array_equal(f([1, 2, 3], 1.0), [[1, 3, 6], [-2, -6, -12]])
    a, b = T.dscalars("a", "b")
    inner = a + b
    inner.tag.other = outer * (a - b)
    (made,) = map_variables(replaced, [theano.OpFromGraph([a, b], [inner])(x[0], x[1]) * 2])
    assert float(made.eval({x: [5.0, 3.0], outer: 3.0})) == 12
    shared.default_update = shared + 1
    with pytest.raises(NotImplementedError, match="update"):
        map_variables(replaced, [total])
    same = map_variables(lambda v: v, [total])
    assert same == [total]


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_labels_below_zero_do_not_count_from_the_end(dtype):
    x, y = T.dmatrix("x"), T.vector("y", dtype=dtype)
    a = np.random.default_rng(0).random((3, 4))
    p = np.exp(a) / np.exp(a).sum(1, keepdims=True)
    for loss in (
        T.nnet.categorical_crossentropy(T.nnet.softmax(x), y),
        T.nnet.crossentropy_softmax_1hot(x, y)[0],
    ):
        f = theano.function([x, y], [loss, T.grad(loss.sum(), x)])
        found, slope = f(a, np.array([3, 0, 1], dtype))
        np.testing.assert_allclose(found, -np.log(p[range(3), [3, 0, 1]]), rtol=1e-12)
        np.testing.assert_allclose(slope, p - np.eye(4)[[3, 0, 1]], rtol=1e-12)
        for wrong in (-1, -4, 4):
            with pytest.raises(IndexError, match="none of the 4 classes"):
                f(a, np.array([3, 0, wrong], dtype))


def test_products_modulo_of_integers_beyond_the_dtype():
    from ckernels.compat.theano.sandbox import rng_mrg

    kinds = (T.lmatrix, T.ivector, T.iscalar) * 2
    given = [k() for k in kinds]
    f = theano.function(given, rng_mrg.DotModulo()(*given))
    r = np.random.RandomState(2)
    top = np.iinfo("int32").max
    values = [r.randint(0, top, (2, 3)), r.randint(0, top, 3), r.randint(2, top)]
    values += [r.randint(0, top, (1, 3)), r.randint(0, top, 3), 7]
    typed = [np.asarray(v, x.dtype) for v, x in zip(values, given)]
    want = []
    for a, s, m in (values[:3], values[3:]):
        want += [sum(int(p) * int(q) for p, q in zip(row, s)) % int(m) for row in a]
    found = f(*typed)
    assert found.dtype == "int32" and found.tolist() == want
    with pytest.raises(TypeError, match="a matrix, a vector and a scalar"):
        rng_mrg.DotModulo()(*reversed(given))
