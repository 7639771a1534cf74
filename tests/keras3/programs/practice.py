"""Programs of what surrounds a model: own parts, schedules, weights, scaled losses, files."""

import os
import tempfile

import keras
import numpy as np
from keras import layers, ops

from . import fixed, integers, normal, program, trained, transforms, uniform


class ActivityAndMeasure(layers.Layer):
    """A layer that adds a loss, counts what it saw and keeps a running mean of it."""

    def __init__(self, rate=0.01, **options):
        super().__init__(**options)
        self.rate = rate

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="gain")
        self.seen = self.add_weight(shape=(), initializer="zeros", trainable=False, dtype="int32")
        self.mean = self.add_weight(shape=(shape[-1],), initializer="zeros", trainable=False)

    def call(self, x, training=False):
        if training:
            self.seen.assign_add(ops.shape(x)[0])
            self.mean.assign(0.9 * self.mean + 0.1 * ops.mean(x, axis=0))
        self.add_loss(self.rate * ops.sum(ops.abs(x)) / ops.cast(ops.shape(x)[0], x.dtype))
        return (x - self.mean) * self.scale


class Spread(keras.metrics.Metric):
    def __init__(self, name="spread", **options):
        super().__init__(name=name, **options)
        self.total = self.add_variable((), "zeros", name="total")
        self.most = self.add_variable((), "zeros", name="most")

    def update_state(self, y_true, y_pred, sample_weight=None):
        apart = ops.abs(y_true - y_pred)
        self.total.assign_add(ops.sum(apart))
        self.most.assign(ops.maximum(self.most, ops.max(apart)))

    def result(self):
        return {"total": self.total.value, "most": self.most.value}


class Cooling(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        rate = float(ops.convert_to_numpy(self.model.optimizer.learning_rate))
        self.model.optimizer.learning_rate = rate * 0.95

    def on_epoch_end(self, epoch, logs=None):
        logs["rate"] = float(ops.convert_to_numpy(self.model.optimizer.learning_rate))


@program
def own_layer_metric_and_callback():
    x = normal(23, 5)
    model = keras.Sequential(
        [
            keras.Input((5,)),
            layers.Dense(6, "gelu"),
            ActivityAndMeasure(),
            layers.Dense(1, kernel_regularizer=keras.regularizers.OrthogonalRegularizer()),
        ]
    )
    found = trained(
        fixed(model),
        x,
        x[:, :1] * x[:, 1:2],
        metrics=[Spread()],
        optimizer=keras.optimizers.Adamax(0.05),
        callbacks=[Cooling()],
    )
    return [*found, ops.convert_to_numpy(model.layers[1].seen)]


@program
def overflow_of_scaled_losses():
    x = normal(24, 6)
    y = (x[:, :1] * 50).astype("float32")
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = fixed(
            keras.Sequential(
                [
                    keras.Input((6,)),
                    layers.Dense(8, "relu"),
                    layers.LayerNormalization(),
                    layers.Dense(1, dtype="float32"),
                ]
            )
        )
        optimizer = keras.optimizers.LossScaleOptimizer(
            keras.optimizers.Adam(0.05), initial_scale=2.0**22, dynamic_growth_steps=3
        )
        found = trained(model, x, y, optimizer=optimizer, epochs=4)
        return [*found, float(ops.convert_to_numpy(optimizer.dynamic_scale))]
    finally:
        keras.config.set_dtype_policy("float32")


class WarmThenCool(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, size, warm):
        self.size, self.warm = size, warm

    def __call__(self, step):
        step = ops.cast(step, "float32") + 1
        return self.size**-0.5 * ops.minimum(step**-0.5, step * self.warm**-1.5)

    def get_config(self):
        return {"size": self.size, "warm": self.warm}


@program
def schedules_of_many_kinds():
    x = normal(20, 5)
    kinds = keras.optimizers.schedules
    found = []
    for rate in (
        WarmThenCool(64, 4),
        kinds.PiecewiseConstantDecay([3, 6], [0.1, 0.05, 0.01]),
        kinds.ExponentialDecay(0.1, 4, 0.5, staircase=True),
        kinds.PolynomialDecay(0.1, 5, 0.01, power=2.0, cycle=True),
        kinds.InverseTimeDecay(0.1, 3, 0.5),
        kinds.CosineDecayRestarts(0.1, 3),
    ):
        model = fixed(
            keras.Sequential([keras.Input((5,)), layers.Dense(4, "silu"), layers.Dense(1)])
        )
        found += trained(model, x, x[:, :1], optimizer=keras.optimizers.Lion(rate))
    model = fixed(keras.Sequential([keras.Input((5,)), layers.Dense(1)]))
    cool = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5**epoch)
    return found + trained(
        model, x, x[:, :1], optimizer=keras.optimizers.Ftrl(0.1), callbacks=[cool]
    )


