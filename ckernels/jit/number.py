"""PythonNumber: a Python int or float while a program is traced: an argument, or a size.

With arrays it is weak, as Python's numbers are. With other numbers floats and complex ones compute
as nodes, and so do ints of sizes and of turns of a loop; what Python refuses (x / 0.0, an overflow
in x ** y) is noted, and then the call is NumPy's. An int that is used as an int is pinned: the
trace is for that value.
"""

import math
import operator

import numpy as np

from .. import ops
from ..base.errors import NotSupported
from ..graph.node import constant
from ..graph.walk import toposort
from ..numpy.promote import Weak, supported
from ..numpy.rows.ufuncs import UFUNCS
from ..numpy.value import ArrayValue, call_ufunc
from .opaque import Opaque

DECIDED = {"mask_indices", "nonzero", "repeat_index"}  # ops whose sizes data decide
MOST_INT = 2**63 - 1
OF_NUMBERS = ("is_integer", "as_integer_ratio", "bit_length", "hex")


class PythonNumber:
    """A traced Python number. kind: int, float, bool or complex; pin(): gives its value, for which
    the trace is then; symbolic: the function computes it, as the number of a loop's turn or the
    size of an axis, so ints compute as nodes too; bounds: the (least, greatest) int it can be."""

    __slots__ = ("owner", "node", "kind", "pin", "symbolic", "bounds")
    __array_priority__ = 1000.0

    def __init__(self, owner, node, kind, pin, symbolic=False, bounds=None):
        self.owner, self.node, self.kind, self.pin = owner, node, kind, pin
        self.symbolic, self.bounds = symbolic, bounds
        if pin is None:
            self.pin = lambda: kind(owner.ask(node, "a number in Python", kind))

    def weak(self):
        """It as an operand of a row."""
        return self.node if self.kind is bool else Weak(self.node, self.kind, self.bounds)

    def __array_ufunc__(self, ufunc, method, *args, out=None, **options):
        if method != "__call__":
            return getattr(ufunc, method)(*[pinned(a) for a in args], **options)
        out = out[0] if isinstance(out, tuple) and len(out) == 1 else out
        return call_ufunc(self.owner, ufunc, args, out, **options)

    def __array_function__(self, function, types, args, kwargs):
        return self.owner.call(function, args, kwargs)

    def __array__(self, dtype=None, copy=None):  # NumPy would make an array of objects
        return self.owner.refuse("a list of Python numbers is used as an array; give an array")

    def __repr__(self):
        return repr(self.pin())

    def __str__(self):
        return str(self.pin())

    def __format__(self, how):
        return format(self.pin(), how)

    def __int__(self):
        return int(self.pin())

    def __float__(self):
        return float(self.pin())

    def __index__(self):
        return operator.index(self.pin())

    def __bool__(self):
        if self.symbolic and self.kind is not bool:
            return bool(self != 0)
        return bool(self.pin())

    def __hash__(self):
        return hash(self.pin())

    def __complex__(self):
        return complex(self.pin())

    def __round__(self, *digits):
        if self.kind is float and self.symbolic and not digits:
            return whole(self.owner, ops.round(self.node))
        return self if self.kind is int and not digits else round(self.pin(), *digits)

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __getattr__(self, name):
        if name not in OF_NUMBERS:
            raise AttributeError(name)
        return getattr(self.pin(), name)

    def __eq__(self, other):
        if isinstance(other, PythonNumber) and other.node is self.node:
            return True
        return _compared(operator.eq, self, other)

    def __ne__(self, other):
        if isinstance(other, PythonNumber) and other.node is self.node:
            return False
        return _compared(operator.ne, self, other)

    @property
    def real(self):
        return of_complex(self, ops.real) if self.kind is complex else self.pin().real

    @property
    def imag(self):
        return of_complex(self, ops.imag) if self.kind is complex else self.pin().imag

    def conjugate(self):
        return of_complex(self, ops.conj) if self.kind is complex else self.pin().conjugate()


LEAVES = (np.ndarray, np.generic, int, float, complex)


def is_leaf(x):
    """Whether an argument is data: an array or a number."""
    return isinstance(x, LEAVES) and type(x) is not bool


def is_any(x):
    return isinstance(x, (ArrayValue, PythonNumber)) or is_leaf(x)


