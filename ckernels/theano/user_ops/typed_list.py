"""theano.typed_list: lists whose elements have one type, as variables; a list is a Python list.

A function of such variables runs in Python between engine functions (compile/objects.py). A result
is always a new list.
"""

import numpy as np

from ...base import dtypes
from ...base.errors import ArgumentError, UsageError
from ..base.names import absent_of as _absent_of
from ..classes.op import Op
from ..graph.apply import Apply, Constant, Variable
from ..graph.type import Type
from ..handles.constants import slicetype
from ..handles.type import TensorType
from ..handles.variables import as_tensor_variable


class TypedListType(Type):
    """Lists of elements of `ttype`; `depth`: how many lists deep they are nested beyond one."""

    def __init__(self, ttype, depth=0):
        if depth < 0:
            raise ArgumentError("the depth of nested lists is 0 or more")
        if not isinstance(ttype, Type):
            raise UsageError(f"a typed list needs the type of its elements, not {ttype!r}")
        self.ttype = ttype if depth == 0 else TypedListType(ttype, depth - 1)

    def filter(self, x, strict=False, allow_downcast=None):
        """`x` as a list of elements of this type; TypeError where it is none."""
        if not isinstance(x, list):
            if strict or not isinstance(x, (tuple, np.ndarray)):
                raise UsageError(f"a list of {self.ttype} is needed, not {type(x).__name__}")
        made = [self.ttype.filter(i, strict, allow_downcast) for i in x]
        return x if strict else made

    def get_depth(self):
        """How many lists deep elements are nested beyond one."""
        return self.ttype.get_depth() + 1 if isinstance(self.ttype, TypedListType) else 0

    def values_eq(self, a, b):
        return len(a) == len(b) and all(self.ttype.values_eq(x, y) for x, y in zip(a, b))

    def values_eq_approx(self, a, b):
        return len(a) == len(b) and all(self.ttype.values_eq_approx(x, y) for x, y in zip(a, b))

    def may_share_memory(self, a, b):
        return a is b or any(self.ttype.may_share_memory(x, y) for x in a for y in b)

    def make_variable(self, name=None):
        return TypedListVariable(self, name=name)

    def make_constant(self, value, name=None):
        return TypedListConstant(self, value, name)

    def __eq__(self, other):
        return type(self) is type(other) and self.ttype == other.ttype

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((TypedListType, self.ttype))

    def __str__(self):
        return f"TypedList <{self.ttype}>"

    __repr__ = __str__


class _Methods:
    """What a list variable can do; the functions below, as methods."""

    def __getitem__(self, index):
        return getitem(self, index)

    def __len__(self):
        raise UsageError("the length of a symbolic list is length(tl), a variable")

    def append(self, to_append):
        return append(self, to_append)

    def extend(self, to_append):
        return extend(self, to_append)

    def insert(self, index, to_insert):
        return insert(self, index, to_insert)

    def remove(self, to_remove):
        return remove(self, to_remove)

    def reverse(self):
        return reverse(self)

    def count(self, elem):
        return count(self, elem)

    def ind(self, elem):
        """`index`, which is an attribute of every variable."""
        return index_(self, elem)

    ttype = property(lambda self: self.type.ttype, doc="The type of an element.")
    dtype = property(lambda self: self.type.ttype.dtype, doc="The dtype of an element.")
    ndim = property(lambda self: self.type.ttype.ndim + 1, doc="That of an element, and one.")


class TypedListVariable(_Methods, Variable):
    """A symbolic list."""


class TypedListConstant(_Methods, Constant):
    """A list that is part of a graph."""

    def signature(self):
        return self.type, id(self.data)


class _ListOp(Op):
    """An op on lists: `compute(*values)` gives the value of its one output."""

    __props__ = ()

    def perform(self, node, inputs, outputs):
        outputs[0][0] = self.compute(node.inputs[0].type, *inputs)

    def __str__(self):
        return type(self).__name__


def _list(x, op):
    if not isinstance(getattr(x, "type", None), TypedListType):
        raise UsageError(f"{op} takes a typed list, not {x!r}")
    return x


def _element(kind, x):
    return kind.filter_variable(x if isinstance(x, Variable) else as_tensor_variable(x))


