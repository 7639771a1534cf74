"""What gof and scalar promise of types, variables and Apply nodes, and of ops of single numbers."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse

import ckernels.compat.theano as theano
import ckernels.compat.theano.sparse as sparse
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano import gof, scalar, typed_list
from ckernels.compat.theano.gof import graph
from ckernels.compat.theano.gof.params_type import Params, ParamsType
from ckernels.compat.theano.scalar import basic
from ckernels.errors import UsageError

x, y = T.dvectors("xy")


class Text(gof.Type):
    """A type of one's own: strings."""

    def filter(self, data, strict=False, allow_downcast=None):
        if not isinstance(data, str):
            raise TypeError(f"{data} is no text")
        return data

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(Text)


class Halves(gof.Op):
    """Two outputs, of which the second stands for both where default_output says so."""

    default_output = None

    def make_node(self, a):
        a = T.as_tensor_variable(a)
        return gof.Apply(self, [a], [a.type(), a.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0], outputs[1][0] = inputs[0] / 2, -inputs[0] / 2


# ---- types --------------------------------------------------------------------------------------


def test_a_type_of_ones_own():
    text = Text()
    assert text.is_valid_value("a") and not text.is_valid_value(3)
    assert text.values_eq("a", "a") and not text.values_eq_approx("a", "b")
    held = text.make_constant("abc", name="c")
    assert held.data == held.value == "abc" and str(held) == "c" and held.type == text
    assert str(text.make_constant("abc")) == "Constant{abc}"
    assert len(str(text.make_constant("x" * 50))) < 40
    assert text.make_constant("abc").equals(held) and not held.equals(text.make_constant("b"))
    assert text.filter_variable("abc").data == "abc" and text.filter_variable(held) is held
    with pytest.raises(TypeError, match="where .* is needed"):
        text.filter_variable(x)
    assert text.may_share_memory(held, held) and not text.may_share_memory("ab", [1])
    assert text.get_shape_info("abc") is None and text.get_size(None) == 0
    assert text.value_validity_msg(3) == "none"
    with pytest.raises(gof.utils.MethodNotDefined):
        gof.type.PureType().filter(3)
    with pytest.raises(gof.utils.MethodNotDefined):
        gof.type.PureType().filter_inplace(3, [None])


def test_a_type_may_turn_variables_into_its_own():
    class Number(gof.Type):
        def filter(self, data, strict=False, allow_downcast=None):
            return data

        def convert_variable(self, var):
            return self("made") if isinstance(var.type, Text) else None

    number = Number()
    assert number.filter_variable(Text()("t")).name == "made"
    with pytest.raises(TypeError, match="convert it first"):
        number.filter_variable(Text()("t"), allow_convert=False)


def test_marks_of_gradients():
    null, cut = gof.null_type.NullType("no rule"), theano.gradient.DisconnectedType()
    assert null == gof.null_type.NullType() and hash(null) == hash(gof.null_type.NullType())
    assert cut == theano.gradient.DisconnectedType() and cut != null
    assert (str(null), str(cut)) == ("NullType", "DisconnectedType")
    assert not null.may_share_memory(1, 1) and not cut.may_share_memory(1, 1)
    for call in (
        lambda: null.filter(1), lambda: null.filter_variable(x), lambda: null.values_eq(1, 1),
        lambda: cut.filter(1), lambda: cut.fiter_variable(x), lambda: cut.value_eq(1, 1),
    ):  # fmt: skip
        with pytest.raises((ValueError, AssertionError), match="gradient|no value"):
            call()


def test_any_object_and_none():
    generic = gof.generic
    assert generic.is_valid_value([1]) and generic.filter("a") == "a"
    assert generic == gof.type.Generic() and hash(generic) == hash(gof.type.Generic())
    none = T.NoneConst.type
    assert none == type(none)() and hash(none) == hash(type(none)())
    assert none.filter(None) is None
    with pytest.raises(TypeError, match="None"):
        none.filter(3)


def test_params():
    kinds = ParamsType(rate=scalar.float64, count=scalar.int32)
    assert kinds == ParamsType(count=scalar.int32, rate=scalar.float64)
    assert not kinds != ParamsType(count=scalar.int32, rate=scalar.float64)
    assert hash(kinds) == hash(ParamsType(count=scalar.int32, rate=scalar.float64))
    assert repr(kinds) == "ParamsType<count:int32, rate:float64>"
    assert kinds.has_type(scalar.int32) and not kinds.has_type(scalar.int8)
    assert kinds.get_type("rate") == scalar.float64 and kinds.get_field(scalar.int32) == "count"
    wider = kinds.extended(more=scalar.int8)
    assert wider.fields == ("count", "more", "rate")

    one = Params(kinds, rate=np.float64(0.5), count=np.int32(3))
    two = Params(kinds, rate=np.float64(0.5), count=np.int32(3))
    assert one == two and hash(one) == hash(two) and not one != two
    assert one != Params(kinds, rate=np.float64(0.25), count=np.int32(3)) and one != 3
    assert repr(one) == "Params(count:int32:3, rate:float64:0.5)"
    assert (one.rate, one["count"]) == (0.5, 3)
    for change in (lambda: setattr(one, "rate", 1), lambda: one.__setitem__("rate", 1)):
        with pytest.raises(Exception, match="stay as they are"):
            change()
    with pytest.raises(AttributeError, match="no parameter 'speed'"):
        one.speed  # noqa: B018
    with pytest.raises(AttributeError, match="no constant 'speed'"):
        kinds.speed  # noqa: B018
    with pytest.raises(TypeError, match="'count' has no value"):
        Params(kinds, rate=0.5)
    with pytest.raises(TypeError, match="need a ParamsType"):
        Params(3, rate=0.5)

    class Holder:
        rate, count, other = 0.25, 7, "x"

    made = kinds.get_params(Holder(), count=9)
    assert (made.rate, made.count) == (0.25, 9) and made.count.dtype == np.int32
    assert kinds.filter({"rate": 0.25, "count": 9}) == made and kinds.filter(made) == made
    assert kinds.filter(made, strict=True) is made
    assert kinds.values_eq(made, made) and kinds.values_eq_approx(
        made, Params(kinds, rate=np.float64(0.25 + 1e-9), count=np.int32(9))
    )
    with pytest.raises(TypeError, match="Params are needed"):
        kinds.filter({"rate": 0.25, "count": 9}, strict=True)
    for bad in ({"float": scalar.int8}, {"a-b": scalar.int8}, {"a": 3}, {}):
        with pytest.raises((AttributeError, TypeError, ValueError)):
            ParamsType(**bad)


def test_params_with_enumerations():
    colours, sizes = gof.EnumList("RED", ("GREEN", "g")), gof.EnumType(SMALL=1, LARGE=2)
    kinds = ParamsType(colour=colours, size=sizes)
    assert (kinds.RED, kinds.GREEN, kinds.LARGE) == (0, 1, 2)
    assert kinds.get_enum("GREEN") == kinds.enum_from_alias("g") == 1
    assert kinds.enum_from_alias("LARGE") == 2
    with pytest.raises(Exception, match="no enumeration .* 'BLUE'"):
        kinds.get_enum("BLUE")
    clashes = (
        dict(a=colours, b=gof.EnumList("RED")),
        dict(RED=scalar.int8, b=colours),
        dict(a=colours, b=gof.EnumList("X", ("Y", "g"))),
    )
    for bad in clashes:
        with pytest.raises(AttributeError):
            ParamsType(**bad)


# ---- variables and Apply nodes ------------------------------------------------------------------


def test_variables_say_what_is_wrong_with_them():
    for args in ((Text(), 3), (Text(), None, "0"), (Text(), None, None, 3)):
        with pytest.raises(TypeError, match="Apply owns|must be an int|must be a string"):
            gof.Variable(*args)
    one, two = Text()("a"), Text()("b")
    for call in (lambda: one < two, lambda: one <= two, lambda: one > two, lambda: one >= two):
        with pytest.raises(Exception, match="no __"):
            call()
    assert copy.copy(one) is one and one.get_parents() == []
    assert one.auto_name != two.auto_name and one.auto_name.startswith("auto_")
    two.auto_name = "auto_77"
    assert two.auto_name == "auto_77"
    with theano.config.change_flags(compute_test_value="ignore"):
        one.tag.test_value = "held"
        assert one.get_test_value() == "held"
        assert gof.Constant(Text(), "c").get_test_value() == "c"


def test_apply_nodes_say_what_is_wrong_with_them():
    op, a, out = Halves(), x, x.type()
    wrong = {
        "list or tuple of inputs": (op, x, [out]),
        "list or tuple of outputs": (op, [x], out),
        "which is no Variable; wrap": (op, [3], [out]),
        "which is no Variable; call": (op, [x], [3]),
        "has another owner": (op, [x], [(a + 1)]),
    }
    for sentence, args in wrong.items():
        with pytest.raises((TypeError, ValueError), match=sentence):
            gof.Apply(*args)


def test_outputs_of_an_apply_node():
    first, second = Halves()(x)
    node = first.owner
    assert (node.nin, node.nout) == (1, 2) and node.get_parents() == [x]
    assert second.get_parents() == [node] and node.run_context() is None
    assert node.params_type() is None and node.run_params() is None
    assert str(second) == f"{node.op}.1"
    with pytest.raises(ValueError, match="made 2 outputs"):
        node.default_output()
    with pytest.raises(ValueError, match="2 outputs and no default"):
        T.as_tensor_variable(node)
    for default, sentence in (("one", "must count outputs"), (2, "only 2 outputs")):
        node.op.default_output = default
        with pytest.raises(AttributeError, match=sentence):
            node.default_output()
    node.op.default_output = 1
    assert node.out is second and str(second) == f"{node.op}.out"
    assert T.as_tensor_variable(node) is second
    assert theano.function([x], T.as_tensor_variable(node))([4.0]).tolist() == [-2.0]


def test_clones_of_an_apply_node():
    node = Halves()(x)[0].owner
    node.tag.note = "kept"
    twin = node.clone()
    assert twin is not node and twin.inputs == [x] and twin.outputs[0] is not node.outputs[0]
    assert twin.tag.note == "kept"
    other = T.TensorType("float64", (True,))("other")
    made = node.clone_with_new_inputs([other], strict=False)
    assert made.inputs == [other] and made.outputs[0].broadcastable == (True,)
    assert made.tag.note == "kept"
    kept = node.clone_with_new_inputs([y])
    assert kept.outputs[1].type == x.type
    assert theano.function([y], kept.outputs)([2.0])[1].tolist() == [-1.0]
    with pytest.raises(TypeError):
        node.clone_with_new_inputs([T.zvector()], strict=True)


def test_walks():
    a, b = T.exp(x), T.exp(y)
    c = a * b
    assert {str(n.op) for n in graph.ops([x, y], [c])} == {str(c.owner.op), str(a.owner.op)}
    assert graph.is_in_ancestors(c.owner, a.owner) and not graph.is_in_ancestors(a.owner, c.owner)
    assert graph.view_roots(c) == [c]
    assert graph.equal_computations([a + 1], [b + 1], [x], [y])
    assert not graph.equal_computations([a + 1], [b + 1])
    assert not graph.equal_computations([a + 1], [b + 2], [x], [y])
    assert not graph.equal_computations([a * b], [a + b])
    assert graph.equal_computations([c * c], [c * c])
    with pytest.raises(ValueError, match="number of graphs"):
        graph.equal_computations([a], [a, b])
    with pytest.raises(ValueError, match="bfs or dfs"):
        graph.stack_search([c], lambda v: [], "up")
    order = graph.sort_apply_nodes([x, y], [c], [])
    assert order[-1] is c.owner and len(order) == 3
    inputs, outputs = gof.graph.inline_clone_graph([x, y], [c])
    assert theano.function(inputs, outputs)([1.0], [2.0])[0] == pytest.approx(np.exp(3.0))


# ---- single numbers -----------------------------------------------------------------------------


def test_scalar_types():
    t = scalar.Scalar("int8")
    assert (str(t), repr(t)) == ("int8", "Scalar(int8)") and t.clone("int16") == scalar.int16
    assert t.clone() == t and t.filter(7) == np.int8(7)
    with pytest.raises(TypeError, match="would change its value"):
        t.filter(300)
    assert t.filter(300, allow_downcast=True) == np.int64(300).astype("int8")
    with pytest.raises(TypeError, match="expected a int8"):
        t.filter(np.int64(3), strict=True)
    f = scalar.float64
    assert f.values_eq_approx(1.0, 1.0 + 1e-9) and not f.values_eq_approx(1.0, 1.01)
    with pytest.raises(TypeError, match="2 dimensions|1 dimensions"):
        scalar.as_scalar(x)
    with pytest.raises(TypeError, match="no single number"):
        T.scalar_from_tensor(x)


def test_casts_of_numbers():
    a = scalar.float64("a")
    b = scalar.cast(a, "int32")
    assert b.type == scalar.int32 and scalar.cast(b, "int32") is b
    assert scalar.convert_to_int8(a).type == scalar.int8
    assert basic.cast_op("int32")(a).eval({a: 2.75}) == 2
    assert str(basic.Cast("int32")) == "Cast{int32}"
    assert pickle.loads(pickle.dumps(basic.Cast("int32"))) == basic.Cast("int32")


def test_letters_are_names():
    """Of one word each letter is a name, of one letter there is one variable."""
    x, y = basic.floats("xy")
    (a, b), n = basic.ints(["a", "b"]), basic.ints("n")
    assert [v.name for v in (x, y, a, b, n)] == ["x", "y", "a", "b", "n"]
    assert [v.dtype for v in (x, y, a, b, n)] == ["float64"] * 2 + ["int64"] * 3
    c = basic.constant(2, dtype="float32")
    assert (c.dtype, float(c.data), c.name) == ("float32", 2.0, None)
    assert basic.constant(2, name="a").dtype == "int8" and basic.constant(2, name="a").name == "a"


def test_a_composite_of_several_outputs():
    x, y, z = basic.floats("xyz")
    c = scalar.Composite([x, y, z], [x + y + z, x + y * z, x / y])
    outputs = c(x, y, z)
    assert len(outputs) == 3 and c.impl(1.0, 2.0, 3.0) == [6.0, 7.0, 0.5]
    f = theano.function([x, y, z], outputs)
    assert f(1.0, 2.0, 3.0) == [6.0, 7.0, 0.5]
    with pytest.raises(UsageError, match="has 3 outputs; over tensors it needs to have one"):
        T.Elemwise(c)(*T.vectors("pqr"))


@pytest.mark.parametrize("values", [(3.0, 4.0), (-1.5, 0.25)])
def test_a_composite(values):
    """Theano's manual: several scalar ops are one op."""
    a, b = basic.floats("a", "b")
    c = scalar.Composite([a, b], [scalar.add(scalar.mul(a, b), scalar.sqr(a))])
    twin = scalar.Composite([a, b], [scalar.add(scalar.mul(a, b), scalar.sqr(a))])
    assert c == twin and hash(c) == hash(twin) and str(c).startswith("Composite{")
    assert c.impl(*map(np.float32, values)) == pytest.approx(values[0] * values[1] + values[0] ** 2)
    p, q = T.vectors("pq")
    f = theano.function([p, q], T.Elemwise(c)(p, q))
    np.testing.assert_allclose(
        f([values[0]] * 3, [values[1]] * 3), [values[0] * values[1] + values[0] ** 2] * 3
    )


def test_types_of_results():
    i8, i32, f32, c64 = (scalar.Scalar(d) for d in ("int8", "int32", "float32", "complex64"))
    assert basic.upcast_out(i8, i32) == [i32] and basic.same_out(i8) == [i8]
    assert basic.upgrade_to_float(i8)[0].dtype.startswith("float")
    assert basic.upgrade_to_float_no_complex(f32) == [f32]
    with pytest.raises(TypeError, match="for real numbers"):
        basic.upgrade_to_float_no_complex(c64)
    pick = basic.transfer_type(1)
    assert pick(i8, f32) == [f32] and pick == basic.transfer_type(1) != basic.transfer_type(0)
    assert hash(pick) == hash(basic.transfer_type(1))
    fixed = basic.specific_out(c64)
    assert fixed(i8) == [c64] and fixed == basic.specific_out(c64) != basic.specific_out(i8)
    assert hash(fixed) == hash(basic.specific_out(c64))


def test_ops_of_numbers():
    a, b = scalar.float64("a"), scalar.float64("b")
    assert scalar.add.impl(2.0, 0.5) == 2.5
    cell = [[None]]
    scalar.mul.perform(None, [3.0, 4.0], cell)
    assert cell == [[12.0]]
    assert scalar.exp == type(scalar.exp)(scalar.exp.output_types_preference, scalar.exp.name)
    with pytest.raises(TypeError, match="takes 1 inputs, not 2"):
        scalar.exp(a, b)
    f = theano.function([a, b], scalar.sub(scalar.exp(a), b))
    assert f(1.0, 0.5) == pytest.approx(np.e - 0.5)
    assert isinstance(scalar.add, basic.Add) and isinstance(scalar.exp, basic.Exp)
    halves = np.array([0.5, -0.5, 1.4, -2.5])
    assert basic.round_half_away_from_zero_vec(halves).tolist() == [1.0, -1.0, 1.0, -3.0]
    names = basic.floats("p", "q")
    assert [v.name for v in names] == ["p", "q"] and basic.floats("p").name == "p"


def test_between_numbers_and_tensors():
    s = T.dscalar("s")
    number = T.scalar_from_tensor(s)
    back = T.tensor_from_scalar(number)
    cost = T.sqr(back) * 3
    assert theano.function([s], T.grad(cost, s))(2.0) == 12.0
    assert theano.function([s], [number, back])(2.0) == [2.0, np.array(2.0)]
    for op in (number.owner.op, back.owner.op):
        assert pickle.loads(pickle.dumps(op)) == op
    with pytest.raises(TypeError, match="0-d|1 dimensions|number"):
        T.scalar_from_tensor(x)


# ---- constants ----------------------------------------------------------------------------------


def test_python_numbers_take_the_least_dtype():
    """Theano's manual: ints the smallest that holds them, floats floatX or more."""
    dtypes = [T.constant(n).dtype for n in (True, 1, -200, 70000, 2**40, 2**63, 1.5, 1j)]
    assert dtypes == [
        "bool", "int8", "int16", "int32", "int64", "uint64", "float32", "complex128",
    ]  # fmt: skip
    with theano.config.change_flags(cast_policy="numpy+floatX", floatX="float32"):
        assert T.constant(3).dtype == "int64" and T.constant(0.1).dtype == "float32"
    with T.autocast_float_as("float64"):
        assert T.constant(1.5).dtype == "float64"
    assert T.constant(1.5).dtype == "float32"
    with pytest.raises(TypeError, match="fits no integer dtype"):
        T.constant(2**70)
    assert T.basic.autocast_float(0.1).dtype == np.float64


def test_numbers_that_are_known():
    known = T.get_scalar_constant_value
    assert known(T.constant([3, 3, 3])) == 3 and known(T.zeros((2, 3)) + 4) == 4
    assert known(T.stack([T.constant(1), T.constant(5)])[1]) == 5
    assert known(T.constant([1, 2, 3])[2]) == 3 and known(np.ones(4)) == 1 and known(2) == 2
    for unknown in (None, x[0], T.constant([1, 2]), T.constant([1, 2])[:], x.shape[0]):
        with pytest.raises(T.NotScalarConstantError):
            known(unknown)
    with pytest.raises(T.EmptyConstantError):
        known(T.constant(np.zeros(0)))
    assert T.extract_constant(T.constant(7)) == 7 and T.extract_constant(x) is x
    with pytest.raises(T.NotScalarConstantError):
        known(T.constant(2) + 3, only_process_constants=True)


def test_equal_constants():
    a, b = T.constant([1.0, 2.0]), T.constant([1.0, 2.0])
    assert a.equals(b) and a.equals(np.array([1.0, 2.0])) and not a.equals(T.constant([1.0, 3.0]))
    assert a.signature() == b.signature() and a.signature() != T.constant([1.0]).signature()
    assert a.signature() != ("a", "pair") and hash(a.signature()) == hash(b.signature())
    assert copy.copy(a) is a and T.constant(a) is a
    for bad, sentence in (([[1, 2], [3]], "makes no tensor"), (Text()("t"), "is no tensor")):
        with pytest.raises(TypeError, match=sentence):
            T.as_tensor_variable(bad)
    with pytest.raises(TypeError, match="makes no tensor"):
        T.as_tensor_variable(True)
    with pytest.raises(ValueError, match="1 dimensions cannot hold"):
        T.constant(np.ones((2, 2)), ndim=1)
    assert T.constant(3.0, ndim=2).broadcastable == (True, True)


def test_float64_is_reported_where_asked():
    with theano.config.change_flags(warn_float64="warn"):
        with pytest.warns(UserWarning, match="float64 was made"):
            T.dscalar("d")
    with theano.config.change_flags(warn_float64="raise"):
        with pytest.raises(Exception, match="float64 was made"):
            T.dscalar("d")
        assert T.fscalar("f").dtype == "float32"


# ---- lists --------------------------------------------------------------------------------------


def test_lists_of_arrays():
    """theano.typed_list, beside Python's lists."""
    kind = typed_list.TypedListType(T.dvector)
    assert kind.get_depth() == 0 and typed_list.TypedListType(T.dvector, 2).get_depth() == 2
    assert str(kind) == f"TypedList <{T.dvector}>" and hash(kind) == hash(
        typed_list.TypedListType(T.dvector)
    )
    a, b = kind("a"), kind("b")
    k, v = T.lscalar("k"), T.dvector("v")
    one, two, three = np.array([1.0]), np.array([2.0, 3.0]), np.array([4.0])
    f = theano.function(
        [a, b, k, v],
        [a.append(v), a.extend(b), a.insert(k, v), a.remove(v), a.reverse(), a.count(v), a.ind(v)],
    )
    found = f([one, two], [three], 1, two)
    want = [[one, two, two], [one, two, three], [one, two, two], [one], [two, one]]
    for have, lists in zip(found, want):
        assert [h.tolist() for h in have] == [w.tolist() for w in lists]
    assert [int(n) for n in found[5:]] == [1, 1]
    with pytest.raises(ValueError, match="is not in the list"):
        f([one, two], [three], 1, three)
    assert kind.values_eq([one, two], [one, two]) and not kind.values_eq([one], [two])
    assert kind.values_eq_approx([one], [one + 1e-12]) and not kind.values_eq([one], [])
    assert kind.may_share_memory([one], [one]) and not kind.may_share_memory([one], [two])


def test_lists_that_cannot_be():
    kind = typed_list.TypedListType(T.dvector)
    a = kind("a")
    for call, sentence in (
        (lambda: typed_list.TypedListType(3), "needs the type"),
        (lambda: typed_list.TypedListType(T.dvector, -1), "0 or more"),
        (lambda: kind.filter(3), "a list of"),
        (lambda: kind.filter((np.ones(2),), strict=True), "a list of"),
        (lambda: len(a), "length of a symbolic list"),
        (lambda: a[x], "an integer"),
        (lambda: a.extend(typed_list.TypedListType(T.dmatrix)()), "cannot be extended"),
        (lambda: typed_list.make_list([]), "at least one"),
        (lambda: typed_list.make_list([x, T.dmatrix()]), "one type"),
    ):
        with pytest.raises((TypeError, ValueError), match=sentence):
            call()
    assert [h.tolist() for h in kind.filter((np.ones(2),))] == [[1.0, 1.0]]
    held = kind.make_constant([np.ones(2)])
    assert held.signature()[0] == kind and held[0].eval().tolist() == [1.0, 1.0]


# ---- sparse matrices ----------------------------------------------------------------------------


def test_types_of_sparse_matrices():
    kind = sparse.SparseType("csr", "float64")
    m = scipy.sparse.csr_matrix([[1.0, 0, 2], [0, 3, 0]])
    assert kind.filter(m) is not None and kind == sparse.SparseType("csr", "float64")
    assert hash(kind) == hash(sparse.SparseType("csr", "float64")) and kind != T.dmatrix
    assert kind.values_eq(m, m.copy()) and not kind.values_eq(m, 2 * m)
    assert kind.values_eq_approx(m, m * (1 + 1e-9)) and not kind.values_eq_approx(m, m * 1.1)
    assert kind.filter(m.astype("f4")).dtype == "float64"
    for bad, options in (
        (m.toarray(), {}), ("text", {}), (x, {}), (m.tocsc(), {"strict": True}),
        (m.astype(complex), {}),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            kind.filter(bad, **options)
    with pytest.raises(NotImplementedError, match="cannot be of dtype"):
        sparse.SparseType("csr", "float16")
    s = kind("s")
    assert kind.filter_variable(s) is s and kind.Variable is type(s)
    with pytest.raises(TypeError, match="is needed"):
        sparse.SparseType("csc", "float64").filter_variable(s)
    held = kind.make_constant(m, "m")
    assert type(held) is kind.Constant and (held.value != m).nnz == 0
    assert held.signature() == held.clone().signature() and bool(s)
    assert held.signature() != kind.make_constant(2 * m).signature()


def test_methods_of_sparse_variables():
    m = scipy.sparse.csr_matrix([[1.5, 0, 2], [0, 3, 0]])
    s = sparse.csr_matrix("s", dtype="float64")
    d = T.dmatrix("d")
    f = theano.function(
        [s, d],
        [s.dot(d), s.toarray(), s.sum(), s.sum(axis=0), s.astype("int32"), s.zeros_like(), (-s).T],
    )
    dense = np.arange(6.0).reshape(3, 2)
    found = f(m, dense)
    np.testing.assert_allclose(found[0], m @ dense)
    np.testing.assert_array_equal(found[1], m.toarray())
    assert found[2] == 6.5 and found[3].tolist() == [1.5, 3.0, 2.0]
    assert found[4].dtype == np.int32 and found[4].toarray().tolist() == [[1, 0, 2], [0, 3, 0]]
    assert found[5].shape == m.shape and not found[5].toarray().any()
    np.testing.assert_array_equal(found[6].toarray(), -m.toarray().T)


def test_shared_sparse_matrices():
    m = scipy.sparse.csr_matrix([[1.5, 0, 2], [0, 3, 0]])
    s = theano.shared(m, name="s")
    f = theano.function([], sparse.sp_sum(s))
    assert f() == 6.5
    s.set_value(scipy.sparse.csr_matrix([[1.0, 1, 1], [1, 1, 1]]))
    assert f() == 6.0 and s.clone().get_value().nnz == 6
    s.container.value = m
    assert f() == 6.5
    with pytest.raises(ValueError, match="has shape"):
        s.set_value(scipy.sparse.csr_matrix((3, 3)))
    with pytest.raises(TypeError, match="sparse matrix of SciPy"):
        sparse.sparse_constructor(np.ones((2, 2)))
    assert sparse.as_sparse_variable(s) is s
    assert isinstance(sparse.as_sparse_variable(m), sparse.SparseConstant)
    with pytest.raises(TypeError, match="makes no sparse variable"):
        sparse.as_sparse_variable(np.ones(3))
