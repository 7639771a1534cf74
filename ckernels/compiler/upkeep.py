"""Upkeep of a compiledir: lists, evicts and verifies entries, and sweeps what dead writers left.

Every operation may meet other processes that do the same at the same time: a file that is gone is
no failure, and nothing a running process has loaded depends on a file still being there.
"""

import os
import re
import stat
import time

from ..base.config import config
from . import directories, hits, process, system, usage
from .entry import KEY, unseal

STALE_AFTER = 3600  # seconds after which a temporary file has no writer any more
LOW = 7 / 8  # of the caps: eviction goes this far, so that many writes follow before the next one
ENTRIES = ("so", "plan")
BESIDE = re.compile(r"toolchain-[0-9a-f]{32}|failed-[0-9a-f]{16}\.c|claims")
RECORDS = (hits.NAME, usage.NAME)  # whose sizes are read at each write: they grow between looks


class Directory:
    """A compiledir as a place of files; `Cache` adds reading and writing entries."""

    def __init__(self, directory):
        self.directory = directory

    def path(self, key, suffix=".so"):
        return os.path.join(self.directory, key + suffix)

    def entries(self, *kinds):
        """[(mtime, bytes, [keys])] of kernels ("so") or plans ("plan"), oldest first.

        Hard links to one file are one row.
        """
        return _grouped(scan(self.directory), kinds or ("so",))

    def usage(self):
        """(bytes, files) of everything in the compiledir."""
        return _sizes(scan(self.directory))

    def wrote(self, mark, size, files):
        """Make room when the caps are passed; `mark` is what `usage.announce` gave before.

        Others write too: the account has what all of them added since somebody last looked.
        """
        caps = config["cache.max_size"], config["cache.max_files"]
        full = usage.bound(self.directory, mark, size, files)
        if full is None or full[0] > caps[0] or full[1] > caps[1]:
            self.evict()

    def evict(self):
        """Bring the compiledir under its caps, least recently used first; how many kernels went."""
        try:
            mark = usage.begin(self.directory)
            items = self._without_stale(list(scan(self.directory)))
            max_size, max_files = self._room()
            size, files = _sizes(item for item in items if item[0].name not in RECORDS)
            removed = 0
            if size > max_size or files > max_files:
                for length, count, remove, keys in self._candidates(items):
                    if size <= LOW * max_size and files <= LOW * max_files:
                        break
                    remove()
                    size, files, removed = size - length, files - count, removed + keys
                process.log("cache", "info", "%s: %d kernels evicted", self.directory, removed)
            usage.saw(self.directory, mark, size, files)
            return removed
        except OSError as error:
            process.log("cache", "debug", "eviction: %s", error)
            return 0

    def _room(self):
        """(bytes, files) the caps leave for entries."""
        size, files = config["cache.max_size"], config["cache.max_files"]
        more, count = usage.own(self.directory)
        if more > size // 8 or count > files:  # caps smaller than what serves to keep them
            for name in RECORDS:
                process.quietly(os.unlink, os.path.join(self.directory, name))
            return size, files
        return size - more, files - count

    def _candidates(self, items):
        """[(bytes, files, how to delete, kernels)], least recently used first."""
        names = {item.name for item, _ in items}
        notes = {
            item.name[:64]: info.st_size for item, info in items if item.name.endswith(".json")
        }
        rows = []
        for modified, length, keys in _grouped(items, ENTRIES):
            size = length + sum(notes.get(key, 0) for key in keys)
            count = sum(1 + (key in notes) for key in keys)
            rows.append((modified, size, count, lambda keys=keys: self.remove(*keys), len(keys)))
        for item, info in items:
            if BESIDE.fullmatch(item.name) or (
                item.name.endswith(".json") and item.name[:-5] + ".so" not in names
            ):
                delete = lambda path=item.path: process.quietly(os.unlink, path)
                rows.append((info.st_mtime, info.st_size, 1, delete, 0))
        return [row[1:] for row in sorted(rows, key=lambda row: row[0])]

    def remove(self, *keys):
        """Delete entries of kernels or plans and their notes; how many there were."""
        count = 0
        for key in keys:
            for suffix in (*ENTRIES, "json"):
                gone = process.quietly(os.unlink, self.path(key, "." + suffix))
                count += gone and suffix != "json"
        return count

    def forget(self):
        """Delete what is beside the entries: remembered compilers, notes alone, kept sources."""
        for item, _ in scan(self.directory):
            key, _, suffix = item.name.partition(".")
            alone = suffix == "json" and KEY.fullmatch(key) and not os.path.exists(self.path(key))
            if alone or BESIDE.fullmatch(item.name) or item.name in RECORDS:
                process.quietly(os.unlink, item.path)

    def sweep(self):
        """Delete what writers that were killed left behind; how many files."""
        items = list(scan(self.directory))
        return len(items) - len(self._without_stale(items))

    def _without_stale(self, items):
        """Delete those of a scan that writers who were killed left behind; the others."""
        now, left = time.time(), []
        for item, info in items:
            stale = item.name.startswith("tmp-") and (
                process.writer_is_dead(item.name) or now - info.st_mtime > STALE_AFTER
            )
            if not (stale and process.quietly(os.unlink, item.path)):
                left.append((item, info))
        return left

    def verify(self, remove=False):
        """[(key, reason)] of the entries that would not be loaded; `remove` deletes them."""
        bad = []
        for suffix in ENTRIES:
            for key in [key for row in self.entries(suffix) for key in row[2]]:
                path = self.path(key, "." + suffix)
                try:
                    with opened(path) as (fd, info):
                        check(fd, info, key)
                except FileNotFoundError:
                    continue  # evicted since
                except (OSError, ValueError) as error:
                    bad.append((key, str(error)))
                    if remove:
                        process.quietly(os.unlink, path)
        return bad

    def note(self, key):
        """What is written beside an entry for people: {} when there is none."""
        import json  # start-up

        try:
            with open(self.path(key, ".json"), encoding="utf-8") as stream:
                found = json.load(stream)
            return found if isinstance(found, dict) else {}
        except (OSError, ValueError):
            return {}


