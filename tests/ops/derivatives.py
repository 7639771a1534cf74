"""Random cases of every differentiable op: a graph, a point, and where it may be moved.

`CASES` maps the name of an op to functions of a random generator that give a Case. Points are
generic, or have zeros, ones and other special numbers where the op is smooth there. `check` holds
the derivatives of a case against central differences in float64.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from ckernels import ops
from ckernels.autodiff import recompute, reverse
from ckernels.graph.node import constant, make
from ckernels.ops import sparse, sparseproduct
from ckernels.ops.reference import evaluate
from ckernels.ops.special import polygamma

from .agree import leaf, outputs_of

CASES = {}


@dataclass
class Case:
    """build(*leaves) -> node or nodes; arrays: the point; still: {operand: mask of what must not be
    moved}. order 1 leaves out second derivatives; step: of the differences."""

    build: object
    arrays: list
    still: dict = field(default_factory=dict)
    order: int = 2
    step: float = 1e-5


def case(*names):
    def note(make_case):
        for name in names:
            CASES.setdefault(name, []).append(make_case)
        return make_case

    return note


# --- elementwise ------------------------------------------------------------------------------

# name -> (low, high, special points inside where the op is smooth)
UNARY = {
    "exp": (-3, 3, [0, -40]), "exp2": (-3, 3, [0, -60]), "expm1": (-3, 3, [0, 1e-9]),
    "log": (0.1, 5, [1]), "log2": (0.1, 5, [1, 2]), "log10": (0.1, 5, [1]),
    "log1p": (-0.8, 4, [0, 1e-9]), "log1mexp": (-4, -0.1, [-math.log(2)]),
    "sin": (-4, 4, [0, math.pi, math.pi / 2]), "cos": (-4, 4, [0, math.pi, math.pi / 2]),
    "tan": (-1.2, 1.2, [0]), "asin": (-0.9, 0.9, [0]), "acos": (-0.9, 0.9, [0]),
    "atan": (-4, 4, [0, 1]), "sinh": (-3, 3, [0]), "cosh": (-3, 3, [0]),
    "tanh": (-3, 3, [0, 20, -20]), "asinh": (-4, 4, [0]), "acosh": (1.1, 5, [2]),
    "atanh": (-0.9, 0.9, [0]), "sigmoid": (-4, 4, [0, 40, -40, 800]),
    "softplus": (-4, 4, [0, 40, -40, 800]), "erf": (-2, 2, [0, 6]), "erfc": (-2, 2, [0, 6]),
    "erfinv": (-0.9, 0.9, [0]), "erfcinv": (0.1, 1.9, [1]), "gamma": (0.3, 4, [1, 2]),
    "gammaln": (0.3, 6, [1, 2]), "digamma": (0.3, 6, [1, 2]), "trigamma": (0.5, 6, [1, 2]),
    "polygamma": (0.8, 6, [1, 2]),
    "erfcx": (-2, 6, [0, 30]), "log_ndtr": (-6, 6, [0, -40, 45]),
    "ndtri_exp": (-9, -0.1, [-40, -0.7]), "i0e": (0.2, 30, [1]),
    "i1e": (0.2, 30, [1]), "i0": (-4, 4, [0]), "i1": (-4, 4, [0]), "j0": (-9, 9, [0]),
    "j1": (-9, 9, [0]),
    "neg": (-2, 2, [0]), "abs": (0.1, 2, [1]), "square": (-2, 2, [0]), "sqrt": (0.1, 5, [1, 4]),
    "rsqrt": (0.2, 5, [1, 4]), "reciprocal": (0.3, 4, [1]), "relu": (0.1, 2, [1]),
    "identity": (-2, 2, [0]), "deg2rad": (-90, 90, [0]), "rad2deg": (-2, 2, [0]),
    "sign": (0.1, 2, [1]), "floor": (0.1, 0.9, [0.5]), "ceil": (0.1, 0.9, [0.5]),
    "trunc": (0.1, 0.9, [0.5]), "round": (0.6, 1.4, [1]),
    "check": (-2, 2, [0]),
}  # fmt: skip
MIRRORED = {"abs", "relu", "sign", "reciprocal", "i0e", "i1e"}  # smooth on both sides of 0
BUILT = {"check": lambda x: ops.check(x, ops.lt(x, 1e9)),
         "polygamma": lambda x: polygamma(2, x)}  # fmt: skip


@case("real", "imag", "conj", "angle", "abs", "mul", "true_div", "square", "pow", "exp", "sqrt")
def complex_parts(rng):
    """Real functions of x + iy, away from 0 and from the cut of the roots."""

    def build(x, y):
        z = ops.add(ops.mul(y, 1j), x)
        far = ops.add(z, 3.0)
        parts = [
            ops.real(ops.mul(ops.exp(z), ops.conj(ops.square(z)))),
            ops.imag(ops.true_div(ops.sqrt(far), ops.pow(far, 3))),
            ops.abs(ops.mul(z, x)),
            ops.angle(ops.mul(far, ops.sub(y, 1j))),
        ]
        return ops.add(ops.mul(parts[0], parts[1]), ops.add(parts[2], parts[3]))

    return Case(build, [numbers(rng, (2, 3), 0.3, 1.5), numbers(rng, (3,), -0.9, -0.2)])


@case("complex_of")
def joined_parts(rng):
    """Real functions of a complex number that was made of two arrays."""

    def build(x, y):
        z = ops.complex_of(ops.mul(x, y), ops.sub(y, x))
        return ops.add(ops.real(ops.square(z)), ops.imag(ops.mul(z, ops.complex_of(y, x))))

    return Case(build, [numbers(rng, (2, 3)), numbers(rng, (2, 3))])


def numbers(rng, shape, low=-2.0, high=2.0, special=()):
    """Numbers of [low, high], about a third of them special."""
    x = rng.uniform(low, high, shape)
    if len(special):
        x = np.where(rng.uniform(size=shape) < 0.35, rng.choice(special, shape), x)
    return np.asarray(x, "float64")


def shape_of(rng, ndim=None, most=3, least=1):
    ndim = int(rng.integers(0, 3)) if ndim is None else ndim
    return tuple(int(n) for n in rng.integers(least, most + 1, ndim))


def unary(name):
    low, high, special = UNARY[name]

    def make_case(rng):
        x = numbers(rng, shape_of(rng), low, high, special)
        if name in MIRRORED:
            x = x * rng.choice([-1, 1], x.shape)
        return Case(BUILT.get(name) or getattr(ops, name), [x])

    return make_case


for _name in UNARY:
    case(_name)(unary(_name))


def broadcasting(rng):
    """Two shapes that broadcast."""
    full = shape_of(rng, int(rng.integers(0, 4)), 2)
    cut = int(rng.integers(0, len(full) + 1))
    less = tuple(1 if rng.uniform() < 0.3 else n for n in full[cut:])
    return (full, less) if rng.uniform() < 0.5 else (less, full)


@case("add", "sub", "mul", "add_rounded", "sub_rounded")
def arithmetic(rng):
    a, b = (numbers(rng, s, special=[0, 1, -1]) for s in broadcasting(rng))
    taken = [ops.add, ops.sub, ops.mul, ops.add_rounded, ops.sub_rounded]
    return Case(rng.choice(taken), [a, b])


@case("true_div", "masked_div")
def quotient(rng):
    a, b = broadcasting(rng)
    return Case(
        rng.choice([ops.true_div, ops.masked_div]),
        [numbers(rng, a, special=[0, 1]), numbers(rng, b, 0.4, 3, [1]) * rng.choice([-1, 1], b)],
    )


@case("masked_mul")
def masked_product(rng):
    a, b = broadcasting(rng)
    return Case(ops.masked_mul, [numbers(rng, a, special=[0]), numbers(rng, b, special=[0])])


@case("floor_div", "mod")
def remainder(rng):
    a, b = broadcasting(rng)
    whole = rng.integers(-3, 4, np.broadcast_shapes(a, b))
    z = numbers(rng, b, 1, 2)
    x = (whole + rng.uniform(0.2, 0.8, whole.shape)) * z
    return Case(rng.choice([ops.mod, ops.floor_div]), [x, z])


@case("maximum", "minimum", "where", "masked")
def choice(rng):
    shape = shape_of(rng)
    a = numbers(rng, shape)
    b = a + rng.choice([-1, 1], shape) * rng.uniform(0.1, 1, shape)
    picked = rng.uniform(size=shape) < 0.5
    return Case(
        rng.choice(
            [
                ops.maximum,
                ops.minimum,
                lambda a, b: ops.where(picked, a, b),
                lambda a, b: ops.where(picked, ops.masked(picked, a), b),
            ]
        ),
        [a, b],
    )


@case("atan2")
def angle(rng):
    turn, radius = numbers(rng, (3,), -3, 3, [0, math.pi / 2, -math.pi / 2]), rng.uniform(0.5, 2, 3)
    return Case(ops.atan2, [radius * np.sin(turn), radius * np.cos(turn)])


@case("betaln")
def beta(rng):
    a, b = broadcasting(rng)
    return Case(ops.betaln, [numbers(rng, a, 0.3, 30, [1, 10]), numbers(rng, b, 0.3, 30, [1])])


@case("gammainc", "gammaincc", "betainc", "ive", "kve", "owens_t")
def by_their_last_operand(rng):
    """The parameters have no slope, or for Owen's T one."""
    a, b, x = (numbers(rng, (3,), 0.4, 5, [1]) for _ in range(3))
    build = [
        lambda x: ops.gammainc(a, x),
        lambda x: ops.gammaincc(a, x),
        lambda x: ops.betainc(a, b, ops.mul(x, 0.15)),
        lambda x: ops.ive(a, x),
        lambda x: ops.kve(a, x),
        lambda x: ops.chi2sf(x, a),
        ops.owens_t,
    ][int(rng.integers(7))]
    return Case(build, [x, a] if build is ops.owens_t else [x])


