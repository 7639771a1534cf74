"""From an ExpressionProgram to values: one walk over its steps with a stack, of nodes or arrays.

What an operator or a function means, and in which dtype, a Meaning says; `NumPyMeaning` is NumPy's
own. Where it is computed, a backend says: `Nodes` builds a graph by the rows of numpy/, `Arrays`
calls NumPy. Numbers are folded within 64 bits, never by Python's unbounded integers.
"""

import operator

import numpy as np

from ... import ops
from ...base.errors import ArgumentError, DTypeError, NotSupported, UsageError
from ...graph.node import Node, constant
from ...numpy import rows
from ...numpy.promote import NUMPY, Weak
from .tree import COMPARISONS

NUMBERS = (bool, int, float, complex)
WEAK = {int: np.dtype("int64"), float: np.dtype("float64"), complex: np.dtype("complex128")}
BITS = 64
OPERATORS = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide,
    "%": np.remainder, "**": np.power, "<<": np.left_shift, ">>": np.right_shift,
    "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "<": np.less,
    "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal,
    "!=": np.not_equal, "neg": np.negative, "pos": np.positive, "invert": np.invert,
}  # fmt: skip
UNARY = {"neg": operator.neg, "pos": operator.pos, "invert": operator.invert}
PLAIN = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, ">>": operator.rshift, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "<<": operator.lshift, "**": lambda a, b: _power(a, b),
}  # fmt: skip
FUNCTIONS = {
    **{f.__name__: f for f in (
        np.sqrt, np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh,
        np.arcsinh, np.arccosh, np.arctanh, np.fmod, np.arctan2, np.hypot, np.nextafter,
        np.copysign, np.maximum, np.minimum, np.log, np.log1p, np.log10, np.log2, np.exp, np.expm1,
        np.ceil, np.floor, np.trunc, np.sign, np.isnan, np.isfinite, np.isinf, np.signbit,
        np.exp2, np.square, np.cbrt, np.logaddexp, np.where, np.ones_like, np.clip, np.real,
        np.imag, np.copy)},
    "abs": np.absolute, "conj": np.conjugate, "round": np.round,
}  # fmt: skip
REDUCTIONS = {"sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max, "mean": np.mean,
              "any": np.any, "all": np.all}  # fmt: skip


def fold(symbol, values):
    """An operator on Python numbers, as Python computes it, where the result has 64 bits.

    Floats that are too large become inf, as in NumPy.
    """
    if symbol in UNARY:
        return UNARY[symbol](values[0])
    a, b = values
    whole = isinstance(a, int) and isinstance(b, int)
    if whole and symbol == "<<" and b > BITS or whole and symbol == "**" and _grows(a, b):
        raise too_large(symbol)
    try:
        result = PLAIN[symbol](a, b)
    except OverflowError:  # of floats
        result = float("inf")
    if isinstance(result, int) and not -(1 << BITS - 1) <= result < 1 << BITS:
        raise too_large(symbol)
    return result


def _grows(a, b):
    """Whether a ** b has more bits than a result may have, by its logarithm."""
    return abs(a) > 1 and b > 0 and (abs(a).bit_length() - 1) * b > BITS


def _power(a, b):
    if isinstance(a, int) and isinstance(b, int) and b >= 0:
        return a**b
    odd = complex in (type(a), type(b)) or a < 0 and not float(b).is_integer()
    kind = complex if odd else float
    with np.errstate(all="ignore"):
        return kind(np.power(kind(a), kind(b)))


def too_large(symbol):
    return ArgumentError(f"the result of {symbol} on two numbers does not fit {BITS} bits")


class Arrays:
    """NumPy computes: for what kernels have no dtype or function."""

    @staticmethod
    def call(function, *operands, **options):
        with np.errstate(all="ignore"):
            return function(*operands, **options)

    @staticmethod
    def cast(x, dtype):
        return np.asarray(x).astype(dtype)

    @staticmethod
    def dtype(x):
        return np.asarray(x).dtype


class Nodes:
    """A graph is built; NotSupported where a row is missing."""

    @staticmethod
    def call(function, *operands, **options):
        if function is np.copy:
            return operands[0]
        return rows.call(NUMPY, function, *operands, **options)

    @staticmethod
    def cast(x, dtype):
        return ops.cast(x if isinstance(x, Node) else constant(np.asarray(x)), dtype)

    @staticmethod
    def dtype(x):
        return np.dtype(x.dtype)


