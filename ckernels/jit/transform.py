"""Transforms of functions: gradients, Jacobians, directional derivatives, batches; composable.

A transform runs the function inside of the trace, over fresh placeholders, differentiates what
came out by `autodiff` and puts the arguments in their places. There is no NumPy to fall back to
for a derivative, so what cannot be traced is an error that names the line; rows of a batch are
calls of the function then.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..base import given
from ..base.errors import ArgumentError, CKernelsError, NotSupported, ShapeError
from ..numpy.value import ArrayValue
from ..ops.reduce import ties_share
from .function import Jitted
from .number import PythonNumber, is_any, known
from .program import Reads
from .rerun import Rerun, node_of, of_rows, shape_of
from .trace import Asked
from .trees import LEAF, flatten, put_together


class Transformed(Jitted):
    """A transform of a function. apply(build, function over traced names, args, kwargs) -> what it
    returns, traced."""

    def __init__(self, inner, apply, name):
        inner = inner if isinstance(inner, Jitted) else Jitted(inner)
        super().__init__(inner.function, check=inner.check)
        self.inner, self.apply, self.transform = inner, apply, name
        self.background = False  # there is nothing that could answer meanwhile
        self.static, self.__name__ = inner.static, f"{name} of {inner.__name__}"
        self.__qualname__ = self.__name__

    def with_options(self, **options):
        """The same transform, as jit makes it with these options; nothing could answer while it is
        traced in the background."""
        plain = Jitted(self.function, **options)
        made = self.again()
        made.check, made.strict = plain.check or self.check, plain.strict
        made.static = plain.static or self.static
        return made

    def again(self):
        """The same transform of the same function, as another object."""
        return Transformed(self.inner, self.apply, self.transform)

    def __reduce__(self):
        raise TypeError(f"{self.__name__} has no name to be pickled by: make it where it is used")

    def looked(self):
        functions = self.traced_function()
        program = Reads(functions[0])
        for each in functions[1:]:
            program.look(each)
        return program

    def traced_function(self):
        return self.inner.traced_function()

    def body(self, build):
        function = self.inner.body(build)

        def transformed(*args, **kwargs):
            with ties_share():
                return self.apply(build.trace, function, args, kwargs)

        return transformed

    def traced(self, build):
        return self.body(build)

    def original(self, args, kwargs, problem):
        """There is no derivative but the trace's: an error says why it is not to be had."""
        if problem is None:
            raise ZeroDivisionError(f"{self.__name__}: a Python number is divided by 0, or is "
                                    "outside of what a function of math takes, or a loop takes "
                                    "no turn where what it leaves is needed")  # fmt: skip
        cause = getattr(problem, "cause", problem)
        if not isinstance(problem, Asked) and (
            cause is not problem or isinstance(cause, CKernelsError)
        ):
            if isinstance(cause, TypeError) and PythonNumber.__name__ in str(cause):
                raise NotSupported(
                    f"{self.__name__}: a list of Python numbers is used as an array, which has no "
                    "derivative; give an array"
                ) from cause
            raise cause
        line = getattr(problem, "line", None)
        where = f" ({line[0]}:{line[1]})" if line else ""
        raise NotSupported(f"{self.__name__}: the function asks for {problem}{where}, which has "
                           "no derivative; choose with np.where, or pass it in")  # fmt: skip


def numbered(argnums, count, name):
    """Positions of arguments as a tuple."""
    places = argnums if np.iterable(argnums) else (argnums,)
    places = [given.integer(p, f"a position in argnums of {name}") for p in places]
    if any(not -count <= p < count for p in places):
        raise ArgumentError(f"{name}: argnums is {argnums}, but the call has {count} arguments")
    return tuple(p % count for p in places)


