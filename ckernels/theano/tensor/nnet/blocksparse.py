"""sparse_block_dot: products of chosen blocks."""

from ....base.errors import UsageError
from ...base.names import absent_of as _absent_of
from ...handles.variables import as_tensor_variable
from ..indexing import inc_subtensor


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
    found = SparseBlockGemv()(b[outputs], W, h, inputs, outputs)
    return found[0] if single else found


class SparseBlockGemv:
    """The op of products of chosen blocks; a call makes a variable.

    o[b, j] + sum_i h[b, i] . W[inputIdx[b, i], outputIdx[b, j]], with o (batch, outputs, output
    size), the others as `sparse_block_dot` takes them for a batch. That an op overwrites o is for
    the engine to decide.
    """

    def __init__(self, inplace=False):
        self.inplace = inplace

    def __call__(self, o, W, h, inputIdx, outputIdx):  # noqa: N803
        o, W, h, inputs, outputs = map(  # noqa: N806
            as_tensor_variable, (o, W, h, inputIdx, outputIdx)
        )
        _ask("SparseBlockGemv", (o, 3), (W, 4), (h, 3), (inputs, 2), (outputs, 2))
        blocks = W[inputs.dimshuffle(0, 1, "x"), outputs.dimshuffle(0, "x", 1)]
        return o + (h.dimshuffle(0, 1, "x", 2, "x") * blocks).sum(axis=(1, 3))


class SparseBlockOuter:
    """The op of outer products of chosen blocks; a call makes a variable.

    o with alpha outer(x[b, i], y[b, j]) added to o[xIdx[b, i], yIdx[b, j]] for each b, i and j; o
    (x blocks, y blocks, x size, y size), x (batch, chosen, x size), y (batch, chosen, y size).
    """

    def __init__(self, inplace=False):
        self.inplace = inplace

    def __call__(self, o, x, y, xIdx, yIdx, alpha=None):  # noqa: N803
        o, x, y, rows, columns = map(as_tensor_variable, (o, x, y, xIdx, yIdx))
        _ask("SparseBlockOuter", (o, 4), (x, 3), (y, 3), (rows, 2), (columns, 2))
        products = x.dimshuffle(0, 1, "x", 2, "x") * y.dimshuffle(0, "x", 1, "x", 2)
        if alpha is not None:
            products = as_tensor_variable(alpha) * products
        chosen = o[rows.dimshuffle(0, 1, "x"), columns.dimshuffle(0, "x", 1)]
        return inc_subtensor(chosen, products)


def _ask(name, *operands):
    for k, (x, ndim) in enumerate(operands):
        if x.ndim != ndim:
            raise UsageError(f"inputs[{k}] of {name} must have {ndim} dimensions, but has {x.ndim}")


sparse_block_gemv, sparse_block_gemv_inplace = SparseBlockGemv(), SparseBlockGemv(True)
sparse_block_outer, sparse_block_outer_inplace = SparseBlockOuter(), SparseBlockOuter(True)

__getattr__ = _absent_of("theano.tensor.nnet.blocksparse")
