"""Rows against what NumPy lets others intercept: what has none is listed here, with the reason."""

import importlib

import numpy as np
from numpy.testing import overrides

from ckernels.numpy import rows
from ckernels.numpy.methods import VIEWS

MODULES = ("numpy", "numpy.linalg", "numpy.fft", "numpy.char", "numpy.strings",
           "numpy.lib.recfunctions", "numpy.lib.stride_tricks", "numpy.lib.scimath")  # fmt: skip
STRINGS = "of strings and dates, which kernels do not have"
FILES = "reads or writes text and files"
DECIDES = "data decides the shape or dtype of its result, or which error it is"
# NumPy computes these; {reason: names}
WITHOUT = {
    STRINGS: "array2string array_repr array_str busday_count busday_offset is_busday "
    "datetime_as_string",
    FILES: "frombuffer fromfile fromfunction fromiter fromstring genfromtxt loadtxt save savetxt "
    "savez savez_compressed require",
    DECIDES: "linalg.eig linalg.eigvals linalg.lstsq polydiv polymul roots real_if_close "
    "trim_zeros lib.scimath.arccos lib.scimath.arcsin lib.scimath.arctanh lib.scimath.log "
    "lib.scimath.log10 lib.scimath.log2 lib.scimath.logn lib.scimath.power lib.scimath.sqrt",
    "calls a function of Python on parts": "apply_along_axis",
    "isin by a name that NumPy 2.4 no longer has": "in1d",
    "is about memory or plans, not values": "may_share_memory shares_memory einsum_path",
}


def functions():
    """{name: function} of what can be intercepted; those without a public name are left out."""
    found, known = {}, overrides.get_overridable_numpy_array_functions()
    for module in map(importlib.import_module, MODULES):
        for name in dir(module):
            function = getattr(module, name, None)
            if getattr(type(function), "__hash__", None) and function in known:
                found[f"{module.__name__}.{name}".removeprefix("numpy.")] = function
    return found


def has_row(function):
    return function in rows.FUNCTIONS or function in VIEWS


def test_functions_have_rows_or_a_reason():
    with_reason = {name for names in WITHOUT.values() for name in names.split()}
    missing = {
        name
        for name, f in functions().items()
        if not has_row(f) and not name.startswith(("char.", "strings.", "lib.recfunctions."))
    }
    assert missing == with_reason & set(functions())
    ours = {f for f in functions().values() if has_row(f)}
    assert (len(ours), len(ours & set(rows.FUNCTIONS))) == (252, 237)  # as numpy-programs.md says


def test_every_ufunc_of_numbers_has_a_row():
    ufuncs = overrides.get_overridable_numpy_ufuncs()
    missing = [u for u in ufuncs if u not in rows.UFUNCS and set("".join(u.types)) & set("fdil")
               and not set("".join(u.types)) & set("SUTV")]  # fmt: skip
    assert not [u.__name__ for u in missing if u is not np.isnat]
    assert len([u for u in ufuncs if u in rows.UFUNCS]) >= 91
