"""keras.ops.core: conversion, control flow, slices and scatters, and shapes without values."""

import builtins
import contextlib

import numpy as np
from keras.src import tree
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.common.stateless_scope import StatelessScope
from keras.src.backend.common.symbolic_scope import SymbolicScope

from ... import ops
from ...api.tensor import placeholder_node
from ...base.errors import CKernelsError, NotSupported
from ..control import chosen, looped, scanned
from ..gradient import with_gradient
from ..values import (
    Symbolic,
    ValueAsked,
    cast,
    convert_to_numpy,
    convert_to_tensor,
    has_traced,
    is_tensor,
    is_variable,
    node_of,
    shape,
    size_vector,
    whole,
)
from ..variable import StoredVariable as Variable
from ..variable import tracing
from .shaping import concatenate, flip, stack

SUPPORTS_SPARSE_TENSORS = False
SUPPORTS_RAGGED_TENSORS = False
SUPPORTS_COMPLEX_DTYPES = False
IS_THREAD_SAFE = True

__all__ = [
    "IS_THREAD_SAFE",
    "SUPPORTS_COMPLEX_DTYPES",
    "SUPPORTS_RAGGED_TENSORS",
    "SUPPORTS_SPARSE_TENSORS",
    "Variable",
    "associative_scan",
    "cast",
    "compute_output_spec",
    "cond",
    "convert_to_numpy",
    "convert_to_tensor",
    "custom_gradient",
    "device_scope",
    "fori_loop",
    "is_tensor",
    "map",
    "random_seed_dtype",
    "remat",
    "scan",
    "scatter",
    "scatter_update",
    "shape",
    "slice",
    "slice_update",
    "stop_gradient",
    "switch",
    "unstack",
    "vectorized_map",
    "while_loop",
]


def random_seed_dtype():
    """Seeds are two words of 32 bits: the seed and the stream of the counter generator."""
    return "uint32"


@contextlib.contextmanager
def device_scope(device_name):
    """There is one device."""
    yield


# ---- shapes without values -----------------------------------------------------------------------

STAND_INS = (83, 89)  # sizes that a layer would not take for its own


def compute_output_spec(fn, *args, **kwargs):
    """The shapes and dtypes of what `fn` returns: traced with open sizes, nothing is computed.

    Where `fn` needs an open size as a number it is traced with two numbers in its place, and what
    differs in the results is open. A function that reads values, as layers do that look up words,
    is given zeros.
    """
    with StatelessScope(), SymbolicScope():
        try:
            return tree.map_structure(_spec, _traced_call(fn, args, kwargs, None))
        except (CKernelsError, TypeError, ValueError, NotImplementedError) as error:
            reads, leaves = isinstance(error, ValueAsked), tree.flatten((args, kwargs))
            if not reads and not builtins.any(
                isinstance(x, KerasTensor) and None in x.shape for x in leaves
            ):
                raise
            first, second = (_traced_call(fn, args, kwargs, n, reads) for n in STAND_INS)
            return tree.map_structure(_common_spec, first, second)


def _traced_call(fn, args, kwargs, stand_in, reads=False):
    def given(x):
        if not isinstance(x, KerasTensor):
            return x
        sizes = tuple(stand_in if s is None else s for s in x.shape)
        if reads:
            return np.zeros(sizes, x.dtype)
        return Symbolic(placeholder_node(x.dtype, sizes))

    with tracing(), StatelessScope():
        return fn(*tree.map_structure(given, args), **tree.map_structure(given, kwargs))


def _spec(x):
    if is_variable(x):
        x = x.value
    return KerasTensor(x.shape, dtype=str(x.dtype)) if is_tensor(x) else x


def _common_spec(x, y):
    if not is_tensor(x):
        return x
    sizes = tuple(a if a == b else None for a, b in zip(x.shape, y.shape))
    return KerasTensor(sizes, dtype=str(x.dtype))


# ---- control flow --------------------------------------------------------------------------------


