"""How the arrays of a call lie, as classes of shapes know it.

Each input is contiguous, or dense in another order of its axes (transposed, reversed), or strided:
then its strides are numbers of the call, and the class knows which are small and how they are
ordered. All of that decides loops and the order of sums, so it is part of the kind by which plans
are found; and so is whether elements may lie at any byte, which loops read as they are. What a plan
computes is not known here.
"""

from typing import NamedTuple

from ..graph.shapes import dense_strides, in_memory
from ..graph.sizes import LEAST

DENSE, STRIDED = 2, 0  # beside 1 for contiguous, as classes.c reads them;
LOOSE = 4  # is added where elements may lie at any byte
ANY = 9  # a stride that a class does not know
PLAIN = (-1, 0, 1)  # strides (in elements) for each of which a kernel is another one
STEPS = (2, 3, 4)  # of the innermost axis too


class Lie(NamedTuple):
    """order: the axes, the outermost in memory first; ~k for an axis k that runs backwards, where
    the array is dense. strides: in elements, None where the array is dense."""

    order: tuple
    strides: tuple = None

    def known(self):
        """The strides that a class knows, None in place of others: steps of 2 are those of every
        second element, and among outer strides a small array."""
        inner = next((k for k in reversed(self.order) if self.strides[k]), None)
        return [
            s if s in PLAIN or k == inner and s in STEPS else None
            for k, s in enumerate(self.strides)
        ]


def lie(array):
    """The Lie of an array; None where it is C-contiguous.

    The stride of an axis of size 1 says nothing: it counts as 0.

    >>> import numpy as np
    >>> lie(np.zeros((2, 3))), lie(np.zeros((2, 3)).T)
    (None, Lie(order=(1, 0), strides=None))
    >>> lie(np.zeros((2, 3))[:, ::-1]), lie(np.zeros((4, 6))[::2, ::2])
    (Lie(order=(0, -2), strides=None), Lie(order=(0, 1), strides=(12, 2)))
    """
    if array.flags.c_contiguous:
        return None
    size = array.itemsize
    strides = tuple(0 if n == 1 else s // size for n, s in zip(array.shape, array.strides))
    order = in_memory(strides, array.shape)
    step = 1
    for k in reversed(order):
        if abs(strides[k]) != (step if array.shape[k] != 1 else 0):
            return Lie(order, strides)
        step *= array.shape[k]
    return Lie(tuple(~k if strides[k] < 0 else k for k in order))


def is_loose(array):
    """Whether the elements of an array may lie at any byte, not only at multiples of their size."""
    return not array.flags.aligned


def is_symbol(n, axis, least):
    """Whether a size that is not declared is a symbol of its class, not a number of it.

    A first axis of 1 is a batch like others. Further axes of 1 vanish from loops, so that it is
    another plan: sums, maxima and sorts of 262,144 rows of 1 took 2 to 50 times as long in loops
    over rows of any length.
    """
    return n >= (LEAST if axis else least)


def kind_of(program, arrays, least=LEAST):
    """(the kind by which classes of shapes are looked up, the values of their symbols).

    The kind says of each input how it lies, and of each size that is not declared whether it is 0,
    1 or larger, since each of these needs a plan of its own. Larger sizes are symbols, and so are
    strides other than the plain ones. least: 1 makes a first axis of size 1 a symbol too.
    """
    kind, symbols = [], []

    def add(shape, node):
        for k, (n, declared) in enumerate(zip(shape, node.shape)):
            if declared is None:
                kind.append(None if is_symbol(n, k, least) else n)
                symbols.extend([n] * is_symbol(n, k, least))

    for node, array in zip(program.inputs, arrays):
        add(array.shape, node)
        found = lie(array)
        kind.append(found and found.order)
        kind += ["loose"] * is_loose(array)
        if found and found.strides is not None:
            kind += ["strided", *found.known()]
            symbols += [s for s, k in zip(found.strides, found.known()) if k is None]
    for node in program.cells:
        if None in node.shape:
            add(program.bound[node], node)
    return tuple(kind), symbols


def written_kind(program, arrays, least=LEAST):
    """The kind of these arrays as the runtime reads it: see classes.c."""
    written = []
    for node, array in zip(program.inputs, arrays):
        written.append(array.ndim)
        for k, (n, declared) in enumerate(zip(array.shape, node.shape)):
            small = -1 if is_symbol(n, k, least) else -2 - n
            written.append(n if declared is not None else small)
        found, loose = lie(array), LOOSE * is_loose(array)
        if found is None:
            written.append(1 + loose)
        elif found.strides is None:
            written += [DENSE + loose, *found.order]
        else:
            steps = [ANY if s is None else s for s in found.known()]
            written += [STRIDED + loose, *steps, *found.order]
    return written


def leaves_of(program, arrays, sizes, least=LEAST, particular=False):
    """({leaf: shape}, {input: strides in elements where they are not contiguous}, {inputs that
    are loose}): the numbers of `kind_of` as symbols of `sizes`, a ShapeClass; particular: each one
    is assumed to stay."""
    shapes, strides = {}, {}

    def symbol(origin, name, value, low):
        made = sizes.symbol(origin, name, value, low)
        return int(made) if particular else made

    def shape(where, node, found):
        name = node.name or f"{where[0]} {where[1]}"
        return tuple(
            symbol((*where, k), f"{name}.shape[{k}]", n, LEAST if k else 1)
            if d is None and is_symbol(n, k, least)
            else n
            for k, (d, n) in enumerate(zip(node.shape, found))
        )

    for i, (node, array) in enumerate(zip(program.inputs, arrays)):
        shapes[node] = shape(("input", i), node, array.shape)
        found = lie(array)
        if found and found.strides is None:
            strides[node] = dense_strides(found.order, shapes[node])
        elif found:
            name = node.name or f"input {i}"
            strides[node] = tuple(
                symbol(("stride", i, k), f"{name}.strides[{k}]", s, None) if known is None else s
                for k, (s, known) in enumerate(zip(found.strides, found.known()))
            )
    for i, node in enumerate(program.cells):
        if None in node.shape:
            shapes[node] = shape(("variable", i), node, program.bound[node])
    loose = frozenset(n for n, array in zip(program.inputs, arrays) if is_loose(array))
    return shapes, strides, loose
