"""Types for annotations: `from ckernels.typing import Function, Shape, TensorLike`.

Nothing else of ckernels needs this file; type checkers read it with the stubs of the public names.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, overload

from numpy.typing import ArrayLike, DTypeLike

from .api.sparsetensor import SparseTensor
from .api.tensor import Tensor, Variable

__all__ = ["DType", "Function", "JitFunction", "Shape", "TensorLike", "Updates"]

TensorLike: TypeAlias = Tensor | SparseTensor | ArrayLike | Sequence[Tensor]
DType: TypeAlias = DTypeLike
Shape: TypeAlias = int | Tensor | Sequence[int | Tensor | None]
Updates: TypeAlias = (
    Mapping[Variable, Any] | Iterable[tuple[Variable, Any] | list[Any] | None] | None
)


class Function(Protocol):
    """What `K.function` gives: call it with arrays, with one list, or with keywords named as the
    inputs. It returns a list where the outputs were a list, one array where they were one tensor.

    >>> from ckernels.typing import Function
    >>> x = K.placeholder((None,), name="x")
    >>> double: Function = K.function([x], 2 * x)
    >>> double(np.array([1.0, 2.0]))
    array([2., 4.], dtype=float32)
    """

    name: str | None
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    updates: Sequence[Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def address(self, signature: str, *arrays: Any, bound: Mapping[Any, Any] | None = None) -> Any:
        """A C function of this function, for other compiled code."""

    def assumptions(self) -> list[str]:
        """What the plan of the last call assumes of the sizes of the inputs."""

    def copy(
        self, swap: Any = None, delete_updates: bool = False, name: str | None = None
    ) -> "Function":
        """A function of the same graph on other variables, or without updates."""

    def explain(self, rewrites: bool = False) -> str:
        """What each instruction computes, and why it does not do more."""

    @property
    def optimised(self) -> list[Any]:
        """Outputs and new values as rewritten for the last shapes."""

    def timeline(self) -> Any:
        """Which thread did what when in the last call, where it was made with profile=True."""

    def over(self, rows: Iterable[Sequence[Any]], last: bool = False) -> Any:
        """The results of f(*row) for each row, or the last one alone; a loop in C."""

    def profile_table(self) -> Any:
        """What each instruction took, for functions made with `profile=True`."""

    def source(self) -> str:
        """The C of all kernels, after the first call."""

    def stats(self) -> dict[str, Any]:
        """What was built so far: nodes, instructions, kernels, bytes."""

    def steps(self) -> list[str]:
        """One line per instruction of the last plan, in order."""


Arguments = ParamSpec("Arguments")
Rest = ParamSpec("Rest")
Result = TypeVar("Result", covariant=True)
Self = TypeVar("Self")


class JitFunction(Protocol[Arguments, Result]):
    """What `ck.jit` gives: call it as the function that it is of.

    >>> from ckernels.jit import jit
    >>> from ckernels.typing import JitFunction
    >>> def half(x: float) -> float:
    ...     return x / 2
    >>> fast: JitFunction[[float], float] = jit(half)
    >>> fast(3.0)
    1.5
    """

    __name__: str

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result: ...

    @overload
    def __get__(
        self, instance: None, owner: type | None = None
    ) -> "JitFunction[Arguments, Result]": ...

    @overload
    def __get__(
        self: "JitFunction[Concatenate[Self, Rest], Result]",
        instance: Self,
        owner: type | None = None,
    ) -> Callable[Rest, Result]: ...

    def address(self, signature: str, *args: Any, **kwargs: Any) -> Any:
        """A C function pointer of this function for the shapes of an example."""

    def explain(self, rewrites: bool = False) -> str:
        """What each instruction of its traces computes, and why it does not do more."""

    def report(self) -> dict[str, Any]:
        """What has been traced and what runs in NumPy, and why."""

    def source(self, kind: str = "python") -> str:
        """The Python that was traced."""

    def wait(self) -> None:
        """Wait for traces that are made in threads, with `background=True`."""
