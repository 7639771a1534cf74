"""Elementwise functions without C: complex numbers from parts, Bessel functions of any order.

One engine row whose meaning is a function of NumPy or SciPy; and the row of gradients that do not
exist. Both know nodes alone; scalar ops of users have their row in impls.py.
"""

import numpy as np

from ... import ops
from ...base.errors import NotSupported, UsageError
from ...graph.node import constant, make
from ...graph.op import Op as Row
from ...graph.shapes import broadcast
from ...ops.base import unbroadcast


def _scipy(name):
    def function(*arrays):
        try:
            import scipy.special
        except ImportError:
            raise NotSupported(f"{name} needs SciPy") from None
        return getattr(scipy.special, name)(*arrays)

    return function


def _number(value, like):
    return constant(np.asarray(value, like.dtype))


def _bessel_slope(name, sign):
    def grad(node, g):
        v, x = node.inputs
        one, half = _number(1, v), _number(0.5, x)
        slope = ops.add(
            special(name, ops.sub(v, one), x),
            ops.mul(_number(sign, x), special(name, ops.add(v, one), x)),
        )
        return [None, ops.mul(g, ops.mul(half, slope))]

    return grad


def _complex_slope(node, g):
    return [ops.real(g), ops.imag(g)]


def _complex_dtype(dtype):
    return "complex128" if dtype == "float64" else "complex64"


TABLE = {       # name: (function of arrays, dtype of the result, gradient)
    "complex": (lambda x, y: x + 1j * y, _complex_dtype, _complex_slope),
    "jv": (_scipy("jv"), None, _bessel_slope("jv", -1)),
    "iv": (_scipy("iv"), None, _bessel_slope("iv", 1)),
    **{name: (getattr(np, name), None, None) for name in
       ("exp2", "expm1", "log2", "log10", "log1p", "arcsin", "arccos", "arctan", "arcsinh",
        "arccosh", "arctanh")},
    "erf": (_scipy("erf"), None, None),
    "erfc": (_scipy("erfc"), None, None),
}  # fmt: skip


# A gradient that does not exist: harmless while nothing asks for it.
def _refuse(attrs, x):
    raise UsageError(f"a gradient that does not exist was computed: {attrs['why']}")


Row(
    "null_gradient",
    "opaque",
    lambda attrs, x: (x.dtype, x.shape),
    _refuse,
    lambda node, g: (None,),
    doc="A gradient that is undefined, with the reason.",
)


def null(x, why):
    """The gradient by `x` that is undefined because of `why`."""
    return make("null_gradient", (x,), {"why": str(why)})


def _infer(attrs, *inputs):
    return attrs["dtype"], broadcast(attrs["name"], *(n.shape for n in inputs))


def _run(attrs, *arrays):
    with np.errstate(all="ignore"):
        return np.asarray(TABLE[attrs["name"]][0](*arrays)).astype(attrs["dtype"])


def _grad(node, g):
    rule = TABLE[node.attrs["name"]][2]
    if rule is None:
        return [null(n, f"{node.attrs['name']} has no gradient") for n in node.inputs]
    return [None if p is None else unbroadcast(p, n) for p, n in zip(rule(node, g), node.inputs)]


Row(
    "theano_special",
    "opaque",
    _infer,
    _run,
    _grad,
    properties={"knows_complex": True},
    doc="An elementwise function without C.",
)


def special(name, *nodes):
    """The function `name` of TABLE of nodes of one float dtype."""
    dtype = nodes[0].dtype
    for n in nodes[1:]:
        dtype = np.promote_types(dtype, n.dtype).name
    out = TABLE[name][1]
    return make(
        "theano_special",
        [ops.cast(n, dtype) for n in nodes],
        {"name": name, "dtype": out(dtype) if out else dtype},
    )
