"""The examples of Theano's manual: those of its sources run, and give the values it prints.

The sources are not here; `make theano` fetches them. What cannot run, or differs on purpose, is
listed below with its reason, and docs/guide/from-theano.md says the same to readers.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from . import manual

PYTHON = "it is of Python 2 or of a NumPy of that time"
GPU = "it needs a GPU"
CUT = "it stands in the text without what it needs"
SHOWN = "it shows an error, which is raised here too"
BETTER = "shapes that do not fit are found where Theano let them pass"
REWRITTEN = "it shows Theano's own rewrites, which are not run here"
GRADIENT = "a gradient is a formula of the engine, not the one Theano builds"
CLASSES = "classes are in modules of ckernels"
PRINTED = "releases of Theano, Python or NumPy print it otherwise"
TESTS = "it imports Theano's own tests"
LISTED = {  # (source file, how the source begins, "" for all of it): reason
    ("cifarSC2011/pyCUDA.txt", ""): GPU,
    ("cifarSC2011/advanced_theano.txt", "print"): PYTHON,
    ("extending/extending_theano.txt", "import numpy\nimport theano.tests"): TESTS,
    ("extending/extending_theano.txt", "if __name__"): TESTS,
    ("extending/unittest.txt", "if __name__"): "it ends the process, as it is to",
    ("extending/unittest.txt", "from numpy import dot"): TESTS,
    ("faq.txt", "import numpy\nimport theano"): "trust_input does not let another rank pass",
    ("library/compile/nanguardmode.txt", "infa"): SHOWN,
    ("library/gpuarray/fft.txt", ""): GPU,
    ("sandbox/interactive_debugger.txt", ""): "it is of a debugger that Theano 1.0 does not have",
    ("sandbox/max_gotcha.txt", ""): PYTHON,
    ("sandbox/sparse.txt", "print"): PYTHON,
    ("tutorial/aliasing.txt", "np_array += 1"): "shared variables do not alias arrays of yours",
    ("tutorial/debug_faq.txt", "import numpy"): SHOWN,
    ("tutorial/debug_faq.txt", "import theano"): SHOWN,
    ("tutorial/shape_info.txt", "f(xv, yv)"): BETTER,
    ("tutorial/using_gpu.txt", ""): GPU,
}
WORDS = {  # the same for what runs and prints other words
    ("crei2013/advanced_theano.txt", "theano.printing.debugprint(prediction)"): PRINTED,
    ("crei2013/advanced_theano.txt", "theano.printing.debugprint(predict)"): REWRITTEN,
    ("crei2013/advanced_theano.txt", "theano.printing.pydotprint"): "without cairosvg it is .svg",
    ("extending/extending_theano.txt", "import theano"): "it prints random numbers",
    ("extending/graphstructures.txt", "type("): CLASSES,
    ("extending/graphstructures.txt", "theano.printing.debugprint(f)"): REWRITTEN,
    ("extending/graphstructures.txt", "topo[0].outputs[0].clients"): REWRITTEN,
    ("extending/graphstructures.txt", "client"): REWRITTEN,
    ("extending/optimization.txt", "simplify.optimize(e)"): CLASSES,
    ("library/compile/io.txt", "fn['s'] == fn."): PRINTED,
    ("library/printing.txt", "pp(gy)"): GRADIENT,
    ("library/printing.txt", "theano.printing.debugprint(gy"): GRADIENT,
    ("library/printing.txt", "pp(f.maker"): REWRITTEN,
    ("library/printing.txt", "theano.printing.debugprint(f.maker"): REWRITTEN,
    ("sandbox/sparse.txt", "sp[4, 0] = 20"): PRINTED,
    ("tutorial/adding.txt", "type(x)"): CLASSES,
    ("tutorial/debug_faq.txt", "x = T.scalar('x')"): PRINTED,
    ("tutorial/debug_faq.txt", "from __future__"): REWRITTEN,
    ("tutorial/debug_faq.txt", "import numpy"): REWRITTEN,
    ("tutorial/gradients.txt", "pp(gy)"): GRADIENT,
    ("tutorial/modes.txt", "import numpy"): REWRITTEN,
    ("tutorial/numpy.txt", "numpy.asarray"): PRINTED,
    ("tutorial/printing_drawing.txt", "theano.printing.debugprint(predict)"): REWRITTEN,
    ("tutorial/printing_drawing.txt", "theano.printing.pydotprint"): "without cairosvg it is .svg",
    ("tutorial/shape_info.txt", "theano.printing.debugprint(f)"): REWRITTEN,
    ("tutorial/using_gpu.txt", ""): GPU,
}


def reason(row, table=LISTED):
    """Why an example may fail, or None."""
    file, source = row["chapter"].split()[0], row["source"].strip()
    for (name, start), why in table.items():
        if file == name and source.startswith(start):
            return why
    return None


def chapters():
    """The files of the sources that have examples; one that says why there are none otherwise."""
    if manual.sources() is None:
        why = "`make theano` has not fetched the sources of the manual"
        return [pytest.param("", marks=pytest.mark.skip(reason=why))]
    found = {e.chapter.split()[0] for e in manual.examples(manual.sources())}
    return sorted(found)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return rows_of(manual.sources(), tmp_path_factory.mktemp("manual"))


def rows_of(path, folder):
    """What came of the examples, run in a process of their own."""
    (folder / "pics").mkdir()
    root = Path(__file__).resolve().parents[3]
    places = [str(root), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, manual.__file__, str(path)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))},
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("chapter", chapters())
def test_a_chapter(chapter, rows):
    """Its examples run and print what it says, but for those listed with a reason."""
    own = [r for r in rows if r["chapter"].split()[0] == chapter]
    failed = [r for r in own if r["kind"] in ("error", "wrong")]
    other = [r for r in own if r["kind"] == "text"]
    assert own and [r for r in failed if reason(r) is None] == []
    assert [r for r in other if reason(r, WORDS) is None] == []


@pytest.mark.slow
@pytest.mark.skipif(manual.sources() is None, reason="`make theano` has not fetched its sources")
def test_each_reason_is_needed(rows):
    hit = {reason(r) for r in rows if r["kind"] in ("error", "wrong")}
    assert set(LISTED.values()) - hit - {PYTHON, SHOWN} == set()
    assert {reason(r, WORDS) for r in rows if r["kind"] == "text"} >= {REWRITTEN, GRADIENT, CLASSES}
    kinds = [r["kind"] for r in rows]
    assert len(rows) >= 830 and kinds.count("error") + kinds.count("wrong") <= 30
    assert kinds.count("same") + kinds.count("value") >= 190


@pytest.mark.slow
@pytest.mark.skipif(manual.manual() is None, reason="the manual is not at hand")
def test_the_examples_of_the_text(tmp_path):
    """The text is a conversion of pages, with lines and programs cut: most of it runs."""
    rows = rows_of(manual.manual(), tmp_path)
    kinds = [r["kind"] for r in rows]
    assert kinds.count("same") + kinds.count("value") >= 120
    assert kinds.count("error") <= 170 and len(rows) >= 750


TEXT = """# A chapter

