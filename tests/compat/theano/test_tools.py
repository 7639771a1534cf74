"""What programs use around graphs: Canonizer, shapes of all variables, pydot, locks, tolerances."""

import os
import subprocess
import sys

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano.gof import FunctionGraph, compilelock
from ckernels.compat.theano.tensor import opt
from ckernels.compat.theano.tensor.utils import hash_from_ndarray, shape_of_variables
from ckernels.theano.modules import installing

x, y, z = T.dmatrices("xyz")
a, b, c, d = T.dmatrices("abcd")
v = T.dvector("v")


@pytest.mark.parametrize(
    "given, wanted",
    [
        (x / x, "fill(x, fill(x, TensorConstant{1.0}))"),
        ((x * y) / x, "y"),
        (x / y / x, "(TensorConstant{1.0} / y)"),
        ((a / b) * (b / c) * (c / d), "(a / d)"),
        ((2.0 * x) / (4.0 * y), "((TensorConstant{0.5} * x) / y)"),
        (2 * x / 2, "x"),
        ((x * v) / v, "x"),
        (T.inv(x) * T.inv(y), "(TensorConstant{1.0} / (x * y))"),
        (T.exp(x) * 2 / 2 * 3, "(TensorConstant{3.0} * exp(x))"),
        (x / y / z, "((x / y) / z)"),
        (x + y - x, "y"),
        (2 + x + 3 - y - 1, "((TensorConstant{4.0} + x) - y)"),
    ],
)
def test_the_canonizers(given, wanted):
    inputs = [x, y, z, a, b, c, d, v]
    graph = FunctionGraph(inputs, [given])
    for canonizer in (opt.mul_canonizer, opt.add_canonizer):
        canonizer.optimize(graph)
    assert theano.pp(graph.outputs[0]) == wanted
    rng = np.random.RandomState(0)
    values = [rng.uniform(1, 2, (3, 3)) for _ in inputs[:-1]] + [rng.uniform(1, 2, 3)]
    before = theano.function(inputs, given, on_unused_input="ignore")(*values)
    after = theano.function(graph.inputs, graph.outputs[0], on_unused_input="ignore")(*values)
    np.testing.assert_allclose(after, before)


def test_a_canonizer_reads_factors_and_takes_simplifiers():
    own = opt.Canonizer(T.mul, T.true_div, T.inv, opt.mul_calculate)
    e = T.log(x) / y * (z + x) / y
    num, denum = own.get_num_denum(e)
    assert num[0].owner.op == T.log and num[1].owner.op == T.add and denum == [y, y]
    assert own.merge_num_denum([x], []) is x and own.merge_num_denum([], []).data == 1
    assert theano.pp(own.merge_num_denum([], [x])) == "inv(x)"
    own.add_simplifier(lambda num, denum: ([y], []), "a test")
    assert own.simplify([x], [z], x.type) == ([y], [])


def test_shapes_of_all_variables():
    part = x[512:]
    product = T.dot(part, part.T)
    graph = FunctionGraph([x], [product], clone=False)
    found = shape_of_variables(graph, {x: (1024, 10)})
    assert set(found) == graph.variables
    assert found[part] == (512, 10) and found[product] == (512, 512) and found[x] == (1024, 10)
    assert isinstance(found[part][0], np.ndarray)
    with pytest.raises(ValueError, match="x is no input of it.*clone=False"):
        shape_of_variables(FunctionGraph([x], [product]), {x: (4, 4)})
    with pytest.raises(ValueError, match="lacks the input x"):
        shape_of_variables(graph, {})


def test_hashes_of_arrays():
    one = np.arange(6.0)
    same = {hash_from_ndarray(one), hash_from_ndarray(one.copy())}
    others = [one.reshape(2, 3), one.astype("float32"), one[::-1], one.reshape(1, 6), one + 1]
    assert len(same) == 1 and len({*same, *map(hash_from_ndarray, others)}) == 6
    assert hash_from_ndarray(np.zeros((1, 0))) != hash_from_ndarray(np.zeros((2, 0)))


def test_tolerances_may_be_assigned(monkeypatch):
    one, other = np.float32([1.0]), np.float32([1.0005])
    assert not T._allclose(one, other) and T._allclose(one, other, rtol=1e-3)
    assert T._allclose(one.astype("float16"), other.astype("float16"))
    monkeypatch.setattr(T.basic, "float32_rtol", 1e-3)
    assert T._allclose(one, other)


