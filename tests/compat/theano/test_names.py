"""Names that are not here: the error says truly whether Theano 1.0 had them."""

import importlib
import subprocess
import sys

import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano import gradient
from ckernels.compat.theano.tensor import nlinalg, slinalg
from ckernels.theano.base import absent_names, names
from ckernels.theano.modules.installing import _finder

HAD = "is a name of Theano 1.0.5 that ckernels does not have"
NOWHERE = "no_such_name"
NEVER = "neither here nor in Theano 1.0.5"


@pytest.mark.parametrize(
    "module, name",
    [
        (theano, "theano_logger"),
        (theano.gof, "CallCache"),
        (theano.gof, "DestroyHandler"),
        (nlinalg, "QRIncomplete"),
        (slinalg, "CholeskyGrad"),
        (T, "constructor"),
        (T.nnet, "ScalarSoftsign"),
        (T.nnet.abstract_conv, "BaseCorrMM"),
        (theano.compile, "orig_function"),
        (theano.scan_module, "traverse"),
        (theano.printing, "PPrinter"),
        (theano.scalar, "InRange"),
        (T.signal.pool, "MaxPoolRop"),
    ],
)
def test_theano_had_it(module, name):
    with pytest.raises(AttributeError, match=HAD):
        getattr(module, name)


@pytest.mark.parametrize(
    "module",
    [
        theano,
        theano.gof,
        theano.compile,
        T,
        T.nnet,
        T.signal,
        nlinalg,
        gradient,
        theano.scan_module,
        theano.scalar,
    ],
)
def test_theano_had_it_not(module):
    with pytest.raises(AttributeError, match=NEVER):
        getattr(module, NOWHERE)
    assert not hasattr(module, "__no_such_name__")


def test_reasons_and_modules():
    with pytest.raises(AttributeError, match="nothing overwrites what is still needed"):
        getattr(theano.gof, "DestroyHandler")  # noqa: B009
    assert all(names.known(*whole.rsplit(".", 1)) for whole in names.INSTEAD)
    with pytest.raises(ModuleNotFoundError, match=f"theano.tensor.blas_c {HAD}"):
        _finder.find_spec("theano.tensor.blas_c")
    assert _finder.find_spec("theano.no_such_module") is None
    assert theano.compile.function_module.Function is theano.compile.Function
    for module, name in (("neighbours", "images2neibs"), ("softsign", "softsign"),
                         ("solve", "solve"), ("blocksparse", "sparse_block_dot")):  # fmt: skip
        old = importlib.import_module(f"ckernels.compat.theano.sandbox.{module}")
        assert getattr(old, name).__module__.startswith("ckernels.theano.tensor"), name
    assert T.basic is T and theano.gof.destroyhandler is theano.gof.fg


@pytest.mark.parametrize("own", sorted(absent_names.NAMES))
def test_listed_names_are_absent(own):
    """A name that came to be here has to go from its list."""
    module = importlib.import_module(f"ckernels.theano.{own}")
    assert [name for name in absent_names.NAMES[own].split() if hasattr(module, name)] == []


NAMES_KEPT = """
import importlib, types
from ckernels.compat import theano
from ckernels.theano.base.names import LATER, PLACES
for tail in filter(None, (*PLACES, *LATER)):
    name = "ckernels.compat.theano." + tail
    package, _, last = name.rpartition(".")
    package = importlib.import_module(package)
    before = getattr(package, last, None)
    importlib.import_module(name)
    if isinstance(before, types.FunctionType):
        print(tail)
        assert getattr(package, last) is before, tail
assert theano.tensor.sort([2, 1]).eval().tolist() == [1, 2]
"""


def test_importing_a_module_leaves_the_function_of_its_name():
    done = subprocess.run([sys.executable, "-c", NAMES_KEPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {"tensor.sort", "compile.function", "scan_module.scan", "scan"} <= set(
        done.stdout.split()
    )


BELOW = """
import importlib, types
import ckernels.compat.theano
from ckernels.theano.base.names import LATER, PLACES, place
for package in {tail.rpartition(".")[0] for tail in (*PLACES, *LATER)}:
    importlib.import_module(place(package))
import ckernels.compat.theano.gradient
for tail in filter(None, (*PLACES, *LATER)):
    assert isinstance(importlib.import_module("ckernels.compat.theano." + tail), types.ModuleType)
"""


def test_modules_below_those_that_were_loaded_by_another_name_are_found():
    done = subprocess.run([sys.executable, "-c", BELOW], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


PYMC3_IMPORTS = """
import ckernels.compat.theano
ckernels.compat.theano.install()
import theano
import theano.graph.basic
import theano.graph.fg
import theano.scan.op
from theano import scan
from theano.graph.basic import Apply, Constant, Variable, ancestors, graph_inputs, walk
from theano.graph.fg import MissingInputError
from theano.graph.op import Op, get_test_value
from theano.graph.utils import TestValueError
from theano.sandbox.rng_mrg import MRG_RandomStream, MRG_RandomStreams
from theano.scan import until

assert theano.scan is scan and scan.__name__ == "scan" and until is theano.scan_module.until
assert theano.graph.basic is theano.gof.graph and theano.graph.op.Op is theano.gof.Op
assert MRG_RandomStream is MRG_RandomStreams and theano.graph.Apply is Apply
x = theano.tensor.dscalar()
assert graph_inputs([x + 1])[0] is x and theano.scan(lambda: x, n_steps=2)[0].eval({x: 3.0})[1] == 3
"""


def test_names_of_theano_pymc_are_those_of_theano():
    done = subprocess.run([sys.executable, "-c", PYMC3_IMPORTS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_flags_go_by_their_names_in_theano_pymc_too():
    config = theano.config
    before = config.gcc.cxxflags
    try:
        config.gcc__cxxflags = "-O1"
        assert config.gcc.cxxflags == config.gcc__cxxflags == "-O1"
    finally:
        config.gcc.cxxflags = before
    with config.change_flags({"floatX": "float32", "scan__debug": True}):
        assert config.floatX == "float32" and config.scan.debug
    assert not config.scan.debug


def test_walk_goes_once_to_what_is_led_to():
    x = T.dscalar("x")
    y = x * 2
    z = y + y
    walk = theano.graph.basic.walk

    def expand(v):
        return v.owner.inputs if v.owner else None

    assert [v for v in walk([z], expand) if v.owner is None and v is x] == [x]
    assert list(walk([z], expand))[:2] == [z, y]
    assert dict(walk([z], expand, return_children=True))[z] == [y, y]
    assert len(list(walk([x, T.dscalar("x")], expand, hash_fn=str))) == 1


def test_sparse_variables_are_there_for_who_asks():
    import ckernels.compat.theano.sparse as sparse

    assert sparse.enable_sparse is True
