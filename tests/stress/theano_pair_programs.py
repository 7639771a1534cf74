"""Families of programs by Theano's names for the generator of histories, beside those of K."""

import numpy as np

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano import sparse
from ckernels.compat.theano.gof import Apply, Op
from ckernels.compat.theano.ifelse import ifelse
from ckernels.compat.theano.sandbox.rng_mrg import MRG_RandomStreams
from ckernels.compat.theano.tensor.nnet import conv2d
from ckernels.compat.theano.tensor.shared_randomstreams import RandomStreams
from ckernels.compat.theano.tensor.signal.pool import pool_2d

from .pair_programs import family


def given(d, *shape, dtype=None):
    """(a variable of these dimensions, an array for it)."""
    dtype = dtype or d.pick("float32", "float64")
    wide = [d.pick(False, n == 1) for n in shape]
    return T.TensorType(dtype, wide)("x"), d.laid(d.values(shape, dtype))


def called(inputs, outputs, arrays, updates=(), **options):
    """What two calls give, and the variables then."""
    outputs = outputs if isinstance(outputs, list) else [outputs]
    f = theano.function(inputs, outputs, updates=list(updates), on_unused_input="ignore", **options)
    found = [x for _ in range(2) for x in f(*arrays)]
    return found + [v.get_value() for v, _ in updates]


@family
def theano_algebra(d):
    (x, a), (y, b) = given(d, d.pick(1, 3, 40), 5), given(d, 5, dtype="float64")
    z = d.pick(
        lambda: T.exp(x) * y,
        lambda: T.sqr(x) - y,
        lambda: T.maximum(x, y),
        lambda: T.arctan2(x, y),
        lambda: T.switch(x > y, x, -y),
        lambda: x.sum(d.pick(0, 1)),
        lambda: x.prod(d.pick(0, 1)),
        lambda: T.dot(x, y),
        lambda: x.dimshuffle("x", 1, 0),
        lambda: x[::-1] + y,
        lambda: x.T * 2,
        lambda: T.set_subtensor(x[:, 1:3], d.pick(1, 2)),
        lambda: T.inc_subtensor(x[0], y),
        lambda: T.nnet.softmax(x),
        lambda: T.nnet.logsoftmax(x),
        lambda: x.std(d.pick(0, 1)),
        lambda: T.cumsum(x, d.pick(0, 1)),
        lambda: T.argmax(x, d.pick(0, 1)),
        lambda: x.norm(2),
        lambda: T.extra_ops.repeat(x, 2, d.pick(0, 1)),
        lambda: T.sort(x, d.pick(0, 1)),
    )()
    slopes = (
        [T.grad(T.sum(T.sqr(z)), x, disconnected_inputs="ignore")] if "int" not in z.dtype else []
    )
    mode = d.pick(None, theano.Mode(optimizer="fast_compile"))
    return called([x, y], [z, *slopes], [a, b], mode=mode)


@family
def theano_special(d):
    x, a = given(d, d.pick(3, 40))
    a = np.abs(a) + np.asarray(0.3, a.dtype)
    one = d.pick(
        T.erf,
        T.erfc,
        T.erfcx,
        T.erfinv,
        T.gamma,
        T.gammaln,
        T.psi,
        T.tri_gamma,
        T.j0,
        T.j1,
        T.i0,
        T.i1,
        T.log2,
        T.log10,
        T.log1p,
        T.exp2,
        T.expm1,
    )
    order, v = T.dvector("order"), d.values(len(a)) * 0 + d.pick(0.5, 1.0, 2.0)
    return called([x, order], [one(x), d.pick(T.jv, T.iv)(order, x)], [a, v])


@family
def theano_complex(d):
    z, a = given(d, d.pick(3, 40), dtype=d.pick("complex64", "complex128"))
    one = d.pick(
        T.log,
        T.log2,
        T.log10,
        T.log1p,
        T.exp,
        T.exp2,
        T.expm1,
        T.sqrt,
        T.sin,
        T.cos,
        T.tanh,
        T.sqr,
        T.inv,
        T.angle,
        T.real,
        T.imag,
        T.conj,
        T.abs_,
    )
    return called([z], [one(z), d.pick(T.real, T.imag)(z * z)], [a])


@family
def theano_random(d):
    streams = d.pick(RandomStreams, MRG_RandomStreams)(d.pick(1, 2, 3))
    size = d.pick((3, 4), (40,))
    draws = [
        d.pick(
            lambda: streams.uniform(size, 0.0, d.pick(1.0, 2.0)),
            lambda: streams.binomial(size, p=0.3),
            lambda: streams.normal(size, 0.0, d.pick(1.0, 2.0)),
            lambda: streams.binomial(size, p=0.7),
        )()
        for _ in range(2)
    ]
    return called([], draws, [])


