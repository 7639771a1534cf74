"""scan, map, reduce, foldl, foldr with Theano's signatures, `until`, and `clone`.

A step is called once, on variables; the engine's scan (api/scan.py) runs it. Its results get their
graph from the engine's, with the user's own variables at its ends.
"""

from collections import OrderedDict

import numpy as np

from ... import ops
from ...api import scan as own
from ...api import scan_step
from ...api.tensor import Tensor
from ...base.errors import ArgumentError, UsageError
from ..base.config import config
from ..base.exceptions import MissingInputError, RefusedError
from ..base.names import absent_of as _absent_of
from ..classes.meanings import upcast
from ..compile.function import replacement, update_of
from ..graph.apply import Constant, Variable, ancestors, inputs
from ..graph.walks import handle_of, known_handles, replayed
from ..handles.sharedvar import Container, SharedVariable, TensorSharedVariable
from ..handles.test_values import fill, give_step
from ..handles.type import TensorType
from ..handles.variables import Handle, as_tensor_variable, wrap
from ..tensor.creation import arange
from ..tensor.elementwise import minimum
from .objects import scan_objects
from .op import Scan  # noqa: F401 (the op that results show)
from .updates import OrderedUpdates


class until:  # noqa: N801 (Theano's name)
    """The condition after which a loop ends: the last thing a step returns."""

    def __init__(self, condition):
        self.condition = as_tensor_variable(condition)
        if self.condition.ndim:
            raise RefusedError("the condition of until is a scalar")


def scan(
    fn,
    sequences=None,
    outputs_info=None,
    non_sequences=None,
    n_steps=None,
    truncate_gradient=-1,
    go_backwards=False,
    mode=None,
    name=None,
    profile=False,
    allow_gc=None,
    strict=False,
    return_list=False,
):
    """(outputs, updates) of a step `fn` run over rows of `sequences` and its own results.

    See the documentation of Theano's scan; the arguments are the same. mode, profile and allow_gc
    are accepted and have no effect: the whole loop is one kernel program.

    >>> import ckernels.compat.theano as theano
    >>> import ckernels.compat.theano.tensor as T
    >>> k, a = T.iscalar("k"), T.dvector("a")
    >>> powers, updates = theano.scan(lambda prior, a: prior * a, outputs_info=T.ones_like(a),
    ...                               non_sequences=a, n_steps=k)
    >>> theano.function([a, k], powers[-1], updates=updates)([0, 1, 2, 3], 2).tolist()
    [0.0, 1.0, 4.0, 9.0]
    """
    others = _listed(non_sequences)
    if any(isinstance(x, Variable) and getattr(x, "node", None) is None for x in others):
        rows, infos = _listed(sequences), _listed(outputs_info)
        return scan_objects(fn, rows, infos, others, n_steps, return_list)
    infos = _listed(outputs_info)
    options = {
        "strict": False,
        "checkpoint": None,
        "name": name,
        "truncate": -1 if truncate_gradient is None else int(truncate_gradient),
    }
    while True:
        asked = _Scan(fn, sequences, infos, non_sequences, n_steps, go_backwards)
        try:
            return asked.run(strict, return_list, options)
        except _Wider as wanted:
            infos = [*infos]
            infos[wanted.place] = np.asarray(infos[wanted.place], wanted.dtype)


class _Wider(Exception):
    """A state that starts as a Python number is of another dtype after a step: that of `dtype`."""

    def __init__(self, place, dtype):
        self.place, self.dtype = place, dtype


def _listed(x):
    if x is None:
        return []
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _spec(entry, key):
    """An entry of sequences or outputs_info without variables the engine does not know."""
    if isinstance(entry, dict):
        return {
            k: (v if k == "taps" else v if v is None else as_tensor_variable(v))
            for k, v in entry.items()
            if k in (key, "taps")
        }
    return entry if entry is None else as_tensor_variable(entry)


def _tensor_of(entry):
    """The variable of an entry of sequences or outputs_info."""
    return entry.get("input", entry.get("initial")) if isinstance(entry, dict) else entry


