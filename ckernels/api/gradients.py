"""Derivatives of tensors: `gradients` as Keras has it, the rest as Theano has it."""

import functools

from .. import ops
from ..autodiff import recompute
from ..base import given
from ..base.errors import ArgumentError, ShapeError, UsageError, with_line
from ..graph.shapes import show
from .operands import node_of
from .parted import Parted
from .tensor import Tensor, need_tensor


def gradients(loss, variables, disconnected="raise"):
    """The gradients of the scalar `loss`, a list with one for each of `variables`.

    Parameters
    ----------
    loss : Tensor
        Of shape (), of a float or complex dtype.
    variables : list of Tensor
        Variables, placeholders or any values of the graph that `loss` is computed from.
    disconnected : {"raise", "none", "zero"}, default "raise"
        What to do about one that `loss` does not depend on: an error, None in its place, or zeros.

    Returns
    -------
    list of Tensor
        Of the shapes and dtypes of `variables`.

    Raises
    ------
    DisconnectedError
        Where `loss` does not depend on one of them, with the user's line.
    ShapeError
        Where `loss` is no scalar.

    Examples
    --------
    >>> w = K.variable([1.0, 2.0])
    >>> g, = K.gradients(K.sum(w ** 2), [w])
    >>> g.eval()
    array([2., 4.], dtype=float32)
    """
    variables = variables if isinstance(variables, (list, tuple)) else [variables]
    return grad(loss, list(variables), disconnected)


def grad(cost, wrt, disconnected="raise", known_grads=None, consider_constant=None):
    """The gradient of the scalar `cost`: a tensor for a tensor `wrt`, a list for a list.

    Parameters
    ----------
    cost : Tensor or None
        Of shape (); None only with `known_grads`.
    wrt : Tensor or list of Tensor
        With respect to a sparse tensor the gradient is sparse: that for its stored numbers.
    disconnected : {"raise", "none", "zero"}, default "raise"
        What to do about one that `cost` does not depend on: an error, None in its place, or zeros.
    known_grads : dict, optional
        {tensor: gradient of the cost with respect to it}, to start from.
    consider_constant : list of Tensor, optional
        Tensors that are not differentiated through.

    Returns
    -------
    Tensor or list of Tensor
        Of the shapes and dtypes of `wrt`.

    Raises
    ------
    DisconnectedError
        Where `cost` does not depend on one of them, with the user's line.
    ShapeError
        Where `cost` is no scalar.

    Examples
    --------
    >>> x = K.variable(3.0)
    >>> K.grad(x ** 2, x).eval(), K.grad(K.grad(x ** 3, x), x).eval()
    (array(6., dtype=float32), array(18., dtype=float32))
    """
    single = isinstance(wrt, (Tensor, Parted))
    targets = [wrt] if single else given.sequence(wrt, "what a gradient is taken with respect to")
    if any(isinstance(t, Parted) for t in targets):
        stored = [t.data if isinstance(t, Parted) else t for t in targets]
        found = grad(cost, stored, disconnected, known_grads, consider_constant)
        found = [
            t.with_data(g) if isinstance(t, Parted) and g is not None else g
            for t, g in zip(targets, found)
        ]
        return found[0] if single else found
    if cost is not None and need_tensor(cost, "the cost").ndim:
        raise with_line(
            ShapeError(
                f"the cost of a gradient must be a scalar, but {cost!r} has shape "
                f"{show(cost.node.shape)}; sum or average it first"
            ),
            cost,
        )
    nodes = [_target(t) for t in targets]
    known = {
        need_tensor(k, "a key of known_grads").node: node_of(v)
        for k, v in given.items(known_grads, "known_grads")
    }
    fixed = () if consider_constant is None else consider_constant
    fixed = given.sequence(fixed, "consider_constant")
    fixed = [need_tensor(c, "consider_constant").node for c in fixed]
    word = _word(disconnected)
    found = engine().grad(
        None if cost is None else cost.node,
        nodes,
        known_grads=known or None,
        disconnected="raise" if word == "raise" else "none",
        consider_constant=tuple(fixed),
    )
    results = [_result(g, t, word) for g, t in zip(found, targets)]
    return results[0] if single else results


