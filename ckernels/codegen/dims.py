"""The dims of a launch: the sizes and strides with which a kernel walks its operands.

They are written and read in one order: the size of the vector loop, of outer rows, of runs, in
chunked forms the length of a chunk, in bundles that of a bundle, in contractions how many columns a
unit of the range has; then of each operand the strides
that its kernel does not know already, and of axes that indices pick from sizes and strides. All are
read alike: numbers, sizes of a class of shapes, C text. What the sizes are of is lower.py's.
"""

from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

CHUNKED = ("chunks", "column_chunks", "bundles", "contraction")


class Strides(NamedTuple):
    """The strides of an operand: along the vector loop, the outer rows, the runs; and of each axis
    that an index picks from its size and its stride."""

    inner: object
    outer: tuple
    run: tuple
    picks: tuple = ()


@dataclass(frozen=True)
class LaunchDims:
    """Sizes, and the Strides of each operand; chunk: None where the form has none."""

    n: object
    outer: tuple
    runs: tuple
    chunk: object
    steps: tuple

    def words(self, operands):
        """The numbers in their order; operands say which of them their kernel knows."""
        found = [self.n, *self.outer, *self.runs, *([] if self.chunk is None else [self.chunk])]
        for op, (inner, outer, run, *picks) in zip(operands, self.steps):
            found += [inner] if op.inner == "n" else []
            found += outer if op.outer else ()
            found += run if op.run else ()
            found += picks[0] if op.picks else ()
        return found

    @classmethod
    def read(cls, kernel, words):
        """The LaunchDims of a kernel from these words, of which more may follow.

        >>> from ckernels.codegen.ir import Kernel, Operand
        >>> kernel = Kernel("rows", 1, 0, (Operand("in", "float32", "n"),))
        >>> LaunchDims.read(kernel, ["n", "m", "step", "line"]).steps
        (Strides(inner='step', outer=('line',), run=(), picks=()),)
        """
        left = iter(words)

        def take(count, there=True):
            return tuple(islice(left, count)) if there else (0,) * count

        (n,), outer, runs = take(1), take(kernel.outer), take(kernel.runs)
        chunk = next(left) if kernel.form in CHUNKED else None
        steps = []
        for op in kernel.operands:
            inner = next(left) if op.inner == "n" else op.inner
            moves = take(kernel.outer, op.outer), take(kernel.runs, op.run)
            steps.append(Strides(inner, *moves, take(2 * op.picks)))
        return cls(n, outer, runs, chunk, tuple(steps))
