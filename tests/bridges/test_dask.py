"""Functions on a Dask cluster of two real worker processes: blocks, training, workers that die."""

import contextlib
import mmap
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import types
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install ckernels[dask]")
import dask  # noqa: E402
import dask.array as da  # noqa: E402
import distributed  # noqa: E402
from distributed import Client, LocalCluster, get_worker  # noqa: E402

import ckernels as K  # noqa: E402
import ckernels.dask  # noqa: E402
from ckernels.base.errors import ArgumentError, CKernelsWarning, DTypeError, ShapeError  # noqa: E402
from ckernels.bridges.checkpoint import Checkpoints  # noqa: E402
from ckernels.bridges.dask import link, member  # noqa: E402

RNG = np.random.default_rng(5)
X = RNG.normal(size=(640, 12)).astype("float32")
Y = RNG.integers(0, 3, 640).astype("int32")


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Two workers with a compiledir each, empty: what one lacks it has from the other."""
    os.environ["OMP_NUM_THREADS"] = "1"
    dask.config.set({"distributed.deploy.lost-worker-timeout": "200s"})  # of a loaded machine
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        for k, address in enumerate(client.nthreads()):
            place = str(tmp_path_factory.mktemp(f"worker{k}"))
            client.run(use, place, workers=[address])
        yield client
    cluster.close()


def use(place):
    from ckernels.base.config import config

    config.compiledir = place


def test_the_programs_of_the_guide_run(client, tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr", reason="needs Zarr: pip install zarr")
    before = os.getcwd()
    monkeypatch.chdir(tmp_path)
    client.run(os.chdir, str(tmp_path))  # its paths are relative
    page = Path(__file__).resolve().parents[2] / "docs" / "guide" / "many-machines.md"
    blocks = re.findall(r"^```py(?:con)?\n(.*?)^```$", page.read_text(), re.M | re.S)
    logits, points = RNG.normal(size=(300, 5)), RNG.normal(size=(2048, 2)).astype("float32")
    da.from_array(logits.astype("float32"), chunks=(100, 5)).to_zarr("logits.zarr")
    space = {"client": client, "big": da.from_array(logits.astype("float32"), chunks=(100, 5)),
             "X": points, "Y": points @ np.array([3, -2], "float32")}  # fmt: skip
    space.update(X_batch=space["X"][:64], Y_batch=space["Y"][:64])
    for block in blocks:
        if ">>> " in block:
            block = "".join(re.findall(r"^(?:>>>|\.\.\.) (.*\n)", block, re.M))
        if "ckernels.mpi" not in block:  # test_mpi.py has that
            exec(block, space)
    client.run(os.chdir, before)
    each = np.exp(logits)
    np.testing.assert_allclose(
        zarr.open("probabilities.zarr")[:], each / each.sum(1, keepdims=True), rtol=1e-5
    )
    np.testing.assert_allclose(space["total"].compute(), logits.sum(0), rtol=1e-4)
    assert len(space["losses"]) == 1000
    np.testing.assert_allclose(K.get_value(space["u"]), [3, -2], rtol=1e-4)


# ---- blocks --------------------------------------------------------------------------------------


def softmax():
    x = K.placeholder((None, None), name="x")
    return K.function([x], K.softmax(x * 2), name="soft")


def test_blocks_without_a_cluster():
    x = da.from_array(X, chunks=(100, 12))
    y = ckernels.dask.map_blocks(softmax(), x)
    assert y.dtype == "float32" and y.chunks == x.chunks and type(y._meta) is np.ndarray
    assert y.name.startswith("soft (test_dask.py:")
    e = np.exp(2 * X - 2 * X.max(1, keepdims=True))
    expected = e / e.sum(1, keepdims=True)
    np.testing.assert_allclose(y.compute(scheduler="sync"), expected, atol=3e-7)
    again = ckernels.dask.map_blocks(softmax(), x)
    assert again.name == y.name  # the same graph of the same array: one result


def test_axes_that_are_dropped_added_and_broadcast():
    x, b = K.placeholder((None, None), name="x"), K.placeholder((None,), name="b")
    d = da.from_array(X, chunks=(100, 6))
    rows, mean = d.rechunk((100, 12)), X.mean(0)
    total = ckernels.dask.map_blocks(K.function([x], K.sum(x, 1)), rows, drop_axis=1)
    np.testing.assert_allclose(total.compute(scheduler="sync"), X.sum(1), atol=1e-5)
    shifted = ckernels.dask.map_blocks(K.function([x, b], x - b), d, da.from_array(mean, chunks=6))
    np.testing.assert_array_equal(shifted.compute(scheduler="sync"), X - mean)
    added = ckernels.dask.map_blocks(K.function([x], K.stack([x, x * x], axis=0)), d, new_axis=0)
    assert added.shape == (2, *X.shape)
    np.testing.assert_array_equal(added.compute(scheduler="sync"), np.stack([X, X * X]))
    kept = ckernels.dask.map_blocks(K.function([x], K.sum(x, 0, keepdims=True)), d)
    assert kept.chunks == ((1,) * 7, (6, 6))  # one row per block, read off the graph
    np.testing.assert_allclose(kept.sum(0).compute(scheduler="sync"), X.sum(0), atol=1e-4)


def test_values_of_variables_are_those_of_now():
    x, w = K.placeholder((None, 12), name="x"), K.variable(np.ones(12), name="w")
    f = K.function([x], x * w)
    y = ckernels.dask.map_blocks(f, da.from_array(X, chunks=(320, 12)))
    K.set_value(w, np.zeros(12))
    np.testing.assert_array_equal(y.compute(scheduler="threads"), X)
    big = K.function([x], K.dot(x, K.variable(np.eye(12, 4000))))  # a pickle of 190 kB
    z = ckernels.dask.map_blocks(big, da.from_array(X, chunks=(320, 12)))
    assert z.shape == (640, 4000)
    np.testing.assert_array_equal(z[:, :12].compute(scheduler="threads"), X)


def test_what_does_not_fit_is_refused_before_it_runs():
    x, n = K.placeholder((None, 12), name="x"), K.placeholder((None,), dtype="int32", name="n")
    d, blocks = da.from_array(X, chunks=(100, 12)), ckernels.dask.map_blocks
    total = K.function([x], K.sum(x, 1))
    with pytest.raises(ArgumentError, match="gives 1 dimensions for blocks of 2.*drop_axis"):
        blocks(total, d)
    with pytest.raises(ShapeError, match=r"12 elements along axis 1.*\[4\]: use x.rechunk"):
        blocks(total, d.rechunk((100, 4)), drop_axis=1)
    with pytest.raises(ArgumentError, match="axis 0 is dropped by each block.*7 blocks"):
        blocks(K.function([x], K.sum(x, 0)), d, drop_axis=0)
    with pytest.raises(DTypeError, match="n, is int32, and the blocks are float32"):
        blocks(K.function([n], n), d[:, 0])
    with pytest.raises(ShapeError, match="has 2 dimensions, and the array has 1"):
        blocks(total, d[:, 0])
    with pytest.raises(ArgumentError, match="takes 1 inputs, map_blocks was given 2"):
        blocks(total, d, d)
    with pytest.raises(ArgumentError, match="2 outputs"):
        blocks(K.function([x], [x, x]), d)
    with pytest.raises(ArgumentError, match="updates variables"):
        blocks(K.function([x], K.dropout(x, 0.5)), d)
    with pytest.raises(ArgumentError, match="depends on data: say chunks="):
        blocks(K.function([x], K.flatten(x)[K.flatten(x) > 0]), d, drop_axis=1)


def test_each_kernel_is_compiled_once_in_the_cluster(client):
    x = K.placeholder((None, 12), name="x")
    f = K.function([x], K.softmax(K.tanh(x) * 0.731), name="named")
    d = da.from_array(X, chunks=(20, 12))
    client.run(compiled)  # counting begins
    y = ckernels.dask.map_blocks(f, d).compute()
    np.testing.assert_allclose(y.sum(1), 1, atol=1e-6)
    client.run(lambda data: ckernels.dask.map_blocks(f, data).compute(scheduler="sync"), d[:20])
    assert sorted(client.run(compiled).values())[0] == 0  # one has it from the other
    seen = client.cluster.scheduler.task_prefixes  # what the dashboard shows
    assert any(name.startswith("named (test_dask.py:") for name in seen), list(seen)


def compiled():
    """How many kernels this process has compiled since it was asked first."""
    from ckernels import compiler

    if not hasattr(compiled, "keys"):
        compiled.keys, inner = [], compiler._compile_all

        def counting(missing, tools):
            compiled.keys += [key for key, _ in missing]
            return inner(missing, tools)

        compiler._compile_all = counting
    return len(compiled.keys)


@pytest.mark.slow
def test_data_larger_than_what_the_process_may_use(tmp_path):
    program = Path(__file__).parents[2] / "examples" / "distributed" / "normalise_zarr.py"
    options = ["--size", "1.6", "--limit", "1.2", "--folder", tmp_path]
    command = [sys.executable, program, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert "checked with NumPy" in done.stdout and not list(tmp_path.iterdir())


# ---- training ------------------------------------------------------------------------------------


def mlp():
    rng = np.random.default_rng(2)
    x, y = K.placeholder((None, 12), name="x"), K.placeholder((None,), dtype="int32", name="y")
    w = K.variable(rng.normal(size=(12, 16)) * 0.3, name="w")
    v, m = K.variable(rng.normal(size=(16, 3)) * 0.3, name="v"), K.zeros((12, 16), name="m")
    p = K.softmax(K.dot(K.tanh(K.dot(x, w)), v))
    loss = K.mean(K.sparse_categorical_crossentropy(p, y))
    gw, gv = K.gradients(loss, [w, v])
    moved = 0.9 * m + gw
    return K.function([x, y], loss, updates=[(m, moved), (w, w - 0.1 * moved), (v, v - 0.1 * gv)])


def equal(a, b):
    return all(np.array_equal(p, q) for p, q in zip(a, b, strict=True))


def test_two_workers_do_the_steps_of_one(client):
    whole = mlp()
    with ckernels.dask.Trainer(mlp(), client) as trainer:
        d = da.from_array(X, chunks=(160, 12))
        for step in range(3):
            part = slice(64 * step, 64 * step + 64)
            given = (d[part], Y[part]) if step == 2 else (X[part], Y[part])
            assert abs(trainer.step(*given) - float(whole(X[part], Y[part]))) < 1e-6
        expected = [n.attrs["store"].get() for n in trainer.replica.cells]
        assert not equal(expected, trainer.fetch())  # the client's variables wait for pull()
        trainer.pull()
        named = {v.name: v.attrs["store"].get() for v in trainer.replica.cells}
        for node in whole.info.spec.cells:
            a, b = node.attrs["store"].get(), named[node.name]
            assert np.abs(a - b).max() <= 8 * np.spacing(np.abs(a).max())
        found = client.run(lambda name: digest(name), trainer.name)
        assert len(found) == 2 and len(set(found.values())) == 1


def digest(name):
    from ckernels.bridges.dask import member

    return member._members[name].replica.digest()


def test_a_worker_that_is_killed_costs_no_bit(client, tmp_path):
    source = ckernels.dask.Batches(X, Y, batch=64, seed=1)
    with ckernels.dask.Trainer(mlp(), client) as quiet:
        expected = quiet.run(source, 40)
        state = quiet.fetch()
    slow = Slow(source, 0.03)
    with ckernels.dask.Trainer(mlp(), client, checkpoint=tmp_path, every=16) as trainer:
        pids = client.run(os.getpid)
        victim = pids[trainer.addresses[1]]
        threading.Timer(0.5, os.kill, (victim, signal.SIGKILL)).start()
        outputs = trainer.run(slow, 40)
        assert trainer.lost == 1 and trainer.steps == 40 and len(trainer.addresses) == 2
        assert outputs == expected and equal(trainer.fetch(), state)
        if link.possible():  # with the one that came, and nothing of that with the dead
            found = client.run(linked, trainer.name).values()
            assert [mapped for _, mapped in found] == [1, 1]
    with ckernels.dask.Trainer(mlp(), client, checkpoint=tmp_path, every=16) as resumed:
        assert resumed.steps == 32
        assert resumed.run(source, 8) == expected[32:] and equal(resumed.fetch(), state)


def waited_for(client, count):
    """Until the cluster has `count` workers."""
    while len(client.nthreads()) != count:
        time.sleep(0.05)


def test_a_worker_that_dask_gives_up_is_started_again_and_costs_no_bit(client):
    """Where Python starts slowly, Dask closes a worker before it is back, and starts no other."""
    source = ckernels.dask.Batches(X, Y, batch=64, seed=1)
    with ckernels.dask.Trainer(mlp(), client) as quiet:
        expected, state = quiet.run(source, 20), quiet.fetch()
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "0s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as other,
        ckernels.dask.Trainer(mlp(), other) as trainer,
    ):
        victim = other.run(os.getpid)[trainer.addresses[1]]
        threading.Timer(0.3, os.kill, (victim, signal.SIGKILL)).start()
        assert trainer.run(Slow(source, 0.05), 20) == expected
        assert trainer.lost >= 1 and len(trainer.addresses) == 2
        assert equal(trainer.fetch(), state)


@contextlib.contextmanager
def a_cluster(count, **options):
    """Workers of their own, which a test may kill; a loaded machine takes minutes to start one."""
    options = {"wait": 600, **options}
    with (
        LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as other,
        ckernels.dask.Trainer(mlp(), other, **options) as trainer,
    ):
        yield other, trainer


def test_a_worker_that_dies_before_its_state_is_fetched(client):
    source = ckernels.dask.Batches(X, Y, batch=64, seed=1)
    with ckernels.dask.Trainer(mlp(), client) as quiet:
        expected, state = quiet.run(source, 6), quiet.fetch()
    with a_cluster(2) as (other, trainer):
        assert trainer.run(source, 6) == expected
        os.kill(other.run(os.getpid)[trainer.addresses[0]], signal.SIGKILL)
        assert equal(trainer.fetch(), state)
        for pid in other.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)
        with pytest.warns(CKernelsWarning, match="all workers died: .* from step 0"):
            assert equal(trainer.fetch(), mlp_state())
            assert trainer.run(source, 6) == expected and equal(trainer.fetch(), state)


def mlp_state():
    return [
        np.asarray(v) for v in ckernels.bridges.replica.Replica(mlp(), True, None, None).state()
    ]


def test_the_worker_that_gives_its_state_dies_as_well(monkeypatch):
    """Of three workers one dies, and then the one whose state its replacement was to get."""
    monkeypatch.setattr(distributed.client, "_global_clients", {})  # no client is the default
    source = ckernels.dask.Batches(X, Y, batch=96, seed=1)
    with a_cluster(3) as (other, quiet):
        expected, state = quiet.run(source, 12), quiet.fetch()
    with a_cluster(3) as (other, trainer):
        pids, givers = other.run(os.getpid), []
        state_of = trainer.state_of

        def dying(address):
            if not givers:
                givers.append(address)
                os.kill(pids[address], signal.SIGKILL)
                while address in other.nthreads():
                    time.sleep(0.01)
            return state_of(address)

        monkeypatch.setattr(trainer, "state_of", dying)
        threading.Timer(0.3, os.kill, (pids[trainer.addresses[1]], signal.SIGKILL)).start()
        assert trainer.run(Slow(source, 0.05), 12) == expected
        assert givers and trainer.lost == 2 and len(trainer.addresses) == 3
        assert equal(trainer.fetch(), state)


class Killing:
    """A source that kills its worker in the middle of a step, at each of some steps once."""

    def __init__(self, source, folder, deaths):
        self.source, self.folder, self.deaths = source, folder, deaths

    def __call__(self, step, rank, size):
        found = self.source(step, rank, size)
        if self.deaths.get(step) == rank:
            with contextlib.suppress(FileExistsError):
                (self.folder / str(step)).touch(exist_ok=False)
                seconds = 0.02 * (step % 3)  # in the source, in the step, while sums are traded
                threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return found


@pytest.mark.slow
@pytest.mark.parametrize("patience", ["0s", "15s"])
def test_many_deaths_under_load_cost_no_bit_that_no_warning_names(tmp_path, patience):
    """What Dask allows a worker to be lost for decides nothing; other processes take the cores."""
    source, deaths = ckernels.dask.Batches(X, Y, batch=96, seed=1), {3: 1, 7: 0, 8: 2, 16: 1}
    with a_cluster(3) as (_, quiet):
        expected, state = quiet.run(source, 30), quiet.fetch()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        with (
            dask.config.set({"distributed.deploy.lost-worker-timeout": patience}),
            a_cluster(3) as (_, trainer),
            warnings.catch_warnings(record=True) as said,
        ):
            warnings.simplefilter("always")
            found = trainer.run(Killing(source, tmp_path, deaths), 30)
            if any("last bits" in str(w.message) for w in said):
                np.testing.assert_allclose(found, expected, rtol=1e-4)
            else:
                assert found == expected and equal(trainer.fetch(), state)
                assert len(trainer.addresses) == 3 and trainer.lost >= len(deaths)
                assert len(list(tmp_path.iterdir())) == len(deaths)
    finally:
        for process in busy:
            process.kill()
            process.wait()


def other_sizes(sizes):
    """Train a model of this process on batches of other sizes: its classes and plans are then
    those of another history."""
    f = mlp()
    for n in sizes:
        f(X[:n], Y[:n])


def test_workers_with_other_histories_give_the_same_bits(client, tmp_path):
    """One worker has planned for other sizes, one of them dies, and what comes has planned none."""
    source = ckernels.dask.Batches(X, Y, batch=64, seed=1)
    with ckernels.dask.Trainer(mlp(), client) as quiet:
        expected, state = quiet.run(source, 20), quiet.fetch()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as other,
    ):
        last = sorted(other.nthreads())[-1]
        other.run(other_sizes, (128, 1, 17, 16, 33), workers=[last])
        with ckernels.dask.Trainer(mlp(), other) as trainer:
            assert trainer.run(source, 8) == expected[:8]
            victim = other.run(os.getpid)[trainer.addresses[0]]
            threading.Timer(0.2, os.kill, (victim, signal.SIGKILL)).start()
            assert trainer.run(Slow(source, 0.05), 12) == expected[8:]
            assert trainer.lost >= 1 and equal(trainer.fetch(), state)


def test_nobody_is_waited_for_and_who_comes_later_takes_part():
    source = ckernels.dask.Batches(X, Y, batch=64, seed=1)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as other,
        ckernels.dask.Trainer(mlp(), other, wait=100_000) as trainer,
    ):
        trainer.run(source, 2)
        cluster.scale(1)
        waited_for(other, 1)
        with pytest.warns(CKernelsWarning, match="from step 2 with 1 of 2 workers.*last bits"):
            trainer.run(source, 2)
        assert trainer.lost == 1 and len(trainer.addresses) == 1
        cluster.scale(2)
        waited_for(other, 2)
        trainer.run(source, 2)
        assert trainer.steps == 6 and len(trainer.addresses) == 2
        found = other.run(lambda name: digest(name), trainer.name)
        assert len(found) == 2 and len(set(found.values())) == 1


def test_all_workers_forget_and_one_never_comes(client, tmp_path):
    source = ckernels.dask.Batches(X, Y, batch=64, seed=1)
    with ckernels.dask.Trainer(mlp(), client) as quiet:
        expected = quiet.run(source, 30)
        state = quiet.fetch()
    with ckernels.dask.Trainer(mlp(), client, checkpoint=tmp_path, every=8, wait=0) as trainer:
        trainer.run(source, 20)
        trainer.close()  # as if all had been started again
        with pytest.warns(CKernelsWarning, match="goes on from step 16"):
            assert trainer.run(source, 10) == expected[20:]
        assert trainer.steps == 30 and equal(trainer.fetch(), state)
        client.run(member.leave, trainer.name, workers=trainer.addresses[1:])  # one alone
        trainer.run(source, 2)  # the other does not wait for it
        assert trainer.steps == 32 and trainer.lost == 0
        trainer.addresses.append("tcp://127.0.0.1:9")  # a third worker, which has gone
        with pytest.warns(CKernelsWarning, match="from step 32 with 2 of"):
            found = trainer.run(source, 3)
        assert trainer.lost == 1 and len(trainer.addresses) == 2 and len(found) == 3


def test_a_full_disk_costs_checkpoints_and_no_step(client, mounted):
    folder = mounted("size=64k,mode=755") / "states"
    source = ckernels.dask.Batches(X, Y, batch=64, seed=1)
    with ckernels.dask.Trainer(mlp(), client) as quiet:
        expected = quiet.run(source, 30)
        state = quiet.fetch()
    with ckernels.dask.Trainer(mlp(), client, checkpoint=folder, every=1, keep=30) as trainer:
        with pytest.warns(CKernelsWarning, match="No space left on device.*training goes on"):
            assert trainer.run(source, 30) == expected
        assert equal(trainer.fetch(), state)
    kept = Checkpoints(folder).steps()
    assert kept == list(range(1, len(kept) + 1)) and 0 < len(kept) < 30
    assert len(os.listdir(folder)) == len(kept)  # nothing half written is left
    with ckernels.dask.Trainer(mlp(), client, checkpoint=folder, every=100) as resumed:
        assert resumed.steps == kept[-1]
        assert resumed.run(source, 30 - kept[-1]) == expected[kept[-1] :]
        assert equal(resumed.fetch(), state)


@pytest.fixture
def other(client, tmp_path, request):
    """(address, process) of a third worker; the parameter is its flags."""
    flags = f"{request.param},base_compiledir={tmp_path / 'other'}".lstrip(",")
    command = [sys.executable, "-m", "distributed.cli.dask_worker", client.scheduler.address]
    process = subprocess.Popen(
        [*command, "--nthreads=1", "--no-nanny", "--no-dashboard", "--name=other"],
        env={**os.environ, "CKERNELS_FLAGS": flags, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path,
    )
    before = set(client.nthreads())
    client.wait_for_workers(len(before) + 1, timeout=60)
    (address,) = set(client.nthreads()) - before
    yield address, process
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait()
    while address in client.nthreads():
        time.sleep(0.05)


def pair_of(client, other):
    """The addresses of a worker of the cluster's own and of that."""
    return [next(w for w in client.nthreads() if w != other[0]), other[0]]


