"""numexpr's dtypes: seven kinds, what operators and functions make of them, which loops there are.

Constants are not weak: 2.0 is a double, so that float32 times 2.0 is a double, and integers become
doubles in most functions. `KindMeaning` is this as a Meaning of expressions.
"""

from typing import NamedTuple

import numpy as np

from ...base.errors import ArgumentError, NotSupported, UsageError
from ...jit.expression.build import FUNCTIONS, OPERATORS, Arrays, contains, fold, reduced

DTYPES = {
    "bool": np.dtype(bool), "int": np.dtype("int32"), "long": np.dtype("int64"),
    "float": np.dtype("float32"), "double": np.dtype("float64"),
    "complex": np.dtype("complex128"),
}  # fmt: skip
RANKS = list(DTYPES)
CODES = {"bool": "b", "int": "i", "long": "l", "float": "f", "double": "d", "complex": "c",
         "bytes": "s"}  # fmt: skip
NAMES = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "**": "pow",
    "<<": "lshift", ">>": "rshift", "&": "and", "|": "or", "^": "xor", "<": "lt", "<=": "le",
    ">": "gt", ">=": "ge", "==": "eq", "!=": "ne", "neg": "neg", "pos": "pos", "invert": "invert",
}  # fmt: skip
LOOPS = {  # the kinds of operands that an operator has, by their codes
    **dict.fromkeys(("+", "-", "*", "/", "neg"), "ilfdc"),
    **dict.fromkeys(("%", "//"), "ilfd"),
    "**": "ilfdc",
    **dict.fromkeys(("<<", ">>"), "il"),
    **dict.fromkeys(("&", "|", "^", "invert"), "bil"),
    **dict.fromkeys(("<", "<=", ">", ">="), "ilfds"),
    **dict.fromkeys(("==", "!="), "bilfdcs"),
    "pos": "bilfdc",
}
COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
KEEP_INTEGERS = ("copy", "ones_like", "round", "sign")
AT_LEAST = {  # the lowest kind of a function that is not "float"
    **dict.fromkeys(("hypot", "nextafter", "copysign", "maximum", "minimum", "round", "trunc",
                     "sign", "real", "imag", "isnan", "isfinite", "isinf", "signbit"), "double"),
    **dict.fromkeys(("complex", "conj"), "complex"),
    **dict.fromkeys(("copy", "ones_like"), "bool"),
}  # fmt: skip
REAL = {"ceil", "floor", "trunc", "fmod", "arctan2", "hypot", "nextafter", "copysign", "maximum",
        "minimum", "signbit"}  # fmt: skip
TRUTHS = {"isnan", "isfinite", "isinf", "signbit"}
REDUCTIONS = {"sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max}
KNOWN = {"sqrt", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
         "arcsinh", "arccosh", "arctanh", "log", "log1p", "log10", "log2", "exp", "expm1", "abs",
         *REAL, *TRUTHS, *AT_LEAST}  # fmt: skip


class TypedOperand(NamedTuple):
    """A value of a kind; constant: it is a number or bytes of the expression itself."""

    kind: str
    value: object
    constant: bool = False


def kind_of_dtype(dtype):
    """The kind in which numexpr reads an array of a dtype; ValueError for one it does not."""
    code, size = dtype.kind, dtype.itemsize
    if code == "U":
        raise ArgumentError("operands of strings are bytes (dtype S), not Unicode")
    if code in "iu":
        return "long" if size > 4 or (code == "u" and size == 4) else "int"
    if code == "f":
        return "double" if size > 4 else "float"
    found = {"b": "bool", "c": "complex", "S": "bytes"}.get(code)
    if found is None:
        raise ArgumentError(f"operands are numbers or byte strings, not {dtype}")
    return found


def kind_of_number(value):
    """The kind of a constant."""
    if isinstance(value, (bytes, str)):
        return "bytes"
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, np.generic):
        return kind_of_dtype(value.dtype)
    if isinstance(value, int):
        return "int" if -(2**31) <= value < 2**31 else "long"
    return "complex" if isinstance(value, complex) else "double"


