"""What programs look into or import by name: ops of convolutions, scans and sparse matrices,
DebugMode's findings, files, storage that two variables share."""

import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse

import ckernels.compat.theano as theano
import ckernels.compat.theano.sparse as S
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano.compile import debugmode
from ckernels.compat.theano.gof.graph import ancestors, io_connection_pattern
from ckernels.compat.theano.scan_module.scan_op import Scan
from ckernels.compat.theano.tensor.nnet import abstract_conv, corr
from ckernels.errors import ArgumentError, CKernelsError, NotSupported, UsageError


def op_of(kind, variable):
    found = [v.owner.op for v in ancestors([variable]) if v.owner is not None]
    return next(op for op in found if isinstance(op, kind))


# ---- writing into parts ----


@pytest.mark.parametrize("x, y", [("float32", "float64"), ("int8", "int32"), ("int64", "float32")])
@pytest.mark.parametrize("put", [True, False])
def test_what_is_written_into_a_part_is_cast(x, y, put):
    a, b = np.arange(4).astype(x), np.array([5.75, 6.25]).astype(y)
    v, w = T.TensorType(x, [False])(), T.TensorType(y, [False])()
    found = (T.set_subtensor if put else T.inc_subtensor)(v[1:3], w)
    want = a.copy()
    want[1:3] = b if put else want[1:3] + b.astype(x)
    got = found.eval({v: a, w: b})
    assert found.dtype == x and got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_complex_numbers_are_not_written_into_real_ones():
    with pytest.raises(UsageError, match="real or imaginary part"):
        T.set_subtensor(T.dvector()[:1], T.zvector())
    assert T.set_subtensor(T.zvector()[:1], T.dvector()).dtype == "complex128"


# ---- DebugMode ----


class Doubled(theano.gof.Op):
    """2 x, in its input, or as a view of it where `how` is "view"."""

    __props__ = ("how", "says")

    def __init__(self, how, says=False):
        self.how, self.says = how, says
        if says:
            setattr(self, {"write": "destroy_map", "view": "view_map"}[how], {0: [0]})

    def make_node(self, x):
        return theano.gof.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, storage):
        if self.how == "write":
            inputs[0][...] *= 2
            storage[0][0] = inputs[0].copy()
        else:
            storage[0][0] = inputs[0] if self.how == "view" else inputs[0] * 2


@pytest.mark.parametrize(
    "how, error", [("write", debugmode.BadDestroyMap), ("view", debugmode.BadViewMap)]
)
def test_debugmode_sees_what_an_op_does_to_memory(how, error):
    x = T.dvector()
    f = theano.function([x], Doubled(how)(x + 1), mode="DebugMode")
    with pytest.raises(error, match="Doubled"):
        f([1.0, np.nan])
    assert issubclass(error, debugmode.DebugModeError) and issubclass(error, CKernelsError)
    declared = theano.function([x], Doubled(how, True)(x + 1), mode="DebugMode")
    assert len(declared([1.0, np.nan])) == 2  # NaN is equal to itself here
    assert theano.function([x], Doubled("copy")(x + 1), mode="DebugMode")([1.0])[0] == 4
    assert len(theano.function([x], Doubled(how)(x + 1))([1.0])) == 1  # no other mode looks


# ---- storage, givens, flags ----


def test_two_shared_variables_on_one_storage():
    a = theano.shared(np.zeros(3))
    b = T.sharedvar.TensorSharedVariable("b", a.type, None, None, container=a.container)
    f = theano.function([], [a, a + b], updates=[(b, b + a + 1)])
    assert f()[1].tolist() == [0, 0, 0] and f()[1].tolist() == [2, 2, 2]
    assert a.get_value().tolist() == b.get_value().tolist() == [3, 3, 3]
    with pytest.raises(ArgumentError, match="one storage"):
        theano.function([], a, updates=[(a, a + 1), (b, b + 2)])


def test_givens_of_another_dtype_where_that_is_allowed():
    x, y = T.fvector("x"), T.dvector("y")
    with pytest.raises(CKernelsError):
        theano.function([y], x * 2, givens={x: y})
    f = theano.function([y], x * 2, givens={x: y}, rebuild_strict=False)
    assert f([1e-300])[0] == 2e-300


