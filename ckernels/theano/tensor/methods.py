"""The files whose functions are the methods of tensor variables, told to operators.py by name.

operators.py is below them all: a variable is what they are about.
"""

from ..base.hooks import register_hook
from ..handles import constants
from . import (
    creation,
    elementwise,
    extra_ops,
    indexing,
    joining,
    products,
    reductions,
    shaping,
    sort,
)

FILES = (constants, creation, elementwise, extra_ops, indexing, products, reductions, shaping, sort)
register_hook("functions", {f.__name__.rpartition(".")[2]: f for f in FILES})
register_hook("stack", joining.stack)
register_hook("patternbroadcast", shaping.patternbroadcast)
