"""Derivatives: reverse mode over the ops' `grad`, and what is built from it.

`grad` walks the graph once backwards from the cost, adding up contributions; integers,
stop_gradient and consider_constant end a path. Lop is the same with a vector to start from; Rop is
Lop twice (Lop is linear in its vector, and the transpose of that linear map is Rop), so every op
that has a gradient has both. Jacobians run all rows at once through `batch`. Nodes made
here carry the forward node's line.
"""

import numpy as np

from .. import ops

# scan_gradient has the rule of scan, recompute that of checkpoint, spectra those of eigh and svd.
from ..base import collector, dtypes
from ..base.errors import ArgumentError, DisconnectedError, DTypeError, ShapeError, with_line
from ..graph.node import as_node, constant, line_of, make, new_uid
from ..graph.printing import location
from ..graph.shapes import show
from ..graph.walk import consumers, toposort
from ..ops.shape import sized, times
from . import recompute, scan_gradient, spectra  # noqa: F401
from .accumulate import accumulate, along, carries

__all__ = ["grad", "Lop", "Rop", "jacobian", "hessian", "hessian_vector"]


# --- reverse accumulation ---------------------------------------------------------------------


def grad(cost, wrt, disconnected="raise", known_grads=None, consider_constant=()):
    """The gradient of the scalar node `cost`: a node for a node `wrt`, a list for a list.

    disconnected: "raise" (DisconnectedError), "zero" or "none" for a `wrt` that nothing flows back
    to. known_grads: {node: cotangent}, taken as given for these nodes; then cost may be None.
    consider_constant: nodes that nothing flows through (unless they are in wrt themselves).
    """
    if disconnected not in ("raise", "zero", "none"):
        raise ArgumentError(f"disconnected is 'raise', 'zero' or 'none', not {disconnected!r}")
    targets = list(wrt) if isinstance(wrt, (list, tuple)) else [wrt]
    targets = [as_node(t) for t in targets]
    known = {as_node(k): _like(as_node(k), as_node(g)) for k, g in (known_grads or {}).items()}
    fixed = {as_node(c).uid for c in consider_constant}
    starts = dict(known)
    if cost is not None:
        cost = as_node(cost)
        _check_cost(cost)
        if cost not in starts:
            with line_of(cost):
                starts[cost] = ops.ones_like(cost)
    elif not known:
        raise ArgumentError("grad needs a cost, or known_grads to start from")
    with collector.later():
        found = accumulate(starts, targets, known, fixed)
    results = [_finish(g, t, starts, fixed, disconnected) for g, t in zip(found, targets)]
    return results if isinstance(wrt, (list, tuple)) else results[0]


def _check_cost(cost):
    if cost.outs is not None or cost.ndim:
        shape = "several outputs" if cost.outs is not None else f"shape {show(cost.shape)}"
        raise with_line(
            ShapeError(
                f"the cost of a gradient must be a scalar, but it has {shape}; sum or "
                "average it first"
            ),
            cost,
        )
    if not dtypes.is_inexact(cost.dtype):
        raise with_line(
            DTypeError(f"the cost of a gradient must be a float, but it is {cost.dtype}"), cost
        )


def _like(node, g):
    """The given cotangent `g` in the dtype and shape of `node`; ShapeError when it cannot be."""
    if g.ndim != node.ndim:
        if g.ndim:
            raise with_line(
                ShapeError(
                    f"a gradient of shape {show(g.shape)} was given for a tensor of shape "
                    f"{show(node.shape)}"
                ),
                node,
            )
        g = ops.broadcast_like(g, node)
    if any(None not in (a, b) and a != b for a, b in zip(g.shape, node.shape)):
        raise with_line(
            ShapeError(
                f"a gradient of shape {show(g.shape)} was given for a tensor of shape "
                f"{show(node.shape)}"
            ),
            node,
        )
    return g if g.dtype == node.dtype else ops.cast(g, node.dtype)


# --- what is disconnected, and why ------------------------------------------------------------


def _finish(g, target, starts, fixed, disconnected):
    if g is not None:
        return g
    if disconnected == "none":
        return None
    if disconnected == "zero" and carries(target):
        return ops.zeros_like(target)
    raise _disconnected(target, list(starts), fixed)


def _disconnected(target, starts, fixed):
    """The DisconnectedError for `target`: no path at all, or blocked where."""
    name = f"'{target.name}'" if target.name else f"the result of {target.op.name}"
    if not carries(target):
        return with_line(
            DisconnectedError(
                f"there is no gradient with respect to {name}: it is "
                f"{target.dtype}, and only floats have one"
            ),
            target,
        )
    order = toposort(starts)
    if all(n is not target for n in order):
        return with_line(
            DisconnectedError(
                f"the cost does not depend on {name}: there is no path between them. "
                "disconnected='zero' gives zeros, 'none' gives None"
            ),
            target,
        )
    block = _blocking(target, order, fixed)
    why = "" if block is None else f" at {_described(block, fixed)}"
    return with_line(
        DisconnectedError(
            f"the cost depends on {name}, but every path is blocked{why}, where no gradient "
            "passes. disconnected='zero' gives zeros, 'none' gives None"
        ),
        target,
    )


def _described(node, fixed):
    what = "consider_constant" if node.uid in fixed else node.op.name
    if node.op.name == "cast" and node.dtype is not None:
        what = f"cast to {node.dtype}"
    where = location(node.line)
    return f"{what} ({where})" if where else what


