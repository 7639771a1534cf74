"""For all tests: a compiledir of their own, made before ckernels is imported; --update-golden."""

import os
import shutil
import signal
import tempfile

import pytest

_directory = tempfile.mkdtemp(prefix="ckernels-tests-")
_given = os.environ.get("CKERNELS_FLAGS")
os.environ["CKERNELS_FLAGS"] = ",".join(filter(None, [f"base_compiledir={_directory}", _given]))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in jobs a shell runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write tests/codegen/golden/*.c anew instead of comparing with them",
    )


@pytest.fixture(autouse=True, scope="session")
def kernels_keep_to_their_spec():
    """Every kernel that any test has written as C is well formed."""
    from ckernels.codegen import emit

    plain = emit.emit
    emit.emit = lambda kernel: plain(kernel.check())
    yield
    emit.emit = plain


def pytest_unconfigure(config):
    shutil.rmtree(_directory, ignore_errors=True)
