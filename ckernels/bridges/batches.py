"""Batches: the rows each machine reads in each step. The number of machines changes no batch."""

import numpy as np

from ..base.errors import ArgumentError
from .replica import part_of


class Batches:
    """A source of steps: source(step, rank, size) gives that machine's rows of the arrays.

    arrays: anything that is sliced by rows (NumPy, memory maps, Zarr), and numbers, which go to
    every machine. batch: rows of a whole step; rows after the last whole batch are left out.
    seed: shuffle the rows of each epoch anew (needs arrays that take an array of indices).

    >>> from ckernels.bridges.batches import Batches
    >>> source = Batches(np.arange(10), batch=4)
    >>> source(1, 0, 2), source(1, 1, 2)
    ([array([4, 5])], [array([6, 7])])
    """

    def __init__(self, *arrays, batch, seed=None):
        counts = {len(x) for x in arrays if np.ndim(x)}
        if len(counts) != 1:
            raise ArgumentError(f"arrays of one number of rows are needed, not {sorted(counts)}")
        self.arrays, self.batch, self.seed = arrays, batch, seed
        self.count = counts.pop()
        self.steps = self.count // batch  # of an epoch
        if not 0 < batch <= self.count:
            raise ArgumentError(f"a batch of {batch} rows cannot be taken of {self.count}")
        self.order = None, None

    def __call__(self, step, rank, size):
        epoch, step = divmod(step, self.steps)
        rows = part_of(self.batch, rank, size)
        rows = slice(step * self.batch + rows.start, step * self.batch + rows.stop)
        if self.seed is not None:
            if self.order[0] != epoch:
                order = np.random.default_rng((self.seed, epoch)).permutation(self.count)
                self.order = epoch, order
            rows = self.order[1][rows]
        return [np.asarray(x[rows]) if np.ndim(x) else x for x in self.arrays]
