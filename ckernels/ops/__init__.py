"""The ops room: one op per operation, declared once, and the functions that build nodes from them.

`from ckernels import ops; ops.tanh(x)`. Importing it also gives Nodes their Python operators
(except == and !=, which stay identity). Nothing here knows about C but the scalar expressions.
"""

import importlib

from . import operators, properties
from .base import *  # noqa: F401,F403
from .composite import *  # noqa: F401,F403
from .digits import *  # noqa: F401,F403
from .elementwise import *  # noqa: F401,F403
from .logic import *  # noqa: F401,F403
from .probability import *  # noqa: F401,F403
from .reduce import *  # noqa: F401,F403
from .softmax import *  # noqa: F401,F403
from .special import *  # noqa: F401,F403
from .transcendental import *  # noqa: F401,F403


def _build_functions(module):
    """The public names of a module: its __all__, else its own functions."""
    return getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and str(getattr(value, "__module__", "")).startswith(__name__)
    ]


for _room in (
    "movement",
    "indexing.keys",
    "linalg",
    "decompose",
    "systems",
    "matrixfunctions",
    "fourier",
    "spectra",
    "convolve",
    "counting",
    "random",
    "mrg",
    "sort",
    "quantiles",
    "running",
    "control",
    "own",
    "scan_ends",
    "branch",
    "windows",
    "conv",
    "pool",
    "interpolate",
    "attention",
):
    _module = importlib.import_module(f"{__name__}.{_room}")
    globals().update({_name: getattr(_module, _name) for _name in _build_functions(_module)})

operators.register()
properties.declare()
