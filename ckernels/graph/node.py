"""Node: an immutable, hash-consed application of an op. Two equal expressions are one object.

A node knows its op, inputs, attributes, dtype, static shape (ints, None where unknown) and the
user's line that first made it. Nodes are what rewrites, gradients and the code generator see; the
handles that users hold (`ckernels.api.tensor.Tensor`) wrap one each.
"""

import itertools
import operator
import threading
import weakref
import zlib
from contextlib import contextmanager

import numpy as np

from ..base import dtypes, locks
from ..base.errors import CKernelsError, DTypeError, user_line, with_line
from .op import REGISTRY, Op
from .shapes import known_same
from .sizes import Size

_table = {}  # {key: weak reference to the node}; see _remember
_lock = locks.lock()
_uids = itertools.count()
making = threading.local()  # line: the user's line for which nodes are being made


class Literal:
    """A constant array as a dictionary key: by content when small, by identity when large.

    sized: the value was computed from sizes of tensors; kernels read such numbers from memory, so
    that they serve other sizes too. While a plan is made, elements may be of the class Size: then
    `array` has NumPy's dtype object, and `dtype` is int64.
    """

    __slots__ = ("array", "sized", "_key")

    def __init__(self, array, sized=False):
        array = np.array(array, order="C", copy=True)
        array.setflags(write=False)
        if array.dtype == object:
            self.array, self.sized = array, True
            self._key = ("sizes", array.shape, tuple(array.flat))
            return
        self.array = array
        small = array.nbytes <= 512
        self.sized = sized
        self._key = (
            dtypes.numpy_name(array.dtype),
            array.shape,
            array.tobytes() if small else id(array),
            sized,
        )

    @property
    def dtype(self):
        """The name of the dtype of its elements."""
        return (
            "int64"
            if self.sized and self.array.dtype == object
            else dtypes.numpy_name(self.array.dtype)
        )

    def __hash__(self):
        return hash(self._key)

    def __eq__(self, other):
        return isinstance(other, Literal) and self._key == other._key

    def __repr__(self):
        return repr(self.array.tolist())


class Node:
    """One application of an op. Made by `make`, `apply` or the functions in `ckernels.ops`."""

    __slots__ = ("op", "inputs", "attrs", "dtype", "shape", "outs", "line", "uid", "rank",
                 "__weakref__")  # fmt: skip
    __array_ufunc__ = None  # ndarray + node asks the node

    def __repr__(self):
        return f"<{self.op.name} {self.dtype} {self.shape} #{self.uid}>"

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        """Number of elements, or None when a dimension is unknown."""
        total = 1
        for d in self.shape:
            if d is None:
                return None
            total *= d
        return total

    @property
    def value(self):
        """The array of a constant, else None."""
        return self.attrs["value"].array if self.op.name == "constant" else None

    @property
    def name(self):
        return self.attrs.get("name")

    def __bool__(self):
        raise DTypeError("a symbolic node has no truth value")


def _turned(a, b):
    """Whether the operands of a commutative op are to change places: constants come last, before
    them what has a rank, by rank; of others, older nodes first."""
    if a.op.name == "constant" or b.op.name == "constant":
        one, two = a.op.name == "constant", b.op.name == "constant"
    else:
        one, two = a.rank or UNRANKED, b.rank or UNRANKED
    return a.uid > b.uid if one == two else one > two


UNRANKED = -1, 0


def _rank(op, attrs, inputs):
    """(depth, digest) of a node that reads no placeholder or variable, but those of a step's body:
    what orders it in every process. Others have None.

    Such nodes, and bodies, are the same ones in each program that has them, so their age tells
    which program came first.
    """
    for i in inputs:
        if i.rank is None:
            return None
    if "uid" in attrs:
        uid = attrs["uid"]
        return (0, uid[1]) if type(uid) is tuple else None
    if op.name == "variable":
        return None
    depth = 1 + max([i.rank[0] for i in inputs], default=-1)
    text = op.name, [i.rank[1] for i in inputs], [(k, _plain(attrs[k])) for k in sorted(attrs)]
    return depth, zlib.crc32(repr(text).encode())


def _plain(value):
    """What an attribute is in every process."""
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if isinstance(value, Literal):
        array = value.array
        return value.dtype, array.shape, array.dtype != object and array.ravel()[:64].tobytes()
    outputs = getattr(value, "outputs", None)  # of a body; other objects have methods of that name
    if type(outputs) in (tuple, list):
        return [n.rank for n in outputs]
    return value if isinstance(value, (int, float, str, type(None))) else type(value).__name__


