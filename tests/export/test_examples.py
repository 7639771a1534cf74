"""Models that train in C learn what they learn in Python."""

import importlib.util
from pathlib import Path

import pytest

from .machines import MACHINES, missing

PATH = Path(__file__).parents[2] / "examples" / "export" / "train_on_device.py"


def example():
    spec = importlib.util.spec_from_file_location("train_on_device", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def agree(example, name, folder, machine):
    made, _ = example.write(name, folder)
    there = example.train_there(name, folder, machine)
    here = example.train_here(made, example.MODELS[name][1])
    assert abs(there - here) <= (1e-4 if name == "rbm" else 1), (there, here)
    assert here < 0.06 if name == "rbm" else here > 235


def test_a_training_step_in_c_learns_the_same(tmp_path):
    found = example()
    if missing(MACHINES[0]):
        pytest.skip("there is no C compiler")
    agree(found, "mlp", tmp_path, "here")


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["here", "aarch64", "cortex_m4"])
@pytest.mark.parametrize("name", ["mlp_adam", "cnn", "lstm", "rbm"])
def test_all_models_on_all_machines(name, machine, tmp_path):
    lacks = missing({m.name: m for m in MACHINES}.get(machine, MACHINES[0]))
    if lacks:
        pytest.skip(f"there is no {lacks}")
    agree(example(), name, tmp_path, machine)
