"""Convolutions and their gradients, and the AbstractConv classes that programs call.

The functions are those of ckernels.compat.nnet; here they take and give Theano's variables. Shapes
given as hints are checked where they are known.
"""

import numpy as np

from .... import ops
from ....api.tensor import Tensor
from ....base import given
from ....base.errors import ArgumentError, UsageError
from ...base.config import config
from ...base.names import absent_of as _absent_of
from ...base.signatures import like as _like
from ...classes.meanings import upcast
from ...classes.op import KernelOp
from ...graph.apply import Constant
from ...handles.variables import Handle, as_tensor_variable
from ...images import nnet as own
from ...images.convshapes import (  # noqa: F401
    assert_conv_shape,
    assert_shape,
    border_mode_to_pad,
    check_conv_gradinputs_shape,
    get_conv_gradinputs_shape,
    get_conv_gradinputs_shape_1axis,
    get_conv_gradweights_shape,
    get_conv_gradweights_shape_1axis,
    get_conv_output_shape,
    get_conv_shape_1axis,
)
from ..creation import arange
from ..elementwise import eq
from ..raise_op import Assert
from ..shaping import as_shape, get_vector_length, specify_shape
from .sized import Sized


def hint_of(shape):
    """A shape of ints and None."""
    if shape is None:
        return None
    found = []
    for s in tuple(shape):
        if hasattr(s, "data") and isinstance(getattr(s, "data", None), np.ndarray):
            s = int(s.data)
        found.append(int(s) if isinstance(s, (int, np.integer)) else None)
        if s is not None and not isinstance(s, (int, np.integer, Handle)):
            raise ArgumentError(f"a shape has integers and None, not {s!r}")
    return tuple(found)


def _known_shape(shape, n):
    """The shape of images or filters that an op was made for: ints, constants and None."""
    if shape is None:
        return (None,) * (n + 2)
    if isinstance(shape, Handle):
        raise ArgumentError("imshp and kshp are tuples of ints and None, not a variable")
    found = tuple(int(s.data) if isinstance(s, Constant) else s for s in shape)
    if any(isinstance(s, Handle) for s in found):
        raise ArgumentError(f"imshp and kshp hold ints, constants and None, not {shape!r}")
    return found


def _border(mode):
    if isinstance(mode, str):
        return mode
    what = "border_mode, or each of its numbers,"
    if isinstance(mode, (int, np.integer)):
        return given.integer(mode, what)
    return tuple(
        tuple(given.integer(v, what) for v in m)
        if isinstance(m, (list, tuple))
        else given.integer(m, what)
        for m in given.sequence(mode, "border_mode")
    )


def _ints(values):
    return tuple(int(v) for v in (values.data if isinstance(values, Handle) else values))


def _convolution(*nodes, function, options):
    """A function of ckernels.compat.nnet on nodes, as a node."""
    return getattr(own, function)(*(Tensor(n) for n in _common(nodes)), **dict(options)).node


def _common(nodes):
    dtype = upcast(*(n.dtype for n in nodes))
    if not dtype.startswith("float"):
        raise UsageError(f"a convolution needs floats, not {dtype}")
    return [ops.cast(n, dtype) for n in nodes]


def applied_to(name, function, tensors, **options):
    return KernelOp(_convolution, name, function=function, options=tuple(sorted(options.items())))(
        *tensors
    )


def images_of(x, ndim, what):
    x = as_tensor_variable(x)
    if x.ndim != ndim:
        raise UsageError(f"{what} must be {ndim}D tensor, got {x.ndim} dimensions")
    return x


def _asserted(x, shape, what):
    """`x`, whose sizes each call compares with `shape` where the flag conv.assert_shape says so."""
    if shape is None or not config.conv.assert_shape:
        return x
    x, known = as_tensor_variable(x), hint_of(shape)
    conditions = [eq(x.shape[k], s) for k, s in enumerate(known) if s is not None]
    return Assert(f"{what} of a convolution should have the shape {known}")(x, *conditions)


