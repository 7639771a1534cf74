"""The Ops of theano.sparse by Theano's names, against dense arrays of NumPy."""

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T

scipy = pytest.importorskip("scipy.sparse")
S = theano.sparse
DENSE = np.arange(9.0).reshape(3, 3)
ONE = np.array([[1.0, 0, 2], [0, 3, 0], [4, 0, 5]])
OTHER = np.array([[1.0, 7, 2], [0, 0, 1], [4, 0, 0]])
VECTOR = [1.0, 2.0, 3.0]


def dense(value):
    return value.toarray() if scipy.issparse(value) else np.asarray(value)


@pytest.fixture(params=["csr", "csc"])
def given(request):
    """(format, {name: variable}, {variable: value})."""
    kind = request.param
    names = {"x": S.matrix(kind, "x"), "y": S.matrix(kind, "y"), "d": T.dmatrix("d")}
    names |= {"v": T.dvector("v"), "i": T.lvector("i"), "j": T.lvector("j")}
    made = getattr(scipy, f"{kind}_matrix")
    values = [made(ONE), made(OTHER), DENSE, VECTOR, [2, 0, 0, -1], [2, 1, 0, 1]]
    return kind, names, dict(zip(names.values(), values))


def value(expression, values):
    inputs = [v for v in theano.gof.graph.inputs([expression]) if v in values]
    return theano.function(inputs, expression)(*[values[v] for v in inputs])


AT = ONE != 0
ROWS = {  # text of the expression: what it is, and whether it is sparse in the format given
    "S.add_s_s(x, y)": (ONE + OTHER, True),
    "S.AddSS()(x, y)": (ONE + OTHER, True),
    "S.add_s_d(x, d)": (ONE + DENSE, False),
    "S.mul_s_s(x, y)": (ONE * OTHER, True),
    "S.mul_s_d(x, d)": (ONE * DENSE, True),
    "S.mul_s_v(x, v)": (ONE * VECTOR, True),
    "S.MulSV()(x, v)": (ONE * VECTOR, True),
    "S.structured_add_s_v(x, v)": (AT * (ONE + VECTOR), True),
    "S.equal_s_s(x, y)": (ONE == OTHER, True),
    "S.not_equal_s_s(x, y)": (ONE != OTHER, True),
    "S.less_than_s_s(x, y)": (ONE < OTHER, True),
    "S.greater_equal_s_s(x, y)": (ONE >= OTHER, True),
    "S.LessEqualSD()(x, d)": (ONE <= DENSE, False),
    "S.greater_than_s_d(x, d)": (ONE > DENSE, False),
    "S.get_item_2d(x, (slice(0, 2), slice(1, 3)))": (ONE[:2, 1:3], True),
    "S.get_item_scalar(x, (2, 2))": (5.0, False),
    "S.get_item_list(x, i)": (ONE[[2, 0, 0, -1]], True),
    "S.GetItem2Lists()(x, i, j)": (ONE[[2, 0, 0, -1], [2, 1, 0, 1]], False),
    "S.structured_dot_grad(x, d, d)": (AT * (DENSE @ DENSE.T), True),
    "S.conj(x)": (ONE, True),
}


@pytest.mark.parametrize("text", ROWS)
def test_values_and_formats(text, given):
    kind, names, values = given
    wanted, sparse = ROWS[text]
    found = value(eval(text, {"S": S}, names), values)
    np.testing.assert_array_equal(dense(found), wanted)
    assert scipy.issparse(found) == sparse and (not sparse or found.format == kind)
    if np.asarray(wanted).dtype == bool:
        assert found.dtype == np.uint8


def test_the_gradient_of_a_product_by_the_numbers_stored(given):
    kind, names, values = given
    x, d = names["x"], names["d"]
    op = S.sdg_csr if kind == "csr" else S.StructuredDotGradCSC()
    found = value(op(S.csm_indices(x), S.csm_indptr(x), d, d), values)
    matrix = values[x].copy()
    full = DENSE @ DENSE.T
    matrix.data[:] = found
    np.testing.assert_array_equal(matrix.toarray(), AT * full)


def test_the_gradient_of_rows(given):
    _, names, values = given
    x, i = names["x"], names["i"]
    cost = S.sp_sum(S.sqr(S.get_item_list(x, i)))
    times = np.array([2, 0, 2])  # row 0 twice; the last row as 2 and as -1
    np.testing.assert_array_equal(
        dense(value(theano.grad(cost, x), values)), 2 * ONE * times[:, None]
    )


def test_rows_are_integers_that_are_there(given):
    _, names, values = given
    x = names["x"]
    with pytest.raises(TypeError, match="vector of integers"):
        S.get_item_list(x, names["v"])
    with pytest.raises(IndexError):
        value(S.get_item_list(x, [3]), values)


def test_structured_monoid(given):
    kind, names, values = given

    @S.structured_monoid(T.pow)
    def power(x, k):
        """The power of each number."""

    assert power.__name__ == "power" and power.__doc__ == "The power of each number."
    found = value(power(names["x"], 3.0), values)
    assert found.format == kind and np.array_equal(dense(found), ONE**3)


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_products_with_a_dense_matrix_on_either_side(format):
    x = getattr(S, f"{format}_matrix")("x", dtype="float64")
    matrix = scipy.random(5, 4, 0.5, format, random_state=0)
    right, left = theano.shared(np.arange(12.0).reshape(4, 3)), theano.shared(np.eye(3, 5) + 1)
    for dot in (theano.dot, S.dot, S.structured_dot):
        made = theano.function([x], [dot(x, right), dot(left, x)])
        found = made(matrix)
        np.testing.assert_allclose(found[0], matrix @ right.get_value(), rtol=1e-12)
        np.testing.assert_allclose(found[1], left.get_value() @ matrix, rtol=1e-12)
    slope = theano.function([x], T.grad(theano.dot(left, x).sum(), left))(matrix)
    np.testing.assert_allclose(slope, np.ones((3, 4)) @ matrix.T, rtol=1e-12)
    both = theano.function([x], S.structured_dot(x, S.transpose(x)))(matrix)
    assert abs(both - matrix @ matrix.T).max() < 1e-12
    with pytest.raises(NotImplementedError, match="neither"):
        theano.dot(1, 2)
