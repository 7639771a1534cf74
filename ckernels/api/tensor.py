"""Tensor: the handle a user holds on a node of the graph, and Variable: a handle on state.

Every call makes a new handle, so that callers can keep their own attributes on it (`_keras_shape`,
`_keras_history`, ...), while equal expressions share one hash-consed node. Handles hash by
identity; `==` gives a Comparison, true for one object only, elementwise as an operand. Operators
and methods build nodes; nothing is computed before a function runs.
"""

import functools
import numbers
import sys

import numpy as np

from .. import ops
from ..base import dtypes, given
from ..base.errors import CKernelsError, DTypeError, ShapeError, UsageError, line_at, user_line
from ..graph.node import Node, line_of, make, placeholder
from ..graph.shapes import show
from ..runtime.state import Store
from .arrays import ArrayProtocol
from .hints import missing_of_tensor
from .methods import Methods
from .operands import as_array, converted, node_of, operand, static_shape, update_value


class NoLength(UsageError, AttributeError):
    """A tensor has no length, or none that is known."""


class _Length:
    """`len(x)` where the length of `x` is known. Where it is not, `x` has no attribute `__len__`:
    programs that ask for one to tell a list from a tensor are told that it is none."""

    def __init__(self, function):
        self.function = function

    def __get__(self, tensor, owner=None):
        return self if tensor is None else functools.partial(int, self.function(tensor))


