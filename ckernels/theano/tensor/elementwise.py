"""Elemwise: the elementwise operations of theano.tensor, one object for each row of meanings.py.

`exp` and `add` are Elemwise objects of scalar ops, as in Theano; a call makes a variable. Dtypes
and the rows themselves are in meanings.py, the scalar ops in ../scalar.py.
"""

import functools

from ... import ops
from ...base.errors import ArgumentError, CKernelsError, UsageError
from ..base.config import config
from ..classes import meanings, scalar
from ..classes.op import KernelOp
from ..classes.scalar import IntegerDivisionError, cast_op
from ..handles.type import name_of
from ..handles.variables import as_tensor_variable

__all__ = ["Elemwise", "DimShuffle", "cast", "round", "iround", "fill", "allclose", "isclose",
           "sign", "inverse", "conjugate", "divide", "floor_div", "where", "bitwise_and",
           "bitwise_or", "bitwise_xor", "bitwise_not", "div_proxy", "power", "divmod", "square",
           "ceil_intdiv", "mod_check", "abs_sqr", *meanings.UNARY,
           *meanings.SEVERAL]  # fmt: skip


class Elemwise(KernelOp):
    """A scalar op applied to each element; operands broadcast."""

    def __init__(self, scalar_op, inplace_pattern=None, name=None, nfunc_spec=None, openmp=None):
        self.scalar_op, self.inplace_pattern = scalar_op, dict(inplace_pattern or {})
        self.build, self.attrs = scalar_op.nodes, {}
        if 0 in self.inplace_pattern:
            self.build = _typed_as(scalar_op.nodes, self.inplace_pattern[0])
        self.nfunc_spec = nfunc_spec
        self.name = name or f"Elemwise{{{scalar_op},no_inplace}}"
        self.__name__ = scalar_op.name

    def make_node(self, *inputs):
        count = self.scalar_op.nin
        if count >= 0 and len(inputs) != count:
            raise UsageError(f"{self} takes {count} operands, not {len(inputs)}: {inputs}")
        return self.on([as_tensor_variable(x) for x in inputs])

    def on(self, inputs):
        made = KernelOp.on(self, [_bare(x) for x in inputs])
        rank = max([x.ndim for x in inputs], default=0)
        made.inputs = [x if x.ndim == rank else _led(rank, x.broadcastable)(x) for x in inputs]
        return made

    def _lower(self, apply):
        found = self._nodes([_bare(x).node for x in apply.inputs])
        apply.outputs[0].node = found[0] if isinstance(found, list) else found

    def __eq__(self, other):
        return self is other or (type(self) is type(other) and self.scalar_op == other.scalar_op)

    def __hash__(self):
        return hash((Elemwise, self.scalar_op))

    def __str__(self):
        return self.name

    def __repr__(self):
        return self.name

    def __reduce__(self):
        return Elemwise, (self.scalar_op, self.inplace_pattern or None, self.name)


@functools.lru_cache(1024)
def _led(rank, pattern):
    """The DimShuffle that gives an operand axes in front, up to `rank`."""
    lead = rank - len(pattern)
    return DimShuffle(pattern, ("x",) * lead + tuple(range(len(pattern))), implied=True)


def _bare(x):
    """An operand without the axes in front that it got here: the engine needs none."""
    owner = x._owner
    return x.owner.inputs[0] if owner is not None and _implied(owner) else x


def _implied(owner):
    return getattr(getattr(owner, "op", None), "implied", False)


def _typed_as(build, place):
    """`build` with a result of the dtype of operand `place`, which it overwrites."""

    def typed(*nodes):
        found = build(*nodes)
        if meanings.dtypes.is_complex(found.dtype) and not meanings.dtypes.is_complex(
            nodes[place].dtype
        ):
            raise UsageError(f"{found.dtype} cannot overwrite {nodes[place].dtype}")
        if found.shape != nodes[place].shape and found.ndim == nodes[place].ndim:
            for a, b in zip(found.shape, nodes[place].shape):
                if b == 1 and a != 1:
                    raise ArgumentError("an operand that is repeated cannot be overwritten")
        return meanings.ops.cast(found, nodes[place].dtype)

    return typed


