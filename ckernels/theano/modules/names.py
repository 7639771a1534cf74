"""What a module says of a name it does not hold: whether Theano 1.0 had it, and what to use.

Names that Theano kept in a module of its own are found there (installing.py's table); the lists of
what is absent are in absent_names.py.
"""

import importlib

VERSION = "1.0.5"
INSTEAD = {     # module or name: what to use
    "theano.gpuarray": "there is no GPU back-end",
    "theano.gof.WrapLinker": "MonitorMode calls functions before and after each node",
    "theano.tensor.io": "read files with NumPy; the graph computes with tensors",
}  # fmt: skip


def missing(module, name):
    """The AttributeError for a name that is not here: whether Theano 1.0 had it.

    >>> print(missing("theano.gof", "WrapLinker"))  # doctest: +ELLIPSIS
    theano.gof.WrapLinker is a name of Theano 1.0.5 that ckernels does not have: Monitor...
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


def known(module, name):
    """Whether the module of this name in Theano 1.0.5 had `name`, where ckernels does not."""
    from .absent_names import MODULES, NAMES
    from .installing import ALIASES

    tail = module[len("theano.") :]
    below = f"{tail}.{name}" if tail else name
    return below in MODULES or name in NAMES.get(ALIASES.get(tail, tail), "").split()


def elsewhere(module, name):
    """The module that stands for Theano's `module.name`; AttributeError where there is none."""
    if name.startswith("__"):  # Python asks, for __path__ at each import: no name of Theano's
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    if not name.startswith("_"):
        from .installing import ALIASES, OWN

        own = ALIASES.get(f"{module}.{name}"[len("theano.") :])
        if own is not None:
            return importlib.import_module(f"{OWN}.{own}")
    raise missing(module, name)


def absent_of(module):
    """The `__getattr__` of a module that holds all it has."""

    def __getattr__(name):  # noqa: N807
        return elsewhere(module, name)

    return __getattr__