def _checked(n, border_mode, subsample, dilation):
    border_mode = _border(border_mode)
    if isinstance(border_mode, str) and border_mode not in ("valid", "full", "half"):
        raise ArgumentError(
            f"border_mode is 'valid', 'full', 'half', an int or a tuple of {n}, not {border_mode!r}"
        )
    if isinstance(border_mode, tuple) and len(border_mode) != n:
        raise ArgumentError(f"border_mode {border_mode} needs {n} values, one for each axis")
    subsample, dilation = _ints(subsample), _ints(dilation)
    if len(subsample) != n:
        raise ArgumentError(f"subsample must have {n} elements")
    if len(dilation) != n:
        raise ArgumentError(f"filter_dilation must have {n} elements")
    return border_mode, subsample, dilation


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
    unshared=False,
):
    border_mode, subsample, dilation = _checked(n, border_mode, subsample, filter_dilation)
    x = images_of(input, n + 2, "img")
    w = images_of(filters, 2 * n + 2 if unshared else n + 2, "kern")
    if not unshared:
        x = _asserted(x, input_shape, "the input")
        w = _asserted(w, filter_shape, "the filters")
    else:  # their sizes lay out the products, so the graph has to know them
        x, w = _sized_as(x, input_shape), _sized_as(w, filter_shape)
    options = {
        "input_shape": hint_of(input_shape),
        "filter_shape": hint_of(filter_shape),
        "border_mode": border_mode,
        "subsample": subsample,
        "filter_flip": bool(filter_flip),
        "filter_dilation": dilation,
        "num_groups": int(num_groups),
    }
    if unshared:
        options["unshared"] = True
        if not _sizes_known(x, w):
            pattern = (x.broadcastable[0], False, False, False)
            return Sized(own.conv2d, pattern, options=sorted(options.items()))(x, w)
    kind = AbstractConv2d if n == 2 else AbstractConv3d
    op = kind(
        options["input_shape"], options["filter_shape"], border_mode, subsample, bool(filter_flip),
        dilation, int(num_groups), unshared,
    )  # fmt: skip
    return op.applied(_convolution, (x, w), function=f"conv{n}d", options=options)


def _sizes_known(*inputs):
    """Whether the graph knows all sizes behind the first of variables, as unshared filters need."""
    return all(None not in as_tensor_variable(x).node.shape[1:] for x in inputs)


def _of_numbers(*given, function, where, target, options):
    """`_sized` on tensors of K, with numbers for the sizes where `target` has "?"."""
    *sizes, x, y = given
    rest = iter(sizes)
    full = tuple(next(rest) if s == "?" else s for s in target)
    return getattr(own, function)(x, y, **{where: full}, **dict(options))


def _sized_as(x, shape):
    """`x`, of which the graph knows the sizes that `shape` tells; each call checks them."""
    known = hint_of(shape)
    if known is None or None in known or len(known) != x.ndim:
        return x
    return specify_shape(x, known)


@_like(own.conv2d)
def conv2d(
    input,
    filters,
    input_shape,
    filter_shape,
    border_mode,
    subsample,
    filter_flip,
    image_shape,
    filter_dilation,
    num_groups,
    unshared,
    **ignored,
):
    """Images (batch, channels, rows, columns) convolved with filters; see compat.nnet.conv2d."""
    if ignored.keys() & {"imshp_logical", "kshp_logical"}:
        raise ArgumentError(
            "conv2d does not take imshp_logical or kshp_logical, which never "
            "upsampled dependably; in Theano only the old tensor.nnet.conv.conv2d "
            "still has them"
        )
    if image_shape is not None and input_shape is not None:
        raise ArgumentError(
            "conv2d got both input_shape and image_shape, which mean the same: pass "
            "input_shape alone"
        )
    if ignored:
        own.warn_ignored(ignored)
    input_shape = image_shape if input_shape is None else input_shape
    return _conv(
        2, input, filters, input_shape, filter_shape, border_mode, subsample, filter_flip,
        filter_dilation, num_groups, unshared,
    )  # fmt: skip


