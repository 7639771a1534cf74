"""Rewrites of users: local and global ones, patterns, the database, and functions that use them."""

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano import gof
from ckernels.compat.theano.compile import optdb
from ckernels.compat.theano.gof.opt import OpRemove, OpSub, PatternSub, in2out
from ckernels.compat.theano.scalar import add, float64, mul, true_div


def text(graph, rewrite):
    rewrite.optimize(graph)
    return str(graph)


def quotient():
    x, y, z = float64("x"), float64("y"), float64("z")
    out = add(z, mul(true_div(mul(y, x), y), true_div(z, x)))
    return gof.FunctionGraph([x, y, z], [out])


def test_patterns():
    divided = PatternSub((true_div, (mul, "a", "b"), "a"), "b")
    assert text(quotient(), gof.TopoOptimizer(divided)) == "[add(z, mul(x, true_div(z, x)))]"
    other = PatternSub((true_div, (mul, "a", "b"), "b"), "a")  # the factors are the other way
    assert text(quotient(), gof.TopoOptimizer(other)) == str(quotient())
    assert "true_div" not in text(quotient(), gof.TopoOptimizer(OpSub(true_div, mul)))
    x = T.dvector("x")
    copied = gof.FunctionGraph([x], [T.exp(T.tensor_copy(x))])
    assert "exp" in text(copied, in2out(OpRemove(T.tensor_copy)))
    assert len(copied.toposort()) == 1


def test_constraints_and_constants_in_patterns():
    x, y = float64("x"), float64("y")
    squared = PatternSub(
        (mul, {"pattern": "a", "constraint": lambda v: v.name == "x"}, 2), (add, "a", "a")
    )
    for v, done in ((x, True), (y, False)):
        graph = gof.FunctionGraph([v], [mul(v, 2)])
        assert (text(graph, gof.TopoOptimizer(squared)) == f"[add({v}, {v})]") is done
    assert "mul" in text(gof.FunctionGraph([x], [mul(x, 3)]), gof.TopoOptimizer(squared))


def test_merging_makes_equal_computations_one():
    x, y, z = float64("x"), float64("y"), float64("z")
    graph = gof.FunctionGraph([x, y, z], [true_div(mul(add(y, z), x), add(y, z))])
    found = gof.MergeOptimizer().optimize(graph)
    assert found[0] == 0 and found[5] == 1
    assert str(graph) == "[true_div(mul(*1 -> add(y, z), x), *1)]"
    graph.check_integrity()


def test_equilibrium_stops_two_rewrites_that_undo_each_other(capsys):
    there, back = OpSub(add, mul), OpSub(mul, add)
    x = float64("x")
    graph = gof.FunctionGraph([x], [add(x, x)])
    gof.EquilibriumOptimizer([there, back], max_use_ratio=5).optimize(graph)
    assert "max_use_ratio" in capsys.readouterr().err and len(graph.toposort()) == 1
    done = gof.FunctionGraph([x], [add(add(x, x), x)])
    gof.EquilibriumOptimizer([there], max_use_ratio=5).optimize(done)
    assert str(done) == "[mul(mul(x, x), x)]"


def test_features_follow_and_can_undo():
    x, y = float64("x"), float64("y")
    graph = gof.FunctionGraph([x, y], [add(mul(x, y), y)])
    graph.attach_feature(gof.ReplaceValidate())
    graph.attach_feature(gof.NodeFinder())
    assert len(graph.get_nodes(mul)) == 1
    before, product = graph.checkpoint(), graph.outputs[0].owner.inputs[0]
    graph.replace_validate(product, graph.inputs[0])
    assert str(graph) == "[add(x, y)]" and not graph.get_nodes(mul)
    graph.revert(before)
    assert str(graph) == "[add(mul(x, y), y)]" and len(graph.get_nodes(mul)) == 1

    class Refuses(gof.Feature):
        def validate(self, fgraph):
            if not fgraph.get_nodes(mul):
                raise gof.InconsistencyError("a product is needed")

    graph.attach_feature(Refuses())
    with pytest.raises(gof.InconsistencyError):
        graph.replace_validate(graph.outputs[0].owner.inputs[0], graph.inputs[0])
    assert str(graph) == "[add(mul(x, y), y)]"
    with pytest.raises(TypeError):
        graph.replace(graph.inputs[0], T.fmatrix())


