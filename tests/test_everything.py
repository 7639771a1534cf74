"""build_tools/everything.py: every target of the Makefile is a part; what is said of their ends."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from build_tools import everything  # noqa: E402


def targets_of_the_makefile():
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    return set(re.search(r"^\.PHONY:(.*)$", text, re.M)[1].split())


def test_every_target_is_a_part_or_has_a_reason():
    targets = targets_of_the_makefile()
    named = {part.full[0] for part in everything.PARTS.values()}
    assert targets == named | set(everything.NOT_RUN)
    assert not named & set(everything.NOT_RUN)


def test_continuous_integration_names_every_target():
    text = (ROOT / ".ci" / "run").read_text().replace("\\\n", " ")
    names = re.search(r"everything\.py --short --here (.*)$", text, re.M)[1].split()
    assert set(names) <= set(everything.PARTS) | set(everything.NOT_RUN)
    run = {everything.PARTS[n].full[0] for n in names if n in everything.PARTS}
    assert run | set(names) & set(everything.NOT_RUN) == targets_of_the_makefile()


def test_short_forms_are_commands_or_sentences():
    for name, part in everything.PARTS.items():
        if part.short is not everything.ALL and type(part.short) is not str:
            assert part.short[0] == part.full[0], name


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A tree with a Makefile of two targets, one of which fails."""
    (tmp_path / "Makefile").write_text(
        "good:\n\t@echo $(ARGS)\nbad:\n\t@echo why it is bad; false\n"
        "writes:\n\t@echo more >> Makefile\n"
    )
    monkeypatch.setattr(everything, "ROOT", str(tmp_path))
    monkeypatch.setattr(everything, "FOLDER", str(tmp_path / "out"))
    parts = {
        "good": everything.Part(["good", "ARGS=long"], ["good", "ARGS=a b"]),
        "bad": everything.Part(["bad"]),
        "long": everything.Part(["good"], "it takes hours"),
        "fetches": everything.Part(["good"], fetches=True),
        "writes": everything.Part(["writes"], keeps=True),
        "old": everything.Part(["good"], until=(3, 0)),
    }
    monkeypatch.setattr(everything, "PARTS", parts)
    return tmp_path


def test_parts_that_fail_end_no_others(made, capsys):
    assert everything.main(["--short", "--here", "bad", "good", "long", "old"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("bad: failed after") and "why it is bad" in lines[1:4]
    rest = [re.sub(r" after \d+ s", "", line) for line in lines[-4:]]
    assert rest[0] == "good: ok"
    assert rest[1] == "long: skipped, it takes hours"
    assert rest[2].startswith("old: skipped, not for Python 3.")
    assert rest[3].startswith("failed: bad; logs in")
    assert "a b" in (made / "out" / "good.log").read_text().splitlines()
    assert everything.main(["--here", "good", "long"]) == 0


@pytest.mark.parametrize("answers", [True, False])
def test_parts_that_fetch_packages_want_an_index(made, capsys, monkeypatch, answers):
    monkeypatch.setattr(everything, "index_answers", lambda: answers)
    assert everything.main(["--here", "fetches", "everything"]) == 0
    first, last = capsys.readouterr().out.splitlines()
    told = "fetches: ok" if answers else "fetches: skipped, it needs packages, and no package index"
    assert first.startswith(told) and last == "everything: skipped, this is it"


def test_parts_that_change_committed_files_fail(made, capsys):
    for command in (["init", "-q"], ["add", "Makefile"]):
        subprocess.run(["git", "-C", str(made), *command], check=True)
    assert everything.main(["--here", "writes"]) == 1
    assert "Makefile | 1 +" in capsys.readouterr().out


def test_what_other_parts_changed_is_theirs(made, monkeypatch):
    results = made / "results.txt"
    results.write_text("yesterday 3\n")
    for command in (["init", "-q"], ["add", "Makefile", "results.txt"]):
        subprocess.run(["git", "-C", str(made), *command], check=True)
    results.write_text("today 3\n")
    monkeypatch.setattr(everything, "PARTS", {"stays": everything.Part(["good"], keeps=True)})
    assert everything.main(["--here", "stays"]) == 0


def test_unknown_parts_are_named(made, capsys):
    with pytest.raises(SystemExit):
        everything.main(["godo"])
    assert "no part is called godo: there are good, bad" in capsys.readouterr().err
