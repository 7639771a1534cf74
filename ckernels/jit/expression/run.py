"""`evaluate`: expressions compiled once for the dtypes and ranks of their operands, then looked up.

The function that served last is called at once: its C checks the arrays, and only where one does
not fit is another looked up or compiled. An Evaluator holds what was met under one Meaning; the
`evaluate` of another library is another Evaluator.
"""

import sys
import threading
import weakref
from collections.abc import Mapping
from operator import itemgetter

import numpy as np

from ...autodiff import reverse
from ...base.errors import ArgumentError, NotSupported, UsageError
from ...base.given import flag, sequence
from ...base.given import text as a_string
from ...base.native import runtime
from ...graph.node import Node, placeholder
from ...numpy.promote import supported
from ...ops import sum as total
from ...runtime.function import make_function
from .build import NUMPY_MEANING, WEAK, Arrays, Nodes, walk
from .tree import parse

EXPRESSIONS = 1024  # that are remembered, each with
FUNCTIONS = 64  # as many functions
COPIED = sys.version_info < (3, 13)  # whether f_locals of a function is a copy,
OPTIMIZED = 1  # of code with this flag: a function's, not a module's or a class's


class Misfit(Exception):
    """An argument that another function of the expression is for."""


class Expression:
    """A parsed text and its functions: {keys of the arguments: callable}; `last` served last."""

    __slots__ = ("program", "names", "one", "fetch", "functions", "last")

    def __init__(self, program):
        self.program = program
        self.names = self.program.names
        self.one = len(self.names) == 1
        self.fetch = itemgetter(*self.names) if self.names else None  # of a dict: its value(s)
        self.functions, self.last = {}, None


class Evaluator:
    """What `evaluate` and its kin do, by one Meaning of operators and functions."""

    def __init__(self, meaning):
        self.meaning, self.known, self.thread = meaning, {}, threading.local()

    def expression(self, text):
        """The Expression of a text, parsed once."""
        if not isinstance(text, str):
            raise ArgumentError("an expression is a string")
        found = self.known.get(text)
        if found is None:
            found = Expression(parse(text))
            if len(self.known) >= EXPRESSIONS:
                self.known.clear()
            self.known[text] = found
        return found

    def run(self, found, values, out=None, order="K", casting="same_kind"):
        """The value of an Expression for these values of its names."""
        if not found.names:
            result = self.in_numpy(found)
        else:
            arguments = [self.meaning.argument(v) for v in values]
            function = self.function(found, tuple([key for key, _ in arguments]), casting)
            result = function(*[value for _, value in arguments])
        return self.given_out(result, out, order, casting)

    def function(self, found, keys, casting="same_kind"):
        """The callable of an Expression for arguments of these keys."""
        function = found.functions.get(keys)
        if function is None:
            if len(found.functions) >= FUNCTIONS:
                found.functions.clear()
            function = found.functions[keys] = self.compiled(found, keys)
        if runtime is not None and type(function) is runtime.Function:
            found.last = function
        return function

    def compiled(self, found, keys):
        """A new callable: of kernels, or NumPy's where they lack a dtype or function."""
        meaning, program = self.meaning, found.program
        try:
            inputs, given = self.operands(found.names, keys)
            node = meaning.result(Nodes, walk(program, meaning, Nodes, given))
            if isinstance(node, Node):
                return make_function(
                    inputs, [node], single=True, downcast=True, positional_only=True,
                    coerce=strict(keys), mode="compiled", check="none", profile=False,
                )  # fmt: skip
        except NotSupported:
            pass
        return lambda *values: self.in_numpy(found, values, keys)

    def in_numpy(self, found, values=(), keys=()):
        """The value of an Expression as a new array, computed by NumPy."""
        of = zip(found.names, keys, values)
        given = {name: self.meaning.operand(key, lambda *_, v=v: v) for name, key, v in of}
        return np.array(
            self.meaning.result(Arrays, walk(found.program, self.meaning, Arrays, given))
        )

    def operands(self, names, keys):
        """(inputs of a function, {name: operand})."""
        inputs = []

        def added(dtype, ndim):
            inputs.append(placeholder(supported(dtype), (None,) * ndim, names[len(inputs)]))
            return inputs[-1]

        given = {n: self.meaning.operand(k, added) for n, k in zip(names, keys)}
        return inputs, given

    def given_out(self, result, out, order, casting):
        """`result` as the caller wants it: written to `out`, or in an order."""
        if out is not None:
            if not isinstance(out, np.ndarray):
                raise UsageError(f"out must be an array of NumPy, not {type(out).__name__}")
            np.copyto(out, result, casting=casting)
            return out
        if a_string(order, "order") != "K":
            result = np.asarray(result, order=order)
        return result[()] if self.meaning.scalars and result.ndim == 0 else result

    def remember(self, found, out=None, order="K", casting="same_kind"):
        """Note what `re_evaluate` of this thread repeats."""
        kept = weakref.ref(out) if isinstance(out, np.ndarray) else None
        self.thread.last = found, kept, order, casting

    def again(self, local_dict, global_dict, depth):
        """`re_evaluate`, called `depth` frames below who has the operands."""
        last = getattr(self.thread, "last", None)
        if last is None:
            raise RuntimeError("re_evaluate repeats an evaluate of this thread; there was none")
        plain = type(last) is Expression  # one that needed no arguments
        found, out, order, casting = (last, None, "K", "same_kind") if plain else last
        values = values_of(found.names, local_dict, global_dict, depth + 1)
        if plain:
            try:
                result = found.last(*values)
                return result[()] if self.meaning.scalars and not result.ndim else result
            except Misfit:
                pass
        return self.run(found, values, out and out(), order, casting)


