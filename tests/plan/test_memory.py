"""The arena: buffers that live at the same time never overlap, whatever their sizes become."""

import random

import numpy as np
import pytest

import ckernels as K
from ckernels.graph.sizes import Written
from ckernels.plan.instructions import Scan, flatten
from ckernels.plan.memory import ALIGN, Arena, arrange, keep_apart, lifetimes, overwrite, piled

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


def test_a_buffer_is_taken_over_by_one_result():
    """Though two of a step, or of two steps, could take it; a result of another size cannot."""
    a, b, c, d = (("tmp", k) for k in range(4))
    sizes = {a: 64, b: 64, c: 64, d: 32}
    steps = [Made([], [a]), Made([a], [b, c], [(b, a), (c, a)]), Made([b, c], [d], [(d, c)])]
    live = lifetimes(steps)
    assert overwrite(steps, sizes, live) == {b: a} and live[a] == [0, 2]
    steps = [Made([], [a]), Made([a], [b], [(b, a)]), Made([b, a], [c], [(c, a)])]
    live = lifetimes(steps)
    assert overwrite(steps, sizes, live) == {c: a} and live[b] == [1, 2]


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


# ---- arenas of nets, beside what liveness makes unavoidable --------------------------------------


def residual(images):
    h = images
    for _ in range(4):
        w, scale = K.variable(np.ones((3, 3, 8, 8))), K.variable(np.ones(8))
        y = K.conv2d(h, w, padding="same", data_format="channels_last")
        mean, variance = K.mean(y, [0, 1, 2]), K.var(y, [0, 1, 2])
        h = K.relu((y - mean) / K.sqrt(variance + 1e-5) * scale + h)
        yield w, scale
    yield K.mean(K.square(h)), None


def attention(h):
    for _ in range(2):
        q, k, v, o = (K.variable(np.ones((16, 16)) / 16) for _ in range(4))
        scores = K.softmax(K.batch_dot(K.dot(h, q), K.dot(h, k), [2, 2]))
        h = h + K.dot(K.batch_dot(scores, K.dot(h, v), [2, 1]), o)
        h = (h - K.mean(h, -1, keepdims=True)) / (K.std(h, -1, keepdims=True) + 0.1)
        yield from ((q, k), (v, o))
    yield K.mean(K.square(h)), None


def recurrent(x):
    w, u = K.variable(np.ones((6, 32)) / 9), K.variable(np.ones((8, 32)) / 9)

    def step(x, h, c):
        i, f, a, o = (z for z in K.split(K.dot(x, w) + K.dot(h, u), 4, 1))
        c = K.sigmoid(f) * c + K.sigmoid(i) * K.tanh(a)
        return K.sigmoid(o) * K.tanh(c), c

    zero = K.zeros_like(K.dot(x[0], u[:6, :8]))
    h = K.scan(step, sequences=[x], outputs_info=[zero, zero])[0][0]
    yield w, u
    yield K.mean(K.square(h[-1])) + K.sum(h), None


NETS = [
    (residual, (None, 12, 12, 8), [(8,), (6,), (12,), (5,)]),
    (attention, (None, None, 16), [(4, 10), (3, 10), (5, 9), (6, 14)]),
    (recurrent, (None, None, 6), [(9, 4), (30, 4), (7, 5), (5, 3)]),
]


def unavoidable(live, sizes):
    """The most bytes that live at one moment."""
    changes = []
    for buffer, (first, last) in live.items():
        n = -(-sizes[buffer] // ALIGN) * ALIGN
        changes += [(first, 0, n), (last, 1, -n)]
    return max(np.cumsum([n for _, _, n in sorted(changes)]))


@pytest.mark.parametrize("net, shape, others", NETS, ids=lambda x: getattr(x, "__name__", ""))
def test_arenas_are_hardly_larger_than_what_lives_at_once(net, shape, others):
    """For the sizes a plan was made for, and for others of its class."""
    x = K.placeholder(shape)
    *pairs, (loss, _) = net(x)
    parameters = [p for pair in pairs for p in pair]
    moments = [K.zeros(K.int_shape(p)) for p in parameters]
    updates = []
    for p, m, g in zip(parameters, moments, K.gradients(loss, parameters)):
        updates += [(m, 0.9 * m + g), (p, p - 0.1 * (0.9 * m + g))]
    program = K.function([x], loss, updates=updates).info.program
    sizes_of = [iter(sizes) for sizes in others]
    shapes = [tuple([n or next(new) for n in shape]) for new in sizes_of]
    program.bound = program.shapes_of([np.empty(shapes[0], "f")])
    draft = program.drafted("lower")
    instructions, sizes = flatten(draft.instructions), draft.buffer_sizes
    arena, live = arrange(instructions, sizes), lifetimes(instructions)
    host = overwrite(instructions, sizes, live)
    keep_apart(instructions, live)
    live = {b: span for b, span in live.items() if b not in host}
    for symbols in others:
        written = Written(draft.sizes)
        rows = [written.number(sizes[b]) for b in arena.names]
        code, asked = np.array(written.code), np.array(written.assumed).reshape(-1, 2)
        found = _runtime.sizes(code, np.array(written.args, np.int64), asked, np.array(symbols))
        assert found is not None, "another class"
        now = found[rows].tolist()
        total = arena.offsets(now)[1]
        least = unavoidable(live, dict(zip(arena.names, now)))
        assert least <= total <= 1.1 * least, (symbols, total / least)


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


def test_what_a_loop_shares_with_its_outside_lives_through_all_of_its_steps():
    """But for what each step makes anew: that ends with the last that reads it."""
    a, b, c, t, u, out = (("tmp", k) for k in range(6))
    loop = Scan.__new__(Scan)
    vars(loop).update(reads=[], writes=[], body=[Made([], [])] * 3)
    steps = [Made([], [a]), Made([], [b]), loop, Made([a], [t]), Made([t], [u]),
             Made([u, b], [c]), Made([c], [out]), Made([("in", 0)], [])]  # fmt: skip
    assert lifetimes(steps) == {
        a: [0, 5.5],
        b: [1, 5.5],
        t: [3, 4],
        u: [4, 5],
        c: [2, 6],
        out: [6, 6],
    }