def test_the_flag_int_division():
    i, x = T.iscalar(), T.dscalar()
    with theano.change_flags(int_division="raise"):
        with pytest.raises(theano.scalar.IntegerDivisionError):
            i / 2
        assert (x / i).dtype == "float64" and (i // 2).dtype == "int32"
    assert (i / 2).dtype == "float64"


def test_a_copy_is_named_after_its_function():
    x = T.dscalar()
    f = theano.function([x], x, name="old")
    assert f.copy().name == "old copy" and f.copy(name="new").name == "new"
    assert theano.function([x], x).copy().name is None


# ---- convolutions ----


def test_ops_of_convolutions_have_their_classes():
    x, w, images = T.tensor4(), T.tensor4(), np.random.default_rng(0).normal(size=(2, 3, 6, 6))
    y = T.nnet.conv2d(x, w, filter_shape=(4, 3, 2, 2), subsample=(2, 1))
    op = y.owner.op
    assert type(op) is abstract_conv.AbstractConv2d and not isinstance(op, corr.CorrMM)
    assert op.subsample == (2, 1) and op.kshp == (4, 3, 2, 2) and op.filter_flip
    again = op.make_node(x, w).outputs[0]
    filters = images[:, :, :2, :2].repeat(2, 0)
    values = [v.eval({x: images, w: filters}) for v in (y, again)]
    np.testing.assert_array_equal(*values)
    plain = T.nnet.conv2d(x, w, filter_flip=False)
    mm = corr.CorrMM()(x, w)
    assert mm.owner.op.filter_flip is False
    np.testing.assert_array_equal(*[v.eval({x: images, w: filters}) for v in (plain, mm)])
    back = abstract_conv.conv2d_grad_wrt_inputs(plain, w, (2, 3, 6, 6))
    assert isinstance(back.owner.op, abstract_conv.AbstractConv2d_gradInputs)


@pytest.mark.parametrize("groups", [1, 2])
def test_unshared_filters_that_are_variables(groups):
    x, w = T.tensor4(), T.TensorType("float64", [False] * 6)()
    shapes = (2, 4, 5, 5), (6, 4, 3, 4 // groups, 2, 3)
    y = T.nnet.conv2d(x, w, *shapes, unshared=True, num_groups=groups, filter_flip=False)
    rng = np.random.default_rng(1)
    a, k = rng.normal(size=shapes[0]), rng.normal(size=shapes[1])
    got, want = y.eval({x: a, w: k}), np.zeros((2, 6, 4, 3))
    for o in range(6):
        low = o // (6 // groups) * (4 // groups)
        for i, j in np.ndindex(4, 3):
            part = a[:, low : low + 4 // groups, i : i + 2, j : j + 3]
            want[:, o, i, j] = (part * k[o, i, j]).sum((1, 2, 3))
    np.testing.assert_allclose(got, want, rtol=1e-12)
    with pytest.raises(CKernelsError):  # each call checks the sizes
        y.eval({x: a, w: k[:4]})


# ---- scan, sparse, files ----


def test_the_op_of_a_scan_shows_its_step():
    x, n = T.dvector("x"), T.dscalar("n")
    states, _ = theano.scan(
        lambda row, b, a: [a + b * n, row * 2],
        sequences=x,
        outputs_info=[{"initial": T.dvector("start"), "taps": [-2, -1]}, None],
    )
    op = op_of(Scan, states[0][-1])
    want = {"n_seqs": 1, "n_mit_sot": 1, "n_sit_sot": 0, "n_nit_sot": 1, "n_mit_mot": 0}
    assert want.items() <= op.info.items() and not op.as_while
    assert len(op.inputs) == 3 and len(op.outputs) == 2
    assert n in ancestors(op.outputs)
    gradient = theano.grad(states[0].sum(), n)
    engine = [
        v.owner.op for v in ancestors([gradient]) if isinstance(getattr(v.owner, "op", 0), Scan)
    ]
    for op in engine:
        if op.call is None:
            with pytest.raises(UsageError, match="of a gradient"):
                op.inputs  # noqa: B018


def test_the_op_of_a_scan_sorts_its_inputs():
    """What no step reads is no input, neither of the step nor of the loop."""
    x, w, unread = T.dmatrix("x"), T.dmatrix("w"), T.dvector("unread")
    rows, _ = theano.scan(
        lambda row, b, _, a: a.dot(row) + b, x, T.dvector("start"), [unread, w], n_steps=3
    )
    node = next(v.owner for v in ancestors([rows]) if isinstance(getattr(v.owner, "op", 0), Scan))
    op = node.op
    row, state, kept = op.inputs
    assert op.inner_seqs(op.inputs) == [row] and row.name == "x[t]"
    assert op.inner_non_seqs(op.inputs) == [kept] and kept.name == "w"
    assert op.outer_non_seqs(node) == [w] == op.outer_non_seqs(node.inputs)
    assert op.outer_seqs(node) == [node.inputs[1]] and state.ndim == 1


def test_states_of_a_scan_are_cut_from_a_whole_that_begins_with_their_first_values():
    x, start = T.dmatrix("x"), T.dmatrix("start")
    (sums, twice), _ = theano.scan(
        lambda row, a, b: [a + b + row, row * 2],
        sequences=x,
        outputs_info=[{"initial": start, "taps": [-2, -1]}, None],
    )
    assert isinstance(sums.owner.op, T.subtensor.Subtensor)
    assert isinstance(twice.owner.op, Scan)  # nothing comes before its rows
    whole = sums.owner.inputs[0]
    assert isinstance(whole.owner.op, Scan) and str(whole.owner.op) == "for{cpu,scan_fn}"
    rows, first = np.arange(6.0).reshape(3, 2), np.ones((2, 2))
    want = [*first]
    for row in rows:
        want.append(want[-2] + want[-1] + row)
    f = theano.function([x, start], [whole, sums, theano.grad(whole.sum(), start)])
    again = pickle.loads(pickle.dumps(f))
    for g in (f, again):
        a, b, slope = g(rows, first)
        assert a.tolist() == np.array(want).tolist() and b.tolist() == a[2:].tolist()
        assert slope.tolist() == [[5.0, 5.0], [7.0, 7.0]]  # 1 + 1 + 1 + 2, and 1 + 1 + 2 + 3
    y = T.dmatrix("y")
    other = theano.clone(sums, {x: y})
    assert other.eval({y: rows, start: first}).tolist() == b.tolist()
    n = T.iscalar("n")
    ends, _ = theano.scan(
        lambda a: (a * 2, theano.scan_module.until(a > 3)), outputs_info=T.dscalar("a"), n_steps=n
    )
    assert not isinstance(ends.owner.op, T.subtensor.Subtensor)  # of the steps that ran
    for steps in (0, 1):
        assert len(f(rows[:steps], first)[0]) == 2 + steps


def test_graphs_are_walked_in_the_order_of_theano():
    a, b, c = T.dvectors("a", "b", "c")
    left, right = T.exp(a), T.log(b)
    y = left + right * c
    order = theano.gof.graph.io_toposort([a, b, c], [y])
    assert [n.outputs[0] for n in order] == [right, y.owner.inputs[1], left, y]
    needs = {1: [2, 3], 2: [4], 3: [4, 5], 4: [], 5: []}
    users = {}
    order = theano.gof.graph.general_toposort([1], needs.get, clients=users)
    assert order == [5, 4, 3, 2, 1] and users[4] == [3, 2]
    with pytest.raises(ValueError, match="cycles"):
        theano.gof.graph.general_toposort([1], {1: [2], 2: [1]}.get)


def test_flags_are_listed_as_programs_go_over_them():
    listed = {v.fullname: v for v in theano.configparser._config_var_list}
    flag, before = listed["compute_test_value"], theano.config.compute_test_value
    try:
        flag.__set__(None, "warn")
        assert theano.config.compute_test_value == flag.__get__(True, None) == "warn"
        with pytest.raises(ValueError, match="compute_test_value"):
            flag.__set__(None, "sideways")
    finally:
        theano.config.compute_test_value = before
    assert "gcc.cxxflags" in listed and listed["gcc.cxxflags"].name == "cxxflags"


def test_a_row_is_taken_where_a_matrix_is_wanted():
    x, row = T.dmatrix("x"), T.drow("row")
    double = theano.OpFromGraph([x], [x * 2])
    assert double(row).eval({row: [[1.0, 2.0]]}).tolist() == [[2.0, 4.0]]
    assert not x.type.filter_variable(row).broadcastable[0]
    for other in (T.fmatrix("f"), T.dvector("v")):
        with pytest.raises(TypeError):
            x.type.filter_variable(other)


def test_relu_of_an_array_is_an_array():
    x = np.array([-2.0, 0.0, 3.0, np.nan], "float32")
    for alpha, want in ((0, [0, 0, 3, np.nan]), (0.5, [-1, 0, 3, np.nan])):
        found = T.nnet.relu(x, alpha)
        assert type(found) is np.ndarray and found.dtype == "float32"
        np.testing.assert_array_equal(found, want)
    assert T.nnet.relu(T.fvector("x")).dtype == "float32"


def test_ops_of_sparse_matrices_by_name():
    a, x, y, z = T.dscalar(), S.csr_matrix(), T.dmatrix(), T.dmatrix()
    m = scipy.sparse.random(4, 3, 0.5, "csr", random_state=0)
    values = {a: 2.0, x: m, y: np.ones((3, 2)), z: np.ones((4, 2))}
    made = S.Usmm()(a, x, y, z)
    assert type(made.owner.op) is S.Usmm and type(S.usmm(a, x, y, z).owner.op) is S.Usmm
    np.testing.assert_allclose(
        theano.function([a, x, y, z], made)(*values.values()), 2 * (m @ values[y]) + 1
    )
    total = theano.function([x], S.SpSum(axis=1)(x))
    np.testing.assert_allclose(total(m), np.asarray(m.sum(1)).ravel())
    assert S.SpSum(axis=1) != S.SpSum(axis=0) and S.Usmm() == S.Usmm()
    assert theano.function([x], S.SparseFromDense("csc")(S.DenseFromSparse()(x)))(m).format == "csc"


def test_load_reads_the_file_in_each_call(tmp_path):
    path = theano.gof.Variable(theano.gof.generic, None)
    f = theano.function([path], T.load(path, "float64", (False,)) * 2)
    for n in (3, 0):
        np.save(tmp_path / "a.npy", np.arange(float(n)))
        assert f(str(tmp_path / "a.npy")).tolist() == [2.0 * k for k in range(n)]
    np.save(tmp_path / "b.npy", np.arange(3, dtype="float32"))
    with pytest.raises(CKernelsError, match="holds float32"):
        f(str(tmp_path / "b.npy"))
    with pytest.raises(ArgumentError, match="mmap_mode"):
        T.load(path, "float64", (False,), "w+")


def test_arrays_are_named_after_their_shared_variables(tmp_path):
    from ckernels.compat.theano.misc.pkl_utils import dump, load

    held = [
        theano.shared(np.full(3, k), name=n) for k, n in ((1.0, "foo"), (2.0, "foo"), (3.0, None))
    ]
    with open(tmp_path / "a.zip", "wb") as file:
        dump((*held, np.zeros(2)), file)
    names = zipfile.ZipFile(tmp_path / "a.zip").namelist()
    assert names == ["foo", "foo_2", "array_0", "array_1", "pkl"]
    with open(tmp_path / "a.zip", "rb") as file:
        back = load(file)
    assert [v.get_value()[0] for v in back[:3]] == [1, 2, 3]


# ---- names ----


def test_modules_that_import_and_say_what_there_is_not():
    from ckernels.compat.theano import gpuarray
    from ckernels.compat.theano.gof import compilelock

    assert gpuarray.pygpu_activated is False
    assert not gpuarray.dnn.dnn_present() and "no GPU" in gpuarray.dnn.dnn_present.msg
    with pytest.raises(NotSupported, match="no GPU"):
        gpuarray.init_dev("cuda0")
    with compilelock.lock_ctx():
        compilelock.get_lock()
    names = {}
    exec("from ckernels.compat.theano import *", names)
    assert names["np"] is np and names["theano"] is theano and names["compile"] is theano.compile


def test_grids_by_counts_of_points_are_refused():
    with pytest.raises(NotImplementedError, match="counts points"):
        T.mgrid[0:1:5j]
    with pytest.raises(NotImplementedError, match="counts points"):
        T.ogrid[0:1:5j, 0:2]
    assert T.mgrid[0:3].eval().tolist() == [0, 1, 2]


def test_which_inputs_reach_which_outputs():
    x, y, z = T.dscalars("xyz")
    assert io_connection_pattern([x, y, z], [x * 2 + y, y]) == [
        [True, False],
        [True, True],
        [False] * 2,
    ]
    cut = theano.gradient.disconnected_grad(x)
    assert io_connection_pattern([x], [x + 1, cut])[0][0] is True
