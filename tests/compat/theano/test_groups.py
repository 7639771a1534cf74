"""What Theano's manual promises, in the groups of groups.txt: programs with the values it gives.

A group is a heading `== area: what`, a program, and, where Theano's manual says something else than
the program asserts, a line `~ why`. The table of docs/guide/from-theano.md is made of this file:
`python -m tests.compat.theano.test_groups` writes it, with its figures.
"""

import importlib
import io
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import ckernels.compat.theano as theano
from ckernels.theano.modules import installing
from ckernels.theano.rewrites.optdb import parts

FILE = Path(__file__).with_name("groups.txt")
GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guide" / "from-theano.md"
COUNT, DIFFERENT = 210, 6  # groups, and how many may differ from the manual


def groups():
    """[(area, what, program, why it differs or "")]."""
    found = []
    for part in re.split(r"^== ", FILE.read_text(encoding="utf-8"), flags=re.M)[1:]:
        title, _, text = part.partition("\n")
        area, _, what = title.partition(": ")
        lines = text.splitlines()
        why = " ".join(line[2:] for line in lines if line.startswith("~ "))
        program = "\n".join(line for line in lines if not line.startswith("~ "))
        found.append((area, what, program, why))
    return found


def close(a, b, rtol=1e-6):
    """Whether arrays are equal up to what the manual prints."""
    return np.allclose(np.asarray(a, float), np.asarray(b, float), rtol=rtol, atol=1e-7)


def raises(errors, call):
    with pytest.raises(errors):
        call()


@pytest.fixture
def names(tmp_path, monkeypatch):
    """Names that all programs use, with this package as theano."""
    scipy_sparse = pytest.importorskip("scipy.sparse")
    monkeypatch.chdir(tmp_path)
    theano.install()
    for module in ("sparse", "tensor", "d3viz", "typed_list"):
        importlib.import_module(f"theano.{module}")
    kept = [
        (db, {k: list(v) for k, v in db.__db__.items()}, list(db._names)) for db in parts.values()
    ]
    yield {"np": np, "io": io, "theano": theano, "T": theano.tensor, "sparse": theano.sparse,
           "scipy_sparse": scipy_sparse, "close": close, "raises": raises}  # fmt: skip
    for db, rules, names in kept:  # what a program registers is not for other tests
        db.__db__, db._names = rules, names
    installing.uninstall()


ROWS = groups()


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("area, what, program, why", ROWS, ids=[": ".join(g[:2]) for g in ROWS])
def test_group(area, what, program, why, names):
    exec(compile(program, f"{area}: {what}", "exec"), names)


def table():
    """The rows of the guide: areas with their counts, then what differs."""
    rows = groups()
    counts = Counter(area for area, *_ in rows)
    different = Counter(area for area, _, _, why in rows if why)
    lines = ["| area | groups | as the manual says |", "|---|---|---|"]
    lines += [f"| {area} | {n} | {n - different[area]} |" for area, n in counts.items()]
    lines += [f"| all | {len(rows)} | {len(rows) - sum(different.values())} |", ""]
    lines += [f"- {area}, {what}: {why}." for area, what, _, why in rows if why]
    return "\n".join(lines)


BLOCK = re.compile(r"(<!-- groups -->\n).*?(<!-- end -->)", re.S)


def test_there_are_as_many_as_the_manual_has_and_few_differ():
    rows = groups()
    assert len(rows) == COUNT == len({row[:2] for row in rows})
    assert sum(bool(why) for *_, why in rows) <= DIFFERENT
    assert all(re.search("assert|raises|verify_grad", program) for _, _, program, _ in rows)


def test_the_guide_has_the_table():
    assert table() in GUIDE.read_text(encoding="utf-8")


if __name__ == "__main__":
    text = GUIDE.read_text(encoding="utf-8")
    GUIDE.write_text(BLOCK.sub(lambda m: m[1] + table() + "\n" + m[2], text), encoding="utf-8")
