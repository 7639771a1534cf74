"""Arguments that are none, for every function of ckernels.numpy: NumPy's exceptions or results.

Each call starts from arguments that fit by their names, of which one is replaced. It is made of
NumPy and of ckernels.numpy, all of it late: what NumPy computes has to be computed, and what raises
is an exception of ckernels with the user's line or of NumPy's type. `make slow` draws more of them.
"""

import copy
import inspect
import warnings

import numpy as np
import pytest

import ckernels as ck
import ckernels.numpy as cnp
from ckernels.errors import CKernelsError
from ckernels.numpy.arrays import Array
from ckernels.numpy.names import KEPT

pytestmark = pytest.mark.usefixtures("late")

# Python's own words for a call that does not fit a signature.
ARITY = ("positional argument", "keyword argument", "multiple values for", "takes no arguments")

# They read or write files, change what all share, call what they are given, or show memory.
LEFT_OUT = set("""
    fromfile fromregex genfromtxt load loadtxt save savetxt savez savez_compressed memmap test info
    seterr seterrcall setbufsize set_printoptions printoptions errstate get_include show_config
    show_runtime geterrcall empty empty_like ndarray asmatrix bmat matrix shares_memory
    may_share_memory frompyfunc nditer nested_iters iterable typename
    get_printoptions geterr getbufsize""".split())  # fmt: skip
FUNCTIONS = [
    name
    for name in sorted(np.__all__)
    if name not in LEFT_OUT | KEPT
    and callable(getattr(np, name))
    and not isinstance(getattr(np, name), type)
]
FITTING = {
    "axis": [0, -1, None], "axes": [(1, 0), None], "shape": [(3, 3), 9],
    "dtype": ["float32", np.int64, None], "n": [2], "N": [3], "M": [3], "k": [0, 1], "kth": [1],
    "repeats": [2], "reps": [2], "shift": [1], "q": [0.5, 50], "bins": [3], "num": [4],
    "start": [0, 1.5], "stop": [3], "indices_or_sections": [3], "pad_width": [1],
    "subscripts": ["ij"], "condlist": [[np.array([True, False, True])]], "newshape": [9],
    "source": [0], "destination": [1], "axis1": [0], "axis2": [1], "func": [lambda x: x],
    "func1d": [lambda x: x.sum()], "function": [lambda i, j: i], "fill_value": [1, 2.5],
    "arrays": [[np.ones(3), np.ones(3)]], "arys": [np.ones(3)], "tup": [(np.ones(3), np.ones(3))],
    "keepdims": [True, False], "mode": ["constant", "edge", "same", "valid", "raise", "clip"],
    "side": ["left"], "obj": [0, slice(0, 2)], "new_shape": [(2, 2)], "out": [None],
}  # fmt: skip
ODD = [
    None, True, 0, 1, -1, 3, 7, -9, 0.5, -1.5, float("nan"), float("inf"), 1j, "a", "", "same",
    "float32", b"a", [], (), {}, [1], (2, 3), [1.5], [None], ["a"], [[1], [2, 3]], [[]], (1, None),
    {"a": 1}, range(3), slice(0, 2), Ellipsis, NotImplemented, object, np.ones((2, 0)),
    np.array("a"), np.float32(1), np.int64(-2), np.dtype("float32"), np.float32, 40, -1000, 2**70,
    np.zeros(2, "datetime64[s]"), np.array(None, object),
]  # fmt: skip
ARRAYS = [np.arange(9.0).reshape(3, 3) + 1, np.arange(3.0), np.array([0, 1, 2]),
          np.array([False, True, True]), np.ones((2, 3, 3), "float32"),
          np.array([[1 + 1j, 2.0]]), np.zeros((0, 3))]  # fmt: skip


X, SQUARE = np.random.default_rng(5).normal(size=40), np.ones((20, 30))
REFUSED = {  # what NumPy refuses where a formula would have some result: (call, arrays)
    "sorter": (lambda xp, a, s: xp.searchsorted(a, 0.5, sorter=s), (X, np.argsort(X)[:30])),
    "weights": (lambda xp, a, w: xp.histogram(a, 3, weights=w)[0], (X, np.ones(1))),
    "weights of 2": (lambda xp, a, w: xp.histogram(a, 3, weights=w)[0], (X, np.ones((40, 1)))),
    "weights in 2": (lambda xp, a, w: xp.histogram2d(a, a, weights=w)[0], (X, np.ones(1))),
    "of nan": (lambda xp, a: xp.histogram(a, 3)[0], (np.append(X, np.nan),)),
    "of inf": (lambda xp, a: xp.histogram(a, 3)[0], (np.append(X, np.inf),)),
    "average": (lambda xp, a, w: xp.average(a, weights=w), (X, np.ones(1))),
    "average of 2": (lambda xp, a, w: xp.average(a, axis=1, weights=w), (SQUARE, np.ones(1))),
    "diagonal": (lambda xp, a: xp.einsum("ii", a), (SQUARE,)),
    "interp": (lambda xp, a, b: xp.interp(0.5, a, b), (np.sort(X), np.arange(41.0))),
    "diff": (lambda xp, a: xp.diff(a, -1), (X,)),
    "ddof": (lambda xp, a: xp.std(a, ddof=1, correction=1), (X,)),
    "nan ddof": (lambda xp, a: xp.nanvar(a, ddof=1, correction=1), (X,)),
    "two ways": (lambda xp, a: xp.sort(a, stable=True, kind="quicksort"), (X,)),
    "no way": (lambda xp, a: xp.argsort(a, kind="bad"), (X,)),
    "two limits": (lambda xp, a: xp.clip(a, -1, 1, min=0), (X,)),
}
if hasattr(np, "vecdot"):
    REFUSED["vecdot"] = lambda xp, a, b: xp.vecdot(a, b), (X, np.ones(1))


