"""theano.gradient: handles, disconnected inputs, names, Jacobians, operators, user Ops."""

import pickle

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano import gradient
from ckernels.compat.theano.gradient import DisconnectedType, NullType, NullTypeGradError


def test_a_gradient_by_a_handle_leaves_its_twins_out():
    x = T.dvector("x")
    a, b = x[1:], x[1:]
    f = theano.function([x], theano.grad((a * b).sum(), a))
    np.testing.assert_array_equal(f([1, 2, 3]), [2, 3])
    both = theano.grad((a * b * b).sum(), [a, x])
    found = theano.function([x], both)([1, 2, 3])
    np.testing.assert_array_equal(found[0], [4, 9])
    np.testing.assert_array_equal(found[1], [0, 12, 27])


def test_gradients_by_a_variable_and_by_what_is_made_of_it():
    x = T.dvector("x")
    h = T.tanh(x)
    found = theano.function([x], T.grad((h**2).sum(), [h, x]))([0.0, 1.0])
    t = np.tanh([0.0, 1.0])
    np.testing.assert_allclose(found[0], 2 * t)
    np.testing.assert_allclose(found[1], 2 * t * (1 - t**2))


def test_consider_constant_means_the_handle():
    x = T.dscalar("x")
    a, b = x**2, x**2
    g = theano.grad(a * b, x, consider_constant=[a])
    assert float(g.eval({x: 3.0})) == 9 * 6


def test_disconnected_inputs():
    x, y = T.dscalars("x", "y")
    with pytest.raises(gradient.DisconnectedInputError):
        T.grad(x, y)
    with pytest.warns(UserWarning):
        assert float(T.grad(x, y, disconnected_inputs="warn").eval({y: 1.0})) == 0
    assert T.grad(x, y, disconnected_inputs="ignore", return_disconnected="None") is None
    found = T.grad(x, y, disconnected_inputs="ignore", return_disconnected="Disconnected")
    assert isinstance(found.type, gradient.DisconnectedType)


def test_names_and_integers():
    x, i = T.dscalar("x"), T.iscalar("i")
    cost = x**2
    cost.name = "cost"
    assert T.grad(cost, x).name == "(dcost/dx)"
    assert float(T.grad(i * x, i).eval({i: 3, x: 2.0})) == 2  # as if i were a float


def test_known_gradients_and_subgraphs():
    x = T.dvector("x")
    y = x**2
    g = theano.grad(None, x, known_grads={y: np.array([1.0, 10.0])})
    np.testing.assert_array_equal(g.eval({x: [1.0, 2.0]}), [2, 40])
    end = T.tanh(x)
    by_w, by_end = theano.subgraph_grad(wrt=[x], end=[end], cost=(end * x).sum())
    t = np.tanh([0.5])
    np.testing.assert_allclose(by_w[0].eval({x: [0.5]}), t)
    np.testing.assert_allclose(by_end[0].eval({x: [0.5]}), [0.5])


def test_jacobian_hessian_and_operators():
    x, w = T.dvector("x"), T.dmatrix("w")
    np.testing.assert_array_equal(gradient.jacobian(x**2, x).eval({x: [4, 4]}), np.eye(2) * 8)
    np.testing.assert_array_equal(
        gradient.hessian((x**2).sum(), x).eval({x: [4, 4]}), np.eye(2) * 2
    )
    v, u = T.dmatrix("v"), T.dvector("u")
    f = theano.function([w, v, x], T.Rop(T.dot(x, w), w, v))
    np.testing.assert_array_equal(f(np.ones((2, 2)), np.full((2, 2), 2.0), [0, 1]), [2, 2])
    f = theano.function([u, x], T.Lop(T.dot(x, w), w, u))
    np.testing.assert_array_equal(f([2, 2], [0, 1]), [[0, 0], [2, 2]])


class Double(theano.Op):
    """2 x, in Python."""

    __props__ = ()

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0] * 2

    def infer_shape(self, node, shapes):
        return shapes

    def grad(self, inputs, gradients):
        return [gradients[0] * 2]


class Hidden(Double):
    """2 x, without a gradient."""

    def grad(self, inputs, gradients):
        return [gradient.grad_not_implemented(self, 0, inputs[0], "no")]


