"""Test values: computed while graphs are built, where the flag compute_test_value says so."""

import numpy as np

from ...base.errors import ArgumentError
from ...base.warned import warn_user
from ..base.config import config
from ..base.hooks import register_hook
from ..classes.op import NodeOp, run
from ..graph.apply import Constant, apply_order
from .variables import as_tensor_variable


def get_test_value(v):
    """The value of a constant or shared variable, or `tag.test_value`; AttributeError for none."""
    if not hasattr(v, "tag"):
        v = as_tensor_variable(v)
    return _value(v)


def _value(v):
    if isinstance(v, Constant):
        return v.data
    if hasattr(v, "container"):
        return v.get_value(borrow=True)
    fill(v)
    if hasattr(v.tag, "test_value"):
        found = v.type.filter(v.tag.test_value, allow_downcast=None)
        return found
    raise AttributeError(f"{v} has no test value")


def _known(v):
    return isinstance(v, Constant) or hasattr(v, "container") or hasattr(v.tag, "test_value")


def fill(v):
    """Compute the test value of what the engine alone has the graph of: a gradient, a loop."""
    if hasattr(v.tag, "test_value") or v.owner is None:
        return
    for apply in apply_order([v]):
        if (
            (isinstance(apply.op, NodeOp) or apply is v.owner)
            and not all(map(_known, apply.outputs))
            and all(map(_known, apply.inputs))
        ):
            _performed(apply, [np.array(_value(x)) for x in apply.inputs])


def _performed(node, inputs):
    storage = [[None] for _ in node.outputs]
    run(node.op, node, inputs, storage)
    for x, cell in zip(node.outputs, storage):
        x.tag.test_value = cell[0]


def give_step(handles, sequences, backwards, states, others):
    """Test values for the arguments of a step of scan: those of the first step.

    sequences, states: pairs (variable, taps) in the order of the arguments.
    """
    rows = []
    for x, taps in sequences:
        low, high = min([*taps, 0]), max([*taps, 0])
        rows += [(x, tap - high - 1 if backwards else tap - low) for tap in taps]
    for x, taps in states:
        rows += [(x, None if taps == [-1] else tap - min(taps)) for tap in taps]
    for handle, (x, place) in zip(handles, [*rows, *((x, None) for x in others)]):
        if handle is not x and hasattr(handle, "node") and _has(x):
            value = np.asarray(_value(x))
            handle.tag.test_value = value if place is None else value[place]


def compute(node):
    """Give the outputs of an Apply test values, from those of its inputs."""
    what = config.compute_test_value
    try:
        inputs = [np.array(_value(x)) if hasattr(x, "node") else _value(x) for x in node.inputs]
    except AttributeError as problem:
        missing = next(x for x in node.inputs if not _has(x))
        text = (
            f"{missing}, input {node.inputs.index(missing)} of {node}, has no test value; set "
            "its tag.test_value"
        )
        if what == "raise":
            raise ArgumentError(text) from problem
        if what == "warn":
            warn_user(text)
        return
    _performed(node, inputs)


def _has(v):
    try:
        _value(v)
        return True
    except AttributeError:
        return False


def get_debug_values(*args):
    """[test values of `args`], once, where all have one and the flag is not off; else nothing."""
    if config.compute_test_value == "off":
        return []
    found = []
    for v in args:
        if hasattr(v, "tag") and not _has(v):
            missing_test_message(f"{v} has no test value")
            return []
        found.append(get_test_value(v))
    return [tuple(found)] if len(found) > 1 else [found[0]]


def missing_test_message(message):
    """What a missing test value comes to by the flag: AttributeError, a warning or nothing."""
    if config.compute_test_value == "raise":
        raise AttributeError(message)
    if config.compute_test_value == "warn":
        warn_user(message)


def debug_error_message(message):
    """What is wrong with test values: ValueError, a warning where the flag says so, or nothing."""
    if config.compute_test_value in ("raise", "ignore"):
        raise ArgumentError(message)
    if config.compute_test_value == "warn":
        warn_user(message)


register_hook("test_value", get_test_value)
register_hook("compute_test_value", compute)
