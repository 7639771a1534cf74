"""signal.conv.conv2d: each image with each filter."""

from ....api.tensor import Tensor
from ....base.errors import CKernelsError
from ...base.names import absent_of as _absent_of
from ...base.signatures import like as _like
from ...classes.op import KernelOp
from ...handles.variables import as_tensor_variable
from ...images import signal as own


def _convolved(x, w, options):
    return own.conv2d(Tensor(x), Tensor(w), **dict(options)).node


@_like(own.conv2d)
def conv2d(input, filters, image_shape, filter_shape, border_mode, subsample, **ignored):
    """Each image (rows, columns) of `input` convolved with each filter; see compat.signal."""
    input, filters = as_tensor_variable(input), as_tensor_variable(filters)
    for what, x in (("input", input), ("filters", filters)):
        if x.ndim not in (2, 3):
            raise CKernelsError(f"signal.conv2d: the {what} must have 2 or 3 dimensions")
    options = {
        "border_mode": border_mode,
        "subsample": tuple(subsample),
        "image_shape": None if image_shape is None else tuple(image_shape),
        "filter_shape": None if filter_shape is None else tuple(filter_shape),
    }
    return KernelOp(_convolved, "signal.conv2d", options=tuple(sorted(options.items())))(
        input, filters
    )


__getattr__ = _absent_of("theano.tensor.signal.conv")
