"""Types of the public names. Written by `python -m build_tools.stubs`."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from types import ModuleType
from typing import Any, Literal, TextIO, overload

import numpy as np

from . import errors as errors
from . import typing as typing
from .api.sparsetensor import SparseTensor
from .api.tensor import Tensor as Tensor
from .api.tensor import Variable as Variable
from .jit.expression.run import evaluate as evaluate
from .jit.expression.run import evaluate_grad as evaluate_grad
from .jit.expression.run import re_evaluate as re_evaluate
from .api.function import In as In
from .api.function import Out as Out
from .api.randomstreams import RandomStreams as RandomStreams
from .api.split import Split as Split
from .api.scan_step import until as until

from .typing import Arguments, DType, Function, JitFunction, Result, Shape, TensorLike, Updates

__version__: str
config: Any
compat: ModuleType
numpy: ModuleType
sparse: ModuleType
jit: _Jit

class _Jit:
    """The module `ckernels.jit`, which can be called."""

    @overload
    def __call__(
        self, f: Callable[Arguments, Result],
        *,
        static: str | int | Sequence[str | int] = (),
        background: bool = False,
        strict: bool = False,
        check: Literal["nan"] | None = None,
    ) -> JitFunction[Arguments, Result]:
        """`f`, a function of plain NumPy code, compiled for what it is called with."""
    @overload
    def __call__(
        self, f: None = None,
        *,
        static: str | int | Sequence[str | int] = (),
        background: bool = False,
        strict: bool = False,
        check: Literal["nan"] | None = None,
    ) -> Callable[[Callable[Arguments, Result]], JitFunction[Arguments, Result]]:
        """`f`, a function of plain NumPy code, compiled for what it is called with."""
    @staticmethod
    def grad(function: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
        """A function that returns the gradient of `function`, which returns a float scalar."""
    @staticmethod
    def value_and_grad(function: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
        """A function that returns (value, gradient) of `function`, which returns a float scalar."""
    @staticmethod
    def jacobian(function: Callable, argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
        """A function that returns d function / d argument, of shape result.shape + argument.shape."""
    @staticmethod
    def hessian(function: Callable, argnums: int = 0) -> Callable[..., Any]:
        """A function that returns the second derivatives of a scalar `function` by one argument."""
    @staticmethod
    def jvp(function: Callable, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """The value of a function and its derivative along a direction."""
    @staticmethod
    def vjp(function: Callable, *primals: Any) -> tuple[Any, Callable[[Any], tuple]]:
        """The value of a function, and products with its derivatives."""
    @staticmethod
    def vmap(function: Callable, in_axes: int | None | tuple[int | None, ...] = 0, out_axes: int = 0) -> Callable[..., Any]:
        """`function` for each element along an axis of its arguments, as one computation."""
    @staticmethod
    def stop_gradient(x: Any) -> Any:
        """`x`, which a gradient takes for a constant; outside of a transform nothing but `x`."""

def Lop(f: Any, wrt: Any, eval_points: Any) -> Any:
    """`eval_points` times the Jacobian of `f`, which is not built."""

def Rop(f: Any, wrt: Any, eval_points: Any) -> Any:
    """The Jacobian of `f`, which is not built, times `eval_points`."""

def abs(x: TensorLike) -> Tensor:
    """Absolute value."""

def all(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Whether all elements are non-zero: 0 or 1, uint8."""

def allclose(x: TensorLike, y: TensorLike, rtol: float = 1e-05, atol: float = 1e-08) -> Tensor:
    """Whether all elements satisfy |x - y| <= atol + rtol * |y|."""

def angle(x: TensorLike) -> Tensor:
    """The argument of a complex number; 0 or pi of a real one."""

def any(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Whether one element is non-zero: 0 or 1, uint8."""

def arange(
    start: TensorLike,
    stop: TensorLike | None = None,
    step: TensorLike = 1,
    dtype: DType = "int32",
) -> Tensor:
    """A vector start, start + step, ... below stop."""

def arccos(x: TensorLike) -> Tensor:
    """Inverse cosine."""

def arccosh(x: TensorLike) -> Tensor:
    """Inverse hyperbolic cosine."""

def arcsin(x: TensorLike) -> Tensor:
    """Inverse sine."""

def arcsinh(x: TensorLike) -> Tensor:
    """Inverse hyperbolic sine."""

def arctan(x: TensorLike) -> Tensor:
    """Inverse tangent."""

def arctan2(x: TensorLike, y: TensorLike) -> Tensor:
    """The angle of the point of ordinate x and abscissa y."""

def arctanh(x: TensorLike) -> Tensor:
    """Inverse hyperbolic tangent."""

def argmax(x: TensorLike, axis: int = -1) -> Tensor:
    """Index of the first largest element along `axis`."""

def argmin(x: TensorLike, axis: int = -1) -> Tensor:
    """Index of the first smallest element along `axis`."""

def argsort(x: TensorLike, axis: int = -1) -> Tensor:
    """The indices that sort `x` along `axis`; equal elements keep their order."""

def backend() -> str:
    """The name of this backend."""

def bartlett(n: int, dtype: DType | None = None) -> Tensor:
    """Bartlett's window of `n` points: it rises from 0 to 1 and falls."""

def batch_dot(x: TensorLike, y: TensorLike, axes: int | Sequence[int] | None = None) -> Tensor:
    """Dot products within each sample of a batch, over one axis of `x` and one of `y`."""

def batch_flatten(x: TensorLike) -> Tensor:
    """`x` as a matrix with the same first axis."""

def batch_get_value(ops: Sequence[Variable]) -> list[np.ndarray]:
    """The values of several variables."""

def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    var: TensorLike,
    beta: TensorLike,
    gamma: TensorLike,
    epsilon: float = 0.001,
) -> Tensor:
    """(x - mean) / sqrt(var + epsilon) * gamma + beta."""

def batch_set_value(tuples: Sequence[tuple[Variable, Any]]) -> None:
    """`set_value` for each (variable, value); all or none, where one does not fit."""

def betainc(a: TensorLike, b: TensorLike, x: TensorLike) -> Tensor:
    """The regularised incomplete beta function I_x(a, b); no gradient by `a` and `b`."""

