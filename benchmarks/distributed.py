"""What many machines cost: tasks of Dask, steps of training, and a simulation of larger clusters.

    python -m benchmarks.distributed            all of it
    python -m benchmarks.distributed tasks      one part: tasks, steps, simulation

`tasks` compares map_blocks with dask.array.map_blocks of a NumPy function, on the CPU clock of one
process that is client, scheduler and worker: what others do on the machine does not count. `steps`
measures on the CPU clock what one worker does in a step. The simulation puts these costs and the
sizes of the messages into a network model, stated below; it measures no network.
"""

import math
import statistics
import sys
import time

import numpy as np

import ckernels as K
from ckernels.bridges.replica import Replica, rows_of

# The network of the simulation: a message of n bytes takes LATENCY + n / BANDWIDTH seconds, each
# machine sends one and receives one at a time, and nobody shares a link.
LATENCY = {"MPI": 5e-6, "Dask": 1.5e-3}  # seconds: of a message; of a call through tornado
BANDWIDTH = 1.25e9  # bytes/s: 10 Gbit/s
COPIES = {"MPI": 0.0, "Dask": 2.0}  # times a message passes through memory at each end
MEMORY = 4e9  # bytes/s of one core that copies or adds
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


def tasks(blocks=400, repeat=3):
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


# ---- simulation ----------------------------------------------------------------------------------


def communication(way, size, count):
    """Seconds in which `count` machines get the sum of their messages of `size` bytes."""
    if count == 1:
        return 0.0
    levels, latency = math.ceil(math.log2(count)), LATENCY[way]
    if way == "MPI":  # reduce-scatter and allgather: 2 log2 N messages, 2 (N - 1) / N of the bytes
        moved = 2 * size * (count - 1) / count
        return 2 * levels * latency + moved / BANDWIDTH + moved / 2 / MEMORY
    once = latency + size / BANDWIDTH + 2 * COPIES[way] * size / MEMORY  # whole messages, up and
    return 2 * levels * once + levels * size / MEMORY  # down a tree, added on the way up


def simulation(found=None, size=None):
    """Weak scaling, with the measured costs: what of a step is not communication."""
    if found is None:
        found, size = steps()
    print("efficiency against one machine that has these rows alone:")
    print(f"{'':<6}{'rows':>6}" + "".join(f"{n:>8}" for n in SIZES[1:]))
    for way in LATENCY:
        for rows, (part, apply, _) in found.items():
            work = part + apply
            line = [work / (work + communication(way, size, count)) for count in SIZES[1:]]
            print(f"{way:<6}{rows:>6}" + "".join(f"{100 * e:>7.0f}%" for e in line))


def main(parts):
    parts = parts or ["tasks", "steps", "simulation"]
    if "tasks" in parts:
        tasks()
    found = steps() if "steps" in parts else (None, None)
    if "simulation" in parts:
        simulation(*found)


if __name__ == "__main__":
    main(sys.argv[1:])
