"""build_tools/mutants.py: what is changed, and that a test sees it or does not."""

import ast
import textwrap

import pytest

from build_tools import mutants

SOURCE = """
def rule(node):
    if node.a and not node.b or all(x > 2 for x in node.c):
        return None
    return node.a == 1

def __repr__(self):
    return self.a == 1
"""


def made(number):
    tree = ast.parse(SOURCE)
    mutants.changes(tree)[number][2]()
    return ast.unparse(tree)


def test_each_condition_is_changed_once():
    found = [(line, text) for line, text, _ in mutants.changes(ast.parse(SOURCE))]
    assert sorted(found) == [
        (3, "`x > 2` is `x >= 2`"),
        (3, "any for `all((x > 2 for x in node.c))`"),
        (3, "never `if node.a and (not node.b) or all((x > 2 for x in node.c))`"),
        (3, "without `and node.a`"),
        (3, "without `and not node.b`"),
        (3, "without `or all((x > 2 for x in node.c))`"),
        (3, "without `or node.a and (not node.b)`"),
        (5, "`node.a == 1` is `node.a != 1`"),
    ]
    assert len({made(k) for k in range(8)} | {ast.unparse(ast.parse(SOURCE))}) == 9
    for k in range(8):
        tree = ast.parse(SOURCE)
        mutants.changes(tree)[k][2]()
        compile(ast.fix_missing_locations(tree), "rules.py", "exec")  # a program, whatever it does


def test_a_sample_is_that_of_its_seed(tmp_path):
    (tmp_path / "rules.py").write_text(SOURCE)
    one, two = (mutants.sample([tmp_path], 3, seed) for seed in (1, 1))
    assert one == two and len(one) == len(set(one)) == 3
    assert len(mutants.sample([tmp_path], 99, 0)) == 8


@pytest.mark.parametrize(
    "checks, seen", [("spread((3, 1), (3, 4), (1, 1)) == (3, 4)", True), ("spread", False)]
)
def test_a_test_that_sees_a_change_fails(tmp_path, checks, seen):
    """`broadcast` of shapes without one of its conditions, under a test that asks and one that
    does not."""
    path = mutants.ROOT / "ckernels" / "graph" / "shapes.py"
    found = mutants.changes(ast.parse(path.read_text()))
    number = next(k for k, (_, text, _) in enumerate(found) if text.startswith("`len(known) > 1`"))
    test = tmp_path / "test_one.py"
    test.write_text(
        textwrap.dedent(f"""
        from ckernels.graph.shapes import broadcast
        from pathlib import Path

        def spread(*shapes):
            return broadcast("add", *shapes)

        def test_it():
            assert {checks}
        """)
    )
    assert (mutants.fate(path, number, [str(test)]) is not None) == seen
