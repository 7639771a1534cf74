"""An op whose formula needs the sizes of its inputs: one compiled function for the sizes that come.

For unshared convolutions of variables without known sizes. Its gradients are such ops as well.
"""

import functools

from ....api.function import function
from ....api.gradients import grad
from ....api.variables import placeholder
from ...classes.op import Op
from ...graph.apply import Apply
from ...graph.type import DisconnectedType
from ...handles.type import TensorType
from ...handles.variables import as_tensor_variable


class Sized(Op):
    """`build(*tensors of K with known sizes, **options)`, computed when the sizes are known.

    The first `sizes` inputs are integers that `build` takes as numbers, before the tensors.
    """

    __props__ = ("build", "pattern", "sizes", "options", "order")

    def __init__(self, build, pattern, sizes=0, options=(), order=()):
        """pattern: which axes of the result are broadcastable; order: by which inputs, counted
        without sizes, it is differentiated, one after another."""
        self.build, self.pattern, self.sizes = build, tuple(pattern), sizes
        self.options, self.order = tuple(options), tuple(order)

    def make_node(self, *inputs):
        inputs = [as_tensor_variable(x) for x in inputs]
        dtype = inputs[-1].dtype
        return Apply(self, inputs, [TensorType(dtype, self.pattern)()])

    def perform(self, node, inputs, storage):
        sizes, arrays = inputs[: self.sizes], inputs[self.sizes :]
        kinds = tuple((x.shape, x.dtype.name) for x in arrays)
        made = _made(self.build, self.options, self.order, tuple(map(int, sizes)), kinds)
        storage[0][0] = made(*arrays)

    def connection_pattern(self, node):
        return [[k >= self.sizes] for k in range(len(node.inputs))]

    def L_op(self, inputs, outputs, gradients):  # noqa: N802
        found = [DisconnectedType()() for _ in inputs[: self.sizes]]
        for k, x in enumerate(inputs[self.sizes :]):
            by = Sized(self.build, x.broadcastable, self.sizes, self.options, (*self.order, k))
            found.append(by(*inputs, gradients[0].astype(x.dtype)))
        return found


@functools.lru_cache(256)
def _made(build, options, order, sizes, kinds):
    """The function of K for inputs of these shapes and dtypes."""
    given = [placeholder(shape, dtype=dtype) for shape, dtype in kinds]
    y = build(*sizes, *given[: len(given) - len(order)], **dict(options))
    for step, k in enumerate(order):  # the gradients of each step are the inputs behind
        g = given[len(given) - len(order) + step]
        y = grad(None, given[k], "zero", known_grads={y: g})
    return function(given, y)
