"""Runs deep programs, a process for each program and library, and says what they took.

`python -m benchmarks deep [--only NAME ...] [--peers NAME ...] [--measures NAME ...] [--rounds 3]`.
A library that does not finish within --timeout seconds is reported with what it had until then.
`records` gives the same to the whole benchmark, a record for each program and measure.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from statistics import median

from benchmarks.cold import ROOT, fresh_environment, record

from . import programs
from .child import CLOCKS, PEERS

MEASURES = ("cold", "warm", "new", "one", "step", "plan", "memory")
COLUMNS = {
    "cold": ("first result", "s"),
    "warm": ("warm caches", "s"),
    "new": ("new size", "s"),
    "above": ("above a step", "s"),
    "one": ("size 1", "s"),
    "step": ("step", "s"),
    "per node": ("plan/node", "s"),
    "nodes": ("nodes", ""),
    "memory": ("memory", "MB"),
    "pass 1": ("first pass", "s"),
    "pass 2": ("second pass", "s"),
}  # fmt: skip
OURS_ALONE = ("above", "per node", "plan", "nodes")


def child(peer, program, wanted, options, env, log):
    """{measure: value} of a fresh process, with "results", and "error" if it did not finish."""
    python = sys.executable if peer == "ckernels" else options.peers_python
    command = [
        python,
        "-m",
        "benchmarks.deep.child",
        peer,
        str(options.threads),
        options.clock,
        program.name,
        *wanted,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=env, cwd=ROOT) as work:
        try:
            said, _ = work.communicate(timeout=options.timeout)
        except subprocess.TimeoutExpired:
            work.kill()
            said, _ = work.communicate()
            error = f"not within {options.timeout:.0f} s"
        else:
            error = f"ended with status {work.returncode}" if work.returncode else None
    found = {"error": error} if error else {}
    for text in said.splitlines():
        found.update(json.loads(text))
    return found


def one_round(peer, program, options, scratch, log):
    """{measure: value} of a first process with empty caches and of a second one that finds them
    filled."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        env = fresh_environment(peer, options.threads, folder)
        found = child(peer, program, options.measures, options, env, log)
        if "first" in found:
            found["cold"] = found.pop("first")
            if "warm" in options.measures:
                found["warm"] = child(peer, program, [], options, env, log).get("first")
    if "plan" in found:
        found["per node"] = found["plan"] / max(found["nodes"], 1)
    return found


def taken(peer, program, options, scratch, log):
    """{measure: median of all rounds}, "results" of the first, and "error" if there was one."""
    rounds = []
    while len(rounds) < options.rounds and not any("error" in r for r in rounds):
        rounds.append(one_round(peer, program, options, scratch, log))
    found = {}
    for name in rounds[0]:
        values = [r[name] for r in rounds if r.get(name) is not None]
        found[name] = median(values) if name in COLUMNS and values else rounds[0][name]
    found.update(*[{"error": r["error"]} for r in rounds[-1:] if "error" in r])
    return found


def records(options, scratch, log):
    """The records of all programs, for results.json."""
    peers = [p for p in PEERS if p in options.peers]
    options = argparse.Namespace(
        measures=MEASURES,
        rounds=1 if options.quick else 3,
        threads=options.threads,
        timeout=240,
        clock="wall",
        peers_python=options.peers_python,
    )
    for program in programs().values():
        found = {peer: taken(peer, program, options, scratch, log) for peer in peers}
        wrong = disagreements(found, program)
        for peer in wrong:
            del found[peer]
        for name, (what, unit) in COLUMNS.items():
            values = {p: r[name] for p, r in found.items() if r.get(name) is not None}
            if unit and values:
                yield {**case(program, name, what, values), "unit": unit, "errors": wrong}


def case(program, name, what, values):
    """The record of one measure."""
    ahead = [("peers", 1)] if name not in OURS_ALONE else []
    found = record(f"{program.name}: {what}", program.title, values)
    limit = program.limits.get(name)
    return {**found, "targets": ahead + ([("at most", limit)] if limit else [])}


