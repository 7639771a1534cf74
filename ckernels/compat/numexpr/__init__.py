"""numexpr's names over ckernels: `from ckernels.compat import numexpr as ne`.

`install()` puts this module in numexpr's place, for pandas, PyTables and others that import it.
Dtypes are numexpr's (`kinds`); what is evaluated never becomes Python code.
"""

import sys

from . import expressions, necompiler, utils
from .necompiler import E, NumExpr, disassemble, evaluate, re_evaluate, validate
from .utils import (
    MAX_THREADS,
    detect_number_of_cores,
    detect_number_of_threads,
    get_num_threads,
    get_vml_version,
    set_num_threads,
    set_vml_accuracy_mode,
    set_vml_num_threads,
)
from .utils import init_num_threads as _init_num_threads

__all__ = [
    "E", "MAX_THREADS", "NumExpr", "detect_number_of_cores", "detect_number_of_threads",
    "disassemble", "evaluate", "get_num_threads", "get_vml_version", "install", "ncores",
    "nthreads", "re_evaluate", "set_num_threads", "set_vml_accuracy_mode", "set_vml_num_threads",
    "use_vml", "validate",
]  # fmt: skip

__version__ = "2.14.2"  # whose interface this is
use_vml = is_cpu_amd_intel = False
ncores = detect_number_of_cores()
nthreads = _init_num_threads()


def install():
    """Let `import numexpr` mean this module, in this process and from now on.

    Call it before pandas or PyTables is imported: they look for numexpr once.

    >>> import ckernels.compat.numexpr
    >>> ckernels.compat.numexpr.install()
    >>> import numexpr
    >>> numexpr is ckernels.compat.numexpr
    True
    """
    sys.modules["numexpr"] = sys.modules[__name__]
    for module in (expressions, necompiler, utils):
        sys.modules["numexpr." + module.__name__.rpartition(".")[2]] = module
