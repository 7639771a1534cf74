"""The engine's row for Ops of users: its meaning is `perform`, its gradient `L_op` or `grad`.

Equal Ops on equal inputs are one node, as everywhere. `infer_shape` tells shapes beforehand, where
an Op has it; without it the engine finds out in each call.
"""

import contextlib
import contextvars
import weakref

import numpy as np

from ... import ops
from ...api.tensor import placeholder_node
from ...base import dtypes
from ...base.errors import (
    ArgumentError,
    CKernelsError,
    DTypeError,
    NotSupported,
    ShapeError,
    UsageError,
)
from ...graph.node import constant, item, make
from ...graph.op import Op as Row
from ...graph.walk import rebuild, toposort
from ...ops.reference import evaluate
from ..base.exceptions import BadDestroyMap, BadViewMap
from ..base.hooks import register_hook
from ..base.utils import MethodNotDefined
from ..classes.op import Op, folds, run
from ..classes.special import null
from ..graph.apply import Apply, apply_order
from ..graph.type import DisconnectedType, NullType
from ..graph.walks import handle_of, whole_of
from ..handles.variables import as_tensor_variable, wrap

_returned = contextvars.ContextVar("returned", default=None)


@contextlib.contextmanager
def noting(memo):
    """A list that the gradients which Ops of users give are added to, as they give them.

    memo: {uid of a node: handle}: what these Ops get are its handles, so that whatever they make of
    them has its graph above it.
    """
    found = []
    token = _returned.set((found, memo))
    try:
        yield found
    finally:
        _returned.reset(token)


class Performed:
    """An Op with the types of its outputs, as an attribute of a node.

    way: "c" or "py" for an Op that is to run in C, or by `perform`; None: as it can; "debug": as it
    can, and what it does to memory is compared with what it declares.
    """

    act = None
    seen = objects = False  # whether there is an Op of a user; one on what is no tensor

    def __init__(self, apply, way=None):
        self.op, self.apply, self.way = apply.op, apply, way
        self.types = tuple(
            (o.type.dtype, tuple(1 if b else None for b in o.type.broadcastable))
            for o in apply.outputs
        )

    def __eq__(self, other):
        return (
            isinstance(other, Performed)
            and self.types == other.types
            and self.way == other.way
            and self.op == other.op
        )

    def __hash__(self):
        try:
            return hash((self.types, self.op))
        except TypeError:
            return hash((self.types, type(self.op)))

    def __repr__(self):
        return str(self.op)

    def ready(self):
        """The function of (inputs, storage) that computes; C is compiled now."""
        if self.act is None:
            self.act = way_of(self.apply, None if self.way == "debug" else self.way)
        return self.act

    def shapes(self, inputs):
        """The shapes of the outputs: what the types say, refined by infer_shape where it is."""
        infer = getattr(self.op, "infer_shape", None)
        found = [shape for _, shape in self.types]
        if infer is None or any(None in n.shape for n in inputs):
            return found
        try:
            given = infer(self.apply, [tuple(n.shape) for n in inputs])
            told = [tuple(_known(d) for d in shape) for shape in given]
        except (
            MethodNotDefined,
            NotImplementedError,
            CKernelsError,
            TypeError,
            AttributeError,
            ValueError,
            KeyError,
            IndexError,
        ):
            return found
        return [t if len(t) == len(f) else f for t, f in zip(told, found)]


def _known(size):
    """A size that infer_shape gave as an int, or None."""
    node = getattr(size, "node", None)
    if node is None:
        return size if size is None or not isinstance(size, np.generic) else int(size)
    return ops.known_value(node)


def _value(array, kind):
    """An array as `perform` of a user's Op gets it: NumPy's number for a scalar type."""
    return array[()] if not hasattr(kind, "value_zeros") else array


def way_of(apply, way=None):
    """What computes an Apply of a user's Op: a thunk of its own, its C, or `perform`.

    A function of (list of values, list of cells for the outputs). way: "c" or "py" asks for one.
    """
    op = apply.op
    if way is None and type(op).make_thunk is not Op.make_thunk:
        return _own_thunk(op, apply)
    if way != "py":
        from .c_code import NoC, Thunk, has_c  # start-up: 1.4 ms, few programs hold C

        if has_c(op):
            try:
                return Thunk(apply)
            except (NoC, NotImplementedError, MethodNotDefined) as problem:
                if way == "c" or type(op).perform is Op.perform and "perform" not in vars(op):
                    raise NotSupported(f"{op} has no Python, and no C here: {problem}") from None
        elif way == "c":
            raise NotSupported(f"{op} has no c_code")
    return lambda inputs, storage: run(op, apply, inputs, storage)


