"""Modes and linkers: each switch of NanGuardMode, what MonitorMode shows, functions of a graph."""

import pickle

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.base.errors import NonFiniteError
from ckernels.compat.theano import gof
from ckernels.compat.theano.compile import MonitorMode, NanGuardMode, detect_nan

X = T.dvector("x")


def guarded(value, *switches):
    return theano.function([X], T.log(X) * 2, mode=NanGuardMode(*switches))(np.array(value))


def test_each_switch_of_nanguard():
    cases = {"NaN": [-1.0, 1.0], "Inf": [0.0, 1.0]}
    for word, value in cases.items():
        switches = [word == "NaN", word == "Inf", False]
        with pytest.raises(AssertionError, match=f"{word} detected.*log"):
            guarded(value, *switches)
        others = [not switches[0], not switches[1], False]
        np.testing.assert_array_equal(np.isfinite(guarded(value, *others)), [False, True])
    big = theano.function([X], X * 1e6, mode=NanGuardMode(False, False, True))
    with pytest.raises(NonFiniteError, match="Big value"):
        big([1.0, -1e5])
    assert big([1e3]).tolist() == [1e9]
    assert theano.function([X], X * 1e6, mode=NanGuardMode(True, True, False))([1e5]) == [1e11]
    with pytest.raises(AssertionError):
        NanGuardMode(False, False, False)


def test_nanguard_looks_at_inputs_and_before_updates():
    with pytest.raises(AssertionError, match="an input of the graph.*the input x"):
        guarded([np.nan])
    state = theano.shared(1.0)
    f = theano.function([], [], updates=[(state, state / 0.0)], mode="NanGuardMode")
    with pytest.raises(AssertionError, match="Inf"):
        f()
    assert state.get_value() == 1
    with theano.change_flags(**{"NanGuardMode.action": "warn"}):
        with pytest.warns(UserWarning, match="Inf"):
            f()
    assert np.isinf(state.get_value())
    mode = pickle.loads(pickle.dumps(NanGuardMode(True, False, True)))
    assert (mode.nan_is_error, mode.inf_is_error, mode.big_is_error) == (True, False, True)


def test_monitors_see_each_node_in_order():
    seen = []

    def before(i, node, fn):
        assert fn.outputs == [[None]]
        seen.append(("before", i, str(node.op), [cell[0].tolist() for cell in fn.inputs]))

    def after(i, node, fn):
        seen.append(("after", i, str(node.op), fn.outputs[0][0].tolist()))

    state = theano.shared(np.zeros(2), "state")
    f = theano.function(
        [X], T.exp(X), updates=[(state, state + X)], mode=MonitorMode(before, after)
    )
    np.testing.assert_allclose(f([0.0, 1.0]), np.exp([0, 1]))
    assert state.get_value().tolist() == [0, 1]
    assert [(when, i) for when, i, *_ in seen] == [
        ("before", 0),
        ("after", 0),
        ("before", 1),
        ("after", 1),
    ]
    assert seen[0][2:] == ("exp", [[0.0, 1.0]]) and seen[3][3] == [0.0, 1.0]
    theano.function([X], X * 2, mode=MonitorMode(post_func=detect_nan))([1.0])


def test_a_monitor_finds_where_nan_begins(capsys):
    f = theano.function([X], T.log(X) * X, mode=MonitorMode(post_func=detect_nan))
    assert np.isnan(f([-1.0])).all()
    shown = capsys.readouterr().out
    assert shown.index("*** NaN detected ***") < shown.index("log") and "-1." in shown


def test_monitors_of_loops_and_choices():
    k, names = T.iscalar("k"), []
    rows, updates = theano.scan(lambda a: a * 2, outputs_info=T.ones_like(X), n_steps=k)
    y = theano.ifelse.ifelse(T.gt(k, 2), rows[-1], T.log(-X))
    f = theano.function(
        [X, k], y, updates=updates, mode=MonitorMode(lambda i, node, fn: names.append(str(node.op)))
    )
    assert f([1.0], 3).tolist() == [8.0]
    assert "for{cpu,scan_fn}" in names and "log" not in names


@pytest.mark.parametrize(
    "linker",
    [gof.PerformLinker, gof.CLinker, gof.OpWiseCLinker, gof.VM_Linker, gof.DualLinker],
)
def test_linkers_give_functions_of_a_graph(linker):
    x, y = T.dmatrix("x"), T.drow("y")
    graph = gof.FunctionGraph([x, y], [x * y, (x - y).sum()])
    a, b = np.arange(6.0).reshape(2, 3), np.ones((1, 3))
    product, total = linker().accept(graph).make_function()(a, b)
    np.testing.assert_array_equal(product, a * b)
    assert total == (a - b).sum()
    one = gof.FunctionGraph([x], [x.sum()])
    made = linker()
    assert made.accept(graph) is made and made.accept(one) is not made
    assert made.accept(one).make_function()(a) == 15
    assert made.accept(one).make_function(unpack_single=False)(a) == [15]
    with pytest.raises(TypeError, match="broadcastable|declared"):
        made.make_function()(a, a)
    if linker is not gof.DualLinker:
        assert theano.function([x], x.sum(), mode=theano.Mode(linker=linker()))(a) == 15


