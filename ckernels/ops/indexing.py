"""Reading and writing parts of tensors: `x[key]` with everything NumPy allows, and what writes to it.

A key is parsed once into stages: slices (static or with symbolic bounds), then integer arrays (masks
become integer arrays), then axes dropped or added. Writing runs the stages backwards. Rows with integer
arrays are in advanced.py; joining and filling rows in joining.py.
"""
import operator
import weakref

import numpy as np

from .. import dtypes
from ..errors import DTypeError, IndexOutOfBounds, ShapeError
from ..graph.node import Node, constant, make
from ..graph.op import Op
from ..graph.shapes import show
from .advanced import (advanced_inc, advanced_set, advanced_shape, advanced_take, argwhere, flatnonzero, mask_indices,
                       nonzero, put_along_axis_add, repeat_index, scatter_add, take, take_along_axis)
from .base import cast, expand, to_node, unbroadcast, zeros_like
from .joining import (arange, concatenate, diag, diagonal, eye, fill_diagonal, one_hot, pad, roll, split,
                      stack, tril, triu)
from .movement import check_exact, normal_slice, slice_, sliced_size, squeeze
from .shape import known_value

__all__ = ["getitem", "set_slice", "inc_slice", "set_subtensor", "inc_subtensor", "dynamic_slice",
           "take", "take_along_axis", "put_along_axis_add", "scatter_add", "advanced_take",
           "advanced_set", "advanced_inc", "nonzero", "argwhere", "flatnonzero", "mask_indices",
           "repeat_index", "one_hot", "concatenate", "stack", "split", "pad", "arange", "diag",
           "diagonal", "fill_diagonal", "eye", "tril", "triu", "roll"]

WHOLE = (None, None, 1)
_origins = weakref.WeakKeyDictionary()      # node made by getitem -> (tensor, key)


# --- rows: writing to slices, slices with symbolic bounds -----------------------------------------

def _check_fits(what, y, shape):
    lead = len(shape) - y.ndim
    if lead < 0 or any(None not in (a, b) and a not in (1, b) for a, b in zip(y.shape, shape[lead:])):
        raise ShapeError(f"{what}: a value of shape {show(y.shape)} does not fit a part of shape "
                         f"{show(shape)}")


def _infer_write(what):
    def infer(attrs, x, y):
        if x.dtype != y.dtype:
            raise DTypeError(f"{what} needs one dtype, got {x.dtype} and {y.dtype}")
        check_exact(attrs, x.shape, attrs["slices"])
        part = tuple(sliced_size(d, *s) for d, s in zip(x.shape, attrs["slices"]))
        _check_fits(what, y, part)
        return x.dtype, x.shape
    return infer


def _writer(inc):
    def run(attrs, x, y):
        check_exact(attrs, x.shape, attrs["slices"])
        out = np.array(x)
        key = tuple(slice(*s) for s in attrs["slices"])
        try:
            out[key] = out[key] + y if inc else y
        except ValueError:
            raise ShapeError(f"a value of shape {show(y.shape)} does not fit a part of shape "
                             f"{show(out[key].shape)}") from None
        return out
    return run


def _grad_set_slice(node, g):
    x, y = node.inputs
    slices = node.attrs["slices"]
    hole = constant(np.zeros((), dtype=g.dtype))
    return set_slice(g, hole, slices), unbroadcast(slice_(g, slices), y)


Op("set_slice", "opaque", _infer_write("set_slice"), _writer(False), _grad_set_slice,
   doc="x with y in the place of x[slices].")
Op("inc_slice", "opaque", _infer_write("inc_slice"), _writer(True),
   lambda node, g: (g, unbroadcast(slice_(g, node.attrs["slices"]), node.inputs[1])),
   doc="x with y added to x[slices].")


