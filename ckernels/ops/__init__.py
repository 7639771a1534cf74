"""The ops room: one row per operation, and the functions that build nodes from them.

`from ckernels import ops; ops.tanh(x)`. Importing it also gives Nodes their Python operators (except ==
and !=, which stay identity). Nothing here knows about C but the scalar expressions.
"""
import importlib

from . import operators
from .base import *  # noqa: F401,F403
from .composite import *  # noqa: F401,F403
from .elementwise import *  # noqa: F401,F403
from .logic import *  # noqa: F401,F403
from .reduce import *  # noqa: F401,F403
from .softmax import *  # noqa: F401,F403
from .special import *  # noqa: F401,F403
from .transcendental import *  # noqa: F401,F403

for _room in ("movement", "indexing", "linalg", "random", "sort", "control"):
    try:
        _module = importlib.import_module(f"{__name__}.{_room}")
    except ModuleNotFoundError as problem:
        if problem.name != f"{__name__}.{_room}":
            raise
        continue
    for _name in getattr(_module, "__all__", [n for n in vars(_module) if not n.startswith("_")]):
        globals().setdefault(_name, getattr(_module, _name))

operators.attach()
