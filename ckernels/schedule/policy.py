"""What is worth it: the bounds of one loop, and when a value is computed again instead of stored.

Every number here was measured; `legal.py` says what is possible at all.
"""

from ..base.machine import FLOAT, L2, STREAMS
from ..graph.sizes import surely
from .group import AXIS_VIEWS, peel

CHEAP = 3  # cost up to which computing again beats storing and reading again
MAX_STREAMS = STREAMS  # of one loop: tensors that it reads or writes
MOST_COPIES = 5  # loops that compute a cheap value again

# How much one loop may hold. gcc -O2 takes 0.07, 0.14, 0.28, 0.41, 1.03, 2.62 s for a loop of 1, 8,
# 16, 32, 64, 128 tanh (cost 6 each), and 0.05 to 0.28 s for as many times three cheap operations.
# Operations that wait for each other fill the processor's window of some 500 instructions, and the
# next elements no longer overlap with these: a chain of 1, 2, 4, 8, 16, 64 tanh takes 1.1, 1.4,
# 2.0, 3.0, 3.8, 4.9 ns per operation and element (20,000 floats, storing and reading included).
# Measured by build_tools/loop_bounds.py.
MAX_MEMBERS = 64  # operations
MAX_COST = 128  # cost of all of them: 21 transcendentals, 0.35 s of gcc
MAX_DEPTH = 40  # cost of a chain of operations that wait for each other
SLACK = 1.25  # what a loop at these bounds may still be given:
TAIL = 6  # few operations that nothing follows
SERIAL_REDUCTION = L2 // 4 // FLOAT  # a single row longer than this deserves more than one thread
LEAST_ROWS = 64  # rows that give all threads work
SHORT_ROW = 8  # elements along the last axis that fill no vector
MOST_STORED = 1 << 21  # elements that are stored rather than reduced by short rows


def is_tail(node, group, users, fusible):
    """Whether `node`, with all that only it needs, is few operations: a bad place to end a loop.

    Stored, the result would cost a stream; computed here it needs what lies in memory anyway. In
    sum(sin(k * x)) over many k the sums so far are good places, the single sines are none.
    """
    seen, stack = {node.uid}, [node]
    while stack:
        for x in stack.pop().inputs:
            while x.op.name in AXIS_VIEWS:
                x = x.inputs[0]
            if x.uid in seen or x.uid in group.wants or not fusible(x):
                continue
            if all(u.uid in seen or u.uid in group.maps for u in users[x.uid]):
                seen.add(x.uid)
                stack.append(x)
                if len(seen) > TAIL:
                    return False
    return True


def worth_repeating(node, wanting, keep, users, home):
    """Whether a cheap `node` is better computed by each loop of `wanting` than stored by one.

    Then nobody writes or reads it, and each loop reads at most one tensor of that size instead.
    Not where values are compared: two loops may round a sum of products differently.
    """
    if not 1 < len(wanting) <= MOST_COPIES:
        return False
    if node.op.kind != "elementwise" or node.op.cost > CHEAP:
        return False
    if node.uid in keep or not _read_by_loops_only(node, keep, users, home):
        return False
    sources = {peel(x, (0,) * x.ndim)[0] for x in node.inputs}
    wide = {x.uid for x in sources if x.value is None and surely(x.size, node.size)}
    for g in wanting:
        if sum([uid not in g.wants and uid not in g.maps for uid in wide]) > 1 or g.compares():
            return False
    return True


def is_read_by_loops(node, wanting, keep, users, home):
    """Whether nobody but a few loops reads a gather, so that each may read at its indices."""
    few = 0 < len(wanting) <= MOST_COPIES and node.uid not in keep
    return few and _read_by_loops_only(node, keep, users, home)


def _read_by_loops_only(node, keep, users, home):
    """Whether all that reads `node`, also through views of axes, is computed in loops."""
    stack = list(users[node.uid])
    while stack:
        user = stack.pop()
        if user.uid in home:
            continue
        if user.op.name not in AXIS_VIEWS or user.uid in keep:
            return False
        stack.extend(users[user.uid])
    return True
