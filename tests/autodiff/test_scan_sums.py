"""Sums over the steps of a gradient: which rows two terms of a sum have in common."""

import itertools

import numpy as np

import ckernels as K
from ckernels.autodiff import scan_sums
from ckernels.graph.walk import toposort


def test_spans_of_rows_meet_as_sets_of_rows_do():
    """Spans are all rows, the first of them or those behind; beside Python's slices of 9 rows."""
    rows = range(9)
    spans = [(None, None), *((None, k) for k in (2, 5)), *((k, None) for k in (2, 5, 7))]
    spans += [scan_sums._meet(a, b) for a, b in itertools.product(spans, repeat=2)]
    for a, b in itertools.product([s for s in spans if s], repeat=2):
        found = scan_sums._meet(a, b)
        want = set(rows[slice(*a)]) & set(rows[slice(*b)])
        assert set(rows[slice(*found)] if found else ()) == want, (a, b)
        assert found is None or want, (a, b)  # None says that there is none


def rows_of_the_gradient(build, *shapes):
    """(results with a row for each step, others) of the scan that the gradient of a loop over 5
    rows is, with respect to all but these rows; the gradient is that of differences."""
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=s) for s in ((5, 3, 4), (3, 4), *shapes)]
    x, first, *weights = leaves = [K.placeholder(a.shape, dtype="float64") for a in arrays]
    cost = K.sum(K.square(K.scan(lambda row, h: build(row, h, *weights), x, first)[0]))
    slopes = K.gradients(cost, weights)
    f, g = K.function(leaves, cost), K.function(leaves, slopes)
    for k, slope in enumerate(g(arrays), 2):
        step = 1e-5 * rng.normal(size=arrays[k].shape)
        ends = [f([*arrays[:k], arrays[k] + s * step, *arrays[k + 1 :]]) for s in (1, -1)]
        np.testing.assert_allclose(2 * np.sum(slope * step), ends[0] - ends[1], rtol=1e-6)
    last = [n for n in toposort([s.node for s in slopes]) if n.op.name == "scan"][-1]
    shapes = [shape for _, shape in last.outs]
    return sum(s[:1] == (5,) for s in shapes), len(shapes)


def test_sums_are_taken_after_the_scan_of_rows_that_are_stored_anyway():
    def layer(x, h, w, u, b):
        return K.tanh(K.dot(x, w) * h + K.dot(h, u) + b)

    # Slopes of both products and of what is added, and of the states: none for a sum.
    assert rows_of_the_gradient(layer, (4, 4), (4, 4), (4,)) == (4, 6)


def test_sums_of_what_no_step_stores_are_taken_step_by_step():
    assert rows_of_the_gradient(lambda x, h, b: K.tanh(x * h + b), (4,)) == (3, 6)
    # Of two products one has a factor that stays the same: the sum of the other alone has its rows.
    product = rows_of_the_gradient(lambda x, h, u, w: K.tanh(K.dot(u, w + h) * x), (3, 3), (3, 4))
    assert product == (5, 8)


def test_weights_in_a_shape_that_rows_decide():
    """What a slope goes back through reads the size of a row, which there is in a step alone."""
    x, h, w = (K.placeholder((None,) * n, dtype="float64") for n in (3, 2, 1))

    def step(row, state, w):
        n = K.shape(row)[1]
        square = K.reshape(K.reshape(w, (n, -1)), (n, n))
        return K.tanh(row * state + K.dot(row, square))

    cost = K.sum(K.square(K.scan(step, x, h, [w])[0]))
    f, g = K.function([x, h, w], cost), K.function([x, h, w], K.grad(cost, w))
    rng = np.random.default_rng(2)
    rows, first, weights = rng.normal(size=(5, 3, 4)), rng.normal(size=(3, 4)), rng.normal(size=16)
    change = 1e-5 * rng.normal(size=16)
    ends = [f(rows, first, weights + s * change) for s in (1, -1)]
    slope = g(rows, first, weights)
    np.testing.assert_allclose(2 * np.sum(slope * change), ends[0] - ends[1], rtol=1e-5)
