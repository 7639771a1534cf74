"""What a jitted function reads: imports in it, methods, partial functions and objects, functions
among its arguments, and their names, whose values are read at each call."""

import abc
import copy
import dataclasses
import enum
import functools
import types
import typing
import warnings

import numpy as np
import pytest

import ckernels as ck
from ckernels import softmax
from ckernels.base.errors import ArgumentError, CKernelsWarning, NotSupported

from .beside import check, flat, same

V = np.random.default_rng(1).normal(size=12)


def imports_modules(x):
    import math
    from math import exp

    import numpy as xp
    from numpy.linalg import norm

    return xp.sin(x) / norm(x) * exp(-1.0) + math.pi


def imports_linalg(x):
    import numpy.linalg as la

    return la.norm(x) + la.det(np.outer(x[:2], x[1:3]) + np.eye(2))


def imports_of_python(x):
    import collections
    import itertools
    from functools import reduce
    from operator import mul

    pairs = list(itertools.combinations(range(3), 2))
    counts = collections.Counter(i for i, _ in pairs)
    return sum(counts[i] * x[i] * x[j] for i, j in pairs) + reduce(mul, [x, x, 2.0])


def imports_what_is_absent(x):
    try:
        import numba.no_such_module as others
    except ImportError:
        others = np
    return others.cos(x)


@pytest.mark.parametrize(
    "function", [imports_modules, imports_linalg, imports_of_python, imports_what_is_absent]
)
def test_imports_inside_of_a_function(function):
    check(function, np.arange(1.0, 20.0))


def imports_a_neighbour(x):
    from .math import sin

    return sin(x)


def imports_a_clock(x):
    from time import perf_counter

    return x + 0 * perf_counter()


def imports_names_of_all(x):
    import builtins

    return builtins.abs(x)


def test_imports_of_neighbours_and_of_the_world_are_pythons():
    x = np.arange(-3.0, 20.0)
    for function in (imports_a_clock, imports_names_of_all):
        jitted = ck.jit(function)
        with pytest.warns(CKernelsWarning, match="in a traced function"):
            np.testing.assert_array_equal(jitted(x), function(x))
    with pytest.raises(ImportError):  # no function of the module math
        ck.jit(imports_a_neighbour)(x)


class Cost:
    """A model of a user's, whose methods, and itself, go under jit and grad."""

    def __init__(self, scale):
        self.scale = scale

    def cost(self, w, power=2):
        total = 0.0
        for i in range(len(w)):
            total += w[i] ** power
        return total * self.scale

    @ck.jit
    def compiled(self, w, power=2):
        return np.sum(w**power) * self.scale

    def __call__(self, w, power=2):
        return np.sum(w**power) * self.scale


class Compiled(Cost):
    __call__ = ck.jit(Cost.__call__)


BOUND = [
    lambda m: m.cost,
    lambda m: m.compiled,
    lambda m: m,
    lambda m: Compiled(m.scale),
    lambda m: functools.partial(Cost.cost, m),
    lambda m: functools.partial(m.cost, power=2),
    lambda m: functools.partial(m.compiled),
    lambda m: functools.partial(functools.partial(Cost.cost), m),
]


@pytest.mark.parametrize("bound", BOUND, ids=range(len(BOUND)))
def test_methods_partial_functions_and_objects_are_compiled(bound):
    model, w = Cost(0.5), np.linspace(0.1, 1.0, 40)
    f = ck.jit(bound(model))
    same(f(w), np.float64(np.sum(w**2) * 0.5))
    same(f(w, power=3), np.float64(np.sum(w**3) * 0.5))
    assert not f.report()["numpy"] and "plain" not in repr(f)
    np.testing.assert_allclose(ck.jit.grad(bound(model))(w), w, rtol=1e-12)


def test_what_a_bound_method_reads_is_read_at_each_call():
    model = Cost(0.5)
    f, slope = ck.jit(model.cost), ck.jit.grad(model.cost)
    f(V), slope(V)
    model.scale = 3.0
    np.testing.assert_allclose(f(V), 3 * np.sum(V**2), rtol=1e-12)
    np.testing.assert_allclose(slope(V), 6 * V, rtol=1e-12)
    fixed = ck.jit(functools.partial(model.cost), static="power")
    np.testing.assert_allclose(fixed(V, 3), 3 * np.sum(V**3), rtol=1e-12)
    with pytest.raises(ArgumentError, match="no argument of cost: these are w, power"):
        ck.jit(model.cost, static="self")


WIDTH = 2.0


class Sums:
    """Objects that the traced function makes: what `__init__` makes is traced too."""

    unit = 3

    def __init__(self, n, start=0.0):
        self.n, self.total, self.log = 0, np.full(n, start), []

    def add(self, x, times=1):
        self.n += times
        self.total += x * times
        self.log.append(x.sum())
        return self

    @property
    def mean(self):
        return self.total / self.n


class Wide(Sums):
    def __init__(self, n):
        Sums.__init__(self, n, 1.0)
        self.wide = np.zeros((n, 2)) + WIDTH

    def add(self, x, times=1):
        self.wide[:, 0] = x
        return Sums.add(self, x, times)


class Leaf:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right

    def sum(self):
        branches = [b.sum() for b in (self.left, self.right) if b is not None]
        return sum(branches, self.value)


def sums(x):
    s = Sums(x.shape[1])
    for row in x:
        s.add(row)
    return s.mean, s.n, np.array(s.log), s.unit


