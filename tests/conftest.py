"""For all tests: a compiledir of their own, made before ckernels is imported; --update-golden.

The processes of one run share it, and all that outlives a test: what one of them has compiled, the
others load.
"""

import compileall
import gc
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import hypothesis
import pytest
import sampled

# A slow machine, or one under a sanitizer, is no failure.
hypothesis.settings.register_profile(
    "ckernels", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("ckernels")

# What gcc optimises is more than half of its time: `make test` does without it, at -O0, where tests
# are not about machine code. Without the variable all kernels are as for users.
QUICK = f"cc.cflags={os.environ.get('CKERNELS_TESTS_CFLAGS', '')}"
AS_FOR_USERS = ("codegen/forms/test_rows", "codegen/forms/test_short", "codegen/test_mathlib",
                "compiler", "src", "stress")  # fmt: skip

_first = "PYTEST_XDIST_WORKER" not in os.environ  # the one that starts the others, if there are any
if _first:
    _directory = tempfile.mkdtemp(prefix="ckernels-tests-")
    os.environ["CKERNELS_TESTS_SCRATCH"] = _directory  # removed at the end
    _given = os.environ.get("CKERNELS_FLAGS")
    _kernels = os.environ.get("CKERNELS_TESTS_KERNELS") or _directory  # or kept from run to run
    os.makedirs(_kernels, 0o700, exist_ok=True)
    # With the default cap of 20,000 files a kept directory is always full, mostly of plans of other
    # states of the tree, and kernels that the next run begins with are pushed out.
    _flags = [f"base_compiledir={_kernels}", "cache.max_files=100000", QUICK, _given]
    os.environ["CKERNELS_FLAGS"] = ",".join(filter(None, _flags))
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):  # hundreds of tests start a Python of their own
        compileall.compile_dir(Path(__file__).parents[1] / "ckernels", quiet=2)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in jobs a shell runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(hookwrapper=True)
def pytest_collection():
    """What asserts become is kept like the package's bytecode: each worker would write it anew."""
    told, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    yield
    sys.dont_write_bytecode = told


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Before those that `-m` does not ask for are left out."""
    sampled.mark(items, pytest.mark.rest)


def pytest_collection_finish():
    """Tests that collect garbage do not look through twenty thousand collected tests each time,
    and what Python collects by itself, 7 % of the time of tests, is collected in larger pieces."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture
def young_heap():
    """`gc.collect` looks through what a test makes, not through all that those before it left:
    0.4 s each time when a run is half through."""
    gc.freeze()


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


@pytest.fixture(autouse=True, scope="module")
def how_kernels_are_compiled(request):
    """As for users where tests are about that, and in the processes that they start; else quickly,
    those of a function in one run of the compiler: other tests keep the other cores busy."""
    from ckernels import compiler
    from ckernels.base.config import config

    room = request.path.relative_to(Path(__file__).parent).as_posix()
    told, split = os.environ["CKERNELS_FLAGS"], compiler.split
    with pytest.MonkeyPatch.context() as patch:
        if not room.startswith(AS_FOR_USERS):
            patch.setattr(compiler, "split", lambda missing, cores: split(missing, 1))
            yield
        elif "cc.cflags" in told.replace(QUICK, "", 1):  # flags of whoever runs the tests
            yield
        else:
            with config.change({"cc.cflags": ""}):  # reads the variable before it is another
                patch.setenv("CKERNELS_FLAGS", told.replace(QUICK, "cc.cflags=", 1))
                yield


class NeverRaised(Exception):
    """What stands for CompileError where functions would go on in NumPy."""


@pytest.fixture(autouse=True, scope="session")
def kernels_compile():
    """C that the compiler refuses fails the test: in NumPy results would be right all the same."""
    from ckernels.runtime import function

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(function, "CompileError", NeverRaised)
        yield


@pytest.fixture(autouse=True, scope="session")
def jitted_calls_fail_where_numpys_do():
    """Python's errors in a plan fail the test: NumPy's result would be right all the same."""
    from ckernels.jit.function import Jitted

    original = Jitted.original

    def asked(self, args, kwargs, problem):
        result = original(self, args, kwargs, problem)
        if type(problem) in (ValueError, IndexError, TypeError):
            pytest.fail(f"a call failed that NumPy's does not: {type(problem).__name__}: {problem}")
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Jitted, "original", asked)
        yield


@pytest.fixture
def refused_kernels_run_in_numpy(monkeypatch):
    """As for users, for whom C that the compiler refuses is a warning."""
    from ckernels.base.errors import CompileError
    from ckernels.runtime import function

    monkeypatch.setattr(function, "CompileError", CompileError)


@pytest.fixture(autouse=True)
def no_test_leaves_a_seed():
    """What a test draws never depends on a seed that another one gave the session."""
    yield
    ckernels = sys.modules.get("ckernels")
    if ckernels:
        ckernels.set_random_seed(None)


@pytest.fixture
def many():
    """How many cases a slow test draws: `make slow CASES=500`."""
    return int(os.environ.get("CKERNELS_TESTS_CASES") or 10_000)


@pytest.fixture
def new_seed():
    """A seed that no run has had, or CKERNELS_TESTS_SEED; pytest -rP says it if all pass, too."""
    seed = int(os.environ.get("CKERNELS_TESTS_SEED") or random.SystemRandom().randrange(10**9))
    print(f"CKERNELS_TESTS_SEED={seed}")
    return seed


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
    if _first:
        shutil.rmtree(_directory, ignore_errors=True)
