"""From tokens to an ExpressionProgram: the steps of an expression in the order of evaluation.

Precedence climbing with a stack of its own, so that no depth of parentheses or signs is Python's
problem. It knows Python's precedence and no meaning: what a name is or an operator does is
build.py's.
"""

from typing import NamedTuple

from ...base.errors import ArgumentError, UsageError
from .tokens import near, tokenise

STEPS = 20_000  # of an expression, at most
COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
BINARY = {
    **dict.fromkeys(COMPARISONS, 1),
    "|": 2,
    "^": 3,
    "&": 4,
    **dict.fromkeys(("<<", ">>"), 5),
    **dict.fromkeys(("+", "-"), 6),
    **dict.fromkeys(("*", "/", "//", "%"), 7),
    "**": 9,
}
SIGN = 8  # of unary + - ~: -a ** b is -(a ** b)
SIGNS = {"+": "pos", "-": "neg", "~": "invert"}
CONSTANTS = {"True": True, "False": False, "None": None}
TRUTHS = {"and": "&", "or": "|", "not": "~"}
RESERVED = {"if", "else", "lambda", "for", "in", "is", "import", "await", "yield", "return", "def",
            "class", "from", "as", "with", "while", "try", "del", "pass", "global", "assert",
            "raise", "async"}  # fmt: skip


class ExpressionStep(NamedTuple):
    """One step of a stack machine. kind: "number" or "string" (value is it), "name", "attribute",
    "operator" (value: its symbol) or "call" (value: the function's name). count: how many operands
    it takes; axis: the axis= of a call, () without one."""

    kind: str
    value: object
    count: int = 0
    axis: object = ()


class ExpressionProgram(NamedTuple):
    """steps: of the expression; names: its operands, in alphabetical order."""

    steps: tuple
    names: tuple


class Open(NamedTuple):
    """What is on the stack of the parser: an operator that waits for its right side, or "("; of a
    call with its name."""

    symbol: str
    level: int
    count: int
    name: str = ""


def parse(text):
    """The ExpressionProgram of an expression.

    Raises SyntaxError where it is none, ArgumentError for what is refused (see tokens.py; more than
    20,000 steps), UsageError for Python's and, or, not and for chained comparisons.

    >>> from ckernels.jit.expression.tree import parse
    >>> [step.value for step in parse("2 * a ** b").steps]
    [2, 'a', 'b', '**', '*']
    """
    return Parser(text).run()


class Parser:
    """One pass over the tokens; `self.steps` is what comes out."""

    def __init__(self, text):
        self.text, self.tokens, self.at = text, tokenise(text), 0
        self.steps, self.stack, self.names = [], [], set()

    def run(self):
        while True:
            self.operand()
            if self.operator():
                return ExpressionProgram(tuple(self.steps), tuple(sorted(self.names)))

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def follows(self, ahead, symbol):
        """Whether an operator stands that many tokens ahead of the next one."""
        token = self.tokens[min(self.at + ahead, len(self.tokens) - 1)]
        return token.kind == "operator" and token.value == symbol

    def wrong(self, token, problem="an operand is missing"):
        return SyntaxError(near(problem, self.text, token.at))

    def emit(self, kind, value, count=0, axis=()):
        if len(self.steps) >= STEPS:
            raise ArgumentError(f"an expression has at most {STEPS} operands and operations")
        self.steps.append(ExpressionStep(kind, value, count, axis))

    def push(self, *opened):
        if len(self.stack) >= STEPS:
            raise ArgumentError(f"an expression is at most {STEPS} levels deep")
        self.stack.append(Open(*opened))

    def operand(self):
        """Read signs and parentheses up to an operand, and that."""
        while True:
            token = self.next()
            if token.kind in ("number", "string"):
                return self.emit(token.kind, token.value)
            if token.kind == "name":
                if self.named(token):
                    return None
            elif token.kind == "operator" and token.value in SIGNS:
                self.push(SIGNS[token.value], SIGN, 1)
            elif token.value == "(":
                self.push("(", 0, 0)
            elif token.value == ")" and self.empty_call():
                return None
            else:
                raise self.wrong(token)

    def named(self, token):
        """Read a name: an operand (True), or the beginning of a call (False)."""
        name = token.value
        if name in TRUTHS:
            raise truth_of(name)
        if name in RESERVED:
            raise self.wrong(token, f"{name!r} has no place in an expression")
        if self.follows(0, "("):
            self.at += 1
            self.push("(", 0, 1, name)
            return False
        if name in CONSTANTS:
            self.emit("number", CONSTANTS[name])
        else:
            self.names.add(name)
            self.emit("name", name)
        return True

    def empty_call(self):
        top = self.stack[-1] if self.stack else None
        before = self.tokens[self.at - 2]
        if top is None or not top.name or (before.kind, before.value) != ("operator", "("):
            return False
        self.stack.pop()
        self.emit("call", top.name, 0)
        return True

    def operator(self):
        """Read what stands behind an operand up to the next operand; True at the end."""
        while True:
            token = self.next()
            if token.kind == "attribute":
                self.emit("attribute", token.value, 1)
            elif token.kind == "end":
                self.reduce(0, token)
                if self.stack:
                    raise self.wrong(token, "a parenthesis was not closed")
                return True
            elif token.value == ")":
                self.close(token)
            elif token.value == ",":
                if self.comma(token):
                    continue
                return False
            elif token.value in TRUTHS:
                raise truth_of(token.value)
            elif token.kind == "operator" and token.value in BINARY:
                self.binary(token)
                return False
            else:
                raise self.wrong(token, "an operator is missing")

    def binary(self, token):
        level = BINARY[token.value]
        self.reduce(level + (token.value == "**"), token, chained=token.value in COMPARISONS)
        self.push(token.value, level, 2)

    def reduce(self, level, token, chained=False):
        """Emit the operators on the stack that bind at least as much as `level`."""
        while self.stack and self.stack[-1].symbol != "(" and self.stack[-1].level >= level:
            top = self.stack.pop()
            if chained and top.symbol in COMPARISONS:
                raise UsageError(
                    "comparisons are not chained: write (a < b) & (b < c), not a < b < c"
                )
            self.emit("operator", top.symbol, top.count)

    def close(self, token, axis=()):
        self.reduce(0, token)
        if not self.stack:
            raise self.wrong(token, "a parenthesis is closed that was not opened")
        top = self.stack.pop()
        if top.name:
            self.emit("call", top.name, top.count, axis)

    def comma(self, token):
        """Go on with the next argument of a call; True where it was axis=, which ends it."""
        self.reduce(0, token)
        if not self.stack or not self.stack[-1].name:
            raise self.wrong(token, "',' stands outside of a call")
        if not self.follows(1, "="):
            top = self.stack.pop()
            self.stack.append(top._replace(count=top.count + 1))
            return False
        name = self.next()
        if name.value != "axis":
            raise UsageError(f"functions of an expression take axis=, not {name.value}=")
        self.at += 1
        axis = self.axis()
        end = self.next()
        if end.value != ")":
            raise self.wrong(end, "axis= is an integer or None, the last argument")
        self.close(end, axis)
        return True

    def axis(self):
        token, sign = self.next(), 1
        if token.value == "-":
            token, sign = self.next(), -1
        if token.value == "None" and sign == 1:
            return None
        if token.kind != "number" or type(token.value) is not int:
            raise UsageError("axis= is an integer or None")
        return sign * token.value


def truth_of(word):
    return UsageError(
        f"{word!r} asks for one truth value; elementwise it is {TRUTHS[word]!r}, with each "
        "comparison in parentheses"
    )