def kinds(x):
    w, s = Wide(x.shape[1]), Sums(3)
    w.add(x[0]).add(x[1], times=2)
    told = isinstance(w, Sums), isinstance(s, Wide), type(w) is Wide, type(s).__name__
    return w.wide, w.mean, w.n, told


def several(x):
    parts = [Sums(2, float(k)) for k in range(3)]
    for k, part in enumerate(parts):
        part.add(x[k, :2])
    return sum(part.total for part in parts), Leaf(x, Leaf(x * 2), Leaf(x, Leaf(x * x))).sum()


@pytest.mark.parametrize("function", [sums, kinds, several])
@pytest.mark.parametrize("shape", [(4, 3), (30, 12)])
def test_objects_that_a_traced_function_makes(monkeypatch, function, shape):
    f, x = ck.jit(function), np.random.default_rng(5).normal(size=shape)
    for width in (2.0, 7.0):
        monkeypatch.setitem(globals(), "WIDTH", width)
        for got, want in zip(f(x), function(x)):
            if isinstance(want, np.ndarray):
                np.testing.assert_allclose(got, want, rtol=1e-12)
            else:
                assert got == want and type(got) is type(want)
    assert not f.report()["numpy"]


def test_an_object_that_is_returned_is_of_the_users_class():
    made = ck.jit(lambda x: Wide(len(x)).add(x))(V)
    assert type(made) is Wide and made.n == 1
    np.testing.assert_array_equal(made.wide[:, 0], V)
    np.testing.assert_array_equal(made.total, V + 1)


RATE, PARTS, LEAKED = 2.0, [V], None


def decay(y):
    return -RATE * y + (PARTS[0] if y[0] > 0 else 1.0)


def euler(f, y):
    for _ in range(3):
        y = y + 0.1 * f(y)
    return y


def noise(y):
    return y + np.random.rand()


@dataclasses.dataclass
class Ready:
    f: object
    told: object = print

    def run(self, y):
        return euler(self.f, y) * 2


GIVEN = [
    (euler, lambda: (decay, V)),
    (functools.partial(euler, decay), lambda: (V,)),
    (lambda f, y: f[0](y), lambda: ([decay], V)),
    (euler, lambda: (ck.jit(decay), V)),
    (lambda ready, y: ready.run(y), lambda: (Ready(decay), V)),
    (lambda y, f=functools.partial: f(euler, decay)(y), lambda: (V,)),
]


@pytest.mark.parametrize("function, args", GIVEN, ids=range(len(GIVEN)))
def test_what_a_function_among_the_arguments_reads_is_read_at_each_call(
    monkeypatch, function, args
):
    f = ck.jit(function)
    for rate, parts in ((2.0, [V]), (0.5, [V]), (3, [-V]), (1.0, [np.ones(1)])):
        monkeypatch.setitem(globals(), "RATE", rate)
        monkeypatch.setitem(globals(), "PARTS", parts)
        np.testing.assert_allclose(f(*args()), function(*args()), rtol=1e-12)
    assert not f.report()["numpy"]


def test_functions_among_the_arguments_are_traced_or_called_each_time():
    def leaking(y):
        global LEAKED
        LEAKED = y
        return y

    f = ck.jit(euler)
    with pytest.warns(CKernelsWarning, match="np.random"):
        assert (f(noise, V) != f(noise, V)).all()
    with pytest.warns(CKernelsWarning, match="assigns to 'LEAKED'"):
        f(leaking, V)
    assert LEAKED is not None
    g = ck.jit(lambda ready, y: ready.f(y))
    np.testing.assert_array_equal(g(Ready(np.exp, leaking), V), np.exp(V))  # it is never called
    assert not g.report()["numpy"]
    h = ck.jit(lambda f, y: f(y), strict=False)
    with pytest.warns(CKernelsWarning, match="functions as arguments"):
        for i in range(70):
            np.testing.assert_array_equal(h(lambda y, i=i: y + i, V[:2]), V[:2] + i)


def test_what_a_partial_function_of_a_method_reads_is_read_at_each_call():
    model = Cost(V)
    bound = functools.partial(model.cost)
    f = ck.jit(bound)
    for scale in (V, -V, 2.0, np.float32(3)):
        model.scale = scale
        np.testing.assert_allclose(f(V), bound(V), rtol=1e-12)
    assert not f.report()["numpy"]


def test_objects_may_hold_what_is_compiled():
    model = Cost(0.5)
    model.inner, model.slope = ck.jit(lambda w: np.tanh(w) * 2), ck.jit.grad(model.cost)
    f = ck.jit(lambda m, w: m.inner(w) * m.scale)
    same(f(model, V), np.tanh(V))
    same(f(model, V), np.tanh(V))
    assert not f.report()["numpy"]
    np.testing.assert_allclose(model.slope(V), V, rtol=1e-12)
    model.inner = ck.jit(lambda w: w * 3)
    same(f(model, V), V * 1.5)
    assert f.report()["traces"] == 2


class Config:
    rate, table, hits = 2.0, np.ones(12), 0

    class Inner:
        power = 2


class Scaled(Config):
    offset = 1.0

    def __init__(self, x):
        self.x = x

    def value(self):
        return self.x * self.rate + Scaled.offset

    @classmethod
    def of(cls, x):
        return cls(x**cls.Inner.power)


def reads_classes(x, given, held):
    mine = Config
    return (x * mine.rate, Scaled.of(x).value(), given.rate * x, held.value(),
            x ** mine.Inner.power)  # fmt: skip


