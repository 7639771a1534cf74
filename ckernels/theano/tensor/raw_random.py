"""Random numbers of NumPy's RandomState, number for number: (new state, sample) of a state.

For the engine a state is a vector of uint32: the 624 words of MT19937, the position, and the normal
number that may be kept. To users it is a numpy.random.RandomState.
"""

import copy
import functools

import numpy as np

from ... import ops
from ...api.tensor import placeholder_node
from ...base.errors import ArgumentError, UsageError
from ...graph.node import item, make
from ...graph.op import Op as Row
from ...runtime.state import Store
from ..base.config import config
from ..base.hooks import register_hook
from ..base.names import absent_of as _absent_of
from ..classes.meanings import upcast
from ..classes.op import Op
from ..gradient.functions import grad_undefined
from ..gradient.paths import Reach
from ..graph import apply as _gof
from ..graph.apply import Apply
from ..graph.type import Type
from ..handles.sharedvar import Container, TensorSharedVariable
from ..handles.variables import as_tensor_variable, wrap
from .elementwise import maximum
from .indexing import permute_row_elements
from .shaping import get_vector_length

WORDS = 628


def packed(state):
    """A RandomState as a vector of uint32."""
    _, key, position, has, kept = state.get_state()
    return np.concatenate([key, [position, has], np.array([kept]).view("uint32")]).astype("uint32")


def unpacked(words):
    """The RandomState of a vector of uint32."""
    words = np.asarray(words)
    kept = np.array(words[626:628]).view("float64")[0]
    state = np.random.RandomState()
    state.set_state(("MT19937", words[:624], int(words[624]), int(words[625]), float(kept)))
    return state


class RandomStateType(Type):
    """A state of NumPy's generator."""

    dtype, broadcastable, ndim, static = "uint32", (False,), 1, (WORDS,)

    def filter(self, data, strict=False, allow_downcast=None):
        if isinstance(data, np.random.RandomState):
            return packed(data)
        if isinstance(data, np.ndarray) and data.shape == (WORDS,) and data.dtype == np.uint32:
            return data
        raise UsageError(f"expected a numpy.random.RandomState, not {type(data).__name__}")

    def is_valid_value(self, a):
        return isinstance(a, np.random.RandomState)

    def values_eq(self, a, b):
        return bool((packed(a) == packed(b)).all())

    @staticmethod
    def may_share_memory(a, b):
        return a is b

    def make_variable(self, name=None):
        made = wrap(_placeholder(name))
        made.name, made._type = name, self
        return made

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))

    def __str__(self):
        return "RandomStateType"


def _placeholder(name):
    return placeholder_node("uint32", (WORDS,), name)


random_state_type = RandomStateType()


class _StateContainer(Container):
    """The place of a state: RandomStates outside, words inside."""

    lent = None  # the RandomState that borrowers have: the value while its state is that stored

    def _get(self):
        words = self.store.get()
        if self.lent is None or not np.array_equal(packed(self.lent), words):
            self.lent = unpacked(words)
        return self.lent

    def _set(self, value):
        self.lent = None
        self.store.set(random_state_type.filter(value))

    value = data = property(_get, _set)

    def lend(self, value):
        """Take a RandomState itself for the value."""
        self.value = value
        self.lent = value


class RandomStateSharedVariable(TensorSharedVariable):
    """A shared state."""

    Container, typed = _StateContainer, False

    def __init__(self, name, type, value, strict, allow_downcast=None, container=None):
        self._type, self.name, self._number = type, name, _gof.number()
        if container is None:
            container = _StateContainer(None, None, False, None, name, None, Store(packed(value)))
        self.container, self.store = container, container.store
        self.node = make(
            "variable",
            (),
            {"store": self.store, "dtype": "uint32", "shape": (WORDS,), "name": name},
        )

    def get_value(self, borrow=False, return_internal_type=False):
        """The state, a RandomState; writing to it has no effect before set_value."""
        value = self.container.value
        return value if borrow else copy.deepcopy(value)

    def set_value(self, new_value, borrow=False):
        """Replace the state by that of a RandomState, with borrow=True by itself."""
        if borrow:
            self.container.lend(new_value)
        else:
            self.container.value = new_value


