"""`runtime`: the C runtime `ckernels._runtime`, or None where there is none; `problem` says why.

The one file that knows whether it is there: all others import `runtime` from here. Whether it was
built from the same sources is asked by `plan/agreement.py`; what to do without it is said by
`runtime/function.py`.
"""

runtime, problem = None, None
try:
    from .. import _runtime as runtime  # noqa: F401
except ImportError as error:  # installed without a compiler
    problem = error