class Tensor(ArrayProtocol, Methods):
    """A symbolic tensor.

    Its `line` is (file, line number, function) of the user's code that made it.

    Parameters
    ----------
    node : Node
        The graph node it stands for.
    name : str, optional
        What messages call it: by default the name of the node, or None. May be set later.

    Raises
    ------
    UsageError
        Where `node` is none: tensors are made by functions, such as `constant`.

    Examples
    --------
    >>> x = K.constant([1.0, 2.0])
    >>> x.dtype, x.ndim, K.int_shape(x)
    ('float32', 1, (2,))
    >>> (x * 2 + 1).eval()
    array([3., 5.], dtype=float32)
    """

    def __init__(self, node, name=None):
        if not isinstance(node, Node):
            raise UsageError(f"a Tensor is made by functions (K.constant), not of {type(node)}")
        self.node = node
        self.name = node.name if name is None else name
        self.line = user_line()

    @property
    def dtype(self):
        """Name of the dtype, e.g. 'float32'."""
        return self.node.dtype

    @property
    def ndim(self):
        """Number of dimensions."""
        return len(self.node.shape)

    def _wrap(self, node):
        """A handle on another node: what the methods return."""
        return Tensor(node)

    def __repr__(self):
        if self.name:
            return str(self.name)
        return f"<Tensor {self.node.op.name} {self.dtype} {show(self.node.shape)}>"

    __hash__ = object.__hash__

    def __eq__(self, other):
        if isinstance(other, Tensor) or comparable(other):  # most often a handle, in a search
            return Comparison(self, other)
        return NotImplemented

    def __ne__(self, other):
        return Comparison(self, other, True) if comparable(other) else NotImplemented

    def __bool__(self):
        raise UsageError(
            f"{self!r} has no truth value: its elements are known only when a function runs. "
            "Write K.where or K.switch for `if`, K.maximum for max(x, y), (0 < x) & (x < 1) for "
            "0 < x < 1, & | ~ for `and`, `or`, `not`; `is` tests for identity"
        )

    def __getattr__(self, name):
        if name[0] == "_" or name == "node":  # asked by libraries, and while a handle is made
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise missing_of_tensor(self, name)

    def __format__(self, spec):
        if spec:
            raise UsageError(
                f"{self!r} is symbolic and has no number to write as {spec!r}; format K.eval(x), "
                "or what a function returned"
            )
        return str(self)

    def __round__(self, digits=None):
        if digits:
            raise UsageError(
                "round(x) gives the nearest integers; for digits behind the point write "
                "K.round(x * 100) / 100"
            )
        return self.round()

    def _no_number(self):
        raise UsageError(
            f"{self!r} is symbolic and no number; K.eval(x) or a function gives its value"
        )

    __float__ = __complex__ = _no_number

    def __index__(self):
        """The integer where it is known: of a size, `range(x.shape[1])`, or a constant."""
        discrete = dtypes.is_discrete(self.dtype) and not self.ndim
        found = ops.known_value(self.node) if discrete else None
        return self._no_number() if found is None else int(found)

    __int__ = __index__

    @property
    def shape(self):
        """The symbolic shape, an int64 vector; `x.shape[0]` is a scalar tensor."""
        return ShapeVector(ops.shape(self.node), self.node.shape)

    @property
    def size(self):
        """The symbolic number of elements, an int64 scalar."""
        return _Elements(ops.prod(ops.shape(self.node)))

    def __array__(self, dtype=None, copy=None):
        raise UsageError(
            f"{self!r} is symbolic and cannot become an array; K.eval(x) computes its value"
        )

    def __contains__(self, value):
        raise UsageError(
            f"`in` needs the elements of {self!r}, which is symbolic; use K.any(K.equal(x, value))"
        )

    @_Length
    def __len__(self):
        return self._length("take the length of")

    def __iter__(self):
        return (self[i] for i in range(self._length("iterate over")))

    def _length(self, purpose):
        if self.ndim == 0:
            raise NoLength(f"cannot {purpose} {self!r}: it has no dimensions")
        if self.node.shape[0] is None:
            raise NoLength(
                f"cannot {purpose} {self!r}: its length is known only when a function runs; "
                "x.shape[0] is the symbolic length"
            )
        return self.node.shape[0]

    def __copy__(self):
        return Tensor(self.node, self.name)

    def __deepcopy__(self, memo):
        return self

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k != "_compiled"}

    def eval(self, inputs=None, session=None):
        """The value.

        The function is compiled at the first call with these inputs and kept.

        Parameters
        ----------
        inputs : dict, optional
            {placeholder: value}; none where it depends on none.
        session : object, optional
            Ignored: there are none.

        Returns
        -------
        ndarray
            Of the dtype of the tensor.

        Raises
        ------
        UsageError
            Where it needs an input that is not given.

        Examples
        --------
        >>> x = K.placeholder((None,))
        >>> (x + 1).eval({x: [1.0, 2.0]})
        array([2., 3.], dtype=float32)
        """
        inputs = dict(given.items(inputs, "inputs of eval, {placeholder: value},"))
        cache = self.__dict__.setdefault("_compiled", {})
        key = tuple(i.node.uid if isinstance(i, Tensor) else i for i in inputs)
        if key not in cache:
            cache[key] = function_of(list(inputs), self)
        return cache[key](list(inputs.values()))


# What tensors are compared with element by element; beside anything else == is False.
_VALUES = (Tensor, numbers.Number, np.ndarray, np.generic, list, tuple)


def comparable(other):
    """Whether `x == other` may be meant element by element: not beside None or text."""
    return isinstance(other, _VALUES) and not isinstance(other, (str, bytes))


class _Elements(Tensor):
    """The number of elements of a tensor, which PyTorch's users call."""

    def __call__(self, *axis):
        raise UsageError(
            "x.size is the number of elements as a tensor, and no method: write it without (); "
            "x.shape is the shape, x.shape[0] the size of an axis"
        )


class ShapeVector(Tensor):
    """The symbolic shape of a tensor, which answers as TensorFlow's did: `x.shape.as_list()`, and
    `x.shape[1].value`, which are None where a size is known in a call only."""

    def __init__(self, node, sizes):
        super().__init__(node)
        self.sizes = tuple(sizes)

    def as_list(self):
        """The sizes, None where unknown.

        >>> K.placeholder((None, 3)).shape.as_list()
        [None, 3]
        """
        return list(self.sizes)

    @property
    def ndims(self):
        """The number of dimensions of the tensor."""
        return len(self.sizes)

    def __getitem__(self, key):
        found = super().__getitem__(key)
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            found.value = self.sizes[key]
        elif isinstance(key, slice) and all(_plain(k) for k in (key.start, key.stop, key.step)):
            part = ShapeVector(found.node, self.sizes[key])
            part._subtensor = found._subtensor
            return part
        return found

    def __copy__(self):
        return ShapeVector(self.node, self.sizes)


