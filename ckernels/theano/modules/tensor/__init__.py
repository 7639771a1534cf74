"""theano.tensor: the symbolic tensors, by topic in the files of this package.

Names that need more (nnet, signal, random streams, linear algebra) are modules loaded when asked
for.
"""
# ruff: noqa: F401, F403

import sys

from ....base import dtypes as _dtypes
from ...base.names import absent_of as _absent_of
from ...classes import scalar as scal
from ...classes.op import Op
from ...graph.apply import Apply, Constant, Variable
from ...graph.type import Generic, Type
from ...handles.constants import *
from ...handles.constructors import *
from ...handles.sharedvar import (
    ScalarSharedVariable,
    SharedVariable,
    TensorSharedVariable,
    scalar_constructor,
    shared,
    tensor_constructor,
)
from ...handles.type import (
    TensorType,
    values_eq_approx_always_true,
    values_eq_approx_remove_inf,
    values_eq_approx_remove_inf_nan,
    values_eq_approx_remove_nan,
)
from ...handles.variables import (
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
from ...tensor.creation import *
from ...tensor.elementwise import *
from ...tensor.elementwise import Cast as _Cast
from ...tensor.extra_ops import *
from ...tensor.indexing import *
from ...tensor.joining import *
from ...tensor.products import *
from ...tensor.reductions import *
from ...tensor.shaping import *
from ...tensor.sort import *

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
_asked = _absent_of(
    "theano.tensor",
    {
        "gradient.functions": """grad Rop Lop jacobian hessian numeric_grad verify_grad
            consider_constant""",
        "classes.scalar": """scalar_from_tensor ScalarFromTensor TensorFromScalar
            tensor_from_scalar""",
        "modules.compile": "function",
        "tensor.raise_op": "Assert",
        "tensor.io": "load",
        "modules": "gof config printing gradient compile",
    },
)


def __getattr__(name):
    if name.startswith("_convert_to_"):
        return _Cast(name.removeprefix("_convert_to_"))
    return _asked(name)
