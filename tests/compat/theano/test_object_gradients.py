"""Gradients past Ops of users on sparse matrices, and functions whose inputs stand inside."""

import gc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano import sparse
from ckernels.compat.theano.gof.type import DisconnectedType, NullType
from ckernels.compat.theano.ifelse import ifelse
from ckernels.compat.theano.sparse.sandbox import sp2

A = sp.csr_matrix(np.array([[1.0, 0, 2], [0, 3, 0]]))
W = np.arange(6.0).reshape(2, 3)


class Squared(theano.Op):
    """x * x of a sparse matrix, in Python."""

    __props__ = ()

    def make_node(self, x):
        x = sparse.as_sparse_variable(x)
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0].multiply(inputs[0]).asformat(inputs[0].format)

    def grad(self, inputs, gradients):
        return [2 * sparse.mul(inputs[0], gradients[0])]


class Dense(theano.Op):
    """A sparse matrix as a dense one, in Python."""

    __props__ = ()

    def make_node(self, x):
        return theano.Apply(self, [sparse.as_sparse_variable(x)], [T.dmatrix()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0].toarray()

    def grad(self, inputs, gradients):
        return [gradients[0]]


class Cut(Squared):
    """Squared, nothing of which flows back."""

    def connection_pattern(self, node):
        return [[False]]

    def grad(self, inputs, gradients):
        return [theano.gradient.disconnected_type()]


class Elsewhere(Squared):
    """Squared, whose gradient is a full matrix."""

    def grad(self, inputs, gradients):
        return [sparse.csr_from_dense(T.as_tensor_variable(W + 1))]


@pytest.fixture(autouse=True)
def collected_often():
    """Nodes know variables weakly: what a gradient needs must stay, whatever is collected."""
    before = gc.get_threshold()
    gc.set_threshold(50, 3, 3)
    yield
    gc.set_threshold(*before)


def value(inputs, out, *arrays):
    found = theano.function(inputs, out)(*arrays)
    return found.toarray() if sp.issparse(found) else found


@pytest.fixture
def x():
    return sparse.csr_matrix("x", dtype="float64")


def test_a_gradient_past_a_draw_is_never_a_part_of_it(x):
    drawn, plain = sparse.sp_sum(sp2.poisson(x)), sparse.sp_sum(sparse.sqr(x))
    for cost in (drawn, drawn + plain, plain + drawn * plain):
        for unconnected in ("raise", "warn", "ignore"):
            with pytest.raises(theano.gradient.NullTypeGradError, match="random numbers"):
                theano.grad(cost, x, disconnected_inputs=unconnected)
        (found,) = theano.grad(cost, [x], null_gradients="return")
        assert isinstance(found.type, NullType)
    d = T.dmatrix("d")
    inner = sparse.csr_from_dense(T.exp(d))
    with pytest.raises(theano.gradient.NullTypeGradError):
        theano.grad(sparse.sp_sum(sp2.poisson(inner)) + d.sum(), d)
    both = theano.grad(drawn + (d**2).sum(), [x, d], null_gradients="return")
    assert isinstance(both[0].type, NullType)  # and d has its own
    assert (theano.function([d, x], both[1])(W, A) == 2 * W).all()


def test_what_is_cut_is_no_draw(x):
    """Near misses: nothing flows, so that the other part is the whole gradient."""
    plain = sparse.sp_sum(sparse.sqr(x))
    drawn = sp2.poisson(x)
    g = theano.grad(plain + sparse.sp_sum(drawn), x, consider_constant=[drawn])
    assert (value([x], g, A) == 2 * A.toarray()).all()
    g = theano.grad(plain + sparse.sp_sum(Cut()(x)), x)
    assert (value([x], g, A) == 2 * A.toarray()).all()
    with pytest.raises(theano.gradient.DisconnectedInputError):
        theano.grad(sparse.sp_sum(Cut()(x)), x)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        g = theano.grad(sparse.sp_sum(Cut()(x)), x, disconnected_inputs="warn")
    assert seen and (value([x], g, A) == 0).all()
    none = {"disconnected_inputs": "ignore", "return_disconnected": "None"}
    assert theano.grad(sparse.sp_sum(Cut()(x)), x, **none) is None
    none["return_disconnected"] = "Disconnected"
    assert isinstance(theano.grad(sparse.sp_sum(Cut()(x)), x, **none).type, DisconnectedType)
    n, p = T.lscalar("n"), T.dscalar("p")  # the shape of a draw is one of what made it
    sized = sparse.sp_sum(sp2.csr_dbinomial(n, 0.5, T.stack([n, n]))) + p**2
    assert theano.function([p], theano.grad(sized, p), givens={n: 2})(3.0) == 6.0
    g = theano.grad(sparse.sp_sum(sparse.mul(drawn, drawn)), drawn)  # by the draw itself
    f = theano.function([x], [g, drawn])
    found, draws = f(A)
    assert (found.toarray() == 2 * draws.toarray()).all()


def test_gradients_of_users_ops_on_sparse_matrices(x):
    a, w, d = A.toarray(), T.dmatrix("w"), T.dmatrix("d")
    squared = Squared()(x)
    cost = sparse.sp_sum(squared) + sparse.sp_sum(sparse.sqr(x))
    assert (value([x], theano.grad(cost, x), A) == 4 * a).all()
    gx, gw = theano.grad((w * Dense()(Squared()(squared))).sum(), [x, w])
    found = theano.function([x, w], [gx, gw])(A, W)
    assert (found[0].toarray() == 4 * W * a**3).all() and (found[1] == a**4).all()
    cost = Dense()(Squared()(sparse.csr_from_dense(d * 3))).sum() + d.sum()
    assert (value([d], theano.grad(cost, d), W) == 18 * W + 1).all()
    once = theano.grad(sparse.sp_sum(Squared()(x)), x)
    twice = theano.grad(sparse.sp_sum(sparse.sqr(once)), x)
    assert (value([x], twice, A) == 8 * a).all()
    f = theano.function([w], once, givens={x: sparse.csr_from_dense(w)})
    assert (f(W).toarray() == 2 * W).all()
    places = theano.grad(sparse.sp_sum(Elsewhere()(x)), x)  # only those of x count
    assert (value([x], places, A) == np.where(a != 0, W + 1, 0)).all()
    known = theano.grad(None, x, known_grads={squared: sparse.sp_ones_like(squared)})
    assert (value([x], known, A) == 2 * a).all()
    b = T.iscalar("b")
    g = theano.grad(sparse.sp_sum(ifelse(b, sparse.sqr(x), x)), x)
    f = theano.function([b, x], g)
    assert (f(1, A).toarray() == 2 * a).all() and (f(0, A).toarray() == (a != 0)).all()
    with pytest.raises(NotImplementedError, match="Squared"):
        theano.gradient.Rop(Dense()(Squared()(sparse.csr_from_dense(d))), d, d)
    with pytest.raises(NotImplementedError, match="Dense"):
        theano.gradient.jacobian(Dense()(sparse.csr_from_dense(d)).sum(0), d)


def test_gradients_by_other_variables_see_the_draw(x):
    w = T.dmatrix("w")
    drawn = sp2.poisson(x)
    f = theano.function([x, w], [theano.grad(sparse.dot(drawn, w).sum(), w), drawn])
    found, draws = f(A, np.ones((3, 2)))
    assert (found == np.ravel(draws.sum(0))[:, None]).all()


def test_an_inner_variable_is_an_input(x):
    """`function([a], ...)` where others make a, in graphs with sparse matrices and lists."""
    d, w, v = T.dmatrix("d"), T.dmatrix("w"), T.dvector("v")
    e, squared = d * 2, sparse.sqr(x)
    twin = d * 2
    made = sparse.csr_from_dense(e)
    total = sparse.sp_sum(made) + twin.sum()
    f = theano.function([e, d], total)
    assert f(W, W) == 3 * W.sum()  # e means itself, and not its twin
    f = theano.function([e], sparse.sp_sum(Squared()(made)) + e.sum())
    assert f(W) == (W**2).sum() + W.sum()
    f = theano.function([squared], sparse.sp_sum(sparse.mul(squared, squared)))
    assert f(A) == (A.toarray() ** 2).sum()
    f = theano.function([made], [Dense()(Squared()(made)), made])
    assert (f(A)[0] == A.toarray() ** 2).all()
    swapped = f.copy()
    assert (swapped(A)[1] - A).nnz == 0
    f = theano.function([w], Dense()(Squared()(made)), givens={e: w})
    assert (f(W) == W**2).all()
    some, u = theano.typed_list.TypedListType(T.dvector)("some"), v * 2
    item = theano.typed_list.append(some, u)[0]
    f = theano.function([some, u], [item, u.sum()])
    first, count = f([np.ones(2)], np.ones(3))
    assert first.tolist() == [1, 1] and count == 3
    assert theano.function([item], item * 3)([1.0, 2.0]).tolist() == [3, 6]
    with pytest.raises(theano.gof.MissingInputError):  # near miss: x is still needed
        theano.function([squared], sparse.sp_sum(squared) + sparse.sp_sum(x))
    with pytest.raises(theano.compile.UnusedInputError):
        theano.function([squared, x], sparse.sp_sum(squared))
    with pytest.warns(UserWarning, match="needs the input at index 1: x"):
        theano.function([squared, x], sparse.sp_sum(squared), on_unused_input="warn")
    gradient = theano.grad(sparse.sp_sum(squared) + (d**2).sum(), d)
    assert (theano.function([squared, d], gradient)(A, W) == 2 * W).all()  # x counts as used