def pinned(x):
    """`x`, a traced number as Python's."""
    return x.pin() if isinstance(x, PythonNumber) else x


def _compared(function, a, b):
    if isinstance(b, (ArrayValue, np.ndarray, np.generic)):
        return NotImplemented
    decided = _decided(function, a, b)
    if decided is not None:
        return decided
    if isinstance(b, (PythonNumber, bool, int, float)) and _symbolic(a, b):
        return known(a.owner, COMPARED[function](as_node(a), as_node(b)), bool)
    return function(a.pin(), pinned(b))


def _decided(function, a, b):
    """What a comparison of ints is, where their bounds say so; else None."""
    if not {_kind(a), _kind(b)} <= {int, bool} or not _symbolic(a, b):
        return None
    left, right = _range(a), _range(b)
    if left is None or right is None:
        return None
    found = {function(*pair) for pair in ((left[0], right[1]), (left[1], right[0]))}
    apart = left[1] < right[0] or right[1] < left[0]
    return found.pop() if len(found) == 1 and (apart or function in ORDERS) else None


ORDERS = {operator.lt, operator.le, operator.gt, operator.ge}
COMPARED = {operator.eq: ops.eq, operator.ne: ops.ne, operator.lt: ops.lt, operator.le: ops.le,
            operator.gt: ops.gt, operator.ge: ops.ge}  # fmt: skip


def known(owner, node, kind, bounds=None):
    """A number that the function computes; one that is known is Python's own."""
    if node.value is not None and not node.ndim:
        return kind(node.value[()])
    owner.made(True)
    return PythonNumber(owner, node, kind, None, symbolic=True, bounds=bounds)


def _symbolic(*numbers):
    return any(isinstance(x, PythonNumber) and x.symbolic and x.kind is not complex
               for x in numbers)  # fmt: skip


def as_node(x):
    """A number of Python's or of a trace as a node of its own dtype."""
    if isinstance(x, PythonNumber):
        return ops.cast(x.node, "int64") if x.kind is bool else x.node
    return constant(np.asarray(x, "float64" if isinstance(x, float) else "int64"))


def _comparison(function):
    return lambda self, other: _compared(function, self, other)


def _exact(a, b):
    """Whether a and b are computed as nodes: floats and complex numbers, with ints too."""
    kinds = {_kind(x) for x in (a, b)}
    return kinds <= {int, float, complex} and kinds != {int}


def _quotient(function, a, b):
    """Whether it is an int of a loop's turn by a number that is not zero."""
    return function is operator.truediv and {_kind(a), _kind(b)} == {int} and _symbolic(a, b)


def _as(kind, x):
    """A number as a node of a float, or of a complex number."""
    if isinstance(x, PythonNumber):
        return ops.cast(x.node, {float: "float64", complex: "complex128"}[kind])
    return constant(np.asarray(kind(x)))


def _dividing(function):
    def build(owner, a, b):
        owner.guard(ops.ne(b, constant(np.zeros((), b.dtype))))
        return function(a, b)

    return build


def _divided(owner, a, b):
    return ops.true_div(a, b)


def _powered(owner, a, b):
    y = ops.pow(a, b)
    owner.guard(ops.isfinite(y))
    return y


BUILD = {
    operator.add: lambda owner, a, b: ops.add(a, b),
    operator.sub: lambda owner, a, b: ops.sub(a, b),
    operator.mul: lambda owner, a, b: ops.mul(a, b), operator.pow: _powered,
    operator.truediv: _dividing(ops.true_div), operator.floordiv: _dividing(ops.floor_div),
    operator.mod: _dividing(ops.mod),
}  # fmt: skip


OF_COMPLEX = {operator.add, operator.sub, operator.mul, operator.truediv}


def of_scalar(function, x, scalar):
    """function(x, scalar) of a complex number of Python's and a float64 of NumPy's, which is one of
    Python's floats, so that Python computes it."""
    number = PythonNumber(scalar.owner, scalar.read(), float, None, symbolic=True)
    return _computed(function, x, number)


def _kind(x):
    return x.kind if isinstance(x, PythonNumber) else type(x)


WIDEST = -(2**63), 2**63 - 1
LARGEST_POWER = math.log(np.finfo("float64").max)  # beyond it math.exp and math.expm1 raise


