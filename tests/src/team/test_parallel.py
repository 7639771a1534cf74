"""ck_parallel_for: every index once, whatever the team; errors, nesting, forks, many callers."""

import ctypes
import random
import threading

import numpy as np
import pytest

from src import native
from src.native import dims, ffi, pointers


@pytest.fixture
def lib():
    library = native.load()
    yield library
    library.ck_set_num_threads(0)


COVER = """
import random
rng = random.Random(1)
for _ in range(300):
    n, block = rng.choice([0, 1, 2, 7, 64, 1000, 4097]), rng.choice([0, 1, 3, 16, 64, 5000])
    lib.ck_set_num_threads(rng.choice([0, 1, 2, 3, 8]))
    once, on_grid, _ = native.cover(lib, n, block, rng.choice([0, 1, 5, 100, 10000]))
    assert once and on_grid
print("good", lib.ck_get_num_threads())
"""


@pytest.mark.sampled(0)
@pytest.mark.parametrize(
    "env",
    [
        {"OMP_THREAD_LIMIT": "1"},
        {"OMP_THREAD_LIMIT": "2"},
        {"OMP_THREAD_LIMIT": "3"},
        {"OMP_DYNAMIC": "true"},
        {"OMP_NUM_THREADS": "1"},
        {"OMP_WAIT_POLICY": "passive"},
    ],
)
def test_covers_once_with_any_team(env):
    assert native.in_python(COVER, env).startswith("good")


def test_chunks(lib):
    lib.ck_set_num_threads(3)
    assert native.cover(lib, 3000, 16, 1000)[2] == 3
    assert native.cover(lib, 2999, 16, 1000)[2] == 2
    assert native.cover(lib, 1999, 16, 1000)[2] == 1  # n < 2 * grain: serial
    assert native.cover(lib, 32, 16, 1)[2] == 2  # no more chunks than blocks
    assert native.cover(lib, 0, 16, 1) == (True, True, 0)
    lib.ck_set_num_threads(1)
    assert native.cover(lib, 3000, 16, 10)[2] == 1


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_error_code_comes_back(lib, threads):
    lib.ck_set_num_threads(threads)
    for at in (0, 17, 500, 999):
        assert lib.ck_parallel_for(lib.fail_at, ffi.NULL, dims(at, 4), 1000, 1, 1) == 4
    assert lib.ck_parallel_for(lib.fail_at, ffi.NULL, dims(1000, 4), 1000, 1, 1) == 0


def test_nested_is_serial(lib):
    lib.ck_set_num_threads(2)
    counts, notes = np.zeros((8, 100), np.int64), np.zeros(2, np.int64)
    assert lib.ck_parallel_for(lib.nested, pointers(counts, notes), dims(10, 100), 8, 1, 1) == 0
    assert (counts == 1).all()
    assert notes.tolist() == [0, 8]  # one chunk for each inner range


def test_callers_from_many_threads(lib):
    lib.ck_set_num_threads(2)
    bad = []

    def work(seed):
        rng = random.Random(seed)
        for _ in range(200):
            once, on_grid, _ = native.cover(lib, rng.randrange(5000), rng.choice([1, 16]), 10)
            if not (once and on_grid):
                bad.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not bad


def test_default_number_and_its_rule():
    show = "print(lib.ck_get_num_threads(), native.text(lib.ck_threads_rule))"
    assert native.in_python(show, {"OMP_NUM_THREADS": "1"}) == "1 OMP_NUM_THREADS (1)\n"
    for text in ("1,7", " 01"):
        assert native.in_python(show, {"OMP_NUM_THREADS": text}) == "1 OMP_NUM_THREADS (1)\n"
    for text in ("1.5", "1abc", "1,x", "4294967297", "+1", "0", "-1"):  # no numbers, or too many
        assert not native.in_python(show, {"OMP_NUM_THREADS": text}).startswith("1 OMP"), text
    assert native.in_python(show, {"CKERNELS_THREADING": "serial"}).startswith("1 ")
    pinned = "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n" + show
    assert native.in_python(pinned, {"OMP_NUM_THREADS": "64"}) == "1 cpu affinity (1)\n"
    chosen = "lib.ck_set_num_threads(5)\n" + show
    assert native.in_python(chosen, {"OMP_NUM_THREADS": "1"}) == "5 set_num_threads (5)\n"


