"""Programs that use what Keras has around models: schedules, precision, files, own steps."""

import os
import tempfile

import keras
import numpy as np
from keras import layers, ops

from . import fixed, integers, normal, pictures, program, trained, transforms, uniform


def net(n=6, out=1):
    return fixed(keras.Sequential([keras.Input((n,)), layers.Dense(8, "relu"), layers.Dense(out)]))


def table(n=40):
    x = normal(n, 6)
    return x, (x @ normal(6, 1, seed=3)).astype("float32")


@program
def schedules_and_clipping():
    x, y = table()
    schedule = keras.optimizers.schedules.CosineDecay(0.05, 12, warmup_target=0.1, warmup_steps=3)
    optimizer = keras.optimizers.Nadam(schedule, global_clipnorm=1.0)
    return trained(net(), x, y, batch_size=16, optimizer=optimizer)


@program
def callbacks_at_work():
    x, y = table()
    calls = keras.callbacks
    watch = [calls.EarlyStopping("val_loss", 0.5, 1, restore_best_weights=True),
             calls.ReduceLROnPlateau("val_loss", 0.5, 1), calls.TerminateOnNaN()]  # fmt: skip
    return trained(net(), x, y, epochs=8, validation_split=0.25, callbacks=watch)


@program
def gradient_accumulation():
    x, y = table()
    optimizer = keras.optimizers.Adam(0.05, gradient_accumulation_steps=3)
    return trained(net(), x, y, optimizer=optimizer, epochs=4)


@program
def moving_averages_of_weights():
    x, y = table()
    optimizer = keras.optimizers.SGD(0.05, use_ema=True, ema_momentum=0.8,
                                     ema_overwrite_frequency=5)  # fmt: skip
    return trained(net(), x, y, optimizer=optimizer, epochs=4)


@program
def mixed_precision():
    x, y = pictures(20)
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = keras.Sequential([
            keras.Input((8, 8, 1)), layers.Conv2D(4, 3, activation="relu"), layers.Flatten(),
            layers.Dense(2), layers.Activation("softmax", dtype="float32"),
        ])  # fmt: skip
        optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.01), 2.0**16)
        return trained(fixed(model), x, y, loss="sparse_categorical_crossentropy",
                       optimizer=optimizer)  # fmt: skip
    finally:
        keras.config.set_dtype_policy("float32")


@program
def several_inputs_and_outputs():
    x, y = table()
    a, b = keras.Input((6,), name="a"), keras.Input((6,), name="b")
    h = layers.Dot(1)([layers.Dense(4)(a), layers.Dense(4)(b)])
    h = layers.Concatenate()([h, layers.Maximum()([a, b]), layers.Subtract()([a, b])])
    outputs = {"p": layers.Dense(1, name="p")(h), "q": layers.Dense(3, "softmax", name="q")(h)}
    model = keras.Model({"a": a, "b": b}, outputs)
    goals = {"p": y, "q": integers(3, 40)}
    losses = {"p": "mse", "q": "sparse_categorical_crossentropy"}
    return trained(fixed(model), {"a": x, "b": x[::-1].copy()}, goals, loss=losses,
                   loss_weights={"p": 0.3, "q": 1.0}, metrics={"q": ["accuracy"]},
                   sample_weight={"p": uniform(40), "q": uniform(40, seed=2)})  # fmt: skip


@program
def transfer_and_fine_tuning():
    x, y = pictures(20)
    base = fixed(keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(4, 3),
                                   layers.BatchNormalization(), layers.ReLU()]))  # fmt: skip
    base.trainable = False
    inputs = keras.Input((8, 8, 1))
    h = layers.GlobalAveragePooling2D()(base(inputs, training=False))
    model = fixed(keras.Model(inputs, layers.Dense(1, "sigmoid")(h)))
    found = trained(model, x, y, loss="binary_crossentropy")
    base.trainable = True
    return found + trained(model, x, y, loss="binary_crossentropy", optimizer="sgd")


@program
def saved_and_gone_on():
    x, y = table()
    model = net()
    found = trained(model, x, y)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        model.save(path)
        model = keras.saving.load_model(path)
    return [*found, *trained(model, x, y, optimizer=None), *model.predict(x[:3], verbose=0)[:, 0]]


class Penalised(keras.Model):
    """A step of its own, in both shapes: JAX's where JAX runs."""

    def __init__(self):
        super().__init__()
        self.net = net()

    def call(self, x):
        return self.net(x)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return ops.mean((y - y_pred) ** 2) + 0.01 * ops.sum(ops.abs(y_pred))


