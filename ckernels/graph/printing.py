"""Graphs as text: `pp` writes a node as math, `debugprint` as a tree with ids.

Both take nodes, the handles users hold, and compiled functions (their graph after rewriting,
once they were called; before that the user's). Where its text would be long, `pp` first names
subexpressions that occur more than once. This file knows ops by name only to choose a notation; an
op it does not know prints as a call.
"""

import sys

from ..base import errors, given
from ..base.config import config
from .node import Node, as_node
from .shapes import show
from .walk import consumers, toposort

# op -> (sign, precedence): Python's own precedences, so that what is printed could be typed back.
INFIX = {
    "logical_or": ("or", 1),
    "logical_and": ("and", 2),
    "lt": ("<", 3),
    "le": ("<=", 3),
    "gt": (">", 3),
    "ge": (">=", 3),
    "eq": ("==", 3),
    "ne": ("!=", 3),
    "bit_or": ("|", 4),
    "bit_xor": ("^", 5),
    "bit_and": ("&", 6),
    "left_shift": ("<<", 7),
    "right_shift": (">>", 7),
    "add": ("+", 8),
    "sub": ("-", 8),
    "mul": ("*", 9),
    "true_div": ("/", 9),
    "floor_div": ("//", 9),
    "mod": ("%", 9),
    "matmul": ("@", 9),
    "pow": ("**", 11),
}  # fmt: skip
PREFIX = {"neg": ("-", 10), "bit_not": ("~", 10), "logical_not": ("not ", 2)}
ATOM = 12
TREE = 60  # lines of a tree that an error prints
LINE = 400  # characters of the whole text beyond which `pp` names subexpressions
NAME_FROM = 24  # a shared subexpression shorter than this is repeated rather than named


def location(line):
    """'model.py:12 (in build)' for a user's line; '' when there is none."""
    return (
        f"{errors.file_shown(line[0])}:{line[1]}"
        + (f" (in {line[2]})" if line[2] != "<module>" else "")
        if line
        else ""
    )


def nodes_of(what):
    """The list of nodes behind a node, a handle, a compiled function, or a sequence of them."""
    if isinstance(what, Node):
        return [what]
    if isinstance(getattr(what, "node", None), Node):
        return [what.node]
    if isinstance(what, (list, tuple)):
        return [n for one in what for n in nodes_of(one)]
    outputs = getattr(what, "optimised", None) or getattr(what, "outputs", None)
    return nodes_of(list(outputs)) if isinstance(outputs, (list, tuple)) else [as_node(what)]


def leaf_name(node):
    """How a leaf is called: its name, its value, or its kind and number."""
    if node.value is not None:
        value = node.value
        if value.ndim == 0:
            return str(value.item())
        if value.size <= 8:
            return str(value.tolist())
        return f"constant({', '.join(str(d) for d in value.shape)})"
    return node.name or f"{node.op.name}{node.uid}"


def pp(what):
    """`what` as math: infix operators with as few parentheses as Python needs, the rest as calls.

    Parameters
    ----------
    what : Tensor, list of Tensor or function
        What is written; of a function its outputs.

    Returns
    -------
    str
        One line, or several where long parts get names first.

    Examples
    --------
    >>> x = K.placeholder((), name="x")
    >>> K.pp((x + 1) * 2)
    '(x + 1.0) * 2.0'
    """
    nodes = nodes_of(what)
    order = toposort(nodes)
    names, head = {}, []
    if _length(order, nodes) > LINE:
        names, head = _name_shared(order, nodes)
    texts = {}
    for node in order:
        texts[node.uid] = names.get(node.uid) or _expression(node, texts)
    body = [_outermost(node, texts, names) for node in nodes]
    return "\n".join(head + [body[0] if len(body) == 1 else f"[{', '.join(body)}]"])


def _outermost(node, texts, names):
    return names[node.uid][0] if node.uid in names else texts[node.uid][0]


def _length(order, nodes):
    """About how many characters the text takes without names for subexpressions."""
    size = {}
    for node in order:
        own = len(leaf_name(node)) if node.op.kind == "leaf" else len(node.op.name) + 4
        size[node.uid] = min(10**9, own + sum(size[i.uid] for i in node.inputs))
    return sum(size[n.uid] for n in nodes)


