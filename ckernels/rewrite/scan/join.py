"""Weights side by side: several small products become one, in the step of a scan and after it.

The gates of an LSTM written one by one are the case: forwards four products of one state, backwards
a sum of four products, after the scan four products of one matrix of rows.
"""

from ... import ops
from ...autodiff.scan_sums import terms
from ...graph.node import make
from ...graph.sizes import SizeRange, indices, surely
from ...graph.walk import consumers, rebuild, toposort
from .opened import depending, move_outs
from .results import AfterScan, ScanOut

FEWEST = 4  # steps below which weights are not put side by side: that copies them
WHOLE = ((None, None, 1), (None, None, None))


def join_weights(opened):
    """a @ v and a @ w become one product a @ [v w], of which each is a slice."""
    if opened.steps is not None and opened.steps < FEWEST:
        return False
    order = opened.order()
    varies = depending(order, opened.row_leaves() | opened.state_leaves())
    groups = {}
    for n in order:
        if _weighs_right(n, varies):
            groups.setdefault(n.inputs[0].uid, []).append(n)
    mapping = {}
    for nodes in groups.values():
        if len(nodes) < 2:
            continue
        nodes.sort(key=lambda n: _weight(n).uid)
        joined = make("concatenate", [n.inputs[1] for n in nodes], {"axis": 1})
        whole, at = make("matmul", (nodes[0].inputs[0], joined)), 0
        for n in nodes:
            mapping[n] = _columns(whole, at, at + n.shape[1])
            at += n.shape[1]
    if not mapping:
        return False
    opened.replace(mapping)
    return True


def _weighs_right(node, varies):
    """Whether `node` is a varying matrix times one that is the same in all steps."""
    return (
        node.op.name == "matmul"
        and node.ndim == 2
        and all(i.ndim == 2 for i in node.inputs)
        and node.inputs[0].uid in varies
        and node.inputs[1].uid not in varies
    )


def _weight(node):
    """The weight of a product, behind its transposition: by it joined weights are ordered, so that
    a scan and its gradient join them the same way."""
    w = node.inputs[1]
    return w.inputs[0] if w.op.name == "transpose" else w


def _columns(x, low, high):
    return ops.slice_(x, [(None, None, 1)] * (x.ndim - 1) + [(low, high, 1)])


def join_terms(opened):
    """a @ v + b @ w becomes one product [a b] @ [v; w]; a and b are parts of one result then."""
    if opened.steps is not None and opened.steps < FEWEST:
        return False
    order = opened.order()
    varies = depending(order, opened.row_leaves() | opened.state_leaves())
    stateful = depending(order, opened.state_leaves())  # products of rows alone leave the scan
    inner = {i.uid for n in order if n.op.name == "add" for i in n.inputs}
    users = consumers(order)
    for n in order:
        if n.op.name != "add" or n.ndim != 2 or n.uid in inner and _inside(n, users):
            continue
        summed = terms(n)
        products = [t for t in summed if _weighs_right(t, varies) and t.uid in stateful]
        if len(products) < 2 or len({t.inputs[0].uid for t in products}) < len(products):
            continue
        _join(opened, n, summed, sorted(products, key=lambda t: _weight(t).uid))
        return True
    return False


def _inside(node, users):
    """Whether all that reads `node` adds it to a tensor of its shape: part of a larger sum."""
    return all(u.op.name == "add" and surely(u.shape, node.shape) for u in users[node.uid])


def _join(opened, total, summed, products):
    left = make("concatenate", [t.inputs[0] for t in products], {"axis": 1})
    if all(t.inputs[1].op.name == "transpose" for t in products):
        joined = make("concatenate", [_weight(t) for t in products], {"axis": 1})
        right = ops.transpose(joined, (1, 0))
    else:
        right = make("concatenate", [t.inputs[1] for t in products], {"axis": 0})
    new = make("matmul", (left, right))
    for t in summed:
        if all(t is not p for p in products):
            new = ops.add(new, t)
    bounds, at = {}, 0
    for t in products:
        bounds[t.inputs[0]] = (at, at + t.inputs[0].shape[1])
        at += t.inputs[0].shape[1]
    kept = [n for n in opened.outs if n not in bounds]
    if len(kept) < len(opened.outs):
        kept.append(left)
    place = {}
    for k, n in enumerate(opened.outs):
        place[k] = _part(len(kept) - 1, *bounds[n]) if n in bounds else ScanOut(kept.index(n))
    move_outs(opened, kept, place)
    opened.replace({total: new})


def _part(k, low, high):
    return AfterScan(lambda x: _columns(x, low, high), (ScanOut(k),))


# --- products of parts of one matrix ----------------------------------------------------------


def join_columns(roots):
    """a @ x[:, :k] and a @ x[:, k:] become a @ x and slices of it, where they cover x."""
    groups = {}
    for n in toposort(roots):
        if n.op.name == "matmul" and n.ndim == 2:
            found = _columns_of(n.inputs[1])
            if found is not None:
                base, low, high = found
                groups.setdefault((n.inputs[0].uid, base.uid), []).append((low, high, n, base))
    mapping = {}
    for found in groups.values():
        spans = sorted({(low, high) for low, high, _, _ in found})
        width = found[0][3].shape[-1]
        if len(spans) < 2 or [0] + [high for _, high in spans] != [low for low, _ in spans] + [
            width
        ]:
            continue
        whole = make("matmul", (found[0][2].inputs[0], found[0][3]))
        mapping.update((n, _columns(whole, low, high)) for low, high, n, _ in found)
    return rebuild(roots, mapping) if mapping else roots


def _columns_of(x):
    """(matrix, low, high) where the matrix `x` is matrix[:, low:high], behind a reshape too."""
    moved = x
    while moved.op.name in ("reshape", "squeeze"):
        moved = moved.inputs[0]
    if moved.op.name != "slice" or moved.shape[-1:] != x.shape[-1:]:
        return None
    base, ranges = moved, [SizeRange(0, d) for d in moved.shape]
    while base.op.name == "slice":
        bounds, base = base.attrs["slices"], base.inputs[0]
        ranges = [
            indices(b, d).within((r.start, r.stop, r.step)) if r.step > 0 else None
            for d, b, r in zip(base.shape, bounds, ranges)
        ]
        if None in ranges:
            return None
    *rest, last = [r.bounds(d) for r, d in zip(ranges, base.shape)]
    if last in WHOLE or ranges[-1].step != 1 or ranges[-1].count == 0:
        return None
    if any(s not in WHOLE for s in rest):
        base = ops.slice_(base, [*rest, WHOLE[0]])
    if base.ndim != 2:
        base = ops.reshape(base, [x.shape[0], base.shape[-1]])
    return base, ranges[-1].start, ranges[-1].stop
