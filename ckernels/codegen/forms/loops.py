"""Loops of a form, and the changes they go through before they are printed.

A form hands each of its loops to `Nest.print_loop` and has a table of changes. The first of these
whose condition holds prints what it puts around, beside or in the place of the loop, and hands on
the loops that are left, each of which goes through the changes behind it. What no change takes is
printed as it is. A change says what was measured, and its condition has near misses in
tests/codegen/forms/test_loops.py: the next one is a row of a table.
"""

from typing import NamedTuple


class Loop(NamedTuple):
    """A loop over the elements [begin, end) that one stage of a kernel goes over.

    level       which stage it is
    taken       what it reduces: (value, its accumulator, flag of NaN)
    stores      what it stores: (operand, value)
    read        the letter of the pointers it reads by
    written     the same of those it stores by
    new         a condition under which an element is none that was taken before; None: always
    is_left     whether it has what another loop left, which may be nothing
    lanes       how many elements its vectors have at most; None: what the compiler takes
    """

    level: int = 0
    taken: tuple = ()
    stores: tuple = ()
    begin: str = "0"
    end: str = "n"
    read: str = "a"
    written: str = "a"
    new: object = None
    is_left: bool = False
    lanes: object = None

    @property
    def reductions(self):
        return [i for i, _, _ in self.taken]

    def over(self, begin, end, **others):
        """The same loop over other elements."""
        return self._replace(begin=begin, end=end, **others)


class LoopChange(NamedTuple):
    """when(form, loop): whether a loop is written so; write(form, loop, rest): print it, where
    rest(loop) prints a loop that is left; why: what it gains, measured, and why it is right."""

    name: str
    when: object
    write: object
    why: str
