"""Indexing: subtensors, setting and incrementing them, take, choose, nonzero.

A subtensor remembers what it was cut from, as its Apply: `set_subtensor(x[i], v)` makes an x with
other elements there.
"""

import numpy as np

from ... import ops
from ...base.dtypes import is_complex
from ...base.errors import ArgumentError, IndexOutOfBounds, UsageError
from ...graph.shapes import axis_of
from ..base.exceptions import RefusedError
from ..base.names import absent_of as _absent_of
from ..classes.meanings import DISCRETE
from ..classes.op import KernelOp
from ..handles.variables import Handle, as_tensor_variable, constant, holds_variables
from .slices import Cut, Write, cut, is_slice

__all__ = [
    "Subtensor",
    "AdvancedSubtensor",
    "AdvancedSubtensor1",
    "AdvancedBooleanSubtensor",
    "AdvancedBooleanIncSubtensor",
    "IncSubtensor",
    "AdvancedIncSubtensor",
    "AdvancedIncSubtensor1",
    "set_subtensor",
    "inc_subtensor",
    "take",
    "choose",
    "Choose",
    "nonzero",
    "flatnonzero",
    "nonzero_values",
    "get_canonical_form_slice",
    "advanced_subtensor",
    "advanced_subtensor1",
    "advanced_inc_subtensor",
    "advanced_inc_subtensor1",
    "permute_row_elements",
    "PermuteRowElements",
    "inverse_permutation",
    "sparse_grad",
    "advanced_set_subtensor1",
    "as_index_constant",
]


class Index:
    """The template of a key: what is symbolic in it, and the rest as hashable values."""

    def __init__(self, key):
        self.operands = []
        entries = key if isinstance(key, tuple) else (key,)
        self.template = tuple(self.entry(k) for k in entries)

    def entry(self, k):
        if k is None or k is Ellipsis:
            return ("new",) if k is None else ("...",)
        if isinstance(k, slice):
            return ("slice", *(self.bound(b) for b in (k.start, k.stop, k.step)))
        if isinstance(k, (bool, np.bool_)):
            raise UsageError(
                "TensorType does not support boolean scalars as indices; use an array of them"
            )
        if isinstance(k, (int, np.integer)):
            return ("int", _int64(k))
        if isinstance(k, Handle):
            return self.operand(k)
        if isinstance(k, (list, tuple, np.ndarray)) or hasattr(k, "node"):
            if isinstance(k, (list, tuple)) and _holds_bools(k):
                raise UsageError(
                    "TensorType does not support Python booleans for indexing, such as "
                    "tensor[[True, False]]: give an array of them"
                )
            if isinstance(k, (list, tuple)) and not len(k):
                k = np.zeros(0, "int64")
            elif isinstance(k, (list, tuple)) and not holds_variables(k):
                k = np.asarray(k)
            return self.operand(as_tensor_variable(k))
        raise UsageError(f"Expected an integer, a slice, None, ... or an integer array, got {k!r}")

    def operand(self, k):
        if k.dtype not in DISCRETE:
            if getattr(getattr(k, "data", None), "size", 1) == 0:
                k = constant(k.data.astype("int64"))
            else:
                raise UsageError("Expected an integer", k, k.dtype)
        self.operands.append(k)
        return ("operand",)

    def bound(self, b):
        if b is None or isinstance(b, (int, np.integer)):
            return None if b is None else ("int", _int64(b))
        if isinstance(b, np.ndarray) and b.ndim == 0:
            return ("int", int(b))
        if isinstance(b, (float, np.floating)):
            raise UsageError(f"Expected an integer as a bound of a slice, got {b!r}")
        b = as_tensor_variable(b)
        if b.ndim or b.dtype not in DISCRETE:
            if b.ndim == 1 and b.broadcastable[0]:
                b = b[0]
            else:
                raise UsageError("Expected an integer scalar as a bound of a slice", b)
        return self.operand(b)


def _holds_bools(k):
    """Whether nested lists hold booleans."""
    if isinstance(k, (list, tuple)):
        return any(map(_holds_bools, k))
    return (
        isinstance(k, (bool, np.bool_))
        or isinstance(k, Handle)
        and k.dtype == "bool"
        and not k.ndim
    )


