"""theano.scalar: the scalar ops behind Elemwise, the types of single numbers, and `upcast`.

A scalar variable is a tensor of no dimensions for the engine; scalar ops make scalar variables of
them, and Elemwise applies the same rules to tensors. C code of scalar ops is not needed: the engine
generates its own.
"""

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import UsageError
from ...graph.node import constant as constant_node
from ...graph.walk import rebuild
from ..base.hooks import hook as _hook
from ..base.names import elsewhere as _elsewhere
from ..graph import apply as _gof
from ..graph.apply import Apply, Constant, Variable, as_string, equal_computations
from ..graph.type import Type
from ..handles.sharedvar import shared  # noqa: F401
from ..handles.type import name_of
from ..handles.variables import (  # noqa: F401
    Handle,
    as_tensor_variable,
    autocast,
    autocast_float,
    autocast_float_as,
    placeholder_node,
    wrap,
)
from ..user_ops.clinker import CNumber
from . import meanings
from .impls import through_impl
from .meanings import ComplexError, upcast  # noqa: F401
from .op import KernelOp, Op

int_types_names = dtypes.SIGNED


class Scalar(CNumber, Type):
    """A single number of `dtype`."""

    ndim, broadcastable, static = 0, (), ()

    def __init__(self, dtype):
        self.dtype = name_of(dtype)
        self.numpy_dtype = np.dtype(self.dtype)

    def filter(self, data, strict=False, allow_downcast=None):
        """`data` as a NumPy scalar of this dtype; TypeError where it does not fit."""
        py = np.asarray(data)
        if strict and py.dtype != self.numpy_dtype:
            raise UsageError(f"{self} expected a {self.dtype}, got {data} of type {type(data)}")
        cast = py.astype(self.numpy_dtype)
        if not strict and (
            allow_downcast
            or np.array_equal(cast, py)
            or (allow_downcast is None and type(data) is float)
        ):
            return cast[()]
        if strict:
            return py[()]
        raise UsageError(
            f"{data} would change its value as {self.dtype}; pass allow_downcast=True "
            "to accept that"
        )

    def clone(self, dtype=None):
        return type(self)(self.dtype if dtype is None else dtype)

    def values_eq_approx(self, a, b, tolerance=1e-4):
        return abs(a - b) <= (abs(a) + abs(b)) * tolerance or a == b

    def make_variable(self, name=None):
        return ScalarVariable(self, name=name)

    def __eq__(self, other):
        return type(self) is type(other) and self.dtype == other.dtype

    def __hash__(self):
        return hash(("Scalar", self.dtype))

    def __str__(self):
        return self.dtype

    def __repr__(self):
        return f"Scalar({self.dtype})"


ScalarType = Scalar


def _as_tensor(x):
    """A number as a tensor without dimensions."""
    return tensor_from_scalar(x)


class ScalarVariable(Handle, Variable):
    """A symbolic number."""

    is_tensor, _as_TensorVariable = False, _as_tensor

    def __init__(self, type, owner=None, index=None, name=None):
        self._type, self.name, self._number = type, name, _gof.number()
        self.node = placeholder_node(type.dtype, (), name)
        if owner is not None:
            self.owner, self.index = owner, index


class ScalarConstant(Handle, Constant):
    """A number that is part of a graph."""

    is_tensor, _as_TensorVariable = False, _as_tensor

    def __init__(self, type, data, name=None):
        self._type, self.name, self._number = type, name, _gof.number()
        self.data = type.filter(data)
        self.node = constant_node(np.asarray(self.data), type.dtype)


def wrap_scalar(node):
    """A scalar variable on an engine node without dimensions."""
    made = object.__new__(ScalarVariable)
    made.node, made._number, made._type = node, _gof.number(), get_scalar_type(node.dtype)
    return made


_types = {}


def get_scalar_type(dtype):
    """The Scalar of a dtype; the same object for the same name."""
    found = _types.get(dtype)
    if found is None:
        found = _types[dtype] = Scalar(dtype)
    return found


