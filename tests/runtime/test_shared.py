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
