"""Activations, losses, normalisation, dropout, shapes and products, against NumPy."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base import dtypes

from .test_math import close, run, value


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_relu_and_elu():
    x = np.array([-2.0, -0.5, 0, 0.5, 9, np.nan], "float32")
    close(run(lambda t: K.relu(t, 0.1), x), np.where(x < 0, 0.1 * x, x), "float32")
    close(run(lambda t: K.relu(t, max_value=6), x), np.minimum(np.maximum(x, 0), 6))
    close(run(lambda t: K.elu(t, 0.5), x), np.where(x > 0, x, 0.5 * np.expm1(x)))
    assert np.isfinite(K.eval(K.gradients(K.sum(K.elu(v := K.variable([1000.0]))), [v])[0])).all()


def test_softmax():
    for shape in ((3,), (2, 5), (2, 3, 4)):
        x = value(shape, "float32", -20, 20)
        close(run(K.softmax, x), softmax(x), "float32")
        close(run(K.log_softmax, x), np.log(softmax(x.astype("float64"))).astype("float32"))
    with pytest.raises(ValueError, match="scalar"):
        K.softmax(K.placeholder(ndim=0))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_categorical_crossentropy(dtype):
    logits = value((4, 3), dtype)
    p, t = softmax(logits), np.eye(3, dtype=dtype)[[0, 2, 1, 1]]
    expected = -(t * np.log(p)).sum(-1)
    for got in (
        run(K.categorical_crossentropy, p, t),
        run(lambda p, t: K.categorical_crossentropy(p * 2, t), p, t),
        run(lambda x, t: K.categorical_crossentropy(x, t, from_logits=True), logits, t),
        run(lambda x, t: K.categorical_crossentropy(K.softmax(x), t), logits, t),
    ):
        close(got, expected, dtype)


def test_sparse_categorical_crossentropy():
    logits, t = value((4, 3), "float32"), np.array([0, 2, 1, 1], "int32")
    expected = -np.log(softmax(logits)[np.arange(4), t])
    for target in (t, t[:, None], t.astype("float32")):
        close(run(K.sparse_categorical_crossentropy, softmax(logits), target), expected, "float32")
        close(
            run(lambda x, t: K.sparse_categorical_crossentropy(x, t, True), logits, target),
            expected,
        )
    cube, labels = value((2, 4, 3), "float32"), np.array([[0, 1, 2, 0], [2, 2, 1, 1]])
    picked = np.take_along_axis(softmax(cube), labels[..., None], -1)[..., 0]
    close(run(K.sparse_categorical_crossentropy, softmax(cube), labels), -np.log(picked))
    outside = run(K.sparse_categorical_crossentropy, softmax(logits), np.array([3, -1, 0, 0]))
    assert np.isnan(outside[:2]).all() and np.isfinite(outside[2:]).all()
    with pytest.raises(ValueError, match="one class for each row"):
        K.sparse_categorical_crossentropy(K.placeholder(ndim=3), K.placeholder(ndim=1))
    for rows, labels, said in (
        (
            (3, 4),
            (5,),
            r"labels of shape \(5,\) .* predictions of shape \(3, 4\): axis 0 is 5 against 3",
        ),
        ((3, 4), (5, 1), r"labels of shape \(5,\) .* predictions of shape \(3, 4\)"),
        (
            (None, 8, 4),
            (2, 7),
            r"labels of shape \(2, 7\) .* predictions of shape \(\?, 8, 4\): axis 1",
        ),
    ):
        with pytest.raises(ValueError, match=said):
            K.sparse_categorical_crossentropy(K.placeholder(rows), K.placeholder(labels))


@pytest.mark.parametrize("classes", [3, None])
def test_labels_of_a_call_are_named(classes):
    p, t = K.placeholder((None, classes)), K.placeholder((None,), dtype="int32")
    loss = K.mean(K.sparse_categorical_crossentropy(p, t))
    rows = np.full((3, 3), 1 / 3, "float32")
    with pytest.raises(
        ValueError, match=r"labels of shape \(4,\) .* predictions of shape \(3, 3\)"
    ):
        K.function([p, t], loss, mode="compiled")([rows, np.array([0, 1, 2, 1], "int32")])
    checked = K.function([p, t], loss, check="nan")
    close(checked([rows, np.array([0, 1, 2], "int32")]), np.float32(np.log(3)))
    for wrong, said in (([0, 7, 1], "one label is"), ([0, 3, -1], "2 labels are")):
        with pytest.raises(
            ArithmeticError, match=rf"{said} no class from 0 to 2, the first {wrong[1]} at \(1,\)"
        ):
            checked([rows, np.array(wrong, "int32")])


def test_binary_crossentropy():
    x, t = value((3, 2), "float64"), np.array([[0, 1], [1, 0], [0.5, 1]])
    p = 1 / (1 + np.exp(-x))
    expected = -(t * np.log(p) + (1 - t) * np.log(1 - p))
    close(run(K.binary_crossentropy, p, t), expected, "float64")
    close(run(lambda x, t: K.binary_crossentropy(x, t, from_logits=True), x, t), expected)
    close(run(lambda x, t: K.binary_crossentropy(K.sigmoid(x), t), x, t), expected)


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", *filter(dtypes.available, dtypes.FOREIGN)]
)
def test_losses_stay_finite(dtype):
    p, t = np.array([[0.0, 1.0], [1.0, 0.0]], dtype), np.array([[1.0, 0.0], [1.0, 0.0]], dtype)
    for loss in (K.categorical_crossentropy, K.binary_crossentropy):
        x, y = (K.placeholder(ndim=2, dtype=dtype) for _ in "xy")
        cost = K.mean(loss(x, y))
        got = K.function([x, y], [cost] + K.gradients(cost, [x]))(p, t)
        assert all(np.isfinite(g).all() for g in got)
    labels = np.array([0, 0])
    assert np.isfinite(run(K.sparse_categorical_crossentropy, p, labels)).all()


@pytest.mark.parametrize(
    "activation, loss",
    [(K.softmax, K.categorical_crossentropy), (K.sigmoid, K.binary_crossentropy)],
)
def test_saturated_activations_keep_loss_and_gradient(activation, loss):
    x = K.variable([[500.0, -500.0]])
    cost = K.sum(loss(activation(x), K.constant([[0.0, 1.0]])))
    close(K.eval(cost), 1000.0)
    close(K.eval(K.gradients(cost, [x])[0]), [[1, -1]])


def test_batch_normalization():
    x, g, b = value((5, 3), "float64"), value((3,), "float64"), value((3,), "float64")
    m, v = x.mean(0), x.var(0)
    expected = (x - m) / np.sqrt(v + 1e-3) * g + b
    close(run(K.batch_normalization, x, m, v, b, g), expected)
    close(
        run(lambda x, m, v: K.batch_normalization(x, m, v, None, None, 0.1), x, m, v),
        (x - m) / np.sqrt(v + 0.1),
    )
    for k, part in enumerate((expected, m, v)):
        close(
            run(lambda x, g, b, k=k: K.normalize_batch_in_training(x, g, b, [0])[k], x, g, b), part
        )
    image = value((2, 3, 4, 4), "float64")
    m, v = image.mean((0, 2, 3), keepdims=True), image.var((0, 2, 3), keepdims=True)
    expected = (image - m) / np.sqrt(v + 0.5) * g[:, None, None] + b[:, None, None]
    close(
        run(
            lambda x, g, b: K.normalize_batch_in_training(x, g, b, [0, 2, 3], epsilon=0.5)[0],
            image,
            g,
            b,
        ),
        expected,
    )


def test_l2_normalize():
    x = value((3, 4), "float64")
    close(run(lambda t: K.l2_normalize(t, 1), x), x / np.sqrt((x**2).sum(1, keepdims=True)))
    close(run(lambda t: K.l2_normalize(t, axis=-1), np.zeros((2, 2))), np.zeros((2, 2)))


def test_in_top_k():
    p, t = np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]], "float32"), np.array([1, 2], "int32")
    np.testing.assert_array_equal(run(lambda p, t: K.in_top_k(p, t, 1), p, t), [False, False])
    np.testing.assert_array_equal(run(lambda p, t: K.in_top_k(p, t, 2), p, t), [True, False])
    assert run(lambda p, t: K.in_top_k(p, t, 3), p, t).dtype == bool


def test_bias_add():
    x, b = value((2, 3, 4, 5), "float32"), value((5,), "float32")
    close(run(K.bias_add, x, b), x + b)
    c = value((3,), "float32")
    close(run(lambda x, c: K.bias_add(x, c, "channels_first"), x, c), x + c[:, None, None])
    full = value((4, 5, 3), "float32")
    close(
        run(lambda x, f: K.bias_add(x, f, "channels_first"), x, full), x + full.transpose(2, 0, 1)
    )
    close(
        run(lambda x, f: K.bias_add(x, f, "channels_last"), x, value((3, 4, 5), "float32") * 0 + 2),
        x + 2,
    )
    with pytest.raises(ValueError, match="data_format"):
        K.bias_add(K.variable(x), K.variable(b), "channels_middle")
    with pytest.raises(ValueError, match="1 or 3 dimensions"):
        K.bias_add(K.variable(x), K.placeholder(ndim=2))


def test_switch():
    x, y = value((2, 3), "float32"), value((2, 3), "float32")
    for flag in (0, 1, 5):
        got = run(lambda c, x, y: K.switch(c, x, lambda: y), np.int32(flag), x, y)
        close(got, x if flag else y)
    rows = np.array([True, False])
    close(run(K.switch, rows, x, y), np.where(rows[:, None], x, y))
    close(run(K.switch, x > y, x, y), np.maximum(x, y))


def test_dropout():
    x = np.ones((200, 50), "float32")
    got = run(lambda t: K.dropout(t, 0.25, seed=1), x)
    assert set(np.unique(got)) == {np.float32(0), np.float32(1) / np.float32(0.75)}
    assert abs((got == 0).mean() - 0.25) < 0.02
    columns = run(lambda t: K.dropout(t, 0.5, noise_shape=(None, 1), seed=2), x)
    assert (columns == columns[:, :1]).all() and 0 < (columns == 0).mean() < 1
    close(run(lambda t: K.dropout(t, 0.0), x), x)
    for level in (-0.1, 1, 1.5):
        with pytest.raises(ValueError, match="level"):
            K.dropout(K.placeholder(ndim=1), level)


def test_joining():
    a, b = value((2, 3), "float32"), value((2, 3), "float32")
    close(run(lambda a, b: K.concatenate([a, b]), a, b), np.concatenate([a, b], -1))
    close(run(lambda a, b: K.concatenate((a, b), axis=0), a, b), np.concatenate([a, b], 0))
    close(run(lambda a, b: K.stack([a, b], axis=1), a, b), np.stack([a, b], 1))
    with pytest.raises(ValueError, match="at least one"):
        K.concatenate([])
    with pytest.raises(TypeError, match="list"):
        K.concatenate(K.placeholder(ndim=1))
    with pytest.raises(ValueError):
        K.concatenate([K.zeros((2, 3)), K.zeros((3, 3))])


def test_rearranging():
    x = value((2, 3, 4), "float32")
    close(run(lambda t: K.permute_dimensions(t, (2, 0, 1)), x), x.transpose(2, 0, 1))
    close(run(K.transpose, x), x.T)
    close(run(lambda t: K.reshape(t, (4, -1)), x), x.reshape(4, 6))
    close(run(K.flatten, x), x.ravel())
    close(run(K.batch_flatten, x), x.reshape(2, 12))
    assert K.int_shape(K.batch_flatten(K.placeholder((None, 3, 4)))) == (None, 12)
    close(run(K.expand_dims, x), x[..., None])
    close(run(lambda t: K.expand_dims(t, 1), x), x[:, None])
    close(run(lambda t: K.squeeze(t, 1), x[:, :1]), x[:, 0])
    close(run(lambda t: K.reverse(t, 1), x), x[:, ::-1])
    close(run(lambda t: K.reverse(t, (0, 2)), x), x[::-1, :, ::-1])
    close(run(K.identity, x), x)
    with pytest.raises(ValueError):
        K.reshape(K.zeros((2, 3)), (4, 2))
    with pytest.raises(ValueError):
        K.squeeze(K.zeros((2, 3)), 0)


def test_repeating():
    x = value((2, 3), "float32")
    close(run(lambda t: K.repeat_elements(t, 2, 1), x), np.repeat(x, 2, 1))
    close(run(lambda t: K.repeat(t, 4), x), np.repeat(x[:, None], 4, 1))
    assert K.int_shape(K.repeat(K.placeholder((None, 3)), 4)) == (None, 4, 3)
    close(run(lambda t: K.tile(t, (2, 3)), x), np.tile(x, (2, 3)))
    close(run(lambda t: K.tile(t, 2), x[0]), np.tile(x[0], 2))
    close(
        run(lambda t: K.temporal_padding(t, (1, 2)), x[None]),
        np.pad(x[None], ((0, 0), (1, 2), (0, 0))),
    )
    with pytest.raises(ValueError):
        K.repeat(K.placeholder(ndim=3), 2)


def test_ranges_and_classes():
    close(K.eval(K.arange(5)), np.arange(5), "int32")
    close(K.eval(K.arange(2, 9, 3, dtype="float32")), np.arange(2, 9, 3), "float32")
    close(K.eval(K.arange(5, 0, -2)), np.arange(5, 0, -2))
    close(run(lambda n: K.arange(n), np.int32(4)), np.arange(4), "int32")
    close(
        run(lambda i: K.one_hot(i, 3), np.array([[0, 2], [1, 1]])),
        np.eye(3)[[[0, 2], [1, 1]]],
        "float32",
    )
    table = value((5, 2), "float32")
    close(run(K.gather, table, np.array([[4, 0], [1, 1]])), table[[[4, 0], [1, 1]]])
    with pytest.raises(IndexError):
        run(K.gather, table, np.array([5]))
    with pytest.raises(TypeError, match="integers"):
        K.gather(K.zeros((2, 2)), K.zeros((2,)))


@pytest.mark.parametrize(
    "a, b",
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)),
        ((2, 3, 4), (5, 4, 2)),
    ],
)
def test_dot(a, b):
    x, y = value(a, "float64"), value(b, "float64")
    close(run(K.dot, x, y), np.dot(x, y))


def test_dot_of_wrong_sizes():
    with pytest.raises(ValueError, match="5.*10|10.*20"):
        K.dot(K.zeros((5, 10)), K.zeros((20, 10)))


@pytest.mark.parametrize(
    "a, b, axes, spec",
    [
        ((4, 3), (4, 3), 1, "bi,bi->b"),
        ((4, 2, 3), (4, 3, 5), None, "bij,bjk->bik"),
        ((4, 2, 3), (4, 5, 3), (2, 2), "bij,bkj->bik"),
        ((4, 3), (4, 5, 3), (1, 2), "bj,bkj->bk"),
        ((4, 2, 3), (4, 3), (2, 1), "bij,bj->bi"),
        ((4, 2, 3), (4, 3), None, "bij,bj->bi"),
        ((4, 2, 3, 5), (4, 5, 6), (3, 1), "bijk,bkl->bijl"),
        ((4, 3, 2), (4, 3, 5, 6), (1, 1), "bji,bjkl->bikl"),
        ((4, 3), (4, 3, 5, 6), (1, 1), "bj,bjkl->bkl"),
    ],
)
def test_batch_dot(a, b, axes, spec):
    x, y = value(a, "float64"), value(b, "float64")
    expected = np.einsum(spec, x, y)
    close(
        run(lambda x, y: K.batch_dot(x, y, axes), x, y),
        expected if expected.ndim > 1 else expected[:, None],
    )


def test_batch_dot_refusals():
    with pytest.raises(ValueError, match="batch"):
        K.batch_dot(K.zeros((2, 3)), K.zeros((2, 3)), axes=0)
    with pytest.raises(ValueError, match="3 is not 4"):
        K.batch_dot(K.zeros((2, 3)), K.zeros((2, 4)), axes=1)
    with pytest.raises(ValueError, match="2 dimensions"):
        K.batch_dot(K.zeros((2,)), K.zeros((2, 4)))


def test_print_tensor(capsys):
    f = K.function([], K.print_tensor(K.constant([1.0, 2.0]), message="here") * 2)
    np.testing.assert_array_equal(f(), [2, 4])
    assert "here" in "".join(capsys.readouterr())
