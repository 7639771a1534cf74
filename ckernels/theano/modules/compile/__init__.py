"""theano.compile: functions, modes, inputs with options, shared variables."""
# ruff: noqa: F401

from ..exceptions import UnusedInputError
from ..tensor.sharedvar import SharedVariable, generic, shared, shared_constructor
from .callable import Function
from .function import function, pfunc
from .io import In, Out, Param, SymbolicInput, SymbolicOutput
from .mode import (
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

_LAZY = {
    "as_op": "ops",
    "FromFunctionOp": "ops",
    "OpFromGraph": "builders",
    "DeepCopyOp": "ops",
    "deep_copy_op": "ops",
    "ViewOp": "ops",
    "view_op": "ops",
    "FunctionMaker": "maker",
    "ProfileStats": "profiling",
    "Shape": "..tensor",
    "Shape_i": "..tensor",
    "shape": "..tensor",
    "shape_i": "..tensor",
    "Rebroadcast": "..tensor",
    "SpecifyShape": "..tensor",
    "specify_shape": "..tensor",
    "optdb": "..gof.optdb",
    "function_dump": "..misc.pkl_utils",
}


def __getattr__(name):
    import importlib  # no name of this module

    from ..names import elsewhere

    if name in _LAZY:
        module = _LAZY[name]
        return getattr(
            importlib.import_module(module if module.startswith("..") else "." + module, __name__),
            name,
        )
    if name in ("ops", "builders", "maker", "io", "mode", "profiling"):
        return importlib.import_module("." + name, __name__)
    return elsewhere("theano.compile", name)
