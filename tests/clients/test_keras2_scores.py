"""Every loss, metric, optimiser, regulariser, constraint, initialiser and callback of Keras 2.

`test_keras2_optimizers` has those that differ in kind; here are the classes of Keras 2.3 against
their definitions in NumPy, all callbacks in one run, and the tests that nothing is left out.
"""

import inspect
from pathlib import Path

import numpy as np
import pytest

from .keras_support import keras_or_skip, settings
from .test_keras2_optimizers import LOSSES, OPTIMIZERS, RECENT, unit

keras = keras_or_skip()
assert settings
pytestmark = pytest.mark.usefixtures("settings")
recent = pytest.mark.skipif(not RECENT, reason="classes of losses and metrics came with Keras 2.3")
K, L = keras.backend, keras.layers
rng = np.random.default_rng(8)
P = rng.uniform(0.05, 0.95, (6, 4))
P /= P.sum(1, keepdims=True)
T = rng.uniform(0.1, 0.9, (6, 4))
HOT = np.eye(4)[rng.integers(0, 4, 6)]
INDEX = HOT.argmax(1)[:, None]
BITS = (rng.uniform(size=(6, 4)) > 0.5) * 1.0
SIGNS = 2 * BITS - 1
CLASS = -np.log((P * HOT).sum(1))
BINARY = -(BITS * np.log(P) + (1 - BITS) * np.log(1 - P)).mean(1)


def huber(t, p, delta=0.3):
    error = abs(t - p)
    return np.where(error <= delta, error**2 / 2, delta * (error - delta / 2)).mean(1)


LOSS_CLASSES = {
    # name: (arguments, targets, what each sample costs)
    "MeanSquaredError": ({}, T, LOSSES["mean_squared_error"](T, P)),
    "MeanAbsoluteError": ({}, T, LOSSES["mean_absolute_error"](T, P)),
    "MeanAbsolutePercentageError": ({}, T, LOSSES["mean_absolute_percentage_error"](T, P)),
    "MeanSquaredLogarithmicError": ({}, T, LOSSES["mean_squared_logarithmic_error"](T, P)),
    "BinaryCrossentropy": ({}, BITS, BINARY),
    "CategoricalCrossentropy": ({}, HOT, CLASS),
    "SparseCategoricalCrossentropy": ({}, INDEX, CLASS),
    "Hinge": ({}, SIGNS, np.maximum(0, 1 - SIGNS * P).mean(1)),
    "SquaredHinge": ({}, SIGNS, LOSSES["squared_hinge"](SIGNS, P)),
    "CategoricalHinge": ({}, HOT, LOSSES["categorical_hinge"](HOT, P)),
    "Poisson": ({}, T, LOSSES["poisson"](T, P)),
    "LogCosh": ({}, T, LOSSES["logcosh"](T, P)),
    "KLDivergence": ({}, T, LOSSES["kullback_leibler_divergence"](T, P)),
    "Huber": ({"delta": 0.3}, T, huber(T, P)),
}  # fmt: skip


def public(module, base):
    """The names of the classes of a Keras module, without the base and what is for its own use."""
    found = {n for n, c in vars(module).items() if inspect.isclass(c) and issubclass(c, base)}
    return {n for n in found if not n.startswith("_") and n[0].isupper()} - {base.__name__}


@recent
@pytest.mark.parametrize("name", LOSS_CLASSES)
def test_loss_classes(name):
    arguments, target, each = LOSS_CLASSES[name]
    loss = getattr(keras.losses, name)(**arguments)
    weights = np.array([1.0, 0.0, 2.0, 0.5, 1.0, 3.0])
    t, p = K.constant(target), K.constant(P)
    assert K.eval(loss(t, p)) == pytest.approx(each.mean(), rel=1e-4)
    got = K.eval(loss(t, p, sample_weight=K.constant(weights)))
    assert got == pytest.approx((each * weights).sum() / 6, rel=1e-4)
    summed = getattr(keras.losses, name)(reduction="sum", **arguments)
    each = each * 4 if name == "Huber" else each  # which Keras keeps for each output
    assert K.eval(summed(t, p)) == pytest.approx(each.sum(), rel=1e-4)
    assert type(loss).from_config(loss.get_config()).name == loss.name


