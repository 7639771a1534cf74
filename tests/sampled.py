"""Which cases of a test `make test` runs: each value, or each pair of values, of its arguments.

A test marked `sampled(strength)` runs there so many of its cases that all combinations of
`strength` arguments are among them, with 0 the first alone; of an argument that is given by name,
those values: `sampled(1, dtype=["bool", "float32"])`. Of a list of programs of one kind,
`sampled(1 / 4)` is every fourth. The other cases are marked `rest`, as is what
finds hardly more than its cheaper neighbours, and `make rest` runs them.
"""

from itertools import combinations


def chosen(cases, strength):
    """The numbers of the cases that have all combinations: cases as {argument: its value}.

    Each is the first of those that have most of what is missing.
    """
    found = [{(pair, tuple(case[name] for name in pair))
              for pair in combinations(sorted(case), min(strength, len(case)))}
             for case in cases]  # fmt: skip
    missing, taken = set().union(*found), []
    while missing:
        best = max(range(len(cases)), key=lambda k: len(found[k] & missing))
        missing -= found[best]
        taken.append(best)
    return sorted(taken)


def told(value):
    """What two values are the same by: plain ones are equal, others the very same object."""
    plain = isinstance(value, (str, int, float, complex, tuple, type, type(None)))
    return repr(value) if plain else id(value)


def mark(items, rest):
    """Mark the cases that are not chosen."""
    tests = {}
    for item in items:
        asked = item.get_closest_marker("sampled")
        if asked:
            test = item.nodeid.partition("[")[0]
            tests.setdefault(test, (asked, []))[1].append(item)
    for asked, cases in tests.values():
        kept = asked.kwargs.items()
        within = [c for c in cases if all(c.callspec.params[k] in some for k, some in kept)]
        within = within or cases  # where one was asked for by its name
        values = [{k: told(v) for k, v in item.callspec.params.items()} for item in within]
        (strength,) = asked.args
        some = 0 < strength < 1
        taken = range(0, len(within), round(1 / strength)) if some else chosen(values, strength)
        for item in set(cases) - {within[k] for k in taken}:
            item.add_marker(rest)