def random_state_shared(value, name=None, borrow=False):
    """A shared variable of a RandomState, with borrow=True of itself."""
    made = RandomStateSharedVariable(name, random_state_type, value, False)
    if borrow:
        made.container.lend(value)
    return made


register_hook("random_state_shared", random_state_shared)


# --- the engine's row -------------------------------------------------------------------------


def _infer(attrs, state, size, *parameters):
    known = ops.known_values(size) if size.ndim == 1 and attrs["sized"] else None
    extra = attrs["extra"]
    shape = (None,) * attrs["ndim"]
    if attrs["ones"]:
        shape = tuple(1 if one else None for one in attrs["ones"])
    if known is not None and extra >= 0 and len(known) + extra == attrs["ndim"]:
        shape = tuple(known) + (None,) * extra
    return [("uint32", (WORDS,)), (attrs["dtype"], shape)]


def _run(attrs, words, size, *parameters):
    state = unpacked(words)
    shape = tuple(int(d) for d in size) if attrs["sized"] else None
    name = attrs["name"]
    draw = name if callable(name) else DRAWS.get(name) or _plain(name)
    found = np.asarray(draw(state, *parameters, shape, **dict(attrs["options"])))
    if not attrs["sized"] and found.ndim < attrs["ndim"]:  # more dimensions were asked for
        found = found.reshape((1,) * (attrs["ndim"] - found.ndim) + found.shape)
    ndim = found.ndim if shape is None else len(shape) + attrs["extra"]
    wrong = shape is not None and found.shape[: len(shape)] != shape
    if not attrs["ndim"] == found.ndim == ndim or wrong:
        raise ArgumentError(
            f"{name} gave an array of shape {found.shape} for the size {shape}; of a result of "
            f"{attrs['ndim']} dimensions the size says {attrs['ndim'] - attrs['extra']}"
        )
    return packed(state), found.astype(attrs["dtype"])


Row(
    "theano_random",
    "opaque",
    _infer,
    _run,
    lambda node, g: [None] * len(node.inputs),
    doc="Numbers of NumPy's RandomState, and the state after them.",
)


def _plain(name):
    def draw(state, *args):
        return getattr(state, name)(*args[:-1], size=args[-1])

    return draw


def _over(shapes, size):
    """The shape of a draw of parameters of these shapes."""
    return np.broadcast_shapes(*shapes) if size is None else size


def _integers(state, low, high, size):
    low, high = np.asarray(low), np.asarray(high)
    shape = _over((low.shape, high.shape), size)
    out = np.empty(shape, "int64")
    low, high = np.broadcast_to(low, shape), np.broadcast_to(high, shape)
    for place in np.ndindex(*shape):
        out[place] = state.randint(int(low[place]), int(high[place]) + 1)
    return out


def permutation_helper(state, n, size):
    """Permutations of range(n) from a RandomState, one in each row of an array (*size, n)."""
    n = int(n)
    shape = () if size is None else tuple(size)
    out = np.empty((*shape, n), "int64")
    for place in np.ndindex(*shape):
        out[place] = state.permutation(n)
    return out


def _multinomial(state, n, pvals, size):
    n, pvals = np.asarray(n), np.asarray(pvals)
    shape = _over((n.shape, pvals.shape[:-1]), size)
    out = np.empty((*shape, pvals.shape[-1]), "int64")
    n, rows = np.broadcast_to(n, shape), np.broadcast_to(pvals, (*shape, pvals.shape[-1]))
    for place in np.ndindex(*shape):
        p = rows[place].astype("float64")
        total = p.sum()
        p = p / total * (1 - 5e-5) if total > 1 else p
        out[place] = state.multinomial(n=int(n[place]), pvals=p)
    return out


def _choice(state, a, p, size, replace, weighted):
    values = int(a) if np.ndim(a) == 0 else a
    return state.choice(values, size=size, replace=replace, p=p if weighted else None)


DRAWS = {"uniform": _plain("uniform"), "normal": _plain("normal"), "binomial": _plain("binomial"),
         "poisson": _plain("poisson"), "random_integers": _integers,
         "permutation": permutation_helper, "multinomial": _multinomial,
         "choice": _choice}  # fmt: skip


