"""Processes with one compiledir share the work of compiling, so that each kernel is built once.

A process that is about to compile a kernel locks the byte of the file `claims` that belongs to the
kernel's key, and unlocks it when the kernel is published or could not be made; the system unlocks
it when a process ends, however it ends. Other processes wait for the kernel, but not for a process
that is stopped, nor longer than `cache.patience`: then they compile it too. Correctness never
depends on a lock: where there are none (Windows, some file systems), each process compiles what it
needs.
"""

import contextlib
import os
import struct
import sys
import time

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

from ..base import locks
from ..base.config import config
from . import system, usage

NAME = "claims"
PAUSES = 0.001, 0.02  # seconds between two looks: the first one, and the longest
# Of fcntl's F_GETLK: how a question is written, and where the answer has the kind and the process.
ASKED = {"linux": ("hhqqi4x", 0, 4), "darwin": ("qqihh", 3, 2)}.get(sys.platform)
STOPPED = b"TtZX"  # states of a process in Linux that goes on only when somebody else wants it to

_lock = locks.lock()
_open = {}  # path of a file of claims -> [descriptor, builds of this process that use it]


class KernelClaims:
    """The other processes, for one build; see `compiler.register_others` for the methods."""

    def __init__(self, store, keys):
        """store: the Cache; keys: kernels that were there, but could not be read."""
        self.store, self.fd, self.ours = store, None, set()
        self.patience = config["cache.patience"] if store.writable else 0
        self.until = None  # when waiting ends: once for the whole build
        self.unfit = {key for key in keys if self.patience and self.published(key)}

    def published(self, key):
        return os.path.exists(self.store.path(key))

    def claim(self, keys):
        """Those to be compiled here: nobody compiles them, or nobody is waited for."""
        if not self.patience or (self.until is not None and time.monotonic() >= self.until):
            return list(keys)
        if self.fd is None:
            self.fd = _opened(os.path.join(self.store.directory, NAME))
        return [key for key in keys if self.take(key)]

    def take(self, key):
        if self.fd is None or self.holder(key) < 0:
            return True
        try:
            fcntl.lockf(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(key))
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # no locks here
            return True
        self.ours.add(key)
        if key not in self.unfit and self.published(key):  # before it had the lock
            self.release([key])
            return False
        return True

    def done(self, keys):
        """They were compiled, or could not be."""
        self.release(keys)

    def release(self, keys):
        for key in self.ours.intersection(keys):
            with contextlib.suppress(OSError):
                fcntl.lockf(self.fd, fcntl.LOCK_UN, 1, _byte(key))
            self.ours.discard(key)

    def close(self):
        """Release all locks; a process forked meanwhile holds none."""
        self.release(list(self.ours))
        if self.fd is not None:
            _closed(os.path.join(self.store.directory, NAME))
            self.fd = None

    def wait(self, keys):
        """Wait until others have published these kernels, or no longer try to; the store has them
        then, so no entries are returned."""
        if self.until is None:
            self.until = time.monotonic() + self.patience
        left, pause = [key for key in keys if key not in self.unfit], PAUSES[0]
        while True:
            left = [key for key in left if not self.published(key) and self.holder(key) > 0]
            if not left or time.monotonic() >= self.until:
                return ()
            time.sleep(pause)
            pause = min(2 * pause, PAUSES[1])

    def holder(self, key):
        """1: another process compiles this kernel; 0: nobody does; -1: one that is stopped."""
        if self.fd is None:
            return 0
        if ASKED is None:
            try:
                fcntl.lockf(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(key))
                fcntl.lockf(self.fd, fcntl.LOCK_UN, 1, _byte(key))
            except (BlockingIOError, PermissionError):
                return 1
            except OSError:
                pass
            return 0
        form, kind, process = ASKED
        values = [fcntl.F_WRLCK, os.SEEK_SET, _byte(key), 1, 0]
        if kind:  # start, length, process, kind, whence
            values = [_byte(key), 1, 0, fcntl.F_WRLCK, os.SEEK_SET]
        try:
            found = struct.unpack(
                form, fcntl.fcntl(self.fd, fcntl.F_GETLK, struct.pack(form, *values))
            )
        except OSError:
            return 0
        if found[kind] == fcntl.F_UNLCK:
            return 0
        return -1 if _stopped(found[process]) else 1


def _byte(key):
    """Where the byte of a kernel is; the file itself stays empty."""
    return int(key[:12], 16)


def _stopped(pid):
    """Whether Linux says that a process is stopped; False where it cannot be seen from here."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            return stream.read().rpartition(b")")[2].split()[0] in STOPPED
    except (OSError, IndexError):
        return False


def _opened(path):
    """The file of claims, open; None where that cannot be. Locks of a process on a file go when it
    closes any descriptor of the file, so all its builds have one."""
    if fcntl is None:
        return None
    with _lock:
        if path not in _open:
            try:
                if not os.path.exists(path):
                    usage.announce(os.path.dirname(path), 0, 1)
                fd = os.open(path, os.O_RDWR | os.O_CREAT | system.CAREFUL, 0o600)
            except OSError:
                return None
            _open[path] = [fd, 0]
        _open[path][1] += 1
        return _open[path][0]


def _closed(path):
    """The last build of this process is done with the file."""
    with _lock:
        held = _open.get(path)
        if held is not None:
            held[1] -= 1
            if not held[1]:
                with contextlib.suppress(OSError):  # a full disk of another machine says so here
                    os.close(_open.pop(path)[0])


def after_fork():
    """A child has none of its parent's locks, and no thread that would close the files."""
    for fd, _ in _open.values():
        with contextlib.suppress(OSError):
            os.close(fd)
    _open.clear()
