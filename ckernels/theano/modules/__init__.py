"""Theano 1.0 on ckernels: `import ckernels.compat.theano as theano`.

Names, conventions and the graph as written are Theano's; what runs is ckernels. `install()` makes
it what `import theano` finds; `python -m ckernels.theano program.py` does so for a program that is
not to be edited.
"""
# ruff: noqa: F401

import importlib

from .compile import FAST_COMPILE, FAST_RUN, In, Mode, Out, Param, function, shared
from .config import change_flags, config
from .gof.graph import Apply, Constant, Variable
from .gof.op import Op
from .gof.type import Generic, Type, generic
from .names import elsewhere

__version__ = "1.0.5"
version = type("version", (), {"full_version": __version__, "short_version": __version__})
_MODULES = ("tensor", "compile", "config", "gof", "gradient", "scalar", "scan_module", "printing",
            "sandbox", "updates", "misc", "ifelse", "raise_op", "tests", "compat",
            "typed_list", "sparse", "d3viz")  # fmt: skip
_NAMES = {
    "grad": "gradient",
    "Rop": "gradient",
    "Lop": "gradient",
    "subgraph_grad": "gradient",
    "scan": "scan_module",
    "map": "scan_module",
    "reduce": "scan_module",
    "foldl": "scan_module",
    "foldr": "scan_module",
    "clone": "scan_module",
    "scan_checkpoints": "scan_module",
    "until": "scan_module",
    "pp": "printing",
    "pprint": "printing",
    "as_op": "compile",
    "OpFromGraph": "compile",
    "SharedVariable": "compile",
    "ProfileStats": "compile",
    "OrderedUpdates": "updates",
    "dot": "helpers",
    "get_scalar_constant_value": "tensor",
    "sparse_grad": "tensor",
    "predefined_modes": "compile",
    "predefined_linkers": "compile",
    "predefined_optimizers": "compile",
    "shared_constructor": "compile",
    "DebugMode": "compile",
    "as_tensor_variable": "tensor",
    "as_symbolic": "helpers",
    "verify_grad": "gradient",
    "_asarray": "helpers",
    "PureOp": "gof",
    "object2": "gof",
    "FunctionGraph": "gof",
    "Container": "gof",
    "InconsistencyError": "gof",
    **dict.fromkeys(("CLinker", "DualLinker", "Linker", "LocalLinker"), "gof"),
    **dict.fromkeys(("OpWiseCLinker", "PerformLinker"), "gof"),
    "OpenMPOp": "gof",
    "FunctionMaker": "compile",
    "function_dump": "compile",
    "SymbolicInput": "compile",
    "SymbolicOutput": "compile",
}


def install():
    """Make this package what `import theano` finds; see installing.py."""
    from .installing import install as act

    act()


def __getattr__(name):
    if name in _NAMES:
        found = getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
        globals()[name] = found
        return found
    if name in ("configdefaults", "configparser"):
        return importlib.import_module(f"{__name__}.config")
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    return elsewhere("theano", name)
