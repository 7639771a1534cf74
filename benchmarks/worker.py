"""The process of one peer for one case: reads commands as JSON lines, answers with a line each.

Commands: prepare (build the data and the call, run it once, save its result for the check), turn
(time it), again (save what it computes after all that timing), and quit. Everything a library
prints goes to stderr, the answers have stdout.
"""

import gc
import json
import os
import sys
import time

import numpy as np


def built(peer, workload, case):
    """(the call to be timed, its result after the workload's steps, seconds of the first call)."""
    arrays = workload.data(np.random.default_rng(0), **case.params)
    start = time.perf_counter()
    call = peer.prepare(workload, arrays, case.params)
    result = call()
    first = time.perf_counter() - start
    for _ in range(workload.steps - 1):
        result = call()
    return call, result, first


def saved(peer, result, path):
    """Writes a result for the check; its bytes."""
    arrays = peer.to_numpy(result)
    np.savez(path, *arrays)
    return sum(a.nbytes for a in arrays)


def again(peer, workload, case, call, path):
    """What the timed call computes now; training starts anew, in the process as it has become."""
    result = built(peer, workload, case)[1] if workload.stateful else call()
    return saved(peer, result, path)


def serve(peer, workloads, lines, answer):
    from benchmarks import timing

    call = number = workload = case = None
    for line in lines:
        command = json.loads(line)
        try:
            if command["do"] == "prepare":
                workload = workloads[command["workload"]]
                case = {c.name: c for c in workload.cases()}[command["case"]]
                call, result, first = built(peer, workload, case)
                size = saved(peer, result, command["path"])
                del result
                gc.collect()
                reply = {"first": first, "bytes": size, "stats": peer.stats()}
            elif command["do"] == "turn":
                number = number or timing.calibrate(call)
                keep = command["keep"]
                reply = {"seconds": timing.turn(call, number, budget=command["budget"], keep=keep)}
            elif command["do"] == "again":
                reply = {"bytes": again(peer, workload, case, call, command["path"])}
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
