"""Body: a closed graph inside a node, as scans and branches have them; and how one is cut out.

The inputs of a body are placeholders numbered by position, so that equal bodies are one object and
nodes that hold them are merged like any others. `refit` follows the operands of the node: when
their shapes become known, the body is rebuilt with them. Bodies hold no variables and no
placeholders but their own.
"""

from ..base.errors import ShapeError
from ..graph.folding import fold
from ..graph.node import as_node, placeholder
from ..graph.pickled import Graph
from ..graph.shapes import show
from ..graph.walk import rebuild, toposort, toposort_cut

FITS = 64  # shapes whose rebuilt body is kept
ORDERED = ("lt", "le", "gt", "ge")
INLINE = 16  # elements of a constant that goes into a body itself instead of being passed
SHOWS = ("broadcast_to", "broadcast_like", "expand", "squeeze", "reshape", "cast")


_interpreter = None  # evaluate(outputs, env) of the reference room


def register_interpreter(evaluate):
    """Let bodies be evaluated in NumPy by evaluate(outputs, {input: array}): the reference room."""
    global _interpreter
    _interpreter = evaluate


class Body:
    """`outputs` as functions of `inputs` (placeholders). Immutable; equal if both are the same."""

    # used: indices of the inputs that some output depends on
    __slots__ = ("inputs", "outputs", "used", "_key", "_fits", "__weakref__")

    def __init__(self, inputs, outputs):
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self._key = (tuple(n.uid for n in self.inputs), tuple(n.uid for n in self.outputs))
        self._fits = {}
        reached = {n.uid for n in toposort(self.outputs)}
        self.used = frozenset(k for k, n in enumerate(self.inputs) if n.uid in reached)

    def __hash__(self):
        return hash(self._key)

    def __eq__(self, other):
        return isinstance(other, Body) and self._key == other._key

    def __reduce__(self):
        return _read, (Graph([*self.inputs, *self.outputs]), len(self.inputs))

    def __repr__(self):
        return f"<body of {len(self.inputs)} inputs and {len(self.outputs)} outputs>"

    def evaluate(self, arrays):
        """The arrays of the outputs for arrays of the inputs."""
        return _interpreter(list(self.outputs), dict(zip(self.inputs, arrays)))

    def at(self, values, nodes=None):
        """The outputs (or any other `nodes` of the body) with `values` in the place of inputs."""
        return rebuild(
            list(self.outputs if nodes is None else nodes), dict(zip(self.inputs, values))
        )

    def fit(self, what, types, constants=None):
        """This body for inputs of `types`, [(dtype, shape)]: sizes known in either are known.

        constants: {index of an input: constant node} known values that are put in its place.
        """
        merged = tuple(
            (node.dtype, merge(f"{what}: input {k} of the step", node.shape, shape))
            for k, (node, (_, shape)) in enumerate(zip(self.inputs, types))
        )
        own = tuple((n.dtype, n.shape) for n in self.inputs)
        used = {k: c for k, c in (constants or {}).items() if k in self.used}
        if merged == own and not used:
            return self
        key = (merged, tuple((k, c.uid) for k, c in used.items()))
        found = self._fits.get(key)
        if found is None:
            inputs = [param(k, *t) for k, t in enumerate(merged)]
            replace = {
                old: used.get(k, new) for k, (old, new) in enumerate(zip(self.inputs, inputs))
            }
            found = Body(inputs, rebuild(self.outputs, replace, fold))
            if len(self._fits) >= FITS:
                self._fits.clear()
            # The constants live as long as the entry, or another could get the uid of one.
            self._fits[key] = found = (found, tuple(used.values()))
        return found[0]


def _read(graph, count):
    """The Body of a pickle."""
    return Body(graph.roots[:count], graph.roots[count:])


def param(k, dtype, shape):
    """Input `k` of a body: the same node for the same dtype and shape."""
    return placeholder(dtype, shape, f"_{k}", uid=("body", k))


def merge(what, a, b):
    """What is known from two static shapes of one tensor; ShapeError when they contradict."""
    if len(a) != len(b) or any(None not in (p, q) and p != q for p, q in zip(a, b)):
        raise ShapeError(f"{what} has shape {show(b)}, but {show(a)} is expected")
    return tuple(q if p is None else p for p, q in zip(a, b))


def closed(inputs, outputs):
    """The Body of `outputs`, which depend on no leaves but the nodes `inputs`."""
    params = [param(k, n.dtype, n.shape) for k, n in enumerate(inputs)]
    return Body(params, rebuild(list(outputs), dict(zip(inputs, params))))


# --- cutting a body out of a graph ------------------------------------------------------------


def capture(outputs, inputs, frozen=(), inside=()):
    """The nodes that `outputs` need from outside of a step with the placeholders `inputs`.

    These are the largest subgraphs that do not depend on the step: they are computed once. frozen:
    nodes that count as outside whatever they depend on; inside: leaves that vary with the step
    although they are no inputs (variables the step updates). Small constants, views of them and
    masks of the places before or after a number stay in the step.
    """
    cut = {n.uid for n in inputs} | {n.uid for n in inside}
    fixed = {as_node(n).uid for n in frozen} - cut
    order = toposort_cut(outputs, cut | fixed)
    varies = set(cut)
    for node in order:
        if any(i.uid in varies for i in node.inputs):
            varies.add(node.uid)
    local = {n.uid for n in order if n.uid not in varies and n.uid not in fixed and _light(n)}
    for node in order:  # a view of a light node: the node stays inside, its sizes come from out
        if node.op.name in SHOWS and node.inputs[0].uid in local or _is_mask(node, local):
            local.add(node.uid)
    found, seen, stack = [], set(cut), list(reversed(list(outputs)))
    while stack:
        node = stack.pop()
        if node.uid in seen:
            continue
        seen.add(node.uid)
        if node.uid in varies or node.uid in local:
            stack.extend(reversed(node.inputs))
        else:
            found.append(node)
    return found


def _is_mask(node, local):
    """Whether a node says which places of a row come before or after a number: computed in a loop
    over the row it costs less than read, and the loop may end where it does."""
    if node.op.name == "logical_and":
        return all(i.uid in local and i.op.name in ORDERED for i in node.inputs)
    if node.op.name not in ORDERED:
        return False
    places = any(i.uid in local and i.op.name == "iota" for i in node.inputs)
    return places and any(all(n == 1 for n in i.shape) for i in node.inputs)


def _light(node):
    if node.op.name == "iota":
        return True
    return node.value is not None and node.value.size <= INLINE


def shapes_known(body):
    """Whether all shapes inside are known: those of a scan where its results are read."""
    return all(
        None not in shape
        for n in toposort(body.outputs)
        if n.op.name != "scan"
        for shape in ([n.shape] if n.outs is None else [s for _, s in n.outs])
    )
