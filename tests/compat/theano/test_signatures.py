"""base/signatures.py: functions that take what another takes."""

import inspect

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


def test_the_twins_of_the_front_end_take_the_same():
    for ours, module in ((nnet, abstract_conv), (signal, pool)):
        names = [n for n in vars(ours) if hasattr(getattr(module, n, None), "__signature__")]
        assert len(names) >= 2
        for name in names:
            assert inspect.signature(getattr(ours, name)) == inspect.signature(
                getattr(module, name)
            ), name
    assert inspect.signature(conv.conv2d) == inspect.signature(signal.conv2d)
    asked = list(inspect.signature(theano.compile.pfunc).parameters)
    assert asked == ["params", *list(inspect.signature(theano.function).parameters)[1:]]
