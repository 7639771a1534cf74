"""f.maker: the inputs, outputs, mode and graph of a function, as Theano shows them."""

from ..base.hooks import register_hook
from ..base.names import absent_of as _absent_of
from ..classes.op import folds
from ..graph.apply import Constant
from ..graph.fg import FunctionGraph
from ..graph.walks import replayed
from ..user_ops.ops import deep_copy_op
from .callable import Function  # noqa: F401
from .function import UnusedInputError, function  # noqa: F401


class Maker:
    """What a function was made from."""

    def __init__(self, made):
        asked = made.asked
        self.function, self.mode, self.name = made, made.mode, made.name
        self.inputs = self.expanded_inputs = asked.ins
        self.outputs = asked.outs
        self.unpack_single, self.return_none = asked.single, asked.outputs is None
        self.output_keys = asked.names
        self.profile = made.profile
        self.linker = self
        self._fgraph = None

    @property
    def fgraph(self):
        """The graph as it was written, with givens put in."""
        if self._fgraph is None and self.function.lowered.fgraph is not None:
            self._fgraph = folded(self.function.lowered.fgraph)
        if self._fgraph is None:
            asked = self.function.asked
            outputs, inputs = list(self.function.lowered.written), [i.variable for i in asked.ins]
            if asked.givens:
                outputs = replayed(outputs, asked.givens)
            made = {v: v.type(v.name) for v in inputs if v.owner is not None}
            if made:  # an input of a function may be made of others, that of a graph may not
                outputs = replayed(outputs, made)
            self._fgraph = FunctionGraph([made.get(v, v) for v in inputs], outputs, clone=False)
        return self._fgraph


def folded(fgraph):
    """A graph after rewrites of users: equal nodes merged, constants computed, outputs copied."""
    from ..rewrites.opt import MergeOptimizer  # start-up: 1.5 ms

    MergeOptimizer().optimize(fgraph)
    for node in fgraph.toposort():
        if node.inputs and not all(isinstance(v, Constant) for v in node.inputs):
            continue
        if not folds(node):
            continue
        storage = [[None] for _ in node.outputs]
        try:
            node.op.perform(node, [v.data for v in node.inputs], storage)
        except Exception:  # what cannot be computed beforehand fails when the function runs
            continue
        for v, (value,) in zip(node.outputs, storage):
            if v in fgraph.variables:
                fgraph.replace(v, v.type.make_constant(v.type.filter(value)), reason="folded")
    for k, v in enumerate(fgraph.outputs):
        if v.owner is None:
            fgraph.change_input("output", k, deep_copy_op(v), reason="copied")
    return fgraph


FunctionMaker = register_hook("maker", Maker)


__getattr__ = _absent_of("theano.compile.function_module")
