"""How much one loop should hold: the measurements behind schedule/policy.py.

    python build_tools/loop_bounds.py [tanh exp cheap sum]

prints, for loops of 1 to 128 operations, the seconds gcc takes for the kernel and the nanoseconds
per operation and element that it takes to run on one core over 20,000 floats. "tanh", "exp" and
"cheap" are chains of operations that wait for each other, "sum" adds up independent sines. The
bounds themselves are lifted while it measures. Nothing imports this file.
"""

import os
import sys
import tempfile
import time

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
ELEMENTS, ROUNDS = 20_000, 25


def chains(K):  # noqa: N803
    """{name: step(h, x, k), the k-th operation of a loop that starts with h = x}."""
    return {
        "tanh": lambda h, x, k: K.tanh(h),
        "exp": lambda h, x, k: K.exp(-h),
        "cheap": lambda h, x, k: K.maximum(h * 1.01 + x, 0.1),
        "sum": lambda h, x, k: h + K.sin(x * (k + 1.0)),
    }


def compiler_seconds():
    times = os.times()
    return times.children_user + times.children_system


def measured(K, step, size, data):  # noqa: N803
    """(seconds of gcc, ns per operation and element) for a loop of `size` operations."""
    x = K.placeholder((None,))
    h = x
    for k in range(size):
        h = step(h, x, k)
    f = K.function([x], [h])
    before = compiler_seconds()
    f([data])
    compiling = compiler_seconds() - before
    assert len(f.steps()) == 1, f.steps()
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(3):
            f([data])
        best = min(best, time.process_time() - start)
    return compiling, best / 3 / size / data.size * 1e9


def main(names):
    os.environ["CKERNELS_FLAGS"] = f"base_compiledir={tempfile.mkdtemp()}"
    import numpy as np

    import ckernels as K
    from ckernels.schedule import legal

    legal.MAX_MEMBERS = legal.MAX_COST = legal.MAX_DEPTH = legal.MAX_STREAMS = 10**9
    K.set_num_threads(1)
    data = np.random.default_rng(0).normal(size=ELEMENTS).astype("float32")
    steps = chains(K)
    for name in names or steps:
        for size in SIZES:
            seconds, ns = measured(K, steps[name], size, data)
            print(f"{name:6} {size:4} operations: gcc {seconds:5.2f} s, {ns:6.3f} ns each")


if __name__ == "__main__":
    main(sys.argv[1:])
