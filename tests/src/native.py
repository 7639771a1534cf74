"""Builds the Python-free part of the C runtime once in a run and calls it through cffi.

Beside the runtime the library holds small C kernels written for the tests: an epilogue that counts
how often it saw each row, a range kernel that marks what it covered, one that fails on demand.
"""

import functools
import os
import shutil
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cffi
import numpy as np
from once import once

SOURCES = Path(__file__).resolve().parents[2] / "ckernels" / "src"
FILES = [
    "team/parallel.c",
    "team/team.c",
    "team/spans.c",
    "gemm/blas.c",
    "gemm/builtin.c",
    "gemm/gemm.c",
    "memory/arena.c",
    "system/libraries.c",
    "system/pages.c",
    "system/threads.c",
    "simd/simd.c",
]
FLAGS = ["-O2", "-pthread", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fPIC"]

KERNELS = r"""
#include "ckernels.h"
/* counts[r]++ and C[r] = relu(C[r] + bias). p: counts, C or NULL, bias; d: n, ldc */
int epilogue(void *const *p, const int64_t *d, int64_t lo, int64_t hi)
{
    int64_t *counts = p[0];
    float *c = p[1];
    const float *bias = p[2];
    for (int64_t r = lo; r < hi; r++) {
        __atomic_fetch_add(counts + r, 1, __ATOMIC_RELAXED);
        for (int64_t j = 0; c && j < d[0]; j++) {
            float v = c[r * d[1] + j] + bias[j];
            c[r * d[1] + j] = v > 0 ? v : 0;
        }
    }
    return CK_OK;
}
int fail_at(void *const *p, const int64_t *d, int64_t lo, int64_t hi)
{
    (void)p;
    return lo <= d[0] && d[0] < hi ? (int)d[1] : CK_OK;
}
/* counts[i]++; p[1][0] = 1 when a chunk does not start at a multiple of d[0] */
int mark(void *const *p, const int64_t *d, int64_t lo, int64_t hi)
{
    int64_t *counts = p[0];
    if (lo % d[0])
        *(int64_t *)p[1] = 1;
    __atomic_fetch_add((int64_t *)p[1] + 1, 1, __ATOMIC_RELAXED);
    for (int64_t i = lo; i < hi; i++)
        __atomic_fetch_add(counts + i, 1, __ATOMIC_RELAXED);
    return CK_OK;
}
int nested(void *const *p, const int64_t *d, int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; i++) {
        void *q[2] = {(int64_t *)p[0] + i * d[1], p[1]};
        if (ck_parallel_for(mark, q, d, d[1], d[0], 1))
            return CK_EVALUE;
    }
    return CK_OK;
}
int slow(void *const *p, const int64_t *d, int64_t lo, int64_t hi)
{
    (void)p;
    volatile int64_t x = 0;
    for (int64_t i = lo; i < hi; i++)
        for (int64_t j = 0; j < d[0]; j++)
            x += j;
    return x < 0;
}
"""

CDEF = """
typedef int (*ck_fn)(void *const *p, const int64_t *dims, int64_t lo, int64_t hi);
int ck_parallel_for(ck_fn fn, void *const *p, const int64_t *dims, int64_t n, int64_t block,
                    int64_t grain);
int ck_get_num_threads(void);
int ck_set_num_threads(int n);
int ck_threads_rule(char *text, size_t size);
double ck_cgroup_cpus(const char *self_cgroup, const char *mount);
int ck_gemm(void *const *p, const int64_t *d, ck_fn epilogue);
int ck_simd(void);
int ck_blas_use(const char *path);
int ck_blas_name(char *text, size_t size);
void *ck_alloc(size_t bytes);
void ck_free(void *data, size_t bytes);
void ck_pool_trim(void);
int64_t ck_pool_bytes(void);
void ck_pool_limit(int64_t bytes);
int epilogue(void *const *p, const int64_t *d, int64_t lo, int64_t hi);
int fail_at(void *const *p, const int64_t *d, int64_t lo, int64_t hi);
int mark(void *const *p, const int64_t *d, int64_t lo, int64_t hi);
int nested(void *const *p, const int64_t *d, int64_t lo, int64_t hi);
int slow(void *const *p, const int64_t *d, int64_t lo, int64_t hi);
"""

ffi = cffi.FFI()
ffi.cdef(CDEF)


def compiled(parts, target):
    command = [shutil.which("gcc") or shutil.which("cc"), *FLAGS, "-I", SOURCES, *parts]
    subprocess.run([*map(str, command), "-o", str(target)], check=True)


def link(directory, parts):
    """Path of the shared library of these sources, objects and flags, in `directory`."""
    target = Path(directory) / "runtime.so"
    # nodelete: unloading the team's code under its sleeping workers would crash the process
    compiled([*parts, "-shared", "-Wl,-z,nodelete", "-ldl", "-lm"], target)
    return str(target)


def build(directory, extra=(), files=FILES):
    """Path of the shared library of these files, compiled into `directory`."""
    kernels = Path(directory) / "kernels.c"
    kernels.write_text(KERNELS)
    return link(directory, [*extra, *(SOURCES / name for name in files), kernels])


def build_objects(directory):
    kernels = Path(directory) / "kernels.c"
    kernels.write_text(KERNELS)
    sources = [*(SOURCES / name for name in FILES), kernels]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        targets = [kernels.with_name(f"{source.stem}.o") for source in sources]
        list(pool.map(lambda source, to: compiled(["-c", source], to), sources, targets))


def objects():
    """What `build` compiles for the tests, once in a run."""
    return sorted(once("objects", build_objects, *texts()).glob("*.o"))


@functools.cache
def texts():
    """All that `build_objects` compiles."""
    return KERNELS, FLAGS, [p.read_text() for p in sorted(SOURCES.rglob("*.[ch]"))]


def build_for(level, directory):
    """The library as a CPU of that level has it: simd.c, which chooses, is all that differs."""
    parts = [part for part in objects() if part.name != "simd.o"]
    return link(directory, [*parts, SOURCES / "simd/simd.c", f"-DCK_MAX_SIMD={level}"])


@functools.cache
def path():
    made = once("runtime", lambda folder: link(folder, objects()), *texts())
    return str(made / "runtime.so")


@functools.cache
def load():
    return ffi.dlopen(path())


def text(function):
    buffer = ffi.new("char[512]")
    function(buffer, 512)
    return ffi.string(buffer).decode()


def pointers(*arrays):
    return ffi.new(
        "void *[]", [ffi.NULL if a is None else ffi.cast("void *", a.ctypes.data) for a in arrays]
    )


def dims(*values):
    return ffi.new("int64_t[]", list(values))


def bits(value):
    return struct.unpack("q", struct.pack("d", value))[0]


def cover(lib, n, block, grain):
    """Run ck_parallel_for over [0, n); (every index once, chunks on the grid, number of chunks)."""
    counts, notes = np.zeros(max(n, 1), np.int64), np.zeros(2, np.int64)
    p = pointers(counts, notes)
    code = lib.ck_parallel_for(lib.mark, p, dims(max(block, 1)), n, block, grain)
    return code == 0 and bool((counts[:n] == 1).all()), notes[0] == 0, int(notes[1])


def in_python(code, env, timeout=240):
    """Run `code` in a fresh Python that has this module as `native` and the library as `lib`."""
    start = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
    start += (
        f"import os, numpy as np; from src import native; lib = native.ffi.dlopen({path()!r})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", start + code],
        env={**os.environ, **env},
        timeout=timeout,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
