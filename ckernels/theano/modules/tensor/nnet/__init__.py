"""theano.tensor.nnet: activations, losses, convolutions, batch normalisation, CTC."""
# ruff: noqa: F401

import sys

from ....base.names import absent_of as _absent_of
from ....tensor.nnet.activations import (
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
from ....tensor.nnet.bn import (
    batch_normalization,
    batch_normalization_test,
    batch_normalization_train,
)
from ....tensor.nnet.ctc import ctc
from ....tensor.nnet.losses import (
    CrossentropyCategorical1Hot,
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

nnet = sys.modules[__name__]  # theano.tensor.nnet.nnet

__getattr__ = _absent_of(
    "theano.tensor.nnet",
    {
        "tensor.nnet.abstract_conv": """conv2d conv3d conv2d_transpose conv2d_grad_wrt_inputs
            separable_conv2d separable_conv3d causal_conv1d""",
        "tensor.nnet.blocksparse": "sparse_block_dot",
    },
)
