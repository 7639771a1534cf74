"""Kernels for NEON, AVX2 and x86-64 without AVX beside naive loops (naive.c), in an emulator."""

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

ARM, X86 = (platform.machine() in names for names in (("aarch64", "arm64"), ("x86_64", "AMD64")))
SETS = {"Nehalem": "", "Haswell": " (avx2)", "EPYC-Rome": " (avx2)"}  # models of qemu-x86_64


def compiler():
    """A command that compiles for aarch64, or None."""
    if ARM:
        return [shutil.which("gcc") or shutil.which("cc")]
    if gcc := shutil.which("aarch64-linux-gnu-gcc"):
        return [gcc]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl"]
    return None


EMULATOR = [] if ARM else [shutil.which("qemu-aarch64")]


def program(folder, command):
    """Path of naive.c with the kernels, compiled by `command` without a library of this system."""
    for name in ("serial", "no_blas"):
        (folder / f"{name}.c").write_text(portable.support(name))
    files = [SOURCES / "simd" / "simd.c", *(SOURCES / "image").glob("*.c")]
    files += [SOURCES / "gemm" / "gemm.c", SOURCES / "gemm" / "builtin.c"]
    files += [*folder.glob("*.c"), Path(__file__).with_name("naive.c")]
    flags = ["-O3", "-std=gnu11", "-fno-math-errno", "-Wall", "-Wextra", "-Werror", "-static"]
    made = folder / "naive"
    subprocess.run([*command, *flags, "-I", SOURCES, *files, "-o", made, "-lm"], check=True)
    return made


def check(command, chosen):
    """That it takes the instruction set `chosen`, and every case is equal."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    count = re.fullmatch(rf"builtin{re.escape(chosen)}: (\d+) cases, 0 failures\n", done.stdout)
    assert count and int(count[1]) > 1000, done.stdout


@pytest.mark.slow  # 15 s: a compiler and an emulator
@pytest.mark.skipif(compiler() is None, reason="no compiler for aarch64: gcc or ziglang")
@pytest.mark.skipif(EMULATOR == [None], reason="there is no qemu-aarch64")
def test_kernels_for_neon(tmp_path):
    check([*EMULATOR, program(tmp_path, compiler())], " (neon)")


@pytest.mark.slow  # a minute: a compiler and an emulator
@pytest.mark.skipif(not X86 or not shutil.which("gcc"), reason="needs gcc for x86-64")
@pytest.mark.skipif(not shutil.which("qemu-x86_64"), reason="there is no qemu-x86_64")
def test_kernels_of_lesser_x86(tmp_path):
    """An instruction that a CPU does not have ends the program there."""
    made = program(tmp_path, ["gcc"])
    for model, chosen in SETS.items():
        check(["qemu-x86_64", "-cpu", model, made], chosen)
