"""What a random program is made of: tensors beside the texts of their sizes, and inputs."""

from typing import NamedTuple

import numpy as np

import ckernels as K

AXES = ("a", "b", "c")


def size_of(text, sizes):
    """The size that `text` means in a call."""
    return int(text) if text.isdigit() else eval(text, {"min": min, "max": max}, sizes)


class Unfit(Exception):
    """A step needs an input of a size that data decide: it is left out."""


class Value(NamedTuple):
    """A tensor, the texts of its sizes, whether its numbers are exact."""

    tensor: object
    dims: tuple
    exact: bool = False

    @property
    def kind(self):
        return np.dtype(K.dtype(self.tensor)).kind


class Leaf(NamedTuple):
    """An input; `kind` of its data: "f" quarters in [-2, 2], "i" 0..6, "b", or "n0", a length."""

    tensor: object
    dims: tuple
    kind: str


def both(x, y):
    """The dims of two tensors broadcast together, or None where they may not fit."""
    wide = max(len(x), len(y))
    found = []
    for a, b in zip(["1"] * (wide - len(x)) + list(x), ["1"] * (wide - len(y)) + list(y)):
        if a != b and b not in ("1", a + "_") and a not in ("1", b + "_"):
            return None
        found.append(b if a == "1" or a == b + "_" else a)
    return tuple(found)
