"""Steps: which sizes are open, what is traced again, and what is kept."""

import keras
import numpy as np
import pytest
from keras import ops

from ckernels.errors import UsageError
from ckernels.keras3 import jit, value_and_grad
from ckernels.keras3.tracing import KEPT, Step


def kept(step):
    return sum(len(traces) for traces in step.traces.values())


def test_second_sizes_open_an_axis_and_the_wider_trace_takes_the_place():
    step = jit(lambda x: ops.sum(x, 1))
    for shape in [(2, 3), (5, 3), (2, 4), (1, 9), (0, 2)]:
        x = np.ones(shape, "float32")
        np.testing.assert_array_equal(step(x), x.sum(1))
    assert kept(step) == 1 and step.pinned == 0


def test_axes_of_pictures_are_numbers_and_their_traces_are_kept():
    step = jit(lambda x: ops.flip(x, 1) if x.shape[1] > 4 else x)
    for side in (3, 6, 3, 6):
        x = np.random.default_rng(0).normal(size=(2, side, side, 1)).astype("float32")
        np.testing.assert_array_equal(step(x), x[:, ::-1] if side > 4 else x)
    assert kept(step) == 2


def test_the_time_axis_of_films_is_open():
    step = jit(lambda x: ops.sum(x, 1))
    for length in (3, 4, 5):
        step(np.ones((2, length, 4, 4, 1), "float32"))
    assert kept(step) == 1


def test_traces_of_numbers_stay_when_sizes_alternate_and_are_not_without_end():
    traced = []

    def f(x):
        traced.append(x.shape)
        return x * float(len(x))  # needs the first size as a number

    step = jit(f)
    for n in (2, 3, 2, 3, 3):
        np.testing.assert_array_equal(step(np.ones(n, "float32")), np.full(n, n, "float32"))
    assert kept(step) == 2 and step.pinned == 2
    for n in range(1, KEPT + 9):
        step(np.ones(n, "float32"))
    assert kept(step) == KEPT


def test_a_layer_that_chooses_by_the_size_of_a_picture():
    model = keras.Sequential([keras.layers.CenterCrop(4, 5)])
    for sides in ((9, 8), (3, 2), (9, 8), (4, 5)):
        assert model.predict(np.ones((2, *sides, 3), "float32"), verbose=0).shape == (2, 4, 5, 3)


