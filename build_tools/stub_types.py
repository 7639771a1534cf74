"""The types that `stubs.py` writes: of parameters by their names, of what functions give.

Tables only. What takes a tensor takes arrays and numbers as well (`TensorLike`).
"""

OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
COMPARED = ("lt", "le", "gt", "ge")

INTS = "int | Sequence[int]"
SHAPE = "Shape"
NODES = "Tensor | Sequence[Tensor]"

OF_PARAMETER = {
    "x": "TensorLike", "y": "TensorLike", "a": "TensorLike", "b": "TensorLike", "c": "TensorLike",
    "v": "TensorLike", "p": "TensorLike", "q": "TensorLike", "m": "int",
    "axis": "int", "axis1": "int", "axis2": "int", "axes": "Any", "keepdims": "bool",
    "dtype": "DType", "name": "str", "shape": SHAPE, "dims": SHAPE, "n": "int", "k": "int",
    "data_format": "str", "dim_ordering": "str", "padding": "Any", "strides": INTS,
    "dilation_rate": INTS, "groups": "int", "flip": "bool", "kernel_size": INTS,
    "pool_size": INTS, "pool_mode": "str", "output_shape": "Shape", "interpolation": "str",
    "kernel": "TensorLike", "depthwise_kernel": "TensorLike", "pointwise_kernel": "TensorLike",
    "height_factor": "int", "width_factor": "int", "depth_factor": "int",
    "seed": "int", "mean": "TensorLike", "stddev": "TensorLike", "var": "TensorLike",
    "scale": "float", "low": "TensorLike", "high": "TensorLike", "minval": "TensorLike",
    "maxval": "TensorLike", "level": "TensorLike", "noise_shape": "Shape",
    "beta": "TensorLike", "gamma": "TensorLike", "epsilon": "float", "alpha": "float",
    "momentum": "TensorLike", "reduction_axes": "Sequence[int]", "bias": "TensorLike",
    "min_value": "TensorLike", "max_value": "TensorLike",
    "output": "TensorLike", "target": "TensorLike", "from_logits": "bool",
    "predictions": "TensorLike", "targets": "TensorLike",
    "y_true": "TensorLike", "y_pred": "TensorLike", "input_length": "TensorLike",
    "label_length": "TensorLike", "input_lengths": "TensorLike", "label_lengths": "TensorLike",
    "labels": "TensorLike", "activations": "TensorLike", "greedy": "bool", "beam_width": "int",
    "top_paths": "int",
    "value": "Any", "val": "TensorLike", "new_x": "TensorLike", "increment": "TensorLike",
    "decrement": "TensorLike", "ops": "Sequence[Variable]",
    "tuples": "Sequence[tuple[Variable, Any]]",
    "variables": NODES, "wrt": "Any", "cost": "Tensor", "loss": "Tensor", "expression": "Tensor",
    "disconnected": 'Literal["raise", "none", "zero"]', "known_grads": "Mapping[Tensor, Tensor]",
    "consider_constant": "Sequence[Tensor]", "f": "Any", "eval_points": "Any", "gradients": "Any",
    "function": "Callable[..., Any]", "fn": "Callable[..., Any]", "body": "str",
    "step_function": "Callable[..., Any]", "elems": "TensorLike | Sequence[TensorLike]",
    "initializer": "TensorLike", "inputs": "Any", "outputs": "Any",
    "initial_states": "Sequence[Tensor]",
    "sequences": "Any", "outputs_info": "Any", "non_sequences": "Any", "n_steps": "TensorLike",
    "truncate_gradient": "int", "go_backwards": "bool", "strict": "bool", "return_list": "bool",
    "debug": "bool", "checkpoint": "int", "mode": "str", "profile": "bool", "allow_gc": "bool",
    "mask": "TensorLike", "constants": "Sequence[TensorLike]", "unroll": "bool",
    "time_major": "bool",
    "zero_output_for_mask": "bool", "return_all_outputs": "bool",
    "updates": "Updates", "givens": "Any", "on_unused_input": 'Literal["ignore", "warn", "raise"]',
    "allow_input_downcast": "bool", "no_default_updates": "bool | Sequence[Variable]",
    "check": "str", "kwargs": "Any", "infer_shape": "Callable[..., Any]", "gradient": "Any",
    "support": "str", "errors": "Mapping[int, str]", "parallel": "bool",
    "condition": "TensorLike", "conditions": "TensorLike", "then_expression": "Any",
    "else_expression": "Any", "alt": "Any", "training": "Any",
    "index": "TensorLike", "indices": "TensorLike", "choices": "Any", "reference": "TensorLike",
    "multi_index": "Any", "flat": "TensorLike", "order": "str", "num_classes": "int",
    "lower": "bool", "assume_a": "str", "trans": "Any", "unit_diagonal": "bool", "rcond": "float",
    "factors": "TensorLike", "full_matrices": "bool", "compute_uv": "bool", "ind": "int",
    "offset": "int", "rowvar": "bool", "ddof": "int", "is_odd": "bool", "norm": "str",
    "ndim": "int",
    "rtol": "float", "atol": "float", "equal_nan": "bool",
    "start": "TensorLike", "stop": "TensorLike", "step": "TensorLike",
    "tensors": "Sequence[TensorLike]",
    "source": INTS, "destination": INTS, "pattern": "Sequence[int]", "rep": "int", "shift": INTS,
    "parts": "Any", "weights": "Any", "minlength": "int", "kth": INTS,
    "side": 'Literal["left", "right"]',
    "sorter": "TensorLike", "method": "str", "return_index": "bool", "return_inverse": "bool",
    "return_counts": "bool", "tensor": "Any", "sparse": "bool", "size": "int", "borrow": "bool",
    "factor": "TensorLike", "message": "str", "what": "Any", "path": "str | PathLike[str]",
    "file": "TextIO", "print_type": "bool", "depth": "int", "print_line": "bool",
    "e": "float", "floatx": "str", "intx": "str", "prefix": "str",
    "folder": "str | PathLike[str]", "shapes": "Any", "batch": "int", "examples": "Any",
    "calls": "int", "ulps": "float",
    "query": "TensorLike", "key": "TensorLike", "is_causal": "bool", "dropout": "TensorLike",
    # of methods
    "a_min": "TensorLike", "a_max": "TensorLike", "L": "float", "repeats": "TensorLike",
    "other": "TensorLike", "session": "Any",
}  # fmt: skip
AXES = ("all", "any", "logsumexp", "logdiffexp", "max", "mean", "min", "prod", "std", "sum", "var",
        "median", "percentile", "quantile", "l2_normalize", "squeeze", "roll",
        "ptp", "norm")  # fmt: skip
