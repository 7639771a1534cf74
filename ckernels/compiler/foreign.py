"""Whole sources that others wrote: C++ with headers and libraries of their own.

A source is compiled alone, by the C++ compiler that belongs to the C compiler, linked as its author
asks, and kept in the compiledir like a kernel: named by the SHA-256 of all that decides its machine
code, sealed, and loaded from memory. It says what it offers in a table of its own (`offer`).
"""

import hashlib
import os
import sys
from typing import NamedTuple

from ..base import locks
from ..base.errors import CompileError, CompilerMissing
from . import cache, current_toolchain, loader, process, toolchain

_lock = locks.lock()
_loaded = {}  # key -> {name: address}


class Foreign(NamedTuple):
    """One source; `text` ends with what `offer` gives."""

    title: str  # for messages and notes
    text: str
    flags: tuple = ()  # for the compiler: -I, -D, -O, ...
    libraries: tuple = ()  # for the linker, after the object: -L, -l
    without: tuple = ()  # flags of ours that its author does not want
    stamp: str = ""  # of all else that decides the machine code, such as versions of headers
    compiler: str = ""  # a C++ compiler by name; "": the one beside the C compiler


def offer(names):
    """C++ text of the table of functions that a source offers: {name in the table: C name}."""
    rows = "".join(f'    {{ "{name}", (ck_fn){symbol} }},\n' for name, symbol in names.items())
    return (
        'extern "C" {\ntypedef void (*ck_fn)(void);\n'
        "typedef struct { const char *key; ck_fn fn; } ck_entry;\n"
        "extern const ck_entry ck_kernels[];\nconst ck_entry ck_kernels[] = {\n"
        f"{rows}    {{ 0, 0 }}\n}};\n}}\n"
    )


def provide(source):
    """{name: address} of the functions of a source, compiled where no compiledir holds it."""
    tools = current_toolchain()
    command = cxx(tools, source.compiler)
    flags = tuple(f for f in (*tools.flags, *toolchain.own_flags()) if f not in source.without)
    flags = tuple(f for f in flags if f != "-std=gnu11") + source.flags
    key = key_of(source, tools, command, flags)
    with _lock:
        found = _loaded.get(key)
        if found is None:
            found = _loaded[key] = _kept(key) or _made(source, key, command, flags, tools)
    return found


def key_of(source, tools, command, flags):
    """The name of a source in the compiledir."""
    parts = (
        str(cache.ABI),
        tools.identity,
        tools.macros,
        " ".join(command),
        process.stamp(os.path.realpath(command[0])),
        "\0".join(flags),
        "\0".join(source.libraries),
        source.stamp,
        source.text,
    )
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:{part}\0".encode())
    return digest.hexdigest()


def cxx(tools, named=""):
    """The command of the C++ compiler: the one that was named, or that of the C compiler's family.

    CompilerMissing where there is none.
    """
    folder, name = os.path.split(tools.command[0])
    twin = name.replace("clang", "clang++") if "clang" in name else name.replace("gcc", "g++")
    twin = "c++" if twin in ("cc", name) else twin
    for candidate in filter(None, (named, os.path.join(folder, twin), "c++", "g++", "clang++")):
        found = process.which(candidate)
        if found is not None:
            return (found,)
    raise CompilerMissing(
        "there is no C++ compiler", "Install g++ or clang++ beside the C compiler."
    )


def _kept(key):
    elf = cache.current().get(key)
    if elf is None:
        return None
    try:
        found = loader.load(elf)
    except OSError as error:
        cache.warning("%s does not load (%s); building it again", key, error)
        return None
    cache.current().hit([key])
    return found


def _made(source, key, command, flags, tools):
    """Compile, load, publish."""
    try:
        elf = _compiled(source, [*command, *flags])
        found = loader.load(elf)
    except (process.Failed, OSError) as error:
        path = cache.current().keep_source(key, source.text)
        said = error.first_line if isinstance(error, process.Failed) else str(error)
        message = f"the C++ compiler {command[0]} failed on {source.title}: {said}"
        raise CompileError(f"{message}\nThe source was kept: {path}", path) from error
    note = {
        "key": key,
        "name": source.title,
        "compiler": tools.identity,
        "flags": list(flags),
        "meta": {"form": "foreign"},
        "source": source.text,
    }
    cache.publish(lambda store: store.put(elf, [key], {key: note}, tools.features))
    return found


def _compiled(source, command):
    import tempfile  # start-up: programs without C Ops never need it

    with tempfile.TemporaryDirectory(prefix="ckernels-") as directory:
        target = os.path.join(directory, "source.so")
        shared = (
            ["-shared", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
        )
        process.run(
            [*command, "-pipe", *shared, "-x", "c++", "-", "-o", target, *source.libraries],
            source.text.encode(),
            toolchain.timeout(),
        )
        with open(target, "rb") as stream:
            return stream.read()
