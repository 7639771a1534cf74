"""Trace: one run of a Python function over Values; what it makes is a graph of all that it does.

It owns the values: it says what an index is, which row a function of NumPy has, and what happens
where a number is asked for. A truth value is computed from the arguments at hand and becomes a
branch of the trace; any other number ends it (`Asked`), and the call is NumPy's.
"""

import numpy as np

from ..base.errors import user_line
from ..graph.node import make, new_uid
from ..graph.walk import rebuild, toposort
from ..numpy.owner import Owner
from ..numpy.promote import supported
from ..ops import reference
from ..ops.shape import size_of
from .number import PythonNumber

SMALL = 8  # sizes up to this are part of a trace: loops over short axes are unrolled
MOST = 3000  # arrays that a trace may make: 0.5 s to compile; beyond, a loop was unrolled too far
DEEPEST = 6  # truth values that one trace may have been decided by


class Pinned(Exception):
    """A number was used in Python: the trace is to be made again for its value. place: number of
    the leaf, or None for the sizes of all arrays."""

    def __init__(self, place):
        super().__init__(place)
        self.place = place


class Asked(Exception):
    """A number that only data decides was asked for. what: how; line: the user's."""

    def __init__(self, what):
        self.what, self.line = what, user_line()
        super().__init__(what)


class Untraceable(Asked):
    """Something that cannot be traced, for another reason."""


def placeholder(dtype, shape, name=None):
    """A new input."""
    attrs = {"uid": new_uid(), "dtype": supported(np.dtype(dtype)), "shape": tuple(shape),
             "name": name}  # fmt: skip
    return make("placeholder", (), attrs)


class Trace(Owner):
    """The owner of the Values of one run. answers: truth values that were given before; decide:
    function (node) -> value of a node for the arguments at hand, or None where there are none."""

    numbers = (PythonNumber,)

    def __init__(self, answers=(), decide=None):
        super().__init__()
        self.answers, self.decide, self.asked = list(answers), decide, []
        self.guards, self.inside, self.count = [], [], 0

    # ---- what values ask -----------------------------------------------------------------------

    def made(self):
        """Note that an array was made."""
        self.count += 1
        if self.count > MOST:
            raise Untraceable(f"more than {MOST} operations: a Python loop of many turns")

    def refuse(self, what):
        raise Untraceable(what)

    def foreign(self, array):
        raise Untraceable("an array that the function did not get as an argument")

    def guard(self, node):
        """Note that the trace is right only where this truth value holds."""
        self.guards.append(self.outside(node))

    def outside(self, node):
        """A node in terms of the arguments of the whole function, from inside of transforms."""
        for replaced in reversed(self.inside):
            if replaced is None:
                raise Untraceable("a number asked for inside of vmap")
            node = rebuild([node], replaced)[0]
        return node

    def ask(self, node, what, kind=None):
        """The value of a node, in Python."""
        node = self.outside(node)
        if not any(n.op.name in ("placeholder", "variable") for n in toposort([node])):
            return reference.evaluate([node], {})[0][()]
        if node.dtype != "bool" or node.ndim or self.decide is None:
            raise Asked(what)
        if len(self.asked) >= DEEPEST:
            raise Asked(what)
        if len(self.asked) < len(self.answers):
            answer = self.answers[len(self.asked)]
        else:
            answer = bool(self.decide(node))
        self.asked.append((node, answer))
        return answer

    def pin_sizes(self):
        raise Pinned(None)

    def size(self, node, axis):
        """The size of an axis that a trace serves many of."""
        return PythonNumber(self, size_of(node, axis), int, self.pin_sizes, True)
