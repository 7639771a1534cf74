"""Op: what an Apply applies. PureOp and Op are what users derive from; KernelOp is the engine's.

A user's Op has `make_node` and `perform`; it becomes one node of the engine, whose meaning is
`perform` and whose gradient is `L_op` or `grad` (perform.py). A KernelOp is a function that makes
engine nodes, with attributes; equal functions and attributes are equal ops.
"""

from ...base.errors import ArgumentError, NotSupported, ShapeError, UsageError
from ..base import utils
from ..base.hooks import hook, register_hook
from ..base.names import absent_of as _absent_of
from ..graph.apply import Apply
from ..handles.variables import as_tensor_variable, wrap
from ..user_ops.clinker import CLinkerObject, CLinkerOp  # noqa: F401

NO_TEST_VALUES = ("off",)


class PureOp:
    """An op without C: `make_node`, `perform`, `grad`, and what follows from them."""

    default_output = None

    def make_node(self, *inputs):
        """The Apply of this op to `inputs`, whatever they are made of."""
        if (
            self.__dict__.get("itypes", getattr(self, "itypes", None)) is None
            or getattr(self, "otypes", None) is None
        ):
            raise NotSupported(
                f"{type(self).__name__} says nothing of its inputs and "
                "outputs: give it make_node, or itypes and otypes"
            )
        if len(inputs) != len(self.itypes):
            raise ArgumentError(f"{self} takes {len(self.itypes)} inputs, not {len(inputs)}")
        given = [x if hasattr(x, "type") else as_tensor_variable(x) for x in inputs]
        if not all(x.type == t for x, t in zip(given, self.itypes)):
            raise UsageError(
                f"the inputs have the types {[x.type for x in given]}, but this op "
                f"takes {self.itypes}; cast them first"
            )
        return Apply(self, given, [o() for o in self.otypes])

    def __call__(self, *inputs, **kwargs):
        return_list = kwargs.pop("return_list", False)
        node = self.make_node(*inputs, **kwargs)
        from ..base.config import config  # programs would see the name here

        if config.compute_test_value != "off":
            hook("compute_test_value")(node)
        if self.default_output is not None:
            found = node.outputs[self.default_output]
            return [found] if return_list else found
        if return_list:
            return list(node.outputs)
        return node.outputs[0] if len(node.outputs) == 1 else node.outputs

    def perform(self, node, inputs, output_storage, params=None):
        """Compute: put the value of each output into output_storage[k][0]."""
        raise utils.MethodNotDefined(
            "perform",
            type(self),
            self.__class__.__name__,
            "define perform in this class: it is what computes the op",
        )

    def L_op(self, inputs, outputs, output_grads):  # noqa: N802
        """Gradients with respect to `inputs`; refers to `grad` unless an op has its own."""
        return self.grad(inputs, output_grads)

    def R_op(self, inputs, eval_points):  # noqa: N802
        raise NotSupported(
            f"{self} has no R_op; define R_op(inputs, eval_points) in class {type(self).__name__}"
        )

    def do_constant_folding(self, node):
        """Whether an application to constants may be computed beforehand."""
        return True


class Op(utils.object2, PureOp, CLinkerOp):
    """What users derive from. `__props__` names the attributes that make two ops equal."""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        own = cls.__dict__
        if "__props__" in own and own["__props__"] is not None:
            if "__eq__" not in own:
                cls.__eq__ = _equal_by_props
                cls.__hash__ = own.get("__hash__") or _hash_by_props
            if (
                "__str__" not in own
                and cls.__str__ is object.__str__
                or getattr(cls.__str__, "by_props", False)
            ):
                cls.__str__ = _text_by_props

    def _props(self):
        return tuple(getattr(self, a) for a in self.__props__)

    def _props_dict(self):
        """{name: value} of the attributes that make an op equal to another."""
        return {a: getattr(self, a) for a in getattr(self, "__props__", ())}

    def _lower(self, apply):
        """Give the outputs of `apply`, fresh, their nodes of the engine."""
        hook("lower")(self, apply)

    def make_thunk(self, node, storage_map, compute_map, no_recycling, impl=None):
        """A callable that computes `node` from the lists of storage_map, in C where it can."""
        return self._thunk(node, storage_map, compute_map, "py" if impl == "py" else None)

    def make_c_thunk(self, node, storage_map, compute_map, no_recycling):
        """`make_thunk` in C; NotImplementedError where there is none."""
        return self._thunk(node, storage_map, compute_map, "c")

    def make_py_thunk(self, node, storage_map, compute_map, no_recycling, debug=False):
        """`make_thunk` through `perform`."""
        return self._thunk(node, storage_map, compute_map, "py")

    def _thunk(self, node, storage_map, compute_map, way):
        ins, outs = [storage_map[x] for x in node.inputs], [storage_map[x] for x in node.outputs]
        act = hook("way_of")(node, way)

        def rval():
            act([x[0] for x in ins], outs)
            for x in node.outputs:
                compute_map[x][0] = True

        rval.inputs, rval.outputs, rval.lazy = ins, outs, False
        return rval

    def get_params(self, node):
        """The parameters `perform` gets last, where the op has a params_type."""
        kind = getattr(self, "params_type", None)
        if hasattr(kind, "get_params"):
            return kind.get_params(self, node=node)
        if kind is not None and hasattr(kind, "is_enum"):
            return kind
        raise utils.MethodNotDefined("get_params")

    def prepare_node(self, node, storage_map, compute_map, impl):
        pass


