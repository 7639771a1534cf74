"""What becomes one loop, what must not, and which form the loop takes."""

from types import SimpleNamespace

import numpy as np
import pytest
from codegen.planned import forms, leaf, plan

from ckernels import ops
from ckernels.autodiff.reverse import grad
from ckernels.codegen.emit import emit
from ckernels.runtime.function import make_function
from ckernels.schedule import legal
from ckernels.schedule.fuse import fuse

RNG = np.random.default_rng(1)


def numbers(*shape):
    return RNG.normal(size=shape).astype("float32")


def layer_norm(x, scale, shift):
    off = ops.sub(x, ops.mean(x, -1, keepdims=True))
    return off * ops.rsqrt(ops.var(x, -1, keepdims=True) + 1e-5) * scale + shift


def batch_norm(x, scale, shift):
    off = ops.sub(x, ops.mean(x, 0))
    return off * ops.rsqrt(ops.var(x, 0) + 1e-5) * scale + shift


def crossentropy(logits, target):
    return ops.neg(ops.sum(ops.mul(target, ops.log_softmax(logits, -1)), -1))


ONE_KERNEL = {
    "softmax": (lambda x: ops.softmax(x, -1), "rows", [(20, 30)]),
    "softmax over columns": (lambda x: ops.softmax(x, 0), "columns", [(20, 30)]),
    "softmax in the middle": (lambda x: ops.softmax(x, 1), "columns", [(4, 20, 30)]),
    "log_softmax": (lambda x: ops.log_softmax(x, -1), "rows", [(20, 30)]),
    "logsumexp": (lambda x: ops.logsumexp(x, -1), "rows", [(20, 30)]),
    "mean and var": (lambda x: [ops.mean(x, -1), ops.var(x, -1)], "rows", [(20, 30)]),
    "layer norm": (layer_norm, "rows", [(20, 30), (30,), (30,)]),
    "batch norm": (batch_norm, "columns", [(20, 30), (30,), (30,)]),
    "crossentropy": (crossentropy, "rows", [(20, 30), (20, 30)]),
    "chain": (lambda x, y: ops.tanh(x * 2 + y) - ops.exp(y), "flat", [(20, 30), (20, 30)]),
    "bias": (lambda x, b: ops.relu(x + b), "flat", [(20, 30), (30,)]),
    "diamond": (lambda x: [ops.tanh(ops.exp(x)) + ops.sin(ops.exp(x))], "flat", [(20, 30)]),
    "reduce and epilogue": (lambda x, b: ops.tanh(ops.sum(x, 1) + b), "rows", [(20, 30), (20,)]),
    "argmax": (lambda x: ops.argmax(x, -1), "rows", [(20, 60)]),
    "argmax_of_short_rows": (lambda x: ops.argmax(x, -1), "columns", [(20, 30)]),
    "transposed operand": (lambda x, y: ops.transpose(x) + y, "tile", [(64, 48), (48, 64)]),
    "one_hot": (lambda x: ops.cast(ops.eq(ops.expand_dims(ops.argmax(x, -1), -1),
                                          ops.iota((20, 30), 1)), "float32"), "rows", [(20, 30)]),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_one_kernel(name):
    build, form, shapes = ONE_KERNEL[name]
    assert forms(build, *(numbers(*s) for s in shapes)) == [form]


def test_one_row_is_one_loop_with_or_without_an_axis_for_it():
    """The second sum is an epilogue's operand with an axis of size 1, the first one has none."""
    taps = numbers(3)
    build = lambda x, y, taps: [  # noqa: E731
        ops.sum(ops.where(ops.slice_(taps, [(0, 1, 1)]) > 0, ops.square(x), -1.0)),
        ops.exp(ops.slice_(taps, [(1, 2, 1)])) * ops.expand(ops.sum(x * y), (0,)),
        ops.sum(ops.exp(ops.exp(taps) * 0.1)) * ops.sum(x),
    ]
    assert forms(build, numbers(300), numbers(300), taps).count("rows") == 2


def test_what_is_the_same_along_a_loop_makes_it_no_deeper():
    """Scalars before and after the sums are a long chain, what the second sum needs is not."""

    def build(x, y, scalar):
        for _ in range(5):
            scalar = ops.tanh(scalar)
        off = x - y * scalar
        late = ops.sum(off * y) * scalar
        for _ in range(3):
            late = ops.tanh(late)
        return [late, ops.sum(ops.log(ops.square(off) + 1.0))]

    assert forms(build, numbers(300), numbers(300), numbers()).count("rows") == 1


def test_intermediate_that_is_also_an_output():
    """One kernel with two outputs, not two kernels."""
    steps, kernels = plan(lambda x: [ops.exp(x), ops.exp(x) * 2, ops.tanh(ops.exp(x))], numbers(50))
    assert len(kernels) == 1 and len(kernels[0].stores) == 3


def test_siblings_that_read_one_tensor():
    steps, kernels = plan(lambda x: [ops.sum(x, 1), ops.max(x, 1), ops.exp(x)], numbers(20, 30))
    assert len(kernels) == 1 and kernels[0].form == "rows"


def updates_of(rule):
    """The steps of an optimiser's update of one parameter."""
    return plan(rule, *(numbers(30, 20) for _ in range(4)))


def momentum(p, g, v, unused):
    new = v * 0.9 - g * 0.01
    return [p + new, new]


def adam(p, g, m, v):
    m = m * 0.9 + g * 0.1
    v = ops.abs(v) * 0.999 + ops.square(g) * 0.001
    return [p - m * 0.01 / (ops.sqrt(v) + 1e-8), m, v]


@pytest.mark.parametrize("rule", [momentum, adam])
def test_an_optimiser_step_is_one_kernel(rule):
    steps, kernels = updates_of(rule)
    assert [k.form for k in kernels] == ["flat"] and len(steps) == 1


def test_no_cycle_through_a_product():
    """exp(x) is read by the product and by what adds the product: two kernels, in that order."""
    steps, kernels = plan(
        lambda x: ops.exp(x) + ops.matmul(ops.exp(x), ops.exp(x)), numbers(16, 16)
    )
    assert [s.name for s in steps][0] == "exp" and len(steps) == 2
    assert "matmul then" in steps[1].name


def test_no_cycle_through_another_group():
    """A running sum and a sum over the other axis lie between exp(x) and its second use."""

    def build(x):
        y = ops.exp(x)
        return [
            y * ops.sum(ops.cumsum(y, 1), 1, keepdims=True),
            ops.tanh(y),
            y - ops.sum(ops.transpose(y) * y, 0),
        ]

    plan(build, numbers(16, 16))


def test_no_cycle_through_a_scalar_computed_twice():
    """A scalar that two loops compute for themselves still orders what lies between them."""

    def build(x, s):
        t = ops.exp(s)
        y = ops.cumsum(x * t, 0)
        z = ops.sum(y)
        return [ops.tanh(y) + z * t, ops.reshape(t, (1, 1)) * y, t]

    plan(build, numbers(16, 16), numbers())


def test_a_scalar_beside_chunks_is_stored_once():
    """A chunk kernel computes the scalars it reads, but another loop stores them."""

    def build(x, s):
        t = s * 2 + 1
        return [ops.sum(ops.square(x * t)), t, ops.tanh(t)]

    plan(build, numbers(60_000), numbers(), rtol=5e-3)


def test_epilogue_of_a_product():
    steps, _ = plan(
        lambda x, w, b: ops.tanh(ops.matmul(x, w) + b), numbers(9, 5), numbers(5, 7), numbers(7)
    )
    assert [s.name for s in steps] == ["matmul then add+tanh"]
    for columns, form in ((7, "columns"), (20, "rows")):
        steps, _ = plan(
            lambda x, w: ops.softmax(ops.matmul(x, w), -1), numbers(9, 5), numbers(5, columns)
        )
        assert len(steps) == 1 and steps[0].kernel.form == form


def test_a_sum_over_rows_of_a_product_is_no_epilogue():
    steps, _ = plan(lambda x, w: ops.sum(ops.matmul(x, w), 0), numbers(9, 5), numbers(5, 7))
    assert len(steps) == 2


def test_dear_broadcast_producers_are_computed_once():
    """gammaln of 30 numbers is not computed 20 times over: it is a loop of its own."""
    steps, kernels = plan(lambda x, b: x + ops.gammaln(b), numbers(20, 30), np.abs(numbers(30)))
    assert len(kernels) == 2


def test_scalars_are_computed_inside():
    steps, kernels = plan(lambda x, s: x * ops.exp(s) + ops.tanh(s), numbers(20, 30), numbers())
    assert len(kernels) == 1


def test_long_reductions_are_cut_in_chunks():
    assert forms(lambda x: ops.sum(x), numbers(100_000)) == ["chunks", "rows"]
    both = forms(lambda x: ops.sum(ops.square(x)), numbers(500, 300), rtol=2e-3)
    assert both == ["chunks", "rows"]
    assert forms(lambda x: ops.sum(x), numbers(1000)) == ["rows"]
    first = forms(lambda x: ops.sum(x, 0), numbers(20_000, 8), rtol=2e-3)[0]
    assert first == "column_chunks"


def test_values_do_not_join_loops_that_never_run():
    x, s = leaf((None,)), leaf(())
    y = ops.exp(s)
    function = make_function([x, s], [x * y, y], positional_only=True)
    empty, one = function(np.zeros(0, "float32"), np.float32(0))
    assert empty.shape == (0,) and one == 1
    assert [int(v.size) for v in function(np.zeros(3, "float32"), np.float32(0))] == [3, 1]


def test_gradient_of_a_layer_fuses():
    """Forward and backward of a small classifier: products and a handful of loops, not dozens."""

    def build(x, w, b, t):
        logits = ops.matmul(x, w) + b
        loss = ops.mean(crossentropy(logits, t))
        return [loss, *grad(loss, [w, b])]

    target = np.eye(7, dtype="float32")[RNG.integers(0, 7, 64)]
    steps, kernels = plan(build, numbers(64, 5), numbers(5, 7), numbers(7), target)
    assert len(steps) <= 5


def test_a_group_too_wide_for_the_prefetchers_is_cut():
    arrays = [numbers(8) for _ in range(40)]

    def build(*xs):
        total = xs[0]
        for x in xs[1:]:
            total = ops.maximum(total, x)
        return total

    steps, kernels = plan(build, *arrays)
    assert len(steps) == 2 and len(kernels) == 2


def test_a_number_that_every_row_reads_is_not_overwritten():
    """u is as large as t and made by the loop that reads t last: it must not take its place."""

    def build(x, y):
        t = ops.sum(y)
        u = t * 0.5
        z = x[:, ::2] - u
        return [ops.matmul(z, ops.transpose(z)) + u]

    plan(build, numbers(33, 32), numbers(70_000), rtol=5e-3)


def test_layer_norm_and_its_gradient_store_no_intermediate():
    """Rows and chunks of columns in one kernel, one over the chunks; x - mean nowhere."""

    def build(x, scale, shift, g):
        total = ops.sum(ops.mul(layer_norm(x, scale, shift), g))
        return [layer_norm(x, scale, shift), *grad(total, [x, scale, shift])]

    steps, kernels = plan(
        build, numbers(4100, 700), numbers(700), numbers(700), numbers(4100, 700), rtol=2e-3
    )
    assert {k.form for k in kernels} == {"bands", "columns"}
    assert len({k.key() for k in kernels}) == 2
    temporary = {b for s in steps for b in s.writes if b[0] == "tmp"}
    assert len(temporary) <= 4  # a number per row twice, the chunks of two sums


@pytest.mark.parametrize("axes, shape", [((0,), (8300, 70)), ((0, 1, 2), (20, 25, 18, 64))])
def test_a_long_batch_norm_and_its_gradient_take_three_passes(axes, shape):
    """Chunks for the moments, chunks for both sums of the gradient, one flat loop for the rest."""

    def build(x, scale, shift, g):
        off = ops.sub(x, ops.mean(x, axes))
        y = off * ops.rsqrt(ops.var(x, axes) + 1e-5) * scale + shift
        return [y, *grad(ops.sum(ops.mul(y, g)), [x, scale, shift])]

    c = shape[-1:]
    steps, _ = plan(build, numbers(*shape), numbers(*c), numbers(*c), numbers(*shape), rtol=3e-3)
    long = [s for s in steps if s.kernel is not None and s.ns > 30_000]
    assert [s.kernel.form for s in long] == ["column_chunks", "column_chunks", "flat"]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_leading_axes_are_cut_in_chunks_in_any_layout(order):
    """Reductions over two long leading axes, also where they do not lie as one in memory."""
    x = numbers(64, 130, 66).transpose(order)
    x[1, 3], x[0, 5, 2] = 3.0, np.nan

    def build(x):
        return [ops.sum(x, (0, 1)), ops.max(x, (0, 1)), ops.var(x, (0, 1))]

    kernels = plan(build, x, rtol=1e-3)[1]
    assert "column_chunks" in {k.form for k in kernels}


def test_values_that_are_compared_are_computed_once():
    """A maximum found in one loop is looked for in another: both must see the same bits."""
    x, y = leaf((40, 70)), leaf((40, 70))
    z = ops.add(ops.mul(x, y), 0.1)
    flat, columns = ops.sum(ops.transpose(z), 1), ops.max(z, 0, keepdims=True)
    for outputs, count in (
        ([ops.exp(flat), z * x - ops.sum(z, 1, keepdims=True)], 2),
        ([ops.cast(ops.eq(z, columns), "int64"), ops.sum(z, 1)], 1),
    ):
        home = fuse(outputs).home
        assert len(home[z.uid]) == count


def test_an_exponential_that_later_loops_want_is_computed_once():
    """Kept in a row on the stack; what follows from it by one product is computed again."""

    def build(x, g):
        y = ops.softmax(x, -1)
        return [y, grad(ops.sum(ops.mul(y, g)), [x])[0]]

    (kernel,) = plan(build, numbers(20, 300), numbers(20, 300))[1]
    text = emit(kernel)[1]
    assert text.count("ck_exp_shifted_f32(") == 2 and text.count("[4096];") == 1  # and the rest


@pytest.mark.parametrize("dtype, rtol", [("float32", 3e-7), ("float64", 5e-16)])
def test_quotients_by_the_root_of_a_row_are_products(dtype, rtol):
    """Within 1.5 ulp of the quotient; roots that are 0, infinite, tiny or NaN give what / gives."""
    x = RNG.normal(size=(9, 70)).astype(dtype)
    x[1] *= 1e18
    x[2] *= np.finfo(dtype).tiny
    x[3], x[4, 3], x[5, 4], x[6, ::2] = 0, np.inf, np.nan, 0

    def build(x):
        s = ops.sqrt(ops.abs(ops.max(x, -1, keepdims=True)))
        return x / s

    (kernel,) = plan(build, x, check=False)[1]
    assert emit(kernel)[1].count(" / ") == 1
    function = make_function([y := leaf((None, None), dtype)], [build(y)], positional_only=True)
    with np.errstate(all="ignore"):
        root = np.sqrt(np.abs(x.max(1)))[:, None]
        np.testing.assert_allclose(function(x)[0], x / root, rtol=rtol)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_gradient_of_a_logsumexp_is_a_multiple_of_what_it_summed(axis):
    """One exponential per element, and what the oracle says where rows hold infinities or NaN."""
    x = 30 * numbers(12, 90)
    x[1, 4], x[2], x[3, 5], x[4, ::2], x[5] = np.inf, -np.inf, np.nan, -np.inf, 80
    x[6], x[8:] = 3e38, numbers(4, 90)
    if axis == 0:
        x[:, 7], x[:, 9] = -np.inf, np.inf

    def build(x, g):
        y = ops.logsumexp(x, axis)
        return [y, grad(ops.sum(ops.mul(y, g)), [x])[0]]

    with np.errstate(all="ignore"):
        (kernel,) = plan(build, x, numbers(x.shape[1 - axis]), rtol=3e-5)[1]
        few = x[8:, 10:].astype("float64")
        plan(build, few, np.ones(few.shape[1 - axis]), rtol=1e-14)
    text = emit(kernel)[1]
    assert text.count("ck_exp_shifted_f32(") == 2  # of rows: in the loop and in its rest
    assert text.count("ck_exp_f32(") == 1


@pytest.mark.parametrize(
    "domain, reduced, shape, fits",
    [
        ((3, 0), (), (3, 1), False),
        ((3, 0), (), (3, 0), True),
        ((3, 0), (1,), (3, 1), True),  # sums over nothing are zeros
        ((0, 3), (1,), (1, 3), False),
        ((0, 3), (1,), (0, 3), True),
        ((3, 4), (1,), (3, 1), True),
    ],
)
def test_values_join_no_loop_over_nothing(domain, reduced, shape, fits):
    join = SimpleNamespace(domain=domain, reduced=reduced, node=SimpleNamespace(shape=shape))
    assert legal.loop_runs(join) is (None if fits else legal.EMPTY)


def two_sums(terms, swapped):
    """sum(w * p) and sum(w) for weights w = exp(-(p - x)^2), term by term, as users write them."""
    x, total, weight = leaf((40,)), 0, 0
    for p in (leaf((40,)) for _ in range(terms)):
        w = ops.exp(ops.neg(ops.square(ops.sub(p, x))))
        total = ops.add(ops.mul(w, p), total) if swapped else ops.add(total, ops.mul(w, p))
        weight = ops.add(w, weight) if swapped else ops.add(weight, w)
    return [ops.true_div(total, weight)]


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("terms", [10, 25, 60])
def test_two_sums_over_the_same_terms_go_on_together(terms, swapped):
    """Full loops end between two terms: what one stores for the next is both sums so far, and at
    most one term. All terms of a loop would be stored where one sum came after the other."""
    groups = list({id(g): g for found in fuse(two_sums(terms, swapped)).home.values()
                   for g in found}.values())  # fmt: skip
    assert len(groups) <= 1 + terms // 8
    made = {uid: g for g in groups for uid in g.maps}
    stored = {uid for g in groups for uid in g.wants if made.get(uid, g) is not g}
    assert len(stored) <= 3 * (len(groups) - 1)
