"""The bridge to PyTensor: importing it registers the linker `ckernels` and the mode `CKERNELS`.

Users import `ckernels.pytensor`. linker.py has what PyTensor calls, pieces.py cuts a graph where
Python has to run, convert.py translates it by the functions of translations/, perform.py calls what
has no translation.
"""

from functools import partial

from pytensor import config
from pytensor.compile import mode as _modes
from pytensor.graph.rewriting.db import RewriteDatabaseQuery

from . import spectra
from .linker import CKernelsLinker

__all__ = ["CKERNELS", "CKernelsLinker"]

# The second tag shortens the buffers of scans to the rows that are used, as for PyTensor's other
# linkers that allocate the rows of a scan themselves; the third is our own rewrite.
CKERNELS = _modes.Mode(
    CKernelsLinker(),
    RewriteDatabaseQuery(include=["fast_run", "scan_save_mem_no_prealloc", spectra.TAG]),
)


def _register():
    if "CKERNELS" in _modes.predefined_modes:
        return
    _modes.register_mode("CKERNELS", CKERNELS)
    _modes.register_linker("ckernels", CKernelsLinker())
    _known_to_config()


def _known_to_config():
    """Let `pytensor.config.mode = "CKERNELS"` work: PyTensor checks it against a list of names."""
    parameter = config._config_var_dict["mode"]
    parameter._apply = partial(_ours_or, parameter._apply)


def _ours_or(before, value):
    return value if value == "CKERNELS" else before(value)


_register()
