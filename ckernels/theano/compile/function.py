"""theano.function: what it takes, checked, and made a callable of the engine.

`function` sorts out inputs, updates and givens; `closing.py` closes the graph; `callable.py` is
the object a user calls. Inputs with an update or without a place in calls become hidden shared
variables.
"""

from collections.abc import ItemsView

import numpy as np

from ...base.errors import ArgumentError, CKernelsError, UsageError
from ...graph.walk import leaves
from ..base.config import config
from ..base.exceptions import GivensError, MissingInputError, RefusedError, UnusedInputError
from ..base.hooks import hook as _hook
from ..base.hooks import register_hook as _register_hook
from ..base.names import absent_of as _absent_of
from ..base.signatures import like as _like
from ..graph.apply import Constant, Variable, apply_order
from ..graph.apply import inputs as graph_inputs
from ..graph.fg import lower_again
from ..graph.type import DisconnectedType, NullType
from ..handles.sharedvar import Container, SharedVariable, TensorSharedVariable, shared
from ..handles.variables import Handle, as_tensor_variable
from ..user_ops.perform import Performed, is_opaque, may_be_none
from .branches import callable_of
from .callable import InplaceFunction, StateFunction, kind_of
from .closing import Lowered
from .io import In, SymbolicInput, SymbolicOutput
from .mode import get_mode
from .objects import ObjectFunction


def function(
    inputs,
    outputs=None,
    mode=None,
    updates=None,
    givens=None,
    no_default_updates=False,
    accept_inplace=False,
    name=None,
    rebuild_strict=True,
    allow_input_downcast=None,
    profile=None,
    on_unused_input=None,
):
    """A callable that computes `outputs` from `inputs`, then applies `updates`.

    inputs   a list of variables or `In`; also tuples ((name, variable), (new, variable), value) as
             older programs wrote them
    outputs  a variable, a list, a dict (the call returns one), or None
    updates  pairs or a dict {shared variable: new value}, applied together after the outputs
    givens   pairs or a dict: what stands for a variable in this function
    on_unused_input  'raise', 'warn' or 'ignore'
    accept_inplace   True: an output that is an op of tensor.inplace on an input overwrites, and is,
             the array given for that input
    profile  True, a message or a ProfileStats: `f.profile.summary()` prints what took how long

    >>> import ckernels.compat.theano as theano
    >>> import ckernels.compat.theano.tensor as T
    >>> x = T.dvector("x")
    >>> f = theano.function([x], x.sum() * 2)
    >>> float(f([1, 2, 3]))
    12.0
    """
    if name is not None and not isinstance(name, str):
        raise UsageError(f"The name of a function is a string, not {name!r}")
    if not isinstance(inputs, (list, tuple)):
        raise CKernelsError(
            "inputs is a list of variables: write function([x], ...), also for only one"
        )
    asked = _Asked(inputs, outputs, updates, givens, allow_input_downcast, rebuild_strict)
    if asked.foreign:
        unused = config.on_unused_input if on_unused_input is None else on_unused_input
        return ObjectFunction(asked, _states(asked), get_mode(mode), name, unused)
    return _compiled(
        asked,
        get_mode(mode),
        no_default_updates,
        name,
        config.on_unused_input if on_unused_input is None else on_unused_input,
        profile,
        accept_inplace,
    )


_register_hook("function", function)


@_like(function, inputs="params")
def pfunc(params, **asked):
    """`function`, under the name and with the argument `params` that Theano had inside."""
    return function(params, **asked)


