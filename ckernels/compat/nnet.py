"""Theano's convolutions: `from ckernels.compat import nnet`, with the names and arguments of
tensor.nnet and tensor.nnet.abstract_conv, on tensors of K.
"""

from ..theano.images.nnet import (  # noqa: F401
    assert_conv_shape,
    assert_shape,
    bilinear_kernel_1D,
    bilinear_kernel_2D,
    bilinear_upsampling,
    border_mode_to_pad,
    causal_conv1d,
    check_conv_gradinputs_shape,
    conv2d,
    conv2d_grad_wrt_inputs,
    conv2d_grad_wrt_weights,
    conv2d_transpose,
    conv3d,
    conv3d2d,
    conv3d_grad_wrt_inputs,
    conv3d_grad_wrt_weights,
    frac_bilinear_upsampling,
    get_conv_gradinputs_shape,
    get_conv_gradinputs_shape_1axis,
    get_conv_gradweights_shape,
    get_conv_gradweights_shape_1axis,
    get_conv_output_shape,
    get_conv_shape_1axis,
    images2neibs,
    neibs2images,
    separable_conv2d,
    separable_conv3d,
)
