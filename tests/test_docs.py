"""Runs what README, docs and docstrings show, and compares it with what they say comes out.

In a Markdown file the blocks `pycon` (with `>>>` and what is printed) and `python` run in order in
one namespace. A comment `<!-- file: PATH -->` before a block says that it is that file,
`<!-- output: PATH -->` that it is what the program prints. Numbers may differ by 1e-4, hashes and
addresses in any way. After a reviewed change of what ckernels prints:

    python tests/test_docs.py --write [FILE ...]     puts the real output into the files
"""

import contextlib
import difflib
import doctest
import importlib
import io
import linecache
import pkgutil
import re
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import ckernels
from ckernels import compiler
from ckernels.base.config import config
from ckernels.base.errors import CompilerMissing

ROOT = Path(__file__).resolve().parents[1]
PAGES = [p for p in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if p.exists()]
BLOCK = re.compile(r"^(?:<!-- (file|output): (\S+) -->\n)?```(\w*)\n(.*?)^```$", re.M | re.S)
NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?|-?\d+e[-+]?\d+")
MODULES = sorted(
    m.name
    for m in pkgutil.walk_packages(ckernels.__path__, "ckernels.")
    if not m.name.split(".")[-1].startswith("_")
)


class Page:
    """Runs the blocks of one Markdown file. `model.py` is the name its lines have in messages."""

    def __init__(self):
        self.space, self.lines = {"__name__": "__main__"}, []

    def execute(self, source, how):
        """What `source` prints, with the traceback of an error as Python shows it."""
        first = len(self.lines)
        self.lines += source.splitlines(keepends=True)
        linecache.cache["model.py"] = (1, None, self.lines, "model.py")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                exec(compile("\n" * first + source, "model.py", how), self.space)
            except Exception as problem:
                if how == "exec":
                    raise
                print("Traceback (most recent call last):\n    ...")
                print("".join(traceback.format_exception_only(problem)), end="")
        return out.getvalue()

    def real(self, kind, path, language, text):
        """The text the block should have."""
        if kind == "file":
            return (ROOT / path).read_text()
        if kind == "output":
            done = subprocess.run(
                [sys.executable, ROOT / path],
                capture_output=True,
                text=True,
                cwd=ROOT,
            )
            assert done.returncode == 0, done.stderr
            return done.stdout.rstrip("\n") + "\n"
        if language == "pycon":
            return self.session(text)
        if language == "python":
            self.execute(text, "exec")
        return text

    def session(self, text):
        """A session with what it really prints. All lines up to the next `>>>` are output."""
        parts = []
        for example in re.split(r"^(?=>>> )", text, flags=re.M)[1:]:
            lines = example.splitlines(keepends=True)
            count = 1
            while count < len(lines) and lines[count].startswith("..."):
                count += 1
            source = "".join(line[4:] or "\n" for line in lines[:count])
            want, got = "".join(lines[count:]), self.execute(source, "single")
            got = got.rstrip("\n") + "\n" if got.strip() else ""
            parts += [*lines[:count], want if same(want, got) else got]
        return "".join(parts)


def same(want, got):
    """Whether two outputs agree but for hashes, addresses, `...` and the last digits of numbers."""
    texts = [re.sub(r"k_[0-9a-f]{16}|0x[0-9a-f]{6,}", "*", t) for t in (want, got)]
    texts = [re.sub(r"^ *\.\.\.$", "", t, flags=re.M) for t in texts]
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if doctest.OutputChecker().check_output(*texts, flags):
        return True
    shapes = [" ".join(NUMBER.sub("#", t).split()) for t in texts]
    numbers = [[float(n) for n in NUMBER.findall(t)] for t in texts]
    return shapes[0] == shapes[1] and np.allclose(*numbers, rtol=1e-4, atol=1e-7)


def rewritten(page):
    """The text of a Markdown file with real outputs."""
    runner = Page()

    def replace(match):
        kind, path, language, text = match.groups()
        real = runner.real(kind, path, language, text)
        if kind == "output" and same(text, real):
            real = text
        head = f"<!-- {kind}: {path} -->\n" if kind else ""
        return f"{head}```{language}\n{real}```"

    return BLOCK.sub(replace, page.read_text())


@pytest.fixture
def settings(monkeypatch):
    """A fresh session; kernels that other tests loaded count as not loaded, as for a reader."""
    monkeypatch.setattr("ckernels.compiler._loaded", {})
    with config.change(mode="compiled", floatX="float32", warn_float64="ignore"):
        yield
    ckernels.clear_session()


def compiles():
    try:
        from ckernels import _runtime  # noqa: F401
        from ckernels.compiler import current_toolchain

        current_toolchain()
    except (ImportError, CompilerMissing):
        return False
    return True


@pytest.fixture(autouse=True)
def planned_anew(monkeypatch):
    """Plans of an earlier run know less of themselves than the pages show."""
    monkeypatch.setattr(compiler, "kept", lambda key: None)


@pytest.mark.skipif(not compiles(), reason="the pages show compiled functions")
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_page(page, settings):
    shown, real = page.read_text(), rewritten(page)
    assert shown == real, "run `python tests/test_docs.py --write` and review what changed"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name, settings):
    if name.startswith(("ckernels.bridges.", "ckernels.pytensor", "ckernels.dask", "ckernels.mpi")):
        module = pytest.importorskip(name, reason="needs the engine on the other side")
    elif name.startswith("ckernels.keras3"):
        module = pytest.importorskip(name, reason="needs Keras 3", exc_type=ImportError)
    else:
        module = importlib.import_module(name)
    names = {"K": ckernels, "np": np}  # so that no example has to import them
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder().find(module, name, extraglobs=names):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_every_public_function_says_what_it_does():
    for name in ckernels.__all__:
        value = getattr(ckernels, name)
        if callable(value):
            assert (value.__doc__ or "").strip(), name


if __name__ == "__main__":
    wrong, named = [], [ROOT / name for name in sys.argv[1:] if not name.startswith("-")]
    for page in named or [*PAGES, ROOT / "CONTRIBUTING.md"]:
        text = rewritten(page)
        if text != page.read_text() and "--write" in sys.argv:
            page.write_text(text)
            print(f"rewrote {page.relative_to(ROOT)}")
        elif text != page.read_text():
            wrong.append(page.name)
            print(
                *difflib.unified_diff(page.read_text().split("\n"), text.split("\n"), lineterm=""),
                sep="\n",
            )
    sys.exit(f"these pages show other output: {', '.join(wrong)}" if wrong else 0)