def strict(keys):
    """What C asks for an argument that does not fit as it is: Misfit where another function is
    meant."""

    def coerce(i, value):
        key = keys[i] if i >= 0 else None
        if type(value) is np.ndarray and (value.dtype, value.ndim) == key:
            return np.array(value)  # not aligned, or strides that are no whole elements
        if type(value) is key:
            return np.asarray(value, WEAK[key])
        raise Misfit

    return coerce


def values_of(names, local_dict, global_dict, depth):
    """The values of names, from the dicts or from the frame `depth` levels up."""
    frame = sys._getframe(depth)
    near = frame.f_locals if local_dict is None else _mapping(local_dict, "local_dict")
    further = frame.f_globals if global_dict is None else _mapping(global_dict, "global_dict")
    values = [near[n] if n in near else found_in(further, n) for n in names]
    if local_dict is None and COPIED and frame.f_code.co_flags & OPTIMIZED:
        near.clear()
    return values


def _mapping(x, what):
    """`x`, where names can be looked up."""
    if not isinstance(x, Mapping):
        raise UsageError(f"{what} must be a dict, not {type(x).__name__}")
    return x


def fetched(found, depth):
    """The operands of an Expression from the variables of the frame `depth` levels up.

    Python makes a copy of a function's variables for us and keeps it until the function returns;
    emptied, it keeps no arrays alive.
    """
    frame = sys._getframe(depth)
    variables = frame.f_locals
    values = found.fetch(variables)
    if COPIED and frame.f_code.co_flags & OPTIMIZED:
        variables.clear()
    return values


def found_in(values, name):
    try:
        return values[name]
    except KeyError:
        raise KeyError(f"the expression needs {name!r}, which is no variable here") from None


AS_IT_LIES = "K"  # the same object as the literal of a program
_numpy = Evaluator(NUMPY_MEANING)
_known, _thread = _numpy.known, _numpy.thread  # looked up here by each call


def evaluate(
    ex,
    local_dict=None,
    global_dict=None,
    out=None,
    order="K",
    casting="same_kind",
    sanitize=None,
    _frame_depth=1,
    disable_cache=False,
    truediv="auto",
    optimization="aggressive",
):
    """The value of an expression in text, compiled: one pass over the arrays, on all threads.

    ex: operators of Python on arrays, with `&`, `|`, `~` for and, or, not; the functions of numexpr
    (sin, where, arctan2, contains, ...), exp2, square, cbrt, logaddexp, clip; reductions sum, prod,
    min, max, mean, any, all with axis=, anywhere in the expression; `.real` and `.imag`.
    local_dict, global_dict: where names are looked up; the caller's variables without them. out: an
    array for the result, cast by the rule `casting`; order: "K", "C", "F" or "A", of a new one.
    sanitize, truediv, optimization: taken for numexpr's sake; text is never Python code, and `/`
    is true division. Compiled functions are kept for each text, and for dtypes and ranks of the
    operands; disable_cache forgets this one.

    dtypes follow NumPy 2: Python's numbers are weak, so float32 stays float32 (in
    `ckernels.compat.numexpr` they follow numexpr). Results of no dimensions are NumPy scalars.
    Raises SyntaxError, ArgumentError for what no expression may have (indices, attributes, more
    than 20,000 operations, integers beyond 64 bits), KeyError for a missing operand, and what NumPy
    raises for shapes and dtypes.

    >>> import numpy as np
    >>> import ckernels as ck
    >>> a, b = np.arange(3.0), np.ones(3, "float32")
    >>> ck.evaluate("2 * a + where(a > 1, b, -b)")
    array([-1.,  1.,  5.])
    >>> ck.evaluate("b / 3").dtype, ck.evaluate("sum(a ** 2) / 2")
    (dtype('float32'), np.float64(2.5))
    """
    try:
        found = _known.get(ex)
    except TypeError:
        found = None
    if found is not None and out is None and order is AS_IT_LIES and found.last is not None:
        try:
            if local_dict is None:
                values = fetched(found, _frame_depth + 1)
            else:
                values = found.fetch(local_dict)
            result = found.last(values) if found.one else found.last(*values)
            _thread.last = found
            return result if result.ndim else result[()]
        except (KeyError, Misfit, TypeError, IndexError):
            pass
    found = _numpy.expression(ex)
    values = values_of(found.names, local_dict, global_dict, _frame_depth + 1)
    _numpy.remember(found, out, order, casting)
    if flag(disable_cache, "disable_cache"):
        _known.pop(ex, None)
    return _numpy.run(found, values, out, order, casting)


