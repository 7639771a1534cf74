"""Sizes of a class of shapes: right for every value of the symbols, and no question forgotten."""

import random

import numpy as np
import pytest

from ckernels.graph.sizes import (
    AT_LEAST,
    OTHER,
    SAME,
    Longest,
    ShapeClass,
    Size,
    SizeRange,
    Written,
    bare,
    ceil_divide,
    greatest,
    indices,
    less,
    present,
    reaches,
    sizes_in,
    smallest,
    surely,
    value_of,
)

_runtime = pytest.importorskip("ckernels._runtime", reason="the C runtime was not built")


def made(*values):
    """(a class, a symbol of it for each value)."""
    of = ShapeClass()
    return of, [of.symbol(("input", 0, k), f"n{k}", v) for k, v in enumerate(values)]


def evaluated(of, sizes, symbols):
    """The values of `sizes` for these symbols by the runtime; None where an assumption fails."""
    written = Written(of)
    rows = [written.number(s) for s in sizes]
    found = _runtime.sizes(
        np.array(written.code, np.int64).reshape(-1, 3),
        np.array(written.args, np.int64),
        np.array(written.assumed, np.int64).reshape(-1, 2),
        np.array(symbols, np.int64),
    )
    return None if found is None else found[rows].tolist()


def expression(rng, depth, leaves):
    """(a function of numbers or sizes, in words)."""
    if not depth or rng.random() < 0.2:
        if rng.random() < 0.6:
            k = rng.randrange(leaves)
            return lambda x: x[k]
        c = rng.choice([-3, -1, 0, 1, 2, 5, 16, 64])
        return lambda x: c
    a, b = (expression(rng, depth - 1, leaves) for _ in range(2))
    c = rng.choice([1, 2, 3, 16, -4])
    return rng.choice(
        [
            lambda x: a(x) + b(x),
            lambda x: a(x) - b(x),
            lambda x: a(x) * b(x),
            lambda x: -a(x),
            lambda x: a(x) // c,
            lambda x: a(x) % c,
            lambda x: ceil_divide(a(x), c),
            lambda x: greatest(a(x), b(x)),
            lambda x: smallest(a(x), b(x)),
            lambda x: (a(x) * x[0]) // x[0],
            lambda x: c * a(x),
            lambda x: c - b(x),
        ]
    )


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("seed", range(300))
def test_expressions_are_right_for_all_values(seed):
    rng = random.Random(seed)
    values = [rng.randrange(2, 40) for _ in range(3)]
    of, symbols = made(*values)
    rules = [expression(rng, 4, 3) for _ in range(4)]
    sizes = [rule(symbols) for rule in rules]
    assert [value_of(s) for s in sizes] == [rule(values) for rule in rules]
    assert not of.assumed
    for _ in range(10):
        other = [rng.randrange(2, 100) for _ in range(3)]
        assert evaluated(of, sizes, other) == [rule(other) for rule in rules]


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("seed", range(300))
def test_answers_hold_wherever_the_assumptions_do(seed):
    """What a decision by sizes was is the same for all shapes that the class accepts."""
    rng = random.Random(seed)
    values = [rng.randrange(2, 12) for _ in range(3)]
    of, symbols = made(*values)
    a, b = (expression(rng, 3, 3) for _ in range(2))
    ask = rng.choice(
        [
            lambda x: bool(a(x) == b(x)),
            lambda x: bool(a(x) < b(x)),
            lambda x: bool(a(x) >= b(x)),
            lambda x: bool(a(x) != b(x)),
            lambda x: bool(a(x) > 40),
            lambda x: bool(a(x)),
            lambda x: bool(a(x) <= 7),
            lambda x: int(a(x)),
            lambda x: list(range(abs(a(x)) % 7)),
        ]
    )
    answer = ask(symbols)
    assert answer == ask(values)
    accepted = 0
    for _ in range(60):
        other = [rng.randrange(2, 12) for _ in range(3)]
        if evaluated(of, [], other) is not None:
            accepted += 1
            assert ask(other) == answer
    assert evaluated(of, [], values) is not None
    assert accepted or of.assumed


def test_what_holds_for_all_shapes_is_no_question():
    of, (n, m) = made(8, 64)
    assert n > 1 and n != 1 and n >= 2 and n and not n == 0 and n * 16 < n * 16 + 1
    assert n * m >= n and (n * m) // m is n and n - n == 0 and n * 4 % 4 == 0
    assert (n - 2) // n == 0 and (n - 2) % n is n - 2
    assert not of.assumed
    assert evaluated(of, [(n - 3) // n, (n - 3) % n], [2, 5]) == [-1, 1]


def test_what_no_size_is_compared_with_compares_itself():
    class Tall:
        def __gt__(self, other):
            return "taller"

    of, (n,) = made(8)
    assert (n < Tall()) == "taller" and not of.assumed
    with pytest.raises(TypeError, match="not supported"):
        n < "8"  # noqa: B015


def test_equal_values_are_not_equal_sizes():
    of, (n,) = made(64)
    seen = {64: "units", n: "batch"}
    assert len(seen) == 2 and seen[n] == "batch" and not of.assumed
    assert not surely(n, 64) and not of.assumed
    assert n == 64
    (asked,) = of.assumed.values()
    assert (asked.kind, asked.taken) == (SAME, False) and str(asked) in ("64 == n0", "n0 == 64")
    assert evaluated(of, [n], [64]) == [64] and evaluated(of, [n], [65]) is None


@pytest.mark.parametrize(
    "take",
    [
        int,
        float,
        str,
        lambda n: f"{n}",
        lambda n: list(range(n)),
        lambda n: [0] * n,
        lambda n: np.array([n, 3], dtype="int64"),
        lambda n: np.prod([n, 3], dtype=np.int64),
        lambda n: np.empty(n),
        lambda n: slice(0, n).indices(9),
        lambda n: 8.5 / n,
        lambda n: n / 2,
    ],
)
def test_a_bare_number_is_an_assumption(take):
    of, (n,) = made(8)
    take(n)
    assert [a.kind for a in of.assumed.values()] == [SAME]
    assert next(iter(of.assumed.values())).taken
    assert evaluated(of, [n], [8]) == [8] and evaluated(of, [n], [9]) is None


def test_floats_do_not_swallow_sizes():
    _, (n,) = made(8)
    for mix in (lambda: 2.5 * n, lambda: n * 2.5, lambda: n + 0.5):
        with pytest.raises(TypeError):
            mix()


def test_each_kind_of_assumption_is_crossed():
    for ask, kind, inside, outside in (
        (lambda n: n == 7, SAME, [7], [2, 6, 8]),
        (lambda n: n == 9, OTHER, [7, 8, 10], [9]),
        (lambda n: n > 5, AT_LEAST, [6, 7, 1000], [2, 5]),
        (lambda n: n * 3 < 22, AT_LEAST, [2, 7], [8, 100]),
    ):
        of, (n,) = made(7)
        ask(n)
        assert [a.kind for a in of.assumed.values()] == [kind]
        for value in inside:
            assert evaluated(of, [n], [value]) == [value]
        for value in outside:
            assert evaluated(of, [n], [value]) is None


@pytest.mark.parametrize(
    "value, answer, inside, outside",
    [(999, False, [2, 999, 1001, 2001], [2002]), (1001, True, [501, 1001, 9999], [2, 500])],
)
def test_a_threshold_of_copies_is_assumed_with_some_reach(value, answer, inside, outside):
    of, (n,) = made(value)
    assert reaches(n, 1001) is answer and reaches(value, 1001) is answer
    for other in (*inside, *outside):
        assert (evaluated(of, [n], [other]) is None) == (other in outside)
    assert reaches(n * n, 4) and len(of.assumed) == 1  # n is at least 2


def test_what_is_less_of_strides_is_asked_where_axes_of_one_do_not_decide():
    of, (n, m) = made(10, 8)
    assert less(n, n * m) and not less(n * m, n) and less(1, n) and not less(n, 1)
    assert not of.assumed  # only where an axis has size 1 are they equal
    assert less(m, n) and not less(n, m) and less(3, 4) and not less(4, 4)
    assert evaluated(of, [n, m], [9, 8]) == [9, 8]
    assert evaluated(of, [n, m], [8, 8]) is None


def test_the_longest_come_first_and_equal_ones_stay_in_order():
    of, (n, m) = made(10, 8)
    found = sorted([3, n * m, m, -n * m, 1, n], key=Longest)
    assert found == [n * m, -n * m, n, m, 3, 1]
    assert evaluated(of, [n, m], [9, 8]) == [9, 8]
    assert evaluated(of, [n, m], [7, 8]) is None and evaluated(of, [n, m], [9, 3]) is None


def test_the_longest_are_found_without_a_question_about_signs():
    of = ShapeClass()
    s, t = (of.symbol(("stride", 0, k), f"s{k}", v, None) for k, v in enumerate((12, -3)))
    assert sorted([t, s], key=Longest) == [s, t]
    for values, fits in (((12, 3), True), ((-12, 3), True), ((4, -3), True), ((3, -4), False)):
        assert (evaluated(of, [s, t], list(values)) is not None) is fits


def test_equal_sizes_divide_without_a_question():
    of, (n, m) = made(6, 6)
    assert n == m
    assert (64 * n) // m == 64 and (64 * n * m) % (m * m) == 0 and len(of.assumed) == 1
    other, (n, m) = made(6, 6)
    assert (64 * n) // m == 64 and len(other.assumed) == 1  # 64 == (64 * n0) // n1
    assert evaluated(other, [n], [6, 7]) is None


def test_the_line_that_asked_is_kept():
    of = ShapeClass(lambda: ("model.py", 3, "y = x[:5]"))
    n = of.symbol(("input", 0, 0), "x.shape[0]", 9)
    assert n > 5
    (asked,) = of.assumed.values()
    assert asked.line == ("model.py", 3, "y = x[:5]") and str(asked) == "x.shape[0] >= 6"


@pytest.mark.parametrize("n", [2, 3, 7, 8])
def test_slices_are_those_of_ranges(n):
    bounds = [None, -9, -7, -3, -1, 0, 1, 2, 5, 7, 9]
    for start in bounds:
        for stop in bounds:
            for step in (None, 1, 2, 3, -1, -2):
                of, (size,) = made(n)
                line, wanted = indices((start, stop, step), size), range(n)[start:stop:step]
                assert value_of(line.count) == len(wanted)
                if len(wanted):
                    assert present(line)[0] == wanted[0] and value_of(line.low) == min(wanted)
                    assert value_of(line.end) == max(wanted) + 1
                    again = indices(present(line.bounds(size)), n)
                    assert list(range(n)[slice(*present(line.bounds(size)))]) == list(wanted)
                    assert again.count == len(wanted)
                assert list(indices((start, stop, step), n)) == [
                    wanted.start,
                    len(wanted),
                    wanted.step,
                ]


def test_slices_of_slices():
    of, (n,) = made(20)
    line = indices((2, None, 2), n).within((1, -1, 3))
    wanted = range(20)[2::2][1:-1:3]
    assert [line.start + k * line.step for k in range(value_of(line.count))] == list(wanted)
    assert SizeRange(0, n).bounds(n) == (None, None, 1)


def test_pieces_with_sizes_are_found():
    of, (n,) = made(4)
    assert list(sizes_in({"a": (1, (n, None)), "b": [2]})) == [n]
    assert bare((1, [n])) == (1, [4]) and len(of.assumed) == 1
    assert type(present((n,))[0]) is int and isinstance(n, Size)


def test_overflow_and_division_by_zero_are_another_class():
    of, (n, m) = made(8, 3)
    product = n * n * n * n * n * n * n * n
    assert evaluated(of, [product], [1 << 20, 3]) is None
    quotient = n // (m - 3 + 1)
    assert value_of(quotient) == 8
    assert evaluated(of, [quotient], [8, 2]) is None


def test_a_class_that_is_not_well_formed_is_refused():
    empty, none = np.zeros((0, 2), np.int64), np.zeros(0, np.int64)
    for row in ((2, 0, 0), (1, 5, 0), (9, 0, 0), (8, 0, 36), (-1, 0, 0), (8, 0, 3)):
        with pytest.raises(ValueError, match="well formed"):
            _runtime.sizes(np.array([row], np.int64), none, empty, np.array([4]))
    with pytest.raises(ValueError, match="well formed"):
        _runtime.sizes(np.array([(0, 3, 0)]), none, np.array([(0, 1)]), np.array([4]))


@pytest.mark.parametrize("step", [1, 2, -1])
def test_slices_whose_bounds_alone_are_open(step):
    """An axis of a known size, a start and a stop that are sizes of a call."""
    for start in range(2, 6):
        for stop in range(2, 6):
            for n in (0, 3, 4, 7):
                _, (a, b) = made(start, stop)
                found = indices((a, b, step), n)
                line = range(n)[slice(start, stop, step)]
                assert value_of(found.count) == len(line)
                if len(line):
                    assert value_of(found.start) == line.start
    of, (a, b) = made(4, 6)
    found = indices((a, b, abs(step)), 9)
    for start, stop in ((3, 8), (2, 7), (4, 6)):  # no value was taken for granted
        line = range(9)[slice(start, stop, abs(step))]
        assert evaluated(of, [found.start, found.count], [start, stop]) == [line.start, len(line)]


def test_a_divisor_that_other_sizes_make_zero_is_asked_about():
    of, (n,) = made(8)
    quotient, rest = 100 // (n - 2), 100 % (n - 2)
    assert of.assumed and evaluated(of, [quotient, rest], [8]) == [16, 4]
    assert evaluated(of, [quotient, rest], [12]) == [10, 0]
    assert evaluated(of, [quotient, rest], [2]) is None


def test_quotients_by_what_has_no_bound_may_be_nothing():
    of, (n, m) = made(8, 64)
    assert not (n + 10) // m >= 6 and of.assumed


def test_the_larger_and_the_smaller_of_what_may_be_equal_are_known():
    of, (n, m) = made(8, 64)
    less = n - m // 128
    assert greatest(less, n) is n and smallest(n, less) is less and not of.assumed


def test_quotients_of_what_may_be_negative_have_a_bound():
    of, (n,) = made(8)
    for number in range(1, 6):
        quotient = (n - 20) // number
        assert value_of(quotient) == -12 // number and quotient >= -20 // number
        assert not of.assumed  # true of every size
        assert evaluated(of, [quotient], [0]) == [-20 // number]
