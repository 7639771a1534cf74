"""Tensors cut by slices that are variables: `s = tensor.slicetype(); x[s, 0]`.

Such a function runs in Python between engine functions (compile/objects.py), as the slice is there
in a call only.
"""

import numpy as np

from ...base.dtypes import is_discrete
from ...base.errors import ShapeError, UsageError
from ..classes.op import Op
from ..graph.apply import Apply, Variable
from ..graph.type import DisconnectedType
from ..handles.constants import NoneConst, SliceType, slicetype
from ..handles.type import TensorType
from ..handles.variables import as_tensor_variable


def is_slice(x):
    """Whether `x` is a variable that holds a slice."""
    return isinstance(x, Variable) and isinstance(x.type, SliceType)


def cut(x, key):
    """x[key], where entries of the tuple `key` are variables that hold slices."""
    entries = [slice(None) if is_slice(k) else k for k in key]
    plain = (type(None), type(Ellipsis), int, np.integer, slice)
    if not all(isinstance(k, plain) and _is_plain(k) for k in entries):
        raise UsageError(
            "a variable that holds a slice goes with integers, slices of them, None and ... in one "
            f"index, not with {key}"
        )
    template = tuple("s" if is_slice(k) else _hashable(k) for k in key)
    return Cut(template)(x, *(k for k in key if is_slice(k)))


def _is_plain(k):
    bounds = (k.start, k.stop, k.step) if isinstance(k, slice) else ()
    return all(b is None or isinstance(b, (int, np.integer)) for b in bounds)


def _hashable(k):
    return ("slice", k.start, k.stop, k.step) if isinstance(k, slice) else k


def as_int_none_variable(x):
    """`x` as a bound of a slice: a scalar variable of integers, or NoneConst."""
    if x is None or x is NoneConst:
        return NoneConst
    x = as_tensor_variable(x)
    if x.ndim or not is_discrete(x.dtype):
        raise UsageError(
            f"a bound of a slice is an integer, a scalar of integers or None, not {x.type}"
        )
    return x


class MakeSlice(Op):
    """The slice of three bounds, each an integer, a scalar of integers or None."""

    __props__ = ()

    def make_node(self, slc, stop=None, step=None):
        bounds = (slc.start, slc.stop, slc.step) if isinstance(slc, slice) else (slc, stop, step)
        return Apply(self, [as_int_none_variable(b) for b in bounds], [slicetype()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = slice(*(None if b is None else int(b) for b in inputs))

    def grad(self, inputs, grads):
        return [DisconnectedType()() for _ in inputs]


make_slice = MakeSlice()


class Cut(Op):
    """x and slices to x[template], where the slices are in the places of "s"."""

    __props__ = ("template",)

    def __init__(self, template):
        self.template = template

    def key(self, slices):
        """The index that the template and the slices of a call make."""
        rest = iter(slices)
        return tuple(
            next(rest) if k == "s" else slice(*k[1:]) if isinstance(k, tuple) else k
            for k in self.template
        )

    def make_node(self, x, *slices):
        x = as_tensor_variable(x)
        whole = [slice(None) if isinstance(k, tuple) else k for k in self.template]
        whole = [0 if isinstance(k, (int, np.integer)) else k for k in whole]
        whole = [slice(None) if k == "s" else k for k in whole]
        ndim = np.empty((1,) * x.ndim)[tuple(whole)].ndim
        return Apply(self, [x, *slices], [TensorType(x.dtype, (False,) * ndim)()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = np.array(inputs[0][self.key(inputs[1:])])

    def grad(self, inputs, grads):
        x, *slices = inputs
        from .creation import zeros_like  # programs would see the name here

        by_x = Write(self.template, False)(zeros_like(x), grads[0], *slices)
        return [by_x, *(DisconnectedType()() for _ in slices)]


class Write(Cut):
    """x, y and slices to x with y in the place of x[template], or added to it."""

    __props__ = ("template", "put")

    def __init__(self, template, put):
        self.template, self.put = template, put

    def make_node(self, x, y, *slices):
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        return Apply(self, [x, y, *slices], [x.type()])

    def perform(self, node, inputs, outputs):
        x, y, *slices = inputs
        made, key = np.array(x), self.key(slices)
        part = made[key]
        repeated = node.inputs[1].broadcastable
        for k in range(1, y.ndim + 1):
            if y.shape[-k] != part.shape[-k] and not repeated[-k]:
                raise ShapeError(
                    f"a value of shape {y.shape} does not fit into a part of shape {part.shape}; "
                    "where an axis of size 1 is to be repeated, say so with addbroadcast"
                )
        made[key] = y if self.put else part + y
        outputs[0][0] = made

    def grad(self, inputs, grads):
        x, y, *slices = inputs
        (g,) = grads
        by_y = Cut(self.template)(g, *slices)
        by_y = by_y.sum(axis=tuple(range(by_y.ndim - y.ndim))) if by_y.ndim > y.ndim else by_y
        ones = tuple(k for k in range(y.ndim) if y.broadcastable[k])
        by_y = by_y.sum(axis=ones, keepdims=True) if ones else by_y
        zero = as_tensor_variable(np.zeros((), g.dtype))
        by_x = Write(self.template, True)(g, zero, *slices) if self.put else g
        return [by_x, by_y, *(DisconnectedType()() for _ in slices)]