def test_hinge():
    got = K.eval(keras.losses.hinge(K.constant(SIGNS), K.constant(P)))
    np.testing.assert_allclose(got, np.maximum(0, 1 - SIGNS * P).mean(1), rtol=1e-5)


def test_no_loss_is_left_out():
    names = {
        n
        for n, f in vars(keras.losses).items()
        if inspect.isfunction(f) and f.__module__ == "keras.losses"
    }
    helpers = {
        "serialize",
        "deserialize",
        "get",
        "is_categorical_crossentropy",
        "_maybe_convert_labels",
        "sparse_categorical_crossentropy",
    }
    same = {n for n in names if getattr(keras.losses, n).__name__ != n}
    same |= {n for n in names if getattr(keras.losses, n).__name__ in LOSSES}
    assert not names - same - helpers - {"hinge", "huber_loss"}
    if RECENT:
        wrappers = {"Loss", "LossFunctionWrapper"}
        assert public(keras.losses, keras.losses.Loss) - wrappers == set(LOSS_CLASSES)


BEST2 = np.argsort(-P, 1)[:, :2]
FLAT, YES = P.ravel()[:, None], BITS.ravel()[:, None]
HIT = FLAT > 0.3


def at_thresholds(asked, given, value):
    """The rate `asked` where the rate `given` is nearest to `value`, over Keras's thresholds."""
    grid = np.array([-1e-7, *((i + 1) / 199 for i in range(198)), 1 + 1e-7])
    above = FLAT > grid
    rates = {
        "sensitivity": above[YES[:, 0] == 1].mean(0),
        "specificity": 1 - above[YES[:, 0] == 0].mean(0),
    }
    return rates[asked][abs(rates[given] - value).argmin()]


ROUGH = np.where(np.arange(6) < 4, INDEX[:, 0], 3)[:, None] * 1.0
BOTH = [((INDEX == c) & (ROUGH == c)).sum() for c in range(4)]
IOU = np.array(
    [
        both / ((INDEX == c) | (ROUGH == c)).sum()
        for c, both in enumerate(BOTH)
        if ((INDEX == c) | (ROUGH == c)).any()
    ]
)
METRIC_CLASSES = {
    # name: (arguments, targets, predictions, value over all samples)
    "MeanSquaredError": ({}, T, P, ((T - P) ** 2).mean()),
    "MeanAbsoluteError": ({}, T, P, abs(T - P).mean()),
    "MeanAbsolutePercentageError": ({}, T, P, 100 * (abs(T - P) / T).mean()),
    "MeanSquaredLogarithmicError": ({}, T, P, ((np.log1p(T) - np.log1p(P)) ** 2).mean()),
    "RootMeanSquaredError": ({}, T, P, np.sqrt(((T - P) ** 2).mean())),
    "LogCoshError": ({}, T, P, np.log(np.cosh(T - P)).mean()),
    "Poisson": ({}, T, P, (P - T * np.log(P)).mean()),
    "KLDivergence": ({}, T, P, (T * np.log(T / P)).sum(1).mean()),
    "CosineSimilarity": ({}, T, P, (unit(T) * unit(P)).sum(1).mean()),
    "Hinge": ({}, SIGNS, P, np.maximum(0, 1 - SIGNS * P).mean()),
    "SquaredHinge": ({}, SIGNS, P, (np.maximum(0, 1 - SIGNS * P) ** 2).mean()),
    "CategoricalHinge": ({}, HOT, P, LOSSES["categorical_hinge"](HOT, P).mean()),
    "BinaryCrossentropy": ({}, BITS, P, BINARY.mean()),
    "CategoricalCrossentropy": ({}, HOT, P, CLASS.mean()),
    "SparseCategoricalCrossentropy": ({}, INDEX, P, CLASS.mean()),
    "Accuracy": ({}, np.round(T), np.round(P), (np.round(T) == np.round(P)).mean()),
    "BinaryAccuracy": ({"threshold": 0.3}, BITS, P, ((P > 0.3) == BITS).mean()),
    "CategoricalAccuracy": ({}, HOT, P, (HOT.argmax(1) == P.argmax(1)).mean()),
    "SparseCategoricalAccuracy": ({}, INDEX, P, (INDEX[:, 0] == P.argmax(1)).mean()),
    "TopKCategoricalAccuracy": ({"k": 2}, HOT, P, (BEST2 == INDEX).any(1).mean()),
    "SparseTopKCategoricalAccuracy": ({"k": 2}, INDEX, P, (BEST2 == INDEX).any(1).mean()),
    "TruePositives": ({"thresholds": 0.3}, YES, FLAT, (HIT & (YES == 1)).sum()),
    "FalsePositives": ({"thresholds": 0.3}, YES, FLAT, (HIT & (YES == 0)).sum()),
    "TrueNegatives": ({"thresholds": 0.3}, YES, FLAT, (~HIT & (YES == 0)).sum()),
    "FalseNegatives": ({"thresholds": 0.3}, YES, FLAT, (~HIT & (YES == 1)).sum()),
    "Precision": ({"thresholds": 0.3}, YES, FLAT, YES[HIT].mean()),
    "Recall": ({"thresholds": 0.3}, YES, FLAT, HIT[YES == 1].mean()),
    "MeanIoU": ({"num_classes": 4}, INDEX, ROUGH, IOU.mean()),
    "SensitivityAtSpecificity": ({"specificity": 0.5}, YES, FLAT,
                                 at_thresholds("sensitivity", "specificity", 0.5)),
    "SpecificityAtSensitivity": ({"sensitivity": 0.5}, YES, FLAT,
                                 at_thresholds("specificity", "sensitivity", 0.5)),
    "AUC": ({"num_thresholds": 2000}, YES, FLAT,
            (FLAT[YES == 1][:, None] > FLAT[YES == 0][None]).mean()),
}  # fmt: skip


