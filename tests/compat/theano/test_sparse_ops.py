"""The Ops of theano.sparse by Theano's names, against dense arrays of NumPy."""

import copy
import pickle

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
    "x[::-1, 1:]": (ONE[::-1, 1:], True),
    "x[i[3]:i[0]:2]": (ONE[-1:2:2], True),
    "x[2:0:i[3], ::2]": (ONE[2:0:-1, ::2], True),
    "x[i[0], j[0]]": (ONE[2, 2], False),
    "x[[0, 2, 2]]": (ONE[[0, 2, 2]], True),
    "x[i, j]": (ONE[[2, 0, 0, -1], [2, 1, 0, 1]], False),
    "S.GetItemList()(x, index=i)": (ONE[[2, 0, 0, -1]], True),
    "S.GetItem2Lists()(x, ind1=i, ind2=j)": (ONE[[2, 0, 0, -1], [2, 1, 0, 1]], False),
    "S.Cast('float32')(x)": (ONE, True),
    "S.HStack(format=x.format)(x, y)": (np.hstack([ONE, OTHER]), True),
    "x.size": (5, False),
    "S.CSM(x.format)(*S.csm_properties(x))": (ONE, True),
    "S.CSMGrad()(*S.csm_properties(x), *S.csm_properties(S.add(y, y)))": None,
}


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("text", ROWS)
def test_values_and_formats(text, given):
    kind, names, values = given
    found = value(eval(text, {"S": S}, names), values)
    if ROWS[text] is None:  # in the order of the numbers that x stores
        order = ONE if kind == "csr" else ONE.T
        wanted, sparse = 2 * (OTHER if kind == "csr" else OTHER.T)[order != 0], False
    else:
        wanted, sparse = ROWS[text]
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


def test_what_is_no_part_of_a_matrix(given):
    x = given[1]["x"]
    with pytest.raises(TypeError, match="is none"):
        x[0]
    for key in ((0, slice(0, 2)), (slice(0, 2), 0)):
        with pytest.raises(NotImplementedError, match="sparse vector"):
            x[key]
    for key in ([0, 3], ([0, 1], [0, 3])):
        with pytest.raises(IndexError):
            value(x[key], given[2])


def test_the_op_that_makes_a_matrix():
    data, indices, indptr, shape = T.dvector(), T.ivector(), T.ivector(), T.ivector()
    x = S.CSM("csc")(data, indices, indptr, shape)
    assert isinstance(x.owner.op, S.CSM) and x.owner.op.format == "csc"
    assert x.owner.op == S.CSM("csc") != S.CSM("csr") and hash(x.owner.op) == hash(S.CSC)
    assert x.owner.inputs == [data, indices, indptr, shape]
    with pytest.raises(ValueError, match="csr"):
        S.CSM("coo")
    for kind in (S.CSM, S.CSMGrad):
        with pytest.raises(NotImplementedError, match="kmap"):
            kind(**({"format": "csr"} if kind is S.CSM else {}), kmap=[0])


PICKLED = """
    S.csr_from_dense(d); S.eq(x, y); S.lt(x, d); S.vstack([x, y], format="csc"); x.shape; -x
    S.structured_exp(x); x[i[1]:3:2]; S.usmm(2.0, x, d, d); S.sp_sum(x, axis=0)
    theano.grad(S.structured_dot(x, d).sum(), x); S.CSC(*S.csm_properties(x.T))
    S.add(x, c); S.add(x, s)
""".strip().replace("\n", ";")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("text", PICKLED.split(";"))
def test_pickles_and_copies(text, given):
    kind, names, values = given
    matrix = values[names["x"]]
    names = names | {"c": S.constant(matrix), "s": S.shared(matrix, "s")}
    made = eval(text.strip(), {"S": S, "theano": theano}, names)
    inputs = [v for v in theano.gof.graph.inputs([made]) if v in values]
    f, given = theano.function(inputs, made), [values[v] for v in inputs]
    wanted = dense(f(*given))
    for again in (pickle.loads(pickle.dumps(f)), theano.function(*copy.deepcopy((inputs, made)))):
        np.testing.assert_array_equal(dense(again(*given)), wanted)


def test_pickles_of_shared_matrices(given):
    shared = S.shared(given[2][given[1]["x"]], "w")
    f = theano.function([], shared, updates=[(shared, S.add(shared, shared))])
    again, other = pickle.loads(pickle.dumps((f, shared)))
    again(), again()
    np.testing.assert_array_equal(dense(other.get_value()), 4 * ONE)
    np.testing.assert_array_equal(dense(f()), ONE)
    assert other.name == "w" and copy.deepcopy(shared).get_value() is not shared.get_value()


def test_which_memory_is_shared(given):
    kind, names, values = given
    x, y = values[names["x"]], values[names["y"]]
    share = S.SparseType(kind, "float64").may_share_memory
    assert share(x, x) and share(x, x.data) and share(x.indptr, x)
    assert not share(x, y) and not share(x, y.indices)


def test_what_is_sparse():
    matrix, x = scipy.eye(2), S.csr_matrix("x")
    assert S._is_sparse(matrix) and S._is_dense(np.eye(2)) and not S._is_dense(matrix)
    assert S._is_dense_variable(T.dmatrix()) and not S._is_dense_variable(x)
    for ask in (S._is_sparse, S._is_dense, S._is_dense_variable):
        with pytest.raises(NotImplementedError):
            ask("x")


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
