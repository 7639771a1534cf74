"""Gradients past Applies that take or make what is no tensor: sparse matrices, lists, any object.

To the engine what such an Apply makes is a leaf. So the gradients by its outputs are taken first,
then its own `L_op` or `grad` is asked for those by its inputs, and these flow on: the last Apply
comes first, as in any reverse mode. Ops of users on tensors alone are the engine's (perform.py).
"""

import numpy as np

from ...base import dtypes
from ...base.errors import ArgumentError, UsageError
from ..base.utils import MethodNotDefined
from ..classes.op import Op
from ..graph.apply import Apply, apply_order
from ..graph.type import DisconnectedType, NullType
from ..handles.variables import as_tensor_variable
from ..tensor.creation import ones_like
from ..user_ops.perform import Performed, is_opaque


def passed(roots, targets):
    """The opaque Applies between `targets` and `roots`, the first in the graph first."""
    if not Performed.objects:
        return []
    met = {id(v) for v in targets} | {id(v.node) for v in targets if v.owner is None}
    found = []
    for apply in apply_order(roots):
        if any(_names(v) & met for v in apply.inputs):
            met.update(name for v in apply.outputs for name in _names(v))
            if is_opaque(apply):
                found.append(apply)
    return found


def _names(v):
    """What a variable is known by: itself, its numbers where it is sparse, the node of a leaf."""
    tensors = [t for t in (v, getattr(v, "data", None)) if getattr(t, "node", None) is not None]
    return {id(v), *map(id, tensors), *(id(t.node) for t in tensors if t.owner is None)}


def numbers(v):
    """The tensor whose gradient that by `v` is: v, or the numbers of a sparse v; else None."""
    if hasattr(v, "tensor_parts"):
        return v.data
    return v if getattr(v, "node", None) is not None else None


class Flow:
    """What flows back to variables: sums of tensors, NullType where one does not exist."""

    def __init__(self, targets, applies, known, fixed, gradients):
        """gradients(cost, wanted, known): what the engine finds, a list of variables and None."""
        made = [numbers(v) for apply in applies for v in apply.outputs]
        self.targets, self.gradients = targets, gradients
        self.wanted = list(dict.fromkeys([*targets, *(v for v in made if v is not None)]))
        self.fixed, self.given = set(fixed), set(known)
        self.found = {v: [] for v in self.wanted}
        self.objects = {}
        self.kept = []  # what nodes know weakly (perform.py: Standing), as long as gradients do

    def start(self, cost, known):
        for v, g in zip(self.wanted, self.gradients(cost, self.wanted, known)):
            if g is not None:
                self.found[v].append(g)

    def total_of_target(self, v):
        """The gradient by one of the targets so far, or None."""
        return _sum(self.found[v])

    def total(self, v):
        """The gradient by the output `v` of an Apply so far, or None."""
        x = numbers(v)
        if v in self.fixed or x in self.fixed:
            return None
        total = _sum(self.objects.get(v, []) if x is None else self.found[x])
        if total is None or isinstance(total.type, NullType) or x is v or x is None:
            return total
        return with_numbers(total, v)

    def through(self, apply):
        """Let what reached the outputs of an Apply flow to its inputs."""
        flows = [self.total(v) for v in apply.outputs]
        if all(g is None for g in flows):
            return
        terms = _terms(apply, flows)
        self.kept += [g for g in flows if g is not None] + terms
        for x, term in zip(apply.inputs, terms):
            if isinstance(term.type, DisconnectedType):
                continue
            if isinstance(term.type, NullType):
                self.undefined(x, term)
            else:
                self.reach(x, term)

    def undefined(self, x, null):
        """By `x` there is no gradient: nor by what it is made of."""
        tensor = numbers(x)
        if tensor is None:
            self.objects.setdefault(x, []).append(null)
            return
        if not dtypes.is_inexact(tensor.dtype):
            tensor = tensor.astype("float64")
        found = self.gradients(None, self.wanted, {tensor: ones_like(tensor)})
        self._add((v, g and null) for v, g in zip(self.wanted, found))

    def reach(self, x, g):
        tensor = numbers(x)
        if tensor is None:
            self.objects.setdefault(x, []).append(g)
        elif dtypes.is_inexact(tensor.dtype):
            if tensor is not x:
                self.kept.append(at_places(g, x))
                g = self.kept[-1].data
            else:
                g = _tensor(g)
            found = self.gradients(None, self.wanted, {tensor: g})
            self._add(zip(self.wanted, found))

    def _add(self, pairs):
        for v, g in pairs:
            if g is not None and v not in self.given:
                self.found[v].append(g)


