"""theano.tensor.blas: the ops of matrix products by their names there.

What they mean; that one overwrites its first operand is for the engine to decide, so that both
forms of an op give the same graph.
"""

from ... import ops
from ...base.dtypes import is_inexact
from ...base.errors import DTypeError, UsageError
from ..base.names import absent_of as _absent_of
from ..classes.op import KernelOp
from ..handles.variables import as_tensor_variable
from .products import BatchedDot, batched_dot

__all__ = ["BatchedDot", "Dot22", "Dot22Scalar", "Gemm", "Gemv", "Ger", "batched_dot", "gemm",
           "gemm_inplace", "gemm_no_inplace", "gemv", "gemv_inplace", "gemv_no_inplace", "ger",
           "ger_destructive"]  # fmt: skip


class _Product(KernelOp):
    """An op whose operands have given counts of axes and one dtype, a float or complex one."""

    AXES = ()

    def make_node(self, *inputs):
        name, inputs = type(self).__name__, [as_tensor_variable(x) for x in inputs]
        if len(inputs) != len(self.AXES):
            raise UsageError(f"{name} takes {len(self.AXES)} operands, but got {len(inputs)}")
        for k, (x, ndim) in enumerate(zip(inputs, self.AXES)):
            if x.ndim != ndim:
                raise UsageError(
                    f"inputs[{k}] of {name} must have {ndim} dimensions, but has {x.ndim}"
                )
        found = [x.dtype for x in inputs]
        if len({*found}) > 1 or not is_inexact(found[0]):
            raise DTypeError(
                f"{name} takes operands of one float or complex dtype, not {', '.join(found)}: "
                "cast them, or use theano.tensor.dot"
            )
        return KernelOp.make_node(self, *inputs)


def _gemm(z, a, x, y, b):
    return ops.add(ops.mul(b, z), ops.mul(a, ops.matmul(x, y)))


class Gemm(_Product):
    """gemm(z, a, x, y, b): b z + a (x y), of matrices z, x, y and scalars a, b."""

    AXES = 2, 0, 2, 2, 0

    def __init__(self, inplace):
        KernelOp.__init__(self, _gemm, "Gemm")
        self.inplace = inplace

    def __reduce__(self):
        return Gemm, (self.inplace,)


def _gemv(y, alpha, a, x, beta):
    return ops.add(ops.mul(beta, y), ops.mul(alpha, ops.matmul(a, x)))


class Gemv(_Product):
    """gemv(y, alpha, A, x, beta): beta y + alpha (A x), of vectors y, x and a matrix A."""

    AXES = 1, 0, 2, 1, 0

    def __init__(self, inplace):
        KernelOp.__init__(self, _gemv, "Gemv")
        self.inplace = inplace

    def __reduce__(self):
        return Gemv, (self.inplace,)


def _ger(a, alpha, x, y):
    scaled = ops.mul(alpha, x)
    return ops.add(a, ops.mul(ops.expand(scaled, (1,)), ops.expand(y, (0,))))


class Ger(_Product):
    """ger(A, alpha, x, y): A + alpha x y', of a matrix A and vectors x, y."""

    AXES = 2, 0, 1, 1

    def __init__(self, destructive):
        KernelOp.__init__(self, _ger, "Ger")
        self.destructive = destructive

    def __reduce__(self):
        return Ger, (self.destructive,)


class Dot22(_Product):
    """The product of two matrices of one dtype."""

    AXES = 2, 2

    def __init__(self):
        KernelOp.__init__(self, ops.matmul, "Dot22")

    def __reduce__(self):
        return Dot22, ()


def _scaled_dot(x, y, a):
    return ops.mul(a, ops.matmul(x, y))


class Dot22Scalar(_Product):
    """_dot22scalar(x, y, a): a (x y), of two matrices and a scalar."""

    AXES = 2, 2, 0

    def __init__(self):
        KernelOp.__init__(self, _scaled_dot, "Dot22Scalar")

    def __reduce__(self):
        return Dot22Scalar, ()


gemm = gemm_no_inplace = Gemm(False)
gemm_inplace = Gemm(True)
gemv = gemv_no_inplace = Gemv(False)
gemv_inplace = Gemv(True)
ger, ger_destructive = Ger(False), Ger(True)
_dot22, _dot22scalar = Dot22(), Dot22Scalar()

__getattr__ = _absent_of("theano.tensor.blas")
