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


def ctc(activations, labels, input_lengths):
    """The CTC cost of activations (time, batch, classes); labels (batch, length), -1 for none."""
    return KernelOp(_cost, "ConnectionistTemporalClassification")(
        activations, labels, input_lengths
    )


__getattr__ = _absent_of("theano.tensor.nnet.ctc")
