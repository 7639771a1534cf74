"""MRG31k3p (L'Ecuyer and Touzin 2000): streams of uniform numbers, each with a state of its own.

A stream runs two recurrences of order three, one modulo 2**31 - 1 and one modulo 2**31 - 21069:
  x1[k] = 2**22 x1[k-2] + (2**7 + 1) x1[k-3],   x2[k] = 2**15 x2[k-1] + (2**15 + 1) x2[k-3]
and gives z = x1 - x2 modulo 2**31 - 1, in 1 .. 2**31 - 1. States are the rows (x1[k], x1[k-1],
x1[k-2], x2[k], x2[k-1], x2[k-2]) of an int32 matrix; element i of a draw (C order) comes from
stream i modulo their number, as in Theano. What a seed means is api/randomstreams.py's business.
"""

import functools
import math

import numpy as np

from ..base import dtypes
from ..base.errors import DTypeError, ShapeError
from ..graph.node import item, make
from ..graph.op import Op
from ..graph.shapes import show
from .base import cast, to_node
from .movement import vector_values
from .random import drawn_shape, without_end
from .shape import shape_vector

__all__ = ["mrg_uniform", "mrg_choice"]

M1, M2 = 2**31 - 1, 2**31 - 21069
A1 = ((0, 2**22, 2**7 + 1), (1, 0, 0), (0, 1, 0))
A2 = ((2**15, 0, 2**15 + 1), (1, 0, 0), (0, 1, 0))
SUBSTREAM, STREAM = 72, 134  # log2 of the steps from one substream, one stream to the next

# Factors from z to (0, 1), C literals: the largest float32 whose product with 2**31 is below 1;
# 2**-31; for float16, which has no room for z, that of the low 15 bits plus 1 (Theano's numbers).
NORM = {"float32": "4.6566126e-10f", "float64": "4.656612873077392578125e-10"}
NORM16 = 511 * 2.0**-24


# ---- jumps --------------------------------------------------------------------------------------


@functools.cache
def jump(log2_steps):
    """The two transition matrices, each modulo its number, to the power 2**log2_steps (int64)."""
    pair = []
    for matrix, m in ((A1, M1), (A2, M2)):
        power = [list(row) for row in matrix]
        for _ in range(log2_steps):
            columns = list(zip(*power))
            power = [[sum(a * b for a, b in zip(r, c)) % m for c in columns] for r in power]
        pair.append(np.array(power, "int64"))
    return tuple(pair)


def ahead(rstates, log2_steps):
    """The int32 states 2**log2_steps numbers after `rstates` (rows of six)."""
    rows = np.asarray(rstates, "int64").reshape(-1, 6)
    out = np.empty_like(rows)
    for first, matrix, m in zip((0, 3), jump(log2_steps), (M1, M2)):
        # Products stay below 2**62 and are reduced before they are added.
        parts = rows[:, None, first : first + 3] * matrix % m
        out[:, first : first + 3] = parts.sum(-1) % m
    return out.astype("int32").reshape(np.shape(rstates))


def substreams(rstate, count):
    """The states of `count` substreams, 2**72 numbers apart, the first at `rstate`."""
    rows = np.asarray(rstate, "int32").reshape(1, 6)
    log2 = SUBSTREAM
    while len(rows) < count:  # the rows there are, and as many after the last of them
        rows = np.concatenate([rows, ahead(rows, log2)])
        log2 += 1
    return np.ascontiguousarray(rows[:count])


# ---- uniform numbers ----------------------------------------------------------------------------


def next_numbers(x):
    """One step of all streams: x is a list of six int64 vectors, changed in place; returns z."""
    x11, x12, x13, x21, x22, x23 = x
    first = (x12 * 2**22 + x13 * (2**7 + 1)) % M1
    second = (x21 * 2**15 + x23 * (2**15 + 1)) % M2
    x[:] = [first, x11, x12, second, x21, x22]
    z = (first - second) % M1
    return np.where(z == 0, M1, z)


def scaled(z, dtype):
    """z in 1 .. 2**31 - 1 as a number of `dtype` in (0, 1)."""
    if dtype == "float16":
        return (((z & 0x7FFF) + 1) * NORM16).astype("float16")
    if dtype == "float32":
        return z.astype("float32") * np.float32(NORM["float32"].rstrip("f"))
    return z * float(NORM["float64"])


def draw(rstate, count, dtype):
    """(new states, `count` numbers) from the states `rstate`."""
    streams = len(rstate)
    x = [np.array(column, "int64") for column in rstate.T]
    rows = []
    for start in range(0, count, streams):
        taking = min(streams, count - start)
        active = [column[:taking] for column in x]
        rows.append(scaled(next_numbers(active), dtype))
        x = [np.concatenate([a, column[taking:]]) for a, column in zip(active, x)]
    numbers = np.concatenate(rows) if rows else np.zeros(0, dtype)
    return np.stack(x, 1).astype("int32").reshape(rstate.shape), numbers


