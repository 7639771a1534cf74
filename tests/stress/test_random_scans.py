"""Loops made at random: compiled against the reference, and against the steps written out.

Each program has some sequences (with taps), states (with taps), results without state, weights,
maybe an early end, a direction, checkpoints or a loop inside; and gradients of first and second
order of a function of all of it. Batches of no samples and loops of no steps are among them: a
state after 0 steps is its first value.
"""

import numpy as np
import pytest

import ckernels as K

F, H = "float64", 3


class Program:
    """A random step, and the sequences and states it runs on."""

    def __init__(self, seed):
        self.r = r = np.random.RandomState(seed)
        self.steps = int(r.choice([0, 1, 2, 3, 5, 7]))
        self.batch = int(r.choice([0, 1, 2, 2]))
        self.seq_taps = [self.taps((-2, -1, 0, 0, 1, 2)) for _ in range(r.randint(0, 3))]
        self.state_taps = [sorted(self.taps((-3, -2, -1, -1))) for _ in range(r.randint(0, 3))]
        self.outs = r.randint(0 if self.state_taps else 1, 3)
        self.backwards = bool(r.randint(2))
        self.until = r.rand() < 0.2
        self.checkpoint = int(r.randint(1, 5)) if r.rand() < 0.3 else None
        if self.until:
            self.checkpoint = None
        self.nested = r.rand() < 0.2
        self.choices = r.randint(0, 10**6, size=60)
        self.of_numbers = [bool(r.rand() < 0.3) for _ in self.seq_taps]  # not of rows (batch, H)

    def taps(self, allowed):
        count = self.r.randint(1, 3)
        return list(dict.fromkeys(int(t) for t in self.r.choice(allowed, size=count)))

    def arrays(self):
        def numbers(*shape):
            return self.r.uniform(-1, 1, shape)

        spans = [max(t + [0]) - min(t + [0]) for t in self.seq_taps]
        row = (self.batch, H)
        seqs = [
            numbers(self.steps + span + self.r.randint(0, 2), *(() if alone else row))
            for span, alone in zip(spans, self.of_numbers)
        ]
        inits = [numbers(*row) if t == [-1] else numbers(-min(t), *row) for t in self.state_taps]
        return [*seqs, *inits, numbers(H, H), numbers(H, H), numbers(H), numbers()]

    def step(self, rows, weights):
        """Results of one step: new states, then further results, then a scalar."""
        b = weights[2]
        numbers = [n for n, taps in zip(self.of_numbers, self.seq_taps) for _ in taps]
        alone = [row for row, one in zip(rows, numbers) if one]
        rows = [row for row, one in zip(rows, numbers) if not one] + rows[len(numbers) :]
        zeros = K.zeros_like(rows[0]) if rows else K.zeros((self.batch, H), F)
        pool = [*rows, b + zeros]
        for row in alone:
            pool.append(pool[-1] * K.exp(-row) + K.tanh(row))
        picks = iter(self.choices)
        for _ in range(6):
            kind, i, j = (int(next(picks)) for _ in range(3))
            x, y = pool[i % len(pool)], pool[j % len(pool)]
            pool.append(self.operation(kind % 13, x, y, weights))
        outs = [pool[int(next(picks)) % len(pool)] for _ in range(self.outs)]
        states = [K.tanh(pool[-1 - k] + pool[k % len(pool)]) for k in range(len(self.state_taps))]
        return states, outs, K.sum(pool[-1])

    def operation(self, kind, x, y, weights):
        w, v, b, s = weights
        return [
            lambda: K.tanh(K.dot(x, w) + y),
            lambda: K.dot(x, v) * 0.5,
            lambda: x * y,
            lambda: K.sigmoid(x + b),
            lambda: K.sin(x * s),
            lambda: x - 0.5 * y,
            lambda: K.softmax(x),
            lambda: x * K.sum(y) * 0.2,
            lambda: K.exp(K.tanh(x) * s),
            lambda: K.concatenate([x[:, 1:], y[:, :1]], 1),
            lambda: K.dot(x, K.transpose(w)),
            lambda: K.maximum(x, y),
            lambda: self.inner(x, s) if self.nested else K.cos(x),
        ][kind]()

    @staticmethod
    def inner(x, s):
        rows, _ = K.scan(lambda r, h: K.tanh(r * s + h), x, K.zeros((H,), F))
        return rows

    def looped(self, tensors):
        n = len(self.seq_taps)
        seqs = [dict(input=x, taps=t) for x, t in zip(tensors, self.seq_taps)]
        inits = [dict(initial=x, taps=t) for x, t in zip(tensors[n:], self.state_taps)]
        weights = tensors[n + len(inits) :]

        def step(*rows):
            states, outs, total = self.step(list(rows), weights)
            found = [*states, *outs]
            return (found, K.until(total > 0.7)) if self.until else found

        rows, _ = K.scan(
            step,
            seqs,
            inits + [None] * self.outs,
            n_steps=self.steps,
            go_backwards=self.backwards,
            return_list=True,
            checkpoint=self.checkpoint,
        )
        return rows, [x[-1] for x in rows[: None if self.steps else len(self.state_taps)]]

    def written_out(self, tensors):
        """The same, step by step; without an early end."""
        n = len(self.seq_taps)
        seqs, weights = tensors[:n], tensors[n + len(self.state_taps) :]
        past = [
            [x] if t == [-1] else [x[k] for k in range(-min(t))]
            for x, t in zip(tensors[n:], self.state_taps)
        ]
        found = [[] for _ in range(len(past) + self.outs)]
        for t in range(self.steps):
            rows = []
            for x, taps in zip(seqs, self.seq_taps):
                low, high = min(taps + [0]), max(taps + [0])
                last = K.int_shape(x)[0] - (high - low) - 1
                at = last - t if self.backwards else t
                rows += [x[at + tap - low] for tap in taps]
            for history, taps in zip(past, self.state_taps):
                rows += [history[tap] for tap in taps]
            states, outs, _ = self.step(rows, weights)
            for history, new in zip(past, states):
                history.append(new)
            for rows, new in zip(found, [*states, *outs]):
                rows.append(new)
        none = K.zeros((0, self.batch, H), F)
        ends = [history[-1] for history in past] + [rows[-1] for rows in found[len(past) :] if rows]
        return [K.stack(rows, 0) if rows else none for rows in found], ends


