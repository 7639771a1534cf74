"""Hand-written kernels and plans for the runtime's tests: stand-ins for what codegen produces.

Kernels are compiled once in a run; `plan` puts instructions, pointers and dims together
the way ckernels.h lays them out.
"""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from once import once

KERNEL, GEMM, PYCALL, SCAN, IF, TOLD = 0, 1, 2, 3, 4, 6
ARENA, INPUT, CELL, OUTPUT, NEXT, CONSTANT = range(6)
EINDEX, EMEMORY, EPYTHON, EVALUE = 1, 2, 3, 4

SOURCE = r"""
#include <stdint.h>
#include <time.h>
#define KERNEL(name) int name(void *const *p, const int64_t *d, int64_t lo, int64_t hi)
#define EACH for (int64_t i = lo; i < hi; i++)

KERNEL(add1)                                         /* y = x + 1 */
{
    const double *x = p[0];
    double *y = p[1];
    EACH y[i] = x[i] + 1;
    return d == 0;
}
KERNEL(add1_strided)                                 /* y[i] = x[i * d0] + 1 */
{
    const double *x = p[0];
    double *y = p[1];
    EACH y[i] = x[i * d[0]] + 1;
    return 0;
}
KERNEL(axpy)                                         /* z = a[0] * x + y */
{
    const double *a = p[0], *x = p[1], *y = p[2];
    double *z = p[3];
    EACH z[i] = a[0] * x[i] + y[i];
    return d == 0;
}
KERNEL(fma3)                                         /* z = a * x + y */
{
    const double *a = p[0], *x = p[1], *y = p[2];
    double *z = p[3];
    EACH z[i] = a[i] * x[i] + y[i];
    return d == 0;
}
KERNEL(add)                                          /* z = x + y */
{
    const double *x = p[0], *y = p[1];
    double *z = p[2];
    EACH z[i] = x[i] + y[i];
    return d == 0;
}
KERNEL(reached)                                      /* y = x >= d0; CK_EINDEX when x >= d1 */
{
    const double *x = p[0];
    uint8_t *y = p[1];
    y[0] = x[0] >= (double)d[0];
    return x[0] >= (double)d[1] && lo <= hi;
}
KERNEL(steps)                                        /* told, x, y = x + 1; ends at x = d0,
                                                        CK_EINDEX, in scans inside, at x = d1 */
{
    int64_t *told = p[0], i = lo;
    const double *x = p[1];
    double *y = p[2];
    for (; i < hi && i < told[0]; i++) {
        told[1] = i;
        told[3] = 1, told[4] = 2, told[5] = 7, told[6] = 8;
        if (x[i] == (double)d[1])
            return 1;
        y[i] = x[i] + 1;
        if (x[i] == (double)d[0]) {
            told[1] = i + 1, told[2] = 1;
            return 0;
        }
    }
    told[1] = i;
    return 0;
}
KERNEL(fails) { return p && d && lo <= hi ? 1 : 0; }          /* CK_EINDEX */
KERNEL(says_python) { return p && d && lo <= hi ? 3 : 0; }    /* CK_EPYTHON, with no error set */
KERNEL(slow)                                         /* sleeps d0 ns */
{
    struct timespec t = {0, d[0]};
    nanosleep(&t, 0);                                /* signals cut it short */
    return !p || lo > hi;
}
"""
NAMES = ("add1", "add1_strided", "axpy", "fma3", "add", "reached", "fails", "says_python", "slow",
         "steps")  # fmt: skip


COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def build(folder):
    (folder / "kernels.c").write_text(SOURCE)
    subprocess.run(
        [
            COMPILER,
            "-O2",
            "-ffp-contract=off",
            "-Wall",
            "-Wextra",
            "-shared",
            "-fPIC",
            "-o",
            str(folder / "kernels.so"),
            str(folder / "kernels.c"),
        ],
        check=True,
    )


@pytest.fixture(scope="session")
def kernels():
    """Addresses of the kernels above, by name."""
    if COMPILER is None:
        pytest.skip("no C compiler: the executor's tests need a few hand-written kernels")
    loaded = ctypes.CDLL(str(once("handmade", build, SOURCE) / "kernels.so"))
    table = {name: ctypes.cast(getattr(loaded, name), ctypes.c_void_p).value for name in NAMES}
    return type("Kernels", (), table | {"library": loaded})


def instr(kind=KERNEL, tag=0, fn=0, ptr=0, dims=0, n=0, block=1, grain=1 << 40):
    """One row of instrs. The default grain keeps a kernel serial."""
    return (kind, tag, fn, ptr, dims, n, block, grain)