def needed(function):
    """(names of arguments that have to be given, names of others)."""
    if isinstance(function, np.ufunc):
        return ["x"] * function.nin, ["axis", "where", "casting", "dtype"]
    try:
        named = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ["x"], []
    some = [p for p in named if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    some = [p for p in some if p.name not in ("like", "out")]
    more = [p.name for p in some if p.default is not p.empty and p.kind is not p.POSITIONAL_ONLY]
    return [p.name for p in some if p.default is p.empty], more


def drawn(function, rng):
    """(args, keywords), one of which is odd."""
    must, may = needed(function)
    names = must + [n for n in may if rng.random() < 0.25]
    values = []
    for name in names:
        pool = FITTING.get(name, ARRAYS)
        values.append(pool[rng.integers(len(pool))])
    if values:
        values[rng.integers(len(values))] = ODD[rng.integers(len(ODD))]
    return values[: len(must)], dict(zip(names[len(must) :], values[len(must) :]))


def ours(x):
    """What NumPy is given, as ckernels.numpy is given it."""
    if type(x) is np.ndarray and x.dtype.kind in "biufc":
        return cnp.asarray(x)
    return type(x)(map(ours, x)) if type(x) in (list, tuple) else x


def own(x):
    """A copy of an array: some calls store into it."""
    return copy.copy(x) if isinstance(x, (Array, np.ndarray, list)) else x


def computed(x):
    if isinstance(x, Array):
        return np.asarray(x)
    if isinstance(x, (tuple, list)):
        return [computed(i) for i in x]
    return x


def outcome(call, args, keywords):
    """What a call raises, or None."""
    args, keywords = [own(x) for x in args], {k: own(x) for k, x in keywords.items()}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            computed(call(*args, **keywords))
        except Exception as problem:
            return problem


def finding(name, rng):
    """What is wrong with a call of one function, or None."""
    args, keywords = drawn(getattr(np, name), rng)
    said = f"{name}{args!r:.200}{keywords!r:.100}"
    given = [ours(x) for x in args], {k: ours(x) for k, x in keywords.items()}
    want, got = outcome(getattr(np, name), args, keywords), outcome(getattr(cnp, name), *given)
    if got is None or isinstance(want, TypeError) and any(w in str(want) for w in ARITY):
        return None
    located = isinstance(got, CKernelsError) and got.line and got.line[0] == __file__
    if want is None or not (located or isinstance(got, type(want))):
        return f"{said}: NumPy {want!r:.150}, here {got!r:.150}"
    return None


def findings(seed, rounds):
    rng = np.random.default_rng(seed)
    found = [finding(name, rng) for _ in range(rounds) for name in FUNCTIONS]
    return [line for line in found if line]


def test_every_function_a_few_times():
    assert len(FUNCTIONS) > 300
    found = findings(1, 3)
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_every_function_many_times(many, new_seed):
    found = findings(new_seed, -(-many // len(FUNCTIONS)))
    assert not found, "\n".join(found)


def test_a_finding_is_found(monkeypatch):
    monkeypatch.setattr(cnp, "sum", lambda *a, **k: 1 / 0, raising=False)
    assert any(finding("sum", np.random.default_rng(s)) for s in range(5))


@pytest.mark.parametrize("split", ["split", "array_split"])
@pytest.mark.parametrize("parts", [0, -1, 2**70])
def test_parts_of_a_split_that_are_none(split, parts):
    x = np.arange(6.0)
    want = outcome(getattr(np, split), [x, parts], {})
    assert type(outcome(getattr(cnp, split), [cnp.asarray(x), parts], {})) is type(want)


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_has_no_result(name):
    call, arrays = REFUSED[name]
    ways = (
        (lambda *a: call(np, *a), arrays),
        (lambda *a: np.asarray(call(cnp, *a)), [cnp.asarray(a) for a in arrays]),
        (ck.jit(lambda *a: call(np, *a)), arrays),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for function, given in ways:
            with pytest.raises((TypeError, ValueError, CKernelsError)):
                function(*given)


@pytest.mark.skipif(not hasattr(np, "vecdot"), reason="NumPy 1 has no mean= there")
@pytest.mark.parametrize("name", ["std", "var", "nanstd", "nanvar"])
def test_spreads_about_a_mean_that_is_given(name):
    mean, wanted = np.ones(1), getattr(np, name)(X, mean=np.ones(1))
    assert float(getattr(cnp, name)(cnp.asarray(X), mean=mean)) == pytest.approx(wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ck.jit(lambda a, m: getattr(np, name)(a, mean=m))(X, mean)
    assert found == pytest.approx(wanted)


def test_the_least_may_be_all_that_a_method_clips_by():
    wanted = X.clip(0.5)
    np.testing.assert_array_equal(np.asarray(cnp.asarray(X).clip(0.5)), wanted)
    np.testing.assert_array_equal(ck.jit(lambda a: a.clip(0.5))(X), wanted)
    np.testing.assert_array_equal(ck.jit(lambda a: a.clip(max=0.5))(X), X.clip(max=0.5))
