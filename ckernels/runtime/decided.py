"""What is decided by data: shapes that are known in a call only, and how often loops run.

A number of steps is a shape, of which each has its own plan: rows of sequences and of results need
that. A loop without sequences of which only last states are read does not: it is run by the value,
with one plan for all.
"""
from ..errors import IndexOutOfBounds, ShapeError
from ..graph.folding import fold
from ..graph.node import line_of, make, new_uid
from ..graph.walk import rebuild, toposort, toposort_cut
from ..ops.bodies import Body
from ..ops.loop import Layout
from .program import concretise

SIZE = ("squeeze", "slice", "shape", "loop_steps")      # how a loop asks for a number of steps


def count_steps(roots, shapes):
    """`roots` with such loops reading the number itself. shapes: {leaf: some shape it may have}."""
    roots = rebuild(roots, step=_counted_inside)
    if all(n.op.name != "loop_steps" for n in toposort(roots)):
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
            number = _number(scan, items.get(scan.uid, ()), shapes)
            if number is not None:
                roots = _counted(roots, order, scan, number)
                break
        else:
            return roots


def _counted_inside(node):
    """`node` with such loops inside of its step, where a row may say how often they run."""
    if node.op.name != "scan":
        return node
    body = node.attrs["body"]
    shapes = {n: tuple(3 if d is None else d for d in n.shape) for n in body.inputs}
    outputs = count_steps(list(body.outputs), shapes)
    if tuple(outputs) == body.outputs:
        return node
    return make(node.op, node.inputs, {**node.attrs, "body": Body(body.inputs, outputs)})


def _number(scan, items, shapes):
    """The node of the number of steps, where the loop needs no more than its value; else None."""
    lay, node = Layout.of(scan), scan.inputs[0]
    finals = range(lay.carries, 2 * lay.carries)
    if lay.seqs or lay.count is not None or scan.attrs["reverse"] or any(
            i.attrs["index"] not in finals and i.attrs["index"] != lay.executed for i in items):
        return None
    for name in SIZE:
        if node.op.name != name:
            return None
        node = node.inputs[0]
    return node if concretise([node], shapes)[0].value is None else None


def _counted(roots, order, scan, number):
    lasts = [n for n in order if n.op.name == "loop_last" and n.inputs[0].op.name == "item"
             and n.inputs[0].inputs[0] is scan]
    with line_of(scan):
        count = make("loop_count", (number,), {"least": int(bool(lasts))})
        new = make(scan.op, (count, *scan.inputs[1:]), scan.attrs)

    def step(node):
        there = node.op.name == "loop_last" and node.inputs[0].op.name == "item" \
            and node.inputs[0].inputs[0] is new
        return node.inputs[0] if there else node
    return rebuild(roots, {scan: new}, step)


def undecided(roots, shapes):
    """Whether data decides a shape under `roots`, where the guessed `shapes` do not fit together:
    each node at which they clash counts as one whose shape is known."""
    memo = {leaf.uid: make(leaf.op, (), {**leaf.attrs, "shape": shape})
            for leaf, shape in shapes.items()}
    for node in toposort_cut(roots, memo):
        try:
            inputs = tuple(memo[i.uid] for i in node.inputs)
            memo[node.uid] = new = fold(make(node.op, inputs, node.attrs))
            if new.outs is None and None in new.shape:
                return True
        except (KeyError, ShapeError, IndexOutOfBounds, ValueError):
            if node.outs is None:
                shape = tuple(3 if d is None else d for d in node.shape)
                memo[node.uid] = make("placeholder", (), {
                    "uid": new_uid(), "dtype": node.dtype, "shape": shape, "name": None})
    return False
