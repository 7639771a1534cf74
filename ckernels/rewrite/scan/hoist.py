"""Passes that take work out of a scan's step, one function each: Opened -> whether it changed.

A product of a row with a weight becomes one product for all rows before the scan, a product that
only makes a result one after it; sums over steps are taken over stored rows. Measured for 100
steps: 100 products (32, 128) @ (128, 512) take 1.5 times one of all rows, with a batch of 1 it is
2.3 times. Before the scan rows are copied to lie one after the other: read with the stride of
another order, a row of 64 kB took 28 us instead of 1.
"""

from ... import ops
from ...autodiff.batch import NoBatchRule, batched
from ...graph.node import make, placeholder
from ...graph.sizes import surely
from ...graph.walk import read_from_outside, toposort_cut
from ..engine import fit, number
from .gates import parts_first
from .join import join_terms, join_weights
from .opened import depending, drop_carries, move_outs, runs_all
from .results import AfterScan, OutsideScan, ScanFinal, ScanOut, ScanTrace


def tidy(opened):
    """Results that are there already: of a state's trace, of a sequence, the same in all steps."""
    if not runs_all(opened.scan):
        return False
    changed = _constant_states(opened)
    varies = depending(opened.order(), opened.row_leaves() | opened.state_leaves())
    total = opened.steps
    sources = {row.uid: operands[0] for lag, operands, row in opened.rows if not lag}
    kept, place = [], {}
    for k, n in enumerate(opened.outs):
        at = next((i for i, c in enumerate(opened.carries) if c.new is n), None)
        if at is not None:
            place[k] = ScanTrace(at)
        elif n.uid in sources:
            place[k] = OutsideScan(sources[n.uid])
        elif n.uid not in varies:
            place[k] = OutsideScan(fit(n, (total, *n.shape)))
        elif n in kept:
            place[k] = ScanOut(kept.index(n))
        else:
            place[k] = ScanOut(len(kept))
            kept.append(n)
    if len(kept) == len(opened.outs):
        return changed
    move_outs(opened, kept, place)
    return True


def _constant_states(opened):
    """States that keep their first value are no states."""
    same = [
        i
        for i, c in enumerate(opened.carries)
        if c.taps == (-1,) and c.new is c.inputs[0] and opened.steps
    ]
    if not same:
        return False
    first = {i: ops.squeeze(opened.carries[i].init, (0,)) for i in same}
    opened.replace({opened.carries[i].inputs[0]: x for i, x in first.items()})

    def constant(result):
        x = first[result.carry]
        return OutsideScan(x if isinstance(result, ScanFinal) else fit(x, (opened.steps, *x.shape)))

    drop_carries(opened, dict.fromkeys(same, constant))
    return True


# --- products before the scan -----------------------------------------------------------------


def rows_first(opened):
    """Products that depend on rows alone are computed for all rows before the scan."""
    if not runs_all(opened.scan):
        return False
    order = opened.order()
    early = depending(order, opened.row_leaves()) - depending(order, opened.state_leaves())
    varies = depending(order, opened.row_leaves() | opened.state_leaves())
    mapping = {}
    for n in order:
        if n.op.name == "matmul" and n.uid in early and any(i.uid not in varies for i in n.inputs):
            rows = _of_all_rows(opened, n, varies)
            if rows is not None:
                row = _new_row(opened, n, rows)
                mapping[n] = row
    if not mapping:
        return False
    opened.replace(mapping)
    return True


def _new_row(opened, node, rows):
    row = placeholder(node.dtype, node.shape)
    opened.rows.append([0, [rows], row])
    return row


def _of_all_rows(opened, node, varies):
    """The product `node` for all steps, or None."""
    wide = {}
    for lag, operands, row in opened.rows:
        if lag:
            head, rows = operands
            both = ops.concatenate([head, rows], 0)
            operands = [ops.slice_(both, [(0, rows.shape[0], 1)])]
        wide[row] = operands[0]
    a, b = node.inputs
    needed = {n.uid for n in toposort_cut([node], opened.frozen)}
    wide = {r: x for r, x in wide.items() if r.uid in needed}
    if node.ndim != 2:
        return None
    try:
        if b.uid not in varies:
            return ops.matmul(_all_rows(a, wide, opened), b)
        flipped = ops.transpose(b, (1, 0))
        rows = ops.matmul(_all_rows(flipped, wide, opened), ops.transpose(a, (1, 0)))
        return ops.transpose(rows, (0, 2, 1))
    except NoBatchRule:
        return None


# --- products after the scan ------------------------------------------------------------------


def results_last(opened):
    """What only makes results, from a product with a weight on, is done for all steps at once."""
    order = opened.order()
    varies = depending(order, opened.row_leaves() | opened.state_leaves())
    inner = [c.new for c in opened.carries] + ([] if opened.until is None else [opened.until])
    kept = {n.uid for n in toposort_cut(inner, opened.frozen)}
    tail = depending(order, [n.uid for n in order if n.uid not in kept and _weighs(n, varies)])
    tail -= kept
    whole = runs_all(opened.scan)
    place, kept_outs, changed = {}, [], False
    for k, n in enumerate(opened.outs):
        ends = _ends(n, tail, varies) if n.uid in tail else None
        if (
            not ends
            or not _pays(n, ends, opened)
            or not (whole or _linear(n, tail))
            or not _has_rules(n, ends, opened)
        ):
            place[k] = ("keep", n)
            kept_outs.append(n)
        else:
            place[k] = ("move", n, ends)
            changed = True
    if not changed:
        return False
    moves = _plan(opened, place, kept_outs)
    move_outs(opened, opened.outs, moves)
    return True


