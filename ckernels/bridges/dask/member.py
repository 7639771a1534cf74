"""A worker's side of training: a replica, its mailbox, and sums that travel up and down a tree.

Rank r adds what the ranks above it in the binomial tree send, passes the sum on to its parent, and
gets the whole sum back the same way. The tree decides the order of additions, not the clock: for a
number of workers the bits are always the same. All here runs on workers; post() in the event loop.
"""

import threading
import time

import cloudpickle
import numpy as np
from distributed import get_worker
from distributed.comm.core import CommClosedError
from distributed.protocol import to_serialize
from distributed.utils import sync

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
        """Put arrays into the mailbox of another rank."""
        key = (self.generation, self.replica.step, what, self.rank)
        address = self.addresses[rank]
        try:
            sync(self.worker.loop, self._send, address, key, arrays)
        except (OSError, CommClosedError) as problem:
            raise Lost(f"{address} does not answer") from problem

    async def _send(self, address, key, arrays):
        peer = self.worker.rpc(address)
        await peer.ckernels_post(name=self.name, key=key, arrays=to_serialize(arrays))

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
                    raise TimeoutError(
                        f"{self.addresses[rank]} sent nothing for {self.timeout:g} s in step "
                        f"{self.replica.step}: it hangs, or is slower than `timeout` allows"
                    )
                self.arrived.wait(min(left, 1.0))
            return self.mail.pop(key)

    # ---- a step ---------------------------------------------------------------------------------

    def summed(self, parts):
        """The sums over all ranks: up the tree, and down again."""
        rank, size, low = self.rank, len(self.addresses), 1
        while low < size and not rank & low:
            if rank + low < size:
                for own, other in zip(parts, self.receive(rank + low, "up")):
                    np.add(own, other, out=own)
            low *= 2
        if rank:
            low = rank & -rank
            self.send(rank - low, "up", parts)
            parts = self.receive(rank - low, "down")
        while low > 1:
            low //= 2
            if rank + low < size:
                self.send(rank + low, "down", parts)
        return parts

    def step(self, arrays):
        arrays = self.replica.checked(arrays)
        parts = [np.asarray(p) for p in self.replica.part(arrays)]
        return self.replica.apply(self.summed(parts), arrays)


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