def _make():
    for name in (*meanings.UNARY, *meanings.SEVERAL):
        globals()[name] = Elemwise(getattr(scalar, SCALAR.get(name, name)))


SCALAR = {"abs_": "abs_", "tensor_copy": "identity"}


def __getattr__(name):
    if name in meanings.UNARY or name in meanings.SEVERAL:
        _make()
        return globals()[name]
    raise AttributeError(name)


class DimShuffle(KernelOp):
    """Axes in another order, new ones of size 1, others of size 1 dropped."""

    def __init__(self, input_broadcastable, new_order, inplace=True, implied=False):
        self.input_broadcastable = tuple(input_broadcastable)
        self.implied = implied  # the axes in front that an elementwise op gives its operands
        self.new_order, self.inplace = tuple(new_order), inplace
        ndim = len(self.input_broadcastable)
        for k, j in enumerate(self.new_order):
            if j == "x":
                continue
            if not isinstance(j, int):
                raise UsageError(
                    f"the order of axes is made of ints and 'x', not of {j!r} ({type(j).__name__})"
                )
            if j >= ndim or j < 0:
                raise ArgumentError(
                    f"place {k} of the order names axis {j}, and there are {ndim} axes"
                )
            if j in self.new_order[k + 1 :]:
                raise ArgumentError(
                    f"an axis may not appear twice in the order of dimshuffle, as axis {j} does",
                    self.new_order,
                )
        self.drop = [i for i in range(ndim) if i not in self.new_order]
        for i in self.drop:
            if not self.input_broadcastable[i]:
                raise ArgumentError(
                    f"axis {i} cannot be left out, as its size is not known to be 1: the broadcast "
                    f"pattern is {self.input_broadcastable}, the order {self.new_order}"
                )
        self.shuffle = [x for x in self.new_order if x != "x"]
        self.augment = [i for i, x in enumerate(self.new_order) if x == "x"]
        self.build, self.attrs = _dimshuffle, {"order": self.new_order}
        self.name = f"InplaceDimShuffle{{{','.join(map(str, self.new_order))}}}"

    def make_node(self, *inputs):
        node = KernelOp.make_node(self, *inputs)
        x = node.inputs[0]
        if x.ndim != len(self.input_broadcastable):
            raise UsageError(
                "this DimShuffle was made for inputs with the broadcast pattern "
                f"{self.input_broadcastable}, and {x.broadcastable} is of another "
                "length"
            )
        return node

    def __str__(self):
        return self.name

    def __eq__(self, other):
        return type(self) is type(other) and (self.new_order, self.input_broadcastable) == (
            other.new_order,
            other.input_broadcastable,
        )

    def __hash__(self):
        return hash((DimShuffle, self.new_order, self.input_broadcastable))

    def __reduce__(self):
        return DimShuffle, (self.input_broadcastable, self.new_order, self.inplace, self.implied)


def _dimshuffle(x, order):
    kept = [p for p in order if p != "x"]
    dropped = tuple(a for a in range(x.ndim) if a not in kept)
    if dropped:
        x = ops.squeeze(x, dropped)
    rank = {a: i for i, a in enumerate(sorted(kept))}
    x = ops.transpose(x, tuple(rank[a] for a in kept))
    return ops.expand(x, tuple(i for i, p in enumerate(order) if p == "x"))


class Cast(KernelOp):
    """Elements in another dtype."""

    def __init__(self, dtype):
        self.build, self.attrs, self.name = meanings.cast_to, {"dtype": dtype}, f"Cast{{{dtype}}}"

    @property
    def scalar_op(self):
        return cast_op(self.attrs["dtype"])

    def __str__(self):
        return f"Elemwise{{{self.name}}}"

    def __reduce__(self):
        return Cast, (self.attrs["dtype"],)


def cast(x, dtype):
    """`x` in another dtype; `x` itself where it has it. 'floatX' is the default float dtype."""
    dtype = name_of(dtype)
    x = as_tensor_variable(x)
    if x.type.dtype == dtype:
        return x
    return Cast(dtype)(x)


