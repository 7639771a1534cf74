"""theano.tensor.fft: transforms of the axes after the first: numbers as pairs (real, imag)."""

import numpy as np

from ...base.errors import ArgumentError, UsageError
from ..base.names import absent_of as _absent_of
from ..classes.op import Op
from ..graph.apply import Apply
from ..handles.type import TensorType
from ..handles.variables import as_tensor_variable
from .elementwise import sqrt


class RFFTOp(Op):
    """The transform of real rows: (batch, ..., n) to (batch, ..., n // 2 + 1, 2)."""

    __props__ = ()

    def make_node(self, a, s=None):
        a = as_tensor_variable(a)
        if a.ndim < 2:
            raise UsageError(
                f"{type(self).__name__}: the input needs an axis for the batch before "
                f"those to transform (ndim {a.ndim})"
            )
        s = a.shape[1:] if s is None else as_tensor_variable(s)
        if "int" not in s.dtype:
            raise UsageError(
                f"{type(self).__name__}: s holds the sizes of the axes to transform: "
                f"give integers, not {s.dtype}"
            )
        return Apply(self, [a, s], [TensorType(_float(a), (False,) * (a.ndim + 1))()])

    def perform(self, node, inputs, outputs):
        a, s = inputs
        found = np.fft.rfftn(a, s=tuple(int(v) for v in s), axes=tuple(range(1, a.ndim)))
        outputs[0][0] = np.stack([found.real, found.imag], -1).astype(node.outputs[0].dtype)

    def grad(self, inputs, output_grads):
        g, s = output_grads[0], inputs[1]
        # The real transform leaves out half of the numbers, which are conjugates of the others.
        half = [slice(None)] * (g.ndim - 2) + [slice(1, (s[-1] // 2) + (s[-1] % 2))] + [slice(None)]
        from .indexing import set_subtensor  # programs would see the name here

        g = set_subtensor(g[tuple(half)], g[tuple(half)] * 0.5)
        return [irfft_op(g, s), _disconnected()]

    def connection_pattern(self, node):
        return [[True], [False]]


class IRFFTOp(Op):
    """The inverse of RFFTOp without the division by the number of elements."""

    __props__ = ()

    def make_node(self, a, s=None):
        a = as_tensor_variable(a)
        if a.ndim < 3:
            raise UsageError(
                f"{type(self).__name__} takes at least three axes (batches first, real and "
                f"imaginary parts last), not {a.ndim}"
            )
        if s is None:
            from .indexing import set_subtensor  # programs would see the name here

            s = a.shape[1:-1]
            s = set_subtensor(s[-1], (s[-1] - 1) * 2)
        s = as_tensor_variable(s)
        if "int" not in s.dtype:
            raise UsageError(
                f"{type(self).__name__}: s holds the sizes of the axes to transform: "
                f"give integers, not {s.dtype}"
            )
        return Apply(self, [a, s], [TensorType(_float(a), (False,) * (a.ndim - 1))()])

    def perform(self, node, inputs, outputs):
        a, s = inputs
        shape = tuple(int(v) for v in s)
        found = np.fft.irfftn(a[..., 0] + 1j * a[..., 1], s=shape, axes=tuple(range(1, a.ndim - 1)))
        outputs[0][0] = (found * np.prod(shape)).astype(node.outputs[0].dtype)

    def grad(self, inputs, output_grads):
        g, s = output_grads[0], inputs[1]
        found = rfft_op(g, s)
        half = (
            [slice(None)] * (found.ndim - 2)
            + [slice(1, (s[-1] // 2) + (s[-1] % 2))]
            + [slice(None)]
        )
        from .indexing import set_subtensor  # programs would see the name here

        found = set_subtensor(found[tuple(half)], found[tuple(half)] * 2)
        return [found, _disconnected()]

    def connection_pattern(self, node):
        return [[True], [False]]


def _disconnected():
    from ..graph.type import DisconnectedType  # programs would see the name here

    return DisconnectedType()()


def _float(a):
    return a.dtype if a.dtype in ("float32", "float64") else "float64"


rfft_op, irfft_op = RFFTOp(), IRFFTOp()


def _norm(norm):
    if norm not in (None, "ortho", "no_norm"):
        raise ArgumentError(f"norm={norm} is not known: choose None, 'ortho' or 'no_norm'")
    return norm


def rfft(inp, norm=None):
    """The transform of real (batch, ..., n); norm: None, 'ortho' or 'no_norm'."""
    inp, norm = as_tensor_variable(inp), _norm(norm)
    s = inp.shape[1:]
    scaling = sqrt(s.prod().astype(_float(inp))) if norm == "ortho" else 1
    return rfft_op(inp, s) / scaling


def irfft(inp, norm=None, is_odd=False):
    """The inverse of `rfft`; is_odd: whether the last axis of the result is odd."""
    if is_odd not in (True, False):
        raise ArgumentError(f"is_odd says yes or no: give True or False, not {is_odd}")
    from .indexing import set_subtensor  # programs would see the name here

    inp, norm = as_tensor_variable(inp), _norm(norm)
    s = inp.shape[1:-1]
    last = (s[-1] - 1) * 2 + (1 if is_odd else 0)
    s = set_subtensor(s[-1], last)
    total = s.prod().astype(_float(inp))
    scaling = total if norm is None else sqrt(total) if norm == "ortho" else 1
    return irfft_op(inp, s) / scaling


__getattr__ = _absent_of("theano.tensor.fft")
