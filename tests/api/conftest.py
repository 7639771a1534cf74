"""The K functions run through NumPy here unless CKERNELS_TEST_MODE says otherwise: what is tested
is what they mean, and that should not wait for a compiler. Settings a test changes are put back.
"""

import os

import pytest

import ckernels as K
from ckernels.base.config import config


@pytest.fixture(autouse=True)
def settings():
    mode = os.environ.get("CKERNELS_TEST_MODE", "reference")
    with config.change(
        mode=mode,
        floatX="float32",
        epsilon=1e-7,
        image_data_format="channels_last",
        on_unused_input="ignore",
    ):
        yield
    K.clear_session()