@pytest.mark.parametrize("other", ["arch=generic"], indirect=True)
def test_a_worker_with_another_cpu_builds_its_own_kernels(client, other):
    source = ckernels.dask.Batches(X, Y, batch=64, seed=1)
    pair = pair_of(client, other)
    client.run(compiled, workers=pair)  # counting begins
    with ckernels.dask.Trainer(mlp(), client, pair) as trainer:
        trainer.run(source, 20)
        found = client.run(keys_of_all, trainer.name, workers=pair)
        assert client.run(compiled, workers=pair)[other[0]] == len(found[other[0]]) > 0
        assert not set(found[pair[0]]) & set(found[other[0]])
        trainer.run(source, 10)
        digests = client.run(lambda name: digest(name), trainer.name, workers=pair)
        assert len(set(digests.values())) == 1 or trainer.corrected
        state = trainer.fetch()
    with ckernels.dask.Trainer(mlp(), client, 2) as alike:
        alike.run(source, 30)
        for a, b in zip(alike.fetch(), state, strict=True):
            assert np.abs(a - b).max() <= 32 * np.spacing(np.abs(a).max())


def keys_of_all(name):
    """The keys of the kernels that a trainer runs on this worker."""
    from ckernels.bridges.dask import member

    split = member._members[name].replica.split
    return [kernel["key"] for f in split[:2] for kernel in f.info.stats()["kernels"]]


