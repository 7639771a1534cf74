"""How full the compiledir is, by an account that all writers keep, so that they need not look at
all files.

Each writer appends the bytes it is about to add; who looks at the whole directory appends what it
saw. The last look plus what was added since bounds what is there, so that near the caps a write
reads one small file instead of 20 000 inodes. There is no lock: appends do not overwrite one
another, and a write that a look may have missed is entered again. Where the account cannot be read,
or makes no sense, the directory is looked at.
"""

import os
import re
import time

from . import hits, system

NAME = "usage"
LARGEST = 256 << 10  # bytes of the account beyond which the next look begins a new one
LOOK_EVERY = 60  # seconds: what nobody entered (killed writers, other programs) is found by then
ADDED = rb"\+(\d{1,15}) (\d{1,9})\n"  # bytes, files
SEEN = rb"=(\d{1,15}) (\d{1,9}) (\d{1,9}) (\d{1,12})\n"  # bytes, files, where it began, when
LINES = re.compile(rb"(?:\+\d{1,15} \d{1,9}\n|=\d{1,15} \d{1,9} \d{1,9} \d{1,12}\n|\n)*")
FLAGS = os.O_RDWR | os.O_APPEND | system.CAREFUL


def announce(directory, size, files):
    """Enter what is about to be written; a mark for `bound`, None where that failed."""
    try:
        fd = os.open(os.path.join(directory, NAME), FLAGS | os.O_CREAT, 0o600)
        try:
            os.write(fd, b"+%d %d\n" % (size, files))
            return os.fstat(fd).st_ino, os.lseek(fd, 0, os.SEEK_CUR)
        finally:
            os.close(fd)
    except OSError:
        return None


def bound(directory, mark, size, files):
    """(bytes, files) that are there at most, once what `mark` announced is written; None: look.

    A look that began after the announcement, and before the write, saw neither: then what was
    written is entered again.
    """
    if mark is None:
        return None
    try:
        known = _read(directory)
        if known is not None and (known[0] != mark[0] or known[1] >= mark[1]):
            announce(directory, size, files)
            known = _read(directory)
    except OSError:
        return None
    if known is None or not 0 <= time.time() - known[2] < LOOK_EVERY:
        return None
    return known[3], known[4]


def _read(directory):
    """(inode, where the last look began, when, bytes, files), or None where there is no such."""
    fd = os.open(os.path.join(directory, NAME), FLAGS)
    try:
        text, inode = system.read_all(fd), os.fstat(fd).st_ino
    finally:
        os.close(fd)
    last = re.match(SEEN, text[text.rfind(b"\n=") + 1 :])
    if last is None:
        return None
    size, files, start, when = map(int, last.groups())
    since = text[start:]
    if not LINES.fullmatch(since):  # torn: a full disk, a network file system
        return None
    for more, count in re.findall(ADDED, since):
        size, files = size + int(more), files + int(count)
    more, count = own(directory)
    return inode, start, when, size + more, files + count


def own(directory):
    """(bytes, files) of the account itself and of the file of hits, which grow between looks."""
    found = []
    for name in (NAME, hits.NAME):
        try:
            found.append(os.stat(os.path.join(directory, name)).st_size)
        except OSError:
            pass
    return sum(found), len(found)


def begin(directory):
    """The mark of a look that starts now; None where no account can be kept."""
    path = os.path.join(directory, NAME)
    try:
        for _ in range(2):
            fd = os.open(path, FLAGS | os.O_CREAT, 0o600)
            try:
                info = os.fstat(fd)
            finally:
                os.close(fd)
            if info.st_size <= LARGEST:
                return info.st_ino, info.st_size
            os.unlink(path)
    except OSError:
        pass
    return None


def saw(directory, mark, size, files):
    """Enter what the look that `mark` began has left there, the files of `own` not counted."""
    try:
        fd = os.open(os.path.join(directory, NAME), FLAGS)
        try:
            if mark is not None and os.fstat(fd).st_ino == mark[0]:
                os.write(fd, b"\n=%d %d %d %d\n" % (size, files, mark[1], int(time.time())))
        finally:
            os.close(fd)
    except OSError:
        pass
