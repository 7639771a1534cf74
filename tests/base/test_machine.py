"""The table of a machine: every number of it is used, and measured anew by `ckernels machine`."""

import re
from collections import Counter
from pathlib import Path

import pytest

from ckernels.base import machine

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {p: p.read_text("utf-8") for p in (ROOT / "ckernels").rglob("*.py")}
OF_TIME = re.compile(r"NS_[A-Z_]+")  # not how long somebody waits
WORDS = {
    p: Counter(re.findall(r"\b[A-Z]\w+", text)) for p, text in ROOMS.items() if p.parts[-2] != "cli"
}
NAMES = [name for name in vars(machine) if name.isupper()]
NOT_MEASURED = {"NS_ASSUMED"}  # what users write may take any time


@pytest.mark.parametrize("name", NAMES)
def test_a_number_is_used(name):
    assert getattr(machine, name) > 0
    used = {p: words[name] for p, words in WORDS.items() if name in words}
    assert sum(used.values()) > 1, used


def test_each_rate_is_measured_or_said_not_to_be():
    rates = {name for name in NAMES if name.startswith("NS_")}
    measured = set(
        re.findall(r'^    "(NS_[A-Z_]+)": ', ROOMS[ROOT / "ckernels/cli/measure.py"], re.M)
    )
    assert rates == measured | NOT_MEASURED
    assert not measured & NOT_MEASURED


def test_no_room_has_a_time_of_its_own():
    for path, text in ROOMS.items():
        for line in re.findall(r"^[A-Z][A-Z_, ]* = [0-9].*", text, re.M):
            own = OF_TIME.fullmatch(line.partition(" =")[0].partition(",")[0])
            assert not own or path.name == "machine.py", (path, line)


def test_sizes_are_of_whole_lines_and_vectors():
    assert machine.L1 % machine.VECTOR == machine.L2 % machine.L1 == 0
    assert machine.LANES * machine.FLOAT == machine.VECTOR
