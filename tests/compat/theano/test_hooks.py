"""base/hooks.py: what lower files call and higher ones define."""

import importlib
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

from ckernels.base.errors import ArgumentError
from ckernels.compat import theano
from ckernels.theano.base import hooks

T = theano.tensor


@pytest.mark.parametrize("name", hooks.HOOKS)
def test_the_file_a_hook_names_registers_it(name):
    file = importlib.import_module(f"ckernels.theano.{hooks.HOOKS[name][0]}")
    assert f'register_hook("{name}", ' in inspect.getsource(file)
    assert hooks.hook(name) is not None


def test_a_name_that_is_in_no_table_is_refused():
    with pytest.raises(ArgumentError, match="no hook is called 'functoin'"):
        hooks.register_hook("functoin", None)
    with pytest.raises(KeyError):
        hooks.hook("functoin")


def test_a_pickle_of_a_graph_comes_back_in_a_process_that_loaded_nothing(tmp_path):
    x = T.dmatrix("x")
    y = x.reshape((2, -1))[0] + theano.shared(np.arange(2.0), "s")
    (tmp_path / "g.pkl").write_bytes(pickle.dumps((x, y)))
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import pickle; x, y = pickle.load(open('g.pkl', 'rb'));"
            "print(y.eval({x: [[1.0, 2.0, 3.0, 4.0]]}).tolist(), y.dimshuffle('x', 0).ndim)",
        ],
        capture_output=True,
        cwd=tmp_path,
    )
    assert done.stdout.decode().strip() == "[1.0, 3.0] 2", done.stderr.decode()[-800:]


def test_numbers_of_theano_scalar_become_tensors():
    a = theano.scalar.float64("a")
    found = T.as_tensor_variable(a, ndim=2)
    assert found.ndim == 2 and T.as_tensor_variable(a).ndim == 0
    assert theano.function([a], found + np.ones((1, 3)))(2.0).tolist() == [[3.0] * 3]
    assert T.as_tensor_variable(theano.scalar.constant(3)).eval() == 3
    padded = T.as_tensor_variable(T.dvector(), ndim=3)
    assert padded.broadcastable == (True, True, False)


def test_largest_and_smallest_of_two_and_of_more():
    x, y, z = T.dvectors("xyz")
    given = [1.0, 5.0], [2.0, 4.0], [3.0, 0.0]
    f = theano.function([x, y, z], [T.largest(x, y), T.largest(x, y, z), T.smallest(x, y, z)])
    assert [v.tolist() for v in f(*given)] == [[2.0, 5.0], [3.0, 5.0], [1.0, 0.0]]
