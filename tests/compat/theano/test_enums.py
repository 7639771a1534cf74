"""Enumerations for parameters of C ops, and updates of scans, as documented for Theano."""

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano.gof import CEnumType, EnumList, EnumType
from ckernels.compat.theano.updates import OrderedUpdates


def test_constants_by_name_alias_and_value():
    color = EnumType(RED=("red", 1), BLUE=2, DARK_2=(3.5, "dark"), ON=True)
    assert (color.RED, color.BLUE, color.DARK_2, color.ON) == (1, 2, 3.5, 1)
    assert color.get_aliases() == ("dark", "red")
    assert color.has_alias("red") and not color.has_alias("RED")
    assert color.fromalias("dark") == 3.5 and color.fromalias("BLUE") == 2
    assert list(color) == [("BLUE", 2), ("DARK_2", 3.5), ("ON", 1), ("RED", 1)]
    assert (
        color.filter("red") == 1 and color.filter(2, strict=True) == 2 and color.filter(True) == 1
    )
    with pytest.raises(AttributeError, match="no constant GREEN"):
        color.GREEN  # noqa: B018
    with pytest.raises(AttributeError, match="'green'"):
        color.fromalias("green")


@pytest.mark.parametrize("value, strict", [(7, False), ("green", False), ("red", True)])
def test_what_is_no_value(value, strict):
    with pytest.raises(ValueError, match="is no value of EnumType"):
        EnumType(RED=("red", 1), BLUE=2).filter(value, strict=strict)


@pytest.mark.parametrize(
    "constants, error, words",
    [
        (dict(red=1), AttributeError, "capital letters"),
        (dict(RED="1"), TypeError, "is a number"),
        (dict(RED=("a", "b", 1)), TypeError, "a pair of an alias and a value"),
        (dict(RED=(1, 2)), TypeError, "a pair of an alias and a value"),
        (dict(RED=("a", 1), BLUE=("a", 2)), TypeError, "stands for two"),
        (dict(RED=("BLUE", 1), BLUE=2), TypeError, "name of a constant"),
        (dict(RED=1, ctype="in-t"), TypeError, "no type of C"),
        (dict(RED=1, cname="a b"), ValueError, "no name in C"),
    ],
)
def test_enumerations_that_are_refused(constants, error, words):
    with pytest.raises(error, match=words):
        EnumType(**constants)


def test_they_are_equal_by_what_they_hold_and_stay_as_they_are():
    one, two = (EnumType(A=1, B=("b", 2), ctype="int") for _ in range(2))
    assert one == two and hash(one) == hash(two) and not one != two
    for other in (EnumType(A=1, B=2, ctype="int"), EnumType(A=1, B=("b", 2)), EnumType(A=1)):
        assert one != other
    with pytest.raises(Exception, match="stay as they are"):
        one.A = 3
    assert one.values_eq(1, 1.0) and one.values_eq_approx(2, 2.0) and not one.values_eq(1, 2)


def test_lists_count_from_zero():
    kinds = EnumList("FIRST", ("SECOND", "two"), "THIRD")
    assert (kinds.FIRST, kinds.SECOND, kinds.THIRD) == (0, 1, 2) and kinds.filter("two") == 1
    assert kinds.ctype == "int" and EnumList("A", ctype="long").ctype == "long"
    with pytest.raises(AttributeError, match="given twice"):
        EnumList("A", "A")
    with pytest.raises(TypeError, match="names, ctype and cname"):
        EnumList("A", other=1)
    text = CEnumType("EOF", "BUFSIZ").c_extract("x", {"fail": "return 7;"})
    assert "case 0: x = EOF;" in text and "case 1: x = BUFSIZ;" in text and "return 7;" in text
    assert "#define" not in CEnumType("EOF").c_support_code()


def test_updates_are_of_shared_variables_each_with_one_value():
    """Adding two of them is their union; a variable that both update otherwise is an error."""
    a, b = theano.shared(np.float64(1.0), "a"), theano.shared(np.float64(2.0), "b")
    one, two = OrderedUpdates({a: a + 1}), OrderedUpdates([(b, b * a)])
    both = one + two
    assert list(both) == [a, b] and type(both) is OrderedUpdates and list(one) == [a]
    f = theano.function([], [], updates=both)
    f()
    assert (a.get_value(), b.get_value()) == (2.0, 2.0)
    f()
    assert (a.get_value(), b.get_value()) == (3.0, 4.0)
    one.update(None)
    one.update({a: one[a]})
    with pytest.raises(KeyError, match="Collision"):
        one.update({a: a * 3})
    for bad in (lambda: OrderedUpdates({T.dscalar("x"): a}), lambda: two.update({"b": b})):
        with pytest.raises(TypeError, match="only a shared variable"):
            bad()
    with pytest.raises(TypeError, match="dtype"):
        one[b] = T.iscalar("n")
    two.disabled = True
    with pytest.raises(ValueError, match="disabled"):
        two[a] = a + 1
