"""The commands, run as commands, on a compiledir with real kernels."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ckernels import cli, compiler
from ckernels.compiler import KernelSource, build, cache
from ckernels.config import config

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(
    not (shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")),
    reason="needs a C compiler",
)


def kernel(number):
    name = f"k_cli_{number}"
    head = f"int {name}(void *const *p, const int64_t *dims, int64_t lo, int64_t hi)"
    body = f"{{ (void)p; (void)dims; return (int)(lo + hi) * {number}; }}\n"
    return KernelSource(name, f"{head} {body}", meta={"number": number})


@pytest.fixture
def filled(tmp_path):
    """A compiledir with three kernels: (path, keys)."""
    directory = tmp_path / "kernels"
    with config.change({"compiledir": str(directory)}):
        for store in (compiler._loaded, compiler._toolchains, cache._opened):
            store.clear()
        keys = [build([kernel(n)]).keys[0] for n in range(3)]
        yield directory, keys
    for store in (compiler._loaded, compiler._toolchains, cache._opened):
        store.clear()


@pytest.fixture
def run(filled, capsys):
    """run("list", ...) -> (status, output) of ckernels-cache on that compiledir."""

    def command(*words):
        status = cli.cache_main(list(words))
        return status, capsys.readouterr().out

    return command


def test_path_list_stats(run, filled):
    directory, keys = filled
    assert run("path") == (0, f"{directory}\n")
    status, text = run("list")
    assert status == 0 and len(text.splitlines()) == 3 and "k_cli_2" in text
    rows = json.loads(run("list", "--json")[1])
    assert {row["key"] for row in rows} == set(keys) and all(row["bytes"] > 0 for row in rows)
    stats = json.loads(run("stats", "--json")[1])
    assert stats["kernels"] == 3 and stats["bytes"] == cache.current().usage()[0]
    assert "3 kernels" in run("stats")[1]


def test_show(run, filled):
    status, text = run("show", filled[1][1][:20])
    assert status == 0 and "name: k_cli_1" in text and "return (int)(lo + hi) * 1" in text
    assert json.loads(run("show", filled[1][1], "--json")[1])["meta"] == {"number": 1}
    assert run("show", "zz")[0] == 1 and run("show", "")[0] == 1


def test_verify_and_gc(run, filled):
    directory, keys = filled
    assert run("verify") == (0, "0 bad entries\n")
    path = directory / f"{keys[0]}.so"
    path.write_bytes(path.read_bytes()[:-1])
    status, text = run("verify")
    assert status == 1 and text.startswith(keys[0])
    assert json.loads(run("verify", "--json")[1])[0]["key"] == keys[0]
    stale = directory / "tmp-1-00"
    stale.write_text("")
    assert "0 stale" in run("gc")[1] and stale.exists()
    os.utime(stale, (0, 0))
    assert "1 stale" in run("gc")[1] and not stale.exists()
    with config.change({"cache.max_files": 1}):
        assert "3 kernels evicted" in run("gc")[1]


def test_clear(run, filled, monkeypatch):
    directory, keys = filled
    (directory / "mine.txt").write_text("not yours")
    monkeypatch.setattr("builtins.input", lambda prompt: "n")
    assert run("clear")[0] == 1 and len(list(directory.glob("*.so"))) == 3
    os.utime(directory / f"{keys[0]}.so", (0, 0))
    assert run("clear", "--older-than", "30", "--yes") == (0, "1 kernels deleted\n")
    assert not (directory / f"{keys[0]}.so").exists()
    assert run("clear", "--yes") == (0, "2 kernels deleted\n")
    assert [item.name for item in directory.iterdir()] == ["mine.txt"]
    assert run("clear", "--yes")[0] == 0


def test_looking_creates_nothing(tmp_path, capsys):
    with config.change({"compiledir": str(tmp_path / "absent")}):
        for words in (["list"], ["stats"], ["verify"], ["gc"], ["clear", "--yes"], ["path"]):
            assert cli.cache_main(words) == 0
    assert not (tmp_path / "absent").exists()


def command(*words, **environment):
    merged = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run([sys.executable, "-m", "ckernels.cli", *words], env=merged, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=60)  # fmt: skip


def test_doctor(tmp_path):
    done = command("doctor", "--json", CKERNELS_FLAGS=f"compiledir={tmp_path / 'd'}")
    report = json.loads(done.stdout)
    assert report["compiler"]["ok"] and report["probe"]["ok"], report
    assert report["works"] == report["runtime"]["ok"] == (done.returncode == 0)
    assert str(tmp_path / "d") in report["compiledir"]["text"]
    assert "-march" in report["flags"]["text"] or "aarch64" in report["versions"]["text"]


def test_doctor_without_compiler(tmp_path):
    done = command("doctor", PATH=str(tmp_path), CC="", CKERNELS_CC="", CKERNELS_FLAGS="",
                   HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))  # fmt: skip
    assert done.returncode == 1
    assert "found no C compiler" in done.stdout and "Install" in done.stdout
    assert "Traceback" not in done.stderr


def test_bad_flags_and_bad_words(tmp_path):
    done = command("cache", "path", CKERNELS_FLAGS="compildir=/x")
    assert done.returncode == 2 and "`compiledir`" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert command("cache", "frobnicate").returncode == 2
