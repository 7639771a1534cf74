"""Processes killed at random points: kill -9 and Ctrl-C while they stage, compile, rename, evict.

Afterwards nothing bad is in the compiledir, `gc` leaves no stale file, and the next process builds
what it needs. 200 points of time for each signal in the long form; test_cache_errno.py has points
at each file operation.
"""

import os
import random
import signal
import time
from contextlib import suppress

import pytest

from ckernels.base.config import config
from ckernels.compiler import build, cache, process

from .harness import Child, assert_sound, check, forget, needs_compiler, needs_fork, run, source

pytestmark = [needs_compiler, needs_fork]


def compiling(start):
    """Staging, compiler, rename, notes: what a cold build does, again and again."""
    for number in range(start, start + 1000):
        check(number)


def publishing(start):
    """Staging and renames of entries of several kernels, without the compiler in between."""
    store = cache.current()
    for number in range(100 * start, 100 * (start + 1000)):
        keys = [f"{number:032x}{k:032x}" for k in range(3)]
        store.put(os.urandom(3000), keys, {key: {"name": "fake"} for key in keys})


def evicting(start):
    """The same in a directory that is always full."""
    with config.change({"cache.max_files": 40}):
        publishing(start)


def rebuilding(start):
    """What meets damaged entries: read, refuse, unlink, compile, replace."""
    path = cache.current().path(build([source(1)]).keys[0])
    while True:
        with suppress(FileNotFoundError):  # the other child has just refused and unlinked it
            with open(path, "r+b") as stream:
                stream.truncate(100)
        forget()
        check(1)


PHASES = (compiling, publishing, evicting, rebuilding)


@pytest.mark.rest
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("count", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_random_points(tmp_path, count, number):
    rng, flags = random.Random(11), {"compiledir": str(tmp_path / "kernels")}
    run(check, 0, flags=flags)
    for attempt in range(count):
        phase = PHASES[attempt % len(PHASES)]
        starts = [1000 * (2 * attempt + k) for k in (1, 2)]  # floats hold what `check` computes
        victims = [Child(phase, start, flags=flags) for start in starts]
        time.sleep(rng.uniform(0.0, 0.25))
        for victim in victims:
            victim.signal(number)
        for victim in victims:
            status, _, errors = victim.wait()
            assert status == (-9 if number == signal.SIGKILL else 130), (phase.__name__, errors)
    # the next process mends what `rebuilding` had damaged itself when it was killed
    assert run(check, 0, 1, 2, flags=flags)[0][0] <= 3
    # what `publishing` wrote is no ELF, so only digests can be checked; they all must be right
    assert_sound(tmp_path / "kernels")
    names = os.listdir(tmp_path / "kernels")
    assert all(
        name.split(".")[-1] in ("so", "json", "plan")
        or name in ("hits", "usage", "claims")
        or name.startswith(("toolchain-", "failed-"))
        for name in names
    )


def test_interrupted_work_leaves_nothing(tmp_path):
    """Ctrl-C unwinds: even without `gc` there is no temporary file."""
    flags = {"compiledir": str(tmp_path)}
    for attempt in range(10):
        child = Child(publishing, 1000 * attempt, flags=flags)
        time.sleep(0.03 + 0.01 * attempt)
        child.signal(signal.SIGINT)
        assert child.wait()[0] == 130
    left = [name for name in os.listdir(tmp_path) if name.startswith("tmp-")]
    assert len(left) <= 1  # the one instant between the system call and Python's knowing of it
    assert_sound(tmp_path)


@pytest.mark.rest
def test_a_stopped_writer_holds_nobody_up(tmp_path):
    """SIGSTOP in the middle of everything: others do not wait for what it was about to build."""
    flags = {"compiledir": str(tmp_path)}
    for delay in (0.0, 0.02, 0.05, 0.1, 0.2):
        stopped = Child(compiling, 50, flags=flags)
        time.sleep(delay)
        stopped.signal(signal.SIGSTOP)
        try:
            run(check, 50, 51, 52, flags=flags)  # the harness gives up after two minutes
        finally:
            stopped.signal(signal.SIGKILL)
            stopped.wait()
    assert_sound(tmp_path)


def test_writers_of_other_machines_are_left_alone(tmp_path):
    """A temporary file of a living writer, or of another machine, is not `gc`'s before an hour."""
    store = cache.Cache(str(tmp_path))
    mine = process.temporary_name(str(tmp_path))
    dead = os.fork()
    if dead == 0:
        os._exit(0)
    os.waitpid(dead, 0)
    gone = mine.replace(f"-{os.getpid()}-", f"-{dead}-")
    other = str(tmp_path / f"tmp-00000000-{dead}-aa")
    old = str(tmp_path / "tmp-00000000-1-bb")
    for path in (mine, gone, other, old):
        open(path, "w").close()
    os.utime(old, (1, 1))
    assert store.sweep() == 2
    assert sorted(os.listdir(tmp_path)) == sorted(map(os.path.basename, (mine, other)))
