"""The programs of examples/keras, run as a user runs them, for fewer epochs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .keras_support import keras_or_skip

keras_or_skip()
ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    # name: (epochs, least accuracy or None, largest loss or None)
    "mlp": (8, 0.93, None),
    "cnn": (4, 0.9, None),
    "lstm_text": (8, 0.9, None),
    "bidirectional_lstm": (8, 0.9, None),
    "autoencoder": (15, None, 0.04),  # the mean of the pixels gives 0.0746
    "two_inputs": (8, 0.82, None),
}  # fmt: skip


@pytest.mark.sampled(0)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, tmp_path):
    epochs, accuracy, loss = PROGRAMS[name]
    program = ROOT / "examples" / "keras" / f"{name}.py"
    assert "ckernels" not in re.sub(r'""".*?"""', "", program.read_text(), flags=re.S)
    env = {
        **os.environ,
        "KERAS_BACKEND": "ckernels.compat.keras2",
        "KERAS_HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, str(program), str(epochs)],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    found = {k: float(v) for k, v in re.findall(r"Test (\w+): ([\d.]+)", done.stdout)}
    assert accuracy is None or found["accuracy"] >= accuracy
    assert loss is None or found["loss"] <= loss


def test_there_is_a_test_for_each_program():
    helpers = {"digits", "texts"}
    found = {p.stem for p in (ROOT / "examples" / "keras").glob("*.py")}
    assert found - helpers == set(PROGRAMS)
