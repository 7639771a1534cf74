"""What is known of integer scalars and vectors without running anything: sizes, and what is
computed from them. Knows the few ops that size arithmetic is made of; all else is unknown.
"""

from ..base import dtypes
from .sizes import greatest, smallest

DEPTH = 64  # expressions of sizes nested deeper than this count as unknown


def known(node, depth=DEPTH, met=None):
    """The value of `node`: an int, or a list for a vector; None in place of what is unknown."""
    if node.ndim > 1 or not depth:
        return None
    if node.value is not None:
        return node.value.tolist() if dtypes.is_discrete(node.dtype) else None
    rule = _RULES.get(node.op.name)
    if rule is None:
        return None
    met = {} if met is None else met  # so that n * n, and squares of that, look at n once
    if node.uid not in met:
        met[node.uid] = rule(node, [known(i, depth - 1, met) for i in node.inputs[:64]])
    return met[node.uid]


def _known_slice(node, args):
    if isinstance(args[0], list):
        return args[0][slice(*node.attrs["slices"][0])]
    return None


def _known_concatenate(node, args):
    parts = [
        a if isinstance(a, list) else None if i.shape[0] is None else [None] * i.shape[0]
        for a, i in zip(args, node.inputs)
    ]
    return None if None in parts else sum(parts, [])


def _elementwise(fn):
    def rule(node, args):
        length = node.shape[0] if node.ndim else None
        if node.ndim and length is None:
            return None
        count = length if node.ndim else 1
        rows = []
        for a in args:
            if isinstance(a, list):
                rows.append(a * count if len(a) == 1 else a)
            else:
                rows.append([a] * count)
        out = [None if None in row else fn(*row) for row in zip(*rows)]
        return out if node.ndim else out[0]

    return rule


def _known_cast(node, args):
    if not dtypes.is_discrete(node.inputs[0].dtype) or node.dtype not in ("int32", "int64"):
        return None
    values = args[0] if isinstance(args[0], list) else [args[0]]
    narrow = node.dtype == "int32" and node.inputs[0].dtype != "int32"
    if narrow and not all(v is None or -(2**31) <= v < 2**31 for v in values):
        return None
    return args[0]


def _total(start, fn):
    def rule(node, args):
        if not isinstance(args[0], list) or None in args[0] or node.ndim:
            return None
        total = start
        for value in args[0]:
            total = fn(total, value)
        return total

    return rule


_RULES = {
    "shape": lambda node, args: list(node.inputs[0].shape),
    "pack": lambda node, args: args,
    "cast": _known_cast,
    "broadcast_to": lambda node, args: _elementwise(lambda a: a)(node, args[:1]),
    "slice": _known_slice,
    "squeeze": lambda node, args: args[0][0] if isinstance(args[0], list) and args[0] else None,
    "expand": lambda node, args: [args[0]] if node.ndim == 1 else None,
    "concatenate": _known_concatenate,
    "add": _elementwise(lambda a, b: a + b),
    "sub": _elementwise(lambda a, b: a - b),
    "mul": _elementwise(lambda a, b: a * b),
    "floor_div": _elementwise(lambda a, b: a // b if b else None),
    "mod": _elementwise(lambda a, b: a % b if b else None),
    "neg": _elementwise(lambda a: -a),
    "square": _elementwise(lambda a: a * a),
    "sum": _total(0, lambda a, b: a + b),
    "prod": _total(1, lambda a, b: a * b),
    "maximum": _elementwise(greatest),
    "minimum": _elementwise(smallest),
}  # fmt: skip