def test_what_classes_have_is_read_at_each_call(monkeypatch):
    f = ck.jit(reads_classes)
    held = Scaled(V)
    for rate, offset, power in ((2.0, 1.0, 2), (3.0, 1.0, 2), (3.0, 4, 3), (3.0, 4, 3)):
        monkeypatch.setattr(Config, "rate", rate)
        monkeypatch.setattr(Scaled, "offset", offset)
        monkeypatch.setattr(Config.Inner, "power", power)
        for got, want in zip(f(V, Config, held), reads_classes(V, Config, held)):
            np.testing.assert_allclose(got, want, rtol=1e-12)
    assert not f.report()["numpy"]


def test_arrays_that_classes_have_are_seen_to_change(monkeypatch):
    f = ck.jit(lambda x: x * Config.table)
    with pytest.warns(CKernelsWarning, match="data of a class"):
        for k in range(3):
            Config.table[:] = k
            np.testing.assert_array_equal(f(V), V * k)


LEVEL, SHAPE = 2.0, np.arange(12.0)


def levelled(x):
    return x * LEVEL + SHAPE


class Middle:
    def inherited(self, x):
        return levelled(x)


class Kinds(Middle):
    def __init__(self):
        self.k = 2.0

    def method(self, x):
        return x * LEVEL + SHAPE

    @staticmethod
    def static(x):
        return x * LEVEL + SHAPE

    @classmethod
    def of_class(cls, x):
        return levelled(x) + cls.static(x)

    @property
    def value(self):
        return self.k * LEVEL

    @functools.cached_property
    def cached(self):
        return self.k * LEVEL

    def __add__(self, x):
        return levelled(x)

    def __call__(self, x):
        return self.inherited(x)


class Bare:  # no __init__
    method, static, value = Kinds.method, staticmethod(levelled), property(lambda self: LEVEL)


@dataclasses.dataclass
class Written:
    k: float = 2.0
    method, value, __add__ = Kinds.method, Kinds.value, Kinds.__add__


class Named(typing.NamedTuple):
    k: float = 2.0

    def method(self, x):
        return x * LEVEL + SHAPE

    @property
    def value(self):
        return self.k * LEVEL


class Choice(enum.Enum):
    ONE = 1

    def method(self, x):
        return x * LEVEL


READS = [
    (lambda o, x: o.method(x), (Kinds, Bare, Written, Named, lambda: Choice.ONE)),
    (lambda o, x: o.static(x), (Kinds, Bare)),
    (lambda o, x: o.of_class(x), (Kinds,)),
    (lambda o, x: x * o.value, (Kinds, Bare, Written, Named)),
    (lambda o, x: x * o.cached, (Kinds,)),
    (lambda o, x: o + x, (Kinds, Written)),
    (lambda o, x: o.inherited(x) + o(x), (Kinds,)),
    (lambda _, x: Kinds.static(x), (Kinds,)),
    (lambda _, x: Written().method(x) + Bare().method(x), (Kinds,)),
]


@pytest.mark.parametrize("function, make", [(f, make) for f, kinds in READS for make in kinds])
def test_what_methods_of_any_class_read_is_read_at_each_call(monkeypatch, function, make):
    f = ck.jit(function)
    for level, shape in ((2.0, SHAPE), (2.0, SHAPE), (0.5, -SHAPE), (3, np.ones(12))):
        monkeypatch.setitem(globals(), "LEVEL", level)
        monkeypatch.setitem(globals(), "SHAPE", shape)
        for _ in range(2):
            np.testing.assert_allclose(f(make(), V), function(make(), V), rtol=1e-12)
    assert not f.report()["numpy"]


class Slotted(Kinds):
    __slots__ = ("x",)

    def __init__(self):
        super().__init__()

    def method(self, x):
        return super().method(x) * Slotted().k


def test_a_class_that_is_called_as_it_is_may_name_itself():
    with pytest.warns(CKernelsWarning, match="'SHAPE' of its module, which may change"):
        np.testing.assert_array_equal(ck.jit(lambda x: Slotted().method(x))(V), levelled(V) * 2)


def test_an_enum_whose_methods_read_arrays_is_numpys(monkeypatch):
    monkeypatch.setattr(Choice, "method", lambda self, x: x * SHAPE)
    f = ck.jit(lambda x: Choice.ONE.method(x))
    with pytest.warns(CKernelsWarning, match="'SHAPE' of its module, which may change"):
        np.testing.assert_array_equal(f(V), V * SHAPE)
    monkeypatch.setitem(globals(), "SHAPE", -SHAPE)
    np.testing.assert_array_equal(f(V), V * SHAPE)


def other(self, x):
    return x * 7


def begins(self):
    self.k = 7.0


def reads_absent(o, x):
    return x * getattr(o, "absent", 1.0)


# (function of an object and an array, what to change, its name, the new value)
REPLACED = {
    "method": (lambda o, x: o.method(x), Kinds, "method", other),
    "method of a jitted one": (ck.jit(lambda o, x: o.method(x)), Kinds, "method", other),
    "by class": (lambda o, x: Kinds.method(o, x), Kinds, "method", other),
    "static": (lambda o, x: o.static(x), Kinds, "static", staticmethod(lambda x: x * 7)),
    "static of class": (lambda o, x: Kinds.static(x), Kinds, "static", abs),
    "of class": (lambda o, x: o.of_class(x), Kinds, "of_class", classmethod(other)),
    "property": (lambda o, x: x * o.value, Kinds, "value", property(lambda self: 7)),
    "property by number": (lambda o, x: x * o.value, Kinds, "value", 7.0),
    "operator": (lambda o, x: o + x, Kinds, "__add__", other),
    "called": (lambda o, x: o(x), Kinds, "__call__", other),
    "base": (lambda o, x: o.inherited(x), Middle, "inherited", other),
    "covered": (lambda o, x: o.inherited(x), Kinds, "inherited", other),
    "absent": (reads_absent, Kinds, "absent", 7.0),
    "absent in base": (reads_absent, Middle, "absent", 7.0),
    "made": (lambda o, x: Kinds().method(x), Kinds, "method", other),
    "init": (lambda o, x: x * Kinds().k, Kinds, "__init__", begins),
}


