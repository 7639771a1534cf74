"""Numbers stored into integers, jitted: NumPy holds them, casts them, or raises; so do we."""

import warnings

import numpy as np
import pytest

import ckernels as ck

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
NUMBERS = [np.float64(v) for v in (np.inf, -np.inf, np.nan, 1e30, 2.0**63, -(2.0**63), 3e9, 127.9,
                                   128, -128.9, -129, 255, -1, 32767.5, 32768, 2147483647.5,
                                   -2147483648.5, -2147483649, 2147483648, 7)]  # fmt: skip
NUMBERS += [np.float32(np.nan), np.float32(2.0**31), np.float16(np.inf), np.float16(200)]
NUMBERS += [np.int64(v) for v in (2**40, 2**31, -(2**31), 300, 128, -1, 7)]
NUMBERS += [np.uint64(2**63), np.uint64(9), np.int32(2**17), np.uint8(200)]


def one(y, x):
    y[1] = x[0]


def added(y, x):
    y[1] += x[0]


def python(y, x):
    y[1] = float(x[0])


def sliced(y, x):
    y[:2] = x[0]


def filled(y, x):
    y.fill(x[0])


def each(y, x):
    for i in range(len(x)):
        y[i] = x[i]


def chosen(y, x):
    if x[0] > 5:
        y[1] = x[0]


def copied(y, x):
    np.copyto(y, x[0], casting="unsafe")


def masked(y, x):
    y[y > 0] = x[0]


def indexed(y, x):
    y[[0, 2]] = x[0]


def array(y, x):
    y[:3] = x[:3]


def outcome(function, dtype, number):
    y, x = np.arange(12).astype(dtype), np.full(12, number)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(y, x)
        except Exception as problem:
            return type(problem), str(problem)
    return y.tolist()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "function",
    [one, added, python, sliced, filled, each, chosen, copied, masked, indexed, array],
    ids=lambda f: f.__name__,
)
def test_a_number_among_integers(function, dtype):
    jitted, wrong = ck.jit(function), []
    for number in NUMBERS:
        want, got = outcome(function, dtype, number), outcome(jitted, dtype, number)
        if want != got:
            wrong.append((number, want, got))
    assert not wrong


CASTS = [1.5, 300, True, 3, 1j, np.float32(2), np.ones(3), np.ones(3, "int64"), np.ones(3, bool)]


@pytest.mark.parametrize("casting", ["same_kind", "safe", "unsafe", "bad"])
def test_copyto_casts_what_its_rule_allows(casting):
    def copied(y, x):
        np.copyto(y, x, casting=casting)
        return y

    def under(y, x):
        np.copyto(y, x, casting=casting, where=y > 0)
        return y

    raised = 0
    for function in (copied, under):
        jitted = ck.jit(function)
        for dtype in ["bool", "uint8", "int32", "int64", "float32", "complex64"]:
            for x in CASTS:
                found = []
                for f in (function, jitted):
                    try:
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            found.append(f(np.ones(3, dtype), x).tolist())
                    except Exception as problem:
                        found.append(type(problem))
                assert found[0] == found[1], (dtype, x)
                raised += isinstance(found[0], type)
    assert raised > 0 or casting == "unsafe"


def test_a_number_among_integers_in_a_batch():
    def counted(x):
        y = np.zeros(3, dtype="int32")
        y[1] = x[0]
        return y

    got = ck.jit.vmap(counted)(np.array([[1.5, 2.0], [3.0, 4.0]]))
    np.testing.assert_array_equal(got, [[0, 1, 0], [0, 3, 0]])


def test_a_part_stored_into_its_own_place():
    def same(x):
        x[::2] = x[::2]
        return x * 2

    x = np.arange(12.0)
    np.testing.assert_array_equal(ck.jit(same)(x), np.arange(12.0) * 2)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ck.jit(same)(x)
