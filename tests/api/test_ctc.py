"""CTC in the K API: what Keras's own tests document, Theano's `ctc`, and what is wrong with a
batch."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import ArgumentError, IndexOutOfBounds, ShapeError

LABELS = np.asarray([[0, 1, 2, 1, 0], [0, 1, 1, 0, -1]])
PROBABILITIES = np.asarray(
    [
        [
            [0.633766, 0.221185, 0.0917319, 0.0129757, 0.0142857, 0.0260553],
            [0.111121, 0.588392, 0.278779, 0.0055756, 0.00569609, 0.010436],
            [0.0357786, 0.633813, 0.321418, 0.00249248, 0.00272882, 0.0037688],
            [0.0663296, 0.643849, 0.280111, 0.00283995, 0.0035545, 0.00331533],
            [0.458235, 0.396634, 0.123377, 0.00648837, 0.00903441, 0.00623107],
        ],
        [
            [0.30176, 0.28562, 0.0831517, 0.0862751, 0.0816851, 0.161508],
            [0.24082, 0.397533, 0.0557226, 0.0546814, 0.0557528, 0.19549],
            [0.230246, 0.450868, 0.0389607, 0.038309, 0.0391602, 0.202456],
            [0.280884, 0.429522, 0.0326593, 0.0339046, 0.0326856, 0.190345],
            [0.423286, 0.315517, 0.0338439, 0.0393744, 0.0339315, 0.154046],
        ],
    ],
    dtype=np.float32,
)
MODES = ("compiled", "reference")


def function(outputs, inputs, mode="compiled"):
    return K.function(inputs, outputs, mode=mode)


def inputs(labels="int32", lengths=((None, 1), (None, 1))):
    """Placeholders: y_true, y_pred, input_length, label_length."""
    return [
        K.placeholder((None, None), dtype=labels, name="y_true"),
        K.placeholder((None, None, None), name="y_pred"),
        K.placeholder(lengths[0], dtype="int32", name="input_length"),
        K.placeholder(lengths[1], dtype="int32", name="label_length"),
    ]


# ---- the loss -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_the_numbers_of_keras(mode):
    """keras/tests/backend_test.py, test_ctc; TensorFlow's ctc_loss_op_test.py has them too."""
    places = inputs()
    f = function(K.ctc_batch_cost(*places), places, mode)
    cost = f(LABELS, PROBABILITIES, [[5], [5]], [[5], [4]])
    assert cost.shape == (2, 1) and cost.dtype == "float32"
    np.testing.assert_allclose(cost[:, 0], [3.34211, 5.42262], rtol=1e-5)


