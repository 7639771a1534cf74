"""A pytest plugin that re-aims PyTensor's own link suites (JAX, MLX, numba) at ckernels.

The linkers of the suites' modes are replaced before their files are imported, so that each test that
compiles a graph compiles it here and compares with PyTensor's Python mode, as it stands. Tests of
the other engines themselves are left out, by name and with a reason, in `not_ours.txt`.
"""
import importlib
import sys
import types
from pathlib import Path

import numpy as np
import pytest

NOT_OURS = Path(__file__).with_name("not_ours.txt")
LINKERS = {"jax": "JAXLinker", "mlx": "MLXLinker", "numba": "NumbaLinker"}


def not_ours():
    """[(part of a test's id, reason)] of the tests that are left out."""
    rows = [line.split("#", 1) for line in NOT_OURS.read_text().splitlines()
            if line.strip() and not line.startswith("#")]
    return [(name.strip(), reason.strip()) for name, reason in rows]


def pytest_configure(config):
    from ckernels.bridges.pytensor import CKernelsLinker

    class Aimed(CKernelsLinker):
        """Ours under the name of another linker, with whatever options that one has."""

        def __init__(self, *args, use_compile=True, **kwargs):
            super().__init__(*args, **kwargs)

    _stand_ins()
    for engine, name in LINKERS.items():
        for where in (f"pytensor.link.{engine}", f"pytensor.link.{engine}.linker"):
            setattr(importlib.import_module(where), name, Aimed)
    _swap_modes(Aimed)


def _stand_ins():
    """What the suites import of engines that are not installed: names, and arrays of NumPy."""
    for name, array in (("jax", "Array"), ("mlx.core", "array")):
        try:
            module = importlib.import_module(name)
        except ImportError:
            if name == "jax":       # its tests use jax itself: they are skipped
                continue
            package = sys.modules.setdefault("mlx", types.ModuleType("mlx"))
            module = package.core = sys.modules.setdefault(name, types.ModuleType(name))
        setattr(module, array, np.ndarray)


def _swap_modes(linker):
    from pytensor.compile import mode as modes
    for name in ("JAX", "MLX", "NUMBA"):
        old = getattr(modes, name)
        new = modes.Mode(linker(), old.provided_optimizer)
        setattr(modes, name, new)
        modes.predefined_modes[name] = new
    modes.predefined_linkers["numba"] = linker()


def pytest_collection_modifyitems(items):
    rows = not_ours()
    for item in items:
        for name, reason in rows:
            if name in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=f"not ours: {reason}"))
                break
