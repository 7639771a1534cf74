"""Ops of users in C: bodies over NumPy's C API, sections in files, parameters, what goes wrong."""

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.base import errors
from ckernels.compat.theano import gof

pytestmark = pytest.mark.skipif(
    not theano.config.cxx, reason="there is no C++ compiler"
)  # the flag is empty where it is switched off

BODY = """
Py_XDECREF(%(y)s);
%(y)s = (PyArrayObject *)PyArray_EMPTY(1, PyArray_DIMS(%(x)s), PyArray_TYPE(%(x)s), 0);
if (!%(y)s) %(fail)s;
if (PyArray_DIMS(%(x)s)[0] == 1) {
    PyErr_Format(PyExc_KeyError, "a vector of %%d", 1);
    %(fail)s;
}
{
    dtype_%(y)s *to = (dtype_%(y)s *)PyArray_DATA(%(y)s);
    for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++)
        to[i] = scaled(*(dtype_%(x)s *)PyArray_GETPTR1(%(x)s, i), %(scale)s);
}
"""


class Scaled(gof.Op):
    """x * factor, in C alone; the factor is a parameter, so that one unit serves all."""

    __props__ = ("factor",)
    params_type = gof.ParamsType(factor=theano.scalar.Scalar("float64"))

    def __init__(self, factor):
        self.factor = factor

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return gof.Apply(self, [x], [x.type()])

    def c_support_code(self):
        return "static double scaled(double x, double by) { return x * by; }"

    def c_code(self, node, name, inputs, outputs, sub):
        return BODY % {
            "x": inputs[0],
            "y": outputs[0],
            "fail": sub["fail"],
            "scale": sub["params"] + "->factor",
        }

    def grad(self, inputs, gradients):
        return [gradients[0] * self.factor]


def test_a_body_its_gradient_and_strided_inputs():
    x = T.dvector("x")
    f = theano.function([x], [Scaled(2.0)(x[::-1]) + 1, T.grad(Scaled(3.0)(x).sum(), x)])
    values, slopes = f([1.0, 2.0, 4.0])
    assert values.tolist() == [9, 5, 3] and slopes.tolist() == [3, 3, 3]
    steps, _ = theano.scan(lambda h: Scaled(2.0)(h), outputs_info=[x], n_steps=3)
    assert theano.function([x], steps[-1])([1.0, 2.0]).tolist() == [8, 16]


def test_an_exception_of_c_is_that_exception():
    x, total = T.dvector("x"), theano.shared(0.0)
    f = theano.function([x], Scaled(2.0)(x), updates=[(total, total + 1)])
    with pytest.raises(KeyError, match="a vector of 1"):
        f([1.0])
    assert total.get_value() == 0


class Broken(Scaled):
    def c_code(self, node, name, inputs, outputs, sub):
        return """
        %(y)s = no_such_name;
        """ % {"y": outputs[0]}  # noqa: UP031


def test_what_does_not_compile_names_the_line_of_the_user():
    x = T.dvector("x")
    with pytest.raises(errors.OwnCodeError, match=r"no_such_name[\s\S]*test_c_ops.py:\d+") as info:
        theano.function([x], Broken(1.0)(x))
    line = int(str(info.value).split("test_c_ops.py:")[1].split()[0])
    with open(__file__) as file:
        assert file.read().split("\n")[line - 1].strip() == "%(y)s = no_such_name;"


def test_without_a_compiler_perform_is_what_runs():
    class Both(Scaled):
        def perform(self, node, inputs, storage, params):
            storage[0][0] = inputs[0] * 100

    x = T.dvector("x")
    assert theano.function([x], Both(2.0)(x))([1.0, 2.0]).tolist() == [2, 4]
    assert theano.function([x], Both(2.0)(x), mode=theano.Mode("py"))([1.0, 2.0])[0] == 100
    with (
        theano.config.change_flags(cxx="")
        if hasattr(theano.config, "change_flags")
        else theano.change_flags(cxx="")
    ):
        assert theano.function([x], Both(5.0)(x))([1.0, 2.0])[0] == 100
        with pytest.raises(NotImplementedError, match="no compiler"):
            theano.function([x], Scaled(7.0)(x))


SECTIONS = """
#section support_code
static bool alike(PyArrayObject *a, PyArrayObject *b) {
    return PyArray_DIMS(a)[0] == PyArray_DIMS(b)[0];
}
#section support_code_struct
npy_intp calls;
#section init_code_struct
calls = 0;
#section support_code_apply
int APPLY_SPECIFIC(times)(PyArrayObject *a, PyArrayObject *b, PyArrayObject **out) {
    if (!alike(a, b)) {
        PyErr_SetString(PyExc_ValueError, "vectors of one length, please");
        return 1;
    }
    Py_XDECREF(*out);
    *out = (PyArrayObject *)PyArray_EMPTY(1, PyArray_DIMS(a), TYPENUM_OUTPUT_0, 0);
    if (!*out) return 1;
    for (npy_intp i = 0; i < PyArray_DIMS(a)[0]; i++)
        ((DTYPE_OUTPUT_0 *)PyArray_DATA(*out))[i] =
            *(DTYPE_INPUT_0 *)PyArray_GETPTR1(a, i) * *(DTYPE_INPUT_1 *)PyArray_GETPTR1(b, i);
    return 0;
}
"""


class Times(gof.COp):
    __props__ = ()

    def __init__(self, path):
        super().__init__(str(path), "APPLY_SPECIFIC(times)")

    def make_node(self, a, b):
        kind = T.TensorType(theano.scalar.upcast(a.dtype, b.dtype), (False,))
        return gof.Apply(self, [a, b], [kind()])


def test_sections_of_a_file(tmp_path):
    path = tmp_path / "times.c"
    path.write_text(SECTIONS)
    a, b = T.fvector(), T.lvector()
    f = theano.function([a, b], Times(path)(a, b))
    found = f(np.array([1.5, 2], "float32"), [2, 3])
    assert found.dtype == "float64" and found.tolist() == [3, 6]
    with pytest.raises(ValueError, match="one length"):
        f(np.array([1.5], "float32"), [2, 3])
    path.write_text(SECTIONS.replace("return 0;", "return nothing;"))
    with pytest.raises(errors.OwnCodeError, match=rf"nothing[\s\S]*{path}:22"):
        theano.function([a, b], type("Again", (Times,), {})(path)(a, b))
    path.write_text(SECTIONS.replace("#section init_code_struct", "#section unknown"))
    with pytest.raises(ValueError, match=f"{path}:8: there is no section 'unknown'"):
        Times(path)


def test_enumerations_and_parameters():
    color = gof.EnumType(RED=("red", 1), BLUE=2.5, ON=True)
    assert (color.RED, color.BLUE, color.ON, color.fromalias("red")) == (1, 2.5, 1, 1)
    assert color.filter("red") == 1 and color.get_aliases() == ("red",)
    with pytest.raises(ValueError, match="no value"):
        color.filter(7)
    kinds = gof.ParamsType(kind=gof.EnumList("A", ("B", "beta")), m=T.dmatrix)
    made = kinds.get_params(m=[[1.0]], kind="beta")
    assert made.kind == kinds.B == 1 and made.m.tolist() == [[1.0]]
    assert made == kinds.get_params(m=[[1.0]], kind=1) and kinds.get_field(T.dmatrix) == "m"
    with pytest.raises(AttributeError, match="two enumerations"):
        gof.ParamsType(a=gof.EnumList("A"), b=gof.EnumList("A", "B"))