def test_ops_of_users():
    x = T.dmatrix("x")
    assert Double() == Double() != Hidden()
    y = Double()(x)
    f = theano.function([x], [y, T.grad((y * x).sum(), x)])
    for found, want in zip(f(np.ones((2, 2))), (2, 4)):
        np.testing.assert_array_equal(found, np.full((2, 2), want))
    gradient.verify_grad(Double(), [np.ones((2, 2))], rng=np.random.RandomState(1))
    with pytest.raises(gradient.NullTypeGradError):
        T.grad(Hidden()(x).sum(), x)
    found = T.grad(Hidden()(x).sum(), x, null_gradients="return")
    assert isinstance(found.type, gradient.NullType)


def test_functions_of_arrays_and_graphs_as_ops():
    @theano.as_op(itypes=[T.dmatrix, T.dmatrix], otypes=[T.dmatrix])
    def numpy_dot(a, b):
        return a.dot(b)

    x, a, b, c = T.dmatrix(), *T.dscalars("a", "b", "c")
    np.testing.assert_array_equal(numpy_dot(x, x).eval({x: [[2.0]]}), [[4]])
    op = theano.OpFromGraph([a, b, c], [a + b * c])
    g = T.grad(op(a, b, c) ** 2, b)
    assert float(g.eval({a: 1.0, b: 2.0, c: 3.0})) == 2 * 7 * 3


def test_verify_grad_finds_a_wrong_gradient():
    class Wrong(Double):
        def grad(self, inputs, gradients):
            return [gradients[0] * 3]

    with pytest.raises(gradient.GradientError):
        gradient.verify_grad(Wrong(), [np.ones((2, 2))], rng=np.random.RandomState(1))


def test_rop_overrides():
    x, y, v = T.dvectors("x", "y", "v")
    a, b = [0.5, 2.0], [1.0, 3.0]

    def rop(override):
        op = theano.OpFromGraph([x, y], [x * y, T.exp(x)], rop_overrides=override)
        p, q = op(T.sqr(x), y)
        return theano.function(
            [x, y, v], theano.Rop([p * 2, q + x], x, v), on_unused_input="ignore"
        )(a, b, [1.0, 1.0])

    square = np.square(a)
    default = [4 * np.multiply(a, b), 2 * np.multiply(a, np.exp(square)) + 1]
    np.testing.assert_allclose(rop("default"), default)
    seven = rop(lambda inputs, points: [points[0] * 7, inputs[1] + points[0]])
    np.testing.assert_allclose(seven, [28 * np.array(a), b + 2 * np.array(a) + 1])
    mixed = rop(["default", lambda inputs, points: points[0] * 7])
    np.testing.assert_allclose(mixed, [default[0], 14 * np.array(a) + 1])
    u, w = T.dvectors("u", "w")
    graph = theano.OpFromGraph([x, y, u, w], [u * 7, y + u])
    np.testing.assert_allclose(rop(graph), seven)
    np.testing.assert_allclose(rop(DisconnectedType()()), [[0, 0], [1, 1]])
    with pytest.raises(NullTypeGradError, match="undefined"):
        rop(NullType("no slope")())
    with pytest.raises(ValueError, match="Need to override 2"):
        rop(["default"])
    with pytest.raises(TypeError, match="rop_overrides"):
        rop(3)


class Tripled(Double):
    """Its R_op is not the one of its gradient, so that one sees which was used."""

    def R_op(self, inputs, eval_points):  # noqa: N802
        return [eval_points[0] * 3]


def test_r_op_of_users():
    x, v = T.dvectors("x", "v")
    y = theano.Rop(T.sqr(Tripled()(T.sin(x))), x, v)
    expected = 2 * 2 * np.sin([0.3]) * 3 * np.cos([0.3])
    np.testing.assert_allclose(theano.function([x, v], y)([0.3], [1.0]), expected)


