"""Opens the bytes of a shared object and reads its table of kernels.

The bytes were verified by the cache or just written by the compiler. They are copied into a memory
file and opened there, never by their path, so nothing that happens to the compiledir (eviction,
`clear`, another machine on a shared home, a noexec mount) can reach a running process. It costs
45 to 150 us. cffi only finds the functions here; calling them is the executor's work.
"""

import itertools
import os
import struct
import sys

from ..base import locks
from . import system
from .directories import compiledir

# build_tools/cffi_module.py compiles this text into `_loader.py` when ckernels is built.
CDEF = """
typedef struct {
    const char *key;
    int (*fn)(void *const *p, const int64_t *dims, int64_t lo, int64_t hi);
} ck_entry;
extern const ck_entry ck_kernels[];
"""

_ffi = None
_ffi_lock = locks.lock()
_serial = itertools.count(1)
_libraries = []  # kept for ever: addresses taken from them live in plans


def ffi():
    """The cffi instance: the module made at build time, or the same parsed here (56 ms)."""
    global _ffi
    with _ffi_lock:
        if _ffi is None:
            try:
                from ._loader import ffi as prepared  # start-up

                _ffi = prepared
            except ImportError:
                import cffi

                _ffi = cffi.FFI()
                _ffi.cdef(CDEF)
    return _ffi


def load(elf):
    """Bytes of a shared object -> {key: address} of its kernels. OSError where it is none."""
    reason = implausible(elf)
    if reason:
        raise OSError(f"what should be a shared object {reason}")
    return _read_table(_open(elf))


def load_file(path):
    """The same for a library of the package, which is opened where it lies."""
    return _read_table(ffi().dlopen(path))


def _read_table(library):
    cffi = ffi()
    try:
        table = library.ck_kernels
    except (AttributeError, KeyError, OSError, getattr(cffi, "error", OSError)):  # only C's has it
        raise OSError("the shared object holds no table of kernels") from None
    addresses = {}
    for i in itertools.count():
        if table[i].key == cffi.NULL:
            break
        key = cffi.string(table[i].key).decode("ascii", "replace")
        addresses[key] = int(cffi.cast("intptr_t", table[i].fn))
    _libraries.append(library)
    return addresses


def implausible(elf):
    """Why dlopen would refuse these bytes or, worse, die of them; "" where they look whole.

    A mapped file that ends too early kills the process (SIGBUS), so every segment and the table
    of sections must lie inside.
    """
    if sys.platform != "linux":
        return ""
    if len(elf) < 64 or elf[:4] != b"\x7fELF":
        return "is no ELF file" if elf else "is empty"
    wide, order = elf[4] == 2, "<" if elf[5] == 1 else ">"
    head = struct.Struct(order + ("HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH"))
    if elf[4] not in (1, 2) or len(elf) < 16 + head.size:
        return "has a broken header"
    (kind, _, _, _, segments, sections, _, _, size, count, section_size, section_count, _) = (
        head.unpack_from(elf, 16)
    )
    row = struct.Struct(order + ("IIQQQQQQ" if wide else "IIIIIIII"))
    if kind != 3 or size != row.size or not count or segments + size * count > len(elf):
        return "is no shared object"
    for k in range(count):
        fields = row.unpack_from(elf, segments + size * k)
        offset, length = (fields[2], fields[5]) if wide else (fields[1], fields[4])
        if fields[0] == 1 and offset + length > len(elf):
            return "was cut short"
    return "was cut short" if sections + section_size * section_count > len(elf) else ""


def _open(elf):
    if hasattr(os, "memfd_create"):
        try:
            return _open_memory(elf)
        except OSError as error:
            if "undefined symbol" in str(error):
                raise
            # A policy against executable memory files (vm.memfd_noexec, SELinux), or no /proc.
    return _open_copy(elf)


def _open_memory(elf):
    fd = os.memfd_create("ckernels", os.MFD_CLOEXEC)
    try:
        write_all(fd, elf)
        return ffi().dlopen(unique_path(fd, next(_serial)))
    finally:
        os.close(fd)


def unique_path(fd, serial):
    """A path of /proc/self/fd/<fd> no dlopen has seen. glibc compares *names* first: a descriptor
    number that is used again would get the library opened under it before."""
    bits = "".join("/." if bit == "1" else "/" for bit in f"{serial:b}")
    return f"/proc/self/fd{bits}/{fd}"


def _open_copy(elf):
    """A private copy, in the first directory from which files may be run."""
    import tempfile  # start-up

    reasons = []
    for place in dict.fromkeys((None, "/dev/shm", os.environ.get("XDG_RUNTIME_DIR"), compiledir())):
        if place is not None and not os.path.isdir(place):
            continue
        try:
            directory = tempfile.mkdtemp(prefix="ckernels-", dir=place)
        except (OSError, ValueError) as error:
            reasons.append(f"{place}: {error}")
            continue
        try:
            return _open_in(directory, elf)
        except OSError as error:
            if "undefined symbol" in str(error):
                raise
            reasons.append(str(error))
    raise OSError(
        "there is no place from which kernels may be run; TMPDIR can name one ("
        + "; ".join(reasons)
        + ")"
    )


def _open_in(directory, elf):
    """The file is unlinked as soon as it is open (Windows keeps it until the process ends)."""
    path = os.path.join(directory, "kernels.so")
    if system.WINDOWS and not _libraries:
        system.sweep_copies(os.path.dirname(directory))
    try:
        with open(path, "wb") as stream:
            stream.write(elf)
        return ffi().dlopen(path)
    finally:
        for remove, name in ((os.unlink, path), (os.rmdir, directory)):
            try:
                remove(name)
            except OSError:
                pass


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
