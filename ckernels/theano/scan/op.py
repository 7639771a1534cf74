"""The op that results of scan are made by, as programs look into it: Theano's scan_op.Scan.

Its step is there as the user's function wrote it. As in Theano a state comes out with its first
values before its rows, and what scan returns is cut from that; the engine does not compute it so.
Scans that the engine made, of gradients, have the class without a step.
"""

from ... import ops
from ...base.errors import UsageError
from ...graph.op import REGISTRY
from ...ops.scan import ScanSignature
from ..base.names import absent_of as _absent_of
from ..classes.op import NodeOp
from ..graph import walks
from ..graph.apply import Apply, ancestors
from ..handles.variables import wrap
from ..tensor.indexing import Index, Subtensor


class Scan(NodeOp):
    """A loop: `inputs` and `outputs` are the step's variables, n_* count what it goes over."""

    call = None  # the call of scan that made it
    whole = False  # whether states come out with their first values: the engine's do not

    def __eq__(self, other):
        return super().__eq__(other) and self.whole == other.whole

    __hash__ = NodeOp.__hash__

    def __reduce__(self):
        return _again, (self.op.name, self.attrs, self.whole)

    def _of(self, name):
        if self.call is None:
            raise UsageError(f"this scan is the engine's, of a gradient: it has no {name}")
        return self.call

    def _arguments(self):
        """(rows of sequences, states, other variables) that a step reads."""
        call = self._of("inputs")
        read = set(ancestors(call.seen))
        rows = sum(len(s.taps) for s in call.seqs)
        states = rows + sum(len(s.taps) for s in call.states if s.taps)
        given = call.arguments
        return (
            [x for x in given[:rows] if x in read],
            given[rows:states],
            [x for x in given[states:] if x in read],
        )

    @property
    def inputs(self):
        """What the step was called with, and reads: rows of sequences, states, other variables."""
        return [x for part in self._arguments() for x in part]

    def inner_seqs(self, inputs):
        """The rows of sequences among `inputs` of a step, in the order of `op.inputs`."""
        return list(inputs[: self.n_seqs])

    def inner_non_seqs(self, inputs):
        """What stays the same among `inputs` of a step."""
        rows, states, _ = self._arguments()
        return list(inputs[len(rows) + len(states) :])

    def outer_seqs(self, inputs):
        """The sequences among the inputs of an Apply of this op, or in a list like them."""
        sig = ScanSignature(self.attrs, getattr(inputs, "inputs", inputs))
        return [x for pair in sig.seqs for x in pair if x is not None]

    def outer_non_seqs(self, inputs):
        """What stays the same among the inputs of an Apply, or in a list like them."""
        return list(ScanSignature(self.attrs, getattr(inputs, "inputs", inputs)).others)

    @property
    def outputs(self):
        """What the step returned."""
        return list(self._of("outputs").outputs)

    @property
    def n_seqs(self):
        """Rows that a step reads: one for each tap of each sequence."""
        return len(self._arguments()[0])

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

    def __str__(self):
        kind = "do_while" if self.attrs["until"] else "for"
        return f"{kind}{{cpu,{self.attrs.get('name') or 'scan_fn'}}}"

    def wholes(self, nodes, inputs):
        """The nodes of the outputs with the first values of states before their rows."""
        if not self.whole:
            return list(nodes)
        found = list(nodes)
        for k, init in enumerate(ScanSignature(self.attrs, inputs).inits):
            if k not in self.attrs["states"]:  # those are shared variables
                found[k] = ops.concatenate([init, nodes[k]], 0)
        return found

    def nodes(self, inputs):
        """The nodes of the outputs on other input nodes."""
        return self.wholes(super().nodes(inputs), inputs)

    def shown_outputs(self, outputs, inputs):
        """`outputs`, the engine's, as this op has them."""
        nodes = [x.node for x in outputs]
        wholes = self.wholes(nodes, [x.node for x in inputs])
        return [x if n is w else wrap(w) for x, n, w in zip(outputs, nodes, wholes)]

    def part(self, whole, handle):
        """The Apply that cuts `handle`, the rows of a state, from the output `whole`."""
        first = -min(self.attrs["taps"][whole.index])
        op = Subtensor(Index(slice(first, None)).template)
        return Apply.made(op, [whole], [handle])


def _shown(base, handles):
    """The Scan on a node of the engine; `handles`: what is known of its outputs."""
    op = Scan(base.op, base.attrs)
    loops = [h._loop[0] for h in handles if hasattr(h, "_loop")]
    if loops:
        op.call, op.whole = loops[0], not base.attrs["until"]
    return op


def _again(name, attrs, whole):
    """A Scan out of a pickle: without its call."""
    op = Scan(REGISTRY[name], attrs)
    op.whole = whole
    return op


walks.register_shown("scan", _shown)

__getattr__ = _absent_of("theano.scan_module.scan_op")
