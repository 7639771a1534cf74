"""A loop over steps inside of a kernel: for recurrences of single numbers.

Where the body of a scan is one loop over one element, nearly all of its time goes into calls. Such
a kernel takes the steps itself: sequences and traces are walked by strides, states stay in
registers. The planner decides the part of each pointer; forms/steps.py has the loop.
"""

from dataclasses import dataclass

FIXED, SLIDE, SLIDE_ONE, STATE = "fixed", "slide", "slide one", "state"


@dataclass(frozen=True)
class Stepped:
    """`kernel`, a flat one, once per step of its range. ways: for each operand of it FIXED, SLIDE
    (by a stride in dims, in elements), SLIDE_ONE, or (STATE, operand that holds its new value);
    dims are the strides of the operands that slide.
    """

    kernel: object
    ways: tuple
    form = "steps"

    def key(self):
        """A hashable identity: equal keys mean equal C."""
        return (self.form, self.kernel.key(), self.ways)

    @property
    def operands(self):
        return self.kernel.operands

    def check(self):
        """Itself; AssertionError when its kernel is not well formed."""
        assert self.kernel.form == "flat" and len(self.ways) == len(self.operands)
        self.kernel.check()
        return self
