"""Arguments that share memory: as parts of one array, and calls that store into them."""

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.native import runtime
from ckernels.jit.overlaps import folded, parts, share_memory

GRID = np.arange(24.0).reshape(4, 6)
WHY = "an array that is written to and shares memory with another one"
VIEWS = {
    "inner": lambda x: x[1:-1, 1:-1],
    "rows turned": lambda x: x[::-1],
    "columns by twos, turned": lambda x: x[:, ::-2],
    "transposed": lambda x: x.T,
    "a part, transposed": lambda x: x.T[1:5, 1:3],
    "a row": lambda x: x[2],
    "a column": lambda x: x[:, 3],
    "a row of one": lambda x: x[2:3, ::2],
    "with an axis": lambda x: x[1:, None],
    "in one row, by one row": lambda x: x.reshape(-1),
    "a part in one row, by one row": lambda x: x.reshape(-1)[5:20:3],
    "another shape, by one row": lambda x: x.reshape(8, 3)[1:, :],
    "two rows as three, by one row": lambda x: x[1:3].reshape(3, 4),
    "an element": lambda x: x[1, 2:3],
    "an element, no axes": lambda x: x[1, 2, ...],
    "a diagonal, by one row": lambda x: x.diagonal(),
    "all": lambda x: x,
}
NO_PARTS = {
    "another shape of a row with gaps": lambda x: x[:, 0].reshape(2, 2),
    "elements twice": lambda x: np.broadcast_to(x[0], (3, 6)),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x[0], 3),
    "bytes": lambda x: x.view("u1"),
    "halves": lambda x: x.view("f4"),
}


def lies(x):
    return (
        x.__array_interface__["data"][0],
        x.shape,
        [s for s, d in zip(x.strides, x.shape) if d > 1],
    )


def same_call(f, jitted, make):
    """One call of each, with arrays of their own; what is compared is all memory, and results."""
    mine, theirs = make(), make()
    wanted, got = f(*mine), jitted(*theirs)
    for a, b in zip((*mine, wanted), (*theirs, got)):
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(b, a, rtol=1e-12)
    return wanted, got, theirs


