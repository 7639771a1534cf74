"""What may share a loop: predicates that answer None, or the Reason why not.

A Join is a node that wants to be computed in a group that reads it; JOIN are the questions it has
to pass, the cheap ones first. Sizes are compared with ==, thresholds are asked last.
"""

from ..base.dtypes import COMPLEX
from ..graph.shapes import product
from ..graph.sizes import estimate, surely, value_of
from .gathers import KINDS, LONG_RUN, STORED_RUN, SUMMED_RUN, run_of
from .group import AXIS_VIEWS, GENERATORS, peel, together_deep, weight
from .policy import (
    LEAST_ROWS,
    MAX_COST,
    MAX_DEPTH,
    MAX_MEMBERS,
    MAX_STREAMS,
    MOST_STORED,
    SERIAL_REDUCTION,
    SHORT_ROW,
    SLACK,
    is_tail,
)
from .reasons import Reason

LOOK = 64  # nodes of a row program that are looked at for the reduction behind it

FULL = Reason("this loop holds {} operations already", MAX_MEMBERS)
COSTLY = Reason("this loop has enough expensive operations already for one kernel")
DEEP = Reason("this loop has a long chain of operations that wait for each other already")
WIDE = Reason("this loop would read more than {} tensors and thrash the prefetchers", MAX_STREAMS)
CHUNKED = Reason("it is a reduction in chunks, which another loop puts together")
INSIDE = Reason("this loop needs it along other axes than those it computes it along")
TWO_WAYS = Reason("this loop reads it along different axes at once")
DIAGONAL = Reason("this loop reads only a diagonal of it")
ELEMENT = Reason("this loop reads single elements of it")
EMPTY = Reason("this loop has no elements, but it has")
OTHER_AXES = Reason("it reduces over other axes than this loop")
BY_ROWS = Reason("this loop reduces along several axes, and it is made of what varies along some: "
                 "stored, they are one long row")  # fmt: skip
CHUNKS = Reason("this loop is a reduction in chunks, which runs over something else")
ONE_ROW = Reason("it is one long row: waiting for it would leave this loop to one thread")
PICKED = Reason("this loop reads it at indices, or at those that it holds")
SINGLE = Reason("each element has an index of its own, and vectors read no elements apart")
FEW = Reason("so few elements lie together at each index that they are copied first")
APART = {"gemm": Reason("it is a matrix product, which has a kernel of its own"),
         "opaque": Reason("it has a kernel of its own"),
         "movement": Reason("it is read through a view that moves its elements")}  # fmt: skip
RESHAPED = Reason("this loop reads it in another shape")
TAKEN = Reason("another loop computes it, and computing it twice costs more than reading it")


def whole(user):
    """The Reason why `user`, which is no loop, computes nothing of what it reads."""
    return Reason("{} takes whole tensors, not element by element", user)


def fusible(node):
    """Whether the code generator has a scalar expression or a reduction for `node`."""
    for x in (node, *node.inputs):
        if x.dtype is None or x.dtype in COMPLEX:
            return False
    if node.op.kind == "elementwise":
        return node.op.c is not None or node.op.name in GENERATORS
    return node.op.kind == "reduce"


class Join:
    """`node` as a member of `group`: its axis map, and what the group's loop becomes."""

    __slots__ = ("node", "group", "users", "amap", "covers", "reduced", "domain")

    def __init__(self, node, group, users):
        self.node, self.group, self.users = node, group, users
        self.amap = group.wants[node.uid][0]
        self.covers = {a for a in self.amap if a is not None}
        self.reduced, self.domain = group.reduced, group.domain

    def why_not(self):
        """The Reason against this join as far as node and group decide it; None when it fits."""
        for question in JOIN:
            reason = question(self)
            if reason is not None:
                return reason
        return None


class Beside(Join):
    """`node` as a member of `group`, whose loop runs over its elements but does not read it."""

    __slots__ = ()

    def __init__(self, node, group, users):
        self.node, self.group, self.users = node, group, users
        self.amap = tuple(None if n == 1 else a for a, n in enumerate(node.shape))
        self.covers = {a for a in self.amap if a is not None}
        self.reduced, self.domain = group.reduced, group.domain

    def why_not(self):
        node, group = self.node, self.group
        if node.op.kind != "elementwise" or group.reduced or len(group.domain) != node.ndim:
            return DIFFERENT
        if not surely(group.domain, list(node.shape)):
            return DIFFERENT
        return has_room(self)


def is_whole(join):
    return CHUNKED if join.node.op.name == "partial" else None


