"""ArrayValue: a NumPy array while a program is traced: a node, or a view of another value.

A view is its base and a lens: it reads late, so that it sees what is stored into its base, and
what is stored through it reaches the base. All operators go through ufuncs, all functions through
rows. What only a number can answer (`float(x)`, `if x > 0`) the owner is asked, who may refuse.
"""

import operator
from typing import NamedTuple

import numpy as np

from .. import ops
from ..base import dtypes
from ..base.errors import NotSupported
from ..graph.node import Node, constant
from ..ops.indexing.keys import MovingSlice
from . import rows
from .promote import Weak, kind_of, supported
from .rows.base import as_operand, typed


class Lens(NamedTuple):
    """How a view lies in its base: get(node of the base) -> node of the view; put(base, new view)
    -> new base; real(array of the base, values of `nodes`) -> the view as NumPy makes it, None
    where nothing says which it is. put None: it may be a copy in NumPy, and who stores into either
    cannot be traced."""

    get: object
    put: object
    real: object
    key: object = None  # what it is of the base, where it is base[key]
    nodes: tuple = ()


class ArrayValue(np.lib.mixins.NDArrayOperatorsMixin):
    """A traced array. owner: who traces (`ask`, `pin`); scalar: NumPy has a scalar here, which is
    never changed; plain: certainly in C order without gaps; masked: (node, mask) where this is
    node[mask], of which elementwise functions compute all; viewed: whether it has had views."""

    __slots__ = ("owner", "node_", "version", "seen", "base", "lens", "scalar", "plain", "masked",
                 "born", "viewed")  # fmt: skip
    __hash__ = None
    __array_priority__ = 1000.0

    def __init__(self, owner, node, scalar=False, plain=False, base=None, lens=None, masked=None):
        self.owner, self.node_, self.scalar, self.plain = owner, node, scalar, plain
        self.base, self.lens, self.masked = base, lens, masked
        self.version, self.seen, self.viewed = 0, None, False
        self.born = owner.made(scalar)
        if base is not None:
            self.seen = base.current()

    # ---- what it is ----------------------------------------------------------------------------

    def root(self):
        value = self
        while value.base is not None:
            value = value.base
        return value

    def current(self):
        """How often the array at the end of the chain of bases was stored into."""
        return self.root().version

    def read(self):
        """The node of what the array holds now."""
        if self.base is None:
            if self.node_ is None:
                self.node_ = ops.getitem(*self.masked)
            return self.node_
        version = self.current()
        if self.node_ is None or self.seen != version:
            if self.lens.put is None and self.seen != version:
                self.owner.refuse("a reshape that may be a view or a copy is read after a store")
            self.node_, self.seen = self.lens.get(self.base.read()), version
        return self.node_

    def write(self, node, chosen=False):
        """Store `node`, which has this dtype and shape, into the array. chosen: it holds the old
        elements already where the branch that is being traced is not taken."""
        if self.scalar:
            raise TypeError(f"'numpy.{self.dtype}' object does not support item assignment")
        if not chosen:
            node = self.chosen(node, self.read)
        if self.base is None:
            return self.set_node(node)
        if self.lens.put is None:
            self.owner.refuse("a store into a reshape that may be a view or a copy")
        return self.base.write(self.lens.put(self.base.read(), node), True)

    def chosen(self, new, old):
        """`new` where the branch that is being traced is taken, else what old() gives."""
        predicate = self.owner.predicate()
        return new if predicate is None else ops.where(predicate, new, old())

    def set_node(self, node):
        """Let this array, which is no view, hold `node`."""
        if self.owner.journal is not None:
            self.owner.journal.append((self, self.masked if self.node_ is None else self.node_))
        self.put_back(node)

    def put_back(self, held):
        """Let it hold a node, or the part (node, mask)."""
        self.node_, self.masked = (None, held) if isinstance(held, tuple) else (held, None)
        self.version += 1

    def through(self, get, put, real, plain=False, key=None, nodes=()):
        """A view of this array; of a scalar an array of its own, unless it can be read alone."""
        if self.scalar and put is not None:
            return self.fresh(get(self.read()), plain=plain)
        self.root().note_view()
        return ArrayValue(self.owner, None, False, plain, self, Lens(get, put, real, key, nodes))

    def note_view(self):
        """Remember that this array has had views."""
        self.viewed = True

    def fresh(self, node, scalar=False, plain=False):
        """A new array of the owner's that holds `node`."""
        return ArrayValue(self.owner, node, scalar and node.ndim == 0, plain or node.ndim < 2)

    @property
    def dtype(self):
        return np.dtype(
            (self.masked[0] if self.node_ is None and self.masked else self.read()).dtype
        )

    @property
    def ndim(self):
        return self.read().ndim

    @property
    def shape(self):
        node = self.read()
        if self.masked is not None and node.shape[0] is None:
            whole, mask = self.masked
            rest = range(mask.ndim, whole.ndim)
            return (self.owner.shown(node, mask), *[self._extent(whole, i) for i in rest])
        return tuple(self._extent(node, i) for i in range(node.ndim))

    def _extent(self, node, axis):
        known = node.shape[axis]
        return self.owner.size(node, axis) if known is None else known

    @property
    def size(self):
        total = 1
        for d in self.shape:
            total = d * total
        return total

    def __repr__(self):
        return repr(self.owner.ask(self.read(), "repr(x)"))

    def __str__(self):
        return str(self.owner.ask(self.read(), "str(x)"))

    def __format__(self, how):
        return format(self.owner.ask(self.read(), "a text of it"), how)

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        return operator.index(self.shape[0])

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    # ---- what only a number can answer ---------------------------------------------------------

    def __bool__(self):
        node = self.read()
        if node.size is not None and node.size != 1 or node.ndim and node.size is None:
            self.owner.refuse("the truth value of an array of more than one element")
        return bool(self.owner.ask(ops.cast(ops.reshape(node, []), "bool"), "its truth value"))

    def __float__(self):
        return float(self.owner.ask(self.read(), "float(x)"))

    def __int__(self):
        return int(self.owner.ask(self.read(), "int(x)"))

    def __index__(self):
        return operator.index(self.owner.ask(self.read(), "an index in Python"))

    def __complex__(self):
        return complex(self.owner.ask(self.read(), "complex(x)"))

    def __array__(self, dtype=None, copy=None):
        found = np.asarray(self.owner.ask(self.read(), "an array in the hands of other code"))
        return found if dtype is None else found.astype(dtype)

    def __contains__(self, item):
        return bool((self == item).any())

    # ---- ufuncs and functions ------------------------------------------------------------------

    def __array_ufunc__(self, ufunc, method, *args, out=None, **options):
        found = getattr(rows, "ufunc" if method == "__call__" else method, None)
        if method == "at" and ufunc in AT:
            return store_at(ufunc, *args)
        if found is None or method not in METHODS:
            self.owner.refuse(f"{ufunc.__name__}.{method}")
        out = out if out is None or not isinstance(out, tuple) or len(out) > 1 else out[0]
        if method == "__call__":
            return call_ufunc(self.owner, ufunc, args, out, **options)
        options.pop("out", None)
        node = found(self.owner.rule, ufunc, *[self.owner.operand(a) for a in args],
                     **{k: self.owner.operand(v) if k == "where" else v
                        for k, v in options.items()})  # fmt: skip
        result = self.fresh(node, True, lies_plain(args))
        return result if out is None else store(result, out)

    def __array_function__(self, function, types, args, kwargs):
        return self.owner.call(function, args, kwargs)

    # ---- parts ---------------------------------------------------------------------------------

    def __getitem__(self, key):
        part, mask = self._mask_last(key)
        if mask is not None:
            return part[mask]
        given = key if isinstance(key, tuple) else (key,)
        dotted = any(k is Ellipsis for k in given)
        copied = any(map(_is_array_of_one_place, given))
        key, basic, mask = self.owner.key(self, key)
        if mask is not None and mask.ndim <= self.ndim:
            return ArrayValue(
                self.owner,
                None,
                False,
                True,
                masked=(read_under(under(mask, self.read()), self.read()), mask),
            )
        if self.scalar or not basic:
            scalar = basic and self.scalar and not dotted
            plain = self.plain and _takes_rows(key)
            return self.fresh(ops.getitem(self.read(), key), scalar, plain)
        if is_whole(key, self.ndim) and not dotted:
            node = ops.getitem(self.read(), key)
            self.owner.note_read(node, self.read(), key)
            return self.fresh(node, True)
        if copied:
            return self.fresh(ops.getitem(self.read(), key), False, True)
        if sum(k is not None for k in key) > self.ndim:
            ops.getitem(self.read(), key)  # raises, though nothing may read this view
        plain, nodes = self.plain and _leading(key), nodes_of_key(key)

        def of_numbers(a, *found):
            return a[(*filled(key, found), *[...][:dotted])]

        real = of_numbers if nodes else operator.itemgetter((*key, *[...][:dotted]))
        return self.through(lambda n: ops.getitem(n, key), lambda n, v: with_part(n, key, v),
                            real, plain, key, nodes)  # fmt: skip

    def __setitem__(self, key, item):
        part, mask = self._mask_last(key)
        if mask is not None:
            part[mask] = item
            return None
        dotted = any(k is Ellipsis for k in (key if isinstance(key, tuple) else (key,)))
        key, basic, mask = self.owner.key(self, key)
        item = self.owner.to_store(item, self.dtype)
        listed = isinstance(item, (list, tuple))
        rank = self.owner.array(item).ndim if listed else getattr(item, "ndim", 0)
        if basic and not dotted and is_whole(key, self.ndim):
            check_element(item)
        elif basic and listed and rank > ops.getitem(self.read(), key).ndim:
            raise ValueError("setting an array element with a sequence.")
        if isinstance(item, ArrayValue) and item.base is self and _same(item.lens.key, key):
            if not self.current():
                self.owner.refuse("a part of an array that is stored into its own place")
            return None  # x[key] += y: Python stores the view, which is there, into its place
        old = self.read()
        if mask is not None and mask.ndim <= self.ndim:
            if mask.ndim == self.ndim and rank > 1:
                raise TypeError("what is stored where a mask is has one dimension at most")
            new = self._under(old, mask, item)
            if new is not None:
                return self.write(new)
        if basic:
            item = self.owner.fits_into(item, old.dtype)
        item = self.chosen(stored(self.owner, item, old.dtype), lambda: ops.getitem(old, key))
        self.write(with_part(old, key, item), True)
        return None

    def _mask_last(self, key):
        """(a view, mask) such that x[i, mask] or x[mask, i] is view[mask]; else (None, None)."""
        masks = [k for k in key if _is_mask(k)] if isinstance(key, tuple) else ()
        if len(masks) != 1 or len(key) > self.ndim or self.scalar:
            return None, None
        (mask,), at = masks, next(i for i, k in enumerate(key) if _is_mask(k))
        rest, first = key[:at] + key[at + 1 :], at == 0
        behind = first or at == len(rest)
        if not rest or not behind or first and mask.ndim > 1 or not all(map(self._is_place, rest)):
            return None, None
        return self[(slice(None), *rest) if first else rest], mask

    def _is_place(self, k):
        """Whether an index is an int, of Python's or NumPy's."""
        if isinstance(k, self.owner.numbers):
            return k.kind is int
        return isinstance(k, (int, np.integer)) and not isinstance(k, bool)

    def _under(self, old, mask, item):
        """`old` with `item` where `mask` is, as a choice; None where it needs places in memory."""
        masked = getattr(item, "masked", None)
        whole = None
        if masked is not None and masked[1] is mask and masked[0].ndim == old.ndim:
            whole = ops.cast(masked[0], old.dtype)
            if mask.ndim < old.ndim and (
                whole.shape != old.shape or None in old.shape[mask.ndim :]
            ):
                whole = None  # a size that NumPy repeats, or refuses
        if whole is None:
            whole = stored(self.owner, item, old.dtype)
            if whole.ndim:
                return None
        return ops.where(under(mask, old), whole, old)


