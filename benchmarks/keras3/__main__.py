"""`python -m benchmarks.keras3`: see the package. One process measures one program and prints JSON.

Times are processor seconds of a process and of the compilers it waited for, with one thread each:
they may be compared where other programs are busy. With WALL=1 in the environment they are wall
times, and threads are left to each backend: for a quiet machine. The first batch counts from the
compiled model; Keras's import and the building of layers are apart. "cached" is a second process,
"cold" one with an empty compiledir; JAX and torch keep nothing between processes.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from statistics import median

BATCHES = 30  # in an epoch, but for LONG programs; the best of EPOCHS counts
EPOCHS = 5
ONE_THREAD = {
    **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")},
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


def spent():
    """Processor seconds of this process and of the children it has waited for."""
    found = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(r.ru_utime + r.ru_stime for r in found)


def timed(function, *args, **options):
    clock = time.perf_counter if os.environ.get("WALL") else spent
    start = clock()
    function(*args, **options)
    return clock() - start


def child(name):
    """Measure a program with the backend that KERAS_BACKEND names."""
    if os.environ["KERAS_BACKEND"] == "ckernels":
        import ckernels.keras3  # noqa: F401 (before Keras is)
    import numpy as np

    from benchmarks.keras3.programs import LONG, PROGRAMS

    imported = spent()
    model, x, y = PROGRAMS[name]()
    first = timed(model.train_on_batch, x, y)
    batches = LONG.get(name, BATCHES)
    many = [np.tile(a, (batches, *[1] * (a.ndim - 1))) for a in (x if isinstance(x, list) else [x])]
    many, answers = many if isinstance(x, list) else many[0], np.concatenate([y] * batches)
    options = {"batch_size": len(y), "verbose": 0, "shuffle": False}
    model.fit(many, answers, **options)
    batch = min(timed(model.fit, many, answers, **options) for _ in range(EPOCHS)) / batches
    few = [a[:32] for a in x] if isinstance(x, list) else x[:32]
    model.predict_on_batch(few)
    predict = median(timed(model.predict_on_batch, few) for _ in range(5 if name in LONG else 50))
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([imported, first, batch * 1e3, predict * 1e3, rss]))


def measured(name, backend, compiledir):
    """[import, first batch, a batch in ms, a prediction in ms, MB] of a process of its own."""
    flags = f"base_compiledir={compiledir}"
    threads = {} if os.environ.get("WALL") else ONE_THREAD
    environment = {**os.environ, **threads, "KERAS_BACKEND": backend, "CKERNELS_FLAGS": flags}
    command = [sys.executable, "-m", "benchmarks.keras3", "--child", name]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3600)
    if run.returncode:
        raise SystemExit(f"{name} with {backend}:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def table(names, backends):
    """Yield the lines of the table as they are measured."""
    yield "| program | backend | import s | first batch s | batch ms | predict 32 ms | MB |"
    yield "|---|---|---|---|---|---|---|"
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            rows = [("ckernels, cold", "ckernels")] if "ckernels" in backends else []
            for title, backend in rows + [(b, b) for b in backends]:
                found = measured(name, backend, folder)
                figures = "{:.2f} | {:.3f} | {:.3f} | {:.3f} | {:.0f}".format(*found)
                yield f"| {name} | {title} | {figures} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--backends", nargs="+", default=["ckernels", "jax", "torch"])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        return child(asked.child)
    names = (
        "dense mlp convnet residual lstm text transformer recommender autoencoder unet blocks "
        "resnet"
    ).split()
    for line in table(asked.only or names, asked.backends):
        print(line, flush=True)


if __name__ == "__main__":
    main()
