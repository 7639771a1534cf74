"""What watches a FunctionGraph and gives it methods, navigators, and databases of rewrites."""

import io

import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano import gof
from ckernels.compat.theano.gof import opt, optdb, toolbox
from ckernels.compat.theano.gof.opt import OpRemove, OpSub, PatternSub
from ckernels.compat.theano.scalar import add, float64, mul, sub, true_div


def graph(make=lambda x, y: true_div(mul(add(x, y), x), add(x, y))):
    x, y = float64("x"), float64("y")
    return gof.FunctionGraph([x, y], [make(x, y)])


def names(g):
    return [str(node.op) for node in g.toposort()]


def test_nodes_are_found_by_their_op_while_the_graph_changes():
    g = graph()
    finder = toolbox.NodeFinder()
    g.attach_feature(finder)
    assert [n.op for n in g.get_nodes(add)] == [add, add] and g.get_nodes(sub) == []
    g.replace(g.get_nodes(mul)[0].outputs[0], g.inputs[1])
    assert g.get_nodes(mul) == [] and len(g.get_nodes(add)) == 1
    with pytest.raises(TypeError, match="cannot be looked up"):
        g.get_nodes([])
    with pytest.raises(Exception, match="watches another graph already"):
        finder.on_attach(graph())
    g.attach_feature(toolbox.NodeFinder())  # a second one is refused quietly
    assert sum(isinstance(f, toolbox.NodeFinder) for f in g._features) == 1
    g.remove_feature(finder)
    assert not hasattr(g, "get_nodes") and finder.found == {}


def test_a_history_goes_back_and_a_validator_asks_all_features():
    g = graph()
    history, validator = toolbox.History(), toolbox.Validator()
    g.attach_feature(history)
    g.attach_feature(validator)
    before, mark = str(g), g.checkpoint()
    g.replace(g.outputs[0].owner.inputs[0], g.inputs[0])
    assert str(g) == "[true_div(x, add(x, y))]" and g.consistent()
    g.revert(mark)
    assert str(g) == before

    class Never(toolbox.Feature):
        def validate(self, fgraph):
            raise gof.InconsistencyError("never")

    g.attach_feature(Never())
    assert not g.consistent()
    with pytest.raises(gof.InconsistencyError, match="never"):
        g.validate()
    g.remove_feature(history)
    g.remove_feature(validator)
    assert not any(hasattr(g, n) for n in ("checkpoint", "revert", "validate", "consistent"))


def test_what_was_to_be_removed_and_stays_is_undone(capsys):
    g = graph()
    feature = toolbox.ReplaceValidate()
    g.attach_feature(feature)
    before, quotient = str(g), g.outputs[0].owner
    with pytest.raises(toolbox.ReplacementDidntRemovedError):
        g.replace_all_validate_remove(
            [(quotient.inputs[0], g.inputs[0])], remove=[quotient], reason="a rewrite"
        )
    assert str(g) == before and "a rewrite left nodes" in capsys.readouterr().err
    product = quotient.inputs[0].owner
    g.replace_all_validate_remove([(quotient.inputs[0], g.inputs[0])], remove=[product])
    assert names(g) == ["add", "true_div"]
    g.remove_feature(feature)
    assert not any(hasattr(g, n) for n in toolbox.ReplaceValidate.pickle_rm_attr)


def test_a_listener_prints_each_change(capsys):
    g = graph(add)
    listener = toolbox.PrintListener()
    g.attach_feature(listener)
    g.replace(g.outputs[0], mul(*g.inputs))
    g.remove_feature(listener)
    said = capsys.readouterr().out
    for words in (
        "-- attaching to:",
        "-- importing:",
        "-- pruning:",
        "-- changing",
        "-- detaching",
    ):
        assert words in said, words
    g.attach_feature(toolbox.PrintListener(active=False))
    assert capsys.readouterr().out == ""


def test_names_and_marks_go_on_to_what_replaces_a_variable():
    """The mark goes wherever none stands, made by an op or not, as in Theano."""
    for feature, marked in ((toolbox.PreserveNames(), False),
                            (toolbox.PreserveVariableAttributes(), True)):  # fmt: skip
        for keeps in (False, True):
            g = graph(lambda x, y: mul(add(x, y), y))
            g.attach_feature(feature)
            old, new = g.outputs[0].owner.inputs[0], sub(*g.inputs)
            old.name, old.tag.nan_guard_mode_check = "total", "old"
            if keeps:
                new.name, new.tag.nan_guard_mode_check = "own", "new"
            g.replace(old, new)
            assert new.name == ("own" if keeps else "total")
            mark = getattr(new.tag, "nan_guard_mode_check", None)
            assert mark == ("new" if keeps else "old" if marked else None)