def _right_of_complex(name, function):
    """The operator behind a number of Python's: of a complex one and a float64 Python computes."""
    plainly = getattr(ArrayValue, name)

    def operate(self, other):
        kind = other.kind if isinstance(other, self.owner.numbers) else type(other)
        found = None
        if kind is complex and self.scalar and self.dtype == np.float64:
            found = self.owner.of_scalar(function, other, self)
        return plainly(self, other) if found is None else found

    return operate


for _name in ("add", "sub", "mul", "truediv", "pow"):
    _operate = _right_of_complex(f"__r{_name}__", getattr(operator, _name))
    setattr(ArrayValue, f"__r{_name}__", _operate)


def is_whole(key, ndim):
    """Whether a basic key is of one element."""
    return all(isinstance(k, (int, Node)) for k in key) and len(key) == ndim


# NumPy up to 2.3 stores an array of one element as that element
ONE_AS_ELEMENT = np.lib.NumpyVersion(np.__version__) < "2.4.0"


def check_element(item):
    """ValueError, as NumPy's, for what is no element of an array."""
    if isinstance(item, (list, tuple)):
        raise ValueError("setting an array element with a sequence.")
    if isinstance(item, (ArrayValue, np.ndarray)) and item.ndim:
        size = item.read().size if isinstance(item, ArrayValue) else item.size
        if not ONE_AS_ELEMENT or size not in (1, None):
            raise ValueError("setting an array element with a sequence.")
        if size is None:
            item.owner.refuse("an array as an element, which it is where it has one")


