"""Functions of Keras traced once and run as one compiled function: one trace for all sizes.

`Step` traces a Python function for each structure, dtypes and ranks of its arguments. The first
axis of an array is open from the start; another one becomes open when a second size is met there,
but for those of pictures.
Where a function needs a size that is open as a number, the trace is repeated with the sizes of that
call, and `pinned` counts how often. Assignments to Variables become updates of the function.
"""

import functools

import numpy as np
from keras.src import tree
from keras.src.backend.common.stateless_scope import get_stateless_scope

from .. import ops
from ..api.function import function
from ..api.tensor import Tensor, placeholder_node
from ..base import locks
from ..base.errors import CKernelsError
from ..ops.reduce import ties_share
from .casts import cast_node
from .gradient import arguments
from .values import Symbolic, is_variable, node_of
from .variable import StepScope, tracing


def value_and_grad(f, has_aux=False):
    """A function that returns the value of `f`, and its gradients by its first argument.

    f: a function of traced values that returns a scalar, or (scalar, more) with has_aux. The first
    argument may be a structure of tensors; the gradients have the same. To be called while a step
    is traced: within `train_step`, or a function under `ckernels.keras3.jit`.
    """

    def with_gradients(first, *rest, **more):
        first = arguments(first)  # what was computed from the same values before is given
        result = f(first, *rest, **more)
        loss = result[0] if has_aux else result
        return result, gradients(loss, first)

    return with_gradients


def gradients(loss, wrt):
    """Gradients of a traced scalar by a structure of traced values: zeros where there is none.

    That by a Variable counts what was assigned to it within the step, too, and read again.
    """
    from ..autodiff.reverse import grad  # start-up

    scope = get_stateless_scope()
    held = getattr(scope, "held", {})
    read = [[n, *held.get(n.uid, ())] for n in map(node_of, tree.flatten(wrt))]
    leaves = [n for nodes in read for n in nodes]
    with ties_share():
        found = iter(grad(node_of(loss), leaves, disconnected="zero") if leaves else [])
    sums = [
        functools.reduce(ops.add, [cast_node(next(found), nodes[0].dtype) for _ in nodes])
        for nodes in read
    ]
    if hasattr(scope, "slopes"):
        scope.slopes.append([(nodes[0], g) for nodes, g in zip(read, sums)])
    return tree.pack_sequence_as(wrt, [Symbolic(g) for g in sums])


KEPT = 32  # traces of one structure, where sizes are numbers


class Step:
    """A function whose calls are one compiled function each, by structure and dtypes.

    f(*arguments) -> a structure of values. Arguments are structures of arrays, numbers and None.
    keep: False traces anew at each call, so that Python's side of `f` runs. may_read: `f` may ask
    for the values of its arguments, as layers do that look up words; it is then traced at each call
    with the arrays themselves, and computed by NumPy.
    """

    def __init__(self, f, mode=None, keep=True, may_read=False):
        self.f, self.mode, self.keep, self.may_read = f, mode, keep, may_read
        self.traces, self.sizes, self.pinned = {}, {}, 0
        self.reads = False
        self.lock = locks.rlock()

    def __call__(self, *arguments):
        traced, arrays = self._traced(arguments)
        return traced(arrays)

    def over(self, calls, last=False):
        """Results of calls with tuples of arguments in turn; with `last` that of the last alone.

        Calls that one trace serves are a loop in C.
        """
        results, rows, serving = [], [], None
        for call in calls:
            arrays = []
            traced = self._known(_skeleton(call, arrays), arrays)
            if rows and (traced is None or traced is not serving):
                results, rows = results + serving.over(rows, last), []
            serving, arrays = (traced, arrays) if traced else self._traced(call)
            rows.append(arrays)
        results += serving.over(rows, last) if rows else []
        return results[-1:] if last else results

    def _known(self, key, arrays):
        """The trace that serves these arrays, None where there is none yet."""
        for traced in self.traces.get(key, ()):
            if traced.fits(a.shape for a in arrays):
                return traced
        return None

    def _traced(self, arguments):
        """(a trace that serves these arguments, the arrays that it is to be given)."""
        arrays = []
        key = _skeleton(arguments, arrays)
        traced = self._known(key, arrays)
        if traced is None and not self.reads:
            try:
                traced = self._trace(arguments, arrays, key)
            except (CKernelsError, TypeError, ValueError, NotImplementedError):
                if not self.may_read:
                    raise
                self.reads = True
        if traced is None:
            return TracedStep(self.f, arguments, (), (), "reference"), ()
        return traced, arrays

    def _trace(self, arguments, arrays, key):
        with self.lock:
            seen = self.sizes.setdefault(key, [set() for a in arrays])
            for sizes, a in zip(seen, arrays):
                sizes.add(a.shape)
            shapes = [_open(sizes, a) for sizes, a in zip(seen, arrays)]
            try:
                traced = TracedStep(self.f, arguments, arrays, shapes, self.mode)
            except (CKernelsError, TypeError, ValueError, NotImplementedError):
                if all(None not in s for s in shapes):
                    raise
                traced = TracedStep(self.f, arguments, arrays, [a.shape for a in arrays], self.mode)
                self.pinned += 1
            if self.keep:
                rest = [t for t in self.traces.get(key, ()) if not traced.fits(t.shapes)]
                self.traces[key] = [traced, *rest[: KEPT - 1]]
            return traced