def test_outputs_of_ops_in_place_are_objected_to():
    class InPlace(theano.Op):
        destroy_map = {0: [0]}

        def make_node(self, x):
            return theano.gof.Apply(self, [x], [x.type()])

    x = T.dvector("x")
    g = gof.FunctionGraph([x], [InPlace()(T.exp(x))], clone=False)
    with pytest.raises(gof.InconsistencyError, match="works in place"):
        toolbox.NoOutputFromInplace().validate(g)
    toolbox.NoOutputFromInplace().validate(gof.FunctionGraph([x], [T.exp(x)]))


# ---- navigators ---------------------------------------------------------------------------------


def test_a_rewrite_with_an_op_key_is_applied_to_the_nodes_of_its_op():
    g = graph()
    opt.OpKeyOptimizer(OpSub(add, mul)).optimize(g)
    assert names(g).count("mul") == 3 and "add" not in names(g)
    doubled = graph(lambda x, y: add(add(x, x), y))
    opt.OpKeyOptimizer(PatternSub((add, "a", "b"), (sub, "a", "b"))).optimize(doubled)
    assert str(doubled) == "[sub(sub(x, x), y)]"
    with pytest.raises(TypeError, match="op_key"):
        opt.OpKeyOptimizer(gof.local_optimizer(None)(lambda node: False))


def test_each_order_sees_all_nodes_and_new_ones_where_asked():
    seen = []

    @gof.local_optimizer(None)
    def look(node):
        seen.append(str(node.op))

    for order, want in (("in_to_out", ["add", "mul"]), ("out_to_in", ["mul", "add"])):
        seen.clear()
        opt.TopoOptimizer(look, order).optimize(graph(lambda x, y: mul(add(x, y), x)))
        assert seen == want
    with pytest.raises(ValueError, match="'out_to_in' or 'in_to_out'"):
        opt.TopoOptimizer(look, "sideways")
    chain = [OpSub(add, sub), OpSub(sub, mul)]
    for made, want in ((opt.in2out(*chain), "mul"), (opt.out2in(*chain, name="both"), "mul"),
                       (opt.in2out(*chain, ignore_newtrees=True), "sub")):  # fmt: skip
        g = graph(add)
        made.optimize(g)
        assert names(g) == [want]
    assert str(opt.out2in(*chain, name="both")) == "both"
    assert str(opt.in2out(chain[0])) == str(chain[0])


def test_a_rewrite_that_fails_is_handled_as_its_callback_says(capsys):
    @gof.local_optimizer([add])
    def broken(node):
        if node.op == add:
            raise ZeroDivisionError("broken here")

    with pytest.raises(ZeroDivisionError):
        opt.TopoOptimizer(broken).optimize(graph())
    g, told = graph(), []
    callback = lambda problem, nav, pairs, local, node: told.append((str(problem), node.op))  # noqa: E731
    opt.TopoOptimizer(broken, failure_callback=callback).optimize(g)
    assert told == [("broken here", add)] * 2
    callback = opt.TopoOptimizer.warn
    for action, raises, says in (("raise", True, False), ("warn", False, True),
                                 ("ignore", False, False)):  # fmt: skip
        with theano.configparser.change_flags(on_opt_error=action):
            rewrite = opt.TopoOptimizer(broken, failure_callback=callback)
            if raises:
                with pytest.raises(ZeroDivisionError):
                    rewrite.optimize(graph())
            else:
                rewrite.optimize(graph())
            assert ("broken here" in capsys.readouterr().err) == says
    opt.TopoOptimizer(broken, failure_callback=opt.TopoOptimizer.warn_ignore).optimize(graph())
    assert capsys.readouterr().err == ""
    opt.TopoOptimizer.warn_inplace(gof.InconsistencyError(), None, [], broken, None)


