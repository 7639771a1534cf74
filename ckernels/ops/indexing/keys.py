"""Reading and writing parts of tensors: `x[key]` with all that NumPy allows, and writing to it.

A key is parsed once into stages: slices (static or with symbolic bounds), then integer arrays
(masks become integer arrays), then axes dropped or added. Writing runs the stages backwards. The
ops are in slicing.py and advanced.py; those that join and fill in ..joining and ..filling.
"""

import numbers
import operator
from dataclasses import dataclass

import numpy as np

from ...base import dtypes
from ...base.errors import DTypeError, IndexOutOfBounds, KeyShapeError, ShapeError
from ...graph.node import Node, constant, make
from ...graph.shapes import axis_of, show
from .. import filling, joining
from ..base import cast, expand, refuse_mask, to_node
from ..elementwise import maximum, minimum, mod, mul, sub, true_div
from ..filling import *  # noqa: F403
from ..filling import arange
from ..joining import *  # noqa: F403
from ..joining import concatenate, stack
from ..logic import bit_and, bit_or, bit_xor
from ..movement import flatten, near, reshape, squeeze
from ..scan_ends import last_row
from ..shape import size_of, sized
from . import advanced, slicing
from .advanced import *  # noqa: F403
from .advanced import advanced_inc, advanced_set, advanced_shape, advanced_take, mask_indices, take
from .combining import advanced_combine
from .slicing import *  # noqa: F403
from .slicing import WHOLE, check_fits, dynamic_slice, template_of, value_for

__all__ = ["MovingSlice", "getitem", "set_subtensor", "inc_subtensor", "combine_subtensor", "roll",
           *slicing.__all__, *advanced.__all__, *joining.__all__, *filling.__all__]  # fmt: skip


# --- keys -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MovingSlice:
    """In a key: as many elements as there are in `width`, from `start`, a node; all exist."""

    start: Node
    width: int


class Key:
    """A parsed key: slices per axis of x, and the template that comes after slicing.

    template: entries ":" (a kept axis), "n" (a new axis), ("i", node) an integer array or scalar,
    ("w", node, width) a MovingSlice, "." an ellipsis of no axes that alone keeps two indices apart:
    NumPy puts their axes first then.
    """

    def __init__(self, x, key):
        self.x, self.slices, self.template = x, [], []
        for entry in self.entries(key if isinstance(key, tuple) else (key,)):
            self.add(entry)
        rest = x.ndim - len(self.slices)
        self.slices += [WHOLE] * rest
        self.template += [":"] * rest
        if "." in self.template and not self.parts_indices(self.template.index(".")):
            self.template.remove(".")

    def parts_indices(self, at):
        """Whether nothing but an empty ellipsis keeps two indices apart, one of them an array."""
        left, right = self.template[:at][-1:], self.template[at + 1 :][:1]
        return all(t and t[0][0] == "i" for t in (left, right)) and not self.basic

    def entries(self, key):
        """The key's entries with Ellipsis written out and arrays made nodes."""
        key = [self.entry(k) for k in key]
        used = sum(self.width(k) for k in key)
        if sum(k is Ellipsis for k in key) > 1:
            raise KeyShapeError("an index can have only one ellipsis (...)")
        if used > self.x.ndim:
            raise ShapeError(
                f"{used} indices for a tensor of {self.x.ndim} dimensions, shape "
                f"{show(self.x.shape)}"
            )
        for k in key:
            if k is Ellipsis:
                yield from [slice(None)] * (self.x.ndim - used) or [Ellipsis]
            else:
                yield k

    @staticmethod
    def entry(k):
        if k is None or k is Ellipsis or isinstance(k, (slice, Node, MovingSlice)):
            return k
        if isinstance(getattr(k, "node", None), Node):
            return k.node
        if isinstance(k, (bool, np.bool_)):
            return constant(np.asarray(k, dtype=bool))
        if isinstance(k, (int, np.integer)):
            return int(k)
        if isinstance(k, (str, bytes, float, complex, np.floating)):
            raise DTypeError(
                f"an index must be an integer, a slice, None, ..., or an array of integers or "
                f"bools, not {k!r}"
            )
        if isinstance(k, (list, tuple)) and _has_nodes(k):
            return stack([to_node(i, "an index") for i in k])
        refuse_mask(k, "an index")
        array = np.asarray(k)
        if array.size == 0 and array.dtype.kind == "f":
            array = array.astype("int64")
        return constant(array)

    @staticmethod
    def width(k):
        if k is None or k is Ellipsis:
            return 0
        return k.ndim if isinstance(k, Node) and k.dtype == "bool" else 1

    def add(self, k):
        axis = len(self.slices)
        if k is None or k is Ellipsis:
            self.template.append("n" if k is None else ".")
        elif isinstance(k, slice):
            self.slices.append(tuple(self.bound(b) for b in (k.start, k.stop, k.step)))
            self.template.append(":")
        elif isinstance(k, MovingSlice):
            self.slices.append(WHOLE)
            self.template.append(("w", cast(k.start, "int64"), k.width))
        elif isinstance(k, int):
            self.add_int(k, axis)
        elif k.dtype == "bool":
            self.add_mask(k, axis)
        elif k.dtype in dtypes.INTEGERS:
            self.check_constant(k, axis)
            self.take(k if k.value is not None and k.ndim else cast(k, "int64"))
        else:
            raise DTypeError(f"an index must be an array of integers or bools, not of {k.dtype}")

    def add_int(self, k, axis):
        size = self.x.shape[axis]
        if size is not None:
            self.check_range(k, axis, size)
        elif near(k) != k:
            raise IndexOutOfBounds(f"index {k} is out of bounds for axis {axis} of any size")
        self.slices.append(WHOLE)
        self.template.append(("i", k))

    @staticmethod
    def check_range(k, axis, size):
        if not -size <= k < size:
            raise IndexOutOfBounds(f"index {k} is out of bounds for axis {axis} of size {size}")

    def check_constant(self, k, axis):
        size = self.x.shape[axis]
        if size is not None and k.value is not None and k.value.size:
            self.check_range(int(k.value.max()), axis, size)
            self.check_range(int(k.value.min()), axis, size)

    def take(self, node):
        self.slices.append(WHOLE)
        self.template.append(("i", node))

    def add_mask(self, mask, axis):
        if mask.ndim == 0:
            raise DTypeError("a scalar bool is no index; use where(condition, x, y)")
        for part in mask_indices(self.x, mask, axis):
            self.take(part)

    @staticmethod
    def bound(b):
        b = getattr(b, "node", b)
        if b is None:
            return None
        if not isinstance(b, Node):
            try:
                return near(operator.index(b))
            except TypeError:
                raise DTypeError(f"a bound of a slice must be an integer, not {b!r}") from None
        if b.ndim or not dtypes.is_discrete(b.dtype):
            raise DTypeError(
                f"a bound of a slice must be an integer scalar, not {b.dtype} of shape "
                f"{show(b.shape)}"
            )
        return b

    @property
    def basic(self):
        return not any(isinstance(t, tuple) and isinstance(t[1], Node) for t in self.template)


