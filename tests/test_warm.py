"""build_tools/warm.py: functions that are there get changed code, and children ask tests."""

import gc
import importlib.util

import pytest

from build_tools import mutants, warm

SOURCE = """
from functools import lru_cache

def over(bound):
    def f(x):
        return x > bound and x != 7
    return f

@lru_cache
def kept(x):
    return any(v > 1 for v in x)

ROWS = {"a": lambda x: x == 1, "b": lambda x: x == 2}
LATER = [lambda x: x == 3, lambda x: x == 4]
"""
TESTS = """
def test_one():
    from ckernels.room import rules
    assert not rules.f(0)

def test_two():
    from ckernels.room import rules
    assert rules.f(1)

def test_that_fails():
    assert False
"""


@pytest.mark.rest
def test_functions_get_their_changed_code(tmp_path):
    path = tmp_path / "rules.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("rules", path)
    rules = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rules)
    above = rules.over(5)
    made = {c.what: c.made(path.read_bytes()).decode() for c in mutants.changes(path)}

    def put(what):
        return warm.put(str(path), SOURCE, made[what])

    def back(what):
        return warm.put(str(path), made[what], SOURCE)

    assert (above(5), above(7)) == (False, False)
    gc.freeze()  # as tests/conftest.py does with all that was collected
    assert put("`x > bound` is `x >= bound`") == 2 and above(5)  # one that was made, and its maker
    assert back("`x > bound` is `x >= bound`") == 2 and not above(5)
    assert put("without `and x != 7`") and above(7) and rules.over(5)(7)
    assert put("`v > 1` is `v >= 1`") == 1 and rules.kept((1,))
    assert warm.put(str(path), SOURCE, SOURCE.replace("x == 3", "x <= 3")) == 1
    assert [f(2) for f in rules.LATER] == [True, False]
    assert warm.put(str(path), SOURCE, SOURCE.replace('"a"', '"c"')) == 0


def test_children_ask_until_a_test_fails(tmp_path):
    for name, text in {
        "ckernels/__init__.py": "",
        "ckernels/room/__init__.py": "",
        "ckernels/room/rules.py": "def f(x):\n    return x == 1\n",
        "tests/test_rules.py": TESTS,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    path = tmp_path / "ckernels/room/rules.py"
    one, two, fails = (f"tests/test_rules.py::test_{n}" for n in ("one", "two", "that_fails"))

    def job(change, *tests):
        source = path.read_text().replace(*change)
        mutant = {"path": str(path), "module": "ckernels.room.rules", "source": source}
        return {"key": str(change), "tests": tests, "seconds": dict.fromkeys(tests, 0.1), **mutant}

    jobs = [
        job(("== 1", "!= 1"), one, two),
        job(("x == 1", "x >= 1"), one, two),
        job(("x == 1", "__import__('os').abort()"), two, one),
        job(("x == 1", "x == (1)"), one, two, fails),
        job(("f(x)", "g(x)"), one),
        {"tests": None, "seconds": {}},
    ]
    env = {"PYTHONPATH": f"{tmp_path}:{mutants.ROOT}"}
    asked = list(warm.asked(jobs, ["tests/test_rules.py"], tmp_path, env=env.items()))
    assert [given for given, _ in asked] == jobs
    assert [(row["fails"], row["put"]) for _, row in asked] == [
        ([one], True),
        ([], True),
        ([two], True),
        ([fails], True),
        ([], False),  # no function of that name
        ([fails], True),
    ]
