"""What may run on rows while they are in cache: a loop on those of a product (an epilogue), sums on
those of a loop (a band), all steps of a scan on those of its batch (a part). None, or the Reason
why not.

Asked is what the graph decides; what memory decides the planner asks (plan/epilogue.py, bands.py,
scan_by_rows.py), with the Reasons below. Join in legal.py is the other way to share a loop; as it
has, an Epilogue and a Portion have questions to pass.
"""

from ..base.config import config
from ..graph.op import having
from .group import base
from .reasons import Reason, why_not

MOVES = having("moves")


def subject(node):
    """What is said of a node that no loop computes."""
    return "it is a matrix product" if node.op.kind == "gemm" else "it has a kernel of its own"


def of_product(text):
    """A Reason, once it has the node and what else the text is about."""
    return lambda node, *about: Reason("{}, " + text, subject(node), *about)


WAITS = of_product("and this loop waits for {} as well")
MOVED = of_product("which is read through a view that moves its elements")
TWICE = of_product("which this loop reads along different axes at once")
IN_CHUNKS = of_product("and this loop is a reduction in chunks, over many rows")
OTHER_SHAPE = of_product("and this loop runs over {}, not over its elements")
ACROSS = of_product("whose rows this loop adds up or compares with each other")
OTHER_ORDER = of_product("whose rows this loop does not walk in their order")
COPIED = of_product("and what else this loop reads must be copied first")
RUNS = of_product("on whose rows another loop runs already")
BEHIND = of_product("which another loop reads first")


class Epilogue:
    """The loop of one unit on rows of the product that is another one.

    ways: {(uid, axis map): the tensor} that show the product's memory to the loop.
    """

    def __init__(self, product, unit):
        self.node, self.unit, self.group, self.ways = product.nodes[0], unit, unit.group, {}
        for member in unit.nodes:
            for _, _, source, want in self.group.reads[member.uid]:
                if source.uid not in self.group.maps and base(source) is self.node:
                    self.ways[source.uid, want] = source

    @property
    def amap(self):
        return next(want for _, want in self.ways)


def is_ready(join):
    """All else that the loop needs was made before."""
    left = next((u for u in join.unit.needs if not u.done), None)
    return WAITS(join.node, left.nodes[-1]) if left else None


def reads_it_once(join):
    """The loop reads each element of the product once, for one of its own."""
    for source in join.ways.values():
        while source is not join.node:
            if source.op.name not in MOVES:
                return MOVED(join.node)
            source = source.inputs[0]
    axes = [a for a in join.amap if a is not None]
    return TWICE(join.node) if len(join.ways) > 1 or len(axes) != len(set(axes)) else None


def runs_over_it(join):
    """The loop runs over the elements of the product, and reduces nothing but its rows."""
    group = join.group
    if group.partial:
        return IN_CHUNKS(join.node)
    if group.wide() != {a for a in join.amap if a is not None}:
        return OTHER_SHAPE(join.node, group.domain)
    (source,) = join.ways.values()  # more of them were refused
    turned = source is not join.node  # memory decides
    return ACROSS(join.node) if set(group.reduced) - {join.amap[-1]} and not turned else None


EPILOGUE = (is_ready, reads_it_once, runs_over_it)


def later(product, unit):
    """The Reason against the loop `unit` on rows of `product`, as far as the graph decides it."""
    return why_not(Epilogue(product, unit), EPILOGUE)


# ---- sums on rows of a loop ----------------------------------------------------------------------

NO_ROW_LOOP = Reason("they are not a loop over rows and sums down their columns")
OTHER_ROWS = Reason("the sums need other rows than those that are just in cache")
NOTHING_SHARED = Reason("they share nothing that is large")
FEW_CHUNKS = Reason("there are too few rows to give all threads work")
OVERWRITTEN = Reason("the sums go where the rows are")
NO_KERNEL = Reason("a kernel of both cannot be had")

# ---- steps of a scan on rows of its batch --------------------------------------------------------

EMPTY = Reason("its step computes nothing")
ENDS = Reason("a condition of the whole batch says where it ends")
ONE_THREAD = Reason("kernels are built for one thread")
LARGE = Reason("the matrices it multiplies by do not stay in a core's cache beside the rest")


class Portion:
    """All steps of a scan on rows of its batch, which a thread takes by itself."""

    def __init__(self, scan):
        self.scan = scan


def ends_with_its_steps(join):
    """Nothing but the number of its steps says where the scan ends."""
    return ENDS if join.scan.attrs["until"] else None


def has_threads(join):
    """There may be more threads than one."""
    return None if config.openmp else ONE_THREAD


PART = (ends_with_its_steps, has_threads)


def alien(instr):
    """The Reason that an instruction of the step is neither a kernel nor a product."""
    return Reason("{} is neither a loop nest nor a product", instr.name)


def astray(instr):
    """The Reason that an instruction writes what is neither carried nor its own."""
    return Reason("{} writes to memory that other steps read", instr.name)


def few_rows(rows, unit):
    """The Reason that a batch gives no two parts that are worth it."""
    return Reason("its batch has {} rows, and a part needs {}", rows, unit)


LITTLE = Reason("its steps are too little work for two threads")


def meets(instr):
    """The Reason that a row of an instruction's result needs other rows of the batch."""
    return Reason("{} needs more of the batch than the rows it makes", instr.name)
