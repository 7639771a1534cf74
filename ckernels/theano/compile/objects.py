"""Functions of graphs with variables that are no tensors: Python objects, lists, sparse matrices.

The engine computes tensors. Where an Apply takes or makes something else, it runs in Python between
engine functions, each of which computes the tensors that are needed next. A variable of `parts`
(a sparse matrix) is no such place: its parts are tensors, put together at the ends.
"""

import copy
from types import SimpleNamespace

from ...base.errors import ArgumentError, UsageError, user_line
from ...graph.walk import leaves
from ..base.exceptions import MissingInputError
from ..base.hooks import hook
from ..graph.apply import Constant, ancestors, apply_order
from ..graph.walks import mentioned_by, replayed
from ..handles.sharedvar import SharedVariable
from ..handles.variables import wrap
from ..user_ops.perform import is_opaque, may_be_none, way_of
from .callable import Function, Keywords
from .closing import report_unused, rewritten


def is_tensor(v):
    """Whether the engine has a node for a variable."""
    return getattr(v, "node", None) is not None


def parts_of(v):
    """The tensors a variable is made of, or None."""
    return getattr(v, "tensor_parts", None)


def _with_leaves(ins):
    """(inputs that are leaves, {variable: leaf}): an input that others make is its stand-in."""
    found, inner = [], {}
    for one in ins:
        if one.variable.owner is not None:
            one = copy.copy(one)
            leaf = one.variable.type(one.variable.name)
            inner[one.variable] = leaf
            one.variable = leaf
        found.append(one)
    return found, inner


