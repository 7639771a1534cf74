"""MaybeNumber: what is a scalar of NumPy's or a Python number, as data decide: `best = 0.0` before
a loop that sets `best = x[i]` in some of its turns.

It computes as the scalar, and says with each result whether Python has a number there, so that the
caller gets the type that NumPy gives. Where the two would compute something else it is refused.
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
OF_PYTHON = {np.true_divide: operator.truediv, np.power: operator.pow,
             np.square: lambda x: x**2, np.floor_divide: operator.floordiv,
             np.remainder: operator.mod}  # fmt: skip
OPERATORS = {*ARITHMETIC, *LOGIC, *OF_PYTHON, np.absolute, np.positive, np.invert, np.left_shift,
             np.right_shift, np.divmod, np.matmul}  # what Python may mean  # fmt: skip
RANKS = {bool: 0, int: 1, float: 2}


class MaybeNumber(ArrayValue):
    """A scalar. flag: a node, true where Python has a number of the type `type` instead."""

    __slots__ = ("flag", "type")

    def __init__(self, owner, node, flag, type):
        super().__init__(owner, node, True, True)
        self.flag, self.type = flag, type

    def __array_ufunc__(self, ufunc, method, *args, out=None, **options):
        if method != "__call__" or out is not None or options:
            return super().__array_ufunc__(ufunc, method, *args, out=out, **options)
        plain = [a.plainly() if isinstance(a, MaybeNumber) else a for a in args]
        found = call_ufunc(self.owner, ufunc, plain)
        if not all(map(is_number, args)):
            self.same_dtypes(ufunc, args, found)
            return found
        if ufunc is np.negative:  # -0 of an int is 0, of a float -0.0
            node = ops.where(self.flag, ops.sub(constant(0, self.read().dtype), self.read()),
                             found.read())  # fmt: skip
            return MaybeNumber(self.owner, node, self.flag, self.type)
        if ufunc in OF_PYTHON:
            return self.either_way(OF_PYTHON[ufunc], args, found)
        kind = max(map(type_of, args), key=RANKS.get)
        known = LOGIC if kind is bool else ARITHMETIC | {np.absolute}  # True + True is 2 in Python
        if ufunc not in COMPARISONS and ufunc not in known:
            if ufunc in OPERATORS:
                self.owner.refuse(f"{ufunc.__name__} of what is Python's number or NumPy's")
            self.same_dtypes(ufunc, args, found)
            return found
        kind = bool if ufunc in COMPARISONS else kind
        if ufunc in ARITHMETIC and kind is not bool and found.dtype.itemsize < 8:  # as Python has
            self.owner.refuse("arithmetic of what is Python's number or a narrower one of NumPy's")
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
            trace.refuse("arithmetic of what is Python's number or NumPy's")
        return MaybeNumber(trace, ops.where(flag, number.node, found.read()), flag, number.kind)

    def as_number(self):
        """It as a number of Python's."""
        dtype = {float: "float64", int: "int64", bool: "bool"}[self.type]
        return PythonNumber(self.owner, ops.cast(self.read(), dtype), self.type, None,
                            symbolic=True)  # fmt: skip

    def plainly(self):
        """It as a scalar of NumPy's."""
        return ArrayValue(self.owner, self.read(), True, True)

    def same_dtypes(self, ufunc, args, found):
        """Refuse what has another dtype where Python has a number."""
        weak = [Weak(a.read(), a.type) if isinstance(a, MaybeNumber) and a.type is not bool
                else self.owner.operand(a) for a in args]  # fmt: skip
        plain = [self.owner.operand(a) for a in args]
        loops = [self.owner.rule.loop(ufunc, [kind_of(x) for x in each]) for each in (weak, plain)]
        if loops[0] != loops[1]:
            self.owner.refuse(f"{ufunc.__name__} whose dtype data decide")


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
