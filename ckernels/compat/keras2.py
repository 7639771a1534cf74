"""The backend of Keras 2.2.0 to 2.3.1: KERAS_BACKEND=ckernels.compat.keras2.

`python -m ckernels.compat.keras2 program.py` sets it, too.

The names are those of Keras's own backend modules, documented or not, with their argument order.
Most are ckernels' functions as they are (`_both`); below are those whose arguments or results
differ, and those only Keras uses. `_taking` is what happens when Keras takes this module.
"""

import builtins as _builtins

import numpy as _np

from .. import ops as _ops
from ..api import config as _config
from ..api import learning_phase as _phase
from ..api import math as _math
from ..api import nn as _nn
from ..api import random as _random
from ..api import variables as _variables
from ..api.config import data_format_of as _data_format_of
from ..api.conv import (  # noqa: F401
    conv1d,
    conv2d,
    conv3d,
    conv3d_transpose,
    depthwise_conv2d,
    local_conv1d,
    local_conv2d,
    separable_conv1d,
    separable_conv2d,
)
from ..api.conv import conv_transpose as _conv_transpose
from ..api.ctc import decode as _ctc_decode
from ..api.gradients import gradients as _gradients
from ..api.operands import known_shape as _known_shape
from ..api.operands import node_of as _node_of
from ..api.operands import operand as _operand
from ..api.pool import (  # noqa: F401
    pool2d,
    pool3d,
    spatial_2d_padding,
)
from ..api.pool import resized as _resized
from ..api.rnn import rnn  # noqa: F401
from ..api.shape import expand_dims, temporal_padding  # noqa: F401
from ..api.tensor import Tensor as _Tensor
from ..api.tensor import Variable as _Variable
from ..api.tensor import need_tensor as _need_tensor
from ..api.updates import Update as _Update
from ..base import given as _given
from ..base.errors import ArgumentError as _ArgumentError
from ..base.errors import NotSupported as _NotSupported
from ..base.errors import ShapeError as _ShapeError
from ..graph.shapes import axis_of as _axis_of
from . import _loading, _losses, _scopes, _taking, _values
from ._both import *  # noqa: F403
from ._calls import control_dependencies, function, identity  # noqa: F401
from ._losses import (  # noqa: F401
    binary_crossentropy,
    categorical_crossentropy,
    ctc_batch_cost,
    sparse_categorical_crossentropy,
)
from ._maps import map_fn  # noqa: F401


def backend():
    """The name of this backend, 'ckernels.compat.keras2'."""
    return __name__


def normalize_data_format(value):
    """`value` in lower case, or the default for None; ValueError unless it is a data format.

    >>> from ckernels.compat import keras2 as K
    >>> K.normalize_data_format("Channels_First")
    'channels_first'
    """
    return _data_format_of(value.lower() if isinstance(value, str) else value)


def clear_session():
    """Forget identifiers, names in use and the learning phase; variables and functions live on."""
    _config.clear_session()
    _scopes.reset()


def reset_uids():
    """Start the identifiers of `get_uid`, and the names of variables, again."""
    _config.reset_uids()
    _scopes.reset()


def get_session():
    """There are no sessions here: NotImplementedError that says what to use."""
    raise _NotSupported(
        "this backend has no sessions; K.get_value and K.set_value reach variables, K.eval and "
        "K.function compute tensors"
    )


def set_session(session):
    """As `get_session`."""
    get_session()


def symbolic(func):
    """`func`: tensors are symbolic everywhere."""
    return func


def eager(func):
    """`func`: what it computes at once, it computes with arrays."""
    return func


# --- variables --------------------------------------------------------------------------------


def variable(value, dtype=None, name=None, constraint=None):
    """A variable; its name is unique and bears the open name scopes, 'dense_1/kernel:0'.

    value: an array, a number, nested lists, or a tensor without inputs (an initializer's), which
    is computed. constraint: kept as an attribute.

    >>> from ckernels.compat import keras2 as K
    >>> K.clear_session()
    >>> with K.name_scope("dense_1"):
    ...     K.variable(np.eye(2), name="kernel").name
    'dense_1/kernel:0'
    """
    made = _named(_variables.variable, _taking.initial(value), dtype, name=name)
    made.constraint = constraint
    return made


def _named(native, *args, name):
    """The variable native(*args, name), with a name that is unique in the open scopes."""
    return _taking.asked_for(native(*args, _scopes.variable_name(name)))


def _filler(native):
    def fill(shape, dtype=None, name=None):
        return _named(native, shape, dtype, name=name)

    fill.__name__, fill.__doc__ = native.__name__, native.__doc__
    return fill


zeros, ones = _filler(_variables.zeros), _filler(_variables.ones)


def eye(size, dtype=None, name=None):
    """A variable with ones on the diagonal. size: the number of rows, or (rows, columns)."""
    both = size if isinstance(size, (list, tuple)) else (size, size)
    rows, columns = _known_shape(_given.pair(both, "the size of eye"))
    return variable(_np.eye(rows, columns), dtype, name)


