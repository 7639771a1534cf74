"""The C compiler: finding it, knowing it, running it.

A `Toolchain` is a compiler with its identity (path, size, mtime, version), the flags it accepts and
the CPU features those flags really switch on. Finding that costs three runs of the compiler, so it
is remembered in the compiledir: a warm start runs no compiler at all. This room turns C text into
the bytes of a shared object; it knows nothing of keys, entries or kernels.
"""

import hashlib
import os
import re
import stat
import sys
from typing import NamedTuple

from ..base.config import config
from ..base.errors import CompileError, CompilerMissing
from . import cpu, directories, process, system, upkeep, usage

# As fast as -O3 and a third cheaper to compile; plain -O2 of gcc 12 vectorises 4 loops of 51.
# Never -ffast-math: loading such a file changes subnormals for the whole process. The width of
# vectors is chosen in cpu.py.
PLACED = () if system.WINDOWS else ("-fPIC",)  # Windows code is position-independent anyway
COMMON = ("-O2", "-std=gnu11", *PLACED, "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd")
# Threaded jumps: what one choice says of a number decides the next, and gcc keeps the ways apart,
# so that a loop stays scalar: log1p, pow and arctan2 with gcc 13 and 14, 8 to 11 times as slow,
# clips of floats with gcc 12. Scalar loops (edit distance, crc16) are as fast without.
GCC = (
    *COMMON,
    "-fvect-cost-model=dynamic",
    "--param=vect-epilogues-nomask=0",
    "-fno-thread-jumps",
)
CLANG = (*COMMON, "-ffp-contract=fast")  # what gcc does without being asked

INSTALL = {
    "linux": "`apt install gcc`, `dnf install gcc`, `apk add gcc musl-dev` or "
    "`conda install gcc_linux-64`",
    "darwin": "`xcode-select --install`",
}  # fmt: skip
INSTALL_ANY = "Install one with `pip install ckernels[compiler]`"
INSTALL_NAMED = "CKERNELS_CC names another one."


class Toolchain(NamedTuple):
    """One compiler with the flags it accepts here. `identity` and `macros` are in every key."""

    command: tuple  # what to run; more than one word for wrappers such as `ccache gcc`
    path: str  # the compiler, symbolic links resolved
    stamp: str  # its size and mtime
    behind: tuple  # "path stamp" of the programs it runs in turn
    version: str  # the first line of --version
    flags: tuple  # ours and -march, without cc.cflags
    macros: str  # digest of every macro predefined with these flags and cc.cflags
    features: tuple  # the instruction sets among them
    detected: tuple  # those of them that -march=native found on this very CPU
    linker: str  # `ld`, run directly: 4 ms less than through the compiler's driver
    host: str  # fingerprint of the CPU this was found on

    @property
    def identity(self):
        return " ".join((self.path, self.stamp, *self.behind, self.version))

    def available(self):
        """Whether the programs are still those that were asked."""
        return process.stamp(self.path) == self.stamp and all(
            process.stamp(name) == stamp
            for name, stamp in (line.rsplit(" ", 1) for line in self.behind)
        )

    def compile(self, text, extra=()):
        """C text -> bytes of a shared object. CompileError carries the first complaint."""
        command = [*self.command, *self.flags, *extra]
        # Without libm: most kernels call nothing at all, and the two libraries cost 3 ms a link.
        libraries = system.LIBRARIES if re.search(r"\bextern\b", text) else ()
        try:
            return process.shared_object(command, text, self.linker, libraries, timeout())
        except process.Failed as error:
            raise CompileError(error.first_line) from error

    def link_again(self, text, extra=()):
        """As compile, but with libm and libgcc: for an object whose symbols dlopen did not find."""
        command = [*self.command, *self.flags, *extra]
        return process.shared_object(command, text, "", system.LIBRARIES, timeout())


def timeout():
    return config["cc.timeout"] or None


def own_flags():
    return tuple(config["cc.cflags"].split())


def candidates():
    """(command, asked for by name) of every compiler to try, in order."""
    import shlex  # start-up

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
    yield from ziglang()


def ziglang():
    """Zig, where `pip install ckernels[compiler]` brought it: run itself, not by way of Python,
    which would cost 20 ms a run."""
    import importlib.util  # start-up: only where there is no other compiler

    found = importlib.util.find_spec("ziglang")
    if found is not None and found.origin:
        name = "zig.exe" if os.name == "nt" else "zig"
        yield (os.path.join(os.path.dirname(found.origin), name), "cc"), False


def install_hint():
    others = INSTALL.get(sys.platform)
    return f"{INSTALL_ANY}{f', or with {others}' if others else ''}; {INSTALL_NAMED}"


def probe(command, found, host):
    """Ask the compiler what it is and which flags it takes; None when it cannot compile C."""
    limit = min(60, timeout() or 60)
    version = process.output([*command, "--version"], limit)
    if not version or not version.strip():
        return None
    family = CLANG if "clang" in version.lower() else GCC
    for base in (family, COMMON, ("-O2", *PLACED)):
        for arch in cpu.arch_choices(config["arch"]):
            flags = (*base, *arch)
            ours = macros_of(command, flags, limit)
            macros = macros_of(command, (*flags, *own_flags()), limit) if own_flags() else ours
            if not macros:
                continue
            native = arch and arch[0].endswith("=native")
            path, behind = programs(command, found)
            linker = (process.output([*command, "-print-prog-name=ld"], limit) or "").strip()
            linker = process.which(linker) if sys.platform == "linux" and linker else ""
            return Toolchain(
                command,
                path,
                process.stamp(path),
                behind,
                version_line(version),
                flags,
                hashlib.sha256("\n".join(macros).encode()).hexdigest(),
                tuple(cpu.features_of(macros)),
                tuple(cpu.features_of(ours) if native else ()),
                linker or "",
                host,
            )
    return None


