"""Steps through single elements, written twice: beside Python's own run."""

import random
import re
import warnings

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.errors import CKernelsWarning
from ckernels.plan.scan_in_kernel import ScanKernel
from tests.jit.beside import written

DTYPES = ["float64", "int64", "float32"]
ENDS = ["n", "1, n", "n - 1", "n - 1, -1, -1", "0, n, 2", "n - 2, 0, -1", "n, 0, -1", "1, n - 1",
        "n - 1, 0, -2", "1, n, 3"]  # fmt: skip
INNER = ["{0}, n", "{0} + 1, n", "{0}", "{0} - 1, -1, -1", "n - {0}", "1, {0} + 1"]


class Writer:
    """The source of one function of loops in loops over elements of x, y, m at i, j, k and w."""

    def __init__(self, seed):
        self.draw, self.lines, self.names = random.Random(seed), [], []

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def index(self):
        draw, kind = self.draw, self.draw.random()
        name, other = draw.choice(self.names), draw.choice(self.names)
        if kind < 0.45:
            return name
        if kind < 0.75:
            return f"{name} {draw.choice('+-')} {draw.choice([1, 1, 1, 2, 3])}"
        rest = [f"{name} {draw.choice('+-')} {other}", f"{draw.choice([2, 3])} * {name}",
                f"n - 1 - {name}", f"w[{name}]", str(draw.choice([0, -1, 1])),
                f"({name} if w[{other}] > 0 else {name} - 1)"]  # fmt: skip
        return draw.choice(rest)

    def read(self):
        draw, kind = self.draw, self.draw.random()
        if kind < 0.55:
            return f"{draw.choice('xy')}[{self.index()}]"
        if kind < 0.8:
            return f"m[{self.index()}, {self.index()}]"
        return draw.choice([*self.names, "s", "s", "0.5", "2", "1.0", "t", "z[0]", "z[1]", "z[-1]"])

    def value(self, depth=0):
        draw, kind = self.draw, self.draw.random()
        if depth > 1 or draw.random() < 0.35:
            return self.read()
        a, b = self.value(depth + 1), self.value(depth + 1)
        if kind < 0.7:
            return f"{a} {draw.choice('+-*')} {b}"
        if kind < 0.78:
            return f"{draw.choice(['max', 'min'])}({a}, {b})"
        if kind < 0.85:
            return f"{draw.choice(['max', 'min'])}({a}, {b}, {self.read()})"
        return f"({a}) * 0.5"

    def test(self):
        draw, kind = self.draw, self.draw.random()
        name = draw.choice(self.names)
        if kind < 0.4:
            return f"{self.read()} {draw.choice(['<', '>', '<=', '=='])} {self.read()}"
        if kind < 0.7:
            return f"{name} {draw.choice(['<', '>', '>='])} {draw.choice(['1', '2', 'n - 2'])}"
        if kind < 0.85:
            return f"{self.index()} < n"
        return f"x[{name}] > 0 {draw.choice(['and', 'or'])} {name} > 1"

    def step(self, depth):
        draw, kind = self.draw, self.draw.random()
        if kind < 0.3:
            to = f"y[{self.index()}]"
            value = f"{self.value()} if {self.test()} else {self.read()}"
            self.line(depth, f"{to} = {value if draw.random() < 0.3 else self.value()}")
        elif kind < 0.5:
            to = f"m[{self.index()}, {self.index()}]"
            self.line(depth, f"{to} {draw.choice(['=', '+=', '-=', '='])} {self.value()}")
        elif kind < 0.65:
            self.line(depth, f"s {draw.choice(['= -s +', '+='])} {self.value()}")
        elif kind < 0.72:
            self.line(depth, "t += 1")
        elif kind < 0.78:
            self.line(depth, f"z[{draw.choice([0, 1, 2, -1])}] = {self.value()}")
        elif kind < 0.82:
            at = self.index()
            self.line(depth, f"y[{at}] = {self.value()}")
            self.line(depth, f"s = y[{at}] * {draw.choice('xy')}[{self.index()}] - s * 0.5")
        elif kind < 0.95 and depth < 6:
            self.line(depth, f"if {self.test()}:")
            for _ in range(draw.randint(1, 2)):
                self.step(depth + 1)
            if draw.random() < 0.3:
                self.line(depth, "else:")
                self.step(depth + 1)
        else:
            self.line(depth, f"y[{draw.choice(self.names)}] += {self.value()}")

    def loop(self, depth):
        draw, name = self.draw, "ijk"[len(self.names)]
        ends = ENDS + [end.format(self.names[-1]) for end in INNER if self.names]
        self.line(depth, f"for {name} in range({draw.choice(ends)}):")
        self.names.append(name)
        for _ in range(draw.randint(0, 1)):
            self.step(depth + 1)
        if len(self.names) < 3 and draw.random() < 0.62:
            self.loop(depth + 1)
        else:
            for _ in range(draw.randint(1, 3)):
                self.step(depth + 1)
            if draw.random() < 0.12:
                self.line(depth + 1, f"if {self.test()}:")
                self.line(depth + 2, "break")
        if draw.random() < 0.3:
            self.step(depth + 1)
        self.names.pop()

    def source(self):
        self.line(0, "import numpy as np\n\n\ndef f(x, y, m, w):")
        self.line(1, "n = len(x)")
        self.line(1, f"s, t = {self.draw.choice(['0.0', '0', '1.5'])}, 0")
        self.line(1, "z = np.ones(3, x.dtype)")
        self.loop(1)
        if self.draw.random() < 0.4:
            self.loop(1)
        self.line(1, "return s, t, y, m, z")
        return "\n".join(self.lines) + "\n"