class _Scan:
    """One call of scan on its way to the engine."""

    def __init__(self, fn, sequences, outputs_info, non_sequences, n_steps, go_backwards):
        if not callable(fn):
            raise UsageError(f"scan needs a step function, not {fn!r}")
        self.fn = fn
        self.given_seqs = [_spec(s, "input") for s in _listed(sequences)]
        self.given_infos = [_info(o) for o in _listed(outputs_info)]
        self.plain = {"sequences": self.given_seqs, "outputs_info": self.given_infos,
                      "non_sequences": _listed(non_sequences), "n_steps": n_steps,
                      "go_backwards": go_backwards}  # fmt: skip
        self.numbers = [isinstance(o, (bool, int, float)) for o in _listed(outputs_info)]
        self.others = [self._other(x) for x in _listed(non_sequences)]
        self.seqs = [scan_step.Sequence(k, s) for k, s in enumerate(self.given_seqs)]
        self.states = [scan_step.State(k, s) for k, s in enumerate(self.given_infos)]
        self.go_backwards = go_backwards
        self.counted = None
        self.steps = self._steps(n_steps)
        self.shared, self.seen, self.single, self.ends = {}, [], False, False

    @staticmethod
    def _other(x):
        return x if isinstance(x, Variable) else as_tensor_variable(x)

    def _steps(self, n_steps):
        if (
            n_steps is not None
            and isinstance(n_steps, (float, np.floating))
            and n_steps != int(n_steps)
        ):
            raise ArgumentError(f"n_steps must be whole, not {n_steps} of {type(n_steps)}")
        if n_steps is not None and not isinstance(n_steps, int):
            self.counted = n_steps = as_tensor_variable(n_steps)
            known = ops.known_value(n_steps.node) if n_steps.ndim == 0 else None
            n_steps = int(known) if known is not None else n_steps
        if isinstance(n_steps, int) and n_steps < 0:
            self.go_backwards, n_steps = not self.go_backwards, -n_steps
        if n_steps is None and not self.seqs:
            raise ArgumentError(
                "scan cannot tell how many steps to take: pass n_steps or a sequence to run over"
            )
        return own.steps_of(self.seqs, n_steps)

    def rows(self, n_steps=None):
        found = []
        for seq in self.seqs:
            for tap, x in seq.rows(self.go_backwards):
                found.append(
                    (
                        own.cut_rows(x, self.steps, seq, len(self.seqs), n_steps),
                        own.tap_name(seq.name, tap),
                    )
                )
        return found

    def run(self, strict, return_list, options):
        states = [
            (s.init, s.taps, own.tap_name(s.name, -1)) if s.taps else None for s in self.states
        ]
        others = [x for x in self.others if isinstance(x, Handle)]
        self.strict = strict
        loop = own.make_scan(
            self.step, self.steps, self.rows(self.steps), states, others, **options
        )
        memo = known_handles([*others, *self.seen, *self.outer()])
        outputs = [handle_of(node, memo) for node in loop.rows()]
        for k, v in enumerate(outputs):
            v._mentions, v._loop = (*self.seen, *others, *self.outer()), (self, k)
            self.loosen(k, v)
        if config.compute_test_value != "off":
            for v in outputs:
                fill(v)
        updates = OrderedUpdates()
        for v, value in loop.updates.items():
            updates[self.handle(v)] = handle_of(value.node, memo)
        if len(outputs) == 1 and not return_list:
            return outputs[0], updates
        if not outputs:
            return ([] if return_list else None), updates
        return outputs, updates

    def loosen(self, k, rows):
        """Rows are known to have size 1 where the step's output and its first value are said to be:
        the engine, which knows sizes, does not see `unbroadcast`."""
        out, known = self.outputs[k], list(rows.broadcastable)
        said = [out.broadcastable]
        if self.states and self.states[k].taps:
            said.append(_tensor_of(self.given_infos[k]).broadcastable)
        for marks in said:
            for axis in range(1, min(out.ndim, len(marks)) + 1):
                known[-axis] = known[-axis] and marks[-axis]
        if known != list(rows.broadcastable):
            rows.type = rows.type.clone(broadcastable=known)

    def outer(self):
        """The user's variables that the loop starts from."""
        found = [] if self.counted is None else [self.counted]
        for s in (*self.given_seqs, *self.given_infos):
            s = _tensor_of(s)
            if isinstance(s, Handle):
                found.append(s)
        return found

    def handle(self, v):
        """The user's shared variable for the engine's."""
        found = self.shared.get(v.node)
        if found is not None:
            return found
        for x in self.everything():
            if isinstance(x, TensorSharedVariable) and x.node is v.node:
                return x
        return shared_on(v)

    def everything(self):
        return ancestors(self.seen)

    def step(self, *args):
        """The user's step on handles; what it returned, as the engine takes it."""
        handles = [a if isinstance(a, Handle) else wrap(a.node) for a in args]
        for h, a in zip(handles, args):
            if h.name is None and getattr(a.node, "name", None):
                h.name = a.node.name
        count = len(handles) - sum(isinstance(x, Handle) for x in self.others)
        rest = iter(handles[count:])
        handles = handles[:count] + [
            next(rest) if isinstance(x, Handle) else x for x in self.others
        ]
        if config.compute_test_value != "off":
            self.give_test_values(handles)
        outputs, updates, condition = returned(self.fn(*handles))
        self.arguments = handles
        outputs = self.outputs = self.fitted(outputs)
        if updates or condition is not None:
            self.plain = None
        self.seen = [*outputs, *[v for v in updates.values() if isinstance(v, Handle)]]
        if self.strict:
            self.check_strict(handles, outputs, updates)
        for v in updates:
            self.shared[v.node] = v
        parts = [
            [Tensor(o.node) for o in outputs],
            {v: Tensor(_update(v, new).node) for v, new in updates.items()},
        ]
        if condition is not None:
            self.seen.append(condition)
            self.ends = True
            return (*parts, scan_step.until(Tensor(condition.node)))
        return tuple(parts)

    def give_test_values(self, handles):
        """Let the arguments of the step have test values: those of the first step."""
        sequences = [(_tensor_of(s), q.taps) for s, q in zip(self.given_seqs, self.seqs)]
        states = [(_tensor_of(s), q.taps) for s, q in zip(self.given_infos, self.states) if q.taps]
        give_step(handles, sequences, self.go_backwards, states, self.others)

    def fitted(self, outputs):
        """Outputs with state in the dtype of their first value, where that loses nothing."""
        if self.states and len(self.states) != len(outputs):
            raise ArgumentError(
                f"the step returns {len(outputs)} outputs, outputs_info has "
                f"{len(self.states)} entries: give one for each, None for an "
                "output that no later step reads"
            )
        found = []
        for k, (o, state) in enumerate(zip(outputs, self.states or [None] * len(outputs))):
            if state is not None and state.taps:
                if self.numbers[k] and upcast(o.dtype, state.init.dtype) != state.init.dtype:
                    raise _Wider(k, o.dtype)
                o = _as_state(o, state)
            found.append(o)
        return found

    def check_strict(self, handles, outputs, updates):
        """Shared variables that the step uses must be among non_sequences."""
        mine = {id(h) for h in handles}
        for v in inputs(
            [*outputs, *[u for u in updates.values() if isinstance(u, Variable)]], set(handles)
        ):
            if getattr(v, "default_update", None) is not None:  # a generator's state
                continue
            if isinstance(v, SharedVariable) and id(v) not in mine and v not in updates:
                raise MissingInputError(
                    f"the step reads {v}, which is not among the non_sequences: strict=True asks "
                    "for all that it reads",
                    variable=v,
                )


