"""Pickles of graphs: functions and variables come back as what they were made from."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import ckernels as K
from ckernels.graph.pickled import Graph, _read
from ckernels.runtime import stored

MODES = ("compiled", "reference", "debug")


def again(x):
    return pickle.loads(pickle.dumps(x))


def digest(f):
    """The digest of a function's graph, in which neither names nor the order of creation count."""
    return stored.describe(f.info.spec.program())[0]


def trainer(mode=None):
    x = K.placeholder((None, 3), name="x")
    w = K.variable(np.ones((3, 2)), name="w")
    loss = K.mean(K.square(K.dot(x, w)))
    updates = [(w, w - 0.1 * K.grad(loss, w))]
    return K.function([x], [loss], updates=updates, name="train", mode=mode), w


@pytest.mark.parametrize("mode", MODES)
def test_a_function_comes_back_with_variables_of_its_own(mode):
    f, w = trainer(mode)
    x = np.arange(6, dtype="float32").reshape(2, 3)
    f(x)
    g, v = again((f, w))
    assert np.array_equal(K.get_value(v), K.get_value(w)) and v.name == "w"
    assert [f(x), f(x)] == [g(x), g(x)]
    assert np.array_equal(K.get_value(v), K.get_value(w))  # f and g moved each its own
    K.set_value(v, np.zeros((3, 2)))
    assert g(x)[0] == 0 and f(x)[0] > 0  # and v is the one g has


def test_copies_share_variables_and_deep_copies_do_not():
    f, w = trainer()
    x = np.ones((1, 3))
    before = K.get_value(w)
    copy.deepcopy(f)(x)
    assert np.array_equal(K.get_value(w), before)
    copy.copy(f)(x)
    assert not np.array_equal(K.get_value(w), before)


def test_bodies_draws_and_own_functions():
    x = K.placeholder((None, 2), name="x")
    states, _ = K.scan(lambda row, h: K.tanh(row + 0.5 * h), x, K.zeros((2,)))
    either = K.ifelse(K.sum(x) > 0, K.exp(x), K.log1p(K.square(x)))
    drawn = K.dropout(x, 0.5, seed=7)
    sinc = K.py_op(np.sinc, [x], x)
    f = K.function([x], [states, either, drawn, sinc, K.grad(K.sum(states), x)])
    a = np.linspace(-1, 2, 8, dtype="float32").reshape(4, 2)
    f(a)  # moves its generator, from where the copy goes on
    g = again(f)
    for one, other in zip(f(a), g(a)):
        np.testing.assert_array_equal(one, other)
    plain = K.function([x], [states, either])
    assert digest(again(plain)) == digest(plain) != digest(K.function([x], [states, states]))


def test_a_variable_whose_default_update_reads_it():
    counter = K.variable(1.0, name="counter")
    counter.default_update = counter * 2
    other = again(counter)
    f = K.function([], other + 0)
    assert [float(f()), float(f())] == [1, 2] and K.get_value(counter) == 1
    assert other.default_update.node.inputs[0] is other.node


def test_leaves_are_shared_in_one_pickle_and_tensors_travel():
    x = K.placeholder((None,), name="x")
    big = K.constant(np.arange(1000.0))
    y, z, twin = again([K.sum(x) * 2, K.sum(x) + K.sum(big), x])
    f = K.function([twin], [y, z])
    assert [float(v) for v in f(np.array([1.0, 2.0]))] == [6, 3 + 499500]


def test_a_long_chain_needs_no_stack():
    x = K.placeholder((), name="x")
    y = x
    for k in range(3000):
        y = y + float(k)
    assert len(pickle.dumps(y)) > 3000
    assert again(y).node.op.name == "add"


def test_sparse_functions():
    sparse = pytest.importorskip("scipy.sparse")
    x = K.placeholder((None, 4), sparse=True, name="x")
    f = K.function([x], K.dot(x, K.variable(np.eye(4)[:, :2])))
    a = sparse.random(5, 4, 0.5, "csr", dtype="float32", random_state=1)
    np.testing.assert_array_equal(again(f)(a), a.toarray()[:, :2])


def test_formats_and_ops_that_are_not_known():
    with pytest.raises(ValueError, match="format 99"):
        _read(99, [], [], [])
    with pytest.raises(ValueError, match="'no_such_op'"):
        _read(1, [], [("no_such_op", [], None, None)], [])
    x = K.placeholder((2,))
    with pytest.raises(ValueError, match="5|shape"):  # inferred anew, so a bad pickle is found
        row = Graph([(x + K.ones((2,))).node]).__reduce__()[1]
        leaves = [row[1][0], K.zeros((5,)).node]
        _read(row[0], leaves, row[2], row[3])


def test_another_process_reads_it(tmp_path):
    f, _ = trainer()
    (tmp_path / "f.pkl").write_bytes(pickle.dumps(f))
    program = (
        "import pickle, sys, numpy as np; f = pickle.load(open(sys.argv[1], 'rb'));"
        "x = np.array([[1, 2, 3]]); f(x); print(f.stats()['built'], f.info.name, float(f(x)[0]))"
    )
    expected = f(np.array([[1, 2, 3]])), float(f(np.array([[1, 2, 3]]))[0])
    out = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "f.pkl"], capture_output=True, text=True
    )
    assert out.stdout.split() == ["0", "train", str(expected[1])], out.stderr
