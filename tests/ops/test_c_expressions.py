"""The scalar C of every op that needs no math library, compiled alone, against its oracle."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from once import once

from ckernels import ops  # noqa: F401
from ckernels.base import dtypes
from ckernels.base.errors import DTypeError
from ckernels.graph.node import make
from ckernels.graph.op import REGISTRY

from .helpers import leaf

CC = shutil.which("gcc") or shutil.which("cc")
FLAGS = ("-std=gnu99", "-O2", "-ftree-vectorize", "-fno-math-errno", "-Wall", "-Wextra", "-Werror",
         "-shared", "-fPIC")  # fmt: skip
REAL = [d for d in dtypes.ALL if d != "float16" and not dtypes.is_complex(d)]


def samples(dtype, rng):
    """300 numbers with the edges of the dtype among them."""
    if dtype == "bool":
        return rng.integers(0, 2, 300).astype(bool)
    if dtypes.is_float(dtype):
        edges = [0.0, -0.0, 1, -1, 0.5, -2.5, np.inf, -np.inf, np.nan, 1e-300, 3e38, 7, 65.5]
        with np.errstate(all="ignore"):
            return np.r_[edges, rng.normal(size=287) * 10].astype(dtype)
    info = np.iinfo(dtype)
    small = rng.integers(-9 if info.min else 0, 70, 150).astype(dtype)
    wild = rng.integers(info.min, info.max, 146, dtype=dtype, endpoint=True)
    return np.r_[small, wild, np.array([info.min, info.max, 0, 1], dtype)].astype(dtype)


def cases():
    """(symbol, node, C text) of each op and dtype that the op accepts."""
    for op in list(REGISTRY.values()):
        if op.kind != "elementwise" or op.c is None:
            continue
        for dtype in REAL:
            for target in REAL if op.name == "cast" else [None]:
                attrs = {"dtype": target} if target else {}
                nodes = [leaf((None,), dtype) for _ in range(3)]
                try:
                    text = op.c(attrs, dtype)
                    if op.name in ("where", "masked"):
                        nodes = nodes[: 3 if "{2}" in text else 2]
                        nodes[0] = leaf((None,), "bool")
                    elif "ck_" not in text:
                        nodes = nodes[: 2 if "{1}" in text else 1]
                    node = make(op, nodes, attrs)
                except (DTypeError, TypeError, KeyError):  # not for this dtype
                    continue
                if "ck_" not in text:
                    yield f"{op.name}_{dtype}_{target}", node, text


def source(symbol, node, text):
    names = [f"x{i}" for i in range(len(node.inputs))]
    dtype = node.inputs[-1].dtype
    text = text.format(*names, T=dtypes.C_NAMES[dtype], S=dtypes.SUFFIX[dtype])
    args = ", ".join(f"const {dtypes.C_NAMES[n.dtype]} *p{i}" for i, n in enumerate(node.inputs))
    loads = " ".join(
        f"const {dtypes.C_NAMES[n.dtype]} x{i} = p{i}[k];" for i, n in enumerate(node.inputs)
    )
    return (
        f"void {symbol}({args}, {dtypes.C_NAMES[node.dtype]} *out, long n) {{\n"
        f"    for (long k = 0; k < n; k++) {{ {loads} out[k] = {text}; }}\n}}\n"
    )


def build(text, folder):
    (folder / "ops.c").write_text(text)
    done = subprocess.run([CC, *FLAGS, "-o", "ops.so", "ops.c"], cwd=folder,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr[:3000]


@pytest.mark.skipif(CC is None, reason="no C compiler")
def test_c_expressions_against_oracles():
    found = list(cases())
    assert len(found) > 300
    text = "#include <stdint.h>\n" + "".join(source(*case) for case in found)
    folder = once("c-expressions", lambda folder: build(text, folder), text, FLAGS)
    handle = ctypes.CDLL(str(folder / "ops.so"))
    for symbol, node, _ in found:
        rng = np.random.default_rng(3)
        arrays = [samples(n.dtype, rng) for n in node.inputs]
        out = np.zeros(arrays[0].shape, node.dtype)
        getattr(handle, symbol)(
            *(a.ctypes.data_as(ctypes.c_void_p) for a in arrays),
            out.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_long(out.size),
        )
        expected = node.op.oracle(node.attrs, *arrays)
        if node.dtype in dtypes.FLOATS and node.op.ulp:
            np.testing.assert_allclose(
                out, expected, err_msg=symbol, atol=0, rtol=node.op.ulp * np.finfo(node.dtype).eps
            )
        else:
            np.testing.assert_array_equal(out, expected, err_msg=symbol)
        if node.dtype == "bool":
            assert out.view("uint8").max() <= 1, symbol
