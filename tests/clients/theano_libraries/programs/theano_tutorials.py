"""Programs of Newmu's Theano-Tutorials on made-up digits: run by ../run.py beside their code."""

import os
import re
import sys
import types

import numpy as np
import pytest

CUT = (  # Python 2, names that are gone, fewer turns
    (r"(?m)^(\s*)print ([^#\n]*)", r"\1print(\2)"),
    (r"from (foxhound.utils.vis|scipy.misc) import .*", ""),  # for pictures
    (r"signal\.downsample import max_pool_2d", "signal.pool import pool_2d as max_pool_2d"),
    (r"range\(100\)", "range(2)"),
)


def made_up(ntrain=256, ntest=128, onehot=True):
    """What load.mnist gives, of ten patterns with noise."""
    rng = np.random.RandomState(0)
    patterns = rng.uniform(size=(10, 784)) > 0.8
    labels = rng.randint(0, 10, 384)
    x = (patterns[labels] ^ (rng.uniform(size=(384, 784)) > 0.9)).astype(float)
    y = np.eye(10)[labels] if onehot else labels
    return x[:256], x[256:], y[:256], y[256:]


@pytest.fixture(autouse=True)
def loader(monkeypatch):
    load = types.ModuleType("load")
    load.mnist = made_up
    monkeypatch.setitem(sys.modules, "load", load)


@pytest.mark.parametrize("name", sorted(n for n in os.listdir() if re.match(r"\d_", n)))
def test_program(name, capsys):
    with open(name, encoding="utf-8") as file:
        text = file.read().expandtabs(4)
    for old, new in CUT:
        text = re.sub(old, new, text)
    exec(compile(text, name, "exec"), {"__name__": "__main__"})
    assert np.isfinite(float(capsys.readouterr().out.split()[-1]))
