"""A pytest plugin that gives PyTensor's own benchmarks (tests/benchmarks) a row CKERNELS.

Each test that times what NUMBA compiles runs twice: as it stands, and with our mode under NUMBA's
name; pytest-benchmark prints the two times one below the other. All other tests are left out: those
of other modes, and those of gathers fused by numba's rewrites, which look for numba's own nodes.
"""

import pytest


def pytest_generate_tests(metafunc):
    if "numba" in metafunc.function.__name__ or "radon_model" in metafunc.fixturenames:
        metafunc.parametrize("row", ("NUMBA", "CKERNELS"), indirect=True)


@pytest.fixture(autouse=True)
def row(request, monkeypatch):
    """Puts the mode that is timed under NUMBA's name."""
    if getattr(request, "param", None) == "CKERNELS":
        from pytensor.compile.mode import predefined_modes

        import ckernels.pytensor  # noqa: F401

        monkeypatch.setitem(predefined_modes, "NUMBA", predefined_modes["CKERNELS"])


def pytest_collection_modifyitems(config, items):
    chosen = [item for item in items if _has_row(getattr(item, "callspec", None))]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def _has_row(call):
    """Whether a test has a row; numba's cache, on or off, is numba's own."""
    params = call.params if call else {}
    if params.get("mode", "NUMBA") != "NUMBA":
        return False
    return "row" in params and (params["row"] == "NUMBA" or params.get("cache") is not False)
