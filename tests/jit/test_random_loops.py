"""Functions made at random: loops in loops, left by break, continue and return, with else, choices
of data and stores into arrays; jitted, they give NumPy's numbers, types, dtypes and arrays."""

import random
import warnings

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.errors import CKernelsWarning

from .beside import same, written

TESTS = ["x[i] > 0", "s > 2", "t < 5", "x[i] > x[i - 1]", "s < x[i]", "t % 3 == 1", "a[i] > 1",
         "best < s"]  # fmt: skip
STEPS = ["s = s + x[i]", "t += 1", "a[i] = s", "a[i] += x[i]", "best = s", "s = s * 0.5",
         "t = t + 2", "best = max(best, x[i])", "s = s - x[i] * 2", "a += 1", "s = x[i]",
         "a[1:] = a[:-1]", "pass"]  # fmt: skip
JUMPS = ["break", "continue", "break", "continue", "return s, t", "return t, best"]


class Writer:
    """The source of one function."""

    def __init__(self, seed):
        self.draw, self.lines, self.loops = random.Random(seed), [], 0

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def test(self):
        draw = self.draw
        found = draw.choice(TESTS)
        if draw.random() < 0.2:
            found = f"{found} {draw.choice(['and', 'or'])} {draw.choice(TESTS)}"
        return f"not ({found})" if draw.random() < 0.1 else found

    def block(self, depth, in_loop):
        draw = self.draw
        for _ in range(draw.randint(1, 3)):
            kind = draw.random()
            if kind < 0.45 or depth > 5:
                self.line(depth, draw.choice(STEPS))
            elif kind < 0.75:
                self.line(depth, f"if {self.test()}:")
                self.block(depth + 1, in_loop)
                if draw.random() < 0.4:
                    self.line(depth, "else:")
                    self.block(depth + 1, in_loop)
            elif kind < 0.9 and self.loops < 2 and depth < 4:
                self.loop(depth, in_loop)
            elif in_loop:
                return self.line(depth, draw.choice(JUMPS))
            else:
                self.line(depth, draw.choice(STEPS))

    def loop(self, depth, in_loop):
        draw, name = self.draw, f"w{self.loops}"
        self.loops += 1
        if draw.random() < 0.6:
            ends = ["1, len(x)", "len(x)", "11", "len(x) - 1, 0, -1"]
            inner = f"for j in range({draw.choice([3, 9, 40])}):"
            self.line(depth, inner if in_loop else f"for i in range({draw.choice(ends)}):")
        else:
            self.line(depth, f"{name} = 0")
            self.line(depth, f"while {draw.choice(['True', name + ' < 20', 's < 30'])}:")
            self.line(depth + 1, f"{name} += 1")
            self.line(depth + 1, f"if {name} > 25:")
            self.line(depth + 2, "break")
        self.block(depth + 1, True)
        if draw.random() < 0.3:
            self.line(depth, "else:")
            self.block(depth + 1, in_loop)

    def source(self):
        draw = self.draw
        self.line(0, "import numpy as np\n\n\ndef f(x):")
        for text in ("i = 1", f"s = {draw.choice(['0.0', '0', 'x[0]', 'x[1] * 2'])}", "t = 0",
                     f"best = {draw.choice(['-1.0', '0', 'x[2]', '-np.inf'])}",
                     "a = np.zeros(len(x))"):  # fmt: skip
            self.line(1, text)
        self.loop(1, False)
        if draw.random() < 0.5:
            self.block(1, False)
        self.line(1, draw.choice(["return s, t, best, a, i", "return s, a", "return best"]))
        return "\n".join(self.lines) + "\n"


def equal(want, got):
    for a, b in zip(want, got, strict=True) if isinstance(want, tuple) else [(want, got)]:
        same(a, b)


@pytest.mark.sampled(0)
@pytest.mark.parametrize("seed", range(24))
def test_random_loops(seed, tmp_path):
    function = written(Writer(seed).source(), f"loops{seed}", tmp_path)
    jitted, rng = ck.jit(function), np.random.default_rng(seed)
    for x in (np.arange(12.0) - 5, rng.normal(size=12) * 3, rng.integers(-5, 6, 12)):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", CKernelsWarning)
            try:
                want = function(x.copy())
            except (IndexError, UnboundLocalError) as problem:
                with pytest.raises(type(problem)):
                    jitted(x.copy())
                continue
            equal(want, jitted(x.copy()))
