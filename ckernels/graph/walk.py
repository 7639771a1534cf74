"""Walks over graphs: topological order, substitution, dependency tests. All are iterative."""

from .node import make, making_for


def toposort(outputs):
    """All nodes that `outputs` depend on, inputs before users, each once, in a fixed order."""
    return toposort_cut(outputs, ())


def rebuild(outputs, replace=None, step=None):
    """`outputs` made anew, inputs first. Nodes keep the user's lines; unchanged ones are kept.

    replace: {node: node that takes its place}; step(node) -> node: applied to each node.
    """
    memo = {k.uid: v for k, v in (replace or {}).items()}
    with making_for() as line:
        for node in toposort_cut(outputs, memo):
            line(node)
            inputs = node.inputs
            if inputs:
                inputs = tuple([memo[i.uid] for i in inputs])
            new = node if inputs == node.inputs else make(node.op, inputs, node.attrs, like=node)
            memo[node.uid] = step(new) if step else new
    return [memo[n.uid] for n in outputs]


def toposort_cut(outputs, cut):
    """`toposort` that stops at (and leaves out) the nodes whose uid is in `cut`."""
    order, met, stack = [], set(cut), list(outputs)
    stack.reverse()
    while stack:
        node = stack.pop()
        if node is None:  # the inputs of the next one are in the order
            order.append(stack.pop())
            continue
        uid = node.uid
        if uid not in met:
            met.add(uid)
            inputs = node.inputs
            if not inputs:
                order.append(node)
                continue
            stack += (node, None)
            for i in inputs[::-1]:
                if i.uid not in met:
                    stack.append(i)
    return order


def leaves(outputs, op_name=None):
    """The leaf nodes (of one op, when named) under `outputs`, in topological order."""
    return [
        n
        for n in toposort(outputs)
        if n.op.kind == "leaf" and (op_name is None or n.op.name == op_name)
    ]


def consumers(order):
    """{uid: [nodes of `order` that read it]} for a topological order."""
    users = {n.uid: [] for n in order}
    for node in order:
        for i in dict.fromkeys(node.inputs):
            if i.uid in users:
                users[i.uid].append(node)
    return users


def read_from_outside(roots, inside):
    """The nodes that those of `inside` (uids) read from elsewhere, each once, from `roots` down."""
    found, seen, stack = [], set(), list(reversed(roots))
    while stack:
        node = stack.pop()
        if node.uid in seen:
            continue
        seen.add(node.uid)
        if node.uid in inside:
            stack.extend(reversed(node.inputs))
        else:
            found.append(node)
    return found
