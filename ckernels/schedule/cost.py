"""Roughly how long work takes: from these times a plan decides how many threads run it.

Times are of one core, as base/machine.py has them. A plan serves a class of shapes, so work is a
size: picoseconds, counted with the sizes of the inputs. An estimate may be wrong by a factor of
two: it decides how many threads work, never the result.
"""

from ..base.config import config
from ..base.machine import THREAD_NS
from ..graph.shapes import product
from ..graph.sizes import ceil_divide, greatest


def work(ns, *sizes):
    """Picoseconds of `ns` nanoseconds for each of sizes[0] * sizes[1] * ... elements, as a size.

    >>> work(0.25, 10, 4)
    10000
    """
    return max(1, round(ns * 1000)) * product(sizes)


def least_units(count, picoseconds):
    """Least units of a range for one thread, of `count` units that take so long together.

    >>> least_units(1000, work(100.0, 1000))
    100
    """
    each = picoseconds // greatest(1, count)
    return ceil_divide(THREAD_NS * 1000, greatest(1, each))


def least_for_elements(count, elements):
    """The least that the flag `openmp_elemwise_minsize` asks for, of `count` units in all."""
    least = config.openmp_elemwise_minsize
    return (least * count // greatest(1, elements) + 1) // 2 if least else 1
