"""What a workload is: data, one formula for all array libraries, and what it should reach.

A formula takes the library first: `formula(xp, x, y)` runs with NumPy, torch, jax.numpy,
pytensor.tensor and ckernels. Where a peer has a better or a different way of saying it, the
workload has a method of the peer's name; where state is involved, a method `<peer>_call` that
returns the callable to be timed. benchmarks/peers.py turns either into calls.
"""

from typing import NamedTuple

PEERS = ("numpy", "numexpr", "torch", "torch-compile", "jax", "pytensor-numba", "pytensor-c")
OURS = "ckernels"
LIMIT = "limit"


NEAR = 0.9  # of the limit: where a row cannot be faster than its peers by what it should


class Target(NamedTuple):
    """time(against) / time(ckernels) >= ratio; or number of kernels <= ratio. "won": that many
    times the best peer, or ahead of it and near the limit."""

    against: (
        str  # "peers": the best of them, a peer's name, "limit", "won", "ckernels-1", "kernels"
    )
    ratio: float
    text: str = ""  # in place of the general wording

    def __str__(self):
        if self.text:
            return self.text
        what = {"peers": "best peer", "ckernels-1": "one thread"}.get(self.against, self.against)
        if self.against == "won":
            return f"{self.ratio:g}x best peer, or {NEAR:.0%} of the limit"
        if self.against == "kernels":
            return f"at most {self.ratio} kernel{'s' if self.ratio > 1 else ''}"
        if self.against == "limit" and self.ratio < 1:
            return f"{self.ratio:.0%} of the limit"
        return f"ahead of {what}" if self.ratio == 1 else f"{self.ratio:g}x {what}"


WON = Target("won", 1.3)
IMAGES = "convolutions and max pools, sum"
SETS = {IMAGES: (Target("torch", 1), Target("jax", 1))}


class Case(NamedTuple):
    """One row of the table: parameters of the data, and the targets."""

    name: str
    params: dict
    targets: tuple
    quick: bool = True  # part of --quick


class Workload:
    """Base of all workloads: subclasses say what is computed, never how it is timed."""

    name = ""
    title = ""
    limit_is = ""  # what the limit column holds
    rtol, atol = 1e-4, 1e-5
    gradient = False  # True: formula gives one output; its Lop with the last array is taken too
    wrt = (0,)  # with respect to these arrays
    peers = PEERS + (OURS, LIMIT)
    samples = 0  # that a call works on; the report then has samples per second
    set = ""  # cases of one set are summed up in a row of their own, with the targets of SETS
    steps = 1  # calls before results are compared
    stateful = False  # a call changes what the next one computes, as training does
    names = "xyzw"  # of the arrays, for numexpr
    constants = {}  # by name, for numexpr, which would take a Python float as double
    numexpr = None  # the expression as text

    def cases(self):
        raise NotImplementedError

    def data(self, rng, **params):
        raise NotImplementedError

    def formula(self, xp, *arrays, **params):
        raise NotImplementedError

    def limit(self, c, *arrays, **params):
        """The call that marks what the hardware allows; None where nobody can say."""
        return None
