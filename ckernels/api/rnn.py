"""K.rnn: a Keras step function along the time axis, with masks, as one scan or unrolled.

The step takes and returns what Keras documents: step(input, states) -> (output, new states). Time
becomes the first axis; `make_scan` does the rest.
"""

from .. import ops
from ..base.errors import ArgumentError, ShapeError, with_line
from ..graph.shapes import show
from .operands import integer, node_of
from .scan import make_scan
from .scan_step import listed
from .tensor import Tensor

__all__ = ["rnn"]


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
    """Run `step_function` along the time axis.

    Parameters
    ----------
    step_function : callable
        step(input, states) -> (output, new_states); input (samples, ...), states a list of tensors
        followed by `constants`, new_states of the same number and shapes.
    inputs : Tensor or list of Tensor
        (samples, time, ...), at least 3-D; of a list, step gets one.
    initial_states : list of Tensor
        (samples, ...).
    go_backwards : bool, default False
        From the last time to the first; outputs are in the order they were made.
    mask : Tensor, optional
        (samples, time) or (samples, time, 1): where it is 0, states stay what they were, and the
        output is that of the time before (zeros at first).
    constants : list of Tensor, optional
        What every step gets after its states.
    unroll : bool, default False
        Write all steps out instead of making a scan; the time must be known, or given as
        input_length.
    input_length : int, optional
        The number of times, where the shape of `inputs` does not say it.
    time_major : bool, default False
        inputs, mask and outputs have their time axis first.
    zero_output_for_mask : bool, default False
        Masked outputs are zeros.
    return_all_outputs : bool, default True
        False: outputs has the last one only, (samples, 1, ...).

    Returns
    -------
    last_output : Tensor
        (samples, ...).
    outputs : Tensor
        (samples, time, ...).
    new_states : list of Tensor
        (samples, ...).

    Raises
    ------
    ShapeError
        For inputs of less than 3 dimensions.
    ArgumentError
        For an unknown time with unroll, and a mask without states.

    Notes
    -----
    The semantics are those of the Keras 1, 2.2 and 2.3 backends.

    Examples
    --------
    >>> x = K.constant(np.arange(6.0).reshape(1, 3, 2))
    >>> step = lambda x, states: (x + states[0], [x + states[0]])
    >>> last, outputs, states = K.rnn(step, x, [K.constant(np.zeros((1, 2)))])
    >>> last.eval()
    array([[6., 9.]], dtype=float32)
    >>> outputs.eval().tolist()
    [[[0.0, 1.0], [2.0, 4.0], [6.0, 9.0]]]
    """
    several = isinstance(inputs, (list, tuple))
    xs = [_timed(k, x, time_major) for k, x in enumerate(listed(inputs))]
    if not xs:
        raise ArgumentError("rnn needs at least one input: its time axis says how many steps run")
    states = [node_of(s, f"initial state {k}") for k, s in enumerate(listed(initial_states))]
    if mask is not None and not states:
        raise ArgumentError(
            "rnn with a mask needs states: where an input is masked, the output "
            "of the time before stands in"
        )
    keep = None if mask is None else _mask(mask, time_major)
    rows = xs if keep is None else [*xs, keep]
    rows = [ops.flip(x, 0) for x in rows] if go_backwards else rows
    cell = _Cell(
        step_function,
        several,
        len(xs),
        len(states),
        listed(constants),
        keep is not None,
        zero_output_for_mask,
    )
    steps = _time(xs, input_length)
    if unroll:
        last, outputs, new = _unrolled(cell, rows, states, steps)
    else:
        last, outputs, new = _scanned(cell, rows, states, steps)
    if not return_all_outputs:
        outputs = ops.expand(last, (0,))
    if not time_major:
        outputs = ops.swapaxes(outputs, 0, 1)
    results = Tensor(last), Tensor(outputs), [Tensor(s) for s in new]
    if cell.uses_learning_phase:
        results[0]._uses_learning_phase = True
        results[1]._uses_learning_phase = True
    return results


