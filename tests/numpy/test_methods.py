"""Functions of NumPy that store into their operand, or call others on its parts."""

import operator

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.errors import NotSupported
from ckernels.numpy import late
from ckernels.numpy.owner import Owner
from ckernels.numpy.value import ArrayValue
from ckernels.ops import reference

X = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]])


def run(function, *args):
    """function(a traced X, *args): (result, what X became)."""
    node, _ = late.leaf(X)
    value = ArrayValue(Owner(), node, False, True)
    found = function(value, *args)
    found = value if found is None else found
    return [reference.evaluate([v.read()], {node: X})[0] for v in (found, value)]


@pytest.mark.parametrize("function, args", [
    (np.putmask, (X > 0, 7)), (np.putmask, (X > 0, X * 2)), (np.place, (X < 0, [0.5])),
    (np.place, (X > 0, [1, 2])), (np.putmask, (X > 0, [1.0, 2.0])), (np.place, (X < -99, [1, 2])),
    (np.put, ([0, -1], 9.0)), (np.put, ([1, 2], [3.0, 4.0])), (np.fill_diagonal, (8.0,)),
    (np.put_along_axis, (np.array([[0], [2]]), 5.0, 1)), (np.copyto, (1.5,)),
    (np.put_along_axis, (np.array([[1, 0, -1]]), [[7.0, 8.0, 9.0]], 0)),
    (np.put_along_axis, (np.argsort(X, 1), X * 2, -1)),
])  # fmt: skip
def test_stores_are_numpys(function, args):
    want = X.copy()
    function(want, *args)
    for got in run(function, *args):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("indices, problem", [(np.array([0, 1]), ValueError),
                                              (np.array([[0.0], [1.0]]), IndexError),
                                              (np.array([[0], [3]]), IndexError)])  # fmt: skip
def test_indices_along_an_axis_that_numpy_refuses(indices, problem):
    for call in (lambda: np.put_along_axis(X.copy(), indices, 5.0, 1),
                 lambda: run(np.put_along_axis, indices, 5.0, 1)):  # fmt: skip
        with pytest.raises(problem):
            call()


CALLS = {
    **dict.fromkeys(("sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "mean", "std",
                     "var", "cumsum", "cumprod", "argsort"), [(), (0,), (1,)]),
    "dot": [(X.T,)], "trace": [(), (1,), (0, 1, 0)], "take": [([0, 4],), ([2, 0], 1)],
    "repeat": [(2,), ([1, 0, 2], 1)], "round": [(), (-1,)], "diagonal": [(), (1,)],
    "compress": [([False, True],), ([True, False, True], 1), (X[0] > 0, -1), ([True, True], 0)],
    "clip": [(-1, 2), (None, 1.5)], "swapaxes": [(0, 1)], "transpose": [(), (1, 0), ((0, 1),)],
    "reshape": [(3, 2), ((2, -1),)], "ravel": [()], "flatten": [()],
    "squeeze": [()], "copy": [()], "astype": [("int32",)], "conj": [()],
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_methods_take_what_numpys_take(name):
    for args in CALLS[name]:
        want = getattr(X, name)(*args)
        got, after = run(operator.methodcaller(name, *args))
        np.testing.assert_array_equal(after, X)
        np.testing.assert_allclose(got, want, rtol=1e-15, strict=True)


@pytest.mark.parametrize("functions", [[-1, 1], [lambda v: v * 2, 0.5], [3, np.square, 9.0]])
def test_piecewise_is_numpys(functions):
    conditions = [X < -3, X > 2]
    got, after = run(lambda x: np.piecewise(x, conditions, functions))
    np.testing.assert_array_equal(got, np.piecewise(X, conditions, functions))
    np.testing.assert_array_equal(after, X)


def test_what_needs_values_is_refused():
    for function, args in ((np.put, ([0], [1.0, 2.0])), (np.place, (X > 0, [])),
                           (np.putmask, (X > 0, []))):  # fmt: skip
        with pytest.raises(NotSupported):
            run(function, *args)
    with pytest.raises(ValueError):
        run(lambda x: np.piecewise(x, [X > 0], [1, 2, 3]))
    with pytest.raises(NotSupported, match="truth value"):
        run(lambda x: x if x.sum() > 0 else -x)
    assert run(lambda x: x if Owner().array(1.0) > 0 else -x)[0][0, 0] == 1.0


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int64", "float16", "float32", "float64"]
)
@pytest.mark.parametrize("power", [0, 1, 2, 3, 2.0, 0.5, -1.0])
def test_powers_of_scalars_have_the_dtypes_of_numpy(dtype, power):
    """An array of bools by 2 is int8, by np.square; a scalar is int64, by np.power."""
    x = np.array([1, 3, 2, 1]).astype(dtype)
    programs = ("x[1] ** p", "x.max() ** p", "x ** p", "x[:1] ** p", "x.reshape(-1)[2] ** p")
    for program in programs:
        f = eval("lambda x: " + program.replace("** p", f"** {power}"), {"np": np})
        expected, found = f(x), ck.jit(f)(x)
        assert found.dtype == expected.dtype and type(found) is type(expected), program
        np.testing.assert_allclose(found, expected, rtol=1e-3 if dtype == "float16" else 1e-6)