@pytest.mark.parametrize("other", [""], indirect=True)  # of the same CPU: of the same bits
def test_a_worker_that_stands_still_is_waited_for(client, other):
    source = ckernels.dask.Batches(X, Y, batch=64, seed=1)
    pair, process = pair_of(client, other), other[1]
    with ckernels.dask.Trainer(mlp(), client, pair) as quiet:
        expected = quiet.run(source, 40)
        state = quiet.fetch()
    begin = time.monotonic()
    with ckernels.dask.Trainer(mlp(), client, pair) as trainer, woken(process, 1.0):
        assert trainer.run(Stopping(source), 40) == expected
        assert time.monotonic() - begin > 1.0 and trainer.lost == 0
        assert equal(trainer.fetch(), state)
    with ckernels.dask.Trainer(mlp(), client, pair, timeout=0.5) as trainer:
        with (
            woken(process, 1.5),
            pytest.raises(TimeoutError, match=r"for 0.5 s in step \d+: it hangs"),
        ):
            trainer.run(Stopping(source), 40)
        done = trainer.steps
        assert 5 <= done < 20  # a process that stops itself stands after some steps more
        assert trainer.run(source, 40 - done) == expected[done:]
        assert equal(trainer.fetch(), state)


@contextlib.contextmanager
def woken(process, seconds):
    """Lets a process that stops itself go on, `seconds` after it did."""

    def watch():
        while open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()[0] != "T":
            time.sleep(0.02)
        time.sleep(seconds)
        process.send_signal(signal.SIGCONT)

    thread = threading.Thread(target=watch)
    thread.start()
    yield
    thread.join(60)
    assert not thread.is_alive()


