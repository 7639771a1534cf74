"""Examples and near misses of all rules, cut by their families."""

from . import canonicalise, channels, reductions, stabilise, views

FILES = (views, canonicalise, reductions, stabilise, channels)
EXAMPLES = {name: found for file in FILES for name, found in file.EXAMPLES.items()}
NEAR = {name: found for file in FILES for name, found in file.NEAR.items()}
