"""Kernels that came with the wheel: what serves where there is no compiler.

`ckernels/prebuilt/` holds one library for each instruction set, made by build_tools/prebuilt.py
from the kernels of common programs. A library is code of the package, trusted and opened as its
runtime is. An install from source has none.
"""

import os
import platform
from functools import lru_cache

from . import cpu, loader
from .toolchain import Toolchain

PLACE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "prebuilt")
# The instruction sets there may be libraries for, best first; what the CPU must have for each.
LEVELS = {
    "x86-64-v4": cpu.LEVELS["x86-64-v4"][0] | cpu.LEVELS["x86-64-v3"][0],
    "x86-64-v3": cpu.LEVELS["x86-64-v3"][0],
    "armv8-a": frozenset(),  # NEON is part of it
}


def fits(level, machine=None, words=None):
    """Whether this CPU runs kernels of `level`; words: what it says it has, None if unknown."""
    machine = machine or platform.machine()
    if level.startswith("x86"):
        return cpu.is_x86(machine) and bool(words) and LEVELS[level] <= words
    return machine in ("aarch64", "arm64")


@lru_cache(maxsize=1)
def level():
    """The best level that is here and that this CPU runs; "" without one."""
    words = cpu.cpu_flags()[1]
    for name in LEVELS:
        if os.path.isfile(path(name)) and fits(name, words=words):
            return name
    return ""


def path(name):
    return os.path.join(PLACE, f"{name}.so")


def stand_in(name):
    """What stands for a compiler in the keys of a library's kernels: it compiles nothing."""
    return Toolchain((), "", "none", (), "prebuilt", (name,), name, (), (), "", "")


@lru_cache(maxsize=1)
def kernels():
    """{key: address} of the kernels that came with the wheel and run here."""
    return loader.load_file(path(level())) if level() else {}
