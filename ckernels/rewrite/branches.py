"""Laziness: `choose` nodes become `ifelse` nodes that hold the work only one side needs.

Done when shapes are known: gradients have been taken by then, and what read a tensor only for its
shape is gone. In a gradient what flows back to the side that was not taken is zero; `guarded` finds
what is zero with it, so that the backward work of a side is run only with that side.
"""

from .. import ops
from ..graph.node import line_of, make
from ..graph.op import having
from ..graph.sizes import surely
from ..graph.walk import consumers, read_from_outside, rebuild, toposort
from ..ops.bodies import Body, closed
from ..ops.branch import ifelse_node

LIGHT = 16  # elements of a constant that goes into a branch itself
ZERO_WHEN = having("zero_when")


def lazify(roots):
    """`roots` with branches in the place of choices."""
    order = toposort(roots)
    if not any(n.op.name == "choose" for n in order):
        return roots
    roots = with_plain_choices(roots, order)
    roots = guarded(roots, toposort(roots))
    while True:
        order = toposort(roots)
        last = next((n for n in reversed(order) if n.op.name == "choose"), None)
        if last is None:
            return roots
        with line_of(last):
            roots = _branch(roots, order, last)


def with_plain_choices(roots, order):
    """`roots` where choices that may have sides of two shapes are plain ones, or, where the shapes
    do differ, `either`, which takes from two that were computed."""
    changed = {}
    for n in order:
        if n.op.name == "choose" and n.attrs.get("varied"):
            static = None not in (*n.inputs[1].shape, *n.inputs[2].shape, *n.shape)
            changed[n] = "choose" if static else "either"
    if not changed:
        return roots

    built = {}
    for n in order:
        inputs = tuple(built.get(i, i) for i in n.inputs)
        if n in changed:
            built[n] = make(changed[n], inputs)
        elif inputs != n.inputs:
            with line_of(n):
                built[n] = make(n.op, inputs, n.attrs)
    return [built.get(n, n) for n in roots]


# --- one group of choices ---------------------------------------------------------------------


def _branch(roots, order, last):
    """`roots` with the choices that go with `last` replaced by one branch, or by `where`."""
    group = _group(order, last)
    users, fixed = consumers(order), {n.uid for n in roots}
    sides = [_only(order, users, fixed, group, k) for k in (1, 2)]
    if all(_trivial(side, order) for side in sides):
        new = [ops.where(*n.inputs) for n in group]
        return rebuild(roots, dict(zip(group, new)))
    outputs = [[n.inputs[k] for n in group] for k in (1, 2)]
    captured = []
    for outs, side in zip(outputs, sides):
        captured += [n for n in _needed(outs, side) if n not in captured]
    condition = last.inputs[0]
    bodies = [
        closed(captured, _taken(outs, condition, k, captured)) for outs, k in zip(outputs, (1, 2))
    ]
    then, other = (Body(b.inputs, lazify(list(b.outputs))) for b in bodies)
    new = ifelse_node(condition, captured, then, other)
    return rebuild(roots, dict(zip(group, new)))


def _group(order, last):
    """The choices by the condition of `last` that depend neither on each other nor on it."""
    group = [last]
    for node in reversed(order):
        if node.op.name == "choose" and node.inputs[0] is last.inputs[0]:
            below = {n.uid for n in toposort(group)}
            above = {n.uid for n in toposort([node])}
            if node.uid not in below and not any(n.uid in above for n in group):
                group.append(node)
    return group


def _only(order, users, fixed, group, side):
    """uids of the nodes that nothing needs but operand `side` of the choices in `group`."""
    members, found = {n.uid for n in group}, set()
    for node in reversed(order):
        if node.op.kind == "leaf" or node.uid in fixed or not users[node.uid]:
            continue
        if all(
            u.uid in found
            or (
                u.uid in members and all(i is not node for k, i in enumerate(u.inputs) if k != side)
            )
            for u in users[node.uid]
        ):
            found.add(node.uid)
    # a result of a node that runs in any case is captured; the node itself is no tensor
    return found - {n.uid for n in order if n.op.name == "item" and n.inputs[0].uid not in found}