def key_of(template, operands):
    """The key of the engine for a template and nodes."""
    rest = iter(operands)

    def one(part):
        if part is None or part == ("new",):
            return None
        if part == ("...",):
            return Ellipsis
        if part[0] == "int":
            return part[1]
        if part[0] == "slice":
            return slice(*(one(p) for p in part[1:]))
        return next(rest)

    return tuple(one(part) for part in template)


class Subtensor(KernelOp):
    """Slices and integers along some axes."""

    def __init__(self, template, name=None):
        self.idx_list = template
        KernelOp.__init__(self, _take, name or type(self).__name__, template=template)

    def __str__(self):
        return (
            f"{self.name}{{{', '.join(map(_shown, self.idx_list))}}}"
            if isinstance(self.idx_list, tuple)
            else self.name
        )

    def __reduce__(self):
        return type(self), (self.idx_list,)


class AdvancedSubtensor(Subtensor):
    """Integer arrays along some axes."""


class AdvancedSubtensor1(Subtensor):
    """Rows at the places of an integer vector."""


class AdvancedBooleanSubtensor(Subtensor):
    """Elements where a mask holds."""


def _shown(part):
    if part is None:
        return ""
    if part[0] == "int":
        return str(part[1]) if not isinstance(part[1], int) else "int64"
    if part[0] == "slice":
        start, stop, step = part[1:]
        text = f"{_shown(start)}:{_shown(stop)}:{_shown(step)}"
        return text
    return {"new": "None", "...": "...", "operand": "int64"}[part[0]]


def _take(x, *operands, template):
    return ops.getitem(x, key_of(template, operands))


def subtensor(x, key):
    """x[key]."""
    x = as_tensor_variable(x)
    if isinstance(key, list) and any(
        isinstance(k, (slice, type(None))) or k is Ellipsis for k in key
    ):
        key = tuple(key)
    entries = key if isinstance(key, tuple) else (key,)
    if any(is_slice(k) for k in entries):
        return cut(x, entries)
    index = Index(key)
    used = sum(1 if p[0] in ("int", "slice") else 0 for p in index.template)
    rest = iter(index.operands)
    arrays = []
    for p in index.template:
        if p[0] == "slice":
            for b in p[1:]:
                if b == ("operand",):
                    next(rest)
        elif p[0] == "operand":
            k = next(rest)
            used += k.ndim if k.dtype == "bool" else 1
            if k.ndim:
                arrays.append(k)
    if used > x.ndim:
        raise IndexOutOfBounds("too many indices for array")
    if not arrays:
        return Subtensor(index.template)(x, *index.operands)
    if any(k.dtype == "bool" for k in arrays):
        kind = AdvancedBooleanSubtensor
    elif len(index.template) == 1 and arrays[0].ndim == 1:
        kind = AdvancedSubtensor1
    else:
        kind = AdvancedSubtensor
    return kind(index.template)(x, *index.operands)


def advanced_subtensor(x, *args):
    """x[args], with integer arrays among them."""
    return subtensor(x, tuple(args))


def advanced_subtensor1(x, ilist):
    """Rows of `x` at the places `ilist`."""
    return subtensor(x, ilist)


# --- writing ----------------------------------------------------------------------------------


class IncSubtensor(KernelOp):
    """`x` with other elements at a key, or with something added there."""

    def __init__(self, template, set_instead_of_inc=False, inplace=False, name=None):
        self.idx_list, self.set_instead_of_inc = template, bool(set_instead_of_inc)
        self.inplace = inplace
        KernelOp.__init__(
            self,
            _write,
            name or type(self).__name__,
            template=template,
            put=self.set_instead_of_inc,
        )

    def __str__(self):
        what = "Set" if self.set_instead_of_inc else "Inc"
        return f"{'Inplace' if self.inplace else ''}{self.name};{what}"

    def __reduce__(self):
        return type(self), (self.idx_list, self.set_instead_of_inc)


class AdvancedIncSubtensor(IncSubtensor):
    """`IncSubtensor` at integer arrays."""


class AdvancedIncSubtensor1(IncSubtensor):
    """`IncSubtensor` at rows."""


class AdvancedBooleanIncSubtensor(IncSubtensor):
    """`IncSubtensor` where a mask holds."""


def _write(x, y, *operands, template, put):
    write = ops.set_subtensor if put else ops.inc_subtensor
    y = ops.cast(y, x.dtype)
    return write(x, key_of(template, operands), y)


