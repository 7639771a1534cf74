"""What tests of late arrays share."""

import pytest

from ckernels.base.config import config


@pytest.fixture(scope="module")
def late():
    """Every array is late, and NumPy computes it."""
    before = config.lazy_from, config.mode
    config.lazy_from, config.mode = 0, "reference"
    yield
    config.lazy_from, config.mode = before
