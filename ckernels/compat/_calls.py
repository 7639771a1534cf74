"""K.function as Keras uses it, on top of ckernels' own.

Four things differ. A variable may be updated several times in one function (a layer that is
called twice): the updates follow one another. What was made under `control_dependencies` (results
of metrics) brings its updates along and is computed from the values after them. And the learning
phase, where it is an input, is not an input of compiled code: each phase has a function of its own,
without the branch not taken. And what has no dimensions, a loss, is a NumPy scalar.
"""

import contextlib
import threading

from ..api.function import function as native
from ..api.learning_phase import learning_phase
from ..api.operands import node_of
from ..api.tensor import Tensor, need_variable
from ..api.updates import Update, update_value
from ..api.variables import is_sparse
from ..base import given
from ..base.errors import ArgumentError, UsageError
from ..graph.walk import rebuild
from ._values import places_of_scalars, with_scalars


def function(inputs, outputs, updates=None, **kwargs):
    """A callable that computes `outputs` from a list of arrays and applies `updates`.

    kwargs: name, and the other options of ckernels.function; ValueError for any other.

    >>> from ckernels.compat import keras2 as K
    >>> x, total = K.placeholder((None,)), K.variable(0.0)
    >>> f = K.function([x], [K.sum(x)], [K.update_add(total, K.sum(x))], name="f")
    >>> f([np.array([1.0, 2.0])]), K.get_value(total)
    ([np.float32(3.0)], np.float32(3.0))
    """
    many = isinstance(outputs, (list, tuple))
    updates = _listed(updates)
    for y in outputs if many else [outputs]:
        updates += getattr(y, "_brings", ())
    updates = in_sequence(updates)
    outputs = [_after(y, updates) for y in outputs] if many else _after(outputs, updates)
    kwargs.setdefault("allow_input_downcast", True)
    phase, inputs = learning_phase(), given.sequence(inputs, "the inputs of a function")
    at = [i for i, x in enumerate(inputs) if x is phase] if isinstance(phase, Tensor) else []
    if len(at) != 1 or "givens" in kwargs:
        return with_scalars(native(inputs, outputs, updates, **kwargs), outputs)
    return Phased(list(inputs), at[0], outputs, updates, kwargs)


def _listed(updates):
    """The pairs (variable, new value) that were given, in order."""
    if isinstance(updates, Update):
        return [updates]
    pairs = updates.items() if hasattr(updates, "items") else () if updates is None else updates
    pairs = given.sequence(pairs, "updates")
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise ArgumentError(f"an update must be a pair (variable, new value), not {pair!r}")
    return pairs


def in_sequence(pairs):
    """{Variable: tensor} from pairs; of two updates of one variable the second sees the first.

    The same update given twice is done once; `update_add` called twice makes two.
    """
    values, done = {}, set()
    for pair in pairs:
        x, value = pair
        need_variable(x, "what is updated")
        value = value if isinstance(value, Tensor) else Tensor(node_of(value))
        same = id(pair) if isinstance(pair, Update) else (x, value.node)
        if same in done:
            continue
        done.add(same)
        if x in values:
            value = Tensor(*rebuild([value.node], {x.node: update_value(x, values[x])}))
        values[x] = value
    return values


def _after(y, updates):
    """What was made under control dependencies from the new values, any other output as it is."""
    if not hasattr(y, "_brings"):
        return y
    return Tensor(*rebuild([y.node], {x.node: update_value(x, v) for x, v in updates.items()}))


_open = threading.local()


@contextlib.contextmanager
def control_dependencies(control_inputs):
    """Tensors that `identity` makes inside are computed after these updates, and bring them along.

    >>> from ckernels.compat import keras2 as K
    >>> v = K.variable(1.0)
    >>> with K.control_dependencies([K.update_add(v, 2.0)]):
    ...     after = K.identity(v)
    >>> K.eval(after), K.get_value(v)
    (np.float32(3.0), np.float32(3.0))
    """
    inputs = control_inputs if isinstance(control_inputs, list) else [control_inputs]
    outer = getattr(_open, "updates", ())
    _open.updates = (*outer, *(u for u in inputs if isinstance(u, Update)))
    try:
        yield
    finally:
        _open.updates = outer


def identity(x, name=None):
    """A new handle on the expression `x`."""
    made = x.with_data(x.data) if is_sparse(x) else Tensor(node_of(x), name)
    if getattr(_open, "updates", ()):
        made._brings = _open.updates
    return made


class Phased:
    """A function with the learning phase among its inputs: one compiled function for each."""

    def __init__(self, inputs, at, outputs, updates, options):
        self.inputs, self.outputs, self.updates = inputs, outputs, updates
        self.name, self._at, self._options = options.get("name"), at, options
        self._phase, self._rest = inputs[at], inputs[:at] + inputs[at + 1 :]
        self._made = {}
        places = places_of_scalars(outputs)
        self._single, self._scalars = places is None, places or ()

    def __call__(self, inputs, *more):
        if more:
            inputs = (inputs, *more)
        at = self._at
        try:
            f = self._made[inputs[at]]
        except (KeyError, TypeError, IndexError):
            f = self._first(inputs)
        found = f(inputs[:at] + inputs[at + 1 :])
        if self._single:
            return found[()]
        for i in self._scalars:
            found[i] = found[i][()]
        return found

    def _first(self, inputs):
        """The function for `inputs` where their phase was not seen before, or not as a number."""
        if len(inputs) != len(self.inputs):
            count = len(self.inputs)
            raise UsageError(
                f"the function {self.name or ''} takes {count} inputs, the learning phase at index "
                f"{self._at} among them, and got {len(inputs)}".replace("  ", " ")
            )
        return self.of(inputs[self._at])

    def of(self, phase):
        """The function of one phase: 0 when testing, 1 when training."""
        phase = int(bool(phase))
        if phase not in self._made:
            givens = [(self._phase, phase)]
            self._made[phase] = native(
                self._rest, self.outputs, self.updates, givens=givens, **self._options
            )
        return self._made[phase]

    def stats(self):
        """The statistics of the functions that were called, {phase: dict}."""
        return {phase: f.info.stats() for phase, f in self._made.items()}

    def __repr__(self):
        return f"<Keras function {self.name or ''} of {len(self.inputs)} inputs>"
