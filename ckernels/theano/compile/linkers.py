"""Linkers: objects that take a FunctionGraph and give a function or a thunk of it.

What they come to here is a way of the engine: `py` interprets with NumPy, all others compile. The
names are also values for `Mode(linker=...)`.
"""

import numpy as np

from ...base.errors import ArgumentError, CKernelsError, NotSupported
from ..base.utils import object2
from .function import function
from .mode import Mode


class Linker(object2):
    """What gives a function of a graph: `Linker().accept(fgraph).make_function()`.

    way: the word that `Mode` has for it.

    >>> import ckernels.compat.theano.tensor as T
    >>> from ckernels.compat.theano import gof
    >>> x, y = T.dscalars("x", "y")
    >>> graph = gof.FunctionGraph([x, y], [x * y + 1])
    >>> float(gof.PerformLinker().accept(graph).make_function()(3, 4))
    13.0
    """

    way, fgraph, no_recycling, schedule, allow_gc = "cvm", None, (), None, None

    def __init__(self, allow_gc=None, schedule=None):
        if allow_gc is not None:
            self.allow_gc = allow_gc
        if schedule is not None:
            self.schedule = schedule

    def clone(self, allow_gc=None):
        """A linker of this kind that has no graph yet."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.__dict__.pop("fgraph", None)
        if allow_gc is not None:
            twin.allow_gc = allow_gc
        return twin

    def accept(self, fgraph, no_recycling=None, profile=None):
        """This linker with `fgraph` to link; a new one where this one has another already."""
        if self.fgraph is not None and self.fgraph is not fgraph:
            return self.clone().accept(fgraph, no_recycling, profile)
        self.fgraph, self.no_recycling = fgraph, list(no_recycling or ())
        return self

    def _function(self, way):
        if self.fgraph is None:
            raise ArgumentError(
                f"{type(self).__name__} has no graph yet: call accept(fgraph) first"
            )
        return function(
            self.fgraph.inputs,
            self.fgraph.outputs,
            mode=Mode(way, None),
            accept_inplace=True,
            no_default_updates=True,
            on_unused_input="ignore",
        )

    def compiled(self):
        """The function (values of the inputs) -> list of values of the outputs."""
        return self._function(self.way)

    def make_function(self, unpack_single=True, **kwargs):
        """A function of values of the graph's inputs, in their order.

        It gives a list of values, or the value alone where there is one output and unpack_single.
        """
        made = self.compiled()
        if not unpack_single or len(self.fgraph.outputs) != 1:
            return made
        return lambda *args: made(*args)[0]

    def make_thunk(self, input_storage=None, output_storage=None, storage_map=None, **kwargs):
        """(thunk, containers of the inputs, containers of the outputs).

        A call of the thunk computes from what the containers of the inputs hold. input_storage,
        output_storage: one-element lists to use as the cells behind them.
        """
        made = self.compiled()
        ins = _cells(self.fgraph.inputs, input_storage, "input_storage")
        outs = _cells(self.fgraph.outputs, output_storage, "output_storage")

        def thunk():
            for cell, value in zip(outs, made(*[cell.storage[0] for cell in ins])):
                cell.storage[0] = value

        thunk.inputs, thunk.outputs = [c.storage for c in ins], [c.storage for c in outs]
        thunk.lazy = False
        return thunk, ins, outs


class Cell(object2):
    """The place of a value of a thunk: `value` goes through the filter of its variable's type."""

    def __init__(self, variable, storage):
        self.variable, self.type, self.name = variable, variable.type, variable.name
        self.storage = storage

    @property
    def value(self):
        return self.storage[0]

    @value.setter
    def value(self, value):
        self.storage[0] = None if value is None else self.type.filter(value)

    data = value

    def __repr__(self):
        return f"<{self.storage[0]!r}>"


def _cells(variables, given, name):
    if given is not None and len(given) != len(variables):
        raise ArgumentError(f"{name} has {len(given)} lists for {len(variables)} variables")
    return [Cell(v, [None] if given is None else given[k]) for k, v in enumerate(variables)]


class LocalLinker(Linker):
    """What linkers share that run node by node."""


class PerformLinker(LocalLinker):
    """Each node by NumPy."""

    way = "py"


class CLinker(Linker):
    """The whole graph compiled."""

    way = "c"


class OpWiseCLinker(LocalLinker):
    """Compiled where there is C, by NumPy elsewhere."""

    way = "c|py"

    def __init__(self, fallback_on_perform=True, allow_gc=None, nice_errors=True, schedule=None):
        LocalLinker.__init__(self, allow_gc, schedule)
        self.fallback_on_perform, self.nice_errors = fallback_on_perform, nice_errors


class VM_Linker(LocalLinker):  # noqa: N801 (Theano's name)
    """The linker of the default mode; its options about threads and memory change nothing here."""

    def __init__(self, allow_gc=None, use_cloop=False, callback=None, lazy=None, schedule=None,
                 c_thunks=None, allow_partial_eval=None):  # fmt: skip
        if callback is not None:
            raise NotSupported("a callback for each node is what MonitorMode(post_func=...) calls")
        LocalLinker.__init__(self, allow_gc, schedule)
        self.use_cloop, self.lazy, self.c_thunks = use_cloop, lazy, c_thunks


class DualLinker(Linker):
    """Computes by NumPy and compiled, and compares: `checker(first, second)` raises, if given.

    Without a checker, values that differ by more than rounding are an Exception.
    """

    def __init__(self, checker=None, schedule=None):
        Linker.__init__(self, schedule=schedule)
        self.checker = checker or _differ

    def compiled(self):
        first, second = self._function("py"), self._function("c|py")

        def both(*args):
            kept = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
            expected, found = first(*kept), second(*args)
            for a, b in zip(expected, found):
                self.checker(a, b)
            return found

        return both


class WrapLinker(Linker):
    """Has each node computed by `wrapper(i, node, *thunks)`, a thunk for each of `linkers`.

    A thunk has `inputs` and `outputs`, lists of one-element lists of arrays; the wrapper calls
    it. The function runs in NumPy, node by node, and goes on with what the first thunk computed.
    """

    way = "vm"

    def __init__(self, linkers, wrapper):
        Linker.__init__(self)
        self.linkers, self.wrapper = list(linkers), wrapper

    def _function(self, way):
        return Linker._function(self, self)

    def compiled(self):
        return self._function(self)


def WrapLinkerMany(linkers, wrappers):  # noqa: N802 (Theano's name)
    """A WrapLinker that calls several wrappers, in their order."""

    def wrapper(*args):
        for each in wrappers:
            each(*args)

    return WrapLinker(linkers, wrapper)


def _differ(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        raise CKernelsError(
            f"interpreted, the result is {a.dtype} {a.shape}; compiled, {b.dtype} {b.shape}"
        )
    if not np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True):
        raise CKernelsError(f"interpreted and compiled results differ:\n{a}\n{b}")
