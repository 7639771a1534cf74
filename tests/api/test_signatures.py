import inspect

import pytest

import ckernels as K

from .signatures import DOCUMENTED

# Documented parameters first, ours after them.
EXTENDED = {"conv2d_transpose", "function", "gradients", "resize_images", "rnn", "solve", "svd"}


@pytest.mark.parametrize("text", DOCUMENTED)
def test_signature(text):
    name = text.partition("(")[0]
    got = f"{name}{inspect.signature(getattr(K, name))}"
    if name in EXTENDED:
        assert got.startswith(text[:-1])
        extra = list(inspect.signature(getattr(K, name)).parameters.values())[text.count(",") + 1 :]
        assert all(p.default is not p.empty or p.kind == p.VAR_KEYWORD for p in extra)
    else:
        assert got == text


def test_all_names_what_is_public():
    assert {t.partition("(")[0] for t in DOCUMENTED} <= set(K.__all__)
    assert len(K.__all__) == len(set(K.__all__))
    assert all(hasattr(K, name) for name in K.__all__)
    assert K.__version__


@pytest.mark.parametrize("name", [n for n in K.__all__ if inspect.isfunction(getattr(K, n))])
def test_every_function_says_what_it_does(name):
    assert getattr(K, name).__doc__
