"""Joins, losses, modes and inputs of functions as Theano's manual has them, beside NumPy."""

import pickle
import runpy
import sys

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano.compile import mode as modes
from ckernels.compat.theano.tensor import nnet
from ckernels.theano.modules import installing

from .test_tensors import called

RNG = np.random.default_rng(17)
M, V = RNG.normal(size=(3, 4)), RNG.normal(size=4)
LABELS = np.array([2, 0, 3])
x, y = T.dmatrix("x"), T.dvector("y")


def softmaxed(a):
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


BESIDE_NUMPY = {
    "join of one": (lambda a: T.join(0, a), lambda a: a, [M]),
    "join of a list": (lambda a: T.join(1, [a, a]), lambda a: np.concatenate([a, a], 1), [M]),
    "stack of old": (lambda a, b: T.stack(a, b), lambda a, b: np.stack([a, b]), [V, V + 1]),
    "stack along the last": (
        lambda a, b: T.stack([a, b], axis=-1),
        lambda a, b: np.stack([a, b], -1),
        [V, V + 1],
    ),
    "lists of lists": (
        lambda a, b: T.stacklists([[a, b], [b, a]]),
        lambda a, b: np.array([[a, b], [b, a]]),
        [V, 2 * V],
    ),
    "0 before rows": (
        lambda a: nnet.nnet.prepend_0_to_each_row(a), lambda a: np.pad(a, ((0, 0), (1, 0))), [M],
    ),
    "1 before rows": (
        lambda a: nnet.nnet.prepend_1_to_each_row(a),
        lambda a: np.pad(a, ((0, 0), (1, 0)), constant_values=1),
        [M],
    ),
    "a number before rows": (
        lambda a, b: nnet.nnet.prepend_scalar_to_each_row(b[0], a),
        lambda a, b: np.column_stack([np.full(3, b[0]), a]),
        [M, V],
    ),
    "softmax written out": (lambda a: nnet.nnet.softmax_graph(a), softmaxed, [M]),
    "the log of it": (lambda a: nnet.logsoftmax(a), lambda a: np.log(softmaxed(a)), [M]),
    "cross-entropy of distributions": (
        lambda p, q: nnet.categorical_crossentropy(p, q),
        lambda p, q: -(q * np.log(p)).sum(1),
        [softmaxed(M), softmaxed(-M)],
    ),
    "cross-entropy of labels": (
        lambda p, t: nnet.categorical_crossentropy(p, t),
        lambda p, t: -np.log(p[np.arange(3), t]),
        [softmaxed(M), LABELS],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDE_NUMPY)
def test_beside_numpy(name):
    build, wanted, arrays = BESIDE_NUMPY[name]
    found, want = called(build, *arrays), np.asarray(wanted(*arrays))
    assert found.shape == want.shape
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-13)


def test_cross_entropies_with_maxima():
    t = T.lvector("t")
    f = theano.function([x, t], nnet.nnet.crossentropy_softmax_max_and_argmax_1hot(x, t))
    g = theano.function(
        [x, y, t], nnet.nnet.crossentropy_softmax_max_and_argmax_1hot_with_bias(x, y, t)
    )
    for found, a in ((f(M, LABELS), M), (g(M, V, LABELS), M + V)):
        p = softmaxed(a)
        want = [-np.log(p[np.arange(3), LABELS]), p, p.max(1), p.argmax(1)]
        for have, w in zip(found, want):
            np.testing.assert_allclose(have, w, rtol=1e-12)


def test_a_confusion_matrix():
    """The example of Theano's manual."""
    a, p = T.vectors("ap")
    f = theano.function([a, p], nnet.confusion_matrix(a, p))
    counts, order = f([0, 1, 2, 1, 0], [0, 0, 2, 1, 2])
    assert counts.tolist() == [[1, 0, 1], [1, 1, 0], [0, 0, 1]] and order.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="pred has 2 dimensions"):
        nnet.confusion_matrix(a, x)


