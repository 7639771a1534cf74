"""Scans: scan with all of Theano's options, and the map and folds of Keras on top of it.

A step function is run once, on placeholders; `make_scan` turns what it returned into one scan node.
What the step does not need step by step is computed before the scan; variables it updates, and the
states of random tensors, become carried state.
"""

import functools
import inspect

from .. import ops
from ..base import given
from ..base.errors import ArgumentError, ShapeError, UsageError, with_line
from ..graph.node import Node, as_node, constant
from ..graph.shapes import show
from ..graph.walk import rebuild, toposort_cut
from ..ops.scan import Carry, scan_node
from ..ops.scan_ends import scan_updates
from .operands import integer, node_of
from .scan_checkpoints import checkpointed
from .scan_made import MadeScan
from .scan_step import Result, Sequence, State, listed, shortest, step_count, until
from .tensor import Tensor, Variable, placeholder_node

__all__ = ["scan", "until", "map_fn", "foldl", "foldr"]


def scan(
    function=None,
    sequences=None,
    outputs_info=None,
    non_sequences=None,
    n_steps=None,
    truncate_gradient=-1,
    go_backwards=False,
    name=None,
    strict=False,
    return_list=False,
    debug=False,
    checkpoint=None,
    mode=None,
    profile=False,
    allow_gc=None,
    fn=None,
):
    """Run a step `function` over rows and its own results: (outputs, updates).

    Parameters
    ----------
    function : callable
        Called once, with placeholders: a row of each sequence (one per tap), the results of earlier
        steps (one per tap), then non_sequences. Returns outputs (a tensor or a list), updates of
        variables (a dict or pairs) or both, then `until(condition)`.
    sequences : Tensor, dict or list of them, optional
        Tensors, of which each step gets one row, or dicts(input=, taps=[0]): tap k is the row k
        steps ahead. The shortest one ends the scan.
    outputs_info : list, optional
        For each output None, or its value before the first step, or dict(initial=, taps=[-1]): with
        other taps `initial` holds that many rows. A result keeps the dtype and the shape of its
        first value.
    non_sequences : list of Tensor, optional
        Passed to each step as they are. A random tensor among them stays the same for all steps;
        others used by the step are drawn anew in each.
    n_steps : int or Tensor, optional
        A scalar; with `until` the most there may be; 0 gives 0 rows.
    truncate_gradient : int, default -1
        How many steps gradients go back; -1: all.
    go_backwards : bool, default False
        Go through sequences from their end.
    name : str, optional
        What messages call the scan.
    strict : bool, default False
        Variables and placeholders the step uses must be among non_sequences.
    return_list : bool, default False
        Outputs are a list even if there is one.
    debug : bool, default False
        Run the step in NumPy, one by one.
    checkpoint : int, optional
        Store the state only every so many steps; gradients compute the others again.
    mode, profile, allow_gc : object
        Accepted, and not needed.
    fn : callable, optional
        Another name for `function`.

    Returns
    -------
    outputs : Tensor or list of Tensor
        Of shape (steps, ...).
    updates : dict
        {variable: value after the scan}, for K.function. Random tensors and variables with a
        default update advance without being passed.

    Raises
    ------
    ShapeError, DTypeError
        Where a result does not have the shape or the dtype of its first value.
    ArgumentError, UsageError
        For arguments that make no scan, with the user's line.

    Notes
    -----
    The semantics are those of the scan of Theano 1.0.

    Examples
    --------
    >>> A, k = K.placeholder((None,)), K.placeholder((), dtype="int32")
    >>> powers, updates = K.scan(lambda prior, A: prior * A, outputs_info=K.ones_like(A),
    ...                          non_sequences=A, n_steps=k)
    >>> power = K.function([A, k], powers[-1], updates=updates)
    >>> power(range(10), 2)
    array([ 0.,  1.,  4.,  9., 16., 25., 36., 49., 64., 81.], dtype=float32)
    """
    step = function if function is not None else fn
    if not callable(step):
        raise UsageError(f"scan needs a step function, not {step!r}")
    go_backwards = given.flag(go_backwards, "go_backwards")
    seqs = [Sequence(k, s) for k, s in enumerate(listed(sequences))]
    infos = [State(k, s) for k, s in enumerate(listed(outputs_info))]
    steps = steps_of(seqs, n_steps)
    rows = []
    for seq in seqs:
        for tap, x in seq.rows(go_backwards):
            rows.append((cut_rows(x, steps, seq, len(seqs), n_steps), tap_name(seq.name, tap)))
    states = [(s.init, s.taps, tap_name(s.name, -1)) if s.taps else None for s in infos]
    made = make_scan(
        step,
        steps,
        rows,
        states,
        listed(non_sequences),
        strict=strict,
        checkpoint=checkpoint,
        op="scan_debug" if debug else "scan",
        name=name,
        truncate=integer(truncate_gradient, "truncate_gradient"),
    )
    outputs = [Tensor(rows) for rows in made.rows()]
    if len(outputs) == 1 and not return_list:
        return outputs[0], made.updates
    return (outputs or ([] if return_list else None)), made.updates


