"""Python's collector of cycles, put off while a gradient or a plan is made.

Planning makes some ten thousand objects that live until it is done and hold hardly any cycles. The
collector would visit them, and all other objects of the process, again and again, which takes 5 %
to 15 % of the time of planning, more where other libraries hold many objects. This file imports
nothing of ckernels but locks.
"""

import gc
import os
from contextlib import contextmanager

from . import locks

_lock = locks.lock()
_users, _was_on = 0, False  # threads inside `later`; whether the collector was on before


@contextmanager
def later(for_good=False):
    """A context without collections; several threads may be inside it at the same time.

    for_good: objects made in it stay (as modules do). They count as old at once, which spares the
    first collection a visit to them (4 ms after `import ckernels`).
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
                    gc.freeze()  # these two move all objects to the oldest generation
                    gc.unfreeze()
                gc.enable()


def _after_fork():
    """In a child of fork no thread is inside of `later`: the one that forked was outside."""
    global _users
    if _users and _was_on:
        gc.enable()
    _users = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
