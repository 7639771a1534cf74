"""Kernels for NEON, AVX2 and x86-64 without AVX beside naive loops (naive.c), in an emulator."""

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from build_tools import extension
from ckernels.export import portable
from src.native import SOURCES

ARM, X86 = (platform.machine() in names for names in (("aarch64", "arm64"), ("x86_64", "AMD64")))
SETS = {"Nehalem": "", "Haswell": " (avx2)", "EPYC-Rome": " (avx2)"}  # models of qemu-x86_64


def compiler():
    """A command that compiles for aarch64, or None."""
    if ARM:
        return [shutil.which("gcc") or shutil.which("cc")]
    if gcc := shutil.which("aarch64-linux-gnu-gcc"):
        return [gcc]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl"]
    return None


EMULATOR = [] if ARM else [shutil.which("qemu-aarch64")]


def program(folder, command, macros=()):
    """Path of naive.c with the kernels, compiled by `command` without a library of this system."""
    for name in ("serial", "no_blas"):
        (folder / f"{name}.c").write_text(portable.support(name))
    files = [SOURCES / "simd" / "simd.c", SOURCES / "system" / "pages.c"]
    for room in ("image", "order", "attention"):
        files += (SOURCES / room).glob("*.c")
    files += [SOURCES / "gemm" / "gemm.c", SOURCES / "gemm" / "builtin.c"]
    files += [*folder.glob("*.c"), Path(__file__).with_name("naive.c")]
    flags = ["-O3", "-std=gnu11", "-fno-math-errno", "-Wall", "-Wextra", "-Werror", "-static"]
    flags += [f"-D{macro}" for macro in macros]
    made = folder / "naive"
    subprocess.run([*command, *flags, "-I", SOURCES, *files, "-o", made, "-lm"], check=True)
    return made


