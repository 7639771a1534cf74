"""Lasagne's example programs on made-up digits: run by ../run.py beside their code."""

import sys

import numpy as np
import pytest

sys.path.insert(0, "examples")


def digits():
    """What load_dataset gives, of ten patterns with noise."""
    rng = np.random.RandomState(0)
    patterns = rng.uniform(size=(10, 1, 28, 28)) > 0.8
    labels = rng.randint(0, 10, 1500).astype("uint8")
    noise = rng.uniform(size=(1500, 1, 28, 28)) > 0.9
    x = (patterns[labels] ^ noise).astype("float32")
    cut = slice(0, 500), slice(500, 1000), slice(1000, 1500)
    return [part for c in cut for part in (x[c], labels[c])]


@pytest.mark.parametrize("model", ["mlp", "custom_mlp:1,50,.2,.5", "cnn"])
def test_mnist(model, monkeypatch, capsys):
    import mnist

    monkeypatch.setattr(mnist, "load_dataset", digits)
    mnist.main(model, 3)
    loss = [line for line in capsys.readouterr().out.splitlines() if "training loss" in line]
    first, *_, last = (float(line.split()[-1]) for line in loss)
    assert last < first


def test_recurrent(monkeypatch):
    import recurrent

    monkeypatch.setattr(recurrent, "NUM_EPOCHS", 1)
    monkeypatch.setattr(recurrent, "EPOCH_SIZE", 2)
    monkeypatch.setattr(recurrent, "N_HIDDEN", 10)
    monkeypatch.setattr(recurrent, "N_BATCH", 10)
    recurrent.main(1)
