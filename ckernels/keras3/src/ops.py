# ruff: noqa: F401
"""`backend.ops` of Keras's coming layout: modules by subject, and core's functions."""

from ..backend import core, image, linalg, math, nn, numpy
from ..backend.core import *  # noqa: F403
