"""Short rows: which operands of a nest are laid out anew, so that vectors run across rows.

A row of LAID says of one operand how it walks the two innermost axes of an elementwise nest whose
last one is shorter than a vector. Where each operand fits a row, the two axes are one to the vector
loop. forms/short.py writes that loop; nothing here knows C.
"""

from typing import NamedTuple

from ..base import dtypes
from ..base.machine import LANES, VECTOR
from ..graph.sizes import surely

ALONG, CYCLE, REPEAT, APART = "along", "cycle", "repeat", "apart"
SHORT = 4 * LANES + 1  # elements: from here on the last vector of a row matters little
ROWS_APART = 6  # elements of rows that lie apart, of all operands: fewer are copied side by side
REPEATED = 2 * VECTOR  # bytes of a row whose only number is loaded faster than laid out
BUNDLED = 16 * LANES + 1  # elements of a bundle that is no part of a strip of columns any more:
# sums over rows and bundles of 2, 8, 64, 256 of 258,048 to 1,048,576 floats take 0.02, 0.02, 0.06,
# 0.54 ms, as loops along each bundle 1.7, 0.44, 0.23, 1.1 (one core with AVX-512)
LEAST = 24  # elements of the two axes: of a thousand with leading axes around them, 6 take 8.9 us
# as they are, 10.7 laid out anew, of 30 26 and 23, of 60 53 and 28 (one core of Zen 4)


class LaidOut(NamedTuple):
    """`kind` is how an operand lies where when(step from row to row, step in a row, n) holds.

    why: what it gains, measured.
    """

    kind: str
    when: object
    why: str


LAID = (
    LaidOut("", lambda far, near, n: surely(far, 0) and surely(near, 0), "One number stays."),
    LaidOut(ALONG, lambda far, near, n: not surely(near, 0) and surely(far, near * n),
            "Rows one after the other are walked as one row."),
    LaidOut(CYCLE, lambda far, near, n: surely(far, 0),
            "A row that each row meets is written down several times in a row: 100,000 floats and "
            "a row of 3 take 10 us instead of 82, of 31 10 and 31, of 64 11 and 12 (one core of "
            "Zen 4); 4.8 million bytes less means of 3 channels, by deviations, 1.1 ms and 4.5."),
    LaidOut(REPEAT, lambda far, near, n: surely(near, 0),
            "One number for each row is written down as often as the row is long, by shuffles of "
            "vectors of such numbers: 100,000 floats in rows of 3 by a column take 24 us instead "
            "of 81, in rows of 15 20 and 38, of 28 20 and 21, but of 32 17 and 11."),
    LaidOut(APART, lambda far, near, n: True,
            "Rows that lie apart, as of channels 2 to 4 of 4 or of a mirrored image, are copied "
            "side by side: 100,000 pairs of floats of a table of 4 by a number take 67 us, 185 "
            "pair by pair, fours of 8 69 and 115. Words at a time where elements lie together: of "
            "two arrays of 262,144 floats in rows of 3 and 7 146 and 87 us instead of 248 and 168, "
            "but in rows of 8 112 and 92; of as many bytes in rows of 7, 31, 63 75, 26, 27 instead "
            "of 289, 119, 68 (AVX2)."),
)  # fmt: skip


def in_bundles(n, walks, roles, strip):
    """How each operand lies where bundles of n elements are side by side and reduced over more than
    these: () where they are no such bundles, or a strip of columns has no room for one. walks:
    (step from bundle to bundle, step in a bundle, whether it moves along what else is reduced) of
    each operand."""
    found = []
    for (far, near, run), role in zip(walks, roles):
        kind = next(way.kind for way in LAID if way.when(far, near, n))
        moved = kind in (CYCLE, REPEAT) and run
        if kind == APART or moved or role == "out" and kind in ("", CYCLE):
            return ()
        found.append(kind)
    return tuple(found) if ALONG in found and n != 0 and n < min(BUNDLED, strip + 1) else ()


def as_stored(dtype):
    """Whether loops compute with elements of a dtype as they lie in memory."""
    return dtypes.computed(dtype) == dtype


def laid(sizes, rows, refs):
    """How each operand lies in a nest of these sizes and strides; () where the nest is none of
    short rows. refs: (role, dtype) of the operands; running indices are not laid out."""
    if len(sizes) < 2:
        return ()
    n, found, most, apart = sizes[-1], [], SHORT, []
    for row, (role, dtype) in zip(rows, refs):
        fits = [way.kind for way in LAID if way.when(row[-2], row[-1], n)]
        if role != "in" and fits[0] != ALONG:
            return ()
        found.append(fits[0])
        if fits[0] == REPEAT:
            most = min(most, REPEATED // dtypes.ITEMSIZE[dtypes.computed(dtype)])
        if fits[0] == APART:
            words = surely(row[-1], 1) and as_stored(dtype)
            apart.append(dtypes.ITEMSIZE[dtype] if words else 0)
    most = SHORT if CYCLE in found else most
    if apart and not all(apart):
        most = ROWS_APART // len(apart)
    elif apart:  # in any case where there are only bytes, whose vectors are longer than a row
        most = SHORT if max(apart) == 1 else VECTOR // (max(apart) * len(apart))
    if n >= most:
        return ()
    asked = len(sizes) > 2 or type(sizes[-2] * n) is int  # of one batch, no class of its own
    return () if asked and sizes[-2] * n < LEAST else tuple(found)
