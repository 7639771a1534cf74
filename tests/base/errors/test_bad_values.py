"""Values that no function takes: each is refused with one sentence of a class of ours, by name."""

import operator
import warnings

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import (
    ArgumentError,
    CKernelsError,
    CKernelsWarning,
    DTypeError,
    LinearAlgebraError,
    OutOfMemory,
    ShapeError,
    UsageError,
)

MODES = ("compiled", "reference")
MASKED = np.ma.masked_array([1.0, 2, 3], mask=[0, 1, 0])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "build",
    [
        lambda n: K.random_uniform((n, 2)),
        lambda n: K.random_normal((n, 2)),
        lambda n: K.random_binomial((2, n)),
        lambda n: K.truncated_normal((n,)),
        lambda n: K.random_uniform((n,), 0, 5, dtype="int32"),
        lambda n: K.ones((n,)),
        lambda n: K.RandomStreams(1).uniform((n, 2)),
        lambda n: K.reshape(K.ones((6,)), (n, 2)),
    ],
)
def test_negative_sizes_that_a_call_brings(build, mode):
    n = K.placeholder((), dtype="int32")
    f = K.function([n], build(n), mode=mode)
    f(3)
    with pytest.raises(ShapeError, match="-3") as caught:
        f(-3)
    assert caught.value.made[0] == __file__


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: K.eye(-2), ShapeError, "0 rows or more, not of -2"),
        (lambda: K.placeholder(ndim=-1), ArgumentError, "ndim of 0 to 32, got -1"),
        (lambda: K.placeholder(ndim=33), ArgumentError, "ndim of 0 to 32, got 33"),
        (lambda: K.placeholder((1,) * 33), ShapeError, "at most 32 dimensions"),
        (lambda: K.cast(K.ones((2,)), None), DTypeError, "the dtype to cast to"),
        (lambda: K.one_hot([0, 1], -3), ArgumentError, "num_classes of 0 or more, got -3"),
        (lambda: K.constant(10**30, "int64"), DTypeError, "a Python int of 31 digits"),
        (lambda: K.variable([1, 10**30]), DTypeError, "a Python int of 31 digits"),
        (lambda: K.constant([1, None]), DTypeError, "Python objects"),
    ],
)
def test_at_once(make, error, words):
    with pytest.raises(error, match=words) as caught:
        make()
    assert caught.value.line[0] == __file__


def test_edges_that_are_fine():
    assert K.eval(K.eye(0)).shape == (0, 0) and K.eval(K.one_hot([1], 0)).shape == (1, 0)
    x = K.placeholder(ndim=32)
    assert K.function([x], x + 1)(np.ones((1,) * 32)).ndim == 32
    assert K.eval(K.constant(2**62, "int64")) == 2**62


# ---- masked arrays ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        K.constant,
        K.variable,
        lambda m: K.placeholder((3,)) + m,
        lambda m: m * K.ones((3,)),
        lambda m: K.set_value(K.ones((3,)), m),
        lambda m: K.concatenate([K.ones((3,)), m]),
        lambda m: K.ones((3,))[m.astype(int)],
        lambda m: K.ones((2, 3))[:, m > 0],
        lambda m: K.variable([m, [1, 2, 3]]),
    ],
)
def test_masked_arrays(use):
    with pytest.raises(CKernelsError, match="mask|symbolic"):
        use(MASKED)


@pytest.mark.parametrize("mode", MODES)
def test_masked_arrays_in_calls(mode):
    x = K.placeholder((None,), name="x")
    f = K.function([x], x + 1, mode=mode)
    with pytest.raises(ArgumentError, match="x got a masked array with 1 of its 3 elements"):
        f(MASKED)
    np.testing.assert_array_equal(f(np.ma.masked_array([1.0, 2])), [2, 3])  # nothing is masked