def _index(x):
    """An index as a variable: an int64 scalar."""
    x = as_tensor_variable(np.int64(x) if isinstance(x, int) else x)
    if x.ndim or x.dtype not in dtypes.SIGNED:
        raise UsageError(f"the index of a list is an integer, not {x.type}")
    return x


class GetItem(_ListOp):
    """An element, or a list of those of a slice."""

    def make_node(self, x, index):
        _list(x, self)
        if isinstance(index, slice):
            constant = Constant(slicetype, index)
            return Apply(self, [x, constant], [x.type()])
        return Apply(self, [x, _index(index)], [x.ttype()])

    def compute(self, kind, x, index):
        return x[index] if isinstance(index, slice) else x[int(index)]


class _Changed(_ListOp):
    """An op that gives a changed copy; inplace= is accepted."""

    def __init__(self, inplace=False):
        self.inplace = inplace


class Append(_Changed):
    """With one more element."""

    def make_node(self, x, to_append):
        return Apply(self, [_list(x, self), _element(x.ttype, to_append)], [x.type()])

    def compute(self, kind, x, more):
        return [*x, more]


class Extend(_Changed):
    """With the elements of another list."""

    def make_node(self, x, to_append):
        if _list(x, self).type != _list(to_append, self).type:
            raise UsageError(f"a {x.type} cannot be extended by a {to_append.type}")
        return Apply(self, [x, to_append], [x.type()])

    def compute(self, kind, x, more):
        return [*x, *more]


class Insert(_Changed):
    """With an element before that of an index."""

    def make_node(self, x, index, to_insert):
        inputs = [_list(x, self), _index(index), _element(x.ttype, to_insert)]
        return Apply(self, inputs, [x.type()])

    def compute(self, kind, x, index, more):
        k = int(index)
        made = list(x)
        made.insert(k, more)
        return made


class Remove(_Changed):
    """Without the first element of a value."""

    def make_node(self, x, to_remove):
        return Apply(self, [_list(x, self), _element(x.ttype, to_remove)], [x.type()])

    def compute(self, kind, x, value):
        k = _place(kind, x, value)
        return [*x[:k], *x[k + 1 :]]


class Reverse(_Changed):
    """The other way round."""

    def make_node(self, x):
        return Apply(self, [_list(x, self)], [x.type()])

    def compute(self, kind, x):
        return x[::-1]


def _place(kind, x, value):
    for k, element in enumerate(x):
        if kind.ttype.values_eq(element, value):
            return k
    raise ArgumentError(f"{value} is not in the list")


class Index(_ListOp):
    """The place of the first element of a value."""

    def make_node(self, x, elem):
        return Apply(self, [_list(x, self), _element(x.ttype, elem)], [TensorType("int64", ())()])

    def compute(self, kind, x, value):
        return np.asarray(_place(kind, x, value), dtype="int64")


class Count(_ListOp):
    """How many elements have a value."""

    def make_node(self, x, elem):
        return Apply(self, [_list(x, self), _element(x.ttype, elem)], [TensorType("int64", ())()])

    def compute(self, kind, x, value):
        return np.asarray(sum(kind.ttype.values_eq(e, value) for e in x), dtype="int64")


class Length(_ListOp):
    """How many elements there are."""

    def make_node(self, x):
        return Apply(self, [_list(x, self)], [TensorType("int64", ())()])

    def compute(self, kind, x):
        return np.asarray(len(x), dtype="int64")


class MakeList(_ListOp):
    """A list of variables of one type."""

    def make_node(self, a):
        if not isinstance(a, (list, tuple)) or not a:
            raise UsageError("make_list takes at least one variable, in a list")
        made = [x if isinstance(x, Variable) else as_tensor_variable(x) for x in a]
        if any(x.type != made[0].type for x in made):
            raise UsageError("the elements of a list have one type", [x.type for x in made])
        return Apply(self, made, [TypedListType(made[0].type)()])

    def __call__(self, a):
        return self.make_node(a).outputs[0]

    def compute(self, kind, *values):
        return list(values)


getitem, append, extend, insert = GetItem(), Append(), Extend(), Insert()
remove, reverse, index_, count = Remove(), Reverse(), Index(), Count()
length, make_list = Length(), MakeList()

__getattr__ = _absent_of("theano.typed_list")
