"""Classes of shapes as the runtime gets them: tables that do not fit each other are refused."""

import numpy as np
import pytest

import ckernels as K
from ckernels.plan import template
from ckernels.runtime.program import Program

runtime = pytest.importorskip("ckernels._runtime", reason="the C runtime was not built")
TABLES = ("kind code args assumed instrs_at instrs_rows rows rows_at rows_rows dims_at dims_rows "
          "bytes bytes_at bytes_rows starts below slots specs").split()  # fmt: skip
PLACES = [t for t in TABLES if t.endswith(("_at", "_rows")) or t in ("slots", "specs")]


@pytest.fixture(scope="module")
def made():
    """(plan, tables, constants) of a class with something in each of its tables."""
    given, before = [], template.runtime

    class Noted:
        def __getattr__(self, name):
            return getattr(before, name)

        def Class(self, *args):
            given.append(args)
            return before.Class(*args)

    x, y = K.placeholder((None, None), dtype="float64"), K.placeholder((None,), dtype="float64")
    z = K.dot(K.exp(x), K.transpose(K.tanh(x)))
    outputs = [K.cumsum(z, 1) * y, K.sum(z, 1), K.reverse(z, 0), K.argmax(K.softmax(z), 1)]
    template.runtime = Noted()
    try:
        f = K.function([x, y], [*outputs, K.sum(K.cast(K.shape(x)[0], "float64") * y)])
        for n in (7, 9, 12, 20, 33):
            f([np.ones((n, 5)), np.ones(n)])
    finally:
        template.runtime = before
    plan, tables, constants = given[-1]
    return plan, dict(zip(TABLES, map(np.array, tables))), constants


def refused(plan, tables, constants):
    try:
        runtime.Class(plan, tuple(tables[t] for t in TABLES), constants)
    except ValueError as problem:
        assert "do not fit" in str(problem)
        return True
    return False


def test_tables_that_fit_are_taken(made):
    assert not refused(*made)
    assert {name for name, table in made[1].items() if not table.size} <= {"args"}


@pytest.mark.parametrize("name", PLACES)
def test_places_that_are_not_there_are_refused(made, name):
    plan, tables, constants = made
    table = tables[name]
    for k in range(table.size):
        for wrong in (-1, 2**40):
            changed = table.copy()
            changed.flat[k] = wrong
            assert refused(plan, {**tables, name: changed}, constants), (k, wrong)
    if table.size:
        assert refused(plan, {**tables, name: table.reshape(-1)[:-1]}, constants)
        assert refused(plan, {**tables, name: np.append(table, 0)}, constants)


def test_kinds_that_end_too_soon_or_are_none_are_refused(made):
    plan, tables, constants = made
    kind = tables["kind"]
    for k in range(1, kind.size):
        assert refused(plan, {**tables, "kind": kind[:k]}, constants), k
    for first in (-1, kind.size, 2**40):
        changed = np.append(first, kind[1:])
        assert refused(plan, {**tables, "kind": changed}, constants)


def test_constants_that_are_not_there_are_refused(made):
    plan, tables, constants = made
    rows = np.zeros(1, np.int64)
    places = [(-1, rows), (2**40, rows), (0, rows - 1), (0, np.zeros(10_000, np.int64))]
    for wrong in (None, (0,), (0, rows, 1), ("a", rows), (0, [0]), (0, rows * 0.5), *places):
        assert refused(plan, tables, [*constants, wrong]), wrong


def test_plans_of_a_class_are_made_without_python(monkeypatch):
    """Of new sizes in layouts that are known; another kind of arrays asks Python once."""
    x = K.placeholder((None, None), dtype="float64")
    f = K.function([x], [K.exp(x) * 2, K.sum(x, 1), K.concatenate([x, x[:1]], 0)])
    asked, plan = [], Program.plan

    def noted(self, arrays):
        asked.append([a.shape for a in arrays])
        return plan(self, arrays)

    monkeypatch.setattr(Program, "plan", noted)
    rng = np.random.default_rng(0)
    for shape in ((7, 9), (70, 90), (31, 77), (8, 640), (200, 33)):
        for laid in (lambda a: a, np.asfortranarray, lambda a: a[::-1]):
            a = laid(rng.normal(size=shape))
            for got, want in zip(f([a]), (2 * np.exp(a), a.sum(1), np.concatenate([a, a[:1]]))):
                np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)
    assert 3 <= len(asked) <= 9, asked