class RandomFunction(Op):
    """A draw: (state, size, parameters) to (new state, sample), a variable of `outtype`.

    fn: the name of a method of numpy.random.RandomState, or a function of a RandomState, the
    parameters and the size. ndim_added: how many dimensions a sample has behind those of `size`.
    inplace is noted and changes nothing: a new state is another value.
    """

    __props__ = ("name", "ndim", "dtype", "extra", "sized", "options", "ones")
    outtype, inplace = None, False

    def __init__(self, fn, outtype, inplace=False, ndim_added=0):
        self._take(fn, outtype.ndim, outtype.dtype, ndim_added, ones=outtype.broadcastable)
        self.outtype, self.inplace = outtype, inplace
        if inplace:
            self.destroy_map = {0: [0]}

    @classmethod
    def named(cls, *args):
        """The op of one of DRAWS."""
        made = object.__new__(cls)
        made._take(*args)
        return made

    def _take(self, name, ndim, dtype, extra=0, sized=True, options=(), ones=()):
        self.name, self.ndim, self.dtype = name, ndim, dtype
        self.extra, self.sized, self.options, self.ones = extra, sized, options, tuple(ones)

    fn = property(lambda self: self.name)
    ndim_added = property(lambda self: self.extra)

    def make_node(self, r, size, *args):
        if not isinstance(getattr(r, "type", None), RandomStateType):
            raise UsageError(f"the state of a draw must be of RandomStateType, not {r}")
        size = as_tensor_variable(np.zeros(0, "int64") if np.shape(size) == (0,) else size)
        args = [as_tensor_variable(a) for a in args]
        made = self.nodes([r.node, size.node, *(a.node for a in args)])
        state, sample = wrap(made[0]), wrap(made[1])
        state._type = r.type
        return Apply.made(self, [r, size, *args], [state, sample])

    def nodes(self, inputs):
        Reach.draws = True
        attrs = {a: getattr(self, a) for a in self.__props__}
        node = make("theano_random", inputs, attrs)
        return [item(node, 0), item(node, 1)]

    def _lower(self, apply):
        for out, node in zip(apply.outputs, self.nodes([x.node for x in apply.inputs])):
            out.node = node

    def grad(self, inputs, outputs):
        why = "a draw has no gradient"
        return [grad_undefined(self, k, x, why) for k, x in enumerate(inputs)]

    def __str__(self):
        return f"RandomFunction{{{getattr(self.name, '__name__', self.name)}}}"


def _draw(state, name, size, ndim, dtype, parameters, extra=0, options=()):
    """(new state, sample). size: None, ints and scalars (-1: as the parameters have it), or a
    vector."""
    parameters = [as_tensor_variable(p) for p in parameters]
    rank = max([p.ndim for p in parameters] + [0])
    sized = size is not None
    if not sized:
        size, count = np.zeros(0, "int64"), max(rank, ndim or 0)
    else:
        if isinstance(size, (int, np.integer)):
            size = (int(size),)
        if isinstance(size, (tuple, list)):
            count = len(size)
            size = _vector(_filled(size, parameters))
        else:
            size = as_tensor_variable(size).astype("int64")
            count = _length(size, ndim)
        if ndim is not None and ndim != count:
            raise ArgumentError(f"ndim should be {count}, but got {ndim}")
    if sized and count == 0 and rank:
        sized, count = False, rank
    ones = () if sized else _ones(count, parameters)
    op = RandomFunction.named(name, count + extra, dtype, extra, sized, options, ones)
    return op.make_node(state, size, *parameters).outputs


def _ones(ndim, parameters):
    """Which axes of a draw without a size are known to have size 1."""
    known = [True] * ndim
    for p in parameters:
        for k, one in enumerate(p.broadcastable, ndim - p.ndim):
            known[k] = known[k] and one
    return tuple(known)


def _infer_ndim_bcast(ndim, shape, *args):
    """(dimensions, size, which axes have size 1) of a draw of `shape`, or of these parameters."""
    args = [as_tensor_variable(a) for a in args]
    if shape is None:
        if not args:
            raise UsageError("neither a size nor parameters say what shape a draw has")
        ndim = max([a.ndim for a in args] + [ndim or 0])
        return ndim, as_tensor_variable(np.zeros(0, "int64")), _ones(ndim, args)
    if isinstance(shape, (tuple, list)):
        shape = _filled(shape, args)
        known = tuple(isinstance(d, (int, np.integer)) and d == 1 for d in shape)
        size = _vector(shape)
    else:
        size = as_tensor_variable(shape).astype("int64")
        known = (False,) * _length(size, ndim)
    if ndim is not None and ndim != len(known):
        raise ArgumentError(f"ndim should be {len(known)}, but got {ndim}")
    return len(known), size, known


