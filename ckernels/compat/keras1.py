"""The backend API of Keras 1, and what runs Keras 1.2.2 on it.

    python -m ckernels.compat.keras1 train.py arguments ...

Keras 1 knows two backends by name, so this module takes Theano's place (`install`); whether
convolutions follow Theano's or TensorFlow's arithmetic is KERAS_BACKEND's choice. Functions take
the arguments of the Keras 1 documents: border_mode, dim_ordering, dim, nb_classes, std, low, high.
"""

import sys as _sys

from .. import ops as _ops
from ..api import linalg as _linalg
from ..api import losses as _cross
from ..api import math as _math
from ..api import nn as _nn
from ..api import pool as _pool
from ..api import random as _random
from ..api import shape as _shape
from ..api import variables as _variables
from ..api.config import clear_session, reset_uids  # noqa: F401
from ..api.config import get_uid as _get_uid
from ..api.ctc import ctc_decode  # noqa: F401
from ..api.gradients import gradients as _gradients
from ..api.learning_phase import switch  # noqa: F401
from ..api.math import all, any  # noqa: F401
from ..api.nn import batch_normalization, l2_normalize, relu, softmax  # noqa: F401
from ..api.operands import node_of as _node_of
from ..api.rnn import rnn as _rnn
from ..api.tensor import Tensor as _Tensor
from ..base import given as _given
from . import _loading, _losses, _values, _windows1
from ._both import *  # noqa: F403
from ._losses import ctc_batch_cost  # noqa: F401
from ._taking import asked_for as _asked_for
from ._taking import initial as _initial
from ._windows1 import calculate_like  # noqa: F401
from ._windows1 import layout as _layout

_legacy_weight_ordering = False


def backend():
    """'theano', whose place this module takes in Keras 1."""
    return "theano"


def legacy_weight_ordering():
    """Whether weights are listed in the order of Keras before 1.0.6."""
    return _legacy_weight_ordering


def set_legacy_weight_ordering(value):
    """List weights in the order of Keras before 1.0.6; ValueError unless True or False."""
    global _legacy_weight_ordering
    _legacy_weight_ordering = _given.word(value, (True, False), "the legacy weight ordering")


# --- variables --------------------------------------------------------------------------------


def _made(native, *args, name):
    """The variable native(*args, name); one without a name gets one, by which Keras 1 sorts."""
    return _asked_for(native(*args, _given.name(name) or f"variable_{_get_uid('variable')}"))


def variable(value, dtype=None, name=None):
    """A variable with an initial value: an array, a number, lists, or a tensor without inputs."""
    return _made(_variables.variable, _initial(value), dtype, name=name)


def placeholder(shape=None, ndim=None, dtype=None, name=None, sparse=False):
    """An input of a shape (ints and None) or of a number of dimensions."""
    return _variables.placeholder(shape, ndim, dtype, sparse, name)


def zeros(shape, dtype=None, name=None):
    """A variable filled with 0."""
    return _made(_variables.zeros, shape, dtype, name=name)


def ones(shape, dtype=None, name=None):
    """A variable filled with 1."""
    return _made(_variables.ones, shape, dtype, name=name)


def eye(size, dtype=None, name=None):
    """A variable holding the identity matrix of `size` rows."""
    return _made(_variables.eye, size, dtype, name=name)


def random_uniform_variable(shape, low, high, dtype=None, name=None, seed=None):
    """A variable with values drawn from [low, high)."""
    draw = lambda *args: _random.random_uniform_variable(*args, seed)
    return _made(draw, shape, low, high, dtype, name=name)


def random_normal_variable(shape, mean, scale, dtype=None, name=None, seed=None):
    """A variable with normal values of the given mean and standard deviation."""
    draw = lambda *args: _random.random_normal_variable(*args, seed)
    return _made(draw, shape, mean, scale, dtype, name=name)


def zeros_like(x, name=None, dtype=None):
    """Zeros with the shape of `x`."""
    return _variables.zeros_like(x, dtype, name)


def ones_like(x, name=None, dtype=None):
    """Ones with the shape of `x`."""
    return _variables.ones_like(x, dtype, name)


def batch_get_value(xs):
    """The values of several variables, as a list."""
    return _values.batch_get_value(xs)


def is_keras_tensor(x):
    """Whether `x` carries Keras's shape: False for what is no tensor."""
    return hasattr(x, "_keras_shape")


