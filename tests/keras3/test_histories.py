"""Training after other training gives its own bits: in one process, and with one compiledir.

As tests/stress/test_history_pairs.py, of which the lines of programs come.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from stress.test_history_pairs import PAIRS, Forks  # noqa: E402

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


@pytest.mark.slow
def test_much_training_after_other_training(forks, many):
    rng = np.random.default_rng()
    for seed in range(-(-many // (20 * PAIRS))):
        programs, _ = forks.line(NAMES, int(rng.integers(10**6)) + seed, rng)
        forks.check(*programs)
