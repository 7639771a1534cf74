"""Theano's tensor.signal: pooling of the last axes (`pool`), and `conv2d` of single images.

`from ckernels.compat import signal`, on tensors of K.
"""

from ..theano.images.signal import (  # noqa: F401
    MODES,
    conv2d,
    max_pool_2d_same_size,
    pool_2d,
    pool_3d,
)