def _own_thunk(op, apply):
    """What an Op's own make_thunk gives, fed through its storage_map."""
    storage = {x: [None] for x in (*apply.inputs, *apply.outputs)}
    done = {x: [False] for x in storage}
    thunk = op.make_thunk(apply, storage, done, [])

    def act(inputs, cells):
        for x, value in zip(apply.inputs, inputs):
            storage[x][0] = value
        thunk()
        for x, cell in zip(apply.outputs, cells):
            cell[0] = storage[x][0]

    return act


def prepared(nodes, way=None):
    """The nodes with all users' Ops above them ready to run: their C compiled, errors raised.

    way: "py" and "debug" put Ops in their place that run so.
    """
    found = [n for n in toposort(nodes) if n.op.name in ROWS] if Performed.seen else []
    if way in ("py", "debug"):
        changed = {}
        for n in found:
            held = Performed(n.attrs["op"].apply, way)
            changed[n] = make(n.op, n.inputs, {"op": held})
        nodes = rebuild(nodes, changed) if changed else nodes
    else:
        for n in found:
            n.attrs["op"].ready()
    return nodes


def _infer(attrs, *inputs):
    held = attrs["op"]
    pairs = [(dtype, shape) for (dtype, _), shape in zip(held.types, held.shapes(inputs))]
    return pairs if len(pairs) > 1 else pairs[0]


def _run(attrs, *arrays):
    held = attrs["op"]
    op, storage = held.op, [[None] for _ in held.types]
    # What computes may write to what it gets, and keep it: it gets copies.
    copied = [_value(np.array(a), x.type) for a, x in zip(arrays, held.apply.inputs, strict=True)]
    (held.act or held.ready())(copied, storage)
    if held.way == "debug":
        _look(held.op, arrays, copied, storage)
    found = []
    for cell, (dtype, shape), k in zip(storage, held.types, range(len(storage))):
        value = np.asarray(cell[0])
        if cell[0] is None:
            raise UsageError(f"perform of {op} put nothing into output_storage[{k}][0]")
        if value.dtype.name != dtype:
            raise DTypeError(
                f"perform of {op} made output {k} of dtype {value.dtype}; its "
                f"make_node says {dtype}"
            )
        if value.ndim != len(shape):
            raise ShapeError(
                f"perform of {op} made output {k} of {value.ndim} dimensions; its "
                f"make_node says {len(shape)}"
            )
        found.append(value)
    return tuple(found) if len(found) > 1 else found[0]


def _look(op, arrays, given, storage):
    """BadDestroyMap or BadViewMap where an Op did to memory what it does not declare.

    arrays: its inputs as they were; given: those it got.
    """
    destroyed, viewed = getattr(op, "destroy_map", {}), getattr(op, "view_map", {})
    written = {k for places in destroyed.values() for k in places}
    for k, (before, after) in enumerate(zip(arrays, given)):
        after = np.asarray(after)
        if k not in written and not _same(np.asarray(before), after):
            raise BadDestroyMap(
                f"{op} wrote to its input {k}, which its destroy_map {destroyed} does not name"
            )
        for place, cell in enumerate(storage):
            named = [*viewed.get(place, ()), *destroyed.get(place, ())]
            made = np.asarray(cell[0])
            if k not in named and made.dtype != object and np.may_share_memory(made, after):
                raise BadViewMap(
                    f"output {place} of {op} shares memory with its input {k}, which neither its "
                    f"view_map {viewed} nor its destroy_map names"
                )


