"""numexpr's `E` and the nodes that its operators make: expressions written in Python.

A node is a step of an expression with its operands; `program_of` writes the program. PyTables reads
the attributes that numexpr's nodes have.
"""

from ...base.errors import UsageError
from ...jit.expression.tree import ExpressionProgram, ExpressionStep, parse
from . import kinds

__all__ = ["E", "ConstantNode", "ExpressionNode", "FuncNode", "OpNode", "VariableNode", "functions"]

SYMBOLS = {name: symbol for symbol, name in kinds.NAMES.items()}


class ExpressionNode:
    """An operand of an expression. astType: "variable", "constant" or "op"; value: its name, the
    number, or the name of the op; astKind: the kind of the result; children: operands."""

    astType = "generic"  # noqa: N815 (numexpr's name)

    def __init__(self, value=None, kind="none", children=(), step=None):
        self.value, self.astKind, self.children = value, kind, tuple(children)
        self.step = step

    def __repr__(self):
        return f"{type(self).__name__}({self.value}, {self.astKind}, {self.children})"

    real = property(lambda self: attribute("real", self))
    imag = property(lambda self: attribute("imag", self))
    __hash__ = object.__hash__

    def __bool__(self):
        raise UsageError(
            "an expression has no truth value: write & for and, | for or, ~ for not, and each "
            "comparison in parentheses"
        )


class VariableNode(ExpressionNode):
    astType = "variable"

    def __init__(self, value=None, kind="double"):
        super().__init__(value, kind, (), ExpressionStep("name", value))


class ConstantNode(ExpressionNode):
    astType = "constant"

    def __init__(self, value=None):
        super().__init__(value, kinds.kind_of_number(value), (), ExpressionStep("number", value))


class OpNode(ExpressionNode):
    astType = "op"


class FuncNode(OpNode):
    pass


class Variables:
    """`E.a` is the operand a, a double where no signature says otherwise."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return VariableNode(name)


E = Variables()


def as_node(x):
    if isinstance(x, ExpressionNode):
        return x
    if isinstance(x, (bool, int, float, complex, bytes, str)) or hasattr(x, "dtype"):
        return ConstantNode(x)
    raise UsageError(f"an operand of an expression is a number or a node, not {type(x).__name__}")


def apply(symbol, *operands):
    """The node of an operator."""
    nodes = [as_node(x) for x in operands]
    of = [n.astKind for n in nodes]
    name = kinds.NAMES[symbol]
    if symbol == "**" and of[0] == "bool":
        kind = "bool"
    else:
        symbol, _, kind = (
            kinds.operator_kind(symbol, of) if symbol != "pos" else (symbol, "", of[0])
        )
        name = kinds.NAMES[symbol]
    return OpNode(name, kind, nodes, ExpressionStep("operator", symbol, len(nodes)))


def attribute(name, x):
    return OpNode(name, "double", [x], ExpressionStep("attribute", name, 1))


def call(name, operands, axis=()):
    """The node of a function."""
    if name in kinds.REDUCTIONS:
        node = as_node(operands[0])
        axis = operands[1] if len(operands) == 2 else None if axis == () else axis
        axis = axis.value if isinstance(axis, ExpressionNode) else axis
        return FuncNode(name, node.astKind, [node], ExpressionStep("call", name, 1, axis))
    nodes = [as_node(x) for x in operands]
    of = [n.astKind for n in nodes]
    if name == "where":
        kind = kinds.common(of)
    elif name == "contains":
        kind = "bool"
    elif name in kinds.KNOWN:
        kind = kinds.function_kind(name, of)[1]
    else:
        raise UsageError(f"{name} is no function of numexpr")
    return FuncNode(name, kind, nodes, ExpressionStep("call", name, len(nodes)))


def _function(name):
    def function(*operands, axis=()):
        return call(name, operands, axis)

    function.__name__ = name
    return function


functions = {
    name: _function(name) for name in sorted({*kinds.KNOWN, *kinds.REDUCTIONS, "where", "contains"})
}


def _operators():
    """Python's operators on nodes."""
    both = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
            "pow": "**", "lshift": "<<", "rshift": ">>", "and": "&", "or": "|",
            "xor": "^"}  # fmt: skip
    for name, symbol in both.items():
        setattr(ExpressionNode, f"__{name}__", lambda a, b, s=symbol: apply(s, a, b))
        setattr(ExpressionNode, f"__r{name}__", lambda a, b, s=symbol: apply(s, b, a))
    compared = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
    for name, symbol in compared.items():
        setattr(ExpressionNode, f"__{name}__", lambda a, b, s=symbol: apply(s, a, b))
    for name in ("neg", "pos", "invert"):
        setattr(ExpressionNode, f"__{name}__", lambda a, s=name: apply(s, a))


_operators()


def program_of(node):
    """The ExpressionProgram of a node, inputs first."""
    steps, names, stack = [], set(), [(as_node(node), False)]
    while stack:
        node, ready = stack.pop()
        if ready or not node.children:
            steps.append(node.step)
            if node.astType == "variable":
                names.add(node.value)
        else:
            stack.append((node, True))
            stack += [(child, False) for child in reversed(node.children)]
    return ExpressionProgram(tuple(steps), tuple(sorted(names)))


def node_of(text, types):
    """The node of an expression in text; types: {name: kind of the operand}."""
    stack = []
    for step in parse(text).steps:
        first = len(stack) - step.count
        operands = stack[first:]
        del stack[first:]
        if step.kind == "name":
            node = VariableNode(step.value, types.get(step.value, "double"))
        elif step.kind in ("number", "string"):
            node = ConstantNode(step.value)
        elif step.kind == "operator":
            node = apply(step.value, *operands)
        elif step.kind == "attribute":
            node = attribute(step.value, operands[0])
        else:
            node = call(step.value, operands, step.axis)
        stack.append(node)
    return stack[0]