def _range(x):
    if not isinstance(x, PythonNumber):
        return int(x), int(x)
    return (0, 1) if x.kind is bool else x.bounds


def _corners(function):
    """The bounds of a function that is monotonic in both operands."""

    def bounds(a, b):
        found = [function(x, y) for x in a for y in b]
        return min(found), max(found)

    return bounds


def _bits(a, b):
    """The bounds of | and ^ of ints that are not negative."""
    return (0, (1 << max(a[1].bit_length(), b[1].bit_length())) - 1) if min(*a, *b) >= 0 else None


NEAR = {operator.add, operator.sub}  # these keep ints that are arguments open, as ends of ranges
# {function: (node of two int64, bounds of two bounds)}
OF_INTS = {
    operator.add: (ops.add, _corners(operator.add)),
    operator.sub: (ops.sub, _corners(operator.sub)),
    operator.mul: (ops.mul, _corners(operator.mul)),
    operator.floordiv: (ops.floor_div, lambda a, b: _corners(operator.floordiv)(a, b)
                        if b[0] > 0 or b[1] < 0 else None),
    operator.mod: (ops.mod, lambda a, b: (min(b[0] + 1, 0), max(b[1] - 1, 0))),
    operator.and_: (ops.bit_and, None), operator.or_: (ops.bit_or, _bits),
    operator.xor: (ops.bit_xor, _bits),
    operator.lshift: (ops.left_shift, _corners(operator.lshift)),
    operator.rshift: (ops.right_shift, _corners(operator.rshift)),
}  # fmt: skip
LOGIC = {operator.and_: ops.logical_and, operator.or_: ops.logical_or, operator.xor: ops.ne}
ZERO_RAISES = {operator.floordiv, operator.mod}
NEGATIVE_RAISES = {operator.lshift, operator.rshift}


def of_ints(owner, function, a, b):
    """function(a, b) of ints as nodes of int64, with what is known of its bounds; None where Python
    may raise. Those that a loop computes wrap beyond 64 bits; those of sizes are guarded."""
    if function is operator.pow and _whole(b, 0) and b <= MOST_POWER and _symbolic(a):
        found = a if b else 1
        for _ in range(b - 1):
            found = found * a
        return found
    if function is operator.pow and _whole(a, 2) and _symbolic(b) and not _of_sizes(b):
        return _power_of(owner, a, as_node(b))
    if function not in OF_INTS or (
        function in NEGATIVE_RAISES and not (_whole(b, 0) and b < 63)
    ):  # fmt: skip
        return None
    if function in ZERO_RAISES and not _has_sign(b):
        if not _symbolic(b):
            return None
        owner.guard(ops.ne(as_node(b), constant(0, "int64")))
    if {_kind(a), _kind(b)} == {bool} and function in LOGIC:
        return known(owner, LOGIC[function](*[ops.cast(as_node(x), "bool") for x in (a, b)]), bool)
    build, corners = OF_INTS[function]
    left, right = _range(a), _range(b)
    bounds = corners(left, right) if left and right and corners else None
    if function is operator.and_:
        tops = [r[1] for r in (left, right) if r and r[0] >= 0]
        bounds = (0, min(tops)) if tops else None
    if bounds is not None and not WIDEST[0] <= bounds[0] <= bounds[1] <= WIDEST[1]:
        bounds = None
    if _symbolic(a, b):
        if bounds is None and function in GROWING and all(map(_of_sizes, (a, b))):
            far = GROWING[function](*[ops.cast(as_node(x), "float64") for x in (a, b)])
            owner.guard(ops.lt(ops.abs(far), 2.0**63))
        return known(owner, build(as_node(a), as_node(b)), int, bounds)
    if bounds is None:
        return None
    return PythonNumber(owner, build(as_node(a), as_node(b)), int,
                        lambda: function(pinned(a), pinned(b)), bounds=bounds)  # fmt: skip