KINDS = {"Subtensor": IncSubtensor, "AdvancedSubtensor": AdvancedIncSubtensor,
         "AdvancedSubtensor1": AdvancedIncSubtensor1,
         "AdvancedBooleanSubtensor": AdvancedBooleanIncSubtensor}  # fmt: skip


def set_subtensor(x, y, inplace=False, tolerate_inplace_aliasing=False):
    """The tensor that `x` was cut from, with `y` in the place of what was cut.

    >>> import ckernels.compat.theano.tensor as T
    >>> x = T.as_tensor_variable(np.zeros(3))
    >>> T.set_subtensor(x[1:], 7.0).eval().tolist()
    [0.0, 7.0, 7.0]
    """
    return inc_subtensor(
        x, y, inplace, set_instead_of_inc=True, tolerate_inplace_aliasing=tolerate_inplace_aliasing
    )


def inc_subtensor(x, y, inplace=False, set_instead_of_inc=False, tolerate_inplace_aliasing=False):
    """The tensor that `x` was cut from, with `y` added to what was cut; places named twice get it
    twice."""
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    what = "set" if set_instead_of_inc else "inc"
    if y.ndim > x.ndim:
        raise UsageError(
            f"{what}_subtensor: the value has more axes ({y.ndim}) than the part "
            f"of the tensor ({x.ndim}) that it goes to"
        )
    ones = [d for d in range(-y.ndim, 0) if x.broadcastable[d] and not y.broadcastable[d]]
    if ones:  # such an axis has to be of size 1, which is checked when it is computed
        from .shaping import addbroadcast  # programs would see the name here

        y = addbroadcast(y, *ones)
    if is_complex(y.dtype) and not is_complex(x.dtype):
        raise UsageError(
            f"{what}_subtensor: a value of {y.dtype} does not fit into a tensor of {x.dtype}: "
            "write its real or imaginary part"
        )
    apply = x.owner
    if apply is None:
        raise UsageError("x was not cut out of another tensor: pass a part of one, such as a[1:]")
    if isinstance(apply.op, Subtensor):
        kind = KINDS.get(type(apply.op).__name__, IncSubtensor)
        op = kind(apply.op.idx_list, set_instead_of_inc, inplace)
        return op(apply.inputs[0], y, *apply.inputs[1:])
    if isinstance(apply.op, Cut):
        return Write(apply.op.template, set_instead_of_inc)(apply.inputs[0], y, *apply.inputs[1:])
    return _through_view(x, apply, y, set_instead_of_inc)


def _through_view(x, apply, y, put):
    """Writing to a subtensor that was reshaped or transposed, or had axes of size 1 changed."""
    from .elementwise import DimShuffle  # programs would see the name here
    from .shaping import Flatten, Rebroadcast, Reshape  # programs would see the name here

    inner = apply.inputs[0] if apply.inputs else None
    if isinstance(apply.op, DimShuffle):
        lead = x.ndim - y.ndim
        y = y.dimshuffle(["x"] * lead + list(range(y.ndim)))
        order = apply.op.new_order
        back = [order.index(i) if i in order else "x" for i in range(inner.ndim)]
        from .shaping import unbroadcast  # programs would see the name here

        y = (
            y.dimshuffle(back)
            if all(p == "x" or isinstance(p, int) for p in back)
            and not [i for i, p in enumerate(order) if p == "x" and not y.broadcastable[i]]
            else unbroadcast(y).dimshuffle(back)
        )
        return inc_subtensor(inner, y, set_instead_of_inc=put)
    if isinstance(apply.op, (Reshape, Flatten)):
        from .elementwise import second  # programs would see the name here

        return inc_subtensor(
            inner, second(x, y).reshape(inner.shape, ndim=inner.ndim), set_instead_of_inc=put
        )
    if isinstance(apply.op, Rebroadcast):
        return inc_subtensor(inner, y, set_instead_of_inc=put)
    if getattr(apply.op, "name", "") == "identity":
        return inc_subtensor(inner, y, set_instead_of_inc=put)
    raise UsageError("x was not cut out of another tensor: pass a part of one, such as a[1:]")


def advanced_inc_subtensor(x, y, *args):
    """x[args] += y."""
    return inc_subtensor(subtensor(x, tuple(args)), y)


