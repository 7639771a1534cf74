"""What NumPy makes of arrays of any layout, beside stores into it: views, copies, and reshapes that
are one or the other as the array lies in memory. Under jit they are the same, or NumPy's."""

import inspect
import re
import warnings

import numpy as np
import pytest

import ckernels as ck

from .beside import same, written

MADE = ["a", "a.copy()", "np.copy(a)", "np.array(a)", "np.sin(a)", "a + 1",
       "np.ascontiguousarray(a)", "np.asfortranarray(a)", "np.where(a > 2, a, 0)", "a.T",
       "a[::-1]", "np.zeros_like(a)", "a.astype('f4')", "a[:, 1:]", "np.sort(a, 0)",
       "np.moveaxis(a, 0, 1)", "np.full_like(a, 3)", "a.T.copy()", "a.T + 1.0", "a.T @ a",
       "np.stack([a, a])", "abs(a.T)", "np.clip(a.T, 0, 5)", "np.cumsum(a.T, 0)", "a[[2, 0]]",
       "a[:, [0, 1]]", "a[:, np.array([2, 0])]", "np.asarray(a.T)",
       "np.maximum(a, a.T.copy().T)", "a[a[:, 0] > -1]", "np.array(a.T)",
       "np.array(a, order='F')", "np.asarray(a, order='C')", "np.asarray(a, order='F')",
       "np.asarray(a, 'f4')", "np.einsum('ij->ji', a)", "a.T.copy(order='K')",
       "np.copy(a, order='C')", "np.multiply.outer(a.T, a[0])", "np.cumsum(a[:, ::-1], 1)",
       "np.where(a.T > 2, 1.0, K)", "K * 2", "K + a.T", "np.take(a, [1, 0], 1)",
       "np.roll(a.T, 1)", "np.concatenate([a, a], 1)", "np.add.accumulate(a.T)",
       "np.argsort(a.T, 0)", "np.outer(a[0], a[1])", "np.cross(a.T[:3].T, a[:, ::-1])",
       "np.tile(a.T, 2)", "np.repeat(a.T, 2, 1)", "np.pad(a.T, 1)", "np.tril(a.T)",
       "np.flip(a) * 1", "np.nan_to_num(a.T)", "np.gradient(a.T, axis=0)",
       "np.diff(a.T, axis=0)", "np.partition(a.T, 1, 0)",
       "np.take_along_axis(a, np.argsort(a, 0), 0)", "np.insert(a.T, 1, 0, 0)",
       "np.delete(a.T, 1, 0)", "np.rot90(a)", "np.linalg.inv(a.T @ a + np.eye(3)).T",
       "np.fft.fft(a.T, axis=0)", "np.piecewise(a.T, [a.T > 2], [1.0, 2.0])"]  # fmt: skip
SEEN = ["d.reshape(-1)", "d.ravel()", "np.ravel(d)", "np.reshape(d, (-1,))",
       "d.reshape(len(d), -1)", "d.reshape(-1).reshape(-1, 1)", "d.reshape(-1)[1:]",
       "d.T.reshape(-1)", "d.flatten()", "d.T.ravel()[::-1]", "np.squeeze(d[None]).reshape(-1)",
       "d.reshape(-1)[...]", "d.reshape(-1, order='A')", "np.ravel(d, 'A')",
       "d.reshape((2, -1), order='A')"]  # fmt: skip
LAID = [
    lambda x: x,
    np.asfortranarray,
    lambda x: np.repeat(x, 2, 0)[::2],
    lambda x: np.ascontiguousarray(x[::-1])[::-1],
]
BESIDE = """import numpy as np
K = np.asfortranarray(np.arange(12.0).reshape(3, 4))


def f(a):
    d = {}
    v = {}
    d[0] = 7
    w = {}
    w[-1] = 5
    return v, w, d, a
"""


@pytest.mark.sampled(1 / 7)
@pytest.mark.parametrize("third", range(3))
@pytest.mark.parametrize("made", MADE)
def test_a_reshape_beside_a_store(made, third, tmp_path):
    """A view or a copy, as the array lies in memory: of what is stored it sees all or nothing."""
    for n, seen in enumerate(SEEN[third::3]):
        function = written(BESIDE.format(made, seen, seen), f"beside{n}", tmp_path)
        jitted = ck.jit(function)
        for laid in LAID:
            theirs, ours = (laid(np.arange(12.0).reshape(4, 3)) for _ in range(2))
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    want = function(theirs)
                except (ValueError, IndexError) as problem:
                    with pytest.raises(type(problem)):
                        jitted(ours)
                    continue
                for a, b in zip([*want, theirs], [*jitted(ours), ours], strict=True):
                    same(a, b)


def test_a_copy_for_the_caller_is_a_copy():
    """ravel copies what has steps between its elements, reshape does not."""
    flat = [lambda a: a.ravel(), np.ravel, lambda a: a.reshape(-1), lambda a: a.T.ravel()]
    whole = np.arange(24.0).reshape(8, 3)
    for function in flat:
        jitted = ck.jit(function)
        for x in (whole[:, 0], whole[::-1, 0], whole[:1, ::2], whole[::2, :1], whole, whole.T):
            for _ in range(2):
                want, got = function(x), jitted(x)
                assert np.shares_memory(want, x) == np.shares_memory(got, x), x.strides
                np.testing.assert_array_equal(got, want)


# ---- every function ---------------------------------------------------------------------------

