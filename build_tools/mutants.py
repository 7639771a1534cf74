"""Mutants: one condition of a rule, a plan or the runtime is changed, and a test has to fail.

    python -m build_tools.mutants ckernels/rewrite ckernels/src --count 60 --results out.jsonl

The change is written into a copy of the tree in memory, with kernels of its own: plans that the
tree itself has stored would hide what makes them. The tests of the file's name run first, then
those of its room, then --wider, until one fails that passes without the change. What no test sees
is a survivor: a test is missing, or the condition is not needed, or it only saves work; of the last
kind build_tools/equivalent.py has a list, with reasons. What --results has is not tried again while
its file stays as it was, so a run that was cut off goes on.

With --covered, a folder of what build_tools/covered.py wrote, a change asks only tests that pass
through it: a few of each file, the fastest first, those of the room before the others, then those
of the file's name. Of functions and of the C runtime, children of one process ask them, seconds
each (build_tools/warm.py). What survives is only a candidate: --again asks all tests of its room in
processes of their own, as without --covered.
"""

import argparse
import ast
import contextlib
import functools
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from build_tools import switched, warm
from build_tools.covered import Covered
from build_tools.equivalent import EQUIVALENT

ROOT = Path(__file__).resolve().parents[1]
NEAR, FAR = (60, 8.0), (120, 5.0)  # tests through a change, and seconds: of its room, of others
SWAPS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
QUANTIFIERS = {"all": "any", "any": "all"}
FOLDERS = {"theano": "compat/theano"}  # of the tests of a room that has another name there
RUN_MUCH_C = ("src", "runtime", "codegen/forms", "plan/test_bands.py")
C_SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||",
           "||": "&&"}  # fmt: skip
C_OPERATOR = re.compile(r"(?<= )(?:[<>]=?|[=!]=|&&|\|\|)(?=\s)")
C_NOT_MEANT = (
    *switched.NO_CODE,
    re.compile(r"\bfor \([^;]*;[^;]*;"),  # one step more is out of bounds: sanitizers see it
)


# ---- what may be changed ------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """Bytes `start` to `end` of a file become `text`."""

    line: int
    what: str
    start: int
    end: int
    text: str

    def made(self, source):
        return source[: self.start] + self.text.encode() + source[self.end :]


def changes(path):
    """All changes of a file of Python or C, each once."""
    source = path.read_bytes()
    found = in_python(source) if path.suffix == ".py" else in_c(source.decode())
    return list({(c.line, c.what): c for c in found}.values())


