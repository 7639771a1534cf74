"""Expressions written with E are those written as text."""

import numpy as np
import pytest

from ckernels.compat.numexpr import E, NumExpr, evaluate
from ckernels.compat.numexpr.expressions import ConstantNode, functions, node_of, program_of

NAMES = {"a": np.array([1.0, -2, 0.5]), "b": np.array([2.0, 3, -1])}


@pytest.mark.parametrize(
    "node,text",
    [
        ((E.a + 2.0 * E.b) / (1 + E.a + 4 * E.b * E.b), "(a + 2.0 * b) / (1 + a + 4 * b * b)"),
        (-E.a ** 2 - 3, "-a ** 2 - 3"),
        ((E.a > 0) & ~(E.b == 3), "(a > 0) & ~(b == 3)"),
        (2 ** E.a % 3, "2 ** a % 3"),
        (functions["where"](E.a < 1, functions["sin"](E.b), 2), "where(a < 1, sin(b), 2)"),
        (functions["sum"](E.a * E.b, axis=0), "sum(a * b, axis=0)"),
        (E.a.real + E.b, "a.real + b"),
    ],
)  # fmt: skip
def test_nodes_compute_what_texts_do(node, text):
    found = NumExpr(node)
    arguments = [NAMES[n] for n in found.input_names]
    np.testing.assert_array_equal(found(*arguments), evaluate(text, NAMES))
    assert program_of(node).names == program_of(node_of(text, {})).names


def test_nodes_tell_what_they_are():
    node = node_of("(x > 2) & (name == 'a')", {"x": "int", "name": "bytes"})
    assert (node.astType, node.value, node.astKind) == ("op", "and", "bool")
    left, right = node.children
    assert (left.value, left.children[0].value, left.children[1].value) == ("gt", "x", 2)
    assert right.children[1].astType == "constant" and left.children[0].astKind == "int"
    assert ConstantNode(np.float32(1)).astKind == "float"


def test_nodes_have_no_truth_value():
    with pytest.raises(TypeError, match="truth value"):
        bool(E.a > 1)
    with pytest.raises(TypeError):
        E.a + [1, 2]


def test_deep_nodes():
    node = E.a
    for _ in range(5000):
        node = node + 1
    np.testing.assert_array_equal(NumExpr(node)(NAMES["a"]), NAMES["a"] + 5000)