REFUSED = {
    "no tensors": (lambda: T.Join()(0), "no tensors"),
    "an axis too far": (lambda: T.join(3, x, x), "out of bounds"),
    "an axis of floats": (lambda: T.join(0.5, x, x), "Axis must be an integer"),
    "stack of nothing": (lambda: T.stack(), "at least one argument"),
    "stack of unlike": (lambda: T.stack([x, y]), "equally many axes"),
    "a narrow vector": (lambda: T.opt.MakeVector("int8")(y[0]), "cannot hold these"),
    "labels of floats": (lambda: nnet.categorical_crossentropy(x, y), "integers, not float64"),
    "a bias of integers": (
        lambda: nnet.crossentropy_softmax_argmax_1hot_with_bias(x, T.lvector(), T.lvector()),
        "b has to be a vector of floats",
    ),
    "a linker": (lambda: theano.Mode(linker="jit"), "Linker 'jit' is unknown"),
    "an optimizer": (lambda: theano.Mode(optimizer="fastest"), "'fastest' is unknown"),
    "a monitor with a linker": (
        lambda: theano.compile.MonitorMode(linker="py"), "takes no linker",
    ),
    "a mode twice": (lambda: modes.register_mode("FAST_RUN", None), "a mode 'FAST_RUN' already"),
    "a linker twice": (lambda: modes.register_linker("py", None), "a linker 'py' already"),
    "an optimizer twice": (
        lambda: modes.register_optimizer("fast_run", None), "an optimizer 'fast_run' already",
    ),
    "a constant as an input": (lambda: theano.function([T.constant(1.0)], x), "constant"),
    "updates of no kind": (lambda: theano.function([x], x, updates=3), "updates are a dict"),
    "givens twice": (lambda: theano.function([x], y, givens=[(y, x[0]), (y, x[1])]), "twice"),
    "an input of no form": (lambda: theano.function([(3, 4)], x), "has no variable"),
    "an input of too much": (lambda: theano.function([((1, 2, 3, 4), 5)], x), "not understood"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    call, sentence = REFUSED[name]
    with pytest.raises(Exception, match=sentence):
        call()


def test_modes_come_back_and_are_told_apart():
    mode = theano.Mode("cvm", "fast_run")
    assert str(mode) == "Mode(linker = cvm, optimizer = fast_run)" and "linker='cvm'" in repr(mode)
    back = pickle.loads(pickle.dumps(mode.requiring("fast_run")))
    f = theano.function([x], x * 2, mode=back)
    assert f([[1.0]]).tolist() == [[2.0]]
    assert mode.clone(optimizer="None").provided_optimizer == "None"
    seen = []
    watching = theano.compile.MonitorMode(post_func=lambda i, node, fn: seen.append(str(node.op)))
    assert theano.function([x], T.exp(x) + 1, mode=watching)([[0.0]]).tolist() == [[2.0]] and seen
    quiet = pickle.loads(pickle.dumps(theano.compile.MonitorMode()))
    assert quiet.watch() is None and theano.function([x], x + 1, mode=quiet)([[0.0]]) == 1
    with theano.config.change_flags(mode="MonitorMode"):
        assert isinstance(modes.get_default_mode(), theano.compile.MonitorMode)
    assert modes.optdb is theano.compile.optdb


def test_modes_and_linkers_with_names_of_ones_own():
    modes.register_mode("MINE", theano.Mode("py", "fast_compile"))
    modes.register_linker("mine", None)
    try:
        assert theano.function([x], x + 1, mode="MINE")([[1.0]]) == 2
        assert theano.function([x], x + 1, mode=theano.Mode("mine"))([[1.0]]) == 2
    finally:
        del modes.predefined_modes["MINE"]
        modes.LINKERS.discard("mine")


def test_inputs_as_the_tuples_of_old_programs():
    a, b = T.dscalars("ab")
    total = T.dscalar("total")
    f = theano.function([a, (b, 10.0)], a + b)
    assert (f(1.0), f(1.0, 2.0)) == (11.0, 3.0)
    g = theano.function([a, (("weight", b), 10.0)], a * b)
    assert (g(3.0), g(3.0, weight=2.0)) == (30.0, 6.0)
    count = theano.function([a, ((total, total + a), 0.0)], total + a)
    assert [count(2.0), count(3.0), count(4.0)] == [2.0, 5.0, 9.0]
    named = theano.function([("first", a), ("second", b, 4.0)], a - b)
    assert (named(6.0), named(first=6.0, second=1.0)) == (2.0, 5.0)
    assert theano.function([(a,)], a + 1)(1.0) == 2.0


def test_numbers_for_givens_updates_and_outputs():
    a, s = T.dscalar("a"), theano.shared(3.0)
    f = theano.function([a], [a + 1, 7, np.ones(2)], updates={s: 5.0})
    found = f(1.0)
    assert [np.asarray(v).tolist() for v in found] == [2.0, 7, [1.0, 1.0]] and s.get_value() == 5
    g = theano.function([], a * 2, givens={a: 4.0})
    assert g() == 8.0
    column = theano.shared(np.ones((3, 1)), broadcastable=(False, True))
    with pytest.raises(TypeError, match="type"):
        theano.function([x], [], updates={column: x})


def test_values_by_name():
    a, s = T.dscalar("a"), theano.shared(2.0, name="s")
    f = theano.function([theano.In(a, value=4.0)], a * s, name="f")
    assert "a" in f and "nothing" not in f and f["a"] == 4.0
    f["a"] = 5.0
    assert f() == 10.0 and f.value["a"] == 5.0
    for key in ("nothing", T.dscalar()):
        with pytest.raises(KeyError):
            f[key]
        with pytest.raises(KeyError):
            f[key] = 3.0


def test_the_runner_of_programs(tmp_path, monkeypatch, capsys):
    """python -m ckernels.theano: programs that are not to be edited."""
    program = tmp_path / "old.py"
    program.write_text(
        "import sys\nimport theano\nx = theano.tensor.dscalar()\n"
        "print(theano.function([x], x ** 2)(float(sys.argv[1])), sys.argv[0])\n"
    )
    monkeypatch.setattr(sys, "argv", ["python"])
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    try:
        assert installing.main([]) == 2 and installing.main(["-h"]) == 0
        assert "usage: python -m ckernels.theano program.py" in "".join(capsys.readouterr())
        assert not installing.main([str(program), "3"])
        assert capsys.readouterr().out == f"9.0 {program}\n"
        assert not installing.main(["-m", "old", "4"])
        assert capsys.readouterr().out.startswith("16.0 ")
        assert installing.main(["-m"]) == 2
        monkeypatch.setattr(sys, "argv", ["ckernels.theano", "--help"])
        with pytest.raises(SystemExit):
            runpy.run_module("ckernels.theano", run_name="__main__")
    finally:
        installing.uninstall()


def test_another_theano_is_not_replaced(monkeypatch):
    monkeypatch.setitem(sys.modules, "theano", pytest)
    with pytest.raises(RuntimeError, match="imported already, from .*pytest"):
        installing.install()
