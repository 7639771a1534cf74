"""Threads by numexpr's names, and by its variables of the environment."""

import pytest

import ckernels as K
from ckernels.compat.numexpr import utils


@pytest.fixture(autouse=True)
def as_before():
    before = K.get_num_threads()
    yield
    K.set_num_threads(before)


def test_threads_are_those_of_ckernels():
    before = utils.set_num_threads(2)
    assert before >= 1 and K.get_num_threads() == utils.get_num_threads() == 2
    assert utils.set_num_threads(1) == 2
    for wrong in (0, -1, utils.MAX_THREADS + 1):
        with pytest.raises(ValueError):
            utils.set_num_threads(wrong)


def test_the_environment(monkeypatch):
    for name in ("NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS", "NUMEXPR_MAX_THREADS"):
        monkeypatch.delenv(name, raising=False)
    most = min(utils.detect_number_of_cores(), utils.MAX_THREADS)
    assert utils.init_num_threads() == most
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert utils.init_num_threads() == 5
    monkeypatch.setenv("NUMEXPR_NUM_THREADS", "3")
    assert utils.init_num_threads() == utils.detect_number_of_threads() == 3


def test_there_is_no_vml():
    assert utils.get_vml_version() is None and utils.set_vml_accuracy_mode("high") is None
    assert utils.set_vml_num_threads(3) is None and utils.get_vml_num_threads() is None
