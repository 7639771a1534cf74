"""A compiledir in one file: `bundle` writes it, `restore` takes it apart on another machine.

The file is a compressed tar of entries, plans, their notes and remembered compilers, so that an
image without a compiler finds the kernels built elsewhere. `restore` trusts nothing in it but what
its digests vouch for, and no name it would not have given itself. A digest is no signature: like a
wheel, a bundle is code, and its maker must be trusted.
"""

import contextlib
import io
import json
import os
import re
import tarfile
import time
import zlib

from ..errors import CacheError
from . import cpu, process, toolchain
from .entry import KEY, keys_of, unseal
from .upkeep import check, opened

NAME = re.compile(r"(?:([0-9a-f]{64})\.(so|plan|json)|(toolchain-[0-9a-f]{32}))")
LARGEST = 1 << 30  # bytes of one member


def write(store, path):
    """Write the verified entries of a Cache to the file `path`; (kernels, plans, bytes)."""
    kernels = plans = 0
    temporary = process.temporary_name(os.path.dirname(os.path.abspath(path)))
    try:
        with tarfile.open(temporary, "x:gz") as archive:
            for suffix in ("so", "plan"):
                for _, _, keys in store.entries(suffix):
                    with contextlib.suppress(OSError, ValueError):  # bad, or evicted meanwhile
                        with opened(store.path(keys[0], "." + suffix)) as (fd, info):
                            check(fd, info, keys[0])
                            data = process.read_all(fd)
                        add(archive, f"{keys[0]}.{suffix}", data)
                        kernels += len(keys) * (suffix == "so")
                        plans += suffix == "plan"
                        for key in keys if suffix == "so" else ():
                            add(archive, key + ".json", json.dumps(store.note(key)).encode())
            for name in sorted(os.listdir(store.directory)):
                if name.startswith("toolchain-") and NAME.fullmatch(name):
                    with open(os.path.join(store.directory, name), "rb") as stream:
                        add(archive, name, stream.read())
        os.replace(temporary, path)
    except OSError as error:
        process.quietly(os.unlink, temporary)
        reason = error.strerror or error
        raise CacheError(f"the bundle {path} cannot be written: {reason}") from error
    return kernels, plans, os.stat(path).st_size


def add(archive, name, data):
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = len(data), 0o600, int(time.time())
    archive.addfile(member, io.BytesIO(data))


class Restored:
    """What `restore` did: counts, [(name, why it was refused)], kernels for other CPUs."""

    def __init__(self):
        self.kernels = self.plans = self.compilers = self.foreign = 0
        self.refused = []


def restore(store, path):
    """Put what a bundle holds into a Cache, each entry after its digest was checked."""
    done, entries, notes = Restored(), [], {}
    try:
        with tarfile.open(path, "r:*") as archive:
            for member in archive:
                match = NAME.fullmatch(member.name)
                if match is None or not member.isreg() or member.size > LARGEST:
                    done.refused.append((member.name[:100], "no name or kind of file of a bundle"))
                    continue
                data = archive.extractfile(member).read()
                key, suffix, compiler = match.groups()
                if suffix == "json":
                    notes[key] = data
                elif compiler:
                    restore_compiler(store, compiler, data, done)
                else:
                    restore_entry(store, key, suffix, data, done, entries)
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or "it ends too early"
        raise CacheError(f"the bundle {path} cannot be read: {reason}. {done.kernels} kernels were "
                         "restored before that") from error  # fmt: skip
    for key in entries:
        with contextlib.suppress(ValueError, OSError):
            if isinstance(json.loads(notes.get(key, b"0")), dict):
                process.write_atomically(store.path(key, ".json"), notes[key])
    if entries:  # the notes were not counted
        store.evict()
    return done


def restore_entry(store, key, suffix, data, done, entries):
    try:
        unseal(data, key)
        keys = keys_of(data)
        if not all(KEY.fullmatch(each) for each in keys) or suffix == "plan" and len(keys) != 1:
            raise ValueError("its keys are none")
    except ValueError as error:
        done.refused.append((f"{key}.{suffix}", str(error)))
        return
    if not store.adopt(data, keys, "." + suffix):
        raise CacheError(f"{store.directory} cannot be written: {store.trouble}")
    try:
        unseal(data, key, cpu.lacking)
    except ValueError:
        done.foreign += len(keys)
    if suffix == "so":
        done.kernels += len(keys)
        entries += keys
    else:
        done.plans += 1


def restore_compiler(store, name, data, done):
    path = os.path.join(store.directory, name)
    try:
        process.write_atomically(path, data)
    except OSError:
        return
    if toolchain.recall(path) is None:
        process.quietly(os.unlink, path)
        done.refused.append((name, "its SHA-256 is not the one it was written with"))
    else:
        done.compilers += 1
