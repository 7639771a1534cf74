"""The benchmark page: every case has a family in the chart, which shows what was measured."""

import copy
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import ckernels as ck
from benchmarks import chart, workloads
from benchmarks import pymc_catalogue as catalogue
from benchmarks.breadth import measure as breadth
from benchmarks.breadth import registry
from benchmarks.breadth import report as breadth_page
from benchmarks.expressions import registry as expressions
from benchmarks.expressions import report as expressions_page
from benchmarks.matrix import __main__ as matrix
from benchmarks.matrix import layouts, measure, operations, reasons
from benchmarks.npbench import child as npbench
from benchmarks.npbench import report as npbench_page
from benchmarks.numpy_programs import measure as plain
from benchmarks.numpy_programs import registry as plain_registry
from benchmarks.numpy_programs import report as plain_page

ALONE = ("threads, heavy f32 1e7", "size")  # ckernels beside itself, megabytes


def test_every_case_has_a_family():
    names = [case.name for work in workloads.load().values() for case in work.cases()]
    assert len(names) > 50
    lost = [name for name in names if chart.family_of(name) is None and name not in ALONE]
    assert not lost, "add their beginnings to FAMILIES of benchmarks/chart.py"


@pytest.mark.parametrize("case, family", [("sum axis 0", "reductions"), ("conv 3x3", "images")])
def test_a_family_goes_by_the_beginning_of_a_name(case, family):
    assert chart.family_of(case) == family
    assert chart.family_of("a " + case) is None


def test_a_chart_has_a_dot_per_case_and_colours_what_is_behind():
    records = [
        {"case": "light a", "seconds": {"ckernels": 1.0, "numpy": 4.0, "torch": 2.0}},
        {"case": "light <b>", "seconds": {"ckernels": 1.0, "numpy": 0.5}},
        {"case": "heavy", "seconds": {"ckernels": 1.0, "limit": 0.5}},  # no peer
        {"case": "import", "seconds": {"ckernels": 9.0, "numpy": 1.0}, "unit": "MB"},
    ]
    root = ET.fromstring(chart.svg(records))
    dots = root.findall(".//{*}circle")
    said = [dot.find("{*}title").text for dot in dots]
    assert said == ["light <b>: 0.50x", "light a: 2.00x"]
    assert [dot.get("fill") for dot in dots] == [chart.BEHIND, chart.AHEAD]
    assert float(dots[0].get("cx")) < chart.place(1) < float(dots[1].get("cx"))
    assert "1.00x in the geometric mean of 2" in root.find("{*}text").text


# ---- the matrix ----


@pytest.mark.parametrize("name", layouts.LAYOUTS)
def test_layouts_lie_as_their_names_say(name):
    (x, y) = measure.arrays(name, "int32", 2)
    assert x.dtype == y.dtype == np.int32 and np.broadcast_shapes(x.shape, y.shape) == x.shape
    if name == "all transposed":
        assert x.flags.f_contiguous and y.flags.f_contiguous and not x.flags.c_contiguous
    if "reversed" in name:
        assert x.strides[-1] == -4
    assert x.flags.aligned != (name == "unaligned")
    assert measure.holds("numpy", x) and measure.holds("torch", x) == ("reversed" not in name)
    plain = "every second", "reversed", "transposed", "unaligned"
    assert measure.holds("jax", x) != any(part in name for part in plain)


def test_a_cell_is_checked_and_measured_beside_its_peer():
    best = measure.measured(operations.OPERATIONS["clip"], "tiny", "float32")
    assert set(best) == {"ckernels", "numpy"} and min(best.values()) > 0


def test_a_wrong_cell_is_an_error():
    wrong = operations.OPERATIONS["clip"]._replace(peer=lambda xp, x: x - 1)
    with pytest.raises(AssertionError, match="clip tiny float32"):
        measure.measured(wrong, "tiny", "float32")


