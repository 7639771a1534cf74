"""K.scan: the rules and the numbers of Theano's manual, what its arguments may be, and errors."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import ArgumentError, DTypeError, ShapeError, UsageError

F = "float64"


def vector(name=None, dtype=F):
    return K.placeholder((None,), dtype=dtype, name=name)


# --- the programs of the manual ---------------------------------------------------------------


def test_powers():
    a, k = K.placeholder((None,), name="A"), K.placeholder((), dtype="int32", name="k")
    result, updates = K.scan(
        fn=lambda prior, a: prior * a, outputs_info=K.ones_like(a), non_sequences=a, n_steps=k
    )
    assert not updates and result.ndim == 2
    power = K.function([a, k], result[-1], updates=updates)
    assert power(range(10), 2).tolist() == [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]
    assert power(range(10), 4).tolist() == [0, 1, 16, 81, 256, 625, 1296, 2401, 4096, 6561]


def test_a_polynomial_stops_at_the_shortest_sequence():
    coefficients, x = vector(dtype="float32"), K.placeholder(())
    parts, _ = K.scan(
        lambda c, power, free: c * free**power,
        outputs_info=None,
        sequences=[coefficients, K.arange(10000)],
        non_sequences=x,
    )
    f = K.function([coefficients, x], [K.sum(parts), parts])
    total, rows = f(np.array([1, 0, 2], "float32"), 3)
    assert total == 19.0 and rows.shape == (3,)


def test_triangular_numbers_and_the_rule_of_the_first_value():
    up_to = K.placeholder((), dtype="int32")
    numbers = K.arange(up_to, dtype="int64")
    rows, _ = K.scan(lambda n, total: total + n, numbers, K.constant(0, dtype="int64"))
    want = [0, 1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 66, 78, 91, 105]
    assert K.function([up_to], rows)(15).tolist() == want
    with pytest.raises(DTypeError, match="starts as int8 and becomes int64"):
        K.scan(lambda n, total: total + n, numbers, K.constant(0, dtype="int8"))


def test_new_tensors_inside_the_step():
    location = K.placeholder((None, 2), dtype="int32")
    values, model = K.placeholder((None,)), K.placeholder((None, None))

    def place(at, value, model):
        zeros = K.zeros_like(model)
        return K.set_subtensor(zeros[at[0], at[1]], value)

    out, _ = K.scan(place, [location, values], None, model)
    got = K.function([location, values, model], out)(
        np.array([[1, 1], [2, 3]], "int32"), np.array([42, 50], "float32"), np.zeros((5, 5))
    )
    assert got.shape == (2, 5, 5) and got[0, 1, 1] == 42 and got[1, 2, 3] == 50
    assert np.count_nonzero(got) == 2


def test_tanh_of_rows():
    x, w, b = K.placeholder((None, None)), K.placeholder((None, None)), K.placeholder((None,))
    rows, _ = K.scan(lambda v: K.tanh(K.dot(v, w) + b), sequences=x)
    got = K.function([x, w, b], rows)(np.eye(2), np.ones((2, 2)), np.array([1, 2]))
    np.testing.assert_allclose(got, [[0.96402758, 0.99505475]] * 2, rtol=1e-6)


def test_a_recurrence_over_two_sequences():
    x, w, y, u, p, v = (K.placeholder((None,) * n, dtype=F) for n in (1, 2, 2, 2, 2, 2))
    rows, _ = K.scan(
        lambda y, p, x: K.tanh(K.dot(x, w) + K.dot(y, u) + K.dot(p, v)),
        sequences=[y, p[::-1]],
        outputs_info=[x],
    )
    ones, a, c = np.ones((2, 2)), np.ones((5, 2)), np.ones((5, 2))
    a[0], c[0] = -3, 3
    got = K.function([x, w, y, u, p, v], rows)(np.array([0.0, 1.0]), ones, a, ones, c, ones)
    want = [-0.99505475, 0.96471973, 0.99998585, 0.99998771, 1.0]
    np.testing.assert_allclose(got, np.repeat(np.array(want)[:, None], 2, 1), atol=5e-9)


def test_norms_of_rows_and_columns():
    x = K.placeholder((None, None), dtype=F)
    norm = lambda row: K.sqrt(K.sum(row**2))  # noqa: E731
    rows, _ = K.scan(norm, x)
    columns, _ = K.scan(norm, K.transpose(x))
    a, b = K.function([x], [rows, columns])(np.diag(np.arange(1.0, 6), 1))
    assert a.tolist() == [1, 2, 3, 4, 5, 0] and b.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_trace_by_indices():
    x = K.placeholder((None, None))
    rows, _ = K.scan(
        lambda i, j, t: K.cast(x[i, j] + t, "float32"),
        [K.arange(K.shape(x)[0]), K.arange(K.shape(x)[1])],
        [np.asarray(0.0, "float32")],
    )
    e = np.eye(5, dtype="float32")
    e[0] = np.arange(5)
    assert K.function([x], rows[-1])(e) == 4.0


def test_two_taps():
    x, u, v, w, b = (K.placeholder((None,) * n, dtype=F) for n in (2, 2, 2, 2, 1))
    n = K.placeholder((), dtype="int32")
    rows, _ = K.scan(
        lambda m2, m1: K.dot(m2, u) + K.dot(m1, v) + K.tanh(K.dot(m1, w) + b),
        n_steps=n,
        outputs_info=[dict(initial=x, taps=[-2, -1])],
    )
    half = 0.5 * np.ones((2, 2))
    got = K.function([x, u, v, w, b, n], rows)(
        np.array([[0.0, 0], [0, 1]]),
        0.5 * (np.ones((2, 2)) - np.eye(2)),
        half,
        half,
        np.ones(2),
        10,
    )
    np.testing.assert_allclose(
        got[[0, 1, -1]],
        [[1.40514825, 1.40514825], [2.88898899, 2.38898899], [54.28407732, 54.25282732]],
        rtol=1e-8,
    )


def test_a_jacobian_by_scan():
    v, a = K.placeholder((None,), dtype=F), K.placeholder((None, None), dtype=F)
    y = K.tanh(K.dot(v, a))
    rows, _ = K.scan(lambda i: K.grad(y[i], v), sequences=[K.arange(K.shape(y)[0])])
    ones = np.eye(5, 3)
    ones[2] = 1
    got = K.function([a, v], rows)(ones, np.eye(1, 5)[0])
    np.testing.assert_allclose(
        got, [[0.41997434, 0, 0.41997434, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 0, 0]], atol=5e-9
    )


def test_updates_only():
    a = K.variable(1, dtype="int64")
    values, updates = K.scan(lambda: {a: a + 1}, n_steps=10)
    assert values is None and isinstance(updates, dict) and list(updates) == [a]
    b, c = a + 1, updates[a] + 1
    f = K.function([], [b, c], updates=updates)
    assert [int(v) for v in f()] == [2, 12] and K.get_value(a) == 11
    assert [int(v) for v in f()] == [12, 22] and K.get_value(a) == 21
    K.set_value(a, 1)
    g = K.function([], [b, c])
    assert [int(v) for v in g()] == [int(v) for v in g()] == [2, 12] and K.get_value(a) == 1


def test_powers_of_two_below_a_bound():
    top = K.placeholder(())

    def power_of_2(previous, top):
        return previous * 2, K.until(previous * 2 > top)

    values, _ = K.scan(power_of_2, outputs_info=K.constant(1.0), non_sequences=top, n_steps=1024)
    f = K.function([top], [values, values[-1]])
    rows, last = f(45)
    assert rows.tolist() == [2, 4, 8, 16, 32, 64] and last == 64
    assert f(1)[0].tolist() == [2]
    assert f(1e30)[0].shape == (100,)


def test_the_network_of_the_manual():
    u = K.placeholder((None, 1), dtype=F)
    x0, y0 = K.placeholder((3, 2), dtype=F), K.placeholder((2,), dtype=F)
    weights = [K.placeholder((n, 2), dtype=F) for n in (2, 1, 1, 2, 2)]

    def step(u_tm4, u_t, x_tm3, x_tm1, y_tm1, w, w_in_1, w_in_2, w_feedback, w_out):
        x_t = K.tanh(
            K.dot(x_tm1, w) + K.dot(u_t, w_in_1) + K.dot(u_tm4, w_in_2) + K.dot(y_tm1, w_feedback)
        )
        return [x_t, K.dot(x_tm3, w_out)]

    (xs, ys), _ = K.scan(
        step,
        dict(input=u, taps=[-4, 0]),
        [dict(initial=x0, taps=[-3, -1]), y0],
        weights,
        strict=True,
    )
    r = np.random.RandomState(0)
    arrays = [
        np.arange(9.0)[:, None] / 9,
        r.randn(3, 2),
        r.randn(2),
        *(r.randn(n, 2) / 2 for n in (2, 1, 1, 2, 2)),
    ]
    got_x, got_y = K.function([u, x0, y0, *weights], [xs, ys])(*arrays)
    uv, past, y = arrays[0], list(arrays[1]), arrays[2]
    w, w1, w2, wf, wo = arrays[3:]
    assert got_x.shape == (5, 2)
    for t in range(5):
        new = np.tanh(past[-1] @ w + uv[t + 4] @ w1 + uv[t] @ w2 + y @ wf)
        y = past[-3] @ wo
        np.testing.assert_allclose(got_x[t], new)
        np.testing.assert_allclose(got_y[t], y)
        past.append(new)


# --- arguments --------------------------------------------------------------------------------


def test_the_order_of_the_arguments_of_a_step():
    s1, s2, s3 = (K.constant(np.arange(20.0) + 100 * k) for k in (1, 2, 3))
    o1, o3 = K.constant(np.arange(5.0) + 1000), K.constant(2000.0)
    a1, a2 = K.constant(-1.0), K.constant(-2.0)
    seen = []

    def step(*args):
        seen.append(len(args))
        return [args[5] * 0 + 5.0, K.stack(list(args)), args[7] * 0 + 6.0]

    rows, _ = K.scan(
        step,
        [dict(input=s1, taps=[-3, 2, -1]), s2, dict(input=s3, taps=3)],
        [dict(initial=o1, taps=[-3, -5]), dict(initial=K.constant(9.0), taps=None), o3],
        [a1, a2],
    )
    got = K.function([], rows[1])()
    assert seen == [10] and got.shape == (15, 10)
    assert got[0].tolist() == [100, 105, 102, 200, 303, 1002, 1000, 2000, -1, -2]
    assert got[1].tolist() == [101, 106, 103, 201, 304, 1003, 1001, 6, -1, -2]
    assert got[5].tolist()[5:8] == [5, 5, 6]


@pytest.mark.parametrize(
    "taps, length, first",
    [([0], 9, 0), ([-4, 0], 5, 0), ([2], 7, 2), ([-1], 8, 0), ([-2, 3], 4, 0), (3, 6, 3)],
)
def test_taps_shorten_a_sequence(taps, length, first):
    u = vector()
    rows, _ = K.scan(lambda *a: a[0], dict(input=u, taps=taps))
    got = K.function([u], rows)(np.arange(9.0))
    assert got.shape == (length,) and got[0] == first


def test_partial_information():
    x = K.constant(np.arange(3.0))
    plain, _ = K.scan(lambda x_t, h: h + x_t, x, dict(initial=K.constant(1.0)))
    assert K.eval(plain).tolist() == [1, 2, 4]
    for info in (None, [None], [{}], [dict(initial=None)], [dict(taps=None)], []):
        rows, _ = K.scan(lambda x_t: x_t * 2, x, info)
        assert K.eval(rows).tolist() == [0, 2, 4]
    with pytest.raises(ArgumentError, match="describes 1 outputs, but the step returns 2"):
        K.scan(lambda x_t: [x_t, x_t], x, [None])
    with pytest.raises(ArgumentError, match="no 'initial'"):
        K.scan(lambda x_t, h: h, x, [dict(taps=[-1])])


def test_forms_of_what_a_step_returns():
    n, x = K.variable(0.0), K.constant(np.arange(3.0))
    forms = [
        lambda x_t: (x_t + n, {n: n + 1}),
        lambda x_t: ({n: n + 1}, x_t + n),
        lambda x_t: ([x_t + n], [(n, n + 1)]),
        lambda x_t: ([(n, n + 1)], [x_t + n]),
        lambda x_t: (x_t + n, K.update(n, n + 1)),
        lambda x_t: (x_t + n, [K.update_add(n, 1)]),
        lambda x_t: ([x_t + n], {n: n + 1}, K.until(x_t > 100)),
        lambda x_t: (x_t + n, {n: n + 1}, K.until(x_t > 100)),
    ]
    for form in forms:
        rows, updates = K.scan(form, x)
        K.set_value(n, 0.0)
        assert K.function([], rows, updates=updates)().tolist() == [0, 2, 4]
        assert K.get_value(n) == 3
    rows, updates = K.scan(lambda x_t: (x_t, x_t * 2), x)
    assert isinstance(rows, list) and K.eval(rows[1]).tolist() == [0, 2, 4]
    one, _ = K.scan(lambda x_t: [x_t], x, return_list=True)
    assert isinstance(one, list) and len(one) == 1


def test_the_number_of_steps():
    x = vector()
    k = K.placeholder((), dtype="int64")
    rows, _ = K.scan(lambda x_t, h: h + x_t, x, K.constant(0.0, F), n_steps=k)
    f = K.function([x, k], rows)
    assert f(np.arange(5.0), 3).tolist() == [0, 1, 3]
    assert f(np.arange(5.0), 0).shape == (0,)
    with pytest.raises(ShapeError, match="3 rows for 4 steps"):
        f(np.arange(3.0), 4)
    with pytest.raises(ShapeError, match="negative"):
        f(np.arange(3.0), -1)
    none, _ = K.scan(lambda h: K.expand_dims(h[0]) + h, outputs_info=K.ones((3,)), n_steps=0)
    assert K.eval(none).shape == (0, 3)
    with pytest.raises(ShapeError, match="enough for 3 steps; n_steps is 5"):
        K.scan(lambda x_t: x_t, K.ones((3,)), n_steps=5)
    last = K.function([x, k], rows[-1])
    assert last(np.arange(5.0), 0) == 0 and last(np.arange(5.0), 4) == 6


def test_backwards():
    x = K.constant(np.arange(1.0, 5.0))
    rows, _ = K.scan(lambda x_t, h: h + x_t, x, K.constant(0.0), go_backwards=True)
    assert K.eval(rows).tolist() == [4, 7, 9, 10]
    rows, _ = K.scan(lambda x_t: x_t, x, n_steps=2, go_backwards=True)
    assert K.eval(rows).tolist() == [4, 3]
    rows, _ = K.scan(lambda a, b: a * 10 + b, dict(input=x, taps=[0, 1]), go_backwards=True)
    assert K.eval(rows).tolist() == [34, 23, 12]


def test_arrays_numbers_and_lists_are_accepted():
    rows, _ = K.scan(lambda x_t, h, c: h + x_t * c, np.arange(3.0, dtype="float32"), 1.0, 2.0)
    assert K.eval(rows).tolist() == [1, 3, 7]


def test_one_output_for_two_states_is_one_trace():
    x = K.constant(np.arange(3.0))

    def step(x_t, h):
        new = h + x_t
        return [new, new * 1, new]

    (a, b, c), _ = K.scan(step, x, [K.constant(0.0), None, None])
    assert c.node is a.node
    assert K.eval(b).tolist() == [0, 1, 3]


def test_rows_of_tensors_and_scalars_captured_from_outside():
    x, y = K.placeholder((2, 3)), K.placeholder((3,))
    scale = K.exp(y)
    rows, _ = K.scan(lambda r: r * scale + y[0], x)
    got = K.function([x, y], rows)(np.ones((2, 3)), np.zeros(3))
    assert got.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_nested_loops():
    x = K.placeholder((None, None), dtype=F)

    def outer(row, total):
        inner, _ = K.scan(lambda v, h: h * 2 + v + total, row, K.zeros_like(total))
        return inner[-1]

    rows, _ = K.scan(outer, x, K.constant(0.0, F))
    value = np.arange(6.0).reshape(2, 3)
    total, want = 0.0, []
    for row in value:
        h = 0.0
        for v in row:
            h = h * 2 + v + total
        total = h
        want.append(total)
    assert K.function([x], rows)(value).tolist() == want


def test_debug_runs_step_by_step(capfd):
    x = K.constant(np.arange(3.0))
    rows, _ = K.scan(lambda x_t: K.print_tensor(x_t, "row"), x, debug=True)
    f = K.function([], rows, mode="compiled")
    assert f().tolist() == [0, 1, 2]
    assert capfd.readouterr().out.count("row") == 3


# --- errors -----------------------------------------------------------------------------------


X = np.ones((4, 3), "float32")


@pytest.mark.parametrize(
    "make, error, words",
    [
        (
            lambda: K.scan(lambda h: K.concatenate([h, h]), outputs_info=K.ones((3,)), n_steps=2),
            ShapeError,
            r"starts with shape \(3,\) and becomes \(6,\)",
        ),
        (lambda: K.scan(lambda x, h: h + x, X, K.constant(1, dtype="int32")), DTypeError, "cast"),
        (
            lambda: K.scan(lambda x, h: h + x, X, K.constant(1.0)),
            ShapeError,
            r"\(\) and becomes \(3,\)",
        ),
        (lambda: K.scan(lambda x, h: x, X), UsageError, "1 rows of sequences"),
        (lambda: K.scan(lambda: 1.0), ArgumentError, "n_steps"),
        (lambda: K.scan(None, X), UsageError, "step function"),
        (lambda: K.scan(lambda h: h, outputs_info=1.0, n_steps=-1), ArgumentError, "negative"),
        (lambda: K.scan(lambda h: h, outputs_info=1.0, n_steps=2.5), DTypeError, "integer"),
        (
            lambda: K.scan(lambda h: h, outputs_info=1.0, n_steps=K.ones((2,), dtype="int32")),
            ShapeError,
            "scalar",
        ),
        (lambda: K.scan(lambda x: (K.until(x[0] > 0), x), X), ArgumentError, "last thing"),
        (lambda: K.scan(lambda x: (x, K.until(x > 0)), X), ShapeError, "must be a scalar"),
        (lambda: K.scan(lambda x: x, 3.0), ShapeError, "sequence 0 is a scalar"),
        (lambda: K.scan(lambda x: x, dict(taps=[0])), ArgumentError, "without 'input'"),
        (lambda: K.scan(lambda x: x, dict(input=X, tap=[0])), ArgumentError, "no key 'tap'"),
        (lambda: K.scan(lambda x: x, dict(input=X, taps=[0, 0])), ArgumentError, "twice"),
        (lambda: K.scan(lambda x: x, dict(input=X, taps=[0.5])), ArgumentError, "ints"),
        (
            lambda: K.scan(lambda *x: x[0], dict(input=X, taps=[-3, 2])),
            ShapeError,
            "has 4 elements",
        ),
        (
            lambda: K.scan(lambda h: h, outputs_info=dict(initial=1.0, taps=[1]), n_steps=2),
            ArgumentError,
            "negative",
        ),
        (
            lambda: K.scan(
                lambda a, b: a, outputs_info=dict(initial=K.ones((1,)), taps=[-2, -1]), n_steps=2
            ),
            ShapeError,
            "need 2 rows",
        ),
        (
            lambda: K.scan(lambda x: None and x, X, n_steps=2, outputs_info=[None]),
            ArgumentError,
            "returns 0",
        ),
        (lambda: K.scan(lambda x: {"a": 1}, X), DTypeError, "no variable"),
        (lambda: K.scan(lambda x: "text", X), DTypeError, "text"),
        (lambda: K.scan(lambda x: ([x], {}, {}), X), ArgumentError, "outputs, a dict"),
    ],
)
def test_errors_when_a_loop_is_made(make, error, words):
    with pytest.raises(error, match=words) as found:
        make()
    assert "test_scan.py" in str(found.value)


def test_an_error_in_a_step_names_the_step():
    table, x = K.constant(np.arange(3.0)), K.placeholder((None,), dtype="int32")
    rows, _ = K.scan(lambda i: table[i], x, name="look up")
    with pytest.raises(IndexError, match="step 2"):
        K.function([x], rows)(np.array([0, 1, 7], "int32"))


def test_states_that_change_shape_at_run_time():
    x = K.placeholder((None,))
    rows, _ = K.scan(lambda h: K.concatenate([h, h]), outputs_info=x, n_steps=3)
    with pytest.raises(ShapeError, match="keeps its shape|one shape|has shape"):
        K.function([x], rows)(np.ones(2))


def test_the_search_for_nan_goes_into_the_steps():
    x = K.placeholder((None,), dtype=F)
    rows, _ = K.scan(lambda x_t, h: h + K.log(x_t), x, K.constant(0.0, F), name="sum of logs")
    f = K.function([x], rows, check="nan")
    assert np.isfinite(f(np.array([1.0, 2.0]))).all()
    with pytest.raises(ArithmeticError, match="`log` computed 1 inf .*in step 2 of the scan 'sum"):
        f(np.array([1.0, 2.0, 0.0, 1.0]))
