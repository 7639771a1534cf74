"""Branches and loops of traced values: the engine's `ifelse` and `scan`, Keras's structures."""

from keras.src import tree
from keras.src.backend.common.stateless_scope import get_stateless_scope

from .. import ops
from ..api.learning_phase import ifelse
from ..api.scan import make_scan, scan
from ..api.scan_step import until
from ..api.tensor import Tensor
from ..graph.node import constant
from ..ops.scan import ENDLESS
from .casts import cast_node, result_type
from .gradient import with_slopes_of
from .values import Symbolic, convert_to_tensor, is_tensor, node_of
from .variable import StepScope

KEPT_TURNS = 4096  # with a bound up to this, room for the states of all turns is taken at once


def chosen(pred, true_fn, false_fn):
    """The result of one of two functions, and what it assigns to Variables."""
    branches = [_branch(f) for f in (true_fn, false_fn)]
    condition = Tensor(cast_node(pred.node, "bool"))
    outer = get_stateless_scope()
    variables = {key: v for _, assigned in branches for key, (v, _) in assigned.items()}
    for key, variable in variables.items():
        sides = [a[key][1] if key in a else variable.value for _, a in branches]
        outer.add_update((variable, _either_side(condition, *sides)))
    first, second = (result for result, _ in branches)
    return tree.map_structure(lambda a, b: _either_side(condition, a, b), first, second)


def _branch(f):
    """(what a function returns, {id: (Variable, value it assigns)})."""
    inner = StepScope(get_stateless_scope(), initialize_variables=False)
    with inner:
        result = f()
    return result, inner.assigned


def _either_side(condition, a, b):
    if not is_tensor(a) and not is_tensor(b) and (a is b or a == b):
        return a
    a, b = convert_to_tensor(a), convert_to_tensor(b)
    dtype = result_type(a.dtype, b.dtype)
    sides = [Tensor(node_of(x, dtype)) for x in (a, b)]
    return Symbolic(ifelse(condition, *sides).node)


def looped(cond, turn, state, most=None):
    """`while cond(*state): state = turn(*state)`, at most `most` times.

    A gradient needs all states. Where nothing bounds them the turns are counted first, in a loop
    that keeps one state, and run again in one of so many turns.
    """
    first = [node_of(x) for x in tree.flatten(state)]

    def step(*values):
        now = tree.pack_sequence_as(state, [Symbolic(v.node) for v in values])
        after = turn(*now)
        leaves = [
            Tensor(cast_node(node_of(x), n.dtype)) for x, n in zip(tree.flatten(after), first)
        ]
        go = convert_to_tensor(cond(*after), "bool")
        return leaves, until(Tensor(ops.logical_not(node_of(go))))

    def counted(turns, *values):
        leaves, end = step(*values)
        return [Tensor(ops.add(turns.node, 1)), *leaves], end

    go = Tensor(node_of(convert_to_tensor(cond(*state), "bool")))
    if isinstance(most, int) and most <= KEPT_TURNS:
        found = _last(step, first, most)
    else:
        most = ENDLESS if most is None else node_of(most, "int64")
        turns, *found = _last(counted, [constant(0), *first], most)
        again = _last(lambda *values: step(*values)[0], first, turns)
        found = map(with_slopes_of, found, again)
    found = [Symbolic(ifelse(go, Tensor(f), Tensor(n)).node) for f, n in zip(found, first)]
    return tree.pack_sequence_as(state, found)


def _last(step, first, n_steps):
    """The states after the last turn of a loop, of which no others are kept."""
    states = [(ops.expand(n, (0,)), [-1], None) for n in first]
    return make_scan(step, n_steps, [], states).finals()


def scanned(f, init, xs, rows, length, reverse):
    """keras.ops.scan of traced values: (the last carry, the stacked results)."""
    first = [node_of(x) for x in tree.flatten(init)]
    made = {}

    def step(*values):
        row = None
        values = [Symbolic(v.node) for v in values]
        if xs is not None:
            row = tree.pack_sequence_as(xs, values[: len(rows)])
        carry, result = f(tree.pack_sequence_as(init, values[len(rows) :]), row)
        made["result"] = result
        states = [
            Tensor(cast_node(node_of(c), n.dtype)) for c, n in zip(tree.flatten(carry), first)
        ]
        outputs = [Tensor(node_of(r)) for r in tree.flatten(result) if r is not None]
        return states + outputs

    probe = _results(f, init, xs, rows)
    taken, _ = scan(
        step,
        sequences=[Tensor(ops.flip(node_of(r), [0]) if reverse else node_of(r)) for r in rows],
        outputs_info=[Tensor(n) for n in first] + [None] * probe,
        n_steps=length if not rows else None,
        return_list=True,
    )
    carry = [Symbolic(ops.getitem(t.node, -1)) for t in taken[: len(first)]]
    stacks = iter(
        Symbolic(ops.flip(t.node, [0]) if reverse else t.node) for t in taken[len(first) :]
    )
    result = tree.map_structure(lambda r: None if r is None else next(stacks), made["result"])
    return tree.pack_sequence_as(init, carry), result


def _results(f, init, xs, rows):
    """How many results one turn has."""
    row = None
    if xs is not None:
        row = tree.pack_sequence_as(xs, [Symbolic(ops.getitem(node_of(r), 0)) for r in rows])
    now = tree.map_structure(lambda x: Symbolic(node_of(x)), init)
    return sum(r is not None for r in tree.flatten(f(now, row)[1]))