class ObjectFunction(Function):
    """A compiled function, some steps of which are Python; called like any other."""

    def __init__(self, asked, hidden, mode, name, on_unused):
        """hidden: (states, visible inputs, replacements, updates), as `function` finds them."""
        self.asked, self.mode, self.name = asked, mode, name
        self.states, visible, self.given, updates = hidden
        self.names, self.unpack_single = asked.names, asked.single
        written = [*asked.outs, *updates.values()]
        if self.given:
            written = replayed(written, self.given)
        self.visible, inner = _with_leaves(visible)
        stand_ins = {v: k for k, v in inner.items()}
        named = mentioned_by([*written, *self.given.values()], set(inner))
        if inner:
            written = replayed(written, inner)
        fgraph = None
        rewrites = mode.rewrites() if hasattr(mode, "rewrites") else None
        if rewrites is not None:
            fgraph = rewritten([i.variable for i in self.visible], written, rewrites)
            written = fgraph.outputs
        self.plain = copy.copy(mode)  # the engine's functions have no graph as written
        self.plain.rewrites = lambda: None
        self.outs = written[: len(asked.outs)]
        self.updates = dict(zip(updates, written[len(asked.outs) :]))
        self.lowered = SimpleNamespace(written=written, fgraph=fgraph, updates=[])
        self.inputs = [i.variable for i in self.visible]
        self.optional = may_be_none(written)
        self._check(written, [id(stand_ins.get(v, v)) in named for v in self.inputs], on_unused)
        self._plan(written)
        self.spec = SimpleNamespace(
            defaults={}, name=name, updates=list(self.updates.items()), profile=False
        )
        for k, one in enumerate(self.visible):
            if one.value is not None:
                self.spec.defaults[k] = self._filtered(k, one.value)
        self.spec.types = [v.type for v in self.inputs]
        self.keywords = {i.name: k for k, i in enumerate(self.visible) if i.name}
        self.detour = Keywords(self.spec, asked, self.states)

    def _check(self, written, named, on_unused):
        found = ancestors(written, blockers=set(self.inputs))
        reached = {id(v) for v in found} | {id(v.node) for v in found if is_tensor(v)}
        inner = {id(t.node): v for v in self.inputs for t in parts_of(v) or ()}
        for k, v in enumerate(self.inputs):
            used = id(v) in reached or any(id(t.node) in reached for t in parts_of(v) or ())
            if not used and not named[k]:
                report_unused(v, k, on_unused)
        for v in found:
            held = isinstance(v, (Constant, SharedVariable)) or hasattr(v, "container")
            if is_tensor(v) and id(v.node) in inner:
                continue
            if v.owner is None and v not in self.inputs and not held:
                raise MissingInputError(
                    f"the outputs need {v}, which is not among the inputs and has no value: add it "
                    "to the inputs or to givens",
                    variable=v,
                )

    def _plan(self, written):
        """steps: [(engine function or None, its arguments, what it gives, Apply, how it runs)]."""
        stop = {id(v) for v in self.inputs}
        self.known, self.steps_made = list(self.inputs), []
        for v in self.inputs:
            self.known += parts_of(v) or ()
        for apply in apply_order(written, stop):
            ends = (*apply.inputs, *apply.outputs)
            if getattr(apply.op, "of_engine", False):
                continue
            if all(is_tensor(v) or parts_of(v) for v in ends) and not is_opaque(apply):
                continue
            needed = [t for v in apply.inputs for t in (parts_of(v) or [v]) if is_tensor(t)]
            act = way_of(apply, "py" if getattr(self.mode, "linker", None) == "py" else None)
            self.steps_made.append((*self._engine(needed), apply, act))
            for v in apply.outputs:
                self.known += [v, *(parts_of(v) or ())]
        outs = [t for v in self.outs for t in (parts_of(v) or [v])]
        changed = {}
        for target, new in self.updates.items():
            if parts_of(target):
                pairs = zip(parts_of(target), parts_of(new))
                changed.update((p, n) for p, n in pairs if isinstance(p, SharedVariable))
            elif is_tensor(target):
                changed[target] = new
        outs += [new for target, new in self.kept_here() if is_tensor(new)]
        self.last = self._engine([t for t in outs if is_tensor(t)], changed)

    def kept_here(self):
        """[(target, new value)] of the updates that the engine does not make."""
        return [(t, v) for t, v in self.updates.items() if not is_tensor(t) and not parts_of(t)]

    def _engine(self, needed, updates=()):
        """(function or None, its arguments, what it gives): tensors that are not known yet."""
        updates = dict(updates)
        needed = [v for v in dict.fromkeys(needed) if v not in self.known]
        needed = [v for v in needed if not isinstance(v, Constant)]
        if not needed and not updates:
            return None, [], []
        # By their nodes, which know nothing of what is no tensor: what Python gives is a leaf.
        bare = {v: wrap(v.node) for v in (*needed, *updates.values())}
        used = set(leaves([v.node for v in bare], "placeholder"))
        args = {v.node: v for v in self.known if is_tensor(v) and v.node in used}
        made = hook("function")(
            [wrap(node) for node in args],
            [bare[v] for v in needed],
            mode=self.plain,
            updates={target: bare[new] for target, new in updates.items()},
        )
        return made, list(args.values()), needed

    # ---- calls ----------------------------------------------------------------------------------

    def __call__(self, *args, **kwargs):
        subset = kwargs.pop("output_subset", None)
        if self.states:
            args, kwargs = self.detour.set_states(args, kwargs)
        values = {}
        for v, value in zip(self.inputs, self._arranged(args, kwargs)):
            self._keep(values, v, value)
        for made, arguments, given, apply, act in self.steps_made:
            self._compute(values, made, arguments, given)
            storage = [[None] for _ in apply.outputs]
            destroyed = {i for d in getattr(apply.op, "destroy_map", {}).values() for i in d}
            ins = [self._value(values, v) for v in apply.inputs]
            ins = [copy.deepcopy(x) if k in destroyed else x for k, x in enumerate(ins)]
            act(ins, storage)
            for v, cell in zip(apply.outputs, storage):
                self._keep(values, v, cell[0])
        kept = self.kept_here()
        new = {target: self._value(values, v) for target, v in kept if not is_tensor(v)}
        self._compute(values, *self.last)
        new.update((target, self._value(values, v)) for target, v in kept if is_tensor(v))
        found = [self._value(values, v) for v in self.outs]
        for target, value in new.items():
            target.container.value = value
        if self.names is not None:
            found = dict(zip(self.names, found))
            return found if subset is None else {k: found[k] for k in subset}
        if subset is not None:
            return [found[k] for k in subset]
        if self.asked.outputs is None:
            return []
        return found[0] if self.unpack_single else found

    def _arranged(self, args, kwargs):
        given = dict(enumerate(args))
        for key, value in kwargs.items():
            if key not in self.keywords:
                raise UsageError(f"Unknown input or state: {key}")
            given[self.keywords[key]] = value
        if len(args) > len(self.inputs):
            raise UsageError(
                f"this function takes {len(self.inputs)} arguments at most, not {len(args)}"
            )
        missing = [
            k for k in range(len(self.inputs)) if k not in given and k not in self.spec.defaults
        ]
        if missing:
            names = ", ".join(str(self.inputs[k]) for k in missing)
            raise UsageError(f"Missing required input: {names}")
        return [
            self._filtered(k, given[k]) if k in given else self.spec.defaults[k]
            for k in range(len(self.inputs))
        ]

    def _filtered(self, k, value):
        one = self.visible[k]
        if value is None and one.variable in self.optional:
            return None
        downcast = one.allow_downcast if one.allow_downcast is not None else self.asked.downcast
        try:
            return _filter(one.variable.type, value, one.strict, downcast)
        except (TypeError, ValueError) as problem:
            line = user_line()
            where = f" at {line[0]}:{line[1]}" if line else ""
            problem.args = (f"Bad input argument to theano function{where} at index {k} "
                            "(0-based). ", *problem.args)  # fmt: skip
            raise

    def _keep(self, values, v, value):
        values[v] = value
        if parts_of(v):
            values.update(zip(parts_of(v), v.split(value)))

    def _compute(self, values, made, arguments, given):
        if made is not None:
            values.update(zip(given, made(*[values[v] for v in arguments])))

    def _value(self, values, v):
        if v in values:
            return values[v]
        if isinstance(v, Constant):
            return v.data
        if parts_of(v) and all(t in values or isinstance(t, Constant) for t in parts_of(v)):
            return v.join([self._value(values, t) for t in parts_of(v)])
        if hasattr(v, "container"):
            return v.get_value(borrow=True)
        return v.join([self._value(values, t) for t in parts_of(v)])

    # ---- copies ---------------------------------------------------------------------------------

    def _shared(self):
        found = super()._shared()
        return found + [v for v in self.updates if v not in found]

    def copy(self, share_memory=False, swap=None, delete_updates=False, name=None, profile=None):
        """The same function, on other shared variables (`swap`), without updates; see Function."""
        swap, held = dict(swap or {}), self._shared()
        for old, new in swap.items():
            if not isinstance(old, SharedVariable) or not isinstance(new, SharedVariable):
                raise UsageError("swap={old: new}: both are shared variables")
            if old not in held:
                raise ArgumentError(
                    f"swap names the shared variable {old}, which this function does not use"
                )
            if old.type != new.type:
                raise ArgumentError(
                    f"swap puts a variable of type {new.type} for one of {old.type}"
                )
        made = self._swapped(swap, delete_updates, name or self.name, {})
        made.asked.single = made.unpack_single = False  # as Theano's copies
        return made

    def _swapped(self, swap, delete_updates, name, own, profile=None):
        asked = copy.copy(self.asked)
        own = {s: copy.deepcopy(s) for s in self.states.values() if s not in swap}
        swap = {**own, **swap}
        states = {v: swap[s] for v, s in self.states.items()}
        written = replayed([*self.outs, *self.updates.values()], swap)
        asked.outs, asked.givens = written[: len(asked.outs)], {}
        news = [] if delete_updates else written[len(asked.outs) :]
        updates = {swap.get(v, v): new for v, new in zip(self.updates, news)}
        asked.updates = {v: new for v, new in updates.items() if v not in states.values()}
        hidden = states, self.visible, {}, updates
        made = ObjectFunction(asked, hidden, self.mode, name, "ignore")
        made.spec.defaults.update(copy.deepcopy(self.spec.defaults))
        return made

    @property
    def fn(self):
        """The engine function that gives the outputs."""
        return self.last[0]

    @property
    def info(self):
        return self.last[0].info

    fast = fn


def _filter(kind, value, strict, downcast):
    """`value` through the `filter` of a type; older ones take fewer arguments."""
    try:
        return kind.filter(value, strict=strict, allow_downcast=downcast)
    except TypeError as problem:
        if "argument" not in str(problem):
            raise
    return kind.filter(value)
