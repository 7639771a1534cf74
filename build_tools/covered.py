"""Which tests pass through which lines: a plugin of pytest that says it, and what reads it.

    CKERNELS_COVERED=build/covered/plan.json python -m pytest -p build_tools.covered tests/plan

Python 3.12 tells of each line once a test, at next to no cost, and forgets it for the next test.
Only tests that pass are written down, and of a file's tests the fastest at each line.
"""

import ast
import hashlib
import json
import os
import re
import sys
from collections import Counter, defaultdict
from itertools import accumulate
from pathlib import Path

from build_tools.warm import only_plans_of

PACKAGE = Path(__file__).resolve().parents[1] / "ckernels"
PER_FILE = 25  # tests of one file at a line: the others hardly see what these do not
BESIDE = 2  # tests of each line of the function
AVAILABLE = hasattr(sys, "monitoring")


# ---- the plugin ---------------------------------------------------------------------------------


class Recorder:
    """The lines that ran since the last test, and per line the fastest tests of each file."""

    def __init__(self):
        self.lines, self.now = defaultdict(list), set()
        self.tests, self.seconds, self.passed = [], 0.0, True
        self.file, self.fastest = None, defaultdict(list)

    def line(self, code, number):
        self.now.add((code.co_filename, number))
        return sys.monitoring.DISABLE

    def begin(self):
        self.now.clear()
        self.seconds, self.passed = 0.0, True
        sys.monitoring.restart_events()

    def end(self, nodeid):
        file = nodeid.partition("::")[0]
        if file != self.file:
            self.flush()
            self.file = file
        if self.passed:
            number, inside = len(self.tests), f"{PACKAGE}{os.sep}"
            self.tests.append([nodeid, round(self.seconds, 3)])
            for at in self.now:
                if at[0].startswith(inside):
                    of_line = self.fastest[at]
                    of_line.append((self.seconds, number))
                    if len(of_line) > 4 * PER_FILE:
                        of_line.sort()
                        del of_line[PER_FILE:]

    def flush(self):
        for at, found in self.fastest.items():
            self.lines[at] += [number for _, number in sorted(found)[:PER_FILE]]
        self.fastest.clear()

    def written(self):
        self.flush()
        files = defaultdict(dict)
        for (file, number), tests in sorted(self.lines.items()):
            files[Path(file).relative_to(PACKAGE.parent).as_posix()][number] = tests
        digests = {file: digest(PACKAGE.parent / file) for file in files}
        return {"tests": self.tests, "digests": digests, "lines": files}


_recorder = None


def pytest_configure(config):
    global _recorder
    monitoring = sys.monitoring
    _recorder = Recorder()
    monitoring.use_tool_id(monitoring.COVERAGE_ID, "ckernels")
    monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.LINE, _recorder.line)


def pytest_runtest_logstart(nodeid, location):
    only_plans_of(nodeid)  # a stored plan hides what makes it
    _recorder.begin()
    sys.monitoring.set_events(sys.monitoring.COVERAGE_ID, sys.monitoring.events.LINE)


def pytest_runtest_logreport(report):
    _recorder.seconds += report.duration
    _recorder.passed &= report.passed


def pytest_runtest_logfinish(nodeid, location):
    sys.monitoring.set_events(sys.monitoring.COVERAGE_ID, 0)
    _recorder.end(nodeid)


def pytest_sessionfinish(session):
    target = Path(os.environ["CKERNELS_COVERED"])
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(_recorder.written()))
    unfinished.replace(target)


# ---- what reads it ------------------------------------------------------------------------------


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


class Covered:
    """The tests of every line, of all that the plugin wrote into a folder; of none, nothing."""

    def __init__(self, folder):
        self.seconds, self.lines, self.digests = {}, defaultdict(lambda: defaultdict(set)), {}
        for path in sorted(folder.glob("*.json")) if folder else ():
            told = json.loads(path.read_text())
            names = [name for name, _ in told["tests"]]
            self.seconds.update(map(tuple, told["tests"]))
            self.digests.update(told["digests"])
            for file, lines in told["lines"].items():
                for number, tests in lines.items():
                    self.lines[file][int(number)].update(names[k] for k in tests)

    def tests(self, path, change):
        """The tests that pass through what a change of a file changes; None if nobody knows."""
        name = path.relative_to(PACKAGE.parent).as_posix() if self.lines else None
        if not name or self.digests.get(name) != digest(path):
            return None
        source = path.read_bytes()
        found = set()
        for file, first, last in places(name, source, change):
            for number in range(first, last + 1):
                found |= self.lines[file].get(number, set())
        return found or None

    def beside(self, path, change):
        """The fastest tests of each line of the function that a change is in: a condition shows
        where it leads to."""
        name, found = path.relative_to(PACKAGE.parent).as_posix(), set()
        for number in function_of(path.read_bytes(), change):
            found.update(sorted(self.lines[name].get(number, ()), key=self.seconds.get)[:BESIDE])
        return found

    def spread(self, tests, count, seconds):
        """The fastest of each file, then the second of each, and so on, within two limits."""
        rank, chosen = Counter(), []
        for test in sorted(tests, key=self.seconds.get):
            file = test.partition("::")[0]
            chosen.append((rank[file], self.seconds[test], test))
            rank[file] += 1
        ends = accumulate(self.seconds[test] for *_, test in sorted(chosen))
        within = sum(end <= seconds for end in ends)
        return [test for *_, test in sorted(chosen)[: max(1, min(count, within))]]


def places(name, source, change):
    """(file, first line, last line) of what has to run for a change to show.

    Those of the changed text, else of the statement around it; of an entry of a table, which runs
    on import, the lines that name the table.
    """
    first = source.count(b"\n", 0, change.start) + 1
    last = source.count(b"\n", 0, change.end) + 1
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.lineno <= first <= node.end_lineno:
            return list(naming(ast.unparse(node.targets[0])))
    around = [n for n in ast.walk(tree)
              if isinstance(n, ast.stmt) and n.lineno <= first <= n.end_lineno]  # fmt: skip
    inner = max(around, key=lambda n: n.lineno)
    return [(name, min(first, inner.lineno), max(last, change.line))]


def function_of(source, change):
    """The lines of the function that a change is in."""
    first = source.count(b"\n", 0, change.start) + 1
    there = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)]
    functions = [n for n in there if n.lineno <= first <= n.end_lineno]
    inner = max(functions, key=lambda n: n.lineno, default=None)
    return range(inner.lineno, inner.end_lineno + 1) if inner else ()


def naming(table):
    """The places below the package that name a table."""
    word = re.compile(rf"\b{re.escape(table)}\b")
    for path in sorted(PACKAGE.rglob("*.py")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if word.search(line):
                yield path.relative_to(PACKAGE.parent).as_posix(), number, number
