"""theano.function: the conventions of calls, inputs, outputs, updates, givens, states, copies."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.base.errors import CKernelsError
from ckernels.compat.theano.compile import UnusedInputError
from ckernels.compat.theano.gof import MissingInputError
from ckernels.compat.theano.ifelse import ifelse
from ckernels.theano.compile.branches import Choosing


def test_a_list_is_one_array():
    x = T.dvector("x")
    np.testing.assert_array_equal(theano.function([x], x * 2)([1, 2, 3]), [2, 4, 6])


def test_floats_that_would_lose_precision_are_refused():
    x = T.fvector("x")
    f = theano.function([x], x * 2)
    with pytest.raises(TypeError, match="float32"):
        f(np.ones(3))
    assert f(np.ones(3, "float32")).dtype == "float32"
    assert theano.function([x], x, allow_input_downcast=True)(np.ones(3)).dtype == "float32"


def test_defaults_names_and_dictionaries():
    x, y, w = T.dscalars("x", "y", "w")
    f = theano.function(
        [x, theano.In(y, value=1), theano.In(w, value=2, name="w_by_name")], (x + y) * w
    )
    assert [
        float(v)
        for v in (f(33), f(33, 2), f(33, 0, 1), f(33, w_by_name=1), f(33, w_by_name=1, y=0))
    ] == [68, 70, 33, 34, 33]
    found = theano.function([x], {"double": x * 2, "half": x / 2})(4)
    assert {k: float(v) for k, v in found.items()} == {"double": 8, "half": 2}


def test_updates_see_old_values_and_copies_have_their_own():
    state, new_state, inc = theano.shared(0), theano.shared(0), T.iscalar("inc")
    f = theano.function([inc], state, updates=[(state, state + inc)])
    assert [int(f(1)), int(f(300)), int(state.get_value())] == [0, 1, 301]
    g = f.copy(swap={state: new_state})
    assert g(100)[0] == 0 and int(new_state.get_value()) == 100
    h = f.copy(delete_updates=True)
    assert h(9000)[0] == 301 == int(state.get_value())


def test_inputs_with_an_update_are_states():
    x, s = T.scalars("x", "s")
    f = theano.function([x, theano.In(s, update=s + x, value=10.0)], s)
    assert [float(f(3)), float(f(4)), float(f["s"]), float(f[s])] == [10, 13, 17, 17]
    f["s"] = 1
    assert float(f.value["s"]) == 1 and float(f.container[s].value) == 1


def test_givens_mean_the_handle_they_are_given():
    x, y = T.dvector("x"), T.dvector("y")
    a, b = x[1:], x[1:]
    f = theano.function([x, y], a * 10 + b, givens={a: y})
    np.testing.assert_array_equal(f([1, 2, 3], [5, 6]), [52, 63])
    f = theano.function([a, x], (a * b).sum())
    assert float(f([1, 1], [9, 2, 3])) == 5


def test_unused_and_missing_inputs():
    x, y = T.dscalars("x", "y")
    with pytest.raises(UnusedInputError):
        theano.function([x, y], x)
    with pytest.raises(MissingInputError):
        theano.function([x], x + y)
    with pytest.warns(UserWarning):
        theano.function([x, y], x, on_unused_input="warn")
    assert issubclass(UnusedInputError, (ValueError, CKernelsError))


def test_constants_and_shared_variables_are_no_inputs():
    for wrong in (T.constant(1.0), theano.shared(1.0)):
        with pytest.raises(TypeError):
            theano.function([wrong], wrong)


def test_subsets_of_outputs():
    x = T.dscalar("x")
    f = theano.function([x], [x, x * 2, x * 3])
    assert [float(v) for v in f(1, output_subset=[0, 2])] == [1, 3]


def test_functions_graphs_and_variables_pickle():
    x, w = T.dmatrix("x"), theano.shared(np.eye(3), "w")
    y = T.tanh(x.dot(w)).sum(axis=0)
    f = theano.function([x], y, updates=[(w, w * 2)])
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_allclose(again(np.ones((2, 3))), f(np.ones((2, 3))))
    y2, w2 = pickle.loads(pickle.dumps((y, w)))
    assert [v.name for v in theano.gof.graph.inputs([y2])] == ["x", "w"]
    assert theano.gof.graph.inputs([y2])[1] is w2
    twin = copy.deepcopy(w)
    twin.set_value(np.zeros((3, 3)))
    assert w.get_value().any()


def test_default_updates_belong_to_the_variable():
    s = theano.shared(1.0, "s")
    twin = s.clone()
    s.default_update = s + 1
    theano.function([], twin)()
    assert float(s.get_value()) == 1
    theano.function([], s)()
    assert float(s.get_value()) == 2 == float(twin.get_value())


def test_truth_of_variables():
    """`if not W:` asks whether there is one; what a comparison says is not known yet."""
    x = T.dvector()
    assert x and x + 1 and T.eq(x, 2)
    for compared in (x < 2, x <= 2, x > 2, x >= 2, 2 < x):
        with pytest.raises(TypeError, match="comparison"):
            bool(compared)


def test_axes_that_are_not_there():
    for change in (T.addbroadcast, T.unbroadcast):
        with pytest.raises(ValueError, match="no axis 5 in a tensor of 2 dimensions"):
            change(T.dmatrix(), 5)
    assert T.addbroadcast(T.dmatrix(), -1).broadcastable == (False, True)


def test_rows_of_scan_are_as_broadcastable_as_the_step_says():
    """Keras's rnn squeezes its rows: an axis of size 1 that the step calls unknown stays."""
    x, v = T.imatrix(), T.ivector()

    def step(row, *state):
        column = T.unbroadcast(row.dimshuffle(0, "x"), 1)
        return column, column + sum(state), row.dimshuffle(0, "x")

    first = T.unbroadcast(v.dimshuffle(0, "x"), 1)
    (plain, state, known), _ = theano.scan(step, x, [None, first, None])
    assert plain.broadcastable == state.broadcastable == (False, False, False)
    assert known.broadcastable == (False, False, True)
    f = theano.function([x, v], [T.squeeze(plain), T.squeeze(state), T.squeeze(known)])
    rows = np.arange(6, dtype="int32").reshape(3, 2)
    plain, state, known = f(rows, rows[1])
    np.testing.assert_array_equal(plain, rows[:, :, None])
    np.testing.assert_array_equal(state, rows.cumsum(0)[:, :, None] + rows[1][:, None])
    np.testing.assert_array_equal(known, rows)


def test_variables_have_no_length():
    for x in (T.dmatrix(), T.constant([1.0, 2.0]), theano.shared(np.ones(3))):
        assert not hasattr(x, "__len__")
        with pytest.raises(TypeError, match="has no len"):
            len(x)


def test_calls_with_keywords_take_another_way_and_hold_nothing():
    x, y = T.dscalars("x", "y")
    f = theano.function([x, y], [x + y, x * y], updates={}.items())
    assert [float(v) for v in f(y=2, x=3)] == [5, 6]
    assert [float(v) for v in f(3, 2, output_subset=[1])] == [6]
    with pytest.raises(TypeError, match="Unknown input"):
        f(1, z=2)
    with pytest.raises(TypeError, match="Missing required input: y"):
        f(1)
    gone = weakref.ref(f), weakref.ref(f.fast)
    gc.disable()
    try:
        del f
        assert [g() for g in gone] == [None, None]
    finally:
        gc.enable()
    assert theano.function([x], x.size + x)(1) == 2


def test_what_an_inner_input_hides_is_unused():
    m = T.dmatrix("m")
    mt = m.T
    with pytest.raises(UnusedInputError, match="index 0"):
        theano.function([m, mt], mt * 2)
    f = theano.function([m, mt], mt * 2, on_unused_input="ignore")
    np.testing.assert_array_equal(f(np.zeros((2, 3)), np.ones((3, 2))), np.full((3, 2), 2.0))
    x, s = T.dscalars("x", "s")
    with pytest.raises(UnusedInputError):
        theano.function([s], x)
    with pytest.raises(MissingInputError):
        theano.function([s], x, on_unused_input="ignore")
    with pytest.raises(MissingInputError, match="needs s"):
        theano.function([theano.In(x, update=s + x)], x)


def test_givens_of_more_dimensions_where_that_is_allowed():
    w, x, y = T.imatrix("w"), T.ivector("x"), T.ivector("y")
    f = theano.function([w, y], x * y, givens={x: w}, rebuild_strict=False)
    a, b = np.arange(6, dtype="int32").reshape(2, 3), np.arange(3, dtype="int32")
    np.testing.assert_array_equal(f(a, b), a * b)
    with pytest.raises(TypeError, match="cannot stand"):
        theano.function([w, y], x * y, givens={x: w})


