"""theano.gof: graphs, ops, types, and what walks over them."""
# ruff: noqa: F401

from ..exceptions import MissingInputError
from . import graph, utils
from .graph import Apply, Constant, Variable, view_roots
from .op import CLinkerOp, Op, PureOp
from .type import Generic, Type, generic
from .utils import MethodNotDefined, hashtype, object2

_OPT = """Optimizer optimizer inplace_optimizer SeqOptimizer MergeOptimizer LocalOptimizer
local_optimizer LocalOptGroup OpSub OpRemove PatternSub NavigatorOptimizer TopoOptimizer
OpKeyOptimizer EquilibriumOptimizer""".split()
_TOOLBOX = """Bookkeeper Feature History NodeFinder NoOutputFromInplace PrintListener
ReplaceValidate ReplacementDidntRemovedError Validator""".split()
_OPTDB = "DB EquilibriumDB LocalGroupDB ProxyDB Query SequenceDB TopoDB".split()
_TYPES = "CDataType EnumType EnumList CEnumType".split()
_LINKERS = "CLinker DualLinker Linker LocalLinker OpWiseCLinker PerformLinker VM_Linker".split()
_LAZY = {
    **dict.fromkeys(_OPT, "opt"),
    **dict.fromkeys(_TOOLBOX, "toolbox"),
    **dict.fromkeys(_OPTDB, "optdb"),
    **dict.fromkeys(_TYPES, "enums"),
    **dict.fromkeys(_LINKERS, "linkers"),
    **dict.fromkeys(("FunctionGraph", "InconsistencyError", "AlreadyThere"), "fg"),
    **dict.fromkeys(("COp", "OpenMPOp"), "cop"),
    **dict.fromkeys(("ParamsType", "Params"), "params_type"),
}


def __getattr__(name):
    import importlib  # no name of this module

    from ..names import elsewhere

    if name == "Container":
        from ..tensor.sharedvar import Container

        return Container
    if name == "get_test_value":
        from ..test_values import get_test_value

        return get_test_value
    if name in _LAZY:
        return getattr(importlib.import_module("." + _LAZY[name], __name__), name)
    if name in (
        "fg",
        "op",
        "type",
        "walks",
        "perform",
        "pickling",
        "null_type",
        "params_type",
        "cop",
        "opt",
        "optdb",
        "toolbox",
        "utils",
    ):
        return importlib.import_module("." + {"null_type": "type"}.get(name, name), __name__)
    return elsewhere("theano.gof", name)
