"""The compiledir: content-addressed, no lock, no pickle, nothing loaded before its digest is known.

An entry is published by one rename; kernels compiled together are hard links to one file. What goes
wrong here costs a rebuild and one log line, never an error: `get` and `put` return None and False
instead of raising. Where the directory of the flags cannot be written, a private one in the
temporary directory serves, then memory. docs/compiledir.md states the promises.
"""

import os
import time

from ..base import locks
from ..base.config import config
from . import cpu, directories, hits, process, system, usage
from .directories import compiledir
from .entry import ABI, KEY, seal, unseal
from .upkeep import Directory, check, opened

__all__ = ["ABI", "KEY", "Cache", "compiledir", "current", "publish", "seal", "unseal", "warning"]

TRIES = 4  # at writing into a directory that others delete
TOUCH_AFTER = 3600  # seconds: a hit renews an entry's mtime (the LRU order) at most this often


def warning(message, *args):
    process.log("cache", "warning", message, *args)


class Cache(Directory):
    """One compiledir and the read-only layers in front of it.

    trouble: why it cannot be written although `mode` is "on", or "".
    """

    def __init__(self, directory, mode="on", layers=()):
        super().__init__(directory)
        self.mode, self.trouble, self.last = mode, "", False
        self.spare = ""  # None: to be looked for at the first miss
        self._complained = False  # whether it was logged that files cannot be read
        self.layers = [layer for layer in layers if _layer_is_fine(layer)]
        self.readable = mode != "off" and self._open(mode == "on")
        if mode == "on" and self.readable and not os.access(directory, os.W_OK | os.X_OK):
            self.trouble = "it is not writable"
        self.writable = self.readable and mode == "on" and not self.trouble

    def _open(self, create):
        if not self.directory:
            self.trouble = "there is no home directory"
            return False
        try:
            check = directories.make if create else directories.distrust
            reason = check(self.directory)
        except FileNotFoundError:
            return False
        self.trouble = reason
        if reason and not create:
            warning("%s is not used as a compiledir: %s", self.directory, reason)
        return not reason

    def get(self, key, suffix=".so"):
        """The verified bytes that hold kernel (or plan) `key`, or None. A bad entry is deleted."""
        for layer in self.layers:
            found = self._read(os.path.join(layer, key + suffix), key, own=False)
            if found is not None:
                return found
        if self.readable:
            found = self._read(self.path(key, suffix), key, own=True)
        else:
            found = None
        if found is None and self._spare():
            found = self._read(os.path.join(self.spare, key + suffix), key, own=True)
        return found

    def entry(self, key):
        """The bytes of a whole entry, digest and all, as another process may `adopt` them; None."""
        for directory in (*self.layers, self.directory):
            try:
                with opened(os.path.join(directory, key + ".so")) as (fd, info):
                    check(fd, info, key)
                    return system.read_all(fd)
            except (OSError, ValueError):
                continue
        return None

    def _spare(self):
        """The private directory, where earlier processes could not write this one; "" if none."""
        if self.spare is None:
            self.spare = directories.private_directory()
            try:
                if self.spare == self.directory or directories.distrust(self.spare):
                    self.spare = ""
            except FileNotFoundError:
                self.spare = ""
        return self.spare

    def _read(self, path, key, own):
        try:
            with opened(path) as (fd, info):
                body = check(fd, info, key, own, cpu.lacking)
            if own and self.writable and time.time() - info.st_mtime > TOUCH_AFTER:
                process.quietly(os.utime, path)
            return body
        except FileNotFoundError:
            return None
        except OSError as error:  # of the disk, not the entry, which is written anew if possible
            level, self._complained = ("debug" if self._complained else "warning"), True
            reason = error.strerror or error
            process.log("cache", level, "%s cannot be read: %s; building it again", path, reason)
            return None
        except ValueError as error:
            warning("%s is not loaded: %s; building it again", path, error)
            if own and self.writable:
                process.quietly(os.unlink, path)
            return None

    def put(self, elf, keys, notes, features=()):
        """Publish a shared object under every key in it; `notes` is {key: dict} for people."""
        import json  # start-up

        data = seal(elf, keys, features)
        texts = {key: json.dumps(notes[key], indent=1, default=str).encode() for key in keys}
        size = len(data) + sum(len(text) for text in texts.values())

        def action():
            self._publish(data, keys)
            for key, text in texts.items():  # an entry needs none
                process.write_atomically(self.path(key, ".json"), text)

        return self._write(action, size, 2 * len(keys))

    def put_plan(self, key, body):
        """Publish the bytes of a plan, sealed like a kernel's entry, as `<key>.plan`."""
        data = seal(body, [key])
        path = self.path(key, ".plan")
        return self._write(lambda: process.write_atomically(path, data), len(data), 1)

    def adopt(self, data, keys, suffix=".so"):
        """Publish the bytes of a verified entry under each of its keys, without notes."""
        return self._write(lambda: self._publish(data, keys, suffix), len(data), len(keys))

    def _write(self, action, size, files):
        """Do it; False where that is not possible, from then on."""
        if not self.writable:
            return False
        mark = usage.announce(self.directory, size, files)
        try:
            for attempt in range(TRIES):
                try:
                    action()
                    break
                except FileNotFoundError:  # somebody deleted the whole directory
                    if directories.make(self.directory) or attempt == TRIES - 1:
                        raise
        except OSError as error:
            self.trouble = error.strerror or str(error)
            self.writable = False
            return False
        self.wrote(mark, size, files)
        return True

    def _publish(self, data, keys, suffix=".so"):
        """One file, one rename for each of its names."""
        first, *others = dict.fromkeys(keys)
        whole = process.write_temporary(self.directory, data)
        try:
            for key in others:  # from the private name: the first key may be replaced at any time
                self._link(whole, self.path(key, suffix), data)
            system.replace(whole, self.path(first, suffix))
        except BaseException:
            process.quietly(os.unlink, whole)
            raise

    def _link(self, source, target, data):
        """A second name for an entry, put in place in one step; a copy where links do not exist."""
        temporary = process.temporary_name(self.directory)
        try:
            try:
                os.link(source, temporary)
            except FileNotFoundError:
                raise  # the directory is gone, not the ability to link
            except OSError:
                usage.announce(self.directory, len(data), 0)  # a link adds no bytes
                process.write_atomically(target, data)
                return
            system.replace(temporary, target)
        finally:
            process.quietly(os.unlink, temporary)  # a rename to a link of itself leaves both

    def hit(self, keys):
        """Count kernels that were read from here, for `ckernels-cache list`."""
        if keys and self.writable:
            hits.record(self.directory, keys)

    def keep_source(self, key, text):
        """Write C that did not compile where the error can name it; "" if there is no place."""
        for directory in ([self.directory] if self.writable else []) + [None]:
            try:
                if directory is None:
                    import tempfile  # start-up

                    directory = tempfile.mkdtemp(prefix="ckernels-failed-")
                path, data = os.path.join(directory, f"failed-{key[:16]}.c"), text.encode()
                if directory == self.directory:
                    usage.announce(directory, len(data), 1)
                process.write_atomically(path, data)
                return path
            except OSError:
                continue
        return ""


