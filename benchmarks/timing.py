"""Timing of one call inside a worker: enough calls for the clock, the best of several chunks."""

import collections
import time


def seconds(call, number, keep=0):
    """Time of one call, from `number` calls in a row; the last `keep` results stay alive."""
    if keep:
        return seconds_kept(call, number, keep)
    calls = range(number)
    start = time.perf_counter()
    for _ in calls:
        call()
    return (time.perf_counter() - start) / number


def seconds_kept(call, number, keep):
    """`seconds` with a queue of results: a call gets memory that none of them holds."""
    results, calls = collections.deque(maxlen=keep), range(number)
    start = time.perf_counter()
    for _ in calls:
        results.append(call())
    return (time.perf_counter() - start) / number


def calibrate(call, chunk=0.02):
    """How many calls fill a chunk of time; also warms up."""
    number, spent = 1, seconds(call, 1)
    while spent * number < chunk / 2 and number < 1 << 20:
        number = min(max(number * 2, int(0.7 * chunk / max(spent, 1e-9))), 1 << 20)
        spent = seconds(call, number)
    return max(1, int(chunk / max(spent, 1e-9)))


def turn(call, number, chunks=5, budget=0.5, keep=0):
    """One turn of a peer: the least disturbed chunk. The first wakes threads and does not count."""
    deadline = time.perf_counter() + budget
    seconds(call, number, keep)
    taken = []
    while len(taken) < chunks and (not taken or time.perf_counter() < deadline):
        taken.append(seconds(call, number, keep))
    return min(taken)
