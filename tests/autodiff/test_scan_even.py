"""Gradients of loops inside of loops that take another number of turns in each outer one, beside
finite differences, to second order."""

import numpy as np
import pytest

import ckernels as ck

X = np.random.default_rng(1).random(12) + 0.2


def differences(function, x, *args):
    """The slopes of a function with a result of any shape, a row for each element of x."""
    step = 1e-6
    found = []
    for i in range(len(x)):
        e = np.zeros(len(x))
        e[i] = step
        found.append((function(x + e, *args) - function(x - e, *args)) / (2 * step))
    return np.array(found).reshape(len(x), *np.shape(function(x, *args)))


def triangle(x):
    s = 0.0
    for i in range(len(x)):
        for j in range(i):
            s += x[j] * x[i] ** 2
    return s


def counted(x, n):
    s = 0.0
    for i in range(n):
        for j in range(i):
            s += np.sin(x[j] * x[i]) * x[0] + s * 0.01
    return s


def three_deep(x, n):
    s = 0.0
    for i in range(n):
        for j in range(i + 1):
            for k in range(j):
                s += x[k] * x[j] * np.cos(x[i])
    return s


def even_between(x, n):
    s = 0.0
    for i in range(n):
        for j in range(3 + n):
            for k in range(i):
                s += x[k] * x[i] * (j + 1) + 0.01 * s * x[k]
    return s / 1000


def between_elements(x, starts):
    s = 0.0
    for i in range(len(starts) - 1):
        t = 0.0
        for k in range(starts[i], starts[i + 1]):
            t += x[k] ** 2
        s += t**2
    return s


def from_the_end(x, n):
    s = 0.0
    for i in range(n - 1, -1, -1):
        for j in range(i, n, 2):
            s = s * 0.9 + x[j] * x[i]
    return s


def of_an_array(x, n):
    y = x.copy()
    for i in range(1, n):
        for j in range(i):
            y[i] = y[i] + y[j] * x[i] * 0.1
    return np.sum(y**2)


def of_a_new_array(x, n):
    y = x * 1.0
    for i in range(n):
        for j in range(i % 4):
            y = y * x[j] + 0.5
    return np.sum(y**2)


def halved(x, n):
    s = 0.0
    for i in range(n):
        t = x[i]
        while t * t > 0.01:
            t = t * 0.5 + 0.001 * x[0]
            s += t * x[i]
    return s


def by_bits(x, n):
    s = 0.0
    for i in range(n):
        k = i
        while k > 0:
            s += x[k] * x[i]
            k //= 2
    return s


def ends_inside(x, n):
    s = 0.0
    for i in range(n):
        for j in range(i):
            s += x[j] * x[i]
            if s > 1.0:
                break
    return s


def ends_outside(x, n):
    s = 0.0
    for i in range(n):
        for j in range(i):
            s += x[j] * x[i]
        if s > 1.5:
            break
    return s


def in_a_branch(x, n):
    s = 0.0
    for i in range(n):
        if x[i] > 0.5:
            for j in range(i):
                s += x[j] * x[i]
        else:
            s *= x[i] + 0.5
    return s


def in_a_while(x):
    s, i = 0.0, 0
    while s < 3.0:
        for j in range(i % 5):
            s += x[j] ** 2
        i += 1
        s += 0.1 * x[0]
    return s


STARTS = np.array([0, 3, 3, 7, 12])


@pytest.mark.sampled(1 / 2)
@pytest.mark.parametrize("function, args", [
    (triangle, ()), (counted, (9,)), (counted, (2,)), (counted, (1,)), (three_deep, (9,)),
    (even_between, (9,)), (between_elements, (STARTS,)), (between_elements, (np.arange(13),)),
    (between_elements, (np.zeros(12, int),)), (from_the_end, (11,)), (of_an_array, (12,)),
    (of_a_new_array, (12,)), (halved, (12,)), (by_bits, (12,)), (ends_inside, (12,)),
    (ends_outside, (12,)), (in_a_branch, (12,)), (in_a_while, ())])  # fmt: skip
def test_gradients_beside_differences(function, args):
    slope = ck.jit.grad(function)
    value, found = ck.jit.value_and_grad(function)(X, *args)
    np.testing.assert_allclose(value, function(X, *args), rtol=1e-12)
    np.testing.assert_allclose(found, differences(function, X, *args), rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(slope(X, *args), found)


@pytest.mark.sampled(1 / 2)
@pytest.mark.parametrize("function, args", [
    (triangle, ()), (three_deep, (7,)), (between_elements, (STARTS,)), (of_an_array, (9,)),
    (halved, (9,)), (ends_inside, (9,))])  # fmt: skip
def test_second_derivatives_beside_differences_of_first(function, args):
    want = differences(ck.jit.grad(function), X, *args)
    found = ck.jit.hessian(function)(X, *args)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-6)


def test_other_transforms():
    slope, along = ck.jit.grad(counted)(X, 9), np.arange(12.0)
    _, tangent = ck.jit.jvp(lambda x: counted(x, 9), (X,), (along,))
    np.testing.assert_allclose(tangent, slope @ along, rtol=1e-10)
    _, pull = ck.jit.vjp(lambda x: counted(x, 9), X)
    np.testing.assert_allclose(pull(2.0)[0], 2 * slope, rtol=1e-10)
    rows = ck.jit.jacobian(lambda x: counted(x, 9) * np.array([1.0, 3.0]))(X)
    np.testing.assert_allclose(rows, [slope, 3 * slope], rtol=1e-10)


def test_other_sizes_and_counts_are_served_by_one_function():
    by_size, by_count = ck.jit.grad(triangle), ck.jit.grad(counted)
    for size in (0, 1, 2, 9, 10, 30):
        x = np.random.default_rng(size).random(size)
        np.testing.assert_allclose(by_size(x), differences(triangle, x), rtol=1e-5, atol=1e-6)
    for count in (5, 0, 12, 1, 3):
        want = differences(counted, X, count)
        np.testing.assert_allclose(by_count(X, count), want, rtol=1e-5, atol=1e-6)
