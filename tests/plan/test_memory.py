"""The arena: buffers that live at the same time never overlap, whatever their sizes become."""

import random

import numpy as np
import pytest

from ckernels.plan.memory import ALIGN, Arena, arrange, piled

_runtime = pytest.importorskip("ckernels._runtime", reason="the C runtime was not built")


class Made:
    """A step that reads and writes some buffers."""

    kind, depth, body = 0, 0, ()

    def __init__(self, reads, writes, inplace=()):
        self.reads, self.writes, self.inplace = reads, writes, list(inplace)


def program(rng, count):
    """Random steps, each of which writes one buffer and reads some made before."""
    steps, names = [], []
    for k in range(count):
        reads = rng.sample(names[-12:], min(len(names), rng.randrange(4)))
        names.append(("tmp", k))
        inplace = [(names[-1], r) for r in reads] if rng.random() < 0.3 else []
        steps.append(Made(reads, [names[-1]], inplace))
    return steps, names


def spans_of(steps):
    live = {}
    for k, step in enumerate(steps):
        for b in step.reads + step.writes:
            live.setdefault(b, [k, k])[1] = k
    return live


@pytest.mark.parametrize("seed", range(60))
def test_buffers_keep_apart_for_any_sizes(seed):
    rng = random.Random(seed)
    steps, names = program(rng, rng.randrange(1, 80))
    sizes = {b: rng.choice([1, 64, 100, 4096, 5000]) for b in names}
    arena, live = arrange(steps, sizes), spans_of(steps)
    for _ in range(5):
        offsets, total = arena.offsets([sizes[b] for b in arena.names])
        for i, a in enumerate(names):
            assert offsets[a] % ALIGN == 0 and offsets[a] + sizes[a] <= total
            for b in names[:i]:
                together = live[a][0] <= live[b][1] and live[b][0] <= live[a][1]
                shared = arena.host.get(a, a) == arena.host.get(b, b)
                assert (
                    not together
                    or shared
                    or offsets[a] + sizes[a] <= offsets[b]
                    or offsets[b] + sizes[b] <= offsets[a]
                )
        change = {b: rng.choice([1, 63, 64, 65, 9000, 100000]) for b in names}
        sizes = {b: change[arena.host.get(b, b)] for b in names}


def test_sizes_in_proportion_need_no_more_in_proportion():
    rng = random.Random(1)
    steps, names = program(rng, 200)
    sizes = {b: 64 * rng.randrange(1, 50) for b in names}
    arena = arrange(steps, sizes)
    small = arena.offsets([sizes[b] for b in arena.names])[1]
    assert arena.offsets([8 * sizes[b] for b in arena.names])[1] == 8 * small


def test_the_pile_has_an_edge_for_each_pair_of_neighbours():
    assert piled([[0, 3], [1, 2], [1, 4], [3, 5]], [0, 64, 128, 64]) == [
        [],
        [0],
        [1, 3],
        [0],
    ] or piled([[0, 3], [1, 2], [3, 5], [1, 4]], [0, 64, 64, 128]) == [[], [0], [0], [0, 1, 2]]


def test_sizes_beyond_the_machine_are_refused():
    assert _runtime.stack(np.array([2**62]), np.array([0, 0]), np.zeros(0, np.int64)) is None
    with pytest.raises(ValueError):
        _runtime.stack(np.array([8]), np.array([0]), np.zeros(0, np.int64))
    assert Arena([], [], []).offsets([]) == ({}, 0)