class Stopping:
    """A source that stops the process of rank 1 in step 5, as a debugger or a sick machine does."""

    def __init__(self, source):
        self.source = source

    def __call__(self, step, rank, size):
        if (step, rank) == (5, 1):
            os.kill(os.getpid(), signal.SIGSTOP)
        return self.source(step, rank, size)


class Slow:
    """A source that takes its time, and on one worker stops it for a moment."""

    def __init__(self, source, seconds):
        self.source, self.seconds = source, seconds

    def __call__(self, step, rank, size):
        time.sleep(self.seconds * (1 + rank))
        return self.source(step, rank, size)


class Failing(Slow):
    def __call__(self, step, rank, size):
        if step == 5 and rank == 1:
            raise FloatingPointError("bad data in step 5")
        return self.source(step, rank, size)


def test_an_error_of_the_users_ends_all_and_training_goes_on(client):
    source = ckernels.dask.Batches(X, Y, batch=64)
    with ckernels.dask.Trainer(mlp(), client) as trainer:
        with pytest.raises(FloatingPointError, match="step 5"):
            trainer.run(Failing(source, 0), 10)
        assert trainer.steps == 5
        trainer.run(source, 5)
        with ckernels.dask.Trainer(mlp(), client) as quiet:
            quiet.run(source, 10)
            assert equal(trainer.fetch(), quiet.fetch())
    with pytest.raises(ArgumentError, match="has 2 workers, 5 are to train"):
        ckernels.dask.Trainer(mlp(), client, 5)
    with pytest.raises(ArgumentError, match="is named twice"):
        ckernels.dask.Trainer(mlp(), client, 2 * list(client.nthreads()))


