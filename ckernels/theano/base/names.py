"""What a module says of a name it does not hold: whether Theano 1.0 had it, and what to use.

Names that Theano kept in a module of its own are found there, by the table of its modules; the
lists of what is absent are in absent_names.py.
"""

import importlib

from . import absent_names
from .doors import put_doors

ROOT = __package__.rpartition(".")[0]
VERSION = "1.0.5"
OLD_GPU = """
    sandbox.cuda sandbox.cuda.basic_ops sandbox.cuda.blas sandbox.cuda.dnn sandbox.cuda.fftconv
    sandbox.cuda.nnet sandbox.cuda.nvcc_compiler sandbox.cuda.opt sandbox.cuda.rng_curand
    sandbox.cuda.type sandbox.cuda.var
""".split()
PLACES = {     # a module of Theano: the file that has its names, below ckernels.theano
    "": "modules", "gpuarray": "modules.gpuarray", "gof.compilelock": "modules.compilelock",
    "tensor.io": "tensor.io", "d3viz.formatting": "compile.formatting",
    "compat": "modules.compat", "compile": "modules.compile",
    "compile.builders": "gradient.builders", "compile.debugmode": "compile.mode",
    "compile.function": "compile.function", "compile.function_module": "compile.maker",
    "compile.io": "compile.io", "compile.mode": "compile.mode",
    "compile.monitormode": "compile.mode", "compile.nanguardmode": "compile.mode",
    "compile.ops": "user_ops.ops", "compile.pfunc": "modules.compile",
    "compile.profiling": "compile.profiling", "compile.sharedvalue": "handles.sharedvar",
    "config": "base.config", "configdefaults": "base.config", "configparser": "base.config",
    "d3viz": "compile.pictures", "gof": "modules.gof", "gof.cc": "modules.gof",
    "gof.destroyhandler": "graph.fg", "gof.fg": "graph.fg", "gof.graph": "graph.apply",
    "gof.link": "modules.gof", "gof.null_type": "graph.type", "gof.op": "classes.op",
    "gof.opt": "rewrites.opt", "gof.optdb": "rewrites.optdb",
    "gof.params_type": "user_ops.params_type", "gof.toolbox": "rewrites.toolbox",
    "gof.type": "graph.type", "gof.utils": "base.utils", "gof.vm": "modules.gof",
    "gradient": "gradient.functions", "ifelse": "tensor.ifelse", "misc": "modules.misc",
    "misc.may_share_memory": "modules.misc.may_share_memory",
    "misc.pkl_utils": "compile.pkl_utils", "printing": "compile.printing",
    "raise_op": "tensor.raise_op", "sandbox": "modules.sandbox",
    **dict.fromkeys(OLD_GPU, "modules.old_gpu"),
    "sandbox.blocksparse": "tensor.nnet.blocksparse",
    "sandbox.neighbours": "tensor.nnet.neighbours", "sandbox.softsign": "tensor.nnet.activations",
    "sandbox.multinomial": "tensor.multinomial", "sandbox.solve": "tensor.slinalg",
    "sandbox.linalg": "tensor.nlinalg", "sandbox.linalg.ops": "tensor.nlinalg",
    "sandbox.rng_mrg": "tensor.rng_mrg", "scalar": "classes.scalar",
    "scalar.basic": "classes.scalar", "scalar.basic_scipy": "classes.scalar",
    "scalar.basic_sympy": "classes.scalar", "scalar.sharedvar": "classes.scalar",
    "scan_module": "scan.functions", "scan_module.scan": "scan.functions",
    "scan_module.scan_op": "scan.op", "scan_module.scan_utils": "scan.utils",
    "scan_module.scan_views": "scan.functions", "sparse": "sparse.functions",
    "sparse.basic": "sparse.functions", "sparse.sandbox": "modules.sparse_sandbox",
    "sparse.sandbox.sp": "sparse.sp", "sparse.sandbox.sp2": "sparse.sp2",
    "sparse.sandbox.truedot": "sparse.functions", "sparse.sharedvar": "sparse.functions",
    "sparse.type": "sparse.functions", "tensor": "modules.tensor",
    "tensor.basic": "modules.tensor", "tensor.blas": "tensor.blas",
    "tensor.elemwise": "modules.tensor.elemwise", "tensor.extra_ops": "tensor.extra_ops",
    "tensor.fft": "tensor.fft", "tensor.inplace": "tensor.inplace",
    "tensor.nlinalg": "tensor.nlinalg", "tensor.nnet": "modules.tensor.nnet",
    "tensor.nnet.abstract_conv": "tensor.nnet.abstract_conv",
    "tensor.nnet.blocksparse": "tensor.nnet.blocksparse", "tensor.nnet.bn": "tensor.nnet.bn",
    "tensor.nnet.conv": "tensor.nnet.abstract_conv",
    "tensor.nnet.conv3d2d": "tensor.nnet.conv3d2d",
    "tensor.nnet.corr": "tensor.nnet.abstract_conv",
    "tensor.nnet.corr3d": "tensor.nnet.abstract_conv", "tensor.nnet.ctc": "tensor.nnet.ctc",
    "tensor.nnet.neighbours": "tensor.nnet.neighbours", "tensor.nnet.nnet": "modules.tensor.nnet",
    "tensor.nnet.sigm": "tensor.nnet.activations", "tensor.opt": "rewrites.tensor_opt",
    "tensor.raw_random": "tensor.raw_random",
    "tensor.shared_randomstreams": "tensor.shared_randomstreams",
    "tensor.sharedvar": "handles.sharedvar", "tensor.signal": "modules.tensor.signal",
    "tensor.signal.conv": "tensor.signal.conv",
    "tensor.signal.downsample": "modules.tensor.signal.downsample",
    "tensor.signal.pool": "tensor.signal.pool", "tensor.slinalg": "tensor.slinalg",
    "tensor.sort": "tensor.sort", "tensor.subtensor": "tensor.indexing",
    "tensor.type": "handles.type", "tensor.type_other": "handles.constants",
    "tensor.utils": "tensor.utils", "tensor.var": "modules.tensor",
    "tensor.xlogx": "tensor.xlogx", "tests": "modules.tests",
    "tests.breakpoint": "user_ops.breakpoint", "tests.unittest_tools": "compile.unittest_tools",
    "typed_list": "user_ops.typed_list", "typed_list.basic": "user_ops.typed_list",
    "typed_list.type": "user_ops.typed_list", "updates": "scan.updates",
}  # fmt: skip
LATER = {      # modules of Theano-PyMC 1.1, Theano 1.0 with other names, which PyMC3 3.11 imports
    "graph": "modules.graph", "graph.basic": "graph.apply", "graph.fg": "graph.fg",
    "graph.null_type": "graph.type", "graph.op": "classes.op", "graph.opt": "rewrites.opt",
    "graph.optdb": "rewrites.optdb", "graph.params_type": "user_ops.params_type",
    "graph.toolbox": "rewrites.toolbox", "graph.type": "graph.type", "graph.utils": "base.utils",
    "scan": "scan.functions", "scan.op": "scan.op", "scan.utils": "scan.utils",
}  # fmt: skip
INSTEAD = {     # module or name: what to use
    "theano.gof.DestroyHandler": "nothing overwrites what is still needed: the engine sees to it",
}  # fmt: skip