@_like(own.conv3d)
def conv3d(input, filters, **how):
    """Volumes (batch, channels, depth, rows, columns) convolved with filters."""
    return _conv(3, input, filters, **how)


@_like(own.causal_conv1d)
def causal_conv1d(input, filters, filter_shape, input_shape, **how):
    """Sequences convolved so that no output sees later inputs."""
    return applied_to(
        "causal_conv1d",
        "causal_conv1d",
        (images_of(input, 3, "input"), as_tensor_variable(filters)),
        filter_shape=hint_of(filter_shape),
        input_shape=hint_of(input_shape),
        **{k: bool(v) if k in ("filter_flip", "unshared") else int(v) for k, v in how.items()},
    )


@_like(own.separable_conv2d)
def separable_conv2d(**given):
    """Each channel with its own filters, then mixed by filters of one pixel."""
    return own.separable(conv2d, **given)


@_like(own.separable_conv3d)
def separable_conv3d(**given):
    """`separable_conv2d` with one axis more."""
    return own.separable(conv3d, **given)


# --- gradients --------------------------------------------------------------------------------


def _sized(x, y, *sizes, function, where, target, options):
    """A gradient by a tensor whose sizes are scalar nodes where `target` has None."""
    rest = iter(sizes)
    full = tuple(Tensor(next(rest)) if s == "?" else s for s in target)
    x, y = _common((x, y))
    return getattr(own, function)(Tensor(x), Tensor(y), **{where: full}, **dict(options)).node


def target_of(shape, n):
    """(shape with "?" for scalar variables, these variables)."""
    if isinstance(shape, Handle):
        found = as_shape(shape)
        if isinstance(found, Handle):
            found = [shape[i] for i in range(n)]
        shape = found
    marked, scalars = [], []
    for s in shape:
        if isinstance(s, Handle) and not isinstance(getattr(s, "data", None), np.ndarray):
            marked.append("?")
            scalars.append(s.astype("int64"))
        else:
            marked.append(None if s is None else int(s.data if isinstance(s, Handle) else s))
    return tuple(marked), scalars


def _grad(
    n,
    kind,
    where,
    x,
    y,
    shape,
    border_mode,
    subsample,
    filter_flip,
    filter_dilation,
    num_groups,
    unshared=False,
    **hints,
):
    border_mode, subsample, dilation = _checked(n, border_mode, subsample, filter_dilation)
    target, scalars = target_of(shape, n)
    options = {
        "border_mode": border_mode,
        "subsample": subsample,
        "filter_flip": bool(filter_flip),
        "filter_dilation": dilation,
        "num_groups": int(num_groups),
        **{k: hint_of(v) for k, v in hints.items()},
    }
    if unshared:
        options["unshared"] = True
    if not unshared:
        asked = tuple(None if s == "?" else s for s in target)
        shapes = {**hints, where: asked if len(asked) == n + 2 else None}
        image, kernel = shapes.get("input_shape"), shapes.get("filter_shape")
        top = None
        if image is not None and kernel is not None:
            given = hint_of(image), hint_of(kernel), border_mode, subsample, dilation
            top = get_conv_output_shape(*given)
        if kind == "inputs":
            x, y = _asserted(x, top, "the gradient"), _asserted(y, kernel, "the filters")
        else:
            x, y = _asserted(x, image, "the input"), _asserted(y, top, "the gradient")
    shapes = {**hints, where: None if scalars else target}
    if unshared and (scalars or not _sizes_known(x, y)):
        of = (("function", f"conv{n}d_grad_wrt_{kind}"), ("where", where), ("target", target),
              ("options", tuple(sorted(options.items()))))  # fmt: skip
        x, y = (as_tensor_variable(v) for v in (x, y))
        axes = 2 * n + 2 if kind == "weights" else n + 2
        return Sized(_of_numbers, (False,) * axes, len(scalars), of)(*scalars, x, y)
    op = GRADIENTS[n, kind](
        shapes.get("input_shape"), shapes.get("filter_shape"), border_mode, subsample,
        bool(filter_flip), dilation, int(num_groups), unshared,
    )  # fmt: skip
    function = f"conv{n}d_grad_wrt_{kind}"
    return op.applied(
        _sized, (x, y, *scalars), function=function, where=where, target=target, options=options
    )