def engine():
    """The autodiff room, loaded with the first derivative: other programs do not need it."""
    from ..autodiff import reverse  # start-up

    return reverse


def _result(g, target, disconnected):
    if g is not None:
        return Tensor(g)
    return None if disconnected == "none" else target.zeros_like()


def jacobian(expression, wrt, disconnected="raise"):
    """d expression / d wrt, of shape expression.shape + wrt.shape; a list for a list.

    Parameters
    ----------
    expression : Tensor
        Of any shape.
    wrt : Tensor or list of Tensor
        Of any shapes.
    disconnected : {"raise", "none", "zero"}, default "raise"
        What to do about one that `expression` does not depend on: an error, None, or zeros.

    Returns
    -------
    Tensor or list of Tensor
        expression.shape + wrt.shape.

    Raises
    ------
    DisconnectedError
        Where `expression` does not depend on `wrt`.

    Examples
    --------
    >>> v = K.variable([1.0, 2.0])
    >>> K.jacobian(v ** 2, v).eval()
    array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    node = need_tensor(expression, "the expression of a Jacobian").node
    word = _word(disconnected)

    def one(x):
        found = engine().jacobian(node, _target(x), word)
        return None if found is None else Tensor(found)

    return _each(wrt, one)


def hessian(cost, wrt):
    """Second derivatives of a scalar, of shape wrt.shape twice; a list for a list `wrt`.

    Parameters
    ----------
    cost : Tensor
        Of shape ().
    wrt : Tensor or list of Tensor
        Of any shapes.

    Returns
    -------
    Tensor or list of Tensor
        wrt.shape + wrt.shape.

    Raises
    ------
    DisconnectedError
        Where `cost` does not depend on `wrt`.
    ShapeError
        Where `cost` is no scalar.

    Examples
    --------
    >>> v = K.variable([1.0, 2.0])
    >>> K.hessian(K.sum(v ** 3), v).eval()
    array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    node = need_tensor(cost, "the cost of a Hessian").node
    return _each(wrt, lambda x: Tensor(engine().hessian(node, _target(x))))


def _target(x):
    return need_tensor(x, "what the derivative is taken with respect to").node


def _word(disconnected):
    words = {"raise": "raise", "none": "none", None: "none", "zero": "zero", "ignore": "zero"}
    return words[given.word(disconnected, words, "disconnected")]


def Rop(f, wrt, eval_points):  # noqa: N802
    """The Jacobian of `f`, which is not built, times `eval_points`.

    Parameters
    ----------
    f : Tensor or list of Tensor
        What is differentiated.
    wrt : Tensor or list of Tensor
        What it is differentiated with respect to.
    eval_points : tensor or array, or list of them
        One for each of `wrt`, of the shape of that.

    Returns
    -------
    Tensor or list of Tensor
        Of the shape of `f`; zeros where `f` does not depend on `wrt`.

    Raises
    ------
    ShapeError
        Where a point does not have the shape of its tensor.
    ArgumentError
        Where there are more or fewer points than tensors.

    Examples
    --------
    >>> v = K.variable([1.0, 2.0])
    >>> K.Rop(v ** 2, v, np.array([1, 0], "float32")).eval()
    array([2., 0.], dtype=float32)
    """
    xs, vs = _lists(wrt, eval_points, "wrt and eval_points")
    return _each(f, lambda y: Tensor(engine().Rop(need_tensor(y, "f").node, xs, vs)))


