"""Functions of arrays beside NumPy: shapes, norms, orders, places; what cannot be is refused."""

import pickle

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano.tensor import extra_ops, nlinalg
from ckernels.compat.theano.tensor.signal import pool

from .test_tensors import called, slopes

RNG = np.random.default_rng(31)
V = np.array([0.5, -1.25, 3.0, -2.0, 0.0])
M = RNG.normal(size=(3, 4))
CUBE = RNG.normal(size=(2, 3, 4))
THIN = RNG.normal(size=(3, 1, 4))
SQUARE = RNG.normal(size=(4, 4)) + 4 * np.eye(4)
WHOLE = np.array([3, 0, 2, 3, 1])


def symmetric(a, triangle):
    part = np.tril(a) if triangle == "L" else np.triu(a)
    return part + part.T - np.diag(np.diag(a))


BESIDE_NUMPY = {
    "moveaxis": (lambda x: T.moveaxis(x, 0, 2), lambda x: np.moveaxis(x, 0, 2), [CUBE]),
    "moveaxis back": (lambda x: T.moveaxis(x, -1, 0), lambda x: np.moveaxis(x, -1, 0), [CUBE]),
    "swapaxes": (lambda x: T.swapaxes(x, 0, 2), lambda x: np.swapaxes(x, 0, 2), [CUBE]),
    "squeeze an axis": (lambda x: T.squeeze(x, 1), lambda x: x[:, 0], [THIN]),
    "squeeze axes": (
        lambda x: extra_ops.squeeze(x[:, :, :1], [1, -1]),
        lambda x: x[:, 0, 0],
        [THIN],
    ),
    "atleast_3d": (lambda x: T.shape_padleft(x), lambda x: x[None], [M]),
    "expand_dims": (lambda x: T.expand_dims(x, 1), lambda x: x[:, None], [M]),
    "shape_padaxis": (lambda x: T.shape_padaxis(x, -1), lambda x: x[..., None], [M]),
    "ravel": (lambda x: T.basic.ravel(x), np.ravel, [CUBE]),
    "sizes of a call": (lambda x: T.basic.size(x), np.size, [CUBE]),
    "one size": (lambda x: T.basic.shape_i(x, 1) * 2, lambda x: 2 * x.shape[1], [M]),
    "reshape to a vector of sizes": (
        lambda x, n: T.reshape(x, n, ndim=2),
        lambda x, n: x.reshape(n),
        [CUBE, np.array([4, 6])],
    ),
    "zeros of a vector of sizes": (
        lambda n: T.alloc(1.5, n[0], n[1]),
        lambda n: np.full(n, 1.5),
        [np.array([2, 3])],
    ),
    "tile by a scalar": (lambda x, n: T.tile(x, n), np.tile, [M, np.array(2)]),
    "tile by a list": (lambda x: T.tile(x, [2, 1, 3]), lambda x: np.tile(x, [2, 1, 3]), [M]),
    "tile by a constant": (
        lambda x: T.tile(x, np.array([2, 3])),
        lambda x: np.tile(x, [2, 3]),
        [M],
    ),
    "tile by a vector": (
        lambda x, n: T.tile(x, n, ndim=3),
        lambda x, n: np.tile(x, n)[None],
        [M, np.array([2, 3])],
    ),
    "roll by what a call says": (
        lambda x, n: T.roll(x, n, axis=1),
        lambda x, n: np.roll(x, n, 1),
        [M, np.array(-3)],
    ),
    "roll further than there is": (
        lambda x, n: T.roll(x, n, axis=0),
        lambda x, n: np.roll(x, n, 0),
        [V, np.array(13)],
    ),
    "roll of all": (lambda x: T.roll(x, 5), lambda x: np.roll(x, 5), [M]),
    "diff twice": (lambda x: extra_ops.DiffOp(2, 0)(x), lambda x: np.diff(x, 2, 0), [M]),
    "running sums": (lambda x: extra_ops.CumsumOp(1)(x), lambda x: np.cumsum(x, 1), [M]),
    "running products": (lambda x: extra_ops.CumprodOp()(x), np.cumprod, [M]),
    "repeat by a list of one": (
        lambda x: extra_ops.repeat(x, T.constant([2]), 0),
        lambda x: np.repeat(x, [2], 0),
        [M],
    ),
    "a diagonal of a cube": (
        lambda x: T.fill_diagonal(x, 7.0),
        lambda x: (
            np.where(np.indices(x.shape).ptp(0) == 0, 7.0, x)
            if hasattr(np.ndarray, "ptp")
            else np.where(np.ptp(np.indices(x.shape), 0) == 0, 7.0, x)
        ),
        [RNG.normal(size=(3, 3, 3))],
    ),
    "unique of a vector": (lambda x: extra_ops.Unique()(x), np.unique, [WHOLE]),
    "coordinates from a matrix": (
        lambda n: T.ravel_multi_index(T.constant([[0, 2, 1], [3, 1, 0]]), (3, 4)) + n,
        lambda n: np.ravel_multi_index(([0, 2, 1], [3, 1, 0]), (3, 4)) + n,
        [np.array(0)],
    ),
    "places in order": (
        lambda x, v: extra_ops.SearchsortedOp("right")(x, v),
        lambda x, v: np.searchsorted(x, v, "right"),
        [np.array([0.0, 1.0, 1.0, 2.0]), np.array([1.0, -3.0, 5.0])],
    ),
    "std": (lambda x: T.std(x, axis=1, ddof=1), lambda x: np.std(x, 1, ddof=1), [M]),
    "the mean in a dtype": (
        lambda x: T.mean(x, axis=0, dtype="float32").astype("float64"),
        lambda x: np.mean(x.astype("f4"), 0, dtype="f4"),
        [WHOLE.reshape(5, 1)],
    ),
    "the mean of a number": (lambda x: T.mean(x, dtype="float64"), float, [np.array(3)]),
    "argmax over axes": (
        lambda x: T.argmax(x, axis=(0, 2)),
        lambda x: np.argmax(np.moveaxis(x, 1, 0).reshape(3, -1), 1),
        [CUBE],
    ),
    "argmin over axes, the first of equals": (
        lambda x: T.argmin(x, axis=[1, 2]),
        lambda x: np.argmin(x.reshape(len(x), -1), 1),
        [np.round(CUBE)],
    ),
    "max and argmax of none": (
        lambda x: T.max_and_argmax(x, axis=[])[0] + T.max_and_argmax(x, axis=[])[1],
        lambda x: x,
        [M],
    ),
    "axes as an array": (lambda x: T.sum(x, np.array([0, 2])), lambda x: np.sum(x, (0, 2)), [CUBE]),
    "an axis as a constant": (
        lambda x: T.sum(x, T.constant(1, dtype="int64")),
        lambda x: np.sum(x, 1),
        [CUBE],
    ),
    "axes as constants": (
        lambda x: T.prod(x, [T.constant(1, dtype="int8"), np.array(0)]),
        lambda x: np.prod(x, (0, 1)),
        [CUBE],
    ),
    "an axis as a whole float": (lambda x: T.sum(x, 1.0), lambda x: np.sum(x, 1), [M]),
    "eigenvalues of the upper triangle": (
        lambda a: nlinalg.eigh(a, "U")[0],
        lambda a: np.linalg.eigh(a, "U")[0],
        [SQUARE],
    ),
    "vectors of the upper triangle": (
        lambda a: T.dot(
            nlinalg.eigh(a, "U")[1] * nlinalg.eigh(a, "U")[0], nlinalg.eigh(a, "U")[1].T
        ),
        lambda a: symmetric(a, "U"),
        [SQUARE],
    ),
    "a negative power": (
        lambda a: nlinalg.matrix_power(a, -3),
        lambda a: np.linalg.matrix_power(a, -3),
        [SQUARE],
    ),
    "the power 0": (lambda a: nlinalg.matrix_power(a, 0), lambda a: np.eye(4), [SQUARE]),
    "the matrix of a diagonal": (lambda v: nlinalg.diag(v), np.diag, [V]),
    "the diagonal of a matrix": (lambda a: nlinalg.diag(a), np.diag, [M]),
    "extract_diag": (lambda a: nlinalg.extract_diag(a), np.diag, [M]),
    "alloc_diag": (lambda v: nlinalg.alloc_diag(v), np.diag, [V]),
    "tensorsolve": (
        lambda a, b: nlinalg.tensorsolve(a.reshape((2, 2, 4)), b),
        lambda a, b: np.linalg.tensorsolve(a.reshape(2, 2, 4), b),
        [SQUARE, M[:2, :2]],
    ),
    "tensorsolve over other axes": (
        lambda a, b: nlinalg.tensorsolve(a.reshape((2, 4, 2)), b, axes=(0, 2)),
        lambda a, b: np.linalg.tensorsolve(a.reshape(2, 4, 2), b, axes=(0, 2)),
        [SQUARE, V[:4]],
    ),
    "parts in a list of slices": (
        lambda x: (
            T.basic.as_tensor_variable(x)[[slice(0, 2), slice(1, None)]] if False else x[0:2, 1:]
        ),
        lambda x: x[0:2, 1:],
        [M],
    ),
    "an empty list of places": (lambda x: x[[]], lambda x: x[[]], [M]),
    "an array of no places": (lambda x: x[np.zeros(0)], lambda x: x[:0], [M]),
    "a bound in an array": (
        lambda x: x[np.array(1) : T.constant([3], ndim=1)[0]],
        lambda x: x[1:3],
        [M],
    ),
    "advanced_subtensor": (
        lambda x, i: T.subtensor.advanced_subtensor(x, i, i),
        lambda x, i: x[i, i],
        [M, np.array([2, 0])],
    ),
    "advanced_subtensor1": (
        lambda x, i: T.subtensor.advanced_subtensor1(x, i),
        lambda x, i: x[i],
        [M, np.array([2, 0, 2])],
    ),
    "rows that meet are added": (
        lambda x, i: T.subtensor.advanced_inc_subtensor1(x, x[:3], i),
        lambda x, i: x + np.array([[0.0], [0], [1]]) * (x[0] + x[1]) + np.eye(3)[:, :1] * x[2],
        [M, np.array([2, 2, 0])],
    ),
    "rows are replaced": (
        lambda x, i: T.subtensor.advanced_set_subtensor1(x, x[:2], i),
        lambda x, i: x[[0, 1, 0]] if i[0] == 2 else None,
        [M, np.array([2, 1])],
    ),
    "elements are incremented": (
        lambda x, i: T.subtensor.advanced_inc_subtensor(x, 1.5, i, i),
        lambda x, i: x + 1.5 * np.eye(3, 4),
        [M, np.array([2, 0, 1])],
    ),
    "places that are not 0": (
        lambda x: T.nonzero(x, return_matrix=True),
        lambda x: np.stack(np.nonzero(x)),
        [np.array([[0, 2, 0], [1, 0, 3]])],
    ),
    "another order of each row": (
        lambda x, i: T.basic.permute_row_elements(x, i),
        lambda x, i: np.take_along_axis(x, i, 1),
        [M, np.array([[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]])],
    ),
}


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", BESIDE_NUMPY)
def test_beside_numpy(name):
    build, wanted, arrays = BESIDE_NUMPY[name]
    found, want = called(build, *arrays), np.asarray(wanted(*arrays))
    assert found.shape == want.shape and found.dtype.kind == want.dtype.kind
    np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("ord", [None, 1, 2, 3, 0, np.inf, -np.inf, "inf", "-inf"])
