"""Theano's convolutions: `from ckernels.compat import nnet`, with the names and arguments of
tensor.nnet and tensor.nnet.abstract_conv.

Images are (batch, channels, *sizes), filters (outputs, channels / num_groups, *sizes), flipped
unless filter_flip=False. border_mode: "valid", "full", "half", an int, or per axis an int or a pair
(low, high). Shapes given as hints are checked where they are known and not needed otherwise.
"""
# ruff: noqa: F401

from ... import ops
from ...api.conv import from_last, to_last
from ...api.operands import integer, node_of
from ...api.tensor import Tensor
from ...base import given
from ...base.errors import ArgumentError, ShapeError, did_you_mean, options_of
from ...base.warned import warn_user
from ...graph.node import Node
from ...graph.shapes import show
from . import unshared as _unshared
from .convshapes import (
    assert_conv_shape,
    assert_shape,
    border,
    border_mode_to_pad,
    check_conv_gradinputs_shape,
    check_hint,
    get_conv_gradinputs_shape,
    get_conv_gradinputs_shape_1axis,
    get_conv_gradweights_shape,
    get_conv_gradweights_shape_1axis,
    get_conv_output_shape,
    get_conv_shape_1axis,
)
from .neighbours import images2neibs, neibs2images
from .upsampling import (
    bilinear_kernel_1D,
    bilinear_kernel_2D,
    bilinear_upsampling,
    frac_bilinear_upsampling,
)


def _node(x, what, ndim):
    x = node_of(x, what)
    if x.ndim != ndim:
        raise ShapeError(f"{what} must have {ndim} dimensions, got shape {show(x.shape)}")
    return x


def _kernel(filters, n, flip):
    """Filters (outputs, channels, *sizes) as a kernel (*sizes, channels, outputs)."""
    w = ops.transpose(filters, (*range(2, n + 2), 1, 0))
    return ops.flip(w, tuple(range(n))) if flip else w


def _filters(kernel, n, flip):
    """A kernel as filters: `_kernel` undone."""
    w = ops.flip(kernel, tuple(range(n))) if flip else kernel
    return Tensor(ops.transpose(w, (n + 1, n, *range(n))))


def _options(n, border_mode, subsample, dilation, groups=None):
    found = {"strides": subsample, "padding": border(border_mode, n), "dilation": dilation}
    return found if groups is None else {**found, "groups": groups}


# --- forward ----------------------------------------------------------------------------------


def _conv(
    n,
    input,
    filters,
    input_shape,
    filter_shape,
    border_mode,
    subsample,
    filter_flip,
    filter_dilation,
    num_groups,
):
    x, w = _node(input, "input", n + 2), _node(filters, "filters", n + 2)
    check_hint("input_shape", x, input_shape)
    check_hint("filter_shape", w, filter_shape)
    options = _options(n, border_mode, subsample, filter_dilation, num_groups)
    y = ops.conv(to_last(x, "channels_first"), _kernel(w, n, filter_flip), **options)
    return from_last(y, "channels_first")


def warn_ignored(names):
    """Warn of arguments that Theano's conv2d takes and ignores, or that are misspelt."""
    hint = did_you_mean(min(names), options_of(conv2d))
    warn_user(f"conv2d ignores {', '.join(sorted(names))}: no such argument changes a result{hint}")


def conv2d(
    input,
    filters,
    input_shape=None,
    filter_shape=None,
    border_mode="valid",
    subsample=(1, 1),
    filter_flip=True,
    image_shape=None,
    filter_dilation=(1, 1),
    num_groups=1,
    unshared=False,
    **kwargs,
):
    """Images (batch, channels, rows, columns) convolved with filters (outputs, channels /
    num_groups, rows, columns), or (outputs, result rows, result columns, channels / num_groups,
    rows, columns) with unshared=True. Returns (batch, outputs, result rows, result columns).

    image_shape is the old name of input_shape; other keyword arguments are ignored.

    >>> x = K.variable(np.arange(9.0).reshape(1, 1, 3, 3))
    >>> w = K.variable([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> conv2d(x, w).eval()[0, 0]               # 4 * x[0, 0] + 3 * x[0, 1] + 2 * x[1, 0] + x[1, 1]
    array([[13., 23.],
           [43., 53.]], dtype=float32)
    """
    if kwargs:
        warn_ignored(kwargs)
    input_shape = image_shape if input_shape is None else input_shape
    if unshared:
        check_hint("filter_shape", node_of(filters, "filters"), filter_shape)
        return _unshared.conv(
            input,
            filters,
            filter_flip,
            num_groups,
            _options(2, border_mode, subsample, filter_dilation),
        )
    return _conv(
        2,
        input,
        filters,
        input_shape,
        filter_shape,
        border_mode,
        subsample,
        filter_flip,
        filter_dilation,
        num_groups,
    )


