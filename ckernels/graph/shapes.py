"""Static shapes: tuples of ints with None where a size is unknown until the call.

Broadcasting is NumPy's; a conflict between known sizes is an error when the graph is built.
Messages name the shapes; errors add the user's line by themselves.
"""

import operator

from ..base.errors import ShapeError, UsageError
from ..base.given import sequence

# How people call the operations whose shapes conflict most often.
VERBS = {"add": "add", "sub": "subtract", "mul": "multiply", "true_div": "divide",
         **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), "compare")}  # fmt: skip


def show(shape):
    """(None, 3) as '(?, 3)'."""
    inner = ", ".join("?" if d is None else repr(d) for d in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def distinct(sizes):
    """The different ones among the known `sizes`, in their order.

    >>> distinct([3, None, 4, 3])
    [3, 4]
    """
    known = []
    for d in sizes:
        if d is not None and all(d != k for k in known):
            known.append(d)
    return known


def _same_number(a, b):
    return a is b or type(a) is int and type(b) is int and a == b


def known_same(a, b):
    """Whether two static shapes are equal as they stand, None like None; nothing is assumed.

    >>> known_same((None, 3), (None, 3)), known_same((2, 3), (3,))
    (True, False)
    """
    return a is b or len(a) == len(b) and all(map(_same_number, a, b))


def _broadcast_alike(a, b):
    """The broadcast of two shapes whose sizes are pairwise the same or 1, which is the usual case;
    else None."""
    if len(a) < len(b):
        a, b = b, a
    lead = len(a) - len(b)
    out = list(a[:lead])
    for x, y in zip(a[lead:], b):
        if x is y or type(y) is int and y == 1:
            out.append(x)
        elif type(x) is int and (x == 1 or type(y) is int and x == y):
            out.append(y)
        else:
            return None
    return tuple(out)


def broadcast(what, *shapes):
    """The broadcast of `shapes`; `what` names the operation in the error.

    >>> broadcast("add", (None, 3), (3,))
    (None, 3)
    """
    if len(shapes) == 2:
        a, b = shapes
        if not a or not b or known_same(a, b):
            return b if not a else a
        found = _broadcast_alike(a, b)
        if found:
            return found
    ndim = max((len(s) for s in shapes), default=0)
    out = []
    for axis in range(-ndim, 0):
        sizes = [s[axis] for s in shapes if -axis <= len(s)]
        known = distinct(d for d in sizes if d != 1)
        if len(known) > 1:
            shown = " and ".join(show(s) for s in shapes)
            verb = VERBS.get(what, "broadcast")
            where = "" if what in VERBS else f" in {what}"
            raise ShapeError(
                f"cannot {verb} shapes {shown}{where}: axis {axis + ndim} is "
                + " against ".join(str(d) for d in sizes if d not in (None, 1))
            )
        if known:
            out.append(known.pop())
        else:
            out.append(1 if all(d == 1 for d in sizes) else None)
    return tuple(out)


def axis_of(axis, ndim, what="axis"):
    """`axis` made non-negative; ShapeError when it does not exist, UsageError when it is no int."""
    try:
        axis = operator.index(axis)
    except TypeError:
        raise UsageError(f"{what} must be an integer, not {axis!r}") from None
    if not -ndim <= axis < ndim:
        raise ShapeError(f"{what} {axis} does not exist in a tensor of {ndim} dimensions")
    return axis % ndim


def axes_of(axis, ndim):
    """None, an int or a sequence of ints as a sorted tuple of distinct non-negative axes."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, (list, tuple)) or (hasattr(axis, "__iter__") and not isinstance(axis, str)):
        axes = [axis_of(a, ndim) for a in sequence(axis, "axis")]
        if len(set(axes)) != len(axes):
            raise ShapeError(f"axes {tuple(axis)} name the same axis twice")
        return tuple(sorted(axes))
    return (axis_of(axis, ndim),)


def same(a, b):
    """Whether two static shapes are certainly equal."""
    return len(a) == len(b) and all(x == y and x is not None for x, y in zip(a, b))


def product(shape):
    """The number of elements; None when unknown."""
    total = 1
    for d in shape:
        if d is None:
            return None
        total *= d
    return total


# ---- orders of axes in memory -------------------------------------------------------------------


def in_memory(strides, shape):
    """The axes from the largest stride to the smallest; those of size 1 come first.

    >>> in_memory((1, 2), (2, 3)), in_memory((1, 2), (2, 1))
    ((1, 0), (1, 0))
    """
    ones = [type(n) is int and n == 1 for n in shape]
    return tuple(sorted(range(len(shape)), key=lambda k: (not ones[k], -abs(strides[k]))))


def dense_strides(order, shape):
    """Strides of a tensor of this shape whose axes lie in this order, the outermost first, without
    gaps; ~k for an axis k that runs backwards.

    >>> dense_strides((1, 0), (2, 3)), dense_strides((0, -2), (2, 3))
    ((1, 2), (3, -1))
    """
    strides, step = [0] * len(shape), 1
    for k in reversed(order):
        axis, n = (k, shape[k]) if k >= 0 else (~k, shape[~k])
        strides[axis] = step if k >= 0 else -step
        if not (type(n) is int and n < 2):
            step = step * n
    return tuple(strides)
