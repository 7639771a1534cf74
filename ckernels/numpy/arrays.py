"""Array: the array of `ckernels.numpy`. It has NumPy's meaning and methods, and computes late.

An Array holds memory, or a graph that waits (`late.py`), or is a view of one that waits. What asks
for an element computes: printing, `bool`, `__array__`, a store. Small arrays never wait: NumPy
computes them at once. `call` decides; what NumPy's names are is in `py`.
"""

import copy
import importlib
import weakref

import numpy as np

from .. import ops
from ..base.config import config
from ..graph.node import Node
from . import late, rows
from .late import Memory
from .methods import fast_power
from .promote import NUMPY, supported


class Array:
    """An array of `ckernels.numpy`; made by its functions, as ndarrays are by NumPy's.

    node: what it waits for, None where it has elements; source, lens: of a view of an array
    that waits, that array and the function that makes NumPy's view of its elements.
    """

    __slots__ = ("held", "memory", "node", "leaf", "source", "lens", "depth", "views",
                 "__weakref__")  # fmt: skip
    __hash__ = None
    __array_priority__ = 1000.0

    # ---- memory and graphs ---------------------------------------------------------------------

    @classmethod
    def of(cls, data, memory=None):
        """An Array with elements; memory: of which array it is a view."""
        self = object.__new__(cls)
        self.held, self.memory = data, memory or Memory(data)
        self.node = self.leaf = self.source = self.lens = self.views = None
        self.depth = 0
        return self

    @classmethod
    def waiting(cls, node, depth):
        """An Array that waits for a node of known shape."""
        self = object.__new__(cls)
        self.held = self.memory = self.leaf = self.source = self.lens = self.views = None
        self.node, self.depth = node, depth
        late.wait(self, node)
        if depth >= late.DEEPEST:
            late.compute(self)
        return self

    def see(self, node, lens):
        """A view of this one, which waits."""
        made = Array.waiting(node, self.depth)
        made.source, made.lens = self, lens
        self.views = [*(self.views or ()), weakref.ref(made)]
        return made

    def done(self, data):
        """The elements that it waited for."""
        if self.source is not None:
            return  # made of those of its base, when they are needed
        self.memory, self.held = Memory(data), data
        self.node = self.leaf = None
        self.memory.viewed = bool(self.views)

    def computed(self):
        """The elements, as NumPy's array in the memory of this one."""
        if self.held is None:
            if self.source is None:
                late.compute(self)
            else:
                source = self.source
                data = self.lens(source.computed())
                part = Memory(data)
                same = part.owner is source.memory.owner
                part.viewed = source.memory.viewed = True
                self.memory, self.leaf, self.held = source.memory if same else part, None, data
                self.node = self.source = self.lens = None
        return self.held

    def read(self):
        """The node of the elements as they are now."""
        if self.source is not None and self.source.held is not None:
            self.computed()
        if self.held is None:
            return self.node
        self.leaf = self.memory.input(self.held, self.leaf)
        return self.leaf

    def to_write(self):
        """The elements, to be stored into."""
        array = self.computed()
        self.see_views()
        self.memory.write()
        return array

    def see_views(self):
        """Views that wait become views of the elements."""
        views, self.views = self.views or (), None
        for each in views:
            made = each()
            if made is not None:
                made.computed()

    def lone(self):
        """Whether no other array can see its elements."""
        if self.source is not None or self.views:
            return False
        return self.held is None or not (self.memory.viewed or self.memory.shared)

    def become(self, other):
        """Take over what `other`, an array made for it, holds or waits for."""
        self.held, self.memory, self.leaf, self.depth = other.held, other.memory, None, other.depth
        self.node, self.source, self.lens = other.node, other.source, other.lens
        if self.node is not None:
            late.wait(self, self.node)
        return self

    def exported(self):
        """The elements, for other code: what it stores is seen from now on."""
        array = self.computed()
        self.see_views()
        self.memory.share()
        return array

    # ---- what it is ----------------------------------------------------------------------------

    @property
    def dtype(self):
        return np.dtype(self.node.dtype) if self.held is None else self.held.dtype

    @property
    def shape(self):
        return self.node.shape if self.held is None else self.held.shape

    @shape.setter
    def shape(self, shape):
        self.to_write().shape = shape

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return self.node.size if self.held is None else self.held.size

    device = "cpu"

    def to_device(self, device, /, *, stream=None):
        """This array: there is one device."""
        if not isinstance(device, str):
            raise TypeError(f"a device must be str, not {type(device).__name__}")
        if device != "cpu" or stream is not None:
            raise ValueError(f"an array of ckernels.numpy is on the cpu, not on {device!r}")
        return self

    def __array_namespace__(self, *, api_version=None):
        if api_version not in VERSIONS:
            raise ValueError(f"the array API standard {api_version!r} is none of {VERSIONS}")
        return importlib.import_module(__package__)

    def __array__(self, dtype=None, copy=None):
        array = self.computed() if copy else self.exported()
        return np.array(array, dtype, copy=copy) if copy or dtype is not None else array

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        array = self.computed() if copy else self.exported()
        return array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device,
                                copy=copy)  # fmt: skip

    def __dlpack_device__(self):
        return self.computed().__dlpack_device__()

    def __array_ufunc__(self, ufunc, method, *args, **options):
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return call(function, args, options)

    def __array_function__(self, function, types, args, kwargs):
        return call(function, args, kwargs)

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        found = getattr(self.computed(), name)  # NumPy's methods and attributes
        if not callable(found):
            return wrapped(found, (self,))

        def method(*args, **options):
            array = self.to_write() if name in STORING else self.computed()
            args, options = elements(args), elements(options)
            return wrapped(getattr(array, name)(*args, **options), (self,))

        return method

    def __dir__(self):
        return sorted({*dir(np.ndarray), "device", "to_device"})

    def __repr__(self):
        return repr(self.computed())

    def __str__(self):
        return str(self.computed())

    def __format__(self, text):
        return format(self.computed()[()], text)

    def __reduce__(self):
        return Array.of, (self.computed(),)

    def __copy__(self):
        return call(np.copy, (self,), {})

    def __deepcopy__(self, memo):
        return Array.of(copy.deepcopy(self.computed(), memo))

    # ---- parts ---------------------------------------------------------------------------------

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self):
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key):
        if self.held is None and is_basic(key):
            try:
                node = ops.getitem(self.read(), key)
            except Exception:  # NumPy says what is wrong, below
                node = None
            if node is not None and None not in node.shape:
                parts = key if type(key) is tuple else (key,)
                if not any(k is Ellipsis for k in parts):
                    if node.ndim == 0:  # an element, no view
                        return Array.waiting(node, self.depth + 1)
                    parts = (*parts, Ellipsis)
                return self.see(node, lambda a: a[parts])
        return wrapped(self.computed()[elements(key)], (self,))

    def __setitem__(self, key, item):
        key, item = elements(key), elements(item)
        self.to_write()[key] = item

    def __contains__(self, item):
        return elements(item) in self.computed()


