"""map_blocks: a compiled function over the blocks of dask arrays.

The graph of the function tells dtype, rank and the sizes of every block, so nothing runs before
`compute`. The pickle of a function (the graph, and the values its variables have now) is known by
its SHA-256, and each process makes one function of it.
"""

import hashlib
import os

import cloudpickle
import dask
import dask.array as da
import numpy as np
from dask.base import tokenize
from distributed import default_client

from ...base import locks
from ...base.errors import ArgumentError, DTypeError, ShapeError, UsageError, with_line
from ...graph.shapes import show
from ...plan.pipeline import concretise
from ...runtime import stored
from .cluster import install

SMALL = 1 << 15  # bytes up to which a pickle is part of each task; a larger one is a task itself
KEPT = 64  # functions that a process keeps
_functions = {}  # digest of a pickle -> function
_lock = locks.lock()


class Block:
    """A function on its way to workers: its pickle, and the digest of that."""

    def __init__(self, digest, data):
        self.digest, self.data, self.function = digest, data, None

    def __reduce__(self):
        return Block, (self.digest, self.data)

    def __dask_tokenize__(self):
        return self.digest

    def __call__(self, *blocks):
        if self.function is None:
            self.function = function_of(self.digest, self.data)
        return self.function(*blocks)


def function_of(digest, data):
    """The function of a pickle; one per process, whatever the number of tasks."""
    found = _functions.get(digest)
    if found is None:
        with _lock:
            found = _functions.get(digest)
            if found is None:
                while len(_functions) >= KEPT:
                    _functions.pop(next(iter(_functions)))
                found = _functions[digest] = cloudpickle.loads(data)
    return found


def call(*blocks, block):
    """block(*blocks), for a function that is a task of its own: Dask gives its result here."""
    return block(*blocks)


def map_blocks(f, *arrays, chunks=None, drop_axis=None, new_axis=None, name=None):
    """The dask array of `f` of each block of `arrays`.

    f          a function of K.function with one output and no updates; variables have the values
               they have now
    arrays     for each input of `f` a dask array, an array or a number; blocks are broadcast as in
               dask.array.map_blocks, along the last axes
    chunks     sizes of the blocks of the result, where they depend on data
    drop_axis, new_axis   axes of the arrays that `f` drops, axes of the result that it adds
    name       for the dashboard; by default the name of `f`, with the user's line

    dtype and shape follow from the graph: nothing is computed. ArgumentError, ShapeError and
    DTypeError where blocks do not fit the inputs.

    >>> import dask.array as da                                    # doctest: +SKIP
    >>> x = K.placeholder((None, None), name="x")                  # doctest: +SKIP
    >>> f = K.function([x], K.tanh(x) * 2)                         # doctest: +SKIP
    >>> y = ckernels.dask.map_blocks(f, da.ones((8, 4), chunks=2)) # doctest: +SKIP
    >>> y.mean().compute()                                         # doctest: +SKIP
    """
    spec = _spec(f)
    given = [x if hasattr(x, "dask") else np.asarray(x) for x in arrays]
    dropped, added = _axes(drop_axis), _axes(new_axis)
    _check(spec, given)
    output = spec.outputs[0]
    if chunks is None:
        chunks = Blocks(spec, given, dropped, added).chunks()
    _with_cluster()
    data = cloudpickle.dumps(f)
    block = Block(hashlib.sha256(data).hexdigest(), data)
    title = _title(spec, name)
    options = dict(
        dtype=output.dtype,
        chunks=chunks,
        drop_axis=dropped or None,
        new_axis=added or None,
        meta=np.empty((0,) * output.ndim, output.dtype),
        name=f"{title}-{tokenize(_token(spec, data), *given, chunks, dropped, added)}",
    )
    if len(data) <= SMALL:
        return da.map_blocks(block, *given, **options)
    sent = dask.delayed(block, name=f"{title}_function-{block.digest}", pure=True, traverse=False)
    return da.map_blocks(call, *given, block=sent, **options)


def _axes(axes):
    if axes is None:
        return []
    return sorted(axes) if isinstance(axes, (list, tuple)) else [axes]


def _spec(f):
    """The Spec of a function, or an error where map_blocks cannot run it."""
    spec = getattr(getattr(f, "info", f), "spec", None)
    if spec is None:
        raise UsageError(f"map_blocks takes a function made by K.function, not {f!r}")
    if spec.updates:
        raise ArgumentError(
            f"{spec.title()} updates variables, and blocks are computed in no order, on any "
            "worker: f.copy(delete_updates=True) leaves the updates out (random numbers are then "
            "the same in all blocks); for training there is ckernels.dask.Trainer"
        )
    if len(spec.outputs) != 1:
        raise ArgumentError(
            f"{spec.title()} has {len(spec.outputs)} outputs, and map_blocks makes one array: "
            "make a function for each, or stack them"
        )
    return spec


def _check(spec, arrays):
    """Raise unless number, dtypes, ranks and sizes of the arrays fit the inputs."""
    if len(arrays) != len(spec.inputs):
        raise ArgumentError(
            f"{spec.title()} takes {len(spec.inputs)} inputs, map_blocks was given {len(arrays)} "
            "arrays"
        )
    for k, (x, node) in enumerate(zip(arrays, spec.inputs)):
        what = f"input {k} of {spec.title()}, {spec.label(k)},"
        if not np.can_cast(x.dtype, node.dtype, "same_kind"):
            raise with_line(
                DTypeError(
                    f"{what} is {node.dtype}, and the blocks are {x.dtype}: use "
                    f"x.astype({node.dtype!r})"
                ),
                node,
            )
        if x.ndim != node.ndim:
            raise with_line(
                ShapeError(
                    f"{what} has {node.ndim} dimensions, and the array has {x.ndim}: shape "
                    f"{show(x.shape)}"
                ),
                node,
            )
        for axis, size in enumerate(node.shape):
            sizes = set(x.chunks[axis]) if hasattr(x, "chunks") else {x.shape[axis]}
            if size is not None and sizes != {size}:
                raise with_line(
                    ShapeError(
                        f"{what} has {size} elements along axis {axis}, and the blocks have "
                        f"{sorted(sizes)}: use x.rechunk({{{axis}: {size}}})"
                    ),
                    node,
                )


class Blocks:
    """The sizes of the blocks of a result, from those of the arrays and the graph of a function.

    Arrays are aligned at their last axes, as in broadcasting; `ndim`: axes before any is dropped or
    added.
    """

    def __init__(self, spec, arrays, dropped, added):
        self.spec, self.arrays, self.added = spec, arrays, added
        self.ndim = max([x.ndim for x in arrays], default=0)
        self.dropped = [a % self.ndim for a in dropped]
        self.sizes = [self.along(axis) for axis in range(self.ndim)]

    def along(self, axis):
        """The sizes of the blocks along an axis, of the array that has most of them there."""
        found = [(1,)]
        for x in self.arrays:
            own = axis - (self.ndim - x.ndim)
            if own >= 0:
                found.append(x.chunks[own] if hasattr(x, "chunks") else (x.shape[own],))
        return max(found, key=lambda sizes: (len(sizes), max(sizes, default=0)))

    def shape(self, index):
        """The shape of the result for the block at `index`."""
        shapes = {}
        for x, node in zip(self.arrays, self.spec.inputs):
            shape = []
            for own in range(x.ndim):
                sizes = x.chunks[own] if hasattr(x, "chunks") else (x.shape[own],)
                at = index[own + self.ndim - x.ndim]
                shape.append(sizes[at] if len(sizes) > 1 else sizes[0])
            if any(s != s for s in shape):
                raise self.unknown("the array has blocks of unknown sizes")
            shapes[node] = tuple(int(s) for s in shape)
        return concretise(self.spec.outputs, shapes)[0].shape

    def unknown(self, why):
        return ArgumentError(f"{why}: say chunks=, the sizes of the blocks of the result")

    def chunks(self):
        """The sizes along each axis of the result."""
        for axis in self.dropped:
            if len(self.sizes[axis]) > 1:
                raise ArgumentError(
                    f"axis {axis} is dropped by each block, and the array has "
                    f"{len(self.sizes[axis])} blocks along it: use x.rechunk({{{axis}: -1}}), or "
                    "keep the axis (keepdims=True) and reduce the result"
                )
        output, first = self.spec.outputs[0], [0] * self.ndim
        expected = self.ndim - len(self.dropped) + len(self.added)
        if output.ndim != expected:
            raise with_line(
                ArgumentError(
                    f"{self.spec.title()} gives {output.ndim} dimensions for blocks of "
                    f"{self.ndim}, and {expected} are expected: name the axes it drops "
                    "(drop_axis=) and those it adds (new_axis=)"
                ),
                output,
            )
        sources = [a for a in range(self.ndim) if a not in self.dropped]
        for axis in self.added:
            sources.insert(axis, None)
        base, found = self.shape(first), []
        for axis, source in enumerate(sources):
            count = 1 if source is None else len(self.sizes[source])
            memo, sizes = {}, []
            for k in range(count):
                key = self.sizes[source][k] if source is not None else 0
                if key not in memo:
                    index = [k if a == source else 0 for a in range(self.ndim)]
                    memo[key] = self.shape(index)[axis] if k else base[axis]
                sizes.append(memo[key])
            if None in sizes:
                raise self.unknown(f"the size of axis {axis} of the result depends on data")
            found.append(tuple(sizes))
        return tuple(found)


def _title(spec, name):
    """The name of tasks, without hyphens: dashboards show only what is before the first."""
    line = spec.outputs[0].line
    at = f" ({os.path.basename(line[0])}:{line[1]})" if line else ""
    return f"{name or spec.name or spec.outputs[0].op.name}{at}".replace("-", "_")


def _token(spec, data):
    """A token of the graph and the values, equal for equal functions; else of the pickle."""
    graph = stored.describe(spec.program())[0]
    if graph is None:
        return hashlib.sha256(data).hexdigest()
    return tokenize(graph, spec.mode, [cell.attrs["store"].get() for cell in spec.cells])


def _with_cluster():
    """Let the workers of the current client share kernels, where there is one."""
    try:
        client = default_client()
    except ValueError:
        return
    install(client)
