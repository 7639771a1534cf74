"""Kernels of MRG31k3p: one vector of streams at a time; choices, row by row.

The states are the range: a stream belongs to one thread, so results do not depend on their number.
"""

from ...base import dtypes
from ...base.machine import LANES, NS_CHOICE, NS_NUMBER, NS_STREAM
from ...codegen.layout import contiguous_strides
from ...codegen.lower import Launch
from ...codegen.raw import RawKernel, block
from ...ops.mrg import NORM, NORM16
from ...schedule.cost import work

STREAMS = 4 * LANES  # that a kernel advances together: several vectors hide each other's latency

STORE = {
    "float16": f"ck_float_to_half((float)((z & 0x7fff) + 1) * {NORM16!r}f)",
    "float32": f"(float)z * {NORM['float32']}",
    "float64": f"z * {NORM['float64']}",
}  # fmt: skip


def contiguous(plan, node):
    """The layout of `node` in C order, copied where it lies in another."""
    layout = plan.layout(node)
    plain = layout.strides == contiguous_strides(layout.shape)
    return layout if plain or 0 in layout.shape else plan.copy(layout)


def launch(kernel, layouts, dims, n, align, picoseconds, reads):
    """A Launch over n units; the first `reads` layouts are read, the others written."""
    pointers = [lay.pointer for lay in layouts]
    buffers = [lay.buffer for lay in layouts]
    return Launch(kernel, pointers, dims, n, align, picoseconds, buffers[:reads], buffers[reads:])


def uniform(plan, node):
    """The lowering of mrg_uniform."""
    state = contiguous(plan, node.inputs[0])
    new, sample = plan.places(node)
    kernel = RawKernel(
        "mrg",
        (("type", dtypes.C_NAMES[sample.dtype]), ("store", STORE[sample.dtype])),
        (("in", "int32"), ("out", "int32"), ("out", sample.dtype)),
    )
    streams, count = state.shape[0], 1
    for d in sample.shape:
        count *= d
    took = work(NS_NUMBER, count) + work(NS_STREAM, streams)
    layouts = [state, new, sample]
    plan.launch(launch(kernel, layouts, [streams, count], streams, STREAMS, took, 1), [node])
    return True


def choice(plan, node):
    """The lowering of mrg_choice; without replacement, rows are copied and lose what was drawn."""
    p, u = (contiguous(plan, i) for i in node.inputs)
    chosen = plan.place(node)
    (rows, classes), count = p.shape, chosen.shape[1]
    kind, replace = dtypes.C_NAMES[p.dtype], node.attrs["replace"]
    fields = [("type", kind), ("note", "with replacement" if replace else "without replacement")]
    layouts, roles = [p, u, chosen], [("in", p.dtype), ("in", "float64"), ("out", "int64")]
    copy, remove = [f"const {kind} *const q = x + row * classes;"], []
    if not replace:
        layouts.append(plan.temp(p.shape, p.dtype))
        roles.append(("out", p.dtype))
        copy = [
            f"{kind} *const q = ({kind} *)p[3] + row * classes;",
            "for (int64_t k = 0; k < classes; k++) q[k] = x[row * classes + k];",
        ]
        remove = [
            f"{kind} sum = ({kind})(edge - q[m]);",
            "q[m] = 0;",
            "for (int64_t k = m; k < classes; k++) sum += q[k];",
            "for (int64_t k = 0; k < classes; k++) q[k] /= sum;",
        ]
    found = "edge > number ? m : classes" if node.attrs["strict"] else "m"
    fields += [("copy", block(copy, 2)), ("remove", block(remove, 3)), ("found", found)]
    kernel = RawKernel("mrg_choice", tuple(fields), tuple(roles))
    took = work(NS_CHOICE, rows, classes * count + 1)
    plan.launch(launch(kernel, layouts, [rows, classes, count], rows, 1, took, 2), [node])
    return True