# ---- calls of NumPy's functions ----------------------------------------------------------------

VERSIONS = (None, "2021.12", "2022.12", "2023.12", "2024.12")
NUMBERS = (int, float, complex, bool)
OPERANDS = (Array, np.ndarray, np.generic, *NUMBERS)
STORING = {"fill", "itemset", "partition", "put", "resize", "setfield", "setflags", "sort",
           "byteswap"}  # fmt: skip
STORE_FIRST = {np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis}
VIEWS = {
    np.reshape,
    np.ravel,
    np.transpose,
    np.swapaxes,
    np.moveaxis,
    np.expand_dims,
    np.squeeze,
    np.matrix_transpose,
    np.linalg.matrix_transpose,
    np.flip,
    np.fliplr,
    np.flipud,
}
BASIC = (int, np.integer, slice, type(None), type(Ellipsis))


def call(function, args, kwargs):
    """`function(*args, **kwargs)` of NumPy's, on Arrays and what else it takes."""
    if _wait(args) or (kwargs and _wait(kwargs.values())):
        found = _built(function, args, kwargs)
        if found is not None:
            return found
    return at_once(function, args, kwargs)


_large = [None, 0]  # state of the flags, elements of an array whose graphs are compiled


def _wait(args):
    """Whether an operand has not been computed, or is so large that its graphs are compiled."""
    if _large[0] != config.version:
        _large[:] = config.version, config.lazy_from
    large = _large[1]
    for a in args:
        kind = type(a)
        if kind is Array or kind is np.ndarray:
            if kind is Array and a.held is None or (a.held if kind is Array else a).size >= large:
                return True
        elif (kind is list or kind is tuple) and _wait(a):
            return True
    return False


FLAGS, SCALARS = {"keepdims", "subok", "overwrite_input"}, {"initial", "ddof", "correction"}
WORDS = {"kind": ("quicksort", "stable", "mergesort", "heapsort"), "order": (*"CFAK",)}


