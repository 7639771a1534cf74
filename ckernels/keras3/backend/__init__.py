# ruff: noqa: F401
"""What `keras.src.backend` takes from a backend: its modules, and core's names at top level.

What keras.ops calls has a door: an error of Python's own names the function and its arguments.
"""

import os
import sys
import types

from keras.src.backend.common.name_scope import name_scope

from ...base.doors import guarded
from ...base.errors import add_library
from . import core, image, linalg, math, nn, numpy, random
from .core import (
    IS_THREAD_SAFE,
    SUPPORTS_COMPLEX_DTYPES,
    SUPPORTS_RAGGED_TENSORS,
    SUPPORTS_SPARSE_TENSORS,
    Variable,
    cast,
    compute_output_spec,
    cond,
    convert_to_numpy,
    convert_to_tensor,
    device_scope,
    is_tensor,
    random_seed_dtype,
    scatter,
    shape,
    stop_gradient,
    vectorized_map,
)
from .rnn import bidirectional_gru, bidirectional_lstm, cudnn_ok, gru, lstm, rnn

add_library(os.path.dirname(sys.modules["keras"].__file__), str)  # lines are those of programs


def _put_doors():
    ours, doors = __name__.rpartition(".")[0], {}
    for module in (core, image, linalg, math, nn, numpy, random, sys.modules[__name__]):
        for name in getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]:
            value = getattr(module, name)
            if isinstance(value, types.FunctionType) and value.__module__.startswith(ours):
                doors.setdefault(value, guarded(value, name))
                setattr(module, name, doors[value])


_put_doors()
