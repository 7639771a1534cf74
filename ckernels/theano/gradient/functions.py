"""theano.gradient: grad with all its options, Jacobians, Hessians, R and L operators, verify_grad.

The engine differentiates; here its graph is opened where a gradient is asked for by a handle that
is no leaf, so that only this handle counts and not its twins of one expression. What the engine
says about disconnected inputs is raised as Theano's class of error.
"""

import numpy as np

from ... import ops
from ...autodiff import reverse as engine
from ...base import dtypes
from ...base.errors import ArgumentError, DTypeError, NotSupported, UsageError, with_line
from ...base.warned import warn_user
from ...graph.node import make, new_uid
from ...graph.op import Op as Row
from ...graph.walk import rebuild, toposort
from ..base.config import config
from ..base.exceptions import DisconnectedInputError, NullTypeGradError, RefusedError
from ..base.names import absent_of as _absent_of
from ..classes.meanings import DISCRETE
from ..classes.op import KernelOp, PureOp, apply_op
from ..classes.special import null
from ..graph.apply import Constant, Variable, ancestors, apply_order
from ..graph.type import DisconnectedType, NullType
from ..graph.walks import LAZY, applied, handle_of, is_leaf, known_handles, mentioned_by
from ..handles.test_values import fill
from ..handles.variables import Handle, as_tensor_variable, wrap
from ..tensor.creation import alloc, zeros_like
from ..tensor.shaping import patternbroadcast
from ..user_ops.perform import Performed, is_opaque, noting
from .differences import GradientError, numeric_grad
from .objects import Flow, at_places, numbers, passed
from .paths import Reach
from .rops import has_own, tangent

__all__ = ["grad", "Rop", "Lop", "subgraph_grad", "jacobian", "hessian", "verify_grad",  # noqa: F822 (loaded when asked for)
           "numeric_grad", "grad_undefined", "grad_not_implemented", "disconnected_grad",
           "consider_constant", "zero_grad", "grad_clip", "grad_scale", "undefined_grad",
           "DisconnectedType", "NullType", "DisconnectedInputError", "NullTypeGradError",
           "format_as", "GradientError"]  # fmt: skip


def format_as(use_list, use_tuple, outputs):
    """The list `outputs` as a list, a tuple or, if it has one entry, that entry."""
    if use_list and use_tuple:
        raise RefusedError("use_list and use_tuple exclude each other; set at most one of them")
    if use_list or use_tuple:
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        return list(outputs) if use_list else tuple(outputs)
    if isinstance(outputs, (list, tuple)):
        if len(outputs) != 1:
            raise RefusedError(f"one output was asked for, not {len(outputs)}: {outputs}")
        return outputs[0]
    return outputs


def grad_undefined(op, x_pos, x, comment=""):
    """The gradient of an op that is mathematically undefined: an error where it is reached."""
    return NullType(
        f"the gradient of {op} by its input {x_pos} ({x}) is mathematically undefined. {comment}"
    )()


def grad_not_implemented(op, x_pos, x, comment=""):
    """The gradient of an op that is not written: an error where it is reached."""
    return NullType(
        f"the gradient of {op} by its input {x_pos} ({x}) is not implemented. {comment}"
    )()


disconnected_type = DisconnectedType()


# --- grad -------------------------------------------------------------------------------------


