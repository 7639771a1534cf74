"""What is worth it: the bounds of one loop, and when a value is computed again instead of stored.

Every number here was measured; `legal.py` says what is possible at all.
"""
from ..graph.sizes import surely
from .group import AXIS_VIEWS, peel

CHEAP = 3                   # cost up to which computing again beats storing and reading again
MAX_STREAMS = 24            # memory streams of one loop; more thrash the hardware prefetchers
MAX_MEMBERS = 64            # operations and operands of one loop
MOST_COPIES = 5             # loops that compute a cheap value again
SERIAL_REDUCTION = 65536    # a single row longer than this deserves more than one thread
LEAST_ROWS = 64             # rows that give all threads work


def full(group):
    """Whether `group` has all the members one loop may have."""
    return len(group.wants) + len(group.nodes) > MAX_MEMBERS


def worth_repeating(node, wanting, keep, users, home):
    """Whether each loop of `wanting` had better compute a cheap `node` than one of them store it.

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
    return all(len(wide - g.wants.keys() - g.maps.keys()) < 2 and not g.compares()
               for g in wanting)


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
