"""keras.ops' functions that move, join, cut and make elements."""

import builtins

import numpy as np
from keras.src.backend import config

from ... import ops
from ...base import dtypes
from ...base.errors import NotSupported, UsageError
from ..casts import KEPT, result_type, standardize_dtype
from ..rows import as_axis, dtype_of, either, operands, placed, promoted
from ..values import (
    OPERATORS,
    Symbolic,
    cast,
    cast_node,
    convert_to_tensor,
    has_traced,
    is_variable,
    node_of,
    size_vector,
    whole,
)
from .elementwise import refuse_traced
from .reductions import sum

# ---- the same elements in another shape ----------------------------------------------------------


def reshape(x, newshape):
    x = convert_to_tensor(x)
    if x.__class__ is np.ndarray and newshape.__class__ is tuple and whole(newshape):
        return x.reshape(newshape)
    if not isinstance(x, Symbolic) and not has_traced(newshape):
        newshape = [newshape] if isinstance(newshape, int) else newshape
        return x.reshape([-1 if s is None else int(s) for s in newshape])
    return Symbolic(ops.reshape(node_of(x), size_vector(newshape)))


def ravel(x):
    x = convert_to_tensor(x)
    return Symbolic(ops.flatten(x.node)) if isinstance(x, Symbolic) else x.ravel()


def transpose(x, axes=None):
    x = convert_to_tensor(x)
    if x.__class__ is np.ndarray:
        return x.transpose(axes)
    axes = None if axes is None else tuple(a % x.ndim for a in axes)
    return Symbolic(ops.transpose(x.node, axes)) if isinstance(x, Symbolic) else x.transpose(axes)


def swapaxes(x, axis1, axis2):
    x = convert_to_tensor(x)
    if isinstance(x, Symbolic):
        return Symbolic(ops.swapaxes(x.node, axis1, axis2))
    return x.swapaxes(axis1, axis2)


def moveaxis(x, source, destination):
    x = convert_to_tensor(x)
    if x.__class__ is np.ndarray:
        return np.moveaxis(x, source, destination)
    return Symbolic(move_axes(node_of(x), source, destination))


def move_axes(n, source, destination):
    """np.moveaxis of a node, of several axes too."""
    source, destination = (
        [a % n.ndim for a in (axes if isinstance(axes, list | tuple) else [axes])]
        for axes in (source, destination)
    )
    order = [a for a in range(n.ndim) if a not in source]
    for place, axis in sorted(zip(destination, source)):
        order.insert(place, axis)
    return ops.transpose(n, order)


def expand_dims(x, axis):
    x = convert_to_tensor(x)
    if axis.__class__ is int and -x.ndim - 1 <= axis <= x.ndim and not isinstance(x, Symbolic):
        return x[(*(slice(None),) * (axis % (x.ndim + 1)), None)]

    def graph(n):
        axes = axis if isinstance(axis, list | tuple) else [axis]
        total = n.ndim + len(axes)
        for a in sorted(a % total for a in axes):
            n = ops.expand_dims(n, a)
        return n

    return placed(lambda a: np.expand_dims(a, as_axis(axis)), graph, x)


def squeeze(x, axis=None):
    x = convert_to_tensor(x)
    if not isinstance(x, Symbolic):
        return x.squeeze(as_axis(axis))
    axes = axis if isinstance(axis, list | tuple) or axis is None else [axis]
    if axes is None:
        if None in x.shape:
            raise ValueError(f"squeeze of shape {x.shape} has to know which sizes are 1")
        axes = [a for a, size in enumerate(x.shape) if size == 1]
    return Symbolic(ops.squeeze(x.node, tuple(a % x.ndim for a in axes)))


def broadcast_to(x, shape):
    x = convert_to_tensor(x)
    if x.__class__ is np.ndarray and (whole(shape) or not has_traced(shape)):
        return np.broadcast_to(x, shape)
    return Symbolic(ops.broadcast_to(node_of(x), size_vector(shape)))


def flip(x, axis=None):
    x = convert_to_tensor(x)
    if x.__class__ is np.ndarray and axis is None:
        return x[(slice(None, None, -1),) * x.ndim]
    if isinstance(x, Symbolic):
        return Symbolic(ops.flip(x.node, [axis] if isinstance(axis, int) else axis))
    return np.flip(x, as_axis(axis))


def fliplr(x):
    return convert_to_tensor(x)[:, ::-1]


