"""Python's collector of cycles, put off while a gradient or a plan is made.

A plan makes some ten thousand objects that stay until it is done and hardly a cycle among them: the
collector went through them, and through all else the process holds, again and again: 5 % to 15 %
of the time of planning, more where other libraries hold many objects. This room imports nothing of
ckernels but locks.
"""

import gc
import os
from contextlib import contextmanager

from . import locks

_lock = locks.lock()
_users, _was_on = 0, False  # how many threads are inside `later`, and what they found


@contextmanager
def later(for_good=False):
    """Cycles are collected after this block; threads may be inside it at the same time.

    for_good: what is made in it stays, and counts as old at once, so that no first pass goes over
    it either (4 ms after `import ckernels`).
    """
    global _users, _was_on
    with _lock:
        if not _users:
            _was_on = gc.isenabled()
        _users += 1
    try:
        gc.disable()
        yield
    finally:
        with _lock:
            _users = max(_users - 1, 0)
            if not _users and _was_on:
                if for_good and not gc.get_freeze_count():
                    gc.freeze()  # both only hang lists of objects over
                    gc.unfreeze()
                gc.enable()


def _after_fork():
    """The other threads that were inside are not in this process; one that forks is not inside."""
    global _users
    if _users and _was_on:
        gc.enable()
    _users = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
