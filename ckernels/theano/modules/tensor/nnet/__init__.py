"""theano.tensor.nnet: activations, losses, convolutions, batch normalisation, CTC."""
# ruff: noqa: F401

import importlib

from .activations import (
    elu,
    h_softmax,
    hard_sigmoid,
    relu,
    selu,
    sigmoid,
    softplus,
    softsign,
    ultra_fast_sigmoid,
)
from .bn import batch_normalization, batch_normalization_test, batch_normalization_train
from .losses import (
    CrossentropyCategorical1HotGrad,
    CrossentropySoftmax1HotWithBiasDx,
    CrossentropySoftmaxArgmax1HotWithBias,
    LogSoftmax,
    Prepend_scalar_constant_to_each_row,
    Prepend_scalar_to_each_row,
    Softmax,
    SoftmaxGrad,
    SoftmaxWithBias,
    binary_crossentropy,
    categorical_crossentropy,
    confusion_matrix,
    crossentropy_categorical_1hot,
    crossentropy_categorical_1hot_grad,
    crossentropy_softmax_1hot,
    crossentropy_softmax_1hot_with_bias,
    crossentropy_softmax_1hot_with_bias_dx,
    crossentropy_softmax_argmax_1hot_with_bias,
    crossentropy_softmax_max_and_argmax_1hot,
    crossentropy_softmax_max_and_argmax_1hot_with_bias,
    logsoftmax,
    logsoftmax_op,
    prepend_0_to_each_row,
    prepend_1_to_each_row,
    prepend_scalar_to_each_row,
    sigmoid_binary_crossentropy,
    softmax,
    softmax_grad,
    softmax_graph,
    softmax_op,
    softmax_with_bias,
)

_CONV = ("conv2d", "conv3d", "conv2d_transpose", "conv2d_grad_wrt_inputs", "separable_conv2d",
         "separable_conv3d", "causal_conv1d")  # fmt: skip
_MODULES = {"conv": "abstract_conv", "abstract_conv": "abstract_conv", "bn": "bn",
            "neighbours": "neighbours", "sigm": "activations", "nnet": None,
            "conv3d2d": "conv3d2d", "blocksparse": "blocksparse", "corr": "abstract_conv",
            "corr3d": "abstract_conv"}  # fmt: skip


def __getattr__(name):
    from ...names import elsewhere

    if name in _CONV:
        return getattr(importlib.import_module(".abstract_conv", __name__), name)
    if name in _MODULES:
        if _MODULES[name] is None:
            import sys  # no name of this module

            return sys.modules[__name__]
        return importlib.import_module("." + _MODULES[name], __name__)
    if name == "ctc":
        found = globals()["ctc"] = importlib.import_module(".ctc", __name__).ctc
        return found
    if name == "sparse_block_dot":
        return importlib.import_module(".blocksparse", __name__).sparse_block_dot
    return elsewhere("theano.tensor.nnet", name)
