"""Ops and rules for them: each is declared once, and says where."""

import _thread
import queue

import pytest

from ckernels.graph.op import REGISTRY, RULES, Op, register_rule, register_rules, rules


def test_an_op_has_one_rule_for_a_transformation(monkeypatch):
    monkeypatch.setitem(RULES, "turned inside out", {})
    register_rule("turned inside out", "add", "sub")(len)
    register_rules("turned inside out", {"mul": max})
    assert rules("turned inside out") == {"add": len, "sub": len, "mul": max}
    for again in (
        lambda: register_rule("turned inside out", "sub")(min),
        lambda: register_rules("turned inside out", {"neg": min, "mul": min}),
    ):
        with pytest.raises(AssertionError, match="has two rules for turned inside out"):
            again()
    assert rules("turned inside out")["sub"] is len


def test_rules_are_only_read(monkeypatch):
    """A table that anybody could write to passes by the check of `register_rule`."""
    monkeypatch.setitem(RULES, "turned inside out", {"add": len})
    table = rules("turned inside out")
    assert table["add"] is len and not hasattr(table, "update")
    with pytest.raises(TypeError):
        table["add"] = None


def test_an_op_is_declared_once_and_knows_where():
    with pytest.raises(AssertionError, match="op add is declared twice"):
        Op("add", "opaque", None)
    assert REGISTRY["scan"].home == "ckernels.ops.scan"
    try:
        assert Op("of_a_test", "opaque", None).home == __name__
        del REGISTRY["of_a_test"]
        # a thread of the package's own: no frame below it is another's
        names, found = {"__name__": "ckernels.of_a_thread", "Op": Op}, queue.Queue()
        exec("def declare(put): put(Op('of_a_test', 'opaque', None).home)", names)
        _thread.start_new_thread(names["declare"], (found.put,))
        assert found.get(timeout=60) == "ckernels.of_a_thread"
    finally:
        del REGISTRY["of_a_test"]
