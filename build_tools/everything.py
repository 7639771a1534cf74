"""`make everything`: each target of the Makefile, from a fresh clone of its own, before a release.

A part that fails does not end the others; all of a part's output is in build/everything/NAME.log.
`--short` runs the forms that take minutes and leaves out what has none, as continuous integration
does; `--here` runs in this tree, for trees that are fresh clones themselves. Only what is committed
is in a clone.
"""

import argparse
import dataclasses
import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "build", "everything")
LINES = 25  # of the output of a part that failed
ALL = object()


@dataclasses.dataclass
class Part:
    """full, short: arguments of make (short ALL: the same; None: it takes too long); since, until:
    the Python it needs, as (3, 11): from this one on, and below that one."""

    full: list
    short: object = ALL
    since: tuple = (3, 10)
    until: tuple = (4, 0)


def keras(version, short):
    return Part(["keras", f"KERAS={version}"], ["keras", f"KERAS={version}", *short])


PARTS = {
    "lint": Part(["lint"]),
    "test": Part(["test"]),
    "types": Part(["types"]),
    "site": Part(["site"]),
    "oldest": Part(["oldest"], until=(3, 13)),
    "bridges": Part(["bridges"], since=(3, 11)),
    "keras3": Part(["keras3"], since=(3, 11)),
    "keras3-newest": Part(["keras3", "KERAS3=keras"], None, since=(3, 11)),
    "distributed": Part(["distributed"]),
    "keras": Part(["keras"], ["keras", "ARGS=1"]),
    "keras-2.3.1": keras("2.3.1", ["ARGS=-k losses"]),
    "keras-2.2.4": keras("2.2.4", ["ARGS=-k losses"]),
    "keras-1.2.2": keras("1.2.2", []),
    "theano": Part(["theano"], ["theano", "ARGS=tensor__test_xlogx tensor__test_keepdims"]),
    "libraries": Part(["libraries"], ["libraries", "LIBRARIES=downhill"], until=(3, 13)),
    "pytensor": Part(["pytensor"], None, since=(3, 12)),
    "demo": Part(["demo"], ["demo", "ARGS=--epochs 2"]),
    "cnn": Part(["cnn"], ["cnn", "ARGS=--epochs 1"]),
    "rbm": Part(["rbm"], ["rbm", "ARGS=--epochs 1 --runs 10 --temperatures 50 --out build"]),
    "sanitize": Part(["sanitize"], ["sanitize", "ARGS=tests/runtime/test_cfunction.py"]),
    "races": Part(["races"], ["races", "ARGS=tests/runtime/test_cfunction.py"]),
    "stress": Part(["stress"], ["stress", "ARGS=-m 'not slow'"]),
    "slow": Part(["slow"], ["slow", "CASES=50", "ARGS=tests/rewrite tests/autodiff"]),
    "bench": Part(["bench"], None),
    "release": Part(["release"], None),
}
NOT_RUN = {
    "wheels": "part of release", "again": "part of release", "build": "part of all",
    "golden": "changes files, after a review", "help": "prints", "clean": "deletes",
    "everything": "this", "mutants": "a question to the tests, which takes a night",
    "catalogue": "hours, of models that are elsewhere",
}  # fmt: skip


def outcome(name, short, here):
    """("ok", "skipped" or "failed", a sentence or the end of the output)."""
    part = PARTS[name]
    arguments = part.full if part.short is ALL or not short else part.short
    if arguments is None:
        return "skipped", "it takes longer than minutes"
    if not part.since <= sys.version_info[:2] < part.until:
        return "skipped", f"not for Python {sys.version_info[0]}.{sys.version_info[1]}"
    tree = ROOT if here else os.path.join(FOLDER, name)
    if not here:
        shutil.rmtree(tree, ignore_errors=True)
        subprocess.run(["git", "clone", "-q", ROOT, tree], check=True)
    path = os.path.join(FOLDER, f"{name}.log")
    clean = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    with open(path, "w", encoding="utf-8") as log:
        command = ["make", "-C", tree, f"PYTHON={sys.executable}", *arguments]
        done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=clean)
    if done.returncode:
        with open(path, encoding="utf-8", errors="replace") as log:
            return "failed", "".join(log.readlines()[-LINES:])
    if not here:
        shutil.rmtree(tree, ignore_errors=True)
    return "ok", ""


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--short", action="store_true", help="the forms that take minutes")
    parser.add_argument("--here", action="store_true", help="in this tree, not in clones of it")
    asked = parser.parse_args(argv)
    unknown = [name for name in asked.parts if name not in PARTS]
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
