"""Walks over graphs: topological order, substitution, dependency tests. All are iterative."""
from .node import line_of, make


def toposort(outputs):
    """All nodes that `outputs` depend on, inputs before users, each once, in a fixed order."""
    return toposort_cut(outputs, ())


def rebuild(outputs, replace=None, step=None):
    """`outputs` made anew bottom-up. `replace`: {node: node} cuts; `step(node) -> node` sees each.

    Nodes whose inputs did not change are kept. The user's lines are kept.
    """
    memo = {k.uid: v for k, v in (replace or {}).items()}
    for node in toposort_cut(outputs, memo):
        inputs = tuple(memo[i.uid] for i in node.inputs)
        with line_of(node):
            new = node if inputs == node.inputs else make(node.op, inputs, node.attrs)
            memo[node.uid] = step(new) if step else new
    return [memo[n.uid] for n in outputs]


def toposort_cut(outputs, cut):
    """`toposort` that stops at (and leaves out) the nodes whose uid is in `cut`."""
    order, done, stack = [], set(cut), [(n, False) for n in reversed(list(outputs))]
    while stack:
        node, expanded = stack.pop()
        if node.uid in done:
            continue
        if expanded:
            done.add(node.uid)
            order.append(node)
            continue
        stack.append((node, True))
        stack.extend((i, False) for i in reversed(node.inputs) if i.uid not in done)
    return order


def leaves(outputs, op_name=None):
    """The leaf nodes (of one op, when named) under `outputs`, in topological order."""
    return [n for n in toposort(outputs)
            if n.op.kind == "leaf" and (op_name is None or n.op.name == op_name)]


def consumers(order):
    """{uid: [nodes of `order` that read it]} for a topological order."""
    users = {n.uid: [] for n in order}
    for node in order:
        for i in dict.fromkeys(node.inputs):
            if i.uid in users:
                users[i.uid].append(node)
    return users


def depends_on(outputs, leaf):
    """Whether any of `outputs` is or uses the node `leaf`."""
    return any(n is leaf for n in toposort(outputs))
