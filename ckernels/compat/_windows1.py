"""Convolution and pooling of Keras 1: 'th' and 'tf' layouts, TensorFlow's or Theano's arithmetic.

Under Theano kernels were turned around (a convolution in the sense of signal processing) and
border_mode "same" padded kernel // 2 on both sides and cut the end; TensorFlow correlates and pads
the odd row at the end. Weights give the same results only with the arithmetic they were trained
with, which Keras 1 files do not tell: `arithmetic` holds the choice. border_mode "full" was only
known to Theano; with TensorFlow's arithmetic it differs in that kernels are not turned.
"""

from .. import ops
from ..api.config import image_dim_ordering
from ..api.conv import conv, conv_transpose
from ..api.conv import separable_conv2d as separable
from ..api.operands import node_of
from ..api.pool import pool
from ..api.tensor import Tensor
from ..base import given
from ..base.errors import ArgumentError

BACKENDS = ("tensorflow", "theano")
FORMATS = {"th": "channels_first", "tf": "channels_last"}
arithmetic = "tensorflow"


def calculate_like(backend):
    """Convolve and pool as Keras 1 did on "tensorflow" (the default) or on "theano", from now on.

    >>> from ckernels.compat import keras1 as K
    >>> K.calculate_like("theano")
    >>> x, kernel = K.ones((1, 1, 1, 2)), K.variable(np.array([[[[1.0, 10.0]]]]))
    >>> K.conv2d(x * np.array([1.0, 2.0]), kernel).eval().ravel()
    array([12.], dtype=float32)
    >>> K.calculate_like("tensorflow")
    >>> K.conv2d(x * np.array([1.0, 2.0]), kernel).eval().ravel()
    array([21.], dtype=float32)
    """
    global arithmetic
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise ArgumentError(f"Keras 1 ran on 'tensorflow' and 'theano', not on {backend!r}")
    arithmetic = backend


def layout(dim_ordering):
    """The data_format of a dim_ordering: 'th', 'tf' or 'default'."""
    given.word(dim_ordering, (*FORMATS, "default"), "dim_ordering")
    return FORMATS[image_dim_ordering() if dim_ordering == "default" else dim_ordering]


def kernel_last(kernel, data_format):
    """A kernel as (*sizes, in, out); 'th' keeps (out, in, *sizes)."""
    kernel = node_of(kernel, "kernel")
    if data_format == "channels_first":
        kernel = ops.transpose(kernel, (*range(2, kernel.ndim), 1, 0))
    return kernel


def _border(border_mode, allowed=("valid", "same", "full")):
    return given.word(border_mode, allowed, "border_mode")


def convolve(x, kernel, strides, border_mode, dim_ordering, dilation=1):
    """The convolution of K.conv2d and K.conv3d."""
    data_format = layout(dim_ordering)
    kernel = kernel_last(kernel, data_format)
    options = {"strides": strides, "data_format": data_format, "dilation_rate": dilation}
    if arithmetic == "tensorflow":
        return conv(x, kernel, padding=_border(border_mode), **options)
    half = "half" if _border(border_mode) == "same" else border_mode
    y = conv(x, kernel, padding=half, flip=True, **options)
    return cut(y, x, strides, data_format) if half == "half" else y


def cut(y, x, strides, data_format):
    """`y` without what border_mode "same" has too much at the end: size / stride, rounded up."""
    y, x = node_of(y), node_of(x)
    first = 2 if data_format == "channels_first" else 1
    key = [slice(None)] * first
    for k, stride in enumerate(strides, first):
        size = ops.size_of(x, k)
        size = size if isinstance(size, int) else Tensor(size)
        end = (size + (stride - 1)) // stride
        key.append(slice(None, getattr(end, "node", end)))
    return Tensor(ops.getitem(y, tuple(key)))


def transposed(x, kernel, output_shape, strides, border_mode, dim_ordering):
    """K.deconv2d; its kernel is that of a convolution from the channels of x to the output's."""
    data_format = layout(dim_ordering)
    kernel = kernel_last(kernel, data_format)
    kernel = ops.transpose(kernel, (0, 1, 3, 2))
    border = _border(border_mode)
    if arithmetic == "theano" and border == "same":
        border = "half"
    return conv_transpose(
        x, kernel, output_shape, strides, border, data_format, flip=arithmetic == "theano"
    )


def separated(x, depthwise, pointwise, strides, border_mode, dim_ordering):
    """K.separable_conv2d, which only TensorFlow had."""
    data_format = layout(dim_ordering)
    depthwise, pointwise = (Tensor(kernel_last(k, data_format)) for k in (depthwise, pointwise))
    border = _border(border_mode, ("valid", "same"))
    return separable(x, depthwise, pointwise, strides, border, data_format)


def pooled(x, pool_size, strides, border_mode, dim_ordering, pool_mode):
    """K.pool2d and K.pool3d."""
    data_format = layout(dim_ordering)
    if not isinstance(pool_mode, str) or pool_mode not in ("max", "avg"):
        raise ArgumentError(f"Invalid pooling mode: {pool_mode!r}; it is 'max' or 'avg'")
    border = _border(border_mode, ("valid", "same"))
    if arithmetic == "tensorflow" or border == "valid":
        return pool(x, pool_size, strides, border, data_format, pool_mode)
    pads = [size - 2 if size > 2 and size % 2 else size - 1 for size in pool_size]
    y = pool(x, pool_size, strides, tuple((p, p) for p in pads), data_format, pool_mode)
    return cut(y, x, strides, data_format)
