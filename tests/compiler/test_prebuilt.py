"""Kernels that come with a wheel: found where there is no compiler, for this CPU and no other."""

import ctypes
import os
import shutil
import subprocess
import sys

import pytest

from ckernels import compiler
from ckernels.base.errors import CompilerMissing
from ckernels.compiler import KernelSource, build, cpu, prebuilt

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)
from build_tools import prebuilt as maker  # noqa: E402

CC = shutil.which("gcc") or shutil.which("clang")
V3 = set(prebuilt.LEVELS["x86-64-v3"])


def kernel(number):
    name = f"k_prebuilt_{number}"
    head = f"int {name}(void *const *p, const int64_t *dims, int64_t lo, int64_t hi)"
    return KernelSource(
        name, f"{head} {{ (void)p; (void)dims; return (int)(lo + hi) * {number}; }}\n"
    )


def test_levels():
    assert prebuilt.fits("x86-64-v3", "x86_64", V3)
    assert not prebuilt.fits("x86-64-v3", "x86_64", V3 - {"fma"})
    assert not prebuilt.fits("x86-64-v4", "x86_64", V3)
    assert not prebuilt.fits("x86-64-v3", "x86_64", None)
    assert not prebuilt.fits("x86-64-v3", "aarch64", V3) and prebuilt.fits("armv8-a", "aarch64")
    assert not prebuilt.fits("armv8-a", "x86_64", V3)
    assert set(maker.LEVELS) == set(prebuilt.LEVELS)


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A library of kernels 1 and 2 as a wheel has it, for a level that every CPU has."""
    if not CC:
        pytest.skip("needs a C compiler")
    tools = prebuilt.stand_in("here")
    table = [(compiler.key_of(kernel(n), tools), kernel(n)) for n in (1, 2)]
    text = maker.translation_unit([kernel(1), kernel(2)])
    units = {"kernels.c": text, "index.c": maker.index(table)}
    for name, unit in units.items():
        (tmp_path / name).write_text(unit)
    subprocess.run(
        [CC, "-shared", "-fPIC", "-O1", "-o", "here.so", *units], cwd=tmp_path, check=True
    )
    monkeypatch.setattr(prebuilt, "PLACE", str(tmp_path))
    monkeypatch.setattr(prebuilt, "level", lambda: "here")
    prebuilt.kernels.cache_clear()
    yield
    prebuilt.kernels.cache_clear()


def call(address, low, high):
    words = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
    return ctypes.CFUNCTYPE(ctypes.c_int, *words)(address)(None, None, low, high)


def test_without_a_compiler_they_serve(shipped, compiledir, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("CC", "CKERNELS_CC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "ziglang", None)
    made = build([kernel(1), kernel(2)])
    assert made.built == 0 and [call(a, 3, 4) for a in made.addresses] == [7, 14]
    assert compiler.current_toolchain().path == "" and cpu.lacking(()) == []
    again = compiler.fetch(made.keys)
    assert again is not None and again.addresses == made.addresses
    with pytest.raises(CompilerMissing, match="did not come with it") as caught:
        build([kernel(1), kernel(3)])
    assert "`pip install ckernels[compiler]`" in str(caught.value)


def test_with_a_compiler_they_do_not(shipped, compiledir):
    assert build([kernel(1)]).built == 1 and compiler.current_toolchain().path


def test_batches_keep_flags_apart():
    rows = [kernel(n)._replace(flags=("-O1",) if n % 2 else ()) for n in range(6)]
    units = list(maker.batches(rows))
    assert [len({s.flags for s in unit}) for unit in units] == [1] * len(units) == [1, 1]
    assert sorted(s.name for unit in units for s in unit) == sorted(s.name for s in rows)


@pytest.mark.parametrize(
    "alive, said",
    [
        (False, [f"kernels: {k} of 25\n" for k in (3, 5, 8, 10, 13, 15, 18, 20, 23, 25)]),
        (True, [f"\rkernels: {k} of 25" for k in range(1, 26)] + ["\n"]),
    ],
)
def test_progress_is_said_while_kernels_are_compiled(alive, said, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: alive, raising=False)
    assert list(maker.progress("kernels", iter(range(25)), 25)) == list(range(25))
    assert capsys.readouterr().err == "".join(said)
    assert list(maker.progress("nothing", iter(()), 0)) == []
