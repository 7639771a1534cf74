"""The kernels for NEON beside naive loops (naive.c), in an emulator where this CPU is another."""

import importlib.util
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ckernels.export import portable
from src.native import SOURCES

HERE = platform.machine() in ("aarch64", "arm64")


def compiler():
    """A command that compiles for aarch64, or None."""
    if HERE:
        return [shutil.which("gcc") or shutil.which("cc")]
    if gcc := shutil.which("aarch64-linux-gnu-gcc"):
        return [gcc]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl"]
    return None


EMULATOR = [] if HERE else [shutil.which("qemu-aarch64")]


@pytest.mark.slow  # 15 s: a compiler and an emulator
@pytest.mark.skipif(compiler() is None, reason="no compiler for aarch64: gcc or ziglang")
@pytest.mark.skipif(EMULATOR == [None], reason="there is no qemu-aarch64")
def test_kernels_for_neon(tmp_path):
    for name in ("serial", "no_blas"):
        (tmp_path / f"{name}.c").write_text(portable.support(name))
    files = [SOURCES / "simd" / "simd.c", *(SOURCES / "image").glob("*.c")]
    files += [SOURCES / "gemm" / "gemm.c", SOURCES / "gemm" / "builtin.c"]
    program = tmp_path / "naive"
    naive = Path(__file__).with_name("naive.c")
    flags = [
        "-O3",
        "-std=gnu11",
        "-fno-math-errno",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-static",
        "-I",
        SOURCES,
    ]
    subprocess.run(
        [*compiler(), *flags, *files, *tmp_path.glob("*.c"), naive, "-o", program, "-lm"],
        check=True,
    )
    done = subprocess.run([*EMULATOR, program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    count = re.fullmatch(r"builtin \(neon\): (\d+) cases, 0 failures\n", done.stdout)
    assert count and int(count[1]) > 1000, done.stdout