@_like(own.conv2d_grad_wrt_inputs)
def conv2d_grad_wrt_inputs(output_grad, filters, input_shape, **how):
    """The gradient of conv2d by its input, of shape `input_shape`."""
    return _grad(2, "inputs", "input_shape", output_grad, filters, input_shape, **how)


@_like(own.conv3d_grad_wrt_inputs)
def conv3d_grad_wrt_inputs(output_grad, filters, input_shape, **how):
    """The gradient of conv3d by its input, of shape `input_shape`."""
    return _grad(3, "inputs", "input_shape", output_grad, filters, input_shape, **how)


@_like(own.conv2d_grad_wrt_weights)
def conv2d_grad_wrt_weights(input, output_grad, filter_shape, **how):
    """The gradient of conv2d by its filters, of shape `filter_shape`."""
    return _grad(2, "weights", "filter_shape", input, output_grad, filter_shape, **how)


@_like(own.conv3d_grad_wrt_weights)
def conv3d_grad_wrt_weights(input, output_grad, filter_shape, **how):
    """The gradient of conv3d by its filters, of shape `filter_shape`."""
    return _grad(3, "weights", "filter_shape", input, output_grad, filter_shape, **how)


@_like(own.conv2d_transpose)
def conv2d_transpose(input, filters, output_shape, input_dilation, **how):
    """The transposed convolution, up to `output_shape`."""
    return conv2d_grad_wrt_inputs(input, filters, output_shape, subsample=input_dilation, **how)


# --- the classes ------------------------------------------------------------------------------


class BaseAbstractConv(KernelOp):
    """The parameters of a convolution; a call makes a variable, whose op is one of its class."""

    n, kind = 2, None

    def __init__(
        self,
        imshp=None,
        kshp=None,
        border_mode="valid",
        subsample=None,
        filter_flip=True,
        filter_dilation=None,
        num_groups=1,
        unshared=False,
        convdim=None,
    ):
        n = self.n = convdim or self.n
        self.imshp, self.kshp = _known_shape(imshp, n), _known_shape(kshp, n)
        self.subsample = (1,) * n if subsample is None else tuple(subsample)
        self.filter_dilation = (1,) * n if filter_dilation is None else tuple(filter_dilation)
        self.border_mode, self.filter_flip = border_mode, filter_flip
        self.num_groups, self.unshared = num_groups, unshared
        _checked(n, border_mode, self.subsample, self.filter_dilation)
        KernelOp.__init__(self, None, type(self).__name__)

    def applied(self, build, inputs, options, **attrs):
        """The variable that this op makes of inputs, by the engine's `build`."""
        KernelOp.__init__(
            self, build, type(self).__name__, options=tuple(sorted(options.items())), **attrs
        )
        return KernelOp.__call__(self, *inputs)

    def __str__(self):
        return (
            f"{self.name}{{convdim={self.n}, border_mode={self.border_mode!r}, "
            f"subsample={self.subsample}, filter_flip={self.filter_flip}, imshp={self.imshp}, "
            f"kshp={self.kshp}, filter_dilation={self.filter_dilation}, "
            f"num_groups={self.num_groups}, unshared={self.unshared}}}"
        )

    @property
    def options(self):
        found = {
            "border_mode": self.border_mode,
            "subsample": self.subsample,
            "filter_flip": self.filter_flip,
            "filter_dilation": self.filter_dilation,
            "num_groups": self.num_groups,
        }
        return {**found, "unshared": self.unshared} if self.n == 2 else found

    def of(self, name):
        """The function of this module for as many axes as this op has."""
        return globals()[name.format(self.n)]


