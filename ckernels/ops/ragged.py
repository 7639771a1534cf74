"""Slices whose length a step of a scan decides (`sum(x[:i])`): tensors of one length with a mask.

`masked` gives the outputs of a step in which each such slice is the whole axis, or as many elements
as there are at most; what sums, extremes, products and stores read of it is chosen by comparing
places with the bounds. Where a length gets into anything else the outputs stay as they are, and
NumPy runs the step. What lies outside of a slice counts as its first element, so that nothing
overflows there which would not inside.
"""

from typing import NamedTuple

import numpy as np

from ..base import dtypes
from ..graph.node import Node, make
from ..graph.shapes import axis_of
from ..graph.walk import toposort, toposort_cut
from .base import cast, expand, scalar
from .elementwise import (
    add,
    clip,
    maximum,
    minimum,
    mul,
    stop_gradient,
    sub,
    true_div,
    where,
)
from .filling import arange
from .indexing.advanced import advanced_take, take
from .linalg import matmul
from .logic import ge, gt, logical_and, lt
from .shape import size_of

NEUTRAL = {"sum": 0, "prod": 1, "any": False, "all": True}
ALONG = {"expand", "squeeze", "transpose"}


class Refused(Exception):
    """A length that is only known in a step decides something that no mask can."""


class Extent(NamedTuple):
    """An axis of `size` places of which low <= place < high count. Equal keys: equal extents, of
    as many places; where that is known of slices of axes of other lengths, `spare` says that there
    may be places that never count: 1 at the end, -1 at the beginning."""

    key: tuple
    size: object
    low: object
    high: object
    spare: int = 0

    def mask(self, ndim, axis):
        """Which places count, as a tensor that broadcasts along the other axes."""
        at = arange(0, self.size, 1, "int64")
        inside = lt(at, self.high)
        if self.low is not None:
            inside = logical_and(inside, ge(at, self.low))
        return expand(inside, tuple(k for k in range(ndim) if k != axis))


class Ragged(NamedTuple):
    """A tensor with the places outside in it: node; extents: {axis: Extent}; bare: a part of a
    tensor, whose places outside hold other elements of that."""

    node: Node
    extents: dict
    bare: bool = False


def masked(outputs, inputs, inside=()):
    """`outputs` of a step with the placeholders `inputs`, without slices of computed lengths.
    inside: (size of the axis, start, stop) of slices of which both ends are places of their axis,
    or its end, in all steps."""
    cut = {n.uid for n in inputs}
    order = toposort_cut(outputs, cut)
    if not any(n.op.name in ("dynamic_slice", "dynamic_write") for n in order):
        return outputs
    try:
        return Masked(order, cut, inside).outputs(outputs)
    except Refused:
        return outputs


def unmasked(nodes, step=False):
    """A store in a slice whose length a step of a scan under `nodes` decides, for which no mask
    stands; else None. NumPy runs such steps, op by op."""
    for node in toposort(nodes):
        if node.op.name == "scan":
            found = unmasked(node.attrs["body"].outputs, True)
            if found is not None:
                return found
        if step and node.op.name == "dynamic_write":
            bounds = node.inputs[2:]
            for low, high, *_ in node.attrs["template"]:
                ends = [bounds[b[1]] if isinstance(b, tuple) else b for b in (low, high)]
                if any(isinstance(b, Node) for b in ends) and distance(*ends) is None:
                    return node
    return None


