"""The programs of this folder, by name: what each one is, and how every library says it.

A program is a plain NumPy function with a decorator. Ours is `ck.jit` of that function as it is, or
a function compiled from a graph (`ours`), where people of its field write graphs. JAX's is the same
source over `jax.numpy` (SAME) where nothing is stored into arrays; torch's is written as its users
write it. How they are timed is in measure.py, not here.
"""

import importlib
from typing import NamedTuple

SAME = "same"  # the twin is the NumPy function itself, over another namespace
MODULES = (
    "vision language speech recommenders graphs series physics particles statistics finance "
    "imaging signals tables nets"
).split()
PROGRAMS = {}


class Program(NamedTuple):
    """name; field; make(rng, *sizes) -> inputs; sizes for timing and for tests; numpy: function of
    the inputs; ours: None (`ck.jit`) or inputs -> call; torch, jax: function of the inputs, or
    None; close: the relative error that is allowed between libraries."""

    name: str
    field: str
    make: object
    full: tuple
    tiny: tuple
    numpy: object
    ours: object = None
    torch: object = None
    jax: object = None
    close: float = 1e-4


def program(make, full, tiny, **more):
    """Registers the function below it; its field is its module's name."""

    def register(function):
        name, field = function.__name__, function.__module__.rpartition(".")[2]
        assert name not in PROGRAMS, name
        PROGRAMS[name] = Program(name, field, make, full, tiny, function, **more)
        return function

    return register


def load():
    """All programs by name."""
    for name in MODULES:
        importlib.import_module(f"benchmarks.breadth.{name}")
    return PROGRAMS


def floats(rng, *shape):
    """Normal float32 numbers, what nets are made of."""
    return rng.standard_normal(shape, dtype="float32")
