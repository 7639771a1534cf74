"""Arguments as programs have them: of other byte orders and alignments, overlapping, read-only, of
subclasses and dtypes that nothing compiles. Results, their classes, what they share and what is
stored are NumPy's, after any other kind of argument."""

import warnings

import numpy as np
import pytest

import ckernels as ck


class Sub(np.ndarray):
    pass


def unaligned(a):
    made = np.zeros(a.nbytes + 1, "u1")[1:].view(a.dtype).reshape(a.shape)
    made[...] = a
    return made


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def strided(a, *strides):
    """Places of a copy that may be the same ones."""
    return np.lib.stride_tricks.as_strided(a.copy(), a.shape, strides[-a.ndim :])


LAID = {
    "plain": np.copy,
    "other bytes": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "unaligned": unaligned,
    "backwards": lambda a: a[::-1].copy()[::-1],
    "in steps": lambda a: np.repeat(a, 2, axis=0)[::2],
    "one place": lambda a: strided(a, 0, 0),
    "windows": lambda a: strided(a, 8, 8),
    "windows backwards": lambda a: strided(a, 8, 8)[::-1],
    "rows that touch": lambda a: strided(a, 16, 8),
    "broadcast": lambda a: np.broadcast_to(a.flat[0], a.shape),
    "read-only": read_only,
    "columns": lambda a: np.array(a, order="F"),
    "turned": lambda a: a.copy().T,
    "masked": lambda a: np.ma.MaskedArray(a.copy(), np.arange(a.size).reshape(a.shape) % 5 == 0),
    "subclass": lambda a: a.copy().view(Sub),
    "matrix": np.matrix,
    "field": lambda a: np.array([(x, 1) for x in a.flat], [("x", "f8"), ("y", "i2")])["x"],
    "objects": lambda a: a.astype(object),
    "long doubles": lambda a: a.astype(np.longdouble),
    "no axes": lambda a: np.array(a.flat[0]),
    "empty": lambda a: a[:0].copy(),
    "dates": lambda a: np.arange(a.size).astype("M8[D]").reshape(a.shape),
    "texts": lambda a: a.astype("U64"),  # NumPy until 2.2 writes x *= 2 behind shorter ones
    "truths": lambda a: a > 0,
    "scalar": lambda a: a.flat[0],
    "number": lambda a: a.flat[0].item(),
    "list": np.ndarray.tolist,
}


def stored(x):
    x[0] = 7
    x *= 2
    return x, x[::-1], x + 1


def both_stored(x, y):
    x += y
    y[0] = 5
    return x + y, y


def in_turns(x, y):
    for i in range(1, len(x)):
        x[i] = x[i - 1] * 0.5 + y[i]
    return x


def swapped(x, y):
    x[:2], y[:2] = y[:2], x[1:3]
    return x - y


ONE = [stored, lambda x: np.exp(x) + x, lambda x: (np.sum(x, 0), x.T, x.reshape(-1)),
       lambda x: np.where(x > 0, x, -x)]  # fmt: skip
TWO = [both_stored, in_turns, swapped, lambda x, y: np.add(x, y, out=y)]


def described(x, args):
    """All that may be told of a result or an argument."""
    shares = [np.shares_memory(x, a) for a in args if type(x) is type(a) is np.ndarray]
    if isinstance(x, (np.ndarray, np.generic)):
        exact = x.dtype.kind not in "fc" or isinstance(x, np.ma.MaskedArray)
        values = str(x) if exact else np.round(x.astype("f8"), 9) + 0.0
        return type(x), str(x.dtype), x.shape, shares, values
    return type(x), str(x)


def outcome(function, args):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = function(*args)
        except Exception as problem:
            return type(problem)
    found = found if isinstance(found, tuple) else (found,)
    return [described(x, args) for x in (*found, *args)]


def compare(function, jitted, make, what):
    want, got = outcome(function, make()), outcome(jitted, make())
    if isinstance(want, type) or isinstance(got, type):
        assert isinstance(want, type) and isinstance(got, type), (what, want, got)
        assert issubclass(want, got) or issubclass(got, want), (what, want, got)
        return
    for one, other in zip(want, got, strict=True):
        assert one[:-1] == other[:-1] and np.array_equal(one[-1], other[-1], equal_nan=True) if (
            isinstance(one[-1], np.ndarray)) else one == other, (what, one, other)  # fmt: skip


