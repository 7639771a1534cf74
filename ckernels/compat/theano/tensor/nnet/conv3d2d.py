"""conv3d2d.conv3d: movies (batch, time, channels, rows, columns)."""

from ...names import absent_of as _absent_of
from .abstract_conv import _apply, _hint, _images


def conv3d(signals, filters, signals_shape=None, filters_shape=None, border_mode="valid"):
    """Movies convolved with filters; see compat.nnet.conv3d2d."""
    return _apply(
        "conv3d2d",
        "conv3d2d",
        (_images(signals, 5, "signals"), _images(filters, 5, "filters")),
        signals_shape=_hint(signals_shape),
        filters_shape=_hint(filters_shape),
        border_mode=border_mode,
    )


__getattr__ = _absent_of("theano.tensor.nnet.conv3d2d")