def in_python(source):
    """Conditions of all functions but the special ones, and names in tables."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(source)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and not function.name.startswith("__"):
            for node in ast.walk(function):
                yield from of_condition(node, source, starts)
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).isupper():
            for table in ast.walk(node.value):
                yield from of_table(table, ast.unparse(node.targets[0]), starts)


def span(first, starts, last=None):
    """(the first byte of a node, the byte behind it or behind another)."""
    last = last or first
    return (
        starts[first.lineno - 1] + first.col_offset,
        starts[last.end_lineno - 1] + last.end_col_offset,
    )


def of_condition(node, source, starts):
    """The changes of one node of a tree."""

    def beside(part, what, neutral):
        start, end = span(part, starts)
        text = f"({neutral} ({source[start:end].decode()}))"
        return Change(node.lineno, what, start, end, text)

    if isinstance(node, ast.BoolOp):
        word, neutral = ("and", "True or") if isinstance(node.op, ast.And) else ("or", "False and")
        for value in node.values:
            yield beside(value, f"without `{word} {ast.unparse(value)}`", neutral)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SWAPS:
        old, new = SWAPS[type(node.ops[0])]
        (_, start), (end, _) = span(node.left, starts), span(node.comparators[0], starts)
        text = re.sub(old.replace(" ", r"\s+"), new, source[start:end].decode(), count=1)
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        what = f"`{ast.unparse(node)}` is `{left} {new} {right}`"
        yield Change(node.lineno, what, start, end, text)
    elif isinstance(node, ast.If):
        yield beside(node.test, f"never `if {ast.unparse(node.test)}`", "False and")
    elif isinstance(node, ast.Call) and getattr(node.func, "id", None) in QUANTIFIERS:
        other = QUANTIFIERS[node.func.id]
        what = f"{other} for `{ast.unparse(node)[:60]}`"
        yield Change(node.lineno, what, *span(node.func, starts), other)


def of_table(node, table, starts):
    """The changes that leave one name out of a table: an element or a key."""
    if isinstance(node, ast.Tuple):
        entries, nothing = [(e, e) for e in node.elts], "*()"
    elif isinstance(node, ast.Dict):
        entries, nothing = list(zip(node.keys, node.values)), "**{}"
    else:
        return
    for first, last in entries:
        name = isinstance(first, ast.Constant) and type(first.value) is str
        if name and first.lineno == last.end_lineno:
            what = f"{table} without `{first.value}`"
            yield Change(first.lineno, what, *span(first, starts, last), nothing)


def in_c(source):
    """Comparisons and conditions of C, but not of its preprocessor, nor the ends of loops."""
    plain = switched.without(C_NOT_MEANT, source)
    lines = source.splitlines()

    def change(what, start, end, text):
        line, column = source.count("\n", 0, start), start - source.rfind("\n", 0, start) - 1
        what = f"{what} in `{lines[line].strip()}`, column {column}"
        start, end = (len(source[:k].encode()) for k in (start, end))
        return Change(line + 1, what, start, end, text)

    for found in C_OPERATOR.finditer(plain):
        new = C_SWAPS[found[0]]
        yield change(f"`{new}` for `{found[0]}`", *found.span(), new)
    for found in re.finditer(r"\bif \(", plain):
        start, end = found.end(), closing(plain, found.end())
        yield change("never `if`", start, end, f"0 && ({source[start:end]})")


def closing(text, at):
    """Where the parenthesis that is open at `at` closes."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at - 1


def sample(paths, count, seed):
    """`count` pairs (file, change) of all below `paths`, the same for the same seed."""
    found = [p.rglob("*.*") if p.is_dir() else [p] for p in paths]
    files = sorted(f for some in found for f in some if f.suffix in (".py", ".c", ".h"))
    every = [(f, change) for f in files for change in changes(f)]
    chosen = random.Random(seed).sample(range(len(every)), min(count, len(every)))
    return [every[k] for k in sorted(chosen)]


# ---- the copy -----------------------------------------------------------------------------------


