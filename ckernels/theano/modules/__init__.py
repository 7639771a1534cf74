"""Theano 1.0 on ckernels: `import ckernels.compat.theano as theano`.

Names, conventions and the graph as written are Theano's; what runs is ckernels. `install()` makes
it what `import theano` finds; `python -m ckernels.theano program.py` does so for a program that is
not to be edited.
"""
# ruff: noqa: F401

import sys

import numpy as np

from ..base.config import change_flags, config
from ..base.names import absent_of as _absent_of
from ..classes.op import Op
from ..compile.function import function
from ..graph.apply import Apply, Constant, Variable
from ..graph.type import Generic, Type, generic
from . import compile
from .compile import FAST_COMPILE, FAST_RUN, In, Mode, Out, Param, shared

theano = sys.modules[__name__]  # `from theano import *` brings it
__version__ = "1.0.5"
version = type("version", (), {"full_version": __version__, "short_version": __version__})
__getattr__ = _absent_of(
    "theano",
    {
        "gradient.functions": "grad Rop Lop subgraph_grad verify_grad",
        "scan.functions": "scan map reduce foldl foldr clone scan_checkpoints until",
        "compile.printing": "pp pprint",
        "scan.updates": "OrderedUpdates",
        "tensor.helpers": "dot as_symbolic _asarray",
        "modules.compile": """as_op OpFromGraph SharedVariable ProfileStats predefined_modes
            predefined_linkers predefined_optimizers shared_constructor DebugMode FunctionMaker
            function_dump SymbolicInput SymbolicOutput""",
        "modules.tensor": "get_scalar_constant_value sparse_grad as_tensor_variable",
        "modules.gof": """PureOp object2 FunctionGraph Container InconsistencyError CLinker
            DualLinker Linker LocalLinker OpWiseCLinker PerformLinker OpenMPOp WrapLinker
            WrapLinkerMany""",
    },
)


def install():
    """Make this package what `import theano` finds; see installing.py."""
    from .installing import install as act  # programs would see the name here

    act()


def test(*args, **kwargs):
    """Check this installation as `ckernels doctor` does, and print the report: whether all works.

    Theano's own tests are not part of this package; `make theano` runs them. Arguments, which
    nose read, are accepted.
    """
    import subprocess  # start-up: 3.5 ms

    command = [sys.executable, "-m", "ckernels.cli", "doctor"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="")
    return done.returncode == 0


test.__test__ = False  # of no use to a runner of tests that imports all names
