"""f.explain(): what instructions compute, what they read from others and why, and the rewrites."""

import re

import numpy as np
import pytest

import ckernels as K


def called(inputs, outputs, *arrays, **options):
    f = K.function(inputs, outputs, **options)
    f([np.asarray(a, "float32") for a in arrays])
    return f


def said(f):
    """The lines of explain() after those on what the plan assumes of sizes."""
    return [line for line in f.explain().split("\n") if not line.startswith("assumes ")]


def lines_of(f, k):
    """The lines below instruction `k`."""
    text = f.explain().split("\n")
    at = next(i for i, line in enumerate(text) if line.startswith(f"{k}: "))
    below = []
    for line in text[at + 1 :]:
        if re.match(r"\d+: ", line):
            break
        below.append(line.strip())
    return below


def test_the_instructions_are_those_of_steps_with_the_users_lines():
    x = K.placeholder((None, None), name="x")
    f = called([x], [K.softmax(x * 2)], np.ones((2, 3)))
    text = said(f)
    assert text[:1] == f.steps()
    assert "test_explain.py:" in text[1] and "exp, sum" in text[1]
    assert f.assumptions() and f.explain().split("\n")[2:] == [
        f"assumes {line}" for line in f.assumptions()
    ]


def test_before_the_first_call_there_is_nothing_to_explain():
    x = K.placeholder((None,))
    assert "call the function first" in K.function([x], [x + 1]).explain()


def test_a_value_that_something_else_needs_first():
    x = K.placeholder((None, None), name="x")
    y = K.exp(x)
    f = called([x], [y + K.dot(y, y)], np.eye(3))
    assert any(
        re.match(r"reads exp of 0: matmul \(.*test_explain.py:\d+.*\) takes whole", line)
        for line in lines_of(f, 1)
    )
    assert any(
        re.match(r"reads exp of 0: matmul \(.*\) needs it first, and this loop", line)
        for line in lines_of(f, 1)
    )


REASONS = {
    "it reduces over other axes than this loop":
        lambda x: K.sum(x, 0) + K.sum(K.sum(x + 1, 1)),
    "it is read through a view that moves its elements":
        lambda x: (lambda y: K.reverse(y, 0) * 2.0 + y)(K.exp(x)),
    "this loop reads it along different axes at once":
        lambda x: (lambda y: y + K.transpose(y))(K.tanh(x) * K.sum(x, 0)),
    "it is a reduction in chunks, which another loop puts together":
        lambda x: K.sum(x) + K.sum(K.random_uniform((200, 400), seed=1)),
    "it has shape (1, 4), and this loop runs over (4, 4)":
        lambda x: x + K.cumsum(x)[0] * 2,
    "this loop has a long chain of operations that wait for each other already":
        lambda x: K.tanh(K.tanh(K.tanh(K.tanh(K.tanh(K.tanh(K.tanh(K.tanh(x)))))))),
}  # fmt: skip


@pytest.mark.parametrize("sentence", REASONS)
def test_reasons(sentence):
    x = K.placeholder((None, None), name="x")
    f = called([x], [REASONS[sentence](x)], np.full((4, 4), 0.5))
    assert sentence in f.explain(), f.explain()


def square():
    return K.variable(np.linspace(-1, 1, 16).reshape(4, 4), name="w")


def many(function, x):
    """A loop with so much to do that no other one joins it."""
    return sum(function(x * k) for k in range(1, 15))


PRODUCTS = {
    "it is a matrix product, whose rows this loop adds up or compares with each other":
        lambda x, w: (lambda p: [K.relu(p), K.sum(K.exp(p), 0)])(K.dot(x, w)),
    "it is a matrix product, on whose rows another loop runs already":
        lambda x, w: (lambda p: [many(K.tanh, p), many(K.sin, p)])(K.dot(x, w)),
    "it is a matrix product, and this loop waits for matmul":
        lambda x, w: K.dot(x, w) + K.dot(K.tanh(x), w),
    "it is a matrix product, which this loop reads along different axes at once":
        lambda x, w: (lambda p: p + K.transpose(p))(K.dot(x, w)),
    "it is a matrix product, which is read through a view that moves its elements":
        lambda x, w: K.reverse(K.dot(x, w), 0) * 2.0,
    "it is a matrix product, and this loop runs over (3, 4, 4), not over its elements":
        lambda x, w: K.dot(x, w) + K.variable(np.ones((3, 1, 4))),
    "it is a matrix product, whose rows this loop does not walk in their order":
        lambda x, w: K.transpose(K.dot(x, w)) * K.variable(np.ones((4, 4))),
    "it is a matrix product, and what else this loop reads must be copied first":
        lambda x, w: K.tanh(K.dot(x, w) + K.reshape(
            K.transpose(K.variable(np.ones((2, 8)))), (4, 4))),
    "it is a matrix product, which another loop reads first":
        lambda x, w: (lambda p: [
            many(K.sin, K.transpose(p) * K.variable(np.ones((4, 4)))), many(K.tanh, p),
        ])(K.dot(x, w)),
}  # fmt: skip


