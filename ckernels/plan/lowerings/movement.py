"""Lowerings of ops that are no loops of scalar expressions: copies into parts, gathers, scatters.

Registered are lowering(plan, node) -> bool by op: True when it added the instructions that
compute the node, False to leave it to the op's oracle. Lowerings call methods of `plan`, a Context
(context.py), see layouts (buffers and strides) and never touch data.
"""

import importlib
from dataclasses import replace

import numpy as np

from ...base import dtypes
from ...codegen.indexed import gather, scatter
from ...codegen.layout import as_pairs, contiguous_strides, fresh, part_of_pairs
from ...codegen.lower import Lowering
from ...graph.node import make
from ...graph.op import having, register_rules
from ...graph.shapes import product
from ...graph.sizes import indices, reaches
from ...schedule.group import Group
from ..stores import unit_steps
from . import indexed
from .cumulative import scan

INDICES = having("indices")

# operands of one element each at most that one loop stores side by side: 50,000 rows of 16 floats
# take 0.47 ms, 0.73 one operand after the other; of 4 bytes 4 us and 106, of 5 102 and 88 (Zen 3)
SIDE_BY_SIDE, OF_BYTES = 16, 4
SMALL = 4096  # elements: copying all of x and then a part again beats several copies


def real(*nodes):
    """Whether generated code knows the dtypes of all nodes."""
    return not any(dtypes.is_complex(n.dtype) for n in nodes)


# ---- parts of layouts ---------------------------------------------------------------------------


def part(layout, slices):
    """The layout of layout[slices], slices as (start, stop, step) of Python."""
    offset, shape, strides = layout.offset, [], []
    for s, n, stride in zip(slices, layout.shape, layout.strides):
        first, count, step = indices(s, n)
        offset += first * stride
        shape.append(count)
        strides.append(stride * step)
    if any(n == 0 for n in shape):  # nothing may be read: no place behind the end of the buffer
        offset = layout.offset
    return replace(layout, shape=tuple(shape), strides=tuple(strides), offset=offset)


def without(layout, axes):
    """The layout without some axes, which have size 1."""
    keep = [k for k in range(len(layout.shape)) if k not in axes]
    shape, strides = ([row[k] for k in keep] for row in (layout.shape, layout.strides))
    return replace(layout, shape=tuple(shape), strides=tuple(strides))


def lies_in(one, other):
    """Whether two layouts of one shape are the same memory in the same order."""
    return (one.buffer, one.offset) == (other.buffer, other.offset) and all(
        n == 1 or a == b for n, a, b in zip(one.shape, one.strides, other.strides)
    )


def spread(layout, shape):
    """`layout` broadcast to `shape`."""
    lead = len(shape) - len(layout.shape)
    strides = tuple(0 if n == 1 else s for n, s in zip(layout.shape, layout.strides))
    return replace(layout, shape=tuple(shape), strides=(0,) * lead + strides)


def around(shape, slices):
    """Boxes (one slice per axis) that cover what x[slices] leaves out, each element once."""
    boxes, inner = [], []
    for k, (n, s) in enumerate(zip(shape, slices)):
        first, count, step = indices(s, n)
        if count == 0:
            return [tuple((0, m, 1) for m in shape)]
        last = first + (count - 1) * step
        low, high = (first, last + 1) if step > 0 else (last, first + 1)
        rest = [(0, m, 1) for m in shape[k + 1 :]]
        for box in ((0, low, 1), (high, n, 1)):
            if box[0] < box[1]:
                boxes.append(tuple(inner + [box] + rest))
        inner.append((low, high, 1))
    return boxes


def copy(plan, node, source, target):
    """An instruction that copies `source` (broadcast) to `target`, where there is something to."""
    combine(plan, node, None, [source], target)


def combine(plan, node, op, sources, target):
    """An instruction that stores op(*sources), broadcast, in `target`; no op: the one source."""
    copy_together(plan, node, [(sources, target)], op)


def copy_together(plan, node, pairs, op=None):
    """One instruction that stores op(*sources) in the target of each pair, all of one shape."""
    shape = pairs[0][1].shape
    if 0 in shape:
        return
    low, stores = Lowering(Group(shape), None, []), []
    maps = tuple(None if n == 1 else k for k, n in enumerate(shape))
    for sources, target in pairs:
        args = []
        for source in sources:
            kind = source.dtype if op else dtypes.as_bits(source.dtype)
            ref = low.add_ref("in", kind, spread(source, shape), maps)
            args.append(low.value("load", kind, operand=ref))
        kind = target.dtype if op else dtypes.as_bits(target.dtype)
        value = low.value(op, kind, args, cost=1) if op else args[0]
        stores.append((low.add_ref("out", kind, target, maps), value))
    plan.launch(low.build(stores), [node], node.op.name)


def again(plan, node):
    """A copy: the memory of its operand may be given to others before it is read again."""
    if not real(node):
        return False
    copy(plan, node, plan.copied_from(node.inputs[0]), plan.place(node))
    return True


# ---- joining ------------------------------------------------------------------------------------


def concatenate(plan, node):
    if not real(node):
        return False
    sources = [plan.copied_from(x) for x in node.inputs]
    target, start, axis, pairs = plan.place(node), 0, node.attrs["axis"], []
    for source in sources:
        stop = start + source.shape[axis]
        slices = [(None, None, 1)] * axis + [(start, stop, 1)]
        slices += [(None, None, 1)] * (node.ndim - len(slices))
        if not lies_in(source, part(target, slices)):  # else it was computed there
            pairs.append(([source], part(target, slices)))
        start = stop
    single = all(source.shape[axis] == 1 for source in sources)
    most = SIDE_BY_SIDE if dtypes.ITEMSIZE[node.dtype] >= 4 else OF_BYTES
    if single and target.strides[axis] == 1 and 1 < len(pairs) <= most:
        copy_together(plan, node, pairs)
        return True
    for (source,), place in pairs:
        copy(plan, node, source, place)
    return True


def part_of_complex(which):
    """real_part and imag_part: the floats of a complex layout; copied where somebody takes it."""

    def lowering(plan, node):
        shown = part_of_pairs(plan.layout(node.inputs[0]), which)
        if plan.is_placed(node):
            copy(plan, node, shown, plan.place(node))
        else:
            plan.lay(node, shown)
        return True

    return lowering


def complex_of(plan, node):
    sources = [plan.layout(x) for x in node.inputs]
    target = plan.place(node)
    for which, source in enumerate(sources):
        there = part_of_pairs(target, which)
        if source != there:  # else it was computed there
            copy(plan, node, source, there)
    return True


def pack(plan, node):
    sources = [plan.layout(x) for x in node.inputs]
    target = plan.place(node)
    for k, source in enumerate(sources):
        copy(plan, node, source, part(target, [(k, k + 1, 1)]))
    return True


def pad(plan, node):
    x, value = node.inputs
    if not real(x) or not x.ndim:
        return False
    source, filler = plan.copied_from(x), plan.layout(value)
    target = plan.place(node)
    inside = tuple((a, a + n, 1) for (a, _), n in zip(node.attrs["widths"], x.shape))
    if not reaches(target_size(target), SMALL + 1):
        copy(plan, node, filler, target)
    else:
        for box in around(node.shape, inside):
            copy(plan, node, filler, part(target, box))
    copy(plan, node, source, part(target, inside))
    return True


def diagonal(plan, node):
    """The diagonal of two axes is a view with the sum of their strides."""
    x, (a, b), offset = node.inputs[0], node.attrs["axes"], node.attrs["offset"]
    if not real(x):
        return False
    source = plan.layout(x)
    start = source.offset
    if node.shape[-1]:
        start += offset * source.strides[b] if offset >= 0 else -offset * source.strides[a]
    keep = [k for k in range(x.ndim) if k not in (a, b)]
    strides = tuple(source.strides[k] for k in keep) + (source.strides[a] + source.strides[b],)
    copy(
        plan,
        node,
        replace(source, shape=node.shape, strides=strides, offset=start),
        plan.place(node),
    )
    return True


def target_size(layout):
    return product(layout.shape)


# ---- writing parts ------------------------------------------------------------------------------


def set_slice(plan, node):
    return write_slice(plan, node, None)


def inc_slice(plan, node):
    return write_slice(plan, node, "add")


def write_slice(plan, node, op):
    """x with y set in (or added to) a part of it; what y covers is not copied from x first."""
    x, y = node.inputs
    slices = node.attrs["slices"]
    if not real(x):
        return False
    old, new = plan.copied_from(x), plan.copied_from(y)
    target = plan.place(node)
    written = part(target, slices)
    there = new.shape == written.shape and lies_in(new, written)
    if target.buffer != old.buffer and not plan.is_framed(node):
        copy_around(plan, node, old, target, there)
    elif new.buffer == target.buffer and not there:
        new = plan.copy(new)  # it lies in what is being changed
    if op is not None:
        combine(plan, node, op, [part(old, slices), new], written)
    elif not there:
        copy(plan, node, new, written)
    return True


def copy_around(plan, node, old, target, there):
    """Copies of what a store in a new place does not cover; of all where that is less work.

    there: what it covers is written already.
    """
    boxes = around(old.shape, node.attrs["slices"]) if unit_steps(node.attrs["slices"]) else None
    few = boxes is not None and (not boxes or there or reaches(target_size(target), SMALL + 1))
    for box in boxes if few else [((None, None, 1),) * len(old.shape)]:
        copy(plan, node, part(old, box), part(target, box))


# ---- indices ------------------------------------------------------------------------------------


def narrow(node):
    """`node` reading integer indices as they are, not widened: kernels take any width."""
    if node.op.name not in INDICES:
        return node
    first, end = INDICES[node.op.name]
    inputs = [
        n.inputs[0]
        if k >= first
        and n.op.name == "cast"
        and n.dtype == "int64"
        and n.inputs[0].dtype in dtypes.INTEGERS
        and n.inputs[0].dtype != "uint64"
        else n
        for k, n in enumerate(node.inputs[:end])
    ]
    inputs += node.inputs[len(inputs) :]
    return node if tuple(inputs) == node.inputs else make(node.op, inputs, node.attrs)


def gathering(nest_of):
    """The lowering of an op that reads x at indices; nest_of(node, x, result, index layouts)."""

    def lower(plan, node):
        shown = (lambda layout: layout) if real(node) else as_pairs
        x, *arrays = [plan.layout(i) for i in node.inputs]
        result = replace(x, buffer=None, shape=node.shape, strides=contiguous_strides(node.shape))
        nest = nest_of(node, shown(x), shown(result), arrays)
        if nest is None:
            return False
        looked = plan.looked_at(node, node.inputs[1:], nest)
        nest = nest_of(node, shown(x), shown(plan.place(node)), arrays)
        plan.launch(gather(nest), [node], None, looked)
        return True

    return lower


def scattering(nest_of):
    """The lowering of a gather's gradient: zeros like the first operand, g added at indices."""

    def lower(plan, node):
        like, indices, g = node.inputs
        if not real(g) or 0 in like.shape:
            return False
        at, values = plan.layout(indices), plan.layout(g)
        if nest_of(node, indexed_shape(like, g), values, [at]) is None:
            return False
        target = plan.place(node)
        fill = node.attrs["axis"] == 0
        if not fill:
            zero(plan, node, target)
        plan.launch(scatter(nest_of(node, target, values, [at]), "add", fill), [node])
        return True

    return lower


def indexed_shape(like, g):
    return fresh(None, like.shape, g.dtype)


def zero(plan, node, target):
    copy(plan, node, plan.constant(np.zeros((), target.dtype)), target)


def writing(how):
    """The lowering of advanced_set and its kin: x copied, then y written in order."""

    def lower(plan, node):
        x, y, *indices = node.inputs
        if not real(x) or 0 in x.shape:
            return False
        template = node.attrs["template"]
        old, new, *arrays = [plan.layout(i) for i in node.inputs]
        values = replace(spread(new, advanced_shape(node)), dtype=node.dtype)
        if indexed.template_nest(template, old, values, arrays) is None:
            return False
        target = plan.place(node)
        if target.buffer != old.buffer:
            copy(plan, node, old, target)
        else:  # what lies in the tensor that is being changed is read before
            values, *arrays = [
                plan.copy(lay) if lay.buffer == target.buffer else lay for lay in (values, *arrays)
            ]
        nest = indexed.template_nest(template, target, values, arrays)
        looked = plan.looked_at(node, indices, nest)
        plan.launch(scatter(nest, how), [node], None, looked)
        return True

    return lower


def advanced_shape(node):
    x, _, *indices = node.inputs
    return make("advanced_take", [x] + list(indices), node.attrs).shape


# ---- running sums and products ------------------------------------------------------------------


def running(op):
    """The lowering of a running op: floats run in the next wider dtype, ints wrap."""
    extremum = op in ("max", "min")

    def lower(plan, node):
        if not real(node) or node.dtype == "bool" and not extremum:
            return False
        layouts, axis = [plan.layout(i) for i in node.inputs], node.attrs["axis"]
        layouts.append(plan.place(node))
        if 0 not in node.shape:
            if node.attrs["reverse"]:
                flip = [(None, None, -1 if k == axis else 1) for k in range(node.ndim)]
                layouts = [part(lay, flip) for lay in layouts]
            plan.launch(scan(layouts[:-1], layouts[-1], axis, op), [node])
        return True

    return lower


def later(module, name):
    """The lowering `name` of a module of this room that few programs need."""

    def lower(plan, node):
        return getattr(importlib.import_module(f"{__package__}.{module}"), name)(plan, node)

    return lower


def _axis(node, far, near, arrays):
    return indexed.axis_nest(far, near, node.attrs["axis"], arrays[0])


def _along(node, far, near, arrays):
    if not real(node):
        return None
    return indexed.along_nest(far, near, node.attrs["axis"], arrays[0])


def _template(node, far, near, arrays):
    parts = [":"] * (len(far.shape) - node.inputs[0].ndim)  # of complex numbers
    return indexed.template_nest([*node.attrs["template"], *parts], far, near, arrays)


register_rules(
    "lowering",
    {
        "again": again,
        "concatenate": concatenate,
        "real_part": part_of_complex(0),
        "imag_part": part_of_complex(1),
        "complex_of": complex_of,
        "pack": pack,
        "pad": pad,
        "diagonal": diagonal,
        "set_slice": set_slice,
        "inc_slice": inc_slice,
        "take": gathering(_axis),
        "take_along_axis": gathering(_along),
        "advanced_take": gathering(_template),
        "scatter_add": scattering(_axis),
        "put_along_axis_add": scattering(_along),
        "advanced_set": writing("set"),
        "advanced_inc": writing("add"),
        "advanced_combine": lambda plan, node: writing(node.attrs["how"])(plan, node),
        "cumsum": running("+"),
        "cumprod": running("*"),
        "cummax": running("max"),
        "cummin": running("min"),
        "linear_recurrence": running("recurrence"),
        "cholesky": later("triangles", "cholesky"),
        "lu": later("triangles", "lu"),
        "solve_triangular": later("triangles", "solve_triangular"),
        "solve": later("triangles", "solve"),
        "inverse": later("triangles", "inverse"),
        "expm": later("triangles", "expm"),
        "sylvester": later("triangles", "sylvester"),
        **dict.fromkeys(
            ("fft", "rfft_half", "irfft_half", "rfft", "irfft"), later("fourier", "fft")
        ),
        "convolve": later("convolve", "convolve"),
        "matmul_of_bytes": later("matmul_of_bytes", "matmul_of_bytes"),
        **dict.fromkeys(("qr", "qr_full"), later("triangles", "qr")),
        "ctc": later("ctc", "ctc"),
        "ctc_collapse": later("ctc", "collapse"),
        "ctc_beam": later("ctc", "beam"),
        **{
            f"csr_{name}": later("sparse", name)
            for name in ("dense", "take", "rows", "order", "interleave", "held")
        },
        "csr_dot": later("sparse_dot", "dot"),
        "csr_sample": later("sparse_dot", "sample"),
        **{
            f"csr_{name}": later("sparse_product", name) for name in ("counts", "places", "product")
        },
        **dict.fromkeys(("interpolate", "interpolate_grad"), later("interpolate", "interpolate")),
        "patches": later("patches", "patches"),
        "patches_grad": later("patches", "patches_grad"),
        "sort": later("order", "sort"),
        "selected": later("order", "selected"),
        "searchsorted": later("order", "searchsorted"),
        "equal_bins": later("order", "equal_bins"),
        "first_equal": later("order", "equal"),
        **dict.fromkeys(("argsort", "first_places"), later("order", "places")),
        "argpartition": later("order", "partition"),
        "attention": later("attention", "attention"),
        "attention_grad": later("attention", "attention_grad"),
        "attention_values_grad": later("attention", "values_grad"),
        "mrg_uniform": later("mrg", "uniform"),
        "mrg_choice": later("mrg", "choice"),
        "c_op": later("own", "own"),
    },
)
