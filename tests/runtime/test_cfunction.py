"""C functions: C function pointers to plans, by ctypes and SciPy, from many threads."""

import ctypes
import threading

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import ArgumentError, NotSupported, ShapeError

NUMBER = "double (double, void *)"
NUMBERS = "double (int, double *, void *)"
FILTER = "int (double *, intptr_t, double *, void *)"
POINTERS = "int64_t (void **, void **, void *)"
LOGP = "int64_t (uint64_t, double *, double *, double *, void *)"


def scalar(name="x"):
    return K.placeholder((), dtype="float64", name=name)


def vector(n, name="v"):
    return K.placeholder((n,), dtype="float64", name=name)


def at(array):
    return array.ctypes.data


@pytest.fixture(scope="module")
def wave():
    x = scalar()
    return K.function([x], K.exp(-x * x) * K.cos(x))


def test_a_function_of_a_number(wave):
    entry = wave.address(NUMBER)
    f = entry.ctypes()
    for x in (-1.5, 0.0, 2.25):
        assert f(x, entry.user_data) == wave(x)


def test_quad_calls_it_without_python(wave):
    integrate = pytest.importorskip("scipy.integrate")
    raw = integrate.quad(wave.address(NUMBER).scipy(), 0, 2)
    plain = integrate.quad(lambda x: float(wave(x)), 0, 2)
    assert raw == plain


def test_nquad_with_numbers_one_by_one_and_as_a_vector():
    integrate = pytest.importorskip("scipy.integrate")
    x, y, v = scalar(), scalar("y"), vector(2)
    by_one = K.function([x, y], x * y * y).address(NUMBERS)
    whole = K.function([v], v[0] * v[1] * v[1]).address(NUMBERS)
    for entry in (by_one, whole):
        value, _ = integrate.nquad(entry.scipy(), [[0, 1], [0, 2]])
        assert value == pytest.approx(4 / 3)
        assert np.isnan(entry.ctypes()(3, at(np.zeros(3)), entry.user_data))  # of another size


def test_ndimage_filter():
    ndimage = pytest.importorskip("scipy.ndimage")
    v = vector(9)
    entry = K.function([v], K.max(v) - K.mean(v)).address(FILTER)
    image = np.random.default_rng(0).normal(size=(20, 30))
    raw = ndimage.generic_filter(image, entry.scipy(), size=3)
    plain = ndimage.generic_filter(image, lambda w: w.max() - w.mean(), size=3)
    np.testing.assert_allclose(raw, plain, atol=1e-13)


def test_pointers_of_any_dtype_and_bound_inputs():
    a = K.placeholder((None, 3), dtype="float32", name="a")
    b = K.placeholder((3,), dtype="float32", name="b")
    entry = K.function([a, b], [K.dot(a, K.reshape(b, (3, 1))), a + b]).address(
        POINTERS, np.zeros((4, 3), "float32"), bound={"b": np.array([1, 2, 3], "float32")}
    )
    given = np.arange(12, dtype="float32").reshape(4, 3)
    product, total = np.empty((4, 1), "float32"), np.empty((4, 3), "float32")
    ins = (ctypes.c_void_p * 1)(at(given))
    outs = (ctypes.c_void_p * 2)(at(product), at(total))
    assert entry.ctypes()(ctypes.addressof(ins), ctypes.addressof(outs), entry.user_data) == 0
    np.testing.assert_array_equal(product[:, 0], given @ [1, 2, 3])
    np.testing.assert_array_equal(total, given + [1, 2, 3])


def test_a_log_density_with_its_gradient_and_a_scan_inside():
    v = vector(4)
    states, _ = K.scan(
        lambda x, h: K.tanh(x + 0.5 * h), sequences=v, outputs_info=K.constant(0.0, dtype="float64")
    )
    value = K.sum(states * states)
    f = K.function([v], [value, K.gradients(value, [v])[0]])
    entry = f.address(LOGP)
    x, slope, logp = np.array([0.1, -0.5, 2.0, 1.0]), np.empty(4), np.empty(())
    assert entry.ctypes()(4, at(x), at(slope), at(logp), entry.user_data) == 0
    np.testing.assert_array_equal(logp, f(x)[0])
    np.testing.assert_array_equal(slope, f(x)[1])
    assert entry.ctypes()(5, at(x), at(slope), at(logp), entry.user_data) == 1
    x[0] = np.nan
    assert entry.ctypes()(4, at(x), at(slope), at(logp), entry.user_data) == 4


def test_variables_keep_the_values_they_had():
    x, w = scalar(), K.variable(np.float64(3.0), dtype="float64")
    entry = K.function([x], x * w).address(NUMBER)
    K.set_value(w, 5.0)
    assert entry.ctypes()(2.0, entry.user_data) == 6.0


def test_many_threads_at_once(wave):
    entry, wrong = wave.address(NUMBER), []
    f = entry.ctypes()
    want = {x: float(wave(x)) for x in np.linspace(-2, 2, 8)}

    def work(x):
        wrong.extend(x for _ in range(2000) if f(x, entry.user_data) != want[x])

    threads = [threading.Thread(target=work, args=(x,)) for x in want]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_bad_input():
    x, v, n = scalar(), vector(None), K.placeholder((), dtype="float32", name="n")
    with pytest.raises(ArgumentError, match="there is no C function of the signature"):
        K.function([x], x * x).address("float (float)")
    with pytest.raises(ShapeError, match="fixed shapes"):
        K.function([v], K.sum(v)).address(NUMBERS)
    with pytest.raises(ArgumentError, match="one of doubles; n"):
        K.function([n], n * n).address(NUMBER)
    with pytest.raises(ArgumentError, match="has 1 result, the function 2"):
        K.function([x], [x, x * x]).address(NUMBER)
    with pytest.raises(ArgumentError, match="bind the others"):
        K.function([x, v], x + K.sum(v)).address(NUMBER, 0.0, np.zeros(2))
    with pytest.raises(ArgumentError, match="bound names the input 'z'"):
        K.function([x], x * x).address(NUMBER, bound={"z": 1.0})


def test_what_calls_python_or_updates_has_no_entry():
    x, w = scalar(), K.variable(np.float64(0.0), dtype="float64")
    with pytest.raises(NotSupported, match="calls Python"):
        K.function([x], K.print_tensor(x) * 2).address(NUMBER)
    with pytest.raises(NotSupported, match="updates variables"):
        K.function([x], x * 2, updates=[(w, w + x)]).address(NUMBER)


def test_the_runtime_takes_whole_arrays_of_the_dtype_alone():
    """Pointers know no strides: whoever makes an entry hands over contiguous arrays."""
    from ckernels._runtime import CFunction

    x = K.placeholder((None, 3), dtype="float64", name="x")
    f = K.function([x], x * 2)
    good = np.ones((4, 3))
    f(good)
    fast = f.address(POINTERS, good).function
    CFunction(fast, (good,), (0,))
    bad = [
        np.ones((4, 6))[:, ::2], np.asfortranarray(good), np.ones((4, 3), "float32"), np.ones(3),
        good.view(type("Sub", (np.ndarray,), {})), [[1.0] * 3],
    ]  # fmt: skip
    for array in bad:
        with pytest.raises(TypeError, match="input 0 must be a contiguous array of its dtype"):
            CFunction(fast, (array,), (0,))
    with pytest.raises(TypeError, match="input 0 must be"):
        CFunction(fast, (), (0,))
