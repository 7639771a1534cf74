"""The methods and views of arrays that Values have: reshape, transpose, sums, copies, in NumPy's
words. Each is a view where NumPy gives one, else a call of NumPy's function, which has a row."""

import operator

import numpy as np

from .. import ops
from ..graph.node import Node, constant
from ..graph.shapes import axis_of
from ..ops.shape import sized, times
from . import rows
from .promote import supported
from .rows.base import agreeing
from .value import TURNED, ArrayValue, check_element, filled, nodes_of_key, store, stored


def reshape(x, *shape, order="C", copy=None):
    """x.reshape: a view where the elements lie in C order. Order A asks how they lie."""
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    if order != "C" and not (order == "A" and (x.plain or x.ndim < 2)):
        x.owner.refuse(f"reshape with order={order!r}")
    shape = [s if isinstance(s, Node) else operator.index(s) for s in x.owner.shape(shape)]
    new = ops.reshape(x.read(), shape)
    if x.scalar:
        return x.fresh(new, plain=True)

    def put(base, node):
        return ops.reshape(node, sized(base))

    return x.through(lambda n: ops.reshape(n, shape), put if x.plain else None,
                  reshaped(shape), x.plain, nodes=nodes_of_key(shape))  # fmt: skip


def reshaped(shape):
    """a.reshape(shape) for numbers in the place of its nodes."""
    return lambda a, *found: a.reshape(filled(tuple(shape), found))


def in_order(x, order):
    """np.asarray(x, order=order): the array itself where it lies like this, else a copy."""
    if order not in ("C", "F") or x.plain and (order == "C" or x.ndim < 2):
        return x
    return x.through(lambda n: n, None, lambda a: np.asarray(a, order=order), order == "C")


def einsum(subscripts, *operands, **options):
    """np.einsum of one array without a sum, which is a view; None for any other."""
    if isinstance(subscripts, ArrayValue):  # einsum(x, [0, 1], [1, 0])
        x, named = subscripts, [[REST if k is Ellipsis else k for k in n] for n in operands]
    else:
        x, text = operands[0] if len(operands) == 1 else None, str(subscripts).replace(" ", "")
        named = [list(t.replace("...", REST)) for t in text.split("->")]
    if not isinstance(x, ArrayValue) or options.get("out") is not None or len(named) not in (1, 2):
        return None
    given, rest = named[0], [k for k in named[0] if k == REST]
    once = sorted(k for k in given if k != REST and given.count(k) == 1)
    kept = named[1] if len(named) == 2 else rest + once
    if any(isinstance(k, str) and k != REST and not k.isalpha() for k in [*given, *kept]):
        return None
    if set(given) - set(kept) or len(rest) > 1 or len(given) - len(rest) > x.ndim:
        return None
    if len(set(given)) < len(given):
        if len(given) != 2 or x.ndim != 2:
            x.owner.refuse("einsum that gives a view of a diagonal of what is no matrix")
        return main_diagonal(x)
    first, more = given.index(REST) if rest else 0, x.ndim - len(given) + 1
    places = {k: [i + (more - 1) * (bool(rest) and i > first)] for i, k in enumerate(given)}
    places[REST] = list(range(first, first + more))
    return transpose(x, [i for k in kept for i in places[k]])


def main_diagonal(x):
    """np.einsum("ii->i", x): the diagonal of a square matrix, as a view that may be written to."""
    message = "dimensions in operand 0 for collapsing index 'i' don't match"

    def get(n):
        return ops.diagonal(agreeing(n, n, [(0, 1)], message))

    def put(old, new):
        k = ops.arange(0, ops.size_of(old, 0), 1, "int64")
        return ops.where(ops.eq(ops.expand(k, (1,)), k), new, old)

    return x.through(get, put, lambda a: np.einsum("ii->i", a))


REST = "\0"  # an ellipsis among letters


def ravel(x, order="C"):
    """x.ravel: reshape, but of steps between elements it makes a copy."""
    found = reshape(x, -1, order=order)
    if found.lens is None:
        return found
    lens = found.lens
    return x.through(lens.get, lens.put, lambda a: a.ravel(), x.plain)