_first, _uid = operator.itemgetter(0), operator.attrgetter("uid")


def make(op, inputs=(), attrs=None, line=None, like=None):
    """The node `op(*inputs, **attrs)`, new or the one that exists already.

    inputs: Nodes; attrs: dict of hashable values. Raises what `op.infer` raises. like: a node of
    this op with these attrs; its dtype and shape are taken over where its inputs have the dtypes
    and shapes of `inputs`, which saves a call of `op.infer`.
    """
    if isinstance(op, str):
        op = REGISTRY[op]
    attrs = attrs or {}
    inputs = tuple(inputs)
    if op.commutative and len(inputs) == 2 and _turned(*inputs):
        inputs = (inputs[1], inputs[0])
    if op.refit is not None:
        attrs = _followed(op, attrs, inputs)
    attributes = sorted(attrs.items(), key=_first) if len(attrs) > 1 else attrs.items()
    if op.name == "variable":
        # The store by its id: a key that held the store would keep it alive, and so the node.
        attributes = [(k, id(v) if k == "store" else v) for k, v in attributes]
    elif attrs and float in map(type, attrs.values()):
        # -0.0 equals 0.0 and NaN not even itself.
        attributes = [(k, float, repr(v)) if type(v) is float else (k, v) for k, v in attributes]
    key = (op.name, *map(_uid, inputs), *attributes)  # numbers of inputs, pairs of attributes
    found = _table.get(key)  # without the lock; added meanwhile, it is found below
    found = None if found is None else found()
    if found is not None:
        return found
    node = Node()
    node.op, node.inputs, node.attrs = op, inputs, attrs
    if like is not None and _of_types(inputs, like.inputs):
        node.outs, node.dtype, node.shape = like.outs, like.dtype, like.shape
    else:
        node.outs, node.dtype, node.shape = _inferred(op, attrs, inputs)
    node.rank = _rank(op, attrs, inputs)
    node.line = line or getattr(making, "line", None) or user_line()
    with _lock:
        found = _table.get(key)
        found = None if found is None else found()
        if found is not None:
            return found
        node.uid = next(_uids)
        _remember(key, node)
    return node


class _Weak(weakref.ref):
    """The table's weak reference to a node, with the node's key. A callback for each node, which
    would know its key, took 160 bytes, a fifth of the memory of a graph."""

    __slots__ = ("key",)


def _remember(key, node):
    """Enter a node in the table for as long as it lives. A WeakValueDictionary does the same, in
    Python that took a tenth of the time of `make`."""
    _table[key] = kept = _Weak(node, _forget)
    kept.key = key


def _forget(gone, table=_table, remove=weakref._remove_dead_weakref):
    """Delete an entry whose node has gone, unless another thread has entered a new node there:
    `remove` checks and deletes in one step."""
    remove(table, gone.key)


def _inferred(op, attrs, inputs):
    """(outs, dtype, shape) of a new node."""
    try:
        out = op.infer(attrs, *inputs)
    except CKernelsError as problem:  # in a rebuild it names the line of the rebuilt node
        raise with_line(problem, making, inputs) from problem.__cause__
    return (tuple(out), None, None) if isinstance(out, list) else (None, out[0], tuple(out[1]))


def _of_types(inputs, others):
    """Whether each input has the dtype and shape of its partner; nothing is assumed of sizes. As a
    shape may follow from values of integers and leaves, these have to be the same nodes."""
    for a, b in zip(inputs, others):
        if a is not b and (
            a.dtype != b.dtype
            or a.dtype not in dtypes.FLOATS
            or a.op.kind == "leaf"
            or not known_same(a.shape, b.shape)
        ):
            return False
    return len(inputs) == len(others)


def _followed(op, attrs, inputs):
    """`attrs` refitted to `inputs`; an error names the line that nodes are being made for."""
    try:
        return op.refit(attrs, inputs)
    except CKernelsError as problem:
        raise with_line(problem, making, inputs) from problem.__cause__


def apply(name, *inputs, **attrs):
    """`make` by op name with numbers and arrays as operands: the rewrite author's shorthand."""
    return make(REGISTRY[name], [as_node(x) for x in inputs], attrs)


def item(node, index):
    """Output `index` of a node with several outputs."""
    return make("item", (node,), {"index": index})


