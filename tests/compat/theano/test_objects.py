"""Variables that are no tensors, sizes known when a function runs, breakpoints, pictures."""

import copy
import pathlib
import pickle
import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano import gof, typed_list
from ckernels.compat.theano.gof import MissingInputError
from ckernels.compat.theano.ifelse import ifelse
from ckernels.compat.theano.tensor.signal.pool import pool_2d
from ckernels.compat.theano.tensor.type_other import NoneConst, as_int_none_variable, make_slice
from ckernels.compat.theano.tests import breakpoint


class Double(gof.Type):
    """Python's floats."""

    def filter(self, x, strict=False, allow_downcast=None):
        if strict and not isinstance(x, float):
            raise TypeError("a float is needed")
        return float(x)

    def __eq__(self, other):
        return isinstance(other, Double)

    def __hash__(self):
        return hash(Double)

    def c_declare(self, name, sub, check_input=True):
        return f"double {name};"

    def c_init(self, name, sub):
        return f"{name} = 0.0;"

    def c_extract(self, name, sub, check_input=True):
        return f"{name} = PyFloat_AsDouble(py_{name});\nif (PyErr_Occurred()) {{ {sub['fail']} }}"

    def c_sync(self, name, sub):
        return f"Py_XDECREF(py_{name});\npy_{name} = PyFloat_FromDouble({name});"

    def c_cleanup(self, name, sub):
        return ""


double = Double()


class Times(gof.Op):
    """The product of two doubles, in C and in Python, which says that it was Python."""

    __props__ = ()

    def make_node(self, x, y):
        x, y = (gof.Constant(double, v) if isinstance(v, (int, float)) else v for v in (x, y))
        if x.type != double or y.type != double:
            raise TypeError("doubles are multiplied")
        return gof.Apply(self, [x, y], [double()])

    def perform(self, node, inputs, storage):
        storage[0][0] = inputs[0] * inputs[1] + 1000

    def c_code(self, node, name, inputs, outputs, sub):
        return f"{outputs[0]} = {inputs[0]} * {inputs[1]};"


def test_a_type_of_ones_own_in_c_and_in_python():
    x, y = double("x"), double("y")
    f = theano.function([x, y], Times()(Times()(x, y), 2))
    assert f(5, 6) == 60.0 and type(f(5.5, y=2)) is float
    assert theano.function([x], Times()(x, 2), mode=theano.Mode("py"))(1) == 1002.0
    with pytest.raises(ValueError, match="index 0"):
        f("five", 6)
    with pytest.raises(TypeError, match="Missing required input: y"):
        f(5)
    with pytest.raises(MissingInputError):
        theano.function([x], Times()(x, y))


def test_lists_among_tensors_updates_and_scans():
    held, v = typed_list.TypedListType(T.fvector)(), T.fvector("v")
    w = theano.shared(np.ones(3, "float32"))
    outs = [
        typed_list.append(held, v * w)[-1] + 1,
        typed_list.length(held) * 2,
        held.count(v),
        held.reverse(),
        held[1:],
        typed_list.make_list([v, v + 1]),
    ]
    f = theano.function([held, v], outs, updates=[(w, w + held[0])])
    plus, double_length, count, back, rest, made = f([[1, 2, 3], [4, 5, 6]], [4, 5, 6])
    assert plus.tolist() == [5, 6, 7] and double_length == 4 and count == 1
    assert [a.tolist() for a in back] == [[4, 5, 6], [1, 2, 3]] and len(rest) == 1
    assert [a.tolist() for a in made] == [[4, 5, 6], [5, 6, 7]]
    assert w.get_value().tolist() == [2, 3, 4]
    sums, _ = theano.scan(
        lambda i, lists: lists[i].sum(),
        sequences=[T.arange(typed_list.length(held), dtype="int64")],
        non_sequences=[held],
    )
    assert theano.function([held], sums)([[1, 2, 3], [4, 5]]).tolist() == [6, 9]
    with pytest.raises(TypeError, match="typed list"):
        typed_list.append(v, v)
    with pytest.raises(ValueError, match="not in the list"):
        theano.function([held, v], held.remove(v))([[1]], [2])


