"""Exported files under cppcheck, and what they may contain."""

import re
import shutil
import subprocess

import pytest

import ckernels as K
from ckernels.base.errors import ArgumentError

from .build import GCC, build, run
from .programs import PROGRAMS

ALLOWED = {"math.h", "stddef.h", "stdint.h"}


@pytest.fixture(
    scope="module",
    params=[
        "mlp",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("rbm", "lstm", "cnn", "ctc")),
    ],
)
def exported(request, tmp_path_factory):
    folder, name = tmp_path_factory.mktemp(request.param), request.param
    functions, more = PROGRAMS[name]()
    report = K.export(functions, folder, prefix=name, **more)
    return folder, name, report


@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="there is no cppcheck")
def test_cppcheck_finds_nothing(exported):
    folder, name, _ = exported
    command = ["cppcheck", "--std=c99", "--enable=warning,performance", "-q", "--error-exitcode=1"]
    done = subprocess.run([*command, folder / f"{name}.c"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]


def test_no_other_headers_no_malloc_and_one_static_array(exported):
    folder, name, report = exported
    text = (folder / f"{name}.c").read_text()
    assert set(re.findall(r"#include <(.+)>", text)) <= ALLOWED
    assert not re.search(r"\b(malloc|calloc|realloc|free|printf|mem(cpy|set|move))\(", text)
    # what is static and no function is constant, but for the memory of calls
    objects = re.findall(r"^static (?!const|inline|int|void|ck_index)(\w+)", text, re.M)
    assert [x for x in objects if x not in ("float", "double", "uint32_t", "uint64_t")] == ["union"]
    assert f"_ARENA_BYTES {report.arena} " in (folder / f"{name}.h").read_text()


def test_no_two_of_the_same_name_and_no_keyword():
    x = K.placeholder((2,), name="int")
    w, v = (K.variable([1.0, 2.0], name=n) for n in ("for", "for"))
    f = K.function([x], [x * w, x + v], updates=[(w, w + 1), (v, v * 2)])
    from ckernels.export.model import header, model
    from ckernels.export.routine import routine

    text = header(model("m", [routine("f", f)]))
    assert "float variable_for[2]" in text and "float variable_for_2[2]" in text
    assert "const float *in0_int" in text


def test_names_of_math_h_and_of_types_stay_free(tmp_path):
    x, y = K.placeholder((2,), name="memory"), K.placeholder((2,), name="size_t")
    w, v = K.variable([1.0, 2.0], name="exp"), K.variable([3.0, 2.0], name="log")
    K.export(K.function([x, y], K.exp(x * w) + y * v, updates=[(v, v + 1)]), tmp_path, prefix="m")
    if GCC:
        assert "all as recorded" in run(build(tmp_path, "m"))


@pytest.mark.parametrize("names", [("reset",), ("state",), ("f", "f_in"), ("a b",)])
def test_names_that_the_export_needs_are_refused(names, tmp_path):
    f = K.function([], K.constant(1.0) * K.variable(2.0))
    with pytest.raises(ArgumentError, match="cannot be"):
        K.export(dict.fromkeys(names, f), tmp_path)


@pytest.mark.parametrize("prefix", ["ck", "ck_gemm", "9", "ü"])
def test_prefixes_that_clash_or_are_no_names_are_refused(prefix, tmp_path):
    f = K.function([], K.constant(1.0) * K.variable(2.0))
    with pytest.raises(ArgumentError, match="say prefix="):
        K.export({"index": f}, tmp_path, prefix=prefix)


def test_no_variable_is_unused(tmp_path):
    """An argmax over one element reads nothing; limits by numbers are kernels of their own kind."""
    y = K.placeholder((2, 1), name="y")
    z = K.placeholder((4, 3), name="z")
    i = K.placeholder((3, 1), dtype="int16", name="i")
    functions = {
        "least": K.function([y], K.argmax(K.clip(y, -6, 6), axis=1)),
        "limits": K.function([z], K.clip(z, -1, 1)),
        "none": K.function([z], K.max(K.clip(z, 0, 1), axis=1) * 0),
        "of_calls": K.function([i], K.argmax(-i // 3 - 3, axis=1)),
        "of_strips": K.function([i], K.argmax(K.cast(i[::-1], "int32"), axis=1)),
    }
    K.export(functions, tmp_path / "m")
    text = (tmp_path / "m" / "m.c").read_text()
    assert "__attribute__((optimize" not in text
    assert "all as recorded" in run(build(tmp_path / "m", "m"))
