"""images2neibs and neibs2images: patches of images as rows, and back."""

from ....api.tensor import Tensor
from ....base.errors import NotSupported
from ...base.names import absent_of as _absent_of
from ...classes.op import KernelOp
from ...handles.variables import Handle, as_tensor_variable
from ...images import nnet as own


def _ints(x):
    if isinstance(x, Handle):
        x = x.data
    return None if x is None else tuple(int(v) for v in x)


MODES = "valid", "half", "full", "ignore_borders", "wrap_centered"


def _patches(x, shape, step, mode):
    return own.images2neibs(Tensor(x), shape, step, mode).node


class Images2Neibs:
    """The op of `images2neibs`, in one mode: a call makes a variable."""

    def __init__(self, mode="valid"):
        if mode not in MODES:
            raise NotSupported(f"images2neibs knows the modes {', '.join(MODES)}, not {mode!r}")
        self.mode = mode

    def __call__(self, ten4, neib_shape, neib_step=None):
        shape, step = _ints(neib_shape), _ints(neib_step)
        return KernelOp(_patches, "Images2Neibs", shape=shape, step=step, mode=self.mode)(
            as_tensor_variable(ten4)
        )


def images2neibs(ten4, neib_shape, neib_step=None, mode="valid"):
    """Patches of the images (batch, channels, rows, columns), one a row; see compat.nnet."""
    return Images2Neibs(mode)(ten4, neib_shape, neib_step)


def _joined(x, *sizes, shape, target, mode):
    rest = iter(sizes)
    full = tuple(Tensor(next(rest)) if s == "?" else s for s in target)
    return own.neibs2images(Tensor(x), shape, full, mode).node


def neibs2images(neibs, neib_shape, original_shape, mode="valid"):
    """The images of shape `original_shape` that patches were cut from."""
    from .abstract_conv import target_of  # start-up: 2.3 ms

    target, scalars = target_of(original_shape, 4)
    return KernelOp(_joined, "neibs2images", shape=_ints(neib_shape), target=target, mode=mode)(
        as_tensor_variable(neibs), *scalars
    )


__getattr__ = _absent_of("theano.tensor.nnet.neighbours")