class Doubled(theano.Op):
    """x * 2, that says how often it ran."""

    __props__, runs = (), 0

    def make_node(self, x):
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, storage):
        Doubled.runs += 1
        storage[0][0] = inputs[0] * 2


@T.opt.register_specialize("doubling")
@gof.local_optimizer([Doubled])
def local_doubled_is_a_sum(node):
    return [node.inputs[0] + node.inputs[0]]


def test_a_registered_rewrite_runs_in_functions_and_can_be_left_out():
    x, s = T.dvector("x"), theano.shared(np.array([1.0, 1.0]), name="s")
    y = T.dvector("y")
    Doubled.runs = 0
    f = theano.function([x], Doubled()(y) + s, givens={y: x * 3}, updates=[(s, Doubled()(s))])
    assert f([1.0, 2.0]).tolist() == [7, 13] and s.get_value().tolist() == [2, 2]
    assert Doubled.runs == 0 and all(
        not isinstance(n.op, Doubled) for n in f.maker.fgraph.toposort()
    )
    mode = theano.compile.get_default_mode()
    for without in (
        mode.excluding("local_doubled_is_a_sum"),
        mode.excluding("doubling"),
        theano.Mode("cvm", None),
    ):
        Doubled.runs = 0
        assert theano.function([x], Doubled()(x), mode=without)([1.0, 2.0]).tolist() == [2, 4]
        assert Doubled.runs == 1


def test_queries_by_tag_and_an_optimizer_as_the_mode():
    asked = gof.Query(include=["fast_run"])
    assert "local_doubled_is_a_sum" in str(optdb.query(asked)[0].local_optimizers)
    assert not optdb.query(asked.excluding("doubling"))
    x = T.dvector("x")
    swapped = theano.Mode("cvm", gof.TopoOptimizer(OpSub(T.exp, T.sin)))
    assert theano.function([x], T.exp(x), mode=swapped)([0.0]).tolist() == [0.0]
    assert theano.function([x], T.exp(x))([0.0]).tolist() == [1.0]
    more = theano.compile.get_default_mode().register((in2out(OpSub(T.exp, T.cos)), 1.5))
    assert theano.function([x], T.exp(x), mode=more)([np.pi]).tolist() == [-1.0]


def test_what_rewrites_get_wrong_is_said():
    def wrong(node):
        return 3

    x = float64("x")
    with pytest.raises(TypeError, match="gave 3"):
        gof.TopoOptimizer(gof.local_optimizer(None)(wrong)).optimize(
            gof.FunctionGraph([x], [add(x, x)])
        )
    with pytest.raises(ValueError, match="The name"):
        optdb.register("specialize", gof.SeqOptimizer(), 9)


def test_groups_take_the_first_that_applies_or_all_in_turn():
    """Of add -> mul and mul -> true_div: one step, or both of them at one node."""
    first, second = OpSub(add, mul), OpSub(mul, true_div)
    x, y = float64("x"), float64("y")
    for group, want in (
        (gof.opt.LocalOptGroup(first, second), "[mul(x, y)]"),
        (gof.opt.LocalOptGroup([second, first]), "[mul(x, y)]"),
        (gof.opt.LocalOptGroup(first, second, apply_all_opts=True), "[true_div(x, y)]"),
        (gof.opt.LocalOptGroup(second, first, apply_all_opts=True), "[mul(x, y)]"),
    ):
        assert group.tracks() in ([add, mul], [mul, add])
        graph = gof.FunctionGraph([x, y], [add(x, y)])
        found = group.transform(graph.toposort()[0])
        graph.replace_all(list(zip(graph.outputs, found)))
        assert str(graph) == want
    every = gof.local_optimizer(None)(lambda node: False)
    assert gof.opt.LocalOptGroup(first, every).tracks() is None
    assert str(first) == f"{add} -> {mul}" and str(OpRemove(add)) == f"{add}(x) -> x"
    with pytest.raises(ValueError, match="2 inputs and 1 outputs"):
        OpRemove(add).transform(add(x, y).owner)
    with pytest.raises(ValueError, match="at least one op"):
        gof.local_optimizer([])(lambda node: False)
    with pytest.raises(TypeError, match="without get_nodes"):
        PatternSub((add, "a", "b"), "a", tracks=[add])