def advanced_inc_subtensor1(x, y, ilist):
    """Rows of `x` at `ilist`, incremented by `y`."""
    return inc_subtensor(subtensor(x, ilist), y)


def advanced_set_subtensor1(x, y, ilist):
    """Rows of `x` at `ilist`, replaced by `y`."""
    return set_subtensor(subtensor(x, ilist), y)


# --- by place ---------------------------------------------------------------------------------


def take(a, indices, axis=None, mode="raise"):
    """The entries of `a` at integer places along `axis`; of the flattened `a` for None.

    mode: 'raise', 'wrap' or 'clip' for places beyond the ends.
    """
    a, indices = as_tensor_variable(a), as_tensor_variable(indices)
    if axis is None:
        a, axis = a.flatten(), 0
    axis = axis_of(axis, a.ndim, "the axis of take")
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentError(f"invalid mode '{mode}' for take")
    if mode == "wrap":
        indices = indices % a.shape[axis]
    elif mode == "clip":
        from .elementwise import clip  # programs would see the name here

        indices = clip(indices, 0, a.shape[axis] - 1)
    return subtensor(a, (slice(None),) * axis + (indices,))


class Choose(KernelOp):
    """Elements of one of several tensors."""

    def __init__(self, mode):
        KernelOp.__init__(self, _choose, "Choose", mode=mode)
        self.mode = mode

    def make_node(self, a, choices):
        a = as_tensor_variable(a)
        if a.dtype not in DISCRETE:
            raise UsageError("choose picks by number: pass integers first, not", a.dtype)
        if isinstance(choices, (list, tuple)):
            from .joining import stack  # programs would see the name here

            choices = [as_tensor_variable(c) for c in choices]
            ndim = max(c.ndim for c in choices)
            if any(c.ndim != ndim for c in choices):
                from .shaping import shape_padleft  # programs would see the name here

                choices = [shape_padleft(c, ndim - c.ndim) for c in choices]
            if ndim and len(choices) > 1:
                from .creation import zeros_like  # programs would see the name here
                from .elementwise import add, fill  # programs would see the name here

                common = add(*[zeros_like(c, "int8") for c in choices])
                choices = [fill(common, c) for c in choices]
            choices = stack(choices)
        return KernelOp.make_node(self, a, choices)

    def __reduce__(self):
        return Choose, (self.mode,)


def _choose(a, choices, mode):
    from ...graph.node import constant as node  # programs would see the name here

    a = ops.cast(a, "int64")
    count = ops.size_of(choices, 0)
    last = node(np.asarray(count - 1)) if isinstance(count, int) else ops.sub(count, 1)
    if mode == "wrap":
        a = ops.mod(a, ops.add(last, 1))
    elif mode == "clip":
        a = ops.minimum(ops.maximum(a, 0), last)
    else:
        a = ops.check(
            a,
            ops.logical_and(ops.ge(a, 0), ops.le(a, last)),
            message="invalid entry in choice array",
            error="value",
        )
    ndim = max(a.ndim, choices.ndim - 1)
    a = ops.expand(a, tuple(range(ndim - a.ndim)))
    lead = ndim - (choices.ndim - 1)
    choices = ops.expand(choices, tuple(range(1, 1 + lead)))
    zero = ops.getitem(choices, 0)
    full = ops.broadcast_like(a, ops.eq(a, ops.cast(ops.zeros_like(zero), "int64")))
    place = ops.expand(full, (0,))
    wide = ops.broadcast_like(choices, ops.eq(ops.cast(ops.zeros_like(choices), "int64"), place))
    return ops.squeeze(ops.take_along_axis(wide, place, 0), (0,))


def choose(a, choices, out=None, mode="raise"):
    """Elements of the tensors `choices`: at each place that with the number `a` has there.

    mode: 'raise', 'wrap' or 'clip' for numbers beyond the last.
    """
    if out is not None:
        raise RefusedError("choose takes no out")
    return Choose(mode)(a, choices)


