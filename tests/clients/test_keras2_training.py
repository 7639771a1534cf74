"""Keras 2 models trained on ckernels, compiled: every way to fit, to a stated loss."""

import numpy as np
import pytest

from .keras_support import compiled, keras_or_skip, settings

keras = keras_or_skip()
assert settings and compiled
pytestmark = pytest.mark.usefixtures("compiled")
K, L, Model, Sequential = keras.backend, keras.layers, keras.models.Model, keras.models.Sequential
ACCURACY = "accuracy" if keras.__version__ >= "2.3" else "acc"


def blobs(n=300, classes=3, seed=0):
    """Points around corners of a triangle, and their classes one-hot."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    x = rng.normal(size=(n, 2)) * 0.4 + np.array([[0, 2], [2, -1], [-2, -1]])[labels]
    return x.astype("float32"), np.eye(classes, dtype="float32")[labels]


@pytest.fixture
def classifier():
    K.clear_session()
    np.random.seed(5)
    model = Sequential(
        [
            L.Dense(16, activation="relu", input_shape=(2,)),
            L.BatchNormalization(),
            L.Dropout(0.1),
            L.Dense(3, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.02), "categorical_crossentropy", metrics=["accuracy"])
    return model


def test_fit_evaluate_predict(classifier):
    x, y = blobs()
    history = classifier.fit(x, y, batch_size=32, epochs=8, validation_split=0.2, verbose=0)
    losses = history.history["loss"]
    assert losses[-1] < 0.2 < losses[0] and history.history["val_" + ACCURACY][-1] > 0.95
    loss, accuracy = classifier.evaluate(x, y, verbose=0)
    p = classifier.predict(x, batch_size=50)
    assert accuracy == pytest.approx((p.argmax(1) == y.argmax(1)).mean())
    assert loss == pytest.approx(-(y * np.log(p)).sum(1).mean(), rel=1e-3)
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-5)
    np.testing.assert_array_equal(classifier.predict_classes(x), p.argmax(1))


def test_batch_statistics_move_towards_those_of_the_data():
    rng = np.random.default_rng(0)
    x = rng.normal(5.0, 3.0, (2000, 4))
    model = Sequential([L.BatchNormalization(momentum=0.8, input_shape=(4,))])
    model.compile("sgd", "mse")
    model.fit(x, np.zeros_like(x), batch_size=100, epochs=3, verbose=0)
    _, _, mean, var = model.get_weights()
    np.testing.assert_allclose(mean, 5, atol=0.4)
    np.testing.assert_allclose(var, 9, rtol=0.2)


def test_a_layer_used_twice_counts_both():
    """Both calls update the moving mean, one after the other."""
    norm = L.BatchNormalization(momentum=0.5)
    a, b = L.Input((1,)), L.Input((1,))
    model = Model([a, b], L.add([norm(a), norm(b)]))
    model.compile("sgd", "mse")
    model.train_on_batch([np.full((4, 1), 8.0), np.full((4, 1), 4.0)], np.zeros((4, 1)))
    assert norm.get_weights()[2] == pytest.approx([(0 * 0.5 + 8 * 0.5) * 0.5 + 4 * 0.5])


def test_generators_and_batches(classifier):
    x, y = blobs()

    def batches():
        while True:
            for start in range(0, 300, 50):
                yield x[start : start + 50], y[start : start + 50]

    first = classifier.evaluate(x, y, verbose=0)[0]
    classifier.fit_generator(batches(), steps_per_epoch=6, epochs=5, verbose=0, workers=2)
    assert classifier.evaluate_generator(batches(), steps=6)[0] < first / 2
    assert classifier.predict_generator(batches(), steps=6).shape == (300, 3)
    for _ in range(3):
        loss, accuracy = classifier.train_on_batch(x, y)
    assert loss < first and classifier.test_on_batch(x, y)[1] == pytest.approx(accuracy, abs=0.1)
    assert classifier.predict_on_batch(x[:7]).shape == (7, 3)


def test_a_sequence_of_batches_with_threads(classifier):
    x, y = blobs()

    class Batches(keras.utils.Sequence):
        def __len__(self):
            return 6

        def __getitem__(self, i):
            return x[50 * i : 50 * i + 50], y[50 * i : 50 * i + 50]

    history = classifier.fit_generator(Batches(), epochs=4, verbose=0, workers=3)
    assert history.history["loss"][-1] < 0.5


def test_sample_and_class_weights():
    x = np.arange(6.0)[:, None]
    y = np.array([0, 0, 0, 1, 1, 1.0])
    model = Sequential([L.Dense(1, activation="sigmoid", input_shape=(1,))])
    model.compile(keras.optimizers.SGD(0.0), "binary_crossentropy")
    p = np.clip(model.predict(x)[:, 0], 1e-7, 1 - 1e-7)
    each = -(y * np.log(p) + (1 - y) * np.log(1 - p))
    weights = np.array([1, 2, 3, 1, 1, 1.0])
    got = model.train_on_batch(x, y, sample_weight=weights)
    assert got == pytest.approx((each * weights).sum() / 6, rel=1e-4)
    got = model.train_on_batch(x, y, class_weight={0: 1.0, 1: 5.0})
    assert got == pytest.approx((each * np.where(y, 5, 1)).sum() / 6, rel=1e-4)
    model.fit(x, y, class_weight={0: 1.0, 1: 2.0}, sample_weight=weights, verbose=0)


def test_temporal_weights_and_masks():
    """Masked steps count for nothing in the loss."""
    model = Sequential([L.Masking(0.0, input_shape=(4, 1)), L.LSTM(2, return_sequences=True)])
    model.compile("sgd", "mse", sample_weight_mode="temporal")
    x = np.ones((1, 4, 1))
    x[0, 2:] = 0
    p, y = model.predict(x), np.zeros((1, 4, 2))
    got = model.test_on_batch(x, y, sample_weight=np.ones((1, 4)))
    each = (p[0] ** 2).mean(-1)
    counted = each[:2].mean()
    assert any(got == pytest.approx(v, rel=1e-4) for v in (counted, each[:2].sum() / 4))


def test_many_inputs_and_outputs():
    a, b = L.Input((3,), name="a"), L.Input((2,), name="b")
    joined = L.concatenate([L.Dense(8, activation="tanh")(a), b])
    model = Model([a, b], [L.Dense(1, name="sum")(joined), L.Dense(2, name="copy")(joined)])
    model.compile(
        keras.optimizers.Adam(0.03),
        loss={"sum": "mse", "copy": "mae"},
        loss_weights={"sum": 1.0, "copy": 0.5},
        metrics={"sum": "mae"},
    )
    rng = np.random.default_rng(0)
    data = {"a": rng.normal(size=(64, 3)), "b": rng.normal(size=(64, 2))}
    targets = {"sum": data["a"].sum(1, keepdims=True), "copy": data["b"]}
    history = model.fit(data, targets, epochs=30, batch_size=16, verbose=0).history
    assert history["loss"][-1] < 0.3 < history["loss"][0]
    parts = model.evaluate(data, targets, verbose=0)
    assert len(parts) == 4
    assert parts[0] == pytest.approx(parts[1] + 0.5 * parts[2], rel=1e-3)


def test_losses_and_layers_written_with_k():
    def quantile(y_true, y_pred):
        error = y_true - y_pred
        return K.mean(K.maximum(0.9 * error, -0.1 * error), axis=-1)

    def spread(y_true, y_pred):
        return K.max(y_pred) - K.min(y_pred)

    x = L.Input((1,))
    scaled = L.Lambda(lambda t: K.concatenate([t, K.square(t)], axis=-1))(x)
    assert K.int_shape(scaled) == (None, 2)  # found by calling the function
    model = Model(x, L.Dense(1)(scaled))
    model.compile(keras.optimizers.Adam(0.05), quantile, metrics=[spread])
    rng = np.random.default_rng(0)
    data = rng.uniform(-1, 1, (400, 1))
    target = data**2 + rng.uniform(0, 1, (400, 1))
    history = model.fit(data, target, epochs=40, batch_size=50, verbose=0).history
    assert history["loss"][-1] < 0.06
    below = (target < model.predict(data)).mean()
    assert 0.8 < below < 0.97


def test_autoencoder_with_a_loss_of_its_own():
    """A variational autoencoder: sampling in a Lambda, and add_loss."""
    x = L.Input((6,))
    mean, log_var = L.Dense(2)(x), L.Dense(2)(x)

    def sample(parts):
        noise = K.random_normal(shape=(K.shape(parts[0])[0], 2))
        return parts[0] + K.exp(parts[1] / 2) * noise

    decoded = L.Dense(6)(L.Lambda(sample, output_shape=(2,))([mean, log_var]))
    model = Model(x, decoded)
    kl = -0.5 * K.sum(1 + log_var - K.square(mean) - K.exp(log_var), axis=-1)
    model.add_loss(K.mean(K.sum(K.square(x - decoded), axis=-1) + 0.01 * kl))
    model.compile(keras.optimizers.Adam(0.02), loss=None)
    rng = np.random.default_rng(0)
    data = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6))
    losses = model.fit(data, epochs=30, batch_size=20, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 3


def test_callbacks(classifier, tmp_path):
    callbacks = keras.callbacks
    x, y = blobs()
    seen = []
    rates = []

    class Watch(callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            rates.append(float(K.get_value(self.model.optimizer.lr)))

    path = str(tmp_path / "best.h5")
    history = classifier.fit(
        x,
        y,
        epochs=12,
        verbose=0,
        validation_data=(x, y),
        callbacks=[
            callbacks.ModelCheckpoint(path, save_best_only=True),
            callbacks.EarlyStopping(patience=2, min_delta=10.0),
            callbacks.ReduceLROnPlateau(factor=0.5, patience=1, min_delta=10.0),
            callbacks.CSVLogger(str(tmp_path / "log.csv")),
            callbacks.LambdaCallback(on_batch_end=lambda batch, logs: seen.append(logs["loss"])),
            callbacks.TerminateOnNaN(),
            callbacks.LearningRateScheduler(lambda epoch: 0.02 / (1 + epoch)),
            Watch(),
        ],
    )
    assert len(history.epoch) == 3 and len(seen) == 30 and rates[1] < rates[0]
    assert (tmp_path / "log.csv").read_text().startswith("epoch,")
    best = keras.models.load_model(path)
    loss = best.evaluate(x, y, verbose=0)[0]
    assert loss == pytest.approx(min(history.history["val_loss"]), rel=1e-4)


def test_nan_stops_training():
    model = Sequential([L.Dense(1, input_shape=(1,))])
    model.compile(keras.optimizers.SGD(1e20), "mse")
    x = np.full((8, 1), 1e10)
    history = model.fit(
        x, x, epochs=50, batch_size=4, verbose=0, callbacks=[keras.callbacks.TerminateOnNaN()]
    )
    assert len(history.epoch) < 50 and not np.isfinite(history.history["loss"][-1])


def test_freezing_layers(classifier):
    x, y = blobs()
    classifier.layers[0].trainable = False
    classifier.compile("sgd", "categorical_crossentropy")
    before = classifier.get_weights()
    classifier.fit(x, y, epochs=1, verbose=0)
    after = classifier.get_weights()
    np.testing.assert_array_equal(before[0], after[0])
    assert abs(before[-2] - after[-2]).max() > 0


def test_activations_of_an_inner_layer(classifier):
    x, _ = blobs(10)
    hidden = K.function([classifier.input, K.learning_phase()], [classifier.layers[0].output])
    w, b = classifier.layers[0].get_weights()
    np.testing.assert_allclose(hidden([x, 0])[0], np.maximum(x @ w + b, 0), rtol=1e-4, atol=1e-6)
    probe = Model(classifier.input, classifier.layers[1].output)
    assert probe.predict(x).shape == (10, 16)


def test_slopes_of_the_input(classifier):
    """Saliency, as old scripts compute it: K.gradients with respect to the input."""
    x, _ = blobs(5)
    score = K.sum(classifier.output[:, 0])
    f = K.function([classifier.input], K.gradients(score, [classifier.input]))
    (slope,) = f([x])
    moved = classifier.predict(x + 1e-3 * np.sign(slope))[:, 0] - classifier.predict(x)[:, 0]
    assert slope.shape == (5, 2) and (moved >= -1e-6).all()


def test_inputs_that_are_tensors():
    data = K.variable(np.random.default_rng(0).normal(size=(20, 3)))
    x = L.Input(tensor=data)
    model = Model(x, L.Dense(1)(x))
    model.compile("sgd", "mse")
    assert model.train_on_batch(None, np.zeros((20, 1))) > 0


def test_sparse_input_matrices():
    sparse = pytest.importorskip("scipy.sparse")
    x = sparse.random(40, 12, density=0.2, format="csr", random_state=0, dtype="float32")
    y = np.asarray(x.sum(1))
    model = Sequential([L.Dense(1, input_shape=(12,))])
    model.compile(keras.optimizers.Adam(0.05), "mse")
    losses = model.fit(x, y, epochs=30, batch_size=8, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 10
    np.testing.assert_allclose(model.predict(x), model.predict(x.toarray()), rtol=1e-5)


def test_float64_models():
    from ckernels.base.config import config

    with config.change(floatX="float64"):
        model = Sequential([L.Dense(2, input_shape=(3,))])
        model.compile("sgd", "mse")
        y = model.predict(np.ones((2, 3)))
        assert y.dtype == "float64"
        assert K.floatx() == "float64" == keras.backend.floatx()
        model.train_on_batch(np.ones((2, 3)), y)


def test_threads_predict_one_model(classifier):
    import concurrent.futures

    x, _ = blobs()
    want = classifier.predict(x)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: classifier.predict(x), range(8)):
            np.testing.assert_array_equal(got, want)


def test_a_batch_costs_few_calls(classifier):
    """What fit runs of ckernels for each batch, in Python: the train function, and two functions
    that hand its losses to Keras's averages as Python floats."""
    import sys

    def calls(batches):
        x, y = blobs(32 * batches)
        found = []

        def watch(frame, event, argument):
            name = frame.f_globals.get("__name__", "")
            if event == "call" and name.startswith("ckernels."):
                found.append(f"{name}.{frame.f_code.co_name}")

        sys.setprofile(watch)
        try:
            classifier.fit(x, y, batch_size=32, verbose=0)
        finally:
            sys.setprofile(None)
        return found

    calls(2)  # makes the function
    few, many = calls(4), calls(14)
    assert (len(many) - len(few)) / 10 <= 3, sorted(set(many))
