"""A worker's side of training: a replica, its mailbox, and the exchange that sums over workers.

In each round two ranks whose numbers differ in one bit send each other what they have, both at
once, and both add it up: after log2 N rounds all ranks have the sum. The order of additions follows
from the ranks, not from timing: for a given number of workers the bits are always the same. What is
sent goes through shared memory where both are on one computer (link.py), else as Dask's messages.
All here runs on workers; post() in the event loop.
"""

import asyncio
import contextlib
import threading
import time
import weakref
from concurrent import futures

import cloudpickle
import numpy as np
from distributed import get_worker
from distributed.comm.core import CommClosedError
from distributed.protocol import to_serialize
from distributed.worker import WORKER_ANY_RUNNING

from ...compiler import process
from ..replica import Replica  # noqa: F401  (what is unpickled)
from . import link

_members = {}  # id of a trainer: Member
_resting = weakref.WeakKeyDictionary()  # {worker: number of runs for which its profiler is off}


class Lost(Exception):
    """A step that cannot be finished: a worker is gone, or the client stops it."""


class Member:
    """A replica on this worker.

    generation: a number that grows whenever the set of workers changes; older mail is dropped.
    links: {rank: a link, or None where Dask's messages are used}, made in this generation.
    """

    def __init__(self, replica, worker):
        self.replica, self.worker = replica, worker
        self.mail, self.arrived = {}, threading.Condition()
        self.generation, self.stopped = 0, False
        self.links, self.shared = {}, link.possible()

    def begin(self, name, generation, addresses, rank, timeout, shared=True):
        """Be `rank` among these workers from now on; shared: by links where that is possible."""
        self.name, self.addresses, self.rank, self.timeout = name, addresses, rank, timeout
        self.shared = shared and link.possible()
        with self.arrived:
            self.mail = {k: v for k, v in self.mail.items() if k[0] >= generation}
            if generation != self.generation:
                self.part()
                self.generation, self.stopped = generation, False

    def stop(self, generation):
        with self.arrived:
            if generation >= self.generation:
                self.generation, self.stopped = generation, True
                self.part()
            self.arrived.notify_all()

    def part(self):
        """Close all links; who waits at one gets an error."""
        for made in self.links.values():
            if made is not None:
                made.close()
        self.links = {}

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
        """Wait until the other rank has what `send` sends."""
        address, future = self.addresses[sending[0]], sending[1]
        end = time.monotonic() + self.timeout
        while True:
            left = end - time.monotonic()
            try:
                return future.result(max(0, min(left, 0.5)))
            except (
                TimeoutError,
                futures.TimeoutError,
            ) as problem:  # before Python 3.11 two classes
                if not future.done() and left > 0 and not self.stopped:
                    continue
                future.cancel()
                if self.stopped:
                    raise Lost("the step was stopped") from problem
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

    # ---- links ----------------------------------------------------------------------------------

    def link(self, rank):
        """The link to a rank, made when the two meet first; None where there can be none."""
        if rank not in self.links:
            made = None
            if self.shared:
                made = self.welcome(rank) if self.rank < rank else self.visit(rank)
            with self.arrived:
                if self.stopped:
                    raise Lost("the step was stopped")
                self.links[rank] = made
        return self.links[rank]

    def welcome(self, rank):
        """Make the link to a higher rank: it gets the name of our door, and knocks there."""
        made, listening = None, self.tried(rank, link.door)
        self.tell(rank, "door", listening.getsockname() if listening else b"")
        if self.told(rank, "knocked"):
            made = self.tried(rank, link.opened, listening)
        self.tell(rank, "met", b"yes" if made else b"")
        return made

    def visit(self, rank):
        """Make the link to a lower rank: knock at its door."""
        made = self.tried(rank, link.knock, self.told(rank, "door"))
        self.tell(rank, "knocked", b"yes" if made else b"")
        return made if self.told(rank, "met") else None

    def tried(self, rank, meet, *args):
        """What meet(*args) gives, or None where it fails: then Dask's messages are used."""
        try:
            return meet(*args)
        except OSError as problem:
            process.log("cluster", "info", "no link to %s: %s", self.addresses[rank], problem)
            return None

    def tell(self, rank, what, data):
        self.sent(self.send(rank, what, [np.frombuffer(data, np.uint8)]))

    def told(self, rank, what):
        return self.receive(rank, what)[0].tobytes()

    # ---- a step ---------------------------------------------------------------------------------

    def trade(self, rank, what, parts, takes=None, gives=True):
        """Send `parts` to a rank (gives), and call takes(own, other) with what it sends."""
        made = self.link(rank)
        if made is None:
            sending = self.send(rank, what, parts) if gives else None
            found = self.receive(rank, what) if takes else ()
            if gives:
                self.sent(sending)  # before `parts` change
            for own, other in zip(parts, found):
                takes(own, other)
            return
        try:
            made.trade(self.replica.step, parts, gives, takes, self.timeout)
        except TimeoutError:
            raise TimeoutError(self.late(self.addresses[rank], "sent")) from None
        except OSError as problem:
            if self.stopped:
                raise Lost("the step was stopped") from problem
            raise Lost(f"{self.addresses[rank]} does not answer") from problem

    def summed(self, parts):
        """`parts`, changed in place to the sums over all ranks.

        Ranks from the largest power of two on send theirs to a partner, which adds for them.
        """
        rank, size = self.rank, len(self.addresses)
        whole = 1 << size.bit_length() - 1
        if rank >= whole:
            self.trade(rank - whole, "in", parts)
            self.trade(rank - whole, "out", parts, np.copyto, gives=False)
            return parts
        if rank + whole < size:
            self.trade(rank + whole, "in", parts, added, gives=False)
        low = 1
        while low < whole:
            self.trade(rank ^ low, low, parts, added_after if rank & low else added)
            low *= 2
        if rank + whole < size:
            self.trade(rank + whole, "out", parts)
        return parts

    def step(self, arrays):
        arrays = self.replica.checked(arrays)
        parts = [np.asarray(p, order="C") for p in self.replica.part(arrays)]
        return self.replica.apply(self.summed(parts), arrays)