OF_FUNCTION = {
    **{f"{name}.axis": INTS for name in AXES},
    "Tensor.axis": INTS,
    "reverse.axes": INTS,
    "tile.n": INTS,
    "repeat.n": "TensorLike",
    "bartlett.n": "int",
    "matrix_power.n": "int",
    "eye.size": "int | Sequence[int]",
    "cov.bias": "bool",
    "random_uniform_variable.low": "float",
    "random_uniform_variable.high": "float",
    "random_normal_variable.mean": "float",
    "mode": "str",
    "slice.start": "Any",
    "slice.size": "Any",
    "explain.function": "Function",
    "scaled_dot_product_attention.value": "TensorLike",
    "scaled_dot_product_attention.scale": "TensorLike",
    "c_op.inputs": "Any",
    "cumsum.axis": "int",
    "export.f": "Any",
    "stop_gradient.variables": NODES,
    "get_value.x": "Variable",
    "set_value.x": "Variable",
    "update.x": "Variable",
    "update_add.x": "Variable",
    "update_sub.x": "Variable",
    "moving_average_update.x": "Variable",
    "set_num_threads.n": "int | None",
    "batch_dot.axes": "int | Sequence[int]",
    "permutation.n": "TensorLike",
    "trace.x": "TensorLike",
    "Tensor.inputs": "Mapping[Tensor, Any]",
    "Tensor.shape": "Any",
    "Tensor.axes": "Any",
    "Tensor.pattern": 'int | Literal["x"] | Sequence[Any]',
    "Tensor.dtype": "DType",
}
UPDATE = "tuple[Variable, Tensor]"
RESULT = {
    "backend": "str", "blas_info": "dict[str, Any]", "threads_info": "dict[str, Any]",
    "clear_session": "None", "epsilon": "float", "floatx": "str", "intx": "str",
    "image_data_format": "str", "image_dim_ordering": "str", "get_num_threads": "int",
    "get_uid": "int", "manual_variable_initialization": "None", "reset_uids": "None",
    "set_epsilon": "None", "set_floatx": "None", "set_intx": "None", "set_num_threads": "None",
    "set_image_data_format": "None", "set_image_dim_ordering": "None", "set_random_seed": "None",
    "set_learning_phase": "None", "cast_to_floatx": "np.ndarray", "count_params": "int",
    "int_shape": "tuple[int | Any, ...]", "get_variable_shape": "tuple[int, ...]", "ndim": "int",
    "dtype": "str", "eval": "Any", "get_value": "np.ndarray",
    "batch_get_value": "list[np.ndarray]", "set_value": "None", "batch_set_value": "None",
    "is_sparse": "bool", "is_tensor": "bool", "is_variable": "bool", "is_placeholder": "bool",
    "is_keras_tensor": "bool", "debugprint": "Any", "pp": "str", "draw": "str", "explain": "str",
    "export": "Any", "gradients": "list[Tensor]", "hessian": "Any", "Rop": "Any", "Lop": "Any",
    "checkpoint": "Callable[..., Any]", "stop_gradient": "Any", "function": "Function",
    "svd": "Any", "qr": "Any", "eigh": "tuple[Tensor, Tensor]", "eig": "tuple[Tensor, Tensor]",
    "slogdet": "tuple[Tensor, Tensor]", "lstsq": "tuple[Tensor, Tensor, Tensor]", "unique": "Any",
    "top_k": "tuple[Tensor, Tensor]", "nonzero": "tuple[Tensor, ...]", "split": "list[Tensor]",
    "unravel_index": "tuple[Tensor, ...]", "ctc_decode": "tuple[list[Tensor], Tensor]",
    "normalize_batch_in_training": "tuple[Tensor, Tensor, Tensor]",
    "scan": "tuple[Any, dict[Variable, Tensor]]", "map_fn": "Any", "foldl": "Any", "foldr": "Any",
    "rnn": "tuple[Tensor, Tensor, list[Tensor]]", "split_updates": "Split", "switch": "Any",
    "ifelse": "Any", "in_train_phase": "Any", "in_test_phase": "Any", "c_op": "Any", "py_op": "Any",
    "update": UPDATE, "update_add": UPDATE, "update_sub": UPDATE, "moving_average_update": UPDATE,
    "variable": "Variable", "ones": "Variable", "zeros": "Variable", "eye": "Variable",
    "random_uniform_variable": "Variable", "random_normal_variable": "Variable",
    "shared": "Variable", "Tensor.dtype": "str", "Tensor.ndim": "int", "Tensor.eval": "Any",
    "Tensor.get_shape": "tuple[int | Any, ...]", "Tensor.nonzero": "tuple[Tensor, ...]",
    "Variable.get_value": "np.ndarray", "Variable.set_value": "None",
    "Variable.fitting": "np.ndarray", "Variable.default_update": "Any",
}  # fmt: skip

