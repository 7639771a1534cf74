"""evaluate, re_evaluate, validate and NumExpr under numexpr's names; install()."""

import subprocess
import sys

import numpy as np
import pytest

from ckernels.compat import numexpr as ne
from ckernels.compat.numexpr import necompiler

outside = np.arange(3.0)


def test_operands_and_results():
    a = np.arange(3, dtype="float32")
    for _ in range(2):
        got = ne.evaluate("a + outside")
        assert got.dtype == "float64"
        np.testing.assert_array_equal(got, a + outside)
    np.testing.assert_array_equal(ne.re_evaluate({"a": 1}), outside + 1)
    assert ne.evaluate("sum(a)").shape == () and type(ne.evaluate("sum(a)")) is np.ndarray
    with pytest.raises(KeyError):
        ne.evaluate("nowhere + 1")


def test_validate_and_options():
    a = np.arange(3.0)
    assert ne.validate("a + 1") is None
    np.testing.assert_array_equal(ne.re_evaluate(), a + 1)
    assert isinstance(ne.validate("2 +"), SyntaxError)
    assert isinstance(ne.validate("b + 1"), KeyError)
    assert isinstance(ne.validate("a + 1", speed=11), ValueError)
    for options in ({"optimization": "none"}, {"truediv": False}, {"sanitize": False}):
        np.testing.assert_array_equal(ne.evaluate("a / 2", **options), a / 2)
    with pytest.raises(ValueError, match="Unknown"):
        ne.evaluate("a / 4", speed=11)


def test_sanitize_changes_the_error_only(monkeypatch):
    with pytest.raises(ValueError):
        ne.evaluate("import os;")
    with pytest.raises(SyntaxError):
        ne.evaluate("import os;", sanitize=False)
    monkeypatch.setenv("NUMEXPR_SANITIZE", "0")
    with pytest.raises(SyntaxError):
        ne.evaluate("a.__class__")


def test_compiled_expressions():
    f = ne.NumExpr("2.0 * a + 3.0 * c", [("c", np.double), ("a", float)])
    assert f.input_names == ("c", "a") and f.signature == "df" and f.constants == (2.0, 3.0)
    np.testing.assert_array_equal(f(np.arange(3), np.float32(2)), 3.0 * np.arange(3) + 4)
    out = np.empty(3)
    assert f.run(np.arange(3), np.float32(1), out=out) is out
    with pytest.raises(TypeError):
        f(np.arange(3), 2.5)  # a double is no single
    with pytest.raises(TypeError, match="operands"):
        f(1)
    with pytest.raises(TypeError, match="signature"):
        ne.NumExpr("a + b", [("a", np.double)])
    with pytest.raises(NotImplementedError):
        ne.disassemble(f)


def test_names_that_pytables_imports():
    assert necompiler.getType(np.zeros(1, "uint32")) is np.int64
    assert necompiler.getExprNames("b + sin(a)", {}) == (["a", "b"], False)
    node = necompiler.stringToExpression("x > 2", {"x": np.int32}, {})
    tree = necompiler.typeCompileAst(necompiler.expressionToAST(node))
    assert tree.astKind == "bool"
    func = ne.NumExpr(node, [("x", np.int32)])
    np.testing.assert_array_equal(func(np.arange(5, dtype="int32")), np.arange(5) > 2)


def test_install_stands_in_numexprs_place():
    program = (
        "import ckernels.compat.numexpr as c; c.install()\n"
        "import numexpr, numexpr.necompiler\n"
        "from numexpr.expressions import ConstantNode\n"
        "from numexpr.utils import detect_number_of_cores\n"
        "assert numexpr is c and numexpr.evaluate('1 + 1') == 2\n"
        "import numpy as np\n"
        "a = np.arange(3.0)\n"
        "assert (numexpr.evaluate('a + 1') == a + 1).all() and a[2] == 2\n"
        "try:\n"
        "    import pandas\n"
        "except ImportError:\n"
        "    raise SystemExit\n"
        "from pandas.core.computation import expressions\n"
        "frame = pandas.DataFrame({'x': np.arange(3e6), 'y': np.ones(3000000)})\n"
        "assert (frame.eval('x + 2 * y', engine='numexpr') == frame.x + 2).all()\n"
        "assert len(frame.query('x > 5 and y == 1', engine='numexpr')) == 2999994\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