def test_gradients_of_costs_by_themselves_and_of_numbers():
    x, y = T.dscalars("x", "y")
    made = y * 2
    cost = made * x
    found = theano.function([x, y], T.grad(cost, [y, made, cost]))(3, 5)
    np.testing.assert_array_equal(found, [6, 3, 1])
    i = T.iscalar("i")
    assert float(T.grad(i, i).eval({i: 12})) == 1
    for number, slope in ((56, 0), (56.0, 1)):  # a whole number's tensor has no slope
        s = theano.scalar.constant(number)
        t = T.tensor_from_scalar(s)
        assert float(t.eval()) == 56 and float(T.grad(t, s).eval()) == slope


def test_second_gradients_of_batch_normalisation_with_its_statistics_constant():
    from ckernels.compat.theano.tensor.nnet import bn

    row = T.TensorType("float64", (True, False))
    x, dy, dx = T.dmatrices("x", "dy", "dx")
    scale, bias, dscale = row("scale"), row("bias"), row("dscale")
    out, mean, invstd = bn.batch_normalization_train(x, scale, bias, (0,), 5e-3)
    first = T.grad(None, [x, scale], known_grads={out: dy})
    second = T.grad(
        None,
        x,
        known_grads=dict(zip(first, (dx, dscale))),
        consider_constant=[x, dy, scale, bias, mean, invstd],
    )
    r = np.random.RandomState(0)
    a, g, h, s, b, k = [r.randn(*size) for size in [(5, 3)] * 3 + [(1, 3)] * 3]
    m, w = a.mean(0, keepdims=True), 1 / np.sqrt(a.var(0, keepdims=True) + 5e-3)

    def slopes(a):  # of the output by x and scale, m and w held
        d = a - m
        c = g * w - d * (g * d).mean(0, keepdims=True) * w**3
        return np.sum(h * s * (c - c.mean(0, keepdims=True))) + np.sum(k * g * w * d)

    expected, step = np.zeros_like(a), 1e-5
    for at in np.ndindex(a.shape):
        e = np.zeros_like(a)
        e[at] = step
        expected[at] = (slopes(a + e) - slopes(a - e)) / (2 * step)
    f = theano.function([x, scale, bias, dy, dx, dscale], second, on_unused_input="ignore")
    np.testing.assert_allclose(f(a, s, b, g, h, k), expected, rtol=1e-6, atol=1e-8)


def test_graphs_of_functions_whose_inputs_are_made_of_others():
    x, g = [T.dscalar(n).dimshuffle("x", "x") for n in "xg"]
    f = theano.function([x, g], T.grad(None, x, known_grads={x**2: g}))
    assert f([[3.0]], [[5.0]]) == 30
    assert all(v.owner is None for v in f.maker.fgraph.inputs)
    start, steps = T.dscalar("start"), T.iscalar("steps")
    rows, updates = theano.scan(lambda v: 2 * v, [], start, n_steps=steps)
    f = theano.function([start, steps], rows, updates=updates)
    assert f.maker.fgraph.inputs == [start, steps] and f.maker.fgraph.toposort()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(1, 3), [2, 4, 8])


def test_what_is_made_of_gradients_knows_the_axes_of_size_1():
    x, rng = T.dtensor4("x"), np.random.default_rng(0)
    w = theano.shared(rng.normal(size=(2, 1, 3, 3)), broadcastable=(False, True, False, False))
    g = theano.grad(T.nnet.conv2d(x, w).sum(), w)
    step = w - 0.5 * g
    assert g.broadcastable == step.broadcastable == w.broadcastable
    images, before = rng.normal(size=(4, 1, 5, 6)), w.get_value()
    theano.function([x], [], updates=[(w, step)])(images)
    want = [[images[:, 0, i : i + 3, j : j + 4].sum() for j in range(3)] for i in range(3)]
    slope = np.array(want)[::-1, ::-1]  # a true convolution
    np.testing.assert_allclose(w.get_value(), before - 0.5 * slope, rtol=1e-12)


def test_an_undefined_gradient_stands_in_the_way():
    x = T.dscalar("x")
    y = gradient.undefined_grad(x)
    assert float(theano.function([x], y * 2)(3)) == 6
    for cost in (y * 2, T.cast(y > 0, "float64"), T.cast(y > 0, "int64")):
        with pytest.raises(NullTypeGradError):
            theano.grad(cost, x)
    assert isinstance(theano.grad(y * 2, x, null_gradients="return").type, NullType)
    assert float(theano.grad(x * y.zeros_like() + x, x).eval({x: 1.0})) == 1


