"""Programs of the kind of keras.io's examples train; their first losses are the JAX backend's.

programs/losses.json holds what Keras 3.15.1 on JAX 0.10.2 printed for them; those of
`constraints_and_regularisers` and `stateful_rnn` are TensorFlow 2.21's, where JAX drops what a step
assigns to weights and states (test_trainer.py has both by hand). Programs that draw, and those
whose losses were not taken there, are to end with smaller numbers than they began with.
"""

import json
from pathlib import Path

import keras
import numpy as np
import pytest
from programs import PROGRAMS

JAX = json.loads((Path(__file__).parent / "programs" / "losses.json").read_text())


@pytest.mark.parametrize("name", PROGRAMS)
def test_losses(name):
    if name == "words_of_strings":
        pytest.importorskip("tensorflow", reason="Keras looks strings up with it")
    function, draws = PROGRAMS[name]
    keras.utils.clear_session()
    keras.utils.set_random_seed(0)
    found = np.array([float(value) for value in function()])
    assert np.isfinite(found).all() and len(found) > 2
    if name in JAX and not draws:
        np.testing.assert_allclose(found[: len(JAX[name])], JAX[name], rtol=5e-4, atol=1e-5)
    else:
        assert found[-1] < found.max()


def test_the_losses_of_jax_are_of_these_programs():
    assert set(JAX) <= set(PROGRAMS) and len(PROGRAMS) >= 184
