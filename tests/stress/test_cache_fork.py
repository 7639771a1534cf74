"""fork in all its forms: no hang, right results, and children that use their threads.

A parent that compiled, computed on its team of threads and holds locks in other threads is forked;
the child has none of the threads and must not wait for them. Also spawn, forkserver and a server
that forks its workers before the first request.
"""

import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import ckernels as K
from ckernels.base import locks
from ckernels.base.config import config

from .harness import ROOT, Child, needs_compiler, needs_fork

pytestmark = [needs_compiler, needs_fork]
runtime = pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
METHODS = [m for m in multiprocessing.get_all_start_methods() if "loky" not in m]  # joblib's
BIG = 1 << 18  # elements: enough for the team


@pytest.fixture(autouse=True)
def settings(tmp_path):
    with config.change({"mode": "compiled", "floatX": "float32", "openmp": True}):
        yield
    K.set_num_threads(None)


def function():
    x = K.placeholder((None,), name="x")
    v = K.variable(0.0, name="v")
    return K.function([x], [K.sum(K.exp(x) * 0 + 1), K.tanh(x)], updates=[K.update_add(v, 1)]), v


def correct(f, size=BIG):
    total, y = f([np.linspace(-1, 1, size, dtype="f")])
    return total == size and abs(float(y[-1]) - np.tanh(1.0)) < 1e-5


def threads_of_process():
    return len(os.listdir("/proc/self/task"))


def child_work(f):
    """The parent's function, a new one, and how many threads the process then has."""
    K.set_num_threads(2)
    good = correct(f) and correct(function()[0])
    return [bool(good), threads_of_process()]


def test_a_child_uses_its_threads():
    """The parent's team is not in the child; a new one is started at the first large loop."""
    K.set_num_threads(2)
    f, _ = function()
    assert correct(f)
    good, threads = Child(child_work, f).finish()[0]
    assert good and threads >= 2
    assert correct(f)


@pytest.mark.rest
def test_forks_while_threads_compute_build_and_update():
    """Every lock of the library is taken and let go all the time while children are made."""
    K.set_num_threads(2)
    f, v = function()
    assert correct(f)
    over, errors = threading.Event(), []

    def busy(k):
        turn = 0
        while not over.is_set():
            try:
                turn += 1
                if k == 0:
                    assert correct(f)
                elif k == 1:
                    g, _ = function()
                    assert correct(g, 1000 + turn % 50)
                elif k == 2:
                    with config.change(seed=turn):
                        K.get_value(v), f.info.stats(), str(config)
                else:
                    x = K.placeholder((None,), name="x")
                    K.function([x], x * float(turn % 3 + 1))(np.ones(3, "f"))
            except BaseException as error:
                errors.append(error)
                return

    team = [threading.Thread(target=busy, args=(k,)) for k in range(4)]
    for thread in team:
        thread.start()
    try:
        for _ in range(12):
            assert Child(child_work, f).finish()[0][0]
    finally:
        over.set()
        for thread in team:
            thread.join()
    assert not errors, errors


@pytest.mark.rest
@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_thousand_forks(count):
    """Batches of children alive at once, each computing on its own team."""
    K.set_num_threads(2)
    f, v = function()
    assert correct(f)
    before = float(K.get_value(v))
    for _ in range(count // 10):
        children = [Child(lambda: bool(correct(f, 1 << 15))) for _ in range(10)]
        assert all(child.finish()[0] for child in children)
    assert float(K.get_value(v)) == before  # what children update is theirs


def test_children_of_children():
    f, _ = function()
    assert correct(f)

    def deeper(level):
        if not correct(f):
            return False
        return True if level == 0 else Child(deeper, level - 1).finish()[0]

    assert Child(deeper, 4).finish()[0]


def test_children_build_the_same_kernel_at_once(tmp_path):
    """Forked before anything was compiled, as servers do."""

    def worker(k):
        x = K.placeholder((None,), name="x")
        return bool((K.function([x], x * 2 + 1)(np.full(4, k, "f")) == 2 * k + 1).all())

    flags = {"compiledir": str(tmp_path / "kernels")}
    children = [Child(worker, k, flags=flags) for k in range(8)]
    assert all(child.finish()[0] for child in children)


def pool_work(k):
    import ckernels as K

    x = K.placeholder((None,), name="x")
    f = K.function([x], K.sum(x * 2))
    return float(f(np.full(1 << 16, k, "f")))


MAIN = """
import multiprocessing, sys, threading
import numpy as np
import ckernels as K
from tests.stress.test_cache_fork import pool_work

def main(method, noisy):
    if noisy:
        stop = threading.Event()
        thread = threading.Thread(target=lambda: [pool_work(1) for _ in iter(stop.is_set, True)])
        thread.start()
    if method != "spawn":
        assert pool_work(3) == 6 * 65536
    context = multiprocessing.get_context(method)
    with context.Pool(3) as pool:
        assert pool.map(pool_work, range(9)) == [2.0 * k * 65536 for k in range(9)]
    if noisy:
        stop.set()
        thread.join()
    print("fine")

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "noisy")
"""


@pytest.mark.sampled(0)
@pytest.mark.parametrize("noisy", ["quiet", "noisy"])
@pytest.mark.parametrize("method", METHODS)
def test_multiprocessing(tmp_path, method, noisy):
    (tmp_path / "program.py").write_text(MAIN)
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "2",
        "CKERNELS_FLAGS": f"compiledir={tmp_path / 'kernels'}",
    }
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "program.py", method, noisy]
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0 and done.stdout == "fine\n", done.stderr


SERVER = """
import json, os, socket, sys
import numpy as np
import ckernels as K

x = K.placeholder((None,), name="x")
f = K.function([x], K.sum(K.exp(x) * 0 + x))
f(np.ones(1 << 17, "f"))                # the parent is warm and has its threads
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(16)
workers = []
for _ in range(4):                       # all workers before the first request
    pid = os.fork()
    if pid == 0:
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile("rw") as stream:
                number = json.loads(stream.readline())
                stream.write(json.dumps(float(f(np.full(1 << 17, number, "f")))) + "\\n")
                stream.flush()
    workers.append(pid)
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
for pid in workers:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
"""


def test_a_server_that_forks_its_workers_first(tmp_path):
    import json
    import socket

    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "2",
        "CKERNELS_FLAGS": f"compiledir={tmp_path / 'kernels'}",
    }
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        env=env,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        port = int(server.stdout.readline())
        for number in range(20):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                with connection.makefile("rw") as stream:
                    stream.write(f"{number}\n")
                    stream.flush()
                    assert json.loads(stream.readline()) == number * (1 << 17)
    finally:
        server.stdin.close()
        assert server.wait(60) == 0
        server.stdout.close()


def test_every_lock_of_the_library_is_open_in_a_child():
    """Locks come from one place: a bare one would be closed for ever in some child, some day."""
    for path in (ROOT / "ckernels").rglob("*.py"):
        if path.name != "locks.py":
            text = path.read_text()
            assert "threading.Lock(" not in text and "threading.RLock(" not in text, path
    made = [locks.lock(), locks.rlock()]
    held = threading.Event()
    done = threading.Event()

    def hold():
        with made[0], made[1]:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)

    def child():
        return [each.acquire(timeout=20) for each in made]

    try:
        assert Child(child).finish()[0] == [True, True]
        assert not made[0].acquire(blocking=False)  # the parent's are as they were
    finally:
        done.set()
        thread.join()
