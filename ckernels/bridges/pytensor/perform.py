"""Ops without a translation: PyTensor's own `perform` as a Python call inside of a plan.

A plan knows the shape of everything it holds, so the shapes of the results are operands of the
call: computed by the op's `infer_shape`, which PyTensor gives as a graph of sizes. Where an op
cannot infer them, Untranslated is raised, and the graph is cut (see pieces.py).
"""

import numpy as np

from ... import ops
from ...base import locks
from ...base.errors import ShapeError
from ...graph.node import Node, item, make
from ...graph.op import Op
from ...ops.shape import known_values, size_of
from .registry import Untranslated, is_a


class Raised(Exception):
    """An exception of a `perform`, on its way through the plan to the user; see linker.py."""

    def __init__(self, error, node):
        super().__init__(str(error))
        self.error, self.node = error, node


class Call:
    """`perform` of one apply node as a function of arrays. Equal only to itself.

    mistaken: a set, to which the op is added when its infer_shape turns out to be wrong.
    """

    def __init__(self, node, mistaken=None):
        self.node, self.ready, self.mistaken = node, False, mistaken
        self.lock = locks.lock()
        self.destroyed = {i for which in (node.op.destroy_map or {}).values() for i in which}
        self.scalars = [k for k, v in enumerate(node.inputs) if is_scalar(v)]
        self.compute = _elementwise if _too_wide(node) else node.op.perform
        if is_a(node.op, "HasInnerFunction", "HasInnerGraph"):
            self.compute = _compiled_inside(self.compute)
        self.own = type(node.op).__module__.startswith("pytensor.")

    def prepare(self):
        """What PyTensor's thunks do before the first call."""
        with self.lock:
            if not self.ready:
                prepare = getattr(self.node.op, "prepare_node", None)
                if prepare is not None:
                    prepare(self.node, storage_map=None, compute_map=None, impl="py")
                self.ready = True

    def __call__(self, *values):
        """The values of the outputs, a list; Raised around what `perform` raises."""
        if not self.own:  # what NumPy warns a user's op of, PyTensor lets it warn of
            return self.outputs(*values)
        with np.errstate(all="ignore"):
            return self.outputs(*values)

    def outputs(self, *values):
        """The same, with NumPy's warnings as they are."""
        node = self.node
        storage = [[None] for _ in node.outputs]
        try:
            if not self.ready:
                self.prepare()
            values = list(values)
            for k in self.destroyed:
                if isinstance(values[k], np.ndarray):
                    values[k] = values[k].copy()
            for k in self.scalars:  # PyTensor has numbers there
                if isinstance(values[k], np.ndarray) and not values[k].ndim:
                    values[k] = values[k][()]
            self.compute(node, values, storage)
        except Exception as problem:
            raise Raised(problem, node) from problem
        return [s[0] for s in storage]


def _too_wide(node):
    """Whether PyTensor's `perform` refuses an Elemwise for its many operands."""
    return len(node.inputs) + len(node.outputs) > 32 and is_a(node.op, "Elemwise")


def _elementwise(node, values, storage):
    """What an Elemwise gives, by a call of its scalar op for each element."""
    rows = np.broadcast_arrays(*values)
    for place, v in zip(storage, node.outputs):
        place[0] = np.empty(rows[0].shape, v.type.dtype)
    for index in np.ndindex(rows[0].shape):
        found = node.op.scalar_op.impl(*[row[index] for row in rows])
        for place, x in zip(storage, found if len(storage) > 1 else [found]):
            place[0][index] = x


def is_scalar(variable):
    """Whether a variable is one of PyTensor's scalars, which are no 0-d arrays."""
    return type(variable.type).__name__ == "ScalarType"


def _compiled_inside(perform):
    """`perform`; functions that an op compiles for itself are not left to the default linker."""
    from pytensor import config

    def compute(node, values, storage):
        with config.change_flags(mode="CKERNELS"):
            perform(node, values, storage)

    return compute


class Choice(Call):
    """The value of an IfElse whose sides are both computed: PyTensor has no `perform` for it."""

    def __call__(self, condition, *sides):
        count = self.node.op.n_outs
        return list(sides[:count] if condition else sides[count:])


def call_of(node):
    """The Call of an apply node that runs between plans."""
    return (Choice if type(node.op).__name__ == "IfElse" else Call)(node)


# --- the op -----------------------------------------------------------------------------------