def flipud(x):
    return convert_to_tensor(x)[::-1]


def rot90(array, k=1, axes=(0, 1)):
    x = convert_to_tensor(array)
    if x.ndim < 2:
        raise ValueError(
            f"Input array must have at least 2 dimensions. Received: array.ndim={x.ndim}"
        )
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError(f"Invalid axes: {axes}. Axes must be a tuple of two different dimensions.")

    def graph(n):
        turns = k % 4
        if turns == 2:
            return ops.flip(n, list(axes))
        if turns == 0:
            return n
        order = n if turns == 3 else ops.flip(n, [axes[1]])
        order = ops.swapaxes(order, *axes)
        return ops.flip(order, [axes[1]]) if turns == 3 else order

    return placed(lambda a: np.rot90(a, k, axes), graph, x)


def roll(x, shift, axis=None):
    x = convert_to_tensor(x)
    if not isinstance(x, Symbolic):
        return np.roll(x, shift, axis)
    if not isinstance(axis, list | tuple):
        return Symbolic(ops.roll(x.node, shift, axis))
    node, shifts = x.node, shift if isinstance(shift, list | tuple) else [shift] * len(axis)
    for s, a in zip(shifts, axis):
        node = ops.roll(node, s, a)
    return Symbolic(node)


def repeat(x, repeats, axis=None):
    x = convert_to_tensor(x)
    if isinstance(x, Symbolic) or isinstance(repeats, Symbolic):
        count = repeats.node if isinstance(repeats, Symbolic) else np.asarray(repeats)
        if not isinstance(repeats, Symbolic) and count.size == 1:
            return Symbolic(ops.repeat_elements(node_of(x), int(count.reshape(())), axis))
        return Symbolic(ops.repeat(node_of(x), count, axis))
    return x.repeat(repeats, axis)


def tile(x, repeats):
    x = convert_to_tensor(x)
    if x.__class__ is np.ndarray and (repeats.__class__ is int or not has_traced(*repeats)):
        return np.tile(x, repeats)
    return Symbolic(ops.tile(node_of(x), size_vector(repeats)))


def pad(x, pad_width, mode="constant", constant_values=None):
    x = convert_to_tensor(x)
    if constant_values is not None and mode != "constant":
        raise ValueError(
            "Argument `constant_values` can only be provided when `mode == 'constant'`. "
            f"Received: mode={mode}"
        )
    kwargs = {} if constant_values is None else {"constant_values": constant_values}
    if not isinstance(x, Symbolic):
        return np.pad(x, pad_width, mode, **kwargs)
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
    if mode == "constant":
        return Symbolic(ops.pad(x.node, [tuple(w) for w in widths], constant_values or 0))
    node = x.node
    for axis, (before, after) in enumerate(widths):
        node = _padded(node, axis, before, after, mode)
    return Symbolic(node)


def _padded(node, axis, before, after, mode):
    """`node` with values of its own in front of and behind an axis, as np.pad's modes take them."""
    if not before and not after:
        return node
    size = ops.size_of(node, axis)
    size = ops.to_node(size)
    place = ops.sub(ops.arange(ops.add(size, before + after), dtype="int64"), before)
    if mode == "edge":
        index = ops.clip(place, 0, ops.sub(size, 1))
    elif mode == "wrap":
        index = ops.mod(place, size)
    elif mode == "symmetric":
        turn = ops.mod(place, ops.mul(size, 2))
        index = ops.minimum(turn, ops.sub(ops.sub(ops.mul(size, 2), 1), turn))
    elif mode == "reflect":
        period = ops.maximum(ops.mul(ops.sub(size, 1), 2), 1)
        turn = ops.mod(place, period)
        index = ops.minimum(turn, ops.sub(period, turn))
    else:
        raise NotSupported(
            f"pad with mode {mode!r} of a traced value; the ckernels backend has constant, edge, "
            "wrap, symmetric and reflect"
        )
    return ops.take(node, index, axis)


# ---- joining and cutting -------------------------------------------------------------------------


def _alike(xs):
    """Tensors in one promoted dtype."""
    xs = [convert_to_tensor(x) for x in xs]
    if len({x.dtype for x in xs}) > 1:
        dtype = result_type(*{dtype_of(x) for x in xs})
        xs = [cast(x, dtype) for x in xs]
    return xs


def _joined(xs, eager, graph):
    xs = _alike(xs)
    if has_traced(*xs):
        return Symbolic(graph([node_of(x) for x in xs]))
    return eager(xs)


