"""MRG31k3p against numbers of its authors' Java package, and against the recurrences in Python."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.base.errors import DTypeError, ShapeError
from ckernels.graph.node import constant
from ckernels.ops.mrg import M1, M2, ahead, draw, jump, substreams
from ckernels.ops.reference import evaluate

from .agree import leaf

# SSJ (L'Ecuyer and Simard), class MRG31k3p, all six seeds 12345: the first five numbers of each of
# the first seven substreams of the first stream, then of the last substream of the twelfth.
FIRST_STREAM = [
    [0.7353244530968368, 0.6142074400559068, 0.11007806099951267, 0.6487741703167558,
     0.36619443260133266],
    [0.2585685825906694, 0.9489980279468, 0.4309556516818702, 0.12257590936496854,
     0.9760319022461772],
    [0.6940806899219751, 0.18046841165050864, 0.003993193618953228, 0.5351603352464736,
     0.02472442388534546],
    [0.7705746139399707, 0.8138928869739175, 0.9650539481081069, 0.24507411010563374,
     0.35767574002966285],
    [0.4939101580530405, 0.9027785388752818, 0.27498403564095497, 0.03848231676965952,
     0.3081609820947051],
    [0.9062023567967117, 0.009030417073518038, 0.7953705741092563, 0.5061718439683318,
     0.5975547162815928],
    [0.5435514179989696, 0.330895590595901, 0.49919482320547104, 0.9409166998229921,
     0.8276205519214272],
]  # fmt: skip
LAST = [0.8762755445204675, 0.8020628895610571, 0.1663151141256094, 0.31246642768383026,
        0.18852565623819828]  # fmt: skip
SEED = np.full(6, 12345, "int32")


def test_published_numbers():
    states = substreams(SEED, 7)
    got = draw(states, 35, "float64")[1].reshape(5, 7).T
    np.testing.assert_array_equal(got, FIRST_STREAM)
    start = SEED
    for _ in range(11):
        start = ahead(start, 134)
    np.testing.assert_array_equal(draw(substreams(start, 7)[6:], 5, "float64")[1], LAST)


def test_published_matrices():
    """L'Ecuyer, Simard, Chen and Kelton 2002: the jumps to the next substream and stream."""
    a, b = jump(72)
    assert a.tolist() == [
        [1516919229, 758510237, 499121365],
        [1884998244, 1516919229, 335398200],
        [601897748, 1884998244, 358115744],
    ]
    assert b.tolist() == [
        [1228857673, 1496414766, 954677935],
        [1133297478, 1407477216, 1496414766],
        [2002613992, 1639496704, 1407477216],
    ]
    a, b = jump(134)
    assert a[0].tolist() == [1702500920, 1849582496, 1656874625]
    assert b[2].tolist() == [1401213391, 1178684362, 1431130166]


class Stream:
    """L'Ecuyer and Touzin 2000, in Python integers: newest numbers last."""

    def __init__(self, state):
        state = [int(s) for s in state]
        self.x, self.y = state[2::-1], state[5:2:-1]

    def next(self):
        self.x.append((2**22 * self.x[-2] + (2**7 + 1) * self.x[-3]) % (2**31 - 1))
        self.y.append((2**15 * self.y[-1] + (2**15 + 1) * self.y[-3]) % (2**31 - 21069))
        z = (self.x[-1] - self.y[-1]) % (2**31 - 1)
        return z if z else 2**31 - 1

    def state(self):
        return self.x[:-4:-1] + self.y[:-4:-1]


def plain(states, count):
    """(new states, integers 1 .. 2**31 - 1), element by element."""
    streams = [Stream(s) for s in states]
    numbers = [streams[i % len(streams)].next() for i in range(count)]
    return np.array([s.state() for s in streams], "int32"), np.array(numbers, "int64")


def compiled(states, sizes, dtype):
    state, sample = ops.mrg_uniform(K.constant(states, dtype="int32").node, sizes, dtype)
    return K.function([], [Tensor(state), Tensor(sample)])()


def seeds(count, seed=1):
    rng = np.random.default_rng(seed)
    return np.concatenate(
        [rng.integers(0, M1, (count, 3)), rng.integers(0, M2, (count, 3))], 1
    ).astype("int32")


EXTREME = np.array([[0, 0, 1, 0, 0, 1], [M1 - 1] * 3 + [M2 - 1] * 3, [1, 0, 0, 1, 0, 0],
                    [M1 - 1, 0, M1 - 1, 0, M2 - 1, 0]], "int32")  # fmt: skip


@pytest.mark.parametrize(
    "streams, sizes",
    [
        (1, (7,)),
        (3, ()),
        (5, (2, 4)),
        (64, (64,)),
        (64, (3, 43)),
        (70, (500,)),
        (200, (150,)),
        (129, (6, 129)),
        (4, (0, 3)),
    ],
)
def test_every_stream_runs_its_own_recurrences(streams, sizes):
    states = seeds(streams)
    states[: len(EXTREME)] = EXTREME[:streams]
    count = int(np.prod(sizes))
    new, z = plain(states, count)
    for got in (
        compiled(states, sizes, "float64"),
        evaluate(ops.mrg_uniform(constant(states), sizes, "float64"), {}),
    ):
        np.testing.assert_array_equal(got[0], new)
        assert got[0].dtype == "int32" and got[1].shape == sizes
        np.testing.assert_array_equal(got[1].reshape(-1), z * 2.0**-31)
    # Theano's C: the integer becomes a float32, which is multiplied by the float32 4.6566126e-10
    want = (z.astype("float32") * np.float32(4.6566126e-10)).reshape(sizes)
    np.testing.assert_array_equal(compiled(states, sizes, "float32")[1], want)
    # float16: 15 bits, plus 1, times float16(3.0458e-05)
    want = (((z & 0x7FFF) + 1) * float(np.float16(3.0458e-05))).astype("float16")
    np.testing.assert_array_equal(compiled(states, sizes, "float16")[1], want.reshape(sizes))


