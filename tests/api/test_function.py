"""K.function: the Theano manual's state semantics with its numbers, Keras's calls, refusals."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import CKernelsWarning


def scalars(*names, dtype="float64"):
    return [K.placeholder(shape=(), dtype=dtype, name=n) for n in names]


# --- calls ------------------------------------------------------------------------------------


def test_manual_addition():
    x, y = scalars("x", "y")
    f = K.function([x, y], x + y)
    assert f(2, 3) == 5.0 and f(2, 3).shape == ()
    np.testing.assert_allclose(f(16.3, 12.1), 28.4)
    np.testing.assert_allclose((x + y).eval({x: 16.3, y: 12.1}), 28.4)


def test_manual_matrices_from_lists():
    x, y = (K.placeholder(ndim=2, dtype="float64") for _ in "xy")
    f = K.function([x, y], x + y)
    np.testing.assert_array_equal(f([[1, 2], [3, 4]], [[10, 20], [30, 40]]), [[11, 22], [33, 44]])


def test_manual_logistic():
    x = K.placeholder(ndim=2, dtype="float64")
    data = [[0, 1], [-1, -2]]
    expected = [[0.5, 0.73105858], [0.26894142, 0.11920292]]
    np.testing.assert_allclose(K.function([x], 1 / (1 + K.exp(-x)))([data]), expected, rtol=1e-7)
    np.testing.assert_allclose(
        K.function([x], (1 + K.tanh(x / 2)) / 2)([data]), expected, rtol=1e-7
    )


def test_manual_several_outputs():
    a, b = (K.placeholder(ndim=2, dtype="float64") for _ in "ab")
    f = K.function([a, b], [a - b, abs(a - b), (a - b) ** 2])
    got = f([[1, 1], [1, 1]], [[0, 1], [2, 3]])
    assert isinstance(got, list)
    for one, expected in zip(got, ([[1, 0], [-1, -2]], [[1, 0], [1, 2]], [[1, 0], [1, 4]])):
        np.testing.assert_array_equal(one, expected)


def test_manual_defaults():
    x, y, w = scalars("x", "y", "w")
    f = K.function([x, K.In(y, value=1)], x + y)
    assert f(33) == 34 and f(33, 2) == 35
    f = K.function([x, K.In(y, value=1), K.In(w, value=2, name="w_by_name")], (x + y) * w)
    assert f(33) == 68
    assert f(33, 2) == 70
    assert f(33, 0, 1) == 33
    assert f(33, w_by_name=1) == 34
    assert f(33, w_by_name=1, y=0) == 33
    with pytest.raises(TypeError):
        f(33, w=1)
    with pytest.raises(ValueError, match="put inputs with a default last"):
        K.function([K.In(x, value=1), y], x + y)


def test_call_forms():
    x, y = (K.placeholder(ndim=1, name=n) for n in "xy")
    f = K.function([x, y], [x + y])
    a, b = np.float32([1, 2]), np.float32([10, 20])
    for got in (f(a, b), f([a, b]), f((a, b)), f(x=a, y=b), f(a, y=b)):
        np.testing.assert_array_equal(got[0], [11, 22])
    assert f.inputs and f.stats()["nodes"] >= 3
    for wrong in (lambda: f(a), lambda: f(a, b, b), lambda: f(a, z=b), lambda: f(a, b, y=b)):
        with pytest.raises(TypeError):
            wrong()


def test_outputs_follow_what_was_asked():
    x = K.placeholder(ndim=1)
    assert K.function([x], [])([[1.0]]) == []
    assert K.function([x], None)([[1.0]]) == []
    assert isinstance(K.function([x], x * 2)([[1.0, 2.0]]), np.ndarray)
    assert isinstance(K.function([x], (x * 2,))([np.float32([1.0, 2.0])]), list)
    np.testing.assert_array_equal(K.function([x], K.Out(x, borrow=True))([[3.0]]), [3.0])


def test_result_is_never_the_argument():
    x = K.placeholder(ndim=1)
    a = np.ones(3, "float32")
    result = K.function([x], x)(a)
    result[0] = 5
    assert a[0] == 1


def test_any_tensor_may_be_an_input():
    x = K.placeholder(ndim=1)
    h = K.exp(x)
    f = K.function([h], h + 1)
    np.testing.assert_array_equal(f(np.float32([1, 2])), [2, 3])


def test_renaming_a_tensor_renames_its_keyword():
    x = K.placeholder(ndim=0)
    x.name = "late"
    assert K.function([x], x * 2)(late=3) == 6


# --- state ------------------------------------------------------------------------------------


def test_manual_accumulator():
    state = K.shared(0)
    assert state.dtype == "int64" and state.get_value().shape == ()
    inc = K.placeholder(ndim=0, dtype="int32", name="inc")
    accumulator = K.function([inc], state, updates=[(state, state + inc)])
    decrementor = K.function([inc], state, updates=((state, state - inc),))
    assert accumulator(1) == 0 and state.get_value() == 1
    assert accumulator(300) == 1 and state.get_value() == 301
    state.set_value(-1)
    assert accumulator(3) == -1 and state.get_value() == 2
    assert decrementor(2) == 2 and state.get_value() == 0


def test_manual_givens():
    state, inc = K.shared(0), K.placeholder(ndim=0, dtype="int32", name="inc")
    fn_of_state = state * 2 + inc
    foo = K.placeholder(ndim=0, dtype=state.dtype, name="foo")
    for givens in ([(state, foo)], {state: foo}, ((state, foo),), [[state, foo]]):
        skip_shared = K.function([inc, foo], fn_of_state, givens=givens)
        assert skip_shared(1, 3) == 7 and state.get_value() == 0


def test_manual_copy_swap():
    state, inc = K.shared(0), K.placeholder(ndim=0, dtype="int32")
    accumulator = K.function([inc], state, updates=[(state, state + inc)])
    accumulator(10)
    assert state.get_value() == 10
    new_state = K.shared(0)
    new_accumulator = accumulator.copy(swap={state: new_state})
    assert new_accumulator(100) == 0
    assert new_state.get_value() == 100 and state.get_value() == 10
    null_accumulator = accumulator.copy(delete_updates=True)
    assert null_accumulator(9000) == 10 and state.get_value() == 10


def test_outputs_see_the_old_values_of_all_updates():
    a, b = K.shared(1.0), K.shared(10.0)
    f = K.function([], [a, b], updates=[(a, b), (b, a)])
    assert [float(v) for v in f()] == [1, 10]
    assert a.get_value() == 10 and b.get_value() == 1


def test_update_forms():
    v = K.variable([1.0, 2.0])
    for updates in (
        [K.update(v, v + 1)],
        K.update_add(v, 1),
        [K.update_add(v, 1.0)],
        {v: v + 1},
        [[v, v + 1]],
        [K.update_sub(v, -1)],
    ):
        v.set_value([1, 2])
        K.function([], [], updates=updates)()
        np.testing.assert_array_equal(v.get_value(), [2, 3])
    v.set_value([1, 2])
    K.function([], [], updates=[K.moving_average_update(v, np.float32([3, 4]), 0.75)])()
    np.testing.assert_allclose(v.get_value(), [1.5, 2.5])
    K.function([], [], updates=[(v, [7, 8])])()
    np.testing.assert_array_equal(v.get_value(), [7, 8])


def test_givens_replace_any_node_in_no_order():
    x, y = scalars("x", "y")
    f = K.function([x, y], x * 10 + y, givens={x: y, y: x})
    assert f(1, 2) == 21
    c = K.constant(3.0, dtype="float64")
    e = x + c
    assert K.function([x], e * 2, givens=[(c, 5.0)])(1) == 12
    assert K.function([y], e * 2, givens=[(e, y)])(4) == 8
    assert K.function([x], e * 2)(1) == 8


def test_givens_feed_batches():
    data = K.shared(np.arange(12.0).reshape(6, 2))
    x = K.placeholder(ndim=2, dtype="float64")
    i = K.placeholder(ndim=0, dtype="int64")
    f = K.function([i], K.sum(x), givens={x: data[i * 2 : (i + 1) * 2]})
    assert [float(f(k)) for k in range(3)] == [6, 22, 38]


def test_default_updates():
    count = K.shared(0)
    count.default_update = count + 1
    assert isinstance(count.default_update, K.Tensor)
    f = K.function([], count * 10)
    assert [int(f()) for _ in range(3)] == [0, 10, 20] and count.get_value() == 3
    for none in (True, [count]):
        K.function([], count, no_default_updates=none)()
    assert count.get_value() == 3
    K.function([], count, updates=[(count, count - 3)])()
    assert count.get_value() == 0
    count.default_update = None
    K.function([], count)()
    assert count.get_value() == 0


def test_default_updates_of_default_updates():
    a, b = K.shared(0), K.shared(5)
    a.default_update, b.default_update = a + b, b + 1
    f = K.function([], a)
    f(), f()
    assert a.get_value() == 11 and b.get_value() == 7


def test_failed_call_changes_nothing():
    v, x = K.shared(np.zeros(3)), K.placeholder(ndim=1, dtype="float64")
    f = K.function([x], [], updates=[(v, v + x)])
    with pytest.raises(ValueError):
        f(np.ones(4))
    np.testing.assert_array_equal(v.get_value(), [0, 0, 0])


def test_shared_sizes_may_change():
    v = K.shared(np.zeros((0, 2), "float32"))
    row = K.placeholder(shape=(None, 2))
    f = K.function([row], [], updates=[(v, K.concatenate([v, row], axis=0))])
    for k in range(3):
        f(np.full((1, 2), k, "float32"))
    np.testing.assert_array_equal(v.get_value(), [[0, 0], [1, 1], [2, 2]])


# --- learning phase -----------------------------------------------------------------------------


def test_learning_phase_is_zero_unless_given():
    x = K.placeholder(shape=(None,))
    y = K.in_train_phase(x * 2, x)
    assert y._uses_learning_phase
    ones = np.ones(2, "float32")
    np.testing.assert_array_equal(K.function([x], y)(ones), [1, 1])
    f = K.function([x, K.learning_phase()], [y])
    np.testing.assert_array_equal(f([ones, 1.0])[0], [2, 2])
    np.testing.assert_array_equal(f([ones, 0])[0], [1, 1])
    np.testing.assert_array_equal(f([ones, True])[0], [2, 2])
    np.testing.assert_array_equal(f(ones)[0], [1, 1])
    test = K.in_test_phase(x * 2, x)
    np.testing.assert_array_equal(K.function([x], test)(ones), [2, 2])


def test_learning_phase_fixed_or_chosen():
    x = K.placeholder(shape=(None,))
    K.set_learning_phase(1)
    assert K.in_train_phase(lambda: x, None) is x
    assert K.in_train_phase(1, 2, training=False) == 2
    K.clear_session()
    flag = K.placeholder(ndim=0, dtype="int32")
    y = K.in_train_phase(lambda: x * 3, x, training=flag)
    assert not getattr(y, "_uses_learning_phase", False)
    np.testing.assert_array_equal(K.function([x, flag], y)(np.ones(1, "float32"), 1), [3])


# --- refusals -----------------------------------------------------------------------------------


def test_refused_inputs():
    x, v = K.placeholder(ndim=1, name="x"), K.variable([1.0], name="v")
    for inputs, error, words in (
        (x, TypeError, "list"),
        ([None], TypeError, "must be a tensor"),
        ([1.0], TypeError, "tensor"),
        ([v], TypeError, "variable v"),
        ([K.constant(1.0)], TypeError, "constant"),
        ([x, x], ValueError, "same tensor"),
        ([[x]], TypeError, "must be a tensor"),
    ):
        with pytest.raises(error, match=words):
            K.function(inputs, x + 1)


def test_refused_outputs():
    x = K.placeholder(ndim=1)
    for outputs in (3, [x, "a"], [None], np.ones(2), [[x]]):
        with pytest.raises(TypeError, match="must be a tensor"):
            K.function([x], outputs)


def test_refused_updates():
    x, v = K.placeholder(ndim=1), K.variable([1.0, 2.0], name="v")
    n = K.shared(np.arange(3), name="n")
    for updates, error, words in (
        ([(x, x)], TypeError, "variable"),
        ([v], TypeError, "pair"),
        (v, TypeError, "list of pairs"),
        ([(v, v), (v, v + 1)], ValueError, "twice"),
        ([(v, K.ones((3,)))], ValueError, r"\(3,\).*\(2,\)"),
        ([(v, K.ones((2, 1)))], ValueError, r"\(2, 1\)"),
        ([(n, n * 1.5)], TypeError, "float.*int64"),
        ([(v, None)], TypeError, "None"),
        ([(v, v, v)], TypeError, "pair"),
    ):
        with pytest.raises(error, match=words):
            K.function([x], x, updates=updates)


def test_refused_givens():
    x, y = K.placeholder(ndim=1, name="x"), K.placeholder(ndim=2)
    d = K.placeholder(ndim=1, dtype="float64")
    for givens, error, words in (
        ({x: y}, ValueError, r"stands for shape"),
        ({x: d}, TypeError, "float64.*float32"),
        ([(3, x)], TypeError, "tensor"),
        (5, TypeError, "list of pairs"),
    ):
        with pytest.raises(error, match=words):
            K.function([x, y, d], x + 1, givens=givens)


def test_missing_input_is_named_with_its_line():
    x, forgotten = K.placeholder(ndim=1, name="x"), K.placeholder(ndim=1, name="forgotten")
    with pytest.raises(ValueError, match=r"(?s)forgotten.*inputs \(x\).*test_function\.py:\d+"):
        K.function([x], x + forgotten)
    unnamed = K.placeholder((3,))
    with pytest.raises(
        ValueError, match=r"inputs \(<Tensor mul float32 \(3,\)>, computed at .*:\d+\)"
    ):
        K.function([unnamed * 2], unnamed)


def test_unused_inputs():
    x, y = K.placeholder(ndim=1, name="x"), K.placeholder(ndim=1, name="y")
    K.function([x, y], x + 1)
    with pytest.warns(CKernelsWarning, match="y"):
        K.function([x, y], x + 1, on_unused_input="warn")
    with pytest.raises(ValueError, match="y"):
        K.function([x, y], x + 1, on_unused_input="raise")
    with pytest.raises(ValueError, match="perhaps"):
        K.function([x, y], x + 1, on_unused_input="perhaps")


def test_unknown_options():
    x = K.placeholder(ndim=1)
    with pytest.raises(ValueError, match="feed_dict"):
        K.function([x], x, feed_dict={})


# --- arguments ----------------------------------------------------------------------------------


def test_weird_arguments_compute():
    x = K.placeholder(ndim=2)
    f = K.function([x], x * 2 + 1)
    base = np.arange(12, dtype="float32").reshape(3, 4)
    frozen = base.copy()
    frozen.setflags(write=False)
    raw = np.zeros(49, "uint8")
    unaligned = raw[1:].view("float32").reshape(3, 4)
    unaligned[...] = base
    for a in (
        base,
        frozen,
        base[:, ::-1],
        base[::-1],
        base.T,
        base.astype(">f4"),
        unaligned,
        np.asfortranarray(base),
        base.astype("float64"),
        base.astype("int32"),
        base[:0],
        base[:, :0],
        base.tolist(),
        np.broadcast_to(base[0], (3, 4)),
        base.astype("float16"),
    ):
        before = np.array(a)
        np.testing.assert_array_equal(f([a]), np.asarray(a, "float32") * 2 + 1)
        np.testing.assert_array_equal(a, before)


def test_weird_arguments_are_refused():
    x = K.placeholder(ndim=2, name="x")
    f = K.function([x], x * 2)
    for a, error in (
        (None, TypeError),
        ([[1, 2], [3]], ValueError),
        (np.array([[None]]), TypeError),
        ("text", TypeError),
        (np.ones(3), ValueError),
        (np.ones((2, 2, 2)), ValueError),
        (np.ones((2, 2), "complex64"), TypeError),
        (x, TypeError),
    ):
        with pytest.raises(error, match="x"):
            f([a])


def test_options_that_are_misspelt_and_methods_that_are_elsewhere():
    x = K.placeholder((3,))
    with pytest.raises(
        K.errors.ArgumentError, match=r"'updtes'; did you mean `updates`\? it knows"
    ):
        K.function([x], [x], updtes=[])
    with pytest.raises(TypeError, match=r"no option 'statics'; did you mean `static`\? it knows"):
        K.jit(statics="n")
    with pytest.raises(AttributeError, match=r"no attribute 'export'; K\.export\(f, folder\)"):
        K.function([x], x).export  # noqa: B018