def betaln(x: TensorLike, y: TensorLike) -> Tensor:
    """log(gamma(x) gamma(y) / gamma(x + y)), exact for large x."""

def bias_add(x: TensorLike, bias: TensorLike, data_format: str | None = None) -> Tensor:
    """`x` plus a bias over its channels."""

def binary_crossentropy(
    output: TensorLike,
    target: TensorLike,
    from_logits: bool = False,
) -> Tensor:
    """-(target * log(output) + (1 - target) * log(1 - output)), elementwise."""

def bincount(x: TensorLike, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 on occurs in the vector `x`, or the sum of its
    `weights`."""

def blas_info() -> dict[str, Any]:
    """Which BLAS multiplies matrices and where it was found."""

def broadcast_to(x: TensorLike, shape: Shape) -> Tensor:
    """`x` repeated along its axes of size 1, and along new first axes, to `shape`."""

def c_op(
    body: str,
    inputs: Any,
    outputs: Any,
    infer_shape: Callable[..., Any] | None = None,
    gradient: Any = None,
    name: str = "c_op",
    support: str = "",
    errors: Mapping[int, str] | None = None,
    function: Callable[..., Any] | None = None,
    parallel: bool = False,
) -> Any:
    """The result of a body of C, as a tensor; of several results, a tuple."""

def cast(x: TensorLike, dtype: DType) -> Tensor:
    """`x` as a tensor of another dtype."""

def cast_to_floatx(x: TensorLike) -> np.ndarray:
    """The NumPy array `x` (or number, or list) in the default float dtype."""

def categorical(p: TensorLike, seed: int | None = None) -> Tensor:
    """An index drawn with the probabilities in the last axis of `p`, for each of its rows."""

def categorical_crossentropy(
    output: TensorLike,
    target: TensorLike,
    from_logits: bool = False,
) -> Tensor:
    """-sum(target * log(output)) over the last axis."""

def ceil(x: TensorLike) -> Tensor:
    """The smallest integer >= x."""

def check(x: TensorLike, *conditions: TensorLike, message: str = "") -> Tensor:
    """`x`, after all `conditions` were found to hold everywhere (Theano's Assert)."""

def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of tensors, such that gradients through it compute again what it computes."""

def chi2sf(x: TensorLike, y: TensorLike) -> Tensor:
    """The probability that a chi-squared variable of y degrees of freedom exceeds x. Through
    SciPy."""

def cho_solve(c: TensorLike, b: TensorLike, lower: bool = True) -> Tensor:
    """The x with a . x = b, given the Cholesky factor `c` of a: a = c . c^T (lower) or c^T .
    c."""

def cholesky(x: TensorLike) -> Tensor:
    """The lower triangular L with L . L^T = x."""

def choose(index: TensorLike, choices: Any, mode: str = "raise") -> Tensor:
    """At each place the element of choices[index[place]]; all of them broadcast."""

def clear_session() -> None:
    """Forget identifiers and the learning phase; variables and functions live on."""

def clip(x: TensorLike, min_value: TensorLike, max_value: TensorLike) -> Tensor:
    """`x` limited to [min_value, max_value]."""

def compress(condition: TensorLike, x: TensorLike, axis: int | None = None) -> Tensor:
    """The slices of `x` along `axis` where the vector `condition` is not 0."""

def concatenate(tensors: Sequence[TensorLike], axis: int = -1) -> Tensor:
    """Tensors joined along an existing axis."""

def conj(x: TensorLike) -> Tensor:
    """The complex conjugate."""

def constant(
    value: Any,
    dtype: DType | None = None,
    shape: Shape | None = None,
    name: str | None = None,
) -> Tensor:
    """A tensor whose value never changes."""

def conv(
    x: TensorLike,
    kernel: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: Any = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
    groups: int = 1,
    flip: bool = False,
) -> Tensor:
    """Convolution over any number of spatial axes, with a kernel that is not flipped unless
    asked."""

def conv1d(
    x: TensorLike,
    kernel: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: Any = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> Tensor:
    """1D convolution with a kernel that is not flipped."""

def conv2d(
    x: TensorLike,
    kernel: TensorLike,
    strides: int | Sequence[int] = (1, 1),
    padding: Any = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = (1, 1),
) -> Tensor:
    """2D convolution with a kernel that is not flipped."""

def conv2d_transpose(
    x: TensorLike,
    kernel: TensorLike,
    output_shape: Shape,
    strides: int | Sequence[int] = (1, 1),
    padding: Any = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = (1, 1),
) -> Tensor:
    """The transpose of conv2d (called deconvolution): up from results to images."""

def conv3d(
    x: TensorLike,
    kernel: TensorLike,
    strides: int | Sequence[int] = (1, 1, 1),
    padding: Any = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = (1, 1, 1),
) -> Tensor:
    """3D convolution with a kernel that is not flipped."""

def conv3d_transpose(
    x: TensorLike,
    kernel: TensorLike,
    output_shape: Shape,
    strides: int | Sequence[int] = (1, 1, 1),
    padding: Any = "valid",
    data_format: str | None = None,
) -> Tensor:
    """The transpose of conv3d; as `conv2d_transpose`, with one axis more."""

def conv_transpose(
    x: TensorLike,
    kernel: TensorLike,
    output_shape: Shape | None = None,
    strides: int | Sequence[int] = 1,
    padding: Any = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
    groups: int = 1,
    flip: bool = False,
) -> Tensor:
    """The transpose of `conv`, its gradient with respect to x: from results to images."""

def cos(x: TensorLike) -> Tensor:
    """Cosine."""

def cosh(x: TensorLike) -> Tensor:
    """Hyperbolic cosine."""

def count_params(x: TensorLike) -> int:
    """The number of scalars in `x`."""

def cov(
    x: TensorLike,
    y: TensorLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
) -> Tensor:
    """The covariances of the rows of `x`; of a vector its variance."""

def ctc(activations: TensorLike, labels: TensorLike, input_lengths: TensorLike) -> Tensor:
    """The CTC loss of each sample, as Theano's tensor.nnet.ctc.ctc."""

def ctc_batch_cost(
    y_true: TensorLike,
    y_pred: TensorLike,
    input_length: TensorLike,
    label_length: TensorLike,
) -> Tensor:
    """The CTC loss of each sample. Differentiable once, by y_pred."""

def ctc_decode(
    y_pred: TensorLike,
    input_length: TensorLike,
    greedy: bool = True,
    beam_width: int = 100,
    top_paths: int = 1,
) -> tuple[list[Tensor], Tensor]:
    """The most probable label sequences: ([sequences, ...], scores)."""

def ctc_label_dense_to_sparse(labels: TensorLike, label_lengths: TensorLike) -> Tensor:
    """The first label_lengths[i] labels of each row of `labels`, as a sparse tensor."""

def cumprod(x: TensorLike, axis: int = 0) -> Tensor:
    """Running product along `axis`."""

def cumsum(x: TensorLike, axis: int = 0) -> Tensor:
    """Running sum along `axis`."""

def debugprint(
    what: Any,
    file: TextIO | None = None,
    print_type: bool = False,
    depth: int = -1,
    print_line: bool = False,
) -> Any:
    """Print `what` as a tree, one node a line, inputs indented below it; each node has an
    id."""

def deg2rad(x: TensorLike) -> Tensor:
    """Degrees as radians."""

def depthwise_conv2d(
    x: TensorLike,
    depthwise_kernel: TensorLike,
    strides: int | Sequence[int] = (1, 1),
    padding: Any = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = (1, 1),
) -> Tensor:
    """Each channel convolved with kernels of its own."""

def det(x: TensorLike) -> Tensor:
    """The determinant of square matrices."""

def diag(x: TensorLike) -> Tensor:
    """The diagonal of a matrix, or the diagonal matrix of a vector."""

def diagonal(x: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The elements with index (i, i + offset) in two axes, as a last axis in their place."""

def diff(x: TensorLike, n: int = 1, axis: int = -1) -> Tensor:
    """The differences of neighbours along `axis`, `n` times over."""

def dot(x: TensorLike, y: TensorLike) -> Tensor:
    """The dot product over the last axis of `x` and the last but one of `y` (or its only
    one)."""

def draw(what: Any, path: str | PathLike[str] | None = None) -> str:
    """A picture of a compiled function, of two of them, or of tensors: the text of an HTML
    page."""

def dropout(
    x: TensorLike,
    level: TensorLike,
    noise_shape: Shape | None = None,
    seed: int | None = None,
) -> Tensor:
    """`x` with a fraction `level` of its entries set to 0 at random, the rest divided by 1 -
    level."""

def dtype(x: TensorLike) -> str:
    """The dtype of `x` as a string."""

def eig(x: TensorLike) -> tuple[Tensor, Tensor]:
    """(w, v): eigenvalues, in no order, and eigenvectors of square matrices."""

def eigh(x: TensorLike, lower: bool = True) -> tuple[Tensor, Tensor]:
    """(w, v): rising eigenvalues and orthonormal eigenvectors of symmetric matrices."""

def eigvalsh(x: TensorLike, b: TensorLike | None = None, lower: bool = True) -> Tensor:
    """The rising eigenvalues w of symmetric matrices, or of the pair: x . v = w b . v."""

def elu(x: TensorLike, alpha: float = 1.0) -> Tensor:
    """x above 0, alpha * (exp(x) - 1) below."""

def epsilon() -> float:
    """The fuzz factor of numeric expressions."""

def equal(x: TensorLike, y: TensorLike) -> Tensor:
    """x == y, a bool tensor."""

def erf(x: TensorLike) -> Tensor:
    """The error function."""

def erfc(x: TensorLike) -> Tensor:
    """1 - erf(x), exact for large x."""

def erfcinv(x: TensorLike) -> Tensor:
    """The inverse of erfc, for x in [0, 2]."""

def erfcx(x: TensorLike) -> Tensor:
    """exp(x * x) * erfc(x), which does not vanish for large x."""

def erfinv(x: TensorLike) -> Tensor:
    """The inverse of erf, for x in [-1, 1]."""

def eval(x: TensorLike) -> Any:
    """The value of a variable, or of an expression that needs no input, as a NumPy array,
    dense."""

def exp(x: TensorLike) -> Tensor:
    """e ** x."""

def exp2(x: TensorLike) -> Tensor:
    """2 ** x."""

def expand_dims(x: TensorLike, axis: int = -1) -> Tensor:
    """`x` with a new axis of size 1."""

def explain(function: Function) -> str:
    """How a function was compiled, as a text: `function.explain(rewrites=True)`."""

def expm(x: TensorLike) -> Tensor:
    """The exponential of square matrices."""

def expm1(x: TensorLike) -> Tensor:
    """exp(x) - 1, exact near 0."""

def export(
    f: Any,
    folder: str | PathLike[str],
    shapes: Any = None,
    target: TensorLike = "c99",
    prefix: str | None = None,
    weights: Any = "const",
    dtype: DType | None = None,
    batch: int | None = None,
    examples: Any = None,
    calls: int = 2,
    ulps: float = 64,
) -> Any:
    """Write `f` as C to `folder`: PREFIX.h, PREFIX.c, PREFIX_test.c and README.md."""

def eye(
    size: int | Sequence[int],
    dtype: DType | None = None,
    name: str | None = None,
) -> Variable:
    """A variable holding the identity matrix of `size` rows."""

def fill_diagonal(x: TensorLike, val: TensorLike) -> Tensor:
    """The matrix `x` with the scalar `val` on its diagonal."""

def fill_diagonal_offset(x: TensorLike, val: TensorLike, offset: int) -> Tensor:
    """The matrix `x` with the scalar `val` on the diagonal of the elements (i, i + offset)."""

def flatnonzero(x: TensorLike) -> Tensor:
    """The indices of the elements of the flattened `x` that are not zero."""

def flatten(x: TensorLike) -> Tensor:
    """`x` as a vector."""

def floatx() -> str:
    """The default float dtype."""

def floor(x: TensorLike) -> Tensor:
    """The largest integer <= x."""

def foldl(
    fn: Callable[..., Any],
    elems: TensorLike | Sequence[TensorLike],
    initializer: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """fn(... fn(fn(initializer, elems[0]), elems[1]) ...): elements combined from left to
    right."""

def foldr(
    fn: Callable[..., Any],
    elems: TensorLike | Sequence[TensorLike],
    initializer: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """fn(... fn(fn(initializer, elems[-1]), elems[-2]) ...): elements combined from right to
    left."""

def function(
    inputs: Any,
    outputs: Any,
    updates: Updates | None = None,
    givens: Any = None,
    name: str | None = None,
    mode: str | None = None,
    on_unused_input: Literal["ignore", "warn", "raise"] | None = None,
    allow_input_downcast: bool | None = None,
    no_default_updates: bool | Sequence[Variable] = False,
    check: str | None = None,
    profile: bool | None = None,
    **kwargs: Any,
) -> Function:
    """A callable that computes `outputs` from `inputs` and then applies `updates`."""

def gamma(x: TensorLike) -> Tensor:
    """The gamma function; (n - 1)! of a whole n."""

def gammainc(x: TensorLike, y: TensorLike) -> Tensor:
    """The regularised lower incomplete gamma function P(x, y); no gradient by x. Through
    SciPy."""

def gammaincc(x: TensorLike, y: TensorLike) -> Tensor:
    """The regularised upper incomplete gamma function Q(x, y); no gradient by x. Through
    SciPy."""

def gammaln(x: TensorLike) -> Tensor:
    """log(|gamma(x)|), without overflow."""

def gather(reference: TensorLike, indices: TensorLike) -> Tensor:
    """The rows reference[indices]."""

def get_num_threads() -> int:
    """The number of threads large kernels use."""

def get_uid(prefix: str = "") -> int:
    """1, 2, 3 ... for each prefix: identifiers for names."""

def get_value(x: Variable) -> np.ndarray:
    """The value of a variable, a copy."""

def get_variable_shape(x: TensorLike) -> tuple[int, ...]:
    """The shape of a variable's present value."""

@overload
def grad(
    cost: Tensor | None,
    wrt: Sequence[Tensor],
    disconnected: Literal["raise", "none", "zero"] = "raise",
    known_grads: Mapping[Tensor, Tensor] | None = None,
    consider_constant: Sequence[Tensor] | None = None,
) -> list[Tensor]: ...
@overload
def grad(
    cost: Tensor | None,
    wrt: Tensor,
    disconnected: Literal["raise", "none", "zero"] = "raise",
    known_grads: Mapping[Tensor, Tensor] | None = None,
    consider_constant: Sequence[Tensor] | None = None,
) -> Tensor:
    """The gradient of the scalar `cost`: a tensor for a tensor `wrt`, a list for a list."""

def grad_clip(x: TensorLike, low: TensorLike, high: TensorLike) -> Tensor:
    """`x`; the gradient that comes back to it is limited to [low, high], elementwise."""

def grad_scale(x: TensorLike, factor: TensorLike) -> Tensor:
    """`x`; the gradient that comes back to it is multiplied by the number `factor`."""

def gradients(
    loss: Tensor,
    variables: Tensor | Sequence[Tensor],
    disconnected: Literal["raise", "none", "zero"] = "raise",
) -> list[Tensor]:
    """The gradients of the scalar `loss`, a list with one for each of `variables`."""

def greater(x: TensorLike, y: TensorLike) -> Tensor:
    """x > y, a bool tensor."""

def greater_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """x >= y, a bool tensor."""

def hard_sigmoid(x: TensorLike) -> Tensor:
    """0.2 * x + 0.5 limited to [0, 1]."""

def hessian(cost: Tensor, wrt: Any) -> Any:
    """Second derivatives of a scalar, of shape wrt.shape twice; a list for a list `wrt`."""

def i0(x: TensorLike) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""

def i0e(x: TensorLike) -> Tensor:
    """exp(-|x|) i0(x), which does not overflow."""

def i1(x: TensorLike) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""

def i1e(x: TensorLike) -> Tensor:
    """exp(-|x|) i1(x), which does not overflow."""

def identity(x: TensorLike) -> Tensor:
    """A tensor with the content of `x`: a new handle on the same expression."""

def ifelse(condition: TensorLike, then_expression: Any, else_expression: Any) -> Any:
    """`then_expression` if the scalar `condition` is not zero, else `else_expression`."""

def imag(x: TensorLike) -> Tensor:
    """The imaginary part of a complex tensor; zeros of a real one."""

def image_data_format() -> str:
    """The default layout of images."""

def image_dim_ordering() -> str:
    """The old name of the image layout."""

def in_test_phase(x: TensorLike, alt: Any, training: Any = None) -> Any:
    """`x` when testing, else `alt`: the mirror of `in_train_phase`."""

def in_top_k(predictions: TensorLike, targets: TensorLike, k: int) -> Tensor:
    """Whether predictions[i, targets[i]] is among the `k` largest of row i."""

def in_train_phase(x: TensorLike, alt: Any, training: Any = None) -> Any:
    """`x` when training, else `alt`."""

def inc_subtensor(x: TensorLike, y: TensorLike) -> Tensor:
    """A tensor like a, with `y` added in the place of x, where x was made by indexing: x =
    a[...]."""

def int_shape(x: TensorLike) -> tuple[int | Any, ...]:
    """The shape of `x`, as far as it is known."""

def intx() -> str:
    """The default integer dtype."""

def inverse(x: TensorLike) -> Tensor:
    """The inverse of square matrices."""

def irfft(
    x: TensorLike,
    ndim: int = 1,
    norm: str | None = None,
    is_odd: bool = False,
) -> Tensor:
    """The real tensor of a spectrum as `rfft` makes it, over `ndim` axes."""

def is_keras_tensor(x: TensorLike) -> bool:
    """Whether `x` has Keras metadata: made by `variable`, `placeholder` or a Keras layer."""

def is_placeholder(x: TensorLike) -> bool:
    """Whether `x` is an input made by `placeholder` (or the learning phase)."""

def is_sparse(tensor: Any) -> bool:
    """Whether `tensor` is sparse."""

def is_tensor(x: TensorLike) -> bool:
    """Whether `x` is a tensor of this backend, variables included."""

def is_variable(x: TensorLike) -> bool:
    """Whether `x` is a variable."""

def isclose(
    x: TensorLike,
    y: TensorLike,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Whether |x - y| <= atol + rtol * |y|, elementwise."""

def isfinite(x: TensorLike) -> Tensor:
    """Whether x is neither infinite nor NaN."""

def isinf(x: TensorLike) -> Tensor:
    """Whether x is infinite."""

def isnan(x: TensorLike) -> Tensor:
    """Whether x is NaN."""

def ive(x: TensorLike, y: TensorLike) -> Tensor:
    """exp(-|y|) I(y), the modified Bessel function of order x. Through SciPy."""

def j0(x: TensorLike) -> Tensor:
    """The Bessel function of the first kind of order 0."""

def j1(x: TensorLike) -> Tensor:
    """The Bessel function of the first kind of order 1."""

@overload
def jacobian(
    expression: Tensor,
    wrt: Sequence[Tensor],
    disconnected: Literal["raise", "none", "zero"] = "raise",
) -> list[Tensor]: ...
@overload
def jacobian(
    expression: Tensor,
    wrt: Tensor,
    disconnected: Literal["raise", "none", "zero"] = "raise",
) -> Tensor:
    """d expression / d wrt, of shape expression.shape + wrt.shape; a list for a list."""

def kron(x: TensorLike, y: TensorLike) -> Tensor:
    """The Kronecker product: blocks x[i, j] * y."""

def kve(x: TensorLike, y: TensorLike) -> Tensor:
    """exp(y) K(y), the modified Bessel function of order x. Through SciPy."""

def l2_normalize(x: TensorLike, axis: int | Sequence[int]) -> Tensor:
    """`x` divided by its L2 norm along `axis`."""

def learning_phase() -> Tensor:
    """The learning phase: 0 in tests, 1 in training."""

def less(x: TensorLike, y: TensorLike) -> Tensor:
    """x < y, a bool tensor."""

def less_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """x <= y, a bool tensor."""

def local_conv1d(
    inputs: Any,
    kernel: TensorLike,
    kernel_size: int | Sequence[int],
    strides: int | Sequence[int],
    data_format: str | None = None,
) -> Tensor:
    """A convolution with another kernel at each place."""

def local_conv2d(
    inputs: Any,
    kernel: TensorLike,
    kernel_size: int | Sequence[int],
    strides: int | Sequence[int],
    output_shape: Shape,
    data_format: str | None = None,
) -> Tensor:
    """A 2D convolution with another kernel at each place."""

def log(x: TensorLike) -> Tensor:
    """Natural logarithm."""

def log10(x: TensorLike) -> Tensor:
    """Logarithm to base 10."""

def log1mexp(x: TensorLike) -> Tensor:
    """log(1 - exp(x)) for x <= 0, exact on both ends."""

def log1p(x: TensorLike) -> Tensor:
    """log(1 + x), exact near 0."""

def log2(x: TensorLike) -> Tensor:
    """Logarithm to base 2."""

def log_ndtr(x: TensorLike) -> Tensor:
    """The logarithm of `ndtr`, exact in both tails."""

def log_softmax(x: TensorLike) -> Tensor:
    """The logarithm of `softmax(x)`, exact for small probabilities."""

def logaddexp(x: TensorLike, y: TensorLike) -> Tensor:
    """log(exp(x) + exp(y)) without overflow."""

def logdiffexp(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """log(exp(x[1]) - exp(x[0])) along `axis` without overflow: the logarithm of the difference
    of two."""

def logical_and(x: TensorLike, y: TensorLike) -> Tensor:
    """Whether both are non-zero."""

def logical_not(x: TensorLike) -> Tensor:
    """Whether x is zero."""

def logical_or(x: TensorLike, y: TensorLike) -> Tensor:
    """Whether one is non-zero."""

def logical_xor(x: TensorLike, y: TensorLike) -> Tensor:
    """Whether exactly one of both is non-zero."""

def logsumexp(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """log(sum(exp(x))) without overflow; -inf if all elements are."""

def lstsq(
    a: TensorLike,
    b: TensorLike,
    rcond: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The x with the least |a . x - b|, of these the shortest."""

def manual_variable_initialization(value: Any) -> None:
    """Kept for old programs, without effect: variables have their value from the start."""

def map_fn(
    fn: Callable[..., Any],
    elems: TensorLike | Sequence[TensorLike],
    name: str | None = None,
    dtype: DType | None = None,
) -> Any:
    """`fn` of each element along the first axis of `elems`, stacked."""

def matmul(x: TensorLike, y: TensorLike) -> Tensor:
    """The matrix product, batched over leading axes that broadcast."""

def matrix_dot(*factors: TensorLike) -> Tensor:
    """The matrix product of all `factors`, from the left."""

def matrix_power(x: TensorLike, n: int) -> Tensor:
    """The product of `n` factors `x`."""

def max(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Largest element; NaN if there is one."""

def maximum(x: TensorLike, y: TensorLike) -> Tensor:
    """The larger of x and y; NaN where either is."""

def mean(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Mean over axes; that of bools is in floatx()."""

def median(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """The middle of the sorted elements along `axis`, of an even number the mean of the two
    there."""

def min(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Smallest element; NaN if there is one."""

def minimum(x: TensorLike, y: TensorLike) -> Tensor:
    """The smaller of x and y; NaN where either is."""

def moveaxis(
    x: TensorLike,
    source: int | Sequence[int],
    destination: int | Sequence[int],
) -> Tensor:
    """`x` with one axis moved to another position; the others keep their order."""

def moving_average_update(
    x: Variable,
    value: Any,
    momentum: TensorLike,
) -> tuple[Variable, Tensor]:
    """The update of `x` to x * momentum + value * (1 - momentum)."""

def multinomial(
    p: TensorLike,
    n: int = 1,
    dtype: DType = "int64",
    seed: int | None = None,
) -> Tensor:
    """How often each class comes up in `n` draws with the probabilities in the last axis of
    `p`."""

def ndim(x: TensorLike) -> int:
    """The number of dimensions of `x`."""

def ndtr(x: TensorLike) -> Tensor:
    """The distribution function of the normal law."""

def ndtri_exp(x: TensorLike) -> Tensor:
    """The inverse of `log_ndtr`: the normal quantile of exp(x)."""

def nonzero(x: TensorLike) -> tuple[Tensor, ...]:
    """Where the elements are that are not zero."""

def normalize_batch_in_training(
    x: TensorLike,
    gamma: TensorLike,
    beta: TensorLike,
    reduction_axes: Sequence[int],
    epsilon: float = 0.001,
) -> tuple[Tensor, Tensor, Tensor]:
    """`x` normalised with the mean and the variance of this batch over `reduction_axes`."""

def not_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """x != y, a bool tensor."""

def one_hot(indices: TensorLike, num_classes: int) -> Tensor:
    """1 at the class and 0 elsewhere, along a new last axis of size `num_classes`."""

def ones(shape: Shape, dtype: DType | None = None, name: str | None = None) -> Variable:
    """A variable filled with 1; with a symbolic shape a tensor."""

def ones_like(x: TensorLike, dtype: DType | None = None, name: str | None = None) -> Tensor:
    """A tensor of ones with the shape of `x`."""

def outer(x: TensorLike, y: TensorLike) -> Tensor:
    """The matrix x[i] * y[j]."""

def owens_t(x: TensorLike, y: TensorLike) -> Tensor:
    """Owen's T function. Through SciPy."""

def partition(x: TensorLike, kth: int | Sequence[int], axis: int = -1) -> Tensor:
    """`x` in an order in which the elements `kth` stand where sorting puts them."""

def percentile(
    x: TensorLike,
    q: TensorLike,
    axis: int | Sequence[int] | None = None,
    method: str = "linear",
    keepdims: bool = False,
) -> Tensor:
    """`quantile` with `q` from 0 to 100."""

def permutation(n: TensorLike, seed: int | None = None) -> Tensor:
    """The integers below `n` in random order."""

def permute_dimensions(x: TensorLike, pattern: Sequence[int]) -> Tensor:
    """`x` with its axes in the order `pattern`."""

def pinv(x: TensorLike) -> Tensor:
    """The Moore-Penrose inverse."""

@overload
def placeholder(
    shape: Sequence[int | None] | None = None,
    ndim: int | None = None,
    dtype: DType | None = None,
    sparse: Literal[False] = False,
    name: str | None = None,
) -> Tensor: ...
@overload
def placeholder(
    shape: Sequence[int | None] | None = None,
    ndim: int | None = None,
    dtype: DType | None = None,
    *,
    sparse: Literal[True],
    name: str | None = None,
) -> SparseTensor:
    """An input of a function: its shape (None where a size is open) or its number of dimensions."""

def pool(
    x: TensorLike,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: Any = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:
    """Pooling over any number of spatial axes."""

def pool2d(
    x: TensorLike,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] = (1, 1),
    padding: Any = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:
    """2D pooling of images."""

def pool3d(
    x: TensorLike,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] = (1, 1, 1),
    padding: Any = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:
    """3D pooling of volumes."""

def pow(x: TensorLike, a: TensorLike) -> Tensor:
    """x ** a."""

def pp(what: Any) -> str:
    """`what` as math: infix operators with as few parentheses as Python needs, the rest as
    calls."""

def print_tensor(x: TensorLike, message: str = "") -> Tensor:
    """`x`, printing `message` and its value whenever it is computed."""

def prod(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Product over axes, of ints in 64 bits."""

def psi(x: TensorLike) -> Tensor:
    """The digamma function: the derivative of gammaln."""

def py_op(
    function: Callable[..., Any],
    inputs: Any,
    outputs: Any,
    infer_shape: Callable[..., Any] | None = None,
    gradient: Any = None,
    name: str | None = None,
) -> Any:
    """The result of a Python function of arrays, as a tensor; of several results, a tuple."""

def qr(x: TensorLike, mode: str = "reduced") -> Any:
    """(q, r) with x = q . r, q with orthonormal columns and r upper triangular."""

def quantile(
    x: TensorLike,
    q: TensorLike,
    axis: int | Sequence[int] | None = None,
    method: str = "linear",
    keepdims: bool = False,
) -> Tensor:
    """The quantiles `q` along `axis`."""

def rad2deg(x: TensorLike) -> Tensor:
    """Radians as degrees."""

def random_binomial(
    shape: Shape,
    p: TensorLike = 0.0,
    dtype: DType | None = None,
    seed: int | None = None,
) -> Tensor:
    """1 with probability `p`, else 0."""

def random_normal(
    shape: Shape,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DType | None = None,
    seed: int | None = None,
) -> Tensor:
    """Normal numbers of the given mean and standard deviation."""

def random_normal_variable(
    shape: Shape,
    mean: float,
    scale: float,
    dtype: DType | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Variable:
    """A variable with normal values of the given mean and standard deviation."""

def random_uniform(
    shape: Shape,
    minval: TensorLike = 0.0,
    maxval: TensorLike = 1.0,
    dtype: DType | None = None,
    seed: int | None = None,
) -> Tensor:
    """Numbers in [minval, maxval), all equally likely; integers for an integer dtype."""

def random_uniform_variable(
    shape: Shape,
    low: float,
    high: float,
    dtype: DType | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Variable:
    """A variable with values drawn from [low, high), all equally likely."""

def ravel_multi_index(
    multi_index: Any,
    dims: Shape,
    mode: str = "raise",
    order: str = "C",
) -> Tensor:
    """The position in memory of the element `multi_index` of an array of the sizes `dims`."""

def real(x: TensorLike) -> Tensor:
    """The real part of a tensor."""

def relu(x: TensorLike, alpha: float = 0.0, max_value: TensorLike | None = None) -> Tensor:
    """x above 0, alpha * x below, at most `max_value`. NaN stays NaN."""

def repeat(x: TensorLike, n: TensorLike) -> Tensor:
    """A matrix repeated along a new axis in its middle."""

def repeat_elements(x: TensorLike, rep: int, axis: int) -> Tensor:
    """Each element of `x` repeated `rep` times along `axis`, as np.repeat."""

def reset_uids() -> None:
    """Start the identifiers of `get_uid` again at 1."""

def reshape(x: TensorLike, shape: Shape) -> Tensor:
    """`x` with another shape."""

def resize_images(
    x: TensorLike,
    height_factor: int,
    width_factor: int,
    data_format: str,
    interpolation: str = "nearest",
) -> Tensor:
    """Images enlarged by integer factors."""

def resize_volumes(
    x: TensorLike,
    depth_factor: int,
    height_factor: int,
    width_factor: int,
    data_format: str,
) -> Tensor:
    """Volumes enlarged by integer factors: each voxel is repeated."""

def reverse(x: TensorLike, axes: int | Sequence[int]) -> Tensor:
    """`x` reversed along an axis or several."""

def rfft(x: TensorLike, ndim: int = 1, norm: str | None = None) -> Tensor:
    """The Fourier transform of a real tensor over its last axes."""

def rnn(
    step_function: Callable[..., Any],
    inputs: Any,
    initial_states: Sequence[Tensor],
    go_backwards: bool = False,
    mask: TensorLike | None = None,
    constants: Sequence[TensorLike] | None = None,
    unroll: bool = False,
    input_length: TensorLike | None = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
    return_all_outputs: bool = True,
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Run `step_function` along the time axis."""

def roll(
    x: TensorLike,
    shift: int | Sequence[int],
    axis: int | Sequence[int] | None = None,
) -> Tensor:
    """Elements moved by `shift` places along `axis`; what leaves one end enters at the
    other."""

def round(x: TensorLike) -> Tensor:
    """The nearest integer, as a float; halves go to the even one."""

def rsqrt(x: TensorLike) -> Tensor:
    """1 / sqrt(x)."""

def scaled_dot_product_attention(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    mask: TensorLike | None = None,
    bias: TensorLike | None = None,
    is_causal: bool = False,
    scale: TensorLike | None = None,
    dropout: TensorLike = 0.0,
    seed: int | None = None,
) -> Tensor:
    """softmax(query @ key.T * scale + bias) @ value over the last two axes (Vaswani et al.
    2017)."""

def scan(
    function: Callable[..., Any] | None = None,
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    n_steps: TensorLike | None = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    name: str | None = None,
    strict: bool = False,
    return_list: bool = False,
    debug: bool = False,
    checkpoint: int | None = None,
    mode: str | None = None,
    profile: bool = False,
    allow_gc: bool | None = None,
    fn: Callable[..., Any] | None = None,
) -> tuple[Any, dict[Variable, Tensor]]:
    """Run a step `function` over rows and its own results: (outputs, updates)."""

def searchsorted(
    x: TensorLike,
    v: TensorLike,
    side: Literal["left", "right"] = "left",
    sorter: TensorLike | None = None,
) -> Tensor:
    """Where the elements of `v` would be put into the vector `x` to keep it rising."""

def separable_conv1d(
    x: TensorLike,
    depthwise_kernel: TensorLike,
    pointwise_kernel: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: Any = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> Tensor:
    """A depthwise convolution, then one of size 1."""

def separable_conv2d(
    x: TensorLike,
    depthwise_kernel: TensorLike,
    pointwise_kernel: TensorLike,
    strides: int | Sequence[int] = (1, 1),
    padding: Any = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = (1, 1),
) -> Tensor:
    """A depthwise convolution, then one of size 1 x 1."""

def set_epsilon(e: float) -> None:
    """Set the fuzz factor, `epsilon()`."""

def set_floatx(floatx: str) -> None:
    """Set the default float dtype."""

def set_image_data_format(data_format: str) -> None:
    """Set the image layout."""

def set_image_dim_ordering(dim_ordering: str) -> None:
    """Set the image layout by its old name, 'tf' or 'th'."""

def set_intx(intx: str) -> None:
    """Set the default integer dtype."""

def set_learning_phase(value: Any) -> None:
    """Fix the learning phase to 0 or 1."""

def set_num_threads(n: int | None) -> None:
    """Use `n` threads from now on."""

def set_random_seed(seed: int) -> None:
    """Make random tensors made from now on reproducible."""

def set_subtensor(x: TensorLike, y: TensorLike) -> Tensor:
    """A tensor like a, with `y` in the place of x, where x was made by indexing: x = a[...]."""

def set_value(x: Variable, value: Any) -> None:
    """Give the variable `x` a new value of the same shape."""

def shape(x: TensorLike) -> Tensor:
    """The symbolic shape of `x`; `int_shape` is what is known already."""

def shared(
    value: Any,
    name: str | None = None,
    borrow: bool = False,
    shape: Shape | None = None,
) -> Variable:
    """A variable with the dtype and rank of `value`."""

def sigmoid(x: TensorLike) -> Tensor:
    """1 / (1 + exp(-x)) without overflow."""

def sign(x: TensorLike) -> Tensor:
    """-1, 0 or 1."""

def sin(x: TensorLike) -> Tensor:
    """Sine."""

def sinh(x: TensorLike) -> Tensor:
    """Hyperbolic sine."""

def slogdet(x: TensorLike) -> tuple[Tensor, Tensor]:
    """(sign, log(|det|)) of square matrices, without overflow."""

def softmax(x: TensorLike) -> Tensor:
    """exp(x) / sum(exp(x)) over the last axis, without overflow."""

def softplus(x: TensorLike) -> Tensor:
    """log(1 + exp(x)) without overflow."""

def softsign(x: TensorLike) -> Tensor:
    """x / (1 + |x|)."""

def solve(
    a: TensorLike,
    b: TensorLike,
    assume_a: str = "gen",
    lower: bool = False,
    trans: Any = False,
) -> Tensor:
    """The x with a . x = b."""

def solve_triangular(
    a: TensorLike,
    b: TensorLike,
    lower: bool = False,
    trans: Any = False,
    unit_diagonal: bool = False,
) -> Tensor:
    """The x with a . x = b, where only one triangle of `a` is read."""

def sort(x: TensorLike, axis: int = -1) -> Tensor:
    """`x` in rising order along `axis`, NaN last."""

def sparse_categorical_crossentropy(
    output: TensorLike,
    target: TensorLike,
    from_logits: bool = False,
) -> Tensor:
    """-log(output[..., target]): cross-entropy with the class as an integer."""

def spatial_2d_padding(
    x: TensorLike,
    padding: Any = ((1, 1), (1, 1)),
    data_format: str | None = None,
) -> Tensor:
    """Zeros around images."""

def spatial_3d_padding(
    x: TensorLike,
    padding: Any = ((1, 1), (1, 1), (1, 1)),
    data_format: str | None = None,
) -> Tensor:
    """Zeros around volumes."""

def split(x: TensorLike, parts: Any, axis: int = 0) -> list[Tensor]:
    """The pieces of `x` along `axis`."""

def split_updates(f: Any, cost: Tensor | None = None, gradients: Any = None) -> Split:
    """A training function as two: one with gradients out, one with gradients in that
    updates."""

def sqrt(x: TensorLike) -> Tensor:
    """Square root of `x`, with negative values clipped to 0 first (as Keras does)."""

def square(x: TensorLike) -> Tensor:
    """x * x."""

def squeeze(x: TensorLike, axis: int | Sequence[int]) -> Tensor:
    """`x` without its axis (or axes) of size 1 at index `axis`."""

def stack(x: TensorLike, axis: int = 0) -> Tensor:
    """Tensors of one shape joined along a new axis."""

def std(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Standard deviation over axes (divided by the count)."""

def stop_gradient(variables: Tensor | Sequence[Tensor]) -> Any:
    """`variables` with zero gradient with respect to everything."""

def sum(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Sum over axes; small ints and bools are summed in 64 bits."""

def svd(x: TensorLike, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """(U, S, V) with x = U . diag(S) . V, as NumPy: reduced, singular values falling."""

def swapaxes(x: TensorLike, axis1: int, axis2: int) -> Tensor:
    """`x` with two axes exchanged."""

def switch(condition: TensorLike, then_expression: Any, else_expression: Any) -> Any:
    """`then_expression` where `condition` is not zero, else `else_expression`."""

def take(x: TensorLike, indices: TensorLike, axis: int = 0) -> Tensor:
    """The entries at integer `indices` along `axis`."""

def take_along_axis(x: TensorLike, indices: TensorLike, axis: int) -> Tensor:
    """One entry along `axis` for each position of the other axes, np.take_along_axis."""

def tan(x: TensorLike) -> Tensor:
    """Tangent."""

def tanh(x: TensorLike) -> Tensor:
    """Hyperbolic tangent."""

def temporal_padding(x: TensorLike, padding: Any = (1, 1)) -> Tensor:
    """Zeros before and after the middle axis of a tensor of 3 dimensions."""

def tensordot(x: TensorLike, y: TensorLike, axes: Any = 2) -> Tensor:
    """The sum of products over pairs of axes, np.tensordot."""

def tensorinv(x: TensorLike, ind: int = 2) -> Tensor:
    """The inverse of `x` as a linear map from its last axes to its first `ind`."""

def tensorsolve(a: TensorLike, b: TensorLike, axes: Any = None) -> Tensor:
    """The x with tensordot(a, x, x.ndim) = b."""

def threads_info() -> dict[str, Any]:
    """How many threads are used, and what decided it."""

def tile(x: TensorLike, n: int | Sequence[int]) -> Tensor:
    """`x` tiled n[i] times along axis i, np.tile."""

def to_dense(tensor: Any) -> Tensor:
    """`tensor` as a dense tensor."""

def top_k(x: TensorLike, k: int, axis: int = -1) -> tuple[Tensor, Tensor]:
    """The `k` largest elements along `axis`, falling; of equals the first."""

def trace(x: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The sum of the diagonal over two axes."""

def transpose(x: TensorLike) -> Tensor:
    """`x` with its axes reversed."""

def tri(n: int, m: int | None = None, k: int = 0, dtype: DType | None = None) -> Tensor:
    """The n x m matrix with ones up to diagonal `k` and zeros above it."""

def tri_gamma(x: TensorLike) -> Tensor:
    """The trigamma function: the derivative of psi."""

def tril(x: TensorLike, k: int = 0) -> Tensor:
    """The lower triangle of matrices, up to diagonal `k`; the rest is zero."""

def triu(x: TensorLike, k: int = 0) -> Tensor:
    """The upper triangle of matrices, from diagonal `k` on; the rest is zero."""

def trunc(x: TensorLike) -> Tensor:
    """`x` without its fraction: the nearest integer toward 0."""

def truncated_normal(
    shape: Shape,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DType | None = None,
    seed: int | None = None,
) -> Tensor:
    """Normal numbers within two standard deviations of the mean."""

def unique(
    x: TensorLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    """The different elements of `x`, rising."""

def unravel_index(flat: TensorLike, dims: Shape, order: str = "C") -> tuple[Tensor, ...]:
    """The index of the element at position `flat` in the memory of an array of the sizes
    `dims`."""

def update(x: Variable, new_x: TensorLike) -> tuple[Variable, Tensor]:
    """The update of variable `x` to `new_x`, for the `updates` of a function."""

def update_add(x: Variable, increment: TensorLike) -> tuple[Variable, Tensor]:
    """The update that adds `increment` to variable `x`."""

def update_sub(x: Variable, decrement: TensorLike) -> tuple[Variable, Tensor]:
    """The update that subtracts `decrement` from variable `x`."""

def var(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Variance over axes (divided by the count)."""

def variable(value: Any, dtype: DType | None = None, name: str | None = None) -> Variable:
    """A variable: a tensor with a value that updates and `set_value` change."""

def where(condition: TensorLike, x: TensorLike, y: TensorLike) -> Tensor:
    """Elements of `x` where `condition`, else of `y`."""

def zero_grad(x: TensorLike) -> Tensor:
    """`x`, through which gradients are zero."""

def zeros(shape: Shape, dtype: DType | None = None, name: str | None = None) -> Variable:
    """A variable filled with 0; with a symbolic shape a tensor."""

def zeros_like(x: TensorLike, dtype: DType | None = None, name: str | None = None) -> Tensor:
    """A tensor of zeros with the shape of `x`."""
