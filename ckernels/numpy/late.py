"""What arrays of `ckernels.numpy` have not computed yet: graphs over memory, and their computing.

A Memory is the buffer of an array and of all its views. A Leaf is an input of graphs: a part of a
Memory as it was when a graph read it. Who is about to store into a Memory calls `write`, and the
leaves keep copies of what was there. `compute` runs graphs; equal ones are compiled once.
"""

import weakref

import numpy as np

from ..base import locks
from ..base.config import config
from ..base.errors import CKernelsError
from ..graph.node import placeholder
from ..graph.walk import rebuild, toposort
from ..ops import reference
from ..runtime.function import make_function
from .promote import Weak, supported

DEEPEST = 100  # operations in a row that wait: a longer chain is computed in pieces
SMALL = 8  # sizes up to this are part of a compiled graph, so that loops over them unroll
KEPT = 512  # compiled graphs
NUMBERS = range(-16, 17)  # numbers of programs that are part of a graph; others are inputs

_lock = locks.rlock()
_leaves = weakref.WeakKeyDictionary()  # {placeholder: Leaf}
_pending = weakref.WeakValueDictionary()  # {node: the array that waits for it}
_compiled, _inputs = {}, {}


class Leaf:
    """What an input of graphs reads: an array. It lives as long as the input."""

    __slots__ = ("array", "__weakref__")

    def __init__(self, array):
        self.array = array


def leaf(array):
    """(a new input of graphs that reads this array, its Leaf)."""
    node = placeholder(supported(array.dtype), array.shape)
    _leaves[node] = made = Leaf(array)
    return node, made


class Memory:
    """A buffer. shared: others may store into it unseen; viewed: several arrays lie in it."""

    __slots__ = ("owner", "shared", "viewed", "leaves")

    def __init__(self, array, shared=False):
        while isinstance(array.base, np.ndarray):
            array = array.base
        self.owner, self.shared, self.viewed = array, shared, False
        self.leaves = None

    def input(self, array, node=None):
        """The input of graphs for an array in this memory; `node`, where that is one already."""
        if node is not None and _leaves[node].array is array and not self.shared:
            return node
        node, made = leaf(array.copy() if self.shared else array)
        if not self.shared:
            self.leaves = self.leaves or weakref.WeakSet()
            self.leaves.add(made)
        return node

    def write(self):
        """Graphs that wait keep what they have read."""
        for each in list(self.leaves or ()):
            each.array = each.array.copy()
        self.leaves = None

    def share(self):
        """The memory goes out of sight."""
        self.write()
        self.shared = self.viewed = True


def number(x):
    """A Python number as an operand of a graph: an input, unless it is one that programs repeat."""
    if type(x) is bool or type(x) is complex or x in NUMBERS or (x * 2) in NUMBERS or x != x:
        return x
    if type(x) is int:
        return x
    return Weak(leaf(np.asarray(x))[0], float)


def wait(array, node):
    """Note that `array` waits for `node`."""
    _pending[node] = array


def compute(array):
    """Give a waiting array its elements, and all that wait in its graph and are still held."""
    with _lock:
        if array.node is None:
            return
        root = array.node
        order = toposort([root])
        found = [(root, array)]
        for n in order:
            other = _pending.get(n)
            known = other is None or other is array
            if not known and other.node is n and other.source is None:
                found.append((n, other))
        inputs = [n for n in order if n in _leaves]
        results = _run(inputs, [n for n, _ in found], [_leaves[n].array for n in inputs])
        for (_, waiting), result in zip(found, results):
            waiting.done(result)


def _run(inputs, nodes, arrays):
    """The values of nodes for the arrays of their inputs, in memory of their own."""
    function = _function(inputs, nodes)
    try:
        results = function(*arrays)
    except CKernelsError:
        given = dict(zip(inputs, arrays))
        results = [np.array(r) for r in reference.evaluate(nodes, given)]
    return results


def _function(inputs, nodes):
    """The compiled function of a graph, which sizes above SMALL are no part of."""
    stand_ins = [_input(i, n) for i, n in enumerate(inputs)]
    key = (*rebuild(nodes, dict(zip(inputs, stand_ins))), config.version)
    function = _compiled.get(key)
    if function is None:
        if len(_compiled) >= KEPT:
            _compiled.clear()
        function = _compiled[key] = make_function(
            stand_ins, list(key[:-1]), downcast=False, positional_only=True, name="array"
        )
    return function


def _input(place, node):
    """What stands for an input at a place of a compiled function."""
    key = place, node.dtype, tuple([d if d <= SMALL else None for d in node.shape])
    if key not in _inputs:
        _inputs[key] = placeholder(key[1], key[2])
    return _inputs[key]
