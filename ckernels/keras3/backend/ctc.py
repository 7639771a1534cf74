"""keras.ops.nn's CTC: loss and decoding, on the engine's."""

import numpy as np

from ... import ops
from ...api import ctc as api
from ...api.ctc import batch_cost  # noqa: F401 (loads the rows of ops)
from ...graph.node import constant
from ...ops import ctc as rows
from ..casts import result_type
from ..eager import compiled
from ..values import cast, convert_to_tensor
from .activations import softmax
from .elementwise import logical_and, logical_or, where
from .reductions import argmax, argsort, max, sum
from .shaping import arange, expand_dims, pad, take_along_axis


def _cost_nodes(logits, target, target_length, output_length, mask_index):
    """Labels that are the blank, which the engine refuses, are a class of their own, as likely."""
    logp = ops.log_softmax(logits, -1)
    classes = logits.shape[2]
    again = ops.getitem(logp, (slice(None), slice(None), slice(mask_index, mask_index + 1)))
    logp = ops.concatenate([logp, again], 2)
    target = ops.where(ops.eq(target, mask_index), constant(np.int32(classes)), target)
    return rows.ctc_cost(logp, target, output_length, target_length, blank=mask_index, log=True)


def ctc_loss(target, output, target_length, output_length, mask_index=0):
    """The CTC loss of each sample of logits (samples, steps, classes)."""
    target, output = convert_to_tensor(target, "int32"), convert_to_tensor(output)
    output = cast(output, result_type(output.dtype, "float32"))
    lengths = [convert_to_tensor(n, "int32") for n in (target_length, output_length)]
    return compiled(_cost_nodes, output, target, *lengths, mask_index=mask_index)


def ctc_decode(
    inputs,
    sequence_lengths,
    strategy="greedy",
    beam_width=100,
    top_paths=1,
    merge_repeated=True,
    mask_index=0,
):
    """Label sequences of logits (samples, steps, classes): (paths, scores)."""
    inputs = convert_to_tensor(inputs)
    inputs = cast(inputs, result_type(inputs.dtype, "float32"))
    lengths = convert_to_tensor(sequence_lengths, "int32")
    if strategy == "greedy":
        return _greedy(inputs, lengths, merge_repeated, mask_index)
    if strategy == "beam_search":
        return _beams(inputs, lengths, beam_width, top_paths, mask_index)
    raise ValueError(
        f"Invalid strategy {strategy}. Supported values are 'greedy' and 'beam_search'."
    )


def _greedy(inputs, lengths, merge_repeated, mask_index):
    """The best class at each step; what is dropped is -1 at the end."""
    blank = inputs.shape[-1] - 1 if mask_index is None else mask_index
    best = argmax(inputs, -1)
    inside = arange(inputs.shape[1]) < expand_dims(lengths, -1)
    scores = -sum(where(inside, max(inputs, -1), convert_to_tensor(0, inputs.dtype)), 1)
    dropped = logical_or(best == blank, inside == False)  # noqa: E712
    if merge_repeated:
        repeated = pad(best[:, 1:] == best[:, :-1], ((0, 0), (1, 0)))
        dropped = logical_or(dropped, logical_and(repeated, inside))
    order = argsort(cast(dropped, "int32"), -1)
    found = take_along_axis(where(dropped, -1, best), order, -1)
    return expand_dims(found, 0), expand_dims(scores, -1)


def _beams(inputs, lengths, beam_width, top_paths, mask_index):
    """A search over prefixes, by the engine's decoder, whose blank is the last class."""
    import warnings  # start-up

    classes = inputs.shape[-1]
    blank = classes - 1 if mask_index is None else mask_index
    order = [c for c in range(classes) if c != blank] + [blank]
    probabilities = np.asarray(softmax(np.asarray(inputs)))[..., order]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths, scores = api.ctc_decode(
            probabilities, lengths, greedy=False, beam_width=beam_width, top_paths=top_paths
        )
    names = np.array([*order[:-1], -1])
    found = [names[p.eval()] for p in paths]
    widest = inputs.shape[1]
    wide = [np.pad(f, ((0, 0), (0, widest - f.shape[1])), constant_values=-1) for f in found]
    return np.stack(wide).astype("int32"), scores.eval()