def test_sparse_matrices_and_their_gradients():
    scipy = pytest.importorskip("scipy.sparse")
    sparse = theano.sparse
    dense = np.array([[0, 0, -1], [0, -2, 1], [3, 0, 0.0]])
    a = scipy.csr_matrix(dense)
    x, w = sparse.csr_matrix("x", dtype="float64"), theano.shared(np.arange(6.0).reshape(3, 2))
    product = sparse.dot(x, w)
    by_x, by_w = theano.grad((product**2).sum(), [x, w])
    f = theano.function([x], [product, by_x, by_w], updates=[(w, w - 0.1 * by_w)])
    weights = w.get_value()
    found, slope, slope_w = f(a)
    np.testing.assert_allclose(found, dense @ weights)
    np.testing.assert_allclose(slope.toarray(), 2 * (dense @ weights) @ weights.T * (dense != 0))
    np.testing.assert_allclose(slope_w, 2 * dense.T @ (dense @ weights))
    np.testing.assert_allclose(w.get_value(), weights - 0.1 * slope_w)
    data, indices, indptr, shape = sparse.csm_properties(sparse.csc_from_dense(T.dmatrix("d")))
    turned = sparse.CSR(data, indices, indptr, shape[::-1])
    d = turned.owner.inputs[0].owner.inputs[0].owner.inputs[0]
    assert (theano.function([d], turned)(dense).toarray() == dense.T).all()
    held = theano.shared(a, name="held")
    g = theano.function([], sparse.sp_sum(held), updates=[(held, held * 2)])
    assert [float(g()), float(g())] == [1, 2] and held.get_value().toarray()[2, 0] == 12
    parts = theano.function([x], [x.T, x[0:2], -x + x, sparse.structured_add(x, 2)])(a)
    expected = dense.T, dense[:2], 0 * dense, dense + 2 * (dense != 0)
    for got, want in zip(parts, expected):
        np.testing.assert_allclose(got.toarray(), want)
    with pytest.raises(TypeError, match="sparse matrix"):
        f(dense)
    with pytest.raises(TypeError, match="sparse matrix"):
        sparse.dot(w, w)


def test_rewrites_of_users_reach_such_graphs():
    x = double("x")
    swap = gof.TopoOptimizer(gof.OpSub(Times(), Minus()))
    assert theano.function([x], Times()(x, 3), mode=theano.Mode("cvm", swap))(5) == 2.0


class Minus(Times):
    def c_code(self, node, name, inputs, outputs, sub):
        return f"{outputs[0]} = {inputs[0]} - {inputs[1]};"


# ---- sizes that are known when a function runs ---------------------------------------------------


def test_branches_of_two_shapes():
    a, b, c = T.dvector("a"), T.dvector("b"), T.iscalar("c")
    z = ifelse(c, a * 2, b)
    f = theano.function([c, a, b], [z, z.shape, *T.grad((z**2).sum(), [a, b])])
    one, shape, by_a, by_b = f(1, [1, 2, 3], [4, 5])
    assert one.tolist() == [2, 4, 6] and shape.tolist() == [3]
    assert by_a.tolist() == [8, 16, 24] and by_b.tolist() == [0, 0]
    other, _, by_a, by_b = f(0, [1, 2, 3], [4, 5])
    assert other.tolist() == [4, 5] and by_a.tolist() == [0, 0, 0] and by_b.tolist() == [8, 10]
    same = f(0, [1, 2], [4, 5])
    assert [v.tolist() for v in same[2:]] == [[0, 0], [8, 10]]


