"""The ops of CTC: against sums over all paths, finite differences and each other; bad input."""

import itertools
from functools import partial

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.autodiff import reverse
from ckernels.base.errors import ArgumentError, IndexOutOfBounds, NotSupported, ShapeError
from ckernels.ops.ctc import ctc_beam, ctc_collapse, ctc_cost
from ckernels.runtime.function import make_function

from .agree import leaf, numeric

WAYS = ("reference", "compiled")


def merged(path, blank):
    return tuple(c for c, _ in itertools.groupby(path) if c != blank)


def spelled(y, blank):
    """{labels: probability}, by going through all paths of y (steps, classes)."""
    total = {}
    for path in itertools.product(range(y.shape[1]), repeat=len(y)):
        labels = merged(path, blank)
        total[labels] = total.get(labels, 0) + np.prod([y[t, c] for t, c in enumerate(path)])
    return total


def run(build, *arrays, mode="compiled"):
    leaves = [leaf((None,) * a.ndim, a.dtype.name) for a in arrays]
    outputs = build(*leaves)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    return make_function(leaves, outputs, mode=mode, positional_only=True, downcast=False)(*arrays)


def loss_and_slope(**options):
    """A build function: the losses, and the derivative of their weighted sum by the scores."""

    def build(x, labels, steps, counts):
        cost = ctc_cost(x, labels, steps, counts, **options)
        weights = ops.add(ops.cast(ops.arange(0, ops.size_of(x, 0), 1, "int64"), x.dtype), 1)
        return cost, reverse.grad(ops.sum(ops.mul(cost, weights)), x)

    return build


def batch(rng, n, steps, classes, most, dtype="float64", blank=-1):
    """Probabilities and labels that can be aligned, of all lengths."""
    y = rng.dirichlet(np.ones(classes), (n, steps)).reshape(n, steps, classes).astype(dtype)
    named = [c for c in range(classes) if c != blank % classes]
    labels = rng.choice(named, (n, most)) if named else np.zeros((n, most), int)
    used = rng.integers(0, steps + 1, n)
    counts = np.zeros(n, int)
    for k in range(n):
        room = 0
        for i in range(most if named else 0):
            room += 1 + (i > 0 and labels[k, i] == labels[k, i - 1])
            if room <= used[k]:
                counts[k] = i + 1
        counts[k] = rng.integers(0, counts[k] + 1)
    return y, labels, used, counts


# ---- the loss -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", WAYS)
@pytest.mark.parametrize("blank", [0, 1, -1])
def test_the_loss_is_the_sum_over_all_paths(mode, blank):
    rng = np.random.default_rng(1)
    y = rng.dirichlet(np.ones(3), 5)
    total = spelled(y, blank % 3)
    known = sorted(total)
    assert () in known and max(map(len, known)) == 5
    labels = np.full((len(known), 5), 9)  # what is beyond the length is not read
    for k, one in enumerate(known):
        labels[k, : len(one)] = one
    counts = np.array([len(one) for one in known])
    steps = np.full(len(known), 5)
    (got,) = run(
        lambda *a: ctc_cost(*a, blank=blank),
        np.array([y] * len(known)),
        labels,
        steps,
        counts,
        mode=mode,
    )
    np.testing.assert_allclose(got, [-np.log(total[one]) for one in known], rtol=1e-12)


@pytest.mark.parametrize("mode", WAYS)
def test_fewer_steps_than_there_are(mode):
    rng = np.random.default_rng(2)
    y = rng.dirichlet(np.ones(3), (4, 4))
    labels, counts = np.array([[0, 1]] * 4), np.array([2, 1, 1, 0])
    steps = np.array([4, 3, 1, 0])
    got, slope = run(loss_and_slope(), y, labels, steps, counts, mode=mode)
    for k in range(4):
        want = spelled(y[k, : steps[k]], 2).get(tuple(labels[k, : counts[k]]), 0)
        np.testing.assert_allclose(got[k], -np.log(want), rtol=1e-12)
        assert not slope[k, steps[k] :].any()
    assert got[3] == 0 and not slope[3].any()  # the empty sequence, spelled by nothing