def scan(
    rows,
    slides=(),
    moves=(),
    finals=(),
    traces=(),
    limit=-1,
    reverse=0,
    count=-1,
    flag=-1,
    executed=-1,
    stepped=0,
    width=0,
    part=0,
    stretch=0,
):
    """The dims of a scan instruction."""
    head = [
        rows,
        limit,
        reverse,
        stepped,
        count,
        flag,
        executed,
        len(slides),
        len(moves),
        len(finals),
        len(traces),
        width,
        part,
        stretch,
    ]
    return head + [n for table in (slides, moves, finals, traces) for row in table for n in row]


def move(slot, until, a, a_stride, b, b_stride, x_by_t=0, y_by_t=0, shift=0, a_mask=-1, b_mask=-1):
    """One row of a scan's moves."""
    return (slot, x_by_t, until, a, a_stride, a_mask, y_by_t, shift, b, b_stride, b_mask)


def plan(
    runtime,
    instrs,
    ptrs,
    dims=(),
    arena=0,
    constants=(),
    outputs=(),
    updates=(),
    pycalls=(),
    work=0,
):
    return runtime.Plan(
        np.array(instrs, np.int64).reshape(-1, 8),
        np.array(ptrs, np.int64).reshape(-1, 3),
        np.array(dims, np.int64),
        arena,
        list(constants),
        list(outputs),
        list(updates),
        list(pycalls),
        work,
    )


def simple_plan(runtime, kernels, **changes):
    """A legal plan of one instruction, after changes."""
    parts = dict(
        instrs=[instr(fn=kernels.add1, n=4)],
        ptrs=[(INPUT, 0, 0), (OUTPUT, 0, 0)],
        outputs=[("float64", (4,))],
    )
    return plan(runtime, **(parts | changes))


class Failed(Exception):
    """What `fail` below builds: code, tag, inputs."""


def fail(code, tag, arrays):
    return Failed(code, tag, arrays)


def strict(i, value):
    """A coerce that accepts nothing."""
    raise TypeError(f"input {i}: {value!r}")


def function(
    runtime,
    bind,
    inputs=(),
    cells=(),
    updated=(),
    single=True,
    flexible=(),
    coerce=strict,
    fail=fail,
    **options,
):
    return runtime.Function(
        bind,
        coerce,
        fail,
        list(inputs),
        list(cells),
        list(updated),
        single,
        list(flexible),
        **options,
    )


def add1(runtime, kernels, work=0, **options):
    """f(x) = x + 1 for float64 vectors; f.info counts binds."""

    def bind(arrays):
        f.info.append(arrays[0].shape)
        (n,) = arrays[0].shape
        stride = arrays[0].strides[0] // 8
        return plan(
            runtime,
            [instr(fn=kernels.add1_strided, n=n)],
            [(INPUT, 0, 0), (OUTPUT, 0, 0)],
            [stride],
            outputs=[("float64", (n,))],
            work=work,
        )

    f = function(runtime, bind, [("float64", 1)], **options)
    f.info = []
    return f


def counter(runtime, kernels, cell, work=0, middle=None):
    """f() = old value of cell; cell <- cell + 1. middle: a pycall between the two instructions."""

    def bind(arrays):
        shape = cell.get().shape
        n = int(np.prod(shape))
        steps = [instr(fn=kernels.add1, ptr=0, n=n, tag=1)]
        if middle:
            steps.append(instr(PYCALL, fn=0, tag=2))
        steps.append(instr(fn=kernels.add1, ptr=2, n=n, tag=3))
        pycalls = [(middle, [(1, "float64", shape, cell.get().strides)], [])] if middle else []
        return plan(
            runtime,
            steps,
            [(CELL, 0, 0), (NEXT, 0, 0), (CELL, 0, 0), (OUTPUT, 0, 0)],
            outputs=[("float64", shape)],
            updates=[(0, "float64", shape)],
            pycalls=pycalls,
            work=work,
        )

    return function(runtime, bind, cells=[cell], updated=[0], flexible=[0])


def python_square(runtime, action, work=0):
    """f(x) = x*x for vectors of 4, squared by Python in the arena, then copied out by Python."""
    row = ("float64", (4,), (8,))
    pycalls = [
        (action, [(0, *row)], [(1, *row)]),
        (lambda i, o: np.copyto(o[0], i[0]), [(1, *row)], [(2, *row)]),
    ]

    def bind(arrays):
        return plan(
            runtime,
            [instr(PYCALL, fn=0), instr(PYCALL, fn=1)],
            [(INPUT, 0, 0), (ARENA, 0, 0), (OUTPUT, 0, 0)],
            arena=32,
            outputs=[("float64", (4,))],
            pycalls=pycalls,
            work=work,
        )

    return function(runtime, bind, [("float64", 1)])
