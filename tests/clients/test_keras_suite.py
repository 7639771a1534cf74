"""How Keras's own tests are prepared, and what is said of their failures; make keras runs them."""

import ast
from pathlib import Path

import pytest

from .keras_suite import run, tables

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "old-keras.md"
FILE = """import pytest
from keras import backend as K


@pytest.mark.skipif(K.backend() != 'tensorflow',
                    reason='Specific to Tensorflow.')
@pytest.mark.parametrize('n', [1, 2])
def test_one(n):
    assert n


@pytest.mark.skipif(K.backend() != 'tensorflow', reason='TensorFlow')
def test_two():
    pass
"""


def test_only_the_named_tests_lose_their_skips():
    text = run.without_skips(FILE, ("test_one",))
    marks = {
        node.name: len(node.decorator_list)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    }
    assert marks == {"test_one": 1, "test_two": 1} and "parametrize" in text
    assert len(text.splitlines()) == len(FILE.splitlines())


def test_a_file_of_another_version_is_refused():
    with pytest.raises(SystemExit, match="is not that of Keras 2.3.1"):
        run.prepared("keras/losses_test.py", "", "2.3.1")
    changed = run.prepared("keras/losses_test.py", "x = (K.backend() != 'tensorflow',)", "2.3.1")
    assert changed == "x = (False,)"


def test_failures_are_told_from_known_ones(monkeypatch):
    monkeypatch.setitem(tables.KNOWN, "2.3.1", {"a_test.py::test_x[1]": "is known", "b.py::y": ""})
    output = (
        "FAILED tests/a_test.py::test_x[1] - AssertionError: 1 - 2\n"
        "ERROR tests/c_test.py - ImportError\n= 1 failed, 1 error in 3.1s ="
    )
    failed, absent = run.verdict(output, "2.3.1")
    assert failed == [("a_test.py::test_x[1]", "is known"), ("c_test.py", None)]
    assert absent == ["b.py::y"]


@pytest.mark.parametrize("version", sorted(tables.KNOWN))
def test_the_guide_names_every_known_failure_and_what_is_left_out(version):
    page = GUIDE.read_text()
    for name in tables.KNOWN[version]:
        assert name.rpartition("::")[2].partition("[")[0] in page
    for file in tables.LEFT_OUT[version]:
        assert file.rpartition("/")[2].rpartition("::")[2] in page