def test_the_page_lists_what_is_behind():
    found = {
        ("add", "flat", "float32"): {"ckernels": 1.0, "numpy": 4.0},
        ("add", "tiny", "float32"): {"ckernels": 4.0, "numpy": 1.0},
        ("add", "0-d", "float32"): {"ckernels": 1.05, "numpy": 1.0},
        ("add", "row", "float32"): {"ckernels": 1.0},  # no peer
    }
    text = matrix.page(found, 1)
    assert text.startswith("3 cells, 1 thread: 0.98x") and "1 behind" in text
    assert text.count("| add |") == 1 and "| add | tiny | float32 | 0.25x |" in text
    assert text.endswith("| 1 |") and "both wait for memory" in text


def test_a_cell_that_is_behind_has_a_reason_or_says_that_it_has_none():
    assert reasons.reason(("sin", "flat", "float32")).startswith("Our functions")
    assert reasons.reason(("sort", "unaligned", "float32")).startswith("What is no loop")
    assert reasons.reason(("mod", "flat", "int32")) == reasons.UNKNOWN
    names = [*operations.OPERATIONS]
    for patterns in zip(*[row[:3] for row in reasons.REASONS]):  # each row names what there is
        kinds = names if "sort" in patterns else [*layouts.LAYOUTS, *operations.ALL]
        for one in "|".join(patterns).split("|"):
            assert any(reasons.fits(name, one) for name in kinds), one


# ---- the hundred programs ----

PROGRAMS = registry.load()


def test_there_are_a_hundred_programs_of_fourteen_fields():
    assert len(PROGRAMS) == 100
    assert {p.field for p in PROGRAMS.values()} == set(registry.MODULES)


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_a_program_is_what_numpy_computes(name):
    program = PROGRAMS[name]
    given = breadth.inputs(program, full=False)
    with np.errstate(all="ignore"):
        wanted = program.numpy(*copy.deepcopy(given))
        call = breadth.ours(program, copy.deepcopy(given))
        assert breadth.difference(program, call(), wanted) is None


def test_another_result_is_told_in_words():
    program = PROGRAMS["rgb_to_hsv"]
    x = np.ones(3)
    assert breadth.difference(program, [x], [x, x]) == "1 results for 2"
    assert breadth.difference(program, x, x[:, None]) == "result 0: shape (3,) for (3, 1)"
    assert "error 1.0e-01" in breadth.difference(program, x + 0.1, x)
    assert breadth.difference(program, x, x * np.nan) == "result 0: NaN or inf elsewhere"
    assert breadth.difference(program, x.astype(int), np.arange(3)) == "result 0: other values"
    assert breadth.difference(program, (x, x + 1e-9), [x, x]) is None


def test_a_row_has_times_and_the_page_tells_what_is_behind():
    row = breadth.row(PROGRAMS["rgb_to_hsv"], ["ckernels", "numpy"], full=False)
    assert min(row["seconds"].values()) > 0 and not row["wrong"] and row["first"] > 0
    slow = dict(row, name="slow", seconds={"ckernels": 2.0, "numpy": 1.0, "jax": 0.5})
    quick = dict(row, name="quick", seconds={"ckernels": 0.5, "numpy": 1.0})
    text = breadth_page.page([quick, slow], {"slow": "because"})
    assert "2 programs: 1.00x NumPy and 0.71x the best peer" in text
    assert "| slow | 0.25 | because |" in text and text.count("quick") == 1


def test_the_twin_of_jax_is_the_same_source_over_another_namespace():
    class Space:
        def exp(x):
            return "exp"

    twin = breadth.over(logistic_of_exp, Space, {})
    assert twin(1) == ("exp", "exp") and logistic_of_exp(0)[0] == 1.0


def exp_of(x):
    return np.exp(x)


def logistic_of_exp(x):
    return np.exp(x), exp_of(x)


def test_reasons_are_of_programs():
    told = breadth_page.reasons(Path(breadth_page.__file__).parent / "reasons.ini")
    assert told and set(told) <= set(registry.load())