def _plain(k):
    return k is None or isinstance(k, (int, np.integer))


class Comparison(Tensor):
    """`left == right`, or with `differs` `left != right`.

    Its truth is Python's: whether both are one object, which `in`, dicts and programs for Keras
    rely on. Wherever a tensor is expected it is K.equal(left, right) or K.not_equal. Most are only
    asked for their truth, thousands of times by a search in a list, so the node is made at its
    first use. What is used after its truth was asked comes out of `and`, `or` or a chained
    comparison, which gave one of two operands: an error.
    """

    name = None
    asked = False  # whether its truth was

    def __init__(self, left, right, differs=False):
        self.left, self.right, self.differs = left, right, differs
        frame = sys._getframe(2)  # behind __eq__: a line number, and whose, is found when needed
        self.place = frame.f_code, frame.f_lasti

    def __bool__(self):
        self.asked = True
        return (self.left is self.right) is not self.differs

    def __repr__(self):
        return f"({self.left!r} {'!=' if self.differs else '=='} {self.right!r})"

    def __getstate__(self):
        return {**super().__getstate__(), "line": self.line, "place": None}  # code has no pickle

    @functools.cached_property
    def line(self):
        """(file, line number, function) of the user's code that compared."""
        return line_at(*self.place) or user_line()

    @functools.cached_property
    def node(self):
        """The node of the comparison element by element."""
        try:
            if self.asked:
                raise self._unclear()
            with line_of(self):
                return (ops.ne if self.differs else ops.eq)(*self.sides())
        except CKernelsError as problem:
            problem.made = problem.made or self.line
            raise

    def _unclear(self):
        return UsageError(
            f"the truth of {self!r} was asked for before its use as a tensor: `and`, `or`, and "
            "chained comparisons do so, and then give one of their operands. Write (x > 0) & "
            "(x < 1) for 0 < x < 1, & for `and`, | for `or`, ~ for `not`, K.where for `if`"
        )

    def sides(self):
        """What is compared, as nodes; a Python number stays weak."""
        return node_of(self.left), operand(self.right)


