"""What is decided by data: shapes that are known in a call only, and how often scans run.

The number of steps of a scan is a size of its sequences and results, so each number has a plan of
its own. A scan without sequences, of which only the last states are read, has no such arrays: it
takes the number as a value, and one plan serves all. No size is assumed here: whether a value
follows from shapes alone is decided by the leaves that it is computed from.
"""

from .. import ops
from ..graph.node import constant, item, line_of, make
from ..graph.op import having
from ..graph.walk import leaves, rebuild, toposort
from ..ops.bodies import Body, param
from ..ops.scan import ScanSignature, is_endless

SIZE = ("squeeze", "slice", "shape", "scan_steps")  # from a number to the steps of a scan
SIZED_BY = having("sized_by")


class Origins:
    """Whether values of nodes follow from the shapes of leaves alone."""

    def __init__(self):
        self.memo = {}

    def from_data(self, node):
        """Whether the value of `node` is computed from values of inputs or variables."""
        stack = [node]
        while stack:
            n = stack[-1]
            if n.uid in self.memo:
                stack.pop()
            elif (
                n.op.name in ("placeholder", "variable")
                or n.op.name == "shape"
                or n.op.kind == "leaf"
            ):
                self.memo[n.uid] = n.op.name in ("placeholder", "variable")
            else:
                waiting = [i for i in n.inputs if i.uid not in self.memo]
                stack.extend(waiting)
                if not waiting:
                    self.memo[n.uid] = any(self.memo[i.uid] for i in n.inputs)
        return self.memo[node.uid]


def data_decides(order):
    """Whether the shape of some of these nodes plainly follows from data.

    Where this misses one, the first call finds out: see `CompiledFunction.in_pieces`.
    """
    origins = Origins()
    for node in order:
        first = SIZED_BY.get(node.op.name)
        if first is None or node.outs is None and None not in node.shape:
            continue
        if any(origins.from_data(x) for x in node.inputs[first:]):
            return True
    return False


def size_steps(roots):
    """`roots` with the number of steps as a size, which scans with sequences need, those whose
    states are read, and those that run from their end: gradients of loops make such of scans that
    took a value."""
    roots = _ended(rebuild(roots, step=lambda n: _inside(n, size_steps)))
    order, origins = toposort(roots), Origins()
    read = _whose_states_are_read(order)
    plain = {n: _uncounted(n) for n in order if n.op.name == "scan" and n.uid not in read
             and ScanSignature.of(n).count is not None and _is_of_values(n)}  # fmt: skip
    if plain:
        for n in reversed(plain):
            roots = rebuild(roots, {n: plain[n]})
        order = toposort(roots)
        read = _whose_states_are_read(order)
    counts = [
        n.inputs[0] for n in order
        if n.op.name == "scan" and (n.uid in read or ScanSignature.of(n).seqs or n.attrs["reverse"])
        and not _is_size(n.inputs[0]) and origins.from_data(n.inputs[0])
    ]  # fmt: skip
    if not counts:
        return roots
    return rebuild(roots, {n: ops.size_of(make("scan_steps", (n,)), 0) for n in counts})


def _is_of_values(scan):
    """Whether nothing that a scan takes or gives has a row for each step: it has no direction."""
    sig = ScanSignature.of(scan)
    return not (sig.seqs or sig.outs or scan.attrs["limit"] >= 0)


def _uncounted(scan):
    """A scan of the first steps of all as one of these, which takes their number as a value."""
    sig, zero = ScanSignature.of(scan), constant(0, "int64")
    with line_of(scan):
        steps = ops.minimum(sig.steps, ops.maximum(sig.count, zero))
        attrs = {**scan.attrs, "counted": False, "reverse": False}
        return make(scan.op, (steps, *scan.inputs[2:]), attrs)


def _whose_states_are_read(order):
    """The uids of scans of which more than the last states is read."""
    return {
        n.inputs[0].uid
        for n in order
        if n.op.name == "item" and n.inputs[0].op.name == "scan"
        and n.attrs["index"] < ScanSignature.of(n.inputs[0]).carries
    }  # fmt: skip


def _ended(roots):
    """`roots` with loops that only their condition ends, and whose states are read, run twice: the
    first run counts the steps of the second."""
    order = toposort(roots)
    endless = [n for n in order if n.op.name == "scan" and is_endless(n)]
    read = _whose_states_are_read(order) if endless else ()
    twice = {}
    for scan in endless:
        sig = ScanSignature.of(scan)
        if scan.attrs["until"] and not sig.seqs and scan.uid in read:
            with line_of(scan):
                steps = ops.size_of(make("scan_steps", (item(scan, sig.executed),)), 0)
                twice[scan] = make(scan.op, (steps, *scan.inputs[1:]), scan.attrs)
    if not twice:
        return roots

    def as_long_as_rows(n):
        if n.op.name != "scan" or not is_endless(n):
            return n
        seqs = ScanSignature.of(n).seqs
        return make(n.op, (ops.size_of(seqs[0][1], 0), *n.inputs[1:]), n.attrs) if seqs else n

    return rebuild(rebuild(roots, twice), step=as_long_as_rows)


