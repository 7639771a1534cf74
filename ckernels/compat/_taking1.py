"""How Keras 1.2.2 comes to run on `keras1`: its module theano_backend is not read but replaced.

Keras 1 imports `keras.backend.theano_backend` when KERAS_BACKEND is "theano" and takes all its
names. A finder hands it those of `keras1` instead, and makes its settings (keras.json's floatx,
epsilon and image_dim_ordering) and ckernels' one and the same.
"""

import importlib.abc
import importlib.util
import json
import os
import runpy
import sys

from ..api import config as settings
from ..config import config
from ..errors import ArgumentError, UsageError, add_library
from . import _modern, _pictures, _windows1

PLACE = "keras.backend.theano_backend"
SHARED = (
    "epsilon",
    "set_epsilon",
    "floatx",
    "set_floatx",
    "cast_to_floatx",
    "image_dim_ordering",
    "set_image_dim_ordering",
)


def install(like=None):
    """See `keras1.install`."""
    if "keras" in sys.modules:
        raise UsageError("keras was imported already; ckernels.compat.keras1 comes first")
    _windows1.calculate_like(like or _asked_for())
    os.environ["KERAS_BACKEND"] = "theano"
    _modern.supply()
    _modern.stand_in("pkg_resources", parse_version=_modern.parse_version)
    _pictures.install()
    if not any(isinstance(f, Finder) for f in sys.meta_path):
        sys.meta_path.insert(0, Finder())


def _asked_for():
    """The backend the program would have had: KERAS_BACKEND, keras.json, or Keras 1's default."""
    path = os.path.join(os.path.expanduser("~"), ".keras", "keras.json")
    known = {}
    try:
        with open(path) as f:
            known = json.load(f)
    except (OSError, ValueError):
        pass
    found = os.environ.get("KERAS_BACKEND") or known.get("backend")
    return found if found in _windows1.BACKENDS else "tensorflow"


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds Theano's backend module, and fills it with the names of `keras1`."""

    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, self) if name == PLACE else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        from . import keras1

        common = sys.modules["keras.backend.common"]
        if not hasattr(common, "legacy_weight_ordering"):
            raise ArgumentError(
                "this is Keras 2: run it with KERAS_BACKEND=ckernels.compat.keras2, and without "
                "ckernels.compat.keras1"
            )
        settle(common)
        names = {n: v for n, v in vars(keras1).items() if not n.startswith("_")}
        own = ("backend", "install", "legacy_weight_ordering", "set_legacy_weight_ordering")
        names = {n: v for n, v in names.items() if n not in own}
        vars(module).update(names, __all__=sorted(names))
        sys.stderr.write(
            "(ckernels.compat.keras1 in its place, with the convolutions of "
            f"{_windows1.arithmetic})\n"
        )


def settle(common):
    """One set of settings: what keras.json said so far, from then on ckernels' own functions."""
    for name in ("floatx", "epsilon", "image_dim_ordering"):
        getattr(settings, f"set_{name}")(getattr(common, name)())
    for name in SHARED:
        setattr(common, name, getattr(settings, name))
    if config.origin("cast_policy") == "default":
        config.cast_policy = "keep_float"
    add_library(os.path.dirname(os.path.dirname(common.__file__)), str)


def main():
    """python -m ckernels.compat.keras1 program.py arguments ..."""
    if len(sys.argv) < 2:
        sys.exit("usage: python -m ckernels.compat.keras1 program.py arguments ...")
    install()
    del sys.argv[0]
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")
