"""Function: what theano.function returns. A thin shell around the engine's callable.

A plain call goes straight to the engine: `__call__` of a Function is a slot that holds the engine's
callable, which hands calls with keywords (states by name, output subsets) to Keywords. Functions
with more to do for each call have a `__call__` of their own. `maker`, `fgraph` and `profile` show
the graph the way Theano's functions do.
"""

import copy
import weakref

import numpy as np

from ...base.errors import ArgumentError, UsageError
from ...graph.walk import rebuild
from ..base.hooks import hook
from ..classes.scalar import Scalar
from ..graph.apply import inputs
from ..handles.sharedvar import Cell, SharedVariable
from ..tensor.raw_random import unpacked
from .branches import callable_of
from .pickled import reduced
from .profiling import ProfileStats


class Contents:
    """`f.value` and `f[...]`: values of inputs and states, by name, variable or position."""

    def __init__(self, function):
        self.function = function

    def __getitem__(self, key):
        return self.function._holder(key).value

    def __setitem__(self, key, value):
        try:
            self.function._holder(key).value = value
        except KeyError:
            raise KeyError(f"Unknown input or state: {key}") from None

    def __contains__(self, key):
        try:
            self.function._holder(key)
        except (KeyError, TypeError):
            return False
        return True


class Containers(Contents):
    """`f.container`: the places of the values."""

    def __getitem__(self, key):
        return self.function._holder(key)


class Default:
    """The default of an input, seen as a place of a value."""

    def __init__(self, spec, k, type):
        self.spec, self.k, self.type = spec, k, type

    @property
    def value(self):
        return self.spec.defaults.get(self.k)

    @value.setter
    def value(self, value):
        self.spec.defaults[self.k] = self.type.filter(value)

    data = value

    @property
    def storage(self):
        """A list of one: the value, which may be set."""
        return Cell(self)

    def _get(self):
        return self.value

    def _set(self, value):
        self.value = value


class Output:
    """The place of an output: what `fn()` without arguments gave last."""

    value = None
    data = property(lambda self: self.value, doc="The value, under its other name.")
    storage = property(lambda self: [self.value], doc="A list of one: the value.")


class Keywords:
    """What calls with keywords, or with values for states, do. It does not know the Function, which
    so ends with the last reference to it."""

    def __init__(self, spec, asked, states):
        self.spec, self.asked, self.states = spec, asked, states

    def __call__(self, fast, args, kwargs):
        subset = kwargs.pop("output_subset", None)
        if self.states:
            args, kwargs = self.set_states(args, kwargs)
        found = fast(*self.spec.arrange(args, kwargs)) if kwargs else fast(*args)
        return found if subset is None else self.subset(found, subset)

    def set_states(self, args, kwargs):
        """Arguments without those that are states, which are set."""
        places = [i for i in self.asked.ins if not i.implicit]
        if len(args) > len(places):
            raise UsageError(
                f"this function takes {len(places)} arguments at most, not {len(args)}"
            )
        rest = []
        for one, value in zip(places, args):
            if one.variable in self.states:
                self.states[one.variable].container.value = value
            else:
                rest.append(value)
        named = {i.name: i for i in self.asked.ins if i.variable in self.states}
        for key in [k for k in kwargs if k in named]:
            one, value = named[key], kwargs.pop(key)
            if one.implicit:
                raise UsageError(
                    f"the input {key} is implicit, so a call cannot set it: use f[{key!r}] = value"
                )
            self.states[one.variable].container.value = value
        return rest, kwargs

    def subset(self, found, subset):
        """The outputs that a call asked for: positions, of a dict also names."""
        names = self.asked.names
        chosen = [names.index(k) if isinstance(k, str) else k for k in subset]
        if names is not None:
            return {names[k]: found[names[k]] for k in chosen}
        if self.asked.single:
            return [found] if list(subset) == [0] else []
        return [found[k] for k in chosen]