def _slices(x, slices):
    slices = [(s.start, s.stop, s.step) if isinstance(s, slice) else s for s in slices]
    slices += [WHOLE] * (x.ndim - len(slices))
    return tuple(normal_slice(s, d) for s, d in zip(slices, x.shape))


def _value_for(x, y, what):
    """`y` in the dtype of x; DTypeError where that would lose its kind."""
    weak = isinstance(y, (bool, int, float)) and not isinstance(y, np.generic)
    node = constant(np.asarray(y, dtype=x.dtype)) if weak and (
        not isinstance(y, float) or dtypes.is_inexact(x.dtype)) else to_node(y, what)
    if node.dtype != x.dtype and not np.can_cast(node.dtype, x.dtype, "same_kind"):
        raise DTypeError(f"{what}: a {node.dtype} value cannot be written into a {x.dtype} tensor; "
                         f"cast one of them first")
    return cast(node, x.dtype)


def set_slice(x, y, slices):
    """A tensor like `x` with `y` (broadcast) in the place of x[slices]."""
    x = to_node(x, "set_slice")
    return make("set_slice", (x, _value_for(x, y, "set_slice")), {"slices": _slices(x, slices)})


def inc_slice(x, y, slices):
    """A tensor like `x` with `y` (broadcast) added to x[slices]."""
    x = to_node(x, "inc_slice")
    return make("inc_slice", (x, _value_for(x, y, "inc_slice")), {"slices": _slices(x, slices)})


def _bounds(template, get):
    """The template of a dynamic slice with its operands put in by `get(k)`."""
    return tuple(tuple(get(b[1]) if isinstance(b, tuple) else b for b in s) for s in template)


def _infer_dynamic(attrs, x, *scalars):
    check_exact(attrs, x.shape, attrs["template"])
    shape = []
    values = [known_value(s) for s in scalars]
    for size, bounds in zip(x.shape, attrs["template"]):
        known = [values[b[1]] if isinstance(b, tuple) else b for b in bounds]
        if any(isinstance(b, tuple) and k is None for b, k in zip(bounds, known)):
            shape.append(None)
        else:
            shape.append(sliced_size(size, *known))
    return x.dtype, tuple(shape)


def _run_dynamic(attrs, x, *scalars):
    bounds = _bounds(attrs["template"], lambda k: int(scalars[k]))
    if any(s[2] == 0 for s in bounds):
        raise ShapeError("the step of a slice cannot be 0")
    check_exact(attrs, x.shape, bounds)
    return x[tuple(slice(*s) for s in bounds)]


def _grad_dynamic(node, g):
    x, scalars = node.inputs[0], node.inputs[1:]
    return (make("dynamic_write", (zeros_like(x), g) + scalars,
                 {"template": node.attrs["template"], "inc": False}),) + (None,) * len(scalars)


Op("dynamic_slice", "opaque", _infer_dynamic, _run_dynamic, _grad_dynamic,
   doc="Slices whose bounds are scalar operands: ('n', k) in attrs['template'] is operand k.")


def _run_dynamic_write(attrs, x, y, *scalars):
    slices = _bounds(attrs["template"], lambda k: int(scalars[k]))
    return _writer(attrs["inc"])({**attrs, "slices": slices}, x, y)


def _grad_dynamic_write(node, g):
    y, scalars = node.inputs[1], node.inputs[2:]
    gy = unbroadcast(make("dynamic_slice", (g,) + scalars, {"template": node.attrs["template"]}), y)
    hole = constant(np.zeros((), dtype=g.dtype))
    gx = g if node.attrs["inc"] else make("dynamic_write", (g, hole) + scalars, node.attrs)
    return (gx, gy) + (None,) * len(scalars)


Op("dynamic_write", "opaque", lambda a, x, y, *s: (x.dtype, x.shape), _run_dynamic_write,
   _grad_dynamic_write, doc="x with y set in (or added to) a dynamic slice.")