def _for_numpy(name, x):
    """Whether an option is none that rows look at as NumPy does, who says what is wrong with it."""
    if name in FLAGS:
        return not isinstance(x, (bool, np.bool_))
    if name == "where":
        return x is not True and getattr(getattr(x, "dtype", None), "kind", "") != "b"
    if name in SCALARS:
        return getattr(x, "ndim", 0) != 0 or isinstance(x, (list, tuple))
    if name in WORDS:
        return not (x is None or isinstance(x, str) and x in WORDS[name])
    return name == "axis" and isinstance(x, (list, dict, set))


def _built(function, args, kwargs):
    """The result as arrays that wait; None where NumPy has to compute it."""
    first = args[0] if args else None
    if kwargs and any(_for_numpy(name, x) for name, x in kwargs.items()):
        return None
    if "out" in kwargs or function in VIEWS and type(first) is Array and first.held is not None:
        return None
    depth = [0]
    is_ufunc = isinstance(function, np.ufunc)
    try:
        nodes = _nodes(args, depth, is_ufunc)
        options = {k: _nodes(v, depth, False) for k, v in kwargs.items()} if kwargs else {}
        found = rows.call(NUMPY, function, *nodes, **options)
    except Exception:  # no row, or an error: NumPy computes it, or says what is wrong
        return None
    if not _known(found):
        return None
    if function in VIEWS:
        rest = args[1:]
        return first.see(found, lambda a: function(a, *rest, **kwargs))
    return _waiting(found, depth[0] + 1)


def _nodes(x, depth, numbers):
    """An argument with nodes in the place of arrays; numbers: Python's floats are operands."""
    kind = type(x)
    if kind is Array:
        depth[0] = max(depth[0], x.depth if x.held is None else 0)
        return x.read()
    if kind is np.ndarray:
        return late.leaf(x.copy())[0]
    if kind is float and numbers:
        return late.number(x)
    if kind is tuple or kind is list:
        return kind([_nodes(i, depth, numbers) for i in x])
    return x


def _known(found):
    """Whether a row's result is nodes whose shapes are known."""
    if isinstance(found, Node):
        return None not in found.shape
    return isinstance(found, (tuple, list)) and all(_known(f) for f in found)


def _waiting(found, depth):
    if isinstance(found, Node):
        return Array.waiting(found, depth)
    parts = [_waiting(f, depth) for f in found]
    return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)


def at_once(function, args, kwargs):
    """The result as NumPy computes it now."""
    out = kwargs.pop("out", None) if kwargs else None
    given = list(args)
    if given and type(given[0]) is Array and _stores(function):
        given[0] = given[0].to_write()
    given, options = elements(given), elements(kwargs)
    if out is not None:
        outs = out if isinstance(out, tuple) else (out,)
        places = tuple(o.to_write() if type(o) is Array else o for o in outs)
        function(*given, out=places if isinstance(out, tuple) else places[0], **options)
        return out[0] if isinstance(out, tuple) and len(out) == 1 else out
    return wrapped(function(*given, **options), args)


def _stores(function):
    return function in STORE_FIRST or getattr(function, "__name__", "") == "at"


def elements(x):
    """An argument with NumPy's arrays in the place of Arrays."""
    kind = type(x)
    if kind is Array:
        return x.computed()
    if kind is tuple or kind is list:
        return kind([elements(i) for i in x])
    if kind is dict:
        return {k: elements(v) for k, v in x.items()}
    if kind is slice:
        return slice(*[elements(i) for i in (x.start, x.stop, x.step)])
    return x


def wrapped(found, sources=()):
    """What NumPy returned, with Arrays for its arrays and scalars. sources: whose views they may
    be."""
    if isinstance(found, np.generic):
        return Array.of(np.asarray(found))
    if type(found) is np.ndarray:
        return _of_memory(found, sources)
    if isinstance(found, tuple) and hasattr(found, "_fields"):
        return type(found)(*[wrapped(f, sources) for f in found])
    if type(found) in (tuple, list):
        return type(found)([wrapped(f, sources) for f in found])
    return found


def _of_memory(found, sources):
    """An Array of NumPy's array, which is new, or a part of one of the sources."""
    owner = found
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    for s in sources:
        if type(s) is Array and s.held is not None and s.memory.owner is owner:
            s.memory.viewed = True
            return Array.of(found, s.memory)
        if type(s) in (list, tuple):
            made = _of_memory(found, s)
            if made.memory.viewed:
                return made
    return Array.of(found)


def is_basic(key):
    """Whether a key gives a view."""
    return all(isinstance(k, BASIC) and not isinstance(k, bool)
               for k in (key if type(key) is tuple else (key,)))  # fmt: skip