def _power_of(owner, base, n):
    """base**n of an int that is known: the trace is for n of which it is an int of 64 bits."""
    zero, most = 0, int(62 / math.log2(base))
    owner.guard(ops.logical_and(ops.ge(n, zero), ops.le(n, most)))
    n = ops.minimum(ops.maximum(n, zero), most)  # on a side that is not taken
    one, base_ = constant(1, "int64"), constant(base, "int64")
    node = OF_INTS[operator.lshift][0](one, n) if base == 2 else ops.pow(base_, n)
    return known(owner, node, int, (1, base**most))


MOST_POWER = 8  # of ints that are multiplied
GROWING = {operator.add: ops.add, operator.sub: ops.sub, operator.mul: ops.mul}


def _positive(b):
    """Whether a number is an int above zero."""
    found = _range(b) if _kind(b) is int else None
    return found is not None and found[0] > 0


def _has_sign(b):
    """Whether a number is an int that is surely not zero."""
    found = _range(b) if _kind(b) is int else None
    return found is not None and (found[0] > 0 or found[1] < 0)


def _of_sizes(x):
    return not isinstance(x, PythonNumber) or of_sizes(x.node)


def of_sizes(node):
    """Whether a node is computed from sizes of axes alone."""
    return next(sources(node), None) is None


def sources(node):
    """The inputs that a node is computed from, but for those of which it takes sizes alone; those
    that decide a size among them."""
    todo, seen = [node], set()
    while todo:
        n = todo.pop()
        if n.uid in seen:
            continue
        seen.add(n.uid)
        if n.op.name in ("placeholder", "variable"):
            yield n
        if n.op.name != "shape" or any(m.op.name in DECIDED for m in toposort(n.inputs)):
            todo += n.inputs


def _whole(b, least):
    """Whether `b` is a plain int of at least so much."""
    return type(b) is int and b >= least


def _computed(function, a, b):
    """function(a, b) of numbers, one of them traced at least."""
    owner = (a if isinstance(a, PythonNumber) else b).owner
    if {_kind(a), _kind(b)} <= {int, bool} and (_symbolic(a, b) or function in NEAR):
        found = of_ints(owner, function, a, b)
        if found is not None:
            return found
    if function in BUILD and (_exact(a, b) or _quotient(function, a, b)):
        kind = complex if complex in (_kind(a), _kind(b)) else float
        surely = function is operator.truediv and _positive(b)
        build = _divided if surely else BUILD[function]
        if kind is float or function in OF_COMPLEX:
            node = build(owner, _as(kind, a), _as(kind, b))
            return PythonNumber(owner, node, kind, None, symbolic=True)
    return function(pinned(a), pinned(b))


def _binary(function, turned):
    def operate(self, other):
        if self.kind is complex and not turned and type(other) is np.float64:
            other = float(other)  # which it is to Python, and no complex number
        numbers = PythonNumber, int, float, complex
        if not isinstance(other, numbers) or isinstance(other, np.generic):
            return NotImplemented
        return _computed(function, *((other, self) if turned else (self, other)))

    return operate


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _function = getattr(operator, _name)
    setattr(PythonNumber, f"__{_name}__", _binary(_function, False))
    setattr(PythonNumber, f"__r{_name}__", _binary(_function, True))
for _name in ("lt", "le", "gt", "ge"):
    setattr(PythonNumber, f"__{_name}__", _comparison(getattr(operator, _name)))
for _name in ("and_", "or_", "xor", "lshift", "rshift"):
    _plain, _function = _name.rstrip("_"), getattr(operator, _name)
    setattr(PythonNumber, f"__{_plain}__", _binary(_function, False))
    setattr(PythonNumber, f"__r{_plain}__", _binary(_function, True))


def _unary(build, function):
    def operate(self):
        if self.kind is complex and build is not ops.bit_not:
            return of_complex(self, build)
        if self.kind is not float and _symbolic(self):
            return known(self.owner, build(as_node(self)), int)
        if self.kind is not float:
            return function(self.pin())
        return PythonNumber(self.owner, build(self.node), float, None, symbolic=True)

    return operate


def of_complex(x, build):
    """build(x): a part of a complex number, its size, or another one."""
    node = build(x.node)
    if build is ops.abs:  # Python raises where it overflows
        x.owner.guard(ops.isfinite(node))
    kind = complex if node.dtype == "complex128" else float
    return PythonNumber(x.owner, node, kind, None, symbolic=True)


