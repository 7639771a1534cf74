"""What starting costs: import, first result with empty caches, first result with warm ones, size.

Each figure comes from fresh processes. The work is a training step, of the MLP and of an LSTM; its
first result counts from after the import of NumPy until the first loss is there, with the import
of the library and all compiling. Python's bytecode is there for all peers, as pip leaves it. The
LSTM is also built for 10 and for 1000 time steps.
"""

import compileall
import importlib
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from statistics import median

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STARTERS = ("torch", "torch-compile", "jax", "pytensor-numba", "pytensor-c", "ckernels")
IMPORTS = {"torch": "torch", "jax": "jax", "pytensor-numba": "pytensor.tensor",
           "ckernels": "ckernels"}  # fmt: skip
PACKAGES = {"torch": ("torch",), "jax": ("jax", "jaxlib"), "numexpr": ("numexpr",),
            "pytensor-numba": ("pytensor", "numba", "llvmlite")}  # fmt: skip
LENGTHS = (10, 1000)
IMPORT_CODE = """
import numpy, time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""


def first_result(name, threads, work="mlp", steps=None):
    """Seconds from NumPy alone to the first loss of a training step, in this process; with
    steps="imported" from the first call of the library, which is imported before."""
    import time

    import numpy as np

    from benchmarks import peers, workloads

    work = workloads.load()[work]
    imported, steps = steps == "imported", None if steps == "imported" else steps
    arrays = work.data(np.random.default_rng(0), **({"steps": steps} if steps else {}))
    assert "ckernels" not in sys.modules
    if imported:
        importlib.import_module(IMPORTS[name])
    start = time.perf_counter()
    peer = peers.PEERS[name](threads)
    peer.to_numpy(peer.prepare(work, arrays, {})())
    return time.perf_counter() - start


def child(python, arguments, env, log):
    """The number a fresh process prints last, or None when it fails."""
    done = subprocess.run(
        [python, *arguments], capture_output=True, text=True, env=env, cwd=ROOT, timeout=300
    )
    log.write(done.stderr)
    try:
        return float(done.stdout.split()[-1])
    except (IndexError, ValueError):
        return None


def fresh_environment(name, threads, folder):
    """The peer's environment with all its caches inside `folder`."""
    from benchmarks import peers

    env = peers.environment(name, threads, folder)
    env.update(
        PYTHONPATH=ROOT,
        NUMBA_CACHE_DIR=os.path.join(folder, "numba"),
        XDG_CACHE_HOME=folder,
        CKERNELS_FLAGS=f"base_compiledir={folder}/ckernels",
        TORCHINDUCTOR_CACHE_DIR=os.path.join(folder, "inductor"),
        JAX_COMPILATION_CACHE_DIR=os.path.join(folder, "jax"),
        JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
    )
    installed()
    return env


@cache
def installed():
    """Write the bytecode of ckernels, as pip does where it installs a package."""
    compileall.compile_dir(os.path.join(ROOT, "ckernels"), quiet=1)


def starts(options, scratch, log, work, title, most):
    """Two records: first result with empty caches, and again with what the first one left."""
    cold, warm = {}, {}
    for name in STARTERS:
        if name not in options.peers or work != "mlp" and name == "torch-compile":
            continue
        python = sys.executable if name == "ckernels" else options.peers_python
        arguments = ["-m", "benchmarks.cold", name, str(options.threads), work]
        taken = []
        for _ in range(1 if options.quick or name != "ckernels" else 3):
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                env = fresh_environment(name, options.threads, folder)
                taken.append(tuple(child(python, arguments, env, log) for _ in range(2)))
        if None not in sum(taken, ()):
            cold[name], warm[name] = (median(t) for t in zip(*taken))
    head = "first result" if work == "mlp" else "first result of an LSTM"
    title = f"from the import of the library to the first loss of {title}"
    return [
        record(f"{head}, empty caches", title, cold, "at most", most[0]),
        record(f"{head}, warm caches", title, warm, "at most", most[1]),
    ]


