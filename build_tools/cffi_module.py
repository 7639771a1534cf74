"""Writes `ckernels/compiler/_loader.py`, the out-of-line ABI module that opens kernel files.

One fixed cdef serves every kernel file there will ever be, so parsing it (56 ms with pycparser) is
paid when ckernels is built, not when it is imported. Imports cffi only. The result is never
committed; where it is missing the loader parses the same cdef once per process.
"""

import os
import sys

TARGET = os.path.join("ckernels", "compiler", "_loader.py")


def cdef():
    """The declarations, read from the loader's source so that there is one copy of them."""
    path = os.path.join(os.path.dirname(__file__), "..", "ckernels", "compiler", "loader.py")
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    return text.split('CDEF = """', 1)[1].split('"""', 1)[0]


def generate(target):
    """Write the module to `target`; the file is left alone when it is already the same."""
    import cffi

    ffi = cffi.FFI()
    ffi.set_source("ckernels.compiler._loader", None)
    ffi.cdef(cdef())
    os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
    ffi.emit_python_code(target)
    return target


if __name__ == "__main__":
    generate(sys.argv[1] if len(sys.argv) > 1 else TARGET)
