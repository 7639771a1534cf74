"""profile=True: one row per instruction with calls, time and the user's line."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ckernels as K
from ckernels import config

pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")


@pytest.fixture(autouse=True)
def settings():
    with config.change(mode="compiled", floatX="float32"):
        yield


def test_rows_name_what_ran_and_where_it_was_written():
    x, w = K.placeholder((None, 64), name="x"), K.variable(np.ones((64, 32)))
    hidden = K.dot(x, w)
    total = K.sum(K.sort(hidden) if hasattr(K, "sort") else K.cumsum(hidden, axis=1))
    f = K.function([x], total, profile=True, name="step")
    for _ in range(7):
        f(np.ones((100, 64), "f"))
    table = f.profile_table()
    assert len(table) == f.stats()["instructions"]
    assert {row.calls for row in table} == {7}
    assert abs(sum(row.percent for row in table) - 100) < 1e-6
    assert all(row.line and row.line[0] == __file__ for row in table)
    assert any("matmul" in row.name for row in table)
    text = str(table)
    assert "step" in text and "test_profile.py:" in text and "matmul" in text


def test_the_table_is_of_the_plan_used_last():
    x = K.placeholder((None, None), name="x")
    f = K.function([x], K.sum(K.dot(x, K.transpose(x)), axis=0), profile=True)
    for n in (3, 5, 3):
        f(np.ones((n, 4), "f"))
    table = f.profile_table()
    assert {row.calls for row in table} == {2}
    assert all(row.name != "NumPy" for row in table)


def test_without_profile_there_is_nothing():
    f = K.function([], K.variable([1.0]) + 1)
    f()
    assert f.profile_table() == [] and "made without profile=True" in repr(f.profile_table())
    assert K.function([], K.variable([1.0]) + 1, mode="reference").profile_table() == []


def test_data_decided_shapes_and_checks_are_measured_too():
    x = K.placeholder((None,), name="x")
    f = K.function([x], K.sum(x[K.greater(x, 0)] * 2), profile=True)
    f(np.ones(5, "f"))
    assert f.profile_table()
    g = K.function([x], K.exp(x), profile=True, check="nan")
    g(np.ones(5, "f"))
    assert [row.calls for row in g.profile_table()] == [1]


def test_the_flag_prints_all_tables_at_exit(tmp_path):
    program = (
        "import numpy as np, ckernels as K\n"
        "x = K.placeholder((None,))\n"
        "f = K.function([x], K.exp(x), name='first')\n"
        "f(np.ones(3, 'f')); del f\n"
        "K.function([x], K.exp(x), name='never')\n"
    )
    root = Path(__file__).resolve().parents[2]
    flags = f"profile=True,base_compiledir={tmp_path}"
    env = {**os.environ, "PYTHONPATH": str(root), "CKERNELS_FLAGS": flags}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, text=True, capture_output=True, timeout=240
    )
    assert done.returncode == 0 and "first" in done.stderr and "exp" in done.stderr, done.stderr
    assert "never" not in done.stderr