@case("pow")
def power(rng):
    a, b = broadcasting(rng)
    x, p = numbers(rng, a, 0.2, 3, [1]), numbers(rng, b, -2, 3, [0, 1, 2, 0.5])
    return Case(ops.pow, [x, p])


@case("pow")
def power_of_zero(rng):
    """x ** p by x where x is 0 or below, p whole: smooth in x, not in p."""
    x, p = numbers(rng, (4,), -2, 2, [0]), rng.integers(0, 4, 4).astype("float64")
    return Case(ops.pow, [x, p], {1: np.ones(4, bool)})


@case("pow")
def constant_power(rng):
    p = float(rng.choice([0, 1, 2, 3, 4]))
    return Case(lambda x: ops.pow(x, p), [numbers(rng, (3,), special=[0])])


@case("sqrt")
def root_behind_where(rng):
    """The slope inf is behind a `where`: nothing flows through it."""
    x = numbers(rng, (4,), 0.2, 3)
    edge = rng.uniform(size=4) < 0.5
    x[edge] = 0
    return Case(lambda x: ops.where(ops.gt(x, 0.1), ops.sqrt(x), ops.square(x)), [x])


@case("zero_grad", "grad_clip", "grad_scale")
def special_gradients_that_change_nothing(rng):
    x = numbers(rng, (3,), special=[0])
    return Case(
        rng.choice(
            [
                lambda x: ops.grad_clip(x, -1e9, 1e9),
                lambda x: ops.grad_scale(x, 1.0),
                lambda x: ops.add(ops.zero_grad(ops.floor(x)), x),
            ]
        ),
        [x + 0.25],
        order=1,
    )


