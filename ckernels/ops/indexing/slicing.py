"""Ops on slices: set_slice, inc_slice, and slices whose bounds are scalar operands.

attrs["exact"] names axes on which a slice of one stands for an index: it must exist, or
IndexOutOfBounds. Reading a static slice is a view and lives in movement.py.
"""

import numpy as np

from ...base import dtypes
from ...base.errors import DTypeError, ShapeError
from ...graph.node import Node, constant, make
from ...graph.op import Op
from ...graph.shapes import show
from ..base import cast, scalar, to_node, unbroadcast, zeros_like
from ..movement import WHOLE, check_exact, normal_slice, slice_, sliced_size
from ..shape import known_value

__all__ = ["set_slice", "inc_slice", "dynamic_slice"]


def check_fits(what, y, shape):
    lead = len(shape) - y.ndim
    if lead < 0 or any(
        None not in (a, b) and a not in (1, b) for a, b in zip(y.shape, shape[lead:])
    ):
        raise ShapeError(
            f"{what}: a value of shape {show(y.shape)} does not fit a part of shape {show(shape)}"
        )


def _infer_write(what):
    def infer(attrs, x, y):
        if x.dtype != y.dtype:
            raise DTypeError(f"{what} needs one dtype, got {x.dtype} and {y.dtype}")
        check_exact(attrs, x.shape, attrs["slices"])
        part = tuple(sliced_size(d, *s) for d, s in zip(x.shape, attrs["slices"]))
        check_fits(what, y, part)
        return x.dtype, x.shape

    return infer


def _writer(inc):
    def run(attrs, x, y):
        check_exact(attrs, x.shape, attrs["slices"])
        out = np.array(x)
        key = tuple(slice(*s) for s in attrs["slices"])
        try:
            out[key] = out[key] + y if inc else y
        except ValueError:
            raise ShapeError(
                f"a value of shape {show(y.shape)} does not fit a part of shape "
                f"{show(out[key].shape)}"
            ) from None
        return out

    return run


def _grad_set_slice(node, g):
    x, y = node.inputs
    slices = node.attrs["slices"]
    hole = constant(np.zeros((), dtype=g.dtype))
    return set_slice(g, hole, slices), unbroadcast(slice_(g, slices), y)


Op(
    "set_slice",
    "opaque",
    _infer_write("set_slice"),
    _writer(False),
    _grad_set_slice,
    doc="x with y in the place of x[slices].",
)
Op(
    "inc_slice",
    "opaque",
    _infer_write("inc_slice"),
    _writer(True),
    lambda node, g: (g, unbroadcast(slice_(g, node.attrs["slices"]), node.inputs[1])),
    doc="x with y added to x[slices].",
)


def _slices(x, slices):
    slices = [(s.start, s.stop, s.step) if isinstance(s, slice) else s for s in slices]
    slices += [WHOLE] * (x.ndim - len(slices))
    return tuple(normal_slice(s, d) for s, d in zip(slices, x.shape))


def value_for(x, y, what):
    """`y` in the dtype of x; DTypeError where that would lose its kind."""
    weak = isinstance(y, (bool, int, float)) and not isinstance(y, np.generic)
    if weak and x.dtype == "bool" and not isinstance(y, float):
        node = constant(bool(y))
    elif weak and (not isinstance(y, float) or dtypes.is_inexact(x.dtype)):
        node = scalar(y, x.dtype, what)
    else:
        node = to_node(y, what)
    if node.dtype != x.dtype and not np.can_cast(node.dtype, x.dtype, "same_kind"):
        raise DTypeError(
            f"{what}: a {node.dtype} value cannot be written into a {x.dtype} tensor; "
            f"cast one of them first"
        )
    return cast(node, x.dtype)


def set_slice(x, y, slices):
    """A tensor like `x` with `y` (broadcast) in the place of x[slices]."""
    x = to_node(x, "set_slice")
    return make("set_slice", (x, value_for(x, y, "set_slice")), {"slices": _slices(x, slices)})


