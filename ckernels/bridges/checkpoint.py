"""Checkpoints: a training state in a file that is either complete or absent.

A file is a line that names the format, a header as JSON, the arrays, and the SHA-256 of all of it.
It is written under a temporary name, synced to the disk, and renamed. Where the digest shows that a
file is damaged, the one before it is taken. No pickle is used: no file can make a reader run code.
"""

import contextlib
import hashlib
import json
import os
import re
import uuid
import warnings

import numpy as np

from ..base.errors import CacheError, CKernelsWarning

MAGIC = b"ckernels checkpoint 1\n"
NAME = re.compile(r"step-(\d{12})\.ckpt")
PRIVATE = re.compile(r"\.step-\d{12}\.[0-9a-f]{32}\.tmp")
LARGEST = 1 << 24  # bytes of a header


class CheckpointError(CacheError):
    """A checkpoint that cannot be written or read."""


def encode(step, arrays):
    """The bytes of a state without the digest, in parts."""
    arrays = [np.ascontiguousarray(a).reshape(np.shape(a)) for a in arrays]
    header = {"step": step, "arrays": [(a.dtype.str, a.shape) for a in arrays]}
    text = json.dumps(header).encode()
    return [MAGIC, len(text).to_bytes(8, "little"), text, *(a.reshape(-1).data for a in arrays)]


def write(path, step, arrays):
    """Write a state. Where that fails, CheckpointError: the file is as it was."""
    folder, name = os.path.split(os.path.abspath(path))
    temporary = os.path.join(folder, f".{name.removesuffix('.ckpt')}.{uuid.uuid4().hex}.tmp")
    digest = hashlib.sha256()
    try:
        with open(temporary, "xb") as stream:
            for part in encode(step, arrays):
                digest.update(part)
                stream.write(part)
            stream.write(digest.digest())
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
        _sync(folder)
    except OSError as problem:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        reason = problem.strerror or problem
        raise CheckpointError(
            f"the checkpoint {path} cannot be written: {reason}. Earlier checkpoints are whole"
        ) from problem


def _sync(folder):
    """Sync a rename to the disk, where the system can sync directories."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def read(path):
    """(step, arrays) of a file; CheckpointError where it is none, or damaged."""
    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except OSError as problem:
        reason = problem.strerror or problem
        raise CheckpointError(f"the checkpoint {path} cannot be read: {reason}") from problem
    if not data.startswith(MAGIC):
        raise CheckpointError(f"{path} is no checkpoint of this version of ckernels")
    if hashlib.sha256(memoryview(data)[:-32]).digest() != data[-32:]:
        raise CheckpointError(f"the checkpoint {path} is damaged: its SHA-256 does not fit")
    start = len(MAGIC) + 8
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    if end - start > LARGEST:
        raise CheckpointError(f"the checkpoint {path} has a header of {end - start} bytes")
    header, arrays = json.loads(data[start:end]), []
    for dtype, shape in header["arrays"]:
        array = np.frombuffer(data, np.dtype(dtype), int(np.prod(shape, dtype=np.int64)), end)
        arrays.append(array.reshape(shape).copy())
        end += array.nbytes
    return header["step"], arrays


class Checkpoints:
    """A folder of checkpoints, one for each step that was saved; the newest `keep` stay.

    every: `due` is true of each step number that this divides.
    """

    def __init__(self, folder, every=100, keep=3):
        self.folder, self.every, self.keep = os.fspath(folder), max(1, every), max(1, keep)
        try:
            os.makedirs(self.folder, exist_ok=True)
        except OSError as problem:
            raise CheckpointError(
                f"the folder {folder} of checkpoints cannot be made: {problem.strerror}"
            ) from problem

    def path(self, step):
        return os.path.join(self.folder, f"step-{step:012d}.ckpt")

    def steps(self):
        """The steps that have a checkpoint, in order."""
        return sorted(int(m[1]) for m in map(NAME.fullmatch, os.listdir(self.folder)) if m)

    def due(self, step):
        return step % self.every == 0

    def save(self, step, arrays):
        """Write a state, delete what is too old. If that fails (disk full), a warning and False."""
        try:
            write(self.path(step), step, arrays)
        except CheckpointError as problem:
            warnings.warn(f"{problem}; training goes on", CKernelsWarning, stacklevel=2)
            return False
        for old in self.steps()[: -self.keep]:
            with contextlib.suppress(OSError):
                os.unlink(self.path(old))
        return True

    def clean(self):
        """Delete what killed writers left."""
        for name in filter(PRIVATE.fullmatch, os.listdir(self.folder)):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self.folder, name))

    def latest(self):
        """(step, arrays) of the newest whole checkpoint, or None; warns of damaged ones."""
        for step in reversed(self.steps()):
            try:
                return read(self.path(step))
            except CheckpointError as problem:
                warnings.warn(f"{problem}; taking the one before", CKernelsWarning, stacklevel=2)
        return None
