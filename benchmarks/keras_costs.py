"""What a batch of Keras's `fit` costs beside the compiled step, and when the first batch is done.

Models of one unit and batches of one sample leave next to nothing to compute: what their `fit`
takes with ckernels' train function beyond what it takes with one that does nothing is ckernels'
share, its step included. Timed is the thread, not the clock, and the least of runs that take turns
counts, so other programs do not. The first batch is that of the full model, with its building.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from statistics import median

import numpy as np

from benchmarks.cold import ROOT, fresh_environment, record
from benchmarks.workload import OURS
from benchmarks.workloads import keras_fit

BATCHES, ROUNDS = 100, 15
SHAPES = {"dense": (1,), "cnn": (10, 10, 1), "lstm": (1,)}


def least(calls):
    """The least time of each call, in seconds of this thread; the calls take turns."""
    taken = [[] for _ in calls]
    for _ in range(ROUNDS):
        for times, call in zip(taken, calls):
            start = time.thread_time_ns()
            call()
            times.append(time.thread_time_ns() - start)
    return [min(times) / 1e9 for times in taken]


def batch(kind):
    """(Keras's own seconds for a batch of fit, ckernels' seconds, step included)."""
    import ckernels

    ckernels.set_num_threads(1)
    x = np.zeros((BATCHES, *SHAPES[kind]), np.float32)
    y = np.eye(2, dtype=np.float32)[np.zeros(BATCHES, int)]
    models = [keras_fit.keras_model(kind, small=True, dropout=0.2) for _ in range(2)]
    result = models[0].train_on_batch(x[:1], y[:1])
    models[1]._make_train_function()
    models[1].train_function = lambda inputs: list(result)
    fits = [lambda m=m: m.fit(x, y, batch_size=1, verbose=0, shuffle=False) for m in models]
    both, keras = least(fits)
    return keras / BATCHES, (both - keras) / BATCHES


def first(kind):
    """Seconds from `import keras` being done to the loss of the first batch."""
    x, y, *_ = keras_fit.KerasFit(kind).data(np.random.default_rng(0))
    keras_fit.imported()
    start = time.perf_counter()
    keras_fit.keras_model(kind, dropout=0.2).train_on_batch(x, y)
    return time.perf_counter() - start


def child(what, kind, env, log):
    """The numbers a fresh process prints; None when it fails."""
    command = [sys.executable, "-m", "benchmarks.keras_costs", what, kind]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT, timeout=300)
    log.write(done.stderr)
    return json.loads(done.stdout) if done.returncode == 0 else None


def measure(options, scratch, log):
    """Four records for each model."""
    if OURS not in options.peers:
        return
    for kind in SHAPES:
        runs = []
        for _ in range(1 if options.quick else 3):
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                env = fresh_environment(OURS, options.threads, folder)
                runs.append([child("first", kind, env, log) for _ in range(2)])
        shares = child("batch", kind, {**os.environ, "PYTHONPATH": ROOT}, log)
        for k, state in enumerate(("empty", "warm")):
            taken = [run[k] for run in runs]
            found = {} if None in taken else {OURS: median(taken)}
            title = f"from building the {kind} model to the loss of its first batch of 32"
            yield record(f"Keras {kind} first batch, {state} caches", title, found)
        title = f"a batch of fit of the {kind} model with one unit and one sample"
        for k, who, target in ((0, "Keras itself", ()), (1, "ckernels", ("at most", 30e-6))):
            found = {OURS: shares[k]} if shares else {}
            yield record(f"Keras {kind} fit, {who} per batch", title, found, *target)


if __name__ == "__main__":
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print(json.dumps({"first": first, "batch": batch}[sys.argv[1]](sys.argv[2])), file=out)
