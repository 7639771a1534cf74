"""Types of ckernels.compat.keras1. Written by `python -m build_tools.stubs`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

import numpy as np

from .. import abs as abs
from .. import all as all
from .. import any as any
from .. import arange as arange
from .. import argmax as argmax
from .. import argmin as argmin
from .. import batch_flatten as batch_flatten
from .. import batch_normalization as batch_normalization
from .. import batch_set_value as batch_set_value
from .. import bias_add as bias_add
from .. import cast as cast
from .. import cast_to_floatx as cast_to_floatx
from .. import clear_session as clear_session
from .. import clip as clip
from .. import concatenate as concatenate
from .. import constant as constant
from .. import cos as cos
from .. import count_params as count_params
from .. import ctc_decode as ctc_decode
from .. import cumprod as cumprod
from .. import cumsum as cumsum
from .. import dot as dot
from .. import dtype as dtype
from .. import elu as elu
from .. import epsilon as epsilon
from .. import equal as equal
from .. import exp as exp
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
from .. import l2_normalize as l2_normalize
from .. import learning_phase as learning_phase
from .. import less as less
from .. import less_equal as less_equal
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
from .. import permute_dimensions as permute_dimensions
from .. import pow as pow
from .. import print_tensor as print_tensor
from .. import prod as prod
from .. import random_binomial as random_binomial
from .. import relu as relu
from .. import repeat as repeat
from .. import reset_uids as reset_uids
from .. import reshape as reshape
from .. import reverse as reverse
from .. import round as round
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
from .. import softmax as softmax
from .. import softplus as softplus
from .. import softsign as softsign
from .. import sqrt as sqrt
from .. import square as square
from .. import squeeze as squeeze
from .. import stack as stack
from .. import std as std
from .. import stop_gradient as stop_gradient
from .. import sum as sum
from .. import switch as switch
from .. import tanh as tanh
from .. import tile as tile
from .. import to_dense as to_dense
from .. import transpose as transpose
from .. import truncated_normal as truncated_normal
from .. import update as update
from .. import update_add as update_add
from .. import update_sub as update_sub
from .. import var as var
from ..api.tensor import Tensor, Variable
from ..typing import DType, Function, Shape, TensorLike, Updates

def asymmetric_spatial_2d_padding(
    x: TensorLike,
    top_pad: Any = 1,
    bottom_pad: Any = 1,
    left_pad: Any = 1,
    right_pad: Any = 1,
    dim_ordering: str = "default",
) -> Tensor:
    """Zeros around images, as many on each side as asked for."""

def asymmetric_temporal_padding(x: TensorLike, left_pad: Any = 1, right_pad: Any = 1) -> Tensor:
    """Zeros before and after the middle axis."""

def atrous_conv2d(
    x: TensorLike,
    kernel: TensorLike,
    rate: Any = 1,
    border_mode: Any = "valid",
    dim_ordering: str = "default",
    image_shape: Any = None,
    filter_shape: Any = None,
) -> Tensor:
    """2D convolution with holes: a dilation of `rate`."""

def backend() -> str:
    """'theano', whose place this module takes in Keras 1."""

def batch_dot(x: TensorLike, y: TensorLike, axes: int | Sequence[int] | None = None) -> Tensor:
    """Dot products within each sample; axes: one for each, or an int for both."""

def batch_get_value(xs: Any) -> list[np.ndarray]:
    """The values of several variables, as a list."""

def binary_crossentropy(
    output: TensorLike,
    target: TensorLike,
    from_logits: bool = False,
) -> Tensor:
    """-(target * log(output) + (1 - target) * log(1 - output)); the output comes first."""

def calculate_like(backend: Any) -> Any:
    """Convolve and pool as Keras 1 did on "tensorflow" (the default) or on "theano", from now
    on."""

def categorical_crossentropy(
    output: TensorLike,
    target: TensorLike,
    from_logits: bool = False,
) -> Tensor:
    """-sum(target * log(output)) over the last axis; the output comes first."""

def conv1d(
    x: TensorLike,
    kernel: TensorLike,
    stride: Any = 1,
    border_mode: Any = "valid",
    image_shape: Any = None,
    filter_shape: Any = None,
) -> Tensor:
    """1D convolution of (batch, steps, channels) with a kernel (length, channels, filters)."""

def conv2d(
    x: TensorLike,
    kernel: TensorLike,
    strides: int | Sequence[int] = (1, 1),
    border_mode: Any = "valid",
    dim_ordering: str = "th",
    image_shape: Any = None,
    filter_shape: Any = None,
    filter_dilation: Any = (1, 1),
) -> Tensor:
    """2D convolution; kernels are (out, in, rows, columns) with dim_ordering 'th', and (rows,
    columns, in, out) with 'tf'. image_shape, filter_shape: accepted, not needed."""

def conv3d(
    x: TensorLike,
    kernel: TensorLike,
    strides: int | Sequence[int] = (1, 1, 1),
    border_mode: Any = "valid",
    dim_ordering: str = "default",
    volume_shape: Any = None,
    filter_shape: Any = None,
    filter_dilation: Any = (1, 1, 1),
) -> Tensor:
    """3D convolution; kernels as for `conv2d`, with one axis more."""

def ctc_batch_cost(
    y_true: TensorLike,
    y_pred: TensorLike,
    input_length: TensorLike,
    label_length: TensorLike,
) -> Tensor:
    """The CTC loss of each sample, (samples, 1), as ckernels.ctc_batch_cost but for its
    labels."""

def deconv2d(
    x: TensorLike,
    kernel: TensorLike,
    output_shape: Shape,
    strides: int | Sequence[int] = (1, 1),
    border_mode: Any = "valid",
    dim_ordering: str = "default",
    image_shape: Any = None,
    filter_shape: Any = None,
) -> Tensor:
    """The transpose of conv2d. The kernel has the layout of conv2d's from the channels of `x`
    to those of the result; output_shape is the whole shape of the result."""

def dropout(
    x: TensorLike,
    level: TensorLike,
    noise_shape: Shape | None = None,
    seed: int | None = None,
) -> Tensor:
    """`x` with a fraction `level` of its entries set to 0; a third argument that is an int is
    the seed, where the documents have it."""

def eval(x: TensorLike) -> Any:
    """The value of a tensor that needs no input: an array, or a NumPy scalar."""

def expand_dims(x: TensorLike, dim: Any = -1) -> Tensor:
    """`x` with a new axis of size 1 at index `dim`."""

def eye(
    size: int | Sequence[int],
    dtype: DType | None = None,
    name: str | None = None,
) -> Variable:
    """A variable holding the identity matrix of `size` rows."""

def function(
    inputs: Any,
    outputs: Any,
    updates: Updates | None = None,
    **kwargs: Any,
) -> Function:
    """A callable that computes `outputs` from a list of arrays and applies `updates`."""

def get_value(x: Variable) -> np.ndarray:
    """The value of a variable: a new array, or a NumPy scalar."""

def gradients(loss: Tensor, variables: Tensor | Sequence[Tensor]) -> list[Tensor]:
    """The gradients of a cost with respect to a list of variables; with dimensions it is
    summed."""

def install(like: Any = None) -> None:
    """Let Keras 1, imported afterwards, run on this module. like: as in `calculate_like`."""

def is_keras_tensor(x: TensorLike) -> bool:
    """Whether `x` carries Keras's shape: False for what is no tensor."""

