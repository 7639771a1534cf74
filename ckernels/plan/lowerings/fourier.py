"""Launches of Fourier transforms of complex rows whose lengths are powers of two.

NumPy's transform computes the roots of unity anew in each call, which takes as long as the rest:
here an eighth of them are computed and the others mirrored. Rows of other lengths, longer ones,
columns (of which a library takes several at a time) and transforms over several axes are left to
the oracle.
"""

from ...base.machine import NS_MULTIPLY
from ...codegen.layout import as_pairs
from ...codegen.lower import Launch
from ...codegen.raw import Dims, RawKernel, block, moved, unravel
from ...graph.shapes import product
from ...ops.spectra import LENGTHS
from ...schedule.cost import work

TYPES = {"complex64": "float", "complex128": "double"}
TURNED = [f"const $type c{k} = c[{k} * turn], s{k} = s[{k} * turn];" for k in (1, 2, 3)]
FOUR = [
    *(f"const $type {v}{k} = a{v}[in + {k} * quarter];" for k in range(4) for v in "ri"),
    *(f"const $type e{v} = {v}0 + {v}2, f{v} = {v}0 - {v}2;" for v in "ri"),
    *(f"const $type g{v} = {v}1 + {v}3, h{v} = {v}1 - {v}3;" for v in "ri"),
    "const $type ur = fr + hi, ui = fi - hr, vr = er - gr, vi = ei - gi;",
    "const $type wr = fr - hi, wi = fi + hr;",
    "br[out] = er + gr, bi[out] = ei + gi;",
    *(
        f"br[out + {k} * apart] = c{k} * {v}r + s{k} * {v}i, "
        f"bi[out + {k} * apart] = c{k} * {v}i - s{k} * {v}r;"
        for k, v in zip((1, 2, 3), "uvw")
    ),
]


def fft(plan, node):
    """One transform per unit of the range; back is forth with real and imaginary parts swapped."""
    (z,), axes = node.inputs, node.attrs["axes"]
    if len(axes) != 1 or not any(z.shape[axes[0]] == n for n in LENGTHS):
        return False
    axis, source = z.ndim + axes[0], as_pairs(plan.layout(z))
    rest = [k for k in range(z.ndim) if k != axis]
    if source.strides[axis] != 2 and any(z.shape[k] != 1 for k in rest):
        return False
    target = as_pairs(plan.place(node))
    if not product(z.shape):
        return True
    kind, inverse, dims = TYPES[z.dtype], node.attrs["inverse"], Dims()
    back = " back" * inverse
    dims.put(z.shape[axis])
    lines, rows = unravel("row", [z.shape[k] for k in rest], dims)

    def text(lines, depth):
        return block(lines, depth).replace("$type", kind).replace("quarter", "n / 4")

    near, far = (
        "2" if lay.strides[axis] == 2 else dims.put(lay.strides[axis]) for lay in (source, target)
    )
    fields = {
        "note": f"Fourier transforms{back}: one row per unit of the range",
        "type": kind,
        "most": str(LENGTHS[-1]),
        "real": "01"[inverse],
        "imag": "10"[inverse],
        "x_row": moved(rows, [source.strides[k] for k in rest], dims),
        "y_row": moved(rows, [target.strides[k] for k in rest], dims),
        "x_at": f"k * {near}",
        "y_low": f"k * {far}",
        "y_high": f"(k + near) * {far}",
        "turned": text(TURNED, 5),
        "four": text(FOUR, 5),
        "inner": text(FOUR, 6),
        "sizes": block(dims.lines, 1),
        "unravel": block(lines, 2),
    }
    roles = ("in", source.dtype), ("out", target.dtype)
    count = product([z.shape[k] for k in rest])
    plan.launch(
        Launch(
            RawKernel("fft", tuple(fields.items()), roles),
            [source.pointer, target.pointer],
            dims.values,
            count,
            4,
            work(100 * NS_MULTIPLY, product(z.shape)),
            [source.buffer],
            [target.buffer],
        ),
        [node],
    )
    return True
