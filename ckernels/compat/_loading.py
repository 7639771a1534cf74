"""Notice the moment at which Keras takes a module as its backend.

Keras 2.2 and 2.3 import the module that KERAS_BACKEND names and read its `__dict__`. That read is
the one sure sign: the module may have been imported long before, by somebody else. Nothing happens
for any other reader.
"""

import importlib
import sys
import types

from ..base.errors import ArgumentError

LOADERS = ("keras.backend", "keras.backend.load_backend")  # 2.2.0-2.2.4 and 2.2.5-2.3.1
_names = types.ModuleType.__dict__["__dict__"]


class Watched(types.ModuleType):
    """A module that calls `_taken_by(loader, names)` when Keras's loader reads its names."""

    def __reduce__(self):  # functions that use the module travel with its name, as with any other
        return importlib.import_module, (self.__name__,)

    @property
    def __dict__(self):
        names = _names.__get__(self)
        reader = sys._getframe(1).f_globals
        if reader.get("__name__") in LOADERS and "_BACKEND" in reader:
            names["_taken_by"](reader["__name__"], names)
        return names


def watch(module, react):
    """Call react(name of Keras's loader, names) whenever Keras takes the module called `module`.

    names: {name: value} of the module.
    """
    module = sys.modules[module]
    module._taken_by = react
    module.__class__ = Watched


def refuse(loader, names):
    """Stop Keras from running on the native module, whose argument orders are the documented ones.

    >>> import ckernels.compat._loading as loading
    >>> loading.refuse("keras.backend", {})  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    ckernels.errors.ArgumentError: Keras cannot use the module `ckernels` itself ...
    """
    raise ArgumentError(
        "Keras cannot use the module `ckernels` itself, whose losses take their arguments in the "
        "documented order; set KERAS_BACKEND=ckernels.compat.keras2 (or `backend` in keras.json)"
    )


def refuse_keras1(loader, names):
    """Stop Keras 2 from running on `keras1`, where arguments have Keras 1's names and order."""
    raise ArgumentError(
        "ckernels.compat.keras1 is for Keras 1 (python -m ckernels.compat.keras1 program.py); for "
        "Keras 2 set KERAS_BACKEND=ckernels.compat.keras2 (or `backend` in keras.json)"
    )
