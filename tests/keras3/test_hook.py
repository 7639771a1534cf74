"""How Keras finds the backend: as a user starts it, and what is refused in words."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ckernels.keras3 import hook


def run(program, *arguments, **environment):
    env = {k: v for k, v in os.environ.items() if k != "KERAS_BACKEND"}
    return subprocess.run(
        [sys.executable, *arguments, "-c", textwrap.dedent(program)],
        capture_output=True, text=True, env={**env, **environment}, timeout=250,
    )  # fmt: skip


def test_a_program_needs_no_other_engine():
    done = run("""
        import sys
        class Absent:
            def find_spec(self, name, *more):
                if name.partition(".")[0] in ("jax", "torch", "tensorflow"):
                    raise ImportError(name)
        sys.meta_path.insert(0, Absent())
        import ckernels.keras3, keras, numpy
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        model.fit(numpy.ones((4, 2)), numpy.ones(4), verbose=0)
        assert keras.backend.backend() == "ckernels"
        print("trained")
    """)
    assert done.returncode == 0 and done.stdout.strip().endswith("trained"), (
        done.stdout + done.stderr
    )


def test_python_m_runs_a_program(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import sys, keras; print(keras.backend.backend(), sys.argv[1:], __name__)")
    done = subprocess.run(
        [sys.executable, "-m", "ckernels.keras3", str(program), "a"],
        capture_output=True, text=True, timeout=250,
    )  # fmt: skip
    assert done.stdout.strip().endswith("ckernels ['a'] __main__"), done.stdout + done.stderr


def test_another_backend_that_was_asked_for_is_left_alone():
    done = run(
        "import ckernels.keras3, os; print(os.environ['KERAS_BACKEND'])", KERAS_BACKEND="jax"
    )
    assert done.stdout.strip() == "jax"


def test_another_version_of_keras_is_refused(monkeypatch):
    monkeypatch.setattr(hook, "_version", lambda: "3.99.0")
    with pytest.raises(
        hook.OtherKeras, match=r"found a Keras 3.99.0: pip install 'keras==3.15.\*'"
    ):
        hook.activate()


def test_a_module_without_the_lines_is_refused():
    with pytest.raises(hook.OtherKeras, match="keras.src.models.model .* is not as in Keras 3.15"):
        hook.changed("keras.src.models.model", "x = 1\n")


def test_lines_keep_their_numbers():
    for name, changes in hook.CHANGES.items():
        source = "\n".join(old for old, _ in changes)
        assert hook.changed(name, source).count("\n") == source.count("\n")


def test_the_programs_of_the_guide_run():
    page = Path(__file__).resolve().parents[2] / "docs" / "guide" / "keras3.md"
    blocks = re.findall(r"^```py\n(.*?)^```$", page.read_text(), re.M | re.S)
    after = """
model = Clipped(x := keras.Input((3,)), keras.layers.Dense(1)(x))
model.compile("sgd", "mse")
model.fit(*[__import__("numpy").ones((4, n)) for n in (3, 1)], verbose=0)
"""
    done = run("".join(blocks) + after)
    assert len(blocks) == 2 and done.returncode == 0, done.stderr
