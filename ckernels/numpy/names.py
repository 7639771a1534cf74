"""The names of `ckernels.numpy`: each of NumPy's functions on Arrays, and NumPy's own other names.

A function of NumPy becomes one that takes and returns Arrays; dtypes, constants and classes are
NumPy's. Names are made when they are asked for.
"""

import functools
import inspect

import numpy as np

from . import standard
from .arrays import Array, call, elements, wrapped

FUNCTIONS = (type(np.sum), type(np.asarray), type(lambda: 0), type(np.char.add))
KEPT = {"errstate", "seterr", "geterr", "get_printoptions", "printoptions", "set_printoptions",
        "seterrcall", "geterrcall", "setbufsize", "getbufsize", "test", "show_config",
        "get_include", "info", "show_runtime", "iterable", "isdtype", "issubdtype", "typename",
        "mintypecode", "common_type", "min_scalar_type", "promote_types", "issubsctype",
        "isscalar", "einsum_path", "binary_repr", "base_repr"}  # fmt: skip


def asarray(obj, /, dtype=None, order=None, *, device=None, copy=None, like=None):
    """`obj` as an Array: itself, where it is one of this dtype.

    NumPy's arrays are copied, so that what others store into them changes no result that waits;
    copy=False shares their memory, or raises ValueError where that cannot be.
    """
    order = "K" if order is None else order
    if isinstance(obj, Array):
        same = dtype is None or np.dtype(dtype) == obj.dtype
        if not copy and same and isinstance(order, str) and order == "K":
            return obj
        source = obj.computed()
        found = np.array(source, dtype, order=order, copy=copy)
        return wrapped(found, (obj,))
    if device not in (None, "cpu"):
        raise ValueError(f"an array of ckernels.numpy is on the cpu, not on {device!r}")
    source = elements(obj)
    if copy is False:
        made = Array.of(np.asarray(source, dtype, order=order, copy=False))
        made.memory.share()
        return made
    return Array.of(np.array(source, dtype, order=order))


def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, ndmax=0, like=None):
    """A new Array of these elements, as np.array makes it."""
    found = np.array(elements(object), dtype, copy=copy, order=order, ndmin=ndmin)
    return wrapped(found, () if copy else (object,))


def from_dlpack(x, /, *, device=None, copy=None):
    """An Array on the memory of an array of another library."""
    if isinstance(x, Array):
        return x.copy() if copy else x
    made = Array.of(np.from_dlpack(x, device=device, copy=copy))
    made.memory.share()
    return made


def asnumpy(x):
    """The elements of an Array as NumPy's array, in its memory."""
    return np.asarray(x)


REPLACED = {"asarray": asarray, "asanyarray": asarray, "array": array, "from_dlpack": from_dlpack,
       "ascontiguousarray": lambda a, dtype=None, **o: asarray(a, dtype, "C"),
       "asfortranarray": lambda a, dtype=None, **o: asarray(a, dtype, "F"),
       "ndarray": Array}  # fmt: skip


class Ufunc:
    """A ufunc of NumPy on Arrays; `reduce` and its other methods, and its attributes, too."""

    def __init__(self, ufunc):
        self.ufunc = ufunc
        self.__name__ = self.__qualname__ = ufunc.__name__
        self.__doc__ = ufunc.__doc__

    def __call__(self, *args, **options):
        return call(self.ufunc, args, options)

    def __getattr__(self, name):
        found = getattr(self.ufunc, name)
        return functools.partial(_called, found) if callable(found) else found

    def __repr__(self):
        return f"<ufunc {self.__name__!r} of ckernels.numpy>"

    def __reduce__(self):
        return _of_name, ("", self.__name__)


def _of_name(module, name):
    owner = np
    for part in filter(None, module.split(".")):
        owner = getattr(owner, part)
    return named(owner, name)


def _called(function, *args, **options):
    return call(function, args, options)


def named(module, name):
    """What `name` of a module of NumPy's is in the namespace; AttributeError as the module's."""
    own = REPLACED.get(name) if module is np else None
    own = own or standard.OF.get(module, {}).get(name)
    if own is not None:
        return own
    found = getattr(module, name)
    if isinstance(found, np.ufunc):
        return Ufunc(found)
    if inspect.ismodule(found) or isinstance(found, type) or name in KEPT or not callable(found):
        return found

    @functools.wraps(found)
    def function(*args, **options):
        return call(found, args, options)

    return function


def getter(module, names):
    """The `__getattr__` of a namespace: names of a module of NumPy's, kept in the dict `names`."""

    def find(name):
        if name[:2] == "__":
            raise AttributeError(f"module {names['__name__']!r} has no attribute {name!r}")
        found = named(module, name)
        names[name] = found
        return found

    return find
