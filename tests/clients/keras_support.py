"""Keras 2.2 or 2.3 on ckernels, for tests: imported once, or skipped with the reason.

Import this before keras. Keras's files go to a temporary home, and what taking the backend sets for
the whole process (cast_policy) holds in the tests that use the fixture `settings` only.
"""

import importlib.metadata
import os
import tempfile

import pytest

from ckernels.base.config import config

VERSIONS = ("2.2.", "2.3.")


def installed(name="keras"):
    """The version of a distribution, or ''."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def keras_or_skip():
    """The module keras, on ckernels; skips the test module where there is none of that age."""
    version = installed()
    if not version.startswith(VERSIONS):
        found = f"keras {version} is installed" if version else "keras is not installed"
        pytest.skip(
            f"needs keras 2.2 or 2.3 ({found}): pip install ckernels[keras]",
            allow_module_level=True,
        )
    os.environ["KERAS_BACKEND"] = "ckernels.compat.keras2"
    os.environ.setdefault(
        "KERAS_HOME",
        tempfile.mkdtemp(prefix="keras-home-", dir=os.environ.get("CKERNELS_TESTS_SCRATCH")),
    )
    with config.change(cast_policy=config.cast_policy):
        import keras
    assert keras.backend.backend() == "ckernels.compat.keras2"
    return keras


@pytest.fixture
def settings():
    """What Keras programs run with; the meaning is tested through NumPy unless told otherwise."""
    mode = os.environ.get("CKERNELS_TEST_MODE", "reference")
    with config.change(
        mode=mode,
        floatX="float32",
        epsilon=1e-7,
        image_data_format="channels_last",
        cast_policy="keep_float",
    ):
        yield
        forget()


@pytest.fixture
def compiled(settings):
    """The same, with compiled functions."""
    with config.change(mode=os.environ.get("CKERNELS_TEST_MODE", "compiled")):
        yield


def forget():
    from ckernels.compat import keras2

    keras2.clear_session()