def conv3d(
    input,
    filters,
    input_shape=None,
    filter_shape=None,
    border_mode="valid",
    subsample=(1, 1, 1),
    filter_flip=True,
    filter_dilation=(1, 1, 1),
    num_groups=1,
):
    """Volumes (batch, channels, depth, rows, columns) convolved with filters (outputs, channels /
    num_groups, depth, rows, columns).

    >>> K.int_shape(conv3d(K.ones((1, 2, 4, 4, 4)), K.ones((3, 2, 2, 2, 2)), border_mode="full"))
    (1, 3, 5, 5, 5)
    """
    return _conv(
        3,
        input,
        filters,
        input_shape,
        filter_shape,
        border_mode,
        subsample,
        filter_flip,
        filter_dilation,
        num_groups,
    )


def conv3d2d(signals, filters, signals_shape=None, filters_shape=None, border_mode="valid"):
    """Theano's conv3d2d.conv3d: movies (batch, time, channels, rows, columns) convolved with
    filters (outputs, time, channels, rows, columns), to (batch, time, outputs, rows, columns).

    >>> K.int_shape(conv3d2d(K.ones((2, 5, 3, 6, 6)), K.ones((4, 2, 3, 3, 3))))
    (2, 4, 4, 4, 4)
    """
    x, w = _node(signals, "signals", 5), _node(filters, "filters", 5)
    check_hint("signals_shape", x, signals_shape)
    check_hint("filters_shape", w, filters_shape)
    x, w = ops.transpose(x, (0, 1, 3, 4, 2)), ops.transpose(w, (1, 3, 4, 2, 0))
    y = ops.conv(x, ops.flip(w, (0, 1, 2)), padding=border(border_mode, 3))
    return Tensor(ops.transpose(y, (0, 1, 4, 2, 3)))


def causal_conv1d(
    input,
    filters,
    filter_shape,
    input_shape=None,
    subsample=1,
    filter_flip=True,
    filter_dilation=1,
    num_groups=1,
    unshared=False,
):
    """Sequences (batch, channels, length) convolved with filters (outputs, channels / num_groups,
    length), padded in front only: output t sees no input after t.

    >>> x = K.variable(np.arange(4.0).reshape(1, 1, 4))
    >>> causal_conv1d(x, K.ones((1, 1, 2)), (1, 1, 2)).eval().ravel()
    array([0., 1., 3., 5.], dtype=float32)
    """
    x, w = _node(input, "input", 3), node_of(filters, "filters")
    check_hint("input_shape", x, input_shape)
    options = {"strides": subsample, "padding": "causal", "dilation": filter_dilation}
    if unshared:
        return _unshared.conv(x, w, filter_flip, num_groups, options)
    w = _node(w, "filters", 3)
    check_hint("filter_shape", w, filter_shape)
    y = ops.conv(
        to_last(x, "channels_first"), _kernel(w, 1, filter_flip), groups=num_groups, **options
    )
    return from_last(y, "channels_first")


# --- separable --------------------------------------------------------------------------------


def separable(
    conv,
    input,
    depthwise_filters,
    pointwise_filters,
    num_channels,
    input_shape,
    depthwise_filter_shape,
    pointwise_filter_shape,
    filter_flip,
    **how,
):
    """Two convolutions by `conv`: each channel with its own filters, then a mixture."""
    y = conv(
        input,
        depthwise_filters,
        input_shape,
        depthwise_filter_shape,
        filter_flip=filter_flip,
        num_groups=num_channels,
        **how,
    )
    return conv(y, pointwise_filters, None, pointwise_filter_shape, filter_flip=filter_flip)


def separable_conv2d(
    input,
    depthwise_filters,
    pointwise_filters,
    num_channels,
    input_shape=None,
    depthwise_filter_shape=None,
    pointwise_filter_shape=None,
    border_mode="valid",
    subsample=(1, 1),
    filter_flip=True,
    filter_dilation=(1, 1),
):
    """Each of num_channels channels with its own filters (depthwise outputs, 1, rows, columns),
    then a mixture of the results by filters (outputs, depthwise outputs, 1, 1).

    >>> x, d, p = K.ones((1, 3, 5, 5)), K.ones((6, 1, 3, 3)), K.ones((4, 6, 1, 1))
    >>> K.int_shape(separable_conv2d(x, d, p, 3))
    (1, 4, 3, 3)
    """
    return separable(
        conv2d,
        input,
        depthwise_filters,
        pointwise_filters,
        num_channels,
        input_shape,
        depthwise_filter_shape,
        pointwise_filter_shape,
        filter_flip,
        border_mode=border_mode,
        subsample=subsample,
        filter_dilation=filter_dilation,
    )


