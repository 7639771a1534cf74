# ruff: noqa: F401
"""The backend in the layout that Keras is to give to backends of other packages: `src`, as theirs.

The same modules as backend/: here functions lie in `ops`, and those of recurrent nets in `rnn`.
"""

from keras.src.backend.common.name_scope import name_scope

from ..backend import (
    IS_THREAD_SAFE,
    SUPPORTS_COMPLEX_DTYPES,
    SUPPORTS_RAGGED_TENSORS,
    SUPPORTS_SPARSE_TENSORS,
    Variable,
    compute_output_spec,
    device_scope,
    random,
)
from . import ops, rnn

distribution_lib = None  # there is one device
