"""Any program after any other gives its own bits: in one process, and in two with one compiledir.

Pairs are drawn from pair_programs.py: a program and a twin that differs in one choice (an axis, a
dtype, a layout, a number, a function of the same family), and programs of any two families. Own
bits are those of a process that ran nothing before, with an empty compiledir; kernels of both
programs, but no plans, are put into the compiledir of a pair, since their key is their text.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from .pair_programs import FAMILIES

NAMES = list(FAMILIES)
SHORT = ["special", "complex_numbers", "reductions", "random", "orders", "jitted", "row_updates"]
ANY = 2  # pairs of a program and any other, for each family with a twin


class Forks:
    """Runs programs in forks of one process that has imported ckernels and nothing else.

    before: code that runs there first.
    """

    def __init__(self, root, before="pass"):
        self.root, self.own, self.folders = root, {}, 0
        code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from stress import pair_programs
{before}
pair_programs.serve()
"""
        flags = f"base_compiledir={root}"
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "CKERNELS_FLAGS": flags},
        )

    def folder(self, *programs):
        """A new compiledir, with the kernels of programs that have run alone."""
        self.folders += 1
        found = self.root / str(self.folders)
        found.mkdir(0o700)
        for program in programs:
            for path in self.own[program][2].iterdir():
                if path.suffix in (".so", ".json") and not (found / path.name).exists():
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
        return self.own[program][:2]

    def twin(self, program, rng):
        return (*program[:2], int(rng.integers(self.alone(program)[1])))

    def check(self, first, second):
        """Whether the two give different results; each its own, after the other."""
        digests = [self.alone(p)[0] for p in (first, second)]
        one, two = self.folder(first, second), self.folder(first, second)
        found = [d for d, _ in self.run(one, first, second)]
        assert found == digests, f"one process: {second} after {first}"
        found = [self.run(two, p)[0][0] for p in (first, second)]
        assert found == digests, f"two processes: {second} after {first}"
        return digests[0] != digests[1]

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


def test_a_program_after_its_twin(forks):
    rng = np.random.default_rng(3)
    for name in SHORT:
        program = (name, int(rng.integers(1000)), None)
        forks.check(program, forks.twin(program, rng))


def test_a_program_after_any_other(forks):
    programs = [("matrices", 5, None), ("sparse", 5, None), ("arrays", 5, None)]
    for first in programs:
        for second in programs:
            forks.check(first, second)


@pytest.mark.slow
def test_many_pairs(forks, many):
    """2,000 pairs of 10,000 cases."""
    rng, different, twins = np.random.default_rng(), 0, 0
    seed, rounds = int(rng.integers(10**6)), -(-many // (5 * (1 + ANY) * len(NAMES)))
    for turn in range(rounds):
        for name in NAMES:
            program = (name, seed + turn // 2, None)
            twin = forks.twin(program, rng)
            pair = [program, twin][:: 1 - 2 * int(rng.integers(2))]
            different += forks.check(*pair)
            twins += 1
            for _ in range(ANY):
                known = list(forks.own)
                forks.check(program, known[rng.integers(len(known))])
    assert different > 0.5 * twins  # a layout, or an open size, is to change nothing


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
