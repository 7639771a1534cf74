"""Shared variables: values kept between calls, and how `shared` chooses their class.

A shared variable owns a Store of the engine; `container` shows it the way Theano does. Two shared
variables may share one (`clone`). What is no array is held as it is, by a SharedVariable of
`generic`.
"""

import copy

import numpy as np

from ...api.operands import is_sparse_matrix
from ...api.tensor import Variable as StoredVariable
from ...base.errors import CKernelsError, IndexOutOfBounds, UsageError
from ...graph.node import make
from ...runtime.state import Store
from ..base.hooks import hook as _hook
from ..base.hooks import register_hook as _register_hook
from ..base.names import absent_of as _absent_of
from ..base.utils import add_tag_trace
from ..graph import apply as gof
from ..graph.type import generic
from .type import TensorType
from .variables import Handle, as_tensor_variable

__all__ = ["SharedVariable", "TensorSharedVariable", "ScalarSharedVariable", "shared",
           "shared_constructor", "Container", "generic_constructor"]  # fmt: skip


class Container:
    """The place of a value: `value` and `data` read and write it, `storage[0]` is the value."""

    _number = None  # the value of no axes that was read last

    def __init__(
        self,
        owner=None,
        value=None,
        strict=False,
        allow_downcast=None,
        name=None,
        type=None,
        store=None,
    ):
        self.type, self.strict, self.allow_downcast = type, strict, allow_downcast
        self.name, self.readonly, self.provided = name, False, 0
        self._cell = Cell(self)
        self.store = store
        if store is None:
            self._value = value

    def _get(self):
        if self.store is None:
            return self._value
        array = self.store.get()
        if array.ndim:
            return array
        if self._number is None or self._number.tobytes() != array.tobytes():
            self._number = np.array(array)  # read twice, a number is one object, as in Theano
        return self._number

    def _set(self, value):
        if self.readonly:
            raise CKernelsError(
                f"the container {self.name} is read-only: its value cannot be replaced"
            )
        if self.type is not None and value is not None:
            value = self.type.filter(value, strict=self.strict, allow_downcast=self.allow_downcast)
        if self.store is None:
            self._value = value
        else:
            self.store.set(np.asarray(value))

    value = property(_get, _set, doc="The value; a write converts as an input would.")
    data = property(_get, _set, doc="The value, under its other name.")

    @property
    def storage(self):
        """A list of one: the value."""
        return self._cell

    def __str__(self):
        return "<" + str(self._get()) + ">"

    __repr__ = __str__

    def __deepcopy__(self, memo):
        twin = Container(None, None, self.strict, self.allow_downcast, self.name, self.type)
        if self.store is not None:
            twin.store = Store(np.array(self.store.get()))
        else:
            twin._value = copy.deepcopy(self._value, memo)
        memo[id(self)] = twin
        return twin


class Cell(list):
    """A list of one entry that reads and writes a Container."""

    def __init__(self, container):
        super().__init__([None])
        self.container = container

    def __iter__(self):
        yield self.container._get()

    def __getitem__(self, i):
        if i not in (0, -1):
            raise IndexOutOfBounds(i)
        return self.container._get()

    def __setitem__(self, i, value):
        self.container._set(value)

    __eq__, __hash__ = object.__eq__, object.__hash__


class SharedVariable(gof.Variable):
    """A variable with a value that functions share; `value` is anything of `type`."""

    default_update = None

    def __init__(self, name, type, value, strict, allow_downcast=None, container=None):
        gof.Variable.__init__(self, type, None, None, name)
        if container is not None:
            if value is not None or strict is not None:
                raise UsageError(
                    "a container brings its own value and strictness: leave value and "
                    "strict at None"
                )
            self.container = container
        else:
            self.container = Container(
                self,
                type.filter(value, strict=strict, allow_downcast=allow_downcast),
                strict,
                allow_downcast,
                name,
                type,
            )

    def get_value(self, borrow=False, return_internal_type=False):
        """The value: a copy, or with borrow=True the value itself."""
        value = self.container._value
        return value if borrow else copy.deepcopy(value)

    def set_value(self, new_value, borrow=False):
        """Replace the value, by a copy unless borrow=True."""
        self.container.value = new_value if borrow else copy.deepcopy(new_value)

    def zero(self, borrow=False):
        """Set all elements to 0."""
        self.container.value = 0 * self.container.value

    def clone(self):
        """Another variable on the same value."""
        twin = type(self)(self.name, self.type, None, None, container=self.container)
        twin.tag = copy.copy(self.tag)
        return twin

    def get_test_value(self):
        return self.get_value(borrow=True, return_internal_type=True)


