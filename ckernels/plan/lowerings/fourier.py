"""Launches of Fourier transforms of rows whose lengths are powers of two, complex and real.

NumPy's transform computes the roots of unity anew in each call, which takes as long as the rest:
here an eighth of them are computed and the others mirrored. Real rows are complex ones of half
their length, whose spectrum is taken apart afterwards, or put together before the way back. Rows
of other lengths, longer ones, columns (of which a library takes several at a time) and transforms
over several axes are left to the oracle.
"""

from ...base.machine import NS_MULTIPLY
from ...codegen.layout import as_pairs
from ...codegen.lower import Launch
from ...codegen.raw import Dims, RawKernel, block, moved, unravel
from ...graph.shapes import product
from ...ops.spectra import LENGTHS
from ...schedule.cost import work

TYPES = {"float32": "float", "float64": "double"}
KNOWN = (*TYPES, "complex64", "complex128")
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


LOAD = [
    "#pragma GCC ivdep",
    "for (int64_t k = 0; k < n; k++) {",
    "    $real[0][k] = from[$x_at];",
    "    $imag[0][k] = from[$x_at + $x_next];",
    "}",
]
STORE = [
    "const $type *const ar = $real[now], *const ai = $imag[now];",
    "if (size == 2) {",
    "    #pragma GCC ivdep",
    "    for (int64_t k = 0; k < near; k++) {",
    "        to[$y_at] = ar[k] + ar[k + near];",
    "        to[$y_at + $y_next] = ai[k] + ai[k + near];",
    "        to[$y_high] = ar[k] - ar[k + near];",
    "        to[$y_high + $y_next] = ai[k] - ai[k + near];",
    "    }",
    "} else {",
    "    #pragma GCC ivdep",
    "    for (int64_t k = 0; k < n; k++) {",
    "        to[$y_at] = ar[k];",
    "        to[$y_at + $y_next] = ai[k];",
    "    }",
    "}",
]
APART = [  # of a row of 2 n numbers, whose even ones are the real parts: frequencies 0 to n
    "if (size == 2) {",
    "    #pragma GCC ivdep",
    "    for (int64_t k = 0; k < near; k++) {",
    "        const $type r = re[now][k], u = re[now][k + near];",
    "        const $type i = im[now][k], v = im[now][k + near];",
    "        re[!now][k] = r + u, im[!now][k] = i + v;",
    "        re[!now][k + near] = r - u, im[!now][k + near] = i - v;",
    "    }",
    "    now = !now;",
    "}",
    "const $type *const ar = re[now], *const ai = im[now];",
    "for (int64_t k = 0; k <= n; k += n) {",
    "    to[$y_at] = k ? ar[0] - ai[0] : ar[0] + ai[0];",
    "    to[$y_at + $y_next] = 0;",
    "}",
    "#pragma GCC ivdep",
    "for (int64_t k = 1; k < n; k++) {",
    "    const $type r = ar[k] - ar[n - k], i = ai[k] + ai[n - k];",
    "    to[$y_at] = ($type)0.5 * (ar[k] + ar[n - k] + (c[k] * i - s[k] * r));",
    "    to[$y_at + $y_next] = ($type)0.5 * (ai[k] - ai[n - k] - (c[k] * r + s[k] * i));",
    "}",
]
TOGETHER = [  # as LOAD back, of frequencies 0 to n
    "im[0][0] = from[0] + from[$x_last];",
    "re[0][0] = from[0] - from[$x_last];",
    "#pragma GCC ivdep",
    "for (int64_t k = 1; k < n; k++) {",
    "    const $type u = from[$x_at], v = from[$x_at + $x_next];",
    "    const $type w = from[$x_back], z = from[$x_back + $x_next];",
    "    im[0][k] = u + w - (c[k] * (v + z) + s[k] * (u - w));",
    "    re[0][k] = v - z + (c[k] * (u - w) - s[k] * (v + z));",
    "}",
]


