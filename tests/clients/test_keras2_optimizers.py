"""Optimisers, losses, metrics, constraints and initialisers of Keras 2, against NumPy.

An optimiser must walk, step for step, where its published formula walks in float64; a loss and a
metric must be the number its definition gives.
"""

import numpy as np
import pytest

from .keras_support import keras_or_skip, settings

keras = keras_or_skip()
assert settings
pytestmark = pytest.mark.usefixtures("settings")
K, L, optimizers = keras.backend, keras.layers, keras.optimizers
RECENT = keras.__version__ >= "2.3"
EPS = 1e-7


def sgd(g, s, t, lr=0.1, momentum=0.0, nesterov=False, decay=0.0):
    lr = lr / (1 + decay * (t - 1))
    s["v"] = momentum * s.get("v", 0) - lr * g
    return momentum * s["v"] - lr * g if nesterov else s["v"]


def rmsprop(g, s, t, lr=0.1, rho=0.9):
    s["a"] = rho * s.get("a", 0) + (1 - rho) * g**2
    return -lr * g / (np.sqrt(s["a"]) + EPS)


def adagrad(g, s, t, lr=0.1):
    s["a"] = s.get("a", 0) + g**2
    return -lr * g / (np.sqrt(s["a"]) + EPS)


def adadelta(g, s, t, lr=1.0, rho=0.95):
    s["a"] = rho * s.get("a", 0) + (1 - rho) * g**2
    step = g * np.sqrt(s.get("d", 0) + EPS) / np.sqrt(s["a"] + EPS)
    s["d"] = rho * s.get("d", 0) + (1 - rho) * step**2
    return -lr * step


def adam(g, s, t, lr=0.1, b1=0.9, b2=0.999, amsgrad=False):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
    s["top"] = np.maximum(s.get("top", 0), s["v"])
    under = np.sqrt(s["top"] if amsgrad else s["v"]) + EPS
    return -lr * np.sqrt(1 - b2**t) / (1 - b1**t) * s["m"] / under


def adamax(g, s, t, lr=0.1, b1=0.9, b2=0.999):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["u"] = np.maximum(b2 * s.get("u", 0), abs(g))
    return -lr / (1 - b1**t) * s["m"] / (s["u"] + EPS)


def nadam(g, s, t, lr=0.1, b1=0.9, b2=0.999, decay=0.004):
    now, after = (b1 * (1 - 0.5 * 0.96 ** (i * decay)) for i in (t, t + 1))
    s["p"] = s.get("p", 1.0) * now
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
    m = (1 - now) * g / (1 - s["p"]) + after * s["m"] / (1 - s["p"] * after)
    return -lr * m / (np.sqrt(s["v"] / (1 - b2**t)) + EPS)


OPTIMIZERS = {
    "SGD": (lambda: optimizers.SGD(0.1), sgd, {}),
    "momentum": (lambda: optimizers.SGD(0.1, momentum=0.9), sgd, {"momentum": 0.9}),
    "nesterov": (lambda: optimizers.SGD(0.1, momentum=0.9, nesterov=True, decay=0.1), sgd,
                 {"momentum": 0.9, "nesterov": True, "decay": 0.1}),
    "RMSprop": (lambda: optimizers.RMSprop(0.1), rmsprop, {}),
    "Adagrad": (lambda: optimizers.Adagrad(0.1), adagrad, {}),
    "Adadelta": (lambda: optimizers.Adadelta(1.0), adadelta, {}),
    "Adam": (lambda: optimizers.Adam(0.1), adam, {}),
    "amsgrad": (lambda: optimizers.Adam(0.1, amsgrad=True), adam, {"amsgrad": True}),
    "Adamax": (lambda: optimizers.Adamax(0.1), adamax, {}),
    "Nadam": (lambda: optimizers.Nadam(0.1), nadam, {}),
}  # fmt: skip


def linear(optimizer, **compiled):
    """(model y = x w + b compiled with mse, x, y)."""
    rng = np.random.default_rng(0)
    model = keras.models.Sequential([L.Dense(2, input_shape=(3,), **compiled)])
    model.compile(optimizer, "mse")
    return model, rng.normal(size=(8, 3)), rng.normal(size=(8, 2))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer_walks_as_published(name):
    make, formula, options = OPTIMIZERS[name]
    model, x, y = linear(make())
    w, b = (v.astype("float64") for v in model.get_weights())
    states = {}, {}
    for t in range(1, 7):
        error = x @ w + b - y
        slopes = x.T @ error * 2 / error.size, error.sum(0) * 2 / error.size
        loss = model.train_on_batch(x, y)
        np.testing.assert_allclose(loss, (error**2).mean(), rtol=1e-4)
        w, b = (v + formula(g, s, t, **options) for v, g, s in zip((w, b), slopes, states))
    for got, want in zip(model.get_weights(), (w, b)):
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"] + ["Nadam"] * RECENT)
def test_optimizer_goes_on_from_its_weights(name):
    model, x, y = linear(OPTIMIZERS[name][0]())
    for _ in range(3):
        model.train_on_batch(x, y)
    copy = keras.models.clone_model(model)
    copy.compile(type(model.optimizer).from_config(model.optimizer.get_config()), "mse")
    copy.set_weights(model.get_weights())
    copy._make_train_function()
    copy.optimizer.set_weights(model.optimizer.get_weights())
    for each in (model, copy):
        each.train_on_batch(x, y)
    for a, b in zip(model.get_weights(), copy.get_weights()):
        np.testing.assert_array_equal(a, b)


