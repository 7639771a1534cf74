"""Direct: arrays of one dtype go to the ufunc, all other calls, and those that it refuses, to
`other` as they are."""

import contextvars
import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

runtime = pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
F4, F8, I4 = (np.dtype(d) for d in ("float32", "float64", "int32"))


def bits(*dtypes):
    return sum(1 << d.num for d in dtypes)


def other(*args, **kwargs):
    return "other", args, kwargs


def quiet():
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    return context


ADD = runtime.Direct(np.add, other, bits(F4, I4), bits(F8), 2, None, True)
X, N = np.arange(6, dtype=F4).reshape(2, 3), np.arange(6, dtype=I4)


@pytest.mark.parametrize("x", [X, X.T, X[::-1, ::2], X[:0], np.array(2, F4), N])
def test_arrays_of_one_dtype(x):
    found = ADD(x, x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, x + x)


@pytest.mark.parametrize("number", [2, 2.5])
def test_python_numbers_beside_floats(number):
    for found in ADD(X, number), ADD(number, X):
        assert found.dtype == F4
        np.testing.assert_array_equal(found, X + F4.type(number))
    np.testing.assert_array_equal(ADD(N, 2), N + 2)


class Own(np.ndarray):
    pass


@pytest.mark.parametrize(
    "args",
    [
        (X, N[:3]), (X, True), (True, X), (N, 2.0), (X, None), (1, 2), (X.view(Own), X), (X,), (),
        (X, X, X), (X, X.tolist()), (X, X[0, 0]), (X.astype("float16"),) * 2, (N > 2, N > 2),
        (X.astype(">f4"),) * 2, (np.zeros(2049), 1.0), (np.zeros(2049), np.zeros(2049)),
    ],
)  # fmt: skip
def test_other_calls(args):
    name, given, kwargs = ADD(*args)
    assert (name, kwargs) == ("other", {})
    assert len(given) == len(args) and all(a is b for a, b in zip(given, args))
    assert ADD(*args, axis=1)[2] == {"axis": 1}


def test_few_of_a_dtype_go_directly():
    np.testing.assert_array_equal(ADD(np.ones(2048), 1.0), np.full(2048, 2.0))


def test_ints_beside_ints_only_where_they_are_weak():
    strict = runtime.Direct(np.add, other, bits(I4), 0, 2, None, False)
    assert strict(N, 2)[0] == "other"
    np.testing.assert_array_equal(strict(N, N), 2 * N)


def test_the_array_itself():
    same = runtime.Direct(None, other, bits(F4), 0, 1, None, False)
    assert same(X) is X
    assert same(N)[0] == "other" and same(X, dtype="int32")[2] == {"dtype": "int32"}
    for wrong in (None, 2), (np.add, 3), (np.add, 0):
        with pytest.raises(ValueError, match="one array or two"):
            runtime.Direct(wrong[0], other, 0, 0, wrong[1], None, False)


def test_what_the_ufunc_refuses_goes_to_the_other():
    """Errors that it raises are the caller's, as those that are no errors of the program's."""

    def interrupted(*args):
        raise KeyboardInterrupt

    five = np.ones(5, F4)
    for silent in (None, quiet()):
        add = runtime.Direct(np.add, other, bits(F4), 0, 2, silent, True)
        name, args, kwargs = add(X, five)
        assert name == "other" and args[0] is X and args[1] is five and not kwargs
        np.testing.assert_array_equal(add(X, X), X + X)
        behind = runtime.Direct(np.add, np.add, bits(F4), 0, 2, silent, True)
        with pytest.raises(ValueError, match="broadcast"):
            behind(X, five)
        np.testing.assert_array_equal(behind(X, X), X + X)
        with pytest.raises(KeyboardInterrupt):
            runtime.Direct(interrupted, other, bits(F4), 0, 2, silent, True)(X, X)


@pytest.mark.skipif(np.__version__.startswith("1."), reason="errors are a setting of the thread")
def test_silence_in_several_threads():
    divide = runtime.Direct(np.divide, other, bits(F4), 0, 2, quiet(), True)
    one, none = np.ones(200_000, F4), np.zeros(200_000, F4)
    found = []

    def turns():
        for _ in range(20):
            found.append(bool(np.isinf(divide(one, none)).all()))

    threads = [threading.Thread(target=turns) for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with pytest.raises(RuntimeWarning):
            np.divide(one, none)
    assert found == [True] * 60


class Function:
    """One that its Direct is known to."""

    def __call__(self, x):
        return x


def test_names_and_garbage():
    function = Function()
    made = runtime.Direct(np.negative, function, bits(F4), 0, 1, None, False)
    made.__name__, made.__doc__, function.made = "negative", "Its words.", made
    assert (made.__name__, made.__doc__) == ("negative", "Its words.")
    gone = weakref.ref(function)
    del made, function
    gc.collect()
    assert gone() is None
