"""Scalar recurrences: scans whose time loop is inside the kernel, not in the runtime.

The body is one kernel of one element. A million steps of `0.5 * s + x[t]` take 1.1 ms (float32,
one thread of Zen 5), with a call for each step 6 ms. Everything else about such a scan is planned
in scan.py.
"""

from ..base import dtypes
from ..codegen.ir import Kernel
from ..codegen.stepped import FIXED, SLIDE, SLIDE_ONE, STATE, Stepped
from .instructions import KernelCall, Move


def is_recurrence(scan, instructions):
    """Whether the body is one kernel of one element that computes all states, each of one tap.

    A batch of no samples has no kernel for its states; one that computes something of the row
    alone may be left.
    """
    if (
        len(instructions) != 1
        or scan.attrs["until"]
        or scan.kept
        or any(scan.attrs["taps"][i] != (-1,) for i in scan.alive)
    ):
        return False
    instr, kernel = instructions[0], instructions[0].kernel
    if (
        not isinstance(instr, KernelCall)
        or not isinstance(kernel, Kernel)
        or kernel.form != "flat"
        or instr.n != 1
        or kernel.outer
        or any(o.dtype in dtypes.COMPUTED or o.picks for o in kernel.operands)
    ):
        return False
    written = {b for (b, _), o in zip(instr.pointers, pointers(kernel)) if o.role == "out"}
    if not written.issuperset(scan.new[i] for i in scan.alive):
        return False
    moves, states = scan.moving.moves, {*scan.old.values(), *scan.new.values()}
    return all(
        moves[row].until is None for row, _ in instr.pointers if row in moves and row not in states
    )


def pointers(kernel):
    """The operands of a kernel that are pointers, in their order."""
    return [o for o in kernel.operands if o.role != "index"]


def take_steps(scan, instr):
    """Put the loop over time steps into the kernel of such a body."""
    moves, sign = scan.moving.moves, -1 if scan.moving.reverse else 1
    operands = instr.kernel.operands
    slots = [k for k, o in enumerate(operands) if o.role != "index"]
    written = {
        buffer: slot
        for slot, (buffer, _) in zip(slots, instr.pointers)
        if operands[slot].role == "out"
    }
    carry = {scan.old[i, -1]: written[scan.new[i]] for i in scan.alive if (i, -1) in scan.old}
    ways, strides = [FIXED] * len(operands), []
    for slot, (buffer, _) in zip(slots, instr.pointers):
        move = moves.get(buffer)
        if buffer in carry:
            ways[slot] = STATE, carry[buffer]
        elif isinstance(move, Move):
            stride = sign * move.a_stride // dtypes.ITEMSIZE[operands[slot].dtype]
            ways[slot] = SLIDE_ONE if stride == 1 else SLIDE
            strides += [stride] if stride != 1 else []
    instr.kernel, instr.dims = Stepped(instr.kernel, tuple(ways)), strides