def folds(node):
    """Whether the op of an Apply lets its value be computed beforehand, where that is known."""
    rule = node.op.do_constant_folding
    code = getattr(rule, "__code__", None)
    if code is not None and code.co_argcount > 2:  # as Theano-PyMC has it: (self, fgraph, node)
        return rule(None, node)
    return rule(node)


def run(op, node, inputs, outputs):
    """`op.perform`, with parameters where it takes some."""
    if getattr(op, "params_type", None) is not None:
        return op.perform(node, inputs, outputs, op.get_params(node))
    return op.perform(node, inputs, outputs)


def _equal_by_props(self, other):
    return type(self) is type(other) and all(
        _same(getattr(self, a), getattr(other, a)) for a in self.__props__
    )


def _same(a, b):
    found = a == b
    return found.all() if hasattr(found, "all") else found


def _hash_by_props(self):
    return hash((type(self), tuple(getattr(self, a) for a in self.__props__)))


def _text_by_props(self):
    if not self.__props__:
        return self.__class__.__name__
    shown = ", ".join(f"{a}={getattr(self, a)!r}" for a in self.__props__)
    return f"{self.__class__.__name__}{{{shown}}}"


_text_by_props.by_props = True


class KernelOp(Op):
    """An op the engine has: `build(*nodes, **attrs)` gives its node, or a list of nodes."""

    def __init__(self, build, name=None, **attrs):
        self.build, self.attrs = build, attrs
        self.name = name or build.__name__.strip("_")

    def make_node(self, *inputs):
        inputs = [as_tensor_variable(x) for x in inputs]
        return self.on(inputs)

    def on(self, inputs):
        """The Apply on tensor variables."""
        found = self._nodes([x.node for x in inputs])
        nodes = found if isinstance(found, (list, tuple)) else [found]
        return Apply.made(self, inputs, [wrap(n) for n in nodes])

    def _nodes(self, nodes):
        """What `build` gives, a node or a list; where known sizes do not fit, what raises that."""
        try:
            return self.build(*nodes, **self.attrs)
        except ShapeError as problem:
            from .refused import refused  # programs would see the name here

            return refused(self.build, nodes, self.attrs, problem)

    def __call__(self, *inputs, **kwargs):
        node = self.make_node(*inputs)
        if _test_values() != "off":
            hook("compute_test_value")(node)
        outputs = node.outputs
        if kwargs:
            for x in outputs:
                x.name = kwargs.get("name")
            if kwargs.get("return_list"):
                return outputs
        return outputs[0] if len(outputs) == 1 else outputs

    def _lower(self, apply):
        nodes = self._nodes([x.node for x in apply.inputs])
        for out, node in zip(apply.outputs, nodes if isinstance(nodes, (list, tuple)) else [nodes]):
            out.node = node

    def __eq__(self, other):
        return self is other or (
            type(self) is type(other) and self.build is other.build and self.attrs == other.attrs
        )

    def __hash__(self):
        return hash((type(self), self.build, repr(sorted(self.attrs.items()))))

    def __str__(self):
        shown = {k: v for k, v in self.attrs.items() if v is not None}
        if not shown:
            return self.name
        return f"{self.name}{{{', '.join(f'{k}={v}' for k, v in shown.items())}}}"

    def perform(self, node, inputs, output_storage, params=None):
        """The meaning, through the engine's interpreter."""
        found = hook("interpret")(self, inputs, len(node.outputs))
        for cell, value in zip(output_storage, found):
            cell[0] = value

    def __getattr__(self, name):
        attrs = self.__dict__.get("attrs", {})
        if name in attrs:
            return attrs[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")


def _test_values():
    from ..base.config import config  # programs would see the name here

    global _test_values
    values = config._values
    _get = config._get

    def _test_values():
        return values.get("compute_test_value") or _get("compute_test_value")

    return _test_values()


def apply_op(build, *inputs, **attrs):
    """The variable (or list) of `build` applied to tensors, numbers and arrays."""
    return KernelOp(build, **attrs)(*inputs)


class NodeOp(Op):
    """An op of the engine, seen from above: what results of `grad` and `scan` are made by."""

    def __init__(self, op, attrs):
        self.op, self.attrs, self.name = op, attrs, op.name

    def make_node(self, *inputs):
        inputs = [as_tensor_variable(x) for x in inputs]
        return Apply.made(self, inputs, [wrap(n) for n in self.nodes([x.node for x in inputs])])

    def nodes(self, inputs):
        """The nodes of the outputs on other input nodes."""
        from ...graph.node import item, make  # programs would see the name here

        node = make(self.op, inputs, self.attrs)
        if node.outs is None:
            return [node]
        return [item(node, k) for k in range(len(node.outs))]

    def _lower(self, apply):
        for out, node in zip(apply.outputs, self.nodes([x.node for x in apply.inputs])):
            out.node = node

    def perform(self, node, inputs, output_storage, params=None):
        found = hook("interpret")(self, inputs, len(node.outputs))
        for cell, value in zip(output_storage, found):
            cell[0] = value

    def __eq__(self, other):
        return type(self) is type(other) and self.op is other.op and self.attrs == other.attrs

    def __hash__(self):
        return hash((NodeOp, self.op.name))

    def __str__(self):
        return self.name

    def __reduce__(self):
        return _node_op, (self.op.name, self.attrs)


def _node_op(name, attrs):
    from ...graph.op import REGISTRY  # programs would see the name here

    return NodeOp(REGISTRY[name], attrs)


register_hook("node_op", NodeOp)

__getattr__ = _absent_of(
    "theano.gof.op",
    {
        "user_ops.cop": "COp OpenMPOp",
        "handles.test_values": """get_test_value get_debug_values missing_test_message
            debug_error_message""",
    },
)