def disagreements(found, program):
    """{peer: what is wrong} of those whose first results are not those of ckernels."""
    wanted, wrong = found.get("ckernels", {}).get("results"), {}
    for peer, reply in found.items():
        got = reply.get("results")
        if wanted is None or got is None:
            continue
        if [shape for shape, _ in got] != [shape for shape, _ in wanted]:
            wrong[peer] = "other results, or of other shapes"
        elif any(
            abs(a - b) > program.rtol * (1 + abs(b))
            for (_, x), (_, y) in zip(got, wanted)
            for a, b in zip(x, y)
        ):
            wrong[peer] = "its first results differ"
    return wrong


def show(name, value):
    """A value with its unit, in eight characters or so."""
    if value is None:
        return "-"
    unit = COLUMNS[name][1]
    if unit == "s":
        from benchmarks.report import show as seconds

        return seconds(value) if value >= 0 else "-" + seconds(-value)
    return f"{value:.0f} {unit}".strip()


def line(program, peer, found):
    """One line for the terminal."""
    cells = [f"{COLUMNS[n][0]} {show(n, found[n])}" for n in COLUMNS if n in found]
    cells += [found["error"]] if "error" in found else []
    return f"{program.name:15s} {peer:14s} " + "  ".join(cells)


PAGE = """# Deep programs beside torch and JAX

Written by `python -m benchmarks deep --page PATH`. A process for each program and library;
{clock} clock. First result: nothing cached, the import of the library counted. Warm caches: the
same in another process. New size: the first call with a size that is new, the median of five;
above a step: what it takes beyond the median of later calls with it (noise of a step shows in it).
Size 1: the first batch of one sample. Memory: the peak of three steps beyond the process before.
Plan/node: CPU time from graph to plan for a node, without compiler. Rows may be of runs of several
days: `--json` adds to what is there. The programs are in `benchmarks/deep/nets.py` and `chains.py`.

{machine}
"""


def page(everything, clock):
    """What is known of all programs, in Markdown."""
    from benchmarks.report import table

    names = [
        n for n in COLUMNS if any(n in f for found in everything.values() for f in found.values())
    ]
    rows = [["program", "library", *(COLUMNS[n][0] for n in names)]]
    for program, found in everything.items():
        for peer, measures in found.items():
            first = program if peer == next(iter(found)) else ""
            rows.append([first, peer, *(show(n, measures.get(n)) for n in names)])
    return PAGE.format(clock=clock, machine=described()) + "\n" + table(rows) + "\n"


def described():
    """The machine and the day, a line."""
    from benchmarks.run import machine

    found = machine(argparse.Namespace(threads=None, rounds=None, quick=None))
    return f"{found['cpu']}, {found['cores']} cores; Python {found['python']}; {found['date']}."


def known(path):
    """The measures of earlier runs in a file that may not be there yet."""
    if not path or not os.path.exists(path):
        return {}
    with open(path) as file:
        return json.load(file)


def parse(arguments):
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    parser = argparse.ArgumentParser(prog="python -m benchmarks deep")
    add = parser.add_argument
    add("--only", nargs="+", metavar="NAME", choices=list(programs()), help="of these programs")
    add("--peers", nargs="+", metavar="NAME", choices=PEERS, default=list(PEERS))
    add(
        "--measures",
        nargs="+",
        choices=MEASURES,
        default=list(MEASURES),
        metavar="NAME",
        help="of " + " ".join(MEASURES),
    )
    add("--rounds", type=int, default=1, help="processes of which medians are taken (default 1)")
    add("--threads", type=int, default=min(2, cores))
    add("--clock", choices=CLOCKS, default="wall", help="cpu: processor seconds of all processes")
    add("--timeout", type=float, default=240, help="seconds for a process (default 240)")
    add("--peers-python", default=sys.executable, help="a Python that has the peers installed")
    add("--json", metavar="PATH", help="add the measures to those in this file")
    add("--page", metavar="PATH", help="write a page of all measures in --json's file")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    everything = known(options.json)
    with tempfile.TemporaryDirectory() as scratch:
        with open(os.path.join(scratch, "log.txt"), "w+") as log:
            for name, program in programs().items():
                if name not in (options.only or programs()):
                    continue
                for peer in options.peers:
                    found = taken(peer, program, options, scratch, log)
                    everything.setdefault(name, {})[peer] = found
                    print(line(program, peer, found), flush=True)
                for peer, text in disagreements(everything[name], program).items():
                    print(f"{name:15s} {peer:14s} {text}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(everything, file, indent=1)
    if options.page:
        with open(options.page, "w") as file:
            file.write(page(everything, options.clock))
    return 0
