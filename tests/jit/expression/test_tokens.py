"""Text becomes tokens in one pass; what is no part of an expression is refused."""

import pytest

from ckernels.base.errors import ArgumentError
from ckernels.jit.expression.tokens import LONGEST, tokenise

NUMBERS = ["1", "1_000", "0x1F", "0b101", "0o17", "1.", ".5", "1.5", "2.e-5", "2.e+5", "2E-5",
           "2.2e5", "1e400", "3.j", "1.5J", "4.5e6j", "00"]  # fmt: skip
FORBIDDEN = ["a[0]", "a; b", "lambda x: x", "{a}", "a.T", "a. cpu_count", "a.real.__class__",
             "__builtins__", "__import__", "a\\b", "é", "(3+1).ᵇit_length()", "a @ b", "b'é'",
             "9" * 500, "1" + "0" * 500 + ".0"]  # fmt: skip
WRONG = ["a ! b", "a ? b", "a $ b", "'abc", "1x", "0x", "1__0", "09"]


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_are_pythons(text):
    value = tokenise(text)[0].value
    assert value == eval(text) and type(value) is type(eval(text))


def test_kinds_and_places():
    kinds = [(t.kind, t.value, t.at) for t in tokenise("ab.real<=f(2, b'x\\n')")]
    assert kinds == [
        ("name", "ab", 0), ("attribute", "real", 2), ("operator", "<=", 7), ("name", "f", 9),
        ("operator", "(", 10), ("number", 2, 11), ("operator", ",", 12), ("string", b"x\n", 14),
        ("operator", ")", 20), ("end", "", 21),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["'a:b'", '"a;b"', r"b'\x00\''", "b''", r"'\\'", r"'\q'"])
def test_strings_are_pythons(text):
    value = eval(text if text[0] == "b" else "b" + text)
    assert tokenise(text)[0].value == value


@pytest.mark.parametrize("text", FORBIDDEN)
def test_what_only_python_has_is_refused(text):
    with pytest.raises(ArgumentError):
        tokenise(text)


@pytest.mark.parametrize("text", WRONG)
def test_what_nothing_has_is_a_syntax_error(text):
    with pytest.raises(SyntaxError):
        tokenise(text)


def test_an_error_shows_the_place_not_the_text():
    with pytest.raises(SyntaxError) as caught:
        tokenise("a + " * 1000 + "$")
    assert "character 4001" in str(caught.value) and len(str(caught.value)) < 120


def test_the_length_is_bounded():
    with pytest.raises(ArgumentError, match="at most"):
        tokenise("a" * (LONGEST + 1))
