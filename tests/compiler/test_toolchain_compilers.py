"""gcc, clang and `python -m ziglang cc` each build the kernels and compute what NumPy computes.

A compiler that is not installed is skipped, and said so: `pip install ziglang` brings one without a
system's help. The short form is a core set of programs and all rows of a few dtypes; the long one
runs the tests of whatever makes kernels under each compiler: every row in every dtype and layout
against its oracle, every graph with golden C, every template, loops, random numbers, CTC, sparse.
"""

import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ckernels as K
from ckernels import compiler
from ckernels.base.config import config
from ckernels.compiler import KernelSource, build, cpu, loader

ROOT = Path(__file__).resolve().parents[2]
COMPILERS = {
    "gcc": shutil.which("gcc"),
    "clang": shutil.which("clang"),
    "zig": importlib.util.find_spec("ziglang") and f"{sys.executable} -m ziglang cc",
}  # fmt: skip
REASONS = {"gcc": "gcc is not installed", "clang": "clang is not installed",
           "zig": "ziglang is not installed (pip install ziglang)"}  # fmt: skip
API = (
    "function math random random_distributions ctc sparse sparse_functions scan rnn conv "
    "images_everywhere"
)
OTHERS = "runtime/program runtime/choice plan/scan plan/scan_trips autodiff/scan_gradient"
LONG = ["tests/codegen", "tests/src/image", *(f"tests/api/test_{name}.py" for name in API.split()),
        *("tests/{}/test_{}.py".format(*name.split("/")) for name in OTHERS.split())]  # fmt: skip


@pytest.fixture(params=COMPILERS)
def chosen(request, tmp_path):
    """The toolchain of one compiler, on a compiledir of its own."""
    command = COMPILERS[request.param]
    if not command:
        pytest.skip(REASONS[request.param])
    flags = {
        "cc": command,
        "compiledir": str(tmp_path / "kernels"),
        "on_compile_error": "raise",
        "mode": "compiled",
    }
    with config.change(flags):
        _forget()
        yield compiler.current_toolchain()
    _forget()


def _forget():
    compiler._loaded.clear()
    compiler.cache._opened.clear()


def test_identity(chosen):
    """What is known of it: version, features of this CPU, flags that were accepted."""
    assert chosen.available() and re.search(r"\d+\.\d+", chosen.version)
    assert "-O2" in chosen.flags and any(
        flag.startswith("-march") or flag.startswith("-mcpu") for flag in chosen.flags
    )
    assert not cpu.is_x86() or {"sse2"} <= set(chosen.features)
    assert cpu.lacking(chosen.features) == []
    if "ziglang" in chosen.command:
        assert "ziglang" in chosen.path and "python" not in os.path.basename(chosen.path)


def test_identities_differ(tmp_path):
    """The same kernel has another key under each compiler."""
    keys = {}
    for name, command in COMPILERS.items():
        if command:
            with config.change({"cc": command, "compiledir": str(tmp_path)}):
                tools = compiler.current_toolchain()
                keys[name] = compiler.key_of(KernelSource("k", "int k(void);"), tools)
    assert len(set(keys.values())) == len(keys) >= 1