class _Asked:
    """What was asked for: ins [In], outs [Variable], updates {shared: Variable}, givens {v: v}."""

    def __init__(self, inputs, outputs, updates, givens, downcast, strict):
        self.downcast, self.rebuild_strict = downcast, strict
        self.ins = [self._input(i) for i in inputs]
        self.names, self.single, self.outs = _outputs(outputs)
        self.outputs = outputs
        self.updates = _updates(updates)
        self.givens = _givens(givens, strict)
        self._check_inputs()
        every = [
            *(i.variable for i in self.ins),
            *self.outs,
            *self.updates.values(),
            *self.updates,
            *self.givens,
            *self.givens.values(),
        ]
        ends = [i.variable for i in self.ins]
        self.foreign = any(getattr(v, "node", None) is None for v in every) or _foreign(every, ends)

    def _input(self, given):
        if isinstance(given, SymbolicInput):
            if not hasattr(given, "value"):
                given.value = None
            return given
        if isinstance(given, (list, tuple)):
            return _of_tuple(given)
        if isinstance(given, Constant):
            raise UsageError(f"{given} is a constant, which no call can give a value: leave it out")
        if isinstance(given, SharedVariable):
            raise UsageError(_shared_as_input(given))
        if isinstance(given, Variable):
            return In(given)
        if hasattr(given, "node"):
            return In(as_tensor_variable(given))
        raise UsageError(f"Unknown parameter type: {type(given)}")

    def _check_inputs(self):
        seen = []
        for one in self.ins:
            v = one.variable
            if isinstance(v, Constant):
                raise UsageError(f"{v} is a constant, which no call can give a value: leave it out")
            if isinstance(v, SharedVariable):
                raise UsageError(_shared_as_input(v))
            if any(v is s for s in seen):
                raise UnusedInputError(f"the list of inputs holds the variable {v} twice")
            if any(v is k for k in self.givens):
                raise GivensError(
                    f"'{v}' is an input, so givens cannot replace it. To compute "
                    "with g(x) in the place of an input x, either take a new input "
                    "y, function([y], out, givens={x: g(y)}), or rewrite the "
                    "output, function([x], clone(out, replace={x: g(x)}))"
                )
            seen.append(v)


def _shared_as_input(v):
    return (
        f"Cannot use a shared variable ({v}) as explicit input: take a plain variable as the "
        "input and put it in the place of the shared one with givens"
    )


def _foreign(variables, inputs):
    """Whether something that is no tensor is needed on the way from `inputs` to `variables`."""
    found = [v for v in variables if v.__dict__.get("_memo") is None]
    if Performed.objects and len(found) < len(variables):  # gradients: asked by their nodes
        nodes = [v.node for v in variables if v.__dict__.get("_memo") is not None]
        if any("stands_for" in n.attrs for n in leaves(nodes, "placeholder")):
            return True
    for apply in apply_order(found, {id(v) for v in inputs}):
        loose = [v for v in (*apply.inputs, *apply.outputs) if getattr(v, "node", None) is None]
        if loose and (is_opaque(apply) or not all(isinstance(v, Constant) for v in loose)):
            return True
        if hasattr(apply.op, "takes_none") and is_opaque(apply):
            return True
    return False


def _of_tuple(given):
    """An In from the tuples of older programs: (variable), ((name, variable), value), ..."""
    value = None
    given = list(given)
    if len(given) == 1:
        variable = given[0]
    elif isinstance(given[0], str):
        return In(given[1], name=given[0], value=given[2] if len(given) > 2 else None)
    else:
        variable, value = given[0], given[1]
    name = update = None
    if isinstance(variable, (list, tuple)):
        parts = list(variable)
        if parts and isinstance(parts[0], str):
            name, parts = parts[0], parts[1:]
        if len(parts) == 2:
            parts = [p[0] if isinstance(p, (list, tuple)) and len(p) == 1 else p for p in parts]
            variable, update = parts
        elif len(parts) == 1:
            variable = parts[0]
            if isinstance(variable, (list, tuple)):
                variable, update = variable
        else:
            raise UsageError(f"an input of the form {given} is not understood")
        if isinstance(variable, (list, tuple)):
            variable, update = variable
    if not isinstance(variable, Variable):
        raise UsageError(f"an input of the form {given} has no variable in its place")
    return In(variable, name=name, value=value, update=update)


def _outputs(outputs):
    """(names of a dict or None, whether it is one variable, list of variables)."""
    names = None
    if isinstance(outputs, dict):
        if any(not isinstance(k, str) for k in outputs):
            raise RefusedError("the keys of a dict of outputs are strings")
        names = sorted(outputs)
        outputs = [outputs[k] for k in names]
    if outputs is None:
        return names, False, []
    single = not isinstance(outputs, (list, tuple))
    found = []
    for one in [outputs] if single else outputs:
        one = one.variable if isinstance(one, SymbolicOutput) else one
        if isinstance(getattr(one, "type", None), (NullType, DisconnectedType)):
            why = getattr(one.type, "why_null", "nothing flows back there")
            raise UsageError(f"an output is a gradient that does not exist: {why}")
        if isinstance(one, Variable):
            if getattr(getattr(one, "fgraph", None), "changed", False):
                lower_again(one.fgraph)
            found.append(one)
        elif hasattr(one, "node") and hasattr(one, "dtype"):
            found.append(as_tensor_variable(one))
        elif isinstance(one, (int, float, np.ndarray, np.generic)):
            found.append(as_tensor_variable(one))
        else:
            raise UsageError(f"an output is a variable or an Out, not {one} ({type(one)})")
    return names, single, found


