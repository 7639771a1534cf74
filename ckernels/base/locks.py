"""Locks that a child of fork finds open.

A lock that another thread held at the moment of a fork would stay locked in the child for ever,
where its owner does not exist. Every lock of ckernels is made here and is new in each child. Data
that a lock guards is consistent after every bytecode, so a child has nothing else to repair. This
file imports nothing of ckernels.
"""

import os
import threading
import weakref

_all = weakref.WeakSet()


def lock():
    """A threading.Lock, open in each child of fork."""
    return _kept(threading.Lock())


def rlock():
    """A threading.RLock, open in each child of fork."""
    return _kept(threading.RLock())


def _kept(made):
    _all.add(made)
    return made


def _after_fork():
    for each in list(_all):
        each._at_fork_reinit()  # what threading and concurrent.futures do with theirs


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
