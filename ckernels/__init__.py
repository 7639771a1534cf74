# ruff: noqa: F401
"""ckernels: symbolic tensor expressions compiled to C, behind the Keras backend API.

`import ckernels as K`, then K.placeholder, K.variable, K.function and the functions below. This
file only names what is public; some names hide Python's own (abs, all, any, max, min, pow, round,
sum), as in Keras.
"""

import importlib as _importlib

from . import errors
from .base import collector as _collector

with _collector.later(for_good=True):
    from .api.arrays import register_names as _register_names
    from .api.attention import scaled_dot_product_attention
    from .api.config import (
        backend,
        blas_info,
        cast_to_floatx,
        clear_session,
        epsilon,
        floatx,
        get_num_threads,
        get_uid,
        image_data_format,
        image_dim_ordering,
        intx,
        manual_variable_initialization,
        reset_uids,
        set_epsilon,
        set_floatx,
        set_image_data_format,
        set_image_dim_ordering,
        set_intx,
        set_num_threads,
        threads_info,
    )
    from .api.control import (
        check,
        grad_clip,
        grad_scale,
        zero_grad,
    )
    from .api.conv import (
        conv,
        conv1d,
        conv2d,
        conv2d_transpose,
        conv3d,
        conv3d_transpose,
        conv_transpose,
        depthwise_conv2d,
        local_conv1d,
        local_conv2d,
        separable_conv1d,
        separable_conv2d,
    )
    from .api.ctc import ctc, ctc_batch_cost, ctc_decode, ctc_label_dense_to_sparse
    from .api.decompositions import (
        cho_solve,
        cholesky,
        eig,
        eigh,
        eigvalsh,
        expm,
        lstsq,
        matrix_dot,
        matrix_power,
        pinv,
        qr,
        slogdet,
        solve_triangular,
        tensorinv,
        tensorsolve,
    )
    from .api.draw import draw, explain
    from .api.fourier import (
        irfft,
        rfft,
    )
    from .api.function import In, Out, function
    from .api.gradients import (
        Lop,
        Rop,
        checkpoint,
        grad,
        gradients,
        hessian,
        jacobian,
        stop_gradient,
    )
    from .api.hints import missing_of_module as _missing_of_module
    from .api.indexing import (
        choose,
        compress,
        flatnonzero,
        gather,
        inc_subtensor,
        nonzero,
        one_hot,
        ravel_multi_index,
        set_subtensor,
        take,
        take_along_axis,
        unravel_index,
    )
    from .api.learning_phase import (
        ifelse,
        in_test_phase,
        in_train_phase,
        learning_phase,
        set_learning_phase,
        switch,
    )
    from .api.linalg import (
        batch_dot,
        det,
        diag,
        dot,
        fill_diagonal,
        inverse,
        kron,
        matmul,
        outer,
        solve,
        svd,
        tensordot,
    )
    from .api.losses import (
        binary_crossentropy,
        categorical_crossentropy,
        sparse_categorical_crossentropy,
    )
    from .api.math import (
        abs,
        all,
        allclose,
        any,
        arccos,
        arcsin,
        arctan,
        argmax,
        argmin,
        ceil,
        clip,
        cos,
        cosh,
        cumprod,
        cumsum,
        equal,
        erf,
        erfc,
        exp,
        exp2,
        expm1,
        floor,
        greater,
        greater_equal,
        isinf,
        isnan,
        less,
        less_equal,
        log,
        log1p,
        log2,
        log10,
        logdiffexp,
        logical_and,
        logical_not,
        logical_or,
        logsumexp,
        max,
        maximum,
        mean,
        min,
        minimum,
        not_equal,
        pow,
        prod,
        round,
        rsqrt,
        sign,
        sin,
        sinh,
        sqrt,
        square,
        std,
        sum,
        tan,
        var,
        where,
    )
    from .api.matrices import (
        bartlett,
        cov,
        diagonal,
        fill_diagonal_offset,
        trace,
        tri,
        tril,
        triu,
    )
    from .api.nn import (
        batch_normalization,
        bias_add,
        dropout,
        elu,
        hard_sigmoid,
        in_top_k,
        l2_normalize,
        log_softmax,
        normalize_batch_in_training,
        relu,
        sigmoid,
        softmax,
        softplus,
        softsign,
        tanh,
    )
    from .api.own import c_op, py_op
    from .api.pool import (
        pool,
        pool2d,
        pool3d,
        resize_images,
        resize_volumes,
        spatial_2d_padding,
        spatial_3d_padding,
    )
    from .api.random import (
        categorical,
        multinomial,
        permutation,
        random_binomial,
        random_normal,
        random_normal_variable,
        random_uniform,
        random_uniform_variable,
        set_random_seed,
        truncated_normal,
    )
    from .api.randomstreams import RandomStreams
    from .api.rnn import rnn
    from .api.scan import foldl, foldr, map_fn, scan, until
    from .api.shape import (
        arange,
        batch_flatten,
        broadcast_to,
        concatenate,
        expand_dims,
        flatten,
        moveaxis,
        permute_dimensions,
        repeat,
        repeat_elements,
        reshape,
        reverse,
        roll,
        split,
        squeeze,
        stack,
        swapaxes,
        temporal_padding,
        tile,
        transpose,
    )
    from .api.shared import shared
    from .api.sorting import (
        argsort,
        bincount,
        diff,
        median,
        partition,
        percentile,
        quantile,
        searchsorted,
        sort,
        top_k,
        unique,
    )
    from .api.special import (
        angle,
        arccosh,
        arcsinh,
        arctan2,
        arctanh,
        betainc,
        betaln,
        chi2sf,
        conj,
        deg2rad,
        erfcinv,
        erfcx,
        erfinv,
        gamma,
        gammainc,
        gammaincc,
        gammaln,
        i0,
        i0e,
        i1,
        i1e,
        imag,
        isclose,
        isfinite,
        ive,
        j0,
        j1,
        kve,
        log1mexp,
        log_ndtr,
        logaddexp,
        logical_xor,
        ndtr,
        ndtri_exp,
        owens_t,
        psi,
        rad2deg,
        real,
        tri_gamma,
        trunc,
    )
    from .api.split import Split, split_updates
    from .api.tensor import Tensor, Variable
    from .api.updates import moving_average_update, update, update_add, update_sub
    from .api.variables import (
        batch_get_value,
        batch_set_value,
        cast,
        constant,
        count_params,
        dtype,
        eval,
        eye,
        get_value,
        get_variable_shape,
        identity,
        int_shape,
        is_keras_tensor,
        is_placeholder,
        is_sparse,
        is_tensor,
        is_variable,
        ndim,
        ones,
        ones_like,
        placeholder,
        print_tensor,
        set_value,
        shape,
        to_dense,
        variable,
        zeros,
        zeros_like,
    )
    from .base.version import VERSION as _VERSION
    from .compat._loading import refuse as _refuse
    from .compat._loading import watch as _watch
    from .config import config
    from .export import export
    from .graph.printing import debugprint, pp