def _has_nodes(k):
    return any(
        isinstance(i, Node)
        or isinstance(getattr(i, "node", None), Node)
        or (isinstance(i, (list, tuple)) and _has_nodes(i))
        for i in k
    )


def _int_slices(key):
    """The slices of a basic key, integers as slices of length 1."""
    axes = [t for t in key.template if t != "n"]
    return [
        (t[1], t[1] + 1 if t[1] != -1 else None, 1) if isinstance(t, tuple) else s
        for t, s in zip(axes, key.slices)
    ]


def _dropped(key):
    axes = [t for t in key.template if t != "n"]
    return tuple(i for i, t in enumerate(axes) if isinstance(t, tuple))


def _exact(key, x):
    """Axes of unknown size with an integer index: whether it exists is checked when it runs."""
    return tuple(a for a in _dropped(key) if x.shape[a] is None)


def _added(key):
    """Positions in the result of the new axes of a basic key."""
    shown = [t for t in key.template if not isinstance(t, tuple)]
    return tuple(i for i, t in enumerate(shown) if t == "n")


def _operands(key):
    """(template of advanced_take, operands): integers become scalar operands."""
    nodes, template = [], []
    for t in key.template:
        if isinstance(t, tuple):
            nodes.append(t[1] if isinstance(t[1], Node) else constant(np.asarray(t[1], "int64")))
            t = t[2] if t[0] == "w" else "a"
        template.append(t)
    return tuple(template), nodes


def _read(key, x):
    if key.basic:
        part = dynamic_slice(x, _int_slices(key), _exact(key, x))
        return expand(squeeze(part, _dropped(key)), _added(key))
    x = dynamic_slice(x, key.slices)
    template, nodes = _operands(key)
    if len(nodes) > 1 or "a" not in template:
        return advanced_take(x, nodes, template)
    spread = [e for t in template for e in ([":"] * nodes[0].ndim if t == "a" else [t])]
    y = take(x, nodes[0], [t for t in template if t != "n"].index("a"))
    return expand(y, tuple(i for i, t in enumerate(spread) if t == "n"))


