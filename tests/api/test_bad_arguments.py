"""Arguments that are none, for every public function: exceptions of ckernels with the user's line.

`make slow` draws more of them; bad_arguments.py says how.
"""

import importlib
import inspect
import operator
import os
import re

import numpy as np
import pytest

import ckernels as K
import ckernels.compat.theano.tensor as T
from ckernels.api import hints
from ckernels.compat import keras1, keras2
from ckernels.compat.theano import shared
from ckernels.compat.theano.tensor import nlinalg
from ckernels.compat.theano.tensor.signal.pool import pool_2d
from ckernels.errors import (
    ArgumentError,
    CKernelsError,
    DisconnectedError,
    DTypeError,
    ShapeError,
    UsageError,
)
from ckernels.jit.function import OPTIONS

from . import bad_arguments as bad

DIALECTS = ("keras1", "keras2", "natural_bm", "nnet", "signal")
THEANO = (
    "", "tensor", "tensor.nnet", "tensor.signal.pool", "tensor.slinalg", "tensor.nlinalg",
    "tensor.fft", "tensor.extra_ops", "tensor.raw_random", "tensor.shared_randomstreams",
    "sandbox.rng_mrg", "gradient", "ifelse", "printing", "sparse", "typed_list", "gof",
    "tensor.subtensor", "tensor.nnet.bn", "tensor.nnet.conv", "tensor.nnet.neighbours",
    "tensor.nnet.ctc", "tensor.nnet.abstract_conv", "tensor.elemwise", "tensor.sort", "raise_op",
    "updates", "misc.pkl_utils", "compile", "tensor.signal.conv", "tensor.signal.downsample",
    "tensor.opt", "tensor.var", "tensor.inplace", "tensor.sharedvar",
)  # fmt: skip
COUNT = int(os.environ.get("CKERNELS_TESTS_CASES", 20000))


def every_function():
    names = [*DIALECTS, *(f"theano.{tail}".rstrip(".") for tail in THEANO)]
    modules = [K, K.sparse, *(importlib.import_module(f"ckernels.compat.{n}") for n in names)]
    every = [(f"{m.__name__}.{n}", f) for m in modules for n, f in bad.functions(m).items()]
    return list({id(f): (name, f) for name, f in every}.values())


def every_method(tensors):
    """Methods of tensors of each kind, and of a function that was called."""
    f = K.function([tensors["matrix"]], tensors["matrix"] * 2, name="f")
    f(np.ones((3, 3)))
    owners = {k: tensors[k] for k in ("matrix", "whole", "mask", "sparse", "variable")}
    owners |= {"tmat": T.dmatrix("x"), "tvec": T.ivector("i"), "tsc": T.dscalar("s")}
    owners["shared"] = shared(np.ones((3, 3)), name="w")
    return [
        (f"{kind}.{name}", getattr(x, name))
        for kind, x in {**owners, "f": f}.items()
        for name in dir(x)
        if name[0] != "_" and name != "value" and callable(getattr(x, name, None))
    ]


def findings(seed, rounds):
    """What `rounds` calls of every function gave that is neither a result nor our exception."""
    rng, found = np.random.default_rng(seed), []
    tensors = bad.tensors()
    bad.PLACES[:] = [x for name, x in tensors.items() if name not in ("variable", "constant")]
    functions = every_function() + every_method(tensors)
    for _ in range(rounds):
        for name, function in functions:
            args, kwargs = bad.arguments(function, tensors, rng)
            problem = bad.run(function, args, kwargs)
            if problem is not None:
                found.append(
                    f"{bad.place(problem)}: {name}{args!r:.200}{kwargs!r:.200} {problem!r}"
                )
    return found


