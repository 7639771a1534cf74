"""Types of jit and its transforms. Written by `python -m build_tools.stubs`."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from ..typing import Arguments, JitFunction, Result

@overload
def jit(
    f: Callable[Arguments, Result],
    *,
    static: str | int | Sequence[str | int] = (),
    background: bool = False,
    strict: bool = False,
    check: Literal["nan"] | None = None,
) -> JitFunction[Arguments, Result]:
    """`f`, a function of plain NumPy code, compiled for what it is called with."""
@overload
def jit(
    f: None = None,
    *,
    static: str | int | Sequence[str | int] = (),
    background: bool = False,
    strict: bool = False,
    check: Literal["nan"] | None = None,
) -> Callable[[Callable[Arguments, Result]], JitFunction[Arguments, Result]]:
    """`f`, a function of plain NumPy code, compiled for what it is called with."""
def grad(function: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of `function`, which returns a float scalar."""
def value_and_grad(function: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns (value, gradient) of `function`, which returns a float scalar."""
def jacobian(function: Callable, argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that returns d function / d argument, of shape result.shape + argument.shape."""
def hessian(function: Callable, argnums: int = 0) -> Callable[..., Any]:
    """A function that returns the second derivatives of a scalar `function` by one argument."""
def jvp(function: Callable, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of a function and its derivative along a direction."""
def vjp(function: Callable, *primals: Any) -> tuple[Any, Callable[[Any], tuple]]:
    """The value of a function, and products with its derivatives."""
def vmap(function: Callable, in_axes: int | None | tuple[int | None, ...] = 0, out_axes: int = 0) -> Callable[..., Any]:
    """`function` for each element along an axis of its arguments, as one computation."""
def stop_gradient(x: Any) -> Any:
    """`x`, which a gradient takes for a constant; outside of a transform nothing but `x`."""