@pytest.mark.parametrize("log", [False, True])
def test_the_slope_is_that_of_finite_differences(log):
    rng = np.random.default_rng(3)
    labels, steps = np.array([[0, 0, 1], [1, 0, 0], [0, 0, 0]]), np.array([5, 4, 3])
    counts = np.array([3, 2, 0])
    x = rng.uniform(0.2, 1, (3, 5, 3))
    x = np.log(x) if log else x  # neither need be normalised
    build = loss_and_slope(log=log, epsilon=0 if log else 0.01)

    def total(y):
        cost = run(build, y, labels, steps, counts, mode="reference")[0]
        return (cost * [1, 2, 3]).sum()

    for mode in WAYS:
        slope = run(build, x, labels, steps, counts, mode=mode)[1]
        np.testing.assert_allclose(slope, numeric(total, [x], 0), rtol=1e-5, atol=1e-7)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "options", [{}, {"blank": 0, "epsilon": 1e-7}, {"log": True, "blank": 1}], ids=str
)
def test_kernels_against_oracles(dtype, options):
    rng = np.random.default_rng(4)
    build = loss_and_slope(**options)
    rtol = 2e-6 if dtype == "float32" else 1e-12
    for n, steps, classes, most in [
        (1, 1, 2, 1),
        (3, 17, 4, 9),
        (5, 40, 3, 16),
        (2, 33, 7, 30),
        (40, 6, 5, 3),
        (2, 9, 2, 0),
        (2, 0, 2, 3),
        (0, 4, 3, 2),
    ]:
        arrays = batch(rng, n, steps, classes, most, dtype, options.get("blank", -1))
        if options.get("log"):
            arrays = (np.log(arrays[0] + 1e-30).astype(dtype), *arrays[1:])
        got = run(build, *arrays)
        for a, b in zip(got, run(build, *arrays, mode="reference")):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * 10)


@pytest.mark.rest
def test_any_layout_and_any_integers():
    rng = np.random.default_rng(5)
    y, labels, steps, counts = batch(rng, 4, 12, 5, 4)
    want = run(loss_and_slope(), y, labels, steps, counts)
    major = np.ascontiguousarray(y.transpose(1, 0, 2)).transpose(1, 0, 2)
    turned = np.ascontiguousarray(y.transpose(2, 1, 0)[::-1]).transpose(2, 1, 0)[:, :, ::-1]
    for k, (kind, z) in enumerate(zip(("int8", "uint8", "int32", "uint64"), (y, major, turned, y))):
        wide = np.repeat(np.asfortranarray(labels.astype(kind)), 2, 1)[:, ::2]
        arrays = [z, wide, steps.astype(kind)[::-1].copy()[::-1], counts.astype(kind)]
        for a, b in zip(run(loss_and_slope(), *arrays), want):
            np.testing.assert_allclose(a, b, rtol=1e-13, err_msg=str(k))


def test_padding_is_left_out():
    rng = np.random.default_rng(6)
    y = rng.dirichlet(np.ones(4), (2, 8))
    tight = np.array([[1, 2, 2], [3, 0, 0]])
    loose = np.array([[-1, 1, 2, -7, 2], [3, -1, -1, -1, -1]])
    for mode in WAYS:
        want = run(loss_and_slope(blank=0), y, tight, np.array([8, 8]), np.array([3, 1]), mode=mode)
        got = run(
            loss_and_slope(blank=0, padded=True),
            y,
            loose,
            np.array([8, 8]),
            np.array([5, 5]),
            mode=mode,
        )
        for a, b in zip(got, want):
            np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_thousands_of_steps_that_leave_no_room_for_a_double(dtype):
    """A probability of 1e-30 at each of 3000 steps; and labels that only come to life late."""
    steps, labels = np.array([3000, 3000]), np.tile([0, 1, 1], (2, 30))
    y = np.full((2, 3000, 3), 1e-30, dtype)
    y[0, :, 2] = 1
    y[1, :2500, 2], y[1, 2500:, :2] = 1, 0.5
    counts = np.array([90, 90])
    got = run(loss_and_slope(), y, labels, steps, counts)
    for a, b in zip(got, run(loss_and_slope(), y, labels, steps, counts, mode="reference")):
        np.testing.assert_allclose(a, b, rtol=3e-6 if dtype == "float32" else 1e-10, atol=1e-6)
    logs = run(loss_and_slope(log=True), np.log(y), labels, steps, counts)
    # Normalised, the second sample's early steps differ from its log weights by a constant.
    shift = np.log(y.astype("float64").sum(2)).sum(1)
    np.testing.assert_allclose(logs[0] + shift, got[0], rtol=3e-6)


