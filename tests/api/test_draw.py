"""Pictures of graphs: what stands in them, and that a browser shows them without a complaint."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest

import ckernels as K
import ckernels.errors
from ckernels.graph.printing import location
from ckernels.runtime import drawing, picture

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium to show the page in")


def test_explain_begins_with_the_rewrites_and_takes_functions_only():
    x = K.placeholder((3,), name="x")
    f = K.function([x], K.log(1 + K.exp(x)), mode="compiled")
    f([[0, 1, 2]])
    lines = K.explain(f).split("\n")
    assert lines[0].startswith("log_of_one_plus_exp: log(add) is now softplus(x)  (")
    assert "test_draw.py:" in lines[0] and K.explain(f) == f.explain(rewrites=True)
    with pytest.raises(ckernels.errors.ArgumentError, match="explain takes what K.function"):
        K.explain(x)


@pytest.fixture(scope="module")
def trained():
    """A function of two layers with updates, called with its time measured."""
    rng = np.random.default_rng(1)
    x = K.placeholder((None, 6), name="x")
    w = K.variable(rng.normal(size=(6, 3)), name="weights")
    y = K.softmax(K.dot(K.tanh(x * 0.5), w))
    loss = K.mean(K.square(y))
    f = K.function(
        [x], [loss, y], updates=[(w, w - 0.1 * K.grad(loss, w))], mode="compiled", profile=True
    )
    for _ in range(3):
        f([rng.normal(size=(4, 6))])
    return f


def data_of(page):
    return json.loads(re.search(r'type="application/json">(.*?)</script>', page, re.S)[1])


def test_a_tensor_as_written():
    x = K.placeholder((None, 3), name="a <b> & c")
    (view,) = data_of(K.draw(K.tanh(x * 0.5) + x))
    assert view["title"] == "as written"
    labels = [b["label"] for b in view["boxes"]]
    assert labels == ["a <b> & c", "mul 0.5", "tanh", "add"]
    assert sorted(map(tuple, view["arrows"])) == [(0, 1), (0, 3), (1, 2), (2, 3)]
    assert view["boxes"][-1]["result"] and "test_draw.py:" in view["boxes"][-1]["line"]
    assert view["boxes"][0]["note"] == "float32 (?, 3)"


def test_a_function_before_and_after_its_first_call(trained):
    x = K.placeholder((None,), name="x")
    fresh = K.function([x], K.exp(x), mode="compiled")
    assert [v["title"] for v in data_of(K.draw(fresh))] == ["as written"]
    kernels, timeline, memory, rewritten, written = data_of(K.draw(trained))
    assert [v["title"] for v in (kernels, timeline, memory, rewritten, written)] == [
        "as kernels",
        "timeline",
        "memory",
        "after rewriting",
        "as written",
    ]
    steps = [b for b in kernels["boxes"] if b["kind"] == "kernel"]
    assert len(steps) == len(trained.steps())
    assert any("int k_" in b["c"] and "for (" in b["c"] for b in steps)
    assert all(b["parts"] for b in steps) and sum(b["share"] for b in steps) > 99
    assert {"x", "weights"} <= {b["label"] for b in kernels["boxes"]}
    assert any("softmax" in b["label"] for b in written["boxes"])
    (weights,) = (b for b in written["boxes"] if b["label"] == "weights")
    assert weights["values"][0].startswith("values: ") and sum(weights["counts"]) == 18


def test_two_functions_are_drawn_with_their_profiles_side_by_side(trained):
    x = K.placeholder((None, 6), name="x")
    other = K.function([x], K.tanh(x * 0.5), mode="compiled", profile=True, name="other")
    assert [v["title"] for v in data_of(K.draw([other, other]))] == ["a: as written"] + [
        "b: as written"
    ]  # never called: nothing to compare
    other([np.ones((4, 6))])
    views = data_of(K.draw((trained, other)))
    assert views[0]["chart"] == "profiles" and views[0]["names"] == ["function", "other"]
    assert {v["title"][:3] for v in views[1:]} == {"a: ", "b: "}
    assert [v["title"] for v in data_of(K.draw([x, K.exp(x)]))] == ["as written"]


def test_two_functions_as_a_file(trained, tmp_path):
    K.draw([trained, trained], tmp_path / "both.html")
    assert "profiles" in (tmp_path / "both.html").read_text()
    assert K.draw([trained, trained], str(tmp_path / "first.svg")).endswith("first.svg")


def test_no_two_boxes_overlap(trained):
    for view in picture.views(trained):
        for k, a in enumerate(view.boxes):
            for b in view.boxes[:k]:
                apart = abs(a["x"] - b["x"]) >= (a["w"] + b["w"]) / 2
                assert apart or abs(a["y"] - b["y"]) >= 34, (a["label"], b["label"])
        for a, b in view.arrows:
            assert view.boxes[a]["y"] < view.boxes[b]["y"]


def test_reference_pieces_and_scans_are_drawn():
    x = K.placeholder((None,), name="x")
    assert len(data_of(K.draw(K.function([x], x * 2, mode="reference")))) == 1
    pieces = K.function([x], K.cumsum(x[x > 0]), mode="compiled")
    pieces([[1.0, -1.0]])
    assert len(data_of(K.draw(pieces))) == 1
    trace, _ = K.scan(lambda s: K.tanh(s), outputs_info=[x], n_steps=3)
    scan = K.function([x], trace, mode="compiled")
    scan([[1.0, 2.0]])
    assert any("scan" in b["label"] for b in data_of(K.draw(scan))[0]["boxes"])


def test_files_and_notebooks(trained, tmp_path):
    page, image = tmp_path / "graph.html", tmp_path / "graph.svg"
    assert K.draw(trained, page) == str(page) and page.read_text().startswith("<!DOCTYPE html>")
    assert not re.search(r'(src|href)="http|url\(http|@import', page.read_text())
    K.draw(trained, str(image))
    assert image.read_text().startswith("<svg") and "weights" in image.read_text()
    shown = trained._repr_html_()
    assert "<svg" in shown and html.escape(trained.steps()[0]) in shown
    with pytest.raises(ValueError, match=r"\.html, \.svg, \.png and \.pdf"):
        K.draw(trained, tmp_path / "graph.tiff")


@pytest.mark.parametrize("kind, magic", [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_other_kinds_of_files(trained, tmp_path, kind, magic):
    path = tmp_path / f"graph.{kind}"
    try:
        import cairosvg  # noqa: F401
    except (ImportError, OSError):
        with pytest.raises(ckernels.errors.NotSupported, match="pip install cairosvg"):
            K.draw(trained, path)
        return
    K.draw(trained, path)
    assert path.read_bytes().startswith(magic)


def test_lines_of_notebooks_are_named_by_their_cells(monkeypatch):
    """IPython keeps which file stands for which cell."""
    cells = {"/tmp/ipykernel_1/2.py": 7}
    shell = types.SimpleNamespace(compile=types.SimpleNamespace(_filename_map=cells))
    ipython = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert location(("/tmp/ipykernel_1/2.py", 3, "<module>")) == "In [7]:3"
    assert location(("/tmp/model.py", 3, "build")) == "/tmp/model.py:3 (in build)"
    shell = None
    assert location(("/tmp/ipykernel_1/2.py", 3, "<module>")) == "/tmp/ipykernel_1/2.py:3"


# Clicks the first kernel, searches, changes the view; what was seen ends up in the title.
PROBE = """<script>
const complaints = [];
window.addEventListener("error", e => complaints.push(e.message));
window.addEventListener("load", () => {
  if (!document.querySelector(".box")) document.querySelectorAll("#tabs button")[1].click();
  const seen = { boxes: document.querySelectorAll(".box").length };
  const box = document.querySelector('[data-box="0"]');
  for (const type of ["pointerdown", "pointerup"])
    box.dispatchEvent(new PointerEvent(type, { bubbles: true, clientX: 5, clientY: 5 }));
  seen.panel = document.getElementById("panel").textContent;
  search.value = "TANH";
  search.dispatchEvent(new Event("input"));
  seen.found = document.querySelectorAll(".box.found").length;
  search.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  search.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  seen.walked = document.getElementById("count").textContent;
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  seen.closed = document.getElementById("panel").hidden;
  const before = world.getAttribute("transform");
  canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -200, bubbles: true, cancelable: true }));
  seen.zoomed = world.getAttribute("transform") !== before;
  const tabs = document.querySelectorAll("#tabs button");
  seen.charts = {};
  for (const tab of tabs) {
    tab.click();
    const chart = document.getElementById("chart");
    if (chart.clientHeight) {
      const mark = chart.querySelector(".span, .pair");
      mark.dispatchEvent(new MouseEvent("click"));
      chart.dispatchEvent(new WheelEvent("wheel", { deltaY: -300, cancelable: true }));
      const marks = chart.querySelectorAll(".span, .pair").length;
      seen.charts[tab.textContent] = [marks, document.getElementById("panel").textContent];
    }
  }
  seen.wide = document.documentElement.scrollWidth > window.innerWidth;
  tabs[tabs.length - 1].dispatchEvent(new MouseEvent("click"));
  seen.folded = document.querySelectorAll(".box").length;
  [...document.querySelectorAll("#levels button")].pop().dispatchEvent(new MouseEvent("click"));
  seen.written = document.querySelectorAll(".box").length;
  document.title = JSON.stringify({ ...seen, complaints });
});
</script>"""


def browse(page, tmp_path):
    """What PROBE saw of a page in Chromium."""
    file = tmp_path / "probe.html"
    file.write_text(page.replace("<head>", "<head>" + PROBE, 1))
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--virtual-time-budget=4000",
            "--dump-dom",
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=200,
    )
    return json.loads(html.unescape(re.search(r"<title>(.*?)</title>", done.stdout, re.S)[1]))


@browser
def test_a_browser_shows_kernels_and_their_c(trained, tmp_path):
    seen = browse(K.draw(trained), tmp_path)
    views = picture.views(trained)
    assert seen["complaints"] == []
    assert seen["boxes"] == len(views[0].boxes) and seen["written"] == len(views[-1].boxes)
    assert "int k_" in seen["panel"] and "test_draw.py" in seen["panel"]
    assert seen["found"] >= 1 and seen["zoomed"]
    assert seen["walked"].startswith(("1 of ", "2 of ")) and seen["closed"]
    assert list(seen["charts"]) == ["timeline", "memory"] and not seen["wide"]
    assert all(marks and "test_draw.py" in told for marks, told in seen["charts"].values())
    assert "int k_" in seen["charts"]["timeline"][1]


@browser
def test_a_browser_shows_two_profiles_side_by_side(trained, tmp_path):
    seen = browse(K.draw([trained, trained]), tmp_path)
    assert seen["complaints"] == [] and not seen["wide"]
    marks, told = seen["charts"]["profiles"]
    assert marks == len(trained.profile_table()) and "1.00x" in told
    assert {"a: timeline", "b: memory"} < set(seen["charts"])


@browser
@pytest.mark.slow
def test_a_browser_shows_2000_boxes(tmp_path):
    pool = [K.placeholder((None,), name="x")]
    rng = np.random.default_rng(2)
    while len(pool) < 1300:
        a, b = (pool[-1 - int(k)] for k in rng.integers(0, min(len(pool), 40), 2))
        pool.append(K.tanh(a) + b * 0.5 if rng.uniform() < 0.5 else K.exp(a) * b)
    seen = browse(K.draw(pool[-40:]), tmp_path)
    assert seen["complaints"] == [] and seen["written"] >= 2000
    assert seen["folded"] < 120 and seen["walked"].startswith("2 of ")


def test_a_function_whose_last_call_failed_is_drawn_as_written():
    a, b = K.placeholder((None,)), K.placeholder((None,))
    f = K.function([a, b], a + b, mode="compiled")
    with pytest.raises(ValueError):
        f([np.ones(2), np.ones(3)])
    assert [v["title"] for v in data_of(K.draw(f))] == ["as written"]


def test_a_function_from_a_stored_plan_shows_its_c():
    for _ in range(2):  # the second time its plan may come out of the compiledir
        x = K.placeholder((None, 3), name="x")
        f = K.function([x], K.tanh(x) * 3.25, mode="compiled")
        f([np.ones((2, 3))])
        kernels = next(v for v in data_of(K.draw(f)) if v["title"] == "as kernels")
        assert "int k_" in str(kernels)


# ---- folding, in Node ----------------------------------------------------------------------------

FOLD = os.path.join(os.path.dirname(drawing.__file__), "..", "pictures", "fold.js")


def fold(code, view):
    """What a line of JavaScript gives for a view, whose name is `view`."""
    program = (
        f"const fold = require({json.dumps(FOLD)}); const view = {json.dumps(view)};"
        f"console.log(JSON.stringify({code}))"
    )
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def some_view():
    """Two calls of one function of two lines, one after the other, then a line of its own."""
    lines = ["m.py:1 (in f)", "m.py:2 (in f)", "m.py:1 (in f)", "m.py:2 (in f)", "m.py:9", "m.py:9"]
    boxes = [
        {"label": f"op{i}", "note": "float32", "line": line, "kind": "op", "w": 60, "h": 34}
        for i, line in enumerate(lines)
    ]
    boxes[2]["parts"] = [["rsqrt", "float32", "m.py:3 (in f)"]]
    boxes.append({"label": "w", "note": "", "line": "", "kind": "leaf", "w": 60, "h": 34})
    return {"boxes": boxes, "arrows": [[0, 1], [1, 2], [2, 3], [3, 4], [6, 4]], "sources": {}}


needs_node = pytest.mark.skipif(not shutil.which("node"), reason="there is no Node")


@needs_node
@pytest.mark.parametrize(
    "level, boxes, arrows",
    [
        ("functions", 2, 1),  # f, and line 9 with w, which it reads
        ("lines", 3, 3),  # line 1 and line 2 read each other
        ("pieces", 6, 4),  # w is in the piece of line 9 that reads it
        ("all", 7, 5),
    ],
)
def test_folding_by_functions_lines_and_pieces(level, boxes, arrows):
    seen = fold(f"fold.visible(view, '{level}', new Set())", some_view())
    assert (len(seen["boxes"]), len(seen["arrows"])) == (boxes, arrows)
    members = sorted(m for b in seen["boxes"] for m in b["members"])
    assert members == list(range(7))  # each box is shown by one
    assert all(i in seen["boxes"][at]["members"] for i, at in enumerate(seen["seen"]))


@needs_node
def test_an_unfolded_group_shows_the_next_level():
    seen = fold("fold.visible(view, 'functions', new Set(['functions0']))", some_view())
    assert [b["note"] for b in seen["boxes"] if b.get("group")] == ["2 boxes"] * 2 + ["3 boxes"]


@needs_node
def test_search_looks_inside_kernels_and_at_all_lines():
    view = some_view()
    assert fold("fold.hits(view, 'RSQRT m.py:3')", view) == [2]
    assert fold("fold.hits(view, 'm.py:9 op')", view) == [4, 5]
    assert fold("fold.hits(view, '  ')", view) == fold("fold.hits(view, 'nothing')", view) == []


@needs_node
@pytest.mark.parametrize(
    "arrows, rows", [([(0, 1), (1, 2), (2, 3), (0, 3), (1, 3)], 3), ([(0, 1), (1, 0)], 0), ([], 0)]
)
def test_rows_that_arrows_cross_are_counted(arrows, rows):
    assert fold("fold.crossed(view)", {"boxes": [{}] * 4, "arrows": arrows}) == rows


@needs_node
def test_arrows_run_straight_beside_the_boxes_that_they_pass():
    boxes = [
        {"x": x, "y": y, "w": 60, "h": 34} for x, y in [(30, 17), (30, 97), (40, 177), (50, 257)]
    ]
    view = {"boxes": boxes, "arrows": [[0, 1], [0, 3]], "ways": [[], [[66, 1], [76, 1]]]}
    bends = fold("fold.bendsOf(view)", view)
    assert bends == [[], [{"x": 66, "y": 97, "z": 97}, {"x": 76, "y": 177, "z": 177}]]
    path = fold("fold.route(view.boxes[0], view.boxes[3], fold.bendsOf(view)[1])", view)
    assert "66 77V117" in path and "76 157V197" in path and path.endswith("50 240")
    up = fold("fold.route(view.boxes[3], view.boxes[0], [{x: 66, y: 177, z: 97}])", view)
    assert up.startswith("M50 240") and "66 197V77" in up and up.endswith("30 34")


@needs_node
def test_small_views_are_read_unfolded():
    assert fold("fold.firstLevel(view)", some_view()) == "all"
    view = some_view()
    view["boxes"] = view["boxes"][:2] * 100
    view["arrows"] = []
    assert fold("fold.firstLevel(view)", view) == "lines"


@needs_node
def test_ribbons_are_folded_further():
    assert [fold(f'fold.higher("{level}", view)', 9000)
            for level in ("all", "pieces", "lines", "functions")
            ] == ["pieces", "lines", "functions", "functions"]  # fmt: skip
    assert fold('fold.higher("pieces", view)', 3000) == "pieces"


def test_a_page_in_a_notebook_shows_itself(trained):
    page = K.draw(trained)
    assert page._repr_html_().startswith("<iframe srcdoc=") and isinstance(page, str)
    assert html.unescape(re.search('srcdoc="(.*?)"', page._repr_html_(), re.S)[1]) == page
