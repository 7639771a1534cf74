"""The API reference has every public name; the site builds; a first hour finds its pages."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ckernels as K
from build_tools import reference, site

ROOT = Path(__file__).resolve().parents[1]


def test_the_reference_has_every_public_name():
    text = "".join(reference.topics().values())
    for name in K.__all__:
        if callable(getattr(K, name)):
            assert re.search(rf"\}} ckernels\.{name}\b", text), name
    errors = reference.modules()["ckernels-errors.md"]
    assert all(f"ckernels.errors.{name}" in errors for name in K.errors.__all__)


def test_a_docstring_becomes_markdown():
    text = """What it is, of `a_b` and a_c * 2.

    a_b   the first, which
          goes on
    a_c   the second

    >>> 1 + 1
    2
    """
    assert reference.body(text).split("\n\n") == [
        "What it is, of `a_b` and a\\_c \\* 2.",
        "`a_b`\n: the first, which goes on",
        "`a_c`\n: the second",
        "```pycon\n>>> 1 + 1\n2\n```",
    ]


def test_columns_of_another_kind_stay_as_they_are():
    text = "  indented   text\nof no list"
    assert reference.paragraph(text) == f"```text\n{text}\n```"


GALLERY = sorted((ROOT / "examples" / "gallery").glob("*.py"))


@pytest.mark.parametrize("path", GALLERY, ids=[p.stem for p in GALLERY])
def test_programs_of_the_gallery_have_a_title_cells_and_a_picture(path):
    text = path.read_text()
    title, line, _, sentence = text.split('"""')[1].strip().split("\n")[:4]
    assert len(title) == len(line) and set(line) == {"="} and sentence
    assert "\n# %%\n# " in text and "plt.subplots(" in text or "plt.figure(" in text
    imported = set(re.findall(r"^(?:import|from) (\w+)", text, re.M))
    assert "ckernels" in imported and imported <= {"ckernels", "matplotlib", "numpy", "os", "scipy"}


class Shorter(ast.NodeTransformer):
    """Loops of more than TURNS turns end there: learning is begun, and everything is run."""

    TURNS = 120

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "range" and len(node.args) == 1:
            given = node.args[0]
            if isinstance(given, ast.Constant) and given.value > self.TURNS:
                node.args = [ast.copy_location(ast.Constant(self.TURNS), given)]
        return node