@pytest.mark.parametrize("level, wanted", [(0, 1e-5), (1, 1e-4), (2, 5e-4)])
def test_sloppiness_is_a_flag(level, wanted):
    code = "import ckernels.compat.theano.tensor as T; print(T.float32_atol)"
    env = {**os.environ, "THEANO_FLAGS": f"tensor.cmp_sloppy={level}"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert float(done.stdout) == wanted, done.stderr


def test_a_lock_is_a_folder(tmp_path):
    path = str(tmp_path / "base" / "lock")
    compilelock.lock(path)
    first = (tmp_path / "base" / "lock" / "lock").read_text()
    assert first.startswith(f"{os.getpid()}_")
    compilelock.lock(path, timeout=0.05, min_wait=0.01)  # taken over: it has not changed
    assert (tmp_path / "base" / "lock" / "lock").read_text() != first
    compilelock.Unlocker(path).unlock()
    assert os.listdir(tmp_path / "base") == []
    compilelock.Unlocker(path).unlock()


@pytest.mark.skipif(os.name == "nt", reason="a process is asked for by a signal")
def test_a_lock_of_another_process_stays_and_of_one_that_ended_goes(tmp_path):
    path = str(tmp_path / "lock")
    code = f"import ckernels.compat.theano.gof.compilelock as c; c.lock({path!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert done.returncode == 0, done.stderr
    compilelock.Unlocker(path).unlock()
    assert os.path.isdir(path)
    compilelock.lock(path, timeout=None, min_wait=0.01)
    assert compilelock._owner(os.path.join(path, "lock")).startswith(f"{os.getpid()}_")


def test_the_check_of_an_installation(capfd):
    assert theano.test(verbose=2) is True
    assert "compiled mode works" in capfd.readouterr().out


@pytest.mark.parametrize("target", [1.0, 1, 0.0, 0, np.ones(3), np.zeros((1, 1))])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_term_of_the_constant_0_is_left_out(target, dtype):
    """Theano's rule for a product with 0: 0 * log(0) is no NaN."""
    p = T.vector("p", dtype=dtype)
    loss = T.nnet.binary_crossentropy(p, target)
    one = np.asarray(target).ravel()[0] == 1
    with np.errstate(divide="ignore"):
        wanted = -np.log(np.array([0, 0.25, 1]) if one else np.array([1, 0.75, 0]))
    found = theano.function([p], loss)([0, 0.25, 1])
    np.testing.assert_allclose(found, np.broadcast_to(wanted, found.shape), rtol=1e-6)
    assert loss.dtype == T.nnet.binary_crossentropy(p, T.as_tensor_variable(target) * 1).dtype


def test_targets_between_and_of_variables_have_both_terms():
    p, t = T.dvector("p"), T.dvector("t")
    f = theano.function([p, t], T.nnet.binary_crossentropy(p, t))
    values = np.array([0.2, 0.7]), np.array([0.3, 1.0])
    wanted = -(values[1] * np.log(values[0]) + (1 - values[1]) * np.log(1 - values[0]))
    np.testing.assert_allclose(f(*values), wanted)


@pytest.fixture
def formatter():
    pytest.importorskip("pydot")
    from ckernels.compat.theano.d3viz.formatting import PyDotFormatter

    return PyDotFormatter()


def test_graphs_of_pydot(formatter):
    w = theano.shared(np.ones((3, 2)), name="w")
    drawn = formatter(FunctionGraph([x], [T.nnet.softmax(T.dot(x, w) * 2.0)]))
    nodes = [n.get_attributes() for n in drawn.get_nodes()]
    kinds = [n["node_type"] for n in nodes]
    assert kinds.count("output") == 1 and kinds.count("shared_input") == 1
    assert kinds.count("constant_input") == 1 and kinds.count("input") == 1
    labels = [n["label"] for n in nodes if n["node_type"] == "apply"]
    assert sorted(labels) == ["DimShuffle", "Dot", "Elemwise", "Softmax"]
    names = [n.get_name() for n in drawn.get_nodes()]
    ends = {e.get_source() for e in drawn.get_edges()} | {
        e.get_destination() for e in drawn.get_edges()
    }
    assert ends == set(names)


def test_the_graph_of_an_op_is_a_cluster(formatter):
    inner = theano.OpFromGraph([x, y], [x * y + 1])
    drawn = formatter([inner(x, y)])
    (cluster,) = drawn.get_subgraph_list()
    (node,) = [n for n in drawn.get_nodes() if n.get_attributes().get("subg")]
    assert node.get_attributes()["subg"] == cluster.get_name()
    assert len(eval(node.get_attributes()["subg_map_inputs"])) == 2


def test_words_of_types_and_variables():
    from ckernels.compat.theano.d3viz import formatting

    texts = [formatting.type_to_str(t.type) for t in (x, v, T.fscalar(), T.lrow(), T.ftensor4())]
    assert texts == ["dmatrix", "dvector", "fscalar", "lrow", "float32"]
    assert formatting.var_label(T.constant([1.23456, 2])) == "[1.235 2.   ]"
    assert formatting.var_label(T.constant(2.5)) == "2.5" and formatting.var_label(x) == "x"
    assert formatting.apply_label((x + y).owner) == "Elemwise"
    if not formatting.pydot_imported:
        with pytest.raises(ImportError, match="pip install pydot"):
            formatting.PyDotFormatter()


def test_the_old_gpu_back_end_imports_and_is_not_there():
    theano.install()
    try:
        from theano.sandbox import cuda
        from theano.sandbox.cuda.basic_ops import gpu_contiguous
        from theano.sandbox.cuda.dnn import dnn_available
    finally:
        installing.uninstall()
    assert not cuda.cuda_available and not cuda.cuda_enabled and not dnn_available()
    assert not isinstance(T.fvector().type, cuda.CudaNdarrayType)
    with pytest.raises(NotImplementedError, match="gpu_contiguous needs a GPU"):
        gpu_contiguous(T.fmatrix())
    with pytest.raises(NotImplementedError, match="gpu0 cannot be used"):
        cuda.use("gpu0")
    assert cuda.unuse() is None
    assert not hasattr(cuda, "no_such_name")


def test_the_convolution_of_the_first_years():
    from ckernels.compat.theano.tensor.nnet.conv import ConvOp

    assert ConvOp.getOutputShape((5, 6), (2, 3)) == (4, 4)
    assert ConvOp.getOutputShape((5, 6), (2, 3), (2, 1), "full") == (3, 8)
    images, filters = T.tensor4(), T.tensor4()
    rng = np.random.RandomState(0)
    given = rng.uniform(size=(2, 3, 5, 6)), rng.uniform(size=(4, 3, 2, 3))
    for op, how in (
        (ConvOp(), {}),
        (ConvOp((3, 5, 6), (2, 3), 4, 2, 1, 1, "full"), {"border_mode": "full"}),
        (ConvOp(dx=2, dy=1), {"subsample": (2, 1)}),
    ):
        one = theano.function([images, filters], op(images, filters))(*given)
        other = T.nnet.conv2d(images, filters, **how)
        np.testing.assert_array_equal(one, theano.function([images, filters], other)(*given))
    with pytest.raises(ValueError, match="imshp_logical"):
        ConvOp(imshp_logical=(3, 5, 6))


def test_the_callable_behind_a_function_takes_a_count_of_calls():
    s = theano.shared(0)
    f = theano.function([], s, updates=[(s, s + 1)])
    assert f.fn(n_calls=5) == 4 and s.get_value() == 5 and f.fn() == 5


def test_what_a_function_gives_is_listed_and_what_no_index_can_be_is_refused():
    one = T.dscalar("one")
    twice = 2 * one
    assert theano.function([one], {"b": one, "a": twice}).outputs == [twice, one]
    for index in (2**63, slice(None, 2**63), -(2**63) - 1):
        with pytest.raises(IndexError, match="an index has 64 bits"):
            x[index]  # noqa: B018
    with pytest.raises(ValueError, match="cannot store str 'words'"):
        theano.shared(np.zeros(2)).set_value("words")


def test_rop_of_a_gradient_that_came_to_a_constant_is_zero():
    s = theano.shared(np.ones(3))
    slope = T.grad(T.dot(np.arange(3.0), s), s)
    assert T.Rop(slope, s, s).eval().tolist() == [0, 0, 0]
    with pytest.raises(theano.gradient.DisconnectedInputError):
        T.Rop(T.exp(v), s, s)


def test_the_pattern_of_an_op_knows_those_of_its_ops():
    inner = theano.OpFromGraph([x, y, z], [x * y, y * z])
    assert inner.connection_pattern(None) == [[True, False], [True, True], [False, True]]
    m, n, p, q = T.dmatrices("mnpq")
    first, second = inner(m, n, p)
    outer = theano.OpFromGraph([m, n, p, q], list(inner(first, q, second)))
    assert outer.connection_pattern(None) == [
        [True, False],
        [True, True],
        [False, True],
        [True] * 2,
    ]


def test_rop_of_a_shape_has_no_way_back():
    with pytest.raises(theano.gradient.DisconnectedInputError):
        T.Rop(v.shape[0], v, v)


def test_the_scalar_op_of_a_sigmoid_is_of_its_class():
    sigm = T.nnet.sigm
    assert isinstance(T.nnet.sigmoid(x).owner.op.scalar_op, sigm.ScalarSigmoid)
    assert isinstance(T.nnet.softplus(x).owner.op.scalar_op, sigm.ScalarSoftplus)
    assert not isinstance(T.exp(x).owner.op.scalar_op, sigm.ScalarSigmoid)


def test_the_op_of_a_convolution_gives_its_gradients():
    """As linear operators ask for their transpose: by inputs that are not the op's own."""
    images, filters, top = T.tensor4(), T.tensor4(), T.tensor4()
    op = T.nnet.conv2d(images, filters, subsample=(2, 1)).owner.op
    other = T.tensor4()
    by_image, by_filter = op.grad((other, filters), (top,))
    told = T.nnet.conv2d(images, filters, (1, 2, 5, 5), (3, 2, 3, 3), subsample=(2, 1)).owner.op
    theano.function([filters, top], told.grad((images, filters), (top,))[0])  # needs no images
    rng = np.random.RandomState(0)
    a, b, g = (rng.uniform(size=s) for s in ((1, 2, 5, 5), (3, 2, 3, 3), (1, 3, 2, 3)))
    one, two = theano.function([other, filters, top], [by_image, by_filter])(a, b, g)
    y = theano.function([images, filters], T.nnet.conv2d(images, filters, subsample=(2, 1)))
    np.testing.assert_allclose((one * a).sum(), (y(a, b) * g).sum())
    np.testing.assert_allclose((two * b).sum(), (y(a, b) * g).sum())