ROOTS = {
    "C": lambda: GRID.copy(),
    "F": lambda: np.asfortranarray(GRID),
    "every second": lambda: np.zeros((8, 6))[::2],
    "of records": lambda: np.zeros((4, 6), [("u", "f8"), ("v", "f4")])["u"],
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_a_part(view):
    for name, root in ROOTS.items():
        x = root()
        part = VIEWS[view](x)
        if not np.shares_memory(part, x):
            continue
        if not part.flags.writeable:  # a diagonal is for reading
            assert parts([part, x]) is None
            part.flags.writeable = True
        found = parts([part, 3.0, x])
        if found is None:
            assert name != "C" and "by one row" in view
            continue
        whole, made = found
        assert made and all(lies(p.of(whole[p.place])) == lies(whole[i]) for i, p in made.items())
        kept = [x for i, x in enumerate(whole) if isinstance(x, np.ndarray) and i not in made]
        assert len(kept) == 1


@pytest.mark.parametrize("view", NO_PARTS)
def test_what_is_no_part(view):
    x = GRID.copy()
    assert parts([x, NO_PARTS[view](x)]) is None


def test_parts_of_an_array_that_is_no_argument():
    x = GRID.copy()
    whole, made = parts([x[:3], x[1:], x[:1, :2], 2, np.ones(3)])
    assert whole[5] is x and sorted(made) == [0, 1, 2]
    assert all(lies(p.of(x)) == lies(whole[i]) for i, p in made.items())


def test_arrays_that_share_no_element():
    x, z = GRID.copy(), np.zeros((3, 4), [("u", "f8"), ("v", "f8")])
    whole, made = parts([x[::2], x[1::2], z["u"], z["v"], x[:0], x[:, :0]])
    assert len(whole) == 6 and not made
    assert not share_memory(x[::2], x[1::2]) and share_memory(x[::2], x[2:])


def test_arrays_over_themselves():
    assert folded(np.broadcast_to(1.0, 3)) and folded(NO_PARTS["windows"](GRID))
    assert not folded(GRID[::-1, ::2].T) and not folded(np.broadcast_to(1.0, (0, 3)))


def diffused(grid, inner, turns):
    for _ in range(turns):
        inner += 0.1 * (grid[:-2, 1:-1] + grid[2:, 1:-1] - 2 * inner)
    return inner.sum()


@pytest.mark.parametrize("shape, dtype", [
    ((3, 3), "f8"), ((4, 6), "c16"), ((30, 41), "f4"), ((2, 5), "f8"),
])  # fmt: skip
def test_a_grid_and_what_is_inside_of_it(shape, dtype):
    def make():
        grid = np.random.default_rng(1).random(shape).astype(dtype)
        return grid, grid[1:-1, 1:-1], 5

    jitted = ck.jit(diffused)
    for _ in range(3):
        mine, theirs = make(), make()
        wanted, got = diffused(*mine), jitted(*theirs)
        tol = 1e-5 if dtype == "f4" else 1e-12
        np.testing.assert_allclose(theirs[0], mine[0], rtol=tol)
        np.testing.assert_allclose(got, wanted, rtol=tol)
    assert not jitted.report()["numpy"]


class Sheet:
    def __init__(self, n):
        self.all = np.random.default_rng(n).random((n, n))
        self.inner, self.left = self.all[1:-1, 1:-1], self.all[:, 0]

    def step(self):
        self.left[...] = 1
        self.inner += self.all[2:, 1:-1] * 0.5
        self.inner[self.inner > 1] -= 1
        return self.left


def test_views_that_an_object_keeps():
    step = ck.jit(Sheet.step)
    for n in (5, 5, 9, 5):
        mine, theirs = Sheet(n), Sheet(n)
        for _ in range(3):
            mine.step()
            assert step(theirs) is theirs.left
        np.testing.assert_allclose(theirs.all, mine.all, rtol=1e-12)
    assert not step.report()["numpy"]


ALL = np.zeros((6, 5))
EDGE = ALL[-1]


def filled(x):
    ALL[:, 1:] += x
    EDGE[0] = ALL[0, 1]
    return EDGE * 2


def test_views_that_names_have():
    jitted = ck.jit(filled)
    results = []
    for f in (filled, filled, jitted, jitted):
        if len(results) in (0, 2):
            ALL[...] = np.arange(30.0).reshape(6, 5)
        results.append((f(3.0), ALL.copy()))
    for (a, b), (c, d) in zip(results[:2], results[2:]):
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(b, d)
    assert not jitted.report()["numpy"]


PROGRAMS = {
    "twice the same": (lambda x, y: x.__iadd__(y), lambda: (a := GRID.copy(), a)),
    "shifted": (lambda x, y: x.__iadd__(y), lambda: ((a := GRID.copy())[1:], a[:-1])),
    "turned": (lambda x, y: x.__imul__(y), lambda: ((a := GRID.copy()), a[::-1])),
    "a row and all": (lambda x, y: y.__isub__(x), lambda: ((a := GRID.copy())[1], a)),
    "all in one row": (lambda x, y: np.add(x, y.sum(), out=x),
                       lambda: ((a := GRID.copy()).reshape(-1), a)),
    "halves of a row": (lambda x, y: (x.__iadd__(y), y.__iadd__(x))[0],
                        lambda: ((a := np.arange(9.0))[:6], a[3:])),
    "of records": (lambda x, y: x.__iadd__(y),
                   lambda: ((z := np.ones(5, [("u", "f8"), ("v", "f8")]))["u"], z["v"])),
    "both parts of complex numbers": (lambda x, y: x.__iadd__(y),
                                      lambda: ((z := np.full(4, 1 + 2j)).real, z.imag)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_with_arrays_that_share_memory(name):
    f, make = PROGRAMS[name]
    jitted = ck.jit(f)
    for _ in range(3):
        wanted, got, given = same_call(f, jitted, make)
        assert got is given[0] or got is given[1]
    assert not jitted.report()["numpy"]


def test_a_result_that_is_a_view_of_what_is_shared():
    def f(x, y):
        y += 1
        return x[1:, :2], x + y

    jitted = ck.jit(f)
    for _ in range(2):
        x = GRID.copy()
        view, new = jitted(x, x)
        np.testing.assert_array_equal(x, GRID + 1)
        np.testing.assert_array_equal(new, 2 * GRID + 2)
        view[...] = -1
        assert (x[1:, :2] == -1).all()
    assert not jitted.report()["numpy"]


@pytest.mark.parametrize("name", ["elements twice", "windows"])
def test_memory_that_is_shared_otherwise_is_numpys(name):
    def f(x, y):
        x *= 2
        return y.sum()

    jitted = ck.jit(f)
    for _ in range(2):
        same_call(f, jitted, lambda: ((a := GRID.copy()), NO_PARTS[name](a)))
    assert jitted.report()["numpy"] == {WHY: 2}


def test_memory_that_nobody_may_write_to():
    def f(x, y):
        x += y

    x = GRID.copy()
    x.flags.writeable = False
    jitted = ck.jit(f)
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            jitted(x, x)
        with pytest.raises(ValueError, match="read-only"):
            jitted(x[1:], x[:-1])
    np.testing.assert_array_equal(x, GRID)


def test_calls_of_known_parts_need_no_python(monkeypatch):
    def f(x, y):
        x += y[:3]

    if runtime is None:
        pytest.skip("there is no runtime of C")
    jitted, asked = ck.jit(f), []
    shared = type(jitted).shared
    monkeypatch.setattr(type(jitted), "shared", lambda *a: asked.append(1) or shared(*a))
    for start in (0, 0, 1, 1, 0):
        same_call(f, jitted, lambda i=start: ((a := np.arange(5.0))[i : i + 3], a))
    assert len(asked) == 2
    same_call(f, jitted, lambda: ((a := np.arange(5.0))[3:0:-1], a))  # other strides: another part
    assert len(asked) == 3
    same_call(f, jitted, lambda: (np.ones(3), np.ones(5)))
    assert len(asked) == 3 and not jitted.report()["numpy"]


def test_a_part_that_nobody_may_write_to():
    def stored(a, b):
        b *= 2
        return a

    jitted = ck.jit(stored)
    for part in (False, False, True, True, False):
        grid = np.arange(36.0).reshape(6, 6)
        inner, want = grid[1:-1, 1:-1], grid.copy()
        inner.flags.writeable = not part
        if part:
            with pytest.raises(ValueError, match="read-only"):
                jitted(grid, inner)
        else:
            assert jitted(grid, inner) is grid
            want[1:-1, 1:-1] *= 2
        np.testing.assert_array_equal(grid, want)


def test_parts_of_a_matrix():
    def added(a, b):
        a += b
        return b

    whole = [np.asarray(np.matrix(np.arange(36.0).reshape(6, 6))) for _ in range(2)]
    for f, x in zip((added, ck.jit(added)), whole, strict=True):
        f(x[:4, :4], x[2:, 2:])
    np.testing.assert_array_equal(*whole)
