"""build_tools/mutants.py: what is changed, and that a test sees it or does not."""

import ast
import json

import pytest

from build_tools import mutants
from build_tools.equivalent import EQUIVALENT

SOURCE = """
NAMES = {"a": ("exp", "log"), "b": 1}

def rule(node):
    if node.a and not (node.b or
                       node.c):
        return None
    return node.a == 1 and all(x > 2 for x in node.c) or node . é  not  in node.d

def __repr__(self):
    return self.a == 1
"""
PYTHON = [
    (2, "NAMES without `a`"),
    (2, "NAMES without `b`"),
    (2, "NAMES without `exp`"),
    (2, "NAMES without `log`"),
    (5, "never `if node.a and (not (node.b or node.c))`"),
    (5, "without `and node.a`"),
    (5, "without `and not (node.b or node.c)`"),
    (5, "without `or node.b`"),
    (5, "without `or node.c`"),
    (8, "`node.a == 1` is `node.a != 1`"),
    (8, "`node.é not in node.d` is `node.é in node.d`"),
    (8, "`x > 2` is `x >= 2`"),
    (8, "any for `all((x > 2 for x in node.c))`"),
    (8, "without `and all((x > 2 for x in node.c))`"),
    (8, "without `and node.a == 1`"),
    (8, "without `or node.a == 1 and all((x > 2 for x in node.c))`"),
    (8, "without `or node.é not in node.d`"),
]
C = r"""
#if A && B
/* a < b */
static int f(int a, int b) {
    const char *s = "a == b";
    for (int i = 0; i < a; i++)
        if (a->b >= (b << 1) &&
            b)
            return s[0] != '<';
    return b <= 1;
}
"""


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules.py"
    path.write_text(SOURCE)
    return path


def test_each_condition_of_python_is_changed_once(rules):
    found = mutants.changes(rules)
    assert sorted((c.line, c.what) for c in found) == PYTHON
    source = rules.read_bytes()
    trees = {ast.unparse(ast.parse(c.made(source))) for c in found} | {
        ast.unparse(ast.parse(source))
    }
    assert len(trees) == len(PYTHON) + 1
    assert {c.made(source).count(b"\n") for c in found} == {source.count(b"\n")}


def test_what_a_change_of_python_means(rules):
    """The changed conditions, run, beside those written by hand."""
    made = {c.what: c.made(rules.read_bytes()) for c in mutants.changes(rules)}
    node = type("Node", (), {"a": 2, "b": 0, "c": [2, 3], "d": [], "é": 1})()
    for what, value in (
        ("`node.a == 1` is `node.a != 1`", False or True),
        ("`node.é not in node.d` is `node.é in node.d`", False),
        ("without `or node.é not in node.d`", False),
        ("never `if node.a and (not (node.b or node.c))`", True),
        ("without `or node.c`", None),
    ):
        names = {}
        exec(made[what], names)
        assert names["rule"](node) == value, what


def test_each_condition_of_c_is_changed_once(tmp_path):
    path = tmp_path / "f.c"
    path.write_text(C)
    found = mutants.changes(path)
    lines = [(c.line, C.encode()[c.start : c.end].decode(), c.text) for c in found]
    assert sorted(lines) == [
        (7, "&&", "||"),
        (7, ">=", ">"),
        (7, "a->b >= (b << 1) &&\n            b", "0 && (a->b >= (b << 1) &&\n            b)"),
        (9, "!=", "=="),
        (10, "<=", "<"),
    ]


def test_a_sample_is_that_of_its_seed(rules):
    one, two = (mutants.sample([rules.parent], 3, seed) for seed in (1, 1))
    assert one == two and len(one) == len(set(one)) == 3
    assert len(mutants.sample([rules.parent], 99, 0)) == len(PYTHON)


def test_the_test_that_failed_is_found():
    said = """tests/a.py::test_one[x y] PASSED   [ 10%]
tests/a.py::test_two SKIPPED (needs that) [ 20%]
tests/a.py::test_three[a-b c] FAILED [ 30%]
FAILED tests/a.py::test_three[a-b c] - AssertionError
"""
    assert mutants.first_failure(said) == "tests/a.py::test_three[a-b c]"
    crashed = "tests/a.py::test_one PASSED [ 1%]\ntests/a.py::test_two[1] \nFatal Python error"
    assert mutants.first_failure(crashed) == "tests/a.py::test_two[1]"
    assert mutants.first_failure("ImportError") == "nothing can be imported"


