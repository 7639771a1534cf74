"""The C runtime, or its absence; and what the environment says of its threads."""

import warnings

import pytest

from ckernels.base import native
from ckernels.base.errors import CKernelsWarning


def test_one_of_runtime_and_problem():
    assert (native.runtime is None) != (native.problem is None)


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
