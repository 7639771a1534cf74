"""Pooling of the last axes: pool_2d, pool_3d, and the class Pool that layers ask for shapes."""

import numpy as np

from ....api.tensor import Tensor
from ....base.errors import ArgumentError, NotSupported, UsageError
from ....base.warned import warn_user
from ...base.exceptions import NotScalarConstantError
from ...base.names import absent_of as _absent_of
from ...base.signatures import like as _like
from ...classes.op import KernelOp
from ...handles.constants import get_scalar_constant_value
from ...handles.variables import Handle, as_tensor_variable
from ...images import signal as own
from ..elementwise import maximum, switch
from .variable_pool import VariablePool


def _ints(value, n):
    if isinstance(value, Handle):
        if isinstance(getattr(value, "data", None), np.ndarray):
            value = value.data
        else:
            value = [get_scalar_constant_value(value[i]) for i in range(n)]
    if isinstance(value, (int, np.integer)):
        return (int(value),) * n
    return (
        None
        if value is None
        else tuple(int(v.data) if isinstance(v, Handle) else int(v) for v in value)
    )


def _unknown(value):
    """Whether the sizes of windows, or their steps, are known only when a function runs."""
    given = value if isinstance(value, (list, tuple)) else [value]
    for v in given:
        if not isinstance(v, Handle) or isinstance(getattr(v, "data", None), np.ndarray):
            continue
        if v.ndim and v.owner is None:
            return True
        try:
            get_scalar_constant_value(v[0] if v.ndim else v)
        except NotScalarConstantError:
            return True
    return False


def _pooled(x, n, options):
    return own.pooled(Tensor(x), n, **dict(options)).node


def _taken(x, maxout, values, n, options):
    """maxout, the maxima of x, is found again."""
    return own.max_taken(Tensor(x), Tensor(values), n, **dict(options)).node


def _pool(n, input, ws, ignore_border, stride, pad, mode, ds, st, padding, check=True):
    """check: refuse padding of the size of windows; gradients and their ops take it."""
    for old, new, value, instead in (
        ("ds", "ws", ds, ws),
        ("st", "stride", st, stride),
        ("padding", "pad", padding, None),
    ):
        if value is not None:
            if instead is not None:
                raise ArgumentError(
                    f"'{old}' is the old name of '{new}' and both were given: pass only '{new}'"
                )
            warn_user(f"deprecated: '{old}' is now called '{new}', and the old name will go")
    ws = ds if ws is None else ws
    stride = st if stride is None else stride
    pad = pad if padding is None else padding
    if ws is None:
        raise ArgumentError("pooling needs the size of its window: pass ws")
    input = as_tensor_variable(input)
    if input.ndim < n:
        raise NotSupported(
            f"pool_{n}d pools the last {n} axes, but its input has only {input.ndim}"
        )
    if n == 1:  # as the rows of an image of one column
        rest = tuple(range(input.ndim - 1))
        image = input.dimshuffle(*rest, "x", input.ndim - 1)
        ws, stride, pad = (_ints(v, 1) for v in (ws, stride, pad))
        stride, pad = ws if stride is None else stride, pad or (0,)
        image = _pool(2, image, (1, *ws), ignore_border, (1, *stride), (0, *pad), mode, *[None] * 3)
        return image.dimshuffle(*rest, input.ndim)
    if ignore_border is None:
        warn_user(
            f"pool_{n}d: without ignore_border, False is used; later this will be True, "
            "so pass the one you mean"
        )
        ignore_border = False
    modes = ("max", "sum", "average_inc_pad", "average_exc_pad")
    if not isinstance(mode, str) or mode not in modes:
        raise ArgumentError(
            f"no pooling mode is called {mode}: pass 'max', 'sum', 'average_inc_pad' "
            "or 'average_exc_pad'"
        )
    if any(map(_unknown, (ws, stride, pad))):
        stride = ws if stride is None else stride
        return VariablePool(n, bool(ignore_border), mode, _pool)(input, ws, stride, pad)
    pad = _ints(pad, n) or (0,) * n
    if any(pad) and not ignore_border:
        raise NotSupported(f"pad {pad} needs ignore_border=True")
    ws = _ints(ws, n)
    if check and any(p >= w for p, w in zip(pad, ws)):
        raise NotSupported(
            f"pad {pad} is too large for windows of {ws}: on each axis it must be less than ws"
        )
    stride = ws if stride is None else _ints(stride, n)
    if any(s <= 0 for s in stride):
        raise ArgumentError("stride must be positive")
    options = {
        "ws": ws,
        "ignore_border": bool(ignore_border),
        "stride": stride,
        "pad": pad,
        "mode": mode,
    }
    return KernelOp(_pooled, "Pool", n=n, options=tuple(sorted(options.items())))(input)


@_like(own.pool_2d)
def pool_2d(input, **how):
    """Pooling over the last two axes; see compat.signal.pool_2d."""
    return _pool(2, input, **how)


@_like(own.pool_3d)
def pool_3d(input, **how):
    """Pooling over the last three axes."""
    return _pool(3, input, **how)


def _same_size(x, size):
    return own.max_pool_2d_same_size(Tensor(x), size).node


def max_pool_2d_same_size(input, patch_size):
    """`input` with all but the maximum of each patch set to zero."""
    return KernelOp(_same_size, "max_pool_2d_same_size", size=_ints(patch_size, 2))(
        as_tensor_variable(input)
    )