```
>>> import numpy
>>> 2 * numpy.arange(3.) / 3
array([ 0.        ,  0.66666667,  1.33333333])
>>> 1 + 1
3
>>> int("a")
Traceback (most recent call last):
ValueError: some other words
>>> nowhere
1
```

```
def twice(x):
```

```
    return 2 * x
assert twice(2) == 4
```

not a block of code: `x = 1`
"""

SOURCE = """Words.

.. testsetup:: *

   from math import pi

.. testcode:: one

   print(round(2 * pi, 2))

.. testoutput:: one

   6.28

>>> gone  # doctest: +SKIP
>>> print("%.1f" % pi)
3.2

.. doctest:: one

   >>> pi > 3
   True
"""


def test_examples_are_found_and_compared(tmp_path):
    page, folder = tmp_path / "page.md", tmp_path / "doc"
    page.write_text(TEXT)
    space = {}
    kinds = [manual.run(e, space).kind for e in manual.examples(page)]
    assert kinds == ["silent", "value", "wrong", "same", "error", "silent"]
    folder.mkdir()
    (folder / "a.txt").write_text(SOURCE)
    found = manual.examples(folder)
    assert {e.chapter for e in found} == {"a.txt one", "a.txt default"}
    spaces = {}
    kinds = [manual.run(e, spaces.setdefault(e.chapter, {})).kind for e in found]
    assert kinds == ["silent", "silent", "same", "wrong", "same"]
