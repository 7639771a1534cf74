"""Steps and rows of scans that nobody reads: which are run and stored, and that values stay."""

import numpy as np
import pytest

import ckernels as K
from ckernels.graph.walk import toposort
from ckernels.ops.scan import ScanSignature, is_scan
from ckernels.rewrite.scan.prune import drop_unused

F = "float64"
T = 300


def recurrence(x, h, **options):
    return K.scan(lambda x_t, past: K.tanh(past * 0.9 + x_t), x, h, **options)[0]


def optimised(inputs, outputs, seed=0):
    """(scans of the plan in order, compiled function); values checked against the oracle."""
    r = np.random.RandomState(seed)
    arrays = [0.3 * r.randn(*(3 if d is None else d for d in n.node.shape)) for n in inputs]
    f = K.function(inputs, outputs, mode="compiled")
    for got, want in zip(f(*arrays), K.function(inputs, outputs, mode="reference")(*arrays)):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-13)
    return [n for n in toposort(f.optimised) if is_scan(n)], f


def steps(scans):
    return [int(n.inputs[0].value) for n in scans]


def placeholders(*shapes):
    return [K.placeholder(s, dtype=F) for s in shapes]


@pytest.mark.parametrize(
    "key, want",
    [
        (-1, [T]),
        (-2, [T - 2, 1]),
        (slice(-5, None), [T - 5, 5]),
        (slice(-5, None, 2), [T - 5, 5]),
        (slice(None, -200, -1), [T - 199, 199]),
        (slice(-5, -2), [T - 5, 3]),
        (4, [5]),
        (slice(None, 3), [3]),
        (slice(2, 7, 2), [7]),
        (slice(0, 0), [T]),
        (slice(None), [T]),
        (slice(None, 290), [290]),
    ],
)
def test_rows_of_a_trace(key, want):
    x, h = placeholders((T, 8), (8,))
    scans, f = optimised([x, h], [recurrence(x, h)[key]])
    assert steps(scans) == want
    if len(want) == 2:
        assert f.stats()["peak_bytes"] < T * 8 * 8 * 3 / 4


def test_short_and_narrow_loops_are_left_alone():
    x, h = placeholders((T,), ())
    assert steps(optimised([x, h], [recurrence(x, h)[-5:]])[0]) == [T]
    assert steps(optimised([x, h], [recurrence(x, h)[:5]])[0]) == [5]


def test_rows_and_the_last_state():
    x, h = placeholders((T, 8), (8,))
    rows = recurrence(x, h)
    assert steps(optimised([x, h], [rows[:3], rows[-1]])[0]) == [3, T - 3]
    assert steps(optimised([x, h], [rows[100:104], rows[-1]])[0]) == [100, 4, T - 104]
    assert steps(optimised([x, h], [rows[-4:], rows[-1], rows[-3]])[0]) == [T - 4, 4]
    assert steps(optimised([x, h], [rows[-4:], K.sum(rows)])[0]) == [T]


def test_maps_compute_the_rows_that_are_read():
    x, h = placeholders((T, 8), (8,))
    rows = K.map_fn(lambda r: K.tanh(r) * h, x)
    assert steps(optimised([x, h], [rows[-5:]])[0]) == [5]
    assert steps(optimised([x, h], [rows[50], rows[60]])[0]) == [11]


@pytest.mark.parametrize("taps", [[-1], [-2], [-2, -1], [-3, -1], [-1, -4]])
def test_taps_and_results_without_state(taps):
    x, h = placeholders((T, 8), (-min(taps), 8))

    def step(x_t, *past):
        return [K.tanh(sum(p * (k + 1) for k, p in enumerate(past)) / 3 + x_t), past[0] * x_t]

    (a, b), _ = K.scan(step, x, [dict(initial=h, taps=taps) if taps != [-1] else h[0], None])
    scans, f = optimised([x, h], [a[-4:], b[-2:]])
    assert steps(scans) == [T - 4, 4]
    assert f.stats()["peak_bytes"] < T * 8 * 8 / 2
    assert steps(optimised([x, h], [a[-(T - 1) :], b[-2:]])[0]) == [T]


@pytest.mark.parametrize("taps", [[0, 3], [-2, 0], [-1, 2]])
def test_taps_of_sequences_and_loops_that_go_backwards(taps):
    x, h = placeholders((T + 3, 8), (8,))
    step = lambda a, b, p: K.tanh(p * 0.5 + a * b)  # noqa: E731
    for backwards in (False, True):
        rows, _ = K.scan(step, dict(input=x, taps=taps), h, go_backwards=backwards)
        n = K.int_shape(rows)[0]
        assert steps(optimised([x, h], [rows[-4:]])[0]) == [n - 4, 4]


@pytest.mark.parametrize("depth", [1, 3])
def test_a_truncated_gradient_stores_the_rows_it_goes_back_through(depth):
    x, h, w = placeholders((T, 2, 8), (depth, 2, 8), (8, 8))
    first = h[0] if depth == 1 else dict(initial=h, taps=[-3, -1])
    rows, _ = K.scan(
        lambda x_t, *p: K.tanh(sum(K.dot(q, w) for q in p) + x_t), x, first, truncate_gradient=5
    )
    scans, f = optimised([x, h, w], K.gradients(K.sum(K.square(rows[-1])), [w, h]))
    assert sum(steps(scans)) == T + 5
    assert f.stats()["peak_bytes"] < T * 2 * 8 * 8 / 2