def common(kinds):
    """The highest of some kinds."""
    if "bytes" in kinds:
        if set(kinds) != {"bytes"}:
            raise UsageError("strings can only be operated with strings")
        return "bytes"
    return max(kinds, key=RANKS.index)


def missing(name, result, kinds):
    """The error for a loop that numexpr does not have, by its name."""
    loop = f"{name}_{CODES[result]}{''.join(CODES[k] for k in kinds)}"
    return NotSupported(f"couldn't find matching opcode for '{loop}'")


def operator_kind(symbol, kinds):
    """(symbol to apply, kind of its operands, kind of the result)."""
    if symbol in COMPARISONS:
        mixed = "bytes" in kinds and set(kinds) != {"bytes"}
        kind = "bytes" if mixed else common(kinds)
        if kind == "bool" and "b" not in LOOPS[symbol]:
            kind = "int"
        if mixed or CODES[kind] not in LOOPS[symbol]:
            raise missing(NAMES[symbol], "bool", kinds)
        return symbol, kind, "bool"
    if "bytes" in kinds:
        raise missing(NAMES[symbol], "bytes", kinds)
    kind = common(kinds)
    if kind == "bool":
        symbol = {"+": "|", "*": "&"}.get(symbol, symbol)
    if symbol == "/" and RANKS.index(kind) < RANKS.index("float"):
        kind = "double"
    if CODES[kind] not in LOOPS[symbol]:
        raise missing(NAMES[symbol], kind, kinds)
    return symbol, kind, kind


def function_kind(name, kinds):
    """(kind of the operands, kind of the result) of a function."""
    kind = common(kinds)
    if kind in ("int", "long"):
        kind = kind if name in KEEP_INTEGERS else "double"
    else:
        kind = max(kind, AT_LEAST.get(name, "float"), key=RANKS.index)
    if name in ("real", "imag"):
        return "complex", "double"
    if name == "complex":
        return "double", "complex"
    if (name in REAL and kind == "complex") or (name == "ones_like" and kind == "bool"):
        raise missing(name, "bool" if name in TRUTHS else kind, kinds)
    return kind, "bool" if name in TRUTHS else kind


