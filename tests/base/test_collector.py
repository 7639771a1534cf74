"""The collector of cycles waits while a plan or a gradient is made, and goes on afterwards."""

import gc
import os
import threading

import pytest

from ckernels.base import collector


@pytest.fixture(autouse=True)
def on():
    gc.enable()
    yield
    gc.enable()


def test_it_waits_inside_and_goes_on_after():
    with collector.later():
        assert not gc.isenabled()
        with collector.later():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_after_an_error():
    with pytest.raises(ZeroDivisionError), collector.later():
        1 // 0  # noqa: B018
    assert gc.isenabled()


def test_it_stays_off_where_the_user_has_it_off():
    gc.disable()
    with collector.later():
        pass
    assert not gc.isenabled()


def test_the_last_thread_turns_it_on():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with collector.later():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(10)
    with collector.later():
        pass
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_of_fork_collects():
    with collector.later():
        child = os.fork()
        if not child:
            os._exit(0 if gc.isenabled() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