def in_place(function, target, other):
    """`target` after an operator like +=: stored into its memory where another array sees it."""
    if not isinstance(other, OPERANDS):
        return NotImplemented
    if _wait((target, other)) and target.lone():
        new = _built(function, (target, other), {})
        if new is not None and new.shape == target.shape:
            if new.dtype == target.dtype:
                return target.become(new)
    other = elements(other)
    array = target.to_write()
    function(array, other, out=(array,))
    return target


def attribute(x, name):
    """x.T and others that are views."""
    if x.held is None and name in ATTRIBUTES:
        return call(ATTRIBUTES[name], (x,), {})
    return wrapped(getattr(x.computed(), name), (x,))


ATTRIBUTES = {"T": np.transpose, "mT": np.matrix_transpose}


def _asked(name):
    def ask(self, *args):
        return getattr(self.computed(), name)(*args)

    return ask


def _operator(function, turned=False):
    def operate(self, other):
        if not isinstance(other, OPERANDS) and not hasattr(other, "__array__"):
            return NotImplemented
        args = (other, self) if turned else (self, other)
        if _wait(args):
            return call(function, args, {})
        return wrapped(function(*elements(args)))  # new memory, so no sources

    return operate


def _power(self, p):
    fast = fast_power(self.dtype.kind, p)
    return call(fast, (self,), {}) if fast else raised(self, p)


def _in_place(function):
    def operate(self, other):
        return in_place(function, self, other)

    return operate


OPERATORS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift,
    "rshift": np.right_shift, "matmul": np.matmul, "divmod": np.divmod,
}  # fmt: skip
for _name, _function in OPERATORS.items():
    setattr(Array, f"__{_name}__", _operator(_function))
    setattr(Array, f"__r{_name}__", _operator(_function, True))
    if _name != "divmod":
        setattr(Array, f"__i{_name}__", _in_place(_function))
raised, Array.__pow__ = Array.__pow__, _power
for _name, _function in {"lt": np.less, "le": np.less_equal, "gt": np.greater, "eq": np.equal,
                         "ge": np.greater_equal, "ne": np.not_equal}.items():  # fmt: skip
    setattr(Array, f"__{_name}__", _operator(_function))
for _name, _function in {"neg": np.negative, "pos": np.positive, "abs": np.absolute,
                         "invert": np.invert}.items():  # fmt: skip
    setattr(Array, f"__{_name}__", lambda self, f=_function: call(f, (self,), {}))
for _name in ("bool", "int", "float", "complex", "index"):
    setattr(Array, f"__{_name}__", _asked(f"__{_name}__"))
for _name in ("T", "mT", "real", "imag", "flat"):
    setattr(Array, _name, property(lambda self, n=_name: attribute(self, n)))


def _as_numpy(method, name):
    """`method` under the name and with the docstring of NumPy's."""
    method.__name__, method.__qualname__ = name, f"Array.{name}"
    method.__doc__ = getattr(np.ndarray, name).__doc__
    return method


def _method(function):
    def method(self, *args, **options):
        return call(function, (self, *args), options)

    return _as_numpy(method, function.__name__)


def _shaped(function):
    """A method that takes a shape or an order of axes as one argument or as several."""

    def method(self, *args, **options):
        args = args if len(args) < 2 else (args,)
        return call(function, (self, *args), options)

    return _as_numpy(method, function.__name__)


def _astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
    """A copy in another dtype; this array itself where nothing changes and `copy` is false."""
    if not copy and np.dtype(dtype) == self.dtype and order == "K":
        return self
    if self.held is None and casting == "unsafe" and order == "K":
        return call(np.astype, (self, np.dtype(dtype)), {})
    return wrapped(self.computed().astype(dtype, order=order, casting=casting))


for _function in (np.sum, np.prod, np.mean, np.std, np.var, np.min, np.max, np.any, np.all,
                  np.argmax, np.argmin, np.cumsum, np.cumprod, np.round, np.dot, np.trace,
                  np.take, np.repeat, np.swapaxes, np.squeeze, np.ravel, np.diagonal, np.nonzero,
                  np.searchsorted, np.copy, np.conjugate):  # fmt: skip
    setattr(Array, _function.__name__, _method(_function))


def _flatten(self, order="C"):
    return call(np.copy, (call(np.ravel, (self, order), {}),), {})


def _clip(self, min=None, max=None, out=None, **options):
    return call(np.clip, (self, min, max), {**options, **({} if out is None else {"out": out})})


Array.clip = _as_numpy(_clip, "clip")
Array.conj, Array.flatten = Array.conjugate, _as_numpy(_flatten, "flatten")
Array.reshape, Array.transpose, Array.astype = _shaped(np.reshape), _shaped(np.transpose), _astype
__all__ = ["Array", "call", "elements", "supported", "wrapped"]
