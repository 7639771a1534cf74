"""Sums over the steps of a gradient: which rows two terms of a sum have in common."""

import itertools

from ckernels.autodiff import scan_sums


def test_spans_of_rows_meet_as_sets_of_rows_do():
    """Spans are all rows, the first of them or those behind; beside Python's slices of 9 rows."""
    rows = range(9)
    spans = [(None, None), *((None, k) for k in (2, 5)), *((k, None) for k in (2, 5, 7))]
    spans += [scan_sums._meet(a, b) for a, b in itertools.product(spans, repeat=2)]
    for a, b in itertools.product([s for s in spans if s], repeat=2):
        found = scan_sums._meet(a, b)
        want = set(rows[slice(*a)]) & set(rows[slice(*b)])
        assert set(rows[slice(*found)] if found else ()) == want, (a, b)
        assert found is None or want, (a, b)  # None says that there is none