class Opened:
    """Graphs in which some handles are marked: each has a node of its own there.

    A mark is an identity with a number, so that a handle is told from its twins of the same
    expression; gradients pass it.
    """

    def __init__(self, roots, handles):
        self.marks = {
            h: None
            for h in handles
            if isinstance(h, Handle) and (not is_leaf(h) or isinstance(h, Constant))
        }
        self.roots = list(roots)
        if self.marks:
            self.roots = self._marked()

    def _marked(self):
        memo = {}
        for h in self.marks:
            if isinstance(h, Constant):
                memo[id(h)] = self._mark(h, h.node)
        for apply in apply_order(self.roots):
            if Performed.objects and is_opaque(apply):
                continue  # a leaf to the engine
            inputs = [memo.get(id(x), x) for x in apply.inputs]
            outputs = apply.outputs
            if any(a is not b for a, b in zip(inputs, apply.inputs)):
                outputs = applied(apply, inputs)
            for old, new in zip(apply.outputs, outputs):
                if old in self.marks:
                    new = self._mark(old, new.node)
                if new is not old:
                    memo[id(old)] = new
        return [memo.get(id(x), x) for x in self.roots]

    def _mark(self, handle, node):
        made = wrap(make("theano_mark", (node,), {"uid": new_uid()}))
        self.marks[handle] = made.node
        return made

    def of(self, handle):
        """The node that stands for `handle`."""
        found = self.marks.get(handle)
        return handle.node if found is None else found

    def closed(self, nodes):
        """Nodes without marks; None stays."""
        if not self.marks:
            return nodes
        known = iter(rebuild([n for n in nodes if n is not None], None, _unmarked))
        return [None if n is None else next(known) for n in nodes]


def _unmarked(node):
    return node.inputs[0] if node.op.name == "theano_mark" else node


Row(
    "theano_mark",
    "elementwise",
    lambda attrs, x: (x.dtype, x.shape),
    lambda attrs, x: x,
    lambda node, g: (g,),
    "({0})",
    ulp=0,
    doc="x, told from all other nodes of its value.",
)


def grad(
    cost,
    wrt,
    consider_constant=None,
    disconnected_inputs="raise",
    add_names=True,
    known_grads=None,
    return_disconnected="zero",
    null_gradients="raise",
):
    """The gradient of the scalar `cost` by `wrt`: a variable for a variable, a list for a list.

    consider_constant    variables nothing flows through
    disconnected_inputs  'raise', 'warn' or 'ignore': what to do about a `wrt` the cost does not
                         depend on
    add_names            results are called (dcost/dx)
    known_grads          {variable: its gradient} to start from; then cost may be None
    return_disconnected  'zero', 'None' or 'Disconnected': what comes for such a `wrt`
    null_gradients       'raise' or 'return': gradients that are undefined

    >>> import ckernels.compat.theano as theano
    >>> import ckernels.compat.theano.tensor as T
    >>> x = T.dscalar("x")
    >>> theano.function([x], theano.grad(x ** 2, x))(4).tolist()
    8.0
    """
    use_list, use_tuple = isinstance(wrt, list), isinstance(wrt, tuple)
    targets = list(wrt) if use_list or use_tuple else [wrt]
    for x in targets:
        if not isinstance(x, Variable):
            raise UsageError(f"Expected Variable, got {x} of type {type(x)}")
    if disconnected_inputs not in ("raise", "warn", "ignore"):
        raise ArgumentError(
            f"disconnected_inputs is 'raise', 'warn' or 'ignore', not {disconnected_inputs!r}"
        )
    if return_disconnected not in ("zero", "none", "None", "Disconnected", "disconnected"):
        raise ArgumentError(
            f"return_disconnected is 'zero', 'None' or 'Disconnected', not {return_disconnected!r}"
        )
    if any(hasattr(x, "tensor_parts") for x in targets):
        from ..sparse.functions import by_data  # start-up: 3.7 ms

        options = {
            "consider_constant": consider_constant,
            "disconnected_inputs": disconnected_inputs,
            "add_names": add_names,
            "known_grads": known_grads,
            "return_disconnected": return_disconnected,
            "null_gradients": null_gradients,
        }
        found = by_data(targets, lambda tensors: grad(cost, tensors, **options))
        return format_as(use_list, use_tuple, found)
    known = _known(known_grads)
    cost = _checked_cost(cost, known)
    fixed = [v if numbers(v) is None else numbers(v) for v in consider_constant or ()]
    roots = ([] if cost is None else [cost]) + list(known_grads or ())
    applies = passed(roots, targets)
    if applies:
        found = _past_objects(cost, targets, known, fixed, applies)
    else:
        found = _gradients(cost, targets, known, fixed)
    results = [
        _finished(g, x, cost, disconnected_inputs, return_disconnected, null_gradients, known)
        for g, x in zip(found, targets)
    ]
    if add_names:
        for g, x in zip(results, targets):
            _named(g, cost, x)
    if config.compute_test_value != "off":
        for g in results:
            if isinstance(g, Handle):
                fill(g)
    return format_as(use_list, use_tuple, results)