def tap_name(name, tap):
    return f"{name}[t{tap:+d}]" if name and tap else name and f"{name}[t]"


def steps_of(seqs, n_steps):
    """The number of steps: an int or a scalar node."""
    lengths = [s.length() for s in seqs]
    if n_steps is None:
        if not seqs:
            raise ArgumentError("scan needs n_steps, or a sequence to go along")
        return shortest(lengths)
    steps = step_count(n_steps)
    for seq, length in zip(seqs, lengths):
        if isinstance(steps, int) and isinstance(length, int) and length < steps:
            raise with_line(
                ShapeError(
                    f"{seq.what} has {length + seq.span} elements, enough for {length} steps; "
                    f"n_steps is {steps}"
                ),
                seq.node,
            )
    return steps


def cut_rows(rows, steps, seq, count, n_steps):
    """`rows` without those that no step reads."""
    if rows.shape[0] == steps and steps is not None:
        return rows
    if n_steps is None and count == 1:
        return rows
    return ops.dynamic_slice(rows, [(0, steps, 1)])


# --- making the scan --------------------------------------------------------------------------


def make_scan(step, steps, rows, states, others=(), strict=False, checkpoint=None, **options):
    """The MadeScan of `step`.

    steps: int or scalar node; rows: [(node of that many rows, name)]; states: for each output None
    or (first rows, taps, name); [] when no output has state; others: further arguments.
    """
    given.name(options.get("name"))
    traced = _Traced(step, rows, states, others)
    if strict:
        traced.check_strict()
    carries, outs, parts = traced.sort()
    first = len(carries)
    carries += traced.variable_carries()
    options["states"] = tuple(range(first, len(carries)))
    seqs = [(0, [x], n) for (x, _), n in zip(rows, traced.inputs)]
    count = as_node(steps) if isinstance(steps, Node) else constant(steps, "int64")
    if checkpoint is not None:
        made = checkpointed(
            integer(checkpoint, "checkpoint"),
            steps,
            seqs,
            carries,
            outs,
            traced.condition,
            parts,
            traced.frozen,
            options,
        )
    else:
        node = scan_node(
            count, seqs, carries, outs, traced.condition, frozen=traced.frozen, **options
        )
        made = MadeScan(node, parts)
    for i, v in enumerate(traced.variables, first):
        made.updates[v] = Tensor(made.final_of(i))
    return made