def test_a_dict_says_what_is_replaced_and_what_must_go():
    def rewrite(result):
        return opt.TopoOptimizer(
            gof.local_optimizer([mul])(lambda node: node.op == mul and result(node))
        )

    g = graph(lambda x, y: mul(add(x, y), x))
    rewrite(lambda node: {node.inputs[0]: node.inputs[1]}).optimize(g)
    assert str(g) == "[mul(x, x)]"
    g = graph(lambda x, y: mul(add(x, y), x))
    product = g.outputs[0].owner
    rewrite(lambda node: {node.out: sub(*node.inputs), "remove": [product]}).optimize(g)
    assert str(g) == "[sub(add(x, y), x)]"
    with pytest.raises(ValueError, match="2 variables for the 1 outputs"):
        rewrite(lambda node: [node.inputs[0]] * 2).optimize(graph())
    with pytest.raises(ValueError, match="None for an output"):
        rewrite(lambda node: [None]).optimize(graph())


def test_equilibrium_has_global_final_and_cleanup_rewrites():
    order = []

    @gof.optimizer
    def everywhere(fgraph):
        order.append("global")

    @gof.optimizer
    def at_last(fgraph):
        order.append("final")

    @gof.optimizer
    def after_each(fgraph):
        order.append("cleanup")

    g = graph(lambda x, y: add(x, y))
    whole = opt.EquilibriumOptimizer(
        [OpSub(add, mul), everywhere], max_use_ratio=10, final_optimizers=[at_last],
        cleanup_optimizers=[after_each],
    )  # fmt: skip
    _, used, _ = whole.optimize(g)
    assert names(g) == ["mul"] and list(used.values()) == [1]
    assert order == ["global", "cleanup", "global", "cleanup", "final"]
    assert whole.get_local_optimizers() == whole.local_optimizers
    with pytest.raises(AssertionError, match="max_use_ratio"):
        opt.EquilibriumOptimizer([])


def test_sequences_run_in_order_and_say_what_failed(capsys):
    ran = []

    @gof.optimizer
    def first(fgraph):
        ran.append("first")

    @gof.optimizer
    def fails(fgraph):
        raise ZeroDivisionError("in the middle")

    @gof.inplace_optimizer
    def last(fgraph):
        ran.append("last")

    assert str(first) == "first"
    with pytest.raises(ZeroDivisionError):
        opt.SeqOptimizer(first, fails, last).optimize(graph())
    told = lambda problem, sequence, one: ran.append(str(problem))  # noqa: E731
    sequence = opt.SeqOptimizer([first, fails, last], failure_callback=told)
    sequence.optimize(graph())
    assert ran == ["first", "first", "in the middle", "last"]
    assert str(sequence).startswith("SeqOpt([")
    with theano.configparser.change_flags(on_opt_error="warn"):
        opt.SeqOptimizer(fails, failure_callback=opt.SeqOptimizer.warn)(graph())
    assert "in the middle" in capsys.readouterr().err
    with theano.configparser.change_flags(on_opt_error="raise"):
        with pytest.raises(ZeroDivisionError):
            opt.SeqOptimizer(fails, failure_callback=opt.SeqOptimizer.warn)(graph())

    @gof.optimizer
    def asserts(fgraph):
        raise AssertionError("a bug")

    with pytest.raises(AssertionError):  # which is never swallowed
        opt.SeqOptimizer(asserts, failure_callback=told).optimize(graph())
    stream = io.StringIO()
    opt.SeqOptimizer(first).print_summary(stream)
    OpSub(add, mul).print_summary(stream)
    assert "first" in stream.getvalue() and "OpSub" in stream.getvalue()
    with pytest.raises(TypeError, match="FunctionGraph is rewritten"):
        first.optimize([])


def test_constants_are_merged_before_a_graph_is_one():
    x = T.dvector("x")
    y = T.exp(x + T.constant([2.0, 3.0])) * T.constant([2.0, 3.0])
    (merged,) = opt.pre_constant_merge([y])
    inner = merged.owner.inputs[0].owner.inputs[0].owner.inputs[1]
    assert merged.owner.inputs[1] is inner
    found, seen = opt.pre_greedy_local_optimizer([OpSub(T.exp, T.sin)], T.log(T.exp(x)))
    assert [n.op for n in (found.owner, found.owner.inputs[0].owner)] == [T.log, T.sin]
    assert len(seen) == 2
    assert opt.merge_dict({"a": 1, "b": 2}, {"b": 3}) == {"a": 1, "b": 5}
    assert [opt.merge_none_number(*p) for p in ((None, 2), (2, None), (1, 2))] == [2, 2, 3]
    assert opt.is_same_graph_with_merge(x + 1, x + 1)
    z = T.dvector("z")
    assert not opt.is_same_graph_with_merge(x + 1, z + 1)
    assert opt.is_same_graph_with_merge(x + 1, z + 1, givens={x: z})


