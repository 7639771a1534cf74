"""The handles of tensors: TensorVariable, TensorConstant, and how values become variables.

A handle is a variable of the graph as written (graph/apply.py) and a tensor of K: `node` is what
the engine sees. Its type is read off the node: what is known to have size 1 is broadcastable.
"""

import numpy as np

from ...api.tensor import Tensor, placeholder_node
from ...base.dtypes import SIGNED
from ...base.errors import ArgumentError, CKernelsError, UsageError
from ...base.warned import warn_user
from ...graph.node import Literal, Node
from ...graph.node import constant as constant_node
from ..base import utils
from ..base.config import config
from ..base.exceptions import AsTensorError
from ..base.hooks import hook, register_hook
from ..graph import apply as gof
from ..graph.pickling import deep_copied, reduced
from ..graph.walks import LAZY, derived, lazy
from .operators import Operators
from .type import TensorType

_types = {}
_number = gof.number


def type_of(node):
    """The TensorType of an engine node."""
    key = node.dtype, tuple([d is not None and d == 1 for d in node.shape])
    found = _types.get(key)
    if found is None:
        found = _types[key] = TensorType(*key)
    return found


class Handle(Operators, Tensor):
    """What all tensor variables of the facade share, beside K's tensors."""

    _owner = index = name = _type = None
    is_tensor = True  # not a number of theano.scalar
    _mentions = ()  # for a gradient: what it was asked of

    @property
    def owner(self):
        """The Apply that makes this variable, or None."""
        found = self._owner
        if found is LAZY:
            found = self._owner = derived(self, self.__dict__.pop("_memo"))
        return found

    @owner.setter
    def owner(self, apply):
        self._owner = apply

    @property
    def type(self):
        """The TensorType: dtype and what is known to have size 1."""
        found = self._type
        if found is None:
            found = self._type = type_of(self.node)
        return found

    @type.setter
    def type(self, value):
        self._type = value

    @property
    def line(self):
        """(file, line number, function) of the code that made it first."""
        return self.node.line

    ndim = property(lambda self: len(self.node.shape), doc="The number of dimensions.")
    broadcastable = property(
        lambda self: self.type.broadcastable,
        doc="For each axis whether it is known to have size 1.",
    )

    __str__ = gof.Variable.__str__
    __repr__ = gof.Variable.__repr__
    __hash__ = object.__hash__
    __eq__, __ne__ = object.__eq__, object.__ne__  # Theano's: one object, a plain bool
    eval = gof.Variable.eval

    def __getattr__(self, name):  # Theano's words; K's would name functions of K
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __bool__(self):
        apply = self.owner
        if apply is not None and str(getattr(apply.op, "scalar_op", "")) in COMPARISONS:
            raise UsageError(
                "a symbolic comparison has no truth value, being known only when a "
                "function runs: choose with theano.tensor.switch. If an array was "
                "compared with a tensor, write the tensor on the left or call "
                "theano.tensor.lt, le, eq, ne, gt or ge"
            )
        return True

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return deep_copied(self, memo)

    def __reduce_ex__(self, protocol):
        return reduced(self)


COMPARISONS = ("lt", "le", "gt", "ge")
gof.Variable.register = None


class TensorVariable(Handle, gof.Variable):
    """A symbolic tensor: an input of a graph, or what an operation makes."""

    def __init__(self, type, owner=None, index=None, name=None):
        if name is not None and not isinstance(name, str):
            raise UsageError("a variable is named by a string or None", name)
        self._type, self.name, self._number = type, name, _number()
        self.node = placeholder_node(type.dtype, type.static, name)
        if owner is not None:
            self.owner, self.index = owner, index
        if config.warn_float64 != "ignore" and type.dtype == "float64":
            warn_float64(type)

    def clone(self):
        twin = self.type(name=self.name)
        if "_tag" in self.__dict__:
            twin.tag = utils.copy_tag(self.tag)
        return twin


def warn_float64(type):
    """Do what the flag warn_float64 says about a new variable of `type`."""

    text = (
        "a variable of float64 was made, which the flag warn_float64 asks to report; make it "
        "float32, or set the flag to ignore"
    )
    if config.warn_float64 == "raise":
        raise CKernelsError(text)
    warn_user(text)


_new = object.__new__


def wrap(node):
    """A new variable on an engine node."""
    made = _new(TensorVariable)
    made.node, made._number = node, _number()
    return made


class TensorConstant(Handle, gof.Constant):
    """A tensor with a value, `data`."""

    def __init__(self, type, data, name=None):
        self._type, self.name, self._number = type, name, _number()
        self.data = type.filter(data)
        self.node = constant_node(np.asarray(self.data), type.dtype)
        if any(b is False and d == 1 for b, d in zip(type.broadcastable, self.data.shape)):
            self.node = hidden_ones(self.node, type.static)

    __str__ = gof.Constant.__str__

    def signature(self):
        return TensorConstantSignature((self.type, self.data))

    def equals(self, other):
        if isinstance(other, np.ndarray):
            other = constant(other)
        return isinstance(other, TensorConstant) and self.signature() == other.signature()

    def __copy__(self):
        return self