def test_the_tests_of_a_file_come_first():
    own, room, wider = mutants.tests_of(mutants.ROOT / "ckernels/plan/stores.py", ["ops"])
    names = [
        [p.relative_to(mutants.ROOT / "tests").as_posix() for p in g] for g in (own, room, wider)
    ]
    assert names[0] == ["plan/test_stores.py"] and "ops/test_pool.py" in names[2]
    assert "plan/test_memory.py" in names[1] and not set(names[0]) & set(names[1])
    own, room, _ = mutants.tests_of(mutants.ROOT / "ckernels/src/image/pool.c")
    assert [p.name for p in own] == ["test_pool.py"] and "test_executor.py" in {
        p.name for p in room
    }


def test_the_list_of_those_that_decide_nothing_names_changes():
    for file, whats in EQUIVALENT.items():
        there = mutants.named(mutants.changes(mutants.ROOT / file)).keys()
        assert set(whats) <= there, (file, set(whats) - there)
        assert all(reason.endswith(".") for reason in whats.values())


def test_changes_that_say_the_same_are_told_apart(rules, monkeypatch):
    rules.write_text(
        "def f(a, b):\n if a:\n  b += 1\n if b:\n  b = 2\n if a:\n  b = 3\n return b\n"
    )
    monkeypatch.setattr(mutants, "ROOT", rules.parent)
    listed = {"never `if a`, 2 of 2": "Three.", "never `if b`": "Two."}
    monkeypatch.setattr(mutants, "EQUIVALENT", {rules.name: listed})
    found = sorted((c.line, mutants.reason(rules, c)) for c in mutants.changes(rules))
    assert found == [(2, None), (4, "Two."), (6, "Three.")]


def test_mutants_of_c_ask_the_tests_that_reach_them(monkeypatch):
    """The fastest first; what no test reaches is left to those of its room."""
    path, given = mutants.ROOT / "ckernels/src/image/pool.c", []
    reaches = [["a.py::1", 0.2, [1, 2]], ["a.py::2", 0.1, [1]], ["b.py::1", 0.3, [1, 7]]]

    def asked(jobs, files, *others):
        given.append((jobs, files, others))
        return iter([(jobs[0], {"reaches": reaches})])

    monkeypatch.setattr(mutants.warm, "asked", asked)
    chosen = [(key, path, None) for key in ("one", "two", "three")]
    jobs = list(mutants.in_runtime(chosen, {1, 2, 3}, "tree", "switch", {}))
    assert [(job["key"], job["number"], job["tests"]) for job in jobs] == [
        ("one", 1, ["a.py::2", "b.py::1", "a.py::1"]),
        ("two", 2, ["a.py::1"]),
    ]
    assert jobs[1]["seconds"] == {"a.py::1": 0.2}
    ((everything,), files, others), = given  # fmt: skip
    assert everything["tests"] is None and others == ("tree", "switch", {})
    assert {"tests/src/image/test_pool.py", "tests/plan/test_bands.py"} < files


def made_tree(folder):
    """A project of one module, with a test that sees its first condition and not its second."""
    for path, text in {
        "ckernels/room/rules.py": (
            "def f(x):\n    return x == 1\n\ndef g(x):\n    if x:\n        return 1\n"
        ),
        "tests/room/test_rules.py": (
            "from ckernels.room.rules import f\n\ndef test_f():\n    assert f(1)\n"
            "\ndef test_that_fails():\n    assert False\n"
        ),
        "ckernels/__init__.py": "",
        "ckernels/room/__init__.py": "",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder / "ckernels/room/rules.py"


@pytest.mark.rest
def test_a_run(tmp_path, monkeypatch, capsys):
    """Survivors are told from others, a test that fails anyway sees nothing, results are kept, and
    the tree stays as it is."""
    root = tmp_path / "root"
    path = made_tree(root)
    git = mutants.subprocess.run
    git(["git", "init", "-q"], cwd=root, check=True)
    before = path.read_text()
    monkeypatch.setattr(mutants, "ROOT", root)
    asked = [str(path), "--count", "9", "--results", str(tmp_path / "out")]
    assert mutants.main([*asked, "--least", "60"]) == 1
    lines = capsys.readouterr().out.splitlines()
    by_test = "ckernels/room/rules.py:2 {}: tests/room/test_rules.py::test_f"
    assert lines == [
        by_test.format("`x == 1` is `x != 1`"),
        "SURVIVES ckernels/room/rules.py:5 never `if x`",
        "room: 1 of 2",
        "1 of 2 mutants are seen by tests (50 %); 0 are on the list of those that decide nothing",
    ]
    assert path.read_text() == before
    rows = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [row["end"] for row in rows] == ["tests/room/test_rules.py::test_f", None]
    monkeypatch.setattr(mutants, "tried", None)
    assert mutants.main(asked) == 0  # all are known