def test_a_graph_that_is_an_op_overrides_the_gradient_of_another():
    x, y, g = T.dvectors("x", "y", "g")
    slope = theano.OpFromGraph([x, y, g], [g * y * 2, g * x * 1.5])
    product = theano.OpFromGraph([x, y], [x * y], grad_overrides=slope)
    twice = theano.OpFromGraph([x, y, g], [g * y])  # y: the output
    root = theano.OpFromGraph([x], [T.sqrt(x)], lop_overrides=twice)
    found = theano.function([x, y], theano.grad(product(x, y).sum(), [x, y]))([1, 2], [3, 4])
    np.testing.assert_array_equal(found, [[6, 8], [1.5, 3]])
    np.testing.assert_array_equal(theano.grad(root(x).sum(), x).eval({x: [4.0, 9.0]}), [2, 3])
    assert theano.OpFromGraph([x, y], [x * 2, x * y]).connection_pattern(None) == [
        [True, True],
        [False, True],
    ]


@pytest.fixture
def testing_values():
    with theano.change_flags(compute_test_value="raise"):
        yield


def test_loops_and_gradients_have_test_values(testing_values):
    x, w = T.dvector("x"), theano.shared(np.arange(3.0))
    x.tag.test_value = np.arange(3.0) + 1
    seen = []

    def step(now, after, older, old, w):
        seen.append([float(np.asarray(v.tag.test_value)) for v in (now, after, older, old)])
        return old + older + now * after

    first = T.as_tensor_variable([5.0, 7.0])
    rows = {"input": x, "taps": [0, 1]}
    found, _ = theano.scan(step, rows, {"initial": first, "taps": [-2, -1]}, w, go_backwards=True)
    assert seen == [[2, 3, 5, 7]]
    np.testing.assert_array_equal(found.tag.test_value, [18, 27])  # 7 + 5 + 2*3, 18 + 7 + 1*2
    np.testing.assert_array_equal(theano.grad((x**2).sum(), x).tag.test_value, [2, 4, 6])
    moved = w - theano.grad((w * x).sum(), w)
    np.testing.assert_array_equal(moved.tag.test_value, [-1, -1, -1])
    with pytest.raises(ValueError, match="no test value"):
        T.dvector("y") + 1


@pytest.mark.rest
def test_gradients_through_complex_numbers():
    """The slopes by both parts, first and second, against differences."""
    x, y, b = (T.dvector(name) for name in "xyb")
    point = [np.array(v) for v in ([0.3, -1.2, 0.7], [1.1, 0.4, -0.6], [2.0, 0.5, -1.0])]
    for build in (
        lambda x, y, b: abs((T.complex(x, y) * b) ** 2).sum(),
        lambda x, y, b: 0.5 * T.real(T.complex(x, y) ** 3 * b).sum(),
        lambda x, y, b: (0.9 * T.imag(T.exp(T.complex(x, y))) * b).sum(),
        lambda x, y, b: (T.angle(T.complex(x, y)) * b).sum(),
        lambda x, y, b: (
            T.real(T.complex_from_polar(abs(x), y)) * T.imag(T.conj(T.complex(b, y)))
        ).sum(),
    ):
        theano.gradient.verify_grad(build, point, rng=np.random.RandomState(1))
        slopes = theano.grad(build(x, y, b), [x, y, b], disconnected_inputs="ignore")
        names = dict(zip((x, y, b), range(3)))

        def second(*values, slopes=slopes, names=names):
            given = {v: values[k] for v, k in names.items()}
            return theano.clone(sum((s * s).sum() for s in slopes), replace=given)

        theano.gradient.verify_grad(second, point, rng=np.random.RandomState(1))


def test_a_scalar_op_whose_gradient_is_not_written():
    class Times(theano.scalar.ScalarOp):
        def impl(self, n, x):
            return x * n

        def grad(self, inputs, gout):
            return [gradient.grad_not_implemented(self, 0, inputs[0]), gout[0] * inputs[0]]

    op, x = T.Elemwise(Times(theano.scalar.upgrade_to_float)), T.dvector("x")
    got = theano.grad(op(T.constant([2.0, 3.0]), x).sum(), x).eval({x: [1.0, 1.0]})
    np.testing.assert_array_equal(got, [2, 3])
    with pytest.raises(NullTypeGradError, match="not implemented"):
        theano.grad(op(x, 2.0).sum(), x)


