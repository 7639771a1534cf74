"""Compilers that die, hang, write garbage or are upgraded: a clear message, and the function runs.

The compilers are small shell scripts around the real one: each answers questions about itself as
the real one does, and misbehaves when it is given C.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest

import ckernels as K
from ckernels import compiler
from ckernels.base.config import config
from ckernels.base.errors import CKernelsWarning, CompileError
from ckernels.compiler import build, cache, cpu, directories, loader, process, system
from ckernels.runtime import function

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
pytestmark = pytest.mark.skipif(not CC, reason="needs a C compiler")
ROOT = Path(__file__).resolve().parents[2]
ASKED = f"""case "$*" in *-dM*|*--version*|*print-prog*) exec {CC} "$@";; esac"""
OUTPUT = 'out=; for word; do [ "$out" = next ] && out=$word && break; [ "$word" = -o ] && out=next;'
OUTPUT += " done"

BAD = {
    "dies": ("cat > /dev/null; kill -SEGV $$", "was killed by SIGSEGV"),
    "exits": ("cat > /dev/null; echo 'kernel.c:7: error: no such thing' >&2; exit 3",
              "error: no such thing"),
    "says nothing": ("cat > /dev/null; exit 1", "exit status 1"),
    "writes nothing": ("cat > /dev/null; exit 0", "is empty|no such|No such|failed"),
    "writes text": (f"cat > /dev/null; {OUTPUT}; echo garbage > $out", "no ELF|format|not recog"),
    "does not read": ("exit 1", "exit status 1"),
    "spews": ("cat > /dev/null; head -c 30000000 /dev/zero | tr '\\0' 'e' >&2; exit 1", "eeee"),
    "hangs": ("cat > /dev/null; sleep 600", "cc.timeout=0.5"),
    "closes and hangs": ("exec <&- >&- 2>&-; sleep 600", "cc.timeout=0.5"),
    "spews for ever": ("cat > /dev/null; exec yes error >&2", "cc.timeout=0.5"),
}  # fmt: skip


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("what", BAD)
def test_a_bad_compiler_is_described(compiledir, source, script, what):
    """The message names compiler, kernel, first diagnostic and the kept file; nothing is left."""
    body, words = BAD[what]
    bad = script("bad", f"{ASKED}\n{body}")
    timeout = 0.5 if "cc.timeout" in words else config["cc.timeout"]
    with config.change({"cc": bad, "cc.timeout": timeout}):
        with pytest.raises(CompileError, match=words) as caught:
            build([source(1)])
    text = str(caught.value)
    assert bad in text and "k_test_1" in text and len(text) < 2000
    kept = Path(caught.value.source)
    assert f"The source was kept: {kept}" in text and "k_test_1" in kept.read_text()
    assert not process._running and not [n for n in os.listdir(compiledir) if n.startswith("tmp-")]
    with config.change(cc=CC):  # the compiledir holds nothing that came of it
        assert build([source(1)]).built == 1


@pytest.mark.usefixtures("refused_kernels_run_in_numpy")
@pytest.mark.parametrize("what", ["dies", "hangs", "writes text"])
def test_the_function_still_runs(compiledir, script, what, monkeypatch):
    pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
    bad = script("bad", f"{ASKED}\n{BAD[what][0]}")
    x = K.placeholder((None,), name="x")
    value = np.array([0.0, 1.0, 2.0], "f")
    with config.change({"cc": bad, "cc.timeout": 0.5, "mode": "compiled"}):
        monkeypatch.setattr(function, "_warned", set())
        with pytest.warns(CKernelsWarning, match="source was kept") as seen:
            np.testing.assert_allclose(K.function([x], K.sum(K.exp(x)))(value), np.exp(value).sum())
        assert sum(issubclass(w.category, CKernelsWarning) for w in seen) == 1
        with config.change(on_compile_error="raise"):
            with pytest.raises(CompileError, match="kept"):
                K.function([x], K.sum(K.exp(x)))(value)


@pytest.mark.usefixtures("refused_kernels_run_in_numpy")
@pytest.mark.parametrize("said, warned", [("<stdin>:7: error: no", 2), ("cc1: error: no", 1)])
def test_each_refused_kernel_is_named_once(compiledir, script, said, warned, monkeypatch):
    """Where the compiler names a line of it; what it says of all kernels alike is said once."""
    pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
    bad = script("bad", f"{ASKED}\ncat > /dev/null; echo '{said}' >&2; exit 1")
    monkeypatch.setattr(function, "_warned", set())
    x = K.placeholder((None,), name="x")
    value = np.array([0.0, 1.0, 2.0], "f")
    with config.change({"cc": bad, "mode": "compiled"}):
        with pytest.warns(CKernelsWarning) as seen:
            for _ in range(2):
                for made, wanted in ((K.exp(x) * 3, np.exp(value) * 3), (x * 2 + 1, value * 2 + 1)):
                    for at in (slice(None), slice(2)):
                        f = K.function([x], made)
                        np.testing.assert_allclose(f(value[at]), wanted[at], rtol=1e-6)
    kept = {str(path) for path in Path(compiledir).rglob("failed-*.c")}
    named = {path for path in kept for w in seen if f"was kept: {path}" in str(w.message)}
    assert len(kept) == 2 and len(named) == len(seen) == warned


def test_garbage_is_never_opened(compiledir, source):
    """dlopen of a shared object that was cut short kills the process: it is never tried."""
    tools = compiler.current_toolchain()
    elf = tools.compile(compiler.translation_unit([("a" * 64, source(1))]))
    assert loader.implausible(elf) == ""
    for size in [0, 1, 4, 63, 64, 1000, len(elf) // 2, len(elf) - 1]:
        assert loader.implausible(elf[:size]), size
        with pytest.raises(OSError):
            loader.load(elf[:size])
    executable = elf[:16] + b"\x02\x00" + elf[18:]
    for other in (executable, b"\x7fELF" + bytes(200), bytes(5000), b"#!/bin/sh\n" * 100):
        with pytest.raises(OSError):
            loader.load(other)


def test_an_object_without_the_table(compiledir, source, script):
    """A compiler that compiles something else: an error, not a crash or a wrong kernel."""
    other = "int unrelated(void) { return 1; }"
    bad = script(
        "bad",
        f'{ASKED}\ncase "$*" in *"-x c -"*) cat > /dev/null; '
        f'echo \'{other}\' | {CC} "$@";; *) exec {CC} "$@";; esac',
    )
    with config.change(cc=bad), pytest.raises(CompileError, match="no table of kernels"):
        build([source(1)])


def test_an_object_with_other_kernels(compiledir, source, script):
    bad = script(
        "bad",
        f'{ASKED}\ncase "$*" in *"-x c -"*) sed \'s/"[0-9a-f]*"/"other"/\' | '
        f'{CC} "$@";; *) exec {CC} "$@";; esac',
    )
    with config.change(cc=bad), pytest.raises(CompileError, match="other kernels"):
        build([source(1)])


def test_the_next_build_may_succeed(compiledir, source, call, expected, script, tmp_path):
    """A failure is not remembered: nothing of it is in the compiledir."""
    flag = tmp_path / "broken"
    flag.write_text("")
    moody = script("moody", f'{ASKED}\n[ -e {flag} ] && exit 1; exec {CC} "$@"')
    with config.change(cc=moody):
        with pytest.raises(CompileError):
            build([source(1)])
        flag.unlink()
        assert call(build([source(1)]).addresses[0]) == expected(1)


def test_an_upgrade_between_two_builds(compiledir, source, call, expected, script, restart):
    """The kernels of the old compiler are not those of the new one, in one process and in two."""
    wrapper = script("gcc", f'exec {CC} "$@"')
    with config.change(cc=wrapper):
        first = build([source(1)])
        os.utime(wrapper, (1e9, 1e9))  # what a package manager does
        second = build([source(1), source(2)])
        assert second.built == 2 and second.keys[0] != first.keys[0]
        assert [call(a) for a in second.addresses] == [expected(1), expected(2)]
        restart()
        assert build([source(1), source(2)]).keys == second.keys
        assert build([source(1)]).built == 0


def test_an_upgrade_behind_a_wrapper(compiledir, source, script):
    """`ccache gcc` and scripts stay the same file when the compiler behind them changes."""
    real = script("real", f'exec {CC} "$@"')
    wrapper = script("wrapper", 'exec "$@"')
    with config.change(cc=f"{wrapper} {real}"):
        before = compiler.current_toolchain()
        assert any(real in line for line in before.behind) and before.available()
        os.utime(real, (1e9, 1e9))
        assert not before.available()
        compiler._toolchains.clear()
        after = compiler.current_toolchain()
        assert after.identity != before.identity
        assert compiler.key_of(source(1), after) != compiler.key_of(source(1), before)


def test_the_word_behind_zig_is_no_program(compiledir, script):
    """The cc of `zig cc` is Zig's own: an upgrade of the system's compiler is none of Zig."""
    zig = script("zig", f'shift; exec {CC} "$@"')
    with config.change(cc=f"{zig} cc"):
        found = compiler.current_toolchain()
        assert found.path == os.path.realpath(zig) and found.command[1] == "cc"
        assert not any(os.path.realpath(shutil.which("cc")) in line for line in found.behind)


def test_a_compiler_removed_and_none_left(compiledir, source, script, monkeypatch):
    wrapper = script("gcc", f'exec {CC} "$@"')
    with config.change(cc=wrapper):
        build([source(1)])
        os.unlink(wrapper)
        with pytest.raises(Exception, match="there is no C compiler"):
            build([source(2)])


def test_flags_that_ask_for_more_than_the_cpu_has(compiledir, source, monkeypatch):
    """-mavx... in cc.cflags, as on the machine of a colleague: refused in words, not by SIGILL."""
    monkeypatch.setattr(cpu, "_words", lambda: frozenset({"fpu", "sse", "sse2"}))
    monkeypatch.setattr(cpu, "_trusted", set())
    if not cpu.is_x86():
        pytest.skip("x86 only")
    with config.change({"arch": "generic", "cc.cflags": "-mavx2"}):
        with pytest.raises(CompileError, match="avx2.*which this CPU lacks"):
            build([source(1)])


def test_an_entry_this_cpu_cannot_run(compiledir, source, call, expected, restart, caplog):
    """Stamped by another machine that shares the home: refused, rebuilt, one line."""
    if not cpu.is_x86() or cpu._words() is None:
        pytest.skip("the features of this CPU are not known by name")
    (key,) = build([source(1)]).keys
    path = compiledir / f"{key}.so"
    elf = cache.unseal(path.read_bytes(), key)
    path.write_bytes(cache.seal(elf, [key], ("sse2", "avx1024f")))
    restart()
    assert cache.current().verify() == []  # nothing wrong with it: it is for another CPU
    caplog.clear()
    made = build([source(1)])
    assert made.built == 1 and call(made.addresses[0]) == expected(1)
    assert [r.message for r in caplog.records if "avx1024f, which this CPU lacks" in r.message]
    restart()
    assert build([source(1)]).built == 0


def test_features_this_cpu_has_are_accepted(compiledir):
    tools = compiler.current_toolchain()
    assert cpu.lacking(tools.features) == []
    assert not cpu.is_x86() or "sse2" in tools.features
    macros = ["#define __AVX2__ 1", "#define __SSE_MATH__ 1", "#define X"]
    assert cpu.features_of(macros) == ["avx2"]


INTERRUPTED = """
import os, signal, sys, threading
sys.path.insert(0, {here!r})
from conftest import make_source
from ckernels.compiler import build, process
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    build([make_source(n) for n in range(8)])
except KeyboardInterrupt:
    print("interrupted", len(process._running), threading.active_count(), flush=True)