def _is_mask(k):
    return isinstance(k, (np.ndarray, ArrayValue)) and k.ndim > 0 and k.dtype == bool


def _is_array_of_one_place(k):
    """Whether an index is an array of no dimensions, where NumPy copies: an int gives a view."""
    return (
        isinstance(k, (np.ndarray, ArrayValue)) and not getattr(k, "scalar", False) and k.ndim == 0
    )


METHODS = ("__call__", "reduce", "accumulate", "reduceat", "outer")


def with_part(node, key, value):
    """`node` with `value` at a key."""
    whole = slice(None)
    places = tuple(whole if isinstance(k, slice) else k for k in key)
    rest = tuple(whole if isinstance(k, MovingSlice) else k
                 for k in key if isinstance(k, (slice, MovingSlice)))  # fmt: skip
    if places != key and any(isinstance(k, (Node, MovingSlice)) for k in key) and all(
        type(k) in (int, slice, MovingSlice) or isinstance(k, Node) and not k.ndim for k in key
    ) and any(k != whole for k in rest):  # fmt: skip
        # x[1:-1, j] = y costs a column, not a copy of x[1:-1]: the column first, then its part
        value = ops.set_subtensor(ops.getitem(node, places), rest, value)
        return ops.set_subtensor(node, places, value)
    return ops.set_subtensor(node, key, value)