WAYS = {  # op -> (whether a real row is read, whether one is made, what begins a row, what ends it)
    "fft": (False, False, LOAD, STORE),
    "rfft_half": (True, False, LOAD, APART),
    "rfft": (True, False, LOAD, APART),
    "irfft_half": (False, True, TOGETHER, STORE),
    "irfft": (False, True, TOGETHER, STORE),
}


def one_axis(node):
    """The axis from the end of a transform over one."""
    if node.op.name in ("rfft", "irfft"):  # over the last ones, with pairs in an axis of their own
        count = node.attrs["ndim"] if node.op.name == "rfft" else node.inputs[1].shape[0]
        return -1 if count == 1 else None
    axes = node.attrs["axes"]
    return axes[0] if len(axes) == 1 else None


def pairs(layout):
    return as_pairs(layout) if layout.dtype in ("complex64", "complex128") else layout


def fft(plan, node):
    """One transform per unit of the range; back is forth with real and imaginary parts swapped."""
    real_in, real_out, load, store = WAYS[node.op.name]
    x, axis = node.inputs[0], one_axis(node)
    whole = node if real_out else x
    if axis is None or x.dtype not in KNOWN:
        return False
    axis += whole.ndim
    size = whole.shape[axis]
    if not any(size == n for n in LENGTHS) or real_out and x.shape[axis] != size // 2 + 1:
        return False
    source = plan.layout(x) if real_in else pairs(plan.layout(x))
    rest = [k for k in range(whole.ndim) if k != axis]
    if source.strides[axis] != 2 - real_in and any(whole.shape[k] != 1 for k in rest):
        return False
    target = plan.place(node) if real_out else pairs(plan.place(node))
    if not product(whole.shape):
        return True
    kind, dims = TYPES[source.dtype], Dims()
    inverse = real_out or node.op.name == "fft" and node.attrs["inverse"]
    dims.put(size)
    lines, rows = unravel("row", [whole.shape[k] for k in rest], dims)

    def text(lines, depth):
        return block(lines, depth).replace("$type", kind).replace("quarter", "n / 4")

    places = {"$type": kind, "$real": "im" if inverse else "re", "$imag": "re" if inverse else "im"}
    for v, lay, real in (("x", source, real_in), ("y", target, real_out)):
        stride = lay.strides[axis]
        step = str(2 - real) if stride == 2 - real else dims.put(stride)
        twice = "2 * " * real
        places |= {
            f"${v}_at": f"{twice}k * {step}",
            f"${v}_next": step
            if real
            else "1"
            if lay.strides[-1] == 1
            else dims.put(lay.strides[-1]),
            f"${v}_high": f"{twice}(k + near) * {step}",
            f"${v}_back": f"(n - k) * {step}",
            f"${v}_last": f"n * {step}",
        }

    def filled(lines):
        made = block(lines, 2)
        for name, value in places.items():
            made = made.replace(name, value)
        return made

    of = "real rows" if real_in or real_out else "rows"
    fields = {
        "note": f"Fourier transforms{' back' * inverse} of {of}: one per unit of the range",
        "type": kind,
        "most": str(LENGTHS[-1]),
        "twice": str(1 + (real_in or real_out)),
        "x_row": moved(rows, [source.strides[k] for k in rest], dims),
        "y_row": moved(rows, [target.strides[k] for k in rest], dims),
        "load": filled(load),
        "store": filled(store),
        "turned": text(TURNED, 5),
        "four": text(FOUR, 5),
        "inner": text(FOUR, 6),
        "sizes": block(dims.lines, 1),
        "unravel": block(lines, 2),
    }
    roles = ("in", source.dtype), ("out", target.dtype)
    count = product([whole.shape[k] for k in rest])
    plan.launch(
        Launch(
            RawKernel("fft", tuple(fields.items()), roles),
            [source.pointer, target.pointer],
            dims.values,
            count,
            4,
            work(100 * NS_MULTIPLY, product(whole.shape)),
            [source.buffer],
            [target.buffer],
        ),
        [node],
    )
    return True
