"""Charts of K.draw: memory lies as the plan has it, profiles are paired, values are told."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest

import ckernels as K
from ckernels import config
from ckernels.runtime import charts, drawing, picture

pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")


@pytest.fixture(autouse=True)
def settings():
    with config.change(mode="compiled", floatX="float32"):
        yield


def function(layers, **options):
    x = K.placeholder((None, 32), name="x")
    h = x
    for _ in range(layers):
        h = K.tanh(K.dot(h, K.variable(np.full((32, 32), 0.1))))
    f = K.function([x], K.sum(h), **options)
    f(np.ones((16, 32), "f"))
    return f


def test_blocks_of_memory_that_live_at_one_time_lie_apart():
    f = function(4)
    chart = charts.memory(picture.views(f)[0].draft)
    assert chart["total"] == f.stats()["peak_bytes"] and len(chart["steps"]) == len(f.steps())
    blocks = chart["blocks"]
    assert len(blocks) >= 4
    for k, (_, _, first, last, at, size) in enumerate(blocks):
        assert 0 <= first <= last < len(chart["steps"]) and at + size <= chart["total"]
        for _, _, other_first, other_last, other_at, other_size in blocks[:k]:
            together = first < other_last and other_first < last
            assert not together or at + size <= other_at or other_at + other_size <= at


def test_a_plan_without_an_arena_has_no_memory():
    x = K.placeholder((None,), name="x")
    f = K.function([x], K.exp(x))
    f([[1.0]])
    assert charts.memory(picture.views(f)[0].draft) is None


def test_profiles_pair_what_both_do():
    a, b = function(2, profile=True, name="two"), function(3, profile=True, name="three")
    chart = charts.profiles((a, b))
    assert chart["names"] == ["two", "three"]
    rows = chart["rows"]
    assert sum(r[1] is not None for r in rows) == len(a.steps())
    assert sum(r[2] is not None for r in rows) == len(b.steps())
    assert any(r[1] is not None and r[2] is not None for r in rows)
    assert charts.profiles((a, function(1))) is None


@pytest.mark.parametrize(
    "value, lines",
    [
        ([[1.5, 2.5], [np.nan, np.inf]], ["values: 1.5 2.5 nan inf", "1.5 to 2.5, mean 2",
                                          "2 NaN or infinite"]),
        (np.zeros((0, 3)), ["values: "]),
        (np.arange(8), ["values: 0 1 2 3 4 5 …", "0 to 7, mean 3.5"]),
        (np.array([True, False]), ["values: True False"]),
        (np.array(3.0), ["values: 3", "3 to 3, mean 3"]),
    ],
)  # fmt: skip
def test_values_of_variables(value, lines):
    v = K.variable(value, dtype=np.asarray(value).dtype.name)
    assert charts.values(v.node)["values"] == lines
    assert charts.values((v + v).node) == {}


def test_of_a_large_variable_some_values_are_looked_at():
    v = K.variable(np.ones(3 << 20, "f"))
    assert charts.values(v.node)["values"][1] == "1 to 1, mean 1 of every 3th"


CHARTS = os.path.join(os.path.dirname(drawing.__file__), "..", "pictures", "charts.js")


@pytest.mark.skipif(not shutil.which("node"), reason="there is no Node")
@pytest.mark.parametrize(
    "code, expected",
    [
        ("[0, 0.25, 12.34, 1500, 2.5e6].map(c.time)", ["0", "0.25 µs", "12.3 µs", "1.5 ms",
                                                       "2.5 s"]),
        ("[0, 1023, 1536, 3 << 20].map(c.bytes)", ["0 B", "1023 B", "1.5 kB", "3.0 MB"]),
        ("c.ticks(0, 10, 4)", [0, 5, 10]),
        ("c.ticks(0.3, 2.2, 4)", [0.5, 1, 1.5, 2]),
        ("c.busy([[0, 1, 0, 2], [0, 0, 0, 1], [1, 1, 3, 4]])", [[0, 1], [1, 3]]),
    ],
)  # fmt: skip
def test_numbers_of_charts(code, expected):
    program = f"const c = require({json.dumps(CHARTS)}); console.log(JSON.stringify({code}))"
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected
