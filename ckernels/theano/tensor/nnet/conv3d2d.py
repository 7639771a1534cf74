"""conv3d2d.conv3d: movies (batch, time, channels, rows, columns)."""

import numpy as np

from ....base.errors import NotSupported
from ...base.names import absent_of as _absent_of
from .abstract_conv import applied_to, hint_of, images_of


def conv3d(signals, filters, signals_shape=None, filters_shape=None, border_mode="valid"):
    """Movies convolved with filters; see compat.nnet.conv3d2d."""
    return applied_to(
        "conv3d2d",
        "conv3d2d",
        (images_of(signals, 5, "signals"), images_of(filters, 5, "filters")),
        signals_shape=hint_of(signals_shape),
        filters_shape=hint_of(filters_shape),
        border_mode=border_mode,
    )


def get_diagonal_subtensor_view(x, i0, i1):
    """A view of an array along a diagonal of two axes: entry [.., a, .., b, ..] of axes `i0` and
    `i1` is x[.., a + n - 1 - b, .., b, ..], where axis `i1` has n entries."""
    x = np.asarray(x)
    if x.shape[i0] < x.shape[i1]:
        raise NotSupported(
            f"axis {i0} of size {x.shape[i0]} is shorter than axis {i1} of size {x.shape[i1]}"
        )
    last = x.shape[i1] - 1
    shape, strides = list(x.shape), list(x.strides)
    shape[i0] -= last
    strides[i1] -= strides[i0]
    first = x[(slice(None),) * i0 + (slice(last, None),)]
    return np.lib.stride_tricks.as_strided(first, shape, strides)


__getattr__ = _absent_of("theano.tensor.nnet.conv3d2d")