def _name_shared(order, nodes):
    """({uid: (name, ATOM)}, definition lines) for the shared subexpressions worth a name."""
    users, names, lines, texts = consumers(order), {}, [], {}
    for node in order:
        text = texts[node.uid] = _expression(node, texts)
        shared = len(users[node.uid]) > 1 and len(text[0]) >= NAME_FROM
        if node.op.kind != "leaf" and (shared or len(text[0]) > LINE) and node not in nodes:
            names[node.uid] = texts[node.uid] = (f"t{len(names) + 1}", ATOM)
            lines.append(f"{names[node.uid][0]} = {text[0]}")
    return names, lines


def _expression(node, texts):
    """(text, precedence) of one node, given those of its inputs."""
    name, args = node.op.name, [texts[i.uid] for i in node.inputs]
    if node.op.kind == "leaf":
        text = leaf_name(node)
        return text, 10 if text.startswith("-") else ATOM
    if name in INFIX and len(args) == 2:
        sign, level = INFIX[name]
        right = name == "pow"
        left_side = _wrap(args[0], level + (1 if right or level == 3 else 0))
        return f"{left_side} {sign} {_wrap(args[1], 10 if right else level + 1)}", level
    if name in PREFIX:
        sign, level = PREFIX[name]
        return sign + _wrap(args[0], level), level
    special = _SPECIAL.get(name) or (_reduction if node.op.kind == "reduce" else _call)
    return special(node, args), ATOM


def _wrap(text, level):
    return text[0] if text[1] >= level else f"({text[0]})"


def _call(node, args):
    extra = _extras(node)
    for name, body in _bodies(node):
        text = pp(list(body.outputs))
        extra.append(f"{name}={text if len(text) <= LINE and chr(10) not in text else body}")
    return f"{node.op.name}({', '.join([a[0] for a in args] + extra)})"


def _extras(node):
    """The attributes worth showing, as 'name=value'; of ops with bodies, not the defaults."""
    holds = node.op.refit is not None
    return [
        f"{k}={_attr(v)}"
        for k, v in sorted(node.attrs.items())
        if k not in ("uid", "store") and v is not None and not (holds and _quiet(k, v))
    ]


def _quiet(name, value):
    if name == "taps":
        return all(t == (-1,) for t in value)
    return hasattr(value, "outputs") or value in (False, -1, ()) or name in ("seqs", "outs")


def _bodies(node):
    """[(name, body)] of the graphs that a node holds: the step of a scan, the sides of a branch."""
    if node.op.refit is None:
        return []
    return [
        ("step" if k == "body" else k, v)
        for k, v in reversed(sorted(node.attrs.items()))
        if hasattr(v, "outputs")
    ]


def _attr(value):
    return value if isinstance(value, str) else repr(value)


def _reduction(node, args):
    axes = node.attrs["axes"]
    if len(axes) == node.inputs[0].ndim:
        return f"{node.op.name}({args[0][0]})"
    return f"{node.op.name}({args[0][0]}, axis={axes[0] if len(axes) == 1 else axes})"


def _axes_call(node, args):
    axes = node.attrs["axes"]
    return f"{node.op.name}({args[0][0]}, axis={axes[0] if len(axes) == 1 else axes})"


def _transpose(node, args):
    perm = node.attrs["perm"]
    if perm == tuple(reversed(range(len(perm)))):
        return f"{_wrap(args[0], ATOM)}.T"
    return f"transpose({args[0][0]}, {perm})"


def _slice(node, args):
    parts = []
    for start, stop, step in node.attrs["slices"]:
        part = f"{'' if start is None else start}:{'' if stop is None else stop}"
        parts.append(part if step in (None, 1) else f"{part}:{step}")
    while len(parts) > 1 and parts[-1] == ":":
        parts.pop()
    return f"{_wrap(args[0], ATOM)}[{', '.join(parts)}]"


_SPECIAL = {
    "transpose": _transpose,
    "slice": _slice,
    "cast": lambda node, args: f"cast({args[0][0]}, {node.attrs['dtype']})",
    "pack": lambda node, args: f"[{', '.join(a[0] for a in args)}]",
    "shape": lambda node, args: f"{_wrap(args[0], ATOM)}.shape",
    "item": lambda node, args: f"{_wrap(args[0], ATOM)}[{node.attrs['index']}]",
    "expand": lambda node, args: _axes_call(node, args).replace("expand(", "expand_dims(", 1),
    "squeeze": _axes_call,
    "mean": _reduction,
    "var": _reduction,
    "logsumexp": _reduction,
}  # fmt: skip


def letters(number):
    """0 -> 'A', 25 -> 'Z', 26 -> 'AA'."""
    text = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(65 + digit) + text
    return text


