"""Random sparse matrices: Poisson, Binomial and Multinomial draw anew in each call.

They draw from NumPy's global state, as Theano's do: `numpy.random.seed` decides the numbers. Other
names that Theano has here are those of theano.sparse.
"""

import numpy as np

from ...api.sparsetensor import scipy_sparse
from ...base.errors import ArgumentError, UsageError
from ..base.exceptions import RefusedError
from ..base.names import absent_of as _absent_of
from ..classes.op import Op
from ..gradient.functions import disconnected_type, grad_undefined
from ..graph.apply import Apply
from ..handles.variables import as_tensor_variable
from .functions import (  # noqa: F401
    CSC,
    CSR,
    SparseType,
    as_sparse_variable,
    bcast,
    ccast,
    csm_data,
    csm_indices,
    csm_indptr,
    csm_properties,
    csm_shape,
    dcast,
    discrete_dtypes,
    dot,
    fcast,
    float_dtypes,
    hstack,
    icast,
    is_sparse_variable,
    lcast,
    neg,
    remove0,
    sampling_dot,
    structured_add,
    structured_exp,
    structured_log,
    structured_maximum,
    structured_minimum,
    structured_pow,
    structured_sigmoid,
    vstack,
    wcast,
    zcast,
)

eliminate_zeros = remove0


class Draw(Op):
    """What draws a sparse matrix: computed once in each call, without a gradient."""

    no_gradient = "random numbers have no derivative by what they are drawn from"

    def grad(self, inputs, output_gradients):
        return [grad_undefined(self, k, x, self.no_gradient) for k, x in enumerate(inputs)]

    def do_constant_folding(self, node):
        return False


class Poisson(Draw):
    """`poisson(x)`: at each place of the sparse matrix x a number whose mean x holds there.

    The result has the format, dtype and shape of x; zeros that were drawn are not stored.
    ValueError of the call: a mean is below 0.
    """

    __props__ = ()

    def make_node(self, x):
        x = as_sparse_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        (x,) = inputs
        made = x.copy()
        made.data = np.random.poisson(x.data).astype(x.dtype)
        made.eliminate_zeros()
        outputs[0][0] = made

    def infer_shape(self, node, shapes):
        return shapes


class Binomial(Draw):
    """`Binomial(format, dtype)(n, p, shape)`: how many of n trials succeed, each with chance p.

    n is an integer and p a float, shape a vector of two integers; the places of zeros are not
    stored. AssertionError: other dtypes; ValueError of the call: p is not between 0 and 1.
    """

    __props__ = ("format", "dtype")

    def __init__(self, format, dtype):
        self.format, self.dtype = format, dtype

    def make_node(self, n, p, shape):
        n, p, shape = map(as_tensor_variable, (n, p, shape))
        for x, what, kinds in (
            (n, "the count of trials n", discrete_dtypes),
            (p, "the chance p", float_dtypes),
            (shape, "the shape", discrete_dtypes),
        ):
            if x.dtype not in kinds:
                kind = "floats" if kinds is float_dtypes else "integers"
                raise RefusedError(f"{what} of Binomial is of {kind}, not of {x.dtype}: cast it")
        return Apply(self, [n, p, shape], [SparseType(self.format, self.dtype)()])

    def perform(self, node, inputs, outputs):
        n, p, shape = inputs
        drawn = np.random.binomial(n, p, size=tuple(shape))
        outputs[0][0] = getattr(scipy_sparse(), f"{self.format}_matrix")(drawn, dtype=self.dtype)

    def connection_pattern(self, node):
        return [[True], [True], [False]]

    def grad(self, inputs, output_gradients):
        return [*super().grad(inputs[:2], output_gradients), disconnected_type()]

    def infer_shape(self, node, shapes):
        return [(node.inputs[2][0], node.inputs[2][1])]


class Multinomial(Draw):
    """`multinomial(n, p)`: of each row of p, how often each of its places is hit in n trials.

    The numbers stored in a row of the sparse matrix p are its chances and sum to 1; n is a scalar
    or a vector with a number for each row. The result has the places of p, zeros included; a row
    without a stored number stays so. TypeError: n has more axes; ValueError of the call: n has not
    as many numbers as p rows, or the chances of a row are more than 1.
    """

    __props__ = ()

    def make_node(self, n, p):
        n, p = as_tensor_variable(n), as_sparse_variable(p)
        if n.ndim > 1:
            raise UsageError(
                f"multinomial takes a count of trials or a vector of them, not {n.ndim} axes"
            )
        return Apply(self, [n, p], [p.type()])

    def perform(self, node, inputs, outputs):
        n, p = inputs
        made = p.tocsr(copy=True)
        rows = made.shape[0]
        if n.ndim and n.shape != (rows,):
            raise ArgumentError(f"n has {n.shape[0]} counts of trials for a matrix of {rows} rows")
        for trials, start, end in zip(np.broadcast_to(n, rows), made.indptr, made.indptr[1:]):
            if start < end:
                made.data[start:end] = np.random.multinomial(trials, made.data[start:end])
        outputs[0][0] = made.asformat(p.format)

    def infer_shape(self, node, shapes):
        return [shapes[1]]


poisson, multinomial = Poisson(), Multinomial()
csr_fbinomial, csc_fbinomial = Binomial("csr", "float32"), Binomial("csc", "float32")
csr_dbinomial, csc_dbinomial = Binomial("csr", "float64"), Binomial("csc", "float64")

__getattr__ = _absent_of("theano.sparse.sandbox.sp2")
