"""Connectionist temporal classification: the loss and the decoders of the Keras API, and Theano's
`ctc`.

Keras's blank is the last class, Theano's the first. All of them run as C kernels, parallel over
samples.
"""

import numpy as np

from .. import ops
from ..base import dtypes
from ..base.errors import ShapeError
from ..graph.shapes import show
from .config import epsilon
from .operands import integer, node_of
from .tensor import Tensor


def _rows():
    """The ops of CTC, loaded with the first use: most programs need none."""
    from ..ops import ctc  # start-up

    return ctc


def ctc_label_dense_to_sparse(labels, label_lengths):
    """The first label_lengths[i] labels of each row of `labels`, as a sparse tensor.

    Parameters
    ----------
    labels : tensor or array
        (samples, length). Labels 0 are stored too.
    label_lengths : tensor or array
        (samples,) or (samples, 1).

    Returns
    -------
    SparseTensor
        Of the shape of `labels`.

    Raises
    ------
    ShapeError
        For labels that are no matrix.

    Examples
    --------
    >>> import scipy.sparse
    >>> s = K.ctc_label_dense_to_sparse(np.array([[3, 0], [1, 9]]), np.array([2, 1]))
    >>> s.eval().nnz, s.eval().toarray().tolist()
    (3, [[3, 0], [1, 0]])
    """
    from .sparse.construct import csr_where  # start-up

    labels, lengths = node_of(labels), node_of(label_lengths)
    if labels.ndim != 2 or lengths.ndim not in (1, 2):
        raise ShapeError(
            "ctc_label_dense_to_sparse needs labels of shape (samples, length) and one length for "
            f"each sample, got shapes {show(labels.shape)} and {show(lengths.shape)}"
        )
    return csr_where(labels, _inside(labels, lengths))


def _inside(x, lengths):
    """Whether a position along axis 1 of `x` is before the length of its row."""
    lengths = ops.reshape(lengths, ops.pack(ops.size_of(x, 0), 1))
    return ops.lt(ops.arange(0, ops.size_of(x, 1), 1, "int64"), lengths)


def ctc_batch_cost(y_true, y_pred, input_length, label_length):
    """The CTC loss of each sample. Differentiable once, by y_pred.

    Parameters
    ----------
    y_true : tensor or array
        Labels (samples, max_label_length), classes from 0 to classes - 2; what is beyond
        label_length is not read.
    y_pred : tensor or array
        Probabilities (samples, steps, classes), as from a softmax; the last class is the blank.
        epsilon() is added to them, as in Keras, and they are divided by their sum.
    input_length : tensor or array
        (samples, 1) or (samples,): time steps of each sample that count.
    label_length : tensor or array
        (samples, 1) or (samples,): labels of each sample, 0 for an empty sequence.

    Returns
    -------
    Tensor
        Of shape (samples, 1).

    Raises
    ------
    IndexOutOfBounds
        In a call, for a label that is no class or is the blank, naming the sample. It is an
        IndexError.
    ArgumentError
        In a call, for lengths beyond the arrays and for labels that need more steps than
        input_length, naming the sample. It is a ValueError.
    ShapeError
        For labels that are no matrix.

    Notes
    -----
    The loss is that of A. Graves et al., ICML 2006, and of the backend of Keras 2.

    Examples
    --------
    >>> p = np.array([[[0.5, 0.5], [0.5, 0.5]]])
    >>> K.ctc_batch_cost(np.array([[0]]), p, np.array([[2]]), np.array([[1]])).eval().round(4)
    array([[0.2877]])
    """
    return batch_cost(y_true, y_pred, input_length, label_length)


def batch_cost(y_true, y_pred, input_length, label_length, ends=False):
    """`ctc_batch_cost`; with `ends`, a label >= classes - 1 ends its sequence, as in TensorFlow."""
    cost = _rows().ctc_cost(
        node_of(y_pred),
        node_of(y_true),
        node_of(input_length),
        node_of(label_length),
        epsilon=epsilon(),
        ends=ends,
    )
    return Tensor(ops.expand(cost, (1,)))