def test_every_function_once(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)  # `draw` and `export` write where they are told
    assert len(every_function()) > 1200
    found = findings(1, 1)
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_every_function_many_times(tmp_path, new_seed, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    rounds = -(-COUNT // len(every_function()))
    found = findings(new_seed, rounds)
    assert not found, "\n".join(found)


def test_what_is_true_false_or_none_is_no_array(tmp_path, monkeypatch, capfd):
    """Each argument that is True, False or None of each function gets two strings: `x or ()` asks
    an array for its truth."""
    monkeypatch.chdir(tmp_path)
    tensors, found, given = bad.tensors(), [], 0
    bad.PLACES[:] = [x for name, x in tensors.items() if name not in ("variable", "constant")]
    for name, function in every_function() + every_method(tensors):
        needed = [n for n, required in bad.parameters(function) if required]
        for flag in bad.flags(function):
            for seed in range(3):
                rng = np.random.default_rng(seed)
                args = [bad.fitting(n, tensors, rng) for n in needed]
                problem = bad.run(function, args, {flag: np.array(["a", "b"])})
                if problem is not None:
                    found.append(f"{bad.place(problem)}: {name} {flag} {problem!r}")
            given += 1
    assert given > 200 and not found, "\n".join(found)


def test_a_finding_is_found():
    tensors = bad.tensors()
    assert isinstance(bad.run(int, ["a"], {}), ValueError)
    assert isinstance(bad.run(getattr, [3, "node"], {}), AttributeError)
    assert bad.run(K.sum, [tensors["matrix"]], {"axis": 7}) is None


ODD = np.ones((2, 2))
IMAGES, KERNEL, FOUR = K.placeholder((1, 4, 4, 2)), K.ones((2, 2, 2, 2)), T.dtensor4("t")
M, V = K.placeholder((3, 3), name="m"), K.placeholder((3,), name="v")
Z = K.placeholder((4,), dtype="complex64")
U, PLACES = K.placeholder((3,), dtype="uint8"), np.array([0, 0])
NAMED = [
    (lambda: K.set_subtensor(U[1:], -1), DTypeError, "the Python int -1 does not fit in uint8"),
    (lambda: K.inc_subtensor(U[:], 256), DTypeError, "the Python int 256 does not fit in uint8"),
    (lambda: K.inc_subtensor(U[PLACES], -1), DTypeError, "the Python int -1 does not fit in"),
    (lambda: U.fill(300), DTypeError, "fill: the Python int 300 does not fit in uint8"),
    (lambda: K.Rop(3, V, V), DTypeError, "f must be a tensor"),
    (lambda: K.Lop(V, (2, 3), V), DTypeError, "with respect to"),
    (lambda: K.grad(K.sum(V), V, known_grads=3), UsageError, "known_grads must be a dict, not 3"),
    (lambda: K.grad(K.sum(V), None), UsageError, "with respect to must be a list, not None"),
    (lambda: K.batch_set_value(3), UsageError, "batch_set_value must be a list"),
    (lambda: K.batch_set_value([3]), UsageError, "an item of the argument of batch_set_value"),
    (lambda: K.batch_get_value(3), UsageError, "batch_get_value must be a list"),
    (lambda: K.permute_dimensions(M, 1), UsageError, "the pattern must be a list, not 1"),
    (lambda: K.map_fn(V, V), UsageError, "the first argument of map_fn must be a function"),
    (lambda: K.foldr(V, V), UsageError, "the first argument of foldr must be a function"),
    (lambda: K.grad_clip(V, "a", 1), UsageError, "a limit must be a number, not 'a'"),
    (lambda: K.grad_scale(V, [1, 2]), UsageError, "factor must be a number"),
    (lambda: K.tensordot(M, M, axes=()), UsageError, "the axes of tensordot must be a pair"),
    (lambda: K.tensorsolve(M, V, axes=3), UsageError, "the axes of tensorsolve must be a list"),
    (lambda: K.random_uniform_variable((2,), 0, None), UsageError, "high must be a number"),
    (lambda: K.random_normal_variable((None, 2), 0, 1), ShapeError, "every size must be known"),
    (lambda: K.dropout(V, 0.5, noise_shape="a"), UsageError, "a dimension of shape must be an int"),
    (lambda: K.zeros((2,), name=[1]), UsageError, r"a name must be a string, not \[1\]"),
    (lambda: K.multinomial(0.5), ShapeError, "probabilities of all classes, got a scalar"),
    (lambda: K.rfft(V, ndim=None), UsageError, "ndim must be a number, not None"),
    (lambda: K.rfft(V, norm=ODD), ArgumentError, "norm is one of None, 'ortho', 'no_norm', not"),
    (lambda: K.c_op("", {"x": V}, {"y": V}, name=[1]), UsageError, "the name of a c_op"),
    (lambda: K.split(V, K.ones((1, 1))), CKernelsError, "a size of split must be a scalar"),
    (lambda: K.cast(V, V), DTypeError, "v is not a dtype"),
    (lambda: K.foldr(lambda a, b: a, M, initializer={}), CKernelsError, "initializer of foldr"),
    (lambda: K.scan(3, M), UsageError, "must be a function"),
    (lambda: K.placeholder((3, 3), sparse=ODD), UsageError, "sparse must be True or False"),
    (lambda: keras1.conv2d(IMAGES, KERNEL, border_mode=ODD), ArgumentError, "border_mode is one"),
    (lambda: keras1.pool2d(IMAGES, (2, 2), pool_mode=ODD), ArgumentError, "Invalid pooling mode"),
    (lambda: T.nnet.conv2d(FOUR, FOUR, border_mode=ODD), UsageError, "border_mode, or each of"),
    (lambda: pool_2d(FOUR, (2, 2), True, mode=ODD), ArgumentError, "no pooling mode is called"),
    (lambda: K.quantile(V, "a"), ArgumentError, "quantiles are numbers from 0 to 1, not 'a'"),
    (lambda: K.quantile(V, 0.5, method=ODD), ArgumentError, "the method of quantile is one of"),
    (lambda: K.partition(V, ["a"]), UsageError, "kth of partition, or each of its numbers"),
    (lambda: K.partition(V, None), UsageError, "kth of partition, or each of its numbers"),
    (lambda: keras2.rnn(lambda x, h: (x, h), (), [M]), ArgumentError, "at least one input"),
    (lambda: M.transpose((None, None)), UsageError, "an axis of transpose must be an integer"),
    (lambda: M.norm(float), UsageError, "L of norm must be a number"),
    (lambda: K.rfft(Z), DTypeError, r"rfft takes real numbers, not complex64 \(4,\)"),
    (lambda: K.irfft(Z), DTypeError, r"irfft takes real numbers, .* a pair in the last axis"),
    (lambda: K.irfft(M, is_odd=3), UsageError, "is_odd must be True or False, not 3"),
    (lambda: K.eigh(M, lower="U"), UsageError, "lower must be True or False, not 'U'"),
    (lambda: K.sum(M, keepdims=2), UsageError, "keepdims must be True or False, not 2"),
    (lambda: K.grad(K.sum(K.real(K.eig(M)[0])), M), DisconnectedError, "eig has no gradient"),
    (lambda: K.ravel_multi_index(([1], [9]), (3, 3)).eval(), ArgumentError, r"\(1, 9\) is out"),
    (
        lambda: K.unravel_index([9], (3, 3))[0].eval(),
        ArgumentError,
        r"unravel_index: 9 is out of range",
    ),
    (lambda: K.ravel_multi_index(([1], [1]), (3, 3), mode="x"), ArgumentError, "the mode of rav"),
    (lambda: K.unravel_index([1], (3, 3), order="x"), ArgumentError, "the order of unravel_index"),
    (lambda: K.choose([1], [[1.0], [2.0]], mode=3), ArgumentError, "the mode of choose is one of"),
    (lambda: K.roll(V, 1.5), DTypeError, "the shift of roll is one integer, not 1.5"),
    (lambda: K.roll(V, [1, 2]), DTypeError, r"the shift of roll is one integer, not \[1, 2\]"),
    (lambda: K.roll(V, V), DTypeError, r"the shift of roll is one integer, not float32 \(3,\)"),
    (lambda: K.permutation(-1), ShapeError, "the n of permutation is at least 0, not -1"),
    (lambda: K.multinomial([0.5, 0.5], n=-1), ArgumentError, "how often it draws, is at least 0"),
    (
        lambda: K.multinomial([0.5, -0.5]),
        ArgumentError,
        "probabilities of multinomial are at least",
    ),
    (lambda: K.categorical([[1, 0], [0, 0]]), ArgumentError, "one of each row is above"),
    (
        lambda: K.categorical([np.nan, 1]),
        ArgumentError,
        "probabilities of categorical are at least",
    ),
    (lambda: K.searchsorted(V, V, side=ODD), ArgumentError, "the side of searchsorted is one of"),
    (lambda: K.bartlett(3, dtype=ODD), DTypeError, "is not a dtype"),
    (lambda: K.tri(3, dtype=ODD), DTypeError, "is not a dtype"),
    (lambda: K.multinomial([0.5, 0.5], dtype=ODD), DTypeError, "is not a dtype"),
    (lambda: K.isclose(V, V, equal_nan=ODD), UsageError, "equal_nan must be True or False"),
    (lambda: K.shared(ODD, borrow=ODD), UsageError, "borrow must be True or False"),
    (
        lambda: nlinalg.matrix_power(T.dmatrix(), np.nan),
        UsageError,
        "the power of a matrix must be",
    ),
    (lambda: K.sparse.CSR(V, [1], [1], "same"), CKernelsError, "a size of a sparse matrix must be"),
    (lambda: M.eval(inputs=3), UsageError, "inputs of eval, {placeholder: value}, must be a dict"),
    (lambda: K.arange(None), UsageError, "the bounds of arange are numbers"),
    (lambda: K.random_normal((None, 3)), UsageError, r"shape \(\?, 3\) has None; K.shape"),
    (lambda: K.foldl(lambda a: a, V), UsageError, "foldl cannot be called with 2 arguments"),
    (lambda: K.foldr(lambda a, b, c: a, V), UsageError, "foldr cannot be called with 2 arguments"),
    (lambda: K.variable(V), ArgumentError, r"K.function\(\[v\], y\)"),
]


@pytest.mark.parametrize("call, error, sentence", NAMED, ids=range(len(NAMED)))
def test_sentences(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


W, F = K.variable(np.ones(3), name="w"), K.function([V], V * 2, name="double")
HINTS = [
    (lambda: V.numpy(), AttributeError, "K.eval"),
    (lambda: V.backward(), AttributeError, "K.grad"),
    (lambda: V.detach(), AttributeError, "K.stop_gradient"),
    (lambda: W.assign(2), AttributeError, "w.set_value"),
    (lambda: V.reshap, AttributeError, "did you mean `reshape`"),
    (lambda: K.softmx, AttributeError, "did you mean `softmax`"),
    (lambda: K.reduce_sum, AttributeError, "use K.sum"),
    (lambda: K.njit, AttributeError, r"K.jit\(f\)"),
    (lambda: K.vmap, AttributeError, r"K.jit.vmap\(f\)"),
    (lambda: K.Adam, AttributeError, "ckernels.keras3"),
    (lambda: K.float64, AttributeError, "K.set_floatx"),
    (lambda: K.manual_seed, AttributeError, "use K.set_random_seed"),
    (lambda: K.jit(nopython=True), UsageError, "no option 'nopython': strict=True makes an error"),
    (lambda: K.jit(parallel=True), UsageError, "no option 'parallel': leave it out"),
    (lambda: F.stepps, AttributeError, "did you mean `steps`"),
    (lambda: F([1, 2, 3]), UsageError, r"f\(\[\[1, 2, 3\]\]\)"),
    (lambda: F({"v": np.ones(3)}), UsageError, r"keywords, f\(v=array\)"),
    (lambda: F({V: np.ones(3)}), UsageError, r"keywords, f\(v=array\)"),
    (lambda: max(V, W), UsageError, "K.maximum"),
    (lambda: K.where(0 < V < 1, V, W), UsageError, r"\(0 < x\) & \(x < 1\)"),
    (lambda: f"{V:.3f}", UsageError, "format K.eval"),
    (lambda: round(V, 2), UsageError, r"K.round\(x \* 100\) / 100"),
]


@pytest.mark.parametrize("call, error, sentence", HINTS, ids=range(len(HINTS)))
def test_hints(call, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        call()
    assert isinstance(caught.value, CKernelsError) and caught.value.line[0] == __file__


def test_hints_are_for_names_that_are_not_there():
    assert not [n for n in [*hints.MODULE, *hints.WAYS] if hasattr(K, n)]
    assert not set(hints.MODULE) & set(hints.WAYS)
    for shown in hints.MODULE.values():
        first = re.match(r"\w+", shown)
        assert not first or hasattr(K, first[0]), shown
    assert not set(OPTIONS) & set(inspect.signature(K.jit.jit).parameters)
    for shown in hints.WAYS.values():
        for path in re.findall(r"\bK((?:\.[a-z_]+)+)", shown):
            operator.attrgetter(path[1:])(K)


def test_names_that_libraries_ask_for():
    for thing in (V, W, F, K):
        assert not hasattr(thing, "_keras_history") and not hasattr(thing, "no_such_name")
        assert getattr(thing, "cuda_array", 3) == 3
    assert f"{V}" == "v" and f"{F}" == "<ckernels function double(v)>"
    np.testing.assert_array_equal(K.function([V], round(V))([[0.4, 1.6, 2.5]]), [0, 2, 2])


def test_what_a_function_shows():
    parts = K.function([V], K.sum(V[V > 0]))
    for f in (F, parts, K.function([V], V, mode="reference")):
        shown = [n for n in dir(f) if n[0] != "_"]
        assert {"steps", "stats", "explain", "source", "copy", "profile_table"} <= set(shown)
        assert len(shown) < 20 and all(hasattr(f, n) for n in shown)
        for name in ("over", "address"):
            said = inspect.getdoc(getattr(f, name))
            assert said and list(inspect.signature(getattr(f, name)).parameters)
    assert "f.steps()" in type(F).__doc__ and "sparse" in dir(K) and "softmax" in dir(K)