def walk(program, meaning, backend, given):
    """The value of a program. given: {name: operand}; what they are, the Meaning knows."""
    stack = []
    for step in program.steps:
        if step.kind == "name":
            stack.append(given[step.value])
            continue
        if step.kind in ("number", "string"):
            stack.append(meaning.constant(step.value))
            continue
        first = len(stack) - step.count
        operands = stack[first:]
        del stack[first:]
        if step.kind == "operator":
            result = meaning.operator(backend, step.value, operands)
        elif step.kind == "attribute":
            result = meaning.attribute(backend, step.value, operands[0])
        else:
            result = meaning.call(backend, step.value, operands, step.axis)
        stack.append(result)
    return stack[0]


def reduced(name, operands, axis):
    """(operand, axis) of a reduction, whose axis may be its second operand."""
    if len(operands) == 2 and axis == () and (operands[1] is None or type(operands[1]) is int):
        return operands[0], operands[1]
    if len(operands) != 1:
        raise UsageError(f"{name} takes an operand and axis=")
    return operands[0], None if axis == () else axis


class NumPyMeaning:
    """NumPy 2's promotion: Python's numbers are weak, NumPy's scalars and arrays are not."""

    scalars = True  # a result of no dimensions is a NumPy scalar

    @staticmethod
    def argument(value):
        """(what decides the graph: a dtype and a rank or a Python type; the value to pass)."""
        if type(value) in (int, float, complex):
            if type(value) is int and not -(2**63) <= value < 2**63:
                raise OverflowError(f"Python integer {value} out of bounds for int64")
            return type(value), value
        array = np.asarray(value)
        if array.dtype.kind == "U":
            array = np.char.encode(array, "utf-8")
        elif array.dtype.kind not in "biufcSmM" or array.dtype.hasobject:
            raise DTypeError(
                f"an operand is an array of numbers or byte strings, not {array.dtype}"
            )
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        return (array.dtype, array.ndim), array

    @staticmethod
    def operand(key, placeholder):
        """What stands for an argument with this key: of placeholder(dtype, rank), which is a node,
        or the argument itself."""
        if isinstance(key, type):
            value = placeholder(WEAK[key], 0)
            return Weak(value, key) if isinstance(value, Node) else value
        return placeholder(key[0], key[1])

    @staticmethod
    def result(backend, value):
        """What a walk came to, as a node or an array."""
        return value

    @staticmethod
    def constant(value):
        return value

    def operator(self, backend, symbol, operands):
        if any(x is None or isinstance(x, bytes) for x in operands):
            return self.strings(backend, symbol, operands)
        if all(type(x) in NUMBERS for x in operands):
            return fold(symbol, operands)
        if symbol in ("pos", "neg") and all(type(x) is bool for x in operands):
            operands = [int(x) for x in operands]
        if symbol == "**" and type(operands[1]) is int and operands[1] == 2:
            return backend.call(np.square, operands[0])  # as arrays do: of bools it is an int8
        return backend.call(OPERATORS[symbol], *operands)

    @staticmethod
    def strings(backend, symbol, operands):
        if symbol not in COMPARISONS or any(x is None for x in operands):
            raise UsageError(f"strings and None have no {symbol}")
        if backend is not Arrays:
            raise NotSupported("strings")
        return OPERATORS[symbol](*[np.asarray(x) for x in operands])

    @staticmethod
    def attribute(backend, name, x):
        if type(x) in NUMBERS:
            return getattr(x, name)
        return backend.call(np.real if name == "real" else np.imag, x)

    def call(self, backend, name, operands, axis):
        if name in REDUCTIONS:
            x, axis = reduced(name, operands, axis)
            return backend.call(REDUCTIONS[name], numpy_value(x), axis=axis)
        if axis != ():
            raise UsageError(f"{name} takes no axis=")
        if name == "contains":
            if backend is not Arrays:
                raise NotSupported("strings")
            return contains(*operands)
        if name == "complex" and len(operands) == 2:
            imaginary = self.operator(backend, "*", [operands[1], 1j])
            return self.operator(backend, "+", [operands[0], imaginary])
        if name not in FUNCTIONS:
            raise ArgumentError(
                f"{name} is no function of expressions; these are "
                f"{', '.join(sorted([*FUNCTIONS, *REDUCTIONS, 'complex', 'contains']))}"
            )
        function = FUNCTIONS[name]
        if isinstance(function, np.ufunc) and len(operands) != function.nin:
            raise UsageError(f"{name} takes {function.nin} operands, not {len(operands)}")
        if all(type(x) in NUMBERS for x in operands):
            return Arrays.call(function, *operands)
        return backend.call(function, *operands)


def numpy_value(x):
    return np.asarray(x)[()] if type(x) in NUMBERS else x


def contains(text, part):
    """Whether byte strings contain others: an array of bools."""
    text, part = np.asarray(text), np.asarray(part)
    if text.dtype.kind != "S" or part.dtype.kind != "S":
        raise UsageError("contains takes byte strings")
    return np.char.find(text, part) >= 0


NUMPY_MEANING = NumPyMeaning()