class Masked:
    """The nodes of a step, each as what it becomes."""

    def __init__(self, order, inputs, inside):
        self.inside, self.made, varies = inside, {}, set(inputs)
        for node in order:
            if any(i.uid in varies for i in node.inputs):
                varies.add(node.uid)
            elif node.uid not in varies:
                continue
            if node.uid not in inputs:
                try:
                    self.made[node.uid] = self.of(node)
                except Refused:
                    self.made[node.uid] = None  # a store may do without it

    def outputs(self, nodes):
        found = [self.get(n) for n in nodes]
        if any(isinstance(n, Ragged) for n in found):
            raise Refused
        return found

    def get(self, node):
        found = self.made.get(node.uid, node)
        if found is None:
            raise Refused
        return found

    def plain(self, node):
        found = self.get(node)
        if isinstance(found, Ragged):
            raise Refused
        return found

    def of(self, node):
        name = node.op.name
        if name == "dynamic_slice" and None in node.shape:
            return self.cut(node)
        if name == "dynamic_write":
            return self.write(node)
        ins = [self.get(i) for i in node.inputs]
        if not any(isinstance(i, Ragged) for i in ins):
            if all(a is b for a, b in zip(ins, node.inputs)):
                return node
            return make(node.op, ins, node.attrs)
        rule = RULES.get(name) or (elementwise if node.op.kind == "elementwise" else None)
        if rule is None:
            raise Refused
        return rule(node, *ins)

    # ---- slices -----------------------------------------------------------------------------

    def cut(self, node):
        """A dynamic slice: of axes with computed bounds all places, or those of a window."""
        x, *bounds = [self.plain(i) for i in node.inputs]
        rest, extents = [], {}
        exact = {k: v for k, v in node.attrs.items() if k == "exact"}
        for axis, slices in enumerate(node.attrs["template"]):
            if not any(isinstance(b, tuple) for b in slices):
                rest.append(slices)
                continue
            rest.append((None, None, 1))
            x, extents[axis], _ = self.extent(x, axis, slices, bounds)
        if any(s != (None, None, 1) for s in rest):
            x = make("slice", (x,), {**exact, "slices": tuple(rest)})
        return Ragged(x, extents, True)

    def write(self, node):
        """A store in a dynamic slice: a choice between the old elements and the new ones."""
        x, y, *bounds = node.inputs
        x, bounds, extents = self.plain(x), [self.plain(b) for b in bounds], {}
        places = [(None, None, 1)] * x.ndim
        for axis, slices in enumerate(node.attrs["template"]):
            if any(isinstance(b, tuple) for b in slices):
                _, extents[axis], places[axis] = self.extent(x, axis, slices, bounds, False)
            else:
                places[axis] = slices
        if y.op.name in ("advanced_set", "advanced_inc") and is_part(y.inputs[0], node):
            return self.write_indexed(node, x, extents, places, y)
        return chosen(x, extents, places, self.get(y), node.attrs["inc"])

    def extent(self, x, axis, slices, bounds, windows=True):
        """(x with all places that a slice along `axis` may take, the Extent of those it takes, the
        static slice that these places are of x)."""
        start, stop = (bounds[b[1]] if isinstance(b, tuple) else b for b in slices[:2])
        if slices[2] in (None, 1) and (x.shape[axis], start, stop) in self.inside:
            e, place = aligned(x.shape[axis], start, stop)
            return cut_to(x, {axis: place}), e, place
        return (*extent(x, axis, slices, bounds, windows), (None, None, 1))

    def write_indexed(self, node, x, extents, places, inner):
        """x[i, :j] = y: row i of x with y in the place of its first j elements."""
        template, at = inner.attrs["template"], [self.plain(i) for i in inner.inputs[2:]]
        kept = [axis for axis, t in enumerate(template) if t == ":"]
        if (
            node.attrs["inc"]
            or any(i.ndim for i in at)
            or len(kept) + len(at) != x.ndim
            or not extents.keys() <= {*kept}
        ):
            raise Refused
        row = advanced_take(x, at, template)
        extents = {kept.index(axis): e for axis, e in extents.items()}
        places = [places[axis] for axis in kept]
        new = self.get(inner.inputs[1])
        new = chosen(row, extents, places, new, inner.op.name == "advanced_inc")
        return make("advanced_set", (x, cast(new, x.dtype), *at), inner.attrs)


def inside(extents, ndim):
    """Which elements of a tensor lie within all extents."""
    first, *rest = [e.mask(ndim, axis) for axis, e in extents.items()]
    for mask in rest:
        first = logical_and(first, mask)
    return first


def is_part(part, write):
    """Whether `part` is what the store `write` changes, as it was before."""
    return (
        part.op.name == "dynamic_slice"
        and part.inputs[0] is write.inputs[0]
        and part.inputs[1:] == write.inputs[2:]
        and part.attrs["template"] == write.attrs["template"]
    )