class AbstractConv(BaseAbstractConv):
    """The convolution of images by filters."""

    def __call__(self, img, kern):
        return self.of("conv{}d")(
            img, kern, input_shape=self.imshp, filter_shape=self.kshp, **self.options
        )

    def grad(self, inputs, output_gradients):
        """The gradients by images and filters, of which sizes are needed that the op does not know,
        given that by the result."""
        (img, kern), (top,) = map(as_tensor_variable, inputs), output_gradients
        shapes = [
            tuple(v.shape[k] if s is None else s for k, s in enumerate(known))
            for v, known in ((img, self.imshp), (kern, self.kshp))
        ]
        return [
            self.of("conv{}d_grad_wrt_inputs")(top, kern, shapes[0], **self.options),
            self.of("conv{}d_grad_wrt_weights")(img, top, shapes[1], **self.options),
        ]


class AbstractConv_gradInputs(BaseAbstractConv):  # noqa: N801 (Theano's name)
    """The gradient by the images, given filters, the gradient of the result and sizes."""

    def __call__(self, kern, topgrad, shape, add_assert_shape=True):
        return self.of("conv{}d_grad_wrt_inputs")(
            topgrad, kern, _last(shape, self.n), filter_shape=self.kshp, **self.options
        )


class AbstractConv_gradWeights(BaseAbstractConv):  # noqa: N801
    """The gradient by the filters, given images, the gradient of the result and sizes."""

    def __call__(self, img, topgrad, shape, add_assert_shape=True):
        return self.of("conv{}d_grad_wrt_weights")(
            img, topgrad, _last(shape, self.n), input_shape=self.imshp, **self.options
        )


def _last(shape, n):
    """The sizes of the last axes."""
    if isinstance(shape, Handle):
        try:
            count = get_vector_length(shape)
        except ValueError:
            count = n
        return [shape[i] for i in range(count - n, count)]
    return tuple(shape)[-n:]


class AbstractConv2d(AbstractConv):
    """Of two spatial axes."""


class AbstractConv3d(AbstractConv):
    """Of three spatial axes."""

    n = 3


class AbstractConv2d_gradInputs(AbstractConv_gradInputs):  # noqa: N801
    """Of two spatial axes."""


class AbstractConv3d_gradInputs(AbstractConv_gradInputs):  # noqa: N801
    """Of three spatial axes."""

    n = 3


class AbstractConv2d_gradWeights(AbstractConv_gradWeights):  # noqa: N801
    """Of two spatial axes."""


class AbstractConv3d_gradWeights(AbstractConv_gradWeights):  # noqa: N801
    """Of three spatial axes."""

    n = 3


# --- upsampling -------------------------------------------------------------------------------


GRADIENTS = {
    (2, "inputs"): AbstractConv2d_gradInputs,
    (3, "inputs"): AbstractConv3d_gradInputs,
    (2, "weights"): AbstractConv2d_gradWeights,
    (3, "weights"): AbstractConv3d_gradWeights,
}


# --- by the names of Theano's own C: filters are not flipped --------------------------------------


class CorrMM(AbstractConv2d):
    """The correlation of images (batch, channels, rows, columns) with filters."""

    def __init__(self, border_mode="valid", subsample=(1, 1), filter_dilation=(1, 1), num_groups=1,
                 unshared=False):  # fmt: skip
        AbstractConv2d.__init__(
            self, None, None, border_mode, subsample, False, filter_dilation, num_groups, unshared
        )