def _arrays(xs):
    """Whether they are joined as they are."""
    dtype = getattr(xs[0], "dtype", None) if xs.__class__ in (list, tuple) and xs else None
    return dtype in KEPT and all(x.__class__ is np.ndarray and x.dtype is dtype for x in xs)


def concatenate(xs, axis=0):
    if _arrays(xs):
        return np.concatenate(xs, axis)
    xs = _alike(xs)
    if not has_traced(*xs):
        return np.concatenate(xs, axis)
    nodes = [node_of(x) for x in xs]
    nodes = [ops.flatten(n) for n in nodes] if axis is None else nodes
    return Symbolic(ops.concatenate(nodes, axis or 0))


def stack(x, axis=0):
    if _arrays(x):
        return np.stack(x, axis)
    xs = _alike(x)
    if has_traced(*xs):
        return Symbolic(ops.stack([node_of(x) for x in xs], axis))
    return np.stack(xs, axis)


def append(x1, x2, axis=None):
    if axis is None:
        x1, x2 = ravel(x1), ravel(x2)
    return concatenate([x1, x2], axis or 0)


def _at_least(n, ndim):
    if ndim == 1:
        return ops.reshape(n, [1]) if n.ndim == 0 else n
    if ndim == 2:
        return ops.expand_dims(_at_least(n, 1), 0) if n.ndim < 2 else n
    return ops.expand_dims(_at_least(n, 2), -1) if n.ndim < 3 else n


def hstack(xs):
    def graph(nodes):
        nodes = [_at_least(n, 1) for n in nodes]
        return ops.concatenate(nodes, 0 if nodes[0].ndim == 1 else 1)

    return _joined(xs, np.hstack, graph)


def vstack(xs):
    return _joined(
        xs, np.vstack, lambda nodes: ops.concatenate([_at_least(n, 2) for n in nodes], 0)
    )


def column_stack(xs):
    def graph(nodes):
        return ops.concatenate(
            [ops.transpose(_at_least(n, 2)) if n.ndim < 2 else n for n in nodes], 1
        )

    return _joined(xs, np.column_stack, graph)


def dstack(xs):
    return _joined(
        xs, np.dstack, lambda nodes: ops.concatenate([_at_least(n, 3) for n in nodes], 2)
    )


def _cut(x, bounds, axis):
    """Parts of a node between neighbouring bounds."""
    cuts = []
    for low, high in zip(bounds, bounds[1:]):
        key = [slice(None)] * x.ndim
        key[axis % x.ndim] = slice(low, high)
        cuts.append(Symbolic(ops.getitem(x, tuple(key))))
    return cuts