def cond(pred, true_fn, false_fn):
    """What one of two functions returns; what they assign to Variables is chosen with it."""
    if is_variable(pred):
        pred = pred.value
    if isinstance(pred, Symbolic):
        return chosen(pred, true_fn, false_fn)
    return true_fn() if pred else false_fn()


def switch(index, branches, *operands):
    index = convert_to_tensor(index, "int32")
    if not isinstance(index, Symbolic):
        return branches[int(np.clip(index, 0, len(branches) - 1))](*operands)
    first, *rest = branches
    if not rest:
        return first(*operands)
    return chosen(index <= 0, lambda: first(*operands), lambda: switch(index - 1, rest, *operands))


def while_loop(cond, body, loop_vars, maximum_iterations=None):
    several = isinstance(loop_vars, list | tuple)
    state = tuple(loop_vars) if several else (loop_vars,)

    def turn(*state):
        found = body(*state)
        return tuple(found) if several else (found,)

    state = _tensors(state)
    with_values = not has_traced(*tree.flatten(state))
    go = cond(*state) if with_values else None
    if with_values and not isinstance(go, Symbolic):
        turns = 0
        while bool(go) and (maximum_iterations is None or turns < maximum_iterations):
            state = _tensors(turn(*state))
            go, turns = cond(*state), turns + 1
    else:
        state = looped(cond, turn, state, maximum_iterations)
    return tuple(state) if several else state[0]


def _tensors(state):
    """A structure of values as one of tensors."""
    if builtins.any(x.__class__ not in (np.ndarray, np.int32, np.float32) for x in state):
        return tree.map_structure(convert_to_tensor, state)
    return state


def fori_loop(lower, upper, body_fun, init_val):
    if has_traced(lower, upper, *tree.flatten(init_val)):
        _, found = while_loop(
            lambda i, value: i < upper,
            lambda i, value: (i + 1, body_fun(i, value)),
            (convert_to_tensor(lower, "int32"), init_val),
        )
        return found
    for i in range(int(lower), int(upper)):
        init_val = body_fun(i, init_val)
    return init_val


def scan(f, init, xs=None, length=None, reverse=False, unroll=1):
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(
            f"`unroll` must be an positive integer or boolean. Received: unroll={unroll}"
        )
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    rows = [convert_to_tensor(x) for x in tree.flatten(xs)] if xs is not None else []
    if has_traced(*rows, *tree.flatten(init)):
        return scanned(f, init, xs, rows, length, reverse)
    count = len(rows[0]) if rows else int(length)
    carry, outputs = init, []
    for i in reversed(range(count)) if reverse else range(count):
        row = None if xs is None else tree.pack_sequence_as(xs, [r[i] for r in rows])
        carry, output = f(carry, row)
        outputs.append(output)
    outputs = outputs[::-1] if reverse else outputs
    return carry, _stacked(outputs)


def _stacked(outputs):
    """A list of structures as a structure of stacks."""
    if not outputs or outputs[0] is None:
        return None
    if isinstance(outputs[0], np.ndarray | Symbolic):
        return stack(outputs)
    return tree.map_structure(lambda *each: stack(each), *outputs)


def map(f, xs):
    if xs.__class__ is np.ndarray:  # what scan does, with less around each row
        return _stacked([f(x) for x in convert_to_tensor(xs)])
    return scan(lambda _, x: ((), f(x)), (), xs)[1]


def vectorized_map(function, elements):
    return map(function, elements)


def associative_scan(f, elems, reverse=False, axis=0):
    """Running results of an associative function, by halves: every second one first."""
    if not callable(f):
        raise TypeError(f"Expected first argument to be a callable. Received: {f}")
    leaves = [convert_to_tensor(e) for e in tree.flatten(elems)]
    sizes = {x.shape[axis] for x in leaves}
    if len(sizes) > 1:
        raise ValueError(
            "Array inputs to associative_scan must have the same first dimension. "
            f"Received: {[x.shape for x in leaves]}"
        )
    if reverse:
        leaves = [flip(x, axis) for x in leaves]

    def together(a, b):
        found = f(tree.pack_sequence_as(elems, a), tree.pack_sequence_as(elems, b))
        return tree.flatten(found)

    leaves = _halves(together, leaves, axis)
    if reverse:
        leaves = [flip(x, axis) for x in leaves]
    return tree.pack_sequence_as(elems, leaves)