def _blocking(target, order, fixed):
    """The nearest node on the way from `target` that lets nothing back to the node before it."""
    users, queue, seen = consumers(order), [target], {target.uid}
    for node in queue:
        for user in users.get(node.uid, ()):
            if not _passes(user, node, fixed):
                return user
            if user.uid not in seen:
                seen.add(user.uid)
                queue.append(user)
    return None


def _passes(user, node, fixed):
    if user.uid in fixed or not carries(user) or user.op.grad is None:
        return False
    g = (
        ops.ones_like(user)
        if user.outs is None
        else [ops.ones_like(make("item", (user,), {"index": k})) for k in range(len(user.outs))]
    )
    parts = user.op.grad(user, g)
    return any(i is node and p is not None for i, p in zip(user.inputs, parts))


# --- vectors through Jacobians ----------------------------------------------------------------


def _pairs(nodes, points, what):
    nodes = [as_node(n) for n in (nodes if isinstance(nodes, (list, tuple)) else [nodes])]
    points = [as_node(p) for p in (points if isinstance(points, (list, tuple)) else [points])]
    if len(nodes) != len(points):
        raise ArgumentError(
            f"{what}: {len(nodes)} tensors and {len(points)} vectors; one for each is needed"
        )
    return nodes, [_like(n, p) for n, p in zip(nodes, points)]


def Lop(f, wrt, v, consider_constant=(), disconnected="raise"):  # noqa: N802
    """`v` (shapes of `f`) times the Jacobian of `f`: a node for a node `wrt`, a list for a list."""
    fs, vs = _pairs(f, v, "Lop")
    targets = [as_node(t) for t in (wrt if isinstance(wrt, (list, tuple)) else [wrt])]
    starts = {}
    for node, g in zip(fs, vs):
        starts[node] = ops.add(starts[node], g) if node in starts else g
    fixed = {as_node(c).uid for c in consider_constant}
    found = accumulate(starts, targets, (), fixed)
    results = [_finish(g, t, starts, fixed, disconnected) for g, t in zip(found, targets)]
    return results if isinstance(wrt, (list, tuple)) else results[0]


def Rop(f, wrt, v):  # noqa: N802
    """The Jacobian of `f` times `v` (shapes of `wrt`): a node for a node `f`, a list for a list.

    Where `f` does not depend on `wrt` the result is zeros.
    """
    fs = [as_node(n) for n in (f if isinstance(f, (list, tuple)) else [f])]
    results = along(fs, *_pairs(wrt, v, "Rop"))
    return results if isinstance(f, (list, tuple)) else results[0]


# --- Jacobians --------------------------------------------------------------------------------


def jacobian(expression, wrt, disconnected="raise"):
    """d expression / d wrt, of shape expression.shape + wrt.shape; a list for a list `wrt`.

    All rows at once: the unit vectors run through Lop as one batch, or, where an op has no rule
    for one, as the steps of a scan.
    """
    from .batch import NoBatchRule, batched  # start-up
    from .scan_batch import row_by_row  # start-up

    expression = as_node(expression)
    targets = [as_node(t) for t in (wrt if isinstance(wrt, (list, tuple)) else [wrt])]
    if not dtypes.is_inexact(expression.dtype):
        raise with_line(
            DTypeError(f"a Jacobian needs a float expression, not {expression.dtype}"), expression
        )
    with line_of(expression):
        seed = make("seed", (expression,), {"uid": new_uid()})
        found = accumulate({expression: seed}, targets)
        rows = [_finish(g, t, {expression: seed}, (), disconnected) for g, t in zip(found, targets)]
        live = [i for i, r in enumerate(found) if r is not None]
        units = {seed: _unit_vectors(expression)}
        try:
            wide = batched([found[i] for i in live], units)
        except NoBatchRule:
            wide = row_by_row([found[i] for i in live], units)
        for i, w in zip(live, wide):
            rows[i] = ops.reshape(w, sized(expression) + sized(targets[i]))
        for i, row in enumerate(rows):
            if found[i] is None and row is not None:
                rows[i] = ops.broadcast_to(
                    constant(np.zeros((), expression.dtype)), sized(expression) + sized(targets[i])
                )
    return rows if isinstance(wrt, (list, tuple)) else rows[0]


def _unit_vectors(expression):
    """The unit cotangents of `expression`, one per element, along a new first axis."""
    n = times(*sized(expression))
    return ops.reshape(ops.eye(n, n, 0, expression.dtype), [n] + sized(expression))


def hessian(cost, wrt):
    """The second derivatives of the scalar `cost`, of shape wrt.shape * 2; a list for a list."""
    targets = wrt if isinstance(wrt, (list, tuple)) else [wrt]
    results = [jacobian(grad(cost, t), t, disconnected="zero") for t in targets]
    return results if isinstance(wrt, (list, tuple)) else results[0]


def hessian_vector(cost, wrt, v):
    """The Hessian of the scalar `cost` times `v` (shapes of `wrt`), without making the Hessian."""
    many = isinstance(wrt, (list, tuple))
    targets, vs = _pairs(wrt, v, "hessian_vector")
    first = grad(cost, targets, disconnected="zero")
    found = Lop(first, targets, vs, disconnected="zero")
    return found if many else found[0]