OVERLOADS = {
    "grad": '''
@overload
def grad(
    cost: Tensor | None,
    wrt: Sequence[Tensor],
    disconnected: Literal["raise", "none", "zero"] = "raise",
    known_grads: Mapping[Tensor, Tensor] | None = None,
    consider_constant: Sequence[Tensor] | None = None,
) -> list[Tensor]: ...
@overload
def grad(
    cost: Tensor | None,
    wrt: Tensor,
    disconnected: Literal["raise", "none", "zero"] = "raise",
    known_grads: Mapping[Tensor, Tensor] | None = None,
    consider_constant: Sequence[Tensor] | None = None,
) -> Tensor:
    """The gradient of the scalar `cost`: a tensor for a tensor `wrt`, a list for a list."""
''',
    "jacobian": '''
@overload
def jacobian(
    expression: Tensor,
    wrt: Sequence[Tensor],
    disconnected: Literal["raise", "none", "zero"] = "raise",
) -> list[Tensor]: ...
@overload
def jacobian(
    expression: Tensor,
    wrt: Tensor,
    disconnected: Literal["raise", "none", "zero"] = "raise",
) -> Tensor:
    """d expression / d wrt, of shape expression.shape + wrt.shape; a list for a list."""
''',
    "placeholder": '''
@overload
def placeholder(
    shape: Sequence[int | None] | None = None,
    ndim: int | None = None,
    dtype: DType | None = None,
    sparse: Literal[False] = False,
    name: str | None = None,
) -> Tensor: ...
@overload
def placeholder(
    shape: Sequence[int | None] | None = None,
    ndim: int | None = None,
    dtype: DType | None = None,
    *,
    sparse: Literal[True],
    name: str | None = None,
) -> SparseTensor:
    """An input of a function: its shape (None where a size is open) or its number of dimensions."""
''',
}

