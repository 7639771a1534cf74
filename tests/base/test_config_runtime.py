"""Flags that reach the runtime: threads, BLAS and the pool of freed arrays."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")

PROGRAM = """
import numpy as np
import ckernels as K
x = K.placeholder((None, None))
f = K.function([x], [K.dot(x, x) + 1])
a = np.arange(9, dtype="float32").reshape(3, 3)
assert np.array_equal(f([a])[0], a @ a + 1)
print(K.get_num_threads(), K.blas_info()["name"].split()[0])
"""


def run(flags):
    env = {
        **os.environ,
        "OMP_NUM_THREADS": "2",
        "CKERNELS_FLAGS": ",".join(filter(None, [os.environ.get("CKERNELS_FLAGS"), flags])),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_openmp_false_is_one_thread():
    assert run("openmp=False")[0] == "1"


def test_blas_builtin():
    assert run("blas=builtin")[1] == "builtin"


def test_minsize_keeps_small_loops_on_one_thread():
    """The grain of a loop of n elements is such that n below the flag is never divided."""
    import numpy as np

    import ckernels as K
    from ckernels.base.config import config

    grains = []
    for least in (0, 10**9):
        with config.change(openmp_elemwise_minsize=least):
            x = K.placeholder((None,))
            f = K.function([x], [K.exp(x) * 2])
            f([np.ones(10**6, "float32")])
            grains.append(f.info.program.instructions[-1].grain)
    assert 2 * grains[0] < 10**6 <= 2 * grains[1]


def test_the_pool_of_freed_arrays_may_be_off():
    import numpy as np

    import ckernels as K
    from ckernels import _runtime
    from ckernels.base.config import config

    x = K.placeholder((None,))
    big = np.ones(1 << 19, "float32")  # 2 MB
    K.function([x], [x + 1])([big])
    assert _runtime.pool_bytes() >= big.nbytes
    try:
        with config.change(pool=0):
            K.function([x], [x + 2])([big])
            assert _runtime.pool_bytes() == 0
    finally:
        K.function([x], [x + 3])([big])  # the flag acts when a function is made
    assert _runtime.pool_bytes() >= big.nbytes
