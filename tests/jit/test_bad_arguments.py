"""Options of jit and of its transforms, what these are called with, and flags, drawn from what is
none: results, what the function raises in NumPy, or exceptions of ckernels with the user's line.
`make slow` draws more of them.
"""

import warnings
from collections.abc import Hashable

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.config import FLAGS, config
from ckernels.errors import CKernelsError, CKernelsWarning
from ckernels.jit import grad, hessian, jacobian, jit, jvp, value_and_grad, vjp, vmap

# Python's own words for a call that does not fit a signature.
ARITY = ("positional argument", "keyword argument", "multiple values for", "takes no arguments")


class Nothing:
    """An object no function knows."""


ARRAYS = [np.arange(3.0), np.ones((3, 3)), np.array([0, 1, 2]), np.array([True, False]), 2.0, 3,
          np.zeros((0, 3)), np.ones(2, "float32"), (np.ones(2), np.ones(2))]  # fmt: skip
ODD = [
    None, True, 0, 1, -1, 3, 7, -9, 0.5, float("nan"), float("inf"), 1j, "a", "", "x", "nan", b"a",
    [], (), {}, set(), [1], (0, 1), (0, 0), [1.5], [None], ["x"], ("x", "y"), [[]], {"x": 0},
    {"a": 1}, {1}, range(2), slice(0, 2), Ellipsis, NotImplemented, Nothing, Nothing(), np, int,
    len, print, np.sum, np.ones(3), np.array(0), np.array("a"), np.array(None, object),
    np.float32(1), np.int64(-2), np.dtype("float32"), np.float32, 2**70, ck.placeholder((3,)),
]  # fmt: skip


def total(x):
    return np.sum(x * x)


def product(x, y):
    return x * y


def several(x, y=2.0):
    return np.sum(x) * y, {"x": x}


def sides(x, y=1):
    return np.sum(np.sin(x)) if y else np.sum(np.cos(x))


PROGRAMS = [total, product, several, sides]
OPTIONS = {
    jit: ("static", "background", "strict", "check"),
    grad: ("argnums", "has_aux"),
    value_and_grad: ("argnums", "has_aux"),
    jacobian: ("argnums",),
    hessian: ("argnums",),
    vmap: ("in_axes",),
}


def pick(rng, *pools):
    pool = pools[rng.integers(len(pools))]
    return pool[rng.integers(len(pool))]


def accepted(problem):
    """Whether an exception is one of ckernels with a line of this file, or Python's own for a call
    that does not fit a signature."""
    if isinstance(problem, CKernelsError):
        return not problem.about_programs or problem.line and problem.line[0] == __file__
    return isinstance(problem, TypeError) and any(words in str(problem) for words in ARITY)


def raised(call):
    """What a call raises, or None."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            call()
        except Exception as problem:
            return problem


def of_transforms(rng):
    """(what is called, the exception or None, what NumPy raises for the arguments) of one draw."""
    transform = list(OPTIONS)[rng.integers(len(OPTIONS))]
    function = PROGRAMS[rng.integers(len(PROGRAMS))]
    options = {n: pick(rng, ODD) for n in OPTIONS[transform] if rng.random() < 0.5}
    given = pick(rng, ODD, [function], [function], [function])
    args = [pick(rng, ARRAYS, ARRAYS, ODD) for _ in range(rng.integers(1, 3))]
    called = rng.random()
    if called < 0.1:
        args, tangents = pick(rng, ODD, [tuple(args)]), pick(rng, ODD, [tuple(args)])
        said = f"jvp({given!r:.60}, {args!r:.100}, {tangents!r:.100})"
        call = lambda: jvp(given, args, tangents)  # noqa: E731
    elif called < 0.2:
        slope = pick(rng, ODD, ARRAYS)
        said = f"vjp({given!r:.60}, *{args!r:.200})[1]({slope!r:.100})"
        call = lambda: vjp(given, *args)[1](slope)  # noqa: E731
    else:
        said = f"{transform.__name__}({given!r:.60}, {options!r:.120})({args!r:.200})"
        call = lambda: transform(given, **options)(*args)  # noqa: E731
    plain = raised(lambda: given(*args)) if callable(given) else None
    return said, raised(call), plain


def of_flags(rng):
    """The same of one use of flags."""
    flag = FLAGS[rng.integers(len(FLAGS))].name
    name, value = pick(rng, ODD, [flag], [flag], [flag]), pick(rng, ODD)

    def change():
        with config.change({name if isinstance(name, Hashable) else flag: value}):
            pass

    def store():
        with config.change():
            before = config[flag]
            try:
                config[name] = value
            finally:
                config[flag] = before

    def everything():
        with config.change(value):
            pass

    uses = {
        "config[name]": lambda: config[name],
        "config.origin(name)": lambda: config.origin(name),
        "config.change({name: value})": change,
        "config[name] = value": store,
        "config.change(value)": everything,
    }
    said = list(uses)[rng.integers(len(uses))]
    return f"{said}, name {name!r:.60}, value {value!r:.60}", raised(uses[said]), None


def findings(seed, count, draw):
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        said, got, plain = draw(rng)
        if got is not None and not accepted(got) and not isinstance(got, type(plain)):
            found.append(f"{said}: {got!r:.200}")
    return found


@pytest.mark.parametrize("draw, count", [(of_transforms, 100), (of_flags, 600)])
def test_arguments_that_are_none(draw, count, capfd):
    found = findings(1, count, draw)
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("draw", [of_transforms, of_flags])
def test_many_arguments_that_are_none(draw, many, new_seed, capfd):
    found = findings(new_seed, many, draw)
    assert not found, "\n".join(found)


def test_a_finding_is_found():
    assert not accepted(raised(lambda: [][1])) and not accepted(raised(lambda: int("a")))
    assert accepted(raised(lambda: jit(3))) and raised(lambda: total(ARRAYS[0])) is None


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda: vmap(total)(2.0), r"in_axes is 0 for argument 0, of shape \(\)"),
        (lambda: vmap(total, in_axes=2)(np.ones(3)), r"in_axes is 2 for argument 0, of shape"),
        (lambda: grad(product, has_aux=True)([], -9), "with has_aux the function returns its cost"),
        (lambda: grad(lambda x: x**2)(3), "the derivative by an argument of int64"),
        (lambda: grad(lambda x: x["a"] * 2.0)({"a": 3}), "the derivative by an argument of int64"),
        (lambda: grad(lambda z: z**2)(1j), "returns complex128, of which no gradient is meant"),
        (lambda: jvp(total, (np.ones(2),), (np.ones(3),)), r"tangent 0 has shape \(3,\), its"),
        (lambda: jvp(total, (np.ones(2),), ()), "0 tangents for 1 primals"),
        (lambda: jit(sides, static="zz"), "static is 'zz', which is no argument of sides"),
        (lambda: jit(sides, static=9), "static is 9, which is no argument of sides"),
        (lambda: config[3], "the name of a flag is a string, not 3"),
        (lambda: config.change("mode").__enter__(), "change takes a dict of flags, or keywords"),
        (lambda: config.change(pool="9" * 400).__enter__(), "a size such as 512M or 2G"),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(CKernelsError, match=sentence) as caught:
        call()
    assert caught.value.line[0] == __file__


def test_a_note_names_the_line_of_the_program():
    @jit
    def f(x):
        return float(f"{x[0]}")

    line = f.__wrapped__.__code__.co_firstlineno + 2
    with pytest.warns(CKernelsWarning, match=rf"a text of it .*{__file__}:{line}\)"):
        assert f(np.array([1.5])) == 1.5