def _trivial(side, order):
    return all(
        n.op.kind == "movement" or n.op.name in ("broadcast_like", "shape", "cast")
        for n in order
        if n.uid in side
    )


def _needed(outputs, side):
    """What the nodes of one side take from outside of it; small constants go inside."""
    return [n for n in read_from_outside(outputs, side) if n.value is None or n.value.size > LIGHT]


def _taken(outputs, condition, side, captured):
    """`outputs` where the condition is known: further choices by it are made."""

    def step(node):
        return (
            node.inputs[side] if node.op.name == "choose" and node.inputs[0] is condition else node
        )

    return rebuild(outputs, {n: n for n in captured}, step)


# --- zeros of gradients -----------------------------------------------------------------------


def guarded(roots, order):
    """`roots` where what is zero unless a condition holds is chosen by that condition.

    For each node the conditions are found under which it must be zero; where that ends, the node is
    wrapped in a choice. A sum of two that exclude each other becomes a choice between them.
    """
    zero, conditions = {}, {}
    for node in order:
        zero[node.uid] = _zero_when(node, zero, conditions)
    if not any(zero.values()):
        return roots
    replace = {}

    def swapped(user, i):
        lost = zero[i.uid] - zero[user.uid]
        return (
            _wrap(replace[i.uid], lost, conditions)
            if lost and i.op.name != "choose"
            else replace[i.uid]
        )

    for node in order:
        split = _excluding(node, zero, conditions)
        if split is not None:
            condition, a, b = split
            replace[node.uid] = make("choose", (condition, replace[a.uid], replace[b.uid]))
            continue
        inputs = tuple(swapped(node, i) for i in node.inputs)
        with line_of(node):
            replace[node.uid] = node if inputs == node.inputs else make(node.op, inputs, node.attrs)
    return [
        replace[n.uid] if n.op.name == "choose" else _wrap(replace[n.uid], zero[n.uid], conditions)
        for n in roots
    ]


def _zero_when(node, zero, conditions):
    """{(uid of a condition, value)}: `node` is zero when the condition has that value."""
    name, args = node.op.name, node.inputs
    if name == "choose":
        condition, a, b = args
        conditions[condition.uid] = condition
        found = zero[a.uid] & zero[b.uid]
        for value, x in ((True, a), (False, b)):
            if _zeros(x):
                found = found | {(condition.uid, value)}
        return found
    when = ZERO_WHEN.get(name)
    if when == "any":
        return frozenset().union(*(zero[i.uid] for i in args))
    if when == "all":
        return frozenset.intersection(*(zero[i.uid] for i in args))
    if name == "where":
        return zero[args[1].uid] & zero[args[2].uid]
    if when == "first" and args and node.outs is None and args[0].outs is None:
        return zero[args[0].uid]
    return frozenset()


def _zeros(node):
    while node.op.name in ("broadcast_to", "broadcast_like", "expand", "squeeze", "reshape"):
        node = node.inputs[0]
    return node.value is not None and not node.value.any()


def _wrap(node, lost, conditions):
    for uid, value in sorted(lost):
        zeros = ops.zeros_like(node)
        node = make(
            "choose", (conditions[uid], zeros, node) if value else (conditions[uid], node, zeros)
        )
    return node


def _excluding(node, zero, conditions):
    """(condition, a, b) for a sum a + b of which one is zero whenever the other is not."""
    if node.op.name != "add" or any(not surely(i.shape, node.shape) for i in node.inputs):
        return None
    a, b = node.inputs
    for uid, value in zero[a.uid]:
        if (uid, not value) in zero[b.uid]:
            return (conditions[uid], b, a) if value else (conditions[uid], a, b)
    return None
