"""Any program after any other gives its own bits: in one process, and in two with one compiledir.

Lines of programs are drawn from pair_programs.py and theano_pair_programs.py: programs and twins
of them that differ in one choice (an axis, a dtype, a layout, a number, a function of the same
family), of any families, by the names of K, NumPy and Theano; each is to give its own bits after
all that stand before it. Own bits are those of a process that ran nothing before, with an empty
compiledir. Kernels, but no plans, are in a layer that all processes read, since their key is their
text; they may be kept from run to run.
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from . import theano_pair_programs
from .pair_programs import FAMILIES

assert theano_pair_programs  # its families are among them

NAMES = list(FAMILIES)
SHORT = ["special", "complex_numbers", "reductions", "random", "orders", "jitted", "row_updates",
         "theano_random", "theano_special", "theano_ops_of_users"]  # fmt: skip
LINE = 4, 3  # families in a line, and programs of each: one and twins of it
PAIRS = math.prod(LINE) * (math.prod(LINE) - 1) // 2


class Forks:
    """Runs programs in forks of one process that has imported ckernels and nothing else.

    before: code that runs there first.
    """

    def __init__(self, root, before="pass"):
        self.root, self.own, self.folders = root, {}, 0
        kept = os.environ.get("CKERNELS_TESTS_KERNELS")
        self.kernels = (Path(kept) if kept else root) / "kernels-of-pairs"
        self.kernels.mkdir(0o700, exist_ok=True)
        code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from stress import pair_programs, theano_pair_programs
{before}
pair_programs.serve()
"""
        flags = f"base_compiledir={root},cache.path={self.kernels}"
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "CKERNELS_FLAGS": flags},
        )

    def folder(self, *programs):
        """A new compiledir, with the plans of programs that have run alone."""
        self.folders += 1
        found = self.root / str(self.folders)
        found.mkdir(0o700)
        for program in programs:
            for path in self.own[program][2].glob("*.plan"):
                os.link(path, found / path.name)
        return found

    def run(self, folder, *programs):
        print(json.dumps([str(folder), programs]), file=self.process.stdin, flush=True)
        found = json.loads(self.process.stdout.readline())
        assert type(found) is list, f"{programs}: {found}"
        return found

    def alone(self, program):
        """(digest of what it gives, how many choices it made)."""
        if program not in self.own:
            folder = self.folder()
            self.own[program] = (*self.run(folder, program)[0], folder)
            for path in folder.iterdir():
                if path.suffix in (".so", ".json"):
                    path.rename(self.kernels / path.name)
        return self.own[program][:2]

    def twin(self, program, rng):
        return (*program[:2], int(rng.integers(self.alone(program)[1])))

    def check(self, *programs):
        """Each gives its own after those before it, in one process and in a process each."""
        own = [self.alone(p)[0] for p in programs]
        together = self.folder()
        ways = {
            "one process": self.run(self.folder(), *programs),
            "a process each": [self.run(together, p)[0] for p in programs],
        }
        for way, found in ways.items():
            for n, (digest, _) in enumerate(found):
                assert digest == own[n], f"{way}: {programs[n]} after {programs[:n]}"

    def line(self, names, seed, rng):
        """(programs of families and their twins in any order, how many twins give other bits)."""
        found, different = [], 0
        for name in names:
            program = (name, seed, None)
            twins = [self.twin(program, rng) for _ in range(LINE[1] - 1)]
            different += sum(self.alone(t)[0] != self.alone(program)[0] for t in twins)
            found += [program, *twins]
        return [found[n] for n in rng.permutation(len(found))], different

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        self.process.wait(60)


@pytest.fixture
def forks(tmp_path):
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork here")
    with Forks(tmp_path) as found:
        yield found


@pytest.mark.rest
def test_a_program_after_its_twin(forks):
    rng = np.random.default_rng(3)
    for name in SHORT:
        program = (name, int(rng.integers(1000)), None)
        forks.check(program, forks.twin(program, rng), program)


@pytest.mark.rest
def test_a_program_after_any_other(forks):
    programs = [("matrices", 5, None), ("sparse", 5, None), ("arrays", 5, None)]
    forks.check(*programs, *programs)


@pytest.mark.slow
def test_many_pairs(forks, many, new_seed):
    """2,000 pairs of 10,000 cases."""
    rng, different, twins, names = np.random.default_rng(new_seed), 0, 0, []
    seed, lines = int(rng.integers(10**6)), -(-many // (5 * PAIRS))
    for number in range(lines):
        names = names if len(names) >= LINE[0] else [NAMES[n] for n in rng.permutation(len(NAMES))]
        programs, others = forks.line(names[: LINE[0]], seed + number, rng)
        names = names[LINE[0] :]
        different, twins = different + others, twins + LINE[0] * (LINE[1] - 1)
        forks.check(*programs)
    assert different > 0.4 * twins  # a layout, or an open size, is to change nothing


EVERYTHING_INERT = """
from ckernels.runtime import stored
class Everything:
    __contains__ = lambda self, name: True
    get = lambda self, name, other: self
stored.INERT = Everything()
"""


def test_a_key_that_leaves_out_attributes_is_found(tmp_path):
    """The test itself: with plans stored under such keys, a program gives its twin's results."""
    with Forks(tmp_path, EVERYTHING_INERT) as forks:
        with pytest.raises(AssertionError, match="one process"):
            forks.check(("orders", 0, None), ("orders", 0, 5))
