"""How the operands of a cell lie in memory: one row per layout, which makes arrays of any dtype.

A row is a function of `make(shape)`, which gives a fresh C-contiguous array, and of the number of
operands. The first operand says how the cell is called; others lie as it does unless it says so.
"""

import numpy as np

SIDE = 512  # of a matrix: 262,144 elements, 1 MB of floats, which the second cache just holds
N = SIDE * SIDE


def alike(shape, view=lambda x: x):
    """All operands have this shape and are seen through `view`."""
    return lambda make, count: [view(make(shape)) for _ in range(count)]


def beside(shape, other):
    """The first operand has a shape, the others another that broadcasts to it."""
    return lambda make, count: [make(shape)] + [make(other) for _ in range(count - 1)]


def transposed(make, count):
    """The first operand is transposed, the others are not."""
    return [make((SIDE, SIDE)).T] + [make((SIDE, SIDE)) for _ in range(count - 1)]


def unaligned(make, count):
    """Operands that begin one byte behind where their dtype wants them."""
    found = []
    for _ in range(count):
        x = make((SIDE, SIDE))
        room = np.zeros(x.nbytes + 16, np.uint8)
        y = room[1 : 1 + x.nbytes].view(x.dtype).reshape(x.shape)
        y[...] = x
        found.append(y)
    return found


LAYOUTS = {
    "flat": alike((N,)),
    "tiny": alike((16,)),
    "0-d": alike(()),
    "matrix": alike((SIDE, SIDE)),
    "last axis 1": alike((SIDE, SIDE, 1)),
    "last axis 3": alike((N // 4, 3)),
    "last axis 7": alike((N // 8, 7)),
    "last axis 32": alike((N // 32, 32)),
    "first axis 3": alike((3, N // 4)),
    "one row": alike((1, N)),
    "one column": alike((N, 1)),
    "and a row": beside((SIDE, SIDE), (SIDE,)),
    "and a column": beside((SIDE, SIDE), (SIDE, 1)),
    "and 3 channels": beside((N // 4, 3), (3,)),
    "broadcast in the middle": beside((64, 64, 64), (64, 1, 64)),
    "transposed": transposed,
    "all transposed": alike((SIDE, SIDE), np.transpose),
    "every second": alike((2 * N,), lambda x: x[::2]),
    "every second column": alike((SIDE, 2 * SIDE), lambda x: x[:, ::2]),
    "reversed": alike((N,), lambda x: x[::-1]),
    "reversed rows": alike((SIDE, SIDE), lambda x: x[:, ::-1]),
    "unaligned": unaligned,
}
BESIDE = ("and a row", "and a column", "and 3 channels", "broadcast in the middle", "transposed")
