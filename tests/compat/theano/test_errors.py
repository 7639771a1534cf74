"""Bad input: the class of error that Theano 1.0.5 raised, as its source says, and one of ours."""

import numpy as np
import pytest
from numpy.linalg import LinAlgError

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.base.errors import CKernelsError
from ckernels.compat.theano.gradient import DisconnectedInputError, NullTypeGradError
from ckernels.compat.theano.ifelse import ifelse
from ckernels.compat.theano.tensor import nnet
from ckernels.compat.theano.tensor.signal import pool
from ckernels.theano.base.exceptions import AsTensorError, NotScalarConstantError

MissingInputError, UnusedInputError = theano.gof.MissingInputError, theano.compile.UnusedInputError
function, In, shared = theano.function, theano.In, theano.shared
s, v, u, m, n, t3, t4 = (
    T.dscalar("s"), T.dvector("v"), T.dvector("u"), T.dmatrix("m"), T.dmatrix("n"),
    T.dtensor3("t3"), T.dtensor4("t4"),
)  # fmt: skip
k, iv, im = T.lscalar("k"), T.lvector("iv"), T.lmatrix("im")
V2, V3, M23, M33 = np.ones(2), np.ones(3), np.ones((2, 3)), np.ones((3, 3))
T4 = np.ones((1, 1, 4, 4))
ONE_HOT = nnet.crossentropy_categorical_1hot
DX = nnet.crossentropy_softmax_1hot_with_bias_dx
FUSED = nnet.crossentropy_softmax_argmax_1hot_with_bias


def call(inputs, out, *args):
    return function(inputs, out)(*args)


def held(value=V2):
    return shared(np.array(value), name="held")


