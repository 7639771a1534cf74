"""What the array API standard asks for beyond NumPy's names."""

import numpy as np
import pytest

import ckernels.numpy as cnp


def test_orders_rise_or_fall_and_are_stable():
    x = cnp.asarray([[2, 1, 2], [0, 0, 5]])
    np.testing.assert_array_equal(cnp.sort(x, descending=True), [[2, 2, 1], [5, 0, 0]])
    np.testing.assert_array_equal(cnp.argsort(x, descending=True), [[0, 2, 1], [2, 0, 1]])
    np.testing.assert_array_equal(cnp.argsort(x, axis=0), np.argsort(np.asarray(x), 0))
    np.testing.assert_array_equal(cnp.sort(x, axis=None), [0, 0, 1, 2, 2, 5])


def test_the_namespace_says_what_it_is():
    x = cnp.ones(2)
    assert x.__array_namespace__() is cnp and x.__array_namespace__(api_version="2024.12") is cnp
    with pytest.raises(ValueError, match="2019"):
        x.__array_namespace__(api_version="2019.01")
    info = cnp.__array_namespace_info__()
    assert info.default_device() == "cpu" and cnp.__array_api_version__ == "2024.12"
    assert cnp.__name__ == "ckernels.numpy"  # of the name "numpy", SciPy would take it for NumPy


def test_limits_are_pythons_floats():
    found = cnp.finfo(cnp.float32)
    assert type(found.eps) is float and found.eps == np.finfo("float32").eps and found.bits == 32
    assert cnp.finfo(cnp.ones(2)).max == np.finfo(float).max and found.tiny is not None
    assert "finfo" in repr(found)


def test_lists_frequencies_and_clip():
    assert type(cnp.meshgrid(cnp.arange(2), cnp.arange(3))) is list
    assert type(cnp.broadcast_arrays(cnp.ones(2), 1)) is list
    assert cnp.fft.fftfreq(4, dtype=cnp.float32).dtype == np.float32
    np.testing.assert_array_equal(cnp.clip(cnp.arange(4), max=2), [0, 1, 2, 2])
    np.testing.assert_array_equal(cnp.clip(cnp.arange(4), a_min=1, a_max=2), [1, 1, 2, 2])
