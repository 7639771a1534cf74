"""The table of costs: every number of it is used, and measured anew by the command."""

import re
from pathlib import Path

import pytest

from ckernels.base import machine

ROOT = Path(__file__).resolve().parents[2]
RATES = [name for name in vars(machine) if name.startswith("NS_")]


@pytest.mark.parametrize("name", RATES)
def test_a_rate_is_used_and_measured(name):
    assert 0 < getattr(machine, name) < 1
    word = re.compile(rf"\b{name}\b")
    rooms = [p for p in (ROOT / "ckernels").rglob("*.py") if p.name != "machine.py"]
    assert any(word.search(p.read_text("utf-8")) for p in rooms)
    assert word.search((ROOT / "build_tools" / "cost_constants.py").read_text("utf-8"))


def test_no_room_has_a_number_of_its_own_for_a_rate_of_the_table():
    for path in (ROOT / "ckernels").rglob("*.py"):
        for name in RATES:
            own = re.search(rf"^{name}\b *=", path.read_text("utf-8"), re.M)
            assert path.name == "machine.py" or not own, (path, name)
