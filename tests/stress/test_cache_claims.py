"""Processes that want the same kernels: each is built once, and nobody is held up by another one
that was killed, is stopped or takes for ever, nor where the file system has no locks.
"""

import errno
import fcntl
import os
import signal
import threading
import time

import pytest

from ckernels import compiler
from ckernels.base.config import config
from ckernels.compiler import cache, claims, process

from .harness import Child, check, needs_compiler, needs_fork, run

pytestmark = [needs_compiler, needs_fork]
ONE, TWO = "1" * 64, "2" * 64


@pytest.fixture
def store(tmp_path):
    with config.change({"compiledir": str(tmp_path), "cache.patience": 60.0}):
        yield cache.current()


@pytest.fixture(params=["who holds it", "whether it is held"])
def asked(request, monkeypatch):
    """Linux and macOS tell who holds a lock; elsewhere a lock is tried."""
    if request.param == "whether it is held":
        monkeypatch.setattr(claims, "ASKED", None)


def hold(key, path):
    """Claim a kernel, say so, and never build it."""
    assert claims.KernelClaims(cache.current(), [key]).claim([key]) == [key]
    open(path, "w").close()
    time.sleep(100)


@pytest.fixture
def holder(store, tmp_path):
    said = tmp_path / "said"
    child = Child(hold, ONE, str(said), flags={"compiledir": str(tmp_path), "cache.patience": 60.0})
    while not said.exists():
        time.sleep(0.005)
    yield child
    child.signal(signal.SIGKILL)
    child.wait()


def test_what_another_process_builds_is_waited_for(store, holder, asked):
    ours = claims.KernelClaims(store, [ONE, TWO])
    assert ours.claim([ONE, TWO]) == [TWO]
    waiter = threading.Thread(target=ours.wait, args=([ONE],))
    waiter.start()
    waiter.join(0.2)
    assert waiter.is_alive()
    store.put(b"a kernel", [ONE], {ONE: {}})  # as if the holder had
    waiter.join(60)
    assert not waiter.is_alive() and store.get(ONE) == b"a kernel"
    ours.close()


STOPS = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="the system does not say")


@pytest.mark.parametrize(
    "number, told",
    [
        (signal.SIGKILL, True),
        (signal.SIGKILL, False),
        pytest.param(signal.SIGSTOP, True, marks=STOPS),
    ],
    ids=["killed", "killed, nobody says whose", "stopped"],
)
def test_a_process_that_does_not_go_on_holds_nobody_up(store, holder, number, told, monkeypatch):
    if not told:
        monkeypatch.setattr(claims, "ASKED", None)
    ours = claims.KernelClaims(store, [ONE])
    assert ours.claim([ONE]) == []
    holder.signal(number)
    ours.wait([ONE])
    assert ours.claim([ONE]) == [ONE] and time.monotonic() < ours.until
    ours.close()


def test_patience_ends(store, holder, asked):
    with config.change({"cache.patience": 0.1}):
        ours = claims.KernelClaims(store, [ONE])
        assert ours.claim([ONE]) == []
        ours.wait([ONE])
        assert time.monotonic() >= ours.until and ours.claim([ONE]) == [ONE]
        ours.close()
    with config.change({"cache.patience": 0.0}):
        assert claims.KernelClaims(store, [ONE]).claim([ONE]) == [ONE]


def test_one_build_of_a_process_lets_go_of_its_own_claims_alone(store):
    """The system drops all locks of a process on a file when it closes the file anywhere."""
    first, second = (claims.KernelClaims(store, [key]) for key in (ONE, TWO))
    assert first.claim([ONE]) == [ONE] and second.claim([TWO]) == [TWO]
    second.close()
    flags = {"compiledir": store.directory}
    assert run(_claimed, [ONE, TWO], flags=flags)[0] == [TWO]
    first.close()
    assert run(_claimed, [ONE, TWO], flags=flags)[0] == [ONE, TWO]


def _claimed(keys):
    return claims.KernelClaims(cache.current(), keys).claim(keys)


def test_a_kernel_that_appears_while_it_is_claimed_is_read(store):
    ours = claims.KernelClaims(store, [ONE])
    store.put(b"a kernel", [ONE], {ONE: {}})
    assert ours.claim([ONE]) == []
    unfit = claims.KernelClaims(store, [ONE])  # it was there, and could not be read
    assert unfit.claim([ONE]) == [ONE]
    for build in (ours, unfit):
        build.close()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EIO])
def test_without_locks_everyone_builds(store, monkeypatch, number):
    def refuse(*args):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "lockf", refuse)
    monkeypatch.setattr(fcntl, "fcntl", refuse)
    ours = claims.KernelClaims(store, [ONE])
    assert ours.claim([ONE]) == [ONE]
    ours.done([ONE])
    ours.close()


def test_a_place_nobody_can_write_has_no_claims(tmp_path):
    with config.change({"compiledir": str(tmp_path), "cache": "readonly"}):
        assert _claimed([ONE]) == [ONE]
    assert os.listdir(tmp_path) == []


def slow(number, path):
    """Build with a compiler that stops itself before it begins."""
    real = process.run

    def run_and_stop(command, *args, **kwargs):
        open(path, "w").close()
        time.sleep(100)
        return real(command, *args, **kwargs)

    process.run = run_and_stop
    return check(number)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_builder_that_gets_nowhere(tmp_path, number):
    """Another process begins while the first one compiles, and builds when that one is gone."""
    said, flags = tmp_path / "said", {"compiledir": str(tmp_path / "kernels")}
    run(check, 0, flags=flags)  # the compiler is known from here on
    first = Child(slow, 7, str(said), flags=flags)
    while not said.exists():
        time.sleep(0.005)
    second = Child(check, 7, flags=flags)
    time.sleep(0.2)
    first.signal(number)
    assert second.finish()[0] == [1, 0]
    first.signal(signal.SIGKILL)
    first.wait()


def failing(number):
    """What another process compiles, and cannot, is compiled here: so everyone gets the error."""
    process.run = lambda *args, **kwargs: (_ for _ in ()).throw(
        process.Failed(["cc"], "is broken", "x.c:1: error: broken")
    )
    try:
        check(number)
    except compiler.CompileError as error:
        return "broken" in str(error)


def test_a_compiler_that_fails_in_all_processes(tmp_path):
    flags = {"compiledir": str(tmp_path / "kernels")}
    run(check, 0, flags=flags)
    children = [Child(failing, 7, flags=flags) for _ in range(4)]
    assert [child.finish()[0] for child in children] == [True] * 4