def has_room(join):
    node, group = join.node, join.group
    if len(group.varying) + len(group.held) + len(node.inputs) > MAX_STREAMS:
        new = {x.uid for x in (peel(x, (0,) * x.ndim)[0] for x in node.inputs) if _wide(x)}
        if len((group.varying | group.held | new) - group.maps.keys() - {node.uid}) > MAX_STREAMS:
            return WIDE
    if group.chain_with(node) > MAX_DEPTH:
        return DEEP
    members, cost = len(group.nodes) + 1, group.cost + weight(node)
    if members <= MAX_MEMBERS and cost <= MAX_COST and group.room is None:
        return None
    reason = group.room or (FULL if members > MAX_MEMBERS else COSTLY)
    if members > MAX_MEMBERS * SLACK or cost > MAX_COST * SLACK:
        return reason
    if is_tail(node, group, join.users, fusible):
        return None
    group.room = reason
    return reason


def is_read_one_way(join):
    node, group, amap = join.node, join.group, join.amap
    if node.uid in group.maps:
        return INSIDE
    if node.uid in group.held:
        return PICKED
    if len(group.wants[node.uid]) != 1:
        return TWO_WAYS
    if len(join.covers) != len(amap) - amap.count(None):
        return DIAGONAL
    if None in amap and any(a is None and n != 1 for a, n in zip(amap, node.shape)):
        return ELEMENT  # a random state
    return None


def loops_agree(join):
    """The loop runs over what the node varies along, or can be made to."""
    node, group = join.node, join.group
    if node.op.kind == "reduce":
        return reduction_fits(join)
    if node.op.name in KINDS and join.covers != group.wide():
        return Reason("it has shape {}, and this loop runs over {}", node.shape, group.domain)
    if node.op.name in GENERATORS or join.covers == group.wide() or not _wide(node):
        return None
    if group.partial:
        return CHUNKS
    if not group.reduced:
        join.reduced = row_axes(join)
    if join.covers != group.wide() - set(join.reduced):
        return Reason("it has shape {}, and this loop runs over {}", node.shape, group.domain)
    return None


def reduction_fits(join):
    """The loop reduces over the same axes, or has none left but those, or can be the epilogue."""
    node, group, covers = join.node, join.group, join.covers
    x = node.inputs[0]
    sizes = [x.shape[a] for a in node.attrs["axes"] if x.shape[a] != 1]
    if group.partial:
        return CHUNKS
    if not sizes:
        return OTHER_AXES
    if group.reduced:
        same = covers == group.outer() and [group.domain[a] for a in group.reduced] == sizes
        return None if same else OTHER_AXES
    free = sorted(group.wide() - covers)
    if not free:  # the group so far is this reduction's epilogue
        rows = group.domain if covers else []  # one row is none
        join.reduced = tuple(range(len(rows), len(rows) + len(sizes)))
        join.domain = rows + sizes
        return None
    if [group.domain[a] for a in free] != sizes:
        return OTHER_AXES
    if not covers and product(sizes) > SERIAL_REDUCTION:
        return ONE_ROW
    join.reduced = tuple(free)
    return None


def row_axes(join):
    """The axes a row-level node leaves free, when a reduction over just those feeds it."""
    node, group = join.node, join.group
    if not join.covers:
        return ()
    free = tuple(sorted(group.wide() - join.covers))
    sizes = [group.domain[a] for a in free]
    seen, stack = set(), [node]
    while stack and len(seen) < LOOK:
        x = stack.pop()
        while x.op.name in AXIS_VIEWS:
            x = x.inputs[0]
        if x.uid in seen or x.size != node.size:
            continue
        seen.add(x.uid)
        if x.op.kind == "reduce" and x.op.name != "partial":
            source = x.inputs[0]
            if [source.shape[a] for a in x.attrs["axes"] if source.shape[a] != 1] == sizes:
                return free
        elif fusible(x):
            stack.extend(x.inputs)
    return ()


def loop_runs(join):
    """No value joins a loop over no elements, unless it has none itself."""
    if 0 in join.domain and any(
        n == 0 and a not in join.reduced for a, n in enumerate(join.domain)
    ):
        return None if any(n == 0 for n in join.node.shape) else EMPTY
    return None


def gathers_rows(join):
    """A gather is of rows that are worth a loop of their own.

    That of one place is read there as any tensor is: 220 rows of a Cholesky decomposition, of which
    each turn multiplies two, take 0.8 ms, 4.4 where they are copied.
    """
    node, group = join.node, join.group
    if node.op.name not in KINDS or all(n.size == 1 for n in node.inputs[1:]):
        return None
    axis = run_of(node)
    if axis is None:
        return SINGLE
    least = SUMMED_RUN if group.reduced else STORED_RUN
    if join.amap[axis] in group.reduced:
        least = LONG_RUN
    return FEW if value_of(node.shape[axis]) < least else None


