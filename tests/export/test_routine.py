"""Where updates are written: in place only where nobody can tell, and never after an error."""

import numpy as np
import pytest

import ckernels as K
from ckernels.export.routine import UpdateCopy, routine

from .build import GCC, STRICT, run


def copied(f):
    """Names of the variables that are copied to at the end."""
    return [i.name for i in routine("f", f).instructions if isinstance(i, UpdateCopy)]


def test_an_elementwise_update_is_written_in_place():
    x, w = K.placeholder((4,), name="x"), K.variable(np.ones(4), name="w")
    assert copied(K.function([x], [], updates=[(w, w + x)])) == []


def test_the_gradient_of_a_product_is_written_in_place():
    x, w = K.placeholder((8, 4), name="x"), K.variable(np.ones((4, 3)), name="w")
    loss = K.sum(K.square(K.dot(x, w)))
    f = K.function([x], loss, updates=[(w, w - 0.1 * K.gradients(loss, [w])[0])])
    assert copied(f) == []


def test_values_that_are_read_after_their_update_wait():
    a, b = K.variable(np.ones(3), name="a"), K.variable(np.zeros(3), name="b")
    assert len(copied(K.function([], [], updates=[(a, b), (b, a)]))) == 1
    c = K.variable(np.arange(5), name="c")
    assert copied(K.function([], [], updates=[(c, c[::-1])])) == ["update of c"]


def test_nothing_is_written_before_what_may_fail():
    i, w = K.placeholder((2,), dtype="int32", name="i"), K.variable(np.ones(4), name="w")
    table, v = K.variable(np.ones((3, 2)), name="table"), K.variable(np.ones(1), name="v")
    f = K.function([i], K.gather(table, i), updates=[(w, w + 1), (v, v * 2)])
    plan = routine("f", f).instructions
    late = [k for k, i in enumerate(plan) if isinstance(i, UpdateCopy) or "add" in i.name]
    fails = [k for k, instr in enumerate(plan) if "take" in instr.name or "gather" in instr.name]
    assert fails and (copied(f) or min(late) > max(fails))


MAIN = """\
#include "m.h"

static m_state state;

int main(void)
{
    const float old[2] = { 5, 6 };
    float out[4];
    const int32_t bad[2] = { 0, 3 }, good[2] = { 2, -1 };
    m_reset(&state);
    for (int i = 0; i < 2; i++) state.w[i] = old[i];
    if (m_f(&state, bad, out) != 1 || state.w[0] != 5 || state.w[1] != 6 || state.a[0] != 1)
        return 1;
    if (m_f(&state, good, out) != 0 || state.w[0] != 6 || state.w[1] != 7) return 2;
    return state.a[0] != 2 || state.b[0] != 1 || out[0] != 5;
}
"""


@pytest.mark.skipif(GCC is None, reason="there is no C compiler")
def test_an_error_leaves_the_state_as_it_was(tmp_path):
    import subprocess

    i = K.placeholder((2,), dtype="int32", name="i")
    w, table = K.variable(np.zeros(2), name="w"), K.variable(np.arange(6).reshape(3, 2) + 1)
    a, b = K.variable([1.0], name="a"), K.variable([2.0], name="b")
    f = K.function([i], K.gather(table, i), updates=[(w, w + 1), (a, b), (b, a)])
    K.export({"f": f}, tmp_path, prefix="m")
    (tmp_path / "main.c").write_text(MAIN)
    program = tmp_path / "program"
    subprocess.run(
        [
            GCC,
            *STRICT,
            "-O2",
            "-fsanitize=undefined",
            *map(str, (tmp_path / "m.c", tmp_path / "main.c", "-lm", "-o", program)),
        ],
        check=True,
    )
    run(program)


def test_the_users_variables_do_not_change(tmp_path):
    x, w = K.placeholder((2,), name="x"), K.variable(np.ones(2), name="w")
    f = K.function([x], K.random_uniform((2,)) * x, updates=[(w, w + x)])
    before = K.get_value(w)
    first = K.function([], K.random_uniform((2,)))
    K.export(f, tmp_path, prefix="m")
    assert np.array_equal(K.get_value(w), before)
    assert first().shape == (2,)


def test_an_update_waits_for_those_who_read_the_old_value():
    """The gradient of the first layer reads the second one's weights, whose update comes before."""
    x = K.placeholder((32, 40), name="x")
    v, w = K.variable(np.ones((40, 60)), name="v"), K.variable(np.ones((60, 50)), name="w")
    loss = K.sum(K.square(K.dot(K.tanh(K.dot(x, v)), w)))
    updates = [(p, p - 0.1 * g) for p, g in zip([v, w], K.gradients(loss, [v, w]))]
    assert copied(K.function([x], loss, updates=updates)) == []
