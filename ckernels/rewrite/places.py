"""Which elements of a tensor a chain of views shows, and over which of them a reduction goes.

The order in which views were written does not count, nor on which side of exp or a reduction they
stand: sum(turned(e)[::-1]) and sum(e) are of the same elements. Axes of one element have no place.
"""

from typing import NamedTuple

from ..graph.op import having
from ..graph.sizes import SizeRange, surely
from .engine import behind_views, number, seen_by

GATHERS = having("gathers")
FUNCTIONS = {"exp", "sigmoid"}  # f(view(x)) and view(f(x)) are taken for one


class Places(NamedTuple):
    """lines: by axis, (axis of the source, SizeRange), or None for one element. at: the places
    along axes of the source that are not shown; over: lines a reduction goes over; both by axis.
    """

    source: object  # a node, or a Reordered
    lines: tuple
    at: dict = {}
    over: dict = {}


class Reordered(NamedTuple):
    """What has no lines in its source: a reshape, or a gather by `others`, of Places."""

    op: str
    of: object
    shape: tuple
    others: tuple = ()
    attrs: object = None


def reduced_axes(node, op, x):
    """The axes over which `node`, aligned with `x`, is the reduction `op` of x; else None.

    Axes of one element are named only where there is no other.
    """
    if behind_views(node)[0].op.name != op:
        return None
    function = x.op.name if x.op.name in FUNCTIONS else None
    found, whole = places(node, function, op), places(x, function)
    if found is None or whole is None:
        return None
    lead = (None,) * (x.ndim - node.ndim)
    found = found._replace(lines=lead + found.lines)
    pairs = zip(found.lines, whole.lines)
    axes = tuple(k for k, (a, b) in enumerate(pairs) if a is None and b is not None)
    axes = axes or tuple(k for k, line in enumerate(whole.lines) if line is None)[:1]
    return axes if axes and same(found, reduced(whole, axes, keep=True)) else None


def maximum_axes(node, x):
    """The axes over which `node`, aligned with `x`, is max(x), or that without infinities."""
    core, chain = behind_views(node)
    return reduced_axes(seen_by(chain, with_infinities(core)), "max", x)


def with_infinities(node):
    """m of where(isinf(m), 0, m), which log(sum(exp(x - m))) + m is often written with."""
    if node.op.name == "where":
        test, zero, top = node.inputs
        if test.op.name == "isinf" and test.inputs[0] is top and number(zero) == 0:
            return top
    return node


def places(node, function=None, op=None):
    """The Places of `node` behind views, one elementwise `function` and one reduction `op` (None:
    without); None where these are not there, or a view takes an axis apart.
    """
    name = node.op.name
    if name == op:
        inner = places(node.inputs[0], function)
        return inner and reduced(inner, node.attrs["axes"])
    if name == function:
        return None if op else places(node.inputs[0])
    if name in MOVES:
        inner = places(node.inputs[0], function, op)
        return inner and MOVES[name](node, inner)
    if name in GATHERS:
        inner = places(node.inputs[0], function, op)
        others = node.inputs[1:]
        return inner and all_of(Reordered(name, inner, node.shape, others, node.attrs), node.shape)
    return None if function or op else all_of(node, node.shape)


def all_of(source, shape):
    """All elements of a source of `shape`, whose axes of one element do not count."""
    sizes = iter(enumerate(d for d in shape if not surely(d, 1)))
    lines = []
    for d in shape:
        axis = None if surely(d, 1) else next(sizes)
        lines.append(axis and (axis[0], SizeRange(0, d)))
    return Places(source, tuple(lines))


def shape_of(source):
    return tuple(d for d in source.shape if not surely(d, 1))


# --- views ----------------------------------------------------------------------------------------


def _slice(node, inner):
    lines, at = [], dict(inner.at)
    for bounds, line, d in zip(node.attrs["slices"], inner.lines, node.shape):
        if line is not None:
            axis, places = line
            places = places.within(bounds)
            if surely(d, 1):
                at[axis] = places.start
            line = None if surely(d, 1) else (axis, places)
        elif not surely(d, 1):
            return None
        lines.append(line)
    return inner._replace(lines=tuple(lines), at=at)


