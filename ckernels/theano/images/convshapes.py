"""Shapes of convolutions, known in part: Theano's helpers of tensor.nnet.abstract_conv.

Sizes are ints or None; shapes are (batch or outputs, channels, *sizes). `border_mode` is "valid",
"full", "half", an int, or per axis an int or a pair.
"""

import numbers

from ... import ops
from ...api.operands import integer, node_of, static_shape
from ...api.tensor import Tensor
from ...base import given
from ...base.errors import ArgumentError, ShapeError
from ...graph.shapes import show
from ...ops.control import CheckError
from ...ops.windows import axis_paddings, count, extent, pads, per_axis


def border_mode_to_pad(mode, convdim, kshp):
    """The padding ((low, high), ...) of `convdim` axes for kernels of the sizes `kshp`.

    >>> border_mode_to_pad(("half", (0, 1)), 2, (3, 5))
    ((1, 1), (0, 1))
    """
    entries = border(mode, integer(convdim, "convdim"))
    kernel = per_axis(kshp, convdim, "kshp", 1, "border_mode_to_pad")
    return tuple(pads(e, None, k, 1, 1) for e, k in zip(entries, kernel))


def border(mode, n, what="border_mode"):
    """A border_mode as the padding of `ops.conv`: one entry per axis."""
    entries = tuple(mode) if isinstance(mode, list) else mode
    if isinstance(entries, tuple):
        entries = tuple(
            (e, e) if isinstance(e, int) and not isinstance(e, bool) else e for e in entries
        )
    found = axis_paddings(entries, n, what)
    if any(e in ("same", "causal", "partial") for e in found):
        raise ArgumentError(f"border_mode must be 'valid', 'full', 'half' or numbers, not {mode!r}")
    return found


def get_conv_shape_1axis(image_shape, kernel_shape, border_mode, subsample, dilation=1):
    """The size of a result along one axis; None when image_shape or kernel_shape is.

    >>> get_conv_shape_1axis(7, 3, "valid", 1, 2)
    3
    """
    if image_shape is None or kernel_shape is None:
        return None
    entry, sizes = border((border_mode,), 1)[0], (image_shape, kernel_shape, subsample, dilation)
    return count(entry, *(integer(s, "a size") for s in sizes))


def _sizes(shape):
    """A shape of images, of kernels or of a result: at least two integers or None."""
    found = static_shape(shape, "a shape of a convolution")
    if len(found) < 2:
        raise ShapeError(f"a shape of a convolution has at least two entries, not {found}")
    return found


def _dilations(dilation, n):
    dilation = 1 if dilation is None else dilation
    return per_axis(dilation, n, "filter_dilation", 1, "the shape of a convolution")


def get_conv_output_shape(image_shape, kernel_shape, border_mode, subsample, filter_dilation=None):
    """The shape of a result: (batch, outputs, *sizes), None where it is not known.

    kernel_shape: (outputs, channels, *sizes), or the six entries of an unshared 2D kernel.

    >>> get_conv_output_shape((2, 3, 5, 5), (7, 3, 3, 3), (1, 1), (2, 2))
    (2, 7, 3, 3)
    """
    image_shape, kernel_shape = _sizes(image_shape), _sizes(kernel_shape)
    n = len(image_shape) - 2
    sizes = zip(
        image_shape[2:],
        kernel_shape[-n:],
        border(border_mode, n),
        per_axis(subsample, n, "subsample", 1, "the shape of a convolution"),
        _dilations(filter_dilation, n),
    )
    return (image_shape[0], kernel_shape[0], *(get_conv_shape_1axis(*axis) for axis in sizes))


def get_conv_gradinputs_shape_1axis(kernel_shape, top_shape, border_mode, subsample, dilation):
    """The size of an image along one axis; None unless the stride is 1 and the sizes are known.

    >>> get_conv_gradinputs_shape_1axis(3, 2, "valid", 1, 1)
    4
    """
    if kernel_shape is None or top_shape is None or integer(subsample, "subsample") != 1:
        return None
    kernel_shape, top_shape = integer(kernel_shape, "a size"), integer(top_shape, "a size")
    dilation = integer(dilation, "dilation")
    around = pads(border((border_mode,), 1)[0], None, kernel_shape, 1, dilation)
    return max(0, top_shape + extent(kernel_shape, dilation) - 1 - sum(around))


def get_conv_gradinputs_shape(
    kernel_shape, top_shape, border_mode, subsample, filter_dilation=None, num_groups=1
):
    """The shape of an image from those of kernel and result; sizes only where the stride is 1.

    >>> get_conv_gradinputs_shape((7, 3, 4, 4), (2, 7, 6, 6), (2, 2), (1, 1))
    (2, 3, 5, 5)
    """
    kernel_shape, top_shape = _sizes(kernel_shape), _sizes(top_shape)
    n = len(top_shape) - 2
    channels = kernel_shape[-n - 1]
    sizes = zip(
        kernel_shape[-n:],
        top_shape[2:],
        border(border_mode, n),
        per_axis(subsample, n, "subsample", 1, "the shape of a convolution"),
        _dilations(filter_dilation, n),
    )
    return (
        top_shape[0],
        None if channels is None else channels * num_groups,
        *(get_conv_gradinputs_shape_1axis(*axis) for axis in sizes),
    )