# ---- NumPy's functions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, instead",
    [
        (np.sin, "K.sin"),
        (np.dot, "K.dot"),
        (np.arcsinh, "K."),
        (np.linalg.norm, "a function of K"),
        (np.maximum.reduce, "a function of K"),
        (lambda x: np.concatenate([x, x]), "K.concatenate"),
        (lambda x: np.where(x, x, x), "K.where"),
        (lambda x: np.sin(np.ones(3), out=x), "K.sin"),
        (lambda x: np.add(x, x, where=True), "np.add"),
    ],
)
def test_functions_of_numpy(call, instead):
    x = K.placeholder((3,))
    with pytest.raises(UsageError, match=instead):
        call(x, x) if call is np.dot else call(x)


def test_arithmetic_with_arrays_makes_graphs():
    x, whole = K.placeholder((3,)), K.placeholder((3,), dtype="int32")
    a, b = np.array([1, 2, 3], "float32"), np.array([4, 1, 2], "int32")
    names = "add sub mul truediv floordiv mod pow lt le gt ge matmul and_ or_ xor lshift rshift"
    for name in names.split():
        op = getattr(operator, name)
        tensor, array = (whole, b) if name[-1] in "_t" and name not in ("lt", "gt") else (x, a)
        if name == "xor":
            tensor, array = whole, b
        for left in (False, True):
            made = op(array, tensor) if left else op(tensor, array)
            assert K.is_tensor(made), name
            value = np.array([2, 2, 1], array.dtype)
            want = op(array, value) if left else op(value, array)
            np.testing.assert_allclose(K.function([tensor], made)(value), want, rtol=1e-6)
    assert K.dtype(np.float64(2) * x) == "float32" and K.dtype(np.float32(2) + x) == "float32"
    assert not (a == x) and a != x and K.is_tensor(a == x)  # the truth is that of identity
    assert K.is_tensor(np.add(x, a)) and K.is_tensor(np.sum(x)) and np.ndim(x) == 1
    with pytest.raises(UsageError):
        a += x


# ---- functions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_linear_algebra_inside_a_call(mode):
    x = K.placeholder((None, None))
    for build in (K.inverse, lambda a: K.solve(a, a)):
        f = K.function([x], build(x), mode=mode)
        with pytest.raises(LinearAlgebraError, match="Singular matrix") as caught:
            f(np.zeros((2, 2)))
        assert caught.value.made[0] == __file__ and isinstance(caught.value, np.linalg.LinAlgError)


@pytest.mark.parametrize("mode", MODES)
def test_no_memory_inside_a_call(mode):
    x = K.placeholder((None,))
    f = K.function([x], [K.sum(x), x[:, None] * x[None, :]], mode=mode)
    with pytest.raises(OutOfMemory, match="ran out of memory|Unable to allocate") as caught:
        f(np.ones(10**7, "float32"))  # 400 TB
    assert isinstance(caught.value, MemoryError) and caught.value.line[0] == __file__
    np.testing.assert_array_equal(f(np.ones(2))[1], np.ones((2, 2)))


# ---- cross-entropies ----------------------------------------------------------------------------


LOSSES = (K.categorical_crossentropy, K.binary_crossentropy)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("activation", [K.softmax, K.sigmoid])
def test_operands_of_a_crossentropy_the_other_way_round(loss, activation):
    x, t = K.placeholder((None, 3)), K.placeholder((None, 3))
    for swapped in (activation(x), K.reshape(activation(x), (-1, 3))):
        with pytest.warns(CKernelsWarning, match=r"takes \(output, target\)") as caught:
            loss(t, swapped)
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss(activation(x), t)  # as documented
        loss(activation(x), activation(t))  # which is which cannot be told
        loss(t, K.stop_gradient(activation(x)))  # meant so
        loss(t, x)


def test_sparse_classes_the_other_way_round():
    x, t = K.placeholder((None, 3)), K.placeholder((None,))
    with pytest.warns(CKernelsWarning, match="sparse_categorical_crossentropy takes"):
        try:
            K.sparse_categorical_crossentropy(t, K.softmax(x))
        except CKernelsError:
            pass  # the shapes do not fit either