def _vector(size):
    """A tuple of ints and scalars as an int64 vector."""
    if all(isinstance(s, (int, np.integer)) for s in size):
        return as_tensor_variable(np.asarray(size, "int64"))
    return as_tensor_variable([as_tensor_variable(s).astype("int64") for s in size])


def _length(size, ndim):
    """The number of entries of the variable `size`; `ndim` where that is given."""
    if ndim is not None:
        return ndim
    try:
        return get_vector_length(size)
    except ValueError:
        raise ArgumentError("the number of dimensions of a draw must be known: give ndim") from None


def _filled(size, parameters, last=None):
    """`size` with sizes of the parameters for -1; their axes up to `last` go along it."""
    found = list(size)
    for place, asked in enumerate(found):
        if isinstance(asked, (int, np.integer)) and asked == -1:
            known = []
            for p in parameters:
                rank = p.ndim if last is None else max(p.ndim + last, 0)
                axis = place - len(found) + rank
                if axis >= 0:
                    known.append(p.shape[axis])
            if not known:
                raise ArgumentError(
                    f"no parameter has a size for the -1 at place {place} of {size}"
                )
            found[place] = functools.reduce(maximum, known)
    return tuple(found)


def _dtype(dtype, *parameters):
    if dtype in (None, "floatX"):
        return upcast(config.floatX, *(as_tensor_variable(p).dtype for p in parameters))
    return dtype


def uniform(random_state, size=None, low=0.0, high=1.0, ndim=None, dtype=None):
    """(new state, numbers between low and high)."""
    return _draw(random_state, "uniform", size, ndim, _dtype(dtype, low, high), (low, high))


def normal(random_state, size=None, avg=0.0, std=1.0, ndim=None, dtype=None):
    """(new state, normal numbers)."""
    return _draw(random_state, "normal", size, ndim, _dtype(dtype, avg, std), (avg, std))


def binomial(random_state, size=None, n=1, p=0.5, ndim=None, dtype="int64", prob=None):
    """(new state, how many of `n` trials of probability `p` succeed)."""
    p = prob if prob is not None else p
    n = as_tensor_variable(n)
    n = n.astype("int64") if n.dtype != "int64" else n
    return _draw(random_state, "binomial", size, ndim, dtype, (n, p))


def poisson(random_state, size=None, lam=1.0, ndim=None, dtype="int64"):
    """(new state, numbers of a Poisson distribution)."""
    lam = as_tensor_variable(lam)
    if size is None and (ndim or 0) > lam.ndim:
        raise UsageError(f"lam has {lam.ndim} dimensions, so a draw of {ndim} needs a size")
    return _draw(random_state, "poisson", size, ndim, dtype, (lam,))


def random_integers(random_state, size=None, low=0, high=1, ndim=None, dtype="int64"):
    """(new state, integers from low to high, both included)."""
    return _draw(random_state, "random_integers", size, ndim, dtype, (low, high))


def choice(random_state, size=None, a=2, replace=True, p=None, ndim=None, dtype="int64"):
    """(new state, entries of `a`, or of range(a), drawn with the probabilities `p`)."""
    weighted = p is not None and as_tensor_variable(p).ndim > 0
    return (
        _draw(
            random_state,
            "choice",
            size,
            ndim,
            dtype,
            (a, p if weighted else np.zeros(0)),
            options=(("replace", bool(replace)), ("weighted", weighted)),
        )
        if size is not None
        else _single_choice(random_state, a, replace, p, dtype, weighted)
    )


def _single_choice(random_state, a, replace, p, dtype, weighted):
    a, p = as_tensor_variable(a), as_tensor_variable(p if weighted else np.zeros(0))
    op = RandomFunction.named(
        "choice", 0, dtype, 0, False, (("replace", bool(replace)), ("weighted", weighted))
    )
    return op.make_node(random_state, np.zeros(0, "int64"), a, p).outputs