@pytest.mark.parametrize("name", REPLACED)
def test_what_is_replaced_in_a_class_is_seen(monkeypatch, name):
    function, holder, attribute, new = REPLACED[name]
    f, o = ck.jit(function), Kinds()
    plain = getattr(function, "__wrapped__", function)

    def compare():
        for _ in range(2):
            np.testing.assert_array_equal(f(o, V), plain(o, V))

    before = plain(o, V)
    compare()
    monkeypatch.setattr(holder, attribute, new, raising=False)
    compare()
    assert not np.array_equal(before, plain(o, V))
    monkeypatch.undo()
    compare()


def test_what_is_removed_from_a_class_is_seen():
    class Over(Kinds):
        def method(self, x):
            return x * 7

    f, o = ck.jit(lambda o, x: o.method(x)), Over()
    for _ in range(2):
        np.testing.assert_array_equal(f(o, V), V * 7)
    del Over.method
    for _ in range(2):
        np.testing.assert_array_equal(f(o, V), levelled(V))
    assert f.report()["traces"] == 1 and not f.report()["numpy"]


def test_an_object_that_is_called_is_so_by_what_its_class_has_then(monkeypatch):
    o = Kinds()
    f = ck.jit(o)
    np.testing.assert_array_equal(f(V), levelled(V))
    monkeypatch.setattr(Kinds, "__call__", other)
    for _ in range(2):
        np.testing.assert_array_equal(f(V), V * 7)


helpers = types.ModuleType("helpers")


def by_a_local_name(_, x):
    scales = helpers
    return scales.scale(x)


@pytest.mark.parametrize("function", [
    lambda m, x: m.scale(x), by_a_local_name,
    lambda m, x: [each.scale(x) for each in (m, helpers)][1],
], ids=range(3))  # fmt: skip
def test_functions_of_modules_that_are_replaced_are_seen(monkeypatch, function):
    module = helpers
    module.twice, module.scale = (lambda x: x * 2), (lambda x: module.twice(x))
    f = ck.jit(function)
    for name, new in (("scale", lambda x: x * 3), ("scale", lambda x: module.twice(x) * 4),
                      ("twice", lambda x: x * 7)):  # fmt: skip
        for _ in range(2):
            np.testing.assert_array_equal(f(module, V), function(module, V))
        monkeypatch.setattr(module, name, new)
    for _ in range(2):
        np.testing.assert_array_equal(f(module, V), function(module, V))


def counts_in_class(x):
    Config.hits += 1
    return x * Config.hits


def counts_in_copy(x):
    Scaled.hits += 1
    return x * Scaled(1.0).hits


def counts_in_itself(x):
    counts_in_itself.calls = getattr(counts_in_itself, "calls", 0) + 1
    return x * counts_in_itself.calls


@pytest.mark.parametrize("function", [counts_in_class, counts_in_copy, counts_in_itself])
def test_functions_that_change_classes_and_functions_are_numpys(function, monkeypatch):
    monkeypatch.setattr(Config, "hits", 0)
    f = ck.jit(function)
    with pytest.warns(CKernelsWarning, match="it (changes a class|gives a function an attribute)"):
        for k in range(1, 4):
            np.testing.assert_array_equal(f(V), V * k)


# ---- objects that a call changes -----------------------------------------------------------------


class Adam:
    def __init__(self, n):
        self.m, self.v, self.t, self.seen = np.zeros(n), np.zeros(n), 0, None
        self.options = {"rate": 0.1, "rates": [0.0, 0.0]}

    def step(self, w, g):
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.99 * self.v + 0.01 * g**2
        self.options["rates"][0] = self.options["rate"]
        self.options["rate"] = self.options["rate"] * 0.5
        if self.seen is None:
            self.seen = np.abs(g).max()
        self.last = w
        return w - self.m / (1 - 0.9**self.t) / (np.sqrt(self.v) + 1e-8) * self.seen


def swapped(d, x):
    d["a"], d["b"] = d["b"], d["a"] + x
    return d["a"].sum()


def into_list(parts, x):
    parts[0] = parts[0] + x
    parts[1] = 3.5
    parts[0][0] = 9


def several_steps(o, w, n):
    for _ in range(n):
        w = o.step(w, np.sin(w))
    return w


def linked(a, b, x):
    a.x = a.x + x
    b.x = a.x
    return a.x


def beside(jitted, function, *args, calls=4):
    """The same calls of both, each with what the call before left."""
    theirs, ours = copy.deepcopy(args), copy.deepcopy(args)
    for _ in range(calls):
        want, got = function(*theirs), jitted(*ours)
        for a, b in zip(flat([want, theirs]), flat([got, ours]), strict=True):
            same(a, b)
    return ours


