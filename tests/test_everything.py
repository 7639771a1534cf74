"""build_tools/everything.py: every target of the Makefile is a part; what is said of their ends."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from build_tools import everything  # noqa: E402


def test_every_target_is_a_part_or_has_a_reason():
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    targets = set(re.search(r"^\.PHONY:(.*)$", text, re.M)[1].split())
    named = {part.full[0] for part in everything.PARTS.values()}
    assert targets == named | set(everything.NOT_RUN)
    assert not named & set(everything.NOT_RUN)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A tree with a Makefile of two targets, one of which fails."""
    (tmp_path / "Makefile").write_text(
        "good:\n\t@echo $(ARGS)\nbad:\n\t@echo why it is bad; false\n"
    )
    monkeypatch.setattr(everything, "ROOT", str(tmp_path))
    monkeypatch.setattr(everything, "FOLDER", str(tmp_path / "out"))
    parts = {
        "good": everything.Part(["good", "ARGS=long"], ["good", "ARGS=a b"]),
        "bad": everything.Part(["bad"]),
        "long": everything.Part(["good"], None),
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
    assert rest[1] == "long: skipped, it takes longer than minutes"
    assert rest[2].startswith("old: skipped, not for Python 3.")
    assert rest[3].startswith("failed: bad; logs in")
    assert "a b" in (made / "out" / "good.log").read_text().splitlines()
    assert everything.main(["--here", "good", "long"]) == 0


def test_unknown_parts_are_named(made, capsys):
    with pytest.raises(SystemExit):
        everything.main(["godo"])
    assert "no part is called godo: there are good, bad" in capsys.readouterr().err
