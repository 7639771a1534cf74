"""The Trainer: fit, evaluate and predict, where a batch is one call of a compiled function.

A step is an ordinary function of a batch: it calls the model, asks for gradients and assigns to
Variables. It is traced once for all sizes (tracing.py); what it assigns are the function's updates.
`train_step(self, data)` and the shape of JAX, `train_step(self, state, data)`, may be overridden.
"""

import inspect
import itertools
import warnings

import numpy as np
from keras.src import backend, tree
from keras.src import callbacks as callbacks_module
from keras.src import optimizers as optimizers_module
from keras.src.backend import config
from keras.src.trainers import trainer as base_trainer
from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils
from keras.src.trainers.epoch_iterator import EpochIterator
from keras.src.utils import traceback_utils
from keras.src.utils.python_utils import pythonify_logs

from .tracing import Step, gradients
from .values import shape

STATE = (
    "trainable_variables",
    "non_trainable_variables",
    "optimizer_variables",
    "metrics_variables",
)


class Trainer(base_trainer.Trainer):
    """What Keras's models train with."""

    def __init__(self):
        super().__init__()
        self.train_function = self.test_function = self.predict_function = None

    # ---- steps: traced -------------------------------------------------------------------------

    def train_step(self, data):
        """Logs of one batch, after which weights, optimiser and metrics are updated."""
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        y_pred = self(x, training=True) if self._call_has_training_arg else self(x)
        loss = self._compute_loss(
            x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=True
        )
        self._track_loss(loss, x)
        if self.optimizer is not None:
            loss = self.optimizer.scale_loss(loss)
        if self.trainable_weights:
            weights = self.trainable_weights
            self.optimizer.apply(gradients(loss, [w.traced() for w in weights]), weights)
        else:
            warnings.warn("The model does not have any trainable weights.", stacklevel=2)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def test_step(self, data):
        """Logs of one batch."""
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False) if self._call_has_training_arg else self(x)
        loss = self._compute_loss(
            x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=False
        )
        self._track_loss(loss, x)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def predict_step(self, data):
        """What the model computes of one batch."""
        x, _, _ = data_adapter_utils.unpack_x_y_sample_weight(data)
        return self(x, training=False) if self._call_has_training_arg else self(x)

    def _track_loss(self, loss, x):
        first = next(i for i in tree.flatten(x) if i is not None)
        self._loss_tracker.update_state(loss, sample_weight=shape(first)[0])

    def export_c(self, filepath, input_signature=None, verbose=None, **options):
        """What `export(filepath, format="c")` does: see ckernels.keras3.export."""
        from .export import export_c  # start-up

        return export_c(self, filepath, input_signature, verbose, **options)

    # ---- functions of batches ------------------------------------------------------------------

    def make_train_function(self, force=False):
        """`train_function`(batches) -> logs of the last one."""
        if self.train_function is None or force:
            self.train_function = self._last_of(self._stepper(self.train_step, STATE))
        return self.train_function

    def make_test_function(self, force=False):
        """`test_function`(batches) -> logs of the last one."""
        if self.test_function is None or force:
            state = tuple(name for name in STATE if name != "optimizer_variables")
            self.test_function = self._last_of(self._stepper(self.test_step, state))
        return self.test_function

    def make_predict_function(self, force=False):
        """`predict_function`(batches) -> their outputs, joined."""
        if self.predict_function is not None and not force:
            return self.predict_function
        step = self._stepper(self.predict_step, STATE[:2])

        def run(batches):
            outputs = _over(step, batches)
            if len(outputs) == 1:
                return outputs[0]
            return tree.map_structure(lambda *each: np.concatenate(each), *outputs)

        self.predict_function = run
        return run

    def _last_of(self, step):
        return lambda batches: _over(step, batches, last=True)[-1]

    def _stepper(self, step, state):
        """`step` as a compiled function; eager where it is asked for and needs no gradients."""
        if len(inspect.signature(step).parameters) > 1:
            step = with_state(self, step, state)
        trains = "optimizer_variables" in state
        if self.run_eagerly and not trains:
            return step
        mode = "reference" if self.run_eagerly else None
        may_read = not all(layer.supports_jit for layer in self._flatten_layers())
        return Step(step, mode=mode, keep=not self.run_eagerly, may_read=may_read)

    # ---- loops over data -----------------------------------------------------------------------

    def _iterator(self, x, y=None, sample_weight=None, **options):
        return Executions(
            x=x, y=y, sample_weight=sample_weight,
            steps_per_execution=self.steps_per_execution, **options,
        )  # fmt: skip

    def _callbacks(self, given, verbose, epochs, steps, history=False):
        if isinstance(given, callbacks_module.CallbackList):
            return given
        return callbacks_module.CallbackList(
            given, add_history=history, add_progbar=verbose != 0, verbose=verbose, epochs=epochs,
            steps=steps, model=self,
        )  # fmt: skip

    @traceback_utils.filter_traceback
    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        epochs=1,
        verbose="auto",
        callbacks=None,
        validation_split=0.0,
        validation_data=None,
        shuffle=True,
        class_weight=None,
        sample_weight=None,
        initial_epoch=0,
        steps_per_epoch=None,
        validation_steps=None,
        validation_batch_size=None,
        validation_freq=1,
    ):
        self._assert_compile_called("fit")
        most = config.max_epochs()
        if most and most < epochs:
            warnings.warn(f"Limiting epochs to {most}", stacklevel=2)
            epochs = most
        self._eval_epoch_iterator = None
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = array_slicing.train_validation_split(
                (x, y, sample_weight), validation_split=validation_split
            )
        iterator = self._iterator(
            x, y, sample_weight, batch_size=batch_size, steps_per_epoch=steps_per_epoch,
            shuffle=shuffle, class_weight=class_weight,
        )  # fmt: skip
        self._build_by_first(iterator)
        callbacks = self._callbacks(callbacks, verbose, epochs, iterator.num_batches, True)
        self.stop_training = False
        self.make_train_function()
        callbacks.on_train_begin()
        validation = None
        if validation_data is not None:
            validation = {
                "data": data_adapter_utils.unpack_x_y_sample_weight(validation_data),
                "batch_size": validation_batch_size or batch_size,
                "steps": validation_steps,
            }
        logs, finished = {}, False
        try:
            for epoch in range(self._initial_epoch or initial_epoch, epochs):
                logs = self._fit_epoch(epoch, iterator, callbacks)
                if validation is not None and self._should_eval(epoch, validation_freq):
                    found = self._validate(callbacks, **validation)
                    logs.update({f"val_{name}": value for name, value in found.items()})
                callbacks.on_epoch_end(epoch, logs)
                if self.stop_training:
                    break
            finished = True
        finally:
            if isinstance(self.optimizer, optimizers_module.Optimizer) and epochs > 0:
                self.optimizer.finalize_variable_values(self.trainable_weights)
            self._eval_epoch_iterator = None
            if finished:
                callbacks.on_train_end(logs=logs)
        return self.history

    def _fit_epoch(self, epoch, iterator, callbacks):
        """Train on all batches of an epoch; its logs."""
        self.reset_metrics()
        callbacks.on_epoch_begin(epoch)
        logs = {}
        with iterator.catch_stop_iteration():
            for begin, end, batches in iterator:
                callbacks.on_train_batch_begin(begin)
                logs = self.train_function(batches)
                callbacks.on_train_batch_end(end, logs)
                if self.stop_training:
                    break
        return dict(self._get_metrics_result_or_logs(logs))

    def _validate(self, callbacks, data, batch_size, steps):
        """Logs of the validation data, whose iterator is kept from epoch to epoch."""
        x, y, sample_weight = data
        if self._eval_epoch_iterator is None:
            self._eval_epoch_iterator = self._iterator(
                x, y, sample_weight, batch_size=batch_size, steps_per_epoch=steps, shuffle=False
            )
        return self.evaluate(
            x=x, y=y, sample_weight=sample_weight, batch_size=batch_size, steps=steps,
            callbacks=callbacks, return_dict=True, _use_cached_eval_dataset=True,
        )  # fmt: skip

    @traceback_utils.filter_traceback
    def evaluate(
        self,
        x=None,
        y=None,
        batch_size=None,
        verbose="auto",
        sample_weight=None,
        steps=None,
        callbacks=None,
        return_dict=False,
        **kwargs,
    ):
        self._assert_compile_called("evaluate")
        kept = kwargs.pop("_use_cached_eval_dataset", False)
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        iterator = self._eval_epoch_iterator if kept else self._iterator(
            x, y, sample_weight, batch_size=batch_size, steps_per_epoch=steps, shuffle=False
        )  # fmt: skip
        self._build_by_first(iterator)
        callbacks = self._callbacks(callbacks, verbose, 1, iterator.num_batches)
        self.make_test_function()
        self.stop_evaluating = False
        callbacks.on_test_begin()
        logs = {}
        self.reset_metrics()
        with iterator.catch_stop_iteration():
            for begin, end, batches in iterator:
                callbacks.on_test_batch_begin(begin)
                logs = self.test_function(batches)
                callbacks.on_test_batch_end(end, logs)
                if self.stop_evaluating:
                    break
        logs = pythonify_logs(self._get_metrics_result_or_logs(logs))
        callbacks.on_test_end(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    @traceback_utils.filter_traceback
    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        iterator = self._iterator(x, batch_size=batch_size, steps_per_epoch=steps, shuffle=False)
        callbacks = self._callbacks(callbacks, verbose, 1, iterator.num_batches)
        self.make_predict_function()
        self.stop_predicting = False
        callbacks.on_predict_begin()
        outputs = []
        with iterator.catch_stop_iteration():
            for begin, end, batches in iterator:
                self._build_by(batches[0])
                callbacks.on_predict_batch_begin(begin)
                found = self.predict_function(batches)
                outputs.append(found)
                callbacks.on_predict_batch_end(end, {"outputs": found})
                if self.stop_predicting:
                    break
        callbacks.on_predict_end()
        return tree.map_structure(lambda *each: np.concatenate(each), *outputs)

    def _build_by_first(self, iterator):
        """Build by one batch: of a generator Keras puts back two, not all of an execution."""
        taken, iterator.steps_per_execution = iterator.steps_per_execution, 1
        self._symbolic_build(iterator=iterator)
        iterator.steps_per_execution = taken
        iterator.reset()

    def _build_by(self, batch):
        """Make the variables of a model that was never called."""
        if not all(layer.built for layer in self._flatten_layers()):
            x, _, _ = data_adapter_utils.unpack_x_y_sample_weight(batch)
            with backend.StatelessScope():
                self(x)

    # ---- single batches ------------------------------------------------------------------------

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        self._assert_compile_called("train_on_batch")
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    "Arguments `sample_weight` and `class_weight` cannot be specified at the same "
                    f"time. Received: sample_weight={sample_weight}, class_weight={class_weight}"
                )
            sample_weight = data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
        return self._on_batch((x, y, sample_weight), self.make_train_function, return_dict)

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        self._assert_compile_called("test_on_batch")
        return self._on_batch((x, y, sample_weight), self.make_test_function, return_dict)

    def _on_batch(self, batch, make, return_dict):
        batch = tree.map_structure(lambda v: None if v is None else np.asarray(v), batch)
        self._symbolic_build(data_batch=batch)
        run = make()
        self.reset_metrics()
        logs = pythonify_logs(run([batch]))
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    def predict_on_batch(self, x):
        x = tree.map_structure(lambda v: None if v is None else np.asarray(v), x)
        self._build_by((x,))
        return self.make_predict_function()([(x,)])


def _over(step, batches, last=False):
    """A list of what a step gives for each batch; with `last` of the last one alone."""
    if isinstance(step, Step):
        return step.over([(batch,) for batch in batches], last)
    return [step(batch) for batch in batches]


class Executions(EpochIterator):
    """Lists of as many batches as an execution takes; the last list of an epoch may be shorter."""

    def __next__(self):
        begin, end, iterator = next(self._epoch_iterator)
        batches = list(itertools.islice(iterator, self.steps_per_execution))
        short = len(batches) < self.steps_per_execution
        if short and (self.steps_per_epoch or not self._num_batches):
            with self.catch_stop_iteration():
                raise StopIteration
        if not batches:
            raise StopIteration
        return begin, end, batches


def with_state(model, step, names):
    """A step of JAX's shape, (state, data) -> (result, state), as one of data alone."""

    def variables(name):
        return model.optimizer.variables if name == "optimizer_variables" else getattr(model, name)

    def run(data):
        held = [variables(name) for name in names]
        state = tuple([v.value for v in each] for each in held)
        result, after = step(state, data)
        for each, values, before in zip(held, after, state):
            for variable, value, old in zip(each, values, before):
                if value is not old:
                    variable.assign(value)
        return result

    return run