def test_thunks_of_linkers():
    x = T.dvector("x")
    out = [None]
    linker = gof.PerformLinker().accept(gof.FunctionGraph([x], [T.exp(x)]))
    thunk, (given,), (got,) = linker.make_thunk(output_storage=[out])
    given.value = [0.0, 1.0]
    thunk()
    np.testing.assert_allclose(out[0], np.exp([0.0, 1.0]))
    assert got.value is out[0]
    with pytest.raises(ValueError):
        given.value = "no"
    with pytest.raises(ValueError, match="accept"):
        gof.CLinker().make_function()


def test_linkers_overwrite_and_compare():
    x = T.dvector("x")
    added = T.Elemwise(theano.scalar.Add(theano.scalar.transfer_type(0)), {0: 0})(x, 1)
    a = np.zeros(2)
    gof.CLinker().accept(gof.FunctionGraph([x], [added])).make_function()(a)
    assert a.tolist() == [1, 1]

    class Drifts(theano.Op):
        __props__, calls = (), 0

        def make_node(self, x):
            return theano.gof.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, storage):
            Drifts.calls += 1
            storage[0][0] = inputs[0] + Drifts.calls

    graph = gof.FunctionGraph([x], [Drifts()(x)])
    with pytest.raises(Exception, match="differ"):
        gof.DualLinker().accept(graph).make_function()(a)
    seen = []
    gof.DualLinker(lambda p, q: seen.append(p - q)).accept(graph).make_function()(a)
    assert np.ravel(seen).tolist() == [-1, -1]


def test_a_wrapper_computes_each_node():
    seen = []

    def wrapper(i, node, fn):
        before = [o[0] for o in fn.outputs]
        fn()
        seen.append((i, str(node.op), before, [o[0].tolist() for o in fn.outputs]))

    linker = gof.WrapLinker([gof.OpWiseCLinker()], wrapper)
    f = theano.function([X], T.exp(X) * 2.0, mode=theano.Mode(linker, "fast_run"))
    assert f([0.0]).tolist() == [2.0]
    assert sum("exp" in op for _, op, _, _ in seen) == 1 and [2.0] in seen[-1][-1]
    assert all(before == [None] for _, _, before, _ in seen)
    assert [i for i, *_ in seen] == sorted(i for i, *_ in seen)


def test_several_wrappers_and_errors_of_them():
    def negative(i, node, fn):
        if any(v[0].min() < 0 for v in fn.inputs):
            raise FloatingPointError("negative")

    many = gof.WrapLinkerMany([gof.PerformLinker()], [negative, lambda i, node, fn: fn()])
    f = theano.function([X], T.sqrt(X + 1.0), mode=theano.Mode(many))
    assert f([3.0]).tolist() == [2.0]
    with pytest.raises(FloatingPointError, match="negative"):
        f([-5.0])
    graph = gof.FunctionGraph([X], [X * 2.0])
    assert many.accept(graph).make_function()([1.0]).tolist() == [2.0]
    thunk, inputs, outputs = many.clone().accept(graph).make_thunk()
    inputs[0].value = [4.0]
    thunk()
    assert outputs[0].value.tolist() == [8.0]


def test_a_graph_that_was_changed_by_hand_is_what_a_function_computes():
    x, y, z = T.dscalars("xyz")
    a = x + y
    graph = gof.FunctionGraph([x, y, z], [a * z], clone=False)
    assert theano.function([x, y, z], graph.outputs)(2, 5, 3) == [21]
    graph.replace(a, x)
    assert theano.function([x, z], graph.outputs)(2, 3) == [6]
    graph.change_input(graph.outputs[0].owner, 1, y)
    assert theano.function([x, y], graph.outputs[0])(2, 5) == 10


def test_the_names_of_optimizers_stand_for_queries():
    from ckernels.compat.theano.compile import optdb
    from ckernels.compat.theano.compile.mode import predefined_optimizers

    assert predefined_optimizers["fast_run"].include >= {"fast_run"}
    assert optdb.query(predefined_optimizers["o1"]) is not None
    with pytest.raises(KeyError):
        predefined_optimizers["no such name"]
