"""numexpr's threads: numbers of cores and threads, and names for Intel's VML, which is not used.

NUMEXPR_MAX_THREADS, NUMEXPR_NUM_THREADS and OMP_NUM_THREADS mean what they mean to numexpr.
"""

import os

from ...api import config
from ...base.errors import ArgumentError

MAX_THREADS = int(os.environ.get("NUMEXPR_MAX_THREADS") or 16)


def detect_number_of_cores():
    """How many cores the machine has."""
    return os.cpu_count() or 1


def detect_number_of_threads():
    """How many threads were asked for, at most MAX_THREADS."""
    return min(_wanted(), MAX_THREADS)


def _wanted():
    for name in ("NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS"):
        if os.environ.get(name):
            return int(os.environ[name].partition(",")[0])  # OpenMP's is a list, maybe
    if os.environ.get("NUMEXPR_MAX_THREADS"):
        return MAX_THREADS
    return min(detect_number_of_cores(), MAX_THREADS)


def init_num_threads():
    """How many threads numexpr would start with."""
    return _wanted()


def set_num_threads(nthreads):
    """Use this many threads, for all of ckernels; returns how many were used before."""
    before = config.get_num_threads()
    if nthreads < 1 or nthreads > MAX_THREADS:
        raise ArgumentError(f"from 1 to {MAX_THREADS} threads can be used, not {nthreads}")
    config.set_num_threads(nthreads)
    return before


def get_num_threads():
    """How many threads are used."""
    return config.get_num_threads()


def get_vml_version():
    """None: VML is not used."""


def set_vml_accuracy_mode(mode):
    """Nothing: VML is not used."""


def set_vml_num_threads(nthreads):
    """Nothing: VML is not used."""


def get_vml_num_threads():
    """None: VML is not used."""
