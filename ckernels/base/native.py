"""`runtime`: the C runtime `ckernels._runtime`, or None where there is none; `problem` says why.

The one file that knows whether it is there: all others import `runtime` from here. Whether it was
built from the same sources is asked by `plan/agreement.py`; what to do without it is said by
`runtime/function.py`.
"""

import os
import warnings

from .errors import CKernelsWarning

runtime, problem = None, None
try:
    from .. import _runtime as runtime  # noqa: F401
except ImportError as error:
    problem = error


def why_none():
    """Words for why there is none: not built where there was no compiler, or it refuses to load."""
    if problem.name == __name__.partition(".")[0]:  # the package has no such part
        return "the C runtime of ckernels was not built"
    return f"the C runtime of ckernels cannot be loaded: {problem}"


def check_threads(environment=os.environ):
    """Warn where a variable that OpenMP reads says no number of threads: the runtime ignores it."""
    for name in ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT"):
        text = environment.get(name, "").strip()
        parts = [part.strip() for part in text.split(",")]  # a number per level of nesting
        if text and not all(p.isascii() and p.isdecimal() and p.strip("0") for p in parts):
            warnings.warn(
                f"{name}={text} says no number of threads, which is 1 or more (or a list, of which "
                "the first counts): it is ignored",
                CKernelsWarning,
                stacklevel=2,
            )


if runtime is not None:
    check_threads()