def dynamic_slice(x, slices, exact=()):
    """`x` sliced by one (start, stop, step) per leading axis; bounds are ints, None or scalar nodes.

    exact: axes on which a slice of one stands for an index, which must exist.
    """
    x = to_node(x, "slice")
    template, scalars = _template(x, slices)
    attrs = {"exact": exact} if exact else {}
    if scalars:
        return make("dynamic_slice", [x] + scalars, {"template": template, **attrs})
    return make("slice", (x,), {"slices": template, **attrs}) if exact else slice_(x, template)


def _template(x, slices):
    scalars, template = [], []

    def bound(b):
        if not isinstance(b, Node):
            return b
        known = known_value(b)
        if known is not None:
            return known
        scalars.append(cast(b, "int64"))
        return ("n", len(scalars) - 1)
    for size, s in zip(x.shape, list(slices) + [WHOLE] * (x.ndim - len(slices))):
        s = tuple(bound(b) for b in s)
        if any(isinstance(b, tuple) for b in s):
            template.append((s[0], s[1], 1 if s[2] is None else s[2]))
        else:
            template.append(normal_slice(s, size))
    return tuple(template), scalars


# --- keys -----------------------------------------------------------------------------------------

class Key:
    """A parsed key: slices per axis of x, and the template that comes after slicing.

    template: entries ":" (a kept axis), "n" (a new axis), ("i", node) an integer array or scalar.
    """

    def __init__(self, x, key):
        self.x, self.slices, self.template = x, [], []
        for entry in self.entries(key if isinstance(key, tuple) else (key,)):
            self.add(entry)
        rest = x.ndim - len(self.slices)
        self.slices += [WHOLE] * rest
        self.template += [":"] * rest

    def entries(self, key):
        """The key's entries with Ellipsis written out and arrays made nodes."""
        key = [self.entry(k) for k in key]
        used = sum(self.width(k) for k in key)
        if sum(k is Ellipsis for k in key) > 1:
            raise ShapeError("an index can have only one ellipsis (...)")
        if used > self.x.ndim:
            raise ShapeError(f"{used} indices for a tensor of {self.x.ndim} dimensions, shape "
                             f"{show(self.x.shape)}")
        for k in key:
            if k is Ellipsis:
                yield from [slice(None)] * (self.x.ndim - used)
            else:
                yield k

    @staticmethod
    def entry(k):
        if k is None or k is Ellipsis or isinstance(k, (slice, Node)):
            return k
        if isinstance(getattr(k, "node", None), Node):
            return k.node
        if isinstance(k, (bool, np.bool_)):
            return constant(np.asarray(k, dtype=bool))
        if isinstance(k, (int, np.integer)):
            return int(k)
        if isinstance(k, (str, bytes, float, complex, np.floating)):
            raise DTypeError(f"an index must be an integer, a slice, None, ..., or an array of integers or "
                             f"bools, not {k!r}")
        if isinstance(k, (list, tuple)) and _has_nodes(k):
            return stack([to_node(i, "an index") for i in k])
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
        if k is None:
            self.template.append("n")
        elif isinstance(k, slice):
            self.slices.append(tuple(self.bound(b) for b in (k.start, k.stop, k.step)))
            self.template.append(":")
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
                return operator.index(b)
            except TypeError:
                raise DTypeError(f"a bound of a slice must be an integer, not {b!r}") from None
        if b.ndim or not dtypes.is_discrete(b.dtype):
            raise DTypeError(f"a bound of a slice must be an integer scalar, not {b.dtype} of shape "
                             f"{show(b.shape)}")
        return b

    @property
    def basic(self):
        return not any(isinstance(t, tuple) and isinstance(t[1], Node) for t in self.template)


def _has_nodes(k):
    return any(isinstance(i, Node) or isinstance(getattr(i, "node", None), Node)
               or (isinstance(i, (list, tuple)) and _has_nodes(i)) for i in k)


