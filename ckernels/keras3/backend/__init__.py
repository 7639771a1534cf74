# ruff: noqa: F401
"""What `keras.src.backend` takes from a backend: its modules, and core's names at top level."""

from keras.src.backend.common.name_scope import name_scope

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
