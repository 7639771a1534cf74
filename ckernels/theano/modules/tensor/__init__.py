"""theano.tensor: the symbolic tensors, by topic in the files of this package.

Names that need more (nnet, signal, random streams, linear algebra) are modules loaded when asked
for.
"""
# ruff: noqa: F401, F403

import sys

import numpy as _np

from ....base import dtypes as _dtypes
from ...base.config import config as _config
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
    constant_cache,
    wrap,
)
from ...tensor.creation import *
from ...tensor.defaults import *
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
# How close _allclose compares; programs assign to these. A row for each tensor.cmp_sloppy: 0, 1, 2.
(float16_atol, float16_rtol, float32_atol, float32_rtol, float64_atol, float64_rtol) = (
    (1e-3, 1e-3, 1e-5, 1e-5, 1e-8, 1e-5),
    (5e-3, 1e-2, 1e-4, 1e-3, 1e-3, 1e-4),
    (1e-2, 5e-2, 5e-4, 1e-3, 1e-3, 1e-4),
)[_np.clip(_config.tensor.cmp_sloppy, 0, 2)]
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


def _get_atol_rtol(a, b):
    """The tolerances (atol, rtol) of the narrower of two arrays."""
    for dtypes, tolerances in (
        (("float16",), (float16_atol, float16_rtol)),
        (("float32", "complex64"), (float32_atol, float32_rtol)),
    ):
        if str(a.dtype) in dtypes or str(b.dtype) in dtypes:
            return tolerances
    return float64_atol, float64_rtol


def _allclose(a, b, rtol=None, atol=None):
    """np.allclose, as close as the narrower dtype allows."""
    a, b = _np.asarray(a), _np.asarray(b)
    atol_, rtol_ = _get_atol_rtol(a, b)
    return _np.allclose(a, b, rtol_ if rtol is None else rtol, atol_ if atol is None else atol)


def __getattr__(name):
    if name == "__all__":  # `from theano.tensor import *` brings modules, too, as Theano's does
        own = [n for n in globals() if not n.startswith("_") and n != "sys"]
        return [*own, "gof", "config", "printing", "gradient", "compile"]
    if name.startswith("_convert_to_"):
        return _Cast(name.removeprefix("_convert_to_"))
    return _asked(name)