def first_call(options, scratch, log):
    """The warm start of ckernels alone, without the import of the library."""
    arguments = ["-m", "benchmarks.cold", "ckernels", str(options.threads), "mlp", "imported"]
    taken = []
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        env = fresh_environment("ckernels", options.threads, folder)
        for _ in range(3 if options.quick else 7):
            taken.append(child(sys.executable, arguments, env, log))
    if None in taken:
        return []
    title = "from the first K call to the first loss of the MLP step"
    return [
        record("first K call, warm caches", title, {"ckernels": median(taken[1:])}, "at most", 0.05)
    ]


def lengths(options, scratch, log):
    """First results of the LSTM step over few and over many time steps, caches empty: the second
    takes longer by its own run, which touches 0.1 GB for the first time, and by nothing else."""
    found = {}
    for steps in LENGTHS:
        arguments = ["-m", "benchmarks.cold", "ckernels", str(options.threads), "lstm-train"]
        taken = []
        for _ in range(1 if options.quick else 3):
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                env = fresh_environment("ckernels", options.threads, folder)
                taken.append(child(sys.executable, [*arguments, str(steps)], env, log))
        if None not in taken:
            found[steps] = median(taken)
    if len(found) < len(LENGTHS):
        return []
    few, many = found.values()
    title = f"caches empty, at most twice the {few:.2f} s over {LENGTHS[0]} time steps"
    case = f"first result of an LSTM, {LENGTHS[1]} steps"
    return [record(case, title, {"ckernels": many}, "at most", 2 * few)]


def imports(options, log):
    """Import time above NumPy's."""
    taken = {}
    for name, module in IMPORTS.items():
        if name not in options.peers:
            continue
        python = sys.executable if name == "ckernels" else options.peers_python
        env = {**os.environ, "PYTHONPATH": ROOT}
        code = ["-c", IMPORT_CODE.format(module=module)]
        runs = [child(python, code, env, log) for _ in range(3 if options.quick else 7)]
        if None not in runs:
            taken[name] = median(runs[1:])  # the first may write .pyc files
    return record("import", "seconds to import after NumPy is there", taken, "at most", 0.06)


def folder_size(folder):
    """Bytes of an installed package without what Python and tests leave beside it."""
    total = 0
    for base, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if f != "__pycache__"]
        total += sum(os.path.getsize(os.path.join(base, f)) for f in files)
    return total


def sizes(options):
    """Installed megabytes without NumPy; the peers' packages as their RECORD lists them."""
    found = {"ckernels": folder_size(os.path.join(ROOT, "ckernels")) / 1e6}
    code = "import benchmarks.cold as c, json; print(json.dumps(c.package_sizes()))"
    done = subprocess.run(
        [options.peers_python, "-c", code], capture_output=True, text=True, cwd=ROOT
    )
    if done.returncode == 0:
        found.update(json.loads(done.stdout))
    title = "installed megabytes without NumPy"
    return {**record("size", title, found, "at most", 5), "unit": "MB"}


def package_sizes():
    found = {}
    for peer, names in PACKAGES.items():
        try:
            files = [f for n in names for f in importlib.metadata.files(n) or ()]
        except importlib.metadata.PackageNotFoundError:
            continue
        found[peer] = sum(f.size or 0 for f in files) / 1e6
    return found


def record(case, title, seconds, *target):
    return {
        "case": case,
        "title": title,
        "limit_is": "",
        "targets": [list(target)] if target else [],
        "seconds": seconds,
        "errors": {},
        "skipped": {},
        "stats": {},
        "first": {},
    }


def measure(options, scratch, log):
    yield from starts(options, scratch, log, "mlp", "the MLP step", (0.6, 0.05))
    yield from starts(options, scratch, log, "lstm-train", "the LSTM step", (2, 0.06))
    yield from first_call(options, scratch, log)
    yield from lengths(options, scratch, log)
    yield imports(options, log)
    yield sizes(options)


if __name__ == "__main__":
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    name, threads, *work = sys.argv[1:]
    steps = [int(word) if word.isdecimal() else word for word in work[1:]]
    print(first_result(name, int(threads), *work[:1], *steps), file=out)