def as_scalar(x, name=None):
    """`x` as a scalar variable: numbers become constants, 0-d tensors their number."""
    if isinstance(x, Handle):
        if isinstance(x.type, Scalar):
            return x
        if x.ndim == 0:
            return scalar_from_tensor(x)
        raise UsageError(f"Cannot convert {x} to Scalar: it has {x.ndim} dimensions")
    array = autocast(x) if isinstance(x, (int, float, complex)) else np.asarray(x)
    return ScalarConstant(get_scalar_type(array.dtype.name), array, name)


def constant(x, name=None, dtype=None):
    """A ScalarConstant of a number, of a dtype or of the smallest that holds it."""
    return as_scalar(x if dtype is None else np.asarray(x, dtype), name)


def _identity(x):
    return x


class ScalarFromTensor(KernelOp):
    """The number a tensor without dimensions holds."""

    def __init__(self):
        KernelOp.__init__(self, _identity, "ScalarFromTensor")

    def make_node(self, x):
        x = as_tensor_variable(x)
        if x.ndim:
            raise UsageError(f"a tensor of {x.ndim} dimensions is no single number: {x}")
        return Apply.made(self, [x], [wrap_scalar(x.node)])

    def grad(self, inputs, output_gradients):
        return [tensor_from_scalar(output_gradients[0])]

    def __reduce__(self):
        return ScalarFromTensor, ()


class TensorFromScalar(KernelOp):
    """A number as a tensor without dimensions; the derivative by a whole number is zero."""

    def __init__(self):
        KernelOp.__init__(self, _identity, "TensorFromScalar")

    def make_node(self, x):
        x = as_scalar(x)
        node = ops.zero_grad(x.node) if dtypes.is_discrete(x.node.dtype) else x.node
        return Apply.made(self, [x], [wrap(node)])

    def grad(self, inputs, output_gradients):
        found = scalar_from_tensor(output_gradients[0])
        return [found * 0 if dtypes.is_discrete(inputs[0].dtype) else found]

    def __reduce__(self):
        return TensorFromScalar, ()


scalar_from_tensor, tensor_from_scalar = ScalarFromTensor(), TensorFromScalar()


def round_half_away_from_zero_vec(a):
    """An array rounded as `round` does by default: halves go away from zero."""
    a = np.asarray(a)
    return np.copysign(np.floor(np.abs(a) + a.dtype.type(0.5)), a).astype(a.dtype)


class IntegerDivisionError(Exception):
    """Integers were divided where the flag int_division says that this is an error."""


class ScalarOp(Op):
    """An operation on numbers; `nodes` is what it means to the engine, of any shape."""

    nin, nout, default_output, name = -1, 1, None, None
    wrapped = staticmethod(wrap_scalar)  # the variable on a node without dimensions

    def __init__(self, output_types_preference=None, name=None):
        self.name = name
        self.output_types_preference = output_types_preference

    def nodes(self, *nodes):
        """The engine node of this op on nodes; without a rule of its own, through `impl`."""
        (kind,) = self.output_types([get_scalar_type(n.dtype) for n in nodes])
        return through_impl(self, kind.dtype, nodes)

    def make_node(self, *inputs):
        if self.nin >= 0 and len(inputs) != self.nin:
            raise UsageError(f"{self} takes {self.nin} inputs, not {len(inputs)}: {inputs}")
        inputs = [as_scalar(x) for x in inputs]
        return Apply.made(self, inputs, [wrap_scalar(self.nodes(*[x.node for x in inputs]))])

    def _lower(self, apply):
        apply.outputs[0].node = self.nodes(*[x.node for x in apply.inputs])

    def output_types(self, types):
        """The Scalar types of the outputs for those of the inputs."""
        if self.output_types_preference is not None:
            return self.output_types_preference(*types)
        return [get_scalar_type(upcast(*(t.dtype for t in types)))]

    def impl(self, *inputs):
        """The value for numbers."""

        class Built:
            build, attrs = staticmethod(self.nodes), {}

        return _hook("interpret")(Built, inputs, 1)[0][()]

    def perform(self, node, inputs, output_storage, params=None):
        output_storage[0][0] = self.impl(*inputs)

    def __eq__(self, other):
        return type(self) is type(other) and self.name == other.name

    def __hash__(self):
        return hash((type(self).__name__, self.name))

    def __str__(self):
        return self.name or self.__class__.__name__.lower()

    __repr__ = __str__