def test_the_page_of_pymcs_models_is_made_of_their_rows():
    assert catalogue.PAGE.read_text() == catalogue.page(catalogue.read(catalogue.FILE))


def test_rows_of_pymcs_models_are_put_together():
    """Values and calls of one model may have been measured apart; what fails stands in no table."""
    rows = [
        {"model": "b", "ckernels s": 2.0, "apart python": 3e-9, "us": {"ckernels": 7.0}, "warm": {},
         "beside": ["python"]},
        {"model": "b", "ckernels s": 1.0, "NUMBA s": 8.0, "apart NUMBA": 2e-3,
         "in python": ["Op{}"], "us": {"ckernels": 4.0, "NUMBA": 2.0}, "beside": ["NUMBA"],
         "warm": {"ckernels s": 0.5, "NUMBA s": 1.0}},
        {"model": "a", "ckernels error": "no", "us": {}, "warm": {}, "beside": ["python"]},
        {"model": "c", "ckernels s": 1.0, "NUMBA s": 2.0, "apart NUMBA": 1.0, "beside": ["NUMBA"],
         "us": {"ckernels": 1.0, "NUMBA": 8.0}, "warm": {"ckernels s": 0.5, "NUMBA s": 1.0}},
    ]  # fmt: skip
    found = catalogue.merged(rows)
    assert [r["model"] for r in found] == ["a", "b", "c"]
    assert found[1]["beside"] == ["python", "NUMBA"] and catalogue.merged(rows[1::-1])[0]["us"] == {
        "ckernels": 4.0,
        "NUMBA": 2.0,
    }
    text = catalogue.page(rows)
    assert "| b | 3e-09 | 2e-03 | 4.0 | 2.0 | 0.50 | 1.00, 0.50 | 8.00, 1.00 | Op |" in text
    assert "3 models, of which 2 run and 2 have been compared" in text
    assert "do not: c 1.0e+00" in text and "do not run: a" in text
    assert "calls 2.00 times as fast" in text and "nothing cached 4.0 times" in text
    assert "slower than numba: b 0.50" in text


# ---- programs of plain NumPy ----

PLAIN = plain_registry.load()


@pytest.mark.sampled(1 / 8)
@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_program_does_what_numpy_does(name):
    """At two sizes and dtypes, with one function; arguments are compared too."""
    program = PLAIN[name]
    jitted = plain.ours(program)
    for size, dtype in zip([*program.sizes[:2], program.sizes[0]], ["float64"] * 2 + ["float32"]):
        assert plain.compared(program, jitted, size, dtype) is None, (size, dtype)


def test_a_program_that_does_something_else_is_told():
    program = PLAIN["leapfrog_gravity"]
    assert "error" in plain.compared(program, lambda *a: program.function(*a) * 1.1, 16, "float64")
    kept = lambda *a: program.function(*copy.deepcopy(a))  # noqa: E731  what it changes is lost
    assert plain.compared(program, kept, 16, "float64").startswith("result[1]")
    single = lambda *a: np.float32(program.function(*a))  # noqa: E731
    assert "float32 for float64" in plain.compared(program, single, 16, "float64").replace("'", "")


@pytest.mark.parametrize(
    "a, b, told",
    [
        ({"x": 1.0}, {"y": 1.0}, "result: keys ['y'] for ['x']"),
        ({"x": np.ones(2)}, {"x": np.ones(2)}, None),
        (np.ones(2), np.ones(2) + 1e-3, "result: error 1.0e-03"),
        (np.zeros(2), np.ones(2), "result: error 1.4e+00"),
        (np.full(2, 1e300), np.full(2, 1e300), None),
        ((1, "a"), (1, "b"), "result[1]: other values"),
        (np.float64(1), 1.0, "result: float for float64"),
    ],
)
def test_what_tells_a_result_from_numpys(a, b, told):
    assert npbench.difference(a, b) == told