def _checked_cost(cost, known):
    if cost is None:
        if not known:
            raise RefusedError("cost and known_grads are both missing; give one of them")
        return None
    if not isinstance(cost, Variable):
        cost = as_tensor_variable(cost)
    if isinstance(cost.type, NullType):
        raise ArgumentError(f"the cost is undefined, so are its gradients: {cost.type.why_null}")
    if cost.ndim:
        raise with_line(
            TypeErrorOfShape(
                f"cost must be a scalar, but {cost} has {cost.ndim} "
                "dimensions; sum or average it first"
            ),
            cost.node,
        )
    if getattr(cost, "dtype", "") in dtypes.COMPLEX:
        raise UsageError("cost must be real, not complex")
    return cost


class TypeErrorOfShape(DTypeError):
    """A cost that is no scalar: a TypeError, as in Theano."""


def _known(known_grads):
    found = {}
    for v, g in dict(known_grads or {}).items():
        if not isinstance(v, Variable):
            raise UsageError(f"known_grads should be a dictionary of Variables, not {v!r}")
        if isinstance(getattr(g, "type", None), (DisconnectedType, NullType)):
            found[numbers(v)] = g
        elif hasattr(v, "tensor_parts"):
            found[v.data] = at_places(g, v).data
        else:
            found[v] = as_tensor_variable(g)
    return found


def _past_objects(cost, targets, known, fixed, applies):
    """`_gradients`, with what flows through `applies`, which make or take what is no tensor."""

    def gradients(cost, wanted, known):
        found = _gradients(cost, wanted, known, fixed)
        return [handle_of(*g[:2]) if isinstance(g, tuple) else g for g in found]

    flow = Flow(targets, applies, known, fixed, gradients)
    flow.start(cost, known)
    for apply in reversed(applies):
        flow.through(apply)
    mentioned = (*([] if cost is None else [cost]), *known, *known.values())
    found = []
    for g in map(flow.total_of_target, targets):
        if g is None or isinstance(g.type, NullType):
            found.append(g)
        else:
            g._mentions = (*mentioned, *flow.kept)
            found.append((g.node, known_handles([g]), mentioned, [g]))
    return found


def _gradients(cost, targets, known, fixed):
    """A node, None or a NullType for each target."""
    roots = ([] if cost is None else [cost]) + list(known)
    cut = [v for v in (*targets, *known, *fixed) if isinstance(v, Handle)]
    given = [g for g in known.values() if isinstance(g, Handle)]
    memo = known_handles([*roots, *targets, *fixed, *given])
    opened = Opened(roots, [v for v in cut if not (cost is not None and v is cost)])
    nodes = {}
    for v, g in known.items():
        if isinstance(g, Handle):
            node = opened.of(v)
            nodes[node] = ops.cast(g.node, node.dtype) if dtypes.is_inexact(node.dtype) else g.node
    ending = cost is not None and not any(cost is v for v in known)
    start = opened.roots[0].node if ending else None
    ends = [opened.roots[0].node if x is cost else opened.of(x) for x in targets]
    with noting(memo) as returned:
        found = _engine_grad(start, ends, nodes, [opened.of(v) for v in fixed], targets)
    found = opened.closed(found)
    memo.update({v.node.uid: v for v in returned if v.node.uid not in memo})
    mentioned = (*roots, *known.values())
    found = [None if n is None else (n, memo, mentioned, returned) for n in found]
    return _with_nulls(found, targets, known)


def _with_nulls(found, targets, known):
    """Gradients, with NullTypes for targets that what has none among `known` is made of."""
    for v, g in known.items():
        if isinstance(g.type, NullType):
            above = {id(a) for a in ancestors([v])}
            found = [g if id(x) in above else f for f, x in zip(found, targets)]
    return found


