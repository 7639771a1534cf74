"""base/signatures.py: functions that take what another takes."""

import inspect

import numpy as np
import pytest

from ckernels.base.errors import UsageError
from ckernels.compat import nnet, signal, theano
from ckernels.theano.base.signatures import like
from ckernels.theano.tensor.nnet import abstract_conv
from ckernels.theano.tensor.signal import conv, pool


def model(a, b=2, *, c=3, **rest):
    """What is copied."""


@like(model)
def twin(b, **all):
    """Its own text."""
    return b, all


@like(model, a="first")
def renamed(first, **all):
    return first, all


def test_arguments_come_by_name_with_the_defaults_of_the_model():
    assert twin(1) == (2, {"a": 1, "c": 3})
    assert twin(1, 5, c=7, d=9) == (5, {"a": 1, "c": 7, "d": 9})
    assert renamed(first=1, b=4) == (1, {"b": 4, "c": 3})


def test_the_signature_is_the_models_and_the_text_its_own():
    assert inspect.signature(twin) == inspect.signature(model)
    assert list(inspect.signature(renamed).parameters) == ["first", "b", "c", "rest"]
    assert twin.__doc__ == "Its own text." and twin.__name__ == "twin"


@pytest.mark.parametrize(
    "call", [lambda: twin(), lambda: twin(1, 2, 3), lambda: twin(1, a=1), lambda: renamed(a=1)]
)
def test_calls_that_do_not_fit_name_the_function(call):
    with pytest.raises(UsageError, match="^(twin|renamed): "):
        call()


@pytest.mark.parametrize("ours, module", [(nnet, abstract_conv), (signal, pool)])
def test_the_twins_of_the_front_end_take_the_same(ours, module):
    mine = {n for n, f in vars(ours).items() if inspect.isfunction(f)}
    names = sorted(n for n in mine if inspect.isfunction(getattr(module, n, None)))
    assert len(names) >= 3
    for name in names:
        a, b = (inspect.signature(getattr(m, name)) for m in (ours, module))
        assert a == b, name


def test_other_twins():
    assert inspect.signature(conv.conv2d) == inspect.signature(signal.conv2d)
    asked = list(inspect.signature(theano.compile.pfunc).parameters)
    assert asked == ["params", *list(inspect.signature(theano.function).parameters)[1:]]


@pytest.mark.parametrize("kind", ["inputs", "weights"])
@pytest.mark.parametrize("n", [2, 3])
def test_gradients_of_convolutions_by_the_functions_with_their_defaults(n, kind):
    rng = np.random.default_rng(n)
    x, w = rng.normal(size=(2, 3, *(6,) * n)), rng.normal(size=(4, 3, *(3,) * n))
    g = rng.normal(size=(2, 4, *(4,) * n))
    X, W = theano.shared(x), theano.shared(w)
    y = getattr(abstract_conv, f"conv{n}d")(X, W)
    by = X if kind == "inputs" else W
    want = theano.function([], theano.grad((y * g).sum(), by))()
    find = getattr(abstract_conv, f"conv{n}d_grad_wrt_{kind}")
    given = (g, W, x.shape) if kind == "inputs" else (X, g, w.shape)
    np.testing.assert_allclose(theano.function([], find(*given))(), want, rtol=1e-10)
