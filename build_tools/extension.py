"""Flags and sources of the runtime extension `ckernels._runtime`.

Imports setuptools and NumPy (for its include directory) only. The runtime is plain C for the
baseline CPU, because wheels travel; the kernels, not the runtime, use the CPU's vector units.
CKERNELS_SANITIZE=address,undefined (or thread) builds it for those sanitizers, CKERNELS_WERROR=1
makes warnings fatal, CKERNELS_NO_RUNTIME=1 leaves it out. CKERNELS_NATIVE=1 compiles its kernels
for this CPU alone: another that lacks an instruction cannot load it.

`python build_tools/extension.py` compiles the two longest files, which need neither, while pip
fetches them: setup.py finds their objects made.
"""

import os
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from glob import glob

FLAGS = ["-O3", "-g0", "-pthread", "-std=gnu11", "-Wall", "-Wextra", "-fno-math-errno",
         "-fvisibility=protected"]  # fmt: skip
# Half of the time is theirs: begun last, they leave all cores but one idle.
LONGEST = ("gemm/builtin.c", "image/channels.c", "order/order.c", "image/tile.c")
SANITIZE = ["-O1", "-g", "-fno-omit-frame-pointer"]


def sources(root="."):
    """C files of the runtime, relative to the root of the project, in a stable order."""
    return sorted(os.path.relpath(path, root) for path in glob(f"{root}/ckernels/src/*/*.c"))


def flags():
    """(compile flags, link flags) for this build."""
    compile_flags, link_flags = list(FLAGS), ["-pthread"]
    if chosen := os.environ.get("CKERNELS_SANITIZE"):
        compile_flags += [*SANITIZE, f"-fsanitize={chosen}"]
        link_flags += [*SANITIZE, f"-fsanitize={chosen}"]
    if os.environ.get("CKERNELS_WERROR"):
        compile_flags.append("-Werror")
    return compile_flags, link_flags


def compile_changed(compiler, headers):
    """Make a setuptools compiler build only objects older than their source or a header, side by
    side: by itself it builds every file of an extension again, one by one (7 s against 0.4 s)."""
    compile_one = compiler.compile
    newest = max(map(os.path.getmtime, [*headers, __file__]))

    def compile_many(sources, output_dir=None, **options):
        objects = compiler.object_filenames(sources, output_dir=output_dir or "")
        old = [
            source
            for source, target in zip(sources, objects)
            if not os.path.exists(target)
            or os.path.getmtime(target) < max(newest, os.path.getmtime(source))
        ]
        old.sort(key=lambda source: not source.replace(os.sep, "/").endswith(LONGEST))
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            list(pool.map(lambda file: compile_one([file], output_dir=output_dir, **options), old))
        return objects

    compiler.compile = compile_many


# What the compiler defines for a CPU that has a set of instructions (see simd/simd.c), best first.
SETS = {
    "AVX512": ("AVX512F", "AVX512DQ", "AVX512BW", "AVX512VL"),
    "AVX2": ("AVX2", "FMA"),
    "BASE": (),
}


def left_out(defined):
    """Macros that leave sets of instructions out of the runtime, for `defined` by the compiler."""
    if "__x86_64__" not in defined:
        return []
    own = next(s for s in SETS if all(f" __{name}__ " in defined for name in SETS[s]))
    return [(f"CK_WITHOUT_{name}", None) for name in SETS if name != own]


def native_macros():
    """The same for this CPU, as the compiler knows it; none where it does not say."""
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    command = [*compiler.split(), "-march=native", "-dM", "-E", "-x", "c", os.devnull]
    try:
        return left_out(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    except (OSError, subprocess.CalledProcessError):
        return []


def macros():
    """What CKERNELS_NATIVE=1 defines."""
    return native_macros() if os.environ.get("CKERNELS_NATIVE") else []


# Those by which setuptools compiles otherwise.
SAY = "CC", "CFLAGS", "CPPFLAGS", "ARCHFLAGS", "CKERNELS_SANITIZE", "CKERNELS_WERROR"


def ahead(source):
    """Compile a file as setuptools does, to where it looks; nothing where the environment says how
    to compile, and no error: setup.py has the last word. Returns the object's path or None."""
    compiler = sysconfig.get_config_var("CC")
    if not compiler or any(map(os.environ.get, SAY)):
        return None
    place = f"build/temp.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
    native = "native" if os.environ.get("CKERNELS_NATIVE") else ""
    made = os.path.join(place, native, os.path.splitext(source)[0] + ".o")
    os.makedirs(os.path.dirname(made), exist_ok=True)
    given = [*compiler.split(), *map(sysconfig.get_config_var, ("CFLAGS", "CCSHARED"))]
    command = [*" ".join(filter(None, given)).split(), *(f"-D{name}" for name, _ in macros())]
    command += ["-Ickernels/src", *flags()[0], "-c", source, "-o", f"{made}.part"]
    if subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        return None
    os.replace(f"{made}.part", made)
    return made


def runtime_extension():
    """The setuptools Extension, or None where there is nothing to build."""
    files = sources()
    if not files or os.environ.get("CKERNELS_NO_RUNTIME"):
        return None
    import numpy
    from setuptools import Extension

    compile_flags, link_flags = flags()
    return Extension(
        "ckernels._runtime",
        sources=files,
        depends=sorted(glob("ckernels/src/*.h") + glob("ckernels/src/*/*.h")),
        include_dirs=["ckernels/src", numpy.get_include()],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION"), *macros()],
        extra_compile_args=compile_flags,
        extra_link_args=link_flags,
        libraries=["dl", "m"] if os.name == "posix" else [],
    )


if __name__ == "__main__":
    for name in LONGEST[:2]:
        ahead(f"ckernels/src/{name}")