def test_variables_as_in_keras_and_lengths_in_one_dimension():
    steps, counts = [[5], [5]], [[5], [4]]
    variables = [
        K.variable(a, dtype=d)
        for a, d in (
            (LABELS, "int32"),
            (PROBABILITIES, "float32"),
            (steps, "int32"),
            (counts, "int32"),
        )
    ]
    cost = K.eval(K.ctc_batch_cost(*variables))
    np.testing.assert_allclose(cost[:, 0], [3.34211, 5.42262], rtol=1e-5)
    places = inputs(labels="float32", lengths=((None,), (None,)))  # labels as Keras feeds them
    flat = function(K.ctc_batch_cost(*places), places)(LABELS, PROBABILITIES, [5, 5], [5, 4])
    np.testing.assert_allclose(flat, cost, rtol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_the_slope_of_a_softmax_is_probability_less_share(mode):
    """d loss / d logits is the softmax less the share of all paths that a class has: the sum of
    each step is 0, and steps that do not count have none."""
    rng = np.random.default_rng(0)
    places = inputs()
    logits, (true, _, steps, counts) = K.placeholder((None, None, None)), places
    cost = K.ctc_batch_cost(true, K.softmax(logits), steps, counts)
    (slope,) = K.gradients(K.sum(cost), [logits])
    f = K.function([true, logits, steps, counts], [cost, slope], mode=mode)
    x = rng.normal(size=(3, 8, 5)).astype("f")
    labels = np.array([[0, 0, 1], [3, 2, 0], [1, 0, 0]])
    rest = np.array([[8], [6], [4]]), np.array([[3], [2], [0]])
    value, got = f(labels, x, *rest)
    np.testing.assert_allclose(got.sum(2), 0, atol=1e-6)
    for k, (steps, _) in enumerate(zip(*rest)):
        assert not got[k, steps[0] :].any()
    step = x - 0.05 * got
    assert (f(labels, step, *rest)[0] < value).all()
    blank = np.zeros((4, 5))
    blank[:, 4] = 1  # the empty sequence: all its share is the blank's
    p = np.exp(x[2, :4]) / np.exp(x[2, :4]).sum(1, keepdims=True)
    np.testing.assert_allclose(got[2, :4], p - blank, atol=1e-5)


def test_a_network_learns_to_spell():
    rng = np.random.default_rng(1)
    x, labels = rng.normal(size=(4, 12, 6)).astype("f"), np.array([[0, 1], [1, 1], [2, 0], [0, 0]])
    counts = np.array([2, 2, 2, 1])
    true, features, steps, held = inputs(lengths=((None,), (None,)))
    w = K.variable(rng.normal(size=(6, 4)) * 0.1)
    bias = K.zeros((12, 4))  # of time: the features alone tell little
    y = K.softmax(K.dot(features, w) + bias)
    loss = K.mean(K.ctc_batch_cost(true, y, steps, held))
    by_w, by_bias = K.gradients(loss, [w, bias])
    f = K.function(
        [true, features, steps, held],
        loss,
        mode="compiled",
        updates=[(w, w - 0.5 * by_w), (bias, bias - 0.5 * by_bias)],
    )
    losses = [f(labels, x, np.full(4, 12), counts) for _ in range(150)]
    assert losses[-1] < 0.25 * losses[0]


@pytest.mark.parametrize("mode", MODES)
def test_theanos_ctc_is_the_same_with_the_blank_first(mode):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(9, 3, 5)).astype("f")  # time first
    padded, steps = np.array([[1, 2, -1], [3, 3, 1], [-1, -1, -1]]), np.array([9, 7, 2])
    a = K.placeholder((None, None, None))
    cost = K.ctc(a, padded, steps)
    got, slope = K.function([a], [cost, K.gradients(K.sum(cost), [a])[0]], mode=mode)(x)
    moved = np.roll(x, -1, 2).transpose(1, 0, 2)  # blank last, samples first
    logits = K.placeholder((None, None, None))
    other = K.ctc_batch_cost(
        np.maximum(padded - 1, 0), K.softmax(logits), steps, np.array([2, 3, 0])
    )
    want, wanted = K.function([logits], [other, K.gradients(K.sum(other), [logits])[0]], mode=mode)(
        moved
    )
    np.testing.assert_allclose(got, want[:, 0], rtol=1e-5)
    np.testing.assert_allclose(slope, np.roll(wanted.transpose(1, 0, 2), 1, 2), atol=1e-5)
    with pytest.raises(ShapeError, match="steps, samples, classes"):
        K.ctc(K.placeholder(ndim=2), padded, steps)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"labels": [[0, 5, 0], [0, 1, 0]]}, IndexOutOfBounds, "label 5 of sample 0 .* the blank"),
        ({"labels": [[0, 1, 0], [0, 1, 7]]}, IndexOutOfBounds, "label 7 of sample 1"),
        ({"steps": [[4], [9]]}, ArgumentError, "sample 1 has the input length 9"),
        ({"counts": [[3], [4]]}, ArgumentError, "sample 1 has the label length 4"),
        ({"steps": [[4], [2]]}, ArgumentError, "sample 1 cannot be aligned"),
    ],
)
def test_errors_name_the_sample_and_the_line(mode, change, error, words):
    good = {
        "labels": [[0, 1, 0], [0, 1, 0]],
        "y": np.full((2, 4, 6), 1 / 6),
        "steps": [[4], [4]],
        "counts": [[3], [3]],
    }
    places = inputs()
    cost = K.ctc_batch_cost(*places)  # here
    f = function(cost, places, mode)
    assert np.isfinite(f(*good.values())).all()
    with pytest.raises(error, match=words) as caught:
        f(*{**good, **change}.values())
    assert "test_ctc.py" in str(caught.value) and "# here" in str(caught.value)