BUILDING = [  # refused while the graph is built, or its function made
    ("inputs: no list", Exception, lambda: function(v, v)),
    ("inputs: a number", TypeError, lambda: function([3], v)),
    ("inputs: shared", TypeError, lambda: function([held()], v)),
    ("inputs: twice", UnusedInputError, lambda: function([v, v], v)),
    ("inputs: unused", UnusedInputError, lambda: function([v, m], v)),
    ("inputs: missing", MissingInputError, lambda: function([v], v + u)),
    ("inputs: missing in update", MissingInputError,
     lambda: function([], [], updates=[(held(), v)])),
    ("inputs: word", ValueError, lambda: function([v, u], v, on_unused_input="no")),
    ("outputs: a string", TypeError, lambda: function([v], "v")),
    ("outputs: keys", AssertionError, lambda: function([v], {1: v})),
    ("name", TypeError, lambda: function([v], v, name=3)),
    ("mode", Exception, lambda: function([v], v, mode="NO_MODE")),
    ("updates: of no shared", TypeError, lambda: function([v], v, updates=[(u, v)])),
    ("updates: dtype", TypeError,
     lambda: function([], [], updates=[(shared(np.float32(1)), T.constant(1.0, dtype="float64"))])),
    ("updates: dims", TypeError, lambda: function([m], [], updates=[(held(), m)])),
    ("updates: twice", ValueError,
     lambda: (lambda w: function([v], v, updates=[(w, v), (w, u)]))(held())),
    ("updates: no pairs", ValueError, lambda: function([v], v, updates=[3])),
    ("givens: dtype", TypeError, lambda: function([k], v.sum(), givens={v: k})),
    ("givens: dims", TypeError, lambda: function([m], v.sum(), givens={v: m})),
    ("givens: no variable", TypeError, lambda: function([], v, givens={3: v})),
    ("givens: an input", RuntimeError, lambda: function([v], v * 2, givens={v: v + 1})),
    ("In: update without value", TypeError, lambda: function([In(v, update=v + 1)], v)),
    ("In: update of other type", TypeError, lambda: In(v, value=V2, update=m)),
    ("shared: a type", TypeError, lambda: shared(v)),
    ("shared: strict", TypeError, lambda: shared(np.ones(2, "float32"), strict=True).set_value(V2)),
    ("set_value: dims", TypeError, lambda: held().set_value(M23)),
    ("set_value: dtype", TypeError, lambda: shared(np.ones(2, "int32")).set_value(V2 / 3)),
    ("as_tensor: object", AsTensorError, lambda: T.as_tensor_variable(object())),
    ("as_tensor: a string", Exception, lambda: T.as_tensor_variable("x")),
    ("as_tensor: too many dims", ValueError, lambda: T.as_tensor_variable(m, ndim=1)),
    ("as_tensor: True", AsTensorError, lambda: T.as_tensor_variable(theano)),
    ("bool of a comparison", TypeError, lambda: bool(v > 0)),
    ("iter", TypeError, lambda: list(s)),
    ("len", TypeError, lambda: len(v)),
    ("float", TypeError, lambda: float(s)),
    ("int", TypeError, lambda: int(k)),
    ("name of a variable", TypeError, lambda: T.dvector(3)),
    ("TensorType: dtype", TypeError, lambda: T.TensorType("float63", (False,))),
    ("dot: dims", TypeError, lambda: T.Dot()(t3, m)),
    ("dot: one argument", TypeError, lambda: T.Dot()(m)),
    ("tensordot: axes", ValueError, lambda: T.tensordot(m, n, axes=3)),
    ("tensordot: pairs", ValueError, lambda: T.tensordot(m, n, axes=[[0, 1], [0]])),
    ("batched_dot: scalar", TypeError, lambda: T.batched_dot(s, m)),
    ("join: dims", TypeError, lambda: T.join(0, v, m)),
    ("join: scalars", TypeError, lambda: T.join(0, s, s)),
    ("join: axis", IndexError, lambda: T.join(2, m, n)),
    ("join: nothing", ValueError, lambda: T.join(0)),
    ("join: float axis", TypeError, lambda: T.join(s, m, n)),
    ("concatenate: no list", TypeError, lambda: T.concatenate(m)),
    ("stack: nothing", Exception, lambda: T.stack([])),
    ("stack: axis", IndexError, lambda: T.stack([v, u], axis=3)),
    ("sum: axis", ValueError, lambda: v.sum(axis=1)),
    ("max: axis", ValueError, lambda: T.max(m, axis=2)),
    ("max: variable axis", TypeError, lambda: T.max(m, axis=k)),
    ("argmax: axis", ValueError, lambda: T.argmax(m, axis=-3)),
    ("argmax: word", TypeError, lambda: T.argmax(m, axis="a")),
    ("var: keepdims", ValueError, lambda: T.var(m, 0, True)),
    ("prod: bool axis", ValueError, lambda: T.prod(m, axis=5)),
    ("dimshuffle: axis", ValueError, lambda: m.dimshuffle(0, 2)),
    ("dimshuffle: twice", ValueError, lambda: m.dimshuffle(0, 0)),
    ("dimshuffle: drops", ValueError, lambda: m.dimshuffle(0)),
    ("dimshuffle: word", TypeError, lambda: m.dimshuffle(0, "y")),
    ("reshape: variable dims", ValueError, lambda: m.reshape(iv)),
    ("reshape: float", TypeError, lambda: m.reshape(v, ndim=2)),
    ("reshape: ndim", ValueError, lambda: m.reshape((2, 3), ndim="two")),
    ("flatten", ValueError, lambda: m.flatten(4)),
    ("index: too many", IndexError, lambda: v[0, 1]),
    ("index: of a scalar", IndexError, lambda: s[0]),
    ("index: two ellipses", IndexError, lambda: t3[..., ...]),
    ("index: float", TypeError, lambda: v[1.5]),
    ("index: a string", TypeError, lambda: v["a"]),
    ("index: float variable", TypeError, lambda: v[s]),
    ("index: float vector", TypeError, lambda: v[u]),
    ("set_subtensor: no part", TypeError, lambda: T.set_subtensor(v, 1.0)),
    ("set_subtensor: dims", TypeError, lambda: T.set_subtensor(v[1:], m)),
    ("inc_subtensor: dims", TypeError, lambda: T.inc_subtensor(v[iv], m)),
    ("alloc: float", TypeError, lambda: T.alloc(0.0, s)),
    ("alloc: vector", TypeError, lambda: T.alloc(0.0, iv)),
    ("alloc: value", TypeError, lambda: T.alloc(m, 3)),
    ("cast: complex", TypeError, lambda: T.cast(T.zmatrix(), "float64")),
    ("cast: word", Exception, lambda: T.cast(m, "float63")),
    ("split: splits", TypeError, lambda: T.split(v, u, 2)),
    ("repeat: float", TypeError, lambda: T.repeat(v, s)),
    ("repeat: dims", ValueError, lambda: T.repeat(v, im)),
    ("repeat: axis", ValueError, lambda: T.repeat(v, 2, axis=3)),
    ("tile: reps", ValueError, lambda: T.tile(v, (1.5,))),
    ("tile: ndim", ValueError, lambda: T.tile(m, (2, 2), ndim=1)),
    ("diag: scalar", ValueError, lambda: T.diag(s)),
    ("choose: float", TypeError, lambda: T.choose(v, [v, u])),
    ("nonzero: scalar", ValueError, lambda: T.nonzero(s)),
    ("round: mode", Exception, lambda: T.round(v, mode="up")),
    ("cumsum: axis", ValueError, lambda: T.cumsum(v, axis=2)),
    ("bincount: dims", TypeError, lambda: T.bincount(im)),
    ("searchsorted: side", ValueError, lambda: T.searchsorted(v, u, side="up")),
    ("topk: axis", IndexError, lambda: T.topk(v, 1, axis=1)),
    ("topk: dtype", TypeError, lambda: T.topk_and_argtopk(v, 1, idx_dtype="float32")),
    ("fill_diagonal", TypeError, lambda: T.fill_diagonal(v, 1.0)),
    ("unravel_index: float", TypeError, lambda: T.unravel_index(v, (2, 2))),
    ("ravel: no tuple", TypeError, lambda: T.ravel_multi_index(iv, (2, 2))),
    ("kron: dims", TypeError, lambda: T.slinalg.kron(s, v)),
    ("norm: order", ValueError, lambda: T.nlinalg.norm(v, "no")),
    ("solve: structure", ValueError, lambda: T.slinalg.Solve(A_structure="no")),
    ("cholesky: on_error", ValueError, lambda: T.slinalg.Cholesky(on_error="no")),
    ("matrix_inverse: dims", AssertionError, lambda: T.nlinalg.matrix_inverse(v)),
    ("get_scalar", NotScalarConstantError, lambda: T.get_scalar_constant_value(s)),
    ("get_vector_length", ValueError, lambda: T.get_vector_length(v)),
    ("grad: vector", TypeError, lambda: theano.grad(v, v)),
    ("grad: disconnected", DisconnectedInputError, lambda: theano.grad(s**2, v)),
    ("grad: wrt", TypeError, lambda: theano.grad(s, 3)),
    ("grad: word", ValueError, lambda: theano.grad(s, v, disconnected_inputs="no")),
    ("grad: undefined", NullTypeGradError,
     lambda: theano.grad(theano.gradient.undefined_grad(s), s)),
    ("grad: complex", TypeError, lambda: theano.grad(T.zscalar("z"), T.zscalar("z"))),
    ("jacobian: dims", AssertionError, lambda: theano.gradient.jacobian(m, m)),
    ("hessian: dims", AssertionError, lambda: theano.gradient.hessian(s, m)),
    ("Rop: dims", ValueError, lambda: T.Rop(v * 2, v, m)),
    ("Lop: counts", AssertionError, lambda: T.Lop([v * 2], v, [v, v])),
    ("known_grads", AssertionError, lambda: theano.grad(None, v)),
    ("ifelse: dims", TypeError, lambda: ifelse(s, v, m)),
    ("ifelse: dtypes", TypeError, lambda: ifelse(s, v, iv)),
    ("ifelse: counts", ValueError, lambda: ifelse(s, [v, u], [v])),
    ("scan: no end", ValueError, lambda: theano.scan(lambda x: x + 1, outputs_info=[s])),
    ("scan: taps", ValueError,
     lambda: theano.scan(lambda a: a, outputs_info=[{"initial": s, "taps": [1]}], n_steps=2)),
    ("scan: dims", Exception,
     lambda: theano.scan(lambda a: T.stack([a, a]), outputs_info=[s], n_steps=2)),
    ("softmax: dims", ValueError, lambda: nnet.softmax_op(t3)),
    ("softmax bias", ValueError, lambda: nnet.softmax_with_bias(m, n)),
    ("crossentropy: dims", TypeError, lambda: nnet.categorical_crossentropy(m, t3)),
    ("ravel: floats", TypeError, lambda: T.ravel_multi_index((v, iv), (3, 4))),
    ("ravel: float sizes", TypeError, lambda: T.ravel_multi_index((iv, iv), (3.5, 4.5))),
    ("1hot: dims", TypeError, lambda: ONE_HOT(v, iv)),
    ("1hot: floats", TypeError, lambda: ONE_HOT(m, v)),
    ("fused: labels", ValueError, lambda: FUSED(m, v, u)),
    ("fused: dims", ValueError, lambda: FUSED(v, v, iv)),
    ("conv2d: border", ValueError, lambda: nnet.conv2d(t4, t4, border_mode="no")),
    ("conv2d: dims", TypeError, lambda: nnet.conv2d(t3, t4)),
    ("conv2d: subsample", ValueError, lambda: nnet.conv2d(t4, t4, subsample=(1, 1, 1))),
    ("pool: dims", NotImplementedError, lambda: pool.pool_2d(v, (2, 2), ignore_border=True)),
    ("pool: mode", ValueError, lambda: pool.pool_2d(t4, (2, 2), ignore_border=True, mode="no")),
    ("pool: pad", NotImplementedError,
     lambda: pool.pool_2d(t4, (2, 2), ignore_border=False, pad=(1, 1))),
    ("neibs: mode", NotImplementedError,
     lambda: nnet.neighbours.images2neibs(t4, (2, 2), mode="no")),
    ("config: name", AttributeError, lambda: theano.config.no_such_flag),
    ("config: value", ValueError, lambda: setattr(theano.config, "floatX", "float63")),
    ("clone: type", TypeError, lambda: theano.clone(v * 2, replace={v: m})),
    ("OpFromGraph: counts", ValueError, lambda: theano.OpFromGraph([v], [v * 2])(v, v)),
    ("OpFromGraph: no list", TypeError, lambda: theano.OpFromGraph(v, [v])),
    ("patternbroadcast", ValueError,
     lambda: T.addbroadcast(T.as_tensor_variable(M23), 0).eval()),
    ("unbroadcast: axis", Exception, lambda: T.addbroadcast(v, 3)),
    ("Elemwise: counts", Exception, lambda: T.add()),
    ("typed list", TypeError, lambda: theano.typed_list.append(v, v)),
]  # fmt: skip