class TensorConstantSignature(tuple):
    """(type, data) of a constant, compared by value; NaN equals NaN."""

    def __eq__(self, other):
        if type(self) is not type(other):
            return False
        (t0, d0), (t1, d1) = self, other
        return t0 == t1 and d0.shape == d1.shape and TensorType.values_eq(d0, d1)

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        t, d = self
        return hash((type(self), t, d.shape, self.sum))

    @property
    def sum(self):
        """The sum of the elements that are numbers."""
        data = self[1]
        with np.errstate(all="ignore"):
            return float(np.nansum(np.abs(data))) if data.size else 0.0

    has_nan = property(lambda self: bool(np.isnan(self[1]).any()))


TensorConstant.kept_as = TensorConstant  # what pickles of its subclasses make
register_hook("TensorVariable", TensorVariable)
register_hook("TensorConstant", TensorConstant)
register_hook("wrap", wrap)


def hidden_ones(node, shape):
    """`node` with axes of size 1 that are not known to be, as the static `shape` has them."""
    return node


def constant_handle(node):
    """The TensorConstant on a constant node."""
    made = _new(TensorConstant)
    made.node, made._number, made.data = node, _number(), node.value
    return made


register_hook("constant_handle", constant_handle)


# --- from values to variables -----------------------------------------------------------------


def autocast(x):
    """A Python number as an array: the narrowest dtype that holds it, as the flags say.

    Integers take the narrowest of int8 to int64. Floats are floatX where that is narrower than
    float64, else float32 where that is exact, else float64.
    """
    if isinstance(x, (bool, np.bool_)):
        return np.asarray(x, dtype=bool)
    if isinstance(x, int):
        if config.cast_policy == "numpy+floatX":
            return np.asarray(x)
        for dtype in autocast_int.dtypes:
            info = np.iinfo(dtype)
            if info.min <= x <= info.max:
                return np.asarray(x, dtype)
        if -(2**63) <= x < 2**64:
            return np.asarray(x)
        raise AsTensorError(f"the Python int {x} fits no integer dtype; pass it as a float")
    if isinstance(x, complex):
        return np.asarray(x)
    if config.cast_policy == "numpy+floatX":
        return np.asarray(x, config.floatX)
    if config.floatX in autocast_float.dtypes and config.floatX != "float64":
        return np.asarray(x, config.floatX)
    for dtype in autocast_float.dtypes:
        if dtype != "float16" or config.floatX == "float16":
            with np.errstate(all="ignore"):
                made = np.asarray(x, dtype)
            if float(made) == x:  # as Python floats: beside float32, NumPy rounds 1.1 as well
                return made
    return made


class NumericAutoCaster:
    """The dtypes a Python number may become, narrowest first."""

    def __init__(self, dtypes):
        self.dtypes = tuple(dtypes)

    def __call__(self, x):
        return autocast(x)


autocast_int = NumericAutoCaster(SIGNED)
autocast_float = NumericAutoCaster(("float16", "float32", "float64"))


class autocast_float_as:  # noqa: N801 (Theano's name)
    """Make Python floats one of `dtypes`, for the length of a `with` block."""

    def __init__(self, *dtypes):
        self.dtypes = dtypes

    def __enter__(self):
        self.before, autocast_float.dtypes = autocast_float.dtypes, self.dtypes
        return self

    def __exit__(self, *args):
        autocast_float.dtypes = self.before


_small = {}


class ConstantCache:
    """The constants of numbers that are made once and used again, by their signatures."""

    def _key(self, signature):
        for key, made in _small.items():
            if made.signature() == signature:
                return key
        raise KeyError(signature)

    def __getitem__(self, signature):
        return _small[self._key(signature)]

    def __delitem__(self, signature):
        del _small[self._key(signature)]

    def __contains__(self, signature):
        return any(made.signature() == signature for made in _small.values())

    def __len__(self):
        return len(_small)

    def clear(self):
        _small.clear()


constant_cache = ConstantCache()


