"""A folder of PyMC models, each a file with `build_model() -> (model, initial point)`.

    python -m benchmarks.pymc_catalogue FOLDER [model ...] [--beside python NUMBA] [--rows FILE]

Log-density and gradient (of models with discrete variables, the log-density) at three points, by
ckernels, by PyTensor's Python ops and by numba. Each model has a process of its own, forked from
one that has imported everything, twice on one empty cache: cold, then warm. Seconds are CPU seconds
of building the function and its first call, compilers included. Calls are timed in turns with
numba's, in processor time of the one thread. The public `pymc-model-catalogue` is such a folder.

Rows are added to those of the file, one a model and peer; models that have all their rows are left
out. `make catalogue` keeps them in rows.jsonl, of which the page is made: RESULTS.md.
"""

import argparse
import contextlib
import functools
import importlib.util
import json
import os
import resource
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

from . import FILE, PAGE, merged, page, read, summary

ROUNDS, SECONDS = 31, 2e-3  # of one engine's turn
LIMIT = 300  # CPU seconds of a process
PEERS = ["python", "NUMBA"]


def models(folder, names):
    """{name: path} of the files of models below `folder`."""
    found = sorted(Path(folder).glob("models*/*.py"))
    found = {path.stem: path for path in found if not path.stem.startswith("_")}
    return {name: found[name] for name in names or found if name in found}


def built(path):
    np.random.seed(0)  # some models draw their data from the global generator
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.build_model()


def graph(model, point):
    """(input, outputs, the raveled point) of log-density and gradient."""
    import pytensor.tensor as pt
    from pymc.blocking import DictToArrayBijection
    from pymc.pytensorf import join_nonshared_inputs, rewrite_pregrad
    from pytensor.gradient import NullTypeGradError

    values = model.value_vars
    outputs = [rewrite_pregrad(model.logp())]
    if all(v.dtype.startswith("float") for v in values):
        # an op of the model's may have no gradient
        with contextlib.suppress(NotImplementedError, NullTypeGradError):
            outputs.append(pt.join(0, *[g.ravel() for g in pt.grad(outputs[0], values)]))
    outputs, joined = join_nonshared_inputs(point=point, outputs=outputs, inputs=values)
    raveled = DictToArrayBijection.map({v.name: np.asarray(point[v.name]) for v in values}).data
    return joined, outputs, raveled


def mode_of(peer):
    from pytensor.compile.mode import Mode

    if peer == "python":
        return Mode("py", "fast_run").excluding("fusion")  # which may need over 32 operands
    return {"ckernels": "CKERNELS"}.get(peer, peer)


def sums_of_any_length():
    """PyTensor's Python op of a sum refuses over 32 operands, NumPy's limit: term after term."""
    from pytensor.scalar.basic import Add
    from pytensor.tensor.elemwise import Elemwise

    perform = Elemwise.perform

    def summed(self, node, inputs, outputs):
        if len(inputs) < 32 or not isinstance(self.scalar_op, Add):
            return perform(self, node, inputs, outputs)
        outputs[0][0] = np.asarray(functools.reduce(np.add, inputs), node.outputs[0].type.dtype)

    Elemwise.perform = summed


def cpu():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def function(model, point, peer):
    """(function, CPU seconds of making and first calling it, a raveled point, values there)."""
    from pymc.pytensorf import compile as compiled

    joined, outputs, raveled = graph(model, point)
    start = cpu()
    made = compiled([joined], outputs, mode=mode_of(peer), random_seed=5)  # simulators draw
    made.trust_input = True
    first = made(raveled)
    return made, cpu() - start, raveled, first


def points(raveled):
    rng = np.random.default_rng(7)
    if raveled.dtype.kind != "f":
        return [raveled]
    return [raveled] + [raveled + s * rng.normal(size=raveled.shape) for s in (0.05, 0.2)]


def row(values):
    return [np.concatenate([np.ravel(v) for v in found]) for found in values]


def difference(ours, theirs):
    """The largest difference of an entry, relative to it where it is above 1."""
    worst = 0.0
    for a, b in zip(ours, theirs):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(invalid="ignore"):
            apart = np.where(same, 0.0, np.abs(a - b) / np.maximum(1.0, np.abs(b)))
        worst = max(worst, float(np.nan_to_num(apart, nan=np.inf).max()))
    return worst