def legacy_weight_ordering() -> bool:
    """Whether weights are listed in the order of Keras before 1.0.6."""

def lesser(x: TensorLike, y: TensorLike) -> Tensor:
    """x < y, a bool tensor."""

def lesser_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """x <= y, a bool tensor."""

def map_fn(
    fn: Callable[..., Any],
    elems: TensorLike | Sequence[TensorLike],
    name: str | None = None,
) -> Any:
    """`fn` of each element along the first axis of `elems`, stacked."""

def name_scope(name: str) -> AbstractContextManager[Any]:
    """Put `name` and a slash before the names of the variables made inside."""

def one_hot(indices: TensorLike, nb_classes: Any) -> Tensor:
    """1 at the class and 0 elsewhere, along a new last axis."""

def ones(shape: Shape, dtype: DType | None = None, name: str | None = None) -> Variable:
    """A variable filled with 1."""

def ones_like(x: TensorLike, name: str | None = None, dtype: DType | None = None) -> Tensor:
    """Ones with the shape of `x`."""

def pattern_broadcast(x: TensorLike, broatcastable: Any) -> Tensor:
    """`x`: which axes broadcast is decided by their sizes when a function runs."""

def placeholder(
    shape: Shape | None = None,
    ndim: int | None = None,
    dtype: DType | None = None,
    name: str | None = None,
    sparse: bool = False,
) -> Tensor:
    """An input of a shape (ints and None) or of a number of dimensions."""

