"""The benchmark page: every case has a family in the chart, which shows what was measured."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from benchmarks import chart, workloads
from benchmarks.matrix import __main__ as matrix
from benchmarks.matrix import layouts, measure, operations

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
