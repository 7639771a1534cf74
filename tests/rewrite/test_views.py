"""Patterns and their gradients meet behind views: reversals, slices, transposes, reshapes, gathers.

Each formula is written with a view in the middle, f(view(g(x))), with numbers at which it overflows
as it stands. The truth is a stable formula in NumPy, and the derivative by hand: a view is known by
where it takes its elements from. Then near misses: views that differ, and leave elements out.
"""

import numpy as np
import pytest

from ckernels import ops
from ckernels.autodiff.reverse import grad
from ckernels.graph.node import constant
from ckernels.ops.reference import evaluate
from ckernels.rewrite import optimise

from .helpers import placeholder

X = np.array([[0, 1000.0, -1000, 3], [800, -850, 0, 0.5]])
SMALL = np.array([[0.3, -1.5, 2.0, 0.1], [-0.7, 1.1, 0.0, 3.0]])
VIEWS = {
    "itself": lambda s: s,
    "rows reversed": lambda s: s[::-1],
    "columns reversed": lambda s: s[:, ::-1],
    "both reversed": lambda s: s[::-1, ::-1],
    "slice": lambda s: s[:, 1:3],
    "steps back": lambda s: s[:, ::-2],
    "slice of a reversal": lambda s: s[:, ::-1][:, 1:],
    "transpose": lambda s: s.T if isinstance(s, np.ndarray) else ops.transpose(s),
    "transposed reversal": lambda s: turned(s[::-1]),
    "reversed transpose": lambda s: turned(s)[::-1],
    "slice of a transpose": lambda s: turned(s)[1:3],
    "reshape": lambda s: shaped(s, (4, 2)),
    "reversed reshape": lambda s: shaped(s, (4, 2))[:, ::-1],
    "slice of a reshape": lambda s: shaped(s, (8, 1))[2:5],
    "axes in another order": lambda s: ordered(shaped(s, (2, 2, 2))),
    "rows": lambda s: s[np.array([1, 0])],
    "elements": lambda s: s[np.array([[0, 1, 1]]), np.array([[2, 0, 1]])],
}


def turned(s):
    return VIEWS["transpose"](s)


def shaped(s, shape):
    return s.reshape(shape) if isinstance(s, np.ndarray) else ops.reshape(s, shape)


def square(s):
    """Rows and columns of which there are as many."""
    return ops.reshape(s, (2, 2, 2))[:, 0]


def ordered(s):
    perm = (2, 0, 1)
    return s.transpose(perm) if isinstance(s, np.ndarray) else ops.transpose(s, perm)


def by_hand(x):
    e = ops.exp(x - ops.max(x, -1, keepdims=True))
    return e / ops.sum(e, -1, keepdims=True)


def sigmoid(x):
    return np.exp(-np.logaddexp(0, -x))


def log_softmax(x):
    return x - np.logaddexp.reduce(x, -1, keepdims=True)


def elementwise(value, slope):
    """The truth of a formula that is elementwise: its value, and its derivative by its operand."""
    return (
        lambda x, view: view(value(x)),
        lambda x, view: np.bincount(places(view), minlength=x.size).reshape(x.shape) * slope(x),
    )


def places(view):
    """Where a view of X takes its elements from."""
    return view(np.arange(X.size).reshape(X.shape)).ravel()


def softmax_slope(x, view):
    weights = np.bincount(places(view), minlength=x.size).reshape(x.shape)
    return weights - np.exp(log_softmax(x)) * weights.sum(-1, keepdims=True)


def logsumexp_slope(x, view):
    seen = view(x)
    return np.bincount(
        places(view), np.exp(log_softmax(seen)).ravel(), minlength=x.size
    ).reshape(x.shape)  # fmt: skip


SOFTMAX = (lambda x, view: view(log_softmax(x)), softmax_slope)
SIGMOID = elementwise(lambda x: -np.logaddexp(0, -x), lambda x: sigmoid(-x))
SOFTPLUS = elementwise(lambda x: np.logaddexp(0, x), sigmoid)
FORMULAS = {  # name: (inner, outer, (value, slope))
    "log(softmax)": (ops.softmax, ops.log, SOFTMAX),
    "log(softmax by hand)": (by_hand, ops.log, SOFTMAX),
    "log(sigmoid)": (ops.sigmoid, ops.log, SIGMOID),
    "log(sigmoid by hand)": (lambda x: 1 / (1 + ops.exp(-x)), ops.log, SIGMOID),
    "log(1 - sigmoid)": (
        ops.sigmoid,
        lambda s: ops.log(1 - s),
        elementwise(lambda x: -np.logaddexp(0, x), lambda x: -sigmoid(x)),
    ),
    "log(1 + exp)": (ops.exp, lambda s: ops.log(1 + s), SOFTPLUS),
    "log of (1 + exp)": (lambda x: 1 + ops.exp(x), ops.log, SOFTPLUS),
    "log(exp)": (ops.exp, ops.log, elementwise(lambda x: x, np.ones_like)),
    "quotient": (
        ops.exp,
        lambda e: e / (1 + e),
        elementwise(sigmoid, lambda x: sigmoid(x) * sigmoid(-x)),
    ),
    "log(sum(exp))": (
        ops.exp,
        lambda e: ops.log(ops.sum(e, -1)),
        (lambda x, view: np.logaddexp.reduce(view(x), -1), logsumexp_slope),
    ),
}


