"""A folder of PyMC models, each a file with `build_model() -> (model, initial point)`.

    python -m benchmarks.pymc_catalogue FOLDER [model ...] [--write rows.jsonl] [--only ckernels]

Log-density and gradient (of models with discrete variables, the log-density) at three points, by
ckernels, by PyTensor's Python ops and by numba. Each model has a process of its own, forked from
one that has imported everything, twice on one empty cache: cold, then warm. Seconds are CPU seconds
of building the function and its first call, compilers included. Calls are timed in turns with
numba's, in processor time of the one thread. The public `pymc-model-catalogue` is such a folder.
"""

import argparse
import importlib.util
import json
import math
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

ROUNDS, SECONDS = 31, 2e-3  # of one engine's turn
LIMIT = 600


def models(folder, names):
    """{name: path} of the files of models below `folder`."""
    found = sorted(Path(folder).glob("models*/*.py"))
    found = {path.stem: path for path in found if not path.stem.startswith("_")}
    return {name: path for name, path in found.items() if not names or name in names}


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

    values = model.value_vars
    outputs = [rewrite_pregrad(model.logp())]
    if all(v.dtype.startswith("float") for v in values):
        outputs.append(pt.join(0, *[g.ravel() for g in pt.grad(outputs[0], values)]))
    outputs, joined = join_nonshared_inputs(point=point, outputs=outputs, inputs=values)
    raveled = DictToArrayBijection.map({v.name: np.asarray(point[v.name]) for v in values}).data
    return joined, outputs, raveled


def mode_of(peer):
    from pytensor.compile.mode import Mode

    return Mode("py", "fast_run") if peer == "python" else {"ckernels": "CKERNELS"}.get(peer, peer)


def cpu():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def function(model, point, peer):
    """(function, CPU seconds of making and first calling it, a raveled point, values there)."""
    from pymc.pytensorf import compile as compiled

    joined, outputs, raveled = graph(model, point)
    start = cpu()
    made = compiled([joined], outputs, mode=mode_of(peer))
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


def measured(path, only, warm):
    """What one process finds out about one model."""
    warnings.simplefilter("ignore")
    found, functions, values = {"model": path.stem}, {}, {}
    for peer in [only] if only else ["ckernels", "NUMBA"]:
        try:
            model, point = built(path)
            made, seconds, raveled, _ = function(model, point, peer)
            found[f"{peer} s"] = round(seconds, 3)
            functions[peer] = made
            values[peer] = row(made(p) for p in points(raveled))
        except Exception:
            found[f"{peer} error"] = traceback.format_exc()[-1500:]
    if "ckernels" in functions:
        from ckernels.pytensor import report

        found["python"] = [op for op, _ in report(functions["ckernels"])]
    if warm:
        if functions:
            found["us"] = in_turns(functions, raveled)
    elif "ckernels" in functions:
        try:
            model, point = built(path)
            made = function(model, point, "python")[0]
            values["python"] = row(made(p) for p in points(raveled))
        except Exception:
            found["python error"] = traceback.format_exc()[-1500:]
        for peer in values:
            found[f"apart {peer}"] = difference(values["ckernels"], values[peer])
    return found


def forked(path, only, warm, folder):
    """`measured` in a process of its own; a row with "error" where that ends otherwise."""
    with tempfile.TemporaryFile() as file:
        child = os.fork()
        if not child:
            try:
                from ckernels.config import config

                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                config.base_compiledir = f"{folder}/ckernels"
                if not only:
                    from pytensor.link.numba import cache

                    cache.NUMBA_CACHE_PATH = Path(folder) / "numba"
                    cache.NUMBA_CACHE_PATH.mkdir(exist_ok=True)
                signal.alarm(LIMIT)
                file.write(json.dumps(measured(path, only, warm)).encode())
                file.flush()
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        file.seek(0)
        text = file.read()
    return json.loads(text) if text else {"model": path.stem, "error": "the process ended"}


def summary(rows):
    """Lines: how many agree, geometric means of the ratios to numba, and what is slower."""

    def mean(ratios):
        return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan

    both = [r for r in rows if "ckernels s" in r and "NUMBA s" in r and "warm" in r]
    calls = {r["model"]: r["us"]["NUMBA"] / r["us"]["ckernels"] for r in both if len(r["us"]) == 2}
    apart = [r.get("apart python", math.inf) for r in rows]
    yield f"{len(rows)} models, {sum(a <= 1e-8 for a in apart)} agree with Python's ops to 1e-8"
    yield "apart: " + ", ".join(
        f"{r['model']} {a:.1e}" for r, a in zip(rows, apart) if not a <= 1e-8
    )
    yield f"in calls {mean(list(calls.values())):.2f} times numba's speed"
    yield f"cold {mean([r['NUMBA s'] / r['ckernels s'] for r in both]):.2f} times"
    yield "warm {:.2f} times".format(
        mean([r["warm"]["NUMBA s"] / max(r["warm"]["ckernels s"], 0.01) for r in both])
    )
    yield "slower: " + ", ".join(
        f"{name} {ratio:.2f}" for name, ratio in sorted(calls.items(), key=lambda c: c[1])
        if ratio < 1
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pymc_catalogue")
    parser.add_argument("folder")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--only", choices=["ckernels", "NUMBA"])
    parser.add_argument("--write", help="a file: rows there are read first, new ones added")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    import pymc  # noqa: F401
    import pytensor

    import ckernels.pytensor  # noqa: F401

    x = pytensor.tensor.dvector("x")
    for peer in ["ckernels", "python"] + ([] if options.only else ["NUMBA"]):  # imports, once
        pytensor.function([x], pytensor.tensor.exp(x), mode=mode_of(peer))(np.zeros(2))
    rows = []
    if options.write and Path(options.write).exists():
        rows = [json.loads(line) for line in Path(options.write).read_text().splitlines()]
    done = {r["model"] for r in rows}
    for name, path in models(options.folder, options.models).items():
        if name in done:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = forked(path, options.only, False, folder)
            warm = forked(path, options.only, True, folder)
        found["warm"] = {k: v for k, v in warm.items() if k.endswith(" s")}
        found["us"] = warm.get("us", {})
        rows.append(found)
        short = {k: v[-200:] if "error" in k else v for k, v in found.items()}
        print(json.dumps(short), flush=True)
        if options.write:
            with open(options.write, "a") as file:
                file.write(json.dumps(found) + "\n")
    for line in summary(rows):
        print(line)


if __name__ == "__main__":
    main()
