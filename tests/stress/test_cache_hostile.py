"""Names that users choose never reach C, a command line, a file name or a terminal.

Placeholders, variables and functions get the worst names there are; the compiler is a script that
keeps every argument and every byte it is given. Not one of the names may be in there.
"""

import json
import os
import shutil

import numpy as np
import pytest

import ckernels as K
from ckernels import compiler
from ckernels.base.config import config
from ckernels.cli import output

from .harness import CC, check, forget, needs_compiler

pytestmark = needs_compiler
MARK = "h0stile"
NAMES = [
    f'"; system("touch {MARK}"); char *x = "',
    f"*/ int {MARK}; /*",
    f"%n%n%s{MARK}",
    f"nul\0{MARK}",
    MARK * 1400,
    f"$(touch {MARK})",
    f"`touch {MARK}`; rm -rf {MARK}",
    f"../../{MARK}",
    f"-o{MARK}",
    f"{MARK}\n#include </etc/passwd>",
    f"??/{MARK}",
    f"\\\n{MARK}",
    f"{MARK}\ud800\u202e\x1b[31m",
    f"_{MARK}); return 0; }}",
]  # fmt: skip


@pytest.fixture
def recorder(tmp_path):
    """The real compiler behind a script that writes down arguments and input; their folder."""
    folder = tmp_path / "seen"
    folder.mkdir()
    path = tmp_path / "cc"
    path.write_text(f"""#!/bin/sh
printf '%s\\n' "$@" >> {folder}/argv.$$
case "$*" in *"-x c -"*) tee {folder}/stdin.$$ | exec {CC} "$@";; *) exec {CC} "$@";; esac
""")
    path.chmod(0o755)
    return path, folder


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_hostile_names(tmp_path, recorder, name, monkeypatch):
    pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
    compiler_path, folder = recorder
    monkeypatch.chdir(tmp_path)
    flags = {
        "compiledir": str(tmp_path / "kernels"),
        "cc": str(compiler_path),
        "mode": "compiled",
        "on_compile_error": "raise",
        "print_progress": True,
    }
    try:
        with config.change(flags):
            forget()
            x = K.placeholder((None, 3), name=name)
            w = K.variable(np.full((3,), 2.0), name=name)
            f = K.function([x], [K.tanh(x * w) + K.sum(w)], updates=[(w, w + 1)], name=name)
            value = np.arange(6, dtype="f").reshape(2, 3)
            np.testing.assert_allclose(f([value])[0], np.tanh(value * 2) + 6, rtol=1e-5)
            np.testing.assert_array_equal(K.get_value(w), [3, 3, 3])
            repr(f), f.stats(), str(x), str(w)
            assert MARK not in f.source()
            with pytest.raises(ValueError):
                f([np.ones((2, 4), "f")])
        seen = b"".join(path.read_bytes() for path in folder.iterdir())
        assert b"k_" in seen and b"-O2" in seen and MARK.encode() not in seen
        names = [os.path.join(*parts) for parts in _tree(tmp_path)]
        assert not [found for found in names if MARK in found]
    finally:
        forget()


def _tree(root):
    for folder, folders, files in os.walk(root):
        for found in (*folders, *files):
            yield folder, found


def test_names_in_what_people_read_are_harmless(tmp_path):
    """Notes are JSON: whatever is in them, the commands print it without control characters."""
    for name in NAMES:
        text = json.dumps({"name": name})
        shown = output.plain(json.loads(text)["name"])
        assert "\x1b" not in shown and "\n" not in shown and "\0" not in shown


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("flags", ["-DX='a b'", '-DX="; true', "$(true)", "`true`", "-DX=a;true"])
def test_flags_are_arguments_not_a_shell(tmp_path, recorder, flags):
    """cc.cflags are the user's own, but split at spaces only: nothing in them is a command."""
    compiler_path, folder = recorder
    with config.change(
        {"cc": str(compiler_path), "cc.cflags": flags, "compiledir": str(tmp_path / "kernels")}
    ):
        forget()
        try:
            compiler.current_toolchain()
        except Exception:
            pass
    forget()
    lines = b"".join(path.read_bytes() for path in folder.glob("argv.*")).decode().splitlines()
    assert all(word in lines for word in flags.split())


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize(
    "name",
    [
        "path with space",
        "quote'd",
        'double"d',
        "accent\u00e9",
        "new\nline",
        "x" * 200,
        "a,b=c",
        "$HOME",
        "%s%n",
        "-o",
        "per:cent",
        "\udcff",
        "\u202e",
    ],
)
def test_compiledirs_with_any_name(tmp_path, name):
    directory = tmp_path / name / "kernels"
    with config.change({"compiledir": str(directory)}):
        try:
            forget()
            assert check(1) == [1, 0]
            forget()
            assert check(1) == [0, 1]
        finally:
            forget()
    assert len(list(directory.glob("*.so"))) == 1
    shutil.rmtree(tmp_path / name)


@pytest.mark.parametrize("name", ["nul\0byte", "", "x" * 5000, "a/" * 3000])
def test_compiledirs_that_cannot_be(tmp_path, name):
    """No error: the kernels go to the private directory."""
    with config.change({"compiledir": str(tmp_path / "k") + name if name else "", "cache": "on"}):
        try:
            forget()
            check(1)
        finally:
            forget()
