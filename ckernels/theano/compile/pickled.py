"""Pickles of functions: what they were asked for, from which they are made anew."""

from ..base.config import config
from ..base.hooks import hook


def reduced(function):
    """What pickle keeps of a Function: inputs, outputs, updates, givens, mode, values of states."""
    asked = function.asked
    swap = getattr(function, "swapped", {})
    states = [
        (k, i.name, function.states[i.variable])
        for k, i in enumerate(asked.ins)
        if i.variable in function.states
    ]
    updates = dict(asked.updates) if function.spec.updates else {}
    return _again, (
        asked.ins,
        _outputs(asked),
        updates,
        dict(asked.givens),
        function.name,
        function.mode,
        asked.downcast,
        swap,
        states,
        dict(function.spec.defaults),
    )


def _outputs(asked):
    if asked.outputs is None:
        return None
    if asked.names is not None:
        return dict(zip(asked.names, asked.outs))
    return asked.outs[0] if asked.single else list(asked.outs)


def _again(ins, outputs, updates, givens, name, mode, downcast, swap, states, defaults):
    if not config.unpickle_function:
        return None
    for k, _, state in states:
        ins[k].value = state
    made = hook("function")(
        ins,
        outputs,
        mode=mode,
        updates=updates,
        givens=givens,
        name=name,
        allow_input_downcast=downcast,
        on_unused_input="ignore",
    )
    made.spec.defaults.update(defaults)
    return made._swapped(swap, False, name, {}) if swap else made
