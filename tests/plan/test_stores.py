"""Stores in place: results are those of the oracle whatever is read before, after and beside."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.graph.node import make, new_uid
from ckernels.ops.reference import evaluate
from ckernels.runtime.function import make_function

pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
DTYPES = ("float32", "float64", "int32", "uint8", "bool")


def leaf(shape, dtype="float64"):
    return make(
        "placeholder", (), {"uid": new_uid(), "dtype": dtype, "shape": tuple(shape), "name": None}
    )


def numbers(rng, shape, dtype="float64"):
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 90, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def compiled(leaves, outputs):
    return make_function(leaves, outputs, positional_only=True, downcast=False, mode="compiled")


def check(leaves, outputs, arrays, rtol=1e-12):
    """Two calls of the function of these nodes give what the oracles give, and change nothing."""
    f = compiled(leaves, outputs)
    before = [a.copy() for a in arrays]
    wanted = evaluate(outputs, dict(zip(leaves, arrays)))
    for _ in range(2):
        for a, b in zip(f(*arrays), wanted):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
    for a, b in zip(arrays, before):
        np.testing.assert_array_equal(a, b)
    return f


def names(f):
    """The names of all instructions, those inside of scans too."""
    return [i.name for i in f.info.program.instructions]


# ---- random programs ----------------------------------------------------------------------------


class Draw:
    """A random program over tensors of one shape: parts are read, changed and stored."""

    def __init__(self, rng, values, dtype, index):
        self.rng, self.values, self.dtype, self.index = rng, list(values), dtype, index
        self.shape, self.nested = values[0].shape, False

    def pick(self):
        late = min(3, len(self.values))
        return self.values[
            -1 - int(self.rng.integers(late if self.rng.random() < 0.7 else len(self.values)))
        ]

    def part(self):
        """Slices of one size along each axis, at different places."""
        found = []
        for n in self.shape:
            kind = self.rng.integers(4)
            if kind == 0:
                found.append((None, None, 1))
            elif kind == 1:
                at = int(self.rng.integers(n))
                found.append((at, at + 1, 1))
            elif kind == 2:
                found.append((1, n - 1, 1))
            else:
                found.append((None, None, int(self.rng.choice([-1, 2]))))
        return found

    def moved(self, slices):
        """Slices of the same size somewhere else, where there is room."""
        found = []
        for (start, stop, step), n in zip(slices, self.shape):
            if start is None or self.rng.random() < 0.4:
                found.append((start, stop, step))
            else:
                by = int(self.rng.integers(-start, n - stop + 1))
                found.append((start + by, stop + by, step))
        return found

    def value(self, slices):
        """What is stored in a part: made of parts of the same shape."""
        a = ops.slice_(self.pick(), self.moved(slices))
        b = ops.slice_(self.pick(), slices)
        kind = self.rng.integers(5)
        if kind == 0:
            return a
        if kind == 1:
            return ops.sub(a, b) if self.dtype != "bool" else ops.logical_xor(a, b)
        if kind == 2:
            return ops.maximum(a, b)
        if kind == 3:
            return ops.add(ops.maximum(a, 1) if self.dtype != "bool" else a, b)
        return ops.cast(ops.sum(ops.slice_(self.pick(), slices)), self.dtype)

    def store(self):
        x, slices = self.pick(), self.part()
        kind = self.rng.integers(5)
        if kind < 3:
            change = ops.set_slice if self.rng.random() < 0.6 else ops.inc_slice
            return change(x, self.value(slices), slices)
        change = ops.set_subtensor if kind == 3 else ops.inc_subtensor
        at = self.index
        row = ops.slice_(self.pick(), [(0, 1, 1)])
        return change(x, at, ops.reshape(row, self.shape[1:]))

    def inner(self):
        """A scan or a branch that changes what is there by stores."""
        states = [self.pick() for _ in range(int(self.rng.integers(1, 3)))]
        if self.rng.random() < 0.5:
            draw = Draw(self.rng, states, self.dtype, self.index)
            draw.step()
            sides = draw.values[-1], states[0]
            if self.rng.random() < 0.3:
                draw.step()
                sides = sides[0], draw.values[-1]
            self.values.append(K.ifelse(Tensor(ops.gt(self.index, 1)), *map(Tensor, sides)).node)
            return

        def body(index, *old):
            draw = Draw(
                self.rng, [x.node for x in old], self.dtype, ops.mod(index.node, self.shape[0])
            )
            for _ in range(int(self.rng.integers(1, 4))):
                draw.values.append(draw.store())
            return [Tensor(x) for x in draw.ends(len(old))]

        outs = K.scan(
            body,
            sequences=[K.arange(int(self.rng.integers(1, 4)))],
            outputs_info=[Tensor(x) for x in states],
        )[0]
        for out in outs if isinstance(outs, list) else [outs]:
            self.values.append(out[-1].node)

    def step(self):
        kind = self.rng.random()
        if self.nested and kind < 0.25:
            self.inner()
        elif kind < 0.75:
            self.values.append(self.store())
        else:
            self.values.append(ops.minimum(self.pick(), self.pick()))

    def ends(self, count):
        """Results: mostly the last ones, now and then an old one or a part."""
        return [self.pick() for _ in range(count - 1)] + [self.values[-1]]


SHAPES = ((5,), (1,), (7, 4), (1, 6), (3, 4, 5), (80, 70))


@pytest.mark.sampled(0)
@pytest.mark.parametrize("seed", range(80))
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    dtype, shape = DTYPES[seed % 5], SHAPES[seed % len(SHAPES)]
    leaves = [leaf(shape, dtype) for _ in range(2)]
    at = leaf((), "int64")
    draw = Draw(rng, leaves, dtype, at)
    draw.values.append(ops.maximum(leaves[0], leaves[1]))
    draw.nested = seed % 3 == 0
    for _ in range(int(rng.integers(2, 12))):
        draw.step()
    outputs = draw.ends(int(rng.integers(1, 4)))
    arrays = [numbers(rng, shape, dtype) for _ in leaves]
    check([*leaves, at], outputs, [*arrays, np.asarray(rng.integers(shape[0]))], 1e-5)


@pytest.mark.sampled(0)
@pytest.mark.parametrize("seed", range(80))
def test_random_scans(seed):
    """Several states, of which some are stored into others, some shown, some read by results."""
    rng = np.random.default_rng(1000 + seed)
    dtype, shape = DTYPES[seed % 5], SHAPES[seed % len(SHAPES)]
    leaves = [leaf(shape, dtype) for _ in range(3)]
    steps = int(rng.integers(1, 7))
    ends_early = seed % 4 == 0

    def step(index, *states):
        draw = Draw(rng, [s.node for s in states], dtype, ops.mod(index.node, shape[0]))
        draw.values.append(leaves[2])
        draw.nested = seed % 2 == 0
        for _ in range(int(rng.integers(1, 8))):
            draw.step()
        new = [Tensor(n) for n in draw.ends(len(states))]
        return (new, K.until(Tensor(ops.gt(index.node, 2)))) if ends_early else new

    outs = K.scan(
        step,
        sequences=[K.arange(steps)],
        outputs_info=[Tensor(x) for x in leaves[:2]],
        go_backwards=bool(rng.random() < 0.3),
    )[0]
    shown = [o[-1] if rng.random() < 0.7 else o for o in outs]
    arrays = [numbers(rng, shape, dtype) for _ in leaves]
    check(leaves, [o.node for o in shown], arrays, 1e-5)


# ---- what is in place, and what nearly is --------------------------------------------------------


def scanned(step, *shapes, steps=5, last=True, dtype="float64", **options):
    """(function, placeholders) of a scan of `step` over `steps` indices."""
    firsts = [K.placeholder(s, dtype=dtype) for s in shapes]
    outs = K.scan(step, sequences=[K.arange(steps)], outputs_info=firsts, **options)[0]
    outs = outs if isinstance(outs, list) else [outs]
    return [x.node for x in firsts], [(o[-1] if last else o).node for o in outs]


def body_of(f):
    return [i.name for i in f.info.program.instructions if i.depth == 1]


def test_an_element_of_a_state_is_stored_in_place():
    leaves, outputs = scanned(lambda i, x: K.set_subtensor(x[i], 2.0 * x[i + 1]), (9,))
    f = check(leaves, outputs, [numbers(np.random.default_rng(1), (9,))])
    assert [n for n in body_of(f) if n == "advanced_set"] == ["advanced_set"]
    assert names(f).count("copy") == 1  # the user's array, before the first step


def test_what_a_loop_has_changed_in_place_is_changed_on_there():
    """By a store that computes what it stores, and by another loop."""

    def loop(x, factor):
        step = lambda i, a: K.set_subtensor(a[i], factor * a[i + 1])  # noqa: E731
        return K.scan(step, K.arange(8), x)[0][-1]

    x = K.placeholder((9,), dtype="float64")
    first = loop(K.exp(x), 2.0)
    array = numbers(np.random.default_rng(8), (9,))
    for out in (K.set_subtensor(first[1:3], K.exp(x[1:3])), loop(first, 3.0)):
        f = check([x.node], [out.node], [array])
        assert not {"copy", "set_slice"} & set(names(f))
    shown = check([x.node], [first.node, loop(first, 3.0).node], [array])
    assert "copy" in names(shown)  # a result shows what the second loop begins with


def after(first, read=None, steps=4):
    """(names of the instructions, those of steps too) of a loop that begins with the last value of
    another one, of those that `first` makes of x; read: what else is read of it, after the loop."""
    x, n = K.placeholder((9,), dtype="float64"), K.placeholder((), dtype="int64")
    was = first(x, n)
    new = K.scan(lambda i, a: K.set_subtensor(a[i], 3.0 * a[i + 1]), K.arange(steps), was)[0][-1]
    more = [] if read is None else [read(was, new).node]
    for count in (0, 1, 5):
        f = check([x.node, n.node], [new.node, *more],
                  [numbers(np.random.default_rng(count), (9,)), np.int64(count)])  # fmt: skip
    return names(f)


def stepped(step, first, **options):
    """The last value of a scan of six steps."""
    return K.scan(step, K.arange(6), first, **options)[0][-1]


def test_a_loop_goes_on_in_place_where_another_one_left_its_array():
    """Whether or not that was in place; it is no copy of what the first one began with."""
    store = lambda i, a: K.set_subtensor(a[i], a[i + 1] + 1.0)  # noqa: E731
    assert after(lambda x, n: stepped(store, x)).count("copy") == 1  # x, before the first step
    assert after(lambda x, n: stepped(store, K.zeros((9,), "float64") + 0 * x)).count("copy") <= 1
    assert "copy" not in after(lambda x, n: stepped(lambda i, a: a * 0.5 + 1, x))
    assert "copy" not in after(lambda x, n: stepped(lambda i, a: a[::-1] * 0.5 + a, x))


def test_the_results_of_a_loop_are_read_each_by_itself():
    """Two arrays that one loop left are changed in place by the next one, whoever reads the other;
    what reads more of an array than it changes is no part of its store."""
    store = lambda i, a, b: (K.set_subtensor(a[i], b[i] + 1.0), K.set_subtensor(b[i], a[i + 1]))  # noqa: E731
    x, array = K.placeholder((9,), dtype="float64"), numbers(np.random.default_rng(6), (9,))
    first = [o[-1] for o in K.scan(store, K.arange(6), [x, 2 * x])[0]]
    again = [o[-1] for o in K.scan(store, K.arange(7), first)[0]]
    f = check([x.node], [o.node for o in again], [array])
    assert names(f).count("copy") == 1  # x, before the first step
    a, b = first
    f = check([x.node], [K.set_subtensor(a[2], a[1] + b[3]).node, (b * b).node], [array])
    assert names(f).count("copy") == 1
    f = check([x.node], [K.set_subtensor(a[2], 7.0).node, (a * b).node, b.node], [array])
    f = check([x.node], [K.set_subtensor(a[1:], a[1:] + 2.0 * a[:-1]).node], [array])
    assert "set_slice" in names(f)
    f = check([x.node], [K.set_subtensor(a[1:], a[1:] + 2.0 * b[:-1]).node], [array])
    assert "set_slice" not in names(f)


def test_near_misses_of_arrays_that_another_loop_left():
    halved = lambda i, a: a * 0.5 + 1  # noqa: E731
    after(lambda x, n: stepped(halved, x), read=lambda was, new: was + new[0])
    after(lambda x, n: K.scan(halved, K.arange(6), x)[0][2])  # a step in the middle
    after(lambda x, n: K.scan(lambda i, a: a, K.arange(6), x)[0][-1])  # it never changes
    after(lambda x, n: K.scan(lambda a: a * 0.5, outputs_info=x, n_steps=n + 1)[0][-1])

    def two(i, a, b):
        new = K.set_subtensor(a[1:-1], b[2:])
        return [new, new]

    def both(x, n):
        shown = K.scan(two, K.arange(6), [x, 2 * x])[0]
        return shown[0][-1], shown[1][-1]

    after(lambda x, n: both(x, n)[0], read=lambda was, new: was * new)
    x = K.placeholder((9,), dtype="float64")
    a, b = both(x, None)
    new = K.scan(lambda i, a: K.set_subtensor(a[i], 3.0 * a[i + 1]), K.arange(4), a)[0][-1]
    check([x.node], [new.node, (b + new).node], [numbers(np.random.default_rng(3), (9,))])
    step = lambda i, a: (a * 0.5, a * 0.5)  # noqa: E731
    last, all_of_them = K.scan(step, K.arange(6), [x, None])[0]
    new = K.scan(lambda i, a: K.set_subtensor(a[i], 3.0 * a[i + 1]), K.arange(4), last[-1])[0][-1]
    check([x.node], [new.node, all_of_them.node], [numbers(np.random.default_rng(3), (9,))])


def test_two_arrays_of_a_stencil_are_written_where_they_lie():
    def mean(a):
        return (a[:-2] + a[1:-1] + a[2:]) / 3

    def step(i, a, b):
        b = K.set_subtensor(b[1:-1], mean(a))
        return [K.set_subtensor(a[1:-1], mean(b)), b]

    leaves, outputs = scanned(step, (30,), (30,))
    rng = np.random.default_rng(2)
    f = check(leaves, outputs, [numbers(rng, (30,)) for _ in leaves])
    assert body_of(f) == ["add+add+true_div"] * 2


@pytest.mark.parametrize("steps", (1, 2, 3, 8))
@pytest.mark.parametrize("early", (False, True))
def test_the_frame_of_a_stencil_is_copied_before_the_steps(steps, early):
    def step(i, a):
        a = K.set_subtensor(a[1:-1, 1:], a[:-2, 1:] + 0.5 * a[1:-1, :-1])
        return (a, K.until(K.sum(a) > 1e9)) if early else a

    leaves, outputs = scanned(step, (6, 7), steps=steps)
    f = check(leaves, outputs, [numbers(np.random.default_rng(3), (6, 7))])
    assert "set_slice" not in body_of(f)


def test_neighbouring_elements_are_copied_before_they_are_written_over():
    """x[1:] = x[:-1] reads what it writes."""
    leaves, outputs = scanned(lambda i, x: K.set_subtensor(x[1:], x[:-1]), (50,), steps=3)
    check(leaves, outputs, [numbers(np.random.default_rng(4), (50,))])


def near(name):
    """Steps in which a store in place would destroy what is still read, or shown."""
    store = {
        "old value after": lambda i, x: K.set_subtensor(x[i], K.sum(x)) + 0 * x,
        "old value in new": lambda i, x: K.set_subtensor(x[i], K.sum(x)) * K.max(x),
        "two stores": lambda i, x: K.set_subtensor(x[i], 1.0) + K.set_subtensor(x[i + 1], 2.0),
        "store of whole": lambda i, x: K.set_subtensor(x[:], x[::-1]),
        "reversed part": lambda i, x: K.set_subtensor(x[2:8], x[2:8][::-1] + 1.0),
        "shifted sum": lambda i, x: K.inc_subtensor(x[1:], x[:-1]),
        "index from state": lambda i, x: K.set_subtensor(x[K.cast(x[0], "int64") % 9], 3.0),
        "reduced part": lambda i, x: K.set_subtensor(x[1:5], x[1:5] - K.max(x[1:5])),
    }
    return store[name]


@pytest.mark.parametrize(
    "name",
    ["old value after", "old value in new", "two stores", "store of whole", "reversed part",
     "shifted sum", "index from state", "reduced part"],
)  # fmt: skip
def test_near_misses(name):
    leaves, outputs = scanned(near(name), (9,))
    check(leaves, outputs, [numbers(np.random.default_rng(5), (9,))])


def test_states_that_change_places_are_not_stored_in_place():
    def step(i, a, b):
        return [K.set_subtensor(b[i], 1.0), a]

    leaves, outputs = scanned(step, (9,), (9,))
    check(leaves, outputs, [numbers(np.random.default_rng(6), (9,)) for _ in leaves])


def test_one_new_value_for_two_states():
    def step(i, a, b):
        new = K.set_subtensor(a[1:-1], b[2:])
        return [new, new]

    leaves, outputs = scanned(step, (9,), (9,))
    check(leaves, outputs, [numbers(np.random.default_rng(7), (9,)) for _ in leaves])


def test_all_values_of_a_state_that_is_shown():
    leaves, outputs = scanned(lambda i, x: K.set_subtensor(x[i], 7.0), (9,), last=False)
    check(leaves, outputs, [numbers(np.random.default_rng(8), (9,))])


def test_gradients_read_the_values_before_the_stores():
    """The last state is quadratic in the first one and in w: compared with finite differences."""
    x0, w = K.placeholder((6,), dtype="float64"), K.placeholder((6,), dtype="float64")

    def step(i, x, w):
        return K.set_subtensor(x[i + 1], x[i] * w[i] + x[i + 1] ** 2)

    last = K.scan(step, sequences=[K.arange(5)], outputs_info=[x0], non_sequences=[w])[0][-1]
    loss = K.sum(last**2)
    f, g = K.function([x0, w], loss), K.function([x0, w], K.grad(loss, [x0, w]))
    rng = np.random.default_rng(9)
    at = [0.3 * rng.standard_normal(6) for _ in range(2)]
    for k, found in enumerate(g(*at)):
        for j in range(6):
            up, down = ([a.copy() for a in at] for _ in range(2))
            up[k][j] += 1e-6
            down[k][j] -= 1e-6
            np.testing.assert_allclose(found[j], (f(*up) - f(*down)) / 2e-6, rtol=1e-6, atol=1e-7)


def test_a_variable_that_starts_a_scan_keeps_its_value():
    v = K.variable(np.arange(9.0), dtype="float64")
    last = K.scan(
        lambda i, x: K.set_subtensor(x[i], -1.0), sequences=[K.arange(4)], outputs_info=[v]
    )[0][-1]
    f = K.function([], last)
    for _ in range(2):
        np.testing.assert_array_equal(f(), [-1, -1, -1, -1, 4, 5, 6, 7, 8])
        np.testing.assert_array_equal(K.get_value(v), np.arange(9.0))


def test_a_chain_of_stores_is_one_copy_and_the_parts():
    x, y = leaf((90, 90)), leaf((90,))
    out = x
    for k in range(8):
        out = ops.set_subtensor(out, k, ops.mul(y, k))
    f = check([x, y], [out], [numbers(np.random.default_rng(3), s) for s in ((90, 90), (90,))])
    assert names(f).count("set_slice") <= 9  # what is below the first row, then eight rows


def test_a_function_of_stores_called_from_many_threads():
    from concurrent.futures import ThreadPoolExecutor

    leaves, outputs = scanned(lambda i, x: K.set_subtensor(x[i], x[i + 1] + 1.0), (900,), steps=800)
    f = compiled(leaves, outputs)
    arrays = [numbers(np.random.default_rng(k), (900,)) for k in range(8)]
    wanted = [f(a)[0].copy() for a in arrays]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            for got, want in zip(pool.map(lambda a: f(a)[0], arrays), wanted):
                np.testing.assert_array_equal(got, want)


def nested(after):
    """Steps that run a scan over a state: row after row it adds the row above to a row."""

    def row(j, x):
        return K.set_subtensor(x[j + 1], x[j] + x[j + 1])

    def step(i, x):
        y = K.scan(row, sequences=[K.arange(8)], outputs_info=[x])[0][-1]
        return after(x, y)

    return scanned(step, (9, 50))


def test_a_scan_inside_of_a_step_changes_the_state_of_the_step():
    leaves, outputs = nested(lambda x, y: y)
    f = check(leaves, outputs, [numbers(np.random.default_rng(10), (9, 50))])
    assert names(f).count("copy") == 1 and "copy" not in body_of(f)


def test_what_is_read_after_the_inner_scan_is_not_changed_by_it():
    leaves, outputs = nested(lambda x, y: K.set_subtensor(y[0], y[1] - x[1] + x[3]))
    f = check(leaves, outputs, [numbers(np.random.default_rng(11), (9, 50))])
    assert "copy" in body_of(f)


def branching(after):
    def step(i, x):
        y = K.ifelse(i > 2, K.set_subtensor(x[i], x[i + 1] * 2.0), x)
        return after(x, y)

    return scanned(step, (9, 50))


def test_a_branch_changes_the_state_of_the_step():
    leaves, outputs = branching(lambda x, y: y)
    f = check(leaves, outputs, [numbers(np.random.default_rng(12), (9, 50))])
    assert names(f).count("copy") == 1  # the user's array, before the first step


def test_what_is_read_after_the_branch_is_not_changed_by_it():
    leaves, outputs = branching(lambda x, y: K.set_subtensor(y[0], y[3] - x[3]))
    check(leaves, outputs, [numbers(np.random.default_rng(13), (9, 50))])


def test_sides_that_change_the_state_in_another_way():
    """One side stores in place, the other makes a new value: that is copied back."""

    def step(i, x):
        return K.ifelse(
            i > 2, K.set_subtensor(x[i], x[i + 1] * 2.0), K.set_subtensor(x[1:], x[:-1])
        )

    leaves, outputs = scanned(step, (9, 50))
    check(leaves, outputs, [numbers(np.random.default_rng(14), (9, 50))])

    def other(i, x):
        return K.ifelse(i > 2, K.set_subtensor(x[i], x[i + 1] * 2.0), x[::-1] + 1.0)

    leaves, outputs = scanned(other, (9, 50))
    check(leaves, outputs, [numbers(np.random.default_rng(15), (9, 50))])


def test_what_an_update_stores_at_the_end_of_a_plan_is_not_written_over():
    """The rows that an update writes are read when all else is done: after the store in their x."""
    w, x = K.variable(np.zeros((9, 50)), dtype="float64"), K.placeholder((9, 50), dtype="float64")
    y = K.exp(x)
    changed = K.set_subtensor(y[2:5], 7.0)
    f = K.function([x], changed, updates=[(w, K.set_subtensor(w[1:4], y[2:5]))])
    a = numbers(np.random.default_rng(16), (9, 50))
    want = np.exp(a)
    got = f(a)
    np.testing.assert_allclose(K.get_value(w)[1:4], want[2:5])
    want[2:5] = 7
    np.testing.assert_allclose(got, want)
