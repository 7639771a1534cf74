"""Rows of ufuncs beside NumPy: every loop of every dtype, weak numbers, reductions."""

import sys
import warnings

import numpy as np
import pytest

from ckernels.base.errors import NotSupported
from ckernels.graph.node import Node
from ckernels.numpy import rows
from ckernels.numpy.promote import NUMPY
from ckernels.numpy.rows import special
from ckernels.numpy.rows.base import PIECES
from ckernels.ops import reference

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
          "float16", "float32", "float64", "complex64", "complex128"]  # fmt: skip


def sample(dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=7) * 3
    if np.dtype(dtype).kind == "u":
        x = np.abs(x)
    if np.dtype(dtype).kind == "f":
        x[0], x[1], x[2], x[3] = -0.0, np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        return x.astype(dtype)


def results(function, *args, **options):
    """What NumPy returns, or the exception; warnings are not given under a compiled function."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*args, **options)


def computed(found):
    if isinstance(found, (tuple, list)):
        return [computed(f) for f in found]
    return reference.evaluate([found], {})[0] if isinstance(found, Node) else found


def same(got, want, zeros=True):
    """zeros: whether their signs count; the larger of 0.0 and -0.0 is either, in NumPy too."""
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, want.dtype)
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want)
        return
    eps = {"float16": 2e-3, "float32": 2e-6, "complex64": 2e-5}.get(want.dtype.name, 1e-12)
    np.testing.assert_allclose(got, want, rtol=eps, atol=eps, equal_nan=True)
    if want.dtype.kind == "f" and zeros:
        zero = (want == 0) & (got == 0)
        np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


def compare(function, *args, **options):
    try:
        want = results(getattr(np, function) if isinstance(function, str) else function, *args,
                       **options)  # fmt: skip
    except (TypeError, ValueError, OverflowError) as problem:
        with pytest.raises((type(problem), NotSupported)):
            rows.call(NUMPY, function, *args, **options)
        return False
    try:
        found = rows.call(NUMPY, function, *args, **options)
    except NotSupported:
        return False
    got = computed(found)
    for g, w in zip(got, want) if isinstance(want, (tuple, list)) else [(got, want)]:
        same(g, w, getattr(function, "__name__", function) not in OF_ZEROS)
    return True


OF_ZEROS = ("maximum", "minimum", "fmax", "fmin", "clip")  # 0.0 and -0.0 are either
OTHERS = {  # SciPy's, where another module asked for them: they are test_special.py's
    getattr(sys.modules.get("scipy.special"), name, None) for name in special.ROWS
}
UFUNCS = sorted(rows.UFUNCS.keys() - OTHERS, key=lambda u: u.__name__)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("ufunc", [u for u in UFUNCS if u.signature is None],
                         ids=lambda u: u.__name__)  # fmt: skip
def test_every_loop_is_numpys(ufunc):
    done = 0
    for d in DTYPES:
        if ufunc.nin == 1:
            done += compare(ufunc, sample(d))
            continue
        for e in DTYPES:
            more = (sample(e, 1), sample(e, 1))[: ufunc.nin - 1]
            done += compare(ufunc, sample(d), *more)
    assert done


@pytest.mark.parametrize("ufunc", [u for u in UFUNCS if u.signature is not None],
                         ids=lambda u: u.__name__)  # fmt: skip
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_products_of_matrices_and_vectors(ufunc, dtype):
    """A product of whole numbers is exact in any order; batches broadcast."""
    matrix = np.arange(24).reshape(2, 3, 4).astype(dtype) - 7
    operands = {
        "vecmat": (np.arange(3).astype(dtype), matrix),
        "matmul": (matrix, matrix[0].T),
    }.get(ufunc.__name__, (matrix, np.arange(4).astype(dtype)))
    assert compare(ufunc, *operands)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("ufunc", [u for u in UFUNCS if u.nin == 2 and u.signature is None],
                         ids=lambda u: u.__name__)  # fmt: skip
def test_python_numbers_are_weak(ufunc):
    done = 0
    for d in DTYPES:
        for number in (2, 2.5, True, 1j, 300, -1, np.float32(2), np.float64(2), np.int64(3)):
            done += compare(ufunc, sample(d), number)
            done += compare(ufunc, number, sample(d))
    assert done


REDUCED = [u for u in UFUNCS if rows.UFUNCS[u].reduction]


@pytest.mark.parametrize("ufunc", REDUCED, ids=lambda u: u.__name__)
def test_reductions_accumulate_as_numpy_does(ufunc):
    for d in DTYPES:
        x = np.stack([sample(d), sample(d, 1), sample(d, 2)])
        for axis in (0, 1, None, (0, 1)):
            for keepdims in (False, True):
                try:
                    want = results(ufunc.reduce, x, axis, keepdims=keepdims)
                    got = computed(rows.reduce(NUMPY, ufunc, x, axis, keepdims=keepdims))
                except (TypeError, NotSupported):
                    continue
                same(got, want)


RUNNING = [u for u in UFUNCS if u.nin == 2 and u.nout == 1 and u.signature is None]


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("ufunc", RUNNING, ids=lambda u: u.__name__)
def test_running_results(ufunc):
    for d in DTYPES:
        x = np.stack([sample(d), sample(d, 1), sample(d, 2)])
        for axis in (0, 1):
            for values in (x, x[:0], x[::-1]):
                try:
                    got = computed(rows.accumulate(NUMPY, ufunc, values, axis))
                    want = results(ufunc.accumulate, values, axis)
                except (TypeError, NotSupported):
                    continue
                same(got, want)


@pytest.mark.parametrize("ufunc", PIECES, ids=lambda u: u.__name__)
def test_pieces(ufunc):
    for d in DTYPES:
        x = np.stack([sample(d), sample(d, 1), sample(d, 2)])
        for axis, places in ((0, [0]), (0, [0, 1, 2]), (0, [1]), (1, [0, 2, 3]), (-1, [1, 2])):
            try:
                want = results(ufunc.reduceat, x, places, axis)
                got = computed(rows.reduceat(NUMPY, ufunc, x, places, axis))
            except (TypeError, NotSupported):
                continue
            same(got, want)


@pytest.mark.parametrize("places", [[0, 0], [2, 1], [1, 4], [-1]])
def test_places_of_pieces_that_do_not_rise(places):
    with pytest.raises(ValueError, match="rise"):
        computed(rows.reduceat(NUMPY, np.add, np.arange(4.0), places))


def test_a_python_int_out_of_range_is_an_error():
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        rows.ufunc(NUMPY, np.add, np.int8([1]), 300)


def test_integers_to_a_negative_power_are_left_to_numpy():
    with pytest.raises(NotSupported, match="negative"):
        rows.ufunc(NUMPY, np.power, np.array([2]), -1)
