"""dtype rules: the names ckernels knows, how they promote, what they are called in C.

Python scalars are weak (they never widen a tensor of their own kind); tensors promote as NumPy and
the Theano manual document it (int32 with float32 gives float64) unless ``cast_policy=keep_float``.
This file knows nothing of graphs.
"""

import sys

import numpy as np

from . import config as _config
from .errors import DTypeError

BOOL = ("bool",)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
FOREIGN = ("bfloat16",)  # dtypes that NumPy has from the package ml_dtypes
ALL = BOOL + INTEGERS + tuple(f for f in FLOATS if f not in FOREIGN) + COMPLEX  # NumPy's own

C_NAMES = {
    "bool": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int32_t",
    "int64": "int64_t", "uint8": "uint8_t", "uint16": "uint16_t", "uint32": "uint32_t",
    "uint64": "uint64_t", "float16": "uint16_t", "bfloat16": "uint16_t",
    "float32": "float", "float64": "double",
}  # fmt: skip
SUFFIX = {
    "bool": "u8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
    "uint16": "u16", "uint32": "u32", "uint64": "u64", "float16": "f16",
    "bfloat16": "bf16", "float32": "f32",
    "float64": "f64",
}  # fmt: skip
ITEMSIZE = {**{name: np.dtype(name).itemsize for name in ALL}, **dict.fromkeys(FOREIGN, 2)}
# dtypes that are only stored, and the dtype they are computed in. ck_<C>_to_float and
# ck_float_to_<C> of the math library convert, with the <C> of C_STORED.
COMPUTED = {"float16": "float32", "bfloat16": "float32"}
C_STORED = {"float16": "half", "bfloat16": "bfloat"}


def as_bits(dtype):
    """A dtype of the same size in which a copy computes nothing: halves are copied as integers."""
    return "uint16" if dtype in C_STORED else dtype


_names = {}  # {np.dtype: its name}


def numpy_name(dtype):
    """The name of a NumPy dtype, remembered: NumPy puts it together each time, in 1 us."""
    found = _names.get(dtype)
    if found is None:
        found = _names[dtype] = dtype.name
    return found


def name_of(dtype):
    """The canonical name of a dtype ('float32'); DTypeError when ckernels has no such dtype."""
    if isinstance(dtype, str) and dtype in ITEMSIZE:
        return _supplied(dtype) if dtype in FOREIGN else dtype
    if isinstance(dtype, str) and dtype == "floatX":
        return floatx()
    try:
        if hasattr(dtype, "shape") and not isinstance(dtype, (type, np.dtype)):
            raise TypeError  # a tensor or an array: NumPy up to 2.2 takes its dtype
        name = np.dtype(dtype).name
    except (TypeError, ValueError, RecursionError) as problem:
        raise DTypeError(f"{dtype!r} is not a dtype: use one of {', '.join(ITEMSIZE)}") from problem
    if name not in ITEMSIZE:
        raise DTypeError(f"dtype {name!r} is not supported: use one of {', '.join(ITEMSIZE)}")
    return name


def _supplied(name):
    """`name`, a dtype that NumPy knows only with the package ml_dtypes; DTypeError without it."""
    try:
        import ml_dtypes  # noqa: F401 (it registers its dtypes)
    except ImportError as problem:
        raise DTypeError(
            f"dtype {name} needs the package ml_dtypes, since NumPy has none: "
            "pip install 'ckernels[bf16]'"
        ) from problem
    return name


def available(name):
    """Whether arrays of the dtype `name` can be made here."""
    try:
        return bool(name_of(name))
    except DTypeError:
        return False


def kind(dtype):
    """The kind letter of a dtype or its name: NumPy's b i u f c; bfloat16 is an f."""
    name = getattr(dtype, "name", dtype)
    return "f" if name in FLOATS else np.dtype(dtype).kind


def finfo(dtype):
    """np.finfo of a float dtype or its name."""
    if getattr(dtype, "name", dtype) in FOREIGN:
        import ml_dtypes

        return ml_dtypes.finfo(dtype)
    return np.finfo(dtype)


def floatx():
    """The default float dtype, as a name."""
    return _config.config.floatX


def computed(name):
    """The dtype that numbers of the dtype `name` are computed in."""
    return COMPUTED.get(name, name)


def is_float(name):
    return name in FLOATS


def is_complex(name):
    return name in COMPLEX


def is_inexact(name):
    return name in FLOATS or name in COMPLEX


def is_discrete(name):
    return not is_inexact(name)


def promote(names, weak=()):
    """Common dtype of tensors with dtypes `names` and Python scalars of the types `weak`.

    A Python bool or int adopts the tensors' dtype (bool becomes int64 with an int); a Python float
    or complex with discrete tensors gives ``floatx()`` (or its complex kind).

    >>> promote(["int32", "float32"])
    'float64'
    >>> promote(["int8"], [int])
    'int8'
    """
    names = [name_of(n) for n in names]
    if not names:
        kinds = set(weak)
        if complex in kinds:
            return "complex128" if floatx() == "float64" else "complex64"
        if float in kinds:
            return floatx()
        return "int64" if int in kinds else "bool"
    common = names[0]
    for other in names[1:]:
        common = _pair(common, other)
    for kind in weak:
        if kind is complex and common not in COMPLEX:
            common = "complex128" if common in ("float64", "int32", "int64") else "complex64"
        elif kind is float and is_discrete(common):
            common = floatx()
        elif kind is int and common == "bool":
            common = "int64"
    return common


def _pair(a, b):
    if a == b:
        return a
    if _config.config.cast_policy == "keep_float":
        if a in FLOATS and is_discrete(b):
            return a
        if b in FLOATS and is_discrete(a):
            return b
    if "bfloat16" in (a, b):
        return _with_bfloat(b if a == "bfloat16" else a)
    return np.promote_types(a, b).name


def _with_bfloat(other):
    """The dtype that holds bfloat16 and `other`: as float16 promotes; with float16, float32."""
    if other == "float16":
        return "float32"
    common = np.promote_types("float16", other).name
    return "bfloat16" if common == "float16" else common


def to_float(name):
    """The float dtype a transcendental function computes in for a tensor of dtype `name`.

    Small integers give float32, wide ones float64 (the Theano rule), floats themselves;
    under ``cast_policy=keep_float`` every discrete dtype gives ``floatx()``.
    """
    if is_inexact(name):
        return name
    if _config.config.cast_policy == "keep_float":
        return floatx()
    return small_or_wide(name)


def small_or_wide(name):
    """float32 for integers of at most 16 bits and bools, else float64 (the Theano rule)."""
    return "float32" if ITEMSIZE[name] <= 2 else "float64"


def accumulator(name):
    """The dtype a sum or product of `name` is returned in: bool and ints widen to 64 bits."""
    if name in ("bool",) + SIGNED:
        return "int64"
    return "uint64" if name in UNSIGNED else name


def masked_arrays():
    """NumPy's class of masked arrays; None while numpy.ma is not imported, when there can be none.
    Importing it takes 17 ms."""
    return getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)


def is_masked(x):
    """Whether `x` is a masked array with a masked element."""
    kind = masked_arrays()
    return kind is not None and isinstance(x, kind) and bool(np.ma.is_masked(x))