def _same(a, b):
    """Whether two arrays have one shape and the same bits, NaN included."""
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def _grad(node, g):
    held = node.attrs["op"]
    noted, memo = _returned.get() or ([], {})
    inputs = [handle_of(n, memo) for n in node.inputs]
    several = node.outs is not None
    made = [item(node, k) for k in range(len(node.outs))] if several else [node]
    outputs = [wrap(n) for n in made]
    Apply.made(held.op, inputs, outputs)
    flowing = g if several else [g]
    given = [DisconnectedType()() if x is None else handle_of(x, memo) for x in flowing]
    try:
        found = held.op.L_op(inputs, outputs, given)
    except (MethodNotDefined, AttributeError) as problem:
        if isinstance(problem, AttributeError) and hasattr(held.op, "grad"):
            raise
        return [null(n, f"{held.op} has no grad") for n in node.inputs]
    if len(found) != len(inputs):
        raise ArgumentError(f"{held.op}.grad gave {len(found)} gradients for {len(inputs)} inputs")
    parts = []
    for x, part in zip(inputs, found):
        if part is None:
            raise UsageError(
                f"{held.op}.grad gave None for an input. Say what it means: zeros_like "
                "of the input where the slope is 0, disconnected_type() where nothing "
                "flows, grad_undefined or grad_not_implemented where there is none"
            )
        kind = getattr(part, "type", None)
        if isinstance(kind, DisconnectedType):
            parts.append(None)
        elif isinstance(kind, NullType):
            parts.append(null(x.node, kind.why_null))
        elif not dtypes.is_inexact(x.node.dtype):
            parts.append(None)
        else:
            part = as_tensor_variable(part)
            noted.append(part)
            parts.append(_shaped(held.op, part.node, x.node))
    return parts


def _shaped(op, part, x):
    if part.ndim != x.ndim:
        raise ArgumentError(
            f"{op}.grad gave a gradient of {part.ndim} dimensions for an input of {x.ndim}"
        )
    return (
        part if part.dtype == x.dtype or dtypes.is_complex(part.dtype) else ops.cast(part, x.dtype)
    )


Row(
    "perform",
    "opaque",
    _infer,
    _run,
    _grad,
    properties={"knows_complex": True},
    doc="An Op of Theano's kind, written in Python.",
)
Row(
    "perform_unfolded",
    "opaque",
    _infer,
    _run,
    _grad,
    properties={"effect": True, "knows_complex": True},
    doc="`perform` of an Op whose do_constant_folding says no: it runs in each call.",
)
ROWS = ("perform", "perform_unfolded")


def lower(op, apply):
    """Give the outputs of an Apply of a user's Op their node; none where something is no tensor."""
    nodes = [getattr(x, "node", None) for x in apply.inputs]
    outs = [getattr(x, "node", None) for x in apply.outputs]
    if None in nodes or None in outs or not outs:
        stand_in(apply)
        return
    Performed.seen = True
    made = make(ROWS[0 if folds(apply) else 1], nodes, {"op": Performed(apply)})
    for k, x in enumerate(apply.outputs):
        x.node = made if made.outs is None else item(made, k)


def stand_in(apply):
    """Let the outputs of an Apply stand for what Python makes."""
    Performed.objects = True
    for x in apply.outputs:
        if getattr(x, "node", None) is not None:
            x.node = _opaque(x)


def _opaque(x):
    """A node for a tensor that the engine cannot compute: made of what is no tensor."""
    made = standing_for(placeholder_node(x.node.dtype, x.node.shape, x.name))
    made.attrs["stands_for"].note(x)
    return made


class Standing:
    """What a placeholder is the value, or a part, of: `whole()` gives that variable.

    The reference is weak: the table of nodes keeps attributes, and variables keep their nodes.
    """

    def note(self, variable):
        self.whole = weakref.ref(variable)


def standing_for(node, standing=None):
    """The placeholder `node` with a Standing, a new one by default, among its attributes."""
    return make(node.op, (), {**node.attrs, "stands_for": standing or Standing()})


def is_opaque(apply):
    """Whether the outputs of an Apply have no meaning to the engine: Python makes them."""
    for x in apply.outputs:
        parts = getattr(x, "tensor_parts", None) or [x]
        for node in (getattr(t, "node", None) for t in parts):
            if node is None or whole_of(node) is x:
                return True
    return False


def may_be_none(variables):
    """The variables that calls may give None for, among what `variables` are made of."""
    applies = apply_order([v for v in variables if v is not None])
    return {a.inputs[k] for a in applies for k in getattr(a.op, "takes_none", ())}


def interpret(op, arrays, count):
    """The values of a KernelOp or NodeOp on arrays, by the engine's NumPy interpreter."""
    nodes = [constant(np.asarray(a)) for a in arrays]
    if hasattr(op, "build"):
        found = op.build(*nodes, **op.attrs)
        found = list(found) if isinstance(found, (list, tuple)) else [found]
    else:
        found = op.nodes(nodes)
    return [np.array(v) for v in evaluate(found, {})][:count]


register_hook("lower", lower)
register_hook("way_of", way_of)
register_hook("interpret", interpret)
