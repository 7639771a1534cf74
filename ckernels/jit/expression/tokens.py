"""Tokens of an expression: numbers, names, byte strings, operators, each with its place.

What is no part of an expression is refused here: indices, statements, names in double underscores,
attributes but `.real` and `.imag`, letters beyond ASCII. Text of bounded length, in one pass.
"""

import re
from typing import NamedTuple

from ...base.errors import ArgumentError

LONGEST = 1 << 20  # characters of an expression
LONGEST_NUMBER = 400  # characters of a number: more digits than any dtype has
ATTRIBUTES = ("real", "imag")

PATTERN = re.compile(
    r"""\s*(?:
    (?P<number>0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+
        |(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?[jJ]?)
    |(?P<string>[bB]?(?:'[^'\\\n]*(?:\\.[^'\\\n]*)*'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"))
    |(?P<name>[A-Za-z_][A-Za-z_0-9]*)
    |(?P<attribute>\.\s*[A-Za-z_][A-Za-z_0-9]*)
    |(?P<operator>\*\*|//|<<|>>|<=|>=|==|!=|[-+*/%&|^~<>(),=])
    )""",
    re.VERBOSE | re.ASCII,
)
ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\", "'": b"'", '"': b'"'}
ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)


class Token(NamedTuple):
    """kind: "number", "string", "name", "attribute", "operator" or "end"; value: a number, bytes,
    or the text; at: the place of its first character."""

    kind: str
    value: object
    at: int


def tokenise(text):
    """The Tokens of `text`, the last of them an "end".

    Raises SyntaxError for what no expression has, ArgumentError for what only Python has.
    """
    if len(text) > LONGEST:
        raise ArgumentError(f"an expression has at most {LONGEST} characters, this one {len(text)}")
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = PATTERN.match(text, at)
        if match is None:
            refuse(text, at + len(text[at:]) - len(text[at:].lstrip()))
        kind = match.lastgroup
        found.append(Token(kind, VALUES[kind](match[kind]), match.start(kind)))
        at = match.end()
        if kind == "number" and re.match(r"[A-Za-z_0-9]", text[at : at + 1]):
            raise SyntaxError(near("a number is followed by letters", text, at))
    found.append(Token("end", "", end))
    return found


def refuse(text, at):
    """Raise for the character at a place, which begins no token."""
    char = text[at]
    if char in ":;[]{}\\@." or not char.isascii():
        raise ArgumentError(near(f"{char!r} has no place in an expression", text, at))
    raise SyntaxError(near(f"{char!r} was not expected", text, at))


def near(problem, text, at):
    """A sentence on what is wrong at a place of an expression."""
    shown = text[max(0, at - 20) : at + 20]
    return f"{problem} (character {at + 1} of the expression, near {shown!r})"


def _number(text):
    if len(text) > LONGEST_NUMBER:
        raise ArgumentError(f"a number of {len(text)} digits is beyond every dtype")
    try:
        if text[-1] in "jJ" and text[:2] not in ("0x", "0X"):
            return complex(0.0, float(text[:-1]))
        if text[:2].lower() != "0x" and set(text) & set(".eE"):
            return float(text)
        value = int(text, 0)  # not 09, as in Python
    except ValueError:
        raise SyntaxError(f"{text!r} is no number") from None
    if value.bit_length() > 64:
        raise ArgumentError(f"the integer {text} does not fit 64 bits")
    return value


def _string(text):
    inner = text.lstrip("bB")[1:-1]
    try:
        raw = inner.encode("ascii")
    except UnicodeEncodeError:
        raise ArgumentError(f"strings of an expression are ASCII, not {text[:40]!r}") from None
    return ESCAPE.sub(_unescaped, raw)


def _unescaped(match):
    code = match[1].decode()
    if len(code) == 3:
        return bytes([int(code[1:], 16)])
    return ESCAPES.get(code, match[0])


def _name(text):
    if text.startswith("__"):
        raise ArgumentError(f"{text!r} is no name of an operand")
    return text


def _attribute(text):
    name = text[1:].strip()
    if name not in ATTRIBUTES:
        raise ArgumentError(f"operands have the attributes .real and .imag, not .{name}")
    return name


VALUES = {
    "number": _number,
    "string": _string,
    "name": _name,
    "attribute": _attribute,
    "operator": str,
}
