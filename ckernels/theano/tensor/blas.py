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


def _gemm(z, a, x, y, b):
    return ops.add(ops.mul(b, z), ops.mul(a, ops.matmul(x, y)))


def _gemv(y, alpha, a, x, beta):
    return ops.add(ops.mul(beta, y), ops.mul(alpha, ops.matmul(a, x)))


def _ger(a, alpha, x, y):
    scaled = ops.mul(alpha, x)
    return ops.add(a, ops.mul(ops.expand(scaled, (1,)), ops.expand(y, (0,))))


def _scaled_dot(x, y, a):
    return ops.mul(a, ops.matmul(x, y))


class _Product(KernelOp):
    """An op whose operands have given counts of axes, AXES, and one dtype, a float or complex one.

    BUILD: its node of those of the operands; flag: {name: value} of what Theano's constructor
    takes, at most one.
    """

    def __init__(self, **flag):
        KernelOp.__init__(self, type(self).BUILD, type(self).__name__)
        self.__dict__.update(flag)
        self.flag = tuple(flag.values())

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

    def __reduce__(self):
        return type(self), self.flag


class Gemm(_Product):
    """gemm(z, a, x, y, b): b z + a (x y), of matrices z, x, y and scalars a, b."""

    AXES, BUILD = (2, 0, 2, 2, 0), staticmethod(_gemm)

    def __init__(self, inplace):
        _Product.__init__(self, inplace=inplace)


class Gemv(_Product):
    """gemv(y, alpha, A, x, beta): beta y + alpha (A x), of vectors y, x and a matrix A."""

    AXES, BUILD = (1, 0, 2, 1, 0), staticmethod(_gemv)

    def __init__(self, inplace):
        _Product.__init__(self, inplace=inplace)


class Ger(_Product):
    """ger(A, alpha, x, y): A + alpha x y', of a matrix A and vectors x, y."""

    AXES, BUILD = (2, 0, 1, 1), staticmethod(_ger)

    def __init__(self, destructive):
        _Product.__init__(self, destructive=destructive)


class Dot22(_Product):
    """The product of two matrices of one dtype."""

    AXES, BUILD = (2, 2), staticmethod(ops.matmul)


class Dot22Scalar(_Product):
    """_dot22scalar(x, y, a): a (x y), of two matrices and a scalar."""

    AXES, BUILD = (2, 2, 0), staticmethod(_scaled_dot)


gemm = gemm_no_inplace = Gemm(False)
gemm_inplace = Gemm(True)
gemv = gemv_no_inplace = Gemv(False)
gemv_inplace = Gemv(True)
ger, ger_destructive = Ger(False), Ger(True)
_dot22, _dot22scalar = Dot22(), Dot22Scalar()

__getattr__ = _absent_of("theano.tensor.blas")
