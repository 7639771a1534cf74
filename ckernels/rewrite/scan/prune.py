"""Only the steps and rows of a scan that are used: others do not run, or are not stored.

Results read only up to a row need no later step; of a map, no earlier one either. Where steps must
run although nobody reads their rows, as for x[-k:] of a trace, the scan becomes two, one after the
other: the first hands its states to the second, and each stores only rows that are read.
"""

from math import prod

from ... import ops
from ...base.dtypes import ITEMSIZE
from ...graph.node import constant, line_of, make, placeholder
from ...graph.op import having
from ...graph.sizes import SizeRange, indices
from ...graph.walk import consumers, rebuild, toposort, toposort_cut
from ...ops.scan import Carry, ScanSignature, is_scan
from ..engine import fit, scalar
from .opened import HOLD, Opened, runs_all, substitute, takes_last
from .results import ScanCount, ScanFinal, ScanOut, ScanTrace

WORTH = 4096  # bytes of rows nobody reads from which on a scan is made two
EFFECTS = having("effect")


def cut(roots):
    """Scans without the steps that no result needs."""
    return _changed(roots, _shorter)


def in_two(roots):
    """Scans of which only some rows are read as two, of which one stores them."""
    return _changed(roots, _halves)


def _changed(roots, change):
    """`roots` with change(scan, reads) applied to scans until it finds nothing more to do."""
    while True:
        order = toposort(roots)
        users, fixed = consumers(order), {n.uid for n in roots}
        for scan in order:
            if scan.op.name == "scan" and runs_all(scan) and scan.inputs[0].value is not None:
                reads = _Reads.of(scan, users, fixed)
                mapping = reads and change(scan, reads)
                if mapping:
                    roots = rebuild(roots, mapping)
                    break
        else:
            return roots


class _Reads:
    """What is read of a scan: finals [item nodes]; slices [(slice node, its item, rows: a
    SizeRange)]; first, end: the span of those rows."""

    def __init__(self, total, finals, slices):
        self.total, self.finals, self.slices = total, finals, slices
        used = [r for _, _, r in slices if r.count != 0]
        self.first = min([r.low for r in used], default=total)
        self.end = max([r.end for r in used], default=self.first)

    @classmethod
    def of(cls, scan, users, fixed):
        """None where results are read in other ways."""
        sig, total = ScanSignature.of(scan), scan.inputs[0].value.item()
        finals, slices = [], []
        for found in users[scan.uid]:
            k = found.attrs["index"]
            if sig.carries <= k < sig.out(0):
                finals.append(found)
                continue
            if (
                k == sig.executed
                or found.uid in fixed
                or any(u.op.name != "slice" for u in users[found.uid])
            ):
                return None
            slices += [(u, found, indices(u.attrs["slices"][0], total)) for u in users[found.uid]]
        return cls(total, finals, slices) if slices and total else None


def _shorter(scan, reads):
    """{node: what to put in its place} when some steps need not run."""
    if reads.finals or has_effects(scan.attrs["body"].outputs):
        return None
    first, end = reads.first, reads.end
    if scan.attrs["taps"]:
        first, end = (first, reads.total) if scan.attrs["reverse"] else (0, end)
    if end - first in (0, reads.total):
        return None
    with line_of(scan):
        opened = Opened(scan)
        _restrict(opened, first, end)
        return _resliced(reads.slices, opened.close(), first, end)


def has_effects(outputs):
    """Whether a step has effects (prints, checks): then all steps run, with their numbers."""
    return any(
        n.op.name in EFFECTS
        or any(has_effects(n.attrs[b].outputs) for b in HOLD.get(n.op.name, ()))
        for n in toposort(outputs)
    )


def _halves(scan, reads):
    """{node: what to put in its place} when a scan is better two."""
    if not scan.attrs["taps"] or has_effects(scan.attrs["body"].outputs):
        return None
    sig = ScanSignature.of(scan)
    sizes = {
        found.attrs["index"]: prod(found.shape[1:]) * ITEMSIZE[found.dtype]
        for _, found, _ in reads.slices
    }
    row = sum(sizes.values())
    if 0 < reads.first < reads.total and reads.first * row >= WORTH:
        at = reads.first
    elif 0 < reads.end < reads.total and (reads.total - reads.end) * row >= WORTH:
        at = reads.end
    else:
        return None
    low, high = (0, at), (at, reads.total)
    before, after = (high, low) if scan.attrs["reverse"] else (low, high)
    with line_of(scan):
        one, two = Opened(scan), Opened(scan)
        _restrict(one, *before)
        places = [_window(one, i) for i in range(sig.carries)]
        items = one.close()
        _restrict(two, *after)
        two.carries = [
            c._replace(
                init=ops.concatenate([ops.expand(items[k], (0,)) for k in ks], 0)
                if len(ks) > 1
                else ops.expand(items[ks[0]], (0,))
            )
            for c, ks in zip(two.carries, places)
        ]
        rest = two.close()
        found = {n: rest[n.attrs["index"]] for n in reads.finals}
        for half, (first, end) in ((items, before), (rest, after)):
            found.update(
                _resliced(
                    [
                        s
                        for s in reads.slices
                        if (half is rest if s[2].count == 0 else first <= s[2].low < end)
                    ],
                    half,
                    first,
                    end,
                )
            )
        return found


