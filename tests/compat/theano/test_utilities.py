"""What Theano's modules share and programs borrow: gof.utils, files of flags, tools of tests."""

import hashlib
import unittest

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano import configparser
from ckernels.compat.theano.compile.builders import OpFromGraph
from ckernels.compat.theano.gof import FunctionGraph, utils
from ckernels.compat.theano.tests import unittest_tools
from ckernels.theano.base import config as flags

x, y = T.dvectors("xy")


def test_lists_of_gof_utils():
    assert utils.uniq([3, 1, 3, 2, 1]) == [3, 1, 2]
    assert utils.difference([1, 2, 3, 2], (2, 5)) == [1, 3]
    assert utils.flatten([1, (2, [3, []]), 4]) == [1, 2, 3, 4] and utils.flatten("ab") == ["ab"]
    assert utils.remove(lambda n: n % 2, range(5)) == [0, 2, 4]
    assert utils.to_return_values([7]) == 7 and utils.to_return_values([7, 8]) == [7, 8]
    assert utils.from_return_values(7) == [7] and utils.from_return_values((7, 8)) == [7, 8]


def test_the_hash_of_code_is_md5():
    """The digest of "abc" in RFC 1321."""
    assert utils.hash_from_code("abc") == "900150983cd24fb0d6963f7d28e17f72"
    assert utils.hash_from_code(b"abc") == utils.hash_from_code("abc")


def test_names_for_variables_are_all_different():
    variables = [T.dscalar("a"), T.dscalar("a"), T.dscalar(), T.dscalar("b"), T.dscalar("b_")]
    variables += [variables[3], T.dscalar("_2")]
    utils.give_variables_names(variables)
    names = [v.name for v in utils.uniq(variables)]
    assert None not in names and len(set(names)) == 6
    assert names[4] == "b_" and names[3].startswith("b_")  # what is alone keeps its name


def test_a_scratchpad(capsys):
    pad, other = utils.scratchpad(), utils.scratchpad()
    pad.trace, other.value = "here", 3
    assert pad.__update__(other) is pad and vars(pad) == {"trace": "here", "value": 3}
    assert str(pad) == "scratchpad{'trace': 'here', 'value': 3}"
    pad.info()
    assert capsys.readouterr().out.splitlines()[1:] == ["  trace: here", "  value: 3"]
    pad.clear()
    assert vars(pad) == {}


def test_deprecation_is_printed_once(capsys):
    twice = utils.deprecated("old.py", "Use the new one.")(lambda n: 2 * n)
    assert [twice(3), twice(4)] == [6, 8]
    assert capsys.readouterr().out == "WARNING: old.py.<lambda> deprecated. Use the new one.\n"


def test_the_stack_without_files():
    whole = utils.simple_extract_stack()
    assert whole[-1][0] == __file__ and whole[-1][2] == "test_the_stack_without_files"
    kept = utils.simple_extract_stack(skips=["_pytest", "pluggy"])
    assert 0 < len(kept) < len(whole) and not any("pluggy" in s[0] for s in kept)
    assert len(utils.simple_extract_stack(limit=1)) == 1


# ---- flags --------------------------------------------------------------------------------------


def test_the_text_of_flags():
    assert flags.flags_of("") == {}
    given = "floatX=float32, gcc.cxxflags='-O3,-g' ,floatX=float64"
    assert flags.flags_of(given) == {"floatX": "float32", "gcc.cxxflags": "-O3,-g"}
    with pytest.raises(ValueError, match="'floatX' is not of the form name=value"):
        flags.flags_of("floatX")


def test_files_of_flags(tmp_path, monkeypatch):
    first, second = tmp_path / "one", tmp_path / "two"
    first.write_text("[global]\nfloatX = float32\nmode = FAST_RUN\n[gcc]\ncxxflags = -O2\n")
    second.write_text("[global]\nfloatX = float64\n")
    monkeypatch.setenv("THEANORC", f"{first}:{second}:{tmp_path / 'none'}")
    assert flags.rows_of_files() == {"floatX": "float64", "mode": "FAST_RUN", "gcc.cxxflags": "-O2"}
    monkeypatch.delenv("THEANORC")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert flags.rows_of_files() == {}
    (tmp_path / ".theanorc").write_text("[global]\nfloatX = float16\n")
    assert flags.rows_of_files() == {"floatX": "float16"}