def re_evaluate(local_dict=None, global_dict=None, _frame_depth=1):
    """The expression that this thread evaluated last, with the present values of its operands.

    Arguments as those of `evaluate`, whose `out`, order and casting are used again (an `out` that
    is gone is not). RuntimeError where nothing was evaluated yet.

    >>> import numpy as np
    >>> import ckernels as ck
    >>> a = np.arange(3)
    >>> first = ck.evaluate("a * a")
    >>> a = a + 1
    >>> ck.re_evaluate()
    array([1, 4, 9])
    """
    return _numpy.again(local_dict, global_dict, _frame_depth + 1)


def evaluate_grad(ex, wrt, local_dict=None, global_dict=None, value=False, _frame_depth=1):
    """The gradient of the sum of an expression's elements with respect to operands.

    wrt: a name, for an array, or a list of names, for a list of arrays; each in the shape and dtype
    of the operand, which holds floats. An elementwise expression gives its derivative for each
    element that way. value: return (value of the expression, gradients). The rest is as in
    `evaluate`. Raises NotSupported for what only NumPy computes, UsageError for operands that hold
    no floats or do not occur.

    >>> import numpy as np
    >>> import ckernels as ck
    >>> x, w = np.array([1.0, 2.0]), 0.5
    >>> ck.evaluate_grad("sum((w * x - 1) ** 2)", "x")
    array([-0.5,  0. ])
    >>> ck.evaluate_grad("x ** 3", ["x"], value=True)
    (array([1., 8.]), [array([ 3., 12.])])
    """
    found = _numpy.expression(ex)
    value = flag(value, "value")
    names = [a_string(n, "a name in wrt") for n in sequence(wrt, "wrt")]
    names = [wrt] if isinstance(wrt, str) else names
    values = values_of(found.names, local_dict, global_dict, _frame_depth + 1)
    arguments = [_numpy.meaning.argument(v) for v in values]
    keys = tuple([key for key, _ in arguments])
    function = found.functions.get((keys, *names))
    if function is None:
        function = found.functions[(keys, *names)] = _derivative(found, keys, names)
    result, *slopes = function(*[v for _, v in arguments])
    slopes = slopes[0] if isinstance(wrt, str) else slopes
    return (result[()] if result.ndim == 0 else result, slopes) if value else slopes


def _derivative(found, keys, names):
    """A callable that returns the value and the gradients with respect to `names`."""
    inputs, given = _numpy.operands(found.names, keys)
    place = dict(zip(found.names, inputs))
    for name in names:
        if name not in place:
            raise UsageError(f"the expression has no operand {name!r}")
        if not place[name].dtype.startswith("float"):
            raise UsageError(f"{name!r} holds {place[name].dtype}; a gradient needs floats")
    node = walk(found.program, NUMPY_MEANING, Nodes, given)
    if not isinstance(node, Node) or not node.dtype.startswith("float"):
        raise UsageError("a gradient needs an expression of floats")
    slopes = reverse.grad(total(node), [place[n] for n in names], disconnected="zero")
    return make_function(inputs, [node, *slopes], downcast=True, positional_only=True)


def validate(ex, local_dict=None, global_dict=None, _frame_depth=1, **options):
    """What `evaluate` would raise for the expression and the dtypes of its operands; None where it
    computes. `re_evaluate` can follow.

    >>> import ckernels as ck
    >>> from ckernels.jit.expression.run import validate
    >>> type(validate("2 +"))
    <class 'SyntaxError'>
    """
    return validated(_numpy, ex, local_dict, global_dict, _frame_depth + 1, **options)


def validated(evaluator, ex, local_dict, global_dict, depth, out=None, order="K", casting="safe",
              **options):  # fmt: skip
    """`validate` of an Evaluator."""
    try:
        found = evaluator.expression(ex)
        values = values_of(found.names, local_dict, global_dict, depth + 1)
        if found.names:
            evaluator.function(found, tuple([evaluator.meaning.argument(v)[0] for v in values]))
        else:
            evaluator.in_numpy(found)
        evaluator.remember(found, out, order, casting)
    except Exception as problem:
        return problem
    return None