def test_empty_batches_and_sequences():
    places = inputs()
    f = function(K.ctc_batch_cost(*places), places)
    none = np.zeros((0, 1), int)
    assert f(np.zeros((0, 3), int), np.zeros((0, 5, 4)), none, none).shape == (0, 1)
    y = np.full((2, 3, 2), 0.5)
    cost = f(np.zeros((2, 0), int), y, [[3], [0]], [[0], [0]])  # blanks only; nothing
    np.testing.assert_allclose(cost[:, 0], [3 * np.log(2), 0], rtol=1e-6)
    one = f(np.zeros((2, 0), int), np.ones((2, 3, 1)), [[3], [2]], [[0], [0]])
    np.testing.assert_allclose(one, 0, atol=1e-6)  # no class but the blank


# ---- decoding -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_greedy_decoding_as_keras_tests_it(mode):
    """backend_test.py, test_ctc_decode_greedy."""
    first = [
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.4, 0.6],
        [0.0, 0.0, 0.4, 0.6],
        [0.0, 0.9, 0.1, 0.0],
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ]
    second = [
        [0.1, 0.9, 0.0, 0.0],
        [0.0, 0.9, 0.1, 0.0],
        [0.0, 0.0, 0.1, 0.9],
        [0.0, 0.9, 0.1, 0.1],
        [0.9, 0.1, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ]
    x, n = K.placeholder((None, None, None)), K.placeholder((None,), dtype="int32")
    decoded, score = K.ctc_decode(x, n, greedy=True)
    assert len(decoded) == 1
    found, negative = K.function([x, n], [decoded[0], score], mode=mode)([first, second], [4, 5])
    np.testing.assert_array_equal(found, [[0, 1, -1], [1, 1, 0]])
    truth = [np.sum(-np.log([1.0, 0.6, 0.6, 0.9])), np.sum(-np.log([0.9] * 5))]
    np.testing.assert_allclose(negative, np.array(truth)[:, None], rtol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_beam_search_as_keras_tests_it(mode):
    """backend_test.py, test_ctc_decode_beam_search ("hibernating beams"); there the scores are
    relative to the best class of each step, here they are the log probabilities."""
    y = np.asarray(
        [
            [0.30999, 0.309938, 0.0679938, 0.0673362, 0.0708352, 0.173908],
            [0.215136, 0.439699, 0.0370931, 0.0393967, 0.0381581, 0.230517],
            [0.199959, 0.489485, 0.0233221, 0.0251417, 0.0233289, 0.238763],
            [0.279611, 0.452966, 0.0204795, 0.0209126, 0.0194803, 0.20655],
            [0.51286, 0.288951, 0.0243026, 0.0220788, 0.0219297, 0.129878],
            [0] * 6,
            [0] * 6,
        ]
    )[None]
    x, n = K.placeholder((None, None, None)), K.placeholder((None,), dtype="int32")
    decoded, score = K.ctc_decode(x, n, greedy=False, beam_width=2, top_paths=2)
    *paths, scores = K.function([x, n], [*decoded, score], mode=mode)(y, [5])
    np.testing.assert_array_equal(paths[0], [[1, 0]])
    np.testing.assert_array_equal(paths[1], [[0, 1, 0]])
    best = np.log(y[0, :5].max(1)).sum()
    np.testing.assert_allclose(scores - best, [[0.584855, 0.389139]], rtol=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_sequences_are_as_wide_as_the_longest(mode):
    x, n = K.placeholder((None, None, None)), K.placeholder((None, 1), dtype="int32")
    greedy, beams = K.ctc_decode(x, n)[0], K.ctc_decode(x, n, False, 4, 3)
    f = K.function([x, n], [*greedy, *beams[0], beams[1]], mode=mode)
    quiet = np.tile([0.05, 0.05, 0.9], (2, 4, 1))
    loud = np.tile([[0.9, 0.05, 0.05], [0.05, 0.9, 0.05]], (2, 2, 1))
    for y, lengths, width in (
        (quiet, [4, 4], 0),
        (loud, [4, 3], 4),
        (loud, [2, 1], 2),
        (quiet[:0], [], 0),
    ):
        lengths = np.array(lengths, int)[:, None]
        first, best, *others, scores = f(y, lengths)
        assert first.shape == best.shape == (len(y), width) and first.dtype == "int64"
        np.testing.assert_array_equal(first, best)
        assert scores.shape == (len(y), 3) and (np.diff(scores) <= 0).all()
    _, best, second, third, scores = f(quiet, [[0], [0]])  # nothing to spell
    assert best.shape == second.shape == (2, 0)
    np.testing.assert_array_equal(scores, [[0, -np.inf, -np.inf]] * 2)


def test_merge_repeated_of_keras():
    from ckernels.compat import keras2

    y = np.full((2, 5, 3), 0.01)  # spells 1 1 0 and 0 0 with blanks between repeats
    for k, row in enumerate(([1, 2, 1, 0, 0], [0, 2, 0, 2, 2])):
        y[k, range(5), row] = 0.98
    n = np.array([5, 5])
    for merge, want in ((False, [[1, 1, 0], [0, 0, -1]]), (True, [[1, 0], [0, -1]])):
        (found,), score = keras2.ctc_decode(y, n, greedy=False, merge_repeated=merge)
        np.testing.assert_array_equal(K.eval(found), want)
        np.testing.assert_array_equal(K.eval(score), K.eval(K.ctc_decode(y, n, False)[1]))
    (greedy,), _ = keras2.ctc_decode(y, n, greedy=True, merge_repeated=True)
    np.testing.assert_array_equal(K.eval(greedy), [[1, 1, 0], [0, 0, -1]])


@pytest.mark.parametrize("mode", MODES)
def test_a_beam_of_all_prefixes_scores_like_the_loss(mode):
    y = np.random.default_rng(3).dirichlet(np.ones(3), (2, 6)).astype("f")
    (best, *_), scores = K.ctc_decode(y, np.array([6, 5]), False, 200, 1)
    found, score = K.function([], [best, scores], mode=mode)()
    labels = np.where(found < 0, 0, found)
    cost = K.ctc_batch_cost(labels, y, np.array([6, 5]), (found >= 0).sum(1))
    np.testing.assert_allclose(-score, K.eval(cost), rtol=1e-4)


def test_what_cannot_be_decoded():
    x, n = K.placeholder((None, None, 4)), K.placeholder((None,), dtype="int32")
    with pytest.raises(ArgumentError, match="top_paths 3 and beam_width 2"):
        K.ctc_decode(x, n, greedy=False, beam_width=2, top_paths=3)
    with pytest.raises(ShapeError, match="samples, steps, classes"):
        K.ctc_decode(K.placeholder(ndim=2), n)
    for greedy in (True, False):
        f = K.function([x, n], K.ctc_decode(x, n, greedy)[0], mode="compiled")
        with pytest.raises(ArgumentError, match="sample 1 has the input length 3"):
            f(np.full((2, 2, 4), 0.25), [1, 3])


# ---- labels as a sparse tensor ------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_labels_become_sparse(mode):
    pytest.importorskip("scipy.sparse")
    labels, n = K.placeholder((None, None), dtype="int32"), K.placeholder((None, 1), dtype="int32")
    made = K.ctc_label_dense_to_sparse(labels, n)
    assert K.is_sparse(made) and K.dtype(made) == "int32"
    given = np.array([[3, 0, 2], [1, 1, 9], [7, 7, 7]])
    found = K.function([labels, n], made, mode=mode)(given, [[3], [2], [0]])
    assert found.nnz == 5 and found.shape == (3, 3)  # class 0 is stored
    np.testing.assert_array_equal(found.toarray(), [[3, 0, 2], [1, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(found.indices, [0, 1, 2, 0, 1])
    with pytest.raises(ShapeError, match="samples, length"):
        K.ctc_label_dense_to_sparse(K.placeholder(ndim=3), n)
