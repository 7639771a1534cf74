"""Finding, knowing and running the compiler; the compilers here are real or small shell scripts."""

import ast
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ckernels import compiler
from ckernels.base.config import config
from ckernels.base.errors import CompileError, CompilerMissing
from ckernels.compiler import KernelSource, build, cpu, loader, prebuilt, process, toolchain

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
pytestmark = pytest.mark.skipif(not CC, reason="needs a C compiler")

V3 = {"avx2", "fma", "bmi1", "bmi2", "movbe", "f16c", "abm"}
V2 = {"sse4_2", "popcnt", "ssse3", "cx16"}


def test_native_flags_are_what_the_compiler_really_enables(compiledir):
    tools = compiler.current_toolchain()
    macros = subprocess.run(
        [CC, *tools.flags, "-dM", "-E", "-x", "c", os.devnull], capture_output=True, text=True
    ).stdout
    assert set(tools.features) <= {
        line.split()[1].strip("_").lower() for line in macros.splitlines()
    }
    assert ("avx2" in tools.features) == ("#define __AVX2__ 1" in macros)
    assert "#define __FAST_MATH__" not in macros and "#define __FINITE_MATH_ONLY__ 0" in macros


@pytest.mark.parametrize(
    "arch, words, first",
    [
        ("native", V2 | V3, ("-march=native",)),
        ("x86-64-v3", V2 | V3, ("-march=x86-64-v3",)),
        ("x86-64-v4", V2 | V3, ("-march=x86-64-v3",)),  # the CPU is no v4: one level down
        ("x86-64-v4", V2, ("-march=x86-64-v2",)),
        ("x86-64-v2", V2 | V3, ("-march=x86-64-v2",)),
        ("x86-64-v3", set(), ()),
        ("generic", V2 | V3, ()),
    ],
)
def test_arch_steps_down_to_what_the_cpu_has(arch, words, first):
    choices = cpu.arch_choices(arch, "x86_64", words)
    assert choices[0] == first and choices[-1] == ()


def test_arch_elsewhere():
    assert cpu.arch_choices("native", "aarch64", set())[0] == ("-mcpu=native",)
    assert cpu.arch_choices("generic", "aarch64", set()) == [()]


def test_old_compiler_gets_flags_it_knows(compiledir, script):
    old = script(
        "cc",
        f"""for word in "$@"; do case $word in
    -march=native|-march=x86-64-*|-fvect-cost-model=*) echo "error: $word" >&2; exit 1;; esac; done
    exec {CC} "$@" """,
    )
    with config.change(cc=old):
        flags = compiler.current_toolchain().flags
    assert "-fvect-cost-model=dynamic" not in flags and "-O2" in flags
    words = cpu.cpu_flags()[1]
    assert words is None or not V3 <= words or any(f.startswith("-march=") for f in flags)


def test_warm_start_runs_no_compiler(compiledir, source, call, expected, restart, monkeypatch):
    build([source(1)])
    restart()
    monkeypatch.setattr(process, "run", lambda *args, **more: pytest.fail(f"ran {args[0]}"))
    assert call(build([source(1)]).addresses[0]) == expected(1)