def _pairs(given, what):
    if given is None:
        return []
    pairs = list(given.items()) if hasattr(given, "items") else list(given)
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise ArgumentError(f"{what} are pairs (variable, value), not {pair!r}")
    return pairs


def _updates(updates):
    if (
        updates is not None
        and not isinstance(updates, (list, tuple, dict, ItemsView))
        and not hasattr(updates, "items")
    ):
        raise ArgumentError(
            "updates are a dict {shared variable: new value} or a list of such "
            f"pairs, not {type(updates).__name__}"
        )
    found = {}
    for target, value in _pairs(updates, "updates"):
        if not isinstance(target, SharedVariable):
            raise UsageError("only shared variables can be updated, and this is none", target)
        if target in found:
            raise ArgumentError(
                "two updates were given for one shared variable", (target, found[target])
            )
        found[target] = update_of(target, value)
    return found


def update_of(target, value):
    """The new value of `target` as a variable of its type; TypeError where it is of another."""
    if isinstance(value, Variable) and not isinstance(value, Handle):
        return value
    if not isinstance(target, TensorSharedVariable):
        return value if isinstance(value, Variable) else target.type.filter_variable(value)
    if not isinstance(value, Variable) and not hasattr(value, "node"):
        value = as_tensor_variable(np.asarray(target.type.filter(value)))
    value = as_tensor_variable(value)
    own, other = ((x.dtype, x.ndim, tuple(x.broadcastable)) for x in (target.type, value.type))
    if own != other:
        hint = ""
        if own[:2] == other[:2]:
            hint = ", as tensor.unbroadcast(value, axis) does along an axis of size 1"
        raise UsageError(
            f"the shared variable {target} has the type {target.type}, its update "
            f"{value} the type {value.type}: make them the same{hint}"
        )
    return value


def _givens(givens, strict):
    found = {}
    for old, new in _pairs(givens, "givens"):
        if not isinstance(old, Variable):
            if not hasattr(old, "node"):
                raise UsageError(f"givens replaces variables, not {old!r}")
            old = as_tensor_variable(old)
        if old in found:
            raise RefusedError(f"givens replaces {old} twice")
        found[old] = replacement(old, new, strict)
    return found


def replacement(old, new, strict=True):
    """`new` as a variable that may stand for `old`: of its type, with strict=False near it."""
    if not isinstance(old, Handle):
        return new if isinstance(new, Variable) else old.type.filter_variable(new)
    if not isinstance(new, Variable) and not hasattr(new, "node"):
        try:
            new = as_tensor_variable(old.type.filter(new, allow_downcast=None))
        except TypeError:
            new = as_tensor_variable(new)
    new = as_tensor_variable(new)
    if new.type.dtype != old.type.dtype or new.type.ndim != old.type.ndim:
        if strict:
            raise UsageError(
                f"{new} has the type {new.type} and cannot stand for a {old.type}: "
                "cast or reshape it to that type first"
            )
        return new
    if strict and any(o and not n for o, n in zip(old.broadcastable, new.broadcastable)):
        raise UsageError(
            f"{new} has the type {new.type} and cannot stand for a {old.type}: its "
            "broadcastable axes differ"
        )
    return new


# --- making the callable ----------------------------------------------------------------------