def _weighs(node, varies):
    return (
        node.op.name == "matmul"
        and node.ndim == 2
        and any(i.uid not in varies for i in node.inputs)
        and node.uid in varies
    )


def _ends(node, tail, varies):
    """What the part of the step that goes after the scan reads from inside of it."""
    return [n for n in read_from_outside([node], tail) if n.uid in varies]


def _pays(node, ends, opened):
    """Whether storing `ends` for each step costs no more than storing the result itself."""
    there = {c.new.uid for c in opened.carries} | {n.uid for n in opened.outs} | opened.row_leaves()
    new = sum(n.size for n in ends if n.uid not in there)
    return new <= 2 * node.size


def _linear(node, tail):
    """Whether the part is zero for rows of zeros: rows of steps that do not run stay zeros."""
    moves = ("matmul", "transpose", "expand", "squeeze", "reshape")
    return all(n.op.name in moves for n in toposort_cut([node], ()) if n.uid in tail)


def _plan(opened, place, kept_outs):
    """{index of a result: where it is after the move}; the scan gets what the moved parts read."""
    opened.outs = list(dict.fromkeys(kept_outs))
    rows = {row.uid: (lag, operands) for lag, operands, row in opened.rows}
    moves, emitted = {}, {}
    for k, (kind, n, *rest) in place.items():
        if kind == "keep":
            moves[k] = ScanOut(opened.outs.index(n))
            continue
        for end in rest[0]:
            lag, operands = rows.get(end.uid, (1, None))
            emitted[end] = OutsideScan(operands[0]) if not lag else opened.emit(end)
        moves[k] = _after(n, rest[0], [emitted[end] for end in rest[0]], opened)
    return moves


def _after(node, ends, results, opened):
    """The result `node` from all rows of what it reads of a step."""
    return AfterScan(lambda *rows: _all_rows(node, dict(zip(ends, rows)), opened), tuple(results))


def _has_rules(node, ends, opened):
    """Whether everything between `ends` and `node` can be done for all rows at once."""
    try:
        _all_rows(node, {end: placeholder(end.dtype, (2, *end.shape)) for end in ends}, opened)
    except NoBatchRule:
        return False
    return True


def _all_rows(node, wide, opened):
    """`node` for all steps; wide: {node of the step: all its rows}. NoBatchRule where a rule leaves
    something of a single step in it."""
    (rows,) = batched([node], wide, opened.frozen)
    narrow = opened.row_leaves() | opened.state_leaves()
    for n in toposort_cut([rows], opened.frozen | {x.uid for x in wide.values()}):
        if n.uid in narrow:
            raise NoBatchRule(node.op.name)
    return rows


def sums_last(opened):
    """A sum over the steps of something whose rows are stored anyway is taken after the scan."""
    there = {c.new.uid for c in opened.carries} | {n.uid for n in opened.outs}
    state = [n for n in opened.order() if n.uid in there]
    replace = {}
    for i, c in enumerate(opened.carries):
        rows = any(r and r.reads(ScanTrace(i)) for r in opened.results)
        term = None if rows else _added(opened, c)
        if term is None:
            continue
        node, axes = _summed(term)
        if any(node is n for n in state) and node is not c.new:
            replace[i] = (opened.emit(node), axes)
    if not replace:
        return False
    sources = {i: _total(opened.carries[i].init, *how) for i, how in replace.items()}
    drop_carries(opened, {i: lambda final: sources[final.carry] for i in replace})
    return True


def _summed(term):
    """(x, axes) for a term that is the sum of x over axes; c * sum(y) is the sum of c * y."""
    if term.op.name == "sum":
        return term.inputs[0], term.attrs["axes"]
    if term.op.name == "mul":
        for c, total in (term.inputs, term.inputs[::-1]):
            if number(c) is not None and c.ndim == 0 and total.op.name == "sum":
                return make("mul", (c, total.inputs[0])), total.attrs["axes"]
    return term, ()


def _added(opened, carry):
    """What a step adds to a state that nothing else of the step reads; else None."""
    if carry.taps != (-1,) or carry.new.op.name != "add":
        return None
    (own,) = carry.inputs
    users = [n for n in opened.order() if any(i is own for i in n.inputs)]
    if users != [carry.new] or any(n is own for n in opened.outputs):
        return None
    a, b = carry.new.inputs
    term = b if a is own else a
    readers = [n for n in opened.order() if any(i is carry.new for i in n.inputs)]
    others = [n for n in opened.outputs if n is carry.new]
    return (
        term
        if term is not own and surely(term.shape, own.shape) and not readers and len(others) == 1
        else None
    )


def _total(init, rows, axes):
    """first value + the sum of the result `rows` over all steps and `axes`."""

    def total(x):
        added = ops.sum(x, (0, *(a + 1 for a in axes)))
        return ops.add(ops.squeeze(init, (0,)), ops.cast(added, init.dtype))

    return AfterScan(total, (rows,))


PASSES = (tidy, sums_last, join_weights, join_terms, rows_first, results_last, parts_first)