# --- arguments as Keras 1 called them -----------------------------------------------------------


def gradients(loss, variables):
    """The gradients of a cost with respect to a list of variables; with dimensions it is summed."""
    return _gradients(_losses.summed(loss), variables)


def categorical_crossentropy(output, target, from_logits=False):
    """-sum(target * log(output)) over the last axis; the output comes first."""
    return _cross.categorical_crossentropy(output, target, from_logits)


def sparse_categorical_crossentropy(output, target, from_logits=False):
    """-log(output[..., target]) with the class as an integer; the output comes first."""
    output = _node_of(output)
    if not _given.flag(from_logits, "from_logits") and output.op.name != "softmax":
        output = _ops.true_div(output, _ops.sum(output, -1, True))
    return _cross.sparse_categorical_crossentropy(output, target, from_logits)


def binary_crossentropy(output, target, from_logits=False):
    """-(target * log(output) + (1 - target) * log(1 - output)); the output comes first."""
    return _cross.binary_crossentropy(output, target, from_logits)


def dropout(x, level, noise_shape=None, seed=None):
    """`x` with a fraction `level` of its entries set to 0; a third argument that is an int is the
    seed, where the documents have it."""
    if isinstance(noise_shape, int):
        noise_shape, seed = None, noise_shape
    return _nn.dropout(x, level, noise_shape, seed)


def lesser(x, y):
    """x < y, a bool tensor."""
    return _math.less(x, y)


def lesser_equal(x, y):
    """x <= y, a bool tensor."""
    return _math.less_equal(x, y)


def expand_dims(x, dim=-1):
    """`x` with a new axis of size 1 at index `dim`."""
    return _shape.expand_dims(x, dim)


def one_hot(indices, nb_classes):
    """1 at the class and 0 elsewhere, along a new last axis."""
    return _Tensor(_ops.cast(_ops.one_hot(_node_of(indices), nb_classes), floatx()))  # noqa: F405


def random_normal(shape, mean=0.0, std=1.0, dtype=None, seed=None):
    """Normal numbers of the given mean and standard deviation."""
    return _random.random_normal(shape, mean, std, dtype, seed)


def random_uniform(shape, low=0.0, high=1.0, dtype=None, seed=None):
    """Numbers in [low, high), all equally likely."""
    return _random.random_uniform(shape, low, high, dtype, seed)


def rnn(
    step_function,
    inputs,
    initial_states,
    go_backwards=False,
    mask=None,
    constants=None,
    unroll=False,
    input_length=None,
):
    """(last_output, outputs, new_states) of a step function along the time axis."""
    return _rnn(
        step_function, inputs, initial_states, go_backwards, mask, constants, unroll, input_length
    )


def batch_dot(x, y, axes=None):
    """Dot products within each sample; axes: one for each, or an int for both.

    Without axes: the last of `x` with the last but one of `y`. The batch may have size 1 in one of
    the two, as a locally connected layer has it.
    """
    return _linalg.batch_dot(x, y, axes)


def map_fn(fn, elems, name=None):
    """`fn` of each element along the first axis of `elems`, stacked."""
    from ..api.scan import map_fn as native  # start-up

    return native(fn, elems, name)


def pattern_broadcast(x, broatcastable):
    """`x`: which axes broadcast is decided by their sizes when a function runs."""
    return x


# --- images -----------------------------------------------------------------------------------


def conv1d(x, kernel, stride=1, border_mode="valid", image_shape=None, filter_shape=None):
    """1D convolution of (batch, steps, channels) with a kernel (length, channels, filters)."""
    x, kernel = expand_dims(x, 2), expand_dims(kernel, 1)
    y = _windows1.convolve(x, kernel, (stride, 1), border_mode, "tf")
    return _shape.squeeze(y, 2)


def conv2d(
    x,
    kernel,
    strides=(1, 1),
    border_mode="valid",
    dim_ordering="th",
    image_shape=None,
    filter_shape=None,
    filter_dilation=(1, 1),
):
    """2D convolution; kernels are (out, in, rows, columns) with dim_ordering 'th', and (rows,
    columns, in, out) with 'tf'. image_shape, filter_shape: accepted, not needed."""
    return _windows1.convolve(x, kernel, strides, border_mode, dim_ordering, filter_dilation)


