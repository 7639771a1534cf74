"""Canonizer: sums and products in one form, numbers in front, what cancels left out.

A local rewrite of an operation `main` (add, mul) with its inverse (sub, true_div) and reciprocal
(neg, inv). What such operations make of each other is read as two lists, the factors above and
below a fraction bar, and written again from what is left of them.
"""

import numpy as np

from ..graph.apply import Constant, Variable
from ..handles.variables import as_tensor_variable, constant
from ..tensor.elementwise import DimShuffle, add, cast, fill, inv, mul, neg, sub, true_div
from .opt import LocalOptimizer, in2out


class Canonizer(LocalOptimizer):
    """`Canonizer(main, inverse, reciprocal, calculate)`, for a TopoOptimizer or for `optdb`.

    calculate(num, denum, aslist=False, out_type=None) is the value of numbers; with aslist it is a
    list of that value, empty for the one that changes nothing. use_reciprocal: whether what is
    below the bar alone is written with `reciprocal`, or as `inverse` of such a number.
    """

    def __init__(self, main, inverse, reciprocal, calculate, use_reciprocal=True):
        self.main, self.inverse, self.reciprocal = main, inverse, reciprocal
        self.calculate, self.use_reciprocal = calculate, use_reciprocal
        self.external_simplifiers = []

    def add_simplifier(self, simplifier, reason):
        """Have simplifier(num, denum), which gives two such lists, called last."""
        self.external_simplifiers.append((reason, simplifier))

    def tracks(self):
        return [self.main, self.inverse, self.reciprocal]

    def get_num_denum(self, input):
        """The factors (above, below) of a variable: ([x, y], [z]) for x * y / z."""
        made = _without_front_axes(input)
        apply = made.owner
        if apply is None or apply.op not in self.tracks():
            return [made], []
        num, denum = [], []
        for k, x in enumerate(apply.inputs):
            above, below = self.get_num_denum(x)
            if apply.op == self.reciprocal or (apply.op == self.inverse and k):
                above, below = below, above
            num, denum = num + above, denum + below
        return num, denum

    def merge_num_denum(self, num, denum):
        """The variable of such lists, by as few operations as it takes."""
        if not num and not denum:
            return as_tensor_variable(self.calculate([], [], aslist=False))
        if not denum:
            return as_tensor_variable(num[0]) if len(num) == 1 else self.main(*num)
        if not num and self.use_reciprocal:
            return self.reciprocal(self.merge_num_denum(denum, []))
        num = num or [self.calculate([], [], aslist=False)]
        return self.inverse(self.merge_num_denum(num, []), self.merge_num_denum(denum, []))

    @staticmethod
    def get_constant(v):
        """The number that a scalar constant is, or that `v` itself is; None for what is variable
        or an array."""
        if isinstance(v, Constant):
            return v.data if np.ndim(v.data) == 0 else None
        return None if isinstance(v, Variable) else v

    def simplify(self, num, denum, out_type):
        """The lists without what cancels, their numbers as one."""
        found = self.simplify_constants(*self.simplify_factors(num, denum), out_type=out_type)
        for _, simplifier in self.external_simplifiers:
            found = simplifier(*found)
        return found

    def simplify_factors(self, num, denum):
        """The lists without what is in both, once for each time that it is."""
        for v in list(num):
            if any(v is w for w in denum):
                num.remove(v)
                denum.remove(v)
        return num, denum

    def simplify_constants(self, orig_num, orig_denum, out_type=None):
        """The lists with one number for all numbers, first above the bar; none where it changes
        nothing. The very lists, where it stands so already."""
        numbers = [[], []]
        rest = [[], []]
        for k, factors in enumerate((orig_num, orig_denum)):
            for v in factors:
                number = self.get_constant(v)
                (rest if number is None else numbers)[k].append(v if number is None else number)
        if self.use_reciprocal or rest[0]:
            found = self.calculate(*numbers, aslist=True, out_type=out_type)
        else:
            found = [self.calculate(*numbers, aslist=False, out_type=out_type)]
        found = [constant(np.asarray(c, dtype=out_type and out_type.dtype)) for c in found]
        if found and len(numbers[0]) == 1 and not numbers[1]:
            first = self.get_constant(orig_num[0])
            if first is not None and np.array_equal(found[0].data, first, equal_nan=True):
                return orig_num, orig_denum
        return found + rest[0], rest[1]

    def transform(self, node):
        if node.op not in self.tracks() or not hasattr(node.outputs[0], "clients"):
            return False
        out = node.outputs[0]
        if any(_user(c) in self.tracks() for c, _ in out.clients):
            return False  # it is a part of what that node makes
        given = self.get_num_denum(out)
        found = self.simplify(*map(list, given), out.type)
        if all(len(a) == len(b) and all(map(_same, a, b)) for a, b in zip(given, found)):
            return False
        new = self.merge_num_denum(*found)
        new = new if new.dtype == out.dtype else cast(new, out.dtype)
        if new.type != out.type:
            for x in node.inputs:
                new = fill(x, new)
        return [new] if new.type == out.type else False

    def __str__(self):
        return getattr(self, "name", f"Canonizer({self.main}, {self.inverse}, {self.reciprocal})")


def _same(a, b):
    return a is b or (isinstance(a, Constant) and isinstance(b, Constant) and a.equals(b))


def _without_front_axes(v):
    """What `v` is of, where it only has axes of size 1 in front of that one's."""
    if v.owner is None or not isinstance(v.owner.op, DimShuffle):
        return v
    x = v.owner.inputs[0]
    front = ("x",) * (v.ndim - x.ndim) + tuple(range(x.ndim))
    return x if tuple(v.owner.op.new_order) == front else v


def _user(client):
    """The op of what uses a variable, behind axes put in front for it alone."""
    while client != "output":
        out = client.outputs[0]
        if _without_front_axes(out) is out or len(getattr(out, "clients", ())) != 1:
            return client.op
        client = out.clients[0][0]
    return None


def mul_calculate(num, denum, aslist=False, out_type=None):
    """The product of numbers over that of others."""
    if not num and not denum:
        return [] if aslist else np.int8(1)
    dtype = out_type.dtype if out_type else np.result_type(*num, *denum)
    value = np.prod([np.asarray(1, dtype), *num]) / np.prod([np.asarray(1, dtype), *denum])
    return ([] if np.all(value == 1) else [value]) if aslist else value


def add_calculate(num, denum, aslist=False, out_type=None):
    """The sum of numbers, less that of others."""
    zero = np.asarray(0, out_type.dtype if out_type else "int8")
    value = np.sum([zero, *num], axis=0) - np.sum([zero, *denum], axis=0)
    return ([] if np.all(value == 0) else [value]) if aslist else value


local_mul_canonizer = Canonizer(mul, true_div, inv, mul_calculate, False)
local_add_canonizer = Canonizer(add, sub, neg, add_calculate)
mul_canonizer = in2out(local_mul_canonizer, name="mul_canonizer")
add_canonizer = in2out(local_add_canonizer, name="add_canonizer")
