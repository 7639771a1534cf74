"""`ckernels machine`: what it prints of the table, and that each of its programs runs."""

import json

import numpy as np
import pytest

import ckernels as K
from ckernels.base import machine as table
from ckernels.cli import main, measure


@pytest.fixture
def quick(monkeypatch):
    """One call of everything, a tenth of the rates."""
    monkeypatch.setattr(measure, "timed", lambda call, rounds: (call(), 1000.0)[1])


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", measure.MEASURED)
def test_each_measurement_runs(name, quick):
    assert np.isfinite(measure.MEASURED[name]())


def test_a_rate_is_the_time_over_the_count(quick):
    assert measure.each(lambda x: x + 1, np.ones(4, "float32"), count=8) == 125.0


@pytest.fixture
def few(quick, monkeypatch):
    rates = {"NS_BYTE": lambda: table.NS_BYTE * 1.9, "NS_TURNED": lambda: table.NS_TURNED * 2.1}
    monkeypatch.setattr(measure, "MEASURED", rates)
    monkeypatch.setattr(measure, "fork", lambda threads: table.FORK_NS / 1.5)
    monkeypatch.setattr(measure, "sizes", lambda: {"L1": table.L1, "L2": 2 * table.L2})


def test_what_differs_is_said(few, capsys):
    before = K.get_num_threads()
    K.set_num_threads(2)
    try:
        assert main(["machine"]) == 0
        assert K.get_num_threads() == 2
    finally:
        K.set_num_threads(before)
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["L1", "L2", "NS_BYTE", "NS_TURNED", "FORK_NS"]
    assert [line[0] for line in lines if line[-1] == "differs"] == ["L2", "NS_TURNED"]
    assert lines[1][1:4] == ["1048576", "2097152", "2.00"]


def test_json_has_all_numbers(few, capsys):
    assert main(["machine", "--json"]) == 0
    first = {"name": "L1", "table": table.L1, "here": table.L1, "differs": False}
    assert json.loads(capsys.readouterr().out)[0] == first


def test_a_fork_is_what_is_over_a_part_of_the_time(monkeypatch):
    times = iter((9000.0, 5500.0))
    monkeypatch.setattr(measure, "timed", lambda call, rounds: next(times))
    before = K.get_num_threads()
    try:
        assert measure.fork(2) == 1000.0
    finally:
        K.set_num_threads(before)


def test_sizes_are_read_where_the_system_tells_them(tmp_path, monkeypatch):
    caches = ("1 Data 48K", "1 Instruction 32K", "2 Unified 2048K", "3 Unified 9K")
    for k, words in enumerate(caches):
        folder = tmp_path / f"index{k}"
        folder.mkdir()
        for name, text in zip(("level", "type", "size"), words.split()):
            (folder / name).write_text(f"{text}\n")
        (folder / "coherency_line_size").write_text("64\n")
    monkeypatch.setattr(measure, "CACHES", tmp_path)
    assert measure.sizes() == {"L1": 48 << 10, "L2": 2 << 20, "VECTOR": 64}
    monkeypatch.setattr(measure, "CACHES", tmp_path / "nowhere")
    assert measure.sizes() == {}