def getitem(x, key):
    """x[key]: integers, slices, None, ..., integer arrays, bool masks, with tensors among them."""
    x = to_node(x, "indexing")
    first, rest = (key[0], key[1:]) if isinstance(key, tuple) and key else (key, ())
    if isinstance(first, (int, np.integer)) and first == -1:
        last = last_row(x)
        if last is not None:
            return getitem(last, rest)
    parsed = Key(x, key)
    result = None
    if x.op.name == "shape" and parsed.basic and len(parsed.template) == 1:
        result = _known_size(x.inputs[0].shape, parsed.template[0])
    return _read(parsed, x) if result is None else result


def _known_size(sizes, entry):
    """The constant shape(x)[i] where that size is known, else None."""
    size = sizes[entry[1]] if isinstance(entry, tuple) else None
    return None if size is None else constant(np.asarray(size, dtype="int64"), sized=True)


# --- writing ----------------------------------------------------------------------------------


def set_subtensor(x, key, y):
    """A tensor like x with `y` at x[key]."""
    x = to_node(x, "set_subtensor")
    return _write(Key(x, key), x, value_for(x, y, "set_subtensor"), "set")


def inc_subtensor(x, key, y):
    """A tensor like x with `y` added at x[key], once for each time that a position occurs."""
    x = to_node(x, "inc_subtensor")
    return _write(Key(x, key), x, value_for(x, y, "inc_subtensor"), "inc")


COMBINING = {"max": maximum, "min": minimum, "mul": mul, "div": true_div, "and": bit_and,
             "or": bit_or, "xor": bit_xor}  # fmt: skip


def combine_subtensor(x, key, y, how):
    """A tensor like x in which x[key] is combined with `y`, once for each time that a position
    occurs: the larger ("max") or smaller one ("min"), their product ("mul") or quotient ("div"), or
    what bits are in both ("and"), in one of them ("or"), in one alone ("xor")."""
    x = to_node(x, "combine_subtensor")
    return _write(Key(x, key), x, value_for(x, y, "combine_subtensor"), how)


def _write(key, x, y, how):
    inc = how == "inc"
    if key.basic:
        part = _read(key, x)
        y = COMBINING[how](part, y) if how in COMBINING else y  # each position is there once
        y = _aligned(y, part.shape)
        if y.ndim:
            wide = expand(y, tuple(range(part.ndim - y.ndim)))
            y = expand(squeeze(wide, _added(key)), _dropped(key))
        return _write_slices(x, y, _int_slices(key), inc, _exact(key, x))
    part = dynamic_slice(x, key.slices)
    template, nodes = _operands(key)
    y = _aligned(y, advanced_shape(template, part.shape, [n.shape for n in nodes]))
    if how in COMBINING:
        new = advanced_combine(part, y, nodes, template, how)
    else:
        new = (advanced_inc if inc else advanced_set)(part, y, nodes, template)
    return new if part is x else _write_slices(x, new, key.slices, False, ())


def _aligned(y, shape):
    """`y` without leading axes of size 1 that a part of shape `shape` does not have (as NumPy)."""
    extra = tuple(range(y.ndim - len(shape)))
    y = squeeze(y, extra) if extra and all(y.shape[a] == 1 for a in extra) else y
    check_fits("writing to a part", y, shape)
    return y


def _write_slices(x, y, slices, inc, exact):
    template, scalars = template_of(x, slices)
    attrs = {"exact": exact} if exact else {}
    if scalars:
        return make("dynamic_write", [x, y] + scalars, {"template": template, "inc": inc, **attrs})
    return make("inc_slice" if inc else "set_slice", (x, y), {"slices": template, **attrs})


# --- reading in another order -----------------------------------------------------------------


def joined_at(x, axis, start):
    """What `x` has from `start` on along an axis, then what comes before."""
    whole = (slice(None),) * axis
    return concatenate([x[(*whole, slice(start, None))], x[(*whole, slice(None, start))]], axis)


def _shift(x):
    node = to_node(x, "roll")
    if node.ndim or node.dtype == "bool" or not dtypes.is_discrete(node.dtype):
        shown = f"{node.dtype} {show(node.shape)}" if isinstance(x, Node) else repr(x)
        raise DTypeError(f"the shift of roll is one integer, not {shown}")
    return node


def roll(x, shift, axis=None):
    """np.roll: elements shifted along `axis` (None: of the flattened tensor), wrapping around."""
    x = to_node(x, "roll")
    if axis is None:
        return reshape(roll(flatten(x), shift, 0), sized(x))
    axis = axis_of(axis, x.ndim)
    size = size_of(x, axis)
    if not isinstance(shift, numbers.Integral):
        shift = _shift(shift)
    elif isinstance(size, int):
        return joined_at(x, axis, size - int(shift) % size) if size and int(shift) % size else x
    else:
        return joined_at(x, axis, sub(size, mod(int(shift), maximum(size, 1))))
    return take(x, mod(sub(arange(0, size, 1, "int64"), shift), size), axis)
