"""How much work is worth a thread, and that a plan asks it anew for each shape it serves."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.config import config
from ckernels.runtime.program import kind_of
from ckernels.schedule import cost

GRAIN, UNITS = 7, 5  # columns of the table of instructions: see ckernels.h


def test_twenty_microseconds_stay_on_one_core():
    for units in (1, 7, 1000, 10**6):
        for total in (1_000, 19_000):  # ns
            assert units < 2 * cost.least_units(units, cost.work(total / units, units))
        assert units == 1 or units >= 2 * cost.least_units(units, cost.work(10**6, units))


def test_least_units_take_what_a_thread_is_worth():
    for each in (0.05, 3.0, 999.0):  # ns
        units = cost.least_units(10**7, cost.work(each, 10**7))
        assert units * each == pytest.approx(cost.THREAD_NS, rel=0.1)
    assert cost.least_units(10, cost.work(1e6, 10)) == 1  # one unit is enough
    assert cost.least_units(0, cost.work(1.0, 0)) >= 1


def test_the_flag_counts_elements():
    with config.change(openmp_elemwise_minsize=1000):
        assert cost.least_for_elements(1000, 1000) == 500
        assert cost.least_for_elements(10, 1000) == 5  # units of 100 elements
    assert cost.least_for_elements(10, 1000) == 1


def grains(f, shape):
    """[(units, least units for one thread)] of the instructions for an input of this shape."""
    program = f.info.program
    kind, symbols = kind_of(program, [np.ones(shape, "float32")])
    found = program.known(kind, symbols)
    assert found is not None, "another class of shapes"
    return [(row[UNITS], row[GRAIN]) for row in found[1]["instrs"]]


@pytest.mark.parametrize(
    "body",
    [
        lambda x: K.softmax(x),
        lambda x: K.cumsum(x, axis=1),
        lambda x: K.gather(K.exp(x), np.arange(64)[::-1].copy()),
    ],
)
def test_one_plan_serves_rows_of_any_length(body):
    """Planned for short rows, a plan still deals long ones out to threads."""
    x = K.placeholder((None, None))
    f = K.function([x], [body(x)])
    f([np.ones((64, 40), "float32")])
    assert all(units < 2 * least for units, least in grains(f, (64, 40)))
    assert all(units >= 2 * least for units, least in grains(f, (64, 4000)))