sys.exit(0)
"""


def test_an_interrupt_stops_every_compiler(compiledir, script, tmp_path):
    """Ctrl-C while all cores compile: every compiler is gone at once, and the program may end."""
    pids = tmp_path / "pids"
    slow = script("slow", f"{ASKED}\necho $$ >> {pids}; cat > /dev/null; sleep 600")
    text = INTERRUPTED.format(here=str(Path(__file__).parent))
    flags = f"cc={slow},compiledir={compiledir}"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CKERNELS_FLAGS": flags}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        env=env,
        text=True,
        capture_output=True,
        timeout=240,
    )
    assert done.returncode == 0 and done.stdout.startswith("interrupted 0 "), done.stderr
    for pid in pids.read_text().split():
        assert not os.path.exists(f"/proc/{pid}") or "Z" in Path(f"/proc/{pid}/stat").read_text()


def test_no_warning_when_all_is_well(compiledir, source):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build([source(1)])


def test_where_zig_keeps_what_it_prepares(tmp_path, monkeypatch):
    """In the user's cache, in a private place where there is none, or where it was told to."""
    name, zig = "ZIG_GLOBAL_CACHE_DIR", (sys.executable, "-m", "ziglang", "cc")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(system, "cache_home", lambda: str(tmp_path / "home"))
    assert name not in process.environment(zig)
    monkeypatch.setattr(system, "cache_home", lambda: "")
    assert name not in process.environment(("gcc", "-O2"))
    for command in (zig, ("/opt/ziglang/zig", "cc")):
        place = Path(process.environment(command)[name])
        assert place.name == "zig" and place.parent.parent == tmp_path
        assert not directories.distrust(str(place.parent))
    monkeypatch.setenv(name, "/mine")
    assert process.environment(zig)[name] == "/mine"
