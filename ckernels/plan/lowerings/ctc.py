"""Launches of the CTC ops: one kernel for the loss (with its derivative where that is read), one
for merging repeats, one for beam search. All are parallel over samples.

Samples that run at the same time need scratch of their own: there is one piece for each block of
samples, and so many blocks that threads find work and the pieces stay small.
"""

from dataclasses import replace

from ...base import dtypes
from ...base.machine import NS_BEAM, NS_BEAM_CLASS, NS_CLASS, NS_SLOPE, NS_STATE
from ...codegen.lower import Launch
from ...codegen.raw import RawKernel
from ...graph.sizes import ceil_divide, greatest, smallest
from ...schedule.cost import work
from ..instructions import word_of

BLOCKS = 16  # pieces of scratch at most, ...
SCRATCH = 128 << 20  # ... and bytes of all of them, where two are not more


def blocks(samples, piece):
    """(samples per block, number of blocks) for pieces of scratch of `piece` bytes."""
    count = greatest(2, smallest(BLOCKS, SCRATCH // greatest(piece, 1)))
    size = ceil_divide(samples, count)
    return size, ceil_divide(samples, size)


def results(plan, node, used):
    """Layouts of the outputs in `used` ({index: layout whose order of axes to follow, or None})."""
    outs = [None] * len(node.outs)
    for k, like in used.items():
        out = outs[k] = plan.target(node, k)
        if like is not None and out.buffer[0] == "tmp" and like.strides[0] < like.strides[1]:
            samples, steps, classes = out.shape  # a view of time-major memory
            outs[k] = replace(out, strides=(classes, samples * classes, 1))
    for index, item in plan.items(node).items():
        plan.lay(item, outs[index])
    return outs


def launch(plan, node, kernel, operands, dims, piece, picoseconds):
    """Add the launch: a range of samples, operands then scratch; dims get block and piece."""
    samples = node.inputs[0].shape[0]
    if not samples:
        return
    size, count = blocks(samples, piece)
    scratch = plan.temp((count * piece // 8,), "int64")
    ins, outs = operands
    used = [lay for lay in ins + outs if lay is not None]
    holes = [(scratch if lay is None else lay).pointer for lay in ins + outs]
    plan.launch(
        Launch(
            kernel,
            holes + [scratch.pointer],
            dims + [size, piece],
            samples,
            size,
            picoseconds,
            [lay.buffer for lay in used if lay in ins],
            [lay.buffer for lay in used if lay in outs] + [scratch.buffer],
        ),
        [node],
    )


def roles(ins, outs):
    return tuple(("in", lay.dtype) for lay in ins) + tuple(
        ("out", lay.dtype) for lay in outs if lay is not None
    )


def plain(*nodes):
    """Whether all indices have a C type and no complex number is among the operands."""
    return all(n.dtype in dtypes.INTEGERS for n in nodes)


def ctc(plan, node):
    """The loss and, where an item reads it, the derivative."""
    x, labels, input_length, label_length = node.inputs
    if not plain(labels, input_length, label_length):
        return False
    ins = [plan.layout(i) for i in node.inputs]
    slope = any(plan.items(node))
    outs = results(plan, node, {0: None, 1: ins[0]} if slope else {0: None})
    attrs, (samples, steps, classes), most = node.attrs, x.shape, labels.shape[1]
    kernel = RawKernel(
        "ctc",
        (
            ("what", " and its derivative" if slope else ""),
            ("type", dtypes.C_NAMES[x.dtype]),
            ("hist", dtypes.C_NAMES[x.dtype]),
            ("label", dtypes.C_NAMES[labels.dtype]),
            ("inlen", dtypes.C_NAMES[input_length.dtype]),
            ("lablen", dtypes.C_NAMES[label_length.dtype]),
            ("log", str(int(attrs["log"]))),
            ("padded", str(int(attrs["padded"]))),
            ("ends", str(int(attrs["ends"]))),
            ("gradient", str(int(slope))),
        ),
        roles(ins, outs),
    )
    row = (most + 16) // 8 * 8
    numbers = 17 * row + 8 + steps + (4 * steps * row if slope else 0)
    dims = [
        steps,
        classes,
        most,
        *ins[0].strides,
        *ins[1].strides,
        ins[2].strides[0],
        ins[3].strides[0],
        attrs["blank"] % classes if classes else 0,
        word_of(attrs["epsilon"]),
        *(outs[1].strides[:2] if slope else (0, 0)),
    ]
    state = NS_SLOPE if slope else NS_STATE
    took = work(2 * state, samples, steps, row) + work(NS_CLASS, samples, steps, classes)
    launch(plan, node, kernel, (ins, outs), dims, 8 * -(-numbers // 8) * 8, took)
    return True


def collapse(plan, node):
    """Repeats merged and blanks dropped."""
    best, lengths = node.inputs
    if not plain(lengths):
        return False
    ins = [plan.layout(i) for i in node.inputs]
    outs = results(plan, node, {0: None, 1: None})
    kernel = RawKernel(
        "ctc_collapse", (("length", dtypes.C_NAMES[lengths.dtype]),), roles(ins, outs)
    )
    samples, steps = best.shape
    launch(
        plan,
        node,
        kernel,
        (ins, outs),
        [steps, *ins[0].strides, ins[1].strides[0]],
        0,
        work(1, samples, steps + 10),
    )
    return True


def beam(plan, node):
    """The beam search."""
    x, lengths = node.inputs
    (samples, steps, classes), attrs = x.shape, node.attrs
    width, paths = attrs["width"], attrs["paths"]
    piece = 8 * (5 * (steps * width + 1) + 14 * width + 2 * classes)
    if piece > SCRATCH:
        return False
    ins = [plan.layout(i) for i in node.inputs]
    outs = results(plan, node, {0: None, 1: None, 2: None})
    kernel = RawKernel(
        "ctc_beam",
        (("type", dtypes.C_NAMES[x.dtype]), ("length", dtypes.C_NAMES[lengths.dtype])),
        roles(ins, outs),
    )
    dims = [
        steps,
        classes,
        width,
        paths,
        *ins[0].strides,
        ins[1].strides[0],
        word_of(attrs["epsilon"]),
    ]
    took = work(width * NS_BEAM, samples, steps)
    took += work(width * NS_BEAM_CLASS + 1, samples, steps, classes)
    launch(plan, node, kernel, (ins, outs), dims, piece, took)
    return True
