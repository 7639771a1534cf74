"""Which functions and classes of the front end have a door; ckernels/base/doors.py is one.

`put_doors` is called when a program has loaded modules.
"""

import sys
import types

from ...base.doors import guarded

ROOT = __package__.rpartition(".")[0]
# Classes of variables and of what makes them: all their public methods are called by programs.
METHODS = ("graph.apply", "handles.operators", "handles.sharedvar", "handles.type",
           "handles.variables")  # fmt: skip
# What programs do not call: the doors' own rooms, and what runs inside of a call of a function.
CLOSED = ("base.absent_names", "base.config", "base.doors", "base.flags", "base.hooks",
          "base.names", "user_ops.perform")  # fmt: skip
CALLED = ("classes.op", "classes.scalar", "tensor.elementwise")  # ops, which programs call
_known = {}  # {id of a function: (it, the same with a door)}
_seen = set()  # names of modules that have their doors


def put_doors():
    """Give the public functions and classes of the modules loaded since the last time a door."""
    modules = [m for name, m in list(sys.modules.items()) if _is_new(name, m)]
    for module in modules:
        _seen.add(module.__spec__.name)
        for name, value in list(vars(module).items()):
            if name[0] == "_" or getattr(value, "__module__", None) != module.__spec__.name:
                continue
            if isinstance(value, types.FunctionType):
                _known.setdefault(id(value), (value, guarded(value, name)))
            elif isinstance(value, type) and not issubclass(value, BaseException):
                _guard_class(value, module.__spec__.name[len(ROOT) + 1 :])
    for module in modules:
        for name, value in list(vars(module).items()):
            kept, door = _known.get(id(value), (None, None))
            if kept is not None and kept is value:
                setattr(module, name, door)


def _is_new(name, module):
    """Whether a module of this package is loaded to its end and has no doors yet."""
    if not name.startswith(ROOT + ".") or name in _seen or name[len(ROOT) + 1 :] in CLOSED:
        return False
    spec = getattr(module, "__spec__", None)
    return spec is not None and spec.name == name and not getattr(spec, "_initializing", False)


def _guard_class(owner, file):
    for key, method in list(vars(owner).items()):
        asked = key == "__init__" or (key == "__call__" and file in CALLED)
        if asked or (file in METHODS and key[0] != "_"):
            if isinstance(method, types.FunctionType):
                setattr(owner, key, guarded(method, key, method=True))