def test_numbers_lie_strictly_between_0_and_1():
    ends = np.array([1, 2**31 - 1])
    for dtype in ("float32", "float64", "float16"):
        x = ops.mrg.scaled(ends if dtype != "float16" else np.array([0, 0x7FFF]), dtype)
        assert x.dtype == dtype and 0 < x[0] < x[1] < 1


def test_jumps_are_so_many_steps():
    states = seeds(3)
    np.testing.assert_array_equal(ahead(states, 5), plain(states, 3 * 32)[0])
    np.testing.assert_array_equal(ahead(states[0], 0), plain(states[:1], 1)[0][0])
    rows = substreams(SEED, 5)
    for k in range(4):
        np.testing.assert_array_equal(rows[k + 1], ahead(rows[k], 72))
    np.testing.assert_array_equal(substreams(SEED, 1), [SEED])


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_change_nothing(threads):
    before = K.get_num_threads()
    K.set_num_threads(threads)
    try:
        states = substreams(SEED, 3000)
        new, sample = compiled(states, (400, 500), "float32")
    finally:
        K.set_num_threads(before)
    want = draw(states, 200_000, "float32")
    np.testing.assert_array_equal(new, want[0])
    np.testing.assert_array_equal(sample.reshape(-1), want[1])


def test_states_that_do_not_lie_in_order():
    states = seeds(9)
    s = K.placeholder((None, None), dtype="int32")
    pair = ops.mrg_uniform(K.transpose(s).node, (20,), "float64")
    new, sample = K.function([s], [Tensor(n) for n in pair])([np.ascontiguousarray(states.T)])
    want = draw(states, 20, "float64")
    np.testing.assert_array_equal(new, want[0])
    np.testing.assert_array_equal(sample, want[1])


def test_shapes_and_refusals():
    states = constant(seeds(2))
    x = leaf((None, 4))
    state, sample = ops.mrg_uniform(states, ops.shape(x))
    assert (state.shape, state.dtype) == ((2, 6), "int32")
    assert (sample.shape, sample.dtype) == ((None, 4), "float32")
    assert evaluate([sample], {x: np.zeros((3, 4))})[0].shape == (3, 4)
    with pytest.raises(ShapeError, match=r"states of shape \(streams, 6\)"):
        ops.mrg_uniform(constant(np.zeros((2, 5), "int32")), (3,))
    with pytest.raises(ShapeError, match="int64"):
        ops.mrg_uniform(constant(np.zeros((2, 6), "int64")), (3,))
    with pytest.raises(ShapeError, match="negative"):
        ops.mrg_uniform(states, (-1,))
    with pytest.raises(ShapeError, match="no stream"):
        ops.mrg_uniform(constant(np.zeros((0, 6), "int32")), (3,))
    with pytest.raises(DTypeError, match="floats"):
        ops.mrg_uniform(states, (3,), "int64")


# --- choice -----------------------------------------------------------------------------------


def chosen(p, u, replace):
    """What Theano's loop does, one class at a time, in the dtypes it does it in."""
    out = []
    for row, numbers in zip(p.copy(), u.T):
        out.append([])
        for number in numbers:
            total = np.float64(0)
            for m, q in enumerate(row):  # noqa: B007
                total += np.float64(q)
                if total > number:
                    break
            out[-1].append(m)
            if not replace:
                rest = row.dtype.type(total - np.float64(row[m]))
                row[m] = 0
                for q in row[m:]:
                    rest = row.dtype.type(rest + q)
                row /= rest
    return np.array(out)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("replace", [True, False])
def test_choice(dtype, replace):
    rng = np.random.default_rng(5)
    p = rng.random((40, 9)).astype(dtype)
    p[3, 2:5] = 0
    p /= p.sum(1, keepdims=True)
    u = rng.random((4, 40)) * 0.999
    node = ops.mrg_choice(constant(p), constant(u), replace)
    want = chosen(p, u, replace)
    for got in (K.function([], Tensor(node))(), evaluate([node], {})[0]):
        assert got.dtype == "int64"
        np.testing.assert_array_equal(got, want)
    assert replace or all(len(set(row)) == 4 for row in want.tolist())


def test_choice_when_rounding_leaves_the_number_above_all_edges():
    p = np.array([[0.3, 0.6999, 0.0], [0.0, 0.0, 0.0], [0.5, 0.4999, 0.0]], "float32")
    u = np.full((2, 3), 1 - 2.0**-24)
    last, again = [[1, 1], [0, 0], [1, 1]], [[1, 0], [0, 0], [1, 0]]
    for replace, strict, want in (
        (True, False, last),
        (False, False, again),
        (True, True, np.full((3, 2), 3)),
    ):
        node = ops.mrg_choice(constant(p), constant(u), replace, strict)
        for got in (K.function([], Tensor(node))(), evaluate([node], {})[0]):
            np.testing.assert_array_equal(got, want)


def test_choice_refusals():
    p = constant(np.ones((2, 3), "float32"))
    with pytest.raises(ShapeError, match="cannot choose 4 of 3 classes without replacement"):
        ops.mrg_choice(p, constant(np.zeros((4, 2))))
    assert ops.mrg_choice(p, constant(np.zeros((4, 2))), True).shape == (2, 4)
    with pytest.raises(ShapeError, match="each of the 2 rows"):
        ops.mrg_choice(p, constant(np.zeros((2, 3))))
    with pytest.raises(ShapeError, match="matrix of probabilities"):
        ops.mrg_choice(constant(np.ones(3)), constant(np.zeros((1, 1))))
