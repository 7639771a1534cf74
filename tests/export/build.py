"""Exports, compiles with real compilers and runs real processes."""

import os
import shutil
import subprocess

STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")
GCC = os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc")


def build(folder, prefix, *flags, compiler=GCC, strict=STRICT, out="program"):
    """The program made of PREFIX.c and PREFIX_test.c; AssertionError with the compiler's words."""
    made = folder / out
    command = [compiler] if isinstance(compiler, str) else list(compiler)
    sources = [str(folder / f"{prefix}{part}.c") for part in ("", "_test")]
    done = subprocess.run(
        [*command, *strict, *flags, *sources, "-lm", "-o", str(made)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[:4000]
    return made


def run(*command, **options):
    """What the program printed; AssertionError when it did not exit with 0."""
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, timeout=120, **options
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout
