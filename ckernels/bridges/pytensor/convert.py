"""From PyTensor's graphs to nodes of ckernels, one apply node at a time.

A Converter knows which ops were left to `perform` and how to translate graphs inside of graphs.
Where nodes are cut into pieces is decided in pieces.py.
"""

from types import SimpleNamespace

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import DTypeError, NotSupported, ShapeError, user_line
from ...graph.node import Node, line_of
from ...graph.node import placeholder as new_input
from ...ops.reference import apply_oracle
from .perform import performed
from .registry import TRANSLATIONS, Between, Untranslated, find

LARGE = 1 << 16  # bytes from which a constant is passed as an argument in each call


class Converter:
    """Translates apply nodes; `performed` lists those that became Python calls.

    mistaken: the ops whose infer_shape is known to be wrong.
    """

    def __init__(self, lazy=True, mistaken=None):
        self.performed, self.lazy, self.chooses = [], lazy, False
        self.mistaken = set() if mistaken is None else mistaken
        self.constants = {}
        self.large = {}  # {placeholder: array}: constants passed in each call

    def note(self, node):
        """`node` is a Python call of the plan."""
        self.performed.append(node)

    def outputs(self, node, inputs):
        """The nodes of an apply node's outputs for those of its inputs; may raise Untranslated."""
        count = len(self.performed)
        try:
            found = find(TRANSLATIONS, node.op)(self, node.op, node, inputs)
            found = found if isinstance(found, list) else [found]
            return [folded(self.typed(x, v)) for x, v in zip(found, node.outputs)]
        except Between:
            raise
        except (Untranslated, DTypeError, NotSupported, ShapeError, AttributeError):
            del self.performed[count:]
        for variable in (*node.inputs, *node.outputs):
            if not is_tensor(variable):
                raise Untranslated(f"{variable.type} is no tensor")
        return performed(self, node, inputs)

    @staticmethod
    def typed(x, variable):
        """`x` in the dtype that PyTensor gives the variable."""
        if not isinstance(x, Node) or not is_tensor(variable):
            return x
        assert x.ndim == variable.type.ndim, (variable.owner, x)
        return ops.cast(x, variable.type.dtype)

    def constant(self, variable):
        """The value of a PyTensor constant."""
        if variable not in self.constants:
            self.constants[variable] = self.new_constant(variable)
        return self.constants[variable]

    def new_constant(self, variable):
        data = variable.data
        if not is_tensor(variable):
            return data
        array = np.asarray(data, variable.type.dtype)
        if array.nbytes < LARGE:
            return ops.to_node(array)
        turned = array.flags.f_contiguous and not array.flags.c_contiguous
        node = self.argument(variable, np.ascontiguousarray(array.T if turned else array))
        return ops.transpose(node) if turned else node

    def argument(self, variable, array):
        """The placeholder of a large array: one of all that lie in the same memory, since what is
        read twice, straight and turned, comes from a cache the second time."""
        for node, other in self.large.items():
            same = array.ctypes.data == other.ctypes.data and array.shape == other.shape
            if same and array.dtype == other.dtype:
                return node
        node = placeholder(variable, array.shape)
        self.large[node] = array
        return node

    def inline(self, fgraph, inputs):
        """The values of the outputs of an inner graph for values of its inputs."""
        values = dict(zip(fgraph.inputs, inputs))
        return self.graph(values, fgraph.toposort(), fgraph.outputs)

    def graph(self, values, order, outputs):
        """The values of `outputs`, given those of leaves, through apply nodes in `order`."""

        def of(variable):
            if variable in values:
                return values[variable]
            if hasattr(variable, "data"):
                return self.constant(variable)
            raise Untranslated(f"{variable} comes from outside")

        for node in order:
            values.update(zip(node.outputs, self.outputs(node, [of(v) for v in node.inputs])))
        return [of(v) for v in outputs]

    def size(self, variable, given, node):
        """A size that PyTensor's infer_shape of `node` gives as a graph, as a scalar node."""
        from pytensor.graph.traversal import io_toposort

        order = io_toposort(list(given), [variable])
        if node in order:
            raise Untranslated("a shape that only the op itself knows")
        return ops.cast(self.graph(dict(given), order, [variable])[0], "int64")


def folded(x):
    """`x`; if it is an integer or a bool formula of small constants, its value: masks and indices
    say by theirs what shapes come of them."""
    if not isinstance(x, Node) or x.op.kind != "elementwise" or not dtypes.is_discrete(x.dtype):
        return x
    if None in x.shape or x.size > LARGE // 8 or any(i.value is None for i in x.inputs):
        return x
    value = apply_oracle(x, [i.value for i in x.inputs])
    return ops.to_node(np.asarray(value).astype(x.dtype).reshape(x.shape))


def is_tensor(variable):
    """Whether a variable is a dense tensor or a scalar of a dtype that ckernels has."""
    dtype = getattr(variable.type, "dtype", None)
    return (
        dtype in dtypes.ITEMSIZE
        and hasattr(variable.type, "ndim")
        and type(variable.type).__name__ in ("TensorType", "XTensorType", "ScalarType")
    )


def placeholder(variable, shape=None):
    """An input for the values of `variable`."""
    shape = tuple(variable.type.shape) if shape is None else shape
    return new_input(variable.type.dtype, shape, variable.name)


def on_behalf_of_user():
    """Nodes made inside carry the line of the program that asked for the function."""
    return line_of(SimpleNamespace(line=user_line()))