def flatten(x, order="C"):
    if order != "C":
        x.owner.refuse(f"flatten with order={order!r}")
    return x.fresh(ops.flatten(x.read()), plain=True)


def transpose(x, *axes):
    """x.transpose: always a view."""
    axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
    order = list(range(x.ndim))[::-1] if axes is None else [axis_of(a, x.ndim) for a in axes]
    if sorted(order) != list(range(x.ndim)):
        raise ValueError("axes don't match array")
    if x.scalar:
        return x
    back = sorted(range(x.ndim), key=order.__getitem__)
    if order == sorted(order):
        return x.through(lambda n: n, lambda n, v: v, lambda a: a.transpose(order), x.plain)
    return x.through(lambda n: ops.transpose(n, order), lambda n, v: ops.transpose(v, back),
                     lambda a: a.transpose(order),
                     key=TURNED if len(order) == 2 else None)  # fmt: skip


def swapaxes(x, axis1, axis2):
    order = list(range(x.ndim))
    a, b = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    order[a], order[b] = order[b], order[a]
    return transpose(x, order)


def moveaxis(x, source, destination):
    order = np.moveaxis(np.empty(range(2, 2 + x.ndim)), source, destination).shape
    return transpose(x, [d - 2 for d in order])


def expand_dims(x, axis):
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(sorted(axis_of(a, x.ndim + len(axes)) for a in axes))
    return x.through(lambda n: ops.expand(n, axes), lambda n, v: ops.squeeze(v, axes),
                  lambda a: np.expand_dims(a, axes), x.plain)  # fmt: skip


