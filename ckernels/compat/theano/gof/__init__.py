"""theano.gof: graphs, ops, types, and what walks over them."""
# ruff: noqa: F401

from ..exceptions import MissingInputError
from . import graph, utils
from .graph import Apply, Constant, Variable, view_roots
from .op import CLinkerOp, Op, PureOp
from .type import Generic, Type, generic
from .utils import MethodNotDefined, hashtype, object2

_LAZY = {"FunctionGraph": "fg", "InconsistencyError": "fg", "AlreadyThere": "fg"}


def __getattr__(name):
    import importlib

    from ..names import elsewhere

    if name == "Container":
        from ..tensor.sharedvar import Container

        return Container
    if name == "CDataType":
        from .type import CDataType

        return CDataType
    if name == "get_test_value":
        from ..test_values import get_test_value

        return get_test_value
    if name in _LAZY:
        return getattr(importlib.import_module("." + _LAZY[name], __name__), name)
    if name in ("fg", "op", "type", "walks", "perform", "pickling", "null_type"):
        return importlib.import_module("." + {"null_type": "type"}.get(name, name), __name__)
    return elsewhere("theano.gof", name)
