"""The C runtime, or its absence; and what the environment says of its threads."""

import warnings

import pytest

from ckernels.base import native
from ckernels.base.errors import CKernelsWarning


def test_one_of_runtime_and_problem():
    assert (native.runtime is None) != (native.problem is None)


def test_why_there_is_none(monkeypatch):
    with pytest.raises(ImportError) as absent:
        from ckernels import _no_such_part  # noqa: F401
    monkeypatch.setattr(native, "problem", absent.value)
    assert native.why_none() == "the C runtime of ckernels was not built"
    refused = ImportError("undefined symbol: f", name="ckernels._runtime")
    for problem in (refused, ImportError("built for another CPU")):
        monkeypatch.setattr(native, "problem", problem)
        assert native.why_none() == f"the C runtime of ckernels cannot be loaded: {problem}"


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "OMP_THREAD_LIMIT"])
@pytest.mark.parametrize(
    "text", ["0", "-1", "abc", "0,4", "two", "1.5", ",", "2,x", "1abc", "\u0663"]
)
def test_numbers_of_threads_that_are_none(name, text):
    with pytest.warns(CKernelsWarning, match=f"{name}={text} says no number of threads"):
        native.check_threads({name: text})


@pytest.mark.parametrize("text", ["1", "64", "2,4", " 3 ", "2, 4", "", "  ", "9" * 5000])
def test_numbers_of_threads(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        native.check_threads({"OMP_NUM_THREADS": text})
        native.check_threads({})
