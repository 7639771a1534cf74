"""`make everything`: each target of the Makefile, from a fresh clone of its own, before a release.

A part that fails does not end the others; all of a part's output is in build/everything/NAME.log.
`--short` runs the forms that take a minute, or minutes, and says why of what has none, as
continuous integration does; `--here` runs in this tree, for trees that are fresh clones themselves.
Only what is committed is in a clone. A part that fetches packages of its own is skipped where no
package index answers.
"""

import argparse
import dataclasses
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "build", "everything")
LINES = 25  # of the output of a part that failed
ALL = object()


@dataclasses.dataclass
class Part:
    """full, short: arguments of make (short ALL: the same; a sentence: why there is none); since,
    until: the Python it needs, as (3, 11): from this one on, and below that one; fetches: whether
    it needs packages that `make test` does not; keeps: whether committed files must stay as they
    are."""

    full: list
    short: object = ALL
    since: tuple = (3, 10)
    until: tuple = (4, 0)
    fetches: bool = False
    keeps: bool = False


def keras(version, short):
    full = ["keras", f"KERAS={version}"]
    return Part(full, [*full, *short], fetches=True)


THREADS = "tests/runtime/test_cfunction.py -k many_threads"
ONE_CASE = "--quick --workloads light --cases 1e3 --rounds 1 --patience 0 --output build"
PARTS = {
    "lint": Part(["lint"]),
    "build": Part(["build"]),
    "test": Part(["test", "QUICK="]),
    "rest": Part(["rest"]),
    "types": Part(["types"]),
    "site": Part(["site"]),
    "oldest": Part(["oldest"], until=(3, 13)),
    "bridges": Part(["bridges"], since=(3, 11)),
    "keras3": Part(["keras3"], since=(3, 11)),
    "keras3-newest": Part(["keras3", "KERAS3=keras"], "part of keras3", since=(3, 11)),
    "distributed": Part(["distributed"], ["distributed", "TESTED=tests/bridges/test_dask.py",
                        "PROGRAMS=train_mlp_mpi", "ARGS=-k two_workers"], fetches=True),
    "keras": Part(["keras"], ["keras", "ARGS=1"]),
    "keras-2.3.1": keras("2.3.1", ["ARGS=-k losses"]),
    "keras-2.2.4": keras("2.2.4", ["ARGS=-k losses"]),
    "keras-1.2.2": keras("1.2.2", []),
    "theano": Part(["theano"], ["theano", "ARGS=tensor__test_xlogx tensor__test_keepdims"],
                   fetches=True),
    "libraries": Part(["libraries"], ["libraries", "LIBRARIES=downhill"], until=(3, 13)),
    "pytensor": Part(["pytensor"], "its tests are in PyTensor's repository; bridges has ours",
                     since=(3, 12)),
    "catalogue": Part(["catalogue"], "its models are in a repository of their own, and take hours"),
    "demo": Part(["demo"], ["demo", "ARGS=--epochs 2"]),
    "cnn": Part(["cnn"], ["cnn", "ARGS=--epochs 1"]),
    "rbm": Part(["rbm"], ["rbm", "ARGS=--epochs 1 --runs 10 --temperatures 50 --out build"]),
    "sanitize": Part(["sanitize"], ["sanitize", "BOUNDS=address", f"ARGS={THREADS}"]),
    "races": Part(["races"], ["races", f"ARGS={THREADS}"]),
    "stress": Part(["stress"], ["stress", "STRESS=tests/compiler/test_toolchain.py", "ARGS="],
                   fetches=True),
    "slow": Part(["slow"], ["slow", "CASES=50", "ARGS=tests/stress/test_random_scans.py"]),
    "mutants": Part(["mutants"], ["mutants", "COUNT=1", "MUTANTS=ckernels/rewrite/sums.py"]),
    "golden": Part(["golden"], ["golden", "ARGS=tests/codegen/test_emit.py"], keeps=True),
    "bench": Part(["bench"], ["bench", f"ARGS={ONE_CASE}"]),
    "wheels": Part(["wheels"], ["wheels", "KERNELS=", "ARGS=--platform linux-x86_64"],
                   fetches=True),
    "again": Part(["again"], "it makes the wheels a second time", fetches=True),
    "release": Part(["release"], "lint, test and wheels are parts of their own"),
    "help": Part(["help"]),
}  # fmt: skip
NOT_RUN = {"clean": "it deletes what the other parts need", "everything": "this is it"}


@functools.cache
def index_answers():
    """Whether pip can fetch a package."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir",
                   "-d", folder, "six"]  # fmt: skip
        return not subprocess.run(command, capture_output=True).returncode


def outcome(name, short, here):
    """("ok", "skipped" or "failed", a sentence or the end of the output)."""
    if name in NOT_RUN:
        return "skipped", NOT_RUN[name]
    part = PARTS[name]
    arguments = part.full if part.short is ALL or not short else part.short
    if type(arguments) is str:
        return "skipped", arguments
    if not part.since <= sys.version_info[:2] < part.until:
        return "skipped", f"not for Python {sys.version_info[0]}.{sys.version_info[1]}"
    if part.fetches and not index_answers():
        return "skipped", "it needs packages, and no package index answers"
    tree = ROOT if here else os.path.join(FOLDER, name)
    if not here:
        shutil.rmtree(tree, ignore_errors=True)
        subprocess.run(["git", "clone", "-q", ROOT, tree], check=True)
    path = os.path.join(FOLDER, f"{name}.log")
    clean = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    before = changes(tree)  # parts that ran here before may have written down what they found
    with open(path, "w", encoding="utf-8") as log:
        command = ["make", "-C", tree, f"PYTHON={sys.executable}", *arguments]
        done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=clean)
        changed = part.keeps and changes(tree) != before
        if changed:
            log.write(f"committed files have changed:\n{changes(tree, '--stat')}")
    if done.returncode or changed:
        with open(path, encoding="utf-8", errors="replace") as log:
            return "failed", "".join(log.readlines()[-LINES:])
    if not here:
        shutil.rmtree(tree, ignore_errors=True)
    return "ok", ""


def changes(tree, *how):
    """What git says of committed files that have changed."""
    command = ["git", "-C", tree, "diff", *how]
    return subprocess.run(command, capture_output=True, text=True, errors="replace").stdout


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--short", action="store_true", help="the forms that take a minute or so")
    parser.add_argument("--here", action="store_true", help="in this tree, not in clones of it")
    asked = parser.parse_args(argv)
    unknown = [name for name in asked.parts if name not in {**PARTS, **NOT_RUN}]
    if unknown:
        parser.error(f"no part is called {unknown[0]}: there are {', '.join(PARTS)}")
    os.makedirs(FOLDER, exist_ok=True)
    failed = []
    for name in asked.parts or PARTS:
        start = time.monotonic()
        word, text = outcome(name, asked.short, asked.here)
        seconds = time.monotonic() - start
        line = f"{name}: {word}"
        print(
            f"{line}, {text}" if word == "skipped" else f"{line} after {seconds:.0f} s", flush=True
        )
        if word == "failed":
            print(text, flush=True)
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}; logs in {FOLDER}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
