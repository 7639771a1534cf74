"""Golden C: the text of kernels for small graphs, reviewed by eye, and what every text keeps to.

`pytest tests/codegen/test_emit.py --update-golden` writes the files anew; read the diff.
"""

import pathlib
import re

import numpy as np
import pytest
from schedule.test_fuse import ONE_KERNEL, adam, momentum, numbers

from ckernels import ops
from ckernels.codegen.emit import emit
from ckernels.codegen.tidy import tidy_body, tidy_expression

from . import choices
from .planned import leaf, plan
from .test_random_graphs import low_thresholds  # noqa: F401 (a fixture)

GOLDEN = pathlib.Path(__file__).parent / "golden"
MIXED = {
    "gemm_epilogue": (lambda x, w, b: ops.tanh(ops.matmul(x, w) + b), [(9, 5), (5, 7), (7,)]),
    "sum_of_squares_in_chunks": (lambda x: ops.sum(ops.square(x)), [(50_000,)]),
    "column_sums_in_chunks": (lambda x: ops.sum(x, 0), [(20_000, 8)]),
    "max_with_nan": (lambda x: ops.max(x, 1), [(20, 30)]),
    "two_runs": (lambda x: ops.sum(x, (0, 2)), [(6, 5, 300)]),
    "bundles": (lambda x: x - ops.mean(x, (1, 3), True), [(2, 6, 5, 7)]),
    "strided": (lambda x: ops.exp(x[::2, ::3]), [(20, 30)]),
    "broadcast": (lambda x, y: x * ops.expand_dims(y, 1), [(20, 30), (20,)]),
    "broadcast_in_the_middle": (
        lambda x, y: x * y, [(3, 4, 5, 6), (3, 1, 5, 1)]),
    "channels": (lambda x, m, r: (x - ops.exp(m)) * r, [(400, 3), (3,), (400, 1)]),
    "distances": (
        lambda x, y: ops.exp(-ops.sum(ops.square(ops.expand_dims(x, 1) - y), 2)),
        [(20, 9), (30, 9)]),
    "bag_of_rows": (
        lambda w, x: ops.sum(ops.take(w, ops.argmax(x, 2), 0), 1), [(50, 80), (7, 5, 20)]),
    "rows_at_indices": (
        lambda w, x: ops.tanh(ops.take(w, ops.argmax(x, 1), 0)), [(50, 80), (7, 20)]),
    "momentum": (lambda *a: momentum(*a), [(30, 20)] * 4),
    "adam": (lambda *a: adam(*a), [(30, 20)] * 4),
    "iota": (lambda x: x + ops.cast(ops.iota((20, 30), 1), "float32"), [(20, 30)]),
    "scalar": (lambda x, s: x * ops.exp(s), [(20, 30), ()]),
}  # fmt: skip
GRAPHS = {
    name.replace(" ", "_"): (build, shapes) for name, (build, _, shapes) in ONE_KERNEL.items()
}
GRAPHS.update(MIXED)


def text_of(name):
    """The C of all kernels of a graph; names that depend on the text are left out."""
    build, shapes = GRAPHS[name]
    _, kernels = plan(build, *(numbers(*s) for s in shapes), check=False)
    return "\n".join(re.sub(r"\bk_[0-9a-f]{16}\b", "kernel", emit(k)[1]) for k in kernels)


@pytest.mark.parametrize("name", GRAPHS)
def test_golden(name, request):
    text, path = text_of(name), GOLDEN / f"{name}.c"
    if request.config.getoption("--update-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text, f"{path} differs; --update-golden writes it anew"


def test_goldens_belong_to_graphs():
    assert {p.stem for p in GOLDEN.glob("*.c")} == set(GRAPHS)


@pytest.mark.parametrize("group", choices.GROUPS)
def test_choices(group, request, tmp_path, monkeypatch):
    """What is planned for many programs is as it was when somebody last looked at it."""
    if group == "low":
        request.getfixturevalue("low_thresholds")
    found, path = choices.lines(group, tmp_path, monkeypatch), GOLDEN / f"{group}.txt"
    if request.config.getoption("--update-golden"):
        path.write_text("".join(f"{name}: {line}\n" for name, line in found.items()))
    kept = dict(line.split(": ", 1) for line in path.read_text().splitlines())
    changed = [f"{k}:\n  {kept.get(k)}\n  {found.get(k)}" for k in {**kept, **found}
               if kept.get(k) != found.get(k)]  # fmt: skip
    assert not changed, "; --update-golden writes them anew\n" + "\n".join(changed[:9])


def test_equal_kernels_have_equal_text_whatever_the_sizes():
    texts = set()
    for rows, columns in ((20, 30), (21, 33), (500, 17)):
        _, (kernel,) = plan(lambda x: ops.softmax(x, -1), numbers(rows, columns))
        texts.add(emit(kernel)[1])
    assert len(texts) == 1


def test_a_program_is_the_same_whatever_the_process_has_made_before(tmp_path, monkeypatch):
    """Bodies of steps are the same nodes in all programs that have them."""
    kept, found = [], {}
    for name, make in reversed(choices.GROUPS["scans"]):
        kept.append(make(tmp_path))
        found[name] = choices.planned(kept[-1], monkeypatch)
    lines = (GOLDEN / "scans.txt").read_text().splitlines()
    assert found == dict(line.split(": ", 1) for line in lines)


def test_no_name_of_a_user_reaches_the_compiler():
    evil = '*/ } int main(void) { /* "'
    x = leaf((None,), "float32", evil)
    from ckernels.runtime.function import make_function

    function = make_function([x], [ops.tanh(x) * 2], positional_only=True, name=evil)
    function(np.ones(3, "float32"))
    assert "main" not in function.info.source() and evil not in function.info.source()


def test_tidy():
    assert tidy_expression("((v1) + (v2))") == "v1 + v2"
    assert tidy_expression("(v1) - ((v2) * (v3))") == "v1 - (v2 * v3)"
    assert tidy_expression("ck_exp_f32(v2)") == "ck_exp_f32(v2)"
    assert tidy_expression("(float)(v0)") == "(float)v0"
    assert tidy_expression("((v1) ? (v2) : ((v3)))") == "v1 ? v2 : v3"
    assert tidy_expression("(v1) + ((0x1p0f))") == "v1 + (0x1p0f)"
    body = [
        "    const float *const a0 = x0;",
        "    float *const b3 = a3;",
        "    const int64_t q_0 = q;",
        "    y1[0] = a0[0];",
    ]
    assert tidy_body(body) == ["    y1[0] = x0[0];"]