def test_patterns_skip_identities_and_build_by_functions():
    x, y = T.dvectors("x", "y")

    def copies(v):
        return v.owner.inputs[0] if v.owner and v.owner.op == T.tensor_copy else None

    for skip, done in ((copies, True), (None, False)):
        pattern = PatternSub((T.sub, "a", "a"), lambda found: T.zeros_like(found["a"]),
                             skip_identities_fn=skip, name="nothing left")  # fmt: skip
        g = gof.FunctionGraph([x], [T.tensor_copy(x) - x])
        opt.TopoOptimizer(pattern).optimize(g)
        assert (T.sub not in [n.op for n in g.toposort()]) is done
    assert str(pattern) == "nothing left"
    shown = PatternSub((T.sub, {"pattern": "a", "constraint": None}, 2), (T.add, "a", 1))
    assert str(shown) == f"{T.sub}(a subject to None, 2) -> {T.add}(a, 1)"
    shared = PatternSub((T.log, (T.exp, "a")), "a")
    for more, done in ((False, False), (True, True)):
        shared.allow_multiple_clients = more
        e = T.exp(x)
        g = gof.FunctionGraph([x], [T.log(e), e])
        opt.TopoOptimizer(shared).optimize(g)
        assert (T.log not in [n.op for n in g.toposort()]) is done
    only = PatternSub((T.add, x, "b"), "b")
    for given, done in (([x, y], True), ([y, x], False)):
        g = gof.FunctionGraph([x, y], [T.add(*given)], clone=False)
        assert bool(only.transform(g.toposort()[0])) is done
    at_clients = PatternSub(
        (T.log, (T.exp, "a")), "a", tracks=[T.exp],
        get_nodes=lambda node: [c[0] for c in node.outputs[0].clients] if node.op == T.exp else [],
    )  # fmt: skip
    g = gof.FunctionGraph([x], [T.log(T.exp(x)) * 2])
    opt.TopoOptimizer(at_clients).optimize(g)
    assert [n.op for n in g.toposort()] == [T.mul] or "log" not in str(g)
    assert at_clients.tracks() == [T.exp] and at_clients.op_key() == T.log
    for wrong in (3, "a"):
        with pytest.raises(TypeError, match="begins with an op"):
            PatternSub(wrong, "a")


def test_traces_are_copied():
    x = T.dvector("x")
    a, b, c = T.exp(x), T.log(x), T.sin(x)
    a.tag.trace, b.tag.trace, c.tag.trace = ["a"], ["b"], []
    assert opt.copy_stack_trace([a, b], c) is c and c.tag.trace == ["a", "b"]
    with opt.inherit_stack_trace(a) as context:
        assert context is not None
    f = theano.function([x], T.exp(x) * 2)
    for asked in ("last", "all", T.exp, type(T.exp), [T.exp, T.mul], lambda node: node.op == T.exp):
        assert opt.check_stack_trace(f, asked) and opt.check_stack_trace(f.maker.fgraph, asked)
    bare = gof.FunctionGraph([x], [T.exp(x)], clone=False)
    node = bare.toposort()[0]
    for thing in (node, *node.outputs):
        thing.tag.trace = []
    assert not opt.check_stack_trace(bare) and opt.check_stack_trace(bare, T.log, "ignore")
    with pytest.raises(Exception, match="in the graph"):
        opt.check_stack_trace(bare, T.log)
    with pytest.warns(UserWarning, match="in the graph"):
        opt.check_stack_trace(bare, T.log, "warn")
    for wrong in ({"ops_to_check": "first"}, {"ops_to_check": 3}, {"bug_print": "shout"}):
        with pytest.raises(ValueError, match="'raise'|'last'"):
            opt.check_stack_trace(bare, **wrong)