def inc_slice(x, y, slices):
    """A tensor like `x` with `y` (broadcast) added to x[slices]."""
    x = to_node(x, "inc_slice")
    return make("inc_slice", (x, value_for(x, y, "inc_slice")), {"slices": _slices(x, slices)})


def _bounds(template, get):
    """The template of a dynamic slice with its operands put in by `get(k)`."""
    return tuple(tuple(get(b[1]) if isinstance(b, tuple) else b for b in s) for s in template)


def _infer_dynamic(attrs, x, *scalars):
    check_exact(attrs, x.shape, attrs["template"])
    shape = []
    values = [known_value(s) for s in scalars]
    for size, bounds in zip(x.shape, attrs["template"]):
        known = [values[b[1]] if isinstance(b, tuple) else b for b in bounds]
        if any(isinstance(b, tuple) and k is None for b, k in zip(bounds, known)):
            shape.append(None)
        else:
            shape.append(sliced_size(size, *known))
    return x.dtype, tuple(shape)


def _run_dynamic(attrs, x, *scalars):
    bounds = _bounds(attrs["template"], lambda k: int(scalars[k]))
    if any(s[2] == 0 for s in bounds):
        raise ShapeError("the step of a slice cannot be 0")
    check_exact(attrs, x.shape, bounds)
    return x[tuple(slice(*s) for s in bounds)]


def _grad_dynamic(node, g):
    x, scalars = node.inputs[0], node.inputs[1:]
    return (
        make(
            "dynamic_write",
            (zeros_like(x), g) + scalars,
            {"template": node.attrs["template"], "inc": False},
        ),
    ) + (None,) * len(scalars)


Op(
    "dynamic_slice",
    "opaque",
    _infer_dynamic,
    _run_dynamic,
    _grad_dynamic,
    doc="Slices whose bounds are scalar operands: ('n', k) in attrs['template'] is operand k.",
)


def _run_dynamic_write(attrs, x, y, *scalars):
    slices = _bounds(attrs["template"], lambda k: int(scalars[k]))
    return _writer(attrs["inc"])({**attrs, "slices": slices}, x, y)


def _grad_dynamic_write(node, g):
    y, scalars = node.inputs[1], node.inputs[2:]
    gy = unbroadcast(make("dynamic_slice", (g,) + scalars, {"template": node.attrs["template"]}), y)
    hole = constant(np.zeros((), dtype=g.dtype))
    gx = g if node.attrs["inc"] else make("dynamic_write", (g, hole) + scalars, node.attrs)
    return (gx, gy) + (None,) * len(scalars)


Op(
    "dynamic_write",
    "opaque",
    lambda a, x, y, *s: (x.dtype, x.shape),
    _run_dynamic_write,
    _grad_dynamic_write,
    doc="x with y set in (or added to) a dynamic slice.",
)


def dynamic_slice(x, slices, exact=()):
    """`x` sliced by one (start, stop, step) per leading axis; bounds: ints, None or scalar nodes.

    exact: axes on which a slice of one stands for an index, which must exist.
    """
    x = to_node(x, "slice")
    template, scalars = template_of(x, slices)
    attrs = {"exact": exact} if exact else {}
    if scalars:
        return make("dynamic_slice", [x] + scalars, {"template": template, **attrs})
    return make("slice", (x,), {"slices": template, **attrs}) if exact else slice_(x, template)


def template_of(x, slices):
    scalars, template = [], []

    def bound(b):
        if not isinstance(b, Node):
            return b
        known = known_value(b)
        if known is not None:
            return known
        scalars.append(cast(b, "int64"))
        return ("n", len(scalars) - 1)

    for size, s in zip(x.shape, list(slices) + [WHOLE] * (x.ndim - len(slices))):
        s = tuple(bound(b) for b in s)
        if any(isinstance(b, tuple) for b in s):
            template.append((s[0], s[1], 1 if s[2] is None else s[2]))
        else:
            template.append(normal_slice(s, size))
    return tuple(template), scalars
