"""What all functions have in common: calls over rows of arguments."""

import gc
import sys
import weakref

import numpy as np
import pytest

import ckernels as K

MODES = ["compiled", "reference", "debug"]


def counter(mode, single=True):
    """A function of x that returns x + total and adds the sum of x to the total; the total."""
    x = K.placeholder((None,), name="x")
    total = K.variable(0.0)
    out = x + total
    outputs = out if single else [out, K.sum(x)]
    return K.function([x], outputs, [(total, total + K.sum(x))], mode=mode), total


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("single", [True, False])
def test_over_is_calls_in_turn(mode, single):
    rows = [(np.arange(n, dtype="float32"),) for n in (3, 2, 2, 0, 5)]
    f, total = counter(mode, single)
    wanted = [f(*row) for row in rows]
    g, other = counter(mode, single)
    found = g.over(iter(rows))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert type(a) is type(b)
        for one, two in zip([a] if single else a, [b] if single else b):
            np.testing.assert_array_equal(one, two)
    assert K.get_value(total) == K.get_value(other)


@pytest.mark.parametrize("mode", MODES)
def test_the_last_alone_and_no_rows(mode):
    f, total = counter(mode)
    rows = [[np.ones(2)], [np.ones(1)]]
    np.testing.assert_array_equal(f.over(rows, last=True), [3])
    assert K.get_value(total) == 3
    assert f.over([]) == [] and f.over((), last=True) is None
    assert K.get_value(total) == 3


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("last", [True, False])
def test_an_error_ends_it_and_keeps_what_was_done(mode, last):
    f, total = counter(mode)
    with pytest.raises(K.errors.CKernelsError):
        f.over([(np.ones(2),), (np.ones((2, 2)),), (np.ones(4),)], last=last)
    assert K.get_value(total) == 2
    for row in (3, np.array(None, object)):
        with pytest.raises(K.errors.UsageError, match="each row of over must be a list, not"):
            f.over([row], last=last)

    def rows():
        yield (np.ones(3),)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        f.over(rows(), last=last)
    assert K.get_value(total) == 5
    for rows in (7, np.array(None, object)):
        with pytest.raises(K.errors.UsageError, match="rows of over must be a list, not"):
            f.over(rows)
    for flag in (np.ones(2), "yes", 2):
        with pytest.raises(K.errors.CKernelsError, match="last"):
            f.over([(np.ones(3),)], last=flag)
    assert K.get_value(total) == 5


def test_results_are_let_go():
    f, _ = counter("compiled")
    found = f.over([(np.ones(3),)] * 4)
    held = [weakref.ref(a) for a in found]
    del found
    gc.collect()
    assert all(r() is None for r in held)
    row = (np.ones(3, "float32"),)
    before = sys.getrefcount(row), sys.getrefcount(row[0])
    f.over([row] * 3, last=True)
    assert (sys.getrefcount(row), sys.getrefcount(row[0])) == before


def program(mode, dtype):
    """A function whose results are an input, a view and the update of a variable; that variable."""
    x, w = K.placeholder((None, 3), dtype=dtype), K.placeholder((3,), dtype=dtype)
    kept = K.variable(np.zeros(3), dtype=dtype)
    new = kept + K.cast(K.sum(x, axis=0), dtype) * w
    return K.function([x, w], [x, K.transpose(x), new, kept * 1], [(kept, new)], mode=mode), kept


def rows_of(dtype):
    """Rows whose arrays are of other lengths, orders, strides and kinds, of nothing, and shared."""
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-4, 5, s).astype(dtype) for s in ((8, 6), (6,)))
    yield x[:4, :3], w[:3]
    yield x[::2, ::2], w[::-2]
    yield np.asfortranarray(x[:5, :3]), w[:3].astype("int8")
    yield x[:0, :3], x[0, :3]
    yield x[1:4, 1:4].T, x[2, 1:4]
    yield x[::-1, 3:], np.broadcast_to(w[1], (3,))
    yield x[:2, :3].tolist(), [1, 2, 3]
    yield np.lib.stride_tricks.as_strided(x[0], (4, 3), (x.itemsize,) * 2), x[0, :3]
    yield x[:3, :3], x[1, :3]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16"])
def test_over_rows_of_every_layout_is_calls_in_turn(mode, dtype):
    one, kept = program(mode, dtype)
    wanted = [one(*row) for row in rows_of(dtype)]
    f, other = program(mode, dtype)
    given = list(rows_of(dtype))
    before = [[np.array(a) for a in row] for row in given]
    found = f.over(given)
    for a, b in zip(found, wanted, strict=True):
        for got, want in zip(a, b, strict=True):
            assert got.dtype == want.dtype and got.flags.writeable
            np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(K.get_value(other), K.get_value(kept))
    for row, was in zip(given, before):
        for a, b in zip(row, was):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mode", MODES)
def test_results_of_over_share_nothing(mode):
    f, kept = program(mode, "float64")
    x, w = np.ones((2, 3)), np.ones(3)
    found = f.over([(x, w)] * 3)
    arrays = [a for row in found for a in row]
    for at, a in enumerate(arrays):
        a[...] = -7
        assert all((b == -7).all() == (k <= at) for k, b in enumerate(arrays))
    assert (x == 1).all() and (w == 1).all()
    np.testing.assert_array_equal(K.get_value(kept), [6, 6, 6])


MISFITS = {
    "few": (np.ones((2, 3)),),
    "many": (np.ones((2, 3)), np.ones(3), 1),
    "none": (),
    "axes": (np.ones(3), np.ones(3)),
    "size": (np.ones((2, 4)), np.ones(3)),
    "complex": (np.ones((2, 3)) * 1j, np.ones(3)),
    "text": (np.ones((2, 3)), np.array(["a", "b", "c"])),
    "object": (np.ones((2, 3)), [None] * 3),
    "ragged": ([[1, 2, 3], [4]], np.ones(3)),
    "dict": ({"x": 1}, np.ones(3)),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("misfit", MISFITS)
def test_a_misfit_in_a_row_is_refused_as_in_a_call(misfit, mode, last):
    good, wrong = (np.ones((2, 3)), np.ones(3)), MISFITS[misfit]
    for before in (0, 2):
        f, kept = program(mode, "float32")
        for row in [good] * before:
            f(*row)
        with pytest.raises(K.errors.CKernelsError) as alone:
            f(*wrong)
        g, other = program(mode, "float32")
        with pytest.raises(type(alone.value)) as caught:
            g.over([good] * before + [wrong, good], last=last)
        sentence = str(alone.value).splitlines()[0]
        assert str(caught.value).splitlines()[0] == sentence
        np.testing.assert_array_equal(K.get_value(other), K.get_value(kept))
        np.testing.assert_array_equal(K.get_value(other), [2.0 * before] * 3)
        assert len(g.over([good] * 2)) == 2


@pytest.mark.parametrize("mode", MODES)
def test_rows_that_are_read_while_they_change(mode):
    f, kept = program(mode, "float64")
    x = np.zeros((1, 3))

    def rows():
        for k in range(4):
            x[...] = k  # the same array each time, with other numbers
            if k == 2:
                K.set_value(kept, np.full(3, 10.0))
            yield x, np.ones(3)

    assert [float(row[2][0]) for row in f.over(rows())] == [0, 1, 12, 15]
    assert K.get_value(kept).tolist() == [15] * 3