def test_branches_of_one_shape_stay_lazy():
    class Fails(theano.Op):
        __props__ = ()

        def make_node(self, x):
            return theano.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, storage):
            raise RuntimeError("computed")

        def infer_shape(self, node, shapes):
            return shapes

    x, c = T.dvector("x"), T.iscalar("c")
    f = theano.function([c, x], ifelse(c, Fails()(x), x * 2))
    assert f(0, [1.0]).tolist() == [2]
    with pytest.raises(RuntimeError, match="computed"):
        f(1, [1.0])


@pytest.mark.parametrize("size", [0, 1, 2])
def test_a_shape_that_infer_shape_has_wrong_is_an_error_with_the_op_and_the_line(size):
    """One element was repeated to the size that was told."""

    class Short(theano.Op):
        __props__ = ()

        def make_node(self, x):
            return theano.Apply(self, [x], [x.type(), x.type()])

        def perform(self, node, inputs, storage):
            storage[0][0], storage[1][0] = inputs[0] * 2, inputs[0][:size].copy()

        def infer_shape(self, node, shapes):
            return shapes * 2

    x = T.dvector("x")
    f = theano.function([x], Short()(x)[1] + 1)
    told = rf"output 1 of Short has shape \({size},\); its type and infer_shape say \(5,\)"
    with pytest.raises(ValueError, match=told) as caught:
        f(np.ones(5))
    assert "test_objects.py" in str(caught.value)
    assert f(np.ones(size)).tolist() == [2.0] * size


def test_a_branch_that_is_not_taken_cannot_fail():
    x, y, c, d = T.dmatrix("x"), T.dmatrix("y"), T.iscalar("c"), T.iscalar("d")
    a, square = np.ones((2, 3)), np.zeros((2, 2))
    f = theano.function([c, x, y], ifelse(c, T.dot(x, y), x * 2))
    for _ in range(2):
        assert f(0, a, a).tolist() == [[2] * 3] * 2  # no product of (2, 3) and (2, 3)
        with pytest.raises(ValueError, match="cannot multiply"):
            f(1, a, a)
        assert f(1, a, a.T).tolist() == [[3, 3]] * 2
    f = theano.function([c, x, y], ifelse(c, T.nlinalg.matrix_inverse(x), y))
    assert f(0, square, a).tolist() == a.tolist()
    with pytest.raises(np.linalg.LinAlgError):
        f(1, square, a)
    total = theano.shared(1.0)
    inner = ifelse(T.gt(ifelse(d, x.sum(), T.dot(x, x).sum()), 0), y[0, 0], y[7, 0])
    f = theano.function([c, d, x, y], ifelse(c, inner, T.dot(y, y)[0, 0]),
                        updates=[(total, total + ifelse(d, x[0, 0], x[5, 5]))])  # fmt: skip
    assert f(1, 1, a, a * 4) == 4 and total.get_value() == 2
    for c_value, d_value in ((0, 1), (1, 0)):
        with pytest.raises(ValueError, match="cannot multiply"):
            f(c_value, d_value, a, a)
    assert total.get_value() == 2
    assert f.copy()(1, 1, a, a * 5) == [5] and total.get_value() == 3
    slope = theano.function([c, x, y], T.grad(ifelse(c, T.dot(x, y).sum(), x.sum()), x))
    assert slope(0, a, a).tolist() == [[1] * 3] * 2
    assert slope(1, a, a.T * 2).tolist() == [[4] * 3] * 2


def test_windows_that_are_variables():
    x, w, k = T.dtensor4("x"), T.ivector("w"), T.iscalar("k")
    images = np.random.default_rng(0).random((1, 2, 6, 6))
    fixed = pool_2d(x, (2, 3), ignore_border=True)
    want = theano.function([x], [fixed, T.grad((fixed**2).sum(), x)])(images)
    for sizes, given, value in ((w, w, [2, 3]), ((2, k), k, 3)):
        y = pool_2d(x, sizes, ignore_border=True)
        found = theano.function([x, given], [y, T.grad((y**2).sum(), x)])(images, value)
        for a, b in zip(found, want):
            np.testing.assert_array_equal(a, b)
    with pytest.raises(TypeError, match="integers"):
        pool_2d(x, T.dvector(), ignore_border=True)


