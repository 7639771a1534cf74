"""Exported programs compile without a warning, and compute what was recorded in Python."""

import pytest

import ckernels as K

from .build import GCC, build, run
from .programs import PROGRAMS

pytestmark = pytest.mark.skipif(GCC is None, reason="there is no C compiler")
QUICK = ("rbm", "convolutions", "indices", "until", "branches")
SANITIZE = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def exported(name, folder, **options):
    if name == "sparse":
        pytest.importorskip("scipy")
    functions, more = PROGRAMS[name]()
    return K.export(functions, folder, prefix=name, **more, **options)


@pytest.mark.parametrize("name", QUICK)
def test_results_are_as_recorded(name, tmp_path):
    exported(name, tmp_path)
    assert "all as recorded" in run(build(tmp_path, name))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_clean_under_sanitizers(name, tmp_path):
    exported(name, tmp_path)
    assert "all as recorded" in run(build(tmp_path, name, *SANITIZE, strict=()))
    assert "all as recorded" in run(build(tmp_path, name, "-O3"))
    vectors = build(
        tmp_path,
        name,
        "-O2",
        "-DCK_VECTORS",
        "-fopenmp-simd",
        "-march=native",
        strict=("-Wall", "-Wextra", "-Werror"),
    )
    assert "all as recorded" in run(vectors)
