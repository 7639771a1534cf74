"""The CPU: which instructions it has, what to call it, which -march asks for them.

Machines share home directories, and -march=native is not one thing: kernels are stamped with the
features they need, and refused where the CPU lacks one. What a compiler says it enables is named
after its macros (__AVX512F__), what the CPU has after the words of /proc/cpuinfo.
"""

import hashlib
import platform
import re
import sys
from functools import lru_cache

from . import process

# x86-64 levels: what the CPU must have, and an equal CPU's name for compilers older than gcc 11.
LEVELS = {
    "x86-64-v4": ({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}, "skylake-avx512"),
    "x86-64-v3": ({"avx2", "fma", "bmi1", "bmi2", "movbe", "f16c", "abm"}, "haswell"),
    "x86-64-v2": ({"sse4_2", "popcnt", "ssse3", "cx16"}, "nehalem"),
}  # fmt: skip
ISA = re.compile(r"#define __(S?SSE|AVX|FMA|F16C|BMI|LZCNT|POPCNT|GFNI|VAES|ARM_FEATURE_|ALTIVEC)")
WORDS = {"bmi": "bmi1", "lzcnt": "abm", "sse3": "pni"}  # macro -> /proc/cpuinfo, where they differ
_trusted = set()  # features a compiler found on this very CPU, whatever /proc/cpuinfo calls them


def is_x86(machine=None):
    return (machine or platform.machine()) in ("x86_64", "AMD64")


def cpu_flags(cpuinfo="/proc/cpuinfo"):
    """(lines that name the first CPU, set of its feature words); ("", None) if unknown."""
    wanted = ("vendor_id", "model name", "cpu family", "model", "stepping", "flags", "Features")
    wanted += ("CPU implementer", "CPU part", "CPU variant", "CPU architecture", "isa")
    try:
        with open(cpuinfo, encoding="utf-8", errors="replace") as stream:
            block = stream.read(16384).split("\n\n")[0]
    except OSError:
        return "", None
    lines = [line for line in block.splitlines() if line.split("\t")[0].strip(" :") in wanted]
    words = [line.split(":", 1)[1].split() for line in lines if line.startswith(("flags", "Feat"))]
    return "\n".join(lines), (set(words[0]) if words else None)


@lru_cache(maxsize=1)
def host_fingerprint():
    """Names this CPU: the same for equal machines, another one where a feature differs."""
    text = "\n".join((platform.machine(), sys.platform, cpu_flags()[0] or platform.version()))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@lru_cache(maxsize=1)
def _words():
    words = cpu_flags()[1]
    return None if words is None else frozenset(word.replace("_", "") for word in words)


def features_of(macros):
    """The instruction sets among predefined macros (lines of `cc -dM -E`), sorted."""
    found = {line.split()[1].strip("_").lower() for line in macros if ISA.match(line)}
    return sorted(name for name in found if not name.endswith("_math"))


def lacking(features):
    """Those of `features` that this CPU does not have; [] where nobody can tell."""
    words = _words()
    if words is None or not is_x86():
        return []
    return [
        name
        for name in features
        if name not in _trusted and WORDS.get(name, name).replace("_", "") not in words
    ]


def trust(features):
    """Features that a compiler detected on this CPU are there, even under names unknown here."""
    _trusted.update(features)


# What gcc 12 takes by itself on Zen 5. On Intel it takes 256 bits, and then leaves loops over sine,
# cosine and remainders scalar: 4096 x 768 softmax 2.2 ms with it and 3.2 without (Sapphire Rapids,
# two cores), exp and tanh 2.7 and 3.3 ms. In light
# loops over what is in L2 it depends on where a user's arrays lie: five streams of 100,000 floats
# take 0.91 of the time of 256 bits where all begin a cache line, 1.0 at 16 bytes after one, 1.27 at
# 32. Our own buffers begin lines.
WIDE = "-mprefer-vector-width=512"


def arch_choices(arch, machine=None, words=None):
    """Flag tuples to try in turn for the flag `arch`; the last one always works."""
    if arch == "generic":
        return [()]
    if not is_x86(machine):
        return [("-mcpu=native",), ("-march=native",), ()] if arch == "native" else [()]
    words = cpu_flags()[1] if words is None else words
    choices = [("-march=native",)] if arch == "native" else []
    if choices and words is not None and "avx512f" in words:
        choices.insert(0, ("-march=native", WIDE))
    for level, (needed, old_name) in LEVELS.items():
        if arch not in ("native", level) and not choices:
            continue  # levels above the one asked for
        if words is not None and not needed <= words:
            if level == arch:
                process.log("compiler", "warning", "this CPU is not %s: next level below", level)
                arch = "native"  # from here on: the best level it has
            continue
        choices += [(f"-march={level}",), (f"-march={old_name}",)]
    return [*choices, ()]
