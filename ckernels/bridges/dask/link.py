"""Links: memory that two workers of one computer share, through which their sums go.

A link is a pair of connected sockets, for short messages that say what was written, and a piece of
shared memory, which goes to the other end through the sockets. Neither has a name in a file system,
so nothing is left when a process ends, however it ends. To find out whether two workers are on one
computer, one connects to a random name that the other sent it. Links exist on Linux only.
"""

import mmap
import os
import secrets
import socket
import struct
import zlib

import numpy as np

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

SLOT = 1 << 20  # bytes written at once: few, so that the reader finds them in a cache
WORD = struct.Struct("<qqII")  # a message: step, number of the load, CRC of what is sent, bytes
PEER = struct.Struct("iII")  # process, user, group at the other end of a socket


class Link:
    """One end of a link. In each direction there are two slots, used in turns.

    Both ends write a load (what fits a slot), send a message, wait for the other's message, and
    read. A message also says that its sender has read all earlier loads, so the slot of the load
    before the last is free again.
    """

    def __init__(self, connected, memory, side):
        self.socket, self.sent = connected, 0
        rows = np.frombuffer(memory, np.uint8).reshape(2, 2, -1)
        self.own, self.others = rows[side], rows[1 - side]

    def trade(self, step, parts, gives, takes, timeout):
        """Exchange `parts` with the other end, which calls this with arrays of the same shapes.

        gives: whether `parts` are sent. takes(own, other): called with each piece of `parts` and
        the same piece of the other end's, in order; None: nothing is read. Raises ConnectionError
        where the other end is gone or this one was closed, and TimeoutError.
        """
        own, others = self.own, self.others
        if own is None or others is None:
            raise ConnectionError("this end is closed")
        self.socket.settimeout(timeout)
        like = zlib.crc32(repr([(p.shape, p.dtype.str) for p in parts]).encode())
        try:
            for load in loads(parts, own.shape[1]):
                turn, written = self.sent & 1, 0
                if gives:
                    for piece, at in load:
                        own[turn, at : at + piece.nbytes].view(piece.dtype)[...] = piece
                    written = at + piece.nbytes
                self.socket.sendall(WORD.pack(step, self.sent, like, written))
                self.heard(step, like)
                if takes is not None:
                    for piece, at in load:
                        takes(piece, others[turn, at : at + piece.nbytes].view(piece.dtype))
                self.sent += 1
        finally:
            own = others = None  # an error that is kept would keep these views of the memory

    def heard(self, step, like):
        """Wait for the other end's message, which has to be about the same load."""
        word = b""
        while len(word) < WORD.size:
            more = self.socket.recv(WORD.size - len(word))
            if not more:
                raise ConnectionError("the other end is closed")
            word += more
        found = WORD.unpack(word)[:3]
        if found != (step, self.sent, like):
            raise ConnectionError(f"the other end is at {found}, this one {step, self.sent, like}")

    def close(self):
        """Close the link, from any thread; who waits at either end gets ConnectionError."""
        self.own = self.others = None
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def loads(parts, size):
    """Lists of (piece of a part, offset), each of `size` bytes at most: all parts, in order."""
    load, at = [], 0
    for part in parts:
        rest = part.reshape(-1)
        while rest.size:
            count = min(rest.size, (size - at) // rest.itemsize)
            if count:
                load.append((rest[:count], at))
                rest, at = rest[count:], at + -(-count * rest.itemsize // 64) * 64
            if rest.size:
                yield load
                load, at = [], 0
    if load:
        yield load


# ---- how two ends meet ---------------------------------------------------------------------------


def possible():
    """Whether this system has what a link is made of."""
    return hasattr(os, "memfd_create") and hasattr(fcntl, "F_ADD_SEALS")


def door():
    """A socket to connect to, under a random name that is in no file system."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(b"\0ckernels-" + secrets.token_hex(16).encode())
    listening.listen(1)
    return listening


def knock(name):
    """This end of a link to the worker whose `door` has this name; OSError where that fails.

    name: empty where that worker has no door. The memory is allocated now and sealed, so that
    neither end can make it smaller: access to memory that is missing would kill a process.
    """
    if not name:
        raise OSError("the other worker has no door")
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connected.connect(name)
        fd = os.memfd_create("ckernels-link", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.posix_fallocate(fd, 0, 4 * SLOT)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals())
            made = Link(connected, mmap.mmap(fd, 4 * SLOT), 1)
            socket.send_fds(connected, [b"m"], [fd])
        finally:
            os.close(fd)
    except OSError:
        connected.close()
        raise
    return made


def opened(listening):
    """This end of a link to the process that knocked; OSError unless it is of this user."""
    with listening:
        listening.settimeout(1.0)  # short: the other worker has said that it knocked
        connected, _ = listening.accept()
    fds = []
    try:
        connected.settimeout(1.0)
        who = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
        _, fds, _, _ = socket.recv_fds(connected, 1, 1)
        sealed = fds and fcntl.fcntl(fds[0], fcntl.F_GET_SEALS) & seals() == seals()
        if PEER.unpack(who)[1] != os.geteuid() or not sealed:
            raise PermissionError("another user's process, or memory that may shrink")
        if os.fstat(fds[0]).st_size != 4 * SLOT:
            raise OSError("the other end has slots of another size")
        return Link(connected, mmap.mmap(fds[0], 4 * SLOT), 0)
    except OSError:
        connected.close()
        raise
    finally:
        for fd in fds:
            os.close(fd)


def seals():
    return fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