def constant(x, name=None, ndim=None, dtype=None):
    """A TensorConstant of `x`: an array, a number (see `autocast`), nested lists."""
    if dtype is None and ndim is None and name is None and type(x) in (int, float):
        key = (x, type(x), config.floatX, config.cast_policy, autocast_float.dtypes, str(x))
        found = _small.get(key)
        if found is None:
            found = _of_array(autocast(x), None)
            if len(_small) < 512:
                _small[key] = found
        return found
    if isinstance(x, gof.Constant) and name is None and dtype is None and ndim in (None, x.ndim):
        return x
    array = array_of(x, dtype)
    if ndim is not None:
        if array.ndim > ndim:
            raise ArgumentError(
                f"a constant of {ndim} dimensions cannot hold an array of "
                f"{array.ndim}, shape {array.shape}"
            )
        array = array.reshape((1,) * (ndim - array.ndim) + array.shape)
    return _of_array(array, name)


def _of_array(array, name):
    made = _new(TensorConstant)
    made.node = constant_node(array)
    made.name, made._number, made.data = name, _number(), array
    return made


def array_of(x, dtype=None):
    """`x` as an array of a dtype that tensors have; TypeError for what is none."""
    if dtype is not None:
        return np.array(x, dtype=config.floatX if dtype == "floatX" else dtype)
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        return autocast(x)
    if isinstance(x, np.generic):
        return np.asarray(x)
    if isinstance(x, np.ndarray):
        array = np.array(x)
    else:
        try:
            array = np.asarray(x)
        except ValueError as problem:
            raise AsTensorError(f"{x} makes no tensor: {problem}", type(x)) from None
        if not array.size:
            array = array.astype(config.floatX)
    if array.dtype.kind in "OUSVmM":
        raise AsTensorError(f"{str(x)[:80]} makes no tensor", type(x))
    return array


def holds_variables(x):
    """Whether nested lists hold symbolic tensors."""
    if isinstance(x, (list, tuple)):
        return any(holds_variables(i) for i in x)
    return isinstance(x, (Tensor, gof.Variable))


def as_tensor_variable(x, name=None, ndim=None):
    """`x` as a tensor variable: variables pass, numbers, arrays and lists become constants.

    ndim: axes of size 1 are added in front, or dropped there, to get this many.
    """
    if isinstance(x, Handle) and x.is_tensor and (ndim is None or ndim == len(x.node.shape)):
        return x
    if hasattr(x, "_as_TensorVariable"):
        return _with_ndim(x._as_TensorVariable(), ndim)
    if isinstance(x, gof.Apply):
        if x.op.default_output is None and len(x.outputs) != 1:
            raise ArgumentError(
                f"this Apply has {len(x.outputs)} outputs and no default: pass one of its outputs",
                x,
            )
        x = x.default_output()
    if isinstance(x, Handle) and x.is_tensor:
        return _with_ndim(x, ndim)
    if isinstance(x, gof.Constant):
        return as_tensor_variable(x.data, name, ndim)
    if isinstance(x, gof.Variable):
        raise AsTensorError(f"the variable {x} is no tensor: its type is {x.type}")
    if isinstance(x, Tensor):
        return _with_ndim(of_tensor(x), ndim)
    if isinstance(x, Node):
        return wrap(x)
    if isinstance(x, bool):
        raise AsTensorError(
            f"the Python value {x} makes no tensor: for a constant write "
            f"np.array({x}), and where it came from v == w, which asks whether "
            "they are the same variable, theano.tensor.eq(v, w)"
        )
    if isinstance(x, (list, tuple)) and holds_variables(x):
        return _with_ndim(hook("stack")([as_tensor_variable(i) for i in x], 0), ndim)
    if x is None or isinstance(x, str) or callable(x) and not hasattr(x, "__array__"):
        raise AsTensorError(f"{x!r} makes no tensor", type(x))
    return constant(x, name, ndim)


as_tensor = as_tensor_variable


def _with_ndim(x, ndim):
    if ndim is None or x.ndim == ndim:
        return x
    if x.ndim > ndim:
        extra = x.ndim - ndim
        if not all(x.broadcastable[:extra]):
            raise ArgumentError(
                f"to get {ndim} dimensions, axes in front are dropped, and one of "
                "them is not broadcastable",
                x.type,
            )
        return x.dimshuffle(range(extra, x.ndim))
    return x.dimshuffle(*"x" * (ndim - x.ndim), *range(x.ndim))


def of_tensor(x):
    """A facade's variable on a tensor of K: its graph is read off the engine's."""
    if isinstance(x, Handle):
        return x
    return lazy(x.node, {})


def outputs_on(op, inputs, nodes):
    """The variables on `nodes`, made by `op` from `inputs`."""
    return gof.Apply.made(op, inputs, [wrap(n) for n in nodes]).outputs


def fixed_literal(array):
    """The attribute form of an array: equal arrays are equal attributes."""
    return Literal(array)


def fresh(node, name=None):
    """A placeholder of the dtype and static shape of `node`."""
    return placeholder_node(node.dtype, node.shape, name)


__all__ = [
    name
    for name in dir()
    if not name.startswith("_")
    and name not in ("gof", "utils", "np", "config", "make", "hook", "register_hook")
]