max_pool_2d, max_pool = pool_2d, pool_2d


class Pool:
    """Pooling of the last `ndim` axes with fixed options; a call makes a variable."""

    def __init__(self, ignore_border=False, mode="max", ndim=2, openmp=None):
        self.ignore_border, self.mode, self.ndim = ignore_border, mode, ndim

    def __call__(self, x, ws, stride=None, pad=None):
        return _pool(
            self.ndim,
            x,
            ws,
            self.ignore_border,
            stride,
            pad or (0,) * self.ndim,
            self.mode,
            None,
            None,
            None,
        )

    @staticmethod
    def out_shape(
        imgshape,
        ws=None,
        ignore_border=False,
        stride=None,
        pad=None,
        ndim=2,
        ds=None,
        st=None,
        padding=None,
    ):
        """The shape of pooled images of shape `imgshape`: a list of ints and variables."""
        ws, stride = ds if ws is None else ws, st if stride is None else stride
        pad = padding if pad is None and padding is not None else pad
        pad = (0,) * ndim if pad is None else pad
        stride = ws if stride is None else stride
        if len(imgshape) < ndim:
            raise UsageError(
                f"pooling over {ndim} axes needs as many sizes in imgshape; it has {len(imgshape)}"
            )
        lead, sizes = list(imgshape[:-ndim]), imgshape[-ndim:]
        return lead + [
            _count(v + 2 * p, w, s, ignore_border) for v, w, s, p in zip(sizes, ws, stride, pad)
        ]


def _count(v, w, s, ignore_border):
    """How many windows of `w` at distance `s` an axis of `v` has."""
    symbolic = any(isinstance(x, Handle) for x in (v, w, s))
    if ignore_border:
        found = (v - w) // s + 1
        return maximum(found, 0) if symbolic else max(int(found), 0)
    if not symbolic:
        return (v - 1) // s + 1 if s >= w else max(0, (v - 1 - w + s) // s) + 1
    v = as_tensor_variable(v)
    return switch(
        as_tensor_variable(s) >= w, (v - 1) // s + 1, maximum(0, (v - 1 - w + s) // s) + 1
    )


class PoolGrad:
    """The gradient of a pooling by its images, given `gz`, that of the result."""

    def __init__(self, ignore_border=False, mode="max", ndim=2, openmp=None):
        self.ignore_border, self.mode, self.ndim = ignore_border, mode, ndim

    def _of(self, x, gz, ws, stride, pad):
        from ...gradient.functions import grad  # start-up: 3.3 ms

        x, gz = as_tensor_variable(x), as_tensor_variable(gz)
        out = _pool(self.ndim, x, ws, self.ignore_border, stride, pad or (0,) * self.ndim,
                    self.mode, *[None] * 3, check=False)  # fmt: skip
        return grad(None, x, known_grads={out: gz}, add_names=False)


class MaxPoolGrad(PoolGrad):
    """`MaxPoolGrad(...)(x, maxout, gz, ws, stride, pad)`; maxout is what pooling `x` gave."""

    def __init__(self, ignore_border, ndim=2, openmp=None):
        PoolGrad.__init__(self, ignore_border, "max", ndim)

    def __call__(self, x, maxout, gz, ws, stride=None, pad=None):
        return self._of(x, gz, ws, stride, pad)


class AveragePoolGrad(PoolGrad):
    """`AveragePoolGrad(...)(x, gz, ws, stride, pad)`; mode: a sum or an average."""

    def __init__(self, ignore_border, mode="average_inc_pad", ndim=2):
        PoolGrad.__init__(self, ignore_border, mode, ndim)

    def __call__(self, x, gz, ws, stride=None, pad=None):
        return self._of(x, gz, ws, stride, pad)


class DownsampleFactorMaxGradGrad:
    """`op(x, maxout, gz, ws, stride, pad)`: of gz, in the shape of x, what lies where windows of x
    have their maxima. It is the gradient of MaxPoolGrad by the gradient that this was given."""

    def __init__(self, ignore_border, mode="max", ndim=2, openmp=None):
        self.ignore_border, self.mode, self.ndim = ignore_border, mode, ndim
        if mode != "max":
            raise ArgumentError(
                f"only maxima have places to take from: mode is 'max', not {mode!r}"
            )

    def __call__(self, x, maxout, gz, ws, stride=None, pad=None):
        x, maxout, gz = map(as_tensor_variable, (x, maxout, gz))
        ws, stride, pad = (_ints(v, self.ndim) for v in (ws, stride, pad))
        if self.ndim == 1:  # as in _pool
            rest = tuple(range(x.ndim - 1))
            x, maxout, gz = (v.dimshuffle(*rest, "x", v.ndim - 1) for v in (x, maxout, gz))
            stride, pad = ws if stride is None else stride, pad or (0,)
            two = DownsampleFactorMaxGradGrad(self.ignore_border)
            found = two(x, maxout, gz, (1, *ws), (1, *stride), (0, *pad))
            return found.dimshuffle(*rest, found.ndim - 1)
        options = {
            "ws": ws,
            "ignore_border": bool(self.ignore_border),
            "stride": ws if stride is None else stride,
            "pad": pad or (0,) * self.ndim,
        }
        return KernelOp(
            _taken, type(self).__name__, n=self.ndim, options=tuple(sorted(options.items()))
        )(x, maxout, gz)


__getattr__ = _absent_of("theano.tensor.signal.pool")
