"""Pipelines of stencils: what slices show of cheap arithmetic is computed where it is read.

`lap = 4 * x[1:-1] - x[2:] - x[:-2]`, read as `lap[1:] - lap[:-1]`, is a table of its own, written
and read again, since the loop that reads it is at other elements. With the slices inside, on `x`,
all of it is one loop, in which a few operations are done again. How often is bounded for each
operation by what it costs; where the slices leave most elements out, nothing is done twice.
"""

from ..graph.node import make
from ..graph.op import having
from ..graph.sizes import surely
from ..graph.walk import consumers, toposort
from .engine import behind_views
from .views import WHOLE, composed, viewed

AGAIN = 10.0  # what may be done again of an operation, in additions for an element; a load is half
STAGES = 2  # of a pipeline before what is stored
COSTLY = 4.0  # additions: such an operation is done once
MOST = 8  # slices of one tensor that are each computed
GENERATORS, PRODUCTS = having("generator"), ("gemm", "opaque", "composite")


def stencils(roots):
    """`roots` with slices of elementwise operations inside of these, where that is cheap."""
    order = toposort(roots)
    if not any(n.op.name == "slice" and n.inputs[0].op.kind == "elementwise" for n in order):
        return roots
    shown = slices_shown(order, {n.uid for n in roots})
    return rebuilt(roots, order, shown) if shown else roots


def slices_shown(order, kept):
    """{uid: its slices that are read, each once} of the nodes to be computed slice by slice.

    kept: uids of what is read as it is. Consumers come before what they read.
    """
    users, shown, stages, behind = consumers(order), {}, {}, behind_products(order)
    for node in reversed(order):
        if node.op.kind != "elementwise" or node.uid in kept or node.uid in behind:
            continue
        wanted = {}
        for user in users[node.uid]:
            found = wanted_by(user, node, users, shown, kept)
            if found is None:
                break
            wanted.update(dict.fromkeys(found))
        else:
            if is_worth_it(node, wanted):
                stage = max(stage_of(u, users, stages) for u in users[node.uid])
                if stage <= STAGES or len(wanted) == 1:
                    shown[node.uid], stages[node.uid] = tuple(wanted), stage
    return shown


def behind_products(order):
    """The uids of elementwise nodes that are computed with the result of a product, or of what
    else is no loop nest: they are its epilogue. Of random numbers each is drawn once, too."""
    found = set()
    for node in order:
        if node.op.kind == "elementwise" and (
            node.op.name in GENERATORS
            or any(
                x.uid in found or x.op.kind in PRODUCTS
                for x in (behind_views(i)[0] for i in node.inputs)
            )
        ):
            found.add(node.uid)
    return found


def wanted_by(user, node, users, shown, kept):
    """The slices of `node` that a consumer asks for; None where it takes the whole of it."""
    if user.uid in shown:  # computed slice by slice itself
        return [narrowed(s, user, node) for s in shown[user.uid]]
    if user.op.name != "slice" or user.uid in kept:
        return None
    found = []
    for reader in users[user.uid]:
        if reader.uid in shown:
            inner = [narrowed(s, reader, user) for s in shown[reader.uid]]
            found += [composed(node, user.attrs["slices"], s) for s in inner]
        elif reader.op.kind in ("elementwise", "reduce"):
            found.append(cut_by(user))
        else:
            return None
    return found


def stage_of(user, users, stages):
    """How many slices lie between what a consumer reads and what is stored."""
    if user.op.name != "slice":
        return stages[user.uid]
    return 1 + max((stages.get(r.uid, 0) for r in users[user.uid]), default=0)


def is_worth_it(node, wanted):
    """Whether to compute `wanted` slices of a node each by itself."""
    if not wanted or len(wanted) > MOST or plain(node) in wanted:
        return False
    if len(wanted) > 1 and (node.op.cost > COSTLY or done_again(node, wanted) > AGAIN):
        return False
    return all(cuttable(i, node) for i in node.inputs)


def done_again(node, wanted):
    """What computing `wanted` slices of a node does again, in additions for an element."""
    return (len(wanted) - 1) * (node.op.cost + 0.5 * sum(i.ndim > 0 for i in node.inputs))


def plain(node):
    """The slices that take all of a node."""
    return (WHOLE[0],) * node.ndim


def cut_by(view):
    """The slices of its operand that a slice shows, in one form for those that are equal."""
    return composed(view.inputs[0], plain(view.inputs[0]), view.attrs["slices"])


def cuttable(operand, node):
    """Whether slices of `node` say which elements of an operand they take."""
    return all(
        repeated(d, n) or surely((d,), (n,))
        for d, n in zip(operand.shape, node.shape[node.ndim - operand.ndim :])
    )


def repeated(d, n):
    """Whether an axis of `d` elements, where a result has `n`, is one element, broadcast."""
    return type(d) is int and d == 1 and not (type(n) is int and n == 1)


def narrowed(slices, node, operand):
    """The slices of an operand that `slices` of `node` are computed from: what is repeated stays
    whole."""
    lead = node.ndim - operand.ndim
    axes = zip(operand.shape, node.shape[lead:], slices[lead:])
    return tuple(WHOLE[0] if repeated(d, n) else s for d, n, s in axes)


def rebuilt(roots, order, shown):
    """`roots` with the nodes of `shown` computed slice by slice."""
    new, made = {}, {}
    for node in order:
        if node.uid in shown:
            for s in shown[node.uid]:
                inputs = [seen(i, narrowed(s, node, i), shown, new, made) for i in node.inputs]
                made[node.uid, s] = make(node.op, inputs, node.attrs, line=node.line)
            continue
        if node.op.name == "slice" and node.inputs[0].uid in shown:
            found = made.get((node.inputs[0].uid, cut_by(node)))
            if found is not None:
                new[node.uid] = found
            continue
        inputs = [new[i.uid] for i in node.inputs]
        same = all(a is b for a, b in zip(inputs, node.inputs))
        new[node.uid] = (
            node if same else make(node.op, inputs, node.attrs, line=node.line, like=node)
        )
    return [new[n.uid] for n in roots]


def seen(operand, slices, shown, new, made):
    """Slices of an operand of what is computed slice by slice."""
    if all(s in WHOLE for s in slices) and operand.uid in new:
        return new[operand.uid]
    source = operand
    if operand.op.name == "slice" and operand.inputs[0].uid in shown:
        source = operand.inputs[0]
        slices = composed(source, operand.attrs["slices"], slices)
    if source.uid in shown:
        return made[source.uid, slices]
    return viewed("slice", new[operand.uid], {"slices": slices})