# `ckernels.config` is the flags, which hide the module of that name; for programs that expect the
# module, `ckernels.config.config` is the flags too.
vars(config)["config"] = config

_watch(__name__, _refuse)  # Keras's backend is ckernels.compat.keras2, not this


_EXPRESSIONS = ("evaluate", "evaluate_grad", "re_evaluate")


def __getattr__(name):
    """K.sparse, K.jit, K.numpy and what evaluates text, loaded with the first use; hints."""
    if name == "sparse":
        from .api import sparse  # start-up

        return sparse
    if name == "jit":
        from .jit import jit_module  # start-up

        return jit_module
    if name == "numpy":
        return _importlib.import_module(".numpy", __name__)
    if name in _EXPRESSIONS:
        from .jit.expression import run  # start-up

        for function in _EXPRESSIONS:
            globals()[function] = getattr(run, function)
        return globals()[name]
    if name.startswith("_"):  # asked by Python and by libraries
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise _missing_of_module(name, __all__)


def __dir__():
    """What users may want: the public names, K.sparse before its first use too, no rooms."""
    return sorted(
        {
            *__all__,
            "compat",
            "errors",
            "jit",
            "numpy",
            "sparse",
            *(n for n in globals() if n[:2] == "__"),
        }
    )


__version__ = _VERSION
__all__ = [
    name
    for name, value in list(globals().items())
    if not name.startswith("_") and type(value).__name__ != "module"
]
_register_names(__all__)
