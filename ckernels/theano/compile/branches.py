"""Functions with ifelse: a branch that is not taken cannot fail.

The engine computes one branch where both have one size, but plans both, and where sizes differ it
computes both. So where a call fails, the conditions are computed first, from the outputs inwards,
and then the graph in which each choice is the branch it takes. That way is kept for the calls that
follow once it has helped.
"""

from ...graph.walk import rebuild, toposort


def callable_of(spec):
    """The engine's callable for `spec`; with choices in its graph, one that a Choosing rescues."""
    fast = spec.callable()
    if not any(n.op.name == "choose" for n in toposort(spec.roots())):
        return fast
    if not hasattr(type(fast), "rescue"):  # not of the C runtime
        return Choosing(spec, fast)
    fast.rescue = Choosing(spec)
    return fast


class Choosing:
    """What computes a graph with choices by graphs without them, where `fast` fails.

    A callable of the C runtime asks it by itself (`rescue`, so `fast` is None), and once it has
    helped the Function calls it alone: see Function.lead. Others it calls and watches.
    """

    owner = detour = None  # a weak reference to the Function, and what it does with keywords

    def __init__(self, spec, fast=None):
        self.spec, self.fast = spec, fast
        self.stages = {}  # {what is decided: Stage}
        self.first = False  # whether conditions come first

    def __call__(self, *args, **kwargs):
        if kwargs:
            return self.detour(self, args, kwargs)
        if self.fast is not None and not self.first:
            try:
                return self.fast(*args)
            except Exception:
                pass
        found = self.decided(args)
        if not self.first:
            self.first = True
            function = self.owner and self.owner()
            if function is not None:
                function.lead(self)
        return found

    def __getattr__(self, name):
        return getattr(self.__dict__["fast"], name)

    def decided(self, args):
        """The results where every condition is known before a branch is planned."""
        known = {}
        while True:
            key = frozenset(known.items())
            stage = self.stages.get(key)
            if stage is None:
                stage = self.stages[key] = Stage(self.spec, known)
            if not stage.conditions:
                return stage.function(*args)
            values = stage.function(*args)
            known.update(zip((c.uid for c in stage.conditions), map(bool, values)))


class Stage:
    """What to compute when the conditions `known` ({uid: value}) are: further ones, or the end.

    conditions: nodes whose values the function gives, a list; empty where it gives the outputs.
    """

    def __init__(self, spec, known):
        from ...rewrite.branches import guarded  # start-up: 12 ms, the engine's middle

        roots = spec.roots()
        roots = _settled(guarded(roots, toposort(roots)), known)
        self.conditions = _next_conditions(roots)
        count = len(spec.outputs)
        if self.conditions:
            plain = spec.like(outputs=self.conditions, updates=[], single=False, profile=False)
            plain.watch = None
        else:
            updates = [(v, new) for (v, _), new in zip(spec.updates, roots[count:])]
            plain = spec.like(outputs=roots[:count], updates=updates)
        self.function = plain.callable()


def _settled(roots, known):
    """`roots` with the branch taken in the place of each choice by a condition that is known."""

    def step(node):
        if node.op.name == "choose" and node.inputs[0].uid in known:
            return node.inputs[1 if known[node.inputs[0].uid] else 2]
        return node

    return rebuild(roots, step=step) if known else roots


def _next_conditions(roots):
    """The conditions without choices in them that the outputs need whatever else is chosen."""
    found, met, todo = [], set(), list(roots)
    while todo:
        node = todo.pop()
        if node.uid in met:
            continue
        met.add(node.uid)
        if node.op.name != "choose":
            todo += node.inputs
            continue
        condition = node.inputs[0]
        if any(n.op.name == "choose" for n in toposort([condition])):
            todo.append(condition)
        elif condition not in found:
            found.append(condition)
    return found
