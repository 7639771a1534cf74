"""The programs of this folder, by name: what each one is, and how its arguments are made.

A program is a function of plain NumPy, as people publish them; none was written with a compiler in
mind. How they are compared and timed is in measure.py, not here.
"""

import importlib
from typing import NamedTuple

MODULES = (
    "statistics finance imaging physics biology geometry signals learning chemistry astronomy "
    "machines sequences methods loops histories"
).split()
PROGRAMS = {}


class Program(NamedTuple):
    """name; field; function; make(generator, size) -> arguments; sizes, from small to large."""

    name: str
    field: str
    function: object
    make: object
    sizes: tuple


def program(sizes, make):
    """Registers the function below it; its field is its module's name."""

    def register(function):
        name, field = function.__name__, function.__module__.rpartition(".")[2]
        assert name not in PROGRAMS, name
        PROGRAMS[name] = Program(name, field, function, make, sizes)
        return function

    return register


def load():
    """All programs by name."""
    for name in MODULES:
        importlib.import_module(f"benchmarks.numpy_programs.{name}")
    return PROGRAMS
