"""Fixtures of the compiler room: a compiledir of its own, kernels to build, new processes."""

import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from ckernels import compiler
from ckernels.base.config import config
from ckernels.compiler import KernelSource, cache, loader

ROOT = Path(__file__).resolve().parents[2]


def make_source(number, name=None, flags=()):
    """A kernel that writes 2 * a[i] + number."""
    name = name or f"k_test_{number}"
    return KernelSource(
        name,
        f"int {name}(void *const *p, const int64_t *dims, int64_t lo, int64_t hi) {{\n"
        "    const float *a = p[0]; float *c = p[1]; (void)dims;\n"
        f"    for (int64_t i = lo; i < hi; i++) c[i] = twice(a[i]) + {number}.0f;\n"
        "    return 0;\n}\n",
        ("static inline float twice(float x) { return x + x; }\n",),
        flags,
    )


def call_kernel(address):
    """What the kernel makes of [1, 2, 3]."""
    ffi = loader.ffi()
    given, result = ffi.new("float[]", [1.0, 2.0, 3.0]), ffi.new("float[3]")
    pointers, dims = ffi.new("void *[]", [given, result]), ffi.new("int64_t[]", [0])
    kernel = ffi.cast("int(*)(void *const *, const int64_t *, int64_t, int64_t)", address)
    assert kernel(pointers, dims, 0, 3) == 0
    return list(result)


def right(number):
    return [2.0 + number, 4.0 + number, 6.0 + number]


def forget_everything():
    """As if the process had just started (what was loaded stays mapped)."""
    compiler._loaded.clear()
    compiler._toolchains.clear()
    cache._opened.clear()


@pytest.fixture
def unnamed(monkeypatch):
    """No compiler is asked for by name, whatever these tests are run with: it is searched, but for
    Zig by pip, which would serve where the others are gone."""
    monkeypatch.setitem(sys.modules, "ziglang", None)
    for name in ("CC", "CKERNELS_CC"):
        monkeypatch.delenv(name, raising=False)
    with config.change(cc=""):
        yield


@pytest.fixture(autouse=True)
def private_directory(tmp_path, monkeypatch):
    """The compiledir of last resort is one of the test's own too."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"ckernels-{os.geteuid()}"


@pytest.fixture
def restart():
    return forget_everything


@pytest.fixture
def compiledir(tmp_path):
    """The path of an empty compiledir that the flags point to."""
    directory = tmp_path / "kernels"
    with config.change({"compiledir": str(directory)}):
        forget_everything()
        yield directory
    forget_everything()


@pytest.fixture
def source():
    return make_source


@pytest.fixture
def call():
    return call_kernel


@pytest.fixture
def expected():
    return right


PRELUDE = """
import os, sys
sys.path.insert(0, {here!r})
from conftest import make_source as source, call_kernel as call, right as expected
from ckernels.compiler import build, cache
from ckernels.base.config import config
def check(*numbers):
    made = build([source(n) for n in numbers])
    for n, address in zip(numbers, made.addresses):
        assert call(address) == expected(n), (n, call(address))
    return made
"""


@pytest.fixture
def python(tmp_path):
    """python(code, **environment) starts a new interpreter with the helpers above; a Popen."""

    def start(code, **environment):
        text = PRELUDE.format(here=str(Path(__file__).parent)) + textwrap.dedent(code)
        kept = {k: v for k, v in os.environ.items() if k != "CKERNELS_CC"}
        kept.update(PYTHONPATH=str(ROOT), HOME=str(tmp_path))
        kept.pop("XDG_CACHE_HOME", None)
        kept.update(environment)
        return subprocess.Popen(
            [sys.executable, "-c", text],
            env={k: v for k, v in kept.items() if v is not None},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )

    return start


@pytest.fixture
def finish():
    """finish(process) -> (stdout, stderr); it must have ended well."""

    def wait(process):
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        return out, err

    return wait


@pytest.fixture
def script(tmp_path):
    """A program made of a few lines of shell."""

    def make(name, body):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return str(path)

    return make