CALLS = [  # refused when a function runs
    ("call: too few", TypeError, lambda: call([v], v)),
    ("call: too many", TypeError, lambda: call([v], v, V2, V2)),
    ("call: keyword", TypeError, lambda: function([v], v)(w=V2)),
    ("call: dims", TypeError, lambda: call([v], v, M23)),
    ("call: dtype", TypeError, lambda: call([k], k, 1.5)),
    ("call: downcast", TypeError, lambda: (lambda f: call([f], f, V2 / 3))(T.fvector("f"))),
    ("call: overflow", TypeError, lambda: (lambda b: call([b], b, 300))(T.bscalar("b"))),
    ("call: a string", Exception, lambda: call([v], v, "no")),
    ("call: None", TypeError, lambda: call([v], v, None)),
    ("call: a variable", TypeError, lambda: call([v], v, u)),
    ("call: broadcast", TypeError, lambda: (lambda r: call([r], r, M23))(T.drow("r"))),
    ("call: strict", TypeError, lambda: function([In(v, strict=True)], v)([1, 2])),
    ("f[key]", KeyError, lambda: function([v], v)["w"]),
    ("eval: missing", MissingInputError, lambda: (v + u).eval({v: V2})),
    ("elemwise: sizes", ValueError, lambda: call([v, u], v + u, V2, V3)),
    ("switch: sizes", ValueError, lambda: call([v, u], T.switch(v > 0, v, u), V2, V3)),
    ("dot: sizes", ValueError, lambda: call([m, n], T.dot(m, n), M23, M23)),
    ("dot: vectors", ValueError, lambda: call([v, u], T.dot(v, u), V2, V3)),
    ("batched_dot: sizes", (ValueError, AssertionError),
     lambda: call([t3, m], T.batched_dot(t3, m), np.ones((2, 3, 4)), np.ones((2, 3)))),
    ("tensordot: sizes", ValueError, lambda: call([m, n], T.tensordot(m, n, 1), M23, M23)),
    ("join: sizes", ValueError, lambda: call([m, n], T.join(0, m, n), M23, np.ones((2, 2)))),
    ("eye: rows", ValueError, lambda: T.eye(-1).eval()),
    ("eye: columns", ValueError, lambda: call([k], T.eye(2, k), -1)),
    ("join: variable axis", (ValueError, IndexError),
     lambda: call([k, m], T.join(k, m, m), 5, M23)),
    ("stack: sizes", ValueError, lambda: call([v, u], T.stack([v, u]), V2, V3)),
    ("reshape: sizes", ValueError, lambda: call([m], m.reshape((4, 2)), M23)),
    ("reshape: two -1", ValueError, lambda: call([m, iv], m.reshape(iv, ndim=2), M23, [-1, -1])),
    ("reshape: negative", ValueError, lambda: call([m, iv], m.reshape(iv, ndim=2), M23, [-2, -3])),
    ("reshape: dims", ValueError, lambda: call([m], m.reshape((2, 3), ndim=3), M23)),
    ("reshape: count", ValueError, lambda: call([m, iv], m.reshape(iv, ndim=2), M23, [6])),
    ("index: beyond", IndexError, lambda: call([v, k], v[k], V2, 2)),
    ("index: constant", IndexError, lambda: call([v], v[5], V2)),
    ("index: list", IndexError, lambda: call([v, iv], v[iv], V2, [0, 7])),
    ("index: pair", IndexError, lambda: call([m, iv], m[iv, iv], M23, [2])),
    ("index: empty", IndexError, lambda: call([v], v[0], np.ones(0))),
    ("take", IndexError, lambda: call([v, iv], T.take(v, iv), V2, [5])),
    ("set_subtensor: index", IndexError, lambda: call([v, k], T.set_subtensor(v[k], 1.0), V2, 4)),
    ("set_subtensor: sizes", ValueError,
     lambda: call([v, u], T.set_subtensor(v[1:], u), V3, V3)),
    ("inc_subtensor: list", IndexError,
     lambda: call([v, iv], T.inc_subtensor(v[iv], 1.0), V2, [9])),
    ("inc_subtensor: sizes", ValueError,
     lambda: call([v, iv, u], T.inc_subtensor(v[iv], u), V2, [0, 1], V3)),
    ("mask: sizes", IndexError, lambda: call([v, u], v[u > 0], V2, V3)),
    ("split: sums", ValueError, lambda: call([v, iv], T.split(v, iv, 2), V3, [1, 1])),
    ("split: negative", ValueError, lambda: call([v, iv], T.split(v, iv, 2), V3, [-1, 4])),
    ("split: counts", ValueError, lambda: call([v, iv], T.split(v, iv, 2), V3, [1, 1, 1])),
    ("Assert", AssertionError, lambda: call([v], T.opt.Assert("no")(v, T.all(v > 2)), V2)),
    ("specify_shape", AssertionError, lambda: call([v], T.specify_shape(v, (3,)), V2)),
    ("specify_shape: dims", Exception, lambda: call([v], T.specify_shape(v, (3, 1)), V2)),
    ("specify_shape: few", AssertionError,
     lambda: call([m, iv], T.specify_shape(m, iv), M23, [2])),
    ("specify_shape: many", AssertionError,
     lambda: call([m, iv], T.specify_shape(m, iv), M23, [2, 3, 1])),
    ("split: known sizes", ValueError, lambda: call([], T.split(shared(V3), [4, -1], 2))),
    ("tile: too many", AssertionError,
     lambda: call([v, iv], T.tile(v, iv, ndim=2), V2, [1, 2, 3])),
    ("labels of Dx", ValueError, lambda: call(
        [m, iv], DX(V2, m, iv), M23, [0, -1])),
    ("alloc: sizes", ValueError, lambda: call([v], T.alloc(v, 2, 5), V3)),
    ("alloc: negative", ValueError, lambda: call([k], T.alloc(0.0, k), -1)),
    ("inverse: singular", LinAlgError, lambda: call([m], T.nlinalg.matrix_inverse(m), M33)),
    ("inverse: not square", (LinAlgError, ValueError),
     lambda: call([m], T.nlinalg.matrix_inverse(m), M23)),
    ("solve: singular", LinAlgError, lambda: call([m, v], T.slinalg.solve(m, v), M33, V3)),
    ("solve: sizes", ValueError, lambda: call([m, v], T.slinalg.solve(m, v), np.eye(3), V2)),
    ("cholesky: not positive", LinAlgError, lambda: call([m], T.slinalg.cholesky(m), -np.eye(2))),
    ("cholesky: not square", ValueError, lambda: call([m], T.slinalg.cholesky(m), M23)),
    ("eigh: not square", (LinAlgError, ValueError), lambda: call([m], T.nlinalg.eigh(m), M23)),
    ("det: not square", (LinAlgError, ValueError), lambda: call([m], T.nlinalg.det(m), M23)),
    ("max: empty", ValueError, lambda: call([v], T.max(v), np.ones(0))),
    ("argmax: empty", ValueError, lambda: call([v], T.argmax(v), np.ones(0))),
    ("repeat: sizes", ValueError, lambda: call([v, iv], T.repeat(v, iv), V2, [1, 1, 1])),
    ("choose: beyond", ValueError, lambda: call([iv, v, u], T.choose(iv, [v, u]), [0, 5], V2, V2)),
    ("topk: zero", ValueError, lambda: call([v, k], T.topk(v, k), V2, 0)),
    ("topk: too many", ValueError, lambda: call([v, k], T.topk(v, k), V2, 3)),
    ("unravel_index: beyond", ValueError,
     lambda: call([iv], T.unravel_index(iv, (2, 2)), [7])),
    ("ravel_multi_index: beyond", ValueError,
     lambda: call([iv], T.ravel_multi_index((iv, iv), (2, 2)), [7])),
    ("bincount: negative", AssertionError,
     lambda: call([iv], T.bincount(iv, assert_nonneg=True), [-1])),
    ("scan: lengths", ValueError,
     lambda: call([v, k], theano.scan(lambda a: a, sequences=[v], n_steps=k)[0], V2, 5)),
    ("scan: negative", Exception,
     lambda: call([s, k], theano.scan(lambda a: a + 1, outputs_info=[s], n_steps=k)[0], 1.0, -1)),
    ("scan: state changes size", ValueError,
     lambda: call([v], theano.scan(lambda a: T.concatenate([a, a]), outputs_info=[v],
                                   n_steps=2)[0], V2)),
    ("1hot: negative", ValueError, lambda: call([m, iv], ONE_HOT(m, iv), M23, [0, -1])),
    ("1hot: too large", (ValueError, IndexError),
     lambda: call([m, iv], ONE_HOT(m, iv), M23, [0, 3])),
    ("crossentropy: negative", ValueError,
     lambda: call([m, iv], nnet.categorical_crossentropy(m, iv), M23, [0, -1])),
    ("1hot: gradient", ValueError,
     lambda: call([m, iv], theano.grad(ONE_HOT(m, iv).sum(), m), M23, [0, -1])),
    ("fused: negative", ValueError, lambda: call([m, v, iv], FUSED(m, v, iv), M23, V3, [0, -1])),
    ("fused: rows", ValueError, lambda: call([m, v, iv], FUSED(m, v, iv), M23, V3, [0])),
    ("fused: columns", ValueError, lambda: call([m, v, iv], FUSED(m, v, iv), M23, V2, [0, 1])),
    ("fused: gradient", ValueError,
     lambda: call([m, v, iv], theano.grad(FUSED(m, v, iv)[0].sum(), m), M23, V3, [0, -1])),
    ("softmax bias: sizes", ValueError,
     lambda: call([m, v], nnet.softmax_with_bias(m, v), M23, V2)),
    ("conv2d: channels", ValueError,
     lambda: call([t4], nnet.conv2d(t4, np.ones((1, 2, 2, 2))), T4)),
    ("conv2d: too large", ValueError,
     lambda: call([t4], nnet.conv2d(t4, np.ones((1, 1, 5, 5))), T4)),
    ("update: sizes", ValueError, lambda: (lambda w: function([v], [], updates=[(w, w + v)])(V3))(
        held())),
    ("rng: sizes", ValueError, lambda: call(
        [v], T.shared_randomstreams.RandomStreams(1).normal((2,), avg=v), V3)),
    ("rng: probability", ValueError, lambda: call(
        [s], T.shared_randomstreams.RandomStreams(1).binomial((2,), p=s), 1.5)),
    ("list: index", IndexError, lambda: (lambda a: call([a], a[3], [V2]))(
        theano.typed_list.TypedListType(T.dvector)("a"))),
    ("verify_grad", T.verify_grad.E_grad, lambda: theano.gradient.verify_grad(
        lambda x: T.switch(x > 1, theano.gradient.grad_scale(x, 2), x), [V2 * 3],
        rng=np.random.RandomState(0))),
    ("nan guard", AssertionError, lambda: function(
        [v], T.log(v), mode=theano.compile.nanguardmode.NanGuardMode())(-V2)),
]  # fmt: skip


