"""theano.printing: debugprint and pp in Theano's text forms, Print, pydotprint."""

import sys

from ...base.errors import NotSupported, UsageError
from ..base.names import absent_of as _absent_of
from ..classes.meanings import SYMBOLS
from ..classes.op import KernelOp
from ..graph.apply import Apply, Constant, Variable

# --- debugprint -------------------------------------------------------------------------------


def _roots(obj):
    """The variables to print, from one or several variables, Apply nodes, functions, graphs."""
    found = []
    for one in obj if isinstance(obj, (list, tuple, set)) else [obj]:
        if isinstance(one, Variable):
            found.append(one)
        elif isinstance(one, Apply):
            found += one.outputs[:1] if len(one.outputs) == 1 else one.outputs
        elif hasattr(one, "maker"):
            found += one.maker.fgraph.outputs
        elif hasattr(one, "outputs"):
            found += one.outputs
        else:
            raise UsageError(
                "debugprint takes variables, Apply nodes, functions or graphs, not", one
            )
    return found


def debugprint(
    obj,
    depth=-1,
    print_type=False,
    file=None,
    ids="CHAR",
    stop_on_name=False,
    done=None,
    print_storage=False,
    print_clients=False,
    used_ids=None,
):
    """Print a graph as a tree, one line for each variable; file='str' gives the text instead.

    ids: 'CHAR' (letters), 'int', 'id' or ''; depth: how deep, -1 for all.
    """
    lines, done = [], {} if done is None else done
    names = {} if used_ids is None else used_ids
    for root in _roots(obj):
        _walk(root, "", "", depth, print_type, ids, stop_on_name, done, names, lines)
    text = "\n".join(lines) + "\n"
    if file == "str":
        return text
    out = sys.stdout if file is None else file
    out.write(text)
    out.flush()
    return file


def _letters(k):
    """A, B, ..., Z, BA, BB, ... as Theano numbers."""
    text = ""
    while True:
        text = chr(ord("A") + k % 26) + text
        k //= 26
        if not k:
            return text


def _id_of(thing, ids, names):
    if ids == "":
        return ""
    if ids == "id":
        return f"[id {id(thing)}]"
    k = names.setdefault(id(thing), len(names))
    return f"[id {_letters(k) if ids == 'CHAR' else k}]"


def _walk(root, prefix, child_prefix, depth, print_type, ids, stop, done, names, lines):
    stack = [(root, prefix, child_prefix, depth)]
    while stack:
        r, prefix, below, depth = stack.pop()
        if depth == 0:
            continue
        type_text = f" <{r.type}>" if print_type else ""
        apply = r.owner
        if apply is None or (stop and r.name is not None and r is not root):
            tag = _id_of(r, ids, names)
            lines.append(f"{prefix}{r} {tag}{type_text}".rstrip())
            continue
        seen = id(apply) in done
        tag = _id_of(apply, ids, names)
        done[id(apply)] = True
        index = f".{r.index}" if len(apply.outputs) > 1 else ""
        lines.append(f"{prefix}{apply.op}{index} {tag}{type_text} '{r.name or ''}'   ")
        if seen:
            continue
        inputs = apply.inputs
        for k in range(len(inputs) - 1, -1, -1):
            last = k == len(inputs) - 1
            stack.append((inputs[k], below + " |", below + ("  " if last else " |"), depth - 1))


# --- pp ---------------------------------------------------------------------------------------


def pp(*args):
    """A formula in one line, e.g. '((x + y) * z)'."""
    return pprint(*args)


class _Printer:
    """`pprint(v)` is the formula of a variable; `assign` is accepted for one's own ops."""

    def __init__(self):
        self.own = {}

    def assign(self, condition, printer):
        """Use `printer` for an op, a class of ops, or where condition(pstate, v) holds."""
        self.own[condition] = printer

    def process(self, v, pstate=None):
        return _formula(v)

    def __call__(self, *args):
        return _formula(args[0]) if len(args) == 1 else ", ".join(_formula(a) for a in args)


pprint = _Printer()


def _formula(v):
    """The formula of a variable, built bottom-up."""
    text = {}
    from ..graph.apply import apply_order  # programs would see the name here

    for apply in apply_order([v]):
        made = _applied(apply, [text.get(x, None) or _leaf(x) for x in apply.inputs])
        for x in apply.outputs:
            text[x] = x.name if x.name is not None and x is not v else made
    return text.get(v) or _leaf(v)


NAMED = frozenset("lt gt le ge eq neq and_ or_ xor".split())  # no symbols in Theano's formulae


def _leaf(x):
    return str(x) if x.name is None or not isinstance(x, Constant) else x.name


def _applied(apply, args):
    op = apply.op
    name = getattr(getattr(op, "scalar_op", None), "name", None) or getattr(op, "name", str(op))
    if name in SYMBOLS and name not in NAMED:
        return f"({f' {SYMBOLS[name]} '.join(args)})"
    if name == "neg":
        return f"(-{args[0]})"
    if name == "second":
        return f"fill({', '.join(args)})"
    if str(op).startswith("InplaceDimShuffle"):
        order = getattr(op, "new_order", ())
        if tuple(order) == tuple(reversed(range(len(order)))) and len(order) > 1:
            return f"{args[0]}.T"
        while order[:1] == ("x",):  # axes in front change no formula
            order = order[1:]
        if tuple(order) == tuple(range(len(order))):
            return args[0]
        return f"DimShuffle{{{', '.join(map(str, order))}}}({args[0]})"
    if name == "dot":
        return "(" + " \\dot ".join(args) + ")"
    if hasattr(op, "axis") and type(op).__name__ in ("Sum", "Prod", "Max", "Min"):
        over = "" if op.axis is None else f", axis={list(op.axis)}"
        return (
            f"{type(op).__name__}{{acc_dtype={apply.outputs[0].dtype}}}({args[0]}{over})"
            if type(op).__name__ in ("Sum", "Prod")
            else f"{type(op).__name__}({args[0]}{over})"
        )
    return f"{name}({', '.join(args)})"