def test_a_breakpoint_stops_where_its_condition_holds(monkeypatch, capsys):
    stops = []
    monkeypatch.setattr(breakpoint, "stop", lambda: stops.append(1))
    v = T.dvector("v")
    (seen,) = [breakpoint.PdbBreakpoint("large")(v.sum() > 3, v)]
    f = theano.function([v], [seen * 2, T.grad((seen**2).sum(), v)])
    assert f([1, 1])[0].tolist() == [2, 2] and not stops
    assert f([3, 3])[1].tolist() == [6, 6] and stops
    assert "large" in capsys.readouterr().out


def test_pictures(tmp_path, capsys):
    x = T.dvector("x")
    f = theano.function([x], T.exp(x) * 2)
    theano.d3viz.d3viz(f, str(tmp_path / "graph.html"))
    assert "exp" in (tmp_path / "graph.html").read_text()
    theano.printing.pydotprint(x * 2, outfile=str(tmp_path / "graph.jpg"))
    printed = capsys.readouterr().out
    assert printed == f"The output file is available at {tmp_path / 'graph.svg'}\n"
    assert (tmp_path / "graph.svg").exists()
    assert theano.printing.pydotprint(x * 2, format="svg", return_image=True).startswith("<svg")


@pytest.mark.parametrize("there", [True, False])
def test_pictures_as_png(there, tmp_path, monkeypatch, capsys):
    cairo = types.ModuleType("cairosvg")
    cairo.svg2png = lambda write_to, **kwargs: pathlib.Path(write_to).write_bytes(b"a picture")
    monkeypatch.setitem(sys.modules, "cairosvg", cairo if there else None)
    path = tmp_path / "graph.png"
    theano.printing.pydotprint(T.dvector("x") * 2, outfile=str(path))
    drawn = path if there else path.with_suffix(".svg")
    assert str(drawn) in capsys.readouterr().out and drawn.exists() and path.exists() == there


def test_an_op_that_says_no_to_folding_runs_in_each_call():
    class Counts(theano.Op):
        __props__ = ("folds",)
        runs = 0

        def __init__(self, folds):
            self.folds = folds

        def make_node(self, x):
            x = T.as_tensor_variable(x)
            return theano.Apply(self, [x], [x.type()])

        def infer_shape(self, node, shapes):
            return shapes

        def do_constant_folding(self, node):
            return self.folds

        def perform(self, node, inputs, storage):
            Counts.runs += 1
            storage[0][0] = inputs[0] * 2

    for folds, runs in ((True, 1), (False, 2)):
        Counts.runs = 0
        f = theano.function([], Counts(folds)(np.ones(3)))
        assert f().tolist() == f().tolist() == [2, 2, 2]
        assert Counts.runs == runs


def test_variables_that_a_graph_has_taken_in_are_pickled_without_it():
    items, v = typed_list.TypedListType(T.dvector)("items"), T.dvector("v")
    longer = typed_list.append(items, v)
    graph = gof.FunctionGraph([items, v], [longer], clone=False, features=[gof.toolbox.History()])
    (back,) = pickle.loads(pickle.dumps(graph.outputs))
    assert longer.fgraph is graph and not hasattr(back, "fgraph")
    f = theano.function(back.owner.inputs, back)
    assert [x.tolist() for x in f([np.ones(1)], np.zeros(1))] == [[1], [0]]


