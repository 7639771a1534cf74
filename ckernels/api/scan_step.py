"""A step function on its way to a scan: what it is called with, and what it may return.

`Sequence` and `State` read one entry of `sequences` and `outputs_info`; `Result` sorts out what a
step returned. Everything a user can get wrong here is said in terms of their arguments. The scan
itself is made in scan.py.
"""

from collections.abc import Mapping

from .. import ops
from ..base import dtypes
from ..base.errors import ArgumentError, DTypeError, ShapeError, with_line
from ..graph.node import Node, make
from ..graph.shapes import show
from ..ops.shape import known_value
from .operands import node_of, operand, update_value
from .tensor import Variable


class until:  # noqa: N801  (the name users know)
    """The condition that ends a scan: the last thing a step returns.

    Parameters
    ----------
    condition : Tensor
        A scalar; the scan ends behind the first step where it is not zero.

    Raises
    ------
    ShapeError
        For what is no scalar.

    Examples
    --------
    >>> double = lambda h: (h * 2, K.until(h * 2 > 45))
    >>> powers, _ = K.scan(double, outputs_info=K.constant(1.0), n_steps=1024)
    >>> powers.eval()
    array([ 2.,  4.,  8., 16., 32., 64.], dtype=float32)
    """

    def __init__(self, condition):
        node = node_of(condition, "the condition of until")
        if node.ndim:
            raise with_line(
                ShapeError(
                    f"the condition of until must be a scalar, not of shape {show(node.shape)}; "
                    "K.any or K.all make one"
                ),
                node,
            )
        self.condition = node if node.dtype == "bool" else ops.ne(node, 0)


class Updates(dict):
    """What scan returns second: {variable: its value after the scan}, for K.function(updates=...).

    Keys are variables; adding two that disagree about one is an error.
    """

    def __init__(self, pairs=()):
        super().__init__()
        self.update(pairs)

    def __setitem__(self, variable, value):
        if not isinstance(variable, Variable):
            raise DTypeError(f"the keys of updates are variables, not {variable!r}")
        for known in self:
            if known.node is variable.node:
                variable = known
        super().__setitem__(variable, value)

    def __getitem__(self, variable):
        for known, value in self.items():
            if known is variable or getattr(variable, "node", None) is known.node:
                return value
        raise KeyError(variable)

    def __contains__(self, variable):
        return any(known.node is getattr(variable, "node", None) for known in self)

    def get(self, variable, default=None):
        return self[variable] if variable in self else default

    def update(self, pairs=()):
        for variable, value in pairs.items() if isinstance(pairs, Mapping) else pairs:
            if variable in self and self[variable] is not value:
                raise ArgumentError(f"two different updates of {variable!r} cannot be merged")
            self[variable] = value

    def __add__(self, other):
        both = Updates(self)
        both.update(other)
        return both

    __or__ = __add__

    def __radd__(self, other):
        return Updates(other) + self

    def __iadd__(self, other):
        self.update(other)
        return self


# --- arguments --------------------------------------------------------------------------------


def listed(given):
    """A list of what may be one thing, a list of them, or None."""
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _keys(given, allowed, what):
    wrong = [k for k in given if k not in allowed]
    if wrong:
        raise ArgumentError(f"{what} has no key {wrong[0]!r}; it knows {', '.join(allowed)}")


def _taps(taps, what):
    """A list of distinct ints from an int, a list, or None."""
    taps = listed(taps)
    for tap in taps:
        if isinstance(tap, bool) or not isinstance(getattr(tap, "__index__", lambda: None)(), int):
            raise ArgumentError(f"the taps of {what} must be ints, not {tap!r}")
    taps = [int(tap) for tap in taps]
    if len(set(taps)) != len(taps):
        raise ArgumentError(f"the taps of {what}, {taps}, name one twice")
    return taps


class Sequence:
    """One entry of `sequences`: a tensor, or a dict with `input` and `taps`."""

    def __init__(self, k, given):
        self.what = f"sequence {k}"
        self.taps = [0]
        if isinstance(given, Mapping):
            _keys(given, ("input", "taps"), self.what)
            if given.get("input") is None:
                raise ArgumentError(f"{self.what} is a dict without 'input'")
            if given.get("taps") is not None:
                self.taps = _taps(given["taps"], self.what)
            given = given["input"]
        self.name = getattr(given, "name", None)
        self.node = node_of(given, self.what)
        if not self.node.ndim:
            raise with_line(
                ShapeError(
                    f"{self.what} is a scalar; a sequence has a first axis to "
                    "go along. What stays the same goes to non_sequences"
                ),
                self.node,
            )
        self.low, self.high = min(self.taps + [0]), max(self.taps + [0])

    @property
    def span(self):
        """How many rows fewer than elements there are, because of taps."""
        return self.high - self.low

    def length(self):
        """How many steps it lasts: an int, or a scalar node."""
        size = ops.size_of(self.node, 0)
        if isinstance(size, int):
            if size < self.span:
                raise ShapeError(
                    f"{self.what} has {size} elements; its taps {self.taps} need more "
                    f"than {self.span}"
                )
            return size - self.span
        return size if not self.span else ops.maximum(ops.sub(size, self.span), 0)

    def rows(self, backwards):
        """For each tap the rows of all steps, as a view of the tensor."""
        for tap in self.taps:
            stop = tap - self.high or None
            rows = ops.slice_(self.node, [(tap - self.low, stop, 1)])
            yield tap, (ops.slice_(rows, [(None, None, -1)]) if backwards else rows)


