"""f.maker: the inputs, outputs, mode and graph of a function, as Theano shows them."""

from ..gof.fg import FunctionGraph
from ..names import absent_of as _absent_of
from .callable import Function  # noqa: F401
from .function import UnusedInputError, function  # noqa: F401


class Maker:
    """What a function was made from."""

    def __init__(self, made):
        asked = made.asked
        self.function, self.mode, self.name = made, made.mode, made.name
        self.inputs = self.expanded_inputs = asked.ins
        self.outputs = asked.outs
        self.unpack_single, self.return_none = asked.single, asked.outputs is None
        self.output_keys = asked.names
        self.profile = made.profile
        self.linker = self
        self._fgraph = None

    @property
    def fgraph(self):
        """The graph as it was written, with givens put in."""
        if self._fgraph is None:
            asked = self.function.asked
            outputs = self.function.lowered.written
            if asked.givens:
                from ..gof.walks import replayed

                outputs = replayed(list(outputs), asked.givens)
            self._fgraph = FunctionGraph([i.variable for i in asked.ins], outputs, clone=False)
        return self._fgraph


FunctionMaker = Maker


__getattr__ = _absent_of("theano.compile.maker")