def _same(one, other):
    """Whether two keys, or parts of them, are equal."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, slice) and isinstance(other, slice):
        parts = [(s.start, s.stop, s.step) for s in (one, other)]
        return _same(*parts)
    if isinstance(one, MovingSlice) and isinstance(other, MovingSlice):
        return one.start is other.start and one.width == other.width
    return one is other or type(one) is type(other) is int and one == other


def _bounds(key):
    return [b for k in key for b in (
        (k.start, k.stop) if isinstance(k, slice) else (k.start,) if isinstance(k, MovingSlice)
        else (k,))]  # fmt: skip


def nodes_of_key(key):
    """The nodes in a basic key."""
    return tuple([b for b in _bounds(key) if isinstance(b, Node)])


def filled(key, found):
    """A basic key with numbers for its nodes."""
    values = iter(found)

    def number(b):
        return int(next(values)) if isinstance(b, Node) else b

    def known(k):
        if isinstance(k, MovingSlice):
            start = number(k.start)
            return slice(start, start + k.width)
        return slice(number(k.start), number(k.stop), k.step) if type(k) is slice else number(k)

    return tuple([known(k) for k in key]) if found else key


def _leading(key):
    """Whether a basic key takes whole rows side by side: these lie in C order without gaps."""
    first = key[0] if key else slice(None)
    if isinstance(first, MovingSlice):
        return False
    if isinstance(first, slice) and first.step not in (None, 1):
        return False
    return first is not None and all(isinstance(k, slice) and k == slice(None) for k in key[1:])


def _takes_rows(key):
    """Whether a key with arrays takes rows of an array in C order to one in C order: NumPy lays
    a[:, i] out by its last axis."""
    arrays = [k for k in key if isinstance(k, Node)]
    rest = key[len(arrays) :]
    return all(k is a and a.ndim < 2 for k, a in zip(key, arrays)) and all(
        isinstance(k, slice) and k == slice(None) for k in rest
    )


def lies_plain(x):
    """Whether what NumPy makes of x, in the order in which it lies, is in C order."""
    if isinstance(x, ArrayValue):
        return x.plain or x.ndim < 2
    if isinstance(x, np.ndarray):
        return x.flags.c_contiguous or x.ndim < 2
    return all(map(lies_plain, x)) if isinstance(x, (tuple, list)) else True


def stored(owner, item, dtype):
    """What a store of `item` into an array of `dtype` puts there, as a node."""
    if isinstance(item, (list, tuple)):
        item = _list_stored(owner, item, np.dtype(dtype))
    item = owner.operand(item)
    if isinstance(item, Node) and np.dtype(item.dtype).kind == "c" and np.dtype(dtype).kind != "c":
        raise NotSupported("complex numbers stored into an array of real ones")
    if type(item) is float and np.dtype(dtype).kind in "iu":
        item = int(item)  # NaN raises, as NumPy does
    if type(item) is complex and np.dtype(dtype).kind != "c":
        raise TypeError("complex number stored into an array of real ones")
    return typed(as_operand(item), dtype)


def _list_stored(owner, items, dtype):
    """A list that is stored into an array, whose numbers have to fit."""
    if not owner.inside_of(items):
        return np.asarray(items, dtype)
    if dtype.kind in "iu" and dtype != np.int64:
        for x in items:
            if isinstance(x, (list, tuple)):
                _list_stored(owner, x, dtype)
            elif isinstance(x, owner.numbers):
                owner.refuse(f"a list with a number of Python's stored among {dtype}")
            elif isinstance(x, (ArrayValue, np.generic)):
                owner.fits_into(x, dtype)
            else:
                np.asarray(x, dtype)
    return items


def store(value, out):
    """`value` stored into the array `out` by the rules of `out=`."""
    if not isinstance(out, ArrayValue):
        value.owner.refuse("out= of an array that is not traced")
    if not np.can_cast(value.dtype, out.dtype, "same_kind"):
        raise TypeError(f"Cannot cast output from dtype('{value.dtype}') to dtype('{out.dtype}') "
                        "with casting rule 'same_kind'")  # fmt: skip
    if None not in (value.masked, out.masked) and value.masked[1] is out.masked[1]:
        (whole, mask), old = value.masked, out.masked[0]
        out.set_node((out.chosen(ops.cast(whole, old.dtype), lambda: old), mask))
        return out
    node, old = value.read(), out.read()
    if node.ndim > old.ndim:
        raise ValueError(f"non-broadcastable output operand with {old.ndim} dimensions")
    node = ops.cast(node, old.dtype)
    if node.shape != old.shape or None in node.shape:
        node = _fitted(node, old)
    out.write(node)
    return out


def _fitted(node, old):
    """`node` in the shape of `old`; ValueError where it would have to become smaller."""
    for a, b in zip(node.shape[::-1], old.shape[::-1]):
        if a is not None and b is not None and a not in (1, b):
            raise ValueError(f"non-broadcastable output operand with shape {old.shape}")
    return ops.broadcast_like(node, old)


def call_ufunc(
    owner, ufunc, args, out=None, where=True, dtype=None, casting="same_kind", **options
):
    """`ufunc(*args)` as a ArrayValue, or a tuple of them."""
    options = {k: v for k, v in options.items() if v not in (None, "K", True)}
    if options or casting != "same_kind":
        owner.refuse(f"{ufunc.__name__} with {', '.join(options) or 'casting'}")
    if out is None and where is True and any(map(turned, args)):
        found = _turned_back(owner, ufunc, args, dtype)
        if found is not None:
            return found
    mask, operands = _masked(owner, ufunc, args) if where is True else (None, owner.operands(args))
    if where is not True:
        read = owner.operand(where)
        operands = [read_under(read, x) for x in operands]
    found = rows.ufunc(owner.rule, ufunc, *operands, dtype=dtype)
    several = isinstance(found, tuple)
    results = found if several else (found,)
    plain = lies_plain(args)
    weak = all(isinstance(a, (Weak, int, float, complex)) for a in operands)
    if mask is not None:
        values = [ArrayValue(owner, None, False, True, masked=(r, mask)) for r in results]
    else:
        values = [ArrayValue(owner, r, r.ndim == 0, plain or weak or r.ndim < 2) for r in results]
    if out is not None:
        outs = out if isinstance(out, tuple) else (out,)
        values = [_merged(owner, v, o, where) for v, o in zip(values, outs)]
    elif where is not True:
        owner.refuse(f"{ufunc.__name__} with where= and no out=")
    return tuple(values) if several else values[0]


def _merged(owner, value, out, where):
    if where is True:
        return store(value, out)
    mask = owner.operand(where)
    mask = mask if isinstance(mask, Node) else constant(np.asarray(mask, bool))
    node = ops.where(mask, ops.cast(value.read(), out.read().dtype), out.read())
    return store(value.fresh(node), out)


def under(mask, whole):
    """A mask of the first axes of `whole`, for each of its elements."""
    return ops.broadcast_like(ops.expand(mask, tuple(range(mask.ndim, whole.ndim))), whole)


def read_under(mask, x):
    """An operand of what is computed where a mask is: slopes elsewhere, which may be inf, are no
    part of its gradient."""
    if isinstance(x, Weak):
        return x._replace(node=read_under(mask, x.node))
    if not isinstance(x, Node) or x.value is not None or not dtypes.is_inexact(x.dtype):
        return x
    return ops.masked(mask, x) if isinstance(mask, Node) and mask.dtype == "bool" else x


def _masked(owner, ufunc, args):
    """(mask, operands): where all arrays among `args` are parts under one mask, the whole ones."""
    if ufunc.signature is not None:
        return _rows_under(owner, ufunc, args)
    parts = [a.masked for a in args if isinstance(a, ArrayValue) and a.masked is not None]
    if not parts:
        return None, owner.operands(args)
    masks = {mask for _, mask in parts}
    others = [a for a in args if not (isinstance(a, ArrayValue) and a.masked is not None)]
    if len(masks) == 1 and len({whole.ndim for whole, _ in parts}) == 1 and all(
        isinstance(a, owner.numbers) or np.ndim(a) <= parts[0][0].ndim - parts[0][1].ndim
        for a in others
    ):  # fmt: skip
        mask = masks.pop()
        wide = under(mask, parts[0][0])
        operands = [a.masked[0] if isinstance(a, ArrayValue) and a.masked is not None
                    else read_under(wide, owner.operand(a)) for a in args]  # fmt: skip
        return mask, operands
    return None, owner.operands(args)


TURNED = "turned"  # the key of the transposed of a matrix


def turned(x):
    """Whether `x` is the transposed of rows that a mask takes."""
    return (isinstance(x, ArrayValue) and x.base is not None and x.lens.key is TURNED
            and x.base.masked is not None and x.base.masked[1].ndim == 1)  # fmt: skip


def _turned_back(owner, ufunc, args, dtype):
    """An elementwise function of the transposed of masked rows and numbers, as the transposed of
    that of the rows; None of anything else."""
    alone = all(turned(a) or isinstance(a, owner.numbers) or np.ndim(a) == 0 for a in args)
    if not alone or ufunc.signature is not None or ufunc.nout > 1:
        return None
    return call_ufunc(owner, ufunc, [a.base if turned(a) else a for a in args], dtype=dtype).T


def _rows_under(owner, ufunc, args):
    """The same of a product of a matrix, of whose rows a mask takes some, and what is whole: these
    rows of the product. Of a sum over such rows: no mask, and zeros elsewhere."""
    back = turned(args[0])
    masked = [a.masked if isinstance(a, ArrayValue) else None for a in args]
    masked[0] = args[0].base.masked if back else masked[0]
    if ufunc is not np.matmul or masked[0] is None or masked[0][1].ndim != 1:
        return None, owner.operands(args)
    whole, mask = masked[0]
    if masked[1] is None and not back:
        other = owner.operand(args[1])
        if whole.ndim == 2 and isinstance(other, Node) and other.ndim in (1, 2):
            return mask, [whole, other]
    elif masked[1] is not None and masked[1][1] is mask and (back or whole.ndim == 1):
        one, other = [ops.where(under(mask, x), x, constant(0, x.dtype)) for x, _ in masked]
        if other.ndim <= whole.ndim:
            return None, [ops.transpose(one, [1, 0]) if back else one, other]
    return None, owner.operands(args)


AT = {np.add: None, np.subtract: None, np.maximum: "max", np.minimum: "min", np.multiply: "mul",
      np.true_divide: "div", np.bitwise_and: "and", np.bitwise_or: "or",
      np.bitwise_xor: "xor"}  # fmt: skip


def store_at(ufunc, target, key, item):
    """`ufunc.at` of one of AT: each position once for each time that it occurs."""
    if not isinstance(target, ArrayValue):
        raise NotSupported(f"np.{ufunc.__name__}.at of an array that is not traced")
    key, _, _ = target.owner.key(target, key)
    old, kind = target.read(), kind_of(as_operand(target.owner.operand(item)))
    weak = {"b": (int, float, complex), "i": (float, complex), "u": (float, complex)}
    kind = np.dtype(kind) if kind in weak.get(np.dtype(old.dtype).kind, ()) else kind
    narrows = isinstance(kind, np.dtype) and not np.can_cast(kind, old.dtype, "safe")
    if narrows and (AT[ufunc] or np.dtype(old.dtype).kind not in "fc" or kind.kind == "c"):
        target.owner.refuse(f"np.{ufunc.__name__}.at of {kind} into {old.dtype}")
    if old.dtype == "bool" and ufunc is np.subtract:
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported")
    if ufunc is np.true_divide and np.dtype(old.dtype).kind not in "f" or np.dtype(
        old.dtype
    ).kind == "c" and AT[ufunc]:  # fmt: skip
        target.owner.refuse(f"np.{ufunc.__name__}.at of {old.dtype}")
    value = stored(target.owner, item, old.dtype)
    if AT[ufunc] is not None:
        return target.write(ops.combine_subtensor(old, key, value, AT[ufunc]))
    value = ops.neg(value) if ufunc is np.subtract else value
    return target.write(ops.inc_subtensor(old, key, value))


def result(owner, found, scalar=True, plain=True):
    """What a row returned, as Values in the same tuples and lists. plain: see ArrayValue; None:
    not even vectors are."""
    if isinstance(found, Node):
        plain = plain or plain is not None and found.ndim < 2
        return ArrayValue(owner, found, scalar and found.ndim == 0, plain)
    if isinstance(found, (tuple, list)):
        values = [result(owner, f, scalar, plain) for f in found]
        return type(found)(*values) if hasattr(found, "_fields") else type(found)(values)
    return found


__all__ = [
    "Lens",
    "ArrayValue",
    "call_ufunc",
    "check_element",
    "kind_of",
    "lies_plain",
    "result",
    "store",
    "stored",
    "supported",
    "under",
]