def test_cgroup_quota(lib, tmp_path):
    """v2 and v1 trees as Linux lays them out; the tightest group on the way up counts."""

    def cpus(cgroup):
        (tmp_path / "cgroup").write_text(cgroup)
        return lib.ck_cgroup_cpus(bytes(tmp_path / "cgroup"), bytes(tmp_path / "fs"))

    inner = tmp_path / "fs" / "a" / "b"
    inner.mkdir(parents=True)
    assert cpus("0::/a/b\n") == 0
    (inner / "cpu.max").write_text("max 100000\n")
    assert cpus("0::/a/b\n") == 0
    (tmp_path / "fs" / "a" / "cpu.max").write_text("150000 100000\n")
    assert cpus("0::/a/b\n") == 1.5
    (inner / "cpu.max").write_text("400000 100000\n")
    assert cpus("0::/a/b\n") == 1.5
    assert cpus("0::/gone/from/here\n") == 0  # a container's path: only what is mounted counts
    (tmp_path / "fs" / "cpu.max").write_text("100000 100000\n")
    assert cpus("0::/gone/from/here\n") == 1
    v1 = tmp_path / "fs" / "cpu,cpuacct" / "x"
    v1.mkdir(parents=True)
    (v1 / "cpu.cfs_quota_us").write_text("250000\n")
    (v1 / "cpu.cfs_period_us").write_text("100000\n")
    assert cpus("4:memory:/x\n3:cpu,cpuacct:/x\n") == 2.5
    (v1 / "cpu.cfs_quota_us").write_text("-1\n")
    assert cpus("3:cpu,cpuacct:/x\n") == 0
    assert lib.ck_cgroup_cpus(b"/no/such/file", b"/no/such/mount") == 0


FORK = """
lib.ck_set_num_threads(2)
assert native.cover(lib, 1000, 1, 1)[2] == 16
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        good = native.cover(lib, 1000, 1, 1) == (True, True, 16)
        os._exit(0 if good else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert native.cover(lib, 1000, 1, 1) == (True, True, 16)
"""

FORK_WHILE_BUSY = """
import threading, time
lib.ck_set_num_threads(2)
d = native.dims(2_000_000)
busy = threading.Thread(
    target=lambda: lib.ck_parallel_for(lib.slow, native.ffi.NULL, d, 1000, 1, 1))
busy.start()
time.sleep(0.2)
assert busy.is_alive()
pid = os.fork()
if pid == 0:
    good = native.cover(lib, 1000, 1, 1) == (True, True, 16)      # a team of its own
    os._exit(0 if good else 1)
assert os.waitpid(pid, 0)[1] == 0
busy.join()
"""


@pytest.mark.parametrize("code", [FORK, FORK_WHILE_BUSY], ids=["idle", "busy"])
def test_fork_does_not_hang(code):
    native.in_python(code, {}, timeout=240)


@pytest.fixture
def pool(lib):
    lib.ck_pool_trim()
    yield lib
    lib.ck_pool_trim()


@pytest.mark.parametrize("size", [0, 1, 63, 4097, (1 << 20) - 1, 1 << 20, 5 << 20, (9 << 20) + 1])
def test_memory_is_aligned_and_whole(pool, size):
    data = pool.ck_alloc(size)
    assert int(ffi.cast("uintptr_t", data)) % 64 == 0
    ctypes.memset(int(ffi.cast("uintptr_t", data)), 1, size)
    pool.ck_free(data, size)


def test_big_buffers_are_recycled(pool):
    first = pool.ck_alloc(3 << 20)
    pool.ck_free(first, 3 << 20)
    assert pool.ck_pool_bytes() == 3 << 20
    again = pool.ck_alloc((3 << 20) - 5)  # the same size class
    assert again == first and pool.ck_pool_bytes() == 0
    pool.ck_free(again, (3 << 20) - 5)
    pool.ck_pool_trim()
    assert pool.ck_pool_bytes() == 0


def test_pool_is_capped_and_drops_the_oldest(pool):
    buffers = [pool.ck_alloc(64 << 20) for _ in range(10)]  # never touched: no memory is used
    for b in buffers:
        pool.ck_free(b, 64 << 20)
    assert pool.ck_pool_bytes() == 512 << 20
    kept = [pool.ck_alloc(64 << 20) for _ in range(8)]
    assert set(kept) == set(buffers[2:])
    for b in kept:
        pool.ck_free(b, 64 << 20)
    pool.ck_free(pool.ck_alloc(600 << 20), 600 << 20)  # larger than the pool: straight back
    assert pool.ck_pool_bytes() == 512 << 20


@pytest.fixture
def limited(pool):
    yield pool
    pool.ck_pool_limit(512 << 20)


def test_the_pool_may_be_smaller_or_off(limited):
    size = 64 << 20
    buffers = [limited.ck_alloc(size) for _ in range(4)]
    for b in buffers:
        limited.ck_free(b, size)
    limited.ck_pool_limit(2 * size)  # what was kept goes
    assert limited.ck_pool_bytes() == 0
    buffers = [limited.ck_alloc(size) for _ in range(4)]
    for b in buffers:
        limited.ck_free(b, size)
    assert limited.ck_pool_bytes() == 2 * size
    limited.ck_pool_limit(0)
    limited.ck_free(limited.ck_alloc(size), size)
    assert limited.ck_pool_bytes() == 0


def test_impossible_size_gives_null(pool):
    assert pool.ck_alloc(1 << 62) == ffi.NULL
    assert pool.ck_alloc((1 << 64) - 1) == ffi.NULL


def test_pool_in_many_threads_and_after_fork():
    native.in_python(
        """
import threading
def work(i):
    for k in range(300):
        size = (1 + (i * 7 + k) % 5) << 20
        lib.ck_free(lib.ck_alloc(size), size)
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for t in threads: t.start()
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        work(0)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
for t in threads: t.join()
assert 0 < lib.ck_pool_bytes() <= 512 << 20
""",
        {},
    )
