"""Replica: one of several equal copies of a model that is trained on parts of each batch.

A step has three stages: `part` gives arrays, a trainer (bridges/mpi.py, bridges/dask/) adds them up
over the machines, `apply` takes the sums. The same sums give the same bits on every machine, so the
copies stay equal, which `digest` shows. Nothing here communicates.
"""

import hashlib

import numpy as np

from ..api.split import cut
from ..base.errors import ArgumentError
from ..graph.shapes import show
from ..runtime.state import exchange, snapshot


class Replica:
    """A training function divided for many machines, with the state it trains. Pickled as a graph.

    step: how many steps were applied. mean: whether the cost is a mean over rows (else a sum).
    """

    def __init__(self, f, mean=True, cost=None, gradients=None):
        found = cut(f, cost, gradients)
        self.split, self.mean, self.step = found.summed(mean), mean, 0
        self.spec, self.summed_cost = found.spec, None if mean else found.cost
        cells = [v for v, _ in found.spec.updates]
        self.cells = cells + [v for v in found.spec.cells if v not in cells]

    # ---- a step ---------------------------------------------------------------------------------

    def part(self, arrays):
        """Arrays that these inputs give, to be added elementwise to those of other machines."""
        return self.split.gradients(*arrays)

    def apply(self, sums, arrays):
        """Apply the updates for the sums of all parts; the outputs of the training function.

        arrays: the inputs of this machine, of which only scalars are read: they are the same
        everywhere.
        """
        self.split.apply(*sums, *(arrays[k] for k in self.split.shared))
        self.step += 1
        rows, *totals = sums[0].tolist()
        nodes = self.spec.outputs
        found = [t if n is self.summed_cost else t / rows for n, t in zip(nodes, totals)]
        return found[0] if self.spec.single else found

    def checked(self, arrays):
        """The inputs of a step as arrays; ArgumentError where one has no rows to divide."""
        inputs = self.spec.inputs
        if len(arrays) != len(inputs):
            raise ArgumentError(
                f"a step takes {len(inputs)} inputs like {self.spec.title()}, not {len(arrays)}"
            )
        count = None
        for k, (x, node) in enumerate(zip(arrays, inputs)):
            if not node.ndim:
                continue
            if not np.ndim(x) or (count is not None and len(x) != count):
                what = f"has {len(x)} rows" if np.ndim(x) else "has no rows"
                raise ArgumentError(
                    f"input {k} of a step, {self.spec.label(k)}, {what}, and others have {count}: "
                    "all inputs but scalars are divided by rows"
                )
            count = len(x)
        return list(arrays)

    # ---- state ----------------------------------------------------------------------------------

    def stores(self):
        return [cell.attrs["store"] for cell in self.cells]

    def state(self):
        """The values of all variables, read at one moment."""
        return snapshot(self.stores())

    def load(self, arrays, step):
        """Take over the state of another replica, or of a checkpoint."""
        for cell, array in zip(self.cells, arrays):
            fits = len(cell.shape) == array.ndim and all(
                a in (None, b) for a, b in zip(cell.shape, array.shape)
            )
            if not fits or cell.dtype != array.dtype.name:
                raise ArgumentError(
                    f"the state has {array.dtype.name} {show(array.shape)} for the variable "
                    f"{cell.name or 'without name'}, which is {cell.dtype} {show(cell.shape)}: it "
                    "is that of another model"
                )
        if len(arrays) != len(self.cells):
            raise ArgumentError(
                f"the state has {len(arrays)} variables, the model {len(self.cells)}: it is that "
                "of another model"
            )
        exchange(self.stores(), arrays)
        self.step = step

    def digest(self):
        """A number of 64 bits that is equal for equal states, bit for bit."""
        found = hashlib.blake2b(digest_size=8)
        for array in self.state():
            found.update(np.ascontiguousarray(array))
        return int.from_bytes(found.digest(), "little") >> 1


def part_of(count, rank, size):
    """The slice of `count` rows for `rank`; parts of `size` machines differ by one row at most."""
    return slice(count * rank // size, count * (rank + 1) // size)


def rows_of(arrays, rank, size):
    """One machine's rows of each input of a step; scalars as they are."""
    return [x[part_of(len(x), rank, size)] if np.ndim(x) else x for x in arrays]