def _bounds(x, parts, axis, even):
    """Where an axis is cut into `parts` parts, or at the indices `parts`."""
    size = x.shape[axis]
    if not isinstance(parts, int):
        return [0, *[int(p) for p in parts], size]
    if size is None:
        whole = ops.size_of(x.node, axis)
        return [0 if i == 0 else ops.floor_div(ops.mul(whole, i), parts) for i in range(parts)] + [
            None
        ]
    if even and size % parts:
        raise ValueError("array split does not result in an equal division")
    return [i * (size // parts) + builtins.min(i, size % parts) for i in range(parts)] + [size]


def _split(x, parts, axis, even, eager):
    x = convert_to_tensor(x)
    if isinstance(parts, np.ndarray | np.generic):
        parts = parts.tolist()
    if not isinstance(x, Symbolic):
        return eager(x, parts, axis)
    return _cut(x.node, _bounds(x, parts, axis, even), axis)


def split(x, indices_or_sections, axis=0):
    return _split(x, indices_or_sections, axis, True, np.split)


def array_split(x, indices_or_sections, axis=0):
    return _split(x, indices_or_sections, axis, False, np.array_split)


def hsplit(x, indices_or_sections):
    x = convert_to_tensor(x)
    return split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(x, indices_or_sections):
    return split(x, indices_or_sections, 0)


def dsplit(x, indices_or_sections):
    return split(x, indices_or_sections, 2)


# ---- indices -------------------------------------------------------------------------------------


def take(x, indices, axis=None):
    x, indices = convert_to_tensor(x), convert_to_tensor(indices)
    if "int" not in dtype_of(indices):
        indices = cast(indices, "int64")
    if x.__class__ is np.ndarray and indices.__class__ is np.ndarray:
        return x.take(indices, axis)
    n, at = (ops.flatten(node_of(x)), 0) if axis is None else (node_of(x), axis)
    return Symbolic(ops.take(n, node_of(indices), at))


def take_along_axis(x, indices, axis=None):
    x = convert_to_tensor(x)
    indices = indices if _counts_in_int64(indices) else cast(convert_to_tensor(indices), "int64")
    if x.__class__ is np.ndarray and indices.__class__ is np.ndarray:
        return np.take_along_axis(x, indices, axis)
    n, i = node_of(x), node_of(indices)
    if axis is None:
        n, i = ops.flatten(n), ops.flatten(i)
    return Symbolic(ops.take_along_axis(n, i, axis or 0))


def _counts_in_int64(x):
    return x.__class__ is np.ndarray and x.dtype == np.int64


def nonzero(x):
    x = convert_to_tensor(x)
    return placed(
        lambda a: tuple(i.astype("int32") for i in np.nonzero(a)),
        lambda n: tuple(ops.cast(i, "int32") for i in ops.nonzero(n)),
        x,
    )


def unravel_index(indices, shape):
    indices = convert_to_tensor(indices)
    dtype = dtype_of(indices)
    return placed(
        lambda i: tuple(np.asarray(p).astype(dtype) for p in np.unravel_index(i, shape)),
        lambda i: tuple(ops.cast(p, dtype) for p in ops.unravel_index(i, shape)),
        indices,
    )


def select(condlist, choicelist, default=0):
    conditions = [convert_to_tensor(c, "bool") for c in condlist]
    dtype = promoted(*operands(*choicelist, default))
    choices = [convert_to_tensor(c, dtype) for c in choicelist]
    if not has_traced(*conditions, *choices):
        return np.select(conditions, choices, convert_to_tensor(default, dtype))
    found = node_of(default, dtype)
    for condition, choice in zip(conditions[::-1], choices[::-1]):
        found = ops.where(node_of(condition), node_of(choice), found)
    return Symbolic(found)


def isin(x1, x2, assume_unique=False, invert=False):
    x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
    dtype = result_type(x1.dtype, x2.dtype)

    def graph(a, b):
        found = ops.any(ops.eq(ops.expand_dims(a, -1), ops.flatten(b)), -1)
        found = cast_node(found, "bool")
        return ops.logical_not(found) if invert else found

    return placed(
        lambda a, b: np.isin(a, b, assume_unique=assume_unique, invert=invert),
        graph,
        cast(x1, dtype),
        cast(x2, dtype),
    )


# ---- making --------------------------------------------------------------------------------------


def _filled(value, eager):
    def function(shape, dtype=None):
        dtype = standardize_dtype(dtype or config.floatx())
        if shape.__class__ is tuple:
            try:
                return eager(shape, dtype)
            except (TypeError, UsageError):  # traced sizes, and Variables
                pass
        shape = [shape] if isinstance(shape, int | np.integer | Symbolic) else shape
        if has_traced(*shape) or builtins.any(is_variable(s) for s in shape):
            return Symbolic(ops.broadcast_to(node_of(value, dtype), size_vector(shape)))
        return eager(tuple(int(s) for s in shape), dtype=dtype)

    function.__name__, function.__doc__ = eager.__name__, f"keras.ops.{eager.__name__}."
    return function


zeros, ones = _filled(0, np.zeros), _filled(1, np.ones)
empty = _filled(0, np.empty)


def full(shape, fill_value, dtype=None):
    dtype = standardize_dtype(dtype or config.floatx())
    shape = [shape] if isinstance(shape, int | np.integer | Symbolic) else shape
    if fill_value.__class__ in (int, float) and dtype in ("float32", "float64") and whole(shape):
        found = np.empty(shape, dtype)
        found.fill(fill_value)
        return found
    fill_value = convert_to_tensor(fill_value, dtype)
    if has_traced(fill_value, *shape):
        return Symbolic(ops.broadcast_to(node_of(fill_value), size_vector(shape)))
    return np.full(shape, fill_value, dtype=dtype)


def full_like(x, fill_value, dtype=None):
    x = convert_to_tensor(x)
    if x.__class__ is np.ndarray and fill_value.__class__ in (int, float) and dtype is None:
        return np.full_like(x, fill_value)
    fill_value = convert_to_tensor(fill_value, dtype or x.dtype)
    if x.__class__ is np.ndarray and fill_value.__class__ is np.ndarray:
        return np.full_like(x, fill_value, fill_value.dtype)
    return placed(
        lambda a, v: np.full_like(a, v, dtype=v.dtype),
        lambda n, v: ops.broadcast_like(v, ops.zeros_like(n, dtype=v.dtype)),
        x,
        fill_value,
    )


def zeros_like(x, dtype=None):
    if dtype is None and x.__class__ is np.ndarray:
        return np.zeros_like(x)
    x = convert_to_tensor(x)
    if x.__class__ is np.ndarray:
        return np.zeros_like(x, x.dtype if dtype is None else standardize_dtype(dtype))
    return full_like(x, 0, dtype)


def ones_like(x, dtype=None):
    if dtype is None and x.__class__ is np.ndarray:
        return np.ones_like(x)
    x = convert_to_tensor(x)
    if x.__class__ is np.ndarray:
        return np.ones_like(x, x.dtype if dtype is None else standardize_dtype(dtype))
    return full_like(x, 1, dtype)


def empty_like(x, dtype=None):
    if dtype is None and x.__class__ is np.ndarray:
        return np.empty_like(x)
    x = convert_to_tensor(x)
    if x.__class__ is np.ndarray:
        return np.empty_like(x, x.dtype if dtype is None else standardize_dtype(dtype))
    return full_like(x, 0, dtype)


def array(x, dtype=None):
    return np.array(x, dtype=dtype) if isinstance(x, np.ndarray) else convert_to_tensor(x, dtype)


def view(x, dtype=None):
    x = convert_to_tensor(x)
    refuse_traced("view", x)
    return x.view(dtype=dtype)


def arange(start, stop=None, step=None, dtype=None):
    step = 1 if step is None else step
    bounds = [b for b in (start, stop, step) if b is not None]
    if dtype is None:
        dtype = result_type(*[getattr(b, "dtype", type(b)) for b in bounds])
    dtype = standardize_dtype(dtype)
    if not has_traced(*bounds):
        return np.arange(start, stop, step, dtype=dtype)
    nodes = [b.node if isinstance(b, Symbolic) else b for b in (start, stop, step)]
    if stop is None:
        nodes[:2] = 0, nodes[0]
    return Symbolic(cast_node(ops.arange(*nodes), dtype))


def _spaced(name, eager):
    def function(start, stop, num=50, endpoint=True, dtype=None, axis=0, **more):
        if not (start.__class__ is stop.__class__ is float):  # which NumPy takes as they are
            start, stop = convert_to_tensor(start), convert_to_tensor(stop)
            refuse_traced(name, start, stop)
            dtype = dtype or result_type(start.dtype, stop.dtype, float)
        dtype = standardize_dtype(dtype or config.floatx())
        return eager(start, stop, num, endpoint=endpoint, axis=axis, dtype=dtype, **more)

    return function


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    start, stop = convert_to_tensor(start), convert_to_tensor(stop)
    dtype = standardize_dtype(dtype or result_type(start.dtype, stop.dtype, float))
    if not has_traced(start, stop):
        return np.linspace(start, stop, num, endpoint, retstep, dtype=dtype, axis=axis)
    low, high = node_of(start, dtype), node_of(stop, dtype)
    count = builtins.max(num - 1 if endpoint else num, 1)
    step = ops.true_div(ops.sub(high, low), count)
    share = node_of(np.arange(num), dtype)
    found = ops.mul(ops.expand_dims(step, -1), share)
    add = ops.add_rounded if dtypes.is_float(found.dtype) else ops.add
    found = Symbolic(ops.moveaxis(add(found, ops.expand_dims(low, -1)), -1, axis))
    return (found, Symbolic(step)) if retstep else found


def logspace(start, stop, num=50, endpoint=True, base=10, dtype=None, axis=0):
    return _spaced("logspace", np.logspace)(start, stop, num, endpoint, dtype, axis, base=base)


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    return _spaced("geomspace", np.geomspace)(start, stop, num, endpoint, dtype, axis)


def eye(N, M=None, k=0, dtype=None):  # noqa: N803
    dtype = standardize_dtype(dtype or config.floatx())
    if N.__class__ is int and M is None:
        return np.eye(N, k=k, dtype=dtype)
    if has_traced(N, M):
        rows = arange(N)
        columns = rows if M is None else arange(M)
        hot = ops.eq(ops.add(ops.expand_dims(node_of(rows), 1), k), node_of(columns))
        return Symbolic(cast_node(hot, dtype))
    return np.eye(N, M=M, k=k, dtype=dtype)


def identity(n, dtype=None):
    return eye(n, dtype=dtype)


def tri(N, M=None, k=0, dtype=None):  # noqa: N803
    return np.tri(N, M=M, k=k, dtype=dtype or config.floatx())


def _triangle(name, eager, graph):
    def function(x, k=0):
        x = convert_to_tensor(x)
        if x.__class__ is np.ndarray:
            return eager(x, k)

        def of_node(n):
            if n.dtype == "bool":
                return cast_node(graph(ops.cast(n, "uint8"), k), "bool")
            return graph(n, k)

        return Symbolic(of_node(x.node))

    function.__name__, function.__doc__ = name, f"keras.ops.{name}."
    return function


tril, triu = _triangle("tril", np.tril, ops.tril), _triangle("triu", np.triu, ops.triu)


def diag(x, k=0):
    x = convert_to_tensor(x)
    if not isinstance(x, Symbolic):
        return np.diag(x, k)
    return Symbolic(ops.diag(x.node, k) if x.ndim == 1 else ops.diagonal(x.node, k))


def diagflat(x, k=0):
    return diag(ravel(x), k)


def diagonal(x, offset=0, axis1=0, axis2=1):
    x = convert_to_tensor(x)
    if x.__class__ is np.ndarray:
        return x.diagonal(offset, axis1, axis2)
    return Symbolic(ops.diagonal(node_of(x), offset, axis1, axis2))


def trace(x, offset=0, axis1=0, axis2=1):
    return sum(diagonal(x, offset, axis1, axis2), -1)


def meshgrid(*x, indexing="xy"):
    xs = [convert_to_tensor(v) for v in x]
    if not has_traced(*xs):
        return np.meshgrid(*xs, indexing=indexing)
    nodes = [ops.flatten(node_of(v)) for v in xs]
    order = list(range(len(nodes)))
    if indexing == "xy" and len(nodes) > 1:
        order[:2] = 1, 0
    sizes = [None] * len(nodes)
    for place, n in zip(order, nodes):
        sizes[place] = ops.size_of(n, 0)
    grids = []
    for place, n in zip(order, nodes):
        line = ops.reshape(n, [-1 if a == place else 1 for a in range(len(nodes))])
        grids.append(Symbolic(ops.broadcast_to(line, sizes)))
    return grids


def vander(x, N=None, increasing=False):  # noqa: N803
    x = convert_to_tensor(x)
    dtype = dtype_of(x)

    def graph(n):
        count = n.shape[0] if N is None else N
        powers = np.arange(count) if increasing else np.arange(count)[::-1]
        return cast_node(ops.pow(ops.expand_dims(n, -1), node_of(powers.copy(), n.dtype)), dtype)

    def eager(a):
        wide = a.astype("float32") if dtype == "bfloat16" else a
        return np.vander(wide, N, increasing).astype(dtype)

    return either(eager, graph, x)


def _window(name, eager):
    def function(x, *args):
        refuse_traced(name, *(convert_to_tensor(a) for a in (x, *args)))
        return eager(int(x), *args).astype(config.floatx())

    function.__name__, function.__doc__ = name, f"keras.ops.{name}."
    return function


bartlett, blackman = _window("bartlett", np.bartlett), _window("blackman", np.blackman)
hamming, hanning = _window("hamming", np.hamming), _window("hanning", np.hanning)
kaiser = _window("kaiser", np.kaiser)


def diff(a, n=1, axis=-1):
    a = convert_to_tensor(a)

    def graph(x):
        if x.dtype != "bool":
            return ops.diff(x, n, axis)
        for _ in range(n):
            high, low = _neighbours(x, axis)
            x = ops.ne(high, low)
        return x

    return either(lambda x: np.diff(x, n, axis), graph, a)


def _neighbours(x, axis):
    key = [slice(None)] * x.ndim
    found = []
    for part in (slice(1, None), slice(None, -1)):
        key[axis % x.ndim] = part
        found.append(ops.getitem(x, tuple(key)))
    return found


def size(x):
    x = convert_to_tensor(x)
    if isinstance(x, Symbolic) and x.size is None:
        return Symbolic(ops.cast(ops.prod(ops.shape(x.node)), "int32"))
    return x.size


def ndim(x):
    return convert_to_tensor(x).ndim


OPERATORS["reshape"] = reshape
