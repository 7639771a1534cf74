"""Putting other variables in the place of some: the graph above them is made anew.

This is what `givens`, inner inputs of functions, `clone(replace=)` and gradients by a handle share:
a handle means itself, not its twins of the same expression.
"""

from ...graph.node import item
from ..base.hooks import hook
from .apply import Apply, ancestors, apply_order, equal_computations

SHOWN = {}  # {op of the engine: function of (node, handles) that gives the op programs see}
LAZY = object()  # the owner of a variable that is read off its engine node when asked for


def register_shown(name, make):
    """Have the engine's op `name` shown to programs as the op that make(node, handles) gives."""
    SHOWN[name] = make


def is_leaf(v):
    """Whether nobody made `v`."""
    return v.owner is None


def replayed(outputs, replace):
    """`outputs` with `replace` ({variable: variable}) put in all at once.

    What does not depend on a replaced variable is kept as it is; the replacements themselves are
    not searched.
    """
    memo = {id(k): v for k, v in replace.items()}
    for apply in apply_order(outputs, memo):
        inputs = [memo.get(id(x), x) for x in apply.inputs]
        if all(a is b for a, b in zip(inputs, apply.inputs)):
            continue
        made = applied(apply, inputs)
        for old, new in zip(apply.outputs, made):
            if id(old) not in memo:
                if new.name is None:
                    new.name = old.name
                if hasattr(old.__dict__.get("_tag"), "test_value"):
                    new.tag.test_value = old.tag.test_value
                memo[id(old)] = new
    return [memo.get(id(x), x) for x in outputs]


def is_same_graph(var1, var2, givens=None, debug=False):
    """Whether two variables are the same computation; givens: {variable: what stands for it}."""
    pairs = list(givens.items()) if hasattr(givens, "items") else list(givens or ())
    if pairs:
        var1, var2 = replayed([var1, var2], dict(pairs))
    return equal_computations([var1], [var2])


def applied(apply, inputs):
    """The outputs of the op of `apply` on other inputs."""
    again = getattr(apply.op, "make_node", None)
    made = again(*inputs) if again is not None else apply.clone_with_new_inputs(inputs, False)
    if "_tag" in apply.__dict__:
        made._tag = apply._tag
    return made.outputs


def derived(handle, memo):
    """The Apply of a variable whose graph is known to the engine only.

    memo: {uid of a node: handle} of what the user has in hands; ("apply", uid): Apply.
    """
    node = handle.node
    index, base = 0, node
    if node.op.name == "item":
        index, base = node.attrs["index"], node.inputs[0]
    if base.op.kind == "leaf":
        whole = whole_of(base)
        return whole.part_apply(handle) if hasattr(whole, "tensor_parts") else None
    found = memo.get(("apply", base.uid))
    if found is None:
        inputs = [handle_of(n, memo) for n in base.inputs]
        nodes = [base] if base.outs is None else [item(base, k) for k in range(len(base.outs))]
        outputs = [handle if n is node else _fresh(n, memo) for n in nodes]
        if base.op.name in ("perform", "perform_unfolded"):
            found = Apply.made(base.attrs["op"].op, inputs, outputs)
        elif base.op.name in SHOWN:
            held = [handle, *(memo[n.uid] for n in nodes if n.uid in memo)]
            op = SHOWN[base.op.name](base, held)
            found = Apply.made(op, inputs, op.shown_outputs(outputs, inputs))
        else:
            found = Apply.made(hook("node_op")(base.op, base.attrs), inputs, outputs)
        memo["apply", base.uid] = found
    if found.outputs[index].node is not node:  # the op makes more, of which the handle is a part
        return found.op.part(found.outputs[index], handle)
    if found.outputs[index] is not handle:
        return Apply.made(
            found.op,
            found.inputs,
            [handle if k == index else _fresh(x.node, memo) for k, x in enumerate(found.outputs)],
        )
    return found


def whole_of(node):
    """The variable that a placeholder is, or is a part of (perform.py: Standing), or None."""
    standing = node.attrs.get("stands_for")
    return None if standing is None else standing.whole()


def handle_of(node, memo):
    """The handle of `memo` on this node, or a new one whose owner is read off the node."""
    found = memo.get(node.uid)
    if found is None:
        found = whole_of(node)
        if getattr(found, "node", None) is not node:
            found = _fresh(node, memo)
        memo[node.uid] = found
    return found


def _fresh(node, memo):
    if node.op.name == "constant":
        return hook("constant_handle")(node)
    made = hook("wrap")(node)
    if node.op.kind != "leaf" or "stands_for" in node.attrs:
        made._owner, made._memo = LAZY, memo
    return made


def lazy(node, memo):
    """A handle on `node`, whose graph is read off the engine's when somebody asks for it."""
    return handle_of(node, memo)


def known_handles(variables):
    """{uid of a node: handle} of the graph above `variables`; earlier ones of a node win."""
    memo = {}

    def note(v):
        node = getattr(v, "node", None)
        if node is None:
            memo["whole", id(v)] = v  # a node of its parts knows it weakly
        elif whole_of(node) not in (None, v):
            return
        elif v._owner is not None or node.op.kind == "leaf":  # not a part of a sparse variable
            memo.setdefault(node.uid, v)

    for v in variables:
        note(v)
    for apply in apply_order([v for v in variables if v is not None]):
        for v in (*apply.inputs, *apply.outputs):
            note(v)
    return memo


def mentioned_by(variables, blockers):
    """The ids of all variables that those of the list were written with, up to inner inputs.

    A gradient counts as made of its cost, whatever is left of that in the engine's graph.
    """
    found, todo = set(), list(variables)
    while todo:
        fresh = [v for v in ancestors(todo, blockers) if id(v) not in found]
        found.update(id(v) for v in fresh)
        todo = [m for v in fresh for m in getattr(v, "_mentions", ()) if id(m) not in found]
    return found