def min_informative_str(obj, indent_level=0, _prev_obs=None, _tag_generator=None):
    """A tree of a graph with letters for what occurs again."""
    seen = {} if _prev_obs is None else _prev_obs
    indent = " " * indent_level
    if id(obj) in seen:
        return indent + f"<{seen[id(obj)]}>"
    tag = seen[id(obj)] = _letters(len(seen))
    if obj.owner is None or obj.name is not None:
        return indent + f"{tag}. {obj.name if obj.name is not None else obj}"
    lines = [indent + f"{tag}. {obj.owner.op}"]
    lines += [min_informative_str(x, indent_level + 1, seen) for x in obj.owner.inputs]
    return "\n".join(lines)


def var_descriptor(obj, _prev_obs=None, _tag_generator=None):
    """A text that is the same for equal graphs."""
    return min_informative_str(obj)


# --- Print ------------------------------------------------------------------------------------


class Print(KernelOp):
    """The identity that prints its value, and attributes of it, whenever it is computed."""

    def __init__(self, message="", attrs=("__str__",), global_fn=None):
        self.message, self.attributes, self.global_fn = message, tuple(attrs), global_fn
        self.attrs = {"message": message, "attrs": self.attributes, "global_fn": global_fn}
        self.build, self.name = _print_node, "Print"

    def __eq__(self, other):
        return type(self) is type(other) and self.attrs == other.attrs

    def __hash__(self):
        return hash((Print, self.message, self.attributes))

    def __str__(self):
        return (
            f"Print{{message='{self.message}', attrs={self.attributes}, "
            f"global_fn={self.global_fn}}}"
        )

    def __reduce__(self):
        return Print, (self.message, self.attributes, self.global_fn)


def _print_node(x, message, attrs, global_fn):
    from ...graph.node import make  # programs would see the name here

    return make("theano_print", (x,), {"message": message, "attrs": attrs, "fn": global_fn})


def _run_print(row, x):
    import numpy as np  # no name of this module

    if row["fn"] is not None:
        row["fn"](_Seen(row["message"], row["attrs"]), x)
        return np.array(x)
    for attr in row["attrs"]:
        value = getattr(x, attr)
        if callable(value):
            value = value()
        print(row["message"], attr, "=", value, flush=True)
    return np.array(x)


class _Seen:
    """What a global_fn of Print gets first: its message and attributes."""

    def __init__(self, message, attrs):
        self.message, self.attrs = message, attrs


def _register():
    from ...graph.op import Op  # programs would see the name here

    Op(
        "theano_print",
        "opaque",
        lambda a, x: (x.dtype, x.shape),
        _run_print,
        lambda node, g: (g,),
        doc="x; prints attributes of its value when it is computed.",
    )


_register()


def hex_digest(x):
    """The SHA-256 of an array, with its strides where they are unusual."""
    import hashlib  # start-up: 3.4 ms

    import numpy as np  # no name of this module

    text = hashlib.sha256(np.ascontiguousarray(x)).hexdigest()
    strides, shape = ",".join(map(str, x.strides)), ",".join(map(str, x.shape))
    return f"{text}|strides=[{strides}]|shape=[{shape}]"


def pydotprint(
    fct, outfile=None, format=None, return_image=False, print_output_file=True, **kwargs
):
    """Draw a function or variables by K.draw: .html or .svg, .png or .pdf where cairosvg is.

    Where it is not, an .svg lies beside `outfile`. return_image: the SVG as text, and no file.
    Other options of Theano's are accepted.
    """
    import os  # no name of this module
    import tempfile  # start-up: 4 ms

    from ...api.draw import draw  # programs would see the name here

    what = drawable(fct)
    if return_image or outfile is None and format == "svg":
        with tempfile.TemporaryDirectory() as folder:
            with open(draw(what, os.path.join(folder, "graph.svg")), encoding="utf-8") as file:
                return file.read()
    base, ending = os.path.splitext(str(outfile or f"graph.{format or 'png'}"))
    path = None
    if ending in (".html", ".htm", ".svg", ".png", ".pdf"):
        try:
            path = draw(what, base + ending)
        except NotSupported:  # without cairosvg
            pass
    path = path or draw(what, base + ".svg")
    if print_output_file:
        print(f"The output file is available at {path}")


def drawable(fct):
    """What K.draw takes for a function, a graph, variables or an Apply."""
    if hasattr(fct, "maker"):
        return fct
    found = [v for v in _roots(fct) if getattr(v, "node", None) is not None]
    if not found:
        raise UsageError("a function or tensors are drawn, and there are none here", fct)
    return found


__getattr__ = _absent_of(
    "theano.printing", {"compile.formatting": "pydot_imported pydot_imported_msg"}
)
