"""What functions behind a door raise: sentences for Python's errors, which stay what they were."""

import pickle

import numpy as np
import pytest

from ckernels.base import doors
from ckernels.base.errors import ArgumentError, CKernelsError, ShapeError


def a_function(kind):
    def meets(x, y=1):
        """Says so."""
        raise kind("here")

    # Errors count as ckernels's by their file.
    code = meets.__code__.replace(co_filename=doors.__file__)
    meets.__code__ = code
    return doors.guarded(meets, "meets")


@pytest.mark.parametrize("kind", doors.MEETS)
def test_each_kind_that_is_met(kind):
    with pytest.raises(
        doors.MEETS[kind], match=r"^meets\(3, y=<ndarray>\) is refused: .*here"
    ) as e:
        a_function(kind)(3, y=np.ones(99))
    assert isinstance(e.value, kind) and isinstance(e.value.__cause__, kind)


@pytest.mark.parametrize("kind", [FloatingPointError, ShapeError, MemoryError, pickle.PickleError])
def test_others_pass(kind):
    with pytest.raises(kind, match="^here") as caught:
        a_function(kind)(3)
    assert caught.value.__cause__ is None


def test_the_outermost_door_speaks():
    inner = a_function(ValueError)

    def outer(x):
        return inner(x)

    outer.__code__ = outer.__code__.replace(co_filename=doors.__file__)
    with pytest.raises(ArgumentError, match=r"^outer\(4\) is refused"):
        doors.guarded(outer, "outer")(4)


def test_an_error_of_code_of_others_passes():
    def inner(call):
        return call()

    inner.__code__ = inner.__code__.replace(co_filename=doors.__file__)
    with pytest.raises(ValueError) as caught:
        doors.guarded(inner, "inner")(lambda: int("a"))
    assert not isinstance(caught.value, CKernelsError)
