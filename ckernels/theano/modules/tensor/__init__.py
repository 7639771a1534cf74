"""theano.tensor: the symbolic tensors, by topic in the files of this package.

Names that need more (nnet, signal, random streams, linear algebra) are modules loaded when asked
for.
"""
# ruff: noqa: F401, F403

import importlib
import sys

from ....base import dtypes as _dtypes
from .. import scalar as scal
from ..gof.graph import Constant, Variable
from .constants import *
from .constructors import *
from .creation import *
from .elementwise import *
from .elementwise import Cast as _Cast
from .extra_ops import *
from .indexing import *
from .joining import *
from .products import *
from .reductions import *
from .shaping import *
from .sharedvar import (
    ScalarSharedVariable,
    SharedVariable,
    TensorSharedVariable,
    scalar_constructor,
    shared,
    tensor_constructor,
)
from .sort import *
from .type import (
    TensorType,
    values_eq_approx_always_true,
    values_eq_approx_remove_inf,
    values_eq_approx_remove_inf_nan,
    values_eq_approx_remove_nan,
)
from .variables import (
    AsTensorError,
    TensorConstant,
    TensorConstantSignature,
    TensorVariable,
    as_tensor,
    as_tensor_variable,
    autocast_float,
    autocast_float_as,
    autocast_int,
    constant,
    wrap,
)

basic = sys.modules[__name__]  # so that `from theano.tensor import *` brings it
abs = abs_  # noqa: F405
isnan_, isinf_ = isnan, isinf  # noqa: F405
_dot = Dot()  # noqa: F405
_shared = tensor_constructor
Tensor = TensorType
integer_dtypes, int_dtypes, uint_dtypes = _dtypes.INTEGERS, _dtypes.SIGNED, _dtypes.UNSIGNED
float_dtypes, complex_dtypes = ("float16", "float32", "float64"), ("complex64", "complex128")
continuous_dtypes = float_dtypes + complex_dtypes
discrete_dtypes = ("bool",) + integer_dtypes
all_dtypes = discrete_dtypes + continuous_dtypes
_MODULES = ("nnet", "signal", "nlinalg", "slinalg", "fft", "shared_randomstreams", "raw_random",
            "inplace", "opt", "xlogx", "extra_ops", "sharedvar", "sort", "type")  # fmt: skip
_ELSEWHERE = {"grad": "gradient", "Rop": "gradient", "Lop": "gradient", "jacobian": "gradient",
              "hessian": "gradient", "numeric_grad": "gradient", "verify_grad": "gradient",
              "consider_constant": "gradient", "scalar_from_tensor": "scalar",
              "ScalarFromTensor": "scalar", "TensorFromScalar": "scalar",
              "tensor_from_scalar": "scalar", "function": "compile", "Assert": "raise_op",
              "gof": "gof", "config": "config", "printing": "printing", "gradient": "gradient",
              "compile": "compile"}  # fmt: skip


def __getattr__(name):
    from ..names import elsewhere

    if name.startswith("_convert_to_"):
        return _Cast(name.removeprefix("_convert_to_"))
    if name in _ELSEWHERE:
        module = importlib.import_module(f"..{_ELSEWHERE[name]}", __name__)
        return (
            module
            if _ELSEWHERE[name].rpartition(".")[2] == name and name != "config"
            else getattr(module, name)
        )
    if name == "elemwise":
        return importlib.import_module(f"{__name__}.elemwise_names")
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    return elsewhere("theano.tensor", name)