class ConvOp(AbstractConv2d):
    """The convolution of Theano's first years: border_mode is output_mode, dx and dy are steps
    along rows and columns; sizes (channels, rows, columns) and (rows, columns) may be told."""

    def __init__(self, imshp=None, kshp=None, nkern=None, bsize=None, dx=1, dy=1,
                 output_mode="valid", imshp_logical=None, kshp_logical=None, **how):  # fmt: skip
        if imshp_logical is not None or kshp_logical is not None:
            raise ArgumentError("ConvOp does not take imshp_logical or kshp_logical here")
        image = (None,) * 3 if imshp is None else (1,) * (3 - len(imshp)) + tuple(imshp)
        kernel = (None,) * 2 if kshp is None else tuple(kshp)
        AbstractConv2d.__init__(
            self, (bsize, *image), (nkern, image[0], *kernel), output_mode, (dx or 1, dy or 1)
        )

    @staticmethod
    def getOutputShape(inshp, kshp, stride=(1, 1), mode="valid"):  # noqa: N802 (Theano's name)
        """(rows, columns) of the result for (rows, columns) of images and filters."""
        shape = get_conv_output_shape((1, 1, *inshp), (1, 1, *kshp), mode, tuple(stride))
        return shape[2:]


class CorrMM_gradWeights(AbstractConv2d_gradWeights):  # noqa: N801
    """Its gradient by the filters."""

    __init__ = CorrMM.__init__


class CorrMM_gradInputs(AbstractConv2d_gradInputs):  # noqa: N801
    """Its gradient by the images."""

    __init__ = CorrMM.__init__


class Corr3dMM(AbstractConv3d):
    """The correlation of volumes with filters."""

    def __init__(self, border_mode="valid", subsample=(1, 1, 1), filter_dilation=(1, 1, 1),
                 num_groups=1):  # fmt: skip
        AbstractConv3d.__init__(
            self, None, None, border_mode, subsample, False, filter_dilation, num_groups
        )


class Corr3dMM_gradWeights(AbstractConv3d_gradWeights):  # noqa: N801
    """Its gradient by the filters."""

    __init__ = Corr3dMM.__init__


class Corr3dMM_gradInputs(AbstractConv3d_gradInputs):  # noqa: N801
    """Its gradient by the volumes."""

    __init__ = Corr3dMM.__init__


def bilinear_kernel_1D(ratio, normalize=True):  # noqa: N802 (Theano's name)
    """The weights of linear interpolation by a factor, which may be a scalar variable."""
    if isinstance(ratio, Handle) and not hasattr(ratio, "data"):
        line = (ratio - abs(arange(1 - ratio, ratio))).astype(config.floatX)
        return line / ratio.astype(config.floatX) if normalize else line
    return as_tensor_variable(own.bilinear_kernel_1D(ratio, normalize))


def bilinear_kernel_2D(ratio, normalize=True):  # noqa: N802
    """The weights of bilinear interpolation by a factor."""
    return as_tensor_variable(own.bilinear_kernel_2D(ratio, normalize))


def bilinear_upsampling(
    input, ratio=None, frac_ratio=None, batch_size=None, num_input_channels=None, use_1D_kernel=True
):  # noqa: N803
    """Images enlarged by bilinear interpolation."""
    return applied_to(
        "bilinear_upsampling",
        "bilinear_upsampling",
        (as_tensor_variable(input),),
        ratio=ratio,
        frac_ratio=frac_ratio,
        use_1D_kernel=use_1D_kernel,
    )


def frac_bilinear_upsampling(input, frac_ratio):
    """Images enlarged by a fraction."""
    return applied_to(
        "frac_bilinear_upsampling",
        "frac_bilinear_upsampling",
        (as_tensor_variable(input),),
        frac_ratio=frac_ratio,
    )


__getattr__ = _absent_of("theano.tensor.nnet.abstract_conv")