# --- reductions and composites ----------------------------------------------------------------


def axes_of(rng, ndim):
    chosen = [k for k in range(ndim) if rng.uniform() < 0.6]
    return chosen or None


@case("sum", "prod", "product_of_others", "mean")
def reduction(rng):
    x = numbers(rng, shape_of(rng, int(rng.integers(1, 4))), special=[0, 0, 1])
    axes = axes_of(rng, x.ndim)
    fn = rng.choice([ops.sum, ops.prod, ops.prod, ops.mean])
    return Case(lambda x: fn(x, axes, keepdims=bool(len(x.shape) % 2)), [x])


def distinct(rng, shape):
    """Numbers at least 0.2 apart, in any order."""
    n = math.prod(shape)
    return (rng.permutation(n) * 0.5 + rng.uniform(0, 0.3, n) - n / 4).reshape(shape)


@case("max", "min")
def extremum(rng):
    x = distinct(rng, shape_of(rng, int(rng.integers(1, 4))))
    axes, fn = axes_of(rng, x.ndim), rng.choice([ops.max, ops.min, ops.ptp])
    return Case(lambda x: fn(x, axes), [x])


@case("var")
def variance(rng):
    x = numbers(rng, shape_of(rng, 2), special=[0, 1])
    axes = axes_of(rng, 2)
    return Case(lambda x: ops.var(x, axes), [x])


@case("sqrt")
def deviation_and_norm(rng):
    x = distinct(rng, (3, 2)) + 0.05
    axis = int(rng.integers(0, 2))
    return Case(
        rng.choice([lambda x: ops.std(x, axis), lambda x: ops.sqrt(ops.sum(ops.square(x), axis))]),
        [x],
    )


@case("softmax", "log_softmax", "logsumexp")
def exponentials(rng):
    x = numbers(rng, shape_of(rng, 2), -3, 3, [0, 2, -700])
    axis = int(rng.integers(0, 2))
    fn = rng.choice([ops.softmax, ops.log_softmax, ops.logsumexp])
    return Case(lambda x: fn(x, axis), [x])


@case("logaddexp")
def sum_of_exponentials(rng):
    a = numbers(rng, (4,), special=[0, 1])
    b = np.where(rng.uniform(size=4) < 0.5, a, numbers(rng, (4,)))
    return Case(ops.logaddexp, [a, b])


@case("softmax_crossentropy", "sigmoid_crossentropy")
def crossentropy(rng):
    x, t = numbers(rng, (2, 3), -3, 3, [0, 30]), numbers(rng, (2, 3), 0, 1, [0, 1])
    return Case(rng.choice([ops.softmax_crossentropy, ops.sigmoid_crossentropy]), [x, t])


@case("unbroadcast", "broadcast_like")
def by_example(rng):
    less, full = sorted(broadcasting(rng), key=lambda s: (len(s), math.prod(s)))
    if rng.uniform() < 0.5:
        like = constant(np.zeros(less))
        return Case(lambda g: make("unbroadcast", (g, like)), [numbers(rng, full)])
    like = constant(np.zeros(full))
    return Case(lambda x: ops.broadcast_like(x, like), [numbers(rng, less)])


# --- movement, joining, filling, indexing -----------------------------------------------------


def linear(*builds):
    """A case of one of `builds`, (function of the operand, its shape)."""

    def make_case(rng):
        build, *shapes = builds[int(rng.integers(len(builds)))]
        return Case(
            lambda *xs: outputs_of(build(*xs)), [numbers(rng, s, special=[0]) for s in shapes]
        )

    return make_case