def added(own, other):
    np.add(own, other, out=own)


def added_after(own, other):
    """As `added`, with `other` as the first operand: the same sum as on the other side."""
    np.add(other, own, out=own)


async def post(name, key, arrays):
    """The handler of workers that takes what another rank sends."""
    member = _members.get(name)
    if member is None:
        raise OSError("there is no such trainer on this worker")
    with member.arrived:
        if tuple(key)[0] >= member.generation:
            member.mail[tuple(key)] = arrays
            member.arrived.notify_all()


# ---- the profiler of a worker --------------------------------------------------------------------


@contextlib.contextmanager
def unwatched(worker):
    """A context in which Dask's profiler of this worker is off.

    It samples the thread 100 times a second, and all it can see is one call of C. That takes 3.5 %
    of a core, and all workers wait for the slowest one in each step.
    """
    worker.loop.add_callback(rest, worker, 1)
    try:
        yield
    finally:
        worker.loop.add_callback(rest, worker, -1)


def rest(worker, runs):
    """Count `runs` more (if negative: fewer) with the profiler off; in the event loop."""
    before = _resting.get(worker, 0)
    _resting[worker] = after = before + runs
    watch = worker.periodic_callbacks.get("profile")  # None where Dask's configuration turns it off
    if watch is not None and not after:
        if worker.status in WORKER_ANY_RUNNING:
            watch.start()
    elif watch is not None and not before:
        watch.stop()


# ---- what the client has workers do --------------------------------------------------------------


def join(name, payload, state=None):
    """Take part in a trainer; state: (step, arrays) of another member, or None."""
    member = _members.get(name)
    if member is None:
        member = _members[name] = Member(cloudpickle.loads(payload), get_worker())
    if state is not None:
        member.replica.load(state[1], state[0])
    return member.replica.step


def run(name, generation, addresses, rank, timeout, shared, count, source, arrays):
    """Make `count` steps: (why it ended early or "", the step reached, outputs, digest)."""
    member = _members.get(name)
    if member is None:
        return "the worker was started again", -1, [], 0
    member.begin(name, generation, addresses, rank, timeout, shared)
    outputs, reason, size = [], "", len(addresses)
    try:
        with unwatched(member.worker):
            for _ in range(count):
                given = arrays
                if source is not None:
                    given = source(member.replica.step, rank, size)
                outputs.append(member.step(given))
    except Lost as problem:
        reason = str(problem)
    return reason, member.replica.step, outputs, member.replica.digest()


def state(name):
    """(step, arrays) of the replica here."""
    member = _members.get(name)
    if member is None:
        raise Lost("the worker was started again")
    return member.replica.step, member.replica.state()


def reached(name):
    """How many steps the replica here has made; -1 where there is none."""
    member = _members.get(name)
    return -1 if member is None else member.replica.step


def stop(name, generation):
    """End the step this trainer is in; called in the event loop, to reach a waiting worker."""
    if name in _members:
        _members[name].stop(generation)


def leave(name):
    member = _members.pop(name, None)
    if member is not None:
        member.part()