def chosen(x, extents, places, y, inc):
    """x with `y` in a slice. places: which of x the extents are of, as static slices."""
    part = Ragged(cut_to(x, dict(enumerate(places))), extents)
    part, y = equal_places([part, y])
    new = stored(y, part.node, part.extents)
    new = add(part.node, new) if inc else new
    new = where(inside(part.extents, x.ndim), new, part.node)
    if part.node is x:
        return new
    slices = []
    for axis, (low, high, step) in enumerate(places):
        spare = part.extents[axis].spare if axis in part.extents else 0
        if spare:
            size = part.node.shape[axis]
            low = high - size if spare == -1 else low
            high = low + size
        slices.append((low, high, step))
    return make("set_slice", (x, cast(new, x.dtype)), {"slices": tuple(slices)})


def together(found):
    """Raggeds whose equal extents have as many places. found: [(Ragged, the name of each axis)]."""
    sizes = {}
    for x, names in found:
        for axis, e in x.extents.items():
            known = sizes.setdefault(names[axis], e.size)
            if e.spare:
                sizes[names[axis]] = min(known, e.size)
            elif known is not e.size and known != e.size:
                raise Refused
    made = []
    for x, names in found:
        node, extents = x.node, dict(x.extents)
        for axis, e in x.extents.items():
            gone = e.size - sizes[names[axis]] if e.spare else 0
            if not gone:
                continue
            rest = (None, e.size - gone, 1) if e.spare == 1 else (gone, None, 1)
            node = cut_to(node, {axis: rest})
            low, high = (e.low, e.high) if e.spare == 1 else (sub(e.low, gone), sub(e.high, gone))
            extents[axis] = e._replace(size=e.size - gone, low=low, high=high)
        made.append(Ragged(node, extents, x.bare))
    return made


def cut_to(x, places):
    """A static slice of x. places: {axis: slice}."""
    slices = tuple(places.get(axis, (None, None, 1)) for axis in range(x.ndim))
    whole = all(s == (None, None, 1) or s[:2] == (0, n) for s, n in zip(slices, x.shape))
    return x if whole else make("slice", (x,), {"slices": slices})


def aligned(size, start, stop):
    """(the Extent, the static slice that it is of) of a slice of which one end is the same in all
    steps: places count from there, so that slices of one length have equal extents."""
    start, stop = (b + size if type(b) is int and b < 0 else b for b in (start, stop))
    if isinstance(stop, Node):
        begin = 0 if start is None else start
        key, count = length(stop, begin, 1)
        return Extent(("head", key), size - begin, None, count, 1), (begin, size, 1)
    end = size if stop is None else stop
    key, count = length(start, end, -1)
    return Extent(("tail", key), end, sub(end, count), scalar(end, "int64"), -1), (0, end, 1)


def length(bound, other, sign):
    """(what tells it from others, node) of the number sign * (bound - other)."""
    found = terms(bound, sign, {})
    found[None] = found.get(None, 0) - sign * other
    key = tuple(sorted((n.uid, f) for n, f in found.items() if n is not None and f))
    nodes = {n.uid: n for n in found if n is not None}
    total = scalar(found[None], "int64")
    for uid, factor in key:
        total = add(total, mul(nodes[uid], scalar(factor, "int64")))
    return (found[None], *key), total


def stored(y, x, extents):
    """What is stored in a part of x, in all places of x."""
    node, own = (y.node, y.extents) if isinstance(y, Ragged) else (y, {})
    lead = x.ndim - node.ndim
    if any(axis + lead not in extents for axis in own):
        raise Refused
    for axis, e in extents.items():
        at = axis - lead
        if at in own:
            if own[at].key != e.key:
                raise Refused
        elif at >= 0 and node.shape[at] != 1:
            raise Refused  # of a length of its own
    return node


