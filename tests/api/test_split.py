"""split_updates: the two functions do what the one does; what cannot be divided is refused."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import ArgumentError, CKernelsWarning, DTypeError
from ckernels.bridges.checkpoint import CheckpointError, Checkpoints, read, write
from ckernels.bridges.replica import Replica, rows_of

RNG = np.random.default_rng(3)
X = RNG.normal(size=(48, 6)).astype("float32")
Y = RNG.normal(size=(48, 2)).astype("float32")


class Model:
    """A net with momentum, a clipped norm, a decayed rate, a running mean and a counter."""

    def __init__(self, mean=True, givens=False, cost=True):
        rng = np.random.default_rng(1)
        x, y = K.placeholder((None, 6), name="x"), K.placeholder((None, 2), name="y")
        rate = K.placeholder((), name="rate")
        w = K.variable(rng.normal(size=(6, 5)) * 0.4, name="w")
        v = K.variable(rng.normal(size=(5, 2)) * 0.4, name="v")
        m, t = K.zeros((6, 5), name="m"), K.variable(0.0, name="t")
        running = K.zeros((5,), name="running")
        h = K.tanh(K.dot(x, w))
        error = K.sum(K.square(K.dot(h, v) - y), axis=1)
        loss = K.mean(error) + 0.01 * K.sum(K.square(w)) if mean else K.sum(error)
        gw, gv = K.gradients(loss, [w, v])
        scale = K.minimum(1.0, 3.0 / K.sqrt(K.sum(K.square(gw)) + K.sum(K.square(gv))))
        moved = 0.9 * m + scale * gw
        rate_now = rate / (1 + 0.1 * t)
        self.f = K.function(
            [x, y, rate],
            [loss if cost else K.mean(K.square(h)), K.mean(h)],
            updates=[
                (m, moved),
                (w, w - rate_now * moved),
                (v, v - rate_now * scale * gv),
                (t, t + 1),
                (running, 0.9 * running + 0.1 * K.mean(h, axis=0)),
            ],
            givens=[(x, x * 1.0)] if givens else None,
        )
        self.variables, self.loss, self.gradients = [w, v, m, t, running], loss, [(w, gw), (v, gv)]

    def values(self):
        return [K.get_value(x) for x in self.variables]


def ulps(a, b):
    """The largest distance in units of the last place of the largest element."""
    return max(float(np.abs(p - q).max() / np.spacing(np.abs(p).max())) for p, q in zip(a, b))


def test_one_after_the_other_they_are_the_function():
    whole, parts = Model(), Model()
    split = K.split_updates(parts.f)
    assert [n.name for n in split.variables] == ["w", "v"]
    assert [n.name for n in split.statistics] == ["running"]
    assert split.shared == [2] and split.outputs == 2
    for step in range(3):
        expected = whole.f(X, Y, 0.1)
        before = parts.values()
        found = split.gradients(X, Y, 0.1)
        assert all(np.array_equal(a, b) for a, b in zip(before, parts.values()))
        assert np.array_equal(found[:2], expected)
        split.apply(*found[2:], 0.1)
        assert all(np.array_equal(a, b) for a, b in zip(whole.values(), parts.values())), step


def test_gradients_agree_with_finite_differences():
    model = Model()
    split = K.split_updates(model.f)
    w, base = model.variables[0], K.get_value(model.variables[0])
    gradient, step = split.gradients(X, Y, 0.1)[2], 1e-2
    bent = base.copy()
    found = []
    for sign in (1, -1):
        bent[1, 2] = base[1, 2] + sign * step
        K.set_value(w, bent)
        found.append(float(split.gradients(X, Y, 0.1)[0]))
    assert abs((found[0] - found[1]) / (2 * step) - gradient[1, 2]) < 2e-3


@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_replicas_are_equal_and_agree_with_one_machine(mean, size):
    whole, replicas = Model(mean), [Replica(Model(mean).f, mean) for _ in range(size)]
    for _ in range(4):
        expected = whole.f(X, Y, 0.02)
        inputs = [rows_of([X, Y, 0.02], rank, size) for rank in range(size)]
        parts = [r.part(r.checked(a)) for r, a in zip(replicas, inputs)]
        sums = [sum(p[1:], p[0]) for p in zip(*parts)]
        outputs = [r.apply(sums, a) for r, a in zip(replicas, inputs)]
        np.testing.assert_allclose(outputs[0], expected, rtol=2e-6)
        assert len({r.digest() for r in replicas}) == 1
    order = [c.name for c in replicas[0].cells]
    found = dict(zip(order, replicas[0].state()))
    named = [found[n] for n in ("w", "v", "m", "t", "running")]
    assert ulps(whole.values(), named) <= 16  # after 4 steps, of the largest element


def test_what_machines_add_lies_in_c_order():
    """They add it up as it lies: one whose rows lie otherwise would add other elements."""
    x = K.placeholder((None, 4, 3), dtype="float64")
    w = K.variable(np.ones((4, 3)), dtype="float64")
    seen = K.variable(np.zeros((4, 3)), dtype="float64")
    loss = K.mean(K.sum(K.square(x * w), axis=(1, 2)))
    updates = [(w, w - 0.1 * K.grad(loss, w)), (seen, K.mean(x, axis=0))]
    f = K.function([x], [loss], updates=updates, mode="compiled")
    straight = np.random.default_rng(0).normal(size=(8, 4, 3))
    turned = np.asfortranarray(straight)
    plain = K.function([x], K.mean(x, axis=0), mode="compiled")
    assert plain(turned).flags.f_contiguous
    replica, split = Replica(f), K.split_updates(f)
    for gives in (lambda a: replica.part([a]), lambda a: split.gradients(a)):
        for one, other in zip(gives(straight), gives(turned)):
            assert other.flags.c_contiguous
            np.testing.assert_allclose(one, other, 1e-12)


def test_costs_that_are_named_and_gradients_that_are():
    hidden = Model(cost=False)
    with pytest.raises(ArgumentError, match="no gradient of its scalar outputs.*cost="):
        K.split_updates(hidden.f)
    for options in (dict(cost=hidden.loss), dict(gradients=hidden.gradients)):
        assert [n.name for n in K.split_updates(hidden.f, **options).variables] == ["w", "v"]
    assert len(K.split_updates(Model(givens=True).f).variables) == 2
    with pytest.raises(ArgumentError, match="not part of the updates"):
        K.split_updates(Model().f, gradients=hidden.gradients)


def test_what_cannot_be_divided_is_refused():
    x, w = K.placeholder((None, 2), name="x"), K.variable([1.0, 2.0], name="w")
    count = K.variable(0, dtype="int64", name="count")
    loss = K.mean(K.dot(x, K.expand_dims(w)))
    g = K.grad(K.square(loss), w)
    loss = K.square(loss)

    def split(*updates, out=loss):
        return K.split_updates(K.function([x], out, updates=list(updates)))

    with pytest.raises(ArgumentError, match="updates no variable"):
        split()
    with pytest.raises(ArgumentError, match="update of w depends on the input x otherwise"):
        split((w, w - g * K.mean(K.square(x))))
    with pytest.raises(DTypeError, match="update of count .* int64 has no mean"):
        split((w, w - g), (count, count + K.shape(x)[0]))
    both = K.variable([0.0, 0.0], name="both")
    with pytest.raises(ArgumentError, match="update of both"):
        split((w, w - g), (both, g * K.mean(x, axis=0)))
    near = split((w, w - g), (both, K.mean(x, axis=0)))  # the near miss: a statistic
    assert [n.name for n in near.statistics] == ["both"]
    rows = K.function([x], [loss, x * 2], updates=[(w, w - g)])
    K.split_updates(rows)
    with pytest.raises(ArgumentError, match="output 1 .* is no scalar"):
        Replica(rows)
    with pytest.raises(TypeError, match="K.function"):
        K.split_updates(len)


# ---- states on the disk --------------------------------------------------------------------------


def test_a_checkpoint_is_whole_or_refused(tmp_path):
    arrays = [np.arange(6.0).reshape(2, 3), np.float32(2.5) * np.ones(()), np.zeros((0, 3), "int8")]
    folder = Checkpoints(tmp_path, every=2, keep=2)
    for step in (2, 4, 6):
        assert folder.due(step) and folder.save(step, [a + step for a in arrays])
    assert folder.steps() == [4, 6] and not folder.due(5)
    step, found = folder.latest()
    assert step == 6
    for a, b in zip(arrays, found):
        assert a.dtype == b.dtype and np.array_equal(a + 6, b)
    data = bytearray((tmp_path / "step-000000000006.ckpt").read_bytes())
    for place in range(0, len(data), 7):  # any flipped byte, and any cut, is found
        data[place] ^= 1
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(CheckpointError):
            read(tmp_path / "bad")
        data[place] ^= 1
        (tmp_path / "bad").write_bytes(data[:place])
        with pytest.raises(CheckpointError):
            read(tmp_path / "bad")
    (tmp_path / "step-000000000006.ckpt").write_bytes(data[:-1])
    with pytest.warns(CKernelsWarning, match="damaged.*taking the one before"):
        assert folder.latest()[0] == 4


def test_a_disk_that_is_full(tmp_path, monkeypatch):
    folder = Checkpoints(tmp_path)
    assert folder.save(1, [np.ones(4)])

    def full(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.warns(CKernelsWarning, match="No space left.*training goes on"):
        assert not folder.save(2, [np.ones(4)])
    with pytest.raises(CheckpointError, match="Earlier checkpoints are whole"):
        write(tmp_path / "step-000000000003.ckpt", 3, [np.ones(4)])
    assert folder.steps() == [1] and folder.latest()[0] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["step-000000000001.ckpt"]
    (tmp_path / f".step-{9:012d}.{'0' * 32}.tmp").write_bytes(b"of a killed writer")
    folder.clean()
    assert len(list(tmp_path.iterdir())) == 1


def test_a_state_of_another_model():
    replica = Replica(Model().f)
    state = replica.state()
    with pytest.raises(ArgumentError, match="that of another model"):
        replica.load(state[:-1], 3)
    with pytest.raises(ArgumentError, match="that of another model"):
        replica.load([s.astype("float64") for s in state], 3)
    replica.load(state, 3)
    assert replica.step == 3
    with pytest.raises(ArgumentError, match="takes 3 inputs"):
        replica.checked([X])
    with pytest.raises(ArgumentError, match="has 3 rows"):
        replica.checked([X, Y[:3], 0.1])