class UnaryScalarOp(ScalarOp):
    """Of one number."""

    nin = 1


class BinaryScalarOp(ScalarOp):
    """Of two numbers."""

    nin = 2


class NamedOp(ScalarOp):
    """A row of meanings.py."""

    rule = None  # of each class its own

    def __init__(self, output_types_preference=None, name=None):
        ScalarOp.__init__(self, output_types_preference, name or self.rule)
        rule = self.rule
        self.nin = (
            1
            if rule in meanings.UNARY
            else meanings.ARITY.get(
                rule,
                -1 if rule in ("add", "mul", "maximum", "minimum", "and_", "or_", "xor") else 2,
            )
        )
        build = meanings.build_of(rule)
        self.nodes = build if output_types_preference is None else self._preferring(build)

    def _preferring(self, build):
        """`build` with the result in the type that the preference says."""

        def preferred(*nodes):
            (kind,) = self.output_types([get_scalar_type(n.dtype) for n in nodes])
            return meanings.cast_to(build(*nodes), kind.dtype)

        return preferred

    def __reduce__(self):
        return _named, (self.rule, self.output_types_preference, self.name)

    def __eq__(self, other):
        return (
            isinstance(other, NamedOp)
            and self.rule == other.rule
            and self.output_types_preference == other.output_types_preference
        )

    def __hash__(self):
        return hash(("NamedOp", self.rule))


_named_ops = {}


def _named(rule, preference=None, name=None):
    found = _named_ops.get(rule)
    if found is None:
        row = meanings.UNARY.get(rule) or meanings.SEVERAL[rule]
        kind = type(row[0], (NamedOp,), {"__module__": __name__, "rule": rule})
        found = _named_ops[rule] = kind()
        globals().setdefault(row[0], kind)
    return found if preference is None else type(found)(preference, name)


class Cast(UnaryScalarOp):
    """A number in another dtype."""

    def __init__(self, dtype):
        self.o_type, self.name = get_scalar_type(dtype), f"Cast{{{dtype}}}"
        self.output_types_preference = specific_out(self.o_type)

    def nodes(self, x):
        return meanings.cast_to(x, self.o_type.dtype)

    def __reduce__(self):
        return Cast, (self.o_type.dtype,)


def cast_op(dtype):
    """The scalar op that casts to `dtype`."""
    return Cast(dtype)


def cast(x, dtype):
    """A number in another dtype."""
    x = as_scalar(x)
    return x if x.type.dtype == dtype else Cast(dtype)(x)


class Composite(ScalarOp):
    """Several scalar ops as one: `outputs` as functions of `inputs`."""

    def __init__(self, inputs, outputs):
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.nin, self.nout, self.name = len(inputs), len(outputs), "Composite"

    def nodes(self, *nodes):
        """The node of its only output: what Elemwise computes of tensors."""
        if self.nout != 1:
            raise UsageError(f"{self} has {self.nout} outputs; over tensors it needs to have one")
        return self.every(nodes)[0]

    def every(self, nodes):
        """The nodes of all outputs."""
        casts = [meanings.cast_to(n, x.dtype) for n, x in zip(nodes, self.inputs)]
        given = {x.node: n for x, n in zip(self.inputs, casts)}
        return rebuild([o.node for o in self.outputs], given)

    def make_node(self, *inputs):
        inputs = [as_scalar(x) for x in inputs]
        nodes = self.every([x.node for x in inputs])
        return Apply.made(self, inputs, [wrap_scalar(n) for n in nodes])

    def _lower(self, apply):
        for out, node in zip(apply.outputs, self.every([x.node for x in apply.inputs])):
            out.node = node

    def impl(self, *inputs):
        """The value of its only output for numbers, or those of all."""

        class Built:
            build, attrs = staticmethod(lambda *nodes: self.every(nodes)), {}

        found = [value[()] for value in _hook("interpret")(Built, inputs, self.nout)]
        return found[0] if self.nout == 1 else found

    def perform(self, node, inputs, output_storage, params=None):
        found = self.impl(*inputs)
        for cell, value in zip(output_storage, [found] if self.nout == 1 else found):
            cell[0] = value

    def __eq__(self, other):
        return (
            type(self) is type(other)
            and self.nin == other.nin
            and equal_computations(self.outputs, other.outputs, self.inputs, other.inputs)
        )

    def __hash__(self):
        return hash((Composite, self.nin, self.nout))

    def __str__(self):
        ins = [f"i{k}" for k in range(self.nin)]
        names = dict(zip(self.inputs, ins))
        text = as_string(self.inputs, self.outputs, lambda v: names.get(v, str(v)))
        return f"Composite{{{', '.join(text)}}}"


