"""Runs the benchmarks: `python benchmarks/run.py [--quick] [--workloads light mlp]`.

Every peer has a process of its own for each case (worker.py), so no case inherits the threads,
memory or settings that another one left. All of them prepare, their results are compared with
NumPy's, then they take turns for some rounds, and their results are compared again. Writes
results.json, RESULTS.md and its chart.
"""

import argparse
import datetime
import json
import os
import select
import subprocess
import sys
import tempfile
from statistics import median

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

import numpy as np  # noqa: E402

from benchmarks import chart, cold, keras_costs, load, peers, report, workload, workloads  # noqa: E402
from benchmarks.deep import measure  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PREPARE_SECONDS, TURN_SECONDS = 300, 120
QUIET = 0.15  # cores that other processes may use during a turn
KEPT, KEPT_FROM = 8, 1 << 20  # results kept alive in further turns, where they have these bytes


class Worker:
    """The process of one peer; `ask` returns its answer, an {"error": ...} if it dies or hangs."""

    def __init__(self, name, threads, python, scratch, log):
        base = name.removesuffix("-1")
        self.name, threads = name, 1 if name != base else threads
        env = peers.environment(base, threads, scratch)
        env["PYTHONPATH"] = ROOT
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.worker", base, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=env,
            cwd=scratch,
        )

    def answer(self, timeout):
        ready, _, _ = select.select([self.process.stdout], [], [], timeout)
        line = self.process.stdout.readline() if ready else b""
        if line:
            return json.loads(line)
        self.process.kill()
        status = self.process.wait()
        return {"error": f"worker ended with status {status}" if ready else "took too long"}

    def ask(self, timeout, **command):
        if self.process.poll() is not None:
            return {"error": "worker is gone"}
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()
        return self.answer(timeout)

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


def start_workers(names, options, scratch, log, results):
    """{name: Worker}; versions and what is missing go into `results`, and are not tried again."""
    workers = {}
    for name in names:
        if name in results["missing"]:
            continue
        ours = name.startswith((workload.OURS, workload.LIMIT))
        python = sys.executable if ours else options.peers_python
        worker = Worker(name, options.threads, python, scratch, log)
        reply = worker.answer(PREPARE_SECONDS)
        if "version" in reply:
            workers[name], results["versions"][name] = worker, reply["version"]
        else:
            results["missing"][name] = reply.get("missing") or reply["error"]
            print(f"missing: {name} ({results['missing'][name]})")
    return workers


def disagreement(got, wanted, work):
    """What is wrong with a result, or None."""
    if len(got) != len(wanted):
        return f"{len(got)} results instead of {len(wanted)}"
    for i, (a, b) in enumerate(zip(got, wanted)):
        if a.shape != b.shape:
            return f"result {i} has shape {a.shape} instead of {b.shape}"
        if not np.allclose(a, b, rtol=work.rtol, atol=work.atol, equal_nan=True):
            error = np.max(np.abs(a.astype(float) - b.astype(float)))
            return f"result {i} differs by up to {error:.3g}"
    return None


def read_arrays(path):
    with np.load(path) as file:
        return [file[key] for key in file]


def prepare(work, case, workers, scratch):
    """Lets all workers prepare a case and checks them: ({name: reply}, the results of the first
    one); who is wrong has an error for a reply."""
    path = os.path.join(scratch, "result.npz")
    wanted, replies = None, {}
    for name, worker in workers.items():
        reply = worker.ask(
            PREPARE_SECONDS, do="prepare", workload=work.name, case=case.name, path=path
        )
        if "first" in reply and not name.startswith(workload.LIMIT):
            got = read_arrays(path)
            wanted = got if wanted is None else wanted
            wrong = disagreement(got, wanted, work)
            if wrong:
                reply = {"error": wrong}
        replies[name] = reply
    return replies, wanted


def check_again(work, workers, names, wanted, scratch):
    """{name: {"error": ...}} of those whose results are wrong after all timing."""
    path, found = os.path.join(scratch, "result.npz"), {}
    for name in names:
        if name.startswith(workload.LIMIT):
            continue
        reply = workers[name].ask(PREPARE_SECONDS, do="again", path=path)
        wrong = reply.get("error") or disagreement(read_arrays(path), wanted, work)
        if wrong:
            found[name] = {"error": f"after timing: {wrong}"}
    return found


def turn(worker, options, keep=0):
    """(reply, cores others used): the least disturbed of a few tries, the first quiet one."""
    tries = []
    for attempt in range(1 + options.patience):
        watch = load.Watch(worker.process.pid)
        reply = worker.ask(TURN_SECONDS, do="turn", budget=options.budget, keep=keep)
        tries.append((watch.others(), attempt, reply))
        if tries[-1][0] <= QUIET or "seconds" not in reply:
            break
    others, _, reply = min(tries)
    return reply, others


def take_turns(workers, replies, options, keep=0):
    """({name: [seconds]}, disturbed turns) of all who may run; who fails has the error in
    `replies`."""
    times = {name: [] for name, reply in replies.items() if "first" in reply}
    disturbed = 0
    for _ in range(options.rounds):
        for name in list(times):
            reply, others = turn(workers[name], options, keep)
            disturbed += others > QUIET
            if "seconds" in reply:
                times[name].append(reply["seconds"])
            else:
                replies[name] = reply
                del times[name]
    return times, disturbed


