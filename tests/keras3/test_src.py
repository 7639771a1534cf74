"""The coming layout of Keras: what `from ckernels.keras3.src import *` gives its backend."""

import ckernels.keras3.src as src
from ckernels.keras3 import backend
from ckernels.keras3.variable import StoredVariable

FLAGS = "SUPPORTS_SPARSE_TENSORS SUPPORTS_RAGGED_TENSORS SUPPORTS_COMPLEX_DTYPES IS_THREAD_SAFE"


def test_names():
    assert src.Variable is StoredVariable and src.distribution_lib is None
    for name in [*FLAGS.split(), "compute_output_spec", "device_scope", "name_scope", "random"]:
        assert getattr(src, name) is getattr(backend, name)


def test_functions_by_subject():
    for name in "core image linalg math nn numpy".split():
        assert getattr(src.ops, name) is getattr(backend, name)
    for name in backend.core.__all__:
        assert getattr(src.ops, name) is getattr(backend.core, name)
    for name in "rnn lstm gru bidirectional_lstm bidirectional_gru cudnn_ok".split():
        assert getattr(src.rnn, name) is getattr(backend, name)
