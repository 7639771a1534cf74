"""Keras 3's own tests on the backend, run in a folder of Keras's source: `make keras3 SOURCE=...`.

Left out are the tests of excluded_tests.txt, each with its reason. `trainer_test.py` asks for
backends it knows by name, and `math_test.py` for those whose sounds end as JAX's, of which it
compares all but the ends: they are loaded with ours among them, as Keras's own modules are. Files
that need TensorFlow, torch or grain fail to import where these are not installed, and are counted
as errors.
"""

import os
import sys
from pathlib import Path

import pytest

EXCLUDED = Path(__file__).with_name("excluded_tests.txt")  # one a line, with the reason
KNOWN = "keras.src.trainers.trainer_test"
SOUNDS = "keras.src.ops.math_test"
OF_NUMPY = (
    'elif backend.backend() == "numpy":\n'
    "    from keras.src.backend.numpy.trainer import NumpyTrainer as Trainer\n",
    'elif backend.backend() == "ckernels":\n    from ckernels.keras3.trainer import Trainer\n',
)
DEVICES = ('"torch": "cpu",', '"torch": "cpu", "ckernels": "cpu",')
ENDS = ('in ("numpy", "jax", "torch", "openvino"):', 'in ("numpy", "jax", "torch", "ckernels"):')


def pytest_configure(config):
    from ckernels.keras3 import hook  # it reads the environment

    hook.CHANGES[KNOWN] = [[OF_NUMPY, DEVICES]]
    hook.CHANGES[SOUNDS] = [[ENDS]]


def pytest_collection(session):
    """Our finder before pytest's, which loads test files past it."""
    from ckernels.keras3 import hook  # it reads the environment

    sys.meta_path.sort(key=lambda finder: not isinstance(finder, hook._Finder))


def pytest_collection_modifyitems(config, items):
    names = {line.split("  # ")[0] for line in EXCLUDED.read_text().splitlines()}
    config.hook.pytest_deselected(items=[i for i in items if i.nodeid in names])
    items[:] = [i for i in items if i.nodeid not in names]


def main():
    """Run pytest with this file as a plugin by name: workers of pytest-xdist load it too."""
    os.environ["KERAS_BACKEND"] = "ckernels"
    sys.path.insert(0, os.getcwd())
    plugins = ["-p", "ckernels.keras3", "-p", Path(__file__).stem]
    options = ["-o", "addopts=", "-p", "no:cacheprovider", "-q"]
    raise SystemExit(
        pytest.main([*options, *plugins, "--continue-on-collection-errors", *sys.argv[1:]])
    )


if __name__ == "__main__":
    main()