def _transpose(node, inner):
    return inner._replace(lines=tuple(inner.lines[k] for k in node.attrs["perm"]))


def _expand(node, inner):
    old, new = iter(inner.lines), node.attrs["axes"]
    return inner._replace(lines=tuple(None if k in new else next(old) for k in range(node.ndim)))


def _squeeze(node, inner):
    gone = node.attrs["axes"]
    if any(inner.lines[k] is not None for k in gone):
        return None
    return inner._replace(lines=tuple(a for k, a in enumerate(inner.lines) if k not in gone))


def _reshape(node, inner):
    if inner.over:
        return None
    of = inner.source if in_order(inner) else inner
    if _reordered(of):
        of = of.of
    of = of if isinstance(of, Places) else all_of(of, shape_of(of))
    lines = [line for line in of.lines if line]
    if surely([r.count for _, r in lines], list(shape_of(node))):
        lines = iter(lines)
        return of._replace(lines=tuple(None if surely(d, 1) else next(lines) for d in node.shape))
    return all_of(Reordered("reshape", of, node.shape), node.shape)


MOVES = {"slice": _slice, "transpose": _transpose, "expand": _expand, "squeeze": _squeeze,
         "reshape": _reshape}  # fmt: skip


def complete(found):
    """Whether each element of the source is shown once, in any order."""
    sizes = shape_of(found.source)
    lines = [line for line in found.lines if line] + list(found.over.items())
    return len(lines) == len(sizes) and all(
        abs(line.step) == 1 and surely(line.count, sizes[axis]) for axis, line in lines
    )


def in_order(found):
    """Whether the elements of the source are shown as they lie."""
    lines = [line for line in found.lines if line]
    order = [axis for axis, _ in lines]
    return complete(found) and order == sorted(order) and all(r.step == 1 for _, r in lines)


# --- reductions -----------------------------------------------------------------------------------


def reduced(found, axes, keep=False):
    """`found` after a reduction over `axes`; keep: which stay as axes of one element."""
    over = dict(found.over)
    over.update(found.lines[k] for k in axes if found.lines[k] is not None)
    lines = [None if k in axes else line for k, line in enumerate(found.lines)]
    if not keep:
        lines = [line for k, line in enumerate(lines) if k not in axes]
    found = found._replace(lines=tuple(lines), over=over)
    while not any(found.lines) and _reordered(found.source) and complete(found):
        of = found.source.of  # in which order all elements lie does not count
        found = Places(of.source, found.lines, of.at, {**of.over, **dict(filter(None, of.lines))})
    return found


def _reordered(source):
    return isinstance(source, Reordered) and source.op == "reshape"


# --- comparing ------------------------------------------------------------------------------------


def same(a, b):
    """Whether two nodes, Places or Reordered are the same for all shapes of the class."""
    if a is b:
        return True
    if isinstance(a, Reordered) and isinstance(b, Reordered):
        return (
            a.op == b.op
            and a.others == b.others
            and a.attrs == b.attrs
            and surely(shape_of(a), shape_of(b))
            and same(a.of, b.of)
        )
    if not (isinstance(a, Places) and isinstance(b, Places)):
        return False
    return (
        same(a.source, b.source)
        and len(a.lines) == len(b.lines)
        and all(_same_line(p, q) for p, q in zip(a.lines, b.lines))
        and a.at.keys() == b.at.keys()
        and all(surely(p, b.at[k]) for k, p in a.at.items())
        and a.over.keys() == b.over.keys()
        and all(surely(_forward(p), _forward(b.over[k])) for k, p in a.over.items())
    )


def _same_line(p, q):
    return p is q or (
        p is not None and q is not None and p[0] == q[0] and surely(tuple(p[1]), tuple(q[1]))
    )


def _forward(line):
    """The elements of a line from the lowest on."""
    return line.low, line.count, abs(line.step)
