"""How Keras's own tests are run: those of excluded_tests.txt stay out, in workers as well."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "tests" / "clients" / "keras3_suite.py"
TESTS = """
import sys

import keras


class TestTensorBoardV2:
    def test_TensorBoard_basic(self):
        assert False, "it is excluded"

    def test_TensorBoard_basics(self):
        assert keras.backend.backend() == "ckernels"
        assert type(sys.meta_path[0]).__module__ == "ckernels.keras3.hook"
"""


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["one process", "a worker"])
def test_excluded_tests_stay_out(tmp_path, workers):
    if workers:
        pytest.importorskip("xdist")
    folder = tmp_path / "keras" / "src" / "callbacks"
    folder.mkdir(parents=True)
    (folder / "tensorboard_test.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\npython_files = *_test.py\n")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("KERAS_", "PYTEST_"))}
    paths = [str(ROOT), *filter(None, [env.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, SUITE, "keras/src", *workers], cwd=tmp_path, capture_output=True,
        text=True, timeout=250, env={**env, "PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
