"""Flags and sources of the runtime extension `ckernels._runtime`.

Imports setuptools and NumPy (for its include directory) only. The runtime is plain C for the
baseline CPU, because wheels travel; the kernels, not the runtime, use the CPU's vector units.
CKERNELS_SANITIZE=1 builds it for ASan and UBSan, CKERNELS_WERROR=1 makes warnings fatal.
"""

import os
from glob import glob

FLAGS = ["-O3", "-fopenmp", "-std=gnu11", "-Wall", "-Wextra", "-fno-math-errno"]
SANITIZE = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined"]


def sources(root="."):
    """C files of the runtime, relative to the root of the project, in a stable order."""
    return sorted(os.path.relpath(path, root) for path in glob(f"{root}/ckernels/src/*.c"))


def flags():
    """(compile flags, link flags) for this build."""
    compile_flags, link_flags = list(FLAGS), ["-fopenmp"]
    if os.environ.get("CKERNELS_SANITIZE"):
        compile_flags += SANITIZE
        link_flags += SANITIZE
    if os.environ.get("CKERNELS_WERROR"):
        compile_flags.append("-Werror")
    return compile_flags, link_flags


def runtime_extension():
    """The setuptools Extension, or None where there is nothing to build."""
    files = sources()
    if not files:
        return None
    import numpy
    from setuptools import Extension

    compile_flags, link_flags = flags()
    return Extension(
        "ckernels._runtime",
        sources=files,
        depends=sorted(glob("ckernels/src/*.h")),
        include_dirs=["ckernels/src", numpy.get_include()],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
        extra_compile_args=compile_flags,
        extra_link_args=link_flags,
        libraries=["dl", "m"] if os.name == "posix" else [],
        optional=True,
    )