def _halves(together, leaves, axis):
    count = leaves[0].shape[axis]
    if count < 2:
        return leaves

    def part(x, start, stop, step=1):
        key = [builtins.slice(None)] * x.ndim
        key[axis] = builtins.slice(start, stop, step)
        return x[tuple(key)]

    pairs = together(
        [part(x, 0, count - 1, 2) for x in leaves], [part(x, 1, count, 2) for x in leaves]
    )
    odd = _halves(together, pairs, axis)
    kept = odd if count % 2 else [part(x, 0, count // 2 - 1) for x in odd]
    even = [part(x, 0, 1) for x in leaves]
    if count > 2:
        rest = together(kept, [part(x, 2, count, 2) for x in leaves])
        even = [concatenate([e, r], axis) for e, r in zip(even, rest)]
    found = []
    for e, o in zip(even, odd):
        both = stack([part(e, 0, count // 2), o], axis + 1)
        sizes = list(e.shape)
        sizes[axis] = -1
        both = both.reshape(sizes)
        found.append(
            both if count % 2 == 0 else concatenate([both, part(e, count // 2, None)], axis)
        )
    return found


# ---- slices and scatters -------------------------------------------------------------------------


def unstack(x, num=None, axis=0):
    x = convert_to_tensor(x)
    key = [builtins.slice(None)] * x.ndim
    found = []
    for i in range(x.shape[axis] if num is None else num):
        key[axis] = i
        found.append(x[tuple(key)])
    return found


def stop_gradient(variable):
    if variable.__class__ is np.ndarray:
        return variable
    x = convert_to_tensor(variable)
    return Symbolic(ops.stop_gradient(x.node)) if isinstance(x, Symbolic) else x


def _places(indices):
    """Indices of (..., depth) as one array for each axis."""
    return tuple(indices[..., i] for i in range(indices.shape[-1]))


def scatter(indices, values, shape):
    indices, values = convert_to_tensor(indices), convert_to_tensor(values)
    if not has_traced(indices, values, *shape):
        found = np.zeros(tuple(shape), values.dtype)
        np.add.at(found, _places(indices), values)
        return found
    zeros = ops.broadcast_to(node_of(0, str(values.dtype)), size_vector(shape))
    return Symbolic(ops.inc_subtensor(zeros, _node_places(indices), node_of(values)))


def _node_places(indices):
    node = node_of(indices, "int64")
    return tuple(ops.getitem(node, (Ellipsis, i)) for i in range(node.shape[-1]))


CHANGES = {"add": np.add, "max": np.maximum, "min": np.minimum, "mul": np.multiply}


def scatter_update(inputs, indices, updates, reduction=None):
    inputs = convert_to_tensor(inputs)
    if indices.__class__ is not np.ndarray or indices.dtype.kind not in "iu":
        indices = convert_to_tensor(indices)
    if updates.__class__ is not np.ndarray or updates.dtype is not inputs.dtype:
        updates = convert_to_tensor(updates, inputs.dtype)
    if inputs.__class__ is indices.__class__ is updates.__class__ is np.ndarray:
        found = inputs.copy()
        if reduction is None:
            found[_places(indices)] = updates
        elif reduction in CHANGES:
            CHANGES[reduction].at(found, _places(indices), updates)
        else:
            raise ValueError(f"Unsupported reduction: {reduction}")
        return found
    indices = convert_to_tensor(indices)
    places, x, y = _node_places(indices), node_of(inputs), node_of(updates)
    if reduction is None:
        return Symbolic(ops.set_subtensor(x, places, y))
    if reduction == "add":
        return Symbolic(ops.inc_subtensor(x, places, y))
    raise NotSupported(
        f"scatter_update with reduction={reduction!r} of traced values; the ckernels backend has "
        "None and 'add'"
    )


def _starts(given):
    """Where slices start: ints, and traced scalars."""
    if given.__class__ in (list, tuple):
        if whole(given):
            return given
        given = [convert_to_tensor(s) for s in given]
    else:
        given = convert_to_tensor(given)
        if isinstance(given, np.ndarray):
            return given.tolist()
    return [s if isinstance(s, Symbolic) else int(s) for s in given]


def _ranges(inputs, starts, sizes):
    """Slices of an array or a node: a negative start is from the end, then all moves inside.

    sizes: ints, and scalar nodes.
    """
    key = []
    for axis, (start, length, count) in enumerate(zip(starts, inputs.shape, sizes)):
        if {int} == {type(start), type(length), type(count)}:
            start = start + length if start < 0 else start
            start = builtins.max(builtins.min(start, length - count), 0)
            key.append(builtins.slice(start, start + count))
        elif start.__class__ is int and start >= 0:
            end = start + count if count.__class__ is int else ops.add(count, start)
            key.append(builtins.slice(start, end))
        else:
            length = ops.size_of(node_of(inputs), axis) if length is None else length
            start = ops.cast(node_of(start), "int64")
            start = ops.where(ops.lt(start, 0), ops.add(start, length), start)
            start = ops.clip(start, 0, ops.sub(length, count))
            key.append(builtins.slice(start, ops.add(start, count)))
    return tuple(key)


def slice(inputs, start_indices, shape):
    inputs = convert_to_tensor(inputs)
    starts = _starts(start_indices)
    if whole(shape) and -1 not in shape and not has_traced(inputs, starts):
        return inputs[_ranges(inputs, starts, shape)]
    ends = [s is None or (s.__class__ is int and s == -1) for s in shape]
    sizes = [
        length - int(start) if end and length is not None else s
        for s, end, start, length in zip(shape, ends, starts, inputs.shape)
    ]
    if builtins.any(end and n is None for end, n in zip(ends, inputs.shape)):
        key = tuple(
            builtins.slice(int(b), None if end else int(b) + s)
            for b, s, end in zip(starts, sizes, ends)
        )
        found = inputs[key]
    else:
        sizes = size_vector(sizes)
        key = _ranges(inputs, starts, sizes)
        if not has_traced(inputs, starts) and whole(sizes):
            return inputs[key]
        loose = [isinstance(k.start, int) or not isinstance(s, int) for k, s in zip(key, sizes)]
        whole_axis = builtins.slice(None)
        found = ops.getitem(
            node_of(inputs), tuple(k if free else whole_axis for k, free in zip(key, loose))
        )
        for axis, size in enumerate(sizes):  # of sizes that are known, wherever they start
            if not loose[axis]:
                rows = ops.add(ops.expand(key[axis].start, (0,)), ops.arange(size))
                found = ops.take(found, rows, axis, mode="clip")
        found = Symbolic(ops.reshape(found, sizes) if None in found.shape else found)
    return found


def slice_update(inputs, start_indices, updates):
    inputs, updates = convert_to_tensor(inputs), convert_to_tensor(updates)
    starts = _starts(start_indices)
    if inputs.__class__ is updates.__class__ is np.ndarray and whole(starts):
        found = inputs.copy()
        found[_ranges(inputs, starts, updates.shape)] = updates
        return found
    key = _ranges(inputs, starts, size_vector(shape(updates)))
    if has_traced(inputs, updates, starts):
        return Symbolic(ops.set_subtensor(node_of(inputs), key, node_of(updates, inputs.dtype)))
    found = inputs.copy()
    found[key] = updates
    return found


# ---- gradients -----------------------------------------------------------------------------------


def remat(f):
    """`f` itself: what a backward pass keeps is decided for the whole step, when it is compiled."""
    return f


def custom_gradient(fun):
    """A function that returns (value, function of its gradient), as one that returns the value."""

    def function(*args, **kwargs):
        values = tree.map_structure(lambda x: x.value if is_variable(x) else x, (args, kwargs))
        args, kwargs = values
        found = fun(*args, **kwargs)
        if has_traced(*tree.flatten(args)):
            return with_gradient(args, *found)
        return found[0]

    return function