def test_what_the_gradient_of_a_user_gives_is_the_gradient():
    given = T.dmatrix("given")

    class Flat(theano.Op):
        __props__ = ()

        def make_node(self, x):
            return theano.gof.Apply(self, [x], [T.dscalar()])

        def grad(self, inputs, gout):
            return [given]

    x = T.dmatrix("x")
    cost = Flat()(x)
    assert theano.grad(cost, x) is given
    assert theano.grad(cost * 2.0, x) is given  # whatever comes in
    assert theano.grad(cost + x.sum(), x) is not given


def test_known_gradients_that_do_not_exist():
    x, y = T.iscalars("x", "y")
    cost = x + y
    with pytest.raises(NullTypeGradError):
        theano.grad(cost, [x, y], known_grads={cost: NullType("why")()})
    with pytest.raises(gradient.DisconnectedInputError):
        theano.grad(cost, x, known_grads={cost: DisconnectedType()()})
    v, w = T.dscalars("v", "w")
    first, second = v * 2, w * v
    known = {first: NullType("why")(), second: T.constant(1.0)}
    gv, gw = theano.grad(None, [v, w], known_grads=known, null_gradients="return")
    assert isinstance(gv.type, NullType) and float(gw.eval({v: 3.0})) == 3


def test_gradients_have_the_type_of_what_they_are_by():
    x, y = T.dmatrix("x"), T.TensorType("float64", (True, False))("y")
    gx, gy = theano.grad(T.dot(y, x).sum(), [x, y])
    assert (gx.type, gy.type) == (x.type, y.type)


@pytest.mark.parametrize("how", ["as it comes", "times one", "by its input"])
def test_what_a_users_gradient_makes_has_its_whole_graph(how):
    class Same(theano.Op):
        __props__ = ()

        def make_node(self, x):
            return theano.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, cells):
            cells[0][0] = inputs[0].copy()

        def grad(self, inputs, gradients):
            (x,), (g,) = inputs, gradients
            return [{"as it comes": g, "times one": g * 1.0, "by its input": x * g}[how]]

    v = T.dvector("v")
    g = T.grad((Same()(v) ** 2).sum(), v)
    leaves = [x for x in theano.gof.graph.inputs([g]) if not isinstance(x, theano.Constant)]
    assert all(x is v for x in leaves) and leaves
    slope = {"by its input": [2.0, 8.0]}.get(how, [2.0, 4.0])
    np.testing.assert_array_equal(theano.function([v], g)([1, 2]), slope)


def test_states_of_a_scan_are_connected_by_the_steps_alone():
    """x_t of x alone, y_t of y alone, z_t of x: not of z, whose first value no step reads."""
    first = T.dvectors("abc")
    rows, _ = theano.scan(
        lambda x, y, z: (x**2, T.round(y) + y, x + 1), outputs_info=list(first), n_steps=3
    )
    links = {0: {0}, 1: {1}, 2: {0}}
    for k, x in enumerate(rows):
        for j, start in enumerate(first):
            if j in links[k]:
                theano.grad(x.sum(), start)
                continue
            with pytest.raises(gradient.DisconnectedInputError):
                theano.grad(x.sum(), start)
            zero = theano.grad(x.sum(), start, disconnected_inputs="ignore")
            np.testing.assert_array_equal(zero.eval({start: [1.0, 2.0]}), [0, 0])
    g = theano.grad((rows[0] + rows[2]).sum(), first[0])  # x^2 + x^4 + x^8 and 1 + x, x^2, x^4
    want = 2 * 1.5 + 4 * 1.5**3 + 8 * 1.5**7 + 1 + 2 * 1.5 + 4 * 1.5**3
    values = {first[0]: [1.5], first[1]: [1.0], first[2]: [1.0]}
    np.testing.assert_allclose(g.eval(values), [want])