def permutation(random_state, size=None, n=1, ndim=None, dtype="int64"):
    """(new state, rows that are permutations of range(n))."""
    if size is None or isinstance(size, (tuple, list)) and len(size) == 0:
        if ndim not in (None, 0, 1):
            raise UsageError(f"a permutation without a size is a vector, not of {ndim} dimensions")
        op = RandomFunction.named("permutation", 1, dtype, 1, True)
        return op.make_node(random_state, np.zeros(0, "int64"), n).outputs
    return _draw(random_state, "permutation", size, ndim, dtype, (n,), extra=1)


def multinomial(random_state, size=None, n=1, pvals=(0.5, 0.5), ndim=None, dtype="int64"):
    """(new state, how often each class comes up in `n` draws with the probabilities `pvals`)."""
    n = as_tensor_variable(n)
    pvals = as_tensor_variable(list(pvals) if isinstance(pvals, tuple) else pvals)
    if size is None or isinstance(size, (tuple, list)) and len(size) == 0:
        lead = max(n.ndim, pvals.ndim - 1)
        op = RandomFunction.named("multinomial", lead + 1, dtype, 1, False)
        return op.make_node(random_state, np.zeros(0, "int64"), n, pvals).outputs
    state, sample = _sized_multinomial(random_state, size, n, pvals, ndim, dtype)
    return state, sample


def _sized_multinomial(random_state, size, n, pvals, ndim, dtype):
    if isinstance(size, (int, np.integer)):
        size = (size,)
    count = len(size) if isinstance(size, (tuple, list)) else ndim
    if isinstance(size, (tuple, list)):
        size = _filled(size, [pvals], -1)
    sizes = (
        as_tensor_variable([as_tensor_variable(s).astype("int64") for s in size])
        if isinstance(size, (tuple, list))
        else as_tensor_variable(size)
    )
    op = RandomFunction.named("multinomial", count + 1, dtype, 1, True)
    return op.make_node(random_state, sizes, n, pvals).outputs


class RandomStreamsBase:
    """The draws by name, each through `gen`."""

    def binomial(self, size=None, n=1, p=0.5, ndim=None, dtype="int64", prob=None):
        """How many of `n` trials succeed."""
        return self.gen(binomial, size, n, p, ndim=ndim, dtype=dtype, prob=prob)

    def uniform(self, size=None, low=0.0, high=1.0, ndim=None, dtype=None):
        """Numbers between low and high."""
        return self.gen(uniform, size, low, high, ndim=ndim, dtype=dtype)

    def normal(self, size=None, avg=0.0, std=1.0, ndim=None, dtype=None):
        """Normal numbers."""
        return self.gen(normal, size, avg, std, ndim=ndim, dtype=dtype)

    def random_integers(self, size=None, low=0, high=1, ndim=None, dtype="int64"):
        """Integers from low to high."""
        return self.gen(random_integers, size, low, high, ndim=ndim, dtype=dtype)

    def choice(self, size=None, a=2, replace=True, p=None, ndim=None, dtype="int64"):
        """Entries of `a`."""
        return self.gen(choice, size, a, replace, p, ndim=ndim, dtype=dtype)

    def poisson(self, size=None, lam=None, ndim=None, dtype="int64"):
        """Numbers of a Poisson distribution."""
        return self.gen(poisson, size, 1.0 if lam is None else lam, ndim=ndim, dtype=dtype)

    def permutation(self, size=None, n=1, ndim=None, dtype="int64"):
        """Permutations of range(n)."""
        return self.gen(permutation, size, n, ndim=ndim, dtype=dtype)

    def multinomial(self, size=None, n=1, pvals=(0.5, 0.5), ndim=None, dtype="int64"):
        """How often each class comes up."""
        return self.gen(multinomial, size, n, pvals, ndim=ndim, dtype=dtype)

    def shuffle_row_elements(self, input):
        """`input` with each row in another order."""
        input = as_tensor_variable(input)
        order = self.permutation(
            tuple(input.shape[i] for i in range(input.ndim - 1)),
            input.shape[-1],
            ndim=input.ndim - 1,
        )
        made = permute_row_elements(input, order)
        made.permutation = order
        return made


__getattr__ = _absent_of("theano.tensor.raw_random")
