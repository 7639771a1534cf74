"""What a traced function sees in the place of names: of `np`, of `math`, of Python's functions.

NumPy dispatches most of its functions on values by itself; those that make arrays from nothing it
does not, so the name `np` of a traced function is a Namespace, in which they make traced arrays.
"""

import builtins
import functools
import math
import operator
import sys
import types

import numpy as np

from .. import ops
from ..base.errors import NotSupported
from ..graph.node import Node, constant
from ..numpy.methods import VIEWS, as_strided, in_order
from ..numpy.promote import NUMPY, kind_of
from ..numpy.rows import as_operand, call
from ..numpy.value import ArrayValue, lies_plain, result
from .growing import Growing
from .maybe import changes, decided_of
from .number import (
    OF_MATH,
    PythonNumber,
    as_node,
    converted,
    known,
    of_math,
    of_sizes,
    pinned,
    whole,
)
from .opaque import Opaque

REFUSED = {"random", "time", "os", "sys", "datetime", "logging", "threading", "subprocess", "io",
           "secrets", "uuid", "socket", "gc", "inspect", "builtins"}  # fmt: skip
WORLD = {"print", "input", "open", "exec", "eval", "globals", "locals", "vars", "setattr",
         "delattr", "__import__", "breakpoint", "compile", "id", "hash", "memoryview"}  # fmt: skip
FILLING = (np.zeros, np.ones, np.empty, np.full)
RANGES = (np.arange, np.linspace, np.eye, np.identity)


class Forbidden:
    """A module whose functions answer differently each time, or change something."""

    def __init__(self, name):
        self.__dict__["name"] = name

    def __getattr__(self, attribute):
        raise NotSupported(f"{self.name}.{attribute} in a traced function: its result would be "
                           "the same in each call; pass its result as an argument")  # fmt: skip


class Range:
    """range of traced ints: `for` takes it as it is (flow.py), all else needs its numbers."""

    def __init__(self, *ends):
        ends = (0, *ends) if len(ends) == 1 else ends
        self.start, self.stop, self.step = (*ends, 1)[:3]

    def __iter__(self):
        return iter(range(*[operator.index(e) for e in (self.start, self.stop, self.step)]))

    def __len__(self):
        return len(range(*[operator.index(e) for e in (self.start, self.stop, self.step)]))


class Indexed:
    """What a loop takes one by one: at(number) of each number of `ends`, a range or a Range."""

    def __init__(self, ends, at):
        self.ends, self.at = ends, at

    def __iter__(self):
        return (self.at(i) for i in self.ends)

    def __len__(self):
        return len(self.ends)


def rows_of(x):
    """An array, a range, or what enumerate, zip and reversed make of them, Indexed; else None."""
    if isinstance(x, Indexed):
        return x
    if isinstance(x, (range, Range)):
        return Indexed(x, lambda number: number)
    if isinstance(x, ArrayValue) and x.ndim:
        node = x.read()
        if node.op.name == "arange" and node.shape[0] is None:
            ends = Range(*[known(x.owner, ops.cast(end, "int64"), int) for end in node.inputs])
            return Indexed(ends, lambda number: result(
                x.owner, ops.cast(as_node(number), node.dtype)))  # fmt: skip
        size = x.shape[0]
        by_data = isinstance(size, PythonNumber) and not of_sizes(size.node)
        ends = Range(size) if by_data else range(operator.index(size))
        return Indexed(ends, x.__getitem__)
    return None


def numbered(x):
    """Indexed over 0, 1, ..., or None."""
    rows = rows_of(x)
    if rows is None:
        return None
    first, step = rows.ends.start, rows.ends.step
    if type(first) is type(step) is int and (first, step) == (0, 1):
        return rows
    if isinstance(rows.ends, Range):
        return None
    return Indexed(range(len(rows.ends)), lambda number: rows.at(number * step + first))


def places(*shape):
    """np.ndindex, as a loop takes it."""
    shape = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    sizes = [operator.index(size) for size in shape]

    def at(number):
        found = []
        for size in sizes[:0:-1]:
            found.insert(0, number % size)
            number = number // size
        return (number, *found) if sizes else ()

    return Indexed(range(math.prod(sizes)), at)


def elements(x):
    """np.ndenumerate, as a loop takes it."""
    if not isinstance(x, ArrayValue):
        return np.ndenumerate(x)
    rows = places(x.shape)
    return Indexed(rows.ends, lambda number: (rows.at(number), x[rows.at(number)]))


