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


@pytest.fixture
def sharp():
    """sharp(inputs, outputs): a model of sharpness-aware descent on the mean squared error, whose
    second gradient is by the weights that the first one has changed, 0.3 uphill."""
    import keras
    from keras import ops

    from ckernels.keras3 import gradients

    class Sharp(keras.Model):
        def __init__(self, *shape):
            super().__init__()
            self.w = self.add_weight(shape=shape, initializer="ones")

        def call(self, x):
            return x @ self.w

        def train_step(self, data):
            x, y = data[:2]
            (slope,) = gradients(ops.mean((self(x) - y) ** 2), [self.w.traced()])
            before = self.w.value
            self.w.assign(before + 0.3 * slope)
            loss = ops.mean((self(x) - y) ** 2)
            (slope,) = gradients(loss, [self.w.traced()])
            self.w.assign(before - 0.1 * slope)
            return {"loss": loss}

    return Sharp
