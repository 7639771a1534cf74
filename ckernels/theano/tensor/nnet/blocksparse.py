"""sparse_block_dot: products of chosen blocks."""

from ...base.names import absent_of as _absent_of
from ...handles.variables import as_tensor_variable


def sparse_block_dot(W, h, inputIdx, b, outputIdx):  # noqa: N803 (Theano's names)
    """b[j] + sum_i h[i] . W[i, j] for the blocks i and j that each sample chooses.

    W (input blocks, output blocks, input size, output size), h (batch, inputs, input size),
    inputIdx (batch, inputs), b (output blocks, output size), outputIdx (batch, outputs).
    """
    W, h, b = map(as_tensor_variable, (W, h, b))  # noqa: N806
    inputs, outputs = as_tensor_variable(inputIdx), as_tensor_variable(outputIdx)
    single = h.ndim == inputs.ndim + 1 == 2
    if single:
        h, inputs, outputs = (
            h.dimshuffle("x", 0, 1),
            inputs.dimshuffle("x", 0),
            outputs.dimshuffle("x", 0),
        )
    blocks = W[inputs.dimshuffle(0, 1, "x"), outputs.dimshuffle(0, "x", 1)]
    products = (h.dimshuffle(0, 1, "x", 2, "x") * blocks).sum(axis=(1, 3))
    found = b[outputs] + products
    return found[0] if single else found


__getattr__ = _absent_of("theano.tensor.nnet.blocksparse")