def debugprint(what, file=None, print_type=False, depth=-1, print_line=False):
    """Print `what` as a tree, one node a line, inputs indented below it; each node has an id.

    A node that was printed already is referred to by its id; the steps of scans and the sides of
    branches follow below.

    Parameters
    ----------
    what : Tensor, list of Tensor or function
        Of a function its outputs are printed.
    file : stream or "str", optional
        Where to print; "str" to get the text back instead of printing it.
    print_type : bool, default False
        Add dtype and shape.
    depth : int, default -1
        Levels below the outputs to print (-1: all).
    print_line : bool, default False
        Add the user's line.

    Returns
    -------
    str or None
        The text with file="str".

    Raises
    ------
    UsageError
        Where `file` is neither, and for a depth that is no integer.

    Examples
    --------
    >>> x = K.placeholder((2,), name="x")
    >>> K.debugprint(K.exp(x) + x)
    add [id A]
     |x [id B]
     |exp [id C]
     | |x [id B]
    """
    ids, lines, bodies = {}, [], []
    depth = given.whole(depth, "depth")
    _print_trees(nodes_of(what), ids, lines, bodies, (depth, print_type, print_line))
    for node, name, body in bodies:  # grows while it is walked: bodies hold scans too
        lines += ["", f"{name} of {_head(node)} [id {ids[node.uid]}]: {_inputs_of(node)}"]
        _print_trees(body.outputs, ids, lines, bodies, (depth, print_type, print_line))
    text = "\n".join(lines)
    if isinstance(file, str) and file == "str":
        return text
    if file is not None and not hasattr(file, "write"):
        raise errors.UsageError(f"file must be a stream or 'str', not {file!r}")
    print(text, file=sys.stdout if file is None else file)
    return None


def _print_trees(outputs, ids, lines, bodies, options):
    depth, print_type, print_line = options
    for output in outputs:
        stack = [(output, 0)]
        while stack:
            node, level = stack.pop()
            seen = node.uid in ids
            label = ids.setdefault(node.uid, letters(len(ids)))
            text = f"{' |' * level}{_head(node)} [id {label}]"
            if given.flag(print_type, "print_type"):
                text += f" <{node.dtype}{_shape(node)}>"
            if given.flag(print_line, "print_line") and node.line and not seen:
                text += f" {location(node.line)}"
            if seen and node.inputs:
                text += " ..."
            elif depth < 0 or level < depth:
                stack.extend((i, level + 1) for i in reversed(node.inputs))
            lines.append(text)
            if not seen:
                bodies.extend((node, name, body) for name, body in _bodies(node))


def _inputs_of(node):
    """What the inputs of a body stand for: '_0 row of x, _1 state 0 at t-1, _2 W'."""
    attrs, rest = node.attrs, list(node.inputs)[1:]
    if "seqs" not in attrs:
        return ", ".join(f"_{k} {_name(i)}" for k, i in enumerate(rest))
    rest = rest[1:] if attrs["counted"] else rest
    found = []
    for lag in attrs["seqs"]:
        operands, rest = rest[: 2 if lag else 1], rest[2 if lag else 1 :]
        found.append(f"row of {_name(operands[-1])}" + (f" at t-{lag}" if lag else ""))
    for i, taps in enumerate(attrs["taps"]):
        found += [f"state {i} at t{tap}" for tap in taps]
    found += [_name(x) for x in rest[len(attrs["taps"]) :]]
    return ", ".join(f"_{k} {text}" for k, text in enumerate(found))


def _name(node):
    return leaf_name(node) if node.op.kind == "leaf" else node.op.name


def _trees(node, operands):
    """With exception_verbosity=high: what an error prints about a node, or else its operands."""
    nodes = [n for n in ([node] if isinstance(node, Node) else operands) if isinstance(n, Node)]
    if not nodes or config.exception_verbosity != "high":
        return []
    lines = debugprint(nodes, file="str", print_type=True, print_line=True).split("\n")
    lines = lines if len(lines) <= TREE else [*lines[:TREE], "..."]
    return ["  the expression:", *(f"    {line}" for line in lines)]


errors.register_trees(_trees)


def _head(node):
    if node.op.kind == "leaf":
        return leaf_name(node)
    shown = ", ".join(_extras(node))
    return f"{node.op.name}{{{shown}}}" if shown else node.op.name


def _shape(node):
    if node.shape is None:
        return ""
    return f" {show(node.shape)}"