class KindMeaning:
    """Operators and functions by kinds, on Operands."""

    scalars = False  # results are arrays always

    @staticmethod
    def argument(value):
        array = np.asarray(value)
        kind_of_dtype(array.dtype)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        return (array.dtype, array.ndim), array

    @staticmethod
    def operand(key, placeholder):
        return TypedOperand(kind_of_dtype(key[0]), placeholder(*key))

    @staticmethod
    def constant(value):
        if value is None:
            return TypedOperand("none", None, True)
        return TypedOperand(kind_of_number(value), value, True)

    @staticmethod
    def result(backend, x):
        if x.kind == "bytes":
            return np.asarray(x.value)
        return cast(backend, x, x.kind)

    def operator(self, backend, symbol, operands):
        if symbol == "pos":
            return operands[0]
        kinds = [x.kind for x in operands]
        if all(x.constant and x.kind != "bytes" for x in operands):
            return self.constant(folded(symbol, [x.value for x in operands]))
        if symbol == "**" and operands[1].constant:
            simple = power(self, backend, *operands)
            if simple is not None:
                return simple
        symbol, kind, result = operator_kind(symbol, kinds)
        if kind == "bytes":
            if backend is not Arrays:
                raise NotSupported("strings")
            return TypedOperand(result, OPERATORS[symbol](*[np.asarray(x.value) for x in operands]))
        values = [cast(backend, x, kind) for x in operands]
        if symbol == "**" and kind in ("int", "long") and not operands[1].constant:
            return TypedOperand(result, integer_power(backend, *values))
        return TypedOperand(result, backend.call(OPERATORS[symbol], *values))

    def attribute(self, backend, name, x):
        if x.constant:
            return self.constant(getattr(complex(x.value), name))
        return self.call(backend, name, [x], ())

    def call(self, backend, name, operands, axis):
        if name in REDUCTIONS:
            return self.reduction(backend, name, operands, axis)
        if axis != ():
            raise UsageError(f"{name} takes no axis=")
        if name == "where" and len(operands) == 3:
            return self.where(backend, *operands)
        if name == "contains" and len(operands) == 2:
            if backend is not Arrays:
                raise NotSupported("strings")
            return TypedOperand("bool", contains(*[x.value for x in operands]))
        if name not in KNOWN:
            raise UsageError(f"{name} is no function of numexpr")
        if name != "complex":
            count = getattr(FUNCTIONS[name], "nin", 1)
            if len(operands) != count:
                raise UsageError(f"{name} takes {count} operands, not {len(operands)}")
        if all(x.constant for x in operands):
            values = [x.value for x in operands]
            result = (
                complex(*values) if name == "complex" else Arrays.call(FUNCTIONS[name], *values)
            )
            return self.constant(np.asarray(result)[()])
        kind, result = function_kind(name, [x.kind for x in operands])
        values = [cast(backend, x, kind) for x in operands]
        if name == "complex":
            values = [backend.cast(v, DTYPES["complex"]) for v in values]
            turned = backend.call(np.multiply, values[1], np.asarray(1j))
            return TypedOperand(result, backend.call(np.add, values[0], turned))
        value = backend.call(FUNCTIONS[name], *values)
        return TypedOperand(result, backend.cast(value, DTYPES[result]))

    def where(self, backend, condition, a, b):
        if condition.constant:
            return a if condition.value else b
        kind = common([condition.kind, a.kind, b.kind])
        if condition.kind != "bool":
            raise missing("where", kind, [condition.kind, a.kind, b.kind])
        values = [cast(backend, x, kind) for x in (a, b)]
        return TypedOperand(kind, backend.call(np.where, condition.value, *values))

    @staticmethod
    def reduction(backend, name, operands, axis):
        if len(operands) == 2:
            operands = [operands[0], operands[1].value]
        x, axis = reduced(name, operands, axis)
        if axis is not None and not 0 <= axis < 255:
            raise ArgumentError(f"axis={axis}: an axis is from 0 to 254")
        if x.constant:
            return x
        if CODES[x.kind] not in ("ilfdc" if name in ("sum", "prod") else "ilfd"):
            raise missing(name, x.kind, [x.kind])
        value = backend.call(REDUCTIONS[name], x.value, axis=axis)
        return TypedOperand(x.kind, backend.cast(value, DTYPES[x.kind]))


def cast(backend, x, kind):
    """The value of a TypedOperand in the dtype of a kind."""
    if x.constant:
        return np.asarray(x.value, DTYPES[kind])
    if x.kind == kind and backend.dtype(x.value) == DTYPES[kind]:
        return x.value
    return backend.cast(x.value, DTYPES[kind])


def folded(symbol, values):
    """An operator on constants: Python's arithmetic, or NumPy's where NumPy's scalars are there."""
    if any(isinstance(v, np.generic) for v in values):
        return Arrays.call(OPERATORS[symbol], *values)
    return fold(symbol, values)


def integer_power(backend, x, p):
    """x ** p of integers, where numexpr takes 1 / x, cut off, for negative p."""
    zero = backend.cast(np.asarray(0), backend.dtype(x))
    plain = backend.call(np.power, x, backend.call(np.maximum, p, zero))
    inverse = backend.call(np.where, backend.call(np.equal, backend.call(np.abs, x), 1), x, zero)
    return backend.call(np.where, backend.call(np.less, p, 0), inverse, plain)


def power(meaning, backend, x, p):
    """x ** p for a constant p that is as good as another operation; None where it is not."""
    if x.kind in ("int", "long") and p.kind in ("int", "long") and p.value < 0:
        raise ArgumentError("Integers to negative integer powers are not allowed.")
    if p.value == 0 and x.kind != "bool":
        return meaning.call(backend, "ones_like", [x], ())
    if p.value == 1:
        return x
    if p.value == 0.5:
        return meaning.call(backend, "sqrt", [x], ())
    return meaning.operator(backend, "*", [x, x]) if p.value == 2 else None