def get_canonical_form_slice(theslice, length):
    """(slice with 0 <= start <= stop <= length and a step above 0, 1 or -1 to reverse the result).

    `theslice` is a slice or an index, of ints and scalar variables; an index comes back >= 0.
    """
    from .elementwise import (  # programs would see the name here
        ceil_intdiv,
        clip,
        lt,
        maximum,
        switch,
    )

    if not isinstance(theslice, slice):
        i = as_tensor_variable(theslice)
        return switch(lt(i, 0), i + length, i), 1
    step = as_tensor_variable(1 if theslice.step is None else theslice.step)
    back, by = lt(step, 0), abs(step)

    def place(bound, default, low, high):
        if bound is None:
            return as_tensor_variable(default)
        bound = as_tensor_variable(bound).astype("int64")
        return clip(switch(lt(bound, 0), bound + length, bound), low, high)

    start = switch(
        back,
        place(theslice.start, length - 1, -1, length - 1),
        place(theslice.start, 0, 0, length),
    )
    stop = switch(
        back, place(theslice.stop, -1, -1, length - 1), place(theslice.stop, length, 0, length)
    )
    count = maximum(ceil_intdiv(switch(back, start - stop, stop - start), by), 0)
    last = start - (count - 1) * by
    low = switch(back, switch(lt(0, count), last, 0), start)
    high = switch(lt(0, count), switch(back, start + 1, stop), low)
    return slice(low, high, by), switch(back, -1, 1)


def nonzero(a, return_matrix=False):
    """The places of the elements that are not zero: a tuple of vectors, or the rows of a matrix."""
    a = as_tensor_variable(a)
    if a.ndim == 0:
        raise ArgumentError("nonzero lists places, and a scalar has none: reshape it to (1,)")
    found = KernelOp(_nonzero, "Nonzero")(a)
    found = found if isinstance(found, list) else [found]
    if return_matrix:
        from .joining import stack  # programs would see the name here

        return stack(found, 0)
    return tuple(found)


def _nonzero(a):
    return list(ops.nonzero(a))


def flatnonzero(a):
    """The places in the flattened `a` of the elements that are not zero."""
    a = as_tensor_variable(a)
    if a.ndim == 0:
        raise ArgumentError("flatnonzero lists places, and a scalar has none: reshape it to (1,)")
    return nonzero(a.flatten(), return_matrix=False)[0]


def nonzero_values(a):
    """The elements of `a` that are not zero, a vector."""
    a = as_tensor_variable(a)
    return a.flatten()[flatnonzero(a)]


class PermuteRowElements(KernelOp):
    """Elements of rows in another order."""

    def __init__(self):
        KernelOp.__init__(self, _permute, "PermuteRowElements")


def _permute(x, y, inverse=False):
    y = ops.cast(y, "int64")
    if inverse:
        y = ops.argsort(y, -1)
    ndim = max(x.ndim, y.ndim)
    x = ops.expand(x, tuple(range(ndim - x.ndim)))
    y = ops.expand(y, tuple(range(ndim - y.ndim)))
    like = ops.eq(ops.cast(ops.zeros_like(x), "int64"), y)
    return ops.take_along_axis(ops.broadcast_like(x, like), ops.broadcast_like(y, like), -1)


def permute_row_elements(x, y, inverse=0):
    """Row i of `x` in the order of row i of `y`, or in the inverse of that order."""
    return KernelOp(_permute, "PermuteRowElements", inverse=bool(inverse))(x, y)


def inverse_permutation(perm):
    """The order that undoes `perm`."""
    perm = as_tensor_variable(perm)
    line = KernelOp(_line, "arange")(perm.shape[-1])
    return permute_row_elements(line.astype("int64"), perm, inverse=True).astype(perm.dtype)


def _line(n):
    from ...graph.node import constant as node  # programs would see the name here

    return ops.arange(node(np.asarray(0)), n, node(np.asarray(1)), "int64")


def _int64(k):
    """The integer, which an index of 64 bits has to hold."""
    if not -(2**63) <= k < 2**63:
        raise IndexOutOfBounds(f"{k} is no index: an index has 64 bits")
    return int(k)


def sparse_grad(var):
    """`var`, a selection of rows; its gradient is dense here, with the same numbers."""
    return var


def as_index_constant(a):
    """An index with constants for Python ints."""
    if isinstance(a, slice):
        return slice(*(as_index_constant(b) for b in (a.start, a.stop, a.step)))
    return constant(np.int64(a)) if isinstance(a, (int, np.integer)) else a


__getattr__ = _absent_of("theano.tensor.subtensor")