class Variable(Tensor):
    """A tensor whose value is kept between calls and changed by `set_value` and by updates.

    `trainable` is what Keras 2.3 asks of a variable that is a layer's attribute; may be set.

    Parameters
    ----------
    value : ndarray
        The first value, whose dtype the variable keeps.
    name : str, optional
        What messages call it.
    shape : tuple of int or None, optional
        The static shape, by default that of `value`; None in a dimension lets its size change.
    store : Store, optional
        The store of another variable, to have one value in common; by default a new one.

    Raises
    ------
    UsageError
        Where `value` is no array: variables are made by `variable`, which takes lists and numbers
        too.

    Examples
    --------
    >>> v = K.variable([1.0, 2.0])
    >>> v.set_value([3.0, 4.0])
    >>> v.get_value()
    array([3., 4.], dtype=float32)
    """

    def __init__(self, value, name=None, shape=None, store=None):
        if not isinstance(value, np.ndarray):
            raise UsageError(f"a Variable is made by K.variable, not of {type(value)}")
        name = given.name(name)
        dtype = dtypes.name_of(value.dtype)
        self.store = Store(value) if store is None else store
        shape = value.shape if shape is None else static_shape(shape)
        super().__init__(
            make(
                "variable",
                (),
                {"store": self.store, "dtype": dtype, "shape": shape, "name": name},
            )
        )
        self._keras_shape = tuple(shape)
        self._uses_learning_phase = False
        self.trainable = dtypes.is_inexact(value.dtype.name)

    def __repr__(self):
        return str(self.name) if self.name else f"<Variable {self.dtype} {show(self.node.shape)}>"

    def __copy__(self):
        return Variable(self.store.get().copy(), self.name, self.node.shape)

    def _repr_html_(self):
        """For notebooks: name, dtype and shape, and the first values."""
        import html  # start-up

        value = np.asarray(self.get_value())
        head = html.escape(f"{self.name or 'variable'}: {self.dtype} {value.shape}")
        text = html.escape(np.array2string(value, threshold=60, edgeitems=3))
        return f"<code>{head}</code><pre>{text}</pre>"

    def get_value(self, borrow=False):
        """The current value.

        Parameters
        ----------
        borrow : bool, default False
            Whether to get the stored array itself, which is only to be read, and not a copy.

        Returns
        -------
        ndarray
            Of the dtype of the variable.

        Examples
        --------
        >>> K.variable([1.0, 2.0]).get_value()
        array([1., 2.], dtype=float32)
        """
        value = self.store.get()
        return value if given.flag(borrow, "borrow") else np.array(value)

    def set_value(self, value, borrow=False):
        """Replace the value by a copy of another.

        Parameters
        ----------
        value : array
            Of the shape of the variable; floats are cast.
        borrow : bool, default False
            Ignored: the value is copied.

        Returns
        -------
        None
            The next call sees it.

        Raises
        ------
        ShapeError
            Where its shape is another than that of the variable.
        DTypeError
            Where it cannot be cast.

        Examples
        --------
        >>> v = K.variable([1.0, 2.0])
        >>> v.set_value([3.0, 4.0])
        >>> v.get_value()
        array([3., 4.], dtype=float32)
        """
        self.store.set(self.fitting(value))

    def fitting(self, value):
        """`value` as an array that `set_value` takes, or the error it would raise."""
        what = f"the new value of {self!r}"
        array = converted(as_array(value, what), self.dtype, what)
        shape = self.node.shape
        if array.ndim != len(shape) or any(d not in (None, s) for d, s in zip(shape, array.shape)):
            raise ShapeError(
                f"{what} has shape {show(array.shape)}, but the variable has shape {show(shape)}"
            )
        return array

    def eval(self, inputs=None, session=None):
        """The current value, a copy."""
        given = inputs is not None and not (isinstance(inputs, dict) and not inputs)
        return super().eval(inputs) if given else self.get_value()

    @property
    def default_update(self):
        """The value this variable gets after each call of a function that uses it, or None."""
        node = self.store.default_update
        return None if node is None else Tensor(node)

    @default_update.setter
    def default_update(self, value):
        self.store.default_update = None if value is None else update_value(self, value)


_make_function = None  # K.function: its file, which needs handles, registers it


def register_function(make):
    """Let `eval` of handles make functions by `make`, which is K.function."""
    global _make_function
    _make_function = make


def function_of(inputs, output):
    """The function of the placeholders `inputs` that computes `output`; not all need be used."""
    return _make_function(inputs, output, on_unused_input="ignore")


def placeholder_node(dtype, shape, name=None, default=None):
    """A new input node; default: the array it is in functions that do not list it."""
    more = {} if default is None else {"default": default}
    return placeholder(dtypes.name_of(dtype), shape, given.name(name), **more)


def wrap(node):
    """A new handle on `node`."""
    return Tensor(node)


def need_tensor(x, what):
    """`x` if it is a handle; DTypeError naming `what` if not."""
    if not isinstance(x, Tensor):
        raise DTypeError(f"{what} must be a tensor of ckernels, not {_described(x)}")
    return x


def need_variable(x, what):
    """`x` if it is a Variable; DTypeError naming `what` if not."""
    if not isinstance(x, Variable):
        raise DTypeError(
            f"{what} must be a variable (K.variable, K.zeros, K.shared, ...), not {_described(x)}"
        )
    return x


def _described(x):
    if isinstance(x, (Tensor, Node)):
        return f"the expression {x!r}"
    return f"{type(x).__name__} {x!r}"[:80]
