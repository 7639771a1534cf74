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
