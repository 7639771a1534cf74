"""How Keras 1.2.2 comes to run on `keras1`: its module theano_backend is not read but replaced.

Keras 1 imports `keras.backend.theano_backend` when KERAS_BACKEND is "theano" and takes all its
names. `_replacing` hands it those of `keras1` instead; here its settings (keras.json's floatx,
epsilon and image_dim_ordering) and ckernels' become one and the same.
"""

import functools
import json
import os
import sys
import types

from ..api import config as settings
from ..base.config import config
from ..base.errors import ArgumentError, add_library
from ..base.runner import run_program
from . import _modern, _pictures, _replacing, _windows1

PLACE = "keras.backend.theano_backend"
SHARED = (
    "epsilon",
    "set_epsilon",
    "floatx",
    "set_floatx",
    "cast_to_floatx",
    "image_dim_ordering",
    "set_image_dim_ordering",
)  # fmt: skip
# Their default dim_ordering is 'th' in the documents of Keras 1, and in Keras 1.2.2 the setting.
FIRST_DOCUMENTED = ("conv2d", "pool2d", "spatial_2d_padding")


def install(ours, like=None):
    """See `keras1.install`, whose module is `ours`."""
    _windows1.calculate_like(like or _asked_for())
    _replacing.put(PLACE, functools.partial(_fill, ours), "ckernels.compat.keras1")
    os.environ["KERAS_BACKEND"] = "theano"
    _modern.supply()
    _modern.stand_in("pkg_resources", parse_version=_modern.parse_version)
    _pictures.install()


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


def _fill(ours):
    """The names of the module `ours`, once Keras 1's settings and ckernels' are one."""
    common = sys.modules["keras.backend.common"]
    if not hasattr(common, "legacy_weight_ordering"):
        raise ArgumentError(
            "this is Keras 2: run it with KERAS_BACKEND=ckernels.compat.keras2, and without "
            "ckernels.compat.keras1"
        )
    settle(common)
    sys.stderr.write(
        f"(ckernels.compat.keras1 in its place, with the convolutions of {_windows1.arithmetic})\n"
    )
    own = ("backend", "install", "legacy_weight_ordering", "set_legacy_weight_ordering")
    names = _replacing.names_of(ours, *own)
    return {**names, **{name: _as_configured(names[name]) for name in FIRST_DOCUMENTED}}


def _as_configured(function):
    """`function` whose default dim_ordering is the configured one."""
    defaults = tuple("default" if d == "th" else d for d in function.__defaults__)
    made = types.FunctionType(function.__code__, function.__globals__, None, defaults)
    made.__doc__ = function.__doc__
    return made


def settle(common):
    """One set of settings: what keras.json said so far, from then on ckernels' own functions."""
    for name in ("floatx", "epsilon", "image_dim_ordering"):
        getattr(settings, f"set_{name}")(getattr(common, name)())
    for name in SHARED:
        setattr(common, name, getattr(settings, name))
    if config.origin("cast_policy") == "default":
        config.cast_policy = "keep_float"
    add_library(os.path.dirname(os.path.dirname(common.__file__)), str)


def main(ours):
    """python -m ckernels.compat.keras1 program.py arguments ..."""
    return run_program("ckernels.compat.keras1", functools.partial(install, ours))
