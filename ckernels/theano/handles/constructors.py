"""The typed constructors: dmatrix, fvector, iscalars ... 90 names and their plurals.

`dmatrix` is a type; a call of it makes a variable. `matrix` takes dtype=, floatX by default.
"""

from ...base.errors import UsageError
from ..base.config import config
from .type import TensorType, name_of

PREFIXES = {"c": "complex64", "z": "complex128", "f": "float32", "d": "float64", "b": "int8",
            "w": "int16", "i": "int32", "l": "int64"}  # fmt: skip
SHAPES = {"scalar": (), "vector": (False,), "matrix": (False, False), "row": (True, False),
          "col": (False, True), "tensor3": (False,) * 3, "tensor4": (False,) * 4,
          "tensor5": (False,) * 5, "tensor6": (False,) * 6, "tensor7": (False,) * 7}  # fmt: skip
PLURALS = {"scalar": "scalars", "vector": "vectors", "matrix": "matrices", "row": "rows",
           "col": "cols", "tensor3": "tensor3s", "tensor4": "tensor4s", "tensor5": "tensor5s",
           "tensor6": "tensor6s", "tensor7": "tensor7s"}  # fmt: skip


def _constructor(shape, pattern):
    def make(name=None, dtype=None):
        if dtype is None:
            dtype = config.floatX
        return TensorType(name_of(dtype), pattern)(name)

    make.__name__ = make.__qualname__ = shape
    make.__doc__ = f"A variable that is a {shape}; dtype: floatX by default."
    return make


def _multi(*constructors):
    def several(*names, **kwargs):
        if not names:
            raise UsageError("at least one name, or a number of variables, is needed")
        if len(names) == 1:  # a number of variables, or text of which each letter is a name
            names = [None] * names[0] if isinstance(names[0], int) else names[0]
            names = list(names) if names else [names]
        found = [c(name, **kwargs) for c in constructors for name in names]
        return found[0] if len(found) == 1 else found

    return several


def _all():
    found = {}
    for shape, pattern in SHAPES.items():
        for prefix, dtype in PREFIXES.items():
            name = prefix + shape
            found[name] = TensorType(dtype, pattern)
            found[prefix + PLURALS[shape]] = _multi(found[name])
        found[shape] = _constructor(shape, pattern)
        found[PLURALS[shape]] = _multi(found[shape])
    for kind, dtypes in (("int", "bwil"), ("float", "fd"), ("complex", "cz")):
        for shape in ("scalar", "vector", "matrix", "row", "col"):
            types = [found[p + shape] for p in dtypes]
            found[f"{kind}_{PLURALS[shape]}"] = _multi(*types)
            found[f"{kind}_{shape}_types"] = types
    return found


globals().update(_all())
__all__ = [*_all(), "tensor"]


def tensor(*args, **kwargs):
    """A variable of a dtype and a pattern: tensor('float64', (False, True), name='x')."""
    name = kwargs.pop("name", None)
    return TensorType(*args, **kwargs)(name)
