"""Operations computed by NumPy and SciPy whose results the engine takes as they are."""

import numpy as np

from ..gof.graph import Apply
from ..gof.op import Op
from .type import TensorType
from .variables import as_tensor_variable


def _scipy_linalg():
    try:
        import scipy.linalg
    except ImportError:
        raise NotImplementedError("this needs SciPy") from None
    return scipy.linalg


def _eig(a):
    w, v = np.linalg.eig(a)
    return np.real(w), np.real(v)


def _lstsq(x, y, rcond):
    solution, residuals, rank, values = np.linalg.lstsq(x, y, rcond=float(rcond))
    return solution, residuals, np.asarray(rank, "int32"), values


def _expm(a):
    return (_scipy_linalg().expm(a),)


def _eigvalsh(a, b):
    return (_scipy_linalg().eigvalsh(a, None if b.size == 0 else b),)


def _searched(side):
    def search(x, v):
        return (np.searchsorted(x, v, side=side),)
    return search


TABLE = {       # name: (function of arrays, (dtype or None for the input's, dimensions) of results)
    "eig": (_eig, ((None, 1), (None, 2))),
    "lstsq": (_lstsq, ((None, -1), (None, 1), ("int32", 0), (None, 1))),
    "expm": (_expm, ((None, 2),)),
    "eigvalsh": (_eigvalsh, ((None, 1),)),
    "searchsorted_left": (_searched("left"), (("int64", -1),)),
    "searchsorted_right": (_searched("right"), (("int64", -1),)),
}


class NumPyOp(Op):
    """A row of TABLE."""

    __props__ = ("name",)

    def __init__(self, name):
        self.name = name

    def make_node(self, *inputs):
        inputs = [as_tensor_variable(x) for x in inputs]
        first = inputs[0].dtype if inputs[0].dtype.startswith("float") else "float64"
        outputs = [TensorType(dtype or first, (False,) * (inputs[1].ndim if n < 0 else n))()
                   for dtype, n in TABLE[self.name][1]]
        return Apply(self, inputs, outputs)

    def perform(self, node, inputs, outputs):
        for cell, value, out in zip(outputs, TABLE[self.name][0](*inputs), node.outputs):
            cell[0] = np.asarray(value, out.dtype)

    def grad(self, inputs, output_grads):
        rule = GRADIENTS.get(self.name)
        if self.name.startswith("searchsorted"):
            return [x.zeros_like().astype("float64") for x in inputs]
        if rule is not None:
            return rule(inputs, output_grads)
        from ..gradient import grad_not_implemented
        return [grad_not_implemented(self, k, x) for k, x in enumerate(inputs)]

    def __str__(self):
        return self.name


def _expm_grad(inputs, output_grads):
    """d expm: the upper right block of the exponential of [[A', G], [0, A']]."""
    from .creation import zeros_like
    from .joining import join
    (a,), (g,) = inputs, output_grads
    block = join(0, join(1, a.T, g), join(1, zeros_like(a), a.T))
    n = a.shape[0]
    return [numpy_op("expm", block)[:n, n:]]


GRADIENTS = {"expm": _expm_grad}


def numpy_op(name, *inputs):
    """The variable or variables of a row of TABLE."""
    return NumPyOp(name)(*inputs)