def extent(x, axis, slices, bounds, windows=True):
    """(x with all places that a slice along `axis` may take, the Extent of those it takes)."""
    size = size_of(x, axis)
    if x.shape[axis] == 0 or slices[2] not in (None, 1):
        raise Refused
    start, stop = (bounds[b[1]] if isinstance(b, tuple) else b for b in slices[:2])
    name = (x.shape[axis] if x.shape[axis] is not None else size.uid,)
    key = (*name, *(b.uid if isinstance(b, Node) else b for b in (start, stop)))
    low = None if start is None else place(start, size)
    high = size if stop is None else place(stop, size)
    width = distance(start, stop)
    if windows and width is not None and width > 0 and x.shape[axis] is not None:
        width = min(width, x.shape[axis])
        taken = take(x, clip(add(low, arange(0, width, 1, "int64")), 0, sub(size, 1)), axis)
        return taken, Extent(("window", *key), width, None, sub(high, low))
    return x, Extent(key, size, low, high)


def place(bound, size):
    """A bound of a slice as a place: counted from the front, within the axis."""
    if not isinstance(bound, Node):
        return clip(scalar(bound, "int64") if bound >= 0 else add(size, bound), 0, size)
    return clip(add(bound, where(lt(bound, 0), size, 0)), 0, size)


def distance(start, stop):
    """stop - start where it is the same in all steps, else None."""
    if not isinstance(start, Node) or not isinstance(stop, Node):
        return None
    left = terms(stop, 1, {})
    for node, factor in terms(start, 1, {}).items():
        left[node] = left.get(node, 0) - factor
    number = left.pop(None, 0)
    return None if any(left.values()) else number


def terms(node, factor, found):
    """{node: factor} of a sum of integers, its number under None."""
    name, ins = node.op.name, node.inputs
    if node.value is not None and not node.ndim:
        found[None] = found.get(None, 0) + factor * int(node.value)
    elif name in ("add", "sub"):
        terms(ins[0], factor, found)
        terms(ins[1], factor if name == "add" else -factor, found)
    elif name == "neg":
        terms(ins[0], -factor, found)
    elif name == "mul" and any(i.value is not None and not i.ndim for i in ins):
        k = 0 if ins[0].value is not None and not ins[0].ndim else 1
        terms(ins[1 - k], factor * int(ins[k].value), found)
    elif name == "cast" and ins[0].dtype in ("int32", "int64"):
        terms(ins[0], factor, found)
    else:
        found[node] = found.get(node, 0) + factor
    return found


# ---- what is done with slices ------------------------------------------------------------------


def safe(x):
    """The node of a Ragged whose places outside hold its first element, or a tensor as it is."""
    if not isinstance(x, Ragged):
        return x
    node = x.node
    if x.bare:
        for axis, e in x.extents.items():
            if not dtypes.is_float(node.dtype):
                continue
            other = scalar(1, node.dtype)
            if isinstance(node.shape[axis], int):  # else there may be none
                first = scalar(0, "int64") if e.low is None else minimum(e.low, sub(e.size, 1))
                other = expand(take(stop_gradient(node), first, axis), (axis,))
            node = where(e.mask(node.ndim, axis), node, other)
    return node


def neutral(x, axes, value):
    """The node of a Ragged with `value` in the places outside along some axes."""
    node = x.node
    for axis in axes:
        if axis in x.extents:
            mask = x.extents[axis].mask(node.ndim, axis)
            node = where(mask, node, scalar(value, node.dtype))
    return node


def elementwise(node, *ins):
    extents, ins = {}, aligned_by_axis(ins)
    for x in ins:
        if isinstance(x, Ragged):
            for axis, e in x.extents.items():
                back = axis - x.node.ndim
                if extents.setdefault(back, e).key != e.key:
                    raise Refused
    for x in ins:
        shape = x.node.shape if isinstance(x, Ragged) else x.shape
        own = {a - len(shape) for a in x.extents} if isinstance(x, Ragged) else ()
        for back in extents:
            if -back <= len(shape) and back not in own and shape[back] != 1:
                raise Refused
    made = make(node.op, [safe(x) for x in ins], node.attrs)
    return Ragged(made, {made.ndim + back: e for back, e in extents.items()})