def test_pfunc_and_what_it_refuses():
    x = theano.shared(2.0)
    x.default_update = x + 1
    y = T.dscalar("y")
    f = theano.compile.pfunc(params=[y], outputs=x * y, no_default_updates=[x])
    assert f(3) == f(3) == 6
    for wrong in (x, "x"):
        with pytest.raises(TypeError, match="no_default_updates"):
            theano.compile.pfunc([y], x * y, no_default_updates=wrong)
    undefined = theano.gradient.grad_undefined(T.add, 0, y)
    with pytest.raises(TypeError, match="undefined"):
        theano.function([y], undefined)


def test_functions_are_dumped_as_they_were_asked_for(tmp_path):
    x, s = T.dvector("x"), theano.shared(np.ones(2), "s")
    theano.function_dump(tmp_path / "f.pkl", [x], x + s, updates={s: s * 2}, name="twice")
    with open(tmp_path / "f.pkl", "rb") as file:
        f = theano.function(**pickle.load(file))
    assert f.name == "twice"
    assert [f([1, 2]).tolist(), f([1, 2]).tolist()] == [[2, 3], [3, 4]]


def test_a_clone_shares_no_input_where_that_is_asked():
    x, y, z, s = T.dvector("x"), T.dvector("y"), T.dvector("z"), theano.shared(0.5)
    made = theano.clone(s * (x + y) ** 2, replace={y: z}, share_inputs=False)
    found = theano.gof.graph.inputs([made])
    assert not {x, y, z, s} & set(found) and [v.name for v in found if v.name] == ["x", "z"]
    kept = theano.clone(s * (x + y) ** 2, replace={y: z})
    assert {x, z, s} <= set(theano.gof.graph.inputs([kept]))


def test_functions_with_choices_are_the_engines_until_a_branch_fails():
    c, x = T.dscalar("c"), T.dvector("x")
    made = ifelse(c > 0, x.reshape((2, 2)).sum(axis=0), x - 1)
    f = theano.function([c, x], made)
    plain = f.fast
    assert f(1, np.ones(4)).tolist() == [2, 2] and f(0, np.ones(4)).tolist() == [0, 0, 0, 0]
    assert not isinstance(f.fast, Choosing) or not hasattr(type(plain), "rescue")
    assert f(c=0, x=np.ones(3)).tolist() == [0, 0, 0]  # the reshape would fail
    assert isinstance(f.fast, Choosing)
    assert f(x=np.ones(4), c=1).tolist() == [2, 2] and f(0, np.ones(5)).tolist() == [0] * 5
    with pytest.raises(ValueError, match="reshape"):
        f(1, np.ones(3))
    with pytest.raises(TypeError):
        f(1)
    twin = copy.copy(f)
    assert twin(0, np.ones(3)).tolist() == [0, 0, 0]
    named = theano.function([c, x], {"made": made})
    assert named(0, np.ones(3))["made"].tolist() == [0, 0, 0]
    assert named(c=1, x=np.ones(4))["made"].tolist() == [2, 2]
    gone = weakref.ref(f)
    del f, twin
    gc.collect()
    assert gone() is None


def test_a_copy_gives_a_list_and_a_copied_object_what_the_function_gave():
    x, total = T.dscalar("x"), theano.shared(1.0)
    f = theano.function([x], x * total, updates=[(total, total + 1)])
    assert f.copy()(2.0) == [2] and copy.copy(f)(2.0) == 4 and f(2.0) == 6
    twin = copy.deepcopy(f)
    assert twin(2.0) == 8 == f(2.0) and total.get_value() == 5
    named = theano.function([x], {"y": x}).copy()
    assert named(1.0) == {"y": 1}


def test_trust_input_takes_arrays_of_the_type_and_nothing_else():
    x, s = T.dscalar("x"), theano.shared(2.0)
    f = theano.function([x], x * s)
    assert not f.trust_input and f(3) == 6
    f.trust_input = True
    assert f(np.array(3.0)) == 6
    for wrong in (3.0, 3, np.float64(3), np.array([3.0]), np.array(3, "float32")):
        with pytest.raises(ValueError, match="with trust_input the argument at index 0"):
            f(wrong)
    assert copy.deepcopy(f).trust_input
    f.trust_input = False
    assert f(3) == 6


def test_who_keeps_or_overwrites_inputs_can_be_asked():
    x, s = T.dvector("x"), theano.shared(1.0)
    for inputs, kept in ((x, False), (theano.In(x, borrow=True), True),
                         (theano.In(x, mutable=True), True)):  # fmt: skip
        f = theano.function([inputs], x + 1, updates=[(s, s + 1)])
        assert f._check_for_aliased_inputs is kept
        f._check_for_aliased_inputs = not kept
        assert f._check_for_aliased_inputs is not kept and (f([1.0]) == 2).all()