def squeeze(x, axis=None):
    shape = x.read().shape
    if axis is None and None in shape:
        x.owner.pin_sizes()
    axes = (
        tuple(i for i, d in enumerate(shape) if d == 1)
        if axis is None
        else tuple(
            axis_of(a, x.ndim) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))
        )
    )
    if any(shape[a] != 1 for a in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    if x.scalar:
        return x
    return x.through(lambda n: ops.squeeze(n, axes), lambda n, v: ops.expand(v, axes),
                  lambda a: np.squeeze(a, axes), x.plain)  # fmt: skip


def only_read(x, get, real, nodes=()):
    """A view of `x` that NumPy lets nobody write through: it sees what is stored into `x`."""

    def put(base, node):
        x.owner.refuse("a store into a view that is only to be read")

    return x.through(get, put, real, nodes=nodes)


def diagonal(a, offset=0, axis1=0, axis2=1):
    offset = operator.index(offset)
    return only_read(a, lambda n: ops.diagonal(n, offset, axis1, axis2),
                     lambda v: v.diagonal(offset, axis1, axis2))  # fmt: skip


def diag(v, k=0):
    k = operator.index(k)
    return diagonal(v, k) if v.ndim == 2 else v.fresh(ops.diag(v.read(), k), plain=True)


def broadcast_to(array, shape, subok=False):
    shape = array.owner.shape(shape)
    return only_read(array, lambda n: ops.broadcast_to(n, shape),
                     lambda a, *found: np.broadcast_to(a, filled(tuple(shape), found)),
                     nodes_of_key(shape))  # fmt: skip


def broadcast_arrays(*args, subok=False):
    """Arrays of the shape of all are those that were given, others views."""
    owner = next(a.owner for a in args if isinstance(a, ArrayValue))
    arrays = [owner.array(a) for a in args]
    arrays = [a.fresh(a.read(), False, True) if a.scalar else a for a in arrays]
    shapes = [a.read().shape for a in arrays]
    if any(None in s for s in shapes):
        owner.refuse("broadcast_arrays of unknown sizes")
    shape = np.broadcast_shapes(*shapes)
    return tuple(a if s == shape else broadcast_to(a, shape) for a, s in zip(arrays, shapes))


def windows(x, window_shape, axis=None, *, subok=False, writeable=False):
    """sliding_window_view, which can be read alone."""
    if writeable or subok:
        x.owner.refuse("windows that can be written")
    function = np.lib.stride_tricks.sliding_window_view
    sizes = window_shape if isinstance(window_shape, (tuple, list)) else (window_shape,)
    window_shape = tuple(operator.index(s) for s in sizes)
    return only_read(x, lambda n: rows.call(x.owner.rule, function, n, window_shape, axis),
                     lambda a: function(a, window_shape, axis))  # fmt: skip


def strides(x):
    """x.strides of an array that lies in C order without gaps."""
    if not x.plain or any(type(size) is int and size < 2 for size in x.shape):
        x.owner.refuse("strides of an array that may have gaps")
    found, step = [], x.dtype.itemsize
    for size in x.shape[::-1]:
        found.insert(0, step)
        step = step * size
    return tuple(found)


def as_strided(x, shape=None, strides=None, subok=False, writeable=True):
    """np.lib.stride_tricks.as_strided as slices and windows, of an array without gaps in which it
    stays."""
    own = [operator.index(s) for s in x.strides]
    sizes = x.shape if shape is None else shape if isinstance(shape, (tuple, list)) else (shape,)
    steps = (
        own if strides is None else strides if isinstance(strides, (tuple, list)) else (strides,)
    )
    axes = [[] for _ in own]  # [(number of the result's axis, its size, its step)] of each of x
    for number, (size, step) in enumerate(zip(sizes, map(operator.index, steps), strict=True)):
        fit = [a for a, s in enumerate(own) if step > 0 and step % s == 0]
        if not fit or size < 1:
            x.owner.refuse("strides that are no steps along an axis, or of no elements")
        axes[fit[0]].append((number, size, step // own[fit[0]]))
    order, behind, key = [], [], []
    for axis, found in enumerate(axes):
        if len(found) > 2:
            x.owner.refuse("three strides along one axis")
        last = sum(((size - 1) * step for _, size, step in found), 0)
        if not last < x.shape[axis]:
            x.owner.refuse("strides that leave their axis")
        if len(found) == 2:
            number, size, step = found.pop()
            behind.append((axis, number, (operator.index(size) - 1) * step + 1, step))
        order += [number for number, _, _ in found]
        key += [slice(0, (size - 1) * step + 1, step) for _, size, step in found] or [0]
    if behind:
        x = windows(x, [size for _, _, size, _ in behind], [axis for axis, *_ in behind])
        key += [slice(None, None, step) for *_, step in behind]
        order += [number for _, number, _, _ in behind]
    return transpose(x[tuple(key)], [order.index(number) for number in range(len(order))])


def real(x):
    """x.real: a view of complex numbers, real ones themselves."""
    if x.dtype.kind != "c":
        return x
    if x.scalar:
        return x.fresh(ops.real(x.read()), True)
    return x.through(lambda n: ops.real(n), lambda n, v: ops.complex_of(v, ops.imag(n)),
                  lambda a: a.real)  # fmt: skip


def imag(x):
    """x.imag: a view of complex numbers; zeros, which cannot be written, of real ones."""
    if x.scalar:
        return x.fresh(ops.imag(x.read()), True)
    if x.dtype.kind != "c":
        return only_read(x, ops.imag, lambda a: a.imag)
    return x.through(lambda n: ops.imag(n), lambda n, v: ops.complex_of(ops.real(n), v),
                  lambda a: a.imag)  # fmt: skip


def rot90(m, k=1, axes=(0, 1)):
    """np.rot90: flips and transposes, all views."""
    axes = [axis_of(a, m.ndim) for a in axes]
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError("Axes must be different.")
    k %= 4
    if k == 0:
        return m[:]
    if k == 2:
        return flip(flip(m, axes[0]), axes[1])
    if k == 1:
        return swapaxes(flip(m, axes[1]), *axes)
    return flip(swapaxes(m, *axes), axes[1])


def rollaxis(a, axis, start=0):
    axis, n = axis_of(axis, a.ndim), a.ndim
    start = start + n if start < 0 else start
    if not 0 <= start <= n:
        raise np.exceptions.AxisError(start, n)
    order = [i for i in range(n) if i != axis]
    order.insert(start - (axis < start), axis)
    return transpose(a, order)


def unstack(x, /, *, axis=0):
    whole = (slice(None),) * axis_of(axis, x.ndim)
    return tuple(x[(*whole, i)] for i in range(operator.index(x.shape[axis])))


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """np.nan_to_num: copy=False stores into the array."""
    owner = x.owner
    found = rows.call(owner.rule, np.nan_to_num, x.read(), True, *map(
        owner.argument, (nan, posinf, neginf)))  # fmt: skip
    if copy or x.scalar:
        return x.fresh(found, True, x.plain)
    x.write(found)
    return x


def conj(x):
    """x.conj(): real numbers themselves."""
    return np.conjugate(x) if x.dtype.kind == "c" else x


def whole(x, *dtype, **options):
    """x.view(): the same elements under another array."""
    if dtype or options:
        x.owner.refuse("x.view of another dtype")
    if x.scalar:
        return x
    return x.through(lambda n: n, lambda n, v: v, lambda a: a.view(), x.plain)


def atleast(ndim):
    def view(*arrays):
        owner = next(a.owner for a in arrays if isinstance(a, ArrayValue))
        found = []
        for a in arrays:
            a = owner.array(a)
            missing = max(ndim - a.ndim, 0)
            if ndim == 3 and missing:
                axes = {3: (0, 1, 2), 2: (0, 2), 1: (2,)}[missing]
            else:
                axes = tuple(range(missing))
            found.append(expand_dims(a, axes) if axes else a)
        return found[0] if len(found) == 1 else tuple(found)

    return view


def flip(m, axis=None):
    axes = range(m.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    given = [axis_of(a, m.ndim) for a in axes]
    axes = set(given)
    if len(axes) < len(given):
        raise ValueError("repeated axis")
    return m[tuple(slice(None, None, -1 if i in axes else None) for i in range(m.ndim))]


def split(equal):
    def views(ary, indices_or_sections, axis=0):
        size, at = operator.index(ary.shape[axis]), indices_or_sections
        if isinstance(at, (int, np.integer)):
            if equal and size % at:
                raise ValueError("array split does not result in an equal division")
            each, more = divmod(size, int(at))
            at = np.cumsum([each + (i < more) for i in range(at)])[:-1]
        bounds = [0, *map(int, at), size]
        whole = (slice(None),) * axis_of(axis, ary.ndim)
        return [ary[(*whole, slice(a, b))] for a, b in zip(bounds, bounds[1:])]

    return views


def split_along(name, axis):
    """np.hsplit and its kin: `axis` of arrays that have it; vectors are split by hsplit alone."""

    def views(ary, indices_or_sections):
        if ary.ndim <= axis - (axis == 1):
            raise ValueError(
                f"{name} only works on arrays of {axis + (axis != 1)} or more dimensions"
            )
        return split(True)(ary, indices_or_sections, min(axis, ary.ndim - 1))

    return views


def astype(x, dtype, order="K", casting="unsafe", subok=True, copy=True):
    name = supported(np.dtype(dtype))
    if not copy and name == x.dtype:
        return x
    if x.dtype.kind == "c" and np.dtype(name).kind not in "cb":
        x.owner.refuse("complex numbers cast to real ones")
    return x.fresh(ops.cast(x.read(), name), x.scalar, x.plain)


def copy(x, order="C", subok=False):
    return x.fresh(x.read(), x.scalar, order == "C" or order != "F" and x.plain)


def fill(x, value):
    check_element(value)
    x[...] = value


def item(x, *args):
    found = x[args] if args else x
    if found.read().size == 1:
        number = x.owner.item(x.owner, ops.reshape(found.read(), []))
        if number is not None:
            return number
    return x.owner.ask(found.read(), "x.item()")


def tolist(x):
    return np.asarray(x.owner.ask(x.read(), "x.tolist()")).tolist()


def copyto(dst, src, casting="same_kind", where=True):
    owner = dst.owner
    kind = src.kind if isinstance(src, owner.numbers) else type(src)
    if kind in (bool, int, float, complex):
        taken = np.result_type(dst.dtype, kind(0))
    else:
        taken = getattr(src, "dtype", dst.dtype)
    if not np.can_cast(taken, dst.dtype, casting):
        raise TypeError(f"Cannot cast array data from {taken!r} to {dst.dtype!r} according "
                        f"to the rule {casting!r}")  # fmt: skip
    if where is not True:
        mask = owner.array(where).read()
        src = ArrayValue(owner, ops.where(mask, stored(owner, src, dst.dtype.name), dst.read()))
    dst[...] = owner.array(src) if isinstance(src, ArrayValue) else src


def fill_diagonal(a, val, wrap=False):
    """np.fill_diagonal: a choice for each element, whose places on the diagonal have numbers."""
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    old, axes = a.read(), range(a.ndim)
    if a.ndim > 2 and len({operator.index(s) for s in a.shape}) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    sizes = sized(old)
    places = [ops.expand(ops.arange(0, sizes[k], 1, "int64"), tuple(x for x in axes if x != k))
              for k in axes]  # fmt: skip
    number, there = places[0], ops.eq(places[0], places[1])
    for place in places[2:]:
        there = ops.logical_and(there, ops.eq(number, place))
    if wrap and a.ndim == 2:
        at = ops.add(ops.mul(places[0], sizes[1]), places[1])
        step = ops.add(ops.cast(sizes[1], "int64"), 1)
        number, there = ops.floor_div(at, step), ops.eq(ops.mod(at, step), 0)
    values = stored(a.owner, val, old.dtype)
    if values.ndim:
        flat = ops.flatten(values)
        if flat.shape[0] in (0, None):
            a.owner.refuse("no values, or an unknown number of them, to be repeated")
        values = ops.take(flat, ops.mod(number, flat.shape[0]), 0)
    a[...] = a.fresh(ops.where(there, values, old))


def putmask(a, mask, values):
    """np.putmask: where the mask is true the value at the same place of the values, repeated."""
    values = taken_for(a, values)
    if values.ndim and np.shape(values) != np.shape(a):
        size = times(*sized(a.read()))
        values = in_turn(a, values, ops.arange(0, size, 1, "int64"))
    copyto(a, values, where=mask)


def place(arr, mask, vals):
    """np.place: where the mask is true the values one after the other, again and again."""
    mask = ops.cast(arr.owner.array(mask).read(), "bool")
    values = taken_for(arr, vals)
    if values.ndim:
        before = ops.cumsum(ops.cast(ops.flatten(mask), "int64"), 0)
        values = in_turn(arr, values, ops.maximum(ops.sub(before, 1), 0))
    copyto(arr, values, where=arr.fresh(ops.reshape(mask, sized(arr.read()))))


def taken_for(a, values):
    """The values that masks put into `a`, in its dtype: of arrays NumPy takes those that fit."""
    array = isinstance(values, np.ndarray) or isinstance(values, ArrayValue) and not values.scalar
    if array and not np.can_cast(values.dtype, a.dtype, "safe"):
        raise TypeError(f"Cannot cast array data from {values.dtype!r} to {a.dtype!r}")
    return a.owner.array(values).astype(a.dtype)


def in_turn(a, values, turns):
    """An array in the shape of `a` of the values that have a turn, the first one after the last."""
    flat = ops.flatten(values.read())
    if flat.shape[0] in (0, None):
        a.owner.refuse("no values, or an unknown number of them, to be repeated")
    taken = ops.take(flat, ops.mod(turns, flat.shape[0]), 0)
    return a.fresh(ops.reshape(taken, sized(a.read())))


def put(a, ind, v, mode="raise"):
    if mode != "raise" or not a.plain or np.ndim(v) and np.shape(v) != np.shape(ind):
        a.owner.refuse("put with a mode, or values that are taken again and again")
    ravel(a)[ind] = v


def put_along_axis(arr, indices, values, axis=-1):
    if axis is None:
        arr, axis = ravel(arr), 0
    indices = arr.owner.array(indices)
    if indices.dtype.kind not in "iu":
        raise IndexError("the indices of put_along_axis are no array of integers")
    if indices.ndim != arr.ndim:
        raise ValueError(f"put_along_axis: indices of {indices.ndim} axes for {arr.ndim}")
    axis, sizes = axis_of(axis, arr.ndim), [operator.index(s) for s in arr.shape]
    key = [arr.fresh(constant(np.arange(n).reshape([-1 if i == k else 1 for i in range(arr.ndim)])))
           for k, n in enumerate(sizes)]  # fmt: skip
    key[axis] = indices
    arr[tuple(key)] = values


def piecewise(x, condlist, funclist, *args, **kw):
    """np.piecewise: each function of the elements where its condition holds."""
    owner = x.owner
    conditions = condlist if isinstance(condlist, (list, tuple)) else [condlist]
    conditions = [owner.array(c).astype("bool") for c in conditions]
    if any(c.ndim != x.ndim or c.ndim == 0 for c in conditions):
        owner.refuse("piecewise by conditions of other dimensions")
    if len(funclist) == len(conditions) + 1:
        rest = ~conditions[0]
        for c in conditions[1:]:
            rest = rest & ~c
        conditions.append(rest)
    if len(funclist) != len(conditions):
        raise ValueError("with one condition for each function, or one function more")
    y = x.fresh(ops.zeros_like(x.read()), plain=x.plain)
    for condition, function in zip(conditions, funclist):
        y[condition] = function(x[condition], *args, **kw) if callable(function) else function
    return y


# {function of NumPy: what it is on Values}: those that give views, ask for shapes, or store
VIEWS = {
    np.reshape: lambda a, shape=None, order="C", *, copy=None: reshape(a, shape, order=order),
    np.ravel: ravel, np.transpose: lambda a, axes=None: transpose(a, axes) if axes is not None
    else transpose(a), np.swapaxes: swapaxes, np.moveaxis: moveaxis, np.expand_dims: expand_dims,
    np.squeeze: squeeze, np.atleast_1d: atleast(1), np.atleast_2d: atleast(2),
    np.atleast_3d: atleast(3), np.flip: flip, np.fliplr: lambda m: flip(m, 1),
    np.flipud: lambda m: flip(m, 0), np.split: split(True), np.array_split: split(False),
    np.hsplit: split_along("hsplit", 1), np.vsplit: split_along("vsplit", 0),
    np.dsplit: split_along("dsplit", 2),
    np.copy: lambda a, order="K", subok=False: copy(a.owner.array(a), order), np.copyto: copyto,
    np.fill_diagonal: fill_diagonal,
    np.piecewise: piecewise, np.putmask: putmask, np.place: place, np.put: put,
    np.put_along_axis: put_along_axis, np.diagonal: diagonal, np.diag: diag, np.real: real,
    np.imag: imag, np.rot90: rot90, np.rollaxis: rollaxis, np.nan_to_num: nan_to_num,
    np.broadcast_to: broadcast_to, np.broadcast_arrays: broadcast_arrays,
    np.lib.stride_tricks.sliding_window_view: windows,
    np.ndim: lambda a: a.ndim, np.size: lambda a, axis=None: a.size if axis is None
    else a.shape[axis], np.shape: lambda a: a.shape,
    np.iscomplexobj: lambda x: x.dtype.kind == "c", np.isrealobj: lambda x: x.dtype.kind != "c",
}  # fmt: skip
for _function, _view in (  # of NumPy 2
    ("matrix_transpose", lambda x, /: swapaxes(x, -1, -2)), ("unstack", unstack),
    ("linalg.matrix_transpose", lambda x, /: swapaxes(x, -1, -2)),
    ("linalg.diagonal", lambda x, /, *, offset=0: diagonal(x, offset, -2, -1)),
    ("astype", lambda x, dtype, /, *, copy=True, device=None: astype(x, dtype, copy=copy)),
):  # fmt: skip
    if rows.newer(_function) is not None:
        VIEWS[rows.newer(_function)] = _view


def of_numpy(function):
    """The method of a ArrayValue that NumPy's function of the same operands is."""

    def method(self, *args, **options):
        return self.owner.call(function, (self, *args), options)

    method.__name__ = method.__qualname__ = function.__name__
    return method


def _sort(self, axis=-1, kind=None, order=None, *, stable=None):
    self[...] = self.owner.call(np.sort, (self, axis), {})


def compress(x, condition, axis=None, out=None):
    return x.owner.call(np.compress, (condition, x, axis), {} if out is None else {"out": out})


def clip(x, min=None, max=None, out=None, **options):
    return x.owner.call(
        np.clip, (x, min, max), {**options, **({} if out is None else {"out": out})}
    )


METHODS = {
    **{f.__name__: of_numpy(f) for f in (
        np.sum, np.prod, np.max, np.min, np.any, np.all, np.argmax, np.argmin, np.mean, np.std,
        np.var, np.cumsum, np.cumprod, np.dot, np.trace, np.take, np.repeat, np.round,
        np.diagonal, np.nonzero, np.searchsorted, np.argsort)},
    "reshape": reshape, "ravel": ravel, "flatten": flatten, "transpose": transpose,
    "clip": clip, "compress": compress,
    "swapaxes": swapaxes, "squeeze": squeeze, "astype": astype, "copy": copy, "fill": fill,
    "item": item, "tolist": tolist, "sort": _sort, "view": whole,
    "conj": conj, "conjugate": conj,
    "T": property(transpose), "mT": property(lambda x: swapaxes(x, -1, -2)),
    "real": property(real), "imag": property(imag),
    "strides": property(strides), "itemsize": property(lambda x: x.dtype.itemsize),
    "nbytes": property(lambda x: x.size * x.dtype.itemsize), "__copy__": copy,
    "flat": property(lambda x: ravel(x)), "__deepcopy__": lambda x, memo: copy(x),
}  # fmt: skip


def in_place(function):
    """An operator like += : stored into the array; a scalar is another one then."""

    def operate(self, other):
        if self.scalar:
            return function(self, other)
        return function(self, other, out=self)

    return operate


for _name, _function in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
    "matmul": np.matmul,
}.items():  # fmt: skip
    METHODS[f"__i{_name}__"] = in_place(_function)


FAST_POWERS = {1: np.positive, 2: np.square, -1: np.reciprocal, 0.5: np.sqrt}


# NumPy up to 2.2 takes NumPy's scalars like Python's there, and squares bools for 2.0 too.
EARLIER = (np.zeros(1, bool) ** 2.0).dtype.kind != "f"


def fast_power(kind, p):
    """The ufunc by which NumPy computes x ** p, for x of a kind of dtype, or None: np.power."""
    floating = kind in "fc"
    if EARLIER and isinstance(p, np.number) and (p in FAST_POWERS if floating else p == 2):
        p = p.item()
    if type(p) not in (int, float):
        return None
    if floating:
        return FAST_POWERS.get(p)
    whole = type(p) is int or EARLIER and kind == "b"
    return np.square if p == 2 and whole and kind in "iub" else None


def power(x, p):
    """x ** p: NumPy computes some powers of arrays by simpler ufuncs, with other values at -0.0 and
    -inf and another dtype for bools."""
    fast = None if x.scalar else fast_power(x.dtype.kind, p)
    return fast(x) if fast else np.power(x, p)


def _in_place_power(x, p):
    return store(power(x, p), x) if not x.scalar else power(x, p)


METHODS.update(__pow__=power, __ipow__=_in_place_power)
for _name, _method in METHODS.items():
    setattr(ArrayValue, _name, _method)