def _infer_uniform(attrs, rstate, vector):
    if rstate.dtype != "int32" or rstate.ndim != 2 or rstate.shape[1] not in (None, 6):
        raise ShapeError(
            "mrg_uniform needs states of shape (streams, 6) and dtype int32, got "
            f"{rstate.dtype} of shape {show(rstate.shape)}"
        )
    sizes = tuple(vector_values("mrg_uniform", vector))
    if any(d is not None and d < 0 for d in sizes):
        raise ShapeError(f"mrg_uniform: shape {show(sizes)} has a negative size")
    if rstate.shape[0] == 0 and 0 not in sizes:
        raise ShapeError(f"mrg_uniform cannot draw shape {show(sizes)} from no stream at all")
    return [("int32", rstate.shape), (attrs["dtype"], sizes)]


def _run_uniform(attrs, rstate, vector):
    shape = drawn_shape("mrg_uniform", vector)
    state, numbers = draw(rstate, math.prod(shape), attrs["dtype"])
    return state, numbers.reshape(shape)


Op(
    "mrg_uniform",
    "opaque",
    _infer_uniform,
    _run_uniform,
    lambda node, g: (None, None),
    cost=15,
    ulp=0,
    doc="MRG31k3p: the states after a draw, and uniform numbers in (0, 1).",
)


def mrg_uniform(rstate, sizes, dtype="float32"):
    """(new states, numbers in (0, 1)) from the int32 states `rstate` of shape (streams, 6).

    sizes: ints, scalar nodes or a vector. dtype: a float; a bfloat16 is a rounded float32.
    """
    dtype = dtypes.name_of(dtype)
    if not dtypes.is_float(dtype):
        raise DTypeError(f"mrg_uniform makes floats, not {dtype}")
    if dtype == "bfloat16":
        state, numbers = mrg_uniform(rstate, sizes)
        return state, without_end(cast(numbers, dtype), 0.0, 1.0)
    node = make(
        "mrg_uniform",
        (to_node(rstate, "mrg_uniform"), shape_vector(sizes, "the shape of mrg_uniform")),
        {"dtype": dtype},
    )
    return item(node, 0), item(node, 1)


# ---- choice -------------------------------------------------------------------------------------


def _infer_choice(attrs, p, u):
    if p.ndim != 2 or u.ndim != 2:
        raise ShapeError(
            "mrg_choice needs a matrix of probabilities and one of uniform numbers, got shapes "
            f"{show(p.shape)} and {show(u.shape)}"
        )
    (rows, classes), (count, row_numbers) = p.shape, u.shape
    if None not in (rows, row_numbers) and rows != row_numbers:
        raise ShapeError(
            f"mrg_choice needs one column of uniform numbers for each of the {rows} rows of "
            f"probabilities, got shape {show(u.shape)}"
        )
    most = count if attrs["replace"] and classes else classes
    if None not in (most, count) and count > most:
        raise ShapeError(f"cannot choose {count} of {classes} classes without replacement")
    return "int64", (rows if rows is not None else row_numbers, count)


def _run_choice(attrs, p, u):
    chosen = np.zeros(u.shape[::-1], "int64")
    for row, numbers, out in zip(np.array(p), u.T, chosen):
        for c, number in enumerate(numbers):
            edges = np.cumsum(row, dtype="float64")
            above = np.flatnonzero(edges > number)
            left = np.flatnonzero(row > 0)  # rounding may leave all edges below the number
            out[c] = m = above[0] if len(above) else left[-1] if len(left) else 0
            if attrs["strict"] and not len(above):
                out[c] = len(row)
            if not attrs["replace"]:
                before = row.dtype.type(edges[m] - row[m])
                row[m] = 0
                with np.errstate(invalid="ignore", divide="ignore"):
                    row /= np.add.accumulate(np.append(before, row[m:]))[-1]
    return chosen


Op(
    "mrg_choice",
    "opaque",
    _infer_choice,
    _run_choice,
    lambda node, g: (None, None),
    cost=15,
    doc="Classes drawn row by row from probabilities with given uniform numbers.",
)


def mrg_choice(p, u, replace=False, strict=False):
    """Indices of shape (rows, count), drawn from the rows of `p` by the numbers u (count, rows).

    Draw c of a row takes the first class whose cumulated probability exceeds u[c, row]; without
    replacement its probability then becomes 0 and the others are divided by their sum. Where no
    class does, the last possible one is taken; with strict the index is the number of classes.
    """
    p, u = to_node(p, "mrg_choice"), to_node(u, "mrg_choice")
    p = cast(p, "float64" if p.dtype == "float64" else "float32")
    attrs = {"replace": bool(replace), "strict": bool(strict)}
    return make("mrg_choice", (p, cast(u, "float64")), attrs)
