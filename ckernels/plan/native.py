"""Instructions of the runtime's own kernels: convolution, pooling, transposition.

Registered are lowering(plan, node) by op, as in plan/lowerings: False leaves the node to its
oracle (dtypes without C, more than three spatial axes). Sizes are numbers of a record (records.py),
so a new size needs no new kernel. Scratch is a buffer of the arena; the runtime says how much it
needs.
"""

import os
from dataclasses import replace

from ..base.dtypes import ITEMSIZE
from ..base.machine import FLOAT, L1, NS_BYTE, NS_MULTIPLY, NS_TURNED, NS_WINDOW_BYTE
from ..base.native import runtime
from ..codegen.layout import collapse, contiguous_strides, fresh
from ..graph.op import register_rules
from ..graph.shapes import product
from ..graph.sizes import Size, estimate, greatest, reaches, value_of
from ..graph.walk import consumers
from ..ops.conv import geometry
from ..ops.windows import all_pads
from .gemm import matrix
from .instructions import Gemm, Native, word_of, words
from .records import (
    CONV,
    CONV_INPUT_GRAD,
    CONV_WEIGHT_GRAD,
    DEPTHWISE,
    DEPTHWISE_WEIGHT_GRAD,
    ORDER,
    PLANES,
    PLANES_INPUT_GRAD,
    PLANES_WEIGHT_GRAD,
    POOL_MAX,
    POOL_MAX_GRAD,
    POOL_MAX_TAKE,
    POOL_SUM,
    POOL_SUM_GRAD,
    REPEAT,
    TRANSPOSE,
    AxisDims,
    GemmDims,
    TransposeDims,
    WindowDims,
)

CONVOLUTIONS = ("conv", "conv_input_grad", "conv_weight_grad")
FLOATS = ("float32", "float64")
MOST_SCRATCH = 1 << 30  # bytes; huge dilations of small images are left to the oracle
MOST_LONG = (1 << 31) - 1  # native.c counts places along an axis in 31 bits
LEAST_TRANSPOSED = L1 // 2 // FLOAT  # elements; less is in cache whichever way it is read


def slots():
    """How many threads may work on one instruction: each has scratch of its own."""
    try:
        return min(64, len(os.sched_getaffinity(0)))
    except AttributeError:
        return min(64, os.cpu_count() or 1)


def image_strides(layout):
    """Strides of an image as (n, d, h, w, c)."""
    batch, *near = layout.strides
    return [batch, *[0] * (4 - len(near)), *near]


def kernel_strides(layout):
    """Strides of a kernel as (d, h, w, c, o)."""
    return [0] * (5 - len(layout.strides)) + list(layout.strides)


def window(op, dtype, batch, channels, out, groups, axes, first, second):
    """The record of an instruction; axes: AxisDims for each spatial axis."""
    none = AxisDims(size=1, result=1, kernel=1, stride=1, dilation=1, low=0)
    axes = [none] * (3 - len(axes)) + axes
    return WindowDims(
        op=op,
        dtype=int(dtype == "float64"),
        batch=batch,
        channels=channels,
        out=out,
        groups=groups,
        axes=tuple(axes),
        first=tuple(first),
        second=tuple(second),
        slots=slots(),
        unit=0,
    )


def axes_of(g):
    """AxisDims of each spatial axis of a convolution."""
    return [
        AxisDims(size=size, result=result, kernel=kernel, stride=stride, dilation=dilation, low=low)
        for size, result, kernel, stride, dilation, (low, _) in zip(
            g.sizes, g.results, g.kernel, g.strides, g.dilation, g.padding
        )
    ]


def longest(record):
    """Elements of the longest axis along which an instruction goes."""
    axes = [n for a in getattr(record, "axes", ()) for n in (a.size, a.result)]
    return max(map(value_of, [*axes, getattr(record, "length", 0)]))


def emit(plan, node, record, sources, ns, columns=0, target=None, lays=True):
    """Add the instruction that makes the node; False where it would take too much memory, or an
    axis is too long for it.

    columns: elements of a pixel, for an epilogue, or 0. lays: whether the target is the node, and
    not what another instruction makes it of.
    """
    if longest(record) > MOST_LONG:
        return False
    size = scratch(record)
    if size > MOST_SCRATCH:
        return False
    target = target or plan.target(node)
    if lays:
        plan.lay(node, target)
    if not product(target.shape):
        return True
    places = [*sources, target]
    writes = [target.buffer]
    if value_of(size) or record.op in WITH_SCRATCH:
        places.append(plan.temp((size,), "uint8"))
        writes.append(places[-1].buffer)
    plan.add(
        Native(
            name=node.op.name,
            pointers=[lay.pointer for lay in places],
            record=record,
            ns=ns,
            reads=[lay.buffer for lay in sources],
            writes=writes,
            node=node,
            nodes=[node],
            rows=product(target.shape[:-1]) if columns else 0,
            columns=columns,
        )
    )
    return True


def scratch(record):
    """Bytes of scratch that an instruction with this record needs."""
    dims = words(record)
    found = runtime.native_scratch([value_of(d) for d in dims])
    sizes = next((d for d in dims if type(d) is Size), None)
    return found if sizes is None else sizes.of.scratch(dims, found)


WITH_SCRATCH = (CONV, CONV_INPUT_GRAD, CONV_WEIGHT_GRAD, DEPTHWISE_WEIGHT_GRAD, ORDER, PLANES,
                PLANES_INPUT_GRAD, PLANES_WEIGHT_GRAD)  # fmt: skip


# ---- convolution --------------------------------------------------------------------------------


def convolution(which):
    """The lowering of conv (0), conv_input_grad (1) or conv_weight_grad (2)."""

    def lower(plan, node):
        g = geometry(node)
        if node.dtype not in FLOATS or len(g.sizes) > 3:
            return False
        if which == CONV_INPUT_GRAD and whole_image(g):
            return dense_input_grad(plan, node, g)
        if plan.is_plane(node):
            return planes(plan, node, g, which)
        first, second = (plan.layout(i) for i in node.inputs[:2])
        op = which
        if g.groups == g.channels == g.out_channels and g.channels > 1:
            op += DEPTHWISE
            first, second = side_by_side(plan, first), side_by_side(plan, second)
        record = dims_of(op, which, node, g, first, second)
        work = estimate(g.batch, *g.results, *g.kernel, g.out_channels)
        ns = work * max(1, value_of(g.channels) // max(1, g.groups)) * NS_MULTIPLY
        return emit(plan, node, record, [first, second], ns, node.shape[-1])

    return lower


# ---- planes (channels first): depthwise convolution, maxima of 2 x 2 pixels ----------------------


PLANE_TAPS = 16  # rows and columns of a kernel, at most


def last(n):
    """The perm from channels first to channels last; first(n) leads back."""
    return (0, *range(2, n), 1)


def first(n):
    return (0, n - 1, *range(1, n - 1))


def moved(layout, perm):
    return replace(
        layout,
        shape=tuple(layout.shape[p] for p in perm),
        strides=tuple(layout.strides[p] for p in perm),
    )


def in_planes(order, roots):
    """{uid} of what stands between transposes from channels first and back and is computed as it
    lies: depthwise convolutions and gradients, which the runtime has for steps of one pixel, and
    maxima of 2 x 2 pixels side by side with their gradients.
    """
    found = [n for n in order if n.op.name in IN_PLANES and IN_PLANES[n.op.name](n)]
    if not found:
        return frozenset()
    users, kept = consumers(order), {root.uid for root in roots}

    def only(n, others=frozenset()):
        """Whether none but transposes back, and the nodes `others`, use a node."""
        return n.uid not in kept and all(
            is_turned(u, first) or u.uid in others for u in users[n.uid]
        )

    back = {n.uid for n in found if n.op.name == "pool_max_grad" and only(n)}
    most = {n.uid for n in found if n.op.name == "pool_max" and only(n, back)}
    return frozenset(
        n.uid
        for n in found
        if n.uid in most
        or (n.uid in back and n.inputs[1].uid in most)
        or n.op.name == "conv_weight_grad"
        or (n.op.name in CONVOLUTIONS and only(n))
    )


def plane_orders(order, planes):
    """{uid: order of the axes in memory} of the `planes` that are laid with channels first."""
    return {
        n.uid: first(n.ndim) for n in order if n.uid in planes and n.op.name != "conv_weight_grad"
    }


def is_turned(node, perm):
    return node.op.name == "transpose" and node.attrs["perm"] == perm(node.ndim)


def _are_planes(node):
    images = node.inputs[: 2 if node.op.name == "conv_weight_grad" else 1]
    if node.dtype not in FLOATS or not all(is_turned(i, last) for i in images):
        return False
    g = geometry(node)
    return (
        len(g.sizes) <= 2
        and g.groups == g.channels == g.out_channels
        and g.channels > 1
        and max(g.kernel) <= PLANE_TAPS
        and all(n == 1 for n in (*g.strides, *g.dilation))
    )


def _are_fours(node):
    """Whether a maximum is of 2 x 2 pixels side by side in images with channels first."""
    pads = [p for p in node.attrs["padding"] if p != "valid" and tuple(p) != (0, 0)]
    return (
        node.dtype in FLOATS
        and is_turned(node.inputs[0], last)
        and node.attrs["size"] == node.attrs["strides"] == (2, 2)
        and not pads
    )


IN_PLANES = {
    **dict.fromkeys(CONVOLUTIONS, _are_planes),
    "pool_max": _are_fours,
    "pool_max_grad": _are_fours,
}


def fours(plan, node, op, big, small):
    """Maxima of 2 x 2 pixels as they lie: each channel of each image is one of a single channel."""
    sources = []
    for i in node.inputs:
        lay = moved(plan.layout(i), first(4))
        alone = contiguous_strides(lay.shape)
        sources.append(lay if lay.strides == alone else plan.copy(lay))
    axes = [
        AxisDims(size=s, result=r, kernel=2, stride=2, dilation=1, low=0)
        for s, r in zip(big[1:-1], small[1:-1])
    ]
    strides = [big[1] * big[2], 0, big[2], 1, 1]
    record = window(op, node.dtype, big[0] * big[3], 1, 1, 1, axes, strides, [0] * 5)
    bytes_moved = ITEMSIZE[node.dtype] * (estimate(*big) + estimate(*small))
    target = plane_target(plan, node)
    return emit(plan, node, record, sources, bytes_moved * NS_WINDOW_BYTE, target=target)


def plane_target(plan, node):
    """Where a node goes that is computed in planes: with channels first, as its users want it."""
    shape = tuple(node.shape[p] for p in first(node.ndim))
    buffer = plan.own_buffer(node) or plan.temp(shape, node.dtype).buffer
    return moved(fresh(buffer, shape, node.dtype), last(node.ndim))


def planes(plan, node, g, which):
    """The instruction of a depthwise convolution of planes."""

    def image(i):
        lay = plan.layout(i)
        if lay.strides[-2] == 1 or lay.shape[-2] == 1:
            return lay
        return moved(plan.copy(moved(lay, first(i.ndim))), last(i.ndim))

    x, other = node.inputs[:2]
    sources = [image(x), (image if which == CONV_WEIGHT_GRAD else plan.layout)(other)]
    target = None if which == CONV_WEIGHT_GRAD else plane_target(plan, node)
    record = dims_of(PLANES + which, which, node, g, *sources)
    work = estimate(g.batch, *g.results, *g.kernel, g.channels)
    return emit(plan, node, record, sources, work * NS_MULTIPLY, target=target)


def dims_of(op, which, node, g, first, second):
    """The record of the convolution `which` of geometry `g`, run by the instruction `op`."""
    strides = image_strides if which == CONV_WEIGHT_GRAD else kernel_strides
    numbers = g.batch, g.channels, g.out_channels, g.groups, axes_of(g)
    return window(op, node.dtype, *numbers, image_strides(first), strides(second))


def side_by_side(plan, layout):
    """`layout` with channels side by side, copied if they are not."""
    return layout if layout.strides[-1] == 1 or layout.shape[-1] == 1 else plan.copy(layout)


def whole_image(g):
    """Whether the kernel sees all of the image at once: then a product of matrices is faster."""
    return (
        g.groups == 1
        and all(n == 1 for n in g.results)
        and g.kernel == g.sizes
        and all(pair == (0, 0) for pair in g.padding)
        and all(n == 1 for n in g.dilation)
    )


def dense_input_grad(plan, node, g):
    """(N, O) @ (K * C, O).T as a gemm."""
    cotangent, kernel = (plan.layout(i) for i in node.inputs[:2])
    rows, columns = product(g.kernel) * g.channels, g.out_channels
    left = replace(
        cotangent, shape=(g.batch, columns), strides=(cotangent.strides[0], cotangent.strides[-1])
    )
    if kernel.strides != contiguous_strides(kernel.shape):
        kernel = plan.copy(kernel)
    a, trans_a, lda, _ = matrix(plan, left, 0)
    target = plan.place(node)
    if not product(node.shape):
        return True
    record = GemmDims(
        dtype=int(node.dtype == "float64"),
        m=g.batch,
        n=rows,
        k=columns,
        trans_a=trans_a,
        trans_b=1,
        lda=lda,
        ldb=greatest(1, columns),
        ldc=rows,
        alpha=word_of(1.0),
        beta=0,
        batch=1,
        step_a=0,
        step_b=0,
        step_c=0,
        unit=rows,
    )
    pointers = [lay.pointer for lay in (a, kernel, target)]
    plan.add(
        Gemm(
            name=node.op.name,
            pointers=pointers,
            record=record,
            ns=estimate(g.batch, rows, columns) * NS_MULTIPLY,
            reads=[a.buffer, kernel.buffer],
            writes=[target.buffer],
            node=node,
            nodes=[node],
        )
    )
    return True


# ---- pooling ------------------------------------------------------------------------------------


def pooling(op, image, result, count=1):
    """The lowering of a pooling op with `count` operands of the same kind of shape.

    image(node), result(node): the node whose shape is that of the image, of the pooled image.
    """

    def lower(plan, node):
        size, attrs = node.attrs["size"], node.attrs
        if node.dtype not in FLOATS or len(size) > 3:
            return False
        big, small = image(node).shape, result(node).shape
        if plan.is_plane(node):
            return fours(plan, node, op, big, small)
        pads = all_pads(attrs, big[1:-1], size)
        axes = [
            AxisDims(size=s, result=r, kernel=k, stride=t, dilation=1, low=low)
            for s, r, k, t, (low, _) in zip(big[1:-1], small[1:-1], size, attrs["strides"], pads)
        ]
        sources = [plan.layout(i) for i in node.inputs[:count]]
        if count == 1:
            sources = [side_by_side(plan, sources[0])]
        else:
            sources = [
                lay if lay.strides == contiguous_strides(lay.shape) else plan.copy(lay)
                for lay in sources
            ]
        channels = big[-1]
        record = window(
            op,
            node.dtype,
            big[0],
            channels,
            channels,
            greatest(1, channels),
            axes,
            image_strides(sources[0]),
            [0] * 5,
        )
        bytes_moved = ITEMSIZE[node.dtype] * (estimate(*big) + estimate(*small))
        return emit(plan, node, record, sources, bytes_moved * NS_WINDOW_BYTE, channels)

    return lower


# ---- copies -------------------------------------------------------------------------------------


def copied(plan, source, target):
    """Whether the runtime has a kernel for the copy of `source` to `target` that is better than a
    loop; it is added then."""
    if ITEMSIZE[source.dtype] > 8 or source.loose:
        return False
    wide = [k for k, n in enumerate(source.shape) if n != 1]
    axes = collapse(
        [source.shape[k] for k in wide],
        [[lay.strides[k] for k in wide] for lay in (source, target)],
    )
    return repetition(plan, source, target, *axes) or transposition(plan, source, target, *axes)


def repetition(plan, source, target, sizes, strides):
    """A copy of elements or rows that are written more than once, added if this is one."""
    near, far = strides
    if not 2 <= len(sizes) <= 5 or not any(type(s) is int and s == 0 for s in near):
        return False
    if near[-1] not in (0, 1) or far[-1] != 1 or min(far) < 0:
        return False
    ns = NS_BYTE * ITEMSIZE[source.dtype]
    return copy(plan, source, target, REPEAT, sizes, near, far, ns)


def transposition(plan, source, target, sizes, strides):
    """A copy whose rows become columns, added if this is one."""
    near, far = strides
    if not reaches(product(source.shape), LEAST_TRANSPOSED):
        return False
    rows = [k for k in range(len(sizes) - 1) if near[k] == 1]
    if not rows or len(sizes) > 5 or near[-1] == 1 or far[-1] != 1 or min(far) < 0:
        return False
    order = [k for k in range(len(sizes) - 1) if k != rows[0]] + [rows[0], len(sizes) - 1]
    sizes, near, far = ([axis[k] for k in order] for axis in (sizes, near, far))
    return copy(plan, source, target, TRANSPOSE, sizes, near, far, NS_TURNED)


def copy(plan, source, target, op, sizes, near, far, ns):
    """Add the instruction of a copy; ns: of an element."""
    pad = 5 - len(sizes)
    record = TransposeDims(
        op=op,
        dtype=(1, 2, 4, 8).index(ITEMSIZE[source.dtype]),
        sizes=(*[1] * pad, *sizes),
        near=(*[0] * pad, *near),
        far=(*[0] * pad, *far),
        none=(0,) * TransposeDims.NESTED["none"][0],
    )
    plan.add(
        Native(
            name="copy",
            pointers=[source.pointer, target.pointer],
            record=record,
            ns=estimate(*sizes) * ns,
            reads=[source.buffer],
            writes=[target.buffer],
        )
    )
    return True


def _node(node):
    return node


def _first(node):
    return node.inputs[0]


def _second(node):
    return node.inputs[1]


register_rules(
    "lowering",
    {
        "conv": convolution(CONV),
        "conv_input_grad": convolution(CONV_INPUT_GRAD),
        "conv_weight_grad": convolution(CONV_WEIGHT_GRAD),
        "pool_max": pooling(POOL_MAX, _first, _node),
        "pool_sum": pooling(POOL_SUM, _first, _node),
        "pool_sum_grad": pooling(POOL_SUM_GRAD, _node, _first),
        "pool_max_grad": pooling(POOL_MAX_GRAD, _first, _second, 3),
        "pool_max_take": pooling(POOL_MAX_TAKE, _first, _second, 3),
    },
)