def _window(opened, i):
    """Indices of results of the scan that are the last rows of state `i`, as many as its taps need.

    Older ones than the last are states of their own, which take over what a step reads of them.
    """
    c, depth = opened.carries[i], -min(opened.carries[i].taps)
    taps, inputs, found = list(c.taps), list(c.inputs), [opened.sig.final(i)]
    for back in range(1, depth):
        if -back not in taps:
            taps.append(-back)
            inputs.append(placeholder(c.new.dtype, c.new.shape))
        opened.results.append(ScanFinal(len(opened.carries)))
        found.insert(0, len(opened.results) - 1)
        opened.carries.append(
            Carry(
                ops.slice_(c.init, [(-1, None, 1)]),
                (-1,),
                [placeholder(c.new.dtype, c.new.shape)],
                inputs[taps.index(-back)],
            )
        )
    opened.carries[i] = c._replace(taps=tuple(taps), inputs=inputs)
    return found


def _restrict(opened, first, end):
    """Let the scan run the steps from `first` to `end` only."""
    opened.sig.steps = constant(end - first)
    for entry in opened.rows:
        entry[0], entry[1] = _rows_between(entry[0], entry[1], first, end)


def _rows_between(lag, operands, first, end):
    """(lag, operands) of the rows from `first` to `end` of a sequence."""
    *head, rows = operands
    if not lag or first >= lag:
        return 0, [ops.slice_(rows, [(first - lag, end - lag, 1)])]
    if not first:
        return lag, [*head, ops.slice_(rows, [(0, end, 1)])]
    return 0, [ops.slice_(ops.concatenate(operands, 0), [(first, end, 1)])]


def _resliced(slices, items, first, end):
    """{slice of old rows: the same of `items`, which hold the rows from `first` to `end`}."""
    found = {}
    for node, old, rows in slices:
        moved = rows.moved(-first) if rows.count != 0 else SizeRange(0, 0)
        _, *rest = node.attrs["slices"]
        found[node] = ops.slice_(items[old.attrs["index"]], [moved.bounds(end - first), *rest])
    return found


# --- results that nobody reads ----------------------------------------------------------------


def drop_unused(roots, tried=None):
    """Scans without results that nobody reads, and without what only those needed."""
    tried = set() if tried is None else tried
    for scan in reversed([n for n in toposort(roots) if is_scan(n)]):
        order = toposort(roots)
        read = {n.attrs["index"] for n in order if n.op.name == "item" and n.inputs[0] is scan}
        key = "unused", scan.uid, frozenset(read)
        if not read or scan.op.name == "scan_debug" or key in tried:
            continue
        with line_of(scan):
            opened = Opened(scan)
            if _trim(opened, read):
                roots = substitute(roots, scan, opened.close())
            else:
                tried.add(key)
    return roots


def _trim(opened, read):
    """Whether something could be dropped of a scan of which only the results `read` are read."""
    sig = opened.sig
    live = {i for i in range(sig.carries) if {sig.trace(i), sig.final(i)} & read}
    outs = [k for k in range(sig.outs) if sig.out(k) in read]
    while True:
        roots = [opened.carries[i].new for i in live] + [opened.outs[k] for k in outs]
        roots += [] if opened.until is None else [opened.until]
        reached = {n.uid for n in toposort_cut(roots, opened.frozen)}
        more = {i for i, c in enumerate(opened.carries) if any(n.uid in reached for n in c.inputs)}
        if more <= live:
            break
        live |= more
    used_rows = [r for r in opened.rows if r[2].uid in reached]
    unread = set(sig.body.inputs) - {sig.body.inputs[k] for k in sig.body.used}
    if (
        len(live) == sig.carries
        and len(outs) == sig.outs
        and len(used_rows) == len(opened.rows)
        and not unread & set(sig.body.inputs[sig.first_other :])
    ):
        return False
    live = sorted(live)
    states = [live.index(i) if i in live else None for i in range(sig.carries)]
    kept = [outs.index(k) if k in outs else None for k in range(sig.outs)]
    kinds = [(ScanTrace, states), (ScanFinal, states), (ScanOut, kept)]
    opened.results = [None if i is None else kind(i) for kind, places in kinds for i in places]
    opened.results.append(ScanCount())
    opened.carries = [opened.carries[i] for i in live]
    opened.outs = [opened.outs[k] for k in outs]
    return True


def only_last(roots):
    """Per-step results of which only the last row is read become states, which are not stored."""
    while True:
        new = _last_as_state(roots)
        if new is None:
            return roots
        roots = new


def _last_as_state(roots):
    """`roots` with that done to the first scan where it can be; None where there is none."""
    order = toposort(roots)
    users, fixed = consumers(order), {n.uid for n in roots}
    for scan in [n for n in order if n.op.name == "scan" and runs_all(n)]:
        sig, reads = ScanSignature.of(scan), {}
        for n in users[scan.uid]:
            k = n.attrs["index"] - sig.out(0)
            if (
                0 <= k < sig.outs
                and n.uid not in fixed
                and n.shape[0]
                and all(takes_last(u, n, scan) for u in users[n.uid])
            ):
                reads[k] = users[n.uid]
        if not reads:
            continue
        with line_of(scan):
            opened = Opened(scan)
            for k in reads:
                new = opened.outs[k]
                zeros = fit(scalar(0, new.dtype), (1, *new.shape))
                opened.carries.append(Carry(zeros, (-1,), [placeholder(new.dtype, new.shape)], new))
                opened.results[sig.out(k)] = ScanFinal(len(opened.carries) - 1)
            items = opened.close()
            replace = {n: items[n.attrs["index"]] for n in users[scan.uid]}
            for k, slices in reads.items():
                for n in slices:
                    final = ops.expand(items[sig.out(k)], (0,))
                    rest = n.attrs["slices"][1:]
                    replace[n] = make("slice", (final,), {"slices": ((None, None, 1), *rest)})
                replace = {n: x for n, x in replace.items() if n is not slices[0].inputs[0]}
        return rebuild(roots, replace)
    return None