@recent
@pytest.mark.parametrize("name", METRIC_CLASSES)
def test_metric_classes_over_batches(name):
    arguments, target, p, want = METRIC_CLASSES[name]
    x = L.Input(p.shape[1:])
    model = keras.models.Model(x, L.Activation("linear")(x))
    loss = "sparse_categorical_crossentropy" if name.startswith("Sparse") else "mse"
    model.compile("sgd", loss, metrics=[getattr(keras.metrics, name)(**arguments)])
    got = model.evaluate(p, target, batch_size=2, verbose=0)[1]
    assert got == pytest.approx(want, rel=1e-4, abs=2e-3 if name == "AUC" else 1e-6)


@recent
def test_running_means_and_sums():
    mean, total = keras.metrics.Mean(), keras.metrics.Sum()
    for values, weights in (([1.0, 2.0], None), ([5.0], [3.0])):
        w = None if weights is None else K.constant(weights)
        for metric in (mean, total):
            K.eval(metric(K.constant(values), sample_weight=w))
    assert K.eval(mean.result()) == pytest.approx(18 / 5)
    assert K.eval(total.result()) == pytest.approx(18)
    mean.reset_states()
    assert K.eval(mean(K.constant([4.0]))) == 4


@recent
def test_no_metric_is_left_out():
    bases = {"Layer", "Reduce", "MeanMetricWrapper", "SensitivitySpecificityBase", "BaseMeanIoU"}
    names = public(keras.metrics, keras.metrics.Metric) - bases
    assert names - set(METRIC_CLASSES) == {"Mean", "Sum"}


def test_no_optimizer_constraint_regularizer_or_initializer_is_left_out():
    optimizers = public(keras.optimizers, keras.optimizers.Optimizer) - {"TFOptimizer"}
    assert optimizers <= set(OPTIMIZERS)
    text = Path(__file__).with_name("test_keras2_optimizers.py").read_text()
    for name in public(keras.constraints, keras.constraints.Constraint):
        assert f"constraints.{name}(" in text
    assert public(keras.regularizers, keras.regularizers.Regularizer) == {"L1L2"}
    tested = {
        "Zeros",
        "Ones",
        "Constant",
        "RandomNormal",
        "RandomUniform",
        "TruncatedNormal",
        "VarianceScaling",
        "Orthogonal",
        "Identity",
    }
    assert public(keras.initializers, keras.initializers.Initializer) == tested