@family
def theano_scans(d):
    (x, a), (h, b) = given(d, d.pick(1, 4, 9), 3), given(d, 3)
    total = theano.shared(d.values((), "float64"), name="total")
    step = d.pick(lambda r, p: T.tanh(r + p), lambda r, p: T.sin(r) * p, lambda r, p: r + 0.5 * p)
    again = d.pick(
        lambda r, p: step(r, p),
        lambda r, p: (step(r, p), {total: total + d.pick(1.0, 2.0)}),
        lambda r, p: (step(r, p), theano.scan_module.until(T.sum(p) > 1)),
    )
    start = T.cast(h, T.scal.upcast(x.dtype, h.dtype))
    rows, changes = theano.scan(
        again,
        sequences=T.cast(x, start.dtype),
        outputs_info=start,
        go_backwards=d.pick(False, True),
    )
    slope = T.grad(T.sum(T.sqr(rows)), h)
    return called([x, h], [rows, slope], [a, b], list(changes.items()))


@family
def theano_training(d):
    (x, a), (t, b) = given(d, 20, 6, dtype="float32"), given(d, 20, 2, dtype="float32")
    w, m = (theano.shared(d.values((6, 2), "float32", 0.3), name=n) for n in "wm")
    y = d.pick(T.tanh, T.nnet.sigmoid, T.nnet.softmax, T.nnet.relu)(T.dot(x, w))
    wanted = T.sqr(t)
    loss = T.mean(d.pick(T.sqr, T.abs_)(y - wanted))
    g, rate = T.grad(loss, w), np.float32(d.pick(0.1, 0.01))
    rule = d.pick(
        [(w, w - rate * g)], [(m, np.float32(0.9) * m + g), (w, w - rate * m)], [(w, m), (m, w)]
    )
    return called([x, t], [loss], [a, b], rule, givens=d.pick({}, {wanted: T.sqr(x[:, :2])}))


@family
def theano_images(d):
    x, a = given(d, 2, 3, d.pick(6, 9), 8, dtype="float32")
    k = theano.shared(d.values((4, 3, 3, d.pick(2, 3)), "float32", 0.3))
    y = d.pick(
        lambda: conv2d(x, k, border_mode=d.pick("valid", "half", "full", (1, 0))),
        lambda: conv2d(x, k, filter_flip=d.pick(True, False), subsample=d.pick((1, 1), (2, 1))),
        lambda: pool_2d(x, (2, 2), True, mode=d.pick("max", "sum", "average_exc_pad")),
        lambda: pool_2d(x, (2, 2), d.pick(True, False), stride=d.pick((1, 1), (2, 2))),
    )()
    return called([x], [y, T.grad(T.sum(T.sin(y)), x)], [a])


class Scaled(Op):
    """An op of a user, of which two differ in their property."""

    __props__ = ("factor",)

    def __init__(self, factor):
        self.factor = factor

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = np.asarray(inputs[0] * self.factor, node.outputs[0].dtype)

    def grad(self, inputs, slopes):
        return [Scaled(self.factor)(slopes[0])]


@family
def theano_ops_of_users(d):
    x, a = given(d, d.pick(3, 40))
    y = Scaled(d.pick(2, 3))(T.exp(x)) + Scaled(d.pick(2, 3))(x)
    return called([x], [y, T.grad(T.sum(T.sqr(y)), x)], [a])


@family
def theano_branches(d):
    x, a = given(d, d.pick(3, 9), 4)
    test = T.sum(x) > d.pick(-100, 0, 100)
    y = d.pick(ifelse, T.switch)(test, d.pick(T.exp, T.tanh)(x), d.pick(T.sin, T.cos)(x))
    return called([x], [y, T.grad(T.sum(y), x)], [a])


@family
def theano_sparse(d):
    import scipy.sparse

    form = d.pick("csr", "csc")
    dense = d.values((6, 4)) * (d.values((6, 4)) > 0.3)
    s = getattr(sparse, f"{form}_matrix")("s", dtype="float64")
    (y, b) = given(d, 4, 3, dtype="float64")
    z = d.pick(
        lambda: sparse.dot(s, y),
        lambda: sparse.structured_dot(s, y),
        lambda: sparse.sp_sum(s, d.pick(0, 1)),
        lambda: sparse.dense_from_sparse(sparse.transpose(s)),
        lambda: sparse.dense_from_sparse(s * s),
    )()
    return called([s, y], [z], [getattr(scipy.sparse, f"{form}_matrix")(dense), b])
