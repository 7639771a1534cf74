"""numexpr's `evaluate`, `re_evaluate`, `validate` and `NumExpr`, and the names around them that
PyTables imports. What they compute with is `ckernels.jit.expression`.
"""

import os

import numpy as np

from ...base.errors import ArgumentError, NotSupported, UsageError
from ...jit.expression.run import Evaluator, Expression, Misfit, fetched, validated, values_of
from ...jit.expression.tree import parse
from . import kinds
from .expressions import E, ExpressionNode, node_of, program_of

__all__ = ["E", "NumExpr", "disassemble", "evaluate", "re_evaluate", "validate"]

double, int_, long_ = np.double, np.int32, np.int64
type_to_kind = {bool: "bool", int_: "int", long_: "long", float: "float", double: "double",
                complex: "complex", bytes: "bytes", str: "bytes", int: "long"}  # fmt: skip
kind_to_type = {"bool": bool, "int": int_, "long": long_, "float": float, "double": double,
                "complex": complex, "bytes": bytes}  # fmt: skip
type_to_typecode = {t: kinds.CODES[k] for t, k in type_to_kind.items()}
typecode_to_kind = {code: kind for kind, code in kinds.CODES.items()}
OPTIONS = {"optimization": ("none", "moderate", "aggressive"), "truediv": (False, True, "auto")}
use_vml = False


class KindEvaluator(Evaluator):
    """An Evaluator that refuses casts of operands that `casting` does not allow."""

    def function(self, found, keys, casting="same_kind"):
        for name, (dtype, _) in zip(found.names, keys):
            kind = kinds.kind_of_dtype(dtype)
            if kind != "bytes" and not np.can_cast(dtype, kinds.DTYPES[kind], casting):
                raise UsageError(
                    f"{name} of dtype {dtype} cannot be read as {kinds.DTYPES[kind]} by the rule "
                    f"{casting!r}"
                )
        return super().function(found, keys, casting)


_evaluator = KindEvaluator(kinds.KindMeaning())
_known, _thread = _evaluator.known, _evaluator.thread  # looked up here by each call


def getContext(options, _frame_depth=1):  # noqa: N802 (numexpr's name)
    """The options of an expression, checked: they change nothing here."""
    for name, value in options.items():
        if name not in OPTIONS:
            raise ArgumentError(f"Unknown keyword argument '{name}'")
        if value not in OPTIONS[name]:
            raise ArgumentError(f"'{name}' must be one of {OPTIONS[name]}")
    return {"optimization": "aggressive", "truediv": True, **options}


def _plainly(sanitize):
    """Whether what numexpr would refuse unseen is to be refused as Python would."""
    if sanitize is None:
        sanitize = bool(int(os.environ.get("NUMEXPR_SANITIZE") or 1))
    return not sanitize


def evaluate(
    ex,
    local_dict=None,
    global_dict=None,
    out=None,
    order="K",
    casting="same_kind",
    sanitize=None,
    _frame_depth=1,
    disable_cache=False,
    **kwargs,
):
    """numexpr.evaluate, compiled: dtypes are numexpr's, results are arrays.

    See `ckernels.evaluate` for the arguments. A reduction may stand anywhere. Raises what numexpr
    raises: KeyError, ValueError for what is forbidden, NotImplementedError for kinds that have no
    loop.

    >>> import numpy as np
    >>> from ckernels.compat import numexpr as ne
    >>> a = np.arange(3, dtype="float32")
    >>> ne.evaluate("a * 2.0").dtype, ne.evaluate("sum(a)")
    (dtype('float64'), array(3., dtype=float32))
    """
    found = _known.get(ex)
    if (
        found is not None
        and out is None
        and order == "K"
        and casting == "same_kind"
        and found.last is not None
    ):
        try:
            if local_dict is None:
                values = fetched(found, _frame_depth + 1)
            else:
                values = found.fetch(local_dict)
            result = found.last(values) if found.one else found.last(*values)
            _thread.last = found
            return result
        except (KeyError, Misfit):
            pass
    if kwargs:
        getContext(kwargs)
    try:
        found = _evaluator.expression(ex)
    except ArgumentError as problem:
        if _plainly(sanitize) and isinstance(ex, str):
            raise SyntaxError(problem.args[0]) from None
        raise
    values = values_of(found.names, local_dict, global_dict, _frame_depth + 1)
    _evaluator.remember(found, out, order, casting)
    if disable_cache:
        _known.pop(ex, None)
        _thread.last = None
    return _evaluator.run(found, values, out, order, casting)