def round(a, mode=None):
    """The nearest integer as a float; halves go away from zero, or to the even number.

    mode: 'half_away_from_zero' (the default) or 'half_to_even'.
    """
    if mode in (None, "half_away_from_zero"):
        return _op("round_half_away_from_zero")(a)
    if mode == "half_to_even":
        return _op("round_half_to_even")(a)
    raise CKernelsError(f"round knows the modes half_away_from_zero and half_to_even, not {mode!r}")


def iround(a, mode=None):
    """`round` as an int64."""
    return cast(round(a, mode), "int64")


def _op(name):
    found = globals().get(name)
    return found if found is not None else __getattr__(name)


def fill(a, b):
    """`b` in the shape of `a`."""
    return _op("second")(a, b)


def isclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    """Whether |a - b| <= atol + rtol * |b|; infinities are close to themselves."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    return KernelOp(
        _isclose, "isclose", rtol=float(rtol), atol=float(atol), equal_nan=bool(equal_nan)
    )(a, b)


def _isclose(a, b, rtol, atol, equal_nan):
    a, b = meanings.common(a, b)
    if meanings.dtypes.is_discrete(a.dtype):
        a, b = ops.cast(a, "float64"), ops.cast(b, "float64")
    return ops.isclose(a, b, rtol, atol, equal_nan)


def allclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    """Whether all elements are close; see `isclose`."""
    return isclose(a, b, rtol, atol, equal_nan).all()


def power(x, y):
    """x ** y."""
    return _op("pow")(x, y)


def divmod(x, y):
    """x // y and x % y."""
    return [_op("int_div")(x, y), mod_check(x, y)]


def mod_check(x, y):
    """x % y; ComplexError for complex numbers."""
    return _op("mod")(x, y)


def _are_whole(x, y):
    """Whether both are integers; an error where the flag int_division says that this is one."""
    whole = x.dtype in meanings.DISCRETE and y.dtype in meanings.DISCRETE
    if whole and config.int_division == "raise":
        raise IntegerDivisionError(
            f"{x.dtype} / {y.dtype} with int_division='raise': write // or true_div"
        )
    return whole


def div_proxy(x, y):
    """x / y; of integers what the flag int_division says: x // y ('int'), x / y, or an error."""
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    whole = _are_whole(x, y)
    return _op("int_div" if whole and config.int_division == "int" else "true_div")(x, y)


def divided(x, y):
    """x / y of Python 3: true_div, or an error of integers with the flag int_division='raise'."""
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    _are_whole(x, y)
    return _op("true_div")(x, y)


def ceil_intdiv(a, b):
    """a // b rounded up, of integers."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    quotient = _op("int_div")(a, b)
    return quotient + cast(_op("neq")(a % b, 0), quotient.dtype)


def square(x):
    """x * x."""
    return _op("sqr")(x)


def abs_sqr(x):
    """x * x, under the name for complex numbers."""
    return _op("sqr")(x)


def where(cond, *args):
    """`switch(cond, a, b)`, or with `cond` alone the places where it is not zero."""
    if not args:
        return as_tensor_variable(cond).nonzero()
    return _op("switch")(cond, *args)


def sign(x):
    """-1, 0 or 1, under NumPy's name."""
    return _op("sgn")(x)


def inverse(x):
    """1 / x."""
    return _op("inv")(x)


def conjugate(x):
    """The complex conjugate."""
    return _op("conj")(x)


def divide(x, y):
    """x / y."""
    return _op("true_div")(x, y)


def floor_div(x, y):
    """x // y."""
    return _op("int_div")(x, y)


def bitwise_and(a, b):
    """a & b."""
    return _op("and_")(a, b)


def bitwise_or(a, b):
    """a | b."""
    return _op("or_")(a, b)


def bitwise_xor(a, b):
    """a ^ b."""
    return _op("xor")(a, b)


def bitwise_not(a):
    """~a."""
    return _op("invert")(a)