def separable_conv3d(
    input,
    depthwise_filters,
    pointwise_filters,
    num_channels,
    input_shape=None,
    depthwise_filter_shape=None,
    pointwise_filter_shape=None,
    border_mode="valid",
    subsample=(1, 1, 1),
    filter_flip=True,
    filter_dilation=(1, 1, 1),
):
    """`separable_conv2d` with one axis more.

    >>> x, d, p = K.ones((1, 3, 5, 5, 5)), K.ones((6, 1, 3, 3, 3)), K.ones((4, 6, 1, 1, 1))
    >>> K.int_shape(separable_conv3d(x, d, p, 3))
    (1, 4, 3, 3, 3)
    """
    return separable(
        conv3d,
        input,
        depthwise_filters,
        pointwise_filters,
        num_channels,
        input_shape,
        depthwise_filter_shape,
        pointwise_filter_shape,
        filter_flip,
        border_mode=border_mode,
        subsample=subsample,
        filter_dilation=filter_dilation,
    )


# --- gradients --------------------------------------------------------------------------------


def _sizes(shape, n, what, smallest):
    """The last `n` entries of a target shape: ints and scalar nodes; None from `smallest`."""
    if shape is None or isinstance(getattr(shape, "node", None), Node):
        raise ArgumentError(f"{what} must be a tuple whose last {n} entries are sizes")
    entries = [getattr(s, "node", s) for s in given.sequence(shape, what)[-n:]]
    if len(entries) != n:
        raise ShapeError(f"{what} must have {n} or more entries, got {tuple(shape)}")
    out = []
    for k, s in enumerate(entries):
        s = smallest[k] if s is None else s
        if s is None:
            raise ShapeError(
                f"{what} must give the size of spatial axis {k}: with a stride, or "
                "with unknown shapes, several are possible"
            )
        out.append(ops.cast(s, "int64") if isinstance(s, Node) else integer(s, what))
    return out


def _grad_inputs(
    n,
    output_grad,
    filters,
    input_shape,
    filter_shape,
    border_mode,
    subsample,
    filter_flip,
    filter_dilation,
    num_groups,
):
    g, w = _node(output_grad, "output_grad", n + 2), _node(filters, "filters", n + 2)
    check_hint("filter_shape", w, filter_shape)
    smallest = get_conv_gradinputs_shape(w.shape, g.shape, border_mode, subsample, filter_dilation)
    sizes = _sizes(input_shape, n, "input_shape", smallest[2:])
    options = _options(n, border_mode, subsample, filter_dilation, num_groups)
    x = ops.conv_input_grad(
        to_last(g, "channels_first"), _kernel(w, n, filter_flip), sizes, **options
    )
    if len(input_shape) == n + 2:
        check_hint("input_shape", ops.transpose(x, (0, n + 1, *range(1, n + 1))), input_shape)
    return from_last(x, "channels_first")


def conv2d_grad_wrt_inputs(
    output_grad,
    filters,
    input_shape,
    filter_shape=None,
    border_mode="valid",
    subsample=(1, 1),
    filter_flip=True,
    filter_dilation=(1, 1),
    num_groups=1,
    unshared=False,
):
    """The gradient of conv2d with respect to its input, given that of its output.

    input_shape: (batch, channels, rows, columns) or (rows, columns) of the result, the first two
    may be None; ints or scalar tensors. With a stride several are possible, so sizes cannot be
    left open there.

    >>> g, w = K.ones((1, 7, 3, 3)), K.ones((7, 2, 4, 4))
    >>> K.int_shape(conv2d_grad_wrt_inputs(g, w, (None, None, 9, 9), subsample=(2, 2)))
    (1, 2, 9, 9)
    """
    if unshared:
        sizes = _sizes(input_shape, 2, "input_shape", (None, None))
        return _unshared.input_grad(
            output_grad,
            filters,
            sizes,
            filter_flip,
            num_groups,
            _options(2, border_mode, subsample, filter_dilation),
        )
    return _grad_inputs(
        2,
        output_grad,
        filters,
        input_shape,
        filter_shape,
        border_mode,
        subsample,
        filter_flip,
        filter_dilation,
        num_groups,
    )