def _engine_grad(cost, targets, known, fixed, handles):
    """Nodes of gradients; None where nothing flows back. Integer costs give zeros."""
    cost, targets, known = _continuous(cost, targets, known)
    known = {k: v for k, v in known.items() if dtypes.is_inexact(k.dtype)}
    if cost is not None and not dtypes.is_inexact(cost.dtype):  # a count, a comparison
        reach = _mentioned(cost, known)
        found = [_undefined_path(t, cost, known, reach) for t in targets]
        found = [
            ops.zeros_like(_float_like(t)) if g is None and t.uid in reach else g
            for g, t in zip(found, targets)
        ]
        return _past_draws(found, targets, cost, known, fixed)
    live = [t for t in targets if dtypes.is_inexact(t.dtype)]
    if cost is None and not known:
        return [None] * len(targets)
    given = engine.grad(cost, live, "none", known or None, tuple(fixed)) if live else []
    rest = iter(given)
    reach = None
    found = []
    for t in targets:
        if dtypes.is_inexact(t.dtype):
            g = next(rest)
            if g is None:
                reach = _mentioned(cost, known) if reach is None else reach
                g = _discrete_path(t, cost, known, fixed, reach)
                g = _undefined_path(t, cost, known, reach) if g is None else g
            found.append(g)
        else:
            reach = _mentioned(cost, known) if reach is None else reach
            found.append(ops.zeros_like(_float_like(t)) if t.uid in reach else None)
    return _past_draws(found, targets, cost, known, fixed)


SMOOTH = {"add", "sub", "mul", "neg", "square", "sum", "mean", "expand", "squeeze", "transpose",
          "reshape", "slice", "dynamic_slice", "broadcast_to", "broadcast_like", "matmul", "where",
          "theano_mark", "pow"}  # fmt: skip


def _continuous(cost, targets, known):
    """The graph with integers computed as floats where it is smooth: Theano's derivative by an
    integer is that by the number it stands for."""
    ends = ([] if cost is None else [cost]) + list(known)
    if all(dtypes.is_inexact(n.dtype) for n in (*targets, *ends)):
        return cost, targets, known
    twins = {t.uid: ops.cast(t, config.floatX) for t in targets if not dtypes.is_inexact(t.dtype)}
    memo = {}
    for n in toposort(ends):
        inputs = [memo.get(i.uid, i) for i in n.inputs]
        varies = any(i.uid in twins for i in n.inputs)
        if varies and n.op.name == "cast" and dtypes.is_inexact(n.dtype):
            memo[n.uid] = ops.cast(twins[n.inputs[0].uid], n.dtype)
        elif (
            varies
            and n.outs is None
            and not dtypes.is_inexact(n.dtype)
            and n.uid not in twins
            and (n.op.name in SMOOTH or n.op.name == "cast")
        ):
            wide = [twins.get(i.uid, j) for i, j in zip(n.inputs, inputs)]
            twins[n.uid] = wide[0] if n.op.name == "cast" else _remade(n, wide)
        elif inputs != list(n.inputs):
            memo[n.uid] = make(n.op, inputs, n.attrs)

    def now(n):
        return twins.get(n.uid) if n.uid in twins else memo.get(n.uid, n)

    cost = None if cost is None else now(cost)
    return (
        cost,
        [now(t) for t in targets],
        {
            now(k): (ops.cast(v, now(k).dtype) if dtypes.is_inexact(now(k).dtype) else v)
            for k, v in known.items()
        },
    )


def _remade(n, inputs):
    """Node `n` on floats; operands that count places stay integers."""
    if n.op.name in ("add", "sub", "mul", "pow", "matmul", "where"):
        inputs = [ops.cast(i, config.floatX) if i.dtype != "bool" else i for i in inputs]
    return make(n.op, inputs, n.attrs)


def _mentioned(cost, known):
    return {n.uid for n in toposort(([] if cost is None else [cost]) + list(known))}


def _discrete_path(target, cost, known, fixed, reach):
    """Zeros where the cost depends on `target` through rounding to integers only, else None."""
    if target.uid not in reach:
        return None
    ends = ([] if cost is None else [cost]) + list(known)
    passed = Reach(ends, {target.uid}, stopped={f.uid for f in fixed}).passed
    return ops.zeros_like(target) if any(e.uid in passed for e in ends) else None