def rewritten(roots, x, value):
    with np.errstate(all="ignore"):
        return evaluate(optimise(roots), {x: value})


@pytest.mark.sampled(1)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_behind_views(name, view):
    inner, outer, (value, slope) = FORMULAS[name]
    x = placeholder("float64", X.shape, "x")
    root = outer(VIEWS[view](inner(x)))
    roots = [root, grad(ops.sum(root), x)]
    for numbers in (SMALL, X):
        got = rewritten(roots, x, numbers)
        wanted = value(numbers, VIEWS[view]), slope(numbers, VIEWS[view])
        np.testing.assert_allclose(got[0], wanted[0], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(got[1], wanted[1], rtol=1e-12, atol=1e-14)


WEIGHTS = np.random.default_rng(0).normal(size=12)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("axis", [-1, 0, (0, 1)])
@pytest.mark.parametrize("view", VIEWS)
def test_softmax_of_views(view, axis):
    """e / sum(e) where e is a view of exp(x), and its gradient."""
    x, look = placeholder("float64", X.shape, "x"), VIEWS[view]
    e = look(ops.exp(x))
    axis = axis if axis != (0, 1) else tuple(range(e.ndim))
    for mean in (False, True)[: 1 + (axis == -1)]:
        total = (ops.mean if mean else ops.sum)(e, axis, keepdims=True)
        for numbers in (SMALL, X):
            seen = look(numbers)
            weights = np.resize(WEIGHTS, seen.shape)
            root = e / total
            want = np.exp(seen - seen.max(axis, keepdims=True))
            want /= want.sum(axis, keepdims=True)
            slope = want * (weights - (want * weights).sum(axis, keepdims=True))
            slope = np.bincount(places(look), slope.ravel(), X.size).reshape(X.shape)
            count = seen.size / want.sum() if mean else 1  # elements of a softmax
            got = rewritten([root, grad(ops.sum(root * constant(weights)), x)], x, numbers)
            np.testing.assert_allclose(got[0], want * count, rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(got[1], slope * count, rtol=1e-11, atol=1e-13)


PARTS = {  # e and its sum, written apart: (numerator of e, axes, sum of e as it broadcasts there)
    "turned": lambda e: (ops.transpose(e), 1, ops.transpose(ops.sum(e, 0, keepdims=True))),
    "reversed": lambda e: (e[:, ::-1], 1, ops.sum(e, 1, keepdims=True)),
    "reversed rows": lambda e: (e[::-1], 1, ops.sum(e, 1, keepdims=True)[::-1]),
    "flat": lambda e: (ops.reshape(e, (-1,)), 0, ops.sum(ops.transpose(e)[:, ::-1])),
    "flat back": lambda e: (e, (0, 1), ops.sum(ops.reshape(e, (8,))[::-1])),
    "a row": lambda e: (e[1], 0, ops.sum(e, 1)[1]),
    "part": lambda e: (shaped(e, (8,))[1:7], 0, ops.sum(shaped(e, (8,))[6:0:-1])),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("before", ["itself", "columns reversed", "transpose", "reversed reshape"])
def test_softmax_where_sum_and_numerator_are_other_views(part, before):
    x = placeholder("float64", X.shape, "x")
    numerator, axis, total = PARTS[part](VIEWS[before](ops.exp(x)))
    (seen,) = evaluate([PARTS[part](VIEWS[before](x))[0]], {x: X})
    (got,) = rewritten([numerator / total], x, X)
    want = np.exp(seen - seen.max(axis, keepdims=True))
    np.testing.assert_allclose(got, want / want.sum(axis, keepdims=True), rtol=1e-12, atol=1e-14)


def named(roots):
    from ckernels.graph.walk import toposort

    return {n.op.name for n in toposort(optimise(roots))}


E, S = ops.exp, ops.sigmoid
INDEX = np.array([1, 0])
NEAR_MISSES = {
    "reversed above only": lambda x: E(x)[::-1] / (1 + E(x)),
    "reversed below only": lambda x: E(x) / (1 + E(x)[:, ::-1]),
    "other rows": lambda x: E(x)[::-1] / ops.sum(E(x), -1, keepdims=True),
    "other columns": lambda x: E(x)[:, ::-1] / ops.sum(E(x), 0, keepdims=True),
    "part of the sum": lambda x: E(x) / ops.sum(E(x)[:, 1:], -1, keepdims=True),
    "steps": lambda x: E(x)[:, ::-2] / ops.sum(E(x)[:, ::2], -1, keepdims=True),
    "turned sum": lambda x: ops.transpose(E(x)) / ops.sum(E(x)[:, :2], 0),
    "one sign": lambda x: ops.log(1 + S(x)[::-1]),
    "two views": lambda x: ops.log(E(x)[::-1] + E(x)),
    "log of a sum behind": lambda x: ops.log(ops.sum(E(x)[:, ::-1] * 2, -1) + 1),
    "not undone": lambda x: (1 / S(x)[::-1])[:, ::-1] * S(x),
    "undone half": lambda x: (1 / S(x)[::-1, ::-1])[::-1] * S(x),
    "another operand": lambda x: (x / S(x)[::-1])[::-1] * S(x),
    "scatter elsewhere": lambda x: ops.set_slice(
        ops.zeros_like(x), 1 / S(x)[:, 1:3], [WHOLE, (0, 2, 1)]) * S(x),
    "scatter of a reversal": lambda x: ops.set_slice(
        ops.zeros_like(x), 1 / S(x)[:, ::-1][:, 1:3], [WHOLE, (1, 3, 1)])[::-1] * S(x),
    "gather of other rows": lambda x: ops.take(E(x), constant(INDEX), 0) / (
        1 + ops.take(E(x), constant(INDEX[::-1].copy()), 0)),
    "broadcast": lambda x: ops.log(ops.reshape(E(x) + E(x[:1]), (8,))),
    "sum of another row": lambda x: E(x)[::-1, ::-1] / ops.sum(E(x)[:, ::-1], 1, keepdims=True),
    "sum of a row": lambda x: E(x)[0] / ops.sum(E(x)[1, ::-1]),
    "sum of other steps": lambda x: E(x)[:, 1::2] / ops.sum(
        E(x)[:, ::-2][:, ::-1][:, :1], 1, keepdims=True),
    "turned square": lambda x: square(E(x)) / ops.sum(
        ops.transpose(square(E(x))), 1, keepdims=True),
    "turned back": lambda x: ops.transpose(square(E(x)))[::-1] / ops.sum(square(E(x)), 0),
    "reshaped otherwise": lambda x: shaped(E(x), (4, 2)) / ops.sum(
        shaped(ops.transpose(E(x)), (4, 2)), 1, keepdims=True),
    "reshaped and cut": lambda x: shaped(E(x), (4, 2))[1:] / ops.sum(shaped(E(x), (4, 2))[:3], 0),
    "flat and cut": lambda x: shaped(E(x), (8,))[1:] / ops.sum(E(x)),
    "gathered sum of other rows": lambda x: ops.take(E(x), constant(INDEX), 0) / ops.sum(
        ops.take(E(x), constant(INDEX * 0), 0), 1, keepdims=True),
    "sum of other exps": lambda x: E(x)[:, ::-1] / ops.sum(E(x * 2)[:, ::-1], 1, keepdims=True),
    "exp of exp": lambda x: E(x)[:, ::-1] / ops.sum(E(E(x))[:, ::-1], 1, keepdims=True),
    "no exp": lambda x: E(x)[:, ::-1] / ops.sum(x[:, ::-1] + 9, 1, keepdims=True),
    "largest": lambda x: E(x[:, ::-1] - ops.max(x[:, :3], 1, keepdims=True)),
    "scattered with a sum": lambda x: ops.set_slice(
        ops.ones_like(x), 1 / S(x)[:, 1:3] - 2, [WHOLE, (1, 3, 1)]) * S(x),
    "scattered sum elsewhere": lambda x: ops.set_slice(
        ops.zeros_like(x), 1 / S(x)[:, 1:3] - 2, [WHOLE, (0, 2, 1)]) * S(x),
}  # fmt: skip
WHOLE = (None, None, 1)


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_misses_behind_views(name):
    x = placeholder("float64", SMALL.shape, "x")
    root = NEAR_MISSES[name](x)
    roots = [root, grad(ops.sum(ops.sin(root)), x)]
    got, want = rewritten(roots, x, SMALL), evaluate(roots, {x: SMALL})
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_reversals_that_are_undone_go_away():
    x = placeholder("float64", X.shape, "x")
    assert "slice" not in named([ops.exp(x[::-1] * 2)[::-1]])
    assert "slice" not in named([ops.sum(ops.exp(x)[:, ::-1], 1)])
    assert "slice" in named([ops.exp(x[::-1] * 2)[:, ::-1]])
    assert "slice" in named([ops.exp(x[::-2] * 2)[::-1]])


def test_axes_that_go_and_axes_that_come_are_no_equal_views():
    """Both have one axis less or more at the same place, and results of one rank."""
    x, s = placeholder("float64", (4, 1, 4), "x"), placeholder("float64", (4,), "s")
    product = ops.squeeze(ops.exp(x), (1,)) * ops.expand(ops.exp(s), (1,))
    given = {x: np.arange(16.0).reshape(4, 1, 4) / 9, s: np.arange(4.0)}
    (got,) = evaluate(optimise([product]), given)
    np.testing.assert_allclose(got, np.exp(given[x][:, 0] + given[s][:, None]), rtol=1e-14)
