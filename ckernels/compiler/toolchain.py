"""The C compiler: finding it, knowing it, running it.

A `Toolchain` is a compiler with its identity (path, size, mtime, version), the flags it accepts and
the CPU features those flags really switch on. Finding that costs three runs of the compiler, so it
is remembered in the compiledir: a warm start runs no compiler at all. This room turns C text into
the bytes of a shared object; it knows nothing of keys, entries or kernels.
"""

import hashlib
import os
import platform
import re
import sys
from typing import NamedTuple

from ..config import config
from ..errors import CompileError, CompilerMissing
from . import process

# As fast as -O3 and a third cheaper to compile; plain -O2 of gcc 12 vectorises 4 loops of 51.
# Never -ffast-math: loading such a file changes subnormals for the whole process. No vector width
# for all: gcc 12 already takes 512 bits on Zen 5, and on Intel only transcendentals gain by it.
COMMON = ("-O2", "-std=gnu11", "-fPIC", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd")
GCC = (*COMMON, "-fvect-cost-model=dynamic", "--param=vect-epilogues-nomask=0")
CLANG = (*COMMON, "-ffp-contract=fast")  # what gcc does without being asked

# x86-64 levels: what the CPU must have, and an equal CPU's name for compilers older than gcc 11.
LEVELS = {
    "x86-64-v4": ({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}, "skylake-avx512"),
    "x86-64-v3": ({"avx2", "fma", "bmi1", "bmi2", "movbe", "f16c", "abm"}, "haswell"),
    "x86-64-v2": ({"sse4_2", "popcnt", "ssse3", "cx16"}, "nehalem"),
}
ISA = re.compile(r"#define __(S?SSE|AVX|FMA|F16C|BMI|LZCNT|POPCNT|GFNI|VAES|ARM_FEATURE_|ALTIVEC)")
INSTALL = {
    "linux": "Install one with `apt install gcc`, `dnf install gcc`, `apk add gcc musl-dev` or "
    "`conda install gcc_linux-64`;",
    "darwin": "Install one with `xcode-select --install`;",
}
INSTALL_ANY = " or name one in CKERNELS_CC. Until then everything runs through NumPy."


class Toolchain(NamedTuple):
    """One compiler with the flags it accepts here. `identity` and `cpu` are parts of every key."""

    command: tuple  # what to run; more than one word for wrappers such as `ccache gcc`
    path: str  # the compiler, symbolic links resolved
    stamp: str  # its size and mtime
    version: str  # the first line of --version
    flags: tuple  # ours and -march, without cc.cflags
    macros: str  # digest of every macro predefined with these flags
    features: tuple  # the instruction sets among them, for people
    linker: str  # `ld`, run directly: 4 ms less than through the compiler's driver
    host: str  # fingerprint of the CPU this was found on

    @property
    def identity(self):
        return f"{self.path} {self.stamp} {self.version}"

    def available(self):
        return process.stamp(self.path) == self.stamp

    def compile(self, text, extra=()):
        """C text -> bytes of a shared object. CompileError carries the first complaint."""
        command = [*self.command, *self.flags, *extra]
        # Without libm: most kernels call nothing at all, and the two libraries cost 3 ms a link.
        libraries = ("-lm", "-lgcc") if re.search(r"\bextern\b", text) else ()
        try:
            return process.shared_object(command, text, self.linker, libraries, timeout())
        except process.Failed as error:
            raise CompileError(error.first_line) from error

    def link_again(self, text, extra=()):
        """As compile, but with libm and libgcc: for an object whose symbols dlopen did not find."""
        command = [*self.command, *self.flags, *extra]
        return process.shared_object(command, text, "", ("-lm", "-lgcc"), timeout())


def timeout():
    return config["cc.timeout"] or None


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


def host_fingerprint():
    """Names this CPU: machines share home directories, and -march=native is not one thing."""
    text = "\n".join((platform.machine(), sys.platform, cpu_flags()[0] or platform.version()))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def arch_choices(arch, machine=None, words=None):
    """Flag tuples to try in turn for the flag `arch`; the last one always works."""
    machine = machine or platform.machine()
    if arch == "generic":
        return [()]
    if machine not in ("x86_64", "AMD64"):
        return [("-mcpu=native",), ("-march=native",), ()] if arch == "native" else [()]
    words = cpu_flags()[1] if words is None else words
    choices = [("-march=native",)] if arch == "native" else []
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


def candidates():
    """(command, asked for by name) of every compiler to try, in order."""
    import shlex

    for value, strict in (
        (str(config["cc"]), True),
        (os.environ.get("CKERNELS_CC", ""), True),
        (os.environ.get("CC", ""), False),
        ("cc", False),
        ("gcc", False),
        ("clang", False),
    ):
        if value:
            # A whole path may hold spaces; anything else may be a command with arguments.
            yield ((value,) if os.path.isfile(value) else tuple(shlex.split(value))), strict


def install_hint():
    return INSTALL.get(sys.platform, "Install gcc or clang;") + INSTALL_ANY


def probe(command, path, host):
    """Ask the compiler what it is and which flags it takes; None when it cannot compile C."""
    version = process.output([*command, "--version"])
    if version is None:
        return None
    family = CLANG if "clang" in version.lower() else GCC
    for base in (family, COMMON, ("-O2", "-fPIC")):
        for arch in arch_choices(config["arch"]):
            flags = (*base, *arch)
            macros = process.output([*command, *flags, "-dM", "-E", "-x", "c", os.devnull])
            if macros:
                lines = sorted(macros.splitlines())
                found = sorted({line.split()[1].strip("_").lower() for line in lines
                                if ISA.match(line)})  # fmt: skip
                linker = process.output([*command, "-print-prog-name=ld"]) or ""
                linker = process.which(linker.strip()) if sys.platform == "linux" else ""
                return Toolchain(
                    command, path, process.stamp(path), version_line(version), flags,
                    hashlib.sha256("\n".join(lines).encode()).hexdigest(), tuple(found),
                    linker or "", host,
                )  # fmt: skip
    return None


def version_line(text):
    """First line of --version without the name it was called by: `cc` and `gcc` may be one."""
    return re.sub(r"^\S+ (?=\()", "", text.splitlines()[0])


def find(directory=None):
    """The first compiler that works. `directory` holds what earlier processes found out."""
    host = host_fingerprint()
    for command, strict in candidates():
        found = process.which(command[0])
        if found is None:
            if strict:
                raise CompilerMissing(f"there is no C compiler {command[0]!r}", install_hint())
            continue
        path = os.path.realpath(found)
        command = (found, *command[1:])
        memo = memo_name(directory, command, path, host)
        toolchain = recall(memo)
        if toolchain is None:
            toolchain = probe(command, path, host)
            if toolchain is not None:
                remember(memo, toolchain)
        if toolchain is not None:
            return toolchain
        if strict:
            raise CompilerMissing(f"the C compiler {command[0]!r} does not work", install_hint())
        process.log("compiler", "info", "%s does not compile C; trying the next", found)
    return orphan(directory, host)


def orphan(directory, host):
    """No compiler now, but there was one: its kernels still serve (an image that dropped gcc)."""
    try:
        names = sorted(n for n in os.listdir(directory or "") if n.startswith("toolchain-"))
    except OSError:
        names = []
    for name in names:
        toolchain = recall(os.path.join(directory, name))
        if toolchain is not None and toolchain.host == host:
            return toolchain
    raise CompilerMissing("ckernels found no C compiler", install_hint())


def memo_name(directory, command, path, host):
    if not directory:
        return None
    parts = (*command, path, process.stamp(path), host, config["arch"], *GCC, *CLANG)
    return os.path.join(
        directory, f"toolchain-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:32]}"
    )


def recall(memo):
    """The Toolchain remembered in the file `memo`, or None. A digest guards against torn files."""
    try:
        with open(memo, encoding="utf-8") as stream:
            digest, body = stream.read().split("\n", 1)
        if hashlib.sha256(body.encode()).hexdigest() != digest:
            return None
        types = Toolchain.__annotations__
        values = dict(line.split("=", 1) for line in body.splitlines())
        return Toolchain(**{
            name: tuple(filter(None, value.split("\t"))) if types[name] is tuple else value
            for name, value in values.items()
        })  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember(memo, toolchain):
    if memo is None or not os.path.isdir(os.path.dirname(memo)):
        return
    body = "\n".join(
        f"{name}={value if isinstance(value, str) else chr(9).join(value)}"
        for name, value in toolchain._asdict().items()
    )
    digest = hashlib.sha256(body.encode()).hexdigest()
    try:
        process.write_atomically(memo, f"{digest}\n{body}".encode())
    except OSError as error:
        process.log("compiler", "debug", "not remembered: %s", error)
