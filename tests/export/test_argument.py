"""The size of a batch as an argument of the C function."""

import subprocess
import sys

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import ArgumentError, NotSupported, ShapeError
from ckernels.export.argument import at, c_text, spans
from ckernels.export.model import rehearsal
from ckernels.export.routine import routine
from ckernels.graph.sizes import ShapeClass

from .build import GCC, STRICT, build, run
from .programs import numbers, sgd, weight

SANITIZE = ("-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def mlp():
    x, y = K.placeholder((None, 20), name="x"), K.placeholder((None, 5), name="y")
    w1, b1 = weight(numbers(20, 16), "w1"), weight(np.zeros(16), "b1")
    w2, b2 = weight(numbers(16, 5), "w2"), weight(np.zeros(5), "b2")
    out = K.softmax(K.dot(K.tanh(K.dot(x, w1) + b1), w2) + b2)
    loss = K.mean(K.categorical_crossentropy(out, y))
    train = K.function([x, y], loss, updates=sgd(loss, [w1, b1, w2, b2], 0.1))
    return {"train": train, "predict": K.function([x], out)}


def cnn():
    x, y = K.placeholder((None, 8, 8, 1), name="x"), K.placeholder((None, 5), name="y")
    k, w = weight(numbers(3, 3, 1, 6)), weight(numbers(96, 5))
    h = K.pool2d(K.relu(K.conv2d(x, k, padding="same")), (2, 2), (2, 2))
    out = K.softmax(K.dot(K.reshape(h, (-1, 96)), w))
    loss = K.mean(K.categorical_crossentropy(out, y))
    return {"train": K.function([x, y], loss, updates=sgd(loss, [k, w], 0.1))}


def lstm():
    """Samples are n; so are the steps in the second function."""
    units = 5
    w, u, v = (weight(numbers(*s)) for s in ((3, 4 * units), (units, 4 * units), (units, 2)))

    def net(x):
        def step(x, h, c):
            z = K.dot(x, w) + K.dot(h, u)
            i, f, g, o = (z[:, k * units : (k + 1) * units] for k in range(4))
            c = K.sigmoid(f) * c + K.sigmoid(i) * K.tanh(g)
            return [K.sigmoid(o) * K.tanh(c), c]

        start = K.zeros_like(K.dot(x[:, 0], w))[:, :units]
        (h, _), _ = K.scan(
            step, sequences=[K.permute_dimensions(x, (1, 0, 2))], outputs_info=[start, start]
        )
        return K.softmax(K.dot(h[-1], v)), h

    x, y = K.placeholder((None, 6, 3), name="x"), K.placeholder((None, 2), name="y")
    long = K.placeholder((4, None, 3), name="x")
    loss = K.mean(K.categorical_crossentropy(net(x)[0], y))
    train = K.function([x, y], loss, updates=sgd(loss, [w, u, v], 0.5))
    return {"train": train, "read": K.function([long], list(net(long)))}


def halves():
    """Sizes that are quotients and remainders of n, and reductions whose form depends on it."""
    x = K.placeholder((None, 3), name="x")
    return {"f": K.function([x], [x[::2], x[1:], K.sum(x, 0), K.concatenate([x, 2 * x], 0)])}


MAIN = """\
#include "m.h"
#include <stdio.h>
#include <stdlib.h>

static m_state state;

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 0;
    /* as large as they have to be, so that what is beyond is found */
    float *x = malloc(sizeof(float) * 20 * (n > 0 ? n : 1));
    float *out = malloc(sizeof(float) * 5 * (n > 0 ? n : 1));
    m_reset(&state);
    for (int i = 0; i < 20 * n; i++) x[i] = (float)((i * 37) % 101) / 50.0f - 1.0f;
    const int code = m_predict(&state, n, x, out);
    printf("%d", code);
    for (int i = 0; i < 5 * n && code == 0; i++) printf(" %.9g", (double)out[i]);
    free(x);
    free(out);
    return 0;
}
"""


@pytest.mark.skipif(GCC is None, reason="there is no C compiler")
def test_one_function_serves_each_size(tmp_path):
    made = mlp()
    report = K.export(made, tmp_path, prefix="m", batch=12)
    assert "all as recorded" in run(build(tmp_path, "m"))
    text = (tmp_path / "m.h").read_text()
    assert "n: from 1 to 12;\n   x: float32 n x 20;" in text and "int32_t n, const float *x" in text
    assert report.multiplied["predict"] == 12 * (20 * 16 + 16 * 5)
    (tmp_path / "main.c").write_text(MAIN)
    sources = [tmp_path / "m.c", tmp_path / "main.c"]
    flags = [f for f in STRICT if f != "-pedantic"] + list(SANITIZE)
    command = [GCC, *flags, *sources, "-lm", "-o", tmp_path / "main"]
    subprocess.run([str(c) for c in command], check=True)
    for n in range(15):
        code, *found = run(tmp_path / "main", n).split()
        assert code == ("0" if 1 <= n <= 12 else "4")
        if code == "0":
            x = (np.arange(20 * n) * 37 % 101).astype("float32") / np.float32(50) - np.float32(1)
            expected = made["predict"](x.reshape(n, 20))
            np.testing.assert_allclose(np.array(found, "float32"), expected.ravel(), atol=1e-6)


@pytest.mark.sampled(1 / 3)
@pytest.mark.skipif(GCC is None, reason="there is no C compiler")
@pytest.mark.parametrize("make", [cnn, lstm, halves])
def test_results_are_as_recorded_for_several_sizes(make, tmp_path):
    made, random = make(), np.random.default_rng(0)
    examples = []
    for n in (9, 1, 2, 5, 8, 9):
        for name, f in made.items():
            shapes = [[n if s is None else s for s in p.shape] for p in f.info.spec.inputs]
            examples.append((name, [random.standard_normal(s).astype("float32") for s in shapes]))
    K.export(made, tmp_path, prefix="m", batch=9, examples=examples)
    assert "all as recorded" in run(build(tmp_path, "m", *SANITIZE))


def sized(f, batch, shapes=None, name="f"):
    return routine(name, f, shapes, batch=batch, write=rehearsal(False))


def test_plans_share_all_sizes():
    """A first axis of 1 is a batch as in the runtime; any other has a plan of its own."""
    for f in mlp().values():
        assert [p.fits for p in sized(f, 64).variants] == [[(1, 64)]]
    x = K.placeholder((3, None), name="x")
    variants = sized(K.function([x], K.tanh(x)), 64).variants
    assert [p.fits for p in variants] == [[(2, 64)], [(1, 1)]]
    y = K.placeholder((None, 3), name="y")
    assert len(sized(K.function([y], [y[3:], y + y[:, :1]]), 9).variants) > 1


def test_what_is_fixed_takes_no_size(tmp_path):
    x = K.placeholder((3, None), name="x")
    f = K.function([x], K.sum(x, 1))
    assert sized(f, 8, {"x": (3, 4)}).batch is None
    assert sized(f, 8).batch == 8
    with pytest.raises(ShapeError, match="or the largest one .* with batch="):
        routine("f", f)
    with pytest.raises(ArgumentError, match="from 2 to 4096, not 1"):
        K.export(f, tmp_path, batch=1)


def test_too_many_plans_are_refused(monkeypatch):
    monkeypatch.setattr(sys.modules[routine.__module__], "VARIANTS", 1)
    x = K.placeholder((None, 3), name="x")
    with pytest.raises(NotSupported, match="tail cannot be exported for each n up to 6: .*more"):
        sized(K.function([x], x[3:]), 6, name="tail")
    assert sized(mlp()["predict"], 1).variants[0].fits == [(1, 1)]


def test_sizes_as_c():
    n = ShapeClass().symbol(("n",), "n", 12)
    assert c_text(7) == "7" and c_text(n) == "n"
    for size in (2 * n - 3, n // 4, (n + 5) % 7, n * n + n // 2):
        value = eval(c_text(size).replace("/", "//"), {"n": 9})
        assert value == at(size, 9)
    assert spans({1, 2, 3, 7, 9, 10}) == [(1, 3), (7, 7), (9, 10)]