def missing(module, name):
    """The AttributeError for a name that is not here: whether Theano 1.0 had it.

    >>> print(missing("theano.gof", "DestroyHandler"))  # doctest: +ELLIPSIS
    theano.gof.DestroyHandler is a name of Theano 1.0.5 that ckernels does not have: nothing...
    """
    whole = f"{module}.{name}"
    if not known(module, name):
        return AttributeError(
            f"module {module!r} has no attribute {name!r}, neither here nor in Theano {VERSION}"
        )
    why = INSTEAD.get(whole)
    return AttributeError(
        f"{whole} is a name of Theano {VERSION} that ckernels does not have"
        + (f": {why}" if why else "")
    )


def place(tail):
    """Where the names of Theano's module `tail` are, as a module: "" is theano itself."""
    return f"{ROOT}.{PLACES.get(tail) or LATER.get(tail) or f'modules.{tail}'}"


def loaded(name):
    """The module of this package with this name, its functions with their doors."""
    module = importlib.import_module(name)
    put_doors()
    return module


def known(module, name):
    """Whether the module of this name in Theano 1.0.5 had `name`, where ckernels does not."""
    tail = module[len("theano.") :]
    below = f"{tail}.{name}" if tail else name
    listed = absent_names.NAMES.get(PLACES.get(tail), "")
    return below in absent_names.MODULES or name in listed.split()


def elsewhere(module, name):
    """The module that stands for Theano's `module.name`; AttributeError where there is none."""
    if name.startswith("__"):  # Python asks, for __path__ at each import: no name of Theano's
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    tail = f"{module}.{name}"[len("theano.") :]
    if tail in PLACES or tail in LATER:
        return loaded(place(tail))
    raise missing(module, name)


def absent_of(module, elsewhere_named=None):
    """The `__getattr__` of a module that holds all it has.

    elsewhere_named: {file below ckernels.theano: names}, for names that are loaded when asked for.
    """
    table = {n: file for file, names in (elsewhere_named or {}).items() for n in names.split()}

    def __getattr__(name):  # noqa: N807
        if name in table:
            return getattr(loaded(f"{ROOT}.{table[name]}"), name)
        return elsewhere(module, name)

    return __getattr__