def _info(entry):
    """An entry of outputs_info, checked."""
    if isinstance(entry, dict):
        if entry.get("initial") is None and entry.get("taps") is not None:
            raise ArgumentError(
                "an output with taps needs its values from before the first step: "
                "give them as 'initial'",
                entry,
            )
        if "membuf" in entry:
            entry = {k: v for k, v in entry.items() if k != "membuf"}
        entry = {k: v for k, v in entry.items() if not (k == "taps" and v is None)}
        if "taps" in entry and isinstance(entry["taps"], int):
            entry["taps"] = [entry["taps"]]
        if set(entry) - {"initial", "taps", "inplace", "steps", "return_steps"}:
            raise ArgumentError(f"outputs_info does not know {sorted(set(entry))}")
    return _spec(entry, "initial")


def _as_state(out, state):
    """An output as the next value of a state: of its dtype."""
    first = state.init.dtype
    if out.dtype == first:
        return out
    if np.can_cast(out.dtype, first, "safe") or (
        out.dtype.startswith("float")
        and first.startswith("float")
        and np.dtype(out.dtype).itemsize <= np.dtype(first).itemsize
    ):
        return out.astype(first)
    raise ArgumentError(
        f"the step of scan returns {out} of dtype {out.dtype}, but outputs_info "
        f"starts it as {first}; cast one of them to the dtype of the other"
    )


def _update(v, new):
    return update_of(v, new)


def shared_on(v):
    """A facade's variable on the store of one of K."""
    type_ = TensorType(v.dtype, [d == 1 for d in v.node.shape])
    container = Container(None, None, False, None, v.name, type_, v.store)
    made = TensorSharedVariable(v.name, type_, None, None, container=container)
    made.node = v.node
    return made


def returned(result):
    """(outputs, updates {shared: value}, condition) of what a step returned."""
    parts = list(result) if isinstance(result, tuple) else [result]
    condition = None
    if parts and isinstance(parts[-1], until):
        condition = parts.pop().condition
    if (
        len(parts) == 1
        and isinstance(parts[0], list)
        and parts[0]
        and isinstance(parts[0][-1], until)
    ):
        condition = parts[0][-1].condition
        parts[0] = parts[0][:-1]
    updates, outputs = OrderedDict(), []
    given = [p for p in parts if _is_updates(p)]
    rest = [p for p in parts if not _is_updates(p)]
    if len(given) > 1 and not all(not g for g in given):
        given = [g for g in given if g]
    for pairs in given:
        for v, value in pairs.items() if hasattr(pairs, "items") else pairs:
            updates[v] = value
    if len(rest) == 1 and isinstance(rest[0], (list, tuple)):
        rest = list(rest[0])
        if rest and any(_is_updates(p) for p in rest):
            inner, more, _ = returned(tuple(rest))
            updates.update(more)
            return inner, updates, condition
    for one in rest:
        if isinstance(one, (list, tuple)):
            outputs += [as_tensor_variable(x) for x in one]
        elif one is not None:
            outputs.append(as_tensor_variable(one))
    return outputs, updates, condition