class TensorSharedVariable(Handle, SharedVariable, StoredVariable):
    """A shared array."""

    _default_update = None
    Container, typed = Container, True  # the class of its container, and whether that has a type

    def __init__(self, name, type, value, strict, allow_downcast=None, container=None):
        self._type, self.name, self._number = type, name, gof.number()
        if container is None:
            array = type.filter(value, strict=strict, allow_downcast=allow_downcast)
            container = Container(
                None, None, bool(strict), allow_downcast, name, type, Store(np.asarray(array))
            )
        elif value is not None or strict is not None:
            raise UsageError(
                "a container brings its own value and strictness: leave value and strict at None"
            )
        self.container, self.store = container, container.store
        self.node = make(
            "variable",
            (),
            {"store": self.store, "dtype": type.dtype, "shape": type.static, "name": name},
        )
        self.trainable = True

    @property
    def default_update(self):
        """What this variable becomes after every function that uses it, or None."""
        return self._default_update

    @default_update.setter
    def default_update(self, value):
        self._default_update = value
        node = None if value is None else as_tensor_variable(value).node
        self.store.default_update = node

    @default_update.deleter
    def default_update(self):
        self.default_update = None

    def get_value(self, borrow=False, return_internal_type=False):
        """The value: a copy, or with borrow=True the stored array itself (read only it)."""
        value = self.store.get()
        return value if borrow else np.array(value)

    def set_value(self, new_value, borrow=False):
        """Replace the value; TypeError where dtype or dimensions do not fit."""
        if borrow and new_value is self.store.get():
            return  # changed in place: what get_value(borrow=True) gave is the value
        self.container.value = new_value

    def zero(self, borrow=False):
        """Set all elements to 0."""
        self.store.set(np.zeros_like(self.store.get()))

    def fitting(self, value):
        return self.type.filter(value)

    def clone(self):
        twin = type(self)(self.name, self.type, None, None, container=self.container)
        twin._default_update = None
        return twin

    def eval(self, inputs_to_values=None):
        return gof.Variable.eval(self, inputs_to_values)

    @property
    def value(self):
        raise CKernelsError(
            "shared variables have no attribute value: read with get_value() and write "
            "with set_value()"
        )


_register_hook("TensorSharedVariable", TensorSharedVariable)


class ScalarSharedVariable(TensorSharedVariable):
    """A shared array without dimensions."""


def _no_sparse(value):
    return not is_sparse_matrix(value)


def generic_constructor(value, name=None, strict=False, allow_downcast=None):
    """A shared variable of any Python object."""
    return SharedVariable(
        type=generic, value=value, name=name, strict=strict, allow_downcast=allow_downcast
    )


def tensor_constructor(
    value,
    name=None,
    strict=False,
    allow_downcast=None,
    borrow=False,
    broadcastable=None,
    target="cpu",
):
    """A shared variable of an array."""
    if target not in ("cpu", None):
        raise UsageError("only the target 'cpu' is there")
    if not isinstance(value, np.ndarray):
        raise UsageError()
    if broadcastable is None:
        broadcastable = (False,) * value.ndim
    type_ = TensorType(value.dtype, broadcastable)
    return TensorSharedVariable(
        type=type_,
        value=np.asarray(value) if borrow else np.array(value),
        name=name,
        strict=strict,
        allow_downcast=allow_downcast,
    )


def scalar_constructor(
    value, name=None, strict=False, allow_downcast=None, borrow=False, target="cpu"
):
    """A shared variable of a number: a Python float gives float64, an int int64, a bool bool."""
    if target not in ("cpu", None):
        raise UsageError("only the target 'cpu' is there")
    if not isinstance(value, (np.number, float, int, complex)):
        raise UsageError()
    dtype = value.dtype if isinstance(value, np.generic) else np.asarray(value).dtype
    return ScalarSharedVariable(
        type=TensorType(str(dtype), []),
        value=np.array(value, dtype=dtype),
        name=name,
        strict=strict,
        allow_downcast=allow_downcast,
    )


def shared_constructor(ctor, remove=False):
    """Make `shared` try `ctor` first; or stop that."""
    if remove:
        shared.constructors.remove(ctor)
    else:
        shared.constructors.append(ctor)
    return ctor


def shared(value, name=None, strict=False, allow_downcast=None, **kwargs):
    """A shared variable of `value`, a copy of it unless borrow=True.

    >>> import ckernels.compat.theano as theano
    >>> s = theano.shared(np.zeros(2), name="s")
    >>> s.set_value(np.ones(3)); s.get_value().tolist()
    [1.0, 1.0, 1.0]
    """
    if isinstance(value, gof.Variable):
        raise UsageError(
            f"shared() was given the symbolic variable {value}: pass the number or "
            "array to start from"
        )
    if hasattr(value, "filename") and isinstance(value, np.memmap):
        value = np.asarray(value)
    try:
        for ctor in reversed(shared.constructors):
            try:
                made = ctor(
                    value, name=name, strict=strict, allow_downcast=allow_downcast, **kwargs
                )
                made.tag.__dict__.setdefault("trace", [])
                add_tag_trace(made)
                return made
            except TypeError:
                continue
    except MemoryError as problem:
        problem.args = (*problem.args, "theano.shared(..., borrow=True) makes no copy of the value")
        raise
    raise UsageError(
        f"no kind of shared variable takes the value {value!r} with the options "
        f"{kwargs!r}; check the names of the options"
    )


def _sparse_constructor(
    value, name=None, strict=False, allow_downcast=None, borrow=False, format=None
):
    if _no_sparse(value):
        raise UsageError("expected a scipy sparse matrix")
    return _hook("sparse_shared")(value, name, borrow=borrow, format=format)


def _random_constructor(
    value, name=None, strict=False, allow_downcast=None, borrow=False, target="cpu"
):
    if not isinstance(value, np.random.RandomState):
        raise UsageError()
    return _hook("random_state_shared")(value, name, borrow)


shared.constructors = [generic_constructor, scalar_constructor, _random_constructor,
                       _sparse_constructor, tensor_constructor]  # fmt: skip


__getattr__ = _absent_of("theano.tensor.sharedvar")
