"""Cross-entropies. For an `output` of softmax or sigmoid they use its logits: nothing saturates."""

import warnings

from .. import ops
from ..base import dtypes
from ..base.errors import CKernelsWarning, ShapeError, user_line
from ..base.given import flag
from ..graph.shapes import show
from .config import epsilon
from .operands import node_of
from .tensor import Tensor

ACTIVATIONS = {"softmax", "sigmoid"}


def categorical_crossentropy(output, target, from_logits=False):
    """-sum(target * log(output)) over the last axis.

    Parameters
    ----------
    output : tensor or array
        (..., classes): probabilities (normalised to sum 1, then kept epsilon() away from 0 and 1),
        or logits.
    target : tensor or array
        Probabilities of the same shape.
    from_logits : bool, default False
        Whether `output` is the argument of a softmax; more exact than the softmax of it.

    Returns
    -------
    Tensor
        (...): a loss for each row.

    Notes
    -----
    The order of the arguments is that of the Keras 1 backend; a warning says where they look
    exchanged.

    Examples
    --------
    >>> p, t = np.array([[0.25, 0.75]]), np.array([[0.0, 1.0]])
    >>> K.categorical_crossentropy(p, t).eval().round(4)
    array([0.2877])
    """
    output, target = _operands(output, target)
    _warn_of_order("categorical_crossentropy", output, target)
    logits = _logits(output, from_logits, "softmax")
    if logits is not None:
        return Tensor(ops.softmax_crossentropy(logits, target, -1))
    output = ops.true_div(output, ops.sum(output, -1, True))
    return Tensor(ops.neg(ops.sum(ops.mul(target, ops.log(_clipped(output))), -1)))


def _warn_of_order(name, output, target):
    """Warn where the operands look exchanged: Keras from 2.0.7 on and Theano have the target first.

    They look so where the second is a softmax or a sigmoid, and the first is neither.
    """
    if _made_by(output) in ACTIVATIONS or _made_by(target) not in ACTIVATIONS:
        return
    line = user_line() or ("ckernels", 0, "")
    warnings.warn_explicit(
        f"K.{name} takes (output, target), and its second operand is a {_made_by(target)} where "
        "the first is none; Keras from 2.0.7 on and Theano have them the other way round. Exchange "
        "them, or wrap a target that is meant so in K.stop_gradient",
        CKernelsWarning,
        line[0],
        line[1],
    )


def _made_by(node):
    """The op that made `node`, behind casts and views."""
    while node.op.name == "cast" or node.op.kind == "movement":
        node = node.inputs[0]
    return node.op.name


def _operands(output, target):
    """Both as nodes; the target in the dtype of the output, which is a float."""
    output = node_of(output)
    output = ops.cast(output, dtypes.to_float(output.dtype))
    return output, ops.cast(node_of(target), output.dtype)


def _logits(output, from_logits, activation):
    """The logits of `output`; None where it holds probabilities that were made otherwise."""
    if activation == "softmax" and output.ndim == 0:
        raise ShapeError(
            "a cross-entropy over classes needs an output with a class axis, got a scalar"
        )
    if flag(from_logits, "from_logits"):
        return output
    if (
        output.op.name == activation
        and output.attrs.get("axis", output.ndim - 1) == output.ndim - 1
    ):
        return output.inputs[0]
    return None


def _clipped(p):
    """Probabilities kept epsilon() away from 0 and 1 (2**-11 in float16 and 2**-8 in
    bfloat16, to have an effect)."""
    fuzz = max(epsilon(), {"float16": 2.0**-11, "bfloat16": 2.0**-8}.get(p.dtype, 0.0))
    return ops.clip(p, fuzz, 1.0 - fuzz)


def sparse_categorical_crossentropy(output, target, from_logits=False):
    """-log(output[..., target]): cross-entropy with the class as an integer.

    Parameters
    ----------
    output : tensor or array
        (..., classes): probabilities or logits.
    target : tensor or array
        Class numbers with the shape of `output` less its last axis (a last axis of size 1 is
        dropped); floats are cast. The loss of a class outside the range is NaN.
    from_logits : bool, default False
        Whether `output` is the argument of a softmax; more exact than the softmax of it.

    Returns
    -------
    Tensor
        (...): a loss for each row.

    Examples
    --------
    >>> K.sparse_categorical_crossentropy(np.array([[0.25, 0.75]]), np.array([1])).eval().round(4)
    array([0.2877])
    """
    target = node_of(target)
    _warn_of_order("sparse_categorical_crossentropy", node_of(output), target)
    output = _operands(output, 0)[0]
    logits = _logits(output, from_logits, "softmax")
    logp = ops.log(_clipped(output)) if logits is None else ops.log_softmax(logits, -1)
    if target.ndim == output.ndim:
        target = ops.squeeze(target, (-1,))
    if target.ndim != output.ndim - 1:
        raise ShapeError(
            f"targets of shape {show(target.shape)} do not fit an output of shape "
            f"{show(output.shape)}: one class for each row is needed"
        )
    for axis, (labels, rows) in enumerate(zip(target.shape, output.shape)):
        if labels != rows and None not in (labels, rows) and 1 not in (labels, rows):
            raise ShapeError(
                f"labels of shape {show(target.shape)} do not fit predictions of shape "
                f"{show(output.shape)}: axis {axis} is {labels} against {rows}, and each row of "
                "predictions has one label"
            )
    target, count = ops.cast(target, "int64"), output.shape[-1]
    if count is None:
        count = ops.getitem(ops.shape(output), -1)
        classes = ops.arange(0, count, 1, "int64")
    else:
        classes = ops.iota((count,), 0, "int64")
    chosen = ops.eq(ops.expand(target, (target.ndim,)), classes)
    loss = ops.neg(ops.sum(ops.where(chosen, logp, 0.0), -1))
    inside = ops.logical_and(ops.ge(target, 0), ops.lt(target, count))
    return Tensor(ops.where(inside, loss, float("nan")))


def binary_crossentropy(output, target, from_logits=False):
    """-(target * log(output) + (1 - target) * log(1 - output)), elementwise.

    Parameters
    ----------
    output : tensor or array
        Probabilities (kept epsilon() away from 0 and 1), or logits.
    target : tensor or array
        Of the same shape.
    from_logits : bool, default False
        Whether `output` is the argument of a sigmoid; more exact than the sigmoid of it.

    Returns
    -------
    Tensor
        Of their shape.

    Examples
    --------
    >>> K.binary_crossentropy(np.array([0.25, 0.75]), np.array([0.0, 1.0])).eval().round(4)
    array([0.2877, 0.2877])
    """
    return binary(output, target, from_logits)


def binary(output, target, from_logits=False, more=0.0):
    """`binary_crossentropy` that takes the logarithms of probabilities plus `more`."""
    output, target = _operands(output, target)
    _warn_of_order("binary_crossentropy", output, target)
    logits = _logits(output, from_logits, "sigmoid")
    if logits is not None:
        return Tensor(ops.sigmoid_crossentropy(logits, target))
    p = _clipped(output)
    log_of_one = ops.log(ops.add(p, more) if more else p)
    log_of_zero = ops.log(ops.add(ops.sub(1, p), more)) if more else ops.log1p(ops.neg(p))
    hit, miss = ops.mul(target, log_of_one), ops.mul(ops.sub(1, target), log_of_zero)
    return Tensor(ops.neg(ops.add(hit, miss)))