def Lop(f, wrt, eval_points):  # noqa: N802
    """`eval_points` times the Jacobian of `f`, which is not built.

    Parameters
    ----------
    f : Tensor or list of Tensor
        What is differentiated.
    wrt : Tensor or list of Tensor
        What it is differentiated with respect to.
    eval_points : tensor or array, or list of them
        One for each of `f`, of the shape of that.

    Returns
    -------
    Tensor or list of Tensor
        Of the shape of `wrt`; a list where `wrt` is one.

    Raises
    ------
    ShapeError
        Where a point does not have the shape of its tensor.
    DisconnectedError
        Where `f` does not depend on one of `wrt`.
    ArgumentError
        Where there are more or fewer points than tensors.

    Examples
    --------
    >>> v = K.variable([1.0, 2.0])
    >>> K.Lop(v ** 2, v, np.array([1, 0], "float32")).eval()
    array([2., 0.], dtype=float32)
    """
    ys, vs = _lists(f, eval_points, "f and eval_points")
    xs = [_target(t) for t in (wrt if isinstance(wrt, (list, tuple)) else [wrt])]
    found = engine().Lop(ys, xs, vs)
    wrapped = [Tensor(g) for g in found]
    return wrapped if isinstance(wrt, (list, tuple)) else wrapped[0]


def _lists(tensors, points, what):
    tensors = tensors if isinstance(tensors, (list, tuple)) else [tensors]
    points = points if isinstance(points, (list, tuple)) else [points]
    if len(tensors) != len(points):
        raise ArgumentError(
            f"{what} have {len(tensors)} and {len(points)} tensors; one point for each is needed"
        )
    return [need_tensor(t, what).node for t in tensors], [node_of(p) for p in points]


def _each(one_or_many, compute):
    many = isinstance(one_or_many, (list, tuple))
    results = [compute(x) for x in (one_or_many if many else [one_or_many])]
    return results if many else results[0]


def stop_gradient(variables):
    """`variables` with zero gradient with respect to everything.

    Parameters
    ----------
    variables : tensor or list of them
        Of any shapes.

    Returns
    -------
    Tensor or list of Tensor
        The same values.

    Examples
    --------
    >>> x = K.variable(3.0)
    >>> K.grad(x * K.stop_gradient(x), x).eval()
    array(3., dtype=float32)
    """
    return _each(variables, lambda x: Tensor(ops.stop_gradient(node_of(x))))


def checkpoint(function):
    """`function` of tensors, such that gradients through it compute again what it computes.

    Of a call, only the arguments and the results are kept for the way back; what lies between costs
    no memory and is computed a second time.

    Parameters
    ----------
    function : callable
        Takes tensors (and whatever else), gives a tensor, or a list or tuple of them: each result
        is recomputed separately. Tensors it captures from outside are not computed again; a
        gradient with respect to a tensor that it makes is not connected. Random draws inside are
        the same both times.

    Returns
    -------
    callable
        Of the arguments of `function`, with its results.

    Raises
    ------
    UsageError
        Where `function` is none.

    Notes
    -----
    A chain of n layers in segments of sqrt(n), each in a checkpoint, needs memory for 2 sqrt(n)
    layers instead of n, for one more run of the layers (T. Chen et al., arXiv 1604.06174).

    Examples
    --------
    >>> x = K.variable([0.5, 1.0])
    >>> block = K.checkpoint(lambda t: K.tanh(K.tanh(t) * 2.0))
    >>> K.gradients(K.sum(block(x)), [x])[0].eval().round(4)
    array([0.7395, 0.1455], dtype=float32)
    """
    if not callable(function):
        raise UsageError(f"checkpoint takes a function of tensors, not {function!r}")

    @functools.wraps(function)
    def checkpointed(*args, **kwargs):
        given = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
        nodes = [a.node for a in given]
        result = function(*args, **kwargs)
        if not isinstance(result, (list, tuple)):
            return _checkpointed(result, nodes)
        return type(result)(_checkpointed(r, nodes) for r in result)

    return checkpointed


def _checkpointed(result, nodes):
    made = need_tensor(result, "what a checkpoint's function gives")
    node = recompute.checkpoint(made.node, nodes)
    return made if node is made.node else Tensor(node, made.name)