PythonNumber.__neg__ = _unary(ops.neg, operator.neg)
PythonNumber.__abs__ = _unary(ops.abs, abs)
PythonNumber.__invert__ = _unary(ops.bit_not, operator.invert)
PythonNumber.__pos__ = lambda self: self


def whole(owner, node):
    """A float without its fraction as an int of Python's; where it has none, Python raises."""
    bounds = None
    if node.dtype.startswith("float"):
        node = ops.cast(node, "float64")
        owner.guard(ops.lt(ops.abs(node), 2.0**63))
    elif node.dtype == "uint64":
        owner.guard(ops.lt(node, constant(2**63, "uint64")))
    elif node.dtype != "bool":
        limits = np.iinfo(node.dtype)
        bounds = int(limits.min), int(limits.max)
    return known(owner, ops.cast(node, "int64"), int, bounds)


def converted(function, x):
    """float(x), int(x) or bool(x), and type(x), of what is traced; else what Python says."""
    traced = isinstance(x, PythonNumber) or isinstance(x, ArrayValue) and x.read().ndim == 0
    if function is type and isinstance(x, (PythonNumber, ArrayValue)):
        x = x.decided() if hasattr(x, "flag") else x
        if isinstance(x, PythonNumber):
            return x.kind
        return x.dtype.type if x.scalar else x.owner.array_class
    if function is type and isinstance(x, Opaque):
        if issubclass(x.opaque_type, (np.ndarray, np.generic)):
            raise x.opaque_why
        return x.opaque_type
    if isinstance(x, (ArrayValue, PythonNumber)) and isinstance(function, type) and issubclass(
        function, (np.number, np.bool_)
    ):  # fmt: skip
        dtype = supported(np.dtype(function))
        if isinstance(x, ArrayValue) and x.read().ndim and x.dtype == function:
            return x  # as NumPy gives it back
        node = x.read() if isinstance(x, ArrayValue) else held(x, np.dtype(dtype))
        node = ops.cast(node, dtype)
        return ArrayValue(x.owner, node, not node.ndim, True)
    if not traced or function not in KINDS:
        return function(x)
    node = x.node if isinstance(x, PythonNumber) else x.read()
    if isinstance(x, PythonNumber):
        if x.kind is function:
            return x
        if not x.symbolic and function is not float:
            return function(x)
    if np.dtype(node.dtype).kind not in "fiub":
        return function(x)
    if function is int:
        return whole(x.owner, node)
    node = ops.cast(node, "float64") if function is float else ops.cast(node, "bool")
    return known(x.owner, node, function)


def held(x, dtype):
    """The node of a Python number that becomes one of NumPy's of this dtype, which is an error for
    an int that it cannot hold, and for a float that is none."""
    if dtype.kind not in "iu":
        return x.node
    if x.kind is complex:
        raise NotSupported("an integer of a complex number")
    limits = np.iinfo(dtype)
    least, most = max(limits.min, -(2**63)), min(limits.max, 2**63 - 1)
    if x.kind is float:
        inside = ops.logical_and(ops.gt(x.node, float(least) - 1), ops.lt(x.node, float(most) + 1))
        x.owner.guard(inside)
    elif not (x.bounds and least <= x.bounds[0] and x.bounds[1] <= most):
        bounds = constant(least, "int64"), constant(most, "int64")
        number = ops.cast(x.node, "int64")
        x.owner.guard(ops.logical_and(ops.ge(number, bounds[0]), ops.le(number, bounds[1])))
    return x.node


def item_of(owner, node):
    """x.item() of a node without axes."""
    kind = np.dtype(node.dtype).kind
    if kind in "iu":
        return whole(owner, node)
    found = {"f": float, "c": complex, "b": bool}[kind]
    return known(owner, ops.cast(node, np.dtype(found).name), found)


KINDS = (float, int, bool)


def _given_finite(build):
    """What is true where a function is not infinite, or its operand is: Python raises elsewhere."""
    return lambda x: ops.logical_or(ops.isfinite(build(x)), ops.logical_not(ops.isfinite(x)))


def _all_finite(build):
    def takes(*nodes):
        found = ops.isfinite(build(*nodes))
        for node in nodes:
            found = ops.logical_and(found, ops.isfinite(node))
        return found

    return takes