class Copy:
    """The tree, with kernels of its own, in a folder in which one mutant stands at a time."""

    def __init__(self, folder, seconds):
        self.tree, self.kernels, self.seconds = folder / "tree", folder / "kernels", seconds
        self.kernels.mkdir(exist_ok=True)
        self.sound, self.unsound = set(), []
        tracked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(tracked, cwd=ROOT, capture_output=True, check=True).stdout.decode()
        built = [p for name in ("ckernels/**/_runtime*.so", "ckernels/compiler/_loader.py",
                                "build/temp*/**/*.o") for p in ROOT.glob(name)]  # fmt: skip
        for path in (*(ROOT / n for n in names.split("\0") if n), *built):
            if path.is_file():
                target = self.tree / path.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target)

    @contextlib.contextmanager
    def mutant(self, path, change):
        """The copy has a change, the runtime is built with it."""
        target = self.tree / path.relative_to(ROOT)
        source, before = target.read_bytes(), target.stat()
        started = time.time()
        target.write_bytes(change.made(source))
        os.utime(target, (started + 1, started + 1))  # bytecode is told apart by whole seconds
        runtimes = [] if path.suffix == ".py" else list(self.tree.glob("ckernels/_runtime*.so"))
        kept = [(p, p.read_bytes(), p.stat()) for p in runtimes]
        try:
            if runtimes:
                self.build()
            yield
        finally:
            target.write_bytes(source)
            if runtimes:  # objects are newer than the source was: they are built again next time
                for p, content, times in kept:
                    p.write_bytes(content)
                    os.utime(p, ns=(times.st_atime_ns, times.st_mtime_ns))
            else:
                os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
            for plan in self.kernels.rglob("*.plan"):
                if plan.stat().st_mtime >= started:
                    plan.unlink()  # of the mutant

    def build(self):
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        env = {**os.environ, "CKERNELS_REQUIRE_RUNTIME": "1"}
        done = subprocess.run(command, cwd=self.tree, env=env, capture_output=True, text=True)
        if done.returncode:
            raise NotC(done.stderr)

    def failing(self, tests):
        """The first of `tests` that fails, None if there is none."""
        code, text = self.ran(["-x", *tests])
        return None if code in (0, 5) else first_failure(text)  # 5: all are deselected

    def ran(self, asked):
        """(exit code, what it said) of a run of pytest in the copy."""
        command = [
            *(sys.executable, "-m", "pytest", "-v", "--tb=no", "-p", "no:cacheprovider"),
            *("-o", "timeout_method=thread", "--timeout", str(self.seconds)),
            *(f"--deselect={name}" for name in self.unsound),
            *asked,
        ]
        env = {
            **os.environ,
            "PYTHONPATH": str(self.tree),
            "CKERNELS_TESTS_KERNELS": str(self.kernels),
        }
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        with tempfile.TemporaryFile("w+") as said:
            run = subprocess.Popen(
                command, cwd=self.tree, env=env, stdout=said, stderr=subprocess.STDOUT,
                start_new_session=True, preexec_fn=limited,
            )  # fmt: skip
            try:
                code = run.wait()
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(run.pid, signal.SIGKILL)  # and what its tests have started
            said.seek(0)
            return code, said.read()

    def holds(self, test):
        """Whether a test passes in the tree as it is, or a list of files can be imported."""
        if isinstance(test, list):
            if self.failing(["--collect-only", *test]) is not None:
                raise SystemExit(f"without any change these cannot be imported: {' '.join(test)}")
        elif test not in self.sound:
            if self.failing([test]) is not None:
                self.unsound.append(test)
                return False
            self.sound.add(test)
        return True

    def unsound_among(self, tests):
        """The tests that fail without any change, of those not asked before."""
        new = sorted(tests - self.sound)
        failed = set(failures(self.ran(new)[1])) & set(new) if new else set()
        self.unsound += sorted(failed)
        self.sound.update(set(new) - failed)
        return failed