def get_conv_gradweights_shape_1axis(image_shape, top_shape, border_mode, subsample, dilation):
    """The size of a kernel along one axis; None unless the stride is 1 and border_mode not "half".

    >>> get_conv_gradweights_shape_1axis(5, 3, "valid", 1, 1)
    3
    """
    entry = border((border_mode,), 1)[0]
    if (
        image_shape is None
        or top_shape is None
        or integer(subsample, "subsample") != 1
        or entry == "half"
    ):
        return None
    image_shape, top_shape = integer(image_shape, "a size"), integer(top_shape, "a size")
    dilation = integer(dilation, "dilation")
    # With "full" the result has size image + reach - 1, else image + padding - reach + 1.
    reach = (
        top_shape - image_shape + 1 if entry == "full" else image_shape + sum(entry) - top_shape + 1
    )
    return (reach - 1) // dilation + 1


def get_conv_gradweights_shape(
    image_shape,
    top_shape,
    border_mode,
    subsample,
    filter_dilation=None,
    num_groups=1,
    unshared=False,
):
    """The shape of a kernel from those of image and result; sizes only where the stride is 1.

    >>> get_conv_gradweights_shape((2, 3, 5, 5), (2, 7, 3, 3), "valid", (1, 1))
    (7, 3, 3, 3)
    """
    image_shape, top_shape = _sizes(image_shape), _sizes(top_shape)
    n = len(image_shape) - 2
    channels = None if image_shape[1] is None else image_shape[1] // num_groups
    sizes = zip(
        image_shape[2:],
        top_shape[2:],
        border(border_mode, n),
        per_axis(subsample, n, "subsample", 1, "the shape of a convolution"),
        _dilations(filter_dilation, n),
    )
    places = tuple(top_shape[2:]) if unshared else ()
    return (
        top_shape[1],
        *places,
        channels,
        *(get_conv_gradweights_shape_1axis(*axis) for axis in sizes),
    )


def check_conv_gradinputs_shape(
    image_shape, kernel_shape, output_shape, border_mode, subsample, filter_dilation=None
):
    """False when an image and a kernel of these shapes give another result; True when they may.

    >>> check_conv_gradinputs_shape((2, 3, 9, 9), (7, 3, 4, 4), (2, 7, 3, 3), "valid", (2, 2))
    True
    """
    image_shape, kernel_shape = _sizes(image_shape), _sizes(kernel_shape)
    if any(isinstance(s, numbers.Integral) and s < 0 for s in output_shape):
        return False  # no result has such a size
    output_shape = _sizes(output_shape)
    if not len(image_shape) == len(kernel_shape) == len(output_shape):
        return False
    try:
        want = get_conv_output_shape(
            image_shape, kernel_shape, border_mode, subsample, filter_dilation
        )
    except ShapeError:
        return False
    return all(None in pair or pair[0] == pair[1] for pair in zip(want, output_shape))


def assert_conv_shape(shape):
    """`shape` if it can be that of an image, a kernel or a result: the first two entries at least
    0, the others above. ValueError for integers that are not; tensors are checked when they are
    computed (CheckError, an AssertionError).

    >>> assert_conv_shape((2, 3, 5, None))
    (2, 3, 5, None)
    """
    return tuple(_asserted(shape, k, s) for k, s in enumerate(given.sequence(shape, "shape")))


def _asserted(shape, k, s):
    least = 0 if k < 2 else 1
    text = f"entry {k} of the shape of a convolution must be at least {least}"
    if s is None:
        return s
    if isinstance(s, numbers.Integral):
        if s < least:
            raise ShapeError(f"{text}: {tuple(shape)}")
        return s
    node = node_of(s, "an entry of the shape")
    return Tensor(ops.check(node, ops.ge(node, least), message=text))


def assert_shape(x, expected_shape, msg="Unexpected shape."):
    """`x`, checked to have the shape `expected_shape` (None, or a tuple with None) where that is
    not known yet: CheckError, an AssertionError, when it is computed. A shape that is known to be
    another one is an error at once.

    >>> x = K.placeholder((2, None))
    >>> assert_shape(x, (2, 3)).eval({x: np.ones((2, 3))}).shape
    (2, 3)
    """
    node = node_of(x, "x")
    if expected_shape is not None:
        expected_shape = given.sequence(expected_shape, "expected_shape")
    if expected_shape is None or all(s is None for s in expected_shape):
        return x
    if len(expected_shape) != node.ndim:
        raise CheckError(
            f"{msg} {show_hint(expected_shape)} has {len(expected_shape)} entries, "
            f"the tensor has shape {show(node.shape)}"
        )
    conditions = []
    for axis, (want, have) in enumerate(zip(expected_shape, node.shape)):
        if isinstance(want, numbers.Integral) and have is not None:
            if want != have:
                raise CheckError(
                    f"{msg} {show_hint(expected_shape)} was expected, the tensor has "
                    f"shape {show(node.shape)}"
                )
        elif want is not None:
            conditions.append(ops.eq(ops.size_of(node, axis), node_of(want, "a size")))
    return Tensor(ops.check(node, *conditions, message=msg)) if conditions else x


def check_hint(what, x, shape):
    """ShapeError when a hint (None, or a tuple with None) contradicts the shape of node `x`."""
    if shape is None:
        return
    shape = tuple(given.sequence(shape, what))
    if len(shape) != x.ndim:
        raise ShapeError(
            f"{what} {show_hint(shape)} has {len(shape)} entries for a tensor of "
            f"shape {show(x.shape)}"
        )
    if any(isinstance(s, int) and d not in (None, s) for s, d in zip(shape, x.shape)):
        raise ShapeError(f"{what} {show_hint(shape)} contradicts the shape {show(x.shape)}")


def show_hint(shape):
    return show(tuple(s if isinstance(s, int) else None for s in shape))