class StepOfJax(Penalised):
    def loss_and_updates(self, trainable, rest, x, y, training=False):
        y_pred, rest = self.stateless_call(trainable, rest, x)
        return self.compute_loss(x, y, y_pred), (y_pred, rest)

    def train_step(self, state, data):
        value_and_grad, _ = transforms()
        trainable, rest, held, scores = state
        x, y = data
        (loss, (y_pred, rest)), slopes = value_and_grad(self.loss_and_updates, has_aux=True)(
            trainable, rest, x, y, training=True
        )
        trainable, held = self.optimizer.stateless_apply(held, slopes, trainable)
        return {"loss": loss, "mae": ops.mean(ops.abs(y - y_pred))}, (trainable, rest, held, scores)


@program
def own_loss_of_a_model():
    return trained(Penalised(), *table(), loss=None)


@program
def own_train_step():
    x, y = table()
    model = StepOfJax()
    model(x)
    return trained(model, x, y, loss=None)


@program
def own_loop_with_metrics():
    value_and_grad, jit = transforms()
    model, score = net(out=3), keras.metrics.SparseCategoricalAccuracy()
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def loss(weights, x, y):
        logits, _ = model.stateless_call(weights, [], x)
        return loss_of(y, logits), logits

    @jit
    def step(weights, held, scores, x, y):
        (value, logits), slopes = value_and_grad(loss, has_aux=True)(weights, x, y)
        weights, held = optimizer.stateless_apply(held, slopes, weights)
        return weights, held, score.stateless_update_state(scores, y, logits), value

    x, y = table()[0], integers(3, 40)
    weights = [v.value for v in model.trainable_variables]
    held = [v.value for v in optimizer.variables]
    scores, found = score.stateless_reset_state(), []
    for i in range(0, 40, 9):
        weights, held, scores, value = step(weights, held, scores, x[i : i + 9], y[i : i + 9])
        found.append(value)
    return [*found, score.stateless_result(scores)]


@program
def several_steps_per_execution():
    x, y = table(44)
    model = net()
    model.compile("adam", "mse", metrics=["mae"], steps_per_execution=3)
    losses = trained(model, x, y, optimizer=None, validation_data=(x[:9], y[:9]))
    return [*losses, *model.predict(x, batch_size=5, verbose=0)[:3, 0]]


@program
def every_optimizer():
    x, y = table()
    found = []
    for name in ("sgd rmsprop adam adamw adadelta adagrad adamax adafactor nadam ftrl lion "
                 "muon").split():  # fmt: skip
        found += trained(net(), x, y, optimizer=name, epochs=2, batch_size=16)
    return found


@program
def constraints_and_regularisers():
    x, y = table()
    model = keras.Sequential([
        keras.Input((6,)),
        layers.Dense(8, "tanh", kernel_constraint=keras.constraints.MaxNorm(0.5),
                     activity_regularizer="l2"),
        layers.SpectralNormalization(layers.Dense(8)),
        layers.Dense(1, kernel_regularizer=keras.regularizers.L1L2(1e-2, 1e-2),
                     bias_constraint="non_neg"),
    ])  # fmt: skip
    fixed(model)
    model.layers[1].vector_u.assign(np.full(model.layers[1].vector_u.shape, 0.3))
    return trained(model, x, y, batch_size=16)


@program
def data_of_a_generator():
    x, y = table()

    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 5

        def __getitem__(self, i):
            return x[i * 8 : i * 8 + 8], y[i * 8 : i * 8 + 8]

    model = net()
    found = trained(model, Batches(workers=2), None, batch_size=None)
    feed = (Batches()[i % 5] for i in range(100))
    return found + trained(model, feed, None, batch_size=None, steps_per_epoch=4, epochs=2)


@program
def loops_and_branches():
    class Settling(layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(shape=(shape[-1], shape[-1]))

        def call(self, x):
            def turn(i, h):
                return i + 1, ops.tanh(ops.matmul(h, self.w) + x)

            _, h = ops.while_loop(lambda i, h: i < 3, turn, (0, x), maximum_iterations=5)
            total, _ = ops.scan(lambda c, row: (c + row, row), ops.zeros_like(h[0]), h)
            return ops.cond(ops.sum(total) > 0, lambda: h, lambda: -h)

    x, y = table()
    model = keras.Sequential([keras.Input((6,)), Settling(), layers.Dense(1)])
    return trained(fixed(model), x, y)
