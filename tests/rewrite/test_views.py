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
from ckernels.reference import evaluate
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