def test_what_a_call_leaves_in_objects():
    adam = ck.jit(lambda o, w, g: o.step(w, g))
    beside(adam, lambda o, w, g: o.step(w, g), Adam(12), V, V**2)
    assert not adam.report()["numpy"] and adam.report()["traces"] <= 3  # its count is no part of it
    for function, args in ((swapped, ({"a": V, "b": V * 2}, V)), (into_list, ([V, 1.0], V)),
                           (several_steps, (Adam(12), V, 30))):  # fmt: skip
        jitted = ck.jit(function)
        beside(jitted, function, *args)
        assert not jitted.report()["numpy"]


class Flatten:
    """A layer that keeps tuples: shapes, and arrays in them."""

    def __init__(self):
        self.shape, self.pair, self.inner = (), (V, 0), (1, ([V], 2))

    def step(self, x):
        self.shape = x.shape
        self.pair = (x.sum(axis=0), self.pair[1] + 1)
        return x.reshape(len(x), -1) * self.pair[1]

    def with_a_list(self, x):
        self.inner = (len(x), (self.inner[1][0], x.ndim))
        self.inner[1][0][0] = x.max()
        return x + 1

    def other_kind(self, x):
        self.shape = x * 2 if type(self.shape) is tuple else (x.ndim, 2)
        return x + 1


@pytest.mark.filterwarnings("ignore::ckernels.base.errors.CKernelsWarning")
def test_tuples_that_objects_are_given():
    """Of the same length and of another, of another kind, in tuples, with a list that stays."""
    xs = [V.reshape(3, 4), V.reshape(3, 4), V.reshape(2, 2, 3), V[:4].reshape(2, 2)]
    for method, traced in ((Flatten.step, 1), (Flatten.other_kind, 1), (Flatten.with_a_list, 0)):
        jitted, theirs, ours = ck.jit(method), Flatten(), Flatten()
        for x in xs:
            same(method(theirs, x), jitted(ours, x))
            for a, b in zip(flat(list(vars(theirs).values())), flat(list(vars(ours).values())),
                            strict=True):  # fmt: skip
                same(a, b)
        assert bool(traced) is not bool(jitted.report()["numpy"])


class Chosen:
    """An object that keeps one of its methods, as its options say."""

    def __init__(self, k):
        self.k, self.way = k, self.doubled if k > 2 else self.thrice

    def doubled(self, x):
        return x * 2 + self.k

    def thrice(self, x):
        return x * 3 - self.k

    def step(self, x):
        self.k = self.k + 1.0
        return self.way(x) + self.way(x)

    def other(self, x):
        made = Chosen(3.0)
        made.k = self.way(x)
        return made

    def turned(self, x):
        self.way = self.thrice
        return self.way(x)


def test_objects_that_keep_a_method_of_their_own():
    jitted, turned = ck.jit(Chosen.step), ck.jit(Chosen.turned)
    for k in (3.0, 1.0, 3.0, 1.0, 4.0):
        theirs, ours = Chosen(k), Chosen(k)
        for _ in range(2):
            same(theirs.step(V), jitted(ours, V))
            assert ours.k == theirs.k and ours.way == getattr(ours, theirs.way.__name__)
    assert jitted.report() == {**jitted.report(), "numpy": {}, "traces": 2}
    for _ in range(3):
        made = ck.jit(Chosen.other)(Chosen(1.0), V)
        assert type(made) is Chosen and made.way == made.doubled
        same(made.way(V), V * 2 + (V * 3 - 1.0))
    mixed = Chosen(3.0)
    mixed.way = ours.way  # of another object, whose k it reads
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CKernelsWarning)
        for _ in range(3):
            same(jitted(mixed, V), mixed.step(V))
            same(turned(theirs, V), Chosen.turned(ours, V))
            assert theirs.way == theirs.thrice