FLIP = (None, None, -1)
HALF = (1, None, 2)
ROWS, COLUMNS = np.array([1, 0, 1]), np.array([2, 2, 0])
NEAR = ops.MovingSlice(constant(1), 2)
for _names, _builds in {
    "transpose expand squeeze reshape broadcast_to slice": [
        (lambda x: ops.transpose(x, (2, 0, 1)), (2, 3, 1)),
        (lambda x: ops.expand(x, (0, 2)), (2,)),
        (lambda x: ops.squeeze(x, 1), (2, 1)),
        (lambda x: ops.reshape(x, (3, -1)), (2, 3)),
        (lambda x: ops.broadcast_to(x, (4, 2, 3)), (2, 1)),
        (lambda x: ops.slice_(x, [FLIP, HALF]), (3, 4)),
        (lambda x: ops.tile(x, (2, 2)), (2, 1)),
        (lambda x: ops.repeat(x, 2, 1), (2, 2)),
    ],
    "concatenate pad": [
        (lambda x, y: ops.concatenate([x, y, x], 1), (2, 2), (2, 1)),
        (lambda x, v: ops.pad(x, ((1, 0), (0, 2)), v), (2, 2), ()),
        (lambda x: ops.roll(x, 2, 1), (2, 3)),
        (lambda x: ops.split(x, 2, 1), (2, 4)),
        (lambda x: ops.stack([x, x], 1), (2, 2)),
    ],
    "diagonal diagonal_place diag_matrix fill_diagonal tril triu": [
        (lambda x: ops.diagonal(x, 1), (3, 3)),
        (lambda x, g: make("diagonal_place", (x, g), {"offset": 0, "axes": (0, 1)}), (2, 3), (2,)),
        (lambda x: ops.diag(x, -1), (3,)),
        (ops.fill_diagonal, (2, 3), ()),
        (lambda x: ops.tril(x, -1), (3, 2)),
        (lambda x: ops.triu(x), (2, 3)),
    ],
    "set_slice inc_slice dynamic_slice dynamic_write": [
        (lambda x, y: ops.set_subtensor(x, (slice(None), slice(0, 2)), y), (2, 3), (2, 1)),
        (lambda x, y: ops.inc_subtensor(x, slice(None, None, -2), y), (3,), (2,)),
        (lambda x: ops.getitem(x, slice(None, ops.size_of(x, 0) - 1)), (4,)),
        (
            lambda x: ops.getitem(x, slice(ops.cast(ops.sum(ops.shape(x)) // 4, "int64"), None)),
            (4,),
        ),
        (
            lambda x, y: ops.set_subtensor(
                x, slice(ops.cast(ops.sum(ops.shape(x)) // 4, "int64"), 3), y
            ),
            (4,),
            (),
        ),
        (
            lambda x, y: ops.inc_subtensor(
                x, slice(ops.cast(ops.sum(ops.shape(x)) // 4, "int64"), None), y
            ),
            (4,),
            (1,),
        ),
    ],
    "take scatter_add take_along_axis put_along_axis_add": [
        (lambda x: ops.take(x, [[0, 2], [2, 2]], 1), (2, 3)),
        (lambda x, g: ops.scatter_add(x, ROWS, g, 0), (2, 2), (3, 2)),
        (lambda x: ops.take_along_axis(x, [[1], [0]], 1), (2, 2)),
        (lambda x, g: ops.put_along_axis_add(x, np.array([[1, 1], [0, 1]]), g, 1), (2, 2), (2, 2)),
    ],
    "advanced_take advanced_set advanced_inc advanced_last": [
        (lambda x: ops.getitem(x, (ROWS, COLUMNS)), (2, 3)),
        (lambda x: ops.getitem(x, (ROWS, slice(None), COLUMNS)), (2, 2, 3)),
        (lambda x, y: ops.set_subtensor(x, (ROWS, COLUMNS), y), (2, 3), (3,)),
        (lambda x, y: ops.set_subtensor(x, (ROWS, COLUMNS), y), (2, 3), ()),
        (lambda x, y: ops.inc_subtensor(x, (ROWS, COLUMNS), y), (2, 3), (3,)),
        (lambda x, y: ops.inc_subtensor(x, ROWS, y), (2, 3), (1, 3)),
        (lambda x: ops.getitem(x, (NEAR, NEAR)), (3, 3)),
        (lambda x, y: ops.set_subtensor(x, (constant(1), NEAR), y), (2, 4), (2,)),
        (lambda x, y: ops.inc_subtensor(x, (NEAR, slice(None), NEAR), y), (3, 1, 4), (1, 2)),
        (lambda x, y: ops.set_subtensor(x, (NEAR, ROWS), y), (3, 3), (2, 1)),
    ],
    "choose": [
        (lambda x, y: ops.choose(constant(True), x, y), (2,), (2,)),
        (lambda x, y: ops.choose(constant(False), x, y), (2,), (2,)),
    ],
    "matmul": [
        (ops.dot, (2, 3), (3, 2)),
        (ops.dot, (3,), (3, 2)),
        (ops.dot, (3,), (3,)),
        (ops.matmul, (2, 1, 3), (2, 3, 2)),
        (ops.matmul, (2, 1, 2, 3), (2, 3, 1)),
        (lambda x, y: ops.batch_dot(x, y, 1), (2, 3), (2, 3)),
        (ops.outer, (2,), (3,)),
        (lambda x, y: ops.tensordot(x, y, ((0,), (1,))), (2, 3), (3, 2)),
    ],
    "take take_along_axis matmul scatter_add": [
        (lambda x: ops.diff(x, 2), (2, 4)),
        (lambda x: ops.cov(x), (2, 3)),
        (lambda x: ops.unique(x + np.array([0.0, 50, 100])), (3,)),  # of equals there are fewer
        (lambda w: ops.bincount(np.array([2, 0, 2]), w), (3,)),
        (lambda x, y: ops.choose_from(np.array([1, 0, 1]), [x, y]), (3,), (2, 1)),
        (lambda x: ops.compress([1, 0, 1], x, 1), (2, 3)),
        (ops.kron, (2, 1), (2, 2)),
        (lambda x: ops.top_k(x + np.array([50.0, 0, 100]), -2)[0], (3,)),  # equals change places
    ],
    "cumsum cumprod linear_recurrence": [
        (lambda x: ops.cumsum(x, 1), (2, 3)),
        (lambda x: ops.cumsum(x, 0, True), (3,)),
        (lambda x: ops.cumprod(x, 1), (2, 4)),
        (lambda x: ops.cumprod(x, 0, True), (4,)),
        (ops.linear_recurrence, (4,), (4,)),
        (lambda x: ops.cumprod(x, None), (2, 2)),
        (lambda a, b: ops.linear_recurrence(a, b, 1, True), (2, 3), (2, 3)),
    ],
    "patches patches_grad sliding_windows": [
        (lambda x: ops.sliding_windows(x, 1, 2), (2, 4)),
        (lambda x: ops.sliding_windows(x, 0, 3), (3, 2)),
        (lambda x: ops.patches(x, (2,)), (1, 4, 2)),
        (lambda x: ops.patches_grad(x, (4,), (2,)), (1, 3, 2, 2)),
    ],
    "conv conv_input_grad conv_weight_grad": [
        (lambda x, w: ops.conv(x, w), (1, 4, 2), (2, 2, 2)),
        (lambda x, w: ops.conv(x, w, padding="same", groups=2), (1, 3, 2, 2), (2, 2, 1, 2)),
        (lambda x, w: ops.conv(x, w, strides=(2,), dilation=(1,)), (2, 5, 1), (2, 1, 2)),
        (lambda g, w: ops.conv_input_grad(g, w, (4,)), (1, 3, 2), (2, 2, 2)),
        (lambda x, g: ops.conv_weight_grad(x, g, (2,)), (1, 4, 2), (1, 3, 2)),
    ],
    "pool_sum pool_sum_grad pool_average pool_average_grad": [
        (lambda x: ops.pool_average(x, (2,), (2,), "same"), (1, 5, 2)),
        (lambda x: ops.pool_average(x, (2,), (1,), inside=True), (1, 4, 1)),
        (lambda x: ops.pool_sum(x, (2, 2), (1, 1)), (1, 3, 3, 1)),
    ],
}.items():
    case(*_names.split())(linear(*_builds))


@case("pool_max", "pool_max_grad", "pool_max_take", "sort", "selected", "cummax", "cummin",
      "numpy_partition", "advanced_combine")  # fmt: skip
def of_distinct_numbers(rng):
    build, shape = [
        (lambda x: ops.pool_max(x, (2,), (1,)), (1, 4, 2)),
        (lambda x: ops.pool_max(x, (2, 2), (2, 2), "same"), (1, 3, 3, 1)),
        (lambda x: ops.sort(x, 1), (2, 3)),
        (lambda x: ops.selected(x, ROWS), (2, 3)),
        (lambda x: ops.top_k(x, 2)[0], (2, 3)),
        (lambda x: ops.cummax(x, 1), (2, 3)),
        (lambda x: ops.cummin(x, 0, True), (4,)),
        (lambda x: ops.numpy_partition(x, 1), (2, 4)),
        (lambda x: ops.combine_subtensor(x[0], (ROWS,), x[:, 0], "max"), (3, 2, 2)),
        (lambda x: ops.combine_subtensor(x[0], (ROWS,), x[1], "min"), (2, 3)),
    ][int(rng.integers(10))]
    return Case(build, [distinct(rng, shape)])


@case("interpolate", "interpolate_grad")
def resized(rng):
    x = numbers(rng, (2, int(rng.integers(1, 4)), 1), special=[0])
    count, step, start = (int(k) for k in rng.integers(1, 5, 3))
    return Case(lambda x: ops.interpolate(x, 1, count, step, start - 2, 3), [x])


@case("arange")
def counted(rng):
    start, step = numbers(rng, (), special=[0]), numbers(rng, (), 0.5, 2)
    stop = start + (int(rng.integers(1, 5)) - 0.5) * step  # differences keep the count
    return Case(lambda a, b: ops.square(ops.arange(a, float(stop), b)), [start, step])


@case("checkpoint", "again")
def recomputed(rng):
    x, w = numbers(rng, (3,), special=[0]), numbers(rng, (3, 3))
    return Case(
        lambda x, w: recompute.checkpoint(ops.tanh(ops.mul(ops.dot(x, w), ops.sin(x))), [x]), [x, w]
    )


# --- linear algebra ---------------------------------------------------------------------------


def far_from_singular(rng, n, batch=()):
    return numbers(rng, (*batch, n, n), -0.5, 0.5) + 2 * np.eye(n)


@case("inverse", "det", "cofactors", "solve", "cholesky", "pinv")
def algebra(rng):
    n = int(rng.integers(1, 4))
    x, b = far_from_singular(rng, n), numbers(rng, (n, 2), special=[0])
    build, *more = [
        (ops.inverse,),
        (ops.det,),
        (ops.solve, b),
        (ops.solve, b[:, 0]),
        (ops.pinv,),
        (lambda x: ops.cholesky(ops.matmul(x, ops.transpose(x))),),
    ][int(rng.integers(6))]
    return Case(build, [x, *more])


@case("det", "cofactors", "cofactors_along")
def determinant_of_a_singular_matrix(rng):
    n = int(rng.integers(1, 5))
    x = numbers(rng, [(n, n), (2, n, n)][int(rng.integers(2))])
    x[..., 0, :] = x[..., -1, :] if rng.uniform() < 0.5 else 0
    return Case(ops.det, [x if rng.uniform() < 0.8 else x * 0])


@case("cofactors", "cofactors_along")
def third_derivatives_of_a_determinant(rng):
    n = int(rng.integers(1, 4))
    x, g = far_from_singular(rng, n), numbers(rng, [(n, n), (2, n, n)][int(rng.integers(2))])
    return Case(lambda x, g: make("cofactors_along", (x, g)), [x, g], order=1)


@case("eigh", "svd", "svdvals", "qr", "item")
def decomposition(rng):
    x = numbers(rng, (3, 2), -0.3, 0.3) + np.array([[3.0, 0], [0, 1.0], [0.3, 0.2]])
    build = [
        lambda x: ops.svd(x)[1],
        lambda x: ops.svd(ops.transpose(x), compute_uv=False),
        lambda x: [ops.square(n) for n in ops.svd(x)],
        lambda x: [ops.square(n) for n in ops.qr(x)],
        lambda x: ops.eigh(ops.matmul(ops.transpose(x), x))[0],
        lambda x: ops.square(ops.eigh(ops.matmul(ops.transpose(x), x))[1]),
    ][int(rng.integers(6))]
    return Case(build, [x])


@case("svd_full")
def full_factors(rng):
    """Functions of the matrix: a basis of what is outside its range is any."""
    m, n = [(3, 2), (2, 3), (2, 2)][int(rng.integers(3))]
    x = numbers(rng, (m, n), -0.2, 0.2) + np.eye(m, n) * np.array([3.0, 1.0, 0.4])[:n]
    below = (Ellipsis, slice(min(m, n), None))

    def build(x):
        u, s, v = ops.svd(x, True)
        outside = [ops.getitem(part, below) for part in (u, ops.swapaxes(v, -1, -2))]
        projections = [ops.matmul(part, ops.swapaxes(part, -1, -2)) for part in outside]
        return [s, *projections, ops.square(ops.getitem(u, (..., slice(0, min(m, n)))))]

    return Case(build, [x])


@case("eigh", "svd", "gap_limit")
def equal_values(rng):
    """Functions of a matrix through its equal eigenvalues, or equal singular values."""
    q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    x = q * np.array([1.0, 1.0, 2.0]) @ q.T

    def exponential(x):
        w, v = ops.eigh(ops.mul(ops.add(x, ops.swapaxes(x, -1, -2)), 0.5))
        return ops.matmul(ops.mul(v, ops.expand(ops.exp(w), (0,))), ops.swapaxes(v, -1, -2))

    def of_singular_values(x):
        u, s, v = ops.svd(x)
        return ops.matmul(ops.mul(u, ops.expand(ops.square(ops.mul(s, s)), (0,))), v)

    return Case([exponential, of_singular_values][int(rng.integers(2))], [x], order=1)


@case("solve_triangular", "tril", "triu")
def triangular_systems(rng):
    n, vector = int(rng.integers(1, 4)), bool(rng.integers(2))
    lower, trans, unit = (bool(k) for k in rng.integers(0, 2, 3))
    batch = () if vector else [(), (2,)][int(rng.integers(2))]
    right = numbers(rng, (n,) if vector else (*batch[:1], n, 2), special=[0])
    return Case(
        lambda a, b: ops.solve_triangular(a, b, lower, trans, unit),
        [far_from_singular(rng, n), right],
    )


@case("solve", "solve_triangular")
def systems_with_structure(rng):
    n = int(rng.integers(1, 4))
    build = [
        lambda a, b: ops.cho_solve(a, b),
        lambda a, b: ops.cho_solve(a, b, False),
        lambda a, b: ops.solve_structured(a, b, "sym", True),
        lambda a, b: ops.solve_structured(a, b, "gen", False, True),
        lambda a, b: ops.solve_structured(a, b, "pos"),
    ][int(rng.integers(5))]
    return Case(build, [far_from_singular(rng, n), numbers(rng, (n, 2))])


@case("sylvester")
def sylvester_equations(rng):
    m, n = (int(k) for k in rng.integers(1, 4, 2))
    batch = [(), (2,)][int(rng.integers(2))]
    a, b = far_from_singular(rng, m), far_from_singular(rng, n)
    a, b = (x / 4 + 3 * np.eye(len(x)) for x in (a, b))
    return Case(lambda a, b, c: make("sylvester", (a, b, c)), [a, b, numbers(rng, (*batch, m, n))])


@case("lstsq", "pinv")
def least_squares(rng):
    a = numbers(rng, (3, 2), -0.3, 0.3) + np.array([[3.0, 0], [0, 1.0], [0.3, 0.2]])
    b = numbers(rng, [(3,), (3, 2)][int(rng.integers(2))])
    turned = bool(rng.integers(2)) and b.ndim == 1
    if turned:
        return Case(lambda a, b: ops.lstsq(ops.transpose(a), b)[0], [a, b[:2]])
    return Case(lambda a, b: list(ops.lstsq(a, b)[:2]), [a, b])


@case("expm", "slogdet", "eigvalsh")
def functions_of_matrices(rng):
    n = int(rng.integers(1, 4))
    x = far_from_singular(rng, n, [(), (2,)][int(rng.integers(2))])
    x = x + np.diag(np.arange(n) * 1.5)
    return Case(
        [
            ops.expm,
            lambda x: ops.slogdet(x)[1],
            ops.eigvalsh,
            lambda x: ops.matrix_power(x, 3),
            lambda x: ops.matrix_power(x, -2),
        ][int(rng.integers(5))],
        [x],
    )


@case("rfft", "irfft")
def fourier(rng):
    ndim = int(rng.integers(1, 3))
    if rng.uniform() < 0.5:
        x = numbers(rng, shape_of(rng, 2, 5), special=[0])
        return Case(lambda x: ops.rfft(x, ndim, "ortho"), [x])
    odd = bool(rng.integers(2))
    z = numbers(rng, (2, int(rng.integers(2, 4)), 2), special=[0])
    return Case(lambda z: ops.irfft(z, ndim, None, odd), [z])


@case("convolve")
def convolved(rng):
    n, m, rows = (int(k) for k in rng.integers(1, 5, 3))
    a, v = (numbers(rng, (rows, k), special=[0]) for k in (n, m))
    start = int(rng.integers(-1, n + m))
    size = int(rng.integers(1, n + m))
    return Case(lambda a, v: ops.convolve(a, v, start, size), [a, v])


@case("fft", "rfft_half", "irfft_half")
def spectra(rng):
    x = numbers(rng, shape_of(rng, 2, 5), special=[0])
    axes, kind = ((-1,), (-1, -2))[int(rng.integers(2))], int(rng.integers(3))
    weights = rng.normal(size=x.shape[:-1] + (1,)) + 1j

    def real_and_imaginary(z):
        return ops.stack([ops.real(z), ops.imag(z)], 0)

    if kind == 0:
        inverse = bool(rng.integers(2))
        return Case(lambda x: real_and_imaginary(ops.fft(ops.mul(x, weights), axes, inverse)), [x])
    if kind == 1:
        return Case(lambda x: real_and_imaginary(ops.rfft_half(x, axes[::-1])), [x])
    size = 2 * x.shape[-1] - 1 - int(rng.integers(x.shape[-1] > 1))
    return Case(lambda x: ops.irfft_half(ops.mul(x, weights), axes[::-1], size), [x])


@case("nextafter", "ldexp", "fmod")
def digits(rng):
    x = numbers(rng, (3, 4), special=[0])
    z = numbers(rng, (4,), special=[]) + 5
    name = ("nextafter", "ldexp", "fmod")[int(rng.integers(3))]
    if name == "ldexp":
        return Case(lambda x: ops.ldexp(x, np.array([-2.0, 0, 1, 5])), [x])
    return Case(lambda x, z: getattr(ops, name)(x, z), [x, z])


# --- sparse matrices --------------------------------------------------------------------------


def places(rng, m, n):
    """(indices, indptr, extent, how many) of a random sparse matrix (m, n)."""
    rows, indices = np.nonzero(rng.uniform(size=(m, n)) < 0.6)
    indptr = np.append(0, np.bincount(rows, minlength=m).cumsum())
    return (
        *(constant(a.astype("int32")) for a in (indices, indptr)),
        constant(np.empty((m, n, 0), bool)),
    ), len(rows)


@case("csr_dot", "csr_sample", "csr_dense", "csr_take", "csr_product")
def compressed(rng):
    m, n = (int(k) for k in rng.integers(1, 4, 2))
    at, held = places(rng, m, n)
    data, y, z, x = (numbers(rng, s, special=[0]) for s in ((held,), (n, 2), (m, 2), (m, n)))
    build, *arrays = [
        (lambda d, y: sparse.csr_dot(d, *at, y), data, y),
        (lambda d, z: sparse.csr_dot(d, *at, z, back=True), data, z),
        (lambda z, y: sparse.csr_sample(*at, z, y), z, y),
        (lambda d: sparse.csr_dense(d, *at), data),
        (lambda x: sparse.csr_take(*at, x), x),
    ][int(rng.integers(5))]
    return Case(build, arrays)


@case("csr_product")
def compressed_product(rng):
    n = int(rng.integers(1, 4))
    (first, a), (second, b) = places(rng, n, n), places(rng, n, n)
    into = sparseproduct.csr_product_places(first, second)
    return Case(
        lambda a, b: sparseproduct.csr_product((a, *first), (b, *second), (*into, first[2])),
        [numbers(rng, (a,), special=[0]), numbers(rng, (b,), special=[0])],
    )


# --- what is not differentiated here ----------------------------------------------------------

NOT_HERE = {
    "cast": "a change of precision: differences say nothing",
    "print": "writes to the terminal; the identity otherwise",
    "stop_gradient": "a constant to the gradient, by definition",
    **dict.fromkeys(("scan", "scan_debug", "scan_rows"),
                    "tests/autodiff/test_scan_gradient.py"),
    "scan_steps": "counts", "scan_count": "counts",
    "ctc": "first derivatives only: tests/ops/test_ctc.py",
    "py_op": "tests/api/test_own.py", "c_op": "tests/api/test_own.py",
}  # fmt: skip


def discrete(op):
    """Whether no operand of the op gets a cotangent: its `grad` gives None for all."""

    class Any:
        inputs = (None,) * 12

    try:
        parts = op.grad(Any, None)
    except Exception:
        return False
    return parts is None or all(p is None for p in parts)


# --- the check --------------------------------------------------------------------------------


def check(found, rng, full=True):
    """First and second derivatives of a case, by every route, against differences."""
    arrays, build = [np.asarray(a, "float64") for a in found.arrays], found.build
    static = rng.uniform() < 0.5
    xs = [leaf(a.shape if static else (None,) * a.ndim) for a in arrays]
    with np.errstate(all="ignore"):
        ys = outputs_of(build(*xs))
        vs, ws = (
            [moving(rng, a, found.still.get(k)) for k, a in enumerate(arrays)] for _ in range(2)
        )
        first_order(found, rng, arrays, xs, ys, vs)
        if found.order > 1:
            second_order(found, rng, arrays, xs, ys, vs, ws, full and static)
    return ys


def moving(rng, array, still):
    """A direction; some of its numbers are exactly 0."""
    v = rng.normal(size=array.shape) * (rng.uniform(size=array.shape) < 0.8)
    return v if still is None else np.where(still, 0, v)


def along(nodes, xs, arrays, vs, step):
    """(derivatives of `nodes` along `vs`, how far differences of two steps are apart)."""

    def at(t):
        return evaluate(nodes, {x: a + t * v for x, a, v in zip(xs, arrays, vs)})

    near, far = ([(p - m) / (2 * h) for p, m in zip(at(h), at(-h))] for h in (step, 2 * step))
    return near, [np.abs(a - b) for a, b in zip(near, far)]


def close(what, got, want, apart, scale=1.0):
    for g, w, d in zip(got, want, apart):
        assert g.shape == w.shape, (what, g.shape, w.shape)
        size = max(scale, float(np.max(np.abs(w), initial=0)))
        bad = ~(np.abs(g - w) <= 2e-6 * size + 30 * np.max(d, initial=0))
        assert not bad.any(), f"{what}: {g[bad][:3]} instead of {w[bad][:3]}"


def first_order(found, rng, arrays, xs, ys, vs):
    env = dict(zip(xs, arrays))
    want, apart = along(ys, xs, arrays, vs, found.step)
    points = [constant(v) for v in vs]
    close("Rop", evaluate(reverse.Rop(ys, xs, points), env), want, apart)
    us = [rng.normal(size=w.shape) * (rng.uniform(size=w.shape) < 0.8) for w in want]
    rows = evaluate(reverse.Lop(ys, xs, [constant(u) for u in us], disconnected="zero"), env)
    total = np.asarray(sum(np.sum(r * v) for r, v in zip(rows, vs)))
    wanted = np.asarray(sum(np.sum(u * w) for u, w in zip(us, want)))
    error = np.asarray(sum(np.sum(np.abs(u) * d) for u, d in zip(us, apart)))
    close("Lop", [total], [wanted], [error])


def second_order(found, rng, arrays, xs, ys, vs, ws, full):
    """Of a cost whose cotangents are exactly 0 for some of the results: squares of differences from
    what they are, beside terms that are linear in them."""
    env = dict(zip(xs, arrays))
    cost = None
    for y, value in zip(ys, evaluate(ys, env)):
        weights, still = rng.normal(size=value.shape), rng.uniform(size=value.shape) < 0.5
        square = ops.mul(ops.square(ops.sub(y, constant(value))), constant(weights * still))
        part = ops.sum(ops.add(square, ops.mul(y, constant(weights * ~still))))
        cost = part if cost is None else ops.add(cost, part)
    grads = reverse.grad(cost, xs, disconnected="zero")
    want, apart = along(grads, xs, arrays, vs, found.step)
    points = [constant(v) for v in vs]
    product = None
    for g, p in zip(grads, points):
        part = ops.sum(ops.mul(g, p))
        product = part if product is None else ops.add(product, part)
    moved = [~np.asarray(found.still.get(k, False)) for k in range(len(xs))]

    def check_route(what, nodes):
        got = [np.where(m, g, 0) for g, m in zip(evaluate(nodes, env), moved)]
        close(what, got, [np.where(m, w, 0) for w, m in zip(want, moved)], apart)

    check_route("Rop of the gradient", reverse.Rop(grads, xs, points))
    check_route("hessian_vector", reverse.hessian_vector(cost, xs, points))
    check_route("gradient of a product", reverse.grad(product, xs, disconnected="zero"))
    others = evaluate(reverse.Rop(grads, xs, [constant(w) for w in ws]), env)
    one = np.asarray(sum(np.sum(w * h) for w, h in zip(ws, want)))
    two = np.asarray(sum(np.sum(v * h) for v, h in zip(vs, others)))
    error = np.asarray(sum(np.sum(np.abs(w) * d) for w, d in zip(ws, apart)))
    close("symmetry", [two], [one], [error])
    if full and len(xs) == 1 and arrays[0].size <= 8:
        (matrix,) = evaluate([reverse.hessian(cost, xs[0])], env)
        got = np.tensordot(matrix, vs[0], arrays[0].ndim)
        close("Hessian", [np.where(moved[0], got, 0)], [np.where(moved[0], want[0], 0)], apart)