def _sum(parts):
    total = None
    for g in parts:
        if isinstance(g.type, NullType):
            return g
        total = g if total is None else total + g
    return total


def _tensor(x):
    return as_tensor_variable(x)


def with_numbers(data, like):
    """The sparse variable with the places of `like` and the numbers `data`."""
    from ..sparse.functions import applied  # start-up: 3.7 ms

    return applied("AtPlaces", lambda g, x: x.with_data(g), data, like)


def at_places(g, like):
    """What the matrix `g`, sparse or dense, holds at the places of the sparse variable `like`."""
    from ..sparse.functions import mul, sp_ones_like  # start-up: 3.7 ms

    if not hasattr(g, "tensor_parts"):
        return mul(sp_ones_like(like), g)
    if g.indices.node is like.indices.node:
        return g
    return with_numbers(Sampled()(g, like), like)


class Sampled(Op):
    """The numbers of a sparse matrix at the places of another; 0 where it stores none."""

    __props__ = ()

    def make_node(self, x, places):
        return Apply(self, [x, places], [x.data.type()])

    def perform(self, node, inputs, outputs):
        x, places = inputs
        same = np.array_equal(x.indptr, places.indptr) and np.array_equal(x.indices, places.indices)
        if not same:
            major = np.repeat(np.arange(len(places.indptr) - 1), np.diff(places.indptr))
            pair = (major, places.indices)
            rows, columns = pair if places.format == "csr" else pair[::-1]
            found = np.asarray(x.tocsr()[rows, columns]).ravel()
        outputs[0][0] = (x.data if same else found).astype(x.dtype)

    def connection_pattern(self, node):
        return [[True], [False]]

    def grad(self, inputs, gradients):
        return [with_numbers(gradients[0], inputs[1]), DisconnectedType()()]


def _terms(apply, flows):
    """What the op gives for its inputs; disconnected where its connection_pattern says so."""
    op, count = apply.op, len(apply.inputs)
    disconnected = DisconnectedType()()
    pattern = [[True] * len(flows)] * count
    if hasattr(op, "connection_pattern"):
        pattern = op.connection_pattern(apply)
    reached = [any(c and g is not None for c, g in zip(row, flows)) for row in pattern]
    undefined = [g for g in flows if g is not None and isinstance(g.type, NullType)]
    if undefined:
        found = [undefined[0]] * count
    else:
        given = [disconnected if g is None else g for g in flows]
        try:
            found = op.L_op(apply.inputs, apply.outputs, given)
        except (MethodNotDefined, AttributeError) as problem:
            if isinstance(problem, AttributeError) and hasattr(op, "grad"):
                raise
            found = [NullType(f"{op} has no grad")()] * count
    if len(found) != count:
        raise ArgumentError(f"{op}.grad gave {len(found)} gradients for {count} inputs")
    for term in found:
        if term is None:
            raise UsageError(
                f"{op}.grad gave None for an input. Say what it means: zeros_like of the input "
                "where the slope is 0, disconnected_type() where nothing flows, grad_undefined or "
                "grad_not_implemented where there is none"
            )
    terms = [term if hasattr(term, "type") else _tensor(term) for term in found]
    return [term if on else disconnected for term, on in zip(terms, reached)]
