"""Types of ckernels.compat.keras2. Written by `python -m build_tools.stubs`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

import numpy as np

from .. import abs as abs
from .. import arange as arange
from .. import argmax as argmax
from .. import argmin as argmin
from .. import batch_dot as batch_dot
from .. import batch_flatten as batch_flatten
from .. import batch_set_value as batch_set_value
from .. import cast as cast
from .. import cast_to_floatx as cast_to_floatx
from .. import clip as clip
from .. import concatenate as concatenate
from .. import constant as constant
from .. import conv1d as conv1d
from .. import conv2d as conv2d
from .. import conv3d as conv3d
from .. import conv3d_transpose as conv3d_transpose
from .. import cos as cos
from .. import count_params as count_params
from .. import cumprod as cumprod
from .. import cumsum as cumsum
from .. import depthwise_conv2d as depthwise_conv2d
from .. import dot as dot
from .. import dropout as dropout
from .. import dtype as dtype
from .. import elu as elu
from .. import epsilon as epsilon
from .. import equal as equal
from .. import exp as exp
from .. import expand_dims as expand_dims
from .. import flatten as flatten
from .. import floatx as floatx
from .. import foldl as foldl
from .. import foldr as foldr
from .. import gather as gather
from .. import get_uid as get_uid
from .. import get_variable_shape as get_variable_shape
from .. import greater as greater
from .. import greater_equal as greater_equal
from .. import hard_sigmoid as hard_sigmoid
from .. import image_data_format as image_data_format
from .. import image_dim_ordering as image_dim_ordering
from .. import in_test_phase as in_test_phase
from .. import in_top_k as in_top_k
from .. import in_train_phase as in_train_phase
from .. import int_shape as int_shape
from .. import is_placeholder as is_placeholder
from .. import is_sparse as is_sparse
from .. import is_tensor as is_tensor
from .. import is_variable as is_variable
from .. import learning_phase as learning_phase
from .. import less as less
from .. import less_equal as less_equal
from .. import local_conv1d as local_conv1d
from .. import local_conv2d as local_conv2d
from .. import log as log
from .. import logsumexp as logsumexp
from .. import manual_variable_initialization as manual_variable_initialization
from .. import max as max
from .. import maximum as maximum
from .. import mean as mean
from .. import min as min
from .. import minimum as minimum
from .. import moving_average_update as moving_average_update
from .. import ndim as ndim
from .. import normalize_batch_in_training as normalize_batch_in_training
from .. import not_equal as not_equal
from .. import one_hot as one_hot
from .. import ones_like as ones_like
from .. import permute_dimensions as permute_dimensions
from .. import placeholder as placeholder
from .. import pool2d as pool2d
from .. import pool3d as pool3d
from .. import pow as pow
from .. import print_tensor as print_tensor
from .. import prod as prod
from .. import random_binomial as random_binomial
from .. import random_normal as random_normal
from .. import random_uniform as random_uniform
from .. import repeat as repeat
from .. import reshape as reshape
from .. import resize_volumes as resize_volumes
from .. import reverse as reverse
from .. import rnn as rnn
from .. import round as round
from .. import separable_conv1d as separable_conv1d
from .. import separable_conv2d as separable_conv2d
from .. import set_epsilon as set_epsilon
from .. import set_floatx as set_floatx
from .. import set_image_data_format as set_image_data_format
from .. import set_image_dim_ordering as set_image_dim_ordering
from .. import set_learning_phase as set_learning_phase
from .. import set_value as set_value
from .. import shape as shape
from .. import sigmoid as sigmoid
from .. import sign as sign
from .. import sin as sin
from .. import softplus as softplus
from .. import softsign as softsign
from .. import spatial_2d_padding as spatial_2d_padding
from .. import spatial_3d_padding as spatial_3d_padding
from .. import sqrt as sqrt
from .. import square as square
from .. import squeeze as squeeze
from .. import stack as stack
from .. import std as std
from .. import stop_gradient as stop_gradient
from .. import sum as sum
from .. import tanh as tanh
from .. import temporal_padding as temporal_padding
from .. import tile as tile
from .. import to_dense as to_dense
from .. import transpose as transpose
from .. import truncated_normal as truncated_normal
from .. import update as update
from .. import update_add as update_add
from .. import update_sub as update_sub
from .. import var as var
from .. import zeros_like as zeros_like
from ..api.tensor import Tensor, Variable
from ..typing import DType, Function, Shape, TensorLike, Updates

def all(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Whether all elements are non-zero: a bool tensor, as masks are."""

