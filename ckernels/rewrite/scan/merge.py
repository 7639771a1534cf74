"""Scans over the same steps become one, with what both compute computed once; so do equal states.

The forward scan that a gradient made, with more results, thereby takes the place of the user's.
"""

from dataclasses import replace

from ...graph.node import line_of, placeholder
from ...graph.walk import rebuild, toposort
from ...ops.scan import ScanSignature
from .opened import Opened, drop_carries
from .results import ScanCount, ScanFinal, ScanOut, ScanTrace


def merge(roots):
    """`roots` with scans over the same steps, none of which needs another, made one."""
    refused = set()
    while True:
        scans = [n for n in toposort(roots) if n.op.name == "scan"]
        pair = next(
            (
                (a, b)
                for k, b in enumerate(scans)
                for a in scans[:k]
                if (a.uid, b.uid) not in refused
                and _alike(a, b)
                and all(n is not a for n in toposort([b]))
            ),
            None,
        )
        if pair is None:
            return roots
        with line_of(pair[0]):
            merged = _merged(*pair)
        if merged is None:
            refused.add((pair[0].uid, pair[1].uid))
            continue
        found = {}
        for node in toposort(roots):
            if node.op.name == "item" and node.inputs[0] in pair:
                items = merged[pair.index(node.inputs[0])]
                found[node] = items[node.attrs["index"]]
        roots = rebuild(roots, found)


def _alike(a, b):
    x, y = a.attrs, b.attrs
    if any(x[k] != y[k] for k in ("reverse", "counted", "limit", "recompute", "until")):
        return False
    if a.inputs[0] is not b.inputs[0] or (x["counted"] and a.inputs[1] is not b.inputs[1]):
        return False
    return not x["until"] or _shares_state(a, b)


def _shares_state(a, b):
    """Two scans that end early end together only when one is the other with more results."""
    inits = {n.uid for n in ScanSignature.of(a).inits}
    return bool(inits & {n.uid for n in ScanSignature.of(b).inits})


def _merged(a, b):
    """(results of a, results of b) in one scan of both; None when they cannot be one."""
    one = Opened(a)
    rows = {(lag, tuple(x.uid for x in operands)): row for lag, operands, row in one.rows}
    two = ScanSignature.of(b)
    own = []
    for lag, pair in zip(b.attrs["seqs"], two.seqs):
        operands = [x for x in pair if x is not None]
        row = rows.get((lag, tuple(x.uid for x in operands)))
        if row is None:
            row = placeholder(operands[-1].dtype, operands[-1].shape[1:])
            one.rows.append([lag, operands, row])
        own.append(row)
    stand_ins = own + [
        placeholder(init.dtype, init.shape[1:])
        for init, taps in zip(two.inits, b.attrs["taps"])
        for _ in taps
    ]
    other = Opened(b, stand_ins)
    first = len(one.carries)
    same = equal_states(one.carries + other.carries, [*one.sig.others, *other.sig.others])
    shared = _inputs_of(one.carries + other.carries, same)
    one.replace(shared)
    other.replace(shared)
    if other.until is not one.until:
        return None
    return _joined(one, other, {j - first: i for j, i in same.items() if i < first <= j})


def _joined(one, other, same):
    first = len(one.results)
    place = dict(same)
    for j, c in enumerate(other.carries):
        if j not in place:
            place[j] = len(one.carries)
            one.carries.append(c)
    outs = [one.emit_out(n) for n in other.outs]
    sig = other.sig
    states = [place[j] for j in range(sig.carries)]
    one.results += [*map(ScanTrace, states), *map(ScanFinal, states), *map(ScanOut, outs)]
    one.results.append(ScanCount())
    one.frozen |= other.frozen
    one.sig.others = [*one.sig.others, *other.sig.others]
    items = one.close()
    return (
        {k: v for k, v in items.items() if k < first},
        {k - first: v for k, v in items.items() if k >= first},
    )


# --- equal states -----------------------------------------------------------------------------


def equal_states(carries, others):
    """{index of a carry: that of the first which always holds the same}.

    States with the same first values are taken to be equal until their steps tell them apart.
    others: nodes that the steps read from outside.
    """
    kinds = [(c.init.uid, c.taps) for c in carries]
    while True:
        leaders = {}
        heads = [leaders.setdefault(kind, i) for i, kind in enumerate(kinds)]
        same = {i: head for i, head in enumerate(heads) if i != head}
        if not same:
            return same
        stay = {n: n for n in others}
        made = rebuild([c.new for c in carries], {**stay, **_inputs_of(carries, same)})
        kinds = [(head, new.uid) for head, new in zip(heads, made)]
        if len(set(kinds)) == len(leaders):
            return same


def _inputs_of(carries, same):
    """{what a step reads of a state: what it reads of the equal one}."""
    return {
        own: shared
        for i, head in same.items()
        for own, shared in zip(carries[i].inputs, carries[head].inputs)
    }


def one_of_equal(opened):
    """States that are always equal are one: a recurrent layer's output and its first state."""
    same = equal_states(opened.carries, opened.sig.others)
    if same:
        opened.replace(_inputs_of(opened.carries, same))
        drop_carries(
            opened, dict.fromkeys(same, lambda result: replace(result, carry=same[result.carry]))
        )
    return bool(same)
