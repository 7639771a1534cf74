"""Which thread did what when in the last call of a function made with `profile=True`.

The C side writes down a span for each instruction that is in no scan or branch, and one for each
part of it that a thread took; here parts get the names of their instructions. What calls took in
sum is in profile.py, the picture in charts.py.
"""

from typing import NamedTuple

from ..plan.instructions import IF, SCAN

PRINTED = 100  # spans


class Span(NamedTuple):
    """A stretch of work: what, in which thread (0: the caller), from when to when, the user's
    line or None. Times are ms since the call began."""

    name: str
    thread: int
    start: float
    end: float
    line: tuple
    step: int  # the number of the instruction among those of the plan


class Timeline(list):
    """Spans in the order in which they began; `str` of it is for people. lost: how many more there
    were than are kept."""

    def __init__(self, title, spans, lost=0, on=True):
        super().__init__(spans)
        self.title, self.lost, self.on = title, lost, on

    @property
    def ms(self):
        """From the beginning of the call to the end of the last span."""
        return max((span.end for span in self), default=0.0)

    def follow(self, later):
        """Add the spans of a Timeline that began when this one ended."""
        begun, steps = self.ms, max((span.step for span in self), default=-1) + 1
        self.lost += later.lost
        for s in later:
            moved = s._replace(start=begun + s.start, end=begun + s.end, step=steps + s.step)
            self.append(moved)

    def busy(self):
        """{thread: ms at work}."""
        found = {}
        for span in self:
            found[span.thread] = found.get(span.thread, 0.0) + span.end - span.start
        return dict(sorted(found.items()))

    def __str__(self):
        if not self:
            why = "no compiled call was watched" if self.on else "made without profile=True"
            return f"{self.title}: no timeline: {why}"
        lines = [f"{self.title}: {self.ms:.3f} ms of one call"]
        for thread, ms in self.busy().items():
            lines.append(f"thread {thread}: {100 * ms / (self.ms or 1):.0f} % at work")
        for s in self[:PRINTED]:
            lines.append(f"{s.start:10.3f} {s.end:10.3f}  thread {s.thread}  {s.name}")
        more = max(len(self) - PRINTED, 0) + self.lost
        return "\n".join([*lines, f"and {more} more"] if more else lines)

    __repr__ = __str__  # what a prompt shows


def timeline(program, data, title, on=True):
    """The Timeline of `data`, what `span_data` of a C function returned, for its Program."""
    rows, lost = data
    steps = [row for row in rows if row[0] >= 0]
    parts = {}  # of each instruction
    for _, thread, start, end in (row for row in rows if row[0] < 0):
        around = next((k for k, s in enumerate(steps) if s[2] <= start and end <= s[3]), None)
        parts.setdefault(around, []).append((thread, start, end))
    spans = []
    for k, (tag, thread, start, end) in enumerate(steps):
        known = program.instruction(tag)
        name, line = (known.name, known.line) if known else ("NumPy", None)
        whole, pieces = [(thread, start, end)], parts.get(k, [])
        if known and known.kind in (SCAN, IF):  # the caller works between the parts as well
            pieces = whole + [piece for piece in pieces if piece[0] != thread]
        for one in pieces or whole:
            spans.append(Span(name, one[0], one[1] / 1e6, one[2] / 1e6, line, program.place(tag)))
    return Timeline(title, sorted(spans, key=lambda span: span.start), lost, on)