class opened:
    """`with opened(path) as (fd, info)`: no link is followed, no pipe waited for."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDONLY | system.CAREFUL)

    def __enter__(self):
        return self.fd, os.fstat(self.fd)

    def __exit__(self, *exception):
        os.close(self.fd)


def check(fd, info, key, own=True, lacking=None):
    """The verified body of an entry, read through the descriptor that was checked; ValueError."""
    reason = "" if stat.S_ISREG(info.st_mode) else "it is not a regular file"
    reason = reason or directories.unsafe(info, own)
    if reason:
        raise ValueError(reason)
    return unseal(system.read_all(fd), key, lacking)


def scan(directory):
    """(entry, stat) of the files of a directory that may be changing under us."""
    try:
        with os.scandir(directory) as items:
            listed = list(items)
    except (OSError, ValueError):
        return
    for item in listed:
        try:
            info = item.stat(follow_symlinks=False)
        except OSError:
            continue
        if not stat.S_ISDIR(info.st_mode):
            yield item, info


def _sizes(items):
    """(bytes, files) of a scan; hard links to one file hold its bytes once."""
    size = files = 0
    seen = set()
    for _, info in items:
        files += 1
        if info.st_ino not in seen:
            seen.add(info.st_ino)
            size += info.st_size
    return size, files


def _grouped(items, kinds):
    """[(mtime, bytes, [keys])] of the entries of a scan, oldest first."""
    groups = {}
    for item, info in items:
        key, _, suffix = item.name.partition(".")
        if suffix in kinds and KEY.fullmatch(key):
            row = groups.setdefault(info.st_ino, [info.st_mtime, info.st_size, []])
            row[2].append(key)
    return sorted(groups.values())