def _past_draws(found, targets, cost, known, fixed):
    """Gradients, undefined where an end depends on the target by a parameter of a draw."""
    ends = ([] if cost is None else [cost]) + list(known)
    stopped = {f.uid for f in fixed}
    for k, t in enumerate(targets if Reach.draws else ()):
        if dtypes.is_inexact(t.dtype):
            drawn = Reach(ends, {t.uid}, stopped=stopped).drawn
            if any(e.uid in drawn for e in ends):
                found[k] = null(t, "a draw of NumPy's generator has none by its parameters")
    return found


def _undefined_path(target, cost, known, reach):
    """A gradient that does not exist where the cost, of comparisons perhaps, depends on `target`
    through undefined_grad alone; else None."""
    if target.uid not in reach:
        return None
    made = set()
    for n in toposort(([] if cost is None else [cost]) + list(known)):
        if n.uid == target.uid or any(i.uid in made for i in n.inputs):
            if n.op.name == "undefined_grad":
                return _without_gradient(n, None)[0]
            made.add(n.uid)
    return None


def _float_like(node):
    """Something of the shape of `node` whose dtype is floatX."""
    return node if dtypes.is_inexact(node.dtype) else ops.cast(node, config.floatX)


def _finished(found, x, cost, disconnected, wanted, null_gradients, known=()):
    """The variable for a gradient, or what was asked for where there is none."""
    if isinstance(getattr(x, "type", None), DisconnectedType):
        return x
    if found is None and _counts(x, cost) and not known:
        return _zeros(x)
    if found is None:
        _disconnected(x, cost, disconnected)
        if wanted in ("none", "None"):
            return None
        if wanted in ("Disconnected", "disconnected"):
            return DisconnectedType()()
        return _zeros(x)
    if isinstance(found, Variable):
        why = found.type.why_null
    else:
        node, memo, mentioned, returned = found
        why = _null_reason(node)
    if why is not None:
        if null_gradients == "raise":
            raise NullTypeGradError(f"a gradient on the way does not exist: {why}")
        return NullType(why)()
    made = handle_of(node, memo)
    if made in returned:  # what the gradient of a user's Op gave, whole
        return made
    if made._owner is not LAZY:  # a variable the user has already: a gradient is no alias of it
        made = apply_op(_identity, made)
    alike = x.is_tensor and made.dtype == x.dtype and made.ndim == x.ndim
    if alike and any(b and not m for b, m in zip(x.broadcastable, made.broadcastable)):
        pattern = [b or m for b, m in zip(x.broadcastable, made.broadcastable)]
        made = patternbroadcast(made, pattern)  # so that what is computed from it knows
    made._mentions = mentioned
    if alike:
        made._type = x.type  # what more is known of its sizes is no part of its type
    return made


def _counts(x, cost):
    """Whether both are integers and the cost is made of `x`: it is flat there."""
    return (
        isinstance(x, Handle)
        and cost is not None
        and x.dtype in DISCRETE
        and cost.dtype in DISCRETE
        and any(v is x for v in ancestors([cost]))
    )


def _identity(x):
    return x


def _zeros(x):
    if not isinstance(x, Handle):
        return x.type.zeros_like(x) if hasattr(x.type, "zeros_like") else DisconnectedType()()
    return zeros_like(x, dtype=x.dtype if dtypes.is_inexact(x.dtype) else config.floatX)


def _disconnected(x, cost, what):
    if what == "ignore":
        return
    text = (
        f"there is no gradient by {x}: the cost does not depend on it, or only through "
        "operators without a derivative; pass disconnected_inputs='ignore' if that is meant"
    )
    if what == "warn":
        warn_user(text)
        return
    raise with_line(DisconnectedInputError(text), getattr(x, "node", None))


def _null_reason(node):
    """Why a gradient does not exist, where its graph says so; else None."""
    for n in toposort([node]):
        if n.op.name == "null_gradient":
            return n.attrs["why"]
    return None


