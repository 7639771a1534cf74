"""Slices of computed length in steps of scans: values are those of a loop in NumPy, made by C."""

import numpy as np
import pytest

import ckernels as K
from ckernels.plan.instructions import PYCALL

pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
N = 9


def put(s, at, value):
    s = s.copy()
    s[at] = value
    return s


# (step of K.scan, the same in NumPy): of the index, a state, a matrix and a vector
STEPS = {
    "largest": (
        lambda i, s, m, w: K.set_subtensor(s[i], K.max(w[: i + 1])),
        lambda i, s, m, w: put(s, i, w[: i + 1].max()),
    ),
    "least, and where": (
        lambda i, s, m, w: K.set_subtensor(
            s[i], K.min(w[i:]) + K.cast(K.argmin(w[i // 2 : i + 1]), "float64")
        ),
        lambda i, s, m, w: put(s, i, w[i:].min() + w[i // 2 : i + 1].argmin()),
    ),
    "sum": (
        lambda i, s, m, w: K.set_subtensor(s[i], K.sum(w[:i] ** 2)),
        lambda i, s, m, w: put(s, i, (w[:i] ** 2).sum()),
    ),
    "product of rows": (
        lambda i, s, m, w: K.set_subtensor(s[i], w[i] - K.dot(m[i, :i], s[:i])),
        lambda i, s, m, w: put(s, i, w[i] - m[i, :i] @ s[:i]),
    ),
    "column": (
        lambda i, s, m, w: K.set_subtensor(s[i], K.dot(m[:i, i], w[:i]) + K.sum(w[i:])),
        lambda i, s, m, w: put(s, i, m[:i, i] @ w[:i] + w[i:].sum()),
    ),
    "mean": (
        lambda i, s, m, w: K.set_subtensor(s[i], K.mean(w[i:])),
        lambda i, s, m, w: put(s, i, w[i:].mean()),
    ),
    "any and all": (
        lambda i, s, m, w: s + K.cast(K.any(w[:i] > 1) & K.all(w[i:] > 0), s.dtype),
        lambda i, s, m, w: s + bool((w[:i] > 1).any() and (w[i:] > 0).all()),
    ),
    "product of all": (
        lambda i, s, m, w: K.set_subtensor(s[i], K.prod(w[:i])),
        lambda i, s, m, w: put(s, i, np.prod(w[:i])),
    ),
    "matrix times vector": (
        lambda i, s, m, w: s + K.sum(K.dot(m[i:, :i], w[:i])),
        lambda i, s, m, w: s + (m[i:, :i] @ w[:i]).sum(),
    ),
    "rows of a block": (
        lambda i, s, m, w: s + K.sum(K.sum(m[:i, i:], axis=1) * w[:i]),
        lambda i, s, m, w: s + (m[:i, i:].sum(1) * w[:i]).sum(),
    ),
    "largest of columns": (
        lambda i, s, m, w: s + K.sum(K.max(m[:, :i], axis=0)),
        lambda i, s, m, w: s + m[:, :i].max(0).sum(),
    ),
    "store": (
        lambda i, s, m, w: K.set_subtensor(s[:i], s[:i] * 0.5 + w[:i]),
        lambda i, s, m, w: put(s, slice(0, i), s[:i] * 0.5 + w[:i]),
    ),
    "sum stored": (
        lambda i, s, m, w: K.inc_subtensor(s[i:], m[i, i:] * w[i]),
        lambda i, s, m, w: put(s, slice(i, None), s[i:] + m[i, i:] * w[i]),
    ),
    "number stored": (
        lambda i, s, m, w: K.set_subtensor(s[: i + 1], w[i]),
        lambda i, s, m, w: put(s, slice(0, i + 1), w[i]),
    ),
    "window": (
        lambda i, s, m, w: K.set_subtensor(s[i], K.sum(K.sqrt(K.abs(w[i : i + 3])))),
        lambda i, s, m, w: put(s, i, np.sqrt(np.abs(w[i : i + 3])).sum()),
    ),
    "window of rows": (
        lambda i, s, m, w: s + K.sum(K.dot(m[2 * i : 2 * i + 2], w)),
        lambda i, s, m, w: s + (m[2 * i : 2 * i + 2] @ w).sum(),
    ),
    "from the end": (
        lambda i, s, m, w: K.set_subtensor(s[i], K.sum(w[-i:]) + K.sum(w[: i - 4])),
        lambda i, s, m, w: put(s, i, w[-i:].sum() + w[: i - 4].sum()),
    ),
    "beyond the end": (
        lambda i, s, m, w: K.set_subtensor(s[i], K.sum(w[i + 3 : 2 * i + 9])),
        lambda i, s, m, w: put(s, i, w[i + 3 : 2 * i + 9].sum()),
    ),
}


def function_of(step, dtype="float64", grads=False, size=N):
    s, m, w = (K.placeholder(shape, dtype=dtype) for shape in ((size,), (size, size), (size,)))
    last = K.scan(
        step, sequences=[K.arange(N)], outputs_info=[s], non_sequences=[m, w]
    )[0][-1]  # fmt: skip
    if grads:
        return K.function([s, m, w], K.grad(K.sum(last**2), [s, m, w], disconnected="zero"))
    return K.function([s, m, w], last, allow_input_downcast=False)


def data(dtype="float64"):
    rng = np.random.default_rng(3)
    found = [rng.random(shape) + 0.5 for shape in ((N,), (N, N), (N,))]
    return [a.astype(dtype) for a in found]


def looped(step, s, m, w):
    for i in range(N):
        s = step(i, s, m, w).astype(s.dtype)
    return s


def in_c(f):
    return PYCALL not in [i.kind for i in f.info.program.instructions]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("name", STEPS)
def test_steps(name, dtype):
    ours, theirs = STEPS[name]
    f, arrays = function_of(ours, dtype), data(dtype)
    rtol = 1e-4 if dtype == "float32" else 1e-12
    for _ in range(2):
        np.testing.assert_allclose(f(*arrays), looped(theirs, *arrays), rtol=rtol)
    assert in_c(f)


@pytest.mark.parametrize("name", ["sum", "column", "store", "sum stored", "window"])
def test_sizes_that_only_a_call_knows(name):
    ours, theirs = STEPS[name]
    f, arrays = function_of(ours, size=None), data()
    np.testing.assert_allclose(f(*arrays), looped(theirs, *arrays), rtol=1e-12)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", [n for n in STEPS if n not in ("any and all",)])
def test_gradients(name):
    ours, theirs = STEPS[name]
    g, arrays = function_of(ours, grads=True), data()
    found = g(*arrays)
    rng = np.random.default_rng(4)
    for k, a in enumerate(arrays):
        for _ in range(5):
            at = tuple(int(rng.integers(n)) for n in a.shape)
            ends = []
            for step in (1e-6, -1e-6):
                moved = [b.copy() for b in arrays]
                moved[k][at] += step
                ends.append((looped(theirs, *moved) ** 2).sum())
            want = (ends[0] - ends[1]) / 2e-6
            np.testing.assert_allclose(found[k][at], want, rtol=1e-5, atol=1e-5)


def test_what_lies_outside_is_never_computed_with():
    """The root of what is negative, the inverse of 0, and NaN lie outside of the slices."""
    w = np.array([4.0, 9.0, 0.0, -1.0, np.nan])

    def step(i, w):
        return K.sum(K.sqrt(w[: i + 1]) / w[: i + 1]) + K.dot(w[: i + 1], w[: i + 1])

    x = K.placeholder((5,), dtype="float64")
    out = K.scan(step, sequences=[K.arange(2)], outputs_info=[None], non_sequences=[x])[0]
    f, g = K.function([x], out), K.function([x], K.grad(K.sum(out), x))
    inverse = 1 / np.sqrt(w[:2])
    np.testing.assert_allclose(f(w), np.cumsum(inverse) + np.cumsum(w[:2] ** 2))
    slope = np.array([2.0, 1.0]) * (-0.5 * w[:2] ** -1.5 + 2 * w[:2])
    np.testing.assert_allclose(g(w), [*slope, 0, 0, 0], rtol=1e-12)


@pytest.mark.parametrize("dtype", ("int32", "uint8", "int64"))
def test_integers(dtype):
    x = K.placeholder((7,), dtype=dtype)
    out = K.scan(
        lambda i, x: K.sum(x[:i] * x[:i]), sequences=[K.arange(8)], outputs_info=[None],
        non_sequences=[x])[0]  # fmt: skip
    a = np.arange(3, 10).astype(dtype)
    np.testing.assert_array_equal(
        K.function([x], out)(a), [(a[:i] * a[:i]).sum(dtype="int64") for i in range(8)]
    )


# Near misses: a length gets into the values in another way, and NumPy runs the step.
REFUSED = {
    "reversed": (
        lambda i, s, m, w: K.set_subtensor(s[i], K.dot(w[: i + 1][::-1], w[: i + 1])),
        lambda i, s, m, w: put(s, i, w[: i + 1][::-1] @ w[: i + 1]),
    ),
    "two places": (
        lambda i, s, m, w: K.set_subtensor(s[i], K.sum(w[:i] * w[9 - i :])),
        lambda i, s, m, w: put(s, i, (w[:i] * w[9 - i :]).sum()),
    ),
    "every second": (
        lambda i, s, m, w: K.set_subtensor(s[i], K.sum(w[i::2])),
        lambda i, s, m, w: put(s, i, w[i::2].sum()),
    ),
    "running sum": (
        lambda i, s, m, w: K.set_subtensor(s[i], K.sum(K.cumsum(w[:i]))),
        lambda i, s, m, w: put(s, i, np.cumsum(w[:i]).sum()),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_near_misses(name):
    ours, theirs = REFUSED[name]
    f, arrays = function_of(ours), data()
    np.testing.assert_allclose(f(*arrays), looped(theirs, *arrays), rtol=1e-12)