def _layer_is_fine(layer):
    try:
        reason = directories.distrust(layer, own=False)
    except FileNotFoundError:
        reason = "there is no such directory"
    if reason:
        warning("%s is not used as a compiledir: %s", layer, reason)
    return not reason


_opened = {}  # what the flags say -> the Cache in use
_lock = locks.rlock()


def current():
    """The Cache the flags ask for now; opened once per place and process."""
    layers = tuple(layer for layer in config["cache.path"].split(os.pathsep) if layer)
    wanted = (compiledir(), str(config["cache"]), layers)
    store = _opened.get(wanted)
    if store is None:
        with _lock:
            store = _opened.get(wanted) or Cache(*wanted)
            store.spare = None if store.mode == "on" else ""
            if store.mode == "on" and not store.writable:
                store = _instead(store)
            _opened[wanted] = store
    return store


def publish(action):
    """action(store) -> bool on the compiledir, or where it fails on the private directory."""
    store = current()
    if action(store):
        return True
    with _lock:
        if current() is not store:  # another thread has replaced it already
            return action(current())
        if store.mode != "on" or store.last:
            return False
        second = _instead(store, action)
        for wanted in [wanted for wanted, found in _opened.items() if found is store]:
            _opened[wanted] = second
        return second is not store


def _instead(store, action=None):
    """The private directory in place of a Cache that cannot be written, or the same: one notice."""
    if store.last:
        return store
    place = store.directory or "the compiledir"
    private = directories.private_directory()
    if private and private != store.directory:
        layers = [place] if store.readable and os.path.isdir(place) else []
        second = Cache(private, "on", [*store.layers, *layers])
        if second.writable and (action is None or action(second)):
            warning("%s cannot be used: %s; kernels are kept in %s", place, store.trouble, private)
            second.last = True
            return second
    warning(
        "%s cannot be used: %s; kernels live in memory only. The flag base_compiledir names "
        "another place",
        place,
        store.trouble,
    )
    store.last = True
    return store
