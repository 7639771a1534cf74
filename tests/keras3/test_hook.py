"""How Keras finds the backend: as a user starts it, and what is refused in words."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ckernels.keras3 import hook

ROOT = Path(__file__).resolve().parents[2]


def run(program, folder=None, **environment):
    env = {k: v for k, v in os.environ.items() if k != "KERAS_BACKEND"}
    paths = os.pathsep.join([str(ROOT), *filter(None, [env.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=folder,
        env={**env, **environment, "PYTHONPATH": paths},
        capture_output=True, text=True, timeout=250,
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


def test_an_engine_that_is_installed_is_not_loaded_to_write_a_layer_down(tmp_path):
    for name in ("tensorflow", "jax"):  # JAX: not even to mend old ones, as Keras does
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} was loaded')")
    done = run(
        """
        from ckernels.keras3 import jit, training_function  # which need Keras
        import keras
        assert keras.backend.backend() == "ckernels" and callable(jit), jit
        layer = keras.layers.Bidirectional(keras.layers.GRU(2))
        keras.layers.deserialize(keras.layers.serialize(layer))
        print("there and back")
        """,
        tmp_path,
    )
    assert done.stdout.strip().endswith("there and back"), done.stdout + done.stderr


def test_tensorflow_is_seeded_when_it_is_imported(tmp_path):
    (tmp_path / "tensorflow.py").write_text(
        "class random:\n    set_seed = staticmethod(lambda seed: print('seed', seed))\n"
    )
    done = run(
        """
        import sys, ckernels.keras3, keras
        keras.utils.set_random_seed(3)
        print("tensorflow" in sys.modules)
        import tensorflow
        print("imported")
        tensorflow.random.set_seed(4)
        """,
        tmp_path,
    )
    wanted = ["False", "seed 3", "imported", "seed 4"]
    assert done.stdout.splitlines() == wanted, done.stdout + done.stderr


def test_strings_and_numbers_are_given_to_a_layer_together():
    """As crossings of features take them; a tensor beside what is no array is refused as ever."""
    done = run("""
        import ckernels.keras3, keras, numpy as np
        class Joined(keras.layers.Layer):
            def __init__(self):
                super().__init__()
                self._allow_non_tensor_positional_args = True
                self._convert_input_args = False
            def call(self, pair):
                return np.char.add(pair[0], pair[1].astype("U"))
        print(Joined()((np.array(["a", "b"]), np.array([1, 2]))))
        try:
            Joined()((np.array([1, 2]), "a"))
        except ValueError as error:
            print(str(error)[:20])
    """)
    assert done.stdout.splitlines() == ["['a1' 'b2']", "In a nested call() a"], (
        done.stdout + done.stderr
    )


@pytest.mark.parametrize("name", ["gradient", "machines"])  # which Keras loads itself, or not
def test_a_module_may_be_imported_before_keras(name):
    done = run(f"""
        import sys
        from ckernels.keras3 import {name} as ours
        import keras, ckernels.keras3.backend.core as core
        assert keras.backend.backend() == "ckernels" and ours.__spec__.origin == ours.__file__
        assert sys.modules["ckernels.keras3.{name}"] is ours
        gradient = sys.modules["ckernels.keras3.gradient"]  # the one that Keras's modules have
        assert sys.modules["ckernels.keras3.control"].with_slopes_of is gradient.with_slopes_of
        print("once")
    """)
    assert done.stdout.strip().endswith("once"), done.stdout + done.stderr


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
        hook.OtherKeras,
        match=r"3.15 and 3.16 and found a Keras 3.99.0: pip install 'keras==3.15.\*'",
    ):
        hook.activate()


def test_a_module_without_the_lines_is_refused():
    with pytest.raises(hook.OtherKeras, match="keras.src.models.model .* is not as in Keras 3.15"):
        hook.changed("keras.src.models.model", "x = 1\n")


@pytest.mark.parametrize("layout", [0, 1])
def test_lines_keep_their_numbers(layout):
    for name, layouts in hook.CHANGES.items():
        source = "\n".join(old for old, _ in layouts[layout])
        found = hook.changed(name, source)
        assert found.count("\n") == source.count("\n")
        assert all(new in found and old not in found for old, new in layouts[layout])


def test_the_coming_layout_leaves_the_numpy_backend_alone():
    source = """if backend.backend() == "numpy":
    from keras.src.backend.numpy.layer import NumpyLayer as BackendLayer
elif backend.backend() == "mlx":
    from keras_mlx.src.layer import MLXLayer as BackendLayer
"""
    found = hook.changed("keras.src.layers.layer", source)
    assert found.splitlines()[:2] == source.splitlines()[:2] and "mlx" not in found.lower()
    assert 'elif backend.backend() == "ckernels":' in found


def programs_of(page):
    return re.findall(r"^```py\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)


def test_the_program_of_the_readme_runs(tmp_path):
    before = """
import numpy as np
images, labels = np.random.default_rng(0).random((96, 28, 28, 1)), np.arange(96) % 10
"""
    (block,) = programs_of("README.md")
    after = "print(keras.backend.backend(), *model.history.history['loss'])"
    done = run(before + block + after, tmp_path)
    assert done.returncode == 0, done.stderr
    backend, *losses = done.stdout.split()[-4:]
    assert backend == "ckernels" and len(losses) == 3 and all(0 < float(x) < 5 for x in losses)


def test_the_programs_of_the_guide_run(tmp_path):
    blocks = programs_of("docs/guide/keras3.md")
    blocks = [b for b in blocks if "mpirun" not in b]  # test_machines.py has that
    after = """
model = Clipped(x := keras.Input((3,)), keras.layers.Dense(1)(x))
model.compile("sgd", "mse")
model.fit(*[__import__("numpy").ones((4, n)) for n in (3, 1)], verbose=0)
"""
    done = run("".join(blocks) + after, tmp_path)
    assert len(blocks) == 3 and done.returncode == 0, done.stderr
    assert (tmp_path / "net" / "model_test.c").exists()
