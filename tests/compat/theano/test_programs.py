"""Programs of the manual, and installing: `import theano` in a process of its own."""

import importlib.util
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano.sandbox.rng_mrg import MRG_RandomStreams
from ckernels.compat.theano.tensor.shared_randomstreams import RandomStreams

PROGRAM = """
import sys
import theano
import theano.tensor as T
from theano.tensor.nnet.abstract_conv import get_conv_output_shape
from theano.tensor.signal import pool
from theano.gof import Op
x = T.matrix("x")
f = theano.function([x], T.nnet.softmax(x))
assert theano.config.floatX == "float32" and f([[1, 1]]).tolist() == [[0.5, 0.5]]
assert isinstance(x, T.TensorVariable) and x.broadcastable == (False, False)
try:
    T.no_such_name
except AttributeError as problem:
    assert "Theano 1.0" in str(problem)
print("ran", sys.argv[1])
"""


def test_a_program_runs_as_it_is(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    env = {
        **os.environ,
        "THEANO_FLAGS": "floatX=float32,scan.debug=True",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-m", "ckernels.theano", str(program), "argument"],
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "ran argument\n", done.stderr


def test_logistic_regression():
    rng = np.random.RandomState(0)
    data = rng.randn(100, 30), rng.randint(size=100, low=0, high=2)
    data[0][:, 0] += 4 * data[1]
    x, y = T.dmatrix("x"), T.dvector("y")
    w, b = theano.shared(rng.randn(30) * 20, "w"), theano.shared(0.0, name="b")
    p = 1 / (1 + T.exp(-T.dot(x, w) - b))
    xent = -y * T.log(p) - (1 - y) * T.log(1 - p)
    cost = xent.mean() + 0.01 * (w**2).sum()
    gw, gb = T.grad(cost, [w, b])
    train = theano.function([x, y], [p > 0.5, xent], updates=((w, w - gw), (b, b - gb)))
    first = train(*data)[1]
    for _ in range(200):
        predicted, last = train(*data)
    assert np.isfinite(first).all() and last.mean() < first.mean()
    assert (predicted == data[1]).mean() > 0.7


def test_scans_of_the_manual():
    k, a = T.iscalar("k"), T.vector("a")
    result, updates = theano.scan(
        lambda prior, a: prior * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=k
    )
    power = theano.function([a, k], result[-1], updates=updates)
    np.testing.assert_array_equal(power(range(10), 2), np.arange(10.0) ** 2)
    c, x = T.vector("c"), T.scalar("x")
    terms, _ = theano.scan(
        lambda c, n, x: c * x**n, outputs_info=None, sequences=[c, T.arange(10000)], non_sequences=x
    )
    assert float(theano.function([c, x], terms.sum())([1, 0, 2], 3)) == 19
    state = theano.shared(np.float64(1))
    _, updates = theano.scan(lambda: {state: state * 2}, n_steps=5)
    theano.function([], [], updates=updates)()
    assert float(state.get_value()) == 32
    powers, _ = theano.scan(
        lambda p, m: (p * 2, theano.scan_module.until(p * 2 > m)),
        outputs_info=T.constant(1.0),
        non_sequences=x,
        n_steps=1024,
    )
    np.testing.assert_array_equal(powers.eval({x: 45.0}), [2, 4, 8, 16, 32, 64])


def test_random_numbers_of_the_manual():
    """The numbers printed there, for the seeds 123 and 987, and after the states were copied."""
    streams = RandomStreams(123), RandomStreams(987)
    f, g = (theano.function([], s.uniform(size=(1,))) for s in streams)
    np.testing.assert_allclose([f()[0], g()[0]], [0.72803009, 0.55056769], atol=1e-8)
    for (a, _), (b, _) in zip(streams[0].state_updates, streams[1].state_updates):
        b.set_value(a.get_value())
    np.testing.assert_allclose([f()[0], g()[0]], [0.59044123] * 2, atol=1e-8)
    u = streams[0].normal((2, 2))
    assert not theano.function([], u + u - 2 * u)().any()
    same = theano.function([], u, no_default_updates=True)
    np.testing.assert_array_equal(same(), same())


def test_mrg_streams_are_those_of_k():
    import ckernels as K

    own = MRG_RandomStreams(12345).uniform((2,)).eval()
    np.testing.assert_array_equal(own, K.RandomStreams(12345).uniform((2,), dtype="float64").eval())
    z = MRG_RandomStreams(1).truncated_normal((200,)).eval()
    assert 2 < abs(z).max() < 2.28 and 0.9 < z.std() < 1.1


def test_debugprint_and_pp():
    x = T.dmatrix("x")
    y = T.tanh(x.dot(x)) + 1
    assert theano.printing.debugprint(y, file="str") == (
        "Elemwise{add,no_inplace} [id A] ''   \n"
        " |Elemwise{tanh,no_inplace} [id B] ''   \n"
        " | |dot [id C] ''   \n"
        " |   |x [id D]\n"
        " |   |x [id D]\n"
        " |InplaceDimShuffle{x,x} [id E] ''   \n"
        "   |TensorConstant{1} [id F]\n"
    )
    assert theano.pp(x * 2 + 1) == "((x * TensorConstant{2}) + TensorConstant{1})"
    assert theano.pp(x > 2) == "gt(x, TensorConstant{2})"


def test_operands_of_lower_rank_are_shown_with_axes_in_front():
    x, b = T.dmatrix("x"), T.dvector("b")
    y = x + b
    row = y.owner.inputs[1]
    assert y.owner.inputs[0] is x and row.broadcastable == (True, False)
    assert isinstance(row.owner.op, T.DimShuffle) and row.owner.op.new_order == ("x", 0)
    assert row.owner.inputs == [b] and str(row) == "InplaceDimShuffle{x,0}.0"
    two = (x * 2.0).owner.inputs[1]
    assert two.owner.inputs[0].data == 2 and theano.gof.graph.inputs([x * b]) == [x, b]
    f = theano.function([x, b], [*theano.grad(y.sum(), [b, row]), theano.clone(y, {b: b * 10})])
    by_b, by_row, other = f(np.ones((2, 3)), [1, 2, 3])
    assert by_b.tolist() == [2, 2, 2] and by_row.tolist() == [[2, 2, 2]]
    assert other.tolist() == [[11, 21, 31]] * 2
    inner = theano.function([row], y, givens={x: np.zeros((2, 3))})
    assert inner([[1, 2, 3]]).tolist() == [[1, 2, 3]] * 2
    assert pickle.loads(pickle.dumps(y)).owner.inputs[1].owner.op == row.owner.op


KERAS = """
import collections, collections.abc
for name in ("Iterable", "Mapping", "Sequence", "Callable", "Hashable", "MutableMapping"):
    setattr(collections, name, getattr(collections.abc, name))  # Keras 2.2 is older than 3.10
import ckernels.compat.theano as theano
theano.install()
import numpy as np
import pytest
from keras import backend
from keras.layers import BatchNormalization, Conv2D, Dense, Dropout, Flatten, MaxPooling2D
from keras.models import Sequential
assert backend.backend() == "theano"
np.random.seed(0)
x, labels = np.zeros((60, 8, 8, 1), "float32"), np.arange(60) % 2
x[labels == 0, 1:3, 2:6], x[labels == 1, 5:7, 2:6] = 1, 1
x += 0.1 * np.random.randn(*x.shape)
image = [Conv2D(3, 3, padding="same", activation="relu", input_shape=(8, 8, 1)), MaxPooling2D(),
         Flatten(), Dense(2, activation="softmax")]
flat = [Flatten(input_shape=(8, 8, 1)), Dense(8, activation="relu"), BatchNormalization(),
        Dropout(0.1), Dense(2, activation="softmax")]
for layers in image, flat:
    model = Sequential(layers)
    model.compile("adam", "categorical_crossentropy")
    found = model.fit(x, np.eye(2)[labels], epochs=25, batch_size=20, verbose=0).history["loss"]
    assert found[-1] < 0.8 * found[0], found
print("trained")
"""


def test_installing_twice_is_installing_once():
    program = (
        "import ckernels.compat.theano as t; t.install(); t.install()\n"
        "from ckernels.compat.theano import install; install()\n"
        "import theano, theano.tensor as T; assert theano is t\n"
        "t.install(); print(theano.function([], T.constant(3))())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "3", done.stderr


@pytest.mark.slow
def test_keras_trains_on_its_own_theano_backend(tmp_path):
    if importlib.util.find_spec("keras") is None:
        pytest.skip("keras is not installed")
    environment = {**os.environ, "KERAS_BACKEND": "theano", "KERAS_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KERAS],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "trained", done.stderr


def test_draws_are_made_of_the_variables_they_are_given():
    """Sizes and parameters of MRG_RandomStreams stand in the graph as written."""

    streams = MRG_RandomStreams(1)
    x, p = T.dmatrix("x"), T.dvector("p")
    inner = T.tanh(x)
    draws = (
        streams.uniform((inner.shape[0], 2)),
        streams.normal(inner.shape, avg=p.sum()),
        streams.binomial(inner.shape, p=p.mean()),
        streams.multinomial(pvals=inner, n=2),
        streams.choice(size=2, p=inner),
        streams.truncated_normal((inner.shape[0] * 2, 3)),
    )
    leaves = [theano.gof.graph.inputs([draw]) for draw in draws]
    assert [x in found for found in leaves] == [True] * 6
    assert [p in found for found in leaves] == [False, True, True, False, False, False]
    assert all(inner in theano.gof.graph.ancestors([draw]) for draw in draws)
    f = theano.function([inner], inner * streams.binomial(inner.shape, dtype="float64"))
    mask = f(np.ones((30, 40)))
    assert set(np.unique(mask)) == {0, 1} and abs(mask.mean() - 0.5) < 0.1
    mask = f.maker.fgraph.outputs[0]  # the graph of the function is whole
    assert f.maker.fgraph.inputs[0] in theano.gof.graph.inputs([mask])
