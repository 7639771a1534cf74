"""Loops whose kernels cannot be had, where there is no compiler: their oracles run instead."""

import zlib

import numpy as np
import pytest
from codegen.test_random_graphs import search

import ckernels as K
from ckernels import compiler
from ckernels.base.errors import CKernelsWarning
from ckernels.runtime import function as functions
from ckernels.runtime import stored


@pytest.fixture
def some_missing(monkeypatch):
    """Every third kernel, by its name, did not come with ckernels."""

    def lacking(sources):
        return {s.name for s in sources if zlib.crc32(s.name.encode()) % 3 == 0}

    monkeypatch.setattr(compiler, "ready_made", lambda: True)
    monkeypatch.setattr(compiler, "lacking", lacking)
    monkeypatch.setattr(functions, "_warned", {None})
    monkeypatch.setattr(stored, "describe", lambda program: (None, ()))  # of runs with a compiler


@pytest.fixture
def all_missing(some_missing, monkeypatch):
    monkeypatch.setattr(compiler, "lacking", lambda sources: {s.name for s in sources})


@pytest.mark.usefixtures("some_missing")
def test_random_graphs_with_kernels_missing():
    search(range(300, 345), 3)


@pytest.mark.usefixtures("all_missing")
def test_random_graphs_without_any_kernel():
    search(range(345, 360), 3)


def classifier(units):
    x, t = K.placeholder((None, 6)), K.placeholder((None, 3))
    rng = np.random.default_rng(0)
    w, b = K.variable(rng.normal(size=(6, units))), K.zeros((units,))
    v = K.variable(rng.normal(size=(units, 3)))
    y = K.softmax(K.dot(K.relu(K.dot(x, w) + b), v))
    loss = K.mean(K.categorical_crossentropy(target=t, output=y)) + 0.01 * K.sum(K.square(w))
    steps = [(p, p - 0.1 * g) for p, g in zip((w, b, v), K.gradients(loss, [w, b, v]))]
    return K.function([x, t], [loss, y], updates=steps), (w, b, v)


def trained(units, sizes):
    f, variables = classifier(units)
    rng, shown = np.random.default_rng(1), []
    for n in sizes:
        shown += f([rng.random((n, 6)), np.eye(3)[rng.integers(0, 3, n)]])
    return f, shown + [K.get_value(v) for v in variables]


@pytest.mark.parametrize("which", ["some_missing", "all_missing"])
def test_a_step_of_training_in_part(which, request):
    """Updates, epilogues of products and other sizes: what a full plan gives."""
    sizes = (5, 9, 1, 300, 5)
    whole, want = trained(7, sizes)
    request.getfixturevalue(which)
    f, got = trained(7, sizes)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
    count = len(f.stats()["kernels"])
    assert count < len(whole.stats()["kernels"]) and (count == 0) == (which == "all_missing")
    assert any("matmul" in step for step in f.steps())  # products are of the runtime


@pytest.mark.usefixtures("some_missing")
def test_scans_and_values_in_two_loops():
    x = K.placeholder((None, 4))
    a = K.exp(x) * 0.3
    total = K.scan(
        lambda row, s: K.tanh(s * 0.5 + row), sequences=[a], outputs_info=[K.zeros((4,))]
    )[0]
    f = K.function([x], [K.cumsum(a) + a, a + K.sum(a, axis=0), total, K.argmax(a * 1.7)])
    data = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")
    e = np.exp(data) * np.float32(0.3)
    s, rows = np.zeros(4, "float32"), []
    for row in e:
        s = np.tanh(s * np.float32(0.5) + row)
        rows.append(s)
    for got, want in zip(f([data]), (e.cumsum(0) + e, e + e.sum(0), rows, e.argmax(-1))):
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_it_is_told_once(all_missing, monkeypatch):
    monkeypatch.setattr(functions, "_warned", set())
    x = K.placeholder((None,))
    f = K.function([x], K.exp(x) * 0.7)
    with pytest.warns(CKernelsWarning, match="in part through NumPy.*1 of the 1 kernels.*Install"):
        np.testing.assert_allclose(f([np.zeros(3)]), np.full(3, 0.7), rtol=1e-6)
    f([np.zeros(4)])


def test_it_is_an_error_where_that_is_asked_for(all_missing):
    x = K.placeholder((None,))
    with K.config.change(on_compile_error="raise"):
        with pytest.raises(compiler.CompilerMissing, match="did not come with it"):
            K.function([x], K.exp(x) * 0.7)([np.zeros(3)])


def test_rates_are_no_part_of_kernels_made_before(monkeypatch):
    """Where kernels came with the wheel, 0.1 and 0.37 are data; 1 and 0.5 stay in the text."""
    monkeypatch.setattr(compiler, "ready_made", lambda: True)
    monkeypatch.setattr(compiler, "lacking", lambda sources: ())
    monkeypatch.setattr(stored, "describe", lambda program: (None, ()))
    x = K.placeholder((None,))
    names = []
    for rate, half in ((0.1, 0.5), (0.37, 0.5), (0.1, 0.25)):
        f = K.function([x], K.tanh(x * half) - rate * x)
        a = np.linspace(-1, 1, 7).astype("f")
        np.testing.assert_allclose(f([a]), np.tanh(a * half) - rate * a, rtol=1e-5, atol=1e-6)
        names.append([k["name"] for k in f.stats()["kernels"]])
    assert names[0] == names[1] != names[2]
