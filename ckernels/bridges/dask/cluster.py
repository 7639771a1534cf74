"""Kernels in a cluster: each is compiled by one worker, and the others get it from the scheduler.

The scheduler remembers who compiles which kernel, and the resulting entries (sealed, as in a
compiledir). When a worker dies, its claims end. Workers with another CPU ask for other keys. When
the scheduler does not answer, a worker compiles for itself.
"""

import asyncio
import weakref
from collections import OrderedDict

from distributed import get_client
from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin
from distributed.utils import sync

from ... import compiler
from ...compiler import process
from ...compiler.entry import keys_of
from .member import post

LARGEST = 256 << 20  # bytes of entries that the scheduler keeps; the oldest go first
_installed = weakref.WeakSet()


class Claims(SchedulerPlugin):
    """On the scheduler: {key: who compiles it}, {key: its entry}."""

    name = "ckernels-claims"
    idempotent = True

    def start(self, scheduler):
        self.entries, self.owners, self.bytes = OrderedDict(), {}, 0
        self.changed = asyncio.Event()
        scheduler.handlers.update(
            ckernels_claim=self.claim, ckernels_done=self.done, ckernels_wait=self.wait
        )

    async def claim(self, keys, worker):
        """The keys that nobody has compiled or is compiling: `worker` now claims them."""
        mine = [k for k in keys if k not in self.entries and k not in self.owners]
        self.owners.update(dict.fromkeys(mine, worker))
        return mine

    async def done(self, keys, entries, worker):
        """A worker's claim on `keys` ends: `entries` has those that could be compiled."""
        for data in entries:
            found = keys_of(data)
            self.bytes += len(data) * (found[0] not in self.entries)
            self.entries.update(dict.fromkeys(found, data))
        while self.bytes > LARGEST:
            oldest = self.entries[next(iter(self.entries))]
            self.bytes -= len(oldest)
            for key in keys_of(oldest):
                self.entries.pop(key, None)
        self.release(key for key in keys if self.owners.get(key) == worker)

    async def wait(self, keys):
        """The entries of these kernels, as soon as nobody claims any of them."""
        while any(key in self.owners for key in keys):
            await self.changed.wait()
        return list({id(e): e for e in map(self.entries.get, keys) if e is not None}.values())

    def remove_worker(self, scheduler, worker, **kwargs):
        self.release([key for key, owner in self.owners.items() if owner == worker])

    def release(self, keys):
        for key in list(keys):
            self.owners.pop(key, None)
        self.changed.set()
        self.changed = asyncio.Event()


class Others:
    """The other workers, for the compiler room: see `compiler.register_others`."""

    def __init__(self, worker):
        self.worker = worker

    def ask(self, method, otherwise, **kwargs):
        """What the scheduler answers; `otherwise` where it does not."""
        try:
            return sync(self.worker.loop, getattr(self.worker.scheduler, method), **kwargs)
        except Exception as problem:
            process.log("cluster", "warning", "the scheduler has no kernels for us: %s", problem)
            return otherwise

    def claim(self, keys):
        mine = self.ask("ckernels_claim", keys, keys=keys, worker=self.worker.address)
        return [key for key in keys if key in set(mine)]

    def done(self, keys):
        if keys:
            entries = compiler.sealed(keys)
            kept = dict(keys=list(keys), entries=entries, worker=self.worker.address)
            self.ask("ckernels_done", None, **kept)

    def wait(self, keys):
        return self.ask("ckernels_wait", [], keys=keys)

    def close(self):
        """Nothing to close: no connection of ours stays open between requests."""


class ClusterKernels(WorkerPlugin):
    """On each worker: kernels come from the cluster, and parts of sums from other workers."""

    name = "ckernels"

    def setup(self, worker):
        compiler.register_others(Others(worker))
        worker.handlers["ckernels_post"] = post

    def teardown(self, worker):
        compiler.register_others(None)


def install(client=None, *functions):
    """Let the workers of a cluster compile each kernel once. Done by map_blocks and Trainer too.

    client: by default the current one. functions: compiled functions of this process, whose kernels
    the workers get without compiling any (where their CPUs are like this one).
    """
    client = get_client() if client is None else client
    if client not in _installed:
        client.register_plugin(Claims())
        client.register_plugin(ClusterKernels())
        _installed.add(client)
    stats = [f.info.stats() for f in functions if hasattr(f, "info")]
    entries = compiler.sealed([k["key"] for s in stats for k in s["kernels"]])
    if entries:
        client.sync(client.scheduler.ckernels_done, keys=[], entries=entries, worker=client.id)