def test_norms_of_vectors(ord):
    want = np.linalg.norm(V, {"inf": np.inf, "-inf": -np.inf}.get(ord, ord))
    np.testing.assert_allclose(called(lambda v: nlinalg.norm(v, ord), V), want, rtol=1e-12)


@pytest.mark.parametrize("ord", [None, "fro", 1, -1, np.inf, -np.inf])
def test_norms_of_matrices(ord):
    want = np.linalg.norm(M, ord)
    np.testing.assert_allclose(called(lambda a: nlinalg.norm(a, ord), M), want, rtol=1e-12)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("k", [-np.inf, -3, -1, -0.5, 0.5, 1, 2, 3, np.inf])
def test_norms_of_any_number(k):
    """A zero makes a norm of a negative number 0: its slope there is that of abs."""
    for v in (V, M[0], np.array([0.0, 2.0, -3.0]), np.zeros(3), np.array([2.0])):
        found = called(lambda v: v.norm(k), v)
        np.testing.assert_allclose(found, np.linalg.norm(v, k), rtol=1e-12)
    slopes(lambda m: m.norm(k, axis=1), M)
    if k < 0:
        x = T.dvector()
        f = theano.function([x], T.grad(x.norm(k), x))
        for v in ([0.0, 2.0, -3.0], [0.0, 0.0, 1.0], [0.0]):
            np.testing.assert_array_equal(f(np.array(v)), np.zeros(len(v)))