def _is_updates(x):
    if isinstance(x, dict):
        return True
    return (
        isinstance(x, (list, tuple))
        and bool(x)
        and all(
            isinstance(p, (list, tuple)) and len(p) == 2 and isinstance(p[0], SharedVariable)
            for p in x
        )
    )


# --- maps and folds ---------------------------------------------------------------------------


def map(
    fn,
    sequences,
    non_sequences=None,
    truncate_gradient=-1,
    go_backwards=False,
    mode=None,
    name=None,
):
    """(outputs, updates) of `fn` applied to each row of `sequences`."""
    return scan(
        fn,
        sequences,
        [],
        non_sequences,
        truncate_gradient=truncate_gradient,
        go_backwards=go_backwards,
        mode=mode,
        name=name,
    )


def reduce(
    fn, sequences, outputs_info, non_sequences=None, go_backwards=False, mode=None, name=None
):
    """(last outputs, updates) of `fn`, which gets a row and its own result of the row before."""
    found, updates = scan(
        fn,
        sequences,
        outputs_info,
        non_sequences,
        go_backwards=go_backwards,
        truncate_gradient=-1,
        mode=mode,
        name=name,
    )
    if isinstance(found, (list, tuple)):
        return [x[-1] for x in found], updates
    return found[-1], updates


def foldl(fn, sequences, outputs_info, non_sequences=None, mode=None, name=None):
    """`reduce` from the first row on."""
    return reduce(fn, sequences, outputs_info, non_sequences, False, mode, name)


def foldr(fn, sequences, outputs_info, non_sequences=None, mode=None, name=None):
    """`reduce` from the last row on."""
    return reduce(fn, sequences, outputs_info, non_sequences, True, mode, name)


def scan_checkpoints(
    fn,
    sequences=None,
    outputs_info=None,
    non_sequences=None,
    name="checkpointscan_fn",
    n_steps=None,
    save_every_N=10,
    padding=True,
):
    """`scan` that stores the state only every save_every_N steps; gradients compute the others."""
    sequences = _listed(sequences)
    if any(isinstance(s, dict) for s in sequences):
        raise RefusedError("sequences of scan_checkpoints have no taps")
    if any(isinstance(s, dict) and "taps" in s for s in _listed(outputs_info)):
        raise RuntimeError("outputs_info of scan_checkpoints has no taps")
    asked = _Scan(fn, sequences, outputs_info, non_sequences, n_steps, False)
    found, updates = asked.run(
        False,
        False,
        {"strict": False, "checkpoint": int(save_every_N), "name": name, "truncate": -1},
    )
    several = isinstance(found, list)
    rows = [
        x[save_every_N - 1 :: save_every_N] if padding is False else x[_every(x, save_every_N)]
        for x in (found if several else [found])
    ]
    return (rows if several else rows[0]), updates


def _every(x, n):
    """The last row of each segment of `n` rows."""
    size = x.shape[0]
    count = (size + n - 1) // n
    return minimum(arange(count) * n + (n - 1), size - 1)


# --- clone ------------------------------------------------------------------------------------


def clone(output, replace=None, strict=True, share_inputs=True, copy_inputs=None):
    """`output` (a variable or a list) made anew, with `replace` put in.

    replace: {variable: variable} or pairs; share_inputs=False: inputs are copied too.
    """
    if copy_inputs is not None:
        share_inputs = copy_inputs
    pairs = list(replace.items()) if hasattr(replace, "items") else list(replace or ())
    if replace is not None and not isinstance(replace, (dict, list, tuple)) and not pairs:
        raise ArgumentError(
            f"replace is a dictionary, a list or tuple of pairs, or None, not {replace}"
        )
    many = isinstance(output, (list, tuple))
    outputs = list(output) if many else [output]
    table = {old: replacement(old, new, strict) for old, new in pairs}
    found = replayed(outputs, table)
    if not share_inputs:
        found = replayed(
            found, {v: v.clone() for v in inputs(found) if not isinstance(v, Constant)}
        )
    return found if many else found[0]


__getattr__ = _absent_of("theano.scan_module")