def traced_enumerate(iterable, start=0):
    """enumerate(), which a loop may take as it takes an array."""
    rows = numbered(iterable)
    if rows is None:
        return enumerate(iterable, start)
    return Indexed(rows.ends, lambda number: (number + start, rows.at(number)))


def traced_zip(*iterables, **options):
    rows = [numbered(x) for x in iterables]
    if None in rows or not rows or options:
        return zip(*iterables, **options)
    ends = [r.ends.stop for r in rows]
    least = traced_min(ends) if len(ends) > 1 else ends[0]
    ends = Range(least) if isinstance(least, PythonNumber) else range(least)
    return Indexed(ends, lambda number: tuple([r.at(number) for r in rows]))


def traced_reversed(iterable):
    rows = rows_of(iterable)
    if rows is not None and isinstance(rows.ends, Range):
        first, stop, step = rows.ends.start, rows.ends.stop, rows.ends.step
        if not isinstance(step, int) or abs(step) != 1:
            return reversed(list(iterable))
        return Indexed(Range(stop - step, first - step, -step), rows.at)
    rows = numbered(iterable)
    if rows is None:
        return reversed(iterable)
    return Indexed(range(len(rows) - 1, -1, -1), rows.at)


def traced_range(*ends):
    """range(), for which ends may be traced: numbers, and elements of arrays of integers."""
    ends = [whole(e.owner, e.read()) if is_element(e) else e for e in ends]
    traced = [isinstance(e, PythonNumber) and e.kind is int and not of_sizes(e.node) for e in ends]
    if not any(traced) or len(ends) > 3:
        return range(*ends)
    return Range(*[e if kept else operator.index(e) for e, kept in zip(ends, traced)])


def is_element(x):
    return isinstance(x, ArrayValue) and not x.ndim and x.dtype.kind in "iu"


def traced_len(x):
    """len(), which of an axis whose size is open is a traced number."""
    if isinstance(x, Growing):
        return x.length()
    return x.shape[0] if isinstance(x, ArrayValue) and x.ndim else len(x)


def traced_round(number, ndigits=None):
    """round(), of a scalar of NumPy's too."""
    if not isinstance(number, ArrayValue) or not number.scalar or number.dtype.kind not in "fiu":
        return round(number, ndigits)
    if ndigits is not None:
        return np.round(number, ndigits)
    return whole(number.owner, ops.round(number.read()))


def extreme(function, before):
    """max or min of traced numbers: before(a, b) says whether a stays in front of b."""

    def choose(*args, **options):
        if len(args) == 1 and not options and is_grown(args[0]):
            return args[0].reduced(function)
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = args[0]
        traced = [isinstance(a, (PythonNumber, ArrayValue)) for a in args]
        if options or len(args) < 2 or not any(traced):
            return function(*args, **options)
        owner = args[traced.index(True)].owner
        found = args[0]
        for a in args[1:]:
            found = owner.flow.one_of(before(a, found), a, found)
        return found

    choose.__name__ = function.__name__
    return choose


traced_min = extreme(min, operator.lt)


def is_grown(x):
    """Whether it is a list that a loop appended to, of which Python does not know the items."""
    return isinstance(x, Growing) and not x.is_list()


def traced_sum(items, /, start=0):
    """sum(), also of a list that a loop appended to."""
    return items.reduced(sum, start) if is_grown(items) else sum(items, start)