def test_functions_with_lists_have_copies_and_pickles():
    items, v = typed_list.TypedListType(T.dvector)("items"), T.dvector("v")
    scale, count = theano.shared(np.ones(2), "scale"), theano.shared(0, "count")
    f = theano.function(
        [items, v],
        [typed_list.append(items, v), items[0] * scale],
        updates=[(count, count + 1), (scale, scale * 2)],
    )
    given = [np.array([1.0, 2.0])], np.array([3.0, 4.0])
    made = [copy.deepcopy(f), pickle.loads(pickle.dumps(f))]
    for g in made:  # on shared variables of their own
        longer, scaled = g(*given)
        assert [x.tolist() for x in longer] == [[1, 2], [3, 4]] and scaled.tolist() == [1, 2]
        assert g(*given)[1].tolist() == [2, 4] and count.get_value() == 0
    other = theano.shared(np.full(2, 10.0))
    swapped, bare = f.copy(swap={scale: other}), f.copy(delete_updates=True)
    assert swapped(*given)[1].tolist() == [10, 20] and other.get_value().tolist() == [20, 20]
    assert scale.get_value().tolist() == [1, 1] and count.get_value() == 1
    bare(*given)
    assert count.get_value() == 1
    with pytest.raises(ValueError, match="does not use"):
        f.copy(swap={other: scale})


class Longer(gof.Op):
    """A list with 1 behind it."""

    __props__ = ()

    def make_node(self, x):
        return gof.Apply(self, [x], [theano.generic()])

    def perform(self, node, inputs, storage):
        storage[0][0] = [*inputs[0], 1]


def test_inputs_with_an_update_beside_what_is_no_tensor():
    thing, total, x = theano.generic(), T.dscalar("total"), T.dscalar("x")
    kept = theano.In(thing, name="kept", value=["a"], update=Longer()(thing))
    summed = theano.In(total, name="total", value=10.0, update=total + x)
    f = theano.function([x, kept, summed], [thing, total * 2])
    assert f(1.0) == [["a"], 20] and f["kept"] == ["a", 1] and f["total"] == 11
    twin = f.copy()
    assert f(2.0) == [["a", 1], 22] and f["total"] == 13
    assert twin["total"] == 11 and twin(5.0, ["b"]) == [["b"], 22]
    assert twin["kept"] == ["b", 1] and twin["total"] == 16 and f["kept"] == ["a", 1, 1]
    f["total"] = 0.0
    assert f(x=1.0, kept=["c"]) == [["c"], 0] and f["total"] == 1
    with pytest.raises(TypeError, match="at most"):
        f(1.0, ["a"], 2.0, 3.0)
    with pytest.raises(ValueError):  # a state is not changed by a call that fails
        f("no number")
    assert f["total"] == 1 and f["kept"] == ["c", 1]
    matrix = theano.sparse.csr_matrix("m")
    grown = theano.In(matrix, name="m", value=sp.csr_matrix(np.eye(2)), update=matrix * 2)
    g = theano.function([thing, grown], [matrix, Longer()(thing)])
    assert g([0])[0].toarray().tolist() == [[1, 0], [0, 1]]
    assert g([0])[0].toarray().tolist() == [[2, 0], [0, 2]] and g["m"].toarray()[0, 0] == 4


def test_choices_between_what_is_no_tensor():
    x, y, c = theano.generic(), theano.generic(), T.iscalar("c")
    f = theano.function([c, x, y], ifelse(c, x, y))
    first, second = ["a"], {"b": 1}
    assert f(1, first, second) is first and f(0, first, second) is second
    with pytest.raises(TypeError, match="branches"):
        ifelse(c, x, Double()())


def test_functions_of_numpy_on_variables():
    """A layer library computes sizes by np.prod of shapes that hold symbols."""
    n, x = T.iscalar(), T.vector()
    size = np.prod((n, 2, 3))
    assert size.eval({n: 4}) == 24 and np.sum([n, n, 1]).eval({n: 4}) == 9
    assert np.array([n, 2])[0] is n and np.asarray(x)[()] is x
    found = [np.clip(x, 0, 1), np.argmax(x), np.reshape(x, (2, -1)), np.dot(x, x), np.cumsum(x)]
    values = theano.function([x], found)([3.0, 0.5, -1.0, 2.0])
    a = np.array([3.0, 0.5, -1.0, 2.0])
    wanted = [a.clip(0, 1), a.argmax(), a.reshape(2, -1), a.dot(a), a.cumsum()]
    for value, expected in zip(values, wanted):
        np.testing.assert_array_equal(value, expected)
    assert np.ndim(x) == 1 and np.shape(x).type.ndim == 1
    with pytest.raises(TypeError):
        np.asarray(x, "float64")


