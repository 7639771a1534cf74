"""`f.explain()`: what each instruction of a plan computes, what it reads from others, and why.

Plans the graph once more for the shapes of the last call, because plans do not keep their nodes.
The reasons are those of the scheduler (schedule/reasons.py); nothing is decided here.
"""

from ..base import given
from ..graph.printing import location
from ..plan.concrete import concretise
from ..plan.instructions import PyCall, Scan, flatten
from ..schedule.group import AXIS_VIEWS
from ..schedule.legal import whole
from ..schedule.reasons import Reason
from .program import show_assumption

INDENT = "      "
SHOWN_BY = ("item", "real_part", "imag_part")  # views, but for those of kind "movement"
BY_NUMPY = Reason("NumPy computes it")
IN_PYTHON = "NumPy or Python computes it, called from C"
NOT_YET = "Nothing was planned yet: call the function first, then explain() speaks of its shapes."


def explain(program, rewrites=False):
    """The text for the last plan of a Program; rewrites: what was rewritten before it, too."""
    rewrites = given.flag(rewrites, "rewrites")
    if program.bound is None:
        return NOT_YET
    draft = program.drafted("lower")
    schedules, instructions = draft.schedules, flatten(draft.instructions)
    lines = rewritten(program) + [""] if rewrites else []
    made = {n.uid: k for k, instr in reversed(list(enumerate(instructions))) for n in instr.nodes}
    others = beside(schedules, made)
    for k, instr in enumerate(instructions):
        lines.append(f"{k}: {'  ' * instr.depth}{instr.name}")
        lines += [INDENT + line for line in computed(instr)]
        if isinstance(instr, PyCall):
            lines.append(INDENT + IN_PYTHON)
        lines += [INDENT + line for line in read(instr, k, schedules, made, instructions)]
        lines += [INDENT + line for line in others.get(k, ())]
        lines += [INDENT + line for line in parts_of_batch(instr)]
    lines += stored_scores(program)
    lines += [f"assumes {show_assumption(*row)}" for row in program.assumptions]
    return "\n".join(lines)


def computed(instr):
    """One line for each of the user's lines: the operations of this instruction it stands for."""
    found = {}
    for node in instr.nodes:
        found.setdefault(location(node.line), []).append(node.op.name)
    return [f"{where}: {', '.join(names)}" for where, names in found.items() if where]


def read(instr, at, schedules, made, instructions):
    """One line for each value of another instruction that this one reads: which, and why."""
    mine, found = {n.uid for n in instr.nodes}, {}
    for node in instr.nodes:
        for x in node.inputs:
            reason = None
            while x.uid not in mine and x.op.kind == "movement" or x.op.name in SHOWN_BY:
                if x.op.name not in AXIS_VIEWS:
                    reason = reason or why(x, node, mine, schedules)
                x = x.inputs[0]
            if x.uid in mine or x.op.kind == "leaf" or made.get(x.uid, at) == at:
                continue
            maker = instructions[made[x.uid]]
            by_numpy = isinstance(maker, PyCall) and not isinstance(instr, PyCall)
            reason = BY_NUMPY if by_numpy else why(x, node, mine, schedules, reason)
            found[f"reads {x.op.name} of {made[x.uid]}: {reason}"] = None
    return list(found)


def why(x, user, mine, schedules, viewed=None):
    """The Reason why what computes `user` reads `x`; viewed: that of a view through which it does,
    which counts but for products, on whose rows loops run in other shapes too."""
    for schedule in schedules:
        for group in schedule.home.get(user.uid, ()):
            if all(n.uid in mine for n in group.nodes):
                return schedule.on_rows(x, group) or viewed or schedule.why(x, group)
    return viewed or whole(user)


def beside(schedules, made):
    """{number: lines}: which later loops read a tensor that this one reads or makes, and why they
    are not one with it."""
    found = {}
    for schedule in schedules:
        names = {n.uid: n.name or n.op.name for n in schedule.order}
        for pair, (uid, reason) in schedule.apart.items():
            places = [{made.get(n.uid) for n in group.nodes} for group in pair]
            if all(len(p) == 1 and None not in p for p in places) and places[0] != places[1]:
                first, later = sorted(p.pop() for p in places)
                found.setdefault(first, []).append(
                    f"not one with {later} over {names[uid]}: {reason}"
                )
    return found


def parts_of_batch(instr):
    """One line for a scan: how many rows of its batch take all steps by themselves, or why none."""
    if not isinstance(instr, Scan) or instr.moving.stepped:
        return []
    moving = instr.moving
    if moving.parts is None:
        return [f"the whole batch takes each step: {moving.whole}"]
    return [f"rows of the batch take all steps by themselves, {moving.parts.part} to a thread"]


def rewritten(program):
    """One line for each rewrite of the graph for the shapes of the last plan."""
    from ..rewrite import optimise  # start-up

    roots = concretise(program.graph()[1], program.bound)
    trace = []
    optimise(roots, program.rules.exclude, program.rules.include, trace)
    return [
        f"{name}: {short(before)} is now {short(after)}"
        + (f"  ({location(before.line)})" if before.line else "")
        for name, before, after in trace
    ]


def stored_scores(program):
    """One line for each softmax between products whose scores are stored, and why."""
    from ..rewrite import optimise  # start-up

    roots, refused = concretise(program.graph()[1], program.bound), []
    optimise(roots, program.rules.exclude, program.rules.include, refused=refused)
    return [f"the scores of {p.op.name} ({location(p.line)}) are stored: {w}" for p, w in refused]


def short(node):
    """A node as its op applied to the names of its operands."""

    def name(x):
        if x.op.name == "constant" and x.value.size == 1:
            return str(x.value.item())
        return x.name or x.op.name

    return f"{node.op.name}({', '.join(map(name, node.inputs))})" if node.inputs else name(node)