def profiled(dask_worker):
    return dask_worker.periodic_callbacks["profile"].is_running()


class Unwatched:
    """A source that waits until the worker's profiler rests; worker 1 fails in step 2."""

    def __init__(self, inner):
        self.inner = inner

    def __call__(self, step, rank, size):
        worker, end = get_worker(), time.monotonic() + 10
        while profiled(worker):
            if time.monotonic() > end:
                raise TimeoutError("the profiler goes on")
            time.sleep(0.01)
        if (step, rank) == (2, 1):
            raise FloatingPointError("step 2")
        return self.inner(step, rank, size)


def test_the_profiler_rests_while_a_worker_trains(client):
    source = ckernels.dask.Batches(X, Y, batch=64)
    with ckernels.dask.Trainer(mlp(), client) as trainer:
        with pytest.raises(FloatingPointError):
            trainer.run(Unwatched(source), 5)
        assert trainer.steps == 2 and all(client.run(profiled).values())
        trainer.run(source, 3)
        assert all(client.run(profiled).values())


# ---- links ---------------------------------------------------------------------------------------


def linked(name):
    """{rank: whether it is reached by a link} on a worker, and how much memory links hold."""
    from ckernels.bridges.dask import member

    with open("/proc/self/maps") as maps:
        mapped = sum("memfd:ckernels-link" in line for line in maps)
    own = member._members.get(name)
    return own and {rank: found is not None for rank, found in own.links.items()}, mapped


