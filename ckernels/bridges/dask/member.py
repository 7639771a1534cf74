"""A worker's side of training: a replica, its mailbox, and sums that every worker ends up with.

In each round a rank and the one that differs in one bit of its number send each other what they
have, both at once, and both add it up: after log2 N rounds all have the sum, by trees that lie over
each other. The trees decide the order of additions, not the clock: for a number of workers the
bits are always the same. All here runs on workers; post() in the event loop.
"""

import asyncio
import threading
import time
from concurrent import futures

import cloudpickle
import numpy as np
from distributed import get_worker
from distributed.comm.core import CommClosedError
from distributed.protocol import to_serialize

from ..replica import Replica  # noqa: F401  (what is unpickled)

_members = {}  # id of a trainer: Member


class Lost(Exception):
    """A step that cannot be finished: a worker is gone, or the client stops it."""


class Member:
    """A replica on this worker.

    generation: a number that grows whenever the set of workers changes; mail of others is old.
    """

    def __init__(self, replica, worker):
        self.replica, self.worker = replica, worker
        self.mail, self.arrived = {}, threading.Condition()
        self.generation, self.stopped = 0, False

    def begin(self, name, generation, addresses, rank, timeout):
        """Be `rank` among these workers from now on."""
        self.name, self.addresses, self.rank, self.timeout = name, addresses, rank, timeout
        with self.arrived:
            self.mail = {k: v for k, v in self.mail.items() if k[0] >= generation}
            if generation != self.generation:
                self.generation, self.stopped = generation, False

    def stop(self, generation):
        with self.arrived:
            if generation >= self.generation:
                self.generation, self.stopped = generation, True
            self.arrived.notify_all()

    # ---- messages -------------------------------------------------------------------------------

    def send(self, rank, what, arrays):
        """Begin to put arrays into the mailbox of another rank; `sent` waits for the end."""
        key = (self.generation, self.replica.step, what, self.rank)
        coming = self._send(self.addresses[rank], key, arrays)
        return rank, asyncio.run_coroutine_threadsafe(coming, self.worker.loop.asyncio_loop)

    async def _send(self, address, key, arrays):
        peer = self.worker.rpc(address)
        await peer.ckernels_post(name=self.name, key=key, arrays=to_serialize(arrays))

    def sent(self, sending):
        """Wait until the other rank has it."""
        address, future = self.addresses[sending[0]], sending[1]
        try:
            future.result(self.timeout)
        except (TimeoutError, futures.TimeoutError):  # an OSError, and before Python 3.11 another
            future.cancel()
            raise TimeoutError(self.late(address, "took")) from None
        except (OSError, CommClosedError) as problem:
            raise Lost(f"{address} does not answer") from problem

    def late(self, address, did):
        return (
            f"{address} {did} nothing for {self.timeout:g} s in step {self.replica.step}: it "
            "hangs, or is slower than `timeout` allows"
        )

    def receive(self, rank, what):
        """The arrays another rank sends for this step."""
        key = (self.generation, self.replica.step, what, rank)
        end = time.monotonic() + self.timeout
        with self.arrived:
            while key not in self.mail:
                if self.stopped:
                    raise Lost("the step was stopped")
                left = end - time.monotonic()
                if left <= 0:
                    raise TimeoutError(self.late(self.addresses[rank], "sent"))
                self.arrived.wait(min(left, 1.0))
            return self.mail.pop(key)

    # ---- a step ---------------------------------------------------------------------------------

    def summed(self, parts):
        """The sums over all ranks. Those above the largest power of two let a partner add."""
        rank, size = self.rank, len(self.addresses)
        whole = 1 << size.bit_length() - 1
        if rank >= whole:
            self.sent(self.send(rank - whole, "in", parts))
            return self.receive(rank - whole, "out")
        if rank + whole < size:
            added(parts, self.receive(rank + whole, "in"))
        low = 1
        while low < whole:
            other = rank ^ low
            sending = self.send(other, low, parts)
            found = self.receive(other, low)
            self.sent(sending)  # before `parts` change
            added(parts, found, rank > other)
            low *= 2
        if rank + whole < size:
            self.sent(self.send(rank + whole, "out", parts))
        return parts

    def step(self, arrays):
        arrays = self.replica.checked(arrays)
        parts = [np.asarray(p) for p in self.replica.part(arrays)]
        return self.replica.apply(self.summed(parts), arrays)


def added(parts, others, after=False):
    """Add `others` to `parts`; after: they are the first operands, as on the other side."""
    for own, other in zip(parts, others):
        np.add(*((other, own) if after else (own, other)), out=own)


async def post(name, key, arrays):
    """The handler of workers that takes what another rank sends."""
    member = _members.get(name)
    if member is None:
        raise OSError("there is no such trainer on this worker")
    with member.arrived:
        if tuple(key)[0] >= member.generation:
            member.mail[tuple(key)] = arrays
            member.arrived.notify_all()


# ---- what the client has workers do --------------------------------------------------------------


def join(name, payload, state=None):
    """Take part in a trainer; state: (step, arrays) of another member, or None."""
    member = _members.get(name)
    if member is None:
        member = _members[name] = Member(cloudpickle.loads(payload), get_worker())
    if state is not None:
        member.replica.load(state[1], state[0])
    return member.replica.step


def run(name, generation, addresses, rank, timeout, count, source, arrays):
    """`count` steps; (why it ended early or "", the step reached, outputs, digest)."""
    member = _members.get(name)
    if member is None:
        return "the worker was started again", -1, [], 0
    member.begin(name, generation, addresses, rank, timeout)
    outputs, reason, size = [], "", len(addresses)
    try:
        for _ in range(count):
            given = arrays
            if source is not None:
                given = source(member.replica.step, rank, size)
            outputs.append(member.step(given))
    except Lost as problem:
        reason = str(problem)
    return reason, member.replica.step, outputs, member.replica.digest()


def state(name):
    """(step, arrays) of the replica here; None where there is none."""
    member = _members.get(name)
    return None if member is None else (member.replica.step, member.replica.state())


def reached(name):
    """How many steps the replica here has made; -1 where there is none."""
    member = _members.get(name)
    return -1 if member is None else member.replica.step


def stop(name, generation):
    """End what this trainer is at; run in the event loop, so that it reaches a waiting worker."""
    if name in _members:
        _members[name].stop(generation)


def leave(name):
    _members.pop(name, None)
