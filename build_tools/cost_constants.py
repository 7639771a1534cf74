"""What a unit of cost, a byte, a product and a second thread take here: base/machine.py anew.

    python build_tools/cost_constants.py

prints the table of base/machine.py beside what is measured here, then: nanoseconds per unit of
Op.cost of elementwise operations on data that lie in a cache (one thread), nanoseconds per byte
read and written from caches and from memory, and for work of 2 to 200 us how long it takes on one
thread and on all, called again and again and after pauses in which the team goes to sleep. Medians;
run it while nothing else runs. Nothing imports this file.
"""

import os
import tempfile
import time
from statistics import median

CHEAP = 4096  # float32 elements: 16 KB, in the first cache


def timed(call, rounds, pause=0.0):
    """Median microseconds of call()."""
    taken = []
    for _ in range(rounds):
        if pause:
            time.sleep(pause)
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return median(taken) * 1e6


def function(K, body):  # noqa: N803
    x = K.placeholder((None,))
    return K.function([x], [body(x)])


def per_cost(K, np):  # noqa: N803
    """{name: ns per unit of cost and element}."""
    from ckernels.graph.op import REGISTRY

    data, found = np.linspace(0.1, 2, CHEAP, dtype=np.float32), {}
    for name in ("exp", "log", "tanh", "sin", "sqrt", "sigmoid"):
        cost = REGISTRY[name].cost + 2  # a product and a sum beside each

        def repeated(x, times, name=name):
            total = x
            for k in range(times):
                total = total + getattr(K, name)(x * (1 + k / 64))
            return total

        few, many = (function(K, lambda x, t=t: repeated(x, t)) for t in (1, 9))
        took = timed(lambda f=many: f([data]), 2001) - timed(lambda f=few: f([data]), 2001)
        found[name] = took * 1e3 / 8 / CHEAP / cost
    return found


def per_byte(K, np):  # noqa: N803
    """{bytes read and written: ns per byte}."""
    f, found = function(K, lambda x: x + 1), {}
    for size in (1 << 12, 1 << 15, 1 << 18, 1 << 21, 1 << 24):
        data = np.ones(size, np.float32)
        f([data])
        found[8 * size] = timed(lambda d=data: f([d]), 31) * 1e3 / (8 * size)
    return found


def per_multiply(K, np):  # noqa: N803
    """ns of a multiplication and addition of a product of floats."""
    x, n = K.placeholder((None, None)), 256
    f, data = K.function([x], [K.dot(x, x)]), np.ones((n, n), np.float32)
    f([data])
    return timed(lambda: f([data]), 101) * 1e3 / n**3


def per_turned(K, np):  # noqa: N803
    """ns of an element of a matrix that is turned around."""
    x, n = K.placeholder((None, None)), 256
    f, data = K.function([x], [K.transpose(x)]), np.ones((n, n), np.float32)
    f([data])
    return timed(lambda: f([data]), 101) * 1e3 / n**2


def per_window_byte(K, np):  # noqa: N803
    """ns of a byte of an image that a pool reads or writes."""
    x = K.placeholder((None, 64, 64, 16))
    f, data = K.function([x], [K.pool2d(x, (2, 2), (2, 2))]), np.ones((4, 64, 64, 16), np.float32)
    f([data])
    return timed(lambda: f([data]), 101) * 1e3 / (1.25 * data.nbytes)


def print_table(measured):
    """The numbers of base/machine.py beside those measured, and by which factor they differ."""
    from ckernels.base import machine

    for name, ns in measured.items():
        told = getattr(machine, name)
        print(f"    {name:15} {told:.3f}   here {ns:.3f}   {ns / told:5.2f} times")


def threads(K, np):  # noqa: N803
    """[(elements, us on one thread, us on all, us on all after a pause)]; all loops are divided."""
    from ckernels.schedule import cost

    rows, kept = [], cost.THREAD_NS
    everyone = K.get_num_threads()
    for size in (1 << 10, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18):
        data, row = np.linspace(0, 1, size, dtype=np.float32), [size]
        for count, pause in ((1, 0), (everyone, 0), (everyone, 0.002)):
            cost.THREAD_NS = 1
            K.set_num_threads(count)
            try:
                f = function(K, lambda x: K.exp(K.tanh(x)))
                f([data])
                row.append(timed(lambda f=f, d=data: f([d]), 200 if pause else 1001, pause))
            finally:
                cost.THREAD_NS = kept
                K.set_num_threads(everyone)
        rows.append(row)
    return rows


def main():
    flags = f"base_compiledir={tempfile.mkdtemp()},compiledir={tempfile.mkdtemp()}"
    os.environ["CKERNELS_FLAGS"] = flags
    import numpy as np

    import ckernels as K

    everyone = K.get_num_threads()
    K.set_num_threads(1)
    costs, bytes_of = per_cost(K, np), per_byte(K, np)
    print("base/machine.py:")
    print_table(
        {
            "NS_COST": median(costs.values()),
            "NS_BYTE": bytes_of[min(bytes_of)],
            "NS_WINDOW_BYTE": per_window_byte(K, np),
            "NS_MULTIPLY": per_multiply(K, np),
            "NS_TURNED": per_turned(K, np),
        }
    )
    print("ns per unit of cost and element, float32:")
    for name, ns in costs.items():
        print(f"    {name:8} {ns:.3f}")
    print("ns per byte read or written, x + 1:")
    for size, ns in bytes_of.items():
        print(f"    {size >> 10:7} KB {ns:.3f}")
    K.set_num_threads(everyone)
    print(f"us of exp(tanh(x)) on one thread, on {everyone}, on {everyone} after a pause of 2 ms:")
    for size, one, hot, cold in threads(K, np):
        print(f"    {size:7} {one:7.1f} {hot:7.1f} {cold:7.1f}")


if __name__ == "__main__":
    main()