def results(found, tensors):
    """The rows, a cost that reads all of them and the last ones again, its gradients, and a second
    derivative."""
    rows, ends = found
    cost = sum(K.sum(K.sin(x * (k + 1.0))) for k, x in enumerate(rows))
    cost = cost + sum(K.sum(end) * 0.5 for end in ends)
    grads = K.gradients(cost, tensors, disconnected="zero")
    mixed = sum(K.sum(K.square(g)) for g in grads)
    return [*rows, cost, *grads, *K.gradients(mixed, tensors[-4:], disconnected="zero")]


def parts(rows, tensors, r):
    """Some rows of each result, and the gradients of a function of these rows."""
    some = []
    for x in rows:
        low, high = sorted(r.randint(-8, 9, size=2))
        some.append(
            x[
                [slice(low, None), slice(None, high), slice(low, high), slice(high, low, -2)][
                    r.randint(4)
                ]
            ]
        )
    cost = sum(K.sum(K.sin(x)) for x in some)
    return [*some, *K.gradients(cost, tensors, disconnected="zero")]


def check_parts(seed, monkeypatch):
    """Loops of which only some rows are read, all made two where that stores fewer."""
    monkeypatch.setattr("ckernels.rewrite.scan.prune.WORTH", 0)
    program = Program(seed)
    arrays = program.arrays()
    tensors = [K.placeholder(a.shape, dtype=F) for a in arrays]
    found = parts(program.looped(tensors)[0], tensors, program.r)
    count = len(program.state_taps) + program.outs
    want = K.function(tensors, found, mode="reference", on_unused_input="ignore")(*arrays)
    for some in (slice(None), slice(count), slice(1), slice(count, None)):
        f = K.function(tensors, found[some], mode="compiled", on_unused_input="ignore")
        for a, b in zip(f(*arrays), want[some]):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


def check(seed):
    program = Program(seed)
    arrays = program.arrays()
    for static in (True, False):
        tensors = [K.placeholder(a.shape if static else (None,) * a.ndim, dtype=F) for a in arrays]
        found = results(program.looped(tensors), tensors)
        want = K.function(tensors, found, mode="reference", on_unused_input="ignore")(*arrays)
        if static and not program.until:
            by_hand = results(program.written_out(tensors), tensors)
            f = K.function(tensors, by_hand, mode="reference", on_unused_input="ignore")
            for a, b in zip(want, f(*arrays)):
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
        got = K.function(tensors, found, mode="compiled", on_unused_input="ignore")(*arrays)
        for a, b in zip(got, want):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
        few = K.function(tensors, found[:1] + found[-1:], mode="compiled", on_unused_input="ignore")
        for a, b in zip(few(*arrays), (want[0], want[-1])):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


# The last one: a loop in a loop of no steps, whose sizes a rewrite put together.
@pytest.mark.sampled(0)
@pytest.mark.parametrize("seed", [*range(6), 891359686])
def test_random_loops(seed):
    check(seed)


@pytest.mark.sampled(0)
@pytest.mark.parametrize("seed", range(4))
def test_some_rows_of_random_loops(seed, monkeypatch):
    check_parts(seed, monkeypatch)


def test_the_generator_reaches_loops_of_nothing():
    found = [(p.steps > 0, p.batch > 0, any(p.of_numbers)) for p in map(Program, range(300))]
    assert len(set(found)) == 8


def with_seeds(check, first, count):
    for seed in range(first, first + count):
        try:
            check(seed)
        except Exception as problem:
            raise AssertionError(f"seed {seed}") from problem


@pytest.mark.slow
def test_some_rows_of_many_random_loops(many, new_seed, monkeypatch):
    with_seeds(lambda seed: check_parts(seed, monkeypatch), new_seed, many // 50)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_random_loops(many, new_seed, part):
    with_seeds(check, new_seed, many // 10)
