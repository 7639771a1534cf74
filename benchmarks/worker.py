"""The process of one peer: reads commands as JSON lines, answers with one line each.

Commands: prepare (build the data and the call, run it once, save its result for the check), turn
(time it), drop, and quit. Everything a library prints goes to stderr, the answers have stdout.
"""

import gc
import json
import os
import sys
import time

import numpy as np


def prepare(peer, workload, case, path):
    arrays = workload.data(np.random.default_rng(0), **case.params)
    start = time.perf_counter()
    call = peer.prepare(workload, arrays, case.params)
    result = call()
    first = time.perf_counter() - start
    for _ in range(workload.steps - 1):
        result = call()
    np.savez(path, *peer.to_numpy(result))
    del result
    gc.collect()
    return call, {"first": first, "stats": peer.stats()}


def serve(peer, workloads, lines, answer):
    from benchmarks import timing

    call = number = None
    for line in lines:
        command = json.loads(line)
        try:
            if command["do"] == "prepare":
                workload = workloads[command["workload"]]
                case = {c.name: c for c in workload.cases()}[command["case"]]
                call, reply = prepare(peer, workload, case, command["path"])
            elif command["do"] == "turn":
                number = number or timing.calibrate(call)
                reply = {"seconds": timing.turn(call, number, budget=command["budget"])}
            elif command["do"] == "drop":
                call = number = None
                gc.collect()
                reply = {}
            else:
                return
        except NotImplementedError as error:
            reply = {"skipped": str(error) or "not expressible"}
        except Exception as error:
            call = None
            reply = {"error": f"{type(error).__name__}: {error}".strip()[:300]}
        answer(reply)


def main():
    name, threads = sys.argv[1], int(sys.argv[2])
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])

    def answer(reply):
        out.write(json.dumps(reply) + "\n")
        out.flush()

    from benchmarks import peers, workloads

    try:
        peer = peers.PEERS[name](threads)
        version = peer.version()
    except Exception as error:
        return answer({"missing": f"{type(error).__name__}: {error}"[:200]})
    answer({"version": version})
    serve(peer, workloads.load(), sys.stdin, answer)


if __name__ == "__main__":
    main()
