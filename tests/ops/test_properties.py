"""Every op has each rule, or says why not: a new op that forgets one is named here."""

import pytest

import ckernels.autodiff.batch
import ckernels.autodiff.reverse
import ckernels.ops.ctc
import ckernels.ops.sparse
import ckernels.ops.sparseproduct
import ckernels.plan.binder  # noqa: F401
from ckernels.graph.op import PROPERTIES, REGISTRY, having, rules
from ckernels.ops.properties import TABLES, VALUES, WITHOUT

ROOMS = ("ckernels.graph.", "ckernels.ops.", "ckernels.autodiff.")  # schedule has one of its own
DIALECTS = ("ckernels.compat", "ckernels.theano")
OPS = {
    name: op
    for name, op in REGISTRY.items()
    if op.kind != "leaf"
    and op.infer.__module__.startswith(ROOMS)
    and not str(getattr(op.oracle, "__module__", "")).startswith(DIALECTS)
}


def has_rule(op):
    """{transformation: whether the op has a rule for it, or needs none}."""
    return {
        "gradient": op.grad is not None,
        "batch": op.name in rules("batch") or op.kind in ("elementwise", "reduce"),
        "lowering": op.kind != "opaque" or op.name in rules("lowering"),
        "c": op.kind != "elementwise" or op.c is not None,
    }


@pytest.mark.parametrize("transformation", WITHOUT)
def test_every_op_has_a_rule_or_a_reason(transformation):
    reasons = WITHOUT[transformation]
    for name, op in OPS.items():
        known = has_rule(op)[transformation]
        assert known or reasons.get(name), (
            f"{name} has no {transformation} rule; give it one, or say why not in "
            "ckernels/ops/properties.py"
        )
        assert not (known and name in reasons), f"{name} has a {transformation} rule and a reason"


def test_every_op_has_a_meaning():
    for name, op in OPS.items():
        assert op.oracle is not None or op.lower is not None, name
        assert (op.kind == "composite") == (op.lower is not None), name


def test_rules_and_properties_are_of_ops_that_exist():
    for transformation in ("batch", "gradient"):
        names = {n for n in rules(transformation) if not n.startswith("[")}
        assert names <= set(REGISTRY), names - set(REGISTRY)
    assert set(rules("lowering")) <= set(REGISTRY)
    assert set().union(*WITHOUT.values()) <= set(REGISTRY)
    assert {*TABLES, *VALUES} <= set(PROPERTIES)


def test_views_are_views():
    """What loop nests follow by moving indices is a movement, and reshapes keep their elements."""
    for name in (*having("view"), *having("axis_view")):
        assert REGISTRY[name].kind == "movement", name
    assert set(having("reshapes")) <= set(having("view"))


def test_an_op_says_its_own_properties(monkeypatch):
    from ckernels.graph.op import Op

    op = Op(
        "said_by_itself", "opaque", lambda a, x: (x.dtype, x.shape), properties={"effect": True}
    )
    try:
        assert "said_by_itself" in having("effect")
    finally:
        del REGISTRY[op.name], having("effect")[op.name]
