"""`ckernels machine`: the table of base/machine.py beside what is found and measured here.

Every rate has a program that mostly consists of it and the number of times that it happens there;
what else the program does counts as well, so a factor of two is no difference. Nothing is stored:
sizes and rates decide in which order numbers are added up, so the table is part of a version.
"""

import time
from pathlib import Path
from statistics import median

import numpy as np

import ckernels as K  # noqa: N812

from ..api.tensor import Tensor
from ..base import machine
from ..base.config import config
from ..graph.node import constant, make
from ..graph.op import REGISTRY
from ..ops import counting, ctc, mrg, sparse
from .output import as_json, table

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
NEAR = 2.0  # times that a rate may be off
CHEAP = 4096  # floats: 16 KB, in the first cache
ROWS = 256


def timed(call, rounds):
    """Median nanoseconds of call()."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return median(taken) * 1e9


def floats(*shape):
    return np.random.default_rng(0).random(shape, dtype=np.float32)


def each(body, *arrays, count):
    """Nanoseconds of one of `count` things that a function of `arrays` does."""
    inputs = [K.placeholder(a.shape, dtype=a.dtype.name) for a in arrays]
    function = K.function(inputs, body(*inputs))
    function(*arrays)
    once = timed(lambda: function(*arrays), 3)
    return timed(lambda: function(*arrays), max(5, min(301, int(1e8 / once)))) / count


# ---- sizes --------------------------------------------------------------------------------------


def sizes():
    """{name: bytes} of what the system says; empty where it says nothing."""
    found = {}
    for index in sorted(CACHES.glob("index*")):
        level, kind, size, line = (
            (index / name).read_text().strip()
            for name in ("level", "type", "size", "coherency_line_size")
        )
        if level in "12" and kind != "Instruction":
            found[f"L{level}"] = int(size.rstrip("K")) << 10
            found["VECTOR"] = int(line)
    return found


# ---- rates --------------------------------------------------------------------------------------


def cost_of(name):
    """A unit of cost of one elementwise op: eight more of it, with a product and a sum beside."""
    x = floats(CHEAP) + np.float32(0.1)

    def repeated(times):
        def body(v):
            total = v
            for k in range(times):
                total = total + getattr(K, name)(v * (1 + k / 64))
            return total

        return each(body, x, count=CHEAP)

    return (repeated(9) - repeated(1)) / 8 / (REGISTRY[name].cost + 2)


def elementwise():
    return median(cost_of(name) for name in ("exp", "log", "tanh", "sin", "sqrt", "sigmoid"))


def byte():
    return each(lambda x: x + 1, floats(1 << 15), count=8 << 15)


def memory_byte():
    return each(lambda x: x + 1, floats(1 << 22), count=8 << 22)


def window_byte():
    x = floats(4, 64, 64, 16)
    return each(lambda v: K.pool2d(v, (2, 2), (2, 2)), x, count=1.25 * x.nbytes)


def multiply():
    return each(lambda x: K.dot(x, x), floats(ROWS, ROWS), count=ROWS**3)


def turned():
    return each(K.transpose, floats(ROWS, ROWS), count=ROWS**2)


def index():
    where = np.random.default_rng(0).integers(0, CHEAP, CHEAP)
    return each(K.gather, floats(CHEAP), where, count=CHEAP)


def row_of_sums():
    return each(lambda x: K.cumsum(x, 1), floats(ROWS, ROWS), count=ROWS**2)


def column_of_sums():
    return each(lambda x: K.cumsum(x, 0), floats(ROWS, ROWS), count=ROWS**2)


def sort():
    return each(K.sort, floats(ROWS, ROWS), count=ROWS**2)


def places():
    return each(K.argsort, floats(ROWS, ROWS), count=ROWS**2)


def unique():
    return each(K.unique, np.random.default_rng(0).integers(0, ROWS, 1 << 14), count=1 << 14)


def search():
    return each(K.searchsorted, np.sort(floats(ROWS)), floats(1 << 14), count=1 << 14)


def bin_of():
    body = lambda x, e: Tensor(counting.equal_bins(x.node, e.node))  # noqa: E731
    return each(body, floats(1 << 14), np.linspace(0, 1, ROWS + 1, dtype="float32"), count=1 << 14)


def entry():
    held = (floats(ROWS, ROWS) < 0.1) * floats(ROWS, ROWS)
    rows, columns = np.nonzero(held)
    starts = np.searchsorted(rows, np.arange(ROWS + 1)).astype("int32")

    def product(data, indices, indptr, y):
        extent = constant(np.zeros((ROWS, ROWS, 0), "int8"), "int8")
        return Tensor(sparse.csr_dot(data.node, indices.node, indptr.node, extent, y.node))

    arrays = held[rows, columns], columns.astype("int32"), starts, floats(ROWS, 1)
    return each(product, *arrays, count=len(rows))


def drawn():
    def body(state):
        return Tensor(mrg.mrg_uniform(state.node, (1 << 16,))[1])

    state = np.tile(np.arange(1, 7, dtype="int32"), (ROWS, 1))
    return each(body, state, count=1 << 16)


def interpolated():
    """A row of four channels, less what these take."""
    x = floats(1, 64, 64, 4)
    body = lambda v: K.resize_images(v, 2, 2, "channels_last", interpolation="bilinear")  # noqa: E731
    units = 128 * 64 + 128 * 128  # along one axis, then along the other
    return each(body, x, count=units) - 8 * machine.NS_WEIGHTED


def solved():
    a = np.tril(floats(ROWS, ROWS)) + ROWS * np.eye(ROWS, dtype=np.float32)
    body = lambda v, b: K.solve_triangular(v, b, lower=True)  # noqa: E731
    return each(body, a, floats(ROWS, ROWS), count=ROWS**3 / 2)


def system():
    """A row of a small system, less its multiplications."""
    a = np.tril(floats(1 << 12, 4, 4)) + 4 * np.eye(4, dtype=np.float32)
    body = lambda v, b: K.solve_triangular(v, b, lower=True)  # noqa: E731
    return each(body, a, floats(1 << 12, 4, 1), count=4 << 12) - 4 * machine.NS_SOLVED


def step():
    """A step whose only kernel computes one vector."""
    body = lambda x, first: K.scan(lambda row, s: s * 0.5 + row, x, first)[0]  # noqa: E731
    return each(body, floats(1 << 12, machine.LANES), floats(machine.LANES), count=1 << 12)


def held():
    held = floats(ROWS, ROWS) < 0.1
    ends = np.concatenate([[0], np.cumsum(held.sum(1))])
    like = np.zeros(ends[-1], bool)
    body = lambda *parts: Tensor(make("csr_held", [p.node for p in parts]))  # noqa: E731
    return each(body, held, ends, like, count=held.size)


def stream():
    """A stream of which one number is drawn, less that number."""

    def body(state):
        return Tensor(mrg.mrg_uniform(state.node, (1 << 14,))[1])

    streams = np.tile(np.arange(1, 7, dtype="int32"), (1 << 14, 1))
    return each(body, streams, count=1 << 14) - machine.NS_NUMBER


def choice():
    body = lambda p, u: Tensor(mrg.mrg_choice(p.node, u.node, replace=True))  # noqa: E731
    return each(body, floats(ROWS, ROWS) / ROWS, floats(1, ROWS) / 2, count=ROWS * ROWS)


def weighted():
    """Elements of rows of 256 channels, less the rows."""
    x, channels = floats(1, 32, 32, 256), 256
    body = lambda v: K.resize_images(v, 2, 2, "channels_last", interpolation="bilinear")  # noqa: E731
    units = 64 * 32 + 64 * 64  # along one axis, then along the other
    return each(body, x, count=2 * units * channels) - machine.NS_INTERPOLATED / 2 / channels


def labelled(body, classes, length):
    """Nanoseconds of `body`, an expression of CTC, for each sample and step."""
    samples, steps = 8, 50
    labels = np.random.default_rng(0).integers(0, classes - 1, (samples, length)).astype("int32")
    full = [np.full((samples, 1), n, "int32") for n in (steps, length)]
    arrays = labels, floats(samples, steps, classes) + np.float32(0.1), *full
    return each(body, *arrays, count=samples * steps)


def state():
    return labelled(K.ctc_batch_cost, 20, 10) / 2 / 21


def slope():
    def body(labels, y, *full):
        return K.gradients(K.sum(K.ctc_batch_cost(labels, y, *full)), [y])[0]

    return labelled(body, 20, 10) / 2 / 21


def of_class():
    """One label and many classes, less the states."""
    return (labelled(K.ctc_batch_cost, 2000, 1) - 2 * 3 * machine.NS_STATE) / 2000


def searched(classes, width):
    """Nanoseconds of a search for the best labels, for each sample, step and prefix."""
    samples, steps = 8, 50
    body = lambda x, n: Tensor(ctc.ctc_beam(x.node, n.node, width, 1)[0])  # noqa: E731
    arrays = floats(samples, steps, classes) + np.float32(0.1), np.full(samples, steps, "int32")
    return each(body, *arrays, count=samples * steps * width)


def beam():
    return searched(3, 20) - 3 * machine.NS_BEAM_CLASS


def beam_class():
    return (searched(400, 20) - machine.NS_BEAM) / 400


MEASURED = {
    "NS_COST": elementwise,
    "NS_BYTE": byte,
    "NS_MEMORY_BYTE": memory_byte,
    "NS_WINDOW_BYTE": window_byte,
    "NS_MULTIPLY": multiply,
    "NS_TURNED": turned,
    "NS_INDEX": index,
    "NS_SUM_ROW": row_of_sums,
    "NS_SUM_COLUMN": column_of_sums,
    "NS_SORT": sort,
    "NS_PLACES": places,
    "NS_EQUAL": unique,
    "NS_SEARCH": search,
    "NS_BIN": bin_of,
    "NS_ENTRY": entry,
    "NS_HELD": held,
    "NS_NUMBER": drawn,
    "NS_STREAM": stream,
    "NS_CHOICE": choice,
    "NS_INTERPOLATED": interpolated,
    "NS_WEIGHTED": weighted,
    "NS_SOLVED": solved,
    "NS_SYSTEM": system,
    "NS_STATE": state,
    "NS_SLOPE": slope,
    "NS_CLASS": of_class,
    "NS_BEAM": beam,
    "NS_BEAM_CLASS": beam_class,
    "STEP_NS": step,
}


def fork(everyone):
    """What a loop on all threads takes beside its part of the time on one."""
    x, data = K.placeholder((1 << 16,)), floats(1 << 16)
    taken = []
    for count in (1, everyone):
        K.set_num_threads(count)
        function = K.function([x], K.exp(K.tanh(x)))
        function(data)
        taken.append(timed(lambda f=function: f(data), 1001))
    return max(0.0, taken[1] - taken[0] / everyone)


# ---- the command --------------------------------------------------------------------------------


def differs(told, here):
    return not told / NEAR <= here <= told * NEAR


def measure():
    """[(name, number of the table, number found here, whether they differ)]."""
    told = {name: getattr(machine, name) for name in ("L1", "L2", "VECTOR")}
    rows = [(name, told[name], here, here != told[name]) for name, here in sizes().items()]
    rates, everyone = dict(MEASURED), K.get_num_threads()
    if everyone > 1:
        rates["FORK_NS"] = lambda: fork(everyone)
    try:
        for name, function in rates.items():
            K.set_num_threads(1)
            told, here = getattr(machine, name), function()
            rows.append((name, told, here, differs(told, here)))
    finally:
        K.set_num_threads(everyone)
    return rows


def main(arguments):
    """Print the table; 0 always, since a difference costs time and changes no result."""
    with config.change(mode="compiled"):
        rows = measure()
    if arguments.json:
        as_json([dict(zip(("name", "table", "here", "differs"), row)) for row in rows])
        return 0
    table(
        ("name", "table", "here", "times", ""),
        [
            (name, f"{told:.7g}", f"{here:.7g}", f"{here / told:.2f}", "differs" if off else "")
            for name, told, here, off in rows
        ],
        right=(1, 2, 3),
    )
    return 0