def _is_size(node):
    """Whether a number is the size of something."""
    while node.op.name in SIZE[:2]:
        node = node.inputs[0]
    return node.op.name == "shape"


def count_steps(roots):
    """`roots` with scans that take their number of steps as a value, where no shape needs it."""
    roots = rebuild(roots, step=lambda n: _inside(n, count_steps))
    if all(n.op.name != "scan_steps" for n in toposort(roots)):
        return roots
    refused = set()
    while True:
        order = toposort(roots)
        items = {}
        for n in order:
            if n.op.name == "item":
                items.setdefault(n.inputs[0].uid, []).append(n)
        for scan in order:
            if scan.op.name != "scan" or scan.uid in refused:
                continue
            refused.add(scan.uid)
            number = _number(scan, items.get(scan.uid, ()))
            if number is not None:
                roots = _counted(roots, scan, number)
                break
        else:
            return roots


def _inside(node, change):
    """`node` with the scans inside of its step changed; there a row of a sequence may be the number
    of steps."""
    if node.op.name != "scan":
        return node
    body = node.attrs["body"]
    outputs = change(list(body.outputs))
    if tuple(outputs) == body.outputs:
        return node
    return make(node.op, node.inputs, {**node.attrs, "body": Body(body.inputs, outputs)})


def _number(scan, items):
    """The node of the number of steps, where the scan needs only its value; else None."""
    lay, node = ScanSignature.of(scan), scan.inputs[0]
    if (
        lay.seqs
        or lay.count is not None
        or scan.attrs["reverse"]
        or not all(lay.is_final(i.attrs["index"]) for i in items)
    ):
        return None
    for name in SIZE:
        if node.op.name != name:
            return None
        node = node.inputs[0]
    return node if Origins().from_data(node) else None


def _counted(roots, scan, number):
    with line_of(scan):
        count = make("scan_count", (number,))
        new = make(scan.op, (count, *scan.inputs[1:]), scan.attrs)
    return rebuild(roots, {scan: new})


# --- sizes inside of a step ----------------------------------------------------------------------

# ops of a step whose sizes may come from outside: the operand that holds them
MADE_OF_SIZES = {
    "broadcast_to": 1,
    "random_uniform": 1,
    "random_normal": 1,
    "random_bits": 1,
    "scan_steps": 0,
}


def sizes_outside(roots):
    """`roots` with what makes a shape inside of a scan's step as the shape of an operand.

    Numbers that stay the same in all steps and are computed from data are values to the plan of a
    step, so that no shape made of them would be known. As the shape of an array of such sizes, of
    which no element is read, they are: the array is made before the scan, which data decides.
    """
    return _sized_outside(list(roots), Origins())


def _sized_outside(roots, origins):
    return rebuild(roots, step=lambda n: _lifted(n, origins) if n.op.name == "scan" else n)


def _lifted(scan, origins):
    sig = ScanSignature.of(scan)
    body, first = sig.body, sig.first_other
    given = dict(zip(body.inputs[first:], sig.others))
    inside = Origins()  # of this body: its inputs are as their operands
    inside.memo = {p.uid: p not in given or origins.from_data(given[p]) for p in body.inputs}
    if not any(inside.memo[p.uid] for p in given):
        return scan
    added = {}  # sizes in the body: (operand, input of the body)

    def step(node):
        at = MADE_OF_SIZES.get(node.op.name)
        sizes = None if at is None else node.inputs[at]
        if sizes is None or not inside.from_data(sizes):
            return node
        if not given.keys() >= set(leaves([sizes], "placeholder")):
            return node
        if sizes not in added:
            with line_of(node):
                operand = _of_sizes(rebuild([sizes], given)[0], sig.steps)
            index = len(body.inputs) + len(added)
            added[sizes] = operand, param(index, operand.dtype, operand.shape)
        known = ops.shape(added[sizes][1])
        inputs = list(node.inputs)
        inputs[at] = known if sizes.ndim else known[0]
        return make(node.op, inputs, node.attrs)

    outputs = rebuild(_sized_outside(list(body.outputs), inside), step=step)
    if not added and tuple(outputs) == body.outputs:
        return scan
    operands, inputs = [o for o, _ in added.values()], [p for _, p in added.values()]
    new = Body([*body.inputs, *inputs], outputs)
    return make(scan.op, [*scan.inputs, *operands], {**scan.attrs, "body": new})


def _of_sizes(sizes, steps):
    """An array of these sizes. Where no step runs nobody asks whether they are negative."""
    sizes = ops.where(steps > 0, sizes, ops.maximum(sizes, 0))
    if not sizes.ndim:
        return make("scan_steps", (sizes,))
    return ops.broadcast_to(constant(False, "bool"), sizes)