HEAD = '''
"""Types of the public names. Written by `python -m build_tools.stubs`."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from types import ModuleType
from typing import Any, Literal, TextIO, overload

import numpy as np

from . import errors as errors
from . import typing as typing
from .api.sparsetensor import SparseTensor
from .api.tensor import Tensor as Tensor
from .api.tensor import Variable as Variable
from .jit.expression.run import evaluate as evaluate
from .jit.expression.run import evaluate_grad as evaluate_grad
from .jit.expression.run import re_evaluate as re_evaluate
'''
NAMES = '''
from .typing import Arguments, DType, Function, JitFunction, Result, Shape, TensorLike, Updates

__version__: str
config: Any
compat: ModuleType
numpy: ModuleType
sparse: ModuleType
jit: _Jit

class _Jit:
    """The module `ckernels.jit`, which can be called."""

{overloads}{transforms}'''
OVERLOADS_OF_JIT = '''@overload
def {name}(
    {own}f: Callable[Arguments, Result],
    *,
    static: str | int | Sequence[str | int] = (),
    background: bool = False,
    strict: bool = False,
    check: Literal["nan"] | None = None,
) -> JitFunction[Arguments, Result]:
    """{said}"""
@overload
def {name}(
    {own}f: None = None,
    *,
    static: str | int | Sequence[str | int] = (),
    background: bool = False,
    strict: bool = False,
    check: Literal["nan"] | None = None,
) -> Callable[[Callable[Arguments, Result]], JitFunction[Arguments, Result]]:
    """{said}"""
'''
JIT = '''
"""Types of jit and its transforms. Written by `python -m build_tools.stubs`."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from ..typing import Arguments, JitFunction, Result

'''
ERRORS = '''
"""Types of the exceptions and warnings. Written by `python -m build_tools.stubs`."""

'''
TENSOR = '''
"""Types of tensors and variables. Written by `python -m build_tools.stubs`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ..typing import DType, TensorLike

class Tensor:
    """A symbolic tensor."""

    name: str | None
    line: tuple[str, int, str] | None
    def __init__(self, node: Any, name: str | None = None) -> None: ...
{operators}{compared}    def __eq__(self, other: object) -> Any: ...
    def __ne__(self, other: object) -> Any: ...
    def __hash__(self) -> int: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __getitem__(self, key: Any) -> Tensor: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
{methods}
class Variable(Tensor):
    """A tensor with a value that functions read and update."""

    def __init__(
        self, value: Any, name: str | None = None, shape: Any = None, store: Any = None
    ) -> None: ...
{of_variables}
def __getattr__(name: str) -> Any: ...  # what other files of ckernels need
'''
# What functions of the dialects give that K has not, or has otherwise.
OF_DIALECT = {
    "name_scope": "AbstractContextManager[Any]", "control_dependencies": "Any",
    "get_session": "Any", "set_session": "None", "symbolic": "Callable[..., Any]",
    "eager": "Callable[..., Any]", "install": "None", "legacy_weight_ordering": "bool",
    "set_legacy_weight_ordering": "None", "normalize_data_format": "str",
    "ctc_label_dense_to_sparse": "Any", "variable": "Any", "zeros": "Variable", "ones": "Variable",
    "eye": "Variable", "zeros_like": "Tensor", "ones_like": "Tensor", "calculate_like": "Any",
    "random_normal_variable": "Variable", "random_uniform_variable": "Variable",
}  # fmt: skip
DIALECT = '''
"""Types of ckernels.compat.{name}. Written by `python -m build_tools.stubs`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

import numpy as np

from ..api.tensor import Tensor, Variable
from ..typing import DType, Function, Shape, TensorLike, Updates
'''
THEANO = '''
"""Types of ckernels.compat.theano. Written by `python -m build_tools.stubs`.

What functions and classes of the front end are is read from their sources; its modules, whose
names are made when they are asked for, are Any.
"""

from typing import Any

from ..theano.modules import FAST_COMPILE as FAST_COMPILE
from ..theano.modules import FAST_RUN as FAST_RUN
from ..theano.modules import Apply as Apply
from ..theano.modules import Constant as Constant
from ..theano.modules import In as In
from ..theano.modules import Mode as Mode
from ..theano.modules import Op as Op
from ..theano.modules import Out as Out
from ..theano.modules import Param as Param
from ..theano.modules import Type as Type
from ..theano.modules import Variable as Variable
from ..theano.modules import function as function
from ..theano.modules import install as install
from ..theano.modules import shared as shared

__version__: str

def __getattr__(name: str) -> Any: ...
'''
OF_THEANO = {
    "gradient.functions": {"grad": "Any", "Rop": "Any", "Lop": "Any"},
    "scan.functions": dict.fromkeys(("scan", "map", "reduce", "foldl", "foldr"), "tuple[Any, Any]"),
}
