"""OpFromGraph: a graph as an Op, with gradients of one's own where that is wanted."""

from ...base.errors import ArgumentError, UsageError
from ..base.exceptions import MissingInputError
from ..base.names import absent_of as _absent_of
from ..classes.op import Op
from ..compile.function import function
from ..graph.apply import Apply, Constant, io_connection_pattern
from ..graph.apply import inputs as graph_inputs
from ..graph.type import DisconnectedType, NullType
from ..graph.walks import replayed
from ..handles.sharedvar import SharedVariable
from .functions import Rop, grad


class OpFromGraph(Op):
    """A graph of `outputs` as functions of `inputs`, as an Op.

    inline: accepted; the graph is put in either way, so that it is rewritten and fused with what
    is around it. lop_overrides, grad_overrides, rop_overrides: 'default', a function, a variable
    (NullType or Disconnected), or a list of these, one for each input (rop: each output).
    rop_overrides may be an OpFromGraph of inputs and tangents too.

    >>> import ckernels.compat.theano as theano
    >>> import ckernels.compat.theano.tensor as T
    >>> x, y, z = T.scalars("xyz")
    >>> op = theano.OpFromGraph([x, y, z], [x + y * z])
    >>> float(op(x, y, z).eval({x: 2, y: 3, z: 4}))
    14.0
    """

    def __init__(
        self,
        inputs,
        outputs,
        inline=False,
        lop_overrides="default",
        grad_overrides="default",
        rop_overrides="default",
        name=None,
        **kwargs,
    ):
        if not isinstance(outputs, list) or not isinstance(inputs, list):
            raise UsageError(f"inputs and outputs must be lists, got {type(outputs)}")
        for x in inputs + outputs:
            if not hasattr(x, "type"):
                raise UsageError("inputs and outputs should be Variables", x)
        if "updates" in kwargs or "givens" in kwargs:
            raise UsageError("an OpFromGraph takes no updates or givens: write them into its graph")
        self.inputs, self.outputs, self.name, self.inline = inputs, outputs, name, inline
        if lop_overrides != "default" and grad_overrides != "default":
            raise ArgumentError("give lop_overrides or grad_overrides, not both")
        self.overrides = lop_overrides if lop_overrides != "default" else grad_overrides
        self.with_outputs = lop_overrides != "default"
        self.rop_overrides = rop_overrides
        self.is_inline = inline
        self.input_types = [x.type for x in inputs]
        self.output_types = [x.type for x in outputs]
        self.shared_inputs = [v for v in graph_inputs(outputs) if isinstance(v, SharedVariable)]
        missing = [
            v
            for v in graph_inputs(outputs, set(inputs))
            if v not in inputs and not isinstance(v, (Constant, SharedVariable))
        ]
        if missing:
            raise MissingInputError(f"the graph needs {missing[0]}, which is not among the inputs")

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return hash((OpFromGraph, id(self)))

    def __str__(self):
        return f"{self.name or type(self).__name__}{{inline={self.inline}}}"

    def make_node(self, *inputs):
        if len(inputs) != len(self.inputs):
            raise ArgumentError(f"{self} takes {len(self.inputs)} inputs, not {len(inputs)}")
        given = [t.filter_variable(x) for x, t in zip(inputs, self.input_types)]
        return Apply(self, given, [t() for t in self.output_types])

    def _lower(self, apply):
        """The nodes of the graph on the given inputs; with overrides a node of its own."""
        if any(
            not isinstance(o, str) or o != "default" for o in (self.overrides, self.rop_overrides)
        ):
            return Op._lower(self, apply)
        made = replayed(self.outputs, dict(zip(self.inputs, apply.inputs)))
        for out, new in zip(apply.outputs, made):
            out.node = new.node

    def perform(self, node, inputs, outputs):
        fn = self.__dict__.get("_fn")
        if fn is None:
            fn = self.__dict__["_fn"] = function(
                self.inputs, self.outputs, on_unused_input="ignore"
            )
        for cell, value in zip(outputs, fn(*inputs)):
            cell[0] = value

    fn = property(lambda self: self.__dict__.get("_fn"))

    def L_op(self, inputs, outputs, output_grads):  # noqa: N802
        """Gradients: those of the graph, but for what was overridden."""
        override = self.overrides
        if callable(override):
            return self._called(override, inputs, outputs, output_grads)
        default = self._default(inputs, output_grads)
        if not isinstance(override, list):
            return [self._one(override, inputs, outputs, output_grads, g) for g in default]
        return [self._one(o, inputs, outputs, output_grads, g) for o, g in zip(override, default)]

    def _one(self, override, inputs, outputs, output_grads, default):
        if override is None or isinstance(override, str) and override == "default":
            return default
        if _special(override):
            return override
        return self._called(override, inputs, outputs, output_grads)

    def _called(self, override, *given):
        """What an override makes of inputs, outputs if it asked for them, and gradients: three
        lists for a function, one variable after the other for an OpFromGraph."""
        inputs, outputs, grads = given
        parts = (inputs, outputs, grads) if self.with_outputs else (inputs, grads)
        if not isinstance(override, OpFromGraph):
            return override(*parts)
        return override(*(v for part in parts for v in part), return_list=True)

    def connection_pattern(self, node):
        """For each input and output whether the one depends on the other."""
        return io_connection_pattern(self.inputs, self.outputs)

    def _default(self, inputs, output_grads):
        inner = [x.type() for x in self.inputs]
        outs = replayed(self.outputs, dict(zip(self.inputs, inner)))
        known = {
            o: g
            for o, g in zip(outs, output_grads)
            if not isinstance(getattr(g, "type", None), DisconnectedType)
        }
        found = grad(
            None,
            inner,
            known_grads=known,
            disconnected_inputs="ignore",
            return_disconnected="Disconnected",
            null_gradients="return",
        )
        return [
            g if not hasattr(g, "node") else replayed([g], dict(zip(inner, inputs)))[0]
            for g in found
        ]

    def R_op(self, inputs, eval_points):  # noqa: N802
        """Tangents of the outputs: those of the graph, but for what was overridden."""
        points = [x.zeros_like() if p is None else p for x, p in zip(inputs, eval_points)]
        override, count = self.rop_overrides, len(self.outputs)
        if isinstance(override, OpFromGraph):
            return override(*inputs, *points, return_list=True)
        if _special(override):
            return [override] * count
        if not isinstance(override, list):
            if not callable(override):
                raise UsageError(
                    "rop_overrides are (a list of) 'default', an OpFromGraph, a "
                    f"callable or a variable without a value, not {override!r}"
                )
            return override(inputs, points)
        if len(override) != count:
            raise ArgumentError(f"Need to override {count} Rop, got {len(override)}")
        default = self._default_rop(inputs, points)
        return [
            d if isinstance(o, str) and o == "default" else o if _special(o) else o(inputs, points)
            for o, d in zip(override, default)
        ]

    def _default_rop(self, inputs, points):
        inner = [x.type() for x in self.inputs]
        outs = replayed(self.outputs, dict(zip(self.inputs, inner)))
        found = Rop(outs, inner, points, disconnected_outputs="ignore")
        return replayed(found, dict(zip(inner, inputs)))

    def infer_shape(self, node, shapes):
        """Shapes are those of the graph's own nodes where they are known."""
        made = replayed(self.outputs, dict(zip(self.inputs, node.inputs)))
        return [tuple(o.node.shape) for o in made]


def _special(x):
    """Whether an override is a variable that says: undefined, or disconnected."""
    return isinstance(getattr(x, "type", None), (NullType, DisconnectedType))


__getattr__ = _absent_of("theano.compile.builders")
