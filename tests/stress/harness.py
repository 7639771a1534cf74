"""What the stress tests of the compiledir share: small kernels, children that run a piece of work.

A child is forked from this process, which has everything imported, and starts with no kernel in
memory and its own compiledir: a process of its own that costs milliseconds. Where a fresh
interpreter matters, tests start one.
"""

import faulthandler
import gc
import importlib.util
import json
import os
import select
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path

import pytest

from ckernels.base.config import config
from ckernels.compiler import cache

ROOT = Path(__file__).resolve().parents[2]
CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(not CC, reason="needs a C compiler")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
HANG = int(os.environ.get("CKERNELS_TEST_HANG", "120"))  # seconds; a child that takes more hangs


def _load():
    path = ROOT / "tests" / "compiler" / "conftest.py"
    spec = importlib.util.spec_from_file_location("_compiler_helpers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_helpers = _load()
source, call, right, forget = (_helpers.make_source, _helpers.call_kernel, _helpers.right,
                               _helpers.forget_everything)  # fmt: skip


class Child:
    """A forked process that runs work(*args). `finish` gives back what it returned, as JSON."""

    def __init__(self, work, *args, flags=None):
        sys.stdout.flush(), sys.stderr.flush()
        self.reader, writer = os.pipe()
        self.errors, complaints = os.pipe()
        ready, started = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            for end in (self.reader, self.errors, ready):
                os.close(end)
            self._run(writer, complaints, started, work, args, flags or {})
        for end in (writer, complaints, started):
            os.close(end)
        os.read(ready, 1)  # a signal before that is forgotten: Python clears them after fork
        os.close(ready)

    def _run(self, writer, complaints, started, work, args, flags):
        status = 1
        try:
            gc.callbacks.clear()  # an interrupt inside one is forgotten (Hypothesis has one)
            sys.unraisablehook = _said_and_repeated  # pytest's keeps quiet in a child
            for number in (signal.SIGINT, signal.SIGALRM):
                signal.signal(number, signal.default_int_handler)
            os.dup2(complaints, 2)
            sys.stderr = open(2, "w", buffering=1, closefd=False)
            _log_to_stderr()
            faulthandler.register(signal.SIGUSR1, file=2)  # where it is, should it hang
            forget()
            os.close(started)
            with config.change(flags):
                result = work(*args)
            os.write(writer, json.dumps(result).encode())
            status = 0
        except KeyboardInterrupt:
            status = 130
        except BaseException:
            traceback.print_exc(file=sys.stderr)
        finally:
            sys.stderr.flush()
            os._exit(status)

    def signal(self, number):
        os.kill(self.pid, number)

    def wait(self, limit=HANG):
        """(exit status or minus the signal, what it returned, what it wrote to stderr)."""
        texts = {self.reader: b"", self.errors: b""}
        waiting, deadline = set(texts), time.monotonic() + limit
        while waiting:
            left = deadline - time.monotonic()
            if left <= 0:
                os.kill(self.pid, signal.SIGUSR1)
                time.sleep(0.5)
                os.kill(self.pid, signal.SIGKILL)
                texts[self.errors] += os.read(self.errors, 1 << 16)
                os.waitpid(self.pid, 0)
                wrote = texts[self.errors].decode("utf-8", "replace")
                # the innermost lines once more: of a long message one often sees the end alone
                inner = wrote.partition("(most recent call first):")[2].splitlines()[1:6]
                raise AssertionError("\n".join((f"a child hangs; it wrote {wrote}", *inner)))
            for fd in select.select(waiting, [], [], left)[0]:
                piece = os.read(fd, 1 << 16)
                texts[fd] += piece
                if not piece:
                    waiting.discard(fd)
                    os.close(fd)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        value = json.loads(texts[self.reader]) if texts[self.reader] else None
        return status, value, texts[self.errors].decode("utf-8", "replace")

    def finish(self):
        """What the work returned; it must have ended well."""
        status, value, errors = self.wait()
        assert status == 0, f"exit {status}: {errors}"
        return value, errors


def _said_and_repeated(what):
    """What Python forgets, as an interrupt in a finalizer, after which a user presses again."""
    sys.__unraisablehook__(what)
    if issubclass(what.exc_type, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, 0.01)


def _log_to_stderr():
    """As in a program that configured no logging: one line per warning, on stderr."""
    import logging

    for name in (None, "ckernels", "ckernels.cache", "ckernels.compiler"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
    logging.lastResort = logging.StreamHandler(sys.stderr)
    logging.lastResort.setLevel(logging.WARNING)


def run(work, *args, flags=None):
    return Child(work, *args, flags=flags).finish()


def check(*numbers):
    """Build these kernels and check what they compute; [built, read from the compiledir]."""
    from ckernels.compiler import build

    made = build([source(n) for n in numbers])
    for n, address in zip(numbers, made.addresses):
        assert call(address) == right(n), (n, call(address))
    return [made.built, made.from_cache]


def temporaries(directory):
    return [name for name in os.listdir(directory) if name.startswith("tmp-")]


def assert_sound(directory):
    """Nothing bad in a compiledir, and nothing left over once `gc` has been there."""
    store = cache.Cache(str(directory))
    assert store.verify() == []
    store.sweep()
    assert temporaries(directory) == []
