# ruff: noqa: F401
"""The K functions both Keras dialects take as they are: name, arguments and meaning."""

from ..api.config import (
    cast_to_floatx,
    epsilon,
    floatx,
    get_uid,
    image_data_format,
    image_dim_ordering,
    manual_variable_initialization,
    set_epsilon,
    set_floatx,
    set_image_data_format,
    set_image_dim_ordering,
)
from ..api.gradients import stop_gradient
from ..api.indexing import gather, one_hot
from ..api.learning_phase import in_test_phase, in_train_phase, learning_phase, set_learning_phase
from ..api.linalg import batch_dot, dot
from ..api.math import (
    abs,
    argmax,
    argmin,
    clip,
    cos,
    cumprod,
    cumsum,
    equal,
    exp,
    greater,
    greater_equal,
    less,
    less_equal,
    log,
    logsumexp,
    max,
    maximum,
    mean,
    min,
    minimum,
    not_equal,
    pow,
    prod,
    round,
    sign,
    sin,
    sqrt,
    square,
    std,
    sum,
    var,
)
from ..api.nn import (
    bias_add,
    dropout,
    elu,
    hard_sigmoid,
    in_top_k,
    normalize_batch_in_training,
    sigmoid,
    softplus,
    softsign,
    tanh,
)
from ..api.pool import resize_volumes, spatial_3d_padding
from ..api.random import random_binomial, random_normal, random_uniform, truncated_normal
from ..api.scan import foldl, foldr
from ..api.shape import (
    arange,
    batch_flatten,
    concatenate,
    flatten,
    permute_dimensions,
    repeat,
    reshape,
    reverse,
    squeeze,
    stack,
    tile,
    transpose,
)
from ..api.updates import moving_average_update, update, update_add, update_sub
from ..api.variables import (
    batch_set_value,
    cast,
    constant,
    count_params,
    dtype,
    get_variable_shape,
    int_shape,
    is_placeholder,
    is_sparse,
    is_tensor,
    is_variable,
    ndim,
    ones_like,
    placeholder,
    print_tensor,
    set_value,
    shape,
    to_dense,
    zeros_like,
)
from ._calls import function
from ._scopes import name_scope
from ._values import batch_get_value, eval, get_value, repeat_elements

__all__ = [
    name for name, value in list(globals().items()) if not name.startswith("_") and callable(value)
]
