"""The rewrite room: `optimise` takes roots with concrete shapes to an equal graph, stabler and cheaper.

Two sweeps: canonical forms together with the stabilising rows (one feeds the other), then composites are
lowered while canonical forms and special cases are applied to the result. Rules have names and can be
left out by name or by family: views, canonicalise, products, stabilise, specialise.
"""
from functools import lru_cache

from ..config import config
from . import canonicalise, products, specialise, stabilise, views
from .engine import Matcher, rewrite

__all__ = ["optimise", "rules"]

FIRST = (views, canonicalise, stabilise, products)
SECOND = (views, canonicalise, specialise)
ALWAYS = {"lower", "shapes_known"}      # the code generator cannot do without


def rules():
    """All rules, in the order in which they are tried."""
    return [r for room in (views, canonicalise, stabilise, products, specialise)
            for r in room.family]


@lru_cache(maxsize=64)
def _matchers(exclude, include):
    def chosen(rooms):
        return Matcher(r for room in rooms for r in room.family if r.name in ALWAYS or (
            not {r.name, r.family} & exclude and (include is None or {r.name, r.family} & include)))
    return chosen(FIRST), chosen(SECOND)


def _names(text):
    return frozenset(n for n in text.split(":") if n)


def optimise(roots, exclude=None, include=None, trace=None):
    """`roots` rewritten: canonical, stable, special cases, composites lowered.

    exclude: names of rules and families to leave out (default: the flag optimizer_excluding).
    include: when given, only rules and families named in it. trace: a list that receives
    (rule name, node before, node after).
    """
    if exclude is None:
        exclude = _names(config.optimizer_excluding)
    first, second = _matchers(frozenset(exclude),
                              None if include is None else frozenset(include))
    return rewrite(rewrite(roots, first, trace), second, trace)
