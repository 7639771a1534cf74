"""How libraries written for Theano are run: `make libraries`, on a library of three tests."""

import pytest

from .theano_libraries import page, run, tables
from .theano_suite import run as suite

TESTS = """
import theano
import theano.tensor as T

class Plain:
    def setUp(self):
        self.x = T.dscalar("x")

class TestNose(Plain):
    def test_runs(self):
        assert float((self.x * 2).eval({self.x: 3.0})) == 6 and theano.config.floatX == "float32"

def test_fails():
    raise TypeError("slice indices must be integers")

def test_changed():
    assert OLD
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    """main of one small library, on a folder of its own."""
    source = tmp_path / "source"
    (source / "Small" / "tests").mkdir(parents=True)
    (source / "Small" / "tests" / "test_small.py").write_text(TESTS)
    library = tables.Library("Small", "somebody/Small", ("tests", "absent"), "floatX=float32")
    monkeypatch.setattr(run, "LIBRARIES", {"Small": library, "Other": library})
    changed = {"Small": {"tests/test_small.py": [("assert OLD", "assert True")]}}
    monkeypatch.setattr(run, "CHANGED", changed)
    monkeypatch.setattr(run, "KNOWN", tmp_path / "failing.txt")
    monkeypatch.setattr(run, "RESULTS", tmp_path / "results.txt")
    return source, tmp_path / "out", tmp_path / "failing.txt"


@pytest.mark.rest
def test_a_library_runs_and_its_failures_are_listed_by_reason(small, capsys, monkeypatch):
    source, folder, listed = small
    monkeypatch.setattr(run.known, "__defaults__", (listed,))
    monkeypatch.setattr(run.write, "__defaults__", (listed,))
    assert run.main(source, folder, "Small") == 1
    assert capsys.readouterr().out.splitlines() == [
        "Small: 2 passed, 1 failed, 0 skipped",
        "not in failing.txt: Small tests.test_small.test_fails",
    ]
    run.write(folder, ["Small"])
    (reason,) = run.known(listed).values()
    assert reason == "another library has changed since"
    assert run.main(source, folder, "Small") == 0
    with open(listed, "a") as file:
        file.write("\n# load: sometimes\nSmall a\n\n# gone\nSmall tests.test_small.test_old\n")
    assert run.main(source, folder, "Small") == 1
    assert "passes: Small tests.test_small.test_old" in capsys.readouterr().out


def test_what_is_not_at_hand_is_skipped_and_what_differs_is_said(small, capsys, monkeypatch):
    source, folder, _ = small
    assert run.main(source.parent, folder, "Small") == 0
    assert "has no folder Small, which is somebody/Small at GitHub" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no library is called Smal: there are Small, Other"):
        run.main(source, folder, "Smal")
    monkeypatch.setattr(run, "CHANGED", {"Small": {"tests/test_small.py": [("absent", "x")]}})
    with pytest.raises(SystemExit, match="is not that of Small"):
        run.main(source, folder, "Small")


def test_the_tables_fit_each_other():
    assert set(tables.CHANGED) <= set(tables.LIBRARIES)
    for name, library in tables.LIBRARIES.items():
        ours = [t for t in library.tests if t.startswith("programs/")]
        assert all((run.HERE / t).is_file() for t in ours) and library.folder, name
        assert set(library.uses) <= {*tables.LIBRARIES, "fuel", "keras-2.2.4"}
    assert {t.split()[0] for t in run.known()} <= set(tables.LIBRARIES)


def test_the_guide_says_what_the_files_of_results_have():
    text = page.GUIDE.read_text(encoding="utf-8")
    assert page.written(text) == text
    assert set(suite.recorded()) == set(suite.FILES)
    assert not set(suite.FILES) & set(suite.known(suite.LEFT_OUT))
    assert {test.partition("::")[0] for test in suite.known()} <= set(suite.FILES)
    assert set(suite.recorded(run.RESULTS)) <= set(tables.LIBRARIES)


def test_results_are_kept_by_name_with_their_day(tmp_path):
    path = tmp_path / "results.txt"
    suite.record({"b": (1, 2), "a": (3, 4)}, path)
    suite.record({"b": (5, 6)}, path)
    rows = suite.recorded(path)
    assert list(rows) == ["a", "b"] and rows["b"][1:] == ["5", "6"] and len(rows["a"][0]) == 10
    assert page.days([["2026-11-27"], ["2026-11-27"]]) == "27 November 2026"
    assert page.days([["2026-11-30"], ["2026-12-01"]]) == "30 November 2026 to 1 December 2026"
