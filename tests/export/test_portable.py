"""Functions for fixed sizes: the bits of those for all sizes, and when there are none."""

import re

import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import wrap
from ckernels.export import portable
from ckernels.export.calls import Library

from .build import GCC, build, run
from .programs import PROGRAMS

needs_cc = pytest.mark.skipif(GCC is None, reason="there is no C compiler")


def text_of(folder, prefix="m"):
    return (folder / f"{prefix}.c").read_text()


DIGEST = """    {
        unsigned long h = 5381;
        for (size_t i = 0; i < n * (kind[0] == 'f' ? 4 : 8); i++)
            h = h * 33 + ((const unsigned char *)got)[i];
        printf("%lx ", h);
    }
    size_t far = 0;
"""


@needs_cc
@pytest.mark.parametrize(
    "name", ["mlp", "convolutions", pytest.param("lstm", marks=pytest.mark.slow)]
)
def test_results_are_the_bits_of_functions_for_all_sizes(name, tmp_path, monkeypatch):
    """Both programs print a digest of each array that was computed."""
    functions, more = PROGRAMS[name]()
    texts, printed = [], []
    for way in ("fixed", "all"):
        if way == "all":
            monkeypatch.setattr(Library, "version", lambda *_: None)
        folder = tmp_path / way
        K.export(functions, folder, prefix="m", **more)
        test = (folder / "m_test.c").read_text()
        assert "    size_t far = 0;\n" in test
        (folder / "m_test.c").write_text(test.replace("    size_t far = 0;\n", DIGEST))
        texts.append(text_of(folder))
        printed.append(run(build(folder, "m", "-O2", "-ffp-contract=off")))
    assert "static const ck_index d[] = {" in texts[0] and "_dims + 0" in texts[1]
    assert printed[0] == printed[1] and "all as recorded" in printed[0]


def test_rows_of_one_block_are_added_in_their_own_type(tmp_path):
    x, y = K.placeholder((4, 512), name="x"), K.placeholder((4, 513), name="y")
    K.export({"short": K.function([x], K.softmax(x))}, tmp_path, prefix="m", calls=1)
    assert "double a_" not in text_of(tmp_path) and "[512];" in text_of(tmp_path)
    K.export({"long": K.function([y], K.softmax(y))}, tmp_path, prefix="m", calls=1)  # near miss
    assert "double a_" in text_of(tmp_path) and "[513];" in text_of(tmp_path)


def test_a_function_for_many_sizes_or_for_all_is_one(tmp_path):
    inputs = [K.placeholder((n, 3), name=f"x{n}") for n in (2, 3, 4)]
    for count, alone in ((2, True), (3, False)):
        fs = {f"f{k}": K.function([x], K.tanh(x) * 2) for k, x in enumerate(inputs[:count])}
        K.export(fs, tmp_path, prefix="m", calls=1)
        text = text_of(tmp_path)
        assert len(re.findall(r"^CK_NOINLINE static int k_", text, re.M)) == (2 if alone else 1)
        assert ("f0_dims" in text) is not alone
    x = K.placeholder((None, 3), name="x")
    K.export(K.function([x], K.tanh(x) * 2), tmp_path, prefix="m", batch=9, calls=1)
    assert "(void *const[])" in text_of(tmp_path)  # for n of them


@needs_cc
def test_products_of_bytes_are_plain_c(tmp_path):
    a, b = (K.placeholder(s, dtype="int8") for s in ((5, 20), (20, 70)))
    f = K.function([a, b], wrap(ops.matmul_of_bytes(a.node, b.node)))
    K.export(f, tmp_path, prefix="m")
    assert "AVX2" not in text_of(tmp_path)
    assert "all as recorded" in run(build(tmp_path, "m"))


def test_versions_of_a_text():
    one = "CK_NOINLINE static int k_a(void *const *p) {\n    return 0;\n}\n"
    assert portable.alone(one) and not portable.alone(one.replace("k_a", "k_b") + one)
    body = (
        "    const ck_index n = d[0];\n    float t5[4096];\n        double a_1 = 0;\n"
        "        for (ck_index b = 0; b < n; b += 512) {\n"
        "            float p_1 = 0;\n            a_1 += p_1;\n        }\n        y = (float)a_1;\n"
    )
    short = portable.for_short_rows(body, 7)
    assert "float a_1 = 0;" in short and "t5[7]" in short
    assert "double a_1 = 0;" in portable.for_short_rows(body.replace("(float)a_1", "a_1 / n"), 7)
    assert portable.for_short_rows(body, 5000) == body
    assert portable.for_short_rows(body.replace("n = d[0]", "n = d[1]"), 7) != short