@pytest.fixture
def own_flags():
    before = dict(theano.config._params)
    yield configparser.AddConfigVar
    for name in set(theano.config._params) - set(before):
        del theano.config._params[name]
        theano.config._values.pop(name, None)


def test_flags_of_programs(own_flags):
    make = configparser
    own_flags("mine.level", "how deep", make.IntParam(3))
    own_flags("mine.rate", "how fast", make.FloatParam(0.5))
    own_flags("mine.loud", "whether", make.BoolParam(False))
    own_flags("mine.colour", "which", make.EnumStr("red", "green"))
    own_flags("mine.title", "what", make.StrParam("none"))
    mine = theano.config.mine
    assert (mine.level, mine.rate, mine.loud, mine.colour, mine.title) == (
        3, 0.5, False, "red", "none",
    )  # fmt: skip
    assert dir(mine) == ["colour", "level", "loud", "rate", "title"]
    mine.level, mine.loud, mine.colour = "4", "true", "green"
    assert (mine.level, mine.loud, mine.colour) == (4, True, "green")
    for name, value in (("loud", "perhaps"), ("colour", "blue"), ("level", "many")):
        with pytest.raises(ValueError, match=f"mine.{name}|many"):
            setattr(mine, name, value)
    with pytest.raises(AttributeError, match="'mine.level' exists already"):
        own_flags("mine.level", "again", make.IntParam(1))
    with pytest.raises(AttributeError, match="no flag 'mine.nothing'"):
        mine.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="no flag 'mine.nothing'"):
        mine.nothing = 1


def test_flags_are_changed_for_a_while(own_flags):
    @theano.configparser.change_flags(floatX="float32")
    def dtype(more=0):
        return theano.config.floatX, more

    assert dtype(more=1) == ("float32", 1) and theano.config.floatX == "float64"
    with theano.configparser.change_flags([("floatX", "float32")]):
        assert T.scalar().dtype == "float32"
    with pytest.raises(AssertionError, match="no flag 'flotX'"):
        theano.configparser.change_flags(flotX="float32")
    with pytest.raises(ValueError, match="floatX"):  # what was set before it is set back
        given = [("exception_verbosity", "high"), ("floatX", "int8")]
        with theano.configparser.change_flags(given):
            raise AssertionError("int8 is no floatX")
    assert (theano.config.exception_verbosity, theano.config.floatX) == ("low", "float64")
    with pytest.raises(Exception, match="the flag device is fixed from the start"):
        theano.config.device = "gpu"


# ---- what tests of programs use -----------------------------------------------------------------


def test_attempts():
    seen = []

    def luck(answers):
        def attempt():
            seen.append(answers[len(seen)])
            assert seen[-1]

        return attempt

    unittest_tools.AttemptManyTimes(3)(luck([False, True]))()
    assert seen == [False, True]
    seen.clear()
    unittest_tools.AttemptManyTimes(4, n_req_successes=2)(luck([True, False, True, True]))()
    assert seen == [True, False, True]
    seen.clear()
    with pytest.raises(AssertionError):
        unittest_tools.AttemptManyTimes(2)(luck([False, False]))()
    assert len(seen) == 2


def test_attributes_of_tests():
    @unittest_tools.attr("slow", speed=3)
    def test():
        return "ran"

    assert (test(), test.slow, test.speed) == ("ran", True, 3)
    assert unittest_tools.assertFailure_fast(test) is test


def test_what_a_function_contains():
    check = unittest_tools.TestOptimizationMixin()
    f = theano.function([x, y], T.dot(x, y) + T.dot(y, y), mode="FAST_COMPILE")
    dots = type((T.dot(x, y)).owner.op)
    check.assertFunctionContainsN(f, dots, 2)
    check.assertFunctionContains(f, dots, min=1, max=2)
    check.assertFunctionContains1(f, T.add)
    check.assertFunctionContains0(f, T.mul)
    for wrong in (check.assertFunctionContains1, check.assertFunctionContains0):
        with pytest.raises(AssertionError):
            wrong(f, dots)
    with pytest.raises(AssertionError):
        check.assertFunctionContains(f, dots, min=3)