def arguments(n, seed, dtype, room):
    """Arrays with `room` more elements than a loop counts; sums of so few quarters are exact."""
    rng = np.random.default_rng(seed)

    def drawn(*shape):
        quarters = 4 if np.dtype(dtype).kind == "f" else 1
        return (rng.integers(-8, 9, shape) / quarters).astype(dtype)

    return drawn(n), drawn(n + room), drawn(n + room, n + room), rng.integers(-n, max(n, 1), n)


def run(function, given):
    """(what a call gave or raised, its arguments after it)."""
    given = [x.copy() for x in given]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", CKernelsWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            return function(*given), given
        except (IndexError, OverflowError) as problem:
            return type(problem).__mro__[-4], given


def alike(want, got):
    """Equal but for products that are not rounded before they are added to."""
    eps = {"float64": 1e-11, "float32": 1e-5}.get(np.asarray(want).dtype.name, 0)
    np.testing.assert_allclose(got, want, eps, eps, strict=True)


def beside(function, jitted, given):
    """Whether both ended by the same error; arrays and numbers are equal."""
    (want, theirs), (got, ours) = run(function, given), run(jitted, given)
    if isinstance(want, type) or isinstance(got, type):
        assert want is got
    else:
        for a, b in zip(want, got, strict=True):
            assert type(a) is type(b)
            alike(a, b)
    for a, b in zip(theirs, ours):
        alike(a, b)
    return isinstance(want, type)


@pytest.mark.sampled(0)
@pytest.mark.parametrize("seed", range(24))
def test_random_loops_over_elements(seed, tmp_path):
    """Indices count from the end where they are negative, and are out of range at times."""
    function = written(Writer(seed).source(), f"elements{seed}", tmp_path)
    jitted, tight = ck.jit(function), seed % 6 == 5
    for n in (7, 2, 13, 0, 1):
        room = seed % 4 if tight else 2 * n + 6
        if beside(function, jitted, arguments(n, seed, DTYPES[seed % 3], room)):
            jitted = ck.jit(function)  # one that failed is left to NumPy


@pytest.fixture
def texts(monkeypatch, tmp_path):
    """The C of the steps of each scan that a kernel takes; no plan is stored."""
    found, kernel = [], ScanKernel.kernel

    def kept(self, scan):
        made = kernel(self, scan)
        found.append(dict(made.fields)["body"])
        return made

    monkeypatch.setattr(ScanKernel, "kernel", kept)
    with ck.config.change(compiledir=str(tmp_path)):
        yield found


def check(function, *sets, quick, texts):
    """`function` jitted, beside itself; quick: whether a step may leave out looks at indices."""
    jitted = ck.jit(function)
    for given in sets:
        beside(function, jitted, given)
    assert not jitted.report()["numpy"]
    assert len(sets[0][0]) < 7 or {"if (quick)" in text for text in texts} == {quick}


def shortest(d):
    for k in range(len(d)):
        for i in range(len(d)):
            for j in range(len(d)):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return (d,)