def test_a_reduction_keeps_its_axes_when_it_is_applied():
    """Negative axes mean others in tensors of other ranks; the Apply has an op of its own."""
    op = T.elemwise.Sum(axis=[-1])
    known, text = {op: "mine"}, str(op)
    matrix, cube = T.dmatrix(), T.dtensor3()
    one, two = op(matrix), op(cube)
    assert one.owner.op.axis == (1,) and two.owner.op.axis == (2,)
    assert op.axis == (-1,) and str(op) == text and known[op] == "mine"
    a, b = np.ones((2, 3)), np.ones((2, 3, 4))
    assert one.eval({matrix: a}).tolist() == [3, 3] and two.eval({cube: b}).shape == (2, 3)
    front = T.elemwise.Sum(axis=0)
    assert front(matrix).owner.op is front


def test_inputs_have_theanos_order():
    """Depth first from the last variable of the list: Lasagne's parameters are found in it."""
    a, b, c = T.dscalars("abc")
    inputs, named = theano.gof.graph.inputs, [a, b, c]
    assert [v for v in inputs([a * c, b + a]) if v in named] == [b, a, c]
    assert [v for v in inputs(reversed([a * c, b + a])) if v in named] == [a, c, b]
    assert [v for v in inputs([a * c, b + a], blockers=[a]) if v in named] == [b, a, c]
    made = a * c
    assert inputs([made, b + made], blockers=[made]) == [b]


@pytest.mark.parametrize("s", [slice(1, 3), slice(None, None, -2), slice(-2, None), slice(5, 9)])
def test_slices_as_variables_cut_tensors_and_have_gradients(s):
    x, y, cut = T.dmatrix("x"), T.drow("y"), T.slicetype("s")
    at = np.random.RandomState(1).uniform(-1, 1, (4, 3))
    keys = {
        lambda k: (k,): 2,
        lambda k: (k, 0): 1,
        lambda k: (None, 1, k): 2,
        lambda k: (..., k): 2,
        lambda k: (k, slice(1, None)): 2,
        lambda k: (k, k): 2,
    }
    for key, ndim in keys.items():
        part = x[key(cut)]
        assert part.ndim == ndim and part.dtype == "float64"
        f = theano.function([x, cut], [part, theano.grad((part**3).sum(), x)])
        found, slope = f(at, s)
        np.testing.assert_array_equal(found, at[key(s)])
        want = np.zeros_like(at)
        want[key(s)] = 3 * at[key(s)] ** 2
        np.testing.assert_allclose(slope, want)
    for put in (T.set_subtensor, T.inc_subtensor):
        made = put(x[cut], y)
        f = theano.function([x, y, cut], [made, *theano.grad((made**2).sum(), [x, y])])
        found, by_x, by_y = f(at, [[1.0, 2.0, 3.0]], s)
        want = at.copy()
        want[s] = [1, 2, 3] if put is T.set_subtensor else at[s] + [1, 2, 3]
        np.testing.assert_allclose(found, want)
        np.testing.assert_allclose(by_y, (2 * want[s]).sum(0, keepdims=True))
        slope = 2 * want
        slope[s] = 0 if put is T.set_subtensor else slope[s]
        np.testing.assert_allclose(by_x, slope)


def test_what_goes_with_slices_and_what_fits_is_said():
    x, y, cut = T.dmatrix("x"), T.dmatrix("y"), T.slicetype("s")
    f = theano.function([x, cut], x[cut])
    with pytest.raises(TypeError, match="Expected a slice, not int 3"):
        f(np.ones((2, 2)), 3)
    with pytest.raises(TypeError, match="goes with integers, slices of them"):
        x[cut, T.lscalar()]
    f = theano.function([x, y, cut], T.set_subtensor(x[cut], y))
    with pytest.raises(ValueError, match="does not fit into a part of shape"):
        f(np.ones((3, 2)), np.ones((1, 2)), slice(0, 2))


