"""Without a C compiler everything runs through NumPy, with one warning that says what to install.

Each case is a process of its own with an empty compiledir: with the C runtime but no compiler on
PATH, and with a runtime that cannot be imported, as after an install without a compiler.
"""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = """
import sys, threading, warnings
sys.modules["ziglang"] = None
import numpy as np
{block}
seen = []
warnings.showwarning = lambda message, kind, *rest: seen.append((kind.__name__, str(message)))
warnings.simplefilter("always")
import ckernels as K
rng = np.random.default_rng(0)
close = np.testing.assert_allclose
"""
BLOCK = """
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name == "ckernels._runtime":
            raise ImportError("blocked")
sys.meta_path.insert(0, Blocker())
"""
EVERYTHING = """
a, b = rng.normal(size=(4, 5)).astype("f"), rng.normal(size=(5, 3)).astype("f")
x, w = K.placeholder((None, 5), name="x"), K.variable(b)

f = K.function([x], [K.softmax(K.dot(x, w)), K.sum(x, axis=0), K.argmax(x, axis=1)])
e = np.exp(a @ b)
for _ in range(2):
    p, s, i = f([a])
    close(p, e / e.sum(1, keepdims=True), rtol=1e-5)
    close(s, a.sum(0), rtol=1e-5)
    assert (i == a.argmax(1)).all() and i.dtype == "int64"
close(f(a[:2])[1], a[:2].sum(0), rtol=1e-5)                     # another shape
close(f(np.asfortranarray(a[::-1]))[1], a.sum(0), rtol=1e-5)     # another layout
assert f(a[:0])[0].shape == (0, 3)
assert "nodes" in f.stats() and isinstance(f.source(), str), f.stats()

# updates, gradients, default values, keywords, givens
y = K.placeholder((None, 3), name="y")
loss = K.mean(K.square(K.dot(x, w) - y))
grad, = K.gradients(loss, [w])
step = K.function([x, y], loss, updates=[(w, w - 0.1 * grad)])
t = rng.normal(size=(4, 3)).astype("f")
before, last = K.get_value(w), np.inf
for k in range(5):
    now = step(x=a, y=t)
    assert now < last
    last = now
assert step.stats()["plans"] in (0, 1) and not np.array_equal(before, K.get_value(w))
expected = before - 0.1 * 2 / 12 * a.T @ (a @ before - t)
K.set_value(w, before)
step(a, t)
close(K.get_value(w), expected, rtol=1e-4, atol=1e-6)
z = K.function([K.In(x, value=a)], K.sum(x * 2), givens=[(w, w + 1)])
close(z(), 2 * a.sum(), rtol=1e-5)

# a copy on another variable keeps the state of the original
counter, other = K.variable(0.0), K.variable(100.0)
tick = K.function([], counter + 0, updates=[K.update_add(counter, 1)])
tock = tick.copy(swap={counter: other})
tick(), tick(), tock()
assert (K.get_value(counter), K.get_value(other)) == (2, 101)
still = tick.copy(delete_updates=True)
still()
assert K.get_value(counter) == 2

# random numbers: a new draw each call, the same after the same seed
u = K.function([], K.random_uniform((1000,), seed=3))
first, second = u(), u()
assert (first != second).any() and 0 <= first.min() and first.max() < 1
assert (K.function([], K.random_uniform((1000,), seed=3))() == first).all()

# shapes that data decides, indexing, sorting, print, linear algebra
m = K.placeholder((None,), name="m")
chosen = K.function([m], K.sum(m[K.greater(m, 0)] * 2))
v = np.array([1.0, -2.0, 3.0], "f")
assert chosen(v) == 8 and chosen(-v) == 4
q = K.variable(a)
close(K.function([], q[::-1, 1:3])(), a[::-1, 1:3])
close(K.eval(K.gather(K.variable(b), K.constant(np.array([2, 0]), dtype="int64"))), b[[2, 0]])
spd = b.T @ b + np.eye(3, dtype="f")
close(K.function([], K.inverse(K.variable(spd)))(), np.linalg.inv(spd), rtol=1e-3, atol=1e-4)

# an error in the middle changes nothing and is said in words
ids = K.placeholder((None,), dtype="int64", name="ids")
broken = K.function([ids], K.gather(q, ids), updates=[K.update_add(counter, 1)])
assert broken(np.array([3, 0])).shape == (2, 5)
try:
    broken(np.array([4]))
except IndexError as problem:
    assert "4" in str(problem)
else:
    raise AssertionError("no error")
assert K.get_value(counter) == 3

# what naive evaluation gets wrong: log(1 + exp(x)) far out
far = K.function([m], K.log(1 + K.exp(m)))(np.array([-100, 1000.0], "f"))
close(far, [np.exp(np.float32(-100)), 1000], rtol=1e-5)

# threads: no update is lost, no result mixed up
def work(k):
    for j in range(20):
        tick()
        close(chosen(np.full(3, k, "f")), 6 * k)
K.set_value(counter, 0)
threads = [threading.Thread(target=work, args=(k + 1,)) for k in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert K.get_value(counter) == 160, K.get_value(counter)

n = K.get_num_threads()
K.set_num_threads(2)
K.set_num_threads(n)
assert isinstance(K.blas_info(), dict) and isinstance(K.threads_info(), dict)
K.function([x], K.sum(x), mode="debug")(a)
K.function([x], K.sum(x), mode="fast_compile")(a)
K.function([x], K.sum(x), mode="reference")(a)
K.function([x], K.sum(x), check="nan", profile=True)(a)

ours = [text for kind, text in seen if kind == "CKernelsWarning"]
assert len(ours) == 1 and "`pip install ckernels[compiler]`" in ours[0], seen
assert len(seen) == 1, seen
print("fine")
"""