class TestShapes(unittest_tools.InferShapeTester):
    """Shapes that are inferred are those that are computed: a base class of programs' tests."""

    def test_an_op_from_a_graph(self):
        op = OpFromGraph([x, y], [T.outer(x, y), x[::2]])
        values = [np.arange(5.0), np.arange(3.0)]
        self._compile_and_check([x, y], op(x, y), values, OpFromGraph)
        assert isinstance(self, unittest.TestCase)

    def test_a_wrong_shape_is_seen(self):
        class Wrong(theano.Op):
            def make_node(self, a):
                a = T.as_tensor_variable(a)
                return theano.Apply(self, [a], [a.type()])

            def perform(self, node, inputs, outputs):
                outputs[0][0] = inputs[0][:2]

            def infer_shape(self, node, shapes):
                return shapes

        with pytest.raises((AssertionError, ValueError)):
            self._compile_and_check([x], [Wrong()(x)], [np.arange(5.0)], Wrong)


def test_tolerances():
    unittest_tools.assert_allclose(np.ones(3), np.ones(3) + 1e-9)
    with pytest.raises(unittest_tools.WrongValue, match="(?s)1.5"):
        unittest_tools.assert_allclose(np.array(1.5), np.array(1.25))


# ---- drawings -----------------------------------------------------------------------------------


def test_profiles_and_places_of_drawings():
    formatting = pytest.importorskip("ckernels.compat.theano.d3viz.formatting")
    z = x + 1
    s = theano.shared(1.0)
    name, line, text = formatting.var_tag(s)
    assert name == "test_utilities.py" and text == b"s = theano.shared(1.0)" and line > 200
    s.tag.trace = [("a/<b>.py", 3, "f", "x = 1")]  # as one frame
    assert formatting.var_tag(s) == ["b>.py", 3, b"x = 1"] and formatting.var_tag(z) is None
    assert formatting.apply_profile(z.owner, None) is None

    class Profile:
        fct_call_time, apply_time = 2.0, {z.owner: 0.5}

    assert formatting.apply_profile(z.owner, Profile()) == [0.5, 2.0]
    assert formatting.apply_profile((z * 2).owner, Profile()) == [0, 2.0]
    assert formatting.type_to_str(theano.gof.generic) == "<theano.gof.type.Generic>"


def test_what_is_drawn():
    pydot = pytest.importorskip("pydot")
    from ckernels.compat.theano.d3viz.formatting import PyDotFormatter

    s = theano.shared(np.ones(3), name="s")
    f = theano.function([x], (x * s).sum(), mode="FAST_COMPILE")
    whole, of_graph = PyDotFormatter()(f), PyDotFormatter()(FunctionGraph([x], [(x * s).sum()]))
    assert isinstance(whole, pydot.Dot) and len(of_graph.get_nodes()) > 3
    graph = pydot.Dot()
    assert PyDotFormatter(compact=False)((x * s).owner, graph) is graph
    assert sorted(e.get_attributes()["label"] for e in graph.get_edges()) == [
        "0 dvector", "1 dvector", "dvector",
    ]  # fmt: skip
    loose = PyDotFormatter(compact=False)([T.exp(x * s)])
    assert len(loose.get_edges()) == len(PyDotFormatter()([T.exp(x * s)]).get_edges()) + 1
    colors = []
    for places in ({"view_map": {0: [0]}}, {"destroy_map": {0: [0]}}, {}):
        op = theano.compile.as_op([T.dvector], [T.dvector])(lambda a: a)
        vars(op).update(places)
        (edge,) = [e for e in PyDotFormatter()([op(x)]).get_edges()][:1]
        colors.append(edge.get_attributes().get("color"))
    assert colors == ["dodgerblue", "red", None]
    with pytest.raises(TypeError, match="a function, an Apply or variables are drawn"):
        PyDotFormatter()([3])


def test_digests_tell_arrays_apart():
    from ckernels.compat.theano.printing import hex_digest

    a = np.arange(6.0).reshape(2, 3)
    assert hex_digest(a) == hashlib.sha256(a.tobytes()).hexdigest() + "|strides=[24,8]|shape=[2,3]"
    assert hex_digest(a.T) != hex_digest(a) != hex_digest(a.reshape(3, 2))
