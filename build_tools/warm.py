"""Mutants in children of one process that has imported and collected all: a plugin of pytest.

`asked` starts it. Each child puts the changed code into the functions that are there, or turns a
mutant of the C runtime on (build_tools/switched.py), runs the tests of the mutant until one fails,
and ends: a mutant costs its tests and nothing else. What runs on import does not run again, so what
a change of it does is not seen: of a job that changes no function nobody is asked.
"""

import contextlib
import gc
import importlib.util
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import types
from collections import defaultdict
from pathlib import Path

from build_tools.switched import Switch

MEMORY = 6 << 30  # bytes of address space for the tests of a mutant that never stops asking
SLOWER, MORE = 5, 10  # times the processor time that a test takes without a change, and seconds
WAITS, LONGER = 20, 120  # the same of time


def asked(jobs, files, root, switch=None, env=()):
    """Start the process, which collects `files`: (job, {what became of it}) for job after job.

    A job is {tests: their names in order, or None for all, seconds: {name of a test: its time}},
    and {key, path, module, source} of a mutant of Python, or {key, number} of one that a Switch
    turns on; without a mutant all its tests run, and say what numbers each of them reaches.
    """
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "jobs.json"
        given.write_text(json.dumps({"jobs": jobs, "switch": switch and str(switch.path)}))
        told, tell = os.pipe()
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-p", "build_tools.warm"),
            *("-p", "no:cacheprovider", "-p", "no:xdist", *sorted(files)),
        ]
        env = {**os.environ, **dict(env), "CKERNELS_MUTANTS": f"{tell} {given}"}
        run = subprocess.Popen(
            command, cwd=root, env=env, pass_fds=[tell], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        os.close(tell)
        try:
            with open(told) as rows:
                yield from zip(jobs, map(json.loads, rows))
        finally:
            run.terminate()
            said = run.communicate()[0]
        if run.returncode > 0:
            raise SystemExit(said)


# ---- the changed code in the functions that are there -------------------------------------------


def codes(source, name):
    """{what tells a function from the others of a file: the codes of that} of a source."""
    found, left = defaultdict(list), [compile(source, name, "exec", dont_inherit=True)]
    while left:
        code = left.pop()
        found[code.co_name, code.co_firstlineno].append(code)
        left += reversed([c for c in code.co_consts if isinstance(c, types.CodeType)])
    return found


def put(name, before, after):
    """Give all functions of a file the code of another source; how many have got another."""
    before, after = codes(before, name), codes(after, name)
    changed = {}
    for key, some in before.items():
        if len(some) == len(after[key]):
            changed.update((old, new) for old, new in zip(some, after[key]) if old != new)
    count = 0
    gc.unfreeze()  # what tests/conftest.py has frozen is not among the objects
    for function in gc.get_objects():
        if isinstance(function, types.FunctionType) and function.__code__.co_filename == name:
            new = changed.get(function.__code__)
            if new and len(new.co_freevars) == len(function.__code__.co_freevars):
                function.__code__ = new
                count += 1
    return count


# ---- the plugin ---------------------------------------------------------------------------------


def limited(seconds):
    """From here on a child may use this much processor time."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + seconds) + 1, hard))


def only_plans_of(version):
    """From here on plans are read and stored for code of this version: none of the tree as it is,
    also where the first test would import what stores them."""
    with contextlib.suppress(ImportError):  # of a tree without stored plans
        importlib.import_module("ckernels.runtime.stored").code_version = lambda rooms=None: version


def child(job, items, switch, say):
    """Run the tests of a job until one fails; of one that changes nothing, all."""
    from _pytest.runner import runtestprotocol

    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    changes = "source" in job or "number" in job
    if changes:
        only_plans_of(os.urandom(16).hex())
    if "source" in job and not put(job["path"], Path(job["path"]).read_text(), job["source"]):
        say("put nowhere", None)
        return
    if switch:
        switch.turn(job.get("number", 0))
    for item, following in zip(items, [*items[1:], None]):
        say("begins", item.nodeid)
        limited(SLOWER * job["seconds"].get(item.nodeid, MORE) + MORE)
        started = time.time()
        failed = any(r.failed for r in runtestprotocol(item, nextitem=following, log=False))
        if failed:
            say("fails", item.nodeid)
            if changes:
                return
        elif switch and not changes:
            say("reaches", [item.nodeid, round(time.time() - started, 3), switch.reached()])
            switch.turn(0)
    say("ends", None)


def run(job, items, switch):
    """All that a child said of a job: pairs (word, what)."""
    told, tell = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if not pid:
        try:
            quiet = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(quiet, stream)
            child(
                job,
                items,
                switch,
                lambda *words: os.write(tell, f"{json.dumps(words)}\n".encode()),
            )
        finally:
            os._exit(0)
    os.close(tell)
    expected = sum(job["seconds"].get(item.nodeid, MORE) for item in items)
    said, until = b"", time.time() + WAITS * expected + LONGER
    while select.select([told], [], [], max(0, until - time.time()))[0]:
        more = os.read(told, 1 << 16)
        if not more:
            break
        said += more
    for kill in (os.killpg, os.kill):  # what its tests have started too
        with contextlib.suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(told)
    return [json.loads(line) for line in said.decode().splitlines()]


def pytest_runtestloop(session):
    """Instead of the tests: the jobs."""
    by_name = {item.nodeid: item for item in session.items}
    with open(int(os.environ["CKERNELS_MUTANTS"].split()[0]), "w") as rows:
        for job in _given["jobs"]:
            if "module" in job:
                importlib.import_module(job["module"])  # some are imported when they are needed
            names = by_name if job["tests"] is None else job["tests"]
            said = run(job, [by_name[n] for n in names if n in by_name], _switch)
            fails = [what for word, what in said if word == "fails"]
            if not said or said[-1][0] in ("begins", "reaches"):  # it was ended
                fails.append(
                    next((w for word, w in said[::-1] if word == "begins"), "nothing runs")
                )
            row = {
                "fails": fails,
                "put": ["put nowhere", None] not in said,
                "reaches": [what for word, what in said if word == "reaches"],
            }
            rows.write(json.dumps(row) + "\n")
            rows.flush()
    return True


_given, _switch = None, None
if "CKERNELS_MUTANTS" in os.environ:
    _given = json.loads(Path(os.environ["CKERNELS_MUTANTS"].split()[1]).read_text())
    _switch = _given["switch"] and Switch(Path(_given["switch"]))
