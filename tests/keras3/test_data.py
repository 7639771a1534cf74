"""Data as programs bring it, and layers that prepare it, without TensorFlow."""

import keras
import numpy as np
import pytest
from keras import layers

RNG = np.random.default_rng(4)
X = RNG.normal(size=(20, 3)).astype("float32")
Y = X.sum(1)


def linear():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", "mse")
    return model


def fitted(*data, **options):
    model = linear()
    model.fit(*data, epochs=2, shuffle=False, verbose=0, **options)
    return model.get_weights()[0]


WANTED = fitted(X, Y, batch_size=4)


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 5

    def __getitem__(self, i):
        return X[4 * i : 4 * i + 4], Y[4 * i : 4 * i + 4]


@pytest.mark.parametrize("options", [{}, {"workers": 2}, {"workers": 2, "max_queue_size": 1}])
def test_py_dataset(options):
    assert np.array_equal(fitted(Batches(**options)), WANTED)


def test_generator():
    endless = (Batches()[i % 5] for i in range(1000))
    assert np.array_equal(fitted(endless, steps_per_epoch=5), WANTED)


def test_pandas():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=list("abc"))
    assert np.array_equal(fitted(table, pandas.Series(Y), batch_size=4), WANTED)
    np.testing.assert_array_equal(
        linear().predict(table, verbose=0), linear().predict(X, verbose=0)
    )


def test_torch_loader():
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y))
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    assert np.array_equal(fitted(loader), WANTED)


def test_normalization():
    table = RNG.normal(size=(40, 3)).astype("float32") * [1, 10, 0] + [0, 5, 2]
    layer = layers.Normalization()
    layer.adapt(table)
    scale = np.maximum(table.std(0), 1e-7)
    np.testing.assert_allclose(layer(table), (table - table.mean(0)) / scale, atol=1e-3)
    back = layers.Normalization(mean=table.mean(0), variance=table.var(0), invert=True)
    np.testing.assert_allclose(back(layer(table))[:, :2], table[:, :2], rtol=1e-3, atol=1e-3)
    model = keras.Sequential([keras.Input((3,)), layer, layers.Dense(1)])
    model.compile("sgd", "mse")
    assert np.isfinite(model.fit(table, table[:, 0], verbose=0).history["loss"]).all()
    np.testing.assert_allclose(
        model.predict(table, verbose=0), model.layers[1](layer(table)), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("mode", ["int", "one_hot", "multi_hot", "count"])
def test_discretization_with_bounds(mode):
    layer = layers.Discretization(bin_boundaries=[-1.0, 0.0, 2.0], output_mode=mode)
    x = np.array([[-3.0], [-1.0], [0.5], [7.0]], "float32")
    places = np.searchsorted([-1.0, 0.0, 2.0], x[:, 0], side="right")
    wanted = places[:, None] if mode == "int" else np.eye(4)[places]
    np.testing.assert_array_equal(np.asarray(layer(x)), wanted)
    model = keras.Sequential([keras.Input((1,)), layer])
    np.testing.assert_array_equal(model.predict(x, verbose=0), wanted)


def test_categories():
    x = np.array([[0, 2], [1, 1]], "int32")
    for mode, wanted in (("multi_hot", [[1, 0, 1], [0, 1, 0]]), ("count", [[1, 0, 1], [0, 2, 0]])):
        layer = layers.CategoryEncoding(3, output_mode=mode)
        np.testing.assert_array_equal(layer(x), wanted)
        model = keras.Sequential([keras.Input((2,), dtype="int32"), layer])
        np.testing.assert_array_equal(model.predict(x, verbose=0), wanted)


def test_a_model_that_looks_up_numbers_trains_as_one_that_is_given_their_places():
    """It reads values, so that shapes are found with zeros; a batch of another size as well."""
    pytest.importorskip("tensorflow", reason="Keras looks numbers up with it")
    numbers, y = np.array([[7], [21], [0], [14], [7]]), np.arange(5, dtype="float32")
    lookup = keras.layers.IntegerLookup(vocabulary=[0, 7, 14], output_mode="one_hot")
    found = []
    for within in (True, False):
        inputs = keras.Input((1,), dtype="int64") if within else keras.Input((4,))
        places = lookup(inputs) if within else inputs
        model = keras.Model(inputs, keras.layers.Dense(1, kernel_initializer="ones")(places))
        model.compile("sgd", "mse", metrics=["mae"])
        x = numbers if within else np.eye(4, dtype="float32")[[2, 0, 1, 3, 2]]
        fitted = model.fit(x, y, batch_size=3, epochs=2, verbose=0, shuffle=False)
        found.append([*fitted.history["loss"], *fitted.history["mae"]])
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_pictures_that_are_prepared():
    x = RNG.uniform(0, 255, (4, 9, 8, 3)).astype("float32")
    model = keras.Sequential([keras.Input((9, 8, 3)), layers.Rescaling(1 / 255),
                              layers.Resizing(6, 6), layers.CenterCrop(4, 5),
                              layers.RandomFlip(), layers.RandomContrast(0.3)])  # fmt: skip
    plain = keras.ops.image.resize(x / 255, (6, 6))[:, 1:5, 0:5]
    np.testing.assert_allclose(model.predict(x, verbose=0), plain, rtol=1e-4, atol=1e-5)
    assert not np.allclose(model(x, training=True), plain)
