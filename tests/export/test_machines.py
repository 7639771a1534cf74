"""Exported programs on other compilers, other processors and in WebAssembly."""

import pytest

import ckernels as K

from .build import build, run
from .machines import cases, program
from .programs import PROGRAMS

QUICK = ("mlp", "lstm", "recurrence")
SPARSE = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """{name: folder with that program exported}, each made once."""
    made = {}

    def folder(name):
        if name not in made:
            made[name] = tmp_path_factory.mktemp(name)
            functions, more = PROGRAMS[name]()
            K.export(functions, made[name], prefix=name, **more)
        return made[name]

    return folder


@pytest.mark.sampled(1)
@pytest.mark.parametrize("machine", cases())
@pytest.mark.parametrize("name", QUICK)
def test_results_are_as_recorded(name, machine, folders):
    folder = folders(name)
    assert "all as recorded" in run(*program(machine, folder, name, build), cwd=folder)


@pytest.mark.slow
@pytest.mark.parametrize("machine", cases())
@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in QUICK])
def test_all_programs(name, machine, folders):
    if name == "sparse":
        pytest.importorskip("scipy")
    folder = folders(name)
    assert "all as recorded" in run(*program(machine, folder, name, build), cwd=folder)