def upgrade_to_float(*types):
    """The float type of functions of these types."""
    return [
        get_scalar_type(
            upcast(
                *(
                    t.dtype if t.dtype in float_and_complex else dtypes.small_or_wide(t.dtype)
                    for t in types
                )
            )
        )
    ]


def upgrade_to_float_no_complex(*types):
    """`upgrade_to_float`; TypeError for complex types."""
    if any("complex" in t.dtype for t in types):
        raise UsageError(
            f"this op is for real numbers; its arguments have the dtypes {[t.dtype for t in types]}"
        )
    return upgrade_to_float(*types)


def upcast_out(*types):
    """The type that holds all of `types`."""
    return [get_scalar_type(upcast(*(t.dtype for t in types)))]


def same_out(type):
    """The same type."""
    return [type]


class transfer_type:  # noqa: N801 (Theano's name)
    """Outputs of the types of these inputs."""

    def __init__(self, *transfer):
        self.transfer = transfer

    def __call__(self, *types):
        return [types[i] if isinstance(i, int) else i for i in self.transfer]

    def __eq__(self, other):
        return type(self) is type(other) and self.transfer == other.transfer

    def __hash__(self):
        return hash((type(self), self.transfer))


class specific_out:  # noqa: N801
    """Outputs of these types."""

    def __init__(self, *spec):
        self.spec = spec

    def __call__(self, *types):
        return list(self.spec)

    def __eq__(self, other):
        return type(self) is type(other) and self.spec == other.spec

    def __hash__(self):
        return hash((type(self), self.spec))


float_and_complex = ("float16", "float32", "float64", "complex64", "complex128")
bool = get_scalar_type("bool")
for _dtype in (*dtypes.INTEGERS, *float_and_complex):
    globals()[_dtype] = get_scalar_type(_dtype)
int_types = tuple(get_scalar_type(d) for d in dtypes.SIGNED)
uint_types = tuple(get_scalar_type(d) for d in dtypes.UNSIGNED)
float_types = tuple(get_scalar_type(d) for d in ("float16", "float32", "float64"))
complex_types = tuple(get_scalar_type(d) for d in ("complex64", "complex128"))
integer_types = int_types + uint_types
discrete_types = (bool,) + integer_types
continuous_types = float_types + complex_types
all_types = discrete_types + continuous_types
discrete_dtypes = tuple(t.dtype for t in discrete_types)


def _several(dtype):
    def make(*names):  # of one word each letter is a name: floats('xy') are x and y
        (names,) = names if len(names) == 1 else (names,)
        made = [get_scalar_type(dtype)(n) for n in names]
        return made[0] if len(made) == 1 else made

    return make


ints, floats = _several("int64"), _several("float64")
complexs, complexs64, complexs128 = map(_several, ("complex128", "complex64", "complex128"))


def __getattr__(name):
    if name in meanings.UNARY or name in meanings.SEVERAL:
        return _named(name)
    if name.startswith("convert_to_"):
        return Cast(name[len("convert_to_") :])
    for table in (meanings.UNARY, meanings.SEVERAL):
        for rule, row in table.items():
            if row[0] == name:
                return type(_named(rule))
    return _elsewhere("theano.scalar", name)