class Namespace:
    """NumPy as a traced function sees it."""

    def __init__(self, trace):
        self.__dict__["_trace"] = trace  # NumPy has a function `trace`
        self.__dict__["_seen"] = {}
        for function in FILLING + RANGES:
            self.__dict__[function.__name__] = creating(trace, function)
        self.__dict__["array"] = self._array
        self.__dict__["asarray"] = self.__dict__["asanyarray"] = self._asarray
        for name, order in (("ascontiguousarray", "C"), ("asfortranarray", "F")):
            self.__dict__[name] = functools.partial(self._laid, order)
        self.__dict__["random"] = Forbidden("np.random")
        self.__dict__["fft"], self.__dict__["linalg"] = Transforms(self), Linear(self)
        for name, axis in (("r_", 0), ("c_", -1)):
            self.__dict__[name] = Joined(trace, name, axis)
        for function in PLACES:
            self.__dict__[function.__name__] = made(trace, function)
        self.__dict__["ix_"] = open_mesh(trace)
        for name in ("mgrid", "ogrid"):
            self.__dict__[name] = Grid(trace, getattr(np, name))
        self.__dict__["ndarray"] = ArrayClass(trace)
        self.__dict__["ndindex"], self.__dict__["ndenumerate"] = places, elements
        self.__dict__["lib"] = Within(self, np.lib)

    def __getattr__(self, name):
        return self.taking_lists(getattr(np, name))

    def taking_lists(self, found):
        """What a trace sees in the place of something of NumPy's: functions take lists of traced
        values."""
        if not isinstance(found, np.ufunc | types.FunctionType | type(np.sum)):
            return found
        if found not in self._seen:  # one for each, as `is` asks
            made = self._seen[found] = self._taking_lists(found)
            if made is not found and type(made) is not OfLists:
                made.given_as = found
        return self._seen[found]

    def _taking_lists(self, found):
        if isinstance(found, np.ufunc):
            return OfLists(self._trace, found)
        if found in OF_NUMBERS:
            return of_numbers(found)
        if found is np.lib.stride_tricks.as_strided:
            return strided
        if found in OF_PARTS:
            return of_parts(self._trace, found)
        count = ARRAYS.get(found, 1) if isinstance(found, type(np.sum)) else 0
        return of_lists(self._trace, found, count) if count else found

    def __setattr__(self, name, value):
        raise NotSupported(f"np.{name} is assigned in a traced function")

    @staticmethod
    def isscalar(element):
        if isinstance(element, ArrayValue):
            return element.scalar
        return isinstance(element, PythonNumber) or np.isscalar(element)

    def ndim(self, a):
        return 0 if isinstance(a, PythonNumber) else np.ndim(array_of(self._trace, a))

    def _array(self, object, dtype=None, *, copy=True, order="K", ndmin=0, **options):
        value = self._trace.array(object, dtype)
        if options or ndmin > value.ndim:
            raise NotSupported("np.array with subok, like or more dimensions")
        same = isinstance(object, ArrayValue) and not object.scalar
        return value.copy(order) if same and copy and value is object else value

    def _asarray(self, a, dtype=None, order=None, **options):
        return in_order(self._trace.array(a, dtype), order)

    def _laid(self, order, a, dtype=None, *, like=None):
        return in_order(VIEWS[np.atleast_1d](self._trace.array(a, dtype)), order)