def re_evaluate(local_dict=None, global_dict=None, _frame_depth=1):
    """numexpr.re_evaluate: the last expression of this thread with present values."""
    return _evaluator.again(local_dict, global_dict, _frame_depth + 1)


def validate(
    ex,
    local_dict=None,
    global_dict=None,
    out=None,
    order="K",
    casting="safe",
    _frame_depth=1,
    sanitize=None,
    **kwargs,
):
    """numexpr.validate: None, or the exception that `evaluate` would raise before it computes."""
    try:
        getContext(kwargs)
    except ValueError as problem:
        return problem
    return validated(_evaluator, ex, local_dict, global_dict, _frame_depth + 1, out, order, casting)


class NumExpr:
    """An expression compiled for operands of given types, called with arrays in their order.

    ex: text, or a node made with `E`; signature: [(name, type)], of the types bool, np.int32,
    np.int64, float (single precision, as in numexpr), np.double, complex, bytes.

    >>> import numpy as np
    >>> from ckernels.compat.numexpr import E, NumExpr
    >>> f = NumExpr(2 * E.a + E.b, signature=[("a", np.double), ("b", np.double)])
    >>> f(np.arange(3.0), 1.0)
    array([1., 3., 5.])
    """

    def __init__(self, ex, signature=(), sanitize=True, **kwargs):
        getContext(kwargs)
        program = parse(ex) if isinstance(ex, str) else program_of(ex)
        self.found = Expression(program)
        self.input_names = tuple(n for n, _ in signature) or program.names
        types = dict(signature)
        lost = set(program.names) - set(self.input_names)
        if lost:
            raise UsageError(f"the signature has no {', '.join(sorted(lost))}")
        of = {n: type_to_kind[types.get(n, double)] for n in self.input_names}
        self.kinds = [of[n] for n in self.input_names]
        self.signature = "".join(kinds.CODES[k] for k in self.kinds)
        numbers = [s.value for s in program.steps if s.kind in ("number", "string")]
        self.constants = tuple({(repr(v), type(v)): v for v in numbers}.values())

    def run(self, *operands, out=None, order="K", casting="safe", **kwargs):
        """The value for operands in the order of `input_names`."""
        if len(operands) != len(self.input_names):
            raise UsageError(f"{len(self.input_names)} operands are needed, not {len(operands)}")
        given = {}
        for name, kind, value in zip(self.input_names, self.kinds, operands):
            array = np.asarray(value)
            wanted = array.dtype if kind == "bytes" else kinds.DTYPES[kind]
            given[name] = array.astype(wanted, casting=casting, copy=False)
        values = [given[n] for n in self.found.names]
        return _evaluator.run(self.found, values, out, order, "unsafe")

    __call__ = run


def disassemble(nex):
    """There is no virtual machine here, so no program of one: raises NotImplementedError."""
    raise NotSupported("expressions are compiled to C; there is no program of a virtual machine")


# ---- what PyTables and others import ------------------------------------------------------------


def getType(array):  # noqa: N802
    """The type by which a signature names the dtype of an array."""
    return kind_to_type[kinds.kind_of_dtype(array.dtype)]


def getExprNames(text, context, sanitize=True):  # noqa: N802
    """(names of an expression's operands, whether it uses Intel's VML: never)."""
    return list(parse(text).names), False


def stringToExpression(text, types, context, sanitize=True):  # noqa: N802
    """The node of an expression; types: {name: type}."""
    return node_of(text, {n: type_to_kind.get(t, t) for n, t in types.items()})


def expressionToAST(node):  # noqa: N802
    """The node itself."""
    return node


def typeCompileAst(node):  # noqa: N802
    """The node itself: kinds were checked when it was made."""
    if not isinstance(node, ExpressionNode):
        raise UsageError("a node of an expression is needed")
    return node
