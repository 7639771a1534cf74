"""Op: the declaration of an operation, made once; everything else is derived from it.

It says what an op means (`oracle`), what comes out (`infer`), how it differentiates (`grad`)
and, for elementwise ops, the scalar C expression. Ops live in `ckernels/ops/`; this file defines
only their form, the registry that finds one by name, and the tables of rules that other rooms
register for ops.
"""

import sys
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

REGISTRY: dict[str, "Op"] = {}

RULES: dict[str, dict[str, Callable]] = {}  # {transformation: {name of an op: rule}}: register_rule
PROPERTIES: dict[str, dict[str, Any]] = {}  # {property: {name of an op: value}}
PACKAGE = __name__.partition(".")[0]

KINDS = ("leaf", "elementwise", "reduce", "movement", "gemm", "composite", "opaque")


class Op:
    """One operation. It never changes.

    name    unique lower-case name
    kind    leaf: placeholder, variable, constant. elementwise: same value at every index of the
            broadcast shape. reduce: over attrs["axes"] (a sorted tuple of non-negative ints), which
            are dropped. movement: a view (stride arithmetic, no data is touched). gemm: matrix
            products. composite: `lower` rewrites it into other ops before fusion. opaque: all
            else; runs through its lowering in the plan room, or through its oracle.
    infer   infer(attrs, *inputs) -> (dtype, shape), or a list of such pairs for several outputs.
            Inputs have .dtype, .shape (ints, None where unknown), .ndim, .value (ndarray when
            constant). Raises ShapeError/DTypeError with a sentence.
    oracle  oracle(attrs, *arrays) -> array (or tuple of arrays): the meaning, in NumPy.
    grad    grad(node, g) -> sequence with one cotangent (Node) or None per input. None as the
            field itself: not differentiable. `g` is a Node (a list with None holes for several
            outputs).
    c       elementwise only: C expression with {0} {1} .. for operands, {T} for the C type and {S}
            the dtype suffix (f32, i64, ..) of the operands, {name} for attrs; or a callable
            (node_attrs, dtype) -> such a string. None: no C, runs through the oracle.
    lower   composite only: lower(node) -> Node.
    cost    rough ns per element per core, vectorised (1 = add, 10 = transcendental)
    ulp     largest error allowed against the oracle, in ulp, float32 and float64.
    commutative   operands may be sorted.
    refit   refit(attrs, inputs) -> attrs that fit these inputs: for ops that hold a graph of their
            own, which has to follow when the shapes of the operands become known.
    properties   {property: value}, e.g. {"effect": True}: what other rooms ask of ops in general;
            ops/properties.py explains them and says them of most ops.
    home    the module that declares it: what an op of another package means may have changed when
            a later process meets its name again.
    """

    __slots__ = ("name", "kind", "infer", "oracle", "grad", "c", "lower", "cost", "ulp",
                 "commutative", "refit", "doc", "properties", "home", "__weakref__")  # fmt: skip

    def __init__(
        self,
        name,
        kind,
        infer,
        oracle=None,
        grad=None,
        c=None,
        lower=None,
        cost=1.0,
        ulp=1.0,
        commutative=False,
        refit=None,
        doc="",
        properties=None,
    ):
        assert kind in KINDS, kind
        assert name not in REGISTRY, f"op {name} is declared twice"
        self.name, self.kind, self.infer, self.oracle, self.grad = name, kind, infer, oracle, grad
        self.c, self.lower, self.cost, self.ulp, self.commutative = c, lower, cost, ulp, commutative
        self.refit, self.doc, self.properties = refit, doc, properties or {}
        self.home = _declaring_module()
        REGISTRY[name] = self
        for property, value in self.properties.items():
            having(property)[name] = value

    def __repr__(self):
        return self.name


def _declaring_module():
    """The name of the module that declares the op being made: of the first frame on the way out
    that is the top level of a module or no function of this package's."""
    frame = sys._getframe(2)
    while frame.f_back and frame.f_code.co_name != "<module>":
        if frame.f_globals.get("__name__", "").partition(".")[0] != PACKAGE:
            break
        frame = frame.f_back
    return frame.f_globals.get("__name__", "")


def having(property):
    """{name of an op: value} for ops with a property: `node.op.name in having("effect")`."""
    return PROPERTIES.setdefault(property, {})


def rules(transformation):
    """{name of an op: rule} for a transformation, to read: "gradient", "batch", "lowering"."""
    return MappingProxyType(RULES.setdefault(transformation, {}))


def register_rule(transformation, *names):
    """Decorator: a function becomes the rule by which a transformation treats the ops `names`.

    So a room below `ops` says what it does with an op that it alone understands: autodiff has the
    gradient of scan and all batch rules, plan the lowerings.
    """

    def add(rule):
        register_rules(transformation, dict.fromkeys(names, rule))
        return rule

    return add


def register_rules(transformation, table):
    """The same for a table {name of an op: rule}."""
    known = RULES.setdefault(transformation, {})
    for name, rule in table.items():
        assert name not in known, f"{name} has two rules for {transformation}"
        known[name] = rule
