"""What many machines cost: tasks of Dask, steps of training, and a simulation of larger clusters.

    python -m benchmarks.distributed            tasks, steps, simulation
    python -m benchmarks.distributed kernels workers        other parts, by name

`tasks` compares map_blocks with dask.array.map_blocks of a NumPy function, on the CPU clock of one
process that is client, scheduler and worker: what others do on the machine does not count. `steps`
measures on the CPU clock what one worker does in a step. The simulation puts these costs, the
sizes of the messages and the costs of messages on this machine into a network model, stated below;
it measures no network. `kernels` counts what eight workers with empty compiledirs compile.
`workers` compares two workers of one thread each with one process of two threads by the wall clock:
it needs two cores that have nothing else to do. `workers mlp 1024` measures one model and size.
"""

import functools
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import ckernels as K
from ckernels.bridges.replica import Replica, rows_of

# The network of the simulation: a message of n bytes takes WIRE + n / BANDWIDTH seconds more than
# the same message between two processes of this machine, which `messages` measures. Each machine
# sends one and receives one at a time, and nobody shares a link.
WIRE = 20e-6  # seconds
BANDWIDTH = 1.25e9  # bytes/s: 10 Gbit/s
SIZES = (1, 2, 8, 64, 512)
ROWS = (128, 1024, 4096)  # per machine


def cpu(run, repeat):
    """CPU seconds of a call: the median of `repeat`."""
    found = []
    for _ in range(repeat):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return statistics.median(found)


# ---- tasks ---------------------------------------------------------------------------------------


def tasks(blocks=400, repeat=6):
    """Microseconds of CPU per task: NumPy's function, ours."""
    import dask.array as da
    from distributed import Client

    import ckernels.dask

    x = K.placeholder((None,), name="x")
    f = K.function([x], K.tanh(x), name="tanh")
    data = da.zeros(blocks * 8, chunks=8, dtype="float32")
    ours = ckernels.dask.map_blocks(f, data)
    numpys = data.map_blocks(np.tanh, dtype="float32", meta=np.empty(0, "float32"))
    rows = []
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as c:
        c.gather(c.compute(ckernels.dask.map_blocks(f, data[:80])))  # builds the kernel
        for name, scheduler in (("one thread", "sync"), ("distributed", c)):
            costs = {"numpy": [], "ours": []}
            for _ in range(repeat):  # in turns: what drifts, drifts for both
                for key, array in (("numpy", numpys), ("ours", ours)):
                    start = time.process_time()
                    array.compute(scheduler=scheduler)
                    costs[key].append((time.process_time() - start) / blocks * 1e6)
            a, b = (min(costs[k]) for k in ("numpy", "ours"))
            rows.append((name, a, b, b / a))
    print(f"CPU us per task, best of {repeat} runs of {blocks} tasks of 8 elements")
    print(f"{'scheduler':<14}{'numpy':>9}{'ckernels':>10}{'ratio':>8}")
    for name, a, b, ratio in rows:
        print(f"{name:<14}{a:>9.1f}{b:>10.1f}{ratio:>8.2f}")


# ---- steps ---------------------------------------------------------------------------------------


def mlp(sizes=(784, 512, 512, 10)):
    rng = np.random.default_rng(1)
    x, y = K.placeholder((None, sizes[0])), K.placeholder((None,), dtype="int32")
    h, weights = x, []
    for n, m in zip(sizes, sizes[1:]):
        weights += [K.variable(rng.normal(size=(n, m)) / math.sqrt(n)), K.zeros((m,))]
        h = K.dot(h, weights[-2]) + weights[-1]
        h = K.softmax(h) if m == sizes[-1] else K.relu(h)
    loss = K.mean(K.sparse_categorical_crossentropy(h, y))
    updates = [(w, w - 0.01 * g) for w, g in zip(weights, K.gradients(loss, weights))]
    return K.function([x, y], loss, updates)