def _named(g, cost, x):
    if (
        isinstance(g, Handle)
        and g.name is None
        and cost is not None
        and cost.name is not None
        and x.name is not None
    ):
        g.name = f"(d{cost.name}/d{x.name})"


def subgraph_grad(wrt, end, start=None, cost=None, details=False):
    """Gradients by `wrt` and by `end` of a piece of a graph.

    start: {variable: its gradient}; cost: a cost to add. (gradients by wrt, gradients by end).
    """
    if not isinstance(end, (list, tuple)) or not isinstance(wrt, (list, tuple)):
        raise RefusedError("wrt and end are lists")
    if cost is None and start is None:
        raise RefusedError("`cost` or `start` must be specified.")
    params, ends = list(wrt), list(end)
    known, from_start, from_cost = dict(start or {}), None, None
    inputs = list(dict.fromkeys(params + ends))
    fixed = ends
    if start is not None:
        from_start = grad(
            None, inputs, consider_constant=fixed, disconnected_inputs="ignore", known_grads=known
        )
    if cost is not None:
        from_cost = grad(cost, inputs, consider_constant=fixed, disconnected_inputs="ignore")
    total = from_start if from_cost is None else from_cost
    if from_start is not None and from_cost is not None:
        total = [a + b for a, b in zip(from_start, from_cost)]
    by = dict(zip(inputs, total))
    pair = [by[p] for p in params], [by[e] for e in ends]
    if details:
        return (*pair, from_start, from_cost)
    return pair


# --- vectors through Jacobians ----------------------------------------------------------------


def Rop(f, wrt, eval_points, disconnected_outputs="raise", return_disconnected="zero"):  # noqa: N802
    """The Jacobian of `f` by `wrt` times `eval_points`, which have the shapes of `wrt`."""
    many_f, tuple_f = isinstance(f, list), isinstance(f, tuple)
    fs = list(f) if many_f or tuple_f else [f]
    xs = list(wrt) if isinstance(wrt, (list, tuple)) else [wrt]
    vs = list(eval_points) if isinstance(eval_points, (list, tuple)) else [eval_points]
    xs, vs = [as_tensor_variable(x) for x in xs], [as_tensor_variable(v) for v in vs]
    if len(xs) != len(vs):
        raise ArgumentError(f"{len(xs)} variables in wrt, {len(vs)} eval_points: one for each")
    for k, (x, v) in enumerate(zip(xs, vs)):
        if x.ndim != v.ndim:
            raise ArgumentError(
                f"wrt[{k}] has {x.ndim} dimensions, eval_points[{k}] has {v.ndim}: "
                "a direction has the shape of its variable"
            )
    fs = [as_tensor_variable(y) for y in fs]
    _needs_tensors("Rop", fs, xs)
    memo = known_handles([*fs, *xs, *vs])
    opened = Opened(fs, xs)
    found = []
    for y, root in zip(fs, opened.roots):
        node = _rop(root.node, [opened.of(x) for x in xs], [v.node for v in vs])
        if node is None and _came_to_constant(y, xs):
            found.append(_zeros(y))
        elif node is None:
            found.append(_rop_disconnected(y, disconnected_outputs, return_disconnected))
        else:
            found.append(handle_of(opened.closed([node])[0], memo))
            found[-1]._mentions = (y, *xs, *vs)
    return format_as(many_f, tuple_f, found)


def _came_to_constant(y, xs):
    """Whether `y` is a gradient of what is written with `xs`, and has nothing of them."""
    written = mentioned_by([y], set()) if getattr(y, "_mentions", ()) else ()
    return any(id(x) in written for x in xs)


def _needs_tensors(what, roots, wrt):
    """An error where a way from `wrt` to `roots` passes an Op on what is no tensor."""
    if any(hasattr(x, "tensor_parts") for x in wrt):
        raise UsageError(f"{what} is taken by tensors; by a sparse matrix there is grad")
    for apply in passed(roots, wrt):
        raise NotSupported(
            f"{what} does not pass {apply.op}, which takes or makes what is no tensor; grad does"
        )