def any(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Whether one element is non-zero: a bool tensor, as masks are."""

def backend() -> str:
    """The name of this backend, 'ckernels.compat.keras2'."""

def batch_get_value(ops: Sequence[Variable]) -> list[np.ndarray]:
    """The values of several variables or tensors, as a list."""

def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    var: TensorLike,
    beta: TensorLike,
    gamma: TensorLike,
    axis: int = -1,
    epsilon: float = 0.001,
) -> Tensor:
    """(x - mean) / sqrt(var + epsilon) * gamma + beta; vectors belong to `axis` of `x`."""

def bias_add(x: TensorLike, bias: TensorLike, data_format: str | None = None) -> Tensor:
    """`x` plus a bias over its channels: a vector, or a tensor with one dimension less than
    `x`."""

def binary_crossentropy(
    target: TensorLike,
    output: TensorLike,
    from_logits: bool = False,
) -> Tensor:
    """-(target * log(output) + (1 - target) * log(1 - output)); the target comes first."""

def categorical_crossentropy(
    target: TensorLike,
    output: TensorLike,
    from_logits: bool = False,
    axis: int = -1,
) -> Tensor:
    """-sum(target * log(output)) over the class axis; the target comes first."""

def clear_session() -> None:
    """Forget identifiers, names in use and the learning phase; variables and functions live
    on."""

def control_dependencies(control_inputs: Any) -> Any:
    """Tensors that `identity` makes inside are computed after these updates, and bring them
    along."""

def conv2d_transpose(
    x: TensorLike,
    kernel: TensorLike,
    output_shape: Shape,
    strides: int | Sequence[int] = (1, 1),
    padding: Any = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = (1, 1),
) -> Tensor:
    """The transpose of conv2d with this kernel (rows, columns, output channels, channels of
    x)."""

def ctc_batch_cost(
    y_true: TensorLike,
    y_pred: TensorLike,
    input_length: TensorLike,
    label_length: TensorLike,
) -> Tensor:
    """The CTC loss of each sample, (samples, 1), as ckernels.ctc_batch_cost but for its
    labels."""

def ctc_decode(
    y_pred: TensorLike,
    input_length: TensorLike,
    greedy: bool = True,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: Any = False,
) -> tuple[list[Tensor], Tensor]:
    """The most probable label sequences, ([sequences, ...], scores); the last class is the
    blank."""

def ctc_label_dense_to_sparse(labels: TensorLike, label_lengths: TensorLike) -> Any:
    """Not offered: NotImplementedError that says how to do without."""

def eager(func: Any) -> Callable[..., Any]:
    """`func`: what it computes at once, it computes with arrays."""

def eval(x: TensorLike) -> Any:
    """The value of a tensor that needs no input; of an update (K.update_add, ...), after doing
    it."""

def eye(
    size: int | Sequence[int],
    dtype: DType | None = None,
    name: str | None = None,
) -> Variable:
    """A variable with ones on the diagonal. size: the number of rows, or (rows, columns)."""

def function(
    inputs: Any,
    outputs: Any,
    updates: Updates | None = None,
    **kwargs: Any,
) -> Function:
    """A callable that computes `outputs` from a list of arrays and applies `updates`."""

def get_session() -> Any:
    """There are no sessions here: NotImplementedError that says what to use."""

def get_value(x: Variable) -> np.ndarray:
    """The value of a variable, or of any tensor that needs no input, as under TensorFlow."""

def gradients(loss: Tensor, variables: Tensor | Sequence[Tensor]) -> list[Tensor]:
    """The gradients of a cost, a list; None for what it does not depend on (Keras reports
    it)."""

def identity(x: TensorLike, name: str | None = None) -> Tensor:
    """A new handle on the expression `x`."""

def is_keras_tensor(x: TensorLike) -> bool:
    """Whether `x` was made by a Keras layer or Input; ValueError when it is no tensor at
    all."""

def l2_normalize(x: TensorLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """`x` divided by its L2 norm along `axis`, or that of all its elements."""

def map_fn(
    fn: Callable[..., Any],
    elems: TensorLike | Sequence[TensorLike],
    name: str | None = None,
    dtype: DType | None = None,
) -> Any:
    """`fn` of each element along the first axis of `elems`, stacked."""

def name_scope(name: str) -> AbstractContextManager[Any]:
    """Put `name` and a slash before the names of the variables made inside."""

def normalize_data_format(value: Any) -> str:
    """`value` in lower case, or the default for None; ValueError unless it is a data format."""

def ones(shape: Shape, dtype: DType | None = None, name: str | None = None) -> Variable:
    """A variable filled with 1; with a symbolic shape a tensor."""

def pattern_broadcast(x: TensorLike, broadcastable: Any) -> Tensor:
    """`x`: which axes broadcast is decided by their sizes when a function runs."""

def random_normal_variable(
    shape: Shape,
    mean: float,
    scale: float,
    dtype: DType | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Variable:
    """A variable with normal values of the given mean and standard deviation."""

def random_uniform_variable(
    shape: Shape,
    low: float,
    high: float,
    dtype: DType | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Variable:
    """A variable with values drawn from [low, high)."""

def relu(
    x: TensorLike,
    alpha: float = 0.0,
    max_value: TensorLike | None = None,
    threshold: Any = 0.0,
) -> Tensor:
    """x above `threshold`, alpha * (x - threshold) below, at most `max_value`."""

def repeat_elements(x: TensorLike, rep: int, axis: int) -> Tensor:
    """Each element of `x` repeated `rep` times along `axis`; its `_keras_shape` is set."""

def reset_uids() -> None:
    """Start the identifiers of `get_uid`, and the names of variables, again."""

def resize_images(
    x: TensorLike,
    height_factor: int,
    width_factor: int,
    data_format: str,
    interpolation: str = "nearest",
) -> Tensor:
    """Images enlarged by integer factors; interpolation: "nearest" or "bilinear"."""

def set_session(session: Any) -> None:
    """As `get_session`."""

def size(x: TensorLike, name: str | None = None) -> Tensor:
    """The number of elements of `x`, an int32 scalar."""

def slice(x: TensorLike, start: Any, size: Any) -> Tensor:
    """x[start[0]:start[0] + size[0], ...], one pair for each axis; a size of -1: to the end."""

def softmax(x: TensorLike, axis: int = -1) -> Tensor:
    """exp(x) / sum(exp(x)) over `axis`."""

def sparse_categorical_crossentropy(
    target: TensorLike,
    output: TensorLike,
    from_logits: bool = False,
    axis: int = -1,
) -> Tensor:
    """-log(output[..., target] / sum(output)), the class an integer; the target comes first."""

def switch(condition: TensorLike, then_expression: Any, else_expression: Any) -> Any:
    """`then_expression` where `condition`, else `else_expression` (tensors, or functions of
    none)."""

def symbolic(func: Any) -> Callable[..., Any]:
    """`func`: tensors are symbolic everywhere."""

def variable(
    value: Any,
    dtype: DType | None = None,
    name: str | None = None,
    constraint: Any = None,
) -> Any:
    """A variable; its name is unique and bears the open name scopes, 'dense_1/kernel:0'."""

def zeros(shape: Shape, dtype: DType | None = None, name: str | None = None) -> Variable:
    """A variable filled with 0; with a symbolic shape a tensor."""
