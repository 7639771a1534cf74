"""target="native": a C program that is linked with the runtime's sources has the engine's bits."""

import re
import subprocess
from pathlib import Path

import pytest

import ckernels as K
from ckernels.export.hosted import ALSO, FLAGS, FUNCTIONS, PRODUCT, WINDOWS, Hosted, runtime_files
from ckernels.export.library import flags

from .build import GCC, run
from .programs import PROGRAMS, numbers, weight

PACKAGE = Path(K.__file__).parent


def products():
    """Products and a training step with more than one panel, and rows that do not fill a tile."""
    x, w = K.placeholder((67, 301), name="x"), weight(numbers(301, 45), "w")
    loss = K.mean(K.square(K.dot(K.tanh(x), w)))
    return {"step": K.function([x], loss, updates=[(w, w - 0.1 * K.gradients(loss, [w])[0])])}, {}


def loops():
    """A scan whose step is one kernel: it needs none of the runtime's sources."""
    x = K.placeholder((9, 5), name="x")
    rows, _ = K.scan(lambda row, h: K.tanh(row + 0.5 * h), x, K.zeros((5,)))
    return {"run": K.function([x], [rows, K.logsumexp(rows, axis=1)])}, {}


@pytest.mark.skipif(GCC is None, reason="there is no C compiler")
@pytest.mark.parametrize(
    "make",
    [
        loops,
        *(
            pytest.param(make, marks=pytest.mark.slow)
            for make in (products, *(PROGRAMS[n] for n in ("mlp", "adam", "lstm", "cnn")))
        ),
    ],
    ids=lambda make: make.__name__,
)
def test_the_bits_are_those_of_the_engine(make, tmp_path):
    functions, more = make()
    with K.config.change(blas="builtin"):
        K.export(functions, tmp_path, prefix="m", target="native", **{**more, "ulps": 0})
    command, own = flags()
    parts = [(tmp_path / "m.c", own), (tmp_path / "m_test.c", own)]
    parts += [(path, FLAGS) for path in sorted((tmp_path / "runtime").glob("*.c"))]
    objects = []
    for source, given in parts:
        objects.append(source.with_suffix(".o"))
        subprocess.run([*command, *given, "-c", source, "-o", objects[-1]], check=True)
    subprocess.run([*command, *objects, "-lm", "-o", tmp_path / "m"], check=True)
    printed = run(tmp_path / "m")
    assert "all as recorded" in printed and "of 0" in printed


@pytest.mark.parametrize("batch", [None, 3])
def test_convolutions_have_their_work_space(batch, tmp_path):
    x = K.placeholder((batch and None or 2, 9, 9, 3), name="x")
    f = K.function([x], K.conv2d(x, weight(numbers(3, 3, 3, 4), "k"), padding="same"))
    report = K.export(f, tmp_path, prefix="m", target="native", batch=batch, calls=1)
    assert (tmp_path / "runtime" / "conv.c").exists() and report.arena > 0


def test_what_sources_name_lies_beside_them():
    library = Hosted()
    library.sources.update(PRODUCT, WINDOWS, *ALSO.values(), (s for _, s in FUNCTIONS.values()))
    files = runtime_files(library)
    words = re.compile(r'^#(?:include|define \w+) "([\w/]+\.[ch])"', re.M)
    named = {name for text in files.values() for name in words.findall(text)}
    assert {"each_type.h", "microkernel.h"} <= named
    assert {f"runtime/{name}" for name in named} <= set(files)


def test_what_stands_for_blas_defines_all_that_is_called():
    called = set()
    for folder in ("gemm", "image"):
        for path in (PACKAGE / "src" / folder).glob("*.c"):
            if path.name != "blas.c":
                called.update(re.findall(r"\b(ck_blas_\w+)\(", path.read_text()))
    instead = (PACKAGE / "export/c/no_blas.c.in").read_text()
    assert "ck_blas_gemm" in called
    assert called <= set(re.findall(r"^[\w *]*\b(ck_blas_\w+)\(", instead, re.MULTILINE))