def random_uniform_variable(shape, low, high, dtype=None, name=None, seed=None):
    """A variable with values drawn from [low, high)."""
    draw = lambda *args: _random.random_uniform_variable(*args, seed)
    return _named(draw, shape, low, high, dtype, name=name)


def random_normal_variable(shape, mean, scale, dtype=None, name=None, seed=None):
    """A variable with normal values of the given mean and standard deviation."""
    draw = lambda *args: _random.random_normal_variable(*args, seed)
    return _named(draw, shape, mean, scale, dtype, name=name)


def eval(x):
    """The value of a tensor that needs no input; of an update (K.update_add, ...), after doing it.

    A result of a metric is one too: its updates are done.

    >>> from ckernels.compat import keras2 as K
    >>> v = K.variable(1.0)
    >>> K.eval(K.update_add(v, 2.0)), K.get_value(v)
    (np.float32(3.0), np.float32(3.0))
    """
    if isinstance(x, _Update):
        return function([], [x.value], [x])([])[0]
    if hasattr(x, "_brings"):
        return function([], [x])([])[0]
    return _values.eval(x)


def get_value(x):
    """The value of a variable, or of any tensor that needs no input, as under TensorFlow."""
    tensor = isinstance(x, (_Tensor, _Update)) and not isinstance(x, _Variable)
    return eval(x) if tensor else _values.get_value(x)


def batch_get_value(ops):
    """The values of several variables or tensors, as a list."""
    return [get_value(x) for x in _given.sequence(ops, "the argument of batch_get_value")]


def is_keras_tensor(x):
    """Whether `x` was made by a Keras layer or Input; ValueError when it is no tensor at all."""
    if not is_tensor(x):  # noqa: F405
        raise _ArgumentError(
            f"Unexpectedly found an instance of type `{type(x).__name__}`. Expected a symbolic "
            "tensor instance."
        )
    return hasattr(x, "_keras_history")


def size(x, name=None):
    """The number of elements of `x`, an int32 scalar.

    >>> from ckernels.compat import keras2 as K
    >>> K.size(K.zeros((2, 3))).eval()
    array(6, dtype=int32)
    """
    return _Tensor(_ops.cast(_ops.prod(_ops.shape(_node_of(x))), "int32"), name)


def slice(x, start, size):
    """x[start[0]:start[0] + size[0], ...], one pair for each axis; a size of -1: to the end.

    start and size are lists or vector tensors. ValueError where their lengths do not fit.

    >>> from ckernels.compat import keras2 as K
    >>> K.slice(K.constant([[1, 2, 3], [4, 5, 6]]), [0, 1], [2, 2]).eval()
    array([[2., 3.],
           [5., 6.]], dtype=float32)
    """
    x = _need_tensor(x, "the first argument of slice")
    key = []
    for axis in range(_entries(start, size, x.ndim)):
        first, count = start[axis], size[axis]
        plain = not isinstance(count, _Tensor)
        key.append(_builtins.slice(first, None if plain and count == -1 else first + count))
    return x[tuple(key)]


def _entries(start, size, ndim):
    """The number of axes; ShapeError unless both lists have one entry for each."""
    found = [
        p.node.shape[0] if isinstance(p, _Tensor) and p.ndim else len(_given.sequence(p, what))
        for p, what in ((start, "start"), (size, "size"))
    ]
    if found != [ndim, ndim]:
        raise _ShapeError(
            "The dimension and the size of indices should match: slice got start and size of "
            f"{found[0]} and {found[1]} entries for a tensor of {ndim} dimensions"
        )
    return ndim


# --- arguments in Keras's order, and forms the document does not have ---------------------------


def gradients(loss, variables):
    """The gradients of a cost, a list; None for what it does not depend on (Keras reports it).

    A cost with dimensions, or a list of costs, is summed, as in TensorFlow: Grad-CAM and saliency
    maps ask for the gradient of `model.output[:, 0]`.

    >>> from ckernels.compat import keras2 as K
    >>> x = K.constant([1.0, 2.0])
    >>> K.gradients(K.square(x), x)[0].eval()
    array([2., 4.], dtype=float32)
    """
    return _gradients(_losses.summed(loss), variables, "none")


def softmax(x, axis=-1):
    """exp(x) / sum(exp(x)) over `axis`.

    >>> from ckernels.compat import keras2 as K
    >>> K.softmax(np.zeros((2, 3)), axis=0).eval()[0]
    array([0.5, 0.5, 0.5])
    """
    return _Tensor(_ops.softmax(_node_of(x), axis))


def relu(x, alpha=0.0, max_value=None, threshold=0.0):
    """x above `threshold`, alpha * (x - threshold) below, at most `max_value`.

    With a max_value, what is above a negative threshold is at least 0, as it was in Keras.

    >>> from ckernels.compat import keras2 as K
    >>> K.relu(np.array([-2.0, 0.5, 3.0, 9.0]), 0.5, max_value=6.0, threshold=1.0).eval()
    array([-1.5 , -0.25,  3.  ,  6.  ])
    """
    if not isinstance(threshold, _Tensor) and _np.ndim(threshold) == 0 and threshold == 0:
        return _nn.relu(x, alpha, max_value)
    x = _node_of(x)
    below = _ops.mul(_ops.sub(x, _operand(threshold)), _operand(alpha))
    above = x if max_value is None else _node_of(_math.clip(x, 0.0, max_value))
    return _Tensor(_ops.where(_ops.gt(x, _operand(threshold)), above, below))