def searches(node):
    """Whether a reduction looks for a place."""
    return node.attrs.get("kind", node.op.name) in ("argmax", "argmin")


def rows_are_long(join):
    """A reduction along several axes at once takes what varies along some of them row by row: where
    rows are short, or a place is looked for, storing it first takes less time."""
    node, group = join.node, join.group
    wide, last = group.wide(), len(join.domain) - 1
    if node.op.kind != "elementwise" or join.covers != wide or len(wide) < 2:
        return None
    if not group.partial and (len(join.reduced) < 2 or last not in join.reduced):
        return None
    short = value_of(join.domain[last]) <= SHORT_ROW
    if not short and not any(searches(n) for n in group.nodes):
        return None
    if estimate(*join.domain) > MOST_STORED:
        return None
    seen, stack = set(), [node]
    while stack and len(seen) < LOOK:
        x = stack.pop()
        for y in () if x.uid in seen or x.op.kind != "elementwise" else x.inputs:
            base, along = peel(y, tuple(range(y.ndim)))
            axes = sum(a is not None and y.shape[a] != 1 for a in along)
            if 0 < axes < len(wide):
                group.stored = True
                return BY_ROWS
            stack.append(base)
        seen.add(x.uid)
    return None


JOIN = (is_whole, is_read_one_way, has_room, loops_agree, loop_runs, gathers_rows, rows_are_long)


def _wide(node):
    """Whether a node has any axis of a size other than 1."""
    for n in node.shape:
        if n != 1:
            return True
    return False


def in_the_way(units, readers, group):
    """The Reason why what flows into these units comes back to `group`, or None."""
    for number in readers:
        if units.reaches([number], group):
            return Reason(
                "{} needs it first, and this loop needs what comes of that",
                units.members(number)[-1],
            )
    return None


# ---- loops side by side --------------------------------------------------------------------------

DIFFERENT = Reason("they run over other domains or reduce over other axes")
UNLIKE = Reason("they read it along other axes")
FEW_ROWS = Reason("one of them goes through few long rows, which would leave both to few threads")
CROSSED = Reason("one of them makes what the other reads along other axes")
TOGETHER_FULL = Reason("they hold more operations than one kernel should")
TOGETHER_WIDE = Reason("they would read more than {} tensors", MAX_STREAMS)
BETWEEN = Reason("something lies between them: one needs what comes of the other")


def merge_fits(a, b, uid):
    """The Reason why loops `a` and `b`, which both make or read a tensor, cannot be one, or None.

    Not asked here is whether something lies between the two.
    """
    if len(a.nodes) + len(b.nodes) > MAX_MEMBERS or a.cost + b.cost > MAX_COST:
        return TOGETHER_FULL
    if a.depth + b.depth > MAX_DEPTH and together_deep(a, b) > MAX_DEPTH:
        return TOGETHER_FULL
    shared = a.seen_as(uid)
    if len(shared) != 1 or shared != b.seen_as(uid) or shared[0].count(None) == len(shared[0]):
        return UNLIKE
    for k in a.maps:
        if (k in b.maps or k in b.wants) and not a.sees_alike(b, k):
            return CROSSED
    for k in b.maps:
        if k in a.wants and not a.sees_alike(b, k):
            return CROSSED
    if not (a.held.isdisjoint(b.maps) and b.held.isdisjoint(a.maps)):
        return PICKED
    if a.streams() + b.streams() > MAX_STREAMS:
        return TOGETHER_WIDE
    return same_loop(a, b)


def same_loop(a, b):
    """Two groups can share a nest: the same, or a flat one beside the other's rows."""
    if a.partial != b.partial or a.domain != b.domain:
        return DIFFERENT
    if a.partial:
        mine, yours = ([n.shape for n in g.nodes if n.op.name == "partial"] for g in (a, b))
        alike = all(n in yours for n in mine) and all(n in mine for n in yours)
        return None if a.reduced == b.reduced and alike else DIFFERENT
    if a.reduced == b.reduced:
        return None
    if a.reduced and b.reduced:
        return DIFFERENT
    rows = a if a.reduced else b
    if rows.stored:
        return BY_ROWS
    outer = product([n for k, n in enumerate(rows.domain) if k not in rows.reduced])
    if product(rows.domain) <= SERIAL_REDUCTION or outer >= LEAST_ROWS:
        return None
    return FEW_ROWS
