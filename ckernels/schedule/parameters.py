"""Loops that are equal but for their numbers: these then read the numbers from memory.

A sum of 1,500 sines of k * x becomes a hundred loops that differ in the k's alone. With the numbers
in the C text each of them would be a kernel of its own, 0.2 s of the compiler each.
"""

LEAST = 4  # so many loops must be alike; fewer keep their numbers in the C text
COMMON = (0.0, 1.0, -1.0, 2.0, 0.5)  # numbers of formulas, not chosen by users


def parameterise(groups, apart=False):
    """Let loops that compute the same with other numbers become one kernel.

    Sets `numbers` of a group: the uids of the constants it reads from memory. apart: all floats but
    COMMON ones, for kernels made before anybody knows the rates and limits of a program.
    """
    alike = {}
    for group in groups:
        shape, numbers = form(group)
        if apart:
            group.numbers = frozenset(n.uid for n in numbers if not _is_common(n))
        elif numbers:
            alike.setdefault(shape, []).append((group, numbers))
    for found in alike.values():
        if len(found) < LEAST:
            continue
        first = [_value(n) for n in found[0][1]]
        differs = [
            any(_value(numbers[k]) != value for _, numbers in found)
            for k, value in enumerate(first)
        ]
        for group, numbers in found:
            group.numbers = frozenset(n.uid for n, d in zip(numbers, differs) if d)


def form(group):
    """(what a group computes, as a key without sizes and numbers; the constants in their order)."""
    place, outside, numbers, steps = {}, {}, [], []
    for node in group.nodes:
        read = []
        for _, _, base, want in group.reads[node.uid]:
            if base.uid in place:
                read.append(place[base.uid])
            elif is_number(base):
                read.append(base.dtype)
                numbers.append(base)
            else:
                read.append((outside.setdefault(base.uid, len(outside)), base.dtype, want))
        place[node.uid] = len(place)
        axes = node.attrs.get("axes") if node.op.kind == "reduce" else None
        steps.append((node.op.name, node.dtype, axes, *read))
    return (len(group.domain), group.reduced, *steps), numbers


def is_number(node):
    """Whether the C text of a loop holds the value of `node`."""
    return node.op.name == "constant" and node.value.size == 1 and not node.attrs["value"].sized


def _is_common(node):
    return node.dtype[0] != "f" or node.value.item() in COMMON


def _value(node):
    return node.attrs["value"]