def _int_slices(key):
    """The slices of a basic key, integers as slices of length 1."""
    axes = [t for t in key.template if t != "n"]
    return [(t[1], t[1] + 1 if t[1] != -1 else None, 1) if isinstance(t, tuple) else s
            for t, s in zip(axes, key.slices)]


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
            t = "a"
        template.append(t)
    return tuple(template), nodes


def _read(key, x):
    if key.basic:
        part = dynamic_slice(x, _int_slices(key), _exact(key, x))
        return expand(squeeze(part, _dropped(key)), _added(key))
    x = dynamic_slice(x, key.slices)
    template, nodes = _operands(key)
    if len(nodes) > 1:
        return advanced_take(x, nodes, template)
    spread = [e for t in template for e in ([":"] * nodes[0].ndim if t == "a" else [t])]
    y = take(x, nodes[0], [t for t in template if t != "n"].index("a"))
    return expand(y, tuple(i for i, t in enumerate(spread) if t == "n"))


def getitem(x, key):
    """x[key]: integers, slices, None, ..., integer arrays, bool masks, with tensors among them."""
    x = to_node(x, "indexing")
    parsed = Key(x, key)
    result = None
    if x.op.name == "shape" and parsed.basic and len(parsed.template) == 1:
        result = _known_size(x.inputs[0].shape, parsed.template[0])
    result = _read(parsed, x) if result is None else result
    if result is not x:
        _origins[result] = (weakref.ref(x), key)
    return result


def _known_size(sizes, entry):
    """The constant shape(x)[i] where that size is known, else None."""
    size = sizes[entry[1]] if isinstance(entry, tuple) else None
    return None if size is None else constant(np.asarray(size, dtype="int64"))


# --- writing --------------------------------------------------------------------------------------

def set_subtensor(x, *args):
    """set_subtensor(x[key], y) or set_subtensor(x, key, y): a tensor like x with `y` at x[key]."""
    return _subtensor("set_subtensor", x, args, False)


def inc_subtensor(x, *args):
    """Like set_subtensor, but `y` is added; positions that occur more than once, each time."""
    return _subtensor("inc_subtensor", x, args, True)


def _subtensor(name, x, args, inc):
    x = to_node(x, name)
    if len(args) == 2:
        key, y = args
    else:
        if x not in _origins:
            raise DTypeError(f"{name}(x[key], y) needs the result of indexing, got {x!r}")
        origin, key = _origins[x]
        x, (y,) = origin(), args
    return _write(Key(x, key), x, _value_for(x, y, name), inc)


def _write(key, x, y, inc):
    if key.basic:
        part = _read(key, x)
        y = _aligned(y, part.shape)
        if y.ndim:
            wide = expand(y, tuple(range(part.ndim - y.ndim)))
            y = expand(squeeze(wide, _added(key)), _dropped(key))
        return _write_slices(x, y, _int_slices(key), inc, _exact(key, x))
    part = dynamic_slice(x, key.slices)
    template, nodes = _operands(key)
    y = _aligned(y, advanced_shape(template, part.shape, [n.shape for n in nodes]))
    new = (advanced_inc if inc else advanced_set)(part, y, nodes, template)
    return new if part is x else _write_slices(x, new, key.slices, False, ())


def _aligned(y, shape):
    """`y` without leading axes of size 1 that the part of shape `shape` does not have (as NumPy)."""
    extra = tuple(range(y.ndim - len(shape)))
    y = squeeze(y, extra) if extra and all(y.shape[a] == 1 for a in extra) else y
    _check_fits("writing to a part", y, shape)
    return y


def _write_slices(x, y, slices, inc, exact):
    template, scalars = _template(x, slices)
    attrs = {"exact": exact} if exact else {}
    if scalars:
        return make("dynamic_write", [x, y] + scalars, {"template": template, "inc": inc, **attrs})
    return make("inc_slice" if inc else "set_slice", (x, y), {"slices": template, **attrs})
