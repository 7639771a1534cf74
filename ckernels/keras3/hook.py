"""Keras 3 learns the name of the backend as its modules are loaded; no file on disk is changed.

Five modules of Keras choose a backend by comparing names. A finder in front of Python's gives them
their own source with one branch changed: that of the NumPy backend, which this process does not
use, becomes ours, line by line, so that tracebacks keep their numbers.
"""

import importlib.abc
import importlib.machinery
import importlib.metadata
import os
import sys

from ..base.errors import UsageError

SUPPORTED = ("3.15",)
HERE = "ckernels.keras3"
CHANGES = {
    "keras.src.backend": [
        ('backend() == "numpy"', 'backend() == "ckernels"'),
        ("from keras.src.backend.numpy import *", f"from {HERE}.backend import *"),
        (
            "from keras.src.backend.numpy.core import Variable as BackendVariable",
            f"from {HERE}.variable import StoredVariable as BackendVariable",
        ),
    ],
    "keras.src.models.model": [
        ('backend.backend() == "numpy"', 'backend.backend() == "ckernels"'),
        (
            "from keras.src.backend.numpy.trainer import NumpyTrainer as Trainer",
            f"from {HERE}.trainer import Trainer as Trainer",
        ),
    ],
    "keras.src.layers.layer": [
        ('backend.backend() == "numpy"', 'backend.backend() == "ckernels"'),
        (
            "from keras.src.backend.numpy.layer import NumpyLayer as BackendLayer",
            f"from {HERE}.layer import Layer as BackendLayer",
        ),
    ],
    "keras.src.export.saved_model": [
        ('backend.backend() == "numpy"', 'backend.backend() == "ckernels"'),
        ("keras.src.backend.numpy.export", f"{HERE}.layer"),
        ("NumpyExportArchive as", "ExportArchive as"),
    ],
    "keras.src.utils.backend_utils": [
        ('("tensorflow", "jax", "torch", "numpy", "openvino")',
         '("tensorflow", "jax", "torch", "numpy", "openvino", "ckernels")'),
        ('self._backend == "numpy"', 'self._backend == "ckernels"'),
        ('backend_module.backend() == "numpy"', 'backend_module.backend() == "ckernels"'),
    ],
}  # fmt: skip


class OtherKeras(UsageError, ImportError):
    """The Keras that is installed is none that the backend knows; an ImportError, for programs
    that try one backend after another."""


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads one of the modules, changed; nothing is written to Keras's folder of bytecode."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        source = changed(fullname, importlib.util.decode_source(self.get_data(path)))
        return self.source_to_code(source, path)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname not in CHANGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(fullname, spec.loader.path)
        return spec


def changed(name, source):
    """The source of a module with our branch; OtherKeras where it does not have the lines."""
    for old, new in CHANGES[name]:
        if old not in source:
            raise OtherKeras(
                f"the module {name} of Keras {_version()} is not as in Keras {SUPPORTED[-1]}: the "
                "ckernels backend needs keras==3.15.*"
            )
        source = source.replace(old, new)
    return source


def _version():
    try:
        return importlib.metadata.version("keras")
    except importlib.metadata.PackageNotFoundError:
        return "that is not installed"


def activate():
    """Make `import keras` use ckernels, where KERAS_BACKEND says so or says nothing.

    UsageError where Keras was imported before with another backend; OtherKeras, an ImportError
    too, for versions of Keras that are not supported.
    """
    asked = os.environ.setdefault("KERAS_BACKEND", "ckernels")
    if asked != "ckernels":
        return
    loaded = sys.modules.get("keras.src.backend.config") or sys.modules.get("keras.src.backend")
    if loaded is not None and loaded.backend() != "ckernels":
        raise UsageError(
            "Keras was imported before with another backend: import ckernels.keras3 first, or set "
            "KERAS_BACKEND=ckernels before the program starts"
        )
    version = _version()
    if not version.startswith(SUPPORTED):
        raise OtherKeras(
            f"the ckernels backend is one of Keras {', '.join(SUPPORTED)} and found a Keras "
            f"{version}: pip install 'keras=={SUPPORTED[-1]}.*'"
        )
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