PYTHONS = {"config: name", "f[key]", "list: index", "Elemwise: counts"}  # errors of Python alone


def caught(act):
    try:
        act()
    except Exception as problem:
        return problem
    return None


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name, kind, act", BUILDING + CALLS, ids=[r[0] for r in BUILDING + CALLS])
def test_the_class_of_an_error_is_that_of_theano(name, kind, act):
    problem = caught(act)
    assert isinstance(problem, kind)
    assert isinstance(problem, CKernelsError) or name in PYTHONS


def test_near_misses_of_these_errors_work():
    """What Theano took, at the edge of what it refused."""
    join = T.join(k, m, n)
    f = function([k, m, n], [join, theano.grad((join**2).sum(), m)])
    for axis in (0, 1, -1, -2):
        found, slope = f(axis, M23, M23)
        assert (found == np.concatenate([M23, M23], axis)).all() and (slope == 2 * M23).all()
    alone = function([k, m, n], join)
    assert alone(1, M23, np.ones((2, 1))).shape == (2, 4)
    with pytest.raises(ValueError):
        alone(0, M23, np.ones((2, 1)))
    tall, wide = np.ones((4, 3)), np.ones((2, 5))  # of which one axis alone fits
    for axis, other in ((0, tall), (1, wide), (-1, wide), (0, np.ones((0, 3)))):
        found, slope = f(axis, M23, other)
        assert (found == np.concatenate([M23, other], axis)).all() and (slope == 2 * M23).all()
    for axis, other in ((1, tall), (0, wide), (0, M23.T)):
        with pytest.raises(ValueError):
            f(axis, M23, other)
    cube, low = np.arange(24.0).reshape(2, 3, 4), np.ones((2, 1, 4))
    a, b = T.tensor3(), T.tensor3()
    joined = function([k, a, b], T.join(k, a, b, a))
    assert (joined(1, cube, low) == np.concatenate([cube, low, cube], 1)).all()
    empty = np.ones((0, 3, 4))
    assert joined(0, empty, cube).shape == (2, 3, 4)
    with pytest.raises(ValueError):
        joined(1, cube, np.ones((4, 1, 2)))  # of as many elements along each side of the axis
    assert T.eye(3, 0).eval().shape == (3, 0) and T.tri(-1).eval().shape == (0, 0)
    assert call([k, v], T.join(k, v, v), -1, V2).shape == (4,)
    with pytest.raises(IndexError):
        call([k, v], T.join(k, v, v), 1, V2)
    assert call([m, iv], m.reshape(iv, ndim=2), M23, [-1, 2]).shape == (3, 2)
    assert call([m], T.specify_shape(m, (2, 3)), M23).shape == (2, 3)
    shape = iv.astype("int64")
    assert call([m, iv], T.specify_shape(m, shape), M23, [2, 3]).shape == (2, 3)
    with pytest.raises(AssertionError):
        call([m, iv], T.specify_shape(m, shape), M23, [2, 2])
    both = function([m, v, iv], [*FUSED(m, v, iv)[:2], theano.grad(FUSED(m, v, iv)[0].sum(), m)])
    for labels in ([0, 2], [1, 1]):
        found, probs, slope = both(M23, V3, labels)
        np.testing.assert_allclose(found, np.log(3) * V2)
        np.testing.assert_allclose(slope, probs - np.eye(3)[labels])
    for reps in ([3], [2, 3], []):
        tiled = call([v, iv], T.tile(v, iv, ndim=2), V2, reps)
        assert (tiled == np.tile(V2[None], reps)).all()
    pair = call([iv], T.unravel_index(iv, (2, 3)), [5, 0])
    assert [a.tolist() for a in pair] == [[1, 0], [2, 0]]
    parts = call([v, iv], T.split(v, iv, 2), V3, [0, 3])
    assert [len(a) for a in parts] == [0, 3]
    assert call([v, k], T.topk(v, k), V2, 2).tolist() == [1, 1]