def _compiled(asked, mode, no_default_updates, name, on_unused, profile, accept_inplace):
    from .arguments import (  # start-up: 14 ms, the runtime, which a graph needs not
        SpecOfTheano,
        type_of_input,
    )

    states, visible, replace, updates = _states(asked)
    if not isinstance(no_default_updates, (bool, list)):
        raise UsageError(
            "no_default_updates is True, False or a list of shared variables, not "
            f"{no_default_updates!r}"
        )
    lowered = Lowered(
        [i.variable for i in visible],
        asked.outs,
        updates,
        replace,
        no_default_updates,
        mode.rewrites() if hasattr(mode, "rewrites") else None,
    )
    lowered.check(on_unused)
    lowered.prepare(mode.way_of_ops() if hasattr(mode, "way_of_ops") else None)
    types = [type_of_input(i.variable) for i in visible]
    defaults = {}
    for k, one in enumerate(visible):
        if one.value is not None and one.variable not in states:
            value = one.value.value if isinstance(one.value, Container) else one.value
            defaults[k] = types[k].filter(
                value, strict=one.strict, allow_downcast=one.allow_downcast
            )
    downcasts = [asked.downcast if i.allow_downcast is None else i.allow_downcast for i in visible]
    keywords = {}
    for k, one in enumerate(visible):
        if one.name is not None:
            keywords[one.name] = None if one.name in keywords else k
    way = mode.engine() if hasattr(mode, "engine") else "compiled"
    spec = SpecOfTheano.made(
        types,
        [i.strict for i in visible],
        downcasts,
        {k: v for k, v in keywords.items() if v is not None},
        inputs=lowered.inputs,
        outputs=lowered.outputs,
        updates=lowered.updates,
        single=asked.single,
        name=name,
        mode=way,
        defaults=defaults,
        downcast=asked.downcast,
        positional_only=True,
        check="none",
        watch=mode.watch() if hasattr(mode, "watch") else None,
        profile=_is_measured(profile),
    )
    fast = callable_of(spec)
    kind, places = kind_of(asked, states, fast), ()
    if accept_inplace and not states and kind is not StateFunction:
        places = _overwritten(asked.outs, [i.variable for i in visible])
        kind = kind if places.count(None) == len(places) else InplaceFunction
    made = kind(fast, spec, asked, visible, states, lowered, mode)
    if kind is InplaceFunction:
        made.places = places
    return made.measured(profile) if spec.profile else made


def _overwritten(outputs, inputs):
    """For each output the place of the input that its op, one of tensor.inplace, writes to."""
    found = []
    for v in outputs:
        op = None if v.owner is None else v.owner.op
        place = (getattr(op, "inplace_pattern", None) or {}).get(0)
        target = None if place is None else v.owner.inputs[place]
        found.append(next((k for k, i in enumerate(inputs) if i is target), None))
    return found


def _is_measured(profile):
    """Whether `profile` (None: the flag; True, False, a message or a ProfileStats) asks for it."""
    return bool(config.profile) if profile is None else profile is not False and profile != 0


def _states(asked):
    """({variable: hidden shared variable}, visible inputs, replacements, updates)."""
    states, visible, replace = {}, [], dict(asked.givens)
    updates = dict(asked.updates)
    optional = may_be_none([*asked.outs, *(i.update for i in asked.ins)]) if asked.foreign else ()
    for one in asked.ins:
        if one.update is None and not one.implicit:
            visible.append(one)
            continue
        if one.update is not None and one.value is None:
            _check_made_of(one, asked)
        hidden = _hidden(one, optional)
        states[one.variable] = hidden
        replace[one.variable] = hidden
        if one.update is not None:
            updates[hidden] = one.update
    return states, visible, replace, updates


def _check_made_of(one, asked):
    """MissingInputError where an update needs what is no input of the function."""
    known = {id(i.variable) for i in asked.ins} | {id(v) for v in asked.givens}
    for v in graph_inputs([one.update]):
        if id(v) not in known and not isinstance(v, (Constant, SharedVariable)):
            raise MissingInputError(
                f"the update of the input {one.variable} needs {v}, which is no input", variable=v
            )


def _hidden(one, optional):
    """The shared variable that holds the state of an input; of one of `optional` it can be None."""
    value = one.value
    if isinstance(value, TensorSharedVariable):
        return value
    if isinstance(value, np.random.RandomState):
        return _hook("random_state_shared")(value, one.name)
    if isinstance(value, Container) and value.store is not None:
        return TensorSharedVariable(one.name, one.variable.type, None, None, container=value)
    if isinstance(value, Container):
        value = value.value
    if value is None:
        raise UsageError(f"the input {one.variable} has an update and no value to start from")
    if not isinstance(one.variable, Handle) or one.variable in optional:
        value = one.variable.type.filter(value)
        if getattr(one.variable, "tensor_parts", None):
            return shared(value, name=one.name)
        return SharedVariable(one.name, one.variable.type, value, False)
    return TensorSharedVariable(
        one.name,
        one.variable.type,
        one.variable.type.filter(value, allow_downcast=one.allow_downcast),
        False,
    )


__getattr__ = _absent_of("theano.compile.function")
