"""install(): this package as the module `theano` of a process, and the runner of programs.

Its second name is always `ckernels.compat.theano`. Submodules are found by one table of what Theano
called them; a module is loaded when a program imports it. `python -m ckernels.theano program.py
args` runs a program that is not to be edited.
"""

import importlib
import importlib.machinery
import importlib.util
import sys
import types

from ...base.runner import run_program
from ..base import names
from ..base.doors import put_doors

OWN = __package__  # theano


class _Finder:  # start-up: the classes of importlib.abc bring archives and temporary files
    """Finds and loads `theano` and `theano.a.b` as the modules of this package."""

    def __init__(self, root):
        self.root = root  # the name that programs know the package by

    def find_spec(self, name, path=None, target=None):
        if name != self.root and not name.startswith(self.root + "."):
            return None
        tail = name[len(self.root) + 1 :]
        own = names.place(tail)
        try:
            found = importlib.util.find_spec(own)
        except (ImportError, AttributeError, ValueError):
            found = None
        if found is None:
            return _refuse("theano." + tail)
        spec = importlib.machinery.ModuleSpec(name, self, is_package=True)
        spec.own = own
        return spec

    def create_module(self, spec):
        found = names.loaded(spec.own)
        _name(self.root)  # what it loaded: no module may take the place of a function of its name
        self.kept = getattr(self, "kept", {})
        self.kept[spec.name] = found.__spec__, found.__name__
        return found

    def exec_module(self, module):
        """The module has run already; its own spec comes back."""
        for spec, name in list(self.kept.values()):
            if name == getattr(module.__spec__, "own", None):
                module.__spec__, module.__name__ = spec, name
                module.__package__ = (
                    name if spec.submodule_search_locations is not None else name.rpartition(".")[0]
                )
                module.__loader__ = spec.loader


class _Scan(types.ModuleType):
    """`theano.scan` for `from theano.scan import until`: importing it leaves theano.scan, the
    function, where it is."""

    __path__ = ()

    def __getattr__(self, name):
        return getattr(names.loaded(names.place("scan")), name)


def _refuse(name):
    """ModuleNotFoundError with the reason for a module of Theano's; None for any other."""
    module, _, last = name.rpartition(".")
    if names.known(module, last):
        raise ModuleNotFoundError(str(names.missing(module, last)), name=name)


DOCUMENTED = "ckernels.compat.theano"
PACKAGES = {tail.rpartition(".")[0] for tail in (*names.PLACES, *names.LATER)}
_finder, _documented = _Finder("theano"), _Finder(DOCUMENTED)


def install():
    """Make `import theano`, and all its public submodules, mean this package.

    RuntimeError where another theano was imported before.
    """
    there = sys.modules.get("theano")
    if there is not None and there is not sys.modules[OWN]:
        raise RuntimeError(
            f"theano is imported already, from {getattr(there, '__file__', 'somewhere')}: call "
            f"{DOCUMENTED}.install() before anything imports theano"
        )
    _put(_finder)


def documented():
    """Make `ckernels.compat.theano`, which this package is documented as, mean this package."""
    _put(_documented)


def _put(finder):
    """Have a finder asked first, and what is loaded already known by its names."""
    put_doors()
    root = finder.root
    sys.modules[root] = sys.modules[OWN]
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)
    sys.modules.setdefault(f"{root}.scan", _Scan(f"{root}.scan"))
    for name, module in list(sys.modules.items()):
        if name.startswith(OWN + "."):
            sys.modules.setdefault(root + name[len(OWN) :], module)
    _name(root)


def _name(root):
    """Have all modules of Theano's that are loaded known by their names below `root`."""
    # Modules that are here already: importing them again would put a module in the place of a
    # function of its name (theano.compile.function) in the package above.
    for tail in (*names.PLACES, *names.LATER):
        module = sys.modules.get(names.place(tail))
        if module is not None:
            sys.modules.setdefault(f"{root}.{tail}", module)
            if tail in PACKAGES and not hasattr(module, "__path__"):
                module.__path__ = []  # Python asks before it imports a module below


def uninstall():
    """Undo `install`."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name in [n for n in sys.modules if n == "theano" or n.startswith("theano.")]:
        del sys.modules[name]


def main(arguments=None):
    """Run `program.py args` or `-m module args` with this package as theano."""
    return run_program("ckernels.theano", install, arguments)
