"""Where each result of a scan is once its step was changed: a value of one of these classes.

Passes move results about before the new scan is made, so that none of them knows its nodes:
`node(scan, where)` gives the one of a result, where: the ScanSignature of `scan`.
"""

from dataclasses import dataclass

from ...graph.node import item


class ScanResult:
    """A result of the new scan, or what is made of such."""

    parts = ()  # results that it is made of

    def mapped(self, change):
        """This result where change(result) says where each result of a scan is by now."""
        return change(self)

    def reads(self, result):
        return self == result or any(part.reads(result) for part in self.parts)


@dataclass(frozen=True)
class ScanTrace(ScanResult):
    """All rows of a state."""

    carry: int

    def node(self, scan, where):
        return item(scan, where.trace(self.carry))


@dataclass(frozen=True)
class ScanFinal(ScanResult):
    """The last value of a state."""

    carry: int

    def node(self, scan, where):
        return item(scan, where.final(self.carry))


@dataclass(frozen=True)
class ScanOut(ScanResult):
    """All rows of what each step gives besides its states."""

    out: int

    def node(self, scan, where):
        return item(scan, where.out(self.out))


@dataclass(frozen=True)
class ScanCount(ScanResult):
    """How many steps ran."""

    def node(self, scan, where):
        return item(scan, where.executed)


@dataclass(frozen=True)
class OutsideScan(ScanResult):
    """A node that is there without the scan."""

    value: object

    def node(self, scan, where):
        return self.value

    def mapped(self, change):
        return self


@dataclass(frozen=True)
class AfterScan(ScanResult):
    """make(node of each part): what is computed of other results after the scan."""

    make: object
    parts: tuple

    def node(self, scan, where):
        return self.make(*(part.node(scan, where) for part in self.parts))

    def mapped(self, change):
        return AfterScan(self.make, tuple(part.mapped(change) for part in self.parts))


def results_of(sig):
    """The results of a scan, where nothing was changed yet."""
    states = range(sig.carries)
    return [
        *map(ScanTrace, states),
        *map(ScanFinal, states),
        *map(ScanOut, range(sig.outs)),
        ScanCount(),
    ]
