"""theano.gof.compilelock: the lock on the compiledir, which is safe without one.

Kernels are published by one rename, so there is nothing to hold or to wait for: `get_lock` and its
kin do nothing. `lock` and `Unlocker` hold a folder of a program's own, as Theano's did.
"""

import contextlib
import os
import random
import socket
import time

from ..base.config import config
from ..base.names import absent_of as _absent_of


@contextlib.contextmanager
def lock_ctx(lock_dir=None, keep_lock=False, **kw):
    """A block that would hold the lock."""
    yield


def get_lock(lock_dir=None, **kw):
    """Nothing to wait for."""


def release_lock():
    """Nothing is held."""


def set_lock_status(use_lock):
    """Accepted: there is no lock to switch off."""


def force_unlock():
    """Nothing to remove."""


notset = object()  # no timeout was given: None is one


def lock(tmp_dir, timeout=notset, min_wait=None, max_wait=None, verbosity=1):
    """Hold the folder `tmp_dir`: it is made, with a file `lock` that names this process.

    Where it is there already, wait for min_wait to max_wait seconds (the flag compile.wait, twice
    that) and look again. A lock of a process that is gone, or that has not changed for `timeout`
    seconds (the flag compile.timeout; None: for ever), is taken over. `verbosity` is accepted.
    """
    timeout = config.compile.timeout if timeout is notset else timeout
    least = config.compile.wait if min_wait is None else min_wait
    most = 2 * least if max_wait is None else max_wait
    os.makedirs(os.path.dirname(os.path.abspath(tmp_dir)), exist_ok=True)
    file, owner, since = os.path.join(tmp_dir, "lock"), None, time.monotonic()
    while True:
        try:
            os.mkdir(tmp_dir)
        except FileExistsError:
            seen = _owner(file)
            if seen != owner:
                owner, since = seen, time.monotonic()
            late = timeout is not None and time.monotonic() - since >= timeout
            if late or _gone(seen):
                Unlocker(tmp_dir).unlock(force=True)
            else:
                time.sleep(random.uniform(least, most))
            continue
        refresh_lock(file)
        return


def refresh_lock(lock_file):
    """Write this process into the file of a lock, with a new number; what was written."""
    made = f"{os.getpid()}_{random.randrange(10**10):010d}_{socket.gethostname()}"
    with open(lock_file, "w", encoding="utf-8") as file:
        file.write(made + "\n")
    return made


def _owner(file):
    """What stands in the file of a lock; "" where it is not there yet, or not any more."""
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.readline().strip()
    except OSError:
        return ""


def _gone(owner):
    """Whether the process that holds a lock was one of this machine, and has ended."""
    process, _, host = owner.split("_", 2) if owner.count("_") >= 2 else ("", "", "")
    if host != socket.gethostname() or not process.isdigit() or os.name == "nt":
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


class Unlocker:
    """What gives a folder free that `lock` holds."""

    def __init__(self, tmp_dir):
        self.tmp_dir = tmp_dir

    def unlock(self, force=False):
        """Remove the lock, if it is this process's or by `force`; what is not there is no error."""
        file = os.path.join(self.tmp_dir, "lock")
        process, _, rest = _owner(file).partition("_")
        own = process == str(os.getpid()) and rest.endswith(socket.gethostname())
        if not force and process and not own:
            return
        for remove, path in ((os.remove, file), (os.rmdir, self.tmp_dir)):
            with contextlib.suppress(OSError):
                remove(path)


__getattr__ = _absent_of("theano.gof.compilelock")
