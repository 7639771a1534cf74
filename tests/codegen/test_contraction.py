"""Which sums are contractions: values that are, and for each question some that are not."""

import pytest

from ckernels.codegen.contraction import QUESTIONS, cone, varies, why_not
from ckernels.codegen.ir import Value

A, B, Q = "ABQ"
WALKS = [frozenset({A, Q}), frozenset({B, Q}), frozenset({A, B}), frozenset({A, B, Q})]


def load(operand, run=True, dtype="float32"):
    return Value("load", dtype, (), (), operand, True, 0, 0.0, run)


def of(op, *args, level=0, run=True, dtype="float32"):
    return Value(op, dtype, args, (), -1, True, level, 1.0, run)


DISTANCE = [load(0), load(1), of("sub", 0, 1), of("square", 2), of("sum", 3)]
STORES = [(2, 4)]
SENTENCES = [sentence for _, sentence in QUESTIONS]


def test_a_distance_is_one():
    assert why_not(DISTANCE, WALKS, STORES) is None
    assert cone(DISTANCE) == [0, 1, 2, 3]
    assert varies(DISTANCE, WALKS) == [{A, Q}, {B, Q}, {A, B, Q}, {A, B, Q}, {A, B}]


@pytest.mark.parametrize(
    "values, stores, question",
    [
        ([*DISTANCE[:4], of("max", 3)], STORES, 0),
        ([*DISTANCE[:4], *[of("sum", k) for k in (1, 2, 3)]], STORES, 0),
        ([load(0, dtype="int64"), load(1, dtype="int64"), of("mul", 0, 1, dtype="int64"),
          of("sum", 2, dtype="int64")], [(2, 3)], 0),
        ([*DISTANCE[:3], of("exp", 2), of("sum", 3)], STORES, 1),
        ([*DISTANCE[:3], of("maximum", 2, 0), of("sum", 3)], STORES, 1),
        ([*DISTANCE, of("sub", 3, 4, level=1), of("sum", 5, level=1)], [(2, 6)], 2),
        (DISTANCE, [(3, 3), (2, 4)], 2),
        ([Value("index", "float32", (), (), 0), *DISTANCE[1:]], STORES, 3),
        ([load(3), *DISTANCE[1:]], STORES, 4),
        ([load(0), load(2, run=False), *DISTANCE[2:]], STORES, 5),
        ([load(1), load(1), *DISTANCE[2:]], STORES, 5),
    ],
)  # fmt: skip
def test_near_misses(values, stores, question):
    assert why_not(values, WALKS, stores) == SENTENCES[question]