@pytest.mark.parametrize(
    "name, std",
    [("he_uniform", np.sqrt(2 / 100)), ("lecun_normal", np.sqrt(1 / 100)), ("zeros", 0)],
)
def test_other_initializers(name, std):
    w = K.get_value(K.variable(keras.initializers.get(name)((100, 300))))
    assert w.shape == (100, 300) and w.mean() == pytest.approx(0, abs=0.003)
    assert w.std() == pytest.approx(std, rel=0.03)
    got = K.get_value(K.variable(keras.initializers.Constant(0.25)((2, 2))))
    np.testing.assert_array_equal(got, np.full((2, 2), 0.25))


# --- callbacks --------------------------------------------------------------------------------


def test_every_callback(tmp_path, capsys, monkeypatch):
    """All in one run; what each leaves behind is looked at."""
    C = keras.callbacks
    sent = []

    class Requests:
        class exceptions:
            RequestException = OSError

        @staticmethod
        def post(url, data=None, json=None, headers=None):
            sent.append((url, data or json))

    monkeypatch.setattr(
        C if hasattr(C, "requests") else inspect.getmodule(C.RemoteMonitor), "requests", Requests
    )
    model = keras.models.Sequential([L.Dense(4, input_shape=(4,))])
    model.compile(keras.optimizers.SGD(0.5), "mse")
    seen = []
    used = [
        C.ModelCheckpoint(str(tmp_path / "{epoch:02d}.h5"), save_weights_only=True),
        C.EarlyStopping(monitor="loss", patience=1, min_delta=1e9, restore_best_weights=True)
        if "restore_best_weights" in inspect.signature(C.EarlyStopping.__init__).parameters
        else C.EarlyStopping(monitor="loss", patience=1, min_delta=1e9),
        C.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=1, min_delta=1e9),
        C.LearningRateScheduler(lambda epoch, rate: rate),
        C.CSVLogger(str(tmp_path / "log.csv")),
        C.RemoteMonitor(root="http://nowhere", send_as_json=True),
        C.TerminateOnNaN(),
        C.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(logs["loss"])),
        C.BaseLogger(),
    ]
    history = model.fit(P, T, epochs=6, batch_size=2, verbose=1, callbacks=used)
    assert type(history) is C.History and history.history["loss"] == pytest.approx(seen)
    epochs = len(seen)
    assert epochs == 2  # EarlyStopping
    assert "Epoch 1/6" in capsys.readouterr().out  # ProgbarLogger
    assert {p.name for p in tmp_path.glob("*.h5")} == {f"{k + 1:02d}.h5" for k in range(epochs)}
    assert len((tmp_path / "log.csv").read_text().splitlines()) == epochs + 1
    assert len(sent) == epochs and sent[0][0].startswith("http://nowhere")
    assert K.get_value(model.optimizer.lr) == pytest.approx(0.25)  # ReduceLROnPlateau
    model.load_weights(str(tmp_path / "01.h5"))


def test_no_callback_is_left_out():
    names = public(keras.callbacks, keras.callbacks.Callback) - {"CallbackList"}
    text = Path(__file__).read_text() + "C.ProgbarLogger("
    refused = {"TensorBoard"}
    assert all(f"C.{n}" in text for n in names - refused) and "History" in names


@pytest.mark.parametrize("where", ["input", "target", "weights"])
def test_nan_is_seen_wherever_it_comes_from(where):
    """NaN goes through to the loss, and TerminateOnNaN ends training at that batch."""
    model = keras.models.Sequential([L.Dense(2, activation="relu", input_shape=(4,)), L.Dense(4)])
    model.compile("adam", "mse")
    x, t = P.copy(), T.copy()
    if where == "weights":
        model.layers[1].set_weights([np.full((2, 4), np.nan), np.zeros(4)])
    else:
        {"input": x, "target": t}[where][3, 1] = np.nan
    seen = []
    watch = keras.callbacks.LambdaCallback(on_batch_end=lambda batch, logs: seen.append(batch))
    history = model.fit(
        x,
        t,
        batch_size=2,
        epochs=3,
        shuffle=False,
        verbose=0,
        callbacks=[keras.callbacks.TerminateOnNaN(), watch],
    )
    assert len(history.epoch) <= 1 and seen == ([0] if where == "weights" else [0, 1])
    assert model.stop_training