def _skeleton(x, arrays):
    """What of arguments is no array, hashable, with dtypes and ranks; the arrays go to `arrays`."""
    if isinstance(x, np.ndarray):
        arrays.append(x)
        return x.dtype, x.ndim
    if isinstance(x, list | tuple):
        return type(x), *[_skeleton(i, arrays) for i in x]
    if isinstance(x, dict):
        return dict, *[(k, _skeleton(x[k], arrays)) for k in sorted(x)]
    if isinstance(x, np.generic | int | float) and not isinstance(x, bool):
        arrays.append(np.asarray(x))
        return arrays[-1].dtype, 0
    if is_variable(x):
        return _skeleton(np.asarray(x.value), arrays)
    return x


def arrays_of(arguments):
    """The arrays in a structure of arguments, in the order in which a TracedStep takes them."""
    arrays = []
    _skeleton(arguments, arrays)
    return arrays


def _filled(x, values):
    """Arguments with `values` where `_skeleton` found arrays."""
    if isinstance(x, list | tuple):
        items = [_filled(i, values) for i in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    if isinstance(x, dict):
        return type(x)({k: _filled(x[k], values) for k in sorted(x)})
    if isinstance(x, np.ndarray | np.generic | int | float) and not isinstance(x, bool):
        return next(values)
    return next(values) if is_variable(x) else x


def _open(sizes, array):
    """The static shape of a trace: None along the first axis, and where sizes differed.

    The last three axes of pictures stay numbers: Keras's layers for them choose by their sizes.
    """
    numbers = array.ndim - 3 if array.ndim > 3 else array.ndim
    return tuple(
        None if axis == 0 or (axis < numbers and len({s[axis] for s in sizes}) > 1) else size
        for axis, size in enumerate(array.shape)
    )


def graph_of(f, arguments, arrays, shapes, names=None):
    """Call `f` with nodes in the place of arrays: (placeholders, its result, updates, slopes).

    updates: pairs (variable of the engine, tensor). slopes: see StepScope.
    """
    names = names or [None] * len(arrays)
    nodes = [placeholder_node(a.dtype.name, s, n) for a, s, n in zip(arrays, shapes, names)]
    given = _filled(arguments, iter([Symbolic(n) for n in nodes])) if nodes else arguments
    with StepScope(collect_losses=True) as scope, tracing():
        result = f(*given)
    updates = [
        (variable.storage, Tensor(node_of(value, variable.storage.dtype)))
        for variable, value in scope.assigned.values()
    ]
    return [Tensor(n) for n in nodes], result, updates, scope.slopes


class TracedStep:
    """One traced function: placeholders of given shapes, and the compiled function `run`.

    Without arrays the arguments themselves are given to `f`.
    """

    def __init__(self, f, arguments, arrays, shapes, mode, names=None):
        self.shapes = shapes
        inputs, result, updates, _ = graph_of(f, arguments, arrays, shapes, names)
        leaves = tree.flatten(result)
        kept = [isinstance(leaf, Symbolic) for leaf in leaves]
        self.result, self.leaves, self.kept = result, leaves, kept
        outputs = [Tensor(leaf.node) for leaf, traced in zip(leaves, kept) if traced]
        self.run = function(inputs, outputs, updates, mode=mode, on_unused_input="ignore")

    def fits(self, shapes):
        """Whether it serves arrays of these shapes."""
        return all(
            d is None or d == size
            for own, shape in zip(self.shapes, shapes)
            for d, size in zip(own, shape)
        )

    def __call__(self, arrays):
        return self._packed(self.run(*arrays))

    def over(self, rows, last=False):
        """Results for several rows of arrays; with `last` a list of that of the last alone."""
        found = self.run.over(rows, last)
        return [self._packed(f) for f in ([found] if last else found)]

    def _packed(self, found):
        found = iter(found)
        leaves = [next(found) if k else leaf for leaf, k in zip(self.leaves, self.kept)]
        return tree.pack_sequence_as(self.result, leaves)