class Function:
    """A compiled function. `name`, `maker`, `value`, `container`, `copy`, `free`; see theano's
    documentation of `function`."""

    __slots__ = ("__call__", "__dict__", "__weakref__")
    nodes_with_inner_function = ()

    def __init__(self, fast, spec, asked, visible, states, lowered, mode):
        self.spec, self.asked, self.visible, self.states = spec, asked, visible, states
        self.lowered, self.mode, self.name = lowered, mode, spec.name
        self.unpack_single = asked.single
        self.take(fast)

    def take(self, fast):
        """Run the engine's callable `fast` from now on."""
        self.fast, self.detour = fast, Keywords(self.spec, self.asked, self.states)
        if getattr(fast, "rescue", None) is not None:
            fast.rescue.owner = weakref.ref(self)
        if type(self) is Function:
            fast.keywords = self.detour
            self.__call__ = fast

    def lead(self, choosing):
        """Compute conditions first from now on: see branches.py."""
        self.fast.rescue = None
        choosing.fast, choosing.detour = self.fast, self.detour
        self.fast = choosing
        if type(self) is Function:
            self.__call__ = choosing

    @property
    def trust_input(self):
        """True: arguments are arrays of the types of the inputs already; all others are refused."""
        return getattr(self.spec, "trusting", False)

    @trust_input.setter
    def trust_input(self, value):
        self.spec.trusting = bool(value)

    @property
    def _check_for_aliased_inputs(self):
        """Whether an input may be kept or overwritten: programs ask; no memory is shared here."""
        found = self.__dict__.get("_aliased")
        return any(i.borrow or i.mutable for i in self.asked.ins) if found is None else found

    @_check_for_aliased_inputs.setter
    def _check_for_aliased_inputs(self, value):
        self.__dict__["_aliased"] = bool(value)  # programs that measure calls turn it off

    # ---- values by name -----------------------------------------------------------------------

    def _holder(self, key):
        """The place of the value of an input or state: by name, variable or position."""
        if isinstance(key, int):
            one = self.asked.ins[key]
            return self._place(one)
        found = [
            i
            for i in self.asked.ins
            if i.variable is key or (isinstance(key, str) and i.name == key)
        ]
        if len(found) > 1:
            raise UsageError(
                f"{len(found)} inputs of this function go by {key}: give each a name "
                "of its own, or use positions"
            )
        if found:
            return self._place(found[0])
        for v in self._shared():
            if v is key or isinstance(key, str) and v.name == key:
                return v.container
        raise KeyError(key)

    def _place(self, one):
        if one.variable in self.states:
            return self.states[one.variable].container
        k = self.visible.index(one)
        return Default(self.spec, k, self.spec.types[k])

    def _shared(self):
        return [v for v in inputs(self.lowered.written) if isinstance(v, SharedVariable)]

    value = property(lambda self: Contents(self), doc="Contents of inputs and states.")
    container = property(lambda self: Containers(self), doc="Places of values.")

    def __getitem__(self, key):
        return self.value[key]

    def __setitem__(self, key, value):
        self.value[key] = value

    def __contains__(self, key):
        return key in self.value

    def get_shared(self):
        """The shared variables this function reads."""
        return self._shared()

    # ---- copies and pickles -------------------------------------------------------------------

    def copy(self, share_memory=False, swap=None, delete_updates=False, name=None, profile=None):
        """The same function: on other shared variables (`swap`), without updates, on own states.

        As in Theano what a copy returns is a list, also of one output. share_memory is accepted:
        buffers are not kept between calls here.
        """
        swap = dict(swap or {})
        held = self._shared()
        for old, new in swap.items():
            if not isinstance(old, SharedVariable) or not isinstance(new, SharedVariable):
                raise UsageError("swap={old: new}: both are shared variables")
            if not any(v.node is old.node for v in held) and not any(
                v is old.node for v, _ in self.lowered.updates
            ):
                raise ArgumentError(
                    f"swap names the shared variable {old}, which this function does not use"
                )
            if old.type.dtype != new.type.dtype or old.type.ndim != new.type.ndim:
                raise ArgumentError(
                    f"swap puts a variable of type {new.type} for one of {old.type}"
                )
        own = {}
        for state in self.states.values():
            own[state] = type(state)(state.name, state.type, state.get_value(), False)
        if name is None and self.name:
            name = f"{self.name} copy"
        return self._swapped({**own, **swap}, delete_updates, name, own, profile, listed=True)

    def _swapped(self, swap, delete_updates, name, own, profile=None, listed=False):
        spec = self.spec
        table = {a.node: b.node for a, b in swap.items()}
        updates = [] if delete_updates else spec.updates
        roots = rebuild(spec.outputs + [new for _, new in updates], table)
        outputs = roots[: len(spec.outputs)]
        updates = [(table.get(v, v), new) for (v, _), new in zip(updates, roots[len(outputs) :])]
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        if listed:
            made.asked = copy.copy(self.asked)
            made.asked.single = made.unpack_single = False
        made.spec = spec.like(
            single=spec.single and not listed,
            outputs=outputs,
            updates=updates,
            name=name or spec.name,
            defaults=dict(spec.defaults),
            profile=spec.profile if profile is None else bool(profile),
        )
        made.name = made.spec.name
        made.states = {v: swap.get(s, s) for v, s in self.states.items()}
        made.swapped = {**getattr(self, "swapped", {}), **swap}
        made.take(callable_of(made.spec))
        made.__dict__.pop("_profile", None)
        made.__dict__.pop("_maker", None)
        return made.measured(profile or True) if made.spec.profile else made

    def __copy__(self):
        made = self.copy()
        made.asked, made.unpack_single = self.asked, self.unpack_single
        made.spec = made.spec.like(single=self.spec.single)
        made.take(callable_of(made.spec))
        return made

    def __deepcopy__(self, memo):
        shared = {v: copy.deepcopy(v, memo) for v in self._shared()}
        own = {s: copy.deepcopy(s, memo) for s in self.states.values()}
        made = self._swapped({**shared, **own}, False, self.name, own)
        twins = {}  # the inputs, where their variables are copied beside this function
        for one in self.asked.ins:
            if id(one.variable) in memo:
                twin = twins[one] = copy.copy(one)
                twin.variable = memo[id(one.variable)]
        if twins:
            made.asked = copy.copy(self.asked)
            made.asked.ins = [twins.get(i, i) for i in self.asked.ins]
            made.visible = [twins.get(i, i) for i in self.visible]
            made.states = {memo.get(id(v), v): s for v, s in made.states.items()}
            made.take(made.fast)
        memo[id(self)] = made
        return made

    def __reduce__(self):
        return reduced(self)

    def free(self):
        """Let go of memory between calls: here there is none that is kept."""

    # ---- what Theano shows of a function --------------------------------------------------------

    @property
    def maker(self):
        """Inputs, outputs, mode and graph."""
        found = self.__dict__.get("_maker")
        if found is None:
            found = self.__dict__["_maker"] = hook("maker")(self)
        return found

    @property
    def fn(self):
        """The engine's callable; `fn(n_calls=k)` calls it k times, and gives the last results.
        Without arguments it takes what `input_storage` has, and leaves results in
        `output_storage`."""
        return Repeated(self)

    vm = fn

    @property
    def outputs(self):
        """The variables of the outputs, those of a dict in the order of their names."""
        return list(self.asked.outs)

    @property
    def info(self):
        """The engine's description of this function."""
        return getattr(self.fast, "info", self.fast)

    @property
    def profile(self):
        """What was measured: `summary()` prints it. None without profile=True."""
        return self.__dict__.get("_profile")

    def measured(self, asked):
        """This function, with its numbers in the ProfileStats that `profile=asked` names."""
        found = self.__dict__["_profile"] = ProfileStats.made(asked, self.name)
        found.functions.append(self)
        return self

    @property
    def input_storage(self):
        """The places of the values of all inputs."""
        return [self._place(i) for i in self.asked.ins]

    @property
    def output_storage(self):
        """The places of the outputs."""
        return self.__dict__.setdefault("_given", [Output() for _ in self.asked.outs])

    @property
    def indices(self):
        return list(enumerate(self.asked.ins))

    @property
    def finder(self):
        return {i.name: self._place(i) for i in self.asked.ins if i.name}

    def __repr__(self):
        return f"<{type(self).__module__}.{type(self).__name__} {self.name or ''}>"

    def steps(self):
        """One line per instruction; see K.function."""
        return self.info.steps()

    def source(self):
        """The generated C."""
        return self.info.source()

    def stats(self):
        """What was built; see K.function."""
        return self.info.stats()

    def explain(self, rewrites=False):
        """What each instruction computes, and why not more; see K.function."""
        return self.info.explain(rewrites)


