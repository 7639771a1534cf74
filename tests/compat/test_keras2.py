"""Every K function Keras 2 uses, called the way Keras calls it, against NumPy. Needs no Keras."""

import inspect

import numpy as np
import pytest
from api.signatures import DOCUMENTED
from clients.keras_support import settings
from scipy import special

from ckernels.base.errors import DTypeError, NotSupported, ShapeError
from ckernels.compat import keras2 as K

pytestmark = pytest.mark.usefixtures("settings")
assert settings
rng = np.random.default_rng(7)
A = rng.normal(size=(2, 3)).astype("float32")
B = rng.normal(size=(3, 4)).astype("float32")
C3 = rng.normal(size=(2, 3, 4)).astype("float32")
IMAGE = rng.normal(size=(2, 4, 5, 3)).astype("float32")
P = np.array([[0.2, 0.3, 0.5], [0.1, 0.7, 0.2]], "float32")
HOT = np.eye(3, dtype="float32")[[2, 0]]
MASK = np.array([[1, 0, 1], [0, 0, 1]], "float32")


def entropy(p):
    return -np.log(p)


CASES = {
    # creation and values
    "variable": (lambda: K.variable(A, dtype="float64", name="w", constraint=None), A),
    "constant": (lambda: K.constant(0.5, dtype="float32", shape=(2, 3)), np.full((2, 3), 0.5)),
    "zeros": (lambda: K.zeros((2, 3), dtype="float32", name="z"), np.zeros((2, 3))),
    "ones": (lambda: K.ones((3,)), np.ones(3)),
    "eye": (lambda: K.eye((2, 3)), np.eye(2, 3)),
    "zeros_like": (lambda: K.zeros_like(K.constant(A)), np.zeros((2, 3))),
    "ones_like": (lambda: K.ones_like(K.constant(A), dtype="int32"), np.ones((2, 3))),
    "identity": (lambda: K.identity(K.constant(A), name="copy"), A),
    "size": (lambda: K.size(K.constant(C3)), 24),
    "cast": (lambda: K.cast(K.constant(A) > 0, "float32"), (A > 0) * 1.0),
    "shape": (lambda: K.shape(K.constant(C3)), (2, 3, 4)),
    # products
    "dot": (lambda: K.dot(K.constant(A), K.constant(B)), A @ B),
    "dot_3d": (lambda: K.dot(K.constant(C3), K.constant(B.T)), C3 @ B.T),
    "batch_dot": (lambda: K.batch_dot(K.constant(C3), K.constant(C3), axes=[2, 2]),
                  np.einsum("bik,bjk->bij", C3, C3)),
    "batch_dot_1": (lambda: K.batch_dot(K.constant(A), K.constant(A), axes=1),
                    (A * A).sum(1, keepdims=True)),
    "transpose": (lambda: K.transpose(K.constant(A)), A.T),
    "gather": (lambda: K.gather(K.constant(B), K.cast(K.constant([[0, 2]]), "int32")),
               B[[[0, 2]]]),
    # reductions
    "max": (lambda: K.max(K.constant(A), axis=1, keepdims=True), A.max(1, keepdims=True)),
    "min": (lambda: K.min(K.constant(A)), A.min()),
    "sum": (lambda: K.sum(K.constant(C3), axis=[1, 2]), C3.sum((1, 2))),
    "prod": (lambda: K.prod(K.constant(A), axis=-1), A.prod(-1)),
    "prod_of_sizes": (lambda: K.prod([K.shape(K.constant(C3))[a] for a in (0, 1)]), 6),
    "cumsum": (lambda: K.cumsum(K.constant(A), axis=1), A.cumsum(1)),
    "cumprod": (lambda: K.cumprod(K.constant(A), axis=0), A.cumprod(0)),
    "var": (lambda: K.var(K.constant(A), axis=0), A.var(0)),
    "std": (lambda: K.std(K.constant(A)), A.std()),
    "mean": (lambda: K.mean(K.constant(A), axis=-1), A.mean(-1)),
    "mean_of_bools": (lambda: K.mean(K.equal(K.constant(MASK), 1.0)), 0.5),
    "any": (lambda: K.any(K.not_equal(K.constant(MASK), 0.0), axis=-1, keepdims=True),
            [[True], [True]]),
    "all": (lambda: K.all(K.constant(MASK), axis=0), [False, False, True]),
    "argmax": (lambda: K.argmax(K.constant(A), axis=-1), A.argmax(-1)),
    "argmin": (lambda: K.argmin(K.constant(A), axis=0), A.argmin(0)),
    "logsumexp": (lambda: K.logsumexp(K.constant(A), axis=1), special.logsumexp(A, 1)),
    # elementwise
    "square": (lambda: K.square(K.constant(A)), A**2),
    "abs": (lambda: K.abs(K.constant(A)), abs(A)),
    "sqrt": (lambda: K.sqrt(K.constant(A)), np.sqrt(np.maximum(A, 0))),
    "exp": (lambda: K.exp(K.constant(A)), np.exp(A)),
    "log": (lambda: K.log(K.constant(P)), np.log(P)),
    "round": (lambda: K.round(K.constant([0.5, 1.5, -0.7])), [0, 2, -1]),
    "sign": (lambda: K.sign(K.constant(A)), np.sign(A)),
    "pow": (lambda: K.pow(K.constant(A), 3), A**3),
    "clip": (lambda: K.clip(K.constant(A), 0, np.inf), np.maximum(A, 0)),
    "equal": (lambda: K.equal(K.argmax(HOT, axis=-1), [2, 1]), [True, False]),
    "not_equal": (lambda: K.not_equal(K.constant(MASK), 0), MASK != 0),
    "greater": (lambda: K.greater(K.constant(A), 0.0), A > 0),
    "greater_equal": (lambda: K.greater_equal(K.constant(A), K.constant(A)), A >= A),
    "less": (lambda: K.less(K.constant(A), 0.5), A < 0.5),
    "less_equal": (lambda: K.less_equal(K.constant(A), 0.5), A <= 0.5),
    "maximum": (lambda: K.maximum(K.constant(A), 0.1), np.maximum(A, 0.1)),
    "minimum": (lambda: K.minimum(K.constant(A), K.constant(A.T.reshape(2, 3))),
                np.minimum(A, A.T.reshape(2, 3))),
    "sin": (lambda: K.sin(K.constant(A)), np.sin(A)),
    "cos": (lambda: K.cos(K.constant(A)), np.cos(A)),
    # activations
    "relu": (lambda: K.relu(K.constant(A), alpha=0.1, max_value=0.5, threshold=0.2),
             np.where(A > 0.2, np.minimum(A, 0.5), 0.1 * (A - 0.2))),
    "relu_plain": (lambda: K.relu(K.constant(A)), np.maximum(A, 0)),
    "elu": (lambda: K.elu(K.constant(A), 0.5), np.where(A > 0, A, 0.5 * np.expm1(A))),
    "softmax": (lambda: K.softmax(K.constant(C3), axis=1), special.softmax(C3, 1)),
    "softplus": (lambda: K.softplus(K.constant(A)), np.logaddexp(0, A)),
    "softsign": (lambda: K.softsign(K.constant(A)), A / (1 + abs(A))),
    "sigmoid": (lambda: K.sigmoid(K.constant(A)), special.expit(A)),
    "hard_sigmoid": (lambda: K.hard_sigmoid(K.constant(A)), np.clip(0.2 * A + 0.5, 0, 1)),
    "tanh": (lambda: K.tanh(K.constant(A)), np.tanh(A)),
    "l2_normalize": (lambda: K.l2_normalize(K.constant(A), axis=-1),
                     A / np.linalg.norm(A, axis=-1, keepdims=True)),
    "l2_normalize_all": (lambda: K.l2_normalize(K.constant(A)), A / np.linalg.norm(A)),
    "in_top_k": (lambda: K.in_top_k(K.constant(P), K.cast(K.constant([1, 0]), "int32"), 2),
                 [True, False]),
    # losses: the target comes first
    "categorical_crossentropy": (lambda: K.categorical_crossentropy(HOT, K.constant(P)),
                                 entropy(P[[0, 1], [2, 0]])),
    "categorical_crossentropy_axis": (
        lambda: K.categorical_crossentropy(K.constant(HOT.T), K.constant(P.T), axis=0),
        entropy(P[[0, 1], [2, 0]])),
    "categorical_crossentropy_logits": (
        lambda: K.categorical_crossentropy(K.constant(HOT), K.constant(A), from_logits=True),
        entropy(special.softmax(A, 1)[[0, 1], [2, 0]])),
    "sparse_categorical_crossentropy": (
        lambda: K.sparse_categorical_crossentropy(K.constant([[2.0], [0.0]]), K.constant(3 * P)),
        entropy(P[[0, 1], [2, 0]])),
    "sparse_categorical_crossentropy_axis": (
        lambda: K.sparse_categorical_crossentropy(K.constant([[2, 0]]), K.constant(P.T), axis=0),
        entropy(P[[0, 1], [2, 0]])),
    "binary_crossentropy": (lambda: K.binary_crossentropy(K.constant(HOT), K.constant(P)),
                            -(HOT * np.log(P) + (1 - HOT) * np.log(1 - P))),
    "binary_crossentropy_logits": (
        lambda: K.binary_crossentropy(K.constant(HOT), K.constant(A), from_logits=True),
        np.logaddexp(0, A) - HOT * A),
    # normalisation
    "batch_normalization": (
        lambda: K.batch_normalization(K.constant(A), A.mean(0), A.var(0), None, K.ones((3,)),
                                      axis=-1, epsilon=1e-3),
        (A - A.mean(0)) / np.sqrt(A.var(0) + 1e-3)),
    "batch_normalization_axis": (
        lambda: K.batch_normalization(K.constant(C3), C3.mean((0, 2)), C3.var((0, 2)),
                                      np.arange(3.0, dtype="float32"), None, axis=1),
        (C3 - C3.mean((0, 2), keepdims=True)) / np.sqrt(C3.var((0, 2), keepdims=True) + 1e-3)
        + np.arange(3.0)[:, None]),
    "normalize_batch_in_training": (
        lambda: K.normalize_batch_in_training(K.constant(A), K.ones((3,)), K.zeros((3,)), [0])[0],
        (A - A.mean(0)) / np.sqrt(A.var(0) + 1e-3)),
    "bias_add": (lambda: K.bias_add(K.constant(IMAGE), K.constant([1, 2, 3]),
                                    data_format="channels_last"), IMAGE + [1, 2, 3]),
    "bias_add_first": (
        lambda: K.bias_add(K.constant(IMAGE), K.constant(np.arange(4)), "channels_first"),
        IMAGE + np.arange(4.0)[:, None, None]),
    "bias_add_places": (      # reshaped, not transposed, as in Keras's three backends
        lambda: K.bias_add(K.zeros((2, 4, 5, 3)), K.constant(np.arange(60).reshape(5, 3, 4)),
                           "channels_first"),
        np.zeros((2, 1, 1, 1)) + np.arange(60.0).reshape(4, 5, 3)),
    # shapes
    "concatenate": (lambda: K.concatenate([K.constant(A), K.constant(A)], axis=-1),
                    np.concatenate([A, A], -1)),
    "reshape": (lambda: K.reshape(K.constant(C3), (K.shape(K.constant(A))[0], -1)),
                C3.reshape(2, 12)),
    "permute_dimensions": (lambda: K.permute_dimensions(K.constant(C3), (1, 0, 2)),
                           C3.transpose(1, 0, 2)),
    "resize_images": (lambda: K.resize_images(K.constant(IMAGE), 2, 3, "channels_last",
                                              interpolation="nearest"),
                      IMAGE.repeat(2, 1).repeat(3, 2)),
    "repeat_elements": (lambda: K.repeat_elements(K.constant(A), 2, axis=1), A.repeat(2, 1)),
    "repeat": (lambda: K.repeat(K.constant(A), 4), A[:, None].repeat(4, 1)),
    "arange": (lambda: K.arange(1, 7, 2, dtype="int32"), [1, 3, 5]),
    "tile": (lambda: K.tile(K.constant(A), [1, 2]), np.tile(A, (1, 2))),
    "tile_by_tensor": (lambda: K.tile(K.constant(A), K.stack([K.shape(K.constant(A))[0], 1])),
                       np.tile(A, (2, 1))),
    "flatten": (lambda: K.flatten(K.constant(A)), A.ravel()),
    "batch_flatten": (lambda: K.batch_flatten(K.constant(C3)), C3.reshape(2, 12)),
    "expand_dims": (lambda: K.expand_dims(K.constant(A)), A[..., None]),
    "squeeze": (lambda: K.squeeze(K.constant(A[:, None]), 1), A),
    "temporal_padding": (lambda: K.temporal_padding(K.constant(C3), (1, 2)),
                         np.pad(C3, ((0, 0), (1, 2), (0, 0)))),
    "spatial_2d_padding": (
        lambda: K.spatial_2d_padding(K.constant(IMAGE), ((1, 0), (0, 2)), "channels_last"),
        np.pad(IMAGE, ((0, 0), (1, 0), (0, 2), (0, 0)))),
    "stack": (lambda: K.stack([K.constant(A), K.constant(A)], axis=1), np.stack([A, A], 1)),
    "one_hot": (lambda: K.one_hot(K.cast(K.constant([2, 0]), "int32"), 3), HOT),
    "reverse": (lambda: K.reverse(K.constant(A), 1), A[:, ::-1]),
    "slice": (lambda: K.slice(K.constant(C3), [0, 1, 1], [2, -1, 2]), C3[:, 1:, 1:3]),
    "slice_by_tensors": (
        lambda: K.slice(K.constant(A), K.constant([1, 0], dtype="int32"), K.stack([1, 2])),
        A[1:2, 0:2]),
    # control
    "switch": (lambda: K.switch(K.constant(MASK), K.constant(A), K.zeros((2, 3))),
               np.where(MASK, A, 0)),
    "switch_lazy": (
        lambda: K.switch(K.constant(1), lambda: K.constant(A), lambda: K.constant(A) * 2), A),
    "in_train_phase": (lambda: K.in_train_phase(K.constant(1.0), lambda: K.constant(2.0)), 2.0),
    "in_test_phase": (lambda: K.in_test_phase(K.constant(1.0), K.constant(2.0), training=True),
                      2.0),
    "stop_gradient": (lambda: K.stop_gradient(K.constant(A)), A),
    "print_tensor": (lambda: K.print_tensor(K.constant(A), message="A"), A),
    "map_fn": (lambda: K.map_fn(lambda row: K.sum(row), K.constant(A), dtype="float32"), A.sum(1)),
    "foldl": (lambda: K.foldl(lambda acc, x: acc + x, K.constant(A)), A.sum(0)),
    "foldr": (lambda: K.foldr(lambda acc, x: acc - x, K.constant([1.0, 2.0, 10.0])), 7.0),
    "dropout": (lambda: K.dropout(K.constant(A), 0.0, noise_shape=(2, 1), seed=3), A),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_numpy(name):
    build, expected = CASES[name]
    value = K.eval(build())
    assert value.shape == np.shape(expected)
    np.testing.assert_allclose(value, expected, rtol=2e-5, atol=1e-6)


# Names whose documented signature Keras itself left: the target of a loss comes first, and later
# parameters. What Keras 2.2.4 to 2.3.1 have is written here.
CHANGED = {
    "variable": "(value, dtype=None, name=None, constraint=None)",
    "relu": "(x, alpha=0.0, max_value=None, threshold=0.0)",
    "softmax": "(x, axis=-1)",
    "l2_normalize": "(x, axis=None)",
    "categorical_crossentropy": "(target, output, from_logits=False, axis=-1)",
    "sparse_categorical_crossentropy": "(target, output, from_logits=False, axis=-1)",
    "binary_crossentropy": "(target, output, from_logits=False)",
    "batch_normalization": "(x, mean, var, beta, gamma, axis=-1, epsilon=0.001)",
    "conv2d_transpose": "(x, kernel, output_shape, strides=(1, 1), padding='valid', "
    "data_format=None, dilation_rate=(1, 1))",
    "resize_images": "(x, height_factor, width_factor, data_format, interpolation='nearest')",
    "ctc_decode": "(y_pred, input_length, greedy=True, beam_width=100, top_paths=1, "
    "merge_repeated=False)",
    "function": "(inputs, outputs, updates=None, **kwargs)",
    "identity": "(x, name=None)",
}  # fmt: skip
OTHERS = {  # of natural_bm's documents, not of Keras's
    "allclose", "diag", "fill_diagonal", "ifelse", "intx", "logdiffexp", "set_intx", "solve", "svd",
    "until", "scan",
}  # fmt: skip
EXTENDED = {"rnn", "gradients"}  # documented parameters first, then ckernels' own
UNDOCUMENTED = {
    "control_dependencies": "(control_inputs)",
    "conv3d_transpose": "(x, kernel, output_shape, strides=(1, 1, 1), padding='valid', "
    "data_format=None)",
    "depthwise_conv2d": "(x, depthwise_kernel, strides=(1, 1), padding='valid', data_format=None, "
    "dilation_rate=(1, 1))",
    "eager": "(func)",
    "get_session": "()",
    "identity": "(x, name=None)",
    "is_placeholder": "(x)",
    "is_tensor": "(x)",
    "is_variable": "(x)",
    "name_scope": "(name)",
    "normalize_data_format": "(value)",
    "separable_conv1d": "(x, depthwise_kernel, pointwise_kernel, strides=1, padding='valid', "
    "data_format=None, dilation_rate=1)",
    "set_session": "(session)",
    "size": "(x, name=None)",
    "slice": "(x, start, size)",
    "symbolic": "(func)",
    "update": "(x, new_x)",
    "update_add": "(x, increment)",
    "update_sub": "(x, decrement)",
}  # fmt: skip


@pytest.mark.parametrize("text", [t for t in DOCUMENTED if t.partition("(")[0] not in OTHERS])
def test_documented_signature(text):
    name, _, rest = text.partition("(")
    got = str(inspect.signature(getattr(K, name)))
    if name in EXTENDED:
        assert got.startswith("(" + rest[:-1])
    else:
        assert got == CHANGED.get(name, "(" + rest)


@pytest.mark.parametrize("name", UNDOCUMENTED)
def test_undocumented_signature(name):
    assert str(inspect.signature(getattr(K, name))) == UNDOCUMENTED[name]


def test_names_are_unique_in_their_scopes():
    K.clear_session()
    with K.name_scope("dense_1") as scope:
        first, second = K.variable(0.0, name="kernel"), K.zeros((1,), name="kernel")
        with K.name_scope("inner"):
            third = K.ones((1,))
    with K.name_scope("dense_1"):
        fourth = K.variable(0.0, name="kernel")
    assert scope == "dense_1/"
    assert [v.name for v in (first, second, third, fourth)] == [
        "dense_1/kernel:0",
        "dense_1/kernel_1:0",
        "dense_1/inner/Variable:0",
        "dense_1_1/kernel:0",
    ]
    assert K.variable(0.0, name="kernel:0").name == "kernel:0"
    assert [K.get_uid("a"), K.get_uid("a")] == [1, 2]


def test_a_variable_is_there():
    """Keras 2.2.0 asks `if self.bias:`; other tensors have no truth value."""
    for v in (K.variable(0.0), K.zeros((2,)), K.eye(2), K.random_normal_variable((2,), 0, 1)):
        assert bool(v) is True and K.is_variable(v)
    with pytest.raises(TypeError, match="truth value"):
        bool(K.variable(0.0) + 1)


def test_keras_attributes():
    x = K.placeholder(shape=(None, 3), name="x")
    assert (x._keras_shape, x._uses_learning_phase, K.int_shape(x)) == ((None, 3), False, (None, 3))
    assert K.is_placeholder(x) and not K.is_placeholder(x * 2) and not K.is_variable(x)
    assert not K.is_keras_tensor(x)
    x._keras_history = None
    assert K.is_keras_tensor(x)
    with pytest.raises(ValueError, match="ndarray"):
        K.is_keras_tensor(np.ones(2))
    assert K.in_train_phase(x, x * 2)._uses_learning_phase
    v = K.variable(A)
    assert v.dtype == K.dtype(v) == "float32"
    assert K.count_params(v) == 6 and K.is_variable(v)


def test_initial_values_may_be_tensors():
    K.variable(K.random_uniform((3, 4), -1, 1))
    np.random.seed(3)
    first = K.get_value(K.variable(K.truncated_normal((300, 300), stddev=0.1)))
    np.random.seed(3)
    again = K.get_value(K.variable(K.truncated_normal((300, 300), stddev=0.1)))
    np.testing.assert_array_equal(first, again)
    assert abs(first).max() <= 0.2 and first.dtype == "float32"


def test_function_takes_a_list_and_unused_inputs():
    x, y = K.placeholder((None,)), K.placeholder((None, None))
    v = K.variable(1.0)
    f = K.function([x, y], [x * v], updates=[(v, v + 1), K.update_sub(v, 0.5)], name="f")
    np.testing.assert_array_equal(f([[1, 2], [[3]]])[0], [1, 2])
    assert K.get_value(v) == 1.5  # the second update saw the first
    assert K.function([], [v])([])[0] == 1.5
    with pytest.raises(ValueError, match="banana"):
        K.function([x], [x], banana=1)


def test_function_casts_what_it_is_fed():
    x, i = K.placeholder((None,)), K.placeholder((None,), dtype="int32")
    values = K.function([x, i], [x, i])([np.array([1, 2], "int64"), np.array([1.0, 2.7])])
    assert [v.dtype.name for v in values] == ["float32", "int32"]
    np.testing.assert_array_equal(values[1], [1, 2])


@pytest.mark.parametrize("train", [1, 1.0, True, np.float32(1), np.array(1)])
def test_each_learning_phase_has_a_function(train):
    x = K.placeholder((None,))
    f = K.function([x, K.learning_phase()], [K.in_train_phase(x * 2, x)])
    assert f([[1.0], train])[0] == [2] and f([[1.0], 0])[0] == [1]
    assert f((np.ones(1), 0))[0] == [1]
    with pytest.raises(TypeError, match="2 inputs"):
        f([[1.0]])


def test_a_fixed_learning_phase_is_no_input():
    x = K.placeholder((None,))
    K.set_learning_phase(1)
    assert K.function([x], [K.in_train_phase(x * 2, x)])([[1.0]])[0] == [2]
    K.clear_session()
    assert K.is_placeholder(K.learning_phase())


def test_control_dependencies_bring_updates_along():
    v, w = K.variable(1.0), K.variable(10.0)
    add = [K.update_add(v, 1.0), K.update_add(w, v)]
    with K.control_dependencies(add):
        after = K.identity(v + w)
    assert K.eval(after) == 2 + 11
    assert [K.get_value(v), K.get_value(w)] == [2, 11]
    f = K.function([], [after, v], updates=add)  # given too: still done once
    np.testing.assert_array_equal(f([]), [3 + 13, 2])
    assert K.eval(K.update(v, 7.0)) == 7 and K.get_value(v) == 7
    twice = [K.update_add(v, 1.0), K.update_add(v, 1.0)]  # two updates, each done once
    K.function([], [], updates=[*twice, twice[0]])([])
    assert K.get_value(v) == 9


def test_gradients_are_none_where_there_are_none():
    v, w = K.variable(3.0), K.variable(1.0)
    first, second = K.gradients(v * v, [v, w])
    assert K.eval(first) == 6 and second is None


def test_rnn_returns_last_all_and_states():
    cell = lambda x, states: (x + states[0], [x + states[0]])
    for unroll in (False, True):
        last, outputs, states = K.rnn(
            cell,
            K.constant(C3),
            [K.zeros((2, 4))],
            mask=K.constant(MASK),
            unroll=unroll,
            input_length=3,
        )
        run = np.cumsum(C3 * MASK[:, :, None], 1)
        np.testing.assert_allclose(K.eval(outputs), run, rtol=1e-6)
        np.testing.assert_allclose(K.eval(last), run[:, -1], rtol=1e-6)
        np.testing.assert_allclose(K.eval(states[0]), run[:, -1], rtol=1e-6)


@pytest.mark.parametrize(
    "wrong, error, says",
    [
        (lambda: K.slice(K.constant(A), [0], [1]), ShapeError, "size of indices should match"),
        (lambda: K.switch(K.constant(A), 1.0, 2.0), ValueError, "Rank of `condition`"),
        (lambda: K.categorical_crossentropy(HOT, P, axis=5), ValueError, "axis 5"),
        (lambda: K.update(K.constant(A), A), DTypeError, "variable"),
        (lambda: K.get_session(), NotSupported, "no sessions"),
        (lambda: K.normalize_data_format("channels_middle"), ValueError, "channels_middle"),
        (lambda: K.dropout(K.constant(A), -0.5), ValueError, "level"),
        (lambda: K.dot(K.constant(A), K.constant(A)), ShapeError, r"\(2, 3\)"),
    ],
)
def test_wrong_use_is_said(wrong, error, says):
    with pytest.raises(error, match=says):
        wrong()


def test_values_of_tensors():
    """The last line of every program that reads text: under TensorFlow any tensor had a value."""
    scores = np.log(np.array([[[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.6, 0.2, 0.2]]]) + 0.01)
    decoded = K.ctc_decode(K.softmax(K.constant(scores)), input_length=np.array([3]), greedy=True)
    assert K.get_value(decoded[0][0]).tolist() == [[1, 0]]  # 2 is the blank
    v = K.variable(2.0)
    assert K.get_value(v * 3) == 6.0 and type(K.get_value(v * 3)) is np.float32
    assert K.batch_get_value([v, v + 1]) == [2.0, 3.0]
    assert K.get_value(K.update_add(v, 1.0)) == 3.0 and K.get_value(v) == 3.0
    with pytest.raises(ValueError, match="placeholder"):
        K.get_value(K.placeholder((2,), name="unfed") * 2)
    with pytest.raises(Exception, match="variable"):
        K.get_value(3)