def pool2d(
    x: TensorLike,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] = (1, 1),
    border_mode: Any = "valid",
    dim_ordering: str = "th",
    pool_mode: str = "max",
) -> Tensor:
    """2D pooling, 'max' or 'avg'."""

def pool3d(
    x: TensorLike,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] = (1, 1, 1),
    border_mode: Any = "valid",
    dim_ordering: str = "default",
    pool_mode: str = "max",
) -> Tensor:
    """3D pooling, 'max' or 'avg'."""

def random_normal(
    shape: Shape,
    mean: TensorLike = 0.0,
    std: Any = 1.0,
    dtype: DType | None = None,
    seed: int | None = None,
) -> Tensor:
    """Normal numbers of the given mean and standard deviation."""

def random_normal_variable(
    shape: Shape,
    mean: float,
    scale: float,
    dtype: DType | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Variable:
    """A variable with normal values of the given mean and standard deviation."""

def random_uniform(
    shape: Shape,
    low: TensorLike = 0.0,
    high: TensorLike = 1.0,
    dtype: DType | None = None,
    seed: int | None = None,
) -> Tensor:
    """Numbers in [low, high), all equally likely."""

def random_uniform_variable(
    shape: Shape,
    low: float,
    high: float,
    dtype: DType | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Variable:
    """A variable with values drawn from [low, high)."""

def repeat_elements(x: TensorLike, rep: int, axis: int) -> Tensor:
    """Each element of `x` repeated `rep` times along `axis`; its `_keras_shape` is set."""

def resize_images(X: Any, height_factor: int, width_factor: int, dim_ordering: str) -> Tensor:
    """Images enlarged by integer factors: pixels are repeated."""

def resize_volumes(
    X: Any,
    depth_factor: int,
    height_factor: int,
    width_factor: int,
    dim_ordering: str,
) -> Tensor:
    """Volumes enlarged by integer factors: voxels are repeated."""

def rnn(
    step_function: Callable[..., Any],
    inputs: Any,
    initial_states: Sequence[Tensor],
    go_backwards: bool = False,
    mask: TensorLike | None = None,
    constants: Sequence[TensorLike] | None = None,
    unroll: bool = False,
    input_length: TensorLike | None = None,
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """(last_output, outputs, new_states) of a step function along the time axis."""

def separable_conv2d(
    x: TensorLike,
    depthwise_kernel: TensorLike,
    pointwise_kernel: TensorLike,
    strides: int | Sequence[int] = (1, 1),
    border_mode: Any = "valid",
    dim_ordering: str = "default",
) -> Tensor:
    """A depthwise convolution, then one of size 1 x 1; kernels in the layout of conv2d's."""

def set_legacy_weight_ordering(value: Any) -> None:
    """List weights in the order of Keras before 1.0.6; ValueError unless True or False."""

def sparse_categorical_crossentropy(
    output: TensorLike,
    target: TensorLike,
    from_logits: bool = False,
) -> Tensor:
    """-log(output[..., target]) with the class as an integer; the output comes first."""

def spatial_2d_padding(
    x: TensorLike,
    padding: Any = (1, 1),
    dim_ordering: str = "th",
) -> Tensor:
    """Zeros around images: as many before as after, for rows and for columns."""

def spatial_3d_padding(
    x: TensorLike,
    padding: Any = (1, 1, 1),
    dim_ordering: str = "default",
) -> Tensor:
    """Zeros around volumes: as many before as after, along each axis."""

def temporal_padding(x: TensorLike, padding: Any = 1) -> Tensor:
    """`padding` zeros before and after the middle axis."""

def variable(value: Any, dtype: DType | None = None, name: str | None = None) -> Any:
    """A variable with an initial value: an array, a number, lists, or a tensor without
    inputs."""

def zeros(shape: Shape, dtype: DType | None = None, name: str | None = None) -> Variable:
    """A variable filled with 0."""

def zeros_like(x: TensorLike, name: str | None = None, dtype: DType | None = None) -> Tensor:
    """Zeros with the shape of `x`."""
