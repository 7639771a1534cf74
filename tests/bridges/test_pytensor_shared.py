"""Shared variables of PyTensor: sizes and masks known to the plan, updates, givens."""

import ctypes
import pickle

import numpy as np
import pytest
from pytensor_support import RNG, X, Y, bridge, compiled, pt, pytensor, x, y


def _masked():
    """(mask, size, function of y): sums and gradients over a mask, and zeros of a size."""
    mask = pytensor.shared(np.array([True, False, True, True, False]), name="mask", shape=(None,))
    size = pytensor.shared(np.array(2), name="size")
    v = pt.dvector("v")
    cost = (v[mask] ** 2).sum() + (v[~mask] ** 3).sum() + pt.zeros(size).sum() + size
    return (
        mask,
        size,
        compiled([v], [cost, pytensor.grad(cost, v), pt.zeros((size, size)), v[mask]]),
    )


def _expected(v, mask, size):
    value = (v[mask] ** 2).sum() + (v[~mask] ** 3).sum() + size
    return [value, np.where(mask, 2 * v, 3 * v**2), np.zeros((size, size)), v[mask]]


def test_masks_and_sizes_that_are_shared_are_known_to_the_plan():
    mask, size, f = _masked()
    v = RNG.normal(size=5)
    for got, want in zip(f(v), _expected(v, mask.get_value(), 2)):
        np.testing.assert_allclose(got, want)
    assert set(f.maker.linker.known.values) == {mask, size}
    plan = f.maker.linker.pieces.functions[0][0]
    assert plan.pieces is None  # no cut where a shape would be data


@pytest.mark.parametrize("changes", [1, 2, 5])
def test_masks_and_sizes_may_change(changes):
    mask, size, f = _masked()
    for k in range(changes):
        v = RNG.normal(size=5 + k % 2)
        new = RNG.random(len(v)) < 0.5
        mask.set_value(new)
        size.set_value(np.array(k))
        for _ in range(2):
            for got, want in zip(f(v), _expected(v, new, k)):
                np.testing.assert_allclose(got, want)
    assert bool(f.maker.linker.known.values) == (changes <= 2)  # then any value will do


def test_masks_that_are_written_in_place_are_seen():
    mask, _, f = _masked()
    v = RNG.normal(size=5)
    f(v)
    mask.get_value(borrow=True)[:] = [False, True, True, False, False]
    for got, want in zip(f(v), _expected(v, np.array([False, True, True, False, False]), 2)):
        np.testing.assert_allclose(got, want)


def test_a_counter_that_the_function_updates_is_not_known():
    count, size = pytensor.shared(np.array(1)), pytensor.shared(np.array(3))
    f = compiled([], pt.ones(count).sum() + pt.ones(size).sum(), updates={count: count + 1})
    assert [float(f()) for _ in range(4)] == [4, 5, 6, 7]
    assert set(f.maker.linker.known.values) == {size}


def test_a_function_with_known_values_pickles():
    _, _, f = _masked()
    v = RNG.normal(size=5)
    for got, want in zip(pickle.loads(pickle.dumps(f))(v), f(v)):
        np.testing.assert_array_equal(got, want)


def test_a_c_function_has_the_masks_of_when_it_was_asked_for():
    mask = pytensor.shared(np.array([True, False, True]), name="mask")
    v = pt.tensor("v", shape=(3,))
    f = compiled([v], [(v[mask] ** 2).sum(), pytensor.grad((v[mask] ** 2).sum(), v)])
    signature = "int64_t (uint64_t, double *, double *, double *, void *)"
    for now in ([True, False, True], [False, True, True]):
        mask.set_value(np.array(now))
        entry = bridge.address(f, signature)
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, *[ctypes.c_void_p] * 4)(
            entry.address
        )
        given, slope, value = np.array([1.0, 2.0, 3.0]), np.zeros(3), np.zeros(1)
        pointers = [a.ctypes.data for a in (given, slope, value)]
        assert call(3, *pointers, entry.user_data) == 0
        assert value[0] == (given[now] ** 2).sum()
        np.testing.assert_array_equal(slope, np.where(now, 2 * given, 0))


def test_updates_see_old_values_and_an_error_leaves_all_as_it_was():
    s, t = pytensor.shared(np.ones(3), name="s"), pytensor.shared(2.0, name="t")
    f = compiled([y], (s * t).sum(), updates=[(s, s + y), (t, s.sum())])
    assert f(Y) == pytest.approx(6.0)
    np.testing.assert_allclose(s.get_value(), 1 + Y)
    assert t.get_value() == pytest.approx(3.0)
    with pytest.raises(ValueError):
        f(np.ones(2))
    assert t.get_value() == pytest.approx(3.0)
    s.set_value(np.zeros(5))
    assert f(np.ones(5)) == 0.0


def test_variables_that_become_one_value_do_not_share_its_memory():
    s, t = pytensor.shared(np.zeros(3)), pytensor.shared(np.zeros(3))
    for value in (y, y + 1):
        f = compiled([y], [value, value], updates=[(s, value), (t, value)])
        arrays = [Y, *f(Y), s.get_value(borrow=True), t.get_value(borrow=True)]
        for k, a in enumerate(arrays):
            assert not any(np.may_share_memory(a, b) for b in arrays[:k])
            assert k == 0 or np.array_equal(a, arrays[1])


def test_givens_and_trust_input():
    s = pytensor.shared(np.arange(3.0))
    f = compiled([x], (x * y).sum(), givens=[(y, s)])
    assert f(X) == pytest.approx((X * np.arange(3)).sum())
    f.trust_input = True
    assert f(X) == pytest.approx((X * np.arange(3)).sum())