def test_a_group_gives_each_rewrite_the_nodes_of_its_ops():
    seen = []

    @gof.local_optimizer([mul])
    def products(node):
        seen.append(node.op)

    @gof.local_optimizer([type(mul)])
    def scalars(node):
        seen.append("scalar")

    every = gof.local_optimizer(None)(lambda node: seen.append("every"))
    group = opt.LocalOptGroup(products, scalars, every)
    opt.TopoOptimizer(group).optimize(graph(lambda x, y: mul(add(x, y), y)))
    assert seen == ["every", mul, "scalar", "every"]


# ---- databases ----------------------------------------------------------------------------------


def test_a_database_is_asked_by_names_and_tags():
    db = optdb.DB()
    one, two = OpSub(add, mul), OpRemove(add)
    db.register("one", one, "early", "both")
    db.register("two", two, "late", "both")
    assert db.query("+both") == [one, two] and db.query("both", "-late") == [one]
    assert db.query("both", "&late") == [two] and db.query("neither") == []
    assert db["early"] is one and "early" in db and "neither" not in db
    db.remove_tags("one", "both")
    assert db.query("both") == [two] and "two" not in str(db.query("one"))
    db.add_tags("one", "both")
    for error, words, wrong in (
        (KeyError, "nothing", lambda: db["neither"]),
        (ValueError, "2 rewrites have the tag", lambda: db["both"]),
        (KeyError, "no rewrite is called", lambda: db.add_tags("three", "x")),
        (ValueError, "name of a rewrite", lambda: db.add_tags("one", "two")),
        (ValueError, "name of a rewrite", lambda: db.remove_tags("one", "two")),
        (ValueError, "is taken", lambda: db.register("one", two)),
        (TypeError, "neither", lambda: db.register("three", 3)),
        (TypeError, "does not take", lambda: db.register("three", OpRemove(mul), place=1)),
        (TypeError, "tags are strings", lambda: db.query("")),
    ):
        with pytest.raises(error, match=words):
            wrong()
    stream = io.StringIO()
    db.print_summary(stream)
    assert "['one', 'two']" in stream.getvalue()
    asked = optdb.Query(["both"]).requiring("late")
    assert db.query(asked) == [two] and "late" in str(asked)


def test_sequences_of_a_database_are_in_the_order_of_positions():
    db = optdb.SequenceDB()
    makes = [OpSub(add, mul), OpSub(mul, sub), OpSub(sub, true_div)]
    rewrites = [opt.TopoOptimizer(m) for m in makes]
    for name, one, position in zip("cab", rewrites, (3, 1, "last")):
        db.register(name, one, position, "all")
    assert list(db.query("all")) == [rewrites[1], rewrites[0], rewrites[2]]
    assert str(db) == "SequenceDB([(1, 'a'), (3, 'c'), (4, 'b')])"
    assert list(db.query("all", position_cutoff=4)) == [rewrites[1], rewrites[0]]
    more = optdb.Query(["all"], position_cutoff=4).register((rewrites[2], 2))
    assert list(db.query(more)) == [rewrites[1], rewrites[2], rewrites[0]]
    with pytest.raises(TypeError, match="a position is a number"):
        db.register("d", OpRemove(add), "first")


def test_groups_walks_and_second_names_of_databases():
    group = optdb.LocalGroupDB()
    first, second = OpSub(add, mul), OpSub(add, sub)
    group.register("first", first, "x")
    group.register("second", second, "x", position=-1)
    assert list(group.query("x").opts) == [second, first] and group.query("y") is None
    for db in (optdb.TopoDB(group), optdb.ProxyDB(optdb.TopoDB(group))):
        g = graph(add)
        db.query("x").optimize(g)
        assert names(g) == ["sub"] and db.query("y") is None

    class Own(opt.LocalOptGroup):
        pass

    kind = optdb.LocalGroupDB(apply_all_opts=True, local_opt=Own)
    kind.register("one", OpSub(add, mul), "x")
    assert type(kind.query("x")) is Own and kind.query("x").apply_all_opts
    with pytest.raises(TypeError, match="stands for a database"):
        optdb.ProxyDB([])
    both = optdb.EquilibriumDB()
    with pytest.raises(ValueError, match="exclude each other"):
        both.register("one", OpRemove(add), final_opt=True, cleanup=True)
    both.register("last", OpSub(mul, sub), "x", final_opt=True)
    both.register("one", OpSub(add, mul), "x")
    g = graph(add)
    both.query("x").optimize(g)
    assert names(g) == ["sub"] and both.query("y") is None