def in_turns(functions, raveled):
    """Microseconds of a call of each, medians over rounds in which they take turns."""
    times = {peer: [] for peer in functions}
    counts = {}
    for peer, call in functions.items():
        start = time.thread_time()
        call(raveled)
        counts[peer] = max(1, min(2000, int(SECONDS / max(time.thread_time() - start, 1e-7))))
    rounds = ROUNDS if max(SECONDS / n for n in counts.values()) < 2 * SECONDS else 5
    for _ in range(rounds):
        for peer, call in functions.items():
            start = time.thread_time()
            for _ in range(counts[peer]):
                call(raveled)
            times[peer].append((time.thread_time() - start) / counts[peer])
    return {peer: 1e6 * float(np.median(taken)) for peer, taken in times.items()}


def measured(path, beside, warm):
    """What one process finds out about one model. beside: the peers that run too."""
    warnings.simplefilter("ignore")
    found, functions, values = {"model": path.stem}, {}, {}
    model, point = built(path)  # once: data may be drawn without a seed
    for peer in ["ckernels", *beside]:
        if warm and peer == "python":
            continue
        try:
            made, seconds, raveled, _ = function(model, point, peer)
            values[peer] = row(made(p) for p in points(raveled))
            if peer != "python":
                found[f"{peer} s"], functions[peer] = round(seconds, 3), made
        except Exception:
            found[f"{peer} error"] = traceback.format_exc()[-1500:]
    if "ckernels" in functions:
        from ckernels.pytensor import report

        found["in python"] = [op for op, _ in report(functions["ckernels"])]
        for peer in beside:
            if peer in values:
                found[f"apart {peer}"] = difference(values["ckernels"], values[peer])
    if warm and functions:
        found["us"] = in_turns(functions, raveled)
    return found


def forked(path, beside, warm, folder):
    """`measured` in a process of its own; a row with "error" where that ends otherwise."""
    with tempfile.TemporaryFile() as file:
        child = os.fork()
        if not child:
            try:
                from ckernels.config import config

                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                config.base_compiledir = f"{folder}/ckernels"
                if "NUMBA" in beside:
                    from pytensor.link.numba import cache

                    cache.NUMBA_CACHE_PATH = Path(folder) / "numba"
                    cache.NUMBA_CACHE_PATH.mkdir(exist_ok=True)
                resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
                file.write(json.dumps(measured(path, beside, warm)).encode())
                file.flush()
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        file.seek(0)
        text = file.read()
    return json.loads(text) if text else {"model": path.stem, "error": "the process ended"}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pymc_catalogue")
    parser.add_argument(
        "folder", nargs="?", help="none: the page is made of the rows that are there"
    )
    parser.add_argument("models", nargs="*")
    parser.add_argument("--beside", nargs="*", choices=PEERS, default=PEERS)
    parser.add_argument("--rows", help="a file: rows there are read first, new ones added")
    options = parser.parse_args()
    rows = read(options.rows) if options.rows and Path(options.rows).exists() else []
    if options.folder is None:
        rows = read(FILE)
        PAGE.write_text(page(rows))
    else:
        sweep(options, rows)
    for line in summary(merged(rows)):
        print(line)


def sweep(options, rows):
    """Add a row for each model that lacks one."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import pymc  # noqa: F401
    import pytensor

    import ckernels.pytensor  # noqa: F401

    sums_of_any_length()
    x = pytensor.tensor.dvector("x")
    for peer in ("ckernels", *options.beside):  # imports, once
        pytensor.function([x], pytensor.tensor.exp(x), mode=mode_of(peer))(np.zeros(2))
    done = {r["model"]: {*r.get("beside", ())} for r in merged(rows)}
    for name, path in models(options.folder, options.models).items():
        beside = [peer for peer in options.beside if peer not in done.get(name, ())]
        if name in done and not beside:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = forked(path, beside, False, folder)
            warm = forked(path, beside, True, folder)
        found["warm"] = {k: v for k, v in warm.items() if k.endswith(" s")}
        found["us"], found["beside"] = warm.get("us", {}), beside
        rows.append(found)
        short = {k: v[-200:] if "error" in k else v for k, v in found.items()}
        print(json.dumps(short), flush=True)
        if options.rows:
            with open(options.rows, "a") as file:
                file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
