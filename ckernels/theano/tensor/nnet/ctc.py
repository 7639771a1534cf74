"""ctc: the connectionist temporal classification cost."""

from ....api import ctc as own
from ....api.tensor import Tensor
from ...base.names import absent_of as _absent_of
from ...classes.op import KernelOp


def ctc_available():
    """Whether `ctc` works: always, without warp-ctc."""
    return True


def _cost(activations, labels, lengths):
    return own.ctc(Tensor(activations), Tensor(labels), Tensor(lengths)).node


class ConnectionistTemporalClassification(KernelOp):
    """The op of `ctc`. compute_grad is accepted: what nobody asks for is not computed."""

    def __init__(self, compute_grad=True):
        KernelOp.__init__(self, _cost, "ConnectionistTemporalClassification")


def ctc(activations, labels, input_lengths):
    """The CTC cost of activations (time, batch, classes); labels (batch, length), -1 for none."""
    return ConnectionistTemporalClassification()(activations, labels, input_lengths)


__getattr__ = _absent_of("theano.tensor.nnet.ctc")
