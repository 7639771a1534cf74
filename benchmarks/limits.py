"""The limit columns: limits.c through ctypes, and the bare BLAS that NumPy brings.

`limits.call("light_f32", x, y, out, n)` returns a callable; arrays are passed as pointers, numbers
as int64. Buffers are made beforehand and reused: a limit allocates nothing.
"""

import ctypes
import os
import subprocess
import sys
import tempfile

import numpy as np

FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp", "-fPIC", "-shared")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "limits.c")


class Limits:
    def __init__(self, threads):
        compiler = os.environ.get("CC", "gcc")
        self.folder = tempfile.TemporaryDirectory()
        path = os.path.join(self.folder.name, "limits.so")
        subprocess.run([compiler, *FLAGS, SOURCE, "-o", path, "-lm"], check=True)
        self.library = ctypes.CDLL(path)
        self.compiler = subprocess.run(
            [compiler, "--version"], capture_output=True, text=True, check=True
        ).stdout.splitlines()[0]
        self.threads = threads

    def call(self, name, *args, result=None, returns=None):
        """The C function `name` on these arguments; `result` is what the call returns."""
        function = getattr(self.library, name)
        function.restype = returns
        raw = [
            ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else ctypes.c_int64(a)
            for a in args
        ]

        def call(keep=args):
            value = function(*raw)
            return value if result is None else result

        return call

    def gemm(self, a, b, out=None):
        """out = a @ b by the bare BLAS, both C-contiguous or transposed views; None without one."""
        out = np.empty((a.shape[0], b.shape[1]), a.dtype) if out is None else out
        function = find_gemm(a.dtype)
        if function is None:
            return lambda: np.matmul(a, b, out=out)
        (ta, lda, a0), (tb, ldb, b0) = operand(a), operand(b)
        scalar = ctypes.c_float if a.dtype == np.float32 else ctypes.c_double
        sizes = [ctypes.c_int64(v) for v in (out.shape[0], out.shape[1], a.shape[1])]
        raw = (
            [ctypes.c_int(101), ctypes.c_int(ta), ctypes.c_int(tb), *sizes, scalar(1), pointer(a0)]
            + [ctypes.c_int64(lda), pointer(b0), ctypes.c_int64(ldb), scalar(0), pointer(out)]
            + [ctypes.c_int64(out.shape[1])]
        )

        def call(keep=(a, b)):
            function(*raw)
            return out

        return call

    def gemms(self, pairs):
        """Several bare gemms in a row."""
        calls = [self.gemm(a, b) for a, b in pairs]

        def call():
            for gemm in calls:
                gemm()
            return []

        return call


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def operand(a):
    """(transposed flag of cblas, leading dimension, the contiguous array behind it)."""
    if a.flags.c_contiguous:
        return 111, a.shape[1], a
    if a.T.flags.c_contiguous:
        return 112, a.shape[0], a.T
    raise ValueError("neither the operand nor its transpose is contiguous")


def find_gemm(dtype):
    """cblas_?gemm of the 64-bit OpenBLAS inside NumPy's wheel."""
    name = f"scipy_cblas_{'s' if dtype == np.float32 else 'd'}gemm64_"
    if not sys.platform.startswith("linux"):
        return None
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "openblas64" in line}
    for path in paths:
        try:
            return getattr(ctypes.CDLL(path), name)
        except (OSError, AttributeError):
            continue
    return None