class CheckedFunction(Function):
    """A function that has states among its arguments, or does not run in the C runtime."""

    def __call__(self, *args, **kwargs):
        return self.detour(self.fast, args, kwargs)


class StateFunction(Function):
    """A function that gives states of NumPy's generator among its outputs."""

    def __call__(self, *args, **kwargs):
        found = self.detour(self.fast, args, kwargs)
        found = [found] if self.unpack_single else found
        found = [
            x if hasattr(v.type, "value_zeros") else unpacked(x)
            for v, x in zip(self.asked.outs, found)
        ]
        return found[0] if self.unpack_single else found


class InplaceFunction(Function):
    """A function with outputs that overwrite arguments, and are these arrays."""

    places = ()  # for each output the place of the argument it is written to, or None

    def __call__(self, *args, **kwargs):
        found = self.detour(self.fast, args, kwargs)
        values = [found] if self.unpack_single else found
        for k, place in enumerate(self.places):
            if place is not None and place < len(args):
                target, value = args[place], values[k]
                if (
                    isinstance(target, np.ndarray)
                    and target.shape == value.shape
                    and target.dtype == value.dtype
                    and target.flags.writeable
                ):
                    target[...] = value
                    values[k] = target
        return values[0] if self.unpack_single else values


class Repeated:
    """The engine's callable behind a function, with the count of calls that Theano's takes."""

    def __init__(self, function):
        self.call, self.function = function.fast, function

    def __call__(self, *args, n_calls=1, **kwargs):
        if not args and not kwargs:
            held = self.function.spec.defaults
            args = [held[k] for k in range(len(self.function.visible)) if k in held]
        for _ in range(n_calls - 1):
            self.call(*args, **kwargs)
        found = self.call(*args, **kwargs)
        outs = [found] if self.function.unpack_single else found
        for place, value in zip(self.function.output_storage, outs):
            place.value = value
        return found

    def __getattr__(self, name):
        if name.startswith("__") or name in ("call", "function"):
            raise AttributeError(name)
        return getattr(self.call, name)


class DictFunction(Function):
    """A function whose outputs are a dict."""

    def __call__(self, *args, **kwargs):
        subset = kwargs.pop("output_subset", None)
        found = dict(zip(self.asked.names, self.detour(self.fast, args, kwargs)))
        return found if subset is None else self.detour.subset(found, subset)


def kind_of(asked, states, fast):
    """The class of the function of what was asked for, which the engine's `fast` computes."""
    if any(
        not hasattr(v.type, "value_zeros") and not isinstance(v.type, Scalar) for v in asked.outs
    ):
        return StateFunction
    if asked.names is not None:
        return DictFunction
    placed = any(not i.implicit and i.variable in states for i in asked.ins)
    return CheckedFunction if placed or not hasattr(type(fast), "keywords") else Function