class Agreeable:
    """It has an attribute of any name, as a proxy or a mock has."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Agreeable()


ANY = Agreeable()


def test_objects_that_answer_to_any_name():
    f = ck.jit(lambda x, any_name: x * 2 if any_name is not None and ANY is not None else x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CKernelsWarning)
        np.testing.assert_array_equal(f(V, ANY), V * 2)
        np.testing.assert_array_equal(f(V, Agreeable()), V * 2)


def test_what_was_given_is_returned_as_the_object_that_it_is():
    """Whether the call changes it or not, alone and in what else is returned."""

    def doubled(o, others, x, scale=None):
        o.x = x * 2
        return o, {"all": others, "first": others[0], "sum": o.x.sum()}, [x + 1, scale]

    def kept(o, others, x, scale=None):
        return o, {"all": others, "first": V}, []

    for function in (doubled, kept):
        f, scale = ck.jit(function), {"by": 3.0}
        for n in (12, 12, 9):
            o, others = Scaled(V), [V[:n] * 2, 1.5]
            found, inner, last = f(o, others, V[:n], scale=scale)
            assert found is o and inner["all"] is others and all(x is scale for x in last[1:])
        assert not f.report()["numpy"]
    only = ck.jit(lambda params, x: params)
    given = {"w": V}
    assert only(given, V) is given and only({"w": V}, V) is not given
    step = ck.jit(lambda params, x: {k: v + x for k, v in params.items()})
    assert step(given, V) is not given and given["w"] is V


def test_what_objects_are_given_keeps_its_memory():
    jitted = ck.jit(linked)
    a, b, _ = beside(jitted, linked, Scaled(V), Scaled(V * 2), V)
    assert a.x is b.x
    assert linked(a, b, V) is a.x and jitted(a, b, V) is a.x
    assert not jitted.report()["numpy"]


@pytest.mark.filterwarnings("ignore::ckernels.base.errors.CKernelsWarning")
def test_objects_that_a_trace_leaves_to_numpy():
    """One object under two names; a list that grows; derivatives."""
    jitted, one = ck.jit(linked), Scaled(V)
    np.testing.assert_array_equal(jitted(one, one, V), V * 2)
    np.testing.assert_array_equal(jitted(one, one, V), V * 3)
    np.testing.assert_array_equal(one.x, V * 3)
    log = []
    grows = ck.jit(lambda x: log.append(x.sum()))
    for _ in range(3):
        grows(V)
    assert len(log) == 3 and all(type(x) is np.float64 for x in log)
    with pytest.raises(NotSupported, match="it changes a list"):
        ck.jit.grad(lambda x, o: linked(o, o, x).sum())(V, Scaled(V))


TALLY = {"calls": 0, "sum": np.zeros(12)}


def test_what_a_call_leaves_in_objects_of_its_module():
    def tallied(x):
        TALLY["calls"] += 1
        TALLY["sum"] = TALLY["sum"] + x
        return TALLY["calls"]

    f = ck.jit(tallied)
    assert [f(V) for _ in range(4)] == [1, 2, 3, 4]
    np.testing.assert_allclose(TALLY["sum"], 4 * V, rtol=1e-12)
    assert not f.report()["numpy"]


def of_tensors(x):
    return ck.relu(x) * 2, softmax(x), ck.sum(x), ck.int_shape(x)


def stores_into_a_tensor(x):
    y = ck.sigmoid(x)
    y[0] = 3
    return y


def sums_of_tensors(x):
    total = 0.0
    for i in range(len(x)):
        total = total + ck.tanh(x[i])
    return ck.concatenate([total, total * 2]) if ck.sum(x) > 0 else np.exp(total)


def test_functions_of_tensors_are_of_arrays_in_a_trace():
    x = np.random.default_rng(8).normal(size=(4, 3))
    e = np.exp(x - x.max(-1, keepdims=True))
    jitted = ck.jit(of_tensors, strict=True)
    for _ in range(2):
        found = jitted(x)
        assert [type(y) for y in found] == [np.ndarray, np.ndarray, np.float64, tuple]
        np.testing.assert_allclose(found[0], np.maximum(x, 0) * 2)
        np.testing.assert_allclose(found[1], e / e.sum(-1, keepdims=True))
        np.testing.assert_allclose(found[2], x.sum())
        assert found[3] == (4, 3)
    known = 1 / (1 + np.exp(-x))
    known[0] = 3
    np.testing.assert_allclose(ck.jit(stores_into_a_tensor, strict=True)(x), known)
    total = np.tanh(np.abs(x)).sum(0)
    chosen = ck.jit(sums_of_tensors, strict=True)
    np.testing.assert_allclose(chosen(np.abs(x)), [*total, *(2 * total)])
    np.testing.assert_allclose(chosen(-np.abs(x)), np.exp(-total))
    slope = ck.jit.grad(lambda x: ck.sum(ck.square(x)))
    np.testing.assert_allclose(slope(x), 2 * x)


class Layer(abc.ABC):
    """A base as libraries write it: abstract, called through `__call__`, with a cache."""

    def __init__(self, rate):
        self.rate, self.cache = rate, {}
        self.seen = []

    @abc.abstractmethod
    def fn(self, x): ...

    def __call__(self, x):
        return self.fn(x.reshape(1, -1) if x.ndim == 1 else x)

    def twice(self, x):
        self.cache["input"] = x
        return 2 * self.fn(x)


T = typing.TypeVar("T")


class Squashed(Layer):
    def __init__(self, rate=2.0):
        super().__init__(rate)
        self.shift = np.ones(3)

    def fn(self, x):
        return np.tanh(x) * self.rate + self.shift.sum()

    def twice(self, x):
        self.cache["output"] = super().twice(x) + 1
        return self.cache["output"]


class Thrice(Squashed, typing.Generic[T]):
    def fn(self, x):
        return super().fn(x) * 3


def made_inside(x):
    return Squashed(3.0).twice(x) + Thrice().twice(x)


def test_classes_with_abstract_bases_and_super():
    for make in (Squashed, lambda: Thrice(1.5)):
        for function in (lambda o, x: o(x), lambda o, x: o.twice(x), Squashed.twice, Layer.twice):
            jitted = ck.jit(function)
            beside(jitted, function, make(), V)
            assert not jitted.report()["numpy"]
    jitted = ck.jit(made_inside)
    beside(jitted, made_inside, V)
    assert not jitted.report()["numpy"]


def gains(o, d, items, x):
    d["sum"] = x.sum()
    d["first"] = d["old"]
    items.append(x * 2)
    items[0] = items[-1]
    o.left = [1, x]
    return len(items)


def loses(d, x):
    del d["old"]
    d["old"] = x
    return x + 1


def test_what_lists_and_dicts_gain():
    """The first call puts new keys in, the second finds them; a list is longer in each."""
    jitted = ck.jit(gains)
    beside(jitted, gains, Scaled(V), {"old": 1.0}, [V], V)
    assert not jitted.report()["numpy"]
    with pytest.warns(CKernelsWarning, match="it changes a list, a dict or an object"):
        beside(ck.jit(loses), loses, {"old": 1.0, "new": 2.0}, V)


HELPERS = """
import numpy as np
RATE = 0.5
TABLE = np.arange(4.0)
OPTIONS = {"by": 2.0}

def scaled(x, by=None, n=2):
    return shifted(x) * (RATE if by is None else by) * n

def shifted(x):
    return x + TABLE.sum()
