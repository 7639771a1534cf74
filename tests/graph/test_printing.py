import io

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.base.config import config
from ckernels.base.errors import DTypeError, ShapeError
from ckernels.graph.node import make
from ckernels.rewrite.branches import lazify


def names(*letters, ndim=2):
    return [K.placeholder(ndim=ndim, name=n) for n in letters]


def test_infix_with_as_few_parentheses_as_needed():
    x, y, z = names("x", "y", "z")
    for expression, *texts in (
        (x - y * z, "x - y * z"),
        ((x - y) * z, "(x - y) * z", "z * (x - y)"),  # operands of commutative ops have no order
        (x - (y - z), "x - (y - z)"),
        (x - y - z, "x - y - z"),
        (-(x**y), "-x ** y"),
        ((-x) ** y, "(-x) ** y"),
        (x / (y / z), "x / (y / z)"),
        (x**y**z, "x ** y ** z"),
        ((x**y) ** z, "(x ** y) ** z"),
        ((x < y) & (y < z), "(x < y) & (y < z)", "(y < z) & (x < y)"),
        ((x < y) < (z < y), "(x < y) < (z < y)"),  # Python chains comparisons
        (x**-y, "x ** -y"),
        (K.logical_or(x < y, y < z), "x < y or y < z", "y < z or x < y"),
    ):
        got = K.pp(expression)
        assert got in texts
        env = {"x": 3.0, "y": 2.0, "z": 0.5}
        assert eval(got, env) == eval(texts[0], env)
    assert K.pp(K.dot(x, y)) == "x @ y"


BINARY = {  # op: what Python calls it
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "bit_or": lambda a, b: a | b, "bit_xor": lambda a, b: a ^ b, "bit_and": lambda a, b: a & b,
    "left_shift": lambda a, b: a << b, "right_shift": lambda a, b: a >> b,
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "true_div": lambda a, b: a / b, "floor_div": lambda a, b: a // b, "mod": lambda a, b: a % b,
    "pow": lambda a, b: a**b, "logical_and": lambda a, b: a and b,
    "logical_or": lambda a, b: a or b,
}  # fmt: skip


@pytest.mark.parametrize("first", BINARY)
def test_two_operators_are_read_back_as_they_were(first):
    """The text of (a f b) g c and of a f (b g c), read by Python, is what they say."""
    x, y, z = (K.placeholder((), dtype="int64", name=n).node for n in "xyz")
    a, b, c = 13, 2, 3
    for second in BINARY:
        f, g = (BINARY[n] for n in (first, second))
        for left in (True, False):
            try:
                if left:
                    node, want = make(second, (make(first, (x, y)), z)), g(f(a, b), c)
                else:
                    node, want = make(first, (x, make(second, (y, z)))), f(a, g(b, c))
            except (ArithmeticError, DTypeError, TypeError, ValueError):
                continue  # a shift of a float, say
            assert eval(K.pp(Tensor(node)), {"x": a, "y": b, "z": c}) == want, K.pp(Tensor(node))


def test_axes_that_come_and_go():
    (x,) = names("x", ndim=3)
    assert K.pp(K.expand_dims(x, 1)) == "expand_dims(x, axis=1)"
    one = K.placeholder((1, 3, 1), name="one")
    assert K.pp(Tensor(ops.squeeze(one.node, (0,)))) == "squeeze(one, axis=0)"
    assert K.pp(Tensor(ops.squeeze(one.node, (0, 2)))) == "squeeze(one, axis=(0, 2))"
    assert K.pp(K.mean(x, axis=(0, 2))) == "mean(x, axis=(0, 2))" and K.pp(K.var(x)) == "var(x)"
    assert K.pp(x[1:, ::2]) == "x[1:, ::2]" and K.pp((x + x.T)[:2]).endswith("[:2]")


def test_calls_and_views():
    x, w = names("x", "w")
    assert K.pp(K.tanh(x)) == "tanh(x)"
    assert K.pp(K.sum(x, axis=1)) == "sum(x, axis=1)"
    assert K.pp(K.max(x)) == "max(x)"
    assert K.pp(x.T) == "x.T"
    assert K.pp(K.cast(x, "float64")) == "cast(x, float64)"
    assert K.pp(x * 2) == "x * 2.0" or K.pp(x * 2) == "2.0 * x"
    assert K.pp([x, w]) == "[x, w]"


