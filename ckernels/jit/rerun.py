"""A function that is traced again inside of a trace, over fresh placeholders for its arguments."""

import numpy as np

from .. import ops
from ..base import given
from ..base.errors import ArgumentError, DTypeError, NotSupported, ShapeError
from ..graph.node import constant
from ..graph.walk import rebuild
from ..numpy.value import ArrayValue
from .number import PythonNumber, is_any
from .trace import Asked, BatchLeaves, placeholder
from .trees import flatten, put_together


def shape_of(x):
    """The shape of an array, traced or not; None for an open size."""
    return x.read().shape if isinstance(x, ArrayValue) else x.shape


def node_of(trace, x):
    """The node of a value, or of what is none: a number that the function returns as it is."""
    return x.node if isinstance(x, PythonNumber) else trace.array(x).read()


class Rerun:
    """A function run over fresh placeholders for the leaves of some of its arguments."""

    def __init__(self, trace, function, args, kwargs, places, drop=None, slopes=None):
        self.trace, self.old = trace, []
        self.described = flatten(tuple(args[p] for p in places), is_any, self.old)
        self.actual = [node_of(trace, x) for x in self.old]
        for n in self.actual if slopes else ():
            if np.dtype(n.dtype).kind not in "fc":
                raise DTypeError(f"{slopes}: the derivative by an argument of {n.dtype} is asked "
                                 "for; give a float, or other argnums")  # fmt: skip
        self.new = [placeholder(n.dtype, n.shape if drop is None else drop(i, n))
                    for i, n in enumerate(self.actual)]  # fmt: skip
        values = [self.wrapped(x, n) for x, n in zip(self.old, self.new)]
        args = list(args)
        for p, part in zip(places, put_together(self.described, iter(values))):
            args[p] = part
        self.level = dict(zip(self.new, self.actual)) if drop is None else BatchLeaves(self.new)
        trace.inside.append(self.level)
        try:
            self.found = function(*args, **kwargs)
        finally:
            trace.inside.pop()
        if any(isinstance(v, ArrayValue) and v.version for v in values):
            raise NotSupported("a transformed function writes into its arguments: copy them first")

    def wrapped(self, x, node):
        """A leaf of its own kind around its placeholder."""
        if isinstance(x, PythonNumber):

            def pin():
                raise Asked("a number in Python of what it is differentiated by")

            return PythonNumber(self.trace, node, x.kind, pin, symbolic=x.kind is float)
        if isinstance(x, (ArrayValue, np.ndarray)):
            element = not node.ndim and x.ndim > 0  # of a batch, as NumPy gives it
            scalar = element or isinstance(x, ArrayValue) and x.scalar
        else:
            scalar = True
        return ArrayValue(self.trace, node, scalar, True)

    def cost(self, name, found=None):
        """The node of a result that has to be one scalar."""
        found = self.found if found is None else found
        if isinstance(found, (float, np.floating)) or type(found) is int and self.trace.asked:
            # of a loop without a turn, or on a path of several: the gradient is 0
            return constant(np.asarray(found, getattr(found, "dtype", float)))
        if not isinstance(found, (ArrayValue, PythonNumber)):
            raise DTypeError(f"{name}: the function returns {type(found).__name__}, which does not "
                             "depend on its arguments as a float does")  # fmt: skip
        from ..autodiff.scan_even import even  # start-up

        node = node_of(self.trace, found)
        if node.ndim:
            raise ShapeError(f"{name}: the function has to return a scalar, not an array of shape "
                             f"{node.shape}; sum it, or take jacobian")  # fmt: skip
        if np.dtype(node.dtype).kind == "c":
            raise DTypeError(f"{name}: the function returns {node.dtype}, of which no gradient is "
                             "meant; take its real part, or np.abs of it")  # fmt: skip
        return even([node])[0]

    def actualise(self, nodes):
        """Nodes over the placeholders as nodes over the arguments, as Values."""
        nodes = rebuild(list(nodes), dict(zip(self.new, self.actual)))
        return [ArrayValue(self.trace, n, n.ndim == 0, True) for n in nodes]

    def results(self, tree):
        """A tree of results over the arguments."""
        leaves = []
        described = flatten(
            tree, lambda x: isinstance(x, (ArrayValue, PythonNumber)) or is_any(x), leaves
        )
        nodes = [node_of(self.trace, x) for x in leaves]
        return put_together(described, iter(self.actualise(nodes)))

    def tree(self, nodes, argnums):
        """Derivatives in the nesting of the arguments they are by."""
        found = put_together(self.described, iter(self.actualise(nodes)))
        return found if np.iterable(argnums) else found[0]

    def slopes(self, argnums, has_aux):
        """The gradient of the one scalar that the function returns, alone or in front of more."""
        from ..autodiff import reverse  # start-up

        several = isinstance(self.found, (tuple, list)) and len(self.found) > 1
        if given.flag(has_aux, "has_aux") and not several:
            raise ArgumentError("with has_aux the function returns its cost and what else it has")
        cost = self.cost("grad", self.found[0] if has_aux else self.found)
        return self.tree(reverse.grad(cost, self.new, disconnected="zero"), argnums)

    def wide(self):
        """The results with the batch as their first axis, as Values. What each row takes for
        granted is asked of all."""
        from ..autodiff import batch as batching  # start-up
        from ..autodiff.scan_batch import row_by_row  # start-up

        leaves = []
        described = flatten(self.found, is_any, leaves)
        nodes = [node_of(self.trace, x) for x in leaves]
        rows, wanted = dict(zip(self.new, self.actual)), [*nodes, *self.level.guards]
        try:
            wide = batching.batched(wanted, rows)
        except batching.NoBatchRule:
            wide = row_by_row(wanted, rows)
        for guard in wide[len(nodes) :]:
            self.trace.guard(ops.all(guard))
        values = [ArrayValue(self.trace, n, False, True) for n in wide[: len(nodes)]]
        return put_together(described, iter(values))


def of_rows(trace, function, args, kwargs, places):
    """What `function` returns for each row along the first axis of the arguments at `places`."""
    return Rerun(trace, function, args, kwargs, places, lambda i, n: n.shape[1:]).wide()
