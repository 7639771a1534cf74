"""Machines to compile for and ways to run there: `cases()` for pytest, with reasons to skip.

A Machine's `compiler` is a command to which sources are added, its `runner` one to which the
program is.
"""

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from .build import GCC, STRICT

HERE = Path(__file__).parent / "machine"


class Machine(NamedTuple):
    name: str
    compiler: tuple
    runner: tuple = ()
    needs: tuple = ()  # programs that have to be there, or modules of Python
    more: tuple = ()  # sources of the machine's own
    suffix: str = ""


ZIG = (sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=all")
MACHINES = [
    Machine("gcc", (GCC or "gcc", "-O2"), needs=(GCC or "gcc",)),
    Machine("clang", ("clang", "-O2"), needs=("clang",)),
    Machine("zig", (*ZIG, "-O2"), needs=("ziglang",)),
    Machine("aarch64", ("aarch64-linux-gnu-gcc", "-O2", "-static"), ("qemu-aarch64",),
            ("aarch64-linux-gnu-gcc", "qemu-aarch64")),
    Machine("cortex_m4", (
        "arm-none-eabi-gcc", "-O2", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard",
        "-mfpu=fpv4-sp-d16", "--specs=rdimon.specs", "-T", str(HERE / "cortex_m4.ld")), (
        "qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none",
        "-semihosting-config", "enable=on,target=native", "-kernel"),
        ("arm-none-eabi-gcc", "qemu-system-arm"), (str(HERE / "cortex_m4.c"),)),
    Machine("wasm", (*ZIG, "--target=wasm32-wasi", "-O2"),
            ("node", "--no-warnings", str(HERE / "wasi.mjs")), ("ziglang", "node"), (), ".wasm"),
]  # fmt: skip


def missing(machine):
    """What is not there, or None."""
    for need in machine.needs:
        if shutil.which(need) is None and importlib.util.find_spec(need) is None:
            return need
    return None


def cases():
    found = []
    for machine in MACHINES:
        lacks = missing(machine)
        marks = [pytest.mark.skipif(lacks is not None, reason=f"there is no {lacks}")]
        found.append(pytest.param(machine, id=machine.name, marks=marks))
    return found


def program(machine, folder, prefix, build, *flags):
    """The command that runs PREFIX.c with its test on the machine; it is compiled."""
    made = build(
        folder,
        prefix,
        *flags,
        *machine.more,
        compiler=machine.compiler,
        strict=STRICT,
        out=f"{machine.name}{machine.suffix}",
    )
    return [*machine.runner, made]
