"""Halves: complex values that a loop carries, as a real and an imaginary part each.

A scan whose states are real numbers is a loop of kernels in which no part has to be picked out of
the memory of complex numbers. What is carried otherwise, and how, is found in turns.py.
"""

from .. import ops
from ..base.dtypes import is_complex
from ..graph.walk import rebuild
from ..ops.spectra import real_of
from .trace import placeholder


class Halves:
    """The complex ones of carries (node before, placeholder, node after a turn), in two parts."""

    def __init__(self, carries):
        self.parts = {new: [placeholder(real_of(new.dtype), new.shape) for _ in range(2)]
                      for _, new, _ in carries if is_complex(new.dtype)}  # fmt: skip
        self.order = [new for _, new, _ in carries]

    def put(self, outs):
        """The nodes that a turn leaves, of the parts."""
        whole = {new: ops.complex_of(*parts) for new, parts in self.parts.items()}
        return rebuild(outs, whole) if whole else outs

    def split(self, carries):
        """The carries of all parts."""
        found = []
        for first, new, now in carries:
            if new in self.parts:
                a, b = self.parts[new]
                found += [(ops.real(first), a, ops.real(now)), (ops.imag(first), b, ops.imag(now))]
            else:
                found.append((first, new, now))
        return found

    def join(self, finals):
        """The values of what was carried, from those of `split`."""
        values = iter(finals)
        return [ops.complex_of(next(values), next(values)) if new in self.parts else next(values)
                for new in self.order]  # fmt: skip


__all__ = ["Halves"]
