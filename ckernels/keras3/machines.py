"""A model's step for many machines: a function that the trainers of Dask and MPI take.

`train_step` is traced as for `fit`, with the metrics left as they are: machines see other rows, and
what they would count has no sum here. The pairs (variable, gradient) are those that the step asked
for, so that clipping, accumulation and loss scales come after the sum over all machines.
"""

import inspect

import numpy as np
from keras.src import tree

from ..api.function import function
from ..api.tensor import Tensor
from ..base.errors import UsageError
from ..graph.walk import toposort
from .gradient import without_gradients
from .tracing import arrays_of, graph_of
from .trainer import STATE, with_state


def training_function(model, x, y=None, sample_weight=None):
    """A training step of a compiled model, and its gradients, for trainers on many machines.

    Parameters
    ----------
    model : keras.Model
        After `compile`.
    x, y, sample_weight : array or structure of arrays
        A batch of any number of rows: its dtypes, and its sizes but for the rows, are those of all.

    Returns
    -------
    function
        `function(*arrays)` takes a step on a batch (the arrays of x, y, sample_weight in turn) and
        returns its loss.
    gradients : list of pairs
        The pairs (variable, gradient) in its updates; empty where the step finds them through
        `value_and_grad`, and the trainer looks for them itself.

    Raises
    ------
    UsageError
        For a model that was not compiled, and for a step whose later gradients depend on earlier
        ones (adversarial nets, sharpness-aware descent): it has more than one sum over machines.

    Examples
    --------
    >>> f, slopes = training_function(model, X[:1], Y[:1])      # doctest: +SKIP
    >>> trainer = ckernels.mpi.Trainer(f, gradients=slopes)     # doctest: +SKIP
    """
    if not model.compiled:
        raise UsageError("a model that is to train needs `compile` before")
    batch = tree.map_structure(
        lambda v: None if v is None else np.asarray(v), (x, y, sample_weight)
    )
    model._symbolic_build(data_batch=batch)
    train_step = model.train_step
    if len(inspect.signature(train_step).parameters) > 1:
        train_step = with_state(model, train_step, STATE)

    def step(data):
        model.reset_metrics()
        return train_step(data)["loss"]

    arrays = arrays_of((batch,))
    shapes = [(None, *a.shape[1:]) if a.ndim else () for a in arrays]
    inputs, loss, updates, slopes = graph_of(step, (batch,), arrays, shapes)
    counts = {id(v.storage) for v in model.metrics_variables}
    updates = [pair for pair in updates if id(pair[0]) not in counts]
    pairs = _pairs(slopes, model.trainable_variables)
    nodes = [loss.node, *(new.node for _, new in updates), *(g for _, g in pairs)]
    loss, *rest = map(Tensor, without_gradients(nodes))
    news, found = rest[: len(updates)], rest[len(updates) :]
    updates = [(cell, new) for (cell, _), new in zip(updates, news)]
    f = function(inputs, loss, updates, on_unused_input="ignore", name=model.name)
    return f, [(cell, g) for (cell, _), g in zip(pairs, found)]


def _pairs(calls, variables):
    """What calls of `gradients` gave of Variables, as pairs (the engine's variable, node)."""
    storages = {v.storage.node.uid: v.storage for v in variables}
    calls = [[(n, g) for n, g in call if n.uid in storages] for call in calls]
    before = set()
    for call in calls:
        found = {g.uid for _, g in call}
        if before & ({n.uid for n in toposort([g for _, g in call])} - found):
            raise UsageError(
                "the step takes gradients of what earlier gradients changed: machines would have "
                "to sum twice in a step. Make a function of each part, with K.function"
            )
        before |= found
    return [(storages[n.uid], g) for call in calls for n, g in call]