def factors(a):
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * 0.5
                a[i, j] -= a[k, j]
    return (a,)


def neighbours(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i - 1] + x[len(x) - 1 - i] * 2
    return (y,)


def sums_of_two(x):
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        y[i] = y[i - 1] + x[i]
        if i >= 3:
            y[i - 3] = y[i - 3] - x[i - 2]
    return (y,)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("n", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_beginning_and_the_end_are_looked_at_once(n, dtype, texts):
    rng = np.random.default_rng(n)
    table = (rng.integers(1, 40, (n, n)) / 4).astype(dtype)
    row = np.resize(table, n and n + 20)
    for function, given in ((shortest, table), (neighbours, row), (sums_of_two, row)):
        texts.clear()
        check(function, (given,), (given[::-1],), quick=True, texts=texts)


def test_factors_in_place(texts):
    table = np.random.default_rng(0).integers(1, 9, (13, 13)) * 1.0
    for dtype in ("float32", "float64"):
        texts.clear()
        with np.errstate(all="ignore"):
            check(factors, (table.astype(dtype),), quick=True, texts=texts)


def picked(x, w):
    for i in range(len(w)):
        x[w[i]] = x[w[i]] * 0.5 + x[i % 3]
    return (x,)


def squares(x, w):
    for i in range(len(w)):
        x[i * i // 9] = x[i * i // 9] - 1
    return (x,)


def test_near_misses_are_looked_at_one_by_one(texts):
    """Indices that data choose, and such as do not move evenly."""
    x, w = np.arange(20000.0), np.arange(400) * 7 % 40 - 20
    for function in (picked, squares):
        texts.clear()
        check(function, (x, w), (x, w[::-1]), quick=False, texts=texts)


def other_element(x, w):
    for i in range(len(x)):
        if x[i] > 2:
            x[w[i]] = x[i] - 3
        if x[w[i]] > 1:
            x[i] = x[w[i]] + x[0]
    return (x,)


def two_conditions(x, w):
    for i in range(len(x)):
        a = x[i] if w[i] > 2 else x[i - 1]
        if w[i] > 1:
            x[i] = a
        if w[i] < 4 and i > 0:
            x[i - 1] = a + x[i]
    return (x,)


def either(x, w):
    for i in range(1, len(x)):
        if w[i] > 1:
            x[i] = x[i - 1] + 1
        else:
            x[i] = x[i] * 0.5 - x[i - 1]
    return (x,)


def read_between(x, w):
    s = 0.0
    for i in range(1, len(x)):
        if w[i] > 1:
            x[i] = x[i - 1] + 1
            s += x[i] + x[w[i]]
        else:
            x[i] = s - x[i - 1]
    return s, x


def either_place(x, w):
    for i in range(2, len(x)):
        if w[i] > 1:
            x[i - 1] = x[i - 2] + x[i]
        else:
            x[i] = x[i - 1] + x[i]
    return (x,)


def steps_of_data(x, w):
    """A step of the second loop goes on by an element of w; its products are as in a sieve."""
    for i in range(len(w)):
        for j in range(0, len(x) // 8):
            if w[i] > 0:
                x[j * w[i]] = x[j * w[i]] + 1
            x[i // 4 + j % 8] = x[i // 4] - x[j % 8] * 2
    return (x,)


def one_element(x, w):
    """Steps of w may be 0: then all of the inner loop's store to one element."""
    for i in range(len(w)):
        for j in range(len(x) // 8):
            x[j * w[i]] = x[j * w[i]] * 0.5 + 1
    return (x,)


def rows_of_one(x, w):
    """The last loop has one element for all of its steps, the others have their own."""
    y, z = np.zeros((len(w), len(x))), np.zeros(len(w))
    for i in range(len(w)):
        for j in range(len(x)):
            y[i, j] = y[i, j] + x[j] * 2 + x[len(x) - 1 - j]
        for j in range(1, len(x)):
            z[i] = z[i] - x[j]
        for j in range(1, len(x)):
            y[i, j] = y[i, j] + y[i, j - 1]
    return y, z


def moved_around(x, w):
    """An index that was looked at decides where a number is put later."""
    for i in range(len(w)):
        if x[w[i]] > 2 or x[i] < 0:
            x[w[i]] = -x[w[i]] + i // 4 - i % 2
    return (x,)


def put_elsewhere(x, w):
    for i in range(1, len(x)):
        k = i if w[i] > 0 else i - 1
        a = x[i]
        x[k] = -1.0 if w[i] > 0 else a
    return (x,)


def put_elsewhere_too(x, w):
    for i in range(1, len(x)):
        k = i if w[i] > 0 else i - 1
        a = x[i - 1]
        x[k] = a if w[i] > 0 else 7.0
    return (x,)


def put_where_it_lies(x, w):
    for i in range(1, len(x)):
        k = i if w[i] > 0 else i - 1
        a = x[i - 1]
        x[k] = -1.0 if w[i] > 0 else a
    return (x,)


def test_near_misses_of_an_element_that_stays():
    """What is stored where a condition holds is another element than the one that was read, or
    read before it was stored to; or two are stored of which one is read between."""
    rng = np.random.default_rng(1)
    for n in (1, 2, 12, 40):
        given = rng.integers(-4, 9, n) * 1.0, rng.integers(-n, n, n)
        for function in (either, read_between, either_place, moved_around, put_elsewhere,
                         put_elsewhere_too, put_where_it_lies):  # fmt: skip
            beside(function, ck.jit(function), given)
        data = np.resize(given[0], 30 * n + 20), rng.integers(-3, 9, n)
        for function in (steps_of_data, one_element, rows_of_one):
            beside(function, ck.jit(function), data)
        for function in (other_element, two_conditions):
            beside(function, ck.jit(function), given)


def escapes(x, w):
    y = np.zeros(len(x))
    for i in range(len(x)):
        z, k = x[i], 0
        while z < 100 and k < 20:
            z = z * 2 + 1
            k += 1
        y[i] = k
    return (y,)


def test_a_loop_around_one_without_an_end_is_in_the_kernel_too(texts):
    beside(escapes, ck.jit(escapes), (np.arange(-3.0, 27.0), np.arange(1)))
    assert texts and all("j1 <" in text for text in texts)


def two_before(x, w):
    y = np.zeros(len(x))
    for i in range(2, len(x)):
        y[i] = 0.5 * y[i - 2] - y[i - 1] + x[i]
    return (y,)


def backwards(x, w):
    for i in range(len(x) - 3, -1, -1):
        x[i] = x[i + 1] - 0.5 * x[i + 2]
    return (x,)


def far_before(x, w):
    for i in range(6, len(x)):
        x[i] = x[i - 6] + x[i - 1]
    return (x,)


def by_two(x, w):
    for i in range(2, len(x), 2):
        x[i] = x[i - 2] - x[i - 1]
    return (x,)


def table(x, w):
    t = np.zeros((len(x) + 1, len(x) + 1))
    for i in range(1, len(x) + 1):
        for j in range(1, len(x) + 1):
            t[i, j] = max(t[i - 1, j] - 1, t[i, j - 1] - 1, t[i - 1, j - 1] + x[i - 1] * x[j - 1])
    return (t,)


def put_twice(x, w):
    for i in range(1, len(x)):
        x[i] = x[i - 1] + 1
        x[w[i]] = x[i] - 2
    return (x,)


def put_at_times(x, w):
    for i in range(1, len(x)):
        if w[i] > 1:
            x[i] = x[i - 1] + 1
    return (x,)


def test_what_was_put_a_step_ago_is_still_known(texts):
    """And near misses: steps too far away, other elements put, puts under a condition."""
    rng = np.random.default_rng(2)
    kept = [two_before, backwards, by_two, table, far_before]
    for function in (*kept, put_twice, put_at_times):
        texts.clear()
        jitted = ck.jit(function)
        for n in (40, 7, 2, 1, 0):
            given = rng.integers(-4, 9, n) * 0.25, rng.integers(-n, max(n, 1), n)
            beside(function, jitted, given)
        found = any(re.search(r"\ba\d+_\d+_0 = v", text) for text in texts)
        assert found == (function in kept), function


def of_second_order(x, w):
    y, z = np.zeros(len(x)), np.zeros(2)
    for i in range(len(x)):
        y[i] = 0.25 * x[i] + z[0]
        z[0] = 0.5 * x[i] - 0.25 * y[i] + z[1]
        z[1] = 0.5 * x[i] - 0.125 * y[i]
    return y, z


def changing_places(x, w):
    z = np.arange(3.0)
    for i in range(len(x)):
        z[0], z[1] = z[1], z[0] + x[i]
        if w[i] > 0:
            z[-1] = z[-1] * 0.5 - z[0]
    return (z,)


def of_nine(x, w):
    z = np.zeros(9)
    for i in range(len(x)):
        z[0] = z[8] * 0.5 + x[i]
        z[8] = z[0] + z[4]
    return (z,)


def at_data(x, w):
    z = np.zeros(3)
    for i in range(len(x)):
        z[w[i] % 3] = z[0] * 0.5 + x[i]
    return (z,)


def whole(x, w):
    z = np.zeros(2)
    for i in range(len(x)):
        z = z * 0.5
        z[1] = z[0] + x[i]
    return (z,)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_states_of_few_elements_are_numbers(dtype, texts):
    """And near misses: nine elements, one that data choose, one beside a whole."""
    rng = np.random.default_rng(3)
    for function in (of_second_order, changing_places, of_nine, at_data, whole):
        texts.clear()
        jitted = ck.jit(function)
        for n in (40, 7, 2, 1, 0):
            beside(function, jitted, (
                (rng.integers(-4, 9, n) * 0.25).astype(dtype), rng.integers(-n, max(n, 1), n)
            ))  # fmt: skip
        assert not jitted.report()["numpy"]
        if function in (of_second_order, changing_places):
            assert not any("void *const p" in text for text in texts), function


@pytest.mark.parametrize("name", ["exp", "expm1", "tanh"])
def test_what_a_step_waits_for_is_the_version_of_one_number(name, texts):
    of = getattr(np, name)

    def damped(x):
        y, h = np.zeros(len(x)), 0.25
        for i in range(len(x)):
            h = of(h * 0.5) * 0.25 + x[i]
            y[i] = h
        return (y,)

    jitted = ck.jit(damped)
    beside(damped, jitted, (np.linspace(-1, 1, 40),))
    assert any(f"ck_{name}_alone_f64(" in text for text in texts)


def table_of_least(a, b):
    n, m = len(a), len(b)
    t = np.zeros((n + 1, m + 1), b.dtype)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            t[i, j] = min(t[i, j - 1] + a[i - 1], t[i - 1, j] + b[j - 1], t[i - 1, j - 1] - 1)
    return (t,)


def table_of_largest(a, b):
    n, m = len(a), len(b)
    t = np.zeros((n + 1, m + 1), b.dtype)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            t[i, j] = max(0, t[i, j - 1] - a[i - 1], t[i - 1, j] - b[j - 1], t[i - 1, j - 1])
    return (t,)


def table_of_both(a, b):
    n, m = len(a), len(b)
    t = np.zeros((n + 1, m + 1), b.dtype)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            t[i, j] = min(a[i - 1], max(b[j - 1] - 3, t[i, j - 1] + 1), t[i - 1, j] + 2)
    return (t,)


def comparisons(text, first):
    """Of each comparison, whether it is of what is made of the variable `first`."""
    made, found = {first}, []
    for kind, name, value in re.findall(r"const (\w+) (\w+) = (.*);", text):
        if made & set(re.findall(r"\w+", value)):
            made.add(name)
        if kind == "_Bool":
            found.append(name in made)
    return found


@pytest.mark.parametrize("dtype", ["int64", "uint8", "int32", "float64"])
def test_what_waits_for_an_earlier_step_is_compared_last(dtype, texts):
    """Where the numbers are integers; floats keep their order, with NaN and zeros of both signs."""
    rng = np.random.default_rng(4)
    for function in (table_of_least, table_of_largest, table_of_both):
        texts.clear()
        jitted = ck.jit(function)
        for n, m in ((9, 24), (3, 2), (0, 4), (1, 1)):
            given = rng.integers(0, 9, n).astype(dtype), rng.integers(0, 9, m).astype(dtype)
            if dtype == "float64" and n == 9:
                given[0][3], given[1][5:7] = np.nan, (-0.0, 0.0)
            beside(function, jitted, given)
        assert not jitted.report()["numpy"]
        if dtype == "int64":
            quick = re.search(r"if \(quick\) \{(.*?)\belse \{", texts[0], re.DOTALL)[1]
            late = comparisons(quick, "a1_0_0")
            assert late in ([False, True], [False, False, True], [False, True, True]), function


def lengths(x, w):
    values, counts, k = np.zeros(len(x)), np.zeros(len(x), int), 0
    for i in range(1, len(x)):
        if x[i] == x[i - 1]:
            counts[k] += 1
        else:
            k += 1
            values[k] = x[i]
            counts[k] = 1
            if w[k] > 3:
                k -= 2
    return values, counts, k


def beyond(x, w):
    y, k = np.zeros(len(x) // 2), 0
    for i in range(len(x)):
        if x[i] > 1:
            y[k] = y[k] * 0.5 + x[i]
            k += 1
        else:
            y[k - 1] = y[k - 1] + y[0]
    return y, k


def test_indices_of_puts_under_a_condition_are_looked_at_where_it_holds():
    """Places that data count; one is out of range, or negative, at times."""
    rng = np.random.default_rng(6)
    for function in (lengths, beyond):
        for n in (0, 1, 2, 9, 60):
            for least in (-3, 0, 1):
                given = rng.integers(least, 3, n) * 1.0, rng.integers(0, 5, n)
                beside(function, ck.jit(function), given)


def one_or_the_other(x, w):
    y = x * 2
    for i in range(len(x)):
        if w[i] > 2:
            x[i] = x[i - 1] * 0.5
        else:
            y[i] = y[i - 1] + 1
    return x, y


def once_or_twice(x, w):
    for i in range(len(x)):
        if w[i] > 2:
            x[i] = x[i - 1] * 0.5
        x[i] = x[i] + 1
    return (x,)


@pytest.mark.parametrize("function", [one_or_the_other, once_or_twice])
def test_puts_of_one_place_in_two_arrays_and_of_one_element_twice(function, texts):
    rng = np.random.default_rng(8)
    given = [(rng.normal(size=n), rng.integers(0, 5, n)) for n in (400, 9, 1, 0)]
    check(function, given[0], quick=True, texts=texts)
    jitted = ck.jit(function)
    assert not any(beside(function, jitted, each) for each in given[::-1])
    assert not jitted.report()["numpy"]


def sum_of_steps(x, by, n):
    s = 0.0
    for i in range(n):
        s = s * 0.5 + x[i * by]
    return (s,)


def test_steps_that_numbers_of_any_size_give(texts):
    """Of which the sum is beyond int64 a step before or after it is one of the array again."""
    x = np.arange(3000.0)
    for by in (1, 0, -1, 300, 1 << 21, 1 << 22, 1 << 60, 1 << 61, -(1 << 62), (1 << 63) - 1):
        jitted = ck.jit(sum_of_steps)
        for n in (9, 5, 17, 1, 0):
            try:
                (want,) = sum_of_steps(x, by, n)
            except IndexError:
                with pytest.raises(IndexError):
                    jitted(x, by, n)
            else:
                np.testing.assert_allclose(jitted(x, by, n)[0], want, 1e-12)
    assert any("if (quick)" in text for text in texts)


def places_counted(x):
    k = 0
    for i in range(len(x)):
        x[k] = x[k] * 0.5 + i
        k = k + 1
    return (x,)


def places_counted_the_other_way(x):
    k = 0
    for i in range(len(x)):
        x[k] = x[k] * 0.5 + i
        k = 1 + k
    return (x,)


@pytest.mark.parametrize("function", [places_counted, places_counted_the_other_way])
def test_what_each_step_counts_on_moves_evenly(function, texts):
    check(function, (np.arange(400.0),), quick=True, texts=texts)
    for n in (0, 1, 2, 9):
        beside(function, ck.jit(function), (np.arange(float(n)),))


def rates(v, n, dt):
    m, h, out = 0.1, 0.6, np.zeros(n)
    for i in range(n):
        a = 0.1 * (v + 40) / (1 - np.exp(-(v + 40) / 10))
        m += dt * (a * (1 - m) - 4 * np.exp(-(v + 65) / 18) * m)
        h += dt * (0.07 * np.exp(-(v + 65) / 20) * (1 - h) - h / (1 + np.exp(-(v + 35) / 10)))
        v += dt * (10 - 120 * m**3 * h * (v - 50) - np.tanh(v / 100))
        out[i] = v
    return out, m, h


def swept(x, big):
    """What is read was stored by an earlier turn; powers from none to infinite ones."""
    y = x.copy()
    for i in range(1, len(y)):
        y[i] = np.exp(big * y[i - 1]) * 0.25 - np.expm1(y[i - 1]) * y[i]
    return y


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions_for_which_steps_wait(dtype):
    tol = 1e-3 if dtype == "float32" else 1e-9
    number = np.dtype(dtype).type
    for n in (0, 1, 9, 500):
        args = number(-65), n, number(0.01)
        for want, got in zip(rates(*args), ck.jit(rates)(*args), strict=True):
            assert np.asarray(want).dtype == np.asarray(got).dtype
            np.testing.assert_allclose(got, want, rtol=tol)
    x = np.random.default_rng(3).normal(size=60).astype(dtype)
    x[17] = np.nan
    for big in (0.1, -1.0, 3.0, 300.0, -900.0):
        with np.errstate(all="ignore"):
            want, got = swept(x[:40], number(big)), ck.jit(swept)(x[:40], number(big))
        np.testing.assert_allclose(got[:7], want[:7], rtol=tol)
        np.testing.assert_array_equal(np.isfinite(got[:7]), np.isfinite(want[:7]))


def test_only_what_steps_wait_for_is_by_a_table():
    """Others are loops of vectors."""

    def both(x, v):
        out = np.zeros(len(x))
        for i in range(len(x)):
            v = 0.5 * v + np.exp(-v * v)
            out[i] = v
        return out

    def apart(x, v):
        out = np.zeros(len(x))
        for i in range(len(x)):
            out[i] = np.exp(-x[i] * v)
        return out

    for function, table in ((both, True), (apart, False)):
        jitted, x = ck.jit(function), np.linspace(0, 1, 300)
        np.testing.assert_allclose(jitted(x, 0.3), function(x, 0.3), rtol=1e-13)
        ((_, _, path),) = jitted.paths()
        assert ("ck_exp_alone_f64" in path.compiled.source()) == table


def shortest_ways(x, m):
    n = len(m)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if m[i, k] + m[k, j] < m[i, j]:
                    m[i, j] = m[i, k] + m[k, j]


def added(x, m):
    n = len(x)
    for i in range(n):
        for j in range(n):
            x[j] = x[j] + x[i] - x[n - 1]


def added_until(x, m):
    n = len(x)
    for i in range(n):
        for j in range(n):
            x[j] = x[j] + x[i]
            if x[j] > 9:
                break


def read_after_it_is_put(x, m):
    n = len(x)
    for i in range(n):
        s = x[i]
        for j in range(n):
            x[j] = x[j] + m[i, j]
            s = s + x[i]
        m[0, i] = s


def under_a_condition(x, m):
    n = len(x)
    for i in range(n):
        for j in range(n - 1):
            if x[i] > x[j + 1]:
                x[j + 1] = x[i] - x[j + 1]


def downwards(x, m):
    n = len(x)
    for i in range(n):
        for j in range(n - 1, -1, -2):
            x[j] -= x[i]


def along_a_column(x, m):
    n = len(m)
    for i in range(n):
        for j in range(n):
            m[j, i] -= m[i, i] * x[j]


def along_a_row(x, m):
    n = len(m)
    for i in range(n):
        for j in range(1, n):
            m[i, j] -= m[i, i] * m[0, j]


def two_are_put(x, m):
    n = len(x)
    for i in range(n):
        for j in range(n - 1):
            x[j] = x[j] + x[i]
            x[j + 1] = x[j + 1] - x[i]


def of_another_row(x, m):
    n = len(m)
    for i in range(n):
        for j in range(n):
            m[0, j] = m[0, j] + m[i, n - 1] - m[n - 1, 0]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8"])
@pytest.mark.parametrize(
    "function", [shortest_ways, added, added_until, read_after_it_is_put, under_a_condition,
                 downwards, along_a_column, along_a_row, two_are_put, of_another_row]
)  # fmt: skip
def test_what_each_step_reads_and_one_of_them_puts(function, dtype):
    """The first, the last and those between put where all read; elements of little numbers, so
    that sums are exact."""
    jitted = ck.jit(function)
    for n in (0, 9, 23):
        rng = np.random.default_rng(n)
        for _ in range(2):
            x = rng.integers(-3, 4, n).astype(dtype)
            m = rng.integers(-1, 3, (n, n)).astype(dtype)
            if function is along_a_column:
                x = np.sign(x)
            theirs, ours = (x.copy(), m.copy()), (x.copy(), m.copy())
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(*theirs)
                jitted(*ours)
            for want, got in zip(theirs, ours, strict=True):
                np.testing.assert_array_equal(got, want)


# ---- steps that end early ------------------------------------------------------------------------


def inserted(x):
    for i in range(1, len(x)):
        v, j = x[i], i - 1
        while j >= 0 and x[j] > v:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = v
    return (x,)


def palindromes(s, found):
    for centre in range(len(s)):
        i, j = centre, centre + 1
        while i >= 0 and j < len(s) and s[i] == s[j]:
            i, j = i - 1, j + 1
        found[centre] = j - i
    return (found,)


def asked_before(x, found):
    for k in range(len(x)):
        i = k
        c = x[i]
        while i < len(x) - 1 and c > 0:
            i += 1
            c = x[i]
            found[k] += 1
    return (found,)


@pytest.mark.parametrize("n", [0, 1, 2, 50])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_what_is_read_to_end_steps_is_not_read_where_they_have_ended(n, dtype, texts):
    x = np.random.default_rng(n).integers(-1, 2, n).astype(dtype)
    for function, given, ends in (
        (inserted, (x,), 2),
        (palindromes, (x, np.zeros(n)), 2),
        (asked_before, (x, np.zeros(n)), 1),  # what it asks for it reads anyway
    ):
        texts.clear()
        jitted = ck.jit(function)
        beside(function, jitted, given)
        assert not jitted.report()["numpy"]
        if n >= 7:
            left = texts[-1].count("break;") + texts[-1].count("goto left")
            assert left == ends * (1 + ("goto careful" in texts[-1]))


def walks(by):
    def walk(x, first, ends):
        for k in range(len(first)):
            i = first[k]
            turns = 0
            while x[i] > 0 and turns < 100:
                ends[k] += x[i]
                i += by
                turns += 1
            ends[k] += i
        return x, ends

    return walk


@pytest.mark.parametrize("by", [1, -1, 3, -2])
def test_loops_that_data_end_look_at_indices_until_they_have_taken_some_steps(by, texts):
    n, walk = 40, walks(by)
    jitted = ck.jit(walk)
    for end in (0, 3, 7, 8, 9, 19, 39):
        x = np.ones(n)
        x[[end, (end + 1) % n, (end + 2) % n]] = 0
        near = [end - by * k for k in (0, 1, 7, 8, 9, 10, 11, 12)]
        first = np.array([*[i for i in near if -n <= i < n], end - n])
        beside(walk, jitted, (x, first, np.zeros(len(first), int)))
    assert not jitted.report()["numpy"] and "goto careful" in texts[-1]
    for turns in (0, 1, 7, 8, 9, 19):  # before one ends that way
        first = np.array([n - by * turns if by > 0 else -n - 1 - by * turns])
        with pytest.raises(IndexError):
            jitted(np.ones(n), first, np.zeros(1, int))


def carried(x, y):
    s = 0.5
    for i in range(len(x)):
        s = s * 0.5 + x[i]
        y[i] = s
    return (y,)


def counted(x, y):
    n = 0
    for i in range(len(x)):
        n = n + i
        y[i] = x[i] * 2
    return (y + n,)


def apart_from_each_other(x, y):
    for i in range(len(x)):
        y[i] = x[i] * 2 + np.exp(y[i])
    return (y,)


def in_one_array(x, y):
    for i in range(3, len(x)):
        x[i] = x[i - 3] + y[i]
    return (x,)


def test_jumps_are_followed_where_steps_are_no_vectors(monkeypatch, tmp_path):
    found, kernel = [], ScanKernel.kernel

    def kept(self, scan):
        made = kernel(self, scan)
        found.append(bool(dict(made.fields)["attribute"]))
        return made

    monkeypatch.setattr(ScanKernel, "kernel", kept)
    x = np.random.default_rng(5).integers(0, 9, 60) / 4
    for function, expected in (
        (carried, [True]), (in_one_array, [True]), (counted, [False]),
        (apart_from_each_other, [False]),
    ):  # fmt: skip
        found.clear()
        with ck.config.change(compiledir=str(tmp_path)):
            beside(function, ck.jit(function), (x.copy(), x[::-1].copy()))
        assert found == expected, function.__name__