"""


def test_data_and_functions_of_other_modules(monkeypatch):
    """What code reads of them by name is read at each call, through functions in them too."""
    package, helpers = types.ModuleType("their_package"), types.ModuleType("their_package.helpers")
    exec(HELPERS, vars(helpers))
    for f in (helpers.scaled, helpers.shifted):
        f.__module__ = "their_package.helpers"
    package.helpers = helpers
    monkeypatch.setitem(globals(), "package", package)
    monkeypatch.setitem(globals(), "helpers", helpers)

    def reads(x):
        by = [package.helpers.scaled(x, n=3), helpers.OPTIONS.get("by") * x]  # noqa: F821
        return by[0] + by[1] + package.helpers.TABLE[1] + helpers.RATE  # noqa: F821

    jitted = ck.jit(reads)
    for rate in (0.5, 0.5, 2.0):
        helpers.RATE, helpers.TABLE = rate, np.arange(4.0) * rate
        helpers.OPTIONS["by"] = rate * 3
        same(reads(V), jitted(V))
    assert not jitted.report()["numpy"] and jitted.report()["traces"] == 1
    helpers.shifted = lambda x: x - 1
    same(reads(V), jitted(V))
    by_text = ck.jit(lambda x: getattr(helpers, "RATE") * x)  # noqa: B009, F821
    with pytest.warns(CKernelsWarning, match="is data of another module"):
        same(by_text(V), 2.0 * V)

    def assigns(x):
        helpers.RATE = 4.0  # noqa: F821
        return x * helpers.RATE  # noqa: F821

    with pytest.warns(CKernelsWarning, match="it assigns to their_package.helpers.RATE"):
        same(ck.jit(assigns)(V), 4.0 * V)
    assert helpers.RATE == 4.0


ALIAS = print


def reports(x, verbose=False, log=print):
    w = np.zeros(3)
    for i in range(20):
        w = w - 0.1 * (w - x)
        if verbose and i % 10 == 0:
            print("turn", i)
    if w.sum() < 0:
        ALIAS("below")
    if verbose:
        log("done")
    return w


def test_what_prints_is_numpys_where_it_does(capsys):
    """At each call, also under another name; calls that print nothing are compiled."""
    jitted, x = ck.jit(reports), np.ones(3)
    beside(jitted, reports, x)
    assert not jitted.report()["numpy"] and not capsys.readouterr().out
    with pytest.warns(CKernelsWarning, match=r"print\(\) in a traced function"):
        for _ in range(2):
            jitted(-x)
            assert capsys.readouterr().out == "below\n"
            jitted(x, verbose=True)
            assert capsys.readouterr().out == "turn 0\nturn 10\ndone\n"
    beside(jitted, reports, x)
    assert sum(jitted.report()["numpy"].values()) == 4


def windows(x, width):
    for i in range(len(x) - width + 1):
        yield x[i : i + width]


def batches(x, n):
    i = 0
    while i < len(x):
        yield i, x[i : i + n]
        i += n


def halves_of(x):
    while x.sum() > 1:
        yield x
        x = x / 2


def sends(x):
    while True:
        x = yield x * 2


def stores(x):
    for i in range(3):
        x[i] = i * 10
        yield x[i]


def all_windows(x):
    return np.array([w.sum() for w in windows(x, 3)]), sum(w.max() for w in windows(x, 4))


def numbered(x):
    total = 0.0
    for i, part in batches(x, 5):
        total += part.sum() * i
    return total


def as_data_decide(x):
    n = 0
    for y in halves_of(np.abs(x)):  # noqa: B007
        n += 1
    return n, y


def some_by_hand(x):
    found, total = windows(x, 3), 0.0
    first = next(found)
    for i in range(4):
        total = total + next(found).sum() * x[i]
    return first, total, sum(w.mean() for w in found)


def some_under_a_test(x):
    found, total = windows(x, 3), np.zeros(3)
    for i in range(4):
        if x[i] > 0.3:
            total = total + next(found)
    return total


def sent_to(x):
    found = sends(x)
    next(found)
    return found.send(x) + found.send(x + 1)


def between_stores(x):
    total = 0.0
    for v in stores(x):
        total += v * x.sum()
    return total


@pytest.mark.parametrize("function", [
    all_windows, numbered, as_data_decide, some_by_hand, some_under_a_test, sent_to, between_stores,
])  # fmt: skip
def test_generators_that_a_function_runs_through(function):
    check(function, V)
    check(function, V[::-1].copy())


def test_a_generator_that_is_the_result_is_pythons():
    with pytest.warns(CKernelsWarning, match="windows runs in NumPy"):
        found = ck.jit(windows)(V, 5)
    for got, want in zip(found, windows(V, 5), strict=True):
        same(want, got)


FACTOR = 2.0


@functools.lru_cache
def table(n):
    return np.sqrt(np.arange(n + 1.0)) * 2.0


@functools.lru_cache
def stale(n):
    return n * FACTOR


def test_kept_results_of_what_may_change_are_pythons(monkeypatch):
    jitted = ck.jit(lambda x: x * stale(3))
    want = V * 6.0
    with pytest.warns(CKernelsWarning, match="keeps results of what may change"):
        same(want, jitted(V))
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    same(want, jitted(V))


def test_default_values_that_are_replaced():
    def inner(x, *, m=1):
        return x + m

    def outer(x, *, k=2):
        return inner(x) * k

    jitted = ck.jit(outer)
    for f, values in [(outer, {"k": 2}), (inner, {"m": 3}), (outer, {"k": 2.5}), (inner, {"m": V})]:
        f.__kwdefaults__ = values
        for _ in range(2):
            same(outer(V), jitted(V))


def test_the_type_of_an_array_is_that_of_numpy():
    def told(x, kind):
        kinds = {np.ndarray: 3}
        t = type(x)
        told = (t is np.ndarray) + 2 * (t is kind) + 4 * (t == kind) + kinds[t]
        return told + 8 * (str(t) == "<class 'numpy.ndarray'>"), x * 2, t

    for x in (V, V[0], 2.0):
        want = told(x, np.ndarray) if x is V else (0, x * 2, type(x))
        jitted = ck.jit(told if x is V else lambda x, k: (0 + (type(x) is k), x * 2, type(x)))
        for _ in range(2):
            found = jitted(x, np.ndarray)
            assert found[0] == want[0] and found[2] is want[2]
            same(want[1], found[1])


class Base:
    def of(self, x):
        return x + self.k


class Middle(Base):
    def __init__(self, k):
        super(Middle, self).__init__()  # noqa: UP008 (as in Python 2)
        self.k = k

    def of(self, x):
        return super(Middle, self).of(x) * 3  # noqa: UP008


class Last(Middle):
    def of(self, x):
        return super(Middle, self).of(x) - super().of(x)


def test_super_of_a_class_by_its_name():
    for kind in (Middle, Last):
        jitted = ck.jit(lambda x, kind=kind: kind(2.0).of(x))
        beside(jitted, lambda x, kind=kind: kind(2.0).of(x), V)
        beside(ck.jit(kind.of), kind.of, kind(4.0), V)


class Span:
    def __init__(self, x):
        self.x, self.shift = x, 0.0

    @property
    def mean(self):
        return self.x.mean() + self.shift

    @mean.setter
    def mean(self, value):
        self.shift += value - self.mean


def centred(span, x):
    span.mean = 3.0
    other = Span(x)
    other.mean = table(3)[2]
    return span.mean * other.shift + table(len(x))[-1]


def test_kept_results_and_properties_that_are_set():
    jitted = ck.jit(centred)
    beside(jitted, centred, Span(V), V)
    assert not jitted.report()["numpy"]


def inverse_of(s):
    try:
        return np.linalg.inv(s)
    except:  # noqa: E722
        return 1 / s


def inverse(s, x):
    return inverse_of(s) @ x if s.ndim == 2 else inverse_of(s) * x


def refused_inside(x):
    try:
        return np.trim_zeros(x)
    except Exception:
        return x * 0


def length_asked(x):
    try:
        return np.zeros(int(np.round(x.sum() ** 2)) + 3)
    except (ValueError, Exception):
        return x


def looked_up(x, options):
    try:
        by = options["by"]
    except Exception:
        by = 3.0
    return x * by


def in_loops(x):
    def scaled(y):
        try:
            return y / (1 + y @ y)
        except BaseException:
            return y

    for i in range(3):
        try:
            x = scaled(x) + x[i]
        except:  # noqa: E722
            pass
    return x


def to_the_end(x):
    try:
        if x.sum() > 3:
            return x * 2
        y = x + 1
    except RuntimeError:
        y = x
    else:
        y = y * 2
    finally:
        x = x - 1
    return y + x


CATCHING = [
    (inverse, (np.eye(3) * 2, V[:3]), True), (inverse, (np.array(2.0), V[:3]), False),
    (inverse, (np.zeros((3, 3)), V[:3]), False), (refused_inside, (V,), False),
    (length_asked, (V,), None), (looked_up, (V, {"by": 2.0}), True), (looked_up, (V, {}), False),
    (in_loops, (V,), True), (to_the_end, (V,), True), (to_the_end, (V + 9,), True),
]  # fmt: skip


@pytest.mark.parametrize("function, args, traced", CATCHING, ids=range(len(CATCHING)))
def test_functions_that_catch_every_error(function, args, traced):
    """What tells a trace that it cannot go on is not theirs to catch."""
    check(function, *args, traced=traced)


@functools.lru_cache
def scratch(n):
    return np.zeros(n)


@functools.lru_cache
def listed(n):
    return [float(n)]


@functools.lru_cache
def pair_of(n):
    return n * 2, np.arange(float(n))


def fills(x):
    scratch(12)[:] += x
    return scratch(12).sum()


def shows(x):
    return scratch(12)[2:], x + 1


def keeps(x):
    listed(3).append(x.sum())
    return len(listed(3))


def of_an_array(x):
    return scratch(x)


def only_reads(x):
    first, second = pair_of(12)
    return x * first + second + scratch(len(x)).sum()


def test_what_functions_keep_is_theirs():
    """Arrays and lists that are there in later calls: stored into, returned, appended to."""
    check(only_reads, V)
    for function in (fills, shows, keeps):
        jitted, results = ck.jit(function), []
        for f in (function, jitted):
            scratch.cache_clear(), listed.cache_clear()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CKernelsWarning)
                results.append([f(V) for _ in range(3)])
        for a, b in zip(flat(results[0]), flat(results[1]), strict=True):
            np.testing.assert_allclose(b, a)
        assert sum(jitted.report()["numpy"].values()) == 3
    shown = ck.jit(shows)
    with pytest.warns(CKernelsWarning, match="lru_cache keeps is changed or returned"):
        assert shown(V)[0].base is shown(V)[0].base
    with pytest.raises(TypeError, match="unhashable"), warnings.catch_warnings():
        warnings.simplefilter("ignore", CKernelsWarning)
        ck.jit(of_an_array)(V)
