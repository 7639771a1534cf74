"""The Boltzmann machine of examples/rbm_mnist.py: its estimates against sums over all states."""

import importlib
import itertools
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import ckernels as K

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def rbm():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        yield importlib.import_module("rbm_mnist")
    for name in ("rbm_mnist", "mlp_digits"):
        sys.modules.pop(name, None)


def machine_of(rbm, visible, hidden, scale, seed=0):
    rng = np.random.default_rng(seed)
    machine = rbm.Machine(rng.uniform(0.2, 0.8, visible), hidden, rng)
    K.set_value(machine.w, rng.normal(0, scale, (visible, hidden)))
    K.set_value(machine.c, rng.normal(0, scale, hidden))
    return machine


def states(n):
    return np.array(list(itertools.product([0, 1], repeat=n)), "float64")


def exact_log_z(machine):
    w, b, c = (K.get_value(p).astype("float64") for p in machine.parameters)
    h = states(len(c))
    terms = h @ c + np.logaddexp(0, h @ w.T + b).sum(1)
    return np.logaddexp.reduce(terms)


def test_annealed_importance_sampling(rbm):
    K.set_random_seed(1)
    machine = machine_of(rbm, 12, 8, 1.0)
    means = np.full(12, 0.4)
    rng = np.random.default_rng(2)
    log_z, low, high = rbm.log_partition(machine, means, 300, 400, rng)
    exact = exact_log_z(machine)
    assert low < exact < high and abs(log_z - exact) < 0.1
    v = states(12).astype("float32")
    mean_of = rbm.log_likelihood(machine, exact)
    w, b, c = (K.get_value(p).astype("float64") for p in machine.parameters)
    per_state = v @ b + np.logaddexp(0, v @ w + c).sum(1) - exact
    assert abs(np.exp(per_state).sum() - 1) < 1e-5
    assert abs(mean_of(v[:50]) - per_state[:50].mean()) < 1e-4


def test_pseudo_likelihood(rbm):
    K.set_random_seed(4)
    machine = machine_of(rbm, 10, 5, 0.7)
    v = states(10).astype("float32")[::17]
    w, b, c = (K.get_value(p).astype("float64") for p in machine.parameters)

    def energy(x):
        return -(x @ b) - np.logaddexp(0, x @ w + c).sum(1)

    exact = 0
    for i in range(10):
        flipped = v.copy()
        flipped[:, i] = 1 - flipped[:, i]
        exact = exact - np.logaddexp(0, energy(v) - energy(flipped))
    look = rbm.monitor(machine)
    draws = [float(look([v])[1]) for _ in range(200)]
    assert abs(np.mean(draws) - exact.mean()) < 5 * np.std(draws) / 200**0.5
    h = 1 / (1 + np.exp(-(v @ w + c)))
    back = 1 / (1 + np.exp(-(h @ w.T + b)))
    np.testing.assert_allclose(look([v])[0], ((v - back) ** 2).mean(), rtol=1e-5)


@pytest.mark.parametrize("persistent", [False, True])
def test_training_raises_the_exact_likelihood(rbm, persistent):
    K.set_random_seed(5)
    rng = np.random.default_rng(6)
    bars = [np.kron(row, np.ones(3)) for row in np.eye(4)]
    images = np.array(bars, "float32")[rng.integers(0, 4, 400)]
    machine = rbm.Machine(images.mean(0), 6, rng)
    settings = rbm.Settings(hidden=6, epochs=1, batch=20, k=3, rate=0.2, decay=1e-4)
    chains = K.variable(images[:20]) if persistent else None
    train = rbm.training_step(machine, settings, chains)

    def likelihood():
        return rbm.log_likelihood(machine, exact_log_z(machine))(images)

    before = likelihood()
    for step in range(800):  # a falling rate lets persistent chains catch up
        rate = np.float32(0.2 * (1 - step / 800))
        train([images[rng.integers(0, 400, 20)], rate, np.float32(0.5)])
    assert before < -6 and likelihood() > -2.8  # four equal patterns alone: -1.39
    if persistent:
        assert set(np.unique(K.get_value(chains))) <= {0.0, 1.0}


def test_gradient_is_that_of_the_free_energies(rbm):
    """One step without momentum moves the parameters by rate * (<v h>_data - <v h>_model)."""
    K.set_random_seed(7)
    machine = machine_of(rbm, 5, 3, 0.5)
    chains = K.variable(np.random.default_rng(8).integers(0, 2, (10, 5)).astype("float32"))
    settings = rbm.Settings(hidden=3, epochs=1, batch=10, k=2, rate=0.1, decay=0.01)
    train = rbm.training_step(machine, settings, chains)
    v = np.random.default_rng(9).integers(0, 2, (10, 5)).astype("float32")
    w, b, c = (K.get_value(p).astype("float64") for p in machine.parameters)
    train([v, np.float32(0.1), np.float32(0.5)])
    end = K.get_value(chains)

    def hidden(x):
        return 1 / (1 + np.exp(-(x @ w + c)))

    steps = [
        (v.T @ hidden(v) - end.T @ hidden(end)) / 10 - 0.01 * w,
        (v - end).mean(0),
        (hidden(v) - hidden(end)).mean(0),
    ]
    for p, old, step in zip(machine.parameters, (w, b, c), steps):
        np.testing.assert_allclose(K.get_value(p), old + 0.1 * step, rtol=1e-4, atol=1e-6)


def test_samples_follow_the_distribution(rbm):
    K.set_random_seed(10)
    machine = machine_of(rbm, 4, 3, 0.6)
    v = states(4).astype("float32")
    exact = np.exp(-K.function([], machine.free_energy(K.constant(v)))().astype("float64"))
    exact /= exact.sum()
    sample = rbm.sampler(machine)
    p = sample([np.zeros((20_000, 4), "float32"), np.int32(20)])
    assert p.shape == (20_000, 4) and p.min() > 0 and p.max() < 1
    np.testing.assert_allclose(p.mean(0), exact @ v, atol=0.02)


def test_pictures(rbm, tmp_path):
    sheet = rbm.mosaic(np.random.default_rng(0).random((7, 9)), columns=3)
    assert sheet.shape == (3 * 4 + 1, 3 * 4 + 1) and sheet[0].max() == 0 and sheet.max() == 1
    path = tmp_path / "x.png"
    rbm.write_png(path, sheet, scale=2)
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR" and data[-8:-4] == b"IEND"
    assert struct.unpack(">II", data[16:24]) == (26, 26)
    at = data.index(b"IDAT")
    (length,) = struct.unpack(">I", data[at - 4 : at])
    lines = np.frombuffer(zlib.decompress(data[at + 4 : at + 4 + length]), np.uint8)
    lines = lines.reshape(26, 27)
    assert not lines[:, 0].any()
    want = (sheet * 255).astype(np.uint8).repeat(2, 0).repeat(2, 1)
    np.testing.assert_array_equal(lines[:, 1:], want)


def test_loading_thresholds_at_half(rbm):
    data = rbm.load(rbm.DIGITS)
    assert data["train"].shape == (1257, 64) and set(np.unique(data["test"])) == {0.0, 1.0}
