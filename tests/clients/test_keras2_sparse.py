"""Keras 2 models with sparse inputs: SciPy matrices are fed as they are, never made dense."""

import numpy as np
import pytest

from .keras_support import compiled, keras_or_skip, settings

keras = keras_or_skip()
sparse = pytest.importorskip("scipy.sparse")
assert settings and compiled
pytestmark = pytest.mark.usefixtures("compiled")
K, L, Model = keras.backend, keras.layers, keras.models.Model
X = sparse.random(40, 12, density=0.2, format="csr", random_state=0, dtype="float32")
Z = sparse.random(40, 5, density=0.3, format="csr", random_state=1, dtype="float32")
TOTAL = np.asarray(X.sum(1))


@pytest.fixture
def linear():
    np.random.seed(0)
    inputs = L.Input((12,), sparse=True, name="words")
    model = Model(inputs, L.Dense(1)(inputs))
    model.compile(keras.optimizers.Adam(0.05), "mse")
    return model


def test_every_way_to_fit(linear):
    weights = linear.get_weights()
    dense = keras.models.Sequential([L.Dense(1, input_shape=(12,))])
    dense.compile(keras.optimizers.Adam(0.05), "mse")
    dense.set_weights(weights)
    for model, data in ((linear, X), (dense, X.toarray())):
        losses = model.fit(data, TOTAL, epochs=25, batch_size=8, shuffle=False, verbose=0).history
        assert losses["loss"][-1] < losses["loss"][0] / 10
    for a, b in zip(linear.get_weights(), dense.get_weights()):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
    w, b = linear.get_weights()
    want = X.toarray() @ w + b
    np.testing.assert_allclose(linear.predict(X, batch_size=7), want, rtol=1e-4, atol=1e-5)
    loss = ((want - TOTAL) ** 2).mean()
    for got in (linear.evaluate(X, TOTAL, verbose=0), linear.test_on_batch(X.tocsc(), TOTAL)):
        assert got == pytest.approx(loss, rel=1e-3)
    history = linear.fit(X, TOTAL, validation_split=0.25, shuffle="batch", verbose=0).history
    assert np.isfinite(history["val_loss"]).all()


def test_files(linear, tmp_path):
    path = str(tmp_path / "model.h5")
    linear.save(path)
    np.testing.assert_array_equal(keras.models.load_model(path).predict(X), linear.predict(X))


@pytest.mark.parametrize("also_sparse", [True, False])
def test_inputs_side_by_side(also_sparse):
    """Sparse with sparse stays sparse; with a dense tensor it becomes dense."""
    a, b = L.Input((12,), sparse=True), L.Input((5,), sparse=also_sparse)
    joined = L.Concatenate()([a, b])
    assert K.is_sparse(joined) == also_sparse and K.int_shape(joined) == (None, 17)
    model = Model([a, b], L.Dense(2)(joined))
    model.compile("sgd", "mse")
    fed = [X, Z if also_sparse else Z.toarray()]
    w, bias = model.get_weights()
    want = np.hstack([X.toarray(), Z.toarray()]) @ w + bias
    np.testing.assert_allclose(model.predict(fed), want, rtol=1e-4, atol=1e-5)
    assert model.train_on_batch(fed, want + 1) == pytest.approx(1, rel=1e-3)


def test_made_dense():
    inputs = L.Input((12,), sparse=True)
    model = Model(inputs, L.Lambda(K.to_dense)(inputs))
    np.testing.assert_array_equal(model.predict(X), X.toarray())


def test_what_needs_a_dense_tensor(linear):
    inputs = L.Input((12,), sparse=True)
    with pytest.raises(TypeError, match=r"(?s)K.to_dense\(x\) makes it dense.*\(in noisy"):
        L.Dropout(0.5, name="noisy")(inputs)
    with pytest.raises(TypeError, match="words is an array of shape .*csr_matrix"):
        linear.predict(X.toarray())
    with pytest.raises(ValueError, match=r"shape \(12,\) but got array with shape \(5,\)"):
        linear.predict(Z)
