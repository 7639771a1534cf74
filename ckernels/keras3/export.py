"""`model.export("model.c", format="c")`: inference, and a training step, of a model as C99.

The steps are traced as `fit` and `predict` trace them, for sizes that never change, and handed to
`ckernels.export`, which writes the C, a test of recorded calls and a page about both.
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from keras.src import tree
from keras.src.backend import config
from keras.src.export.export_utils import get_input_signature
from keras.src.trainers.data_adapters import data_adapter_utils

from ..base.errors import UsageError
from .tracing import TracedStep, arrays_of


def export_c(model, filepath, signature=None, verbose=None, train=None, batch_size=1, **more):
    """Write a model as C: `predict`, and with `train` `train_on_batch`, over one state.

    filepath: of the C source, with .c; the header, a test and a page lie beside it;
    a path without .c is a folder for them. batch_size: of predict, for inputs whose first axis is
    open. train: (x, y) or (x, y, sample_weight), one batch of arrays as `train_on_batch` takes it;
    the C has its sizes, and gives the logs of that batch alone. more: options of `ckernels.export`.
    Returns its Report. UsageError for a model without weights or, to train, without `compile`.
    """
    from ..export import export  # start-up

    if not model.built:
        raise UsageError("call the model on data, or build it, before it is exported")
    functions, examples = {}, []
    if train is not None:
        batch = tree.map_structure(np.asarray, tuple(train))
        functions["train_on_batch"], arrays = _training(model, batch)
        examples = [("train_on_batch", arrays)] * 2
    signature = signature or get_input_signature(model)
    x = tree.map_structure(lambda spec: _example(spec, batch_size), signature)
    functions["predict"], arrays = _function(_prediction(model), tuple(x), "x")
    examples += [("predict", arrays)] * 2
    path = Path(filepath)
    as_file = path.suffix == ".c"
    prefix = more.pop("prefix", path.stem.replace("-", "_") if as_file else None)
    if not as_file:
        return export(functions, path, prefix=prefix, examples=examples, **more)
    with tempfile.TemporaryDirectory() as folder:
        report = export(functions, folder, prefix=prefix, examples=examples, **more)
        (Path(folder) / "README.md").rename(Path(folder) / f"{prefix}.md")
        shutil.copytree(folder, path.parent, dirs_exist_ok=True)
    return report


def _example(spec, batch_size):
    """Random numbers in the shape of an input; one word of a text, one class are as good as any."""
    shape = tuple(spec.shape)
    if shape and shape[0] is None:
        shape = (batch_size, *shape[1:])
    if None in shape:
        raise UsageError(
            f"the C has sizes that never change, and the input of shape {tuple(spec.shape)} has "
            "open ones: say input_signature=[keras.InputSpec(shape=...)]"
        )
    dtype = np.dtype(spec.dtype or config.floatx())
    drawn = np.random.default_rng(0).normal(size=shape)
    return drawn.astype(dtype) if dtype.kind == "f" else np.zeros(shape, dtype)


def _prediction(model):
    """The model as a function of its arguments alone."""
    training = {"training": False} if model._call_has_training_arg else {}
    return lambda *x: model(*x, **training)


def _training(model, batch):
    if not model.compiled:
        raise UsageError("a model that is to train in C needs `compile` before")
    model._symbolic_build(data_batch=batch)

    def step(data):
        model.reset_metrics()
        return model.train_step(data)

    return _function(step, (data_adapter_utils.unpack_x_y_sample_weight(batch),), "x y weight")


def _function(step, arguments, names):
    """(a compiled function of `step` for the sizes of the arguments, the arrays in them)."""
    arrays = arrays_of(arguments)
    names = names.split()
    given = [names[i] if len(arrays) <= len(names) else f"in{i}" for i in range(len(arrays))]
    traced = TracedStep(step, arguments, arrays, [a.shape for a in arrays], None, given)
    return traced.run, arrays