class NotC(Exception):
    """The compiler refuses a mutant."""


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (warm.MEMORY, warm.MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def results(said):
    """(test, what became of it or None) of what `pytest -v` said."""
    for line in said.splitlines():
        found = re.match(r"(tests/\S+::.*?)(?: (PASSED|SKIPPED|XFAIL|FAILED|ERROR)\b.*)?$", line)
        if found:
            yield found[1].strip(), found[2]


def failures(said):
    """All tests that failed."""
    return [test for test, end in results(said) if end in ("FAILED", "ERROR")]


def first_failure(said):
    """The test that failed, or that ran when all ended."""
    last = "nothing can be imported"
    for test, end in results(said):
        last = test
        if end in ("FAILED", "ERROR"):
            break
    return last


# ---- the command --------------------------------------------------------------------------------


def tests_of(path, wider=()):
    """Groups of test files of a file: those of its name, the others of its room, the wider ones."""
    tests = ROOT / "tests"
    room, *below = path.relative_to(ROOT / "ckernels").parts
    rooms = [tests / FOLDERS.get(room, room)]
    if room == "src":
        rooms = [tests / "src" / below[0], *(tests / r for r in RUN_MUCH_C)]
    groups, seen = [], set()
    every = [[f for r in some for f in sorted([r] if r.suffix else r.rglob("test_*.py"))]
             for some in (rooms, [tests / w for w in wider])]  # fmt: skip
    own = [f for f in every[0] if f"{f.stem}_".startswith(f"test_{path.stem}_")]
    for group in (own, *every):
        new = [f for f in group if not (f in seen or seen.add(f))]
        groups.append(new)
    return groups


def tried(copy, path, change, wider, kills, covered):
    """The first test that sees a change, the files that saw most first; None if none does."""
    groups = through(path, change, covered)
    for group in groups or tests_of(path, wider):
        names = [f.relative_to(ROOT).as_posix() if isinstance(f, Path) else f for f in group]
        names.sort(key=lambda name: -kills[name])
        while names:
            try:
                with copy.mutant(path, change):
                    end = copy.failing(names)
            except NotC:
                return "it does not compile"
            if end is None:
                break
            if end in covered.seconds or copy.holds(end if "::" in end else names):
                kills[end.partition("::")[0]] += 1
                return end
    return None


def through(path, change, covered):
    """Groups of tests that pass through a change: of its room, of where it leads to, of other
    rooms, of its file's name."""
    tests = covered.tests(path, change) if path.suffix == ".py" else None
    if not tests:
        return []
    own, room, _ = tests_of(path)
    near = {f.relative_to(ROOT).as_posix() for f in (*own, *room)}
    within = {test for test in tests if test.partition("::")[0] in near}
    chosen = (within, NEAR), (covered.beside(path, change), NEAR), (tests - within, FAR)
    groups = [*(covered.spread(some, *limits) for some, limits in chosen), own]
    return [group for group in groups if group]


# ---- many in one process ------------------------------------------------------------------------


def in_children(chosen, covered, kernels):
    """(key, the first test that sees it or None) of the (key, path, change) of functions whose
    tests are known, and of the runtime."""
    python, c = [], []
    for key, path, change in chosen:
        if path.suffix != ".py":
            c.append((key, path, change))
        elif groups := through(path, change, covered):
            files = [
                f.relative_to(ROOT).as_posix() for g in groups for f in g if isinstance(f, Path)
            ]
            names = [t for group in groups for t in group if not isinstance(t, Path)]
            names += [t for t in covered.seconds if t.partition("::")[0] in files]
            job = job_of(key, {t: covered.seconds[t] for t in names})
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            source = change.made(path.read_bytes()).decode()
            python.append({**job, "path": str(path), "module": module, "source": source})
    env = {"CKERNELS_TESTS_KERNELS": str(kernels)}
    if python:
        yield from seen(python, env)
    for some in (c[k : k + switched.MARKS - 1] for k in range(0, len(c), switched.MARKS - 1)):
        with tempfile.TemporaryDirectory() as folder:
            tree = Copy(Path(folder), 0).tree
            numbered = {
                k: (tree / path.relative_to(ROOT), change)
                for k, (_, path, change) in enumerate(some, 1)
            }
            there = switched.build(tree, numbered)
            switch = switched.Switch(tree / "switch")
            yield from seen(in_runtime(some, there, tree, switch, env), env, tree, switch)


def job_of(key, seconds):
    return {"key": key, "tests": list(seconds), "seconds": seconds}


def in_runtime(chosen, there, tree, switch, env):
    """The jobs of mutants in the runtime of a tree, each with the tests that reach it."""
    groups = [tests_of(path) for _, path, _ in chosen]
    files = {f.relative_to(ROOT).as_posix() for g in groups for group in g for f in group}
    everything = {"key": "", "tests": None, "seconds": {}}
    ((_, row),) = warm.asked([everything], files, tree, switch, env)
    reached = Covered(None)
    numbers = {k: set() for k in there}
    for test, seconds, some in row["reaches"]:
        reached.seconds[test] = seconds
        for k in there.intersection(some):
            numbers[k].add(test)
    for k, (key, *_) in enumerate(chosen, 1):
        if numbers.get(k):
            names = reached.spread(numbers[k], *NEAR)
            yield {**job_of(key, {t: reached.seconds[t] for t in names}), "number": k}


def seen(jobs, env, root=ROOT, switch=None):
    """(key, the first test that fails or None) of jobs that did change something."""
    jobs = list(jobs)
    files = {test.partition("::")[0] for job in jobs for test in job["tests"]}
    for job, row in warm.asked(jobs, files, root, switch, env):
        if row["put"]:
            yield job["key"], next(iter(row["fails"]), None)


def known(path):
    """{key of a change: its line} in a file of results."""
    lines = path.read_text().splitlines() if path and path.exists() else []
    return {row["key"]: row for row in map(json.loads, lines)}


def key_of(path, change):
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    return f"{path.relative_to(ROOT).as_posix()} {digest} {change.start} {change.what}"


def reason(path, change):
    """Why a change decides nothing, if it stands in the list."""
    listed = EQUIVALENT.get(path.relative_to(ROOT).as_posix())
    return listed.get(names_of(path)[change]) if listed else None


@functools.cache
def names_of(path):
    """{change of a file: its name in the list}."""
    return {change: name for name, change in named(changes(path)).items()}


def named(found):
    """{what a change of a file says, of several that say the same with its number: the change}."""
    groups = defaultdict(list)
    for change in sorted(found, key=lambda c: c.start):
        groups[change.what].append(change)
    return {
        what if len(same) == 1 else f"{what}, {k} of {len(same)}": change
        for what, same in groups.items()
        for k, change in enumerate(same, 1)
    }


def main(arguments=None):
    """Try a sample; 1 where fewer than --least per cent are seen."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, help="files or folders of the package")
    parser.add_argument("--count", type=int, default=60, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=100, help="that a test may take")
    parser.add_argument("--results", type=Path, help="file of results, one a line, to go on from")
    parser.add_argument("--again", action="store_true", help="try what survived in --results again")
    parser.add_argument("--wider", nargs="*", default=(), help="folders of tests/ to ask last")
    parser.add_argument("--covered", type=Path, help="folder of what build_tools/covered.py wrote")
    parser.add_argument("--copy", type=Path, help="folder of the copy, which is kept")
    parser.add_argument("--least", type=float, default=0.0, help="per cent that must be seen")
    asked = parser.parse_args(arguments)
    chosen = sample([p.resolve() for p in asked.paths], asked.count, asked.seed)
    chosen = [(key_of(*some), *some) for some in chosen]
    decide = [some for some in chosen if not reason(*some[1:])]
    covered, kills = Covered(None if asked.again else asked.covered), Counter()
    before = known(asked.results)
    if asked.again:
        before = {key: row for key, row in before.items() if row["end"]}
    for key, *where in decide:
        if key in before:
            show(*where, before[key]["end"])
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    folder = asked.copy or Path(tempfile.mkdtemp(prefix="ckernels-mutants-", dir=memory))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        copy = Copy(folder, asked.seconds)
        where = {key: (path, change) for key, path, change in decide}
        while left := [some for some in decide if some[0] not in before]:
            started = time.time()
            for key, end in ends_of(left, copy, asked.wider, kills, covered):
                before[key] = {"key": key, "end": end, "seconds": round(time.time() - started)}
                started = time.time()
                if asked.results:
                    with open(asked.results, "a") as file:
                        file.write(json.dumps(before[key]) + "\n")
                show(*where[key], end)
            ends = {before[key]["end"] for key, *_ in decide}
            unsound = copy.unsound_among(ends & set(covered.seconds))
            before = {key: row for key, row in before.items() if row["end"] not in unsound}
    finally:
        if not asked.copy:
            shutil.rmtree(folder)
    ends = [(path.relative_to(ROOT / "ckernels").parts[0], before[key]["end"])
            for key, path, _ in decide]  # fmt: skip
    return said(ends, len(chosen) - len(ends), asked.least)


def ends_of(left, copy, wider, kills, covered):
    """(key, the first test that sees it or None) of all mutants, those of one process first."""
    done = set()
    if covered.seconds:
        for key, end in in_children(left, covered, copy.kernels):
            done.add(key)
            yield key, end
    for key, path, change in left:
        if key not in done:
            yield key, tried(copy, path, change, wider, kills, covered)


def show(path, change, end):
    where = f"{path.relative_to(ROOT)}:{change.line} {change.what}"
    print(f"{where}: {end}" if end else f"SURVIVES {where}", flush=True)


def said(ends, equivalent, least):
    """Print the figures; 1 where too few were seen."""
    rooms, seen = Counter(room for room, _ in ends), Counter(room for room, end in ends if end)
    for room, count in sorted(rooms.items()):
        print(f"{room}: {seen[room]} of {count}")
    share = 100 * seen.total() / max(1, len(ends))
    print(f"{seen.total()} of {len(ends)} mutants are seen by tests ({share:.0f} %); "
          f"{equivalent} are on the list of those that decide nothing")  # fmt: skip
    return int(share < least)


if __name__ == "__main__":
    sys.exit(main())
