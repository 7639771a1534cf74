"""tests/sampled.py: the cases of a test that `make test` runs."""

import itertools
import types

import sampled

CASES = [dict(zip("abc", case)) for case in itertools.product(range(4), range(3), range(5))]


def test_all_combinations_of_so_many_arguments_are_among_the_chosen():
    for strength, least in ((0, 1), (1, 5), (2, 20), (3, 60)):
        taken = [CASES[k] for k in sampled.chosen(CASES, strength)]
        assert least <= len(taken) <= 1.5 * least
        for names in itertools.combinations("abc", strength):
            assert {tuple(c[n] for n in names) for c in taken} == {
                tuple(c[n] for n in names) for c in CASES
            }
    assert sampled.chosen(CASES, 5) == list(range(60)) and sampled.chosen([], 2) == []


class Item:
    """What is asked of an item of pytest."""

    def __init__(self, test, args, kwargs, **params):
        self.nodeid, self.marks = f"{test}[{params}]", []
        self.asked = args is not None and types.SimpleNamespace(args=args, kwargs=kwargs)
        self.callspec = types.SimpleNamespace(params=params)
        self.add_marker = self.marks.append

    def get_closest_marker(self, name):
        return self.asked


def test_the_other_cases_are_marked():
    shared = [object(), object()]
    every = [Item("every", None, {}, n=n) for n in range(3)]
    first = [Item("first", (0,), {}, n=n) for n in range(3)]
    each = [Item("each", (1,), {}, f=f, n=n) for f in shared for n in ("a", "b")]
    within = [Item("within", (1,), {"n": [2, 3]}, n=n) for n in range(4)]
    third = [Item("third", (1 / 3,), {}, n=n) for n in range(4)]
    sampled.mark([*every, *first, *each, *within, *third], "rest")
    marks = [["".join(i.marks) for i in items] for items in (every, first, each, within, third)]
    r = "rest"
    assert marks == [["", "", ""], ["", r, r], ["", r, r, ""], [r, r, "", ""], ["", r, r, ""]]


def test_a_case_that_is_asked_for_by_its_name_runs():
    for kwargs in ({}, {"n": [2]}):
        item = Item("one", (1,), kwargs, n=7)
        sampled.mark([item], "rest")
        assert not item.marks