def value_and_grad(
    function: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns (value, gradient) of `function`, which returns a float scalar.

    Parameters
    ----------
    function : function
        Of plain NumPy code, or what `jit` or a transform made of one.
    argnums : int or sequence of int
        The argument, or several, to differentiate by. They may be nested tuples, lists and dicts
        of arrays and floats; gradients have their nesting and dtypes.
    has_aux : bool
        Whether the function returns (value, more); the result is then ((value, more), gradient).

    Returns
    -------
    function
        Takes what `function` takes.

    Raises
    ------
    NotSupported
        By a call, with the line, where the function cannot be traced.
    ShapeError
        By a call, where the function returns no scalar.
    DTypeError
        By a call, for arguments of integers.

    Examples
    --------
    >>> from ckernels.jit import value_and_grad
    >>> def energy(x):
    ...     return np.sum(x**2) / 2
    >>> value_and_grad(energy)(np.array([1.0, 2.0]))
    (np.float64(2.5), array([1., 2.]))
    """

    def apply(trace, f, args, kwargs):
        inside = Rerun(trace, f, args, kwargs, numbered(argnums, len(args), "value_and_grad"),
                       slopes="grad")  # fmt: skip
        return inside.results(inside.found), inside.slopes(argnums, has_aux)

    return Transformed(function, apply, "value_and_grad")


def grad(
    function: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns the gradient of `function`, which returns a float scalar.

    Parameters
    ----------
    function : function
        Of plain NumPy code, or what `jit` or a transform made of one.
    argnums : int or sequence of int
        The argument, or several, to differentiate by: see `value_and_grad`.
    has_aux : bool
        Whether the function returns (value, more); the result is then (gradient, more).

    Returns
    -------
    function
        Takes what `function` takes.

    Raises
    ------
    CKernelsError
        By a call, as `value_and_grad` does.

    Examples
    --------
    >>> from ckernels.jit import grad
    >>> grad(grad(lambda x: x**3))(2.0)
    np.float64(12.0)
    """

    has_aux = given.flag(has_aux, "has_aux")

    def apply(trace, f, args, kwargs):
        inside = Rerun(trace, f, args, kwargs, numbered(argnums, len(args), "grad"),
                       slopes="grad")  # fmt: skip
        slopes = inside.slopes(argnums, has_aux)
        return (slopes, inside.results(inside.found[1])) if has_aux else slopes

    return Transformed(function, apply, "grad")


def jacobian(function: Callable, argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that returns d function / d argument, of shape result.shape + argument.shape.

    Parameters
    ----------
    function : function
        Of plain NumPy code, or what `jit` or a transform made of one.
    argnums : int or sequence of int
        The argument, or several, to differentiate by.

    Returns
    -------
    function
        Takes what `function` takes.

    Raises
    ------
    CKernelsError
        By a call, where the function cannot be traced, or for arguments of integers.

    Examples
    --------
    >>> from ckernels.jit import jacobian
    >>> jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """

    def apply(trace, f, args, kwargs):
        from ..autodiff import reverse  # start-up
        from ..autodiff.scan_even import even  # start-up

        inside = Rerun(trace, f, args, kwargs, numbered(argnums, len(args), "jacobian"),
                       slopes="jacobian")  # fmt: skip

        def rows(x):
            return inside.tree(
                reverse.jacobian(even([node_of(trace, x)])[0], inside.new, disconnected="zero"),
                argnums,
            )

        leaves = []
        described = flatten(inside.found, is_any, leaves)
        return put_together(described, iter([rows(x) for x in leaves]))

    return Transformed(function, apply, "jacobian")


def hessian(function: Callable, argnums: int = 0) -> Callable[..., Any]:
    """A function that returns the second derivatives of a scalar `function` by one argument.

    Parameters
    ----------
    function : function
        Of plain NumPy code, which returns a float scalar.
    argnums : int
        The argument to differentiate by.

    Returns
    -------
    function
        Takes what `function` takes; its result has the argument's shape twice.

    Raises
    ------
    CKernelsError
        By a call, as `value_and_grad` does.

    Examples
    --------
    >>> from ckernels.jit import hessian
    >>> hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return jacobian(grad(function, argnums), argnums)


def jvp(function: Callable, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of a function and its derivative along a direction.

    Parameters
    ----------
    function : function
        Of plain NumPy code, or what `jit` or a transform made of one.
    primals : sequence of arrays or floats
        Its arguments.
    tangents : sequence of arrays or floats
        The direction: for each argument one of its shape.

    Returns
    -------
    tuple
        (function(*primals), its derivative along `tangents`).

    Raises
    ------
    CKernelsError
        Where the function cannot be traced, or for arguments of integers.

    Examples
    --------
    >>> from ckernels.jit import jvp
    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (np.float64(9.0), np.float64(6.0))
    """
    primals, tangents = (given.sequence(*x) for x in ((primals, "primals"), (tangents, "tangents")))
    return _pushed(function)(tuple(primals), tuple(tangents))


def _pushed(function):
    def apply(trace, f, args, kwargs):
        from ..autodiff import reverse  # start-up
        from ..autodiff.scan_even import even  # start-up

        primals, tangents = args
        inside = Rerun(trace, f, primals, {}, tuple(range(len(primals))), slopes="jvp")
        given = []
        flatten(tangents, is_any, given)
        along = [node_of(trace, x) for x in given]
        if len(along) != len(inside.new):
            raise ArgumentError(f"jvp: {len(along)} tangents for {len(inside.new)} primals")
        for i, (n, to) in enumerate(zip(inside.new, along)):
            if n.ndim != to.ndim or any(
                None not in pair and pair[0] != pair[1] for pair in zip(n.shape, to.shape)
            ):
                raise ShapeError(f"jvp: tangent {i} has shape {to.shape}, its primal {n.shape}")
        leaves = []
        described = flatten(inside.found, is_any, leaves)
        nodes = even([node_of(trace, x) for x in leaves])
        slopes = reverse.Rop(nodes, inside.new, along)
        return (inside.results(inside.found),
                put_together(described, iter(inside.actualise(slopes))))  # fmt: skip

    return Transformed(function, apply, "jvp")


def vjp(function: Callable, *primals: Any) -> tuple[Any, Callable[[Any], tuple]]:
    """The value of a function, and products with its derivatives.

    Parameters
    ----------
    function : function
        Of plain NumPy code, or what `jit` or a transform made of one.
    *primals : arrays or floats
        Its arguments.

    Returns
    -------
    tuple
        (function(*primals), pull): pull(cotangent) is a tuple of products of the cotangent, which
        has the shape of the result, with the derivative by each argument.

    Raises
    ------
    CKernelsError
        By pull, where the function cannot be traced, or for arguments of integers.

    Examples
    --------
    >>> from ckernels.jit import vjp
    >>> value, pull = vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> pull(np.array([1.0, 10.0]))
    (array([ 2., 40.]),)
    """

    def apply(trace, f, args, kwargs):
        from ..autodiff import reverse  # start-up
        from ..autodiff.scan_even import even  # start-up

        *points, cotangent = args
        inside = Rerun(trace, f, points, {}, tuple(range(len(points))), slopes="vjp")
        leaves, given = [], []
        flatten(inside.found, is_any, leaves)
        flatten(cotangent, is_any, given)
        nodes = even([node_of(trace, x) for x in leaves])
        along = [node_of(trace, x) for x in given]
        slopes = reverse.Lop(nodes, inside.new, along, disconnected="zero")
        return put_together(inside.described, iter(inside.actualise(slopes)))

    back = Transformed(function, apply, "vjp")
    inner = function if isinstance(function, Jitted) else Jitted(function)
    return inner(*primals), lambda cotangent: back(*primals, cotangent)


def stop_gradient(x: Any) -> Any:
    """`x`, which a gradient takes for a constant; outside of a transform nothing but `x`.

    Parameters
    ----------
    x : object
        An array, a number, or lists, tuples and dicts of them.

    Returns
    -------
    object
        What `x` is.

    Examples
    --------
    >>> from ckernels.jit import grad, stop_gradient
    >>> grad(lambda x: np.sum(x * stop_gradient(x)))(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    leaves = []
    described = flatten(x, is_any, leaves)
    return put_together(described, iter([_constant_of(leaf) for leaf in leaves]))


def _constant_of(x):
    if isinstance(x, PythonNumber) and x.symbolic:
        return known(x.owner, ops.stop_gradient(x.node), x.kind, x.bounds)
    if not isinstance(x, ArrayValue):
        return x
    return ArrayValue(x.owner, ops.stop_gradient(x.read()), x.scalar, True)


def vmap(
    function: Callable, in_axes: int | None | tuple[int | None, ...] = 0, out_axes: int = 0
) -> Callable[..., Any]:
    """`function` for each element along an axis of its arguments, as one computation.

    Each element has its own sides of an `if` and turns of a loop. Where that cannot be traced the
    function is called for one after the other, and a note says why.

    Parameters
    ----------
    function : function
        Of plain NumPy code, or what `jit` or a transform made of one.
    in_axes : int or None or tuple
        The axis of each argument, one for all or a tuple; None for an argument that is the same
        for all.
    out_axes : int
        Where the new axis is in results.

    Returns
    -------
    function
        Takes arrays with one axis more than those of `function`.

    Raises
    ------
    ArgumentError
        By a call, where `in_axes` does not fit its arguments.
    ShapeError
        By a call, where arguments have different numbers of elements along their axes.

    Examples
    --------
    >>> from ckernels.jit import vmap
    >>> vmap(np.dot, (0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """

    return Mapped(function, in_axes, given.integer(out_axes, "out_axes of vmap"))


class Mapped(Transformed):
    """A function for each row of a batch. Rows that no trace serves are calls of the function."""

    def __init__(self, function, in_axes, out_axes):
        super().__init__(function, self.batched, "vmap")
        self.in_axes, self.out_axes, self.strict = in_axes, out_axes, self.inner.strict

    def again(self):
        return Mapped(self.inner, self.in_axes, self.out_axes)

    def axes(self, args):
        """{position: axis} of the arguments that have one."""
        axes = self.in_axes
        axes = axes if isinstance(axes, (tuple, list)) else (axes,) * len(args)
        axes = [a if a is None else given.integer(a, "an axis in in_axes of vmap") for a in axes]
        if len(axes) != len(args) or all(a is None for a in axes):
            raise ArgumentError(f"vmap: in_axes {self.in_axes} for {len(args)} arguments")
        return {p: a for p, a in enumerate(axes) if a is not None}

    def batch_first(self, args, array):
        """The arguments with the batch as their first axis, where they have it. array: what makes
        an array of a leaf."""
        moved, sizes = list(args), {}
        for p, axis in self.axes(args).items():
            leaves = []
            described = flatten(args[p], is_any, leaves)
            if not any(map(np.ndim, leaves)):  # a list of numbers is an array
                described, leaves = LEAF, [args[p]]
            leaves = [array(x) for x in leaves]
            for x in leaves:
                if np.dtype(x.dtype).kind not in "biufc":
                    raise ArgumentError(f"vmap: argument {p} is of {x.dtype}, not of numbers")
                if not -x.ndim <= axis < x.ndim:
                    raise ArgumentError(
                        f"vmap: in_axes is {axis} for argument {p}, of shape {x.shape}"
                    )
            leaves = [np.moveaxis(x, axis, 0) for x in leaves]
            sizes.update({shape_of(x)[0]: f"{p} has {shape_of(x)[0]} rows" for x in leaves})
            moved[p] = put_together(described, iter(leaves))
        if len(sizes) > 1 and sum(n is not None for n in sizes) > 1:
            several = [text for n, text in sizes.items() if n is not None]
            raise ShapeError(f"vmap: argument {several[0]}, argument {several[1]}")
        return moved, next(iter(sizes), None)

    def batched(self, trace, f, args, kwargs):
        moved, _ = self.batch_first(args, trace.array)
        found = of_rows(trace, f, moved, kwargs, tuple(self.axes(args)))
        if not self.out_axes:
            return found
        leaves = []
        described = flatten(found, is_any, leaves)
        values = [np.moveaxis(v, 0, self.out_axes) for v in leaves]
        return put_together(described, iter(values))

    def original(self, args, kwargs, problem):
        """The rows one by one."""
        moved, count = self.batch_first(args, np.asarray)
        if not count:  # what it returns no row can say
            return super().original(args, kwargs, problem)
        wide, found = {p: [] for p in self.axes(args)}, []
        described = {p: flatten(moved[p], is_any, leaves) for p, leaves in wide.items()}
        for i in range(count):
            row = list(moved)
            for p, leaves in wide.items():
                row[p] = put_together(described[p], iter([x[i] for x in leaves]))
            leaves = []
            result = flatten(self.inner(*row, **kwargs), is_any, leaves)
            found.append(leaves)
        rows = [np.stack(same, self.out_axes) for same in zip(*found)]
        return put_together(result, iter(rows))
