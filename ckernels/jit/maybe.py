"""MaybeNumber: what is a scalar of NumPy's or a Python number, as data decide: `best = 0.0` before
a loop that sets `best = x[i]` in some of its turns.

It computes as the scalar, and says with each result whether Python has a number there, so that the
caller gets the type that NumPy gives. Where the two would give something else, as in arrays of
Python's ints, which of them it is becomes a branch of the trace; in turns it is refused.
"""

import operator

import numpy as np

from .. import ops
from ..graph.node import constant
from ..numpy.promote import Weak, kind_of
from ..numpy.value import ArrayValue, call_ufunc
from .number import PythonNumber

ARITHMETIC = {np.add, np.subtract, np.multiply}
COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}
LOGIC = {np.bitwise_and, np.bitwise_or, np.bitwise_xor}
OF_PYTHON = {np.true_divide, np.power, np.floor_divide, np.remainder}
OPERATORS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
             "pow": np.power, "floordiv": np.floor_divide, "mod": np.remainder,
             "divmod": np.divmod, "and": np.bitwise_and, "or": np.bitwise_or,
             "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
             "matmul": np.matmul, "lt": np.less, "le": np.less_equal,
             "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
             "neg": np.negative, "pos": np.positive, "abs": np.absolute,
             "invert": np.invert}  # fmt: skip
RANKS = {bool: 0, int: 1, float: 2, complex: 3}


class MaybeNumber(ArrayValue):
    """A scalar. flag: a node, true where Python has a number of the type `type` instead."""

    __slots__ = ("flag", "type")

    def __init__(self, owner, node, flag, type):
        super().__init__(owner, node, True, True)
        self.flag, self.type = flag, type

    def __array_ufunc__(self, ufunc, method, *args, out=None, **options):
        if method != "__call__" or out is not None or options:
            args = tuple(decided_of(args))
            return getattr(ufunc, method)(*args, **options, **({} if out is None else {"out": out}))
        found = call_ufunc(self.owner, ufunc, list(map(plainly, args)))
        if self.same_dtypes(ufunc, args):
            return found
        return ufunc(*decided_of(args))

    def python(self, ufunc, function, args, found):
        """What an operator of Python's gives for numbers, of which each may be its own. found: what
        NumPy gives."""
        if ufunc is np.negative:  # -0 of an int is 0, of a float -0.0
            node = ops.where(self.flag, ops.sub(constant(0, self.read().dtype), self.read()),
                             found.read())  # fmt: skip
            return MaybeNumber(self.owner, node, self.flag, self.type)
        kind = max(map(type_of, args), key=RANKS.get)
        if ufunc in OF_PYTHON and kind is not complex:
            return self.either_way(function, args, found)
        known = LOGIC if kind is bool else ARITHMETIC | {np.absolute}  # True + True is 2 in Python
        if kind is complex or ufunc not in COMPARISONS and ufunc not in known:
            return function(*decided_of(args))
        kind = bool if ufunc in COMPARISONS else kind
        if ufunc in ARITHMETIC and kind is not bool and found.dtype.itemsize < 8:  # as Python has
            return function(*decided_of(args))
        return MaybeNumber(self.owner, found.read(), flags_of(args), kind)

    def either_way(self, function, args, found):
        """What Python computes where all are its numbers, else what NumPy does."""
        flag, trace = flags_of(args), self.owner
        trace.predicates.append(flag)
        try:
            number = function(*[a.as_number() if isinstance(a, MaybeNumber) else a for a in args])
        finally:
            trace.predicates.pop()
        if not isinstance(number, PythonNumber) or number.node.dtype != found.dtype:
            return function(*decided_of(args))
        return MaybeNumber(trace, ops.where(flag, number.node, found.read()), flag, number.kind)

    def as_number(self):
        """It as a number of Python's."""
        dtype = {float: "float64", int: "int64", bool: "bool"}[self.type]
        return PythonNumber(self.owner, ops.cast(self.read(), dtype), self.type, None,
                            symbolic=True)  # fmt: skip

    def plainly(self):
        """It as a scalar of NumPy's."""
        return ArrayValue(self.owner, self.read(), True, True)

    def decided(self):
        """Which of the two it is, as a branch of the trace."""
        python = self.owner.decided(self.flag, "what is Python's number or NumPy's, as data decide")
        return self.as_number() if python else self.plainly()

    @property
    def real(self):
        return self.decided().real

    @property
    def imag(self):
        return self.decided().imag

    def same_dtypes(self, ufunc, args):
        """Whether it has one dtype, be its operands Python's numbers or NumPy's."""
        weak = [Weak(a.read(), a.type) if isinstance(a, MaybeNumber) and a.type is not bool
                else self.owner.operand(plainly(a)) for a in args]  # fmt: skip
        plain = [self.owner.operand(plainly(a)) for a in args]
        loops = [self.owner.rule.loop(ufunc, [kind_of(x) for x in each]) for each in (weak, plain)]
        return loops[0] == loops[1]


