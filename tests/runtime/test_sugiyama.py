"""Where boxes and arrows lie: arrows go down, and no arrow runs behind a box."""

import numpy as np
import pytest

import ckernels as K
from ckernels.runtime import picture, sugiyama


def nets(count, seed):
    """A view of a random graph of about `count` operations whose arrows lead far."""
    pool = [K.placeholder((None,), name="x")]
    rng = np.random.default_rng(seed)
    while len(pool) < count:
        a, b = (pool[-1 - int(k)] for k in rng.integers(0, len(pool), 2))
        pool.append(K.tanh(a) + b if rng.uniform() < 0.5 else K.exp(a) * b)
    return picture.written("random", [t.node for t in pool[-9:]]).placed()


@pytest.mark.parametrize("count, seed", [(2, 0), (30, 1), (300, 2), (600, 3)])
def test_no_arrow_runs_behind_a_box(count, seed):
    view = nets(count, seed)
    rows = {}
    for b in view.boxes:
        rows.setdefault(b["y"], []).append(b)
    lines, crossed = sorted(rows), 0
    assert len(view.ways) == len(view.arrows)
    for (a, b), way in zip(view.arrows, view.ways):
        start, end = view.boxes[a]["y"], view.boxes[b]["y"]
        between = [y for y in lines if start < y < end]
        passed = [x for x, count in way for _ in range(count)]
        assert start < end and len(passed) == len(between)
        for x, y in zip(passed, between):
            crossed += 1
            assert x >= 0
            assert all(abs(box["x"] - x) >= box["w"] / 2 + 1 for box in rows[y])
    assert crossed > 100 or count < 300
    assert all(box["x"] >= box["w"] / 2 - 0.1 for box in view.boxes)


@pytest.mark.parametrize(
    "x, place",
    [
        (-50, -50),  # beside all
        (-3, -6),  # too near to the first: 6 before it
        (2, -6),  # in the first, near its left end
        (9, 13),  # in the first, near the narrow gap: its middle
        (13.5, 13),  # in the narrow gap
        (40, 40),  # in the wide gap
        (31, 36),  # in it, too near to the box before
        (95, 94),  # in the wide gap, too near to the last
        (200, 200),
    ],
)
def test_the_nearest_free_place_of_a_row(x, place):
    spans = [(0, 10), (16, 30), (100, 120)]
    assert sugiyama.passed(spans, x) == place


def test_a_row_of_one_box_is_passed_on_the_nearer_side():
    assert sugiyama.passed([(0, 100)], 30) == -6
    assert sugiyama.passed([(0, 100)], 70) == 106


def test_nothing_and_one_box_have_places():
    sugiyama.layered([], [])
    assert sugiyama.routed([], []) == []
    box = {"w": 60}
    sugiyama.layered([box], [])
    assert (box["x"], box["y"]) == (30, 17)
