"""What is decided by data: shapes that are known in a call only, and how often scans run.

A number of steps is a shape, of which each has its own plan: rows of sequences and of results need
that. A scan without sequences of which only last states are read does not: it is run by the value,
with one plan for all. Nothing is assumed of sizes here: what follows from shapes is told by where
values come from.
"""

from ..graph.node import line_of, make
from ..graph.op import having
from ..graph.walk import rebuild, toposort
from ..ops.bodies import Body
from ..ops.scan import ScanSignature

SIZE = ("squeeze", "slice", "shape", "scan_steps")  # how a scan asks for a number of steps
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


def count_steps(roots):
    """`roots` with scans reading the number of their steps itself, where that is enough."""
    roots = rebuild(roots, step=_counted_inside)
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
                roots = _counted(roots, order, scan, number)
                break
        else:
            return roots


def _counted_inside(node):
    """`node` with such scans inside of its step, where a row may say how often they run."""
    if node.op.name != "scan":
        return node
    body = node.attrs["body"]
    outputs = count_steps(list(body.outputs))
    if tuple(outputs) == body.outputs:
        return node
    return make(node.op, node.inputs, {**node.attrs, "body": Body(body.inputs, outputs)})


def _number(scan, items):
    """The node of the number of steps, where the scan needs no more than its value; else None."""
    lay, node = ScanSignature.of(scan), scan.inputs[0]
    finals = range(lay.carries, 2 * lay.carries)
    if (
        lay.seqs
        or lay.count is not None
        or scan.attrs["reverse"]
        or any(i.attrs["index"] not in finals and i.attrs["index"] != lay.executed for i in items)
    ):
        return None
    for name in SIZE:
        if node.op.name != name:
            return None
        node = node.inputs[0]
    return node if Origins().from_data(node) else None


def _counted(roots, order, scan, number):
    lasts = [
        n
        for n in order
        if n.op.name == "scan_last"
        and n.inputs[0].op.name == "item"
        and n.inputs[0].inputs[0] is scan
    ]
    with line_of(scan):
        count = make("scan_count", (number,), {"least": int(bool(lasts))})
        new = make(scan.op, (count, *scan.inputs[1:]), scan.attrs)

    def step(node):
        there = (
            node.op.name == "scan_last"
            and node.inputs[0].op.name == "item"
            and node.inputs[0].inputs[0] is new
        )
        return node.inputs[0] if there else node

    return rebuild(roots, {scan: new}, step)
