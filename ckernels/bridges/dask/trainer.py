"""The client's side of training on Dask: which workers take part, their replacement, their state.

A call of `run` is one task per worker, pinned to it, in which all steps happen: the scheduler is
asked once per call, not per step. When a worker dies, the others stop in the step they are in; its
place is taken by the worker that Dask's nanny starts, with the state of the one with most steps.
"""

import contextlib
import time
import uuid
import warnings

import cloudpickle
import numpy as np
from distributed import get_client, wait

from ...base.errors import ArgumentError, CKernelsWarning
from ..checkpoint import Checkpoints
from ..replica import Replica, part_of
from . import member
from .cluster import install

LOOK = 1.0  # seconds between checks that all workers are there, while none has ended
POLL = 0.2  # seconds between checks once one has


def ended(future):
    """Whether a worker ended too early: by an error, or with a reason that `run` returned."""
    if future.status != "finished":
        return future.status == "error"
    found = future.result()
    return isinstance(found, tuple) and bool(found[0])


class DaskTrainer:
    """Synchronous data-parallel steps on the workers of a Dask cluster.

    f          an ordinary training function of K.function
    client     by default the current one
    workers    how many workers take part, or their addresses; by default all there are
    cost, gradients   as in K.split_updates
    mean       whether the cost is a mean over rows; False: a sum
    checkpoint, every, keep   a folder of the client where the state is kept after each `every`
               steps; training goes on from the newest there, if there is one
    wait       seconds to wait for a replacement of a worker that died; then, or where none is to
               come, the others go on, with a warning, and take in workers that come later
    timeout    seconds a worker waits for another one's gradients
    shared     workers of one computer exchange gradients in memory they share (on Linux); False:
               as messages, like those of different computers. The bits are the same
    """

    def __init__(
        self,
        f,
        client=None,
        workers=None,
        *,
        cost=None,
        gradients=None,
        mean=True,
        checkpoint=None,
        every=100,
        keep=3,
        wait=120.0,
        timeout=300.0,
        shared=True,
    ):
        self.client = get_client() if client is None else client
        self.replica = Replica(f, mean, cost, gradients)
        self.name, self.generation = f"trainer-{uuid.uuid4().hex}", 0
        self.wait, self.timeout, self.shared = wait, timeout, shared
        self.lost, self.corrected = 0, 0
        self.checkpoints = None
        if checkpoint is not None:
            self.checkpoints = Checkpoints(checkpoint, every, keep)
            self.checkpoints.clean()
            found = self.checkpoints.latest()
            if found is not None:
                self.replica.load(found[1], found[0])
        install(self.client)
        self.addresses, self.kept = self.chosen(workers), self.steps  # kept: step of our values
        self.size = len(self.addresses)  # how many are to take part
        self.join(dict.fromkeys(self.addresses))

    @property
    def steps(self):
        """How many steps were made, those before the checkpoint included."""
        return self.replica.step

    def present(self):
        """The addresses of all workers of the cluster."""
        return list(self.client.nthreads())

    def chosen(self, workers):
        there = self.present()
        if workers is None or isinstance(workers, int):
            count = len(there) if workers is None else workers
            if not 0 < count <= len(there):
                raise ArgumentError(f"the cluster has {len(there)} workers, {count} are to train")
            return there[:count]
        missing = [w for w in workers if w not in there]
        if missing:
            raise ArgumentError(f"the cluster has no worker {missing[0]}; it has {there}")
        twice = [w for k, w in enumerate(workers) if w in workers[:k]]
        if twice:
            raise ArgumentError(
                f"the worker {twice[0]} is named twice: each makes a part of a step"
            )
        return list(workers)

    # ---- steps ----------------------------------------------------------------------------------

    def step(self, *arrays):
        """One step on a batch, whose rows are divided among the workers; the outputs, as floats.

        arrays: NumPy or dask arrays (these stay on the workers), and numbers.
        """
        if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)):
            arrays = arrays[0]
        return self.steps_of(1, None, list(arrays))[0]

    def run(self, source, steps):
        """`steps` steps on data the workers get themselves; a list of the outputs of each.

        source(step, rank, size) gives the inputs of one step for worker `rank` of `size`. It is
        called on the worker, and must give equal inputs for equal numbers. `ckernels.dask.Batches`
        is one.
        """
        return self.steps_of(steps, source, None)

    def steps_of(self, count, source, arrays):
        """The outputs of `count` steps; workers that die are replaced on the way."""
        begin, outputs, kept = self.steps, {}, self.checkpoints
        while self.steps < begin + count:
            todo = begin + count - self.steps
            if kept is not None:
                todo = min(todo, kept.every - self.steps % kept.every)
            if len(self.addresses) < self.size:
                self.fill()
            first = self.steps
            results, error = self.attempt(todo, source, arrays)
            best = max(results.values(), key=lambda r: r[1], default=("", -1, [], 0))
            outputs.update(enumerate(best[2], first))
            self.replica.step = max(first, best[1])
            whole = len(results) == len(self.addresses) and not any(r[0] for r in results.values())
            if not whole:
                self.repair()
            elif len({r[3] for r in results.values()}) > 1:
                self.correct()
            if error is not None:
                raise error
            if kept is not None and self.steps > first and kept.due(self.steps):
                kept.save(self.steps, self.fetch())
        return [outputs[k] for k in range(begin, begin + count)]

    def attempt(self, count, source, arrays):
        """({address: what `member.run` returned}, what a worker raised or None)."""
        size, jobs = len(self.addresses), {}
        for rank, address in enumerate(self.addresses):
            part = None if arrays is None else self.part(arrays, rank, size, address)
            jobs[address] = (
                member.run,
                *(self.name, self.generation, self.addresses, rank, self.timeout, self.shared),
                *(count, source, part),
            )
        return self.ask(jobs)

    def ask(self, jobs, giver=None):
        """Have workers do {address: (function, arguments)}: ({address: result}, error or None).

        Workers that die on the way are left out, as are all if `giver` dies, the worker whose state
        the jobs take; then, and after an error, the others are told to stop.
        """
        title = self.replica.spec.name or "step"
        futures = {
            address: self.client.submit(
                *job, workers=[address], pure=False, key=f"train_{title}-{uuid.uuid4().hex}"
            )
            for address, job in jobs.items()
        }
        waiting, stopped = set(futures), False
        while waiting:
            for first, seconds in (("FIRST_COMPLETED", LOOK), ("ALL_COMPLETED", POLL)):
                with contextlib.suppress(TimeoutError), self.client.as_current():
                    wait([futures[w] for w in waiting], seconds, return_when=first)
            waiting = {w for w in waiting if not futures[w].done()}
            if not waiting:
                break
            there = set(self.present())
            gone = waiting - there if giver is None or giver in there else set(waiting)
            for address in gone:
                futures[address].cancel()
            waiting -= gone
            failed = any(map(ended, futures.values()))
            if (gone or failed) and not stopped:
                stopped = True
                self.each(member.stop, waiting, self.generation)
        errors = [f.exception() for f in futures.values() if f.status == "error"]
        error = next((e for e in errors if not isinstance(e, member.Lost)), None)
        found = {}
        for address, future in futures.items():
            with contextlib.suppress(TimeoutError):  # a worker that died with its result
                if future.status == "finished":
                    found[address] = future.result(self.wait + 10)
        return found, error

    def each(self, function, addresses, *args):
        """{address: function(name of this trainer, *args)}, in the event loops of workers."""
        if not addresses:
            return {}
        return self.client.run(
            function, self.name, *args, workers=list(addresses), on_error="ignore"
        )

    def part(self, arrays, rank, size, address):
        """The inputs of a rank; those of dask arrays as futures on its worker."""
        count = next((len(x) for x in arrays if np.ndim(x)), size)
        if count < size:
            raise ArgumentError(f"a batch of {count} rows cannot be divided among {size} workers")
        parts = [x[part_of(count, rank, size)] if np.ndim(x) else x for x in arrays]
        return [
            self.client.compute(x, workers=[address]) if hasattr(x, "__dask_graph__") else x
            for x in parts
        ]

    # ---- faults ---------------------------------------------------------------------------------

    def repair(self):
        """Replace workers that died; all get the state of the worker with most steps."""
        count = len(self.addresses)
        while not self.replaced():  # one more died, or the one with most steps
            pass
        if len(self.addresses) < count:
            warnings.warn(self.fewer(), CKernelsWarning, stacklevel=4)

    def replaced(self):
        """Whether all have the state of the worker with most steps, after a search for workers."""
        time.sleep(POLL)  # until the scheduler knows of a worker whose connection broke
        there = set(self.present())
        self.generation += 1
        missing = sum(w not in there for w in self.addresses)
        self.lost += missing
        spare = self.replacements(missing)
        places = [w if w in there else spare.pop(0) if spare else None for w in self.addresses]
        self.addresses = [w for w in places if w is not None]
        if not self.addresses:
            raise RuntimeError(
                f"all workers died in step {self.steps}, and none came in their place within "
                f"wait={self.wait:g} seconds: start workers and make the trainer anew, which goes "
                "on from its folder of checkpoints"
            )
        reached = self.each(member.reached, [w for w in self.addresses if w in there])
        best = max(reached, key=reached.get, default=None)
        if best is None or reached[best] < 0:
            best, source = None, self.last_state()
        else:
            source, self.replica.step = self.state_of(best), reached[best]
        todo = [w for w in self.addresses if reached.get(w) != self.replica.step]
        return self.join(dict.fromkeys(todo, source), best) == set(todo)

    def state_of(self, address):
        """The state of a worker, as a future."""
        return self.client.submit(member.state, self.name, workers=[address], pure=False)

    def fewer(self):
        return (
            f"a worker died, and none has come in its place (wait={self.wait:g} s): training goes "
            f"on from step {self.steps} with {len(self.addresses)} of {self.size} workers, which "
            "divide the rows among them. Results are right, but their last bits are no longer "
            f"those of {self.size} workers"
        )

    def fill(self):
        """Take in workers that came later, with the state of the others."""
        there = self.present()
        spare = [w for w in there if w not in self.addresses][: self.size - len(self.addresses)]
        if spare and self.addresses[0] in there:
            self.generation += 1
            first = self.addresses[0]
            joined = self.join(dict.fromkeys(spare, self.state_of(first)), first)
            self.addresses += [w for w in spare if w in joined]

    def last_state(self):
        """(step, arrays) when all workers died: the newest checkpoint, or the values here."""
        found = self.checkpoints.latest() if self.checkpoints is not None else None
        if found is not None:
            self.replica.load(found[1], found[0])
            self.kept = found[0]
        self.replica.step = self.kept
        warnings.warn(
            f"all workers died: training goes on from step {self.steps}",
            CKernelsWarning,
            stacklevel=4,
        )
        return self.steps, self.replica.state()

    def replacements(self, count):
        """Up to `count` workers that do not take part yet, waited for."""
        end = time.monotonic() + self.wait
        while True:
            spare = [w for w in self.present() if w not in self.addresses]
            if len(spare) >= count or time.monotonic() > end or not self.to_come():
                return spare[:count]
            time.sleep(POLL)

    def to_come(self):
        """Whether another worker may come; False only where Dask's cluster is here and complete.

        Dask gives a worker up that is not back in time, and never starts another in its place: then
        the cluster is asked for as many as it was to have.
        """
        cluster = self.client.cluster
        if not hasattr(cluster, "worker_spec"):
            return True
        if cluster.plan - cluster.requested:
            cluster.scale(len(cluster.worker_spec))
        return len(self.present()) < len(cluster.plan)

    def correct(self):
        """Give all workers the state of the first, where their CPUs rounded differently."""
        self.corrected += 1
        first = self.addresses[0]
        self.join(dict.fromkeys(self.addresses[1:], self.state_of(first)), first)

    # ---- state ----------------------------------------------------------------------------------

    def join(self, workers, giver=None):
        """Make workers members, {address: state as a value, as a future of `giver`, or None}: a set
        of those that are."""
        payload = cloudpickle.dumps(self.replica)
        found, error = self.ask(
            {w: (member.join, self.name, payload, given) for w, given in workers.items()}, giver
        )
        if error is not None:
            raise error
        return set(found)

    def fetch(self):
        """The values of all variables, as they are on the workers."""
        for address in self.addresses:
            found, error = self.ask({address: (member.state, self.name)})
            if error is not None:
                raise error
            if found:
                return found[address][1]
        return self.last_state()[1]

    def pull(self):
        """Give the variables of this process the values of the workers."""
        self.kept = self.steps
        self.replica.load(self.fetch(), self.steps)

    def save(self):
        """Keep the state in the folder of checkpoints now."""
        if self.checkpoints is None:
            raise ArgumentError("the trainer has no folder of checkpoints: Trainer(checkpoint=...)")
        return self.checkpoints.save(self.steps, self.fetch())

    def close(self):
        """Let the workers forget the model."""
        self.client.run(member.leave, self.name, on_error="ignore")

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.close()
