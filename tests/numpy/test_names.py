"""The namespace: every name of NumPy's, as functions on Arrays; what loads when."""

import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import ckernels as K
import ckernels.numpy as cnp
from ckernels.numpy.arrays import Array


def test_every_public_name_of_numpy_is_there():
    for name in np.__all__:
        assert getattr(cnp, name) is not None or getattr(np, name) is None, name
    for module in ("linalg", "fft", "random"):
        for name in getattr(np, module).__all__:
            assert getattr(getattr(cnp, module), name) is not None
    assert set(np.__all__) <= set(dir(cnp))
    with pytest.raises(AttributeError, match="no_such"):
        _ = cnp.no_such
    assert K.numpy is cnp


def test_functions_take_and_return_arrays():
    x = cnp.arange(6).reshape(2, 3)
    for found in (cnp.linalg.norm(x), cnp.fft.fft(x), cnp.unique(x), cnp.where(x > 1, x, 0)[0],
                  cnp.random.default_rng(0).normal(size=2) + cnp.zeros(2), cnp.nonzero(x)[0],
                  cnp.add.reduce(x), cnp.multiply.outer(x, x), np.sin(x), np.sort(x, axis=0),
                  cnp.array([x, x]), cnp.ascontiguousarray(x.T), cnp.split(x, 2)[1],
                  cnp.linalg.slogdet(cnp.eye(2)).sign, cnp.random.standard_normal(3)):  # fmt: skip
        assert isinstance(found, Array)
    assert cnp.allclose(x, x) is True and cnp.shape(x) == (2, 3) and cnp.result_type(x) == "int64"
    assert cnp.float32 is np.float32 and cnp.pi == np.pi and cnp.ndarray is Array
    assert pickle.loads(pickle.dumps(cnp.add))(1, 2) == 3
    assert cnp.add.identity == 0 and "add" in repr(cnp.add)


def test_an_object_of_another_kind_is_asked_by_python():
    class Other:
        def __radd__(self, x):
            return "other"

    assert cnp.ones(2) + Other() == "other"


def test_importing_ckernels_loads_no_name():
    code = ("import sys, ckernels; print([m for m in sys.modules if m.startswith('ckernels.numpy')"
            " or m.startswith('ckernels.jit')])")  # fmt: skip
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("x", [[1.0], np.ones(2), cnp.ones(2)], ids=["list", "array", "own"])
@pytest.mark.parametrize("options", [{"order": np.ones(2)}, {"dtype": np.array(["a", "b"])},
                                     {"dtype": NotImplemented}, {"order": "x"}])  # fmt: skip
def test_odd_arguments_of_asarray_are_refused_as_in_numpy(x, options):
    for name in ("asarray", "asanyarray", "ascontiguousarray"):
        if name == "ascontiguousarray" and "order" in options:
            continue
        with pytest.raises((TypeError, ValueError)) as theirs:
            getattr(np, name)(np.ones(2), **options)
        with pytest.raises(theirs.type, match=re.escape(str(theirs.value))):
            getattr(cnp, name)(x, **options)
    with pytest.raises(TypeError, match="a device must be str, not ndarray"):
        cnp.ones(2).to_device(np.ones(2))
    assert cnp.asarray(y := cnp.ones(2), "float64") is y
