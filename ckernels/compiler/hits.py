"""How often each kernel was read from the compiledir, for people who ask which ones are used.

Each process appends the keys it found, in one write to one file: no lock, no counter to lose. The
file is summed up when it is twice as long as the last sum was, which its first line says. Counts
are only for people: appends during a summing up are lost, and over NFS appends may overwrite one
another.
"""

import os
import re

from . import process, system

NAME = "hits"
LARGEST = 256 << 10  # bytes of the file beyond which it is summed up for the first time
LIMIT = re.compile(rb"limit (\d{1,18})\n")
LINE = re.compile(rb"([0-9a-f]{64})(?: (\d{1,18}))?")


def record(directory, keys):
    """Note that these kernels were read from the directory. Failures are ignored."""
    try:
        fd = os.open(
            os.path.join(directory, NAME),
            os.O_RDWR | os.O_APPEND | os.O_CREAT | system.CAREFUL,
            0o600,
        )
        try:
            os.write(fd, "".join(f"{key}\n" for key in keys).encode("ascii"))
            size = os.fstat(fd).st_size
            grown = size > LARGEST and size > limit(fd)
        finally:
            os.close(fd)
        if grown:
            sum_up(directory)
    except OSError:
        pass


def limit(fd):
    """The bytes beyond which an open file of hits is summed up."""
    os.lseek(fd, 0, os.SEEK_SET)
    first = LIMIT.match(os.read(fd, 32))
    return int(first[1]) if first else LARGEST


def counts(directory):
    """{key: times it was read}, as far as known."""
    try:
        with open(os.path.join(directory, NAME), "rb") as stream:
            text = stream.read()
    except OSError:
        return {}
    found = {}
    for line in text.splitlines():
        match = LINE.fullmatch(line)
        if match:
            key = match[1].decode("ascii")
            found[key] = found.get(key, 0) + int(match[2] or 1)
    return found


def sum_up(directory):
    """Write one line per kernel that is still there."""
    there = set(os.listdir(directory))
    lines = "".join(
        f"{key} {count}\n" for key, count in counts(directory).items() if key + ".so" in there
    )
    text = f"limit {max(LARGEST, 2 * len(lines))}\n{lines}"
    process.write_atomically(os.path.join(directory, NAME), text.encode("ascii"))