class Transforms:
    """np.fft as a traced function sees it: frequencies may be of a traced count."""

    def __init__(self, names):
        self.names = names

    def __getattr__(self, name):
        return self.names.taking_lists(getattr(np.fft, name))

    def fftfreq(self, n, d=1.0, device=None):
        if not isinstance(n, PythonNumber):
            return np.fft.fftfreq(n, d, device)
        count = self.names.arange(0, n)
        return np.where(count < (n - 1) // 2 + 1, count, count - n) * (1.0 / (n * d))

    def rfftfreq(self, n, d=1.0, device=None):
        if not isinstance(n, PythonNumber):
            return np.fft.rfftfreq(n, d, device)
        return self.names.arange(0, n // 2 + 1) * (1.0 / (n * d))


# NumPy dispatches nothing for lists of traced values. Of its functions the first argument is an
# array, but of these so many first ones
COUNTS_OF_ARRAYS = {
    0: """select block lexsort apply_along_axis apply_over_axes einsum_path histogramdd copyto put
    place putmask fill_diagonal linalg.multi_dot""",
    2: """dot inner outer vdot kron cross tensordot isclose allclose array_equal array_equiv
    convolve correlate append take compress extract searchsorted digitize isin union1d
    setdiff1d intersect1d setxor1d polyval polyadd polysub polymul polydiv cov corrcoef
    trapezoid percentile quantile nanpercentile nanquantile histogram linalg.solve
    linalg.lstsq linalg.cross linalg.outer linalg.tensordot""",
    3: "where interp put_along_axis",
    64: "einsum meshgrid broadcast_arrays atleast_1d atleast_2d atleast_3d ix_",
}


def of_numpy(name):
    """A function of NumPy, or None where its version has none of this name."""
    return functools.reduce(lambda holder, part: getattr(holder, part, None), name.split("."), np)


ARRAYS = {of_numpy(name): count for count, names in COUNTS_OF_ARRAYS.items()
          for name in names.split()}  # fmt: skip
NAMED = ("weights", "x", "y", "values", "a", "v", "q", "bins", "xp", "fp")  # arrays by name


def of_lists(trace, function, count):
    """A function of NumPy whose first `count` arguments are arrays, for which a list or tuple of
    traced values is one."""

    @functools.wraps(function)
    def called(*args, **kwargs):
        named = {k: array_of(trace, v) if k in NAMED else v for k, v in kwargs.items()}
        return function(*arrays_of(trace, args, count), **named)

    return called


def arrays_of(trace, args, count):
    """The arguments, of the first `count` lists and tuples of traced values as arrays."""
    return [array_of(trace, a) if k < count else a for k, a in enumerate(args)]


def array_of(trace, x):
    """A list or tuple of traced values as an array; all else as it is."""
    inside = isinstance(x, Growing) or type(x) in (list, tuple) and trace.inside_of(x)
    return trace.array(x) if inside else x


class OfLists:
    """A ufunc of NumPy, for which a list or tuple of traced values is an array, as it is for its
    methods; else it is the ufunc."""

    given_as = None  # the ufunc, which stands for it outside of the trace

    def __init__(self, trace, ufunc):
        self.trace, self.given_as = trace, ufunc

    def __call__(self, *args, **kwargs):
        return self.given_as(*arrays_of(self.trace, args, self.given_as.nin), **kwargs)

    def __getattr__(self, name):
        found = getattr(self.given_as, name)
        count = {"reduce": 1, "accumulate": 1, "reduceat": 1, "outer": 2}.get(name)
        return found if count is None else of_lists(self.trace, found, count)

    def __eq__(self, other):
        return self.given_as == getattr(other, "given_as", other)

    def __hash__(self):
        return hash(self.given_as)


class Linear:
    """np.linalg as a traced function sees it. program: what gives the program that stands for one
    of its functions, or None."""

    def __init__(self, names):
        self.names, self.program = names, lambda found: None

    def __getattr__(self, name):
        found = getattr(np.linalg, name)
        return self.program(found) or self.names.taking_lists(found)


class Within:
    """A module inside of np as a traced function sees it."""

    def __init__(self, names, module):
        self.names, self.module = names, module

    def __getattr__(self, name):
        found = getattr(self.module, name)
        ours = isinstance(found, types.ModuleType)
        return Within(self.names, found) if ours else self.names.taking_lists(found)


@functools.wraps(np.lib.stride_tricks.as_strided)
def strided(x, *args, **kwargs):
    found = as_strided if isinstance(x, ArrayValue) else np.lib.stride_tricks.as_strided
    return found(x, *args, **kwargs)


OF_NUMBERS = (np.hanning, np.hamming, np.bartlett, np.blackman, np.kaiser)


def of_numbers(function):
    """A function of NumPy's own code that makes an array of numbers, which a trace is then for."""

    @functools.wraps(function)
    def called(*args, **kwargs):
        return function(*map(pinned, args), **{k: pinned(v) for k, v in kwargs.items()})

    return called


OF_PARTS = (np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack)


def of_parts(trace, function):
    """A function of NumPy that takes a list of arrays, of which some are lists of traced values."""

    def array(part):
        return trace.array(part) if isinstance(part, PythonNumber) else array_of(trace, part)

    @functools.wraps(function)
    def called(arrays, *args, **kwargs):
        if isinstance(arrays, Growing):
            if not arrays.is_list():
                return of_rows(function, arrays.array(), *args, **kwargs)
            arrays = arrays.pieces
        if type(arrays) in (list, tuple):
            arrays = [array(a) for a in arrays]
        return function(arrays, *args, **kwargs)

    return called


def of_rows(function, x, axis=0, **options):
    """What joins a list of arrays, of those that are the rows of `x`."""
    if axis == 0 and not options:
        if function is np.stack or function is np.vstack and x.ndim == 2:
            return x
        if function is np.vstack and x.ndim == 1:
            return x[:, None]
        if x.ndim == 2 and function in (np.concatenate, np.hstack):
            return x.reshape(-1)
        if x.ndim == 2 and function is np.column_stack:
            return x.T.copy()
        if x.ndim > 2 and function in (np.concatenate, np.vstack):
            return x.reshape((-1, *x.shape[2:]))
    raise NotSupported(f"np.{function.__name__} of a list that grows in a loop")


class Joined:
    """np.r_ or np.c_ as a traced function sees it: parts with traced values are concatenated."""

    def __init__(self, trace, name, axis):
        self.trace, self.name, self.axis = trace, name, axis

    def __getitem__(self, key):
        parts = key if isinstance(key, tuple) else (key,)
        ends = [e for p in parts if isinstance(p, slice) for e in (p.start, p.stop, p.step)]
        if not self.trace.inside_of([*parts, *ends]):
            if any(isinstance(p, np.ndarray) for p in parts):
                self.trace.foreign(parts)
            return constants(self.trace, getattr(np, self.name)[key])
        if any(isinstance(p, str) for p in parts):
            raise NotSupported(f"np.{self.name} with words")
        parts = [self.range(p) if isinstance(p, slice) else p for p in parts]
        if changes(self.trace.rule, parts, True):
            parts = decided_of(parts)
        operands = [as_operand(self.trace.operand(p)) for p in parts]
        dtype = self.trace.rule.common([kind_of(x) for x in operands])
        values = [np.atleast_1d(self.trace.array(p, dtype)) for p in parts]
        if self.axis:
            values = [v[:, None] if v.ndim == 1 else v for v in values]
        return np.concatenate(values, self.axis)

    def range(self, ends):
        """The numbers of a slice."""
        start, step = 0 if ends.start is None else ends.start, ends.step
        if isinstance(step, complex):
            return creating(self.trace, np.linspace)(start, ends.stop, int(abs(step)))
        return creating(self.trace, np.arange)(start, ends.stop, 1 if step is None else step)


class ArrayClass:
    """np.ndarray as a traced function sees it: it makes arrays, isinstance knows it, and it equals
    the type of a traced array."""

    __name__, __qualname__, __module__ = "ndarray", "ndarray", "numpy"
    given_as = np.ndarray

    def __init__(self, trace):
        self.trace, trace.array_class = trace, self

    def __eq__(self, other):
        return other is self or other is np.ndarray

    def __hash__(self):
        return hash(np.ndarray)

    def __repr__(self):
        return repr(np.ndarray)

    def __call__(self, shape, dtype=float, buffer=None, offset=0, strides=None, order=None):
        if buffer is not None:
            raise NotSupported("np.ndarray on a buffer")
        return creating(self.trace, np.empty)(shape, dtype)


PLACES = (np.tril_indices, np.triu_indices, np.diag_indices, np.mask_indices, np.indices, np.tri)


def made(trace, function):
    """A function that makes places of known numbers, as one that makes traced arrays."""

    @functools.wraps(function)
    def make(*args, **kwargs):
        return constants(trace, function(*args, **kwargs))

    return make


def open_mesh(trace):
    """np.ix_ as a traced function sees it: vectors of places, or masks of them, each along an axis
    of its own."""

    @functools.wraps(np.ix_)
    def make(*args):
        if not trace.inside_of(args):
            return constants(trace, np.ix_(*args))
        values = [trace.array(x) for x in args]
        if any(v.ndim != 1 for v in values):
            raise NotSupported("np.ix_ of what are no vectors")
        values = [v.nonzero()[0] if v.dtype == bool else v for v in values]
        return tuple(v.reshape(tuple(-1 if i == k else 1 for i in range(len(values))))
                     for k, v in enumerate(values))  # fmt: skip

    return make


def constants(trace, found):
    """Arrays that NumPy made of what a trace knows, as traced arrays."""
    if isinstance(found, (tuple, list)):
        return type(found)(constants(trace, x) for x in found)
    if type(found) is not np.ndarray:
        return found
    return ArrayValue(trace, constant(found), False, lies_plain(found))


class Grid:
    """np.mgrid or np.ogrid as a traced function sees it."""

    def __init__(self, trace, grid):
        self.trace, self.grid = trace, grid

    def __getitem__(self, key):
        return constants(self.trace, self.grid[key])


def creating(trace, function):
    """A function that makes an array from nothing, as one that makes a traced array."""

    def make(*args, **kwargs):
        if function in FILLING:
            shape = args[0] if args else kwargs.pop("shape")
            args = (trace.shape(shape), *args[1:])
        places = COUNTS.get(function, ())
        args = [trace.extent(a) if i in places else given(trace, a) for i, a in enumerate(args)]
        kwargs = {k: trace.extent(v) if k in COUNTED else given(trace, v)
                  for k, v in kwargs.items()}  # fmt: skip
        return result(trace, call(NUMPY, function, *args, **kwargs), False)

    make.__name__ = function.__name__
    return make


COUNTS = {np.eye: (0, 1, 2), np.identity: (0,), np.linspace: (2,)}  # arguments that are sizes
COUNTED = ("N", "M", "n", "num", "k")


def given(trace, x):
    """An argument of a function that makes an array."""
    if isinstance(x, PythonNumber) and x.symbolic and trace.is_batch():
        return x.pin()  # a batch of ranges has no one size
    return trace.operand(x) if isinstance(x, (ArrayValue, PythonNumber)) else x


def with_handles(trace, function):
    """A function of tensors, K.relu, as one that takes traced arrays and gives such."""

    def node(x):
        if isinstance(x, (ArrayValue, PythonNumber, Growing)):
            x = trace.operand(x)
            return x.read() if isinstance(x, ArrayValue) else getattr(x, "node", x)
        return _mapped(node, x)

    def array(x):
        if isinstance(getattr(x, "node", None), Node):
            return result(trace, x.node)
        return _mapped(array, x)

    @functools.wraps(function)
    def called(*args, **kwargs):
        return array(function(*node(args), **node(kwargs)))

    return called


def _mapped(function, x):
    """A list, tuple or dict with function(part) of its parts; anything else as it is."""
    if type(x) is dict:
        return {k: function(v) for k, v in x.items()}
    return type(x)(map(function, x)) if type(x) in (list, tuple) else x


def takes_handles(value):
    """Whether a function is one of those that take and give tensors."""
    return isinstance(value, types.FunctionType) and value.__module__.startswith("ckernels.api.")


class HandleModule:
    """A module of such functions, as a traced function sees it."""

    def __init__(self, trace, module):
        self.__dict__.update(trace=trace, module=module)

    def __getattr__(self, name):
        found = getattr(self.module, name)
        return with_handles(self.trace, found) if takes_handles(found) else found


class MathModule:
    """The module math: functions that are computed as nodes for traced numbers."""

    def __init__(self):
        for function in OF_MATH:
            self.__dict__[function.__name__] = of_math(function)

    def __getattr__(self, name):
        return getattr(math, name)


def is_instance(x, kinds):
    """isinstance, for which a traced array is an array and a traced number a number."""
    kinds = tuple(_flat(kinds))
    kinds = tuple(type if k is traced_type else k for k in kinds)
    plain = tuple(np.ndarray if isinstance(k, ArrayClass) else k for k in kinds)
    if isinstance(x, Growing):
        return issubclass(list, plain)
    if isinstance(x, Opaque):
        return issubclass(x.opaque_type, plain)
    x = x.given_as if isinstance(x, OfLists) else x
    x = x.decided() if hasattr(x, "flag") else x
    if isinstance(x, PythonNumber):
        return issubclass(x.kind, tuple(k for k in plain if isinstance(k, type)))
    if isinstance(x, ArrayValue):
        return issubclass(x.dtype.type if x.scalar else np.ndarray, plain)
    return isinstance(x, plain)


def _flat(kinds):
    if isinstance(kinds, (tuple, types.UnionType)):
        for k in kinds if isinstance(kinds, tuple) else kinds.__args__:
            yield from _flat(k)
    else:
        yield kinds


def traced_type(*args, **kwargs):
    """type(x), of what is traced what NumPy has there, also in a function without source."""
    return converted(type, *args) if len(args) == 1 and not kwargs else type(*args, **kwargs)


def traced_super(*args):
    """super(): from a class itself on, in whose place a method may have read the traced one."""
    if not args:
        frame = sys._getframe(1)
        args = frame.f_locals["__class__"], frame.f_locals[frame.f_code.co_varnames[0]]
    return super(vars(args[0]).get("traced_from", args[0]), *args[1:])


def builtin_names():
    """Python's functions for a traced function: those that touch the world refuse."""

    def refusing(name):
        def refuse(*args, **kwargs):
            raise NotSupported(f"{name}() in a traced function, which would run once only")

        return refuse

    found = dict(vars(builtins))
    found.update({name: refusing(name) for name in WORLD if name in found})
    found.update(isinstance=is_instance, type=traced_type, range=traced_range, len=traced_len,
                 max=extreme(max, operator.gt), min=traced_min,
                 enumerate=traced_enumerate, zip=traced_zip, reversed=traced_reversed,
                 sum=traced_sum, round=traced_round, super=traced_super)  # fmt: skip
    return found


# objects of this room that a trace can reach
REACHABLE = (
    *(Namespace, Transforms, Linear, OfLists, MathModule, HandleModule, Forbidden),
    *(Range, Indexed),
)


def library(module):
    """Whether a module is of Python or of a package that others wrote: its functions are called
    as they are, and its names do not change."""
    name = getattr(module, "__name__", module) or ""
    top = name.partition(".")[0]
    return top in sys.stdlib_module_names and top != "__main__" or top in (
        "numpy", "scipy", "ckernels", "numba", "jax", "torch")  # fmt: skip
