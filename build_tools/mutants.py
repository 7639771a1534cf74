"""Mutants: one condition of a rule, a schedule or a plan is changed, and a test has to fail.

    python -m build_tools.mutants ckernels/rewrite ckernels/schedule --count 60 --seed 1

A mutant is made while its module is imported, by this file as a plugin of pytest, so that no source
is written. The tests of its room run until one fails. What no test sees is printed as a survivor:
a test is missing, or the condition is not needed, or it only saves work.
"""

import argparse
import ast
import concurrent.futures
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = "CKERNELS_MUTANT"  # file:number, read by the plugin
SECONDS = 900  # what a mutant may take: one that never ends is seen
SWAPS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
QUANTIFIERS = {"all": "any", "any": "all"}
LEAVES = (ast.Return, ast.Continue, ast.Break, ast.Raise)


# ---- what may be changed ------------------------------------------------------------------------


def changes(tree):
    """[(line, what is changed, a function that changes it in `tree`)] of all functions in it."""
    found = []
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and not function.name.startswith("__"):
            for node in ast.walk(function):
                found += [(node.lineno, text, act) for text, act in changes_of(node)]
    return list({(line, text): (line, text, act) for line, text, act in found}.values())


def changes_of(node):
    """[(what, function that does it)] for one node of a tree."""
    if isinstance(node, ast.BoolOp):
        word, neutral = ("and", True) if isinstance(node.op, ast.And) else ("or", False)
        return [
            (
                f"without `{word} {ast.unparse(value)}`",
                lambda k=k: node.values.__setitem__(k, ast.Constant(neutral)),
            )
            for k, value in enumerate(node.values)
        ]
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SWAPS:
        other = SWAPS[type(node.ops[0])]()
        text = ast.unparse(ast.Compare(node.left, [other], node.comparators))
        return [
            (f"`{ast.unparse(node)}` is `{text}`", lambda: node.ops.__setitem__(0, other)),
        ]
    if isinstance(node, ast.If) and isinstance(node.body[-1], LEAVES):
        never = ast.copy_location(ast.Constant(False), node.test)
        return [(f"never `if {ast.unparse(node.test)}`", lambda: setattr(node, "test", never))]
    if isinstance(node, ast.Call) and getattr(node.func, "id", None) in QUANTIFIERS:
        other = QUANTIFIERS[node.func.id]
        text = ast.unparse(node)[:60]
        return [(f"{other} for `{text}`", lambda: setattr(node.func, "id", other))]
    return []


def mutated(path, number):
    """(the tree of a file with change `number`, its line, what was changed)."""
    tree = ast.parse(path.read_text())
    line, text, act = changes(tree)[number]
    act()
    return tree, line, text


# ---- the plugin ---------------------------------------------------------------------------------


class Loader(importlib.machinery.SourceFileLoader):
    """Loads one module with its change."""

    def get_code(self, fullname):
        tree = mutated(Path(self.path), self.number)[0]
        return compile(ast.fix_missing_locations(tree), self.path, "exec")


class Finder(importlib.abc.MetaPathFinder):
    """Finds the module that is changed, and no other."""

    def __init__(self, path, number):
        self.path, self.number = path, number
        parts = path.relative_to(ROOT).with_suffix("").parts
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        loader = Loader(name, str(self.path))
        loader.number = self.number
        return importlib.util.spec_from_file_location(name, self.path, loader=loader)


def install():
    """Have the module that the environment names changed when it is imported."""
    file, _, number = os.environ[VARIABLE].rpartition(":")
    sys.meta_path.insert(0, Finder(ROOT / file, int(number)))


# ---- the command --------------------------------------------------------------------------------


def tests_of(path):
    """The test files of a module: those of its name, then the others of its room."""
    room = path.relative_to(ROOT / "ckernels").parts[0]
    every = sorted((ROOT / "tests" / room).rglob("test_*.py"))
    own = [p for p in every if p.stem.startswith(f"test_{path.stem}")]
    return [str(p) for p in (*own, *(p for p in every if p not in own))]


def fate(path, number, tests=None):
    """What a mutant comes to: the first test that fails, or None if it survives."""
    file = path.relative_to(ROOT).as_posix()
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider"),
        *("-p", "build_tools.mutants", *(tests or tests_of(path))),
    ]
    env = {**os.environ, VARIABLE: f"{file}:{number}"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return "it does not end"
    if done.returncode == 0:
        return None
    if done.returncode > 2:  # of pytest itself: no tests, bad options
        raise SystemExit(done.stdout + done.stderr)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].partition(" - ")[0] if failed else "nothing can be imported, or it crashes"


def sample(paths, count, seed):
    """`count` pairs (file, number) of all changes below `paths`, the same for the same seed."""
    files = sorted(f for p in paths for f in ([p] if p.suffix else p.rglob("*.py")))
    every = [(f, k) for f in files for k in range(len(changes(ast.parse(f.read_text()))))]
    return sorted(random.Random(seed).sample(every, min(count, len(every))))


def main(arguments=None):
    """Try a sample; 1 where fewer than --least per cent are seen."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, help="files or folders of the package")
    parser.add_argument("--count", type=int, default=60, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--least", type=float, default=0.0, help="per cent that must be seen")
    parser.add_argument("--tests", nargs="*", help="test files, in place of those of the room")
    asked = parser.parse_args(arguments)
    chosen = sample([p.resolve() for p in asked.paths], asked.count, asked.seed)
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        found = [(f, k, pool.submit(fate, f, k, asked.tests)) for f, k in chosen]
        seen = 0
        for path, number, future in found:
            _, line, text = mutated(path, number)
            end, seen = future.result(), seen + (future.result() is not None)
            where = f"{path.relative_to(ROOT)}:{line} {text}"
            print(f"{where}: {end}" if end else f"SURVIVES {where}", flush=True)
    share = 100 * seen / max(1, len(found))
    print(f"{seen} of {len(found)} mutants are seen by tests ({share:.0f} %)")
    return int(share < asked.least)


if __name__ == "__main__":
    sys.exit(main())
elif VARIABLE in os.environ:
    install()
