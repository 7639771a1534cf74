"""theano.tensor.utils: the shapes of all variables of a graph, and hashes of arrays."""

import hashlib

import numpy as np

from ...base.errors import ArgumentError
from ..base.hooks import hook as _hook
from ..base.names import absent_of as _absent_of


def shape_of_variables(fgraph, input_shapes):
    """{variable: its sizes as 0-d arrays} of all tensors of a graph, from shapes of its inputs.

    No values are computed. ValueError: `input_shapes` has a key that is no input of the graph, as
    where FunctionGraph made a copy (clone=False makes none), or lacks an input.
    """
    if set(input_shapes) != set(fgraph.inputs):
        strange = [str(v) for v in input_shapes if v not in fgraph.inputs]
        lacking = [str(v) for v in fgraph.inputs if v not in input_shapes]
        what = f"{strange[0]} is no input of it" if strange else f"it lacks the input {lacking[0]}"
        raise ArgumentError(
            f"shape_of_variables takes the shapes of the inputs of this graph, and {what}. "
            "FunctionGraph(..., clone=False) keeps the variables it is given"
        )
    found = [v for v in fgraph.variables if hasattr(v.type, "broadcastable")]
    function = _hook("function")(fgraph.inputs, [v.shape for v in found], on_unused_input="ignore")
    given = [
        np.broadcast_to(np.zeros((), v.dtype), tuple(map(int, input_shapes[v])))
        for v in fgraph.inputs
    ]
    return {v: tuple(np.asarray(s) for s in sizes) for v, sizes in zip(found, function(*given))}


def hash_from_ndarray(data):
    """A text that is the same for arrays of equal dtype, shape, strides and bytes."""
    data = np.ascontiguousarray(data) if not data.flags["C_CONTIGUOUS"] else data
    whole = f"{data.shape} {data.strides} {data.dtype} ".encode() + data.tobytes()
    return hashlib.sha256(whole).hexdigest()


__getattr__ = _absent_of("theano.tensor.utils")