FUNCTIONS = [
    name
    for name in sorted(set(np.__all__) - {"empty_like", "info", "test", "unique_values"})
    if callable(getattr(np, name)) and not isinstance(getattr(np, name), type)
]
# Arguments by name, as text; any other is an array.
FITTING = {
    "axis": ["0", "-1", "None"], "axes": ["(1, 0)", "None"], "shape": ["(3, 4)", "12"], "n": ["2"],
    "dtype": ["'float32'", "np.int64", "None"], "k": ["0", "1"], "kth": ["1"], "repeats": ["2"],
    "reps": ["2"], "shift": ["1"], "q": ["0.5"], "bins": ["3"], "indices_or_sections": ["3", "[1]"],
    "pad_width": ["1"],
    "subscripts": ["'ij'", "'ij->ji'", "'ij->i'", "'ii->i'", "'...i->i...'", "'i...'"],
    "newshape": ["12"], "source": ["0"], "destination": ["1"], "axis1": ["0"], "axis2": ["1"],
    "fill_value": ["1", "2.5"],
    "arrays": ["[x, x]", "[x.T, x.T]"], "arys": ["x"], "tup": ["(x, x)", "(x.T, x.T)"],
    "keepdims": ["True", "False"], "mode": ["'edge'", "'same'", "'clip'"], "side": ["'left'"],
    "obj": ["0", "slice(0, 2)"], "new_shape": ["(2, 2)"], "order": ["'C'", "'F'", "'K'", "'A'"],
    "N": ["3"], "M": ["3"], "num": ["4"], "start": ["0"], "stop": ["3"], "copy": ["True", "False"],
    "casting": ["'unsafe'"], "indices": ["[1, 0]", "np.array([[0, 1], [1, 0]])"], "decimals": ["1"],
    "func1d": ["np.sort"], "condition": ["x > 2", "x.T > 2"], "choices": ["[x, x]"],
    "a": ["x", "x.T"],
}  # fmt: skip
ARRAYS = [
    np.arange(12.0).reshape(4, 3) + 1, np.arange(24.0).reshape(2, 4, 3), np.eye(3) + 2,
    np.arange(4.0), np.arange(9).reshape(3, 3), np.arange(12.0).reshape(3, 4) + 1,
]  # fmt: skip
OF_FUNCTION = """import numpy as np


def f(x):
    d = np.{}
    v = d.reshape(-1)
    d[..., 0] = 7
    w = np.ravel(d)
    d[-1] = 5
    return v, w, d, x
"""


def needed(function):
    """(names of arguments that have to be given, names of others that FITTING knows)."""
    if isinstance(function, np.ufunc):
        return ["a"] * function.nin, ["order", "dtype"]
    try:
        named = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ["a"], []
    some = [p for p in named if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    more = [p.name for p in named if p.default is not p.empty and p.kind is not p.POSITIONAL_ONLY]
    return [p.name for p in some if p.default is p.empty], [n for n in more if n in FITTING]


def drawn(name, rng):
    """A call of a function of NumPy of an array x, as text."""
    must, may = needed(getattr(np, name))
    call = []
    for n in must + [n for n in may if rng.random() < 0.25]:
        pool = FITTING.get(n, FITTING["a"])
        value = pool[rng.integers(len(pool))]
        call.append(value if n in must else f"{n}={value}")
    return f"{name}({', '.join(call)})"


def outcome(function, x):
    """(results and the argument afterwards, None), or what it raises."""
    try:
        return [*function(x), x], None
    except (TypeError, ValueError, IndexError) as problem:
        return [], problem


def finding(name, rng, folder):
    """What differs in a call of one function, or None; whether it was compared."""
    call, array = drawn(name, rng), ARRAYS[rng.integers(len(ARRAYS))]
    laid = LAID[rng.integers(len(LAID))]
    if not re.search(r"\bx\b", call):
        return None, False
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = eval(f"np.{call}", {"np": np, "x": laid(array.copy())})
        except Exception:
            return None, False
        if isinstance(found, (tuple, list)) and found:
            found, call = found[0], call + "[0]"
        if not isinstance(found, np.ndarray):
            return None, False
        function = written(OF_FUNCTION.format(call), f"of_{rng.integers(2**40)}", folder)
        want, refused = outcome(function, laid(array.copy()))
        got, problem = outcome(ck.jit(function), laid(array.copy()))
    where = f"{call} of {laid(array).strides}, {array.dtype}"
    if refused or problem:
        alike = isinstance(problem, type(refused)) or isinstance(refused, type(problem))
        return None if alike else f"{where}: {refused!r:.100}, here {problem!r:.100}", True
    for a, b in zip(want, got, strict=True):
        try:
            same(a, b)
        except AssertionError as problem:
            return f"{where}: {str(problem) or (a.dtype, b.dtype)!s:.200}", True
    return None, True


def findings(seed, rounds, folder):
    rng = np.random.default_rng(seed)
    return [finding(name, rng, folder) for _ in range(rounds) for name in FUNCTIONS]


@pytest.mark.rest
def test_stores_into_what_every_function_gives(tmp_path):
    found = findings(1, 1, tmp_path)
    assert sum(compared for _, compared in found) > 60
    assert not [said for said, _ in found if said]


@pytest.mark.slow
def test_stores_into_what_every_function_gives_many_times(tmp_path, many, new_seed):
    found = findings(new_seed, -(-many // len(FUNCTIONS)), tmp_path)
    assert not [said for said, _ in found if said]