def any(x, axis=None, keepdims=False):
    """Whether one element is non-zero: a bool tensor, as masks are."""
    return _Tensor(_ops.any(_node_of(x), axis, keepdims))


def all(x, axis=None, keepdims=False):
    """Whether all elements are non-zero: a bool tensor, as masks are."""
    return _Tensor(_ops.all(_node_of(x), axis, keepdims))


def l2_normalize(x, axis=None):
    """`x` divided by its L2 norm along `axis`, or that of all its elements."""
    return _nn.l2_normalize(x, axis)


def batch_normalization(x, mean, var, beta, gamma, axis=-1, epsilon=1e-3):
    """(x - mean) / sqrt(var + epsilon) * gamma + beta; vectors belong to `axis` of `x`."""
    x = _node_of(x)
    axis = _axis_of(axis, x.ndim, "the axis of batch_normalization, its sixth argument,")
    if axis != x.ndim - 1:
        others = [i for i in range(x.ndim) if i != axis]
        mean, var, beta, gamma = (_along(v, others) for v in (mean, var, beta, gamma))
    return _nn.batch_normalization(x, mean, var, beta, gamma, epsilon)


def _along(v, others):
    v = v if v is None else _node_of(v)
    return _ops.expand(v, tuple(others)) if v is not None and v.ndim == 1 else v


def bias_add(x, bias, data_format=None):
    """`x` plus a bias over its channels: a vector, or a tensor with one dimension less than `x`.

    A bias of several dimensions has its channels last. With channels_first it is *reshaped*, not
    transposed, to channels first: so did Keras, and so were the weights trained.
    """
    bias, x = _node_of(bias), _node_of(x)
    if _data_format_of(data_format) == "channels_first" and 1 < bias.ndim == x.ndim - 1:
        sizes = [_ops.size_of(bias, i) for i in (bias.ndim - 1, *range(bias.ndim - 1))]
        return _Tensor(_ops.add(x, _ops.reshape(bias, sizes)))
    return _nn.bias_add(x, bias, data_format)


def switch(condition, then_expression, else_expression):
    """`then_expression` where `condition`, else `else_expression` (tensors, or functions of none).

    ValueError where the condition has more dimensions than the tensors it chooses from.
    """
    ranks = [_node_of(e).ndim for e in (then_expression, else_expression) if not _lazy(e)]
    if ranks and _node_of(condition).ndim > _builtins.max(ranks):
        raise _ShapeError(
            "Rank of `condition` should be less than or equal to rank of `then_expression` and "
            f"`else_expression`: it has {_node_of(condition).ndim} dimensions, they have at most "
            f"{_builtins.max(ranks)}"
        )
    return _phase.switch(condition, then_expression, else_expression)


def _lazy(expression):
    return callable(expression) and not isinstance(expression, _Tensor)


def conv2d_transpose(
    x,
    kernel,
    output_shape,
    strides=(1, 1),
    padding="valid",
    data_format=None,
    dilation_rate=(1, 1),
):
    """The transpose of conv2d with this kernel (rows, columns, output channels, channels of x)."""
    return _conv_transpose(x, kernel, output_shape, strides, padding, data_format, dilation_rate)


def resize_images(x, height_factor, width_factor, data_format, interpolation="nearest"):
    """Images enlarged by integer factors; interpolation: "nearest" or "bilinear".

    The latter takes new row j from row j / height_factor, as TensorFlow 1 did: so were models of
    that time trained.

    >>> from ckernels.compat import keras2 as K
    >>> x = K.variable(np.arange(2.0).reshape(1, 1, 2, 1))
    >>> K.resize_images(x, 1, 2, "channels_last", "bilinear").eval().ravel()
    array([0. , 0.5, 1. , 1. ], dtype=float32)
    """
    factors = (height_factor, width_factor)
    return _resized(2, "resize_images", x, factors, data_format, interpolation, centred=False)


def ctc_decode(
    y_pred, input_length, greedy=True, beam_width=100, top_paths=1, merge_repeated=False
):
    """The most probable label sequences, ([sequences, ...], scores); the last class is the blank.

    merge_repeated: whether equal neighbours of a sequence found by the beam search become one,
    whatever blanks were between them (the greedy search always merges what no blank separates).
    """
    return _ctc_decode(y_pred, input_length, greedy, beam_width, top_paths, merge_repeated)


def ctc_label_dense_to_sparse(labels, label_lengths):
    """Not offered: NotImplementedError that says how to do without."""
    raise _NotSupported(
        "there are no sparse tensors of labels here; K.ctc_batch_cost takes the dense labels and "
        "their lengths"
    )


def pattern_broadcast(x, broadcastable):
    """`x`: which axes broadcast is decided by their sizes when a function runs."""
    return x


if __name__ == "__main__":
    raise SystemExit(_taking.main())

_loading.watch(__name__, _taking.settle)
