"""Steps of a recurrence: one element, a loop over steps around it, states in registers."""

from ..stepped import FIXED, SLIDE, SLIDE_ONE
from .nest import Nest


class Steps(Nest):
    """One step per unit of the range; dims are the strides of operands that slide."""

    note = "one element, once per step of the range"

    def __init__(self, stepped, printer):
        super().__init__(stepped.kernel, printer)
        self.ways = stepped.ways

    def place(self, i, pointer, j, tag=""):
        way = self.ways[i]
        if self.k.operands[i].role == "index":
            return "0"
        if way == SLIDE_ONE:
            return f"{self.base(i)}[t]"
        return f"{self.base(i)}[t * s{i}]" if way == SLIDE else f"{self.base(i)}[0]"

    def moves(self, v):
        """Whether a value changes from step to step: what does not is computed before the loop."""
        return v.computed or v.operand >= 0 and self.ways[v.operand] != FIXED

    def write(self):
        c, values = self.c, self.k.values
        for k, i in enumerate(i for i, way in enumerate(self.ways) if way == SLIDE):
            c.let(**{f"s{i}": f"d[{k}]"})
        states = [
            i
            for i, v in enumerate(values)
            if v.op == "load" and isinstance(self.ways[v.operand], tuple)
        ]
        for i in states:
            c.define_state(i, self.place(values[i].operand, "x", "0"))
        for i, v in enumerate(values):
            if not v.fixed and not self.moves(v):
                self.define(i, "x", "0")
        with c.loop("t", "lo", "hi"):
            for i, v in enumerate(values):
                if self.moves(v) and i not in states:
                    self.define(i, "x", "0")
            for operand, value in self.k.stores:
                self.store(operand, "y", "0", c.name(value))
            self.take_over(states)

    def take_over(self, states):
        """Assign their new values to the states."""
        c, new = self.c, dict(self.k.stores)
        found = {i: c.name(new[self.ways[self.k.values[i].operand][1]]) for i in states}
        if len(found) > 1:  # all at once: one may be another's old value
            for i in states:
                c.define_as(i, f"n{i}", found[i])
                found[i] = f"n{i}"
        for i, text in found.items():
            c.assign(f"v{i}", text)