@pytest.mark.sampled(0)
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("shape", [(12,), (4, 5)])
def test_odd_arguments(shape, order):
    a, b = (np.random.default_rng(seed).normal(size=shape) for seed in (3, 4))
    names = list(LAID)[::order]
    for function in ONE:
        jitted = ck.jit(function)
        for name in [*names, *names]:
            compare(function, jitted, lambda name=name: [LAID[name](a)], name)
    for function in TWO:
        jitted = ck.jit(function)
        for name in [*names, *names]:
            for made in (lambda x: (x, b.copy()), lambda x: (b.copy(), x), lambda x: (x, x),
                         lambda x: (x, x[::-1]), lambda x: (x[1:], x[:-1])):  # fmt: skip
                try:
                    made(LAID[name](a))
                except (TypeError, IndexError):  # what has no parts
                    continue
                compare(function, jitted, lambda n=name, m=made: m(LAID[n](a)), name)


def test_an_argument_that_a_closure_holds_too():
    held = np.arange(20.0)

    def f(x):
        x[0] = held[1]
        held[2] = x[3]
        return x + held

    jitted = ck.jit(f)
    for x in (np.ones(20), held, held[::-1], held[:20]) * 2:
        kept = held.copy()
        want = outcome(f, (x,))
        held[:], after = kept, held.copy()
        got = outcome(jitted, (x,))
        np.testing.assert_array_equal(held, after)
        assert str(want) == str(got)
        held[:] = kept


REFUSED = {
    "flip of one axis twice": lambda x: np.flip(x, (0, 0)),
    "einsum of a digit": lambda x: np.einsum("i1", x),
    "einsum of a term too many": lambda x: np.einsum("ij,", x),
    "einsum without its ellipsis": lambda x: np.einsum("...i->i", x),
    "linspace of -1": lambda x: np.linspace(0, 1, -1) + x[0, 0],
    "bincount of -1 bins": lambda x: np.bincount(x[0].astype("int64"), minlength=-1),
    "fft of -1": lambda x: np.fft.fft(x, -1),
    "irfft of -1": lambda x: np.fft.irfft(x, -1),
    "meshgrid of an order that is none": lambda x: np.meshgrid(x[0], x[1], indexing="zz"),
    "tensordot of other sizes": lambda x: np.tensordot(x, x.T),
    "axes named twice": lambda x: x.sum(axis=(0, -2)),
    "trace of a diagonal beyond a C int": lambda x: np.trace(x, 10**12),
    "diag of a diagonal beyond a C int": lambda x: np.diag(x, -(2**31) - 1),
    "a mask of another length": lambda x: x[np.array([True, False, True, True])],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused(name):
    x = np.arange(12.0).reshape(3, 4)
    errors = []
    for function in (REFUSED[name], ck.jit(REFUSED[name])):
        with pytest.raises(Exception) as caught:
            function(x)
        errors.append(caught.value)
    assert isinstance(errors[1], type(errors[0]))


@pytest.mark.parametrize(
    "y", [[np.inf, 1, 2], [1, np.inf, 2], [-np.inf, np.inf, 3], [3, 3, np.inf]]
)
def test_interpolation_beside_infinities(y):
    x, places = np.array([0, 0.5, 1, 1.5, 2]), np.array([0.0, 1, 2])
    got = ck.jit(lambda x, y: np.interp(x, places, y))(x, np.array(y))
    np.testing.assert_array_equal(got, np.interp(x, places, y))


def test_i0_of_infinity_is_infinite():
    """NumPy's is NaN, an infinity by its root; docs/guide/numpy-programs.md says so."""
    got = ck.jit(lambda x: np.i0(x))(np.array([np.inf, -np.inf, 0, np.nan]))
    np.testing.assert_array_equal(got, [np.inf, np.inf, 1, np.nan])