def core():
    """One program with elementwise, reduction, softmax, gather, gemm, gradients, random numbers."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(33, 17)).astype("f")
    t = np.eye(3, dtype="f")[rng.integers(0, 3, 33)]
    b = rng.normal(size=(17, 3)).astype("f")
    x, y = K.placeholder((None, 17), name="x"), K.placeholder((None, 3), name="y")
    w, i = K.variable(b), K.placeholder((None,), dtype="int64", name="i")
    p = K.softmax(K.dot(x, w))
    loss = (
        K.mean(K.categorical_crossentropy(y, p))
        if _new_order()
        else K.mean(K.categorical_crossentropy(p, y))
    )
    (grad,) = K.gradients(loss, [w])
    f = K.function(
        [x, y, i],
        [
            p,
            loss,
            grad,
            K.sum(x, axis=0),
            K.argmax(x, axis=1),
            K.var(x, axis=-1),
            K.tanh(x) * K.erf(x) + K.sqrt(K.abs(x)),
            K.gather(x, i),
            K.cumsum(x, axis=0),
            K.cast(x, "float64") / 3,
            K.cast(x * 10, "int32"),
            K.exp(x[:, ::2]),
            K.logsumexp(x, axis=0),
            K.transpose(x) + 1,
        ],
    )
    picks = np.array([5, 0, 32, 5])
    got = f([a, t, picks])
    e = np.exp(a @ b)
    soft = e / e.sum(1, keepdims=True)
    from math import erf

    want = [
        soft,
        -(t * np.log(soft)).sum(1).mean(),
        a.T @ (soft - t) / len(a),
        a.sum(0),
        a.argmax(1),
        a.var(-1),
        np.tanh(a) * np.vectorize(erf)(a) + np.sqrt(np.abs(a)),
        a[picks],
        a.cumsum(0),
        a.astype("d") / 3,
        (a * 10).astype("i4"),
        np.exp(a[:, ::2]),
        np.log(np.exp(a).sum(0)),
        a.T + 1,
    ]
    for k, (g, v) in enumerate(zip(got, want)):
        np.testing.assert_allclose(g, v, rtol=2e-5, atol=1e-5, err_msg=f"output {k}")
    return f


def _new_order():
    """Whether categorical_crossentropy takes the target first, as in Keras 2."""
    import inspect

    return next(iter(inspect.signature(K.categorical_crossentropy).parameters)) == "target"


def test_core_programs(chosen, tmp_path):
    pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
    f = core()
    assert f.stats()["built"] > 5
    _forget()
    f = core()  # and from the compiledir, without the compiler
    assert f.stats()["built"] == 0 and f.stats()["from_cache"] >= 1
    u = K.function([], K.random_normal((1000,), seed=3))()
    assert abs(u.mean()) < 0.2 and 0.8 < u.std() < 1.2


def test_subnormals_and_nan_are_left_alone(chosen):
    """No compiler's -ffast-math: not in its flags, not in what it links."""
    name = "k_subnormal"
    text = (
        f"int {name}(void *const *p, const int64_t *dims, int64_t lo, int64_t hi) {{\n"
        "    const float *a = p[0]; float *c = p[1]; (void)dims;\n"
        "    for (int64_t i = lo; i < hi; i++) c[i] = a[i] * 0.5f;\n    return 0;\n}\n"
    )
    (address,) = build([KernelSource(name, text)]).addresses
    ffi = loader.ffi()
    given = np.array([1e-40, np.nan, np.inf, -0.0] * 8, "f")
    result = np.empty_like(given)
    pointers = ffi.new(
        "void *[]", [ffi.cast("void *", given.ctypes.data), ffi.cast("void *", result.ctypes.data)]
    )
    kernel = ffi.cast("int(*)(void *const *, const int64_t *, int64_t, int64_t)", address)
    assert kernel(pointers, ffi.new("int64_t[]", [0]), 0, len(given)) == 0
    np.testing.assert_array_equal(result, given * np.float32(0.5))
    assert result[0] != 0 and np.signbit(result[3])


ROWS = {  # of tests/codegen/test_print_c.py: what each compiler does in `make test`
    "test_elementwise_rows": ["float32", "float16"],
    "test_reductions": ["bool"],
    "test_reductions_of_special_numbers": [("max", "float32")],
    "test_layouts_of_elementwise": ["floor_div"],
}  # fmt: skip


@pytest.fixture
def usual():
    """The compiler that all other tests use."""
    return compiler.current_toolchain().identity


@pytest.mark.parametrize("test", ROWS)
def test_rows_against_oracles(usual, chosen, test, monkeypatch):
    """clang once lost -inf in maxima: their first value, with `omp simd reduction`, is its own."""
    if chosen.identity == usual:
        pytest.skip("tests/codegen/test_print_c.py does this")
    pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
    monkeypatch.syspath_prepend(str(ROOT / "tests"))
    rows = importlib.import_module("codegen.test_print_c")
    for words in ROWS[test]:
        getattr(rows, test)(*([words] if isinstance(words, str) else words))


def forms_of(directory, tools):
    """The forms of all kernels in a compiledir, each of which this compiler must have built."""
    found = set()
    for path in directory.glob("*.json"):
        note = json.loads(path.read_text())
        assert note["compiler"] == tools.identity, path
        found.add(note["meta"].get("form"))
    return found


@pytest.mark.slow
def test_every_kernel_under_each_compiler(chosen, tmp_path):
    """No test fails, nothing falls back to NumPy, no form of kernel and no template is left out."""
    from ckernels.codegen import emit

    directory = tmp_path / "all"
    flags = f"cc={config.cc},compiledir={directory},on_compile_error=raise"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-o",
            "timeout=1500",
            "-m",
            "not slow",
            *LONG,
        ],
        cwd=ROOT,
        env={**os.environ, "CKERNELS_FLAGS": flags},
        text=True,
        capture_output=True,
        timeout=3400,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    templates = {path.name.split(".")[0] for path in ROOT.glob("ckernels/templates/*.c.in")}
    missing = {*emit.FORMS, *templates} - {"kernel"} - forms_of(directory, chosen)
    assert not missing, f"no kernel of these forms was built: {sorted(missing)}"