def steps(repeat=5):
    """{rows: (seconds of the part, of applying, of the plain function)}, bytes of a message."""
    K.set_num_threads(1)
    rng, found = np.random.default_rng(2), {}
    plain, replica = mlp(), Replica(mlp())
    for rows in ROWS:
        x = rng.normal(size=(rows, 784)).astype("float32")
        given = rows_of([x, rng.integers(0, 10, rows).astype("int32")], 0, 1)
        parts = replica.part(given)
        replica.apply(parts, given)
        plain(*given)
        count = max(3, repeat * 1024 // max(rows, 1024))
        found[rows] = (
            cpu(lambda given=given: replica.part(given), count),
            cpu(lambda given=given, parts=parts: replica.apply(parts, given), count),
            cpu(lambda given=given: plain(*given), count),
        )
    size = sum(p.nbytes for p in parts)
    print(f"MLP 784-512-512-10, one thread, CPU ms of a step; a message has {size / 1e6:.2f} MB")
    print(f"{'rows':>6}{'gradients':>11}{'updates':>9}{'plain step':>12}")
    for rows, costs in found.items():
        print(f"{rows:>6}{costs[0] * 1e3:>11.2f}{costs[1] * 1e3:>9.2f}{costs[2] * 1e3:>12.2f}")
    return found, size


# ---- two workers ---------------------------------------------------------------------------------


def cnn(side=28, filters=(16, 32), hidden=128):
    rng = np.random.default_rng(1)
    x, y = K.placeholder((None, side, side, 1)), K.placeholder((None,), dtype="int32")
    h, weights, channels = x, [], 1
    for count in filters:
        k = K.variable(rng.normal(size=(3, 3, channels, count)) / math.sqrt(9 * channels))
        weights += [k, K.zeros((count,))]
        h = K.relu(K.bias_add(K.conv2d(h, k, padding="same"), weights[-1]))
        h, channels = K.pool2d(h, (2, 2), (2, 2)), count
    sizes = ((side // 4) ** 2 * channels, hidden, 10)
    h = K.reshape(h, (-1, sizes[0]))
    for n, m in zip(sizes, sizes[1:]):
        weights += [K.variable(rng.normal(size=(n, m)) / math.sqrt(n)), K.zeros((m,))]
        h = K.dot(h, weights[-2]) + weights[-1]
        h = K.softmax(h) if m == 10 else K.relu(h)
    loss = K.mean(K.sparse_categorical_crossentropy(h, y))
    updates = [(w, w - 0.01 * g) for w, g in zip(weights, K.gradients(loss, weights))]
    return K.function([x, y], loss, updates)


MODELS = {"mlp": (mlp, (784,)), "cnn": (cnn, (28, 28, 1))}
TURN = {"mlp": 40, "cnn": 10}  # steps of 1024 rows in a turn; a turn is one call of Trainer.run


@functools.cache
def rows(shape, batch, rank, size):
    """The rows of a machine, which each process makes once."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(batch, *shape)).astype("float32")
    y = rng.integers(0, 10, batch).astype("int32")
    return [np.array(a) for a in rows_of([x, y], rank, size)]


class Rows:
    """A source of steps that costs nothing."""

    def __init__(self, name, batch):
        self.shape, self.batch = MODELS[name][1], batch

    def __call__(self, step, rank, size):
        return rows(self.shape, self.batch, rank, size)


def stolen():
    """Seconds that other guests of this computer had our cores, added over them; 0 on real ones."""
    try:
        with open("/proc/stat") as stream:
            return int(stream.readline().split()[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def turns(run, count=8, repeat=5):
    """(seconds of a step, share of the time that was stolen) of the least disturbed turn.

    `run(n)` makes n steps. A machine that is a guest may be given less than its cores; what was
    taken from it in a turn is not counted.
    """
    run(3)
    found, cores = [], os.cpu_count()
    for _ in range(repeat):
        start, before = time.perf_counter(), stolen()
        run(count)
        taken = time.perf_counter() - start
        lost = min(0.9 * taken, (stolen() - before) / cores)
        found.append((lost / taken, (taken - lost) / count))
    share, seconds = min(found)
    return seconds, share


def one(name, batch):
    """One process of all threads: the training function as it is."""
    f, given = MODELS[name][0](), Rows(name, batch)(0, 0, 1)

    def run(count):
        for _ in range(count):
            f(*given)

    return turns(run, steps_of(name, batch))


def steps_of(name, batch):
    return max(5, TURN[name] * 1024 // batch)


def ranks(name, batch):
    """This rank's part of steps over MPI; every rank makes the same number of them."""
    from ckernels.mpi import Trainer

    trainer, source = Trainer(MODELS[name][0]()), Rows(name, batch)
    given = source(0, trainer.rank, trainer.size)

    def run(count):
        for _ in range(count):
            trainer.step(*given)

    return turns(run, steps_of(name, batch))


def cluster(name, batch):
    """Two workers of Dask with one thread each; a turn is one call of `run`."""
    from distributed import Client, LocalCluster

    from ckernels.dask import Trainer

    made = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with made, Client(made) as client, Trainer(MODELS[name][0](), client) as trainer:
        source = Rows(name, batch)
        return turns(lambda count: trainer.run(source, count), steps_of(name, batch))


PEERS = ("one", "MPI", "Dask")


def child(way, name, batch):
    """(seconds of a step, share of stolen time), measured in processes of their own."""
    command = [sys.executable, "-m", "benchmarks.distributed", "child", way, name, str(batch)]
    env = {**os.environ, "OMP_NUM_THREADS": WAYS[way][1]}
    if way.startswith("MPI"):
        beside = os.path.join(os.path.dirname(sys.executable), "mpirun")
        mpirun = beside if os.path.exists(beside) else shutil.which("mpirun")
        env.update({f"OMPI_ALLOW_RUN_AS_ROOT{end}": "1" for end in ("", "_CONFIRM")})
        both = [mpirun, "--oversubscribe", "-n", "2", sys.executable, "-m", "mpi4py"]
        command = both + command[1:]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
    return max(tuple(json.loads(x)) for x in done.stdout.splitlines() if x[:1] == "[")


def workers(names=tuple(MODELS), batches=(1024, 4096)):
    """Steps of one process with two threads, and of two workers with one each."""
    print("ms of a step by the wall clock: one process of two threads, two workers of one")
    print(f"{'model':<7}{'batch':>6}{'one':>9}{'MPI':>9}{'':>6}{'Dask':>9}{'':>6}  stolen")
    for name in names:
        for batch in batches:
            found, most = dict.fromkeys(PEERS, math.inf), 0.0
            for way in 2 * PEERS:  # in turns: what drifts, drifts for all
                seconds, share = child(way, name, batch)
                found[way], most = min(found[way], seconds * 1e3), max(most, share)
            line = "".join(
                f"{found[w]:>9.2f}{100 * found['one'] / found[w]:>5.0f}%" for w in ("MPI", "Dask")
            )
            print(f"{name:<7}{batch:>6}{found['one']:>9.2f}{line}{100 * most:>8.0f}%", flush=True)


# ---- kernels -------------------------------------------------------------------------------------


def kernels(count=8):
    """How often each kernel is built when `count` workers with empty compiledirs run functions."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    import ckernels.dask

    x = K.placeholder((None, None), name="x")
    functions = [K.function([x], y) for y in (K.tanh(x) * 0.31, K.softmax(x), K.exp(-x) + 2)]
    data = da.ones((64 * count, 32), chunks=(4, 32), dtype="float32")
    with tempfile.TemporaryDirectory() as place:
        made = LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None)
        with made, Client(made) as client:
            for k, address in enumerate(client.nthreads()):
                client.run(empty, os.path.join(place, str(k)), workers=[address])
            dask.compute(*(ckernels.dask.map_blocks(f, data) for f in functions))
            found = client.run(built)
    print(
        f"{count} workers, {len(functions)} functions: kernels built by each {list(found.values())}"
    )


def empty(place):
    """On a worker: a compiledir of its own, and count from now on what is compiled."""
    from ckernels import compiler
    from ckernels.base.config import config

    config.compiledir, inner = place, compiler._compile_all
    compiler.counted = []

    def counting(missing, tools):
        compiler.counted += missing
        return inner(missing, tools)

    compiler._compile_all = counting


def built():
    from ckernels import compiler

    return len(compiler.counted)


# ---- messages ------------------------------------------------------------------------------------


def rank_sums(name, size):
    """Seconds of Allreduce of `size` bytes over the ranks of this program."""
    from mpi4py import MPI

    array = np.zeros(max(1, size // 4), "float32")

    def run(count):
        for _ in range(count):
            MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, array)

    return turns(run, 40)


def worker_sums(name, size, shared=False):
    """Seconds in which two workers of Dask add up `size` bytes, by messages or in shared memory."""
    from distributed import Client, LocalCluster, wait

    from ckernels.dask import Trainer

    x, w = K.placeholder((None,)), K.variable(1.0)
    f = K.function([x], K.mean(x * w), [(w, w - K.grad(K.mean(x * w), w))])
    made = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with made, Client(made) as client, Trainer(f, client, shared=shared) as trainer:
        trainer.step(np.ones(4, "float32"))  # ranks know each other from here on

        def run(count):
            jobs = [
                client.submit(summed, trainer.name, size, count, workers=[w], pure=False)
                for w in trainer.addresses
            ]
            wait(jobs)

        return turns(run, 40)


def summed(name, size, count):
    """On a worker: `count` sums of `size` bytes over all workers of a trainer."""
    from ckernels.bridges.dask import member

    own, parts = member._members[name], [np.zeros(max(1, size // 4), "float32")]
    for _ in range(count):
        own.replica.step += 1  # mail is addressed to steps
        own.summed(parts)


def messages(size):
    """{way: (seconds of a sum over two machines, seconds more for each byte)}."""
    found = {}
    for way in ("MPI", "Dask", "Dask shared"):
        least, most = (child(f"{way} sums", "", n)[0] for n in (8, size))
        found[way] = least, max(0.0, most - least) / size
        print(
            f"{way}: two processes add up 8 bytes in {least * 1e6:.0f} us, "
            f"{size / 1e6:.2f} MB in {most * 1e3:.2f} ms"
        )
    return found


# ---- simulation ----------------------------------------------------------------------------------


def communication(way, message, size, count):
    """Seconds in which `count` machines get the sum of their messages of `size` bytes.

    message: what `messages` found for two processes: latency, seconds for each byte.
    """
    if count == 1:
        return 0.0
    levels, (least, each) = math.ceil(math.log2(count)), message
    if way == "MPI":  # reduce-scatter and allgather: 2 log2 N messages, 2 (N - 1) / N of the bytes
        moved = 2 * size * (count - 1) / count
        return levels * (least + 2 * WIRE) + moved * (each + 1 / BANDWIDTH)
    return levels * (least + WIRE + size * (each + 1 / BANDWIDTH))  # all of it in each round


def simulation(found=None, size=None):
    """Weak scaling, with the measured costs: what of a step is not communication."""
    if found is None:
        found, size = steps()
    costs = messages(size)
    print("efficiency against one machine that has these rows alone:")
    print(f"{'':<6}{'rows':>6}" + "".join(f"{n:>8}" for n in SIZES[1:]))
    for way, message in costs.items():
        if way == "Dask shared":  # no two machines share memory
            continue
        for rows, (part, apply, _) in found.items():
            work = part + apply
            line = [work / (work + communication(way, message, size, count)) for count in SIZES[1:]]
            print(f"{way:<6}{rows:>6}" + "".join(f"{100 * e:>7.0f}%" for e in line))


WAYS = {  # of a child: what it measures, threads of each process
    "one": (one, "2"),
    "MPI": (ranks, "1"),
    "Dask": (cluster, "1"),
    "MPI sums": (rank_sums, "1"),
    "Dask sums": (worker_sums, "1"),
    "Dask shared sums": (functools.partial(worker_sums, shared=True), "1"),
}


def main(parts):
    parts = parts or ["tasks", "steps", "simulation"]
    if parts[0] == "child":
        print(json.dumps(WAYS[parts[1]][0](parts[2], int(parts[3]))), flush=True)
        return
    if "workers" in parts:
        sizes = tuple(int(p) for p in parts if p.isdigit())
        names = tuple(p for p in parts if p in MODELS)
        workers(names or tuple(MODELS), sizes or (1024, 4096))
    if "kernels" in parts:
        kernels()
    if "tasks" in parts:
        tasks()
    found = steps() if "steps" in parts else (None, None)
    if "simulation" in parts:
        simulation(*found)


if __name__ == "__main__":
    main(sys.argv[1:])
