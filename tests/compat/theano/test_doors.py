"""base/doors.py: what the front end's functions raise about arguments that are none."""

import importlib
import inspect
import pickle
import traceback

import pytest

from ckernels.base.errors import (
    ArgumentError,
    CKernelsError,
    IndexOutOfBounds,
    ShapeError,
    UsageError,
)
from ckernels.compat import theano
from ckernels.theano.base import doors, names

T = theano.tensor
M = T.dmatrix("m")


@pytest.mark.parametrize(
    "call, error, was, sentence",
    [
        (lambda: T.mul(), IndexOutOfBounds, IndexError, r"^Elemwise\(\) is refused"),
        (
            lambda: M.sum(axis=float("inf")),
            ArgumentError,
            OverflowError,
            r"Variable.sum\(axis=inf\)",
        ),
        (lambda: M.dimshuffle([None]), UsageError, TypeError, r"dimshuffle\(\[None\]\) is refused"),
        (lambda: T.ARange([1]), UsageError, TypeError, "cannot have the dtype"),
        (lambda: T.makeKeepDims(M, T.dvector(), (0, 1)), ShapeError, ValueError, "2 dimensions"),
        (lambda: theano.change_flags(3), UsageError, TypeError, "flags are {name: value}"),
        (lambda: M.copy(name=M), UsageError, TypeError, "a name must be a string"),
        (lambda: M.take(0, axis=2), ShapeError, ValueError, "the axis of take 2 does not exist"),
        (lambda: theano.misc.pkl_utils.dump(3, M), UsageError, TypeError, "to write is needed"),
    ],
)
def test_errors_of_python_become_sentences_and_stay_what_they_were(call, error, was, sentence):
    with pytest.raises(error, match=sentence) as caught:
        call()
    assert isinstance(caught.value, was) and isinstance(caught.value, CKernelsError)
    assert caught.value.line[0] == __file__


def test_errors_of_the_users_code_pass():
    def step(x):
        raise KeyError("mine")

    for call in (
        lambda: theano.scan(step, sequences=M),
        lambda: theano.map(step, M),
        lambda: step(M),
    ):
        with pytest.raises(KeyError) as caught:
            call()
        assert not isinstance(caught.value, CKernelsError)
        assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "step"


def test_a_door_within_the_users_code_is_that_of_the_call_there():
    with pytest.raises(UsageError, match=r"dimshuffle\(\[None\]\) is refused"):
        theano.map(lambda x: x.dimshuffle([None]), M)


def test_calls_that_fit_no_signature_are_pythons_affair():
    with pytest.raises(TypeError, match="argument") as caught:
        T.sum()
    assert not isinstance(caught.value, CKernelsError)


def test_what_runs_a_function_has_no_door():
    @theano.compile.as_op([T.dvector], [T.dvector])
    def fails(x):
        raise KeyError("mine")

    v = T.dvector()
    with pytest.raises(KeyError) as caught:
        theano.function([v], fails(v))([1])
    assert "is refused" not in str(caught.value)


@pytest.mark.parametrize("tail", ["tensor.nnet", "tensor.sort", "tensor.io", "sparse.sandbox.sp"])
def test_functions_of_modules_that_are_loaded_later_have_doors(tail):
    module = importlib.import_module(f"ckernels.compat.theano.{tail}")
    own = importlib.import_module(names.place(tail))
    for where in (module, own):
        for name, value in vars(where).items():
            room = str(getattr(value, "__module__", "")).removeprefix("ckernels.theano.")
            closed = room in doors.CLOSED or not room.startswith(("tensor", "sparse"))
            if name[0] != "_" and inspect.isfunction(value) and not closed:
                assert hasattr(value, "__wrapped__") or inspect.isgeneratorfunction(value), name


def test_a_function_with_a_door_is_one_object_with_its_own_signature():
    assert pickle.loads(pickle.dumps(T.sum)) is T.sum is T.basic.sum
    assert list(inspect.signature(T.sum).parameters)[:2] == ["input", "axis"]
    assert T.sum.__doc__ and T.sum.__name__ == "sum"


def test_programs_find_the_arguments_of_functions():
    """Keras 1 asks theano.function whether it takes `mode`."""
    assert inspect.getfullargspec(theano.function).args[:3] == ["inputs", "outputs", "mode"]
    assert "axis" in inspect.getfullargspec(theano.tensor.sum).args
