"""For all tests: a compiledir of their own, made before ckernels is imported; --update-golden."""

import os
import shutil
import signal
import subprocess
import tempfile

import pytest

_directory = tempfile.mkdtemp(prefix="ckernels-tests-")
os.environ["CKERNELS_TESTS_SCRATCH"] = _directory  # removed at the end; for what outlives a test
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
def stages_keep_to_their_specs():
    """Every graph that any test has rewritten, and every kernel written as C, is well formed."""
    from ckernels import rewrite
    from ckernels.codegen import emit
    from ckernels.rewrite import spec

    written, rewritten = emit.emit, rewrite.optimise

    def optimise(roots, *args, **options):
        found = rewritten(roots, *args, **options)
        return spec.check(found) if spec.concrete(roots) else found

    emit.emit, rewrite.optimise = lambda kernel: written(kernel.check()), optimise
    yield
    emit.emit, rewrite.optimise = written, rewritten


@pytest.fixture
def mounted(tmp_path):
    """mounted(options) -> the path of a new tmpfs; skips where mounting is not allowed."""
    made = []

    def mount(options):
        path = tmp_path / f"mount{len(made)}"
        path.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "none", str(path)]
        if not shutil.which("mount"):
            pytest.skip("there is no `mount` here")
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"a tmpfs cannot be mounted here: {done.stderr.strip()}")
        made.append(path)
        return path

    yield mount
    for path in made:
        subprocess.run(["umount", "-l", str(path)], capture_output=True)


def pytest_unconfigure(config):
    shutil.rmtree(_directory, ignore_errors=True)
