"""Store: the value behind a variable node, with what the executor needs to swap it atomically.

The value itself sits in a Cell: the C one of `ckernels._runtime`, or the Python one below where the
extension was not built.
"""

import numpy as np

from ..base import locks
from ..base.native import runtime

if runtime is not None:
    Cell = runtime.Cell
else:

    class Cell:
        """Holds one array; `set` replaces it, so that readers keep what they have."""

        __slots__ = ("_array",)

        def __init__(self, array):
            self.set(array)

        def get(self):
            return self._array

        def set(self, array):
            self._array = np.array(array, order="C", copy=True)


_exchange = locks.lock()  # without the runtime: reading and writing several variables


def snapshot(stores):
    """The arrays of several Stores, all read at one moment."""
    if runtime is not None:
        return runtime.values(tuple(store.cell for store in stores))
    with _exchange:
        return [store.get() for store in stores]


def exchange(stores, arrays):
    """Give several Stores copies of `arrays`, all at one moment."""
    if runtime is not None:
        runtime.assign(tuple(store.cell for store in stores), tuple(arrays))
        return
    with _exchange:
        for store, array in zip(stores, arrays):
            store.set(array)


class Store:
    """State of one variable: `cell` holds the array, `default_update` a Node or None."""

    __slots__ = ("cell", "default_update", "__weakref__")

    def __init__(self, array):
        self.cell = Cell(np.ascontiguousarray(array).reshape(np.shape(array)))
        self.default_update = None

    def __reduce__(self):
        kept = (
            None if self.default_update is None else (None, {"default_update": self.default_update})
        )
        return Store, (self.get(),), kept

    def get(self):
        """The current array, not to be written to."""
        return self.cell.get()

    def set(self, array):
        """Replace the value by a copy of `array`."""
        self.cell.set(array)