def run_case(work, case, workers, options, scratch):
    """Times one case on all its workers; the record that results.json keeps."""
    replies, wanted = prepare(work, case, workers, scratch)
    times, disturbed = take_turns(workers, replies, options)
    kept = {}
    if max([replies[n]["bytes"] for n in times], default=0) >= KEPT_FROM:
        kept, _ = take_turns(workers, replies, options, KEPT)
    right = [name for name, reply in replies.items() if "first" in reply]
    replies.update(check_again(work, workers, right, wanted, scratch))
    times = {n: t for n, t in times.items() if "first" in replies[n]}
    return {
        "case": case.name,
        "title": work.title,
        "limit_is": work.limit_is,
        "samples": work.samples,
        "set": work.set,
        "targets": [list(t) for t in case.targets],
        "seconds": {n: median(t) for n, t in times.items() if t},
        "kept": {n: median(t) for n, t in kept.items() if t and n in times},
        "turns": sum(len(t) for t in times.values()),
        "disturbed": disturbed,
        "best": {n: min(t) for n, t in times.items() if t},
        "first": {n: r["first"] for n, r in replies.items() if "first" in r},
        "skipped": {n: r["skipped"] for n, r in replies.items() if "skipped" in r},
        "errors": {n: r["error"] for n, r in replies.items() if "error" in r},
        "stats": {n: r["stats"] for n, r in replies.items() if r.get("stats")},
    }


def machine(options):
    """What a reader needs to judge the numbers: the processor and how much of it was used."""
    model = "unknown"
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            models = [line.split(":", 1)[1].strip() for line in file if "model name" in line]
        model = models[0] if models else model
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1,
        "threads": options.threads,
        "python": sys.version.split()[0],
        "rounds": options.rounds,
        "quick": options.quick,
        "date": datetime.date.today().isoformat(),
    }


def parse(arguments):
    all_peers = workload.PEERS + (workload.OURS, workload.LIMIT)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer cases and rounds, about five minutes")
    add(
        "--workloads",
        nargs="+",
        metavar="NAME",
        help="only these (see --list; 'cold', 'deep' and 'keras-costs' too)",
    )
    add("--cases", metavar="TEXT", help="only cases whose name contains this")
    add(
        "--peers",
        nargs="+",
        choices=all_peers,
        metavar="NAME",
        default=list(all_peers),
        help="only these of: " + " ".join(all_peers),
    )
    add("--threads", type=int, default=min(2, cores), help="for everybody (default 2)")
    add("--rounds", type=int, help="turns each peer takes (default 7, quick 3)")
    add(
        "--patience",
        type=int,
        default=2,
        help="times a turn is repeated because other processes were busy",
    )
    add(
        "--peers-python",
        default=sys.executable,
        metavar="PATH",
        help="a Python that has the peers installed",
    )
    add("--output", default=HERE, metavar="DIR", help="where results.json and RESULTS.md go")
    add(
        "--update",
        action="store_true",
        help="keep the other cases of the results.json that is there",
    )
    add("--list", action="store_true", help="name workloads and cases, run nothing")
    options = parser.parse_args(arguments)
    options.rounds = options.rounds or (3 if options.quick else 7)
    options.budget = 0.15 if options.quick else 0.4
    return options


def chosen(options):
    """[(workload, case)] that the options ask for."""
    found = workloads.load()
    unknown = set(options.workloads or ()) - set(found) - {"cold", "deep", "keras-costs"}
    if unknown:
        raise SystemExit(f"no workload {', '.join(sorted(unknown))}; --list names them all")
    return [
        (work, case)
        for name, work in found.items()
        for case in work.cases()
        if (not options.workloads or name in options.workloads)
        and (not options.cases or options.cases in case.name)
        and (case.quick or not options.quick)
    ]


def names_for(work, options):
    """The peers of a workload, NumPy first: the others are compared with it."""
    names = ["numpy"] + [p for p in options.peers if p != "numpy"]
    if work.name == "scaling":
        names += [f"{p}-1" for p in (workload.OURS, workload.LIMIT) if p in names]
    return [n for n in names if n in work.peers]


def run(options, scratch, log):
    results = {"machine": machine(options), "versions": {}, "missing": {}, "cases": []}
    if options.update:
        results = report.updated(read(options), results)
        results["missing"] = {}

    def keep(record):  # written after every case: an interrupted run keeps what it has
        report.put(results["cases"], record)
        print(report.line(record), flush=True)
        write(results, options)

    for work, case in chosen(options):
        workers = start_workers(names_for(work, options), options, scratch, log, results)
        keep(run_case(work, case, workers, options, scratch))
        for worker in workers.values():
            worker.stop()
    if not options.cases and (not options.workloads or "cold" in options.workloads):
        for record in cold.measure(options, scratch, log):
            keep(record)
    if not options.cases and "deep" in (options.workloads or ["deep"]):
        for record in measure.records(options, scratch, log):
            keep(record)
    if not options.cases and "keras-costs" in (options.workloads or ["keras-costs"]):
        for record in keras_costs.measure(options, scratch, log):
            keep(record)
    return results


def read(options):
    with open(os.path.join(options.output, "results.json")) as file:
        return json.load(file)


def write(results, options):
    with open(os.path.join(options.output, "results.json"), "w") as file:
        json.dump(results, file, indent=1)
    with open(os.path.join(options.output, "RESULTS.md"), "w") as file:
        file.write(report.markdown(results, os.path.join(HERE, "notes.ini")))
    with open(os.path.join(options.output, "results.svg"), "w") as file:
        file.write(chart.svg(results["cases"]))


def main(arguments=None):
    options = parse(arguments)
    if options.list:
        for name, work in workloads.load().items():
            print(f"{name}: {work.title}")
            print("".join(f"    {case.name}\n" for case in work.cases()), end="")
        return 0
    os.makedirs(options.output, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        with open(os.path.join(scratch, "log.txt"), "w") as log:
            results = run(options, scratch, log)
    print(f"\n{report.summary(results)}; see {os.path.join(options.output, 'RESULTS.md')}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
