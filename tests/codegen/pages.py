"""Arrays that end (or begin) exactly at an unmapped page: a stray read kills the process."""

import ctypes
import mmap

import numpy as np

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]  # fmt: skip
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
PAGE = mmap.PAGESIZE


class _Guarded:
    """Pages of data between two pages that nobody may touch."""

    def __init__(self, nbytes):
        self.size = -(-max(nbytes, 1) // PAGE) * PAGE
        self.base = _libc.mmap(
            None,
            self.size + 2 * PAGE,
            mmap.PROT_READ | mmap.PROT_WRITE,
            mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
            -1,
            0,
        )
        assert self.base not in (None, ctypes.c_void_p(-1).value)
        for page in (self.base, self.base + PAGE + self.size):
            assert not _libc.mprotect(page, PAGE, 0)

    def __del__(self):
        _libc.munmap(self.base, self.size + 2 * PAGE)


def guarded(array, at_end=True):
    """A C-contiguous copy of `array` that touches the guard page behind (or before) it."""
    pages = _Guarded(array.nbytes)
    start = PAGE + (pages.size - array.nbytes if at_end else 0)
    memory = (ctypes.c_char * array.nbytes).from_address(pages.base + start)
    memory.owner = pages
    copy = np.frombuffer(memory, dtype=array.dtype, count=array.size).reshape(array.shape)
    copy[...] = array
    return copy
