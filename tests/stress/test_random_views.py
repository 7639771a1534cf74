"""Arrays of ckernels.numpy that are views of each other and are stored into, asked for their values
in any order, beside the same program in NumPy; and the same programs as one jitted function.

Nothing is computed before it is asked for, so what an array holds is decided by the order of stores
and not by when it is read.
"""

import warnings

import numpy as np
import pytest

import ckernels as ck
import ckernels.numpy as cnp

DTYPES = ("float64", "float32", "int64", "int8", "bool", "complex128")


class Line:
    """One statement on a list of arrays: run(module, arrays) appends or stores."""

    def __init__(self, text, run):
        self.text, self.run = text, run


def key_of(r, shape):
    """A basic key of an array of this shape."""
    key = []
    for n in shape:
        if r.random() < 0.3 and n and len(shape) > 1:
            key.append(int(r.integers(-n, n)))
        else:
            a, b = r.integers(-n - 1, n + 2, 2)
            key.append([slice(None), slice(int(a), None), slice(None, int(b)), slice(None, None, 2),
                        slice(None, None, -1), slice(int(a), int(b))][r.integers(6)])  # fmt: skip
    if r.random() < 0.15:
        key.append(None)
    return tuple(key[: r.integers(1, len(key) + 1)]) if key else ()


def draw(seed):
    """(lines, arrays to start from, indices of arrays to ask for): the shapes are NumPy's."""
    r = np.random.default_rng(seed)
    dtype = DTYPES[r.integers(len(DTYPES))]
    shapes = [tuple(int(n) for n in r.choice([0, 1, 2, 3, 4, 6], r.integers(1, 4)))
              for _ in range(r.integers(1, 3))]  # fmt: skip
    start = [r.integers(0, 2 if dtype == "bool" else 50, s).astype(dtype) for s in shapes]
    model, lines = [x.copy() for x in start], []

    def add(text, run):
        before = [x.copy() for x in model]
        try:
            with np.errstate(all="ignore"):
                run(np, model)
        except (ValueError, IndexError, TypeError):
            for x, old in zip(model, before):
                if x.flags.writeable:
                    x[...] = old
            del model[len(before) :]
            return
        if model and (not isinstance(model[-1], np.ndarray) or model[-1].size > 500):
            del model[len(before) :]
            return
        lines.append(Line(text, run))

    for _ in range(r.integers(3, 14)):
        i, j = (int(k) for k in r.integers(len(model), size=2))
        x, kind = model[i], r.integers(14)
        key = key_of(r, x.shape)
        if kind < 3:
            add(f"a{i}[{key}]", lambda m, a, i=i, key=key: a.append(a[i][key]))
        elif kind == 3:
            add(f"a{i}.T", lambda m, a, i=i: a.append(a[i].T))
        elif kind == 4:
            add(f"a{i}.reshape(-1)", lambda m, a, i=i: a.append(a[i].reshape(-1)))
        elif kind == 5:
            add(f"a{i}.copy()", lambda m, a, i=i: a.append(a[i].copy()))
        elif kind == 6:
            add(f"a{i} + a{j}", lambda m, a, i=i, j=j: a.append(a[i] + a[j]))
        elif kind == 7:
            n = int(r.integers(0, 2 if dtype == "bool" else 9))
            add(f"a{i}[{key}] = {n}", lambda m, a, i=i, k=key, n=n: a[i].__setitem__(k, n))
        elif kind in (8, 9):
            add(f"a{i}[{key}] = a{j}", lambda m, a, i=i, j=j, k=key: a[i].__setitem__(k, a[j]))
        elif kind == 10:

            def in_place(m, a, i=i, j=j):
                x = a[i]
                x += a[j]

            add(f"a{i} += a{j}", in_place)
        elif kind == 11:

            def masked(m, a, i=i):
                a[i][a[i] > a[i].dtype.type(1)] = a[i].dtype.type(0)

            if dtype not in ("bool", "complex128"):
                add(f"a{i}[a{i} > 1] = 0", masked)
        elif kind == 12 and x.ndim and len(x):
            rows = r.integers(0, len(x), 3)
            add(f"a{i}[{rows}]", lambda m, a, i=i, rows=rows: a.append(a[i][rows]))
        elif kind == 13:

            def part_of_itself(m, a, i=i):
                a[i][1:] = a[i][:-1]

            add(f"a{i}[1:] = a{i}[:-1]", part_of_itself)
    asked = [int(k) for k in r.integers(0, 10**6, 3)]
    return lines, start, asked


def same(want, got, told):
    got = np.asarray(got)
    assert want.dtype == got.dtype and want.shape == got.shape, told
    np.testing.assert_array_equal(got, want, err_msg=told)


def check(seed):
    lines, start, asked = draw(seed)
    told = f"seed {seed}: {[x.shape for x in start]} {start[0].dtype} " + "; ".join(
        line.text for line in lines
    )

    def program(module, *given):
        arrays = list(given)
        for line in lines:
            line.run(module, arrays)
        return arrays

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = program(np, *[x.copy() for x in start])
        r, late = np.random.default_rng(seed), [cnp.array(x) for x in start]
        model = [x.copy() for x in start]
        for line in lines:  # some are asked for on the way
            line.run(np, model)
            line.run(cnp, late)
            if r.random() < 0.2:
                k = int(r.integers(len(model)))
                same(model[k], late[k], f"{told}: a{k} after {line.text}")
        for k in r.permutation(len(want)):
            same(want[k], late[k], f"{told}: a{k} at the end")
        args = [x.copy() for x in start]
        got = ck.jit(lambda *a: tuple(program(np, *a)))(*args)
        for k, (a, b) in enumerate(zip(want, got, strict=True)):
            same(a, b, f"{told}: a{k} jitted")
        for k, x in enumerate(args):
            same(want[k], x, f"{told}: argument {k}")
        for k in range(len(got)):  # what shares memory does so here too
            for n in range(k):
                shared = np.shares_memory(want[k], want[n])
                assert shared == np.shares_memory(got[k], got[n]), f"{told}: a{k} and a{n}"
    return bool(lines)


def run(seeds):
    return sum(map(check, seeds))


def test_random_views():
    with ck.config.change(mode="reference"):
        assert run(range(60)) > 50


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["reference", "compiled"])
def test_many_random_views(many, new_seed, mode):
    with ck.config.change(mode=mode):
        run(range(new_seed, new_seed + many // (10 if mode == "reference" else 50)))
