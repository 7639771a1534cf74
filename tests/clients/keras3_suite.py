"""Keras 3's own tests on the backend, run in a folder of Keras's source: `make keras3 SOURCE=...`.

Left out are the tests of excluded_tests.txt, each with its reason. `trainer_test.py` asks for
backends it knows by name: it is loaded with ours among them, as Keras's own modules are. Files
that need TensorFlow, torch or grain fail to import where these are not installed, and are counted
as errors.
"""

import os
import sys
from pathlib import Path

import pytest

EXCLUDED = Path(__file__).with_name("excluded_tests.txt")  # one a line, with the reason
KNOWN = "keras.src.trainers.trainer_test"
OF_NUMPY = (
    'elif backend.backend() == "numpy":\n'
    "    from keras.src.backend.numpy.trainer import NumpyTrainer as Trainer\n",
    'elif backend.backend() == "ckernels":\n    from ckernels.keras3.trainer import Trainer\n',
)
DEVICES = ('"torch": "cpu",', '"torch": "cpu", "ckernels": "cpu",')


class Ours:
    """Our finder before pytest's, which loads test files past it; the excluded tests left out."""

    def pytest_collection(self, session):
        from ckernels.keras3 import hook  # it reads the environment

        sys.meta_path.sort(key=lambda finder: not isinstance(finder, hook._Finder))

    def pytest_collection_modifyitems(self, config, items):
        names = {line.split("  # ")[0] for line in EXCLUDED.read_text().splitlines()}
        config.hook.pytest_deselected(items=[i for i in items if i.nodeid in names])
        items[:] = [i for i in items if i.nodeid not in names]


def main():
    os.environ["KERAS_BACKEND"] = "ckernels"
    from ckernels.keras3 import hook  # it reads the environment

    hook.CHANGES[KNOWN] = [[OF_NUMPY, DEVICES]]
    sys.path.insert(0, os.getcwd())
    options = ["-o", "addopts=", "-p", "no:cacheprovider", "-p", "ckernels.keras3", "-q"]
    raise SystemExit(
        pytest.main(
            [*options, "--continue-on-collection-errors", *sys.argv[1:]],
            plugins=[Ours()],
        )
    )


if __name__ == "__main__":
    main()
