"""theano.scan_module.scan_utils: names that programs use, and `map_variables`."""

from ...base.errors import NotSupported
from ..base.names import absent_of as _absent_of
from ..gradient.builders import OpFromGraph
from ..graph.apply import Constant, ancestors, apply_order, equal_computations  # noqa: F401
from ..graph.apply import inputs as leaf_variables
from ..graph.walks import applied, replayed
from ..handles.sharedvar import SharedVariable
from .functions import clone, scan, until  # noqa: F401


def map_variables(replacer, graphs, additional_inputs=None):
    """`graphs` made anew with `replacer(v)` in the place of each variable v on the way.

    Steps of scan and graphs of OpFromGraph are gone through as well; what a replacement there needs
    from outside is handed in. A replacement is not searched. NotImplementedError where it brings a
    shared variable that has an update into an inner graph.

    >>> import ckernels.compat.theano as theano
    >>> import ckernels.compat.theano.tensor as T
    >>> from ckernels.compat.theano.scan_module.scan_utils import map_variables
    >>> x, y = T.dscalars("x", "y")
    >>> (z,) = map_variables(lambda v: y if v is x else v, [T.exp(x) + x])
    >>> float(z.eval({y: 0.0}))
    1.0
    """
    graphs, memo = list(graphs), {}
    for v in ancestors(graphs):
        loop = getattr(v, "_loop", None)
        if loop is not None and loop[0] not in memo:
            memo[loop[0]] = _loop_again(replacer, loop[0])
        if loop is not None and memo[loop[0]] is not None:
            memo[id(v)] = replacer(memo[loop[0]][loop[1]])
    for v in leaf_variables(graphs):
        memo[id(v)] = replacer(v)
    for apply in apply_order(graphs, {id(v) for v in ancestors(graphs) if id(v) in memo}):
        inputs = [memo.get(id(x), x) for x in apply.inputs]
        outputs = apply.outputs
        op = _graph_again(replacer, apply.op) if isinstance(apply.op, OpFromGraph) else None
        if op is not None:
            outputs = op[0](*inputs, *op[1], return_list=True)
        elif any(a is not b for a, b in zip(inputs, apply.inputs)):
            outputs = applied(apply, inputs)
        for old, new in zip(apply.outputs, outputs):
            found = replacer(old)
            memo[id(old)] = new if found is old else found
    return [memo.get(id(v), v) for v in graphs]


def _inner(replacer, outputs, inputs):
    """(outputs of an inner graph after mapping, leaves it needs from outside), or None."""
    found = map_variables(replacer, outputs)
    if all(a is b for a, b in zip(found, outputs)):
        return None
    held = {id(v) for v in inputs}
    extra = [v for v in leaf_variables(found) if id(v) not in held and not isinstance(v, Constant)]
    for v in extra:
        update = getattr(v, "update", None) or getattr(v, "default_update", None)
        if isinstance(v, SharedVariable) and update is not None:
            raise NotSupported(
                f"an inner graph would use the shared variable {v}, which has an update: how often "
                "it is updated is up to the graph around it"
            )
    return found, [v for v in extra if not isinstance(v, SharedVariable)]


def _graph_again(replacer, op):
    """(an OpFromGraph of the mapped graph, what it takes besides), or None: nothing changes."""
    inner = _inner(replacer, op.outputs, op.inputs)
    if inner is None:
        return None
    outputs, extra = inner
    if op.overrides != "default" or op.rop_overrides != "default":
        raise NotSupported(f"{op} has gradients of its own, which fit its own graph alone")
    inside = [v.type() for v in extra]
    outputs = replayed(outputs, dict(zip(extra, inside)))
    return OpFromGraph([*op.inputs, *inside], outputs, op.inline, name=op.name), extra


def _loop_again(replacer, call):
    """The outputs of a scan whose step was mapped, or None where nothing changes in it."""
    inner = _inner(replacer, call.outputs, call.arguments)
    if inner is None:
        return None
    if call.plain is None:
        raise NotSupported("a scan with updates or a condition is not mapped inside")

    def step(*args):
        table = dict(zip(call.arguments, args))
        return replayed(inner[0], table)

    options = dict(call.plain)
    for name in ("sequences", "outputs_info", "non_sequences"):
        options[name] = [_entry(replacer, x) for x in options[name]]
    return scan(step, **options, return_list=True)[0]


def _entry(replacer, entry):
    """An entry of sequences or outputs_info with its variable mapped."""
    if isinstance(entry, dict):
        return {k: v if k == "taps" else _entry(replacer, v) for k, v in entry.items()}
    return map_variables(replacer, [entry])[0] if hasattr(entry, "owner") else entry


__getattr__ = _absent_of("theano.scan_module.scan_utils")