def atrous_conv2d(
    x,
    kernel,
    rate=1,
    border_mode="valid",
    dim_ordering="default",
    image_shape=None,
    filter_shape=None,
):
    """2D convolution with holes: a dilation of `rate`."""
    return _windows1.convolve(x, kernel, (1, 1), border_mode, dim_ordering, (rate, rate))


def conv3d(
    x,
    kernel,
    strides=(1, 1, 1),
    border_mode="valid",
    dim_ordering="default",
    volume_shape=None,
    filter_shape=None,
    filter_dilation=(1, 1, 1),
):
    """3D convolution; kernels as for `conv2d`, with one axis more."""
    return _windows1.convolve(x, kernel, strides, border_mode, dim_ordering, filter_dilation)


def deconv2d(
    x,
    kernel,
    output_shape,
    strides=(1, 1),
    border_mode="valid",
    dim_ordering="default",
    image_shape=None,
    filter_shape=None,
):
    """The transpose of conv2d. The kernel has the layout of conv2d's from the channels of `x` to
    those of the result; output_shape is the whole shape of the result."""
    return _windows1.transposed(x, kernel, output_shape, strides, border_mode, dim_ordering)


def separable_conv2d(
    x,
    depthwise_kernel,
    pointwise_kernel,
    strides=(1, 1),
    border_mode="valid",
    dim_ordering="default",
):
    """A depthwise convolution, then one of size 1 x 1; kernels in the layout of conv2d's."""
    return _windows1.separated(
        x, depthwise_kernel, pointwise_kernel, strides, border_mode, dim_ordering
    )


def pool2d(x, pool_size, strides=(1, 1), border_mode="valid", dim_ordering="th", pool_mode="max"):
    """2D pooling, 'max' or 'avg'."""
    return _windows1.pooled(x, pool_size, strides, border_mode, dim_ordering, pool_mode)


def pool3d(
    x, pool_size, strides=(1, 1, 1), border_mode="valid", dim_ordering="default", pool_mode="max"
):
    """3D pooling, 'max' or 'avg'."""
    return _windows1.pooled(x, pool_size, strides, border_mode, dim_ordering, pool_mode)


def resize_images(X, height_factor, width_factor, dim_ordering):  # noqa: N803
    """Images enlarged by integer factors: pixels are repeated."""
    return _pool.resize_images(X, height_factor, width_factor, _layout(dim_ordering))


def resize_volumes(X, depth_factor, height_factor, width_factor, dim_ordering):  # noqa: N803
    """Volumes enlarged by integer factors: voxels are repeated."""
    return _pool.resize_volumes(X, depth_factor, height_factor, width_factor, _layout(dim_ordering))


def temporal_padding(x, padding=1):
    """`padding` zeros before and after the middle axis."""
    return _shape.temporal_padding(x, (padding, padding))


def asymmetric_temporal_padding(x, left_pad=1, right_pad=1):
    """Zeros before and after the middle axis."""
    return _shape.temporal_padding(x, (left_pad, right_pad))


def spatial_2d_padding(x, padding=(1, 1), dim_ordering="th"):
    """Zeros around images: as many before as after, for rows and for columns."""
    pairs = tuple((p, p) for p in _given.sequence(padding, "padding"))
    return _pool.spatial_2d_padding(x, pairs, _layout(dim_ordering))


def asymmetric_spatial_2d_padding(
    x, top_pad=1, bottom_pad=1, left_pad=1, right_pad=1, dim_ordering="default"
):
    """Zeros around images, as many on each side as asked for."""
    pairs = ((top_pad, bottom_pad), (left_pad, right_pad))
    return _pool.spatial_2d_padding(x, pairs, _layout(dim_ordering))


def spatial_3d_padding(x, padding=(1, 1, 1), dim_ordering="default"):
    """Zeros around volumes: as many before as after, along each axis."""
    pairs = tuple((p, p) for p in _given.sequence(padding, "padding"))
    return _pool.spatial_3d_padding(x, pairs, _layout(dim_ordering))


def install(like=None):
    """Let Keras 1, imported afterwards, run on this module. like: as in `calculate_like`.

    like None: what KERAS_BACKEND says, else `backend` in keras.json, else "tensorflow".
    """
    from . import _taking1  # start-up

    _taking1.install(_sys.modules[__name__], like)


_loading.watch(__name__, _loading.refuse_keras1)

if __name__ == "__main__":
    from ckernels.compat import _taking1, keras1

    raise SystemExit(_taking1.main(keras1))