class _Traced:
    """A step that was run on placeholders.

    inputs, taps     the placeholders of rows, and for each output those of its past
    outputs          nodes; condition: of until, or None
    variables        those that change from step to step; stand_ins: {node: placeholder}
    """

    def __init__(self, step, rows, states, others):
        self.inputs = [placeholder_node(x.dtype, x.shape[1:], name) for x, name in rows]
        self.taps = [
            [placeholder_node(s[0].dtype, s[0].shape[1:], s[2]) for _ in s[1]] if s else []
            for s in states
        ]
        others = [x if isinstance(x, (Tensor, int, float)) else Tensor(node_of(x)) for x in others]
        past = [n for t in self.taps for n in t]
        result = call(step, [Tensor(n) for n in self.inputs], [Tensor(n) for n in past], others)
        if states and len(result.outputs) != len(states):
            raise ArgumentError(
                f"outputs_info describes {len(states)} outputs, but the step returns "
                f"{len(result.outputs)}: it needs one entry for each, None for those without state"
            )
        self.states = states or [None] * len(result.outputs)
        self.given = [x.node for x in others if isinstance(x, Tensor)]
        self.frozen = [n for n in self.given if n.op.name != "variable"]
        self.variables = _varying(result, self.frozen)
        self.stand_ins = {
            v.node: placeholder_node(v.dtype, v.node.shape, v.name) for v in self.variables
        }
        self.substitute(result)

    def substitute(self, result):
        """Take the nodes of `result` with stand-ins for variables, but not inside frozen nodes."""
        wanted = result.outputs + list(self.variables.values())
        wanted += [] if result.condition is None else [result.condition]
        if self.stand_ins:
            wanted = rebuild(wanted, {**self.stand_ins, **{n: n for n in self.frozen}})
        self.condition = None if result.condition is None else wanted.pop()
        count = len(result.outputs)
        self.outputs, self.new_values = wanted[:count], wanted[count:]

    def check_strict(self):
        """ArgumentError when the step needs a leaf that is not among its arguments."""
        cut = {n.uid for n in [*self.inputs, *sum(self.taps, []), *self.given]}
        cut |= {n.uid for n in self.stand_ins.values()}
        wanted = self.outputs + self.new_values
        for node in toposort_cut(wanted + ([self.condition] if self.condition else []), cut):
            if node.op.name in ("variable", "placeholder") and "default" not in node.attrs:
                raise with_line(
                    ArgumentError(
                        f"the step uses {node.name or node.op.name} ({node.dtype} "
                        f"{show(node.shape)}), which is not among non_sequences; "
                        "with strict=True it has to be"
                    ),
                    node,
                )

    def sort(self):
        """(carries, outs, for each output which of them it is)."""
        carries = [
            Carry(state[0], tuple(state[1]), own, new)
            for new, state, own in zip(self.outputs, self.states, self.taps or self.states)
            if state
        ]
        first = {}
        for i, c in enumerate(carries):
            first.setdefault(c.new.uid, i)
        outs, parts, carried = [], [], iter(range(len(carries)))
        for new, state in zip(self.outputs, self.states):
            if state:
                parts.append(("carry", next(carried)))
            elif new.uid in first:  # the trace of a state is this output already
                parts.append(("carry", first[new.uid]))
            else:
                parts.append(("out", len(outs)))
                outs.append(new)
        return carries, outs, parts

    def variable_carries(self):
        return [
            Carry(ops.expand(v.node, (0,)), (-1,), [self.stand_ins[v.node]], new)
            for v, new in zip(self.variables, self.new_values)
        ]


def call(step, rows, past, others):
    """The Result of one call of the step function; UsageError for wrong numbers of arguments."""
    args = [*rows, *past, *others]
    fits(step, args, f"the step function cannot be called with {len(args)} arguments ({len(rows)} "
                     f"rows of sequences, {len(past)} results of earlier steps, {len(others)} "
                     "non_sequences)")  # fmt: skip
    return Result(step(*args))


def fits(function, args, refusal):
    """UsageError with `refusal` where `function` takes other numbers of arguments."""
    try:
        inspect.signature(function).bind(*args)
    except ValueError:  # a callable without a signature
        pass
    except TypeError as problem:
        raise UsageError(f"{refusal}: {problem}") from None


# --- variables that change from step to step --------------------------------------------------


def _varying(result, frozen):
    """{Variable: node of its value after a step}: what the step updates, and random states."""
    found = dict(result.updates)
    nodes = {v.node for v in found}
    todo = result.outputs + list(found.values())
    todo += [] if result.condition is None else [result.condition]
    cut = {n.uid for n in frozen}
    while todo:
        order = toposort_cut(todo, cut)
        inner = scan_updates(order)
        todo = []
        for leaf in order:
            if leaf.op.name != "variable" or leaf in nodes:
                continue
            new = inner.get(leaf, leaf.attrs["store"].default_update)
            if new is not None:
                nodes.add(leaf)
                found[handle(leaf)] = new
                todo.append(new)
    return found


def handle(node):
    """A Variable on the variable `node`."""
    store = node.attrs["store"]
    return Variable(store.get(), node.name, node.shape, store)