def ctc(activations, labels, input_lengths):
    """The CTC loss of each sample, as Theano's tensor.nnet.ctc.ctc.

    Parameters
    ----------
    activations : tensor or array
        Logits (steps, samples, classes): the softmax is part of the loss; the blank is class 0.
    labels : tensor or array
        (samples, max_label_length), classes from 1; negative ones are left out.
    input_lengths : tensor or array
        (samples,): time steps of each sample that count.

    Returns
    -------
    Tensor
        Of shape (samples,).

    Raises
    ------
    ShapeError
        Where activations do not have three dimensions, or labels two.
    IndexOutOfBounds, ArgumentError
        In a call, what `ctc_batch_cost` raises.

    Notes
    -----
    The loss is that of A. Graves et al., ICML 2006.

    Examples
    --------
    >>> x = np.zeros((2, 1, 2))
    >>> K.ctc(x, np.array([[1, -1]]), np.array([2])).eval().round(4)
    array([0.2877])
    """
    x, labels = node_of(activations), node_of(labels)
    if x.ndim != 3 or labels.ndim != 2:
        raise ShapeError(
            "ctc needs activations of shape (steps, samples, classes) and labels of shape "
            f"(samples, length), got {show(x.shape)} and {show(labels.shape)}"
        )
    logp = ops.transpose(ops.log_softmax(x, -1), (1, 0, 2))
    every = ops.broadcast_to(ops.size_of(labels, 1), ops.pack(ops.size_of(labels, 0)))
    return Tensor(
        _rows().ctc_cost(
            logp, labels, node_of(input_lengths), every, blank=0, log=True, padded=True
        )
    )


def ctc_decode(y_pred, input_length, greedy=True, beam_width=100, top_paths=1):
    """The most probable label sequences: ([sequences, ...], scores).

    Parameters
    ----------
    y_pred : tensor or array
        Probabilities (samples, steps, classes); the last class is the blank. epsilon() is added to
        them.
    input_length : tensor or array
        (samples,) or (samples, 1).
    greedy : bool, default True
        The best class at each step, repeats merged and blanks dropped; otherwise a search that
        keeps the most probable prefixes.
    beam_width : int, default 100
        How many prefixes the search keeps.
    top_paths : int, default 1
        How many sequences of the search are given, best first.

    Returns
    -------
    sequences : list of Tensor
        int64, (samples, longest), padded with -1: one where greedy, else `top_paths`. A path that
        does not exist (fewer prefixes than top_paths) is all -1.
    scores : Tensor
        Where greedy minus the sum of the logs of the best classes, (samples, 1); else the log
        probabilities, (samples, top_paths), -inf for a path that does not exist.

    Raises
    ------
    ShapeError
        Where y_pred does not have three dimensions.
    ArgumentError
        For a search without 1 <= top_paths <= beam_width.

    Examples
    --------
    >>> p = np.array([[[0.1, 0.8, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]])
    >>> (best,), score = K.ctc_decode(p, np.array([3]))
    >>> best.eval(), score.eval().round(3)
    (array([[1]]), array([[0.669]]))
    >>> paths, scores = K.ctc_decode(p, np.array([3]), greedy=False, top_paths=2)
    >>> [path.eval().tolist() for path in paths], scores.eval().round(3)
    ([[[1]], [[1, 0]]], array([[-0.338, -1.884]]))
    """
    return decode(y_pred, input_length, greedy, beam_width, top_paths)


def decode(y_pred, input_length, greedy, beam_width, top_paths, merge_repeated=False):
    """`ctc_decode`; merge_repeated: equal neighbours in the sequences that the search found become
    one, whatever blanks were between them, as TensorFlow's option of this name has it."""
    y, lengths = node_of(y_pred), node_of(input_length)
    if y.ndim != 3:
        raise ShapeError(
            f"ctc_decode needs predictions of shape (samples, steps, classes), not {show(y.shape)}"
        )
    if greedy:
        sequences, score = _greedy(y, lengths)
        return [Tensor(sequences)], Tensor(score)
    width, paths = integer(beam_width, "beam_width"), integer(top_paths, "top_paths")
    found, counts, score = _rows().ctc_beam(y, lengths, width, paths, epsilon())
    every = [
        (ops.getitem(found, (slice(None), k)), ops.getitem(counts, (slice(None), k)))
        for k in range(paths)
    ]
    if merge_repeated:
        every = [_rows().ctc_collapse(*path) for path in every]
    return [Tensor(_cut(*path)) for path in every], Tensor(score)


def _greedy(y, lengths):
    """(sequences, score) by the best class at each step."""
    y = ops.cast(y, dtypes.to_float(y.dtype))
    last = ops.sub(ops.size_of(y, 2), 1)
    best = ops.argmax(y, 2)
    best = ops.where(ops.eq(best, last), -1, best)
    found, counts = _rows().ctc_collapse(best, lengths)
    logs = ops.log(ops.add(ops.max(y, 2), epsilon()))
    score = ops.neg(ops.sum(ops.where(_inside(y, lengths), logs, 0.0), 1, True))
    return _cut(found, counts), score


def _cut(sequences, counts):
    """`sequences` (samples, steps), steps cut to the longest of the batch (0 if it is empty)."""
    longest = ops.max(ops.concatenate([counts, np.zeros(1, "int64")]))
    return ops.getitem(sequences, (slice(None), slice(None, longest)))