def _timed(k, x, time_major):
    """Input `k` with its time axis first."""
    node = node_of(x, f"input {k} of rnn")
    if node.ndim < 3:
        raise with_line(
            ShapeError(
                f"the input of rnn has shape {show(node.shape)}; it needs at least 3 dimensions: "
                "(samples, time, features)"
            ),
            node,
        )
    return node if time_major else ops.swapaxes(node, 0, 1)


def _mask(mask, time_major):
    """The mask as bools (time, samples)."""
    node = node_of(mask, "the mask of rnn")
    if node.ndim == 3 and node.shape[2] in (1, None):
        node = ops.squeeze(node, (2,))
    if node.ndim != 2:
        raise with_line(
            ShapeError(
                f"the mask of rnn has shape {show(node.shape)}; it needs "
                "(samples, time) or (samples, time, 1)"
            ),
            node,
        )
    node = node if node.dtype == "bool" else ops.ne(node, 0)
    return node if time_major else ops.swapaxes(node, 0, 1)


def _time(xs, input_length):
    """The length of the time axis: an int, or a scalar node."""
    size = ops.size_of(xs[0], 0)
    if isinstance(size, int) or input_length is None:
        return size
    return integer(input_length, "input_length")


class _Cell:
    """The step function of a user, as one that takes and returns nodes."""

    def __init__(self, function, several, inputs, states, constants, masked, zeros):
        self.function, self.several, self.inputs = function, several, inputs
        self.states, self.constants = states, constants
        self.masked, self.zeros, self.uses_learning_phase = masked, zeros, False

    def __call__(self, rows, states, before):
        """(output, new states) as nodes; `before` is the output of the time before, or None."""
        rows = [Tensor(x) for x in rows]
        x = rows[: self.inputs] if self.several else rows[0]
        output, new = self.function(x, [Tensor(s) for s in states] + list(self.constants))
        self.uses_learning_phase |= bool(getattr(output, "_uses_learning_phase", False))
        output = node_of(output, "the output of the step of rnn")
        new = [node_of(s, f"new state {k} of the step of rnn") for k, s in enumerate(listed(new))]
        if len(new) != self.states:
            raise ArgumentError(
                f"the step of rnn returns {len(new)} states and was given {self.states}"
            )
        if not self.masked:
            return output, new
        there = rows[-1].node
        kept = [_where(there, a, b) for a, b in zip(new, states)]
        if before is None or self.zeros:
            before = ops.zeros_like(output)
        return _where(there, output, before), kept


def _where(mask, a, b):
    """`a` for the samples of which `mask` is true, else `b`."""
    return ops.where(ops.expand(mask, tuple(range(1, a.ndim))) if a.ndim > 1 else mask, a, b)


def _row_of(x):
    """A tensor in the shape of a row of `x`, which there is of no rows too."""
    return ops.cast(ops.sum(x, 0), x.dtype)


def _scanned(cell, rows, states, steps):
    before = cell.masked and not cell.zeros
    first = []
    if before:  # zeros in the shape of an output, from a call of the step
        first = [ops.zeros_like(cell([_row_of(x) for x in rows], states, None)[0])]

    def step(*args):
        nodes = [a.node for a in args]
        past = nodes[len(rows) :]
        output, new = cell(nodes[: len(rows)], past[len(first) :], past[0] if first else None)
        return [Tensor(output), *(Tensor(s) for s in new)]

    infos = [(ops.expand(s, (0,)), [-1], None) for s in [*first, *states]]
    made = make_scan(step, steps, [(x, None) for x in rows], infos if first else [None, *infos])
    outputs = made.rows()[0]
    new = made.finals()[1:]
    last = made.finals()[0]
    if last is None:
        last = ops.getitem(outputs, -1)
    return last, outputs, new


def _unrolled(cell, rows, states, steps):
    if not isinstance(steps, int):
        raise ArgumentError(
            "rnn with unroll needs a known number of times: give inputs of a known "
            "shape, or input_length"
        )
    if not steps:
        return _scanned(cell, rows, states, steps)
    outputs, before = [], None
    for t in range(steps):
        before, states = cell([ops.getitem(x, t) for x in rows], states, before)
        outputs.append(before)
    return before, ops.stack(outputs, 0), states