@pytest.mark.parametrize("sentence", PRODUCTS)
def test_why_a_loop_does_not_run_on_the_rows_of_a_product(sentence):
    x = K.placeholder((None, 4), name="x")
    found = PRODUCTS[sentence](x, square())
    f = called([x], found if isinstance(found, list) else [found], np.full((4, 4), 0.5))
    assert sentence in f.explain(), f.explain()


def test_a_loop_on_the_rows_of_a_product_has_no_reason():
    x = K.placeholder((None, 4), name="x")
    f = called([x], [K.relu(K.dot(x, square()))], np.full((4, 4), 0.5))
    assert f.steps() == ["0: matmul then relu"] and "matrix product" not in f.explain()


def test_what_numpy_computes():
    """Products of bools. (Those of complex numbers are products of real ones.)"""
    x = K.placeholder((40, 40), dtype="bool")
    f = K.function([x], K.tanh(K.dot(x, x)))
    f(np.ones((40, 40), "bool"))
    assert len(f.steps()) == 2
    assert [n for n in lines_of(f, 1) if "reads" in n] == ["reads matmul of 0: NumPy computes it"]
    called_from_c = "NumPy or Python computes it, called from C"
    assert called_from_c in lines_of(f, 0) and called_from_c not in lines_of(f, 1)


def test_a_loop_that_lies_turned_runs_on_rows_all_the_same():
    """What is turned and turned back walks the rows in their order; what is reshaped does too."""
    x, w = K.placeholder((None, 4), name="x"), square()
    turned = K.transpose(K.exp(K.transpose(K.dot(x, w))) * 2.0)
    shaped = K.reshape(K.dot(x, w), (-1, 2, 2)) + K.variable(np.ones((2, 2)))
    for y in (turned, shaped):
        f = called([x], [y], np.full((4, 4), 0.5))
        assert len(f.steps()) == 1 and " then " in f.steps()[0] and "reads" not in f.explain()


def test_a_sum_of_many_rows_of_a_product():
    x = K.placeholder((None, 4), name="x")
    f = called([x], [K.sum(K.exp(K.dot(x, square())))], np.full((20_000, 4), 0.5))
    assert "it is a matrix product, and this loop is a reduction in chunks" in f.explain()


def test_another_shape_moves_no_elements():
    x = K.placeholder((None, 4), name="x")
    e = K.exp(x)
    f = called([x], [e, K.reshape(e, (-1, 8)) + K.variable(np.ones((8,)))], np.ones((4, 4)))
    assert "this loop reads it in another shape" in f.explain(), f.explain()


def test_loops_side_by_side():
    x = K.placeholder((None, None), name="x")
    f = called([x], [K.sum(x, 0), K.sum(x, 1)], np.ones((3, 4)))
    assert lines_of(f, 0)[-1] == (
        "not one with 1 over x: they run over other domains or reduce over other axes"
    )


def test_the_body_of_a_scan():
    x = K.placeholder((None, 3), name="x")
    out = K.scan(lambda row, h: K.tanh(row + K.dot(h, K.ones((3, 3)))), [x], [K.zeros((3,))])[0]
    f = called([x], [out], np.ones((5, 3)))
    assert [
        line for line in f.explain().split("\n") if not line.startswith(("      ", "assumes "))
    ] == f.steps()


def test_rewrites_come_first():
    x = K.placeholder((None,), name="x")
    f = called([x], [K.log(1 + x)], np.ones(3))
    text = f.explain(rewrites=True).split("\n")
    assert re.match(
        r"log_of_one_plus: log\(add\) is now log1p\(x\)  \(.*test_explain.py:\d+", text[0]
    )
    assert text[1] == "" and text[2].startswith("0: ")


@pytest.mark.parametrize("mode", ["reference", "debug", "fast_compile"])
def test_every_mode_answers(mode):
    x = K.placeholder((None,), name="x")
    assert isinstance(called([x], [K.exp(x)], np.ones(3), mode=mode).explain(), str)


def test_functions_in_pieces_answer():
    x = K.placeholder((None,), name="x")
    f = called([x], [K.exp(K.gather(x * 2, K.nonzero(K.relu(x))[0]))], [0, 1, 2])
    assert len(re.findall("^0: ", f.explain(), re.MULTILINE)) > 1


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, ["0: mul+exp"]),
        ({"check": "nan"}, ["0: mul+exp"]),
        ({"mode": "debug"}, ["0: mul+exp"]),
        ({"mode": "reference"}, []),
    ],
    ids=str,
)
def test_every_function_has_steps(options, expected):
    x = K.placeholder((None,))
    f = K.function([x], K.exp(x * 2), **options)
    f([np.ones(3)])
    assert f.steps() == expected
    assert bool(f.source()) == bool(expected)
    assert isinstance(f.assumptions(), list)


def test_steps_of_pieces_stand_one_after_the_other():
    """Cut where a mask decides a shape."""
    x = K.placeholder((None,))
    f = K.function([x], K.sum(K.exp(x)[x > 0]))
    assert f.steps() == []
    np.testing.assert_allclose(f([np.array([1.0, -1.0, 2.0])]), np.exp([1.0, 2.0]).sum(), 1e-6)
    assert sum(line.startswith("0: ") for line in f.steps()) >= 1
    assert len(f.steps()) == f.stats()["instructions"]
