"""The op that results of scan are made by, as programs look into it: Theano's scan_op.Scan.

Its step is there as the user's function wrote it. Scans that the engine made, of gradients, have
the class without a step.
"""

from ...base.errors import UsageError
from ..base.names import absent_of as _absent_of
from ..classes.op import NodeOp
from ..graph import walks


class Scan(NodeOp):
    """A loop: `inputs` and `outputs` are the step's variables, n_* count what it goes over."""

    call = None  # the call of scan that made it

    def _of(self, name):
        if self.call is None:
            raise UsageError(f"this scan is the engine's, of a gradient: it has no {name}")
        return self.call

    @property
    def inputs(self):
        """What the step was called with: rows of sequences, states, other variables."""
        return list(self._of("inputs").arguments)

    @property
    def outputs(self):
        """What the step returned."""
        return list(self._of("outputs").outputs)

    @property
    def n_seqs(self):
        """Rows that a step reads: one for each tap of each sequence."""
        return sum(len(s.taps) for s in self._of("n_seqs").seqs)

    @property
    def n_sit_sot(self):
        """States of which a step reads the one before."""
        return sum(list(s.taps or ()) == [-1] for s in self._of("n_sit_sot").states)

    @property
    def n_mit_sot(self):
        """States of which a step reads earlier ones."""
        states = self._of("n_mit_sot").states
        return sum(bool(s.taps) and list(s.taps) != [-1] for s in states)

    @property
    def n_nit_sot(self):
        """Outputs that no step reads."""
        return len(self.outputs) - self.n_sit_sot - self.n_mit_sot

    n_mit_mot = 0  # these are made by Theano's gradients

    @property
    def n_shared_outs(self):
        """Shared variables that a step updates."""
        return len(self._of("n_shared_outs").shared)

    @property
    def as_while(self):
        """Whether a condition ends it."""
        return self._of("as_while").ends

    @property
    def info(self):
        """The counts as a dict."""
        names = "n_seqs n_sit_sot n_mit_sot n_nit_sot n_mit_mot n_shared_outs as_while".split()
        return {name: getattr(self, name) for name in names}


def _shown(base, handles):
    """The Scan on a node of the engine; `handles`: what is known of its outputs."""
    op = Scan(base.op, base.attrs)
    loops = [h._loop[0] for h in handles if hasattr(h, "_loop")]
    if loops:
        op.call = loops[0]
    return op


walks.register_shown("scan", _shown)

__getattr__ = _absent_of("theano.scan_module.scan_op")
