"""NumPy's names over rows: a namespace of the array API standard, whose arrays compute late.

`import ckernels.numpy as np`: what rows build (`rows/`) is fused and compiled when a value is asked
for, what is small or has no row NumPy computes. Names load with their first use. The same rows
serve `ckernels.jit`, `evaluate` and Keras 3; importing this package runs nothing.
"""

import importlib
from typing import Any

_MODULES = ("fft", "linalg", "random")
_FILES = ("arrays", "late", "methods", "names", "owner", "promote", "rows", "standard", "value")
__array_api_version__ = "2024.12"


def __getattr__(name) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _FILES or name[:2] == "__" and name != "__version__":
        # where this says no, Python looks for a file to import
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    names = importlib.import_module(".names", __name__)

    found = globals()[name] = names.named(names.np, name)
    return found


def __array_namespace_info__():
    """What this namespace can do, as the standard asks: devices, dtypes, capabilities."""
    names = importlib.import_module(".names", __name__)

    return names.np.__array_namespace_info__()


def __dir__():
    names = importlib.import_module(".names", __name__)

    return sorted({*names.np.__all__, "__array_namespace_info__", "__array_api_version__"})