def _rop(y, xs, vs):
    if not dtypes.is_inexact(y.dtype):
        return None
    live = [(x, v) for x, v in zip(xs, vs) if dtypes.is_inexact(x.dtype)]
    reach = {n.uid for n in toposort([y])}
    if not any(x.uid in reach for x, _ in live):
        return None
    users = [
        n.attrs["op"].op for n in toposort([y]) if n.op.name in ("perform", "perform_unfolded")
    ]
    for op in users:
        if not (has_own(op) or hasattr(op, "grad") or type(op).L_op is not PureOp.L_op):
            raise NotSupported(f"{op} has no R_op and no gradient")
    xs, vs = [x for x, _ in live], [v for _, v in live]
    return (tangent if any(map(has_own, users)) else engine.Rop)(y, xs, vs)


def _rop_disconnected(y, what, returned):
    text = (
        f"Rop finds no way from wrt to {y}: it depends on none of these variables, or only "
        "through operators without a derivative; pass disconnected_outputs='ignore' if that "
        "is meant"
    )
    if what == "raise":
        raise DisconnectedInputError(text)
    if what == "warn":
        warn_user(text)
    elif what != "ignore":
        raise ArgumentError(f"disconnected_outputs is 'raise', 'warn' or 'ignore', not {what!r}")
    if returned == "zero":
        return _zeros(y)
    return None if returned in ("None", "none") else DisconnectedType()()


def Lop(f, wrt, eval_points, consider_constant=None, disconnected_inputs="raise"):  # noqa: N802
    """`eval_points`, which have the shapes of `f`, times the Jacobian of `f` by `wrt`."""
    points = list(eval_points) if isinstance(eval_points, (list, tuple)) else [eval_points]
    fs = list(f) if isinstance(f, (list, tuple)) else [f]
    use_list, use_tuple = isinstance(wrt, list), isinstance(wrt, tuple)
    targets = list(wrt) if use_list or use_tuple else [wrt]
    if len(fs) != len(points):
        raise RefusedError("f and eval_points have different lengths")
    found = grad(
        None,
        targets,
        consider_constant=consider_constant,
        disconnected_inputs=disconnected_inputs,
        known_grads=dict(zip(fs, points)),
    )
    return format_as(use_list, use_tuple, found)


def jacobian(expression, wrt, consider_constant=None, disconnected_inputs="raise"):
    """d expression / d wrt of a scalar or a vector, of shape expression.shape + wrt.shape."""
    if not isinstance(expression, Variable):
        raise RefusedError(f"jacobian differentiates a Variable, not {type(expression).__name__}")
    if expression.ndim > 1:
        raise RefusedError(
            f"jacobian takes a scalar or a vector, but {expression} has "
            f"{expression.ndim} dimensions; flatten it first"
        )
    use_list, use_tuple = isinstance(wrt, list), isinstance(wrt, tuple)
    targets = list(wrt) if use_list or use_tuple else [wrt]
    if expression.ndim == 0:
        return format_as(
            use_list, use_tuple, grad(expression, targets, consider_constant, disconnected_inputs)
        )
    _needs_tensors("jacobian", [expression], targets)
    memo = known_handles([expression, *targets])
    opened = Opened([expression], [*targets, *(consider_constant or ())])
    root = opened.roots[0].node
    if consider_constant:
        root = rebuild(
            [root], {opened.of(c): ops.stop_gradient(opened.of(c)) for c in consider_constant}
        )[0]
    nodes = engine.jacobian(root, [opened.of(x) for x in targets], "none")
    found = []
    for x, node in zip(targets, opened.closed(nodes)):
        if node is None:
            _disconnected(x, expression, disconnected_inputs)
            size = expression.shape[0]
            node = alloc(
                np.asarray(0, expression.dtype), size, *[x.shape[i] for i in range(x.ndim)]
            ).node
        found.append(handle_of(node, memo))
        found[-1]._mentions = (expression,)
    return format_as(use_list, use_tuple, found)


