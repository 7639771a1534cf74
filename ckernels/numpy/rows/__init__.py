"""Rows: one table of NumPy's names. A row builds nodes from operands by a dtype rule.

`rows.ufunc(rule, np.add, x, 2)` and `rows.call(rule, np.mean, x, axis=0)` return nodes; operands
are Nodes, `Weak` numbers, Python numbers and arrays. `find(np.mean)` is the row, or None: then
NumPy itself has to be called. Rows never look at values of nodes and never write.
"""

import importlib

from ...base.errors import NotSupported
from .base import (
    FUNCTIONS,
    UFUNCS,
    Row,
    accumulate,
    as_operand,
    newer,
    of_ufunc,
    outer,
    reduce,
    reduceat,
    row,
    ufunc,
)

__all__ = ["FUNCTIONS", "UFUNCS", "Row", "accumulate", "as_operand", "call", "find", "load",
           "newer", "outer", "reduce", "reduceat", "row", "ufunc"]  # fmt: skip

SUBJECTS = ("ufuncs", "reductions", "arranging", "filling", "linear", "counting",
            "assembling", "sets", "samples", "fourier", "composed", "special")  # fmt: skip
_loaded = []


def load():
    """Fill the tables; each file of a subject adds its rows."""
    if not _loaded:
        for subject in SUBJECTS:
            importlib.import_module(f"{__name__}.{subject}")
        _loaded.append(True)


def find(function):
    """The Row of a function or ufunc of NumPy, or None."""
    load()
    try:
        return of_ufunc(function) or FUNCTIONS.get(function)
    except TypeError:  # not hashable: nothing of NumPy's
        return None


def call(rule, function, *args, **kwargs):
    """What NumPy's `function` returns for these operands, as a node or a tuple or list of nodes."""
    found = find(function)
    if found is None:
        raise NotSupported(f"{getattr(function, '__name__', function)} has no row")
    if found.is_ufunc:
        return ufunc(rule, function, *args, **kwargs)
    return found.build(rule, *args, **kwargs)


load()
