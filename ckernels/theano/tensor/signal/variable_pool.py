"""Pooling by windows whose sizes are variables: one compiled function for each size that comes."""

import functools

import numpy as np

from ....base.errors import UsageError
from ...classes.op import Op
from ...compile.function import function
from ...graph.apply import Apply
from ...graph.type import DisconnectedType
from ...handles.type import TensorType
from ...handles.variables import as_tensor_variable


class VariablePool(Op):
    """Pooling over the last `n` axes of an image by ws, stride and pad: a number each, or n."""

    __props__ = ("n", "ignore_border", "mode")

    def __init__(self, n, ignore_border, mode, fixed):
        """fixed: the pooling by windows of known sizes."""
        self.n, self.ignore_border, self.mode, self.fixed = n, ignore_border, mode, fixed

    def make_node(self, x, *sizes):
        x, sizes = as_tensor_variable(x), [as_tensor_variable(s) for s in sizes]
        for s in sizes:
            if "int" not in s.dtype or s.ndim > 1:
                raise UsageError(f"windows and steps are integers, not {s.type}")
        kind = TensorType(x.dtype, x.broadcastable[: -self.n] + (False,) * self.n)
        return Apply(self, [x, *sizes], [kind()])

    def options(self, sizes):
        """The sizes as tuples of n ints."""
        found = []
        for s in sizes:
            s = np.asarray(s)
            found.append(tuple(int(v) for v in (np.broadcast_to(s, (self.n,)))))
        return tuple(found)

    def perform(self, node, inputs, storage):
        x, *sizes = inputs
        storage[0][0] = _made(self, self.options(sizes), x.dtype.name, x.ndim)[0](x)

    def L_op(self, inputs, outputs, gradients):  # noqa: N802
        x, *sizes = inputs
        nothing = [DisconnectedType()() for _ in sizes]
        return [VariablePoolGrad(self)(x, gradients[0], *sizes), *nothing]

    def connection_pattern(self, node):
        return [[True], [False], [False], [False]]


class VariablePoolGrad(Op):
    """The gradient of a VariablePool by its image."""

    __props__ = ("pool",)

    def __init__(self, pool):
        self.pool = pool

    def make_node(self, x, g, *sizes):
        return Apply(self, [x, g, *sizes], [x.type()])

    def perform(self, node, inputs, storage):
        x, g, *sizes = inputs
        made = _made(self.pool, self.pool.options(sizes), x.dtype.name, x.ndim)[1]
        storage[0][0] = made(x, g.astype(x.dtype))

    def infer_shape(self, node, shapes):
        return [shapes[0]]


@functools.lru_cache(64)
def _made(pool, sizes, dtype, ndim):
    """(function of an image, function of image and gradient) for windows of known sizes."""
    from ...gradient.functions import grad  # start-up: 3.3 ms

    kind = TensorType(dtype, (False,) * ndim)
    x, g = kind(), kind()
    ws, stride, pad = sizes
    y = pool.fixed(pool.n, x, ws, pool.ignore_border, stride, pad, pool.mode, None, None, None)
    return function([x], y), function([x, g], grad(None, x, known_grads={y: g}))