def aligned_by_axis(ins):
    """Operands that are broadcast against each other and read, equal extents of as many places."""
    heads = {(a - x.node.ndim, e.key) for x in ins if isinstance(x, Ragged)
             for a, e in x.extents.items() if e.key[0] == "head"}  # fmt: skip
    return equal_places([from_the_front(x, heads) if isinstance(x, Ragged) else x for x in ins])


def equal_places(ins):
    """The same without reading any from elsewhere."""
    found = [(x, {a: a - x.node.ndim for a in x.extents}) for x in ins if isinstance(x, Ragged)]
    made = iter(together(found))
    return [next(made) if isinstance(x, Ragged) else x for x in ins]


def as_head(e):
    """The Extent of as many first places as e has last ones."""
    return Extent(("head", *e.key[1:]), e.size, None, sub(e.high, e.low), 1)


def from_the_front(x, heads):
    """x with the last places of an axis, of which another operand has as many first ones (`heads`:
    their axes and keys), read one by one from their first on: as in x[k:] * x[:n - k]."""
    node, extents = x.node, dict(x.extents)
    for axis, e in x.extents.items():
        if e.key[0] == "tail" and (axis - node.ndim, ("head", *e.key[1:])) in heads:
            at = clip(add(e.low, arange(0, e.size, 1, "int64")), 0, sub(e.size, 1))
            node, extents[axis] = take(node, at, axis), as_head(e)
    return x._replace(node=node, extents=extents)


def spread(node, x, like):
    """broadcast_like: the axes of `like`, whose slices x has too, or that it repeats along."""
    if not isinstance(like, Ragged):
        raise Refused
    x, like = aligned_by_axis([x, like])
    own = {a - x.node.ndim: e for a, e in x.extents.items()} if isinstance(x, Ragged) else {}
    shape = x.node.shape if isinstance(x, Ragged) else x.shape
    for axis, e in like.extents.items():
        back = axis - like.node.ndim
        if back in own:
            if own[back].key != e.key:
                raise Refused
        elif -back <= len(shape) and shape[back] != 1:
            raise Refused
    made = make(node.op, (safe(x), like.node), node.attrs)
    return Ragged(made, like.extents)


def flipped(node, x):
    """A slice that turns axes around, some of them ones of slices."""
    y, extents = x.node, {}
    turned = [s == (None, None, -1) for s in node.attrs["slices"]]
    if any(s not in ((None, None, -1), (None, None, 1)) for s in node.attrs["slices"]):
        raise Refused
    for axis, e in x.extents.items():
        if not turned[axis]:
            extents[axis] = e
            continue
        turned[axis] = False
        last = sub(e.high, scalar(1, "int64"))
        at = sub(last, arange(0, e.size, 1, "int64"))
        y = take(y, clip(at, 0, sub(e.size, 1)), axis)
        if e.low is None:
            extents[axis] = e
        elif e.spare:
            extents[axis] = as_head(e)
        else:
            extents[axis] = Extent(("flip", *e.key), e.size, None, sub(e.high, e.low))
    rest = tuple((None, None, -1 if t else 1) for t in turned)
    if any(turned):
        y = make("slice", (y,), {**node.attrs, "slices": rest})
    return Ragged(y, extents, x.bare)


def reduced(node, x):
    axes, name = node.attrs["axes"], node.op.name
    if not any(a in x.extents for a in axes):
        if name not in NEUTRAL and name not in ("max", "min", "mean"):
            raise Refused
        made = make(node.op, (safe(x),), node.attrs)
    elif name == "mean":
        total = make("sum", (cast(neutral(x, axes, 0), dtypes.computed(x.node.dtype)),), node.attrs)
        made = cast(true_div(total, cast(count(x, axes), total.dtype)), node.dtype)
    elif name in NEUTRAL:
        made = make(node.op, (neutral(x, axes, NEUTRAL[name]),), node.attrs)
    else:
        made = extremum(node, x, axes)
    left = [a for a in range(x.node.ndim) if a not in axes]
    extents = {left.index(a): e for a, e in x.extents.items() if a in left}
    return Ragged(made, extents) if extents else made


