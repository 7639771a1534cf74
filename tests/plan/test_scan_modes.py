"""Loops and branches in the modes that distrust what is computed, and as plans kept on disk."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import ckernels as K
from ckernels import config
from ckernels.base.errors import NonFiniteError

pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")


@pytest.fixture(autouse=True)
def settings():
    with config.change(mode="compiled", floatX="float32"):
        yield


def network():
    """The loss of a small recurrent network and its gradients."""
    x, s = K.placeholder((None, 3)), K.placeholder((3,))
    w = K.variable(np.eye(3) / 2)

    def step(row, h):
        return K.tanh(row + K.dot(K.expand_dims(h, 0), w)[0])

    states, _ = K.scan(step, sequences=[x], outputs_info=[s])
    loss = K.sum(K.square(states))
    return [x, s], [loss, *K.gradients(loss, [w, x, s])]


def halving():
    """Loops in a loop: each number is halved until it is small; then a branch."""
    x, total = K.placeholder((None,)), K.placeholder(())

    def halve(v):
        return v / 2, K.until(v < 1)

    def outer(v, sum_):
        small = K.scan(halve, outputs_info=[v], n_steps=9)[0][-1]
        return K.ifelse(sum_ > 2, sum_ - small, sum_ + K.exp(small))

    return [x, total], [K.scan(outer, sequences=[x], outputs_info=[total])[0]]


@pytest.mark.parametrize("graph", [network, halving])
@pytest.mark.parametrize(
    "options",
    [dict(mode="debug"), dict(check="nan"), dict(profile=True), dict(mode="fast_compile")],
    ids=str,
)
def test_modes_agree(graph, options):
    inputs, outputs = graph()
    rng = np.random.default_rng(1)
    arrays = [
        rng.random(
            (6,)
            if n.ndim == 1 and k == 0
            else (6, 3)
            if n.ndim == 2
            else (3,)
            if n.ndim == 1
            else ()
        ).astype("f")
        * 4
        for k, n in enumerate(inputs)
    ]
    wanted = K.function(inputs, outputs, mode="reference")(*arrays)
    f = K.function(inputs, outputs, **options)
    for _ in range(2):
        for got, want in zip(f(*arrays), wanted):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_a_nan_made_in_a_loop_is_found_with_its_step():
    x, s = K.placeholder((None,)), K.placeholder(())
    f = K.function(
        [x, s], K.scan(lambda v, h: h + K.log(v), sequences=[x], outputs_info=[s])[0], check="nan"
    )
    with pytest.raises(NonFiniteError):
        f(np.array([1, 2, -1, 3], "f"), np.float32(0))


SCRIPT = """
import json, sys
import numpy as np
import ckernels as K
x, s = K.placeholder((None, 4)), K.placeholder(())
def outer(row, h):
    inner = K.scan(lambda v, g: K.tanh(g + v), sequences=[row], outputs_info=[h])[0]
    return K.ifelse(h > 1, inner[-1], K.exp(h))
f = K.function([x, s], K.scan(outer, sequences=[x], outputs_info=[s])[0])
value = f(np.arange(12, dtype="f").reshape(3, 4) / 9, np.float32(0.5))
print(json.dumps([value.tolist(), f.steps(), "ckernels.schedule.fuse" in sys.modules]))
"""


def test_a_fresh_process_runs_the_stored_loop(tmp_path):
    """The same numbers and the same instructions, without planning."""

    def run():
        env = {**os.environ, "CKERNELS_FLAGS": f"compiledir={tmp_path / 'c'}"}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=env, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    first, second = run(), run()
    assert first[:2] == second[:2] and first[2] and not second[2]
    assert any("  scan of 4 steps" in line for line in second[1])
