"""A module of ours in the place of one that a library knows by name.

Keras 1 and natural_bm import `PACKAGE.backend.theano_backend` and take all its names. `put` has a
finder hand them those of our module.
"""

import importlib.abc
import importlib.util
import sys

from ..base.errors import UsageError


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the module `place`, and fills it with what fill() returns, {name: value}."""

    def __init__(self, place, fill):
        self.place, self.fill = place, fill

    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, self) if name == self.place else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        names = self.fill()
        vars(module).update(names, __all__=sorted(names))


def put(place, fill, ours):
    """Have `place` filled by fill() when it is imported; UsageError where that was before `ours`.

    place: "package.backend.theano_backend"; ours: the name of our module, for the sentence.
    """
    package = place.partition(".")[0]
    if package in sys.modules:
        raise UsageError(f"{package} was imported already; {ours} comes first")
    if not any(isinstance(f, Finder) and f.place == place for f in sys.meta_path):
        sys.meta_path.insert(0, Finder(place, fill))


def names_of(module, *left_out):
    """The public names of a module, {name: value}, without some."""
    return {n: v for n, v in vars(module).items() if n[0] != "_" and n not in left_out}