def extremum(node, x, axes):
    """The least or greatest element, or where it is: what is outside comes last. Slices
    without elements are an error, as in NumPy."""
    name, dtype = node.op.name, x.node.dtype
    if name not in ("max", "min", "argmax", "argmin") or dtypes.is_complex(dtype):
        raise Refused
    kind = np.dtype(dtype).kind if dtype in dtypes.BOOL + dtypes.INTEGERS else "f"
    limits = np.iinfo(dtype) if kind in "iu" else None
    ends = (
        (limits.min, limits.max) if limits else (False, True) if kind == "b" else (-np.inf, np.inf)
    )
    made = make(node.op, (neutral(x, axes, ends[name.endswith("min")]),), node.attrs)
    some = [gt(sub(x.extents[a].high, 0 if x.extents[a].low is None else x.extents[a].low), 0)
            for a in axes if a in x.extents]  # fmt: skip
    if name.startswith("arg"):
        if len(axes) > 1:
            raise Refused
        low = x.extents[axes[0]].low
        # where all that is inside is as what is outside, the first place is one of these
        made = made if low is None else maximum(sub(made, low), 0)
    first = scalar(0, "int64")  # the place of the only one, which is looked at: no call of Python
    for each in some:
        first = where(each, first, scalar(1, "int64"))
    return take(expand(made, (0,)), first, 0)


def count(x, axes):
    """How many elements a sum over these axes takes."""
    found = scalar(1, "int64")
    for a in axes:
        e = x.extents.get(a)
        one = size_of(x.node, a) if e is None else sub(e.high, 0 if e.low is None else e.low)
        found = mul(found, maximum(one, 0))
    return found


def renamed(node, x):
    """An expand, squeeze or transpose."""
    name, attrs = node.op.name, node.attrs
    made = make(node.op, (x.node,), attrs)
    if name == "transpose":
        where_to = {source: k for k, source in enumerate(attrs["perm"])}
    elif name == "expand":
        where_to = dict(enumerate(k for k in range(made.ndim) if k not in attrs["axes"]))
    else:
        if any(a in x.extents for a in attrs["axes"]):
            raise Refused
        where_to = {
            a: k for k, a in enumerate(a for a in range(x.node.ndim) if a not in attrs["axes"])
        }
    return Ragged(made, {where_to[a]: e for a, e in x.extents.items()}, x.bare)


def product(node, a, b):
    """A product of matrices, or of vectors: what is outside is zero in both."""
    if any((v.node if isinstance(v, Ragged) else v).ndim != 2 for v in (a, b)):
        raise Refused
    named = [(v, names) for v, names in ((a, ("rows", "inner")), (b, ("inner", "columns")))
             if isinstance(v, Ragged)]  # fmt: skip
    made = iter(together(named))
    a, b = [next(made) if isinstance(v, Ragged) else v for v in (a, b)]
    (x, y), extents = [v.node if isinstance(v, Ragged) else v for v in (a, b)], {}
    inner = [v.extents.get(k) if isinstance(v, Ragged) else None for v, k in ((a, 1), (b, 0))]
    if (inner[0] is None) != (inner[1] is None) or inner[0] and inner[0].key != inner[1].key:
        raise Refused
    if inner[0]:
        x, y = neutral(a, (1,), 0), neutral(b, (0,), 0)
    for v, k in ((a, 0), (b, 1)):
        if isinstance(v, Ragged) and k in v.extents:
            extents[k] = v.extents[k]
    made = matmul(x, y)
    return Ragged(made, extents) if extents else made


def taken(node, x, at):
    """One index along an axis that is whole."""
    axis = axis_of(node.attrs["axis"], node.inputs[0].ndim)
    if not isinstance(x, Ragged) or isinstance(at, Ragged) or axis in x.extents or at.ndim:
        raise Refused
    extents = {a - (a > axis): e for a, e in x.extents.items()}
    return Ragged(take(x.node, at, axis), extents, x.bare)


RULES = {**dict.fromkeys((*NEUTRAL, "max", "min", "mean", "argmax", "argmin"), reduced),
         **dict.fromkeys(ALONG, renamed), "matmul": product, "take": taken, "slice": flipped,
         "broadcast_like": spread}  # fmt: skip