def _infer(attrs, *inputs):
    vectors = inputs[len(inputs) - len(attrs["types"]) :]
    found = []
    for (dtype, ndim), vector in zip(attrs["types"], vectors):
        found.append((dtype.name, tuple(known_values(vector)) if ndim else ()))
    return found


def _run(attrs, *arrays):
    call, types = attrs["call"], attrs["types"]
    count = len(arrays) - len(types)
    results = []
    for value, vector, (dtype, ndim) in zip(call(*arrays[:count]), arrays[count:], types):
        value = np.asarray(value)
        if value.shape != (tuple(vector.tolist()) if ndim else ()):
            call.mistaken.add(call.node.op)
            raise ShapeError(
                f"{call.node.op} gave an array of shape {value.shape} where "
                f"its infer_shape says {tuple(vector.tolist())}"
            )
        results.append(value if value.dtype == dtype else value.astype(dtype))
    return tuple(results)


Op(
    "pytensor_perform",
    "opaque",
    _infer,
    _run,
    doc="What attrs['call'] makes of the operands; the last ones are the shapes of the results.",
)


def performed(context, node, inputs):
    """The outputs of `node` as a Python call in the plan; Untranslated where shapes are unknown."""
    if any(not isinstance(x, Node) for x in inputs) or type(node.op).__name__ == "IfElse":
        raise Untranslated("operands that are no tensors")
    if node.op in context.mistaken:
        raise Untranslated("its infer_shape was wrong")
    types = tuple((np.dtype(v.type.dtype), v.type.ndim) for v in node.outputs)
    vectors = [ops.pack(*sizes) for sizes in shapes_of(context, node, inputs)]
    made = make(
        "pytensor_perform",
        (*inputs, *vectors),
        {"call": Call(node, context.mistaken), "types": types},
    )
    context.note(node)
    return [item(made, k) for k in range(len(types))]


# --- shapes of the results --------------------------------------------------------------------


def shapes_of(context, node, inputs):
    """For each output its sizes: ints and scalar nodes."""
    found = [list(v.type.shape) for v in node.outputs]
    if all(None not in shape for shape in found):
        return found
    if type(node.op).__name__ == "Elemwise":
        return [_broadcast(node, inputs)] * len(node.outputs)
    inferred = _inferred(context, node, inputs)
    return [
        [s if s is not None else i for s, i in zip(static, sizes)]
        for static, sizes in zip(found, inferred)
    ]


def _broadcast(node, inputs):
    """The shape of an Elemwise: along each axis the size of an operand that does not broadcast."""
    sizes = []
    for axis in range(node.outputs[0].type.ndim):
        from_ = next((k for k, v in enumerate(node.inputs) if v.type.shape[axis] != 1), 0)
        sizes.append(size_of(inputs[from_], axis))
    return sizes


def _inferred(context, node, inputs):
    """What the op's infer_shape says, translated: PyTensor's graph of the sizes of the inputs."""
    from pytensor.graph.basic import Variable

    infer = getattr(node.op, "infer_shape", None)
    if infer is None:
        raise Untranslated(f"{type(node.op).__name__} does not infer shapes")
    from pytensor.tensor import constant, lscalar

    given, shapes = {}, []
    for variable, x in zip(node.inputs, inputs):
        row = []
        for axis, static in enumerate(variable.type.shape if x.ndim else ()):
            row.append(lscalar() if static is None else constant(static, dtype="int64"))
            if static is None:
                given[row[-1]] = _as_node(size_of(x, axis))
        shapes.append(tuple(row))
    try:
        result = _call_infer(infer, node, shapes)
    except Exception as problem:
        raise Untranslated(f"infer_shape of {type(node.op).__name__}: {problem}") from problem
    given.update(zip(node.inputs, inputs))
    if result is None or any(r is None for r in result):
        raise Untranslated("no shape")
    return [
        [context.size(s, given, node) if isinstance(s, Variable) else int(s) for s in shape]
        for shape in result
    ]


def _as_node(size):
    return size if isinstance(size, Node) else ops.to_node(np.asarray(size, "int64"))


def _call_infer(infer, node, shapes):
    """infer_shape of PyTensor 3.3 (node, shapes) or before (fgraph, node, shapes)."""
    import inspect  # start-up

    count = len(inspect.signature(infer).parameters)
    if count == 2:
        return infer(node, shapes)
    from pytensor.graph.fg import FunctionGraph

    return infer(FunctionGraph(outputs=list(node.outputs), clone=False), node, shapes)
