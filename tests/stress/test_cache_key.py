"""The key covers all that can change the machine code, and nothing else. Both ways, in processes.

Each case is an interpreter of its own that builds the same small program and prints the keys of its
kernels; what differs is the environment, or one detail of the program.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ckernels import compiler
from ckernels.base.config import config
from ckernels.compiler import cache, entry

from .harness import CC, ROOT, needs_compiler, source

pytestmark = needs_compiler
PROGRAM = """
import json, os, sys
import numpy as np
{before}
import ckernels as K
{x} = K.placeholder({shape}, dtype={dtype!r}, name={x!r})
{w} = K.variable(np.ones({columns}), name={w!r}, dtype="float32")
f = K.function([{x}], [{body}], name={name!r}, mode="compiled")
f([np.ones({given}, {dtype!r})[{slice}]])
print(json.dumps(sorted(k["key"] for k in f.stats()["kernels"])))
"""
PLAIN = dict(
    before="",
    x="x",
    w="w",
    shape="(None, 4)",
    dtype="float32",
    columns=4,
    name="f",
    body="K.tanh(x * w) + K.sum(x)",
    given="(3, 4)",
    slice=":",
)


def keys(tmp_path, env=None, cwd=None, **changes):
    text = PROGRAM.format(**{**PLAIN, **changes})
    flags = f"compiledir={tmp_path / 'kernels'}" + (env or {}).pop("FLAGS", "")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        **(env or {}),
        "CKERNELS_FLAGS": flags,
    }
    done = subprocess.run(
        [sys.executable, "-c", text],
        env=environment,
        cwd=cwd or tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
    return keys(tmp_path_factory.mktemp("base"))


NUMPY = "np.__version__ = '9.9.9'; np.version.version = '9.9.9'; np.version.full_version = '9.9.9'"
PYTHON = (
    "import platform, _cffi_backend; sys.version_info = (3, 99, 0, 'final', 0); "
    "sys.version = '3.99.0'; platform.python_version = lambda: '3.99.0'"
)


@pytest.mark.sampled(0)
@pytest.mark.parametrize(
    "changes",
    [
        {
            "x": "hostname",
            "w": "z" * 50,
            "name": "another function",
            "body": f"K.tanh(hostname * {'z' * 50}) + K.sum(hostname)",
        },
        {"given": "(7, 4)"},
        {"shape": "(None, None, 4)", "given": "(2, 3, 4)"},
        {"before": NUMPY},
        {"before": PYTHON},
        {"before": "# a line more\n# and another\n"},
        {
            "env": {
                "PYTHONHASHSEED": "12345",
                "LANG": "de_DE.UTF-8",
                "LC_ALL": "C",
                "TZ": "Asia/Tokyo",
            }
        },
        {"env": {"OMP_NUM_THREADS": "1"}},
        {"env": {"USER": "somebody", "LOGNAME": "somebody", "HOSTNAME": "elsewhere"}},
        {"env": {"FLAGS": ",floatX=float64,seed=3,profile=True,exception_verbosity=high"}},
    ],
    ids=[
        "names",
        "batch size",
        "axes that run together",
        "numpy version",
        "python version",
        "lines",
        "hash seed and locale",
        "threads",
        "user",
        "other flags",
    ],
)
def test_what_cannot_change_the_code_is_not_in_the_key(tmp_path, base, changes):
    assert keys(tmp_path, **changes) == base


def test_the_working_directory_is_not_in_the_key(tmp_path, base):
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    assert keys(tmp_path, cwd=elsewhere) == base


@pytest.mark.sampled(0)
@pytest.mark.parametrize(
    "changes",
    [
        {"dtype": "float64"},
        {"body": "K.tanh(x * w) + K.sum(x) * 2"},
        {"body": "K.sigmoid(x * w) + K.sum(x)"},
        {"env": {"FLAGS": ",cc.cflags=-DX=1"}},
        {"env": {"FLAGS": ",arch=generic"}},
        {"given": "(3, 8)", "slice": ":, ::2"},
    ],
    ids=["dtype", "a constant", "an op", "cc.cflags", "arch", "strides"],
)
def test_what_changes_the_code_changes_the_key(tmp_path, base, changes):
    found = keys(tmp_path, **changes)
    assert found != base and len(found) >= 1


def test_every_part_of_a_compiler_is_in_the_key(tmp_path):
    """Path, size and time of change, version text, programs behind it, macros, flags."""
    with config.change({"compiledir": str(tmp_path)}):
        tools = compiler.current_toolchain()
        first = compiler.key_of(source(1), tools)
        changed = [
            tools._replace(path="/opt/cc"),
            tools._replace(stamp="1:2"),
            tools._replace(version="13.3"),
            tools._replace(behind=("/opt/cc1 1:2",)),
            tools._replace(macros="0" * 64),
            tools._replace(flags=(*tools.flags, "-g")),
        ]
        same = [
            tools._replace(host="another"),
            tools._replace(linker="/opt/ld"),
            tools._replace(command=("cc", "--nothing")),
        ]
        assert len({first, *(compiler.key_of(source(1), t) for t in changed)}) == 1 + len(changed)
        assert {compiler.key_of(source(1), t) for t in same} == {first}
        parts = dict(compiler.key_parts(source(1), tools))
        assert list(parts) == ["abi", "compiler", "cpu", "flags", "source"]


@pytest.mark.parametrize(
    "where, name", [(cache, "ABI"), (compiler, "PREAMBLE"), (compiler, "TABLE")]
)
def test_what_surrounds_a_kernel_is_in_its_key(tmp_path, monkeypatch, where, name):
    """The ABI of the runtime, and the text that every translation unit begins and ends with."""
    with config.change({"compiledir": str(tmp_path)}):
        tools = compiler.current_toolchain()
        first = compiler.key_of(source(1), tools)
        old = getattr(where, name)
        monkeypatch.setattr(where, name, old + 1 if name == "ABI" else old + "\n")
        assert compiler.key_of(source(1), tools) != first


def test_parts_cannot_run_into_one_another():
    """Lengths are hashed with the texts: moving a byte from one part to the next is another key."""
    with config.change({"cache": "off"}):
        tools = compiler.current_toolchain()
        one, two = source(1), source(1)
        one = one._replace(snippets=("ab", "c"), text="d")
        two = two._replace(snippets=("a", "bc"), text="d")
        assert compiler.key_of(one, tools) != compiler.key_of(two, tools)


def test_an_upgraded_compiler_with_the_same_version_text(tmp_path):
    """A vendor's patch changes size and time of the file, not what it says of itself."""
    first, second = tmp_path / "a" / "cc", tmp_path / "b" / "cc"
    found = []
    for path, padding in ((first, ""), (second, "# patched\n")):
        path.parent.mkdir()
        path.write_text(f'#!/bin/sh\n{padding}exec {CC} "$@"\n')
        path.chmod(0o755)
    for path in (first, second):
        shutil.copy2(path, tmp_path / "cc")
        found.append(keys(tmp_path, env={"FLAGS": f",cc={tmp_path / 'cc'}"}))
    assert found[0] != found[1]


def test_the_abi_of_the_runtime_is_that_of_the_key():
    header = Path(ROOT, "ckernels", "src", "ckernels.h").read_text()
    assert int(re.search(r"#define\s+CK_ABI\s+(\d+)", header)[1]) == entry.ABI == cache.ABI
