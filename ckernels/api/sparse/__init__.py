# ruff: noqa: F401
"""Functions of sparse matrices, named as in Theano's sparse module: K.sparse.

A sparse operand is a SparseTensor or a SciPy matrix. Gradients with respect to a sparse tensor have
its structure (Theano calls them structured); `regular_grad` gives those for all elements. Functions
whose result has a structure that follows from numbers (`clean`, slices, sums of two sparse
matrices) run partly in NumPy; all else runs as C kernels.
"""

import sys as _sys

from ..sparsefunction import sparse_function as _sparse_function
from ..sparsetensor import register_sparse as _register_sparse
from .arithmetic import (
    add,
    arcsin,
    arcsinh,
    arctan,
    arctanh,
    ceil,
    col_scale,
    deg2rad,
    eq,
    expm1,
    floor,
    ge,
    gt,
    le,
    log1p,
    lt,
    mul,
    neg,
    neq,
    rad2deg,
    rint,
    row_scale,
    sgn,
    sin,
    sinh,
    sp_ones_like,
    sp_zeros_like,
    sqr,
    sqrt,
    structured_add,
    structured_exp,
    structured_log,
    structured_maximum,
    structured_minimum,
    structured_pow,
    structured_sigmoid,
    sub,
    tan,
    tanh,
    trunc,
)
from .construct import (
    CSC,
    CSM,
    CSR,
    all_dtypes,
    as_sparse,
    as_sparse_or_tensor_variable,
    as_sparse_variable,
    bcast,
    cast,
    ccast,
    csc_from_dense,
    csc_matrix,
    csm_data,
    csm_indices,
    csm_indptr,
    csm_properties,
    csm_shape,
    csr_from_dense,
    csr_matrix,
    dcast,
    dense_from_sparse,
    fcast,
    icast,
    is_sparse_tensor,
    lcast,
    transpose,
    wcast,
    zcast,
)
from .products import dot, sampling_dot, sp_sum, structured_dot, true_dot, usmm
from .regular import regular_grad
from .structure import (
    clean,
    concatenate,
    construct_sparse_from_list,
    diag,
    ensure_sorted_indices,
    getitem,
    hstack,
    remove0,
    sparse_random_inputs,
    square_diagonal,
    vstack,
)

__all__ = [
    name
    for name, value in list(globals().items())
    if not name.startswith("_") and type(value).__name__ != "module"
]


def restored(make, arguments):
    """A sparse tensor out of a pickle: its operators are those of this module, loaded with it."""
    return make(*arguments)


function_of_parts = _sparse_function
_register_sparse(_sys.modules[__name__])