class Cut(keras.callbacks.Callback):
    def __init__(self, epoch):
        super().__init__()
        self.epoch = epoch

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == self.epoch:
            raise KeyboardInterrupt


@program
def cut_off_and_gone_on():
    x = normal(20, 5)

    def model():
        made = fixed(
            keras.Sequential([keras.Input((5,)), layers.Dense(4, "tanh"), layers.Dense(1)])
        )
        made.compile(keras.optimizers.AdamW(0.05, amsgrad=True), "huber", metrics=["mae"])
        return made

    with tempfile.TemporaryDirectory() as folder:
        keep = keras.callbacks.BackupAndRestore(os.path.join(folder, "backup"))
        best = os.path.join(folder, "best.weights.h5")
        check = keras.callbacks.ModelCheckpoint(
            best, "loss", save_best_only=True, save_weights_only=True
        )
        try:
            trained(model(), x, x[:, :1], 4, optimizer=None, callbacks=[keep, Cut(2)])
        except KeyboardInterrupt:
            pass
        gone_on = model()
        found = trained(gone_on, x, x[:, :1], 5, optimizer=None, callbacks=[keep, check])
        other = model()
        other.load_weights(best)
        return found + other.evaluate(x, x[:, :1], verbose=0)


@program
def weights_of_classes_and_outputs():
    x = normal(30, 6)
    y, z = (x[:, :1] > 0.3).astype("float32"), np.abs(x[:, 1:3])
    a = keras.Input((6,))
    h = layers.Dense(8, "selu", kernel_initializer="lecun_normal")(a)
    model = fixed(
        keras.Model(
            a,
            {
                "p": layers.Dense(1, "sigmoid", name="p")(h),
                "q": layers.Dense(2, "softplus", name="q")(h),
            },
        )
    )
    model.compile(
        "adam",
        {"p": keras.losses.BinaryFocalCrossentropy(apply_class_balancing=True), "q": "poisson"},
        loss_weights={"p": 1.0, "q": 0.3},
        weighted_metrics={"p": ["AUC", keras.metrics.F1Score("micro", 0.5)], "q": ["mape"]},
    )
    heavy = {"p": uniform(30, seed=2), "q": uniform(30, seed=3)}
    found = trained(model, x, {"p": y, "q": z}, optimizer=None, sample_weight=heavy)
    one = fixed(keras.Sequential([keras.Input((6,)), layers.Dense(3, "softmax")]))
    return found + trained(
        one,
        x,
        integers(3, 30),
        loss="sparse_categorical_crossentropy",
        class_weight={0: 1.0, 1: 4.0, 2: 0.5},
        validation_split=0.2,
    )


@keras.saving.register_keras_serializable("programs")
class Wrapped(keras.Model):
    def __init__(self, inner, scale=2.0, **options):
        super().__init__(**options)
        self.inner, self.scale = inner, scale

    def call(self, x, training=False):
        return self.scale * self.inner(x, training=training)

    def get_config(self):
        return {
            **super().get_config(),
            "scale": self.scale,
            "inner": keras.saving.serialize_keras_object(self.inner),
        }

    @classmethod
    def from_config(cls, config):
        config["inner"] = keras.saving.deserialize_keras_object(config["inner"])
        return cls(**config)