def conv3d_grad_wrt_inputs(
    output_grad,
    filters,
    input_shape,
    filter_shape=None,
    border_mode="valid",
    subsample=(1, 1, 1),
    filter_flip=True,
    filter_dilation=(1, 1, 1),
    num_groups=1,
):
    """`conv2d_grad_wrt_inputs` with one axis more.

    >>> g, w = K.ones((1, 7, 3, 3, 3)), K.ones((7, 2, 2, 2, 2))
    >>> K.int_shape(conv3d_grad_wrt_inputs(g, w, (1, 2, 4, 4, 4)))
    (1, 2, 4, 4, 4)
    """
    return _grad_inputs(
        3,
        output_grad,
        filters,
        input_shape,
        filter_shape,
        border_mode,
        subsample,
        filter_flip,
        filter_dilation,
        num_groups,
    )


def conv2d_transpose(
    input,
    filters,
    output_shape,
    filter_shape=None,
    border_mode="valid",
    input_dilation=(1, 1),
    filter_flip=True,
    filter_dilation=(1, 1),
    num_groups=1,
    unshared=False,
):
    """The transposed convolution: up from (batch, channels in, rows, columns), with filters
    (channels in, channels out, rows, columns), to output_shape. border_mode crops the result.

    >>> x, w = K.ones((1, 3, 3, 3)), K.ones((3, 2, 3, 3))
    >>> K.int_shape(conv2d_transpose(x, w, (1, 2, 6, 6), border_mode="half", input_dilation=(2, 2)))
    (1, 2, 6, 6)
    """
    return conv2d_grad_wrt_inputs(
        input,
        filters,
        output_shape,
        filter_shape,
        border_mode,
        input_dilation,
        filter_flip,
        filter_dilation,
        num_groups,
        unshared,
    )


def _grad_weights(
    n,
    input,
    output_grad,
    filter_shape,
    input_shape,
    border_mode,
    subsample,
    filter_flip,
    filter_dilation,
    num_groups,
):
    x, g = _node(input, "input", n + 2), _node(output_grad, "output_grad", n + 2)
    check_hint("input_shape", x, input_shape)
    found = get_conv_gradweights_shape(
        x.shape, g.shape, border_mode, subsample, filter_dilation, num_groups
    )
    sizes = _sizes(filter_shape, n, "filter_shape", found[2:])
    options = _options(n, border_mode, subsample, filter_dilation, num_groups)
    w = ops.conv_weight_grad(
        to_last(x, "channels_first"), to_last(g, "channels_first"), sizes, **options
    )
    return _filters(w, n, filter_flip)


def conv2d_grad_wrt_weights(
    input,
    output_grad,
    filter_shape,
    input_shape=None,
    border_mode="valid",
    subsample=(1, 1),
    filter_flip=True,
    filter_dilation=(1, 1),
    num_groups=1,
    unshared=False,
):
    """The gradient of conv2d with respect to its filters, given that of its output.

    filter_shape: that of the result, or its last two entries; as input_shape in
    `conv2d_grad_wrt_inputs`.

    >>> x, g = K.ones((1, 2, 9, 9)), K.ones((1, 7, 3, 3))
    >>> K.int_shape(conv2d_grad_wrt_weights(x, g, (7, 2, 4, 4), subsample=(2, 2)))
    (7, 2, 4, 4)
    """
    if unshared:
        sizes = _sizes(filter_shape, 2, "filter_shape", (None, None))
        return _unshared.weight_grad(
            input,
            output_grad,
            sizes,
            filter_flip,
            num_groups,
            _options(2, border_mode, subsample, filter_dilation),
        )
    return _grad_weights(
        2,
        input,
        output_grad,
        filter_shape,
        input_shape,
        border_mode,
        subsample,
        filter_flip,
        filter_dilation,
        num_groups,
    )


def conv3d_grad_wrt_weights(
    input,
    output_grad,
    filter_shape,
    input_shape=None,
    border_mode="valid",
    subsample=(1, 1, 1),
    filter_flip=True,
    filter_dilation=(1, 1, 1),
    num_groups=1,
):
    """`conv2d_grad_wrt_weights` with one axis more.

    >>> x, g = K.ones((1, 2, 4, 4, 4)), K.ones((1, 7, 3, 3, 3))
    >>> K.int_shape(conv3d_grad_wrt_weights(x, g, (7, 2, 2, 2, 2)))
    (7, 2, 2, 2, 2)
    """
    return _grad_weights(
        3,
        input,
        output_grad,
        filter_shape,
        input_shape,
        border_mode,
        subsample,
        filter_flip,
        filter_dilation,
        num_groups,
    )
