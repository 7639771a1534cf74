"""Rows on PyMC's models: log-density and gradient compiled by ckernels and by PyTensor's engines.

    python -m benchmarks.pymc_rows [model ...] [--peers ckernels numba cvm] [--write rows.json]

Each model and engine has a process of its own, run twice on one empty cache: cold, then warm. The
seconds are CPU seconds of `model.logp_dlogp_function` and the first call, compilers included;
`rewriting` is the part of PyTensor's rewriters, `engine` that of the engine: linking and the first
call; the rest is PyMC building the graph of the gradient. A call is PyTensor's raveled function,
the best of many rounds. Values are compared with numba's, or the first engine's.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

PEERS = {"ckernels": "CKERNELS", "numba": "NUMBA", "cvm": "CVM", "jax": "JAX"}
ROUNDS, PER_ROUND = 200, 20


def child(name, peer):
    """Measure one model with one engine; a line of JSON."""
    import time

    import numpy as np
    import pymc as pm

    from .pymc_models import MODELS

    if peer == "ckernels":
        import ckernels.pytensor  # noqa: F401
    made = MODELS[name](pm)
    made.logp_dlogp_function(ravel_inputs=True, mode="FAST_COMPILE")  # imports, once
    rewriting, linking = time_inside("prepare_fgraph", staticmethod), time_inside("create")
    start, used = time.perf_counter(), cpu()
    function = made.logp_dlogp_function(ravel_inputs=True, mode=PEERS[peer])
    function.set_extra_values({})
    built = time.perf_counter() - start
    rng = np.random.default_rng(7)
    size = sum(np.size(v) for v in made.initial_point().values())
    point = 0.3 * rng.normal(size=size)
    start, calling = time.perf_counter(), cpu()
    logp, gradient = function._pytensor_function(point)
    first, calling, used = time.perf_counter() - start, cpu() - calling, cpu() - used
    print(
        json.dumps(
            {
                "model": name,
                "peer": peer,
                "built": built,
                "first": first,
                "cpu": used,
                "rewriting": rewriting[0],
                "engine": linking[0] + calling,
                "call_us": 1e6 * best(function._pytensor_function, point, peer == "jax"),
                "logp": float(logp),
                "gradient": np.asarray(gradient, float).tolist(),
                "peak_mb": peak_memory(),
                "python": python_calls(function._pytensor_function),
            }
        )
    )


def cpu():
    """CPU seconds of this process and of its compilers: what another load does not change."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def time_inside(name, kind=lambda method: method):
    """[CPU seconds in this method of PyTensor's FunctionMaker], filled in as functions are made."""
    from pytensor.compile.maker import FunctionMaker

    total, before = [0.0], getattr(FunctionMaker, name)

    def timed(*args, **kwargs):
        start = cpu()
        try:
            return before(*args, **kwargs)
        finally:
            total[0] += cpu() - start

    setattr(FunctionMaker, name, kind(timed))
    return total


def best(function, point, later):
    """Seconds of the best call: the least mean of a round. `later`: until its values are there."""
    import time

    least = float("inf")
    function.trust_input = True

    def waited(point):
        for value in function(point):
            value.block_until_ready()

    call = waited if later else function
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(PER_ROUND):
            call(point)
        least = min(least, (time.perf_counter() - start) / PER_ROUND)
        if least > 5e-3:
            break
    return least


def peak_memory():
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def python_calls(function):
    try:
        from ckernels.pytensor import report

        return [op for op, _ in report(function)]
    except Exception:
        return None


def measure(name, peer, threads):
    """Rows of the cold and the warm process."""
    with tempfile.TemporaryDirectory() as cache:
        env = {
            **os.environ,
            "CKERNELS_FLAGS": f"base_compiledir={cache}/ckernels",
            "PYTENSOR_FLAGS": f"base_compiledir={cache}/pytensor",
            "NUMBA_CACHE_DIR": f"{cache}/numba",
            "OMP_NUM_THREADS": str(threads),
        }
        if threads == 1:
            env["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        rows = []
        for _ in range(2):
            done = subprocess.run(
                [
                    sys.executable,
                    "-W",
                    "ignore",
                    "-m",
                    "benchmarks.pymc_rows",
                    "--child",
                    name,
                    peer,
                ],
                env=env,
                capture_output=True,
                text=True,
            )
            if done.returncode:
                return [{"model": name, "peer": peer, "error": done.stderr[-2000:]}]
            rows.append(json.loads(done.stdout.splitlines()[-1]))
        return rows


def difference(row, other):
    """The largest relative difference of log-density and gradient."""
    import numpy as np

    a = np.array([row["logp"], *row["gradient"]])
    b = np.array([other["logp"], *other["gradient"]])
    return float(np.max(np.abs(a - b)) / max(1.0, np.max(np.abs(b))))


def show(name, found):
    base = found.get("numba") or next(iter(found.values()))
    for peer, rows in found.items():
        if "error" in rows[0]:
            print(f"{name:22} {peer:9} {rows[0]['error'].strip().splitlines()[-1][:100]}")
            continue
        cold, warm = rows
        compared = "" if "error" in base[0] else f"{difference(cold, base[0]):8.1e}"
        print(
            f"{name:22} {peer:9} cold {cold['cpu']:6.2f} s  warm {warm['cpu']:6.2f} s "
            f"(rewriting {warm['rewriting']:5.2f}; engine {cold['engine']:5.2f} and "
            f"{warm['engine']:5.2f})  call "
            f"{min(cold['call_us'], warm['call_us']):8.1f} us  {cold['peak_mb']:5.0f} MB "
            f"{compared} {' '.join(cold['python'] or [])}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pymc_rows")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--peers", nargs="+", default=["ckernels", "numba"], choices=list(PEERS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--write")
    parser.add_argument("--child", nargs=2)
    options = parser.parse_args()
    if options.child:
        return child(*options.child)
    from .pymc_models import MODELS

    rows = []
    for name in options.models or MODELS:
        found = {peer: measure(name, peer, options.threads) for peer in options.peers}
        show(name, found)
        rows += [row for pair in found.values() for row in pair]
    if options.write:
        with open(options.write, "w") as file:
            json.dump(rows, file)


if __name__ == "__main__":
    main()
