"""Pickles and deep copies of variables: their graph as written, never the engine's nodes.

A variable is its type, its name, its notes, and its Apply; the engine's nodes are made anew where
it comes back. What the engine alone knows (results of grad and scan) is read off it first.
"""

import copy

import numpy as np

from ...runtime.state import Store
from ..base.config import config
from . import apply as gof


def _notes(v):
    """(name, notes) of a variable."""
    tag = v.__dict__.get("_tag")
    notes = dict(tag.__dict__) if tag is not None else {}
    notes.pop("trace", None)
    if not config.pickle_test_value:
        notes.pop("test_value", None)
    return v.name, notes


def reduced(v):
    """What pickle keeps of a tensor variable."""
    name, notes = _notes(v)
    if isinstance(v, gof.Constant):
        return _constant, (getattr(v, "kept_as", type(v)), v.type, v.data, name)
    if hasattr(v, "container"):
        return (
            _shared,
            (type(v), name, v.type, Held(v.container), notes),
            {"default_update": v._default_update} if v._default_update is not None else None,
        )
    if v.owner is None:
        return _leaf, (v.type, name, notes)
    return _output, (
        Made.of(v.owner),
        v.index,
        name,
        notes,
        v.type if getattr(v, "_type", None) is not None else None,
    )


class Held:
    """A container on its way: one object for variables that share it."""

    def __new__(cls, container):
        held = container.__dict__.get("_held")
        if held is None:
            held = container.__dict__["_held"] = object.__new__(cls)
            held.container = container
        return held

    def __reduce__(self):
        return _held, (np.array(self.container.store.get()),)


def _held(array):
    made = object.__new__(Held)
    made.store = Store(array)
    made.container = None
    return made


class Made:
    """An Apply on its way: one object for all its outputs."""

    @classmethod
    def of(cls, apply):
        made = apply.__dict__.get("_made")
        if made is None:
            made = apply.__dict__["_made"] = object.__new__(cls)
            made.apply = apply
        return made

    def __reduce__(self):
        return _made, (self.apply.op, list(self.apply.inputs))


def _made(op, inputs):
    made = object.__new__(Made)
    made.apply = op.make_node(*inputs)
    made.apply._made = made
    return made


def _with_notes(v, name, notes):
    v.name = name
    if notes:
        v.tag.__dict__.update(notes)
    return v


def _leaf(type, name, notes):
    return _with_notes(type(name), name, notes)


def _constant(kind, type, data, name):
    return kind(type, data, name)


def _output(made, index, name, notes, type):
    v = made.apply.outputs[index]
    if type is not None:
        v.type = type
    return _with_notes(v, name, notes)


def _shared(kind, name, type, held, notes):
    if held.container is None:
        held.container = kind.Container(None, None, False, None, name, None, held.store)
    container = held.container
    if container.type is None and kind.typed:
        container.type = type
    return _with_notes(kind(name, type, None, None, container=container), name, notes)


def deep_copied(v, memo):
    """A copy of a variable with a graph of its own."""
    found = memo.get(id(v))
    if found is not None:
        return found
    if hasattr(v, "again"):
        made = v.again()
    elif isinstance(v, gof.Constant):
        made = type(v)(v.type, copy.deepcopy(v.data, memo), v.name)
    elif hasattr(v, "container"):
        made = type(v)(v.name, v.type, None, None, container=copy.deepcopy(v.container, memo))
        memo[id(v)] = made
        if v._default_update is not None:
            made.default_update = copy.deepcopy(v._default_update, memo)
    else:
        made = _copied_graph(v, memo)
    memo[id(v)] = made
    notes = _notes(v)[1]
    if notes:
        made.tag.__dict__.update(copy.deepcopy(notes, memo))
    return made


def _copied_graph(v, memo):
    if v.owner is None:
        return v.type(v.name)
    for apply in gof.apply_order([v]):
        if id(apply.outputs[0]) in memo:
            continue
        inputs = [deep_copied(x, memo) for x in apply.inputs]
        made = apply.op.make_node(*inputs)
        for old, new in zip(apply.outputs, made.outputs):
            new.name = old.name
            memo[id(old)] = new
    return memo[id(v)]