@pytest.mark.rest
@pytest.mark.parametrize("path", GALLERY, ids=[p.stem for p in GALLERY])
def test_programs_of_the_gallery_run_in_a_short_form(path, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    try:
        with np.errstate(all="ignore"), K.config.change(floatx=K.config.floatx):
            exec(compile(Shorter().visit(ast.parse(path.read_text())), path, "exec"), {})
        assert plt.get_fignums()
        for number in plt.get_fignums():
            figure = plt.figure(number)
            assert len(figure.axes)
            figure.canvas.draw()
            assert np.ptp(np.asarray(figure.canvas.buffer_rgba())) > 100
    finally:
        plt.close("all")
    assert not re.search(r"\b(nan|inf)\b", capsys.readouterr().out)


def test_every_page_of_the_guide_is_in_its_order():
    listed = {
        page for _, pages in site.sections((ROOT / "README.md").read_text()) for page in pages
    }
    for page in sorted((ROOT / "docs" / "guide").glob("*.md")):
        name = page.relative_to(ROOT).as_posix()
        assert name in listed, f"README's guide does not lead to {name}"


TASKS = {  # what somebody wants in the first hour: the page that answers, a word that it must have
    "install it and see that it works": ("README.md", "ckernels doctor"),
    "make my NumPy function fast": ("docs/guide/numpy-programs.md", "jit"),
    "get a gradient of my NumPy function": ("docs/guide/numpy-programs.md", "grad"),
    "train a Keras 3 model": ("docs/guide/keras3.md", "fit"),
    "run my old Keras program": ("docs/guide/old-keras.md", "KERAS_BACKEND"),
    "run my Theano program": ("docs/guide/from-theano.md", "theano"),
    "sample my PyMC model": ("docs/guide/pymc.md", "pm.sample"),
    "find why it is slow": ("docs/guide/performance.md", "profile"),
    "find where a Keras 3 step spends its time": ("docs/guide/keras3.md", "profile"),
    "find where NaN comes from": ("docs/guide/errors-and-debugging.md", 'check="nan"'),
    "use all cores, or one": ("docs/guide/performance.md", "OMP_NUM_THREADS"),
    "save my weights": ("docs/guide/saving.md", "np.savez"),
    "make it C": ("docs/guide/export.md", "ckernels export"),
    "call it from SciPy": ("docs/guide/c-functions.md", "scipy"),
    "know which dtype I get": ("docs/guide/dtypes.md", "float64"),
    "compare tensors": ("docs/guide/operators.md", "=="),
    "write a loop": ("docs/guide/scans.md", "K.scan"),
    "draw random numbers": ("docs/guide/random.md", "seed"),
    "add an operation": ("docs/guide/own-ops.md", "K.c_op"),
    "use many machines": ("docs/guide/many-machines.md", "Dask"),
    "ship it without a compiler": ("docs/compiledir.md", "bundle"),
    "empty the cache": ("docs/compiledir.md", "ckernels-cache clear"),
    "keep kernels between jobs of CI": ("docs/guide/faq.md", "ckernels-cache restore"),
    "annotate my functions": ("docs/guide/types.md", "TensorLike"),
    "find NaN in a function under jit": ("docs/guide/faq.md", 'ck.jit(f, check="nan")'),
    "see what a function under jit became": ("docs/guide/numpy-programs.md", "f.explain()"),
    "take a gradient of a method": ("docs/guide/numpy-programs.md", "grad(model.loss)"),
    "see how far it is": ("docs/guide/faq.md", "print_progress"),
    "need less memory": ("docs/guide/faq.md", "K.checkpoint"),
    "find the line that is wrong": ("docs/guide/errors-and-debugging.md", "made at"),
    "make a reference of all functions": ("README.md", "make site"),
    "see a value in the middle": ("docs/guide/faq.md", "K.print_tensor"),
    "see what was compiled": ("docs/guide/faq.md", "f.source()"),
    "report a bug": ("docs/guide/faq.md", "ckernels doctor"),
    "feed a sparse matrix": ("docs/guide/sparse.md", "sparse=True"),
    "load weights of an old model": ("docs/guide/old-keras.md", "load"),
    "train without a library": ("docs/guide/graphs-and-functions.md", "updates"),
    "call it with new sizes": ("docs/guide/changing-sizes.md", "None"),
    "time it beside NumPy": ("docs/guide/performance.md", "ckernels bench"),
    "convert my numba code": ("docs/guide/coming-from.md", "@njit"),
    "turn PyTorch code into this": ("docs/guide/coming-from.md", "loss.backward()"),
    "choose what to install": ("README.md", "`keras3` and `keras`"),
    "call my C library in a graph": ("docs/guide/own-ops.md", "RTLD_GLOBAL"),
    "embed it in a C++ program": ("docs/guide/export.md", "c++ main.cpp"),
    "serve requests with threads": ("docs/guide/faq.md", "web service"),
    "change the learning rate": ("docs/guide/faq.md", "K.set_value(rate"),
    "check a gradient": ("docs/guide/faq.md", "check_grad"),
    "compute in float64 everywhere": ("docs/guide/faq.md", 'K.set_floatx("float64")'),
    "know which versions are supported": ("docs/policy.md", "## Supported"),
    "take a gradient through while": ("docs/guide/numpy-programs.md", "a `while` runs twice"),
    "minimise with SciPy": ("docs/guide/numpy-programs.md", "scipy.optimize"),
    "map a function over a batch": ("docs/guide/numpy-programs.md", "vmap(grad"),
    "use Keras 2 in a notebook": ("docs/guide/old-keras.md", "os.environ"),
    "see what memory it takes": ("docs/guide/faq.md", "peak_bytes"),
    "know why the first call is slow": ("docs/guide/faq.md", "first call"),
    "use images in batches of any size": ("docs/guide/changing-sizes.md", "class"),
}


@pytest.mark.parametrize("task", TASKS)
def test_a_first_hour_finds_its_page(task):
    page, word = TASKS[task]
    assert word in (ROOT / page).read_text()
    assert page == "README.md" or page in (ROOT / "README.md").read_text()


@pytest.mark.skipif(
    not all(
        importlib.util.find_spec(m) for m in ("sphinx", "furo", "myst_parser", "sphinx_gallery")
    ),
    reason="needs Sphinx: `make site` installs it",
)
def test_the_site_builds_without_a_warning():
    done = subprocess.run(
        [sys.executable, "-m", "build_tools.site", "--no-pictures"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    html = ROOT / "build" / "site" / "html"
    notebooks = {path.stem: json.loads(path.read_text()) for path in html.rglob("*.ipynb")}
    assert set(notebooks) == {path.stem for path in GALLERY} and len(GALLERY) == 24
    for path in GALLERY:  # what the test above runs in a short form
        cells = [c for c in notebooks[path.stem]["cells"] if c["cell_type"] == "code"]
        written = ast.parse("\n".join("".join(c["source"]) for c in cells))
        assert ast.dump(written) == ast.dump(ast.Module(ast.parse(path.read_text()).body[1:], []))
    assert "ckernels.scan" in (html / "reference" / "scans-branches-checks.html").read_text()
    for page in html.rglob("*.html"):
        assert not re.findall(r'<(?:link|script|img)[^>]*"https?://', page.read_text()), page
        for target in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text()):
            if "://" not in target and not target.startswith(("mailto:", "data:")):
                assert (page.parent / target).exists(), f"{page.relative_to(html)}: {target}"