@pytest.mark.parametrize("has_aux", [False, True])
def test_jvp_of_values_and_in_a_step(has_aux):
    def f(x, y):
        return (ops.sin(x) * y, x + 1) if has_aux else ops.sin(x) * y

    x, y, u, v = (np.asarray(a, "float32") for a in (0.3, 2.0, 0.5, -1.0))
    wanted = (np.sin(x) * y, np.cos(x) * y * u + np.sin(x) * v, x + 1)[: 3 if has_aux else 2]
    for found in (
        ops.jvp(f, (x, y), (u, v), has_aux),
        jit(lambda *xs: ops.jvp(f, xs[:2], xs[2:], has_aux))(x, y, u, v),
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_arrays_and_traced_values_in_operators():
    def f(x):
        total = ops.convert_to_tensor(0.0)
        total += ops.sum(x)  # an array, in place
        y = np.ones((2, 3), "float32")
        y -= x
        return total, y, np.array(2.0, "float32") * x, np.array(1.5, "float32") > x, 2 ** (x * 0)

    x = np.arange(6, dtype="float32").reshape(2, 3)
    for found, wanted in zip(jit(f)(x), (x.sum(), 1 - x, 2 * x, x < 1.5, np.ones((2, 3)))):
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises(TypeError):
        jit(np.sin)(x)
    with pytest.raises(TypeError):
        jit(lambda x: np.add(x, x, out=np.ones((2, 3), "float32")))(x)


def test_an_array_and_a_variable_in_a_step():
    """An array on the left leaves the operation to the variable, which has no value there."""
    x, v = (
        np.arange(6, dtype="float32").reshape(2, 3),
        keras.Variable(np.eye(3, 2, dtype="float32")),
    )
    w = v.value.T
    found = jit(lambda: (x @ v, x - ops.transpose(v), x.T * v, np.float32(2) / (v + 1)))()
    for got, wanted in zip(found, (x @ w.T, x - w, x.T * w.T, 2 / (w.T + 1))):
        np.testing.assert_array_equal(got, wanted)
    assert isinstance(np.float32(2) * v, np.ndarray) and np.exp(v)[0, 0] == np.exp(np.float32(1))


def test_a_function_is_differentiated_by_its_argument_alone():
    """Not through what was computed from the same value before."""

    @jit
    def step(x):
        before = x * x
        value, slope = value_and_grad(lambda z, b: ops.sum(z * b))(x, before)
        outer = value_and_grad(lambda z: value_and_grad(lambda u: ops.sum(u**3))(z)[1][0])(x)
        return value, slope, outer[1]

    x = np.array([2.0, 3.0], "float32")
    value, slope, second = step(x)
    np.testing.assert_allclose(value, (x**3).sum())
    np.testing.assert_allclose(slope, x**2)
    np.testing.assert_allclose(second, [6 * x[0], 0])


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_equal_largest_elements_share_the_gradient(axis, keepdims):
    x = np.array([[1, 1, 0], [2, 1, 2]], "float32")
    best = x == x.max(axis, keepdims=True)
    largest = jit(value_and_grad(lambda z: 3 * ops.sum(ops.max(z, axis, keepdims=keepdims))))
    least = jit(value_and_grad(lambda z: 3 * ops.sum(ops.min(z, axis, keepdims=keepdims))))
    for sign, (value, slope) in ((1, largest(x)), (-1, least(-x))):
        assert value == sign * 3 * x.max(axis).sum()
        np.testing.assert_allclose(slope, 3 * best / best.sum(axis, keepdims=True))


@pytest.mark.parametrize("kind", ["nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"])
@pytest.mark.parametrize("antialias", [False, True])
def test_pictures_of_open_sizes_are_resized(kind, antialias):
    x = np.random.default_rng(2).uniform(size=(2, 9, 7, 3)).astype("float32")

    def resized(x):
        return ops.image.resize(x, (5, 8), interpolation=kind, antialias=antialias)

    step = jit(lambda x, n: resized(x[:, :n, 1:n]))
    for n in (3, 6, 9):
        np.testing.assert_allclose(step(x, np.int32(n)), resized(x[:, :n, 1:n]), atol=2e-6)
    if kind == "nearest":  # the middle of a pixel is in that pixel
        assert np.array_equal(resized(x)[:, 2, 4], x[:, 4, 3])
    else:
        np.testing.assert_allclose(resized(np.full_like(x, 0.5)), 0.5, rtol=1e-6)


def test_random_crops_in_a_model_are_compiled_with_it():
    x = np.random.default_rng(2).uniform(size=(4, 9, 9, 1)).astype("float32")
    model = keras.Sequential([
        keras.Input((9, 9, 1)), keras.layers.RandomCrop(6, 5),
        keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1),
    ])  # fmt: skip
    model.compile("sgd", "mse")
    model.fit(x, x[:, 0, 0], batch_size=2, epochs=2, verbose=0)
    assert model.optimizer.iterations == 4
    step = Step(lambda x: model.layers[0](x, training=True), may_read=True)
    places = set()
    for _ in range(12):
        part = step(x)
        assert part.shape == (4, 6, 5, 1)
        fits = [(i, j) for i in range(4) for j in range(5)
                if np.array_equal(part, x[:, i : i + 6, j : j + 5])]  # fmt: skip
        assert len(fits) == 1
        places.update(fits)
    assert not step.reads and len(places) > 3


class Looked(keras.layers.Layer):
    """A layer that asks for the values of its input, as those of Keras that look up words do."""

    def __init__(self):
        super().__init__()
        self.supports_jit = False

    def call(self, x):
        return ops.cast([{1: 3, 2: 5}.get(int(v), 0) for v in ops.convert_to_numpy(x)], "float32")

    def compute_output_shape(self, shape):
        return shape


def test_layers_that_look_up_what_they_are_given():
    x = keras.Input(())
    model = keras.Model(x, keras.layers.Rescaling(2.0)(Looked()(x)))
    data = np.array([1, 2, 7, 1, 2], "float32")
    for size in (2, 5):
        found = model.predict(data, batch_size=size, verbose=0)
        np.testing.assert_array_equal(found, [6, 10, 0, 6, 10])


def test_values_may_be_asked_for_only_where_a_layer_says_so():
    def f(x):
        return x * len(ops.convert_to_numpy(x))

    with pytest.raises(UsageError, match="has no value while a step is traced"):
        Step(f)(np.ones(3))
    step = Step(f, may_read=True)
    np.testing.assert_array_equal(step(np.ones(3)), [3, 3, 3])
    np.testing.assert_array_equal(step(np.ones(2)), [2, 2])
