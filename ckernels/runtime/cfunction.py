"""CFunction: a compiled function of fixed shapes as a C function pointer, without Python or GIL.

For callers that take C functions: `scipy.LowLevelCallable`, ctypes, cffi, numba, samplers. What a
call needs beside its pointers is fixed when the entry is made: shapes, bound inputs, the values of
variables. src/python/cfunction.c has the C functions, one for each signature.
"""

import ctypes
import re

import numpy as np

from ..base import given
from ..base.errors import ArgumentError, NotSupported, ShapeError
from ..base.native import runtime
from ..graph.shapes import show
from ..graph.walk import toposort

# The signatures, in the order of src/python/cfunction.c; all end with the entry itself.
SIGNATURES = (
    "int64_t (void **, void **, void *)",
    "double (double, void *)",
    "double (int, double *, void *)",
    "int (double *, intptr_t, double *, void *)",
    "int64_t (uint64_t, double *, double *, double *, void *)",
    "int64_t (uint64_t, uint64_t, double *, double *, void *)",
)  # fmt: skip
OUTPUTS = (None, 1, 1, 1, 2, 1)
MOST = 64  # numbers that may come one by one, as in src/python/cfunction.c


class CFunction:
    """address: of the C function; user_data: its last argument; signature: its C type.

    Both numbers are good as long as this object lives.
    """

    def __init__(self, function, signature, arrays, free):
        kind = kind_of(signature)
        self.signature, self.function = SIGNATURES[kind], function
        try:
            self._entry = runtime.CFunction(function, arrays, free)
        except ValueError as problem:
            raise NotSupported(
                f"{function!r} has no C function: {problem}; a C function runs "
                "without Python and changes nothing"
            ) from problem
        self.address = self._entry.address(kind)
        self.user_data = id(self._entry)

    def __repr__(self):
        return f"<C function {self.signature} of {self.function!r}>"

    def __reduce__(self):
        raise NotSupported("a C function is an address in this process and cannot be pickled")

    def scipy(self):
        """This entry as a `scipy.LowLevelCallable`, which keeps it alive."""
        from scipy import LowLevelCallable

        name = self.signature.replace("int64_t", "long").replace("uint64_t", "unsigned long")
        name = name.replace("intptr_t", "npy_intp") if "intptr_t" in name else name
        made = _Capsules(self, name.encode())
        return LowLevelCallable(made.function, made.data)

    def ctypes(self):
        """The C function as a ctypes function; pass `user_data` as its last argument."""
        types = {
            "int64_t": ctypes.c_int64,
            "uint64_t": ctypes.c_uint64,
            "int": ctypes.c_int,
            "double": ctypes.c_double,
            "intptr_t": ctypes.c_ssize_t,
            "double *": ctypes.c_void_p,
            "void *": ctypes.c_void_p,
            "void **": ctypes.c_void_p,
        }
        result, parameters = self.signature[:-1].split(" (", 1)
        kinds = [types[p.strip()] for p in parameters.split(",")]
        return ctypes.CFUNCTYPE(types[result], *kinds)(self.address)


class _Capsules:
    """The two capsules of a LowLevelCallable; they keep the entry and the name they point to."""

    def __init__(self, entry, name):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = (
            ctypes.py_object,
            [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
        )
        attach = ctypes.pythonapi.PyCapsule_SetContext
        attach.argtypes = [ctypes.py_object, ctypes.c_void_p]
        self.name, self.entry = name, entry
        self.function = new(entry.address, name, None)
        self.data = new(entry.user_data, None, None)
        _alive.append(self)


_alive = []  # capsules have no place for an owner: what they point to stays for good


def kind_of(signature):
    """The number of a signature written in C, spaces and names of integer types as one likes."""
    signature = given.text(signature, "the signature")

    def plain(text):
        text = re.sub(r"\b(npy_intp|intptr_t|Py_ssize_t|ssize_t)\b", "intptr_t", text)
        text = re.sub(r"\bunsigned long( long)?\b", "uint64_t", text)
        text = re.sub(r"\blong( long)?\b", "int64_t", text)
        return re.sub(r"\s+", "", text)

    found = [k for k, known in enumerate(SIGNATURES) if plain(known) == plain(signature)]
    if not found:
        raise ArgumentError(
            f"there is no C function of the signature {signature!r}; there are "
            f"{'; '.join(SIGNATURES)}"
        )
    return found[0]


def make(function, spec, signature, arrays, bound):
    """The CFunction of a compiled function; see CompiledFunction.c_function."""
    kind = kind_of(signature)
    names = {n.name: i for i, n in enumerate(spec.inputs) if n.name}
    fixed = {}
    for key, value in (bound or {}).items():
        if key not in names and key not in range(len(spec.inputs)):
            raise ArgumentError(f"bound names the input {key!r}, which the function does not have")
        fixed[names.get(key, key)] = value
    free = [i for i in range(len(spec.inputs)) if i not in fixed]
    given = dict(zip(free, arrays)) if arrays else {}
    taken = []
    for i, node in enumerate(spec.inputs):
        value = fixed[i] if i in fixed else given.get(i)
        if value is None:
            value = _zeros(node, i, spec)
        taken.append(np.ascontiguousarray(spec.coerce(i, value)).reshape(np.shape(value)))
    _check(kind, spec, taken, free)
    if any(n.op.name == "transpose" for n in toposort(spec.outputs)):
        function = spec.like(c_order=True).callable()  # callers know pointers, not strides
    return CFunction(function, signature, tuple(taken), tuple(free))


def _zeros(node, i, spec):
    if None in node.shape:
        raise ShapeError(
            f"{spec.label(i)} has shape {show(node.shape)}: a C function has fixed "
            "shapes; give an array of the shape it shall have"
        )
    return np.zeros(node.shape, node.dtype)


def _check(kind, spec, arrays, free):
    """ArgumentError where the inputs and outputs do not suit the signature."""
    signature, count = SIGNATURES[kind], OUTPUTS[kind]
    if kind == 0:
        return
    wrong = [spec.label(i) for i in free if arrays[i].dtype != np.float64]
    wrong += [f"output {k}" for k, n in enumerate(spec.outputs) if n.dtype != "float64"]
    if wrong:
        raise ArgumentError(
            f"the signature {signature} is one of doubles; {', '.join(wrong)} "
            "is not: cast it, or use the signature of pointers"
        )
    if len(spec.outputs) != count:
        raise ArgumentError(
            f"the signature {signature} has {count} "
            f"result{'s' * (count != 1)}, the function {len(spec.outputs)}"
        )
    scalars = all(not arrays[i].ndim for i in free)
    several = kind == 2 and scalars and len(free) <= MOST
    if len(free) != 1 and not several or kind == 1 and not scalars:
        raise ArgumentError(
            f"the signature {signature} suits a function of one input"
            f"{' without dimensions' if kind == 1 else ''}; this one has "
            f"{len(free)} left: bind the others to arrays with bound={{...}}"
        )
