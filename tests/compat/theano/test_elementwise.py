"""Elementwise functions of theano.tensor by the names it documents, beside NumPy over dtypes and
signs; what the flag of division means."""

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T

F = np.array([-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5, 7.25])
I = np.array([-7, -3, -1, 0, 1, 2, 5, 9])  # noqa: E741
J = np.array([2, -2, 3, 5, -4, 1, -3, 4])
NAN = np.array([np.nan, np.inf, -np.inf, 1.0, 1.0 + 1e-9, np.nan, 3.0, 0.0])
OTHER = np.array([np.nan, np.inf, np.inf, 1.0, 1.0, 2.0, 3.1, 1e-9])


def away(x):
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


UNARY = {
    "round": (lambda x: T.round(x, "half_away_from_zero"), away, F),
    "round to even": (lambda x: T.round(x, "half_to_even"), np.round, F),
    "iround": (lambda x: T.iround(x, "half_away_from_zero"),
               lambda x: away(x).astype("int64"), F),
    "square": (T.square, np.square, F),
    "abs_sqr": (T.basic.abs_sqr, np.square, F),
    "sign": (T.basic.sign, np.sign, F),
    "inverse": (T.basic.inverse, lambda x: 1 / x, F[F != 0]),
    "conjugate": (T.conjugate, np.conjugate, F + 1j),
    "bitwise_not": (T.bitwise_not, np.bitwise_not, I),
    "where": (lambda x: T.where(x)[0], lambda x: np.where(x)[0], I),
    "cast": (lambda x: T.cast(x, "int8"), lambda x: x.astype("int8"), F),
    "cast to what it is": (lambda x: T.cast(x, "float64"), lambda x: x, F),
}  # fmt: skip
BINARY = {
    "fill": (T.fill, lambda a, b: np.full_like(a, b[0]), (F, F[:1])),
    "power": (T.basic.power, np.power, (np.abs(F), F)),
    "divide": (T.basic.divide, np.true_divide, (F, J)),
    "floor_div": (T.basic.floor_div, np.floor_divide, (I, J)),
    "floor_div of floats": (T.basic.floor_div, np.floor_divide, (F, J)),
    "mod": (lambda a, b: a % b, np.mod, (I, J)),
    "mod of floats": (lambda a, b: a % b, np.mod, (F, J)),
    "divmod": (lambda a, b: T.stack(list(T.basic.divmod(a, b))),
               lambda a, b: np.stack(np.divmod(a, b)), (I, J)),
    "ceil_intdiv": (T.basic.ceil_intdiv, lambda a, b: -(-a // b), (I, J)),
    "bitwise_and": (T.bitwise_and, np.bitwise_and, (I, J)),
    "bitwise_or": (T.bitwise_or, np.bitwise_or, (I, J)),
    "bitwise_xor": (T.bitwise_xor, np.bitwise_xor, (I, J)),
    "where": (lambda a, b: T.where(a > b, a, b), np.maximum, (I, J)),
    "isclose": (T.isclose, np.isclose, (NAN, OTHER)),
    "isclose with NaN": (lambda a, b: T.isclose(a, b, equal_nan=True),
                         lambda a, b: np.isclose(a, b, equal_nan=True), (NAN, OTHER)),
    "isclose by far": (lambda a, b: T.isclose(a, b, 0.1, 0.0),
                       lambda a, b: np.isclose(a, b, 0.1, 0.0), (NAN, OTHER)),
    "isclose of integers": (lambda a, b: T.isclose(a, b, 0.0, 3.0),
                            lambda a, b: np.isclose(a, b, 0.0, 3.0), (I, J)),
    "allclose": (T.allclose, np.allclose, (NAN, OTHER)),
    "allclose of equal ones": (T.allclose, np.allclose, (F, F)),
    "default": (T.basic.default, lambda a, b: a, (F, F + 1)),
}  # fmt: skip


def function(build, *arrays):
    xs = [T.TensorType(a.dtype.name, (False,) * a.ndim)() for a in arrays]
    return theano.function(xs, build(*xs), on_unused_input="ignore")


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", UNARY)
def test_of_one(name):
    build, want, x = UNARY[name]
    f = function(build, x)
    for values in (x, x[:0], x[::-2]):
        np.testing.assert_array_equal(f(values), want(values))


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", BINARY)
def test_of_two(name):
    build, want, arrays = BINARY[name]
    got, wanted = function(build, *arrays)(*arrays), want(*arrays)
    np.testing.assert_allclose(got, wanted, rtol=1e-15)
    assert np.shape(got) == np.shape(wanted)


def test_a_cast_to_what_it_is_is_it():
    x = T.dvector("x")
    assert T.cast(x, "float64") is x and T.cast(x, "float32") is not x
    with pytest.raises(Exception, match="half_away_from_zero and half_to_even, not 'up'"):
        T.round(x, "up")


@pytest.mark.parametrize("how, dtype", [("int", "int64"), ("floatX", theano.config.floatX)])
def test_the_flag_of_division(how, dtype):
    a, b = T.lvectors("ab")
    with theano.config.change_flags(int_division=how):
        y = T.basic.div_proxy(a, b)
    got = theano.function([a, b], y)(I, J)
    np.testing.assert_allclose(got, I // J if how == "int" else I / J, rtol=1e-7)
    assert T.basic.div_proxy(T.dvector(), b).dtype == "float64"


def test_division_of_integers_that_is_an_error():
    a, b = T.lvectors("ab")
    with theano.config.change_flags(int_division="raise"):
        for divide in (lambda: a / b, lambda: T.basic.div_proxy(a, b)):
            with pytest.raises(theano.scalar.IntegerDivisionError, match="write // or true_div"):
                divide()
        assert (T.dvector() / b).dtype == "float64" and (a // b).dtype == "int64"


def test_incomplete_gamma_functions():
    """By mpmath: the regularised ones, P and Q of k and x, and those that are not."""
    mpmath = pytest.importorskip("mpmath")
    k, x = np.array([0.5, 1.0, 2.5, 10.0, 3.0]), np.array([0.1, 1.0, 7.5, 3.0, 0.0])
    inside = np.array([float(mpmath.gammainc(a, 0, b)) for a, b in zip(k, x)])
    above = np.array([float(mpmath.gammainc(a, b)) for a, b in zip(k, x)])
    whole = np.array([float(mpmath.gamma(a)) for a in k])
    for build, want in ((T.gammal, inside), (T.gammau, above), (T.gammainc, inside / whole),
                        (T.gammaincc, above / whole)):  # fmt: skip
        np.testing.assert_allclose(function(build, k, x)(k, x), want, rtol=1e-13)
        found = function(build, k, x.astype("float32"))(k, x.astype("float32"))
        assert found.dtype == "float64"
        np.testing.assert_allclose(found, want, rtol=1e-6)
        theano.gradient.verify_grad(lambda v, b=build: b(k[:3], v), [x[:3]], rng=np.random)
    one, two = T.iscalars("ab")
    assert T.gammainc(one, two).dtype == "float64"
