"""Keras's Variable over a variable of the engine: one storage, read and updated in place by calls.

While a step is traced (`tracing()`), `value` is the variable's node, so that the compiled function
reads the storage itself: nothing is copied in or out of a step.
"""

import threading

import numpy as np
from keras.src.backend.common import KerasVariable
from keras.src.backend.common.stateless_scope import (
    StatelessScope,
    get_stateless_scope,
    in_stateless_scope,
)

from ..api.tensor import Variable as Storage
from ..api.tensor import placeholder_node
from .gradient import stored
from .values import Symbolic, convert_to_tensor

_state = threading.local()


class tracing:  # noqa: N801 (a scope)
    """Within it, variables are nodes of a graph."""

    def __enter__(self):
        self.before = is_tracing()
        _state.tracing = True

    def __exit__(self, *error):
        _state.tracing = self.before


def is_tracing():
    return getattr(_state, "tracing", False)


class StepScope(StatelessScope):
    """What Variables hold within a traced step: nodes, and what was assigned since.

    `assigned`: {id of a Variable: (Variable, value)}, in order, the last value of each.
    `held`: {uid of a Variable's node: nodes of what was assigned to it}. A gradient by a trainable
    Variable is one by each value that was read of it, and ends where it was assigned; what others
    are given, running means say, is differentiated as if it had been used itself.
    """

    def __init__(self, outer=None, **options):
        super().__init__(**options)
        self.assigned = {}
        self.held = getattr(outer, "held", {})
        self.slopes = getattr(outer, "slopes", [])
        if outer is not None:
            self.state_mapping = dict(outer.state_mapping)

    def add_update(self, update):
        variable, value = update
        storage = getattr(variable, "storage", None)
        if isinstance(value, Symbolic) and storage is not None and variable.trainable:
            value = Symbolic(stored(value.node))
            self.held.setdefault(storage.node.uid, []).append(value.node)
        self.assigned[id(variable)] = variable, value
        super().add_update((variable, value))

    def get_current_value(self, variable):
        """The value of a Variable, assigned or not; None before it is initialised."""
        value = super().get_current_value(variable)
        if value is None and getattr(variable, "storage", None) is not None:
            value = variable.traced()
        return value


class StoredVariable(KerasVariable):
    """A Variable of Keras. `storage`: the variable of the engine, None before it is initialised."""

    storage = None
    __array_priority__ = 1000  # array @ variable asks the variable, which may be traced

    @property
    def _value(self):
        """The stored array, not to be written to; None before the variable is initialised."""
        return None if self.storage is None else self.storage.get_value(borrow=True)

    @_value.setter
    def _value(self, value):
        if value is None:
            self.storage = None
            return
        value = np.asarray(value, self._dtype)
        if self.storage is None or self.storage.node.shape != value.shape:
            self.storage = Storage(np.array(value, order="C"), self._name)
        else:
            self.storage.set_value(value)

    @property
    def value(self):
        """The current value: what the scope says, the node while tracing, else a stored array."""
        if in_stateless_scope():
            value = get_stateless_scope().get_current_value(self)
            if value is not None:
                return self._maybe_autocast(value)
        if self.storage is None:
            return self._maybe_autocast(self._before_it_is_made())
        return self._maybe_autocast(self.traced() if is_tracing() else self._value)

    def _before_it_is_made(self):
        """A stand-in for the value, while only shapes are asked for; else a first value."""
        if is_tracing():
            return Symbolic(placeholder_node(self._dtype, self._shape))
        return self._initializer(self._shape, dtype=self._dtype)

    def traced(self):
        """The variable as a traced value, whose gradient can be asked for."""
        return Symbolic(self.storage.node)

    def _initialize(self, value):
        self._shape = self._validate_shape(value.shape)
        self._value = value

    def _direct_assign(self, value):
        self._value = value

    def _convert_to_tensor(self, value, dtype=None):
        return convert_to_tensor(value, dtype=dtype)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.value, dtype)

    def __getstate__(self):
        state = {k: v for k, v in self.__dict__.items() if k != "storage"}
        return {**state, "stored": None if self.storage is None else self.storage.get_value()}

    def __setstate__(self, state):
        value = state.pop("stored")
        self.__dict__.update(state)
        self._value = value

    def __deepcopy__(self, memo):
        import copy  # start-up

        twin = object.__new__(type(self))
        memo[id(self)] = twin
        twin.__setstate__({k: copy.deepcopy(v, memo) for k, v in self.__getstate__().items()})
        return twin