def hessian(cost, wrt, consider_constant=None, disconnected_inputs="raise"):
    """The second derivatives of a scalar by vectors: a matrix for each."""
    if not isinstance(cost, Variable):
        raise RefusedError(f"hessian differentiates a Variable, not {type(cost).__name__}")
    if cost.ndim:
        raise RefusedError(
            f"hessian takes a scalar cost, but {cost} has {cost.ndim} dimensions; "
            "sum or average it first"
        )
    use_list, use_tuple = isinstance(wrt, list), isinstance(wrt, tuple)
    targets = list(wrt) if use_list or use_tuple else [wrt]
    found = []
    for x in targets:
        if not isinstance(x, Variable) or x.ndim != 1:
            raise RefusedError(f"hessian is taken by vectors, not by {x}: flatten it first")
        slope = grad(
            cost, x, consider_constant=consider_constant, disconnected_inputs=disconnected_inputs
        )
        found.append(jacobian(slope, x, consider_constant, disconnected_inputs="ignore"))
    return format_as(use_list, use_tuple, found)


# --- gradients that pass differently ----------------------------------------------------------


def _stopped(x):
    return ops.stop_gradient(x)


def _zeroed(x):
    return ops.zero_grad(x)


def _clipped(x, low, high):
    return ops.grad_clip(x, low, high)


def _without_gradient(node, g):
    return (null(node.inputs[0], "undefined_grad is on its way"),)


Row(
    "undefined_grad",
    "elementwise",
    lambda attrs, x: (x.dtype, x.shape),
    lambda attrs, x: x,
    _without_gradient,
    "({0})",
    ulp=0,
    doc="x, whose gradient does not exist.",
)


def _unsloped(x):
    return make("undefined_grad", (x,))


def _scaled(x, factor):
    return ops.grad_scale(x, factor)


class DisconnectedGrad(KernelOp):
    """The identity, through which nothing flows back."""

    @staticmethod
    def connection_pattern(node):
        return [[False]]

    def __init__(self):
        KernelOp.__init__(self, _stopped, "disconnected_grad")


class ConsiderConstant(KernelOp):
    """The identity, whose gradient is zero: `ZeroGrad` under its old name."""

    def __init__(self):
        KernelOp.__init__(self, _zeroed, "consider_constant")


class ZeroGrad(KernelOp):
    """The identity, whose gradient is zero."""

    def __init__(self):
        KernelOp.__init__(self, _zeroed, "zero_grad")


class UndefinedGrad(KernelOp):
    """The identity, whose gradient does not exist: an error where one is asked for."""

    def __init__(self):
        KernelOp.__init__(self, _unsloped, "undefined_grad")


class GradClip(KernelOp):
    """The identity, whose gradient is limited."""

    def __init__(self, clip_lower_bound, clip_upper_bound):
        KernelOp.__init__(
            self, _clipped, "grad_clip", low=float(clip_lower_bound), high=float(clip_upper_bound)
        )


class GradScale(KernelOp):
    """The identity, whose gradient is multiplied."""

    def __init__(self, multiplier):
        KernelOp.__init__(self, _scaled, "grad_scale", factor=float(multiplier))


def disconnected_grad(x):
    """`x`, a constant to gradients; by it nothing is connected."""
    return DisconnectedGrad()(x)


disconnected_grad_ = DisconnectedGrad()


zero_grad_, consider_constant_ = ZeroGrad(), ConsiderConstant()


def consider_constant(x):
    """`x`, whose gradient is zero."""
    warn_user(
        "consider_constant() is deprecated: call zero_grad(), or disconnected_grad() to "
        "cut the path altogether"
    )
    return ConsiderConstant()(x)


def zero_grad(x):
    """`x`, whose gradient is zero."""
    return ZeroGrad()(x)


def undefined_grad(x):
    """`x`, whose gradient does not exist: a gradient on a way through it is a NullTypeGradError."""
    return UndefinedGrad()(x)


undefined_grad_ = UndefinedGrad()


def grad_clip(x, lower_bound, upper_bound):
    """`x`, whose gradient is limited to [lower_bound, upper_bound]."""
    return GradClip(lower_bound, upper_bound)(x)


def grad_scale(x, multiplier):
    """`x`, whose gradient is multiplied by `multiplier`."""
    return GradScale(multiplier)(x)


__getattr__ = _absent_of("theano.gradient", {"gradient.verify": "verify_grad"})