def test_functions_that_are_copied_beside_their_variables_know_the_copies():
    x, s = T.dscalars("x", "s")
    f = theano.function([x, theano.In(s, update=s + x, value=0.0)], s)
    g = theano.function([x, theano.In(s, update=s - x, value=f.container[s])], s)
    assert f.container[s].storage is g.container[s].storage
    assert isinstance(f.container[s].storage, list) and list(f.container[s].storage) == [0]
    s2, f2, g2 = copy.deepcopy([s, f, g])
    assert s2 is not s and f2.container[s2].storage is g2.container[s2].storage
    f2(3.0)
    g2(1.0)
    assert f2[s2] == 2 == g2[s2] and f[s] == 0
    with pytest.raises(KeyError):
        f2[s]


def test_a_shared_bool_is_a_tensor():
    training = theano.shared(True)
    assert training.dtype == "bool" and training.ndim == 0
    f = theano.function([], T.switch(training, 1.0, 2.0))
    assert f() == 1
    training.set_value(False)
    assert f() == 2


def test_the_number_of_a_state_is_one_object_until_it_changes():
    x, s = T.dscalars("x", "s")
    inc = theano.function([x, theano.In(s, update=s + x, value=10.0)], [])
    dec = theano.function([x, theano.In(s, update=s - x, value=inc.container[s])], [])
    assert dec[s] is inc[s] and inc["s"] is inc.value[s]
    held = inc[s]
    held += 5  # no write to the state
    assert inc[s] == 10
    inc(1.0)
    assert dec[s] == 11 and held == 15


def test_fn_takes_what_the_storages_have():
    x, y = T.dvector("x"), T.dscalar("y")
    f = theano.function([x, y], [x * y, x.sum()])
    f.input_storage[0].storage[0] = np.array([1.0, 2.0])
    f.input_storage[1].value = 3.0
    f.fn()
    np.testing.assert_array_equal(f.output_storage[0].value, [3, 6])
    assert f.output_storage[1].storage[0] == f.output_storage[1].data == 3
    f.input_storage[1].storage[0] = 4.0
    f.fn(n_calls=2)
    np.testing.assert_array_equal(f.output_storage[0].data, [4, 8])
    with pytest.raises(TypeError):
        f.input_storage[0].storage[0] = np.ones((2, 2))
    g = theano.function([x], x + 1)
    with pytest.raises(TypeError):
        g.fn()  # nothing was put there
    g.fn(np.ones(1))
    np.testing.assert_array_equal(g.output_storage[0].value, [2])


def test_updates_are_of_the_type_of_their_variable():
    s = theano.shared(np.ones((2, 2)), name="s")
    total = s.sum().dimshuffle("x", "x")
    with pytest.raises(TypeError, match=r"make them the same, as tensor.unbroadcast"):
        theano.function([], [], updates={s: total})
    f = theano.function([], [], updates={s: T.unbroadcast(total, 0, 1)})
    f()
    np.testing.assert_array_equal(s.get_value(), [[4.0]])


def test_what_a_shared_variable_lends_is_its_value():
    from ckernels.compat.theano.misc.may_share_memory import may_share_memory

    s = theano.shared(np.arange(4.0))
    lent = s.get_value(borrow=True)
    assert may_share_memory(lent, s.container.value) and may_share_memory(
        lent, s.container.storage[0]
    )
    assert not may_share_memory(lent, s.get_value())
    lent *= 2
    s.set_value(lent, borrow=True)
    assert s.get_value(borrow=True) is lent
    double = theano.function([], s * 2, updates={s: s + 1})
    np.testing.assert_array_equal(double(), [0, 4, 8, 12])
    np.testing.assert_array_equal(lent, [0, 2, 4, 6])  # an update makes another array
    np.testing.assert_array_equal(s.get_value(), [1, 3, 5, 7])
    s.container.value[:] = 1
    np.testing.assert_array_equal(double(), [2, 2, 2, 2])


def test_memory_of_sparse_matrices_and_of_neither():
    import scipy.sparse

    from ckernels.compat.theano.misc.may_share_memory import may_share_memory

    a = scipy.sparse.csr_matrix(np.eye(3))
    assert may_share_memory(a, a.data) and may_share_memory(a[:0], a[:0]) in (True, False)
    assert not may_share_memory(a, a.copy()) and may_share_memory(a.indices[1:], a)
    assert not may_share_memory(a, 1, raise_other_type=False)
    with pytest.raises(TypeError, match="csr_matrix and int"):
        may_share_memory(a, 1)