def run(text, tmp_path, block="", flags="", path=None):
    """Run a program with no compiler in sight; its stdout, or its stderr as a failure."""
    empty = tmp_path / "bin"
    empty.mkdir(exist_ok=True)
    env = {k: v for k, v in os.environ.items() if k not in ("CC", "CKERNELS_CC")}
    env["PATH"] = str(empty) if path is None else path
    env["PYTHONPATH"] = str(ROOT)
    env["CKERNELS_FLAGS"] = f"compiledir={tmp_path / 'compiledir'}{flags}"
    program = SHARED.format(block=block) + text
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=env,
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


needs_runtime = pytest.mark.skipif(
    not list((ROOT / "ckernels").glob("_runtime*")), reason="the C runtime is not built"
)


@needs_runtime
def test_the_runtime_but_no_compiler(tmp_path):
    assert run(EVERYTHING, tmp_path) == "fine\n"


def test_no_runtime(tmp_path):
    assert run(EVERYTHING, tmp_path, BLOCK) == "fine\n"


def test_no_runtime_but_a_compiler(tmp_path):
    assert run(EVERYTHING, tmp_path, BLOCK, path=os.environ["PATH"]) == "fine\n"


@needs_runtime
def test_a_compiler_that_does_not_work(tmp_path):
    text = textwrap.dedent("""
        f = K.function([], K.variable([1.0, 2.0]) * 2)
        close(f(), [2, 4])
        assert len(seen) == 1 and "false" in seen[0][1], seen
    """)
    run(text, tmp_path, flags=f",cc={shutil.which('false')}")


@pytest.mark.parametrize("block", ["", BLOCK], ids=["runtime", "no_runtime"])
def test_raise_instead(tmp_path, block):
    text = textwrap.dedent("""
        from ckernels.base.errors import CompilerMissing
        try:
            K.function([], K.variable([1.0, 2.0]) * 2)()
        except CompilerMissing as problem:
            assert "gcc" in str(problem)
        else:
            raise AssertionError("no error")
        assert not seen
        close(K.function([], K.variable([1.0, 2.0]) * 2, mode="reference")(), [2, 4])
    """)
    run(text, tmp_path, block, flags=",on_compile_error=raise")
