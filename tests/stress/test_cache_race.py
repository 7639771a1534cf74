"""Many processes on one compiledir: cold on one key, on different keys, readers during eviction,
`clear` in a loop while others build. Nobody waits to read or write; every result is right.
"""

import ast
import os
import random
import shutil
import time

import pytest

from ckernels import cli
from ckernels.base.config import config
from ckernels.compiler import cache, hits

from .harness import ROOT, Child, assert_sound, check, forget, needs_compiler, needs_fork, run

pytestmark = [needs_compiler, needs_fork]
MANY = [8, pytest.param(32, marks=pytest.mark.slow)]


def together(directory, work, arguments):
    """Start a child for each tuple of arguments at one moment; what they returned."""
    start = time.time() + 0.3

    def waiting(*args):
        time.sleep(max(0.0, start - time.time()))
        return work(*args)

    children = [Child(waiting, *args, flags={"compiledir": str(directory)}) for args in arguments]
    return [child.finish()[0] for child in children]


@pytest.mark.parametrize("count", MANY)
def test_cold_on_one_key(tmp_path, count):
    made = together(tmp_path / "kernels", check, [(1, 2)] * count)
    assert all(built + found == 2 for built, found in made)
    assert sum(built for built, _ in made) == 2  # each kernel once: see test_cache_claims.py
    assert_sound(tmp_path / "kernels")
    assert run(check, 1, 2, flags={"compiledir": str(tmp_path / "kernels")})[0] == [0, 2]


@pytest.mark.rest
@pytest.mark.parametrize("count", MANY)
def test_cold_on_different_keys(tmp_path, count):
    made = together(tmp_path / "kernels", check, [(number,) for number in range(count)])
    assert made == [[1, 0]] * count
    assert_sound(tmp_path / "kernels")
    numbers = range(count)
    assert run(check, *numbers, flags={"compiledir": str(tmp_path / "kernels")})[0] == [0, count]


def reading(turns):
    built = 0
    for _ in range(turns):
        forget()
        built += check(1, 2, 3)[0]
    return built


def crowding(turns, seed):
    """Write entries into a directory that is full, so that each write evicts."""
    rng = random.Random(seed)
    store = cache.current()
    with config.change({"cache.max_files": 30}):
        for _ in range(turns):
            key = f"{rng.getrandbits(256):064x}"
            store.put(os.urandom(500), [key], {key: {}})
            assert store.writable, store.trouble
    return 0


@pytest.mark.rest
def test_readers_during_eviction(tmp_path):
    """A reader gets a whole entry or builds it; what it holds survives the entry."""
    directory = tmp_path / "kernels"
    children = [Child(reading, 15, flags={"compiledir": str(directory)}) for _ in range(3)]
    children += [
        Child(crowding, 200, seed, flags={"compiledir": str(directory)}) for seed in range(3)
    ]
    for child in children:
        _, errors = child.finish()
        assert errors == ""
    assert_sound(directory)


def replacing(turns, seed):
    store, rng = cache.current(), random.Random(seed)
    for _ in range(turns):  # alone, and as one of three names of a file
        keys = [SAME] if rng.random() < 0.5 else [SAME, *(f"{seed}{k:063x}" for k in (1, 2))]
        assert store.put(rng.randbytes(rng.randrange(1, 200_000)), keys, {key: {} for key in keys})
    return 0


SAME = "a" * 64


@pytest.mark.parametrize("turns", [60, pytest.param(2000, marks=pytest.mark.slow)])
def test_readers_while_the_entry_is_replaced(tmp_path, turns):
    """Never half an entry, never none, once there was one."""
    flags = {"compiledir": str(tmp_path)}
    run(replacing, 1, 0, flags=flags)
    children = [Child(replacing, turns, seed, flags=flags) for seed in (1, 2, 3)]
    reads = 0
    while any(
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        for child in children
    ):
        cache.unseal((tmp_path / f"{SAME}.so").read_bytes(), SAME)
        reads += 1
    for child in children:
        assert child.finish()[1] == ""
    assert reads > 5
    assert_sound(tmp_path)


def building(turns, seed):
    rng = random.Random(seed)
    for turn in range(turns):
        forget()
        check(rng.randrange(4), 100 * seed + turn)
    return 0


@pytest.mark.rest
@pytest.mark.parametrize("count, turns", [(4, 5), pytest.param(8, 30, marks=pytest.mark.slow)])
def test_clear_in_a_loop(tmp_path, count, turns):
    directory = tmp_path / "kernels"
    children = [
        Child(building, turns, seed, flags={"compiledir": str(directory)}) for seed in range(count)
    ]
    cleared = 0
    with config.change({"compiledir": str(directory)}):
        while any(
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
            for child in children
        ):
            cleared += cli.cache_main(["clear", "--yes"]) == 0
            time.sleep(0.002)
    for child in children:
        _, errors = child.finish()
        assert errors == "", errors
    assert cleared > 5
    assert_sound(directory)


@pytest.mark.rest
def test_the_directory_itself_vanishes(tmp_path):
    """`rm -rf` under processes that build: at worst kernels are kept elsewhere, with one line.

    `building` opens the compiledir anew in each turn, as a process of its own would.
    """
    directory, turns = tmp_path / "kernels", 10
    flags = {"compiledir": str(directory)}
    children = [Child(building, turns, seed, flags=flags) for seed in (1, 2)]
    while any(
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        for child in children
    ):
        shutil.rmtree(directory, ignore_errors=True)
        time.sleep(0.002)
    for child in children:
        _, errors = child.finish()
        assert len(errors.splitlines()) <= turns, errors


@pytest.mark.rest
def test_only_claims_are_locked():
    """Nothing in the library asks the system for a lock, or waits for another's file to go away.

    Only who is about to compile asks whether somebody else does (test_cache_claims.py); the bridges
    wait, for other machines, and seal memory by fcntl; on Windows a rename waits for readers of its
    target; and `lock` of Theano's compilelock holds a program's own folder for that program.
    """
    for path in sorted((ROOT / "ckernels").rglob("*.py")):
        bridge, claims = "bridges" in path.parts, path.name == "claims.py"
        locks = {"msvcrt", "filelock"} | (set() if bridge or claims else {"fcntl"})
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & locks, path
            if isinstance(node, ast.Attribute):
                assert node.attr not in ("flock", "O_EXLOCK"), path
                assert claims or node.attr != "lockf", path
                may = bridge or claims or path.name in ("system.py", "compilelock.py")
                waits = node.attr == "sleep" and not may
                assert not waits, f"{path}: who waits, waits for somebody"


@pytest.mark.rest
def test_hits_of_many_processes(tmp_path):
    flags = {"compiledir": str(tmp_path)}
    run(check, 1, flags=flags)
    together(tmp_path, check, [(1,)] * 12)
    (count,) = hits.counts(str(tmp_path)).values()
    assert count == 12
    hits.sum_up(str(tmp_path))
    assert list(hits.counts(str(tmp_path)).values()) == [12]
