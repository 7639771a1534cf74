"""theano.compile: functions, modes, inputs with options, shared variables."""
# ruff: noqa: F401

from ...base.exceptions import UnusedInputError
from ...base.names import absent_of as _absent_of
from ...compile.callable import Function
from ...compile.function import function, pfunc
from ...compile.io import In, Out, Param, SymbolicInput, SymbolicOutput
from ...compile.mode import (
    FAST_COMPILE,
    FAST_RUN,
    DebugMode,
    Mode,
    MonitorMode,
    NanGuardMode,
    default_mode,
    detect_nan,
    get_default_mode,
    get_mode,
    predefined_linkers,
    predefined_modes,
    predefined_optimizers,
    register_linker,
    register_mode,
    register_optimizer,
)
from ...handles.sharedvar import SharedVariable, generic, shared, shared_constructor

__getattr__ = _absent_of(
    "theano.compile",
    {
        "user_ops.ops": """as_op FromFunctionOp DeepCopyOp deep_copy_op ViewOp view_op
            register_view_op_c_code register_deep_copy_op_c_code register_shape_c_code
            register_shape_i_c_code register_specify_shape_c_code register_rebroadcast_c_code""",
        "gradient.builders": "OpFromGraph",
        "compile.maker": "FunctionMaker",
        "compile.profiling": "ProfileStats",
        "compile.pkl_utils": "function_dump",
        "modules.tensor": """Shape Shape_i shape shape_i Rebroadcast SpecifyShape
            specify_shape""",
        "rewrites.optdb": "optdb",
        "graph.apply": "io_connection_pattern",
    },
)