@keras.saving.register_keras_serializable("programs")
def swing(x):
    return x * ops.sin(x)


@program
def subclass_saved_in_the_middle():
    x = normal(20, 5)
    inner = fixed(
        keras.Sequential(
            [
                keras.Input((5,)),
                layers.Dense(6, swing),
                layers.BatchNormalization(),
                layers.Dense(1),
            ]
        )
    )
    model = Wrapped(inner)
    optimizer = keras.optimizers.Adafactor(0.05)
    found = trained(model, x, x[:, :1], optimizer=optimizer, metrics=["r2_score"], epochs=2)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        model.save(path)
        again = keras.models.load_model(path)
        weights = os.path.join(folder, "model.weights.h5")
        model.save_weights(weights)
    found += again.evaluate(x, x[:, :1], verbose=0)
    twin = keras.models.clone_model(inner)
    twin.set_weights(inner.get_weights())
    found += [float(np.abs(twin.predict(x, verbose=0) - inner.predict(x, verbose=0)).max())]
    return found + trained(again, x, x[:, :1], optimizer=None, epochs=2)


@program
def crossed_and_counted_categories():
    ages, sizes = uniform(30, 1) * 60, integers(50, 30, 1)
    y = (ages[:, 0] > 30).astype("float32")
    inputs = keras.Input((1,), name="age"), keras.Input((1,), dtype="int32", name="size")
    bins = layers.Discretization([10.0, 20.0, 40.0], output_mode="one_hot")
    norm = layers.Normalization()
    norm.adapt(ages)
    h = [
        bins(inputs[0]),
        norm(inputs[0]),
        layers.CategoryEncoding(num_tokens=50, output_mode="multi_hot")(inputs[1]),
        layers.Flatten()(layers.Embedding(50, 3)(inputs[1])),
    ]
    h = layers.Dense(6, "relu6")(layers.Concatenate()(h))
    model = fixed(keras.Model(inputs, layers.Dense(1, "sigmoid")(h)))
    counts = [
        keras.metrics.Precision(),
        keras.metrics.Recall(),
        keras.metrics.AUC(curve="PR"),
        keras.metrics.SpecificityAtSensitivity(0.5),
    ]
    return trained(
        model, {"age": ages, "size": sizes}, y, loss="binary_crossentropy", metrics=counts
    )


@program
def samples_side_by_side():
    """Slopes of every sample by vectorized_map, clipped one by one; a scan of an average."""
    value_and_grad, jit = transforms()
    net = fixed(keras.Sequential([keras.Input((4,)), layers.Dense(5, "softsign"), layers.Dense(1)]))
    x, y = normal(6, 4), normal(6, 1, seed=2)

    def loss_of(weights, x, y):
        return ops.mean(ops.square(net.stateless_call(weights, [], x)[0] - y))

    def step(weights, x, y):
        def of_one(row):
            loss, slopes = value_and_grad(loss_of)(weights, row[0][None], row[1][None])
            size = ops.sqrt(sum(ops.sum(g**2) for g in slopes))
            return loss, [g / ops.maximum(1.0, size) for g in slopes]

        losses, slopes = ops.vectorized_map(of_one, (x, y))
        smooth, _ = ops.scan(lambda c, l: (0.8 * c + 0.2 * l, c), ops.zeros(()), losses)
        return ops.mean(losses), smooth, [w - 0.1 * ops.mean(g, 0) for w, g in zip(weights, slopes)]

    step, weights, found = jit(step), [v.value for v in net.trainable_variables], []
    for _ in range(4):
        loss, smooth, weights = step(weights, x, y)
        found += [loss, smooth]
    return found
