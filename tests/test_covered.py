"""build_tools/covered.py: which tests pass through which lines, and which are asked of a change."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from build_tools import covered, mutants

RULES = """NAMES = {"a": 1}

def f(x):
    if x == 1:
        return (x and
                x > 2)
    return NAMES["a"]

def g(x):
    return not x
"""
TESTS = """import time
from ckernels.room import rules

def test_slow():
    time.sleep(.2)
    assert not rules.f(1)

def test_fast():
    assert not rules.f(1)

def test_other():
    assert rules.f(0) == 1

def test_that_fails():
    assert rules.f(1)
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A package of one module, that covered and mutants take for their own; its tests."""
    for path, text in {
        "ckernels/room/rules.py": RULES,
        "ckernels/__init__.py": "",
        "ckernels/room/__init__.py": "",
        "tests/room/test_rules.py": TESTS,
        "tests/other/test_others.py": TESTS.replace(".2", ".3"),
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.setattr(covered, "PACKAGE", tmp_path / "ckernels")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    return tmp_path


def written(tree, tests, lines):
    """A folder of what the plugin would have said of tests (name: seconds) and lines."""
    path = tree / "ckernels/room/rules.py"
    names = list(tests)
    (tree / "said").mkdir()
    (tree / "said/room.json").write_text(
        json.dumps(
            {
                "tests": list(tests.items()),
                "digests": {"ckernels/room/rules.py": covered.digest(path)},
                "lines": {
                    "ckernels/room/rules.py": {
                        number: [names.index(t) for t in some] for number, some in lines.items()
                    }
                },
            }
        )
    )
    return path, covered.Covered(tree / "said")


def test_a_change_asks_the_tests_of_its_lines(tree):
    """Those of its own text, of the statement around it, of the lines that name a table."""
    path, told = written(
        tree, {"a": 0.1, "b": 0.2, "c": 0.3}, {4: ["a", "b"], 5: ["b"], 6: ["b"], 7: ["c"]}
    )
    found = {c.what: told.tests(path, c) for c in mutants.changes(path)}
    assert found == {
        "`x == 1` is `x != 1`": {"a", "b"},
        "never `if x == 1`": {"a", "b"},
        "without `and x`": {"b"},
        "without `and x > 2`": {"b"},
        "`x > 2` is `x >= 2`": {"b"},
        "NAMES without `a`": {"c"},
    }
    beside = {c.what: told.beside(path, c) for c in mutants.changes(path)}
    assert beside["without `and x`"] == {"a", "b", "c"} and beside["NAMES without `a`"] == set()
    path.write_text(RULES + "\n")  # of a file that is another now nobody knows
    assert told.tests(path, mutants.changes(path)[0]) is None
    assert covered.Covered(None).tests(path, None) is None


def test_tests_are_asked_file_by_file_the_fastest_first(tree):
    seconds = {"x::1": 3.0, "x::2": 1.0, "x::3": 2.0, "y::1": 5.0}
    _, told = written(tree, seconds, {})
    assert told.spread(seconds, 9, 99.0) == ["x::2", "y::1", "x::3", "x::1"]
    assert told.spread(seconds, 2, 99.0) == ["x::2", "y::1"]
    assert told.spread(seconds, 9, 8.0) == ["x::2", "y::1", "x::3"]
    assert told.spread(seconds, 9, 0.5) == ["x::2"] and told.spread(set(), 9, 9.0) == []


def test_tests_of_the_room_come_first_and_all_of_the_file_last(tree):
    near, far = "tests/room/test_rules.py::test_fast", "tests/other/test_others.py::test_fast"
    path, told = written(tree, {far: 0.1, near: 0.2}, {4: [near, far]})
    (change,) = (c for c in mutants.changes(path) if c.what == "never `if x == 1`")
    groups = mutants.through(path, change, told)
    assert groups == [[near], [far, near], [far], [tree / "tests/room/test_rules.py"]]
    (other,) = (c for c in mutants.changes(path) if c.what == "NAMES without `a`")
    assert mutants.through(path, other, told) == []


def test_what_survives_is_asked_of_all_tests_when_tried_again(tree, monkeypatch):
    path, _ = written(tree, {"a": 0.1}, {4: ["a"]})
    mutants.subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    asked = []
    monkeypatch.setattr(mutants, "tried", lambda *given: asked.append(len(given[-1].lines)))
    results = str(tree / "results.jsonl")
    command = [str(path), "--count", "1", "--covered", str(tree / "said"), "--results", results]
    assert mutants.main(command) == mutants.main([*command, "--again"]) == 0 and asked == [1, 0]


def test_a_file_keeps_its_fastest_tests_of_a_line(monkeypatch):
    monkeypatch.setattr(covered, "PER_FILE", 2)
    monkeypatch.setattr(covered.sys, "monitoring", type("M", (), {"restart_events": print}), False)
    recorder, at = covered.Recorder(), (str(covered.PACKAGE / "room.py"), 3)
    for file in ("one", "two"):
        for k, seconds in enumerate([5, 1, 4, 2, 3, 9, 8, 7, 6, 0.5]):
            recorder.begin()
            recorder.now |= {at, ("/elsewhere.py", 1)}
            recorder.seconds, recorder.passed = seconds, k != 9
            recorder.end(f"{file}::{k}")
    recorder.flush()
    assert {p: [recorder.tests[t][0] for t in found] for p, found in recorder.lines.items()} == {
        at: ["one::1", "one::3", "two::1", "two::3"]
    }


@pytest.mark.skipif(not covered.AVAILABLE, reason="needs sys.monitoring, of Python 3.12")
def test_a_run(tree):
    """Lines are those of each test alone, tests that fail are left out."""
    (tree / "build_tools").mkdir()
    (tree / "build_tools/__init__.py").touch()
    shutil.copy(covered.__file__, tree / "build_tools")
    said = tree / "said/room.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "build_tools.covered", "tests/room"]
    env = {**os.environ, "CKERNELS_COVERED": str(said), "PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True)
    assert "1 failed, 3 passed" in done.stdout, done.stdout
    told = covered.Covered(said.parent)
    lines = {
        number: {name.partition("::")[2] for name in tests}
        for number, tests in told.lines["ckernels/room/rules.py"].items()
    }
    assert lines[4] == {"test_slow", "test_fast", "test_other"}
    assert lines[5] == {"test_slow", "test_fast"} and lines[7] == {"test_other"}
    assert 9 not in lines and 10 not in lines