def _operator(name, ufunc, function, turned):
    def operate(self, *others):
        plain, args = getattr(ArrayValue, name), (self, *others)
        if not all(map(is_number, args)):
            return plain(*args)
        found = plain(*map(plainly, args))
        return self.python(ufunc, function, args[::-1] if turned else args, found)

    return operate


for _name, _ufunc in OPERATORS.items():
    _function = divmod if _ufunc is np.divmod else getattr(operator, f"__{_name}__")
    for _letter in "", "r", "i":
        _method = f"__{_letter}{_name}__"
        if hasattr(ArrayValue, _method):
            setattr(MaybeNumber, _method, _operator(_method, _ufunc, _function, _letter == "r"))


def plainly(x):
    return x.plainly() if isinstance(x, MaybeNumber) else x


def decided_of(args):
    """Arguments with what each number is, in lists and tuples too."""
    return [decided_of(a) if type(a) is list else tuple(decided_of(a)) if type(a) is tuple
            else a.decided() if isinstance(a, MaybeNumber) else a for a in args]  # fmt: skip


def leaves_of(x):
    """What is in lists and tuples."""
    return [y for i in x for y in leaves_of(i)] if isinstance(x, (list, tuple)) else [x]


def changes(rule, leaves, weak=False):
    """Whether an array of `leaves`, or with `weak` what a function makes of them, has another dtype
    where Python has numbers. rule: the promotion."""
    if not any(isinstance(x, MaybeNumber) for x in leaves):
        return False
    ways = [lambda x: x.dtype, lambda x: np.dtype(x.type)]
    ways += [lambda x: np.dtype(bool) if x.type is bool else x.type] * weak
    found = set()
    for way in ways:
        kinds = [way(x) if isinstance(x, MaybeNumber) else kind_in(x, weak) for x in leaves]
        found.add(rule.common([k for k in kinds if k is not None]))
    return len(found) > 1


def kind_in(x, weak):
    """What a leaf counts as, or None."""
    if isinstance(x, (ArrayValue, np.ndarray, np.generic)):
        return x.dtype
    kind = x.kind if isinstance(x, PythonNumber) else type(x)
    if kind not in (bool, int, float, complex):
        return None
    return kind if weak and kind is not bool else np.dtype(kind)


def is_number(x):
    return isinstance(x, (MaybeNumber, PythonNumber)) or type(x) in RANKS


def type_of(x):
    if isinstance(x, MaybeNumber):
        return x.type
    return x.kind if isinstance(x, PythonNumber) else type(x)


def flag_of(x):
    """Whether Python has a number here, as a node."""
    return x.flag if isinstance(x, MaybeNumber) else constant(not isinstance(x, (
        ArrayValue, np.generic)), "bool")  # fmt: skip


def flags_of(numbers):
    found = None
    for x in numbers:
        if isinstance(x, MaybeNumber):
            found = x.flag if found is None else ops.logical_and(found, x.flag)
    return found
