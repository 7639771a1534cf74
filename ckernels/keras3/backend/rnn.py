"""keras.ops' rnn: a step over time, as a scan of the engine or unrolled; masks, constants, ends."""

from keras.src import tree

from ..values import convert_to_tensor
from .core import scan, unstack
from .elementwise import where
from .shaping import expand_dims, flip, stack, swapaxes, zeros_like


def cudnn_ok(*args, **kwargs):
    return False


def lstm(*args, **kwargs):
    raise NotImplementedError


def gru(*args, **kwargs):
    raise NotImplementedError


def bidirectional_lstm(*args, **kwargs):
    raise NotImplementedError


def bidirectional_gru(*args, **kwargs):
    raise NotImplementedError


def rnn(
    step_function,
    inputs,
    initial_states,
    go_backwards=False,
    mask=None,
    constants=None,
    unroll=False,
    input_length=None,
    time_major=False,
    zero_output_for_mask=False,
    return_all_outputs=True,
):
    """(last output, all outputs, last states) of `step_function` over the time axis of `inputs`.

    inputs: a structure of (batch, time, ...), or time first with time_major. mask: (batch, time);
    where it is False the states stay, and the output is that of the step before (zeros with
    zero_output_for_mask). Outputs are those of all steps, or of the last one alone.
    """
    if not time_major:
        inputs = tree.map_structure(lambda x: swapaxes(convert_to_tensor(x), 0, 1), inputs)
    if mask is not None:
        mask = convert_to_tensor(mask, "bool")
        mask = mask if time_major else swapaxes(mask, 0, 1)
    if go_backwards:
        inputs = tree.map_structure(lambda x: flip(x, 0), inputs)
        mask = None if mask is None else flip(mask, 0)
    constants = list(constants or [])

    initial_states = tree.map_structure(convert_to_tensor, list(initial_states))

    def called(x, states):
        """The output of a step, and its states in one list."""
        states = tree.pack_sequence_as(initial_states, list(states))
        output, after = step_function(x, [*states, *constants])
        return output, tree.flatten(after)

    def step(states, row):
        x, seen = (row, None) if mask is None else row
        output, after = called(x, states[1:])
        if seen is None:
            return (output, *after), output
        before = zeros_like(output) if zero_output_for_mask else states[0]
        kept = _kept(seen, output, before)
        return (kept, *(_kept(seen, a, b) for a, b in zip(after, states[1:]))), kept

    states = tree.flatten(initial_states)
    output, _ = called(tree.map_structure(lambda x: x[0], inputs), states)
    start = (zeros_like(output), *states)
    count = tree.flatten(inputs)[0].shape[0]
    if unroll:
        if count is None:
            raise ValueError("Unrolling requires a fixed number of timesteps.")
        last, outputs = _unrolled(step, start, inputs, mask)
    else:
        last, outputs = scan(step, start, inputs if mask is None else (inputs, mask))
    final = outputs[-1]
    outputs = outputs if return_all_outputs else expand_dims(final, 0)
    outputs = outputs if time_major else swapaxes(outputs, 0, 1)
    return final, outputs, tree.pack_sequence_as(initial_states, list(last[1:]))


def _kept(seen, new, old):
    """`new` for the samples that are seen, `old` for the others."""
    for _ in range(new.ndim - seen.ndim):
        seen = expand_dims(seen, -1)
    return where(seen, new, old)


def _unrolled(step, states, inputs, mask):
    rows = [unstack(x) for x in tree.flatten(inputs)]
    masks = [None] * len(rows[0]) if mask is None else unstack(mask)
    outputs = []
    for i, seen in enumerate(masks):
        x = tree.pack_sequence_as(inputs, [r[i] for r in rows])
        states, output = step(states, x if mask is None else (x, seen))
        outputs.append(output)
    return states, stack(outputs)
