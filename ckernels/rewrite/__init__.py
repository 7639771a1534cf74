"""The rewrite room: `optimise` takes roots to an equal graph, stabler and cheaper.

Sweeps: canonical forms together with the stabilising rules (one feeds the other); sums inside
products, where there are quotients; then composites are lowered while canonical forms and special
cases are applied to the result. Rules have names and can be left out by name or by family: views,
canonicalise, reductions, factors, stabilise, sums, one_hot, channels, specialise, parts, masks,
order, scans. Graphs with scans or choices take one more turn between the sweeps; what these hold is
rewritten like any graph.
"""

from functools import lru_cache

from ..base.config import config
from ..graph.walk import toposort
from . import (
    canonicalise,
    channels,
    factors,
    masks,
    onehot,
    order,
    pairs,
    parts,
    reductions,
    specialise,
    stabilise,
    sums,
    views,
)
from .attention import attention_blocks
from .convolutions import convolutions
from .engine import Matcher, rewrite
from .scan import opened as scans
from .stencils import stencils
from .vocabulary import classes_by_blocks

__all__ = ["optimise", "rules"]

FIRST = (views, canonicalise, reductions, stabilise, factors, parts, masks, order, scans)
SECOND = FIRST + (sums,)
LAST = (views, canonicalise, reductions, onehot, channels, specialise, scans)
# what sees all of a graph, and is left out by name like a rule
PASSES = {"attention", "convolutions", "stencils"}
ALWAYS = {"lower", "shapes_known"}  # the code generator cannot do without


def rules():
    """All rules, in the order in which they are tried."""
    return [r for room in (*SECOND, onehot, channels, specialise) for r in room.family]


@lru_cache(maxsize=64)
def _matchers(exclude, include):
    return [_chosen(rooms, exclude, include) for rooms in (FIRST, SECOND, LAST, (masks,))]


def _chosen(rooms, exclude, include):
    return Matcher(
        r
        for room in rooms
        for r in room.family
        if r.name in ALWAYS
        or (not {r.name, r.family} & exclude and (include is None or {r.name, r.family} & include))
    )


def masked(roots, exclude=(), include=None):
    """`roots` of any shapes with what is read and written at one mask as a choice: see masks."""
    chosen = None if include is None else frozenset(include)
    return rewrite(roots, _matchers(frozenset(exclude), chosen)[-1])


def _names(text):
    return frozenset(n for n in text.split(":") if n)


def optimise(roots, exclude=None, include=None, trace=None, refused=None):
    """`roots` rewritten: canonical, stable, special cases, composites lowered.

    exclude: names of rules and families to leave out (default: the flag optimizer_excluding).
    include: when given, only rules and families named in it (the flag optimizer=none: nothing).
    trace: a list that receives (rule name, node before, node after). refused: one that receives
    (softmax node, why its scores are stored). Shapes must be concrete.
    """
    if exclude is None:
        exclude = _names(config.optimizer_excluding)
    if include is None and config.optimizer == "none":
        include = ()
    chosen = None if include is None else frozenset(include)
    first, second, last, _ = _matchers(frozenset(exclude), chosen)
    by_blocks = chosen is None and "attention" not in exclude

    def blocks(nodes):
        if not by_blocks:
            return nodes
        return classes_by_blocks(attention_blocks(nodes, refused=refused), refused=refused)

    def final(nodes):
        if chosen is None and "convolutions" not in exclude:
            nodes = convolutions(nodes)
        nodes = rewrite(blocks(nodes), last, trace, normal)
        if chosen is not None or "stencils" in exclude:
            return nodes
        inside = stencils(nodes)
        return nodes if inside is nodes else rewrite(inside, last, trace, normal)

    normal = {}
    roots = pairs.as_pairs(roots)
    early = _first(roots, first, second, trace, normal)
    nodes = toposort(early)
    if not scans.wanted(nodes) and all(n.op.name != "choose" for n in nodes):
        return final(early)
    from .branches import lazify  # start-up

    early = lazify(early)
    key = (frozenset(exclude), chosen)
    if chosen is None and "scans" not in exclude:
        from .scan import passes  # start-up: few graphs have scans

        early = passes.improve(early, lambda nodes: _first(nodes, first, second), key + ("first",))
        early = _first(early, first, second, trace, normal)
    inside = frozenset(exclude) | {"difference_of_products"}
    return scans.with_bodies(final(early), lambda nodes: optimise(nodes, inside, include), key)


def _first(roots, first, second, trace=None, normal=None):
    """`roots` in canonical and stable forms."""
    normal = {} if normal is None else normal
    roots = rewrite(roots, first, trace, normal)
    if sums.wanted(toposort(roots)):
        roots = rewrite(roots, second, trace, normal)
    return roots