@pytest.mark.parametrize("mode", WAYS)
def test_what_is_no_probability(mode):
    y = np.full((5, 3, 3), 1 / 3)
    labels, steps, counts = np.array([[0]] * 5), np.array([3] * 5), np.array([1] * 5)
    y[0, 1, 2], y[1, 2, 0], y[2, 0, 1] = np.nan, -1, np.inf
    y[3, :, 0] = 0  # the label is impossible
    cost, slope = run(loss_and_slope(), y, labels, steps, counts, mode=mode)
    assert np.isnan(cost[:3]).all() and np.isnan(slope[:3]).all()
    assert cost[3] == np.inf and not slope[3].any()
    assert np.isfinite(cost[4]) and np.isfinite(slope[4]).all()
    logs = np.log(np.full((3, 3, 3), 1 / 3))
    logs[0, 1, 0], logs[1, 1, 2], logs[2, :, 0] = np.nan, np.inf, -np.inf
    cost, slope = run(loss_and_slope(log=True), logs, labels[:3], steps[:3], counts[:3], mode=mode)
    assert np.isnan(cost[:2]).all() and np.isnan(slope[:2]).all()
    assert cost[2] == np.inf and not slope[2].any()


def test_the_same_bits_on_any_number_of_threads():
    arrays = batch(np.random.default_rng(7), 64, 50, 20, 12, "float32")
    before = K.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            K.set_num_threads(threads)
            results.append(run(loss_and_slope(), *arrays))
    finally:
        K.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other))


def test_only_what_is_used_is_computed():
    y, *rest = batch(np.random.default_rng(8), 2, 5, 3, 2)
    leaves = [leaf((None,) * a.ndim, a.dtype.name) for a in (y, *rest)]
    for build, used in ((ctc_cost, 1), (loss_and_slope(), 2)):
        out = build(*leaves)
        function = make_function(
            leaves, list(out) if isinstance(out, tuple) else [out], positional_only=True
        )
        function(y, *rest)
        kernels = [r.kernel for r in function.info.program.kernels.records.values()]
        (ctc,) = [k for k in kernels if k.form == "ctc"]
        assert sum(o.role == "out" for o in ctc.operands) == used


def test_no_second_derivative():
    leaves = [leaf((2, 3, 4)), leaf((2, 2), "int64"), leaf((2,), "int64"), leaf((2,), "int64")]
    _, slope = loss_and_slope()(*leaves)
    with pytest.raises(NotSupported, match="second derivative"):
        reverse.grad(ops.sum(slope), leaves[0])


@pytest.mark.parametrize("mode", WAYS)
@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"steps": [3, 6]}, ArgumentError, "sample 1 has the input length 6.* 5 time steps"),
        ({"steps": [-1, 5]}, ArgumentError, "sample 0 has the input length -1"),
        ({"counts": [1, 4]}, ArgumentError, "sample 1 has the label length 4.* 3 labels"),
        ({"counts": [-2, 1]}, ArgumentError, "sample 0 has the label length -2"),
        ({"labels": [[0, 1, 0], [0, 3, 0]]}, IndexOutOfBounds, "label 3 of sample 1 .* 4 classes"),
        ({"labels": [[0, 9, 0], [0, 1, 0]]}, IndexOutOfBounds, "label 9 of sample 0"),
        ({"labels": [[0, 1, 0], [-1, 1, 0]]}, IndexOutOfBounds, "label -1 of sample 1"),
        ({"steps": [5, 2]}, ArgumentError, "sample 1 cannot be aligned: its 3 labels need 3 time"),
        (
            {"labels": [[0, 0, 0], [0, 1, 0]], "steps": [4, 5]},
            ArgumentError,
            "its 3 labels and 2 blanks between repeated ones need 5 time steps, "
            "its input length is 4",
        ),
    ],
)
def test_bad_batches_are_named(mode, change, error, words):
    good = {
        "y": np.full((2, 5, 4), 0.25),
        "labels": [[0, 1, 0], [0, 1, 0]],
        "steps": [5, 5],
        "counts": [3, 3],
    }
    arrays = [np.asarray(a) for a in {**good, **change}.values()]
    with pytest.raises(error, match=words):
        run(loss_and_slope(), *arrays, mode=mode)


def test_shapes_that_do_not_fit():
    x, labels, n = leaf((2, 3, 4)), leaf((2, 2), "int64"), leaf((2,), "int64")
    for arguments, words in [
        ((leaf((3, 4)), labels, n, n), "samples, steps, classes"),
        ((x, leaf((2,), "int64"), n, n), "labels .* 2 dimensions"),
        ((x, labels, leaf((3,), "int64"), n), "one row for each sample"),
        ((x, leaf((3, 2), "int64"), n, n), "one row for each sample"),
        ((x, labels, leaf((2, 2), "int64"), n), "input lengths"),
    ]:
        with pytest.raises(ShapeError, match=words):
            ctc_cost(*arguments)
    with pytest.raises(ShapeError, match="no class 4"):
        ctc_cost(x, labels, n, n, blank=4)


