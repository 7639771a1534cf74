"""`ckernels export`, and a shared library that NumPy loads without ckernels."""

import importlib.util
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import ckernels as K
from ckernels.cli import main

from .build import GCC, build, run
from .programs import PROGRAMS

PROGRAM = """
import ckernels as K
x = K.placeholder((None, 3), name="x")
w = K.variable([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]], name="w")
f = K.function([x], K.dot(x, w))
assert __name__ != "__main__"
"""


@pytest.mark.skipif(GCC is None, reason="there is no C compiler")
def test_the_command_writes_what_compiles(tmp_path, capsys):
    (tmp_path / "program.py").write_text(PROGRAM)
    folder = tmp_path / "model"
    assert main(["export", f"{tmp_path / 'program.py'}:f", str(folder), "--shape", "x=4,3"]) == 0
    assert "24 multiply-adds" in capsys.readouterr().out
    assert "all as recorded" in run(build(folder, "model"))
    assert "x: float32 4 x 3" in (folder / "model.h").read_text()
    assert main(["export", f"{tmp_path / 'program.py'}:f", str(folder), "--batch", "6"]) == 0
    assert "36 multiply-adds" in capsys.readouterr().out
    assert "x: float32 n x 3" in (folder / "model.h").read_text()


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["program.py"], "say which function, as in program.py:f"),
        (["none.py:f"], "there is no file"),
        (["program.py:g"], "has no g at its top level"),
        (["program.py:f"], "x has shape (?, 3); say its sizes with --shape x=N,3, or the largest"),
        (["program.py:f", "--shape", "y=4,3"], "no input of that name: f has x"),
    ],
)
def test_what_is_wrong_is_said(words, sentence, tmp_path, capsys, monkeypatch):
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    assert main(["export", *words, "model"]) == 1
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("text", ["abc", "1.5", ""])
def test_a_batch_that_is_no_size(text, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["export", "program.py:f", "model", "--batch", text])
    assert ended.value.code == 2
    assert f"argument --batch: a size such as 32, not {text!r}" in capsys.readouterr().err


@pytest.mark.skipif(GCC is None, reason="there is no C compiler")
def test_weights_in_a_file(tmp_path):
    functions, _ = PROGRAMS["mlp"]()
    K.export(functions, tmp_path, prefix="mlp", weights="extern", calls=1)
    program = build(tmp_path, "mlp")
    assert "all as recorded" in run(program, cwd=tmp_path)
    assert b"first_w1" not in program.read_bytes()
    (tmp_path / "mlp.bin").write_bytes(b"short")
    assert subprocess.run([program], cwd=tmp_path, capture_output=True).returncode == 1


@pytest.mark.skipif(GCC is None, reason="there is no C compiler")
def test_a_library_takes_each_size_up_to_a_batch(tmp_path):
    x, y = K.placeholder((None, 3), name="x"), K.placeholder((None,), name="y")
    f = K.function([x, y], [x[::2] * 2, K.sum(x * K.expand_dims(y), 0)], name="run")
    i = K.placeholder((3,), dtype="int32", name="i")
    functions = {"run": f, "next": K.function([i], i + 1)}
    K.export(functions, tmp_path, prefix="sized", target="shared", batch=5)
    spec = importlib.util.spec_from_file_location("sized", tmp_path / "sized.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model, random = module.Model(), np.random.default_rng(0)
    for n in range(1, 6):
        given = random.standard_normal((n, 3)), random.standard_normal(n)
        for found, expected in zip(model.run(*given), f(*given), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="run: n is 6, and may be from 1 to 5"):
        model.run(np.ones((6, 3)), np.ones(6))
    with pytest.raises(ValueError, match=r"y has shape \(3,\) instead of \(2,\)"):
        model.run(np.ones((2, 3)), np.ones(3))
    np.testing.assert_array_equal(model.next([1, -5, 2**31 - 2]), [2, -4, 2**31 - 1])
    for wrong in (2**33, 2**31, -(2**31) - 1):
        with pytest.raises(OverflowError, match="next: i holds numbers that no int32 holds"):
            model.next(np.array([0, 1, wrong], "int64"))


@pytest.mark.skipif(GCC is None, reason="there is no C compiler")
def test_sizes_that_another_plan_has_are_its_own(tmp_path):
    """Of a part that small sizes do not have, or have as a whole."""
    x = K.placeholder((None, 2), name="x")
    parts = [x[3:], x[:3], x[-3:], x[::2], x[5::-2], K.concatenate([x[:2], x], 0)]
    f = K.function([x], parts, name="run")
    K.export(f, tmp_path, prefix="parts", target="shared", batch=6)
    spec = importlib.util.spec_from_file_location("parts", tmp_path / "parts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for n in range(1, 7):
        given = np.arange(2 * n, dtype="float32").reshape(n, 2)
        for found, expected in zip(module.Model().run(given), f(given), strict=True):
            np.testing.assert_array_equal(found, expected)
    said = (tmp_path / "parts.h").read_text()
    assert "out0: float32 (-3 + n) x 2, or 0 x 2 where" in said


LOADED = """
    import sys
    import numpy as np
    from mlp import Model
    model, other = Model(), Model()
    x, y = np.load(sys.argv[1]).values()
    losses = [model.train(x, y) for _ in range(3)]
    np.savez(sys.argv[2], losses, model.predict(x[:1]), model.state["w1"], other.state["w1"])
    try:
        model.predict(x)
    except ValueError as error:
        assert "x has shape (8, 20) instead of (1, 20)" in str(error)
    else:
        raise AssertionError("a wrong shape was taken")
    assert not [m for m in sys.modules if m.startswith("ckernels")]
"""


@pytest.mark.slow
@pytest.mark.skipif(GCC is None, reason="there is no C compiler")
def test_a_library_computes_the_same_bits_without_ckernels(tmp_path):
    functions, _ = PROGRAMS["mlp"]()
    folder = tmp_path / "mlp"
    random = np.random.default_rng(0)
    x = random.standard_normal((8, 20), "float32")
    y = np.eye(5, dtype="float32")[random.integers(0, 5, 8)]
    with K.config.change(blas="builtin"):
        K.export(functions, folder, prefix="mlp", target="shared", ulps=0)
        np.savez(tmp_path / "in.npz", x, y)
        script = f"import sys; sys.path.insert(0, {str(folder)!r})\n" + textwrap.dedent(LOADED)
        run(sys.executable, "-c", script, tmp_path / "in.npz", tmp_path / "out.npz", cwd=folder)
        losses, row, w1, first = np.load(tmp_path / "out.npz").values()
        expected = [functions["train"](x, y) for _ in range(3)]
    assert np.array_equal(losses, expected)
    assert np.array_equal(row, functions["predict"](x[:1]))
    assert not np.array_equal(w1, first)
    tester = folder / "tester"
    compiled = [GCC, folder / "mlp_test.c", "-L", folder, "-lmlp", f"-Wl,-rpath,{folder}", "-lm"]
    subprocess.run([*map(str, compiled), "-o", str(tester)], check=True)
    assert "all as recorded" in run(tester)