def test_clipping_and_learning_rate():
    model, x, y = linear(optimizers.SGD(1.0, clipnorm=0.5))
    before = model.get_weights()
    model.train_on_batch(100 * x, y)
    moved = [a - b for a, b in zip(model.get_weights(), before)]
    norm = np.sqrt(sum((m**2).sum() for m in moved))
    np.testing.assert_allclose(norm, 0.5, rtol=1e-4)
    K.set_value(model.optimizer.lr, 0.0)
    before = model.get_weights()
    model.train_on_batch(x, y)
    np.testing.assert_array_equal(before[0], model.get_weights()[0])
    model, x, y = linear(optimizers.SGD(1.0, clipvalue=0.01))
    before = model.get_weights()
    model.train_on_batch(x, y)
    assert abs(model.get_weights()[0] - before[0]).max() <= 0.0101


def softplus(x):
    return np.logaddexp(0, x)


def unit(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


LOSSES = {
    "mean_squared_error": lambda t, p: ((t - p) ** 2).mean(-1),
    "mean_absolute_error": lambda t, p: abs(t - p).mean(-1),
    "mean_absolute_percentage_error": lambda t, p: 100 * (abs(t - p) / np.maximum(t, EPS)).mean(-1),
    "mean_squared_logarithmic_error": lambda t, p: ((np.log1p(p) - np.log1p(t)) ** 2).mean(-1),
    "squared_hinge": lambda t, p: (np.maximum(1 - t * p, 0) ** 2).mean(-1),
    "categorical_hinge": lambda t, p: np.maximum(
        0, ((1 - t) * p).max(-1) - (t * p).sum(-1) + 1
    ),
    "logcosh": lambda t, p: np.log(np.cosh(p - t)).mean(-1),
    "categorical_crossentropy": lambda t, p: -(t * np.log(p / p.sum(-1, keepdims=True))).sum(-1),
    "kullback_leibler_divergence": lambda t, p: (t * np.log(t / p)).sum(-1),
    "poisson": lambda t, p: (p - t * np.log(p)).mean(-1),
    "binary_crossentropy": lambda t, p: -(t * np.log(p) + (1 - t) * np.log(1 - p)).mean(-1),
    "cosine_proximity": lambda t, p: -(unit(t) * unit(p)).sum(-1),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_loss(name):
    rng = np.random.default_rng(0)
    p, t = rng.uniform(0.1, 0.9, (4, 5)), rng.uniform(0.1, 0.9, (4, 5))
    got = K.eval(getattr(keras.losses, name)(K.constant(t), K.constant(p)))
    np.testing.assert_allclose(got, LOSSES[name](t, p), rtol=1e-4)
    x = L.Input((5,))
    model = keras.models.Model(x, L.Activation("linear")(x))
    model.compile("sgd", name)
    weights = np.array([1.0, 2.0, 0.0, 0.5])
    want = (LOSSES[name](t, p) * weights).sum() / (4 if RECENT else (weights != 0).sum())
    np.testing.assert_allclose(model.test_on_batch(p, t, sample_weight=weights), want, rtol=1e-4)


def test_sparse_loss_takes_columns_and_rows():
    p = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    x = L.Input((3,))
    model = keras.models.Model(x, L.Activation("linear")(x))
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    for labels in (np.array([[2], [1]]), np.array([2, 1])):
        loss, accuracy = model.test_on_batch(p, labels)
        np.testing.assert_allclose(loss, -np.log([0.5, 0.3]).mean(), rtol=1e-5)
        assert accuracy == 0.5


def accuracy_of(name, t, p):
    x = L.Input(p.shape[1:])
    model = keras.models.Model(x, L.Activation("linear")(x))
    model.compile("sgd", "mse", metrics=[name])
    return model.evaluate(p, t, batch_size=2, verbose=0)[1]


def test_metrics_over_batches():
    rng = np.random.default_rng(1)
    p = rng.uniform(size=(6, 4))
    hot = np.eye(4)[rng.integers(0, 4, 6)]
    bits = (rng.uniform(size=(6, 4)) > 0.5) * 1.0
    best = p.argmax(1)
    assert accuracy_of("binary_accuracy", bits, p) == pytest.approx(((p > 0.5) == bits).mean())
    hits = (hot.argmax(1) == best).mean()
    assert accuracy_of("categorical_accuracy", hot, p) == pytest.approx(hits)
    two = np.argsort(-p, 1)[:, :2]
    wanted = (two == hot.argmax(1)[:, None]).any(1).mean()
    top2 = lambda t, y: keras.metrics.top_k_categorical_accuracy(t, y, k=2)
    assert accuracy_of(top2, hot, p) == pytest.approx(wanted)
    assert accuracy_of("mae", hot, p) == pytest.approx(abs(hot - p).mean(), rel=1e-5)


@pytest.mark.skipif(not RECENT, reason="metrics with states of their own came with Keras 2.3")
def test_metrics_with_states():
    rng = np.random.default_rng(1)
    p, t = rng.uniform(size=(40, 1)), (rng.uniform(size=(40, 1)) > 0.6) * 1.0
    hit = p > 0.5
    assert accuracy_of(keras.metrics.Precision(), t, p) == pytest.approx(t[hit].mean(), rel=1e-5)
    assert accuracy_of(keras.metrics.Recall(), t, p) == pytest.approx(hit[t == 1].mean(), rel=1e-5)
    assert accuracy_of(keras.metrics.TruePositives(), t, p) == (hit & (t == 1)).sum()
    pairs = p[t == 1][:, None] > p[t == 0][None]
    auc = accuracy_of(keras.metrics.AUC(num_thresholds=400), t, p)
    assert auc == pytest.approx(pairs.mean(), abs=0.02)
    rmse = accuracy_of(keras.metrics.RootMeanSquaredError(), t, p)
    assert rmse == pytest.approx(np.sqrt(((t - p) ** 2).mean()), rel=1e-5)


def test_constraints_hold_after_each_step():
    constraints = keras.constraints
    for constraint, holds in {
        constraints.NonNeg(): lambda w: w.min() >= 0,
        constraints.MaxNorm(0.3): lambda w: np.linalg.norm(w, axis=0).max() <= 0.3001,
        constraints.UnitNorm(): lambda w: np.allclose(np.linalg.norm(w, axis=0), 1, rtol=1e-3),
        constraints.MinMaxNorm(0.2, 0.4): lambda w: np.linalg.norm(w, axis=0).max() <= 0.4001,
    }.items():
        model, x, y = linear(optimizers.SGD(0.5), kernel_constraint=constraint)
        model.train_on_batch(x, y)
        assert holds(model.get_weights()[0])


def test_regularizers_add_to_the_loss_and_its_slope():
    model, x, y = linear(
        optimizers.SGD(0.1),
        kernel_regularizer=keras.regularizers.l1_l2(0.3, 0.2),
        activity_regularizer=keras.regularizers.l2(0.1),
    )
    w, b = (v.astype("float64") for v in model.get_weights())
    out = x @ w + b
    penalties = 0.3 * abs(w).sum() + 0.2 * (w**2).sum() + 0.1 * (out**2).sum()
    want = ((out - y) ** 2).mean() + penalties
    np.testing.assert_allclose(model.train_on_batch(x, y), want, rtol=1e-5)
    slope = 2 * (out - y) / out.size + 0.2 * out
    slope = x.T @ slope + 0.3 * np.sign(w) + 0.4 * w
    np.testing.assert_allclose(model.get_weights()[0], w - 0.1 * slope, rtol=1e-4, atol=1e-6)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize(
    "name, mean, std",
    [
        ("glorot_uniform", 0, np.sqrt(2 / 400)),
        ("glorot_normal", 0, np.sqrt(2 / 400)),
        ("he_normal", 0, np.sqrt(2 / 200)),
        ("lecun_uniform", 0, np.sqrt(1 / 200)),
        ("random_normal", 0, 0.05),
        ("random_uniform", 0, 0.05 / np.sqrt(3)),
        ("truncated_normal", 0, 0.044),
        ("ones", 1, 0),
        ("identity", 1 / 200, np.sqrt(1 / 200)),
        ("orthogonal", 0, np.sqrt(1 / 200)),
    ],
)
def test_initializer(name, mean, std):
    make = keras.initializers.get(name)
    w = K.get_value(K.variable(make((200, 200))))
    assert w.dtype == "float32"
    assert w.mean() == pytest.approx(mean, abs=0.002)
    assert w.std() == pytest.approx(std, rel=0.03, abs=1e-6)


def test_seeds_make_runs_equal():
    def run():
        np.random.seed(11)
        K.clear_session()
        model = keras.models.Sequential(
            [L.Dense(8, input_shape=(3,)), L.Dropout(0.5, seed=3), L.GaussianNoise(0.1), L.Dense(1)]
        )
        model.compile("adam", "mse")
        x = np.arange(30.0).reshape(10, 3)
        model.fit(x, x.sum(1), batch_size=5, epochs=2, verbose=0)
        return model.get_weights()

    for a, b in zip(run(), run()):
        np.testing.assert_array_equal(a, b)