def test_slopes_of_these():
    slopes(lambda a: nlinalg.norm(a, "fro"), M)
    slopes(lambda v: nlinalg.norm(v, 2), V + 0.1)
    slopes(lambda a: nlinalg.matrix_power(a, -2), SQUARE)
    slopes(lambda x: T.moveaxis(x, 0, 2), CUBE)
    slopes(lambda a, b: nlinalg.tensorsolve(a.reshape((2, 2, 4)), b), SQUARE, M[:2, :2])


x, v, z, n = T.dmatrix("x"), T.dvector("v"), T.zmatrix("z"), T.lvector("n")
REFUSED = {
    "size": (lambda: T.alloc(1.0, 2.5), "a size must be an integer, not 2.5"),
    "reshape to a matrix": (lambda: T.reshape(x, x.astype("int64")), "sizes as a vector"),
    "padaxis": (lambda: T.shape_padaxis(x, 4), r"axis 4 is out of bounds \[-3, 3\)"),
    "rebroadcast": (lambda: T.Rebroadcast((3, True))(x), "no axis 3 to rebroadcast"),
    "tile by a matrix": (lambda: T.tile(x, x.astype("int64")), "a scalar or a vector"),
    "tile by an open vector": (lambda: T.tile(x, n), "cannot tell how many entries"),
    "tile by text": (lambda: T.tile(x, "two"), "reps is a str"),
    "tile to fewer axes": (lambda: T.tile(x, [1, 2, 3], ndim=2), "more than ndim=2"),
    "tile by floats": (lambda: T.tile(x, [1.5, v[0]]), "not an integer scalar|integer"),
    "twice an axis": (lambda: T.sum(x, (0, -2)), "duplicate axes"),
    "an axis of floats": (lambda: T.sum(x, T.constant(0.5)), "an axis is an integer"),
    "bits of floats": (lambda: T.basic.all(x) & x, "integers|bool"),
    "ddof of a bool": (lambda: T.std(x, 0, True), "ddof is a number, not True"),
    "order of complex numbers": (lambda: T.argmax(z), "complex numbers have no order"),
    "weights of cov": (lambda: T.basic.cov(x, fweights=n), "takes no weights"),
    "ddof of cov": (lambda: T.basic.cov(x, ddof=0.5), "an integer, not 0.5"),
    "norm of a number": (lambda: nlinalg.norm(x[0, 0], 2), "a scalar has no norm"),
    "norm of a cube": (lambda: nlinalg.norm(T.dtensor3(), 2), "not 3 axes"),
    "an odd norm": (lambda: nlinalg.norm(x, 3), "no norm of a matrix is called 3"),
    "an odd norm of a vector": (lambda: nlinalg.norm(v, "fro"), "no norm of a vector is called"),
    "a triangle": (lambda: nlinalg.eigh(x, "M"), "UPLO is 'L' or 'U'"),
    "tensorinv": (lambda: nlinalg.tensorinv(x, 0), "Invalid ind"),
    "a bool for an index": (lambda: x[True], "boolean scalars"),
    "a float for a bound": (lambda: x[:1.5], "Expected an integer as a bound"),
    "a vector for a bound": (lambda: x[: n], "Expected an integer scalar as a bound"),
    "choose into": (lambda: T.choose(n, x, out=x), "choose takes no out"),
    "places of a number": (lambda: T.flatnonzero(x[0, 0]), "a scalar has none"),
    "diff of a number": (lambda: T.extra_ops.diff(x[0, 0]), "at least one dimension"),
    "counts of floats": (lambda: T.extra_ops.bincount(v), "bincount counts integers"),
    "repeats of 64 bits": (lambda: T.repeat(v, T.TensorType("uint64", ())()), "uint64"),
    "a window of a vector": (lambda: T.bartlett(n), "only works on scalar"),
    "a window of a float": (lambda: T.bartlett(v[0]), "needs an integer"),
    "a diagonal of vectors": (lambda: T.fill_diagonal(x, v), "one value fills the diagonal"),
    "a diagonal of doubles": (
        lambda: T.fill_diagonal(T.lmatrix(), v[0]), "cannot hold: cast it first",
    ),
    "a diagonal beside that of a cube": (
        lambda: T.fill_diagonal_offset(T.dtensor3(), 1.0, 1), "not a tensor of 3 axes",
    ),
    "a diagonal at a float": (
        lambda: T.fill_diagonal_offset(x, 1.0, v[0]), "must be scalars",
    ),
    "an order of unravel": (lambda: T.unravel_index(n, (2, 3), "K"), "order must be"),
    "sizes of unravel": (lambda: T.unravel_index(n, x.astype("int64")), "a vector, not of 2 axes"),
    "a mode of ravel": (lambda: T.ravel_multi_index((n, n), (2, 3), "skip"), "mode must be"),
    "an order of ravel": (lambda: T.ravel_multi_index((n, n), (2, 3), order="K"), "order must be"),
    "a side": (lambda: T.extra_ops.SearchsortedOp("middle"), "'left' or 'right'"),
    "places in a matrix": (lambda: T.extra_ops.searchsorted(x, v), "1-d array"),
    "a sorter of floats": (lambda: T.extra_ops.searchsorted(v, v, sorter=v), "vector of integers"),
    "padding that is a window": (
        lambda: pool.pool_2d(x, (2, 2), ignore_border=True, pad=(2, 0)), "too large for windows",
    ),
    "a step of 0": (lambda: pool.pool_2d(x, (2, 2), ignore_border=True, stride=(0, 1)), "positive"),
    "no window": (lambda: pool.pool_2d(x, ignore_border=True), "pass ws"),
    "two windows": (lambda: pool.pool_2d(x, (2, 2), ds=(2, 2)), "old name of 'ws'"),
    "sizes for pooling": (lambda: pool.Pool.out_shape((3,), (2, 2)), "it has 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    call, sentence = REFUSED[name]
    with pytest.raises(Exception, match=sentence):
        call()


@pytest.mark.parametrize("ignore", [True, False])
@pytest.mark.parametrize("window, step", [((2, 3), (2, 3)), ((3, 2), (1, 2)), ((2, 2), (3, 3))])
@pytest.mark.parametrize("size", [(5, 7), (2, 3), (6, 6)])
def test_shapes_of_pools_are_those_of_their_results(size, window, step, ignore):
    """With numbers, and with sizes that a call brings."""
    image = RNG.normal(size=(2, *size))
    found = called(
        lambda a: pool.pool_2d(a, window, ignore_border=ignore, stride=step), image
    ).shape
    assert tuple(pool.Pool.out_shape(image.shape, window, ignore, step)) == found
    a = T.dtensor3()
    sizes = pool.Pool.out_shape([a.shape[i] for i in range(3)], window, ignore, step)
    sizes = [T.as_tensor_variable(s) for s in sizes]
    assert tuple(map(int, theano.function([a], sizes)(image))) == found


def test_windows_may_be_variables_that_are_known():
    want = called(lambda a: pool.pool_2d(a, (2, 3), ignore_border=True), M)
    for ws in (T.constant([2, 3]), np.array([2, 3]), T.stack([T.constant(2), T.constant(3)])):
        np.testing.assert_array_equal(
            called(lambda a, ws=ws: pool.pool_2d(a, ws, ignore_border=True), M), want
        )
    with pytest.warns(UserWarning, match="'ds' is now called 'ws'"):
        old = called(lambda a: pool.pool_2d(a, ds=(2, 3), ignore_border=True), M)
    np.testing.assert_array_equal(old, want)
    np.testing.assert_array_equal(
        called(lambda a: pool.pool_2d(a, 2, ignore_border=True), M),
        M[:2].reshape(1, 2, 2, 2).max((1, 3)),
    )


OPS = {
    "Shape_i": lambda: T.basic.shape_i(x, 1),
    "Reshape": lambda: x.reshape((4, 3)),
    "Flatten": lambda: T.flatten(x),
    "Rebroadcast": lambda: T.addbroadcast(x, 0),
    "SpecifyShape": lambda: T.specify_shape(x, (3, 4)),
    "RepeatOp": lambda: T.repeat(x, 2, axis=0),
    "CumOp": lambda: T.cumsum(x, 1),
    "MaxAndArgmax": lambda: T.max_and_argmax(x, 0)[0],
    "Choose": lambda: T.choose(n, [n, n]),
    "Softmax": lambda: T.nnet.softmax(x),
}


@pytest.mark.parametrize("name", OPS)
def test_ops_come_back_from_files(name):
    """An op that was pickled is equal to itself and makes the same values."""
    apply = OPS[name]().owner
    while type(apply.op).__name__ not in (name, f"{name}Op"):
        apply = next(i.owner for i in apply.inputs if i.owner is not None)
    back = pickle.loads(pickle.dumps(apply.op))
    assert type(back) is type(apply.op) and str(back) == str(apply.op)
    given = {"x": M[:1] if name == "Rebroadcast" else M, "n": np.array([0, 1, 1])}
    inputs = [i for i in theano.gof.graph.inputs(apply.inputs) if i.name in given]
    outs = [op(*apply.inputs) for op in (apply.op, back)]
    outs = [o[0] if isinstance(o, list) else o for o in outs]
    values = theano.function(inputs, outs)(*[given[i.name] for i in inputs])
    np.testing.assert_array_equal(*values)
