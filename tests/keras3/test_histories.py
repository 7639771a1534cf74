"""Training, and any program of K, NumPy or Theano after it or before it, gives its own bits: in one
process, and with one compiledir.

As tests/stress/test_history_pairs.py, of which the lines of programs come.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from stress.test_history_pairs import LINE, PAIRS, Forks  # noqa: E402
from stress.test_history_pairs import NAMES as OTHERS  # noqa: E402

NAMES = ["keras_dense", "keras_images", "keras_sequences"]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@pytest.fixture
def forks(tmp_path):
    with Forks(tmp_path, "import ckernels.keras3, keras3.history_programs") as found:
        yield found


def test_training_after_other_training(forks):
    rng = np.random.default_rng(4)
    programs = [(name, 1, None) for name in NAMES]
    forks.check(*programs, *(forks.twin(p, rng) for p in programs), *programs[:1])


def test_training_after_programs_of_other_names(forks):
    programs = [("keras_dense", 2, None), ("theano_training", 3, None), ("jitted", 5, None)]
    forks.check(*programs, *programs[:1])


@pytest.mark.slow
@pytest.mark.parametrize("others", [(), OTHERS], ids=["training", "any"])
def test_much_training_after_other_programs(forks, many, new_seed, others):
    """In each line some training, and of `others` as much as there is room for."""
    rng = np.random.default_rng(new_seed)
    for seed in range(-(-many // (20 * PAIRS))):
        names = [NAMES[n] for n in rng.permutation(len(NAMES))[: 1 if others else None]]
        names += [others[n] for n in rng.permutation(len(others))[: LINE[0] - 1]]
        programs, _ = forks.line(names, int(rng.integers(10**6)) + seed, rng)
        forks.check(*programs)
