"""A compiledir in one file: `bundle` writes it, `restore` takes it apart on another machine.

The file is a compressed tar of entries, plans, their notes and remembered compilers, so that an
image without a compiler finds the kernels built elsewhere. `restore` takes only members whose
digests are right and whose names it would have given itself. A digest is no signature: like a
wheel, a bundle is code, and its maker must be trusted.
"""

import contextlib
import gzip
import io
import json
import os
import re
import tarfile
import time
import zlib

from ..base.errors import CacheError
from . import cpu, process, system, toolchain
from .entry import KEY, keys_of, unseal
from .upkeep import check, opened

NAME = re.compile(r"(?:([0-9a-f]{64})\.(so|plan|json)|(toolchain-[0-9a-f]{32}))")
# Bytes of one member, by its kind. A shared object of 500 kernels has 6 MB; a note holds the C of
# one kernel (17 kB in the largest of 12,000 seen), a remembered compiler what it said of itself.
LARGEST = {"so": 1 << 28, "plan": 1 << 28, "json": 1 << 20, "compiler": 1 << 16}
HEADER = 1 << 20  # bytes that tarfile may ask for at once: headers can claim any size
MEMBERS = 1 << 20  # tarfile remembers each of them
SHOWN = 1000  # refusals that are reported one by one


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
                            data = system.read_all(fd)
                        add(archive, f"{keys[0]}.{suffix}", data)
                        kernels += len(keys) * (suffix == "so")
                        plans += suffix == "plan"
                        for key in keys if suffix == "so" else ():
                            note = json.dumps(store.note(key)).encode()
                            if len(note) <= LARGEST["json"]:
                                add(archive, key + ".json", note)
            for name in sorted(os.listdir(store.directory)):
                if name.startswith("toolchain-") and NAME.fullmatch(name):
                    with open(os.path.join(store.directory, name), "rb") as stream:
                        add(archive, name, stream.read())
        system.replace(temporary, path)
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

    def refuse(self, name, why):
        """Note that a member was refused; of very many, the first ones."""
        if len(self.refused) < SHOWN:
            self.refused.append((name[:100], why))


class Bounded:
    """The bytes of a bundle for tarfile, which reads no more of them at once than a header has."""

    def __init__(self, stream):
        self.stream = stream
        self.tell, self.seek, self.close = stream.tell, stream.seek, stream.close

    def read(self, size):
        """`size` bytes; ReadError where that is more than any header needs."""
        if not 0 <= size <= HEADER:
            raise tarfile.ReadError(f"a header claims to have {size} bytes")
        return self.stream.read(size)


def uncompressed(path):
    """The file of a bundle, opened for its tar: bundles are written by gzip."""
    with open(path, "rb") as stream:
        plain = stream.read(2) != b"\x1f\x8b"
    return open(path, "rb") if plain else gzip.open(path)


def members(path, refuse):
    """(name, suffix or "compiler", member, archive) of what a bundle may hold, one by one."""
    with uncompressed(path) as stream, tarfile.open(fileobj=Bounded(stream), mode="r:") as archive:
        for count, member in enumerate(archive):
            if count == MEMBERS:
                raise tarfile.ReadError(f"it has more than {MEMBERS} members")
            match = NAME.fullmatch(member.name)
            if match is None or not member.isreg():
                refuse(member.name, "no name or kind of file of a bundle")
                continue
            key, suffix, compiler = match.groups()
            kind = suffix or "compiler"
            if member.size > LARGEST[kind]:
                refuse(member.name, f"{member.size} bytes are more than a file of its kind has")
                continue
            yield key or compiler, kind, member, archive


def content(archive, member):
    """The bytes of a member, read in pieces."""
    stream = archive.extractfile(member)
    data = b"".join(iter(lambda: stream.read(HEADER), b""))
    if len(data) != member.size:
        raise EOFError
    return data


def restore(store, path):
    """Put what a bundle holds into a Cache, each entry after its digest was checked.

    In two passes: entries, then the notes of those that were taken; one member is held at a time.
    """
    done, entries = Restored(), set()
    try:
        for name, kind, member, archive in members(path, done.refuse):
            if kind == "compiler":
                restore_compiler(store, name, content(archive, member), done)
            elif kind != "json":
                restore_entry(store, name, kind, content(archive, member), done, entries)
        for name, kind, member, archive in members(path, lambda *_: None):
            if kind == "json" and name in entries:
                restore_note(store, name, content(archive, member))
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or "it ends too early"
        raise CacheError(
            f"the bundle {path} cannot be read: {reason}. {done.kernels} kernels were "
            "restored before that"
        ) from error
    if entries:  # of the first pass: notes were not counted in it
        store.evict()
    return done


def restore_note(store, key, data):
    """The note of an entry, for people; one that is none is left out."""
    with contextlib.suppress(ValueError, OSError, RecursionError):
        if isinstance(json.loads(data), dict):
            process.write_atomically(store.path(key, ".json"), data)


def restore_entry(store, key, suffix, data, done, entries):
    try:
        unseal(data, key)
        keys = keys_of(data)
        if not all(KEY.fullmatch(each) for each in keys) or suffix == "plan" and len(keys) != 1:
            raise ValueError("its keys are none")
    except ValueError as error:
        done.refuse(f"{key}.{suffix}", str(error))
        return
    if not store.adopt(data, keys, "." + suffix):
        raise CacheError(f"{store.directory} cannot be written: {store.trouble}")
    try:
        unseal(data, key, cpu.lacking)
    except ValueError:
        done.foreign += len(keys)
    if suffix == "so":
        done.kernels += len(keys)
        entries.update(keys)
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
        done.refuse(name, "its SHA-256 is not the one it was written with")
    else:
        done.compilers += 1