def test_slices_are_made_of_integers_in_a_graph():
    x, i = T.dvector("x"), T.iscalar("i")
    at = np.arange(8.0)
    for made, want in (
        (make_slice(slice(i, None)), slice(2, None)),
        (make_slice(i, 7, 2), slice(2, 7, 2)),
        (make_slice(None, i - 5, -1), slice(None, -3, -1)),
        (make_slice(slice(None)), slice(None)),
    ):
        slope = theano.grad((x[made] ** 2).sum(), x)
        f = theano.function([x, i], [made, x[made], slope], on_unused_input="ignore")
        bounds, found, by_x = f(at, 2)
        assert bounds == want
        np.testing.assert_array_equal(found, at[want])
        doubled = np.zeros(8)
        doubled[want] = 2 * at[want]
        np.testing.assert_array_equal(by_x, doubled)
    assert make_slice == type(make_slice)() and as_int_none_variable(None) is NoneConst
    for bound in (1.5, T.dscalar(), T.ivector()):
        with pytest.raises(TypeError, match="a bound of a slice is an integer"):
            make_slice(bound)


def test_default_stands_for_none():
    x, y = T.dvectors("xy")
    f = theano.function([x, y], [T.default(x, y) * 2, y + 1])
    for a, want in ([3.0], [6]), (None, [2]):
        found = f(a, [1.0])
        np.testing.assert_array_equal(found[0], want)
        np.testing.assert_array_equal(found[1], [2])
    with pytest.raises(TypeError, match="got None"):
        f([1.0], None)  # y + 1 needs it
    f = theano.function([x, y], T.default(x, y))
    np.testing.assert_array_equal(f([4.0], None), [4])
    with pytest.raises(TypeError, match="None for both"):
        f(None, None)
    with pytest.raises(TypeError, match="one type"):
        T.default(x, T.dmatrix())
    s = theano.shared(2.0)
    assert T.default(s, 1.0) is s
    with pytest.raises(theano.gradient.NullTypeGradError):
        theano.grad(T.default(x, y).sum(), y)


def test_a_state_that_may_be_none():
    x, y = T.dscalars("xy")
    new = y + T.default(x, 3.8)
    f = theano.function([y, theano.In(x, update=new, value=12.0)], new)
    assert f(3) == 15 and f["x"] == 15
    f["x"] = None
    assert f["x"] is None
    np.testing.assert_allclose([f(1), f(2.2), f["x"]], [4.8, 7.0, 7.0])


class Counted(gof.Op):
    """How often it was computed, with the rule of folding as Theano-PyMC has it."""

    __props__, calls = (), 0

    def make_node(self, x):
        return gof.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        type(self).calls += 1
        outputs[0][0] = inputs[0] + type(self).calls

    def do_constant_folding(self, fgraph, node):
        return False


def test_an_op_says_by_the_later_signature_that_it_is_not_folded():
    f = theano.function([], Counted()(T.constant(1.0)))
    first = float(f())
    assert float(f()) == first + 1


def test_clones_keep_test_values():
    x, y = T.dvectors("xy")
    with theano.config.change_flags(compute_test_value="raise"):
        x.tag.test_value = y.tag.test_value = np.ones(2)
        made = theano.clone(T.exp(x) * 2, {x: y})
        np.testing.assert_allclose(made.tag.test_value, 2 * np.exp(np.ones(2)))
        np.testing.assert_allclose((made + 1).tag.test_value, 1 + 2 * np.exp(np.ones(2)))


def test_an_array_of_one_variable():
    x = T.dvector("x")
    for given in (x, [x]):
        made = np.atleast_1d(given)
        assert made.dtype == object and made.shape == (1,) and made[0] is x