# functions of the module math that are computed as nodes, and what is true of operands they take
OF_MATH = {
    math.sqrt: (ops.sqrt, lambda x: ops.ge(x, 0.0)), math.exp: (ops.exp, None),
    math.log: (ops.log, lambda x: ops.gt(x, 0.0)), math.sin: (ops.sin, ops.isfinite),
    math.cos: (ops.cos, ops.isfinite), math.tanh: (ops.tanh, None), math.fabs: (ops.abs, None),
    math.tan: (ops.tan, ops.isfinite), math.atan: (ops.atan, None), math.erf: (ops.erf, None),
    math.log1p: (ops.log1p, lambda x: ops.gt(x, -1.0)), math.expm1: (ops.expm1, None),
    math.log2: (ops.log2, lambda x: ops.gt(x, 0.0)),
    math.log10: (ops.log10, lambda x: ops.gt(x, 0.0)),
    math.asin: (ops.asin, lambda x: ops.le(ops.abs(x), 1.0)),
    math.acos: (ops.acos, lambda x: ops.le(ops.abs(x), 1.0)),
    math.floor: (ops.floor, ops.isfinite), math.ceil: (ops.ceil, ops.isfinite),
    math.trunc: (ops.trunc, ops.isfinite), math.erfc: (ops.erfc, None),
    math.sinh: (ops.sinh, _given_finite(ops.sinh)), math.cosh: (ops.cosh, _given_finite(ops.cosh)),
    math.asinh: (ops.asinh, None), math.acosh: (ops.acosh, lambda x: ops.ge(x, 1.0)),
    math.atanh: (ops.atanh, lambda x: ops.lt(ops.abs(x), 1.0)),
    math.gamma: (ops.gamma, _all_finite(ops.gamma)),
    math.lgamma: (ops.gammaln, _all_finite(ops.gammaln)),
    math.degrees: (ops.rad2deg, None), math.radians: (ops.deg2rad, None),
    math.isnan: (ops.isnan, None), math.isinf: (ops.isinf, None),
    math.isfinite: (ops.isfinite, None), math.atan2: (ops.atan2, None),
    math.hypot: (UFUNCS[np.hypot].build, None), math.copysign: (UFUNCS[np.copysign].build, None),
    math.fmod: (ops.fmod, lambda x, y: ops.logical_and(ops.isfinite(x), ops.ne(y, 0.0))),
    math.pow: (ops.pow, _all_finite(ops.pow)),
}  # fmt: skip
if hasattr(math, "cbrt"):  # from Python 3.11 on
    OF_MATH[math.cbrt] = UFUNCS[np.cbrt].build, None
    OF_MATH[math.exp2] = ops.exp2, _given_finite(ops.exp2)
OF_TWO = (math.atan2, math.hypot, math.copysign, math.fmod, math.pow)


def of_math(function):
    """A function of the module math that takes traced numbers and scalars too."""
    build, takes = OF_MATH[function]

    def call(*args):
        if function is math.log and len(args) == 2:
            return call(args[0]) / call(args[1])
        owner = next((x.owner for x in args if isinstance(x, (PythonNumber, ArrayValue))), None)
        nodes = [_float_of(x) for x in args]
        if owner is None or None in nodes or len(nodes) != 1 + (function in OF_TWO):
            return function(*args)
        found = build(*nodes)
        if takes is not None:
            owner.guard(takes(*nodes))
        if function in (math.floor, math.ceil, math.trunc):
            return whole(owner, found)
        if function in (math.exp, math.expm1):
            inside = ops.logical_not(ops.gt(nodes[0], LARGEST_POWER))
            owner.guard(ops.logical_or(inside, ops.eq(nodes[0], np.inf)))
        return known(owner, found, bool if found.dtype == "bool" else float)

    return call


def _float_of(x):
    """A number as a node of float64; None for what math has to look at itself."""
    if isinstance(x, ArrayValue):
        return ops.cast(ops.reshape(x.read(), []), "float64") if x.dtype.kind in "fiu" else None
    if isinstance(x, PythonNumber):
        return ops.cast(x.node, "float64") if x.kind is not complex else None
    return constant(float(x), "float64") if isinstance(x, (int, float, np.number)) and not (
        isinstance(x, np.complexfloating)) else None  # fmt: skip
