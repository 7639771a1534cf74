"""What the conditions of choices guard: the work of gradients that is zero with one side, and only
that; what almost is keeps its value."""

import numpy as np
import pytest

import ckernels as K
from ckernels.graph.walk import toposort
from ckernels.ops.reference import evaluate
from ckernels.rewrite import optimise

X = np.array([0.5, 1.5, 2.5])


def place():
    c, d = (K.placeholder((), dtype="bool") for _ in range(2))
    return c, d, K.placeholder((3,), dtype="float64")


def outside(root):
    """Names of the ops that run whatever the conditions are."""
    return {n.op.name for n in toposort(optimise([root]))}


def values(root, leaves):
    """Of the graph as it is and rewritten, for all conditions."""
    for c in (False, True):
        for d in (False, True):
            given = dict(zip((n.node for n in leaves), (np.array(c), np.array(d), X)))
            yield c, d, evaluate([root], given)[0], evaluate(optimise([root]), given)[0]


def test_work_behind_a_zero_runs_with_its_side():
    """Backward through three ops: all of them wait for the condition."""
    c, d, x = leaves = place()
    y = K.sum(K.ifelse(c, K.log(K.cosh(K.exp(x) * 3.0)), x))
    g = K.gradients(y, [x])[0].node
    names = outside(g)
    assert "ifelse" in names and not names & {"exp", "tanh", "sinh", "cosh", "true_div"}
    for c, _, want, got in values(g, leaves):
        np.testing.assert_allclose(got, want, 1e-12)
        one = np.tanh(np.exp(X) * 3) * np.exp(X) * 3 if c else np.ones(3)
        np.testing.assert_allclose(got, one, 1e-12)


@pytest.mark.parametrize(
    "build, want",
    [
        (lambda c, d, x: K.ifelse(c, K.exp(x), 0 * x) + K.ifelse(d, 0 * x, K.sin(x)),
         lambda c, d: np.exp(X) * c + np.sin(X) * (not d)),
        (lambda c, d, x: K.ifelse(c, K.exp(x), 0 * x) + K.ifelse(c, K.sin(x), 0 * x),
         lambda c, d: (np.exp(X) + np.sin(X)) * c),
        (lambda c, d, x: K.ifelse(c, K.exp(x), 0 * x) + K.ifelse(c, 0 * x, K.sin(x)),
         lambda c, d: np.exp(X) if c else np.sin(X)),
        (lambda c, d, x: K.ifelse(c, K.zeros_like(x), K.exp(x)) * K.ifelse(d, x, K.zeros_like(x)),
         lambda c, d: np.exp(X) * X * (d and not c)),
        (lambda c, d, x: K.cos(K.ifelse(c, K.zeros_like(x), K.exp(x))),
         lambda c, d: np.cos(np.exp(X) * (not c))),
        (lambda c, d, x: K.maximum(K.ifelse(c, K.zeros_like(x), x), K.ifelse(c, K.ones_like(x), x)),
         lambda c, d: np.ones(3) if c else X),
        (lambda c, d, x: K.concatenate([K.ifelse(c, K.zeros_like(x), x)[:1],
                                        K.ifelse(d, K.zeros_like(x), x)[1:]]),
         lambda c, d: np.append(X[:1] * (not c), X[1:] * (not d))),
        (lambda c, d, x: K.ifelse(c, K.zeros_like(x), x) + K.sum(K.ifelse(c, x, K.zeros_like(x))),
         lambda c, d: X.sum() + 0 * X if c else X),
    ],
    ids=["two conditions", "one side of one", "two sides of one", "a product", "not zero at zero",
         "one of two", "parts", "of another shape"],
)  # fmt: skip
def test_sums_and_products_of_what_may_be_zero(build, want):
    leaves = place()
    for c, d, plain, got in values(build(*leaves).node, leaves):
        np.testing.assert_allclose(plain, want(c, d), 1e-12)
        np.testing.assert_allclose(got, want(c, d), 1e-12)


def test_choices_that_need_each_other_are_two_branches():
    """By one condition, side by side: one branch; one inside of what the other takes: both hold."""
    c, d, x = leaves = place()
    first = K.ifelse(c, K.exp(x), K.sin(x))
    for build, want in (
        (lambda: first + K.ifelse(c, K.cos(x), K.tanh(x)),
         lambda c: np.exp(X) + np.cos(X) if c else np.sin(X) + np.tanh(X)),
        (lambda: K.ifelse(c, K.cos(first), K.tanh(first)),
         lambda c: np.cos(np.exp(X)) if c else np.tanh(np.sin(X))),
        (lambda: K.ifelse(d, K.cos(first), K.tanh(first)), None),
    ):  # fmt: skip
        root = build().node
        for c_, _, plain, got in values(root, leaves):
            np.testing.assert_allclose(got, plain, 1e-12)
            if want is not None:
                np.testing.assert_allclose(got, want(c_), 1e-12)
        assert not outside(root) & {"exp", "sin", "choose"}


def test_what_is_read_where_it_ends_to_be_zero_waits_for_the_condition():
    """A product with a zero is that zero, whatever the factor would be: 0 * inf is not computed."""
    c, d, x = leaves = place()
    root = K.cos(K.ifelse(c, K.zeros_like(x), x) * K.exp(x)).node
    for c_, _, plain, got in values(root, leaves):
        want = np.cos(0 * X if c_ else X * np.exp(X))
        np.testing.assert_allclose(plain, want, 1e-12)
        np.testing.assert_allclose(got, want, 1e-12)
    given = {c.node: np.array(True), d.node: np.array(True), x.node: np.full(3, 1e3)}
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(evaluate(optimise([root]), given)[0], np.ones(3))
