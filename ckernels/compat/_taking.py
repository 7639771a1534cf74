"""What happens when Keras 2 takes `keras2` as its backend: one set of settings, and room to run.

Keras keeps floatx, epsilon and the image layout in its module `keras.backend.common`; from then on
its functions are ckernels' (which read keras.json too), so a value set on either side is seen on
both. Names that Keras
2.3 takes over for TensorFlow only (clear_session, ...) are added to `keras.backend`, mixed dtypes
no longer make float64, and errors leave Keras's own lines out and name the layer instead.
"""

import os
import sys

from ..api import config as settings
from ..api.function import function
from ..api.tensor import Tensor, Variable
from ..base.config import config
from ..base.errors import add_library
from ..base.runner import run_program
from . import _losses, _modern, _scopes

SETTINGS = (
    "epsilon",
    "set_epsilon",
    "floatx",
    "set_floatx",
    "cast_to_floatx",
    "image_data_format",
    "set_image_data_format",
    "image_dim_ordering",
    "set_image_dim_ordering",
)  # fmt: skip
EXTRA = (
    "clear_session",
    "ctc_decode",
    "get_session",
    "get_variable_shape",
    "image_dim_ordering",
    "manual_variable_initialization",
    "pattern_broadcast",
    "set_image_dim_ordering",
    "set_session",
)  # fmt: skip
COMPUTED_AT_ONCE = 1 << 16  # elements; below, NumPy is faster than to make and load a kernel


def settle(loader, names):
    """Make Keras, whose module `loader` reads the `names` of the backend, and ckernels one."""
    _modern.supply()
    backend, common = sys.modules["keras.backend"], sys.modules["keras.backend.common"]
    for module in {backend, common, sys.modules[loader]}:
        for name in SETTINGS:
            if module is common or name in vars(module):
                setattr(module, name, getattr(settings, name))
    _losses.tensorflow2 = hasattr(common, "symbolic")  # new in Keras 2.3
    for name in EXTRA:
        setattr(backend, name, names[name])
    if config.origin("cast_policy") == "default":
        config.cast_policy = "keep_float"
    add_library(os.path.dirname(os.path.dirname(backend.__file__)), _scopes.doing)


class KerasVariable(Variable):
    """A variable of which `if self.bias:` asks whether there is one, as Keras 1 and 2.2.0 do."""

    def __bool__(self):
        return True


def asked_for(made):
    """The tensor `made`; a variable has a truth value, True, as TensorFlow's have."""
    if isinstance(made, Variable):
        made.__class__ = KerasVariable
    return made


def initial(value):
    """The initial value of a variable: a tensor is computed, small ones without compiling."""
    if not isinstance(value, Tensor) or isinstance(value, Variable):
        return value
    size = 1
    for d in value.node.shape:
        size *= d or COMPUTED_AT_ONCE
    if size >= COMPUTED_AT_ONCE:
        return value.eval()

    return function([], value, mode="reference")([])


def main():
    """python -m ckernels.compat.keras2 program.py arguments ..."""

    def install():
        os.environ["KERAS_BACKEND"] = "ckernels.compat.keras2"

    return run_program("ckernels.compat.keras2", install)