# --- maps and folds ---------------------------------------------------------------------------


def map_fn(fn, elems, name=None, dtype=None):
    """`fn` of each element along the first axis of `elems`, stacked.

    Parameters
    ----------
    fn : callable
        Called once, with a placeholder for an element, or one for an element of each of `elems`.
    elems : Tensor or list of Tensor
        Of one length along the first axis.
    name : str, optional
        What messages call it.
    dtype : str, optional
        Of the result.

    Returns
    -------
    Tensor
        (length of `elems`, ...) with the shape of what `fn` returns.

    Raises
    ------
    UsageError
        Where `fn` does not take an element of each.

    Examples
    --------
    >>> K.map_fn(lambda x: x * x, K.constant([1.0, 2.0, 3.0])).eval()
    array([1., 4., 9.], dtype=float32)
    """

    given.function(fn, "the first argument of map_fn")

    @functools.wraps(fn)  # its signature is what the rows must fit
    def step(*rows):
        y = fn(*rows)
        if isinstance(y, (list, tuple)):
            return [as_tensor(one, dtype) for one in y]
        return as_tensor(y, dtype)

    return scan(step, sequences=elems, name=name)[0]


def as_tensor(x, dtype):
    node = node_of(x, "what the function returned")
    return Tensor(node if dtype is None else ops.cast(node, dtype))


def foldl(fn, elems, initializer=None, name=None):
    """fn(... fn(fn(initializer, elems[0]), elems[1]) ...): elements combined from left to right.

    Parameters
    ----------
    fn : callable
        fn(accumulator, element) -> the next accumulator.
    elems : Tensor
        Its elements along the first axis.
    initializer : Tensor, optional
        elems[0] by default, which is then not an element.
    name : str, optional
        What messages call it.

    Returns
    -------
    Tensor
        The last accumulator.

    Raises
    ------
    UsageError
        Where `fn` does not take the accumulator and an element.

    Examples
    --------
    >>> K.foldl(lambda acc, x: acc + x, K.constant([1.0, 2.0, 3.0])).eval()
    array(6., dtype=float32)
    """
    return _fold("foldl", fn, elems, initializer, name, False)


def foldr(fn, elems, initializer=None, name=None):
    """fn(... fn(fn(initializer, elems[-1]), elems[-2]) ...): elements combined from right to left.

    Parameters
    ----------
    fn : callable
        fn(accumulator, element) -> the next accumulator.
    elems : Tensor
        Its elements along the first axis.
    initializer : Tensor, optional
        elems[-1] by default, which is then not an element.
    name : str, optional
        What messages call it.

    Returns
    -------
    Tensor
        The last accumulator.

    Raises
    ------
    UsageError
        Where `fn` does not take the accumulator and an element.

    Examples
    --------
    >>> K.foldr(lambda acc, x: acc - x, K.constant([1.0, 2.0, 10.0])).eval()
    array(7., dtype=float32)
    """
    return _fold("foldr", fn, elems, initializer, name, True)


def _fold(what, fn, elems, initializer, name, backwards):
    given.function(fn, f"the first argument of {what}")
    rows = [Tensor(node_of(x, f"the elements of {what}")) for x in listed(elems)]
    if initializer is None:
        if len(rows) != 1:
            raise ArgumentError(f"{what} over several tensors needs an initializer")
        first, rest = (-1, slice(None, -1)) if backwards else (0, slice(1, None))
        initializer, rows = rows[0][first], [rows[0][rest]]
    seqs = [Sequence(k, x) for k, x in enumerate(rows)]
    state = State(0, Tensor(node_of(initializer, f"the initializer of {what}")))
    steps = steps_of(seqs, None)
    inputs = [
        (cut_rows(x, steps, s, len(seqs), None), None) for s in seqs for _, x in s.rows(backwards)
    ]

    def step(*args):
        *xs, acc = args
        fits(fn, [acc, *xs], f"the function of {what} cannot be called with {len(args)} arguments "
                             f"(the accumulator, {len(xs)} elements)")  # fmt: skip
        return fn(acc, *xs)

    made = make_scan(step, steps, inputs, [(state.init, [-1], None)], name=name)
    return Tensor(made.finals()[0])