# ---- decoding -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", WAYS)
def test_collapse_merges_then_drops(mode):
    rng = np.random.default_rng(9)
    best, lengths = rng.integers(-1, 3, (7, 9)), rng.integers(0, 10, 7)
    found, counts = run(ctc_collapse, best[:, ::-1], lengths, mode=mode)
    for k in range(7):
        want = merged(best[k, ::-1][: lengths[k]], -1)
        assert counts[k] == len(want) and tuple(found[k, : counts[k]]) == want
        assert (found[k, counts[k] :] == -1).all()
    with pytest.raises(ArgumentError, match="sample 2 has the input length 10"):
        run(ctc_collapse, best, np.array([1, 2, 10, 1, 1, 1, 1]), mode=mode)


@pytest.mark.parametrize("mode", WAYS)
def test_a_beam_that_drops_nothing_finds_the_best_of_all(mode):
    rng = np.random.default_rng(10)
    y = rng.dirichlet(np.ones(3), (3, 5))
    found, counts, score = run(
        lambda x, n: ctc_beam(x, n, 64, 8), y, np.array([5, 4, 0]), mode=mode
    )
    for k, steps in enumerate((5, 4)):
        total = spelled(y[k, :steps], 2)
        want = sorted(total, key=lambda one: -total[one])[:8]
        assert [tuple(found[k, i, : counts[k, i]]) for i in range(8)] == want
        np.testing.assert_allclose(score[k], [np.log(total[one]) for one in want], rtol=1e-12)
    assert score[2, 0] == 0 and (score[2, 1:] == -np.inf).all() and (found[2] == -1).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_beams_against_the_oracle(dtype):
    rng = np.random.default_rng(11)
    for n, steps, classes, width, paths in [
        (3, 6, 4, 5, 3),
        (5, 12, 5, 20, 7),
        (2, 30, 6, 12, 10),
        (4, 20, 3, 1, 1),
        (3, 9, 2, 30, 30),
        (2, 5, 1, 3, 2),
        (2, 0, 3, 2, 2),
        (0, 4, 3, 2, 1),
    ]:
        y = rng.dirichlet(np.full(classes, 0.5), (n, steps)).reshape(n, steps, classes)
        y, lengths = y.astype(dtype)[:, ::-1], rng.integers(0, steps + 1, n)
        beam = partial(ctc_beam, width=width, paths=paths, epsilon=1e-7)
        got, want = (run(beam, y, lengths, mode=mode) for mode in ("compiled", "reference"))
        assert np.array_equal(got[0], want[0]) and np.array_equal(got[1], want[1])
        np.testing.assert_allclose(got[2], want[2], rtol=1e-6 if dtype == "float32" else 1e-12)


def test_a_prefix_that_comes_back_keeps_its_children():
    """Two labels whose fortunes change: prefixes leave the beam and enter it again."""
    rng = np.random.default_rng(12)
    for _ in range(20):
        y = rng.dirichlet(np.full(4, 0.15), (1, 25)) + 1e-4
        got, want = (
            run(lambda x, m: ctc_beam(x, m, 4, 4), y, np.array([25]), mode=mode)
            for mode in ("compiled", "reference")
        )
        assert np.array_equal(got[0], want[0])
        np.testing.assert_allclose(got[2], want[2], rtol=1e-9)


def test_searches_that_cannot_be():
    x, n = leaf((2, 3, 4)), leaf((2,), "int64")
    with pytest.raises(ArgumentError, match="top_paths 3 and beam_width 2"):
        ctc_beam(x, n, 2, 3)
    with pytest.raises(ArgumentError, match="top_paths 0"):
        ctc_beam(x, n, 2, 0)
    with pytest.raises(ShapeError, match="the blank"):
        ctc_beam(leaf((2, 3, 0)), n, 2, 1)
    for mode in WAYS:
        with pytest.raises(ArgumentError, match="sample 1 has the input length 4"):
            run(
                lambda a, b: ctc_beam(a, b, 2, 1),
                np.full((2, 3, 4), 0.25),
                np.array([1, 4]),
                mode=mode,
            )
