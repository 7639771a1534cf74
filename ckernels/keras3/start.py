"""What Python runs when it starts, so that KERAS_BACKEND=ckernels is enough: two finders, no more.

An installation puts this file beside the package as `_ckernels_keras3.py`, and a .pth that imports
it. It loads nothing: ckernels is imported when Keras is, and only where it is asked for. Where no
backend was asked for, the error of a Keras without TensorFlow says what to do.
"""

import os
import sys


class KerasFinder:
    """In front of all finders: makes Keras use ckernels at the moment Keras is imported."""

    def find_spec(self, name, path=None, target=None):
        if name == "keras":
            sys.meta_path.remove(self)
            import ckernels.keras3  # noqa: F401 (start-up: a program that imports no Keras has none)
        return None


class TellsOfBackends:
    """Behind all finders, where only what nobody found is asked for: TensorFlow, by Keras."""

    def find_spec(self, name, path=None, target=None):
        loading = getattr(sys.modules.get("keras.src.backend"), "__spec__", None)
        if name == "tensorflow" and getattr(loading, "_initializing", False):
            raise ModuleNotFoundError(
                "No module named 'tensorflow'. Keras takes TensorFlow where no backend is asked "
                "for: set KERAS_BACKEND=ckernels before the program starts, or import "
                "ckernels.keras3 before keras",
                name=name,
            )
        return None


if os.environ.get("KERAS_BACKEND") == "ckernels":
    sys.meta_path.insert(0, KerasFinder())
elif not os.environ.get("KERAS_BACKEND"):
    sys.meta_path.append(TellsOfBackends())
