"""Keras's wrappers for scikit-learn, by themselves and in its searches, scores and pipelines."""

import numpy as np
import pytest

from .keras_support import compiled, keras_or_skip, settings

keras = keras_or_skip()
pytest.importorskip("sklearn", reason="needs scikit-learn: pip install scikit-learn")
from keras.wrappers.scikit_learn import KerasClassifier, KerasRegressor  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

assert settings and compiled
pytestmark = [
    pytest.mark.usefixtures("compiled"),
    pytest.mark.filterwarnings("ignore::FutureWarning:sklearn"),
]  # fmt: skip
L = keras.layers
rng = np.random.default_rng(0)
LABELS = rng.integers(0, 3, 180)
X = rng.normal(size=(180, 2)) * 0.3 + np.array([[0, 2], [2, -1], [-2, -1]])[LABELS]
LINE = X @ [0.5, -0.3]


def network(units, last, loss, metrics):
    model = keras.models.Sequential([L.Dense(units, activation="relu", input_dim=2), last])
    model.compile(keras.optimizers.Adam(0.03), loss, metrics=metrics)
    return model


def classes(units=8):
    last = L.Dense(3, activation="softmax")
    return network(units, last, "sparse_categorical_crossentropy", ["accuracy"])


def number(units=8):
    return network(units, L.Dense(1), "mse", None)


@pytest.fixture(autouse=True)
def seeded():
    np.random.seed(1)


@pytest.fixture
def classifier():
    return KerasClassifier(classes, epochs=8, batch_size=30, verbose=0)


@pytest.fixture
def regressor():
    return KerasRegressor(number, epochs=15, batch_size=30, verbose=0)


def test_both_classes_by_themselves(classifier, regressor):
    classifier.fit(X, LABELS)
    p = classifier.predict_proba(X)
    assert p.shape == (180, 3)
    np.testing.assert_array_equal(classifier.predict(X), p.argmax(1))
    assert classifier.score(X, LABELS) == pytest.approx((p.argmax(1) == LABELS).mean())
    assert classifier.score(X, LABELS) > 0.95
    regressor.fit(X, LINE)
    error = ((regressor.predict(X) - LINE) ** 2).mean()
    assert regressor.score(X, LINE) == pytest.approx(-error, rel=1e-4)  # Keras's sign
    assert error < LINE.var() / 4


def test_cross_validation(classifier, regressor):
    scores = cross_val_score(classifier, X, LABELS, cv=2)
    assert scores.shape == (2,) and scores.min() > 0.9
    losses = -cross_val_score(regressor, X, LINE, cv=2)
    assert (losses < LINE.var() / 2).all()


def test_grid_search(classifier, regressor):
    search = GridSearchCV(classifier, {"units": [8], "epochs": [0, 8]}, cv=2)
    search.fit(X, LABELS)
    assert search.best_params_ == {"units": 8, "epochs": 8}
    assert (search.predict(X) == LABELS).mean() > 0.9
    search = GridSearchCV(regressor, {"epochs": [0, 15]}, cv=2).fit(X, LINE)
    assert search.best_params_ == {"epochs": 15}


def test_in_a_pipeline(classifier):
    pipe = make_pipeline(StandardScaler(), classifier)
    assert cross_val_score(pipe, 100 * X, LABELS, cv=2).min() > 0.9


def test_a_parameter_nobody_takes_is_refused():
    with pytest.raises(ValueError, match="banana is not a legal parameter"):
        KerasClassifier(classes, banana=1)
