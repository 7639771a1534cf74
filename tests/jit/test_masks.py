"""Parts under masks, `x[m]`: what is computed of the whole array shows what NumPy's part shows."""

import warnings

import numpy as np
import pytest

import ckernels as ck

from .beside import check

RNG = np.random.default_rng(2)
X, W = RNG.normal(size=(12, 3)), RNG.random(12)
LABEL = np.arange(12) % 3
REDUCTIONS = ["sum", "mean", "std", "var", "prod", "any", "all", "max", "min"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("over", ["rows", "elements"])
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "bool", "c16"])
def test_reductions_of_what_a_mask_shows(name, over, dtype):
    def reduced(x, label):
        part = x[label == 1] if over == "rows" else x[(label == 1)[:, None] & (x != 0)]
        method = getattr(part, name)
        rows = method(1) if over == "rows" else None
        return method(), method(0), method(axis=-1), rows, np.count_nonzero(part)

    x = np.abs(X * 3).astype(dtype) if dtype == "u1" else (X * 3).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        check(reduced, x, LABEL, traced=None)
        if name not in ("max", "min"):
            check(reduced, x, LABEL * 0, traced=None)  # which shows nothing


def options(x, label, w):
    m = label == 0
    kept = x[m].sum(axis=0, keepdims=True), x[m].mean(axis=0, dtype="f4")
    return kept, x[m].std(axis=0, ddof=1), x[m].var(ddof=2), np.sum(x[m], 0, None)


def centred(x, label, w):
    part = x[label == 1] - x[label == 1].mean(axis=0)
    return part, (part**2).sum(axis=1), part.sum(), np.sqrt(np.abs(part)).max(axis=0)


def beside_rows(x, label, w):
    m = label == 2
    return x[m] * w[m][:, None], (x[m].T * w[m]).sum(axis=1), x[m] @ x[m].T, w[m] + w[m]


def beside_others(x, label, w):
    m = label == 0
    return x[m] + np.arange(3), x[m] + np.ones((1, 3)), x[m] + np.ones((4, 3)), x[m] > 0.5


def running(x, label, w):
    m = label == 1
    return np.cumsum(w[m]), np.cumsum(w[m] * 2).sum(), np.sort(w[m]).max(), w[m][::-1].sum()


def stored(x, label, w):
    m = label == 1
    x[m] = x[m] * 2 + 1
    x[m] += 1
    w[m] *= 2
    part = x[m]
    part[0] = 7
    return x.sum(), part, part[:, 1], part.T, len(part), part.shape, part.size


def stored_thin(x, label, w):
    m = label == 1
    x[m] = x[:, :1][m]


def kept_from_stores(x, label, w):
    part = np.abs(x[label == 0])
    x[:] = 0
    return part.sum(axis=0), part.mean(axis=1), part


def products(x, label, w):
    m, v = label == 1, x[0].copy()
    fit = x[m] @ v
    wide = x[m] @ x[:3]
    return fit, wide, fit - w[m], ((fit - w[m]) ** 2).sum(), wide.sum(axis=0), len(fit), fit.shape


def other_products(x, label, w):
    m, v = label == 2, x[1].copy()
    planes = x.reshape(4, 3, 3)
    return (
        w[m] @ w[m], w[m] @ x[m][:, 0], v @ x[m].T, np.dot(x[m], v), np.inner(x[m], v),
        planes[label[:4] == 0] @ v, x[m] @ planes, x[m].T @ w[m],
    )  # fmt: skip


def turned_products(x, label, w):
    m = label == 1
    g = x[m] @ x[0] - w[m]
    return (
        x[m].T @ g, 3 * x[m].T @ g / 2, x[m].T @ x[m], np.dot(x[m].T, g), x[m].T @ (w[m] > 4),
        (x[m].T - 1).sum(axis=1), x[m].T, x[m].T + x[0][:, None], x[m].T @ w[m][:, None],
    )  # fmt: skip


def places_and_masks(x, label, w):
    m, y = label == 2, x.T.copy()
    y[1, m] = 0
    y[2, m] += w[m]
    y[-1, m] -= 1
    x[m, 1] *= 2
    x[m, 0] = w[m]
    planes = x.reshape(2, 6, 3).copy()
    planes[1, m[:6]] = 5
    planes[0, m[:6], 2] = 6
    planes[1, planes[1] > 8] = 0
    return y, y[0, m].sum(), x[m, 1].mean(), x[m, -1], y[1, m].size, planes, planes[1, m[:6], 0]


def turns_with_places_and_masks(x, label, w):
    v, held = w.copy(), label * 0
    for t in range(3):
        free = held == 0
        v[free] += (x.T[t, free] - v[free]) * 2
        fired = v >= 5
        v[fired] = 0
        held[fired] = 2
        held[~fired & (held > 0)] -= 1
    return v, held


def of_planes(x, label, w):
    y, m = x.reshape(2, 6, 3), (label == 1).reshape(2, 6)
    return y[m], y[m].mean(axis=0), y[m].sum(), (y[m] * 2).max(axis=0), y[m].shape


def filled(x, label, w):
    part = x[label == 1]
    one, row = np.full_like(part, w[:1]), np.full_like(part, x[0])
    return one.sum(), one.sum(axis=0), row.sum(), np.ones_like(part).sum(), (part - one).sum()


def means_of_groups(x, label, w):
    out, sizes = np.zeros((5, 3)), np.zeros(5)
    for k in range(5):
        members = x[label == k]
        sizes[k] = members.shape[0] + members.size
        if len(members):
            out[k] = members.mean(axis=0)
    return out, sizes


def scaled(x, label, w, factor=2, shift=0.5):
    m = label == 1
    x[m] = factor * x[m] + 1
    return shift + x[m].mean(axis=0), x[x > 1] * shift, (w[w > 4] / factor).sum()


PROGRAMS = [
    filled,
    scaled,
    options,
    centred,
    beside_rows,
    beside_others,
    products,
    other_products,
    turned_products,
    running,
    places_and_masks,
    turns_with_places_and_masks,
    stored,
    stored_thin,
    kept_from_stores,
    of_planes,
    means_of_groups,
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_programs_of_parts_under_masks(function, dtype):
    x = (X * 9).round().astype(dtype)  # whose sums are exact
    check(function, x, LABEL, (W * 9).astype(dtype), traced=None)


def test_a_part_that_numpy_refuses_is_refused():
    def wide(x, y):
        m = x[:, 0] > 0
        x[m] = y[m] + 0

    x, y = X[:, :1].copy(), X.copy()
    check(stored_thin, X.copy(), LABEL, W)
    for function in (wide, ck.jit(wide)):
        with pytest.raises(ValueError, match="shape mismatch|broadcast"):
            function(x.copy(), y)


@pytest.mark.parametrize(
    "function",
    [
        means_of_groups,
        centred,
        stored_thin,
        products,
        turns_with_places_and_masks,
    ],
)
def test_what_is_compiled(function):
    check(function, X, LABEL, W)


def test_parts_beside_arguments_that_are_python_numbers_are_compiled():
    check(scaled, X, LABEL, W * 9, 3, 0.25)
