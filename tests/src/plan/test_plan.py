"""Plans of which a part is no array of the runtime's: they are refused before anything is read."""

import numpy as np
import pytest

from src import handmade as h

runtime = pytest.importorskip("ckernels._runtime", reason="the C runtime was not built")


def of(constant):
    """A plan that copies four numbers of its constant's memory into its result."""
    return h.plan(
        runtime,
        [h.instr(fn=8, n=0)],
        [(h.CONSTANT, 0, 0), (h.OUTPUT, 0, 0)],
        constants=[constant],
        outputs=[("float64", (4,))],
    )


GOOD = np.arange(4.0)
OTHERS = {
    "a list": [0.0, 1.0, 2.0, 3.0],
    "a number": 3.0,
    "none": None,
    "a scalar of NumPy": np.float64(3.0),
    "every other element": np.arange(8.0)[::2],
    "backwards": np.arange(4.0)[::-1],
    "columns": np.asfortranarray(np.zeros((2, 3))),
    "another order of bytes": GOOD.astype(GOOD.dtype.newbyteorder()),
    "objects": np.array([1, 2, 3, 4], object),
    "not aligned": np.zeros(33, "uint8")[1:].view("float64"),
}


def test_constants_are_whole_native_arrays():
    of(GOOD)
    frozen = GOOD.copy()
    frozen.flags.writeable = False
    of(frozen)


@pytest.mark.parametrize("name", OTHERS)
def test_constants_that_are_refused(name):
    with pytest.raises(ValueError, match="constant 0 is not a C-contiguous native ndarray"):
        of(OTHERS[name])
