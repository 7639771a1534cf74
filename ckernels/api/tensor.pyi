"""Types of tensors and variables. Written by `python -m build_tools.stubs`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ..typing import DType, TensorLike

class Tensor:
    """A symbolic tensor."""

    name: str | None
    line: tuple[str, int, str] | None
    def __init__(self, node: Any, name: str | None = None) -> None: ...
    def __add__(self, other: TensorLike) -> Tensor: ...
    def __radd__(self, other: TensorLike) -> Tensor: ...
    def __sub__(self, other: TensorLike) -> Tensor: ...
    def __rsub__(self, other: TensorLike) -> Tensor: ...
    def __mul__(self, other: TensorLike) -> Tensor: ...
    def __rmul__(self, other: TensorLike) -> Tensor: ...
    def __truediv__(self, other: TensorLike) -> Tensor: ...
    def __rtruediv__(self, other: TensorLike) -> Tensor: ...
    def __floordiv__(self, other: TensorLike) -> Tensor: ...
    def __rfloordiv__(self, other: TensorLike) -> Tensor: ...
    def __mod__(self, other: TensorLike) -> Tensor: ...
    def __rmod__(self, other: TensorLike) -> Tensor: ...
    def __pow__(self, other: TensorLike) -> Tensor: ...
    def __rpow__(self, other: TensorLike) -> Tensor: ...
    def __matmul__(self, other: TensorLike) -> Tensor: ...
    def __rmatmul__(self, other: TensorLike) -> Tensor: ...
    def __and__(self, other: TensorLike) -> Tensor: ...
    def __rand__(self, other: TensorLike) -> Tensor: ...
    def __or__(self, other: TensorLike) -> Tensor: ...
    def __ror__(self, other: TensorLike) -> Tensor: ...
    def __xor__(self, other: TensorLike) -> Tensor: ...
    def __rxor__(self, other: TensorLike) -> Tensor: ...
    def __lt__(self, other: TensorLike) -> Tensor: ...
    def __le__(self, other: TensorLike) -> Tensor: ...
    def __gt__(self, other: TensorLike) -> Tensor: ...
    def __ge__(self, other: TensorLike) -> Tensor: ...
    def __eq__(self, other: object) -> Any: ...
    def __ne__(self, other: object) -> Any: ...
    def __hash__(self) -> int: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __getitem__(self, key: Any) -> Tensor: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    @property
    def T(self) -> Tensor: ...

    def all(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Whether all elements are non-zero."""

    def any(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Whether one element is non-zero."""

    def argmax(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Index of the first largest element."""

    def argmin(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Index of the first smallest element."""

    def argsort(self, axis: int | Sequence[int] = -1) -> Tensor:
        """The indices that sort; equal elements keep their order."""

    def astype(self, dtype: DType) -> Tensor:
        """The tensor in another dtype."""

    def clip(self, a_min: TensorLike, a_max: TensorLike) -> Tensor:
        """The tensor limited to [a_min, a_max]."""

    def conj(self) -> Tensor:
        """The complex conjugate; of real numbers themselves."""

    def copy(self) -> Tensor:
        """A new handle on the same expression."""

    def cumprod(self, axis: int | Sequence[int] | None = None) -> Tensor:
        """Running product along an axis."""

    def cumsum(self, axis: int | Sequence[int] | None = None) -> Tensor:
        """Running sum along an axis."""

    def diagonal(self) -> Tensor:
        """The diagonal of a matrix."""

    def dimshuffle(self, *pattern: int | Literal["x"] | Sequence[Any]) -> Tensor:
        """Axes in another order, with new ones: Theano's dimshuffle."""

    def dot(self, other: TensorLike) -> Tensor:
        """NumPy's dot: over the last axis, and the last but one of `other`."""

    @property
    def dtype(self) -> str: ...

    def eval(self, inputs: Mapping[Tensor, Any] | None = None, session: Any = None) -> Any:
        """The value."""

    def fill(self, value: Any) -> Tensor:
        """A tensor of this shape and dtype filled with a value."""

    def flatten(self, ndim: int = 1) -> Tensor:
        """The tensor with its trailing axes joined."""

    def get_shape(self) -> tuple[int | Any, ...]:
        """The static shape, as programs for TensorFlow ask for it."""

    @property
    def imag(self) -> Tensor: ...

    def max(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Largest element over axes; NaN where one is among them."""

    def mean(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Mean over axes; of integers a float."""

    def min(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Smallest element over axes; NaN where one is among them."""

    @property
    def ndim(self) -> int: ...

    def nonzero(self) -> tuple[Tensor, ...]:
        """Where the elements are not zero."""

    def norm(
        self,
        L: float,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
    ) -> Tensor:
        """The L-norm over axes: sum(|x| ** L) ** (1 / L)."""

    def ones_like(self) -> Tensor:
        """Ones with this shape and dtype."""

    def prod(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Product over axes; small integers and bools are multiplied in 64 bits."""

    def ptp(self, axis: int | Sequence[int] | None = None) -> Tensor:
        """Largest less smallest element over axes."""

    def ravel(self) -> Tensor:
        """The tensor as a vector."""

    @property
    def real(self) -> Tensor: ...

    def repeat(self, repeats: TensorLike, axis: int | Sequence[int] | None = None) -> Tensor:
        """Each element several times along an axis."""

    def reshape(self, *shape: Any) -> Tensor:
        """The elements in another shape."""

    def round(self) -> Tensor:
        """The nearest integers; halves go to the even one."""

    @property
    def shape(self) -> Tensor: ...

    @property
    def size(self) -> Tensor: ...

    def sort(self, axis: int | Sequence[int] = -1) -> Tensor:
        """A sorted copy; NaN come last."""

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Tensor:
        """The tensor without axes of size 1."""

    def std(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Standard deviation over axes: the square root of `var`."""

    def sum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Sum over axes; small integers and bools are summed in 64 bits."""

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """The tensor with two axes exchanged."""

    def take(self, indices: TensorLike, axis: int | Sequence[int] | None = None) -> Tensor:
        """The entries at indices along an axis."""

    def trace(self) -> Tensor:
        """The sum of the diagonal of a matrix."""

    def transpose(self, *axes: Any) -> Tensor:
        """The tensor with its axes in another order."""

    def var(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Variance over axes, divided by the number of elements."""

    def zeros_like(self) -> Tensor:
        """Zeros with this shape and dtype."""

class Variable(Tensor):
    """A tensor with a value that functions read and update."""

    def __init__(
        self, value: Any, name: str | None = None, shape: Any = None, store: Any = None
    ) -> None: ...
    @property
    def default_update(self) -> Any: ...

    @default_update.setter
    def default_update(self, value: Any) -> None: ...

    def fitting(self, value: Any) -> np.ndarray:
        """`value` as an array that `set_value` takes, or the error it would raise."""

    def get_value(self, borrow: bool = False) -> np.ndarray:
        """The current value."""

    def set_value(self, value: Any, borrow: bool = False) -> None:
        """Replace the value by a copy of another."""

def __getattr__(name: str) -> Any: ...  # what other files of ckernels need