def test_zeros_go_through_rounded_states_of_a_scan_that_they_reach():
    a, b = T.dscalars("ab")
    rows, _ = theano.scan(lambda x, y: (T.floor(y), T.ceil(y)), outputs_info=[a, b], n_steps=2)
    assert float(theano.grad(rows[0].sum(), b).eval({b: 1.5})) == 0
    with pytest.raises(gradient.DisconnectedInputError):
        theano.grad(rows[1].sum(), a)


def test_draws_of_numpys_generator_have_no_gradient_by_their_parameters():
    p = T.dmatrix("p")
    r = T.shared_randomstreams.RandomStreams(3)
    mask = r.binomial(p.shape, p=0.5)
    np.testing.assert_array_equal(
        theano.grad((p * mask).sum(), p).eval({p: np.ones((2, 2))}) % 1, np.zeros((2, 2))
    )
    draws = (
        r.normal((2,), avg=p[0, 0]).sum(),
        r.multinomial(n=1, pvals=p).sum(),
        (p + r.multinomial(n=1, pvals=p)).sum(),
        r.uniform((2,), high=T.exp(p[0, 0])).mean() ** 2,
    )
    for cost in draws:
        with pytest.raises(NullTypeGradError, match="draw"):
            theano.grad(cost, p)
        kind = theano.grad(cost, p, null_gradients="return").type
        assert isinstance(kind, NullType)
    kept = p.sum() * r.normal((2,), avg=p[0, 0]).sum()
    with pytest.raises(NullTypeGradError):
        theano.grad(kept, p)
    fixed = r.normal((), avg=p[0, 0])
    theano.grad(p.sum() * fixed, p, consider_constant=[fixed])


def test_draws_inside_of_scans_have_none_either():
    x = T.dmatrix("x")
    r = T.shared_randomstreams.RandomStreams(3)

    def step(k, held):
        return x + r.multinomial(n=1, pvals=x / x.sum()), held + 1

    (rows, counts), _ = theano.scan(step, T.arange(3), [None, x])
    with pytest.raises(NullTypeGradError, match="draw"):
        theano.grad(rows.sum(), x)
    np.testing.assert_array_equal(
        theano.grad(counts.sum(), x).eval({x: np.ones((1, 2))}), [[3.0, 3.0]]
    )


def test_scalar_ops_have_gradients_of_other_scalar_ops_and_of_constants():
    import scipy.special

    class Line(theano.scalar.UnaryScalarOp):
        def impl(self, x):
            return 3 * x + 1

        def grad(self, inputs, gradients):
            return (gradients[0] * theano.scalar.constant(3.0),)

    class I0e(theano.scalar.UnaryScalarOp):
        def impl(self, x):
            return scipy.special.i0e(x)

        def grad(self, inputs, gradients):
            (x,), (g,) = inputs, gradients
            return (g * (i1e(x) - theano.scalar.sgn(x) * i0e(x)),)

    class I1e(theano.scalar.UnaryScalarOp):
        def impl(self, x):
            return scipy.special.i1e(x)

    class Flat(theano.scalar.BinaryScalarOp):
        def impl(self, x, y):
            return x

        def grad(self, inputs, gradients):
            return gradients[0], inputs[1].zeros_like()

    kind = theano.scalar.upgrade_to_float_no_complex
    i0e, i1e = I0e(kind, name="i0e"), I1e(kind, name="i1e")
    at = np.array([[-1.5, 0.3, 2.0]])
    for x, value in (T.dmatrix("x"), at), (T.dscalar("x"), at[0, 1]):
        g = theano.grad(T.Elemwise(i0e)(x).sum() + T.Elemwise(Line(kind))(x).sum(), x)
        want = scipy.special.i1e(value) - np.sign(value) * scipy.special.i0e(value) + 3
        np.testing.assert_allclose(g.eval({x: value}), want, rtol=1e-12)
    x, y = T.dmatrix("x"), T.dvector("y")
    by_x, by_y = theano.grad((T.Elemwise(Flat(kind))(x, y) ** 2).sum(), [x, y])
    f = theano.function([x, y], [by_x, by_y], on_unused_input="ignore")
    found = f(at, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(found[0], 2 * at)
    np.testing.assert_array_equal(found[1], np.zeros(3))