def test_gradients_read_by_their_first_rows():
    x, h = placeholders((T, 8), (8,))
    (g,) = K.gradients(K.sum(K.square(recurrence(x, h)[-1])), [x])
    assert steps(optimised([x, h], [g[:4]])[0]) == [T, T - 4, 4]
    assert steps(optimised([x, h], [g[-4:]])[0]) == [T - 4, 4, 4]


def test_a_gradient_of_the_last_rows():
    x, h = placeholders((T, 8), (8,))
    rows = recurrence(x, h)
    optimised([x, h], [rows[-3:], *K.gradients(K.sum(K.square(rows[-3:])), [x, h])])
    scans, _ = optimised([x, h], K.gradients(K.sum(K.square(rows[:3])), [h]))
    assert all(n <= T for n in steps(scans))


def test_loops_inside_of_loops():
    x, h = placeholders((4, T, 8), (8,))
    rows, _ = K.scan(lambda x_t, a: K.sum(recurrence(x_t, a)[-3:], 0), x, h)
    scans, _ = optimised([x, h], [rows])
    inner = [n for n in toposort(scans[0].attrs["body"].outputs) if is_scan(n)]
    assert steps(inner) == [T - 3, 3]


def test_prints_keep_their_steps(capfd):
    x, h = placeholders((6, 400), (400,))
    rows, _ = K.scan(lambda x_t, p: K.print_tensor(p, "step")[:400] + x_t, x, h)
    K.function([x, h], rows[:2], mode="compiled")(np.ones((6, 400)), np.ones(400))
    assert capfd.readouterr().out.count("step") == 6


@pytest.mark.parametrize("wrong", [2, T - 2])
def test_a_failure_names_the_step_as_the_user_counts(wrong):
    table, i = K.constant(np.ones((3, 64))), K.placeholder((T,), dtype="int32")
    rows, _ = K.scan(lambda at, h: h * 0.5 + table[at], i, K.zeros((64,), dtype=F))
    f = K.function([i], rows[-4:], mode="compiled")
    at = np.zeros(T, "int32")
    f(at)
    at[wrong] = 7
    with pytest.raises(IndexError, match=f"in step {wrong} of"):
        f(at)


def test_draws_and_variables_advance_by_all_steps():
    count = K.variable(0.0, dtype=F)
    h = K.zeros((64,), dtype=F)

    def results(key):
        rows, updates = K.scan(
            lambda p: (p * 0.5 + K.random_uniform((64,), dtype=F, seed=3), {count: count + 1}),
            outputs_info=h,
            n_steps=T,
        )
        f = K.function([], rows[key] if key else rows, updates=updates, mode="compiled")
        K.set_value(count, 0.0)
        return f(), f(), K.get_value(count)

    one, two, n = results(slice(-3, None))
    all_one, all_two, m = results(None)
    assert n == m == 2 * T
    np.testing.assert_allclose(one, all_one[-3:])
    np.testing.assert_allclose(two, all_two[-3:])


def test_a_slice_of_one_of_several_joined_tensors_is_a_slice_of_that():
    a, b = placeholders((3, 4), (5, 4))
    joined = K.concatenate([a, b], 0)
    for key, name in (
        ((slice(4, 7),), "slice"),
        ((slice(7, 3, -2), slice(1, 3)), "slice"),
        ((slice(2, 4),), "concatenate"),
    ):
        f = K.function([a, b], joined[key] * 1.0, mode="compiled")
        r = np.random.RandomState(0).randn(8, 4)
        np.testing.assert_array_equal(f(r[:3], r[3:]), r[key])
        assert any(n.op.name == "concatenate" for n in toposort(f.optimised)) == (
            name == "concatenate"
        )


def test_scans_of_which_all_is_read_stay_as_they_are():
    """And what is dropped is dropped once: a second look finds nothing."""
    x, h = placeholders((T, 8), (8,))
    both = K.scan(lambda x_t, a, b: [K.tanh(a + x_t), b * 0.5 + x_t], x, [h, h])[0]
    roots = [both[0].node, both[1].node]
    assert drop_unused(roots) == roots
    (last,) = drop_unused([roots[0]])
    assert last is not roots[0] and drop_unused([last]) == [last]
    (scan,) = (n for n in toposort([last]) if is_scan(n))
    assert ScanSignature.of(scan).carries == 1


def test_what_a_step_no_longer_reads_is_not_computed():
    """A choice between equal sides goes, and with it what its condition was made of."""
    x, h, w = placeholders((T, 8), (8,), (40, 40))
    big = K.sum(K.dot(K.tanh(w), w))

    def step(x_t, past):
        return K.where(K.greater(big, 0.0), x_t, x_t) + past * 0.9

    out = K.scan(step, x, h)[0]
    scans, f = optimised([x, h, w], [out])
    assert len(scans) == 1 and not any("matmul" in s for s in f.steps())


@pytest.mark.parametrize("debug", [False, True])
def test_a_scan_for_debugging_keeps_all_its_steps(debug):
    """Whoever looks at each step sees what the program says, read or not."""
    x, h = placeholders((T,), ())
    (_, twice), _ = K.scan(lambda x_t, past: (past * 0.9 + x_t, x_t * 2), x, [h, None], debug=debug)
    roots = [twice.node]
    scans = [n for n in toposort(drop_unused(roots)) if is_scan(n)]
    (before,) = [n for n in toposort(roots) if is_scan(n)]
    assert (scans == [before]) is debug
