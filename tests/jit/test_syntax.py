"""Sources with control flow as calls: what is rewritten and what stays as it is."""

import ast
import sys
import textwrap

import numpy as np

import ckernels as ck
from ckernels.jit import syntax
from ckernels.jit.syntax import transformed


def rows(x):
    """What it does."""
    total = 0.0
    for i in range(3):
        y = x[i]
        total = total + y
    return total


def between(x):
    low = high = 0
    while low < 5 and not high > 3:
        low += 1
        if 0 < x[low] <= 1:
            high = high + 1 if x[low] else high
    return low


def test_a_loop_is_a_call_of_its_body():
    assert transformed(rows.__code__).source == textwrap.dedent('''\
        def rows(x):
            """What it does."""
            if False:
                total = None
            total = 0.0

            def _ck_body1(_ck_item):
                nonlocal total
                i = _ck_item
                y = x[i]
                total = total + y
            _ck_for(range(3), _ck_body1)
            return total''')


def test_tests_are_calls():
    source = transformed(between.__code__).source.replace("lambda :", "lambda:")  # Python 3.10's
    assert "return _ck_and(low < 5, lambda: _ck_not(high > 3))" in source
    assert "_ck_if(_ck_and(0 < x[low], lambda: x[low] <= 1), _ck_then" in source
    assert "_ck_either(x[low], lambda: high + 1, lambda: high)" in source


def values(x, flags):
    y = x or 0 < x <= 1 and (not flags[0])
    z = 1 if x and not y else [a and b for a, b in flags] or (y := 3)
    return -x, lambda: x and y, z


def test_and_or_not_and_chains_are_calls_where_they_are_values():
    source = transformed(values.__code__).source.replace("lambda :", "lambda:")
    source = source.replace("for (a, b) in", "for a, b in")  # as Python 3.10 writes it
    assert ("y = _ck_any(x, lambda: _ck_all(_ck_all(0 < x, lambda: x <= 1), "
            "lambda: _ck_not(flags[0])))") in source  # fmt: skip
    assert "1 if _ck_all(x, lambda: _ck_not(y)) else [a and b for a, b in flags] or (y" in source
    assert "return (-x, lambda: x and y, z)" in source


def test_lines_are_those_of_the_source():
    code = transformed(rows.__code__).code
    body = next(c for c in code.co_consts if getattr(c, "co_name", "") == "_ck_body1")
    first = rows.__code__.co_firstlineno
    assert {line for _, _, line in body.co_lines()} >= {first + 3, first + 4, first + 5}


def straight(x):
    return x + 1


def generator(x):
    for i in x:
        yield i + 1


def names_of_its_module(x):
    global straight
    for _ in x:
        straight = x


class Mangled:
    def method(self, x):
        for i in range(3):
            self.__hidden = x[i]


def test_what_stays_as_it_is():
    for f in (straight, generator, names_of_its_module, Mangled.method):
        assert transformed(f.__code__) is None, f


def test_a_source_that_is_not_the_codes_is_not_used():
    other = rows.__code__.replace(co_consts=rows.__code__.co_consts)
    assert transformed(other) is not None
    exchanged = between.__code__.replace(co_name="rows", co_firstlineno=other.co_firstlineno)
    assert transformed(exchanged) is None
    assert transformed(eval("lambda x: [i for i in x]").__code__) is None


def test_the_source_can_be_looked_at():
    assert "_ck_for(range(3), _ck_body1)" in ck.jit(rows).source("python")
    assert ck.jit(straight).source() == "# straight: unchanged"
    assert ck.jit(rows)(np.arange(3.0)) == 3


def test_jumps_of_a_statement_are_its_breaks_and_returns_of_its_loops():
    for text, want in (
        ("if a: return 1", []),
        ("if a:\n for x in b:\n  return 1", ["Return"]),
        ("if a:\n while b:\n  if x: return 1", ["Return"]),
        ("if a: break", ["Break"]),
        ("if a: continue\nelse: return 2", ["Continue"]),
        ("if a: b = 1", []),
    ):
        body = ast.parse("while 1:\n" + "".join(f" {line}\n" for line in text.splitlines())).body
        found = [type(n).__name__ for n in syntax.loop_jumps(body[0].body[0])]
        assert found == want, text


by_line = [lambda x: x * 2 if x > 0 else -x, lambda x, k=3: x - k if x > 1 else x]
nested = lambda y: lambda x: x + y if x > 0 else x - y  # noqa: E731


def test_lambdas_are_functions_that_return():
    if sys.version_info < (3, 11):  # which of two on one line, Python does not say
        assert transformed(by_line[0].__code__) is None
        return
    first, second = (transformed(f.__code__).source for f in by_line)
    assert "_ck_either(x > 0, lambda: x * 2, lambda: -x)" in first
    assert second.startswith("def _lambda(x, k=3):") and "x - k" in second
    assert "x + y" in transformed(nested(1).__code__).source
    assert transformed(nested.__code__) is None
    assert transformed((lambda x: x + 1).__code__) is None


def test_lambdas_that_choose_are_batches_of_rows():
    x = np.linspace(-2, 2, 9)
    for f in (by_line[0], nested(0.5)) if sys.version_info >= (3, 11) else ():
        g = ck.jit.vmap(f)
        np.testing.assert_allclose(g(x), [f(v) for v in x])
        assert not g.report()["numpy"]