class State:
    """One entry of `outputs_info`: None, a first value, or a dict with `initial` and `taps`."""

    def __init__(self, k, given):
        self.what = f"outputs_info[{k}]"
        self.taps, self.init = [], None
        if given is None or (isinstance(given, Mapping) and not given):
            return
        self.taps = [-1]
        if isinstance(given, Mapping):
            _keys(given, ("initial", "taps"), self.what)
            if "taps" in given:
                self.taps = _taps(given["taps"], self.what)
            if given.get("initial") is None:
                if self.taps and "taps" in given:
                    raise ArgumentError(f"{self.what} has taps {self.taps} but no 'initial'")
                self.taps = []
            given = given.get("initial")
        if not self.taps:
            return
        if max(self.taps) >= 0:
            raise ArgumentError(
                f"the taps of {self.what}, {self.taps}, must be negative: a step "
                "can only see results of steps before it"
            )
        first = node_of(given, self.what)
        self.name = getattr(given, "name", None)
        self.init = ops.expand(first, (0,)) if self.taps == [-1] else self.several(first)

    def several(self, first):
        """The rows before the first step, when taps reach back further than one."""
        depth = -min(self.taps)
        if not first.ndim or (first.shape[0] is not None and first.shape[0] < depth):
            raise with_line(
                ShapeError(
                    f"the initial value of {self.what} has shape {show(first.shape)}; its taps "
                    f"{self.taps} need {depth} rows: the values of the steps before the first, "
                    "oldest first"
                ),
                first,
            )
        return first if first.shape[0] == depth else ops.slice_(first, [(0, depth, 1)])


# --- what a step returns ----------------------------------------------------------------------


class Result:
    """outputs (a list of nodes), updates {Variable: node}, condition (a node or None)."""

    def __init__(self, returned):
        self.outputs, self.updates, self.condition = [], {}, None
        several = isinstance(returned, tuple) and not _is_pair(returned)
        parts = list(returned) if several else [returned]
        if len(parts) == 1 and isinstance(parts[0], list) and not _is_updates(parts[0]):
            parts = list(parts[0])
        if parts and isinstance(parts[-1], until):
            self.condition = parts.pop().condition
        if any(map(_has_until, parts)):
            raise ArgumentError("until(...) must be the last thing a step returns")
        self.split([p for p in parts if p is not None])

    def split(self, parts):
        """Outputs, alone or in a list; updates before or after them; either may be missing."""
        given = [p for p in parts if _is_updates(p)]
        rest = [p for p in parts if not _is_updates(p)]
        listed_rest = len(rest) == 1 and isinstance(rest[0], (list, tuple))
        if len(given) > 1 or (given and len(rest) > 1):
            raise ArgumentError(
                "a step returns outputs, a dict of updates, or both (and until): "
                "several outputs beside updates go in a list"
            )
        for variable, value in _pairs_of(given[0]) if given else ():
            if not isinstance(variable, Variable):
                raise DTypeError(f"a step returned an update of {variable!r}, which is no variable")
            if variable in self.updates:
                raise ArgumentError(f"a step returned two updates of {variable!r}")
            self.updates[variable] = update_value(variable, value)
        for k, one in enumerate(rest[0] if listed_rest else rest):
            if one is None or isinstance(one, (Mapping, str)):
                raise DTypeError(f"output {k} of the step is {one!r}, which is no tensor")
            self.outputs.append(node_of(one, f"output {k} of the step"))


def _pairs_of(updates):
    if isinstance(updates, Mapping):
        return updates.items()
    return [updates] if _is_pair(updates) else updates


def _is_pair(x):
    """Whether `x` is what K.update returns."""
    return isinstance(x, tuple) and hasattr(x, "_fields") and len(x) == 2


def _is_updates(x):
    if isinstance(x, Mapping) or _is_pair(x):
        return True
    return (
        isinstance(x, (list, tuple))
        and bool(x)
        and all(isinstance(p, tuple) and len(p) == 2 and isinstance(p[0], Variable) for p in x)
    )


def _has_until(x):
    return isinstance(x, until) or (isinstance(x, (list, tuple)) and any(map(_has_until, x)))


# --- how many steps --------------------------------------------------------------------------


def step_count(n_steps):
    """`n_steps` (an int or an integer scalar) as an int or an int64 scalar node."""
    n = operand(n_steps, "n_steps")
    if isinstance(n, float) or (isinstance(n, Node) and not dtypes.is_discrete(n.dtype)):
        raise DTypeError(f"n_steps must be an integer, not {n_steps!r}")
    if isinstance(n, Node) and n.ndim:
        raise ShapeError(f"n_steps must be a scalar, not of shape {show(n.shape)}")
    known = known_value(n) if isinstance(n, Node) else int(n)
    if known is not None:
        if known < 0:
            raise ArgumentError(
                f"n_steps is {known}: a scan cannot run a negative number of "
                "steps; go_backwards=True goes through sequences from their end"
            )
        return known
    return ops.size_of(make("scan_steps", (ops.cast(n, "int64"),)), 0)


def shortest(lengths):
    """The least of ints and scalar nodes."""
    known = [n for n in lengths if isinstance(n, int)]
    nodes = list(dict.fromkeys(n for n in lengths if not isinstance(n, int)))
    least = nodes[0] if nodes else min(known)
    for n in nodes[1:] + ([min(known)] if known and nodes else []):
        least = ops.minimum(least, n)
    return least
