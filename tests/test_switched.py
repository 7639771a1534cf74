"""build_tools/switched.py: one C text with all mutants does with each what its own text does."""

import ctypes
import re
import shutil
import subprocess

import pytest

from build_tools import mutants, switched

C = r"""
#define SMALL(n) ((n) < 3)
/* a == b, "x < y" */
static int twice(int a) { return 2 * a; }
int f(int a, int b, int c) {
    int small = SMALL(a) || b <= 2, kept = a;
    kept <<= small;
    if (a == b && twice(c) > 3)
        return kept > 4 ? a < c : b;
    int rows[] = {a > 1, b != c};
    switch (a >= c) {
    case 1: return rows[0] + kept;
    default: kept += (a < b) ? twice(a == 2 || b) : 1;
    }
    return kept + 4 * rows[1];
}
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_each_mutant_is_its_own_text(tmp_path):
    def built(name, text):
        path = tmp_path / f"{name}.c"
        path.write_bytes(text)
        target = path.with_suffix(".so")
        subprocess.run(["cc", "-w", "-shared", "-fPIC", "-o", target, path], check=True)
        return ctypes.CDLL(str(target))

    path = tmp_path / "given.c"
    path.write_text(C)
    (tmp_path / "switch.h").write_text(switched.HEADER)
    switch = switched.Switch(tmp_path / "switch")
    switch.turn(0)
    left, several = dict(enumerate(mutants.changes(path), 1)), []
    total, names = len(left), re.compile(rb"\b(f|twice)\b")
    texts = [names.sub(rb"\g<1>%d" % k, c.made(path.read_bytes())) for k, c in left.items()]
    alone = built("alone", b"".join(texts))
    while left:  # those that overlap are of another build
        text, numbers = switched.switched(path.read_bytes(), left)
        assert numbers
        both = built(f"switched{len(several)}", switched.defined(tmp_path).encode() + text)
        reached = set()
        several.append(numbers)
        for k in numbers:
            switch.turn(k)
            cases = [(a, b, c) for a in range(5) for b in range(5) for c in range(4)]
            assert [both.f(*x) for x in cases] == [alone[f"f{k}"](*x) for x in cases], left[k]
            reached.update(switch.reached())
        assert reached == numbers
        left = {k: change for k, change in left.items() if k not in numbers}
    assert sum(map(len, several)) == total >= 15 and len(several) <= 4