def constant(value, dtype=None, sized=False):
    """A constant node. Python numbers take their default dtype (int64, floatx) unless given.

    sized: the value was computed from sizes of tensors (see Literal).
    """
    if isinstance(value, Node):
        return value
    if type(value) is Size and dtype in (None, "int64"):
        return sizes_constant([value], ())
    if dtype is None and isinstance(value, float):
        dtype = dtypes.floatx()
    try:
        array = np.asarray(value, dtype=None if dtype is None else np.dtype(dtypes.name_of(dtype)))
    except OverflowError as problem:
        raise DTypeError(f"a Python int does not fit in {dtype}: {shown(value)}") from problem
    except ValueError:  # lists of different lengths
        raise DTypeError(f"this makes no array of numbers: {shown(value)}") from None
    if array.dtype == object and any(type(v) is Size for v in array.flat):
        return sizes_constant(list(array.flat), array.shape)
    if array.dtype == object and all(isinstance(v, int) for v in array.flat):
        raise DTypeError(f"a Python int does not fit in any integer dtype: {shown(value)}")
    if dtypes.numpy_name(array.dtype) not in dtypes.ITEMSIZE:
        raise DTypeError(
            f"cannot make a constant of dtype {array.dtype}: supported are {', '.join(dtypes.ALL)}"
        )
    return make("constant", (), {"value": Literal(array, sized)})


def shown(value):
    """A number or a short list of them as text, long ones cut."""
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def sizes_constant(values, shape):
    """The int64 constant of `shape` of these sizes and ints, in row-major order."""
    array = np.empty(len(values), object)
    array[:] = values
    if not any(type(v) is Size for v in values):
        try:
            array = array.astype("int64")
        except OverflowError as problem:
            raise DTypeError(f"a size does not fit in int64: {shown(list(values))}") from problem
    return make("constant", (), {"value": Literal(array.reshape(shape), sized=True)})


def as_node(x, dtype=None):
    """`x` as a Node: Nodes pass, handles give theirs, numbers and arrays become constants."""
    if isinstance(x, Node):
        return x
    node = getattr(x, "node", None)
    if isinstance(node, Node):
        return node
    return constant(x, dtype)


def new_uid():
    """A number no other node has: for leaves that are equal to nothing but themselves."""
    return next(_uids)


def placeholder(dtype, shape, name=None, line=None, uid=None, **more):
    """A new input, equal to nothing but itself; with a `uid`, to that of the same uid. more:
    further attributes."""
    uid = new_uid() if uid is None else uid
    attrs = {"uid": uid, "dtype": dtype, "shape": tuple(shape), "name": name, **more}
    return make("placeholder", (), attrs, line=line)


def rebuilding():
    """Whether nodes are being made on behalf of another one: by a rewrite or a gradient."""
    return getattr(making, "line", None) is not None


def register_operators(methods):
    """Give nodes Python operators: {name of a special method: function}. The ops room, which has
    the functions, calls this."""
    for name, method in methods.items():
        method.__name__ = name
        setattr(Node, name, method)


def current_line():
    """The user's line on behalf of which nodes are being made, or None."""
    return getattr(making, "line", None)


@contextmanager
def line_of(node):
    """Nodes made inside carry the user's line of `node`: rewrites and gradients run under it."""
    before = getattr(making, "line", None)
    making.line = node.line or before
    try:
        yield
    finally:
        making.line = before


@contextmanager
def making_for():
    """A context that gives line(node), after which new nodes carry the user's line of `node`; where
    it has none, the line from before. For walks: entering `line_of` costs 2 us for each node."""
    here = making  # this thread's
    before = getattr(here, "line", None)

    def line(node):
        here.line = node.line or before

    try:
        yield line
    finally:
        here.line = before


def _infer_leaf(attrs):
    return attrs["dtype"], attrs["shape"]


# fmt: off
Op("placeholder", "leaf", _infer_leaf, doc="An input of the function.")
Op("variable", "leaf", _infer_leaf, doc="Stored state; attrs['store'] owns the value.")
Op("constant", "leaf", lambda a: (a["value"].dtype, a["value"].array.shape),
   oracle=lambda a: a["value"].array, doc="A literal array.")
Op("item", "opaque", lambda a, x: x.outs[a["index"]], oracle=lambda a, x: x[a["index"]],
   grad=lambda node, g: ([g if i == node.attrs["index"] else None
                          for i in range(len(node.inputs[0].outs))],),
   doc="One output of a node with several.")
# fmt: on
