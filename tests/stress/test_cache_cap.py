"""The directory stays under its caps within one write, whoever wrote; the oldest go first."""

import os
import random

import pytest

from ckernels import compiler
from ckernels.base.config import config
from ckernels.compiler import KernelSource, build, cache, hits, loader, upkeep, usage

from .harness import Child, forget, needs_compiler, needs_fork


@pytest.fixture
def store(tmp_path):
    return cache.Cache(str(tmp_path / "kernels"))


def put(store, number, size=200, group=1):
    keys = [f"{number:032x}{k:032x}" for k in range(group)]
    assert store.put(os.urandom(size), keys, {key: {"name": f"k{number}"} for key in keys})
    return keys


@pytest.mark.parametrize("count", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_ten_thousand_tiny_kernels(store, count):
    """Written one by one with ascending times: after each write the caps hold, the newest stay."""
    cap = count // 5
    with config.change({"cache.max_files": cap, "cache.max_size": 1 << 20}):
        for number in range(count):
            (key,) = put(store, number, size=100)
            os.utime(store.path(key), (1e9 + number, 1e9 + number))
            if number % 50 == 0 or number > count - 20:
                size, files = store.usage()
                assert files <= cap and size <= 1 << 20
        left = sorted(int(key[:32], 16) for _, _, keys in store.entries() for key in keys)
        assert left == list(range(left[0], count)) and len(left) >= 0.4 * cap
    assert store.verify() == []


def tiny(number):
    name = f"k_tiny_{number}"
    head = f"int {name}(void *const *p, const int64_t *dims, int64_t lo, int64_t hi)"
    body = f"{{ (void)p; (void)dims; return (int)(lo + hi) + {number}; }}\n"
    return KernelSource(name, f"{head} {body}")


@pytest.mark.rest
@needs_compiler
@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_ten_thousand_real_kernels(tmp_path, count):
    """Compiled ones, in builds of a fiftieth: the caps hold after each, the newest are there."""
    each, directory = count // 50, tmp_path / "kernels"
    ffi = loader.ffi()
    with config.change({"compiledir": str(directory), "cache.max_files": count // 2}):
        forget()
        for first in range(0, count, each):
            made = build([tiny(number) for number in range(first, first + each)])
            assert made.built == each and cache.current().usage()[1] <= count // 2
        forget()
        newest = range(count - count // 10, count)
        made = build([tiny(number) for number in newest])
        assert made.from_cache == len(newest) and made.built == 0
        for number, address in zip(newest, made.addresses):
            kernel = ffi.cast("int(*)(void *const *, const int64_t *, int64_t, int64_t)", address)
            assert kernel(ffi.NULL, ffi.NULL, 1, 2) == 3 + number
        oldest = [compiler.key_of(tiny(n), compiler.current_toolchain()) for n in range(count // 2)]
        assert not [key for key in oldest if os.path.exists(cache.current().path(key))]
        assert cache.current().verify() == []
    forget()


def test_bytes_are_capped_too(store):
    with config.change({"cache.max_size": 100_000}):
        for number in range(60):
            put(store, number, size=random.Random(number).randrange(100, 9000), group=3)
            assert store.usage()[0] <= 100_000
        assert store.entries()


def test_an_entry_larger_than_the_cap(store):
    """It is used by the process that built it, and gone within its own write."""
    with config.change({"cache.max_size": 10_000}):
        put(store, 1, size=50_000)
        assert store.usage()[0] <= 10_000
        put(store, 2, size=100)
        assert len(store.entries()) == 1


def test_a_cap_of_nothing(store):
    with config.change({"cache.max_files": 0}):
        put(store, 1)
        assert store.usage() == (0, 0)


@needs_fork
@pytest.mark.parametrize("count, turns", [(4, 40), pytest.param(16, 200, marks=pytest.mark.slow)])
def test_writers_count_what_others_wrote(tmp_path, count, turns):
    """Each of several processes sees the directory as it is, not only its own share of it."""

    def write(first):
        store = cache.current()
        with config.change({"cache.max_files": 60}):
            for number in range(first, first + turns):
                put(store, number)
                assert store.usage()[1] <= 60 + 3 * count, "more than a write of each process over"
        return 0

    children = [Child(write, 1000 * k, flags={"compiledir": str(tmp_path)}) for k in range(count)]
    for child in children:
        child.finish()
    with config.change({"cache.max_files": 60}):
        store = cache.Cache(str(tmp_path))
        put(store, 99_999)
        assert store.usage()[1] <= 60


@pytest.fixture
def looks(monkeypatch):
    """A list that grows with each look at the whole directory."""
    found, evict = [], upkeep.Directory.evict

    def counted(self):
        found.append(evict(self))
        return found[-1]

    monkeypatch.setattr(upkeep.Directory, "evict", counted)
    return found


def test_near_the_caps_few_writes_look(store, looks):
    """Eviction makes room for an eighth of the cap: that many files come before the next look."""
    with config.change({"cache.max_files": 200}):
        for number in range(250):
            put(store, number)
            assert store.usage()[1] <= 200
    assert 2 <= len(looks) <= 1 + 500 / 20
    before = len(looks)
    fresh = cache.Cache(store.directory)  # another process knows it from the account
    put(fresh, 501)
    assert len(looks) == before


def bound(store):
    mark = usage.announce(store.directory, 0, 0)
    return usage.bound(store.directory, mark, 0, 0)


def test_a_look_in_the_middle_of_a_write(store):
    """What was announced before a look and written after it is entered again."""
    put(store, 1)
    for number in range(2, 6):
        mark = usage.announce(store.directory, 200, 2)
        for _ in range(number - 2):
            store.evict()
        for suffix in (".so", ".json"):
            with open(store.path(f"{number:064x}", suffix), "wb") as stream:
                stream.write(bytes(100))
        store.wrote(mark, 200, 2)
        size, files = bound(store)
        assert size >= store.usage()[0] and files >= store.usage()[1]


@pytest.mark.parametrize("count", [300, pytest.param(1500, marks=pytest.mark.slow)])
def test_the_account_never_says_less_than_there_is(store, count, monkeypatch):
    """Writes, looks, hits, clears and a new account, in any order."""
    rng = random.Random(5)
    monkeypatch.setattr(usage, "LARGEST", 2000)
    for number in range(count):
        what = rng.randrange(8)
        if what < 4:
            put(store, number, size=rng.randrange(50, 500), group=rng.randrange(1, 4))
        elif what == 4:
            store.evict()
        elif what == 5:
            hits.record(store.directory, [f"{number:064x}"] * rng.randrange(9))
        elif what == 6:
            store.keep_source(f"{number:064x}", "int broken;" * rng.randrange(9))
        elif rng.random() < 0.1:
            store.forget()
        known = bound(store)
        if known is not None:
            size, files = store.usage()
            assert known[0] >= size and known[1] >= files


DAMAGE = [b"", b"garbage", b"+12", b"=1 1 0 99999999999\n", b"\n=-5 0 0 0\n", bytes(5000),
          b"+999999999999999 999999999\n" * 3, b"=0 0 0 0\n", b"=0 0 999999999 %d\n"]  # fmt: skip


@pytest.mark.parametrize("text", DAMAGE, ids=range(len(DAMAGE)))
def test_a_damaged_account(store, text):
    """It is no more than a hint: where it is wrong in form, or old, the directory is looked at."""
    with config.change({"cache.max_files": 40}):
        for number in range(50):
            with open(os.path.join(store.directory, usage.NAME), "ab") as stream:
                stream.write(text)
            put(store, number)
            assert store.usage()[1] <= 40
    assert store.verify() == [] and store.entries()


def test_no_account_can_be_kept(store, looks):
    """A directory, a link, a pipe in its place: each write looks, as if there were none."""
    path = os.path.join(store.directory, usage.NAME)
    for k, make in enumerate((os.mkdir, os.mkfifo, lambda p: os.symlink("/dev/zero", p))):
        make(path)
        before = len(looks)
        for number in range(3):
            put(store, 10 * k + number)
        assert len(looks) == before + 3
        (os.rmdir if k == 0 else os.unlink)(path)


def test_an_old_account_is_not_believed(store, looks, monkeypatch):
    """Files that nobody entered, such as those of killed writers, are found within a minute."""
    put(store, 1)
    put(store, 2)
    assert len(looks) == 1
    monkeypatch.setattr(usage, "LOOK_EVERY", 0)
    put(store, 3)
    assert len(looks) == 2


def test_far_from_the_caps_a_write_does_not_look(store, monkeypatch):
    """A look costs a stat per file; a second's worth of writes may go without one."""
    put(store, 1)
    monkeypatch.setattr(upkeep.Directory, "evict", lambda self: pytest.fail("looked again"))
    put(store, 2)


def test_what_is_beside_the_entries_is_bounded(store):
    """Kept sources, orphaned notes and the file of hits count, and go when they are old."""
    (key,) = put(store, 1)
    for number in range(30):
        source = store.keep_source(f"{number:064x}", "int broken;")
        os.utime(source, (1e9, 1e9))
    with config.change({"cache.max_files": 10}):
        put(store, 2)
        assert store.usage()[1] <= 10 and os.path.exists(store.path(key))
    for _ in range(200):
        hits.record(store.directory, [key] * 100)
    assert os.path.getsize(os.path.join(store.directory, hits.NAME)) <= hits.LARGEST + 6500
    assert hits.counts(store.directory)[key] == 20_000


def test_use_renews_an_entry(store):
    """Least recently *used*: reading an old entry makes it young."""
    keys = [put(store, number)[0] for number in range(5)]
    for age, key in enumerate(keys):
        os.utime(store.path(key), (1e9 + age, 1e9 + age))
    assert store.get(keys[0]) is not None
    with config.change({"cache.max_files": 9}):
        store.evict()
    left = {key for _, _, found in store.entries() for key in found}
    assert keys[0] in left and keys[1] not in left
