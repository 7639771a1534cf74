"""theano.tensor.load: arrays of .npy files, read or mapped in each call."""

import numpy as np

from ...base.errors import ArgumentError
from ..base.names import absent_of as _absent_of
from ..classes.op import Op
from ..graph.apply import Apply, Constant
from ..graph.type import generic
from ..handles.type import TensorType

MODES = (None, "c", "r")  # "r+" and "w+" would let the graph write to the file


class LoadFromDisk(Op):
    """The array of a .npy file; its path is an input, a variable of the type `generic`."""

    __props__ = ("dtype", "broadcastable", "mmap_mode")

    def __init__(self, dtype, broadcastable, mmap_mode=None):
        if mmap_mode not in MODES:
            raise ArgumentError(f"mmap_mode is None, 'c' or 'r', not {mmap_mode!r}")
        self.dtype, self.broadcastable = np.dtype(dtype).name, tuple(map(bool, broadcastable))
        self.mmap_mode = mmap_mode

    def make_node(self, path):
        if isinstance(path, str):
            path = Constant(generic, path)
        return Apply(self, [path], [TensorType(self.dtype, self.broadcastable)()])

    def perform(self, node, inputs, storage):
        if (inputs[0].split(".")[-1]) == "npz":
            raise ArgumentError(f"load reads .npy files, and {inputs[0]} is an archive of them")
        found = np.load(inputs[0], mmap_mode=self.mmap_mode)
        if found.dtype.name != self.dtype:
            raise ArgumentError(f"{inputs[0]} holds {found.dtype}; load was told {self.dtype}")
        storage[0][0] = found


def load(path, dtype, broadcastable, mmap_mode=None):
    """The array of the .npy file at `path`, a variable of the type `generic`, read in each call.

    dtype, broadcastable: what the file holds; mmap_mode: None, or "c" or "r" to map the file into
    memory instead of reading all of it.

    >>> import ckernels.compat.theano as theano, ckernels.compat.theano.tensor as T
    >>> path = theano.gof.Variable(theano.gof.generic, None)
    >>> T.load(path, "int64", (False,)).type
    TensorType(int64, vector)
    """
    return LoadFromDisk(dtype, broadcastable, mmap_mode)(path)


__getattr__ = _absent_of("theano.tensor.io")