def test_torn_memo_is_asked_for_again(compiledir, source, restart):
    build([source(1)])
    tools = compiler.current_toolchain()
    (memo,) = compiledir.glob("toolchain-*")
    text = memo.read_bytes()
    for bad in (b"", text[: len(text) // 2], text.replace(b"-O2", b"-O9")):
        memo.write_bytes(bad)
        restart()
        assert compiler.current_toolchain() == tools and memo.read_bytes() == text


@pytest.mark.parametrize("spoil", ["mode", "link", "owner"])
def test_a_memo_that_others_may_have_written(compiledir, source, restart, tmp_path, spoil):
    """What it says becomes flags of a compiler: it is trusted no further than an entry."""
    build([source(1)])
    (memo,) = compiledir.glob("toolchain-*")
    if spoil == "mode":
        memo.chmod(0o666)
    elif spoil == "owner":
        if os.geteuid():
            pytest.skip("needs chown")
        os.chown(memo, 65534, 65534)
    else:
        memo.rename(tmp_path / "elsewhere")
        memo.symlink_to(tmp_path / "elsewhere")
    assert toolchain.recall(str(memo)) is None
    restart()
    build([source(1)])
    assert toolchain.recall(str(memo)) is not None  # written anew


def test_another_cpu_finds_nothing(compiledir, source, restart, monkeypatch):
    build([source(1)])
    restart()
    monkeypatch.setattr(cpu, "host_fingerprint", lambda: "another machine")
    found = compiler.current_toolchain()  # asked again, not taken from the memo of this machine
    assert found.host == "another machine"
    fake = found._replace(macros="f" * 64)
    monkeypatch.setattr(toolchain, "find", lambda *where: fake)
    restart()
    assert build([source(1)]).built == 1


def test_no_compiler(compiledir, source, monkeypatch, tmp_path, unnamed):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(prebuilt, "level", lambda: "")
    with pytest.raises(CompilerMissing, match="found no C compiler") as caught:
        build([source(1)])
    assert "`pip install ckernels[compiler]`" in str(caught.value)
    assert "CKERNELS_CC" in caught.value.install


def test_kernels_outlive_their_compiler(
    compiledir, source, call, expected, restart, monkeypatch, script, unnamed
):
    wrapper = script("gcc", f'PATH={os.environ["PATH"]} exec {CC} "$@"')
    monkeypatch.setenv("PATH", os.path.dirname(wrapper))
    made = build([source(1)])
    os.unlink(wrapper)
    with pytest.raises(CompilerMissing, match="is gone"):  # in the process that used it
        build([source(2)])
    restart()
    assert call(build([source(1)]).addresses[0]) == expected(1)
    assert build([source(1)]).keys == made.keys
    with pytest.raises(CompilerMissing, match="is gone"):
        build([source(2)])


def test_order_of_compilers(compiledir, script, monkeypatch, restart, unnamed):
    wrapper = script("wrapper", f'exec {CC} "$@"')
    broken = script("broken", "exit 1")
    monkeypatch.setenv("CC", broken)
    assert compiler.current_toolchain().path == os.path.realpath(CC)  # CC is a wish, not an order
    monkeypatch.setenv("CC", f"{wrapper} -DNOTHING")
    assert compiler.current_toolchain().command == (wrapper, "-DNOTHING")
    monkeypatch.setenv("CKERNELS_CC", wrapper)
    assert compiler.current_toolchain().command == (wrapper,)
    with config.change(cc=broken), pytest.raises(CompilerMissing, match="does not work"):
        compiler.current_toolchain()
    with config.change(cc="no-such-compiler"), pytest.raises(CompilerMissing, match="there is no"):
        compiler.current_toolchain()


def test_two_names_of_one_compiler_share_kernels(compiledir, source, restart):
    names = [name for name in ("cc", "gcc") if shutil.which(name)]
    if len({os.path.realpath(shutil.which(name)) for name in names}) != 1 or len(names) < 2:
        pytest.skip("cc and gcc are not the same program here")
    keys = set()
    for name in names:
        with config.change(cc=name):
            keys.add(compiler.key_of(source(1), compiler.current_toolchain()))
    assert len(keys) == 1


def test_compile_error_is_one_sentence_and_keeps_the_source(compiledir, source):
    bad = source(1)._replace(text="int k_test_1(void) { return nonsense; }\n")
    with pytest.raises(CompileError, match="k_test_1.*nonsense") as caught:
        build([bad])
    assert len(str(caught.value).splitlines()) == 2
    with open(caught.value.source) as stream:
        assert "nonsense" in stream.read()
    assert build([source(2)]).built == 1


def test_slow_compiler_is_stopped_with_its_children(compiledir, source, script, tmp_path):
    slow = script(
        "slow",
        f"""case "$*" in *-dM*|*--version*|*print-prog*) exec {CC} "$@";; esac
    sleep 600 & echo $! > {tmp_path}/pid; wait; exit 1""",
    )
    start = time.perf_counter()
    with config.change({"cc": slow, "cc.timeout": 0.5}):
        with pytest.raises(CompileError, match="cc.timeout"):
            build([source(1)])
    assert time.perf_counter() - start < 5
    child = int((tmp_path / "pid").read_text())
    deadline = time.time() + 5
    while time.time() < deadline and _alive(child):
        time.sleep(0.02)
    assert not _alive(child)


def _alive(pid):
    """Whether a process runs; a zombie nobody has buried yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        return state != "Z"
    except OSError:
        return False


def test_library_functions_are_found(compiledir):
    """With `extern` libm is linked; without it a symbol dlopen misses brings the libraries in."""
    ffi = loader.ffi()
    body = "(void)dims; (void)lo; (void)hi; double *x = p[0]; x[0] = {0}(x[0]); return 0; }}\n"
    head = "int {0}(void *const *p, const int64_t *dims, int64_t lo, int64_t hi) {{ "
    sources = [
        KernelSource(
            "k_gamma",
            head.format("k_gamma") + body.format("tgamma"),
            ("extern double tgamma(double);\n",),
        ),
        KernelSource("k_erf", head.format("k_erf") + body.format("__builtin_erf")),
    ]
    for source, exact in zip(sources, (24.0, 0.9999999845827421)):  # gamma(5), erf(4) (mpmath)
        address = build([source]).addresses[0]
        x = ffi.new("double[]", [5.0 if exact > 1 else 4.0])
        kernel = ffi.cast("int(*)(void *const *, const int64_t *, int64_t, int64_t)", address)
        kernel(ffi.new("void *[]", [x]), ffi.NULL, 0, 1)
        assert x[0] == pytest.approx(exact, rel=1e-15)


def test_batches_are_balanced_and_grouped_by_flags(source):
    wide = ("-mprefer-vector-width=512",)
    missing = [(str(n), source(n, flags=wide if n % 4 == 0 else ())) for n in range(20)]
    batches = compiler.split(missing, 4)
    assert sorted(int(key) for batch in batches for key, _ in batch) == list(range(20))
    assert all(len({s.flags for _, s in batch}) == 1 for batch in batches)
    assert [len(batch) for batch in batches] == [5] * 4
    assert len(compiler.split(missing[:1], 4)) == 1


def test_snippets_are_printed_once(source):
    text = compiler.translation_unit([("a", source(1)), ("b", source(2))])
    assert text.count("static inline float twice") == 1
    assert "#include" not in text


def test_generated_unit_has_no_warnings(source, compiledir, tmp_path):
    text = compiler.translation_unit([("a" * 64, source(1)), ("b" * 64, source(2))])
    tools = compiler.current_toolchain()
    command = [*tools.command, *tools.flags, "-Wall", "-Wextra", "-Werror"]
    command += ["-c", "-o", str(tmp_path / "unit.o")]  # Zig knows no -fsyntax-only
    done = subprocess.run([*command, "-x", "c", "-"], input=text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_descriptor_numbers_do_not_mix_libraries_up(compiledir, source, call, expected):
    """dlopen compares names first: /proc/self/fd/9 twice would give the first library twice."""
    tools = compiler.current_toolchain()
    for n in range(4):
        text = compiler.translation_unit([(f"key{n}", source(n))])
        assert call(loader.load(tools.compile(text))[f"key{n}"]) == expected(n)


def test_without_memory_files(compiledir, source, call, expected, monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    assert call(build([source(11)]).addresses[0]) == expected(11)


def test_environment_cannot_bend_the_compiler(compiledir, source, monkeypatch, tmp_path):
    monkeypatch.setenv("DEPENDENCIES_OUTPUT", str(tmp_path / "deps"))
    monkeypatch.setenv("LD_PRELOAD", "/nonexistent.so")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert build([source(1)]).built == 1
    assert not (tmp_path / "deps").exists()


def test_loading_leaves_subnormals_alone(compiledir, source):
    build([source(1)])
    assert sys.float_info.min / 2 > 0


def test_warm_import_stays_small():
    """What a warm start must not pay for: 12 ms of modules it does not need."""
    late = {"subprocess", "tempfile", "logging", "concurrent", "difflib", "cffi", "json", "shutil"}
    for file in Path(compiler.__file__).parent.glob("[!_]*.py"):
        if file.name == "bundle.py":  # only the commands need it
            continue
        for node in ast.parse(file.read_text()).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not late & {name.split(".")[0] for name in names}, file


def test_which_agrees_with_shutil(script, monkeypatch, tmp_path):
    path = script("tool", "true")
    monkeypatch.setenv("PATH", f"/nonexistent{os.pathsep}{tmp_path / 'bin'}")
    assert process.which("tool") == path == shutil.which("tool")
    assert process.which(path) == path and process.which("absent") is None


def test_cpu_flags_of_known_files(tmp_path):
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\nmodel name\t: X\ncpu MHz\t\t: 1\nflags\t\t: fma avx2\n\nproc")
    text, words = cpu.cpu_flags(str(file))
    assert words == {"fma", "avx2"} and "MHz" not in text and "model name" in text
    assert cpu.cpu_flags(str(tmp_path / "absent")) == ("", None)