def check(command, chosen):
    """That it takes the instruction set `chosen`, and every case is equal."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    count = re.fullmatch(rf"builtin{re.escape(chosen)}: (\d+) cases, 0 failures\n", done.stdout)
    assert count and int(count[1]) > 1000, done.stdout


ASKED = """
#include "ckernels.h"
#include <stdio.h>
int main(void)
{
    printf("%d %d %d %d\\n", ck_simd(), ck_is_amd(), ck_has_bf16(), ck_has_kernels());
    return 0;
}
"""
AVX2, AVX512 = {"avx2", "fma"}, {"avx512f", "avx512vl", "avx512dq", "avx512bw"}
ZIG = [sys.executable, "-m", "ziglang", "cc"] if importlib.util.find_spec("ziglang") else None
COMPILERS = {"gcc": ["gcc"], "clang": ["clang"], "zig": ZIG}


@pytest.mark.skipif(not X86 or not sys.platform.startswith("linux"), reason="reads /proc/cpuinfo")
@pytest.mark.parametrize("name", COMPILERS)
def test_every_compiler_finds_the_instructions_of_this_cpu(name, tmp_path):
    command = COMPILERS[name]
    if not command or not shutil.which(command[0]):
        pytest.skip(f"{name} is not installed")
    text, sets, words = this_cpu()
    wanted = [max(sets), int("AuthenticAMD" in text), int("avx512_bf16" in words), 1]
    assert asked(tmp_path, command) == wanted


def this_cpu():
    """(/proc/cpuinfo, its sets as ck_simd numbers them, its words for what it can do)."""
    text = Path("/proc/cpuinfo").read_text()
    words = set(re.search(r"^flags\s*: (.*)$", text, re.M)[1].split())
    sets = {0} | ({1} if words >= AVX2 else set()) | ({2} if words >= AVX512 else set())
    return text, sets, words


def asked(folder, command, macros=()):
    """What simd.c, compiled by `command`, says of this CPU."""
    (folder / "asked.c").write_text(ASKED)
    files = [folder / "asked.c", SOURCES / "simd" / "simd.c"]
    made = folder / "asked"
    flags = ["-std=gnu11", "-I", SOURCES, *(f"-D{macro}" for macro in macros)]
    subprocess.run([*command, *flags, *files, "-o", made], check=True)
    found = subprocess.run([made], capture_output=True, text=True, check=True).stdout.split()
    return [int(number) for number in found]


@pytest.mark.skipif(not X86 or not sys.platform.startswith("linux"), reason="reads /proc/cpuinfo")
@pytest.mark.parametrize("left_out", [{1}, {2}, {1, 2}, {0, 1, 2}])
def test_a_set_that_was_left_out_is_not_chosen(left_out, tmp_path):
    macros = [
        ("CK_WITHOUT_BASE", "CK_WITHOUT_AVX2", "CK_WITHOUT_AVX512")[simd] for simd in left_out
    ]
    chosen, _, _, has_kernels = asked(tmp_path, [shutil.which("gcc") or "cc"], macros)
    assert chosen == max(this_cpu()[1] - {*left_out} | {0})
    assert has_kernels == (chosen not in left_out)


ALL = {"BASE", "AVX2", "AVX512"}
DEFINED = {  # by a compiler for a CPU: the sets that such a runtime has
    "x86_64 AVX2 FMA AVX512F AVX512DQ AVX512BW AVX512VL": {"AVX512"},
    "x86_64 AVX2 FMA AVX512F AVX512DQ": {"AVX2"},
    "x86_64 AVX2 FMA": {"AVX2"},
    "x86_64 AVX2": {"BASE"},
    "x86_64": {"BASE"},
    "aarch64": ALL,
    "": ALL,
}


@pytest.mark.parametrize("defined", DEFINED)
def test_sets_of_a_runtime_for_one_cpu(defined):
    said = "".join(f"#define __{name}__ 1\n" for name in defined.split())
    left_out = {name.removeprefix("CK_WITHOUT_") for name, _ in extension.left_out(said)}
    assert ALL - left_out == DEFINED[defined] and left_out <= ALL


@pytest.mark.slow  # half a minute: a compiler
@pytest.mark.skipif(not X86 or sys.platform == "win32", reason="the macros are those of x86-64")
def test_a_runtime_for_another_cpu_is_not_loaded(tmp_path):
    root = SOURCES.parent.parent
    for name in ("ckernels", "build_tools"):
        shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns("*.so"))
    shutil.copy(root / "setup.py", tmp_path)
    shutil.copy(root / "pyproject.toml", tmp_path)
    macros = " ".join(f"-DCK_WITHOUT_{name}" for name in ALL)
    env = {**os.environ, "CKERNELS_NATIVE": "", "CKERNELS_REQUIRE_RUNTIME": "1", "CFLAGS": macros}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=tmp_path, env=env, check=True)
    program = (
        "import ckernels as K\n"
        "x = K.placeholder((None,))\n"
        "print(float(K.function([x], K.sum(x * x))([[1.0, 2.0, 3.0]])))\n"
    )
    env["PYTHONPATH"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.stdout == "14.0\n" and "CKERNELS_NATIVE=1 for another CPU" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="setuptools takes another compiler")
@pytest.mark.parametrize("native", ["", "1"])
def test_what_is_compiled_ahead_is_what_setuptools_would_compile(native, tmp_path, monkeypatch):
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext
    from distutils.ccompiler import new_compiler  # isort: skip
    from distutils.sysconfig import customize_compiler  # isort: skip

    for name in extension.SAY:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CKERNELS_NATIVE", native)
    monkeypatch.setattr(extension, "native_macros", lambda: [("CK_WITHOUT_AVX512", None)])
    monkeypatch.chdir(tmp_path)
    seen = []

    def run(command, **_):
        seen.append(command)
        Path(command[-1]).touch()
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    source = "ckernels/src/order/order.c"
    made = extension.ahead(source)
    compiler, asked = new_compiler(), build_ext(Distribution())
    customize_compiler(compiler)
    asked.ensure_finalized()
    place = os.path.join(asked.build_temp, "native") if native else asked.build_temp
    assert [made] == compiler.object_filenames([source], output_dir=place)
    count = len(compiler.compiler_so)
    assert seen[0][:count] == compiler.compiler_so and Path(made).exists()
    assert seen[0][count:] == [
        *["-DCK_WITHOUT_AVX512"] * bool(native), "-Ickernels/src", *extension.flags()[0],
        "-c", source, "-o", f"{made}.part",
    ]  # fmt: skip
    monkeypatch.setenv("CFLAGS", "-O1")
    assert extension.ahead(source) is None and len(seen) == 1


@pytest.mark.slow  # half a minute: a compiler
@pytest.mark.skipif(not X86 or not shutil.which("gcc"), reason="needs gcc for x86-64")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/cpuinfo")
def test_kernels_of_a_runtime_for_this_cpu(tmp_path):
    macros = [name for name, _ in extension.native_macros()]
    chosen = ["", " (avx2)", " (avx512)"][max(this_cpu()[1])]
    check([program(tmp_path, ["gcc"], macros)], chosen)


@pytest.mark.slow  # a minute: a compiler, twice
@pytest.mark.skipif(not X86 or not shutil.which("gcc"), reason="needs gcc for x86-64")
def test_a_runtime_for_one_cpu_is_in_no_wheel(tmp_path):
    """What is built for others beside it has the kernels of all CPUs."""
    root = SOURCES.parent.parent
    for name in ("ckernels", "build_tools"):
        shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns("*.so"))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, tmp_path)
    for native in ("1", ""):
        env = {**os.environ, "CKERNELS_NATIVE": native, "CKERNELS_REQUIRE_RUNTIME": "1"}
        command = [
            sys.executable,
            "setup.py",
            "-q",
            "build_ext",
            *(["--inplace"] if native else []),
        ]
        subprocess.run(command, cwd=tmp_path, env=env, check=True)
    (made,) = tmp_path.glob("build/lib*/ckernels/_runtime*")
    assert all(b"kernel_" + name in made.read_bytes() for name in (b"base", b"avx2", b"avx512"))


@pytest.mark.slow  # 15 s: a compiler and an emulator
@pytest.mark.skipif(compiler() is None, reason="no compiler for aarch64: gcc or ziglang")
@pytest.mark.skipif(EMULATOR == [None], reason="there is no qemu-aarch64")
def test_kernels_for_neon(tmp_path):
    check([*EMULATOR, program(tmp_path, compiler())], " (neon)")


@pytest.mark.slow  # a minute: a compiler and an emulator
@pytest.mark.skipif(not X86 or not shutil.which("gcc"), reason="needs gcc for x86-64")
@pytest.mark.skipif(not shutil.which("qemu-x86_64"), reason="there is no qemu-x86_64")
def test_kernels_of_lesser_x86(tmp_path):
    """An instruction that a CPU does not have ends the program there."""
    made = program(tmp_path, ["gcc"])
    for model, chosen in SETS.items():
        check(["qemu-x86_64", "-cpu", model, made], chosen)


@pytest.mark.slow  # a minute: a compiler, and Wine
@pytest.mark.skipif(not X86 or not ZIG, reason="needs Zig on x86-64")
def test_kernels_for_windows(tmp_path):
    """They compile for it; where Wine runs them every case is equal."""
    made = program(tmp_path, [*ZIG, "-target", "x86_64-windows-gnu"])
    wine = shutil.which("wine64", path="/usr/lib/wine") or shutil.which("wine")
    if wine:
        env = {**os.environ, "WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all"}
        made = made.rename(made.with_suffix(".exe"))
        done = subprocess.run([wine, made], capture_output=True, text=True, env=env)
        assert re.match(r"builtin.*: \d+ cases, 0 failures\s", done.stdout), done