@pytest.mark.skipif(not link.possible(), reason="this system has no memory without a name")
def test_links_and_messages_give_the_same_bits_and_leave_nothing(client):
    source = ckernels.dask.Batches(X, Y, batch=65, seed=1)  # ranks have 32 and 33 rows
    with ckernels.dask.Trainer(mlp(), client, shared=False) as trainer:
        expected = trainer.run(source, 12), trainer.fetch()
        found = client.run(linked, trainer.name)
        assert sorted(map(str, found.values())) == ["({0: False}, 0)", "({1: False}, 0)"]
    with ckernels.dask.Trainer(mlp(), client) as trainer:
        outputs = trainer.run(source, 5) + trainer.run(source, 7)
        found = client.run(linked, trainer.name)
        assert sorted(map(str, found.values())) == ["({0: True}, 1)", "({1: True}, 1)"]
        assert outputs == expected[0] and equal(trainer.fetch(), expected[1])
    assert [mapped for _, mapped in client.run(linked, trainer.name).values()] == [0, 0]


@pytest.mark.skipif(not link.possible(), reason="this system has no memory without a name")
@pytest.mark.parametrize("problem", ["no memory", "another computer"])
def test_without_a_link_messages_serve(client, problem):
    source = ckernels.dask.Batches(X, Y, batch=64, seed=1)
    with ckernels.dask.Trainer(mlp(), client) as trainer:
        expected = trainer.run(source, 6), trainer.fetch()
    client.run(hinder, problem)
    try:
        with ckernels.dask.Trainer(mlp(), client) as trainer:
            assert trainer.run(source, 6) == expected[0] and equal(trainer.fetch(), expected[1])
            assert [k for k, _ in client.run(linked, trainer.name).values()] in (
                [{1: False}, {0: False}],
                [{0: False}, {1: False}],
            )
    finally:
        client.run(hinder, None)


def hinder(problem):
    """Make links impossible on this worker, as a system does that has no memory or is elsewhere."""
    import resource

    from ckernels.bridges.dask import link

    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    soft = link.SLOT if problem == "no memory" else hard
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    if not hasattr(hinder, "door"):
        hinder.door = link.door
    link.door = shut if problem == "another computer" else hinder.door


def shut():
    """A door nobody is behind: its name is known on another computer only."""
    listening = hinder.door()
    return types.SimpleNamespace(getsockname=lambda: listening.getsockname() + b"elsewhere")


@pytest.mark.skipif(not link.possible(), reason="this system has no memory without a name")
def test_ends_of_links_trust_nobody():
    with link.door() as listening:  # memory that could shrink under its reader
        knocking = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        knocking.connect(listening.getsockname())
        fd = os.memfd_create("mine")
        os.ftruncate(fd, 4 * link.SLOT)
        socket.send_fds(knocking, [b"m"], [fd])
        with pytest.raises(PermissionError, match="may shrink"):
            link.opened(listening)
        os.close(fd)
        name = listening.getsockname() if listening.fileno() >= 0 else knocking.getpeername()
    with pytest.raises(ConnectionRefusedError):  # the door was open once
        link.knock(name)
    mine, other = pair(256)
    parts = [np.ones(3, "float32")]
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(TimeoutError):
            mine.trade(1, parts, True, np.copyto, 0.05)
        waiting = pool.submit(other.trade, 2, parts, True, np.copyto, 20)
        with pytest.raises(ConnectionError, match="the other end is at"):
            waiting.result(20)  # of another step
        waiting = pool.submit(mine.trade, 3, parts, True, np.copyto, 20)
        other.close()
        with pytest.raises(ConnectionError):
            waiting.result(20)


def pair(size):
    """Two ends of a link with slots of `size` bytes, in this process."""
    memory = mmap.mmap(-1, 4 * size)
    return [link.Link(s, memory, side) for side, s in enumerate(socket.socketpair())]


@pytest.mark.parametrize("way", ["messages", "links"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_sums_have_the_same_bits_on_all_workers(size, way):
    parts = [
        [RNG.normal(size=(30, 41)).astype("float32"), np.ones(1), np.ones(()), np.ones((0, 2))]
        for _ in range(size)
    ]
    expected = [np.sum([p[k].astype("float64") for p in parts], axis=0) for k in range(4)]
    by_tree = tree([p[0] for p in parts])
    ranks, links = range(size), {}
    mail = {(a, w, b): queue.Queue() for a in ranks for b in ranks for w in ("in", "out", 1, 2, 4)}
    if way == "links":  # of few bytes: a part takes many loads
        for a in range(size):
            for b in range(a):
                links[b, a], links[a, b] = pair(512)

    class Alone(member.Member):
        """A rank without a network."""

        def __init__(self, rank):
            self.rank, self.addresses, self.timeout, self.stopped = rank, range(size), 20, False
            self.replica = types.SimpleNamespace(step=7)

        def link(self, rank):
            return links.get((self.rank, rank))

        def send(self, rank, what, arrays):
            mail[self.rank, what, rank].put([a.copy() for a in arrays])

        def receive(self, rank, what):
            return mail[rank, what, self.rank].get(timeout=20)

        def sent(self, sending):
            pass

    with ThreadPoolExecutor(size) as pool:
        found = list(pool.map(lambda rank: Alone(rank).summed(parts[rank]), range(size)))
    for sums in found:
        assert equal(sums, found[0])
    assert np.array_equal(found[0][0], by_tree)
    np.testing.assert_allclose(found[0][0], expected[0], atol=1e-5)
    assert found[0][1] == found[0][2] == size


def tree(arrays):
    """The sum in the order of the trees: those above a power of two first, then pairs."""
    whole = 1 << len(arrays).bit_length() - 1
    rows = [a + arrays[k + whole] if k + whole < len(arrays) else a
            for k, a in enumerate(arrays[:whole])]  # fmt: skip
    while len(rows) > 1:
        rows = [a + b for a, b in zip(rows[::2], rows[1::2])]
    return rows[0]
