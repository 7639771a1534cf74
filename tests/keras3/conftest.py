"""Tests of the Keras 3 backend: they run where Keras 3 is installed (make keras3)."""

import importlib.metadata
import os

import pytest

try:
    VERSION = importlib.metadata.version("keras")
except importlib.metadata.PackageNotFoundError:
    VERSION = "0"
if VERSION.startswith("3."):
    os.environ["KERAS_BACKEND"] = "ckernels"
    import ckernels.keras3  # noqa: F401 (before Keras is)
else:
    collect_ignore_glob = ["test_*"]


def pytest_report_header(config):
    if not VERSION.startswith("3."):
        return "tests/keras3 left out: they need Keras 3 (make keras3)"


@pytest.fixture(autouse=True)
def same_draws():
    """Each test draws the same numbers, alone or after others."""
    import keras

    keras.utils.set_random_seed(1)