def test_names_of_leaves():
    assert K.pp(K.variable(np.ones(2), name="weights")) == "weights"
    assert K.pp(K.variable(np.ones(2))).startswith("variable")
    assert K.pp(K.constant(np.ones((3, 4)))) == "constant(3, 4)"


def test_shared_parts_of_large_graphs_are_named():
    (x,) = names("x")
    y = x
    for _ in range(200):
        y = K.tanh(y) + y * y
    text = K.pp(y)
    assert len(text) < 40_000 and text.startswith("t1 = ")
    assert "t1" in text.splitlines()[1]


def test_debugprint_is_a_tree_with_ids():
    x, w = names("x", "w")
    h = K.tanh(x)
    text = K.debugprint(K.exp(h) - h * w, file="str")
    lines = text.splitlines()
    assert lines[0] == "sub [id A]"
    assert [line.strip(" |").split(" [")[0] for line in lines[1:4]] == ["exp", "tanh", "x"]
    assert text.count("tanh [id C]") == 2 and "tanh [id C] ..." in text
    assert lines[1].startswith(" |exp") and lines[2].startswith(" | |tanh")


def test_debugprint_options():
    x, w = names("x", "w")
    y = K.exp(K.tanh(x))
    assert K.debugprint(y, file="str", depth=1).splitlines() == ["exp [id A]", " |tanh [id B]"]
    typed = K.debugprint(y, file="str", print_type=True)
    assert "x [id C] <float32 (?, ?)>" in typed
    assert "test_printing.py:" in K.debugprint(y, file="str", print_line=True)
    stream = io.StringIO()
    K.debugprint(y, file=stream)
    assert stream.getvalue().startswith("exp [id A]\n")


def test_compiled_functions_print():
    x = K.placeholder(ndim=1, name="x")
    f = K.function([x], [K.exp(x)], mode="reference")
    assert K.debugprint(f, file="str").startswith("exp [id A]")
    assert K.pp(f) == "exp(x)"


def test_deep_graphs_print():
    y = K.placeholder(ndim=1, name="x")
    for _ in range(5000):
        y = K.sin(y)
    assert K.debugprint(y, file="str").count("\n") == 5000
    assert K.pp(y).count("sin(") == 5000


def test_the_steps_of_loops_are_printed_below():
    x, w = names("x", "w")
    out, _ = K.scan(lambda x_t, h: K.tanh(h * w[0] + x_t), x, K.zeros((3,)), name="walk")
    text = K.debugprint(out, file="str")
    head, step = text.split("\n\n")
    assert head.splitlines()[1] == " |scan{name=walk} [id B]"
    lines = step.splitlines()
    assert lines[0].startswith("step of scan{name=walk} [id B]: _0 row of x, _1 state 0 at t-1, _2")
    assert lines[1].startswith("tanh [id")
    assert "step=tanh(" in K.pp(out) and "_0" in K.pp(out)
    lagged, _ = K.scan(lambda a, b: a + b, outputs_info=dict(initial=x, taps=[-2, -1]), n_steps=3)
    assert "_0 state 0 at t-2, _1 state 0 at t-1" in K.debugprint(lagged, file="str")


def test_the_sides_of_branches_are_printed_below():
    c, (x, w) = K.placeholder((), name="c", dtype="bool"), names("x", "w", ndim=1)
    (chosen,) = lazify([K.ifelse(c, K.exp(x) + K.cos(x) * w, K.tanh(x * 2) / w).node])
    _, then, other = K.debugprint(chosen, file="str").split("\n\n")
    assert then.splitlines()[0] == "then of ifelse [id B]: _0 x, _1 w"
    assert then.splitlines()[1].startswith("add ") and other.splitlines()[0].startswith("other of")
    assert other.splitlines()[1].startswith("true_div ")


@pytest.mark.parametrize("verbosity", ["low", "high"])
def test_errors_have_the_expression_where_it_is_asked_for(verbosity):
    a, b = K.placeholder((3,), name="a"), K.placeholder((2,), name="b")
    with config.change(exception_verbosity=verbosity), pytest.raises(ShapeError) as problem:
        K.exp(a) - b
    lines = str(problem.value).partition("  the expression:\n")[2].splitlines()
    heads = [line.partition(" [id")[0].strip() for line in lines]
    assert heads == (["exp", "|a", "b"] if verbosity == "high" else [])
