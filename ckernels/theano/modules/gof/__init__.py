"""theano.gof: graphs, ops, types, and what walks over them."""
# ruff: noqa: F401

from ...base import utils
from ...base.exceptions import MissingInputError
from ...base.names import absent_of as _absent_of
from ...base.utils import MethodNotDefined, hashtype, object2
from ...classes.op import CLinkerOp, Op, PureOp
from ...graph import apply as graph
from ...graph.apply import Apply, Constant, Variable, view_roots
from ...graph.type import Generic, Type, generic

__getattr__ = _absent_of(
    "theano.gof",
    {
        "rewrites.opt": """Optimizer optimizer inplace_optimizer SeqOptimizer MergeOptimizer
            LocalOptimizer local_optimizer LocalOptGroup OpSub OpRemove PatternSub
            NavigatorOptimizer TopoOptimizer OpKeyOptimizer EquilibriumOptimizer""",
        "rewrites.toolbox": """Bookkeeper Feature History NodeFinder NoOutputFromInplace
            PrintListener ReplaceValidate ReplacementDidntRemovedError Validator""",
        "rewrites.optdb": "DB EquilibriumDB LocalGroupDB ProxyDB Query SequenceDB TopoDB",
        "user_ops.enums": "CDataType EnumType EnumList CEnumType",
        "user_ops.cop": "COp OpenMPOp",
        "user_ops.params_type": "ParamsType Params",
        "compile.linkers": """CLinker DualLinker Linker LocalLinker OpWiseCLinker PerformLinker
            VM_Linker WrapLinker WrapLinkerMany""",
        "graph.fg": "FunctionGraph InconsistencyError AlreadyThere",
        "handles.sharedvar": "Container",
        "handles.test_values": "get_test_value",
    },
)
