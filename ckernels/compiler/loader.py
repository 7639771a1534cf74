"""Opens the bytes of a shared object and reads its table of kernels.

The bytes are what the cache verified or the compiler just wrote, never a path: they are copied
into a memory file and opened there, so nothing that happens to the compiledir (eviction, `clear`,
another machine on a shared home, a noexec mount) can reach a running process. Costs 45-150 us.
cffi only finds the functions here; calling them is the executor's work.
"""

import itertools
import os
import threading

# build_tools/cffi_module.py compiles this text into `_loader.py` when ckernels is built.
CDEF = """
typedef struct {
    const char *key;
    int (*fn)(void *const *p, const int64_t *dims, int64_t lo, int64_t hi);
} ck_entry;
extern const ck_entry ck_kernels[];
"""

_ffi = None
_ffi_lock = threading.Lock()
_serial = itertools.count(1)
_libraries = []  # kept for ever: addresses taken from them live in plans


def ffi():
    """The cffi instance: the module made at build time, or the same parsed here (56 ms)."""
    global _ffi
    with _ffi_lock:
        if _ffi is None:
            try:
                from ._loader import ffi as prepared

                _ffi = prepared
            except ImportError:
                import cffi

                _ffi = cffi.FFI()
                _ffi.cdef(CDEF)
    return _ffi


def load(elf):
    """Bytes of a shared object -> {key: address} of its kernels. OSError where dlopen refuses."""
    library = _open(elf)
    cffi = ffi()
    table = library.ck_kernels
    addresses = {}
    for i in itertools.count():
        if table[i].key == cffi.NULL:
            break
        key = cffi.string(table[i].key).decode("ascii")
        addresses[key] = int(cffi.cast("intptr_t", table[i].fn))
    _libraries.append(library)
    return addresses


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
    """A private copy, unlinked as soon as it is open (Windows keeps it until the process ends)."""
    import tempfile

    directory = tempfile.mkdtemp(prefix="ckernels-")
    path = os.path.join(directory, "kernels.so")
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
