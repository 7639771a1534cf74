"""A pytest plugin that re-aims PyTensor's own link suites (JAX, MLX, numba) at ckernels.

The linkers of the suites' modes are replaced before their files are imported, so that each test
that compiles a graph compiles it here and compares with PyTensor's Python mode, as it stands. Tests
of the other engines themselves are left out, by name and with a reason, in `not_ours.txt`.
"""

import importlib
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from ckernels import ops

NOT_OURS = Path(__file__).with_name("not_ours.txt")


def not_ours(file):
    """[(part of a test's id, reason)] of the tests that are left out.

    In the part * stands for anything, and a $ at its end for the end of the id.
    """
    rows = [
        line.split("#", 1)
        for line in file.read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    return [(name.strip(), reason.strip()) for name, reason in rows]


def pytest_configure(config):
    _swap_arrays()
    for engine, (name, linker) in aimed().items():
        for where in (f"pytensor.link.{engine}", f"pytensor.link.{engine}.linker"):
            setattr(importlib.import_module(where), name, linker)
        _swap_mode(engine.upper(), linker)


def aimed():
    """{engine: (name of its linker, our linker in its place)}."""
    from ckernels.bridges.pytensor import CKernelsLinker
    from ckernels.bridges.pytensor.registry import translates

    class Aimed(CKernelsLinker):
        """Ours with the options of another linker; work in place is marked in graphs where a suite
        asks for it, and done by ckernels as it sees fit."""

        incompatible_rewrites = tuple(set(CKernelsLinker.incompatible_rewrites) - {"inplace"})

        def __init__(self, *args, use_compile=True, **kwargs):
            super().__init__(*args, **kwargs)

    class AimedAtJAX(Aimed):
        """JAX's linker warns that it copies random generators, and its tests wait for that."""

        def fgraph_convert(self, fgraph, *args, **kwargs):
            if any(type(v.type).__name__ == "RandomGeneratorType" for v in fgraph.inputs):
                warnings.warn(
                    "The RandomType SharedVariables [rng] will not be used in the "
                    "compiled JAX graph. Instead a copy will be used.",
                    UserWarning,
                    stacklevel=2,
                )
            return super().fgraph_convert(fgraph, *args, **kwargs)

    @translates("JAXShapeTuple")
    def shape_tuple(context, op, node, inputs):
        """What a rewrite for JAX alone puts before a Reshape."""
        return ops.pack(*inputs)

    return {
        "jax": ("JAXLinker", AimedAtJAX),
        "mlx": ("MLXLinker", Aimed),
        "numba": ("NumbaLinker", Aimed),
    }


class Arrays(type):
    """The array class of another engine: NumPy's arrays are its instances, and it makes them."""

    def __instancecheck__(cls, x):
        return isinstance(x, (np.ndarray, np.generic))

    def __call__(cls, value, dtype=None):
        name = str(dtype).rsplit(".", 1)[-1] if dtype is not None else None
        array = np.asarray(value, dtype=name and {"bool_": "bool"}.get(name, name))
        return array.astype("float32") if name is None and array.dtype == "float64" else array


def _swap_arrays():
    """NumPy's arrays in place of what the suites import as the other engines' arrays; the tests of
    an engine that is not installed skip themselves."""
    for name, array in (("jax", "Array"), ("mlx.core", "array")):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        setattr(module, array, Arrays(array, (), {}))


def _swap_mode(name, linker):
    from pytensor.compile import mode as modes

    new = modes.Mode(linker(), getattr(modes, name).provided_optimizer)
    setattr(modes, name, new)
    modes.predefined_modes[name] = new
    if name == "NUMBA":
        modes.predefined_linkers["numba"] = linker()


def pytest_collection_modifyitems(items):
    leave_out(items, NOT_OURS)


def leave_out(items, file):
    """Mark the tests that a row of `file` names as skipped; "3.0 name": with that PyTensor only."""
    from pytensor import __version__ as ours

    rows = []
    for name, reason in not_ours(file):
        version = re.match(r"(\d+\.\d+) +(.+)", name)
        if version is None:
            rows.append((name, reason))
        elif ours.startswith(version[1] + "."):
            rows.append((version[2], reason))
    for item in items:
        for name, reason in rows:
            if re.search(re.escape(name).replace(r"\*", ".*").replace(r"\$", "$"), item.nodeid):
                item.add_marker(pytest.mark.skip(reason=f"not ours: {reason}"))
                break
