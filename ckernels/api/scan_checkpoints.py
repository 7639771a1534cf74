"""Checkpointed scans: a scan over segments of a scan; only states between segments are stored.

Its gradient runs each segment again before it goes back through it. With segments of sqrt(steps)
steps the memory for states grows as sqrt(steps), not as steps, for about one more run of the scan.
"""

from .. import ops
from ..base.errors import ArgumentError, NotSupported
from ..graph.node import Node, as_node, constant, item
from ..ops.scan import Carry, ScanSignature, scan_node
from ..ops.shape import sized
from .scan_made import MadeScan
from .tensor import placeholder_node


def checkpointed(every, steps, seqs, carries, outs, condition, parts, frozen, options):
    """The MadeScan of a traced step (see `make_scan`); only every so many states are stored."""
    if every < 1:
        raise ArgumentError(f"checkpoint is {every}; states are stored every 1 or more steps")
    if condition is not None:
        raise NotSupported("a checkpointed scan cannot end early; leave out `checkpoint` or until")
    segments = _segments(steps, every)
    whole = isinstance(steps, int) and steps % every == 0
    inner_seqs, outer_seqs = [], []
    for _, (rows,), row in seqs:
        parts_of_rows = _folded(rows, steps, segments, every, whole)
        segment = placeholder_node(rows.dtype, (every, *rows.shape[1:]))
        inner_seqs.append((0, [segment], row))
        outer_seqs.append((0, [parts_of_rows], segment))
    count = None
    if not whole:  # the last segment ends where the scan does
        number = placeholder_node("int64", ())
        numbers = ops.sub(
            ops.cumsum(ops.broadcast_to(constant(1, "int64"), ops.shape_vector([segments])), 0), 1
        )
        outer_seqs.append((0, [numbers], number))
        count = ops.minimum(ops.sub(_node(steps), ops.mul(number, every)), every)
    starts = [_start(c) for c in carries]
    inner_options = {k: v for k, v in options.items() if k not in ("states", "truncate")}
    inner = scan_node(
        constant(every, "int64"),
        inner_seqs,
        [
            c._replace(init=s if _looks_back(c) else ops.expand(s, (0,)))
            for c, s in zip(carries, starts)
        ],
        outs,
        None,
        count,
        frozen,
        **inner_options,
    )
    sig = ScanSignature.of(inner)
    outer = [
        Carry(
            ops.expand(c.init, (0,)) if _looks_back(c) else c.init,
            (-1,),
            [s],
            _end(inner, i, c, s, count),
        )
        for i, (c, s) in enumerate(zip(carries, starts))
    ]
    wanted = [item(inner, sig.trace(k) if kind == "carry" else sig.out(k)) for kind, k in parts]
    rows = list(dict.fromkeys(wanted))
    node = scan_node(
        _node(segments), outer_seqs, outer, rows, None, None, frozen, recompute=True, **options
    )
    return MadeScan(
        node,
        [("out", rows.index(w)) for w in wanted],
        lambda x: _unfolded(x, steps),
        parts,
        [_looks_back(c) for c in carries],
    )


# --- states between segments --------------------------------------------------------------------


def _looks_back(carry):
    """Whether steps read more of a state than its last value: then the state between segments is
    all the rows that they read."""
    return carry.taps != (-1,)


def _start(carry):
    """The placeholder of a segment for the state before it."""
    if not _looks_back(carry):
        return placeholder_node(carry.new.dtype, carry.init.shape[1:])
    return placeholder_node(carry.new.dtype, (-min(carry.taps), *carry.init.shape[1:]))


def _end(segment, i, carry, start, count):
    """The state `i` after a segment of `count` steps (None: of all its steps)."""
    sig = ScanSignature.of(segment)
    if not _looks_back(carry):
        return item(segment, sig.final(i))
    depth = -min(carry.taps)
    rows = ops.concatenate([start, item(segment, sig.trace(i))], 0)
    if count is None:
        return ops.slice_(rows, [(-depth, None, 1)])
    return ops.take(rows, ops.add(constant(list(range(depth)), "int64"), count), 0)


# --- rows in segments ---------------------------------------------------------------------------


def _node(n):
    return as_node(n) if isinstance(n, Node) else constant(n, "int64")


def _segments(steps, every):
    if isinstance(steps, int):
        return -(-steps // every)
    return ops.floor_div(ops.add(steps, every - 1), every)


def _folded(rows, steps, segments, every, whole):
    """(steps, ...) as (segments, every, ...), with zeros after the last row."""
    if not whole:
        missing = ops.sub(ops.mul(_node(segments), every), _node(steps))
        zeros = ops.broadcast_to(
            constant(0, rows.dtype), ops.shape_vector([missing, *sized(rows)[1:]])
        )
        rows = ops.concatenate([rows, zeros], 0)
    return ops.reshape(rows, [segments, every, *sized(rows)[1:]])


def _unfolded(x, steps):
    """(segments, every, ...) as the (steps, ...) rows that ran."""
    sizes = sized(x)
    flat = ops.reshape(x, [ops.mul(_node(sizes[0]), sizes[1]), *sizes[2:]])
    return ops.dynamic_slice(flat, [(0, steps, 1)])