def macros_of(command, flags, limit):
    """The lines of all predefined macros, sorted; [] where the compiler takes no such flags."""
    text = process.output([*command, *flags, "-dM", "-E", "-x", "c", os.devnull], limit) or ""
    return sorted(line for line in text.splitlines() if line.startswith("#define "))


def programs(command, found):
    """(path of the compiler, "path stamp" of what it runs in turn): their change is its change.

    A wrapper stays as it is when the compiler behind it is upgraded: `ccache gcc` names that, a
    script's is asked for (cc1), and `python -m ziglang cc` is Zig's, whatever Python runs it.
    The cc of `zig cc` is no program.
    """
    path = os.path.realpath(found)
    words = () if process.is_zig(found) else command[1:]
    behind = [process.which(word) for word in words if not word.startswith("-")]
    if len(command) > 2 and command[1] == "-m":
        code = "import sys, importlib.util as u; print(u.find_spec(sys.argv[1]).origin)"
        origin = (process.output([found, "-c", code, command[2]]) or "").strip()
        folder = os.path.dirname(origin)
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        tools = [os.path.join(folder, name) for name in names]
        tools = [tool for tool in tools if os.path.isfile(tool) and os.access(tool, os.X_OK)]
        path, behind = (tools or [origin or path])[0], tools[1:]
    else:
        behind.append((process.output([*command, "-print-prog-name=cc1"]) or "").strip())
    behind = sorted({os.path.realpath(name) for name in behind if name and os.path.isabs(name)})
    return path, tuple(f"{name} {process.stamp(name)}" for name in behind if name != path)


def version_line(text):
    """First line of --version without the name it was called by: `cc` and `gcc` may be one."""
    return re.sub(r"^\S+ (?=\()", "", text.splitlines()[0])


def find(directory=None, writable=True):
    """The first compiler that works. `directory` holds what earlier processes found out, and is
    told what this one does if it is writable."""
    host = cpu.host_fingerprint()
    for command, strict in candidates():
        found = process.which(command[0])
        if found is None:
            if strict:
                raise CompilerMissing(f"there is no C compiler {command[0]!r}", install_hint())
            continue
        command = (found, *command[1:])
        memo = memo_name(directory, command, host)
        toolchain = recall(memo)
        if toolchain is None or toolchain.command != command or not toolchain.available():
            toolchain = probe(command, found, host)
            if toolchain is not None and writable:
                remember(memo, toolchain)
        if toolchain is not None:
            return toolchain
        if strict:
            raise CompilerMissing(f"the C compiler {command[0]!r} does not work", install_hint())
        process.log("compiler", "info", "%s does not compile C; trying the next", found)
    return orphan(directory, host)


def orphan(directory, host):
    """The remembered Toolchain of a compiler that is gone, whose kernels can still be used (as in
    an image without gcc), or None.

    Taken is one that was found on this kind of CPU, else the one with most features of those whose
    features this CPU has.
    """
    try:
        names = sorted(n for n in os.listdir(directory or "") if n.startswith("toolchain-"))
    except OSError:
        names = []
    known = [recall(os.path.join(directory, name)) for name in names]
    fitting = [
        t
        for t in known
        if t is not None
        and (t.host == host or cpu.is_x86() and t.features and not cpu.lacking(t.features))
    ]
    if not fitting:
        raise CompilerMissing("ckernels found no C compiler", install_hint())
    return max(fitting, key=lambda t: (t.host == host, len(t.features)))


def memo_name(directory, command, host):
    if not directory:
        return None
    path = os.path.realpath(command[0])
    parts = (
        *command,
        path,
        process.stamp(path),
        host,
        config["arch"],
        *own_flags(),
        *GCC,
        *CLANG,
        *Toolchain._fields,
    )
    return os.path.join(
        directory, f"toolchain-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:32]}"
    )


def recall(memo):
    """The Toolchain remembered in the file `memo`, or None. A digest guards against torn files.

    Its flags go to the compiler, so it is trusted no further than an entry: owner, mode, no links.
    """
    try:
        with upkeep.opened(memo) as (fd, info):
            if not stat.S_ISREG(info.st_mode) or directories.unsafe(info):
                return None
            digest, body = system.read_all(fd).decode("utf-8").split("\n", 1)
        if hashlib.sha256(body.encode()).hexdigest() != digest:
            return None
        types = Toolchain.__annotations__
        values = dict(line.split("=", 1) for line in body.splitlines())
        return Toolchain(
            **{
                name: tuple(filter(None, value.split("\t"))) if types[name] is tuple else value
                for name, value in values.items()
            }
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember(memo, toolchain):
    if memo is None or not os.path.isdir(os.path.dirname(memo)):
        return
    body = "\n".join(
        f"{name}={value if isinstance(value, str) else chr(9).join(value)}"
        for name, value in toolchain._asdict().items()
    )
    data = f"{hashlib.sha256(body.encode()).hexdigest()}\n{body}".encode()
    try:
        usage.announce(os.path.dirname(memo), len(data), 1)
        process.write_atomically(memo, data)
    except OSError as error:
        process.log("compiler", "debug", "not remembered: %s", error)