def test_the_page_of_npbench_counts_who_is_ahead():
    """NumPy's time is the median of its times beside each; what is wrong has no ratio."""
    row = {"preset": "S", "notes": [], "wrong": None, "first": 1.0}
    rows = [
        {**row, "name": "a", "who": "ckernels", "numpy": 2.0, "time": 1.0},
        {**row, "name": "a", "who": "numba", "numpy": 4.0, "time": 2.0},
        {**row, "name": "a", "who": "jax", "numpy": 8.0, "time": 0.5, "wrong": "values"},
        {**row, "name": "b", "who": "ckernels", "numpy": 1.0, "time": 2.0, "notes": ["a reason"]},
        {**row, "name": "b", "who": "numba", "numpy": 1.0, "time": 0.5},
    ]
    text = npbench_page.page(rows, {"b": "it is NumPy's"})
    assert "2 programs, 2 right, 1 of them compiled: 1.41x NumPy" in text
    assert "behind it by more than a tenth in 1. numba has 2 of them: 2.00x NumPy" in text
    assert "which is ahead in 1." in text and "Ahead of the best of all in 1." in text
    assert "| a | 4e+03 | 4.00 | 2.00 |  | 1.00 | 1.00 |  |" in text
    assert "| b | 0.25 | it is NumPy's |" in text


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("expression", expressions.ALL, ids=lambda e: e.name)
def test_expressions_are_numpys_of_any_size(expression):
    for size in (0, 1, 10):
        given = expression.arguments(size)
        want = expression.function(np)(*given.values())
        got = ck.evaluate(expression.text, given)
        np.testing.assert_allclose(got, want, rtol=1e-5)
        found = ck.jit(expression.function(np))(*given.values())
        assert np.shape(found) == np.shape(want) and found.dtype == want.dtype
        np.testing.assert_allclose(found, want, rtol=1e-5)


def test_the_page_of_expressions_counts_who_is_ahead():
    row = {"name": "linear", "size": 10, "first": {}, "wrong": {}}
    rows = [
        {**row, "seconds": {"jit": 1e-6, "evaluate": 4e-6, "numpy": 8e-6, "numba": 2e-6}},
        {**row, "size": 20, "seconds": {"jit": 4e-6, "numpy": 2e-6}, "wrong": {"jax": "values"}},
    ]
    text = expressions_page.page(rows, {"linear": "For a reason."})
    assert "`jit` is ahead of the best of all in 1 of 2 cells, 1.00 times as fast" in text
    assert "`evaluate` is ahead of the best of all in 0 of 1 cells, 0.50 times as fast" in text
    assert "| 10 | 1 | 4 | 8 |  | 2 |  |  | numba | 2.00 |" in text
    assert "| 20 | 4 |  | 2 |  |  |  |  | numpy | 0.50 |" in text
    assert "jax: values" in text and "For a reason." in text


def test_the_page_of_plain_programs_counts_who_is_ahead():
    row = {"name": "a", "field": "f", "size": 1, "wrong": {}, "numpy": "", "first": {"ckernels": 1}}
    rows = [
        {**row, "seconds": {"numpy": 2.0, "ckernels": 1.0, "numba": 4.0}},
        {**row, "size": 2, "seconds": {"numpy": 2.0, "ckernels": 4.0, "jax": 1.0}},
        {**row, "name": "b", "seconds": {"numpy": 1.0}, "wrong": {"ckernels": "bad"}},
    ]
    text = plain_page.page(rows)
    assert "2 programs, 3 sizes, 2 right: 1.00x NumPy and 0.71x" in text
    assert "ahead of the best in 1 of 2, behind NumPy in 1, by more than a tenth in 1" in text
    assert "| a | 2 | 2e+03 | 0.50 | jax | 0.25 | 1.00 |  |" in text and "wrong: bad" in text
    assert "Beside numba, which has 1 of them: 4.00x" in text
