"""What the README of an export says it takes, against the compiler's own figures and a count."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import ckernels as K

from .build import GCC
from .programs import PROGRAMS

needs_nm = pytest.mark.skipif(
    GCC is None or shutil.which("nm") is None, reason="there is no C compiler, or no nm"
)


def symbols(folder, prefix):
    """{name: bytes} of what is in PREFIX.c, as nm tells them, and of its state."""
    probe = folder / "probe.c"
    text = (folder / f"{prefix}.h").read_text()
    state = f"char probe_state[sizeof({prefix}_state)];" if f"{prefix}_state;" in text else ""
    probe.write_text(f'#include "{prefix}.c"\n{state}\n')
    subprocess.run(  # without optimisation: clang leaves out a constant that it has put in place
        [GCC, "-std=c99", "-O0", "-c", probe, "-o", folder / "probe.o"], check=True, cwd=folder
    )
    done = subprocess.run(
        ["nm", "-S", folder / "probe.o"], check=True, text=True, capture_output=True
    )
    rows = (line.split() for line in done.stdout.splitlines())
    return {row[3]: int(row[1], 16) for row in rows if len(row) == 4}


@needs_nm
@pytest.mark.parametrize("name", ["mlp", "lstm"])
def test_the_readme_says_what_the_compiler_makes(name, tmp_path):
    functions, more = PROGRAMS[name]()
    K.export(functions, tmp_path, prefix="m", **more)
    readme, found = (tmp_path / "README.md").read_text(), symbols(tmp_path, "m")

    def said(what):
        return int(re.search(rf"\| {what}.*\| (\d+) \|", readme)[1])

    constants = sum(n for x, n in found.items() if x.startswith(("const_", "first_")))
    assert said("flash: constants") == constants > 0
    tables = sum(n for x, n in found.items() if x.endswith("_dims")) // np.dtype("intp").itemsize
    wide = sum(n for x, n in found.items() if x.endswith("_wide"))
    assert said("flash: tables") == 4 * tables + wide
    assert said("memory of a call") == found["memory"]
    assert said("state of the caller") == found.get("probe_state", 0)


def test_multiply_adds_are_those_of_a_count_by_hand(tmp_path):
    x = K.placeholder((2, 9, 9, 3), name="x")
    k, w = K.variable(np.ones((3, 3, 3, 4))), K.variable(np.ones((4 * 4 * 4, 10)))
    h = K.pool2d(K.relu(K.conv2d(x, k, padding="same")), (2, 2), (2, 2))
    a, b = K.placeholder((6, 5)), K.placeholder((6, 5, 7))
    report = K.export(
        {
            "net": K.function([x], K.dot(K.batch_flatten(h), w)),
            "products": K.function([a, b], K.batch_dot(a, b, (1, 1))),
        },
        tmp_path,
        calls=1,
    )
    image = 2 * 9 * 9 * 4 * (3 * 3 * 3)  # padding counted
    assert report.multiplied == {"net": image + 2 * 64 * 10, "products": 6 * 5 * 7}
    assert f"| net | {image + 1280} |" in (tmp_path / "README.md").read_text()
